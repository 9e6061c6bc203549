"""What Goose's models say for each operation."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says


def test_files() -> None:
    says(op.WriteFile("a.py", "x\n"), goose=("write", {"path": "a.py", "content": "x\n"}))
    says(
        op.EditFile("a.py", (op.Edit("x", "y"),)),
        goose=("edit", {"path": "a.py", "before": "x", "after": "y"}),
    )
    says(op.ListDirectory("src", depth=3), goose=("tree", {"path": "src", "depth": 3}))


def test_run_a_command() -> None:
    says(op.RunCommand("ls", timeout_ms=5000), goose=("shell", {"command": "ls", "timeout_secs": 5}))


def test_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("a", "completed"), op.PlanItem("b"))),
        goose=("todo__todo_write", {"content": "- [x] a\n- [ ] b"}),
    )
    reads(
        op.UpdatePlan((op.PlanItem("First a.\nThen b."),)), goose=("todo__todo_write", {"content": "First a.\nThen b."})
    )


def test_agents() -> None:
    says(
        op.SpawnAgent("Look.", "explore", model="m", background=True, tools=("developer",), max_turns=5),
        goose=(
            "delegate",
            {
                "instructions": "Look.",
                "source": "explore",
                "extensions": ["developer"],
                "model": "m",
                "max_turns": 5,
                "async": True,
            },
        ),
    )
    reads(op.WaitForAgent(("20260101_2",)), goose=("load", {"source": "20260101_2"}))
    reads(op.StopAgent("20260101_2"), goose=("load", {"source": "20260101_2", "cancel": True}))
    reads(op.SteerClient("load", {"source": "recipe"}), goose=("load", {"source": "recipe"}))


def test_skills_and_servers() -> None:
    says(op.UseSkill("x"), goose=("load_skill", {"name": "x"}))
    says(op.ListMcpResources("toy"), goose=("extensionmanager__list_resources", {"extension_name": "toy"}))
    says(
        op.ReadMcpResource("toy://a", "toy"),
        goose=("extensionmanager__read_resource", {"uri": "toy://a", "extension_name": "toy"}),
    )


def test_the_clients_own() -> None:
    says(op.SteerClient("analyze", {"path": "src"}), goose=("analyze", {"path": "src"}))
