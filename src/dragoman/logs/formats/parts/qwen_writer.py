"""Sessions written for Qwen Code.

What it needs was found with 0.24.4: the file stands in the folder of its project under the session's id; every record
names the session, the record before it and the folder.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import NativeCall


class QwenWriter(SessionWriter):
    """The writer; see the module."""

    api = "gemini_generate"
    program = "qwen"
    version = "0.24.4"
    model = "qwen3-coder-plus"
    # 0.24.4 looks these up with `tool_search`. It offers again what a resumed history called; that is not relied on.
    withheld = frozenset(("monitor", "read_mcp_resource", "send_message", "task_stop", "web_fetch", "zoom_image"))

    def path(self, to: Destination) -> PurePosixPath:
        return _project(to) / "chats" / f"{to.id}.jsonl"

    def resume(self, to: Destination) -> str:
        return f"qwen --resume {to.id}"

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        parts = [part for part in record["message"]["parts"] if part.get("thought") is True]
        return [{"text": "", "thought": True, "thoughtSignature": json.dumps(part)} for part in parts]

    def signature(self, record: dict[str, Any], call_id: str) -> str | None:
        parts = (part for part in record["message"]["parts"] if part.get("functionCall", {}).get("id") == call_id)
        return next((part["thoughtSignature"] for part in parts if "thoughtSignature" in part), None)

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        """As 0.24.4 forms it, the type and the call: nothing else in its files says which call started an agent."""
        kind = str(call.arguments.get("subagent_type")) if isinstance(call.arguments, dict) else ""
        safe = re.compile(r"[A-Za-z0-9_-]{1,64}")
        return f"{kind}-{call.id}" if safe.fullmatch(kind) and safe.fullmatch(call.id) and len(call.id) > 8 else None

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        return lines(_records(messages, to, {}))

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """Sub-agents: each in a file of its own, with the facts that the client keeps of it."""
        files: dict[PurePosixPath, bytes] = {}
        for agent in to.agents:
            kind = agent.id.removesuffix(f"-{agent.call_id}")
            about = {
                "agentId": agent.id,
                "agentType": kind,
                "parentSessionId": to.id,
                "toolUseId": agent.call_id,
                "parentAgentId": None,
                "createdAt": stamp(to.time),
                "status": "completed",
                "subagentName": kind,
            }
            whose = {"agentId": agent.id, "agentName": kind, "isSidechain": True}
            file = _project(to) / "subagents" / to.id / f"agent-{agent.id}.jsonl"
            files[file] = lines(_records(agent.messages, to.of_agent, whose))
            files[file.with_suffix(".meta.json")] = msgspec.json.encode(about) + b"\n"
        return files


def _project(to: Destination) -> PurePosixPath:
    return PurePosixPath("projects", re.sub(r"[^A-Za-z0-9]", "-", to.folder))


def _records(messages: Sequence[dict[str, Any]], to: Destination, whose: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation as the client's records, each following the one before."""
    records: list[dict[str, Any]] = []
    times = moments(to.time)
    for message in messages:
        for type, provenance, parts in _kinds(message):
            records.append(
                {
                    "uuid": str(uuid.uuid4()),
                    "parentUuid": records[-1]["uuid"] if records else None,
                    "sessionId": to.id,
                    "timestamp": next(times),
                    "type": type,
                    **({"provenance": provenance} if not whose else {}),
                    "cwd": to.folder,
                    "version": to.version,
                    **whose,
                    **({"model": to.model} if type == "assistant" else {}),
                    "message": {"role": message["role"], "parts": parts},
                    **_started(type, parts, to),
                }
            )
    return records


def _started(type: str, parts: Sequence[dict[str, Any]], to: Destination) -> dict[str, Any]:
    """The sub-agent that a call started, which the client names beside the result."""
    agent = to.agent_of(parts[0]["functionResponse"]["id"]) if type == "tool_result" else None
    if agent is None:
        return {}
    kind = agent.id.removesuffix(f"-{agent.call_id}")
    shown = {"type": "task_execution", "subagentName": kind, "subagentSessionReady": True}
    return {"toolCallResult": {"callId": agent.call_id, "resultDisplay": shown}}


def _kinds(message: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """A message as the kinds of record that the client keeps: results stand by themselves, one in each."""
    if message["role"] == "model":
        parts = [json.loads(part["thoughtSignature"]) if "thought" in part else part for part in message["parts"]]
        return [("assistant", "assistant_output", parts)]
    results = [part for part in message["parts"] if "functionResponse" in part]
    said = [part for part in message["parts"] if "functionResponse" not in part]
    kinds = [("tool_result", "tool_result", [result]) for result in results]
    return [*kinds, *([("user", "real_user", said)] if said else [])]
