"""`dragoman mcp`: serve tools to other programs, look at their servers, list those that are set up."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from dragoman import agents, engine, model
from dragoman.agents import mcp
from dragoman.cli.sandbox import sandbox_option, use_mode
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.cli.vocabulary import complete_dialects
from dragoman.engine import models
from dragoman.errors import ConfigError, nearest
from dragoman.tools import processes, running

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.dialects import Dialect
    from dragoman.tools import Toolset


@click.group
def command() -> None:
    """Serve tools over the Model Context Protocol, and look at servers of others.

    Servers are set up in the settings ([mcp.servers.NAME] with command and args, or url), or in a project's .mcp.json
    (or the like of Cursor, VS Code, Gemini CLI and opencode), which needs `dragoman trust`.
    """


# --- serve -------------------------------------------------------------------------------------------------------


@command.command(short_help="Serve tools to an MCP client.")
@click.option(
    "--tools",
    "-t",
    metavar="NAMES",
    multiple=True,
    help="The tools to serve, by name, glob or kind (read, search, write, …), with commas.",
)
@click.option("--history", is_flag=True, help="Serve the tools that look into recorded sessions, and the sessions.")
@click.option("--agents", "prompts", is_flag=True, help="Offer your agents and the project's as prompts.")
@click.option(
    "--dialect",
    "-d",
    default="plain",
    metavar="NAME",
    shell_complete=complete_dialects,
    help="Vocabulary to serve the tools in.",
)
@click.option(
    "--workspace",
    "-w",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder to work in; the default is the current one.",
)
@click.option("--yes", "-y", "approval", flag_value="yes", help="Allow what would be asked about; clients ask too.")
@click.option("--deny", "approval", flag_value="deny", help="Refuse it (the default).")
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP instead of standard input and output.")
@click.option(
    "--token-env", metavar="VARIABLE", help="The variable with the token that HTTP clients must send; else one is made."
)
@click.option("--no-token", is_flag=True, help="Serve every program on this machine over HTTP, without a token.")
@click.option(
    "--allow-origin", "origins", metavar="URL", multiple=True, help="Let pages of this origin use it over HTTP."
)
@click.option(
    "--allow-host", "hosts", metavar="NAME", multiple=True, help="A further name HTTP clients may call it by."
)
@sandbox_option
@click.option("--text-only", is_flag=True, help="Leave the typed outcomes out of results.")
@click.pass_obj
def serve(
    console: Console,
    *,
    tools: tuple[str, ...],
    history: bool,
    prompts: bool,
    dialect: str,
    workspace: Path | None,
    approval: str | None,
    address: str | None,
    token_env: str | None,
    no_token: bool,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    sandbox: str | None,
    text_only: bool,
) -> ExitCode:
    """Serve tools over standard input and output, or over HTTP.

    What only reads, searches or plans runs at once; everything else is refused, because nobody is here to be asked,
    unless --yes or the settings allow it. Rules of the settings that deny hold in any case.

    Over HTTP, clients must send `Authorization: Bearer TOKEN`. The token is made at the start and printed, unless
    --token-env names one. Pages in a browser are refused, also those served on this machine, unless --allow-origin
    allows them.

    \b
    dragoman mcp serve --tools read,search
    dragoman mcp serve --history
    dragoman mcp serve --http 127.0.0.1:8808 --yes
    """
    from dragoman.cli.runner import run
    from dragoman.dialects.plugins import dialect_named

    use_mode(console, sandbox)
    configuration = console.configuration()
    words = [word.strip() for text in tools for word in text.split(",") if word.strip()]
    chosen = dialect_named(dialect, files=True)
    offered = _served(configuration, words, chosen, history=history)
    policy = _policy(configuration)
    files = _workspace(configuration, workspace)
    server = agents.ToolServer(
        offered,
        dialect=chosen,
        policy=policy,
        workspace=files,
        approver=_approver(approval),
        sandbox=models.configured_sandbox(configuration, askable=False),
        web=lambda: engine.web_for(configuration),
        structured=not text_only,
        resources=_sessions(offered, policy) if history else (),
        prompts=_agents(configuration, workspace or configuration.settings.workspace or here()) if prompts else (),
    )
    for note in server.facade.notes:
        console.note(f"{note.tool}: {note.message}")
    if address is None:
        run(server.serve_stdio())
        return ExitCode.OK
    host, port = _address(address)
    token = _token(token_env, no_token=no_token)

    def ready(served: mcp.Served) -> None:
        console.note(f"Serving at {served.url}")
        if token is None:
            console.note(f"Clients must send: Authorization: Bearer {served.token}")

    run(server.serve_http(host, port, token=token, hosts=hosts, origins=origins, ready=ready))
    return ExitCode.OK


def _served(configuration: Configuration, words: list[str], dialect: Dialect, *, history: bool) -> Toolset:
    from dragoman.cli.offered import tools_named, usual_tools
    from dragoman.tools import Toolset

    found = Toolset()
    if words or not history:
        found = Toolset(tools_named(words) if words else usual_tools(dialect))
    web = engine.web_for(configuration)
    if "search_web" in found and not web.can_search:  # no model stands behind a server, so no provider searches for it
        if "search_web" in words:
            why = web.why_no_search or "search.backend is not set"
            raise click.BadParameter(f"search_web cannot be served: {why}.", param_hint="--tools")
        found = found.without("search_web")
    if "ask_user" in words:
        message = "ask_user is not served: a client asks its own user, in its own way."
        raise click.BadParameter(message, param_hint="--tools")
    found = Toolset(tool for tool in found if tool.name != "ask_user")
    return found.merge(_history()) if history else found


def _history() -> Toolset:
    try:
        from dragoman.logs.history import history_toolset
    except ImportError as error:
        raise ConfigError("this version of dragoman has no tools for recorded sessions") from error
    made: Toolset = history_toolset()
    return made


def _sessions(offered: Toolset, policy: engine.ToolPolicy) -> list[mcp.ServedResource]:
    """Recorded sessions as resources, each by its id, where the tools that read them are allowed."""
    from dragoman.tools import Context, Tool

    async def gave(name: str, arguments: dict[str, Any]) -> Any:
        tool = offered.get(name)
        assert isinstance(tool, Tool)  # of the history
        return await tool.call(arguments, Context())

    async def read(uri: str, id: str) -> str:
        facts = {"session": await gave("get_session", {"session": id}), **await gave("list_turns", {"session": id})}
        return msgspec.json.format(msgspec.json.encode(facts)).decode()

    async def complete(_: str, value: str) -> list[str]:
        listed = (await gave("list_sessions", {"limit": 50}))["sessions"]
        return [str(one["session"]) for one in listed if str(one["session"]).startswith(value)]

    if not all(policy.allows(name) for name in ("get_session", "list_turns", "list_sessions")):
        return []
    about = "A recorded session of a coding agent: its facts and its turns."
    template = mcp.ServedResource(
        uri="session:///{id}",
        name="session",
        description=about,
        media_type="application/json",
        read=read,
        complete=complete,
    )
    return [template]


def _agents(configuration: Configuration, folder: Path) -> list[mcp.ServedPrompt]:
    """Agents as prompts: an agent's instructions, and the task for it."""

    def prompt(agent: agents.Agent) -> mcp.ServedPrompt:
        async def messages(given: dict[str, str]) -> list[str]:
            return [text for text in (agent.instructions, given.get("task")) if text]

        return mcp.ServedPrompt(
            name=agent.name, description=agent.description, arguments={"task": False}, messages=messages
        )

    found = agents.find_agents(configuration, folder)
    return [prompt(one.agent) for one in found if one.agent is not None and one.hidden_by is None]


