"""Every decision as an event in our own log, so that all that reads logs can answer what agents tried to do.

Rule: recording never changes a decision. Each session of a client is a recording of its own, to which every process
adds one line.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.engine.shell_reach import ANY, ONE, STAR, Effect, reach_of
from dragoman.model import operations as op

from .clients import client_named
from .deciding import located, operations_of, place_of

if TYPE_CHECKING:
    from pathlib import Path

    from .client import Asked, Decision

_HEADER: Final = b'{"format":"dragoman","version":1}\n'
_VERDICTS: Final = {"deny": "denied", "ask": "asked", "allow": "allowed", "pass": "allowed"}
_LEFT: Final = "no rule is about it, so the client's own permissions decide"
_MOST: Final = 200
"""Things that a command line may reach that are recorded of it."""


def record(asked: Asked | None, decision: Decision, folder: Path) -> None:
    """Adds what was decided to the recording of the client's session; `OSError` when that cannot be written."""
    if asked is None or not asked.calls:
        return
    session = _session_of(asked)
    head = {
        "session": session,
        "time": datetime.now(UTC).isoformat(),
        "client": f"{asked.client} hook",
    }
    path = folder / f"{session}.jsonl"
    if not path.exists():
        _begin(path, {"kind": "session_started", "id": _new_id(), **head, "cwd": asked.cwd, "project": asked.cwd})
    lines = [
        msgspec.json.encode({"kind": "tool_called", "id": _new_id(), **head, **one}) + b"\n"
        for one in _judged(asked, decision)
    ]
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    try:
        os.write(file, b"".join(lines))
    finally:
        os.close(file)


def _judged(asked: Asked, decision: Decision) -> list[dict[str, Any]]:
    client, place = client_named(asked.client), place_of(asked)
    found: list[dict[str, Any]] = []
    for native in asked.calls:
        id = native.id or _new_id()
        meant = tuple(located(one, place) for one in operations_of(native, asked, client))
        intents = [
            intent
            for one in meant
            if isinstance(one, op.RunCommand)
            for intent in _reached(one.command, one.cwd or place)
        ]
        said = {
            "verdict": _VERDICTS[decision.verdict],
            "by": "dragoman hook",
            "rule": decision.rule,
            "reason": decision.reason or _LEFT,
        }
        call = {"id": id, "operations": meant, "native": msgspec.structs.replace(native, id=id), "intents": intents}
        found.append({"call_id": id, "call": call, "decision": said})
    return found


def _reached(line: str, place: str) -> list[op.Operation]:
    """What a command line may reach, as operations on absolute paths; in a path `…` is what cannot be known."""
    effects = reach_of(line, os.path.normpath(place), os.path.expanduser("~")).effects
    found = [_as_operation(effect) for effect in effects[:_MOST] if effect.verb != "mention"]
    return list(dict.fromkeys(found))


def _as_operation(effect: Effect) -> op.Operation:
    path = shown(effect.target if effect.verb == "fetch" else os.path.normpath(effect.target))
    match effect.verb:
        case "read":
            return op.ReadFile(path)
        case "list":
            return op.ListDirectory(path)
        case "delete":
            return op.DeleteFile(path)
        case "fetch":
            return op.FetchPage(path)
    return op.EditFile(path, ())


def shown(target: str) -> str:
    """A target with the marks of what is not known as people write them."""
    return target.replace(ANY, "…").replace(STAR, "*").replace(ONE, "?")


def _session_of(asked: Asked) -> str:
    named = asked.session or datetime.now(UTC).strftime("day-%Y-%m-%d")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", named):
        from hashlib import sha256

        named = sha256(named.encode("utf-8", "replace")).hexdigest()[:24]
    return f"{asked.client}-{named}"


def _new_id() -> str:
    return os.urandom(12).hex()


def _begin(path: Path, started: dict[str, Any]) -> None:
    """Makes a recording with its first lines in it, whoever else does the same at the same time."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.stem[:40]}-{_new_id()}")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, _HEADER + msgspec.json.encode(started) + b"\n")
    finally:
        os.close(file)
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()
