"""Every field of every operation says what it does to the effect: nothing that matters is left out of a question."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.model import operations as op
from dragoman.model.effects import FIELDS, Fields, fields_of, stated


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_every_field_of_every_operation_is_in_exactly_one_group(operation: type[op.Operation]) -> None:
    assert sorted(FIELDS[operation].classified) == sorted(operation.__struct_fields__)


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_what_names_files_addresses_and_commands_is_a_field_that_has_an_effect(operation: type[op.Operation]) -> None:
    fields = FIELDS[operation]
    assert {*fields.path, *fields.url, *fields.command} <= {*fields.subject, *fields.setting}


def test_no_operation_is_in_the_table_that_does_not_exist() -> None:
    assert set(FIELDS) == set(op.OPERATIONS.values())


def test_a_field_that_nobody_classified_is_a_setting() -> None:
    class LaunchRocket(op.Executing, frozen=True):
        target: str
        yield_kt: int = 0

    assert fields_of(LaunchRocket("moon")) == Fields(setting=("target", "yield_kt"))


def test_what_is_stated_is_what_is_not_the_default() -> None:
    assert list(stated(op.RunCommand("ls"))) == [("command", "ls")]
    assert dict(stated(op.RunCommand("", login=False, background=True, timeout_ms=0))) == {
        "command": "",
        "login": False,
        "background": True,
        "timeout_ms": 0,
    }
    assert list(stated(op.CallMcpTool(None, "echo"))) == [("server", None), ("tool", "echo")]


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_a_default_is_never_stated_and_any_other_value_is(operation: type[op.Operation]) -> None:
    required = {
        field.name: "x"
        for field in msgspec.structs.fields(operation)
        if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    }
    plain = operation(**required)
    assert {name for name, _ in stated(plain)} == set(required)
    other = operation(**dict.fromkeys(operation.__struct_fields__, object()))
    assert {name for name, _ in stated(other)} == {*operation.__struct_fields__}
