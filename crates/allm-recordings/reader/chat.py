"""OpenAI Chat Completions, and who speaks alike, read with the package `openai`."""

from __future__ import annotations

import json
from typing import Any, Iterator

import openai

import reasons
from verdict import Call, Fault, Usage, Verdict, count, first, is_cut

FINISH = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
}
CUT = {"length", "max_tokens", "max_output_tokens"}

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def get(value: Any, key: str) -> Any:
    """A field of a typed object, declared by the package or not, or of a plain mapping."""
    if isinstance(value, dict):
        return value.get(key)
    return getattr(value, key, None)


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


class Reading:
    """Collects the first choice, of chunks or of one message."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.calls: list[dict[str, Any]] = []
        self.finish: str | None = None
        self.native: str | None = None
        self.usage: Any = None
        self.error: Fault | None = None
        self.answered = False

    def chunk(self, chunk: Any, said: str = "delta") -> None:
        """Takes a chunk, or a document, whose choices have a `message` (some send an empty `delta` beside it)."""
        self.usage = first(get(chunk, "usage"), get(get(chunk, "x_groq"), "usage"), self.usage)
        choices = items(get(chunk, "choices"))
        self.answered = self.answered or isinstance(get(chunk, "choices"), list)
        choice = next((each for each in choices if not get(each, "index")), None)
        if choice is not None:
            self.usage = first(get(choice, "usage"), self.usage)
            self.message(first(get(choice, said), get(choice, "message"), get(choice, "delta")))
            reason = get(choice, "finish_reason") or get(get(choice, "finish_details"), "type")
            self.finish = text_of(reason) or self.finish
            self.native = text_of(get(choice, "native_finish_reason")) or self.native
        wrong = first(get(chunk, "error"), get(choice, "error"), get(get(chunk, "x_groq"), "error"))
        if wrong and self.error is None:
            self.error = reasons.in_band(wrong)

    def message(self, message: Any) -> None:
        content = get(message, "content")
        self.text.append(text_of(content))
        thought = text_of(get(message, "reasoning_content")) or text_of(get(message, "reasoning"))
        # The details repeat the text where both are sent.
        thought = thought or "".join(
            text_of(get(detail, "text")) + text_of(get(detail, "summary"))
            for detail in items(get(message, "reasoning_details"))
        )
        self.reasoning.append(thought)
        for part in items(content):
            if get(part, "type") == "thinking":
                inner = get(part, "thinking")
                self.reasoning.append(text_of(inner) or "".join(text_of(get(each, "text")) for each in items(inner)))
            elif get(part, "type") == "text":
                self.text.append(text_of(get(part, "text")))
        self.refusal.append(text_of(get(message, "refusal")))
        for call in items(get(message, "tool_calls")):
            self.call(call)
        legacy = get(message, "function_call")
        if legacy is not None and (text_of(get(legacy, "name")) or self.legacy() is not None):
            known = self.legacy()
            if known is None:
                known = {"index": "legacy", "id": "", "name": "", "raw": ""}
                self.calls.append(known)
            self.add(known, legacy)

    def legacy(self) -> dict[str, Any] | None:
        return next((call for call in self.calls if call["index"] == "legacy"), None)

    def call(self, part: Any) -> None:
        index, id = get(part, "index"), text_of(get(part, "id"))
        function = get(part, "function")
        name = text_of(get(function, "name"))
        if index is not None:
            same = [call for call in self.calls if call["index"] == index]
            known = same[-1] if same else None
            # An index used again with another id is another call.
            if known is not None and id and known["id"] and known["id"] != id:
                known = next((call for call in same if call["id"] == id), None)
        elif id:
            known = next((call for call in self.calls if call["id"] == id), None)
        else:
            known = None if name or not self.calls else self.calls[-1]
        if known is None:
            known = {"index": index, "id": "", "name": "", "raw": ""}
            self.calls.append(known)
        known["id"] = known["id"] or id
        self.add(known, function)

    @staticmethod
    def add(known: dict[str, Any], function: Any) -> None:
        known["name"] = known["name"] or text_of(get(function, "name"))
        arguments = get(function, "arguments")
        known["raw"] += json.dumps(arguments) if isinstance(arguments, dict) else text_of(arguments)

    def verdict(self) -> Verdict:
        verdict = Verdict(
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            refusal="".join(self.refusal),
            calls=[Call(call["id"], call["name"], call["raw"]) for call in self.calls],
            usage=usage(self.usage),
            error=self.error,
        )
        if self.finish is not None:
            verdict.finish = FINISH.get(self.finish, "other")
        if self.finish in ("error", "insufficient_system_resource") and self.error is None:
            verdict.error = Fault("provider_unavailable")
        if self.native and self.native.lower() in CUT and verdict.finish != "content_filter":
            # A router's upstream knows better that the answer was cut.
            verdict.finish = "length"
        if self.native == "MALFORMED_FUNCTION_CALL" and self.error is None:
            verdict.error = Fault("generation_failed")
        verdict.forgive()
        return verdict

    @property
    def content(self) -> bool:
        return any(self.text) or any(self.reasoning) or any(self.refusal) or bool(self.calls)


def usage(said: Any) -> Usage:
    if said is None:
        return Usage()
    prompt, completion = count(get(said, "prompt_tokens")), count(get(said, "completion_tokens"))
    cached = first(
        count(get(get(said, "prompt_tokens_details"), "cached_tokens")),
        count(get(said, "prompt_cache_hit_tokens")),
        count(get(said, "cached_tokens")),
        count(get(said, "num_cached_tokens")),
        count(get(said, "cache_read_input_tokens")),
    )
    written = first(
        count(get(get(said, "prompt_tokens_details"), "cache_write_tokens")),
        count(get(said, "cache_creation_input_tokens")),
    )
    reasoning = first(
        count(get(get(said, "completion_tokens_details"), "reasoning_tokens")), count(get(said, "reasoning_tokens"))
    )
    total = count(get(said, "total_tokens"))
    if None not in (prompt, completion, reasoning, total) and total == prompt + completion + reasoning:
        # Some count the reasoning outside of the completion.
        completion += reasoning
    return Usage(prompt, completion, cached, reasoning, written)


def read(client: openai.OpenAI, stream: bool) -> Verdict:
    reading = Reading()
    watch = None
    try:
        if stream:
            chunks = client.chat.completions.create(stream=True, **REQUEST)
            watch = Watch(chunks)
            for chunk in chunks:
                reading.chunk(chunk)
        else:
            document = client.chat.completions.create(**REQUEST)
            reading.chunk(document, "message")
            if not isinstance(document, openai.BaseModel) or not reading.answered and reading.error is None:
                return Verdict(error=Fault("malformed_response"))
    except openai.APIStatusError as raised:
        return Verdict(error=reasons.http(raised.status_code, body_of(raised)))
    except openai.APIError as raised:
        if type(raised) is not openai.APIError:
            raise
        # An error event: the package raises in the midst of the stream.
        reading.error = reasons.in_band(raised.body)
    except json.JSONDecodeError:
        if watch is None:
            return Verdict(error=Fault("malformed_response"))
        reading.error = watch.fault(closed=reading.finish is not None)
    verdict = reading.verdict()
    closed = watch is None or watch.done
    if verdict.error is None and verdict.finish is None and not (reading.content and closed):
        verdict.error = Fault("interrupted")
    return verdict


def body_of(raised: Any) -> Any:
    """The package keeps only the member `error`; codes may stand beside it."""
    try:
        return raised.response.json()
    except ValueError:
        return raised.response.text


class Watch:
    """Looks at what the package hides. `done`: `[DONE]` has come; an answer without finish reason is only whole with it.
    `ended`: all was read. The package drops a last event whose blank line is missing, the contract takes it (1.2)."""

    def __init__(self, stream: Any) -> None:
        self.done = self.ended = False
        self.data = ""
        self.stream = stream
        stream._iter_events = self.events

    def events(self) -> Iterator[Any]:
        for event in self.stream._decoder.iter_bytes(self.bytes()):
            if not event.data.strip():
                continue
            self.data = event.data
            self.done = self.done or event.data.strip() == "[DONE]"
            yield event

    def bytes(self) -> Iterator[bytes]:
        yield from self.stream.response.iter_bytes()
        self.ended = True
        yield b"\n\n"

    def fault(self, closed: bool) -> Fault | None:
        """Why an event is not JSON: the last one was cut, any other one is wrong. Behind the closing event it is not
        missed."""
        if closed:
            return None
        return Fault("interrupted" if self.ended and is_cut(self.data) else "malformed_event")
