"""The document on normalising tools: what each client logged, as the operation it means, with the original beside it.

Its case study, its tests and its commands, in its order. `docs/origin.md` lists its requirements.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import NativeCall
from dragoman.dialects import DIALECTS, Spelling
from dragoman.logs import FORMATS, Found, Originals, read
from dragoman.logs.history import check_drift, extract_shapes
from dragoman.model import Call, Event, ToolCalled, Unreadable, operations as op
from tests.logs.samples import SAMPLES
from tests.origin.command import run_command

ADD = "*** Begin Patch\n*** Add File: docs/test.md\n+# Test Document\n*** End Patch"
ADD_NEW = "*** Begin Patch\n*** Add File: docs/new_file.md\n+# New File\n*** End Patch"
UPDATE = "*** Begin Patch\n*** Update File: test.rs\n@@\n-old\n+new\n*** End Patch"
CODEX = DIALECTS["codex"]


def record(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": payload}


def patched(call_id: str, patch: str) -> dict[str, Any]:
    """A call as Codex logs it: a name and one text."""
    payload = {"type": "custom_tool_call", "status": "completed", "call_id": call_id, "name": "apply_patch"}
    return record("response_item", {**payload, "input": patch})


def rollout(*records: Mapping[str, Any]) -> str:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]}
    head = [
        record("session_meta", {"id": "c-1", "cwd": "/p", "cli_version": "0.150.0", "git": {"branch": "main"}}),
        record("turn_context", {"model": "gpt-5.5", "cwd": "/p"}),
        record("response_item", said),
    ]
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (*head, *records))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of somebody whose Codex changed one file and made another."""
    folder = tmp_path_factory.mktemp("home")
    log_of(folder).parent.mkdir(parents=True)
    log_of(folder).write_text(rollout(patched("call_455", UPDATE), patched("call_456", ADD_NEW)))
    return folder


def log_of(home: Path) -> Path:
    return home / ".codex" / "sessions" / "2026" / "01" / "01" / "rollout-c-1.jsonl"


def called(path: Path) -> list[ToolCalled]:
    return [event for event in read(path) if isinstance(event, ToolCalled)]


def call(arguments: str | dict[str, Any], name: str = "apply_patch") -> Call:
    made: Call = CODEX.read_call(NativeCall("call_456", name, arguments))
    return made


@cache
def found_by(home: Path, *words: str) -> list[dict[str, Any]]:
    """What `lab grep … --json` prints: the same for the same words, since nothing changes this home."""
    done = run_command(home, "lab", "grep", *words, "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


# ── the layers ───────────────────────────────────────────────────────────────


def test_s4_1_raw_data_becomes_a_native_call_and_that_an_operation(home: Path) -> None:
    first, second = called(log_of(home))
    assert (first.call.native.name, first.call.native.arguments) == ("apply_patch", UPDATE)
    assert first.call.operations == (op.EditFile("test.rs", (op.Edit("old\n", "new\n", whole_lines=True),)),)
    assert second.call.operations == (op.WriteFile("docs/new_file.md", "# New File\n"),)


@pytest.mark.parametrize("dialect", ["claude_code", "codex", "gemini_cli"])
def test_s4_2_each_client_has_declarations_of_its_own_tools_as_they_are(dialect: str) -> None:
    spellings = DIALECTS[dialect].spellings
    assert all(issubclass(one, Spelling) for one in spellings)
    names = {"claude_code": "Edit", "codex": "apply_patch", "gemini_cli": "replace"}
    assert names[dialect] in {one.native_name for one in spellings}


def test_s4_3_raw_shows_the_normalised_and_the_original_side_by_side(home: Path) -> None:
    done = run_command(home, "lab", "grep", '"name":"apply_patch"', "--raw", "--limit", "1")
    assert done.returncode == 0
    original = next(line.strip() for line in done.stdout.splitlines() if '"custom_tool_call"' in line)
    assert json.loads(original)["payload"]["input"] == UPDATE
    normalised = next(line.strip() for line in done.stdout.splitlines() if '"edit_file"' in line)
    assert json.loads(normalised)["path"] == "test.rs"
    alone = run_command(home, "lab", "grep", '"name":"apply_patch"', "--raw=bytes", "--limit", "1")
    assert alone.stdout == log_of(home).read_text().splitlines(keepends=True)[3]


@pytest.mark.parametrize(
    "arguments", ["", "*** Begin Patch", "no patch", "*** Begin Patch\n*** End Patch", {}, {"a": 1}]
)
def test_s4_4_every_call_is_read_or_refused_with_a_reason_and_nothing_is_raised(arguments: Any) -> None:
    made = call(arguments)
    assert made.native.arguments == arguments
    assert (made.failure is None) == bool(made.operations)
    assert made.failure is None or made.failure.message


@pytest.mark.parametrize("format", sorted(SAMPLES))
def test_s4_5_the_original_bytes_of_every_event_are_kept(format: str, tmp_path: Path) -> None:
    name, data = SAMPLES[format][0]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    events: list[Event] = [event for event in read(path, format) if event.source is not None]
    assert events
    with Originals() as originals:
        kept = [originals.of(event.source) for event in events if event.source is not None]
    assert [one for one in kept if one is not None]
    assert [one for one in kept if isinstance(one, bytes) and one not in data] == []


def test_s4_6_operations_and_events_are_typed_and_an_unknown_field_is_an_error() -> None:
    written = msgspec.json.encode(op.WriteFile("a.py", "x"))
    assert msgspec.json.decode(written, type=op.WriteFile) == op.WriteFile("a.py", "x")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"write_file","path":"a.py","content":"x","contents":"y"}', type=op.WriteFile)


