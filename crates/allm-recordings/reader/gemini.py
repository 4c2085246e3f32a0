"""Gemini's generateContent, read with the package `google-genai`."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

from google.genai import Client, errors, types

import reasons
from verdict import Call, Fault, Usage, Verdict, count, first, is_cut

FILTERED = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
}
FAILED = {
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
}


class Reading:
    """Collects the first candidate over all chunks."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.calls: list[Call] = []
        self.open: Any = None
        """The arguments of a call that comes in fragments."""
        self.finish: str | None = None
        self.blocked = False
        self.candidates = False
        self.chunks = 0
        self.usage: dict[str, int] = {}
        self.error: Fault | None = None

    def chunk(self, chunk: types.GenerateContentResponse) -> None:
        self.chunks += 1
        for field in (
            "prompt_token_count",
            "tool_use_prompt_token_count",
            "candidates_token_count",
            "response_token_count",
            "thoughts_token_count",
            "cached_content_token_count",
        ):
            value = count(getattr(chunk.usage_metadata, field, None))
            if value is not None:
                self.usage[field] = value
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            self.blocked = True
        for candidate in chunk.candidates or []:
            if not candidate.index:
                self.candidates = True
                self.candidate(candidate)

    def candidate(self, candidate: types.Candidate) -> None:
        if candidate.finish_reason is not None:
            self.finish = candidate.finish_reason.value or self.finish
        for part in (candidate.content and candidate.content.parts) or []:
            if part.function_call is not None:
                self.call(part.function_call)
            elif part.text is not None:
                if part.thought:
                    self.reasoning += part.text
                else:
                    self.text += part.text

    def call(self, call: types.FunctionCall) -> None:
        if self.open is not None and not call.name:
            for fragment in call.partial_args or []:
                put(self.open, fragment)
            if not call.will_continue:
                self.close()
            return
        if not call.model_dump(exclude_none=True):
            return  # it only closes, and nothing is open
        self.calls.append(Call(call.id or "", call.name or "", json.dumps(call.args or {})))
        if call.will_continue or call.partial_args:
            self.open = dict(call.args or {})
            for fragment in call.partial_args or []:
                put(self.open, fragment)
            if not call.will_continue:
                self.close()

    def close(self) -> None:
        self.calls[-1].raw = json.dumps(self.open)
        self.open = None

    def verdict(self) -> Verdict:
        if self.open is not None:
            self.close()
        verdict = Verdict(
            text=self.text, reasoning=self.reasoning, calls=self.calls, usage=self.counted(), error=self.error
        )
        if self.finish == "STOP":
            verdict.finish = "stop"
        elif self.finish == "MAX_TOKENS":
            verdict.finish = "length"
        elif self.finish in FILTERED or self.finish is None and self.blocked and not self.candidates:
            verdict.finish = "content_filter"
        elif self.finish is not None:
            verdict.finish = "other"
        verdict.forgive()
        if self.finish in FAILED and self.error is None:
            verdict.error = Fault("generation_failed")
        return verdict

    def counted(self) -> Usage:
        said = self.usage.get
        thoughts = said("thoughts_token_count")
        written = first(said("candidates_token_count"), said("response_token_count"))
        # The contract's input has the prompts of the provider's own tools in it, its output has the thoughts.
        return Usage(
            total(said("prompt_token_count"), said("tool_use_prompt_token_count")),
            total(written, thoughts),
            said("cached_content_token_count"),
            thoughts,
        )


def total(*counts: int | None) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def put(target: Any, fragment: types.PartialArg) -> None:
    """Writes one fragment (`$.a.b[0]` and a piece of the value) into the arguments."""
    steps: list[Any] = [
        int(number) if number else name or quoted
        for name, number, quoted in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]", fragment.json_path or "")
    ]
    if not steps:
        return
    value = first(fragment.string_value, fragment.number_value, fragment.bool_value)
    for step, following in zip(steps, steps[1:]):
        target = place(target, step, [] if isinstance(following, int) else {})
    last = steps[-1]
    before = target.get(last) if isinstance(target, dict) else target[last] if last < len(target) else None
    if isinstance(before, str) and isinstance(value, str):
        value = before + value
    if isinstance(target, dict) or last < len(target):
        target[last] = value
    else:
        target.append(value)


