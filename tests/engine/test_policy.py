"""Every knob of a run's policy, each with a test that fails when the knob is ignored."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.config import Price
from dragoman.engine import (
    LATER,
    Answer,
    Approval,
    Hooks,
    Orchestrator,
    Question,
    Retry,
    RunResult,
    ScriptedEngine,
    ToolPolicy,
)
from dragoman.errors import ConfigError, EngineError, LimitReached
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    ExecutedBy,
    Failure,
    FinishReason,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    Request,
    Result,
    ResultPart,
    TextPart,
    ToolCalled,
    ToolChoice,
    ToolProgressed,
    ToolReturned,
    Usage,
    operations as op,
    user,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, Tool, Toolset, tool


def calls(*said: tuple[str, dict[str, Any]], usage: Usage = Usage(), first: int = 1) -> Reply:  # noqa: B008 - frozen
    parts = tuple(CallPart(NativeCall(f"c{number}", *one)) for number, one in enumerate(said, first))
    return Reply(parts, FinishReason.CALLS, usage=usage)


def results(result: RunResult) -> list[Any]:
    return [
        part.result.content
        for item in result.conversation
        if isinstance(item, Message)
        for part in item.parts
        if isinstance(part, ResultPart)
    ]


def failures(events: list[AnyEvent]) -> list[str]:
    found = [outcome for event in events if isinstance(event, ToolReturned) for outcome in event.result.outcomes]
    return [outcome.kind for outcome in found if isinstance(outcome, Failure)]


USUAL = ToolPolicy()


async def run(tools: Any, *steps: Any, policy: ToolPolicy = USUAL, **options: Any) -> tuple[RunResult, ScriptedEngine]:
    with ScriptedEngine(steps) as engine:
        orchestrator = Orchestrator(engine, tools, policy, model_name="some-model", dialect="plain", **options)
        return await orchestrator.run("go"), engine


@tool(repeatable=True, kind="read", timeout=60)  # in time however short the policy's limit is, and busy the machine
async def look(place: str = "here") -> str:
    """Looks somewhere."""
    return f"{place} is empty"


# ── what is offered ──────────────────────────────────────────────────────────


async def test_enabled() -> None:
    _, engine = await run([look], "done", policy=ToolPolicy(enabled=False))
    assert engine.requests[0].definitions == ()
    _, engine = await run([look], calls(("look", {})), "done", policy=ToolPolicy(enabled=False))
    assert (
        "No such tool" in str(engine.requests[1])
        or "not allowed" in str(engine.requests[1])
        or "no tool" in str(engine.requests[1])
    )


async def test_allowed() -> None:
    @tool
    def remove() -> str:
        """Removes everything."""
        raise AssertionError("it ran")

    result, engine = await run([look, remove], calls(("remove", {})), "ok", policy=ToolPolicy(allowed=("lo*",)))
    assert [definition.name for definition in engine.requests[0].definitions] == ["look"]
    assert "remove" in results(result)[0]


@pytest.mark.parametrize("parallel", [None, False, True])
async def test_parallel(parallel: bool | None) -> None:
    _, engine = await run([look], "ok", policy=ToolPolicy(parallel=parallel))
    assert engine.requests[0].parallel is parallel


@pytest.mark.parametrize(
    "choice, then",
    [
        (ToolChoice("required"), ToolChoice()),
        (ToolChoice("one", ("look",)), ToolChoice()),
        (ToolChoice("none"), ToolChoice("none")),
        (ToolChoice("subset", ("look",), required=True), ToolChoice("subset", ("look",))),
    ],
)
async def test_choice_and_its_guard(choice: ToolChoice, then: ToolChoice) -> None:
    _, engine = await run([look], calls(("look", {})), "ok", policy=ToolPolicy(choice=choice))
    assert [request.choice for request in engine.requests] == [choice, then]


async def test_a_choice_of_a_tool_that_is_not_offered_is_refused() -> None:
    with pytest.raises(Exception, match='Did you mean "look"'):
        await run([look], policy=ToolPolicy(choice=ToolChoice("one", ("lok",))))


# ── how long, how often, how many ────────────────────────────────────────────


async def test_max_iterations() -> None:
    steps = [calls(("look", {}), first=number) for number in range(3)]
    result, engine = await run([look], *steps, policy=ToolPolicy(max_iterations=3))
    assert (result.status, result.rounds, len(engine.requests)) == ("limited", 3, 3)
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == "iterations"
    assert len(results(result)) == 3
    assert ToolPolicy().max_iterations == 20


async def test_timeout() -> None:
    stopped: list[str] = []

    @tool
    async def hang() -> None:
        """Never ends."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("hang")

    @tool(timeout=0.02)
    async def hang_less() -> None:
        """Never ends, but says so."""
        await asyncio.Event().wait()

    events: list[AnyEvent] = []
    tools = [hang, hang_less, look]
    policy = ToolPolicy(timeout=0.05)
    said = calls(("hang", {}), ("hang_less", {}), ("look", {}))
    result, _ = await run(tools, said, "ok", policy=policy, emit=events.append)
    assert failures(events) == ["timed_out", "timed_out"]
    assert stopped == ["hang"]
    assert results(result)[2] == "here is empty"
    assert ToolPolicy().timeout == 30


