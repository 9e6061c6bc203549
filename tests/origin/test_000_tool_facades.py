"""The document on tool facades: one tool under each model's own name and schema, done by one implementation.

Every table, schema and example call of it, in its order. `docs/origin.md` lists its requirements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dragoman import NativeCall, Toolset
from dragoman.dialects import DIALECTS, Spelling, WebAction, means
from dragoman.dialects.plugins import check, dialect_from_file
from dragoman.engine import Facade, HttpEngine, Orchestrator, ScriptedEngine
from dragoman.engine.transport import Transport
from dragoman.model import (
    Call,
    CallPart,
    Failure,
    FileOutcome,
    FinishReason,
    FunctionDefinition,
    MatchesOutcome,
    Page,
    PagesOutcome,
    Reply,
    Request,
    operations as op,
    user,
)
from dragoman.registry import APIS, TOOLS
from dragoman.tools import Context, MemoryWorkspace, Web, perform, standard_context
from tests.engine.loopback import Raw, Turn, loopback
from tests.tools.pages import serving

STANDARD = {
    # The document's nine tools as operations.
    "web_search": "search_web",
    "web_fetch": "fetch_page",
    "Bash": "run_command",
    "Grep": "search_text",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "Glob": "find_files",
    "ls": "list_directory",
}


def offered(dialect: str, *operations: str, version: str | None = None) -> dict[str, FunctionDefinition]:
    """What a model that speaks this dialect is offered for these operations, by name."""
    facade = Facade(DIALECTS[dialect].at(version), Toolset([TOOLS[one] for one in operations]))
    return {one.name: one for one in facade.definitions if isinstance(one, FunctionDefinition)}


def meant(dialect: str, name: str, arguments: dict[str, Any]) -> tuple[op.Operation, ...]:
    """What a call in this dialect means."""
    call: Call = DIALECTS[dialect].read_call(NativeCall("1", name, arguments))
    assert call.failure is None, call.failure
    return call.operations


def refused(dialect: str, name: str, arguments: dict[str, Any]) -> Failure:
    """Why a call in this dialect cannot be read."""
    call: Call = DIALECTS[dialect].read_call(NativeCall("1", name, arguments))
    assert (call.operations, call.failure is None) == ((), False)
    assert call.failure is not None
    return call.failure


def words_in(schema: Any) -> set[str]:
    """Every key of a schema, at any depth."""
    if isinstance(schema, dict):
        return {*schema, *(word for value in schema.values() for word in words_in(value))}
    return {word for value in schema for word in words_in(value)} if isinstance(schema, list) else set()


# ── our tools and those of Gemini CLI ────────────────────────────────────────


def test_s0_1_web_search_is_google_web_search_with_a_query_alone() -> None:
    (search,) = offered("gemini_cli", "search_web").values()
    assert (search.name, list(search.parameters["properties"])) == ("google_web_search", ["query"])


def test_s0_2_searching_opening_and_finding_is_one_tool_and_fetching_a_tool_of_its_own() -> None:
    one = DIALECTS["claude_code"].but(WebAction)
    tools = Toolset([TOOLS["search_web"], TOOLS["fetch_page"], TOOLS["find_in_page"]])
    assert "web_search" in [definition.name for definition in Facade(one, tools).definitions]
    assert set(offered("gemini_cli", "search_web", "fetch_page")) == {"google_web_search", "web_fetch"}


def test_s0_3_bash_is_run_shell_command() -> None:
    same_meaning("Bash", "run_shell_command", {"command": "ls -l"}, {"command": "ls -l"})


def test_s0_4_grep_is_search_file_content() -> None:
    same_meaning("Grep", "search_file_content", {"pattern": "def .*", "output_mode": "content"}, {"pattern": "def .*"})


def test_s0_4_the_old_name_of_grep_is_offered_to_the_versions_that_had_it_and_always_read() -> None:
    assert list(offered("gemini_cli", "search_text", version="0.24.0")) == ["search_file_content"]
    assert list(offered("gemini_cli", "search_text")) == ["grep_search"]


def test_s0_5_read_is_read_file() -> None:
    same_meaning("Read", "read_file", {"file_path": "a.py"}, {"file_path": "a.py"})


def test_s0_6_write_is_write_file() -> None:
    said = {"file_path": "a.py", "content": "x = 1\n"}
    same_meaning("Write", "write_file", said, said)


def test_s0_7_edit_is_replace() -> None:
    said = {"file_path": "a.py", "old_string": "old", "new_string": "new"}
    same_meaning("Edit", "replace", said, {**said, "instruction": ""})


def test_s0_8_glob_is_glob() -> None:
    same_meaning("Glob", "glob", {"pattern": "**/*.py"}, {"pattern": "**/*.py"})


def test_s0_9_ls_is_list_directory() -> None:
    same_meaning("LS", "list_directory", {"path": "src"}, {"dir_path": "src"})


def same_meaning(ours: str, theirs: str, said: dict[str, Any], said_there: dict[str, Any]) -> None:
    (here,), (there,) = meant("claude_code", ours, said), meant("gemini_cli", theirs, said_there)
    assert type(here) is type(there)
    assert getattr(here, here.__struct_fields__[0]) == getattr(there, there.__struct_fields__[0])


# ── what the models differ in ────────────────────────────────────────────────


def test_s0_10_gemini_is_offered_no_one_of() -> None:
    definitions = offered("gemini_cli", *TOOLS).values()
    assert definitions
    for definition in definitions:
        request = Request("gemini-2.5-pro", (user("Hi"),), (definition,))
        body = APIS["gemini_generate"].encode(request).body["tools"]
        assert not words_in(body) & {"oneOf", "allOf", "const"}, definition.name


def test_s0_11_parameters_are_flat_for_gemini_and_nested_for_claude_and_mean_the_same() -> None:
    nested = {"action": {"type": "search", "query": "tea"}}
    assert meant("gemini_cli", "google_web_search", {"query": "tea"}) == (op.SearchWeb("tea"),)
    claude = DIALECTS["claude_code"].but(WebAction)
    assert claude.read_call(NativeCall("1", "web_search", nested)).operations == (op.SearchWeb("tea"),)


def test_s0_12_the_tools_of_one_toolset_are_named_in_each_models_way() -> None:
    tools = [STANDARD[name] for name in ("Bash", "Grep", "Read", "Write", "Edit", "Glob")]
    assert set(offered("claude_code", *tools)) >= {"Bash", "Grep", "Read", "Write", "Edit", "Glob"}
    assert set(offered("gemini_cli", *tools, version="0.24.0")) == {
        *("run_shell_command", "search_file_content", "read_file", "write_file", "replace", "glob")
    }


def test_s0_13_one_tool_may_be_several_meanings_and_one_call_several_operations() -> None:
    claude = DIALECTS["claude_code"].but(WebAction)
    assert {*WebAction.operation_types} == {op.SearchWeb, op.FetchPage, op.FindInPage}
    assert claude.read_call(
        NativeCall("1", "web_search", {"action": {"type": "open_page", "url": "https://a.example"}})
    ).operations == (op.FetchPage("https://a.example"),)
    prompt = "https://a.example and https://b.example compare them"
    assert [page.url for page in pages(meant("gemini_cli", "web_fetch", {"prompt": prompt}))] == [
        "https://a.example",
        "https://b.example",
    ]


def pages(operations: Iterable[op.Operation]) -> list[op.FetchPage]:
    return [one for one in operations if isinstance(one, op.FetchPage)]


# ── the layers ───────────────────────────────────────────────────────────────


def test_s0_14_four_facades_stand_over_one_implementation() -> None:
    facades = {"Claude": "claude_code", "Gemini": "gemini_cli", "OpenAI": "openai", "Codex": "codex"}
    for dialect in facades.values():
        facade = Facade(DIALECTS[dialect], Toolset([TOOLS["run_command"]]))
        (said,) = facade.write_call("1", op.RunCommand("echo tea"))
        assert facade.read_call(said).operations == (op.RunCommand("echo tea"),)


@pytest.mark.parametrize("dialect", ["claude_code", "gemini_cli"])
def test_s0_15_a_facade_knows_its_provider_and_the_name_the_provider_expects(dialect: str) -> None:
    vocabulary = DIALECTS[dialect]
    assert vocabulary.name == dialect
    names = {"claude_code": "WebSearch", "gemini_cli": "google_web_search"}
    assert names[dialect] in [one.native_name for one in vocabulary.spellings if op.SearchWeb in one.operation_types]


def test_s0_16_a_facade_defines_its_tool_for_the_provider() -> None:
    definition = offered("gemini_cli", "search_web")["google_web_search"]
    assert (definition.name, bool(definition.description), definition.parameters["type"]) == (
        "google_web_search",
        True,
        "object",
    )


def test_s0_17_a_facade_maps_the_providers_parameters_or_says_why_it_cannot() -> None:
    assert meant("gemini_cli", "google_web_search", {"query": "tea"}) == (op.SearchWeb("tea"),)
    assert refused("gemini_cli", "google_web_search", {"query": ["tea", {}]}).kind == "invalid_arguments"


def test_s0_18_the_registry_gives_the_tools_of_one_provider() -> None:
    assert DIALECTS["gemini_cli"].speaks(op.SearchWeb)
    of_gemini = {one.native_name for one in DIALECTS["gemini_cli"].spellings}
    of_claude = {one.native_name for one in DIALECTS["claude_code"].spellings}
    assert {"google_web_search", "web_fetch", "run_shell_command"} <= of_gemini
    assert {"Bash", "Grep", "Read"} <= of_claude
    assert not {"Bash", "Grep", "Read"} & of_gemini
    assert "google_web_search" not in of_claude


# ── the web, for Claude ──────────────────────────────────────────────────────


def test_s0_19_claude_can_be_offered_one_web_search_with_an_action() -> None:
    claude = DIALECTS["claude_code"].but(WebAction)
    tools = Toolset([TOOLS["search_web"], TOOLS["fetch_page"], TOOLS["find_in_page"]])
    (definition,) = [one for one in Facade(claude, tools).definitions if one.name == "web_search"]
    assert isinstance(definition, FunctionDefinition)
    action = definition.parameters["properties"]["action"]
    assert definition.parameters["required"] == ["action"]
    assert set(action["properties"]) == {"type", "query", "url", "pattern"}
    assert action["properties"]["type"]["enum"] == ["search", "open_page", "find_in_page"]
    assert not words_in(definition.parameters) & {"oneOf"}


@pytest.mark.parametrize("dialect", ["claude_code", "anthropic"])
@pytest.mark.parametrize(
    "action, operation",
    [
        ({"type": "search", "query": "..."}, op.SearchWeb("...")),
        ({"type": "open_page", "url": "https://a.example"}, op.FetchPage("https://a.example")),
        (
            {"type": "find_in_page", "url": "https://a.example", "pattern": "tea"},
            op.FindInPage("https://a.example", "tea"),
        ),
    ],
)
def test_s0_20_claudes_nested_actions_are_a_search_an_open_page_and_a_find(
    dialect: str, action: dict[str, str], operation: op.Operation
) -> None:
    assert meant(dialect, "web_search", {"action": action}) == (operation,)


@pytest.mark.parametrize("said", [{"action": {"type": "search"}}, {"action": {"type": "open_page"}}, {}])
def test_s0_20_an_action_without_what_it_needs_is_refused(said: dict[str, Any]) -> None:
    assert refused("claude_code", "web_search", said).kind == "invalid_arguments"


# ── the web, for Gemini ──────────────────────────────────────────────────────


def test_s0_21_google_web_search_is_defined_with_one_required_query() -> None:
    parameters = offered("gemini_cli", "search_web")["google_web_search"].parameters
    assert (parameters["type"], parameters["required"]) == ("object", ["query"])
    assert parameters["properties"]["query"]["type"] == "string"
    assert parameters["properties"]["query"]["description"]


def test_s0_22_a_query_of_gemini_is_a_search() -> None:
    assert meant("gemini_cli", "google_web_search", {"query": "..."}) == (op.SearchWeb("..."),)


def test_s0_23_a_search_without_its_query_is_refused_naming_tool_and_parameter() -> None:
    failure = refused("gemini_cli", "google_web_search", {})
    assert failure.kind == "invalid_arguments"
    assert "google_web_search" in failure.message
    assert failure.details["problems"] == [{"path": "query", "message": "is required"}]


def test_s0_24_web_fetch_is_defined_with_one_required_prompt() -> None:
    parameters = offered("gemini_cli", "fetch_page")["web_fetch"].parameters
    assert (parameters["type"], list(parameters["properties"])) == ("object", ["prompt"])
    assert parameters["required"] == ["prompt"]
    assert parameters["properties"]["prompt"]["type"] == "string"
    assert "URL" in parameters["properties"]["prompt"]["description"]


def test_s0_25_the_url_in_a_prompt_is_the_page_to_open() -> None:
    (page,) = pages(meant("gemini_cli", "web_fetch", {"prompt": "https://example.com summarize this"}))
    assert page.url == "https://example.com"


def test_s0_26_a_prompt_without_a_url_is_refused() -> None:
    failure = refused("gemini_cli", "web_fetch", {"prompt": "summarize this"})
    assert (failure.kind, "URL" in failure.message) == ("invalid_arguments", True)


SHOP = Raw(body=b"<p>The price is 40 euros. The colour is red.</p>", content_type="text/html")


@pytest.mark.parametrize(
    "api, model, name, prompt",
    [
        ("gemini_generate", "gemini-2.5-pro", "web_fetch", lambda url: {"prompt": f"{url} say only the price"}),
        (
            *("anthropic_messages", "claude-sonnet-4-5", "WebFetch"),
            lambda url: {"url": url, "prompt": "say only the price"},
        ),
    ],
)
async def test_s0_27_the_instructions_beside_a_url_are_followed(api: str, model: str, name: str, prompt: Any) -> None:
    async with loopback(SHOP) as shop:
        script = (Turn(calls=(("1", name, prompt(shop.url)),)), Turn(text="40 euros"), Turn(text="Done."))
        async with loopback(*script) as server:
            run = Orchestrator(
                HttpEngine(api, Transport(server.url)),
                [TOOLS["fetch_page"]],
                model_name=model,
                context=Context(workspace=MemoryWorkspace(), provides={Web: Web(allow_private=True)}),
            )
            result = await run.run("What does it cost?")
            await run.close()
    _, reading, last = (json.dumps(heard.body) for heard in server.requests)
    assert ("The colour is red." in reading, "say only the price" in reading) == (True, True)
    assert ("40 euros" in last, "The colour is red." in last) == (True, False)
    assert (result.status, len(result.charged)) == ("completed", 3)


@pytest.mark.parametrize("dialect", ["gemini_cli", "claude_code"])
def test_s0_27_without_a_model_to_read_the_description_promises_nothing(dialect: str) -> None:
    (definition,) = offered(dialect, "fetch_page").values()
    assert "instructions" not in definition.description
    assert "prompt" not in definition.description


# ── the work itself ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "api, provider, model, search",
    [
        ("anthropic_messages", "anthropic", "claude-sonnet-4-5", "web_search_2"),
        ("openai_responses", "openai", "gpt-5.1", "web_search"),
        ("gemini_generate", "gemini", "gemini-3-pro", "googleSearch"),
        ("gemini_generate", "gemini", "gemini-2.5-pro", "google_web_search"),
    ],
)
def test_s0_28_search_is_there_for_every_provider_that_searches_without_being_told(
    api: str, provider: str, model: str, search: str
) -> None:
    engine = HttpEngine(api, Transport("http://127.0.0.1:9"), provider=provider)
    encoded = Orchestrator(engine, [TOOLS["search_web"], TOOLS["read_file"]], model_name=model).prepare("Hi").encoded
    assert encoded is not None
    assert search in json.dumps(encoded.body["tools"])


async def test_s0_28_a_search_is_performed_whoever_asks() -> None:
    class Found:
        async def search(self, query: str, **_: Any) -> list[Page]:
            return [Page("https://a.example", "Tea", snippet=f"All about {query}.")]

    asked = [
        *meant("gemini_cli", "google_web_search", {"query": "tea"}),
        *meant("claude_code", "web_search", {"action": {"type": "search", "query": "tea"}}),
        *meant("plain", "web_search", {"query": "tea"}),
    ]
    async with standard_context(MemoryWorkspace(), web=Web(search=Found())) as context:
        found = [await perform(one, context) for one in asked]
    assert len(found) == 3
    for outcome in found:
        assert isinstance(outcome, PagesOutcome)
        assert [(page.url, page.snippet) for page in outcome.pages] == [("https://a.example", "All about tea.")]


def test_s0_28_a_search_that_nobody_can_do_is_not_offered() -> None:
    engine = HttpEngine("openai_chat", Transport("http://127.0.0.1:9"), provider="ollama")
    run = Orchestrator(engine, [TOOLS["search_web"], TOOLS["read_file"]], model_name="llama-4")
    assert [one.name for one in run.prepare("Hi").request.definitions] == ["vfs_read"]


async def test_s0_29_pages_are_opened_and_searched_by_one_implementation_whoever_asks() -> None:
    page = {"/tea": "<p>The price is 40 euros.</p><p>The colour is red.</p>"}
    async with (
        serving(page) as site,
        standard_context(MemoryWorkspace(), web=Web(allow=[site.place])) as context,
    ):
        url = site.url("/tea")
        asked = [
            *meant("gemini_cli", "web_fetch", {"prompt": f"open {url}"}),
            *meant("plain", "web_search", {"action": {"type": "open_page", "url": url}}),
        ]
        opened = [await perform(one, context) for one in asked]
        (find,) = meant("plain", "web_search", {"action": {"type": "find_in_page", "url": url, "pattern": "colour"}})
        found = await perform(find, context)
    for outcome in opened:
        assert isinstance(outcome, PagesOutcome)
        assert ["The price is 40 euros." in str(one.text) for one in outcome.pages] == [True]
    assert isinstance(found, MatchesOutcome)
    assert ["The colour is red." in str(match.text) for match in found.matches] == [True]


async def test_s0_30_an_agent_of_a_provider_is_built_with_the_tools_of_that_provider() -> None:
    async with loopback(Turn(calls=(("1", "read_file", {"file_path": "a.txt"}),)), Turn(text="tea")) as server:
        run = Orchestrator(
            HttpEngine("gemini_generate", Transport(server.url), provider="gemini"),
            [TOOLS["read_file"], TOOLS["run_command"]],
            model_name="gemini-2.5-pro",
            system="Be brief.",
            workspace=MemoryWorkspace({"a.txt": "tea\n"}),
        )
        result = await run.run("What does a.txt say?")
        await run.close()
    (declared,) = server.requests[0].body["tools"]
    assert {one["name"] for one in declared["functionDeclarations"]} == {"read_file", "run_shell_command"}
    assert (result.status, result.text) == ("completed", "tea")


@pytest.mark.parametrize("framework", ["openai", "openai-chat", "anthropic", "google-genai"])
def test_s0_30_a_facades_tools_are_wrapped_for_other_frameworks(framework: Any) -> None:
    facade = Facade(DIALECTS["gemini_cli"], Toolset([TOOLS["read_file"], TOOLS["run_command"]]))
    wrapped = json.dumps(list(facade.tools_for(framework)))
    assert ("read_file" in wrapped, "run_shell_command" in wrapped) == (True, True)


# ── the summary ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "dialect, name, said, operation",
    [
        ("plain", "web_search", {"action": {"type": "search", "query": "q"}}, op.SearchWeb("q")),
        ("plain", "web_search", {"action": {"type": "open_page", "url": "https://u"}}, op.FetchPage("https://u")),
        (
            *("plain", "web_search", {"action": {"type": "find_in_page", "url": "https://u", "pattern": "p"}}),
            op.FindInPage("https://u", "p"),
        ),
        ("gemini_cli", "google_web_search", {"query": "q"}, op.SearchWeb("q")),
        ("gemini_cli", "web_fetch", {"prompt": "https://u"}, op.FetchPage("https://u")),
        ("openai", "web_search", {"action": {"type": "search", "query": "q"}}, op.SearchWeb("q")),
    ],
)
def test_s0_31_the_web_search_table(dialect: str, name: str, said: dict[str, Any], operation: op.Operation) -> None:
    assert meant(dialect, name, said) == (operation,)


@pytest.mark.parametrize(
    "dialect, read, write, edit",
    [("claude_code", "Read", "Write", "Edit"), ("gemini_cli", "read_file", "write_file", "replace")],
)
def test_s0_32_the_file_operations_table(dialect: str, read: str, write: str, edit: str) -> None:
    for operation, name in (
        (op.ReadFile("a.py"), read),
        (op.WriteFile("a.py", "x = 1\n"), write),
        (op.EditFile("a.py", (op.Edit("old", "new"),)), edit),
    ):
        (said,) = DIALECTS[dialect].write_call("1", operation)
        assert said.name == name
        assert DIALECTS[dialect].read_call(said).operations == (operation,)


def test_s0_33_the_shell_table() -> None:
    bash = offered("claude_code", "run_command")["Bash"].parameters
    assert (bash["required"], {"command", "timeout"} <= set(bash["properties"])) == (["command"], True)
    shell = offered("gemini_cli", "run_command")["run_shell_command"].parameters
    assert shell["required"] == ["command"]
    assert meant("claude_code", "Bash", {"command": "ls", "timeout": 5000}) == (op.RunCommand("ls", timeout_ms=5000),)
    assert meant("gemini_cli", "run_shell_command", {"command": "ls"}) == (op.RunCommand("ls"),)


def test_s0_34_the_grep_table() -> None:
    grep = offered("claude_code", "search_text")["Grep"].parameters["properties"]
    assert {"content", "files_with_matches", "count"} == set(grep["output_mode"]["enum"])
    assert meant("gemini_cli", "search_file_content", {"pattern": "tea", "path": "src"}) == (
        op.SearchText("tea", "src"),
    )


@pytest.mark.parametrize(
    "operation",
    [
        *("read_file", "write_file", "edit_file", "run_command", "search_text", "find_files", "list_directory"),
        *("search_code", "rewrite_code"),
    ],
)
def test_s0_35_files_shell_search_listing_and_syntax_trees_have_tools_in_every_vocabulary(operation: str) -> None:
    for dialect in ("claude_code", "gemini_cli", "codex", "openai"):
        facade = Facade(DIALECTS[dialect], Toolset([TOOLS[operation]]))
        assert facade.definitions, (dialect, operation)


async def test_s0_35_syntax_trees_are_searched() -> None:
    files = MemoryWorkspace({"a.py": "def tea(cup):\n    return cup\n"})
    async with standard_context(files) as context:
        found = await perform(op.SearchCode("def $NAME($$$): $$$", language="python"), context)
    assert isinstance(found, MatchesOutcome)
    assert [(match.path, match.line) for match in found.matches] == [("a.py", 1)]


# ── how it is tested ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("dialect", ["claude_code", "gemini_cli", "codex", "openai", "plain"])
@pytest.mark.parametrize(
    "operation",
    [
        op.ReadFile("a.py"),
        op.WriteFile("a.py", "x = 1\n"),
        op.RunCommand("make"),
        op.SearchText("tea"),
        op.FindFiles("*.py"),
        op.SearchWeb("tea"),
        op.FetchPage("https://a.example"),
    ],
)
def test_s0_36_what_a_facade_says_it_reads_back_as_the_same(dialect: str, operation: op.Operation) -> None:
    vocabulary = DIALECTS[dialect]
    if not vocabulary.speaks(type(operation)):
        assert vocabulary.reason_unspoken(type(operation))
        return
    (said,) = vocabulary.write_call("1", operation)
    assert vocabulary.read_call(said).operations == (operation,)


def test_s0_36_every_listed_facade_is_held_to_the_laws() -> None:
    assert check(DIALECTS["google"]) == []
    assert "DIALECTS" in (Path(__file__).parents[1] / "laws" / "test_dialect_laws.py").read_text()


async def test_s0_36_facades_are_tried_with_a_provider_that_plays_a_script() -> None:
    call = NativeCall("1", "Read", {"file_path": "a.txt"})
    script = ScriptedEngine([Reply((CallPart(call),), FinishReason.CALLS), "tea"])
    run = Orchestrator(
        script, [TOOLS["read_file"]], model_name="claude-sonnet-4-5", workspace=MemoryWorkspace({"a.txt": "tea\n"})
    )
    assert (await run.run("What does a.txt say?")).text == "tea"


def test_s0_36_the_suite_for_real_providers_is_there() -> None:
    root = Path(__file__).parents[2]
    assert "\nlive:" in (root / "Makefile").read_text()
    assert (root / "tests" / "live" / "suite.py").exists()


# ── what it is good for ──────────────────────────────────────────────────────


async def test_s0_37_the_work_is_written_once_and_called_in_any_words() -> None:
    said = [
        ("claude_code", "Read", {"file_path": "a.txt"}),
        ("gemini_cli", "read_file", {"file_path": "a.txt"}),
        ("anthropic", "str_replace_based_edit_tool", {"command": "view", "path": "a.txt"}),
        ("plain", "vfs_read", {"path": "a.txt"}),
    ]
    async with standard_context(MemoryWorkspace({"a.txt": "tea\n"})) as context:
        outcomes = [await perform(meant(*one)[0], context) for one in said]
    assert all(isinstance(one, FileOutcome) and one.text == "tea\n" for one in outcomes)
    assert outcomes[1:] == outcomes[:-1]


def test_s0_38_a_new_provider_is_a_facade_more_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "acme.toml"
    file.write_text(
        'name = "acme"\n[[tools]]\nname = "look"\ndescription = "Look for a text."\noperation = "find_in_page"\n'
        '[tools.parameters]\nwhere = { means = "url", type = "string", description = "The page." }\n'
        'what = { means = "pattern", type = "string", description = "The text." }\n'
    )
    acme = dialect_from_file(file)
    look = NativeCall("1", "look", {"where": "https://a.example", "what": "tea"})
    assert acme.read_call(look).operations == (op.FindInPage("https://a.example", "tea"),)


def test_s0_39_a_facade_is_tried_without_the_tool_behind_it() -> None:
    class Look(Spelling[op.FindInPage]):
        """Look for a text in a page."""

        native_name = "look"
        where: str = means("url", "The page.")
        what: str = means("pattern", "The text.")

    assert Look(where="https://a.example", what="tea").to_operations() == (op.FindInPage("https://a.example", "tea"),)
    assert Look.from_operation(op.FindInPage("https://a.example", "tea")) == Look(where="https://a.example", what="tea")
