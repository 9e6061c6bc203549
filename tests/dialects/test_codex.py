"""How Codex tells what calls gave: in every form it has had, and back."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, joined
from dragoman.errors import Unspeakable
from dragoman.model import (
    OPERATIONS,
    Call,
    FreeformDefinition,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    operations as op,
    outcomes as out,
)
from tests.plain_values import plain_values

CODEX = DIALECTS["codex"]
PICTURE = out.Media("image/png", "aGk=")


def call(name: str, arguments: dict[str, Any] | str, namespace: str | None = None) -> Call:
    return CODEX.read_call(NativeCall("1", name, arguments, namespace))


def heard(made: Call, content: str | tuple[str | out.Media, ...], item: Any = None) -> tuple[out.Outcome, ...]:
    return CODEX.read_result(made, NativeResult("1", content, item=item)).outcomes


def told(made: Call, *outcomes: out.Outcome) -> str | tuple[str | out.Media, ...]:
    return CODEX.write_result(made, outcomes).content


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


COMMAND = call("exec_command", {"cmd": "make"})
PATCH = call(
    "apply_patch",
    patch(
        "*** Add File: new.py", "+x", "*** Update File: old.py", "*** Move to: src/old.py", "@@", "-a", "+b", "+c",
        "*** Delete File: gone.py",
    ),
)  # fmt: skip
PROGRAM = call("exec", "text(await tools.exec_command({cmd: 'make'}))")


# ── commands ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, outcome",
    [
        (
            "Chunk ID: 7\nWall time: 0.051 seconds\nProcess exited with code 3\nOriginal token count: 4\nOutput:\nno\n",
            out.CommandOutcome(exit_code=3, output="no\n", duration_ms=51),
        ),
        (
            'Command: bash -lc "make"\nChunk ID: b0\nWall time: 1.0 seconds\nProcess exited with code 0\nOutput:\n',
            out.CommandOutcome(exit_code=0, output="", duration_ms=1000),
        ),
        (
            "Wall time: 1.2007 seconds\nProcess running with session ID 86\nOriginal token count: 4\nOutput:\ntick\n",
            out.CommandOutcome(output="tick\n", running=True, job="86", duration_ms=1201),
        ),
        (
            "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno",
            out.CommandOutcome(exit_code=1, output="no", duration_ms=100),
        ),
        (
            "Exit code: 0\nWall time: 0 seconds\nTotal output lines: 9\nOutput:\na\n…5 chars truncated…b\n",
            out.CommandOutcome(exit_code=0, output="a\n…5 chars truncated…b\n", duration_ms=0, truncated=5),
        ),
        (
            "Wall time: 0 seconds\nProcess exited with code 0\nOutput:\n"
            "Warning: truncated output (original token count: 90)\nTotal output lines: 8\n\na…70 tokens truncated…z",
            out.CommandOutcome(exit_code=0, output="a…70 tokens truncated…z", duration_ms=0, truncated=280),
        ),
        (
            '{"output":"no\\n","metadata":{"exit_code":3,"duration_seconds":0.2}}',
            out.CommandOutcome(exit_code=3, output="no\n", duration_ms=200),
        ),
        (
            '{"output":"command timed out after 1017 milliseconds\\nso far",'
            '"metadata":{"exit_code":124,"duration_seconds":1.0}}',
            out.CommandOutcome(output="so far", timed_out=True, duration_ms=1000),
        ),
        (
            "Exit code: 124\nWall time: 1 seconds\nOutput:\ncommand timed out after 1000 milliseconds\n",
            out.CommandOutcome(output="", timed_out=True, duration_ms=1000),
        ),
        ("failed in sandbox None with execution error: command timed out", out.CommandOutcome(timed_out=True)),
        ("whatever else", out.CommandOutcome(output="whatever else")),
    ],
)  # fmt: skip
def test_a_command_is_the_same_outcome_in_every_form_it_was_told(text: str, outcome: out.CommandOutcome) -> None:
    assert heard(COMMAND, text) == (outcome,)


def test_output_that_looks_like_facts_is_output() -> None:
    text = "Process exited with code 0\nOutput:\nProcess exited with code 9\nOutput:\n"
    assert heard(COMMAND, text) == (out.CommandOutcome(exit_code=0, output="Process exited with code 9\nOutput:\n"),)


def test_a_command_is_told_as_its_tool_tells_it() -> None:
    outcome = out.CommandOutcome(exit_code=3, stdout="so\n", stderr="no\n", duration_ms=1500)
    assert told(COMMAND, outcome) == "Wall time: 1.5000 seconds\nProcess exited with code 3\nOutput:\nso\nno\n"
    assert told(call("shell_command", {"command": "make"}), outcome) == (
        "Wall time: 1.5000 seconds\nExit code: 3\nOutput:\nso\nno\n"
    )
    assert told(call("shell", {"command": ["make"]}), outcome) == (
        '{"output":"so\\nno\\n","metadata":{"exit_code":3,"duration_seconds":1.5}}'
    )


def test_a_command_that_goes_on_is_told_with_its_session() -> None:
    outcome = out.CommandOutcome(output="tick\n", running=True, job="7")
    assert told(COMMAND, outcome) == "Process running with session ID 7\nOutput:\ntick\n"
    assert heard(COMMAND, "Process running with session ID 7\nOutput:\ntick\n") == (outcome,)


def test_the_logs_own_record_says_what_the_text_does_not() -> None:
    record = {
        "type": "CommandExecution", "command": ["/bin/bash", "-lc", "make"], "exit_code": 2,
        "aggregated_output": "no\n", "duration": {"secs": 1, "nanos": 5_000_000},
    }  # fmt: skip
    assert heard(COMMAND, "no", record) == (out.CommandOutcome(exit_code=2, output="no\n", duration_ms=1005),)
    text = "Process running with session ID 7\nOutput:\n"
    assert heard(COMMAND, text, record) == (out.CommandOutcome(output="", running=True, job="7"),)


# ── patches ──────────────────────────────────────────────────────────────────

CHANGED = (
    out.ChangesOutcome((out.Change("new.py", "created"),)),
    out.ChangesOutcome((out.Change("old.py", "modified"),)),
    out.ChangesOutcome((out.Change("old.py", "moved", moved_to="src/old.py"),)),
    out.ChangesOutcome((out.Change("gone.py", "deleted"),)),
)
LISTED = "Success. Updated the following files:\nA new.py\nM src/old.py\nD gone.py\n"


@pytest.mark.parametrize(
    "text",
    [
        f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{LISTED}",
        f"Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\n{LISTED}",
        f"Exit code: 0\n{LISTED}",
        '{"output":"' + LISTED.replace("\n", "\\n") + '","metadata":{"exit_code":0,"duration_seconds":0.0}}',
        LISTED,
    ],
)
def test_every_file_of_a_patch_has_its_own_outcome(text: str) -> None:
    assert heard(PATCH, text) == CHANGED


def test_a_patch_is_told_by_the_files_it_changed() -> None:
    assert told(PATCH, *CHANGED) == f"Exit code: 0\nOutput:\n{LISTED}"


def test_a_file_the_result_does_not_name_may_be_changed_or_not() -> None:
    made = call("apply_patch", patch("*** Delete File: a", "*** Delete File: b"))
    assert heard(made, "Success. Updated the following files:\nD /home/user/a\n") == (
        out.ChangesOutcome((out.Change("a", "deleted"),)),
        out.UnknownOutcome("the result does not name this file"),
    )


def test_the_record_of_a_patch_counts_its_lines() -> None:
    record = {
        "type": "FileChange",
        "changes": {
            "/home/user/new.py": {"type": "add", "content": "x\n"},
            "/home/user/old.py": {
                "type": "update",
                "unified_diff": "@@ -1 +1,2 @@\n-a\n+b\n+c\n",
                "move_path": "/home/user/src/old.py",
            },
            "/home/user/gone.py": {"type": "delete", "content": "1\n2\n"},
        },
    }
    assert heard(PATCH, LISTED, record) == (
        out.ChangesOutcome((out.Change("new.py", "created", added=1, removed=0),)),
        out.ChangesOutcome((out.Change("old.py", "modified", added=2, removed=1),)),
        CHANGED[2],
        out.ChangesOutcome((out.Change("gone.py", "deleted", added=0, removed=2),)),
    )


def test_a_patch_that_a_command_could_not_apply_failed() -> None:
    made = call("shell", {"command": ["apply_patch", patch("*** Delete File: a")]})
    text = '{"output":"no such file","metadata":{"exit_code":1,"duration_seconds":0.0}}'
    assert heard(made, text) == (out.Failure("failed", "no such file", {"exit_code": 1}),)


def test_a_patch_of_which_one_part_failed_is_told_as_failed() -> None:
    failure = out.Failure("failed", "the lines cannot be found")
    assert told(PATCH, CHANGED[0], failure, failure, failure) == "apply_patch failed: the lines cannot be found"


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, kind, message",
    [
        ("unsupported call: frob", "unknown_tool", None),
        ("unsupported custom tool call: apply_patch", "unknown_tool", None),
        ("failed to parse function arguments: missing field `cmd`", "invalid_arguments", "missing field `cmd`"),
        ("unknown variant `bogus`, expected one of `a`", "invalid_arguments", None),
        ("apply_patch verification failed: invalid hunk at line 2", "invalid_arguments", "invalid hunk at line 2"),
        ("patch rejected: empty patch", "invalid_arguments", None),
        ("apply_patch verification failed: Failed to find it:\nx", "failed", "Failed to find it:\nx"),
        ("error: Failed to find expected lines in a", "failed", "Failed to find expected lines in a"),
        ("exec_command failed: CreateProcess { no }", "failed", "CreateProcess { no }"),
        ("exec_command failed for `rm x`: Rejected(\"rejected by user\")", "denied", 'Rejected("rejected by user")'),
        ("write_stdin failed: Unknown process id 9", "failed", "Unknown process id 9"),
        ("patch rejected: writing is blocked by the sandbox", "denied", None),
        ("approval policy is Never; reject command — no", "denied", None),
        ("exec command rejected by user", "denied", None),
        ("Wall time: 7.4 seconds\naborted by user", "cancelled", "aborted by user"),
        ("aborted by user after 7.4s", "cancelled", None),
        ("user cancelled MCP tool call", "cancelled", None),
        ("unable to locate image at `x`: gone", "failed", None),
        ("request_user_input is unavailable in Default mode", "denied", None),
        ("unknown MCP server 'none'", "failed", None),
        ("invalid agent id x: no", "failed", None),
        ("live agent path `/root/x` not found", "failed", None),
    ],
)  # fmt: skip
def test_a_failure_is_known_by_its_words(text: str, kind: out.FailureKind, message: str | None) -> None:
    assert heard(COMMAND, text) == (out.Failure(kind, message or text),)


@pytest.mark.parametrize("kind", ["invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_that_is_told_keeps_its_kind_and_is_told_for_ever(kind: out.FailureKind) -> None:
    words = told(COMMAND, out.Failure(kind, "it was not to be"))
    (failure,) = heard(COMMAND, words)
    assert isinstance(failure, out.Failure)
    assert failure.kind == kind
    assert failure.message.endswith("it was not to be")
    assert told(COMMAND, failure) == words


# ── programs ─────────────────────────────────────────────────────────────────


def shown(state: str, *pieces: str | out.Media) -> tuple[str | out.Media, ...]:
    return (f"Script {state}\nWall time 0.3 seconds\nOutput:\n", *pieces)


def test_what_a_program_shows_is_not_taken_for_what_its_calls_gave() -> None:
    assert heard(PROGRAM, shown("completed", "42\n")) == (out.TextOutcome("42\n"),)


def test_a_result_that_a_program_shows_whole_is_known() -> None:
    piece = '{"chunk_id":"a","wall_time_seconds":0.5,"exit_code":3,"output":"no\\n"}'
    outcome = out.CommandOutcome(exit_code=3, output="no\n", duration_ms=500)
    assert heard(PROGRAM, shown("completed", piece)) == (outcome,)
    assert told(PROGRAM, outcome) == (
        "Script completed\nOutput:\n",
        '{"wall_time_seconds":0.5,"exit_code":3,"output":"no\\n"}',
    )


def test_a_program_that_failed_leaves_open_how_far_it_came() -> None:
    pieces = shown("failed", "Script error:\nfailed to parse function arguments: missing field `x`")
    assert heard(PROGRAM, pieces) == (out.Failure("invalid_arguments", "missing field `x`"),)
    two = call("exec", "await tools.exec_command({cmd: 'a'}); await tools.exec_command({cmd: 'b'})")
    assert heard(two, shown("failed", "Script error:\nError: bug")) == (
        out.UnknownOutcome("the program failed: Error: bug"),
        out.UnknownOutcome("the program failed: Error: bug"),
    )


def test_a_program_that_goes_on_is_a_job_of_its_own() -> None:
    running = out.CommandOutcome(output="so far", running=True, job="cell:11", duration_ms=300)
    assert heard(PROGRAM, shown("running with cell ID 11", "so far")) == (running,)
    assert told(PROGRAM, running) == ("Script running with cell ID 11\nOutput:\n", "so far")
    waiting = call("wait", {"cell_id": "11"})
    assert heard(waiting, shown("completed", "late\n")) == (out.CommandOutcome(output="late\n", duration_ms=300),)
    assert heard(waiting, shown("failed", "Script error:\nexec cell 11 not found")) == (
        out.Failure("failed", "exec cell 11 not found"),
    )
    ending = call("wait", {"cell_id": "11", "terminate": True})
    assert heard(ending, shown("terminated")) == (out.CommandOutcome(output="", duration_ms=300),)
    assert heard(PROGRAM, shown("terminated")) == (out.Failure("cancelled", "the program was terminated"),)


def test_the_records_of_a_program_tell_what_its_calls_gave() -> None:
    program = f"""
    await tools.exec_command({{cmd: 'make'}});
    await tools.apply_patch(`{patch("*** Add File: new.py", "+x")}`);
    await tools.mcp__toy__fail({{}});
    await tools.mcp__toy__add({{a: 1}});
    """
    records = [
        {"type": "CommandExecution", "command": ["bash", "-lc", "make"], "exit_code": 3, "aggregated_output": "no\n"},
        {"type": "FileChange", "changes": {"/home/user/new.py": {"type": "add", "content": "x\n"}}},
        {"type": "McpToolCall", "server": "toy", "tool": "fail", "result": {
            "content": [{"type": "text", "text": "no way"}], "isError": True}},
        {"type": "McpToolCall", "server": "toy", "tool": "add", "result": {
            "content": [{"type": "text", "text": "2"}], "structuredContent": {"sum": 2}}},
    ]  # fmt: skip
    assert heard(call("exec", program), shown("completed", "done"), records) == (
        out.CommandOutcome(exit_code=3, output="no\n"),
        out.ChangesOutcome((out.Change("new.py", "created", added=1, removed=0),)),
        out.Failure("failed", "no way"),
        out.ContentOutcome(("2",), {"sum": 2}),
    )


def test_a_picture_a_program_shows_is_the_picture() -> None:
    made = call("exec", "image(await tools.view_image({path: 'a.png'}))")
    assert heard(made, shown("completed", PICTURE)) == (out.ImageOutcome(PICTURE),)


# ── the rest ─────────────────────────────────────────────────────────────────


def test_a_plan_that_was_heard_is_the_plan() -> None:
    made = call("update_plan", {"plan": [{"step": "read", "status": "pending"}], "explanation": "why"})
    outcome = out.PlanOutcome((op.PlanItem("read"),), "why")
    assert heard(made, "Plan updated") == (outcome,)
    assert told(made, outcome) == "Plan updated"


def test_a_plan_with_an_unknown_state_says_what_is_wrong() -> None:
    made = call("update_plan", {"plan": [{"step": "read", "status": "done"}]})
    assert made.failure is not None
    assert 'must be one of "pending", "in_progress", "completed", not "done"' in made.failure.message


def test_pictures_come_back_as_they_are_or_are_only_attached() -> None:
    made = call("view_image", {"path": "a.png"})
    assert heard(made, (PICTURE,)) == (out.ImageOutcome(PICTURE),)
    assert heard(made, "attached local image path") == (out.DoneOutcome("attached local image path"),)


def test_answers_belong_to_their_questions() -> None:
    asked = {"id": "q", "header": "H", "question": "Really?", "options": [{"label": "Yes", "description": "y"}]}
    made = call("request_user_input", {"questions": [asked]})
    outcome = out.AnswersOutcome((out.Answer("Really?", ("Yes",)),))
    assert heard(made, '{"answers":{"q":{"answers":["Yes"]}}}') == (outcome,)
    assert told(made, outcome) == '{"answers":{"q":{"answers":["Yes"]}}}'


@pytest.mark.parametrize(
    "name, arguments, text, outcome",
    [
        ("multi_agent_v1.spawn_agent", {"message": "go"}, '{"agent_id":"a1","nickname":"Ada"}',
         out.AgentsOutcome((out.AgentReport("a1", "running", name="Ada"),))),
        ("multi_agent_v1.wait_agent", {"targets": ["a1"]}, '{"status":{"a1":{"completed":"Done."}},"timed_out":false}',
         out.AgentsOutcome((out.AgentReport("a1", "completed", "Done."),))),
        ("multi_agent_v1.wait_agent", {"targets": ["a1"]}, '{"status":{},"timed_out":true}',
         out.AgentsOutcome((), timed_out=True)),
        ("multi_agent_v1.close_agent", {"target": "a1"}, '{"previous_status":{"completed":"Done."}}',
         out.AgentsOutcome((out.AgentReport("a1", "completed", "Done."),))),
        ("multi_agent_v1.resume_agent", {"id": "a1"}, '{"status":"running"}',
         out.AgentsOutcome((out.AgentReport("a1", "running"),))),
        ("collaboration.spawn_agent", {"task_name": "look", "message": "go"}, '{"task_name":"/root/look"}',
         out.AgentsOutcome((out.AgentReport("/root/look", "running"),))),
        ("collaboration.wait_agent", {}, '{"message":"Wait completed.","timed_out":false}', out.AgentsOutcome(())),
        ("collaboration.list_agents", {},
         '{"agents":[{"agent_name":"/root","agent_status":"running"},{"agent_name":"/root/x","agent_status":{"errored":"no"}}]}',
         out.AgentsOutcome((out.AgentReport("/root", "running"), out.AgentReport("/root/x", "failed", "no")))),
        ("list_mcp_resources", {}, '{"resources":[{"server":"toy","uri":"toy://note","name":"note"}]}',
         out.ResourcesOutcome((out.Resource("toy://note", "note", server="toy"),))),
        ("read_mcp_resource", {"server": "toy", "uri": "toy://note"},
         '{"contents":[{"server":"toy","uri":"toy://note","mimeType":"text/plain","text":"a note"}]}',
         out.ResourcesOutcome((out.Resource("toy://note", media_type="text/plain", server="toy", text="a note"),))),
    ],
)  # fmt: skip
def test_agents_and_resources_are_told_as_json(
    name: str, arguments: dict[str, Any], text: str, outcome: out.Outcome
) -> None:
    namespace, _, tool = name.rpartition(".")
    made = call(tool, arguments, namespace or None)
    assert heard(made, text) == (outcome,)
    assert told(made, outcome) == text


def test_tools_that_were_found_are_named_as_they_are_called() -> None:
    tools = [{"type": "namespace", "name": "mcp__toy", "tools": [{"type": "function", "name": "echo"}]}]
    made = call("tool_search", {"query": "echo"})
    assert heard(made, "", {"type": "tool_search_output", "tools": tools}) == (
        out.ToolsOutcome(("mcp__toy.echo",), tuple(tools)),
    )


@pytest.mark.parametrize(
    "content, outcome",
    [
        (("Wall time: 0.1 seconds\nOutput:", "hi"), out.TextOutcome("hi")),
        (("Wall time: 0.1 seconds\nOutput:", PICTURE, "hi"), out.ContentOutcome((PICTURE, "hi"))),
        ('Wall time: 0.1 seconds\nOutput:\n{"n":7}', out.TextOutcome('{"n":7}')),
        ('[{"text":"hi","type":"text"}]', out.TextOutcome("hi")),
        ("hi", out.TextOutcome("hi")),
    ],
)
def test_what_a_server_gave_is_taken_out_of_its_wrapping(
    content: str | tuple[str | out.Media, ...], outcome: out.Outcome
) -> None:
    assert heard(call("echo", {"text": "hi"}, "mcp__toy"), content) == (outcome,)


# ── what is offered ──────────────────────────────────────────────────────────


def test_each_kind_of_model_has_its_own_tools() -> None:
    def names(family: str) -> list[str]:
        return [str(one.name) for one in CODEX.at(family=family).definitions()]

    classic = [
        "exec_command", "write_stdin", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
        "request_user_input",
    ]  # fmt: skip
    agents = ["spawn_agent", "send_input", "wait_agent", "resume_agent", "close_agent"]
    named = ["spawn_agent", "followup_task", "send_message", "wait_agent", "interrupt_agent", "list_agents"]
    assert names("gpt-5.5") == [*classic, "apply_patch", "view_image", "tool_search", "web_search"]
    assert names("gpt-4.1") == [*classic, "view_image", *agents, "web_search"]
    assert names("gpt-6-sol") == ["exec", "wait", "request_user_input", "request_user_input_async", *named]
    assert names("gpt-5.6-luna") == ["exec", "wait", "request_user_input"]


def test_tools_of_a_feature_are_offered_when_they_are_asked_for() -> None:
    offered = CODEX.definitions({op.SpawnAgent, op.RunCode})
    assert [(one.namespace, one.name) for one in offered if not isinstance(one, ProviderDefinition)] == [
        (None, "exec"),
        ("collaboration", "spawn_agent"),
    ]


def test_tools_are_offered_in_the_form_the_provider_knows() -> None:
    by_name = {str(one.name): one for one in CODEX.definitions()}
    assert isinstance(by_name["exec_command"], FunctionDefinition)
    patching = by_name["apply_patch"]
    assert isinstance(patching, FreeformDefinition)
    assert (patching.syntax, patching.grammar is not None) == ("lark", True)
    assert by_name["web_search"] == ProviderDefinition(
        "openai.web_search", "web_search", "web_search", {"external_web_access": True}
    )
    search = by_name["tool_search"]
    assert isinstance(search, ProviderDefinition)
    assert search.settings["execution"] == "client"


def test_a_program_is_told_which_tools_it_can_call() -> None:
    program = CODEX.at(family="gpt-6-sol").definitions({op.RunCode})[0]
    assert isinstance(program, FreeformDefinition)
    assert "tools.exec_command({cmd: string, workdir?: string" in program.description
    assert "tools.apply_patch(text)" in program.description


@pytest.mark.parametrize(
    "version, family",
    [("0.166.0", "gpt-6-sol"), ("0.166.0", "gpt-4.1"), ("0.77.0", "gpt-5-codex"), ("0.20.0", "gpt-5")],
)  # fmt: skip
def test_whatever_a_version_and_a_model_say_is_read_back_but_for_the_stated_loss(version: str, family: str) -> None:
    dialect = CODEX.at(version, family)
    spoken = [operation for operation in OPERATIONS.values() if dialect.speaks(operation)]
    assert op.RunCommand in spoken
    for operation in (one for kind in spoken for one in plain_values(kind)):
        try:
            written = dialect.write_call("1", operation)
        except Unspeakable:
            continue
        lost = {loss.field for loss in dialect.loss(operation)}
        (read,) = joined([meant for made in written for meant in dialect.read_call(made).operations])
        assert type(read) is type(operation)
        for field in operation.__struct_fields__:
            assert field in lost or getattr(read, field) == getattr(operation, field), (operation, field)


# ── tools of extensions ──────────────────────────────────────────────────────


def test_what_the_web_is_asked_at_once_is_several_operations() -> None:
    made = call(
        "run",
        {
            "search_query": [{"q": "codex", "domains": ["a.example"], "recency": 3}],
            "open": [{"ref_id": "https://a.example"}],
            "find": [{"ref_id": "turn0search1", "pattern": "x"}],
            "weather": [{"location": "Oslo"}],
            "response_length": "short",
        },
        "web",
    )
    assert made.operations == (
        op.SearchWeb("codex", ("a.example",)),
        op.FetchPage("https://a.example"),
        op.FindInPage("turn0search1", "x"),
        op.SteerClient("web.weather", {"location": "Oslo"}),
    )
    assert made.unmapped == {"search_query[0].recency": 3, "response_length": "short"}
    assert call("run", {}, "web").failure is not None


@pytest.mark.parametrize(
    "namespace, name, arguments, operation",
    [
        ("image_gen", "imagegen", {"prompt": "a cat"}, op.GenerateImage("a cat")),
        ("memories", "search", {"queries": ["tests"], "max_results": 5}, op.RecallMemory("tests", 5)),
        ("memories", "list", {"path": "notes"}, op.RecallMemory("notes")),
        ("memories", "read", {"path": "a.md"}, op.RecallMemory("a.md")),
        ("memories", "add_ad_hoc_note", {"filename": "a.md", "note": "Mind it."}, op.SaveMemory("Mind it.", "a.md")),
        ("skills", "read", {"package": "pdf"}, op.UseSkill("pdf")),
        ("skills", "list", {"authority": "all"}, op.SteerClient("skills.list", {"authority": "all"})),
        ("notes", "read_file", {"path": "a"}, op.SteerClient("notes.read_file", {"path": "a"})),
        (None, "js_repl", "1 + 1", op.RunCode("1 + 1", "javascript")),
        (None, "js_repl_reset", {}, op.SteerClient("js_repl_reset")),
        (None, "container.exec", {"cmd": ["bash", "-lc", "ls"], "timeout": 9}, op.RunCommand("ls", timeout_ms=9)),
        (None, "container.exec", {"command": ["bash", "-lc", "ls"]}, op.RunCommand("ls")),
        (None, "search_tool_bm25", {"query": "mail", "limit": 3}, op.SearchTools("mail", 3)),
        (None, "get_context_remaining", {}, op.SteerClient("get_context_remaining")),
    ],
)
def test_tools_that_only_some_sessions_have_are_known(
    namespace: str | None, name: str, arguments: dict[str, Any] | str, operation: op.Operation
) -> None:
    made = call(name, arguments, namespace)
    assert (made.operations, made.unmapped, made.failure) == ((operation,), {}, None)


def test_a_program_gives_what_it_prints_and_a_search_for_tools_what_it_found() -> None:
    assert heard(call("js_repl", "1 + 1"), "2") == (out.CommandOutcome(output="2"),)
    tools = '{"tools": [{"name": "mail_send", "description": "Send."}]}'
    assert heard(call("search_tool_bm25", {"query": "mail"}), tools) == (
        out.ToolsOutcome(("mail_send",), ({"name": "mail_send", "description": "Send."},)),
    )


# ── what is printed of calls ─────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line, operation",
    [
        ("bash -lc 'echo \"a b\"'", op.RunCommand('echo "a b"')),
        ("/bin/zsh -lc ls", op.RunCommand("ls", shell="/bin/zsh")),
        ("pytest -q 'a b'", op.RunCommand("pytest -q 'a b'")),
        ("powershell.exe -Command 'dir C:\\x'", op.RunCommand("powershell.exe -Command 'dir C:\\x'")),
        ("echo 'open", op.RunCommand("echo 'open")),
    ],
)
def test_a_printed_command_is_the_line_its_shell_was_given(line: str, operation: op.Operation) -> None:
    assert call("command_execution", {"command": line}).operations == (operation,)


def test_a_printed_patch_that_failed_failed_for_every_file() -> None:
    changes = [{"path": "a", "kind": "update"}, {"path": "b", "kind": "delete"}]
    made = call("file_change", {"changes": changes})
    assert made.operations == (op.EditFile("a", ()), op.DeleteFile("b"))
    failure = out.Failure("failed", "the patch was not applied")
    assert heard(made, "", {"type": "file_change", "status": "failed"}) == (failure, failure)
