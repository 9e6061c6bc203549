"""Results that were once read as something else: output that looks like what a tool says of it, and messages."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out


def read(dialect: str, name: str, arguments: dict[str, Any], text: str) -> out.Outcome:
    speaker = DIALECTS[dialect]
    return speaker.read_result(speaker.read_call(NativeCall("1", name, arguments)), NativeResult("1", text)).outcomes[0]


@pytest.mark.parametrize(
    "dialect, name, arguments",
    [("continue", "List", {"dirpath": "nope"}), ("qwen_code", "list_directory", {"path": "nope"})],
)
def test_a_message_is_no_listing(dialect: str, name: str, arguments: dict[str, Any]) -> None:
    message = "Directory does not exist: nope"
    assert read(dialect, name, arguments, message) == out.TextOutcome(message)


@pytest.mark.parametrize(
    "dialect, outcome",
    [
        ("qwen_code", out.CommandOutcome(0, output="x\nExit Code: 1")),
        ("qwen_code", out.CommandOutcome(0, output="x\nError: (none)\nExit Code: 1\nSignal: 2")),
        ("gemini_cli", out.CommandOutcome(2, output="a\nSignal: 3")),
    ],
)
def test_output_that_looks_like_the_end_of_a_command_is_output(dialect: str, outcome: out.CommandOutcome) -> None:
    speaker = DIALECTS[dialect]
    call = speaker.read_call(NativeCall("1", "run_shell_command", {"command": "make", "is_background": False}))
    assert speaker.read_result(call, speaker.write_result(call, (outcome,))).outcomes == (outcome,)


def test_a_command_that_runs_without_a_name_has_none_when_it_is_read() -> None:
    speaker = DIALECTS["gemini_cli"]
    call = speaker.read_call(NativeCall("1", "run_shell_command", {"command": "make"}))
    outcome = out.CommandOutcome(output="so far\n", running=True)
    assert speaker.read_result(call, speaker.write_result(call, (outcome,))).outcomes == (outcome,)


def test_an_empty_file_is_a_file() -> None:
    shown = "<path>a.py</path>\n<type>file</type>\n<content>\n\n(End of file - total 0 lines)\n</content>"
    assert read("opencode", "read", {"filePath": "a.py"}, shown) == out.FileOutcome("a.py", "", 1, 0)


@pytest.mark.parametrize(
    "note, outcome",
    [
        ("[7 more lines in file. Use offset=3 to continue]", out.FileOutcome("a.py", "x\ny", 1, 9)),
        (
            "[Showing lines 1-2 of 9. Use offset=3 to continue]",
            out.FileOutcome("a.py", "x\ny", 1, 9, truncated=True),
        ),
    ],
)
def test_a_note_without_a_full_stop_is_no_line_of_the_file(note: str, outcome: out.FileOutcome) -> None:
    """As pi 0.30.2 writes it."""
    assert read("pi", "read", {"path": "a.py"}, f"x\ny\n\n{note}") == outcome


def test_what_a_result_in_json_leaves_out_is_what_an_outcome_has_by_default() -> None:
    assert read("mistral_vibe", "read_file", {"path": "a.py"}, '{"content": "x = 1", "path": "a.py"}') == (
        out.FileOutcome("a.py", "x = 1")
    )
    assert read("mistral_vibe", "bash", {"command": "ls"}, '{"command": "ls", "stdout": "a", "stderr": ""}') == (
        out.TextOutcome('{"command": "ls", "stdout": "a", "stderr": ""}')
    )  # how it ended is not said, and is not guessed


def test_a_result_that_mistral_vibe_saved_because_it_was_long_is_that_of_the_command() -> None:
    text = (
        "<system>The tool output is large. To preserve your context window, it was saved to the file system under "
        "/v/bash-1.json.\nOutput size: 129023 characters</system>\n<truncated-output>\n"
        '{"command":"seq 9","returncode":3,"stderr":"","stdout":"1\\n\\n[... 10 characters omitted ...]\\n\\n9"}\n'
        "</truncated-output>\n<system>Remember: The full content was saved to /v/bash-1.json.</system>"
    )
    stdout = "1\n\n[... 10 characters omitted ...]\n\n9"
    expected = out.CommandOutcome(3, stdout, "", truncated=10, output_path="/v/bash-1.json")
    assert read("mistral_vibe", "bash", {"command": "seq 9"}, text) == expected
    assert isinstance(read("mistral_vibe", "bash", {"command": "seq 9"}, text.replace('"seq 9"', "")), out.TextOutcome)


@pytest.mark.parametrize(
    "dialect, version, name, arguments, meant",
    [
        ("codex", "0.20.0", "toy__echo", {"text": "x"}, op.CallMcpTool("toy", "echo", {"text": "x"})),
        ("codex", "0.44.0", "toy__echo", {"text": "x"}, op.CallMcpTool("toy", "echo", {"text": "x"})),
        (
            *("qwen_code", "0.22.0", "replace", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
            op.EditFile("/a", (op.Edit("x", "y"),)),
        ),
        ("qwen_code", "0.22.0", "search_file_content", {"pattern": "x"}, op.SearchText("x")),
    ],
)
def test_names_that_one_stretch_of_versions_had_are_known(
    dialect: str, version: str, name: str, arguments: dict[str, Any], meant: op.Operation
) -> None:
    for speaker in (DIALECTS[dialect], DIALECTS[dialect].at(version)):
        assert speaker.read_call(NativeCall("1", name, arguments)).operations == (meant,)


def test_a_command_of_claude_code_1_0_that_failed_without_a_code_is_a_command_that_ended() -> None:
    speaker = DIALECTS["claude_code"].at("1.0.59")
    call = speaker.read_call(NativeCall("1", "Bash", {"command": "ls nope"}))
    (outcome,) = speaker.read_result(call, NativeResult("1", "ls: nope: No such file", is_error=True)).outcomes
    assert outcome == out.CommandOutcome(output="ls: nope: No such file")


def test_an_indented_tree_of_opencode_is_read_as_paths_that_exist() -> None:
    tree = "/p/\n  src/\n    util/\n      b.py\n    a.py\n  README.md\n"
    outcome = read("opencode", "list", {"path": "/p"}, tree)
    assert isinstance(outcome, out.DirectoryOutcome)
    assert [one.path for one in outcome.entries] == ["src", "src/util", "src/util/b.py", "src/a.py", "README.md"]


@pytest.mark.parametrize("dialect", sorted(DIALECTS.built_in))
@pytest.mark.parametrize("text", ["", "fine", "Error: broken arguments"])
@pytest.mark.parametrize("is_error", [None, True])
def test_a_result_of_a_call_that_nobody_can_read_has_an_outcome(
    dialect: str, text: str, *, is_error: bool | None
) -> None:
    """A call with broken arguments means nothing that is known (Qwen Code 0.7.1, 0.12.0), and it gave something."""
    spoken = DIALECTS[dialect]
    for name in [one.native_name for one in spoken.spellings][:5]:
        call = spoken.read_call(NativeCall("1", name, '{"broken'))
        result = spoken.read_result(call, NativeResult("1", text, is_error=is_error))
        assert len(result.outcomes) == max(1, len(call.operations))


@pytest.mark.parametrize("version", ["0.0.390", "1.0.20", "1.0.80", "1.0.92"])
@pytest.mark.parametrize("path", ["/p/shot.png", "/p/drawing"])
def test_a_sentence_about_a_picture_is_no_file(version: str, path: str) -> None:
    """What Copilot up to 1.0.92 logs of an image that it viewed."""
    speaker = DIALECTS["copilot"].at(version)
    seen = "Viewed image file successfully."
    (outcome,) = speaker.read_result(
        speaker.read_call(NativeCall("1", "view", {"path": path})), NativeResult("1", seen)
    ).outcomes
    assert outcome == out.TextOutcome(seen)


@pytest.mark.parametrize(
    "name, arguments, meant",
    [
        ("background_process", {"action": "stop", "id": "p1"}, op.StopCommand),
        ("list_mcp_resources", {}, op.ListMcpResources),
        ("read_mcp_resource", {"server": "toy", "uri": "toy://note"}, op.ReadMcpResource),
        ("todoread", {}, op.ReadPlan),
        ("plan_exit", {}, op.SteerClient),
        ("kilo_local_recall", {"mode": "search", "query": "x"}, op.SteerClient),
    ],
)
def test_tools_of_kilo_s_own_are_no_functions_of_somebody_else(
    name: str, arguments: dict[str, Any], meant: type[op.Operation]
) -> None:
    assert [type(one) for one in DIALECTS["kilo"].read_call(NativeCall("1", name, arguments)).operations] == [meant]
