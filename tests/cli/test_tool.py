"""`dragoman tool`: one operation by hand."""

from __future__ import annotations

import pytest

from .conftest import User


def test_a_file_is_written_edited_read_and_deleted(user: User) -> None:
    written = user.types("tool", "write_file", "path=a.py", "content=x = 1")
    assert written.code == 0
    assert written.out.startswith("created a.py\n")
    edited = user.types("tool", "edit_file", "path=a.py", 'edits=[{"old": "1", "new": "2"}]')
    assert "-x = 1" in edited.out
    assert "+x = 2" in edited.out
    assert user.types("tool", "read_file", "path=a.py").out == "1\tx = 2\n"
    assert user.types("tool", "delete_file", "path=a.py").out.startswith("deleted a.py\n")
    assert not (user.here / "a.py").exists()


def test_json_gives_the_whole_outcome(user: User) -> None:
    (user.here / "a.txt").write_text("one\ntwo\n")
    outcome = user.types("tool", "read_file", "path=a.txt", "first_line=2", "--json").json
    assert outcome["type"] == "file_outcome"
    assert (outcome["text"], outcome["first_line"], outcome["total_lines"]) == ("two\n", 2, 2)


def test_a_failing_command_is_shown_and_the_answer_is_no(user: User) -> None:
    answer = user.types("tool", "run_command", "command=echo out; echo err >&2; exit 3")
    assert (answer.code, answer.out) == (1, "out\n[stderr]\nerr\n[exit code 3]\n")


def test_a_failure_says_what_to_do_and_has_its_own_exit_code(user: User) -> None:
    (user.here / "readme.md").write_text("x")
    answer = user.types("tool", "read_file", "path=readm.md")
    assert answer.code == 7
    assert "readme.md" in answer.err


def test_nothing_outside_the_workspace_is_touched(user: User) -> None:
    (user.here / "inner").mkdir()
    (user.here / "secret.txt").write_text("secret")
    answer = user.types("tool", "read_file", "path=../secret.txt", "--workspace", "inner")
    assert answer.code == 7
    assert "secret\n" not in answer.out


def test_a_search_without_a_match_answers_no(user: User) -> None:
    (user.here / "a.txt").write_text("one\n")
    assert user.types("tool", "search_text", "pattern=two").code == 1
    found = user.types("tool", "search_text", "pattern=one")
    assert (found.code, found.out) == (0, "== a.txt\n1: one\n")


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("reed_file",), 'Did you mean "read_file"?'),
        (("read_file",), "path"),
        (("read_file", "path=a", "first_line=x"), "first_line"),
        (("spawn_agent", "prompt=x"), "There is no operation"),
    ],
)
def test_what_cannot_be_read_is_explained(user: User, words: tuple[str, ...], complaint: str) -> None:
    answer = user.types("tool", *words)
    assert answer.code != 0
    assert complaint in answer.err


def test_escapes_in_a_file_do_not_reach_the_terminal(user: User) -> None:
    (user.here / "evil.txt").write_text("\x1b[2Jgone")
    assert "\x1b[2J" not in user.sees("tool", "read_file", "path=evil.txt").out


def test_a_diff_is_coloured_on_a_terminal_only(user: User) -> None:
    (user.here / "a.txt").write_text("one\n")
    edit = ("tool", "edit_file", "path=a.txt")
    assert "\x1b[32m+two" in user.sees(*edit, 'edits=[{"old": "one", "new": "two"}]').out
    assert "\x1b" not in user.types(*edit, 'edits=[{"old": "two", "new": "one"}]').out


@pytest.mark.parametrize(
    "words", [("read_file",), ("read_file", "pth=1"), ("read_file", "path=a", "path=b"), ("read_file", "path=@gone")]
)
def test_wrong_arguments_are_a_wrong_call(user: User, words: tuple[str, ...]) -> None:
    assert user.types("tool", *words).code == 2


def test_a_value_from_a_file_keeps_its_line_ends_and_two_ats_are_one(user: User) -> None:
    (user.here / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    user.types("tool", "write_file", "path=copy.txt", "content=@crlf.txt")
    assert (user.here / "copy.txt").read_bytes() == b"a\r\nb\r\n"
    user.types("tool", "write_file", "path=at.txt", "content=@@home")
    assert (user.here / "at.txt").read_text() == "@home"


def test_a_value_that_is_no_text_is_named(user: User) -> None:
    (user.here / "bytes").write_bytes(b"\xff\xfe\x00")
    answer = user.types("tool", "write_file", "path=x", "content=@bytes")
    assert (answer.code, "bytes is not UTF-8 text" in answer.err) == (2, True)


def test_a_watched_command_tells_its_lines_until_it_ends(user: User) -> None:
    answer = user.types("tool", "watch_command", "command=echo one; echo two")
    assert answer.code == 0
    assert "one" in answer.out
    assert "two" in answer.out
    assert "[exit code 0]" in answer.out


def test_what_needs_a_job_that_lives_on_is_refused(user: User) -> None:
    assert user.types("tool", "run_command", "command=ls", "background=true").code == 2
    assert user.types("tool", "stop_command", "job=1").code == 2
