"""The MCP client whose call a tool is running for: what the tool may tell it, and ask of it.

A tool of a `ToolServer` gets it with `context.get(McpCaller)`. What a client does not offer fails the call with a
sentence that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dragoman.errors import ToolError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: Final[tuple[Level, ...]] = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)


class Answered(msgspec.Struct, frozen=True):
    """What a user answered: `accept` with the content of the form, `decline` or `cancel`."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = {}


class McpCaller:
    """The client of the call that is being run; the same object serves all calls."""

    def __init__(self, wanted: Callable[[Any], Level]) -> None:
        self._wanted = wanted
        """The least level of messages that a session wants."""
        self._request: ContextVar[ServerRequestContext[Any]] = ContextVar("request")

    @contextmanager
    def serving(self, request: ServerRequestContext[Any]) -> Iterator[None]:
        """Everything asked meanwhile, also by tasks begun meanwhile, is asked of this request's client."""
        before = self._request.set(request)
        try:
            yield
        finally:
            self._request.reset(before)

    async def log(self, data: Any, level: Level = "info", logger: str | None = None) -> None:
        """Sends a message for the client's log; nothing where the client wants only graver ones."""
        from mcp.types import LoggingMessageNotification, LoggingMessageNotificationParams

        request = self._now()
        if LEVELS.index(level) >= LEVELS.index(self._wanted(request.session)):
            params = LoggingMessageNotificationParams(level=level, data=data, logger=logger)
            notification = LoggingMessageNotification(params=params)
            await request.session.send_notification(notification, related_request_id=request.request_id)

    async def sample(self, prompt: str, *, max_tokens: int = 1024, system_prompt: str | None = None) -> str:
        """What the client's model answers to a prompt; the client decides which model, and may ask its user."""
        from mcp.types import (
            CreateMessageRequest,
            CreateMessageRequestParams,
            CreateMessageResult,
            SamplingMessage,
            TextContent,
        )

        asked = SamplingMessage(role="user", content=TextContent(text=prompt))
        params = CreateMessageRequestParams(messages=[asked], max_tokens=max_tokens, system_prompt=system_prompt)
        answer = await self._asked("sampling", CreateMessageRequest(params=params), CreateMessageResult)
        blocks = answer.content if isinstance(answer.content, list) else [answer.content]
        return "\n".join(block.text for block in blocks if block.type == "text")

    async def elicit(self, message: str, schema: dict[str, Any]) -> Answered:
        """What the client's user answers to a question. `schema` describes a form: an object of plain values."""
        from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult

        params = ElicitRequestFormParams(message=message, requested_schema=schema)
        answer = await self._asked("elicitation", ElicitRequest(params=params), ElicitResult)
        return Answered(answer.action, dict(answer.content or {}))

    async def roots(self) -> tuple[str, ...]:
        """The URIs of the folders that the client works in."""
        from mcp.types import ListRootsRequest, ListRootsResult

        answer = await self._asked("roots", ListRootsRequest(), ListRootsResult)
        return tuple(str(root.uri) for root in answer.roots)

    async def close_stream(self) -> None:
        """Ends the stream of this call's answer: a client comes back for it. For calls that take very long."""
        close = self._now().close_sse_stream
        if close is not None:  # only HTTP has such streams
            await close()

    async def _asked(self, capability: str, request: Any, answer: Any) -> Any:
        from mcp import MCPError
        from mcp.shared.message import ServerMessageMetadata

        now = self._now()
        offered = now.session.client_capabilities
        if offered is None or getattr(offered, capability) is None:
            raise ToolError(f"the MCP client does not offer {capability}, which this tool needs")
        if not now.session.can_send_request:
            # The protocol of 2026 has no requests from servers: a result asks for more, and the call is made again.
            raise ToolError(
                f"the MCP client speaks protocol {now.protocol_version}, in which tools cannot ask: {capability}"
            )
        metadata = ServerMessageMetadata(related_request_id=now.request_id)
        try:
            return await now.session.send_request(request, answer, metadata=metadata)
        except MCPError as error:
            raise ToolError(f"the MCP client refused {capability}: {error.message}") from error

    def _now(self) -> ServerRequestContext[Any]:
        try:
            return self._request.get()
        except LookupError:
            raise ToolError("no MCP client made this call") from None
