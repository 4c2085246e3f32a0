"""Holds the bodies that the library sends against the types of the providers' own packages.

    python check_requests.py BODIES.jsonl

A line of the file is `{"dialect": …, "id": …, "body": …}`. A member that a type does not have, a value of another type
and a name that the wire does not use are faults, each told in a line `FAULT <id>: <place> <what>`; values are never told.
What the types refuse although the API takes it is left out by the rules in `taken`; `requests.md` says why.
"""

import collections
import importlib
import json
import pkgutil
import sys
import warnings

import anthropic.types
import openai.types.chat
import openai.types.responses
import openai.types.shared_params
import pydantic
import typing_extensions
from google.genai import types as gemini


def strict(*packages):
    """Makes the typed dicts of packages refuse members that they do not have, and read their lists at once."""
    for package in packages:
        names = [package.__name__]
        names += [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
        for name in names:
            module = importlib.import_module(name)
            if hasattr(module, "Iterable"):
                module.Iterable = list
            for value in vars(module).values():
                if typing_extensions.is_typeddict(value):
                    value.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


warnings.simplefilter("ignore")
strict(anthropic.types, openai.types.chat, openai.types.responses, openai.types.shared_params)

from anthropic.types.beta import message_create_params as anthropic_beta  # noqa: E402
from anthropic.types.message_create_params import MessageCreateParamsStreaming  # noqa: E402
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming  # noqa: E402
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming  # noqa: E402

MESSAGES = pydantic.TypeAdapter(MessageCreateParamsStreaming)
BETA = pydantic.TypeAdapter(anthropic_beta.MessageCreateParamsStreaming)
CHAT = pydantic.TypeAdapter(CompletionCreateParamsStreaming)
RESPONSES = pydantic.TypeAdapter(ResponseCreateParamsStreaming)

GEMINI = {
    "contents": pydantic.TypeAdapter(list[gemini.Content]),
    "systemInstruction": pydantic.TypeAdapter(gemini.Content),
    "tools": pydantic.TypeAdapter(list[gemini.Tool]),
    "toolConfig": pydantic.TypeAdapter(gemini.ToolConfig),
    "generationConfig": pydantic.TypeAdapter(gemini.GenerationConfig),
    "safetySettings": pydantic.TypeAdapter(list[gemini.SafetySetting]),
}


# Types of items and tools that come from a provider or a caller and go out as they came.
OWN_ITEMS = ("message", "function_call", "function_call_output", "reasoning")


def taken(dialect, body):
    """The body without what the types refuse although the server takes it."""
    body = json.loads(json.dumps(body))
    if dialect == "openai-responses":
        body["tools"] = [tool for tool in body.get("tools", []) if tool.get("type") == "function" and "function" not in tool]
        body["input"] = [item for item in body["input"] if item.get("type", "message") in OWN_ITEMS]
        for item in body["input"]:
            if item.get("role") == "assistant" and isinstance(item["content"], list):
                item |= {"type": "message", "id": "msg_1", "status": "completed"}
                for block in item["content"]:
                    if block["type"] == "output_text":
                        block.setdefault("annotations", [])
            if item.get("type") == "reasoning":
                item.setdefault("id", "rs_1")
    if dialect == "anthropic-messages":
        for name in ("temperature", "top_p", "top_k"):
            body.pop(name, None)
    if dialect == "gemini":
        body["tools"] = [tool for tool in body.get("tools", []) if "functionDeclarations" in tool]
        for part in (part for content in body["contents"] for part in content["parts"]):
            # The recordings do not hold long files.
            if "elided" in part.get("inlineData", {}).get("data", ""):
                part["inlineData"]["data"] = ""
    if dialect == "openai-chat":
        body["tools"] = [tool for tool in body.get("tools", []) if "function" in tool]
        for message in body["messages"]:
            for name in ("reasoning_content", "reasoning_details"):
                message.pop(name, None)
            if isinstance(message.get("content"), list):
                other = ("thinking", "image_url" if message["role"] == "tool" else "thinking")
                message["content"] = [block for block in message["content"] if block["type"] not in other]
    return body


def faults(adapter, value):
    try:
        adapter.validate_json(json.dumps(value), strict=True, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        return [(".".join(map(str, e["loc"])), e["type"]) for e in error.errors(include_input=False, include_url=False)]
    return []


def dicts(adapter, value):
    try:
        adapter.validate_json(json.dumps(value))
    except pydantic.ValidationError as error:
        return [(".".join(map(str, e["loc"])), e["type"]) for e in error.errors(include_input=False, include_url=False)]
    return []


def check(dialect, body):
    body = taken(dialect, body)
    if dialect == "gemini":
        told = []
        for name, value in body.items():
            if name not in GEMINI:
                told.append((name, "extra_forbidden"))
                continue
            told += [(f"{name}.{place}", what) for place, what in faults(GEMINI[name], value)]
        return told
    if dialect == "anthropic-messages":
        told = dicts(MESSAGES, body)
        return told and min(told, dicts(BETA, body), key=len)
    return dicts({"openai-chat": CHAT, "openai-responses": RESPONSES}[dialect], body)


def is_strict(dialect, body):
    """Whether members that do not exist are refused, at the top and inside."""
    inside = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
    for place in (lambda it: it, lambda it: it[inside][0], lambda it: it["tools"][0]):
        changed = json.loads(json.dumps(body))
        place(changed)["no_such_member"] = 1
        if not check(dialect, changed):
            return False
    return True


def main():
    proved = set()
    counts = collections.Counter()
    for line in open(sys.argv[1]):
        line = json.loads(line)
        dialect = line["dialect"]
        counts[dialect] += 1
        if dialect not in proved and line["body"].get("tools"):
            proved.add(dialect)
            if not is_strict(dialect, line["body"]):
                sys.exit(f"{dialect}: a member that does not exist is not refused")
        for place, what in check(dialect, line["body"])[:5]:
            print(f"FAULT {dialect} {line['id']}: {place} {what}")
    for dialect, count in sorted(counts.items()):
        print(f"{count} bodies of {dialect} read by the provider's own package")


if __name__ == "__main__":
    main()
