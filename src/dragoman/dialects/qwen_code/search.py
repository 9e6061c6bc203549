"""Searching text, files and tools."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.gemini_family import FILTERS
from dragoman.dialects.base.spelling import WHOLE, Content, Spelling, Tells, means, native_only, was
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json


def _where(path: str) -> str:
    return "in the workspace directory" if path == "." else f"within {path}"


class FindingFiles:
    """How found files are told: how many, then one a line."""

    tells: ClassVar[Tells] = {out.PathsOutcome: ("paths",)}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PathsOutcome) or not isinstance(operation, op.FindFiles):
            return tell(operation, outcome)
        where = f'"{operation.pattern}" {_where(operation.path)}'
        if not outcome.paths:
            return f"No files found matching pattern {where}"
        cut = ["---", "[more files follow: truncated]"] if outcome.truncated else []
        return "\n".join([f"Found {len(outcome.paths)} file(s) matching {where}:", "---", *outcome.paths, *cut])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No files found matching pattern"):
            return out.PathsOutcome(())
        head = re.match(r"Found (\d+) file\(s\) matching .*?:\n(?:---\n)?", text, re.DOTALL)
        if head is None:
            return understand(operation, native)
        listed, _, note = text[head.end() :].partition("\n---\n[")
        paths = tuple(listed.split("\n"))
        cut = "truncated" in note
        return out.PathsOutcome(paths, int(head[1]) if cut and int(head[1]) > len(paths) else None, cut)


class Glob(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    since = "0.7"
    unsaid = {"limit": "the client has one limit for all"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")


class GlobFiltered(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    until = "0.1"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    case_sensitive: bool | None = means("case_sensitive", "Whether case matters.", default=None)
    respect_git_ignore: bool | None = means("respect_ignore", "Whether ignored files are left out.", default=None)
    respect_qwen_ignore: bool | None = native_only(FILTERS)


class SearchingText:
    """How matches are told: counted, then one a line with its file and number."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or not isinstance(operation, op.SearchText):
            return tell(operation, outcome)
        where = f'for pattern "{operation.pattern}" {_where(operation.path)}'
        if not outcome.matches:
            return f"No matches found {where}."
        if outcome.mode != "content":
            return tell(operation, outcome)
        lines = [
            f"{match.path}:{(match.line or 1) + index}:{line}"
            for match in outcome.matches
            for index, line in enumerate((match.text or "").split("\n"))
        ]
        count = outcome.total if outcome.total is not None else len(lines)
        noun = "match" if count == 1 else "matches"
        cut = ["---", "[more lines follow: truncated]"] if outcome.truncated else []
        return "\n".join([f"Found {count} {noun} {where}:", "---", *lines, *cut])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No matches found"):
            return out.MatchesOutcome(())
        head = re.match(r"Found (\d+) match(?:es)? .*?:\n---\n", text, re.DOTALL)
        if head is None:
            return understand(operation, native)
        listed, _, note = text[head.end() :].partition("\n---\n[")
        found = re.findall(r"^(.+?):(\d+):(.*)$", listed, re.MULTILINE)
        matches = tuple(out.Match(path, int(line), words) for path, line, words in found)
        return out.MatchesOutcome(matches, total=int(head[1]), truncated="truncated" in note)


class GrepSearch(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    unsaid = {"case_sensitive": "case never matters"}

    pattern: str = means("pattern", "The regular expression.")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder or file to search in.", default=".")
    limit: int | None = means(
        "limit",
        "At most so many matching lines.",
        default=None,
        since="0.24",
        schema={"minimum": 1},
        was=was("0.15", type=float | None, convert=WHOLE, schema=None),
    )


class GrepSearchIncluding(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    read_only = "0.1 and before say it so where ripgrep is missing, which was there when it was captured"

    pattern: str = means("pattern", "The regular expression.")
    include: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder to search in.", default=".")
    maxResults: float | None = means(  # noqa: N815 - the native name
        "limit", "At most so many matching lines.", default=None, convert=WHOLE
    )


class ToolSearch(Spelling[op.SearchTools]):
    """Look for tools that were not offered up front: by words, or by name with `select:`."""

    native_name = "tool_search"
    since = "0.15"

    query: str = means("query", "Words, or `select:` and names with commas between them.", schema={"minLength": 1})
    max_results: int | None = means("limit", "Maximum number of results; default 5.", default=None)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ToolsOutcome) or outcome.definitions:
            return tell(operation, outcome)
        if not outcome.names:
            return f"Not found: {self.query.removeprefix('select:')}"
        named = [json_text({"name": name}) for name in outcome.names]
        return "<functions>\n" + "\n".join(f"<function>{one}</function>" for one in named) + "\n</functions>"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("Not found: "):
            return out.ToolsOutcome(())
        found = re.findall(r'<function>\s*\{[^{}]*?"name":\s*"((?:[^"\\]|\\.)*)"', text)
        if not found:
            return understand(operation, native)
        return out.ToolsOutcome(tuple(read_json(f'"{name}"', type=str) for name in found))
