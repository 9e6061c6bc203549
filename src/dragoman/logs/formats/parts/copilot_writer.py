"""Sessions written for Copilot CLI.

What it needs was found with 1.0.102: the beginning of the session, the messages of both sides, and how each call of a
tool ended.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import Media


class CopilotWriter(SessionWriter):
    """The writer; see the module."""

    api = "anthropic_messages"
    program = "copilot"
    version = "1.0.102"
    model = "claude-sonnet-4.5"

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        return False

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(to.id, "events.jsonl")

    def resume(self, to: Destination) -> str:
        return f"copilot --resume={to.id}"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        times = moments(to.time)
        start = {
            "sessionId": to.id,
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": to.version,
            "startTime": stamp(to.time),
            "selectedModel": to.model,
            "context": {"cwd": to.folder},
        }
        told = [("session.start", start), *(one for message in messages for one in _told(message, to.model))]
        records: list[dict[str, Any]] = []
        for type, data in told:
            parent = records[-1]["id"] if records else None
            about = {"id": str(uuid.uuid4()), "timestamp": next(times), "parentId": parent}
            records.append({"type": type, "data": data, **about})
        return lines(records)


def _told(message: dict[str, Any], model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    blocks: list[dict[str, Any]] = message["content"]
    if message["role"] == "assistant":
        calls = [
            {"toolCallId": one["id"], "name": one["name"], "arguments": one["input"], "type": "function"}
            for one in blocks
            if one["type"] == "tool_use"
        ]
        said = {"messageId": str(uuid.uuid4()), "model": model, "content": _text(blocks), "toolRequests": calls}
        yield "assistant.message", said
        return
    for block in blocks:
        if block["type"] == "tool_result":
            yield "tool.execution_complete", _ended(block, model)
    rest = [block for block in blocks if block["type"] != "tool_result"]
    if rest:
        yield "user.message", {"content": _text(rest), "messageId": str(uuid.uuid4())}


def _ended(block: Mapping[str, Any], model: str) -> dict[str, Any]:
    content = block.get("content", "")
    text = content if isinstance(content, str) else _text(content)
    about = {"toolCallId": block["tool_use_id"], "model": model, "success": not block.get("is_error")}
    if block.get("is_error"):
        return {**about, "error": {"message": text, "code": "failure"}}
    return {**about, "result": {"content": text}}


def _text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """The texts of blocks; what else there is the client does not keep in its events."""
    return "\n".join(
        one["text"] if one["type"] == "text" else f"({one['type']})" for one in blocks if one["type"] != "tool_use"
    )
