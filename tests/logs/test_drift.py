"""Drift: the shapes of logs, and what in them the catalogue does not know."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.logs import FORMATS, Found, read, recognise
from dragoman.logs.history import check_drift, extract_shapes
from dragoman.logs.history.drift import Drift, Report
from dragoman.logs.history.known_fields import known_of
from dragoman.logs.history.observed import counted_in
from dragoman.logs.history.shapes import Shape, kind_of
from dragoman.model import CallFunction, CallMcpTool, Failure, SteerClient, ToolCalled, ToolReturned, Unrecognised
from tests.logs.samples import CLAUDE, CODEX, SAMPLES, _block, _claude, _codex, _told, lines
from tests.logs.test_printed import cline, hook

Change = Callable[[Any], Any]


def found(path: Path, format: str) -> list[Found]:
    return [Found(path, format)]


def put(folder: Path, format: str, change: tuple[str, Change] | None = None) -> list[Found]:
    """The samples of a format in a folder, one of them changed."""
    files = []
    for name, data in SAMPLES[format]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mutated(data, change[1]) if change is not None and change[0] == name else data)
        files.append(Found(path, format))
    return files


def of_calls(report: Report) -> list[Drift]:
    """What was told of calls and records: the samples have few of the fields a client writes."""
    return [one for one in report.drifts if one.kind not in ("new_field", "missing_field", "renamed_field")]


def told(files: list[Found]) -> list[tuple[str, str, str | None]]:
    return sorted(
        ((one.kind, one.name, one.parameter) for one in of_calls(check_drift(files))),
        key=lambda one: [x or "" for x in one],
    )


# ── samples changed as clients change ────────────────────────────────────────


def mutated(data: bytes, change: Change) -> bytes:
    """A log with every JSON value in it changed, whatever it is kept in."""
    if data.startswith(b"SQLite format 3"):
        return _mutated_database(data, change)
    try:
        return json.dumps(deep(json.loads(data), change)).encode()
    except ValueError:
        return b"".join(json.dumps(deep(json.loads(line), change)).encode() + b"\n" for line in data.splitlines())


def _mutated_database(data: bytes, change: Change) -> bytes:
    """The same tables, each row changed as an object of its columns."""
    before, after = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    before.deserialize(data)
    tables = before.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in tables.fetchall():
        cursor = before.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        rows = [deep_row(dict(zip(names, row, strict=True)), change) for row in cursor]
        columns = list(dict.fromkeys(name for row in rows for name in row)) or names
        after.execute(f'CREATE TABLE "{table}" ({", ".join(f"{chr(34)}{name}{chr(34)}" for name in columns)})')
        holes = ", ".join("?" * len(columns))
        after.executemany(
            f'INSERT INTO "{table}" VALUES ({holes})', [[row.get(name) for name in columns] for row in rows]
        )
    after.commit()
    return after.serialize()


def deep_row(row: dict[str, Any], change: Change) -> dict[str, Any]:
    """Changes a row, and the JSON in its cells."""
    cells = {
        name: json.dumps(deep(json.loads(cell), change))
        if isinstance(cell, str) and cell.startswith(("{", "[{"))
        else cell
        for name, cell in row.items()
    }
    changed: dict[str, Any] = change(cells)
    return changed


def deep(value: Any, change: Change) -> Any:
    """Changes every object and text, also those in JSON that is kept as a text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = json.loads(value)
        except ValueError:
            return change(value)
        after = deep(inner, change)
        return value if after == inner else json.dumps(after)
    if isinstance(value, dict):
        return change({name: deep(one, change) for name, one in value.items()})
    if isinstance(value, list):
        return [deep(one, change) for one in value]
    return change(value)


