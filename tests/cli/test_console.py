from __future__ import annotations

import io
import json
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman import errors
from dragoman.cli.terminal import console
from dragoman.cli.terminal.console import Console, ExitCode, as_json, exit_code_of, foreign
from dragoman.config import Secret

any_text = st.text(st.characters(exclude_categories=()), max_size=50)
turning = "".join(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
steering = st.text(st.sampled_from("\x00\x07\x08\r\x1b[]0m;\x7f\x80\x9b\x9d\u2028\u2029\ufeff\ud800\n\ta" + turning))


@given(any_text | steering)
def test_foreign_text_steers_no_terminal(text: str) -> None:
    shown = foreign(text)
    assert [
        character
        for character in shown
        if character not in "\n\t"
        and (unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in turning)
    ] == []
    assert not {"\n", "\t"} & set(foreign(text, one_line=True))


@given(any_text | steering)
def test_foreign_text_can_always_be_written(text: str) -> None:
    foreign(text).encode()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("äß漢字🙂👩‍👩‍👧\n\t")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert foreign(text) == text


def test_what_would_steer_is_written_out() -> None:
    assert foreign("\x1b[31mred\x1b[0m\r\x9b\u202e\ud800\U000e0041\tend\n") == (
        "\\x1b[31mred\\x1b[0m\\r\\x9b\\u202e\\ud800\\U000e0041\tend\n"
    )
    assert foreign("a\nb\tc", one_line=True) == "a\\nb\\tc"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=6,
)


@given(values)
def test_json_is_utf_8_and_nothing_in_it_is_lost(value: object) -> None:
    assert json.loads(as_json(value).decode()) == value


def test_a_secret_is_never_written_as_json() -> None:
    with pytest.raises(TypeError):
        as_json({"key": Secret("sk-hidden")})
    assert as_json(Path("a/b")) == b'"a/b"'


@pytest.mark.parametrize(
    "error, code",
    [
        (errors.ConfigError("x"), ExitCode.DEFINITION),
        (errors.DefinitionError("x", ["y"]), ExitCode.DEFINITION),
        (errors.MissingExtra("mcp", "x", "y"), ExitCode.DEFINITION),
        (errors.Unspeakable("d", "o", "r"), ExitCode.DEFINITION),
        (errors.EngineError("x"), ExitCode.ENGINE),
        (errors.LogError("x"), ExitCode.LOG),
        (errors.LimitReached("x", 1), ExitCode.LIMIT),
        (errors.ToolError("x"), ExitCode.TOOL),
    ],
)
def test_every_error_has_its_exit_code(error: errors.DragomanError, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_no_two_exit_codes_mean_the_same() -> None:
    assert len({code.value for code in ExitCode}) == len({code.meaning for code in ExitCode}) == len(ExitCode)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_work_that_is_soon_done_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(console, "_SOON", 3600.0)
    with Console().progress("reading", 3) as advance:
        for _ in range(3):
            advance(1)
    assert shown.getvalue() == ""
    assert [
        one for one in threading.enumerate() if isinstance(one, threading.Timer) and not one.finished.is_set()
    ] == []


def test_progress_that_is_shown_late_counts_what_was_done_before(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, begun = Terminal(), threading.Event()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(console, "_SOON", 0.0)
    bar = Console._bar

    @contextmanager
    def late(self: Console, description: str, total: int | None) -> Iterator[Callable[[int], None]]:
        begun.wait(60)
        with bar(self, description, total) as show:
            yield show
            began.set()

    began = threading.Event()
    monkeypatch.setattr(Console, "_bar", late)
    with Console().progress("reading", 7) as advance:
        advance(5)
        begun.set()
        while "reading" not in shown.getvalue():
            threading.Event().wait(0.01)
    assert began.is_set()
    assert "5/7" in shown.getvalue()
