"""What a request offers, under which names, and the way back."""

from __future__ import annotations

import pytest

from dragoman import ProviderTool, Tool, Toolset, tool
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.errors import DefinitionError, Unspeakable
from dragoman.model import (
    Call,
    Failure,
    FileOutcome,
    FunctionDefinition,
    JsonOutcome,
    Limits,
    NativeCall,
    ToolChoice,
    operations as op,
)


def standard(operation: type[op.Operation]) -> Tool:
    """A tool for an operation that is never run here."""
    return Tool.from_operation(operation, lambda said: None)


@tool
def web_search(topic: str) -> str:
    """Look a topic up in our own books.

    Args:
        topic: The topic.
    """
    return topic


@tool
def greet(name: str) -> str:
    """Greet somebody.

    Args:
        name: Who.
    """
    return f"Hello {name}"


def test_operations_are_offered_in_the_words_of_the_dialect_and_functions_in_their_own() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), greet]))
    assert [definition.name for definition in facade.definitions] == ["read_file", "greet"]
    assert facade.notes == ()


def test_a_call_is_read_whoever_it_is_for() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), greet]))
    native = NativeCall("1", "read_file", {"file_path": "a.py", "start_line": 2})
    assert facade.read_call(native) == Call("1", (op.ReadFile("a.py", first_line=2),), native)
    native = NativeCall("2", "greet", {"name": "Ada"})
    assert facade.read_call(native) == Call("2", (op.CallFunction("greet", {"name": "Ada"}),), native)


def test_an_operation_the_dialect_cannot_say_is_offered_in_plain_words_and_noted() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), standard(op.MoveFile)]))
    assert [definition.name for definition in facade.definitions] == ["read_file", "move_file"]
    assert [note.tool for note in facade.notes] == ["move_file"]
    native = NativeCall("1", "move_file", {"path": "a", "to": "b"})
    call = facade.read_call(native)
    assert call.operations == (op.MoveFile("a", "b"),)
    assert facade.write_call("1", op.MoveFile("a", "b")) == (native,)


def test_strict_refuses_what_the_dialect_cannot_say() -> None:
    with pytest.raises(Unspeakable, match="move_file"):
        Facade(DIALECTS["gemini_cli"], Toolset([standard(op.MoveFile)]), strict=True)


def test_a_function_with_the_name_of_a_native_tool_is_renamed_and_turned_back() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([standard(op.SearchWeb), web_search]))
    offered = facade.names.offer("web_search")
    assert offered != "web_search"
    assert [definition.name for definition in facade.definitions] == ["web_search", offered]
    assert facade.read_call(NativeCall("1", offered, {"topic": "tea"})).operations == (
        op.CallFunction("web_search", {"topic": "tea"}),
    )
    assert facade.read_call(NativeCall("2", "web_search", {"query": "tea"})).operations == (op.SearchWeb("tea"),)
    assert [note.tool for note in facade.notes] == ["web_search"]


def test_a_provider_tool_keeps_its_name_and_a_function_gives_way() -> None:
    hosted = ProviderTool("anthropic.web_search_20250305", {"max_uses": 3})
    facade = Facade(DIALECTS["plain"], Toolset([web_search, hosted]))
    names = [definition.name for definition in facade.definitions]
    assert names == [facade.names.offer("web_search"), "web_search"]
    assert facade.choice(ToolChoice("one", ("web_search",))).names == (facade.names.offer("web_search"),)
    assert facade.choice(ToolChoice("one", (hosted.id,))).names == ("web_search",)


def test_names_are_the_same_under_any_order_of_tools() -> None:
    limits = Limits(name_length=20)
    longs = [Tool(f"a_name_that_is_much_too_long_{n}", "d", {"type": "object"}, lambda _: None) for n in range(3)]
    one = Facade(DIALECTS["plain"], Toolset(longs), limits).names
    other = Facade(DIALECTS["plain"], Toolset(longs[::-1]), limits).names
    assert one.offered == other.offered
    assert len(set(one.offered.values())) == 3
    assert all(len(name) <= 20 for name in one.offered.values())


def test_a_name_that_an_api_refuses_is_offered_to_it_under_another() -> None:
    dotted = Tool("math.factorial", "d", {"type": "object"}, lambda _: None)
    toolset = Toolset([dotted, Tool("n" * 100, "d", {"type": "object"}, lambda _: None)])
    gemini = Facade(DIALECTS["plain"], toolset, Limits(name_length=64, name_pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*"))
    openai = Facade(DIALECTS["plain"], toolset, Limits(name_length=64, name_pattern=r"[a-zA-Z0-9_-]+"))
    assert gemini.names.offer("math.factorial") == "math.factorial"
    assert [note.message.partition(": ")[2] for note in openai.notes] == [
        "the name has characters that are not allowed",
        "names are at most 64 characters",
    ]
    for name in ("math.factorial", "n" * 100):
        call = NativeCall("1", openai.names.offer(name), {})
        assert openai.read_call(call).operations == (op.CallFunction(name, {}),)


def test_names_that_differ_only_in_case_are_told_apart() -> None:
    tools = [Tool(name, "d", {"type": "object"}, lambda _: None) for name in ("Fetch", "fetch")]
    names = Facade(DIALECTS["plain"], Toolset(tools)).names
    assert len({names.offer("Fetch").casefold(), names.offer("fetch").casefold()}) == 2


def test_an_unknown_tool_is_a_failure_that_names_the_nearest() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), greet]))
    call = facade.read_call(NativeCall("1", "gret", {}))
    assert isinstance(call.failure, Failure)
    assert (call.failure.kind, call.operations) == ("unknown_tool", ())
    assert 'Did you mean "greet"?' in call.failure.message


