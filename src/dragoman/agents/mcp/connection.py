"""One MCP server: opened when it is needed, its tools as ours, and opened again when it has died.

Rules: a server that is dead, slow or talks nonsense is a failure the model reads, never an exception of the run; it is
started again by the next call, later and later while it keeps dying. No process of a server outlives ours. What it says
is limited in size and in number. What it says of its own tools is believed only where the user trusts it, and a call
is made only while the tool is still defined as it was when the call was decided on.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from hashlib import blake2s
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dragoman.engine import Retry
from dragoman.errors import ConfigError, DefinitionError, DragomanError, MissingExtra, ToolError
from dragoman.model import Kind, conversation as conv, outcomes as out
from dragoman.tools import Context, Tool
from dragoman.tools.processes import find_program, new_brand

from .content import resource_of, to_outcome
from .host import McpHost
from .http import LARGEST_BODY, limited_http_client
from .names import mcp_tool_name
from .prompts import McpPrompt, messages_of, prompt_of
from .settings import McpServer, Transport, filled
from .stdio import stdio_transport

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import Tool as McpTool

SUBSCRIBE_SECONDS: Final = 5.0
"""How long a server has to agree to tell of its changes."""
ERRORS_KEPT: Final = 8 * 1024
"""Bytes kept of what a server wrote to standard error: the last ones."""
MOST_PAGES: Final = 100
"""Pages of a list that are asked for: one that never ends must not hang a run."""
MOST_TOOLS: Final = 1000
"""Tools of one server that are offered."""
LARGEST_TOOL: Final = 100_000
"""Characters that one tool's definition may have as JSON: its description, its schema and its hints."""
LARGEST_LIST: Final = 4_000_000
"""The same for all tools of a server together."""
MOST_PROGRESS: Final = 500
"""Reports of progress of one call that are passed on."""
RELIST_PAUSE: Final = 0.2
"""Seconds between two lists of tools of a server that keeps saying that they changed."""
SETTLE_SECONDS: Final = 5.0
"""How long a call waits for such a server."""


