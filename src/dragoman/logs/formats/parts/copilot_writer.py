"""Sessions written for Copilot CLI.

What it needs was found with 1.0.102: the beginning of the session, the messages of both sides, and how each call of a
tool ended.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import Media, NativeCall


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

    def remove(self, files: Sequence[Path], to: Destination) -> str:
        return f"rm -r {shlex.quote(str(to.home / to.id))}"  # 1.0.102 adds files of its own

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        kept = {name: record["data"][name] for name in _THOUGHT if name in record["data"]}
        text = kept.get("reasoningText") or ""
        return [{"type": "thinking", "thinking": text, "signature": json.dumps(kept)}] if kept else []

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        return str(uuid.uuid4())

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
        told = [("session.start", start, {}), *_with_agents(messages, to)]
        records: list[dict[str, Any]] = []
        for type, data, whose in told:
            parent = records[-1]["id"] if records else None
            about = {**whose, "id": str(uuid.uuid4()), "timestamp": next(times), "parentId": parent}
            records.append({"type": type, "data": data, **about})
        return lines(records)


_THOUGHT = ("reasoningText", "reasoningOpaque", "reasoningBlocks", "encryptedContent")
"""What a message of the model has of its thoughts."""
_Told = tuple[str, dict[str, Any], dict[str, Any]]
"""A kind of event, its data, and whose it is."""


def _with_agents(messages: Sequence[dict[str, Any]], to: Destination) -> Iterator[_Told]:
    """What was said, and before the result of a call what the sub-agent said that it started."""
    for message in messages:
        for type, data in _told(message, to.model):
            agent = to.agent_of(data["toolCallId"]) if type == "tool.execution_complete" else None
            if agent is not None:
                whose = {"agentId": agent.id}
                about = {"toolCallId": agent.call_id, "agentName": agent.kind, "agentDisplayName": agent.kind}
                yield "subagent.started", {**about, "agentDescription": agent.kind}, whose
                for one in (one for said in agent.messages for one in _told(said, to.model)):
                    yield one[0], {**one[1], "parentToolCallId": agent.call_id}, whose
                yield "subagent.completed", about, whose
            yield type, data, {}


def _told(message: dict[str, Any], model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    blocks: list[dict[str, Any]] = message["content"]
    if message["role"] == "assistant":
        calls = [
            {"toolCallId": one["id"], "name": one["name"], "arguments": one["input"], "type": "function"}
            for one in blocks
            if one["type"] == "tool_use"
        ]
        said = {"messageId": str(uuid.uuid4()), "model": model, "content": _text(blocks), "toolRequests": calls}
        for block in blocks:
            said |= json.loads(block["signature"]) if block["type"] == "thinking" else {}
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
        one["text"] if one["type"] == "text" else f"({one['type']})"
        for one in blocks
        if one["type"] not in ("tool_use", "thinking")
    )
