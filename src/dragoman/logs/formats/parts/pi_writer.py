"""Sessions written for pi.

What it needs was found with 0.74.2: the folder of a project is its path between dashes; messages of the model say which
API and model made them and what they cost (without any of that it crashes).
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import Media


class PiWriter(SessionWriter):
    """The writer; see the module."""

    api = "anthropic_messages"
    program = "pi"
    version = "0.74.2"
    model = "claude-sonnet-4-5"

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        return media.data is not None and media.media_type.startswith("image/")

    def path(self, to: Destination) -> PurePosixPath:
        folder = to.folder.strip("/").replace("/", "-").replace("\\", "-").replace(":", "-")
        return PurePosixPath(f"--{folder}--", f"{stamp(to.time).replace(':', '-').replace('.', '-')}_{to.id}.jsonl")

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        message = record["message"]
        if message.get("api") != "anthropic-messages":  # this is what sessions are written for
            return []
        blocks = [
            block for block in message["content"] if block["type"] == "thinking" and block.get("thinkingSignature")
        ]
        return [
            {"type": "thinking", "thinking": block["thinking"], "signature": block["thinkingSignature"]}
            for block in blocks
        ]

    def resume(self, to: Destination) -> str:
        return f"pi --session {to.id}"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        times = moments(to.time)
        records: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": to.id, "timestamp": next(times), "cwd": to.folder}
        ]
        names = {
            block["id"]: block["name"]
            for message in messages
            for block in message["content"]
            if block["type"] == "tool_use"
        }
        milliseconds = int(to.time.astimezone(datetime.UTC).timestamp() * 1000)
        for message in messages:
            for said in _messages(message, names, to.model):
                records.append(
                    {
                        "type": "message",
                        "id": os.urandom(4).hex(),
                        "parentId": records[-1]["id"] if len(records) > 1 else None,
                        "timestamp": next(times),
                        "message": {**said, "timestamp": milliseconds + len(records)},
                    }
                )
        return lines(records)


def _messages(message: dict[str, Any], names: dict[str, str], model: str) -> Iterator[dict[str, Any]]:
    if message["role"] == "assistant":
        content = [_said(block) for block in message["content"]]
        calls = any(block["type"] == "toolCall" for block in content)
        yield {
            "role": "assistant",
            "content": content,
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": model,
            "usage": _NOTHING_USED,
            "stopReason": "toolUse" if calls else "stop",
        }
        return
    said = []
    for block in message["content"]:
        if block["type"] == "tool_result":
            id, content = block["tool_use_id"], block.get("content", "")
            blocks = (
                [{"type": "text", "text": content}] if isinstance(content, str) else [_said(one) for one in content]
            )
            about = {"role": "toolResult", "toolCallId": id, "toolName": names[id]}
            yield {**about, "content": blocks, "isError": bool(block.get("is_error"))}
        else:
            said.append(_said(block))
    if said:
        yield {"role": "user", "content": said}


def _said(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "tool_use", "id": id, "name": name, "input": arguments}:
            return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}
        case {"type": "image", "source": {"data": data, "media_type": kind}}:
            return {"type": "image", "data": data, "mimeType": kind}
        case {"type": "thinking", "thinking": thought, "signature": signature}:
            return {"type": "thinking", "thinking": thought, "thinkingSignature": signature}
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text}
    return {"type": "text", "text": f"({block['type']})"}  # 0.74 stores only texts and pictures


_NOTHING_USED = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}
