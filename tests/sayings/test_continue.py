"""What Continue's models say for each operation."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), **{"continue": ("Read", {"filepath": "a.py"})})


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), **{"continue": ("Write", {"filepath": "a.py", "content": "x = 1\n"})})


def test_edit_a_file_in_several_places() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x = 1", "x = 2"), op.Edit("y", "z", everywhere=True))),
        **{
            "continue": (
                "MultiEdit",
                {
                    "file_path": "a.py",
                    "edits": [
                        {"old_string": "x = 1", "new_string": "x = 2"},
                        {"old_string": "y", "new_string": "z", "replace_all": True},
                    ],
                },
            )
        },
    )


def test_one_edit_by_its_own_name() -> None:
    reads(
        op.EditFile("a.py", (op.Edit("x", "y"),)),
        **{"continue": ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})},
    )


@pytest.mark.parametrize("edit", [op.Edit(None, "y"), op.Edit("", "y"), op.Edit("x", "y", expected=2)])
def test_an_edit_of_a_text_that_is_not_found_once_is_not_said_as_something_else(edit: op.Edit) -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["continue"].write_call("1", op.EditFile("a.py", (edit,)))


def test_list_a_folder() -> None:
    says(op.ListDirectory("src"), **{"continue": ("List", {"dirpath": "src"})})


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l"), **{"continue": ("Bash", {"command": "ls -l"})})
    says(op.RunCommand("ls -l", timeout_ms=2000), **{"continue": ("Bash", {"command": "ls -l", "timeout": 2})})


def test_read_the_output_of_a_job() -> None:
    says(op.ReadOutput("bg-1"), **{"continue": ("CheckBackgroundJob", {"job_id": "bg-1"})})


def test_search_text() -> None:
    says(
        op.SearchText("total", "src", include="*.py"),
        **{"continue": ("Search", {"pattern": "total", "path": "src", "file_pattern": "*.py"})},
    )


def test_fetch_a_page() -> None:
    says(op.FetchPage("https://example.com/"), **{"continue": ("Fetch", {"url": "https://example.com/"})})


def test_a_plan_is_a_list_in_markdown() -> None:
    says(
        op.UpdatePlan((op.PlanItem("Read"), op.PlanItem("Fix", "completed", description="the total"))),
        **{"continue": ("Checklist", {"checklist": "- [ ] Read\n- [x] Fix\n  the total"})},
    )
    says(
        op.UpdatePlan((op.PlanItem("Read"),), "First of all"),
        **{"continue": ("Checklist", {"checklist": "First of all\n\n- [ ] Read"})},
    )
    reads(
        op.UpdatePlan((op.PlanItem("a"), op.PlanItem("b", "completed"))),
        **{"continue": ("Checklist", {"checklist": "* [ ] a\n  * [X] b\n"})},
    )


def test_ask_the_user() -> None:
    says(
        op.AskUser((op.Question("Which?", (op.Option("a"), op.Option("b")), default="a"),)),
        **{"continue": ("AskQuestion", {"question": "Which?", "options": ["a", "b"], "defaultAnswer": "a"})},
    )
    says(
        op.AskUser((op.Question("What then?"),)),
        **{"continue": ("AskQuestion", {"question": "What then?", "options": []})},
    )


def test_use_a_skill() -> None:
    says(op.UseSkill("pdf"), **{"continue": ("Skills", {"skill_name": "pdf"})})


def test_end_the_client() -> None:
    says(op.SteerClient("Exit"), **{"continue": ("Exit", {})})


def test_a_tool_of_a_server_goes_by_its_bare_name() -> None:
    dialect = DIALECTS["continue"].knowing(servers={"toy": ("echo",)})
    operation = op.CallMcpTool("toy", "echo", {"text": "hi"})
    native = NativeCall("1", "echo", {"text": "hi"})
    assert dialect.write_call("1", operation) == (native,)
    assert dialect.read_call(native).operations == (operation,)
    assert DIALECTS["continue"].read_call(native).operations == (op.Unrecognised("echo", {"text": "hi"}),)