class Connection:
    """One server: opened when it is needed, and again when it has died."""

    def __init__(
        self,
        server: McpServer,
        back_off: Retry,
        startup: float,
        changed: Callable[[], None],
        host: McpHost = McpHost(),  # noqa: B008 - frozen
    ) -> None:
        self.server = server
        self._host = host
        self.tools: tuple[Tool, ...] = ()
        self.has_resources = self.has_prompts = False
        self.instructions: str | None = None
        self.starts = 0
        """How often it was opened."""
        self._back_off, self._startup, self._changed = back_off, startup, changed
        self._unusable: tuple[str, ...] = ()
        self._broken: str | None = None
        """Why it is not open, when it should be."""
        self._failures = 0
        self._not_before = 0.0
        self._opening = asyncio.Lock()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._relist = asyncio.Event()
        self._settled = asyncio.Event()
        """Nothing it said of its tools is still to be followed up."""
        self._settled.set()
        self._under_way: list[Context] = []
        """The calls of its tools that wait for their results."""
        self._defined: dict[str, str] = {}
        """Tool → its definition as it was listed last."""
        self._errors = _Errors()
        self._nonsense: str | None = None
        self._given_up: str | None = None
        """Why a session was ended that the server itself had not ended."""

    @property
    def problems(self) -> tuple[str, ...]:
        return (*((self._broken,) if self._broken is not None and self._client is None else ()), *self._unusable)

    @property
    def client(self) -> Client | None:
        """The open session of the MCP package, for what is not wrapped here."""
        return self._client

    # ── opening and closing ────────────────────────────────────────────────

    async def tried(self) -> None:
        """Opens it if that can be done; if not, `problems` says why."""
        with suppress(ToolError):
            await self.opened()

    async def opened(self) -> Client:
        """The open session. A server that cannot be opened, or not yet again, fails the call with the reason."""
        async with self._opening:
            if self._client is not None:
                return self._client
            if self._stop.is_set():
                raise ToolError(f"the MCP server {self.server.name} was closed")
            wait = self._not_before - asyncio.get_running_loop().time()
            if wait > 0:
                again = f"It will be started again in {wait:.0f} seconds at the earliest; try other tools meanwhile."
                raise ToolError(f"{self._broken} {again}", details=self._details())
            await self._ended()
            return await self._open()

    async def _open(self) -> Client:
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.starts += 1
        self._errors.clear()
        self._nonsense = self._given_up = None
        # A task of its own: what the session holds must be closed by the task that opened it.
        self._task = asyncio.create_task(self._run(ready), name=f"MCP server {self.server.name}")
        try:
            await asyncio.wait((ready,), timeout=self._startup)
        finally:
            if not ready.done():
                ready.cancel()
                self._task.cancel()
                await self._ended()
        if self._stop.is_set():
            raise ToolError(f"the MCP server {self.server.name} was closed")
        if ready.cancelled():
            self._fail(f"it did not answer within {self._startup:g} seconds")
        elif (error := ready.exception()) is not None:
            await self._ended()
            self._fail(self._why_given_up() or _told(error))
        else:
            self._broken = None
            return ready.result()
        raise ToolError(str(self._broken), details=self._details())

    async def _run(self, ready: asyncio.Future[Client]) -> None:
        """Opens the session, follows what it says of itself, and closes it: all in one task."""
        gone = asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                client = await self._session(stack, gone)
                changes = await self._subscribed(stack, client)
                await self._list(client)
                self.instructions = client.instructions
                self._client = client
                if not ready.done():
                    ready.set_result(client)
                await self._follow(client, gone, changes)
                self._client = None
                if not self._stop.is_set():
                    self._fail(self._why_given_up() or "it ended")
        except Exception as error:  # noqa: BLE001 - a transport may raise anything, in groups; the calls are told
            if not ready.done():
                ready.set_exception(error)
            elif not self._stop.is_set():
                self._fail(self._why_given_up() or _told(error))
        finally:
            ready.cancel()
            self._client = None
            self._relist.clear()
            self._settled.set()

    async def _session(self, stack: AsyncExitStack, gone: asyncio.Event) -> Client:
        """The open session, over the first transport that the server speaks."""
        over = self.server.transport
        if not self.server.or_sse:
            return await self._session_over(over, stack, gone)
        async with AsyncExitStack() as first:
            try:
                client = await self._session_over(over, first, gone)
            except Exception as error:  # noqa: BLE001 - as in `_run`
                refused = error
            else:
                stack.push_async_exit(first.pop_all())
                return client
        gone.clear()
        try:
            return await self._session_over("sse", stack, gone)
        except Exception:  # noqa: BLE001 - as in `_run`
            raise refused from None

    async def _session_over(self, over: Transport, stack: AsyncExitStack, gone: asyncio.Event) -> Client:
        """The open session, in the first era of the protocol that the server speaks.

        Where it may ask something, the era with a handshake comes first: tools of servers that speak both ask by
        requests of their own (`ctx.elicit` of the `mcp` package, also in 2.3), which the protocol of 2026 has not.
        """
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        if self._host.answers:
            async with AsyncExitStack() as first:
                try:
                    client = await self._opened_as("legacy", over, first, gone)
                except (MCPError, RuntimeError) as error:  # the package's, for an answer to the handshake that is none
                    if getattr(error, "code", None) == CONNECTION_CLOSED:
                        raise
                else:
                    stack.push_async_exit(first.pop_all())
                    return client
            gone.clear()
        return await self._opened_as("auto", over, stack, gone)

    async def _opened_as(self, mode: str, over: Transport, stack: AsyncExitStack, gone: asyncio.Event) -> Client:
        from importlib.metadata import version

        from mcp import Client
        from mcp.types import Implementation

        transport = await self._transport(over, stack)
        client = Client(
            _watched(transport, gone.set, self._give_up),
            mode=mode,
            message_handler=self._heard,
            client_info=Implementation(name="dragoman", version=version("dragoman")),
            cache=None,
            **self._host.callbacks(self.server.name, self._waiting_for_user),
        )
        return await stack.enter_async_context(client)

    async def _transport(self, over: Transport, stack: AsyncExitStack) -> Any:
        server = self.server
        if server.refused is not None:
            raise ConfigError(server.refused)
        if over == "stdio":
            from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

            brand = new_brand()
            program, arguments = _command(server, brand)
            env = {name: filled(value.reveal()) for name, value in server.env.items()}
            errors = stack.enter_context(self._errors.open())
            if os.name != "posix":
                order = StdioServerParameters(command=program, args=arguments, env=env, cwd=server.cwd)
                return stdio_client(order, errlog=errors)
            whole = {**get_default_environment(), **env}
            return stdio_transport((program, *arguments), whole, server.cwd, errors, self._give_up, brand)
        url = filled(server.url or "")
        headers = {name: filled(value.reveal()) for name, value in server.headers.items()}
        if over == "sse":
            from mcp.client.sse import sse_client

            return sse_client(url, headers=headers, httpx_client_factory=limited_http_client)
        from mcp.client.streamable_http import streamable_http_client

        auth = None
        if server.login:
            from .machine_login import authorised_by_itself, machine_login

            given = {name: filled(value.reveal()) for name, value in server.login.items()}
            auth = await authorised_by_itself(machine_login(server.name, given), url)
        elif self._host.login is not None and not any(name.lower() == "authorization" for name in headers):
            from .login import Loopback, authorised

            loopback = Loopback()
            stack.push_async_callback(loopback.close)
            auth = await authorised(self._host.login, server.name, url, loopback)
        http = await stack.enter_async_context(limited_http_client(headers, auth=auth))
        return streamable_http_client(url, http_client=http, max_sse_event_size=LARGEST_BODY)

    def _why_given_up(self) -> str | None:
        return self._given_up

    def _give_up(self, why: str) -> None:
        self._given_up = self._given_up or why

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None and self._client is None:
            self._task.cancel()  # it is still opening, and looks at nothing else
        await self._ended()

    async def _ended(self) -> None:
        """Waits until nothing is left of the last session."""
        task, self._task = self._task, None
        if task is None:
            return
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError:
                task.cancel()  # whoever waits is in a hurry: it is told to end, and given the time to
                await asyncio.wait((task,))
                raise
        if not task.cancelled():
            task.result()

    def _fail(self, why: str) -> None:
        """Notes that it is not running: the first time it is started again at once, then later and later."""
        self._failures += 1
        pause = self._back_off.wait(self._failures - 1) if self._failures > 1 else 0.0
        self._not_before = asyncio.get_running_loop().time() + pause
        self._broken = f"The MCP server {self.server.name} is not running: {why}.{self._aside()}"

    # ── what it offers ─────────────────────────────────────────────────────

    async def _list(self, client: Client) -> None:
        offered = client.server_capabilities
        tools: dict[str, Tool] = {}
        defined: dict[str, str] = {}
        unusable: list[str] = []
        room = LARGEST_LIST
        cursor: str | None = None
        for _ in range(MOST_PAGES if offered.tools is not None else 0):
            page = await client.list_tools(cursor=cursor)
            for one in page.tools:
                room -= self._add(one, tools, unusable, room)
                defined.setdefault(one.name, _definition(one))
            cursor = page.next_cursor
            if cursor is None or room <= 0 or len(tools) >= MOST_TOOLS:
                break
        if cursor is not None and room > 0 and len(tools) < MOST_TOOLS:
            unusable.append(f"its list of tools has more than {MOST_PAGES} pages; the rest is left out")
        elif room <= 0 or (cursor is not None and len(tools) >= MOST_TOOLS):
            largest = f"{MOST_TOOLS} tools or {LARGEST_LIST} characters"
            unusable.append(f"its list of tools is larger than {largest}; the rest is left out")
        known = {tool.name: tool for tool in self.tools}
        # What is the same stays the same object: to a run nothing has changed then.
        now = tuple(known[name] if name in known and _same(known[name], tool) else tool for name, tool in tools.items())
        before = (self.tools, self.has_resources)
        self.tools, self.has_resources = now, offered.resources is not None
        self.has_prompts = offered.prompts is not None
        self._unusable, self._defined = tuple(unusable), defined
        if (self.tools, self.has_resources) != before:
            self._changed()

    def _add(self, one: McpTool, tools: dict[str, Tool], unusable: list[str], room: int) -> int:
        """Adds a tool that can be offered, or says why it cannot; gives the size of its definition."""
        if room <= 0 or len(tools) >= MOST_TOOLS:
            return room + 1  # none of the rest is looked at
        size = len(one.model_dump_json())
        named = one.name if len(one.name) <= 100 else f"{one.name[:100]}…"
        why: str | None = None
        if size > LARGEST_TOOL:
            why = f"its definition has {size} characters, and {LARGEST_TOOL} is the maximum"
        else:
            try:
                tool = self._tool(one)
            except DefinitionError as error:
                why = "; ".join(error.problems)[:1000]
        if why is not None:
            if len(unusable) < MOST_PAGES:
                unusable.append(f"its tool {named!r} cannot be offered: {why}")
            return min(size, LARGEST_TOOL)
        if tool.name in tools and len(unusable) < MOST_PAGES:
            unusable.append(f"it has two tools called {named!r}; the first is offered")
        tools.setdefault(tool.name, tool)
        return size

    def _tool(self, one: McpTool) -> Tool:
        hints = one.annotations
        trusted = self.server.trust_hints and hints is not None
        reads = trusted and hints is not None and hints.read_only_hint is True
        again = trusted and hints is not None and hints.idempotent_hint is True
        title = one.title or (hints.title if hints is not None else None)
        told = one.model_dump(mode="json", by_alias=True, exclude_none=True, include=_HINTS)
        return Tool(
            mcp_tool_name(self.server.name, one.name),
            one.description or title or f"The tool {one.name} of the MCP server {self.server.name}.",
            # The protocol says that arguments are an object, so a server may leave that unsaid.
            {"type": "object", **one.input_schema},
            partial(self._call, one.name, _definition(one)),
            hints=told or None,
            tags=("mcp", f"mcp:{self.server.name}"),
            timeout=self.server.timeout,
            repeatable=reads or again,
            kind=Kind.READ if reads else None,
            mcp=(self.server.name, one.name),
        )

    async def _heard(self, message: Any) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._note_change()
        elif isinstance(message, Exception):
            self._nonsense = _told(message)

    async def _follow(self, client: Client, gone: asyncio.Event, changes: Any) -> None:
        """Lists the tools again whenever the server says so, until it is gone or to be closed."""
        listening = asyncio.create_task(self._listen(changes))
        try:
            while not gone.is_set() and not self._stop.is_set():
                await _first_of(gone, self._stop, self._relist)
                if self._relist.is_set() and not gone.is_set():
                    self._relist.clear()
                    await self._list_again(client)
                    if not self._relist.is_set():
                        self._settled.set()
                    else:
                        with suppress(TimeoutError):
                            await asyncio.wait_for(_first_of(gone, self._stop), RELIST_PAUSE)
        finally:
            listening.cancel()
            await asyncio.wait((listening,))

    async def _list_again(self, client: Client) -> None:
        from mcp import MCPError

        try:
            async with asyncio.timeout(self._startup):
                await self._list(client)
        except (MCPError, TimeoutError, ValueError) as error:
            self._unusable = (*self._unusable, f"its tools changed, and cannot be listed again: {_told(error)}")

    async def _subscribed(self, stack: AsyncExitStack, client: Client) -> Any:
        """What the server will say of its changes: of late it does so only to those who ask. `None`: unasked, or never.

        It is asked before its tools are listed, so that no change falls between the two.
        """
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return None
        try:
            async with asyncio.timeout(SUBSCRIBE_SECONDS):
                return await stack.enter_async_context(client.listen(tools_list_changed=True))
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return None

    async def _listen(self, changes: Any) -> None:
        from mcp.client.subscriptions import SubscriptionLost

        if changes is not None:
            with suppress(SubscriptionLost):
                async for _ in changes:
                    self._note_change()

    def _note_change(self) -> None:
        self._settled.clear()
        self._relist.set()

    # ── calling ────────────────────────────────────────────────────────────

    async def _call(self, tool: str, definition: str, arguments: dict[str, Any], context: Context) -> out.Outcome:
        """Makes a call of a tool that was listed with this definition."""
        reports = count(1)

        async def told(progress: float, total: float | None, message: str | None) -> None:
            number = next(reports)
            if number > MOST_PROGRESS:
                return
            fraction = min(max(progress / total, 0.0), 1.0) if total else None
            text = (message or ("" if fraction is not None else f"{progress:g}"))[:_LONGEST_REPORT]
            last = " (further progress is not shown)" if number == MOST_PROGRESS else ""
            context.progress(text + last, fraction=fraction)

        async with self._asking() as client:
            await self._unchanged(tool, definition)
            self._under_way.append(context)
            try:
                result = await client.call_tool(tool, arguments, progress_callback=told)
            finally:
                self._under_way.remove(context)
            await self._is_settled()  # what the call changed of the tools is offered with its result
            return to_outcome(result, server=self.server.name)

    @contextmanager
    def _waiting_for_user(self) -> Iterator[None]:
        """While a server asks somebody something, its calls are not held to their time limits: it waits for us."""
        with ExitStack() as stack:
            for context in self._under_way:
                stack.enter_context(context.waiting_for_user())
            yield

    async def _unchanged(self, tool: str, definition: str) -> None:
        """Refuses a call of a tool that is defined otherwise by now: whoever decided on it knew another one."""
        name = self.server.name
        if not await self._is_settled():
            raise ToolError(f"the call was not made: the MCP server {name} keeps changing its tools")
        if self._defined.get(tool) != definition:
            what = "changed" if tool in self._defined else "withdrew"
            again = " Call it again if its new definition still fits." if tool in self._defined else ""
            message = f"the MCP server {name} {what} its tool {tool} after the call was decided on.{again}"
            raise ToolError(f"the call was not made: {message}")

    async def _is_settled(self) -> bool:
        """Whether everything is followed up that the server said of its tools; waits for that, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._settled.wait()
        return self._settled.is_set()

    async def resources(
        self, cursor: str | None, *, templates: bool, all: bool
    ) -> tuple[list[out.Resource], str | None]:
        """A page of its resources, or every one, and where the next page begins."""
        found: list[out.Resource] = []
        async with self._asking() as client:
            for _ in range(MOST_PAGES):
                if templates:
                    page: Any = await client.list_resource_templates(cursor=cursor)
                    rows = [(one.uri_template, one) for one in page.resource_templates]
                else:
                    page = await client.list_resources(cursor=cursor)
                    rows = [(one.uri, one) for one in page.resources]
                name = self.server.name
                found += [out.Resource(uri, one.name, one.description, one.mime_type, name) for uri, one in rows]
                cursor = page.next_cursor
                if cursor is None or not all:
                    break
        return found, cursor

    async def read_resource(self, uri: str) -> out.ResourcesOutcome:
        async with self._asking() as client:
            read = await client.read_resource(uri)
            return out.ResourcesOutcome(tuple(resource_of(one, self.server.name) for one in read.contents))

    async def prompts(self) -> tuple[McpPrompt, ...]:
        """Every prompt it has."""
        found: list[McpPrompt] = []
        cursor: str | None = None
        async with self._asking() as client:
            for _ in range(MOST_PAGES):
                page = await client.list_prompts(cursor=cursor)
                found += [prompt_of(self.server.name, one) for one in page.prompts]
                cursor = page.next_cursor
                if cursor is None:
                    break
        return tuple(found)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[conv.Message, ...]:
        """What a prompt of its says."""
        async with self._asking() as client:
            return messages_of(await client.get_prompt(name, dict(arguments)))

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Client]:
        """The open session for one request; whatever goes wrong with it is a `ToolError` that says what and whose."""
        from mcp import MCPError

        client = await self.opened()
        try:
            yield client
        except MCPError as error:
            raise await self._refused(client, error) from error
        except (RuntimeError, ValueError) as error:  # how the package says that a result is not what it should be
            message = f"the MCP server {self.server.name} gave a result that cannot be read: {_told(error)}"
            raise ToolError(message, details=self._details()) from error
        self._failures = 0

    async def _refused(self, client: Client, error: Any) -> ToolError:
        from mcp.types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT

        if error.code == CONNECTION_CLOSED or error.message in _SESSION_LOST:
            if self._client is client:
                self._client = None
            if self._task is not None:
                if error.code != CONNECTION_CLOSED:
                    self._task.cancel()
                await asyncio.wait((self._task,))
            if self._broken is None or "is not running" not in self._broken:
                self._fail("its session ended")
            done = "Whether the call took effect is not known: look first. The next call starts the server again."
            return ToolError(f"{self._broken} {done}", details=self._details())
        kind = {INVALID_PARAMS: "invalid_arguments", REQUEST_TIMEOUT: "timed_out"}.get(error.code, "failed")
        details = {**self._details(), "code": error.code}
        if error.data is not None:
            details["data"] = error.data
        return ToolError(f"the MCP server {self.server.name} answered: {error.message}", kind=kind, details=details)

    def _details(self) -> dict[str, Any]:
        said = self._errors.text
        return {"server": self.server.name, **({"stderr": said} if said else {})}

    def _aside(self) -> str:
        """What may explain why a server is gone."""
        said = self._errors.text.strip()
        told = f" It wrote to standard error: {said[-1000:]}" if said else ""
        return f" It wrote something that is no message: {self._nonsense}{told}" if self._nonsense else told


# ── parts ────────────────────────────────────────────────────────────────────


def installed() -> None:
    """Makes sure that the MCP package is there, and that it does not write on anybody's terminal."""
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise MissingExtra("mcp", "talking with MCP servers", error.name or "mcp") from error
    import logging

    logger = logging.getLogger("mcp")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def _command(server: McpServer, brand: tuple[int, int] | None) -> tuple[str, list[str]]:
    """The program and arguments that start a server, below a process that ends it when we end."""
    program, *arguments = (filled(word) for word in server.command)
    path = server.env["PATH"].reveal() if "PATH" in server.env else None
    found = find_program(program, path)
    if found is None:
        raise ConfigError(f"there is no program {program!r} to start it with; install it, or give its whole path")
    if os.name != "posix":
        return found, arguments
    watch = str(Path(__file__).with_name("watch.py"))
    return sys.executable, ["-I", "-S", watch, ",".join(map(str, brand or ())), found, *arguments]