async def test_a_tools_own_limit_stands_before_the_policys() -> None:
    @tool(timeout=0.02)
    async def hang() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    result, _ = await run([hang], calls(("hang", {})), "ok", policy=ToolPolicy(timeout=0.05))
    assert "stopped after 0.02 seconds" in results(result)[0]


async def test_the_time_that_a_person_takes_to_answer_does_not_count() -> None:
    @tool(timeout=0.05)
    async def ask(context: Context) -> str:
        """Asks somebody who takes a while, twice, and at the same time."""
        with context.waiting_for_user(), context.waiting_for_user():
            await asyncio.sleep(0.3)
        return f"answered after {context.user_seconds > 0.25}"

    @tool(timeout=0.05)
    async def dawdle(context: Context) -> None:
        """Has its answer, and does not end."""
        with context.waiting_for_user():
            await asyncio.sleep(0.1)
        await asyncio.Event().wait()

    result, _ = await run([ask, dawdle], calls(("ask", {}), ("dawdle", {})), "ok", policy=ToolPolicy(timeout=9))
    assert results(result)[0] == "answered after True"
    assert "stopped after 0.05 seconds" in results(result)[1]


async def test_a_plain_function_that_hangs_is_left_behind_and_told_so() -> None:
    told = threading.Event()
    release = threading.Event()

    @tool
    def hang(context: Context) -> None:
        """Never ends."""
        release.wait(60)
        if context.cancellation.cancelled:
            told.set()

    events: list[AnyEvent] = []
    said = calls(*[("hang", {})] * 40, ("look", {}))
    result, _ = await run(
        [hang, look], said, "ok", policy=ToolPolicy(timeout=0.05, max_parallel=50), emit=events.append
    )
    assert failures(events) == ["timed_out"] * 40
    assert results(result)[-1] == "here is empty"
    release.set()
    assert told.wait(60)


async def test_max_parallel() -> None:
    running, most = 0, 0

    @tool
    async def busy() -> None:
        """Takes a moment."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    for limit in (1, 3):
        running = most = 0
        await run([busy], calls(*[("busy", {})] * 7), "ok", policy=ToolPolicy(max_parallel=limit))
        assert most == limit
    assert ToolPolicy().max_parallel == 3


async def test_sequential_tools_run_alone_and_results_come_in_the_order_of_the_calls() -> None:
    log: list[str] = []

    @tool(sequential=True)
    async def alone(name: str) -> str:
        """Runs by itself."""
        log.append(f"{name} begins")
        await asyncio.sleep(0)
        log.append(f"{name} ends")
        return name

    @tool
    async def beside(name: str, turns: int) -> str:
        """Runs beside others."""
        log.append(f"{name} begins")
        for _ in range(turns):
            await asyncio.sleep(0)
        log.append(f"{name} ends")
        return name

    said = calls(
        ("beside", {"name": "a", "turns": 9}),
        ("beside", {"name": "b", "turns": 1}),
        ("alone", {"name": "c"}),
        ("beside", {"name": "d", "turns": 1}),
    )
    result, _ = await run([alone, beside], said, "ok")
    assert results(result) == ["a", "b", "c", "d"]
    assert log == ["a begins", "b begins", "b ends", "a ends", "c begins", "c ends", "d begins", "d ends"]


async def test_sync_tools_run_beside_the_loop_and_keep_context_variables() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    name.set("mine")
    barrier = threading.Barrier(3, timeout=60)

    @tool
    def meet() -> str:
        """Waits for two others."""
        barrier.wait()
        return name.get()

    result, _ = await run([meet], calls(*[("meet", {})] * 3), "ok")
    assert results(result) == ["mine"] * 3


# ── what an error leads to ───────────────────────────────────────────────────


def flaky(times: int, *, repeatable: bool) -> tuple[Tool, list[int]]:
    tried: list[int] = []

    @tool(repeatable=repeatable)
    async def flake() -> str:
        """Fails at first."""
        tried.append(len(tried))
        if len(tried) <= times:
            raise OSError("not now")
        return "at last"

    return flake, tried


@pytest.mark.parametrize(
    "on_error, repeatable, tries", [("continue", True, 1), ("retry", False, 1), ("retry", True, 3)]
)
async def test_on_error_continue_and_retry(on_error: Any, repeatable: bool, tries: int) -> None:
    flake, tried = flaky(2, repeatable=repeatable)
    events: list[AnyEvent] = []
    policy = ToolPolicy(on_error=on_error, retry=Retry(base=0))
    result, _ = await run([flake], calls(("flake", {})), "ok", policy=policy, emit=events.append)
    assert len(tried) == tries
    assert results(result) == (["at last"] if tries == 3 else [results(result)[0]])
    returned = [event.result for event in events if isinstance(event, ToolReturned)]
    assert returned[0].retries == tries - 1
    assert result.status == "completed"


async def test_how_often_is_tried_again() -> None:
    flake, tried = flaky(9, repeatable=True)
    policy = ToolPolicy(on_error="retry", retry=Retry(times=1, base=0))
    await run([flake], calls(("flake", {})), "ok", policy=policy)
    assert len(tried) == 2
    assert ToolPolicy().retry.times == 2


def test_waits_grow_by_the_factor_with_some_chance_and_an_end() -> None:
    retry = Retry(base=1, factor=2, jitter=0.5, longest=3)
    assert [retry.wait(attempt, chance=0.5) for attempt in (1, 2, 3)] == [1, 2, 3]
    assert (retry.wait(1, chance=0), retry.wait(1, chance=1)) == (0.5, 1.5)
    assert (retry.wait(1, asked=2.5), retry.wait(1, asked=99)) == (2.5, 3)
    assert (Retry().base, Retry().factor) == (1, 2)
    with pytest.raises(ValueError, match="times ≥ 0"):
        Retry(times=-1)


async def test_base_and_factor_say_how_long_is_waited_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    flake, _ = flaky(2, repeatable=True)
    policy = ToolPolicy(on_error="retry", retry=Retry(base=0.5, factor=3, jitter=0))
    await run([flake], calls(("flake", {})), "ok", policy=policy)
    assert waited == [0.5, 1.5]


async def test_mistakes_in_arguments_are_not_tried_again() -> None:
    policy = ToolPolicy(on_error="retry", retry=Retry(base=60))
    result, _ = await run([look], calls(("look", {"place": [1]})), "ok", policy=policy)
    assert "place" in results(result)[0]


async def test_on_error_abort_ends_the_run_and_keeps_what_succeeded() -> None:
    stopped: list[bool] = []

    @tool
    async def boom() -> None:
        """Fails."""
        raise ValueError("boom")

    @tool
    async def hang() -> None:
        """Never ends."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    said = calls(("look", {}), ("hang", {}), ("boom", {}))
    result, engine = await run([look, hang, boom], said, policy=ToolPolicy(on_error="abort"))
    assert (result.status, len(engine.requests)) == ("failed", 1)
    assert isinstance(result.error, Failure)
    assert "boom" in result.error.message
    assert stopped == [True]
    assert results(result)[0] == "here is empty"
    assert len(results(result)) == 3


