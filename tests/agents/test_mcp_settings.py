"""Which MCP servers there are, and which of them a project may have started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import config
from dragoman.agents.mcp.servers import McpServer, McpServers, configured_mcp_servers, mcp_server_of, mcp_servers_in
from dragoman.agents.mcp.settings import filled
from dragoman.config import Configuration, Secret
from dragoman.errors import ConfigError, DefinitionError

PEER = str(Path(__file__).with_name("mcp_peer.py"))


class Place:
    """A user, and a project somebody else wrote."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.environ = {f"DRAGOMAN_{name}_DIR": str(root / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
        (root / "config").mkdir()
        self.own = root / "config" / "config.toml"

    def load(self) -> Configuration:
        return config.load(cwd=self.project, environ=self.environ)

    def servers(self) -> dict[str, McpServer]:
        return configured_mcp_servers(self.load())

    def trust(self) -> None:
        config.trust(self.project, self.load().data_dir)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_servers_of_the_settings_are_ready_to_be_opened(place: Place) -> None:
    place.own.write_text(
        """
        [mcp.servers.files]
        command = "npx"
        args = ["-y", "server", "${HOME}"]
        env = { KEY = "${KEY}" }
        timeout = 5

        [mcp.servers.far]
        url = "https://mcp.example/mcp?key=secret"
        headers = { Authorization = "Bearer ${TOKEN}" }

        [mcp.servers.off]
        command = "x"
        enabled = false
        """
    )
    servers = place.servers()
    origin = f"user {place.own}"
    assert servers == {
        "far": McpServer(
            name="far",
            transport="http",
            url="https://mcp.example/mcp?key=secret",
            headers={"Authorization": Secret("Bearer ${TOKEN}")},
            origin=f"{origin}:9",
        ),
        "files": McpServer(
            name="files",
            transport="stdio",
            command=("npx", "-y", "server", "${HOME}"),
            env={"KEY": Secret("${KEY}")},
            cwd=place.load().data_dir / "mcp",
            timeout=5.0,
            origin=f"{origin}:3",
        ),
    }
    assert servers["files"].shown == "npx -y server '${HOME}'"
    assert servers["far"].shown == "https://mcp.example/mcp?********"
    assert "secret" not in repr(place.load().settings.mcp.servers["far"].headers)


def test_a_server_of_the_user_starts_in_an_empty_folder_unless_the_project_is_trusted(place: Place) -> None:
    """`python -m` and `npx` look into the folder they are started in first, and it may be a stranger's."""
    place.own.write_text(
        "[mcp.servers.a]\ncommand = 'python3'\n[mcp.servers.b]\ncommand = './b'\n"
        "[mcp.servers.c]\ncommand = 'c'\ncwd = 'sub'\n"
    )
    (place.project / ".mcp.json").write_text('{"mcpServers": {"d": {"command": "./d", "cwd": "sub"}}}')
    started = {name: (one.command[0], one.cwd) for name, one in place.servers().items()}
    beside, empty = place.own.parent, place.load().data_dir / "mcp"
    assert started == {
        "a": ("python3", empty),
        "b": (str(beside / "b"), empty),
        "c": ("c", beside / "sub"),
        "d": (str(place.project / "d"), place.project / "sub"),
    }
    assert list(empty.iterdir()) == []
    place.trust()
    assert {name: one.cwd for name, one in place.servers().items()} == {
        "a": place.project,
        "b": place.project,
        "c": beside / "sub",
        "d": place.project / "sub",
    }


def test_a_server_that_has_no_folder_to_start_in_is_refused_and_costs_no_other(place: Place) -> None:
    place.own.write_text("[mcp.servers.a]\ncommand = 'a'\n[mcp.servers.b]\nurl = 'http://127.0.0.1:9'\n")
    (place.own.parent.parent / "data").write_text("no folder")
    servers = place.servers()
    assert servers["b"].refused is None
    assert servers["a"].refused == (
        f"{place.load().data_dir / 'mcp'} cannot be made (Not a directory): name a folder for it to start in, with cwd"
    )


def test_a_file_that_cannot_be_read_costs_no_other_server(place: Place) -> None:
    place.own.write_text("[mcp.servers.a]\nurl = 'http://127.0.0.1:9'\n")
    os.mkfifo(place.project / ".mcp.json")
    servers = place.servers()
    assert (servers["a"].refused, list(servers)) == (None, [".mcp.json", "a"])
    assert "not a regular file" in (servers[".mcp.json"].refused or "")


def test_the_current_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", "/elsewhere")
    assert filled("${PWD}/notes") == f"{tmp_path}/notes"


