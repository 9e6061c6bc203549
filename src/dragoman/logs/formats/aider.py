"""aider's chat history (0.86.2): `.aider.chat.history.md` in a project, one Markdown file for all its sessions.

`> ` lines are the program's words, `#### ` lines the user's, all others the model's: a line that the model itself
begins with `> ` cannot be told from the program's. There are no tools: edits are SEARCH/REPLACE blocks or whole files
in the model's words, and are read as calls. There are no times but that of the start, which is local and has no zone,
and tokens from a thousand on are rounded: those are left out, and what was written stands in the usage's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LogFormat, LogReader, Sample, WholeFileReader
from dragoman.logs.base.listing import files_below
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import NativeCall, NativeResult, Usage, events as ev

CLIENT: Final = "aider"
FILE: Final = ".aider.chat.history.md"
_START: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_SEARCH: Final = re.compile(r"<{5,9} SEARCH\s*")
_DIVIDER: Final = re.compile(r"={5,9}\s*")
_REPLACE: Final = re.compile(r">{5,9} REPLACE\s*")
_FENCE: Final = re.compile(r"(`{3,})\w*\s*")
_MODEL: Final = re.compile(r"(?:Main model|Model): (\S+) with (\S+) edit format")
_TOKENS: Final = re.compile(r"Tokens: (.*? received)\.(?: Cost: \$(\d{1,15}(?:\.\d+)?) message)?")
_COUNT: Final = re.compile(r"(?<![\d.,])([\d.,]{1,20})(k|M)? (sent|cache write|cache hit|received)")
_APPLIED: Final = re.compile(r"Applied edit to (.+)")
_FAILED: Final = re.compile(r"## \w+: This SEARCH block failed to exactly match lines in (.+)")
_COUNTS: Final = re.compile(r"[A-Z][\w ]{0,40}: [\d.,]+[kM]? [a-z ]{1,40}, [\d.,]+[kM]? [a-z]")
_COUNTED: Final = re.compile(r"(?<![$\w.,])[\d.,]{1,20}[kM]? ([a-z]{1,20}(?: [a-z]{1,20}){0,3})")
_LABEL: Final = re.compile(r"([A-Z][\w ]{0,40}): \$?\d")
_OPENS: Final = re.compile(r"<{5,9} ([A-Z]+)\s*")
_CLOSES: Final = re.compile(r">{5,9} ([A-Z]+)\s*")
_RULE: Final = re.compile(r"([-=+*#~_|])\1{4,8}\s*")


class Aider(LogFormat):
    """The format; see the module. It lies in projects, so there is no folder to look in: name one in the settings."""

    name = CLIENT
    dialect = CLIENT
    endings = (FILE,)
    # Its edits are text: a call gets its name and those of its arguments from the dialect.
    own_words = ("search_replace", "whole_file", "path", "search", "replace", "content")

    def recognise(self, sample: Sample) -> float:
        first = sample.head.lstrip()[:200].decode("utf-8", "replace").partition("\n")[0]
        if _START.fullmatch(first):
            return 0.95
        # No other program writes such a file: if its chats begin in another way, it is reported as unreadable.
        return 0.5 if sample.path.name == FILE and first.lower().startswith("# aider ") else 0.0

    def text_records(self, data: bytes) -> Iterator[tuple[dict[str, Any], int, int]]:
        return _marks(data)

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_below(home, FILE)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


class _Reader(WholeFileReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.normaliser = Normaliser(CLIENT, CLIENT, path.stem)
        self._folder = str(path.absolute().parent)
        self._session: str | None = None
        self._version: str | None = None
        self._model: str | None = None
        self._whole_files = False
        self._waiting: dict[str, list[str]] = {}
        """File → the edits of it that have no result yet."""

    def whole(self, data: bytes) -> Iterator[ev.AnyEvent]:
        if data.strip() and not any(_START.fullmatch(row) for row in data.decode("utf-8", "replace").splitlines()):
            reason = "no chat is said to have started in it"
            yield self.normaliser.unreadable(ev.Source(str(self._path), 0, len(data)), reason)
            return
        for kind, text, offset, length in _parts(data):
            source = ev.Source(str(self._path), offset, length)
            started = _START.fullmatch(text) if kind == "start" else None
            if started is not None:
                folder = Path(self._folder).name
                self._session = f"{folder}-{started[1].replace(' ', 'T')}"
                self._version, self._whole_files = None, False
                self._waiting.clear()
                place = self._place(source)
                place.time = moment(started[1])
                yield self.normaliser.event(ev.SessionStarted, place, cwd=self._folder, dialect=CLIENT)
            elif kind == "user":
                yield self.normaliser.event(ev.UserSaid, self._place(source), text=text)
            elif kind == "program":
                yield from self._noted(text, self._place(source))
            else:
                yield from self._said(text, self._place(source))

    def _place(self, source: ev.Source) -> Place:
        return Place(source, f"@{source.offset}", self._session, version=self._version)

    def _said(self, text: str, place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(ev.ModelSaid, place, text=text, model=self._model)
        found = _whole_files(text) if self._whole_files else _replacements(text)
        for number, (path, given) in enumerate(found):
            id = f"edit{place.source.offset}.{number}"
            name = "whole_file" if self._whole_files else "search_replace"
            self._waiting.setdefault(path, []).append(id)
            yield self.normaliser.called(place, NativeCall(id, name, {"path": path, **given}))

    def _noted(self, text: str, place: Place) -> Iterator[ev.AnyEvent]:
        applied, failed, model, tokens = (
            _APPLIED.fullmatch(text),
            _FAILED.search(text),
            _MODEL.fullmatch(text),
            _TOKENS.match(text),
        )
        if applied is not None:
            for id in self._waiting.pop(applied[1].strip(), []):
                yield self.normaliser.returned(place, NativeResult(id, text, is_error=False))
        elif failed is not None:
            for id in self._waiting.pop(failed[1].strip(), [])[:1]:
                yield self.normaliser.returned(place, NativeResult(id, text, is_error=True))
        elif model is not None:
            self._model, self._whole_files = model[1], model[2] == "whole"
            yield self.normaliser.event(ev.ModelChanged, place, model=model[1], settings={"edit_format": model[2]})
        elif tokens is not None:
            cost = float(tokens[2] or 0) or None
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(tokens[1]), model=self._model, cost=cost)
        elif text.startswith("Aider v"):
            self._version = text.removeprefix("Aider v").strip()
            place.version = self._version
        if place.number == 0:
            yield self.normaliser.event(ev.ClientNoted, place, name="note", data={"text": text})


def _marks(data: bytes) -> Iterator[tuple[dict[str, Any], int, int]]:
    """What drift compares: a chat, a reply, a block, an edit and a count of tokens, each with the marks it has.

    What models and users may leave out (an answer that was broken off, an edit that was declined) is no record: one is
    made where a mark is there, or words in another form that can only stand in its place.
    """
    chat: dict[str, Any] | None = {"type": "chat"}
    prompt: dict[str, Any] = {}
    waiting: set[str] = set()
    edit_format: str | None = None
    for kind, text, offset, length in _parts(data):
        found: list[dict[str, Any]] = []
        if kind == "start":
            chat, prompt = {"type": "chat"}, {}
            waiting.clear()
            edit_format = None
        elif kind == "user":
            prompt = {"prompt": True}
        elif kind == "model":
            found = [*([] if chat is None else [chat]), {"type": "reply", **prompt}, *_blocks(text)]
            chat = None
            waiting |= {path for path, _ in (_whole_files if edit_format == "whole" else _replacements)(text)}
        elif (model := _MODEL.fullmatch(text)) is not None:
            edit_format = model[2]
            chat = None if chat is None else {**chat, "model": True}
        elif text.startswith("Aider v"):
            chat = None if chat is None else {**chat, "version": True}
        elif _COUNTS.match(text):
            others = {_name(what) for what in _COUNTED.findall(text)} - {"cache_write", "cache_hit"}
            labels = {_name(label) for label in _LABEL.findall(text)} - {"Cost"}
            found = [{"type": "tokens", **dict.fromkeys(sorted(others | labels), True)}]
        else:
            found = [*_edits(text, waiting, is_read=edit_format in ("diff", "whole"))]
        for one in found:
            yield one, offset, length


def _blocks(text: str) -> Iterator[dict[str, Any]]:
    """Blocks between two marks, by the words of those marks; `HEAD` is git's own."""
    opened: str | None = None
    rule: dict[str, Any] | None = None
    for row in text.split("\n"):
        if (opens := _OPENS.fullmatch(row)) is not None:
            opened, rule = opens[1], None
        elif opened is not None and _RULE.fullmatch(row):
            rule = {"divider": True} if _DIVIDER.fullmatch(row) else rule or {}
        elif opened is not None and rule is not None and (closes := _CLOSES.fullmatch(row)) is not None:
            if opened != "HEAD":
                yield {"type": "block", opened: True, closes[1]: True, **rule}
            opened = None