# ── budgets ──────────────────────────────────────────────────────────────────

MUCH = Usage(input_tokens=900, output_tokens=200)


async def test_max_tokens() -> None:
    result, _ = await run([look], calls(("look", {}), usage=MUCH), policy=ToolPolicy(max_tokens=1000))
    assert isinstance(result.error, LimitReached)
    assert (result.status, result.error.limit) == ("limited", "tokens")
    result, _ = await run([look], calls(("look", {}), usage=MUCH), "ok", policy=ToolPolicy(max_tokens=1200))
    assert result.status == "completed"


async def test_tokens_that_nobody_counted_end_a_run_that_may_use_only_so_many() -> None:
    result, engine = await run([look], calls(("look", {})), policy=ToolPolicy(max_tokens=1000))
    assert (result.status, len(engine.requests)) == ("limited", 1)
    assert "the provider did not report how many" in str(result.error)


def priced(*said: tuple[str, dict[str, Any]], model: str) -> Reply:
    return Reply(calls(*said).parts, FinishReason.CALLS, usage=MUCH, provenance=Provenance(model=model))


async def test_max_cost() -> None:
    step = priced(("look", {}), model="claude-sonnet-4-5")
    result, _ = await costing(step, most=0.001)
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == "cost"
    assert result.cost == pytest.approx(900 * 3e-6 + 200 * 15e-6)
    last = Reply((TextPart("ok"),), FinishReason.STOP, usage=MUCH, provenance=Provenance(model="claude-sonnet-4-5"))
    result, _ = await costing(step, last, most=1)
    assert result.status == "completed"
    # What is asked for has a price; what answers in its place has none.
    result, _ = await costing(priced(("look", {}), model="unheard-of"), most=1)
    assert "not known" in str(result.error)


async def costing(*steps: Any, most: float) -> tuple[RunResult, ScriptedEngine]:
    with ScriptedEngine(steps) as engine:
        run = Orchestrator(engine, [look], ToolPolicy(max_cost=most), model_name="claude-sonnet-4-5", dialect="plain")
        return await run.run("go"), engine


async def test_a_cost_that_nobody_can_reckon_is_refused_before_anything_is_asked() -> None:
    engine = ScriptedEngine(["never"])
    limited = ToolPolicy(max_cost=1)
    with pytest.raises(ConfigError, match=r"what some-model costs is not known: give its price .*\[\[prices\]\]"):
        await Orchestrator(engine, [look], limited, model_name="some-model", dialect="plain").run("go")
    assert engine.requests == []
    own = Price(model="some-model", input=Decimal(1), output=Decimal(2))
    run = Orchestrator(ScriptedEngine(["ok"]), [look], limited, model_name="some-model", dialect="plain", prices=[own])
    assert (await run.run("go")).text == "ok"


# ── what the model is told ───────────────────────────────────────────────────


