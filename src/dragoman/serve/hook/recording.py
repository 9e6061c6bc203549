"""What hooks were called for as events in our own log, so that all that reads logs can answer what agents tried to do.

Rule: recording never changes a decision. Each session of a client is a recording of its own, to which every process
adds one line.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.engine import shell_reach
from dragoman.engine.shell_reach import ANY, ONE, STAR, Effect
from dragoman.model import operations as op
from dragoman.model.calls import NativeCall

from .clients import client_named
from .deciding import located, operations_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .client import Asked, Decision, Handled

_HEADER: Final = b'{"format":"dragoman","version":1}\n'
_VERDICTS: Final = {"deny": "denied", "ask": "asked", "allow": "allowed", "pass": "allowed"}
_LEFT: Final = "no rule is about it, so the client's own permissions decide"
_LONGEST: Final = 100_000
"""Characters of a text that is recorded."""
_TAIL: Final = 1024 * 1024
"""Bytes at the end of a recording in which the call of a result is looked for."""
_MOST: Final = 200
"""Things that a command line may reach that are recorded of it."""


def record(handled: Handled, folder: Path) -> None:
    """Adds what a hook was called for to the recording of the client's session; `OSError` if it cannot be written."""
    asked = handled.asked
    if asked is None and not handled.unread:
        return
    session = _session_of(asked)
    head = {
        "session": session,
        "time": datetime.now(UTC).isoformat(),
        "client": f"{asked.client if asked else 'unknown'} hook",
    }
    path = folder / f"{session}.jsonl"
    if not path.exists():
        place = asked.cwd if asked else None
        project = (asked.root if asked else None) or place
        _begin(path, {"kind": "session_started", "id": _new_id(), **head, "cwd": place, "project": project})
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
    try:
        events = [
            msgspec.json.encode({"kind": kind, "id": _new_id(), **head, **one}) + b"\n"
            for kind, one in _events(handled, file)
        ]
        os.write(file, b"".join(events))
    finally:
        os.close(file)


def _events(handled: Handled, file: int) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = handled.asked
    if handled.unread:
        data = {"reason": handled.note, "verdict": handled.decision.verdict, **_raw(handled.unread)}
        yield "client_noted", {"name": "unknown payload", "data": data}
    if asked is None:
        return
    if asked.stage == "after":
        yield from _returned(asked, handled.decision, file)
    elif asked.calls:
        for one in _judged(asked, handled.decision):
            yield "tool_called", one
    elif asked.text or asked.stage == "stop":
        # Qwen Code 0.24.4 sends the prompt again, empty, after each result.
        said = {"text": asked.text[:_LONGEST]} if asked.text else {}
        yield "client_noted", {"name": asked.event, "data": said}


def _raw(text: bytes) -> dict[str, str]:
    """Bytes as they are, in a form that JSON can hold."""
    try:
        return {"text": text.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(text).decode()}


def _returned(asked: Asked, decision: Decision, file: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a call gave, and the call itself if nobody asked about it before."""
    (native,) = asked.calls
    id = _called_before(native, file)
    if id is None:
        (judged,) = _judged(asked, decision)
        if decision.verdict == "pass":
            del judged["decision"]
        id = judged["call_id"]
        yield "tool_called", judged
    told = asked.returned
    if told is None:
        yield "client_noted", {"name": asked.event, "call_id": id}
        return
    from dragoman.registry import DIALECTS

    dialect = DIALECTS[asked.dialect or client_named(asked.client).dialect]
    result = dialect.read_result(dialect.read_call(native), msgspec.structs.replace(told, call_id=id))
    yield "tool_returned", {"call_id": id, "result": result}


def _called_before(native: NativeCall, file: int) -> str | None:
    """The id under which a call was recorded that has no result yet: the last with its own id, or else with its name
    and arguments. Gemini CLI (0.61.0), droid (0.215.0), Copilot CLI (1.0.102) and Goose (1.52.0) give no id."""
    start = max(0, os.fstat(file).st_size - _TAIL)
    returned: set[str] = set()
    for line in reversed(os.pread(file, _TAIL, start).splitlines()):
        try:
            event = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError:  # the first line may be cut
            continue
        if event.kind == "tool_returned" and event.call_id:
            returned.add(event.call_id)
        elif event.kind == "tool_called" and event.call is not None and event.call_id not in returned:
            known = event.call.native
            if native.id == known.id if native.id else (native.name, native.arguments) == (known.name, known.arguments):
                return event.call_id
    return None


class _LineCall(msgspec.Struct):
    native: NativeCall


class _Line(msgspec.Struct):
    kind: str = ""
    call_id: str | None = None
    call: _LineCall | None = None


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
    effects = shell_reach.reach_of(line, os.path.normpath(place), os.path.expanduser("~")).effects
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


def _session_of(asked: Asked | None) -> str:
    named = (asked.session if asked else None) or datetime.now(UTC).strftime("day-%Y-%m-%d")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", named):
        from hashlib import sha256

        named = sha256(named.encode("utf-8", "replace")).hexdigest()[:24]
    return f"{asked.client if asked else 'unknown'}-{named}"


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
