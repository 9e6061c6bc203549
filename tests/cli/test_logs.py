"""The commands over logs, on small logs of our own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from base64 import b64decode, b64encode
from typing import Any

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX, SAMPLES


def parsed(text: str) -> Any:
    return json.loads(text)


@pytest.fixture
def reader(user: User) -> User:
    """Somebody with a session of Claude Code and one of Codex at home."""
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def test_sessions_of_all_clients_are_listed(reader: User) -> None:
    done = reader.types("sessions", "--json")
    assert done.code == 0
    found = {one["id"]: one for one in parsed(done.out)}
    assert {id: (one["client"], one["calls"], one["turns"]) for id, one in found.items()} == {
        "s-1": ("claude_code", 2, 1),
        "c-1": ("codex", 1, 1),
    }
    assert [one["id"] for one in parsed(reader.types("sessions", "--client", "codex", "--json").out)] == ["c-1"]


def test_events_have_the_keys_machines_rely_on(reader: User) -> None:
    lines = [parsed(line) for line in reader.types("events", "s-1", "--raw").out.splitlines()]
    called = next(line for line in lines if line["kind"] == "tool_called")
    assert called["call"] == {"id": "t1", "name": "Bash", "arguments": {"command": "false"}}
    assert called["operations"] == [{"type": "run_command", "command": "false"}]
    assert (called["session"], called["client"], called["version"]) == ("s-1", "claude_code", "2.1.300")
    assert (called["stream"], called["turn"], called["step"], called["executed_by"]) == ("main", 0, 0, "client")
    file = reader.home / ".claude/projects/-p/s-1.jsonl"
    source = called["source"]
    assert source["file"] == str(file)
    assert file.read_bytes()[source["offset"] : source["offset"] + source["length"]].decode() == called["raw"]
    returned = next(line for line in lines if line["kind"] == "tool_returned")
    assert returned["outcomes"][0]["type"] == "command_outcome"
    used = next(line for line in lines if line["kind"] == "tokens_used")
    assert used["usage"]["output_tokens"] == 7


def test_show_and_sources_and_doctor(reader: User) -> None:
    shown = reader.types("show", "s-1").out
    assert "→ Bash  run false" in shown
    assert "exit code 1" in shown
    sources = parsed(reader.types("sources", "--json").out)
    assert {(one["format"], one["files"]) for one in sources} == {("claude_code", 1), ("codex", 1)}
    checked = reader.types("doctor", "--json")
    assert checked.code == 1
    assert {name for one in parsed(checked.out) for name in one["unknown"]} == {"a-new-kind", "a_new_kind"}


def test_what_is_not_there_is_said_with_what_to_do(reader: User) -> None:
    done = reader.types("show", "zzz")
    assert done.code == 5
    assert "dragoman sessions" in done.err


def test_a_record_and_its_events_stand_side_by_side_on_a_wide_terminal_and_else_below_one_another(reader: User) -> None:
    file = reader.home / ".claude/projects/-p/s-1.jsonl"
    lines = CLAUDE.decode().splitlines()
    wide = reader.sees("show", "s-1", "--raw", columns=140, NO_COLOR="1").out.splitlines()
    rows = [line.split(" │ ") for line in wide if " │ " in line]
    assert "".join(row[1] for row in rows).replace(" ", "") == "".join(lines).replace(" ", "")
    assert any(row[0].startswith("tool_called  main turn 0 step 0") for row in rows)
    narrow = reader.sees("show", "s-1", "--raw", columns=90, NO_COLOR="1").out.splitlines()
    assert [line.removeprefix("  | ") for line in narrow if line.startswith("  | ")] == lines
    assert narrow[0] == f"── {file} 0+{len(lines[0]) + 1}"


def test_show_raw_tells_machines_every_record_with_its_bytes(reader: User) -> None:
    rows = [parsed(line) for line in reader.types("show", "s-1", "--raw", "--json").out.splitlines()]
    assert "".join(row["raw"] or "" for row in rows) == CLAUDE.decode()
    assert all(row["events"] for row in rows)


def test_bytes_that_are_no_text_come_in_base64_and_rows_by_their_columns(reader: User) -> None:
    bad = b'{"type":"user","sessionId":"s-2","message":{"role":"user","content":"\xff\xfe"}}\n\xff\x00no json\n'
    file = reader.home / ".claude/projects/-p/s-2.jsonl"
    file.write_bytes(CLAUDE + bad)
    lines = [parsed(line) for line in reader.types("events", "s-2", "--raw").out.splitlines()]
    raws = [line["raw"] for line in lines if not isinstance(line["raw"], str)]
    assert b"".join({b64decode(raw["base64"]): None for raw in raws}) == bad
    database = reader.home / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    name, data = next((name, data) for name, data in SAMPLES["opencode"] if name.endswith(".db"))
    database.write_bytes(data)
    told = [parsed(line) for line in reader.types("events", str(database), "--raw").out.splitlines()]
    called = next(line for line in told if line["kind"] == "tool_called")
    row = called["raw"]["row"]
    assert called["source"]["row"] == f"part:{row['id']}"
    assert parsed(row["data"])["type"] == "tool", name


def test_doctor_says_that_a_file_is_in_no_known_format(reader: User) -> None:
    file = reader.home / "notes.txt"
    file.write_text("nothing\n")
    told = reader.types("doctor", "inspect", str(file))
    assert (told.code, told.out) == (1, "")
    assert f"{file} is in no format that is known here" in " ".join(told.err.split())


def test_doctor_goes_on_after_a_file_nobody_knows_one_that_is_gone_and_a_link_that_leads_nowhere(
    reader: User,
) -> None:
    known = [reader.write(reader.here / name, CLAUDE.decode()) for name in ("a.jsonl", "z.jsonl")]
    odd = reader.write(reader.here / "odd.txt", "hello\n")
    link, gone = reader.here / "link.jsonl", reader.here / "gone.jsonl"
    link.symlink_to("nowhere")
    done = reader.types("doctor", str(known[0]), str(odd), str(link), str(gone), str(known[1]))
    assert done.code == 1
    for line in (
        "odd.txt  (passed over)\n  in no known format: no JSON: text\n",
        "link.jsonl  (passed over)\n  '",
        "' is a link to 'nowhere', which does not exist\n",
        "gone.jsonl  (passed over)\n  there is no file '",
    ):
        assert line in done.out, done.out
    assert "2 files, " in done.out
    assert "3 passed over" in done.out


def test_doctor_shows_the_bytes_of_what_could_not_be_read(reader: User) -> None:
    bad = b"\xff\x00no json\n"
    file = reader.home / ".claude/projects/-p/s-1.jsonl"
    file.write_bytes(CLAUDE + bad + b'{"type":\n')
    (row,) = parsed(reader.types("doctor", str(file), "--raw", "--json").out)
    offset = len(CLAUDE)
    assert [{**one, "reason": None} for one in row["unreadable"]] == [
        {"offset": offset, "length": 10, "reason": None, "raw": {"base64": b64encode(bad).decode()}},
        {"offset": offset + 10, "length": 9, "reason": None, "raw": '{"type":\n'},
    ]
    assert [parsed(raw)["type"] for raw in row["examples"].values()] == ["a-new-kind"]
    shown = reader.types("doctor", str(file), "--raw").out
    assert '    | {"type":\n' in shown
    assert f"unreadable at byte {offset} (10 bytes)" in shown


def test_a_file_that_cannot_be_opened_costs_the_others_nothing(reader: User) -> None:
    (reader.home / ".claude/projects/-p/gone.jsonl").symlink_to("nowhere")
    done = reader.types("events", "gone", "s-1")
    assert (done.code, {parsed(line)["session"] for line in done.out.splitlines()}) == (0, {"s-1"})
    assert "gone.jsonl: No such file or directory" in done.err
    assert reader.types("show", "gone").code == 5


def test_a_file_nobody_knows_is_read_as_the_format_that_is_named(reader: User) -> None:
    file = reader.write(reader.home / "x.log", "no json\n")
    assert reader.types("events", str(file)).code == 5
    (line,) = reader.types("events", str(file), "--format", "codex", "--raw").out.splitlines()
    assert (parsed(line)["kind"], parsed(line)["raw"]) == ("unreadable", "no json\n")
    assert reader.types("doctor", str(file), "--format", "codex").code == 1
    wrong = reader.types("events", str(file), "--format", "codecs")
    assert (wrong.code, "codex" in wrong.err) == (3, True)


def test_what_is_piped_in_is_read_like_a_file(reader: User) -> None:
    file = reader.home / ".claude/projects/-p/s-1.jsonl"

    def told(lines: str) -> list[Any]:
        return [{**parsed(line), "source": None} for line in lines.splitlines()]

    whole = told(reader.types("events", str(file), "--raw").out)
    assert whole
    command = [sys.executable, "-m", "dragoman"]
    with file.open("rb") as log:
        done = subprocess.run(
            [*command, "events", "-", "--raw"],
            stdin=log,
            capture_output=True,
            text=True,
            env=reader.environ,
            check=True,
        )
    assert told(done.stdout) == whole
    script = f"exec {shlex.join(command)} show <(cat {shlex.quote(str(file))})"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=reader.environ, check=True)
    assert done.stdout == reader.types("show", str(file)).out
    with file.open("rb") as log:
        done = subprocess.run(
            [*command, "stats", "-", "--json"], stdin=log, capture_output=True, env=reader.environ, check=True
        )
    assert parsed(done.stdout)["total"] == parsed(reader.types("stats", str(file), "--json").out)["total"]


def test_a_pipe_among_the_logs_keeps_nobody_waiting(reader: User) -> None:
    pipe = reader.home / ".claude/projects/-p/pipe.jsonl"
    os.mkfifo(pipe)
    assert len(parsed(reader.types("sessions", "--json").out)) == 2
    assert reader.types("doctor", "--json").code == 1
    done = reader.types("watch", "--once", str(pipe))
    assert done.code == 5
    assert "save what it gives" in done.err


@pytest.mark.parametrize("words", ["sessions", "stats", "projects", "sources", "analyse", "lab grep x", "watch --once"])
def test_an_exit_code_means_the_same_to_people_and_machines(user: User, words: str) -> None:
    said, told = user.types(*words.split()), user.types(*words.split(), "--json")
    assert said.code == told.code == 1, "nothing was found"
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    if words.startswith(("sessions", "stats", "projects", "sources")):
        assert user.types(*words.split()).code == user.types(*words.split(), "--json").code == 0
