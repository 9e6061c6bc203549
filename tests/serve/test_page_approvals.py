"""Approvals in a page: only the server's own calls run, each once, and only as the user answered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.engine import LATER, Hooks, Orchestrator, Question, ScriptedEngine, ToolPolicy
from dragoman.errors import ConfigError, EngineError
from dragoman.model import Call, CallPart, FinishReason, NativeCall, Reply, ResultPart
from dragoman.registry import TOOLS
from dragoman.serve.front_ends import FrontEnd, approvals
from dragoman.tools import tool
from tests.serve.test_front_ends import PROTOCOLS, Name, asking, events_of

ASK = ToolPolicy(default="ask")


class Town:
    """A tool that says what it was called with."""

    def __init__(self) -> None:
        self.struck: list[str] = []

        @tool
        def strike(target: str) -> str:
            """Strike something."""
            self.struck.append(target)
            return f"struck {target}"

        self.tool = strike


def calling(*targets: str) -> Reply:
    parts = [CallPart(NativeCall(f"c{at}", "strike", {"target": target})) for at, target in enumerate(targets)]
    return Reply(tuple(parts), FinishReason.CALLS)


def asked_in(events: list[dict[str, Any]]) -> dict[str, str]:
    """The ids under which answers are expected, by the id of the call."""
    rows = [event for event in events if event["type"] == "tool-approval-request"]
    rows += [row for event in events for row in event.get("outcome", {}).get("interrupts", ())]
    return {row["toolCallId"]: row.get("approvalId") or row["id"] for row in rows}


def answering(protocol: Name, answers: dict[str, bool], thread: str = "t") -> dict[str, Any]:
    """A request of a client that answers, by the ids of the answers."""
    body = asking(protocol, ("user", "Hi"))
    if protocol == "ag_ui":
        resume = [
            {"interruptId": id, "status": "resolved", "payload": {"approved": said}} for id, said in answers.items()
        ]
        call = {"id": "c0", "type": "function", "function": {"name": "strike", "arguments": "{}"}}
        body["messages"].append({"id": "9", "role": "assistant", "toolCalls": [call]})
        return {**body, "threadId": thread, "resume": resume}
    parts = [
        {
            "type": "dynamic-tool",
            "toolName": "strike",
            "toolCallId": f"c{at}",
            "state": "approval-responded",
            "input": {"target": "made up"},
            "approval": {"id": id, "approved": said},
        }
        for at, (id, said) in enumerate(answers.items())
    ]
    body["messages"].append({"id": "9", "role": "assistant", "parts": parts})
    return {**body, "id": thread}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_runs_is_what_the_model_called_and_not_what_the_client_sends(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        (id,) = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi")))).values()
        assert town.struck == []
        events = await events_of(front_end, answering(protocol, {id: True}))
    assert town.struck == ["a stone"]
    assert "made up" not in str(events)
    assert "struck a stone" in str(events)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_answer_counts_once_and_only_in_its_conversation(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        (id,) = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi")))).values()
        for body in (answering(protocol, {id: True}, thread="other"), answering(protocol, {"guessed": True})):
            with pytest.raises(ConfigError, match="does not wait here any more"):
                await events_of(front_end, body)
        await events_of(front_end, answering(protocol, {id: True}))
        with pytest.raises(ConfigError, match="does not wait here any more"):
            await events_of(front_end, answering(protocol, {id: True}))
    assert town.struck == ["a stone"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_of_two_requests_with_one_answer_the_second_is_told_that_it_came_too_late(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        (id,) = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi")))).values()
        body = msgspec.json.encode(answering(protocol, {id: True}))
        both = [front_end.read(body), front_end.read(body)]  # both were read before one began
        texts = [b"".join([piece async for piece in front_end._events(*read)]).decode() for read in both]
    assert town.struck == ["a stone"]
    assert "does not wait here any more" not in texts[0]
    assert "does not wait here any more" in texts[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_calls_without_an_answer_wait_on(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone", "a tree"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        asked = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi"))))
        again = asked_in(await events_of(front_end, answering(protocol, {asked["c1"]: True})))
        assert (list(again), town.struck) == (["c0"], ["a tree"])
        await events_of(front_end, answering(protocol, {again["c0"]: False}))
    assert town.struck == ["a tree"]
    told = [part for item in engine.requests[1].conversation for part in item.parts if isinstance(part, ResultPart)]
    assert [part.result.is_error for part in told] == [True, None]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_own_approver_is_asked_first(protocol: Name) -> None:
    town = Town()

    async def approver(question: Question) -> bool | None:
        target = question.call.native.arguments["target"]  # type: ignore[index]
        return {"a stone": True, "a friend": False}.get(target, LATER)

    with ScriptedEngine([calling("a stone", "a friend", "a tree"), "Done."]) as engine:
        agent = Orchestrator(engine, [town.tool], ASK, approver=approver)
        front_end = FrontEnd(agent, protocol, approvals=True)
        asked = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi"))))
        assert (list(asked), town.struck) == (["c2"], ["a stone"])
        await events_of(front_end, answering(protocol, {asked["c2"]: True}))
    assert town.struck == ["a stone", "a tree"]
    assert agent.approver is approver


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_call_is_asked_about_as_it_may_be_shown_and_run_as_it_is(protocol: Name) -> None:
    town = Town()

    def mask(call: Call) -> Call:
        return msgspec.structs.replace(call, native=msgspec.structs.replace(call.native, arguments={"target": "***"}))

    with ScriptedEngine([calling("the secret door"), "Done."]) as engine:
        agent = Orchestrator(engine, [town.tool], ASK, hooks=Hooks(mask=mask))
        front_end = FrontEnd(agent, protocol, approvals=True)
        events = await events_of(front_end, asking(protocol, ("user", "Hi")))
        kinds = [event["type"] for event in events]
        begun = "TOOL_CALL_END" if protocol == "ag_ui" else "tool-input-available"
        assert kinds.index(begun) < max(at for at, one in enumerate(events) if asked_in([one]))
        assert "***" in str(events)
        assert "secret" not in str(events)
        await events_of(front_end, answering(protocol, dict.fromkeys(asked_in(events).values(), True)))
    assert town.struck == ["the secret door"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("answers, struck", [({"c0": True}, 1), ({"c0": False, "c1": True}, 1), ({"c1": True}, 1)])
async def test_yes_to_one_of_two_calls_that_are_alike_is_for_that_one(
    protocol: Name, answers: dict[str, bool], struck: int
) -> None:
    town = Town()
    engine = ScriptedEngine([calling("a stone", "a stone"), "Done."])
    front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
    asked = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi"))))
    given = {asked[call]: said for call, said in answers.items()}
    again = asked_in(await events_of(front_end, answering(protocol, given)))
    assert len(town.struck) == struck
    assert set(again) == {"c0", "c1"} - set(answers)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_calls_of_one_id_are_asked_about_each_by_itself(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone"), calling("a tree"), calling("a friend"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        events = await events_of(front_end, asking(protocol, ("user", "Hi")))
        shown = []
        for target, answer in (("a stone", True), ("a tree", True), ("a friend", False)):
            ((call, id),) = asked_in(events).items()
            (begun,) = {event["toolCallId"] for event in events if target in str(event) and "struck" not in str(event)}
            assert begun == call
            shown.append(call)
            events = await events_of(front_end, answering(protocol, {id: answer}))
            result = next(event for event in events if "RESULT" in event["type"] or "output" in event["type"])
            assert result["toolCallId"] == call
    assert len(set(shown)) == 3
    assert town.struck == ["a stone", "a tree"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_limits_hold_across_the_wait(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone")]) as engine:
        agent = Orchestrator(engine, [town.tool], ToolPolicy(default="ask", max_iterations=1))
        front_end = FrontEnd(agent, protocol, approvals=True)
        (id,) = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi")))).values()
        events = await events_of(front_end, answering(protocol, {id: True}))
    assert "the limit on iterations" in str(events)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_provider_that_fails_after_the_answer_is_shown_as_an_error(protocol: Name) -> None:
    town = Town()
    with ScriptedEngine([calling("a stone"), EngineError("the provider is down")]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), protocol, approvals=True)
        (id,) = asked_in(await events_of(front_end, asking(protocol, ("user", "Hi")))).values()
        events = await events_of(front_end, answering(protocol, {id: True}))
    assert "struck a stone" in str(events)
    assert "the provider is down" in str(events)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_front_end_without_approvals_takes_no_answers(protocol: Name) -> None:
    front_end = FrontEnd(Orchestrator(ScriptedEngine([])), protocol)
    with pytest.raises(ConfigError, match=r"FrontEnd\(approvals=True\) does it"):
        await events_of(front_end, answering(protocol, {"x": True}))


async def test_the_oldest_of_too_many_waiting_runs_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "_MOST", 2)
    town = Town()
    with ScriptedEngine([calling("1"), calling("2"), calling("3"), "Done."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [town.tool], ASK), "ui_messages", approvals=True)
        ids = [asked_in(await events_of(front_end, asking("ui_messages", ("user", "Hi"))))["c0"] for _ in range(3)]
        with pytest.raises(ConfigError, match="does not wait here any more"):
            await events_of(front_end, answering("ui_messages", {ids[0]: True}))
        await events_of(front_end, answering("ui_messages", {ids[2]: True}))
    assert town.struck == ["3"]


async def test_a_page_is_not_asked_what_only_words_can_answer() -> None:
    with ScriptedEngine(["Fine."]) as engine:
        front_end = FrontEnd(Orchestrator(engine, [TOOLS["ask_user"]]), "ui_messages", approvals=True)
        await events_of(front_end, asking("ui_messages", ("user", "Hi")))
    assert engine.requests[0].definitions == ()


@pytest.mark.parametrize(
    "entry, said",
    [
        ({"interruptId": "x", "status": "resolved", "payload": {"approved": "yes"}}, "true or false"),
        ({"interruptId": "x", "status": "resolved"}, "true or false"),
        ({"status": "resolved", "payload": True}, "'interruptId' of a message must be text"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_refused(entry: dict[str, Any], said: str) -> None:
    front_end = FrontEnd(Orchestrator(ScriptedEngine([])), "ag_ui", approvals=True)
    with pytest.raises(ConfigError, match=said):
        await events_of(front_end, {**asking("ag_ui", ("user", "Hi")), "resume": [entry]})


async def test_answers_come_without_a_new_message() -> None:
    front_end = FrontEnd(Orchestrator(ScriptedEngine([])), "ag_ui", approvals=True)
    resume = [{"interruptId": "x", "status": "resolved", "payload": True}]
    with pytest.raises(ConfigError, match="without a new message"):
        await events_of(front_end, {**asking("ag_ui", ("user", "Hi")), "resume": resume})


async def test_a_call_that_the_user_refused_elsewhere_is_read_as_refused() -> None:
    part = {
        "type": "tool-strike",
        "toolCallId": "c0",
        "state": "output-denied",
        "input": {"target": "x"},
        "approval": {"id": "1", "approved": False, "reason": "too hard"},
    }
    body = asking("ui_messages", ("user", "Hi"), ("assistant", ""), ("user", "And?"))
    body["messages"][1]["parts"] = [part]
    with ScriptedEngine(["Fine."]) as engine:
        await events_of(FrontEnd(Orchestrator(engine), "ui_messages"), body)
    (told,) = engine.requests[0].conversation[2].parts
    assert isinstance(told, ResultPart)
    assert (told.result.content, told.result.is_error) == ("The user refused this call: too hard", True)
