"""Logging in at an MCP server without a user: a program's own secret or key, or a company's identity provider.

Rules: nothing is stored, a token is asked for when the server wants one. Where `issuer` is set, secrets and assertions
go to that authorization server alone; without it, to the one that the MCP server names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from dragoman.errors import ConfigError, ToolError, nearest

from .http import limited_http_client

_ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"


class MachineLogin(msgspec.Struct, frozen=True, kw_only=True):
    """How a program logs in: with `client_secret`, with `private_key` (PEM), or with the `id_token` of a user, which
    the identity provider at `identity_url` exchanges (there the program is `identity_client_id`)."""

    client_id: str
    client_secret: str | None = None
    private_key: str | None = None
    algorithm: str = "RS256"
    issuer: str | None = None
    scope: str | None = None
    id_token: str | None = None
    identity_url: str | None = None
    identity_client_id: str | None = None

    @property
    def way(self) -> Literal["secret", "key", "identity"]:
        if self.id_token is not None:
            return "identity"
        return "secret" if self.private_key is None else "key"


def machine_login(server: str, given: Mapping[str, str]) -> MachineLogin:
    """The login that the settings of a server name; raises `ConfigError`."""
    where = f"mcp.servers.{server}.login"
    known = MachineLogin.__struct_fields__
    for name in given:
        if name not in known:
            raise ConfigError(f"{where}: there is no `{name}`.{nearest(name, known)}")
    if "client_id" not in given:
        raise ConfigError(f"{where}: name the `client_id`")
    login = MachineLogin(**given)
    needed = {
        "secret": ("client_secret",),
        "key": ("private_key",),
        "identity": ("client_secret", "id_token", "identity_url", "identity_client_id"),
    }[login.way]
    missing = [name for name in needed if not getattr(login, name)]
    if missing:
        raise ConfigError(f"{where}: name {' and '.join(f'`{name}`' for name in missing)} as well")
    return login


class _Kept:
    """Tokens for as long as a connection lasts, as the MCP package wants them kept."""

    def __init__(self) -> None:
        self._tokens: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return None

    async def set_client_info(self, client_info: Any) -> None:
        raise ToolError("a program that logs in by itself is registered by hand")


async def authorised_by_itself(login: MachineLogin, url: str) -> Any:
    """What logs in at a server, as the HTTP client of the MCP package wants it."""
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
        SignedJWTParameters,
    )
    from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

    issuer = login.issuer or await _named_issuer(url)
    common: dict[str, Any] = {"server_url": url, "storage": _Kept(), "client_id": login.client_id, "issuer": issuer}
    common["scope"] = login.scope
    match login.way:
        case "secret":
            return ClientCredentialsOAuthProvider(**common, client_secret=login.client_secret or "")
        case "key":
            assertions = SignedJWTParameters(
                issuer=login.client_id,
                subject=login.client_id,
                signing_key=login.private_key or "",
                signing_algorithm=login.algorithm,
            )
            return PrivateKeyJWTOAuthProvider(**common, assertion_provider=assertions.create_assertion_provider())
        case "identity":

            async def assertion(audience: str, resource: str) -> str:
                return await _exchanged(login, audience, resource)

            return IdentityAssertionOAuthProvider(
                **common,
                client_secret=login.client_secret or "",
                assertion_provider=assertion,
                token_endpoint_auth_method="client_secret_basic",
            )


async def _named_issuer(url: str) -> str:
    """The authorization server that an MCP server names in its metadata (RFC 9728)."""
    from mcp.client.auth.utils import (
        build_protected_resource_metadata_discovery_urls,
        handle_protected_resource_response,
    )

    async with limited_http_client() as http:
        for address in build_protected_resource_metadata_discovery_urls(None, url):
            found = await handle_protected_resource_response(await http.get(address))
            if found is not None and found.authorization_servers:
                return str(found.authorization_servers[0])
    raise ToolError(f"{url} does not say where to log in: name the `issuer` in its login settings", kind="denied")


async def _exchanged(login: MachineLogin, audience: str, resource: str) -> str:
    """The assertion that the identity provider gives for the user's token (RFC 8693)."""
    form = {
        "grant_type": _EXCHANGE,
        "subject_token": login.id_token,
        "subject_token_type": _ID_TOKEN,
        "requested_token_type": _ID_JAG,
        "audience": audience,
        "resource": resource,
        "client_id": login.identity_client_id,
    }
    async with limited_http_client() as http:
        answer = await http.post(login.identity_url, data=form)
    try:
        given: dict[str, Any] = answer.json()
        assertion = given["access_token"]
    except (ValueError, KeyError, TypeError):
        raise ToolError(
            f"the identity provider at {login.identity_url} gave no token (HTTP {answer.status_code})", kind="denied"
        ) from None
    if given.get("issued_token_type") != _ID_JAG:
        raise ToolError(f"the identity provider at {login.identity_url} gave a token of another type", kind="denied")
    return str(assertion)
