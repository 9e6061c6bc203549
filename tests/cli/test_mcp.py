"""`dragoman mcp`: servers listed, tried and served."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from .conftest import User

PEER = str(Path(__file__).parents[1] / "agents" / "mcp_peer.py")


def test_without_servers_one_is_told_how_to_add_one(user: User) -> None:
    answer = user.types("mcp", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "[mcp.servers.NAME]" in answer.err


def test_servers_are_listed_with_where_they_are_from_and_no_secret(user: User) -> None:
    user.settings('[mcp.servers.far]\nurl = "https://a.example/mcp"\nheaders = { Authorization = "Bearer hush" }\n')
    (user.here / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": {"command": "npx", "oauth": {}}}}))
    answer = user.types("mcp", "list")
    far, near = answer.out.splitlines()[1:]
    assert far.split()[:3] == ["far", "http", "https://a.example/mcp"]
    assert near.split()[:3] == ["near", "stdio", "npx"]
    assert "dragoman trust" in near
    assert "near: without a meaning here: oauth" in answer.err
    rows = user.types("mcp", "list", "--json")
    assert "hush" not in rows.out
    assert [(row["name"], row["headers"], row["refused"] is None) for row in rows.json] == [
        ("far", ["Authorization"], True),
        ("near", [], False),
    ]


def test_a_server_is_tried_and_its_tools_are_shown(user: User) -> None:
    answer = user.types("mcp", "test", sys.executable, PEER)
    assert answer.code == 1  # one of its tools has a schema that nobody could read
    assert answer.out.startswith("peer 1.0\ntool")
    assert "mcp__server__look" in answer.out
    assert "its tool 'broken' cannot be offered" in answer.err


def test_a_tool_of_a_server_that_is_set_up_is_called_by_name(user: User) -> None:
    user.settings(f'[mcp.servers.peer]\ncommand = "{sys.executable}"\nargs = ["{PEER}"]\n')
    called = user.types("mcp", "test", "--call", "echo", "--arguments", '{"text": "hé"}', "peer")
    assert called.out == "peer 1.0\nhé\n"
    failed = user.types("mcp", "test", "--call", "refuse", "--json", "peer")
    assert (failed.code, failed.json["outcome"]["kind"]) == (7, "invalid_arguments")


def test_a_server_that_cannot_be_opened_says_why(user: User) -> None:
    answer = user.types("mcp", "test", sys.executable, PEER, "--crash")
    assert answer.code == 7
    assert "no configuration found" in answer.err


def test_a_name_that_is_nothing_gets_the_nearest(user: User) -> None:
    user.settings('[mcp.servers.everything]\ncommand = "x"\n')
    answer = user.types("mcp", "test", "everithing")
    assert answer.code == 2
    assert 'Did you mean "everything"?' in answer.err


def test_a_server_of_a_project_that_is_not_trusted_is_not_started(user: User) -> None:
    row = {"command": sys.executable, "args": [PEER, "--journal", str(user.home / "journal")]}
    (user.here / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": row}}))
    answer = user.types("mcp", "test", "near")
    assert answer.code == 3
    assert "this project is not trusted" in answer.err
    assert not (user.home / "journal").exists()
    assert user.types("trust").code == 0
    assert user.types("mcp", "test", "near").code == 1
    assert (user.home / "journal").exists()


def test_served_tools_keep_to_the_settings_and_to_the_workspace(user: User) -> None:
    user.settings('[policy.tools]\nwrite_file = "deny"\n')
    (user.home / "secret.txt").write_text("secret")

    async def talk() -> list[str]:
        words = ["-m", "dragoman", "mcp", "serve", "--tools", "read_file,write_file,delete_file,move_file"]
        order = StdioServerParameters(command=sys.executable, args=words, env=user.environ, cwd=user.here)
        async with Client(order) as client:
            answers = [
                await client.call_tool("vfs_write", {"path": "a", "content": "x"}),
                await client.call_tool("vfs_delete", {"path": "a"}),
                await client.call_tool("vfs_read", {"path": "../secret.txt"}),
            ]
        return [answer.structured_content["message"] for answer in answers]

    denied, asked, outside = asyncio.run(talk())
    assert denied.startswith("This call was not allowed: rule 1 of your settings (tool=write_file)")
    assert "nobody is there to be asked" in asked
    assert "secret.txt" in outside


def test_what_is_wrong_on_the_command_line_is_said(user: User) -> None:
    assert "HOST:PORT" in user.types("mcp", "serve", "--http", "nowhere").err
    assert 'Did you mean "read_file"?' in user.types("mcp", "serve", "--tools", "reed_file").err
    answer = user.types("mcp", "serve", "--http", "0.0.0.0:0", "--no-token", "--tools", "read")
    assert (answer.code, "clients must need a token there" in answer.err) == (3, True)
    assert "has no token in it" in user.types("mcp", "serve", "--http", "127.0.0.1:0", "--token-env", "NO_SUCH").err


def test_an_address_that_somebody_else_has_is_a_setting_to_change(user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = user.types("mcp", "serve", "--http", f"127.0.0.1:{port}", "--tools", "read")
    assert answer.code == 3
    assert f"127.0.0.1:{port} cannot be served at: " in answer.err
