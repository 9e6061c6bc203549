"""Sessions on the whole screen of a terminal: a list, and the transcript of the one that was opened.

Rules: text of a log never steers the terminal (`foreign`). Only lines on the screen are drawn; calls are folded
to one line until they are opened.
"""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import msgspec
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, UIContent, UIControl, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.styles import Style

from dragoman.logs import SessionRow
from dragoman.logs.export import Conversation, Said, dollars, duration

from .console import foreign
from .visible import short, wrapped

_STYLE: Final = {
    "bar": "reverse",
    "at": "bg:ansibrightblack fg:ansiwhite",
    "quiet": "fg:ansibrightblack",
    "strong": "bold",
    "user": "bold fg:ansicyan",
    "bad": "fg:ansired",
    "good": "fg:ansigreen",
    "plus": "fg:ansigreen",
    "minus": "fg:ansired",
}
_LIST_KEYS: Final = "↑↓ move · Enter open · / filter · q quit"
_SESSION_KEYS: Final = "↑↓ move · Enter fold · n N failure · t T turn · a all · ← back · q quit"
_NARROWEST: Final = 20
_AHEAD: Final = 8
"""Lines of a failure that are shown at once."""
_KINDS: Final = {
    "user": "you",
    "model": "model",
    "thought": "thinks",
    "error": "error",
    "system": "system",
}

Costs = Mapping[str, tuple[float | None, int, int | None]]
"""Session → what it cost, and how many of its exchanges have no known price."""
Line = tuple[str, str]
"""A style and a text."""


class Entry(msgspec.Struct):
    """One entry of a transcript: a heading that is always shown, and what folds away below it."""

    depth: int
    style: str
    head: str
    body: list[Line]
    folded: bool
    failed: bool = False
    begins_turn: bool = False


def entries_of(conversation: Conversation, depth: int = 0) -> Iterator[Entry]:
    """The entries of a conversation; agents stand below the call that started them."""
    for part in conversation.parts:
        is_first = part.number is not None
        for said in part.said:
            if said.kind == "usage":
                continue
            yield _entry(said, depth, begins_turn=is_first)
            is_first = False
            for agent in said.agents:
                yield Entry(depth + 1, "strong", f"agent {agent.stream}: {agent.title}", [], folded=False)
                yield from entries_of(agent, depth + 1)
    for agent in conversation.agents:
        yield Entry(depth + 1, "strong", f"agent {agent.stream}: {agent.title}", [], folded=False)
        yield from entries_of(agent, depth + 1)


def _entry(said: Said, depth: int, *, begins_turn: bool) -> Entry:
    body = [line for block in said.blocks for line in _block(block.kind, block.label, block.text)]
    if said.kind == "call":
        facts = [said.result or "", "" if said.seconds is None else duration(said.seconds)]
        about = "  ".join(one for one in facts if one)
        head = f"→ {said.title}{f'  ({about})' if about else ''}"
        return Entry(
            depth, "bad" if said.failed else "", head, body, folded=True, failed=said.failed, begins_turn=begins_turn
        )
    # What a client or another agent said, nobody did who sits here; a note says nothing but what it is about.
    is_told = said.kind == "note" or (said.kind == "user" and said.title != "User")
    title = said.title if is_told else _KINDS[said.kind]
    clock = f"  {said.time}" if said.time else ""
    style = {"user": "user", "error": "bad", "model": "strong"}.get(said.kind, "quiet")
    is_aside = said.kind in ("thought", "note", "system")
    return Entry(
        depth, style, f"{title}{clock}", body, folded=is_aside, failed=said.kind == "error", begins_turn=begins_turn
    )


def _block(kind: str, label: str | None, text: str) -> Iterator[Line]:
    if label:
        yield "quiet", label
    for line in text.splitlines():
        style = ""
        if kind == "diff":
            style = {"+": "plus", "-": "minus", "@": "quiet"}.get(line[:1], "")
        yield style, line


