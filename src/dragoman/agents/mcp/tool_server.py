"""Any toolset as an MCP server, over standard input and output or over HTTP.

Rules: a call goes through the same facade, policy and executor as a model's does, so what is denied there is denied
here. Nobody sits at this end: a call that would have to be asked about is refused with the reason, unless an approver
was given. Standard output carries messages of the protocol alone.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote, unquote
from weakref import WeakKeyDictionary

import msgspec

from dragoman import engine, model, tools
from dragoman.config import Sandbox
from dragoman.dialects import DIALECTS, Dialect
from dragoman.engine import Executor, Facade, ToolPolicy
from dragoman.errors import ConfigError, DefinitionError, ToolError
from dragoman.model import (
    Call,
    FreeformDefinition,
    FunctionDefinition,
    Kind,
    NativeCall,
    Result,
    ToolChoice,
    operations as op,
    outcomes as out,
)
from dragoman.tools import Context, Shell, Tool, Toolset, Web, standard_context
from dragoman.tools.running import honoured_in

from .caller import Level, McpCaller
from .connection import installed
from .content import from_result
from .guard import LOOPBACK, MOST_CONNECTIONS, MOST_SESSIONS, Guard
from .offered import Offered, ServedPrompt, ServedResource
from .resuming import RETRY_MILLISECONDS, event_store
from .watched import Watched, connection_of

if TYPE_CHECKING:
    from socket import socket

    from mcp.server import Server
    from mcp.types import CallToolResult, Tool as McpTool

PATH: Final = "/mcp"
"""Where an HTTP server answers."""
_HARMLESS: Final = (Kind.READ, Kind.SEARCH)
FILES: Final = "workspace:///"
"""What the URIs of a workspace's files begin with."""
MOST_FILES: Final = 1000
"""Files of the workspace that are listed; any other is read by its path."""
LARGEST_FILE: Final = 8 * 1024 * 1024


class Served(msgspec.Struct, frozen=True):
    """Where a server listens, and the token its clients must send; `None` where they need none."""

    url: str
    token: str | None


