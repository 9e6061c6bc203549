"""The HTTP client for MCP servers, with a limit on what one answer may take.

The MCP package limits single events of a stream; a JSON answer it reads whole, whatever its size and whatever it
decompresses to. Rule: an answer that is no stream ends at `LARGEST_BODY`, and one that is compressed is refused: none
is asked for, and a few kilobytes can hold a gigabyte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any, Final

LARGEST_BODY: Final = 16 * 1024 * 1024
"""Bytes of one JSON answer."""


def limited_http_client(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
    """A client as the MCP package makes it, that takes no more of an answer than it should."""
    made_by: Any = import_module("mcp.shared._httpx_utils")
    identity = {"accept-encoding": "identity"}
    client = made_by.create_mcp_http_client(headers={**identity, **(headers or {})}, timeout=timeout, auth=auth)
    library = getattr(made_by, "httpx2", None) or made_by.httpx  # the package's own choice, and no dependency of ours

    class Limited(library.AsyncByteStream):  # type: ignore[misc, name-defined]  # the library is looked up at run time
        """A body that ends with an error when it is larger than it may be."""

        def __init__(self, response: Any) -> None:
            content_type = response.headers.get("content-type", "").lower()
            self._whole = response.stream
            self._coding = response.headers.get("content-encoding", "identity").strip().lower()
            self._most = None if content_type.startswith("text/event-stream") else LARGEST_BODY

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._coding not in ("", "identity"):
                refusal = f"the answer is compressed as {self._coding[:40]!r}, which was not asked for"
                raise library.StreamError(refusal)
            size = 0
            async for piece in self._whole:
                size += len(piece)
                if self._most is not None and size > self._most:
                    raise library.StreamError(f"the answer is larger than {self._most:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._whole.aclose()

    async def limit(response: Any) -> None:
        response.stream = Limited(response)

    client.event_hooks["response"] = [*client.event_hooks["response"], limit]
    return client
