"""What a person is told of a call and of what it gave: a line for the one, a few for the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from dragoman.model import Call, operations as op, outcomes as out
from dragoman.tools.workspace import marked_lines

from .visible import short

Line = tuple[str, str | None]
"""A text and the style it is written in."""

MOST_LINES = 40
"""Of a diff or an output, a person is shown so many lines; the record has them all."""


def said_of(call: Call) -> str:
    """A call on one line: what it does, or the model's own words when they mean nothing."""
    if not call.operations:
        said = call.native.arguments
        return f"{call.native.name} {said if isinstance(said, str) else _json(said)}"
    first, *more = (said_of_operation(operation) for operation in call.operations)
    return f"{first} (and {len(more)} more)" if more else first


def said_of_operation(operation: op.Operation) -> str:
    """An operation in a few words."""
    match operation:
        case op.ReadFile(path=path, first_line=first, last_line=last):
            lines = f" (lines {first or 1}–{last or 'end'})" if first or last else ""
            return f"read {path}{lines}"
        case op.AskUser(questions=questions):
            return "ask: " + "; ".join(_question(question) for question in questions)
        case op.CallFunction(name=name, arguments=arguments) | op.Unrecognised(name=name, arguments=arguments):
            return f"{name} {arguments if isinstance(arguments, str) else _json(arguments)}"
        case op.CallMcpTool(server=server, tool=tool, arguments=arguments):
            return f"{tool}{f' of {server}' if server else ''} {_json(arguments)}"
    if operation.in_short:
        return operation.in_short.format_map(msgspec.structs.asdict(operation))
    fields = msgspec.to_builtins(operation)
    tag = str(fields.pop("type")).replace("_", " ")
    said = [str(value) for value in fields.values() if isinstance(value, str | int) and not isinstance(value, bool)]
    return " ".join([tag, *said[:2]])


def _question(question: op.Question) -> str:
    labels = ", ".join(option.label for option in question.options)
    return f"{question.text}{f' ({labels})' if labels else ''}"


def told_of(
    outcomes: Sequence[out.Outcome],
    seconds: float | None,
    *,
    output: bool,
    diffs: bool,
    most: int | None = MOST_LINES,
) -> Iterator[Line]:
    """What a call gave. `output` and `diffs` are left out where they were shown already; `most` lines of each."""
    for outcome in outcomes:
        yield from _told(outcome, seconds, output=output, diffs=diffs, most=most)


def told_in_short(outcome: out.Outcome) -> str:
    """What an operation gave, on one line."""
    told, _ = next(_told(outcome, None, output=False, diffs=False, most=0), ("done", None))
    written = (outcome.output or outcome.stdout or "").strip() if isinstance(outcome, out.CommandOutcome) else ""
    return f"{told}  {short(written, 120)}" if written else short(told, 160)


def _told(
    outcome: out.Outcome, seconds: float | None, *, output: bool, diffs: bool, most: int | None
) -> Iterator[Line]:
    match outcome:
        case out.Failure(kind="denied", details={"reason": str(reason)}):
            yield f"refused: {reason}", "bad"
        case out.Failure(kind="denied", details={"rule": str(rule)}):
            yield f"refused: {rule}", "bad"
        case out.Failure(kind=kind, message=message):
            yield f"{kind.replace('_', ' ')}: {message}", "bad"
        case out.UnknownOutcome(reason=reason):
            yield f"unknown: {reason}", "bad"
        case out.ChangesOutcome(changes=changes):
            for change in changes:
                yield from _change(change, diffs=diffs, most=most)
        case out.CommandOutcome():
            if output:
                written = outcome.output or f"{outcome.stdout or ''}{outcome.stderr or ''}"
                yield from cut([as_printed(line) for line in written.split("\n") if line], most)
            yield _ended(outcome, seconds)
        case out.AnswersOutcome(answers=answers):
            for answer in answers:
                yield f"answer: {answer.text or ', '.join(answer.choices)}", "quiet"
        case out.PlanOutcome(items=items):
            for item in items:
                yield f"{_MARKS.get(item.status, '[ ]')} {item.text}", "quiet" if item.status == "completed" else None
        case _:
            yield _in_short(outcome), "quiet"


_MARKS = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]", "blocked": "[!]"}


