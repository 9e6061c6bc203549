"""Recorded sessions as tools for a model: list, search, read in parts, analyse.

Rules: answers are small; what was cut says so and how to get the rest. A list goes on from a cursor, which names the
last thing given and not a number of things: sessions that are added meanwhile shift nothing.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final

import msgspec

from dragoman.errors import LogError, ToolError
from dragoman.model import Kind, events as ev
from dragoman.tools import Context, Tool, Toolset

from .analyse import analyse_session
from .filter import Filter, chosen_events, moment_asked
from .indexed_file import name_of
from .query import Query
from .rows import SessionRow, TurnRow
from .search import Match, Pattern, candidates, grep
from .sessions import key_of
from .tables import as_json, failure_of, tag_of, text_of
from .whole_sessions import key

FRESH: Final = 2.0
"""Seconds for which what was looked up is taken to be so still."""
_SNIPPET: Final = 300


def history_toolset(query: Query | None = None) -> Toolset:
    """Tools that look into recorded sessions: those of a query, else all of this machine. They change nothing."""
    history = _History(query)
    tools = (
        history.list_sessions,
        history.get_session,
        history.get_project_info,
        history.search_events,
        history.list_turns,
        history.get_turns,
        history.analyse_session,
    )
    return Toolset([Tool.from_function(one, kind=_kind(one), repeatable=True, sequential=True) for one in tools])


def _kind(function: Callable[..., Any]) -> Kind:
    return Kind.SEARCH if function.__name__ == "search_events" else Kind.READ


Cursor = Annotated[str | None, msgspec.Meta(description="`cursor` of the answer before, to go on from there.")]
SessionId = Annotated[str, msgspec.Meta(description="The session's id, or how it begins; a sub-agent's own id.")]
Page = Annotated[int, msgspec.Meta(ge=1, le=50, description="How many at most.")]


class _History:
    """The tools. They may be called from any thread, one at a time."""

    def __init__(self, query: Query | None) -> None:
        self._given = query
        self._query: Query | None = None
        self._looked = float("-inf")
        self._lock = threading.RLock()

    def _fresh(self) -> Query:
        """What is asked, brought up to the logs unless that was just done."""
        query = self._query
        if query is None:
            query = self._query = self._given if self._given is not None else Query()
        if time.monotonic() - self._looked > FRESH:
            query.refresh()
            self._looked = time.monotonic()
        return query

    # ── tools ──────────────────────────────────────────────────────────────

    def list_sessions(
        self,
        client: Annotated[str | None, msgspec.Meta(description="Only this client: claude_code, codex, …")] = None,
        project: Annotated[str | None, msgspec.Meta(description="Only this project: a folder, or its name.")] = None,
        since: Annotated[str | None, msgspec.Meta(description="Only newer ones: an ISO date, or 2d, 3h, 1w.")] = None,
        until: Annotated[str | None, msgspec.Meta(description="Only older ones: an ISO date, or 2d, 3h, 1w.")] = None,
        model: Annotated[str | None, msgspec.Meta(description="Only with this model, or how its name begins.")] = None,
        limit: Page = 10,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """List recorded sessions of coding agents, newest first: id, client, project, when, title, counts.

        Start here. `search_events` finds sessions by what was said in them; `list_turns` goes into one.
        """
        asked = _filter(client=client, project=project, since=since, until=until, model=model)
        after = _read_cursor(cursor, "list_sessions", asked)
        with self._lock, _Told():
            rows = [row for row in self._fresh().sessions(asked) if after is None or _place(row) < tuple(after)]
        page = rows[:limit]
        more = len(rows) > limit
        return {
            "sessions": [_session_line(row) for row in page],
            "cursor": _cursor("list_sessions", asked, _place(page[-1])) if more else None,
        }

    def get_session(self, session: SessionId) -> dict[str, Any]:
        """Facts of one session: client, version, project, branch, models, times, counts, tokens, its sub-agents.

        `list_turns` lists what was said in it, `analyse_session` says what went wrong.
        """
        with self._lock, _Told():
            query = self._fresh()
            row = query.find(session)
            below = [
                one
                for one in query.sessions(with_agents=True)
                if one.parent_session == row.session and key(one) != key(row)
            ]
        facts = _session_line(row)
        names = ("version", "repository", "branch", "stream", "steps", "parent_session", "parent_call", "unreadable")
        facts |= {name: getattr(row, name) for name in names}
        tokens = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens")
        facts |= {name: getattr(row, name) for name in tokens}
        facts["sub_agents"] = [{**_session_line(one), "stream": one.stream} for one in below[:50]]
        return facts

    def get_project_info(
        self,
        project: Annotated[str | None, msgspec.Meta(description="A folder or its name; else the newest ones.")] = None,
        limit: Page = 10,
    ) -> dict[str, Any]:
        """Projects that were worked in, newest first: folder, clients, how many sessions, calls and tokens.

        All worktrees of one repository are one project.
        """
        with self._lock, _Told():
            projects = self._fresh().projects(Filter(project=project))
        return {
            "projects": [msgspec.to_builtins(one) for one in projects[:limit]],
            "left_out": max(0, len(projects) - limit),
        }

    def search_events(
        self,
        text: Annotated[str, msgspec.Meta(min_length=1, description="What to look for, as it stands in the logs.")],
        *,
        regex: Annotated[
            bool, msgspec.Meta(description="Read `text` as a regular expression (Python syntax).")
        ] = False,
        ignore_case: Annotated[bool, msgspec.Meta(description="Letters match in either case.")] = False,
        session: Annotated[str | None, msgspec.Meta(description="Only this session, or ids that begin so.")] = None,
        client: Annotated[str | None, msgspec.Meta(description="Only this client: claude_code, codex, …")] = None,
        project: Annotated[str | None, msgspec.Meta(description="Only this project: a folder, or its name.")] = None,
        tool: Annotated[str | None, msgspec.Meta(description="Only calls of this tool and their results.")] = None,
        operation: Annotated[str | None, msgspec.Meta(description="Only calls that mean this: run_command, …")] = None,
        kind: Annotated[str | None, msgspec.Meta(description="Only events of this kind: user_said, …")] = None,
        limit: Page = 20,
        cursor: Cursor = None,
        context: Context,
    ) -> dict[str, Any]:
        """Search what was said, thought, called and given back; the newest session first.

        Each match has its coordinates (session, stream, turn, step, call_id) and a snippet. `get_turns` has the rest.
        """
        asked = _filter(session=session, client=client, project=project, tool=tool, operation=operation, kind=kind)
        facts = {"text": text, "regex": regex, "ignore_case": ignore_case}
        after = _read_cursor(cursor, "search_events", asked, facts)
        pattern = Pattern(text, regex=regex, ignore_case=ignore_case)
        matches: list[tuple[tuple[Any, ...], Match]] = []
        with self._lock, _Told():
            for place, match in self._matches(pattern, asked, after, context):
                matches.append((place, match))
                if len(matches) > limit:
                    break
        page = matches[:limit]
        more = len(matches) > limit
        return {
            "matches": [_match_line(match) for _, match in page],
            "cursor": _cursor("search_events", asked, page[-1][0], facts) if more else None,
        }

    def _matches(
        self, pattern: Pattern, asked: Filter, after: list[Any] | None, context: Context
    ) -> Iterable[tuple[tuple[Any, ...], Match]]:
        """Matches with their places: that of the file (of its newest session), then the number within the file."""
        query = self._fresh()
        keys = {key(row) for family in query.families(asked) for row in family}
        begun = {key(row): _place(row) for row in query.sessions(with_agents=True) if key(row) in keys}
        places: dict[str, tuple[str, str, str]] = {}
        for file, session, stream, *_ in query.index.rows("sessions"):  # one may stand in several files
            place = begun.get((session, stream))
            if place is not None:
                places[file] = max(places.get(file, place), place)
        by_path = {name_of(one.path): one for one in query.files()}
        ordered = [(*places[name], name) for name in by_path if name in places]
        rest = sorted((one for one in ordered if after is None or one <= tuple(after[:-1])), reverse=True)
        for one in candidates((by_path[place[-1]] for place in rest), pattern):
            found_at = (*places[name_of(one.path)], name_of(one.path))
            chosen = _chooser(asked, keys, context)
            for number, match in enumerate(grep([one], pattern, chosen=chosen)):
                if after is None or found_at < tuple(after[:-1]) or number > after[-1]:
                    yield (*found_at, number), match

    def list_turns(
        self,
        session: SessionId,
        limit: Annotated[int, msgspec.Meta(ge=1, le=100, description="How many at most.")] = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """List the turns of a session: what was said to begin each, how many steps, calls and failures, tokens.

        `get_turns` has what was done in them, by these indices.
        """
        with self._lock, _Told():
            query = self._fresh()
            row = query.find(session)
            asked = Filter(session=row.session)
            after = _read_cursor(cursor, "list_turns", asked, {"stream": row.stream})
            rows = [one for one in query.rows(TurnRow) if key(one) == key(row)]
        rest = [one for one in rows if after is None or one.turn > after[0]]
        page = rest[:limit]
        more = len(rest) > limit
        return {
            "session": row.session,
            "stream": row.stream,
            "turns_in_all": len(rows),
            "turns": [_turn_line(one) for one in page],
            "cursor": _cursor("list_turns", asked, (page[-1].turn,), {"stream": row.stream}) if more else None,
        }

    def get_turns(
        self,
        session: SessionId,
        turns: Annotated[list[int], msgspec.Meta(min_length=1, max_length=20, description="Indices, from 0.")],
        first_step: Annotated[int, msgspec.Meta(ge=0, description="Begin at this step of each turn.")] = 0,
        max_steps: Annotated[int, msgspec.Meta(ge=1, le=100, description="Steps of each turn, at most.")] = 30,
        max_chars: Annotated[int, msgspec.Meta(ge=100, le=20_000, description="Characters of each text.")] = 3_000,
    ) -> dict[str, Any]:
        """Read turns of a session: what was said and thought, each call with its arguments, and what it gave.

        Long texts are cut and marked `[… N more characters]`; `steps_left` says how many steps were left out:
        `first_step` goes on from there.
        """
        with self._lock, _Told():
            whole = self._fresh().session(session)
        wrong = [index for index in turns if not 0 <= index < len(whole.turns)]
        if wrong:
            raise ToolError(
                f"there is no turn {wrong[0]} in session {whole.id}: it has {len(whole.turns)}, counted from 0",
                kind="invalid_arguments",
            )
        cut = _Cut(max_chars)
        listed = [_whole_turn(whole.turns[index], cut, first_step, max_steps) for index in dict.fromkeys(turns)]
        return {"session": whole.id, "stream": whole.stream, "turns": listed}

    def analyse_session(self, session: SessionId) -> dict[str, Any]:
        """Find what went wrong or took long in a session: failures, loops, slow calls, use of the context window.

        Each finding has coordinates and says what to do about it.
        """
        with self._lock, _Told():
            analysis: dict[str, Any] = msgspec.to_builtins(analyse_session(self._fresh(), session))
        findings = analysis["findings"]
        analysis["findings"] = [{**one, "spots": one["spots"][:3]} for one in findings[:_FINDINGS]]
        analysis["findings_left_out"] = max(0, len(findings) - _FINDINGS)
        return analysis


_FINDINGS: Final = 25


class _Told:
    """What a log or an id is wrong about, the model is told."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, LogError):
            raise ToolError(str(error)) from error


