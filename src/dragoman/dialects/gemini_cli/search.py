"""Searching text and files."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.conversions import INVERTED
from dragoman.dialects.base.gemini_family import FILTERS
from dragoman.dialects.base.match_lines import in_groups, lines_of
from dragoman.dialects.base.spelling import Spelling, means, native_only, was
from dragoman.dialects.base.words import by_hand, count_of, lines, one_of, skipped, words
from dragoman.model import operations as op, outcomes as out


def _sought(operation: Any) -> str:
    return f'"{operation.pattern}" within {operation.path}'


_LOOKED_FOR = skipped(_sought, "(?s:.*?)")
_NOT_FOUND = skipped(_sought, "(?s:.*)")


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "glob"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    dir_path: str = means("path", "The folder to look in.", default=".", since="0.19", was=was("0.1.15", name="path"))
    case_sensitive: bool | None = means("case_sensitive", "Case-sensitive search.", default=None)
    respect_git_ignore: bool | None = means(
        "respect_ignore", "Leave out files that are ignored, for example by .gitignore.", default=None
    )
    respect_gemini_ignore: bool | None = native_only(FILTERS, since="0.19")

    results = one_of(
        words(out.PathsOutcome, "No files found matching pattern {_about}", paths=(), _about=_NOT_FOUND),
        words(
            out.PathsOutcome,
            "Found {_count} file(s) matching {_about}:\n",
            "{paths}",
            paths=lines(),
            _count=count_of("paths"),
            _about=_LOOKED_FOR,
        ),
    )


_HEADING, _LINE = re.compile(r"File: (.*)"), re.compile(r"L(\d+)([:-]) (.*)")


def _matches_written(outcome: out.MatchesOutcome, asked: op.SearchText) -> str | None:
    where = f'for pattern "{asked.pattern}" in path "{asked.path}"'
    if outcome.mode == "count":
        return None
    if not outcome.matches:
        return f"No matches found {where}."
    if outcome.mode == "files":
        paths = [match.path for match in outcome.matches]
        return "\n".join([f"Found {len(paths)} files with matches {where}:", *paths])
    lines: list[str] = []
    path: str | None = None
    for match in outcome.matches:
        if match.path != path:
            path = match.path
            lines += ["---", f"File: {path}"]
        first, *more = (match.text or "").split("\n")  # only its first line has a number (0.61.0)
        for line in lines_of(msgspec.structs.replace(match, text=first), 1):
            lines += [f"L{line.number}{':' if line.matched else '-'} {line.text}", *(more if line.matched else ())]
    count = outcome.total if outcome.total is not None else len(outcome.matches)
    noun = "match" if count == 1 else "matches"
    return "\n".join([f"Found {count} {noun} {where}:", *lines, "---"])


def _matches_read(text: str, asked: op.SearchText) -> out.Outcome | None:
    if text.startswith("No matches found"):
        return out.MatchesOutcome((), asked.mode, 0)
    files = re.match(r"Found (\d+) files? with matches ", text)
    if files:
        paths = text.split("\n")[-int(files[1]) :]
        return out.MatchesOutcome(tuple(out.Match(path) for path in paths), "files")
    head = re.match(r"Found (\d+) match(?:es)? ", text)
    if head is None:
        return out.TextOutcome(text)
    matches, _ = in_groups(text.split("\n"), _HEADING, _LINE)
    return out.MatchesOutcome(matches or (), "content", int(head[1]))


MATCHES = one_of(
    by_hand(
        out.MatchesOutcome,
        _matches_written,
        _matches_read,
        nearly={"mode": "counts are written in other words"},
    )
)
"""By hand: which match a line around one belongs to depends on the lines beside it."""


class GrepSearch(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    results = MATCHES
    since = "0.34"
    approximated = {"mode": "matches are not counted per file: the matching lines are given"}
    unsaid = {"exclude": "the native parameter of that name leaves out lines, not files"}

    pattern: str = means("pattern", "The regular expression.")
    dir_path: str = means("path", "The folder or file to search in.", default=".")
    include_pattern: str | None = means("include", "Only files that match this glob.", default=None)
    exclude_pattern: str | None = native_only("it is a regular expression that drops matching lines")
    names_only: bool = means("mode", "Return only the names of the files that match.", default=False)
    case_sensitive: bool | None = means("case_sensitive", "Case-sensitive search.", default=None, since="0.53")
    fixed_strings: bool = means(
        "literal", "Treat the pattern as plain text, not as a regular expression.", default=False, since="0.53"
    )
    context: int | None = means(
        None, "Lines to show before and after each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    after: int | None = means(
        "after", "Lines to show after each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    before: int | None = means(
        "before", "Lines to show before each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    no_ignore: bool | None = means("respect_ignore", "Search ignored files too.", default=None, since="0.53")
    max_matches_per_file: int | None = means(
        "limit_per_file", "Maximum number of matches per file.", default=None, schema={"minimum": 1}
    )
    total_max_matches: int | None = means(
        "limit", "Maximum number of matches in total.", default=None, schema={"minimum": 1}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.SearchText(
                self.pattern,
                self.dir_path,
                include=self.include_pattern,
                mode="files" if self.names_only else "content",
                case_sensitive=self.case_sensitive,
                literal=self.fixed_strings,
                before=self.context if self.before is None else self.before,
                after=self.context if self.after is None else self.after,
                limit=self.total_max_matches,
                limit_per_file=self.max_matches_per_file,
                respect_ignore=INVERTED.to(self.no_ignore),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> GrepSearch:
        around = operation.before if operation.before == operation.after else None
        return cls(
            pattern=operation.pattern,
            dir_path=operation.path,
            include_pattern=operation.include,
            names_only=operation.mode == "files",
            case_sensitive=operation.case_sensitive,
            fixed_strings=operation.literal,
            context=around,
            before=operation.before if around is None else None,
            after=operation.after if around is None else None,
            no_ignore=INVERTED.back(operation.respect_ignore),
            max_matches_per_file=operation.limit_per_file,
            total_max_matches=operation.limit,
        )


class SearchFileContent(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "search_file_content"
    results = MATCHES
    until = "0.24"
    unsaid = {
        "case_sensitive": "case never matters",
        "limit": "results are not cut",
        "limit_per_file": "results are not cut",
    }

    pattern: str = means("pattern", "The regular expression.")
    dir_path: str = means("path", "The folder to search in.", default=".", since="0.19", was=was("0.1.15", name="path"))
    include: str | None = means("include", "Only files that match this glob.", default=None)
