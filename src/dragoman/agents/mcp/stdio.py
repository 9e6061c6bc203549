"""What carries messages from and to an MCP server that is a process: its standard input and output.

Rules: no message of a server is larger than `LARGEST_MESSAGE`, whatever it sends. A process is asked to end, then told
to, then killed, and every wait is bounded.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from dragoman.tools.processes import end_all

LARGEST_MESSAGE: Final = 32 << 20
"""Bytes of one message: room for several pictures."""


_GRACE, _TERMINATION, _KILL = 2.0, 2.0, 2.0
"""Seconds to wait for a server to end: by itself, after SIGTERM, and after SIGKILL."""
_POLL: Final = 0.01


@asynccontextmanager
async def stdio_transport(
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path | None,
    errors: Any,
    broken: Callable[[str], None],
    brand: tuple[int, int] | None,
) -> AsyncIterator[tuple[_Incoming, _Outgoing]]:
    """Starts a server and yields the streams of messages from it and to it.

    `broken` is called with the reason if the server has to be given up. Every process of the server has the `brand`, by
    which it is found and ended even when it killed the one that watches it and left its group.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,  # a Ctrl-C on the terminal is for us
        limit=LARGEST_MESSAGE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield _Incoming(process.stdout, broken), _Outgoing(process.stdin, process.stdout)
    finally:
        await _shielded(_ended(process, brand))


class _Stream:
    """What the package wants of either direction beside messages: the process is closed by whoever started it."""

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class _Incoming(_Stream):
    """Messages from a server, read when they are asked for: one that says too much waits until we have listened."""

    def __init__(self, reader: asyncio.StreamReader, broken: Callable[[str], None]) -> None:
        self._reader, self._broken = reader, broken

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)  # a line that is there already is read without a pause: others have their turn as well
        try:
            return _message(await self._reader.readuntil(b"\n"))
        except asyncio.LimitOverrunError:
            self._broken(f"it sent a message of more than {LARGEST_MESSAGE >> 20} MB")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # what was begun and not ended is no message
        raise StopAsyncIteration

    async def receive(self) -> Any:
        return await self.__anext__()


class _Outgoing(_Stream):
    """Messages to a server."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        self._writer, self._reader = writer, reader

    async def send(self, said: Any) -> None:
        try:
            self._writer.write(said.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await self._writer.drain()
        except ConnectionError:
            self._reader.feed_eof()  # it may live on without hearing us: the session is over


def _message(line: bytes) -> Any:
    """A message; for an answer that cannot be read, the error that ends its request; otherwise why it is none."""
    from mcp.shared.message import SessionMessage
    from mcp.types import ErrorData, JSONRPCError, jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        id = _request_of(line)
        if id is None:
            return error
        reason = "is nested too deeply" if "recursion limit" in str(error) else "is not a valid MCP message"
        failure = ErrorData(code=_PARSE_ERROR, message=f"the server's answer {reason}")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=failure))


_PARSE_ERROR: Final = -32700
_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_HEAD: Final = 200
"""Bytes at either end of a message in which its id is looked for: what is between them cannot be parsed."""


def _request_of(line: bytes) -> int | None:
    """The id of the request that a line which cannot be read answers: the package counts its requests."""
    head, tail = line[:_HEAD], line[-_HEAD:]
    if not head.lstrip().startswith(b"{") or b'"method"' in head or b'"method"' in tail:
        return None
    found = _ID.search(head) or _ID.search(tail)
    return None if found is None else int(found[1])


# ── ending ───────────────────────────────────────────────────────────────────


async def _shielded(ending: Any) -> None:
    """Runs to the end even when the caller is cancelled: a server must not be left behind."""
    task = asyncio.ensure_future(ending)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError


async def _ended(process: asyncio.subprocess.Process, brand: tuple[int, int] | None) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    # What it still writes is read, so that it is not kept from ending.
    reading = asyncio.create_task(_drained(process.stdout))
    process.stdin.close()
    if not await _is_gone(process, _GRACE):
        _signal(process, signal.SIGTERM)
        if not await _is_gone(process, _TERMINATION):
            _signal(process, signal.SIGKILL)
            await _is_gone(process, _KILL)
    _signal(process, signal.SIGKILL)  # what is left of its group
    if brand is not None:
        await asyncio.to_thread(end_all, process.pid if process.returncode is None else None, brand)
    reading.cancel()
    await asyncio.wait((reading,))
    # A process below it may hold the pipes open for ever.
    process._transport.close()  # type: ignore[attr-defined]


async def _drained(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _is_gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it ends in time. `process.wait()` would wait for whoever else has its pipes."""
    end = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(_POLL)
    return True
