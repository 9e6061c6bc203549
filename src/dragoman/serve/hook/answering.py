"""One hook call from beginning to end: what is on standard input, and what is printed for it.

Rule: closed. Whatever goes wrong, the call is denied in a form that the client understands, and before the client
stops waiting: most clients take a hook that fails or is late for permission.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

import msgspec

from dragoman.hook_socket import PROJECTS

from .client import Answer, Asked, Decision, Handled, Here, UnknownPayload
from .clients import CLIENTS, client_named, client_of

if TYPE_CHECKING:
    from .client import HookClient
    from .deciding import Rules

SECONDS: Final = 8.0
"""After this time the call is denied. The installed lines give the client's own time limit as 30 seconds."""
_SECONDS_TO_RECORD: Final = 3.0
_LONGEST: Final = 64 * 1024 * 1024
_KEPT: Final = 64 * 1024
"""Bytes of an unknown payload that are recorded."""


class TooLate(BaseException):
    """The time is over; not an `Exception`, so that nothing on the way takes it for one of its own."""


def here() -> Here:
    """Where this process was started."""
    return Here(os.getcwd(), tuple(os.environ[name] for name in PROJECTS if os.environ.get(name)))


def handle(
    text: bytes,
    client: str | None,
    event: str | None,
    rules: Callable[[], Rules],
    started: Here | None = None,
    *,
    saved: bool = False,
) -> Handled:
    """Reads a payload, decides, and writes the answer. `client` and `event` are what the installed line says, and
    `started` is where it was started, if not here. `saved`: the payload was kept, and the folder of the work is
    taken to be the one that it names.

    It raises nothing but what ends the process.
    """
    speaks: HookClient | None = None
    asked: Asked | None = None
    try:
        payload = _payload(text)
        named = client_of(payload) or client
        if named is None or named not in CLIENTS:
            raise UnknownPayload("it is of no client that is known; name it with --client")
        speaks = client_named(named)
        asked = _placed(speaks.read(payload, event), speaks, started or here(), saved=saved)
        decision = Decision("pass")
        if asked.calls:
            from .deciding import decide

            decision = decide(asked, speaks, rules())
        is_new = asked.event not in speaks.stages
        note = "; ".join(_differences(asked, speaks, client, event)) or None
        answer = speaks.answer(asked.stage, asked.event, decision)
        return Handled(answer, decision, asked, note, unread=text[:_KEPT] if is_new else b"")
    except UnknownPayload as problem:
        return _unknown(problem, text, client, event, speaks, rules)
    except TooLate:
        denied = _denied(f"no decision in {SECONDS:g} seconds", client, event, speaks, asked)
        return msgspec.structs.replace(denied, is_late=True)
    except Exception as problem:  # noqa: BLE001 - a hook that fails is permission to most clients
        return _denied(f"{type(problem).__name__}: {problem}", client, event, speaks, asked)


def _placed(asked: Asked, speaks: HookClient, started: Here, *, saved: bool) -> Asked:
    cwd = asked.cwd if asked.cwd and os.path.isabs(asked.cwd) else os.path.join(started.cwd, asked.cwd or "")
    root = (cwd if saved else started.cwd) if speaks.starts_hooks_in_project else None
    return msgspec.structs.replace(asked, cwd=cwd, projects=started.projects, root=root)


def _differences(asked: Asked, speaks: HookClient, client: str | None, event: str | None) -> Iterator[str]:
    """What is other than the installed line says, and an event that is not known."""
    if client not in (None, asked.client):
        yield f"the installed line is for {client}, and the payload is from {asked.client}"
    elif event is not None and speaks.stages.get(event, asked.stage) != asked.stage:
        yield f"the installed line is for {event}, and the payload is of {asked.event}"
    if asked.event not in speaks.stages:
        treated = "decided as a call" if asked.calls else "left to the client"
        yield f"the event {asked.event!r} of {speaks.title} is not known, and is {treated}"


