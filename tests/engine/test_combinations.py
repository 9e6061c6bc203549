"""Knobs, records and cancellation together: what holds for each alone holds when they meet."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.apis import APIS
from dragoman.config import Price
from dragoman.engine import LATER, Answer, Approval, Hooks, HttpEngine, Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.engine.history import conversation_of
from dragoman.engine.loop import EMPTY
from dragoman.engine.transport import Transport
from dragoman.errors import ConfigError, EngineError, LimitReached
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    Conversation,
    FinishReason,
    Media,
    Message,
    ModelAsked,
    NativeCall,
    Provenance,
    Reply,
    Request,
    Restarted,
    ResultPart,
    TextPart,
    ThinkingPart,
    ToolCalled,
    ToolChoice,
    ToolProgressed,
    ToolReturned,
    Usage,
    UserSaid,
    operations as op,
    user,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, ProviderTool, tool
from dragoman.tools.processes import in_thread
from tests.engine.loopback import PATHS, Raw, Turn, loopback, played


def calls(*said: tuple[str, dict[str, Any]], ids: tuple[str, ...] = ("c1", "c2", "c3")) -> Reply:
    parts = tuple(CallPart(NativeCall(id, *one)) for id, one in zip(ids, said, strict=False))
    return Reply(parts, FinishReason.CALLS)


def told(conversation: Conversation) -> list[Any]:
    parts = [part for item in conversation if isinstance(item, Message) for part in item.parts]
    return [part.result.content for part in parts if isinstance(part, ResultPart)]


def accepted_everywhere(conversation: Conversation) -> bool:
    """Whether every API takes the history, with one more word of the user."""
    for name in APIS.built_in:
        codec = APIS[name]
        encoded = codec.encode(Request("some-model", (*conversation, user("and?"))))
        read = codec.read_request(encoded.body, model="some-model")
        problems = [one for one in codec.validate(read) if not one.accepted]
        assert problems == [], (name, problems, encoded.body)
    return True


def orchestrator(steps: list[Any], tools: Any, policy: ToolPolicy = ToolPolicy(), **options: Any) -> Orchestrator:  # noqa: B008
    options.setdefault("dialect", "plain")
    return Orchestrator(ScriptedEngine(steps), tools, policy, model_name="some-model", **options)


@tool(repeatable=True, kind="read")
async def look(place: str = "here") -> str:
    """Looks somewhere."""
    return f"{place} is empty"


@tool(repeatable=True, kind="read")
async def peer() -> str:
    """Looks, in vain."""
    raise OSError("it is dark")


@tool(sequential=True)
async def move() -> str:
    """Moves."""
    return "moved"


class Slow(ScriptedEngine):
    """Takes so long to end a reply that what began early has ended."""

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        reply = await super().ask(request, observe)
        for _ in range(20):
            await asyncio.sleep(0)
        return reply


# ── early ────────────────────────────────────────────────────────────────────


async def test_a_call_that_failed_early_is_told_as_it_failed_when_that_ends_the_run() -> None:
    events: list[AnyEvent] = []

    engine = Slow([calls(("peer", {}), ("move", {}), ("look", {}))])
    policy = ToolPolicy(early=True, on_error="abort")
    run = Orchestrator(engine, [look, peer, move], policy, model_name="m", dialect="plain")
    result = await run.run("go", stream=True, emit=events.append)
    assert result.status == "failed"
    first, second, third = told(result.conversation)
    assert "it is dark" in first
    assert "was not begun" in second
    assert third == "here is empty"
    returned = [event.call_id for event in events if isinstance(event, ToolReturned)]
    assert sorted(str(id) for id in returned) == ["c1", "c2", "c3"]
    assert conversation_of(events) == result.conversation


async def test_what_began_early_is_in_its_place_in_the_record() -> None:
    events: list[AnyEvent] = []

    engine = Slow([calls(("look", {}), ("look", {"place": "there"})), "done"])
    run = Orchestrator(engine, [look], ToolPolicy(early=True), model_name="m", dialect="plain")
    result = await run.run("go", stream=True, emit=events.append)
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("ToolReturned") < kinds.index("ModelFinished")
    assert conversation_of(events) == result.conversation


async def test_two_early_calls_of_one_id_leave_no_task() -> None:
    @tool(repeatable=True, kind="read")
    async def wait() -> str:
        """Waits a moment."""
        await asyncio.sleep(0.01)
        return "waited"

    before = asyncio.all_tasks()
    steps = [calls(("wait", {}), ("wait", {}), ids=("same", "same")), "done"]
    result = await orchestrator(steps, [wait], ToolPolicy(early=True)).run("go", stream=True)
    assert (asyncio.all_tasks(), told(result.conversation)) == (before, ["waited", "waited"])


@pytest.mark.parametrize("api", sorted(PATHS))
async def test_a_reply_that_broke_off_before_a_tool_of_it_began_is_asked_for_anew(api: str) -> None:
    whole = played(api, Turn("Let me look at that for you.", calls=(("c1", "look", {}),)), stream=True)
    events = whole.body.split(b"\n\n")
    before = next(place for place, event in enumerate(events) if b'"look"' in event)
    half = Raw(body=b"\n\n".join(events[:before]) + b"\n\n", content_type=whole.content_type)
    chunks: list[Any] = []
    async with loopback(half, Turn("fine")) as server:
        engine = HttpEngine(api, Transport(server.url), retry=Retry(times=1, base=0))
        run = Orchestrator(engine, [look], ToolPolicy(early=True), model_name="some-model", dialect="plain")
        result = await run.run("go", observe=chunks.append)
        await engine.close()
    assert (result.text, result.metrics) == ("fine", {})
    assert [type(chunk) for chunk in chunks].count(Restarted) == 1


@pytest.mark.parametrize("api", ["anthropic_messages", "openai_responses"])
async def test_a_reply_that_broke_off_after_a_tool_of_it_began_is_not_asked_for_anew(api: str) -> None:
    whole = played(api, Turn(calls=(("c1", "look", {}), ("c2", "look", {}))), stream=True)
    events = whole.body.split(b"\n\n")
    second = next(place for place, event in enumerate(events) if b'"c2"' in event)
    half = Raw(body=b"\n\n".join(events[:second]) + b"\n\n", content_type=whole.content_type)
    async with loopback(half, Turn("fine")) as server:
        engine = HttpEngine(api, Transport(server.url), retry=Retry(times=1, base=0))
        run = Orchestrator(engine, [look], ToolPolicy(early=True), model_name="some-model", dialect="plain")
        with pytest.raises(EngineError) as raised:
            await run.run("go", stream=True)
        await engine.close()
    assert (raised.value.code, len(server.requests)) == ("interrupted", 1)


async def test_a_call_that_waited_for_its_turn_does_not_begin_after_an_abort() -> None:
    ran: list[str] = []

    @tool
    async def put() -> str:
        """Puts."""
        ran.append("put")
        return "put"

    policy = ToolPolicy(on_error="abort", max_parallel=1)
    result = await orchestrator([calls(("peer", {}), ("put", {}))], [peer, put], policy).run("go")
    assert (result.status, ran) == ("failed", [])
    assert "was not begun" in told(result.conversation)[1]


async def test_calls_for_us_are_run_though_the_provider_paused() -> None:
    paused = Reply(calls(("look", {})).parts, FinishReason.PAUSED)
    result = await orchestrator([paused, "done"], [look]).run("go")
    assert [item.role for item in result.conversation] == ["user", "assistant", "tool", "assistant"]


async def test_an_early_call_is_not_taken_for_another_of_the_same_id() -> None:
    said = calls(("move", {}), ("look", {}), ids=("same", "same"))
    result = await orchestrator([said, "done"], [look, move], ToolPolicy(early=True)).run("go", stream=True)
    assert told(result.conversation) == ["moved", "here is empty"]


# ── records ──────────────────────────────────────────────────────────────────


async def test_a_record_tells_results_in_the_order_of_the_calls() -> None:
    events: list[AnyEvent] = []
    second = asyncio.Event()

    @tool
    async def slow() -> str:
        """Waits for the other."""
        await second.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Does not wait."""
        second.set()
        return "quick"

    run = orchestrator([calls(("slow", {}), ("quick", {})), "done"], [slow, quick], emit=events.append)
    result = await run.run("go")
    assert told(result.conversation) == ["slow", "quick"]
    assert conversation_of(events) == result.conversation


