"""What OpenAI's own tools say, and what is read of the vendors on its wire."""

from __future__ import annotations

from dragoman.dialects import DIALECTS
from dragoman.model import ExecutedBy, NativeCall, operations as op
from tests.sayings import reads, says

URL = "https://example.com/a"


# ── run there ────────────────────────────────────────────────────────────────


def test_search_the_web() -> None:
    says(op.SearchWeb("tea"), openai=("web_search", {"type": "search", "query": "tea"}))
    reads(op.SearchWeb("tea"), openai=("web_search_preview", {"type": "search", "query": "tea"}))
    reads(
        op.SearchWeb("tea"),
        op.SearchWeb("coffee"),
        openai=("web_search", {"type": "search", "query": "tea", "queries": ["tea", "coffee"]}),
    )


def test_a_search_that_does_not_say_for_what() -> None:
    reads(op.SearchWeb(""), openai=("web_search", {}))
    reads(op.SearchWeb(""), openai=("web_search", {"type": "search"}))
    reads(op.FetchPage(""), openai=("web_search", {"type": "open_page", "url": None}))


def test_open_a_page() -> None:
    says(op.FetchPage(URL), openai=("web_search", {"type": "open_page", "url": URL}))


def test_find_a_text_in_a_page() -> None:
    says(
        op.FindInPage(URL, "limit"),
        openai=("web_search", {"type": "find_in_page", "url": URL, "pattern": "limit"}),
    )


def test_search_documents() -> None:
    says(op.SearchDocuments("tea"), openai=("file_search", {"queries": ["tea"]}))
    reads(op.SearchDocuments("a"), op.SearchDocuments("b"), openai=("file_search", {"queries": ["a", "b"]}))


def test_run_a_program() -> None:
    says(op.RunCode("print(1)", "python"), openai=("code_interpreter", {"code": "print(1)"}))
    says(op.RunCode("text(1)", "javascript"), openai=("program", {"code": "text(1)"}))
    reads(op.RunCode("1", "python"), openai=("code_interpreter", {"code": "1", "container_id": "cntr_1"}))


def test_make_a_picture() -> None:
    says(
        op.GenerateImage("an otter", "1024x1024", "png"),
        openai=("image_generation", {"prompt": "an otter", "size": "1024x1024", "output_format": "png"}),
    )
    reads(op.GenerateImage(), openai=("image_generation", {}))
    reads(op.GenerateImage("an otter"), openai=("image_generation", {"revised_prompt": "an otter", "quality": "low"}))


def test_look_for_tools() -> None:
    says(op.SearchTools("weather", 3), openai=("tool_search", {"query": "weather", "limit": 3}))
    reads(op.SearchTools("a"), op.SearchTools("b"), openai=("tool_search", {"queries": ["a", "b"]}))
    reads(op.SearchTools("get_weather"), openai=("tool_search", {"paths": ["get_weather"]}))
    reads(op.SearchTools("find the weather"), openai=("tool_search", {"goal": "find the weather"}))
    reads(op.SearchTools(""), openai=("tool_search", {}))


def test_a_tool_of_a_server_stands_in_its_item() -> None:
    operation = op.CallMcpTool("toy", "add", {"a": 1})
    (written,) = DIALECTS["openai"].write_call("1", operation)
    item = {"type": "mcp_call", "server_label": "toy"}
    assert written == NativeCall("1", "add", {"a": 1}, None, ExecutedBy.PROVIDER, item)
    asked = NativeCall("1", "add", {"a": 1}, "toy", ExecutedBy.PROVIDER, {**item, "type": "mcp_approval_request"})
    for native in (written, asked):
        assert DIALECTS["openai"].read_call(native).operations == (operation,)


def test_a_function_in_a_namespace_is_nobodys_server() -> None:
    read = DIALECTS["openai"].read_call(NativeCall("1", "orders", {"a": 1}, namespace="crm"))
    assert read.operations == (op.Unrecognised("crm.orders", {"a": 1}),)


# ── run here ─────────────────────────────────────────────────────────────────


