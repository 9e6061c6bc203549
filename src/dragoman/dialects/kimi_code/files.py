"""Kimi Code's tools for files and for searching them."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.conversions import LINE_COUNT, Conversion
from dragoman.dialects.base.default_words import unnumbered
from dragoman.dialects.base.match_lines import as_ripgrep, by_mode, from_ripgrep, read_by_mode
from dragoman.dialects.base.sentences import numbered as number_lines
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import (
    PATH,
    by_hand,
    done,
    lines,
    one_of,
    picture,
    single,
    skipped,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

_NOTE = re.compile(r"Total lines in file: (\d+)\.(?: (Requested range complete|[^.]*)\.)?")


def _noted(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The lines of the file, which the log has in a note beside the text."""
    note = native.item.get("note") if isinstance(native.item, dict) else None
    found = _NOTE.search(note) if isinstance(note, str) else None
    if found is None or not isinstance(outcome, out.FileOutcome):
        return outcome
    cut = found[2] is not None and found[2] != "Requested range complete"
    return msgspec.structs.replace(outcome, total_lines=int(found[1]), truncated=cut)


def _forward(line: int | None) -> int | None:
    if line is not None and line < 1:
        raise ValueError("lines counted from the end of a file have no shared meaning")
    return line


def _lines_read(text: str, asked: op.ReadFile) -> out.FileOutcome | None:
    found = unnumbered(text)
    return None if found is None else out.FileOutcome(asked.path, found[1], found[0])


class Read(Spelling[op.ReadFile]):
    """Read a text file, or `n_lines` lines of it from line `line_offset`."""

    native_name = "Read"

    path: str = means("path", "Path of the file.")
    line_offset: int | None = means(
        "first_line", "First line to read, from 1.", default=None, convert=Conversion(_forward, _forward)
    )
    n_lines: int | None = means("last_line", "Number of lines to read.", default=None, convert=LINE_COUNT)
    column_offset: int | None = native_only("parts of a line are not read by themselves")
    max_chars: int | None = native_only("how much text the client gives at once is its own affair")

    results = one_of(
        by_hand(
            out.FileOutcome, lambda outcome, _asked: number_lines(outcome), _lines_read, says=("text", "first_line")
        ),
        recorded=_noted,
        unsaid={"truncated": "that lines are left out stands in a note beside the text"},
    )


class ReadEnd(Spelling[op.ReadFile]):
    """Read the last lines of a file: a negative `line_offset` counts from its end."""

    native_name = "Read"
    read_only = "where the lines are is known only with the file"
    results = Read.results

    path: str
    line_offset: int = native_only("lines counted from the end of a file have no shared meaning")
    n_lines: int | None = native_only("it counts from a line that is not known")


class Region(msgspec.Struct, frozen=True):
    """A rectangle of an image."""

    x: int
    y: int
    width: int
    height: int


REGION = Conversion(
    to=lambda region: (
        None if region is None else (region.x, region.y, region.x + region.width, region.y + region.height)
    ),
    back=lambda region: (
        None if region is None else Region(region[0], region[1], region[2] - region[0], region[3] - region[1])
    ),
)