async def test_a_record_tells_images_histories_and_what_was_said_after_a_call_nobody_could_read() -> None:
    events: list[AnyEvent] = []
    picture = Media("image/png", data=b"png")
    earlier = await orchestrator([calls(("look", {})), "empty"], [look]).run("look!")
    broken = Reply((), FinishReason.MALFORMED_CALL)
    run = orchestrator([broken, "done"], [look], emit=events.append)
    result = await run.run(Message("user", user(picture).parts), history=earlier.conversation)
    assert conversation_of(events) == result.conversation


async def test_a_new_call_with_an_id_of_old_is_run_after_a_resume() -> None:
    ran: list[str] = []
    events: list[AnyEvent] = []

    @tool
    def send(to: str) -> str:
        """Sends."""
        ran.append(to)
        return "sent"

    await orchestrator([calls(("send", {"to": "Ann"})), "ok"], [send], emit=events.append).run("go")
    later = orchestrator([calls(("send", {"to": "Bea"})), "ok"], [send])
    result = await later.resume(events, prompt="again").result()
    assert (ran, told(result.conversation)) == (["Ann", "Bea"], ["sent", "sent"])


async def test_a_record_cut_anywhere_goes_on_to_the_same_end() -> None:
    events: list[AnyEvent] = []
    steps = [calls(("look", {}), ("move", {})), calls(("look", {"place": "there"})), "done"]
    whole = await orchestrator(steps, [look, move], emit=events.append).run("go")
    for length in range(2, len(events) + 1):
        recorded = events[:length]
        done = sum(1 for item in conversation_of(recorded) if isinstance(item, Reply))
        if done == 3:
            continue
        more: list[AnyEvent] = []
        result = await orchestrator(steps[done:], [look, move], emit=more.append).resume(recorded).result()
        assert (result.status, result.text) == (whole.status, whole.text)
        assert conversation_of([*recorded, *more]) == result.conversation
        assert accepted_everywhere(result.conversation)
        assert len({event.id for event in (*recorded, *more)}) == len(recorded) + len(more)


