"""Claude Code's hooks."""

from __future__ import annotations

from .client import HookClient


class ClaudeCode(HookClient):
    name, title, dialect, asks = "claude_code", "Claude Code", "claude_code", True
    record_lines = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop")


CLIENT = ClaudeCode()