def test_run_commands() -> None:
    says(op.RunCommand("ls"), openai=("shell", {"commands": ["ls"]}))
    says(
        op.RunCommand("ls", timeout_ms=5000, output_limit=100),
        openai=("shell", {"commands": ["ls"], "timeout_ms": 5000, "max_output_length": 100}),
    )
    reads(
        op.RunCommand("cd a", output_limit=9),
        op.RunCommand("ls", output_limit=9),
        openai=("shell", {"commands": ["cd a", "ls"], "timeout_ms": None, "max_output_length": 9}),
    )


def test_run_a_program_with_its_arguments() -> None:
    reads(
        op.RunCommand("ls -l", cwd="src", timeout_ms=5000),
        openai=(
            "local_shell",
            {
                "type": "exec",
                "command": ["bash", "-lc", "ls -l"],
                "working_directory": "src",
                "timeout_ms": 5000,
                "env": {},
                "user": None,
            },
        ),
    )
    reads(op.RunCommand("ls 'a b'"), openai=("local_shell", {"type": "exec", "command": ["ls", "a b"]}))


def test_create_a_file() -> None:
    says(
        op.WriteFile("a.py", "x = 1\n\ny = 2\n"),
        openai=("apply_patch", {"type": "create_file", "path": "a.py", "diff": "+x = 1\n+\n+y = 2\n"}),
    )
    says(op.WriteFile("a.py", ""), openai=("apply_patch", {"type": "create_file", "path": "a.py", "diff": ""}))
    reads(
        op.WriteFile("a.py", "x = 1\n"),
        openai=("apply_patch", {"type": "create_file", "path": "a.py", "diff": "+x = 1"}),
    )


def test_update_a_file() -> None:
    edit = op.Edit("    old\n", "    new\n", whole_lines=True, anchors=("def f():",))
    says(
        op.EditFile("a.py", (edit,)),
        openai=(
            "apply_patch",
            {"type": "update_file", "path": "a.py", "diff": "@@ def f():\n-    old\n+    new\n"},
        ),
    )


def test_delete_a_file() -> None:
    says(op.DeleteFile("a.py"), openai=("apply_patch", {"type": "delete_file", "path": "a.py"}))


def test_act_on_a_screen() -> None:
    says(
        op.UseComputer("click", {"x": 1, "y": 2, "button": "left"}),
        openai=("computer", {"actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}]}),
    )
    reads(
        op.UseComputer("click", {"x": 1, "y": 2, "button": "left"}),
        openai=("computer", {"type": "click", "x": 1, "y": 2, "button": "left"}),
    )
    reads(
        op.UseComputer("type", {"text": "tea"}),
        op.UseComputer("screenshot"),
        openai=("computer_use_preview", {"actions": [{"type": "type", "text": "tea"}, {"type": "screenshot"}]}),
    )


# ── other vendors ────────────────────────────────────────────────────────────


def test_what_groq_ran_is_read_by_its_bare_names_too() -> None:
    reads(op.SearchWeb("tea"), openai=("groq.search", {"query": "tea"}))
    reads(op.SearchWeb("tea", limit=5), openai=("groq.browser_search", {"query": "tea", "topn": 5}))
    reads(op.FetchPage(URL), openai=("groq.visit", {"url": URL}))
    reads(op.RunCode("1", "python"), openai=("groq.python", {"code": "1"}))
    hosted = NativeCall("1", "search", {"query": "tea"}, executed_by=ExecutedBy.PROVIDER)
    assert DIALECTS["openai"].read_call(hosted).operations == (op.SearchWeb("tea"),)


def test_a_function_of_the_name_of_a_hosted_tool_of_groqs_is_a_function() -> None:
    read = DIALECTS["openai"].read_call(NativeCall("1", "search", {"query": "tea"}))
    assert read.operations == (op.Unrecognised("search", {"query": "tea"}),)


def test_what_xai_ran() -> None:
    reads(op.SearchWeb("tea", limit=5), openai=("web_search", {"query": "tea", "num_results": 5}))
    reads(
        op.SearchWeb("tea", allowed_domains=("x.com",), limit=20),
        openai=("x_search", {"query": "tea", "limit": 20, "from_date": "2025-10-01", "min_score_threshold": 0.2}),
    )
    reads(op.SteerClient("x_search", {"post_id": "7"}), openai=("x_search", {"post_id": "7"}))
