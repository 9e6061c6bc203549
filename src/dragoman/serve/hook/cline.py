"""Cline CLI's hooks: files named by their event. A denial ends the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeCall, NativeResult

from .client import WITH_CALL, Answer, Asked, Decision, HookClient, Stage, UnknownPayload, server_in, text_of, to_json


class Cline(HookClient):
    name, title, dialect = "cline", "Cline CLI", "cline"
    stages = {
        "tool_call": "before",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "tool_result": "after",
        "UserPromptSubmit": "prompt",
        "prompt_submit": "prompt",
        "TaskComplete": "stop",
        "agent_end": "stop",
        **dict.fromkeys(("TaskStart", "TaskResume", "TaskCancel", "TaskError", "SessionShutdown"), "other"),
        **dict.fromkeys(("agent_start", "agent_resume", "agent_abort", "agent_error", "session_shutdown"), "other"),
    }
    lines, record_lines = ("PreToolUse",), ("PostToolUse", "UserPromptSubmit", "TaskComplete")

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """Cline 3.0.65: `tool_call` has the input as it was sent; `preToolUse` has its values as texts."""
        named = text_of(payload, "hookName") or event
        if named is None:
            raise UnknownPayload("it names no event")
        stage = self.stage(named, event, calls="tool_call" in payload)
        calls = (self.call(payload),) if stage in WITH_CALL else ()
        roots = payload.get("workspaceRoots")
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=calls,
            returned=self.returned(payload) if stage == "after" else None,
            text=self.text(payload, stage),
            cwd=next((root for root in roots if isinstance(root, str)), None) if isinstance(roots, list) else None,
            server=server_in(calls[0].name) if calls else None,
            agent=text_of(payload, "agent_id") if payload.get("parent_agent_id") else None,
            session=text_of(payload, "taskId"),
        )

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The call of a payload, of the command line or of the extension."""
        call = _first(payload, "tool_call", "tool_result")
        if call is not None:
            name, given = call.get("name"), call.get("input")
        else:
            call = _first(payload, "preToolUse", "postToolUse") or {}
            name, given = call.get("toolName"), call.get("parameters")
        if not isinstance(name, str) or not isinstance(given, dict | str):
            raise UnknownPayload("it has no tool_call with a name and an input")
        return NativeCall(text_of(call, "id") or "", name, given)

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """`output` of the command line (3.0.65, run), `result` of the extension (from its documentation, not run)."""
        told = _first(payload, "tool_result", "postToolUse") or {}
        error = text_of(told, "error")
        given = told.get("output", told.get("result", error))
        content = given if isinstance(given, str) else to_json(given)
        return None if given is None else NativeResult("", content, True if error else None)

    def text(self, payload: Mapping[str, Any], stage: Stage) -> str | None:
        """The prompt, of the extension in an object of its own; at the stop what was said last (3.0.65, run)."""
        if stage == "stop":
            return text_of(_first(payload, "turn") or {}, "outputText")
        inner = _first(payload, "userPromptSubmit") or {}
        return text_of(payload, "prompt") or text_of(inner, "prompt") if stage == "prompt" else None

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """`cancel` is the only denial, and the exit code is not looked at."""
        if decision.verdict == "deny" and stage == "before":
            return Answer(to_json({"cancel": True, "errorMessage": decision.reason}))
        return Answer("{}")


def _first(payload: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    """The first of these fields that is an object."""
    return next((value for name in names if isinstance(value := payload.get(name), dict)), None)


CLIENT = Cline()
