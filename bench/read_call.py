"""Reading native calls into typed operations, beside readers written by hand for the same tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.benches import Bench, Target
from bench.stopwatch import per_call

# For each vocabulary a mix as a session has it: reading, changing, running, and one with many parameters.
SAID: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "gemini_cli": (
        ("write_file", {"file_path": "src/a.py", "content": "x = 1\n"}),
        ("read_file", {"file_path": "src/a.py", "start_line": 5, "end_line": 9}),
        ("run_shell_command", {"command": "ls -l", "description": "List files"}),
        ("glob", {"pattern": "**/*.py", "dir_path": "src"}),
    ),
    "claude_code": (
        ("Write", {"file_path": "src/a.py", "content": "x = 1\n"}),
        ("Read", {"file_path": "src/a.py", "offset": 5, "limit": 5}),
        ("Bash", {"command": "ls -l", "description": "List files", "timeout": 5000}),
        ("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y", "replace_all": False}),
    ),
    "codex": (
        ("exec_command", {"cmd": "ls -l", "workdir": "src", "yield_time_ms": 1000}),
        ("view_image", {"path": "logo.png"}),
    ),
}


def text(arguments: dict[str, Any], name: str) -> str:
    value = arguments[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def optional(arguments: dict[str, Any], name: str, kind: type) -> Any:
    value = arguments.get(name)
    if value is not None and not isinstance(value, kind):
        raise TypeError(name)
    return value


def readers() -> dict[str, tuple[Callable[[dict[str, Any]], Any], frozenset[str]]]:
    """One function per tool that checks the types it needs, and the names it knows; nothing is shared between them."""
    from dragoman.model import operations as op

    def written(a: dict[str, Any]) -> op.Operation:
        return op.WriteFile(text(a, "file_path"), text(a, "content"))

    def gemini_read(a: dict[str, Any]) -> op.Operation:
        return op.ReadFile(text(a, "file_path"), optional(a, "start_line", int), optional(a, "end_line", int))

    def gemini_run(a: dict[str, Any]) -> op.Operation:
        return op.RunCommand(
            text(a, "command"),
            cwd=optional(a, "dir_path", str),
            purpose=optional(a, "description", str),
            background=optional(a, "is_background", bool) or False,
            wait_ms=optional(a, "delay_ms", int),
        )

    def gemini_glob(a: dict[str, Any]) -> op.Operation:
        return op.FindFiles(
            text(a, "pattern"),
            optional(a, "dir_path", str) or ".",
            optional(a, "case_sensitive", bool),
            optional(a, "respect_git_ignore", bool),
        )

    def claude_read(a: dict[str, Any]) -> op.Operation:
        first, count = optional(a, "offset", int), optional(a, "limit", int)
        last = None if count is None else (first or 1) + count - 1
        return op.ReadFile(text(a, "file_path"), first, last, optional(a, "pages", str))

    def claude_run(a: dict[str, Any]) -> op.Operation:
        return op.RunCommand(
            text(a, "command"),
            timeout_ms=optional(a, "timeout", int),
            purpose=optional(a, "description", str),
            background=optional(a, "run_in_background", bool) or False,
            unsandboxed=optional(a, "dangerouslyDisableSandbox", bool) or False,
        )

    def claude_edit(a: dict[str, Any]) -> op.Operation:
        everywhere = optional(a, "replace_all", bool) or False
        edit = op.Edit(text(a, "old_string"), text(a, "new_string"), everywhere)
        if edit.old == "":
            return op.WriteFile(text(a, "file_path"), edit.new, overwrite=False)
        return op.EditFile(text(a, "file_path"), (edit,))

    def codex_run(a: dict[str, Any]) -> op.Operation:
        tokens = optional(a, "max_output_tokens", int)
        return op.RunCommand(
            text(a, "cmd"),
            cwd=optional(a, "workdir", str),
            purpose=optional(a, "justification", str),
            wait_ms=optional(a, "yield_time_ms", int),
            shell=optional(a, "shell", str),
            login=optional(a, "login", bool),
            terminal=optional(a, "tty", bool) or False,
            output_limit=None if tokens is None else tokens * 4,
            unsandboxed=optional(a, "sandbox_permissions", str) == "require_escalated",
        )

    def codex_view(a: dict[str, Any]) -> op.Operation:
        return op.ViewImage(text(a, "path"), optional(a, "detail", str))

    def known(*names: str) -> frozenset[str]:
        return frozenset(names)

    run = ("command", "description", "dir_path", "is_background", "delay_ms")
    bash = ("command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox")
    execute = ("cmd", "workdir", "justification", "yield_time_ms", "shell", "login", "tty", "max_output_tokens")
    return {
        "write_file": (written, known("file_path", "content")),
        "read_file": (gemini_read, known("file_path", "start_line", "end_line")),
        "run_shell_command": (gemini_run, known(*run)),
        "glob": (gemini_glob, known("pattern", "dir_path", "case_sensitive", "respect_git_ignore")),
        "Write": (written, known("file_path", "content")),
        "Read": (claude_read, known("file_path", "offset", "limit", "pages")),
        "Bash": (claude_run, known(*bash)),
        "Edit": (claude_edit, known("file_path", "old_string", "new_string", "replace_all")),
        "exec_command": (codex_run, known(*execute, "sandbox_permissions")),
        "view_image": (codex_view, known("path", "detail")),
    }


def by_hand() -> Callable[[Any], Any]:
    """An honest reader: by the tool's name, types checked, unknown keys kept."""
    from dragoman.model import Call

    table = readers()

    def read(native: Any) -> Call:
        reader, known = table[native.name]
        unknown = {name: value for name, value in native.arguments.items() if name not in known}
        return Call(native.id, (reader(native.arguments),), native, unknown)

    return read


def by_dialect(name: str) -> Callable[[Any], Any]:
    from dragoman.dialects import DIALECTS

    read: Callable[[Any], Any] = DIALECTS[name].read_call
    return read


def measure(column: str) -> list[float]:
    from dragoman.model import NativeCall

    name, _, hand = column.partition(" ")
    natives = [NativeCall("1", tool, arguments) for tool, arguments in SAID[name]]
    read, other = by_dialect(name), by_hand()
    for native in natives:
        if read(native).operations != other(native).operations:
            raise SystemExit(f"the two readers of {native.name} do not agree: {read(native)} {other(native)}")
    if hand:
        read = other

    def several(times: int) -> None:
        for _ in range(times):
            for native in natives:
                read(native)

    return per_call(several)


BENCH = Bench(
    question="read native calls as typed operations, beside a reader written by hand",
    environments={column: "base" for name in SAID for column in (name, f"{name} by_hand")},
    floor="gemini_cli by_hand",
    targets=tuple(Target(name, f"{name} by_hand", 2.5) for name in SAID),
    measure=measure,
)
