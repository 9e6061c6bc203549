"""Laws of dialects: they run over every dialect that is listed, so a new one is covered the moment it is."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from dragoman.dialects import DIALECTS, Dialect, joined
from dragoman.errors import Unspeakable
from dragoman.model import (
    OPERATIONS,
    Call,
    Failure,
    FreeformDefinition,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    Outcome,
    ProviderDefinition,
)
from dragoman.model.operations import Operation
from tests.strategies import JSON, JSON_OBJECT, TEXT, values

NAMES = DIALECTS.built_in
PAIRS = [
    (name, tag)
    for name in NAMES
    for tag, operation in OPERATIONS.items()
    if any(operation in s.operation_types and s.read_only is None for s in DIALECTS[name].spellings)
]
LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@pytest.mark.parametrize("name", NAMES)
def test_every_standard_operation_is_spoken_or_stated_as_unspoken(name: str) -> None:
    dialect = DIALECTS[name]
    silent = [row.operation for row in dialect.fidelity() if row.status == "unspoken" and row.reason == "not stated"]
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_definitions_are_well_formed_unique_and_always_in_the_same_order(name: str) -> None:
    definitions = DIALECTS[name].definitions()
    assert definitions == DIALECTS[name].definitions()
    qualified = [(getattr(one, "namespace", None), one.name) for one in definitions]
    assert len(set(qualified)) == len(qualified)
    for definition in definitions:
        if isinstance(definition, ProviderDefinition):
            continue
        assert LEGAL_NAME.fullmatch(definition.name)
        assert definition.description
        if isinstance(definition, FunctionDefinition):
            Draft202012Validator.check_schema(definition.parameters)
            for parameter, schema in definition.parameters["properties"].items():
                assert schema.get("description"), f"{definition.name}.{parameter} is offered without a word about it"
        else:
            assert isinstance(definition, FreeformDefinition)


@pytest.mark.parametrize("name, tag", PAIRS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_reads_back_as_the_same_operation_but_for_the_stated_loss(
    name: str, tag: str, data: st.DataObject
) -> None:
    dialect = DIALECTS[name]
    operation: Operation = data.draw(values(OPERATIONS[tag]))
    try:
        written = dialect.write_call("1", operation)
    except Unspeakable:
        return  # this value cannot be said: an honest answer, bounded by the next law
    read = joined([meant for call in written for meant in _read(dialect, call).operations])
    spelled = [dialect.spelling_of(call) for call in written]
    stated = {
        field.rpartition(".")[2] for one in spelled if one is not None for field in (*one.unsaid, *one.approximated)
    }
    assert [type(one) for one in read] == [type(operation)]
    for field in operation.__struct_fields__:
        if field not in stated:
            assert getattr(read[0], field) == getattr(operation, field), f"{field} is lost and nobody says so"


@pytest.mark.parametrize("name, tag", PAIRS)
def test_the_plainest_value_of_a_spoken_operation_can_be_said(name: str, tag: str) -> None:
    dialect = DIALECTS[name]
    samples = [sample for sample in _plain_values(tag) if _sayable(dialect, sample)]
    assert samples, f"{name} claims to speak {tag} and says none of its plainest values"


def _sayable(dialect: Dialect, operation: Operation) -> bool:
    try:
        return bool(dialect.write_call("1", operation))
    except Unspeakable:
        return False


def _plain_values(tag: str) -> list[Operation]:
    """Values with only the required fields given, and with each optional one given beside them."""
    from tests.plain_values import plain_values

    return plain_values(OPERATIONS[tag])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(data=st.data())
def test_any_arguments_give_operations_or_a_typed_failure(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    spelling = data.draw(st.sampled_from(dialect.spellings))
    fields = st.dictionaries(st.sampled_from((*spelling.__struct_encode_fields__, "zz")), JSON, max_size=6)
    arguments = data.draw(fields | JSON_OBJECT | TEXT)
    for native_name in (spelling.native_name, *spelling.formerly):
        native = NativeCall("1", native_name, arguments, namespace=spelling.namespace)
        call = _read(dialect, native)
        assert call.native is native
        assert bool(call.operations) != isinstance(call.failure, Failure)
        assert msgspec.json.decode(msgspec.json.encode(call), type=Call) == call


@pytest.mark.parametrize("name", NAMES)
@given(name_called=TEXT, arguments=JSON_OBJECT)
def test_an_unknown_tool_is_kept_as_it_was(name: str, name_called: str, arguments: dict[str, object]) -> None:
    dialect = DIALECTS[name]
    native = NativeCall("1", f"zz {name_called}", arguments)
    assert [type(one).__name__ for one in _read(dialect, native).operations] == ["Unrecognised"]


@pytest.mark.parametrize("name, tag", PAIRS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_a_result_tells_is_understood_again(name: str, tag: str, data: st.DataObject) -> None:
    from tests.plain_values import outcomes_of

    dialect = DIALECTS[name]
    operation = data.draw(st.sampled_from([one for one in _plain_values(tag) if _sayable(dialect, one)]))
    call = _read(dialect, dialect.write_call("1", operation)[0])
    outcome: Outcome = data.draw(outcomes_of(operation))
    first = _round(dialect, call, outcome)
    assert _round(dialect, call, first) == first, "what survived being told once is told for ever"
    spelled = dialect.spelling_of(call.native)
    told = () if spelled is None else spelled.tells.get(type(outcome), ())
    for field in told:
        assert getattr(first, field) == getattr(outcome, field), f"{field} was told and not understood"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(data=st.data())
def test_any_result_is_understood_as_something(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    tag = data.draw(st.sampled_from([tag for one, tag in PAIRS if one == name]))
    operation = data.draw(st.sampled_from([one for one in _plain_values(tag) if _sayable(dialect, one)]))
    call = _read(dialect, dialect.write_call("1", operation)[0])
    native = NativeResult("1", data.draw(TEXT), data.draw(st.none() | st.booleans()), item=data.draw(JSON))
    result = dialect.read_result(call, native)
    assert result.native is native
    assert len(result.outcomes) == len(call.operations)


@pytest.mark.parametrize("name", NAMES)
@given(failure=values(Failure))
def test_a_failure_is_told_as_one(name: str, failure: Failure) -> None:
    dialect = DIALECTS[name]
    tag = next(tag for one, tag in PAIRS if one == name)
    operation = next(one for one in _plain_values(tag) if _sayable(dialect, one))
    call = _read(dialect, dialect.write_call("1", operation)[0])
    told = dialect.write_result(call, (failure,))
    understood = dialect.read_result(call, told).outcomes[0]
    assert isinstance(understood, Failure)


def _read(dialect: Dialect, native: NativeCall) -> Call:
    return dialect.read_call(native)


def _round(dialect: Dialect, call: Call, outcome: Outcome) -> Outcome:
    return dialect.read_result(call, dialect.write_result(call, (outcome,) * len(call.operations))).outcomes[0]


@pytest.mark.parametrize("name", [name for name in NAMES if DIALECTS[name].captured])
def test_a_version_between_two_captured_ones_lacks_nothing_both_have(name: str) -> None:
    dialect = DIALECTS[name]

    def offered(version: str) -> set[str | None]:
        return {definition.name for definition in dialect.at(version).definitions()}

    for one, other in zip(dialect.captured, dialect.captured[1:], strict=False):
        between = f"{one}.1"
        assert offered(between) >= offered(one) & offered(other)
        assert offered(one), f"{one} is offered nothing"
