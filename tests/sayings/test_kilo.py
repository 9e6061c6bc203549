"""What Kilo's models say for each operation: as opencode's, but for its own tools."""

from __future__ import annotations

from dragoman.dialects import DIALECTS
from dragoman.model import operations as op
from tests.sayings import reads, says


def test_what_opencode_says_too() -> None:
    says(op.ReadFile("a.py"), kilo=("read", {"filePath": "a.py"}))
    says(op.WriteFile("a.py", "x"), kilo=("write", {"content": "x", "filePath": "a.py"}))
    says(
        op.EditFile("a.py", (op.Edit("x", "y"),)),
        kilo=("edit", {"filePath": "a.py", "oldString": "x", "newString": "y"}),
    )
    says(op.FindFiles("*.py"), kilo=("glob", {"pattern": "*.py"}))
    says(
        op.UpdatePlan((op.PlanItem("a", priority="high"),)),
        kilo=("todowrite", {"todos": [{"content": "a", "status": "pending", "priority": "high"}]}),
    )
    says(
        op.FetchPage("https://a.example/", format="text"),
        kilo=("webfetch", {"url": "https://a.example/", "format": "text"}),
    )
    says(op.UseSkill("x"), kilo=("skill", {"name": "x"}))
    says(op.ListMcpResources("toy"), kilo=("list_mcp_resources", {"server": "toy"}))
    says(op.ReadMcpResource("toy://a", "toy"), kilo=("read_mcp_resource", {"server": "toy", "uri": "toy://a"}))
    says(op.ListDirectory("src"), kilo=("read", {"filePath": "src/"}))


def test_a_model_of_openai_is_offered_patches() -> None:
    offered = {one.name for one in DIALECTS["kilo"].at(family="gpt-5.5").definitions()}
    assert "apply_patch" in offered
    assert "edit" not in offered
    reads(
        op.DeleteFile("a.py"),
        kilo=("apply_patch", {"patchText": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}),
    )


def test_commands_and_searches() -> None:
    says(
        op.RunCommand("ls", "/p", 1500, "look"),
        kilo=("bash", {"command": "ls", "timeout": 1500, "workdir": "/p", "description": "look"}),
    )
    says(
        op.SearchText("x", "src", literal=True, case_sensitive=False, before=2, after=2, limit=3),
        kilo=(
            "grep",
            {"pattern": "x", "path": "src", "context": 2, "limit": 3, "literal": True, "ignoreCase": True},
        ),
    )


def test_background_processes() -> None:
    says(op.ListCommands(), kilo=("background_process", {"action": "list"}))
    says(op.ReadOutput("bgp_1"), kilo=("background_process", {"action": "logs", "id": "bgp_1"}))
    says(op.StopCommand("bgp_1"), kilo=("background_process", {"action": "stop", "id": "bgp_1"}))
    reads(
        op.RunCommand("sleep 9", background=True),
        kilo=("background_process", {"action": "start", "command": "sleep 9"}),
    )
    reads(
        op.SteerClient("background_process", {"action": "restart", "id": "bgp_1"}),
        kilo=("background_process", {"action": "restart", "id": "bgp_1"}),
    )


def test_agents() -> None:
    says(
        op.SpawnAgent("Look.", "explore", description="look", background=True),
        kilo=(
            "task",
            {"description": "look", "prompt": "Look.", "subagent_type": "explore", "background": True},
        ),
    )
    says(op.MessageAgent("main", "Hello."), kilo=("board_post", {"to": "main", "type": "INFO", "body": "Hello."}))
