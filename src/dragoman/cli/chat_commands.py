"""What the user of `dragoman chat` can say to us instead of the model: `/undo`, `!command` and the like."""

from __future__ import annotations

import datetime
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dragoman.errors import DragomanError, nearest

from .chat_session import ChatSession
from .records import newest_first
from .stopping import Terminated, forget_ctrl_c
from .terminal.call_lines import count, told_of
from .terminal.console import Console, foreign, width_of
from .terminal.live import bill
from .terminal.visible import short

if TYPE_CHECKING:
    from .runner import Runner

HELP: Final[Mapping[str, str]] = {
    "/model [PROVIDER:MODEL]": "show which model answers, or let another one continue",
    "/tools": "list the tools the model is offered",
    "/cost": "show the tokens and the cost since this chat was opened",
    "/context": "show what the next request holds, and how much of the model's window",
    "/diff": "show what this conversation changed in your files",
    "/undo": "restore the files that the model's file tools changed, turn by turn; it cannot undo commands",
    "/prompt [SERVER/NAME ARGUMENT=VALUE …]": "say what a prompt of an MCP server says, or list the prompts",
    "/plan [TASK]": "let the model read and plan, and change nothing, until /plan off",
    "/compact": "replace the conversation by a summary the model writes",
    "/clear": "begin a new conversation in this folder",
    "/resume [ID]": "continue an earlier run, or list the last ones",
    "/copy": "copy the last answer to the clipboard of the terminal",
    "/save [FILE]": "write the conversation as Markdown",
    "/help": "show this",
    "/exit": "end (Ctrl-D does the same)",
    "!COMMAND": "run a command yourself; the model sees it with your next message",
    "@FILE": "add a file of this folder to your message; Tab completes its name",
    "@SERVER:URI": "add a resource of an MCP server to your message",
}
_KEYS: Final = (
    "A line that ends in \\ continues on the next one, and Alt-Enter begins a new line; a pasted block is one message. "
    "Ctrl-C stops an answer. What you type meanwhile is sent when the answer is complete."
)
NAMES: Final = tuple(sorted({word.split()[0] for word in HELP if word.startswith("/")}))


class Ended(Exception):
    """The user ends the conversation."""


