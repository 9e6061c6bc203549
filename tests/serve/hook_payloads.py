"""The payloads with which clients ask their hooks, with the fields they were seen to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

EVENTS = {
    **dict.fromkeys(("claude_code", "codex", "qwen_code", "droid", "cline", "goose"), "PreToolUse"),
    "gemini_cli": "BeforeTool",
    "copilot": "preToolUse",
    "cursor": "preToolUse",
    "opencode": "tool",
    "pi": "tool",
}
"""The event of each client in the line that is installed."""


def claude(folder: Path, tool: str, **given: Any) -> dict[str, Any]:
    return {
        "session_id": "s",
        "transcript_path": "t",
        "cwd": str(folder),
        "prompt_id": "p",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_use_id": "toolu_1",
    }


def payload_of(client: str, folder: Path, command: str) -> dict[str, Any]:
    """The payload with which a client asks about a command line, with the fields it was seen to have."""
    usual = claude(folder, "Bash", command=command)
    del usual["prompt_id"]
    where = str(folder)
    made: dict[str, dict[str, Any]] = {
        "claude_code": claude(folder, "Bash", command=command, description="x"),
        "codex": {**usual, "turn_id": "1", "model": "gpt-5"},
        "gemini_cli": {
            "session_id": "s",
            "transcript_path": "t",
            "cwd": where,
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-16T00:00:00Z",
            "tool_name": "run_shell_command",
            "tool_input": {"command": command},
        },
        "qwen_code": {**usual, "timestamp": "2026", "tool_call_id": "1", "tool_name": "run_shell_command"},
        "copilot": {
            "sessionId": "s",
            "timestamp": 1,
            "cwd": where,
            "toolName": "bash",
            "toolArgs": {"command": command, "description": "x"},
        },
        "droid": {
            **usual,
            "permission_mode": "auto-low",
            "tool_name": "Execute",
            "tool_input": {"command": command, "summary": "x", "riskLevel": "low", "riskLevelReason": "x"},
        },
        "opencode": {"plugin": "opencode", "tool": "bash", "arguments": {"command": command}, "cwd": where},
        "pi": {"plugin": "pi", "tool": "bash", "arguments": {"command": command}, "cwd": where},
        "cline": {
            "hookName": "tool_call",
            "taskId": "1",
            "workspaceRoots": [where],
            "agent_id": "a",
            "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": [command]}},
        },
        "cursor": {
            "conversation_id": "c",
            "hook_event_name": "beforeShellExecution",
            "workspace_roots": [where],
            "command": command,
            "cwd": where,
        },
        "goose": {
            "event": "PreToolUse",
            "session_id": "s",
            "matcher_context": "shell",
            "tool_name": "shell",
            "tool_input": {"command": command},
            "working_dir": where,
        },
    }
    return made[client]
