"""`dragoman show`: one session as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .console import Console, ExitCode, json_option
from .log_files import events_of, files_of

if TYPE_CHECKING:
    from dragoman.model import Session, Step, ToolUse


@click.command
@click.argument("wanted", metavar="PATH|ID")
@json_option
@click.pass_obj
def command(console: Console, *, wanted: str, as_json: bool) -> ExitCode:
    """Show a session: what was said, thought and done, turn by turn, with its sub-agents.

    PATH is a log file or a folder; ID is the beginning of a session's id.
    """
    from dragoman.logs import sessions_of

    found = sessions_of(events_of(console, files_of(console, (wanted,))))
    if as_json:
        console.json(found)
        return ExitCode.OK
    for session in found:
        _show(console, session, "")
    return ExitCode.OK if found else ExitCode.NO


def _show(console: Console, session: Session, indent: str) -> None:
    facts = [session.client, session.version, session.cwd, ", ".join(session.models)]
    spawned = f" (spawned by {session.parent_call})" if session.parent_call else ""
    console.line(f"{indent}session {session.id} {session.stream}{spawned}", "strong")
    console.line(f"{indent}  {' · '.join(fact for fact in facts if fact)}", "quiet")
    for turn in session.turns:
        opened = turn.opened_by
        said = getattr(opened, "text", None) or getattr(opened, "name", None) or getattr(opened, "summary", None) or ""
        console.line(f"{indent}── turn {turn.index} ── {_short(str(said), 200)}", "strong")
        for step in turn.steps:
            _step(console, step, indent + "  ")
    if session.usage.total is not None:
        console.line(f"{indent}  {session.usage.total} tokens", "quiet")
    for child in session.children:
        _show(console, child, indent + "    ")


def _step(console: Console, step: Step, indent: str) -> None:
    for thought in step.thought:
        if thought.text:
            console.line(f"{indent}thinks  {_short(thought.text, 160)}", "quiet")
    for said in step.said:
        for line in said.text.splitlines():
            console.line(f"{indent}{line}")
    for use in step.tools:
        _tool(console, use, indent)


def _tool(console: Console, use: ToolUse, indent: str) -> None:
    call = use.called.call
    means = ", ".join(_meaning(operation) for operation in call.operations) or "?"
    console.line(f"{indent}→ {call.native.name}  {means}")
    if use.returned is None:
        console.line(f"{indent}  no result", "warning")
        return
    for outcome in use.returned.result.outcomes:
        bad = type(outcome).__name__ == "Failure" or getattr(outcome, "exit_code", 0) not in (0, None)
        console.line(f"{indent}  {_outcome(outcome)}", "bad" if bad else "quiet")


def _meaning(operation: object) -> str:
    name = type(operation).__name__
    about = getattr(operation, "path", None) or getattr(operation, "command", None) or getattr(operation, "query", None)
    return name if about is None else f"{name} {_short(str(about), 120)}"


def _outcome(outcome: object) -> str:
    name = type(outcome).__name__
    if name == "Failure":
        return f"{getattr(outcome, 'kind', '')}: {_short(str(getattr(outcome, 'message', '')), 160)}"
    code = getattr(outcome, "exit_code", None)
    text = getattr(outcome, "output", None) or getattr(outcome, "stdout", None) or getattr(outcome, "text", None) or ""
    shown = name if code is None else f"exit {code}"
    return f"{shown}  {_short(str(text), 120)}".rstrip()


def _short(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
