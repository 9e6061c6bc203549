"""`dragoman chat`: a conversation with a model that has tools, turn by turn."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from dragoman.cli.chat_commands import NAMES, ChatCommands, Ended
from dragoman.cli.chat_session import ChatSession
from dragoman.cli.runner import Runner
from dragoman.cli.session_options import Options, SessionCommand, concluded, session_options
from dragoman.cli.stopping import Terminated, forget_ctrl_c
from dragoman.cli.terminal.console import Console, ExitCode, exit_code_of
from dragoman.cli.terminal.prompt import Prompt
from dragoman.errors import DragomanError


@click.command(cls=SessionCommand)
@session_options
@click.pass_obj
def command(console: Console, /, **given: Any) -> ExitCode:
    """Talk with a model that has tools, turn by turn. /help lists what else you can type.

    The options are those of `dragoman run`. Without a terminal, each line of standard input is a turn.

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
        session = runner.run(ChatSession.open(console, options))
        assert isinstance(session, ChatSession)
        try:
            session.begins()
            lively = sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
            if lively:
                session.view.begins("/help lists the commands; Ctrl-D ends the chat.")
            if lively and sys.platform != "win32":
                from dragoman.cli.terminal.type_ahead import TypeAhead

                session.typing = TypeAhead(sys.stdin.fileno(), lambda text: session.view.begins(f"next: {text}"))
            history = session.configuration.data_dir / "chat_history"
            prompt = Prompt(runner, history, lambda: session.folder, NAMES, lively=lively)
            commands = ChatCommands(console, runner, session)
            if session.open_calls():
                code = _turn(console, runner, session, "")
            while (said := _next(prompt, session)) is not None:
                if said and not commands.obey(said):
                    code = _turn(console, runner, session, said)
        except Ended:
            pass
        finally:
            runner.finish(session.close())
        hint = session.how_to_resume(ExitCode.OK, "chat")
        if hint is not None and sys.stderr.isatty():
            console.note(hint)
    # A user at a terminal has seen how each turn ended; a script gets the exit code of the last one.
    return ExitCode.OK if sys.stdin.isatty() else code


def _next(prompt: Prompt, session: ChatSession) -> str | None:
    """The next input: what was typed during the last turn comes first."""
    if session.typing is None:
        return prompt.next()
    queued = session.typing.take()
    if queued is not None:
        session.view.begins(f"> {queued}")
        return queued
    return prompt.next(session.typing.take_begun())


def _turn(console: Console, runner: Runner, session: ChatSession, said: str) -> ExitCode:
    try:
        return runner.run(session.turn(said))
    except Terminated:
        raise
    except KeyboardInterrupt:
        session.stopped()
        if session.typing is not None:
            session.typing.give_back()
        forget_ctrl_c()
        return ExitCode.INTERRUPTED
    except DragomanError as error:  # one turn that fails does not end the conversation
        console.error(str(error))
        return exit_code_of(error)
