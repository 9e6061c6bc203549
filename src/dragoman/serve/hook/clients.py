"""The clients whose hooks are known, and which of them a payload is from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .client import HookClient

CLIENTS: Final = {
    "claude_code": "claude_code:CLIENT",
    "codex": "codex:CLIENT",
    "gemini_cli": "gemini_cli:CLIENT",
    "qwen_code": "qwen_code:CLIENT",
    "copilot": "copilot:CLIENT",
    "droid": "droid:CLIENT",
    "opencode": "plugin_files:OPENCODE",
    "pi": "plugin_files:PI",
    "cline": "cline:CLIENT",
    "cursor": "cursor:CLIENT",
    "goose": "goose:CLIENT",
}
"""Name → module and class of a client. Each is imported when it is needed."""


def client_named(name: str) -> HookClient:
    """The client of this name."""
    module, _, attribute = CLIENTS[name].partition(":")
    client: HookClient = getattr(import_module(f".{module}", __package__), attribute)
    return client


def client_of(payload: Mapping[str, Any]) -> str | None:
    """The client that a payload is from, by its fields; `None` when they do not tell.

    Seen with Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, Copilot CLI 1.0.102, droid
    0.215.0, Cline CLI 3.0.65, Goose 1.34.0 and 1.52.0; Cursor from its documentation.
    """
    has = payload.__contains__
    event, mode = payload.get("hook_event_name"), payload.get("permission_mode")
    if has("plugin"):
        return payload["plugin"] if payload["plugin"] in ("opencode", "pi") else None
    if not isinstance(event, str):
        if has("hookName") and (has("tool_call") or has("preToolUse") or has("taskId")):
            return "cline"
        if has("toolName") or has("sessionId"):
            return "copilot"
        return "goose" if has("event") else None
    if event.startswith(("Before", "After")):
        return "gemini_cli"
    if has("conversation_id") and event[:1].islower():
        return "cursor"
    if has("turn_id") and has("model"):
        return "codex"
    if has("tool_call_id") and has("timestamp"):
        return "qwen_code"
    if has("timestamp") and not has("transcript_path"):
        return "copilot"
    if has("prompt_id") or has("mcp_server"):
        return "claude_code"
    return "droid" if mode == "off" or (isinstance(mode, str) and mode.startswith("auto-")) else None