def _edits(text: str, waiting: set[str], *, is_read: bool) -> Iterator[dict[str, Any]]:
    """What a note says of a file that an answer changes. One that was left as it is has no result."""
    read = _APPLIED.fullmatch(text) or _FAILED.search(text)
    if read is not None:
        path = read[1].strip()
        if path in waiting or (is_read and _APPLIED.fullmatch(text)):
            yield {"type": "edit", "result": True, **({"path": True} if path in waiting else {})}
        waiting.discard(path)
        return
    for row in text.split("\n"):
        before, _, last = row.rstrip().rpartition(" ")
        path = last.strip("`\"'.,:;!()")
        if path in waiting and _name(before) and not before.startswith(("Skipping", "Did not")):
            waiting.discard(path)
            yield {"type": "edit", "path": True, _name(before): True}


def _name(words: str) -> str:
    """Words as the name of a field."""
    return "_".join(re.findall(r"[A-Za-z]+", words)[:4])


def _replacements(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The SEARCH/REPLACE blocks of an answer: each below the path of its file, which stands above the fence, if any."""
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        if not _SEARCH.fullmatch(rows[at]):
            at += 1
            continue
        above = at - 2 if at and _FENCE.fullmatch(rows[at - 1]) else at - 1
        old, at = _until(rows, at + 1, _DIVIDER.fullmatch)
        new, at = _until(rows, at, _REPLACE.fullmatch) if old is not None else (None, at)
        path = rows[above].strip() if above >= 0 else ""
        if old is not None and new is not None and path:
            yield path, {"search": old, "replace": new}


def _whole_files(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of an answer: each a fenced text with its path on the line above."""
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        fence = _FENCE.fullmatch(rows[at])
        path = rows[at - 1].strip() if at else ""
        at += 1
        if fence is not None:
            content, at = _until(rows, at, lambda row, mark=fence[1]: row.rstrip() == mark)  # type: ignore[misc]
            if content is not None and path and not path.endswith((".", ":")):
                yield path, {"content": content}


def _until(rows: list[str], begin: int, ends: Callable[[str], object]) -> tuple[str | None, int]:
    """The lines up to one that ends them, and where the next begins; `None` where none does."""
    for at in range(begin, len(rows)):
        if ends(rows[at]):
            return "".join(f"{row}\n" for row in rows[begin:at]), at + 1
    return None, len(rows)


def _parts(data: bytes) -> Iterator[tuple[str, str, int, int]]:
    """Stretches of one speaker: who it is, the words, where they begin and how many bytes they are.

    Each note of the program's is one: its first line begins with `> `, and its last ends with two spaces.
    """
    mark = b"\xef\xbb\xbf"
    held: list[str] = []
    kind, begin, offset, open_note = "model", 0, 0, False

    def told() -> Iterator[tuple[str, str, int, int]]:
        text = "\n".join(held).strip("\n")
        if text.strip():
            yield kind, text, begin, offset - begin

    for raw in data.split(b"\n"):
        line, length = (
            raw.removeprefix(mark if offset == 0 else b"").decode("utf-8", "replace").rstrip("\r"),
            len(raw) + 1,
        )
        if open_note:
            now = "program"
        elif _START.fullmatch(line):
            now = "start"
        elif line.startswith("#### "):
            now = "user"
        else:
            now = "program" if line.startswith("> ") or line == ">" else "model"
        if not open_note and (now != kind or now in ("program", "start")):
            yield from told()
            held, kind, begin = [], now, offset
        if now == "program":
            words = line if open_note else line.removeprefix(">").removeprefix(" ")
            held.append(words.removesuffix("  "))
            # A note of several lines is quoted on its first line alone (0.86.2).
            open_note = not line.endswith("  ")
        else:
            held.append(line.removeprefix("#### ").rstrip() if now == "user" else line)
        offset += length
    offset = len(data)
    yield from told()


def _usage(text: str) -> Usage:
    exact: dict[str, int] = {}
    rounded: dict[str, Any] = {}
    for number, unit, what in _COUNT.findall(text):
        digits = number.replace(",", "")
        if unit or not digits.isdecimal():
            rounded[what] = f"{number}{unit}"
        else:
            exact[what] = int(digits)
    return Usage(
        input_tokens=exact.get("sent"),
        cached_read_tokens=exact.get("cache hit"),
        cached_write_tokens=exact.get("cache write"),
        output_tokens=exact.get("received"),
        metadata={CLIENT: rounded} if rounded else {},
    )


FORMAT = Aider()
