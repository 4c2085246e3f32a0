"""S7: what a program costs before it does anything: start, size, build, crates."""

import statistics
from dataclasses import dataclass

from . import build, process
from .measure import say

TARGET = 0.6


@dataclass
class Cold:
    """What one library costs a program that uses it."""

    first_token: float
    """Seconds from the start of the process to the first piece of text."""
    cpu: float
    memory: float
    size: int
    crates: int
    build: tuple | None
    """Wall and CPU seconds of a clean build, if it was measured."""


def cold(server, libraries, rounds, built):
    """Measures every library; `built` are those whose clean builds are timed."""
    say(f"S7: {', '.join(libraries)}")
    runs = {library: [] for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            command = [build.program(library), "text", "chat", server.url, "10"]
            runs[library].append(process.run(command))
    results = {}
    for library, done in runs.items():
        say(f"  size, crates{', clean build' if library in built else ''} of {library}")
        results[library] = Cold(
            statistics.median(run.said["first_token"] - run.started for run in done),
            statistics.median(run.cpu for run in done),
            statistics.median(run.memory for run in done),
            build.size(library),
            build.crates(library),
            build.clean_build(library) if library in built else None,
        )
    return results
