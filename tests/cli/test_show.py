"""`dragoman show`, `sources` and `doctor`, in each of their forms."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.terminal.call_lines import told_in_short
from dragoman.logs import Query
from dragoman.logs.history.costs import Costs
from dragoman.logs.history.rows import UsageRow
from dragoman.model import Outcome, outcomes as out
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX, fill_opencode, opencode_info, opencode_messages
from tests.outcomes import smallest


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def test_a_transcript_shows_calls_with_what_they_gave(reader: User) -> None:
    shown = reader.types("show", "s-1").out
    assert "── turn 0 ──" in shown
    assert "→ Bash  run false" in shown
    assert "exit code 1" in shown


LONG = "Please look at every file of the inventory module – all of them – and count the functions in each, one by one. "


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.slow
def test_a_transcript_fits_the_terminal_and_breaks_lines_at_words(user: User, columns: int) -> None:
    records = [json.loads(line) for line in CLAUDE.splitlines()]
    for record in records:
        if record.get("type") == "user" and isinstance(record["message"]["content"], str):
            record["message"]["content"] = LONG * 3
        for part in record.get("message", {}).get("content", ()) if record.get("type") == "assistant" else ():
            if part.get("type") == "text":
                part["text"] = LONG * 3
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    for form in ((), ("--steps",), ("--tree",)):
        shown = user.sees("show", "s-1", *form, columns=columns, NO_COLOR="1")
        assert shown.code == 0
        lines = re.sub(r".*\x1b\[[0-9;?]*\w", "", shown.out, flags=re.DOTALL).splitlines()  # after a progress bar
        assert [line for line in lines if len(line) > columns] == []
        if not form:
            text = " ".join(line.strip() for line in lines)
            assert LONG.strip() in text
            (turn,) = [line for line in lines if "── turn 0" in line]
            assert (len(turn) > columns - 3, turn.endswith("…")) == (True, True)


@pytest.mark.parametrize("outcome", out.AnyOutcome.__args__, ids=lambda kind: kind.__name__)
def test_no_outcome_is_shown_by_a_name_of_ours(outcome: type[Outcome]) -> None:
    told = told_in_short(smallest(outcome))
    assert told
    assert outcome.__name__ not in told
    assert str(outcome.__struct_config__.tag) not in told


def test_a_run_on_this_machine_costs_nothing_and_a_model_nobody_priced_is_unknown(user: User) -> None:
    rows = (("ours", "dragoman", 0.0), ("theirs", "codex", 0.0), ("other", "dragoman", None))
    costs = {
        name: Costs().of(
            UsageRow(file="", session="", stream="", number=0, event="", client=client, logged_cost=logged)
        )
        for name, client, logged in rows
    }
    assert costs == {"ours": 0.0, "theirs": None, "other": None}


def test_an_edit_is_shown_as_a_diff_cut_unless_all_is_wanted(user: User) -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n" + "".join(f"+line {n}\n" for n in range(40)) + "*** End Patch"
    records = [json.loads(line) for line in CODEX.splitlines()]
    call = {"type": "custom_tool_call", "call_id": "p1", "name": "apply_patch", "input": patch, "status": "completed"}
    result = {
        "type": "custom_tool_call_output",
        "call_id": "p1",
        "output": "Success. Updated the following files:\nA a.txt\n",
    }
    records += [{**records[-1], "type": "response_item", "payload": payload} for payload in (call, result)]
    path = user.write(user.here / "rollout-c-1.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    cut, full = user.types("show", str(path)).out, user.types("show", "--full", str(path)).out
    assert "created a.txt" in cut
    assert "--full shows them" in cut or "+line 39" in cut or "+line 0" not in cut
    assert "--full shows them" not in full


def test_every_line_of_a_failure_stands_below_its_call_in_a_pipe_too(user: User) -> None:
    head = {"sessionId": "s-1", "cwd": "/p", "timestamp": "2026-01-05T12:00:00Z"}
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "Edit",
        "input": {"file_path": "a", "old_string": "x", "new_string": "y"},
    }
    failed = {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "String not found.\nString: x"}
    lines = [
        {**head, "type": "assistant", "uuid": "a", "message": {"role": "assistant", "id": "m", "content": [call]}},
        {**head, "type": "user", "uuid": "r", "message": {"role": "user", "content": [failed]}},
    ]
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    shown = user.types("show", "s-1").out.splitlines()
    place = next(place for place, line in enumerate(shown) if line.endswith("String not found."))
    assert shown[place + 1] == f"{' ' * (len(shown[place]) - len(shown[place].lstrip()))}String: x"


def test_records_are_shown_with_their_events_and_their_bytes(reader: User) -> None:
    """One below the other where the output is no terminal or a narrow one, else side by side."""
    below = reader.types("show", "s-1", "--raw").out
    assert re.search(r"^client_noted  main .*(\n  [a-z_]+: .*)+\n  \| \{", below, re.MULTILINE)
    beside = reader.sees("show", "s-1", "--raw", columns=160, NO_COLOR="1").out
    assert re.search(r"^client_noted  main .* │ \{", beside, re.MULTILINE)


def test_agents_stand_inside_their_call_and_times_and_costs_are_shown(reader: User) -> None:
    def record(role: str, uuid: str, second: int, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": role, "content": content, **more.pop("message", {})}
        time = f"2026-01-05T09:00:{second:02}Z"
        return {"type": role, "uuid": uuid, "sessionId": "s-7", "timestamp": time, "message": message, **more}

    spent = {"id": "m1", "model": "claude-opus-4-5", "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}
    call = {"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "Look.", "description": "Look"}}
    done = {"type": "tool_result", "tool_use_id": "c1", "content": "Seen."}
    inside = {"isSidechain": True, "agentId": "a-1"}
    records = [
        record("user", "u1", 0, "Go."),
        record("assistant", "a1", 1, [call], message=spent),
        record("user", "u3", 5, [done], toolUseResult={"agentId": "a-1", "status": "completed", "content": []}),
        record("assistant", "a2", 6, [{"type": "text", "text": "After it."}]),
    ]
    agent = [
        record("user", "b1", 2, "Look.", **inside),
        record("assistant", "b2", 3, [{"type": "text", "text": "Inside."}], **inside),
    ]
    folder = reader.home / ".claude/projects/-p"
    reader.write(folder / "s-7.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    reader.write(folder / "s-7/subagents/agent-a-1.jsonl", "".join(json.dumps(one) + "\n" for one in agent))
    shown = reader.types("show", "s-7").out
    assert shown.index("→ Task") < shown.index("Inside.") < shown.index("After it.")
    assert "── turn 0 ── 09:00:00  Go." in shown
    assert "1,000,000? tokens · $5.00" in shown
    seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", reader.sees("show", "s-7", columns=34).out)
    lines = [line.split("\r")[-1] for line in seen.splitlines()]
    assert [line for line in lines if len(line) > 34] == []
    assert [line.strip() for line in lines[lines.index("      session s-7") + 1 :][:2]] == ["a-1", "(spawned by c1)"]


def test_steps_and_tree_are_a_line_each(reader: User) -> None:
    steps = reader.types("show", "--steps", "s-1").out.splitlines()
    assert any(line.startswith("  0.0") and "Bash ✗" in line for line in steps)
    tree = reader.types("show", "--tree", "s-1").out.splitlines()
    assert len(tree) == 1
    assert "2 calls (1 failed)" in tree[0] or "2 calls" in tree[0]


def test_a_folder_is_added_to_the_sources_and_taken_out_again(reader: User, tmp_path: Path) -> None:
    settings = reader.settings("# mine\n[policy]\nmax_iterations = 7\n")
    elsewhere = tmp_path / "elsewhere"
    reader.write(elsewhere / "old" / "x.jsonl", CLAUDE.replace(b"s-1", b"s-9").decode())
    assert "s-9" not in reader.types("sessions", "--json").out
    detected = json.loads(reader.types("sources", "detect", str(elsewhere), "--json").out)
    assert [one["format"] for one in detected] == ["claude_code"]
    assert reader.types("sources", "add", str(elsewhere)).code == 0
    assert {one["id"] for one in json.loads(reader.types("sessions", "--json").out)} == {"s-1", "c-1", "s-9"}
    assert settings.read_text().startswith("# mine\n[policy]\nmax_iterations = 7\n")
    listed = json.loads(reader.types("sources", "--json").out)
    assert {"format": "any", "home": str(elsewhere), "files": 1, "bytes": len(CLAUDE)} in listed
    assert reader.types("sources", "remove", str(elsewhere)).code == 0
    assert "s-9" not in reader.types("sessions", "--json").out
    assert reader.types("sources", "remove", str(elsewhere)).code == 1
    assert reader.types("sources", "add", str(elsewhere), "--client", "codx").code == 2


def test_doctor_inspects_and_checks_one_file(reader: User) -> None:
    file = reader.home / ".claude/projects/-p/s-1.jsonl"
    inspected = json.loads(reader.types("doctor", "inspect", str(file), "--lines", "3", "--json").out)
    assert inspected["format"] == "claude_code"
    assert inspected["confidence"]["codex"] == 0
    assert len(inspected["events"]) == 3
    assert all("raw" in event for event in inspected["events"])
    checked = json.loads(reader.types("doctor", "check", str(file), "--json").out)
    assert checked == json.loads(reader.types("doctor", str(file), "--json").out)
    assert checked[0]["records"] == len([line for line in CLAUDE.splitlines() if line])
    nothing = reader.write(reader.here / "x.txt", "nothing\n")
    assert reader.types("doctor", "inspect", str(nothing)).code == 1


@pytest.mark.parametrize(
    "name, text, what",
    [
        ("s.md", "<!-- Generated by SpecStory -->\n\n# a (2026-01-01)\n", "a page of SpecStory"),
        ("k.jsonl", '{"version": "v1", "kind": "Prompt", "data": {}}\n', "a session of Kiro CLI"),
        ("e.json", '{"executionId": "1", "actionId": "act", "chat": []}', "a session of Kiro's editor"),
        ("c.json", '[{"role": "user", "parts": [{"text": "Go."}]}]', "a checkpoint of Gemini CLI"),
        ("d.json", '{"history": [], "clientHistory": [], "toolCall": {}}', "a checkpoint of Gemini CLI"),
        (
            *(
                "f.jsonl",
                '{"type": "system", "subtype": "init", "session_id": "1", "tools": [], "reasoning_effort": ""}\n',
            ),
            "what droid prints",
        ),
        (
            *("g.jsonl", '{"type": "message", "message": {"content": [], "created": 1, "metadata": {}}}\n'),
            "what Goose prints",
        ),
        (
            *("h.jsonl", '{"role": "meta", "type": "system.version", "version": "2.1.0"}\n{"role": "assistant"}\n'),
            "what Kimi Code prints",
        ),
        (
            *("i.jsonl", '{"turnId": "1", "inputEntryId": null, "relatedEntryId": null, "userDisplayContent": null}\n'),
            "what Mistral Vibe prints",
        ),
    ],
)
def test_doctor_names_formats_that_are_known_and_not_read(reader: User, name: str, text: str, what: str) -> None:
    reader.write(reader.here / "logs" / name, text)
    for given in ("logs", f"logs/{name}"):
        assert f"in no known format: {what}: known, not read\n" in reader.types("doctor", given).out


def test_a_history_of_aider_by_another_name_is_named_in_a_folder_and_read_by_itself(reader: User) -> None:
    page = reader.write(
        reader.here / "logs/old.md", "# aider chat started at 2026-01-01 00:00:00\n\n#### Hi.  \n\nYes.\n"
    )
    below = reader.types("doctor", "logs").out
    assert below.startswith("logs/old.md  (passed over)\n")
    assert "a history of aider by another name: read when it is given itself\n" in below
    assert reader.types("doctor", str(page)).out.startswith("1 files, ")


def test_doctor_names_the_files_it_passes_over_and_checks_the_others(reader: User) -> None:
    known = CODEX.replace(b'"a_new_kind"', b'"token_count"')
    log = reader.write(reader.here / "logs/c-1.jsonl", known.decode())
    other = reader.write(reader.here / "logs/a.json", '{"alpha": 1, "beta": {"gamma": 2}}')
    page = reader.write(reader.here / "logs/b.md", "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n")
    reader.write(reader.here / "logs/README.md", "# Logs\n")
    alone = reader.types("doctor", str(log))
    both = reader.types("doctor", str(other), str(log))
    assert (both.code, alone.out.splitlines()[-1] in both.out) == (1, True)
    said = f"{other}  (passed over)\n  in no known format: a JSON document with the fields alpha, beta\n"
    assert said in both.out
    below = reader.types("doctor", str(reader.here / "logs"))
    assert (below.code, said in below.out) == (alone.code, True)
    assert f"{page}  (passed over)\n  in no known format: a page of SpecStory: known, not read\n" in below.out
    assert below.out.splitlines()[-1].endswith("; 2 passed over")
    rows = parsed_rows(reader.types("doctor", str(reader.here / "logs"), "--json").out)
    assert [(Path(row["file"]).name, row["format"]) for row in rows] == [
        ("c-1.jsonl", "codex"),
        ("a.json", None),
        ("b.md", None),
    ]
    assert reader.types("doctor", str(other)).code == 1


def test_doctor_goes_on_after_a_name_for_which_there_is_nothing(reader: User) -> None:
    log = reader.write(reader.here / "logs/c-1.jsonl", CODEX.decode())
    other = reader.write(reader.here / "logs/a.json", '{"alpha": 1}')
    (reader.here / "logs/link.jsonl").symlink_to("nowhere.jsonl")
    named = [str(other), "logs/link.jsonl", "logs/gone.jsonl", str(log)]
    said = reader.types("doctor", *named)
    assert f"{other}  (passed over)\n  in no known format: a JSON document with the fields alpha\n" in said.out
    link = "'logs/link.jsonl' is a link to 'nowhere.jsonl', which does not exist"
    assert f"logs/link.jsonl  (passed over)\n  {link}\n" in said.out
    assert "logs/gone.jsonl  (passed over)\n  there is no file 'logs/gone.jsonl'\n" in said.out
    assert f"{log}  (codex " in said.out
    assert (said.code, said.out.splitlines()[-1].endswith("; 3 passed over")) == (1, True)
    rows = parsed_rows(reader.types("doctor", *named, "--json").out)
    assert [(row["file"], row["format"]) for row in rows] == [
        (str(log), "codex"),
        (str(other), None),
        ("logs/link.jsonl", None),
        ("logs/gone.jsonl", None),
    ]
    below = reader.types("doctor", "logs").out
    assert "link.jsonl  (passed over)\n  in no known format: a link to 'nowhere.jsonl', which does not exist\n" in below
    assert reader.types("doctor", "logs/gone.jsonl").code == 5


def test_doctor_says_where_a_file_lies_that_a_client_should_be_able_to_read(reader: User) -> None:
    chat = reader.write(reader.here / "home/.gemini/tmp/p/chats/session-1.json", '{"messages2": [], "sessionId": "s"}')
    assert "where gemini_cli keeps its logs" in reader.types("doctor", str(chat)).out


def parsed_rows(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


@pytest.fixture
def shared(user: User) -> User:
    """Two sessions in one database, one of which has a sub-agent; no file is named for any of them."""
    database = sqlite3.connect(":memory:")
    fill_opencode(
        database,
        (opencode_info("main"), opencode_messages("main", "ses_child")),
        (opencode_info("child", "ses_main"), opencode_messages("child")),
        (opencode_info("other"), opencode_messages("other")),
    )
    path = user.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(database.serialize())
    database.close()
    return user


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--json"),
        ("events",),
        ("lab", "grep", "a"),
        ("lab", "grep", "a", "--raw"),
        ("stats",),
        ("stats", "--tokens"),
        ("doctor",),
        ("watch", "--once", "--from-start"),
        ("schema", "extract"),
        ("query", "SELECT 1", "--in"),
        ("sessions",),
    ],
)
def test_an_id_means_that_session_with_its_agents_wherever_it_stands(shared: User, words: tuple[str, ...]) -> None:
    command, *options = words
    given = [*options, "ses_main"] if command in ("lab", "query", "schema") else ["ses_main", *options]
    found = shared.types(command, *given)
    assert found.code in (0, 1), found.err
    assert found.out
    assert "ses_other" not in found.out


def test_what_an_id_means_is_counted_alone(shared: User) -> None:
    asked = "SELECT session, stream, count(*) AS calls FROM calls GROUP BY ALL ORDER BY stream"
    found = shared.types("query", asked, "--in", "ses_main", "--json").out.splitlines()
    assert [json.loads(line) for line in found] == [
        {"session": "ses_main", "stream": "main", "calls": 3},
        {"session": "ses_main", "stream": "ses_child", "calls": 2},
    ]
    whole, quick = (
        json.loads(shared.types("stats", "ses_main", "--json", *more).out)["total"]["tokens"]["tokens"]
        for more in ((), ("--tokens",))
    )
    everything = json.loads(shared.types("stats", "--json").out)["total"]["tokens"]["tokens"]
    assert whole == quick
    assert whole * 3 == everything * 2
    shown = json.loads(shared.types("show", "ses_main", "--json").out)
    assert [(one["id"], [child["stream"] for child in one["children"]]) for one in shown] == [
        ("ses_main", ["ses_child"])
    ]


@pytest.mark.parametrize("id", ["abcd", "abcd-1", "agent-x"])
def test_a_session_of_which_only_an_agent_is_there_is_found_by_how_its_id_begins(user: User, id: str) -> None:
    inside = {"isSidechain": True, "agentId": "agent-x", "sessionId": "abcd-1", "timestamp": "2026-01-05T09:00:00Z"}
    said = {"role": "user", "content": "Look."}
    record = {"type": "user", "uuid": "u1", "message": said, **inside}
    log = user.home / ".claude/projects/-p/left.jsonl"
    user.write(log, json.dumps(record) + "\n")
    assert [row["id"] for row in parsed_rows(user.types("sessions", id, "--json").out)] == ["abcd-1"]
    assert "Look." in user.types("show", id).out
    query = Query(paths=[log.parent])
    assert query.find(id).session == "abcd-1"
    query.close()


def test_an_id_that_begins_several_is_told_and_so_is_one_nobody_has(shared: User) -> None:
    several = shared.types("show", "ses_")
    assert (several.code, "begins 2 sessions" in several.err) == (5, True)
    nobody = shared.types("show", "ses_mian")
    assert (nobody.code, "no session begins with 'ses_mian'" in nobody.err) == (5, True)


@pytest.mark.parametrize("wanted", ["last", "6a89"])
def test_where_nothing_is_recorded_the_error_says_where_sessions_are_looked_for(user: User, wanted: str) -> None:
    answer = user.types("show", wanted)
    assert (answer.code, answer.out) == (5, "")
    assert answer.err == (
        f"error: no session {wanted!r}: none was found; `dragoman sources` shows where they are looked for\n"
    )


def test_further_folders_count_in_the_quick_way_too(reader: User, tmp_path: Path) -> None:
    again = CLAUDE.replace(b"s-1", b"s-9").replace(b"req_", b"other_").replace(b"msg_", b"m_").decode()
    reader.write(tmp_path / "elsewhere" / "x.jsonl", again)
    assert reader.types("sources", "add", str(tmp_path / "elsewhere")).code == 0
    whole, quick = (
        json.loads(reader.types("stats", "--json", *more).out)["total"]["tokens"] for more in ((), ("--tokens",))
    )
    assert whole == quick


def test_what_is_named_twice_is_told_once(reader: User) -> None:
    file = str(reader.home / ".claude/projects/-p/s-1.jsonl")
    assert reader.types("events", file, "s-1", file).out == reader.types("events", file).out


def test_a_copy_is_not_counted_without_looking_at_logs_either(reader: User) -> None:
    reader.write(reader.home / ".claude/projects/-q/s-1.jsonl", CLAUDE.decode())
    shown, quick = (json.loads(reader.types("sessions", "--json", *more).out) for more in ((), ("--no-update",)))
    assert [one["calls"] for one in shown if one["id"] == "s-1"] == [2]
    assert shown == quick


def test_a_session_is_found_by_the_name_of_its_file_where_no_index_can_be_kept(
    reader: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.write(tmp_path / "taken", "no folder")
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "taken"))
    assert "run false" in reader.types("show", "s-1").out


def test_nothing_found_is_json_too(user: User, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    for words in (("analyse", "--json"), ("sources", "detect", str(tmp_path / "bare"), "--json")):
        answer = user.types(*words)
        assert (answer.code, answer.json) == (1, [])