class _Errors:
    """The last of what a server writes to standard error."""

    def __init__(self) -> None:
        self._kept = b""

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def clear(self) -> None:
        self._kept = b""

    def open(self) -> Any:
        """The file to give to a server, as a context: what is written to it is kept."""

        @contextmanager
        def opened() -> Any:
            loop = asyncio.get_running_loop()
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            loop.add_reader(reading, self._read, reading)
            try:
                with open(writing, "wb", buffering=0) as file:
                    yield file
            finally:
                self._read(reading)
                loop.remove_reader(reading)
                os.close(reading)

        return opened()

    def _read(self, descriptor: int) -> None:
        # Once per turn of the loop: a server that never stops writing must not keep everybody else from their turn.
        with suppress(BlockingIOError):
            self._kept = (self._kept + os.read(descriptor, 64 * 1024))[-ERRORS_KEPT:]


@asynccontextmanager
async def _watched(transport: Any, gone: Callable[[], Any], give_up: Callable[[str], None]) -> AsyncIterator[Any]:
    """A transport that says when nothing more will come from the server, or be heard from it."""
    async with transport as (read, write):
        yield _Watched(read, gone, give_up), write


FLOOD_SECONDS: Final = 10.0
FLOOD: Final = {"notifications": 5000, "requests": 100}
"""What a server may say unasked in that time."""


