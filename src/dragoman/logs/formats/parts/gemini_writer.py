"""Sessions written for Gemini CLI.

What it needs was found with 0.61.0: the file's name begins with `session-`, and its first record names the session and
the digest of the project's path. It keeps projects in folders with short names, which `projects.json` lists; a project
that is not listed gets the name of its folder, unless the client or an earlier port gave it to another project.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.errors import LogError
from dragoman.logs.base.listing import read_beside
from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments, stamp
from dragoman.model import NativeCall

_STAND_IN = "skip_thought_signature_validator"
"""The signature for calls that no model of Google's made, by its page on thought signatures."""


class GeminiWriter(SessionWriter):
    """The writer; see the module."""

    api = "gemini_generate"
    program = "gemini"
    version = "0.61.0"
    model = "gemini-2.5-pro"
    # 0.61.0 offers `activate_skill` with the names of the skills that the machine has.
    withheld = frozenset(("activate_skill", "list_mcp_resources", "read_mcp_resource"))

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath(
            _short_name(to), "chats", f"session-{stamp(to.time)[:16].replace(':', '-')}-{to.id[:8]}.jsonl"
        )

    def resume(self, to: Destination) -> str:
        return f"gemini --resume {to.id}"

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"text": "", "thought": True, "thoughtSignature": json.dumps(one)} for one in record["thoughts"]]

    def signature(self, record: dict[str, Any], call_id: str) -> str | None:
        parts = record["content"] if isinstance(record["content"], list) else []
        mine = (part for part in parts if part.get("functionCall", {}).get("id") == call_id)
        return next((part["thoughtSignature"] for part in mine if "thoughtSignature" in part), None)

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        return str(uuid.uuid4())

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        return lines(_records(messages, to, to.id, "main"))

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """Sub-agents: each in a file of its own, in a folder with the session's id."""
        folder = self.path(to).parent / to.id
        return {
            folder / f"{agent.id}.jsonl": lines(_records(agent.messages, to.of_agent, agent.id, "subagent"))
            for agent in to.agents
        }


def _records(messages: Sequence[dict[str, Any]], to: Destination, id: str, kind: str) -> list[dict[str, Any]]:
    times = moments(to.time)
    began = next(times)
    head = {
        "sessionId": id,
        "projectHash": _digest(to.folder),
        "startTime": began,
        "lastUpdated": began,
        "kind": kind,
    }
    results = {
        response["functionResponse"]["id"]: response
        for message in messages
        for response in message["parts"]
        if "functionResponse" in response
    }
    records: list[dict[str, Any]] = [head]
    for message in messages:
        about = {"id": str(uuid.uuid4()), "timestamp": next(times)}
        if message["role"] == "model":
            records.append(about | _model(message["parts"], results, to, about["timestamp"]))
            continue
        said = [part for part in message["parts"] if "functionResponse" not in part]
        if said:  # 0.61 sends results from the records of calls; repeated here, they would be sent twice
            records.append({**about, "type": "user", "content": said})
    return records


def _model(parts: Sequence[dict[str, Any]], results: Mapping[str, Any], to: Destination, time: str) -> dict[str, Any]:
    """What the model said, with its calls and their results: the client sends them from here."""
    thoughts = [json.loads(part["thoughtSignature"]) for part in parts if "thought" in part]
    parts = _signed([part for part in parts if "thought" not in part], to.model)
    # Where calls stand in the content it is sent as it is, with their signatures: Gemini 3 models refuse calls without
    # one, and those of another model carry the documented stand-in (0.61.0 writes such records after a resume).
    is_signed = any("thoughtSignature" in part for part in parts)
    content = parts if is_signed else "".join(part["text"] for part in parts if "text" in part)
    said: dict[str, Any] = {"type": "gemini", "content": content, "thoughts": thoughts, "model": to.model}
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if calls:
        said["toolCalls"] = [
            {
                **call,
                "result": [results[call["id"]]],
                "status": "error" if "error" in results[call["id"]]["functionResponse"]["response"] else "success",
                "timestamp": time,
                **({} if (agent := to.agent_of(call["id"])) is None else {"agentId": agent.id}),
            }
            for call in calls
        ]
    return said


def _signed(parts: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
    """Parts whose first call has a signature if the model refuses it without one: most records of 0.61.0 have none."""
    generation = re.match(r"gemini-(\d+)", model)
    first = next((part for part in parts if "functionCall" in part), None)
    if generation is None or int(generation[1]) < 3 or first is None or "thoughtSignature" in first:
        return parts
    return [{**part, "thoughtSignature": _STAND_IN} if part is first else part for part in parts]


def _short_name(to: Destination) -> str:
    """The name of the project's folder among the client's own."""
    listing = to.home.parent / "projects.json"
    try:
        listed = json.loads(listing.read_bytes())["projects"]
        names = {str(folder): str(name) for folder, name in listed.items()}
    except FileNotFoundError:
        names = {}
    except (ValueError, LookupError, AttributeError) as error:
        raise LogError(
            f"{listing} cannot be read, so where sessions of {to.folder} belong is not known: {error}"
        ) from None
    if to.folder in names:
        name = names[to.folder]
        if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or name.startswith("."):
            raise LogError(f"{listing} gives {to.folder} a name that is no folder's: {name!r}")
        return name
    name = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(to.folder).name.lower()).strip("-") or "project"
    if name in names.values() or not _is_free(to, name):
        raise LogError(
            f"Gemini CLI has another project called {name!r}: start `gemini` once in {to.folder}, so that it gets a "
            "name of its own, then port again"
        )
    return name


def _is_free(to: Destination, name: str) -> bool:
    """Whether no other project has this name: a session of this one may have been ported there before."""
    place = to.home / name
    if not place.exists():
        return True
    if (mark := place / ".project_root").exists():  # the client's, once it was started there
        return read_beside(mark)[:4096].decode("utf-8", "replace").strip() == to.folder
    found = [*(place / "chats").glob("session-*")]
    return bool(found) and all(_is_about(to.folder, one) for one in found)


def _is_about(folder: str, session: Path) -> bool:
    try:
        with session.open("rb") as file:
            head = json.loads(file.readline(1 << 16))
    except (OSError, ValueError):
        return False
    return isinstance(head, dict) and head.get("projectHash") == _digest(folder)


def _digest(folder: str) -> str:
    return hashlib.sha256(folder.encode()).hexdigest()
