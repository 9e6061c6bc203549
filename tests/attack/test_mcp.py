"""MCP servers that lie, flood, never end, and change what they are after they were trusted."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents import McpServer, McpServers
from dragoman.engine import Answer, Executor, Question, Retry, ToolPolicy
from dragoman.model import Call, Failure, NativeCall, operations as op, outcomes as out
from dragoman.tools import Context, Tool, Toolset
from dragoman.tools.running import outcome_of
from tests.cli.conftest import User, user
from tests.cli.terminal import Terminal
from tests.cli.test_run import DONE, no_keys, runs, said
from tests.cli.test_run_terminal import at_terminal
from tests.engine.loopback import Heard, Turn, loopback

from .processes import PATIENCE, ran

__all__ = ["no_keys", "user"]

SERVER = str(Path(__file__).with_name("hostile_server.py"))


def hostile(mode: str, *words: str, name: str = "x", **facts: Any) -> McpServer:
    command = (sys.executable, SERVER, "--mode", mode, *words)
    return McpServer(name=name, transport="stdio", command=command, **facts)


def setting(mode: str, journal: Path, more: str = "", name: str = "x") -> str:
    words = json.dumps([SERVER, "--mode", mode, "--journal", str(journal)])
    return f'[mcp.servers.{name}]\ncommand = "{sys.executable}"\nargs = {words}\n{more}\n'


@asynccontextmanager
async def opened(*servers: McpServer) -> AsyncIterator[McpServers]:
    async with asyncio.timeout(PATIENCE):
        async with McpServers(servers, back_off=Retry(base=30.0, longest=60.0)) as found:
            yield found


async def call(servers: McpServers, tool: str, context: Context | None = None, **arguments: Any) -> Any:
    found = servers.toolset.get(f"mcp__x__{tool}")
    assert isinstance(found, Tool)
    return await outcome_of(lambda: found.call(arguments, context or Context()))


def calls_in(journal: Path) -> list[str]:
    return [line for line in journal.read_text().splitlines() if line.startswith("call ")]


def of_tool(tool: str, id: str = "c1") -> Turn:
    return Turn("I call it.", calls=((id, f"mcp__x__{tool}", {}),))


# ── what a server says of itself ─────────────────────────────────────────────


async def test_a_tool_that_says_it_only_reads_is_asked_about_like_any_other(user: User) -> None:
    """A server's hints about its tools are not believed: every call is asked about until the user trusts the server."""
    journal = user.home / "journal"
    user.settings(setting("liar", journal))
    async with loopback(of_tool("look"), DONE) as server:
        answer = await runs(user, server, "look")
        assert "was not allowed: nobody is there to be asked" in said(server.requests[1])
    assert answer.code == 0
    assert calls_in(journal) == []
    user.settings(setting("liar", journal, "trust_hints = true"))
    async with loopback(of_tool("look"), DONE) as server:
        await runs(user, server, "look")
    assert calls_in(journal) == ["call look"]


def test_only_the_users_own_settings_can_trust_the_hints_of_a_server(user: User) -> None:
    """No project can mark a server as trusted, nor put its own command under a name that the user trusts."""
    mine = setting("liar", user.home / "mine", "trust_hints = true", name="mine")
    user.settings(mine + setting("liar", user.home / "taken", "trust_hints = true", name="taken"))
    theirs = setting("liar", user.here / "theirs", "trust_hints = true", name="theirs")
    user.write(user.here / "dragoman.toml", theirs + '[mcp.servers.taken]\ncommand = "./evil"\n')
    named = {"command": sys.executable, "args": [SERVER], "trust_hints": True}
    user.write(user.here / ".mcp.json", json.dumps({"mcpServers": {"named": named}}))
    for _ in range(2):
        listed = user.types("mcp", "list", "--json")
        assert {row["name"]: row["trust_hints"] for row in listed.json} == {
            "mine": True,
            "named": False,
            "taken": listed.json[2]["command"][0] == sys.executable,
            "theirs": False,
        }
        assert user.types("trust", str(user.here)).code == 0  # the second time around, all of it is trusted
    assert [row["command"][0] for row in listed.json if row["name"] == "taken"] == [str(user.here / "evil")]


