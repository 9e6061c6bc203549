"""Options in a provider's own terms: they add to what is sent, and what they replace is noted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman import ProviderTool, tool
from dragoman.apis import APIS, merged, raw_tools
from dragoman.config import load
from dragoman.engine import Orchestrator, Prepared, ScriptedEngine
from dragoman.engine.models import engine_for
from dragoman.engine.offer import Note
from dragoman.errors import ConfigError, DefinitionError
from dragoman.model import CallPart, FinishReason, NativeCall, Reply

SCHEMA = {"type": "object", "properties": {}}


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"clear in {city}"


@tool
def web_search(query: str) -> str:
    """A search of one's own."""
    return query


def prepared(model: str, options: dict[str, Any], *tools: Any, **more: Any) -> Prepared:
    engine, name = engine_for(model, api_key="k", configuration=None)
    return Orchestrator(engine, tools, model_name=name, options=options, **more).prepare("hi")


def body(one: Prepared) -> dict[str, Any]:
    assert one.encoded is not None
    return one.encoded.body


def names_in(tools: list[dict[str, Any]]) -> list[str]:
    """What the tools of a request are called on its wire, in order."""
    listed = [one for tool in tools for one in tool.get("functionDeclarations", [tool])]
    return [one.get("name") or one.get("function", {}).get("name") or next(iter(one.values())) for one in listed]


RAW = {
    "openai:gpt-5.1": {"type": "web_search"},
    "openai-chat:gpt-5.1": {"type": "function", "function": {"name": "web_search", "parameters": SCHEMA}},
    "anthropic:claude-sonnet-4-5": {"type": "web_search_20250305", "name": "web_search"},
    "gemini:gemini-3-pro": {"functionDeclarations": [{"name": "web_search"}]},
}


def test_there_is_a_model_for_every_wire_api() -> None:
    assert {engine_for(model, api_key="k", configuration=None)[0].name for model in RAW} == {*APIS.built_in}


@pytest.mark.parametrize("model", RAW)
def test_tools_in_the_options_come_after_ours_and_keep_their_names(model: str) -> None:
    one = prepared(model, {"tools": [RAW[model]]}, get_weather, web_search)
    tools = body(one)["tools"]
    assert tools[-1] == RAW[model]
    ours, renamed, raw = names_in(tools)
    assert (ours, raw) == ("get_weather", "web_search")
    assert renamed.startswith("web_search_")
    assert renamed != "web_search"
    reason = f"it is offered as {renamed!r}: the vocabulary, the provider or the options have a tool of that name"
    assert Note("web_search", reason) in one.notes


@pytest.mark.parametrize("model", RAW)
def test_tools_in_the_options_need_none_of_ours(model: str) -> None:
    assert body(prepared(model, {"tools": [RAW[model]]}))["tools"] == [RAW[model]]


def test_a_renamed_tool_is_still_found_and_run() -> None:
    call = NativeCall("1", "web_search_81fb2ab9", {"query": "tea"})
    engine = ScriptedEngine([Reply((CallPart(call),), FinishReason.CALLS), "done"])
    run = Orchestrator(engine, [web_search], options={"tools": [{"type": "web_search"}]})
    assert [one.name for one in run.facade_of().definitions] == ["web_search_81fb2ab9"]
    result = run.run_sync("hi")
    told = [part.result.content for item in result.conversation for part in item.parts if hasattr(part, "result")]
    assert told == ["tea"]


def test_a_function_in_the_options_is_noted_since_nothing_runs_it() -> None:
    raw = {"type": "function", "name": "get_time", "parameters": SCHEMA}
    one = prepared("openai:gpt-5.1", {"tools": [raw]}, get_weather)
    assert one.notes == (
        Note("get_time", "it is offered as it is; a call of it gets an error, since no tool here runs it"),
    )


def test_one_tool_is_not_offered_as_a_provider_tool_and_in_the_options() -> None:
    with pytest.raises(
        DefinitionError, match=r"a tool in the options and openai.web_search are both called 'web_search'"
    ):
        prepared("openai:gpt-5.1", {"tools": [{"type": "web_search"}]}, ProviderTool("openai.web_search"))


