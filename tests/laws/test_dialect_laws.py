"""Laws of dialects: they run over every dialect that is listed, so a new one is covered the moment it is.

The laws themselves are the library's own (`dragoman dialect check` holds anybody's dialect to them); here they meet
values nobody would think of.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from jsonschema import Draft202012Validator

from dragoman.dialects import DIALECTS, Dialect
from dragoman.dialects.plugins import dialect_from_file, laws
from dragoman.model import (
    OPERATIONS,
    Failure,
    FileOutcome,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    operations as op,
    outcomes as out,
)
from dragoman.model.operations import MoveFile, Operation, ReadFile
from tests.examples import examples
from tests.plain_values import outcomes_of, plain_values
from tests.strategies import JSON, JSON_OBJECT, TEXT, values

IN_DATA = "a dialect in data"
HELD = {name: DIALECTS[name] for name in DIALECTS.built_in} | {
    IN_DATA: dialect_from_file(Path(__file__).parent.parent / "dialects" / "acme.toml")
}
NAMES = tuple(HELD)
SPEAKING = tuple(name for name in NAMES if any(True for _ in laws.spoken(HELD[name])))
"""Without the vocabularies that are only read: nobody captured what their tools print."""
PAIRS = [(name, tag) for name in NAMES for tag in laws.spoken(HELD[name])]
TAGS = sorted({tag for _, tag in PAIRS})
SPEAKERS = {tag: [name for name, one in PAIRS if one == tag] for tag in TAGS}
"""Operation → the dialects that speak it: a value that is drawn once is tried with each of them."""


@pytest.mark.parametrize("name", DIALECTS.built_in)
def test_a_reason_for_what_is_unspoken_is_listed_only_where_it_differs_from_the_operation_s_own(name: str) -> None:
    dialect = HELD[name]
    unspoken = [OPERATIONS[row.operation] for row in dialect.fidelity() if row.status == "unspoken"]
    needed = {
        next((one for one in operation.__mro__ if one in dialect.unspoken), None)
        for operation in unspoken
        if dialect.reason_unspoken(operation) != operation.unspoken
    }
    assert {*dialect.unspoken} <= needed


@pytest.mark.parametrize("name", NAMES)
def test_definitions_are_well_formed_unique_and_always_in_the_same_order(name: str) -> None:
    assert list(laws.definition_problems(HELD[name])) == []
    for definition in HELD[name].definitions():
        if isinstance(definition, FunctionDefinition):
            Draft202012Validator.check_schema(definition.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_do(name: str) -> None:
    assert list(laws.to_do(HELD[name])) == []


@pytest.mark.parametrize("tag", TAGS)
@examples(40)
@given(data=st.data())
def test_what_is_written_reads_back_as_the_same_operation_but_for_the_stated_loss(
    tag: str, data: st.DataObject
) -> None:
    operation: Operation = data.draw(values(OPERATIONS[tag]))
    for name in SPEAKERS[tag]:
        assert (name, list(laws.writing_problems(HELD[name], operation))) == (name, [])


@pytest.mark.parametrize("name", SPEAKERS["move_file"])
@pytest.mark.parametrize("path, to", [("a", "a"), ("a/../b", "b")])
def test_a_move_onto_itself_is_said_or_refused(name: str, path: str, to: str) -> None:
    """Patches of Copilot and droid have no words for it: the file is only edited there."""
    assert list(laws.writing_problems(HELD[name], MoveFile(path, to))) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_plainest_value_of_a_spoken_operation_can_be_said(name: str) -> None:
    dialect = HELD[name]
    assert [problem for tag in laws.spoken(dialect) for problem in laws.silence_problems(dialect, tag)] == []


@cache
def _arguments(spelling: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Of the right names, mostly, and of any kind."""
    return st.dictionaries(st.sampled_from((*spelling.__struct_encode_fields__, "zz")), JSON, max_size=6)


@cache
def _calls(spelling: Any) -> st.SearchStrategy[NativeCall]:
    return st.builds(NativeCall, st.just("1"), st.just(spelling.native_name), _arguments(spelling))


@cache
def _said(name: str, tag: str) -> list[Operation]:
    return [one for one in plain_values(OPERATIONS[tag]) if laws.sayable(HELD[name], one)]


@cache
def _operations(*names: str, tag: str) -> st.SearchStrategy[Operation]:
    """Plain values of an operation that one of these dialects can say."""
    return st.sampled_from([one for name in names for one in _said(name, tag)])


