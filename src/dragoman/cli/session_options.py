"""The options of `run` and `chat`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from .sandbox import sandbox_option, use_mode
from .terminal.console import Console, ExitCode, json_option, set_option
from .terminal.streams import prints_go_aside

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])


class SessionCommand(click.Command):
    """A command whose help ends with its exit codes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), code.meaning) for code in ExitCode])


class Options(NamedTuple):
    """What was chosen on the command line. No struct: `--help` would load msgspec for it."""

    profile: str | None = None
    model: str | None = None
    dialect: str | None = None
    tools: tuple[str, ...] = ()
    no_mcp: bool = False
    workspace: Path | None = None
    approval: str | None = None
    max_iterations: int | None = None
    max_cost: float | None = None
    guard: bool | None = None
    attach: tuple[str, ...] = ()
    schema: str | None = None
    retries: int | None = None
    fetch: bool = False
    record_wire: Path | None = None
    no_record: bool = False
    debug: bool = False
    as_json: bool = False
    resume: str | None = None
    run_id: str | None = None
    from_session: str | None = None
    system: str | None = None
    no_instructions: bool = False
    sandbox: str | None = None
    flags: Mapping[str, object] = {}


def _complete_dialects(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from .vocabulary import complete_dialects

    return complete_dialects(ctx, parameter, incomplete)


def _complete_tools(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.engine import TOOL_KINDS
    from dragoman.registry import TOOLS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in (*TOOL_KINDS, *TOOLS) if name.startswith(last)]


def _complete_profiles(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from dragoman import config

    return [name for name in config.load().settings.profiles if name.startswith(incomplete)]


profile_option = click.option(
    "--profile",
    "-p",
    metavar="NAME",
    shell_complete=_complete_profiles,
    help="The profile of your settings to use: its model, instructions, tools and policy.",
)


def use_profile(console: Console, name: str | None) -> None:
    """Let `--profile` count as a setting of this call."""
    if name is not None:
        console.flags = {**console.flags, "profile": name}


def session_options(function: Function) -> Function:
    """The options `run` and `chat` have in common."""
    options = (
        profile_option,
        click.option("--model", "-m", metavar="[PROVIDER:]MODEL", help="The model to ask."),
        click.option(
            "--dialect",
            "-d",
            metavar="NAME",
            shell_complete=_complete_dialects,
            help="Vocabulary to use instead of the model's own.",
        ),
        click.option(
            "--tools",
            "-t",
            metavar="NAMES",
            multiple=True,
            shell_complete=_complete_tools,
            help="Tools to offer: names, globs or kinds (read, write, …), separated by commas; none offers none.",
        ),
        click.option(
            "--no-mcp", is_flag=True, help="Do not start MCP servers; by default, those that are set up are offered."
        ),
        click.option(
            "--workspace",
            "-w",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Folder to work in; the default is the current one.",
        ),
        sandbox_option,
        click.option("--yes", "-y", "approval", flag_value="yes", help="Allow every call that needs approval."),
        click.option(
            "--ask",
            "approval",
            flag_value="ask",
            help="Ask for approval; without a terminal, the run stops and waits for it.",
        ),
        click.option("--deny", "approval", flag_value="deny", help="Refuse every call that needs approval."),
        click.option(
            "--max-iterations",
            "--max-turns",
            type=click.IntRange(min=1),
            metavar="N",
            help="Maximum number of rounds of asking the model.",
        ),
        click.option(
            "--max-cost",
            type=click.FloatRange(min=0, min_open=True),
            metavar="DOLLARS",
            help="Stop once the run has cost more than this, in US dollars.",
        ),
        click.option(
            "--guard/--no-guard",
            default=None,
            help="Check what the model calls done: files changed, commands run. On for the model in this process.",
        ),
        click.option(
            "--attach",
            "-a",
            multiple=True,
            metavar="FILE|URL|-",
            help="Attach a text, picture, sound or PDF document to the task; - is standard input. May be repeated.",
        ),
        click.option(
            "--retries",
            type=click.IntRange(min=0),
            metavar="N",
            help="Number of retries after a temporary failure of a request.",
        ),
        click.option(
            "--fetch", is_flag=True, help="Fetch the file of a local: model if it is missing, without asking."
        ),
        click.option("--system", metavar="TEXT", help="System prompt, instead of the short default one."),
        click.option(
            "--no-instructions", is_flag=True, help="Do not read AGENTS.md, CLAUDE.md or GEMINI.md of the project."
        ),
        click.option(
            "--record-wire",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Append requests and responses to FILE, without keys.",
        ),
        click.option("--no-record", is_flag=True, help="Keep no record; the run cannot be resumed then."),
        click.option("--debug", is_flag=True, help="Show what the model is offered and says, in its own words."),
        json_option,
        click.option("--resume", metavar="ID", help="Continue an earlier run: the beginning of its id, or last."),
        click.option(
            "--from",
            "from_session",
            metavar="SESSION",
            help="Continue a session of any client with any model: its id or its file.",
        ),
        set_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def concluded(console: Console, options: Options, run: Callable[[], ExitCode]) -> ExitCode:
    """Runs a command of ours with the settings and the eyes its own options ask for."""
    if options.resume is not None and options.from_session is not None:
        raise click.UsageError(
            "--resume continues a run of ours and --from begins one from another session: use one of them."
        )
    console.flags = {**console.flags, **options.flags}
    use_mode(console, options.sandbox)
    use_profile(console, options.profile)
    console.debug = console.debug or options.debug
    with prints_go_aside(own_process=console.owns_process):
        return run()
