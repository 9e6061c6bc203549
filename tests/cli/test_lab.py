"""`dragoman lab grep`, as somebody types it."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def test_it_exits_like_grep(reader: User) -> None:
    assert reader.types("lab", "grep", "false").code == 0
    assert reader.types("lab", "grep", "nobody said this").code == 1
    wrong = reader.types("lab", "grep", "--regex", "(")
    assert wrong.code == 2
    assert "Without --regex, PATTERN is searched for as plain text" in wrong.err
    assert reader.types("lab", "grep", "").code == 2


def test_filters_choose_what_is_searched(reader: User) -> None:
    def kinds(*words: str) -> list[tuple[str, str]]:
        done = reader.types("lab", "grep", *words, "--json")
        return [(one["client"], one["kind"]) for one in map(json.loads, done.out.splitlines())]

    everywhere = kinds("-i", "FALSE")
    assert ("claude_code", "tool_called") in everywhere
    assert kinds("false", "--tool", "Bash", "--kind", "tool_called") == [("claude_code", "tool_called")]
    assert kinds("false", "--op", "run_command", "--kind", "tool_called", "--limit", "1") == [
        ("claude_code", "tool_called")
    ]
    assert all(client == "codex" for client, _ in kinds(".", "--regex", "--client", "codex"))
    assert kinds("false", "--model", "claude-x", "--tool", "Bash", "--kind", "tool_called") == [
        ("claude_code", "tool_called")
    ]
    assert kinds("false", "--model", "another") == []


def test_raw_with_json_is_the_event_and_its_bytes(reader: User) -> None:
    done = reader.types("lab", "grep", '"name": "Bash"', "--raw", "--json", "--limit", "1")
    line = json.loads(done.out)
    assert (line["kind"], line["call"]["name"]) == ("tool_called", "Bash")
    assert '"name": "Bash"' in line["raw"]
    assert reader.types("lab", "grep", '"name": "Bash"', "--raw=bytes", "--limit", "1").out == line["raw"]
    assert reader.types("lab", "grep", "--raw=bytes", '"name": "Bash"', "--json", "--limit", "1").out == done.out


def test_raw_shows_the_record_beside_what_was_read_from_it(reader: User) -> None:
    line = json.loads(reader.types("lab", "grep", '"name": "Bash"', "--raw", "--json", "--limit", "1").out)
    heading, *shown = reader.types("lab", "grep", "--raw", '"name": "Bash"', "--limit", "1").out.splitlines()
    assert heading.endswith("tool_called · Bash")
    assert shown[:3] == ["  original", f"    {line['raw'].rstrip()}", "  normalised"]
    assert [json.loads(one) for one in shown[3:]] == line["operations"]


def test_raw_takes_no_other_value_and_none_after_the_options(reader: User) -> None:
    assert reader.types("lab", "grep", "x", "--raw=text").code == 2
    assert reader.types("lab", "grep", "--raw", "--", "--raw=bytes").code == 1
    wrong = reader.types("lab", "grep", "--raw=text", "Bash")
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, 'error: there is no "--raw=text": say --raw, or --raw=bytes.')


def test_json_finds_what_it_prints(reader: User) -> None:
    pattern = '"name":"exec_command"'
    found = [json.loads(one) for one in reader.types("lab", "grep", pattern, "--json").out.splitlines()]
    assert [(one["client"], one["kind"], one["call"]["name"]) for one in found] == [
        ("codex", "tool_called", "exec_command")
    ]
    in_our_words = reader.types("lab", "grep", '"type":"run_command"', "--json", "--limit", "1")
    assert json.loads(in_our_words.out)["operations"][0]["type"] == "run_command"


def test_lines_around_a_match_are_shown_and_gaps_marked(user: User) -> None:
    said = {**json.loads(CLAUDE.splitlines()[0]), "type": "user", "uuid": "u1"}
    said["message"] = {"role": "user", "content": "one\ntwo\nthree\nfour\nfive\nsix\nthree again"}
    path = user.write(user.here / "s.jsonl", json.dumps(said) + "\n")
    shown = user.types("lab", "grep", "three", "-C", "1", str(path)).out.splitlines()[1:]
    assert [line.strip() for line in shown] == ["two", "three", "four", "⋮", "six", "three again"]


def test_the_help_shows_how_and_an_unknown_command_is_told(user: User) -> None:
    assert "lab grep" in user.types("lab", "grep", "--help").out
    wrong = user.types("lab", "gerp")
    assert wrong.code == 2
    assert 'Did you mean "grep"?' in wrong.err


def test_a_kind_or_an_operation_that_is_none_is_told(user: User) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    for words in (("lab", "grep", "x", "--kind", "tool_call"), ("events", "s-1", "--kind", "tool_call")):
        wrong = user.types(*words)
        assert (wrong.code, "'tool_call'" in wrong.err, "tool_called" in wrong.err) == (2, True, True)
    for words in (("lab", "grep", "x", "--op", "run_comand"), ("stats", "--op", "run_comand")):
        odd = user.types(*words)
        assert (odd.code, "run_command" in odd.err) == (1, True)
