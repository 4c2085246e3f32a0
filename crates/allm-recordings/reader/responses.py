"""OpenAI Responses, read with the package `openai`."""

from __future__ import annotations

import json
from typing import Any

import openai
from openai.types.responses import Response

import reasons
from chat import Watch, body_of, get, items, text_of
from verdict import Call, Fault, Usage, Verdict, count

REQUEST: dict[str, Any] = {"model": "m", "input": "x"}


class Reading:
    """Collects the items of an answer, from events or from the whole."""

    def __init__(self) -> None:
        self.items: dict[Any, Any] = {}
        """Finished items by output index."""
        self.open: dict[Any, dict[str, Any]] = {}
        """What the deltas said of items that were not finished."""
        self.final: Response | None = None
        self.closed_as: str | None = None
        """What the closing event is called, for answers that do not say their status."""
        self.error: Fault | None = None

    def event(self, event: Any) -> None:
        kind = event.type
        if kind == "response.output_item.added":
            self.opened(event.output_index)["item"] = event.item
        elif kind == "response.output_item.done":
            self.items[event.output_index] = event.item
            self.open.pop(event.output_index, None)
        elif kind == "response.output_text.delta":
            self.opened(event.output_index)["text"] += text_of(get(event, "delta"))
        elif kind == "response.refusal.delta":
            self.opened(event.output_index)["refusal"] += text_of(get(event, "delta"))
        elif kind == "response.reasoning_text.delta":
            self.opened(event.output_index)["reasoning"] += text_of(get(event, "delta"))
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_summary.delta"):
            entry = self.opened(event.output_index)
            if entry["part"] not in (None, event.summary_index):
                entry["reasoning"] += "\n\n"
            entry["part"] = event.summary_index
            entry["reasoning"] += text_of(event.delta)
        elif kind == "response.function_call_arguments.delta":
            self.opened(event.output_index)["arguments"] += text_of(get(event, "delta"))
        elif kind in ("response.completed", "response.incomplete"):
            self.final = event.response
            self.closed_as = kind.removeprefix("response.")
        elif kind == "response.failed":
            self.final = event.response
            self.error = self.error or reasons.in_band(plain(event.response.error))
        elif kind == "error":
            self.error = self.error or reasons.in_band({"code": event.code, "message": event.message})

    def opened(self, index: Any) -> dict[str, Any]:
        empty = {"item": None, "text": "", "refusal": "", "reasoning": "", "arguments": "", "part": None}
        return self.open.setdefault(index, empty)

    def verdict(self) -> Verdict:
        verdict = Verdict(error=self.error)
        output = items(get(self.final, "output"))
        if not output:
            # Some end with an empty list: then the items that came one by one are the answer.
            output = [item for _, item in sorted(self.items.items())]
            for _, entry in sorted(self.open.items()):
                self.unfinished(verdict, entry)
        for item in output:
            add(verdict, item)
        if self.final is not None:
            verdict.finish = finish(self.final, self.closed_as)
            if self.final.status in ("failed", "cancelled") and verdict.error is None:
                verdict.error = reasons.in_band(plain(self.final.error))
            verdict.usage = usage(self.final.usage)
        verdict.forgive()
        return verdict

    @staticmethod
    def unfinished(verdict: Verdict, entry: dict[str, Any]) -> None:
        verdict.text += entry["text"]
        verdict.refusal += entry["refusal"]
        verdict.reasoning += entry["reasoning"]
        item = entry["item"]
        if get(item, "type") == "function_call":
            raw = entry["arguments"] or text_of(item.arguments)
            verdict.calls.append(Call(item.call_id or item.id or "", item.name, raw))


def plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, openai.BaseModel) else value


def add(verdict: Verdict, item: Any) -> None:
    kind = get(item, "type")
    if kind == "message":
        for part in items(get(item, "content")):
            if get(part, "type") == "output_text":
                verdict.text += text_of(get(part, "text"))
            elif get(part, "type") == "refusal":
                verdict.refusal += text_of(get(part, "refusal"))
    elif kind == "reasoning":
        summary = [text_of(get(part, "text")) for part in items(get(item, "summary"))]
        content = [text_of(get(part, "text")) for part in items(get(item, "content"))]
        verdict.reasoning += "\n\n".join(summary) or "".join(content)
    elif kind == "function_call":
        id = text_of(get(item, "call_id")) or text_of(get(item, "id"))
        verdict.calls.append(Call(id, text_of(get(item, "name")), text_of(get(item, "arguments"))))


def finish(response: Response, closed_as: str | None) -> str | None:
    status = response.status or closed_as
    if status == "completed":
        return "stop"
    if status == "incomplete":
        why = get(response.incomplete_details, "reason")
        return {"max_output_tokens": "length", "content_filter": "content_filter"}.get(why, "other")
    return None if status is None else "other"


def usage(said: Any) -> Usage:
    if said is None:
        return Usage()
    return Usage(
        count(get(said, "input_tokens")),
        count(get(said, "output_tokens")),
        count(get(get(said, "input_tokens_details"), "cached_tokens")),
        count(get(get(said, "output_tokens_details"), "reasoning_tokens")),
    )


def read(client: openai.OpenAI, stream: bool) -> Verdict:
    reading = Reading()
    watch = None
    try:
        if stream:
            events = client.responses.create(stream=True, **REQUEST)
            watch = Watch(events)
            for event in events:
                if not isinstance(event, openai.BaseModel):
                    reading.error = watch.fault(closed=reading.final is not None)
                    break
                reading.event(event)
                if reading.error is not None:
                    break
        else:
            response = client.responses.create(**REQUEST)
            known = isinstance(get(response, "output"), list) or get(response, "status")
            if not isinstance(response, openai.BaseModel) or not known:
                wrong = get(response, "error")
                return Verdict(error=reasons.in_band(plain(wrong)) if wrong else Fault("malformed_response"))
            reading.final = response
            if response.error is not None:
                reading.error = reasons.in_band(plain(response.error))
    except openai.APIStatusError as raised:
        return Verdict(error=reasons.http(raised.status_code, body_of(raised)))
    except openai.APIError as raised:
        if type(raised) is not openai.APIError:
            raise
        reading.error = reading.error or reasons.in_band(raised.body)
    except json.JSONDecodeError:
        if watch is None:
            return Verdict(error=Fault("malformed_response"))
        reading.error = watch.fault(closed=reading.final is not None)
    verdict = reading.verdict()
    if reading.final is None and verdict.error is None:
        verdict.error = Fault("interrupted")
    return verdict
