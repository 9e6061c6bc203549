"""Searching logs: what is found, and that passing over files loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import PatternError
from dragoman.logs import Found, Originals, read
from dragoman.logs.history import Pattern, grep, grep_records
from dragoman.logs.history.search import candidates, shown, words_of
from tests.examples import examples
from tests.logs.samples import CLAUDE, CODEX, SAMPLES


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """The samples of every format."""
    found = []
    for format, samples in SAMPLES.items():
        for number, (name, data) in enumerate(samples):
            path = tmp_path_factory.mktemp(f"{format}{number}") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            found.append(Found(path, format))
    return found


def _spelled(text: str, files: Path) -> Found:
    """A log of Claude Code in which a user says something, spelled with the escapes given."""
    record = json.dumps({**json.loads(CLAUDE.splitlines()[0]), "type": "user", "uuid": "u9"})
    said = json.loads(record)
    said["message"] = {"role": "user", "content": "@@"}
    files.write_text(json.dumps(said).replace("@@", text) + "\n")
    return Found(files, "claude_code")


@given(data=st.data())
@examples(150)
def test_whatever_stands_in_a_log_is_found_in_either_case_and_as_an_expression(files: list[Found], data: Any) -> None:
    found = data.draw(st.sampled_from(files))
    with Originals() as originals:
        texts = [(event.id, words_of(event, originals)) for event in read(found.path, found.format)]
    id, text = data.draw(st.sampled_from([one for one in texts if one[1]]))
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : start + data.draw(st.integers(1, 30))]
    import re

    for pattern in (
        Pattern(piece),
        Pattern(piece.swapcase(), ignore_case=True) if piece.swapcase().swapcase() == piece else Pattern(piece),
        Pattern(re.escape(piece) + "(?:x|)", regex=True),
    ):
        assert id in [match.event.id for match in grep([found], pattern)], pattern.text


@pytest.mark.parametrize(
    "spelled, wanted",
    [
        (r"say \"yes\" to it", 'say "yes" to it'),
        (r"\u0061pply \u0070atch", "apply patch"),
        (r"caf\u00e9 \/ bar", "café / bar"),
        ("café / bar", "café / bar"),
        (r"a \u003cb\u003e &amp;", "a <b> &amp;"),
        (r"one\ntwo\tthree", "one\ntwo\tthree"),
        (r"\ud83d\ude00 smile", "😀 smile"),
    ],
)
def test_text_is_found_however_json_spells_it(tmp_path: Path, spelled: str, wanted: str) -> None:
    found = _spelled(spelled, tmp_path / "s.jsonl")
    assert [match.event.__struct_config__.tag for match in grep([found], Pattern(wanted))] == ["user_said"]


@pytest.mark.parametrize(
    "expression, sure",
    [
        ("apply_patch", "apply_patch"),
        ("apply.patch", "apply"),
        ("a|b", ""),
        ("(?i)apply", ""),
        ("ab*cd+e", "a"),
        (r"\d+ files", "files"),
        ("(apply)?patch", "patch"),
        ("[ab]c", "c"),
    ],
)
def test_only_what_every_match_must_hold_is_looked_for(expression: str, sure: str) -> None:
    assert Pattern(expression, regex=True).sure == sure


def test_files_that_cannot_hold_it_are_not_read(tmp_path: Path) -> None:
    claude, codex = tmp_path / "s.jsonl", tmp_path / "r.jsonl"
    claude.write_bytes(CLAUDE)
    codex.write_bytes(CODEX)
    files = [Found(claude, "claude_code"), Found(codex, "codex")]
    assert [one.format for one in candidates(files, Pattern("claude-x"))] == ["claude_code"]
    assert list(candidates(files, Pattern("nobody said this"))) == []


def test_raw_gives_each_record_once_with_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(CLAUDE)
    matches = list(grep([Found(path, "claude_code")], Pattern('"type": "tool_use"'), raw=True))
    wanted = [line + b"\n" for line in CLAUDE.splitlines() if b'"type": "tool_use"' in line]
    assert [match.original for match in matches] == wanted
    assert {match.event.__struct_config__.tag for match in matches} == {"tool_called"}


def test_the_records_alone_are_those_of_the_events(files: list[Found]) -> None:
    for found in files:
        for wanted in ("a", "Bash", "README", "2026"):
            pattern = Pattern(wanted)
            slowly = [shown(match.original) for match in grep([found], pattern, raw=True) if match.original is not None]
            quickly = [record.decode() for record in grep_records([found], pattern)]
            assert [record for record in quickly if record in slowly] == slowly


def test_a_pattern_that_is_none_says_so() -> None:
    with pytest.raises(PatternError, match="is not a regular expression"):
        Pattern("(", regex=True)
