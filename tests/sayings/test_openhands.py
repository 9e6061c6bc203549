"""What OpenHands' models say for each operation."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says

_RISK = {"security_risk": "UNKNOWN"}


def test_commands() -> None:
    says(
        op.RunCommand("ls", timeout_ms=5000, purpose="look"),
        openhands=("terminal", {"command": "ls", "timeout": 5, **_RISK, "summary": "look"}),
    )
    says(op.TypeInto("terminal", "C-c"), openhands=("terminal", {"command": "C-c", "is_input": True, **_RISK}))
    says(op.ReadOutput("terminal"), openhands=("terminal", {"command": "", "is_input": True, **_RISK}))
    says(op.StopCommand("terminal"), openhands=("terminal", {"command": "", "reset": True, **_RISK}))


def test_files() -> None:
    says(
        op.ReadFile("/p/a.py", 5, 9),
        openhands=("file_editor", {"command": "view", "path": "/p/a.py", "view_range": [5, 9], **_RISK}),
    )
    says(
        op.WriteFile("/p/a.py", "x", overwrite=False),
        openhands=("file_editor", {"command": "create", "path": "/p/a.py", "file_text": "x", **_RISK}),
    )
    says(
        op.EditFile("/p/a.py", (op.Edit("x", "y"),)),
        openhands=(
            "file_editor",
            {"command": "str_replace", "path": "/p/a.py", "old_str": "x", "new_str": "y", **_RISK},
        ),
    )
    says(
        op.InsertText("/p/a.py", 3, "x"),
        openhands=("file_editor", {"command": "insert", "path": "/p/a.py", "new_str": "x", "insert_line": 3, **_RISK}),
    )
    says(op.UndoEdit("/p/a.py"), openhands=("file_editor", {"command": "undo_edit", "path": "/p/a.py", **_RISK}))


def test_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("a", "completed", description="n"),)),
        openhands=(
            "task_tracker",
            {"command": "plan", "task_list": [{"title": "a", "notes": "n", "status": "done"}], **_RISK},
        ),
    )
    says(op.ReadPlan(), openhands=("task_tracker", {"command": "view", **_RISK}))


def test_agents() -> None:
    says(
        op.SpawnAgent("Look.", "explorer", description="look", continues="task_1"),
        openhands=(
            "task",
            {"prompt": "Look.", "description": "look", "subagent_type": "explorer", "resume": "task_1", **_RISK},
        ),
    )
    reads(op.ReturnToParent("Done."), openhands=("finish", {"message": "Done."}))


def test_a_thought_that_is_written_down() -> None:
    reads(op.SteerClient("think", {"thought": "hm"}), openhands=("think", {"thought": "hm"}))
