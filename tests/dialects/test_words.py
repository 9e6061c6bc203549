"""Results declared once: what a template writes and reads, and which templates are refused when they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.words import (
    ANY,
    CALLED,
    Reads,
    Results,
    body,
    choice,
    done,
    either,
    in_json,
    lines,
    maybe,
    numbered,
    one_of,
    one_stream,
    single,
    way,
    words,
)
from dragoman.errors import DefinitionError
from dragoman.model import NativeResult, operations as op, outcomes as out

RUN = op.RunCommand("ls")
LIST = op.ListDirectory("src")
STATE = either(
    way("timed out", timed_out=True),
    way("is still running", running=True),
    way("was ended by signal {signal}"),
    way("completed with exit code {exit_code}"),
)
COMMAND = one_of(words(out.CommandOutcome, "{output}", "\n<", STATE, ">", output=body(), job=None), back=one_stream)


def test_a_text_that_imitates_the_end_is_still_the_text() -> None:
    outcome = out.CommandOutcome(0, output="x\n<completed with exit code 3>\n<")
    text = COMMAND.write(RUN, outcome)
    assert text == "x\n<completed with exit code 3>\n<\n<completed with exit code 0>"
    assert COMMAND.read(RUN, NativeResult("1", text)) == outcome


@pytest.mark.parametrize("text", ["", "some words", "x\n<completed with exit code>", "x\n<timed out> and more"])
def test_a_text_that_matches_no_template_is_not_read(text: str) -> None:
    assert COMMAND.read(RUN, NativeResult("1", text)) is None


def test_what_one_way_implies_the_others_deny() -> None:
    assert COMMAND.write(RUN, out.CommandOutcome(0, output="", running=True, timed_out=True)) is None


def test_a_field_that_no_way_says_is_left_to_the_default_wording() -> None:
    assert COMMAND.write(RUN, out.CommandOutcome(output="who knows")) is None
    assert COMMAND.write(RUN, out.CommandOutcome(0, output="", job="7")) is None


def test_an_optional_part_says_zero_and_leaves_out_what_is_absent() -> None:
    results = one_of(
        words(out.CommandOutcome, "{output}", maybe("\nTook {duration_ms} ms"), output=body(), **_unsaid_command())
    )
    for outcome in (out.CommandOutcome(output="a"), out.CommandOutcome(output="a", duration_ms=0)):
        text = results.write(RUN, outcome)
        assert text == ("a" if outcome.duration_ms is None else "a\nTook 0 ms")
        assert results.read(RUN, NativeResult("1", text)) == outcome


def test_one_line_that_matches_no_item_means_no_match() -> None:
    results = one_of(
        words(
            out.DirectoryOutcome,
            "Files:",
            "{entries}",
            path=CALLED,
            entries=lines(
                words(out.Entry, "{path} ({kind})", kind=choice(("file", "directory", "link", "other"))), leading=True
            ),
        )
    )
    listed = out.DirectoryOutcome("src", (out.Entry("a (b)"), out.Entry("c", "directory")))
    assert results.write(LIST, listed) == "Files:\na (b) (file)\nc (directory)"
    assert results.read(LIST, NativeResult("1", "Files:\na (b) (file)\nc (directory)")) == listed
    assert results.read(LIST, NativeResult("1", "Files:")) == out.DirectoryOutcome("src", ())
    assert results.read(LIST, NativeResult("1", "Files:\na (file)\nno such folder")) is None


def test_numbers_out_of_order_mean_no_match() -> None:
    results = one_of(words(out.FileOutcome, "{text}", text=numbered("\t"), path=CALLED, truncated=False))
    read = op.ReadFile("a.py")
    assert results.read(read, NativeResult("1", "  7\ta\n  8\t")) == out.FileOutcome("a.py", "a\n", 7)
    assert results.read(read, NativeResult("1", "7\ta\n9\tb")) is None


def test_a_value_is_read_as_what_the_tool_knows_of_it() -> None:
    results = one_of(single(out.ChangesOutcome, words(out.Change, "Changed {path}", kind=Reads("modified"))))
    created = out.ChangesOutcome((out.Change("a.py", "created"),))
    assert results.write(RUN, created) == "Changed a.py"
    assert results.read(RUN, NativeResult("1", "Changed a.py")) == out.ChangesOutcome((out.Change("a.py", "modified"),))


class Kept(msgspec.Struct, frozen=True):
    todo: str
    status: op.PlanStatus


PLAN = one_of(
    in_json(
        out.PlanOutcome,
        list[Kept],
        to=lambda _asked, kept: out.PlanOutcome(tuple(op.PlanItem(one.todo, one.status) for one in kept)),
        back=lambda _asked, plan: [Kept(one.text, one.status) for one in plan.items] if plan.items else None,
        says=("items",),
        nearly={"items": "an item is a text and a status"},
    )
)


def test_a_result_in_json_is_written_from_its_record_and_read_back() -> None:
    plan = out.PlanOutcome((op.PlanItem("rest", "completed"),))
    text = PLAN.write(op.ReadPlan(), plan)
    assert text == '[{"todo":"rest","status":"completed"}]'
    assert PLAN.read(op.ReadPlan(), NativeResult("1", text)) == plan
    assert PLAN.write(op.ReadPlan(), out.PlanOutcome(())) is None
    for other in ("no JSON", "{}", '[{"todo":"rest","status":"who knows"}]'):
        assert PLAN.read(op.ReadPlan(), NativeResult("1", other)) is None
    assert PLAN.tells == {out.PlanOutcome: ("items",)}
    assert PLAN.losses() == [
        ("PlanOutcome", "items", True, "an item is a text and a status"),
        ("PlanOutcome", "explanation", False, "only the items are listed"),
    ]


def test_the_log_adds_to_an_outcome_that_was_read() -> None:
    results = one_of(
        words(out.CommandOutcome, "{output}", output=body(), **_unsaid_command()),
        recorded=lambda _asked, outcome, native: out.CommandOutcome(native.item["exit"], output=outcome.output),
        text=lambda native: str(native.content).removesuffix(" (a reminder)"),
    )
    assert results.read(RUN, NativeResult("1", "a", item={"exit": 3})) == out.CommandOutcome(3, output="a")
    assert results.read(RUN, NativeResult("1", "a (a reminder)")) == out.CommandOutcome(output="a")


def test_a_sentence_is_written_only_of_an_outcome_it_is_true_of() -> None:
    results = one_of(
        done(
            lambda asked: f"Wrote {len(asked.content)} bytes",
            begins="Wrote ",
            of=out.ChangesOutcome,
            when=lambda outcome: outcome.changes[0].kind == "created",
            asked=op.WriteFile,
        )
    )
    write = op.WriteFile("a.py", "abc")
    assert results.write(write, out.ChangesOutcome((out.Change("a.py", "created"),))) == "Wrote 3 bytes"
    assert results.write(write, out.ChangesOutcome((out.Change("a.py", "deleted"),))) is None
    assert results.read(write, NativeResult("1", "Wrote 3 bytes")) == out.DoneOutcome("Wrote 3 bytes")
    assert results.read(RUN, NativeResult("1", "Wrote 3 bytes")) is None


def _unsaid_command() -> dict[str, Any]:
    return {"exit_code": ANY, "signal": ANY, "running": False, "timed_out": False, "job": None, "unsaid": _REASONS}


_REASONS = {"exit_code": "it is not said", "signal": "it is not said"}


def _never(_asked: op.Operation, _value: Any) -> None:
    raise AssertionError("a result that is refused is not used")


@pytest.mark.parametrize(
    "declare, problem",
    [
        (
            lambda: words(out.CommandOutcome, "{stdout}\n{stderr}", stdout=body(), stderr=body()),
            "two fields go over several lines",
        ),
        (lambda: words(out.CommandOutcome, "{exit_code}{signal}"), "{exit_code} and {signal} stand side by side"),
        (lambda: words(out.CommandOutcome, "{output}", "{exit_code}", output=body()), "stand side by side"),
        (lambda: words(out.CommandOutcome, "a", maybe("{exit_code}")), "an optional part begins with a field"),
        (
            lambda: words(out.CommandOutcome, "a", maybe("\nx {exit_code}"), maybe("\nx {signal}")),
            "two optional parts in a row begin with '\\nx '",
        ),
        (
            lambda: words(out.CommandOutcome, "a", maybe(" {exit_code} {signal}")),
            "an optional part says 2 fields: one may be there alone",
        ),
        (
            lambda: words(out.CommandOutcome, "a", maybe("\n{output}"), output=body()),
            "a field that goes over several lines is in an optional part",
        ),
        (
            lambda: words(out.CommandOutcome, either(way("in {job}"), way("in shell {job}"))),
            "the way 'in ' hides a later one, 'in shell '",
        ),
        (
            lambda: words(out.CommandOutcome, "a", either(way("{job}"), way("in shell {job}"))),
            "a way without a beginning hides those after it",
        ),
        (lambda: words(out.CommandOutcome, "{exitcode}"), "{exitcode} is no field of CommandOutcome"),
        (lambda: words(out.CommandOutcome, "a", exitcode=0), "'exitcode' is no field of CommandOutcome"),
        (lambda: words(out.CommandOutcome, "a", output=body()), "'output' has a kind and is in no text"),
        (lambda: words(out.CommandOutcome, "{running}"), "{running} needs a kind: running=…"),
        (
            lambda: one_of(words(out.CommandOutcome, "{output}", output=body())),
            "CommandOutcome.exit_code is neither said, constant, taken from the call nor `unsaid`",
        ),
        (
            lambda: one_of(
                words(out.TextOutcome, "a {text}", text=body()), words(out.TextOutcome, "a b {text}", text=body())
            ),
            "hides a later one",
        ),
        (
            lambda: one_of(in_json(out.ResourcesOutcome, list[str], to=_never, back=_never, says=("cursor",))),
            "ResourcesOutcome.resources is neither said nor `unsaid`",
        ),
    ],
)
def test_what_could_be_misread_is_refused_when_it_is_declared(declare: Callable[[], Results], problem: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        declare()
    assert problem in str(raised.value)
    assert __file__ in str(raised.value)


def test_fidelity_reports_what_results_lose() -> None:
    rows = [row for row in DIALECTS["copilot"].fidelity() if row.result and row.native == "bash"]
    assert {row.field: (row.result, row.status) for row in rows} == {
        "stdout": ("CommandOutcome", "unsaid"),
        "stderr": ("CommandOutcome", "unsaid"),
        "output": ("CommandOutcome", "approximated"),
        "truncated": ("CommandOutcome", "unsaid"),
        "duration_ms": ("CommandOutcome", "unsaid"),
        "output_path": ("CommandOutcome", "unsaid"),
        "sandbox": ("CommandOutcome", "unsaid"),
    }
    assert all(row.reason for row in rows)
