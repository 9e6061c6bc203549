"""Sessions written for Claude Code.

What it needs was found with 2.1.325: the file stands in the folder of its project under the session's id; without
`timestamp` it is not found, and without `uuid` and `parentUuid` it resumes with an empty history and says nothing.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments
from dragoman.model import NativeCall


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

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        return old if re.fullmatch(r"a[0-9a-f]{6,16}", old) else f"a{secrets.token_hex(8)}"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        return lines(_records(messages, to, {"isSidechain": False}))

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """The sub-agents' files: where 2.1.325 looks for them, with the facts that it keeps of each."""
        folder = self.path(to).with_suffix("") / "subagents"
        files: dict[PurePosixPath, bytes] = {}
        for agent in to.agents:
            about = {"agentType": agent.kind, "toolUseId": agent.call_id, "spawnDepth": 1, "finished": True}
            said = _records(agent.messages, to.of_agent, {"isSidechain": True, "agentId": agent.id})
            files[folder / f"agent-{agent.id}.jsonl"] = lines(said)
            files[folder / f"agent-{agent.id}.meta.json"] = msgspec.json.encode(about) + b"\n"
        return files


def _records(messages: Sequence[dict[str, Any]], to: Destination, whose: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation as the client's records, each following the one before."""
    records: list[dict[str, Any]] = []
    times = moments(to.time)
    envelope = {**whose, "userType": "external", "cwd": to.folder, "sessionId": to.id, "version": to.version}
    for number, message in enumerate(messages):
        for said in _messages(message, f"msg_{to.id.replace('-', '')}{number}", to.model):
            records.append(
                {
                    "parentUuid": records[-1]["uuid"] if records else None,
                    **envelope,
                    "type": said["role"],
                    "message": said,
                    **_started(said, to),
                    "uuid": str(uuid.uuid4()),
                    "timestamp": next(times),
                }
            )
    return records


def _started(message: dict[str, Any], to: Destination) -> dict[str, Any]:
    """The sub-agent that a call started, which the client names beside the result."""
    blocks = [] if isinstance(message["content"], str) else message["content"]
    ids = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    agent = to.agent_of(ids[0]) if len(ids) == 1 else None
    return {} if agent is None else {"toolUseResult": {"agentId": agent.id}}


def _messages(message: dict[str, Any], id: str, model: str) -> list[dict[str, Any]]:
    """A message as the client keeps it: what the model said block by block, under one id."""
    content = message["content"]
    if message["role"] != "assistant":
        alone = len(content) == 1 and content[0]["type"] == "text"
        if alone:
            return [{"role": "user", "content": content[0]["text"]}]
        # Claude Code 2.1.325 keeps each result in a record of its own, with what the tool gave beside it.
        results = [{"role": "user", "content": [block]} for block in content if block["type"] == "tool_result"]
        rest = [block for block in content if block["type"] != "tool_result"]
        return [*results, *([{"role": "user", "content": rest}] if rest else [])]
    calls = any(block["type"] == "tool_use" for block in content)
    head = {"id": id, "type": "message", "role": "assistant", "model": model}
    end = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    # 2.1.325 adds up the tokens of the last message; it writes these zeros itself in messages of `<synthetic>`.
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return [{**head, "content": [block], **end, "usage": usage} for block in content]
