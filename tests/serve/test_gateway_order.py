"""The calls of one reply through the gateway: a client is given them in an order that keeps what the model meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.apis import Lowering
from dragoman.dialects import DIALECTS
from dragoman.engine.models import dialect_of, family_of
from dragoman.model import CallPart, FunctionDefinition, NativeCall, NativeResult, Reply
from dragoman.serve.gateway import Words
from dragoman.serve.gateway.clients import at, runs_commands_together
from tests.engine.loopback import Turn
from tests.serve.test_gateway import client, gateway

EDIT = ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
MORE = ("Edit", {"file_path": "b.py", "old_string": "y = 1", "new_string": "y = 2"})
READ = ("Read", {"file_path": "a.py"})
RUN = ("Bash", {"command": "make"})
AGENT = ("Agent", {"prompt": "Count.", "description": "Count", "subagent_type": "general"})
OTHER = ("mcp__notes__add", {"text": "x"})
PATCH = ("apply_patch", "*** Begin Patch\n*** Add File: c.py\n+z = 1\n*** End Patch\n")
MAKE = ("exec_command", {"cmd": "make"})
SHOW = ("exec_command", {"cmd": "cat a.py"})

ORDERS: dict[str, tuple[str, str, list[tuple[str, Any]], list[int]]] = {
    # what is tried → the model, the client, the calls of a reply, and how many of them the client is given at once
    "what only reads": ("claude-sonnet-4-5", "qwen_code", [READ, READ, READ], [3]),
    "a change before a command": ("claude-sonnet-4-5", "qwen_code", [EDIT, RUN], [1, 1]),
    "two changes": ("claude-sonnet-4-5", "codex", [EDIT, MORE], [1, 1]),
    "a change between reads": ("claude-sonnet-4-5", "qwen_code", [READ, READ, EDIT, READ, READ], [2, 1, 2]),
    "two commands": ("gemini-3-pro", "claude_code", [("run_shell_command", {"command": "make"})] * 2, [1, 1]),
    "sub-agents": ("claude-sonnet-4-5", "gemini_cli", [AGENT, AGENT], [2]),
    "tools of others": ("claude-sonnet-4-5", "codex", [OTHER, OTHER, EDIT, OTHER], [2, 1, 1]),
    "commands of a model that knows they run together": ("gpt-5.5", "claude_code", [MAKE, MAKE, SHOW], [3]),
    "a change among them": ("gpt-5.5", "claude_code", [MAKE, PATCH, MAKE, MAKE], [1, 1, 2]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_calls_that_depend_on_others_are_made_after_them(name: str) -> None:
    model, dialect, calls, batches = ORDERS[name]
    own = FunctionDefinition("mcp__notes__add", "Adds a note.", {"type": "object", "properties": {"text": {}}})
    target = at(dialect_of(model), None, family_of(model))
    words = Words(
        (*DIALECTS[dialect].definitions(), own),
        client=DIALECTS[dialect],
        model=target,
        agent="general",
        commands_together=runs_commands_together(target.name),
    )
    parts = [CallPart(NativeCall(f"i{place}", *call)) for place, call in enumerate(calls)]
    groups = words.groups(Reply(tuple(parts)), "b", Lowering(), frozenset())
    results: dict[str, NativeResult] = {}
    given = []
    while now := words.next(groups, results):
        given.append(len(now))
        results |= {one.id: NativeResult(one.id, "Done.", name=one.name) for one in now}
    assert given == batches
    assert [one.call_id for one in words.results(groups, results)] == [f"i{place}" for place in range(len(calls))]


def test_after_a_call_that_the_user_rejected_no_later_one_is_made() -> None:
    words = Words(DIALECTS["claude_code"].definitions(), client=at("claude_code"), model=at("gemini_cli"))
    run = ("run_shell_command", {"command": "make"})
    parts = tuple(CallPart(NativeCall(f"i{place}", *run)) for place in range(2))
    groups = words.groups(Reply(parts), "b", Lowering(), frozenset())
    (first,) = words.next(groups, {})
    rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    results = {first.id: NativeResult(first.id, rejected, is_error=True, name=first.name)}
    assert words.next(groups, results) == ()
    told = words.results(groups, results)
    assert [one.call_id for one in told] == ["i0", "i1"]
    assert "before all of it was done" in str(told[1].content)


async def test_a_client_that_runs_its_calls_at_the_same_time_shows_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    calls = tuple((f"i{place}", *call) for place, call in enumerate((EDIT, ("Bash", {"command": "cat a.py"}))))
    async with gateway(monkeypatch, "anthropic_messages", Turn(calls=calls), Turn("Done.")) as (served, upstream):
        result = await client(served, "codex", tmp_path).run("Do it.")
    assert result.text == "Done."
    told = [block for item in upstream.requests[-1].body["messages"] for block in item["content"] if "content" in block]
    assert [one["content"] for one in told if one["type"] == "tool_result"][1] == "x = 2"


@pytest.mark.parametrize("last, told", [(2, "1\tone\n2\ttwo"), (9, "1\tone\n2\ttwo\n3\tthree\n4\t")])
def test_lines_that_a_command_prints_are_as_many_as_were_asked_for(last: int, told: str) -> None:
    words = Words(DIALECTS["codex"].definitions(), client=at("codex"), model=at("claude_code"))
    read = NativeCall("i", "Read", {"file_path": "a.txt", "offset": 1, "limit": last})
    (group,) = words.groups(Reply((CallPart(read),)), "b", Lowering(), frozenset())
    (call,) = words.next([group], {})
    assert call.arguments == {"cmd": f"sed -n 1,{last}p a.txt"}
    printed = "one\ntwo\n" if last == 2 else "one\ntwo\nthree\n"
    output = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{printed}"
    (result,) = words.results([group], {call.id: NativeResult(call.id, output, name=call.name)})
    assert result.content == told
