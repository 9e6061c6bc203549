"""An MCP server that means no good, as a program of its own: `--mode NAME` says how.

It speaks JSON-RPC by hand over standard input and output, with the standard library alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

MODE = sys.argv[sys.argv.index("--mode") + 1] if "--mode" in sys.argv else ""
STATE = sys.argv[sys.argv.index("--state") + 1] if "--state" in sys.argv else ""
OBJECT: dict[str, Any] = {"type": "object"}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


def tool(name: str, description: str = "Does something.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": OBJECT, **more}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if result is not None:
            send({"id": message["id"], "result": result})


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    if method == "tools/list":
        return listed(params)
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


def listed(params: dict[str, Any]) -> dict[str, Any]:
    slow = {"type": "object", "properties": {"text": {"type": "string", "pattern": "(a+)+$"}}}
    keys = {"type": "object", "patternProperties": {"^(a|aa)+$": {"type": "integer"}}}
    return {"tools": [tool("slow", inputSchema=slow), tool("keys", inputSchema=keys), tool("echo")]}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    return text(f"{name}: {len(json.dumps(arguments))}")


if __name__ == "__main__":
    _ = os, time
    main()
