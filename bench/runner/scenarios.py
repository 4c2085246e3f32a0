"""What is measured: the work, how much of it, and what is aimed at."""

from dataclasses import dataclass

WIRES = ["chat", "responses", "anthropic", "gemini"]
LIBRARIES = ["allm", "floor", "raw", "llm", "async-openai", "genai", "rig"]

# Who speaks all wires, and is counted also where peers would take many minutes.
ALL_WIRES = {"allm", "floor", "raw"}


@dataclass(frozen=True)
class Count:
    """A pair of counts whose difference is counted by callgrind."""

    fewer: int
    more: int
    label: str = ""
    by_peers: bool = True
    """Whether peers are counted, too: some take quadratic work, and callgrind fifty times the time."""

    def wanted(self, library):
        """Whether this library is counted."""
        return self.by_peers or library in ALL_WIRES


@dataclass(frozen=True)
class Scenario:
    """One kind of work."""

    name: str
    work: str
    """What the client calls it."""
    count: int
    """How much of it is timed."""
    unit: str
    counts: tuple = ()
    wires: tuple = ("chat",)
    target: float | None = None
    """At most this ratio to the floor."""
    says: str = ""


SCENARIOS = [
    Scenario("S1", "text", 100_000, "delta", (Count(2_000, 12_000),), tuple(WIRES), 1.0,
             "one stream of 100,000 text deltas of 20 bytes, one to a network chunk"),
    Scenario("S1c", "packed", 100_000, "delta", (Count(2_000, 12_000),), tuple(WIRES), 1.0,
             "the same, as many to a network chunk as 64 KiB hold"),
    Scenario("S2", "arguments", 5_000, "fragment", (Count(2_500, 5_000),), tuple(WIRES), 1.0,
             "the arguments of one call: 50 KB in 5,000 fragments"),
    Scenario("S2x10", "arguments", 50_000, "fragment", (Count(25_000, 50_000, by_peers=False),), tuple(WIRES), 1.0,
             "the same ten times as long: 500 KB in 50,000 fragments"),
    Scenario("S3", "request", 2_000, "request", (Count(10, 40),), ("chat",), 0.9,
             "2,000 requests with the same thread of 200 messages"),
    Scenario("S4", "calls", 1_000, "run", (Count(5, 35),), ("chat",), 1.2,
             "1,000 runs: eight calls at once, their results, a final text"),
    Scenario("S5", "gaps", 2_000, "stream", (Count(100, 350),), ("chat",), 1.0,
             "2,000 streams at once, 40 deltas each, one every 5 ms; CPU time, and peak memory"),
    Scenario("S6", "loop", 400, "turn",
             (Count(40, 60, "turn 50"), Count(90, 110, "turn 100"), Count(190, 210, "turn 200"),
              Count(390, 410, "turn 400", by_peers=False)),
             ("chat",), 0.6,
             "one run of 400 turns with a call each; cost of a turn at 50, 100, 200, 400"),
]

# The parts of S6 that have a target of their own.
LABEL_TARGETS = {("S6", "turn 50"): None, ("S6", "turn 100"): None, ("S6", "turn 200"): None,
                 ("S6", "turn 400"): 0.6}


def target_of(scenario, label):
    """What is aimed at for a row."""
    return LABEL_TARGETS.get((scenario.name, label), scenario.target)
