"""What a record says, in the words of the contract: the value every dialect's reader fills."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jiter


@dataclass
class Call:
    id: str
    name: str
    raw: str
    """The argument text as it came, or the arguments written as JSON where the wire has an object."""

    def arguments(self, cut: bool) -> dict[str, Any] | None:
        """The arguments; `None` when they are malformed. `cut`: the answer ended in this call."""
        if not self.raw.strip():
            # No text means no arguments, but not in the last call of an answer that was cut.
            return None if cut else {}
        try:
            value = json.loads(self.raw, parse_constant=not_json)
        except (ValueError, RecursionError):
            return None
        if value is None:
            return None if cut else {}
        return value if isinstance(value, dict) else None


@dataclass
class Usage:
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    """The part of the input that was written to a cache. It is not stored."""

    def settled(self) -> Usage:
        """No part is larger than its whole: counts that say so say nothing (contract, core 8)."""
        reasoning, cached = self.reasoning, self.cached
        if reasoning is not None and self.output is not None and reasoning > self.output:
            reasoning = None
        if self.input is not None and (cached or 0) + (self.written or 0) > self.input:
            cached = None
        return Usage(self.input, self.output, cached, reasoning, self.written)


@dataclass
class Fault:
    reason: str
    status: int | None = None


@dataclass
class Verdict:
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str | None = None
    usage: Usage = field(default_factory=Usage)
    error: Fault | None = None
    unreadable: str | None = None
    """The class of the exception with which the package gave up."""

    def forgive(self) -> None:
        """What was cut stays cut: an error that the provider tells of after it is only a warning (contract 1.3)."""
        told = self.error is not None and self.error.reason not in ("interrupted", "malformed_event")
        if told and self.finish in ("length", "content_filter"):
            self.error = None

    def settled(self) -> Verdict:
        """The finish reason as the contract gives it (core 7)."""
        if self.error is None and any(not call.name for call in self.calls):
            # Nobody can answer a call without a name (contract, loop 4).
            self.error = Fault("malformed_event")
        if self.error is not None:
            self.finish = "error"
        elif self.refusal:
            self.finish = "content_filter"
        elif self.finish not in ("length", "content_filter"):
            if self.calls:
                self.finish = "tool_calls"
            elif self.finish == "tool_calls":
                self.finish = "other"
        self.usage = self.usage.settled()
        return self

    def arguments(self) -> list[dict[str, Any] | None]:
        """The arguments of each call."""
        cut = self.finish in ("length", "content_filter", "error")
        last = len(self.calls) - 1
        return [call.arguments(cut and index == last) for index, call in enumerate(self.calls)]


def is_cut(text: str) -> bool:
    """Whether this is the beginning of something that ended with the stream, not something else."""
    text = text.strip()
    if "[DONE]".startswith(text):
        return True
    try:
        json.JSONDecoder().raw_decode(text)
    except ValueError:
        pass
    else:
        return False  # a whole value, and more
    try:
        jiter.from_json(text.encode(), partial_mode="trailing-strings")
    except ValueError:
        return False
    return True


def not_json(word: str) -> None:
    """Python would take `NaN` and `Infinity` for JSON."""
    raise ValueError(word)


def count(value: Any) -> int | None:
    """A counter: a whole number that is not negative. Anything else is no counter."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def first(*values: Any) -> Any:
    """The first that is there."""
    return next((value for value in values if value is not None), None)
