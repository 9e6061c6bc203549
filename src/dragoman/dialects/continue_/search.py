"""Searching text, and fetching pages."""

from __future__ import annotations

import re

from dragoman.dialects.base.match_lines import matched_lines
from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import CALLED, body, by_hand, one_of, single, words
from dragoman.model import operations as op, outcomes as out

NO_MATCHES = re.compile(
    r"(?:Error executing (?:tool Search|search|ripgrep): )*No matches found for pattern .*", re.DOTALL
)


_TOLD = re.compile(r'Search results for pattern ".*?"(?: in files matching ".*?")?:\n\n(.*)', re.DOTALL)
_CUT = re.compile(r"(.*)\n\n\[Results truncated: [^\n]*?(?: of (\d+) matches)?\]", re.DOTALL)


def _matches_written(outcome: out.MatchesOutcome, asked: op.SearchText) -> str | None:
    if outcome.mode != "content":
        return None
    wanted = f'"{asked.pattern}"' + ("" if asked.include is None else f' in files matching "{asked.include}"')
    lines = matched_lines(outcome.matches)
    if not lines:
        return f"No matches found for pattern {wanted}."
    told = f"Search results for pattern {wanted}:\n\n" + "\n".join(lines)
    counted = "" if outcome.total is None else f" of {outcome.total} matches"
    return f"{told}\n\n[Results truncated: showing {len(lines)}{counted}]" if outcome.truncated else f"{told}\n"


def _matches_read(text: str, _asked: op.SearchText) -> out.Outcome | None:
    if NO_MATCHES.fullmatch(text):
        return out.MatchesOutcome(())
    found = _TOLD.fullmatch(text)
    if found is None:
        return None
    cut = _CUT.fullmatch(found[1])
    body = cut[1] if cut else found[1].removesuffix("\n")
    lines = [re.fullmatch(r"(.+?):(\d+):(.*)", line, re.DOTALL) for line in body.split("\n")]
    if not all(lines):
        return out.TextOutcome(text)
    matches = tuple(out.Match(line[1], int(line[2]), line[3]) for line in lines if line is not None)
    return out.MatchesOutcome(matches, total=int(cut[2]) if cut and cut[2] else None, truncated=cut is not None)


class Search(Spelling[op.SearchText]):
    """Search file contents with a regular expression. Ignored files are skipped."""

    native_name = "Search"
    unsaid = {"case_sensitive": "it is said in the expression"}

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder or file to search in.", default=".")
    file_pattern: str | None = means("include", "Only files that match this glob.", default=None)

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            says=("mode",),
            nearly={
                "matches": "lines around a match and columns are not given",
                "total": "it is said of matches that were cut",
                "truncated": "that nothing is shown of what was cut is not said",
            },
        )
    )


class Fetch(Spelling[op.FetchPage]):
    """Fetch a web page as Markdown."""

    native_name = "Fetch"
    unsaid = {
        "format": "it is always Markdown",
        "timeout_ms": "there is no parameter for it",
    }

    url: str = means("url", "URL of the page.")

    results = one_of(
        single(out.PagesOutcome, words(out.Page, "{text}", url=CALLED, text=body(or_nothing=True)), answer=None),
        default_first=True,
    )
