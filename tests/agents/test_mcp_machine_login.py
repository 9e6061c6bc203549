"""Logins of programs without a user: what the settings must say. The flows are held to the official suite."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents.mcp.machine_login import MachineLogin, machine_login
from dragoman.agents.mcp.settings import mcp_server_of
from dragoman.errors import ConfigError, DefinitionError

IDENTITY = {"client_secret": "s", "id_token": "t", "identity_url": "https://idp.example", "identity_client_id": "i"}


@pytest.mark.parametrize(
    "given, way",
    [({"client_secret": "s"}, "secret"), ({"private_key": "k", "algorithm": "ES256"}, "key"), (IDENTITY, "identity")],
)
def test_a_login_is_by_secret_key_or_identity_provider(given: dict[str, str], way: str) -> None:
    login = machine_login("far", {"client_id": "c", **given})
    assert (login, login.way) == (MachineLogin(client_id="c", **given), way)


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"client_secret": "s"}, "name the `client_id`"),
        ({"client_id": "c"}, "name `client_secret` as well"),
        ({"client_id": "c", "id_token": "t"}, "`client_secret` and `identity_url` and `identity_client_id`"),
        ({"client_id": "c", "client_secrets": "s"}, "there is no `client_secrets`.*client_secret"),
    ],
)
def test_what_a_login_lacks_is_named_without_its_secrets(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=f"mcp.servers.far.login: .*{problem}"):
        machine_login("far", given)


@pytest.mark.parametrize("row", [{"command": "a"}, {"url": "https://a.example", "transport": "sse"}])
def test_only_servers_over_streamable_http_have_logins(row: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="streamable HTTP"):
        mcp_server_of("far", {**row, "login": {"client_id": "c", "client_secret": "s"}})
    server = mcp_server_of("far", {"url": "https://a.example", "login": {"client_id": "c", "client_secret": "hidden"}})
    assert "hidden" not in repr(server)