class ToolServer:
    """A toolset in the words of a dialect, ready to be served to any number of clients.

    `structured=False` leaves out the typed outcomes: some clients show them to the model instead of the text.
    `sandbox` is what commands run in and `web` makes what pages are fetched with, where there is no `context`.
    `resources` and `prompts` are offered beside the tools; with the tool `read_file`, so are the workspace's files,
    each read by a call of that tool, so that the policy holds for them too. A tool reaches the client that called it
    with `context.get(McpCaller)`.
    """

    def __init__(
        self,
        toolset: Toolset,
        *,
        dialect: str | Dialect = "plain",
        policy: ToolPolicy = ToolPolicy(),  # noqa: B008 - frozen
        workspace: tools.Workspace | None = None,
        context: Context | None = None,
        approver: engine.Approver | None = None,
        sandbox: Sandbox = Sandbox(mode="off"),  # noqa: B008 - frozen
        web: Callable[[], Web] = Web,
        name: str = "dragoman",
        instructions: str | None = None,
        structured: bool = True,
        resources: Iterable[ServedResource] = (),
        prompts: Iterable[ServedPrompt] = (),
    ) -> None:
        installed()
        allowed = Toolset([tool for tool in toolset if policy.allows(tool.name)])
        chosen = DIALECTS[dialect] if isinstance(dialect, str) else dialect
        reaching = web() if context is None else context.provides.get(Web)
        self.facade = Facade(chosen, allowed, honoured=honoured_in(Context(provides={Web: reaching})))
        self.policy, self.approver = policy, approver
        self.name, self.instructions, self.structured = name, instructions, structured
        self._workspace, self._context, self._sandbox, self._web = workspace, context, sandbox, web
        self._ids = count(1)
        self._reports: dict[str, asyncio.Queue[tuple[str, float | None] | None]] = {}
        self._taking_text: set[str] = set()
        self.tools: tuple[McpTool, ...] = self._offered()
        self._resources, self._prompts = tuple(resources), tuple(prompts)
        self._levels: WeakKeyDictionary[Any, Level] = WeakKeyDictionary()
        self._caller = McpCaller(lambda session: self._levels.get(connection_of(session), "info"))

    # ── what is offered ────────────────────────────────────────────────────

    def _offered(self) -> tuple[McpTool, ...]:
        problems: list[str] = []
        offered: list[McpTool] = []
        behind = self._behind()
        for definition in self.facade.definitions:
            made = self._tool(definition, behind.get(definition.name or "", []))
            if made is None:
                problems.append(f"{definition.name!r} is a provider's own tool: MCP has no words for it")
            else:
                offered.append(made)
        if problems:
            raise DefinitionError("what is served", problems)
        return tuple(offered)

    def _behind(self) -> dict[str, list[Tool]]:
        """The tools of ours that each name offered leads to."""
        found: dict[str, list[Tool]] = {}
        for tool in self.facade.toolset:
            if isinstance(tool, Tool):
                for name in self.facade.choice(ToolChoice("subset", (tool.name,))).names:
                    found.setdefault(name, []).append(tool)
        return found

    def _tool(self, definition: model.Definition, behind: list[Tool]) -> McpTool | None:
        from mcp.types import Tool as McpTool, ToolAnnotations

        hints = ToolAnnotations(
            read_only_hint=bool(behind) and all(tool.kind in _HARMLESS for tool in behind),
            idempotent_hint=bool(behind) and all(tool.repeatable for tool in behind),
        )
        if isinstance(definition, FunctionDefinition):
            schema = definition.parameters
        elif isinstance(definition, FreeformDefinition):
            self._taking_text.add(definition.name)
            text = {"type": "string", "description": "The whole input, as it is."}
            schema = {"type": "object", "properties": {"input": text}, "required": ["input"]}
        else:
            return None
        about = definition.description
        return McpTool(name=definition.name, description=about, input_schema=schema, annotations=hints)

    # ── what is done ───────────────────────────────────────────────────────

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Server[Any]]:
        """The server of the MCP package, with everything its tools need for as long as it is open."""
        async with AsyncExitStack() as stack:
            context = self._context
            if context is None and self._workspace is not None:
                shell = Shell(sandbox=self._sandbox)
                context = await stack.enter_async_context(
                    standard_context(self._workspace, shell=shell, web=self._web())
                )
            context = copy(context or Context())
            context.provides = {**context.provides, McpCaller: self._caller}
            executor = self._executor(context)
            offered = self._beside(executor, context)
            watched = Watched(offered)
            stack.callback(watched.close)
            yield self._server(executor, offered, watched)

    def _executor(self, context: Context) -> Executor:
        return Executor(
            self.facade.toolset,
            self.policy,
            context,
            approver=self.approver,
            emit=self._heard,
            write=self._written,
            reconsider=self.facade.reconsidered,
            edit_rules=self.facade.edit_rules,
        )

    def _written(self, call: Call, result: Result) -> Result:
        return msgspec.structs.replace(result, native=self.facade.write_result(call, result.outcomes))

    def _heard(self, what: str, **facts: Any) -> None:
        if what == "progressed" and facts["call_id"] in self._reports:
            self._reports[facts["call_id"]].put_nowait((facts["message"], facts["fraction"]))

    def _server(self, executor: Executor, offered: Offered, watched: Watched) -> Server[Any]:
        from importlib.metadata import version

        from mcp.server import Server
        from mcp.types import (
            CallToolRequestParams,
            EmptyResult,
            ListToolsResult,
            PaginatedRequestParams,
            SetLevelRequestParams,
        )

        async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
            return ListToolsResult(tools=list(self.tools))

        async def call_tool(request: Any, params: CallToolRequestParams) -> CallToolResult:
            with self._caller.serving(request):
                result = await self._called(executor, request.session, params.name, params.arguments or {})
            await watched.look()
            return result

        async def set_level(request: Any, params: SetLevelRequestParams) -> EmptyResult:
            self._levels[connection_of(request.session)] = params.level
            return EmptyResult()

        # A server says that it has what it has handlers for.
        beside: dict[str, Any] = {}
        if offered.resources:
            beside |= {
                "on_list_resources": offered.list_resources,
                "on_list_resource_templates": offered.list_templates,
                "on_read_resource": offered.read_resource,
                "on_subscribe_resource": watched.subscribe,
                "on_unsubscribe_resource": watched.unsubscribe,
            }
        if offered.prompts:
            beside |= {"on_list_prompts": offered.list_prompts, "on_get_prompt": offered.get_prompt}
        if offered.resources or offered.prompts:
            beside["on_completion"] = offered.complete
        server: Server[Any] = Server(
            self.name,
            version=version("dragoman"),
            instructions=self.instructions,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            **beside,
        )
        # Of no use from the protocol of 2026 on, so the package warns of it as a parameter.
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
        return server

    def _beside(self, executor: Executor, context: Context) -> Offered:
        """Resources and prompts: what was given, and the files of the workspace where they may be read."""
        by_operation = {tool.operation: tool for tool in self.facade.toolset if isinstance(tool, Tool)}
        if not context.has_workspace or op.ReadFile not in by_operation:
            return Offered(self._resources, self._prompts, None)
        workspace = context.workspace

        async def performed(operation: Any) -> model.Outcome:
            """What a model's call of it would give: rules, approval and limits hold here too."""
            native = NativeCall(f"mcp-{next(self._ids)}", str(operation.__struct_config__.tag))
            try:
                (result,) = await executor.run([Call(native.id, (operation,), native=native)])
            finally:
                executor.started.discard(native.id)
            if isinstance(failure := result.outcomes[0], model.Failure):
                raise ToolError(failure.message, kind=failure.kind, details=failure.details)
            return result.outcomes[0]

        async def read(uri: str, path: str = "") -> str | bytes:
            path = path or unquote(uri.removeprefix(FILES))
            try:
                await performed(op.ReadFile(path))
            except ToolError as error:
                if error.details.get("reason") != "binary":  # it may be read, though a model cannot be shown it
                    raise
                return workspace.read(path, limit=LARGEST_FILE)
            data = workspace.read(path, limit=LARGEST_FILE)
            try:
                return data.decode()
            except UnicodeDecodeError:
                return data

        async def found() -> list[str]:
            if op.FindFiles not in by_operation:
                return []
            paths = await performed(op.FindFiles("**", limit=MOST_FILES))
            return list(paths.paths) if isinstance(paths, out.PathsOutcome) else []

        async def complete(_: str, value: str) -> list[str]:
            return [path for path in await found() if path.startswith(value)]

        async def listed() -> list[ServedResource]:
            return [ServedResource(uri=FILES + quote(path), name=path, read=read) for path in await found()]

        files = ServedResource(
            uri=FILES + "{+path}",
            name="file",
            description="A file of the workspace, by its path.",
            read=read,
            version=lambda uri, path: workspace.entry(path),
            complete=complete,
        )
        return Offered((*self._resources, files), self._prompts, listed)

    async def _called(self, executor: Executor, session: Any, name: str, arguments: dict[str, Any]) -> CallToolResult:
        given: Any = arguments
        if name in self._taking_text and isinstance(arguments.get("input"), str):
            given = arguments["input"]
        call = self.facade.read_call(NativeCall(f"mcp-{next(self._ids)}", name, given))
        reports = self._reports[call.id] = asyncio.Queue()
        telling = asyncio.create_task(_tell(session, reports))
        try:
            (result,) = await executor.run([call])
        finally:
            del self._reports[call.id]
            executor.started.discard(call.id)
            reports.put_nowait(None)
            await asyncio.wait((telling,))
        assert result.native is not None  # `write` gave it
        return from_result(result.native, result.outcomes, structured=self.structured)

    # ── serving ────────────────────────────────────────────────────────────

    async def serve_stdio(self) -> None:
        """Serves the process that started this one, until it closes standard input."""
        from mcp.server.stdio import stdio_server

        async with self.opened() as server, _standard_input() as lines, stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def serve_http(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | Literal[False] | None = None,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        ready: Callable[[Served], None] | None = None,
    ) -> None:
        """Serves streamable HTTP until it is cancelled or the process gets a signal to end.

        `ready` gets the URL and the token. Only clients with the token are served. Without one, a random token is made;
        `False` serves every program on this machine, and is refused for an address that other machines reach. `hosts`
        are further names by which clients may call this server (`name` or `name:port`), `origins` pages that may use it
        (`https://app.example`).
        """
        import uvicorn
        from mcp.server.transport_security import TransportSecuritySettings

        if token is False and host not in LOOPBACK:
            raise ConfigError(f"{host} can be reached from other machines: clients must need a token there")
        if token == "":
            raise ConfigError("the token is empty: give one that nobody can guess, or none to have one made")
        needed = None if token is False else token or secrets.token_urlsafe(32)
        async with self.opened() as server:
            with _listening(host, port) as listening:
                bound = listening.getsockname()[1]
                app: Any = server.streamable_http_app(
                    streamable_http_path=PATH,
                    max_sessions=MOST_SESSIONS,
                    event_store=event_store(),
                    retry_interval=RETRY_MILLISECONDS,
                    # The guard decides; the package would let in every page that is served on this machine.
                    transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                )
                guard: Any = Guard(app, host=host, port=bound, token=needed, hosts=hosts, origins=origins)
                settings = uvicorn.Config(
                    guard,
                    log_level="critical",
                    access_log=False,
                    ws="none",
                    proxy_headers=False,
                    server_header=False,
                    limit_concurrency=MOST_CONNECTIONS,
                )
                if ready is not None:
                    shown = f"[{host}]" if ":" in host else host
                    ready(Served(f"http://{shown}:{bound}{PATH}", needed))
                await uvicorn.Server(settings).serve(sockets=[listening])


