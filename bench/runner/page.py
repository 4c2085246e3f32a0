"""Writes what was measured as a page."""

import datetime

from . import build
from .cold import TARGET as COLD_TARGET
from .scenarios import SCENARIOS, target_of

INTRO = """# Benchmarks

allm beside clients written by hand and beside other libraries: the same work, the same server on loopback, one run, the
programs taking turns. Written by `bench/run`; `bench/README.md` says what is measured and how.

- `floor` is a client written by hand for one wire: reqwest, a split into lines, typed JSON of what it needs. It has no
  retries, no limits, no checks, and knows one provider at a time.
- `raw` is reqwest and the split into lines alone, without JSON. What it sends was written before.
- Numbers are ratios to `floor` in the same run, so smaller is better and 1.00 is as by hand. The first is instructions by
  callgrind for each unit, two counts subtracted so that the start is left out. The second is CPU time of the whole
  process, user and kernel, median. The third is heap allocations for each unit, not a ratio.
- Every client reads all that is sent and says what it read; runs in which two disagree are not written.
"""


def number(value, digits=2):
    """A number for a table."""
    if value is None:
        return "–"
    return f"{value:,.{digits}f}"


def ratio(value, base):
    """How many times as much."""
    return value / base if value is not None and base else None


def verdict(value, target):
    """Whether a target holds."""
    if target is None or value is None:
        return ""
    return f"≤ {target} met" if value <= target + 0.005 else f"≤ {target} **not met**"


