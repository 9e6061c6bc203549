"""Cursor's hooks, from its documentation: several events before a tool, each with fields of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.model import operations as op
from dragoman.model.calls import NativeCall, NativeResult

from .client import Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json
from .plain_reading import plain_operations


class Cursor(HookClient):
    name, title, dialect, asks = "cursor", "Cursor", "claude_code", True
    stages = {
        "preToolUse": "before",
        "beforeShellExecution": "before",
        "beforeMCPExecution": "before",
        "beforeReadFile": "before",
        "postToolUse": "after",
        "postToolUseFailure": "after",
        "afterShellExecution": "after",
        "afterMCPExecution": "after",
        "afterFileEdit": "after",
        "beforeSubmitPrompt": "prompt",
        "stop": "stop",
        "subagentStop": "stop",
        **dict.fromkeys(("sessionStart", "sessionEnd", "subagentStart", "preCompact"), "other"),
        **dict.fromkeys(("afterAgentResponse", "afterAgentThought"), "other"),
    }
    lines = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
    record_lines = ("postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "stop")

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """The folder is the first of `workspace_roots` where the event has no `cwd`."""
        asked = super().read(payload, event)
        roots = payload.get("workspace_roots")
        root = next((one for one in roots if isinstance(one, str)), None) if isinstance(roots, list) else None
        return msgspec.structs.replace(
            asked,
            cwd=asked.cwd or root,
            session=text_of(payload, "conversation_id"),
            server=text_of(payload, "server_name"),
            dialect="cursor" if asked.calls and not _is_claudes(asked.calls[0]) else None,
        )

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The call of an event, in the words of Claude Code, whose tools Cursor's hooks name."""
        event = payload.get("hook_event_name")
        if event in ("beforeShellExecution", "afterShellExecution") and isinstance(
            command := payload.get("command"), str
        ):
            return NativeCall("", "Bash", {"command": command})
        if event == "beforeReadFile" and isinstance(path := payload.get("file_path"), str):
            return NativeCall("", "Read", {"file_path": path})
        if event == "afterFileEdit":
            return NativeCall("", "MultiEdit", {name: payload.get(name) for name in ("file_path", "edits")})
        name, given = payload.get("tool_name"), payload.get("tool_input")
        if isinstance(given, str):
            try:
                given = msgspec.json.decode(given)
            except msgspec.DecodeError as error:
                raise UnknownPayload("its tool_input is no JSON") from error
        if not isinstance(name, str) or not isinstance(given, dict):
            raise UnknownPayload("it has no tool_name, or no tool_input")
        served = event in ("beforeMCPExecution", "afterMCPExecution") or name.startswith("MCP:")
        if served and not name.startswith("mcp__"):
            name = f"mcp__{text_of(payload, 'server_name') or 'unknown'}__{name.removeprefix('MCP:')}"
        return NativeCall("", "Bash" if name == "Shell" else name, given)

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """A text under a name for each event; none of them was run."""
        error = text_of(payload, "error_message")
        given = text_of(payload, "tool_output", "output", "result_json") or error
        return None if given is None else NativeResult("", given, True if error else None)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """`permission`, with one text for the user and one for the model."""
        if decision.verdict == "pass" or stage != "before":
            return Answer("{}")
        said = {"permission": decision.verdict, "user_message": decision.reason, "agent_message": decision.reason}
        return Answer(to_json(said))


def _is_claudes(native: NativeCall) -> bool:
    """Whether a call is in the words of Claude Code, as some examples of the documentation (November 2026) are; its
    tools of today have parameters of their own (`Read{path}`, `StrReplace`, `Delete`)."""
    if native.name.startswith("mcp__"):
        return True
    meant = plain_operations("claude_code", native.name, native.arguments)
    if meant is None:
        from dragoman.registry import DIALECTS

        call = DIALECTS["claude_code"].read_call(native)
        meant = () if call.failure is not None else call.operations
    return bool(meant) and not any(isinstance(one, op.Unrecognised) for one in meant)


CLIENT = Cursor()