def test_a_relative_command_in_a_variable_is_refused(place: Place) -> None:
    place.environ["DRAGOMAN_MCP__SERVERS__X__COMMAND"] = "./x"
    with pytest.raises(ConfigError, match=r"give the whole path of \./x"):
        place.servers()


def test_a_server_is_a_command_or_a_url(place: Place) -> None:
    place.own.write_text('[mcp.servers.x]\ncommand = "a"\nurl = "https://b.example"\n')
    with pytest.raises(ConfigError, match="give it a `command` to start, or a `url`, and not both"):
        place.servers()


async def test_a_project_starts_no_server_until_it_is_trusted(place: Place, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    row = {"command": sys.executable, "args": [PEER, "--journal", str(journal)]}
    named = place.project / ".mcp.json"
    named.write_text(json.dumps({"mcpServers": {"peer": row}}))
    (refused,) = place.servers().values()
    assert refused.refused == (f"this project is not trusted. Read {named}, then run: dragoman trust {place.project}")
    async with McpServers([refused]) as servers:
        assert "this project is not trusted" in servers.problems["peer"][0]
    assert not journal.exists()

    place.trust()
    (trusted,) = place.servers().values()
    assert trusted.refused is None
    async with McpServers([trusted]) as servers:
        assert "mcp__peer__echo" in servers.toolset
    assert journal.read_text().startswith("started ")

    named.write_text(json.dumps({"mcpServers": {"peer": {"command": "rm", "args": ["-rf", "/"]}}}))
    (changed,) = place.servers().values()
    assert changed.refused is not None
    assert changed.refused.startswith("this project is not trusted as it is now.")


def test_what_a_project_says_wrong_costs_no_other_server_anything(place: Place) -> None:
    place.own.write_text('[mcp.servers.mine]\ncommand = "mine"\n')
    rows = {"ws": {"type": "ws", "url": "ws://x"}, "list": {"command": ["a"]}, "five": 5, "good": {"command": "x"}}
    (place.project / ".mcp.json").write_text(json.dumps({"mcpServers": rows}))
    (place.project / "opencode.json").write_text('{"mcp": [}')
    (place.project / ".gemini").mkdir()
    (place.project / ".gemini" / "settings.json").write_text('{"mcp": {"allowed": ["x"]}}')
    place.trust()
    servers = place.servers()
    assert {name: server.refused is None for name, server in servers.items()} == {
        "five": False,
        "good": True,
        "list": False,
        "mine": True,
        "opencode.json": False,
        "ws": False,
    }
    assert "the server 'ws' has the type 'ws'" in str(servers["ws"].refused)
    assert "not valid JSON" in str(servers["opencode.json"].refused)


def test_comments_and_last_commas_are_read_as_vs_code_does(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        """\ufeff{
            // those of the team, "quoted"
            "servers": { /* one
            of many */ "x": {"command": "x", "args": ["// a,]", "\\"/*", "b*/"], },
            }, // the end
        }"""
    )
    (server,) = mcp_servers_in(path)
    assert server.command == ("x", "// a,]", '"/*', "b*/")


@pytest.mark.parametrize("text", ["/*" * 200_000, '\\"' * 200_000, "," * 400_000, '"' * 200_001])
def test_a_file_that_has_no_end_is_given_up_soon(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not valid JSON"):
        mcp_servers_in(path)


def test_a_file_that_changed_since_the_settings_were_read_is_not_believed(place: Place) -> None:
    named = place.project / ".mcp.json"
    named.write_text(json.dumps({"mcpServers": {"x": {"command": "good"}}}))
    place.trust()
    loaded = place.load()
    named.write_text(json.dumps({"mcpServers": {"x": {"command": "evil"}}}))
    (server,) = configured_mcp_servers(loaded).values()
    assert server.refused is not None


def test_servers_of_a_projects_own_settings_need_trust_too(place: Place) -> None:
    (place.project / "dragoman.toml").write_text('[mcp.servers.x]\ncommand = "evil"\n')
    (refused,) = place.servers().values()
    assert (refused.command, refused.name) == ((), "x")
    assert str(refused.refused).endswith("needs trust")
    place.trust()
    assert place.servers()["x"].command == ("evil",)


def test_a_project_cannot_hide_a_server_of_the_users(place: Place) -> None:
    place.own.write_text('[mcp.servers.x]\ncommand = "mine"\n')
    (place.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": {"command": "theirs"}}}))
    assert place.servers()["x"].command == ("mine",)


def test_a_file_of_servers_does_not_hide_the_project_above_it(place: Place) -> None:
    (place.project / "dragoman.toml").write_text('[policy]\napproval = "deny"\n')
    inner = place.project / "inner"
    inner.mkdir()
    (inner / ".mcp.json").write_text("{}")
    loaded = config.load(cwd=inner, environ=place.environ)
    assert loaded.settings.policy.approval == "deny"


FILES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        ".mcp.json",
        {"mcpServers": {"x": {"type": "stdio", "command": "a", "args": ["b"], "env": {"K": "${V}"}}}},
        {"transport": "stdio", "command": ("a", "b"), "env": {"K": Secret("${V}")}},
    ),
    (
        ".mcp.json",
        {"mcpServers": {"x": {"type": "http", "url": "https://a.example", "headers": {"A": "b"}}}},
        {"transport": "http", "url": "https://a.example", "headers": {"A": Secret("b")}},
    ),
    (
        ".mcp.json",
        {"mcpServers": {"x": {"type": "sse", "url": "https://a.example", "oauth": {}}}},
        {"transport": "sse", "url": "https://a.example", "unmapped": ("oauth",)},
    ),
    (
        ".vscode/mcp.json",
        {"servers": {"x": {"command": "a"}}, "inputs": []},
        {"transport": "stdio", "command": ("a",)},
    ),
    (
        ".gemini/settings.json",
        {"mcpServers": {"x": {"httpUrl": "https://a.example/$KEY", "timeout": 5000, "trust": True}}, "theme": "x"},
        {"transport": "http", "url": "https://a.example/${KEY}", "timeout": 5.0, "unmapped": ("trust",)},
    ),
    (
        ".gemini/settings.json",
        {"mcpServers": {"x": {"url": "https://a.example"}}},
        {"transport": "http", "url": "https://a.example", "or_sse": True},
    ),
    (
        ".gemini/settings.json",
        {"mcpServers": {"x": {"url": "https://a.example", "type": "sse"}}},
        {"transport": "sse", "url": "https://a.example"},
    ),
    (
        ".mcp.json",
        {"mcpServers": {"x": {"url": "https://a.example"}}},
        {"transport": "http", "url": "https://a.example"},
    ),
    (
        "opencode.json",
        {"mcp": {"x": {"type": "local", "command": ["a", "b"], "environment": {"K": "{env:V}"}, "enabled": True}}},
        {"transport": "stdio", "command": ("a", "b"), "env": {"K": Secret("${V}")}},
    ),
    (
        "opencode.json",
        {"mcp": {"x": {"type": "remote", "url": "https://a.example"}, "off": {"type": "local", "enabled": False}}},
        {"transport": "http", "url": "https://a.example", "or_sse": True},
    ),
]


@pytest.mark.parametrize("name, document, facts", FILES)
def test_the_files_of_other_clients_are_read(
    tmp_path: Path, name: str, document: dict[str, Any], facts: dict[str, Any]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    assert mcp_servers_in(path) == [McpServer(name="x", origin=str(path), **facts)]


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ('{"mcpServers": {"x": 5}}', "the server 'x' is no object"),
        ('{"mcpServers": {"x": {}}}', "give it a `command` to start, or a `url`"),
        ('{"mcpServers": {"x": {"command": 5}}}', "Expected `str | null`, got `int`"),
        ('{"mcpServers": {"x": {"type": "carrier pigeon", "url": "a"}}}', "known are stdio, http and sse"),
    ],
)
def test_what_is_wrong_in_such_a_file_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        mcp_servers_in(path)
    assert complaint in str(error.value)
    assert str(path) in str(error.value)


def test_a_table_of_an_agent_says_all_its_problems_at_once() -> None:
    with pytest.raises(DefinitionError) as error:
        mcp_server_of("x", {"comand": "a", "args": "b", "url": 1}, origin="agent.md:3")
    assert error.value.problems[0] == '`comand` is nothing a server has. Did you mean "command"?'
    assert len(error.value.problems) == 2
    assert error.value.where == "agent.md:3"


@pytest.mark.parametrize(
    "text, environ, expected",
    [
        ("a ${B} c", {"B": "b"}, "a b c"),
        ("${B:-other}", {}, "other"),
        ("${B:-other}", {"B": ""}, "other"),
        ("${B}", {"B": ""}, ""),
        ("${B:-}", {}, ""),
        ("$B {B} $${x", {}, "$B {B} $${x"),
        ("${B}", {"B": "${C}", "C": "never"}, "${C}"),
    ],
)
def test_variables_are_filled_once(text: str, environ: dict[str, str], expected: str) -> None:
    assert filled(text, environ) == expected
