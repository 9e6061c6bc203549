"""Searching text, files and tools."""

from __future__ import annotations

import re

from dragoman.dialects.base.gemini_family import FILTERS
from dragoman.dialects.base.match_lines import matched_lines
from dragoman.dialects.base.spelling import WHOLE, Spelling, means, native_only, was
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.json_text import json_text, read_json


def _where(path: str) -> str:
    return "in the workspace directory" if path == "." else f"within {path}"


def _paths_written(outcome: out.PathsOutcome, asked: op.FindFiles) -> str:
    where = f'"{asked.pattern}" {_where(asked.path)}'
    if not outcome.paths:
        return f"No files found matching pattern {where}"
    cut = ["---", "[more files follow: truncated]"] if outcome.truncated else []
    return "\n".join([f"Found {len(outcome.paths)} file(s) matching {where}:", "---", *outcome.paths, *cut])


def _paths_read(text: str, _asked: op.FindFiles) -> out.PathsOutcome | None:
    if text.startswith("No files found matching pattern"):
        return out.PathsOutcome(())
    head = re.match(r"Found (\d+) file\(s\) matching .*?:\n(?:---\n)?", text, re.DOTALL)
    if head is None:
        return None
    listed, _, note = text[head.end() :].partition("\n---\n[")
    paths = tuple(listed.split("\n"))
    cut = "truncated" in note
    return out.PathsOutcome(paths, int(head[1]) if cut and int(head[1]) > len(paths) else None, cut)


PATHS = one_of(
    by_hand(
        out.PathsOutcome,
        _paths_written,
        _paths_read,
        says=("paths",),
        nearly={"total": "it is said of a list that was cut", "truncated": "an empty list that was cut is not said so"},
    )
)


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    results = PATHS
    since = "0.7"

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")


class GlobFiltered(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    results = PATHS
    until = "0.1"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    case_sensitive: bool | None = means("case_sensitive", "Case-sensitive search.", default=None)
    respect_git_ignore: bool | None = means(
        "respect_ignore", "Leave out files that are ignored, for example by .gitignore.", default=None
    )
    respect_qwen_ignore: bool | None = native_only(FILTERS)


def _matches_written(outcome: out.MatchesOutcome, asked: op.SearchText) -> str | None:
    where = f'for pattern "{asked.pattern}" {_where(asked.path)}'
    if not outcome.matches:
        return f"No matches found {where}."
    if outcome.mode != "content":
        return None
    lines = matched_lines(outcome.matches)
    count = outcome.total if outcome.total is not None else len(lines)
    noun = "match" if count == 1 else "matches"
    cut = ["---", "[more lines follow: truncated]"] if outcome.truncated else []
    return "\n".join([f"Found {count} {noun} {where}:", "---", *lines, *cut])


def _matches_read(text: str, _asked: op.SearchText) -> out.MatchesOutcome | None:
    if text.startswith("No matches found"):
        return out.MatchesOutcome(())
    head = re.match(r"Found (\d+) match(?:es)? .*?:\n---\n", text, re.DOTALL)
    if head is None:
        return None
    listed, _, note = text[head.end() :].partition("\n---\n[")
    found = re.findall(r"^(.+?):(\d+):(.*)$", listed, re.MULTILINE)
    matches = tuple(out.Match(path, int(line), words) for path, line, words in found)
    return out.MatchesOutcome(matches, total=int(head[1]), truncated="truncated" in note)


MATCHES = one_of(
    by_hand(
        out.MatchesOutcome,
        _matches_written,
        _matches_read,
        nearly={"matches": "lines around a match and columns are not given"},
    )
)


class GrepSearch(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name, formerly = "grep_search", ("search_file_content",)  # 0.21.2 and 0.23.3 still take the old name
    results = MATCHES
    unsaid = {"case_sensitive": "case never matters"}

    pattern: str = means("pattern", "The regular expression.")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder or file to search in.", default=".")
    limit: int | None = means(
        "limit",
        "Maximum number of matching lines.",
        default=None,
        since="0.24",
        schema={"minimum": 1},
        was=was("0.15", type=float | None, convert=WHOLE, schema=None),
    )


class GrepSearchIncluding(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    results = MATCHES
    read_only = "0.1 and before say it so where ripgrep is missing, which was there when it was captured"

    pattern: str = means("pattern", "The regular expression.")
    include: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder to search in.", default=".")
    maxResults: float | None = means(  # noqa: N815 - the native name
        "limit", "Maximum number of matching lines.", default=None, convert=WHOLE
    )


def _tools_written(outcome: out.ToolsOutcome, asked: op.SearchTools) -> str | None:
    if outcome.definitions:
        return None
    if not outcome.names:
        return f"Not found: {asked.query.removeprefix('select:')}"
    named = [json_text({"name": name}) for name in outcome.names]
    return "<functions>\n" + "\n".join(f"<function>{one}</function>" for one in named) + "\n</functions>"


def _tools_read(text: str, _asked: op.SearchTools) -> out.ToolsOutcome | None:
    found = re.findall(r'<function>\s*\{[^{}]*?"name":\s*"((?:[^"\\]|\\.)*)"', text)
    if not found and not text.startswith("Not found: "):
        return None
    return out.ToolsOutcome(tuple(read_json(f'"{name}"', type=str) for name in found))


class ToolSearch(Spelling[op.SearchTools]):
    """Search for tools that were not offered up front: by keywords, or by name with `select:`."""

    native_name = "tool_search"
    since = "0.15"

    query: str = means("query", "Keywords, or `select:` followed by comma-separated names.", schema={"minLength": 1})
    max_results: int | None = means("limit", "Maximum number of results; default 5.", default=None)

    results = one_of(
        by_hand(
            out.ToolsOutcome,
            _tools_written,
            _tools_read,
            nearly={"names": "tools with their definitions are written in other words"},
        ),
    )