def table(head, rows):
    """Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def measured(measurement, asked):
    """The table of S1 to S6."""
    libraries = [library for library in asked.libs if library != "floor"]
    rows = []
    for scenario in SCENARIOS:
        for wire in scenario.wires:
            known = {library: measurement.rows.get((scenario.name, wire, library)) for library in asked.libs}
            if not any(known.values()):
                continue
            for label in [count.label for count in scenario.counts] or [""]:
                rows.append(line(scenario, wire, label, known, libraries))
    head = ["", "wire", "floor", *libraries, "target for allm"]
    return table(head, rows)


def line(scenario, wire, label, known, libraries):
    """One row."""
    floor = known.get("floor")
    is_counted = floor is not None and label in floor.instructions
    cells = []
    for library in libraries:
        row = known.get(library)
        if row is None:
            cells.append("–")
        elif row.failure:
            cells.append("failed")
        else:
            counted = ratio(row.instructions.get(label), floor.instructions.get(label) if floor else None)
            timed = ratio(row.cpu, floor.cpu if floor else None)
            cells.append(f"{number(counted)} · {number(timed)} · {number(row.allocations.get(label), 1)}")
    base = "–"
    if floor is not None and not floor.failure:
        counted = number(floor.instructions.get(label), 0)
        base = f"{counted} · {number(floor.cpu)} s · {number(floor.allocations.get(label), 1)}"
    ours = known.get("allm")
    value = None
    if ours is not None and floor is not None:
        value = (ratio(ours.instructions.get(label), floor.instructions.get(label)) if is_counted
                 else ratio(ours.cpu, floor.cpu))
    name = f"{scenario.name} {label}".strip()
    return [name, wire, base, *cells, verdict(value, target_of(scenario, label))]


def extras(measurement):
    """What the targets say besides ratios."""
    rows = []

    def counted(scenario, library, label=""):
        row = measurement.rows.get((scenario, "chat", library))
        return row.instructions.get(label) if row else None

    short, long = counted("S2", "allm"), counted("S2x10", "allm")
    if short and long:
        rows.append(["S2×10 is linear: a fragment of 50,000 to one of 5,000", number(long / short), verdict(long / short, 1.1)])
    turns = [counted("S6", library, label) for library in ("allm", "raw") for label in ("turn 50", "turn 400")]
    if all(turns):
        early, late, early_bytes, late_bytes = turns
        grown = (late - (late_bytes - early_bytes)) / early
        rows.append(["S6: turn 400 to turn 50, without what sending more bytes costs `raw`", number(grown), verdict(grown, 1.5)])
    many = {library: measurement.rows.get(("S5", "chat", library)) for library in ("allm", "floor")}
    if all(row and row.memory for row in many.values()):
        held = many["allm"].memory / many["floor"].memory
        rows.append(["S5: peak memory to the floor's", number(held), verdict(held, 1.0)])
    for (name, wire, library), row in sorted(measurement.rows.items()):
        if library == "allm" and name in ("S1", "S2"):
            each = row.allocations.get("")
            target, unit = (0.0, "text delta") if name == "S1" else (2.0, "argument fragment")
            if each is not None:
                rows.append([f"heap allocations for each {unit}, {wire}", number(each, 3), verdict(round(each, 1), target)])
    return table(["", "allm", "target"], rows) if rows else ""


def times(measurement, asked):
    """Wall, CPU and memory as they were."""
    rows = []
    for (name, wire, library), row in measurement.rows.items():
        if row.failure:
            rows.append([name, wire, library, row.failure.replace("|", "/"), "", ""])
        else:
            memory = number(row.memory / (1 << 20), 1) if row.memory else "–"
            rows.append([name, wire, library, number(row.wall), number(row.cpu), memory])
    return table(["", "wire", "library", "wall, s", "CPU, s", "peak memory, MiB"], rows)


def starts(found):
    """S7."""
    rig = found.get("rig")
    rows = []
    for library, cold in found.items():
        wall, cpu = (cold.build.wall, cold.build.cpu) if cold.build else (None, None)
        rows.append([library, number(cold.first_token * 1000, 1), number(cold.cpu * 1000, 1),
                     number(cold.memory / (1 << 20), 1), number(cold.size / (1 << 20), 2), str(cold.crates),
                     number(wall, 0), number(cpu, 0)])
    text = table(["", "first token, ms", "CPU, ms", "peak memory, MiB", "program, MiB", "crates", "clean build, s",
                  "its CPU, s"], rows)
    ours = [(name, cold) for name, cold in found.items() if name.startswith("allm")]
    floor = found.get("floor")
    if rig and ours:
        def cells(value):
            shares = [ratio(value(cold), value(rig)) for _, cold in ours]
            judged = [cell for share in shares for cell in (number(share), verdict(share, COLD_TARGET))]
            return [*judged, number(ratio(value(floor), value(rig)) if floor else None)]

        rows = [["first token", *cells(lambda cold: cold.first_token)], ["program", *cells(lambda cold: cold.size)],
                ["crates", *cells(lambda cold: cold.crates)],
                ["clean build, CPU", *cells(lambda cold: cold.build and cold.build.cpu)]]
        head = [*(cell for name, _ in ours for cell in (name, "target")), "floor"]
        text += "\n`allm` speaks to all providers over HTTP/1.1 and HTTP/2, and runs processes as tools, because a program that does not\n"
        text += "choose gets that. The peers' clients speak to one provider, as `allm, one provider` does (`default-features = false,\n"
        text += "features = [\"openai\"]`). `floor` shows what a program by hand comes to.\n"
        text += "\n" + table(["to rig", *head], rows)
    return text


# How bare inserts were made, as the program for sessions says it.
SINGLY, PACED, TOGETHER = "an entry", "an entry, at the pace of the turn", "an append"


def kept(found):
    """D1 to D3."""
    rows = [[name, number(value, 3)] for name, value in found.items()]
    text = table(["", "median"], rows)
    ours = found.get("D1 SQLite, a tool turn, µs")
    bare = {how: found.get(f"D1 SQLite, bare inserts, one transaction {how}, µs") for how in (SINGLY, PACED, TOGETHER)}
    unkept = found.get("D1 no session, a tool turn, µs")
    if ours and unkept and all(bare.values()):
        text += "\n" + table(["a durable turn on SQLite to the bare inserts", "", "target"], [
            ["of its entries, one after the other", number(ours / bare[SINGLY]), verdict(ours / bare[SINGLY], 1.5)],
            ["of its entries, at the pace of the turn", number(ours / bare[PACED]), ""],
            ["the same, and the turn that is not kept", number(ours / (bare[PACED] + unkept)), ""],
            ["of its entries, put together as the appends are", number(ours / bare[TOGETHER]), ""],
        ])
    return text


def page(measurement, found, sessions, asked):
    """The whole page."""
    parts = [INTRO]
    today = datetime.date.today().isoformat()
    versions = ", ".join(f"{name} {version}" for name, version in build.versions().items())
    parts.append(f"{today}. {'; '.join(build.machine())}. {versions}. Each client was timed {asked.rounds} times, on a "
                 "runtime of one thread.\n")
    parts.append("## Work\n")
    parts.append("\n".join(f"- **{s.name}**: {s.says}." for s in SCENARIOS if any(key[0] == s.name for key in measurement.rows)) + "\n")
    if measurement.rows:
        parts.append("The floor's column has instructions for each unit, CPU seconds of the whole, allocations for each unit.\n")
        parts.append(measured(measurement, asked))
        parts.append(extras(measurement))
    if found:
        parts.append("## S7: before the work\n\nFrom the start of the process to the first piece of text, and what a program grows by.\n")
        parts.append(starts(found))
    if sessions:
        parts.append("## D: sessions that are kept\n")
        parts.append(kept(sessions))
    if measurement.rows:
        parts.append("## Times and memory\n")
        parts.append(times(measurement, asked))
    # Written by hand: what the profiles say of the targets that do not hold.
    parts.append((build.BENCH / "remains.md").read_text())
    return "\n".join(part for part in parts if part)
