"""A small MCP server of the handshake era, written by hand: it does what it is asked, and misbehaves when it is asked.

Runs with the standard library alone. `--journal FILE` gets a line per start and per cancellation, `--crash` ends at
once, `--mute` never answers, `--stubborn` outlives everything but SIGKILL, `--pages` lists a tool at a time,
`--doomed` dies whenever a tool is called, `--many` has a hundred tools more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
TEXT = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Says it again.", "inputSchema": schema(text=TEXT)},
    {
        "name": "look",
        "description": "Only looks.",
        "inputSchema": schema(),
        "annotations": {"readOnlyHint": True},
    },
    {"name": "put", "title": "Put it there", "inputSchema": schema(), "annotations": {"idempotentHint": True}},
    {"name": "bare", "inputSchema": {"type": "object"}},
    {"name": "give", "description": "Gives back these blocks.", "inputSchema": {"type": "object"}},
    {"name": "process", "description": "Its process.", "inputSchema": schema()},
    {"name": "variables", "description": "Its environment.", "inputSchema": schema()},
    {"name": "wait", "description": "Says that it began, and never answers.", "inputSchema": schema()},
    {"name": "steps", "description": "Takes three steps.", "inputSchema": schema()},
    {"name": "die", "description": "Writes much to standard error and dies.", "inputSchema": schema()},
    {"name": "grow", "description": "Has one more tool from now on.", "inputSchema": schema()},
    {"name": "long", "description": "A long text.", "inputSchema": schema(size={"type": "integer"})},
    {"name": "babble", "description": "Writes what is no message, then answers.", "inputSchema": schema()},
    {"name": "refuse", "description": "Answers with an error of the protocol.", "inputSchema": schema()},
    {"name": "wrong", "description": "Answers with what is no result.", "inputSchema": schema()},
    {"name": "stamp", "inputSchema": schema(), "outputSchema": schema(n={"type": "integer"})},
    {
        "name": "broken",
        "description": "Has a schema that nobody could read.",
        "inputSchema": schema(a={"type": "nonsense"}),
    },
    {"name": "cancelled", "description": "Which calls were cancelled.", "inputSchema": schema()},
]
FLAGS = sys.argv[1:]
if "--many" in FLAGS:
    TOOLS += [{"name": f"tool{n}", "description": f"Number {n}.", "inputSchema": schema()} for n in range(100)]
CANCELLED: list[Any] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    if "--journal" in FLAGS:
        with open(FLAGS[FLAGS.index("--journal") + 1], "a") as file:
            file.write(f"{text}\n")


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


def progress(params: dict[str, Any], done: float, total: float | None, message: str | None) -> None:
    token = params.get("_meta", {}).get("progressToken")
    facts = {"progressToken": token, "progress": done, "total": total, "message": message}
    said = {key: value for key, value in facts.items() if value is not None}
    send({"method": "notifications/progress", "params": said})


def call(params: dict[str, Any]) -> dict[str, Any] | None:
    name, arguments = params["name"], params.get("arguments") or {}
    if "--doomed" in FLAGS:
        os._exit(3)
    match name:
        case "echo":
            return text(arguments["text"])
        case "give":
            return dict(arguments)
        case "process":
            return text(str(os.getpid()))
        case "variables":
            return text(json.dumps(dict(os.environ)))
        case "wait":
            progress(params, 0, None, "began")
            return None
        case "steps":
            for step in (1, 2, 3):
                progress(params, step, 3, f"step {step}")
            return text("there")
        case "die":
            sys.stderr.write("x" * 100_000 + "\nlast words\n")
            sys.stderr.flush()
            os._exit(3)
        case "grow":
            TOOLS.append({"name": "grown", "description": "New here.", "inputSchema": schema()})
            send({"method": "notifications/tools/list_changed"})
            return text("grown")
        case "long":
            return text("é" * arguments["size"])
        case "babble":
            sys.stdout.write('this is no message\n{"jsonrpc": "2.0", "id": 987, "result": {}}\n[1, 2]\n\n')
            return text("done babbling")
        case "wrong":
            return {"content": "no list"}
        case "stamp":
            return text("no number", structuredContent={"n": "seven"})
        case "cancelled":
            return text(json.dumps(CANCELLED))
        case "look" | "put" | "bare" | "grown":
            return text(f"{name}: done")
    raise LookupError(name)


def listed(params: dict[str, Any]) -> dict[str, Any]:
    if "--pages" not in FLAGS:
        return {"tools": TOOLS}
    place = int(params.get("cursor", 0))
    return {"tools": [TOOLS[place]], **({"nextCursor": str(place + 1)} if place + 1 < len(TOOLS) else {})}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            capabilities = {"tools": {"listChanged": True}, "resources": {}}
            about = {"name": "peer", "version": "1.0"}
            said = {"protocolVersion": params["protocolVersion"], "instructions": "Ask nicely."}
            return {**said, "capabilities": capabilities, "serverInfo": about}
        case "tools/list":
            return listed(params)
        case "tools/call":
            return call(params)
        case "resources/list":
            return {"resources": [{"uri": "peer://note", "name": "note", "mimeType": "text/plain"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "peer://{name}", "name": "any"}]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "a note"}]}
    raise LookupError(method)


def main() -> None:
    note(f"started {os.getpid()}")
    if "--crash" in FLAGS:
        sys.stderr.write("no configuration found\n")
        sys.exit(1)
    if "--stubborn" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        noted, notes = os.pipe()
        if os.fork() == 0:
            os.setsid()  # out of reach of whoever ends the group
            note(f"started {os.getpid()}")
            os.close(notes)
            time.sleep(3600)
        os.close(notes)
        os.read(noted, 1)  # ends once the child is away and noted
    for line in sys.stdin:
        message = json.loads(line)
        if "--mute" in FLAGS or message.get("method", "").startswith("notifications/"):
            if message.get("method") == "notifications/cancelled":
                CANCELLED.append(message["params"]["requestId"])
            continue
        try:
            if message.get("params", {}).get("name") == "refuse":
                raise ValueError("I do not want to")
            result = answer(message["method"], message.get("params") or {})
        except LookupError as error:
            send({"id": message["id"], "error": {"code": -32601, "message": f"no {error}"}})
        except ValueError as error:
            send({"id": message["id"], "error": {"code": -32602, "message": str(error), "data": {"why": "mood"}}})
        else:
            if result is not None:
                send({"id": message["id"], "result": result})
    if "--stubborn" in FLAGS:
        time.sleep(3600)


if __name__ == "__main__":
    main()
