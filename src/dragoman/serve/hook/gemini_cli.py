"""Gemini CLI's hooks: events of its own, and a decision at the top of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeResult

from .client import Answer, Decision, HookClient, Stage, text_of, to_json


class GeminiCli(HookClient):
    name, title, dialect = "gemini_cli", "Gemini CLI", "gemini_cli"
    finds_by_end = True
    stages = {
        "BeforeTool": "before",
        "AfterTool": "after",
        "BeforeAgent": "prompt",
        "AfterAgent": "stop",
        **dict.fromkeys(("BeforeModel", "AfterModel", "BeforeToolSelection"), "other"),
        **dict.fromkeys(("SessionStart", "SessionEnd", "Notification", "PreCompress"), "other"),
    }
    lines, record_lines = ("BeforeTool",), ("AfterTool", "BeforeAgent", "AfterAgent")

    def server(self, payload: Mapping[str, Any]) -> str | None:
        """Gemini CLI 0.61 adds `mcp_context`."""
        context = payload.get("mcp_context")
        return text_of(context, "server_name") if isinstance(context, dict) else None

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """`llmContent` is what the model reads: a text, or parts of one (0.61)."""
        told = payload.get("tool_response")
        if not isinstance(told, dict):
            return super().returned(payload)
        given = told.get("llmContent")
        content = given if isinstance(given, str) else to_json(given)
        return NativeResult("", content, True if told.get("error") else None, item=told)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """The decision at the top; `ask` would wait for ever where nobody is (0.61, headless)."""
        if decision.verdict == "pass" or stage not in ("before", "after"):
            return Answer()
        return Answer(to_json({"decision": decision.verdict, "reason": decision.reason}))


CLIENT = GeminiCli()
