"""Claude Code's hooks."""

from __future__ import annotations

from .client import HookClient


class ClaudeCode(HookClient):
    name, title, dialect, asks = "claude_code", "Claude Code", "claude_code", True
    files = {
        "Read": ("read_file", {"file_path": "path"}),
        "Write": ("write_file", {"file_path": "path", "content": "content"}),
        "Edit": ("edit_file", {"file_path": "path", "old_string": "old", "new_string": "new"}),
    }
    record_lines = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop")


CLIENT = ClaudeCode()