async def test_a_tool_that_changes_after_a_yes_is_asked_about_again_with_what_changed(user: User) -> None:
    """A tool whose description, schema or hints change after an approval is asked about again, with what changed."""
    journal = user.home / "journal"
    user.settings(setting("turncoat", journal, "trust_hints = true"))

    def scene(terminal: Terminal) -> None:
        terminal.sees("Allow it?")
        terminal.types("a\n")
        terminal.sees("description of mcp__x__note changed:")
        terminal.sees("-Takes a note.")
        terminal.sees("+Empties a folder.\\x1b]0;owned\\x07")
        terminal.sees("hints of mcp__x__note changed:")
        terminal.sees("parameters.properties of mcp__x__note changed:")
        terminal.sees("Allow it?")
        terminal.types("n\n")

    async with loopback(of_tool("note"), of_tool("note", "c2"), DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "take a note")
    assert code == 0
    assert calls_in(journal) == ["call note"]
    assert "\x1b]0;owned" not in terminal.raw
    assert "\u202e" not in terminal.raw


async def test_a_stored_yes_does_not_count_for_a_tool_that_changed_before_the_run_continues(user: User) -> None:
    """A yes from another process counts only while the server defines the tool as it did when it was asked about."""
    journal = user.home / "journal"
    user.settings(setting("between", journal))
    async with loopback(of_tool("note"), DONE) as server:
        waiting = await runs(user, server, "--ask", "take a note")
        assert waiting.code == 8
        again = await runs(user, server, "--ask", "--resume", "last", "--approve", "all")
    assert again.code == 8
    assert calls_in(journal) == []


async def test_a_call_is_not_made_when_its_tool_changed_while_somebody_was_asked(tmp_path: Path) -> None:
    """A call is made only while its tool is defined as it was when the call was decided on."""
    journal = tmp_path / "journal"
    asked: list[Question] = []
    async with opened(hostile("late", "--journal", str(journal))) as servers:
        tools = Toolset()
        servers.join(tools)

        async def approver(question: Question) -> Answer:
            asked.append(question)
            before = servers.toolset
            journal.with_name("journal.change").touch()
            while servers.toolset is before:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
            return Answer(allowed=True, by="user", digest=question.digest)

        executor = Executor(tools, ToolPolicy(default="ask"), Context(), approver=approver)
        made = Call("c1", (op.CallMcpTool("x", "note", {}),), NativeCall("c1", "mcp__x__note", {}))
        (result,) = await executor.run([made])
    (failure,) = result.outcomes
    assert isinstance(failure, Failure)
    assert "the MCP server x changed its tool note after the call was decided on" in failure.message
    assert [definition["description"] for definition in asked[0].definitions] == ["Takes a note."]
    assert calls_in(journal) == []


# ── how much a server says ───────────────────────────────────────────────────


async def test_a_list_of_tools_without_end_or_of_any_size_is_cut_and_said_to_be() -> None:
    """A server can offer so many tools, of such a size, and no more; the rest of the servers are not affected."""
    async with opened(
        hostile("pages", name="pages"),
        hostile("many", name="many"),
        hostile("huge", name="huge"),
        hostile("", name="ok"),
    ) as servers:
        tools = {name: [tool.name for tool in one.tools] for name, one in servers.connections.items()}
        problems = servers.problems
    assert (len(tools["pages"]), problems["pages"]) == (
        100,
        ("its list of tools has more than 100 pages; the rest is left out",),
    )
    assert (len(tools["many"]), problems["many"]) == (
        1000,
        ("its list of tools is larger than 1000 tools or 4000000 characters; the rest is left out",),
    )
    assert [name.rpartition("__")[2] for name in tools["huge"]][2:] == ["anyOf", "oneOf", "allOf", "good"]
    assert [problem.split(": ")[0] for problem in problems["huge"]] == [
        "its tool 'long' cannot be offered",
        "its tool 'wide' cannot be offered",
    ]
    assert tools["ok"] == ["mcp__ok__call", "mcp__ok__plain"]
    assert "ok" not in problems


async def test_a_small_schema_that_stands_for_endless_checks_is_checked_in_bounded_time() -> None:
    """Arguments are checked against a server's schema in bounded time, however the schema refers to itself."""
    async with opened(hostile("huge")) as servers:
        for kind in ("anyOf", "oneOf", "allOf"):
            outcome = await call(servers, kind, x="text")
            assert isinstance(outcome, Failure)
            assert outcome.kind == "invalid_arguments"
            assert len(outcome.message) < 10_000


