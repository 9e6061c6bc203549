"""`dragoman agents`: agents written as files, of ours and of other clients: which there are, and what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman import agents, engine
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.cli.terminal.streams import plugins_aside
from dragoman.errors import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman.config import Configuration


@click.group
def command() -> None:
    """Check, list and show agents that are written as files.

    An agent is a Markdown file: who it is, which tools it may use and under which rules, then its instructions. Files
    of Claude Code, opencode, Gemini CLI and Codex are read too.
    """


# --- check -------------------------------------------------------------------------------------------------------


@command.command(short_help="Report everything that is wrong with agent files.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with 1 for remarks too.")
@click.option("--format", help="Whose files they are, when their folder does not say.")
@json_option
@click.pass_obj
def check(console: Console, *, paths: tuple[Path, ...], strict: bool, format: str | None, as_json: bool) -> ExitCode:
    """Check the agent files at each PATH, and those in it when it is a folder.

    A problem means that the agent, or a tool of its own, can never run: the file is wrong, or it names a model that no
    provider has. A remark means that it may not do what was meant: a place in a prompt that no parameter is for, a key
    without meaning here. Exits with 1 when there is a problem.
    """
    configuration = console.configuration()
    chosen = _format(format)
    with plugins_aside():
        loaded = [agents.load_agent(file, configuration, "named", chosen) for path in paths for file in _files_at(path)]
    found = [_examined(one, configuration) for one in loaded]
    told = [(one, () if one.agent is None else agents.remarks(one.agent)) for one in found]
    if as_json:
        console.json([{**_facts(one), "remarks": said} for one, said in told])
    else:
        for one, said in told:
            _show_checked(console, one, said)
    broken = sum(1 for one in found if one.problems)
    if not as_json and (broken or len(found) > 1):
        console.note(f"{len(found) - broken} of {len(found)} files have no problem.")
    return ExitCode.NO if broken or (strict and any(said for _, said in told)) else ExitCode.OK


def _examined(found: agents.FoundAgent, configuration: Configuration) -> agents.FoundAgent:
    """What was read, with the reasons why it can never run among its problems."""
    if found.agent is None:
        return found
    return msgspec.structs.replace(found, problems=agents.hindrances(found.agent, configuration, trusted=found.trusted))


def _format(format: str | None) -> str | None:
    if format is not None and format not in agents.AGENT_FORMATS:
        known = ", ".join(agents.AGENT_FORMATS)
        raise click.BadParameter(
            f'there is no format "{format}"; known: {known}.{nearest(format, agents.AGENT_FORMATS)}',
            param_hint="--format",
        )
    return format


def _files_at(path: Path) -> list[Path]:
    if os.path.isdir(path):
        walked = [(parent, name) for parent, _, names in os.walk(path, onerror=_unreadable) for name in names]
        files = sorted(Path(parent) / name for parent, name in walked if name.endswith((".md", ".toml")))
        files = [file for file in files if file.name[0] not in "_." and file.name.lower() != "readme.md"]
        if not files:
            raise click.UsageError(f"There is no agent file in {path}: their names end in .md, or .toml for Codex.")
        return files
    if not os.path.lexists(path):
        raise click.UsageError(f"There is no file {path}.")
    return [path]


def _unreadable(error: OSError) -> None:
    raise click.UsageError(f"The folder {error.filename} cannot be read: {error.strerror}.")


def _show_checked(console: Console, found: agents.FoundAgent, said: tuple[str, ...]) -> None:
    whose = "" if found.format == "dragoman" else f" ({found.format})"
    console.line(f"{found.path}{whose}", "strong")
    for problem in found.problems:
        console.line(f"  {problem}", "bad")
    for remark in said:
        console.line(f"  {remark}", "quiet")
    if not found.problems:
        console.line("  ok", "good")


# --- list --------------------------------------------------------------------------------------------------------


@command.command("list", short_help="List the agents that are found here.")
@json_option
@click.pass_obj
def list_(console: Console, *, as_json: bool) -> ExitCode:
    """List every agent of this folder, its project and your own settings, those of other clients included.

    Of several agents with one name the first is used. A broken file is listed with its problems, and the command
    then exits with 1.
    """
    configuration = console.configuration()
    with plugins_aside():
        found = agents.find_agents(configuration, here())
    if as_json:
        console.json([_facts(one) for one in found])
    elif not found:
        console.note("No agent was found. Put one into agents/ or .dragoman/agents/, or give its path.")
        return ExitCode.NO
    else:
        rows = [(one.name, one.format, _shortened(one.path), _state(one)) for one in found]
        console.table(("agent", "format", "file", "what it is for"), rows)
        for one in found:
            for problem in one.problems:
                console.warn(f"{_shortened(one.path)}: {problem}")
    return ExitCode.NO if any(one.agent is None for one in found) else ExitCode.OK


def _state(found: agents.FoundAgent) -> str:
    if found.agent is None:
        return "broken: 1 problem" if len(found.problems) == 1 else f"broken: {len(found.problems)} problems"
    if found.hidden_by is not None:
        return f"hidden by {_shortened(found.hidden_by)}"
    return found.agent.description.split("\n")[0]


def _shortened(path: Path) -> str:
    from dragoman.config.files import home_folder

    for folder, mark in ((here(), ""), (home_folder(), "~/")):
        if path.is_relative_to(folder):
            return f"{mark}{path.relative_to(folder).as_posix()}"
    return str(path)


# --- show --------------------------------------------------------------------------------------------------------


def complete_agents(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from dragoman import config

    found = [one for one in agents.find_agents(config.load(), here()) if one.name.startswith(incomplete)]
    names = [CompletionItem(one.name) for one in found if one.agent is not None and one.hidden_by is None]
    # Files first: click's script for bash forgets what came before it, and then takes files only where no name fits.
    return [CompletionItem(incomplete, type="file"), *names]


@command.command(short_help="Show one agent as dragoman reads it.")
@click.argument("agent", metavar="NAME|PATH", shell_complete=complete_agents)
@json_option
@click.pass_obj
def show(console: Console, *, agent: str, as_json: bool) -> ExitCode:
    """Show an agent as dragoman reads its file: its tools as operations, its rules, its limits, its own tools."""
    configuration = console.configuration()
    with plugins_aside():
        found = agents.agent_named(agent, configuration, here())
    assert found.agent is not None  # else it was raised
    base = engine.ToolPolicy.from_settings(configuration.settings)
    _, beyond = agents.limits_for(found.agent, trusted=found.trusted)
    refused = (*agents.policy_for(found.agent, base, trusted=found.trusted)[1], *beyond)
    if as_json:
        console.json({**_facts(found), "refused": refused, "remarks": agents.remarks(found.agent)})
        return ExitCode.OK
    _show_agent(console, found.agent, found)
    for reason in refused:
        console.warn(
            f"{reason}; it does not hold: only your own files, or trusted ones in .dragoman/agents, may loosen"
        )
    for reason in agents.hindrances(found.agent, configuration, trusted=found.trusted):
        console.warn(reason)
    for remark in agents.remarks(found.agent):
        console.note(remark)
    return ExitCode.OK


def _show_agent(console: Console, agent: agents.Agent, found: agents.FoundAgent) -> None:
    console.line(agent.name, "strong")
    facts = {
        "what for": agent.description,
        "file": f"{found.path} ({agent.format})",
        "model": agent.model or "as the run",
        "dialect": agent.dialect or "the model's own",
        "tools": "all" if agent.tools is None else ", ".join(agent.tools) or "none",
        "limits": ", ".join(f"{name} {value}" for name, value in _plain(agent.limits).items() if value is not None),
        "MCP servers": ", ".join(agent.mcp_servers),
    }
    for name, value in facts.items():
        if value:
            console.line(f"  {name:<12} {value}")
    for key, value in agent.policy.items():
        if key != "approval":
            console.line(f"  {'policy':<12} {key} {value}")
    for row in agent.policy.get("approval", ()):
        conditions = ", ".join(f"{key} {value}" for key, value in row.items() if key != "verdict") or "everything"
        console.line(f"  {row['verdict']:<12} {conditions}")
    for tool in agent.custom_tools:
        parameters = ", ".join(tool.parameters.get("properties", {}))
        console.line(f"  own tool     {tool.name}({parameters}): {tool.description}")
    console.line()
    console.line(agent.instructions)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _masked(agent: agents.Agent) -> dict[str, Any]:
    """All that is understood, without the keys that servers are started with."""
    plain: dict[str, Any] = _plain(agent)
    for server in plain["mcp_servers"].values():
        for key in ("env", "headers"):
            if isinstance(server.get(key), dict):
                server[key] = dict.fromkeys(server[key], "********")
    return plain


def _facts(found: agents.FoundAgent) -> dict[str, Any]:
    return {
        "name": found.name,
        "path": str(found.path),
        "format": found.format,
        "origin": found.origin,
        "trusted": found.trusted,
        "problems": found.problems,
        "hidden_by": None if found.hidden_by is None else str(found.hidden_by),
        "agent": None if found.agent is None else _masked(found.agent),
    }