def _filter(*, since: str | None = None, until: str | None = None, **facts: str | None) -> Filter:
    try:
        moments = {
            name: None if text is None else moment_asked(text) for name, text in (("since", since), ("until", until))
        }
    except ValueError as error:
        raise ToolError(str(error), kind="invalid_arguments") from error
    return Filter(**facts, **moments)  # type: ignore[arg-type]


# ── cursors ──────────────────────────────────────────────────────────────────


def _place(row: SessionRow) -> tuple[str, str, str]:
    """What sessions are ordered by, newest first."""
    started = row.started or datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return started.isoformat(), row.session, row.stream


def _asked_for(tool: str, asked: Filter, facts: dict[str, Any]) -> str:
    """A name for what was asked: a cursor goes on with that question only. An age (2d) is another time each time."""
    same = msgspec.structs.replace(asked, since=None, until=None)
    encoded = msgspec.json.encode((tool, same, facts), order="sorted")
    return hashlib.blake2b(encoded, digest_size=6).hexdigest()


def _cursor(tool: str, asked: Filter, place: tuple[Any, ...], facts: dict[str, Any] | None = None) -> str:
    content = as_json([_asked_for(tool, asked, facts or {}), *place]).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


_SHAPES: Final[dict[str, Any]] = {
    "list_sessions": tuple[str, str, str, str],
    "search_events": tuple[str, str, str, str, str, int],
    "list_turns": tuple[str, int],
}


