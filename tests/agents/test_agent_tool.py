"""Tools that are a prompt and a sub-agent: rendered, asked, checked, fixed, and failed with what was said kept."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents import AgentLimits, Kernel
from dragoman.engine import Engine, ScriptedEngine, ToolPolicy
from dragoman.engine.models import engine_for
from dragoman.model import AnyEvent, Failure, JsonOutcome, TextOutcome, ToolReturned
from dragoman.schema import problems_against
from dragoman.tools import MemoryWorkspace

from .playing import Cast, agent, calls, custom, says, shape, spawns, told

BULLETS = {
    "type": "object",
    "properties": {"bullets": {"type": "array", "items": {"type": "string"}}},
    "required": ["bullets"],
}


async def outcomes(cast: Cast, *tools: Any, **more: Any) -> list[Any]:
    events: list[AnyEvent] = []
    boss = agent("boss", custom_tools=tools)
    await Kernel([boss], engines=cast, emit=events.append, **more).run("boss", "Go")
    return [one.result.outcomes[0] for one in events if isinstance(one, ToolReturned) and one.stream == "main"]


def sums(**facts: Any) -> Any:
    return custom("sums", model="kid", prompt="Sum up {{text}}", **facts)


def once(text: str = "tea") -> list[Any]:
    return [calls(("sums", {"text": text})), says("Done.")]


async def test_the_prompt_is_rendered_the_models_override_is_honoured_and_the_text_comes_back() -> None:
    cast = Cast(boss=once("{{text}} is kept"), kid=[says("Short.")])
    assert await outcomes(cast, sums()) == [TextOutcome("Short.")]
    (asked,) = cast.asked("kid")
    assert asked.conversation[-1].parts[0].text == "Sum up {{text}} is kept"  # type: ignore[union-attr]
    assert asked.model == "kid"


async def test_without_a_model_of_its_own_the_one_of_the_agent_answers() -> None:
    cast = Cast(boss=[calls(("sums", {"text": "tea"})), says("Short."), says("Done.")])
    assert await outcomes(cast, custom("sums")) == [TextOutcome("Short.")]


@pytest.mark.parametrize(
    "answer",
    [
        '{"bullets": ["a"]}',
        ' {"bullets": ["a"]}\n',
        '```json\n{"bullets": ["a"]}\n```',
        '```JSON\r\n{"bullets": ["a"]}\r\n```',
        '```\n{"bullets": ["a"]}```\n',
    ],
)
async def test_an_answer_that_fits_is_the_value(answer: str) -> None:
    cast = Cast(boss=once(), kid=[says(answer)])
    assert await outcomes(cast, sums(result_schema=BULLETS)) == [JsonOutcome({"bullets": ["a"]})]
    words = str(cast.asked("kid")[0].conversation[-1].parts[0].text)  # type: ignore[union-attr]
    assert words.startswith("Sum up tea\n\nAnswer with one JSON value")


async def test_an_answer_of_nothing_is_told_as_such() -> None:
    cast = Cast(boss=once(), kid=[says("null")])
    assert await outcomes(cast, sums(result_schema={"type": ["string", "null"]})) == [JsonOutcome(None)]


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_what_was_wrong() -> None:
    cast = Cast(boss=once(), kid=[says("Here:"), says('{"bullets": [1]}'), says('{"bullets": []}')])
    assert await outcomes(cast, sums(result_schema=BULLETS, repairs=2)) == [JsonOutcome({"bullets": []})]
    complaints = [str(one.conversation[-1].parts[0].text) for one in cast.asked("kid")[1:]]  # type: ignore[union-attr]
    assert "it is no JSON value" in complaints[0]
    assert "bullets[0]" in complaints[1]
    cast.finish()


async def test_after_the_last_repair_it_is_a_failure_that_keeps_what_was_said() -> None:
    cast = Cast(boss=once(), kid=[says("no"), says('{"bullet": 1}')])
    (failed,) = await outcomes(cast, sums(result_schema=BULLETS, repairs=1))
    assert isinstance(failed, Failure)
    assert (failed.kind, failed.details) == (
        "failed",
        {"agent": "boss-sums-1", "status": "failed", "raw": '{"bullet": 1}'},
    )
    assert "does not fit the result schema" in failed.message
    cast.finish()


async def test_repairs_are_turns_and_a_limit_on_them_ends_it_as_limited() -> None:
    cast = Cast(boss=once(), kid=[says("no"), says("still no")])
    (failed,) = await outcomes(cast, sums(result_schema=BULLETS, repairs=9, limits=AgentLimits(max_turns=2)))
    assert isinstance(failed, Failure)
    assert failed.details == {"agent": "boss-sums-1", "status": "limited", "raw": "still no"}
    assert "the limit on turns (2) was reached" in failed.message


async def test_wrong_arguments_never_reach_a_model() -> None:
    cast = Cast(boss=[calls(("sums", {"txt": "tea"})), says("Done.")], kid=[])
    (failed,) = await outcomes(cast, sums())
    assert isinstance(failed, Failure)
    assert failed.kind == "invalid_arguments"


async def test_custom_tools_belong_to_the_agent_that_declares_them() -> None:
    boss = agent("boss", custom_tools=(sums(),))
    more = {"background": False}
    cast = Cast(
        boss=[calls(("sums", {"text": "x"}), spawns("kid", "y", **more)), says("Done.")], kid=[says("1"), says("2")]
    )
    ended = await Kernel([boss, agent("kid")], engines=cast).run("boss", "Go")
    assert shape(ended)[2] == [("boss/sums", "completed", []), ("kid", "completed", [])]
    assert "sums" in cast.offered("boss")[0]
    assert all("sums" not in names for names in cast.offered("kid"))


async def test_a_parameter_that_was_not_given_has_its_default() -> None:
    schema = {"type": "object", "properties": {"tone": {"type": "string", "default": "plain"}}}
    tool = custom("sums", model="kid", prompt="Be {{tone}} about {{nothing}}", parameters=schema)
    cast = Cast(boss=[calls(("sums", {})), says("Done.")], kid=[says("ok")])
    await outcomes(cast, tool)
    assert cast.asked("kid")[0].conversation[-1].parts[0].text == "Be plain about {{nothing}}"  # type: ignore[union-attr]


async def test_what_starting_an_agent_does_not_honour_is_not_offered_and_a_continued_agent_is_refused() -> None:
    cast = Cast(boss=[calls(("spawn_agent", {"prompt": "x", "continues": "kid-1"})), says("Done.")])
    ended = await Kernel([agent("boss")], engines=cast).run("boss", "Go")
    (offered,) = [one for one in cast.asked("boss")[0].definitions if one.name == "spawn_agent"]
    assert set(offered.parameters["properties"]) == {  # type: ignore[union-attr]
        "prompt", "agent", "name", "description", "system_prompt", "model", "background", "tools", "max_turns"
    }  # fmt: skip
    assert "cannot be continued by starting an agent" in told(ended)[0]


async def test_a_spawn_may_narrow_tools_and_turns_and_name_another_model() -> None:
    from dragoman.registry import TOOLS

    wanted = spawns("kid", "x", tools=["read_file", "run_command"], max_turns=1, model="other", background=False)
    cast = Cast(boss=[calls(wanted), says("Done.")], other=[calls(("vfs_read", {"path": "a"}))])
    kid = agent("kid", tools=("read_file", "write_file"))
    tools = [TOOLS[tag] for tag in ("read_file", "write_file", "run_command")]
    kernel = Kernel([agent("boss"), kid], engines=cast, workspace=MemoryWorkspace({"a": "x"}), tools=tools)
    ended = await kernel.run("boss", "Go")
    assert cast.offered("other") == [{"vfs_read", "signal_parent"}]
    assert ended.children[0].status == "limited"


async def test_no_tool_is_offered_that_the_policy_forbids_also_none_that_starts_agents() -> None:
    cast = Cast(boss=[says("Done.")])
    await Kernel([agent("boss")], engines=cast, policy=ToolPolicy(allowed=("signal_parent",))).run("boss", "Go")
    assert cast.offered("boss") == [set()]


def described(cast: Cast, tool: str) -> list[str]:
    """What the boss is told of a tool, question by question."""
    return [str(one.description) for request in cast.asked("boss") for one in request.definitions if one.name == tool]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "dialect, tool",
    [("plain", "spawn_agent"), ("claude_code", "Agent"), ("gemini_cli", "invoke_agent"), ("opencode", "task")],
)
async def test_a_model_is_told_which_agents_there_are_and_what_each_is_for(dialect: str, tool: str) -> None:
    boss = agent("boss", dialect=dialect, description="Leads.")
    kid, mute = agent("kid", description="Digs\nholes. " + "x" * 300), agent("mute")
    files = {
        "agents/cook.md": "---\ndescription: Cooks.\n---\nCook.\n",
        "agents/bad.md": "---\nnam: x\n---\n",
        "agents/lead.md": "---\nname: boss\n---\nLead.\n",
        "agents/quiet.md": "---\nname: mute\n---\nBe quiet.\n",
    }
    cast = Cast(boss=[says("Done.")])
    await Kernel([boss, kid, mute], engines=cast, workspace=MemoryWorkspace(files)).run("boss", "Go")
    (text,) = described(cast, tool)
    assert text.endswith(f"\n\nAgents that are there:\n- kid: Digs holes. {'x' * 187}…\n- mute\n- cook: Cooks.")


async def test_words_that_cannot_name_an_agent_tell_of_none() -> None:
    cast = Cast(boss=[says("Done.")])
    await Kernel([agent("boss", dialect="codex"), agent("kid")], engines=cast).run("boss", "Go")
    assert ["Agents that are there" in text for text in described(cast, "spawn_agent")] == [False]


async def test_an_agent_that_was_written_is_told_of_in_the_next_round() -> None:
    made = (
        "spawn_agent",
        {"name": "made", "prompt": "a", "system_prompt": "You.", "model": "kid", "background": False},
    )
    cast = Cast(boss=[calls(made), says("Done.")], kid=[says("1")])
    await Kernel([agent("boss")], engines=cast, workspace=MemoryWorkspace()).run("boss", "Go")
    assert [text.partition("Agents that are there:\n")[2] for text in described(cast, "spawn_agent")] == [
        "",
        "- made: made",
    ]


@pytest.mark.parametrize(
    "dialect, tool, arguments",
    [
        ("claude_code", "Agent", {"description": "x", "subagent_type": "kid"}),
        ("gemini_cli", "invoke_agent", {"agent_name": "kid"}),
        ("opencode", "task", {"description": "x", "subagent_type": "kid"}),
    ],
)
async def test_words_that_mean_waiting_wait(dialect: str, tool: str, arguments: dict[str, Any]) -> None:
    cast = Cast(boss=[calls((tool, {"prompt": "Dig.", **arguments})), says("Done.")], kid=[says("A bone.")])
    ended = await Kernel([agent("boss", dialect=dialect), agent("kid")], engines=cast).run("boss", "Go")
    assert "A bone." in told(ended)[0]
    assert ended.rounds == 2
    cast.finish()


async def test_a_model_that_only_a_client_knows_is_not_offered_and_starts_nobody() -> None:
    start = {"description": "x", "prompt": "Dig.", "subagent_type": "kid"}
    scripts = {"boss": ScriptedEngine([calls(("Agent", {**start, "model": "haiku"})), says("Done.")])}

    def engines(model: str) -> tuple[Engine, str]:
        return (scripts[model], model) if model in scripts else engine_for(model)

    ended = await Kernel([agent("boss", dialect="claude_code"), agent("kid")], engines=engines).run("boss", "Go")
    (offered,) = [one for one in scripts["boss"].requests[0].definitions if one.name == "Agent"]
    assert "model" not in offered.parameters["properties"]  # type: ignore[union-attr]
    assert ended.children == ()
    assert "'haiku' names no provider" in told(ended)[0]


async def test_an_anonymous_agent_is_like_the_one_that_starts_it() -> None:
    cast = Cast()
    cast.engines["boss"] = ScriptedEngine(
        [calls(("spawn_agent", {"prompt": "x", "background": False})), says("kid"), says("Done.")]
    )
    ended = await Kernel([agent("boss")], engines=cast).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("agent", "completed", [])])
    assert cast.asked("boss")[1].conversation[0].parts[0].text == "You are boss."  # type: ignore[union-attr]


# ── the check itself ─────────────────────────────────────────────────────────


def test_every_way_a_value_does_not_fit_is_told_with_its_path() -> None:
    assert problems_against(BULLETS, {"bullets": ["a"]}) == []
    assert problems_against(BULLETS, {"bullets": [1, "a", None]}) == [
        "bullets[0] must be a string, not 1",
        "bullets[2] must be a string, not null",
    ]
    assert len(problems_against({"type": "object", "required": ["a", "b"]}, {})) == 2
    assert problems_against({"enum": ["x", "y"]}, "z") != []
    assert problems_against({"type": "integer"}, "3") != []  # an answer is not coerced: what it says is what it is
    assert problems_against({"type": "array", "maxItems": 1}, [1, 2]) != []
    (deep,) = problems_against({"type": "string"}, {"a": 1})
    assert deep.startswith("the value ")
