"""Claude Code's tools for finding files and text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from dragoman.dialects.base.default_words import as_called
from dragoman.dialects.base.match_lines import MatchLine, as_ripgrep, by_mode, matches_in, read_by_mode
from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import by_hand, lines, maybe, one_of, skipped, words
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import fields, list_in, number_in, plain_text, saved_output, text_in, whole

ASKED_FOR = "the newest client offers it only to a run that names its tools; others search with Bash"


def _recorded_paths(_operation: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    known = fields(native)
    names = list_in(known, "filenames")
    if names is None or not all(isinstance(name, str) for name in names):
        return outcome
    total = number_in(known, "totalMatches") if known.get("countIsComplete") is True else None
    return out.PathsOutcome(tuple(names), total, known.get("truncated") is True)


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "Glob"
    on_request, on_request_since = ASKED_FOR, "2.1.197"
    unsaid = {
        "case_sensitive": "the client decides about case",
        "respect_ignore": "the client decides about ignored files",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")

    results = one_of(
        words(
            out.PathsOutcome,
            "{paths}",
            maybe("\n(Results are truncated.{_how})", truncated=False),
            paths=lines(empty="No files found"),
            _how=skipped(" Consider using a more specific path or pattern.", r"[^\n]*(?=\)\Z)"),
        ),
        text=plain_text,
        recorded=_recorded_paths,
    )


_PAGED = re.compile(r"\n\n\[Showing results with pagination = limit: (?:(\d+)|undefined)(?:, offset: \d+)?\]\Z")
_SHORTENED = re.compile(r"\n\n\.\.\. \[\d+ lines truncated\] \.\.\.\Z")
"""How 2.0.76 ends what is long; later versions keep the whole of it in a file."""


def _matches_written(outcome: out.MatchesOutcome, asked: op.SearchText) -> str:
    """As ripgrep prints them, files and counts with their number."""
    matches = outcome.matches
    lines = by_mode(matches, outcome.mode, lambda shown: as_ripgrep(shown, lambda path: not _is_one_file(asked, path)))
    if outcome.mode == "files":
        text = "\n".join([_counted(len(matches)), *lines]) if matches else "No files found"
    else:
        text = "\n".join(lines) if matches else "No matches found"
    if outcome.mode == "count":
        total = sum(match.count or 0 for match in matches)
        text += f"\n\nFound {total} total occurrences across {len(matches)} files."
    if not outcome.truncated:
        return text
    skipped = f", offset: {asked.offset}" if asked.offset else ""
    return f"{text}\n\n[Showing results with pagination = limit: {len(matches)}{skipped}]"


def _matches_read(asked: op.SearchText, native: NativeResult) -> out.Outcome:
    text = plain_text(native)
    known = fields(native)
    paged = _PAGED.search(text) if text.endswith("]") else None
    body = text if paged is None else text[: paged.start()]
    saved = saved_output(body)
    shortened = _SHORTENED.search(body) if body.endswith("] ...") else None
    half = saved.text if saved is not None else None if shortened is None else body[: shortened.start()]
    if half is not None:  # 1.0.98 and 1.0.108 cut anywhere: the last line may be half of one
        body = text_in(known, "content") or half.rpartition("\n")[0]
    if asked.mode == "files":
        return _files(body, known, paged)
    if asked.mode == "count":
        return _counts(body, paged)
    if body == "No matches found":
        return out.MatchesOutcome((), "content", 0)
    matches = read_matches(asked.path, body.split("\n")) if _ANY_LINE.match(body) else None
    if matches is None:
        return out.TextOutcome(text)
    cut = _cut(paged, body.count("\n") + 1) or (half is not None and "content" not in known)
    return out.MatchesOutcome(matches, "content", truncated=cut)


MATCHES = one_of(
    by_hand(
        out.MatchesOutcome,
        _matches_written,
        says=("mode",),
        nearly={
            "total": "only counts are added up",
            "files": "only files and counts are counted",
            "truncated": "it is said with a limit, and read where so many results are there",
        },
    ),
    from_native=_matches_read,
)
"""By hand: whether lines begin with a path is known only from all of them, and those of one file never do."""


def _counted(files: int) -> str:
    return "Found 1 file" if files == 1 else f"Found {files} files"


def _cut(paged: re.Match[str] | None, results: int) -> bool:
    """2.1.39 adds the note whenever a limit was given: it was reached when there are that many results."""
    return paged is not None and paged[1] is not None and results >= int(paged[1])


def _files(text: str, known: dict[str, Any], paged: re.Match[str] | None) -> out.Outcome:
    if text == "No files found":
        return out.MatchesOutcome((), "files", 0)
    head, *paths = text.split("\n")
    if not re.match(r"Found \d+ files?\b", head):
        return out.TextOutcome(text)
    total = number_in(known, "totalFiles")
    found = tuple(out.Match(path) for path in paths)
    return out.MatchesOutcome(found, "files", total, len(paths), truncated=_cut(paged, len(paths)))


def _counts(text: str, paged: re.Match[str] | None) -> out.Outcome:
    found = re.fullmatch(r"(.*)\n\nFound (\d+) total occurrences? across (\d+) files?\.[^\n]*", text, re.DOTALL)
    if found is None:
        return out.TextOutcome(text)
    lines = [] if found[1] == "No matches found" else found[1].split("\n")
    matches = read_by_mode(lines, "count", lambda _lines: None)
    if matches is None:
        return out.TextOutcome(text)
    return out.MatchesOutcome(matches, "count", int(found[2]), int(found[3]), truncated=_cut(paged, len(matches)))


def _is_one_file(operation: op.Operation, path: str) -> bool:
    """Whether the file alone was searched: then its lines are told without its path."""
    searched = operation.path if isinstance(operation, op.SearchText) else None
    looks_so = searched is not None and _FILE.search(searched) is not None
    return looks_so and as_called(operation, path).removeprefix("./") == str(searched).removeprefix("./")


_FILE = re.compile(r"[^/.]\.\w+\Z")
"""A path that looks like a file's."""


