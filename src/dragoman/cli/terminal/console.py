"""What every command shares: its output, its exit codes, its errors, its configuration.

Rule: text that is not ours never steers the terminal. Everything is written through `foreign`, which makes control
characters visible, and no text is ever read as markup.
"""

from __future__ import annotations

import enum
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from dragoman.cli import stopping
from dragoman.cli.stopping import exit_code, signals_heard
from dragoman.errors import DragomanError, EngineError, LimitReached, LogError, StorageError, ToolError, nearest

from .streams import naming_output, stdout

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console as RichConsole

    from dragoman.config import Configuration


class ExitCode(enum.IntEnum):
    """What the exit code of every command means."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    OK = 0, "done"
    NO = 1, "no match, difference found, check failed or refused"
    USAGE = 2, "wrong usage"
    DEFINITION = 3, "a setting, a definition or a plugin is wrong, or a part is missing"
    ENGINE = 4, "a provider or the network failed"
    LOG = 5, "a log cannot be read"
    LIMIT = 6, "a limit stopped the run: rounds, tokens, cost, length"
    TOOL = 7, "a tool failed"
    WAITING = 8, "a call waits for your approval or your answer"
    STORAGE = 9, "a file cannot be read or written: disk full, read-only, no permission"
    FAULT = 70, "dragoman itself failed"
    HUNG_UP = 129, "the terminal was closed"
    INTERRUPTED = 130, "interrupted with Ctrl-C"
    PIPE = 141, "the reader closed the pipe"
    TERMINATED = 143, "terminated (SIGTERM)"


def exit_code_of(error: DragomanError) -> ExitCode:
    codes = {
        EngineError: ExitCode.ENGINE,
        LogError: ExitCode.LOG,
        StorageError: ExitCode.STORAGE,
        LimitReached: ExitCode.LIMIT,
        ToolError: ExitCode.TOOL,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ExitCode.DEFINITION)


# --- text that is not ours ---------------------------------------------------------------------------------------

# C0 and C1 (escape sequences, carriage return, backspace), DEL, line and paragraph separators, everything that turns
# the direction of text, invisible marks, tags (text nobody sees), and lone surrogates, which cannot be written.
_UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_STEERING: Final = re.compile(f"[{_UNSAFE}]")
_STEERING_OR_BREAK: Final = re.compile(f"[\t\n{_UNSAFE}]")


def foreign(text: str, *, one_line: bool = False) -> str:
    """Text from anywhere, safe to show: what would steer a terminal is written out, as `\\x1b`.

    Line breaks and tabs stay, unless it must be `one_line`.
    """
    return (_STEERING_OR_BREAK if one_line else _STEERING).sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


# --- the console -------------------------------------------------------------------------------------------------

_STYLES: Final = {"error": "1;31", "warning": "1;33", "good": "32", "bad": "31", "strong": "1", "quiet": "2"}
_NARROW: Final = 60
_BLOCK: Final = 1000


class Console:
    """Where a command writes to. Results go to standard output, everything said about them to standard error."""

    def __init__(self) -> None:
        self.debug = False
        self.owns_process = False
        """Whether this process was started for the command, and no program of a user called it."""
        self.flags: Mapping[str, object] = {}
        self._configuration: Configuration | None = None

    def configuration(self) -> Configuration:
        """The settings that hold for this call; what the user should know about them is said once."""
        if self._configuration is None:
            from dragoman import config

            self._configuration = config.load(flags=self.flags)
            config.use(self._configuration)
            for warning in self._configuration.warnings:
                self.warn(warning)
        return self._configuration

    def line(self, text: str = "", style: str | None = None) -> None:
        self._write(stdout(), text, style)

    def diff(self, text: str) -> None:
        """A unified diff, added and removed lines in colour."""
        from dragoman.tools.workspace import marked_lines

        for mark, line in marked_lines(text):
            self.line(line, {"+": "good", "-": "bad", "@": "quiet"}.get(mark))

    def note(self, text: str) -> None:
        """Something said beside the result. Two spaces stand before a command or a column: such lines stay whole."""
        if "  " not in text and sys.stderr.isatty():
            text = _wrapped(text, 0, width_of(sys.stderr))
        self._write(sys.stderr, text, "quiet")

    def warn(self, text: str) -> None:
        self._write(sys.stderr, text, label="warning")

    def error(self, text: str) -> None:
        self._write(sys.stderr, text, label="error")

    def _write(self, stream: TextIO, text: str, style: str | None = None, *, label: str | None = None) -> None:
        head = self.styled(stream, f"{label}:", label) + " " if label else ""
        safe = foreign(text)
        if label and stream.isatty():
            safe = _wrapped(safe, len(label) + 2, width_of(stream))
        with naming_output(stream):
            stream.write(f"{head}{self.styled(stream, safe, style)}\n")

    def styled(self, stream: TextIO, text: str, style: str | None) -> str:
        """Text that is safe already, in a style of ours where the stream is coloured."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and self.coloured(stream) else text

    def coloured(self, stream: TextIO) -> bool:
        """A flag or a setting decides; else NO_COLOR, then FORCE_COLOR; else whether this is a terminal."""
        chosen = self.flags.get("colour")
        if chosen is None and self._configuration is not None:
            chosen = self._configuration.settings.colour
        if chosen in ("always", "never"):
            return chosen == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return stream.isatty() and os.environ.get("TERM") != "dumb"

    def json(self, value: Any) -> None:
        """One JSON document for machines: UTF-8 whatever the locale says, and no text is lost."""
        content = as_json(value)
        if stdout().isatty():
            # JSON leaves some of what steers a terminal as it is. Written out, it is the same JSON.
            content = _STEERING.sub(_written_in_json, content.decode()).encode()
        self.encoded(content)

    def encoded(self, content: bytes) -> None:
        """A result that is bytes already, as a line."""
        stream = stdout()
        with naming_output(stream):
            stream.flush()
            stream.buffer.write(content + b"\n")
            stream.buffer.flush()

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, optional: Sequence[str] = ()) -> None:
        """Columns that fit the terminal; whole lines when it is a pipe, whatever their length.

        Rows from an iterator are printed as they come: the first ones decide how wide the columns are. Columns that are
        `optional` are left out on a terminal too narrow for all of them, the first of them first; that is said.
        """
        cells = ([foreign(cell, one_line=True) for cell in row] for row in rows)
        first = list(cells if isinstance(rows, Sequence) else islice(cells, _BLOCK))
        if not stdout().isatty():
            self._plain_table(columns, first, cells)
            return
        rich = self._rich(stdout())
        kept = _fitting(columns, first, optional, rich.width)
        if len(kept) < len(columns):
            left_out = [name for name in columns if name not in kept]
            places = [place for place, name in enumerate(columns) if name in kept]
            first = [[row[place] for place in places] for row in first]
            cells = ([row[place] for place in places] for row in cells)
            columns = kept
            self.note(f"A wider terminal shows more: {', '.join(left_out)}.")
        widths = None if rich.width < _NARROW else _widths(columns, first, rich.width)
        show = self._stacked if widths is None else partial(self._rich_table, rich, widths)
        show(columns, first)
        while block := list(islice(cells, _BLOCK)):
            show(columns, block)

    def _plain_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], more: Iterable[Sequence[str]] = ()
    ) -> None:
        widths = [max(len(row[index]) for row in [columns, *rows]) for index in range(len(columns))]
        for style, row in chain([("strong", columns)], ((None, row) for row in chain(rows, more))):
            padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.line(padded.rstrip(), style)

    def _stacked(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for row in rows:
            self.line(f"{columns[0]}: {row[0]}", "strong")
            for name, cell in zip(columns[1:], row[1:], strict=True):
                if cell:
                    self.line(_without_torn_words(f"  {name}: {cell}", width_of(stdout())))

    def _rich_table(
        self, rich: RichConsole, widths: Sequence[int], columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold" if self.coloured(stdout()) else "")
        for name, width in zip(columns, widths, strict=True):
            table.add_column(Text(name), overflow="fold", width=width)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        rich.print(table)

    def _rich(self, stream: TextIO) -> RichConsole:
        from rich.console import Console as RichConsole

        return RichConsole(
            file=stream,
            force_terminal=stream.isatty(),
            no_color=not self.coloured(stream),
            markup=False,
            emoji=False,
            highlight=False,
        )

    @contextmanager
    def progress(self, description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Shows how far long work is, on a terminal and on standard error only. Call what it gives with each step.

        Work that is soon done, such as looking at logs of which none has changed, shows nothing.
        """
        if not sys.stderr.isatty():
            yield lambda steps: None
            return
        done, lock, bar = 0, threading.Lock(), ExitStack()
        show: Callable[[int], None] | None = None

        def start() -> None:
            nonlocal show
            with lock:
                if is_waiting:
                    show = bar.enter_context(self._bar(description, total))
                    show(done)

        def step(steps: int) -> None:
            nonlocal done
            done += steps
            if show is not None:
                show(done)

        is_waiting, timer = True, threading.Timer(_SOON, start)
        timer.daemon = True
        timer.start()
        try:
            yield step
        finally:
            timer.cancel()
            with lock:
                is_waiting = False
                bar.close()

    @contextmanager
    def _bar(self, description: str, total: int | None) -> Iterator[Callable[[int], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._rich(sys.stderr), transient=True) as shown:
            task = shown.add_task(foreign(description, one_line=True), total=total)
            yield lambda done: shown.update(task, completed=done)


_SOON: Final = 0.4
"""Seconds that work takes before it is shown how far it is."""


_GAP: Final = 2
_TORN: Final = 16
_WHOLE: Final = re.compile(r"[\w.,:$%@+-][\w.,:$%@+/-]{0,47}")
"""Ids, names of models and numbers: half of one is of no use to anybody who copies it."""
"""Columns from which on a word of a table may be torn, such as a path."""


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """How wide each column of a table is, so that it fits and no short word, id, name or number is torn.

    `None` where that is not possible.
    """
    from rich.cells import cell_len

    wanted, least = [], []
    for index, name in enumerate(columns):
        cells = [name, *(row[index] for row in rows)]
        words = [word for cell in cells for word in cell.split()] or [""]
        wanted.append(max(map(cell_len, cells)))
        whole = max((cell_len(word) for word in words if _WHOLE.fullmatch(word)), default=0)
        least.append(max(cell_len(name), whole, min(_TORN, max(map(cell_len, words)))))
    room = width - _GAP * (len(columns) - 1)
    if sum(wanted) <= room:
        return wanted
    left = room - sum(least)
    if left < 0:
        return None
    widths = list(least)
    by_need = sorted(range(len(columns)), key=lambda index: wanted[index] - least[index])
    for number, index in enumerate(by_need):  # those that need little get it whole, the others share the rest
        given = min(wanted[index] - least[index], left // (len(columns) - number))
        widths[index] += given
        left -= given
    return widths


def _fitting(
    columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str], width: int
) -> Sequence[str]:
    """The columns without as many of the optional ones as must go so that no word is torn."""
    kept = list(columns)
    left = [name for name in optional if name in columns]
    while left and _widths(kept, [[row[columns.index(name)] for name in kept] for row in rows], width) is None:
        kept.remove(left.pop(0))
    return kept


def width_of(stream: TextIO) -> int:
    """Columns of a terminal; 80 of anything else."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _without_torn_words(line: str, columns: int) -> str:
    """A line as several, where it is longer than the terminal is wide."""
    from textwrap import fill

    return fill(line, columns, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _wrapped(text: str, taken: int, columns: int) -> str:
    """Lines whose words are not torn apart at a terminal's edge; `taken` columns of the first are used already."""
    from textwrap import fill

    lines = []
    for number, line in enumerate(text.split("\n")):
        indent = line[: len(line) - len(line.lstrip(" -"))]
        lines.append(
            fill(
                line,
                columns,
                initial_indent="" if number else " " * taken,
                subsequent_indent=" " * len(indent),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)[taken:]


def as_json(value: Any) -> bytes:
    """Plain data and paths. What is neither is an error, so that nothing secret is written by accident."""
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=os.fspath)
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value, enc_hook=os.fspath)
        # A lone surrogate has no UTF-8; backslashreplace writes it as JSON's own escape.
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _written_in_json(match: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(match[0]))


def _utf16(character: str) -> Iterator[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(encoded), 2):
        yield int.from_bytes(encoded[index : index + 2], "big")


def here() -> Path:
    """The folder the command was started in."""
    from dragoman.config.files import current_folder

    return current_folder()


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
"""`--json`, the same for every command that has it."""


def _complete_setting(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.config import known_settings

    return [f"{key}=" for key, _ in known_settings() if key.startswith(incomplete)]


def _read_flags(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, object]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise click.BadParameter(f'"{wrong[0]}" is not of the form KEY=VALUE.')
    return {key.strip(): value for key, _, value in (pair.partition("=") for pair in pairs)}


set_option = click.option(
    "--set",
    "flags",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_read_flags,
    shell_complete=_complete_setting,
    help="Change a setting for this call, for example policy.timeout=5. May be repeated.",
)


# --- errors ------------------------------------------------------------------------------------------------------


def reported(console: Console, run: Callable[[], Any]) -> int:
    """Runs a command. Whatever happens becomes an exit code, and one clear message when it went wrong."""
    with _prepared_streams():
        try:
            with signals_heard():
                return _reported(console, run)
        except KeyboardInterrupt:  # a signal that came between being heard and the first line of `_reported`
            return _interrupted(console)


def _reported(console: Console, run: Callable[[], Any]) -> int:
    try:
        code = run()
        with naming_output(stdout()):
            stdout().flush()
        return exit_code(code) if code == ExitCode.INTERRUPTED else int(code or ExitCode.OK)
    except BrokenPipeError:
        _discard_output()
        return ExitCode.PIPE
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(console)
    except Exception as error:  # noqa: BLE001 - the outermost place: there is nobody else to tell
        if stopping.is_cause_of(error):
            return _interrupted(console)
        if console.debug:
            import traceback

            sys.stderr.write(foreign(traceback.format_exc()))
        return _explained(console, error)


def _interrupted(console: Console) -> int:
    _discard_output()
    if sys.stderr.isatty():
        sys.stderr.write("\n")  # after the terminal's own ^C
    console.error(stopping.words())
    return exit_code(ExitCode.INTERRUPTED)


def _explained(console: Console, error: Exception) -> int:
    match error:
        case click.ClickException():
            console.error(_usage(error))
            if isinstance(error, click.UsageError) and error.ctx is not None:
                console.note(f"See: {error.ctx.command_path} --help")
            return error.exit_code
        case DragomanError():
            console.error(str(error))
            return exit_code_of(error)
        case OSError():
            file = "standard output" if _discard_output() else error.filename
            console.error(f"{f'{file}: ' if file is not None else ''}{error.strerror or error}")
            return ExitCode.STORAGE
        case _:
            console.error(f"{type(error).__name__}: {error}")
            console.note("This is a fault in dragoman or in a plugin. `dragoman --debug …` shows where it happened.")
            return ExitCode.FAULT


_CLICKS_WORDS: Final = (
    (re.compile(r"is not a valid float range\.$"), "is not a number."),
    (re.compile(r"is not a valid (integer|integer range)\.$"), "is not a whole number."),
    (re.compile(r"(\S+) is not in the range x>=(\S+)\.$"), r"\1 is too small: it must be at least \2."),
    (re.compile(r"(\S+) is not in the range x>(\S+)\.$"), r"\1 is too small: it must be more than \2."),
    (re.compile(r"(\S+) is not in the range (\S+)<=x<=(\S+)\.$"), r"\1 is out of range: it must be from \2 to \3."),
)


def _usage(error: click.ClickException) -> str:
    """What was wrong with a command line, in the words of our other messages."""
    if isinstance(error, click.NoSuchOption):
        return f'There is no option "{error.option_name}".{nearest(error.option_name, error.possibilities or ())}'
    message = error.format_message()
    for theirs, ours in _CLICKS_WORDS:
        message = theirs.sub(ours, message)
    return message


class _Aside(io.TextIOWrapper):
    """Standard error that never fails: notes which cannot be written (full disk, closed terminal) are dropped.

    What is said beside a result must not cost the result, nor change the exit code.
    """

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            _discard(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _discard(self)


@contextmanager
def _prepared_streams() -> Iterator[None]:
    """The three streams in a state every command can rely on, even when whoever started us closed them."""
    before = sys.stdin, sys.stdout, sys.stderr
    with ExitStack() as stack:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, stack.enter_context(open(os.devnull, mode, encoding="utf-8")))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        if isinstance(sys.stderr, io.TextIOWrapper):
            sys.stderr = stack.enter_context(_aside_of(sys.stderr))
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


@contextmanager
def _aside_of(stream: io.TextIOWrapper) -> Iterator[_Aside]:
    with suppress(OSError):
        stream.flush()
    aside = _Aside(stream.buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=True)
    try:
        yield aside
    finally:
        aside.flush()
        aside.detach()  # else the buffer, which is not ours, would be closed with it


def _discard_output() -> bool:
    """Whether standard output is what cannot be written; then what is still buffered is dropped.

    Without this, Python tries again at the end and complains.
    """
    try:
        stdout().flush()
    except OSError:
        _discard(stdout())
        return True
    return False


def _discard(stream: TextIO) -> None:
    """Sends what a stream still holds, and all that follows, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