def test_s4_7_reading_and_mapping_are_tried_apart() -> None:
    (apply_patch, *_) = [one for one in CODEX.spellings if one.native_name == "apply_patch"]
    assert op.WriteFile in apply_patch.operation_types
    assert call(ADD).operations == (op.WriteFile("docs/test.md", "# Test Document\n"),)
    assert CODEX.write_call("1", op.WriteFile("docs/test.md", "# Test Document\n"))[0].arguments == ADD


# ── the case study: step 1 ───────────────────────────────────────────────────


def test_s4_8_the_first_command_finds_the_patches_and_shows_at_most_five(home: Path) -> None:
    done = run_command(home, "lab", "grep", '"name":"apply_patch"', "--raw", "--limit", "5")
    assert done.returncode == 0
    assert "*** Update File: test.rs" in done.stdout
    assert "*** Add File: docs/new_file.md" in done.stdout
    assert len(found_by(home, '"name":"apply_patch"', "--raw", "--limit", "1")) == 1


def test_s4_9_json_shows_the_normalised_data_and_raw_the_original_too(home: Path) -> None:
    pattern = '"name":"apply_patch"'
    (after,) = found_by(home, pattern, "--limit", "1")
    assert (after["kind"], after["call"]["name"]) == ("tool_called", "apply_patch")
    assert [one["path"] for one in after["operations"]] == ["test.rs"]
    assert "raw" not in after
    (both,) = found_by(home, pattern, "--raw", "--limit", "1")
    assert {key: value for key, value in both.items() if key != "raw"} == after
    assert json.loads(both["raw"])["payload"]["input"] == UPDATE


def test_s4_10_the_normalised_half_names_the_tool_and_what_it_means(home: Path) -> None:
    (line,) = found_by(home, '"name":"apply_patch"', "--raw", "--limit", "1")
    assert (line["kind"], line["call"]["name"]) == ("tool_called", "apply_patch")
    assert line["operations"] == [
        {"type": "edit_file", "path": "test.rs", "edits": [{"old": "old\n", "new": "new\n", "whole_lines": True}]}
    ]


def test_s4_11_the_original_half_is_the_record_itself(home: Path) -> None:
    (line,) = found_by(home, '"name":"apply_patch"', "--raw", "--limit", "1")
    payload = json.loads(line["raw"])["payload"]
    assert (payload["type"], payload["name"], payload["input"]) == ("custom_tool_call", "apply_patch", UPDATE)


@pytest.mark.parametrize("patch, operation", [(ADD, op.WriteFile), (UPDATE, op.EditFile)])
def test_s4_12_a_patch_adds_or_updates_a_file(patch: str, operation: type[op.Operation]) -> None:
    assert [type(one) for one in call(patch).operations] == [operation]


def test_s4_12_a_patch_may_also_delete_and_move_and_do_several_at_once() -> None:
    both = "*** Begin Patch\n*** Delete File: a.py\n*** Add File: b.py\n+x\n*** End Patch"
    assert call(both).operations == (op.DeleteFile("a.py"), op.WriteFile("b.py", "x\n"))


@pytest.mark.parametrize("arguments", [ADD, {"input": ADD}, {"raw": ADD}])
def test_s4_13_the_whole_patch_is_one_text(arguments: Any) -> None:
    assert call(arguments).operations == (op.WriteFile("docs/test.md", "# Test Document\n"),)


def test_s4_14_the_path_is_read_from_the_header_of_the_patch(home: Path) -> None:
    paths = [getattr(event.call.operations[0], "path", None) for event in called(log_of(home))]
    assert paths == ["test.rs", "docs/new_file.md"]