_ANY_LINE = re.compile(r"\d+[:-]|.+?(?::\d+:|-\d+-)|--$", re.MULTILINE)
"""What every line has that ripgrep prints: most other texts are told from it by their first line."""


def read_matches(path: str, lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    """The matches of lines as ripgrep prints them, or `None` when they are not.

    In a single file the lines have no path. Which it was, the lines tell, and where they could be
    read both ways, whether the path that was searched looks like a file's.
    """
    ways = [_with_paths, _of_one_file]
    if _FILE.search(path):
        ways.reverse()
    read = (way(path, lines) for way in ways)
    return next((matches for matches in read if matches is not None), None)


def _of_one_file(path: str, lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    found = [re.fullmatch(r"(\d+)([:-])(.*)", line) for line in lines if line != "--"]
    if not all(found):
        return None
    read = iter(MatchLine(path, int(one[1]), one[2] == ":", one[3]) for one in found if one is not None)
    return matches_in([None if line == "--" else next(read) for line in lines])


def _with_paths(path: str, lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    matched = [re.fullmatch(r"(.+?):(\d+):(.*)", line) for line in lines]
    whole = _whole_paths({one[1] for one in matched if one is not None})
    paths = sorted(whole, key=len, reverse=True)
    # Only a file with a match has lines around it. 2.1.15 wrote its whole path there, and not at the match; others have
    # the whole path at the match, and a part of it around it.
    around = re.compile(rf"(?:.*?/)??({'|'.join(map(re.escape, paths))})-(\d+)-(.*)") if paths else None
    read: list[MatchLine | None] = []
    for line, one in zip(lines, matched, strict=True):
        beside = None if around is None or one is not None else around.fullmatch(line)
        found = one or beside
        if found is None and line != "--":
            return None
        path_of = None if found is None else found[1] if one is not None else whole[found[1]]
        read.append(
            None if found is None or path_of is None else MatchLine(path_of, int(found[2]), one is not None, found[3])
        )
    return matches_in(read)


def _whole_paths(paths: set[str]) -> dict[str, str]:
    """Each path by itself and by every part that it alone ends with: a part that two of them end with names neither."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for name in _names(path):
            named[name].add(path)
    return {name: path for name, ends in named.items() if len(ends) == 1 for path in ends} | {
        path: path for path in paths
    }


def _names(path: str) -> list[str]:
    """A path, and what is left of it without the first of its folders: `/p/src/a.py`, `src/a.py`, `a.py`."""
    pieces = path.split("/")
    return [path, *("/".join(pieces[index:]) for index in range(1, len(pieces)) if pieces[index])]


Mode = Literal["content", "files_with_matches", "count"]


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression (ripgrep's)."""

    native_name = "Grep"
    results = MATCHES
    on_request, on_request_since = ASKED_FOR, "2.1.197"
    unsaid = {"exclude": "one glob chooses the files"}

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The file or folder to search in.", default=".")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    include: str | None = means(None, "Only files that match this glob.", default=None, until="1.0.43")
    output_mode: Mode | None = means(
        "mode", "What to return: matching lines, the files that contain a match (the default), or counts.", default=None
    )
    lines_before: float | None = means("before", "Lines to show before each match.", default=None, name="-B")
    lines_after: float | None = means("after", "Lines to show after each match.", default=None, name="-A")
    lines_around: float | None = means(None, "Lines to show before and after each match.", default=None, name="-C")
    context: float | None = means(None, "Lines to show before and after each match.", default=None, since="2.1.54")
    numbered: bool | None = means("line_numbers", "Show line numbers.", default=None, name="-n")
    any_case: bool | None = means("case_sensitive", "Pass over differences of case.", default=None, name="-i")
    only: bool = means("only_matching", "Give only what matches.", default=False, name="-o", since="2.1.325")
    type: str | None = means("file_type", "Only files of this type: `py`, `rust`.", default=None)
    head_limit: float | None = means("limit", "Maximum number of results.", default=None)
    offset: float | None = means("offset", "Number of results to skip.", default=None, since="2.0.76")
    multiline: bool = means("multiline", "Let matches span lines.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        mode = self.output_mode
        around = self.context if self.lines_around is None else self.lines_around
        before = around if self.lines_before is None else self.lines_before
        after = around if self.lines_after is None else self.lines_after
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.include if self.glob is None else self.glob,
                file_type=self.type,
                mode=mode if mode == "content" or mode == "count" else "files",
                case_sensitive=None if self.any_case is None else not self.any_case,
                multiline=self.multiline,
                only_matching=self.only,
                before=None if before is None else whole(before, "-B"),
                after=None if after is None else whole(after, "-A"),
                line_numbers=self.numbered,
                limit=None if self.head_limit is None else whole(self.head_limit, "head_limit"),
                offset=None if self.offset is None else whole(self.offset, "offset"),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        modes: dict[str, Mode | None] = {"content": "content", "count": "count", "files": None}
        around = operation.before if operation.before == operation.after else None
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            glob=operation.include,
            output_mode=modes[operation.mode],
            lines_before=operation.before if around is None else None,
            lines_after=operation.after if around is None else None,
            lines_around=around,
            numbered=operation.line_numbers,
            any_case=None if operation.case_sensitive is None else not operation.case_sensitive,
            only=operation.only_matching,
            type=operation.file_type,
            head_limit=operation.limit,
            offset=operation.offset,
            multiline=operation.multiline,
        )
