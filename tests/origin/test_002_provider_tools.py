"""The document on provider-native tools: what a provider runs is a kind of tool of its own, with a stable id.

Every id, rule and phase of it, in its order. `docs/origin.md` lists its requirements.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import DefinitionError, ProviderTool, Tool, ToolChoice, ToolPolicy, Toolset, tool
from dragoman.dialects import DIALECTS, provider_tool
from dragoman.dialects.openai import WebSearchSettings
from dragoman.engine import Executor, Facade, HttpEngine, Orchestrator, Prepared, Retry
from dragoman.engine.transport import Transport
from dragoman.model import (
    Call,
    ExecutedBy,
    FunctionDefinition,
    NativeCall,
    PagesOutcome,
    ProviderDefinition,
    Request,
    Span,
    ToolCalled,
    ToolReturned,
    operations as op,
    user,
)
from dragoman.registry import APIS
from dragoman.tools import Context
from tests.apis.samples import BODIES
from tests.engine.loopback import Raw, Turn, loopback

ROOT = Path(__file__).parents[2]
IDS = {
    # The recommended ids, each with its type on the wire.
    "openai.web_search_preview": "web_search_preview",
    "openai.file_search": "file_search",
    "openai.computer_use_preview": "computer_use_preview",
    "anthropic.web_search_20250305": "web_search_20250305",
    "google.google_search": "googleSearch",
}
SEARCHED: dict[str, Any] = {
    **BODIES["anthropic_messages"][0],
    "content": [block for block in BODIES["anthropic_messages"][0]["content"] if block["type"] != "tool_use"],
    "stop_reason": "end_turn",
}


@tool
def web_search(query: str) -> str:
    """Search the shelves of the shop."""
    return f"{query}: on the third shelf"


@tool
def google_search(query: str) -> str:
    """Search the cellar."""
    return f"{query}: in the cellar"


def prepared(api: str, model: str, *tools: Any, provider: str = "", **more: Any) -> Prepared:
    engine = HttpEngine(api, Transport("http://127.0.0.1:9"), provider=provider)
    return Orchestrator(engine, tools, model_name=model, dialect="plain", **more).prepare("Hi.")


def body_of(api: str, model: str, *tools: Any, **more: Any) -> dict[str, Any]:
    encoded = prepared(api, model, *tools, **more).encoded
    assert encoded is not None
    return encoded.body


async def claude(*answers: Any, tools: Any, events: list[Any] | None = None) -> tuple[Any, Any]:
    async with loopback(*answers) as server:
        engine = HttpEngine("anthropic_messages", Transport(server.url), retry=Retry(times=0), provider="anthropic")
        run = Orchestrator(engine, tools, model_name="claude-sonnet-4-5", dialect="plain")
        result = await run.run("How is the weather?", emit=None if events is None else events.append)
        await run.close()
    return result, server


# ── where it starts from ─────────────────────────────────────────────────────


def test_s2_1_one_package_serves_everybody_and_what_few_need_is_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "dragoman"
    assert not [one for one in project["dependencies"] if one.startswith(("openai", "anthropic", "google"))]
    assert project["optional-dependencies"]


def test_s2_2_the_unified_surface_is_one_narrow_door() -> None:
    assert {"Orchestrator", "ProviderTool", "Tool", "Toolset", "ToolPolicy", "tool"} <= set(dragoman.__all__)
    assert len(dragoman.__all__) < 40


def test_s2_3_what_a_provider_says_beside_the_rest_is_kept_in_metadata_under_its_name() -> None:
    reply = APIS["gemini_generate"].decode(BODIES["gemini_generate"][0])
    assert reply.metadata["gemini_generate"]["groundingMetadata"]["webSearchQueries"] == ["weather"]
    kept = APIS["anthropic_messages"].decode({**SEARCHED, "a_future_key": {"deep": [1, 2]}})
    assert kept.metadata["anthropic_messages"]["a_future_key"] == {"deep": [1, 2]}


async def test_s2_4_the_loop_never_runs_what_the_provider_ran() -> None:
    result, server = await claude(
        Raw(body=json.dumps(SEARCHED).encode()), tools=[ProviderTool("anthropic.web_search_20250305"), web_search]
    )
    assert (result.status, result.rounds, len(server.requests)) == ("completed", 1, 1)
    assert result.metrics == {}


# ── two kinds of tools ───────────────────────────────────────────────────────


def test_s2_5_there_are_tools_run_here_and_tools_run_by_the_provider() -> None:
    hosted = ProviderTool("anthropic.web_search_20250305")
    assert (callable(web_search), hasattr(hosted, "run"), callable(hosted)) == (True, False, False)
    assert not isinstance(hosted, Tool)
    assert Toolset([web_search, hosted]).names == ("web_search", "anthropic.web_search_20250305")


async def test_s2_6_a_providers_tool_is_configured_sent_and_its_results_shown() -> None:
    events: list[Any] = []
    hosted = ProviderTool("anthropic.web_search_20250305", {"max_uses": 3})
    result, server = await claude(Raw(body=json.dumps(SEARCHED).encode()), tools=[hosted], events=events)
    assert server.requests[0].body["tools"] == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]
    (called,) = [event.call for event in events if isinstance(event, ToolCalled)]
    (returned,) = [event.result for event in events if isinstance(event, ToolReturned)]
    assert (called.native.executed_by, called.operations) == (ExecutedBy.PROVIDER, (op.SearchWeb("weather"),))
    assert isinstance(returned.outcomes[0], PagesOutcome)
    assert [page.url for page in returned.outcomes[0].pages] == ["https://a.example"]
    executor = Executor(Toolset([hosted]), ToolPolicy(), Context())
    (denied,) = await executor.run([Call("1", (op.SearchWeb("tea"),), NativeCall("1", "web_search", {"query": "tea"}))])
    assert [outcome.__struct_config__.tag for outcome in denied.outcomes] == ["failure"]
    assert result.text == "It is sunny."


@pytest.mark.parametrize("id", IDS)
def test_s2_7_the_recommended_ids_are_known_and_are_not_the_name_on_the_wire(id: str) -> None:
    row = provider_tool(id)
    assert row is not None
    assert (row.id, row.wire_type) == (id, IDS[id])


def test_s2_7_an_id_may_carry_a_date_and_another_form_is_refused() -> None:
    assert ProviderTool("anthropic.web_search_20250305").vendor == "anthropic"
    with pytest.raises(DefinitionError, match=r"vendor\.name"):
        ProviderTool("web search")


# ── names ────────────────────────────────────────────────────────────────────


def test_s2_8_a_functions_name_is_rewritten_where_it_would_collide_and_turned_back() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([web_search, ProviderTool("anthropic.web_search_20250305")]))
    offered = facade.names.offer("web_search")
    assert offered.startswith("web_search_")
    assert facade.names.back(offered) == "web_search"
    call = facade.read_call(NativeCall("1", offered, {"query": "tea"}))
    assert call.operations == (op.CallFunction("web_search", {"query": "tea"}),)
    assert [note.tool for note in facade.notes] == ["web_search"]


def test_s2_8_without_a_collision_a_function_keeps_its_name() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([google_search, ProviderTool("anthropic.web_search_20250305")]))
    assert (facade.names.offer("google_search"), facade.notes) == ("google_search", ())


@pytest.mark.parametrize("id", IDS)
def test_s2_9_an_id_is_mapped_to_what_the_provider_calls_it(id: str) -> None:
    settings = {"openai.file_search": {"vector_store_ids": ["vs_1"]}}.get(id, {})
    if id == "openai.computer_use_preview":
        settings = {"display_width": 1, "display_height": 1, "environment": "linux"}
    (definition,) = Facade(DIALECTS["plain"], Toolset([ProviderTool(id, settings)])).definitions
    assert isinstance(definition, ProviderDefinition)
    assert (definition.id, definition.wire_type) == (id, IDS[id])


def test_s2_10_no_name_is_reserved_and_several_versions_stand_side_by_side() -> None:
    assert web_search.name == "web_search"
    assert google_search.name == "google_search"
    for api, model, id in (
        ("openai_responses", "gpt-5.1", "openai.web_search_preview"),
        ("anthropic_messages", "claude-sonnet-4-5", "anthropic.web_search_20250305"),
        ("gemini_generate", "gemini-3-pro-preview", "google.google_search"),
    ):
        body = body_of(api, model, web_search, google_search, ProviderTool(id))
        assert IDS[id] in json.dumps(body["tools"])
        assert json.dumps(body["tools"]).count("Search the") == 2
    versions = ("anthropic.web_search_20250305", "anthropic.web_fetch_20250910", "anthropic.code_execution_20250522")
    body = body_of("anthropic_messages", "claude-sonnet-4-5", *map(ProviderTool, versions))
    assert [one["type"] for one in body["tools"]] == [id.partition(".")[2] for id in versions]


# ── replies ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", ["anthropic_messages", "openai_responses", "gemini_generate"])
def test_s2_11_every_call_says_whether_the_client_or_the_provider_runs_it(api: str) -> None:
    reply = APIS[api].decode(BODIES[api][0])
    assert {call.executed_by for call in reply.calls} == {ExecutedBy.CLIENT, ExecutedBy.PROVIDER}


async def test_s2_12_what_the_provider_ran_is_structured_and_its_own_blocks_go_back_untouched() -> None:
    result, server = await claude(
        Raw(body=json.dumps({**SEARCHED, "stop_reason": "pause_turn"}).encode()),
        Turn(text="Yes."),
        tools=[ProviderTool("anthropic.web_search_20250305")],
    )
    assert (result.rounds, result.text) == (2, "Yes.")
    assert server.requests[1].body["messages"][-1]["content"] == SEARCHED["content"]
    first = result.conversation[1]
    assert [call.name for call in first.calls] == ["web_search"]
    assert [one.executed_by for one in first.results] == [ExecutedBy.PROVIDER]


# ── configuration ────────────────────────────────────────────────────────────


def test_s2_13_a_providers_tool_is_a_typed_object_with_typed_settings() -> None:
    typed = ProviderTool("openai.web_search", WebSearchSettings(search_context_size="low"))
    assert typed == ProviderTool("openai.web_search", {"search_context_size": "low"})
    assert body_of("openai_responses", "gpt-5.1", typed)["tools"] == [
        {"type": "web_search", "search_context_size": "low"}
    ]
    wrong = ProviderTool("openai.web_search", {"search_context_size": "huge"})
    with pytest.raises(DefinitionError, match="search_context_size"):
        prepared("openai_responses", "gpt-5.1", wrong)


@pytest.mark.parametrize(
    "api, model, provider, sent",
    [
        ("openai_responses", "gpt-5.1", "openai", {"service_tier": "flex"}),
        ("anthropic_messages", "claude-sonnet-4-5", "anthropic", {"top_k": 40}),
        ("gemini_generate", "gemini-2.5-pro", "gemini", {"labels": {"team": "docs"}}),
    ],
)
def test_s2_14_options_are_keyed_by_provider_and_each_gets_its_own(
    api: str, model: str, provider: str, sent: dict[str, Any]
) -> None:
    options = {"openai": {"service_tier": "flex"}, "anthropic": {"top_k": 40}, "google": {"labels": {"team": "docs"}}}
    body = body_of(api, model, provider=provider, options=options)
    assert {key: body[key] for key in ("service_tier", "top_k", "labels") if key in body} == sent


# ── the first phase: the model ───────────────────────────────────────────────


def test_s2_15_the_kinds_the_mapping_and_the_marker_are_parts_of_the_model() -> None:
    assert ProviderDefinition.__struct_fields__ == ("id", "wire_type", "name", "settings")
    assert {"offer", "back"} <= set(dir(Facade(DIALECTS["plain"], Toolset()).names))
    assert [str(one) for one in ExecutedBy] == ["client", "provider"]
    assert NativeCall("1", "web_search").executed_by is ExecutedBy.CLIENT


# ── the second phase: the providers ──────────────────────────────────────────


def test_s2_16_openai_searches_the_web_itself() -> None:
    assert body_of("openai_responses", "gpt-5.1", ProviderTool("openai.web_search_preview"))["tools"] == [
        {"type": "web_search_preview"}
    ]
    reply = APIS["openai_responses"].decode(BODIES["openai_responses"][0])
    (searched,) = [call for call in reply.calls if call.executed_by is ExecutedBy.PROVIDER]
    assert DIALECTS["openai"].read_call(searched).operations == (op.SearchWeb("weather"),)


def test_s2_17_openai_searches_files_itself() -> None:
    search = ProviderTool("openai.file_search", {"vector_store_ids": ["vs_1"]})
    assert body_of("openai_responses", "gpt-5.1", search)["tools"] == [
        {"type": "file_search", "vector_store_ids": ["vs_1"]}
    ]
    with pytest.raises(DefinitionError, match="vector_store_ids"):
        prepared("openai_responses", "gpt-5.1", ProviderTool("openai.file_search"))


@pytest.mark.parametrize(
    "api, model, id, settings",
    [
        (
            *("openai_responses", "computer-use-preview", "openai.computer_use_preview"),
            {"display_width": 800, "display_height": 600, "environment": "linux"},
        ),
        (
            *("anthropic_messages", "claude-sonnet-4-5", "anthropic.computer_20250124"),
            {"display_width_px": 800, "display_height_px": 600},
        ),
    ],
)
def test_s2_18_a_computer_is_offered_once_and_run_by_a_tool_of_ones_own(
    api: str, model: str, id: str, settings: dict[str, Any]
) -> None:
    async def use(operation: op.UseComputer, context: Context) -> str:
        return "done"

    own = Tool.from_operation(op.UseComputer, use)
    tools = body_of(api, model, own, ProviderTool(id, settings))["tools"]
    assert [one["type"] for one in tools] == [id.partition(".")[2]]


async def test_s2_18_a_call_of_the_computer_runs_that_tool() -> None:
    done: list[op.UseComputer] = []

    async def use(operation: op.UseComputer, context: Context) -> str:
        done.append(operation)
        return "clicked"

    computer = ProviderTool("anthropic.computer_20250124", {"display_width_px": 800, "display_height_px": 600})
    result, server = await claude(
        Turn(calls=(("1", "computer", {"action": "left_click", "coordinate": [10, 20]}),)),
        Turn(text="Done."),
        tools=[Tool.from_operation(op.UseComputer, use), computer],
    )
    assert (result.status, result.text, len(done)) == ("completed", "Done.", 1)
    assert "clicked" in json.dumps(server.requests[1].body)


@pytest.mark.parametrize("id", ["anthropic.web_search_20250305", "anthropic.web_search_20260209"])
def test_s2_19_claude_searches_the_web_itself_in_every_version(id: str) -> None:
    (offered,) = body_of("anthropic_messages", "claude-sonnet-4-5", ProviderTool(id, {"max_uses": 2}))["tools"]
    assert (offered["type"], offered["name"], offered["max_uses"]) == (id.partition(".")[2], "web_search", 2)


def test_s2_20_gemini_is_grounded_in_google_search() -> None:
    assert body_of("gemini_generate", "gemini-2.5-pro", ProviderTool("google.google_search"))["tools"] == [
        {"googleSearch": {}}
    ]
    reply = APIS["gemini_generate"].decode(BODIES["gemini_generate"][0])
    assert [one.url for one in reply.citations] == ["https://a.example"]


@pytest.mark.parametrize(
    "api, model, raw",
    [
        ("openai_responses", "gpt-5.1", {"type": "web_search"}),
        ("anthropic_messages", "claude-sonnet-4-5", {"type": "web_search_20250305", "name": "web_search"}),
        ("gemini_generate", "gemini-3-pro-preview", {"googleSearch": {}}),
    ],
)
def test_s2_21_tools_in_the_options_work_beside_the_typed_ones(api: str, model: str, raw: dict[str, Any]) -> None:
    tools = body_of(api, model, google_search, options={"tools": [raw]})["tools"]
    assert tools[-1] == raw
    assert "Search the cellar." in json.dumps(tools)


def test_s2_21_what_an_option_replaces_is_noted() -> None:
    made = prepared("openai_responses", "gpt-4.1", google_search, temperature=1.0, options={"temperature": 0.5})
    assert [note.tool for note in made.notes] == ["options.temperature"]


# ── the third phase: documentation ───────────────────────────────────────────


def test_s2_22_the_documentation_is_about_provider_tools() -> None:
    page = (ROOT / "docs" / "howto" / "provider-tools.md").read_text()
    assert "ProviderTool(" in page
    assert "provider-tools.md" in (ROOT / "README.md").read_text()


def test_s2_23_a_guide_shows_before_and_after() -> None:
    page = (ROOT / "docs" / "guides" / "from-raw-provider-tools.md").read_text()
    before, after = page.index("## Before"), page.index("## After")
    assert 'options={"tools": [raw]}' in page[before:after]
    assert 'ProviderTool("openai.web_search", settings)' in page[after:]
    assert "(docs/guides/from-raw-provider-tools.md)" in (ROOT / "README.md").read_text()


# ── the open questions, answered ─────────────────────────────────────────────


def test_s2_24_one_list_holds_both_kinds() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([google_search, ProviderTool("anthropic.web_search_20250305")]))
    assert [type(one) for one in facade.definitions] == [FunctionDefinition, ProviderDefinition]


def test_s2_25_a_choice_may_name_a_providers_tool() -> None:
    choice = ToolChoice("one", ("anthropic.web_search_20250305",))
    body = body_of(
        *("anthropic_messages", "claude-sonnet-4-5", ProviderTool("anthropic.web_search_20250305"), google_search),
        policy=ToolPolicy(choice=choice),
    )
    assert body["tool_choice"] == {"type": "tool", "name": "web_search"}


@pytest.mark.parametrize("api", ["anthropic_messages", "openai_responses", "gemini_generate"])
def test_s2_26_citations_have_one_form_for_all_providers(api: str) -> None:
    (citation,) = APIS[api].decode(BODIES[api][0]).citations
    assert (citation.url, citation.title, isinstance(citation.span, Span)) == ("https://a.example", "A", True)


def test_s2_27_a_provider_may_have_more_typed_tools_and_an_unknown_one_is_sent_as_it_is() -> None:
    for vendor, least in (("anthropic", 20), ("openai", 15), ("google", 10)):
        assert len(DIALECTS[vendor].provider_tools) >= least
    made = prepared("openai_responses", "gpt-5.1", ProviderTool("openai.dig_20991231", {"depth": 3}))
    assert made.encoded is not None
    assert made.encoded.body["tools"] == [{"type": "dig_20991231", "depth": 3}]
    assert [note.tool for note in made.notes] == ["openai.dig_20991231"]
    assert APIS["openai_responses"].validate(Request("gpt-5.1", (user("Hi"),))) == ()
