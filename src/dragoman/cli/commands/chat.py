"""`dragoman chat`: a conversation with a model that has tools, turn by turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from dragoman.cli.runner import Runner
from dragoman.cli.session import Session
from dragoman.cli.session_options import Options, SessionCommand, concluded, session_options
from dragoman.cli.stopping import Terminated, forget_ctrl_c
from dragoman.cli.terminal.console import Console, ExitCode, exit_code_of
from dragoman.errors import DragomanError

_MAX_LINE: Final = 16 << 20
"""Bytes that one line of standard input may have."""
_HELP = (
    "/model PROVIDER:MODEL  let another model go on with this conversation\n"
    "/help                  show this\n"
    "/exit                  end (as Ctrl-D does)\n"
    "A line that ends in \\ goes on in the next. Ctrl-C stops an answer, and you may say something else."
)


@click.command(cls=SessionCommand)
@session_options
@click.pass_obj
def command(console: Console, /, **given: Any) -> ExitCode:
    """Talk with a model that has tools, turn by turn. /help tells what else can be said.

    The options are those of `dragoman run`; what is not on a terminal is read line by line, each a turn.

    \b
    dragoman chat
    dragoman chat --model ollama:qwen3 --tools read,search
    dragoman chat --resume last
    """
    options = Options(**given)
    return concluded(console, options, lambda: _chat(console, options))


def _chat(console: Console, options: Options) -> ExitCode:
    code = ExitCode.OK
    with Runner() as runner:
        session = runner.run(Session.open(console, options))
        try:
            session.begins()
            with Prompt(session.configuration.data_dir / "chat_history") as prompt:
                if session.open_calls():
                    code = _turn(console, runner, session, "")
                while (said := prompt.next()) is not None:
                    if said.startswith("/"):
                        if not _obeyed(console, runner, session, said):
                            break
                    elif said:
                        code = _turn(console, runner, session, said)
        finally:
            runner.finish(session.close())
        hint = session.how_to_resume(ExitCode.OK, "chat")
        if hint is not None and sys.stderr.isatty():
            console.note(hint)
    # Somebody who sits at it has seen how each turn ended; a script wants to know of the last.
    return ExitCode.OK if sys.stdin.isatty() else code


def _turn(console: Console, runner: Runner, session: Session, said: str) -> ExitCode:
    try:
        return runner.run(session.turn(said))
    except Terminated:
        raise
    except KeyboardInterrupt:
        session.stopped()
        forget_ctrl_c()
        return ExitCode.INTERRUPTED
    except DragomanError as error:  # the conversation is worth more than one turn of it
        console.error(str(error))
        return exit_code_of(error)


def _obeyed(console: Console, runner: Runner, session: Session, said: str) -> bool:
    """Does what was said to us, not to the model; False ends the conversation."""
    word, _, rest = said.partition(" ")
    if word in ("/exit", "/quit"):
        return False
    if word == "/model" and rest.strip():
        try:
            runner.run(session.use_model(rest.strip()))
            session.begins()
        except DragomanError as error:
            console.error(str(error))
        except click.UsageError as error:
            console.error(error.message)
    elif word == "/model":
        session.begins()
    else:
        console.note(_HELP)
    return True


class Prompt:
    """Reads what the user says; on a terminal, with the editing and the history of readline where it is there."""

    def __init__(self, history: Path) -> None:
        self._history = history
        self._readline: Any = None

    def __enter__(self) -> Prompt:
        if sys.stdin.isatty():
            try:
                import readline
            except ImportError:  # a Python without it: lines are read all the same
                return self
            self._readline = readline
            readline.set_history_length(1000)
            if self._history.is_file():
                readline.read_history_file(self._history)
        return self

    def __exit__(self, *_: object) -> None:
        if self._readline is not None and self._readline.get_current_history_length():
            self._history.parent.mkdir(parents=True, exist_ok=True)
            self._history.touch(mode=0o600)
            self._readline.write_history_file(self._history)

    def next(self) -> str | None:
        """What is said next, or `None` when nothing more will be."""
        lines: list[str] = []
        while True:
            try:
                line = self._line("... " if lines else "> ")
            except EOFError:
                if sys.stdin.isatty():
                    sys.stderr.write("\n")
                return "\n".join(lines).strip() if lines else None
            except Terminated:
                raise
            except KeyboardInterrupt:
                forget_ctrl_c()
                sys.stderr.write("\n")
                if not lines:
                    sys.stderr.write("Ctrl-D ends the conversation.\n")
                lines = []
                continue
            if not line.endswith("\\"):
                return "\n".join([*lines, line]).strip()
            lines.append(line[:-1])

    def _line(self, sign: str) -> str:
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