async def test_max_result_and_results() -> None:
    @tool
    def long() -> str:
        """Talks a lot."""
        return "a" * 50 + "z" * 50

    result, _ = await run([long], calls(("long", {})), "ok", policy=ToolPolicy(max_result=30))
    told = results(result)[0]
    assert told.startswith("a" * 20 + "\n[… 70 characters left out")
    assert told.endswith("z" * 10)
    result, _ = await run([long], calls(("long", {})), "ok", policy=ToolPolicy(max_result=30, results={"long": 200}))
    assert len(results(result)[0]) == 100
    result, _ = await run([long], calls(("long", {})), "ok", policy=ToolPolicy(max_result=None))
    assert len(results(result)[0]) == 100


async def test_max_repairs() -> None:
    broken = Reply((), FinishReason.MALFORMED_CALL, "MALFORMED_FUNCTION_CALL")
    result, engine = await run([look], broken, broken, "ok", policy=ToolPolicy(max_repairs=2))
    assert (result.text, len(engine.requests)) == ("ok", 3)
    assert "could not be read" in str(engine.requests[1].conversation[-1])
    result, engine = await run([look], broken, policy=ToolPolicy(max_repairs=0))
    assert (result.finish, result.status) == (FinishReason.MALFORMED_CALL, "completed")


async def test_a_pause_of_the_provider_is_gone_on_from() -> None:
    paused = Reply((TextPart("wait"),), FinishReason.PAUSED)
    result, engine = await run([], paused, "ok")
    assert result.text == "ok"
    assert engine.requests[1].conversation[-1].text == "wait"


async def test_an_empty_reply_is_an_end_and_not_a_reason_to_ask_again() -> None:
    result, _ = await run([look], Reply((), FinishReason.STOP))
    assert (result.status, result.text) == ("completed", "")


@pytest.mark.parametrize("finish", [FinishReason.REFUSED, FinishReason.FILTERED, FinishReason.CONTEXT_EXCEEDED])
async def test_reasons_that_end_a_run(finish: FinishReason) -> None:
    result, _ = await run([look], Reply(calls(("look", {})).parts, finish))
    assert (result.status, result.finish, results(result)) == ("completed", finish, [])


# ── starting early ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("early", [False, True])
async def test_early(early: bool) -> None:
    order: list[str] = []

    @tool(repeatable=True, kind="read")
    async def peek() -> str:
        """Reads."""
        order.append("peek")
        return "seen"

    @tool
    async def poke() -> str:
        """Writes."""
        order.append("poke")
        return "done"

    class Slow(ScriptedEngine):
        async def ask(self, request: Request, observe: Any = None) -> Reply:
            reply = await super().ask(request, observe)
            for _ in range(5):
                await asyncio.sleep(0)
            order.append("reply ended")
            return reply

    engine = Slow([calls(("peek", {}), ("poke", {})), "ok"])
    orchestrator = Orchestrator(engine, [peek, poke], ToolPolicy(early=early), model_name="m", dialect="plain")
    result = await orchestrator.run("go", stream=True)
    assert order[:3] == (["peek", "reply ended", "poke"] if early else ["reply ended", "peek", "poke"])
    assert results(result) == ["seen", "done"]


# ── hooks ────────────────────────────────────────────────────────────────────


async def test_before_rewrites_or_rejects() -> None:
    def elsewhere(call: Call) -> Call | None:
        return Call(call.id, (op.CallFunction("look", {"place": "there"}),), call.native)

    result, _ = await run([look], calls(("look", {})), "ok", hooks=Hooks(before=elsewhere))
    assert results(result) == ["there is empty"]

    async def never(call: Call) -> Failure:
        return Failure("denied", "not today")

    result, _ = await run([look], calls(("look", {})), "ok", hooks=Hooks(before=never))
    assert "not today" in results(result)[0]

    def unknown(call: Call) -> Call:
        return Call(call.id, (op.CallFunction("no_such_tool", {}),), call.native)

    result, _ = await run([look], calls(("look", {})), "ok", hooks=Hooks(before=unknown))
    assert "no_such_tool" in results(result)[0]


async def test_mask_hides_arguments_from_events_and_not_from_the_tool() -> None:
    def mask(call: Call) -> Call:
        hidden = NativeCall(call.id, call.native.name, {"place": "***"})
        return Call(call.id, (op.CallFunction("look", {"place": "***"}),), hidden)

    events: list[AnyEvent] = []
    result, _ = await run([look], calls(("look", {"place": "home"})), "ok", hooks=Hooks(mask=mask), emit=events.append)
    assert results(result) == ["home is empty"]
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert called[0].call.native.arguments == {"place": "***"}


async def test_after_changes_the_result() -> None:
    async def after(call: Call, result: Result) -> Result:
        from dragoman.model import TextOutcome

        return Result(result.call_id, (TextOutcome("changed"),))

    result, _ = await run([look], calls(("look", {})), "ok", hooks=Hooks(after=after))
    assert results(result) == ["changed"]


async def test_should_retry_has_the_last_word() -> None:
    flake, tried = flaky(9, repeatable=True)
    policy = ToolPolicy(on_error="retry", retry=Retry(times=5, base=0))
    hooks = Hooks(should_retry=lambda call, failure, attempt: attempt < 2)
    await run([flake], calls(("flake", {})), "ok", policy=policy, hooks=hooks)
    assert len(tried) == 2


