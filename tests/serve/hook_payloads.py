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
            **{name: value for name, value in usual.items() if name != "tool_use_id"},
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


def call_of(client: str, folder: Path, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """The payload with which a client asks about a call of one of its tools."""
    asked = payload_of(client, folder, "")
    if client == "cursor":
        asked |= {"hook_event_name": "preToolUse"}
    inner = {"id": "1", "name": tool, "input": given}
    for name, value in (("tool_name", tool), ("toolName", tool), ("tool", tool), ("tool_call", inner)):
        if name in asked or (client == "cursor" and name == "tool_name"):
            asked[name] = value
    for name in ("tool_input", "toolArgs", "arguments"):
        if name in asked or (client == "cursor" and name == "tool_input"):
            asked[name] = given
    return asked


def with_id(payload: dict[str, Any], id: str) -> dict[str, Any]:
    """A payload whose call has this id, where the client gives one."""
    named = {name: id for name in ("tool_use_id", "tool_call_id") if name in payload}
    inner = {name: {**payload[name], "id": id} for name in ("tool_call", "tool_result") if name in payload}
    return {**payload, **named, **inner}


def after_payload(client: str, folder: Path, command: str, result: str) -> dict[str, Any]:
    """The payload with which a client tells that a command line ran. Cline's is as 3.0.65 sent it; Cursor and Goose
    were not run, and what their results are called is not known for certain."""
    asked = payload_of(client, folder, command)
    answered = {"stdout": result, "stderr": "", "interrupted": False, "isImage": False}
    changes: dict[str, dict[str, Any]] = {
        "claude_code": {"hook_event_name": "PostToolUse", "tool_response": answered, "duration_ms": 3},
        "codex": {"hook_event_name": "PostToolUse", "tool_response": result},
        "gemini_cli": {"hook_event_name": "AfterTool", "tool_response": {"llmContent": result, "returnDisplay": ""}},
        "qwen_code": {"hook_event_name": "PostToolUse", "tool_response": result},
        "copilot": {"toolResult": {"resultType": "success", "textResultForLlm": result}},
        "droid": {"hook_event_name": "PostToolUse", "tool_response": result},
        "opencode": {"event": "returned", "result": result},
        "pi": {"event": "returned", "result": result},
        "cline": {"hookName": "tool_result"},
        "cursor": {"hook_event_name": "afterShellExecution", "output": result},
        "goose": {"event": "PostToolUse", "tool_response": result},
    }
    if client == "cline":
        told = [{"query": command, "result": result, "success": True}]
        asked["tool_result"] = {**asked.pop("tool_call"), "output": told, "durationMs": 3}
    return {**asked, **changes[client]}


AFTER = {
    **dict.fromkeys(("claude_code", "codex", "qwen_code", "droid", "cline", "goose"), "PostToolUse"),
    "gemini_cli": "AfterTool",
    "copilot": "postToolUse",
    "cursor": "postToolUse",
    "opencode": None,
    "pi": None,
}
"""The event after a tool in the line that is installed; plugin files say it themselves."""


def spoken_payloads(client: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The payloads at the prompt and at the stop, by the event of the installed line."""
    claude_like = {"session_id": "s", "transcript_path": "t", "cwd": str(folder), "permission_mode": "default"}
    both = {
        "UserPromptSubmit": {**claude_like, "hook_event_name": "UserPromptSubmit", "prompt": "Do it."},
        "Stop": {
            **claude_like,
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "Done.",
        },
    }
    if client in ("claude_code", "qwen_code", "droid", "goose"):
        return both
    if client == "codex":
        return {event: {**one, "turn_id": "1", "model": "gpt-5"} for event, one in both.items()}
    if client == "gemini_cli":
        return {
            "BeforeAgent": {**claude_like, "hook_event_name": "BeforeAgent", "prompt": "Do it."},
            "AfterAgent": {
                **claude_like,
                "hook_event_name": "AfterAgent",
                "prompt": "Do it.",
                "prompt_response": "Done.",
                "stop_hook_active": False,
            },
        }
    if client == "copilot":
        head = {"sessionId": "s", "timestamp": 1, "cwd": str(folder)}
        return {"userPromptSubmitted": {**head, "prompt": "Do it."}, "agentStop": head}
    if client == "cursor":
        head = {"conversation_id": "c", "workspace_roots": [str(folder)]}
        return {
            "beforeSubmitPrompt": {**head, "hook_event_name": "beforeSubmitPrompt", "prompt": "Do it."},
            "stop": {**head, "hook_event_name": "stop", "status": "completed"},
        }
    if client == "cline":
        head = {"taskId": "1", "workspaceRoots": [str(folder)]}
        return {
            "UserPromptSubmit": {**head, "hookName": "UserPromptSubmit", "userPromptSubmit": {"prompt": "Do it."}},
            "TaskComplete": {**head, "hookName": "agent_end", "turn": {"outputText": "Done.", "status": "completed"}},
        }
    return {"prompt": {"plugin": "pi", "event": "prompt", "prompt": "Do it."}} if client == "pi" else {}