def _read_cursor(text: str | None, tool: str, asked: Filter, facts: dict[str, Any] | None = None) -> list[Any] | None:
    if text is None:
        return None
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        values: list[Any] = list(msgspec.json.decode(content, type=_SHAPES[tool]))
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise ToolError(
            f"{text!r} is no cursor of {tool}: give the one of its last answer as it is, or none to begin anew",
            kind="invalid_arguments",
        ) from error
    if values[0] != _asked_for(tool, asked, facts or {}):
        raise ToolError(
            f"this cursor of {tool} is of another question: ask the same again to go on, or leave the cursor out",
            kind="invalid_arguments",
        )
    return values[1:]


# ── what is told ─────────────────────────────────────────────────────────────


def _chooser(
    asked: Filter, keys: set[tuple[str, str]], context: Context
) -> Callable[[Iterable[ev.AnyEvent]], Iterable[ev.AnyEvent]]:
    """What picks from a file's events, until the call is cancelled: nothing else could stop a search in its thread."""

    def chosen(events: Iterable[ev.AnyEvent]) -> Iterable[ev.AnyEvent]:
        for event in chosen_events(events, asked):
            context.cancellation.raise_if_cancelled()
            if key_of(event) in keys:
                yield event

    return chosen


def _session_line(row: SessionRow) -> dict[str, Any]:
    return {
        "session": row.session,
        "client": row.client,
        "project": row.project,
        "started": None if row.started is None else row.started.isoformat(),
        "ended": None if row.ended is None else row.ended.isoformat(),
        "title": row.title,
        "models": row.models,
        "turns": row.turns,
        "calls": row.calls,
        "failures": row.failures,
        "tokens": row.tokens,
        **_doubt(row),
        "agents": row.agents,
    }


