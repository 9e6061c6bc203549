"""Sessions written for opencode, as a file that its `import` takes: its database is never written to.

What it needs was found with 1.18.33: a session has a slug and times, every message an agent, a model and times. A
message that it refuses leaves the session imported and empty. A call and its result are one part.
"""

from __future__ import annotations

import datetime
import json
import secrets
import shlex
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from dragoman.logs.base.writing import Destination, SessionWriter, provider_of
from dragoman.model import Media, NativeCall

_LETTERS = string.digits + string.ascii_letters
_DAY_END = 0xFFFFFFFFFFFF
_NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


class OpencodeWriter(SessionWriter):
    """The writer; see the module."""

    api = "anthropic_messages"
    program = "opencode"
    version = "1.18.33"
    model = "claude-sonnet-4-5"

    def home(self, homes: Sequence[Path], user: Path, environment: Mapping[str, str]) -> Path:
        """A folder of ours: the file is only read by the import."""
        given = environment.get("XDG_DATA_HOME")
        return (Path(given) if given else user / ".local" / "share") / "dragoman" / "ports"

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        return media.data is not None

    def new_id(self, time: datetime.datetime) -> str:
        return f"ses_{_numbered(_DAY_END - _count(time, 0))}"  # 1.18.33 counts backwards: the newest is first

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(f"{to.id}.json")

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        if record["type"] != "reasoning":
            return []
        proof = json.dumps(record.get("metadata"))
        return [{"type": "thinking", "thinking": record["text"], "signature": proof}]

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        return self.new_id(to.time)

    def resume(self, to: Destination) -> str:
        files = (self.path(to), *(PurePosixPath(f"{agent.id}.json") for agent in to.agents))
        imports = [f"opencode import {shlex.quote(str(to.home / file))}" for file in files]
        return " && ".join((*imports, f"opencode -s {to.id}"))

    def remove(self, files: Sequence[Path], to: Destination) -> str:
        deletes = [f"opencode session delete {id}" for id in (to.id, *(agent.id for agent in to.agents))]
        return "; ".join((super().remove(files, to), *deletes))  # the import has copied the files

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        return _session(messages, to, to.id, None)

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """Sub-agents: sessions that name the one that started them."""
        return {
            PurePosixPath(f"{agent.id}.json"): _session(agent.messages, to.of_agent, agent.id, agent.kind)
            for agent in to.agents
        }


def _session(messages: Sequence[dict[str, Any]], to: Destination, session: str, kind: str | None) -> bytes:
    """A session; that of a sub-agent has a `kind`."""
    now = int(to.time.timestamp() * 1000)
    results = {
        block["tool_use_id"]: block
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    told: list[dict[str, Any]] = []
    asked: str | None = None
    for number, message in enumerate(messages):
        id = f"msg_{_numbered(_count(to.time, number * 1024))}"
        parts = list(_parts(message, results, now + number, to))
        if not parts:
            continue
        info = {"id": id, "sessionID": session, "role": message["role"], "agent": kind or "build"}
        if message["role"] == "user":
            asked = id
            info |= {
                "time": {"created": now + number},
                "model": {"providerID": provider_of(to.model), "modelID": to.model},
            }
        else:
            info |= _reply(to, now + number, asked or id, calls=any(part["type"] == "tool" for part in parts))
        attached = (one for part in parts for one in part.get("state", {}).get("attachments", ()))
        for index, part in enumerate((*parts, *attached)):
            part |= {
                "id": f"prt_{_numbered(_count(to.time, number * 1024 + index))}",
                "messageID": id,
                "sessionID": session,
            }
        told.append({"info": info, "parts": parts})
    title = next((part["text"] for one in told for part in one["parts"] if part["type"] == "text"), "Ported session")
    about = {
        "id": session,
        **({} if kind is None else {"parentID": to.id}),
        "slug": f"ported-{session[-6:].lower()}",
        "projectID": "global",
        "directory": to.folder,
        "title": title[:100],
        "version": to.version,
        "time": {"created": now, "updated": now + len(messages)},
    }
    return msgspec.json.encode({"info": about, "messages": told}) + b"\n"


def _reply(to: Destination, time: int, asked: str, *, calls: bool) -> dict[str, Any]:
    return {
        "parentID": asked,
        "mode": "build",
        "path": {"cwd": to.folder, "root": to.folder},
        "cost": 0,
        "tokens": _NOTHING,
        "modelID": to.model,
        "providerID": provider_of(to.model),
        "time": {"created": time, "completed": time},
        "finish": "tool-calls" if calls else "stop",
    }


def _parts(message: dict[str, Any], results: Mapping[str, Any], time: int, to: Destination) -> Iterator[dict[str, Any]]:
    for block in message["content"]:
        match block:
            case {"type": "text", "text": text}:
                yield {"type": "text", "text": text}
            case {"type": "tool_use", "id": id, "name": name, "input": arguments}:
                state = _ended(results[id], time) | {"input": arguments}
                if (agent := to.agent_of(id)) is not None:
                    state["metadata"] = {"parentSessionId": to.id, "sessionId": agent.id}
                yield {"type": "tool", "tool": name, "callID": id, "state": state}
            case {"type": "tool_result"}:
                pass  # it is told with its call
            case {"type": "thinking", "thinking": text, "signature": proof}:
                about = json.loads(proof)
                times = {"start": time, "end": time}
                yield {"type": "reasoning", "text": text, "time": times} | ({"metadata": about} if about else {})
            case {"type": "image" | "document", "source": {"data": data, "media_type": kind}}:
                yield {"type": "file", "mime": kind, "url": f"data:{kind};base64,{data}"}
            case _:
                yield {"type": "text", "text": f"({block['type']})"}


def _ended(result: Mapping[str, Any], time: int) -> dict[str, Any]:
    content = result.get("content", "")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    times = {"start": time, "end": time}
    if result.get("is_error"):
        return {"status": "error", "error": text, "time": times}
    files = [
        block["source"] for block in blocks if block["type"] in ("image", "document") and "data" in block["source"]
    ]
    attached = [
        {"type": "file", "mime": one["media_type"], "url": f"data:{one['media_type']};base64,{one['data']}"}
        for one in files
    ]
    done: dict[str, Any] = {"status": "completed", "output": text, "title": "", "metadata": {}, "time": times}
    return done | ({"attachments": attached} if attached else {})


def _count(time: datetime.datetime, number: int) -> int:
    """A number that grows with time and order, as those in the ids of 1.18.33 do."""
    return (int(time.timestamp() * 1000) * 0x1000 + number) & _DAY_END


def _numbered(count: int) -> str:
    return f"{count:012x}{''.join(secrets.choice(_LETTERS) for _ in range(14))}"
