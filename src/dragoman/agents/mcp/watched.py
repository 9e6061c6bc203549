"""Subscriptions to resources: who wants to hear of which, and the look at whether one has changed.

A resource is looked at after every call and, while anybody wants to hear of it, once in `LOOK_SECONDS`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from dragoman.errors import ToolError

if TYPE_CHECKING:
    from mcp import types

    from .offered import Offered

LOOK_SECONDS: Final = 1.0
MOST_SUBSCRIPTIONS: Final = 1000
"""Resources that all clients of a server may subscribe to, taken together."""


class Watched:
    """The subscriptions of one server."""

    def __init__(self, offered: Offered) -> None:
        self._offered = offered
        self._sessions: dict[str, dict[Any, Any]] = {}
        """URI → the sessions that subscribed to it, by connection."""
        self._versions: dict[str, Any] = {}
        self._looking: asyncio.Task[None] | None = None

    async def subscribe(self, request: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        from mcp.types import EmptyResult

        self._begin(params.uri)
        self._sessions.setdefault(params.uri, {})[connection_of(request.session)] = request.session
        return EmptyResult()

    async def unsubscribe(self, request: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        from mcp.types import EmptyResult

        self._sessions.get(params.uri, {}).pop(connection_of(request.session), None)
        self._forget(params.uri)
        return EmptyResult()

    async def look(self) -> None:
        """Tells those who want to hear of it of every resource that has changed since the last look."""
        for uri, before in list(self._versions.items()):
            now = self._version(uri)
            if now != before and uri in self._versions:
                self._versions[uri] = now
                for key, session in list(self._sessions.get(uri, {}).items()):
                    try:
                        await session.send_resource_updated(uri)
                    except Exception:  # noqa: BLE001 - whatever a transport raises, that client is gone
                        self._sessions[uri].pop(key, None)
                        self._forget(uri)

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _begin(self, uri: str) -> None:
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS

        if uri not in self._versions and len(self._versions) >= MOST_SUBSCRIPTIONS:
            raise MCPError(INVALID_PARAMS, f"at most {MOST_SUBSCRIPTIONS} resources can be subscribed to")
        try:
            self._look_at(uri)
        except ToolError as error:
            if error.kind == "denied":
                raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        except OSError:
            pass  # it may come
        self._versions.setdefault(uri, self._version(uri))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on())

    def _forget(self, uri: str) -> None:
        if not self._sessions.get(uri):
            self._sessions.pop(uri, None)
            self._versions.pop(uri, None)

    async def _look_on(self) -> None:
        while self._versions:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    def _version(self, uri: str) -> Any:
        with suppress(ToolError, OSError):
            return self._look_at(uri)
        return None

    def _look_at(self, uri: str) -> Any:
        one, values = self._offered.resource_at(uri)
        return None if one.version is None else one.version(uri, **values)


def connection_of(session: Any) -> Any:
    """The connection of a request: the package makes a session anew for each request on it."""
    return getattr(session, "_connection", session)