async def test_step_mode_pauses_between_rounds_and_may_stop() -> None:
    paused: list[int] = []

    async def pause(running: Any) -> bool:
        paused.append(len(running.conversation))
        return len(paused) < 3

    result, engine = await run([look], calls(("look", {})), pause=pause)
    assert (result.status, paused, len(engine.requests)) == ("stopped", [1, 2, 3], 1)


# ── approvals ────────────────────────────────────────────────────────────────

FILES = Toolset([TOOLS["read_file"], TOOLS["write_file"], TOOLS["run_command"]])


async def work(policy: ToolPolicy, name: str, arguments: dict[str, Any], **options: Any) -> tuple[Any, list[AnyEvent]]:
    events: list[AnyEvent] = []
    workspace = MemoryWorkspace({"a.txt": "text", "secret/key": "k"})
    step = calls((name, arguments))
    result, _ = await run(FILES, step, "ok", policy=policy, workspace=workspace, emit=events.append, **options)
    return results(result)[0], events


@pytest.mark.parametrize(
    "rule",
    [
        Approval("deny", kind="read"),
        Approval("deny", operation="read_*"),
        Approval("deny", tool="read_file"),
        Approval("deny", path="secret/*"),
        Approval("deny", kind="read", path="secret/*"),
    ],
)
async def test_rules_of_approval(rule: Approval) -> None:
    _, events = await work(ToolPolicy(approval=(rule,)), "read_file", {"path": "secret/key"})
    assert failures(events) == ["denied"]
    called = next(event for event in events if isinstance(event, ToolCalled))
    assert called.decision is not None
    assert called.decision.verdict == "denied"
    assert called.decision.rule is not None
    assert called.decision.rule.startswith("rule 1")


async def test_rules_that_do_not_fit_and_the_first_that_does() -> None:
    rules = (Approval("allow", path="*.txt"), Approval("deny", kind="write"))
    _, events = await work(ToolPolicy(approval=rules, default="deny"), "read_file", {"path": "a.txt"})
    assert failures(events) == []
    _, events = await work(ToolPolicy(approval=(Approval("deny", command="rm *"),)), "run_command", {"command": "rm x"})
    assert failures(events) == ["denied"]


async def test_the_default_and_a_tool_that_asks() -> None:
    _, events = await work(ToolPolicy(default="deny"), "read_file", {"path": "a.txt"})
    assert failures(events) == ["denied"]

    @tool(approval="always")
    def risky() -> str:
        """Dangerous."""
        return "done"

    asked: list[Question] = []

    def approver(question: Question) -> bool:
        asked.append(question)
        return True

    result, _ = await run([risky], calls(("risky", {})), "ok", approver=approver)
    assert results(result) == ["done"]
    assert asked[0].tools == ("risky",)
    result, _ = await run([risky], calls(("risky", {})), "ok")
    assert "nobody is there to be asked" in results(result)[0]


async def test_the_duration_of_a_call_is_how_long_its_tool_ran_not_how_long_somebody_thought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0

    def passes(seconds: float) -> bool:
        nonlocal clock
        clock += seconds
        return True

    @tool(approval="always")
    def risky() -> str:
        """Dangerous."""
        passes(2.0)
        return "done"

    events: list[AnyEvent] = []
    monkeypatch.setattr("dragoman.engine.executor.time", SimpleNamespace(perf_counter=lambda: clock))
    await run([risky], calls(("risky", {})), "ok", approver=lambda _: passes(100.0), emit=events.append)
    await run([risky], calls(("risky", {})), "ok", approver=lambda _: not passes(100.0), emit=events.append)
    assert [event.result.duration for event in events if isinstance(event, ToolReturned)] == [2.0, 0.0]


async def test_an_approval_holds_for_the_arguments_it_was_given_for() -> None:
    policy = ToolPolicy(default="ask")
    good: list[str] = []

    async def approver(question: Question) -> Answer:
        good.append(question.digest)
        return Answer(allowed=True, digest=question.digest)

    text, _ = await work(policy, "read_file", {"path": "a.txt"}, approver=approver)
    assert "text" in text
    _, events = await work(
        policy, "read_file", {"path": "secret/key"}, approver=lambda question: Answer(allowed=True, digest=good[0])
    )
    assert failures(events) == ["denied"]


async def test_a_call_that_waits_is_answered_later_from_the_record() -> None:
    events: list[AnyEvent] = []
    ran: list[str] = []

    @tool(approval="always")
    def send(to: str) -> str:
        """Sends a letter."""
        ran.append(to)
        return "sent"

    first = calls(("look", {}), ("send", {"to": "Ann"}))
    engine = ScriptedEngine([first])
    orchestrator = Orchestrator(engine, [look, send], model_name="m", dialect="plain", approver=lambda _: LATER)
    waiting = await orchestrator.run("go", emit=events.append)
    assert (waiting.status, [call.id for call in waiting.waiting], ran) == ("waiting", ["c2"], [])

    later = Orchestrator(ScriptedEngine(["done"]), [look, send], model_name="m", dialect="plain")
    running = later.resume(events, answers={"c2": Answer(allowed=True, by="Bea")})
    result = await running.result()
    assert (result.status, result.text, ran) == ("completed", "done", ["Ann"])
    assert results(result) == ["here is empty", "sent"]

    refused = Orchestrator(ScriptedEngine(["fine"]), [look, send], model_name="m", dialect="plain")
    result = await refused.resume(events, answers={"c2": Answer(allowed=False, reason="too early")}).result()
    assert "too early" in results(result)[1]
    assert ran == ["Ann"]