class ChatCommands:
    """Does what is said to us."""

    def __init__(self, console: Console, runner: Runner, session: ChatSession) -> None:
        self._console, self._runner, self._session = console, runner, session
        self._known: dict[str, Callable[[str], None]] = {
            "/model": self._model,
            "/tools": self._tools,
            "/cost": self._cost,
            "/context": self._context,
            "/diff": self._diff,
            "/undo": self._undo,
            "/plan": self._plan,
            "/prompt": self._prompt,
            "/compact": self._compact,
            "/clear": self._clear,
            "/resume": self._resume,
            "/copy": self._copy,
            "/save": self._save,
            "/help": self._help,
        }

    def obey(self, said: str) -> bool:
        """Does it, if it is said to us; `Ended` when it ends the conversation."""
        if said.startswith("!"):
            self._guarded(self._command, said[1:].strip())
            return True
        word, _, rest = said.partition(" ")
        if word in ("/exit", "/quit"):
            raise Ended
        if not said.startswith("/") or "\n" in said or "/" in word[1:]:
            return False  # a path, or a text that begins with one
        known = self._known.get(word)
        if known is None:
            self._console.error(f'there is no command "{word}".{nearest(word, NAMES)} /help lists them.')
        else:
            self._guarded(known, rest.strip())
        return True

    def _guarded(self, do: Callable[[str], None], rest: str) -> None:
        try:
            do(rest)
        except Terminated:
            raise
        except KeyboardInterrupt:
            self._session.stopped()
            forget_ctrl_c()
        except click.UsageError as error:
            # The name of the command line's option means nothing here.
            self._console.error(error.message if isinstance(error, click.BadParameter) else error.format_message())
        except DragomanError as error:
            self._console.error(str(error))

    # ── what there is ──────────────────────────────────────────────────────

    def _help(self, _: str) -> None:
        width = max(map(len, HELP))
        for words, about in HELP.items():
            self._wrapped(f"{words:<{width}}  ", about)
        self._wrapped("", _KEYS)

    def _wrapped(self, head: str, text: str) -> None:
        """A row whose text goes on below itself where the terminal is narrow."""
        from textwrap import fill

        if sys.stderr.isatty():
            columns = max(width_of(sys.stderr), len(head) + 20)
            wrapped = fill(text, columns - len(head), break_long_words=False, break_on_hyphens=False)
            text = wrapped.replace("\n", "\n" + " " * len(head))
        self._console.note(head + text)

    def _model(self, wanted: str) -> None:
        if wanted:
            self._runner.run(self._session.use_model(wanted))
        self._session.begins()

    def _tools(self, _: str) -> None:
        facade = self._session.orchestrator.facade_of()
        rows: list[tuple[str, str]] = []
        for definition in facade.definitions:
            about = getattr(definition, "description", "") or ""
            name = getattr(definition, "name", None) or getattr(definition, "id", "")
            rows.append((foreign(str(name), one_line=True), foreign(about.strip().partition("\n")[0], one_line=True)))
        width = max((len(name) for name, _ in rows), default=0)
        for name, about in rows:
            self._wrapped(f"{name:<{width}}  ", about)
        for note in facade.notes:
            self._console.note(f"{note.tool}: {note.message}")

    def _cost(self, _: str) -> None:
        results = self._session.results
        if not results:
            self._console.note("Nothing was asked yet.")
            return
        turns = f"{len(results)} turn{'s' * (len(results) != 1)}"
        self._console.note(", ".join([turns, *bill(results)]))

    def _context(self, _: str) -> None:
        session = self._session
        parts = session.request_sizes()
        whole = sum(size for _, size in parts)
        width = max(len(name) for name, _ in parts)
        for name, size in parts:
            self._console.note(f"{name:<{width}}  {size:>10,} characters, about {size // 4:,} tokens")
        window = session.orchestrator.window
        share = f", {whole / 4 / window:.0%} of {window:,}" if window else "; the window of this model is not known"
        self._wrapped(f"{'together':<{width}}  ", f"{whole:>10,} characters, about {whole // 4:,} tokens{share}")
        if session.results:
            last = session.results[-1]
            if last.reply is not None and last.reply.usage.total is not None:
                self._console.note(f"The provider counted {last.reply.usage.total:,} tokens in the last exchange.")

    # ── files ──────────────────────────────────────────────────────────────

    def _diff(self, _: str) -> None:

        changes = self._session.file_changes()
        for line, style in told_of((changes,), None, output=True, diffs=True):
            sys.stderr.write(self._console.styled(sys.stderr, foreign(line), style) + "\n")
        if not changes.changes:
            self._console.note(
                "No file tool changed anything. Changes made by commands are not recorded; try !git diff."
            )

    def _undo(self, _: str) -> None:
        undone, commands = self._session.undo()
        for change in undone.changes:
            verb = {"created": "restored", "deleted": "removed"}.get(change.kind, "restored")
            self._console.note(f"{verb} {change.path}")
        if commands:
            ran = f"{count(commands, 'command')} ran in that turn or after it"
            self._console.warn(f"{ran}: /undo restores what file tools wrote, not what commands changed")

    # ── the conversation ───────────────────────────────────────────────────

    def _plan(self, task: str) -> None:
        session = self._session
        if task.lower() in ("off", "go"):
            session.plans(on=False)
            self._console.note("Plan mode is off: the model may make changes, as your rules say.")
            return
        session.plans(on=True)
        self._console.note("Plan mode: the model can read, search and plan. /plan off ends it.")
        if task:
            self._runner.run(session.turn(task))

    def _prompt(self, wanted: str) -> None:
        import shlex

        if not wanted:
            prompts = self._runner.run(self._session.prompts())
            rows = [(foreign(one.usage, one_line=True), one.description or "") for one in prompts]
            width = max((len(usage) for usage, _ in rows), default=0)
            for usage, about in rows:
                self._wrapped(f"{usage:<{width}}  ", foreign(about.partition("\n")[0], one_line=True))
            if not rows:
                self._console.note("No MCP server that is open has prompts.")
            return
        try:
            name, *words = shlex.split(wanted)
        except ValueError as error:
            raise click.UsageError(f"The quotes do not match: {error}.") from error
        server, slash, prompt = name.partition("/")
        pairs = [word.partition("=") for word in words]
        if not slash or not all(equals for _, equals, _ in pairs):
            raise click.UsageError("Say which: /prompt SERVER/NAME ARGUMENT=VALUE; /prompt lists them.")
        given = {argument: value for argument, _, value in pairs}
        self._runner.run(self._session.prompt_turn(server, prompt, given))

    def _compact(self, _: str) -> None:
        if not self._session.conversation():
            self._console.note("There is nothing to summarise yet.")
            return
        from dragoman.engine.history import SUMMARISE

        self._runner.run(self._session.compact(SUMMARISE))

    def _clear(self, _: str) -> None:
        self._runner.run(self._session.begin_anew())
        self._console.note("A new conversation begins.")

    def _resume(self, wanted: str) -> None:
        if wanted:
            self._runner.run(self._session.continue_with(wanted))
            self._session.begins()
            return
        from dragoman.model import UserSaid

        store = self._session.store
        for run in newest_first(store)[:10]:
            events = store.read(run.id)
            said = next((one.text for one in events if isinstance(one, UserSaid) and one.by == "user"), "")
            try:
                when = datetime.datetime.fromtimestamp(run.changed).strftime("%Y-%m-%d %H:%M")
            except (ValueError, OverflowError, OSError):  # a file may be dated to a year that no calendar has
                when = "at an unknown time"
            head = f"{run.id[:8]}  {when}  "
            room = max(width_of(sys.stderr) - len(head), 20)
            self._console.note(head + short(foreign(said, one_line=True), room))

    def _copy(self, _: str) -> None:
        text = self._session.last_answer()
        if text is None:
            self._console.note("There is no answer to copy yet.")
            return
        if not sys.stderr.isatty():
            raise click.UsageError("/copy needs a terminal.")
        # OSC 52: the terminal itself sets its clipboard, on another machine too. The text travels in base64.
        sys.stderr.write(f"\x1b]52;c;{b64encode(text.encode('utf-8', 'replace')).decode()}\x07")
        sys.stderr.flush()
        self._console.note(
            f"{len(text):,} characters were sent to the terminal's clipboard (not every terminal supports this)."
        )

    def _save(self, wanted: str) -> None:
        path = Path(os.path.expanduser(wanted or f"chat-{self._session.id[:8]}.md"))
        path = path if path.is_absolute() else self._session.folder / path
        if path.exists():
            raise click.UsageError(f"{path} exists already; name another file.")
        self._session.save(path)
        self._console.note(f"Written to {path}")

    # ── commands of the user ───────────────────────────────────────────────

    def _command(self, line: str) -> None:
        if not line:
            raise click.UsageError("Say which command: !ls")

        outcome = self._runner.run(self._session.user_command(line))
        for text, style in told_of((outcome,), None, output=True, diffs=False):
            sys.stderr.write(self._console.styled(sys.stderr, foreign(text), style) + "\n")