class Transcript:
    """The entries of one session as lines of a given width."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.at = 0
        """The entry that the cursor is on."""
        self._width = 0
        self._lines: dict[int, list[Line]] = {}
        self._starts: list[int] = []

    def _count(self, place: int) -> int:
        return len(self._laid_out(place))

    def lay_out(self, width: int) -> int:
        """How many lines there are at this width."""
        if width != self._width:
            self._width, self._lines, self._starts = width, {}, []
        if not self._starts:
            self._starts = [0, *accumulate(self._count(place) for place in range(len(self.entries)))]
        return self._starts[-1]

    def _laid_out(self, place: int) -> list[Line]:
        if place not in self._lines:
            entry = self.entries[place]
            indent = "  " * min(entry.depth, 6)
            room = max(_NARROWEST, self._width - len(indent) - 2)
            mark = " " if not entry.body else "▸" if entry.folded else "▾"
            head = short(foreign(entry.head, one_line=True), room)
            lines = [(entry.style, f"{indent}{mark} {head}")]
            if not entry.folded:
                for style, text in entry.body:
                    for piece in wrapped(foreign(text).expandtabs(4), room, words=True):
                        lines.append((style, f"{indent}  {piece}"))
            self._lines[place] = lines
        return self._lines[place]

    def line(self, number: int) -> tuple[int, Line]:
        """A line, and the entry it is of."""
        if not self.entries:
            return 0, ("", "")
        place = bisect_right(self._starts, number) - 1
        return place, self._laid_out(place)[number - self._starts[place]]

    def start(self, place: int) -> int:
        """The first line of an entry."""
        return self._starts[place] if self._starts else 0

    def end(self, place: int) -> int:
        """The line after the last one of an entry."""
        return self._starts[place + 1] if place + 1 < len(self._starts) else 0

    def fold(self, places: Iterable[int], *, folded: bool | None = None) -> None:
        """Folds entries or unfolds them; without `folded`, the other way round."""
        for place in places:
            entry = self.entries[place]
            entry.folded = not entry.folded if folded is None else folded
            self._lines.pop(place, None)
        self._starts = []
        self.lay_out(self._width)

    def next(self, step: int, wanted: Callable[[Entry], bool] = lambda _: True) -> int | None:
        """The next entry, or the one before, that is wanted."""
        places = range(self.at + step, len(self.entries) if step > 0 else -1, step)
        return next((place for place in places if wanted(self.entries[place])), None)


class _Control(UIControl):
    """Lines that are made when they are drawn."""

    def __init__(self, content: Callable[[int], UIContent]) -> None:
        self._content = content

    def create_content(self, width: int, height: int) -> UIContent:
        return self._content(width)

    def is_focusable(self) -> bool:
        return True


class Browser:
    """The program. `rows` are listed; `open_session` gives the conversation of one."""

    def __init__(
        self,
        rows: Sequence[SessionRow],
        open_session: Callable[[SessionRow], Conversation],
        costs: Callable[[Sequence[SessionRow]], Costs] = lambda rows: {},
        start: SessionRow | None = None,
    ) -> None:
        self._all, self._open_session, self._costs_of = rows, open_session, costs
        self._costs: dict[str, tuple[float | None, int, int | None]] = {}
        self._uncounted: dict[str, SessionRow] = {}
        """Sessions that were drawn, and whose cost is not known yet: of all of them it is not asked for."""
        self._ask: Callable[[], object] = lambda: None
        """Has the costs of these counted beside the screen."""
        self._lock = threading.Lock()
        """One thing at a time asks the index: counting what sessions cost goes on beside the screen."""
        self.shown = list(rows)
        self.at = 0
        self.words = ""
        self.is_typing = False
        self.session: SessionRow | None = None
        self.transcript: Transcript | None = None
        self.note = ""
        self._inside = 0
        """How far below its first line the cursor is in a long entry."""
        if start is not None:
            self.open(start)

    # ── what is shown ──────────────────────────────────────────────────────

    def content(self, width: int) -> UIContent:
        """The body of the screen."""
        if self.transcript is not None:
            return self._transcript_content(self.transcript, width)
        return UIContent(
            get_line=lambda number: self._row(number, width),
            line_count=max(1, len(self.shown)),
            cursor_position=Point(0, self.at),
            show_cursor=False,
        )

    def _row(self, number: int, width: int) -> StyleAndTextTuples:
        if number >= len(self.shown):
            return [("class:quiet", "No session fits." if self.words else "No session was found.")]
        row = self.shown[number]
        began = "" if row.started is None else f"{row.started:%Y-%m-%d %H:%M}"
        project = Path(row.repository or row.project or "").name
        failed = f"{row.failures:,} failed" if row.failures else ""
        figures = f"{row.calls:,} calls  {failed:<11} {self._cost(row):>9}"
        about = f"{began:<16}  {(row.client or ''):<12}  {project[:16]:<16}  "
        if width < 100:
            about, figures = f"{began:<16}  {(row.client or '')[:12]:<12}  ", ""
        room = max(10, width - len(about) - len(figures) - 2)
        title = short(foreign(row.title or "Untitled session", one_line=True), room)
        text = f"{foreign(about, one_line=True)}{_padded(title, room)}  {figures}"
        return [("class:at" if number == self.at else "", text)]

    def _cost(self, row: SessionRow) -> str:
        if row.session not in self._costs:
            self._uncounted[row.session] = row
            self._ask()
        cost, unpriced, _ = self._costs.get(row.session, (None, 0, None))
        return "" if cost is None else f"{dollars(cost)}{'+' if unpriced else ''}"

    def _transcript_content(self, transcript: Transcript, width: int) -> UIContent:
        count = transcript.lay_out(width)

        def line(number: int) -> StyleAndTextTuples:
            place, (style, text) = transcript.line(number)
            is_head = number == transcript.start(place)
            mark = "class:at" if place == transcript.at and is_head else f"class:{style}" if style else ""
            return [(mark, _padded(text, width) if mark == "class:at" else text)]

        place = transcript.at
        where = min(transcript.start(place) + self._inside, max(transcript.end(place) - 1, 0))
        return UIContent(get_line=line, line_count=max(1, count), cursor_position=Point(0, where), show_cursor=False)

    def head(self) -> StyleAndTextTuples:
        """The line above."""
        if self.session is not None and self.transcript is not None:
            place = f"{self.transcript.at + 1:,} of {len(self.transcript.entries):,}"
            return [
                ("class:bar", f" {foreign(self.session.title or self.session.session, one_line=True)}  ·  {place} ")
            ]
        filtered = (
            f"  ·  filter: {foreign(self.words, one_line=True)}{'▏' if self.is_typing else ''}"
            if self.words or self.is_typing
            else ""
        )
        return [("class:bar", f" {len(self.shown):,} sessions{filtered} ")]

    def foot(self) -> StyleAndTextTuples:
        """The line below."""
        keys = _SESSION_KEYS if self.transcript is not None else _LIST_KEYS
        return [("class:quiet", f" {self.note or keys}")]

    # ── what keys do ───────────────────────────────────────────────────────

    def move(self, step: int) -> None:
        """Up or down: to the next entry, or on inside one that is longer than the screen."""
        self.note = ""
        if self.transcript is None:
            self.at = max(0, min(len(self.shown) - 1, self.at + step))
            return
        transcript = self.transcript
        if abs(step) > 1:
            self._to_line(transcript.start(transcript.at) + self._inside + step)
            return
        height = transcript.end(transcript.at) - transcript.start(transcript.at)
        if 0 <= self._inside + step < height:
            self._inside += step
            return
        place = transcript.next(step)
        if place is not None:
            transcript.at = place
            self._inside = 0 if step > 0 else transcript.end(place) - transcript.start(place) - 1

    def _to_line(self, number: int) -> None:
        transcript = self.transcript
        assert transcript is not None
        last = transcript.end(len(transcript.entries) - 1) - 1 if transcript.entries else 0
        number = max(0, min(last, number))
        if transcript.entries:
            transcript.at = transcript.line(number)[0]
            self._inside = number - transcript.start(transcript.at)

    def edge(self, *, end: bool) -> None:
        """To the first or the last one."""
        if self.transcript is None:
            self.at = max(0, len(self.shown) - 1) if end else 0
        else:
            self._to_line(1 << 60 if end else 0)

    def enter(self) -> None:
        """Opens the session, or folds the entry."""
        if self.transcript is not None:
            if self.transcript.entries:
                self.transcript.fold([self.transcript.at])
                self._inside = 0
        elif self.shown:
            self.open(self.shown[self.at])

    def open(self, row: SessionRow) -> None:
        """Shows a session."""
        with self._lock:
            conversation = self._open_session(row)
        self.session, self.transcript = row, Transcript(list(entries_of(conversation)))
        self._inside = 0
        self.note = ""

    def back(self) -> None:
        """To the list, without its filter if it is shown already."""
        if self.transcript is not None:
            self.session = self.transcript = None
        else:
            self.filter("")
        self.note = ""

    def jump(self, step: int, wanted: Callable[[Entry], bool], words: str) -> None:
        """To the next entry of a kind."""
        if self.transcript is None:
            return
        place = self.transcript.next(step, wanted)
        if place is None:
            self.note = f"no {words} {'below' if step > 0 else 'above'}"
            return
        self.note, self._inside = "", 0
        self.transcript.at = place
        if self.transcript.entries[place].failed:
            self.transcript.fold([place], folded=False)
            # The cursor stands some lines below, so that these are on the screen too.
            self._inside = min(_AHEAD, self.transcript.end(place) - self.transcript.start(place) - 1)

    def fold_all(self) -> None:
        """Unfolds everything, or folds all calls again."""
        if self.transcript is None:
            return
        some = any(entry.folded for entry in self.transcript.entries if entry.body)
        self.transcript.fold(range(len(self.transcript.entries)), folded=not some)
        self._inside = 0

    def filter(self, words: str) -> None:
        """Lists only sessions whose title, project, client, model or id hold all the words."""
        self.words = words
        wanted = words.lower().split()
        self.shown = [row for row in self._all if all(word in _searched(row) for word in wanted)]
        self.at = 0

    # ── the program ────────────────────────────────────────────────────────

    def application(self, **options: Any) -> Application[None]:
        """What prompt_toolkit runs."""
        body = Window(_Control(self.content), wrap_lines=False, always_hide_cursor=True)
        rows = [
            Window(FormattedTextControl(self.head), height=1, style="class:bar"),
            body,
            Window(FormattedTextControl(self.foot), height=1),
        ]
        return Application(
            layout=Layout(HSplit(rows), focused_element=body),
            key_bindings=self._keys(body),
            style=Style.from_dict(_STYLE),
            full_screen=True,
            **options,
        )

    def run(self) -> None:
        """Runs until the user quits."""
        application = self.application()

        async def count() -> None:
            is_asked = asyncio.Event()
            self._ask = is_asked.set
            is_asked.set()
            while True:
                await is_asked.wait()
                is_asked.clear()
                if await asyncio.to_thread(self.count):
                    application.invalidate()

        def begin() -> None:
            application.create_background_task(count())

        application.run(pre_run=begin)

    def count(self) -> bool:
        """Counts what the sessions cost that were drawn without it; whether there were any."""
        rows = list(self._uncounted.values())
        if not rows:
            return False
        with self._lock:
            found = self._costs_of(rows)
        for row in rows:
            self._costs[row.session] = found.get(row.session, (None, 0, None))
            self._uncounted.pop(row.session, None)
        return True

    def _keys(self, body: Window) -> KeyBindings:
        keys = KeyBindings()
        typing = Condition(lambda: self.is_typing)

        def bind(*names: str) -> Callable[[Callable[[], None]], None]:
            def bound(act: Callable[[], None]) -> None:
                for name in names:
                    keys.add(name, filter=~typing)(lambda event: act())

            return bound

        def height() -> int:
            return max(1, (body.render_info.window_height if body.render_info else 20) - 1)

        bind("up", "k")(lambda: self.move(-1))
        bind("down", "j")(lambda: self.move(1))
        bind("pageup")(lambda: self.move(-height()))
        bind("pagedown", "space")(lambda: self.move(height()))
        bind("home", "g")(lambda: self.edge(end=False))
        bind("end", "G")(lambda: self.edge(end=True))
        bind("enter", "right")(self.enter)
        bind("left", "escape", "backspace")(self.back)
        bind("n")(lambda: self.jump(1, lambda entry: entry.failed, "failure"))
        bind("N")(lambda: self.jump(-1, lambda entry: entry.failed, "failure"))
        bind("t")(lambda: self.jump(1, lambda entry: entry.begins_turn, "turn"))
        bind("T")(lambda: self.jump(-1, lambda entry: entry.begins_turn, "turn"))
        bind("a")(self.fold_all)

        @keys.add("/", filter=~typing)
        def _(event: KeyPressEvent) -> None:
            if self.transcript is None:
                self.is_typing = True

        @keys.add("q", filter=~typing)
        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("enter", filter=typing)
        @keys.add("escape", filter=typing, eager=True)
        def _(event: KeyPressEvent) -> None:
            self.is_typing = False

        @keys.add("backspace", filter=typing)
        def _(event: KeyPressEvent) -> None:
            self.filter(self.words[:-1])

        @keys.add("<any>", filter=typing)
        def _(event: KeyPressEvent) -> None:
            if event.data.isprintable():
                self.filter(self.words + event.data)

        return keys


def _searched(row: SessionRow) -> str:
    return " ".join([row.title or "", row.session, row.project or "", row.client or "", *row.models]).lower()


def _padded(text: str, width: int) -> str:
    from rich.cells import cell_len

    return text + " " * max(0, width - cell_len(text))
