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
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

import msgspec

from dragoman.model import NativeResult, operations as op, outcomes as out

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
    r"|unable|invalid|went|nothing|timed|after|exited|killed|rejected|interrupted|cancell?ed|aborted|returned|truncated"
    r"|wrote|written|saved|skipped|started|finished|completed|terminated|blocked|replaced|waiting)\b",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(r"\.\w{1,8}\Z")
_NO_NAME: Final = re.compile(
    r"\s*"  # nothing
    r"|\[\]|\{.*\}|\{\".*|<.*>|[\[{\]}]|\".*"  # JSON, whole or cut off or in lines, a tag
    r"|[\[(].*\s.*[\])]"  # a note in brackets; Next.js has [id] and (group)
    r"|(?:\.\.\.|…)(?:\s.*)?"  # the rest is left out
    r"|\d+ (?:\w+ )?(?:match|file|result|entr|item|hit|line|path)\w*(?::|,.*)?"
    r"|\S*:"  # a heading
    r"|total \d+"  # of `ls -l`
    r"|(?i:exit|return) ?(?i:code|status)\b.*"
)
_MARKED: Final = re.compile(
    r"\s.*"  # indented, as in a tree
    r"|.*[\t`|│├└→\x1b].*"
    r"|(?:[-*•+]|---|\+\+\+|@@|#+) .*"  # items of a list, and changes
    r"|(?:\[[A-Za-z]+\]|[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?|(?i:file|dir|directory|folder|link|f|d|l)) .*"
    r"|.* \((?:file|dir|directory|folder|link|symlink|\d+ (?:line|entr|item|match|file)\w*)\)"
    r"|[-bcdlps](?:[-r][-w][-xsStT]){3}.*"  # `ls -l`
    r"|[\d.,]+ ?(?:[KMGT]i?B?|B) +\S.*"  # sizes and times
    r"|\d{4}-\d\d-\d\d[ T].*"
    r"|.*:\d+(?::.*)?|\d+[:>].*"  # places of matches, and numbers
    r"|\w+://.*"
)
"""Lines that have a name in them, and more than that."""
_WORD_ALONE: Final = re.compile(
    r"(?:ok(?:ay)?|done|success(?:ful)?|none|null|nil|n/a|true|false|undefined|empty|queued|pending|cancell?ed|denied)[.!]?"
    r"|no \w+[.!]?|\W+|\(.*\)|\d+",
    re.IGNORECASE,
)
"""What stands for a whole result and says that there are no names."""


def is_sentence(name: str) -> bool:
    """Whether a name reads like a message: words that tell something and do not end as a file does."""
    if ": " in name:
        return True
    words = name.split()
    if len(words) < 3:
        return False
    if name.endswith((".", "!", "?", ":")):
        return True
    if len(words) > 3 and (_TELLING.fullmatch(words[0]) or _TELLING.fullmatch(words[1])):
        return True  # "Successfully wrote 5 bytes to config.json", "Output saved to out.txt"
    return _TELLING.search(name) is not None and _ENDING.search(name) is None


def _are_names(names: Sequence[str]) -> bool:
    """Whether these may be names: none of them is more than a name, neither the first two nor the last is a message,
    and they are no numbered lines."""
    for name in (*names[:2], names[-1]):
        if is_sentence(name) or _NO_NAME.fullmatch(name):
            return False
    if any(_MARKED.fullmatch(name) for name in names):
        return False
    if len(names) > 1 and "," in names[0] and len({name.count(",") for name in names}) == 1:
        return False  # a table
    alone = names[0] if len(names) == 1 else ""
    if _WORD_ALONE.fullmatch(alone) or ", " in alone:
        return False
    if len(alone.split()) > 2 and "/" not in alone and not _ENDING.search(alone) and "(" not in alone:
        return False  # words in another language
    return not is_numbered(names) and not _are_mostly_numbered(names)


# ── lines ────────────────────────────────────────────────────────────────────