def place(target: Any, step: Any, empty: Any) -> Any:
    if isinstance(target, dict):
        return target.setdefault(step, empty)
    if step >= len(target):
        target.append(empty)
    return target[step]


def read(client: Client, base: str, form: str) -> Verdict:
    """`form`: what the body is, `stream`, `document` or `array`."""
    if form == "array":
        return whole(by_hand(base), False)
    stream = form == "stream"
    reading = Reading()
    options = types.HttpOptions(base_url=base, api_version="v1beta", timeout=60_000)
    request: Any = {"model": "m", "contents": "x", "config": types.GenerateContentConfig(http_options=options)}
    try:
        if stream:
            for chunk in client.models.generate_content_stream(**request):
                reading.chunk(chunk)
        else:
            reading.chunk(client.models.generate_content(**request))
    except errors.APIError as raised:
        status = getattr(raised.response, "status_code", None)
        if status != 200:
            return Verdict(error=reasons.http(raised.code, raised.details))
        reading.error = reasons.in_band(raised.details)
    except (errors.UnknownApiResponseError, ValueError, AttributeError):
        reading = by_hand(base)
    if not reading.candidates and not reading.blocked and reading.error is None:
        # The package overlooks an error in a document that began well.
        reading = by_hand(base)
    return whole(reading, stream)


def whole(reading: Reading, stream: bool) -> Verdict:
    verdict = reading.verdict()
    if verdict.error is None and verdict.finish is None:
        if stream and reading.candidates:
            verdict.error = Fault("interrupted")
        elif not reading.candidates:
            verdict.error = Fault("malformed_response" if reading.chunks else "interrupted")
    return verdict


# The package asks for `alt=sse` and for enums as names, and checks members that no verdict is about. A body of another
# form is cut into chunks here, and the package's types read of each chunk what the verdict is about.

NUMBERS = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}


def by_hand(base: str) -> Reading:
    reading = Reading()
    with urllib.request.urlopen(urllib.request.Request(f"{base}/v1beta/models/m", b"{}")) as answer:
        body = answer.read().decode("utf-8-sig", "replace").strip()
    if body.startswith(("{", "[")):
        document = json.loads(body)
        chunks = document if isinstance(document, list) else [document]
    else:
        chunks = []
        events = re.split(r"\r\n\r\n|\n\n|\r\r", body)
        for index, event in enumerate(events):
            lines = [line[5:].removeprefix(" ") for line in re.split(r"\r\n|\n|\r", event) if line.startswith("data:")]
            data = "\n".join(lines).strip()
            try:
                chunks += [json.loads(data)] if data and data != "[DONE]" else []
            except ValueError:
                last = index + 1 == len(events)
                reading.error = Fault("interrupted" if last and is_cut(data) else "malformed_event")
                break
    for chunk in chunks:
        if isinstance(chunk, dict) and chunk.get("error"):
            reading.error = reasons.in_band(chunk["error"])
            break
        reading.chunk(types.GenerateContentResponse._from_response(response=pruned(chunk), kwargs={}))
    return reading


def pruned(chunk: dict[str, Any]) -> dict[str, Any]:
    candidates = []
    for candidate in chunk.get("candidates") or []:
        kept = {key: candidate[key] for key in ("index", "finishReason") if key in candidate}
        if isinstance(kept.get("finishReason"), int):
            number = kept.pop("finishReason")
            kept |= {"finishReason": NUMBERS.get(number, "OTHER")} if number else {}
        parts = (candidate.get("content") or {}).get("parts") or []
        named = ("text", "thought", "functionCall")
        kept["content"] = {"parts": [{key: part[key] for key in named if key in part} for part in parts]}
        candidates.append(kept)
    kept = {"candidates": candidates} if "candidates" in chunk else {}
    counters = chunk.get("usageMetadata") or {}
    kept["usageMetadata"] = {key: value for key, value in counters.items() if key.endswith("TokenCount")}
    if (chunk.get("promptFeedback") or {}).get("blockReason"):
        kept["promptFeedback"] = {"blockReason": "OTHER"}
    return kept
