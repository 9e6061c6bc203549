"""Results of Gemini CLI's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

DIALECT = DIALECTS["gemini_cli"]
Content = str | tuple[str | out.Media, ...]


def understood(
    name: str,
    arguments: dict[str, Any],
    content: Content,
    *,
    is_error: bool | None = None,
    item: Any = None,
) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", content, is_error, item=item)).outcomes
    return outcome


def told(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> Content:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    return DIALECT.write_result(call, (outcome,)).content


# ── files ────────────────────────────────────────────────────────────────────

READ = ("read_file", {"file_path": "a.py"})
NOTE = (
    "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines {} total lines.\n"
    "Action: ask for the rest with 'start_line' and 'end_line'.\n\n--- FILE CONTENT (truncated) ---\n"
)


def test_a_whole_file_is_its_text() -> None:
    outcome = out.FileOutcome("a.py", "x = 1\n")
    assert told(*READ, outcome) == "x = 1\n"
    assert understood(*READ, "x = 1\n") == outcome


def test_lines_of_a_file_stand_under_a_note() -> None:
    part = ("read_file", {"file_path": "a.py", "start_line": 5, "end_line": 6})
    text = f"{NOTE.format('5-6 of 90')}x\ny"
    outcome = out.FileOutcome("a.py", "x\ny", 5, 90)
    assert told(*part, outcome) == text
    assert understood(*part, text) == outcome


@pytest.mark.parametrize(
    "total, counted, read", [(90, "90", 90), (None, "more than 2", None), (2, "more than 2", None)]
)
def test_a_file_that_was_cut_says_so(total: int | None, counted: str, read: int | None) -> None:
    text = f"{NOTE.format(f'1-2 of {counted}')}x\ny"
    assert told(*READ, out.FileOutcome("a.py", "x\ny", total_lines=total, truncated=True)) == text
    assert understood(*READ, text) == out.FileOutcome("a.py", "x\ny", 1, read, truncated=True)


def test_an_image_stands_beside_a_sentence() -> None:
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    content = told(*READ, outcome)
    assert content == ("Binary content provided (1 item(s)).", outcome.image)
    assert understood(*READ, content) == outcome


def test_a_folder_is_told_folders_first() -> None:
    listing = ("list_directory", {"dir_path": "src"})
    text = "Directory listing for src:\n[DIR] lib\na.py (13 bytes)\nb.py\n\n(1 ignored)"
    outcome = out.DirectoryOutcome(
        "src", (out.Entry("lib", "directory"), out.Entry("a.py", size=13), out.Entry("b.py")), ignored=1
    )
    assert told(*listing, outcome) == text
    assert understood(*listing, text) == outcome
    assert understood(*listing, "Directory src is empty.") == out.DirectoryOutcome("src", ())


@pytest.mark.parametrize(
    "text, change",
    [
        ("Successfully created and wrote to new file: /a.py. Here is the code:\nx", out.Change("/a.py", "created")),
        ("Successfully overwrote file: /a.py.", out.Change("/a.py", "modified")),
        ("Successfully modified file: /a.py (2 replacements).", out.Change("/a.py", "modified", replacements=2)),
        ("Created new file: /a.py with provided content.", out.Change("/a.py", "created")),
    ],
)
def test_a_change_is_read_however_it_was_told(text: str, change: out.Change) -> None:
    write = ("write_file", {"file_path": "/a.py", "content": "x"})
    assert understood(*write, text) == out.ChangesOutcome((change,))


def test_the_record_of_a_change_counts_its_lines() -> None:
    write = ("write_file", {"file_path": "/a.py", "content": "x"})
    item = {"resultDisplay": {"diffStat": {"model_added_lines": 2, "model_removed_lines": 1}}}
    assert understood(*write, "Successfully overwrote file: /a.py.", item=item) == out.ChangesOutcome(
        (out.Change("/a.py", "modified", added=2, removed=1),)
    )


def test_changes_are_told_in_its_words() -> None:
    write = ("write_file", {"file_path": "/a.py", "content": "x"})
    edit = ("replace", {"file_path": "/a.py", "instruction": "", "old_string": "x", "new_string": "y"})
    created = out.ChangesOutcome((out.Change("/a.py", "created"),))
    modified = out.ChangesOutcome((out.Change("/a.py", "modified", replacements=1),))
    assert told(*write, created) == "Successfully created and wrote to new file: /a.py."
    assert told(*write, modified) == "Successfully overwrote file: /a.py."
    assert told(*edit, modified) == "Successfully modified file: /a.py (1 replacements)."


# ── search ───────────────────────────────────────────────────────────────────


def test_found_files() -> None:
    glob = ("glob", {"pattern": "*.py"})
    text = (
        'Found 2 file(s) matching "*.py" within /src, sorted by modification time (newest first):\n/src/a.py\n/src/b.py'
    )
    assert understood(*glob, text) == out.PathsOutcome(("/src/a.py", "/src/b.py"))
    assert understood(*glob, 'No files found matching pattern "*.py" within /src') == out.PathsOutcome(())
    assert understood(*glob, told(*glob, out.PathsOutcome(("a.py",)))) == out.PathsOutcome(("a.py",))


def test_matching_lines_by_file() -> None:
    grep = ("grep_search", {"pattern": "x", "context": 1})
    head = 'Found 2 matches for pattern "x" in path ".":'
    text = f"{head}\n---\nFile: a.py\nL2- a\nL3: x\nL4- b\n---\nFile: b.py\nL1: x\n---"
    outcome = out.MatchesOutcome((out.Match("a.py", 3, "x", ("a",), ("b",)), out.Match("b.py", 1, "x")), total=2)
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome) == text
    assert understood(*grep, 'No matches found for pattern "x" in path ".".') == out.MatchesOutcome((), total=0)


def test_files_with_matches() -> None:
    grep = ("grep_search", {"pattern": "x", "names_only": True})
    text = 'Found 1 files with matches for pattern "x" in path ".":\na.py'
    outcome = out.MatchesOutcome((out.Match("a.py"),), "files")
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome) == text


def test_counts_are_not_told_as_lines() -> None:
    grep = ("grep_search", {"pattern": "x"})
    assert told(*grep, out.MatchesOutcome((out.Match("a.py", count=3),), "count")) == "a.py: 3"


# ── commands ─────────────────────────────────────────────────────────────────

RUN = ("run_shell_command", {"command": "make"})


def outside(text: str) -> str:
    return f"<untrusted_context>\n{text}\n</untrusted_context>"


def test_a_command_that_succeeded_has_no_exit_code_in_its_text() -> None:
    assert understood(*RUN, outside("Output: hi\nProcess Group PGID: 42")) == out.CommandOutcome(
        0, output="hi", job="42"
    )
    assert told(*RUN, out.CommandOutcome(0, stdout="hi\n", stderr="")) == outside("Output: hi")


def test_a_command_that_failed_is_a_success_to_the_log() -> None:
    text = outside("Output: boom\npartial\nExit Code: 3\nProcess Group PGID: 42")
    assert understood(*RUN, text, is_error=False) == out.CommandOutcome(3, output="boom\npartial", job="42")


def test_a_command_that_printed_nothing_and_one_ended_by_a_signal() -> None:
    assert understood(*RUN, outside("Output: (empty)")) == out.CommandOutcome(0, output="")
    assert understood(*RUN, outside("Output: (empty)\nSignal: 9")) == out.CommandOutcome(output="", signal=9)


def test_everything_was_told_once_also_what_there_was_none_of() -> None:
    text = (
        "Command: make\nDirectory: (root)\nOutput: a\nb\nError: (none)\nExit Code: 3\nSignal: 0\n"
        "Background PIDs: (none)\nProcess Group PGID: 42"
    )
    assert understood(*RUN, text) == out.CommandOutcome(3, output="a\nb", job="42")


def test_a_command_left_running_and_one_that_took_too_long() -> None:
    moved = outside("Command moved to background (PID: 42). Output hidden. Press Ctrl+B to view.")
    assert understood(*RUN, moved) == out.CommandOutcome(running=True, job="42")
    cancelled = outside(
        "Command was automatically cancelled because it exceeded the timeout of 0.1 minutes without output."
        " Below is the output before it was cancelled:\n1"
    )
    assert understood(*RUN, cancelled) == out.CommandOutcome(output="1", timed_out=True)


def test_a_long_output_is_kept_in_a_file() -> None:
    text = (
        "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /tmp/o.txt\n"
        + outside("Output: 1\n2\nProcess Group PGID: 42")
    )
    assert understood(*RUN, text) == out.CommandOutcome(0, output="1\n2", job="42", output_path="/tmp/o.txt")


def test_the_output_of_a_job_and_the_list_of_jobs() -> None:
    assert understood("read_background_output", {"pid": 42}, "Full Log Output:\ntick\n") == out.CommandOutcome(
        output="tick\n"
    )
    jobs = out.JobsOutcome((out.Job("42", "make", running=True), out.Job("43", "ls", running=False, exit_code=2)))
    text = "- [PID 42] RUNNING: `make`\n- [PID 43] EXITED (Exit Code: 2): `ls`"
    assert understood("list_background_processes", {}, text) == jobs
    assert told("list_background_processes", {}, jobs) == text
    assert understood("list_background_processes", {}, "No background processes found.") == out.JobsOutcome(())


# ── web ──────────────────────────────────────────────────────────────────────


def test_a_search_gives_an_answer_with_its_sources() -> None:
    search = ("google_web_search", {"query": "counting"})
    text = 'Web search results for "counting":\n\nCount twice.[1]\n\nSources:\n[1] One (https://example.com/1)'
    outcome = out.PagesOutcome((out.Page("https://example.com/1", "One"),), "Count twice.[1]", "counting")
    assert understood(*search, text) == outcome
    assert told(*search, outcome) == text
    assert understood(*search, 'Web search results for "counting":\n\nCount.') == out.PagesOutcome(
        (), "Count.", "counting"
    )


def test_several_pages_are_answered_from_at_once() -> None:
    prompt = "Compare https://example.com/a and https://example.com/b"
    call = DIALECT.read_call(NativeCall("1", "web_fetch", {"prompt": prompt}))
    assert DIALECT.read_result(call, NativeResult("1", "They differ.")).outcomes == (
        out.PagesOutcome((out.Page("https://example.com/a"),), "They differ."),
        out.PagesOutcome((out.Page("https://example.com/b"),), "They differ."),
    )


# ── plan, agents, extensions ─────────────────────────────────────────────────


def test_a_plan_that_was_written() -> None:
    write = ("write_todos", {"todos": []})
    text = "Successfully updated the todo list. The current list is now:\n1. [completed] Look\n2. [pending] Act"
    plan = out.PlanOutcome((op.PlanItem("Look", "completed"), op.PlanItem("Act")))
    assert understood(*write, text) == plan
    assert told(*write, plan) == text
    assert understood(*write, "Successfully cleared the todo list.") == out.PlanOutcome(())


@pytest.mark.parametrize("status, words", [("running", "is running."), ("unknown", "is in an unknown state.")])
def test_an_agent_that_has_not_ended_is_not_said_to_have_failed(status: out.AgentStatus, words: str) -> None:
    call = DIALECT.read_call(NativeCall("1", "invoke_agent", {"agent_name": "generalist", "prompt": "Count"}))
    told = DIALECT.write_result(call, (out.AgentsOutcome((out.AgentReport("a1", status),)),))
    assert (told.content, told.is_error) == (f"Agent (id a1) {words}", None)


@pytest.mark.parametrize(
    "reason, status", [("GOAL", "completed"), ("MAX_TURNS", "limited"), ("ERROR_NO_COMPLETE_TASK_CALL", "failed")]
)
def test_an_agent_that_ended(reason: str, status: out.AgentStatus) -> None:
    call = ("invoke_agent", {"agent_name": "generalist", "prompt": "Count"})
    text = f"Subagent 'generalist' finished.\nTermination Reason: {reason}\nResult:\nthree"
    assert understood(*call, text) == out.AgentsOutcome(
        (out.AgentReport(status=status, text="three", agent="generalist"),)
    )


def test_a_task_that_was_ended_and_a_fact_that_was_remembered() -> None:
    done = "Output submitted and task completed."
    assert understood("complete_task", {"report": {}}, done) == out.DoneOutcome(done)
    assert told("complete_task", {"result": {}}, out.DoneOutcome()) == done
    memory = ("save_memory", {"fact": "likes tea"})
    assert understood(*memory, '{"success":true,"message":"Okay."}') == out.DoneOutcome("Okay.")
    assert told(*memory, out.DoneOutcome()) == '{"success":true,"message":"Okay."}'


def test_resources_of_servers() -> None:
    text = "Available MCP Resources:\n- toy:toy://note | note\n"
    listed = out.ResourcesOutcome((out.Resource("toy://note", "note", server="toy"),))
    assert understood("list_mcp_resources", {}, text) == listed
    assert told("list_mcp_resources", {}, listed) == text
    read = out.ResourcesOutcome((out.Resource("toy://note", text="hi\n"),))
    assert understood("read_mcp_resource", {"uri": "toy://note"}, "hi\n") == read
    assert told("read_mcp_resource", {"uri": "toy://note"}, read) == "hi\n"


def test_what_a_server_says_comes_from_outside() -> None:
    call = ("mcp_toy_echo", {"text": "hi"})
    assert understood(*call, outside("hi")) == out.TextOutcome("hi")
    assert told(*call, out.TextOutcome("hi")) == outside("hi")
    image = out.Media("image/png", "aGk=")
    head = "[Tool 'picture' provided the following image data with mime-type: image/png]\n"
    assert understood("mcp_toy_picture", {}, (head + outside("a picture"), image)) == out.ContentOutcome(
        (f"{head}a picture", image)
    )


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, kind",
    [
        ('Tool "x" not found. Did you mean one of: "y"?', "unknown_tool"),
        ("Tool execution denied by policy. You are in Plan Mode.", "denied"),
        ("Path not in workspace: /etc/hostname", "denied"),
        ("All requested URLs were skipped: [Blocked Host] http://127.0.0.1/", "denied"),
        ("params must have required property 'file_path'", "invalid_arguments"),
        ("params/todos/0/status must be equal to one of the allowed values", "invalid_arguments"),
        ("Invalid parameters: Only one task can be in progress.", "invalid_arguments"),
        ("The 'query' parameter cannot be empty.", "invalid_arguments"),
        ("[Operation Cancelled] Reason: User cancelled", "cancelled"),
        ("The request timed out", "timed_out"),
        ("File not found: /src/a.py", "failed"),
    ],
)
def test_failures_by_their_words(text: str, kind: out.FailureKind) -> None:
    assert understood(*READ, text, is_error=True) == out.Failure(kind, text)


def test_a_call_that_was_cancelled_says_so_in_its_record() -> None:
    assert understood(*RUN, "", item={"status": "cancelled"}) == out.Failure("cancelled", "")


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    content = told(*READ, out.Failure(kind, "not so"))
    first = understood(*READ, content, is_error=True)
    assert isinstance(first, out.Failure)
    assert (first.kind, first.message.endswith("not so")) == (kind, True)
    assert told(*READ, first) == content, "a failure told twice does not grow"


# ── offering ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "version, family, named, missing",
    [
        ("0.1.15", None, {"read_many_files", "search_file_content", "save_memory"}, {"write_todos"}),
        ("0.19.4", "gemini-3-pro-preview", {"write_todos", "codebase_investigator"}, {"activate_skill"}),
        ("0.24.0", "gemini-3-pro-preview", {"delegate_to_agent"}, {"write_todos", "codebase_investigator"}),
        ("0.34.0", "gemini-2.5-pro", {"generalist", "cli_help", "grep_search", "write_todos"}, {"delegate_to_agent"}),
        ("0.61.0", "gemini-3.1-pro-preview", {"invoke_agent"}, {"write_todos", "complete_task", "ask_user"}),
    ],
)
def test_each_version_and_family_is_offered_its_own(
    version: str, family: str | None, named: set[str], missing: set[str]
) -> None:
    offered = {definition.name for definition in DIALECT.at(version, family).definitions()}
    assert named <= offered
    assert not missing & offered


# ── results that were taken out of the conversation again ────────────────────


def masked(left: str) -> str:
    saved = "Output too large. Full output available at: /t/o.txt"
    return f"<tool_output_masked>\n{left}\n\n{saved}\n</tool_output_masked>"


def test_of_a_result_that_was_taken_out_its_beginning_tells_what_was_changed() -> None:
    left = '{{\n  "output": "{} d:\\\\p\\\\new.md. Here is the updated code:\\n# x\n... [TRUNCATED] ...\nz\\n"\n}}'
    write = ("write_file", {"file_path": "new.md", "content": "x"})
    created = masked(left.format("Successfully created and wrote to new file:"))
    assert understood(*write, created) == out.ChangesOutcome((out.Change("d:\\p\\new.md", "created"),))
    assert understood(*write, masked("... [TRUNCATED] ...")) == out.TextOutcome(masked("... [TRUNCATED] ..."))


def test_of_a_command_that_was_taken_out_its_end_and_where_its_output_is_are_kept() -> None:
    run = ("run_shell_command", {"command": "make"})
    left = "Output: a\n\n... [80 lines omitted] ...\n\nz\nExit Code: 2\nProcess Group PGID: 7"
    printed = "a\n\n... [80 lines omitted] ...\n\nz"
    assert understood(*run, masked(left)) == out.CommandOutcome(2, output=printed, job="7", output_path="/t/o.txt")
    note = "[Tool observation string (1MB, 9 lines) masked to preserve context window. Full string saved to: /t/o.txt]"
    newer = f"<tool_output_masked>\n{note}\n</tool_output_masked>"
    outcome = understood(*run, newer)
    assert isinstance(outcome, out.CommandOutcome)
    assert (outcome.exit_code, outcome.output_path) == (None, "/t/o.txt")


def test_a_file_that_was_taken_out_is_no_file() -> None:
    text = masked('{\n  "output": "x\n... [TRUNCATED] ...\ny"\n}')
    assert understood(*READ, text) == out.TextOutcome(text)