def _policy(configuration: Configuration) -> engine.ToolPolicy:
    policy = engine.ToolPolicy.from_settings(configuration.settings)
    if policy.default != "ask":
        return policy
    harmless = tuple(engine.Approval("allow", kind=kind) for kind in ("read", "search", "plan"))
    return msgspec.structs.replace(policy, approval=(*policy.approval, *harmless))


def _approver(chosen: str | None) -> engine.Approver | None:
    from dragoman.cli.terminal.approver import says

    if chosen == "yes":
        return says(allowed=True, by="--yes")
    if chosen == "deny":
        return says(allowed=False, by="--deny", reason="whoever serves these tools refuses what would need a yes")
    return None


def _workspace(configuration: Configuration, chosen: Path | None) -> Any:
    from dragoman.tools import DiskWorkspace

    return DiskWorkspace(chosen or configuration.settings.workspace or here())


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f'"{text}" is not of the form HOST:PORT, as in 127.0.0.1:8808.', param_hint="--http")
    return host.strip("[]") or "127.0.0.1", int(port)


def _token(variable: str | None, *, no_token: bool) -> str | Literal[False] | None:
    if no_token and variable is not None:
        raise click.UsageError("--no-token and --token-env cannot be used together.")
    if variable is None:
        return False if no_token else None
    token = os.environ.get(variable)
    if not token:
        raise ConfigError(f"the environment variable {variable} has no token in it")
    return token


