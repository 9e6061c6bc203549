"""`dragoman show`: one session as people read it."""

from __future__ import annotations

import sys
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any

import click

from dragoman import logs, model
from dragoman.cli.filter_options import complete_sessions, corpus_events, corpus_option
from dragoman.cli.log_files import as_line, events_of, files_of, format_option, raw_lines, written
from dragoman.cli.terminal.call_lines import Line, count, said_of_operation, told_of
from dragoman.cli.terminal.console import Console, ExitCode, as_json as encoded, foreign, json_option
from dragoman.cli.terminal.visible import short, wrapped
from dragoman.logs import history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dragoman.model import outcomes as out

_WIDE = 100
"""Columns of a terminal from which on two things stand side by side."""
_LEAST = 20
"""Columns a text has at least, however deep it stands."""
_TOLD = ("id", "session", "client", "version", "source", "raw", "kind", "stream", "turn", "step", "time")


@click.command
@click.argument("wanted", metavar="PATH|ID", shell_complete=complete_sessions)
@click.option("--steps", "form", flag_value="steps", help="One line for each step.")
@click.option(
    "--tree", "form", flag_value="tree", help="Show only which agent started which, with what task, and how it ended."
)
@click.option("--full", is_flag=True, help="Do not shorten texts, outputs and diffs.")
@click.option("--raw", is_flag=True, help="Show each record's events beside the bytes they were read from.")
@format_option
@corpus_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: str,
    form: str | None,
    full: bool,
    raw: bool,
    format: str | None,
    corpus: str | None,
    as_json: bool,
) -> ExitCode:
    """Show a session: what was said, thought and done, turn by turn, with diffs and its sub-agents.

    PATH is a log file, a folder, or - for what is piped in; ID is the beginning of a session's id. With --raw, record
    by record: what was understood, and the original, byte for byte, beside it on a wide terminal, else below it. Bytes
    that are no text are written \\xNN there; `dragoman events --raw` gives them exactly. With --corpus, the session is
    told from the tables of a corpus: long texts are cut, and there are no originals.
    """
    if corpus is not None:
        events = corpus_events(console, corpus, (wanted,), raw=raw, format=format)
    else:
        events = events_of(console, files_of(console, (wanted,), format), printed=raw)
    if raw:
        return _show_raw(console, events, as_json=as_json)
    exchanges: dict[tuple[str, str], list[model.TokensUsed]] = {}
    found = logs.sessions_of(_noting(events, exchanges))
    if as_json:
        console.json(found)
        return ExitCode.OK if found else ExitCode.NO
    for session in found:
        if form == "steps":
            _show_steps(console, session, "")
        elif form == "tree":
            _show_tree(console, session, "")
        else:
            _Transcript(console, exchanges, full=full).show(session, "")
    return ExitCode.OK if found else ExitCode.NO


def _noting(
    events: Iterable[model.AnyEvent], exchanges: dict[tuple[str, str], list[model.TokensUsed]]
) -> Iterator[model.AnyEvent]:
    """The same events; exchanges with a model are noted for each conversation."""
    for event in events:
        if isinstance(event, model.TokensUsed):
            exchanges.setdefault(logs.key_of(event), []).append(event)
        yield event


def _head(console: Console, session: model.Session, indent: str) -> None:
    facts = [session.client, session.version, session.cwd, ", ".join(session.models)]
    spawned = f"(spawned by {session.parent_call})" if session.parent_call else ""
    names = " ".join(filter(None, (f"session {session.id}", session.stream, spawned)))
    if len(names) <= _room(len(indent), len(names)):
        console.line(indent + names, "strong")
    else:  # no id is broken
        console.line(f"{indent}session {session.id}", "strong")
        for name in filter(None, (session.stream, spawned)):
            console.line(f"{indent}  {name}", "strong")
    told = " · ".join(fact for fact in facts if fact)
    console.line(f"{indent}  {short(told, _room(len(indent) + 2, len(told) or 1))}", "quiet")


def _opening(turn: model.Turn) -> str:
    opened = turn.opened_by
    for name in ("text", "name", "summary"):
        said = getattr(opened, name, None)
        if said:
            return str(said)
    return opened.description if isinstance(opened, model.ContextCompacted) else ""


