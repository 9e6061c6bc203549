"""What `--from` goes on with: a recorded session of any client, as the beginning of a run of ours.

The history is written down as events of our own, so that the new run has it in its record and can be resumed like any
other. The session it came from is only read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman import logs, model
from dragoman.engine import history
from dragoman.errors import LogError

from .log_files import are_own, events_of, files_of
from .terminal.console import Console, here

if TYPE_CHECKING:
    from dragoman.logs.port import SessionHistory, SubAgent


def told_events(console: Console, wanted: str, run: str) -> list[model.AnyEvent]:
    """The events a run begins with that goes on with the session of this path or id; what stays behind is said."""
    import datetime

    from dragoman.logs.port import one_session

    found = files_of(console, (wanted,))
    session, events = one_session(list(events_of(console, found)), wanted)
    told = told_of(events, found)
    if not told.conversation:
        raise LogError(f"the session {session or wanted!r} holds no messages to continue from")
    started = next((one for one in events if isinstance(one, model.SessionStarted)), None)
    facts: dict[str, Any] = {"session": run, "run": run, "client": "dragoman"}
    facts["time"] = datetime.datetime.now(datetime.UTC)
    _say(console, told, session or wanted)
    folder = started.cwd if started is not None and started.cwd and os.path.isdir(started.cwd) else None
    if folder is not None and not are_own(console, found):
        # Files are read without asking: a log that came with a project must not choose where.
        console.note(f"The log is not one of yours, so this run works in {here()}, not in {folder} (--workspace).")
        folder = None
    begun = model.SessionStarted(id=f"{run}-from-0", cwd=folder, forked_from=session, **facts)
    return [begun, *_as_events(told.conversation, run, facts)]


def told_of(events: list[model.AnyEvent], found: list[logs.Found], *, keep_thoughts: bool = False) -> SessionHistory:
    """What was said in these events of one session, as a conversation."""
    from dragoman.logs.port import SessionHistory, history_of

    if found[0].format == "dragoman":
        said = history.conversation_of(events)
        return SessionHistory(tuple(item for item in said if item.role != "system"))
    format = logs.FORMATS[found[0].format]
    return history_of(events, format.dialect, writer=format.writer() if keep_thoughts else None)


def agents_of(events: list[model.AnyEvent], found: list[logs.Found], session: str | None) -> tuple[SubAgent, ...]:
    """The sub-agents of a session among these events."""
    from dragoman.logs.port import history_of, sub_agents

    format = found[0].format

    def read(mine: list[model.AnyEvent], stream: str) -> model.Conversation:
        if format == "dragoman":
            said = history.conversation_of(msgspec.structs.replace(event, stream="main") for event in mine)
            return tuple(item for item in said if item.role != "system")
        return history_of(mine, logs.FORMATS[format].dialect, stream).conversation

    return sub_agents(events, session, read)


def _say(console: Console, told: SessionHistory, session: str) -> None:
    left_out = ", ".join(f"{what} ({count})" for what, count in told.left_out.items())
    console.note(f"Continuing {session}" + (f"; left out: {left_out}" if left_out else ""))


def _as_events(conversation: model.Conversation, run: str, facts: dict[str, Any]) -> Iterator[model.AnyEvent]:
    """A conversation as the events it is read back from."""
    number = 0
    for item in conversation:
        number += 1
        id = f"{run}-from-{number}"
        if isinstance(item, model.Reply):
            yield model.ModelFinished(id=id, finish=item.finish, reply=item, **facts)
        elif item.role == "tool":
            for part in item.parts:
                if isinstance(part, model.ResultPart):
                    number += 1
                    result = model.Result(part.result.call_id, (), native=part.result)
                    yield model.ToolReturned(
                        id=f"{run}-from-{number}", call_id=part.result.call_id, result=result, **facts
                    )
        else:
            text = "\n".join(part.text for part in item.parts if isinstance(part, model.TextPart))
            media = tuple(part.media for part in item.parts if isinstance(part, model.MediaPart))
            yield model.UserSaid(id=id, text=text, media=media, **facts)
