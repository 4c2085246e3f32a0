"""D1 to D3: what sessions cost that are kept."""

import json
import statistics
import subprocess

from . import build
from .measure import say

# What is measured, how much of it, and whether it is measured in every round.
PARTS = [("turn", 200, True), ("resume", 50, True), ("waiting", 10_000, False)]


def measure(rounds, share):
    """Runs the program for sessions some times; the medians of what it says, by name."""
    seen = {}
    for part, count, is_repeated in PARTS:
        say(f"sessions: {part}")
        for _ in range(rounds if is_repeated else 1):
            command = [build.program("durable"), part, str(int(count * share))]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for name, value in json.loads(text.strip().splitlines()[-1]).items():
                seen.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in seen.items()}