async def test_a_call_that_was_begun_and_never_ended_is_told_as_unknown() -> None:
    events: list[AnyEvent] = []
    ran: list[str] = []

    @tool
    def send() -> str:
        """Sends a letter."""
        ran.append("send")
        return "sent"

    @tool(repeatable=True)
    def count() -> str:
        """Counts."""
        ran.append("count")
        return "3"

    tools = [send, count]
    await Orchestrator(
        ScriptedEngine([calls(("send", {}), ("count", {})), "ok"]), tools, model_name="m", dialect="plain"
    ).run("go", emit=events.append)
    broken_off = list(events[: [type(event) for event in events].index(ToolReturned)])
    begun = [event for event in events if isinstance(event, ToolCalled) and event not in broken_off]
    ran.clear()
    later = Orchestrator(ScriptedEngine(["looked"]), tools, model_name="m", dialect="plain")
    result = await later.resume([*broken_off, *begun]).result()
    assert ran == ["count"]
    assert "not known" in str(results(result)[0])
    assert results(result)[1] == "3"


# ── the rest ─────────────────────────────────────────────────────────────────


async def test_progress_and_where_a_call_stands_reach_the_events() -> None:
    @tool
    async def build(context: Context) -> str:
        """Builds."""
        context.progress("half", fraction=0.5)
        return f"{context.call_id} {context.step}"

    events: list[AnyEvent] = []
    result, _ = await run([build], calls(("build", {})), "ok", emit=events.append)
    assert results(result) == ["c1 1"]
    told = [event for event in events if isinstance(event, ToolProgressed)]
    assert [(event.message, event.fraction, event.call_id) for event in told] == [("half", 0.5, "c1")]


async def test_metrics_per_tool() -> None:
    flake, _ = flaky(1, repeatable=True)
    policy = ToolPolicy(on_error="retry", retry=Retry(base=0))
    result, _ = await run(
        [look, flake], calls(("look", {}), ("flake", {}), ("look", {"place": 1.5})), "ok", policy=policy
    )
    assert (result.metrics["look"].calls, result.metrics["flake"].retries) == (2, 1)
    assert result.metrics["look"].errors == 1


async def test_changes_of_one_call_are_done_all_or_none(tmp_path: Path) -> None:
    from dragoman.tools import DiskWorkspace

    (tmp_path / "a.txt").write_text("one\n")
    patch = (
        "*** Begin Patch\n*** Add File: b.txt\n+two\n*** Update File: a.txt\n@@\n-nothing like it\n+x\n*** End Patch"
    )
    step = Reply((CallPart(NativeCall("c1", "apply_patch", patch)),), FinishReason.CALLS)
    tools = Toolset([TOOLS["write_file"], TOOLS["edit_file"]])
    with ScriptedEngine([step, "ok"]) as engine:
        orchestrator = Orchestrator(engine, tools, model_name="gpt-5", workspace=DiskWorkspace(tmp_path))
        await orchestrator.run("go")
    assert not (tmp_path / "b.txt").exists()


async def test_what_lies_outside_the_toolset_is_denied_though_the_words_allow_it(tmp_path: Path) -> None:
    from dragoman.tools import DiskWorkspace

    (tmp_path / "a.txt").write_text("one\n")
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"
    step = Reply((CallPart(NativeCall("c1", "apply_patch", patch)),), FinishReason.CALLS)
    with ScriptedEngine([step, "ok"]) as engine:
        tools = Toolset([TOOLS["edit_file"]])
        orchestrator = Orchestrator(engine, tools, model_name="gpt-5", workspace=DiskWorkspace(tmp_path))
        result = await orchestrator.run("go")
    assert (tmp_path / "a.txt").exists()
    assert "no tool to delete file" in str(results(result)[0])


@pytest.mark.parametrize("knob", ["max_iterations", "max_parallel", "timeout", "max_tokens", "max_cost", "max_result"])
def test_values_that_make_no_sense_are_refused(knob: str) -> None:
    with pytest.raises(ValueError, match=knob):
        ToolPolicy(**{knob: 0})


@pytest.mark.parametrize(
    "kind, field", [(kind, field) for kind in (ToolPolicy, Approval, Retry) for field in kind.__struct_fields__]
)
def test_a_value_of_another_type_is_refused_with_the_name_of_its_field(kind: Any, field: str) -> None:
    given = {"verdict": "ask"} if kind is Approval else {}
    with pytest.raises(TypeError, match=f"^{kind.__name__}: {field} must be .*, not <object "):
        kind(**{**given, field: object()})