def _listening(host: str, port: int) -> socket:
    from socket import AF_INET, AF_INET6, create_server

    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET)
    except OSError as error:
        raise ConfigError(f"{host}:{port} cannot be served at: {error.strerror}; choose another address") from error


@asynccontextmanager
async def _standard_input() -> AsyncIterator[Any]:
    """The lines of standard input, while whatever a tool starts reads nothing there.

    The event loop reads them: the package would have a thread wait for them, which no Ctrl-C could end. Where that
    cannot be, as with an ordinary file, there is nothing to wait for either, and it is left to the package.
    """
    mode = os.fstat(0).st_mode
    if os.name != "posix" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        yield None
        return
    # A terminal is opened anew: not to wait on it must not hold for its other end, which is standard output.
    wire = os.open(os.ttyname(0), os.O_RDONLY | os.O_NOCTTY) if os.isatty(0) else os.dup(0)
    kept, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(wire, "rb", 0))
    try:
        yield _lines(reader)
    finally:
        transport.close()
        os.set_blocking(kept, True)
        os.dup2(kept, 0)
        os.close(kept)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """Lines of any length."""
    pieces: list[bytes] = []
    while data := await reader.read(64 * 1024):
        *ended, rest = data.split(b"\n")
        for line in ended:
            yield b"".join((*pieces, line)).decode("utf-8", "replace")
            pieces = []
        pieces.append(rest)
    if any(pieces):
        yield b"".join(pieces).decode("utf-8", "replace")


async def _tell(session: Any, reports: asyncio.Queue[tuple[str, float | None] | None]) -> None:
    """Passes on how far a call is. The protocol wants every number to be larger than the one before."""
    last = 0.0
    while (report := await reports.get()) is not None:
        message, fraction = report
        last = last + 1 if fraction is None else max(fraction, last + 1e-6)
        await session.report_progress(last, None if fraction is None else max(1.0, last), message or None)
