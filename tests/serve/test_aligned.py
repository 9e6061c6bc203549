"""Which operations of one session are which of another."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from dragoman.logs.export import about
from dragoman.model import Call, CommandOutcome, NativeCall, Result, ToolCalled, operations as op
from dragoman.serve.page.aligned import Done, Row, aligned, operations_done
from tests.examples import examples


def done(*operations: op.Operation, folder: str | None = None, output: str | None = None) -> list[Done]:
    made: list[Done] = []
    for number, operation in enumerate(operations):
        native = NativeCall(f"c{number}", "tool", {})
        result = None if output is None else Result(native.id, (CommandOutcome(0, output),))
        event = ToolCalled(id=f"e{number}", call=Call(native.id, (operation,), native), call_id=native.id)
        made.append(Done(event, operation, result, folder))
    return made


def told(rows: Iterable[Row]) -> list[tuple[str, str, str]]:
    return [
        (row.kind, "" if row.first is None else row.first.about, "" if row.second is None else row.second.about)
        for row in rows
    ]


RUN, READ, EDIT = op.RunCommand, op.ReadFile, op.WriteFile


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ([RUN("ls"), READ("a")], [RUN("ls"), READ("a")], [("same", "ls", "ls"), ("same", "a", "a")]),
        (
            [RUN("pytest -q"), READ("a.py")],
            [READ("b.py"), RUN("git push origin main")],
            [
                ("first only", "pytest -q", ""),
                ("first only", "a.py", ""),
                ("second only", "", "b.py"),
                ("second only", "", "git push origin main"),
            ],
        ),
        (
            [RUN("ls"), EDIT("a.py", "one"), RUN("make")],
            [EDIT("a.py", "two"), READ("c"), RUN("make")],
            [("first only", "ls", ""), ("differs", "a.py", "a.py"), ("second only", "", "c"), ("same", "make", "make")],
        ),
        (
            [RUN("python -m pytest -q tests/serve")],
            [READ("x"), RUN("python -m pytest -q tests/serve -x")],
            [
                ("second only", "", "x"),
                ("differs", "python -m pytest -q tests/serve", "python -m pytest -q tests/serve -x"),
            ],
        ),
    ],
)
def test_equal_and_alike_operations_are_paired_and_no_others(
    first: list[op.Operation], second: list[op.Operation], expected: list[tuple[str, str, str]]
) -> None:
    assert told(aligned(done(*first), done(*second), None)) == expected


def test_what_differs_is_named_and_folders_do_not_count() -> None:
    (row,) = aligned(done(EDIT("a", "one")), done(EDIT("a", "two")), None)
    assert (row.kind, row.fields) == ("differs", ["content"])
    here, there = done(READ("/here/a"), folder="/here"), done(READ("/there/of/it/a"), folder="/there/of/it")
    assert told(aligned(here, there, None)) == [("same", "a", "a")]


@pytest.mark.parametrize(
    "operation, line",
    [
        (op.FindFiles("*.py", "."), "*.py"),
        (op.SearchText("total", "src"), "total in src"),
        (op.RunCommand("make  test\n"), "make test"),
        (op.ReadOutput("job-1"), "job-1"),
        (op.AddPlanItem(op.PlanItem("Read it.")), "Read it."),
        (op.AskUser((op.Question("Which one?"),)), "Which one?"),
        (op.UpdatePlan(()), ""),
    ],
)
def test_what_an_operation_is_about_tells_it_from_others_of_its_kind(operation: op.Operation, line: str) -> None:
    (one,) = done(operation)
    assert (one.about, about(operation)) == (line, line)


def test_the_same_command_may_give_another_result() -> None:
    assert told(aligned(done(RUN("date"), output="one"), done(RUN("date"), output="two"), None)) == [
        ("other result", "date", "date")
    ]


def test_each_operation_of_a_call_stands_for_itself() -> None:
    native = NativeCall("c", "patch", {})
    call = ToolCalled(id="e", call=Call("c", (EDIT("a", "1"), EDIT("b", "2")), native), call_id="c")
    unknown = ToolCalled(id="f", call=Call("d", (), NativeCall("d", "what", {"x": 1})), call_id="d")
    found = list(operations_done([call, unknown], None))
    assert [(one.event, one.kind, one.about) for one in found] == [
        ("e", "write_file", "a"),
        ("e", "write_file", "b"),
        ("f", "what", ""),
    ]


operations = st.lists(
    st.one_of(
        st.builds(RUN, st.sampled_from(["ls", "make a b c", "make a b d", "make", "git push"])),
        st.builds(READ, st.sampled_from("abc")),
        st.builds(EDIT, st.sampled_from("ab"), st.sampled_from("xy")),
    ),
    max_size=12,
)


@examples(100)
@given(operations, operations)
def test_every_operation_stands_once_in_its_order(first: list[op.Operation], second: list[op.Operation]) -> None:
    left, right = done(*first), done(*second)
    rows = list(aligned(left, right, None))
    assert [row.first for row in rows if row.first is not None] == left
    assert [row.second for row in rows if row.second is not None] == right
    for row in rows:
        if row.first is not None and row.second is not None:
            assert row.first.kind == row.second.kind
            assert (row.first.whole == row.second.whole) == (row.kind in ("same", "other result"))
            assert bool(row.fields) == (row.kind == "differs")
    assert {row.kind for row in aligned(left, left, None)} <= {"same"}
