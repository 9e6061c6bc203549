"""What Kimi Code's models say for each operation."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says


def test_read_a_file() -> None:
    says(op.ReadFile("a.py", 5, 9), kimi_code=("Read", {"path": "a.py", "line_offset": 5, "n_lines": 5}))


def test_the_last_lines_of_a_file_are_no_lines_from_its_start() -> None:
    reads(op.ReadFile("a.py"), kimi_code=("Read", {"path": "a.py", "line_offset": -5}))


def test_view_an_image() -> None:
    says(
        op.ViewImage("a.png", region=(1, 2, 11, 22)),
        kimi_code=("ReadMediaFile", {"path": "a.png", "region": {"x": 1, "y": 2, "width": 10, "height": 20}}),
    )


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x\n"), kimi_code=("Write", {"path": "a.py", "content": "x\n"}))
    reads(
        op.EditFile("a.py", (op.Edit(None, "x\n", whole_lines=True),)),
        kimi_code=("Write", {"path": "a.py", "content": "x\n", "mode": "append"}),
    )


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        kimi_code=("Edit", {"path": "a.py", "old_string": "x", "new_string": "y", "replace_all": True}),
    )


def test_find_files_and_text() -> None:
    says(
        op.FindFiles("*.py", "src", respect_ignore=False, limit=3),
        kimi_code=("Glob", {"pattern": "*.py", "path": "src", "head_limit": 3, "include_ignored": True}),
    )
    says(
        op.SearchText("x", "src", mode="count", case_sensitive=False, before=2, after=2),
        kimi_code=("Grep", {"pattern": "x", "path": "src", "output_mode": "count_matches", "-i": True, "-C": 2}),
    )


def test_run_commands() -> None:
    says(
        op.RunCommand("ls", "/p", 5000, "look", background=True),
        kimi_code=(
            "Bash",
            {"command": "ls", "cwd": "/p", "timeout": 5, "description": "look", "run_in_background": True},
        ),
    )
    says(op.ReadOutput("bash-1"), kimi_code=("TaskOutput", {"task_id": "bash-1"}))
    says(op.StopCommand("bash-1"), kimi_code=("TaskStop", {"task_id": "bash-1"}))
    says(op.ListCommands(), kimi_code=("TaskList", {}))


def test_agents() -> None:
    says(
        op.SpawnAgent("Look.", "explore", description="look", background=True),
        kimi_code=(
            "Agent",
            {"prompt": "Look.", "description": "look", "subagent_type": "explore", "run_in_background": True},
        ),
    )
    reads(
        op.SpawnAgent("See a.", description="d"),
        op.SpawnAgent("See b.", description="d"),
        kimi_code=("AgentSwarm", {"description": "d", "prompt_template": "See {{item}}.", "items": ["a", "b"]}),
    )
    says(op.WaitForAgent(("agent-1",), 5000), kimi_code=("WaitFor", {"timeout": 5, "task_id": "agent-1"}))


def test_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("a", "completed"),)),
        kimi_code=("TodoList", {"todos": [{"title": "a", "status": "done"}]}),
    )
    says(op.ReadPlan(), kimi_code=("TodoList", {}))


def test_people_pages_and_skills() -> None:
    says(
        op.AskUser((op.Question("Which?", (op.Option("A", "a"), op.Option("B")), "Pick"),)),
        kimi_code=(
            "AskUserQuestion",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": ""}],
                        "header": "Pick",
                        "multi_select": False,
                    }
                ]
            },
        ),
    )
    says(op.FetchPage("https://a.example/"), kimi_code=("FetchURL", {"url": "https://a.example/"}))
    says(op.UseSkill("x", "y"), kimi_code=("Skill", {"skill": "x", "args": "y"}))


def test_what_others_have_too() -> None:
    says(op.CallMcpTool("toy", "echo", {"a": 1}), kimi_code=("mcp__toy__echo", {"a": 1}))
    says(op.SteerClient("GetGoal"), kimi_code=("GetGoal", {}))
