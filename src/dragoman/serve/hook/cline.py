"""Cline CLI's hooks: files named by their event. A denial ends the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeCall

from .client import Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


class Cline(HookClient):
    name, title, dialect = "cline", "Cline CLI", "cline"
    shells = {}
    stages = {"tool_call": "before", "PreToolUse": "before", "PostToolUse": "after", "tool_result": "after"}

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """Cline 3.0.65: `tool_call` has the input as it was sent; `preToolUse` has its values as texts."""
        named = text_of(payload, "hookName") or event
        if named is None:
            raise UnknownPayload("it names no event")
        stage = self.stage(named, event, calls="tool_call" in payload)
        roots = payload.get("workspaceRoots")
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=(self.call(payload),) if stage == "before" else (),
            cwd=next((root for root in roots if isinstance(root, str)), None) if isinstance(roots, list) else None,
            agent=text_of(payload, "agent_id") if payload.get("parent_agent_id") else None,
            session=text_of(payload, "taskId"),
        )

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The call of a payload, of the command line or of the extension."""
        call = payload.get("tool_call")
        if isinstance(call, dict):
            name, given = call.get("name"), call.get("input")
        else:
            before = payload.get("preToolUse")
            name, given = (
                (before.get("toolName"), before.get("parameters")) if isinstance(before, dict) else (None, None)
            )
        if not isinstance(name, str) or not isinstance(given, dict | str):
            raise UnknownPayload("it has no tool_call with a name and an input")
        return NativeCall("", name, given)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """`cancel` is the only denial, and the exit code is not looked at."""
        if decision.verdict == "deny" and stage == "before":
            return Answer(to_json({"cancel": True, "errorMessage": decision.reason}))
        return Answer("{}")


CLIENT = Cline()