@pytest.mark.parametrize(
    "broken", [ADD.replace("*** Begin Patch\n", ""), ADD.replace("*** Add File: docs/test.md\n", "")]
)
def test_s4_15_a_patch_begins_has_headers_and_hunks_and_ends(broken: str) -> None:
    made = call(broken)
    assert (made.operations, made.failure is not None) == ((), True)


# ── steps 2 and 3 ────────────────────────────────────────────────────────────


def test_s4_16_the_raw_patch_with_its_markers_stays_with_the_call() -> None:
    assert call(ADD).native == NativeCall("call_456", "apply_patch", ADD)
    assert call({"raw": ADD}).native.arguments == {"raw": ADD}


def test_s4_17_a_parsed_patch_has_an_operation_a_path_and_the_raw_patch() -> None:
    made = call(ADD)
    (operation,) = made.operations
    assert isinstance(operation, op.WriteFile)
    assert (operation.path, made.native.arguments) == ("docs/test.md", ADD)


def test_s4_18_a_patch_without_a_file_header_is_refused() -> None:
    failure = call("*** Begin Patch\n+x\n*** End Patch").failure
    assert failure is not None
    assert failure.kind == "invalid_arguments"
    assert "*** Add File:" in failure.message


def test_s4_19_adding_a_file_is_writing_it_with_its_content() -> None:
    assert call(ADD_NEW).operations == (op.WriteFile("docs/new_file.md", "# New File\n"),)


def test_s4_20_updating_a_file_is_editing_it_with_what_was_and_what_is() -> None:
    assert call(UPDATE).operations == (op.EditFile("test.rs", (op.Edit("old\n", "new\n", whole_lines=True),)),)


def test_s4_21_the_name_and_the_id_of_the_call_are_preserved(home: Path) -> None:
    assert [(one.call.id, one.call.native.id, one.call.native.name) for one in called(log_of(home))] == [
        ("call_455", "call_455", "apply_patch"),
        ("call_456", "call_456", "apply_patch"),
    ]


def test_s4_22_what_cannot_be_read_or_is_not_known_is_kept_as_it_is(tmp_path: Path) -> None:
    assert call({"a": 1}, "a_new_tool").operations == (op.Unrecognised("a_new_tool", {"a": 1}),)
    path = tmp_path / "rollout-c-1.jsonl"
    path.write_text(rollout(patched("call_1", "no patch")) + "not a record\n")
    events = list(read(path, "codex"))
    (broken,) = [event for event in events if isinstance(event, ToolCalled)]
    assert (broken.call.operations, broken.call.native.arguments) == ((), "no patch")
    assert [event.__struct_config__.tag for event in events if isinstance(event, Unreadable)] == ["unreadable"]


# ── step 4 ───────────────────────────────────────────────────────────────────


def test_s4_23_parse_add_file_patch() -> None:
    (operation,) = call({"raw": ADD}).operations
    assert operation == op.WriteFile("docs/test.md", "# Test Document\n")


def test_s4_24_normalize_apply_patch_add_file() -> None:
    made = call({"raw": ADD_NEW})
    assert (made.id, made.native.name) == ("call_456", "apply_patch")
    (operation,) = made.operations
    assert isinstance(operation, op.WriteFile)
    assert operation.path == "docs/new_file.md"


# ── further ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dialect, name", [("claude_code", "Edit"), ("gemini_cli", "replace")])
def test_s4_25_the_edits_of_claude_code_and_gemini_cli_mean_the_same(dialect: str, name: str) -> None:
    said = {"file_path": "a.py", "old_string": "old", "new_string": "new"}
    if dialect == "gemini_cli":
        said["instruction"] = ""
    made = DIALECTS[dialect].read_call(NativeCall("1", name, said))
    assert made.operations == (op.EditFile("a.py", (op.Edit("old", "new"),)),)


@pytest.mark.parametrize("format", sorted(set(FORMATS)))
def test_s4_26_every_client_has_a_format_and_a_vocabulary(format: str) -> None:
    assert FORMATS[format].name == format
    assert format == "dragoman" or DIALECTS[FORMATS[format].dialect].spellings


@pytest.mark.parametrize(
    "dialect, name, said, operation",
    [
        ("claude_code", "Read", {"file_path": "a.py"}, op.ReadFile("a.py")),
        ("claude_code", "Glob", {"pattern": "*.py"}, op.FindFiles("*.py")),
        ("gemini_cli", "read_file", {"file_path": "a.py"}, op.ReadFile("a.py")),
        ("gemini_cli", "glob", {"pattern": "*.py"}, op.FindFiles("*.py")),
    ],
)
def test_s4_26_the_other_file_tools_are_normalised(
    dialect: str, name: str, said: dict[str, Any], operation: op.Operation
) -> None:
    assert DIALECTS[dialect].read_call(NativeCall("1", name, said)).operations == (operation,)