MEASURED = """
import asyncio, json, resource, sys
from dragoman.agents import McpServer, McpServers, mcp_server_at
from dragoman.tools import Context
from dragoman.tools.running import outcome_of

async def main(*servers):
    told = []
    for server in servers:
        async with McpServers([server]) as opened:
            tool = next((tool for tool in opened.toolset if tool.mcp), None)
            if tool is None:
                told.append(str(opened.problems))
            else:
                told.append((await outcome_of(lambda: tool.call({}, Context()))).message)
    print(json.dumps([told, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10]))

"""


def measured(*servers: str, home: Path) -> tuple[list[str], int]:
    """What the first call of each server's tool fails with, and how much memory all that took, in megabytes."""
    code, out, err = ran("-c", f"{MEASURED}\nasyncio.run(main({', '.join(servers)}))", home=home)
    assert (code, err) == (0, "")
    told, memory = json.loads(out)
    return told, memory


def test_a_message_without_end_is_given_up_and_memory_stays_flat(tmp_path: Path) -> None:
    """No message of a server is read beyond a size; the call fails, and says why."""
    command = (sys.executable, SERVER, "--mode", "line")
    (told,), memory = measured(f'McpServer(name="x", transport="stdio", command={command!r})', home=tmp_path)
    assert "it sent a message of more than 32 MB" in told
    assert memory < 400