_NUMBER: Final = re.compile(
    r"[ \t]*(?:\x1b\[[\d;]*m)*[ \t]*(?:[Ll]ine )?[\[(L#]?0*(\d{1,7})(?:\x1b\[[\d;]*m)*(?:[→│|:.)\]>\t #-]|\Z)"
)
_MEDIA: Final = re.compile(
    r"\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif|pdf|zip|gz|mp[34]|mov|wav|woff2?|ttf)\Z", re.IGNORECASE
)
_SOURCE: Final = re.compile(
    r"\.(?:py|[cm]?[jt]sx?|rs|go|java|c|cc|cpp|h|hpp|rb|php|sh|md|html?|css|toml|ya?ml|sql|kt)\Z"
)
_MESSAGE: Final = re.compile(
    r"\W{0,2}(?:error|warning|failed|failure|cannot|can't|could not|couldn't|unable|no such|not found|file not|access"
    r"|permission|denied|queued|unchanged|skipped|output saved|task started|this tool|binary|unsupported|viewed"
    r"|image|the file|this file|file is|file does|file exists|file content"
    r"|(?-i:E[A-Z]{3,})(?=:)|no changes|user|interrupted|cancell?ed|aborted|timed out|command|system-reminder"
    r"|tool_use_error)\b",
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
_BAR: Final = re.compile(r"[ \t]*0*(\d{1,7}) ?[→│|]")
_HEADING: Final = 6
_MOSTLY: Final = 4


def _have_numbers(lines: Sequence[str]) -> bool:
    """Whether each line has its number and a bar, however many were left out between them."""
    found = [_BAR.match(line) for line in lines]
    numbers = [int(one[1]) for one in found if one is not None]
    if len(numbers) < len(lines):
        return False
    return all(one < other for one, other in pairwise(numbers)) and (len(numbers) > 1 or "→" in lines[0])


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
        if _MEDIA.search(outcome.path) or _have_numbers([line]) or _NOTE.fullmatch(line):
            return True
        if line.startswith(('{"', '[{"')) and line.endswith(("}", "]")) and _SOURCE.search(outcome.path):
            return True  # what another client says in JSON
        return len(line.split()) > 1 and (_names(outcome.path, line) or (_MESSAGE.match(line) is not None))
    lines = text.removesuffix("\n").split("\n")
    if told.startswith(line) and _is_around(outcome.path, line, lines[-1]):
        return True
    if _are_mostly_numbered(lines) or _have_numbers(lines):
        return "\n".join(lines[:_HEADING]) in told  # else the numbers were taken away, as below
    if _NUMBER.match(line) is None:
        return False
    if not any(is_numbered(lines, first) for first in {outcome.first_line, 1}) and not is_numbered(lines):
        return False
    return f"\n{lines[0]}\n{lines[1]}" in f"\n{told}"  # else the numbers were taken away, and these are the file's own


_RANGE: Final = re.compile(r"\W{0,3}(?:showing |reading |read )?lines? \d+ ?(?:-|–|to|through) ?\d+", re.IGNORECASE)
_NOTE: Final = re.compile(r"\(.*\)|\[object Object\]|\W{0,2}truncated\b.*", re.IGNORECASE)


def _is_around(path: str, first: str, last: str) -> bool:
    """Whether the first line of a text is no line of the file, but says which file or what part of it follows."""
    if _RANGE.match(first):
        return True
    if first.startswith("```"):
        return last == "```" and not path.endswith((".md", ".mdx", ".markdown"))
    return _names(path, first) and (
        first.endswith(":") or (first.startswith(("<", "[")) and first.endswith((">", "]")))
    )


def _names(path: str, line: str) -> bool:
    """Whether a line names the file that it is said to be all of."""
    if len(path) <= 2:
        return False
    before, name, after = line.partition(PurePosixPath(path).name)
    return path in line or (name != "" and not before[-1:].isalnum() and not after[:1].isalnum())


# ── ends ─────────────────────────────────────────────────────────────────────

_NOT_WELL: Final = re.compile(
    r"(?i)\bexit(?:ed)?\b[^\n]{0,16}?\b(?:code|status)\W{1,3}(?!0\b)-?\d+"
    r"|\b(?:exit|return)(?:ed)?(?:[ _]?(?:code|status))?(?: with)?(?: code| status)?\W{1,4}-?[1-9]\d*\b"
    r"|\bnon-?zero (?:exit )?(?:code|status)\b|\b(?:killed|terminated) by signal\b|\bmake: \*\*\* "
    r"|\btimed out after\b|\btimeout of [^\n]{0,16}?exceeded\b|\bstill running (?:after|with|in)\b"
    r"|\b(?:running|started|moved|continues) (?:in|to) (?:the )?background\b"
)
_NOT_RUN: Final = re.compile(
    r"(?i)[^\n]{0,40}\b(?:(?:cancell?ed|interrupted|rejected|denied|blocked|aborted|stopped) by\b|waiting for\b)"
    r"[^\n]{0,80}"
    r"|permission denied: \w+\([^\n]*"
)
"""What a client may say in place of all output."""


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
    if _NOT_RUN.fullmatch(text) is not None:
        return True
    return _NOT_WELL.search(first[:400]) is not None or _NOT_WELL.search(last[-400:]) is not None


# ── all ──────────────────────────────────────────────────────────────────────


def doubted(outcome: out.Outcome, native: NativeResult, asked: Sequence[op.Operation] = ()) -> out.Outcome:
    """The outcome of what was `asked`; a text, or one that says less, where it is not believed."""
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
            believed = not paths or (_are_names(paths) and _end_as(asked, paths))
        case out.MatchesOutcome(matches=matches):
            believed = not matches or _are_matches(matches)
        case _:
            return outcome
    return outcome if believed else out.TextOutcome(text_of(native.content))


_ENDED_BY: Final = re.compile(r"\*(\.\w+)\Z")


def _end_as(asked: Sequence[op.Operation], paths: Sequence[str]) -> bool:
    """Whether files are of the kind that was looked for: what `**/*.py` finds ends in `.py`."""
    wanted = [_ENDED_BY.search(one.pattern) if isinstance(one, op.FindFiles) else None for one in asked]
    endings = tuple(one[1].lower() for one in wanted if one is not None)
    if not endings or len(endings) < len(wanted):
        return True
    return all(path.lower().endswith(endings) for path in (*paths[:2], paths[-1]))


def _are_matches(matches: Sequence[out.Match]) -> bool:
    first = matches[0]
    if first.line is None and first.count is None:
        if first.text is None:
            return _are_names([match.path for match in matches])
        if first.text.startswith(" ") and not re.search(r"[./\\]", first.path):
            return False  # "Error: no such file"
        if is_numbered([f"{match.path}:" for match in matches]):
            return False
        if _PLACED.search(first.path) or first.text.startswith("//") or _COUNTED.fullmatch(first.text):
            return False
    if any(match.line == 0 for match in matches):
        return False  # lines are counted from 1
    return not is_sentence(first.path) and not _NO_NAME.fullmatch(first.path)


_PLACED: Final = re.compile(r"#L\d+|\(\d+(?:,\d+)?\)$|^\d\d:?$|\s\S+\s\S+$")
"""In what should be a path: the line of the match, a time, or words."""
_COUNTED: Final = re.compile(r"\s*(?:\d+ \w+\.?)?")
"""Beside a path: how many matches it has, or nothing as below a heading."""