def test_rules_by_the_name_of_a_tool_are_refused_before_the_first_call() -> None:
    with pytest.raises(TypeError, match=r"approval must be tuple\[Approval, \.\.\.\], not \{'x': 'ask'\}"):
        ToolPolicy(approval={"x": "ask"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"verdict must be Literal\['deny', 'ask', 'allow'\], not 'alow'"):
        Approval("alow")  # type: ignore[arg-type]


def test_a_policy_is_read_from_sections_later_ones_over_earlier() -> None:
    read = ToolPolicy.read({"max_iterations": 5, "timeout": 9}, {"timeout": 4, "retry": {"times": 1}})
    assert read == ToolPolicy(max_iterations=5, timeout=4, retry=Retry(times=1))
    with pytest.raises(ConfigError, match="max_iteration"):
        ToolPolicy.read({"max_iteration": 3})


def test_what_is_no_script_is_refused_when_it_is_given() -> None:
    with pytest.raises(TypeError, match=r"a script is a list of steps: \['hi'\]"):
        ScriptedEngine("hi")
    with pytest.raises(TypeError, match="step 2 must be a Reply"):
        ScriptedEngine(["hi", 3])  # type: ignore[list-item]


async def test_a_script_that_is_not_followed_is_an_error() -> None:
    with pytest.raises(AssertionError, match="never asked for"):
        await run([], "one", "two")
    with pytest.raises(AssertionError, match="question 1"):
        await run([])
    with pytest.raises(EngineError, match="down"):
        await run([], EngineError("down"))


# ── tools that misbehave ─────────────────────────────────────────────────────


async def test_a_tool_that_will_not_be_cancelled_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engine.executor._GRACE", 0.05)
    release = asyncio.Event()

    @tool
    async def stubborn() -> None:
        """Does not let itself be stopped."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    events: list[AnyEvent] = []
    policy = ToolPolicy(timeout=0.05)
    result, _ = await run(
        [stubborn, look], calls(("stubborn", {}), ("look", {})), "ok", policy=policy, emit=events.append
    )
    assert failures(events) == ["timed_out"]
    assert results(result)[1] == "here is empty"
    release.set()


@pytest.mark.parametrize("kind", ["exit", "cancelled", "thread"])
async def test_a_tool_that_tries_to_end_the_program_ends_only_itself(kind: str) -> None:
    @tool
    async def leave() -> None:
        """Leaves."""
        if kind == "exit":
            raise SystemExit(3)
        raise asyncio.CancelledError

    @tool
    def leave_thread() -> None:
        """Leaves from a thread."""
        raise SystemExit(3)

    chosen = leave_thread if kind == "thread" else leave
    events: list[AnyEvent] = []
    result, _ = await run([chosen, look], calls((chosen.name, {}), ("look", {})), "ok", emit=events.append)
    assert failures(events) == ["cancelled" if kind == "cancelled" else "failed"]
    assert (result.text, results(result)[1]) == ("ok", "here is empty")


async def test_two_calls_of_one_id_are_both_run() -> None:
    step = Reply(
        tuple(CallPart(NativeCall("same", "look", {"place": place})) for place in ("one", "two")), FinishReason.CALLS
    )
    result, _ = await run([look], step, "ok")
    assert results(result) == ["one is empty", "two is empty"]


async def test_what_had_succeeded_when_a_run_was_cancelled_is_kept() -> None:
    reached = asyncio.Event()

    @tool
    async def hang() -> None:
        """Never ends."""
        reached.set()
        await asyncio.Event().wait()

    engine = ScriptedEngine([calls(("look", {}), ("hang", {}))])
    orchestrator = Orchestrator(engine, [look, hang], model_name="m", dialect="plain")
    running = orchestrator.start("go")
    task = asyncio.ensure_future(running.result())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    told = [part.result.content for item in running.conversation for part in item.parts if isinstance(part, ResultPart)]
    assert told[0] == "here is empty"
    assert "cancelled" in str(told[1])
    after = ScriptedEngine(["on we go"])
    result = await Orchestrator(after, [look, hang], model_name="m", dialect="plain").run(
        "well?", history=running.conversation
    )
    assert result.text == "on we go"


async def test_an_abort_stops_what_would_have_come_after() -> None:
    ran: list[str] = []

    @tool(sequential=True)
    async def boom() -> None:
        """Fails."""
        raise ValueError("boom")

    @tool
    async def later() -> None:
        """Comes later."""
        ran.append("later")

    policy = ToolPolicy(on_error="abort")
    result, _ = await run([boom, later], calls(("boom", {}), ("later", {})), policy=policy)
    assert (result.status, ran) == ("failed", [])
    assert "not begun" in str(results(result)[1])


async def test_an_answer_that_is_there_is_not_taken_back_by_a_budget() -> None:
    last = Reply((TextPart("done"),), FinishReason.STOP, usage=Usage(input_tokens=5000, output_tokens=5000))
    result, _ = await run([look], last, policy=ToolPolicy(max_tokens=10))
    assert (result.status, result.text) == ("completed", "done")


async def test_an_error_of_the_engine_tells_what_had_been_said() -> None:
    with pytest.raises(EngineError) as raised:
        await run([look], calls(("look", {})), EngineError("down"))
    assert [item.role for item in raised.value.conversation] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("said", ["yes", 1, {"allowed": True}])
async def test_an_answer_that_is_none_is_refused_with_the_forms_it_may_have(said: Any) -> None:
    asking = ToolPolicy(default="ask")
    with pytest.raises(ConfigError, match="an answer is True, False or an Answer"):
        await run([look], calls(("look", {})), policy=asking, approver=lambda _: said)
    engine = ScriptedEngine([calls(("look", {}))])
    waiting = Orchestrator(engine, [look], asking, model_name="m", dialect="plain", approver=lambda _: LATER)
    events: list[AnyEvent] = []
    await waiting.run("go", emit=events.append)
    with pytest.raises(ConfigError, match="an answer is True, False or an Answer"):
        await waiting.resume(events, answers={"c1": said}).result()


async def test_whoever_else_awaits_a_run_hears_of_the_same_end() -> None:
    with ScriptedEngine([calls(("look", {})), "done"]) as engine:
        running = Orchestrator(engine, [look], model_name="m", dialect="plain").start("go")
        first, second = await asyncio.gather(running.result(), running.result())
    assert first is second
    assert await running.result() is first
    broken = Orchestrator(ScriptedEngine([EngineError("down")]), [look], model_name="m", dialect="plain").start("go")
    ends = await asyncio.gather(broken.result(), broken.result(), return_exceptions=True)
    assert [str(end) for end in ends] == ["down", "down"]
    with pytest.raises(EngineError, match="down"):
        await broken.result()


async def test_a_cancelled_run_ends_for_all_who_await_it() -> None:
    begun = asyncio.Event()

    @tool
    async def hang() -> str:
        """Never ends."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    running = Orchestrator(ScriptedEngine([calls(("hang", {}))]), [hang], model_name="m", dialect="plain").start("go")
    first, second = asyncio.ensure_future(running.result()), asyncio.ensure_future(running.result())
    await begun.wait()
    second.cancel()
    await asyncio.wait([second])
    assert not first.done()  # one who no longer waits does not end it for the others
    third = asyncio.ensure_future(running.result())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first, third])
    assert (first.cancelled(), third.cancelled()) == (True, True)


