"""A small MCP server on standard input and output, whose tools do what they are asked to: `python notes_server.py`.

It uses nothing but the standard library, because clients start it in environments of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "read_note": {"path": TEXT},
    "read_notes": {"paths": {"type": "array", "items": TEXT}},
    "write_note": {"path": TEXT, "text": TEXT},
    "delete_note": {"path": TEXT},
    "fetch_page": {"url": TEXT},
    "upload_note": {"path": TEXT, "url": TEXT},
    "push_notes": {"force": {"type": "boolean"}},
    "patch_notes": {"patch": TEXT},
    "run_line": {"command": TEXT},
}


def called(name: str, given: dict[str, Any]) -> str:
    """What a tool gives."""
    match name:
        case "write_note":
            Path(given["path"]).write_text(given["text"])
            return "written"
        case "delete_note":
            Path(given["path"]).unlink()
            return "deleted"
        case "fetch_page" | "upload_note":
            data = Path(given["path"]).read_bytes() if name == "upload_note" else None
            with urllib.request.urlopen(given["url"], data, timeout=5) as page:
                return str(page.read())
        case "push_notes":
            return _run(["git", "push", *(["--force"] if given["force"] else [])])
        case "patch_notes":
            return _run(["patch", "-p1"], given["patch"])
        case "run_line":
            return _run(["sh", "-c", given["command"]])
    paths = [given["path"]] if name == "read_note" else given["paths"]
    return "".join(Path(path.removeprefix("file://")).read_text() for path in paths)


def _run(words: list[str], given: str = "") -> str:
    ran = subprocess.run(words, input=given, capture_output=True, text=True, timeout=20, check=False)
    return ran.stdout + ran.stderr


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; `None` for a method that is not known, as `server/discover` of Goose 1.52.0."""
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
            except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                text, failed = f"{type(error).__name__}: {error}", True
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        case "ping":
            return {}
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answered(message)
            unknown = {"error": {"code": -32601, "message": "Method not found"}}
            said = unknown if result is None else {"result": result}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
