"""opencode's logs: a database, a tree of files, a document; what each kind of record becomes."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.logs import FORMATS, Places, read, recognise, sessions_of
from dragoman.logs.history import find_logs
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallFunction,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    HistoryRewound,
    ImageOutcome,
    Interrupted,
    Media,
    ModelSaid,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
)
from tests.logs.samples import (
    OPENCODE,
    OPENCODE_EXPORT,
    fill_opencode,
    opencode_info,
    opencode_messages,
    opencode_tool,
)

Parts = list[dict[str, Any]]


def database(tmp_path: Path) -> list[AnyEvent]:
    path = tmp_path / "opencode.db"
    path.write_bytes(OPENCODE)
    return list(read(path))


def exported(tmp_path: Path, *messages: tuple[dict[str, Any], Parts], **info: Any) -> list[AnyEvent]:
    held = []
    for number, (facts, parts) in enumerate(messages):
        told = {"id": f"msg_{number}", "sessionID": "ses_x", "time": {"created": 1_767_225_600_000 + number}, **facts}
        named = [{"id": f"prt_{number}{index}", "messageID": told["id"], **part} for index, part in enumerate(parts)]
        held.append({"info": told, "parts": named})
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"info": {**opencode_info("x"), **info}, "messages": held}))
    return list(read(path, "opencode"))


def tree(root: Path, *sessions: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    """Sessions as a file for each thing."""
    for info, messages in sessions:
        _write(root / "session" / "p" / f"{info['id']}.json", info)
        for message in messages:
            _write(root / "message" / info["id"] / f"{message['info']['id']}.json", message["info"])
            for part in message["parts"]:
                _write(root / "part" / message["info"]["id"] / f"{part['id']}.json", part)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def bare(events: list[AnyEvent]) -> list[AnyEvent]:
    """Events without the place they came from."""
    return [
        msgspec.structs.replace(event, source=None)
        for event in events
        if not (isinstance(event, ClientNoted) and event.name.startswith("table/"))
    ]


def test_a_tools_part_is_the_call_and_its_result(tmp_path: Path) -> None:
    told = [event for event in database(tmp_path) if event.call_id == "call-prt_3main"]
    assert [type(event) for event in told] == [ToolCalled, ToolReturned]
    assert isinstance(told[1], ToolReturned)
    assert told[1].result.outcomes == (CommandOutcome(1, output=""),)
    assert told[1].result.duration == 1.5
    assert told[0].time != told[1].time


def test_a_tool_that_was_still_running_has_no_result(tmp_path: Path) -> None:
    (session,) = sessions_of(database(tmp_path))
    uses = {use.called.call_id: use.returned for step in session.turns[0].steps for use in step.tools}
    assert uses["call-prt_4main"] is None


def test_an_agent_is_a_stream_of_the_session_it_works_for(tmp_path: Path) -> None:
    told = database(tmp_path)
    (started,) = [event for event in told if isinstance(event, AgentStarted)]
    (ended,) = [event for event in told if isinstance(event, AgentEnded)]
    assert (started.agent, started.call_id, started.name, started.prompt) == (
        "ses_child",
        "call-prt_5main",
        "explore",
        "Look around.",
    )
    assert (ended.agent, ended.status) == ("ses_child", "completed")
    (session,) = sessions_of(told)
    (child,) = session.children
    assert (session.id, child.id, child.stream, child.parent_call) == (
        "ses_main",
        "ses_main",
        "ses_child",
        "call-prt_5main",
    )
    assert [(event.stream, event.text, event.by) for event in told if isinstance(event, UserSaid)] == [
        ("main", "Fix it.", "user"),
        ("ses_child", "Look around.", "agent"),
    ]


def test_a_row_is_named_where_its_bytes_cannot_be(tmp_path: Path) -> None:
    (said, _) = [event for event in database(tmp_path) if isinstance(event, ModelSaid)]
    assert said.source is not None
    assert (said.source.offset, said.source.length, said.source.row) == (0, len(OPENCODE), "part:prt_7_main")


def test_every_row_and_every_table_is_told_of(tmp_path: Path) -> None:
    told = database(tmp_path)
    rows = {event.source.row for event in told if event.source is not None}
    with sqlite3.connect(tmp_path / "opencode.db") as opened:
        held = {
            f"{table}:{id}"
            for table in ("session", "message", "part")
            for (id,) in opened.execute(f"SELECT id FROM {table}")
        }
    opened.close()
    assert rows == held | {"project:*"}
    assert [event.name for event in told if isinstance(event, UnknownRecord)] == ["part/a-new-kind"] * 2


def test_a_tree_a_database_and_a_document_tell_the_same(tmp_path: Path) -> None:
    session = (opencode_info("alone"), opencode_messages("alone"))
    tree(tmp_path / "storage", session)
    with sqlite3.connect(tmp_path / "opencode.db") as opened:
        fill_opencode(opened, session)
    opened.close()
    (tmp_path / "export.json").write_bytes(OPENCODE_EXPORT)
    from_tree, from_database, from_export = (
        bare(list(read(tmp_path / path))) for path in ("storage/session/p/ses_alone.json", "opencode.db", "export.json")
    )
    assert from_tree == from_database == from_export
    assert len(from_tree) > 10


def test_ranges_in_a_document_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(OPENCODE_EXPORT)
    (said,) = [event for event in read(path) if isinstance(event, ModelSaid)]
    assert said.source is not None
    piece = OPENCODE_EXPORT[said.source.offset : said.source.offset + said.source.length]
    assert json.loads(piece)["text"] == "Done."


def test_a_folder_with_a_tree_holds_its_sessions_and_not_each_part(tmp_path: Path) -> None:
    tree(tmp_path / "storage", (opencode_info("a"), opencode_messages("a")), (opencode_info("b"), []))
    assert [found.path.name for found in find_logs(str(tmp_path))] == ["ses_a.json", "ses_b.json"]


def test_a_tree_that_each_project_had_for_itself_is_read_too(tmp_path: Path) -> None:
    info, messages = opencode_info("old"), opencode_messages("old")
    root = tmp_path / "project" / "p" / "storage" / "session"
    _write(root / "info" / "ses_old.json", info)
    for message in messages:
        _write(root / "message" / "ses_old" / f"{message['info']['id']}.json", message["info"])
        for part in message["parts"]:
            _write(root / "part" / "ses_old" / message["info"]["id"] / f"{part['id']}.json", part)
    (path,) = FORMATS["opencode"].files(tmp_path)
    assert [found.path for found in find_logs(str(tmp_path))] == [path]
    assert [event.text for event in read(path) if isinstance(event, ModelSaid)] == ["Done."]


def test_agents_of_a_tree_work_for_the_first_session(tmp_path: Path) -> None:
    tree(
        tmp_path,
        (opencode_info("main"), []),
        (opencode_info("child", "ses_main"), []),
        (opencode_info("grandchild", "ses_child"), opencode_messages("grandchild")),
    )
    told = list(read(tmp_path / "session" / "p" / "ses_grandchild.json"))
    assert {(event.session, event.stream) for event in told} == {("ses_main", "ses_grandchild")}
    assert isinstance(told[0], SessionStarted)
    assert told[0].parent_session == "ses_child"


# ── databases that are in use ────────────────────────────────────────────────


def in_use(path: Path) -> sqlite3.Connection:
    """A database whose last changes are in the log beside it, as while the client runs."""
    opened = sqlite3.connect(path)
    opened.execute("PRAGMA journal_mode = WAL")
    opened.execute("PRAGMA wal_autocheckpoint = 0")
    fill_opencode(opened, (opencode_info("main"), opencode_messages("main")))
    return opened


def test_what_is_only_in_the_log_beside_a_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opened = in_use(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert recognise(path)[0] is FORMATS["opencode"]
    told = list(read(path))
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Done."]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before, "nothing was written"
    opened.close()


def test_a_database_nobody_may_write_is_read_with_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    path = folder / "opencode.db"
    opened = in_use(path)
    for file in folder.iterdir():
        file.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        told = list(read(path))
    finally:
        folder.chmod(stat.S_IRWXU)
        opened.close()
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Done."]


def test_a_database_whose_log_began_anew_while_it_was_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opened = in_use(path)
    reader = FORMATS["opencode"].reader(path)
    reader.feed(path.read_bytes())
    opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    opened.execute("UPDATE session SET title = 'Later'")
    opened.commit()
    told = reader.close()
    opened.close()
    assert [event.metadata["title"] for event in told if isinstance(event, SessionStarted)] == ["Later"]


def test_a_row_that_is_no_json_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(OPENCODE)
    with sqlite3.connect(path) as opened:
        opened.execute("UPDATE part SET data = '{\"type\": ' WHERE id = 'prt_2_main'")
        opened.execute("UPDATE part SET data = CAST(x'7b2274797065223a2274657874222c2274657874223a22ff227d' AS TEXT)"
                       " WHERE id = 'prt_7_main'")  # fmt: skip
    opened.close()
    told = list(read(path))
    (bad,) = [event for event in told if isinstance(event, Unreadable)]
    assert bad.source is not None
    assert (bad.source.row, bad.session) == ("part:prt_2_main", "ses_main")
    assert len([event for event in told if isinstance(event, ModelSaid)]) == 2


def test_a_table_of_another_layout_costs_nothing_but_itself(tmp_path: Path) -> None:
    whole = database(tmp_path)
    with sqlite3.connect(tmp_path / "opencode.db") as writer:
        writer.execute("ALTER TABLE message RENAME COLUMN session_id TO conversation")
    writer.close()
    events = list(read(tmp_path / "opencode.db"))
    for kind in (SessionStarted, ToolCalled, ToolReturned):
        assert len([one for one in events if isinstance(one, kind)]) == len(
            [one for one in whole if isinstance(one, kind)]
        )
    assert {event.reason for event in events if isinstance(event, Unreadable)} == {"no such column: session_id"}


def test_messages_of_a_session_that_is_gone_are_told_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(OPENCODE)
    with sqlite3.connect(path) as opened:
        opened.execute("DELETE FROM session")
        opened.execute("DELETE FROM message WHERE session_id = 'ses_child'")
    opened.close()
    told = list(read(path))
    assert {event.session for event in told if isinstance(event, ToolCalled)} == {"ses_main", "ses_child"}
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Done."]


def test_a_damaged_database_is_unreadable_and_no_exception(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(OPENCODE[:100] + b"\x00" * (len(OPENCODE) - 100))
    told = list(read(path, "opencode"))
    assert [type(event) for event in told] == [Unreadable]


def test_other_databases_are_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TABLE session (id TEXT)")
    opened.close()
    from dragoman.errors import LogError

    with pytest.raises(LogError, match="no format"):
        recognise(path)


# ── what parts become ────────────────────────────────────────────────────────


def test_tokens_are_counted_once_and_thoughts_are_part_of_the_answer(tmp_path: Path) -> None:
    told = [event for event in database(tmp_path) if isinstance(event, TokensUsed)]
    usage = Usage(10, 95, 5, 10, 3)
    assert [(event.usage, event.cost) for event in told] == [(usage, 0.25)] * 2
    assert usage.total == 120


def test_a_message_without_steps_tells_its_own_tokens(tmp_path: Path) -> None:
    told = exported(tmp_path, ({"role": "assistant", "tokens": {"input": 3, "output": 4}, "cost": 0}, []))
    assert [(event.usage, event.cost) for event in told if isinstance(event, TokensUsed)] == [
        (Usage(input_tokens=3, output_tokens=4), None)
    ]


def test_what_the_client_says_in_the_users_name_is_the_clients(tmp_path: Path) -> None:
    picture = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"}
    parts: Parts = [{"type": "text", "text": "Look."}, picture, {"type": "text", "text": "<file/>", "synthetic": True}]
    told = [event for event in exported(tmp_path, ({"role": "user"}, parts)) if isinstance(event, UserSaid)]
    assert [(event.text, event.by, event.media) for event in told] == [
        ("Look.", "user", (Media("image/png", data="AAAA", name="a.png"),)),
        ("<file/>", "client", ()),
    ]


def test_a_summary_is_a_compaction_and_not_a_saying(tmp_path: Path) -> None:
    told = exported(
        tmp_path,
        ({"role": "user"}, [{"type": "compaction", "auto": True}]),
        ({"role": "assistant", "summary": True}, [{"type": "text", "text": "So far."}]),
    )
    assert [(event.summary, event.trigger) for event in told if isinstance(event, ContextCompacted)] == [
        ("So far.", "auto")
    ]
    assert not [event for event in told if isinstance(event, ModelSaid)]


def test_an_abort_is_an_interrupt_and_other_errors_are_errors(tmp_path: Path) -> None:
    def failed(name: str, **data: Any) -> tuple[dict[str, Any], Parts]:
        return ({"role": "assistant", "error": {"name": name, "data": data}}, [])

    told = exported(
        tmp_path,
        failed("MessageAbortedError", message="Aborted"),
        failed("APIError", message="Too many.", statusCode=429),
        ({"role": "assistant"}, [{"type": "retry", "error": {"name": "APIError", "data": {"message": "Again."}}}]),
    )
    assert [event.text for event in told if isinstance(event, Interrupted)] == ["Aborted"]
    errors = [event for event in told if isinstance(event, ErrorOccurred)]
    assert [(event.message, event.status, event.retried) for event in errors] == [
        ("Too many.", 429, False),
        ("Again.", None, True),
    ]


def test_failures_have_their_kinds_and_wrappers_are_opened(tmp_path: Path) -> None:
    error = "Model tried to call unavailable tool 'frob'. Available tools: bash."
    parts = [
        opencode_tool("1", "webfetch", {"url": "u"}, status="error", error="The user rejected permission to use this."),
        opencode_tool("2", "invalid", {"tool": "frob", "error": error}, output=f"The arguments are invalid: {error}"),
    ]
    told = exported(tmp_path, ({"role": "assistant"}, parts))
    outcomes = [event.result.outcomes[0] for event in told if isinstance(event, ToolReturned)]
    assert [outcome.kind for outcome in outcomes if isinstance(outcome, Failure)] == ["denied", "unknown_tool"]


def test_a_picture_comes_with_its_result(tmp_path: Path) -> None:
    attached = [{"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}]
    part = opencode_tool("1", "read", {"filePath": "a.png"}, output="Image read successfully", attachments=attached)
    told = exported(tmp_path, ({"role": "assistant"}, [part]))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (ImageOutcome(Media("image/png", data="AAAA")),)


def test_a_tool_that_ran_and_is_none_of_the_clients_was_declared_in_that_run(tmp_path: Path) -> None:
    told = exported(tmp_path, ({"role": "assistant"}, [opencode_tool("1", "toy_echo", {"text": "x"}, output="x")]))
    (called,) = [event for event in told if isinstance(event, ToolCalled)]
    assert called.call.operations == (CallFunction("toy_echo", {"text": "x"}),)


def test_calls_that_are_numbered_anew_are_different_calls(tmp_path: Path) -> None:
    parts = [{**opencode_tool(str(number), "bash", {"command": "ls"}, output=""), "callID": "0"} for number in range(2)]
    told = exported(tmp_path, ({"role": "assistant"}, parts))
    ids = [event.call_id for event in told if isinstance(event, ToolCalled)]
    assert len(set(ids)) == 2
    assert [event.call_id for event in told if isinstance(event, ToolReturned)] == ids


def test_a_command_that_gives_work_to_an_agent_is_a_command(tmp_path: Path) -> None:
    part = {"type": "subtask", "prompt": "Review it.", "agent": "general", "command": "review"}
    told = exported(tmp_path, ({"role": "user"}, [part]))
    assert [(event.name, event.arguments) for event in told if isinstance(event, CommandInvoked)] == [
        ("/review", "Review it.")
    ]


def test_what_was_taken_back_is_told_with_the_last_event_that_counts(tmp_path: Path) -> None:
    told = exported(
        tmp_path,
        ({"role": "user"}, [{"type": "text", "text": "One."}]),
        ({"role": "user"}, [{"type": "text", "text": "Two."}]),
        revert={"messageID": "msg_1"},
    )
    (one, _) = [event for event in told if isinstance(event, UserSaid)]
    assert [event.to for event in told if isinstance(event, HistoryRewound)] == [one.id]


def test_a_document_that_breaks_off_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(OPENCODE_EXPORT[:-400])
    assert recognise(path)[0] is FORMATS["opencode"]
    told = list(read(path))
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Fix it."]
    assert isinstance(told[-1], Unreadable)
    assert told[-1].source is not None
    assert told[-1].source.offset + told[-1].source.length == len(OPENCODE_EXPORT) - 400


def test_a_message_or_a_part_by_itself_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (_, message) = opencode_messages("alone")
    part = next(part for part in message["parts"] if part["type"] == "tool")
    _write(tmp_path / "msg_a.json", message["info"])
    _write(tmp_path / "prt_a.json", part)
    assert [type(event) for event in read(tmp_path / "msg_a.json")] == [ClientNoted]
    assert [type(event) for event in read(tmp_path / "prt_a.json")] == [ToolCalled, ToolReturned]


# ── where it is kept ─────────────────────────────────────────────────────────


def test_its_homes_on_each_system(tmp_path: Path) -> None:
    format, home = FORMATS["opencode"], Path("/home/me")
    assert list(format.homes(Places(home, {"XDG_DATA_HOME": "/data"}, "linux"))) == [
        Path("/data/opencode"),
        home / ".local/share/opencode",
    ]
    assert list(format.homes(Places(home, {}, "darwin"))) == [
        home / ".local/share/opencode",
        home / "Library/Application Support/opencode",
    ]
    assert list(format.homes(Places(home, {"LOCALAPPDATA": "/local"}, "win32"))) == [
        Path("/local/opencode"),
        home / ".local/share/opencode",
    ]
    named = os.fspath(tmp_path / "mine.db")
    assert next(iter(format.homes(Places(home, {"OPENCODE_DB": named}, "linux")))) == tmp_path


def test_a_tree_that_was_taken_over_into_a_database_is_not_found_twice(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(OPENCODE)
    tree(tmp_path / "storage", (opencode_info("main"), []), (opencode_info("left"), []))
    assert [path.name for path in FORMATS["opencode"].files(tmp_path)] == ["opencode.db", "ses_left.json"]


def test_the_doctor_names_the_file_of_a_tree_that_is_bad_and_counts_each_as_a_record(tmp_path: Path) -> None:
    root = tmp_path / "storage"
    _write(root / "session" / "p" / "ses_1.json", {"id": "ses_1", "title": "x", "time": {"created": 1}})
    for number in (1, 2):
        _write(root / "message" / "ses_1" / f"msg_{number}.json", {"id": f"msg_{number}", "role": "user"})
    bad = root / "part" / "msg_1" / "prt_1.json"
    _write(bad, {})
    bad.write_bytes(b'{"type": ')
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "doctor", str(root), "--json"], capture_output=True, check=False
    )
    # The files of messages without a session's id are named beside it, as files in no known format.
    (row,) = [row for row in json.loads(done.stdout) if row["format"] is not None]
    assert (row["records"], [one["file"] for one in row["unreadable"]]) == (4, [str(bad)])


def test_a_session_of_a_tree_is_read_from_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "storage"
    _write(root / "session" / "p" / "ses_1.json", {"id": "ses_1", "title": "x", "time": {"created": 1}})
    _write(root / "message" / "ses_1" / "msg_1.json", {"id": "msg_1", "role": "user", "sessionID": "ses_1"})
    _write(root / "part" / "msg_1" / "prt_1.json", {"id": "prt_1", "type": "text", "text": "Hi.", "messageID": "msg_1"})
    monkeypatch.chdir(root / "session" / "p")
    assert [event.text for event in read("ses_1.json") if isinstance(event, UserSaid)] == ["Hi."]


def test_a_session_whose_name_leads_elsewhere_is_read_by_itself(tmp_path: Path) -> None:
    root = tmp_path / "storage"
    elsewhere = {"id": "ses_/../../..", "title": "x", "time": {"created": 1}}
    _write(root / "session" / "p" / "ses_1.json", elsewhere)
    (root / "message" / "ses_").mkdir(parents=True)
    _write(tmp_path / "msg_1.json", {"id": "msg_1", "role": "user"})
    told = list(read(root / "session" / "p" / "ses_1.json", "opencode"))
    assert [type(event) for event in told] == [SessionStarted]


def printed(kind: str, time: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": time, "sessionID": "ses_r", **more}


def part(id: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"part": {"id": id, "messageID": "msg_r", "sessionID": "ses_r", "type": kind, **more}}


def test_what_a_run_prints_is_read_line_by_line(tmp_path: Path) -> None:
    state = {
        "status": "completed",
        "input": {"command": "ls"},
        "output": "a\n",
        "metadata": {"exit": 0},
        "time": {"start": 1767225601000, "end": 1767225602000},
    }
    tokens = {"total": 15, "input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    run = [
        json.dumps(printed("step_start", 1767225600000, **part("prt_1", "step-start"))),
        json.dumps(printed("reasoning", 1767225600500, **part("prt_2", "reasoning", text="hm"))),
        json.dumps(printed("tool_use", 1767225602000, **part("prt_3", "tool", callID="c1", tool="bash", state=state))),
        "a warning",
        json.dumps(printed("text", 1767225603000, **part("prt_4", "text", text="Done."))),
        json.dumps(printed("step_finish", 1767225604000, **part("prt_5", "step-finish", reason="stop", tokens=tokens))),
        json.dumps(printed("error", 1767225605000, error={"name": "APIError", "data": {"message": "no"}})),
    ]
    path = tmp_path / "run.log"
    path.write_text("\n".join(run) + "\n")
    assert recognise(path)[0].name == "opencode"
    events = list(read(path))
    assert [(type(event).__name__, event.session) for event in events] == [
        ("ClientNoted", "ses_r"),
        ("ModelThought", "ses_r"),
        ("ToolCalled", "ses_r"),
        ("ToolReturned", "ses_r"),
        ("Unreadable", None),
        ("ModelSaid", "ses_r"),
        ("TokensUsed", "ses_r"),
        ("ModelFinished", "ses_r"),
        ("ErrorOccurred", "ses_r"),
    ]
    data = path.read_bytes()
    sources = [event.source for event in events if event.source is not None]
    told = {data[source.offset : source.offset + source.length].decode().strip() for source in sources}
    assert told == set(run)
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert (returned.result.outcomes, returned.result.duration) == ((CommandOutcome(0, output="a\n"),), 1.0)
    path.write_text(run[4])
    assert [event.text for event in read(path) if isinstance(event, ModelSaid)] == ["Done."]
