"""`dragoman export`: a session in another form."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from dragoman.cli.commands import export as command
from dragoman.logs import read
from dragoman.logs.export import STRATEGIES, TARGETS
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX, SAMPLES, _claude, lines

SECRET = "ghp_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
SESSION = CLAUDE + lines(_claude("user", "u9", None, message={"role": "user", "content": f"Use {SECRET} \x1b[2J"}))


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", SESSION.decode())
    return user


def test_the_targets_and_strategies_are_those_there_are() -> None:
    assert list(command._TARGETS) == list(TARGETS)
    assert list(command._STRATEGIES) == list(STRATEGIES)


def test_help_says_what_each_target_and_strategy_is(reader: User) -> None:
    said = reader.types("export", "--help").out
    for name in (*TARGETS, *STRATEGIES):
        assert name in said
    assert reader.types("lab", "export", "--help").code == 0


def test_a_session_is_found_by_its_id_and_by_its_path(reader: User) -> None:
    by_id = reader.types("export", "s-1", "--to", "jsonl")
    by_path = reader.types("export", str(reader.home / ".claude/projects/-p/s-1.jsonl"), "--to", "jsonl")
    assert by_id.code == by_path.code == 0
    assert by_id.out == by_path.out == reader.types("events", "s-1").out


@pytest.mark.parametrize("target", [name for name, one in TARGETS.items() if not one.is_folder])
@pytest.mark.slow
def test_every_target_goes_to_standard_output_and_to_a_file_alike(reader: User, target: str) -> None:
    said = reader.starts("export", "s-1", "--to", target)
    assert said.returncode == 0, said.stderr
    assert reader.types("export", "s-1", "--to", target, "-o", "out").code == 0
    written = reader.here / "out"
    assert written.read_bytes() == said.stdout != b""
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_the_ending_of_the_name_says_what_to_write(reader: User) -> None:
    assert reader.types("export", "s-1", "-o", "session.html").code == 0
    assert (reader.here / "session.html").read_text().startswith("<!DOCTYPE html>")
    answer = reader.types("export", "s-1")
    assert (answer.code, "--to jsonl|" in answer.err) == (2, True)


def test_tables_go_to_a_folder(reader: User) -> None:
    assert reader.types("export", "s-1", "--to", "parquet").code == 2
    assert reader.types("export", "s-1", "--to", "parquet", "-o", "tables").code == 0
    assert {path.name for path in (reader.here / "tables").iterdir()} == {
        "events.jsonl",
        *(f"{name}.parquet" for name in ["sessions", "turns", "steps", "calls", "operations", "outcomes", "usage"]),
    }


def test_redacting_tells_how_much_on_standard_error(reader: User) -> None:
    answer = reader.types("export", "s-1", "--to", "jsonl", "--redact")
    assert SECRET not in answer.out
    assert "REDACTED-SECRET-1" in answer.out
    assert "redacted: 1 secrets, " in answer.err
    told = reader.types("export", "s-1", "--to", "jsonl", "--redact", "-o", "x.jsonl", "--json").json
    assert (told["target"], told["output"], told["redacted"]["secret"]) == ("jsonl", "x.jsonl", 1)


def test_a_secret_of_this_machine_is_redacted_whatever_it_looks_like(
    reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "claude-x")
    assert "claude-x" in reader.types("export", "s-1", "--to", "text").out
    assert "claude-x" not in reader.types("export", "s-1", "--to", "text", "--redact").out


def test_nothing_that_was_said_steers_the_terminal(reader: User) -> None:
    for target in ("text", "markdown", "html", "jsonl", "atif"):
        seen = reader.sees("export", "s-1", "--to", target)
        assert seen.code == 0
        assert "\x1b[2J" not in seen.out
        assert "1b[2J" in seen.out


def test_a_failure_leaves_the_file_that_was_there(reader: User) -> None:
    reader.write(reader.here / "out.json", "before")
    reader.write(reader.here / "empty.jsonl", '{"format":"dragoman","version":1}\n')
    answer = reader.types("export", "empty.jsonl", "--to", "atif", "-o", "out.json")
    assert answer.code == 5
    assert "at least one step" in answer.err
    assert [path.name for path in reader.here.iterdir() if path.suffix == ".json"] == ["out.json"]
    assert (reader.here / "out.json").read_text() == "before"


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("nobody", "--to", "text"), 5, "no session begins with"),
        (("s-1", "--to", "text", "-o", "no/such/x"), 2, "there is no folder"),
        (("s-1", "--to", "text", "--json"), 2, "-o FILE"),
        (("s-1", "--to", "pdf"), 2, "pdf"),
    ],
)
def test_what_is_wrong_is_said(reader: User, words: tuple[str, ...], code: int, said: str) -> None:
    answer = reader.types("export", *words)
    assert answer.code == code
    assert said in answer.err


def test_an_export_of_our_own_format_is_a_log_again(reader: User) -> None:
    assert reader.types("export", "s-1", "--to", "dragoman", "-o", "again.jsonl").code == 0
    assert len(list(read(Path("again.jsonl")))) == len(reader.types("events", "s-1").out.splitlines())
    assert "Fix it." in reader.types("show", "again.jsonl").out


def test_a_sub_agent_is_exported_by_its_own_id(reader: User) -> None:
    home = reader.home / ".gemini/tmp/p"
    for name, data in SAMPLES["gemini_cli"][:2]:
        reader.write(home / name, data.decode())
    whole = [json.loads(line) for line in reader.types("export", "g-1", "--to", "jsonl").out.splitlines()]
    streams = {line["stream"] for line in whole}
    assert len(streams) > 1
    agent = next(one for one in streams if one != "main")
    alone = [json.loads(line) for line in reader.types("export", agent, "--to", "jsonl").out.splitlines()]
    assert {line["stream"] for line in alone} == {agent}


def test_breaks_within_a_text_break_no_line_of_json_on_a_terminal(user: User) -> None:
    said = lines(_claude("user", "u9", None, message={"role": "user", "content": "one\u2028two\x85three"}))
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", said.decode())
    shown = user.sees("export", "s-1", "--to", "jsonl", columns=5000).out.splitlines()
    events = [json.loads(line) for line in shown if line.startswith("{")]
    assert [one["text"] for one in events if one["kind"] == "user_said"] == ["one\u2028two\x85three"]


def test_several_files_do_not_go_into_one(reader: User) -> None:
    reader.write(reader.here / "taken", "mine")
    answer = reader.types("export", "s-1", "--to", "parquet", "-o", "taken")
    assert (answer.code, "is a file" in answer.err) == (2, True)
    assert (reader.here / "taken").read_text() == "mine"


def test_a_site_has_a_page_for_every_session_and_links_that_lead_there(user: User, tmp_path: Path) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    folder = tmp_path / "site"
    done = user.types("export", "--site", str(folder), "--json")
    assert (done.code, done.json["target"]) == (0, "site")
    index = (folder / "index.html").read_text()
    links = re.findall(r'<li><a href="(.*?)">', index)
    assert sorted(links) == sorted(path.name for path in folder.iterdir() if path.name != "index.html")
    assert len(links) == 2
    for link in links:
        page = (folder / link).read_text()
        assert '<a href="index.html">All sessions</a>' in page
        assert "default-src 'none'" in page
        assert (folder / link).stat().st_mode & 0o777 == 0o600
    one = user.types("export", "s-1", "--site", str(tmp_path / "one"))
    assert (one.code, len(list((tmp_path / "one").iterdir()))) == (0, 2)
    assert user.types("export", "--to", "html").code == 2
    assert user.types("export", "--site", str(folder), "--to", "atif").code == 2


def test_a_site_is_of_the_sessions_that_are_named_or_chosen(user: User, tmp_path: Path) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    ids = [row["id"] for row in user.types("sessions", "--all", "--json").json]
    assert len(ids) > 1
    for number, (words, count) in enumerate(((ids, len(ids)), (["--client", "codex"], 1), ([ids[0]], 1))):
        folder = tmp_path / f"site{number}"
        assert user.types("export", *words, "--site", str(folder)).code == 0
        assert (folder / "index.html").read_text().count("<li>") == count
    nobody = user.types("export", "--site", str(tmp_path / "none"), "--project", "nobody")
    assert nobody.code == 1
    assert user.types("export", *ids, "--to", "html").code == 2
    assert user.types("export", ids[0], "--to", "html", "--client", "codex").code == 2
