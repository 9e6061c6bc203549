"""What Gemini CLI and Qwen Code, which began as a copy of it, say alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .conversions import Conversion
from .default_words import as_called, text_of, up_to_here
from .edits import has_written, or_new_file
from .spelling import Spelling, means, native_only
from .words import (
    CALLED,
    INT,
    PATH,
    Kind,
    Reads,
    Results,
    Template,
    body,
    by_hand,
    lines,
    maybe,
    one_of,
    or_none,
    skipped,
    words,
)

# ── reading files ────────────────────────────────────────────────────────────

FILTERS = "which ignore files count is the workspace's to decide"
IGNORE_FILES = {"respect_gemini_ignore": FILTERS, "respect_qwen_ignore": FILTERS}


class FilterOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which ignore files a listing respects."""

    respect_git_ignore: bool | None = None


FILTER_OPTIONS = Conversion(
    to=lambda options: None if options is None else options.respect_git_ignore,
    back=lambda respect: None if respect is None else FilterOptions(respect),
)
FILTER_OPTIONS_OR_ALL = Conversion(
    to=lambda options: options is None or options.respect_git_ignore is not False,
    back=lambda respect: None if respect else FilterOptions(respect_git_ignore=False),
)


class ReadingManyFiles(Spelling[op.ReadFiles]):
    """Read all files that match one of several glob patterns."""

    paths: tuple[str, ...] = means("patterns", "Paths or glob patterns.")
    include: tuple[str, ...] = means(None, "More patterns.", default=())
    exclude: tuple[str, ...] = means("exclude", "Patterns to leave out.", default=())
    recursive: bool = native_only("a pattern says itself how deep it goes", default=True)
    useDefaultExcludes: bool = native_only(FILTERS, default=True)  # noqa: N815 - the native name
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore", "Which ignore files count.", default=None, without=IGNORE_FILES
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        respect: bool = FILTER_OPTIONS_OR_ALL.to(self.file_filtering_options)
        return (op.ReadFiles(self.paths + self.include, self.exclude, respect),)

    @classmethod
    def from_operation(cls, operation: op.ReadFiles) -> Self:
        options = FILTER_OPTIONS_OR_ALL.back(operation.respect_ignore)
        return cls(paths=operation.patterns, exclude=operation.exclude, file_filtering_options=options)


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
    # The note is also printed above a range that was read whole (Gemini CLI 0.38.2 to 0.56, Qwen Code 0.5.2 to 0.24.4).
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


LISTING_UNSAID = {"limit": "the listing is not cut"}

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
"""0 says the same in Gemini CLI 0.19.4 and 0.24.0, and in Qwen Code 0.12.0 to 0.21.2."""
FACTS = "\nError: {_error}\nExit Code: {exit_code}\nSignal: {signal}"
"""Up to 0.24 of Gemini CLI, and still in Qwen Code, each is always there."""


# ── changing files ───────────────────────────────────────────────────────────

EXPECTED = "How many times it must be replaced; once if not given."
COUNTED = "a text is matched, not whole lines; every occurrence must be counted beforehand"


def counted_or_new_file(operation: op.EditFile) -> op.Operation:
    """The same where a call says how often a text must be there."""
    (edit,) = operation.edits
    everywhere = msgspec.structs.replace(edit, everywhere=(edit.expected or 1) > 1)
    return or_new_file(msgspec.structs.replace(operation, edits=(everywhere,)))


def display_of(native: NativeResult) -> Mapping[str, Any]:
    """What the log keeps for display beside a result, where that is data."""
    shown = native.item.get("resultDisplay") if isinstance(native.item, dict) else None
    return shown if isinstance(shown, dict) else {}


_CHANGED = re.compile(
    r"(?:(?:The file:|Notebook) (?P<updated>.+?) has been updated\."
    r"|(?:Successfully )?[Cc]reated (?:and wrote to )?new file: (?P<created>.+?)(?: with provided content)?\."
    r"|Successfully (?:overwrote|modified) file: (?P<modified>.+?)(?: \((?P<count>\d+) replacements?\))?"
    r"(?: with provided content)?\.)(?:\s|$)"
)


def change_results(
    edited: Callable[[op.Operation, out.Change, str], str],
    text: Callable[[NativeResult], str] = lambda native: text_of(native.content),
    shown: Callable[[out.Change], str] = lambda _: "",
) -> Results:
    """What happened to one file. `edited` gives the sentence for an edit, of the operation, the change and its path;
    `shown` what follows that for a whole file.

    By hand: the client may go on after the sentence, and a path may hold a full stop.
    """

    def write(outcome: out.ChangesOutcome, asked: op.Operation) -> str | None:
        if len(outcome.changes) != 1:
            return None
        change = outcome.changes[0]
        path = as_called(asked, change.path)
        if change.kind == "created":
            by_edit = isinstance(asked, op.WriteFile) and not asked.overwrite
            if by_edit:
                return f"Created new file: {path} with provided content.{shown(change)}"
            return f"Successfully created and wrote to new file: {path}.{shown(change)}"
        if isinstance(asked, op.WriteFile) and has_written(outcome):
            return f"Successfully overwrote file: {path}.{shown(change)}"
        return edited(asked, change, path) if change.kind == "modified" else None

    def read(said: str, _asked: op.Operation) -> out.ChangesOutcome | None:
        found = _CHANGED.match(said)
        if found is None:
            return None
        path = found["created"] or found["updated"] or found["modified"]
        count = int(found["count"]) if found["count"] else None
        kind: out.ChangeKind = "created" if found["created"] else "modified"
        return out.ChangesOutcome((out.Change(path, kind, replacements=count),))

    said = by_hand(
        out.ChangesOutcome,
        write,
        read,
        nearly={"changes": "of one file its path and whether it is new are said, and of some edits their number"},
    )
    return one_of(said, text=text, recorded=_counted)


def _counted(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The lines added and removed are counted in the log's record for display."""
    counts = display_of(native).get("diffStat")
    if not isinstance(outcome, out.ChangesOutcome) or not isinstance(counts, dict):
        return outcome
    added, removed = _number(counts.get("model_added_lines")), _number(counts.get("model_removed_lines"))
    return out.ChangesOutcome((msgspec.structs.replace(outcome.changes[0], added=added, removed=removed),))


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
