"""The command `dragoman`: one file per sub-command, imported when it is used.

A new sub-command is a file here that sets `command`, and a line in `SECTIONS`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from dragoman import __version__
from dragoman.errors import nearest

from .terminal.console import Console, ExitCode, reported, set_option
from .terminal.help_text import HelpContext, with_help
from .terminal.text import takes_only_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Short, so that each stays on one line of the help.
SECTIONS = {
    "Run tasks": {
        "run": "Give a model a task and the tools to do it.",
        "chat": "Talk with a model that has tools, turn by turn.",
        "approve": "Allow calls that a run waits for.",
        "refuse": "Refuse calls that a run waits for.",
        "queue": "Add tasks for workers, list, cancel and retry them.",
        "worker": "Do the tasks of the queue.",
        "models": "List the models of providers, with window and prices.",
        "keys": "Store the keys of providers, and try them.",
    },
    "See what coding agents did": {
        "sessions": "List recorded sessions of coding agents, newest first.",
        "show": "Show one recorded session, turn by turn.",
        "view": "Open a local page with all recorded sessions.",
        "browse": "Browse sessions on the whole terminal.",
        "watch": "Follow sessions of coding agents as they are written.",
        "lab": "Look into logs closely: search them like grep.",
        "stats": "Count calls, failures, tokens, cost and durations.",
        "usage": "Show tokens and cost by day, block or session.",
        "query": "Query recorded sessions with SQL.",
        "projects": "List the projects of recorded sessions, worktrees together.",
        "analyse": "Find failures, loops, slow calls and what fills the context.",
    },
    "Keep, export and check their logs": {
        "export": "Write a recorded session in another form.",
        "pack": "Hand over recent sessions, in a page of Markdown.",
        "events": "Print the events of logs, one JSON object per line.",
        "replay": "Run a session's calls again, and compare the results.",
        "keep": "Archive logs before clients delete them.",
        "corpus": "Put the logs of many machines into one corpus.",
        "index": "Show, update or rebuild the index of all logs.",
        "doctor": "Check logs: what could not be read, or was not known.",
        "schema": "Learn the shapes of logs, and check them for drift.",
        "sources": "List where coding agents keep their sessions.",
    },
    "Use it in other coding agents": {
        "port": "Write a session for another client, to resume it there.",
        "gateway": "Run a coding agent on a model of another provider.",
        "hook": "Enforce your rules in the hooks of coding agents.",
        "policy": "See what your rules decide, and learn new ones.",
    },
    "Tools, agents and vocabularies": {
        "tool": "Do one operation by hand: read a file, run a command, …",
        "tools": "Show the tools as a model sees them, and what is lost.",
        "agents": "Check, list and show agents written as files.",
        "skills": "List the skills a model can load here.",
        "memory": "List, show and forget what models saved to remember.",
        "mcp": "Serve tools over MCP, and look at servers of others.",
        "say": "Say an operation in the words of each vocabulary.",
        "translate": "Translate a tool call from one vocabulary to another.",
        "dialect": "Check a dialect of your own, or begin one.",
        "eval": "Measure how models do tasks, in which vocabulary.",
    },
    "Settings": {
        "config": "Show the settings, and where each of them came from.",
        "trust": "Let a project set URLs, keys, plugins and looser policies.",
        "untrust": "Withdraw the trust that `dragoman trust` gave.",
        "plugins": "List tools, dialects, APIs and plugins, with their origin.",
        "completion": "Print the script that completes words in your shell.",
    },
}
"""The commands by what people want to do; the most used of each section come first."""
COMMANDS = {name: text for section in SECTIONS.values() for name, text in section.items()}


class CommandFiles(click.Group):
    """The sub-commands as files. Listing them, for help and for completion, imports none."""

    texts: ClassVar[Mapping[str, str]]
    """Each sub-command with a line about it."""
    files: ClassVar[Mapping[str, str]] = {}
    """The files that are not called as their sub-command is."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.texts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.texts:
            return None
        file = self.files.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f"{__name__}.commands.{file}").command
        command.short_help = self.texts[cmd_name]
        return with_help(takes_only_text(command))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.texts and not ctx.resilient_parsing:
            ctx.fail(f'There is no command "{args[0]}".{nearest(args[0], self.texts)}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.texts.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        words = [CompletionItem(name, help=text) for name, text in self.texts.items() if name.startswith(incomplete)]
        return words + click.Command.shell_complete(self, ctx, incomplete)


class _Dragoman(CommandFiles):
    texts = COMMANDS
    context_class = HelpContext

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))  # the sections in one column
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), code.meaning) for code in ExitCode])


@click.group(
    cls=_Dragoman,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="dragoman %(version)s", help="Show the version.")
@click.option("--debug", is_flag=True, help="Show where in the code an error came from.")
@click.option("--colour", "--color", type=click.Choice(["auto", "always", "never"]), help="When to use colour.")
@set_option
@click.pass_context
def dragoman(ctx: click.Context, /, *, debug: bool, colour: str | None, flags: dict[str, object]) -> None:
    """Define a tool once, speak it to every model, run it, and read it back from any agent's log."""
    console = ctx.ensure_object(Console)
    console.debug, console.flags = debug, flags
    if colour is not None:
        console.flags = {**flags, "colour": colour}
    if ctx.invoked_subcommand is None:
        console.line(ctx.get_help())


takes_only_text(dragoman)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code. Nothing but an exit code ever leaves it."""
    if arguments is None:  # else a user's program has called us, and its process is not ours to change
        from .own_process import close_to_others

        close_to_others()
    console = Console()
    console.owns_process = arguments is None
    return reported(console, lambda: _run(console, sys.argv[1:] if arguments is None else arguments))


def _run(console: Console, arguments: Sequence[str]) -> Any:
    # Not `dragoman.main`: click turns some errors into exit codes of its own, which mean something else here.
    completing = os.environ.get("_DRAGOMAN_COMPLETE")
    if completing:
        from .terminal.completing import answer

        return answer(console, dragoman, completing)
    try:
        with dragoman.make_context("dragoman", list(arguments), obj=console) as ctx:
            return dragoman.invoke(ctx)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
