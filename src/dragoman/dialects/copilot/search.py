"""Searching text, files and tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from dragoman.dialects.base.match_lines import MatchLine, as_ripgrep, by_mode, matches_in, read_by_mode
from dragoman.dialects.base.spelling import Spelling, means, whole_number
from dragoman.dialects.base.words import by_hand, lines, maybe, one_of, words
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .offered import EDITING, PATCHING

_MODES = {"content": "content", "files_with_matches": "files", "count": "count"}
_CUT = "\n[more results are not shown]"
Paths = str | tuple[str, ...] | None


def _folders(paths: Paths) -> tuple[str, ...]:
    """The places to look in: a name, several, or (none given) here."""
    if isinstance(paths, str):
        return (paths,)
    return paths or (".",)


def _below(path: str, folder: str) -> bool:
    path, folder = path.removeprefix("./"), folder.removeprefix("./").rstrip("/")
    return folder in ("", ".") or path == folder or path.startswith(f"{folder}/")


_NONE = "No matches found."
_LINE = re.compile(r"(.+?)(?::(\d+):|-(\d+)-)(.*)", re.DOTALL)
_BARE = re.compile(r"(.+?):(.*)", re.DOTALL)


def _matches_written(outcome: out.MatchesOutcome, _asked: op.SearchText) -> str:
    lines = by_mode(outcome.matches, outcome.mode, as_ripgrep)
    return "\n".join(lines) + (_CUT if outcome.truncated else "") if lines else _NONE


def _matches_read(text: str, asked: op.SearchText) -> out.MatchesOutcome | None:
    if text == _NONE:
        return out.MatchesOutcome((), asked.mode)
    body = text.removesuffix(_CUT)
    matches = read_by_mode(body.split("\n"), asked.mode, _in_lines)
    return None if matches is None else out.MatchesOutcome(matches, asked.mode, truncated=body != text)


def _in_lines(lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    """Matches with the lines around them; without numbers, a path and a line each. `None` when a line is neither."""
    read: list[MatchLine | None] = []
    for line in lines:
        found = _LINE.fullmatch(line)
        bare = _BARE.fullmatch(line) if found is None else None
        if found is not None:
            read.append(MatchLine(found[1], int(found[2] or found[3]), found[2] is not None, found[4]))
        elif bare is not None:
            read.append(MatchLine(bare[1], None, matched=True, text=bare[2]))
        elif line == "--":
            read.append(None)
        else:
            return None
    return matches_in(read)


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression. Returns matching files unless `output_mode` asks for lines."""

    native_name = "grep"
    families = EDITING
    unsaid = {
        "exclude": "files are left out with a glob that begins with !",
        "respect_ignore": "the client decides about ignored files",
    }

    pattern: str = means("pattern", "The regular expression.")
    paths: Paths = means("path", "The folder or file to search in, or several.", default=None)
    # Models also use the older name, and 1.0.74 still accepted it.
    path: Paths = means("path", "The folder or file to search in.", default=None, until="0.0.420")
    output_mode: Literal["content", "files_with_matches", "count"] | None = means(
        "mode", "What to return: lines, files or counts.", default=None
    )
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    type: str | None = means("file_type", "Only files of this type, e.g. `py`.", default=None)
    insensitive: bool | None = means("case_sensitive", "Case-insensitive search.", default=None, name="-i")
    after: float | None = means("after", "Lines to show after each match.", default=None, name="-A")
    before: float | None = means("before", "Lines to show before each match.", default=None, name="-B")
    around: float | None = means(None, "Lines to show before and after each match.", default=None, name="-C")
    numbers: bool | None = means("line_numbers", "Show line numbers.", default=None, name="-n")
    head_limit: float | None = means("limit", "Maximum number of results.", default=None)
    multiline: bool | None = means("multiline", "Let matches span lines.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        around = whole_number(self.around)
        before, after = whole_number(self.before), whole_number(self.after)
        return tuple(
            op.SearchText(
                self.pattern,
                folder,
                include=self.glob,
                file_type=self.type,
                mode=_MODES[self.output_mode or "files_with_matches"],  # type: ignore[arg-type]
                case_sensitive=None if self.insensitive is None else not self.insensitive,
                multiline=self.multiline or False,
                before=around if before is None else before,
                after=around if after is None else after,
                line_numbers=self.numbers,
                limit=whole_number(self.head_limit),
            )
            for folder in _folders(self.path if self.paths is None else self.paths)
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        before, after = operation.before, operation.after
        both = before is not None and before == after
        mode = next(native for native, ours in _MODES.items() if ours == operation.mode)
        return cls(
            pattern=operation.pattern,
            paths=None if operation.path == "." else operation.path,
            output_mode=None if mode == "files_with_matches" else mode,  # type: ignore[arg-type]
            glob=operation.include,
            type=operation.file_type,
            insensitive=None if operation.case_sensitive is None else not operation.case_sensitive,
            after=None if both else after,
            before=None if both else before,
            around=before if both else None,
            numbers=operation.line_numbers,
            head_limit=operation.limit,
            multiline=operation.multiline or None,
        )

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            says=("mode", "truncated"),
            nearly={"matches": "the column and the last line of a match are not given"},
        )
    )

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One list for all places that were searched: to each what was found there."""
        return tuple(self._found_in(operation, native, alone=len(operations) == 1) for operation in operations)

    def _found_in(self, operation: op.Operation, native: NativeResult, *, alone: bool) -> out.Outcome:
        found = self.to_outcome(operation, native)
        if alone or not isinstance(found, out.MatchesOutcome) or not isinstance(operation, op.SearchText):
            return found
        there = tuple(match for match in found.matches if _below(match.path, operation.path))
        return msgspec.structs.replace(found, matches=there)


class Rg(Grep):
    """Search file contents with a regular expression. Returns matching files unless `output_mode` asks for lines."""

    native_name = "rg"
    families = PATCHING


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "glob"
    unsaid = {"respect_ignore": "the client decides about ignored files"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    paths: Paths = means("path", "The folder to look in, or several.", default=None)
    path: Paths = means("path", "The folder to look in.", default=None, until="0.0.420")

    def to_operations(self) -> tuple[op.Operation, ...]:
        folders = _folders(self.path if self.paths is None else self.paths)
        return tuple(op.FindFiles(self.pattern, folder) for folder in folders)

    @classmethod
    def from_operation(cls, operation: op.FindFiles) -> Glob:
        return cls(pattern=operation.pattern, paths=None if operation.path == "." else operation.path)

    results = one_of(
        words(out.PathsOutcome, "No files matched the pattern.", maybe(_CUT, truncated=False), paths=()),
        words(out.PathsOutcome, "{paths}", maybe(_CUT, truncated=False), paths=lines()),
    )

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One list for all places that were looked in: to each what was found there."""
        found = self.to_outcome(operations[0], native)
        if len(operations) == 1 or not isinstance(found, out.PathsOutcome):
            return (found,) * len(operations)
        return tuple(
            out.PathsOutcome(
                tuple(path for path in found.paths if _below(path, str(getattr(operation, "path", ".")))),
                truncated=found.truncated,
            )
            for operation in operations
        )


class ToolSearchTool(Spelling[op.SearchTools]):
    """Look for tools that were not offered up front."""

    native_name, formerly = "tool_search_tool", ("tool_search_tool_regex",)
    on_request = "only agents that work for another are offered it"

    pattern: str = means("query", "What to look for.")
    limit: int | None = means("limit", "Maximum number of tools.", default=None)