def test_functions_beside_a_search_in_the_options_are_allowed_on_gemini() -> None:
    one = prepared("gemini:gemini-3-pro", {"tools": [{"googleSearch": {}}]}, get_weather)
    assert body(one)["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in body(prepared("gemini:gemini-3-pro", {"tools": [{"googleSearch": {}}]}))


def test_tools_of_the_settings_and_of_the_program_are_all_offered() -> None:
    flags = {"providers.openai.options": '{"tools": [{"type": "web_search"}]}', "providers.openai.api_key": "k"}
    options = {"tools": [{"type": "image_generation"}]}
    run = Orchestrator("openai:gpt-5.1", [web_search], options=options, configuration=load(flags=flags))
    tools = body(run.prepare("hi"))["tools"]
    assert tools[1:] == [{"type": "web_search"}, {"type": "image_generation"}]
    assert tools[0]["name"].startswith("web_search_")


# ── what is replaced ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "model, options, note",
    [
        ("openai:gpt-5.1", {"temperature": 0.5}, Note("options.temperature", "it replaces 1.0 of this request")),
        ("openai-chat:gpt-5.1", {"model": "x"}, Note("options.model", 'it replaces "gpt-5.1" of this request')),
        (
            "anthropic:claude-sonnet-4-5",
            {"tool_choice": {"type": "any"}},
            Note("options.tool_choice.type", 'it replaces "auto" of this request'),
        ),
        (
            "gemini:gemini-3-pro",
            {"generationConfig": {"temperature": 0, "topK": 3}},
            Note("options.generationConfig.temperature", "it replaces 1.0 of this request"),
        ),
    ],
)
def test_what_an_option_replaces_is_noted(model: str, options: dict[str, Any], note: Note) -> None:
    more: dict[str, Any] = {"temperature": 1.0}
    if "tool_choice" in options:
        from dragoman.engine import ToolPolicy

        more["policy"] = ToolPolicy(parallel=False)  # so that a choice is written at all
    assert note in prepared(model, options, get_weather, **more).notes


@pytest.mark.parametrize("options", [{"service_tier": "flex"}, {"temperature": 1.0}, {"tools": [{"type": "x"}]}])
def test_what_replaces_nothing_is_not_noted(options: dict[str, Any]) -> None:
    assert prepared("openai:gpt-5.1", options, get_weather, temperature=1.0).notes == ()


# ── keyed by provider ────────────────────────────────────────────────────────

BOTH = {"openai": {"service_tier": "flex"}, "anthropic": {"top_k": 3}, "google": {"labels": {"a": "b"}}}


@pytest.mark.parametrize(
    "model, sent",
    [
        ("openai:gpt-5.1", {"service_tier": "flex"}),
        ("openai-chat:gpt-5.1", {"service_tier": "flex"}),
        ("anthropic:claude-sonnet-4-5", {"top_k": 3}),
        ("gemini:gemini-3-pro", {"labels": {"a": "b"}}),
    ],
)
def test_each_provider_gets_the_options_under_its_name(model: str, sent: dict[str, Any]) -> None:
    one = prepared(model, BOTH, get_weather)
    assert {key: value for key, value in body(one).items() if key in ("service_tier", "top_k", "labels")} == sent
    assert one.notes == ()


def test_options_for_others_alone_are_noted() -> None:
    one = prepared("groq:llama", BOTH, get_weather)
    assert one.notes == (Note("options", "none is sent: they are for openai, anthropic, google, and groq is asked"),)
    assert not {"openai", "service_tier", "top_k"} & body(one).keys()


def test_keyed_and_flat_options_do_not_mix() -> None:
    with pytest.raises(ConfigError, match=r"'openai' is a provider, 'seed' is none; write \{'openai': \{'seed': …\}\}"):
        prepared("openai:gpt-5.1", {"openai": {}, "seed": 3})
    with pytest.raises(ConfigError, match="under the provider 'openai' there must be a dict, not 3"):
        prepared("openai:gpt-5.1", {"openai": 3})


def test_a_provider_of_ones_own_is_a_key_too_unless_a_field_is_called_so() -> None:
    flags: dict[str, object] = {f"providers.{name}.base_url": "http://127.0.0.1:9" for name in ("lab", "metadata")}
    settings = load(flags=flags)
    run = Orchestrator("lab:m", options={"lab": {"a": 1}, "openai": {"b": 2}}, configuration=settings)
    assert run.options == {"a": 1}
    with pytest.raises(ConfigError, match=r"'metadata' is a provider in your settings, and a field of a request"):
        Orchestrator("lab:m", options={"metadata": {"a": "1"}}, configuration=settings)


# ── laws ─────────────────────────────────────────────────────────────────────

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abt"), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(st.sampled_from(["a", "b", "tools"]), JSON, max_size=3)


@given(BODIES, BODIES)
def test_nothing_of_an_option_is_lost_and_no_tool_of_ours(ours: dict[str, Any], options: dict[str, Any]) -> None:
    result = merged(ours, options)
    assert result.keys() == ours.keys() | options.keys()
    for key, value in options.items():
        mine = ours.get(key)
        if key == "tools" and isinstance(mine, list) and isinstance(value, list):
            assert result[key] == mine + value
        elif isinstance(mine, dict) and isinstance(value, dict):
            assert value.items() <= result[key].items() or any(isinstance(inner, dict) for inner in value.values())
        else:
            assert result[key] == value
    assert {key: result[key] for key in ours.keys() - options.keys()} == {
        key: ours[key] for key in ours.keys() - options.keys()
    }


@given(JSON)
def test_whatever_stands_for_tools_is_looked_at_without_an_error(value: Any) -> None:
    assert all(isinstance(name, str) for tool in raw_tools({"tools": value}) for name in tool.names)