class _Watched:
    """A stream of messages that tells of its end, and ends when a server floods it with what nobody asked for."""

    def __init__(self, stream: Any, gone: Callable[[], Any], give_up: Callable[[str], None]) -> None:
        self._stream, self._gone, self._give_up = stream, gone, give_up
        self._since = 0.0
        self._heard: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            message = await self._stream.__anext__()
        except StopAsyncIteration:
            self._gone()
            raise
        if (why := self._flood(message)) is not None:
            self._give_up(why)
            self._gone()
            raise StopAsyncIteration
        return message

    def _flood(self, message: Any) -> str | None:
        """Why no more is to be heard, when a message is one too many."""
        said = getattr(message, "message", None)
        if said is not None and not hasattr(said, "method"):
            return None  # an answer
        kind = "requests" if hasattr(said, "id") else "notifications"
        now = asyncio.get_running_loop().time()
        if now - self._since > FLOOD_SECONDS:
            self._since, self._heard = now, {}
        self._heard[kind] = self._heard.get(kind, 0) + 1
        if self._heard[kind] <= FLOOD[kind]:
            return None
        return f"it sent more than {FLOOD[kind]} {kind} in {FLOOD_SECONDS:g} seconds, and was ended"

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()


_SESSION_LOST: Final = ("Session terminated", "Server returned an error response")
"""How the package tells of an HTTP status that is an error. So answers a server that was started anew and does not know
our session, with 404 or with whatever else: a new session costs little, an old one may be of no use for ever."""


_HINTS: Final = {"title", "annotations", "output_schema"}
_DEFINITION: Final = {*_HINTS, "name", "description", "input_schema"}
_LONGEST_REPORT: Final = 1000


def _definition(tool: McpTool) -> str:
    """Names a tool's definition, as its server gave it: any change of it gives another name."""
    return blake2s(tool.model_dump_json(include=_DEFINITION).encode("utf-8", "surrogatepass")).hexdigest()


def _same(one: Tool, other: Tool) -> bool:
    return one.snapshot() == other.snapshot()


def _told(error: BaseException) -> str:
    """An error in one line; of a group, the first that says something."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(re.sub(r"For further information visit \S+", "", str(error)).split())[:500]
    if isinstance(error, DragomanError):
        return text.rstrip(".")
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
    return (text or type(error).__name__).rstrip(".")
