"""What OpenAI's own tools gave: read from the provider's items, and run here with results in its shapes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS, Dialect, provider_tool
from dragoman.errors import DefinitionError
from dragoman.model import (
    Call,
    ExecutedBy,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    operations as op,
    outcomes as out,
)
from dragoman.tools import Context, DiskWorkspace, perform, standard_context

OPENAI: Dialect = DIALECTS["openai"]
PROVIDER = ExecutedBy.PROVIDER


def call(name: str, arguments: dict[str, Any], item: dict[str, Any] | None = None) -> Call:
    read = OPENAI.read_call(NativeCall("1", name, arguments, item=item))
    assert read.failure is None, read.failure
    return read


def heard(made: Call, item: Any, content: str | tuple[str | out.Media, ...] = "") -> tuple[out.Outcome, ...]:
    return OPENAI.read_result(made, NativeResult("1", content, executed_by=PROVIDER, item=item)).outcomes


# ── read from items ──────────────────────────────────────────────────────────

SEARCH = call("web_search", {"type": "search", "query": "tea"})


def web(**said: Any) -> dict[str, Any]:
    return {"id": "ws_1", "type": "web_search_call", "status": "completed", **said}


def test_the_sources_of_a_search_are_its_pages() -> None:
    sources = [{"type": "url", "url": "https://a.example"}, {"type": "api", "name": "oai-weather"}]
    assert heard(SEARCH, web(action={"type": "search", "query": "tea", "sources": sources})) == (
        out.PagesOutcome((out.Page("https://a.example"), out.Page("", "oai-weather")), query="tea"),
    )


def test_a_search_whose_sources_were_not_asked_for_is_done() -> None:
    assert heard(SEARCH, web(action={"type": "search", "query": "tea", "sources": None})) == (out.DoneOutcome(),)
    assert heard(SEARCH, web()) == (out.DoneOutcome(),)


def test_each_query_has_the_sources_of_all() -> None:
    made = call("web_search", {"type": "search", "queries": ["a", "b"]})
    action = {"type": "search", "queries": ["a", "b"], "sources": [{"type": "url", "url": "https://a.example"}]}
    page = out.Page("https://a.example")
    assert heard(made, web(action=action)) == (
        out.PagesOutcome((page,), query="a"),
        out.PagesOutcome((page,), query="b"),
    )


@pytest.mark.parametrize("status", ["in_progress", "searching", "incomplete"])
def test_what_was_not_completed_is_not_known(status: str) -> None:
    assert heard(SEARCH, {**web(), "status": status}) == (out.UnknownOutcome(f"the item is {status}"),)


def test_what_failed_is_a_failure() -> None:
    assert heard(SEARCH, {**web(), "status": "failed"}) == (out.Failure("failed", "the provider's tool failed"),)


def test_documents_that_were_found() -> None:
    made = call("file_search", {"queries": ["tea"]})
    item = {"type": "file_search_call", "status": "completed", "queries": ["tea"]}
    found = [{"file_id": "file-1", "filename": "a.pdf", "score": 0.9, "text": "Tea.", "attributes": {}}]
    assert heard(made, {**item, "results": found}) == (
        out.ResourcesOutcome((out.Resource("file-1", "a.pdf", text="Tea."),)),
    )
    assert heard(made, {**item, "results": []}) == (out.ResourcesOutcome(()),)
    assert heard(made, {**item, "results": None}) == (out.DoneOutcome(),)
    assert heard(made, {**item, "results": ["odd"]}) == (out.JsonOutcome(["odd"]),)


def test_what_a_program_printed_and_drew() -> None:
    made = call("code_interpreter", {"code": "1", "container_id": "cntr_1"})
    item = {"type": "code_interpreter_call", "status": "completed", "code": "1"}
    logs = {"type": "logs", "logs": "42"}
    image = {"type": "image", "url": "data:image/png;base64,aGk="}
    elsewhere = {"type": "image", "url": "https://files.example/1"}
    assert heard(made, {**item, "outputs": None}) == (out.DoneOutcome(),)
    assert heard(made, {**item, "outputs": [logs]}) == (out.TextOutcome("42"),)
    assert heard(made, {**item, "outputs": [image, elsewhere, logs]}) == (
        out.ContentOutcome(
            (out.Media("image/png", "aGk="), out.Media("image/*", url="https://files.example/1"), "42"),
            [image, elsewhere, logs],
        ),
    )


def test_what_a_program_of_calls_gave() -> None:
    made = call("program", {"code": "return 1"})
    output = {"type": "program_output", "call_id": "1", "status": "completed"}
    assert heard(made, {**output, "result": '{"units":42}'}) == (out.JsonOutcome({"units": 42}),)
    assert heard(made, {**output, "result": "no JSON"}) == (out.TextOutcome("no JSON"),)


def test_a_picture_that_was_made() -> None:
    made = call("image_generation", {})
    item = {"type": "image_generation_call", "status": "completed", "result": "aGk="}
    assert heard(made, {**item, "output_format": "jpeg", "size": "1024x1536"}) == (
        out.ImageOutcome(out.Media("image/jpeg", "aGk=", width=1024, height=1536)),
    )
    assert heard(made, {**item, "result": "iVBORw0KGgo="}) == (
        out.ImageOutcome(out.Media("image/png", "iVBORw0KGgo=")),
    )
    assert heard(made, item) == (out.ImageOutcome(out.Media("image/*", "aGk=")),)
    assert heard(made, {**item, "result": None}) == (out.DoneOutcome(),)


def test_tools_that_were_found() -> None:
    made = call("tool_search", {"paths": ["crm"]})
    tools: list[dict[str, Any]] = [
        {"type": "function", "name": "get_weather"},
        {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "orders"}]},
    ]
    assert heard(made, {"type": "tool_search_output", "tools": tools, "status": "completed"}) == (
        out.ToolsOutcome(("get_weather", "crm.orders"), tuple(tools)),
    )


def test_tools_that_we_looked_for_ourselves_go_back_as_definitions() -> None:
    made = call("tool_search", {"queries": ["weather", "orders"]})
    tools: list[dict[str, Any]] = [{"type": "function", "name": name, "parameters": {}} for name in ("a", "b", "c")]
    found = (out.ToolsOutcome(("a",), (tools[0],)), out.ToolsOutcome(("b", "c"), tuple(tools[1:])))
    told = OPENAI.write_result(made, found)
    assert told.item == {
        "type": "tool_search_output",
        "execution": "client",
        "status": "completed",
        "tools": tools,
    }
    assert OPENAI.write_result(made, (out.ToolsOutcome(("a",)),) * 2).item is None
    everything = out.ToolsOutcome(("a", "b", "c"), tuple(tools))
    assert OPENAI.read_result(made, told).outcomes == (everything, everything)


def server_item(**said: Any) -> dict[str, Any]:
    return {"type": "mcp_call", "server_label": "toy", "name": "add", "arguments": "{}", **said}


def test_what_a_servers_tool_gave() -> None:
    made = call("add", {}, server_item())
    assert made.operations == (op.CallMcpTool("toy", "add"),)
    assert heard(made, server_item(output='{"sum": 3}', error=None)) == (out.JsonOutcome({"sum": 3}),)
    assert heard(made, server_item(output="three", error=None)) == (out.TextOutcome("three"),)
    assert heard(made, server_item(output="[odd", error=None)) == (out.TextOutcome("[odd"),)
    assert heard(made, server_item(output=None, error={"message": "no"}), "no") == (out.Failure("failed", "no"),)
    flagged = NativeResult("1", "no", is_error=True, executed_by=PROVIDER, item=server_item(error="no"))
    assert OPENAI.read_result(made, flagged).outcomes == (out.Failure("failed", "no"),)


def test_a_servers_tool_that_waits_to_be_approved() -> None:
    item = {**server_item(), "type": "mcp_approval_request"}
    assert heard(call("add", {}, item), item) == (out.UnknownOutcome("the provider waits for it to be approved"),)


def test_what_groq_found() -> None:
    made = OPENAI.read_call(NativeCall("1", "search", {"query": "tea"}, executed_by=PROVIDER))
    results = [{"title": "Tea", "url": "https://a.example", "content": "Leaves.", "score": 0.9}]
    item = {"type": "search", "arguments": "{}", "output": "…", "search_results": {"results": results}}
    assert heard(made, item, "…") == (
        out.PagesOutcome((out.Page("https://a.example", "Tea", snippet="Leaves."),), query="tea"),
    )
    opened = {"type": "browser_search", "browser_results": results}
    assert heard(made, opened) == heard(made, item)
    assert heard(made, {**item, "search_results": {"results": []}}, "…") == (out.TextOutcome("…"),)
    visit = OPENAI.read_call(NativeCall("1", "visit", {"url": "https://a.example"}, executed_by=PROVIDER))
    assert heard(visit, {"type": "visit"}, "Tea.") == (out.PagesOutcome((out.Page("https://a.example", text="Tea."),)),)


def test_the_screen_after_an_action() -> None:
    made = call("computer", {"actions": [{"type": "screenshot"}]})
    output = {"type": "computer_call_output", "output": {"type": "computer_screenshot"}}
    inline = {**output, "output": {"image_url": "data:image/png;base64,aGk="}}
    assert heard(made, inline) == (out.ImageOutcome(out.Media("image/png", "aGk=")),)
    stored = {**output, "output": {"file_id": "file-1"}}
    assert heard(made, stored) == (out.ImageOutcome(out.Media("image/*", file_id="file-1")),)
    picture = out.ImageOutcome(out.Media("image/png", "aGk="))
    assert OPENAI.write_result(made, (picture,)).content == (picture.image,)


# ── run here ─────────────────────────────────────────────────────────────────


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    async with standard_context(DiskWorkspace(tmp_path, durable=False)) as context:
        yield context


async def run(context: Context, name: str, arguments: dict[str, Any]) -> NativeResult:
    """Reads a call, runs what it means with the standard tools, and tells it as the provider wants it."""
    made = call(name, arguments)
    return OPENAI.write_result(made, [await perform(operation, context) for operation in made.operations])


async def test_commands_run_one_after_the_other_and_have_an_output_each(context: Context, tmp_path: Path) -> None:
    commands = ["echo hello > a.txt", "cat a.txt; echo oh >&2; exit 3", "sleep 30"]
    told = await run(context, "shell", {"commands": commands, "timeout_ms": 300, "max_output_length": 99})
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    output = [
        {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "hello\n", "stderr": "oh\n", "outcome": {"type": "exit", "exit_code": 3}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    assert told.item == {"type": "shell_call_output", "output": output, "max_output_length": 99}
    assert msgspec.json.decode(str(told.content)) == output
    assert told.is_error is None


async def test_a_command_that_was_killed_says_by_what(context: Context) -> None:
    told = await run(context, "shell", {"commands": ["kill -9 $$"]})
    assert told.item["output"] == [
        {"stdout": "", "stderr": "[ended by signal 9]", "outcome": {"type": "exit", "exit_code": 137}}
    ]


async def test_a_program_with_its_arguments_is_answered_in_words(context: Context, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b").write_text("tea\n")
    action = {"type": "exec", "command": ["cat", "a b"], "working_directory": "sub", "env": {}}
    told = await run(context, "local_shell", action)
    assert (told.content, told.is_error, told.item) == ("tea\n[exit code 0]", None, None)


@pytest.mark.parametrize("command", [["sh", "-c", "echo $KIND"], ["printenv", "KIND"], ["echo $KIND"]])
async def test_a_program_has_the_variables_it_was_given(context: Context, command: list[str]) -> None:
    action = {"type": "exec", "command": command, "env": {"KIND": "green tea"}}
    assert (await run(context, "local_shell", action)).content == "green tea\n[exit code 0]"


@pytest.mark.parametrize("name", ["", "A=B", "-i"])
def test_a_variable_has_a_name(name: str) -> None:
    call = OPENAI.read_call(NativeCall("1", "local_shell", {"command": ["ls"], "env": {name: "x"}}))
    assert call.failure is not None
    assert call.failure.message == f"local_shell: env: {name!r} is no name for a variable"


async def test_files_are_created_updated_and_deleted(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "src" / "a.py"
    created = await run(
        context, "apply_patch", {"type": "create_file", "path": "src/a.py", "diff": "+def f():\n+    return 1\n"}
    )
    assert (created.content, created.is_error) == ("created src/a.py", None)
    assert path.read_text() == "def f():\n    return 1\n"
    diff = "@@ def f():\n-    return 1\n+    return 2"
    updated = await run(context, "apply_patch", {"type": "update_file", "path": "src/a.py", "diff": diff})
    assert (updated.content, updated.is_error) == ("modified src/a.py", None)
    assert path.read_text() == "def f():\n    return 2\n"
    deleted = await run(context, "apply_patch", {"type": "delete_file", "path": "src/a.py"})
    assert (deleted.content, deleted.is_error) == ("deleted src/a.py", None)
    assert not path.exists()


async def test_a_diff_that_does_not_fit_fails_and_changes_nothing(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    told = await run(context, "apply_patch", {"type": "update_file", "path": "a.py", "diff": "@@\n-y = 1\n+y = 2\n"})
    assert told.is_error
    assert str(told.content).startswith("Error (failed): the lines to replace cannot be found")
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


async def test_a_path_outside_the_workspace_is_denied(context: Context, tmp_path: Path) -> None:
    told = await run(context, "apply_patch", {"type": "create_file", "path": "../out.txt", "diff": "+x\n"})
    assert told.is_error
    assert not (tmp_path.parent / "out.txt").exists()


@pytest.mark.parametrize(
    "diff",
    [
        "@@\n-a\n+b\n*** Delete File: other.py",
        "*** Move to: other.py\n@@\n-a\n+b",
        "@@\n-a\n+b\n*** Add File: other.py\n+x",
    ],
)
def test_a_diff_speaks_of_its_own_file_alone(diff: str) -> None:
    read = OPENAI.read_call(NativeCall("1", "apply_patch", {"type": "update_file", "path": "a.py", "diff": diff}))
    assert read.operations == ()
    assert read.failure is not None
    assert read.failure.kind == "invalid_arguments"


# ── commands that were not run ───────────────────────────────────────────────

COMMANDS = call("shell", {"commands": ["a", "b"]})


@pytest.mark.parametrize(
    "kind, end",
    [
        ("denied", {"type": "exit", "exit_code": 126}),
        ("cancelled", {"type": "exit", "exit_code": 130}),
        ("timed_out", {"type": "timeout"}),
        ("failed", {"type": "exit", "exit_code": 1}),
    ],
)
def test_a_command_that_was_not_run_still_has_an_output(kind: Any, end: dict[str, Any]) -> None:
    failure = out.Failure(kind, "not here")
    output = {"stdout": "", "stderr": f"Error ({kind}): not here", "outcome": end}
    told = OPENAI.write_result(COMMANDS, (failure,))
    assert told.item == {"type": "shell_call_output", "output": [output, output]}
    assert OPENAI.read_result(COMMANDS, told).outcomes == (failure, failure)


def test_one_command_may_fail_and_another_not() -> None:
    outcomes = (out.CommandOutcome(0, "x\n", ""), out.Failure("denied", "not here"))
    told = OPENAI.write_result(COMMANDS, outcomes)
    assert OPENAI.read_result(COMMANDS, told).outcomes == outcomes


def test_a_command_without_an_output_is_not_known() -> None:
    output = [{"stdout": "x\n", "stderr": "", "outcome": {"type": "timeout"}}]
    assert heard(COMMANDS, {"type": "shell_call_output", "output": output}) == (
        out.CommandOutcome(None, "x\n", "", timed_out=True),
        out.UnknownOutcome("there is no output for this command"),
    )


# ── rows ─────────────────────────────────────────────────────────────────────


def test_a_tool_is_offered_by_its_newest_row_and_older_ones_by_id() -> None:
    offered = {definition.id for definition in OPENAI.definitions() if isinstance(definition, ProviderDefinition)}
    assert offered == {"openai.web_search", "openai.image_generation", "openai.shell", "openai.apply_patch"}
    preview = provider_tool("openai.web_search_preview")
    assert preview is not None
    assert preview.define({"search_context_size": "low"}) == ProviderDefinition(
        "openai.web_search_preview", "web_search_preview", "web_search", {"search_context_size": "low"}
    )


def test_settings_that_are_missing_or_wrong_are_all_named() -> None:
    row = provider_tool("azure.file_search")
    assert row is not None
    with pytest.raises(DefinitionError) as raised:
        row.define({"vector_stores_ids": ["vs_1"], "max_num_results": "many"})
    assert "vector_store_ids" in str(raised.value)
    assert "max_num_results" in str(raised.value)


def test_settings_the_row_does_not_know_are_sent_and_named() -> None:
    row = provider_tool("openai.web_search")
    assert row is not None
    settings = {"user_location": {"type": "approximate", "town": "Utrecht"}, "depth": 3}
    assert row.define(settings).settings == settings
    assert sorted(row.unknown(settings)) == ["depth", "user_location.town"]


@pytest.mark.parametrize(
    "id, settings",
    [
        ("openai.code_interpreter", {"container": {"type": "auto", "file_ids": ["file-1"]}}),
        ("openai.code_interpreter", {"container": "cntr_1"}),
        ("openai.mcp", {"server_label": "toy", "server_url": "https://a.example", "require_approval": "never"}),
        ("openai.mcp", {"server_label": "toy", "allowed_tools": ["add"], "require_approval": {"never": {}}}),
        ("openai.shell", {"environment": {"type": "container_auto", "skills": []}}),
        ("openai.custom", {"name": "sum", "format": {"type": "grammar", "syntax": "lark", "definition": "start: A"}}),
        ("openai.namespace", {"name": "crm", "description": "Orders.", "tools": [{"type": "function"}]}),
        ("openai.tool_search", {"execution": "client", "parameters": {"type": "object"}}),
        ("openai.web_search_options", {"user_location": {"type": "approximate", "approximate": {"city": "Utrecht"}}}),
        ("xai.x_search", {"allowed_x_handles": ["a"], "from_date": "2025-10-01"}),
        ("openrouter.web_search", {"parameters": {"max_uses": 1, "search_context_size": "medium"}}),
        ("openrouter.advisor", {"parameters": {"model": "a", "forward_transcript": False}}),
        ("openrouter.plugins", {"id": "web", "max_results": 3}),
    ],
)
def test_settings_are_sent_as_they_were_given(id: str, settings: dict[str, Any]) -> None:
    row = provider_tool(id)
    assert row is not None
    assert row.define(settings).settings == settings
    assert row.unknown(settings) == ()


@pytest.mark.parametrize(
    "id, families",
    [
        ("openai.shell", {"gpt-5.1": True, "gpt-5": False, "gpt-5-mini": False, "gpt-4.1": False, "gpt-6-sol": True}),
        ("openai.tool_search", {"gpt-5.4": True, "gpt-5.2": False, "gpt-6-sol": True}),
        ("openai.local_shell", {"codex-mini-latest": True, "gpt-5.1": False}),
        ("groq.search", {"groq/compound": True, "llama-3.3": False}),
    ],
)
def test_a_row_knows_which_models_have_it(id: str, families: dict[str, bool]) -> None:
    row = provider_tool(id)
    assert row is not None
    assert {family: row.offered_to(family) for family in families} == families


# ── beside a client ──────────────────────────────────────────────────────────


def test_codex_reads_what_the_provider_ran_with_the_same_words() -> None:
    codex = DIALECTS["codex"]
    item = {"type": "code_interpreter_call", "status": "completed", "outputs": [{"type": "logs", "logs": "42"}]}
    native = NativeCall("1", "code_interpreter", {"code": "6*7"}, executed_by=PROVIDER, item=item)
    made = codex.read_call(native)
    assert made.operations == (op.RunCode("6*7", "python"),)
    result = codex.read_result(made, NativeResult("1", "42", executed_by=PROVIDER, item=item))
    assert result.outcomes == (out.TextOutcome("42"),)


def test_a_function_of_a_run_of_codex_is_no_tool_of_the_providers() -> None:
    read = DIALECTS["codex"].read_call(NativeCall("1", "computer", {"type": "click"}))
    assert read.operations == (op.Unrecognised("computer", {"type": "click"}),)
