"""`dragoman show`: one session as people read it."""

from __future__ import annotations

import sys
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.log_files import as_line, events_of, files_of, format_option, raw_lines, written
from dragoman.cli.terminal.console import Console, ExitCode, as_json as encoded, foreign, json_option
from dragoman.cli.terminal.visible import short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.model import AnyEvent, Session, Source, Step, ToolUse, Turn

_WIDE = 100
"""Columns of a terminal from which on two things stand side by side."""
_TOLD = ("id", "session", "client", "version", "source", "raw", "kind", "stream", "turn", "step", "time")


@click.command
@click.argument("wanted", metavar="PATH|ID")
@click.option("--steps", "form", flag_value="steps", help="One line for each step.")
@click.option("--tree", "form", flag_value="tree", help="Only who started whom, with what, and how it ended.")
@click.option("--full", is_flag=True, help="Texts, outputs and diffs whole, however long.")
@click.option("--raw", is_flag=True, help="Show each record's events beside the bytes they were read from.")
@format_option
@json_option
@click.pass_obj
def command(
    console: Console, *, wanted: str, form: str | None, full: bool, raw: bool, format: str | None, as_json: bool
) -> ExitCode:
    """Show a session: what was said, thought and done, turn by turn, with diffs and its sub-agents.

    PATH is a log file, a folder, or - for what is piped in; ID is the beginning of a session's id. With --raw, record
    by record: what was understood, and the original, byte for byte, beside it on a wide terminal, else below it. Bytes
    that are no text are written \\xNN there; `dragoman events --raw` gives them exactly.
    """
    from dragoman.logs import sessions_of

    events = events_of(console, files_of(console, (wanted,), format), printed=raw)
    if raw:
        return _show_raw(console, events, as_json=as_json)
    found = sessions_of(events)
    if as_json:
        console.json(found)
        return ExitCode.OK if found else ExitCode.NO
    for session in found:
        if form == "steps":
            _show_steps(console, session, "")
        elif form == "tree":
            _show_tree(console, session, "")
        else:
            _Transcript(console, full=full).show(session, "")
    return ExitCode.OK if found else ExitCode.NO


def _head(console: Console, session: Session, indent: str) -> None:
    facts = [session.client, session.version, session.cwd, ", ".join(session.models)]
    spawned = f" (spawned by {session.parent_call})" if session.parent_call else ""
    console.line(f"{indent}session {session.id} {session.stream}{spawned}", "strong")
    console.line(f"{indent}  {' · '.join(fact for fact in facts if fact)}", "quiet")


def _opening(turn: Turn) -> str:
    opened = turn.opened_by
    for name in ("text", "name", "summary"):
        said = getattr(opened, name, None)
        if said:
            return str(said)
    return ""


def _show_steps(console: Console, session: Session, indent: str) -> None:
    """A line for each step: what it said in short, what it called, what it cost."""
    _head(console, session, indent)
    for turn in session.turns:
        console.line(f"{indent}{turn.index:>3}      {short(_opening(turn), 100)}", "strong")
        for step in turn.steps:
            said = " ".join(one.text for one in step.said)
            calls = ", ".join(use.called.call.native.name + ("" if _is_well(use) else " ✗") for use in step.tools)
            tokens = "" if step.usage.total is None else f"  {step.usage.total} tokens"
            told = "  ".join(part for part in (short(said, 80), f"→ {calls}" if calls else "") if part)
            console.line(f"{indent}{turn.index:>3}.{step.index:<4} {told}{tokens}")
    for child in session.children:
        _show_steps(console, child, indent + "    ")


def _show_tree(console: Console, session: Session, indent: str) -> None:
    """Who started whom."""
    steps = [step for turn in session.turns for step in turn.steps]
    calls = [use for step in steps for use in step.tools]
    failed = sum(not _is_well(use) for use in calls)
    name = session.id if session.stream == "main" else session.stream
    began = "" if session.parent_call is None else f"  by call {session.parent_call}"
    facts = f"{len(session.turns)} turns, {len(steps)} steps, {len(calls)} calls ({failed} failed)"
    console.line(f"{indent}{name}{began}  {facts}  {short(session.title or '', 80)}".rstrip())
    for child in session.children:
        _show_tree(console, child, f"{indent}  └ " if not indent else f"  {indent}")


