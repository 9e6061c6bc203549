"""Sessions written for Claude Code.

What it needs was found with 2.1.325: the file stands in the folder of its project under the session's id; without
`timestamp` it is not found, and without `uuid` and `parentUuid` it resumes with an empty history and says nothing.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments


class ClaudeWriter(SessionWriter):
    """The writer; see the module."""

    api = "anthropic_messages"
    program = "claude"
    version = "2.1.325"
    model = "claude-sonnet-4-5"
    # 2.1.325 offers eleven tools and a placeholder; these are found with ToolSearch (requests captured headless).
    withheld = frozenset(
        (
            "ListMcpResourcesTool",
            "Monitor",
            "NotebookEdit",
            "ReadMcpResourceDirTool",
            "ReadMcpResourceTool",
            "SendMessage",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskStop",
            "TaskUpdate",
            "WebFetch",
            "WebSearch",
        )
    )

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(re.sub(r"[^A-Za-z0-9]", "-", to.folder), f"{to.id}.jsonl")

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        content = record["message"]["content"]
        return [block for block in content if block["type"] in ("thinking", "redacted_thinking")]

    def resume(self, to: Destination) -> str:
        return f"claude --resume {to.id}"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        records: list[dict[str, Any]] = []
        times = moments(to.time)
        envelope = {
            "isSidechain": False,
            "userType": "external",
            "cwd": to.folder,
            "sessionId": to.id,
            "version": to.version,
        }
        for number, message in enumerate(messages):
            for said in _messages(message, f"msg_{to.id.replace('-', '')}{number}", to.model):
                records.append(
                    {
                        "parentUuid": records[-1]["uuid"] if records else None,
                        **envelope,
                        "type": said["role"],
                        "message": said,
                        "uuid": str(uuid.uuid4()),
                        "timestamp": next(times),
                    }
                )
        return lines(records)


def _messages(message: dict[str, Any], id: str, model: str) -> list[dict[str, Any]]:
    """A message as the client keeps it: what the model said block by block, under one id."""
    content = message["content"]
    if message["role"] != "assistant":
        alone = len(content) == 1 and content[0]["type"] == "text"
        return [{"role": "user", "content": content[0]["text"] if alone else content}]
    calls = any(block["type"] == "tool_use" for block in content)
    head = {"id": id, "type": "message", "role": "assistant", "model": model}
    end = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    # 2.1.325 adds up the tokens of the last message; it writes these zeros itself in messages of `<synthetic>`.
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return [{**head, "content": [block], **end, "usage": usage} for block in content]
