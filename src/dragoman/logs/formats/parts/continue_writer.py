"""Sessions written for Continue's CLI.

What it needs was found with 1.5.47: the history with each message, and beside the calls of one how they ended. It
resumes the newest session of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter
from dragoman.model import Media


class ContinueWriter(SessionWriter):
    """The writer; see the module."""

    api = "openai_chat"
    program = "cn"
    version = "1.5.47"
    model = "claude-sonnet-4-5"
    withheld = frozenset(("Search",))  # 1.5.47 offers it only if ripgrep is installed

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        return media.media_type.startswith("image/")

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(f"{to.id}.json")

    def resume(self, to: Destination) -> str:
        return "cn --resume"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        results = {one["tool_call_id"]: one for one in messages if one["role"] == "tool"}
        history = [_item(one, results) for one in messages if one["role"] != "tool"]
        title = next((_text(one["content"]) for one in messages if one["role"] == "user"), "Untitled Session")
        session = {
            "sessionId": to.id,
            "title": title[:100],
            "workspaceDirectory": to.folder,
            "history": history,
        }
        return msgspec.json.encode(session) + b"\n"


def _item(message: dict[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls", [])
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = [_part(part) for part in content]
    said: dict[str, Any] = {"role": message["role"], "content": content}
    if not calls:
        return {"message": said, "contextItems": []}
    states = [_state(call, results[call["id"]]) for call in calls]
    return {"message": {**said, "toolCalls": calls}, "contextItems": [], "toolCallStates": states}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """A part as the client keeps it; it refuses the names of the API."""
    match part:
        case {"type": "image_url", "image_url": {"url": url}}:
            return {"type": "imageUrl", "imageUrl": {"url": url}}
        case {"type": "text"}:
            return part
    return {"type": "text", "text": f"({part['type']})"}


def _state(call: dict[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "toolCallId": call["id"],
        "toolCall": call,
        "status": "done",
        "parsedArgs": json.loads(call["function"]["arguments"] or "{}"),
        "output": [
            {"content": _text(result["content"]), "name": "Tool Result", "description": "Tool execution result"}
        ],
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", f"({part['type']})") for part in content)