async def test_a_tool_that_had_to_be_called_and_was_is_not_required_again_after_a_resume() -> None:
    events: list[AnyEvent] = []
    policy = ToolPolicy(choice=ToolChoice("required"))
    await orchestrator([calls(("look", {})), "ok"], [look], policy, emit=events.append).run("go")
    cut = [event for event in events if not isinstance(event, ToolReturned)]
    answered = events[: len(cut) and [type(event) for event in events].index(ToolReturned) + 1]
    later = orchestrator(["ok"], [look], policy)
    await later.resume(answered).result()
    assert later.engine.requests[0].choice == ToolChoice()  # type: ignore[attr-defined]


async def test_approvals_given_later_one_by_one() -> None:
    ran: list[str] = []

    @tool(approval="always")
    def send(to: str) -> str:
        """Sends."""
        ran.append(to)
        return f"sent to {to}"

    events: list[AnyEvent] = []
    step = calls(("send", {"to": "Ann"}), ("look", {}), ("send", {"to": "Bea"}))
    first = await orchestrator([step], [send, look], approver=lambda _: LATER, emit=events.append).run("go")
    assert accepted_everywhere(first.conversation)
    again = orchestrator([], [send, look], approver=lambda _: LATER, emit=events.append)
    half = await again.resume(list(events), answers={"c3": Answer(allowed=True)}).result()
    assert (half.status, [call.id for call in half.waiting], ran) == ("waiting", ["c1"], ["Bea"])
    last = orchestrator(["done"], [send, look], emit=events.append)
    result = await last.resume(list(events), answers={"c1": Answer(allowed=True)}).result()
    assert (result.status, ran) == ("completed", ["Bea", "Ann"])
    assert conversation_of(events) == result.conversation
    assert told(result.conversation) == ["sent to Ann", "here is empty", "sent to Bea"]
    assert accepted_everywhere(result.conversation)


