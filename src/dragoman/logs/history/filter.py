"""What of the history is asked for, and which events that is."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dragoman.model import AnyEvent, ToolCalled, ToolReturned

from .sessions import key_of


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that must all hold; `None` means no condition."""

    client: str | None = None
    project: str | None = None
    """A folder, or the name of one: any worktree of its repository."""
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    """Sessions that were going on in this time; events of this time."""
    model: str | None = None
    """A model, or how its name begins."""
    session: str | None = None
    """A session's id, or how it begins."""
    tool: str | None = None
    """A tool's native name: of events, its calls and their results; of sessions, those that called it."""
    operation: str | None = None
    """An operation's type, `run_command`: of events its calls and their results; of sessions, those that did it."""
    kind: str | None = None
    """A kind of event, `tool_called`."""
    limit: int | None = None


EVERYTHING: Final = Filter()


def chosen_events(events: Iterable[AnyEvent], asked: Filter) -> Iterator[AnyEvent]:
    """Those of the events that are asked for; what is asked of whole sessions does not matter here."""
    is_of_calls = asked.tool is not None or asked.operation is not None
    calls: set[tuple[tuple[str, str], str]] = set()
    for event in events:
        if is_of_calls:
            if isinstance(event, ToolCalled) and _is_asked(event, asked):
                calls.add((key_of(event), event.call.id))
            elif not isinstance(event, ToolReturned) or (key_of(event), event.result.call_id) not in calls:
                continue
        if asked.kind is not None and type(event).__struct_config__.tag != asked.kind:
            continue
        if asked.since is not None and (event.time is None or event.time < asked.since):
            continue
        if asked.until is not None and (event.time is None or event.time >= asked.until):
            continue
        yield event


def _is_asked(event: ToolCalled, asked: Filter) -> bool:
    if asked.tool is not None and event.call.native.name != asked.tool:
        return False
    return asked.operation is None or any(one.__struct_config__.tag == asked.operation for one in event.call.operations)


def moment_asked(text: str, *, now: datetime.datetime | None = None) -> datetime.datetime:
    """`--since` and `--until`: an ISO date or time, of this machine where it names no zone; or `2d`, `3h`, `1w` ago."""
    ago = re.fullmatch(r"(\d+)\s*([smhdw])", text.strip())
    try:
        if ago is not None:
            unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[ago[2]]
            return (now or datetime.datetime.now(datetime.UTC)) - datetime.timedelta(**{unit: int(ago[1])})
        return datetime.datetime.fromisoformat(text.strip()).astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is before or after all days there are") from None
    except ValueError:
        raise ValueError(f"{text!r} is neither a date (2026-01-31, 2026-01-31T12:00) nor an age (2d, 3h, 1w)") from None
