"""What a whole file that is written keeps of the one that was there, as each client left it on loopback.

`python -m tests.clients.writes` and `make conformance` do the same with random files and texts.
"""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import ToolError
from dragoman.model import NativeCall
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.clients.patches import patch_call, whole
from tests.clients.writes import write_call
from tests.dialects.test_edit_rules import edit_call

MARK = b"\xef\xbb\xbf"
REFUSED = None
ALL = "claude_code gemini_cli qwen_code opencode pi continue droid"
"""Those that replace a file; Copilot and Cline do not."""
CASES: dict[str, tuple[bytes | None, str, dict[str, bytes | None]]] = {
    "CRLF, and LF is given": (
        b"a\r\nb\r\n",
        "x\ny\n",
        {"claude_code opencode pi continue": b"x\ny\n", "gemini_cli qwen_code droid": b"x\r\ny\r\n"},
    ),
    "some CRLF": (
        b"a\r\nb\nc\n",
        "x\ny\n",
        {"claude_code opencode pi continue droid": b"x\ny\n", "gemini_cli qwen_code": b"x\r\ny\r\n"},
    ),
    "LF, and CRLF is given": (b"a\n", "x\r\ny\r\n", {ALL: b"x\r\ny\r\n"}),
    "CRLF, and both are given": (
        b"a\r\n",
        "x\r\ny\n",
        {"claude_code opencode pi continue droid": b"x\r\ny\n", "gemini_cli qwen_code": b"x\r\ny\r\n"},
    ),
    "CR alone": (
        b"a\rb\r",
        "x\ny\n",
        {"claude_code gemini_cli qwen_code opencode pi continue": b"x\ny\n", "droid": b"x\ry\r"},
    ),
    "no end of the last line": (
        b"a\n",
        "x",
        {"claude_code gemini_cli qwen_code opencode pi continue": b"x", "droid": b"x\n"},
    ),
    "a byte order mark": (
        MARK + b"a\n",
        "x\n",
        {"claude_code qwen_code opencode droid": MARK + b"x\n", "gemini_cli pi continue": b"x\n"},
    ),
    "a byte order mark, and one is given": (
        MARK + b"a\n",
        "\ufeffx\n",
        {"claude_code gemini_cli qwen_code opencode pi continue": MARK + b"x\n", "droid": MARK + MARK + b"x\n"},
    ),
    "a byte order mark, and nothing is given": (
        MARK + b"a\n",
        "",
        {
            "claude_code gemini_cli pi continue": b"",
            "qwen_code opencode": MARK,
            "droid": MARK + b"\n",
        },
    ),
    "two byte order marks are given": (
        b"a\n",
        "\ufeff\ufeffx\n",
        {"claude_code gemini_cli qwen_code pi continue droid": MARK + MARK + b"x\n", "opencode": MARK + b"x\n"},
    ),
    "UTF-16": (
        "\ufeffa\r\n".encode("utf-16-le"),
        "é\n",
        {
            "claude_code": "\ufeffé\n".encode("utf-16-le"),
            "qwen_code droid": "\ufeffé\r\n".encode("utf-16-le"),
            "gemini_cli opencode pi continue": "é\n".encode(),
        },
    ),
    "UTF-16 with the high byte first": (
        "\ufeffa\n".encode("utf-16-be"),
        "é\n",
        {
            "claude_code": REFUSED,
            "qwen_code droid": "\ufeffé\n".encode("utf-16-be"),
            "gemini_cli opencode pi continue": "é\n".encode(),
        },
    ),
    "ISO-8859-1": (
        b"caf\xe9 a\n",
        "é\n",
        {"claude_code": REFUSED, "qwen_code droid": b"\xe9\n", "gemini_cli opencode pi continue": "é\n".encode()},
    ),
    "a character that the encoding lacks": (
        b"caf\xe9 a\n",
        "’\n",
        {"claude_code qwen_code droid": REFUSED, "gemini_cli opencode pi continue": "’\n".encode()},
    ),
    "Cyrillic letters in one byte each": (
        "текст файла\n".encode("koi8-r"),
        "é\n",
        {"claude_code qwen_code droid": REFUSED, "gemini_cli opencode pi continue": "é\n".encode()},
    ),
    "blanks at the end of a line": (
        b"a\n",
        "x \t\ny\u3000",
        {
            "claude_code": b"x\ny",
            "gemini_cli qwen_code opencode pi continue": "x \t\ny\u3000".encode(),
            "droid": "x \t\ny\u3000\n".encode(),
        },
    ),
    "escapes": (
        b"a\n",
        "\\u00e9 \\\\u00e9\n",
        {
            "claude_code": "é \\\\u00e9\n".encode(),
            "gemini_cli qwen_code opencode pi continue droid": b"\\u00e9 \\\\u00e9\n",
        },
    ),
    "no file": (
        None,
        "\ufeff\ufeffx\r\ny ",
        {
            "claude_code": MARK + MARK + b"x\r\ny",
            "gemini_cli qwen_code pi continue": MARK + MARK + b"x\r\ny ",
            "opencode": MARK + b"x\r\ny ",
            "droid": MARK + MARK + b"x\r\ny \r\n",
        },
    ),
}