TAGS_OF = {name: st.sampled_from([tag for one, tag in PAIRS if one == name]) for name in NAMES}
SPELLINGS_OF = {name: st.sampled_from(HELD[name].spellings) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(data=st.data())
@pytest.mark.slow
def test_any_arguments_give_operations_or_a_typed_failure(name: str, data: st.DataObject) -> None:
    spelling = data.draw(SPELLINGS_OF[name])
    arguments = data.draw(_arguments(spelling) | JSON_OBJECT | TEXT)
    assert list(laws.argument_problems(HELD[name], spelling, arguments)) == []


@example(name_called="__0", arguments={})
@given(name_called=TEXT, arguments=JSON_OBJECT)
def test_an_unknown_tool_is_kept_as_it_was(name_called: str, arguments: dict[str, object]) -> None:
    for name in NAMES:
        assert (name, list(laws.unknown_problems(HELD[name], f"zz {name_called}", arguments))) == (name, [])


@pytest.mark.parametrize("name", [name for name, tag in PAIRS if tag == "read_file"])
@pytest.mark.parametrize("total, truncated", [(3, False), (9, False), (None, False), (None, True)])
def test_lines_up_to_the_last_one_asked_for_are_told_again_as_they_were(
    name: str, total: int | None, truncated: bool
) -> None:
    dialect = HELD[name]
    for call in map(dialect.read_call, dialect.write_call("1", ReadFile("src/a.py", None, 3))):
        told = dialect.write_result(call, (FileOutcome("src/a.py", "a\n\n\n", 1, total, truncated=truncated),))
        again = dialect.write_result(call, dialect.read_result(call, told).outcomes)
        assert again.content == told.content


FOUND = [
    (op.FindFiles("total"), out.PathsOutcome((".",))),
    (op.FindFiles("total"), out.PathsOutcome(("a.-x",))),
    (op.ReadFile("src/a.py"), out.FileOutcome("src/a.py", "é", 1)),
    (op.RunCommand("ls -l"), out.CommandOutcome(0, stdout="", stderr="\n\n")),
    (op.RunCommand("ls -l"), out.CommandOutcome(1, stdout="", stderr="\n\n")),
]
"""What random examples found."""


@pytest.mark.parametrize("operation, outcome", FOUND, ids=repr)
def test_what_was_once_told_and_not_understood_is(operation: Operation, outcome: out.Outcome) -> None:
    for name in NAMES:
        if laws.sayable(HELD[name], operation):
            assert (name, list(laws.telling_problems(HELD[name], operation, outcome))) == (name, [])


@pytest.mark.parametrize("tag", TAGS)
@examples(60)
@given(data=st.data())
@pytest.mark.slow
def test_what_a_result_tells_is_understood_again(tag: str, data: st.DataObject) -> None:
    operation = data.draw(_operations(*SPEAKERS[tag], tag=tag))
    outcome = data.draw(outcomes_of(operation))
    for name in SPEAKERS[tag]:
        if operation in _said(name, tag):
            assert (name, list(laws.telling_problems(HELD[name], operation, outcome))) == (name, [])


@pytest.mark.parametrize("name", SPEAKING)
@examples(60)
@given(data=st.data())
def test_any_result_is_understood_as_something(name: str, data: st.DataObject) -> None:
    tag = data.draw(TAGS_OF[name])
    operation = data.draw(_operations(name, tag=tag))
    native = NativeResult("1", data.draw(TEXT), data.draw(st.none() | st.booleans()), item=data.draw(JSON))
    assert list(laws.hearing_problems(HELD[name], operation, native)) == []


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(data=st.data())
@pytest.mark.slow
def test_a_result_is_read_the_same_by_whoever_read_its_call(name: str, data: st.DataObject) -> None:
    spelling = data.draw(SPELLINGS_OF[name])
    asked = data.draw(_calls(spelling))
    if name in SPEAKING and data.draw(st.booleans()):
        tag = data.draw(TAGS_OF[name])
        asked = HELD[name].write_call("1", data.draw(_operations(name, tag=tag)))[0]
    native = NativeResult("1", data.draw(TEXT), data.draw(st.none() | st.booleans()), item=data.draw(JSON))
    call, said = HELD[name].read_with_reader(asked)
    assert call == HELD[name].read_call(asked)
    assert HELD[name].read_result(call, native, said) == HELD[name].read_result(call, native)


@given(failure=values(Failure))
def test_a_failure_is_told_as_one(failure: Failure) -> None:
    for name in SPEAKING:
        tag = next(tag for one, tag in PAIRS if one == name)
        assert (name, list(laws.failure_problems(HELD[name], _said(name, tag)[0], failure))) == (name, [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_the_samples_of_the_check_find_nothing(name: str) -> None:
    assert laws.check(HELD[name]) == []


@pytest.mark.parametrize("name", [name for name in NAMES if HELD[name].captured])
def test_a_version_between_two_captured_ones_lacks_nothing_both_have(name: str) -> None:
    dialect: Dialect = HELD[name]

    def offered(version: str) -> set[str | None]:
        return {definition.name for definition in dialect.at(version).definitions()}

    for one, other in zip(dialect.captured, dialect.captured[1:], strict=False):
        between = f"{one}.1"
        assert offered(between) >= offered(one) & offered(other)
        assert offered(one), f"{one} is offered nothing"
