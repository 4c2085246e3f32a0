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
    build: build.CleanBuild | None
    """A clean build, if it was measured."""


def cold(server, libraries, rounds, built):
    """Measures every library; `built` are those whose clean builds are timed, and whose programs are those."""
    say(f"S7: {', '.join(libraries)}")
    builds = {}
    for name in built:
        say(f"  clean build of {name}")
        builds[name] = build.clean_build(name)
    names = [*libraries, *(name for name in built if name not in libraries)]
    programs = {name: builds[name].program if name in builds else build.program(name) for name in names}
    runs = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            runs[name].append(process.run([programs[name], "text", "chat", server.url, "10"]))
    return {
        name: Cold(
            statistics.median(run.said["first_token"] - run.started for run in done),
            statistics.median(run.cpu for run in done),
            statistics.median(run.memory for run in done),
            build.size(programs[name]),
            build.crates(name),
            builds.get(name),
        )
        for name, done in runs.items()
    }
