"""Searching text, and fetching pages."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, Tells, means
from dragoman.dialects.base.words import CALLED, body, one_of, single, words
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

NO_MATCHES = re.compile(
    r"(?:Error executing (?:tool Search|search|ripgrep): )*No matches found for pattern .*", re.DOTALL
)


class Search(Spelling[op.SearchText]):
    """Search file contents with a regular expression; ignored files are passed over."""

    native_name = "Search"
    unsaid = {
        "case_sensitive": "it is said in the expression",
        "literal": "the pattern is always an expression",
        "before": "only the matching lines are given",
        "after": "only the matching lines are given",
        "limit": "the client has one limit for all searches",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder or file to search in.", default=".")
    file_pattern: str | None = means("include", "Only files that match this glob.", default=None)

    tells: ClassVar[Tells] = {out.MatchesOutcome: ("matches", "mode", "truncated")}
    _TOLD = re.compile(r'Search results for pattern ".*?"(?: in files matching ".*?")?:\n\n(.*)', re.DOTALL)
    _CUT = re.compile(r"(.*)\n\n\[Results truncated: [^\n]*?(?: of (\d+) matches)?\]", re.DOTALL)

    def _wanted(self) -> str:
        files = "" if self.file_pattern is None else f' in files matching "{self.file_pattern}"'
        return f'"{self.pattern}"{files}'

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != "content":
            return tell(operation, outcome)
        if not outcome.matches:
            return f"No matches found for pattern {self._wanted()}."
        lines = [
            f"{match.path}:{(match.line or 1) + index}:{text}"
            for match in outcome.matches
            for index, text in enumerate((match.text or "").split("\n"))
        ]
        told = f"Search results for pattern {self._wanted()}:\n\n" + "\n".join(lines)
        counted = "" if outcome.total is None else f" of {outcome.total} matches"
        return f"{told}\n\n[Results truncated: showing {len(lines)}{counted}]" if outcome.truncated else f"{told}\n"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if NO_MATCHES.fullmatch(text):
            return out.MatchesOutcome(())
        found = self._TOLD.fullmatch(text)
        if found is None:
            return understand(operation, native)
        cut = self._CUT.fullmatch(found[1])
        body = cut[1] if cut else found[1].removesuffix("\n")
        lines = [re.fullmatch(r"(.+?):(\d+):(.*)", line, re.DOTALL) for line in body.split("\n")]
        if not all(lines):
            return out.TextOutcome(text)
        matches = tuple(out.Match(line[1], int(line[2]), line[3]) for line in lines if line is not None)
        return out.MatchesOutcome(matches, total=int(cut[2]) if cut and cut[2] else None, truncated=cut is not None)


class Fetch(Spelling[op.FetchPage]):
    """Fetch a page; it comes back as Markdown."""

    native_name = "Fetch"
    unsaid = {
        "instructions": "a page is given as it is",
        "format": "it is always Markdown",
        "timeout_ms": "there is no parameter for it",
        "offset": "a page is given from its start",
        "limit": "the client has one limit for all pages",
    }

    url: str = means("url", "Address of the page.")

    results = one_of(
        single(out.PagesOutcome, words(out.Page, "{text}", url=CALLED, text=body(or_nothing=True)), answer=None),
        default_first=True,
    )
