"""Laws of the model: they run over every type it defines."""

from __future__ import annotations

import typing

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman import model
from tests.examples import examples
from tests.strategies import structs, values

STRUCTS = structs()
UNIONS = {
    "operations": model.AnyOperation,
    "outcomes": model.AnyOutcome,
    "parts": model.AnyPart,
    "conversation items": model.ConversationItem,
    "definitions": model.Definition,
    "chunks": model.AnyChunk,
    "events": model.AnyEvent,
}


@pytest.mark.parametrize("name", STRUCTS)
@examples(25)
@given(data=st.data())
@pytest.mark.slow
def test_a_value_written_as_json_and_read_back_is_equal(name: str, data: st.DataObject) -> None:
    struct = STRUCTS[name]
    value = data.draw(values(struct))
    assert msgspec.json.decode(msgspec.json.encode(value), type=struct) == value


@pytest.mark.parametrize("name", UNIONS)
@given(data=st.data())
def test_a_member_of_a_union_is_read_back_as_the_same_member(name: str, data: st.DataObject) -> None:
    union = UNIONS[name]
    value = data.draw(values(union))
    again = msgspec.json.decode(msgspec.json.encode(value), type=union)
    assert type(again) is type(value)
    assert again == value


@pytest.mark.parametrize("name", STRUCTS)
def test_values_are_frozen_and_an_unknown_field_is_refused(name: str) -> None:
    struct = STRUCTS[name]
    config = struct.__struct_config__
    assert config.frozen
    assert config.forbid_unknown_fields


@pytest.mark.parametrize("name", STRUCTS)
def test_every_type_says_what_it_is(name: str) -> None:
    struct = STRUCTS[name]
    assert struct.__doc__, f"{name} has no docstring"
    assert struct.__doc__ != struct.__base__.__doc__, f"{name} has only its root's docstring"


@pytest.mark.parametrize("name", UNIONS)
def test_members_of_a_union_have_different_tags_in_one_field(name: str) -> None:
    members = typing.get_args(UNIONS[name])
    tags = [member.__struct_config__.tag for member in members]
    assert all(tags)
    assert len(set(tags)) == len(tags)
    assert len({member.__struct_config__.tag_field for member in members}) == 1


def test_every_subclass_of_a_root_is_a_member_of_its_union() -> None:
    for root, union in {
        model.Operation: model.AnyOperation,
        model.Outcome: model.AnyOutcome,
        model.Part: model.AnyPart,
        model.Chunk: model.AnyChunk,
        model.Event: model.AnyEvent,
    }.items():
        concrete = {struct for struct in STRUCTS.values() if issubclass(struct, root)}
        assert concrete == set(typing.get_args(union))


ACP_KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}


@pytest.mark.parametrize("tag", model.OPERATIONS)
def test_every_operation_knows_its_kind(tag: str) -> None:
    operation = model.OPERATIONS[tag]
    assert isinstance(operation.kind, model.Kind)
    assert operation.acp_kind in ACP_KINDS


@given(st.data())
def test_operations_with_equal_meanings_are_equal_and_others_are_not(data: st.DataObject) -> None:
    one, other = data.draw(values(model.AnyOperation)), data.draw(values(model.AnyOperation))
    again = msgspec.json.decode(msgspec.json.encode(one), type=model.AnyOperation)
    assert one == again
    assert (one == other) == (type(one) is type(other) and msgspec.to_builtins(one) == msgspec.to_builtins(other))


def test_the_model_imports_nothing_of_ours_and_no_library_but_msgspec() -> None:
    import subprocess
    import sys

    code = (
        "import sys, dragoman.model.events, dragoman.model.request;"
        "print(sorted({m.split('.')[0] for m in sys.modules if 'site-packages' in "
        "(getattr(sys.modules[m], '__file__', '') or '')}), sorted(m for m in sys.modules if m.startswith('dragoman')))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    libraries, ours = printed.split("] [")
    # typing_extensions is msgspec's own, where it is installed; _distutils_hack is the environment's.
    assert set(libraries.strip("[").replace("'", "").split(", ")) <= {"msgspec", "typing_extensions", "_distutils_hack"}
    assert "dragoman.tools" not in ours
    assert "dragoman.errors" not in ours
