"""Takes the measurements, in turns."""

import statistics
import sys
import time
from dataclasses import dataclass, field

from . import build, process
from .scenarios import ALL_WIRES


STARTED = time.monotonic()


def say(text):
    """Tells whoever waits how far it is."""
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


@dataclass
class Row:
    """A scenario over a wire with a library."""

    wall: float | None = None
    cpu: float | None = None
    memory: float | None = None
    allocations: dict = field(default_factory=dict)
    """For each unit, by label."""
    instructions: dict = field(default_factory=dict)
    """For each unit, by label."""
    failure: str | None = None


def supports(library, wire):
    """Whether a client is asked to speak a wire."""
    return wire == "chat" or library in ALL_WIRES


class Measurement:
    """All that is measured, by (scenario, wire, library)."""

    def __init__(self, server, rounds, callgrind, share):
        self.server = server
        self.rounds = rounds
        self.callgrind = callgrind
        self.share = share
        """How much of the work is timed: 1 for all of it."""
        self.rows = {}
        self.disagreements = []
        """Where two clients read something else."""

    def command(self, scenario, wire, library, count):
        """How a client is called."""
        return [build.program(library), scenario.work, wire, self.server.url, str(count)]

    def scenario(self, scenario, wires, libraries):
        """Measures one scenario."""
        for wire in [wire for wire in scenario.wires if wire in wires]:
            able = [library for library in libraries if supports(library, wire)]
            for library in able:
                self.rows[scenario.name, wire, library] = Row()
            say(f"{scenario.name} over {wire}: {', '.join(able)}")
            self.times(scenario, wire, able)
            for count in scenario.counts:
                self.counts(scenario, wire, able, count)
            self.compare(scenario, wire, able)

    def attempt(self, scenario, wire, library, work):
        """Does a measurement unless an earlier one of the row failed."""
        row = self.rows[scenario.name, wire, library]
        if row.failure is None:
            try:
                return work()
            except process.Failed as failed:
                row.failure = str(failed)
                say(f"  {library}: {failed}")
        return None

    def times(self, scenario, wire, libraries):
        """Time and memory: A, B, A, B …, medians."""
        runs = {library: [] for library in libraries}
        for _ in range(self.rounds):
            for library in libraries:
                command = self.command(scenario, wire, library, int(scenario.count * self.share))
                done = self.attempt(scenario, wire, library, lambda: process.run(command))
                if done is not None:
                    runs[library].append(done)
        for library, done in runs.items():
            row = self.rows[scenario.name, wire, library]
            if done and row.failure is None:
                row.wall = statistics.median(run.wall for run in done)
                row.cpu = statistics.median(run.cpu for run in done)
                row.memory = statistics.median(run.memory for run in done)
                row.checked = done[0].checked

    def counts(self, scenario, wire, libraries, count):
        """Allocations and instructions for each unit: the difference of two counts, so that the start is left out."""
        for library in filter(count.wanted, libraries):
            row = self.rows[scenario.name, wire, library]

            def allocations(size):
                command = self.command(scenario, wire, library, size)
                return process.run(command).said["allocations"]

            def instructions(size):
                command = self.command(scenario, wire, library, size)
                name = f"{scenario.name}-{wire}-{library}-{size}.callgrind"
                return process.instructions(command, build.target() / "profiles" / name)[0]

            def each(counted):
                return (counted(count.more) - counted(count.fewer)) / (count.more - count.fewer)

            def both():
                row.allocations[count.label] = each(allocations)
                if self.callgrind:
                    row.instructions[count.label] = each(instructions)

            self.attempt(scenario, wire, library, both)

    def compare(self, scenario, wire, libraries):
        """All libraries must have read the same; `raw` reads nothing and is not asked."""
        seen = {}
        for library in libraries:
            row = self.rows[scenario.name, wire, library]
            if library != "raw" and getattr(row, "checked", None) is not None:
                seen.setdefault(row.checked, []).append(library)
        if len(seen) > 1:
            self.disagreements.append(f"{scenario.name} over {wire}: not the same work was done: {seen}")
            say(self.disagreements[-1])
