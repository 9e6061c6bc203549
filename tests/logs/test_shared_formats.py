"""Formats known from public source, and those that programs exchange: what is there is read, and nothing else."""

from __future__ import annotations

import datetime
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.logs import FORMATS, read, sessions_of
from dragoman.logs.base.format import Places
from dragoman.logs.history import find_logs
from dragoman.model import (
    AnyEvent,
    CallFunction,
    CallMcpTool,
    ClientNoted,
    CommandOutcome,
    DoneOutcome,
    Edit,
    EditFile,
    Failure,
    ModelSaid,
    ModelThought,
    NativeCall,
    ReadFile,
    RunCommand,
    SearchText,
    SessionStarted,
    SpawnAgent,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    Unrecognised,
    Usage,
    UserSaid,
    WriteFile,
    operations as op,
    outcomes as out,
)
from tests.logs.shared_samples import SHARED_SAMPLES


def events_of(folder: Path, format: str, number: int = 0) -> list[AnyEvent]:
    name, data = SHARED_SAMPLES[format][number]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return list(read(path))


def of(events: list[AnyEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def meant(events: list[AnyEvent]) -> list[Any]:
    return [event.call.operations[0] for event in of(events, ToolCalled)]


def gave(events: list[AnyEvent]) -> list[Any]:
    return [event.result.outcomes[0] for event in of(events, ToolReturned)]


def used(events: list[AnyEvent]) -> list[Usage]:
    return [event.usage for event in of(events, TokensUsed)]


def test_a_thread_of_amp(tmp_path: Path) -> None:
    events = events_of(tmp_path, "amp")
    assert meant(events) == [RunCommand("false", "/p"), EditFile("/p/a", (Edit("x", "y"),))]
    assert gave(events) == [CommandOutcome(1, output="no"), Failure("failed", "Could not find the text.")]
    assert used(events) == [
        Usage(input_tokens=10, cached_read_tokens=3, output_tokens=7),
        Usage(input_tokens=20, output_tokens=2),
    ]
    (started,) = of(events, SessionStarted)
    assert (started.session, started.cwd, started.version) == ("T-0001", "/p", "0.0.1")


def test_tokens_of_an_older_thread_are_those_of_its_ledger(tmp_path: Path) -> None:
    name, data = SHARED_SAMPLES["amp"][0]
    thread = json.loads(data)
    for message in thread["messages"]:
        message.pop("usage", None)
    entry = {"timestamp": "2026-01-01T00:00:05Z", "model": "m-1", "tokens": {"input": 9, "output": 4}}
    thread["usageLedger"] = {"events": [entry]}
    (tmp_path / name).write_text(json.dumps(thread))
    assert used(list(read(tmp_path / name))) == [Usage(input_tokens=9, output_tokens=4)]


def test_a_trajectory_in_atif_and_that_of_its_agent(tmp_path: Path) -> None:
    events = events_of(tmp_path, "atif")
    (session,) = sessions_of(events)
    (child,) = session.children
    assert (session.id, child.id, child.parent_call) == ("at-1", "at-2", "c-2")
    assert meant(events)[0] == RunCommand("false")
    assert meant(events)[2] == Unrecognised("peek", {"at": "a"})
    assert gave(events)[0] == CommandOutcome(output="Exit code 1")  # only a flag could tell that it failed
    assert gave(events)[2] == TextOutcome("a thing")
    assert used(events) == [
        Usage(input_tokens=10, cached_read_tokens=3, output_tokens=7),
        Usage(input_tokens=5, output_tokens=1),
    ]


def test_a_result_without_a_flag_does_not_say_that_a_command_ended_well(tmp_path: Path) -> None:
    name, data = SHARED_SAMPLES["atif"][0]
    (tmp_path / name).write_bytes(data.replace(b"Exit code 1", b"some output"))
    assert gave(list(read(tmp_path / name)))[0] == CommandOutcome(output="some output")


def test_a_transcript_of_cursor_has_the_times_and_results_that_are_in_it_and_no_others(tmp_path: Path) -> None:
    events = events_of(tmp_path, "cursor")
    (asked,) = of(events, UserSaid)
    zone = datetime.timezone(datetime.timedelta(hours=-7))
    assert (asked.text, asked.time) == ("Fix it.", datetime.datetime(2026, 8, 2, 3, 51, tzinfo=zone))
    assert meant(events) == [RunCommand("false"), ReadFile("/p/a", 5, 7)]
    assert (gave(events), used(events)) == ([], [])
    assert {event.time for event in events if event is not asked and event.source != asked.source} == {None}


def test_an_old_transcript_of_cursor_in_plain_text(tmp_path: Path) -> None:
    events = events_of(tmp_path, "cursor", 2)
    assert [event.text for event in of(events, UserSaid)] == ["Make a page."]
    assert [event.text for event in of(events, ModelSaid)] == ["Let me look.", "I write the page.", "Done."]
    assert [event.text for event in of(events, ModelThought)] == ["Now I know:\n\n1. one\n2. two\n\nSo I write it."]
    assert meant(events) == [
        ReadFile("/p/README.md", 443, 502),
        RunCommand("cat <<E | wc\nuser:\nE", purpose="Count"),
        WriteFile("/p/a.yaml", "on:\n  push: x\n  path: y\n\nend\n"),
        SpawnAgent("Look at:\n- all\n  note: no parameter", agent="explore", model="fast"),
    ]
    assert (gave(events), used(events)) == ([], [])
    notes = [event.data["tool"] for event in of(events, ClientNoted)]
    assert notes == ["ReadFile", "Shell", "Write", "Task"]


def test_a_session_of_cursor_with_both_transcripts_is_read_once_from_the_newer(tmp_path: Path) -> None:
    for name, data in (("cu-2.jsonl", SHARED_SAMPLES["cursor"][0][1]), ("cu-2.txt", SHARED_SAMPLES["cursor"][2][1])):
        path = tmp_path / "p/agent-transcripts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert [found.path.name for found in find_logs(str(tmp_path))] == ["cu-2.jsonl"]
    assert [path.name for path in FORMATS["cursor"].files(tmp_path)] == ["cu-2.jsonl"]


def test_what_a_message_of_cursor_s_database_says_of_thoughts_and_models(tmp_path: Path) -> None:
    bubble = {"type": 2, "text": "Yes.", "modelName": "m-2", "allThinkingBlocks": [{"text": "hm"}, {"text": "so"}]}
    edit = {"name": "search_replace", "params": {"relativeWorkspacePath": "a", "oldString": "x", "newString": "y"}}
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for id, value in (("b-1", bubble), ("b-2", {"type": 2, "toolFormerData": edit})):
            database.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:cu-4:{id}", json.dumps(value)))
    events = list(read(path))
    assert [(one.text, one.model) for one in of(events, ModelThought)] == [("hm", "m-2"), ("so", "m-2")]
    assert meant(events) == [EditFile("a", (Edit("x", "y"),))]


def test_the_database_of_cursor(tmp_path: Path) -> None:
    events = events_of(tmp_path, "cursor", 1)
    assert meant(events) == [RunCommand("false"), CallMcpTool("toy", "echo", {"text": "hi"})]
    assert gave(events) == [CommandOutcome(1, output="no")]
    assert used(events) == [Usage(input_tokens=10, output_tokens=7)]
    assert [event.text for event in of(events, ModelThought)] == ["hm"]
    (session,) = sessions_of(events)
    assert session.id == "cu-1"
    assert [event.model for event in of(events, SessionStarted)] == ["m-1"]


@pytest.mark.parametrize("number", [0, 1], ids=["document", "archive"])
def test_a_log_of_inspect(tmp_path: Path, number: int) -> None:
    events = events_of(tmp_path, "inspect_ai", number)
    assert meant(events) == [RunCommand("false"), CallFunction("weigh", {"what": "a stone"})]
    assert gave(events) == [CommandOutcome(output="no"), Failure("failed", "It took too long.")]
    assert used(events) == [Usage(input_tokens=7, cached_read_tokens=3, output_tokens=7)] * 2
    assert [event.text for event in of(events, UserSaid)] == ["Fix it, please."]
    (session,) = sessions_of([event for event in events if event.session])
    assert (session.id, len(session.turns[0].steps)) == ("ev-1/1/1", 2)


def test_a_trajectory_of_swe_agent(tmp_path: Path) -> None:
    events = events_of(tmp_path, "swe_agent")
    assert meant(events) == [RunCommand("ls"), ReadFile("/p/a.py")]
    assert gave(events) == [CommandOutcome(output="a.py\n"), TextOutcome("x = 1")]
    assert used(events) == [Usage(input_tokens=20, output_tokens=9)]
    assert [(event.text, event.by) for event in of(events, UserSaid)] == [
        ("Fix it.", "user"),
        ("Your output could not be parsed.", "client"),
    ]
    assert {event.time for event in events} == {None}


def test_a_trajectory_of_mini_swe_agent_before_and_after_calls(tmp_path: Path) -> None:
    events = events_of(tmp_path, "mini_swe_agent")
    assert meant(events) == [RunCommand("false"), RunCommand("ls")]
    assert gave(events) == [CommandOutcome(1, output="no"), CommandOutcome(0, output="a.py")]
    assert used(events) == [Usage(input_tokens=10, cached_read_tokens=3, output_tokens=7)]


def test_a_session_of_the_chat_of_vs_code(tmp_path: Path) -> None:
    events = events_of(tmp_path, "vscode_chat")
    assert meant(events) == [ReadFile("/p/a")]
    assert gave(events) == [TextOutcome("```py\nx = 1\n")]
    assert used(events) == [Usage(input_tokens=10, output_tokens=7)]
    assert [event.text for event in of(events, ModelSaid)] == ["I look.", "Done."]


def test_a_session_of_the_chat_of_vs_code_that_is_told_by_its_changes(tmp_path: Path) -> None:
    events = events_of(tmp_path, "vscode_chat", 1)
    (said,) = of(events, ModelSaid)
    assert (said.text, said.model) == ("I read.", "m-2")


def test_a_task_of_roo_code_is_its_own_and_no_task_of_cline_is(tmp_path: Path) -> None:
    events = events_of(tmp_path, "roo_code")
    assert meant(events) == [
        op.EditFile("a.py", (op.Edit("x", "y"),)),
        op.RunCommand("false", cwd="/p"),
        op.SpawnAgent("Look why.", "debug"),
        op.SteerClient("switch_mode", {"mode_slug": "ask", "reason": "to tell"}),
    ]
    assert gave(events) == [
        out.ChangesOutcome((out.Change("a.py", "modified"),)),
        out.CommandOutcome(3, output="no"),
        out.TextOutcome("It was the wrong name."),
        out.TextOutcome("Switched."),
    ]
    assert {event.client for event in events} == {"roo_code"}
    path = tmp_path / "cline" / "api_conversation_history.json"
    path.parent.mkdir()
    data = dict(SHARED_SAMPLES["roo_code"])["tasks/roo-1/api_conversation_history.json"]
    path.write_bytes(data.replace(b"<slug>code</slug>", b"ACT MODE"))
    assert [found.format for found in find_logs(str(path))] == ["cline"]
    path.write_bytes(data.replace(b"<slug>code</slug>", b"architect"))
    assert [found.format for found in find_logs(str(path))] == ["roo_code"]


@pytest.mark.parametrize(
    "given",
    [
        {"search": "a.c", "replace": "x", "use_regex": "true"},
        {"search": "a", "replace": "x", "start_line": "3"},
        {"search": "", "replace": "x"},
        {"operations": []},
    ],
)
def test_a_replacement_of_roo_code_that_depends_on_the_file_is_not_guessed_at(given: dict[str, Any]) -> None:
    read = DIALECTS["roo_code"].read_call(NativeCall("1", "search_and_replace", {"path": "a", **given}))
    assert (read.operations, read.failure is not None) == ((), True)


def test_roo_code_is_looked_for_in_the_folders_of_editors() -> None:
    homes = [home.as_posix() for home in FORMATS["roo_code"].homes(Places(Path("/h"), {}, "linux"))]
    assert "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks" in homes
    assert not any("roo" in home.as_posix() for home in FORMATS["cline"].homes(Places(Path("/h"), {}, "linux")))


@pytest.mark.parametrize("format", sorted(SHARED_SAMPLES))
def test_a_format_that_nobody_captured_says_so_and_what_it_lacks(format: str) -> None:
    assert (FORMATS[format].captured, bool(FORMATS[format].lacks)) == (False, True)


def test_results_of_tools_that_nobody_captured_are_text(tmp_path: Path) -> None:
    from dragoman.dialects import DIALECTS
    from dragoman.model import NativeCall, NativeResult

    listing = "src/a.py\nsrc/b.py"
    calls = {
        "amp": ("glob", {"filePattern": "*"}),
        "cursor": ("LS", {"path": "."}),
        "inspect_ai": ("text_editor", {"command": "view", "path": "/p/a"}),
        "swe_agent": ("find_file", {"file_name": "*.py"}),
        "copilot": ("file_search", {"query": "*.py"}),
    }
    for name, (tool, arguments) in calls.items():
        dialect = DIALECTS[name]
        call = dialect.read_call(NativeCall("1", tool, arguments))
        assert call.failure is None
        assert dialect.read_result(call, NativeResult("1", listing)).outcomes == (TextOutcome(listing),)
        assert dialect.read_result(call, NativeResult("1", "")).outcomes == (DoneOutcome(),)
    search = DIALECTS["cursor"].read_call(NativeCall("1", "Grep", {"pattern": "x", "-i": True})).operations
    assert search == (SearchText("x", case_sensitive=False),)


def test_tokens_of_a_sample_of_inspect_without_events_are_those_of_its_models(tmp_path: Path) -> None:
    name, data = SHARED_SAMPLES["inspect_ai"][0]
    value = json.loads(data)
    for sample in value["samples"]:
        sample.pop("events", None)
        sample["model_usage"] = {"m-1": {"input_tokens": 4, "output_tokens": 2, "total_tokens": 6}}
    (tmp_path / name).write_text(json.dumps(value))
    found = [(event.model, event.usage.input_tokens) for event in of(list(read(tmp_path / name)), TokensUsed)]
    assert found == [("m-1", 4)] * len(value["samples"])