def known_call(format: str, folder: Path) -> tuple[str, str, dict[str, Any]]:
    """A sample's file with a call the catalogue knows, which its client answered: the file, the tool, the arguments."""
    for file, (name, _) in zip(put(folder, format), SAMPLES[format], strict=True):
        events = list(read(file.path, format))
        refused = {
            one.result.call_id
            for one in events
            if isinstance(one, ToolReturned)
            for outcome in one.result.outcomes
            if isinstance(outcome, Failure) and outcome.kind in ("unknown_tool", "invalid_arguments")
        }
        answered = {one.result.call_id for one in events if isinstance(one, ToolReturned)} - refused
        for event in events:
            if not isinstance(event, ToolCalled) or event.call.id not in answered:
                continue
            call, arguments = event.call, event.call.native.arguments
            strange = (Unrecognised, CallFunction, CallMcpTool, SteerClient)
            is_known = call.operations and not any(isinstance(one, strange) for one in call.operations)
            if is_known and isinstance(arguments, dict) and any(isinstance(one, str) for one in arguments.values()):
                return name, call.native.name, arguments
    raise AssertionError(f"no sample of {format} has a call to change")


# What aider and SWE-agent log is text, in which no tool and no parameter has a name. ATIF and Inspect hold the calls of
# any agent, whose tools nobody can know.
WITH_CALLS = [format for format in SAMPLES if format not in ("dragoman", "aider", "swe_agent", "atif", "inspect_ai")]


@pytest.mark.parametrize("format", WITH_CALLS)
def test_a_renamed_tool_a_new_parameter_and_a_changed_type_are_found_and_nothing_else(
    tmp_path: Path, format: str
) -> None:
    before = told(put(tmp_path / "before", format))
    file, tool, arguments = known_call(format, tmp_path / "known")
    parameter = next(name for name, value in arguments.items() if isinstance(value, str))

    def renamed(value: Any) -> Any:
        return "brandnewtool" if value == tool else value

    def widened(value: Any) -> Any:
        return {**value, "brand_new": "x"} if value == arguments else value

    def retyped(value: Any) -> Any:
        return {**value, parameter: {"no": "text"}} if value == arguments else value

    files = [
        *put(tmp_path / "one", format, (file, renamed)),
        *put(tmp_path / "two", format, (file, widened)),
        *put(tmp_path / "three", format, (file, retyped)),
    ]
    assert [one for one in told(files) if one not in before] == [
        ("changed_type", tool, parameter),
        ("new_parameter", tool, "brand_new"),
        ("new_tool", "brandnewtool", None),
    ]


