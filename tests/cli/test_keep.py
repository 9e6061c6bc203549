"""`dragoman keep`, as somebody types it: sessions outlive their logs."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX

LOG = ".claude/projects/-p/0f7b2c1e-5a52-4c1e-9d1f-3a8e7c0d1b2a.jsonl"
OTHER = ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-c-1.jsonl"


@pytest.fixture
def keeper(user: User) -> User:
    user.write(user.home / LOG, CLAUDE.decode())
    user.write(user.home / OTHER, CODEX.decode())
    assert user.types("keep").code == 0
    return user


def gone(user: User) -> None:
    shutil.rmtree(user.home / ".claude")


def facts(user: User) -> list[dict[str, object]]:
    rows = user.types("sessions", "--json").json
    return [{name: value for name, value in row.items() if name != "file"} for row in rows]


def test_kept_sessions_are_listed_shown_and_counted_after_the_original_is_gone(keeper: User) -> None:
    commands = (("show", "s-1"), ("stats", "--by", "tool", "--json"), ("events", "s-1"), ("usage", "--json"))
    before = [keeper.types(*words).out for words in commands]
    listed = facts(keeper)
    gone(keeper)
    assert facts(keeper) == listed
    shown, counted, events, usage = (keeper.types(*words).out for words in commands)
    assert [shown, counted, usage] == [before[0], before[1], before[3]]
    original, copy = str(keeper.home / LOG), keeper.types("sessions", "s-1", "--json").json[0]["file"]
    assert events.replace(copy, original) == before[2]
    raw = keeper.types("show", "s-1", "--raw", "--json")
    assert raw.code == 0


def test_the_same_bytes_come_back_where_they_were_or_elsewhere(keeper: User) -> None:
    gone(keeper)
    assert keeper.types("keep", "restore", "s-1").out.split() == [str(keeper.home / LOG)]
    assert (keeper.home / LOG).read_bytes() == CLAUDE
    again = keeper.types("keep", "restore", "s-1")
    assert (again.code, "exists; --to" in again.err) == (5, True)
    (elsewhere,) = keeper.types("keep", "restore", "s-1", "--to", "back", "--json").json["files"]
    assert (keeper.here / elsewhere).read_bytes() == CLAUDE
    assert (keeper.here / elsewhere).stat().st_mode & 0o777 == 0o600
    assert len(keeper.types("sessions", "--json").json) == 2


def test_what_is_still_there_with_the_same_bytes_does_not_keep_the_rest_from_coming_back(keeper: User) -> None:
    agent = keeper.home / LOG.removesuffix(".jsonl") / "subagents" / "agent-a1.jsonl"
    line = {"sessionId": "s-1", "agentId": "a1", "isSidechain": True, "type": "user", "uuid": "g", "cwd": "/p"}
    keeper.write(agent, json.dumps({**line, "message": {"role": "user", "content": "Count"}}) + "\n")
    assert keeper.types("keep").code == 0
    (keeper.home / LOG).unlink()
    assert keeper.types("keep", "restore", "s-1").out.split() == [str(keeper.home / LOG)]
    assert (keeper.home / LOG).read_bytes() == CLAUDE
    (keeper.home / LOG).unlink()
    agent.write_text(agent.read_text() + "{}\n")
    refused = keeper.types("keep", "restore", "s-1")
    assert (refused.code, str(agent) in refused.err) == (5, True)
    assert not (keeper.home / LOG).exists()


def test_last_is_the_newest_session_as_in_every_command(keeper: User) -> None:
    newest = keeper.types("sessions", "--json").json[0]["id"]
    (file,) = keeper.types("keep", "restore", "last", "--to", "back", "--json").json["files"]
    assert (keeper.here / file).read_bytes() == {"s-1": CLAUDE, "c-1": CODEX}[newest]
    assert keeper.types("keep", "forget", "last", "--json").json == {"forgotten": [newest]}


def test_a_log_that_was_moved_is_not_counted_twice(keeper: User) -> None:
    moved = keeper.home / ".claude/projects/-elsewhere" / Path(LOG).name
    moved.parent.mkdir()
    (keeper.home / LOG).rename(moved)
    with moved.open("ab") as file:
        file.write(CLAUDE.splitlines(keepends=True)[0].replace(b'"uuid":"', b'"uuid":"later-'))
    assert [row["id"] for row in keeper.types("sessions", "--json").json].count("s-1") == 1
    assert keeper.types("sessions", "s-1", "--json").json[0]["file"] == str(moved)


def test_a_session_that_was_forgotten_is_gone_and_not_kept_again_unless_it_is_named(keeper: User) -> None:
    assert keeper.types("keep", "forget", "s-1").code == 0
    for _ in range(2):  # the second time, too
        assert keeper.types("keep", "--json").json["forgotten"] == 1
    assert [one["sessions"] for one in keeper.types("keep", "list", "--json").json["logs"]] == [["c-1"]]
    assert keeper.types("keep", "s-1").code == 0
    assert keeper.types("keep", "--json").json["forgotten"] == 0
    keeper.types("keep", "forget", "s-1")
    gone(keeper)
    assert [row["id"] for row in keeper.types("sessions", "--json").json] == ["c-1"]


def test_the_list_says_what_is_gone_and_verify_that_all_is_as_it_was(keeper: User) -> None:
    gone(keeper)
    states = {one["sessions"][0]: one["original"] for one in keeper.types("keep", "list", "--json").json["logs"]}
    assert states == {"s-1": "gone", "c-1": "there"}
    assert "s-1" in keeper.types("keep", "list", "--gone").out
    assert keeper.types("keep", "verify").code == 0
    assert keeper.types("keep", "verify", "--json").json["wrong"] == []


def test_without_an_archive_it_is_said_and_none_is_made(user: User) -> None:
    for words in (("list",), ("verify",), ("restore", "x"), ("forget", "x")):
        done = user.types("keep", *words)
        assert (done.code, "nothing was kept yet" in done.err) == (5, True)
    assert not (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "kept.sqlite").exists()


# ── the timer ────────────────────────────────────────────────────────────────

PROGRAM = """#!/bin/sh
case "$0 $1" in
*crontab\\ -l) test -f "$HOME/table" && cat "$HOME/table" || { echo "no crontab for you" >&2; exit 1; } ;;
*crontab\\ -) cat > "$HOME/table" ;;
*) echo "$(basename "$0") $*" >> "$HOME/commands" ;;
esac
"""


@pytest.fixture
def with_programs(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    for name in ("crontab", "systemctl"):
        user.write(user.home / "bin" / name, PROGRAM).chmod(0o755)
    monkeypatch.setenv("PATH", f"{user.home / 'bin'}:{user.environ['PATH']}")
    return user


def test_a_timer_is_printed_first_and_changes_nothing(with_programs: User) -> None:
    before = sorted(with_programs.home.rglob("*"))
    for kind in ("systemd", "cron", "launchd"):
        done = with_programs.types("keep", "timer", "--with", kind)
        assert (done.code, "Nothing was changed" in done.err) == (0, True)
        assert "keep" in done.out
    assert "not tried on a Mac" in with_programs.types("keep", "timer", "--with", "launchd").err
    assert sorted(with_programs.home.rglob("*")) == before


def test_a_line_of_cron_is_added_once_and_taken_away_with_nothing_else(with_programs: User) -> None:
    table = with_programs.write(with_programs.home / "table", "5 4 * * * mine\n# mine too\n")
    for _ in range(2):
        assert with_programs.types("keep", "timer", "--with", "cron", "--install").code == 0
        assert table.read_text().startswith("5 4 * * * mine\n# mine too\n")
        assert table.read_text().count("-m dragoman keep") == 1
    assert with_programs.types("keep", "timer", "--with", "cron", "--remove").code == 0
    assert table.read_text() == "5 4 * * * mine\n# mine too\n"


def test_units_of_systemd_are_installed_and_removed(with_programs: User) -> None:
    assert with_programs.types("keep", "timer", "--with", "systemd", "--install").code == 0
    folder = with_programs.home / ".config/systemd/user"
    assert {one.name for one in folder.iterdir()} == {"dragoman-keep.service", "dragoman-keep.timer"}
    assert (
        f'"DRAGOMAN_DATA_DIR={with_programs.environ["DRAGOMAN_DATA_DIR"]}"'
        in (folder / "dragoman-keep.service").read_text()
    )
    assert with_programs.types("keep", "timer", "--with", "systemd", "--remove").code == 0
    assert list(folder.iterdir()) == []
    assert (with_programs.home / "commands").read_text().splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now dragoman-keep.timer",
        "systemctl --user disable --now dragoman-keep.timer",
        "systemctl --user daemon-reload",
    ]


@pytest.mark.parametrize("kind", ["systemd", "cron", "launchd"])
def test_a_timer_keeps_the_logs_that_are_kept_now_where_they_are_kept_now(
    with_programs: User, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    chosen = {
        "DRAGOMAN_DATA_DIR": str(with_programs.home / "100 % $mine's"),
        **{name: f"/elsewhere/{name}" for name in ("CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")},
    }
    for name, value in {**chosen, "SOME_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)
    made = with_programs.types("keep", "timer", "--with", kind, "--json").json
    text = "".join(content for content in made["files"].values() if content) + (made["crontab"] or "")
    written = {
        "systemd": lambda name, value: f'Environment="{name}={value.replace("%", "%%")}"\n',
        "cron": lambda name, value: f" {name}={shlex.quote(value)}".replace("%", "\\%"),
        "launchd": lambda name, value: f"<key>{name}</key><string>{value}</string>",
    }[kind]
    assert [name for name, value in chosen.items() if written(name, value) not in text] == []
    assert "secret" not in text


def test_a_folder_that_no_line_of_a_timer_can_name_is_refused(
    with_programs: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", "/a\n* * * * * other")
    done = with_programs.types("keep", "timer", "--with", "cron", "--install")
    assert (done.code, "CODEX_HOME holds a character that cannot be printed" in done.err) == (3, True)
    assert not (with_programs.home / "table").exists()


def test_without_the_program_that_has_timers_it_is_said(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(user.home))
    done = user.types("keep", "timer", "--with", "cron", "--install")
    assert (done.code, "there is no `crontab` here" in done.err) == (3, True)
