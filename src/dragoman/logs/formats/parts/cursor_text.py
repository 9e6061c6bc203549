"""Cursor's old transcripts, in plain text: `agent-transcripts/<session>.txt`.

From samples that people published (November 2026).

`user:` and `assistant:` stand on lines of their own; in a reply, lines that begin with `[Thinking]`, `[Tool call] NAME`
and `[Tool result] NAME` open its parts, and the parameters of a call are indented by two spaces. What a call gave is
left out: a mark says that it came back. Nothing says where a thought ends. It is taken to end where a line follows
another without a blank line between them and is no item of a list, as in every sample: the answer stands there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import WholeFileReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import FinishReason, NativeCall, NativeResult, events as ev

BEGIN: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*user:[ \t]*\r?\n")
_SPEAKER: Final = re.compile(r"(?:\A\ufeff?|(?<=\n))(user|assistant|A):[ \t]*\r?\n")
_MARK: Final = re.compile(r"^\[(Thinking|Tool call|Tool result)\]", re.MULTILINE)
_NAMED: Final = re.compile(r"[ \t]*(\S*)[ \t]*\r?(?:\n|\Z)")
_PARAMETER: Final = re.compile(r"^  ([A-Za-z_-][\w-]*)(?:: ?|=)", re.MULTILINE)
_ITEM: Final = re.compile(r"\s|[-*+•|>#`]|\d+[.)]\s")

_NOTED: Final = {"Thinking": "Thinking", "Tool call": "Tool_call", "Tool result": "Tool_result"}
"""The marks, as drift names them."""
_LIKE_A_MARK: Final = re.compile(r"^\[([A-Z][a-z]{1,20}(?: [a-z]{1,20})?)\](?=\s)", re.MULTILINE)
_LIKE_A_SPEAKER: Final = re.compile(r"(?:\A|(?<=\n\n))([a-z]{2,20}):[ \t]*\n")

Parameters = Callable[[str], frozenset[str]]
"""Tool → the names its parameters may have; none for an unknown tool."""
Asked = Callable[[dict[str, Any], Place], ev.AnyEvent]


def marks_of(data: bytes) -> Iterator[tuple[dict[str, Any], int, int]]:
    """What drift compares: who speaks in a transcript, and the marks in it.

    Models begin lines with brackets, too: one that nobody knows is a mark if it is there more than once, or begins with
    the first word of a known one.
    """
    text = _clean(data.decode("utf-8", "surrogateescape")).replace("\r\n", "\n").removeprefix("\ufeff")
    speakers = {one[1] for one in _SPEAKER.finditer(text) if _is_apart(text, one.start())}
    if speakers <= {"user"}:
        speakers |= {one[1] for one in _LIKE_A_SPEAKER.finditer(text)}
    elif "A" in speakers:
        speakers = speakers - {"A"} | {"assistant"}
    marks = Counter(one[1] for one in _LIKE_A_MARK.finditer(text))
    first_words = {mark.partition(" ")[0] for mark in _NOTED}
    found = {
        _NOTED.get(mark, mark.replace(" ", "_"))
        for mark, count in marks.items()
        if mark in _NOTED or count > 1 or mark.partition(" ")[0] in first_words
    }
    yield {"type": "transcript", **dict.fromkeys(sorted(speakers | found), True)}, 0, len(data)


class TextTranscript(WholeFileReader):
    """Reads one; `asked` makes the event of what the user said, and `parameters` tells a parameter from a line."""

    def __init__(self, path: Path, normaliser: Normaliser, asked: Asked, parameters: Parameters) -> None:
        super().__init__(path)
        self.normaliser = normaliser
        self._asked, self._parameters = asked, parameters
        self._waiting: list[tuple[str, str]] = []
        """(tool, call id) of the calls without a mark that they came back."""

    def whole(self, data: bytes) -> Iterator[ev.AnyEvent]:
        text = data.decode("utf-8", "surrogateescape")
        found = [one for one in _SPEAKER.finditer(text) if _is_apart(text, one.start())]
        if any(one[1] == "assistant" for one in found):
            found = [one for one in found if one[1] != "A"]
        if not found:
            if data.strip():
                yield self.normaliser.unreadable(ev.Source(str(self._path), 0, len(data)), "nobody speaks in it")
            return
        ends = [*(one.start() for one in found[1:]), len(text)]
        starts = [0, *ends[:-1]]
        begin = 0
        for number, (speaker, start, end) in enumerate(zip(found, starts, ends, strict=True)):
            length = len(text[start:end].encode("utf-8", "surrogateescape"))
            place = Place(ev.Source(str(self._path), begin, length), f"@{begin}", self._path.stem)
            begin += length
            if number == 0:
                yield self.normaliser.event(ev.SessionStarted, place)
            before, said = place.number, _clean(text[speaker.end() : end])
            if speaker[1] == "user":
                yield self._asked({"type": "text", "text": said.strip("\r\n")}, place)
            else:
                yield from self._reply(said, place)
            if place.number == before:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{speaker[1]}/empty")

    def _reply(self, said: str, place: Place) -> Iterator[ev.AnyEvent]:
        marks = list(_MARK.finditer(said))
        ends = [*(mark.start() for mark in marks), len(said)]
        yield from self._words(said[: ends[0]], place)
        called = False
        for mark, end in zip(marks, ends[1:], strict=True):
            part = said[mark.end() : end]
            if mark[1] == "Thinking":
                thought, answer = _parted(part.strip("\r\n"))
                yield self.normaliser.event(ev.ModelThought, place, text=thought, hidden=not thought)
                yield from self._words(answer, place)
                continue
            named = _NAMED.match(part)
            name = named[1] if named is not None else ""
            body = part[named.end() :] if named is not None else part
            if mark[1] == "Tool call":
                called = True
                id = f"{place.key}.{place.number}"
                self._waiting.append((name, id))
                last = end == len(said) or said[end:].startswith("[Tool result]")
                given = _arguments(body, self._parameters(name), is_last=last)
                yield self.normaliser.called(place, NativeCall(id, name, given))
            else:
                if called:
                    yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)
                called = False
                yield self._returned(name, body.strip("\r\n"), place)
        if called:
            yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)

    def _words(self, words: str, place: Place) -> Iterator[ev.AnyEvent]:
        words = words.strip("\r\n")
        if words:
            yield self.normaliser.event(ev.ModelSaid, place, text=words)

    def _returned(self, name: str, told: str, place: Place) -> ev.AnyEvent:
        """A result with what it says, which no sample has; or a note, since the transcript does not say what it was."""
        mine = next((one for one in self._waiting if name in (one[0], "")), None)
        if mine is not None:
            self._waiting.remove(mine)
        if not told or mine is None:
            return self.normaliser.event(ev.ClientNoted, place, name="tool_result", data={"tool": name, "text": told})
        return self.normaliser.returned(place, NativeResult(mine[1], told))


def _is_apart(text: str, start: int) -> bool:
    """Whether a line that names a speaker stands after a blank one, or is the first: else it is a part of a text."""
    return not text[:start].strip("\ufeff\r\n \t") or text[:start].replace("\r", "").endswith("\n\n")


def _parted(text: str) -> tuple[str, str]:
    """A thought and the answer after it; see the module."""
    lines = text.split("\n")
    for number in range(1, len(lines)):
        before, line = lines[number - 1].strip(), lines[number]
        if (before or number == 1) and line.strip() and not _ITEM.match(line):
            return _clean("\n".join(lines[:number])).strip(), "\n".join(lines[number:])
    return text.strip(), ""


def _arguments(body: str, known: frozenset[str], *, is_last: bool) -> dict[str, str] | str:
    """The parameters of a call, or the text it has instead. A value of several lines goes on until the next parameter
    that the tool has."""
    found: list[re.Match[str]] = []
    for one in _PARAMETER.finditer(body):
        is_new = one[1] not in {other[1] for other in found}
        if is_new and (not found or not known or one[1] in known):
            found.append(one)
    if not found:
        return _clean(body).strip("\r\n") or {}
    ends = [*(one.start() for one in found[1:]), len(body)]
    given = {one[1]: body[one.end() : end].removesuffix("\n") for one, end in zip(found, ends, strict=True)}
    if is_last:
        last = found[-1][1]
        given[last] = given[last].removesuffix("\n")  # the blank line between a message and the next
    return {name: _clean(value) for name, value in given.items()}


def _clean(text: str) -> str:
    """A text as it may be told, whatever bytes it was."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
