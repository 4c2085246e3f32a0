"""The command line."""

import argparse
import resource

from . import build, durable, page, process
from .cold import cold
from .measure import Measurement, say
from .scenarios import LIBRARIES, SCENARIOS, WIRES


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Measures allm beside its peers and two clients written by hand.")

    def listed(text):
        return text.split(",")

    names = [scenario.name for scenario in SCENARIOS] + ["S7", "D"]
    parser.add_argument("--only", type=listed, default=names, help=f"of {','.join(names)}")
    parser.add_argument("--wires", type=listed, default=WIRES, help=f"of {','.join(WIRES)}")
    parser.add_argument("--libs", type=listed, default=LIBRARIES, help=f"of {','.join(LIBRARIES)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each client is timed (5)")
    parser.add_argument("--no-callgrind", action="store_true", help="count no instructions")
    parser.add_argument("--no-build", action="store_true", help="measure what was built before")
    parser.add_argument("--no-build-times", action="store_true",
                        help="S7 times no clean builds, which take minutes each")
    parser.add_argument("--quick", action="store_true",
                        help="a twentieth of the work, once: to see that everything works, not what it costs")
    parser.add_argument("--write", action="store_true", help="write BENCHMARKS.md also after a part of the run")
    asked = parser.parse_args()
    asked.share = 0.05 if asked.quick else 1
    if asked.quick:
        asked.rounds, asked.no_build_times = 1, True
    return asked


def main():
    """Builds, measures, writes."""
    asked = arguments()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    has_durable = "D" in asked.only
    if not asked.no_build:
        build.build(["server", *asked.libs, *(["durable"] if has_durable else [])])
    with process.Server(build.program("server")) as server:
        measurement = Measurement(server, asked.rounds, not asked.no_callgrind, asked.share)
        for scenario in SCENARIOS:
            if scenario.name in asked.only:
                measurement.scenario(scenario, asked.wires, asked.libs)
        starts = None
        if "S7" in asked.only:
            libraries = [library for library in asked.libs if library != "raw"]
            built = [] if asked.no_build_times else ["allm", *build.CLIENTS, "rig", "floor"]
            starts = cold(server, libraries, 3 * asked.rounds, built)
    kept = durable.measure(asked.rounds, asked.share) if has_durable else None
    text = page.page(measurement, starts, kept, asked)
    is_whole = (len(asked.only) == len(SCENARIOS) + 2 and asked.wires == WIRES and asked.libs == LIBRARIES
                and not asked.quick)
    if measurement.disagreements:
        print(text, *measurement.disagreements, sep="\n")
        return 1
    if is_whole or asked.write:
        (build.ROOT / "BENCHMARKS.md").write_text(text)
        say("BENCHMARKS.md is written")
    else:
        print(text)
    return 0