def test_s4_27_schemas_are_extracted_from_real_data(home: Path) -> None:
    shapes = extract_shapes([Found(log_of(home), "codex")])
    assert list(shapes) == ["codex"]
    assert list(shapes["codex"]) == ["0.150.0"]
    extracted = run_command(home, "schema", "extract", "--json")
    assert (extracted.returncode, "apply_patch" in extracted.stdout) == (0, True)


def test_s4_28_a_renamed_parameter_is_found_in_real_data_with_its_place(tmp_path: Path) -> None:
    renamed = {"type": "function_call", "name": "exec_command", "arguments": '{"cmdline": "ls"}', "call_id": "call_1"}
    given = {"type": "function_call_output", "call_id": "call_1", "output": "Process exited with code 0\nOutput:\n"}
    log_of(tmp_path).parent.mkdir(parents=True)
    log_of(tmp_path).write_text(rollout(record("response_item", renamed), record("response_item", given)))
    report = check_drift([Found(log_of(tmp_path), "codex")])
    assert [(one.kind, one.name, one.parameter, one.count) for one in report.drifts] == [
        ("new_parameter", "exec_command", "cmdline", 1),
        ("missing_parameter", "exec_command", "cmd", 1),
    ]
    assert {one.source.offset for one in report.drifts if one.source is not None} == {len(rollout().encode())}
    assert run_command(tmp_path, "schema", "check").returncode == 1


def test_s4_28_a_patch_in_a_new_form_is_found_and_known_ones_are_compatible(tmp_path: Path) -> None:
    def checked(patch: str) -> list[tuple[str, str]]:
        done = "Success. Updated the following files:\nA b.py\n"
        result = {"type": "custom_tool_call_output", "call_id": "call_1", "output": done}
        path = tmp_path / "rollout-c-1.jsonl"
        path.write_text(rollout(patched("call_1", patch), record("response_item", result)))
        return [(one.kind, one.name) for one in check_drift([Found(path, "codex")]).drifts]

    assert (checked(ADD), checked(UPDATE)) == ([], [])
    assert checked(ADD.replace("Add File", "Copy File")) == [("changed_text", "apply_patch")]


def test_s4_29_logs_of_all_clients_are_asked_in_one_language(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / ".codex", tmp_path / ".codex")
    claude = tmp_path / ".claude" / "projects" / "-p" / "s-1.jsonl"
    claude.parent.mkdir(parents=True)
    claude.write_bytes(SAMPLES["claude_code"][0][1])
    done = run_command(
        tmp_path,
        *("query", "SELECT DISTINCT client, type FROM operations JOIN sessions USING (session)", "--json"),
    )
    assert done.returncode == 0, done.stderr
    for word in ("codex", "claude_code", "write_file", "run_command"):
        assert f'"{word}"' in done.stdout


# ── checking it ──────────────────────────────────────────────────────────────


def test_s4_30_the_path_the_patch_and_the_name_are_as_the_original_has_them(home: Path) -> None:
    for line in found_by(home, '"name":"apply_patch"', "--raw"):
        payload = json.loads(line["raw"])["payload"]
        (operation,) = line["operations"]
        assert f"File: {operation['path']}\n" in payload["input"]
        assert line["call"]["arguments"] == payload["input"]
        assert line["call"]["name"] == payload["name"] == "apply_patch"


@pytest.mark.parametrize(
    "pattern, kind, fields", [("Update File:", "edit_file", {"edits"}), ("Add File:", "write_file", {"content"})]
)
def test_s4_31_both_kinds_of_patches_are_found_and_mapped(
    home: Path, pattern: str, kind: str, fields: set[str]
) -> None:
    (line,) = found_by(home, pattern, "--raw", "--limit", "1")
    (operation,) = line["operations"]
    assert operation["type"] == kind
    assert set(operation) == {"type", "path", *fields}


def test_s4_32_without_raw_only_after_is_shown_and_with_it_before_and_after(home: Path) -> None:
    shown = run_command(home, "lab", "grep", '"name":"apply_patch"', "--raw", "--limit", "1").stdout
    assert ('"custom_tool_call"' in shown, '"edit_file"' in shown) == (True, True)
    (after,) = found_by(home, '"name":"apply_patch"', "--limit", "1")
    assert "custom_tool_call" not in json.dumps(after)
