"""`dragoman run --agent`: a tree of agents, live, recorded and drawn again."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.agents import read_agent
from dragoman.logs import read, sessions_of
from dragoman.model import AnyEvent, Session, SessionStarted
from tests.agents.editor import FILE, TASK, over_the_wire
from tests.engine.loopback import Loopback, Raw, Turn, loopback

from .conftest import Answer, User
from .terminal import Terminal


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)


async def runs(user: User, server: Loopback, *words: str) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "sk-0123456789")
        patch.chdir(user.here)
        return await asyncio.to_thread(user.types, "run", *words)


def record(user: User) -> Path:
    (path,) = (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl")
    return path


def drawn(session: Session) -> Any:
    said = [[one.text for one in step.said] for turn in session.turns for step in turn.steps]
    return session.stream, session.parent_call, said, [drawn(child) for child in session.children]


async def test_a_tree_is_shown_live_recorded_and_drawn_the_same(user: User) -> None:
    path = user.write(user.here / "editor.md", FILE)
    async with loopback(*[over_the_wire] * 14) as server:
        answer = await runs(user, server, "--agent", str(path), "--yes", "--json", TASK)
    assert answer.code == 0, answer.err
    live = [msgspec.json.decode(line, type=AnyEvent) for line in answer.out.splitlines()]
    (tree,), (kept,) = sessions_of(live), sessions_of(read(record(user)))
    assert drawn(tree) == drawn(kept)
    assert [child.stream for child in tree.children] == ["editor-summarise-1", "editor-title-2", "taster-3"]
    shown = user.types("show", str(record(user)))
    assert shown.code == 0
    for words in ("editor-summarise-1", "editor-title-2", "taster-3", "Tasted.", "The note is made."):
        assert words in shown.out
    assert (user.here / "tea.md").read_text() == "Tea is a drink.\n"


async def test_the_first_agents_words_are_the_result_and_the_others_are_aside(user: User) -> None:
    path = user.write(user.here / "editor.md", FILE)
    async with loopback(*[over_the_wire] * 14) as server:
        answer = await runs(user, server, "--agent", str(path), "--yes", TASK)
    assert answer.code == 0
    assert answer.out == "I wait for the taster.\nSo it is bitter.\nThe note is made.\n"
    assert "── taster-3 starts: Taste it." in answer.err
    assert "── taster-3 completed: Tasted." in answer.err
    assert "14 rounds" in answer.err


PEER = Path(__file__).parents[1] / "agents" / "mcp_peer.py"
PLAIN = "---\nname: {name}\ndescription: One.\n{more}---\nYou are {name}.\n"


async def test_an_agent_is_found_by_its_name_and_the_model_can_be_another(user: User) -> None:
    user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more="model: openai-chat:mine\n"))
    async with loopback(Turn("Hello.")) as server:
        answer = await runs(user, server, "--agent", "one", "--model", "openai-chat:theirs", "Go")
    assert (answer.code, answer.out) == (0, "Hello.\n")
    (asked,) = server.requests
    assert asked.body["model"] == "theirs"
    assert asked.body["messages"][0]["content"].strip() == "You are one."
    (started,) = [event for event in read(record(user)) if isinstance(event, SessionStarted)]
    assert started.model == "theirs"


async def test_agents_get_the_projects_instructions_unless_their_file_turns_them_off(user: User) -> None:
    user.write(user.here / "AGENTS.md", "Use tabs.")
    more = "model: openai-chat:m\ndialect: plain\ntools: [spawn_agent]\n{more}"
    user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more=more.format(more="")))
    off = "project_instructions: false\n"
    user.write(user.here / "agents" / "two.md", PLAIN.format(name="two", more=more.format(more=off)))
    spawns = Turn(calls=(("c1", "spawn_agent", {"prompt": "Help.", "agent": "two", "background": False}),))
    async with loopback(spawns, Turn("Helped."), Turn("Done."), Turn("Alone.")) as server:
        answer = await runs(user, server, "--agent", "one", "--yes", "Go")
        assert answer.code == 0, answer.err
        without = await runs(user, server, "--agent", "one", "--no-instructions", "Go")
    assert "instructions: AGENTS.md\n" in answer.err
    assert "--yes allows every call, and this folder is not trusted" in answer.err
    assert "instructions:" not in without.err
    first, two, second, last = (one.body["messages"][0]["content"] for one in server.requests)
    assert first == second
    assert first.startswith("You are one.")
    assert "Use tabs." in first
    assert (two.strip(), last.strip()) == ("You are two.", "You are one.")


async def test_where_nobody_can_be_asked_what_would_be_is_refused(user: User) -> None:
    more = "model: openai-chat:m\ndialect: plain\ntools: [write_file]\n"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))
    writes = Turn(calls=(("c1", "vfs_write", {"path": "a.txt", "content": "x"}),))
    async with loopback(writes, Turn("I could not.")) as server:
        answer = await runs(user, server, "--agent", str(path), "Go")
    assert answer.code == 0
    assert "Calls refused, since nobody could be asked: 1." in answer.err
    assert not (user.here / "a.txt").exists()


async def test_a_file_nobody_vouches_for_loosens_nothing_and_starts_no_server(user: User) -> None:
    servers = "mcp_servers: { toy: { command: touch, args: [started] } }\n"
    more = f"model: openai-chat:m\npolicy: {{ allow: [execute] }}\n{servers}"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))
    assert read_agent(path).mcp_servers
    async with loopback(Turn("Hello.")) as server:
        answer = await runs(user, server, "--agent", str(path), "Go")
    assert answer.code == 0, answer.err
    assert "does not loosen what your own rules say" in answer.err
    assert "one.md: read it, put it into .dragoman/agents, then run dragoman trust" in answer.err
    assert not (user.here / "started").exists()


async def test_what_is_told_to_be_done_for_a_server_to_be_started_does_it(user: User) -> None:
    servers = f"mcp_servers: {{ toy: {{ command: {sys.executable}, args: [{PEER}] }} }}\n"
    more = f"model: openai-chat:m\ntools: [toy/echo]\n{servers}"
    user.write(user.here / ".dragoman" / "agents" / "one.md", PLAIN.format(name="one", more=more))
    async with loopback(Turn("No."), Turn("Yes.")) as server:
        refused = await runs(user, server, "--agent", "one", "Go")
        assert "one.md: read it, then run dragoman trust" in refused.err
        assert user.types("trust", str(user.here)).code == 0
        started = await runs(user, server, "--agent", "one", "Go")
    assert started.code == 0, started.err
    first, second = ([tool["function"]["name"] for tool in one.body.get("tools", [])] for one in server.requests)
    assert (first, second) == ([], ["mcp__toy__echo"])


async def test_a_limit_and_a_provider_that_fails_have_their_own_exit_codes(user: User) -> None:
    more = "model: openai-chat:m\ndialect: plain\ntools: [read_file]\nlimits: { max_turns: 1 }\n"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))
    async with loopback(Turn(calls=(("c1", "vfs_read", {"path": "one.md"}),))) as server:
        limited = await runs(user, server, "--agent", str(path), "Go")
    assert limited.code == 6
    assert "one: the limit on turns (1) was reached" in limited.err
    async with loopback(Raw(401, b'{"error": {"message": "no"}}')) as server:
        failed = await runs(user, server, "--agent", str(path), "Go")
    assert failed.code == 4
    assert "did not accept the key" in failed.err


async def test_a_limit_of_a_file_nobody_vouches_for_that_does_not_hold_is_told(user: User) -> None:
    more = "model: openai-chat:m\nlimits: { max_turns: 40 }\n"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))
    async with loopback(Turn("Hello.")) as server:
        answer = await runs(user, server, "--agent", str(path), "Go")
    assert answer.code == 0
    assert "limits.max_turns: 40 is looser than 15; only your own files" in answer.err


def test_what_does_not_go_together_is_said(user: User) -> None:
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=""))
    for words in (["--resume", "last"], ["--system", "x"], ["--dry-run"]):
        answer = user.types("run", "--agent", str(path), *words, "Go")
        assert answer.code == 2, words
    missing = user.types("run", "--agent", "nobody", "Go")
    assert missing.code == 3
    assert 'there is no agent "nobody"' in missing.err
    broken = user.write(user.here / "bad.md", "---\nnam: x\ntools: [reed_file]\n---\nHm.\n")
    answer = user.types("run", "--agent", str(broken), "Go")
    assert answer.code == 3
    assert "line 2" in answer.err
    assert "line 3" in answer.err


async def test_the_servers_of_an_agent_of_ones_own_are_started_and_its_tools_called(user: User) -> None:
    servers = f"mcp_servers: {{ toy: {{ command: {sys.executable}, args: [{PEER}] }} }}\n"
    more = f"model: openai-chat:m\ndialect: plain\ntools: [toy/*]\n{servers}"
    user.write(user.config_dir / "agents" / "one.md", PLAIN.format(name="one", more=more))
    echo = Turn(calls=(("c1", "mcp__toy__echo", {"text": "hello there"}),))
    async with loopback(echo, Turn("Done.")) as server:
        answer = await runs(user, server, "--agent", "one", "--yes", "Go")
    assert answer.code == 0, answer.err
    first, second = server.requests
    names = {tool["function"]["name"] for tool in first.body["tools"]}
    assert "mcp__toy__echo" in names
    assert not {"vfs_read", "spawn_agent"} & names
    assert "hello there" in second.body["messages"][-1]["content"]


def peer() -> str:
    return f"command = {sys.executable!r}\nargs = [{str(PEER)!r}]\n"


@pytest.mark.parametrize(
    "more, words, offered",
    [
        ("tools: [set/echo, read_file]\n", (), {"mcp__set__echo", "vfs_read"}),
        ("tools: [read_file]\n", (), {"vfs_read"}),
        ("", ("--tools", "mcp__set__echo"), {"mcp__set__echo"}),
        ("tools: [set/*, read_file]\n", ("--no-mcp",), {"vfs_read"}),
    ],
)
async def test_tools_of_servers_that_are_set_up_are_an_agents_too(
    user: User, more: str, words: tuple[str, ...], offered: set[str]
) -> None:
    user.settings(f"[mcp.servers.set]\n{peer()}")
    path = user.write(
        user.here / "one.md", PLAIN.format(name="one", more=f"model: openai-chat:m\ndialect: plain\n{more}")
    )
    async with loopback(Turn("Done.")) as server:
        answer = await runs(user, server, "--agent", str(path), *words, "Go")
    assert answer.code == 0, answer.err
    assert {tool["function"]["name"] for tool in server.requests[0].body["tools"]} == offered
    assert ("no MCP server set runs" in answer.err) == ("--no-mcp" in words)


async def test_an_agent_that_names_no_tools_has_those_of_all_servers_and_its_own_beside(user: User) -> None:
    user.settings(f"[mcp.servers.set]\n{peer()}")
    command = f"command: {sys.executable}, args: [{PEER}]"
    more = f"model: openai-chat:m\ndialect: plain\nmcp_servers: {{ own: {{ {command} }}, set: {{ {command} }} }}\n"
    user.write(user.config_dir / "agents" / "one.md", PLAIN.format(name="one", more=more))
    async with loopback(Turn("Done.")) as server:
        answer = await runs(user, server, "--agent", "one", "Go")
    assert answer.code == 0, answer.err
    assert "MCP server set of one.md is not started: one of that name is set up, and is used" in answer.err
    names = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert {"mcp__set__echo", "mcp__own__echo", "read_mcp_resource", "vfs_read", "spawn_agent"} <= names


async def test_very_many_tools_of_servers_are_searched_for_and_then_called(user: User) -> None:
    user.settings(f'[mcp.servers.set]\ncommand = "{sys.executable}"\nargs = ["{PEER}", "--many"]\n')
    find = Turn(calls=(("c1", "search_tools", {"query": "says again echo", "limit": 1}),))
    call = Turn(calls=(("c2", "mcp__set__echo", {"text": "hello there"}),))
    async with loopback(find, call, Turn("Done.")) as server:
        answer = await runs(user, server, "--model", "openai-chat:m", "--dialect", "plain", "--yes", "Go")
    assert answer.code == 0, answer.err
    assert "tools of MCP servers are searched for" in answer.err
    offered = [{tool["function"]["name"] for tool in one.body["tools"]} for one in server.requests]
    assert [{name for name in names if name.startswith("mcp__")} for names in offered] == [
        set(),
        {"mcp__set__echo"},
        {"mcp__set__echo"},
    ]
    results = [one["content"] for one in server.requests[2].body["messages"] if one["role"] == "tool"]
    assert "mcp__set__echo" in results[0]
    assert "hello there" in results[1]


@pytest.mark.parametrize("format", ["claude_code", "gemini_cli", "codex"])
async def test_an_agent_of_another_client_with_servers_is_run(user: User, format: str) -> None:
    head = "name: one\ndescription: d\n"
    file = {
        "claude_code": f"---\n{head}mcpServers:\n  - toy: {{type: stdio, command: touch, args: [started]}}\n---\nx\n",
        "gemini_cli": f"---\n{head}mcp_servers: {{toy: {{command: touch, args: [started], trust: true}}}}\n---\nx\n",
        "codex": 'name = "one"\ndescription = "d"\ndeveloper_instructions = "x"\n'
        '[mcp_servers.toy]\ncommand = "touch"\nargs = ["started"]\nstartup_timeout_sec = 5\n',
    }[format]
    folder, suffix = {"claude_code": (".claude", "md"), "gemini_cli": (".gemini", "md"), "codex": (".codex", "toml")}[
        format
    ]
    path = user.write(user.here / folder / "agents" / f"one.{suffix}", file)
    async with loopback(Turn("Hello.")) as server:
        answer = await runs(user, server, "--agent", str(path), "--model", "openai-chat:m", "Go")
    assert (answer.code, answer.out) == (0, "Hello.\n"), answer.err
    assert "nobody vouches for" in answer.err
    assert not (user.here / "started").exists()


async def test_a_call_that_is_put_off_is_answered_later_in_the_first_conversation(user: User) -> None:
    more = "model: openai-chat:m\ndialect: plain\ntools: [write_file]\n"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))
    writes = Turn(calls=(("c1", "vfs_write", {"path": "a.txt", "content": "x"}),))
    async with loopback(writes) as server:
        waiting = await runs(user, server, "--agent", str(path), "--ask", "Go")
    assert waiting.code == 8, waiting.err
    assert "These calls wait for your approval:\n  c1  write a.txt" in waiting.err
    assert "Answer and continue:  dragoman run --resume" in waiting.err
    assert not (user.here / "a.txt").exists()
    async with loopback(Turn("Written.")) as server:
        answer = await runs(user, server, "--resume", "last", "--approve", "all")
    assert (answer.code, answer.out) == (0, "Written.\n"), answer.err
    assert (user.here / "a.txt").read_text() == "x"


HEAD = "model: openai-chat:{name}\ndialect: plain\n"


def prepared_tree(user: User) -> Path:
    """A boss who starts two others: one writes, which needs a yes, and one reads."""
    tools = {"boss": "[spawn_agent, read_file, write_file]", "writer": "[write_file]", "reader": "[read_file]"}
    for name, named in tools.items():
        more = HEAD.format(name=name) + f"tools: {named}\n"
        user.write(user.here / "agents" / f"{name}.md", PLAIN.format(name=name, more=more))
    user.write(user.here / "notes.txt", "tea")
    return user.here / "agents" / "boss.md"


def played(body: dict[str, Any]) -> Turn:
    results = [str(one["content"]) for one in body["messages"] if one["role"] == "tool"]
    if results:
        return Turn(f"{body['model']}: {' | '.join(results)}")
    return {
        "boss": Turn(
            calls=tuple(
                (f"c{name}", "spawn_agent", {"agent": name, "prompt": "Go", "background": False})
                for name in ("writer", "reader")
            )
        ),
        "writer": Turn(calls=(("c1", "vfs_write", {"path": "a.txt", "content": "x"}),)),
        "reader": Turn(calls=(("c1", "vfs_read", {"path": "notes.txt"}),)),
    }[body["model"]]


async def test_a_tree_waits_and_is_resumed_as_one(user: User) -> None:
    path = prepared_tree(user)
    async with loopback(*[played] * 20) as server:
        waiting = await runs(user, server, "--agent", str(path), "--ask", "Go")
        assert waiting.code == 8, waiting.err
        assert "These calls wait for your approval:\n  c1  write a.txt" in waiting.err
        assert "reader-2 completed" in waiting.err  # it went on
        asked = [one.body["model"] for one in server.requests]
        again = await runs(user, server, "--resume", "last", "--ask")
        assert (again.code, len(server.requests)) == (8, len(asked))
        answer = await runs(user, server, "--resume", "last", "--approve", "all")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("boss: ")
    assert "tea" in answer.out
    assert (user.here / "a.txt").read_text() == "x"
    assert [one.body["model"] for one in server.requests][len(asked) :] == ["writer", "boss"]
    finished = await runs(user, server, "--resume", "last")
    assert (finished.code, "This run is complete" in finished.err) == (2, True)
    wrong = await runs(user, server, "--resume", "last", "--agent", str(path))
    assert (wrong.code, "A run that is resumed keeps its agent" in wrong.err) == (2, True)


async def killed_at(user: User, number: int, *words: str) -> list[str]:
    """Runs it in a process that is ended with SIGKILL when its request with this number comes; who asked."""
    process: asyncio.subprocess.Process | None = None
    asked: list[str] = []

    def ending(body: dict[str, Any]) -> Turn:
        asked.append(body["model"])
        if len(asked) == number:
            assert process is not None
            process.kill()
        return played(body)

    async with loopback(*[ending] * 20) as server:
        reached = {**user.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-0123456789"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dragoman", "run", *words),
            cwd=user.here,
            env=reached,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await process.wait() == -9
    return asked


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("store", ["", "sqlite:runs.db"])
@pytest.mark.slow
async def test_a_tree_that_is_killed_while_some_of_it_wait_is_resumed_as_one(
    user: User, store: str, number: int
) -> None:
    """Then it is killed again, right after the effect that was approved: that is not made a second time."""
    if store:
        user.settings(f'[store]\nurl = "{store}"\n')
    path = prepared_tree(user)
    await killed_at(user, number, "--agent", str(path), "--ask", "Go")
    async with loopback(*[played] * 20) as server:
        waiting = await runs(user, server, "--resume", "last", "--ask")
    assert waiting.code == 8, waiting.err
    assert "c1  write a.txt" in waiting.err
    assert not (user.here / "a.txt").exists()
    assert (await killed_at(user, 1, "--resume", "last", "--approve", "all"))[0] == "writer"
    assert (user.here / "a.txt").read_text() == "x"
    (user.here / "a.txt").write_text("changed since")
    async with loopback(*[played] * 20) as server:
        answer = await runs(user, server, "--resume", "last", "--ask")
        assert [one.body["model"] for one in server.requests] == ["writer", "boss"]
    assert (answer.code, answer.out.startswith("boss: "), "tea" in answer.out) == (0, True, True), answer.err
    assert (user.here / "a.txt").read_text() == "changed since"


@pytest.mark.slow
async def test_a_tree_of_the_queue_waits_for_an_answer_and_continues(user: User) -> None:
    path = prepared_tree(user)

    async def types(server: Loopback, *words: str) -> Answer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", server.url)
            patch.setenv("OPENAI_API_KEY", "sk-0123456789")
            return await asyncio.to_thread(user.types, *words)

    async with loopback(*[played] * 20) as server:
        id = user.types("queue", "add", "Go").out.strip()
        work = ("worker", "--until-empty", "--", "--agent", str(path))
        assert (await types(server, *work)).code == 0
        shown = user.types("queue", "show", id, "--json").json
        assert (shown["state"], [call["summary"] for call in shown["calls"]]) == ("waiting", ["write a.txt"]), shown
        assert user.types("approve", id).code == 0
        assert (await types(server, *work)).code == 0
        shown = user.types("queue", "show", id, "--json").json
    assert shown["state"] == "done", shown
    assert (user.here / "a.txt").read_text() == "x"
    assert [one.body["model"] for one in server.requests].count("reader") == 2  # it was not done again


async def test_on_a_terminal_the_question_says_which_agent_asks(user: User) -> None:
    more = "model: openai-chat:m\ndialect: plain\ntools: [write_file]\n"
    path = user.write(user.here / "one.md", PLAIN.format(name="one", more=more))

    def play(url: str) -> int:
        environ = {**user.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-0123456789"}
        with Terminal(("run", "--agent", str(path), "Go"), user.here, environ, prepared=True) as terminal:
            terminal.sees("one asks:")
            terminal.sees("Allow it?")
            terminal.types("y\n")
            return terminal.ends()

    writes = Turn(calls=(("c1", "vfs_write", {"path": "a.txt", "content": "x"}),))
    async with loopback(writes, Turn("Done.")) as server:
        assert await asyncio.to_thread(play, server.url) == 0
    assert (user.here / "a.txt").read_text() == "x"


async def test_a_run_of_agents_is_gone_on_with_as_the_first_of_them(user: User) -> None:
    path = user.write(user.here / "editor.md", FILE)
    async with loopback(*[over_the_wire] * 14) as server:
        assert (await runs(user, server, "--agent", str(path), "--yes", TASK)).code == 0
    async with loopback(Turn("It was nice.")) as server:
        answer = await runs(user, server, "--resume", "last", "--tools", "none", "And?")
    assert (answer.code, answer.out) == (0, "It was nice.\n"), answer.err
    said = [item["content"] for item in server.requests[0].body["messages"] if item["role"] == "user"]
    assert said[0] == TASK
    assert said[-1] == "And?"
    assert "Taste it." not in said
