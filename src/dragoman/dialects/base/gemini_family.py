"""What Gemini CLI and Qwen Code, which began as a copy of it, say alike of files and commands."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.model import operations as op, outcomes as out

from .default_words import up_to_here
from .words import (
    CALLED,
    INT,
    PATH,
    Kind,
    Reads,
    Template,
    body,
    lines,
    maybe,
    or_none,
    skipped,
    words,
)


class NotedLines(msgspec.Struct, frozen=True):
    """Some lines of a file under a note that says which these are, and of how many."""

    first_line: int
    last_line: int
    total: str
    text: str


def _is_whole(outcome: out.FileOutcome) -> bool:
    last = outcome.first_line + outcome.text.count("\n")
    complete = outcome.total_lines is None or outcome.total_lines <= last
    return not outcome.truncated and outcome.first_line == 1 and complete


def _noted(operation: op.Operation, outcome: out.FileOutcome) -> NotedLines | None:
    outcome = up_to_here(operation, outcome)
    if _is_whole(outcome):
        return None
    last, total = outcome.first_line + outcome.text.count("\n"), outcome.total_lines
    if outcome.truncated:
        counted = f"{total}" if total is not None and total > last else f"more than {last}"
    else:
        counted = f"{total}" if total is not None and total >= last else f"at least {last}"
    return NotedLines(outcome.first_line, last, counted, outcome.text)


def _file_of(operation: op.ReadFile, noted: NotedLines) -> out.FileOutcome:
    *unknown, number = noted.total.rsplit(" ", 1)
    total = int(number)
    # The note also stands above lines that are all that was asked for.
    cut = noted.last_line < min(total, operation.last_line or total) or unknown == ["more than"]
    return out.FileOutcome(operation.path, noted.text, noted.first_line, None if unknown else total, truncated=cut)


def _whole(operation: op.Operation, outcome: out.FileOutcome) -> out.FileOutcome | None:
    outcome = up_to_here(operation, outcome)
    return outcome if _is_whole(outcome) else None


_COUNTED = Kind("(?:more than |at least )?[0-9]++", write=str)

WHOLE_FILE = words(
    out.FileOutcome, "{text}", path=CALLED, text=body(), first_line=Reads(1), truncated=Reads(value=False), back=_whole
)


def noted_file(before: str, after: str, about: Kind) -> Template:
    """Lines under the note; `{_about}` in `after` are words of the client."""
    return words(
        NotedLines,
        f"{before}Showing lines {{first_line}}-{{last_line}} of {{total}} total lines.{after}",
        "{text}",
        of=out.FileOutcome,
        to=_file_of,
        back=_noted,
        text=body(),
        total=_COUNTED,
        _about=about,
    )


# ── folders ──────────────────────────────────────────────────────────────────

EMPTY_FOLDER = words(out.DirectoryOutcome, "Directory {path} is empty.", path=PATH, entries=())
FOLDER = words(out.Entry, "[DIR] {path}", kind="directory")
FILE = words(out.Entry, "{path}", kind=Reads("file"))
SIZED_FILE = words(out.Entry, "{path} ({size} bytes)", kind=Reads("file"))


def listed(before: str, ignored: str, *files: Template, count: Kind | None = None) -> Template:
    """Folders first, then files; `ignored` is how those are called that were left out."""
    counted: dict[str, Any] = {} if count is None else {"_count": count}
    return words(
        out.DirectoryOutcome,
        before,
        "{entries}",
        maybe("\n\n({ignored} {_how}ignored)", ignored=None),
        path=PATH,
        entries=lines(FOLDER, *files, order=lambda entry: entry.kind != "directory"),
        _how=skipped(ignored, "[^\\n]*"),
        **counted,
    )


def none_ignored(_operation: op.Operation, outcome: out.DirectoryOutcome) -> out.DirectoryOutcome:
    """A listing in which nothing was ignored, which is not said."""
    return msgspec.structs.replace(outcome, ignored=None) if outcome.ignored == 0 else outcome


# ── commands ─────────────────────────────────────────────────────────────────

EXIT_CODE = or_none(INT, "(none)")
SIGNAL = or_none(INT, "(none)", also=("0",))
"""0 is how older versions say that no signal ended a command."""
FACTS = "\nError: {_error}\nExit Code: {exit_code}\nSignal: {signal}"
"""Up to 0.24 of Gemini CLI, and still in Qwen Code, each is always there."""
