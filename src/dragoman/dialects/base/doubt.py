"""Doubt about listings and files: a sentence where names should be is a message, and cells in tags are no notebook.

Tools that print bare names give no sign by which their output is known, so a reader of theirs takes any text for names.
What a version nobody has seen says instead ("Directory does not exist: nope") is told from them here, for all readers:
an outcome that lists a sentence first is not believed, and the result stays text.
"""

from __future__ import annotations

import re

from dragoman.model import outcomes as out

DOUBTED = frozenset({out.DirectoryOutcome, out.PathsOutcome, out.MatchesOutcome, out.FileOutcome})
"""Outcomes that are lists of names, or the text of a file."""
_CELL = re.compile(r"<(?:markdown|code|raw)_cell\b")
"""How a client tells of a notebook (Kilo 7.7.7), which is JSON."""

_TELLING = re.compile(
    r"\b(?:not|no|cannot|could|can't|does|doesn't|exists?|found|failed|error|denied|was|were|is|are|please|successfully"
    r"|unable|invalid|went|nothing)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"\.\w{1,8}\Z")


def is_sentence(name: str) -> bool:
    """Whether a name reads like a message: three words or more that tell something and do not end as a file does."""
    words = name.split()
    if len(words) < 3:
        return False
    if ": " in name or name.endswith((".", "!", "?", ":")):
        return True
    return _TELLING.search(name) is not None and _ENDING.search(name) is None


def is_doubtful(outcome: out.Outcome) -> bool:
    """Whether a list of names begins with a sentence, or a notebook with a cell in a client's own words."""
    match outcome:
        case out.FileOutcome(path=path, text=text):
            return path.endswith(".ipynb") and _CELL.match(text) is not None
        case out.DirectoryOutcome(entries=(first, *_)):
            return is_sentence(first.path)
        case out.PathsOutcome(paths=(first, *_)):
            return is_sentence(first)
        case out.MatchesOutcome(matches=(first, *_)):
            return is_sentence(first.path)
    return False
