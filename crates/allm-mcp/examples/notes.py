"""A small MCP server for the examples: notes, and a person who is asked before they are thrown away."""

import json
import sys

NOTES = ["buy milk", "call Ada"]
WAITING = {}


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name, description, properties, **hints):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("list", "Lists the notes.", {}, readOnlyHint=True),
    tool("add", "Adds a note.", {"text": {"type": "string"}}),
    tool("clear", "Throws all notes away.", {}, idempotentHint=True),
]


def text(value):
    return {"content": [{"type": "text", "text": value}]}


for line in sys.stdin:
    message = json.loads(line)
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        say(id=number, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        say(id=number, result={"tools": TOOLS})
    elif method == "tools/call" and params["name"] == "list":
        say(id=number, result=text("\n".join(NOTES) or "none"))
    elif method == "tools/call" and params["name"] == "add":
        NOTES.append(params["arguments"]["text"])
        say(id=number, result=text("added"))
    elif method == "tools/call":
        WAITING[f"ask-{number}"] = number
        field = {"sure": {"type": "boolean", "title": "Sure?"}}
        schema = {"type": "object", "properties": field, "required": ["sure"]}
        say(id=f"ask-{number}", method="elicitation/create",
            params={"message": f"Throw {len(NOTES)} notes away?", "requestedSchema": schema})
    elif method is None and number in WAITING:
        answer = message.get("result", {})
        sure = answer.get("action") == "accept" and answer["content"]["sure"]
        if sure:
            NOTES.clear()
        say(id=WAITING.pop(number), result=text("all gone" if sure else "kept"))
    elif number is not None and method is not None:
        say(id=number, error={"code": -32601, "message": "unknown method"})
