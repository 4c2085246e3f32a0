"""Anthropic Messages, read with the package `anthropic`."""

from __future__ import annotations

import json
from typing import Any, Iterator

import anthropic

import reasons
from chat import body_of, get, items, text_of
from verdict import Call, Fault, Usage, Verdict, count, is_cut

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

REQUEST: dict[str, Any] = {"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": "x"}]}


def verdict_of(message: Any, fragments: dict[int, str] | None) -> Verdict:
    """Reads the package's message. `fragments` are the argument texts by block, when they were streamed: the package
    reads a cut text as far as it goes, and no text as `{}`; the contract calls both malformed when the answer was cut."""
    verdict = Verdict(usage=usage(get(message, "usage")))
    for index, block in enumerate(items(get(message, "content"))):
        kind = get(block, "type")
        if kind == "text":
            verdict.text += text_of(get(block, "text"))
        elif kind == "thinking":
            verdict.reasoning += text_of(get(block, "thinking"))
        elif kind == "tool_use":
            given = get(block, "input") or {}
            raw = json.dumps(given) if given or fragments is None else ""
            raw = (fragments or {}).get(index) or raw
            verdict.calls.append(Call(text_of(get(block, "id")), text_of(get(block, "name")), raw))
    reason = get(message, "stop_reason")
    if reason:
        verdict.finish = FINISH.get(reason, "other")
    return verdict


def usage(said: Any) -> Usage:
    if said is None:
        return Usage()
    plain, output = count(get(said, "input_tokens")), count(get(said, "output_tokens"))
    read, written = count(get(said, "cache_read_input_tokens")), count(get(said, "cache_creation_input_tokens"))
    # Here the provider counts what came from the cache apart; the contract's input is the whole prompt.
    whole = None if plain is None else plain + (read or 0) + (written or 0)
    return Usage(whole, output, read, count(get(get(said, "output_tokens_details"), "thinking_tokens")))


def read(client: anthropic.Anthropic, stream: bool) -> Verdict:
    try:
        if stream:
            return streamed(client)
        message = client.messages.create(**REQUEST)
        wrong = get(message, "error")
        if wrong:
            return Verdict(error=reasons.in_band(wrong))
        if not isinstance(get(message, "content"), list) and not get(message, "stop_reason"):
            return Verdict(error=Fault("malformed_response"))
        return verdict_of(message, None)
    except anthropic.APIStatusError as raised:
        return Verdict(error=reasons.http(raised.status_code, body_of(raised)))


def streamed(client: anthropic.Anthropic) -> Verdict:
    try:
        message, fragments, error, stopped = by_helper(client)
    except (ValueError, TypeError, LookupError, AttributeError):
        # The package's helper counts on a perfect stream; its events can be read without it.
        message, fragments, error, stopped = by_events(client)
    verdict = verdict_of(message, fragments)
    verdict.error = error
    verdict.forgive()
    if not stopped and verdict.error is None:
        verdict.error = Fault("interrupted")
    return verdict


def by_helper(client: anthropic.Anthropic) -> tuple[Any, dict[int, str], Fault | None, bool]:
    fragments: dict[int, str] = {}
    error, stopped = None, False
    with client.messages.stream(**REQUEST) as stream:
        ended = Ended(stream._raw_stream)
        try:
            for event in stream:
                if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    fragments[event.index] = fragments.get(event.index, "") + event.delta.partial_json
                elif event.type == "message_stop":
                    # What gateways write after it is not for the package.
                    stopped = True
                    break
        except anthropic.APIStatusError as raised:
            if raised.response.status_code != 200:
                raise
            error = ended.fault() if isinstance(raised.body, str) else reasons.in_band(raised.body)
        except json.JSONDecodeError:
            error = ended.fault()
        return stream._current_snapshot_or_none(), fragments, error, stopped


def by_events(client: anthropic.Anthropic) -> tuple[Any, dict[int, str], Fault | None, bool]:
    message: dict[str, Any] = {"content": [], "usage": {}}
    places: dict[Any, int] = {}
    fragments: dict[int, str] = {}
    error, stopped = None, False

    def block(index: Any, empty: dict[str, Any]) -> int:
        if index not in places:
            places[index] = len(message["content"])
            message["content"].append(empty)
        return places[index]

    stream = client.messages.create(stream=True, **REQUEST)
    ended = Ended(stream)
    try:
        for event in stream:
            if event.type == "message_start":
                start = plain(get(event, "message"))
                message["content"] += items(start.get("content"))
                message["stop_reason"] = start.get("stop_reason")
                overlay(message["usage"], plain(start.get("usage")))
            elif event.type == "content_block_start":
                places.pop(get(event, "index"), None)
                block(get(event, "index"), plain(get(event, "content_block")))
            elif event.type == "content_block_delta":
                delta = plain(get(event, "delta"))
                kind = delta.get("type")
                if kind == "text_delta":
                    at = block(get(event, "index"), {"type": "text"})
                    grow(message["content"][at], delta, "text")
                elif kind == "thinking_delta":
                    at = block(get(event, "index"), {"type": "thinking"})
                    grow(message["content"][at], delta, "thinking")
                elif kind == "input_json_delta":
                    at = block(get(event, "index"), {"type": "tool_use"})
                    fragments[at] = fragments.get(at, "") + text_of(delta.get("partial_json"))
            elif event.type == "message_delta":
                message["stop_reason"] = get(get(event, "delta"), "stop_reason") or message.get("stop_reason")
                overlay(message["usage"], plain(get(event, "usage")))
            elif event.type == "message_stop":
                stopped = True
                break
    except anthropic.APIStatusError as raised:
        if raised.response.status_code != 200:
            raise
        error = reasons.in_band(raised.body)
    except json.JSONDecodeError:
        error = ended.fault()
    return message, fragments, error, stopped


class Ended:
    """Stands before the package's decoder of events. It drops a last event whose blank line is missing, the contract
    takes it (1.2)."""

    def __init__(self, stream: Any) -> None:
        self.decoder, stream._decoder = stream._decoder, self
        self.ended = False
        self.data = ""

    def iter_bytes(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        for event in self.decoder.iter_bytes(self.all(chunks)):
            self.data = event.data
            yield event

    def all(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        yield from chunks
        self.ended = True
        yield b"\n\n"

    def fault(self) -> Fault:
        return Fault("interrupted" if self.ended and is_cut(self.data) else "malformed_event")


def plain(value: Any) -> dict[str, Any]:
    return value.to_dict() if isinstance(value, anthropic.BaseModel) else value if isinstance(value, dict) else {}


def grow(block: dict[str, Any], delta: dict[str, Any], key: str) -> None:
    block[key] = text_of(block.get(key)) + text_of(delta.get(key))


def overlay(known: dict[str, Any], said: dict[str, Any]) -> None:
    """Counters are totals: a later one replaces, a missing one leaves what was there."""
    for key, value in said.items():
        if value is not None:
            known[key] = value
