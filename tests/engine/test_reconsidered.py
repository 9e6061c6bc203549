"""Calls that turn out to mean something else once they are tried: run after all, under the same policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman import ProviderTool
from dragoman.engine import Answer, Approval, Hooks, HttpEngine, Orchestrator, Retry, RunResult, ToolPolicy
from dragoman.engine.transport import Transport
from dragoman.model import (
    AnyEvent,
    Call,
    DirectoryOutcome,
    Failure,
    Message,
    ResultPart,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    operations as op,
)
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace
from tests.engine.loopback import Heard, Turn, loopback

EDITOR = "str_replace_based_edit_tool"
VIEW = Turn(calls=(("c1", EDITOR, {"command": "view", "path": "src"}),))
LISTED = "Here are the files and folders up to 2 levels deep in src:\na.py\ninner/\ninner/b.py"


async def run(
    folder: Path,
    *tools: str,
    calls: Turn = VIEW,
    provider: str = "text_editor_20250728",
    stream: bool = False,
    **options: Any,
) -> tuple[RunResult, list[Heard]]:
    """A run in which the model makes these calls with the provider's own tools, and then is done."""
    (folder / "src/inner").mkdir(parents=True, exist_ok=True)
    (folder / "src/a.py").write_text("x")
    (folder / "src/inner/b.py").write_text("x")
    async with loopback(calls, Turn("Done.")) as server:
        engine = HttpEngine("anthropic_messages", Transport(server.url), provider="played", retry=Retry(times=0))
        orchestrator = Orchestrator(
            engine,
            [*(TOOLS[name] for name in tools), ProviderTool(f"anthropic.{provider}")],
            model_name="claude-sonnet-4-5",
            workspace=DiskWorkspace(folder, durable=False),
            **options,
        )
        result = await orchestrator.run("Look.", stream=stream)
        await orchestrator.close()
    return result, server.requests


def told(result: RunResult) -> list[tuple[Any, bool]]:
    parts = [part for item in result.conversation if isinstance(item, Message) for part in item.parts]
    return [(part.result.content, bool(part.result.is_error)) for part in parts if isinstance(part, ResultPart)]


def sent(heard: Heard) -> list[Any]:
    """The blocks of results in the last message of a request."""
    return [block for block in heard.body["messages"][-1]["content"] if block["type"] == "tool_result"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_view_of_a_folder_is_listed_from_one_end_to_the_other(tmp_path: Path, streamed: bool) -> None:
    events: list[AnyEvent] = []
    policy = ToolPolicy(early=streamed)
    result, requests = await run(
        tmp_path, "read_file", "list_directory", stream=streamed, policy=policy, emit=events.append
    )
    assert (result.status, result.text) == ("completed", "Done.")
    assert told(result) == [(LISTED, False)]
    (block,) = sent(requests[1])
    assert (block["tool_use_id"], block["content"], block.get("is_error", False)) == ("c1", LISTED, False)
    (returned,) = [event.result.outcomes for event in events if isinstance(event, ToolReturned)]
    assert isinstance(returned[0], DirectoryOutcome)
    # One call of the model's, one event of it; that it was meant otherwise is told on the way.
    assert [event.call.operations for event in events if isinstance(event, ToolCalled)] == [(op.ReadFile("src"),)]
    assert [event.message for event in events if isinstance(event, ToolProgressed)] == [
        "It is meant otherwise: list_directory"
    ]
    assert {name: metrics.calls for name, metrics in result.metrics.items()} == {"list_directory": 1}


async def test_it_is_not_tried_again_before(tmp_path: Path) -> None:
    retried: list[int] = []
    policy = ToolPolicy(on_error="retry")
    hooks = Hooks(should_retry=lambda call, failure, attempt: retried.append(attempt))
    result, _ = await run(tmp_path, "read_file", "list_directory", policy=policy, hooks=hooks)
    assert (told(result), retried) == ([(LISTED, False)], [])


async def test_without_a_tool_for_it_the_first_failure_is_told(tmp_path: Path) -> None:
    result, _ = await run(tmp_path, "read_file")
    assert told(result) == [('"src" is a directory; a file is needed here', True)]


async def test_a_tool_the_policy_forbids_is_not_run_instead(tmp_path: Path) -> None:
    policy = ToolPolicy(approval=(Approval("deny", operation="list_directory"),))
    result, _ = await run(tmp_path, "read_file", "list_directory", policy=policy)
    ((words, flagged),) = told(result)
    assert flagged
    assert "This call was not allowed: rule 1 (operation=list_directory)" in words


async def test_what_is_run_instead_is_asked_about_and_seen_by_the_hook(tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []
    seen: list[tuple[op.Operation, ...]] = []

    def approver(question: Any) -> Answer:
        asked.append(question.tools)
        return Answer(allowed=True)

    def before(call: Call) -> Failure | None:
        seen.append(call.operations)
        return None

    policy = ToolPolicy(approval=(Approval("ask", operation="list_directory"),))
    result, _ = await run(
        tmp_path, "read_file", "list_directory", policy=policy, approver=approver, hooks=Hooks(before=before)
    )
    assert told(result) == [(LISTED, False)]
    assert asked == [("list_directory",)]
    assert seen == [(op.ReadFile("src"),), (op.ListDirectory("src", depth=2),)]


async def test_a_hook_may_refuse_what_is_run_instead(tmp_path: Path) -> None:
    def before(call: Call) -> Failure | None:
        return Failure("denied", "no folders") if isinstance(call.operations[0], op.ListDirectory) else None

    result, _ = await run(tmp_path, "read_file", "list_directory", hooks=Hooks(before=before))
    assert told(result) == [("Error: Permission denied: no folders", True)]


async def test_the_shell_stays_through_a_run(tmp_path: Path) -> None:
    calls = Turn(
        calls=(
            ("c1", "bash", {"command": "cd src; export TEA=green"}),
            ("c2", "bash", {"command": "echo ${PWD##*/} $TEA"}),
            ("c3", "bash", {"restart": True}),
            ("c4", "bash", {"command": "echo ${PWD##*/} $TEA"}),
        )
    )
    result, requests = await run(tmp_path, "run_command", "stop_command", calls=calls, provider="bash_20250124")
    texts = ["[exit code 0]", "src green\n[exit code 0]", "tool has been restarted.", f"{tmp_path.name}\n[exit code 0]"]
    assert [words for words, _ in told(result)] == texts
    assert [block["content"] for block in sent(requests[1])] == texts
