"""What the user of `dragoman chat` types: one input at a time, of one line or several.

Rule: a pasted block is one input. It is put into the line that is edited, and nothing is sent before Enter.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.stopping import Terminated, forget_ctrl_c

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

    from dragoman.cli.runner import Runner

_MAX_LINE: Final = 16 << 20
"""Bytes that one line of standard input may have."""
_SIGN: Final = "> "
_CONTINUED: Final = "... "
_BEGUN: Final = re.compile(r"""(?<![^\s("'])@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))\Z""")
"""The name of a file that is being typed."""
_LISTED: Final = 200
"""Files that are offered to complete a name."""


class Prompt:
    """Reads inputs: on a terminal with an editor, a history and completion; elsewhere line by line."""

    def __init__(
        self, runner: Runner, history: Path, folder: Callable[[], Path], commands: Sequence[str], *, lively: bool
    ) -> None:
        self._runner, self._history, self._folder, self._commands = runner, history, folder, commands
        self._lively = lively
        self._session: PromptSession[str] | None = None

    def next(self, begun: str = "") -> str | None:
        """The next input, or `None` when nothing more will come. `begun` was typed already."""
        lines: list[str] = []
        while True:
            try:
                line = self._line(_CONTINUED if lines else _SIGN, begun)
            except EOFError:
                if sys.stdin.isatty() and not self._lively:
                    sys.stderr.write("\n")
                return "\n".join(lines).strip() if lines else None
            except Terminated:
                raise
            except (KeyboardInterrupt, _Interrupted):
                forget_ctrl_c()
                sys.stderr.write("" if self._lively else "\n")
                if not lines:
                    sys.stderr.write("Ctrl-D ends the conversation.\n")
                lines, begun = [], ""
                continue
            if self._lively or not line.endswith("\\"):
                return "\n".join([*lines, line]).strip()
            lines.append(line[:-1])

    def _line(self, sign: str, begun: str) -> str:
        if self._lively:
            if self._session is None:
                self._session = _made_session(self._history, self._folder, self._commands)
            return self._runner.run(self._session.prompt_async(default=begun, handle_sigint=False))
        if sys.stdin.isatty():
            return input(sign)
        line = sys.stdin.buffer.readline(_MAX_LINE + 1)
        if not line:
            raise EOFError
        if len(line) > _MAX_LINE:
            raise click.UsageError(f"A line of standard input has more than {_MAX_LINE >> 20} MiB.")
        try:
            return line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"A line of standard input is not UTF-8 text (byte {error.start}).") from error


class _Interrupted(Exception):
    """Ctrl-C was typed while the editor had the keyboard. An event loop does not outlive a `KeyboardInterrupt`."""


def _made_session(history: Path, folder: Callable[[], Path], commands: Sequence[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory

    history.parent.mkdir(parents=True, exist_ok=True)
    history.touch(mode=0o600)
    return PromptSession(
        _SIGN,
        multiline=True,
        prompt_continuation=_CONTINUED,
        history=FileHistory(str(history)),
        completer=_completer(folder, commands),
        complete_while_typing=Condition(_completes),
        key_bindings=_keys(),
        reserve_space_for_menu=4,
        interrupt_exception=_Interrupted,
        output=_output(),
    )


def _completes() -> bool:
    """Whether names are offered for what is being typed; only then is room kept for them below it."""
    from prompt_toolkit.application import get_app

    text = get_app().current_buffer.document.text_before_cursor
    return text.startswith("/") or _BEGUN.search(text) is not None


def _output() -> Any:
    """The terminal, as standard error reaches it: standard output may be a file. Its cursor is not asked for, because
    the answer of a slow terminal could be taken for something typed."""
    if sys.platform == "win32":
        from prompt_toolkit.output import create_output

        return create_output(stdout=sys.stderr)
    from prompt_toolkit.data_structures import Size
    from prompt_toolkit.output.vt100 import Vt100_Output

    def size() -> Size:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
        return Size(rows=rows or 24, columns=columns or 80)

    return Vt100_Output(sys.stderr, size, term=os.environ.get("TERM"), enable_cpr=False)


def _keys() -> KeyBindings:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # what was chosen is in the text already
        elif buffer.document.text_before_cursor.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("tab")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        shown = buffer.complete_state
        if shown is None:
            asked = CompleteEvent(completion_requested=True)
            found = list(buffer.completer.get_completions(buffer.document, asked))
            if len(found) == 1:  # not as a menu: one is being made for what was typed just now, and none beside it
                buffer.apply_completion(found[0])
            else:
                buffer.start_completion(insert_common_part=True)
        elif len(shown.completions) == 1:
            buffer.apply_completion(shown.completions[0])  # nothing is left to choose: Enter sends
        else:
            buffer.complete_next()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys


def _completer(folder: Callable[[], Path], commands: Sequence[str]) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):  # type: ignore[misc, unused-ignore]
        """Commands after "/" at the beginning, files of the workspace after "@" anywhere."""

        def get_completions(self, document: Any, _: Any) -> Iterable[Any]:
            text = document.text_before_cursor
            if text.startswith("/") and not any(map(str.isspace, text)):
                yield from (Completion(name, -len(text)) for name in commands if name.startswith(text))
                return
            begun = _BEGUN.search(text)
            if begun is not None:
                quoted = begun["quoted"] is not None
                for path in files_beginning(folder(), begun["quoted"] if quoted else begun["plain"]):
                    yield Completion(_as_typed(path, quoted=quoted), -len(begun[0]) + 1, display=path)

    return Words()


def _as_typed(path: str, *, quoted: bool) -> str:
    """A path as it stands after "@": in quotes where it has spaces. Those of a folder stay open for what is in it."""
    if not quoted and not any(map(str.isspace, path)):
        return path
    return f'"{path}' if path.endswith("/") else f'"{path}"'


def files_beginning(folder: Path, begun: str) -> list[str]:
    """Files and folders below a folder whose path begins so; a folder ends in "/". Hidden ones only if asked for."""
    parent, _, start = begun.rpartition("/")
    place = os.path.realpath(folder / parent)
    if not Path(place).is_relative_to(os.path.realpath(folder)):
        return []
    found: list[str] = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(start or "") and (start.startswith(".") or not entry.name.startswith(".")):
                    found.append(f"{parent}/{entry.name}".lstrip("/") + "/" * entry.is_dir())
    except OSError:  # no such folder: nothing to complete
        return []
    return [path for path in sorted(found) if path.isprintable()][:_LISTED]
