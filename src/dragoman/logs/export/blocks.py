"""The pieces that a transcript is made of, and what people see of each kind of outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from dragoman.logs.history.tables import tag_of, text_of
from dragoman.model import operations as op, outcomes as out


class Block(msgspec.Struct, frozen=True):
    """A piece of text and what it is: `markdown` is what people and models say, `words` is a line of ours."""

    kind: Literal["words", "markdown", "code", "diff", "raw", "image"]
    text: str
    label: str | None = None
    path: str | None = None
    """The file that code is from, where that is known."""
    media: out.Media | None = None
    """The picture that `text` describes."""


_ABOUT: Final = (
    *("pattern", "query", "path", "url", "description", "name", "tool", "job", "command", "prompt"),
    *("message", "text", "uri", "agent", "action", "code"),
)
"""What an operation is about, the first of these that it has."""
_WHOLE: Final = ("", ".", "./")
"""Folders that need not be named: all is looked through."""


def about(given: op.Operation | Mapping[str, Any], longest: int = 100) -> str:
    """What an operation is about, in a line; of the operation or of its fields."""
    fields = given if isinstance(given, Mapping) else msgspec.structs.asdict(given)
    name = next((name for name in _ABOUT if isinstance(fields.get(name), str) and fields[name]), None)
    said = _asked_of(fields) if name is None else fields[name]
    place = fields.get("path")
    if name == "pattern" and isinstance(place, str) and place not in _WHOLE:
        said = f"{said} in {place}"
    line = " ".join(said.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _asked_of(fields: Mapping[str, Any]) -> str:
    """The text of the first item of a plan, or of the first question."""
    found = fields.get("item") or next(iter(fields.get("questions") or ()), None)
    text = found.get("text") if isinstance(found, Mapping) else getattr(found, "text", None)
    return text if isinstance(text, str) else ""


def said_blocks(text: str) -> list[Block]:
    """What somebody said; nothing for nothing."""
    return [Block("markdown", text)] if text.strip() else []


def media_blocks(media: Iterable[out.Media]) -> Iterator[Block]:
    """Pictures and other files: what they are, and the content of those that have it."""
    for one in media:
        where = one.name or one.path or one.url or (f"{len(one.data)} characters of base64" if one.data else "")
        text = f"[{one.media_type} {where}]".replace(" ]", "]")
        yield Block("image", text, media=one) if one.data else Block("words", text)


def pretty(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def outcome_blocks(outcome: out.Outcome) -> Iterator[Block]:
    """What an outcome shows."""
    match outcome:
        case out.ChangesOutcome():
            yield from _changes(outcome)
        case out.ContentOutcome():
            for piece in outcome.content:
                yield from media_blocks((piece,)) if isinstance(piece, out.Media) else [Block("code", piece, "result")]
        case out.ImageOutcome():
            yield from media_blocks((outcome.image,))
        case out.Failure():
            yield Block("code", outcome.message, outcome.kind.replace("_", " "))
        case out.FileOutcome():
            yield from _file(outcome)
        case out.FilesOutcome():
            for file in outcome.files:
                yield from _file(file)
            yield from (Block("words", f"skipped {path}: {reason}") for path, reason in outcome.skipped.items())
        case out.AgentsOutcome():
            for agent in outcome.agents:
                name = agent.name or agent.agent or agent.id or "agent"
                yield Block("words", f"{name}: {agent.status}")
                yield from said_blocks(agent.text or "")
        case out.PagesOutcome():
            yield from _pages(outcome)
        case out.NotebookOutcome():
            for number, cell in enumerate(outcome.cells, 1):
                label = f"{outcome.path}, {cell.cell_type} cell {cell.id or number}"
                yield Block("markdown" if cell.cell_type == "markdown" else "code", cell.source, label)
                for piece in cell.outputs:
                    yield from (
                        media_blocks((piece,)) if isinstance(piece, out.Media) else [Block("code", piece, "output")]
                    )
        case _:
            yield from _text(outcome)


def _changes(outcome: out.ChangesOutcome) -> Iterator[Block]:
    for change in outcome.changes:
        if change.diff:
            yield Block("diff", change.diff.rstrip("\n"), change.path)
        else:
            moved = f" to {change.moved_to}" if change.moved_to else ""
            yield Block("words", f"{change.kind} {change.path}{moved}")


def _file(file: out.FileOutcome) -> Iterator[Block]:
    if not file.text.strip():
        return
    total = f" of {file.total_lines:,}" if file.total_lines is not None else ""
    lines = file.text.count("\n") + (not file.text.endswith("\n"))
    label = f"{file.path}, lines {file.first_line:,}–{file.first_line + lines - 1:,}{total}"
    yield Block("code", file.text.rstrip("\n"), label, file.path)


def _pages(outcome: out.PagesOutcome) -> Iterator[Block]:
    yield from said_blocks(outcome.answer or "")
    for page in outcome.pages:
        yield Block("words", f"{page.title} {page.url}" if page.title else page.url)
        text = page.text or page.snippet or ""
        if text.strip():
            yield Block("code", text.rstrip("\n"), "page" if page.text else "snippet")


def _text(outcome: out.Outcome) -> Iterator[Block]:
    told = _LISTED.get(type(outcome))
    text = text_of(outcome) if told is None else "\n".join(told(outcome))
    if isinstance(outcome, out.JsonOutcome):
        text = pretty(outcome.value)
    if not text.strip():
        return
    code = getattr(outcome, "exit_code", None)
    label = f"exit code {code}" if code is not None else tag_of(outcome).removesuffix("_outcome").replace("_", " ")
    yield Block("code", text.rstrip("\n"), label)


def _matches(outcome: out.MatchesOutcome) -> Iterator[str]:
    for match in outcome.matches:
        line = "" if match.line is None else f":{match.line}"
        text = f": {match.text}" if match.text is not None else f": {match.count}" if match.count is not None else ""
        yield f"{match.path}{line}{text}"


def _plan(outcome: out.PlanOutcome) -> Iterator[str]:
    marks = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]", "blocked": "[!]"}
    yield from (f"{marks.get(item.status, '[ ]')} {item.text}" for item in outcome.items)


def _answers(outcome: out.AnswersOutcome) -> Iterator[str]:
    for answer in outcome.answers:
        yield f"{answer.question}: {answer.text or ', '.join(answer.choices)}"


def _jobs(outcome: out.JobsOutcome) -> Iterator[str]:
    for job in outcome.jobs:
        state = "running" if job.running else "ended" if job.exit_code is None else f"exit code {job.exit_code}"
        yield f"{job.job}: {state}{f'  {job.command}' if job.command else ''}"


def _entries(outcome: out.DirectoryOutcome) -> Iterator[str]:
    yield from (f"{entry.path}/" if entry.kind == "directory" else entry.path for entry in outcome.entries)


def _resources(outcome: out.ResourcesOutcome) -> Iterator[str]:
    for resource in outcome.resources:
        yield " ".join(one for one in (resource.uri, resource.name, resource.text) if one)


_LISTED: Final[dict[type, Any]] = {
    out.PathsOutcome: lambda outcome: outcome.paths,
    out.MatchesOutcome: _matches,
    out.DirectoryOutcome: _entries,
    out.PlanOutcome: _plan,
    out.AnswersOutcome: _answers,
    out.JobsOutcome: _jobs,
    out.ResourcesOutcome: _resources,
    out.ToolsOutcome: lambda outcome: outcome.names,
}
"""Outcomes that are lists: the function that gives a line for each thing in them."""