def _is_well(use: ToolUse) -> bool:
    from dragoman.logs.history import failure_of

    return use.returned is not None and not any(failure_of(one) for one in use.returned.result.outcomes)


_MOST_LINES = 12
"""Lines of one output, text or diff, unless all is wanted."""


class _Transcript:
    """A session as people read it."""

    def __init__(self, console: Console, *, full: bool) -> None:
        self._console, self._most = console, None if full else _MOST_LINES

    def show(self, session: Session, indent: str) -> None:
        _head(self._console, session, indent)
        for turn in session.turns:
            said = _opening(turn)
            self._console.line(f"{indent}── turn {turn.index} ── {short(said, 200)}", "strong")
            for step in turn.steps:
                self._step(step, indent + "  ")
        if session.usage.total is not None:
            self._console.line(f"{indent}  {session.usage.total} tokens", "quiet")
        for child in session.children:
            self.show(child, indent + "    ")

    def _step(self, step: Step, indent: str) -> None:
        for thought in step.thought:
            if thought.text:
                self._console.line(f"{indent}thinks  {short(thought.text, 160)}", "quiet")
        for said in step.said:
            self._lines(said.text, indent)
        for use in step.tools:
            self._tool(use, indent)

    def _tool(self, use: ToolUse, indent: str) -> None:
        call = use.called.call
        means = ", ".join(meaning(operation) for operation in call.operations) or "?"
        self._console.line(f"{indent}→ {call.native.name}  {means}")
        if use.returned is None:
            self._console.line(f"{indent}  no result", "warning")
            return
        for outcome in use.returned.result.outcomes:
            self._outcome(outcome, indent + "  ", bad=not _is_well(use))

    def _outcome(self, outcome: object, indent: str, *, bad: bool) -> None:
        style = "bad" if bad else "quiet"
        changes = getattr(outcome, "changes", None)
        if changes is None:
            self._console.line(f"{indent}{outcome_line(outcome)}", style)
            return
        for change in changes:
            moved = f" → {change.moved_to}" if change.moved_to else ""
            self._console.line(f"{indent}{change.kind} {change.path}{moved}", style)
            for line in self._cut((change.diff or "").removesuffix("\n").split("\n") if change.diff else []):
                mark = {"+": "good", "-": "bad"}.get(line[:1], "quiet")
                self._console.line(f"{indent}  {line}", mark)

    def _lines(self, text: str, indent: str) -> None:
        for line in self._cut(text.splitlines()):
            self._console.line(f"{indent}{line}")

    def _cut(self, lines: list[str]) -> list[str]:
        if self._most is None or len(lines) <= self._most:
            return lines
        return [*lines[: self._most], f"… {len(lines) - self._most} more lines (--full shows them)"]


def meaning(operation: object) -> str:
    name = type(operation).__name__
    about = getattr(operation, "path", None) or getattr(operation, "command", None) or getattr(operation, "query", None)
    return name if about is None else f"{name} {short(str(about), 120)}"


def outcome_line(outcome: object) -> str:
    name = type(outcome).__name__
    if name == "Failure":
        return f"{getattr(outcome, 'kind', '')}: {short(str(getattr(outcome, 'message', '')), 160)}"
    code = getattr(outcome, "exit_code", None)
    text = getattr(outcome, "output", None) or getattr(outcome, "stdout", None) or getattr(outcome, "text", None) or ""
    shown = name if code is None else f"exit {code}"
    return f"{shown}  {short(str(text), 120)}".rstrip()


# ── beside the original ──────────────────────────────────────────────────────


def _show_raw(console: Console, events: Iterable[AnyEvent], *, as_json: bool) -> ExitCode:
    from dragoman.logs import Originals

    shown, width = ExitCode.NO, _width()
    seen: set[Source | None] = {None}
    with Originals() as originals:
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
