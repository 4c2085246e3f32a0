"""The stored form of a verdict, as `../src/verdict.rs` describes it: what people wrote is kept as a digest only."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from verdict import Verdict


def stored(hash: str, verdict: Verdict) -> dict[str, Any]:
    """One line of a file of verdicts."""
    if verdict.unreadable:
        return failed(hash, f"unreadable: {verdict.unreadable}", None)
    if verdict.error is not None:
        return failed(hash, verdict.error.reason, verdict.error.status)
    usage = verdict.usage
    return {
        "hash": hash,
        "text": digest(verdict.text),
        "reasoning": digest(verdict.reasoning),
        "refusal": digest(verdict.refusal),
        "calls": digest(calls(verdict)),
        "finish": verdict.finish,
        "usage": [usage.input, usage.output, usage.cached, usage.reasoning],
        "error": None,
    }


def failed(hash: str, reason: str, status: int | None) -> dict[str, Any]:
    nothing = dict.fromkeys(("text", "reasoning", "refusal", "calls"))
    return {"hash": hash, **nothing, "finish": "error", "usage": [None] * 4, "error": [reason, status]}


def digest(text: str) -> str | None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return hashlib.sha256(whole.encode()).hexdigest()[:12] if text else None


def calls(verdict: Verdict) -> str:
    """The canonical text of the calls; empty without any."""
    if not verdict.calls:
        return ""
    pairs = zip(verdict.calls, verdict.arguments())
    return canonical([[call.id, call.name, call.raw if given is None else given] for call, given in pairs])


def canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def number(value: int | float) -> str:
    if isinstance(value, int):
        if -(2**63) <= value < 2**64:
            return str(value)
        value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' if sign else ''}{text[0]}{fraction}e{exponent + len(text) - 1}"
