"""An MCP server whose tools are described as files in its folder say, each time that they are listed.

`say` only reads, and `note` does not say what it does unless there is `harmless`. What is called is written to `called`. With two names as arguments
it says in the end under the first that it ends, and waits until another one has done so under the second.
"""

import json
import os
import sys
import time


def described(name):
    with open(f"{name}.txt", encoding="utf-8") as file:
        return file.read()


def tools():
    schema = {"type": "object", "properties": {}}
    listed = []
    if os.path.exists("say.txt"):
        listed.append({"name": "say", "description": described("say"), "inputSchema": schema,
                       "annotations": {"readOnlyHint": True}})
    if os.path.exists("note.txt"):
        note = {"name": "note", "description": described("note"), "inputSchema": schema}
        if os.path.exists("harmless"):
            note["annotations"] = {"idempotentHint": True, "destructiveHint": False}
        listed.append(note)
    return {"tools": listed}


def call(params):
    with open("called", "a", encoding="utf-8") as file:
        file.write(params["name"] + "\n")
    return {"content": [{"type": "text", "text": params["name"] + " was called"}]}


def greeting():
    with open("started", "a", encoding="utf-8") as file:
        file.write("x\n")
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "changing", "version": "1"}}


for line in sys.stdin:
    message = json.loads(line)
    method, identity = message.get("method"), message.get("id")
    if identity is None:
        continue
    result = {"initialize": lambda _: greeting(), "tools/list": lambda _: tools(), "tools/call": call}.get(method)
    if result is None:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    else:
        answer = {"result": result(message.get("params") or {})}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": identity, **answer}) + "\n")
    sys.stdout.flush()

if len(sys.argv) > 2:
    own, other = sys.argv[1:3]
    open(f"{own}.ends", "w").close()
    while not os.path.exists(f"{other}.ends"):
        time.sleep(0.01)
    open(f"{own}.met", "w").close()
