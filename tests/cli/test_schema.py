"""`dragoman schema`: shapes of logs, and drift."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX

# Of a version older than all that were captured nothing is known to be missing.
KNOWN = CLAUDE.replace(b'{"type": "a-new-kind", "sessionId": "s-1"}\n', b"").replace(b"2.1.300", b"1.0.1")
RENAMED = KNOWN.replace(b'"Bash"', b'"Shell"')


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", KNOWN.decode())
    return user


def test_logs_as_they_are_known_are_no_drift_and_additions_of_a_version_are_one_line(reader: User) -> None:
    answer = reader.types("schema", "check")
    assert (answer.code, answer.out.count("\n")) == (0, 1)
    assert answer.out.startswith("additions: claude_code 1.0.1: 3 new fields, in no known version: ")
    assert "1 files, 2 calls (0 refused by the client, not counted); 0 differences" in answer.err


def test_drift_is_told_with_its_place_and_a_draft_and_exits_with_one(reader: User) -> None:
    path = reader.write(reader.here / "s.jsonl", RENAMED.decode())
    answer = reader.types("schema", "check", str(path))
    assert answer.code == 1
    assert answer.out.startswith("new tool: Shell\n  claude_code 1.0.1, ×1\n")
    place = next(line for line in RENAMED.splitlines() if b"Shell" in line)
    assert f"s.jsonl at byte {RENAMED.index(place)}" in answer.out
    assert "The missing spellings, drafted:" in answer.out
    assert "'Shell'" in answer.out or '"Shell"' in answer.out
    assert '[[tools]]\nname = "Shell"' in reader.types("schema", "check", str(path), "--language", "toml").out


def test_a_call_of_a_tool_that_a_model_made_up_is_not_drafted(reader: User) -> None:
    head = {"sessionId": "s-1", "version": "1.0.1", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"}
    call = {"type": "tool_use", "id": "t9", "name": "made_up", "input": {"x": 3}}
    said = {"id": "m9", "model": "m", "role": "assistant", "content": [call]}
    none = "<tool_use_error>Error: No such tool available: made_up</tool_use_error>"
    given = {"type": "tool_result", "tool_use_id": "t9", "content": none, "is_error": True}
    told = {"message": {"role": "user", "content": [given]}, "toolUseResult": none}
    slip = json.dumps({**head, "type": "assistant", "uuid": "x1", "message": said}) + "\n"
    refused = json.dumps({**head, "type": "user", "uuid": "x2", "parentUuid": "x1", **told}) + "\n"
    path = reader.write(reader.here / "s.jsonl", KNOWN.decode() + slip + refused)
    answer = reader.types("schema", "check", str(path))
    assert "(1 refused by the client, not counted)" in answer.err
    assert "made_up" not in answer.out
    assert "drafted" not in answer.out
    done = refused.replace(json.dumps(none), '"3"').replace('"is_error": true', '"is_error": false')
    path = reader.write(reader.here / "s.jsonl", KNOWN.decode() + slip + done)
    assert "drafted" in reader.types("schema", "check", str(path)).out


def test_drift_is_told_to_machines(reader: User) -> None:
    path = reader.write(reader.here / "s.jsonl", RENAMED.decode())
    told = reader.types("schema", "check", str(path), "--json").json
    (drift,) = told["drifts"]
    assert (drift["kind"], drift["client"], drift["name"], drift["versions"], drift["count"]) == (
        "new_tool",
        "claude_code",
        "Shell",
        ["1.0.1"],
        1,
    )
    assert drift["source"]["file"] == str(path)
    assert (told["files"], told["calls"], told["refused"]) == (1, 2, 0)
    assert "Shell" in told["skeleton"]


def test_shapes_are_listed_written_and_given_to_machines(reader: User) -> None:
    reader.write(reader.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    rows = [line.split() for line in reader.types("schema", "extract").out.splitlines()]
    assert ["claude_code", "1.0.1", "2", "2", "2"] in rows
    told = reader.types("schema", "extract", "--json").json
    assert set(told) == {"claude_code", "codex"}
    assert told["codex"]["0.150.0"]["tools"]["exec_command"]["required"] == ["cmd"]
    assert set(reader.types("schema", "extract", "--json", "--client", "codex").json) == {"codex"}
    assert reader.types("schema", "extract", "-o", "all.json").code == 0
    assert json.loads((reader.here / "all.json").read_text()) == told
    assert reader.types("schema", "extract", "-o", "shapes").code == 0
    alone = json.loads((reader.here / "shapes/codex/0.150.0.json").read_text())
    assert alone == told["codex"]["0.150.0"]


def test_a_version_from_a_log_never_leaves_the_folder(reader: User) -> None:
    """It is one file of its own, however long it is and whatever is in it, and costs no other one."""
    versions = ("../../x", ".._..-x", "/../x", "9" * 3000, "é\\u0000", "ü\\u0000")
    for place, version in enumerate(versions):
        reader.write(reader.here / f"logs/{place}.jsonl", CODEX.decode().replace("0.150.0", version))
    assert reader.types("schema", "extract", "logs", "-o", "shapes").code == 0
    names = {one.name for one in (reader.here / "shapes/codex").iterdir()}
    assert len(names) == len(versions)
    assert all(len(name) <= 100 and "/" not in name for name in names)


@pytest.mark.parametrize("word", ["extract", "check"])
def test_a_client_that_does_not_exist_is_named_with_the_nearest(reader: User, word: str) -> None:
    answer = reader.types("schema", word, "--client", "codx")
    assert answer.code == 2
    assert "codex" in answer.err
    assert reader.types("schema", word, "--help").code == 0