# --- test --------------------------------------------------------------------------------------------------------


class Tried(msgspec.Struct, frozen=True):
    """What a server said of itself."""

    name: str
    where: str
    version: str | None
    protocol: str | None
    tools: list[dict[str, Any]]
    problems: tuple[str, ...]
    outcome: Any = None


@command.command(
    short_help="Open a server, and show what it offers.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--call", "tool", metavar="TOOL", help="Call one of its tools, and show the outcome.")
@click.option("--arguments", default="{}", metavar="JSON", help="The arguments of that call.")
@json_option
@click.argument("target", nargs=-1, required=True, metavar="COMMAND…|URL|NAME")
@click.pass_obj
def test(console: Console, *, target: tuple[str, ...], tool: str | None, arguments: str, as_json: bool) -> ExitCode:
    """Connect to a server: one that a command starts, one at a URL, or one that is set up under a NAME.

    Exits with 1 when a tool of it cannot be offered, with 7 when it cannot be opened.

    \b
    dragoman mcp test npx -y @modelcontextprotocol/server-everything
    dragoman mcp test --call echo --arguments '{"message": "hello"}' everything
    """
    from dragoman.cli.runner import run

    server = _found(console.configuration(), target)
    tried, opened, failed = run(_tried(server, tool, arguments))
    if as_json:
        console.json(tried)
    else:
        _show(console, tried)
    if not opened or failed:
        return ExitCode.TOOL
    return ExitCode.NO if tried.problems else ExitCode.OK


def _found(configuration: Configuration, target: tuple[str, ...]) -> agents.McpServer:
    known = agents.configured_mcp_servers(configuration)
    if len(target) == 1 and target[0] in known:
        server = known[target[0]]
        if server.refused is not None:
            raise ConfigError(f"the MCP server {server.name} is not started: {server.refused}")
        return server
    if "://" not in target[0] and processes.find_program(target[0]) is None:
        hint = nearest(target[0], known) or " `dragoman mcp list` shows the servers that are set up."
        raise click.UsageError(f'There is no server and no program "{target[0]}".{hint}')
    return agents.mcp_server_at(*target)


async def _tried(server: agents.McpServer, tool: str | None, arguments: str) -> tuple[Tried, bool, bool]:
    async with agents.McpServers([server]) as servers:
        outcome = await _outcome(servers, server, tool, arguments) if tool is not None else None
        opened = servers.connections[server.name].client is not None
        return _said(servers, server, outcome), opened, isinstance(outcome, model.Failure)


async def _outcome(servers: agents.McpServers, server: agents.McpServer, tool: str, arguments: str) -> Any:
    from dragoman.tools import Context

    named = tool if tool in servers.toolset else mcp.mcp_tool_name(server.name, tool)
    return await running.outcome_of(lambda: servers.toolset.get(named).call(arguments, Context()))  # type: ignore[union-attr]


