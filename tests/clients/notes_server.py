"""A small MCP server on standard input and output, whose tools read and write any file: `python notes_server.py`.

It uses nothing but the standard library, because clients start it in environments of their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "read_note": {"path": TEXT},
    "read_notes": {"paths": {"type": "array", "items": TEXT}},
    "write_note": {"path": TEXT, "text": TEXT},
}


def called(name: str, given: dict[str, Any]) -> str:
    """What a tool gives."""
    if name == "write_note":
        Path(given["path"]).write_text(given["text"])
        return "written"
    paths = [given["path"]] if name == "read_note" else given["paths"]
    return "".join(Path(path.removeprefix("file://")).read_text() for path in paths)


def answered(message: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "notes", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {
                "tools": [
                    {
                        "name": name,
                        "description": "Works on notes.",
                        "inputSchema": {"type": "object", "properties": inside, "required": list(inside)},
                    }
                    for name, inside in TOOLS.items()
                ]
            }
        case "tools/call":
            try:
                text, failed = called(message["params"]["name"], message["params"].get("arguments") or {}), False
            except (OSError, KeyError) as error:
                text, failed = f"{type(error).__name__}: {error}", True
            return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answered(message)}), flush=True)