def _doubt(row: SessionRow | TurnRow) -> dict[str, int]:
    """How many exchanges have an output that is too low, where there are any."""
    return {"doubtful": row.doubtful} if row.doubtful else {}


def _turn_line(row: TurnRow) -> dict[str, Any]:
    text = row.text or ""
    return {
        "turn": row.turn,
        "opened_by": row.opened_by,
        "said_by": row.said_by,
        "text": text if len(text) <= _SNIPPET else text[:_SNIPPET] + f"[… {(row.text_length or 0) - _SNIPPET} more]",
        "started": None if row.started is None else row.started.isoformat(),
        "steps": row.steps,
        "calls": row.calls,
        "failures": row.failures,
        "tokens": row.tokens,
        **_doubt(row),
    }


def _match_line(match: Match) -> dict[str, Any]:
    event = match.event
    begin, _ = match.spans[0]
    start = max(0, begin - _SNIPPET // 3)
    snippet = match.text[start : start + _SNIPPET]
    line: dict[str, Any] = {
        "session": event.session,
        "stream": event.stream,
        "turn": event.turn,
        "step": event.step,
        "kind": str(type(event).__struct_config__.tag),
        "event": event.id,
        "time": None if event.time is None else event.time.isoformat(),
        "client": event.client,
        "snippet": ("…" if start else "") + snippet + ("…" if start + _SNIPPET < len(match.text) else ""),
        "matches": len(match.spans),
    }
    if isinstance(event, ev.ToolCalled):
        line |= {"call_id": event.call.id, "tool": event.call.native.name}
    elif isinstance(event, ev.ToolReturned):
        line |= {"call_id": event.result.call_id}
    return line


class _Cut:
    """Cuts texts, and says by how much."""

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def __call__(self, text: str) -> str:
        more = len(text) - self._longest
        return text if more <= 0 else f"{text[: self._longest]}[… {more} more characters]"


def _whole_turn(turn: ev.Turn, cut: _Cut, first: int, most: int) -> dict[str, Any]:
    steps = turn.steps[first : first + most]
    return {
        "turn": turn.index,
        "opened_by": None if turn.opened_by is None else str(type(turn.opened_by).__struct_config__.tag),
        "text": cut(_opening(turn)),
        "steps": [_whole_step(step, cut) for step in steps],
        "steps_in_all": len(turn.steps),
        "steps_left": max(0, len(turn.steps) - first - len(steps)),
    }


def _opening(turn: ev.Turn) -> str:
    match turn.opened_by:
        case ev.UserSaid(text=text):
            return text
        case ev.CommandInvoked(name=name, arguments=arguments):
            return f"{name} {arguments or ''}".strip()
        case ev.ContextCompacted(summary=summary):
            return summary or turn.opened_by.description
    return ""


def _whole_step(step: ev.Step, cut: _Cut) -> dict[str, Any]:
    row: dict[str, Any] = {"step": step.index}
    thought, text = "\n".join(one.text for one in step.thought), "\n".join(one.text for one in step.said)
    if thought:
        row["thought"] = cut(thought)
    if text:
        row["said"] = cut(text)
    if step.tools:
        row["calls"] = [_whole_call(use, cut) for use in step.tools]
    if step.usage.total is not None:
        row["tokens"] = step.usage.total
    if step.usage.doubtful:
        row["doubtful"] = list(step.usage.doubtful)
    return row


def _whole_call(use: ev.ToolUse, cut: _Cut) -> dict[str, Any]:
    call = use.called.call
    arguments = call.native.arguments
    row: dict[str, Any] = {
        "call_id": call.id,
        "tool": call.native.name,
        "operations": [tag_of(one) for one in call.operations],
        "arguments": cut(arguments if isinstance(arguments, str) else as_json(arguments)),
    }
    if use.returned is None:
        return {**row, "status": "waiting"}
    outcomes, native = use.returned.result.outcomes, use.returned.result.native
    failure = next((kind for one in outcomes if (kind := failure_of(one, native)) is not None), None)
    row["status"] = "done" if failure is None else "failed"
    if failure is not None:
        row["failure"] = failure
    row["result"] = cut("\n".join(text_of(one) for one in outcomes))
    return row