def _payload(text: bytes) -> Mapping[str, Any]:
    if len(text) > _LONGEST:
        raise UnknownPayload(f"it is longer than {_LONGEST} bytes")
    try:
        payload = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnknownPayload(f"it is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise UnknownPayload("it is not a JSON object")
    if _STRING.sub(b"", text).count(b":") != _members(payload):
        raise UnknownPayload("an object in it has two members of one name")
    return payload


_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')


def _members(value: Any) -> int:
    """How many members the objects in a value have. Of two with one name a reader keeps one, and not every reader the
    same: the client may run what was not decided about."""
    count, todo = 0, [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            count += len(one)
            todo += one.values()
        elif isinstance(one, list):
            todo += one
    return count


def _unknown(
    problem: UnknownPayload,
    text: bytes,
    client: str | None,
    event: str | None,
    speaks: HookClient | None,
    rules: Callable[[], Rules],
) -> Handled:
    try:
        choice = rules().unknown_payloads
    except Exception:  # noqa: BLE001 - settings that cannot be read allow nothing
        choice = "deny"
    unread = text[:_KEPT]
    if choice == "pass":
        passed = Handled(
            Answer(), Decision("pass"), None, f"this payload is not known, and passes: {problem}", unread=unread
        )
        speaks = speaks or (client_named(client) if client in CLIENTS else None)
        if speaks is None:
            return passed
        answer = speaks.answer("before", event or speaks.lines[0], passed.decision)
        return msgspec.structs.replace(passed, answer=answer)
    handled = _denied(
        f"this payload is not known: {problem}",
        client,
        event,
        speaks,
        None,
        verdict="ask" if choice == "ask" else "deny",
    )
    return msgspec.structs.replace(handled, unread=unread)


def _denied(
    why: str,
    client: str | None,
    event: str | None,
    speaks: HookClient | None,
    asked: Asked | None,
    *,
    verdict: Literal["deny", "ask"] = "deny",
) -> Handled:
    """A denial in the best form there is: the client's own, or exit code 2 with a text on standard error.

    After a tool, at the prompt and at the stop there is nothing to deny, and a client that is refused there may ask
    again without end.
    """
    decision = Decision("deny", f"dragoman could not decide: {why}"[:2000], None)
    if speaks is None and client in CLIENTS:
        speaks = client_named(client)
    if speaks is None:
        return Handled(Answer("", 2), decision, asked, decision.reason)
    named = asked.event if asked is not None else event or speaks.lines[0]
    stage = asked.stage if asked is not None else speaks.stages.get(named, "before")
    if verdict == "ask" and speaks.asks:
        decision = msgspec.structs.replace(decision, verdict="ask")
    if stage not in ("before", "permission"):
        return Handled(speaks.answer(stage, named, Decision("pass")), Decision("pass"), asked, decision.reason)
    return Handled(speaks.answer(stage, named, decision), decision, asked, decision.reason)


def own_rules() -> Rules:
    """The rules of this user, read from their own settings alone."""
    from pathlib import Path

    from dragoman import config

    from .deciding import rules_of

    return rules_of(config.load(project_at=Path("/")))


def answer_here(client: str | None, event: str | None, payload: bytes | None = None) -> int:
    """Answers the hook call that this process was started for; gives its exit code. `payload` is what was on standard
    input, if it was read already."""

    def late(*_: object) -> NoReturn:
        raise TooLate

    known: list[Rules] = []

    def rules() -> Rules:
        if not known:
            known.append(own_rules())
        return known[0]

    timed = hasattr(signal, "SIGALRM")
    if timed:
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        text = sys.stdin.buffer.read(_LONGEST + 1) if payload is None else payload
        handled = handle(text, client, event, rules)
    except TooLate:
        handled = _denied(f"no payload in {SECONDS:g} seconds", client, event, None, None)
    if timed:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if handled.note:
        sys.stderr.write(f"dragoman hook: {handled.note}\n")
    sys.stdout.write(handled.answer.out)
    sys.stdout.flush()
    if handled.asked is not None or handled.unread:
        problem = _recorded(handled, rules, timed=timed)
        if problem:
            sys.stderr.write(f"dragoman hook: this is not in the log: {problem}\n")
    return handled.answer.code


def _recorded(handled: Handled, rules: Callable[[], Rules], *, timed: bool) -> str | None:
    """Records a decision that is given already; what is wrong, if anything is."""
    from .recording import record

    try:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_RECORD)
        folder = rules().decisions
        if folder is not None:
            record(handled, folder)
    except TooLate:
        return f"it took longer than {_SECONDS_TO_RECORD:g} seconds"
    except Exception as problem:  # noqa: BLE001 - the decision holds, whatever becomes of its record
        return f"{type(problem).__name__}: {problem}"
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return None
