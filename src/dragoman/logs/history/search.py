"""Searching logs: in what was said and done, or in the bytes of the records.

Files that cannot hold a match are passed over by ripgrep. Rule: that never loses one. It looks for a piece of what is
wanted that every writer of JSON leaves as it is, and takes a file also when it could be spelled with escapes; a
database, where a text may lie in pieces, is always read.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import msgspec

from dragoman.environment import child_environment
from dragoman.errors import LogError
from dragoman.logs.base.compressed import ENDINGS, open_log
from dragoman.logs.base.format import is_of_lines
from dragoman.logs.base.raw_bytes import Original, Originals
from dragoman.model import NativeResult, events as ev
from dragoman.patterns import Pattern as Expression
from dragoman.registry import FORMATS

from .discover import Found, read_log
from .sessions import numbered

Spans = tuple[tuple[int, int], ...]


class Match(msgspec.Struct, frozen=True):
    """An event that holds what was wanted. `text` is what was searched; `spans` are the places of the matches in it."""

    event: ev.AnyEvent
    text: str
    spans: Spans
    original: Original | None = None


class Pattern:
    """What is wanted: a text as it stands, or a regular expression in Python's syntax.

    Raises `PatternError` when it is no regular expression, or when a text cannot be searched for it in bounded time.
    """

    def __init__(self, text: str, *, regex: bool = False, ignore_case: bool = False) -> None:
        self.text, self.ignore_case = text, ignore_case
        self._spans: Callable[[str], Spans]
        if regex:
            self._spans = Expression(text, ignore_case=ignore_case).spans
        else:
            self._spans = _text_spans(text, ignore_case=ignore_case)
        self.sure = _sure(text) if not regex else _surest(text)
        """A text that every match holds, of characters that no writer escapes; empty when there is none."""

    def spans(self, text: str) -> Spans:
        """Where the matches are."""
        return self._spans(text)


def _text_spans(wanted: str, *, ignore_case: bool) -> Callable[[str], Spans]:
    search = re.compile(re.escape(wanted), re.IGNORECASE if ignore_case else 0)
    return lambda text: tuple(found.span() for found in search.finditer(text) if found.end() > found.start())


# Letters, digits and a little more: quotes, slashes, `<>&'` and what is not ASCII are escaped by one writer or other.
# No space and no mark of JSON: where an event's text is put together of several, it is with these.
_PLAIN = re.compile(r"[A-Za-z0-9_.=+()@#%^~!?$|-]+")
_FOLDED = re.compile(r"[A-HJL-RT-Za-hjl-rt-z0-9_.=+-]+")
"""The same without the letters that in another case are none of ASCII: İ and ı, ſ, and the Kelvin sign."""


def _sure(text: str) -> str:
    return max(_PLAIN.findall(text), key=len, default="")


def _surest(pattern: str) -> str:
    """The longest plain text that a regular expression cannot do without."""
    parsed = _parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE or parsed.state.flags & re.VERBOSE:
        return ""
    runs, run = [""], ""
    for code, value in parsed:
        if code is _constants.LITERAL and _PLAIN.fullmatch(chr(value)):
            run += chr(value)
            runs.append(run)
        else:
            run = ""
    return max(runs, key=len)


_ARGUMENTS = 500_000
"""Bytes of file names given to one ripgrep."""


def candidates(files: Iterable[Found], pattern: Pattern) -> Iterator[Found]:
    """The files that may hold a match, in their order."""
    sure = pattern.sure
    if pattern.ignore_case:
        sure = max(_FOLDED.findall(sure), key=len, default="")
    waiting: list[Found] = []
    size = 0
    for found in files:
        waiting.append(found)
        size += len(str(found.path)) + 9
        if size > _ARGUMENTS:
            yield from _held(waiting, sure, pattern)
            waiting, size = [], 0
    yield from _held(waiting, sure, pattern)


def _held(files: list[Found], sure: str, pattern: Pattern) -> Iterator[Found]:
    wanted = sure.lower() if pattern.ignore_case else sure
    texts = [found for found in files if _tells_by_its_bytes(found, wanted)] if len(sure) > 1 else []
    if not texts:
        yield from files
        return
    from dragoman.tools.processes import ripgrep_path

    case = "--ignore-case" if pattern.ignore_case else "--case-sensitive"
    command = [ripgrep_path(), "--no-config", "--files-with-matches", "--null", "--text", "--no-messages", case]
    # Files that are named are searched whatever rules say; no encoding is guessed.
    command += ["--encoding=none", "-e", re.escape(sure)]
    command += [word for expression in spelled_out(sure) for word in ("-e", expression)] + ["--"]
    command += [str(found.path) for found in texts]
    ran = subprocess.run(command, capture_output=True, check=False, env=child_environment())
    if ran.returncode not in (0, 1) and not ran.stdout:
        yield from files  # it could not look: then nothing is known of any
        return
    held = {name for name in ran.stdout.split(b"\0") if name}
    known = {id(found) for found in texts}
    for found in files:
        if id(found) not in known or str(found.path).encode("utf-8", "surrogateescape") in held:
            yield found


def spelled_out(sure: str) -> tuple[str, str]:
    """Two expressions, one of which matches where a character is spelled as `\\u0041`, beside its neighbour.

    Any writer of JSON may do that; hardly one does, but then the text itself does not stand in the file. The first
    begins with what all such spellings begin with, which is what makes it quick; the second is for the last character.
    """
    codes = [f"u00{ord(letter):02x}" for letter in sure]
    followed = [
        rf"{code[3:]}(?:{re.escape(next)}|\\+{after})"
        for code, next, after in zip(codes[:-1], sure[1:], codes[1:], strict=True)
    ]
    return rf"\\u00(?i:{'|'.join(followed)})", rf"(?i:{re.escape(sure[-2])}|{codes[-2]})\\+(?i:{codes[-1]})"


def _tells_by_its_bytes(found: Found, sure: str) -> bool:
    """Whether this text is in an event of a log only if it is in this file, as text."""
    format = FORMATS[found.format]
    is_text = found.path.suffix != ".db" and found.path.suffix not in ENDINGS
    is_supplied = any(sure in word for word in format.own_words)
    return is_text and not is_supplied and not any(format.companions(found.path)) and found.path.is_file()


Unread = Callable[[LogError], None]
Chosen = Callable[[Iterable[ev.AnyEvent]], Iterable[ev.AnyEvent]]


def grep(
    files: Iterable[Found],
    pattern: Pattern,
    *,
    raw: bool = False,
    chosen: Chosen | None = None,
    unread: Unread | None = None,
    printed: Callable[[ev.AnyEvent], str] | None = None,
) -> Iterator[Match]:
    """The events that hold what is wanted, file by file.

    `raw` looks at the bytes of the records instead, and gives each record once. `chosen` picks from a file's events.
    `printed` is how an event is printed where that is searched too; it has words that are in no file, so all are read.
    A file that cannot be read is told to `unread`, and costs nothing else; without it the error is raised.
    """
    for found in candidates(files, pattern) if printed is None else files:
        with _passing_over(found, unread):
            events: Iterable[ev.AnyEvent] = numbered(read_log(found))
            events = events if chosen is None else chosen(events)
            yield from _raw_matches(events, pattern) if raw else _matches(events, pattern, printed)


def grep_records(files: Iterable[Found], pattern: Pattern, unread: Unread | None = None) -> Iterator[bytes]:
    """The records that hold what is wanted, as they stand in their files; of logs in lines nothing else is read."""
    for found in candidates(files, pattern):
        with _passing_over(found, unread):
            if found.sessions is None and is_of_lines(FORMATS[found.format].reader(found.path)):
                with open_log(found.path) as file:
                    yield from (line for line in file if pattern.spans(line.decode("utf-8", "backslashreplace")))
            else:
                for match in grep([found], pattern, raw=True):
                    yield shown(match.original).encode() if match.original is not None else b""


@contextmanager
def _passing_over(found: Found, unread: Unread | None) -> Iterator[None]:
    """Around what reads one file: it may go away meanwhile, and then the others are still wanted."""
    try:
        yield
    except (LogError, FileNotFoundError) as error:
        told = error if isinstance(error, LogError) else LogError(f"cannot read {found.path}: {error.strerror}")
        if unread is None:
            raise told from error
        unread(told)


def _matches(
    events: Iterable[ev.AnyEvent], pattern: Pattern, printed: Callable[[ev.AnyEvent], str] | None
) -> Iterator[Match]:
    with Originals() as originals:
        for event in events:
            text = words_of(event, originals)
            spans = pattern.spans(text)
            if not spans and printed is not None:
                text = printed(event)
                spans = pattern.spans(text)
            if spans:
                yield Match(event, text, spans)


def _raw_matches(events: Iterable[ev.AnyEvent], pattern: Pattern) -> Iterator[Match]:
    """One match per record: as the event that says it, or the first."""
    seen: set[tuple[int, str | None]] = set()
    with Originals() as originals:
        for source, same in groupby(events, key=lambda event: event.source):
            if source is None or (source.offset, source.row) in seen:
                continue  # what a later record completes is told after it, and belongs to the one before
            seen.add((source.offset, source.row))
            original = originals.of(source)
            if original is None:
                continue
            text = shown(original)
            spans = pattern.spans(text)
            if spans:
                here = list(same)
                saying = next((one for one in here if isinstance(one, ev.ToolCalled | ev.ToolReturned)), here[0])
                yield Match(saying, text, spans, original)


def shown(original: Original) -> str:
    """An original as text; bytes that are none are written out."""
    if isinstance(original, dict):
        return "\n".join(
            cell.decode("utf-8", "backslashreplace") for cell in original.values() if isinstance(cell, bytes)
        )
    return original.decode("utf-8", "backslashreplace")


def words_of(event: ev.AnyEvent, originals: Originals) -> str:
    """What an event says in its log's own words: what was said, called with and given back; no word of ours."""
    match event:
        case ev.UserSaid() | ev.ModelSaid() | ev.ModelThought() | ev.SystemSaid():
            return event.text
        case ev.ToolCalled():
            native = event.call.native
            arguments = native.arguments
            said = [arguments] if isinstance(arguments, str) else [*_texts(arguments)]
            return "\n".join([native.name, *said])
        case ev.ToolReturned(result=result):
            return "" if result.native is None else _content(result.native)
        case ev.ToolProgressed() | ev.ErrorOccurred():
            return event.message
        case ev.ContextCompacted():
            return event.summary or ""
        case ev.CommandInvoked():
            return f"{event.name}\n{event.arguments or ''}"
        case ev.AgentStarted():
            return "\n".join(filter(None, (event.name, event.prompt)))
        case ev.AgentEnded() | ev.Interrupted():
            return event.text or ""
        case ev.SessionEnded():
            return event.message or ""
        case ev.ClientNoted(data=data) if data:
            return "\n".join(_texts(data, names=False))  # the names may be ours
        case ev.ClientNoted() | ev.UnknownRecord() | ev.Unreadable():
            original = None if event.source is None else originals.of(event.source)
            return "" if original is None else shown(original)
        case _:
            return ""


def _content(native: NativeResult) -> str:
    content = native.content
    return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))


def _texts(value: Any, *, names: bool = True) -> Iterator[str]:
    """Every text in a value, in order, the names of its fields among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if names:
                yield str(name)
            yield from _texts(inner, names=names)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, names=names)