@pytest.mark.parametrize(
    "limits, limit",
    [({"max_iterations": 3}, "iterations"), ({"max_tokens": 40}, "tokens"), ({"max_cost": 0.00004}, "cost")],
)
async def test_a_run_that_is_resumed_counts_what_it_has_used_so_far(limits: dict[str, Any], limit: str) -> None:
    """Each process approves one call; without the count of the earlier ones it would go on for ever."""

    @tool(approval="always")
    def send(to: str) -> str:
        """Sends."""
        return "sent"

    events: list[AnyEvent] = []
    prices = (Price(model="*", input=Decimal(1), output=Decimal(1)),)
    policy = ToolPolicy(**limits)

    def process() -> Orchestrator:
        step = msgspec.structs.replace(calls(("send", {"to": "Ann"})), usage=Usage(input_tokens=10, output_tokens=5))
        return orchestrator([step], [send], policy, approver=lambda _: LATER, emit=events.append, prices=prices)

    result = await process().run("go")
    for _ in range(10):
        if result.status != "waiting":
            break
        result = await process().resume(list(events), answers={"c1": Answer(allowed=True)}).result()
    assert result.status == "limited"
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == limit
    assert len([event for event in events if isinstance(event, ModelAsked)]) == 3
    # To continue after that, or with something new to do, is a decision of whoever does so.
    assert (await process().resume(list(events)).result()).status == "waiting"
    assert (await process().resume(list(events), prompt="and now").result()).status == "waiting"


async def test_an_answer_is_not_taken_for_a_later_call_of_the_same_id() -> None:
    ran: list[str] = []
    events: list[AnyEvent] = []

    @tool(approval="always")
    def send(to: str) -> str:
        """Sends."""
        ran.append(to)
        return "sent"

    waiting = orchestrator([calls(("send", {"to": "Ann"}))], [send], approver=lambda _: LATER, emit=events.append)
    await waiting.run("go")
    later = orchestrator([calls(("send", {"to": "Eve"})), "ok"], [send])
    result = await later.resume(events, answers={"c1": Answer(allowed=True)}).result()
    assert ran == ["Ann"]
    assert "not allowed" in told(result.conversation)[1]


# ── hooks ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("which", ["before", "mask", "after", "should_retry", "remind"])
@pytest.mark.parametrize("waits", [False, True])
async def test_a_hook_that_raises_ends_the_run_and_leaves_a_history_that_can_be_sent(which: str, waits: bool) -> None:
    def hook(*_: Any) -> Any:
        raise LookupError("a mistake of the hook's")

    async def waiting(*_: Any) -> Any:
        await asyncio.sleep(0)
        raise LookupError("a mistake of the hook's")

    policy = ToolPolicy(on_error="retry", retry=Retry(times=1, base=0))
    run = orchestrator(
        [calls(("peer", {}), ("look", {}))], [look, peer], policy, hooks=Hooks(**{which: waiting if waits else hook})
    )
    running = run.start("go")
    before = asyncio.all_tasks()
    with pytest.raises(LookupError):
        await running.result()
    assert asyncio.all_tasks() == before
    assert accepted_everywhere(running.conversation)


@pytest.mark.parametrize("empty", [False, True])
async def test_a_reminder_follows_the_results_of_calls_that_did_not_fail_and_is_recorded(empty: bool) -> None:
    asked: list[list[str]] = []

    async def remind(made: Sequence[Call], conversation: Conversation) -> str | None:
        asked.append([call.id for call in made])
        assert conversation[-1].role == "tool"
        return "Mind the step." if len(asked) == 1 else None

    events: list[AnyEvent] = []
    first = calls(("look", {}), ("peer", {}))
    steps = [first, *([Reply((), FinishReason.STOP)] if empty else []), calls(("peer", {})), "ok"]
    run = orchestrator(steps, [look, peer], hooks=Hooks(remind=remind), emit=events.append)
    result = await run.run("go")
    assert (result.status, asked) == ("completed", [["c1"]])
    assert [item.role for item in result.conversation][:4] == ["user", "assistant", "tool", "user"]
    reminders = [event.text for event in events if isinstance(event, UserSaid) and event.by == "client"]
    assert reminders == ["Mind the step.", *([EMPTY] if empty else [])]
    assert conversation_of(events) == result.conversation
    assert accepted_everywhere(result.conversation)


