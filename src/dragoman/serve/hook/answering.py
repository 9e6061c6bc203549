"""One hook call from beginning to end: what is on standard input, and what is printed for it.

Rule: closed. Whatever goes wrong, the call is denied in a form that the client understands, and before the client
stops waiting: most clients take a hook that fails or is late for permission.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from .client import Answer, Asked, Decision, UnknownPayload
from .clients import CLIENTS, client_named, client_of

if TYPE_CHECKING:
    from pathlib import Path

    from .client import HookClient
    from .deciding import Rules

SECONDS: Final = 8.0
"""After this time the call is denied. The installed lines give the client's own time limit as 30 seconds."""
_SECONDS_TO_RECORD: Final = 3.0
_LONGEST: Final = 64 * 1024 * 1024


class _TooLate(BaseException):
    """The time is over; not an `Exception`, so that nothing on the way takes it for one of its own."""


class Handled(msgspec.Struct, frozen=True):
    """What a hook call came to."""

    answer: Answer
    decision: Decision
    asked: Asked | None = None
    note: str | None = None
    """What is printed on standard error."""


def handle(text: bytes, client: str | None, event: str | None, rules: Callable[[], Rules]) -> Handled:
    """Reads a payload, decides, and writes the answer. `client` and `event` are what the installed line says.

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
        asked = speaks.read(payload, event)
        if not asked.calls:
            return Handled(speaks.answer(asked.stage, asked.event, Decision("pass")), Decision("pass"), asked)
        from .deciding import decide

        decision = decide(asked, speaks, rules())
        note = None
        if client not in (None, named):
            note = f"the installed line is for {client}, and the payload is from {named}"
        return Handled(speaks.answer(asked.stage, asked.event, decision), decision, asked, note)
    except UnknownPayload as problem:
        return _unknown(problem, client, event, speaks, rules)
    except _TooLate:
        return _denied(f"no decision in {SECONDS:g} seconds", client, event, speaks, asked)
    except Exception as problem:  # noqa: BLE001 - a hook that fails is permission to most clients
        return _denied(f"{type(problem).__name__}: {problem}", client, event, speaks, asked)


def _payload(text: bytes) -> Mapping[str, Any]:
    if len(text) > _LONGEST:
        raise UnknownPayload(f"it is longer than {_LONGEST} bytes")
    try:
        payload = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnknownPayload(f"it is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise UnknownPayload("it is not a JSON object")
    return payload


def _unknown(
    problem: UnknownPayload,
    client: str | None,
    event: str | None,
    speaks: HookClient | None,
    rules: Callable[[], Rules],
) -> Handled:
    try:
        passes = rules().unknown_payloads == "pass"
    except Exception:  # noqa: BLE001 - settings that cannot be read allow nothing
        passes = False
    if passes:
        return Handled(Answer(), Decision("pass"), None, f"this payload is not known, and passes: {problem}")
    return _denied(f"this payload is not known: {problem}", client, event, speaks, None)


def _denied(why: str, client: str | None, event: str | None, speaks: HookClient | None, asked: Asked | None) -> Handled:
    """A denial in the best form there is: the client's own, or exit code 2 with a text on standard error."""
    decision = Decision("deny", f"dragoman could not decide: {why}"[:2000], None)
    if speaks is None and client in CLIENTS:
        speaks = client_named(client)
    if speaks is None:
        return Handled(Answer("", 2), decision, asked, decision.reason)
    named = asked.event if asked is not None else event or next(iter(speaks.stages))
    stage = asked.stage if asked is not None else speaks.stages.get(named, "before")
    return Handled(speaks.answer(stage, named, decision), decision, asked, decision.reason)


def own_rules() -> Rules:
    """The rules of this user, read from their own settings alone."""
    from pathlib import Path

    from dragoman import config

    from .deciding import rules_of

    return rules_of(config.load(project_at=Path("/")))


def answer_here(client: str | None, event: str | None) -> int:
    """Answers the hook call that this process was started for; gives its exit code."""

    def late(*_: object) -> NoReturn:
        raise _TooLate

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
        text = sys.stdin.buffer.read(_LONGEST + 1)
        handled = handle(text, client, event, rules)
    except _TooLate:
        handled = _denied(f"no payload in {SECONDS:g} seconds", client, event, None, None)
    if timed:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if handled.note:
        sys.stderr.write(f"dragoman hook: {handled.note}\n")
    sys.stdout.write(handled.answer.out)
    sys.stdout.flush()
    if known and known[0].decisions is not None:
        problem = _recorded(handled, known[0].decisions, timed=timed)
        if problem:
            sys.stderr.write(f"dragoman hook: this decision is not in the log: {problem}\n")
    return handled.answer.code


def _recorded(handled: Handled, folder: Path, *, timed: bool) -> str | None:
    """Records a decision that is given already; what is wrong, if anything is."""
    from .recording import record

    try:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_RECORD)
        record(handled.asked, handled.decision, folder)
    except _TooLate:
        return f"it took longer than {_SECONDS_TO_RECORD:g} seconds"
    except Exception as problem:  # noqa: BLE001 - the decision holds, whatever becomes of its record
        return f"{type(problem).__name__}: {problem}"
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return None