def test_all_three_in_one_session_are_found_where_they_first_stand(tmp_path: Path) -> None:
    def call(number: int, name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        id = f"t{number}"
        return [
            _block(f"u{number}", f"u{number - 1}", {"type": "tool_use", "id": id, "name": name, "input": given}),
            _told(f"u{number + 1}", f"u{number}", id, "ok", result="ok"),
        ]

    records = [
        _claude("user", "u1", None, message={"role": "user", "content": "Go."}),
        *call(2, "Bash", {"command": "ls"}),
        *call(4, "Shell", {"command": "ls", "count": 3}),
        *call(6, "Read", {"file_path": "/p/a", "encoding": "utf-8"}),
        *call(8, "Grep", {"pattern": ["a", "b"]}),
        *call(10, "Shell", {"command": "pwd"}),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(*records))
    report = check_drift(found(path, "claude_code"))
    offsets = [sum(len(lines(one)) for one in records[:index]) for index in range(len(records))]
    assert [(one.kind, one.what, one.count, one.versions) for one in of_calls(report)] == [
        ("new_tool", "Shell", 2, ["2.1.300"]),
        ("new_parameter", "Read.encoding: string", 1, ["2.1.300"]),
        ("changed_type", "Grep.pattern: expected string, seen array", 1, ["2.1.300"]),
    ]
    assert [one.source.offset for one in of_calls(report) if one.source] == [offsets[3], offsets[5], offsets[7]]
    assert (report.files, report.calls, report.refused) == (1, 5, 0)
    (captured,) = report.tools["claude_code"]
    assert captured.parameters == {
        "type": "object",
        "properties": {"command": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["command"],
    }


@pytest.mark.parametrize(
    "results, empty",
    [
        (("", ""), 2),
        (('{"text": ""}', '[{"text": null}]'), 2),
        (('{"text": ""}', '{"text": [""]}', "x"), 2),
        (('{"text": "a"}', '["b"]'), 0),
        (("{", "[x"), 0),
    ],
)
def test_results_that_say_nothing_are_told_where_they_always_said_something(
    tmp_path: Path, results: tuple[str, ...], empty: int
) -> None:
    records = [_claude("user", "u1", None, message={"role": "user", "content": "Go."})]
    for number, result in enumerate(results):
        use, id = 2 * number + 2, f"t{number}"
        call = {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/p/a"}}
        records += [_block(f"u{use}", f"u{use - 1}", call), _told(f"u{use + 1}", f"u{use}", id, result)]
    (tmp_path / "s.jsonl").write_bytes(lines(*records))
    told_of = [one.what for one in check_drift(found(tmp_path / "s.jsonl", "claude_code")).drifts]
    said = f"results: {empty} of {len(results)} are empty, of tools that always say something"
    assert (said in told_of) is (empty > 0)
    assert any("always say something" in one for one in told_of) is (empty > 0)


def test_three_replies_with_tokens_that_say_nothing_are_told_and_two_are_not(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    records = [_claude("user", "u0", None, message={"role": "user", "content": "Go."})]
    for count in range(1, 4):
        reply = {"id": f"m{count}", "role": "assistant", "type": "message", "model": "claude-sonnet-4-5"}
        message = {**reply, "content": [], "stop_reason": "end_turn", "usage": usage}
        records.append(_claude("assistant", f"u{count}", f"u{count - 1}", message=message))
        (tmp_path / "s.jsonl").write_bytes(lines(*records))
        drifts = check_drift(found(tmp_path / "s.jsonl", "claude_code")).drifts
        told_of = [one.what for one in drifts if one.kind == "without_calls"]
        said = "replies: 3 of 3 replies with tokens neither say nor call anything"
        assert told_of == ([said] if count == 3 else [])


@pytest.mark.parametrize("language", ["python", "toml"])
def test_the_missing_spelling_is_drafted_as_a_dialect_that_can_be_read(tmp_path: Path, language: Any) -> None:
    from dragoman.dialects.plugins import dialects_in

    (tmp_path / "s.jsonl").write_bytes(CLAUDE.replace(b'"Bash"', b'"Shell"'))
    text = check_drift(found(tmp_path / "s.jsonl", "claude_code")).skeleton(language)
    path = tmp_path / ("draft.py" if language == "python" else "draft.toml")
    path.write_text(text)
    if language == "python":
        (dialect,) = dialects_in(path).values()
        assert "Shell" in {*(one.native_name for one in dialect.spellings), *(one.name for one in dialect.steering)}
    assert "Shell" in text
    assert "guess" in text or "to do" in text.lower()


def test_a_call_the_client_refused_is_no_drift(tmp_path: Path) -> None:
    bad = "<tool_use_error>InputValidationError: Read failed due to the following issue:\nunexpected</tool_use_error>"
    none = "<tool_use_error>Error: No such tool available: made_up</tool_use_error>"
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines(
            _claude("user", "u1", None, message={"role": "user", "content": "Go."}),
            _block("u2", "u1", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": 3}}),
            _told("u3", "u2", "t1", bad, is_error=True, result=bad),
            _block("u4", "u3", {"type": "tool_use", "id": "t2", "name": "made_up", "input": {"x": 3}}),
            _told("u5", "u4", "t2", none, is_error=True, result=none),
        )
    )
    report = check_drift(found(path, "claude_code"))
    assert (of_calls(report), report.calls, report.refused) == ([], 2, 2)


def _patched(id: str, patch: str, result: str) -> list[dict[str, Any]]:
    call = {"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": patch}
    given = {"type": "custom_tool_call_output", "call_id": id, "output": result}
    return [_codex("response_item", call), _codex("response_item", given)]


def test_a_text_that_the_client_carried_out_and_nobody_here_reads_is_drift(tmp_path: Path) -> None:
    copied = "*** Begin Patch\n*** Copy File: a.py\n*** To: b.py\n*** End Patch"
    records = [*_patched("call_8", copied, "Success. Updated the following files:\nA b.py\n")]
    path = tmp_path / "c.jsonl"
    path.write_bytes(CODEX + lines(*records))
    drifts = [one for one in check_drift(found(path, "codex")).drifts if one.kind == "changed_text"]
    assert [(one.name, one.count, "*** Copy File" in str(one.seen)) for one in drifts] == [("apply_patch", 1, True)]
    assert [one.source.offset for one in drifts if one.source] == [len(CODEX)]


def test_a_text_that_the_client_could_not_read_either_is_no_drift(tmp_path: Path) -> None:
    failed = "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'"
    path = tmp_path / "c.jsonl"
    path.write_bytes(CODEX + lines(*_patched("call_8", "no patch", failed)))
    assert [one for one in check_drift(found(path, "codex")).drifts if one.kind == "changed_text"] == []


def test_records_of_new_kinds_and_bytes_that_are_none_are_drift(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(CLAUDE + b"{no json\n")
    drifts = of_calls(check_drift(found(tmp_path / "s.jsonl", "claude_code")))
    assert [(one.kind, one.name, one.count) for one in drifts] == [
        ("new_record", "a-new-kind", 1),
        ("unreadable", "record", 1),
    ]
    assert [one.source.offset for one in drifts if one.source] == [
        CLAUDE.index(b'{"type": "a-new-kind"'),
        len(CLAUDE),
    ]


def test_an_old_name_and_a_number_that_is_whole_are_known(tmp_path: Path) -> None:
    asked = {"description": "Look", "prompt": "Look.", "subagent_type": "Explore"}
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines(
            _claude("user", "u1", None, message={"role": "user", "content": "Go."}),
            _block("u2", "u1", {"type": "tool_use", "id": "t1", "name": "Task", "input": asked}),
            _told("u3", "u2", "t1", "ok", result="ok"),
            _block(
                "u4", "u3", {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "a", "limit": 2.0}}
            ),
            _told("u5", "u4", "t2", "ok", result="ok"),
        )
    )
    assert of_calls(check_drift(found(path, "claude_code"))) == []


def test_what_was_never_answered_tells_of_new_tools_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines(
            _block("u2", "u1", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": 3}}),
            _block("u3", "u2", {"type": "tool_use", "id": "t2", "name": "made_up", "input": {"x": 3}}),
        )
    )
    assert told(found(path, "claude_code")) == [("new_tool", "made_up", None)]


def test_an_unknown_tool_is_drift_whether_it_is_answered_and_in_whatever_shape(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    of_server = json.dumps({"content": [{"type": "text", "text": "hi"}]})

    def called(id: str, name: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": id, "name": name, "input": {"file_path": "a"}}
        return _block(id.replace("t", "u"), "u1", block)

    answered = [called("t1", "Read"), _told("u4", "u1", "t1", "ok", result="ok")]
    path.write_bytes(lines(*answered, called("t2", "made_up")))
    assert told(found(path, "claude_code")) == [("new_tool", "made_up", None)], "never answered"
    for name in ("made_up", "made__up"):
        path.write_bytes(lines(called("t2", name), _told("u3", "u2", "t2", of_server, result=of_server)))
        assert told(found(path, "claude_code")) == [("new_tool", name, None)], "its servers' are called mcp__…"
    path.write_bytes(lines(called("t2", "mcp__toy__echo"), _told("u3", "u2", "t2", of_server, result=of_server)))
    assert told(found(path, "claude_code")) == []
    refused = "<tool_use_error>Error: No such tool available: made_up</tool_use_error>"
    path.write_bytes(lines(called("t2", "made_up"), _told("u3", "u2", "t2", refused, is_error=True)))
    assert told(found(path, "claude_code")) == []


def test_what_cline_leaves_to_a_server_or_does_not_answer_is_no_drift(tmp_path: Path) -> None:
    """3.0.64 prints `toy__echo` and names no server; 2.14.0 answers no call of a tool that it does not have."""
    path = tmp_path / "printed.jsonl"

    def printed(name: str, output: object) -> list[tuple[str, str, str | None]]:
        call = {"contentType": "tool", "toolName": name, "toolCallId": "t1"}
        events = [
            {"type": "content_start", **call, "input": {"text": "hi"}},
            {"type": "content_end", **call, "output": output},
        ]
        path.write_bytes(lines(hook("agent_start", "a"), *map(cline, events)))
        return [one for one in told(found(path, "cline")) if one[0] == "new_tool"]

    of_server = {"content": [{"type": "text", "text": "hi"}]}
    assert printed("toy__echo", of_server) == []
    assert printed("made_up", of_server) == [("new_tool", "made_up", None)]
    assert printed("made__up", "done") == [("new_tool", "made__up", None)]
    path = tmp_path / "1700" / "api_conversation_history.json"
    path.parent.mkdir()
    uses = [("c1", "list_files", {"path": "."}), ("c2", "no_such", {"x": "1"})]
    replies = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": given}]}
        for id, name, given in uses
    ]
    answer = {"role": "user", "content": [{"type": "text", "text": "[list_files for '.'] Result:\na.py"}]}
    path.write_text(json.dumps([replies[0], answer, replies[1]]))
    assert [one for one in told(found(path, "cline")) if one[0] == "new_tool"] == []


def test_a_run_of_kilo_is_told_from_one_of_opencode_by_what_it_prints(tmp_path: Path) -> None:
    path = tmp_path / "printed.jsonl"
    begin = {"type": "step_start", "timestamp": 1, "sessionID": "ses_1", "part": {"id": "prt_1", "type": "step-start"}}
    part = {"id": "prt_2", "type": "step-finish", "reason": "stop", "tokens": {"input": 1, "output": 2}}
    end = {**begin, "type": "step_finish", "part": part}
    for more, format in (({}, "opencode"), ({"metrics": {"ttft": 1}}, "kilo")):
        path.write_bytes(lines(begin, {**end, "part": {**part, **more}}))
        assert recognise(path)[0] is FORMATS[format]


UNCAPTURED = [format for format in SAMPLES if not FORMATS[format].captured]


def said_of(files: list[Found]) -> str:
    return "\n".join(one.what for one in check_drift(files).drifts)


@pytest.mark.parametrize("format", UNCAPTURED)
def test_fields_that_are_read_of_a_format_nobody_captured_are_told_when_they_change(
    tmp_path: Path, format: str
) -> None:
    known = known_of(format)
    assert known is not None
    assert said_of(put(tmp_path / "before", format)) == ""
    untold = []
    for number, (file, data) in enumerate(SAMPLES[format]):
        if data.startswith(b"PK"):
            continue  # a log in a zip file: the same fields as in the document
        its = counted_in([tmp_path / "before" / file], DIALECTS[FORMATS[format].dialect])
        for name in sorted(its.names & set(known.read)):
            changes: dict[str, Change] = {
                f"{name}2": lambda value, name=name: (
                    {f"{key}2" if key == name else key: one for key, one in value.items()}
                    if isinstance(value, dict)
                    else value
                ),
                name: lambda value, name=name: (
                    {key: True if key == name and isinstance(one, str) else one for key, one in value.items()}
                    if isinstance(value, dict)
                    else value
                ),
            }
            for wanted, change in changes.items():
                changed = tmp_path / str(number) / wanted / Path(file).name
                changed.parent.mkdir(parents=True)
                changed.write_bytes(mutated(data, change))
                if changed.read_bytes() != mutated(data, lambda value: value) and wanted not in said_of(
                    [Found(changed, format)]
                ):
                    untold.append((file, wanted))
    assert untold == []


def test_a_new_field_in_a_format_nobody_captured_is_an_addition(tmp_path: Path) -> None:
    def widened(value: Any) -> Any:
        return {**value, "brandNew": True} if isinstance(value, dict) and "role" in value else value

    name = SAMPLES["amp"][0][0]
    report = check_drift(put(tmp_path, "amp", (name, widened)))
    assert report.drifts == []
    assert ["brandNew" in one.what for one in report.additions] == [True]


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda role: 7, "message.message<assistant>.role: expected string, seen number"),
        (lambda role: None, "message.message<assistant>.role"),
    ],
)
def test_a_field_that_says_the_kind_is_told_when_it_says_none(
    tmp_path: Path, change: Callable[[str], Any], told: str
) -> None:
    def changed(value: Any) -> Any:
        if not isinstance(value, dict) or value.get("role") != "assistant":
            return value
        after = {**value, "role": change(value["role"])}
        return after if after["role"] is not None else {key: one for key, one in value.items() if key != "role"}

    assert told in said_of(put(tmp_path, "droid", (SAMPLES["droid"][0][0], changed))).split("\n")


def test_our_own_recordings_are_held_against_nothing(tmp_path: Path) -> None:
    assert told(put(tmp_path, "dragoman")) == []


# ── shapes ───────────────────────────────────────────────────────────────────


def shape_of(*values: Any) -> dict[str, Any]:
    shape = Shape()
    for value in values:
        shape.learn(value, None)
    return shape.schema()


def test_what_is_always_there_is_required_and_types_are_counted() -> None:
    assert shape_of({"a": 1, "b": "x y"}, {"a": 2.5, "c": [True, None]}) == {
        "type": "object",
        "properties": {
            "a": {"type": ["integer", "number"], "x-count": 2},
            "b": {"type": "string", "x-count": 1},
            "c": {"type": "array", "items": {"type": ["boolean", "null"], "x-count": 2}, "x-count": 1},
        },
        "required": ["a"],
        "x-count": 2,
    }


def test_few_words_that_come_again_are_an_enum_and_many_are_not() -> None:
    assert shape_of("on", "off", "on", "off")["enum"] == ["off", "on"]
    assert "enum" not in shape_of("on", "off")
    assert "enum" not in shape_of(*(str(number) for number in range(20) for _ in range(3)))
    assert "enum" not in shape_of(*["a whole sentence, said twice"] * 4)


def test_an_object_of_very_many_names_is_a_table() -> None:
    assert shape_of({f"file{number}": number for number in range(100)}) == {
        "type": "object",
        "additionalProperties": {"type": ["integer"], "x-count": 100},
        "x-count": 1,
    }


def test_records_are_called_what_they_call_themselves() -> None:
    assert kind_of({"type": "response_item", "payload": {"type": "function_call"}}) == "response_item/function_call"
    assert kind_of({"type": "user", "message": {"role": "user"}}) == "user"
    assert kind_of({"x": 1}) == "record"
    assert kind_of([1]) == "array"


def test_shapes_are_learnt_per_client_and_version(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(CLAUDE)
    (tmp_path / "c.jsonl").write_bytes(CODEX)
    learnt = extract_shapes([Found(tmp_path / "s.jsonl", "claude_code"), Found(tmp_path / "c.jsonl", "codex")])
    assert {client: list(versions) for client, versions in learnt.items()} == {
        "claude_code": ["unknown", "2.1.300"],
        "codex": ["0.150.0"],
    }
    document = learnt["claude_code"]["2.1.300"].document()
    bash = document["tools"]["Bash"]
    assert (bash["properties"]["command"]["type"], bash["required"], bash["x-count"]) == ("string", ["command"], 1)
    place = bash["x-seen"]
    assert place["file"] == str(tmp_path / "s.jsonl")
    assert json.loads(CLAUDE[place["offset"] :].splitlines()[0])["uuid"] == "u3"
    assert list(document["records"]) == ["a-new-kind", "assistant", "user"]
    assert "response_item/function_call" in learnt["codex"]["0.150.0"].document()["records"]


@pytest.mark.parametrize("format", SAMPLES)
def test_what_was_learnt_is_a_json_schema_that_its_own_values_obey(tmp_path: Path, format: str) -> None:
    import jsonschema

    files = put(tmp_path, format)
    learnt = extract_shapes(files)
    for one in files:
        for event in read(one.path, one.format):
            if isinstance(event, ToolCalled):
                native = event.call.native
                name = native.name if native.namespace is None else f"{native.namespace}.{native.name}"
                schemas = [its.document()["tools"].get(name) for its in learnt[format].values()]
                judged = [jsonschema.Draft202012Validator(one) for one in schemas if one is not None]
                assert any(one.is_valid(native.arguments) for one in judged), name
    assert format in FORMATS
