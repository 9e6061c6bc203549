"""`dragoman port`: a recorded session, written as a session of another client."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.from_session import agents_of, told_of
from dragoman.cli.log_files import are_own, events_of, files_of, format_option, redactor_of
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.errors import LogError
from dragoman.registry import FORMATS

if TYPE_CHECKING:
    from dragoman.logs.port import Ported
    from dragoman.model import AnyEvent, Conversation


@click.command
@click.argument("wanted", metavar="SESSION")
@click.option(
    "--to",
    required=True,
    metavar="CLIENT",
    help="claude_code, codex, gemini_cli, opencode, qwen_code, copilot, pi, continue or cline.",
)
@click.option("--session", metavar="ID", help="Which session, by the beginning of its id, if SESSION holds several.")
@click.option("--cwd", "folder", metavar="DIR", help="Where the new session works. Default: where the old one did.")
@click.option(
    "--version",
    metavar="VERSION",
    help="The client's version, which decides what tools it offers. Default: that of the installed client.",
)
@click.option("--model", metavar="NAME", help="The model the client will use.")
@click.option("--from-turn", type=click.IntRange(min=1), metavar="N", help="Leave out the turns before this one.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N turns.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Fold older turns into a summary of what was done, so that the client sends about this much at most.",
)
@click.option(
    "--with-agents", is_flag=True, help="Write the conversations of sub-agents too, if the client keeps them."
)
@click.option(
    "--redact", is_flag=True, help="Replace secrets, home folders, user names and e-mail addresses with placeholders."
)
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@format_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: str,
    to: str,
    session: str | None,
    folder: str | None,
    version: str | None,
    model: str | None,
    from_turn: int | None,
    last: int | None,
    budget: int | None,
    with_agents: bool,
    redact: bool,
    dry_run: bool,
    format: str | None,
    as_json: bool,
) -> ExitCode:
    """Write a session as one of another client, in that client's own tools, and say how to resume it there.

    SESSION is the beginning of a session's id, `last`, a log file or a folder. Calls are written in the words of
    the target's tools; what only its shell can do becomes a command, and what it cannot do becomes text. The original
    is only read, and no existing file is touched.

    \b
    dragoman port 5f0c --to codex
    dragoman port last --to claude_code --dry-run
    """
    from dragoman.logs.port import one_session, ported

    if from_turn is not None and last is not None:
        raise click.UsageError("--from-turn and --last exclude each other")
    found = files_of(console, (wanted,), format)
    read = list(events_of(console, found))
    id, events = one_session(read, wanted, session)
    if with_agents:
        read += _agent_threads(console, read)
    began = _folder_of(events)
    if redact:
        redactor = redactor_of(console)
        redactor.learn(read)
        of_session = [event.session == id for event in read]
        read = redactor.value(read)
        events = list(compress(read, of_session))
        id = events[0].session  # it may be made of names that are taken out
    source = found[0].format
    # A signature belongs to the very text that was signed, and what is encrypted cannot be redacted.
    told = told_of(events, found, keep_thoughts=source == to and not redact)
    conversation, turns = _chosen(told.conversation, from_turn, last)
    if not conversation:
        raise LogError(f"the session {id or wanted!r} holds no messages to port")
    if folder is None and (began is None or not are_own(console, found)):
        folder = str(here())  # a log that somebody sent must not choose where a client works
    result = ported(
        conversation,
        to=to,
        source=source,
        folder=os.path.abspath(folder) if folder is not None else began,
        began=began,
        agents=agents_of(read, found, id) if with_agents else (),
        left_out={**told.left_out, **({"turns": turns} if turns else {})},
        version=version or _installed(console, to),
        model=model,
        budget=budget,
    )
    if not dry_run:
        result.place()
    if as_json:
        console.json(_facts(result, is_written=not dry_run))
    else:
        _say(console, result, is_written=not dry_run)
    return ExitCode.OK


def _agent_threads(console: Console, events: list[AnyEvent]) -> list[AnyEvent]:
    """The events of sub-agents that have sessions of their own, as in Codex; those that are not found are left out."""
    from dragoman.model import AgentStarted

    known = {event.session for event in events}
    started = {one.agent_session for one in events if isinstance(one, AgentStarted) and one.stream == "main"}
    found: list[AnyEvent] = []
    for id in sorted(id for id in started - known if id is not None and re.fullmatch(r"[0-9A-Za-z-]{8,64}", id)):
        with suppress(LogError):
            read = list(events_of(console, files_of(console, (id,))))
            found += [event for event in read if event.session == id]
    return found


def _installed(console: Console, to: str) -> str | None:
    """The version of the client on this machine; `None` when it is not installed."""
    from dragoman.cli.installed_client import installed_version

    writer = FORMATS[to].writer() if to in FORMATS else None
    version = None if writer is None else installed_version(writer.program)
    if writer is not None and version is not None and _numbers(version) < _numbers(writer.version):
        console.note(
            f"{writer.program} {version} is installed, and sessions are written as {writer.version} reads them: if it "
            "cannot resume this one, update it"
        )
    return version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _folder_of(events: list[AnyEvent]) -> str | None:
    from dragoman.model import SessionStarted

    return next((one.cwd for one in events if isinstance(one, SessionStarted) and one.cwd), None)


def _chosen(conversation: Conversation, from_turn: int | None, last: int | None) -> tuple[Conversation, int]:
    """The part of a conversation that was asked for, and how many turns were left out before it."""
    from dragoman.logs.port import FROM_CLIENT

    begins = [
        place for place, item in enumerate(conversation) if item.role == "user" and item.provenance != FROM_CLIENT
    ]
    first = 0 if from_turn is None else from_turn - 1
    if last is not None:
        first = max(0, len(begins) - last)
    if first == 0:
        return conversation, 0
    return (conversation[begins[first] :] if first < len(begins) else ()), min(first, len(begins))


def _facts(result: Ported, *, is_written: bool) -> dict[str, Any]:
    return {
        "client": result.client,
        "version": result.version,
        "session": result.id,
        "file": str(result.file),
        "files": [str(file) for file in result.files],
        "written": is_written,
        "folder": result.folder,
        "resume": result.resume,
        "remove": result.remove,
        "messages": result.messages,
        "tokens": result.tokens,
        "calls": {way: result.ways.get(way, 0) for way in ("native", "shell", "text")},
        "lost": [{"call": one.call_id, "tool": one.tool, "what": one.field, "why": one.reason} for one in result.lost],
        "left_out": result.left_out,
    }


def _say(console: Console, result: Ported, *, is_written: bool) -> None:
    console.line(f"{'Written' if is_written else 'Would write'}: {result.file}")
    if is_written:
        console.line(f"Resume:  cd {shlex.quote(result.folder)} && {result.resume}")
        console.line(f"Remove:  {result.remove}")
    ways = result.ways
    said = f"{ways.get('native', 0)} by tools of the client, {ways.get('shell', 0)} through its shell"
    console.line(
        f"{result.messages} messages, about {result.tokens:,} tokens. Calls: {said}, {ways.get('text', 0)} as text."
    )
    from dragoman.dialects.translation import WHOLE
    from dragoman.logs.port import IN_SUMMARY

    for what, count in result.left_out.items():
        console.note(f"Left out: {what} ({count})")
    counted = Counter((one.tool, one.field, one.reason) for one in result.lost)
    for (tool, field, reason), count in counted.items():
        part = field if field != WHOLE else "the call" if reason == IN_SUMMARY else "the call, sent as text"
        console.note(f"{tool}{f' ×{count}' if count > 1 else ''}: {part}: {reason}")
