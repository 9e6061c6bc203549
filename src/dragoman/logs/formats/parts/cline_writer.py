"""Sessions written for Cline's CLI: a document of messages, and beside it what is known of the session.

What it needs was found with 3.0.65: it lists a session by the second document and resumes it from the first, on a
terminal alone. What the user says stands between tags that name the mode.
"""

from __future__ import annotations

import datetime
import json
import secrets
import shlex
import string
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter, provider_of, stamp
from dragoman.model import Media, NativeCall

_LETTERS = string.digits + string.ascii_lowercase


class ClineWriter(SessionWriter):
    """The writer; see the module."""

    api = "anthropic_messages"
    program = "cline"
    version = "3.0.65"
    model = "claude-sonnet-4-5"

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        return media.data is not None and media.media_type.startswith("image/")

    def new_id(self, time: datetime.datetime) -> str:
        return _new_id(time, 5)

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(to.id, f"{to.id}.messages.json")

    def resume(self, to: Destination) -> str:
        return f"cline --id {to.id}"

    def remove(self, files: Sequence[Path], to: Destination) -> str:
        return f"rm -r {shlex.quote(str(to.home / to.id))}"  # 3.0.65 adds files of its own

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        blocks = [block for block in record["content"] if block["type"] in ("thinking", "redacted_thinking")]
        return [{"type": "thinking", "thinking": "", "signature": json.dumps(block)} for block in blocks]

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        """As 3.0.65 forms it. Nothing but the task says which call started an agent."""
        task = call.arguments.get("task") if isinstance(call.arguments, dict) else None
        return f"agent_{_new_id(to.time, 6)}" if first_words and task == first_words else None

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        origin = {"source": "cli", "mode": "user", "sessionId": to.id}
        return _document(messages, to, {"agent": "lead", "sessionId": to.id}, origin)

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        asked = next((text for one in messages if one["role"] == "user" and (text := _text(one["content"]))), "")
        about = {
            "version": 1,
            "session_id": to.id,
            "source": "cli",
            "pid": 0,
            "started_at": stamp(to.time),
            "ended_at": stamp(to.time),
            "exit_code": 0,
            "status": "completed",
            "interactive": False,
            "provider": provider_of(to.model),
            "model": to.model,
            "cwd": to.folder,
            "workspace_root": to.folder,
            "enable_tools": True,
            "enable_spawn": True,
            "enable_teams": True,
            "prompt": asked,
            "metadata": {
                "sessionHistoryOrigin": {"mode": "user", "version": to.version},
                "title": asked[:100],
            },
            "messages_path": str(to.home / self.path(to)),
        }
        files = {PurePosixPath(to.id, f"{to.id}.json"): msgspec.json.encode(about) + b"\n"}
        for agent in to.agents:
            id = f"{to.id}__{agent.id}"
            origin = {"source": "cli", "mode": "subagent", "sessionId": id}
            origin |= {"parentThreadId": to.id, "subagent": agent.id}
            whose = {"agent": "subagent", "sessionId": id, "taskType": "subagent_task"}
            files[PurePosixPath(to.id, f"{agent.id}.messages.json")] = _document(agent.messages, to, whose, origin)
        return files


def _document(
    messages: Sequence[dict[str, Any]], to: Destination, whose: dict[str, Any], origin: dict[str, Any]
) -> bytes:
    names = {
        block["id"]: block["name"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_use"
    }
    now = int(to.time.timestamp() * 1000)
    told: list[dict[str, Any]] = []
    for message in messages:
        for said in _messages(message, names, to.model, is_wrapped="parentThreadId" not in origin):
            told.append({"id": str(uuid.uuid4()), **said, "ts": now + len(told)})
    document = {
        "version": 1,
        "updated_at": stamp(to.time),
        **whose,
        "origin": {**origin, "version": to.version},
        "messages": told,
    }
    return msgspec.json.encode(document) + b"\n"


def _new_id(time: datetime.datetime, letters: int) -> str:
    return f"{int(time.timestamp() * 1000)}_{''.join(secrets.choice(_LETTERS) for _ in range(letters))}"


def _messages(
    message: dict[str, Any], names: Mapping[str, str], model: str, *, is_wrapped: bool
) -> Iterator[dict[str, Any]]:
    """A message as the client keeps it: results stand in one of their own."""
    content: list[dict[str, Any]] = message["content"]
    if message["role"] == "assistant":
        made_by = {"id": model, "provider": provider_of(model)}
        yield {"role": "assistant", "content": [_block(block) for block in content], "modelInfo": made_by}
        return
    results = [_result(block, names) for block in content if block["type"] == "tool_result"]
    if results:
        yield {"role": "user", "content": results}
    rest = [_block(block) for block in content if block["type"] not in ("tool_result", "text")]
    if text := _text(content):
        said = f'<user_input mode="act">{text}</user_input>' if is_wrapped else text
        rest.insert(0, {"type": "text", "text": said})
    if rest:
        yield {"role": "user", "content": rest}


def _result(block: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    content = block.get("content", "")
    about = {"type": "tool_result", "tool_use_id": block["tool_use_id"], "name": names[block["tool_use_id"]]}
    told = {**about, "content": content if isinstance(content, str) else [_block(one) for one in content]}
    return {**told, "is_error": True} if block.get("is_error") else told


def _block(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "image", "source": {"data": data, "media_type": kind}}:
            return {"type": "image", "data": data, "mediaType": kind}
        case {"type": "tool_use", "id": id, "name": name, "input": arguments}:
            return {"type": "tool_use", "id": id, "name": name, "input": arguments}
        case {"type": "thinking", "signature": kept}:
            return dict(json.loads(kept))
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text}
    return {"type": "text", "text": f"({block['type']})"}  # 3.0.65 stores only texts and pictures


def _text(content: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")
