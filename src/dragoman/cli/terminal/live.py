"""What a run looks like while it runs: text as it streams, calls as they are made, and what it all took.

The model's text is the result and goes to standard output; all else is said beside it, on standard error. So a pipe
gets the text alone, and a terminal shows both in their order, the text as the Markdown it is. `JsonLines` is the same
for machines.

Rule: a terminal shows text as it comes, and says when an answer broke off and begins anew. What is written to a pipe or
a file cannot be taken back, so there an answer is written once it is complete.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from dragoman.model import Call, ExecutedBy, Failure, events as ev, operations as op, request as req

from .call_lines import MOST_LINES, Line, as_printed, cut, said_of, told_of
from .console import Console, foreign, width_of
from .markdown_stream import MarkdownStream
from .streams import stdout
from .visible import wrapped

if TYPE_CHECKING:
    from dragoman.engine import RunResult
    from dragoman.errors import EngineError

    from .type_ahead import TypeAhead


class View(Protocol):
    """Whoever is told of a run."""

    def begins(self, text: str) -> None: ...
    def chunk(self, chunk: req.AnyChunk) -> None: ...
    def event(self, event: ev.AnyEvent) -> None: ...
    def notice(self, error: EngineError, wait: float) -> None: ...
    def progress(self, what: str, done: int, whole: int) -> None: ...
    def pause(self) -> None: ...
    def held(self) -> AbstractContextManager[None]: ...
    def asked(self, call: Call) -> None: ...
    def ended(self, result: RunResult, seconds: float) -> None: ...
    def close(self) -> None: ...


class JsonLines:
    """Each event as one line of JSON, in the very form of a recording."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def event(self, event: ev.AnyEvent) -> None:
        self._console.json(event)

    def notice(self, error: EngineError, wait: float) -> None:
        self._console.warn(retry_notice(error, wait))

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begins(self, text: str) -> None: ...
    def chunk(self, chunk: req.AnyChunk) -> None: ...
    def progress(self, what: str, done: int, whole: int) -> None: ...
    def pause(self) -> None: ...
    def asked(self, call: Call) -> None: ...
    def ended(self, result: RunResult, seconds: float) -> None: ...
    def close(self) -> None: ...


