"""History as a toolset over real sessions, served by the real command to the official MCP client over a real pipe."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from dragoman.logs import Index, Places, Query
from tests.conformance.conftest import SHARED


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine with what three clients left."""
    for client, folder in (("claude-code", ".claude"), ("codex", ".codex"), ("gemini-cli", ".gemini")):
        for home in sorted((SHARED / "traces" / client).glob(f"*/home/{folder}")):
            shutil.copytree(home, tmp_path / folder, dirs_exist_ok=True)
    names = {"HOME": ".", "DRAGOMAN_CONFIG_DIR": "config", "DRAGOMAN_DATA_DIR": "data", "DRAGOMAN_CACHE_DIR": "cache"}
    return {"PATH": "/usr/bin:/bin", **{name: str(tmp_path / folder) for name, folder in names.items()}}


async def test_a_client_finds_reads_and_analyses_sessions(environment: dict[str, str], tmp_path: Path) -> None:
    words = ["-m", "dragoman", "mcp", "serve", "--history"]
    order = StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=tmp_path)
    async with Client(order) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        assert {"list_sessions", "search_events", "list_turns", "get_turns", "analyse_session"} <= offered

        async def asked(name: str, **arguments: Any) -> Any:
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            return json.loads(answer.content[0].text)  # type: ignore[union-attr]

        sessions: list[str] = []
        cursor = None
        while True:
            page = await asked("list_sessions", limit=7, **({} if cursor is None else {"cursor": cursor}))
            sessions += [one["session"] for one in page["sessions"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        here = Query(Index.in_memory(), places=Places(tmp_path, environment))
        assert sessions == [row.session for row in here.sessions()]

        found = (await asked("search_events", text="Update File:", limit=1))["matches"][0]
        assert found["kind"] == "tool_called"
        (turn,) = (await asked("get_turns", session=found["session"], turns=[found["turn"]]))["turns"]
        calls = [call["call_id"] for step in turn["steps"] if step["step"] == found["step"] for call in step["calls"]]
        assert found["call_id"] in calls
        assert (await asked("list_turns", session=found["session"]))["turns"]
        analysis = await asked("analyse_session", session=found["session"])
        assert analysis["failures"] == sum(analysis["failures_by_tool"].values())

        wrong = await client.call_tool("list_sessions", {"cursor": "nonsense"})
        assert wrong.is_error
        assert "is no cursor of list_sessions" in wrong.content[0].text  # type: ignore[union-attr]
