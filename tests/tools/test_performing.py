"""Whatever a tool does becomes an outcome, in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, ToolError
from dragoman.model import (
    ContentOutcome,
    DoneOutcome,
    Failure,
    FileOutcome,
    ImageOutcome,
    JsonOutcome,
    Media,
    Outcome,
    TextOutcome,
    operations as op,
)
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, MemoryWorkspace, Tool, perform, standard_context
from dragoman.tools.running import outcome_of
from dragoman.tools.running.operation_runner import LARGEST_RESULT, as_outcome

DOT = Media("image/png", data="AA==")
PAGE = Media("application/pdf", data="AA==", name="a.pdf")


@pytest.mark.parametrize(
    "value, outcome",
    [
        ("text", TextOutcome("text")),
        (None, DoneOutcome()),
        ({"a": {1, 2}}, JsonOutcome({"a": [1, 2]})),
        (3, JsonOutcome(3)),
        (TextOutcome("x"), TextOutcome("x")),
        (DOT, ImageOutcome(DOT)),
        ([DOT], ImageOutcome(DOT)),
        (["One:", DOT, "two:", PAGE], ContentOutcome(("One:", DOT, "two:", PAGE))),
        ((PAGE,), ContentOutcome((PAGE,))),
        (
            {"title": "Sales", "charts": [DOT, {"page": PAGE}], "year": 2026},
            ContentOutcome(
                (
                    '{"title":"Sales","charts":["[image/png, number 1 of those that follow]",'
                    '{"page":"[application/pdf, number 2 of those that follow]"}],"year":2026}',
                    DOT,
                    PAGE,
                )
            ),
        ),
    ],
)
def test_what_a_tool_returns_is_an_outcome(value: Any, outcome: Outcome) -> None:
    assert as_outcome(value) == outcome


def test_a_picture_that_a_tool_returns_is_measured() -> None:
    content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (2400).to_bytes(4, "big") + (30).to_bytes(4, "big")
    given, large = Media("image/png", data=content), Media("image/png", data=content, width=7, height=7)
    measured = Media("image/png", data=content, width=2400, height=30)
    assert as_outcome(given) == ImageOutcome(measured)
    assert as_outcome(["One:", given, large]) == ContentOutcome(("One:", measured, large))
    assert as_outcome(Media("image/png", data="no base64!")) == ImageOutcome(Media("image/png", data="no base64!"))


@pytest.mark.parametrize(
    "error, failure",
    [
        (ToolError("no", kind="denied", details={"a": 1}), Failure("denied", "no", {"a": 1})),
        (ToolError("no", kind="made up"), Failure("failed", "no")),
        (TimeoutError("3 s"), Failure("timed_out", "3 s")),
        (ConfigError("bad file"), Failure("failed", "bad file")),
        (
            ZeroDivisionError("by zero"),
            Failure("failed", "ZeroDivisionError: by zero", {"exception": "ZeroDivisionError"}),
        ),
    ],
)
async def test_what_a_tool_raises_is_a_failure(error: Exception, failure: Failure) -> None:
    async def run() -> None:
        raise error

    assert await outcome_of(run) == failure


async def test_cancelling_is_not_an_outcome() -> None:
    started = asyncio.Event()

    async def run() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(outcome_of(run))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_operation_is_done_by_its_standard_tool(tmp_path: Path) -> None:
    for workspace in (DiskWorkspace(tmp_path), MemoryWorkspace()):
        async with standard_context(workspace) as context:
            await perform(op.WriteFile("a.txt", "one\n"), context)
            outcome = await perform(op.ReadFile("a.txt"), context)
            assert isinstance(outcome, FileOutcome)
            assert outcome.text == "one\n"


async def test_an_operation_without_a_tool_here_is_a_failure() -> None:
    async with standard_context(MemoryWorkspace()) as context:
        failure = await perform(op.UseComputer("click"), context)
    assert failure == Failure("unknown_tool", "no tool here does use_computer", {"operation": "use_computer"})


@pytest.mark.parametrize("tag", TOOLS.built_in)
def test_every_standard_tool_is_named_and_described_as_its_operation(tag: str) -> None:
    tool = TOOLS[tag]
    assert isinstance(tool, Tool)
    assert tool.operation is op.OPERATIONS[tag]
    assert (tool.name, tool.kind) == (tag, op.OPERATIONS[tag].kind)


def test_no_more_of_a_large_list_is_looked_at_than_may_be_told() -> None:
    looked = 0

    class Endless(list[None]):
        def __iter__(self) -> Iterator[None]:
            nonlocal looked
            while True:
                looked += 1
                yield None

    with pytest.raises(ToolError, match="larger than"):
        as_outcome([[Endless()]])
    assert looked <= LARGEST_RESULT // 16 + 1
