"""Logging in at an MCP server by OAuth: a browser, a redirect to this machine, and tokens kept as other keys are.

Rules: the redirect is answered on 127.0.0.1 alone. Tokens are stored where `dragoman keys set` stores keys, under
`mcp:` and the server's name, with the address they are for: they are sent to no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from dragoman.config.files import store_key, stored_key
from dragoman.errors import ToolError

SECONDS: Final = 300.0
"""How long a user has for a login."""
_PAGE: Final = "<!doctype html><title>dragoman</title><p>{}</p>"


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """How to log in. `visit` shows the user an address, in a browser as a rule; without it only stored tokens are used.

    `config_dir` is where keys are stored. `client_id` (with its secret) is for servers where dragoman was registered by
    hand; `metadata_url` for those that take an address where the program describes itself.
    """

    config_dir: Path
    visit: Callable[[str], Awaitable[None]] | None = None
    client_id: str | None = None
    client_secret: str | None = None
    metadata_url: str | None = None


class _Stored(msgspec.Struct):
    """What is kept of a login."""

    url: str
    tokens: dict[str, Any] | None = None
    client: dict[str, Any] | None = None


def secrets_in(text: str) -> list[str]:
    """The tokens and secrets of a stored login, each by itself."""
    try:
        stored = msgspec.json.decode(text, type=_Stored)
    except msgspec.MsgspecError:
        return []
    facts = {**(stored.client or {}), **(stored.tokens or {})}
    names = ("access_token", "refresh_token", "id_token", "client_secret", "registration_access_token")
    return [value for name in names if isinstance(value := facts.get(name), str)]


class _Storage:
    """Tokens of one server, as the MCP package wants them kept."""

    def __init__(self, login: Login, server: str, url: str, redirect: str) -> None:
        self._login, self._name, self._url, self._redirect = login, f"mcp:{server}", url, redirect

    def _read(self) -> _Stored:
        text = stored_key(self._login.config_dir, self._name)
        if text is not None:
            try:
                found = msgspec.json.decode(text, type=_Stored)
            except msgspec.MsgspecError:
                return _Stored(self._url)
            if found.url == self._url:
                return found
        return _Stored(self._url)

    def _write(self, stored: _Stored) -> None:
        store_key(self._login.config_dir, self._name, msgspec.json.encode(stored).decode())

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        tokens = self._read().tokens
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: Any) -> None:
        stored = self._read()
        stored.tokens = tokens.model_dump(mode="json", exclude_none=True)
        self._write(stored)

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        login = self._login
        if login.client_id is not None:
            how = "client_secret_basic" if login.client_secret is not None else "none"
            facts = {"client_id": login.client_id, "client_secret": login.client_secret}
            return OAuthClientInformationFull.model_validate(
                {**facts, "redirect_uris": [self._redirect], "token_endpoint_auth_method": how}
            )
        client = self._read().client
        # A login anew is answered at another port, which the server must be told of.
        if client is None or (login.visit is not None and self._redirect not in client.get("redirect_uris", ())):
            return None
        return OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: Any) -> None:
        stored = self._read()
        stored.client = client_info.model_dump(mode="json", exclude_none=True)
        self._write(stored)


class Loopback:
    """Where the browser comes back to after a login: an address of this machine, open for as long as a login takes."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=16_384)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def result(self) -> Any:
        """What the authorization server sent the browser back with."""
        from mcp.client.auth import AuthorizationCodeResult

        try:
            answer = await asyncio.wait_for(asyncio.shield(self._answer), SECONDS)
        except TimeoutError:
            raise ToolError(f"nobody logged in within {SECONDS:g} seconds", kind="timed_out") from None
        finally:
            # A second login in the same session is answered at the same address.
            self._answer = asyncio.get_running_loop().create_future()
        if "code" not in answer:
            raise ToolError(f"the login was refused: {answer.get('error_description') or answer.get('error')}")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline()).decode("latin-1")
                while (await reader.readline()).strip():
                    pass
        except (TimeoutError, ValueError, OSError):
            writer.close()
            return
        method, _, rest = line.partition(" ")
        target = urlsplit(rest.rpartition(" ")[0])
        given = {name: values[0] for name, values in parse_qs(target.query).items()}
        known = method == "GET" and target.path == "/callback" and ("code" in given or "error" in given)
        if known and not self._answer.done():
            self._answer.set_result(given)
        status, words = ("200 OK", "You can close this page.") if known else ("404 Not Found", "Nothing is here.")
        body = _PAGE.format(words).encode()
        head = (
            f"HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        try:
            await writer.drain()
        except OSError:
            return  # the browser did not wait for it
        finally:
            writer.close()


async def authorised(login: Login, server: str, url: str, loopback: Loopback) -> Any:
    """What logs in at a server when it asks for it, as the HTTP client of the MCP package wants it."""
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    await loopback.open()
    metadata = OAuthClientMetadata.model_validate({"client_name": "dragoman", "redirect_uris": [loopback.url]})

    async def visit(address: str) -> None:
        if login.visit is None:
            raise ToolError(f"log in first: dragoman mcp login {server}", kind="denied")
        await login.visit(address)

    return OAuthClientProvider(
        server_url=url,
        client_metadata=metadata,
        storage=_Storage(login, server, url, loopback.url),
        redirect_handler=visit,
        callback_handler=loopback.result,
        client_metadata_url=login.metadata_url,
    )