def left(client: str, native: NativeCall, before: bytes | None) -> bytes | None:
    """The file after a call, or `REFUSED`."""
    dialect = DIALECTS[client]
    workspace = MemoryWorkspace({} if before is None else {"f.txt": before})
    if before is not None:
        workspace.read("f.txt")
    try:
        workspace.apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))
    except ToolError:
        assert ("f.txt" in workspace.paths()) == (before is not None)
        return REFUSED
    return workspace.read("f.txt")


@pytest.mark.parametrize("name", CASES)
def test_a_whole_file_is_what_the_client_makes_of_it(name: str) -> None:
    before, content, expected = CASES[name]
    wanted = {client: after for clients, after in expected.items() for client in clients.split()}
    assert sorted(wanted) == sorted(ALL.split())
    assert {client: left(client, write_call(client, "f.txt", content), before) for client in wanted} == wanted


def test_markdown_keeps_blanks_at_the_ends_of_lines_in_claude_code() -> None:
    dialect = DIALECTS["claude_code"]
    for name, after in {"a.md": b"x  \n", "a.MDX": b"x  \n", "a.markdown": b"x\n"}.items():
        native, workspace = write_call("claude_code", name, "x  \n"), MemoryWorkspace()
        workspace.apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))
        assert workspace.read(name) == after


@pytest.mark.parametrize(
    "before, after", [(None, b"x  \n"), (b"", b"x\n"), (b" \r\n", b"x\r\n"), (MARK, MARK + b"x\n")]
)
def test_an_edit_of_nothing_writes_a_whole_file_in_claude_code(before: bytes | None, after: bytes) -> None:
    assert left("claude_code", edit_call("claude_code", "f.txt", "", "x  \n"), before) == after


def test_an_edit_of_nothing_by_blanks_is_refused_in_claude_code() -> None:
    assert left("claude_code", edit_call("claude_code", "f.txt", "", " \t"), b"\r") is REFUSED
    assert left("claude_code", edit_call("claude_code", "f.txt", "", " \t"), None) == b" \t"


def test_qwen_code_writes_a_second_mark_in_utf_16() -> None:
    for codec, marks in {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2}.items():
        written = left("qwen_code", write_call("qwen_code", "f.txt", "\ufeffx"), "\ufeffa".encode(codec))
        assert written == ("\ufeff" * marks + "x").encode(codec)


def test_opencode_writes_two_marks_as_one_and_three_as_two() -> None:
    for before, given in ((MARK + b"a", 3), (b"a", 3), (None, 3), (MARK * 3 + b"a", 3)):
        call = write_call("opencode", "f.txt", "\ufeff" * given + "x")
        assert left("opencode", call, before) == MARK * 2 + b"x"
    assert left("opencode", edit_call("opencode", "f.txt", "a", "\ufeffb"), MARK * 4 + b"a\n") == MARK * 3 + b"b\n"


