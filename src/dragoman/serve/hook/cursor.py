"""Cursor's hooks, from its documentation: several events before a tool, each with fields of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.model.calls import NativeCall, NativeResult

from .client import Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


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
        if event in ("beforeMCPExecution", "afterMCPExecution") and not name.startswith("mcp__"):
            name = f"mcp__{text_of(payload, 'server_name') or 'unknown'}__{name}"
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


CLIENT = Cursor()
