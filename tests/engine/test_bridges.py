"""Tools for other people's frameworks: what is offered, how calls run, what ends with them.

Here without the frameworks themselves; the conformance tests have those.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.engine import Approval, Facade, Hooks, Question, ToolPolicy
from dragoman.engine.bridges import BRIDGES
from dragoman.engine.bridges.bridge import Bridge
from dragoman.errors import ConfigError, DefinitionError, MissingExtra, ToolError
from dragoman.installation import install_command
from dragoman.model import Call, Failure
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, ProviderTool, Toolset, Web, tool

SDKS = ["openai", "openai-chat", "anthropic", "google-genai"]
FRAMEWORKS = ["pydantic-ai", "openai-agents", "langchain"]


@tool
def shout(text: str, times: int = 1) -> str:
    """Text in capitals."""
    return text.upper() * times


@tool
async def wait() -> str:
    """Does not come back."""
    await asyncio.Event().wait()
    return "never"


def facade(*tools: Any, dialect: str = "claude_code") -> Facade:
    return Facade(DIALECTS[dialect], Toolset(tools))


def called(sdk: str, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls as each SDK has them in its replies."""
    import json

    found: list[dict[str, Any]] = []
    for number, (name, said) in enumerate(calls, start=1):
        function = {"name": name, "arguments": json.dumps(said)}
        found.append(
            {
                "openai": {"type": "function_call", "call_id": f"c{number}", **function},
                "openai-chat": {"id": f"c{number}", "type": "function", "function": function},
                "anthropic": {"type": "tool_use", "id": f"c{number}", "name": name, "input": said},
                "google-genai": {"functionCall": {"name": name, "args": said}},
            }[sdk]
        )
    return found


WRONG = "<tool_use_error>InputValidationError: shout cannot take these arguments: text is required</tool_use_error>"
ANSWERED = {
    # What answers a call of `shout` and one that fails, in each SDK's own form.
    "openai": [
        {"type": "function_call_output", "call_id": "c1", "output": "HIHI"},
        {"type": "function_call_output", "call_id": "c2", "output": WRONG},
    ],
    "openai-chat": [
        {"role": "tool", "tool_call_id": "c1", "content": "HIHI"},
        {"role": "tool", "tool_call_id": "c2", "content": WRONG},
    ],
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "HIHI"},
                {"type": "tool_result", "tool_use_id": "c2", "content": WRONG, "is_error": True},
            ],
        }
    ],
    "google-genai": [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "shout", "response": {"output": "HIHI"}}},
                {"functionResponse": {"name": "shout", "response": {"error": WRONG}}},
            ],
        }
    ],
}


def test_every_bridge_is_for_a_framework_or_an_sdk() -> None:
    assert sorted(BRIDGES) == sorted([*FRAMEWORKS, *SDKS])


@pytest.mark.parametrize("name", [*FRAMEWORKS, *SDKS])
def test_a_bridge_bears_the_name_it_is_listed_under(name: str) -> None:
    assert BRIDGES[name].framework == name


@pytest.mark.parametrize("sdk", SDKS)
async def test_calls_of_a_turn_are_answered_in_the_form_of_the_sdk(sdk: Any) -> None:
    async with facade(shout).tools_for(sdk) as tools:
        answered = await tools.run(called(sdk, ("shout", {"text": "hi", "times": 2}), ("shout", {})))
    assert answered == ANSWERED[sdk]