async def test_within_holds_as_well() -> None:
    @tool
    def remove() -> str:
        """Removes everything."""
        raise AssertionError("it ran")

    _, engine = await run([look, remove], "ok", policy=ToolPolicy(within=ToolPolicy(allowed=("look",))))
    assert [definition.name for definition in engine.requests[0].definitions] == ["look"]
    stricter = ToolPolicy(within=ToolPolicy(default="deny"))
    result, _ = await run([remove], calls(("remove", {})), "ok", policy=stricter)
    assert "not allowed" in results(result)[0]


@pytest.mark.parametrize(
    "default, verdict, ran", [("allow", "ask", False), ("deny", "allow", True), ("ask", "allow", True)]
)
async def test_the_verdict_of_a_rule_stands_before_the_default(default: Any, verdict: Any, ran: bool) -> None:
    policy = ToolPolicy(default=default, approval=(Approval(verdict, tool="look"),))
    result, _ = await run([look], calls(("look", {})), "ok", policy=policy, approver=lambda _: False)
    assert (results(result) == ["here is empty"]) is ran


async def test_what_is_forbidden_stays_so_whatever_the_tool_or_an_earlier_rule_says() -> None:
    @tool(approval="never")
    def remove() -> str:
        """Removes everything."""
        raise AssertionError("it ran")

    rules = (Approval("allow", kind="*"), Approval("deny", tool="*"))
    for policy in (ToolPolicy(approval=rules[1:]), ToolPolicy(approval=rules)):
        for each in (remove, look):
            result, _ = await run([each], calls((each.name, {})), "ok", policy=policy)
            assert "not allowed" in results(result)[0]


@pytest.mark.parametrize(
    "rule",
    [
        Approval("deny", kind="write"),
        Approval("deny", operation="write_file"),
        Approval("deny", tool="remove"),
        Approval("deny", path="secret/*"),
        Approval("deny", command="rm *"),
        Approval("deny", kind="read", path="secret/*"),
    ],
)
async def test_a_rule_holds_only_where_each_of_its_conditions_fits(rule: Approval) -> None:
    result, _ = await run([look], calls(("look", {})), "ok", policy=ToolPolicy(approval=(rule,)))
    assert results(result) == ["here is empty"]


async def test_what_the_model_made_in_a_run_is_its_media() -> None:
    before, drawn, found = (Media("image/png", data=data) for data in ("AA==", "BB==", "CC=="))
    made = NativeResult("i1", (found,), executed_by=ExecutedBy.PROVIDER)
    provided = NativeCall("i1", "image_generation", {}, executed_by=ExecutedBy.PROVIDER)
    call = CallPart(NativeCall("c1", "look", {}))
    first = Reply((MediaPart(drawn), CallPart(provided), ResultPart(made), call), FinishReason.CALLS)
    history = (user("Draw."), Reply((MediaPart(before),), FinishReason.STOP), user("Again."))
    result = await Orchestrator(ScriptedEngine([first, "Done."]), [look]).run(history=history)
    assert (result.status, result.media) == ("completed", (drawn, found))