def _show_steps(console: Console, session: model.Session, indent: str) -> None:
    """A line for each step: what it said in short, what it called, what it cost."""
    _head(console, session, indent)
    for turn in session.turns:
        head = f"{indent}{turn.index:>3}      "
        console.line(head + short(_opening(turn), _room(len(head), 100)), "strong")
        for step in turn.steps:
            said = " ".join(one.text for one in step.said)
            calls = ", ".join(use.called.call.native.name + ("" if _is_well(use) else " ✗") for use in step.tools)
            tokens = "" if step.usage.total is None else f"  {step.usage.total:,}{_doubt(step.usage)} tokens"
            told = "  ".join(part for part in (short(said, 80), f"→ {calls}" if calls else "") if part)
            head = f"{indent}{turn.index:>3}.{step.index:<4} "
            console.line(f"{head}{short(told, _room(len(head) + len(tokens), len(told) or 1))}{tokens}")
    for child in session.children:
        _show_steps(console, child, indent + "    ")


def _show_tree(console: Console, session: model.Session, indent: str) -> None:
    """Who started whom."""
    steps = [step for turn in session.turns for step in turn.steps]
    calls = [use for step in steps for use in step.tools]
    failed = sum(not _is_well(use) for use in calls)
    name = session.id if session.stream == "main" else session.stream
    began = "" if session.parent_call is None else f"  by call {session.parent_call}"
    counts = (count(len(session.turns), "turn"), count(len(steps), "step"), count(len(calls), "call"))
    facts = f"{', '.join(counts)} ({failed} failed)"
    head = f"{indent}{name}{began}  {facts}  "
    console.line((head + short(session.title or "", _room(len(head), 80))).rstrip())
    for child in session.children:
        _show_tree(console, child, f"{indent}  └ " if not indent else f"  {indent}")


def _is_well(use: model.ToolUse) -> bool:
    if use.returned is None:
        return False
    result = use.returned.result
    return not any(history.failure_of(one, result.native) for one in result.outcomes)


_MOST_LINES = 12
"""Lines of one output, text or diff, unless all is wanted."""


def _clock(turn: model.Turn) -> str:
    """When a turn began, in UTC."""
    time = None if turn.opened_by is None else turn.opened_by.time
    return "" if time is None else f"{time:%H:%M:%S}  "


class _Transcript:
    """A session as people read it: on a terminal, lines are broken at words."""

    def __init__(
        self, console: Console, exchanges: dict[tuple[str, str], list[model.TokensUsed]], *, full: bool
    ) -> None:
        from dragoman.logs.export import Spending

        self._console, self._full, self._width = console, full, _width()
        self._exchanges, self._spending = exchanges, Spending()

    def show(self, session: model.Session, indent: str) -> None:
        _head(self._console, session, indent)
        agents = list(session.children)
        for turn in session.turns:
            at = _clock(turn)
            head = f"{indent}── turn {turn.index} ── {at}"
            self._console.line(head + short(_opening(turn), _room(len(head), 200)), "strong")
            for step in turn.steps:
                self._step(step, agents, indent + "  ")
        spent = self._spent(session)
        if spent:
            self._console.line(f"{indent}  {spent}", "quiet")
        for child in agents:  # no call is known to have started them
            self.show(child, indent + "    ")

    def _spent(self, session: model.Session) -> str:
        """Tokens and cost of one conversation, without those of its agents."""
        from dragoman.logs.export import dollars

        if session.usage.total is None:
            return ""
        cost, unpriced = self._spending.total(self._exchanges.get((session.id, session.stream), ()))
        facts = [f"{session.usage.total:,}{_doubt(session.usage)} tokens"]
        facts += [] if cost is None else [f"{dollars(cost)}{_doubt(session.usage)}"]
        facts += [f"{count(unpriced, 'exchange')} of unknown price"] if unpriced else []
        return " · ".join(facts)

    def _step(self, step: model.Step, agents: list[model.Session], indent: str) -> None:
        for thought in step.thought:
            if thought.text:
                self._write(f"thinks  {thought.text if self._full else short(thought.text, 160)}", indent, "quiet")
        for said in step.said:
            for text, style in self._cut([(line, None) for line in said.text.splitlines()]):
                self._write(text, indent, style)
        for use in step.tools:
            self._tool(use, indent)
            for agent in [one for one in agents if one.parent_call == use.called.call.id]:
                agents.remove(agent)
                self.show(agent, indent + "    ")

    def _tool(self, use: model.ToolUse, indent: str) -> None:
        from dragoman.logs.export import call_seconds

        call = use.called.call
        means = ", ".join(said_of_operation(operation) for operation in call.operations)
        self._write(f"→ {call.native.name}  {means if self._full else short(means, 200)}".rstrip(), indent)
        if use.returned is None:
            self._console.line(f"{indent}  no result", "warning")
            return
        seconds = call_seconds(use.called, use.returned)
        for outcome in use.returned.result.outcomes:
            for text, style in self._cut(list(self._told(outcome, seconds))):
                self._write(text, indent + "  ", style)

    def _told(self, outcome: out.Outcome, seconds: float | None) -> Iterator[Line]:
        text = getattr(outcome, "text", None)
        if self._full and isinstance(text, str):
            return ((line, "quiet") for line in text.splitlines())
        return told_of((outcome,), seconds, output=True, diffs=True, most=None)

    def _cut(self, lines: list[Line]) -> list[Line]:
        """The first lines and the last one, which says how a command ended."""
        if self._full or len(lines) <= _MOST_LINES:
            return lines
        left = len(lines) - _MOST_LINES
        return [*lines[: _MOST_LINES - 1], (f"… {left} more lines (--full shows them)", "quiet"), lines[-1]]

    def _write(self, text: str, indent: str, style: str | None = None) -> None:
        if not self._width:
            for line in text.split("\n"):
                self._console.line(f"{indent}{line}".rstrip(), style)
            return
        for line in foreign(text).expandtabs(4).split("\n"):
            for piece in wrapped(line, max(_LEAST, self._width - len(indent)), words=True):
                self._console.line(f"{indent}{piece}".rstrip(), style)