class ReadMediaFile(Spelling[op.ViewImage]):
    """View an image, or a part of it."""

    native_name = "ReadMediaFile"
    results = one_of(picture('<image path="{asked.path}">'))

    path: str = means("path", "Path of the image.")
    region: Region | None = means("region", "Rectangle to view, in pixels.", default=None, convert=REGION)
    full_resolution: bool | None = native_only("how far an image is scaled down is the client's own affair")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class Write(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "Write"

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")
    mode: Literal["overwrite"] | None = native_only("a file is replaced unless text is appended to it")

    # 2.1.0 does not say whether the file was there before.
    results = one_of(
        done(
            lambda asked: f"Wrote {_size(asked.content)} bytes to {asked.path}",
            begins="Wrote ",
            of=out.ChangesOutcome,
            when=lambda outcome: len(outcome.changes) == 1 and outcome.changes[0].kind in ("created", "modified"),
        )
    )


class Append(Spelling[op.EditFile]):
    """Append text to the end of a file."""

    native_name = "Write"
    read_only = "text is put at the end of a file by editing it"
    results = one_of(formerly=(done("Appended", begins="Appended "),))

    path: str
    content: str
    mode: Literal["append"]

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.EditFile(self.path, (op.Edit(None, self.content, whole_lines=True),)),)


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once, unless `replace_all` is set."""

    native_name = "Edit"
    approximated = {"edits": "a text is matched, not whole lines"}

    path: str = means("path", "Path of the file.")
    old_string: str = means("edits.old", "The exact text to replace.")
    new_string: str = means("edits.new", "What to put in its place.")
    replace_all: bool = means("edits.everywhere", "Replace every occurrence.", default=False)

    results = one_of(
        single(
            out.ChangesOutcome,
            words(
                out.Change,
                "Replaced {replacements} {_noun} in {path}",
                kind="modified",
                path=PATH,
                _noun=skipped("occurrences", "occurrences?"),
            ),
        )
    )


# ── searching ────────────────────────────────────────────────────────────────


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "Glob"

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    head_limit: int | None = means("limit", "Maximum number of results.", default=None)
    offset: int | None = native_only("results are taken from the first")
    include_ignored: bool | None = means("respect_ignore", "Find ignored files too.", default=None)
    include_dirs: bool | None = native_only("folders are not what is looked for")

    def to_operations(self) -> tuple[op.Operation, ...]:
        ignored = None if self.include_ignored is None else not self.include_ignored
        return (op.FindFiles(self.pattern, self.path, respect_ignore=ignored, limit=self.head_limit),)

    @classmethod
    def from_operation(cls, operation: op.FindFiles) -> Glob:
        ignored = None if operation.respect_ignore is None else not operation.respect_ignore
        return cls(pattern=operation.pattern, path=operation.path, head_limit=operation.limit, include_ignored=ignored)

    unsaid = {"case_sensitive": "there is no parameter for it"}
    results = one_of(
        words(out.PathsOutcome, "{paths}", paths=lines(empty="No matches found")),
        unsaid={"truncated": "the tool does not say that a list was cut"},
    )


_NO_MATCHES = ("No matches found", "No non-sensitive matches found")
_COUNTED = re.compile(r"Found (\d+) total occurrences? across (\d+) files?\.\n")


def _matches_written(outcome: out.MatchesOutcome, _asked: op.SearchText) -> str:
    if not outcome.matches:
        return _NO_MATCHES[1]
    shown = "\n".join(by_mode(outcome.matches, outcome.mode, as_ripgrep))
    if outcome.mode != "count":
        return shown
    total, files = sum(match.count or 0 for match in outcome.matches), len(outcome.matches)
    return f"Found {total} total occurrences across {files} files.\n{shown}"


def _matches_read(text: str, asked: op.SearchText) -> out.MatchesOutcome | None:
    if text in _NO_MATCHES:
        return out.MatchesOutcome((), asked.mode)
    head = _COUNTED.match(text)
    if (head is not None) != (asked.mode == "count"):
        return None
    rows = (text if head is None else text[head.end() :]).split("\n")
    if asked.mode == "files" and any(" " in row and "/" not in row for row in rows):
        return None  # a sentence, not a path
    matches = read_by_mode(rows, asked.mode, lambda shown: from_ripgrep(shown, asked.before))
    if matches is None:
        return None
    return out.MatchesOutcome(matches, asked.mode, None if head is None else int(head[1]))


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression (ripgrep's)."""

    native_name = "Grep"
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "literal": "it is always a regular expression",
        "only_matching": "whole lines are given",
        "limit_per_file": "results are cut as a whole",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The file or folder to search in.", default=".")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    type: str | None = means("file_type", "Only files of this type: `py`, `rust`.", default=None)
    output_mode: Literal["content", "files_with_matches", "count_matches"] | None = means(
        "mode", "What to return: matching lines, the files that contain a match (the default), or counts.", default=None
    )
    any_case: bool | None = means("case_sensitive", "Case-insensitive search.", default=None, name="-i")
    numbers: bool | None = means("line_numbers", "Show line numbers.", default=None, name="-n")
    lines_after: int | None = means("after", "Lines to show after each match.", default=None, name="-A")
    lines_before: int | None = means("before", "Lines to show before each match.", default=None, name="-B")
    lines_around: int | None = means(None, "Lines to show before and after each match.", default=None, name="-C")
    head_limit: int | None = means("limit", "Maximum number of results.", default=None)
    offset: int | None = means("offset", "Number of results to skip.", default=None)
    multiline: bool = means("multiline", "Let matches span lines.", default=False)
    include_ignored: bool | None = means("respect_ignore", "Search ignored files too.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        modes = {"content": "content", "count_matches": "count"}
        around = self.lines_around
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.glob,
                file_type=self.type,
                mode=modes.get(self.output_mode or "", "files"),  # type: ignore[arg-type]
                case_sensitive=None if self.any_case is None else not self.any_case,
                multiline=self.multiline,
                before=around if self.lines_before is None else self.lines_before,
                after=around if self.lines_after is None else self.lines_after,
                line_numbers=self.numbers,
                limit=self.head_limit,
                offset=self.offset,
                respect_ignore=None if self.include_ignored is None else not self.include_ignored,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        modes: dict[str, Any] = {"content": "content", "count": "count_matches", "files": None}
        around = operation.before if operation.before == operation.after else None
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            glob=operation.include,
            type=operation.file_type,
            output_mode=modes[operation.mode],
            any_case=None if operation.case_sensitive is None else not operation.case_sensitive,
            numbers=operation.line_numbers,
            lines_after=operation.after if around is None else None,
            lines_before=operation.before if around is None else None,
            lines_around=around,
            head_limit=operation.limit,
            offset=operation.offset,
            multiline=operation.multiline,
            include_ignored=None if operation.respect_ignore is None else not operation.respect_ignore,
        )

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            nearly={"mode": "it is that of the call", "total": "only counts are added up"},
        ),
        unsaid={"truncated": "the tool does not say that matches were cut"},
    )
