"""The tools for GLM models: their schemas are flat and say their defaults; results are in our own words."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import FunctionDefinition, NativeCall, operations as op, outcomes as out

DIALECT: Dialect = DIALECTS["zai"]


def offered() -> dict[str, FunctionDefinition]:
    return {one.name: one for one in DIALECT.definitions() if isinstance(one, FunctionDefinition)}


def test_seven_tools_are_offered() -> None:
    names = ["list_dir", "read_file", "write_file", "edit_file", "run_command", "grep_files", "find_files"]
    assert [one.name for one in DIALECT.definitions()] == names


def test_schemas_are_flat_and_closed() -> None:
    schemas = [one.parameters for one in offered().values()]
    assert [schema["additionalProperties"] for schema in schemas] == [False] * 7
    types = {inner["type"] for schema in schemas for inner in schema["properties"].values()}
    assert types == {"string", "integer"}


def test_defaults_are_said() -> None:
    paths = [offered()[name].parameters["properties"]["path"] for name in ("list_dir", "grep_files", "find_files")]
    assert [path["default"] for path in paths] == ["."] * 3


def test_results_are_told_in_our_own_words() -> None:
    call = DIALECT.read_call(NativeCall("1", "run_command", {"command": "x"}))
    outcome = out.CommandOutcome(3, output="a\n")
    written = DIALECT.write_result(call, (outcome,))
    assert written.content == "a\n[exit code 3]"
    assert DIALECT.read_result(call, written).outcomes == (outcome,)


@pytest.mark.parametrize(
    "text, told",
    [
        ("a\nb\n", "1\ta\n2\tb"),  # the line after it is another, and not empty
        ("a\nb", "1\ta\n2\tb\n[no newline at the end]"),
        ("a\n", "1\ta\n2\t\n[no newline at the end]"),
        ("a", "1\ta"),
    ],
)
def test_lines_that_were_asked_for_are_shown_without_the_one_after_them(text: str, told: str) -> None:
    call = DIALECT.read_call(DIALECT.write_call("1", op.ReadFile("a.py", 1, 2))[0])
    outcome = out.FileOutcome("a.py", text)
    written = DIALECT.write_result(call, (outcome,))
    assert written.content == told
    assert DIALECT.read_result(call, written).outcomes == (outcome,)


def test_failures_are_told_in_our_own_words() -> None:
    call = DIALECT.read_call(NativeCall("1", "run_command", {"command": "x"}))
    failure = out.Failure("denied", "not this one")
    written = DIALECT.write_result(call, (failure,))
    assert (written.content, written.is_error) == ("Error (denied): not this one", True)
    assert DIALECT.read_result(call, written).outcomes == (failure,)
