"""Copilot CLI's hooks: two forms, by how the name of the event is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.model.calls import NativeCall, NativeResult

from .client import WITH_CALL, Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


class Copilot(HookClient):
    name, title, dialect, asks = "copilot", "Copilot CLI", "copilot", True
    stages = {
        **HookClient.stages,
        "preToolUse": "before",
        "permissionRequest": "permission",
        "postToolUse": "after",
        "userPromptSubmitted": "prompt",
        "agentStop": "stop",
        "subagentStop": "stop",
        **dict.fromkeys(("sessionStart", "sessionEnd", "errorOccurred", "notification", "preCompact"), "other"),
    }
    lines, record_lines = ("preToolUse",), ("postToolUse", "userPromptSubmitted", "agentStop")

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """`preToolUse` names no event and has `toolName` and `toolArgs` (1.0.102); `PreToolUse` is as Claude Code's."""
        if "hook_event_name" in payload:
            asked = super().read(payload, event)
            return msgspec.structs.replace(asked, dialect="claude_code")
        named = text_of(payload, "hookName") or event or ("preToolUse" if "toolName" in payload else None)
        if named is None:
            raise UnknownPayload("it names no event and no tool")
        stage = self.stage(named, event, calls="toolArgs" in payload)
        calls = (self.call(payload),) if stage in WITH_CALL else ()
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=calls,
            returned=self.returned(payload) if stage == "after" else None,
            text=self.text(payload, stage),
            cwd=text_of(payload, "cwd"),
            agent=text_of(payload, "agentType", "agentId"),
            session=text_of(payload, "sessionId"),
        )

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """A call in either form."""
        if "hook_event_name" in payload:
            return super().call(payload)
        name = payload.get("toolName")
        given = payload.get("toolArgs", payload.get("toolInput"))
        if isinstance(given, str):
            given = _parsed(given)
        if not isinstance(name, str) or not isinstance(given, dict | str):
            raise UnknownPayload("it has no toolName, or no toolArgs")
        return NativeCall("", name, given)

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """`toolResult` with the text that the model reads (1.0.102)."""
        told = payload.get("toolResult")
        if not isinstance(told, dict):
            return super().returned(payload)
        failed = told.get("resultType") in ("failure", "rejected", "denied")
        return NativeResult("", text_of(told, "textResultForLlm") or "", True if failed else None, item=told)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """The decision at the top, for the form that names no event."""
        if event[:1].isupper() or decision.verdict == "pass" or stage not in WITH_CALL:
            return super().answer(stage, event, decision)
        if stage == "permission":
            if decision.verdict == "ask":
                return Answer()
            return Answer(to_json({"behavior": decision.verdict, "message": decision.reason}))
        if stage == "after":
            return Answer(to_json({"additionalContext": decision.reason}))
        return Answer(to_json({"permissionDecision": decision.verdict, "permissionDecisionReason": decision.reason}))


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


CLIENT = Copilot()
