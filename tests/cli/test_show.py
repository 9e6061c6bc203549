"""`dragoman show`, `sources` and `doctor`, in each of their forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def test_a_transcript_shows_calls_with_what_they_gave(reader: User) -> None:
    shown = reader.types("show", "s-1").out
    assert "── turn 0 ──" in shown
    assert "→ Bash  RunCommand false" in shown
    assert "exit 1" in shown


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