def diff_lines(diff: str, most: int | None = MOST_LINES) -> Iterator[Line]:
    """A unified diff, each line in its colour; the two lines that name the files are left out."""
    lines = [(mark, line) for mark, line in marked_lines(diff) if mark != "names"]
    styles = {"+": "good", "-": "bad", "@": "quiet", "\\": "quiet"}
    # Cutting keeps the places of lines, so each line still has its own mark.
    for number, (line, _) in zip(_kept(len(lines), most), cut([line for _, line in lines], most), strict=True):
        yield line, "quiet" if number is None else styles.get(lines[number][0])


def _change(change: out.Change, *, diffs: bool, most: int | None) -> Iterator[Line]:
    moved = f" to {change.moved_to}" if change.moved_to else ""
    counts = f" (+{change.added or 0} -{change.removed or 0})" if change.added is not None else ""
    yield f"{change.kind} {change.path}{moved}{counts}", "quiet"
    if diffs and change.diff:
        yield from diff_lines(change.diff, most)


def _ended(outcome: out.CommandOutcome, seconds: float | None) -> Line:
    took = f" after {seconds:.1f} s" if seconds is not None and seconds >= 0.1 else ""
    if outcome.timed_out:
        return f"timed out{took}", "bad"
    if outcome.running:
        return f"left running as {outcome.job}", "quiet"
    if outcome.signal is not None:
        return f"ended by signal {outcome.signal}{took}", "bad"
    if outcome.exit_code is None:
        return f"ended{took}; its exit code is not known", "quiet"
    return f"exit code {outcome.exit_code}{took}", "bad" if outcome.exit_code else "quiet"


_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[mK]")


def as_printed(line: str) -> str:
    """A line a program wrote, as a terminal would leave it: without colours, and what was overwritten left out."""
    return _COLOUR.sub("", line).rstrip().rpartition("\r")[2]


def cut(lines: Sequence[str], most: int | None = MOST_LINES) -> Iterator[Line]:
    """Lines, without the middle of very many; `None`: all of them."""
    for number in _kept(len(lines), most):
        if number is None:
            yield f"… {len(lines) - (most or 0)} more lines …", "quiet"
        else:
            yield lines[number], None


def _kept(count: int, most: int | None) -> Iterator[int | None]:
    """The places of the lines that are shown of so many; `None` where the rest is left out."""
    if most is None or count <= most:
        yield from range(count)
        return
    head = most * 3 // 4
    yield from range(head)
    yield None
    yield from range(count - (most - head), count)


def _in_short(outcome: out.Outcome) -> str:
    match outcome:
        case out.FileOutcome(text=text, truncated=truncated):
            return count(text.count("\n") + bool(text and not text.endswith("\n")), "line") + (" (cut)" * truncated)
        case out.FilesOutcome(files=files):
            return count(len(files), "file")
        case out.DirectoryOutcome(entries=entries):
            return count(len(entries), "entry", "entries")
        case out.PathsOutcome(paths=paths):
            return count(len(paths), "file")
        case out.MatchesOutcome(matches=matches, total=total):
            return count(len(matches) if total is None else total, "match", "matches")
        case out.PagesOutcome(pages=pages):
            return ", ".join(page.title or page.url for page in pages) or "no pages"
        case out.ImageOutcome(image=image):
            return f"{image.media_type} {image.width or '?'}×{image.height or '?'}"
        case out.TextOutcome(text=text):
            return text.strip().partition("\n")[0]
        case out.JsonOutcome(value=value):
            return _json(value)
        case out.DoneOutcome(note=note):
            return note or "done"
        case out.AgentsOutcome(agents=agents):
            return "; ".join(_agent(report) for report in agents) or "no agents"
        case out.ContentOutcome(content=content):
            texts = [piece.strip().partition("\n")[0] for piece in content if isinstance(piece, str)]
            media = [piece.media_type for piece in content if isinstance(piece, out.Media)]
            return ", ".join([*texts, *media]) or "no content"
        case out.NotebookOutcome(cells=cells):
            return count(len(cells), "cell")
        case out.JobsOutcome(jobs=jobs):
            return "; ".join(f"{job.job} {job.command or ''}".rstrip() for job in jobs) or "no commands"
        case out.ResourcesOutcome(resources=resources):
            return ", ".join(resource.uri for resource in resources) or "no resources"
        case out.ToolsOutcome(names=names):
            return ", ".join(names) or "no tools"
    return _json(outcome)


def _agent(report: out.AgentReport) -> str:
    name = report.agent or report.id or ""
    said = (report.text or "").strip().partition("\n")[0]
    return f"{name} {report.status}".strip() + (f": {said}" if said else "")


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things: `1 line`, `2 lines`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