def test_arguments_of_a_function_that_are_no_object_are_a_typed_failure() -> None:
    call = Facade(DIALECTS["plain"], Toolset([greet])).read_call(NativeCall("1", "greet", '{"name": '))
    assert call.failure is not None
    assert call.failure.kind == "invalid_arguments"


def test_results_are_told_in_the_words_of_the_tool_that_was_called() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), greet]))
    call = facade.read_call(NativeCall("1", "read_file", {"file_path": "a.py"}))
    told = facade.write_result(call, (FileOutcome("a.py", "x = 1\n"),))
    assert (told.call_id, told.name, told.content) == ("1", "read_file", "x = 1\n")
    assert facade.read_result(call, told).outcomes == (FileOutcome("a.py", "x = 1\n"),)
    call = facade.read_call(NativeCall("2", "greet", {"name": "Ada"}))
    assert facade.write_result(call, (JsonOutcome({"a": 1}),)).name == "greet"


def test_a_choice_may_name_an_operation_and_an_unknown_name_is_refused() -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([standard(op.ReadFile), greet]))
    assert facade.choice(ToolChoice("one", ("read_file",))) == ToolChoice("one", ("read_file",))
    with pytest.raises(DefinitionError, match='Did you mean "greet"'):
        facade.choice(ToolChoice("one", ("grete",)))


def test_more_tools_than_the_api_takes_are_refused_before_anything_is_sent() -> None:
    tools = [Tool(f"t{n}", "d", {"type": "object"}, lambda _: None) for n in range(3)]
    with pytest.raises(DefinitionError, match="3 tools are offered; this API takes 2"):
        Facade(DIALECTS["plain"], Toolset(tools), Limits(tools=2))


def test_a_tool_of_ours_is_never_offered_as_one_the_provider_runs() -> None:
    from dragoman.registry import TOOLS

    facade = Facade(DIALECTS["codex"], Toolset([TOOLS["fetch_page"]]))
    assert [definition.name for definition in facade.definitions] == ["web_fetch"]
    assert [note.tool for note in facade.notes] == ["fetch_page"]
    with pytest.raises(Unspeakable):
        Facade(DIALECTS["codex"], Toolset([TOOLS["fetch_page"]]), strict=True)


def test_what_is_offered_in_plain_words_is_read_in_them_though_the_dialect_knew_that_name() -> None:
    facade = Facade(DIALECTS["codex"], Toolset([standard(op.UpdatePlan)]))
    native = NativeCall("1", "update_plan", {"items": [{"text": "x"}]})
    assert facade.read_call(native).operations == (op.UpdatePlan((op.PlanItem("x"),)),)


def test_history_is_written_with_the_tools_of_the_request() -> None:
    facade = Facade(DIALECTS["claude_code"], Toolset([standard(op.ListDirectory)]))
    written = facade.write_call("1", op.ListDirectory("src", depth=2))
    assert written == (NativeCall("1", "vfs_list", {"folder": "src", "depth": 2}),)


def test_a_function_named_like_a_native_tool_is_told_in_no_tools_words() -> None:
    bash = Tool("Bash", "Bash a thing.", {"type": "object"}, lambda _: None)
    facade = Facade(DIALECTS["claude_code"], Toolset([bash]))
    call = facade.read_call(NativeCall("1", "Bash", {"command": "ls"}))
    told = facade.write_result(call, (JsonOutcome({"a": 1}),))
    assert told.content == '{"a":1}'
    assert facade.read_result(call, told).outcomes == (JsonOutcome({"a": 1}),)


def test_a_parameter_our_tool_does_not_honour_is_not_offered_for_it() -> None:
    from dragoman.registry import TOOLS

    def offered(tool: Tool) -> set[str]:
        (definition,) = Facade(DIALECTS["claude_code"], Toolset([tool])).definitions
        assert isinstance(definition, FunctionDefinition)
        return set(definition.parameters["properties"])

    assert "dangerouslyDisableSandbox" not in offered(TOOLS["run_command"])
    assert "dangerouslyDisableSandbox" in offered(standard(op.RunCommand))


def test_a_tool_beside_a_provider_tool_of_its_name_is_told_apart_and_heard() -> None:
    hosted = ProviderTool("anthropic.web_search_20250305")
    facade = Facade(DIALECTS["plain"], Toolset([standard(op.SearchWeb), hosted]))
    renamed, kept = (str(definition.name) for definition in facade.definitions)
    assert kept == "web_search"
    native = NativeCall("1", renamed, {"query": "tea"})
    call = facade.read_call(native)
    assert call == Call("1", (op.SearchWeb("tea"),), native)
    assert facade.write_call("1", op.SearchWeb("tea")) == (native,)
    assert facade.write_result(call, (JsonOutcome(1),)).name == renamed
    assert facade.choice(ToolChoice("one", ("search_web",))).names == (renamed,)


def test_a_choice_of_an_operation_that_is_not_offered_is_refused() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([standard(op.ReadFile)]))
    with pytest.raises(DefinitionError, match="run_command"):
        facade.choice(ToolChoice("one", ("run_command",)))


def test_names_too_short_to_be_told_apart_are_refused() -> None:
    long = Tool("a_long_name_", "d", {"type": "object"}, lambda _: None)
    with pytest.raises(DefinitionError, match="too short"):
        Facade(DIALECTS["plain"], Toolset([long]), Limits(name_length=8))
