"""Laws of doubt: no outcome claims what the text of its result does not say, whoever wrote that text.

Every dialect reads random texts, messages and the results of every other dialect. A path, a line, an exit code or an
output in the outcome must stand in the text or in the call, and a message is no list of names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.doubt import is_sentence
from dragoman.model import Call, NativeCall, NativeResult, operations as op, outcomes as out
from tests.dialects.result_samples import FROZEN, stored
from tests.examples import examples
from tests.strategies import TEXT

MESSAGES = (
    "Directory does not exist: /home/user/project/nope",
    "The folder could not be read, because it is not there.",
    "Viewed image file successfully.",
    "Something went wrong. Please try again later.",
    "No such file or directory (os error 2)",
    "File not found: src/missing.py",
    "You do not have permission to list this folder!",
)

CLAIMING = (
    *(op.ReadFile, op.ListDirectory, op.FindFiles, op.SearchText, op.WriteFile, op.EditFile),
    *(op.RunCommand, op.ReadOutput, op.StopCommand),
)
"""Operations whose outcomes hold paths, lines, outputs and exit codes."""


@cache
def calls_of(name: str) -> tuple[Call, ...]:
    """One call for each tool of a dialect and each such operation it may mean."""
    found = {}
    for row in stored(name):
        call = DIALECTS[name].read_call(NativeCall("1", row["tool"], row["arguments"]))
        if any(isinstance(one, CLAIMING) for one in call.operations):
            found.setdefault((row["tool"], *(type(one) for one in call.operations)), call)
    return tuple(found.values())


@cache
def results_of_all() -> tuple[tuple[str, str], ...]:
    """The results of every dialect, each text once: (dialect, text)."""
    texts: dict[str, str] = {}
    for name in FROZEN:
        for row in stored(name):
            told = row.get("written") or row.get("text")
            if isinstance(told, str):
                texts.setdefault(told, name)
    return tuple((name, text) for text, name in texts.items())


def claims(outcome: out.Outcome) -> Iterator[str]:
    """What an outcome says that only the text of the result can tell."""
    match outcome:
        case out.DirectoryOutcome():
            yield from (entry.path for entry in outcome.entries)
        case out.PathsOutcome():
            yield from outcome.paths
        case out.MatchesOutcome():
            for match in outcome.matches:
                yield match.path
                yield from (match.text or "").split("\n")
                yield from (str(number) for number in (match.line, match.count) if number is not None)
        case out.CommandOutcome():
            yield from (str(outcome.exit_code),) if outcome.exit_code else ()
            yield outcome.job or ""
            for stream in (outcome.output, outcome.stdout, outcome.stderr):
                yield from (stream or "").split("\n")
        case out.FileOutcome():
            yield from outcome.text.split("\n")
            yield from (str(outcome.total_lines),) if outcome.total_lines else ()
        case out.ChangesOutcome():
            yield from (change.path for change in outcome.changes)
        case _:
            return


def invented(name: str, call: Call, text: str) -> list[str]:
    said = text + json.dumps(call.native.arguments, ensure_ascii=False)
    outcomes = DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes
    return [claim for one in outcomes for claim in claims(one) if claim.strip() not in said]


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.slow
def test_a_foreign_result_is_not_read_as_more_than_it_says(name: str) -> None:
    wrong = [
        (call.native.name, text, found)
        for call in calls_of(name)
        for whose, text in results_of_all()
        if whose != name and (found := invented(name, call, text))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_no_list_of_names(name: str, message: str) -> None:
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", message)).outcomes:
            assert not isinstance(outcome, out.DirectoryOutcome | out.PathsOutcome | out.MatchesOutcome), call.native


@pytest.mark.parametrize("name", FROZEN)
@examples(30)
@given(text=st.lists(TEXT, max_size=4).map("\n".join))
def test_a_random_text_is_not_read_as_more_than_it_says(name: str, text: str) -> None:
    for call in calls_of(name):
        assert invented(name, call, text) == []


def test_names_with_spaces_are_names() -> None:
    names = ("My Documents", "a b c.txt", "Report final (1)", "what is this.md", "2024 01 03 notes", "src/error.py")
    assert [name for name in names if is_sentence(name)] == []
    assert [message for message in MESSAGES if not is_sentence(message)] == []
