"""What Factory droid's models say for each operation."""

from __future__ import annotations

from dragoman.dialects import DIALECTS
from dragoman.model import operations as op
from tests.sayings import reads, says


def test_files() -> None:
    says(op.ReadFile("a.py", 5, 9), droid=("Read", {"file_path": "a.py", "offset": 5, "limit": 5}))
    says(op.WriteFile("a.py", "x\n"), droid=("Create", {"file_path": "a.py", "content": "x\n"}))
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        droid=("Edit", {"file_path": "a.py", "old_str": "x", "new_str": "y", "change_all": True}),
    )
    says(op.ListDirectory("src", ("*.pyc",)), droid=("LS", {"directory_path": "src", "ignorePatterns": ["*.pyc"]}))


def test_a_model_of_openai_is_offered_patches() -> None:
    offered = {one.name for one in DIALECTS["droid"].at(family="gpt-5.4").definitions()}
    assert "ApplyPatch" in offered
    assert offered.isdisjoint({"Edit", "Create"})
    reads(op.DeleteFile("a.py"), droid=("ApplyPatch", "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"))


def test_searching() -> None:
    says(op.FindFiles("*.py", "src"), droid=("Glob", {"patterns": "*.py", "folder": "src"}))
    reads(op.FindFiles("*.py"), op.FindFiles("*.md"), droid=("Glob", {"patterns": ["*.py", "*.md"]}))
    says(
        op.SearchText("x", include="*.py", case_sensitive=False, literal=True, before=2, after=2, limit=3),
        droid=(
            "Grep",
            {
                "pattern": "x",
                "glob_pattern": "*.py",
                "output_mode": "content",
                "case_insensitive": True,
                "context": 2,
                "head_limit": 3,
                "fixed_string": True,
            },
        ),
    )


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls", timeout_ms=5000, purpose="List all files here", background=True),
        droid=(
            "Execute",
            {"summary": "List all files here", "command": "ls", "timeout": 5, "fireAndForget": True},
        ),
    )


def test_agents() -> None:
    says(
        op.SpawnAgent("Look.", "worker", description="look", background=False),
        droid=("Task", {"subagent_type": "worker", "description": "look", "prompt": "Look.", "await": True}),
    )
    says(op.WaitForAgent(("t",), 5000), droid=("TaskOutput", {"task_id": "t", "timeout": 5000}))
    says(op.StopAgent("t"), droid=("TaskStop", {"task_id": "t"}))


def test_tools_skills_images_and_pages() -> None:
    says(op.SearchTools("select:a", 3), droid=("ToolSearch", {"query": "select:a", "max_results": 3}))
    says(op.UseSkill("x"), droid=("Skill", {"skill": "x"}))
    says(op.GenerateImage("a cat"), droid=("GenerateImage", {"prompt": "a cat"}))
    says(op.FetchPage("https://a.example/"), droid=("FetchUrl", {"url": "https://a.example/"}))
    says(op.SearchWeb("x", limit=3), droid=("WebSearch", {"query": "x", "numResults": 3}))


def test_the_plan() -> None:
    reads(
        op.UpdatePlan((op.PlanItem("a", "completed"), op.PlanItem("b"))),
        droid=("TodoWrite", {"todos": "1. [completed] a\n2. [pending] b"}),
    )
