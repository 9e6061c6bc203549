"""What Gemini CLI's models say for each operation, and every older way of saying it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says

# ── files ────────────────────────────────────────────────────────────────────


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), gemini_cli=("read_file", {"file_path": "a.py"}))


def test_read_part_of_a_file() -> None:
    says(
        op.ReadFile("a.py", first_line=5, last_line=9),
        gemini_cli=("read_file", {"file_path": "a.py", "start_line": 5, "end_line": 9}),
    )


def test_part_of_a_file_was_read_by_an_offset_from_0() -> None:
    part = op.ReadFile("a.py", first_line=5, last_line=9)
    reads(part, gemini_cli=("read_file", {"file_path": "a.py", "offset": 4, "limit": 5}))
    reads(part, gemini_cli=("read_file", {"absolute_path": "a.py", "offset": 4, "limit": 5}))
    reads(part, gemini_cli=("read_file", {"file_path": "a.py", "start_line": 5.0, "end_line": 9.0}))


def test_read_many_files_as_they_were_read_once() -> None:
    says(
        op.ReadFiles(("**/*.py",), ("build/**",), respect_ignore=False),
        gemini_cli=(
            "read_many_files",
            {
                "paths": ["**/*.py"],
                "exclude": ["build/**"],
                "file_filtering_options": {"respect_git_ignore": False},
            },
        ),
    )
    reads(op.ReadFiles(("a.py", "b.py")), gemini_cli=("read_many_files", {"paths": ["a.py"], "include": ["b.py"]}))
    reads(op.ReadFiles(("b.py",)), gemini_cli=("read_many_files", {"include": ["b.py"]}))


def test_list_a_folder() -> None:
    says(
        op.ListDirectory("src", ("*.pyc",), respect_ignore=False),
        gemini_cli=(
            "list_directory",
            {"dir_path": "src", "ignore": ["*.pyc"], "file_filtering_options": {"respect_git_ignore": False}},
        ),
    )
    reads(op.ListDirectory("/src"), gemini_cli=("list_directory", {"path": "/src"}))


def test_a_filter_of_the_clients_own_is_kept_apart() -> None:
    options = {"respect_git_ignore": True, "respect_gemini_ignore": False}
    call = DIALECTS["gemini_cli"].read_call(
        NativeCall("1", "list_directory", {"dir_path": "src", "file_filtering_options": options})
    )
    assert call.operations == (op.ListDirectory("src", respect_ignore=True),)
    assert call.unmapped == {"file_filtering_options.respect_gemini_ignore": False}


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), gemini_cli=("write_file", {"file_path": "a.py", "content": "x = 1\n"}))


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x = 1", "x = 2"),), "Change it."),
        gemini_cli=(
            "replace",
            {"file_path": "a.py", "instruction": "Change it.", "old_string": "x = 1", "new_string": "x = 2"},
        ),
    )


def test_edit_a_file_everywhere() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        gemini_cli=(
            "replace",
            {"file_path": "a.py", "instruction": "", "old_string": "x", "new_string": "y", "allow_multiple": True},
        ),
    )


def test_replacements_were_counted() -> None:
    counted = {"file_path": "a.py", "old_string": "x", "new_string": "y", "expected_replacements": 3}
    edit = op.Edit("x", "y", everywhere=True, expected=3)
    reads(op.EditFile("a.py", (edit,)), gemini_cli=("replace", counted))
    reads(op.EditFile("a.py", (edit,), "Rename"), gemini_cli=("replace", {**counted, "instruction": "Rename"}))


def test_an_edit_of_nothing_creates_a_file() -> None:
    new = {"file_path": "a.py", "instruction": "New", "old_string": "", "new_string": "x = 1\n"}
    reads(op.WriteFile("a.py", "x = 1\n", overwrite=False), gemini_cli=("replace", new))
    with pytest.raises(Unspeakable):
        DIALECTS["gemini_cli"].write_call("1", op.EditFile("a.py", (op.Edit("", "x"),)))


# ── search ───────────────────────────────────────────────────────────────────


def test_find_files() -> None:
    says(
        op.FindFiles("**/*.py", "src", case_sensitive=True, respect_ignore=False),
        gemini_cli=(
            "glob",
            {"pattern": "**/*.py", "dir_path": "src", "case_sensitive": True, "respect_git_ignore": False},
        ),
    )
    reads(op.FindFiles("*.py", "src"), gemini_cli=("glob", {"pattern": "*.py", "path": "src"}))


def test_search_for_lines() -> None:
    says(
        op.SearchText(
            "total",
            "src",
            include="*.py",
            case_sensitive=True,
            literal=True,
            before=1,
            after=2,
            limit=10,
            limit_per_file=3,
            respect_ignore=False,
        ),
        gemini_cli=(
            "grep_search",
            {
                "pattern": "total",
                "dir_path": "src",
                "include_pattern": "*.py",
                "case_sensitive": True,
                "fixed_strings": True,
                "after": 2,
                "before": 1,
                "no_ignore": True,
                "max_matches_per_file": 3,
                "total_max_matches": 10,
            },
        ),
    )


def test_lines_around_a_match_are_said_in_one() -> None:
    says(op.SearchText("total", before=2, after=2), gemini_cli=("grep_search", {"pattern": "total", "context": 2}))


def test_search_for_files() -> None:
    says(op.SearchText("total", mode="files"), gemini_cli=("grep_search", {"pattern": "total", "names_only": True}))


def test_a_search_had_another_name() -> None:
    found = op.SearchText("total", "src", include="*.py")
    reads(found, gemini_cli=("search_file_content", {"pattern": "total", "dir_path": "src", "include": "*.py"}))
    reads(found, gemini_cli=("search_file_content", {"pattern": "total", "path": "src", "include": "*.py"}))


# ── commands ─────────────────────────────────────────────────────────────────


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls -l", "src", purpose="List files"),
        gemini_cli=("run_shell_command", {"command": "ls -l", "description": "List files", "dir_path": "src"}),
    )
    reads(
        op.RunCommand("ls -l", "src"),
        gemini_cli=("run_shell_command", {"command": "ls -l", "directory": "src"}),
    )


def test_run_a_command_in_the_background() -> None:
    says(
        op.RunCommand("make", background=True, wait_ms=1500),
        gemini_cli=("run_shell_command", {"command": "make", "is_background": True, "delay_ms": 1500}),
    )


def test_read_the_output_of_a_job() -> None:
    says(
        op.ReadOutput("42", wait_ms=100, lines=5),
        gemini_cli=("read_background_output", {"pid": 42, "lines": 5, "delay_ms": 100}),
    )


def test_list_the_jobs() -> None:
    says(op.ListCommands(), gemini_cli=("list_background_processes", {}))


# ── web ──────────────────────────────────────────────────────────────────────


def test_search_the_web() -> None:
    says(op.SearchWeb("counting"), gemini_cli=("google_web_search", {"query": "counting"}))


def test_fetch_a_page() -> None:
    says(
        op.FetchPage("https://example.com/a", "What is it?"),
        gemini_cli=("web_fetch", {"prompt": "https://example.com/a\n\nWhat is it?"}),
    )
    says(op.FetchPage("https://example.com/a"), gemini_cli=("web_fetch", {"prompt": "https://example.com/a"}))


def test_a_prompt_with_two_urls_fetches_two_pages() -> None:
    prompt = "Compare https://example.com/a with https://example.com/b."
    reads(
        op.FetchPage("https://example.com/a", prompt),
        op.FetchPage("https://example.com/b", prompt),
        gemini_cli=("web_fetch", {"prompt": prompt}),
    )


# ── plan, agents, memory ─────────────────────────────────────────────────────


def test_write_the_whole_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("Look", "completed"), op.PlanItem("Act", "blocked"))),
        gemini_cli=(
            "write_todos",
            {"todos": [{"description": "Look", "status": "completed"}, {"description": "Act", "status": "blocked"}]},
        ),
    )


def test_start_an_agent() -> None:
    says(
        op.SpawnAgent("Count them", "codebase_investigator"),
        gemini_cli=("invoke_agent", {"agent_name": "codebase_investigator", "prompt": "Count them"}),
    )


def test_agents_were_tools_of_their_own() -> None:
    reads(
        op.SpawnAgent("Count them", "codebase_investigator"),
        gemini_cli=("codebase_investigator", {"objective": "Count them"}),
    )
    reads(op.SpawnAgent("Count them", "generalist"), gemini_cli=("generalist", {"request": "Count them"}))
    reads(op.SpawnAgent("How?", "cli_help"), gemini_cli=("cli_help", {"question": "How?"}))
    reads(
        op.SpawnAgent("Count them", "codebase_investigator"),
        gemini_cli=("delegate_to_agent", {"agent_name": "codebase_investigator", "objective": "Count them"}),
    )


def test_end_a_task() -> None:
    says(op.ReturnToParent({"response": "three"}), gemini_cli=("complete_task", {"result": {"response": "three"}}))
    reads(op.ReturnToParent({"answer": "three"}), gemini_cli=("complete_task", {"report": {"answer": "three"}}))


def test_remember_as_was_done_once() -> None:
    says(op.SaveMemory("likes tea"), gemini_cli=("save_memory", {"fact": "likes tea"}))


# ── people and extensions ────────────────────────────────────────────────────


def test_ask_the_user() -> None:
    says(
        op.AskUser(
            (op.Question("Which?", (op.Option("North", "up"), op.Option("South")), "Pick"), op.Question("Why?"))
        ),
        gemini_cli=(
            "ask_user",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "header": "Pick",
                        "type": "choice",
                        "options": [{"label": "North", "description": "up"}, {"label": "South"}],
                    },
                    {"question": "Why?", "type": "text"},
                ]
            },
        ),
    )


def test_a_question_of_yes_or_no() -> None:
    reads(
        op.AskUser((op.Question("Go on?", (op.Option("Yes"), op.Option("No")), "Next"),)),
        gemini_cli=("ask_user", {"questions": [{"question": "Go on?", "header": "Next", "type": "yesno"}]}),
    )


def test_use_a_skill() -> None:
    says(op.UseSkill("review"), gemini_cli=("activate_skill", {"name": "review"}))


def test_resources_of_servers() -> None:
    says(op.ListMcpResources("toy"), gemini_cli=("list_mcp_resources", {"serverName": "toy"}))
    says(op.ReadMcpResource("toy://note"), gemini_cli=("read_mcp_resource", {"uri": "toy://note"}))


def test_call_a_tool_of_a_server() -> None:
    says(op.CallMcpTool("toy", "echo", {"text": "hi"}), gemini_cli=("mcp_toy_echo", {"text": "hi"}))


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("enter_plan_mode", {"reason": "think first"}),
        ("exit_plan_mode", {"plan_filename": "p.md"}),
        ("update_topic", {"strategic_intent": "Look around."}),
        ("get_internal_docs", {"path": "tools.md"}),
    ],
)
def test_what_steers_the_client(name: str, arguments: dict[str, Any]) -> None:
    says(op.SteerClient(name, arguments), gemini_cli=(name, arguments))
