"""Cursor's hooks, from its documentation: several events before a tool, each with fields of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.model.calls import NativeCall

from .client import Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


class Cursor(HookClient):
    name, title, dialect, asks = "cursor", "Cursor", "claude_code", True
    stages = {
        "preToolUse": "before",
        "beforeShellExecution": "before",
        "beforeMCPExecution": "before",
        "beforeReadFile": "before",
        "postToolUse": "after",
        "afterShellExecution": "after",
        "afterMCPExecution": "after",
        "afterFileEdit": "after",
        "beforeSubmitPrompt": "prompt",
        "stop": "stop",
    }

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
        if event == "beforeShellExecution" and isinstance(command := payload.get("command"), str):
            return NativeCall("", "Bash", {"command": command})
        if event == "beforeReadFile" and isinstance(path := payload.get("file_path"), str):
            return NativeCall("", "Read", {"file_path": path})
        name, given = payload.get("tool_name"), payload.get("tool_input")
        if isinstance(given, str):
            try:
                given = msgspec.json.decode(given)
            except msgspec.DecodeError as error:
                raise UnknownPayload("its tool_input is no JSON") from error
        if not isinstance(name, str) or not isinstance(given, dict):
            raise UnknownPayload("it has no tool_name, or no tool_input")
        if event == "beforeMCPExecution" and not name.startswith("mcp__"):
            name = f"mcp__{text_of(payload, 'server_name') or 'unknown'}__{name}"
        return NativeCall("", "Bash" if name == "Shell" else name, given)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """`permission`, with one text for the user and one for the model."""
        if decision.verdict == "pass" or stage != "before":
            return Answer("{}")
        said = {"permission": decision.verdict, "user_message": decision.reason, "agent_message": decision.reason}
        return Answer(to_json(said))


CLIENT = Cursor()