async def test_a_mask_may_be_async() -> None:
    async def mask(call: Call) -> Call:
        return Call(call.id, (), NativeCall(call.id, call.native.name, {"place": "***"}))

    events: list[AnyEvent] = []
    run = orchestrator([calls(("look", {"place": "home"})), "ok"], [look], hooks=Hooks(mask=mask), emit=events.append)
    await run.run("go")
    called = [event.call.native.arguments for event in events if isinstance(event, ToolCalled)]
    assert called == [{"place": "***"}]


async def test_what_a_mask_hides_is_nowhere_in_the_record_and_is_not_run_from_it() -> None:
    ran: list[str] = []

    @tool(approval="always")
    def log_in(password: str) -> str:
        """Logs in."""
        ran.append(password)
        return "in"

    def mask(call: Call) -> Call:
        return Call(call.id, (), NativeCall(call.id, call.native.name, {"password": "***"}))

    events: list[AnyEvent] = []
    step = calls(("log_in", {"password": "hunter2"}))
    hooks = Hooks(mask=mask)
    await orchestrator([step, "ok"], [log_in], hooks=hooks, approver=lambda _: True, emit=events.append).run("go")
    assert ran == ["hunter2"]
    assert "hunter2" not in str(events)
    events.clear()
    await orchestrator([step], [log_in], hooks=hooks, approver=lambda _: LATER, emit=events.append).run("go")
    later = orchestrator(["sorry"], [log_in], approver=lambda _: True)
    result = await later.resume(events, answers={"c1": Answer(allowed=True)}).result()
    assert ran == ["hunter2"]
    assert "Make it again" in told(result.conversation)[0]


async def test_a_rule_holds_for_what_a_hook_made_of_a_call() -> None:
    ran: list[str] = []

    @tool
    def send(to: str) -> str:
        """Sends."""
        ran.append(to)
        return "sent"

    def before(call: Call) -> Call:
        return Call(call.id, (op.CallFunction("send", {"path": "secret", "to": "Eve"}),), call.native)

    policy = ToolPolicy(approval=(Approval("deny", path="secret"),))
    run = orchestrator([calls(("send", {"to": "Ann"})), "ok"], [send], policy, hooks=Hooks(before=before))
    result = await run.run("go")
    assert (ran, "not allowed" in told(result.conversation)[0]) == ([], True)


# ── rules and limits ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["secret/key", "./secret/key", "other/../secret/key", "secret//key", "ABSOLUTE"])
async def test_a_rule_about_a_path_holds_however_the_path_is_written(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "secret" / "key").write_text("k")
    said = str(tmp_path / "secret" / "key") if path == "ABSOLUTE" else path
    policy = ToolPolicy(approval=(Approval("deny", path="secret/*"),))
    run = orchestrator(
        [calls(("Read", {"file_path": said})), "ok"],
        [TOOLS["read_file"]],
        policy,
        dialect="claude_code",
        workspace=DiskWorkspace(tmp_path),
    )
    result = await run.run("go")
    assert "not allowed" in told(result.conversation)[0]


async def test_the_longest_result_of_a_tool_is_named_as_the_caller_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 5000)
    policy = ToolPolicy(results={"read_file": 100})
    run = orchestrator(
        [calls(("Read", {"file_path": "a.txt"})), "ok"],
        [TOOLS["read_file"]],
        policy,
        dialect="claude_code",
        workspace=DiskWorkspace(tmp_path),
    )
    assert "characters left out" in told((await run.run("go")).conversation)[0]
    with pytest.raises(ValueError, match="results"):
        ToolPolicy(results={"read_file": 0})


async def test_tokens_nobody_counted_do_not_pass_a_budget_unseen() -> None:
    result = await orchestrator([calls(("look", {}))], [look], ToolPolicy(max_tokens=1000)).run("go")
    assert result.status == "limited"
    assert "the provider did not report how many were used" in str(result.error)