WHOLE = {
    "openai": lambda calls: {"object": "response", "status": "completed", "output": calls},
    "openai-chat": lambda calls: {"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]},
    "anthropic": lambda calls: {"role": "assistant", "content": calls, "stop_reason": "tool_use"},
    "google-genai": lambda calls: {"candidates": [{"content": {"role": "model", "parts": calls}}]},
}


class Dumped:
    """An object of an SDK, as far as it matters here."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        return self.said


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_reply_may_be_whole_or_its_items_and_an_object_or_its_json(sdk: Any) -> None:
    calls = called(sdk, ("shout", {"text": "hi", "times": 2}), ("shout", {}))
    whole = WHOLE[sdk](calls)
    async with facade(shout).tools_for(sdk) as tools:
        for reply in (whole, Dumped(whole), [Dumped(call) for call in calls], tuple(calls)):
            assert await tools.run(reply) == ANSWERED[sdk]


async def test_a_message_of_chat_and_contents_of_gemini_are_replies_too() -> None:
    calls = called("openai-chat", ("shout", {"text": "hi"}))
    async with facade(shout).tools_for("openai-chat") as chat:
        assert await chat.run({"role": "assistant", "tool_calls": calls}) == [
            {"role": "tool", "tool_call_id": "c1", "content": "HI"}
        ]
    told = {"functionResponse": {"name": "shout", "response": {"output": "HI"}}}
    async with facade(shout).tools_for("google-genai") as google:
        parts = called("google-genai", ("shout", {"text": "hi"}))
        assert await google.run({"role": "model", "parts": parts}) == [{"role": "user", "parts": [told]}]
        assert await google.run([{"name": "shout", "args": {"text": "hi"}}]) == [{"role": "user", "parts": [told]}]


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_reply_without_calls_needs_no_answer(sdk: Any) -> None:
    async with facade(shout).tools_for(sdk) as tools:
        assert await tools.run(WHOLE[sdk]([])) == []


async def test_what_the_provider_ran_itself_is_not_run_again() -> None:
    searched = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    async with facade(shout).tools_for("anthropic") as tools:
        assert await tools.run([searched]) == []


def test_the_definitions_are_those_of_the_facade_as_the_sdk_takes_them() -> None:
    own = facade(shout, TOOLS["read_file"])
    read, said = own.definitions
    assert [read.name, said.name] == ["Read", "shout"]
    chat: Any = own.tools_for("openai-chat")
    assert [(one["function"]["name"], one["function"]["description"]) for one in chat] == [
        ("Read", read.description),  # type: ignore[union-attr]
        ("shout", "Text in capitals."),
    ]
    assert [tool["name"] for tool in own.tools_for("anthropic")] == ["Read", "shout"]
    assert [one["name"] for one in own.tools_for("google-genai")[0]["functionDeclarations"]] == ["Read", "shout"]
    assert [tool["name"] for tool in own.tools_for("openai")] == ["Read", "shout"]


async def test_bridges_of_one_facade_do_not_disturb_one_another() -> None:
    own = facade(TOOLS["edit_file"], dialect="codex")
    text = own.tools_for("openai", model="gpt-5")
    function = own.tools_for("openai-chat")
    assert [one["type"] for one in (*text, *function)] == ["custom", "function"]
    assert [one.facade.lowering.texts for one in (text, function)] == [(), ("apply_patch",)]
    assert own.lowering.texts == ()


class Listed(Bridge):
    """A framework that takes functions, as far as it matters here."""

    framework = "listed"

    def offered(self) -> list[dict[str, Any]]:
        return self.functions


async def test_a_framework_is_given_functions_whatever_the_model_takes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    own = Facade(DIALECTS["codex"].at(family="gpt-5.2"), Toolset([TOOLS["edit_file"]]))
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n"
    async with Listed(own, workspace=DiskWorkspace(tmp_path), model="gpt-5.2") as tools:
        assert [(one["name"], list(one["parameters"]["properties"])) for one in tools] == [("apply_patch", ["input"])]
        assert not (await tools.call("apply_patch", {"input": patch})).is_error
    assert (tmp_path / "a.txt").read_text() == "1\n"
    assert [note.message for note in tools.notes] == [
        "this model has no freeform tools: it is offered as a function with one text, `input`"
    ]


# ── what the provider defines ────────────────────────────────────────────────


def test_a_tool_of_the_provider_goes_to_its_own_sdk() -> None:
    tools = facade(shout, ProviderTool("anthropic.web_fetch_20250910", {"max_uses": 2})).tools_for("anthropic")
    assert tools[1:] == [{"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 2}]
    assert (tools.headers, tools.request_settings) == ({}, {})


def test_what_a_request_needs_beside_the_tools_is_told() -> None:
    beta = facade(ProviderTool("anthropic.mcp_toolset", {"mcp_server_name": "x"})).tools_for("anthropic")
    assert beta.headers == {"anthropic-beta": "mcp-client-2025-11-20"}
    beside = facade(ProviderTool("openai.web_search_options")).tools_for("openai-chat")
    assert (list(beside), beside.request_settings) == ([], {"web_search_options": {}})
    mixed = facade(shout, ProviderTool("google.google_search")).tools_for("google-genai", model="gemini-3-pro-preview")
    assert mixed.request_settings == {"toolConfig": {"includeServerSideToolInvocations": True}}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_is_not_given_what_it_cannot_say(framework: str) -> None:
    with pytest.raises(DefinitionError, match=f"anthropic.web_search_20250305: {framework} has its own way"):
        facade(shout, ProviderTool("anthropic.web_search_20250305")).tools_for(framework)


# ── policy ───────────────────────────────────────────────────────────────────


def test_what_the_policy_does_not_allow_is_not_offered() -> None:
    own = facade(shout, TOOLS["read_file"], TOOLS["edit_file"])
    tools = own.tools_for("anthropic", policy=ToolPolicy(allowed=("read_*", "shout")))
    assert [tool["name"] for tool in tools] == ["Read", "shout"]
    assert own.tools_for("anthropic", policy=ToolPolicy(enabled=False)) == []


async def test_a_call_that_takes_too_long_is_ended_and_told() -> None:
    async with facade(wait).tools_for("openai-chat", policy=ToolPolicy(timeout=0.01)) as tools:
        result = await tools.call("wait", {})
    assert (result.is_error, "stopped after 0.01 seconds" in str(result.content)) == (True, True)


async def test_a_call_may_be_asked_about_and_refused() -> None:
    asked: list[Question] = []

    def approver(question: Question) -> bool:
        asked.append(question)
        return question.call.native.arguments == {"text": "yes"}

    policy = ToolPolicy(approval=(Approval("ask", tool="shout"),))
    async with facade(shout).tools_for("openai-chat", policy=policy, approver=approver) as tools:
        results = [await tools.call("shout", {"text": text}) for text in ("yes", "no")]
    assert [question.tools for question in asked] == [("shout",), ("shout",)]
    assert results[0].content == "YES"
    assert (results[1].is_error, "not allowed" in str(results[1].content)) == (True, True)


async def test_an_answer_that_is_to_come_later_cannot_be_waited_for() -> None:
    policy = ToolPolicy(default="ask")
    async with facade(shout).tools_for("openai-chat", policy=policy, approver=lambda _: None) as tools:
        with pytest.raises(ConfigError, match=r"openai-chat cannot wait for an approval \(shout\)"):
            await tools.call("shout", {"text": "hi"})


async def test_a_failure_that_ends_the_run_is_raised_through_the_framework() -> None:
    async with facade(shout).tools_for("openai-chat", policy=ToolPolicy(on_error="abort")) as tools:
        with pytest.raises(ToolError, match="text is required") as raised:
            await tools.call("shout", {})
        assert raised.value.kind == "invalid_arguments"
        assert (await tools.call("shout", {"text": "again"})).content == "AGAIN"


async def test_hooks_are_called() -> None:
    def before(call: Call) -> Failure | None:
        return Failure("denied", "not today") if call.native.arguments == {"text": "no"} else None

    async with facade(shout).tools_for("openai-chat", hooks=Hooks(before=before)) as tools:
        results = [await tools.call("shout", {"text": text}) for text in ("yes", "no")]
    assert [result.is_error for result in results] == [None, True]
    assert "not today" in str(results[1].content)


async def test_a_long_result_is_cut_and_said_to_be() -> None:
    async with facade(shout).tools_for("openai-chat", policy=ToolPolicy(max_result=30)) as tools:
        result = await tools.call("shout", {"text": "x" * 100})
    assert "70 characters left out" in str(result.content)


async def test_a_tool_that_must_run_alone_does_also_when_calls_come_one_by_one() -> None:
    seen: list[str] = []

    @tool(sequential=True)
    async def alone(name: str) -> str:
        """Notes when it begins and ends."""
        seen.append(f"+{name}")
        for _ in range(5):
            await asyncio.sleep(0)
        seen.append(f"-{name}")
        return name

    async with facade(alone).tools_for("openai-chat") as tools:
        await asyncio.gather(*(tools.call("alone", {"name": name}) for name in "ab"))
    assert seen == ["+a", "-a", "+b", "-b"]


# ── event loops ──────────────────────────────────────────────────────────────

PLAN = {"items": [{"text": "look", "status": "pending"}]}


def planning(tmp_path: Path) -> Any:
    own = facade(TOOLS["update_plan"], TOOLS["read_plan"], dialect="plain")
    return own.tools_for("openai-chat", workspace=DiskWorkspace(tmp_path))


def test_calls_without_an_event_loop_share_what_they_leave_behind(tmp_path: Path) -> None:
    threads = threading.active_count()
    with planning(tmp_path) as tools:
        tools.run_sync(called("openai-chat", ("update_plan", PLAN)))
        (told,) = tools.run_sync(called("openai-chat", ("read_plan", {})))
        assert "look" in told["content"]
    assert threading.active_count() == threads


def test_calls_in_one_event_loop_share_it_too_and_another_begins_anew(tmp_path: Path) -> None:
    tools = planning(tmp_path)

    async def planned() -> str:
        await tools.run(called("openai-chat", ("update_plan", PLAN)))
        return await read()

    async def read() -> str:
        (told,) = await tools.run(called("openai-chat", ("read_plan", {})))
        return str(told["content"])

    assert "look" in asyncio.run(planned())
    assert "look" not in asyncio.run(read())


def test_a_command_left_running_ends_with_the_tools(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    command = "echo $$ > pid; exec sleep 1000"
    with facade(TOOLS["run_command"]).tools_for("anthropic", workspace=DiskWorkspace(tmp_path)) as tools:
        (told,) = tools.run_sync(called("anthropic", ("Bash", {"command": command, "run_in_background": True})))
        assert not told["content"][0].get("is_error")
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()


# ── frameworks that are not there, and those that are not needed ─────────────


@pytest.mark.parametrize(
    "framework,module,package",
    [
        ("pydantic-ai", "pydantic_ai", "pydantic-ai-slim"),
        ("openai-agents", "agents", "openai-agents"),
        ("langchain", "langchain_core.tools", "langchain-core"),
    ],
)
def test_a_framework_that_is_missing_is_named_with_its_package(
    framework: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    message = f"giving tools to {framework} needs {framework} ({module} is not installed): {install_command(package)}"
    with pytest.raises(MissingExtra) as raised:
        facade(shout).tools_for(framework)
    assert str(raised.value) == message


def test_an_unknown_framework_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match='Did you mean "langchain"'):
        facade(shout).tools_for("lang-chain")


def test_no_sdk_is_imported_and_no_bridge_before_it_is_used() -> None:
    program = """
import sys
from dragoman import Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
facade = Facade(DIALECTS["plain"], Toolset())
assert not any(name.startswith("dragoman.engine.bridges") for name in sys.modules)
for sdk in ("openai", "openai-chat", "anthropic", "google-genai"):
    facade.tools_for(sdk)
assert not {"openai", "anthropic", "google", "pydantic"} & {name.partition(".")[0] for name in sys.modules}
"""
    subprocess.run([sys.executable, "-I", "-c", program], check=True)


async def test_a_search_that_nobody_can_do_is_not_offered_to_a_framework() -> None:
    tools = Facade(DIALECTS["claude_code"], Toolset([TOOLS["search_web"], TOOLS["read_file"]]))
    async with tools.tools_for("openai-chat") as without:
        assert [one["name"] for one in without.functions] == ["Read"]
        assert [note.tool for note in without.notes] == ["search_web"]
    web = Web(search_backend="searxng", search_url="http://127.0.0.1:1/search")
    async with tools.tools_for("openai-chat", context=Context(provides={Web: web})) as searching:
        assert {one["name"] for one in searching.functions} == {"Read", "WebSearch"}
        assert searching.notes == ()
