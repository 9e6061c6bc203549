"""Outcomes in sentences, where a vocabulary has no words of its own for them.

Rules: the model reads what a person would want to read, never the JSON of our own types. Unknown outcomes,
changes, one fetched page and a plan are read back from their sentences; all others are read back as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from dragoman.model import operations as op, outcomes as out

# ── writing ──────────────────────────────────────────────────────────────────


def sentences(outcome: out.Outcome) -> str | None:
    """The outcome in sentences, or `None` for one that is told otherwise."""
    tell = _TELLERS.get(type(outcome))
    return None if tell is None else tell(outcome)


def _unknown(outcome: out.UnknownOutcome) -> str:
    return f"It is not known whether this was done: {outcome.reason}"


_VERBS = {
    "created": "Created",
    "modified": "Changed",
    "deleted": "Deleted",
    "moved": "Moved",
    "unchanged": "Left unchanged:",
}


def _changes(outcome: out.ChangesOutcome) -> str:
    lines = [_change(change) for change in outcome.changes]
    if outcome.preview:
        shown = [
            piece for change, line in zip(outcome.changes, lines, strict=True) for piece in (line, change.diff) if piece
        ]
        lines = ["Preview; no file was changed.", *shown]
    elif not lines:
        lines = ["Nothing was changed."]
    if outcome.skipped:
        lines.append(f"Skipped {_count(outcome.skipped, 'file')}.")
    return "\n".join(lines)


def _change(change: out.Change) -> str:
    counts = [
        _count(change.replacements, "replacement") if change.replacements else "",
        f"{_count(change.added, 'line')} added" if change.added else "",
        f"{_count(change.removed, 'line')} removed" if change.removed else "",
    ]
    details = ", ".join(filter(None, counts))
    to = "" if change.moved_to is None else f" to {change.moved_to}"
    return f"{_VERBS[change.kind]} {change.path}{to}" + (f" ({details})." if details else ".")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _pages(outcome: out.PagesOutcome) -> str:
    if outcome.answer is not None:
        sources = [f"- {page.title or page.url}: {page.url}" for page in outcome.pages]
        return "\n".join([outcome.answer, *(("", "Sources:", *sources) if sources else ())])
    if not outcome.pages:
        return "No pages were found."
    return "\n\n".join(map(_page, outcome.pages))


def _page(page: out.Page) -> str:
    facts = {
        "URL": page.url,
        "Redirected to": None if page.final_url == page.url else page.final_url,
        "Status": page.status,
        "Type": page.media_type,
        "Age": page.age,
        "Title": page.title,
        "Snippet": page.snippet,
    }
    head = "\n".join(f"{name}: {value}" for name, value in facts.items() if value is not None)
    text = "" if page.text is None else f"\n\n{page.text}"
    if not page.truncated:
        return head + text
    total = "more follows" if page.total_chars is None else f"{page.total_chars} characters in all"
    return f"{head}{text}\n[cut here; {total}]"


def _plan(outcome: out.PlanOutcome) -> str:
    lines = [f"{number}. {_item(item)}" for number, item in enumerate(outcome.items, 1)] or ["The plan is empty."]
    return "\n".join([*((outcome.explanation, "") if outcome.explanation else ()), *lines])


def _item(item: op.PlanItem) -> str:
    facts = [
        f"id {item.id}" if item.id else "",
        f"priority {item.priority}" if item.priority else "",
        f"owner {item.owner}" if item.owner else "",
        f"waits for {', '.join(item.blocked_by)}" if item.blocked_by else "",
        f"blocks {', '.join(item.blocks)}" if item.blocks else "",
    ]
    details = "; ".join(filter(None, facts))
    described = "" if not item.description else f"\n   {item.description}"
    return f"[{item.status}] {item.text}" + (f" ({details})" if details else "") + described


def _agents(outcome: out.AgentsOutcome) -> str:
    reports = "\n\n".join(map(_agent, outcome.agents)) or "There are no agents."
    return f"{reports}\n\nThe wait ended before all of them were done." if outcome.timed_out else reports


_STATUS = {
    "running": "is running",
    "completed": "completed its task",
    "failed": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
    "limited": "reached a limit",
    "unknown": "is in an unknown state",
}


def _agent(report: out.AgentReport) -> str:
    name = report.name or report.agent
    who = " ".join(filter(None, ["Agent", name, f"(id {report.id})" if report.id else ""]))
    what = f" ({report.description})" if report.description else ""
    said = f":\n{report.text}" if report.text else "."
    return f"{who} {_STATUS[report.status]}{what}{said}"


def _answers(outcome: out.AnswersOutcome) -> str:
    return "\n\n".join(map(_answer, outcome.answers)) or "The user gave no answer."


def _answer(answer: out.Answer) -> str:
    given = ", ".join(filter(None, [*answer.choices, answer.text])) or "(no answer)"
    return f"Question: {answer.question}\nAnswer: {given}"


def _jobs(outcome: out.JobsOutcome) -> str:
    return "\n".join(map(_job, outcome.jobs)) or "There are no background commands."


def _job(job: out.Job) -> str:
    state = {True: "running", False: "ended", None: "state unknown"}[job.running]
    code = "" if job.exit_code is None else f" with exit code {job.exit_code}"
    return f"Job {job.job}: {state}{code}" + (f": {job.command}" if job.command else "")


NO_NEWLINE = "\n[no newline at the end]"
AFTER_NEWLINE = "\n[cut after this line]"


def lines_in(outcome: out.FileOutcome) -> str:
    """Numbered lines. A newline ends a line and begins none; what does not end in one says so, unless it was cut."""
    if not outcome.text:
        lines = "[no lines]" if outcome.first_line == 1 else f"[no lines from line {outcome.first_line} on]"
    elif outcome.text.endswith("\n"):
        lines = numbered(msgspec.structs.replace(outcome, text=outcome.text[:-1]))
        lines += AFTER_NEWLINE if outcome.truncated else ""
    else:
        lines = numbered(outcome) + ("" if outcome.truncated else NO_NEWLINE)
    return lines + (cut_note(outcome.total_lines, "lines") if outcome.truncated else "")


def _files(outcome: out.FilesOutcome) -> str:
    pieces = [f"== {one.resolved or one.path}\n{lines_in(one)}" for one in outcome.files]
    pieces += [f"Skipped {path}: {reason}" for path, reason in outcome.skipped.items()]
    pieces += ["[cut here; more files follow]"] if outcome.truncated else []
    return "\n\n".join(pieces) or "No files were found."


def _notebook(outcome: out.NotebookOutcome) -> str:
    return "\n\n".join(map(_cell, range(1, len(outcome.cells) + 1), outcome.cells)) or "The notebook has no cells."


def _cell(number: int, cell: out.Cell) -> str:
    facts = ", ".join(filter(None, [cell.cell_type, cell.language, f"id {cell.id}" if cell.id else ""]))
    shown = [one if isinstance(one, str) else f"[{one.media_type}]" for one in cell.outputs]
    return "\n".join([f"== cell {number} ({facts})", cell.source, *(("-- output", *shown) if shown else ())])


def _resources(outcome: out.ResourcesOutcome) -> str:
    pieces = [*map(_resource, outcome.resources)] or ["There are no resources."]
    return "\n\n".join([*pieces, *([f"More follow after the cursor {outcome.cursor}."] if outcome.cursor else ())])


def _resource(resource: out.Resource) -> str:
    facts = {
        "Resource": resource.uri,
        "Server": resource.server,
        "Name": resource.name,
        "Type": resource.media_type,
        "Description": resource.description,
    }
    head = "\n".join(f"{name}: {value}" for name, value in facts.items() if value is not None)
    if resource.text is not None:
        return f"{head}\n\n{resource.text}"
    return head if resource.data is None else f"{head}\n\n[binary content, {len(resource.data)} characters of base64]"


def _tools(outcome: out.ToolsOutcome) -> str:
    if not outcome.names:
        return "No tools were found."
    described = {str(one.get("name")): _first_line(one.get("description")) for one in outcome.definitions}
    lines = [f"- {name}" + (f": {described[name]}" if described.get(name) else "") for name in outcome.names]
    return "\n".join(["Tools you can call from now on:", *lines])


def _first_line(text: Any) -> str:
    return text.strip().partition("\n")[0] if isinstance(text, str) else ""


_TELLERS: dict[type[out.Outcome], Callable[[Any], str]] = {
    out.UnknownOutcome: _unknown,
    out.ChangesOutcome: _changes,
    out.PagesOutcome: _pages,
    out.PlanOutcome: _plan,
    out.AgentsOutcome: _agents,
    out.AnswersOutcome: _answers,
    out.JobsOutcome: _jobs,
    out.FilesOutcome: _files,
    out.NotebookOutcome: _notebook,
    out.ResourcesOutcome: _resources,
    out.ToolsOutcome: _tools,
}


# ── reading ──────────────────────────────────────────────────────────────────


def outcome_in(operation: op.Operation, text: str) -> out.Outcome | None:
    """The outcome these sentences tell of; `None` unless it is told by exactly this text again."""
    found = _read(operation, text)
    return found if found is not None and sentences(found) == text else None


def _read(operation: op.Operation, text: str) -> out.Outcome | None:
    if text.startswith("It is not known whether this was done: "):
        return out.UnknownOutcome(text.partition(": ")[2])
    match operation:
        case op.FetchPage() if text.startswith("URL: "):
            return _read_page(text)
        case op.UpdatePlan() | op.AddPlanItem() | op.ChangePlanItem() | op.ReadPlan():
            items = () if text == "The plan is empty." else tuple(_read_items(text))
            return out.PlanOutcome(items)
        case op.Operation() if operation.kind is op.Kind.WRITE:
            return _read_changes(text)
    return None


_CHANGE = re.compile(
    r"(?P<verb>Created|Changed|Deleted|Moved|Left unchanged:) (?P<path>.+?)"
    r"(?: \((?:(?P<replacements>\d+) replacements?)?(?:, )?(?:(?P<added>\d+) lines? added)?"
    r"(?:, )?(?:(?P<removed>\d+) lines? removed)?\))?\."
)
_SKIPPED = re.compile(r"Skipped (\d+) files?\.")
_KINDS: dict[str, Any] = {verb: kind for kind, verb in _VERBS.items()}


def _read_changes(text: str) -> out.ChangesOutcome | None:
    *lines, last = text.split("\n")
    skipped = _SKIPPED.fullmatch(last)
    lines = lines if skipped else [*lines, last]
    if lines == ["Nothing was changed."]:
        lines = []
    changes = [_read_change(line) for line in lines]
    if None in changes:
        return None
    return out.ChangesOutcome(tuple(filter(None, changes)), skipped=int(skipped[1]) if skipped else 0)


def _read_change(line: str) -> out.Change | None:
    found = _CHANGE.fullmatch(line)
    if found is None:
        return None
    path, moved, to = found["path"], None, ""
    if found["verb"] == "Moved":
        path, moved, to = path.partition(" to ")
    added, removed, replacements = (
        int(found[name]) if found[name] else None for name in ("added", "removed", "replacements")
    )
    return out.Change(path, _KINDS[found["verb"]], to if moved else None, None, added, removed, replacements)


_HEAD = {
    "URL": "url",
    "Redirected to": "final_url",
    "Status": "status",
    "Type": "media_type",
    "Age": "age",
    "Title": "title",
    "Snippet": "snippet",
}
_PAGE_CUT = re.compile(r"(.*)\n\[cut here; (?:(\d+) characters in all|more follows)\]", re.DOTALL)


def _read_page(text: str) -> out.PagesOutcome | None:
    cut = _PAGE_CUT.fullmatch(text)
    head, blank, body = (cut[1] if cut else text).partition("\n\n")
    if "\n\nURL: " in text:
        return None  # several pages, and where one ends is not certain
    facts: dict[str, Any] = {}
    for line in head.split("\n"):
        name, colon, value = line.partition(": ")
        if not colon or name not in _HEAD:
            return None
        facts[_HEAD[name]] = value
    if "status" in facts:
        if not facts["status"].isdecimal() or len(facts["status"]) > 9:
            return None
        facts["status"] = int(facts["status"])
    total = int(cut[2]) if cut and cut[2] and len(cut[2]) < 20 else None
    return out.PagesOutcome((out.Page(**facts, text=body if blank else None, total_chars=total, truncated=bool(cut)),))


_ITEM = re.compile(r"\d+\. \[(pending|in_progress|completed|cancelled|blocked)\] (.*)")


def _read_items(text: str) -> Iterator[op.PlanItem]:
    for line in text.split("\n"):
        found = _ITEM.fullmatch(line)
        if found is None:
            return
        yield op.PlanItem(found[2], found[1])  # type: ignore[arg-type]


def numbered(outcome: out.FileOutcome, mark: str = "\t", width: int = 0) -> str:
    """Lines with their numbers and a mark; a text that ends in a newline has an empty last line."""
    lines = outcome.text.split("\n")
    return "\n".join([f"{number:>{width}}{mark}{line}" for number, line in enumerate(lines, outcome.first_line)])


def cut_note(total: int | None, unit: str) -> str:
    return f"\n[cut here; {total} {unit} in all]" if total is not None else f"\n[cut here; more {unit} follow]"
