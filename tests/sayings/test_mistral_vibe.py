"""What Mistral Vibe's models say for each operation, and what their code calls."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says


def test_files() -> None:
    says(op.ReadFile("a.py", 5, 9), mistral_vibe=("read_file", {"path": "a.py", "offset": 4, "limit": 5}))
    says(op.WriteFile("a.py", "x"), mistral_vibe=("write_file", {"path": "a.py", "content": "x"}))
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        mistral_vibe=("edit", {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": True}),
    )


def test_run_a_command() -> None:
    says(op.RunCommand("ls", timeout_ms=5000), mistral_vibe=("bash", {"command": "ls", "timeout_seconds": 5}))


def test_code() -> None:
    program = "async function main() { return 6 * 7; }"
    says(op.RunCode(program, "typescript"), mistral_vibe=("run_typescript", {"code": program}))


def test_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("a", "completed", "0", priority="high"),)),
        mistral_vibe=(
            "todo",
            {"action": "write", "todos": [{"id": "0", "content": "a", "status": "completed", "priority": "high"}]},
        ),
    )
    says(op.ReadPlan(), mistral_vibe=("todo", {"action": "read"}))


def test_tools_skills_and_agents() -> None:
    says(op.SearchTools("echo"), mistral_vibe=("search_tool_functions", {"query": "echo"}))
    says(op.UseSkill("x"), mistral_vibe=("skill", {"name": "x"}))
    says(op.WaitForAgent((), 5000), mistral_vibe=("wait", {"timeout_ms": 5000}))


def called(name: str, /, **arguments: object) -> tuple[str, dict[str, object]]:
    return name, arguments


def test_what_code_calls() -> None:
    for meaning, call in (
        (op.RunCommand("ls", background=True), called("process__start", command="ls")),
        (op.ReadOutput("p"), called("process__output", processId="p")),
        (op.TypeInto("p", "x"), called("process__write", processId="p", text="x")),
        (op.StopCommand("p"), called("process__stop", processId="p")),
        (op.ListCommands(), called("process__list")),
        (op.SpawnAgent("Look.", name="look", background=True), called("agents__spawn", name="look", message="Look.")),
        (op.MessageAgent("look", "More."), called("agents__send_message", agent_path="look", message="More.")),
        (op.StopAgent("look"), called("agents__interrupt", name="look")),
        (op.ListAgents(), called("agents__list")),
        (op.CallMcpTool("toy", "echo", {"text": "x"}), called("mcp_toy__echo", text="x")),
    ):
        assert read(call) == (meaning,)


def read(call: tuple[str, dict[str, object]]) -> tuple[op.Operation, ...]:
    """Names in a saying have their namespace before a dot, and these have a dot of their own."""
    from dragoman.dialects import DIALECTS
    from dragoman.model import NativeCall

    name, arguments = call
    return DIALECTS["mistral_vibe"].read_call(NativeCall("1", name.replace("__", "."), arguments)).operations


def test_notes_are_the_clients_own() -> None:
    reads(
        op.SteerClient("unified_harness_scratchpad", {"action": "list"}),
        mistral_vibe=("unified_harness_scratchpad", {"action": "list"}),
    )