async def test_allowed_holds_for_tools_given_with_a_run_and_for_what_a_policy_adds() -> None:
    policy = ToolPolicy(allowed=("look",), where={"search_web": "local"})
    run = orchestrator(["ok"], [look, move], policy)
    await run.run("go", provider_tools=[ProviderTool("anthropic.web_search_20250305")])
    assert [one.name for one in run.engine.requests[0].definitions] == ["look"]  # type: ignore[attr-defined]


async def test_a_call_that_was_begun_is_not_made_again_in_another_models_words(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    events: list[AnyEvent] = []
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one two\n+1 2\n*** Add File: b.txt\n+b\n*** End Patch\n"
    tools = [TOOLS["edit_file"], TOOLS["write_file"], TOOLS["read_file"]]
    first = Reply((CallPart(NativeCall("c1", "apply_patch", patch)),), FinishReason.CALLS)
    workspace = DiskWorkspace(tmp_path)
    before = orchestrator([first, "ok"], tools, dialect="codex", workspace=workspace, emit=events.append)
    await before.run("go")
    cut = events[: [type(event) for event in events].index(ToolCalled) + 1]
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "b.txt").unlink()
    later = orchestrator(["looked"], tools, dialect="claude_code", workspace=workspace)
    result = await later.resume(cut).result()
    assert (tmp_path / "a.txt").read_text() == "one two"
    assert all("not known" in str(one) for one in told(result.conversation))


SUBSET = ToolChoice("subset", ("look", "move"))


@pytest.mark.parametrize("api", sorted(PATHS))
@pytest.mark.parametrize("choice", [SUBSET, ToolChoice("subset", ("look", "move"), required=True), ToolChoice("none")])
@pytest.mark.parametrize("early", [False, True])
async def test_tools_that_are_not_to_be_called_are_not_run_on_any_api(
    api: str, choice: ToolChoice, early: bool
) -> None:
    turns = (Turn(calls=(("c1", "peer", {}), ("c2", "look", {}))), Turn("ok"))
    async with loopback(*turns) as server:
        engine = HttpEngine(api, Transport(server.url))
        policy = ToolPolicy(choice=choice, early=early)
        run = Orchestrator(engine, [look, peer, move], policy, model_name="some-model", dialect="plain")
        result = await run.run("go", stream=early)
        await engine.close()
    first, second = told(result.conversation)
    assert "may not be called" in first
    assert (second == "here is empty") is (choice.mode == "subset")
    sent = server.requests[0].body
    native = "subset" in engine.features("some-model").choices
    assert ('"peer"' in json.dumps(sent["tools"])) is (native or choice.mode == "none")
    if choice.required:
        assert any(word in json.dumps(sent) for word in ('"any"', '"required"', '"ANY"'))


@pytest.mark.parametrize("model, native", [("gemini-2.5-pro", False), ("gemini-3-pro-preview", True)])
def test_a_model_that_takes_no_functions_beside_its_providers_tools_searches_here(model: str, native: bool) -> None:
    engine = HttpEngine("gemini_generate", Transport("http://127.0.0.1:1"), provider="gemini")
    policy = ToolPolicy(where={"search_web": "auto"})
    body = Orchestrator(engine, [look], policy, model_name=model).prepare("hi").encoded.body  # type: ignore[union-attr]
    assert ("googleSearch" in str(body["tools"])) is native
    alone = Orchestrator(engine, [], policy, model_name=model).prepare("hi").encoded.body  # type: ignore[union-attr]
    assert "googleSearch" in str(alone["tools"])


@pytest.mark.parametrize("api", sorted(PATHS))
async def test_what_does_not_travel_to_another_model_is_noted(api: str) -> None:
    elsewhere = Provenance(api="other_api", provider="other", model="other-model")
    said = Reply((ThinkingPart("hm", signature="s"), TextPart("hello")), FinishReason.STOP, provenance=elsewhere)
    async with loopback(Turn("ok")) as server:
        engine = HttpEngine(api, Transport(server.url))
        run = Orchestrator(engine, [], model_name="some-model")
        result = await run.run("and now?", history=(user("hi"), said))
        await engine.close()
    assert [note.message for note in result.notes if "thinking" in note.message]


