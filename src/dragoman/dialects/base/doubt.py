"""Doubt about results: what a reader takes for names, a file or a good end, though the text speaks against it.

Tools that print bare names, or a file as it is, give no sign by which their output is known, so a reader of theirs
takes any text for it. What a version nobody has seen says instead is told from it here, for all readers: a message
where names should be ("Directory does not exist: nope"), lines with their numbers where a file should be, a sentence
about a picture. Such a result stays text. A command that did well because nothing said otherwise has no exit code when
its text says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from dragoman.model import NativeResult, outcomes as out

from .default_words import text_of

DOUBTED: Final = frozenset(
    {out.DirectoryOutcome, out.PathsOutcome, out.MatchesOutcome, out.FileOutcome, out.CommandOutcome}
)
"""Outcomes that are lists of names, the text of a file, or the end of a command."""

_CELL: Final = re.compile(r"<(?:markdown|code|raw)_cell\b")
"""How a client tells of a notebook (Kilo 7.7.7), which is JSON."""

# ── names ────────────────────────────────────────────────────────────────────

_TELLING: Final = re.compile(
    r"\b(?:not|no|cannot|could|can't|does|doesn't|exists?|found|failed|error|denied|was|were|is|are|please|successfully"
    r"|unable|invalid|went|nothing|timed|after|exited|killed|rejected|interrupted|cancell?ed|aborted|returned|truncated)\b",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(r"\.\w{1,8}\Z")
_NO_NAME: Final = re.compile(
    r"\s*"  # nothing
    r"|\[\]|\{.*\}|\{\".*|<.*>"  # JSON, whole or cut off, a tag
    r"|[\[(].*\s.*[\])]"  # a note in brackets; Next.js has [id] and (group)
    r"|(?:\.\.\.|…)(?:\s.*)?"  # the rest is left out
    r"|\d+ (?:\w+ )?(?:match|file|result|entr|item|hit|line|path)\w*"
)


def is_sentence(name: str) -> bool:
    """Whether a name reads like a message: words that tell something and do not end as a file does."""
    if ": " in name:
        return True
    words = name.split()
    if len(words) < 3:
        return False
    if name.endswith((".", "!", "?", ":")):
        return True
    if len(words) > 3 and _TELLING.fullmatch(words[0]):
        return True  # "Successfully wrote 5 bytes to config.json"
    return _TELLING.search(name) is not None and _ENDING.search(name) is None


def _are_names(names: Sequence[str]) -> bool:
    """Whether these may be names: neither the first two nor the last is a message, and they are no numbered lines."""
    for name in (*names[:2], names[-1]):
        if is_sentence(name) or _NO_NAME.fullmatch(name):
            return False
    alone = names[0] if len(names) == 1 else ""
    if len(alone.split()) > 2 and "/" not in alone and not _ENDING.search(alone) and "(" not in alone:
        return False  # words in another language
    return not is_numbered(names) and not _are_mostly_numbered(names)


# ── lines ────────────────────────────────────────────────────────────────────

_NUMBER: Final = re.compile(r"[ \t]*[\[(L#]?0*(\d{1,7})(?:[→│|:.)\]\t #-]|\Z)")
_MEDIA: Final = re.compile(
    r"\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif|pdf|zip|gz|mp[34]|mov|wav|woff2?|ttf)\Z", re.IGNORECASE
)
_MESSAGE: Final = re.compile(
    r"\W{0,2}(?:error|warning|failed|failure|cannot|can't|could not|couldn't|unable|no such|not found|file not|access"
    r"|permission|denied|binary|unsupported|viewed|image|the file|this file|file is|file does|file exists|file content"
    r"|no changes|user|interrupted|cancell?ed|aborted|timed out|command|system-reminder|tool_use_error)\b",
    re.IGNORECASE,
)


def is_numbered(lines: Sequence[str], first: int | None = None) -> bool:
    """Whether there are two lines or more and each begins with its number (counted from `first`, if that is given)."""
    if len(lines) < 2:
        return False
    begin = _NUMBER.match(lines[0])
    if begin is None or (first is not None and int(begin[1]) != first):
        return False
    for number, line in enumerate(lines, int(begin[1])):
        found = _NUMBER.match(line)
        if found is None or int(found[1]) != number:
            return False
    return True


_NUMBER_AND_MARK: Final = re.compile(r"[ \t]*0*(\d{1,7})( ?[→│|\t]|: )")
"""Without the marks of lists in Markdown, which files have of their own."""
_HEADING: Final = 6
_MOSTLY: Final = 4


def _are_mostly_numbered(lines: Sequence[str]) -> bool:
    """Whether numbered lines stand below a heading, or above a note or a line that was cut off."""
    for begin, line in enumerate(lines[:_HEADING]):
        found = _NUMBER_AND_MARK.match(line)
        if found is None:
            continue
        number, count = int(found[1]), 0
        for line in lines[begin:]:
            its = _NUMBER_AND_MARK.match(line)
            if its is None or (int(its[1]), its[2]) != (number + count, found[2]):
                break
            count += 1
        return count >= _MOSTLY and 3 * count >= 2 * len(lines)
    return False


def _is_no_file(outcome: out.FileOutcome, told: str) -> bool:
    """Whether what was taken for the text of a file, as it stands in the result, is something about it."""
    text = outcome.text
    if outcome.path.endswith(".ipynb") and _CELL.match(text):
        return True
    line, _, more = text.partition("\n")
    if not more.strip():
        if not line.strip() or line != told.strip("\r\n"):
            return False
        if _MEDIA.search(outcome.path):
            return True
        return len(line.split()) > 1 and (_names(outcome.path, line) or (_MESSAGE.match(line) is not None))
    lines = text.removesuffix("\n").split("\n")
    if _are_mostly_numbered(lines):
        return "\n".join(lines[:_HEADING]) in told  # else the numbers were taken away, as below
    if _NUMBER.match(line) is None:
        return False
    if not any(is_numbered(lines, first) for first in {outcome.first_line, 1}) and not is_numbered(lines):
        return False
    return f"\n{lines[0]}\n{lines[1]}" in f"\n{told}"  # else the numbers were taken away, and these are the file's own


def _names(path: str, line: str) -> bool:
    """Whether a line names the file that it is said to be all of."""
    return len(path) > 2 and (path in line or PurePosixPath(path).name in line.split("/"))


# ── ends ─────────────────────────────────────────────────────────────────────

_NOT_WELL: Final = re.compile(
    r"(?i)\bexit(?:ed)?\b[^\n]{0,16}?\b(?:code|status)\W{1,3}(?!0\b)-?\d+"
    r"|\bexited with -?[1-9]\d*\b"
    r"|\btimed out after\b|\b(?:running|started|moved|continues) (?:in|to) (?:the )?background\b"
)


_ENDED_SO: Final = re.compile(r"\AChunk ID: [^\n]*\n(?:[^\n]*\n)??Process exited with code (?!0\n)")
"""How Codex heads the output of a command (0.92.0 to 0.166.0)."""


def _ended_otherwise(outcome: out.CommandOutcome, native: NativeResult) -> bool:
    """Whether the first or the last line of a bare text says that a command did not end well, and nothing that it did.

    A client that marks failures says with a mark that it was none (Claude Code 2.1.325, pi 0.74.2).
    """
    if native.is_error is False:
        return False
    text = text_of(native.content).strip()
    if (outcome.output or outcome.stdout or "").strip() != text:
        return False
    first, last = text.partition("\n")[0], text.rpartition("\n")[2]
    if _ENDED_SO.search(text[:400]) is not None:
        return True
    return _NOT_WELL.search(first[:400]) is not None or _NOT_WELL.search(last[-400:]) is not None


# ── all ──────────────────────────────────────────────────────────────────────


def doubted(outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The outcome; a text, or one that says less, where it is not believed."""
    match outcome:
        case out.CommandOutcome(exit_code=0):
            return msgspec.structs.replace(outcome, exit_code=None) if _ended_otherwise(outcome, native) else outcome
        case out.CommandOutcome():
            return outcome
        case out.FileOutcome():
            believed = not _is_no_file(outcome, text_of(native.content))
        case out.DirectoryOutcome(entries=entries):
            believed = not entries or _are_names([one.path for one in entries])
        case out.PathsOutcome(paths=paths):
            believed = not paths or _are_names(paths)
        case out.MatchesOutcome(matches=matches):
            believed = not matches or _are_matches(matches)
        case _:
            return outcome
    return outcome if believed else out.TextOutcome(text_of(native.content))


def _are_matches(matches: Sequence[out.Match]) -> bool:
    first = matches[0]
    if first.line is None and first.count is None:
        if first.text is None:
            return _are_names([match.path for match in matches])
        if first.text.startswith(" ") and not re.search(r"[./\\]", first.path):
            return False  # "Error: no such file"
        if is_numbered([f"{match.path}:" for match in matches]):
            return False
    return not is_sentence(first.path) and not _NO_NAME.fullmatch(first.path)
