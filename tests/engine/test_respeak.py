"""A conversation that goes on with another model: the same history in that model's words and on its wire."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.apis import APIS
from dragoman.engine import Facade, Orchestrator, ScriptedEngine
from dragoman.engine.offer import Note
from dragoman.engine.respeak import respoken
from dragoman.model import (
    CallPart,
    Conversation,
    ExecutedBy,
    FinishReason,
    Media,
    Message,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    ResultPart,
    TextPart,
    ThinkingPart,
    user,
)
from dragoman.registry import DIALECTS, TOOLS
from dragoman.tools import MemoryWorkspace, ProviderTool, Toolset, tool

TOOLSET = Toolset([TOOLS["read_file"], TOOLS["edit_file"], TOOLS["write_file"], TOOLS["run_command"]])


def facade(dialect: str, toolset: Toolset = TOOLSET) -> Facade:
    return Facade(DIALECTS[dialect], toolset)


def spoken(dialect: str, *calls: tuple[Any, ...], api: str = "there") -> Reply:
    parts = tuple(CallPart(NativeCall(*call)) for call in calls)
    return Reply(parts, FinishReason.CALLS, provenance=Provenance(api=api, model="m", dialect=dialect))


def told(*results: tuple[str, str]) -> Message:
    return Message("tool", tuple(ResultPart(NativeResult(*result)) for result in results))


def said(conversation: Conversation) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in conversation:
        for part in item.parts:
            if isinstance(part, CallPart):
                found.append((part.call.id, part.call.name, part.call.arguments))
            elif isinstance(part, ResultPart):
                found.append((part.result.call_id, part.result.content))
    return found


def test_a_call_and_its_result_are_said_in_the_new_words() -> None:
    history = (
        user("read it"),
        spoken("gemini_cli", ("c1", "read_file", {"file_path": "a.py", "start_line": 2, "end_line": 3})),
        told(("c1", "two\nthree\n")),
    )
    new, notes = respoken(history, facade("claude_code"), lambda name: facade(name))
    assert said(new)[0] == ("c1", "Read", {"file_path": "a.py", "offset": 2, "limit": 2})
    assert "two" in str(said(new)[1][1])
    assert notes == ()


def test_one_call_may_become_several_and_its_result_with_it() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: b.txt\n+two\n*** Update File: a.txt\n@@\n-old\n+new\n@@\n-x\n+y\n*** End Patch"
    )
    history = (
        user("go"),
        spoken("codex", ("c1", "apply_patch", patch)),
        told(("c1", "Success. Updated the following files:\nA b.txt\nM a.txt\n")),
    )
    new, _ = respoken(history, facade("claude_code"), lambda name: facade(name))
    calls = [entry for entry in said(new) if len(entry) == 3]
    results = [entry for entry in said(new) if len(entry) == 2]
    assert [name for _, name, _ in calls] == ["Write", "Edit", "Edit"]
    assert [id for id, *_ in calls] == [id for id, _ in results]
    assert len({id for id, *_ in calls}) == 3


def test_turns_without_a_dialect_stay() -> None:
    history = (user("a"), Reply((TextPart("b"),)), Reply((CallPart(NativeCall("c1", "made_up", {"x": 1})),)))
    assert respoken(history, facade("claude_code"), lambda name: facade(name)) == (history, ())


def test_a_call_that_cannot_be_said_is_told_to_the_model_as_text_with_its_result() -> None:
    picture = Media("image/png", data="aGk=")
    results = Message(
        "tool", (ResultPart(NativeResult("c1", ("seen", picture), is_error=True)), ResultPart(NativeResult("c2", "a")))
    )
    read = ("c2", "read_file", {"file_path": "a.py"})
    history = (user("a"), spoken("gemini_cli", ("c1", "made_up", {"x": 1}), read), results, user("b"))
    new, notes = respoken(history, facade("claude_code"), lambda name: facade(name))
    text = (
        '[An earlier call that the tools here cannot make: made_up]\n{"x":1}\n'
        "[Its result: It failed.]\nseen\n(image/png)"
    )
    assert [entry[:2] for entry in said(new)] == [("c2", "Read"), ("c2", "1\ta")]
    assert new[3:] == (user(text, picture), user("b"))
    assert notes == (Note("made_up", 'a call of it is sent as text: There is no tool "made_up".'),)


def test_a_turn_of_nothing_but_such_calls_is_left_out() -> None:
    history = (user("a"), spoken("gemini_cli", ("c1", "made_up", "x")), told(("c1", "?")))
    new, _ = respoken(history, facade("claude_code"), lambda name: facade(name))
    text = "[An earlier call that the tools here cannot make: made_up]\nx\n[Its result:]\n?"
    assert new == (user("a"), user(text))


def test_a_call_that_is_still_to_be_answered_keeps_its_words() -> None:
    history = (user("a"), spoken("gemini_cli", ("c1", "made_up", {"x": 1})))
    new, _ = respoken(history, facade("claude_code"), lambda name: facade(name))
    assert said(new) == [("c1", "made_up", {"x": 1})]


def test_a_function_of_the_user_keeps_its_name() -> None:
    @tool
    def read_file(path: str) -> str:
        """Mine."""
        return path

    mine = Toolset([read_file])
    old = facade("gemini_cli", mine)
    offered = old.definitions[0].name
    assert offered is not None
    history = (user("a"), spoken("gemini_cli", ("c1", offered, {"path": "p"})), told(("c1", "p")))
    new, _ = respoken(history, facade("claude_code", mine), lambda name: facade(name, mine))
    assert said(new)[0] == ("c1", facade("claude_code", mine).definitions[0].name, {"path": "p"})


@pytest.mark.parametrize("api", sorted(APIS.built_in))
@pytest.mark.parametrize(
    "first, then", [("gemini-2.5-pro", "claude-x"), ("claude-x", "gpt-5"), ("gpt-5", "gemini-2.5-pro")]
)
async def test_switching_models_leaves_a_history_every_provider_accepts(api: str, first: str, then: str) -> None:
    words = {
        "gemini-2.5-pro": ("write_file", {"file_path": "a.txt", "content": "hi\n"}),
        "claude-x": ("Write", {"file_path": "a.txt", "content": "hi\n"}),
        "gpt-5": ("apply_patch", "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch"),
    }
    workspace = MemoryWorkspace()
    step = Reply(
        (ThinkingPart("hm", signature="s"), CallPart(NativeCall("call|1", *words[first]), signature="s")),
        FinishReason.CALLS,
        provenance=Provenance(api="elsewhere", model=first),
    )
    one = Orchestrator(ScriptedEngine([step, "done"]), TOOLSET, model_name=first, workspace=workspace)
    before = await one.run("write it")
    two = Orchestrator(ScriptedEngine(["again"]), TOOLSET, model_name=then, workspace=workspace)
    running = two.start("and now?", history=before.conversation)
    codec = APIS[api]
    request = two.prepare("and now?", history=before.conversation).request
    encoded = codec.encode(request)
    again = codec.read_request(encoded.body, model=then)
    assert [problem for problem in codec.validate(again) if not problem.fixed] == []
    names = {definition.name for definition in running.facade.definitions}
    used = {part.call.name for item in running.conversation for part in item.parts if isinstance(part, CallPart)}
    assert used <= names
    assert (await running.result()).text == "again"


@pytest.mark.parametrize(
    "dialect, provider_tool",
    [
        ("claude_code", "anthropic.web_search_20250305"),
        ("codex", "openai.web_search"),
        ("gemini_cli", "google.google_search"),
    ],
)
def test_a_search_that_was_run_here_is_never_said_as_one_the_provider_ran(dialect: str, provider_tool: str) -> None:
    """A provider refuses, or forgets, a call of its own tool that it did not run."""
    other = "gemini_cli" if dialect == "claude_code" else "claude_code"
    name = "google_web_search" if other == "gemini_cli" else "WebSearch"
    history = (user("look"), spoken(other, ("c1", name, {"query": "dragoman"})), told(("c1", "nothing found")))
    to = Facade(DIALECTS[dialect], Toolset([*TOOLSET, ProviderTool(provider_tool)]))
    conversation, _ = respoken(history, to, facade)
    calls = [part.call for item in conversation for part in item.parts if isinstance(part, CallPart)]
    assert all(call.executed_by is ExecutedBy.CLIENT for call in calls)
    assert "dragoman" in str(conversation[1:])