class Lines:
    """For people: on a terminal, with a line that shows what is going on; in a pipe, plain lines."""

    def __init__(self, console: Console, *, answers: bool = True) -> None:
        self._console = console
        self._answers = answers
        """Whether the model's text is printed as it comes."""
        self._status = Status(console) if _is_lively(sys.stderr) else None
        self._markdown = MarkdownStream(console, stdout()) if _is_lively(stdout()) else None
        self._doing_now = ""
        """What a model in this process does before it answers, as it was told last."""
        self._open: TextIO | None = None
        """Where a line has begun and not ended."""
        self._style: str | None = None
        self._running: dict[str, Call] = {}
        self._last: str | None = None
        """The call that was spoken of last."""
        self._seen: set[str] = set()
        """Calls whose change was shown when the user was asked."""
        self._output: dict[str, list[str]] = {}
        """What a command wrote, by its call, as far as it was shown."""
        self._parts: dict[str, str] = {}
        """The line each running command has begun and not ended."""
        self._held: list[Line] | None = None
        self._answering = 0.0
        """Seconds that the user took to answer questions of this turn."""
        self.typing: TypeAhead | None = None
        self._incomplete: list[str] | None = None if stdout().isatty() else []
        """The text of an answer that is still coming, where it is not shown as it comes."""

    @contextmanager
    def reading(self, typing: TypeAhead) -> Iterator[None]:
        """While a turn runs, keeps what is typed for later; what was begun is shown at the bottom."""
        self.typing = typing
        if self._status is not None:
            self._status.begun = lambda: typing.begun
        try:
            with typing.reading():
                yield
        finally:
            self.typing = None

    # ── what is told ───────────────────────────────────────────────────────

    def begins(self, text: str) -> None:
        self._aside(self._wrapped(text), "quiet")

    def chunk(self, chunk: req.AnyChunk) -> None:
        if isinstance(chunk, req.TextChunk | req.RefusalChunk):
            if not self._answers:
                return
            if self._incomplete is None:
                self._stream(stdout(), chunk.text, None)
            else:
                self._incomplete.append(chunk.text)
        elif isinstance(chunk, req.ThinkingChunk):
            if sys.stderr.isatty():
                self._stream(sys.stderr, chunk.text, "quiet")
        elif isinstance(chunk, req.CallStarted):
            self._busy(f"{chunk.name} is being called")
        elif isinstance(chunk, req.Restarted):
            if self._incomplete is not None:
                self._incomplete.clear()
            self._aside(f"The answer broke off ({chunk.reason}) and starts again:", "quiet")

    def event(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ModelAsked(model=model):
                self._busy(f"waiting for {model}")
            case ev.ModelFinished(stream=stream):
                if stream == "main":
                    self._complete()
                self._end_line()
                self._sources(event)
                self._busy(None)
            case ev.ToolCalled():
                self._called(event)
            case ev.ToolReturned():
                self._returned(event)
            case ev.ToolProgressed():
                self._progressed(event)
            case ev.ContextCompacted(trigger="auto"):
                self.begins(f"{event.description}.")
            case ev.SessionEnded(stream="main"):
                self._give_up()

    def _progressed(self, event: ev.ToolProgressed) -> None:
        """A tool told something on its way: of a command, that is what it writes."""
        call = self._running.get(event.call_id or "")
        if call is None:
            return
        as_it_comes = any(isinstance(one, op.RunCommand) for one in call.operations)
        text = self._parts.pop(call.id, "") + event.message
        text += "" if as_it_comes or text.endswith("\n") else "\n"
        *lines, self._parts[call.id] = text.split("\n")
        for line in lines:
            self._wrote(call, as_printed(line))

    def _wrote(self, call: Call, line: str) -> None:
        shown = self._output.setdefault(call.id, [])
        shown.append(line)
        if len(shown) <= MOST_LINES:
            if self._last != call.id:
                self._head(call)
            self._aside(f"  {_bar()} {line}")

    def notice(self, error: EngineError, wait: float) -> None:
        self._end_line()
        self._clear()
        self._console.warn(f"{retry_notice(error, wait)} (Ctrl-C stops)")

    def progress(self, what: str, done: int, whole: int) -> None:
        """How far a model in this process is; told from any thread."""
        new, self._doing_now = what != self._doing_now, what
        if self._status is not None:
            self._status.label(_how_far(what, done, whole))
        elif new and what != "reading the prompt":
            sys.stderr.write(f"{_how_far(what, 0, whole)}\n")

    def pause(self) -> None:
        """Somebody else is about to write."""
        self._end_line()
        self._busy(None)

    def _complete(self) -> None:
        """An answer is complete: nothing takes it back any more."""
        if self._incomplete:
            text = "".join(self._incomplete)
            self._incomplete.clear()
            self._stream(stdout(), text, None)

    def _give_up(self) -> None:
        """An answer that is not complete never will be."""
        if self._incomplete:
            length = sum(map(len, self._incomplete))
            self._incomplete.clear()
            self._aside(f"The answer broke off after {length:,} characters, which are not printed.", "quiet")

    @contextmanager
    def held(self) -> Iterator[None]:
        """While somebody else has the terminal, what there is to tell waits."""
        self.pause()
        self._held, self._last = [], None
        began = time.monotonic()
        try:
            with nullcontext() if self.typing is None else self.typing.suspended():
                yield
        finally:
            self._answering += time.monotonic() - began
            waited, self._held = self._held, None
            for text, style in waited:
                self._aside(text, style)
            self._busy(self._doing())

    def asked(self, call: Call) -> None:
        """The user was shown what a call would do: it need not be shown again."""
        self._seen.add(call.id)

    def ended(self, result: RunResult, seconds: float) -> None:
        """The last line of a turn. `seconds` is by the clock; what the user took to answer is not counted."""
        self.pause()
        seconds, self._answering = max(0.0, seconds - self._answering), 0.0
        rounds = f"{result.rounds} round{'s' * (result.rounds != 1)}"
        self._aside(self._wrapped(rounds, *bill([result]), f"{seconds:.1f} s"), "quiet")

    def close(self) -> None:
        self.pause()
        if self._status is not None:
            self._status.close()

    # ── calls ──────────────────────────────────────────────────────────────

    def _called(self, event: ev.ToolCalled) -> None:
        call = event.call
        self._running[call.id] = call
        self._head(call)
        self._busy(self._doing())

    def _head(self, call: Call) -> None:
        who = " (the provider does it)" if call.native.executed_by is ExecutedBy.PROVIDER else ""
        self._aside(self._fitted(f"{_bullet()} {foreign(said_of(call), one_line=True)}{who}"), "strong")
        self._last = call.id

    def _doing(self) -> str | None:
        calls = list(self._running.values())
        if len(calls) > 1:
            return f"{len(calls)} calls are running"
        return foreign(said_of(calls[0]), one_line=True) if calls else None

    def _returned(self, event: ev.ToolReturned) -> None:
        result = event.result
        call = self._running.pop(result.call_id, None)
        if call is None and all(isinstance(one, Failure) and one.kind == "cancelled" for one in result.outcomes):
            return  # it was never begun, so nobody heard of it
        rest = self._parts.pop(result.call_id, "")
        if call is not None and rest:
            self._wrote(call, as_printed(rest))
        if call is not None and self._last != call.id:
            self._head(call)
        shown = self._output.pop(result.call_id, None)
        if shown is not None and len(shown) > MOST_LINES:
            for line, style in list(cut(shown))[MOST_LINES * 3 // 4 :]:
                self._aside(f"  {_bar()} {line}", style)
        done = not any(isinstance(one, Failure) for one in result.outcomes)
        diffs = not (done and result.call_id in self._seen)
        for line, style in told_of(result.outcomes, result.duration, output=shown is None, diffs=diffs):
            self._aside(f"  {line}" if done else self._indented(line), style)
        self._busy(self._doing())

    def _sources(self, event: ev.ModelFinished) -> None:
        citations = event.reply.citations if event.reply is not None else ()
        urls = dict.fromkeys(citation.url for citation in citations if citation.url)
        for number, url in enumerate(urls, 1):
            self._aside(f"  [{number}] {url}", "quiet")

    # ── writing ────────────────────────────────────────────────────────────

    def _stream(self, stream: TextIO, text: str, style: str | None) -> None:
        """A piece of a text that goes on."""
        if not text:
            return
        if self._held is not None:
            self._held.append((text.rstrip("\n"), style))
            return
        self._clear()
        if self._open is not None and (self._open is not stream or self._style != style):
            self._end_line()
        if self._markdown is not None and stream is stdout():
            self._markdown.write(foreign(text))
        else:
            stream.write(self._console.styled(stream, foreign(text), style))
            stream.flush()
        self._open, self._style = (None if text.endswith("\n") else stream), style

    def _end_line(self) -> None:
        if self._markdown is not None:
            if self._open is stdout():
                self._open = None
            self._markdown.end()
        if self._open is not None:
            self._open.write("\n")
            self._open.flush()
            self._open = None

    def _aside(self, text: str, style: str | None = None) -> None:
        if self._held is not None:
            self._held.append((text, style))
            return
        self._end_line()
        self._clear()
        stdout().flush()
        sys.stderr.write(self._console.styled(sys.stderr, foreign(text), style) + "\n")
        sys.stderr.flush()

    def _fitted(self, text: str) -> str:
        """One line of the terminal, whatever its width; as it is elsewhere."""
        return fitted(text, width_of(sys.stderr)) if sys.stderr.isatty() else text

    def _wrapped(self, *parts: str) -> str:
        """A text, or several with dots between them, not torn apart within a word or a part at the terminal's edge."""
        from textwrap import fill

        between = " · " if speaks(sys.stderr, "·") else ", "
        if not sys.stderr.isatty():
            return between.join(parts)
        text = between.join(part.replace(" ", "\xa0") for part in parts) if len(parts) > 1 else parts[0]
        return fill(text, width_of(sys.stderr), break_long_words=False, break_on_hyphens=False).replace("\xa0", " ")

    def _indented(self, text: str) -> str:
        """Lines below the head of a call; on a terminal, not torn apart within a word."""
        width = width_of(sys.stderr) - 2 if sys.stderr.isatty() else None
        rows = (row for line in text.split("\n") for row in (wrapped(line, width, words=True) if width else (line,)))
        return "\n".join(f"  {row}".rstrip() for row in rows)

    def _clear(self) -> None:
        if self._status is not None:
            self._status.clear()

    def _busy(self, label: str | None) -> None:
        if self._status is not None and self._held is None:
            self._status.show(
                label, ready=lambda: self._open is None and (self._markdown is None or not self._markdown.open)
            )


class Status:
    """One line at the bottom that says what is going on; it leaves no trace."""

    _FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._label: str | None = None
        self._since = 0.0
        self._drawn = False
        self._ready: Any = lambda: True
        self._timer: asyncio.TimerHandle | None = None
        self.begun: Callable[[], str] = str
        """What the user has typed so far for the next turn."""

    def show(self, label: str | None, *, ready: Any) -> None:
        self.clear()
        self._label, self._ready, self._since = label, ready, time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if label is not None:
            # Not at once: what takes no time needs no word, and nothing flickers.
            self._timer = asyncio.get_running_loop().call_later(0.4, self._draw)

    def label(self, label: str) -> None:
        """Says what is going on now in other words, where something is."""
        if self._label is not None:
            self._label = label

    def _draw(self) -> None:
        if self._label is None:
            return
        if self._ready():
            seconds = time.monotonic() - self._since
            frames = self._FRAMES if speaks(sys.stderr, self._FRAMES) else "-\\|/"
            frame = frames[int(seconds * 10) % len(frames)]
            begun = self.begun().replace("\n", " ")[-40:]
            text = f"{frame} {self._label} {seconds:.0f} s{f'  > {begun}' if begun else ''}"
            text = fitted(text, width_of(sys.stderr) - 1)
            sys.stderr.write(f"\r\x1b[2K{self._console.styled(sys.stderr, foreign(text), 'quiet')}")
            sys.stderr.flush()
            self._drawn = True
        self._timer = asyncio.get_running_loop().call_later(0.1, self._draw)

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._drawn = False

    def close(self) -> None:
        self.clear()
        self._label = None
        if self._timer is not None:
            self._timer.cancel()


def retry_notice(error: EngineError, wait: float) -> str:
    """What went wrong, how long the provider asks to wait, and what is done."""
    asked = error.retry_after
    longer = f"; it asks for a wait of {asked:.15g} s" if asked is not None and asked > wait else ""
    return f"{error}{longer}; trying again in {wait:.1f} s"


def _how_far(what: str, done: int, whole: int) -> str:
    if not whole:
        return what
    if what == "reading the prompt":
        return f"{what}: {done:,} of {whole:,} tokens"
    verb = "" if what == "checking" else "fetching from "
    return f"{verb}{what}: {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB"


def _is_lively(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def speaks(stream: TextIO, text: str) -> bool:
    """Whether a stream has these characters."""
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _bullet() -> str:
    return "●" if speaks(sys.stderr, "●") else "*"


def _bar() -> str:
    return "│" if speaks(sys.stderr, "│") else "|"


def fitted(text: str, width: int) -> str:
    """A line of at most so many columns, its end replaced where it is longer."""
    from rich.cells import cell_len, set_cell_size

    end = "…" if speaks(sys.stderr, "…") else "..."
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - len(end))) + end


def _dollars(amount: float) -> str:
    return f"${amount:.4f}" if 0 < amount < 1 else f"${amount:.2f}"


def bill(results: Sequence[RunResult]) -> list[str]:
    """The tokens of some runs, what they cost, and what the provider's prompt cache saved, by the makers' prices."""
    usage = sum((result.usage for result in results[1:]), results[0].usage)
    told = []
    if usage.total is not None:
        read = usage.cached_read_tokens
        counts = [count for count in (usage.input_tokens, read, usage.cached_write_tokens) if count is not None]
        cached = f" ({read:,} of them cached)" if read else ""
        told += [f"{sum(counts):,} tokens in{cached}", f"{usage.output_tokens or 0:,} out"]
    cost, saved = (_sum(amounts) for amounts in zip(*((one.cost, one.saved) for one in results), strict=True))
    told.append("cost not known" if cost is None else _dollars(cost))
    if saved is not None and saved > 0:
        told[-1] += f" ({_dollars(saved)} saved at list price by the prompt cache)"
    return told


def _sum(amounts: Sequence[float | None]) -> float | None:
    """The sum, where all are known."""
    return None if None in amounts else sum(amount for amount in amounts if amount is not None)
