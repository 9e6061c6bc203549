"""What Codex says, operation by operation, and what it has said before."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def lines(old: str | None, new: str, *anchors: str, at_end: bool = False) -> op.Edit:
    return op.Edit(old, new, whole_lines=True, anchors=anchors, at_end=at_end)


# ── commands ─────────────────────────────────────────────────────────────────


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l"), codex=("exec_command", {"cmd": "ls -l"}))


def test_run_a_command_with_everything_there_is_to_say() -> None:
    says(
        op.RunCommand(
            "make",
            "src",
            purpose="Build it?",
            wait_ms=5000,
            shell="/bin/sh",
            login=False,
            terminal=True,
            output_limit=4000,
            unsandboxed=True,
        ),
        codex=(
            "exec_command",
            {
                "cmd": "make",
                "workdir": "src",
                "shell": "/bin/sh",
                "login": False,
                "tty": True,
                "yield_time_ms": 5000,
                "max_output_tokens": 1000,
                "sandbox_permissions": "require_escalated",
                "justification": "Build it?",
            },
        ),
    )


@pytest.mark.parametrize(
    "version, family, said",
    [
        ("0.166.0", "gpt-5.5", ("exec_command", {"cmd": "make"})),
        ("0.77.0", "gpt-5-codex", ("shell_command", {"command": "make", "timeout_ms": 5000})),
        ("0.77.0", "gpt-5", ("shell", {"command": ["bash", "-lc", "make"], "timeout_ms": 5000})),
        ("0.44.0", "codex-mini-latest", (
            "local_shell", {"action": {"type": "exec", "command": ["bash", "-lc", "make"], "timeout_ms": 5000}}
        )),
    ],
)  # fmt: skip
def test_a_command_is_said_as_the_version_and_the_model_say_it(
    version: str, family: str, said: tuple[str, dict[str, object]]
) -> None:
    (call,) = DIALECTS["codex"].at(version, family).write_call("1", op.RunCommand("make", timeout_ms=5000))
    assert (call.name, call.arguments) == said


def test_a_command_of_older_clients() -> None:
    plain = op.RunCommand("ls | wc -l")
    reads(plain, codex=("shell", {"command": ["bash", "-lc", "ls | wc -l"]}))
    reads(plain, codex=("shell", {"command": ["bash", "-lc", "ls | wc -l"], "timeout_ms": None}))
    reads(plain, codex=("container.exec", {"command": ["bash", "-lc", "ls | wc -l"]}))
    reads(plain, codex=("local_shell", {"type": "exec", "command": ["bash", "-lc", "ls | wc -l"]}))
    reads(plain, codex=("local_shell", {"action": {"type": "exec", "command": ["bash", "-lc", "ls | wc -l"]}}))
    reads(op.RunCommand("ls 'a b'"), codex=("shell", {"command": ["ls", "a b"]}))
    reads(op.RunCommand("ls -l"), codex=("shell", {"command": ["ls -l"]}))
    reads(op.RunCommand("ls", shell="zsh", login=False), codex=("shell", {"command": ["zsh", "-c", "ls"]}))
    reads(
        op.RunCommand("ls", "src", 5000, "Why", unsandboxed=True),
        codex=(
            "shell",
            {
                "command": ["bash", "-lc", "ls"],
                "workdir": "src",
                "timeout_ms": 5000,
                "with_escalated_permissions": True,
                "justification": "Why",
            },
        ),
    )
    reads(op.RunCommand("ls", timeout_ms=9), codex=("shell", {"command": ["bash", "-lc", "ls"], "timeout": 9}))


def test_read_what_a_command_writes() -> None:
    says(op.ReadOutput("7", wait_ms=500), codex=("write_stdin", {"session_id": 7, "yield_time_ms": 500}))
    reads(op.ReadOutput("7"), codex=("write_stdin", {"session_id": 7, "chars": ""}))


def test_type_into_a_command() -> None:
    says(op.TypeInto("7", "yes\n", 800, 400), codex=(
        "write_stdin", {"session_id": 7, "chars": "yes\n", "yield_time_ms": 800, "max_output_tokens": 100}
    ))  # fmt: skip


def test_stop_a_command() -> None:
    says(op.StopCommand("7"), codex=("write_stdin", {"session_id": 7, "chars": "\u0003"}))


# ── files ────────────────────────────────────────────────────────────────────


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), codex=("apply_patch", patch("*** Add File: a.py", "+x = 1")))


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (lines("x = 1\n", "x = 2\n", "def f():"), lines(None, "y\n", at_end=True))),
        codex=(
            "apply_patch",
            patch("*** Update File: a.py", "@@ def f():", "-x = 1", "+x = 2", "@@", "+y", "*** End of File"),
        ),
    )


def test_what_follows_an_edit_at_the_end_of_the_file_is_another_patch() -> None:
    says(
        op.EditFile("a", (lines("x\n", "y\n", at_end=True), lines("v\n", "w\n"))),
        codex=[
            ("apply_patch", patch("*** Update File: a", "@@", "-x", "+y", "*** End of File")),
            ("apply_patch", patch("*** Update File: a", "@@", "-v", "+w")),
        ],
    )


def test_delete_a_file() -> None:
    says(op.DeleteFile("a.py"), codex=("apply_patch", patch("*** Delete File: a.py")))


def test_a_move_without_a_change_is_no_patch() -> None:
    """Codex 0.166.0 refuses an update without hunks, also one that moves the file."""
    with pytest.raises(Unspeakable):
        DIALECTS["codex"].write_call("1", op.MoveFile("a.py", "b.py"))
    moved = patch("*** Update File: a.py", "*** Move to: b.py", "@@", "-x", "+y")
    reads(op.EditFile("a.py", (lines("x\n", "y\n"),)), op.MoveFile("a.py", "b.py"), codex=("apply_patch", moved))


def test_a_patch_is_read_in_all_the_ways_it_arrives() -> None:
    text = patch("*** Add File: a.py", "+x", "*** Delete File: b.py")
    meant = (op.WriteFile("a.py", "x\n"), op.DeleteFile("b.py"))
    heredoc = f"apply_patch <<'EOF'\n{text}\nEOF\n"
    reads(*meant, codex=("apply_patch", text))
    reads(*meant, codex=("apply_patch", {"input": text}))
    reads(*meant, codex=("apply_patch", {"raw": text}))
    reads(*meant, codex=("apply_patch", {"patch": text}))
    reads(*meant, codex=("shell", {"command": ["apply_patch", text]}))
    reads(*meant, codex=("shell", {"command": ["bash", "-lc", heredoc]}))
    reads(*meant, codex=("local_shell", {"command": ["applypatch", text]}))
    reads(*meant, codex=("shell_command", {"command": heredoc}))
    reads(*meant, codex=("exec_command", {"cmd": heredoc}))
    reads(*meant, codex=("exec", f"text(await tools.apply_patch(`{text}`));"))
    reads(*meant, codex=("functions.exec", f"await tools.exec_command({{cmd: String.raw`{heredoc}`}});"))


def test_the_paths_of_a_patch_are_seen_from_where_it_is_applied() -> None:
    heredoc = f"apply_patch <<'EOF'\n{patch('*** Delete File: a')}\nEOF"
    reads(op.DeleteFile("/home/user/a"), codex=("exec_command", {"cmd": heredoc, "workdir": "/home/user"}))
    reads(
        op.DeleteFile("/home/user/src/a"),
        codex=("exec_command", {"cmd": f"cd src && {heredoc}", "workdir": "/home/user"}),
    )
    reads(op.DeleteFile("/tmp/a"), codex=("exec_command", {"cmd": f"cd /tmp && {heredoc}", "workdir": "/home/user"}))


def test_look_at_an_image() -> None:
    says(op.ViewImage("a.png", "high"), codex=("view_image", {"path": "a.png", "detail": "high"}))


def test_tools_that_were_only_tried_out() -> None:
    reads(op.ReadFile("a.py", 5, 9), codex=("read_file", {"file_path": "a.py", "offset": 5, "limit": 5}))
    reads(op.ListDirectory("src", depth=2), codex=("list_dir", {"dir_path": "src", "depth": 2}))
    reads(op.SearchText("x", "src", "*.py", mode="files"), codex=(
        "grep_files", {"pattern": "x", "path": "src", "include": "*.py"}
    ))  # fmt: skip


# ── plan and questions ───────────────────────────────────────────────────────


def test_say_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("read", "completed"), op.PlanItem("write", "in_progress")), "Two steps"),
        codex=(
            "update_plan",
            {
                "plan": [{"step": "read", "status": "completed"}, {"step": "write", "status": "in_progress"}],
                "explanation": "Two steps",
            },
        ),
    )


def test_a_state_that_steps_do_not_have_cannot_be_said() -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["codex"].write_call("1", op.UpdatePlan((op.PlanItem("wait", "blocked"),)))


QUESTION = op.Question("Which colour?", (op.Option("Red", "warm"), op.Option("Blue", "cold")), "Colour", id="q1")


def test_ask_the_user() -> None:
    asked = {
        "id": "q1",
        "header": "Colour",
        "question": "Which colour?",
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }
    says(op.AskUser((QUESTION,)), codex=("request_user_input", {"questions": [asked]}))
    reads(op.AskUser((QUESTION,)), codex=("functions.request_user_input", {"questions": [asked]}))


def test_ask_the_user_in_few_words() -> None:
    says(
        op.AskUser((op.Question("Which colour?", (op.Option("Red"),)), op.Question("Why?"))),
        codex=(
            "functions.request_user_input_async",
            {"questions": [{"title": "Which colour?", "options": ["Red"]}, {"title": "Why?"}]},
        ),
    )


# ── agents ───────────────────────────────────────────────────────────────────


def test_start_an_agent_under_a_name() -> None:
    says(
        op.SpawnAgent("Count them", name="count", model="gpt-5.5", effort="low", history="3"),
        codex=(
            "collaboration.spawn_agent",
            {
                "task_name": "count",
                "message": "Count them",
                "fork_turns": "3",
                "model": "gpt-5.5",
                "reasoning_effort": "low",
            },
        ),
    )


def test_start_an_agent_without_a_name() -> None:
    says(
        op.SpawnAgent("Count them", history="all"),
        codex=("multi_agent_v1.spawn_agent", {"message": "Count them", "fork_context": True}),
    )
    reads(op.SpawnAgent("Count them", "explorer"), codex=(
        "spawn_agent", {"message": "Count them", "agent_type": "explorer"}
    ))  # fmt: skip
    reads(op.SpawnAgent("Count them"), codex=(
        "multi_agent_v1.spawn_agent", {"items": [{"type": "text", "text": "Count them"}]}
    ))  # fmt: skip


def test_tell_an_agent_something() -> None:
    says(op.MessageAgent("a1", "Stop that", interrupt=True), codex=(
        "multi_agent_v1.send_input", {"target": "a1", "message": "Stop that", "interrupt": True}
    ))  # fmt: skip
    says(op.MessageAgent("look", "By the way", starts_turn=False), codex=(
        "collaboration.send_message", {"target": "look", "message": "By the way"}
    ))  # fmt: skip
    says(op.MessageAgent("look", "One more", starts_turn=True), codex=(
        "collaboration.followup_task", {"target": "look", "message": "One more"}
    ))  # fmt: skip
    reads(op.MessageAgent("a1", "Hello"), codex=("send_input", {"id": "a1", "message": "Hello"}))


def test_wait_for_agents() -> None:
    says(op.WaitForAgent((), 3000), codex=("collaboration.wait_agent", {"timeout_ms": 3000}))
    reads(op.WaitForAgent(("a1",)), codex=("wait_agent", {"targets": ["a1"]}))
    reads(op.WaitForAgent(("a1",)), codex=("wait", {"ids": ["a1"]}))
    (call,) = DIALECTS["codex"].at(family="gpt-4.1").write_call("1", op.WaitForAgent(("a1",), 3000))
    assert call == NativeCall("1", "wait_agent", {"targets": ["a1"], "timeout_ms": 3000}, "multi_agent_v1")


def test_stop_an_agent() -> None:
    says(op.StopAgent("look"), codex=("collaboration.interrupt_agent", {"target": "look"}))
    reads(op.StopAgent("a1"), codex=("multi_agent_v1.close_agent", {"target": "a1"}))
    reads(op.StopAgent("a1"), codex=("close_agent", {"target": "a1"}))
    reads(op.StopAgent("a1"), codex=("close_agent", {"id": "a1"}))


def test_open_an_agent_again() -> None:
    says(op.ResumeAgent("a1"), codex=("multi_agent_v1.resume_agent", {"id": "a1"}))


def test_list_the_agents() -> None:
    says(op.ListAgents(scope="/root"), codex=("collaboration.list_agents", {"path_prefix": "/root"}))


# ── servers, tools, the web ──────────────────────────────────────────────────


def test_list_and_read_resources() -> None:
    says(op.ListMcpResources("toy", cursor="c"), codex=("list_mcp_resources", {"server": "toy", "cursor": "c"}))
    says(op.ListMcpResources("toy", templates=True), codex=("list_mcp_resource_templates", {"server": "toy"}))
    says(op.ReadMcpResource("toy://note", "toy"), codex=("read_mcp_resource", {"server": "toy", "uri": "toy://note"}))


def test_call_a_tool_of_a_server() -> None:
    says(op.CallMcpTool("toy", "echo", {"text": "hi"}), codex=("mcp__toy.echo", {"text": "hi"}))
    reads(op.CallMcpTool("toy", "echo", {"text": "hi"}), codex=("mcp__toy__echo", {"text": "hi"}))
    knowing = DIALECTS["codex"].knowing(servers=("toy",))
    read = knowing.read_call(NativeCall("1", "toy__echo", {"text": "hi"}))
    assert read.operations == (op.CallMcpTool("toy", "echo", {"text": "hi"}),)


def test_look_for_tools() -> None:
    says(op.SearchTools("echo", 5), codex=("tool_search", {"query": "echo", "limit": 5}))


def test_search_the_web() -> None:
    says(op.SearchWeb("counting"), codex=("web_search", {"type": "search", "query": "counting"}))
    reads(op.SearchWeb("counting"), codex=("web_search", {"action": {"type": "search", "query": "counting"}}))
    reads(op.SearchWeb("one"), op.SearchWeb("two"), codex=(
        "web_search", {"action": {"type": "search", "query": "one", "queries": ["one", "two"]}}
    ))  # fmt: skip


def test_open_a_page_and_find_something_in_it() -> None:
    url = "https://example.com/a"
    says(op.FetchPage(url), codex=("web_search", {"type": "open_page", "url": url}))
    says(op.FindInPage(url, "limit"), codex=("web_search", {"type": "find_in_page", "url": url, "pattern": "limit"}))
    reads(op.FindInPage(url, "limit"), codex=(
        "web_search", {"action": {"type": "find_in_page", "url": url, "pattern": "limit"}}
    ))  # fmt: skip


# ── code mode ────────────────────────────────────────────────────────────────


def test_run_a_program() -> None:
    says(op.RunCode("text(1 + 1)", "javascript"), codex=("exec", "text(1 + 1)"))


def test_wait_for_a_program() -> None:
    says(op.ReadOutput("cell:11", 8000), codex=("wait", {"cell_id": "11", "yield_time_ms": 8000}))
    says(op.StopCommand("cell:11"), codex=("wait", {"cell_id": "11", "terminate": True}))
    reads(op.ReadOutput("cell:11"), codex=("functions.wait", {"cell_id": "11"}))


def test_the_calls_in_a_program_are_read_as_if_they_stood_alone() -> None:
    program = """
    const [files, hits] = await Promise.all([
      tools.exec_command({cmd: 'ls', workdir: "src"}),
      tools["mcp__toy__add"]({a: 2, b: 3}),
    ]);
    text(files.output);
    await tools.write_stdin({session_id: files.session_id, chars: "q"});
    text(await tools.clock__curr_time({}));
    """
    reads(
        op.RunCommand("ls", "src"),
        op.CallMcpTool("toy", "add", {"a": 2, "b": 3}),
        op.RunCode(
            'tools.write_stdin({session_id: files.session_id, chars: "q"})',
            "javascript",
            "write_stdin: session_id is computed: `files.session_id`",
        ),
        op.SteerClient("curr_time"),
        codex=("exec", program),
    )


def test_models_of_code_mode_are_spoken_to_in_programs() -> None:
    dialect = DIALECTS["codex"].at(family="gpt-6-sol")
    operations = (
        op.RunCommand("ls"),
        op.StopCommand("7"),
        op.WriteFile("a", "it's `x`\n"),
        op.ViewImage("a.png"),
        op.ReadMcpResource("toy://note", "toy"),
    )
    written = [call for operation in operations for call in dialect.write_call("1", operation)]
    assert [(call.namespace, call.name, call.arguments) for call in written] == [
        ("functions", "exec", 'text(await tools.exec_command({"cmd":"ls"}));'),
        ("functions", "exec", 'text(await tools.write_stdin({"session_id":7,"chars":"\\u0003"}));'),
        (
            "functions",
            "exec",
            r'text(await tools.apply_patch("*** Begin Patch\n*** Add File: a\n+it\'s `x`\n*** End Patch"));'.replace(
                "\\'", "'"
            ),
        ),
        ("functions", "exec", 'text(await tools.view_image({"path":"a.png"}));'),
        ("functions", "exec", 'text(await tools.read_mcp_resource({"server":"toy","uri":"toy://note"}));'),
    ]
    assert tuple(meant for call in written for meant in dialect.read_call(call).operations) == operations


# ── the client's own ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "operation, said",
    [
        (op.SteerClient("get_goal"), ("get_goal", {})),
        (op.SteerClient("create_goal", {"objective": "Finish"}), ("create_goal", {"objective": "Finish"})),
        (op.SteerClient("update_goal", {"status": "complete"}), ("update_goal", {"status": "complete"})),
        (op.SteerClient("sleep", {"duration_ms": 200}), ("clock.sleep", {"duration_ms": 200})),
        (op.SteerClient("curr_time"), ("clock.curr_time", {})),
        (op.SteerClient("send_message_to_user_async", {"message": "hi"}), (
            "send_message_to_user_async", {"message": "hi"}
        )),
        (op.SteerClient("request_permissions", {"permissions": {}}), ("request_permissions", {"permissions": {}})),
    ],
)  # fmt: skip
def test_the_client_is_steered(operation: op.SteerClient, said: tuple[str, dict[str, object]]) -> None:
    says(operation, codex=said)
