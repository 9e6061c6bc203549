"""Patterns that would keep `re` busy for years, at every door through which somebody else's pattern comes in.

A pattern that is matched the wrong way blocks its whole process, so each attack runs in a process of its own, which is
ended after a time that is far longer than a bounded match takes and far shorter than an unbounded one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from pathlib import Path

from tests.logs.samples import CLAUDE

from .processes import PATIENCE, ran, started

SERVER = str(Path(__file__).with_name("hostile_server.py"))
LONG = "a" * 100_000 + "!"
SLOW = ("(a+)+~", "(a|aa)+~", "a*a*a*a*a*~", "(.*)(.*)(.*)(.*)~", r"^(?!.*~)(\w+\s?)*~", "(?:a?){60}a{60}~")
"""None of them matches `LONG`, and `re` tries more ways than anybody can wait for before it says so."""


def test_a_slow_pattern_in_a_servers_schema_ends_in_time_and_other_calls_go_on(tmp_path: Path) -> None:
    """A server's schema cannot stop the program: every `pattern` is matched in bounded time."""
    program = textwrap.dedent(f"""
        import asyncio, json, sys
        from dragoman.agents import McpServer, McpServers
        from dragoman.tools import Context; from dragoman.tools.running import outcome_of

        LONG = "a" * 100_000 + "!"

        async def main():
            server = McpServer(name="x", transport="stdio", command=(sys.executable, {SERVER!r}, "--mode", "patterns"))
            async with McpServers([server]) as servers:
                tools = {{tool.mcp[1]: tool for tool in servers.toolset}}
                calls = [
                    ("slow", {{"text": LONG}}), ("slow", {{"text": "a" * 100_000}}),
                    ("keys", {{LONG: "x"}}), ("keys", {{"a" * 100_000: "x"}}), ("echo", {{}}),
                ]
                outcomes = await asyncio.gather(
                    *(outcome_of(lambda n=n, a=a: tools[n].call(a, Context())) for n, a in calls)
                )
                print(json.dumps([getattr(one, "kind", type(one).__name__) for one in outcomes]))

        asyncio.run(main())
        """)
    code, out, err = ran("-c", program, home=tmp_path)
    assert (code, err) == (0, "")
    assert json.loads(out) == ["invalid_arguments", "TextOutcome", "TextOutcome", "invalid_arguments", "TextOutcome"]


def test_slow_patterns_given_to_lab_grep_end_in_time(tmp_path: Path) -> None:
    """Searching logs with a regular expression takes time that grows with the logs, whatever the expression."""
    log = tmp_path / "s.jsonl"
    log.write_bytes(CLAUDE.replace(b"Fix it.", LONG.encode()))
    code, out, err = ran("-m", "dragoman", "lab", "grep", "--regex", "|".join(SLOW), str(log), home=tmp_path)
    assert (code, out, err) == (1, "", "")


def test_a_pattern_that_only_backtracking_can_match_is_refused_by_name_where_it_could_take_long(tmp_path: Path) -> None:
    """Where a pattern cannot be matched in bounded time, the failure names the pattern and what in it is the reason."""
    log = tmp_path / "s.jsonl"
    log.write_bytes(CLAUDE.replace(b"Fix it.", LONG.encode()))
    code, out, err = ran("-m", "dragoman", "lab", "grep", "--regex", r"(a+)+\1$", str(log), home=tmp_path)
    assert code != 0
    assert out == ""
    assert r'"(a+)+\\1$" cannot be matched' in err
    assert "a backreference" in err


def test_slow_patterns_given_to_the_file_search_end_in_time(tmp_path: Path) -> None:
    """Searching files takes time that grows with the files, whatever the expression."""
    (tmp_path / "a.txt").write_text(LONG)
    wanted = "|".join(one for one in SLOW if "(?!" not in one)
    call = ("search_text", f"pattern={wanted}", "path=.", "--json")
    code, out, err = ran("-m", "dragoman", "tool", *call, home=tmp_path, cwd=tmp_path)
    assert (code, json.loads(out)["matches"], err) == (1, [], "")


def test_a_glob_that_stands_for_too_much_is_refused_and_a_long_ignore_file_is_read_in_time(tmp_path: Path) -> None:
    """A glob of a model, and the ignore files of a stranger's repository, are compiled and matched in bounded time."""
    (tmp_path / "a.txt").write_text("here")
    (tmp_path / ".gitignore").write_text("".join(f"{number}*?[x-z]\n" for number in range(500_000)))
    bomb = "{a,b}" * 10 + "x" * 4000
    code, _, err = ran("-m", "dragoman", "tool", "find_files", f"pattern={bomb}", home=tmp_path, cwd=tmp_path)
    assert (code, "too many and too long patterns" in err) == (2, True)
    allowed = ("*a" * 2000, "**/a/" * 800)
    match = f"for one in {allowed!r}: globs.compiled(one).full.match('a/' * 2000)"
    program = f"from dragoman.tools.workspace import globs\n{match}"
    assert ran("-c", program, home=tmp_path) == (0, "", "")
    code, out, err = ran("-m", "dragoman", "tool", "list_directory", "path=.", home=tmp_path, cwd=tmp_path)
    assert (code, "a.txt" in out, err) == (0, True, "")


async def test_a_slow_search_of_a_model_leaves_the_server_free_for_other_calls(tmp_path: Path) -> None:
    """While one client's search is at work, the others are answered, and the search itself ends."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    logs = tmp_path / ".claude" / "projects" / "p"
    logs.mkdir(parents=True)
    (logs / "s-1.jsonl").write_bytes(CLAUDE.replace(b"Fix it.", LONG.encode()))
    words = ["-m", "dragoman", "mcp", "serve", "--history", "--tools", "read_file"]
    env = {**os.environ, "HOME": str(tmp_path)}
    order = StdioServerParameters(command=sys.executable, args=words, env=env, cwd=tmp_path)
    (tmp_path / "note").write_text("here")
    async with asyncio.timeout(PATIENCE), Client(stdio_client(order)) as client:
        slow = [client.call_tool("search_events", {"text": pattern, "regex": True}) for pattern in (*SLOW, r"(a+)+\1$")]
        *searches, note = await asyncio.gather(*slow, client.call_tool("vfs_read", {"path": "note"}))
    assert [one.is_error for one in searches] == [False] * len(SLOW) + [True]
    assert "cannot be matched" in searches[-1].content[0].text
    assert "here" in note.content[0].text


def test_ctrl_c_ends_a_search_with_a_slow_pattern(tmp_path: Path) -> None:
    """Ctrl-C ends a search that is at work."""
    log = tmp_path / "s.jsonl"
    first, rest = CLAUDE.replace(b"Fix it.", b"zz"), CLAUDE.replace(b"Fix it.", b"ab" * 5000)
    log.write_bytes(first + rest * 2000)
    words = ("-u", "-m", "dragoman", "lab", "grep", "--regex", "zz|(a|b|ab)*~", str(log))
    with started(*words, home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() != ""  # the first match: it is at work, and has a long way to go
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