# ── beside the original ──────────────────────────────────────────────────────


def _show_raw(console: Console, events: Iterable[model.AnyEvent], *, as_json: bool) -> ExitCode:
    shown, width = ExitCode.NO, _width()
    seen: set[model.Source | None] = {None}
    with logs.Originals() as originals:
        for source, together in groupby(events, key=lambda event: event.source):
            shown = ExitCode.OK
            lines = [as_line(event) for event in together]
            # Some events are known only when a later record came; their own is not shown once more.
            original = None if source is None or source in seen else originals.of(source)
            again = " (again)" if source in seen else ""
            seen.add(source)
            if as_json:
                console.json({"source": source, "events": lines, "raw": written(original)})
                continue
            if source is not None:
                place = source.row or f"{source.offset}+{source.length}"
                console.line(f"── {source.file} {place}{again}", "strong")
            _beside(console, [text for line in lines for text in _told(line)], raw_lines(original), width)
    return shown


def _room(used: int, otherwise: int) -> int:
    """The columns that are left on a line of the terminal; `otherwise` where the output is no terminal."""
    width = _width()
    return max(1, width - used) if width else otherwise


def _width() -> int:
    """The columns of the terminal; 0 where the output is none, and nothing is to be folded."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def _told(line: dict[str, Any]) -> list[str]:
    """An event in lines: what it is, then every fact."""
    at = "" if line.get("turn") is None else f" turn {line['turn']}"
    at += "" if line.get("step") is None else f" step {line['step']}"
    head = f"{line['kind']}  {line['stream']}{at} {line.get('time') or ''}".rstrip()
    facts = [(key, value) for key, value in line.items() if key not in _TOLD]
    return [head, *(f"  {key}: {value if isinstance(value, str) else encoded(value).decode()}" for key, value in facts)]


def _beside(console: Console, left: list[str], right: list[str], width: int) -> None:
    """Side by side where there is room for two, else one under the other."""
    if width < _WIDE:
        for text in left:
            console.line(text)
        for text in right:
            console.line(f"  | {text}", "quiet")
        return
    half = (width - 3) // 2
    rows = zip_longest(_folded(left, half), _folded(right, half), fillvalue="")
    for told, raw in rows:
        console.line(f"{_padded(told, half)} │ {raw}".rstrip())


def _folded(lines: list[str], width: int) -> list[str]:
    safe = (part for line in lines for part in foreign(line).expandtabs(4).split("\n"))
    return [piece for line in safe for piece in _pieces(line, width)]


def _pieces(line: str, width: int) -> list[str]:
    if line.isascii():  # nearly every line of a log is, and some are very long
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    from rich.cells import chop_cells

    return chop_cells(line, width) or [""]


def _padded(text: str, width: int) -> str:
    from rich.cells import cell_len

    return text + " " * (width - cell_len(text))


def _doubt(usage: model.Usage) -> str:
    """A mark for a count that the client logged before the reply was complete."""
    return "?" if usage.doubtful else ""
