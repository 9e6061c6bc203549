"""Tools a provider defines, as one request offers them: checked settings, versions side by side, reserved names."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import ProviderTool, Tool, Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade, Orchestrator, ScriptedEngine
from dragoman.engine.offer import Note
from dragoman.errors import DefinitionError
from dragoman.model import (
    Call,
    ExecutedBy,
    FreeformDefinition,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    PagesOutcome,
    ProviderDefinition,
    ToolChoice,
    operations as op,
)
from dragoman.registry import TOOLS

SEARCH = "anthropic.web_search_20250305"


def offered(*tools: Any, dialect: str = "plain", **settings: Any) -> Facade:
    found = DIALECTS[dialect]
    return Facade(found if not settings else found.at(**settings), Toolset(tools))


def function(name: str) -> Tool:
    return Tool(name, "Does something.", {"type": "object"}, lambda _: None)


def test_a_tool_of_the_catalogue_goes_out_as_its_row_says_with_its_settings() -> None:
    settings = {"max_uses": 3, "user_location": {"type": "approximate", "city": "Utrecht"}}
    facade = offered(ProviderTool(SEARCH, settings))
    assert facade.definitions == (ProviderDefinition(SEARCH, "web_search_20250305", "web_search", settings),)
    assert facade.notes == ()


def test_settings_are_checked_and_every_problem_is_named() -> None:
    with pytest.raises(DefinitionError) as caught:
        offered(ProviderTool(SEARCH, {"max_uses": "3", "user_location": {"city": 7}}))
    assert caught.value.subject == f"provider tool {SEARCH!r}"
    assert sorted(caught.value.problems) == [
        'settings.max_uses must be an integer, not "3"',
        "settings.user_location.city must be a string, not 7",
        "settings.user_location.type is required",
    ]


def test_a_setting_that_must_be_there_is_missed_and_its_nearest_name_shown() -> None:
    with pytest.raises(DefinitionError) as caught:
        offered(ProviderTool("anthropic.computer_20250124", {"display_width": 800, "display_height_px": 600}))
    assert list(caught.value.problems) == ['settings.display_width_px is required; is it given as "display_width"?']


def test_a_setting_that_is_not_known_is_sent_and_noted() -> None:
    settings = {"max_use": 3, "user_location": {"type": "approximate", "town": "Utrecht"}}
    facade = offered(ProviderTool(SEARCH, settings))
    assert facade.definitions == (ProviderDefinition(SEARCH, "web_search_20250305", "web_search", settings),)
    assert facade.notes == (
        Note(SEARCH, "its setting 'max_use' is not known and sent as it is. Did you mean \"max_uses\"?"),
        Note(SEARCH, "its setting 'user_location.town' is not known and sent as it is."),
    )


def test_an_id_outside_the_catalogue_is_sent_untouched_and_noted() -> None:
    settings = {"anything": [1, {"at": "all"}]}
    facade = offered(ProviderTool("anthropic.web_search_20990101", settings), ProviderTool("acme.dig", settings))
    assert facade.definitions == (
        ProviderDefinition("anthropic.web_search_20990101", "web_search_20990101", "web_search", settings),
        ProviderDefinition("acme.dig", "dig", "dig", settings),
    )
    sent = "it is sent as it is: no row of the catalogue has this id."
    nearest = ' Did you mean "anthropic.web_search_20260318"?'
    assert facade.notes == (Note("anthropic.web_search_20990101", sent + nearest), Note("acme.dig", sent))


def test_two_versions_stand_side_by_side_unless_a_model_calls_both_by_one_name() -> None:
    newer, older = "anthropic.text_editor_20250728", "anthropic.text_editor_20250124"
    facade = offered(ProviderTool(newer), ProviderTool(older), TOOLS["read_file"])
    assert [one.name for one in facade.definitions] == ["str_replace_based_edit_tool", "str_replace_editor"]
    view = {"command": "view", "path": "a.py"}
    for name in ("str_replace_based_edit_tool", "str_replace_editor"):
        assert facade.read_call(NativeCall("1", name, view)).operations == (op.ReadFile("a.py"),)
    with pytest.raises(DefinitionError, match="both called 'web_search': offer one of them"):
        offered(ProviderTool(SEARCH), ProviderTool("anthropic.web_search_20260318"))


def test_history_is_written_with_the_version_that_was_asked_for() -> None:
    facade = offered(ProviderTool("anthropic.text_editor_20250124"), TOOLS["read_file"], dialect="claude_code")
    native = NativeCall("1", "str_replace_editor", {"command": "view", "path": "a.py"})
    assert facade.write_call("1", op.ReadFile("a.py")) == (native,)


def test_a_function_gives_way_to_every_name_a_row_takes() -> None:
    facade = offered(
        ProviderTool("anthropic.code_execution_20250825"), function("code_execution"), function("bash_code_execution")
    )
    names = [facade.names.offer(name) for name in ("code_execution", "bash_code_execution")]
    assert not {"code_execution", "bash_code_execution"}.intersection(names)
    for ours, shown in zip(("code_execution", "bash_code_execution"), names, strict=True):
        assert facade.read_call(NativeCall("1", shown, {})).operations == (op.CallFunction(ours, {}),)


def test_a_function_and_a_hosted_tool_of_one_name_are_told_apart_both_ways() -> None:
    facade = offered(function("web_search"), ProviderTool(SEARCH))
    shown = facade.names.offer("web_search")
    ours, theirs = facade.definitions
    assert isinstance(ours, FunctionDefinition)
    assert (ours.name, theirs.name) == (shown, "web_search")
    called = NativeCall("1", "web_search", {"query": "tea"}, executed_by=ExecutedBy.PROVIDER)
    assert facade.read_call(called) == Call("1", (op.SearchWeb("tea"),), called)
    assert facade.choice(ToolChoice("one", ("web_search",))).names == (shown,)
    assert facade.choice(ToolChoice("one", (SEARCH,))).names == ("web_search",)


def test_a_hosted_tool_the_vocabularys_and_a_function_of_one_name_stand_side_by_side() -> None:
    facade = offered(TOOLS["search_web"], function("web_search"), ProviderTool(SEARCH))
    worded, ours, theirs = (str(one.name) for one in facade.definitions)
    assert theirs == "web_search"
    assert len({worded, ours, theirs}) == 3
    assert facade.read_call(NativeCall("1", worded, {"query": "tea"})).operations == (op.SearchWeb("tea"),)
    assert facade.read_call(NativeCall("1", ours, {"query": "tea"})).operations == (
        op.CallFunction("web_search", {"query": "tea"}),
    )
    assert [call.name for call in facade.write_call("1", op.SearchWeb("tea"))] == [worded]


def test_plain_words_that_gave_way_to_a_hosted_tool_are_read_and_written_under_their_new_name() -> None:
    facade = offered(TOOLS["search_web"], ProviderTool(SEARCH), dialect="opencode")
    worded, theirs = (str(one.name) for one in facade.definitions)
    assert (worded != theirs, theirs) == (True, "web_search")
    native = NativeCall("1", worded, {"query": "tea"})
    assert facade.read_call(native) == Call("1", (op.SearchWeb("tea"),), native)
    assert facade.write_call("1", op.SearchWeb("tea")) == (native,)
    assert facade.choice(ToolChoice("one", ("search_web",))).names == (worded,)


def test_plain_words_that_gave_way_to_the_vocabularys_leave_it_its_name() -> None:
    facade = offered(TOOLS["read_file"], TOOLS["read_files"], dialect="cline")
    native, worded = (str(one.name) for one in facade.definitions)
    assert native == "read_files"
    assert [call.name for call in facade.write_call("1", op.ReadFile("a.py"))] == [native]
    assert [call.name for call in facade.write_call("1", op.ReadFiles(("a.py", "b.py")))] == [worded]
    assert facade.choice(ToolChoice("one", ("read_file",))).names == (native,)
    assert facade.choice(ToolChoice("one", ("read_files",))).names == (worded,)
    assert facade.read_call(NativeCall("1", worded, {"patterns": ["a.py"]})).operations == (op.ReadFiles(("a.py",)),)


def test_a_callers_tool_whose_input_is_text_is_run_by_the_function_of_its_name() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: A"}
    custom = ProviderTool("openai.custom", {"name": "sum", "description": "Adds.", "format": grammar})
    adds = Tool("sum", "Adds.", {"type": "object", "properties": {"term": {"type": "string"}}}, lambda _: None)
    facade = offered(custom, adds)
    assert facade.definitions == (FreeformDefinition("sum", "Adds.", "lark", "start: A"),)
    assert facade.notes == ()
    native = NativeCall("1", "sum", "1 + 1")
    assert facade.read_call(native) == Call("1", (op.CallFunction("sum", {"term": "1 + 1"}),), native)
    assert facade.write_call("1", op.CallFunction("sum", {"term": "1 + 1"})) == (native,)
    assert facade.choice(ToolChoice("one", ("sum",))).names == ("sum",)


def test_a_callers_tool_whose_input_is_text_is_noted_when_nobody_runs_it() -> None:
    facade = offered(ProviderTool("openai.custom", {"name": "sum"}))
    told = "it is run here, and no function of that name takes one parameter, its text"
    assert facade.notes == (Note("sum", told),)


def test_a_shell_in_a_container_of_the_providers_stands_for_none_of_ours() -> None:
    hosted = ProviderTool("openai.shell", {"environment": {"type": "container_auto"}})
    facade = offered(hosted, TOOLS["run_command"])
    assert [one.name for one in facade.definitions] == ["run_command", "shell"]
    assert [call.name for call in facade.write_call("1", op.RunCommand("ls"))] == ["run_command"]
    assert offered(hosted).notes == ()


@pytest.mark.parametrize("dialect", ["plain", "claude_code", "codex", "anthropic"])
def test_what_the_provider_ran_is_read_by_its_own_dialect_whatever_the_vocabulary(dialect: str) -> None:
    facade = offered(ProviderTool(SEARCH), dialect=dialect)
    call = facade.read_call(NativeCall("1", "web_search", {"query": "tea"}, executed_by=ExecutedBy.PROVIDER))
    assert call.operations == (op.SearchWeb("tea"),)
    block = {"type": "web_search_tool_result", "tool_use_id": "1", "content": []}
    native = NativeResult("1", "", executed_by=ExecutedBy.PROVIDER, item=block)
    assert facade.read_result(call, native).outcomes == (PagesOutcome((), query="tea"),)


@pytest.mark.parametrize("name", ["bash", "advisor"])
def test_a_vocabularys_own_tool_is_read_by_it_though_the_provider_has_one_of_that_name(name: str) -> None:
    facade = offered(ProviderTool(SEARCH), TOOLS["run_command"], dialect="opencode")
    read = facade.read_call(NativeCall("1", name, {"command": "ls", "description": "List"}))
    if name == "bash":
        assert read.operations == (op.RunCommand("ls", purpose="List"),)
    else:
        assert read.failure is not None
        assert read.failure.kind == "unknown_tool"


def test_a_tool_we_run_stands_for_the_tools_that_run_it() -> None:
    facade = offered(
        ProviderTool("anthropic.bash_20250124"), TOOLS["run_command"], TOOLS["read_file"], dialect="claude_code"
    )
    assert [one.name for one in facade.definitions] == ["Read", "bash"]
    native = NativeCall("1", "bash", {"command": "ls"})
    assert facade.read_call(native) == Call("1", (op.RunCommand("ls", job="bash"),), native)
    assert facade.write_call("1", op.RunCommand("ls")) == (native,)
    assert facade.choice(ToolChoice("one", ("run_command",))).names == ("bash",)
    assert facade.notes == ()


def test_the_memory_stands_for_nothing_else() -> None:
    facade = offered(ProviderTool("anthropic.memory_20250818"), TOOLS["read_file"], dialect="claude_code")
    assert [one.name for one in facade.definitions] == ["Read", "memory"]
    assert facade.write_call("1", op.ReadFile("a.py")) == (NativeCall("1", "Read", {"file_path": "a.py"}),)


def test_a_tool_we_run_without_a_tool_that_runs_it_is_noted() -> None:
    facade = offered(ProviderTool("anthropic.bash_20250124"), TOOLS["read_file"])
    denied = "it is run here, and no tool of this set runs any of its calls: all are denied"
    assert facade.notes == (Note("anthropic.bash_20250124", denied),)


def test_a_version_a_family_does_not_have_is_offered_and_noted() -> None:
    facade = offered(
        ProviderTool("anthropic.text_editor_20241022"),
        TOOLS["read_file"],
        dialect="anthropic",
        family="claude-opus-5",
    )
    assert [one.name for one in facade.definitions] == ["str_replace_editor"]
    unknown = "claude-opus-5 is not known to have it"
    assert facade.notes == (Note("anthropic.text_editor_20241022", unknown),)


def test_one_tool_of_a_provider_may_be_there_for_two_servers() -> None:
    servers = [
        ProviderTool("anthropic.mcp_toolset", {"mcp_server_name": name}, label=name) for name in ("wiki", "shop")
    ]
    facade = offered(*servers, function("ask"))
    assert facade.definitions[1:] == tuple(
        ProviderDefinition("anthropic.mcp_toolset", "mcp_toolset", None, {"mcp_server_name": name})
        for name in ("wiki", "shop")
    )
    item = {"type": "mcp_tool_use", "server_name": "shop"}
    native = NativeCall("1", "ask", {"q": 1}, None, ExecutedBy.PROVIDER, item)
    assert facade.read_call(native).operations == (op.CallMcpTool("shop", "ask", {"q": 1}),)
    assert facade.read_call(NativeCall("2", "ask", {})).operations == (op.CallFunction("ask", {}),)
    assert facade.toolset.names == ("anthropic.mcp_toolset:wiki", "anthropic.mcp_toolset:shop", "ask")


def test_a_member_of_a_toolset_is_read_by_the_name_of_its_toolset() -> None:
    facade = offered(ProviderTool("anthropic.computer_toolset_20260801", {"configs": {"zoom": {"enabled": False}}}))
    assert facade.definitions[0].name is None
    arguments = {"coordinate": [1, 2]}
    call = facade.read_call(NativeCall("1", "left_click", arguments, namespace="computer"))
    assert call.operations == (op.UseComputer("left_click", arguments),)
    nobody = facade.read_call(NativeCall("1", "left_click", arguments))
    assert nobody.failure is not None
    assert nobody.failure.kind == "unknown_tool"


# ── typed settings ───────────────────────────────────────────────────────────


def test_settings_of_a_type_are_sent_as_a_mapping_of_them_would_be() -> None:
    from dragoman.dialects import anthropic, google, openai

    pairs: list[tuple[ProviderTool, ProviderTool]] = [
        (
            ProviderTool("openai.web_search", openai.WebSearchSettings(search_context_size="low")),
            ProviderTool("openai.web_search", {"search_context_size": "low"}),
        ),
        (
            ProviderTool(
                "anthropic.web_search_20250305",
                anthropic.WebSearchSettings(
                    max_uses=3, user_location=anthropic.UserLocation(type="approximate", city="Rome")
                ),
            ),
            ProviderTool(
                "anthropic.web_search_20250305",
                {"max_uses": 3, "user_location": {"type": "approximate", "city": "Rome"}},
            ),
        ),
        (
            ProviderTool("google.file_search", google.FileSearchSettings(file_search_store_names=("a",), top_k=3)),
            ProviderTool("google.file_search", {"fileSearchStoreNames": ["a"], "topK": 3}),
        ),
    ]
    for typed, plain in pairs:
        assert (typed, typed.snapshot(), hash(typed)) == (plain, plain.snapshot(), hash(plain))


def test_settings_of_another_tool_are_refused() -> None:
    from dragoman.dialects import openai

    wrong: Any = openai.FileSearchSettings(vector_store_ids=("a",))
    run = Orchestrator(ScriptedEngine([]), [ProviderTool("openai.web_search", wrong)])
    with pytest.raises(DefinitionError, match="it takes WebSearchSettings, not FileSearchSettings"):
        run.prepare("hi")