def _said(servers: agents.McpServers, server: agents.McpServer, outcome: Any) -> Tried:
    connection = servers.connections[server.name]
    client = connection.client
    about = client.server_info if client is not None else None
    return Tried(
        name=about.name if about is not None else connection.server.name,
        where=connection.server.shown,
        version=about.version if about is not None else None,
        protocol=client.protocol_version if client is not None else None,
        tools=[tool.snapshot() for tool in connection.tools],
        problems=connection.problems,
        outcome=outcome,
    )


def _show(console: Console, tried: Tried) -> None:
    console.line(f"{tried.name} {tried.version or ''}".rstrip(), "strong")
    console.note(f"{tried.where}  (protocol {tried.protocol or 'unknown'}, {len(tried.tools)} tools)")
    if tried.outcome is not None:
        from dragoman.dialects import tell
        from dragoman.model import operations as op

        told = tell(op.CallFunction(tried.name), tried.outcome)
        for piece in (told,) if isinstance(told, str) else told:
            console.line(piece if isinstance(piece, str) else f"[{piece.media_type}, {piece.size or '?'} bytes]")
    elif tried.tools:
        rows = [(tool["name"], tool["kind"] or "", _first_line(tool["description"])) for tool in tried.tools]
        console.table(("tool", "kind", "description"), rows)
    for problem in tried.problems:
        console.error(problem)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 100 else f"{line[:99]}…"


# --- login -------------------------------------------------------------------------------------------------------


@command.command(short_help="Log in at a server.")
@click.argument("name", metavar="NAME")
@click.pass_obj
def login(console: Console, *, name: str) -> ExitCode:
    """Log in at the server that is set up under NAME, in your browser, and store the tokens as keys are stored.

    The server sends the browser back to an address of this machine. `run` and `chat` then use the tokens.
    """
    from dragoman.cli.runner import run

    configuration = console.configuration()
    server = _found(configuration, (name,))
    if server.transport != "http":
        raise click.UsageError(f"{name} is not reached by streamable HTTP: only such servers have logins.")

    async def visit(address: str) -> None:
        console.note(f"Log in here: {address}")
        webbrowser.open(address)

    host = mcp.McpHost(login=mcp.Login(config_dir=configuration.config_dir, visit=visit))

    async def opened() -> tuple[str, ...]:
        async with agents.McpServers([server], host=host, startup=320) as servers:
            return servers.connections[server.name].problems

    if problems := run(opened()):
        raise ConfigError("; ".join(problems))
    console.note(f"Logged in at {server.shown}.")
    return ExitCode.OK


# --- list --------------------------------------------------------------------------------------------------------


@command.command("list", short_help="List the servers that are set up.")
@json_option
@click.pass_obj
def list_servers(console: Console, *, as_json: bool) -> ExitCode:
    """List the MCP servers of the settings and of the project's files; none of them is started."""
    servers = list(agents.configured_mcp_servers(console.configuration()).values())
    if as_json:
        console.json([_row(server) for server in servers])
    elif not servers:
        console.note("There is none. Add one: [mcp.servers.NAME] in your settings, with a command or a url.")
    else:
        rows = [(one.name, one.transport, one.shown, one.origin or "", one.refused or "ok") for one in servers]
        console.table(("name", "over", "what", "from", "state"), rows)
        for server in servers:
            if server.unmapped:
                console.note(f"{server.name}: without a meaning here: {', '.join(server.unmapped)}")
    return ExitCode.OK


_ROW = ("name", "transport", "command", "cwd", "timeout", "trust_hints", "origin")


def _row(server: agents.McpServer) -> dict[str, Any]:
    names = {"env": sorted(server.env), "headers": sorted(server.headers)}  # names alone: the values are secrets
    facts = {name: getattr(server, name) for name in _ROW}
    return {**facts, "url": server.shown if server.url else None, **names, **_state(server)}


def _state(server: agents.McpServer) -> dict[str, Any]:
    return {"refused": server.refused, "unmapped": server.unmapped}