@pytest.mark.parametrize(
    "before, content, shown",
    [
        (None, "a\r\nb\r\n", "a\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
        (b"a\r\nb\n", "a\nb\n", "a\nb\n"),
        (
            "".join(f"{n}\n" for n in range(30)).encode(),
            "".join(f"{n}\n" for n in range(28)),
            "...\n23\n24\n25\n26\n27\n",
        ),
    ],
)
def test_gemini_cli_shows_the_lines_around_what_was_written(before: bytes | None, content: str, shown: str) -> None:
    dialect, native = DIALECTS["gemini_cli"], write_call("gemini_cli", "f.txt", content)
    call, workspace = dialect.read_call(native), MemoryWorkspace({} if before is None else {"f.txt": before})
    result = dialect.write_result(call, [workspace.apply(call.operations, rules=dialect.edit_rules(native))])
    assert str(result.content).endswith(f"f.txt. Here is the updated code:\n{shown}")


def test_a_text_that_fills_an_empty_file_keeps_its_line_ends_in_copilot() -> None:
    assert left("copilot", edit_call("copilot", "f.txt", "", "x\r\ny"), b"") == b"x\r\ny"


DAMAGING = "gemini_cli opencode copilot cline pi continue"
"""They make U+FFFD of all that is not UTF-8."""


@pytest.mark.parametrize("client", [*DAMAGING.split(), "claude_code", "qwen_code", "droid"])
@pytest.mark.parametrize("before", [b"caf\xe9 end\n", "текст end\n".encode("koi8-r"), "日本 end\n".encode("shift_jis")])
def test_an_edit_damages_no_file_in_another_encoding(client: str, before: bytes) -> None:
    expected = before.replace(b"end", b"fin") if client in ("qwen_code", "droid") else REFUSED
    assert left(client, edit_call(client, "f.txt", "end", "fin"), before) == expected
    assert left(client, edit_call(client, "f.txt", "end", "č"), before) is REFUSED


@pytest.mark.parametrize(
    "client, before, expected",
    [
        ("opencode", MARK + b"a\r\n", MARK + b"x\ny\n"),
        ("cline", None, MARK + MARK + b"x\ny"),
        ("copilot", None, MARK + MARK + b"x\ny\n"),
        ("droid", MARK + b"a\r\n", MARK * 3 + b"x\r\ny"),
        ("codex", MARK + b"a\r\n", MARK + MARK + b"x\ny\n"),
    ],
)
def test_a_file_that_a_patch_adds_is_that_of_the_client(client: str, before: bytes | None, expected: bytes) -> None:
    patch = whole([["*** Add File: f.txt", "+\ufeff\ufeffx", "+y"]])
    native = NativeCall("1", "apply_patch", patch) if client == "codex" else patch_call(client, "1", patch)
    assert left(client, native, before) == expected


def test_a_cr_ends_a_line_of_copilots_patches() -> None:
    dialect = DIALECTS["copilot"]
    call = dialect.read_call(patch_call("copilot", "1", whole([["*** Add File: f.txt", "+a\rb"]])))
    assert call.failure is not None


def test_a_file_is_said_to_be_created_where_an_empty_one_was() -> None:
    for client, said in {"claude_code": "File created", "continue": "Successfully created file"}.items():
        dialect, native = DIALECTS[client], write_call(client, "f.txt", "x\n")
        workspace = MemoryWorkspace({"f.txt": b""})
        workspace.read("f.txt")
        call = dialect.read_call(native)
        content = dialect.write_result(
            call, [workspace.apply(call.operations, rules=dialect.edit_rules(native))]
        ).content
        assert str(content).startswith(said)


@pytest.mark.parametrize("client", ALL.split())
def test_a_file_that_is_written_as_it_was_is_told_like_any_other(client: str) -> None:
    dialect, told = DIALECTS[client], []
    for content in ("x\n", "y\n"):
        workspace = MemoryWorkspace({"f.txt": b"x\n"})
        workspace.read("f.txt")
        native = write_call(client, "f.txt", content)
        call = dialect.read_call(native)
        result = dialect.write_result(call, [workspace.apply(call.operations, rules=dialect.edit_rules(native))])
        told.append(str(result.content).partition("\n")[0])
    assert told[0] == told[1]
