"""What servers of the official package ask, decided on by a run's rules, its user and its model; and their prompts."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Orchestrator, ToolPolicy, Toolset
from dragoman.agents import McpServers, mcp_server_at
from dragoman.agents.mcp import Question as Asked, host_by_policy
from dragoman.agents.mcp.policy_host import Field, Form
from dragoman.engine import Answer, Approval, Approver, Question, ScriptedEngine
from dragoman.errors import ToolError
from dragoman.model import Failure, outcomes as out
from dragoman.model.conversation import Reply, TextPart, assistant, user
from dragoman.tools import Context, Tool
from dragoman.tools.running import outcome_of

ASKING = str(Path(__file__).with_name("mcp_asking.py"))
ALLOW = Approval("allow", tool="mcp_sampling", server="asking")


class Opened:
    """A server that asks, and the run that answers it."""

    def __init__(self, servers: McpServers, run: Orchestrator[Any]) -> None:
        self.servers, self.run = servers, run

    async def call(self, name: str) -> str:
        tool = self.servers.toolset.get(f"mcp__asking__{name}")
        assert isinstance(tool, Tool)
        outcome = await outcome_of(lambda: tool.call({}, Context()))
        if isinstance(outcome, Failure):
            return outcome.message
        assert isinstance(outcome, out.ContentOutcome)
        return str(outcome.content[0])


@asynccontextmanager
async def opened(policy: ToolPolicy, approver: Approver | None = None, **options: Any) -> AsyncIterator[Opened]:
    runs: list[Orchestrator[Any]] = []
    host = host_by_policy(lambda: runs[0], **options)
    async with McpServers([mcp_server_at(sys.executable, ASKING, name="asking")], host=host) as servers:
        engine = ScriptedEngine([Reply((TextPart("42"),))] if policy.approval else [])
        tools = Toolset(servers.toolset)
        runs.append(Orchestrator(engine, tools, policy, model_name="m", approver=approver))
        yield Opened(servers, runs[0])


def answering(**answers: str) -> tuple[Approver, list[Question]]:
    asked: list[Question] = []

    def approve(question: Question) -> Answer | bool:
        asked.append(question)
        return question.answered(answers[question.asks[0].header or ""]) if question.asks else True

    return approve, asked


async def test_a_form_is_put_to_the_user_field_by_field_and_again_where_an_answer_does_not_fit() -> None:
    words = iter(["Ada", "two", "9", "3", "yes"])
    asked: list[str] = []

    def approve(question: Question) -> Answer:
        asked.append(question.asks[0].text)
        return question.answered(next(words))

    async with opened(ToolPolicy(default="ask"), approve) as asking:
        said = await asking.call("book")
    assert said == "accept: {'name': 'Ada', 'people': 3, 'window': True}"
    assert asked == [
        "A table at eight.\nName: Who it is for",
        "People: How many",
        "That does not fit: it must be a whole number.\nPeople: How many",
        "That does not fit: the value must be at most 8, not 9.\nPeople: How many",
        "Window: At the window (optional: - leaves it out)",
    ]


@pytest.mark.parametrize(
    "approver, said",
    [
        (lambda question: Answer(allowed=False), "decline: None"),
        (lambda question: True, "decline: None"),  # a yes to everything is no answer
        (lambda question: None, "cancel: None"),  # it is to come later, and the server waits now
        (lambda question: Answer(allowed=True, digest="another", answers=()), "decline: None"),
    ],
)
async def test_no_answer_is_made_up(approver: Approver, said: str) -> None:
    async with opened(ToolPolicy(), approver) as asking:
        assert await asking.call("book") == said


async def test_a_user_who_is_not_there_is_not_asked_and_a_rule_can_keep_questions_away() -> None:
    approver, asked = answering(name="Ada")
    async with opened(ToolPolicy(), approver, answers=False) as asking:
        assert "licitation" in await asking.call("book")  # not offered, which the server says in its own words
    async with opened(ToolPolicy(approval=(Approval("deny", server="ask*"),)), approver) as asking:
        assert "was not put to the user" in await asking.call("book")
    assert asked == []


async def test_an_address_is_shown_to_the_user_who_opens_it() -> None:
    approver, asked = answering(confirmed="1")
    async with opened(ToolPolicy(), approver) as asking:
        assert await asking.call("pay") == "accept"
    assert asked[0].asks[0].text == "Please pay.\nOpen this address yourself: https://pay.example/1"
    with pytest.raises(ToolError, match="only http and https"):
        Form(Asked("asking", "Look", url="file:///etc/passwd"))


async def test_a_request_to_the_model_is_answered_where_a_rule_or_the_user_allows_it() -> None:
    heard: list[str] = []
    async with opened(
        ToolPolicy(default="ask", approval=(ALLOW,)), sampled=lambda _, reply: heard.append(reply.text)
    ) as asking:
        assert await asking.call("think") == "m said 42"
    approver, asked = answering()
    async with opened(ToolPolicy(default="ask", approval=(Approval("deny", kind="read"),)), approver) as asking:
        assert await asking.call("think") == "m said 42"
    assert heard == ["42"]
    (question,) = asked
    assert question.call.native.arguments == {
        "messages": (("user", "What is 6 × 7?"),),
        "max_tokens": 50,
        "system_prompt": "Answer with a number.",
    }


@pytest.mark.parametrize(
    "policy, approver, why",
    [
        (ToolPolicy(default="deny"), None, "refused"),
        (ToolPolicy(default="ask"), None, "nobody is there to be asked"),
        (ToolPolicy(default="ask"), lambda question: None, "the user is to decide later"),
        (ToolPolicy(default="ask"), lambda question: Answer(allowed=False, reason="too dear"), "too dear"),
        (ToolPolicy(approval=(Approval("deny", tool="mcp_sampling"),)), None, "mcp_sampling"),
        (ToolPolicy(max_cost=1.0), None, "limit on tokens or cost"),
    ],
)
async def test_a_request_to_the_model_is_refused_with_the_reason(
    policy: ToolPolicy, approver: Approver | None, why: str
) -> None:
    async with opened(policy, approver) as asking:
        assert why in await asking.call("think")


async def test_prompts_are_listed_checked_and_read() -> None:
    async with opened(ToolPolicy()) as asking:
        servers = asking.servers
        assert servers.with_prompts == ("asking",)
        assert [one.usage for one in await servers.prompts("asking")] == [
            "asking/review path=… [depth=…]",
            "asking/example",
        ]
        assert await servers.prompt("asking", "review", {"path": "a.py"}) == (user("Review a.py to depth 1."),)
        assert await servers.prompt("asking", "example") == (user("One?"), assistant("Two."), user("Three?"))
        wrong: list[tuple[str, str, dict[str, str], str]] = [
            ("asking", "reviw", {"path": "x"}, "has no prompt 'reviw'. Did you mean \"review\"?"),
            ("asking", "review", {}, "needs path: asking/review path="),
            ("asking", "review", {"paht": "x"}, "no argument 'paht'; it has path, depth. Did you mean \"path\"?"),
            ("asker", "review", {}, "there is no MCP server 'asker' with prompts"),
        ]
        for server, name, given, why in wrong:
            with pytest.raises(ToolError) as failed:
                await servers.prompt(server, name, given)
            assert why in str(failed.value)


def chosen(field: Field, words: str) -> Any:
    from dragoman.tools import answer_to

    return field.value_of(answer_to(field.question, words))


def fits(schema: dict[str, Any], words: str, *, required: bool = True) -> Any:
    return chosen(Field("f", schema, required=required), words)


@pytest.mark.parametrize(
    "schema, words, value",
    [
        ({"type": "string", "enum": ["a", "b"]}, "2", "b"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}, "second", "b"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}, "Green", "g"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}, "1, 3", ["a", "c"]),
        ({"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}}, "red", ["r"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["b"]}, "", ["b"]),
        ({"type": "string", "enum": ["a", "a"], "enumNames": ["Same", "Same"]}, "Same (a)", "a"),
        ({"type": "boolean", "default": True}, "", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "integer", "default": 7}, "", 7),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "string", "default": "x"}, "", "x"),
        ({"type": "string"}, "-", "-"),
    ],
)
def test_every_kind_of_field_takes_words(schema: dict[str, Any], words: str, value: Any) -> None:
    assert fits(schema, words) == {"f": value}


def test_an_optional_field_can_be_left_out_and_no_value_is_taken_that_does_not_fit() -> None:
    assert fits({"type": "string"}, "", required=False) == {}
    assert fits({"type": "integer", "default": 3}, "-", required=False) == {}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"type": "integer"}, "1.5"),
        ({"type": "number"}, "much"),
        ({"type": "string", "enum": ["a"]}, "b"),
        ({"type": "boolean"}, "perhaps"),
        ({"type": "string", "minLength": 3}, "x"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1}, "a, b"),
    ]
    for schema, words in wrong:
        with pytest.raises(ValueError, match=r"\w"):
            fits(schema, words)


def test_a_question_without_fields_is_a_yes_or_a_no() -> None:
    form = Form(Asked("asking", "Go on?", schema={"type": "object", "properties": {}}))
    (field,) = form.fields
    assert form.is_confirmation
    assert [option.label for option in field.question.options] == ["yes", "no"]
    assert (chosen(field, "yes"), chosen(field, "2")) == ({"confirmed": True}, {"confirmed": False})
    assert field.question.text == "Go on?"
