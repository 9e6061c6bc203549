"""Every field of every operation says what it does to the effect: nothing that matters is left out of a question."""

from __future__ import annotations

from string import Formatter

import msgspec
import pytest

from dragoman.model import operations as op
from dragoman.model.effects import fields_of, stated


def plainest(operation: type[op.Operation]) -> op.Operation:
    """An operation of this type with nothing but what it must have."""
    return operation(**{field.name: "x" for field in msgspec.structs.fields(operation) if field.required})


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_every_field_of_every_operation_is_in_exactly_one_group(operation: type[op.Operation]) -> None:
    fields = fields_of(plainest(operation))
    grouped = [*fields.subject, *fields.setting, *fields.limit, *fields.comment]
    assert sorted(grouped) == sorted(operation.__struct_fields__)


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_what_names_files_addresses_and_commands_is_a_field_that_has_an_effect(operation: type[op.Operation]) -> None:
    fields = fields_of(plainest(operation))
    assert {*fields.path, *fields.url, *fields.command} <= {*fields.subject, *fields.setting}


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_a_field_whose_name_says_path_address_or_command_is_declared_as_one(operation: type[op.Operation]) -> None:
    effects = operation.effects
    named = {"path": effects.path, "save_to": effects.path, "url": effects.url, "command": effects.command}
    missing = [name for name in operation.__struct_fields__ if name in named and name not in named[name]]
    # The name of a client's own command, which no shell runs.
    assert missing == (["command"] if operation is op.SpawnAgent else [])


@pytest.mark.parametrize("operation", op.OPERATIONS.values(), ids=op.OPERATIONS)
def test_the_line_for_people_names_fields_of_the_operation_alone(operation: type[op.Operation]) -> None:
    named = {name for _, name, _, _ in Formatter().parse(operation.in_short) if name}
    assert named <= {*operation.__struct_fields__}


def test_a_field_that_nobody_classified_is_a_setting() -> None:
    class LaunchRocket(op.Executing, frozen=True):
        target: str
        yield_kt: int = 0

    assert fields_of(LaunchRocket("moon")) == op.Effects(setting=("target", "yield_kt"))


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
    required = {field.name for field in msgspec.structs.fields(operation) if field.required}
    assert {name for name, _ in stated(plainest(operation))} == required
    other = operation(**dict.fromkeys(operation.__struct_fields__, object()))
    assert {name for name, _ in stated(other)} == {*operation.__struct_fields__}