def test_a_section_changes_of_a_table_only_what_it_names() -> None:
    general = {"retry": {"times": 5, "base": 3.0}, "where": {"search_web": "local"}, "results": {"look": 10}}
    special = {"retry": {"base": 0.5}, "where": {"fetch_page": "auto"}}
    assert ToolPolicy.read(general, special) == ToolPolicy(
        retry=Retry(times=5, base=0.5),
        where={"search_web": "local", "fetch_page": "auto"},
        results={"look": 10},
    )


# ── threads, loops, iteration ────────────────────────────────────────────────


async def test_progress_told_from_a_thread_arrives_in_the_loops_own() -> None:
    heard: list[tuple[str, bool]] = []
    here = threading.get_ident()

    @tool
    def work(context: Context) -> str:
        """Works in a thread."""
        context.progress("half", fraction=0.5)
        return "done"

    def emit(event: AnyEvent) -> None:
        heard.append((type(event).__name__, threading.get_ident() == here))

    await orchestrator([calls(("work", {})), "ok"], [work], emit=emit).run("go")
    assert all(mine for _, mine in heard)
    names = [name for name, _ in heard]
    assert names.index("ToolCalled") < names.index(ToolProgressed.__name__) < names.index("ToolReturned")


async def test_run_sync_inside_a_loop_says_what_to_write_instead() -> None:
    with pytest.raises(ConfigError, match="await"):
        orchestrator(["hi"], []).run_sync("go")


async def test_the_result_of_a_run_that_was_iterated_is_that_of_the_same_run() -> None:
    run = orchestrator([calls(("look", {})), "done"], [look])
    running = run.start("go")
    items = [item async for item in running]
    result = await running.result()
    assert items
    assert (result.text, await running.result()) == ("done", result)


async def test_leaving_a_stream_has_ended_the_run_when_it_is_closed() -> None:
    began, stopped = asyncio.Event(), list[str]()

    @tool
    async def hang() -> str:
        """Hangs."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("hang")
        return ""

    stream = orchestrator([calls(("hang", {}))], [hang]).stream("go")
    async for item in stream:
        if isinstance(item, ToolCalled):
            break
    await began.wait()
    await stream.aclose()  # type: ignore[attr-defined]
    assert stopped == ["hang"]


async def test_a_run_cancelled_at_any_await_leaves_a_history_that_can_be_sent_and_no_task() -> None:
    async def yielding(*_: Any) -> None:
        await asyncio.sleep(0)

    async def approve(_: Any) -> bool:
        await asyncio.sleep(0)
        return True

    policy = ToolPolicy(default="ask", early=True, on_error="retry", retry=Retry(times=1, base=0))
    for moment in range(0, 160, 2):
        events: list[AnyEvent] = []
        engine = Slow([calls(("look", {}), ("move", {}), ("peer", {})), calls(("look", {})), "done"])
        hooks = Hooks(before=yielding, after=yielding)
        run = Orchestrator(
            engine,
            [look, move, peer],
            policy,
            model_name="m",
            dialect="plain",
            approver=approve,
            hooks=hooks,
            pause=yielding,
            emit=events.append,
        )
        running = run.start("go", stream=True)
        before = asyncio.all_tasks()
        task = asyncio.ensure_future(running.result())
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert asyncio.all_tasks() == before
        assert accepted_everywhere(running.conversation)
        assert type(events[-1]).__name__ == "SessionEnded" if events else moment == 0
        recorded = conversation_of(events)  # it may know the result of an early call that was still to be told
        assert recorded[: len(running.conversation)] == running.conversation or not events
    assert not task.cancelled()  # the last one came too late: the run was done


def test_a_process_that_was_forked_runs_plain_functions() -> None:
    async def one() -> int:
        return int(await in_thread(lambda: 7))

    assert asyncio.run(one()) == 7
    child = os.fork()
    if child == 0:

        async def bounded() -> int:
            return await asyncio.wait_for(one(), 60)

        try:
            os._exit(asyncio.run(bounded()))
        except BaseException:  # noqa: BLE001 - a child must not go on with its parent's tests
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
