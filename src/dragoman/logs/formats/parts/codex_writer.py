"""Sessions written for Codex.

What it needs was found with 0.166.0: the first record is the session's, with its id, time, folder, origin and version;
every record has a time. Events beside the items are what it lists and shows a session by: without them it is resumed,
but stands in no list. A provider's name is left out, because another than the configured one is refused.
"""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import NativeCall


class CodexWriter(SessionWriter):
    """The writer; see the module."""

    api = "openai_responses"
    program = "codex"
    version = "0.166.0"
    model = "gpt-5.5"
    withheld = frozenset(("list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"))

    def new_id(self, time: datetime.datetime) -> str:
        """A UUID of version 7, as the client's own: they are ordered by time."""
        bits = int(time.timestamp() * 1000).to_bytes(6) + os.urandom(10)
        number = int.from_bytes(bits) & ~(0xF000 << 64) & ~(0xC000 << 48) | (0x7000 << 64) | (0x8000 << 48)
        return str(uuid.UUID(int=number))

    def path(self, to: Destination) -> PurePosixPath:
        began = to.time.astimezone()  # 0.166 uses local time in the names of folders and files
        return PurePosixPath(f"{began:%Y/%m/%d}", f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{to.id}.jsonl")

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        item = record["payload"]
        if item.get("type") != "reasoning" or not item.get("encrypted_content"):
            return []
        # The Responses API wants an item with an id before the one that it led to; without an id it takes it anywhere.
        return [{name: value for name, value in item.items() if name != "id"}]

    def resume(self, to: Destination) -> str:
        return f"codex resume {to.id}"

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        return self.new_id(to.time)

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        return _thread(messages, to, {"id": to.id, "source": "cli"})

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """Sub-agents: threads of their own, which name the one that started them."""
        files: dict[PurePosixPath, bytes] = {}
        for agent in to.agents:
            spawned = {"parent_thread_id": to.id, "depth": 1, "agent_role": agent.kind}
            about = {
                "session_id": to.id,
                "id": agent.id,
                "parent_thread_id": to.id,
                "source": {"subagent": {"thread_spawn": spawned}},
                "thread_source": "subagent",
            }
            path = self.path(msgspec.structs.replace(to, id=agent.id))
            files[path] = _thread(agent.messages, to, about)
        return files


def _thread(messages: Sequence[dict[str, Any]], to: Destination, about: dict[str, Any]) -> bytes:
    times = moments(to.time)
    about = {
        **about,
        "timestamp": stamp(to.time),
        "cwd": to.folder,
        "originator": "codex_cli_rs",
        "cli_version": to.version,
    }
    records = [{"timestamp": next(times), "type": "session_meta", "payload": about}]
    for message in messages:
        for type, payload in _records(message):
            records.append({"timestamp": next(times), "type": type, "payload": payload})
    return lines(records)


def _records(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """An item as the client keeps it, and what it shows of it."""
    if "role" not in item:
        yield "response_item", item
        return
    role, content = item["role"], item["content"]
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": content}] if isinstance(content, str) else content
    yield "response_item", {**item, "type": "message", "content": parts}
    said = "\n".join(part["text"] for part in parts if part.get("type") == kind)
    if role == "assistant" and said:
        yield "event_msg", {"type": "agent_message", "message": said}
    elif role == "user" and said:
        yield "event_msg", {"type": "user_message", "message": said, "kind": "plain"}
