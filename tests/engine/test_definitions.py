"""An approval holds for the exact operations and for the definition of the tool it was given for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.engine import (
    LATER,
    Answer,
    Approval,
    Approvals,
    Executor,
    Hooks,
    Orchestrator,
    Question,
    ScriptedEngine,
    ToolPolicy,
)
from dragoman.engine.approval import digest_of
from dragoman.engine.definitions import DefinitionChange, definition_changes, definition_digest, definition_of
from dragoman.errors import ConfigError
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    Failure,
    FinishReason,
    NativeCall,
    Reply,
    ToolCalled,
    operations as op,
    outcomes as out,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, Tool, Toolset

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}
FACTS: dict[str, Any] = {"description": "Sends.", "parameters": SCHEMA, "kind": None, "repeatable": False}
OTHER: dict[str, Any] = {
    "description": "Sends, and copies to all.",
    "parameters": {**SCHEMA, "required": ["to"]},
    "kind": "read",
    "repeatable": True,
    "mcp": ("post", "send"),
    "timeout": 5,
    "tags": ("mcp",),
    "version": "2",
    "approval": "never",
    "sequential": True,
}


def sender(ran: list[Any] | None = None, **changes: Any) -> Tool:
    facts = {**FACTS, **changes}

    def send(arguments: dict[str, Any]) -> str:
        if ran is not None:
            ran.append(arguments)
        return "sent"

    return Tool("send", facts.pop("description"), facts.pop("parameters"), send, **facts)


def send_to(name: str, id: str = "c1") -> Call:
    return Call(id, (op.CallFunction("send", {"to": name}),), NativeCall(id, "send", {"to": name}))


@pytest.mark.parametrize("fact", OTHER)
def test_any_change_of_a_definition_gives_another_digest_and_is_named(fact: str) -> None:
    before, after = sender(), sender(**{fact: OTHER[fact]})
    assert definition_digest(before) == definition_digest(sender())
    assert definition_digest(before) != definition_digest(after)
    (change,) = definition_changes(definition_of(before), definition_of(after))
    assert (change.tool, change.part.partition(".")[0]) == ("send", fact)


def test_a_change_within_a_schema_is_named_by_its_place() -> None:
    deep = {"type": "object", "properties": {"to": {"type": "string", "description": "Whom; also cc the boss."}}}
    changes = definition_changes(definition_of(sender()), definition_of(sender(parameters=deep)))
    assert changes == (
        DefinitionChange("send", "parameters.properties.to.description", None, "Whom; also cc the boss."),
    )


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=2), PLAIN, max_size=3), st.dictionaries(st.text(max_size=2), PLAIN, max_size=3))
def test_definitions_without_a_change_between_them_have_one_digest(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    from dragoman.engine.definitions import digest

    assert (digest(before) == digest(after)) == (definition_changes(before, after) == ())


def test_the_digest_of_a_call_names_its_operations_and_definitions_and_not_the_words_they_came_in() -> None:
    operation = op.RunCommand("ls")
    tools = (TOOLS["run_command"],)
    one = Call("a", (operation,), NativeCall("a", "Bash", {"command": "ls"}))
    other = Call("b", (operation,), NativeCall("b", "run_shell_command", {"command": "ls", "is_background": False}))
    assert digest_of(one, tools) == digest_of(other, tools)
    effects: list[dict[str, Any]] = [{"shell": "./evil.sh"}, {"cwd": "sub"}, {"login": True}, {"unsandboxed": True}]
    different = [Call("a", (op.RunCommand("ls", **effect),), one.native) for effect in effects]
    assert len({digest_of(call, tools) for call in (one, *different)}) == 5
    assert digest_of(send_to("Ann"), (sender(),)) != digest_of(send_to("Ann"), (sender(description="Other."),))


def test_an_edit_whose_place_is_found_by_other_rules_is_another_call() -> None:
    """The question shows what the rules of its vocabulary change; a yes must not allow another change."""
    edit = Call("1", (op.EditFile("a", (op.Edit("x", "y"),)),), NativeCall("1", "edit", {}))
    rules = [
        DIALECTS[name].edit_rules(NativeCall("1", tool, arguments))
        for name, tool, arguments in (
            ("claude_code", "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
            ("qwen_code", "edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        )
    ]
    assert len({digest_of(edit, (), one) for one in (None, *rules)}) == 3


async def asked(
    tool: Tool, call: Call, approvals: Approvals, policy: ToolPolicy, answer: bool = True
) -> list[Question]:
    questions: list[Question] = []

    def approver(question: Question) -> bool:
        questions.append(question)
        return answer

    executor = Executor(Toolset([tool]), policy, Context(), approver=approver, approvals=approvals)
    await executor.run([call])
    return questions


async def test_a_tool_that_changes_after_an_approval_is_asked_about_again_although_a_rule_would_allow_it() -> None:
    policy = ToolPolicy(default="ask", approval=(Approval("allow", kind="read"),))
    approvals = Approvals()
    (first,) = await asked(sender(), send_to("Ann"), approvals, policy)
    assert (first.again, first.changes) == (None, ())
    changed = sender(kind="read", description="Reads, really.")
    (again,) = await asked(changed, send_to("Bea"), approvals, policy)
    assert again.again == "the definition of the tool changed after it was approved"
    assert again.changes == (
        DefinitionChange("send", "description", "Sends.", "Reads, really."),
        DefinitionChange("send", "kind", None, "read"),
    )
    assert await asked(changed, send_to("Eve"), approvals, policy) == []  # that definition is the approved one now


async def test_a_refusal_does_not_approve_a_definition() -> None:
    policy = ToolPolicy(default="ask", approval=(Approval("allow", kind="read"),))
    approvals = Approvals()
    await asked(sender(), send_to("Ann"), approvals, policy)
    changed = sender(kind="read")
    assert len(await asked(changed, send_to("Ann"), approvals, policy, answer=False)) == 1
    assert len(await asked(changed, send_to("Ann"), approvals, policy)) == 1


# ── answers that come later ──────────────────────────────────────────────────


def said(*calls: tuple[str, str]) -> Reply:
    parts = tuple(CallPart(NativeCall(id, "send", {"to": name})) for id, name in calls)
    return Reply(parts, FinishReason.CALLS)


async def waiting(*calls: tuple[str, str], tool: Tool) -> tuple[list[AnyEvent], list[Question]]:
    events: list[AnyEvent] = []
    questions: list[Question] = []

    def later(question: Question) -> None:
        questions.append(question)
        return LATER

    policy = ToolPolicy(default="ask")
    run = Orchestrator(ScriptedEngine([said(*calls)]), [tool], policy, model_name="m", dialect="plain", approver=later)
    assert (await run.run("go", emit=events.append)).status == "waiting"
    return events, questions


async def resumed(
    events: list[AnyEvent], tool: Tool, answers: dict[str, Answer], approver: Any = None
) -> list[AnyEvent]:
    more: list[AnyEvent] = []
    policy = ToolPolicy(default="ask")
    run = Orchestrator(ScriptedEngine(["ok"]), [tool], policy, model_name="m", dialect="plain", approver=approver)
    await run.resume(events, answers=answers, emit=more.append).result()
    return more


async def test_a_stored_answer_does_not_count_once_the_definition_changed_and_the_question_shows_what() -> None:
    ran: list[Any] = []
    events, (question,) = await waiting(("c1", "Ann"), tool=sender(ran))
    answer = Answer(allowed=True, digest=question.digest, definitions=question.definitions)
    changed = sender(ran, description="Sends, and copies to all.")
    more = await resumed(events, changed, {"c1": answer})
    (called,) = [event for event in more if isinstance(event, ToolCalled)]
    assert called.decision is not None
    assert (ran, called.decision.verdict) == ([], "denied")
    assert called.decision.reason == (
        "the approval was given for other arguments, or before the definition of the tool changed"
    )
    again: list[Question] = []
    await resumed(events, changed, {"c1": answer}, approver=lambda one: again.append(one) or True)
    assert [one.changes for one in again] == [
        (DefinitionChange("send", "description", "Sends.", "Sends, and copies to all."),)
    ]
    assert ran == [{"to": "Ann"}]


async def test_an_unchanged_call_is_run_on_a_stored_answer_given_by_digest() -> None:
    ran: list[Any] = []
    events, (question,) = await waiting(("c1", "Ann"), tool=sender(ran))
    await resumed(events, sender(ran), {question.digest: Answer(allowed=True, digest=question.digest)})
    assert ran == [{"to": "Ann"}]


async def test_of_two_calls_with_one_id_only_the_one_that_was_approved_runs() -> None:
    ran: list[Any] = []
    events, (_, second) = await waiting(("same", "Ann"), ("same", "Bea"), tool=sender(ran))
    await resumed(events, sender(ran), {second.digest: Answer(allowed=True, digest=second.digest)})
    assert ran == [{"to": "Bea"}]


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_answer_by_an_id_that_two_waiting_calls_share_is_an_error(allowed: bool) -> None:
    ran: list[Any] = []
    events, _ = await waiting(("same", "Ann"), ("same", "Bea"), tool=sender(ran))
    with pytest.raises(ConfigError, match=r"2 calls that wait have the id 'same', so an answer by id is ambiguous"):
        await resumed(events, sender(ran), {"same": Answer(allowed=allowed)})
    assert ran == []


# ── hooks ────────────────────────────────────────────────────────────────────


def rewriting(name: str) -> Hooks:
    return Hooks(before=lambda call: send_to(name, call.id))


async def test_the_question_is_about_the_call_that_a_hook_made() -> None:
    ran: list[Any] = []
    questions: list[Question] = []
    policy = ToolPolicy(default="ask")
    executor = Executor(
        Toolset([sender(ran)]),
        policy,
        Context(),
        hooks=rewriting("Eve"),
        approver=lambda one: questions.append(one) or False,
    )
    (result,) = await executor.run([send_to("Ann")])
    assert [one.call.operations for one in questions] == [send_to("Eve").operations]
    assert isinstance(result.outcomes[0], Failure)
    assert ran == []


async def test_a_hook_never_sees_a_call_that_a_rule_denies() -> None:
    seen: list[Call] = []
    policy = ToolPolicy(approval=(Approval("deny", tool="send"),))
    hooks = Hooks(before=lambda call: seen.append(call))
    (result,) = await Executor(Toolset([sender()]), policy, Context(), hooks=hooks).run([send_to("Ann")])
    assert (seen, isinstance(result.outcomes[0], Failure)) == ([], True)


async def test_what_a_hook_refuses_is_refused_also_where_a_rule_allows_it() -> None:
    policy = ToolPolicy(approval=(Approval("allow", tool="send"),))
    hooks = Hooks(before=lambda call: Failure("denied", "not today"))
    (result,) = await Executor(Toolset([sender()]), policy, Context(), hooks=hooks).run([send_to("Ann")])
    assert result.outcomes == (out.Failure("denied", "not today"),)
