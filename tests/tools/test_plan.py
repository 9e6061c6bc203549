"""The plan a model keeps."""

from __future__ import annotations

import pytest

from dragoman import Context
from dragoman.errors import ToolError
from dragoman.model import PlanOutcome, operations as op
from dragoman.tools import perform
from dragoman.tools.plan import Plan


@pytest.fixture
def context() -> Context:
    return Context(provides={Plan: Plan()})


async def test_a_plan_is_written_whole_and_its_items_are_numbered(context: Context) -> None:
    said = (op.PlanItem("read"), op.PlanItem("write", "in_progress", id="2"), op.PlanItem("test"))
    kept = (op.PlanItem("read", id="1"), op.PlanItem("write", "in_progress", id="2"), op.PlanItem("test", id="3"))
    assert await perform(op.UpdatePlan(said, "because"), context) == PlanOutcome(kept, "because")
    assert await perform(op.ReadPlan(), context) == PlanOutcome(kept, "because")
    assert await perform(op.UpdatePlan(()), context) == PlanOutcome(())


async def test_items_are_added_changed_and_removed(context: Context) -> None:
    await perform(op.AddPlanItem(op.PlanItem("read", metadata={"a": 1})), context)
    await perform(op.AddPlanItem(op.PlanItem("write")), context)
    changed = await perform(op.ChangePlanItem("1", status="completed", add_blocks=("2",), metadata={"b": 2}), context)
    read = op.PlanItem("read", "completed", id="1", blocks=("2",), metadata={"a": 1, "b": 2})
    assert changed == PlanOutcome((read, op.PlanItem("write", id="2")))
    assert await perform(op.ReadPlan("1"), context) == PlanOutcome((read,))
    assert await perform(op.ChangePlanItem("2", deleted=True), context) == PlanOutcome((read,))


async def test_a_number_once_given_is_not_given_again(context: Context) -> None:
    await perform(op.AddPlanItem(op.PlanItem("one")), context)
    await perform(op.ChangePlanItem("1", deleted=True), context)
    assert await perform(op.AddPlanItem(op.PlanItem("two")), context) == PlanOutcome((op.PlanItem("two", id="2"),))


@pytest.mark.parametrize(
    "operation, kind, words",
    [
        (op.ChangePlanItem("7"), "failed", "no item has the id '7'; the plan has 1."),
        (op.ReadPlan("7"), "failed", "no item has the id '7'"),
        (op.AddPlanItem(op.PlanItem("again", id="1")), "invalid_arguments", "already exists"),
        (op.UpdatePlan((op.PlanItem("a", id="x"), op.PlanItem("b", id="x"))), "invalid_arguments", "two items"),
    ],
)
def test_what_cannot_be_done_leaves_the_plan_as_it_was(operation: op.Operation, kind: str, words: str) -> None:
    plan = Plan()
    before = plan.add(op.PlanItem("one"))
    from dragoman.registry import TOOLS

    with pytest.raises(ToolError, match=words.split(";")[0]) as refused:
        TOOLS[str(operation.__struct_config__.tag)].run(operation, Context(provides={Plan: plan}))
    assert refused.value.kind == kind
    assert words in refused.value.message
    assert plan.outcome() == before