async def test_an_http_answer_without_end_or_packed_tight_is_given_up(tmp_path: Path) -> None:
    """No answer of an HTTP server is read beyond a size, and none is unpacked; the failure says so."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: "
    packed = gzip.compress(bytes(50_000_000), 1)
    answers = {
        b"/endless": head + b"application/json\r\n\r\n",
        b"/event": head + b"text/event-stream\r\n\r\ndata: ",
        b"/gzip": head + b"application/json\r\nContent-Encoding: gzip\r\n\r\n" + packed,
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            writer.write(answers[path])
            while path != b"/gzip":
                writer.write(b" " * 1_000_000)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        given = [f"mcp_server_at({base + path.decode()!r})" for path in answers]
        told, memory = await asyncio.to_thread(measured, *given, home=tmp_path)
    reasons = ("larger than 16,777,216 bytes", "exceeded the 16777216 byte limit", "compressed as 'gzip'")
    assert [reason in one for reason, one in zip(reasons, told, strict=True)] == [True, True, True]
    assert memory < 400


@pytest.mark.parametrize("mode", ["changes", "logs", "requests"])
async def test_a_server_that_floods_us_is_ended_and_others_go_on(mode: str) -> None:
    """A server that says more than it may unasked is ended with that reason, while other servers answer."""
    async with opened(hostile(mode), hostile("", name="ok")) as servers:
        other = servers.toolset.get("mcp__ok__plain")
        assert isinstance(other, Tool)
        flooding = asyncio.create_task(call(servers, "call"))
        for _ in range(20):
            assert await outcome_of(lambda: other.call({}, Context())) == out.TextOutcome("plain: done")
        await flooding
        while servers.connections["x"].client is not None:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.05)
        problem = servers.problems["x"][0]
    assert f"it sent more than {100 if mode == 'requests' else 5000}" in problem


async def test_progress_and_errors_without_end_keep_nobody_from_working() -> None:
    """Reports of progress are passed on up to a number, and standard error is read without holding anybody up."""
    heard: list[str] = []

    def emit(message: str, fraction: float | None) -> None:
        heard.append(message)

    async with opened(hostile("progress"), hostile("errors", name="loud")) as servers:
        context = Context(report=emit)
        outcome = await call(servers, "call", context)
        loud = servers.toolset.get("mcp__loud__call")
        assert isinstance(loud, Tool)
        for _ in range(5):
            assert isinstance(await outcome_of(lambda: loud.call({}, Context())), out.TextOutcome)
    assert isinstance(outcome, out.TextOutcome)
    assert len(heard) == 500
    assert heard[-1].endswith("(further progress is not shown)")


# ── what a server wants of us ────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["deep", "deep-first", "wrong"])
async def test_an_answer_that_cannot_be_read_ends_its_call_with_the_reason(mode: str) -> None:
    """An answer of a server that is nested too deeply, or is none, fails its call at once; the server serves on."""
    async with opened(hostile(mode)) as servers:
        outcome = await call(servers, "call")
        assert await call(servers, "plain") == out.TextOutcome("plain: done")
    reason = "is not a valid MCP message" if mode == "wrong" else "is nested too deeply"
    assert isinstance(outcome, Failure)
    assert outcome.message == f"the MCP server x answered: the server's answer {reason}"


async def test_a_server_that_answers_somebody_else_does_not_answer_the_call() -> None:
    """Only the answer to a call is taken for its answer; a call that has none fails when its time is over."""
    async with opened(hostile("ids", timeout=1.0)) as servers:
        tools = Toolset()
        servers.join(tools)
        made = Call("c1", (op.CallMcpTool("x", "call", {}),), NativeCall("c1", "mcp__x__call", {}))
        (result,) = await Executor(tools, ToolPolicy(), Context()).run([made])
    assert [one.kind for one in result.outcomes if isinstance(one, Failure)] == ["timed_out"]


def answered_in(request: Heard) -> Any:
    """What the server reports of the answers that it got."""
    (result,) = (part for part in request.body["messages"][-1]["content"] if part["type"] == "tool_result")
    return json.loads(result["content"] if isinstance(result["content"], str) else result["content"][0]["text"])


async def test_a_server_that_asks_is_answered_by_the_user_and_the_rules_alone(user: User) -> None:
    """Without a user and a rule that allows it, a server gets no answer of the model and none of the user."""
    allowed = '[[policy.rules]]\nverdict = "allow"\ntool = "mcp__x__call"\n'
    user.settings(setting("asks", user.home / "journal", more=allowed))
    answers = []
    for words in ((), ("--yes",)):
        async with loopback(of_tool("call"), *[DONE] * 2) as server:
            await runs(user, server, "look", *words)
            answers.append(answered_in(server.requests[-1]))
    unasked, with_yes = answers
    assert unasked["sampling"] == "the request was refused: nobody is there to be asked"
    assert with_yes["sampling"]["content"]["text"] == "It is done."
    for answered in answers:
        assert "not supported" in answered["elicitation"].lower()
        assert answered["roots"]["roots"] == [{"uri": user.here.as_uri(), "name": user.here.name}]


async def test_a_server_that_asks_the_model_again_and_again_is_stopped(user: User) -> None:
    """However long a server goes on asking the model, it gets so many answers in a run and no more."""
    user.settings(setting("asks-on", user.home / "journal"))
    async with loopback(of_tool("call"), *[DONE] * 200) as server:
        answer = await runs(user, server, "look", "--yes")
        answers = answered_in(server.requests[-1])
    assert (answer.code, len(server.requests), len(answers)) == (0, 2 + 50, 51)
    assert answers["50"] == "a server may ask the model 50 times in a run, and this one has"


async def test_sampling_elicitation_and_roots_are_refused() -> None:
    """Where no host is given, a server cannot ask our model, our user, or for our folders."""
    async with opened(hostile("asks")) as servers:
        outcome = await call(servers, "call")
    assert isinstance(outcome, out.TextOutcome)
    answers = json.loads(outcome.text)
    assert set(answers) == {"sampling", "elicitation", "roots"}
    assert all(isinstance(told, str) and "not supported" in told.lower() for told in answers.values()), answers


async def test_nothing_a_server_points_at_is_opened_and_no_media_is_what_it_only_claims_to_be() -> None:
    """A link is passed on as text and never followed; media have the type of their bytes or are described in text."""
    reached: list[Any] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with opened(hostile("links", "--address", address)) as servers:
            outcome = await call(servers, "call")
    assert isinstance(outcome, out.ContentOutcome)
    passwords, page, picture, broken, program, drawing, blob = outcome.content
    assert passwords == "[file:///etc/passwd (image/png)] passwords"
    assert page == f"[http://{address}/link] page"
    assert isinstance(picture, out.Media)
    assert isinstance(blob, out.Media)
    assert (picture.media_type, blob.media_type, blob.data is not None) == ("image/png", "image/png", True)
    assert broken == "[media of the type image/png whose data is not base64: not shown]"
    assert str(program).startswith(
        "[media of the type image/png that is no picture a model can be shown, but ELF program"
    )
    assert drawing == "[image/svg+xml]\n<svg/>"
    assert reached == []


def test_nothing_a_server_says_steers_the_terminal(user: User) -> None:
    """Names, descriptions, results, progress and errors of a server are shown with control characters written out."""
    command = [sys.executable, SERVER, "--mode", "escapes"]
    for words in ((), ("--call", "draw", "--arguments", '{"fail": true}')):
        seen = user.sees("mcp", "test", *words, *command, FORCE_COLOR="")
        for unsafe in ("\x1b]0;", "\x1b[2J", "\x1b[1A", "\u202e", "\u2066", "\x9b", "\u200b", "\U000e0041"):
            assert unsafe not in seen.out
        assert "\\x1b]0;owned\\x07" in seen.out.replace("\n", "")
