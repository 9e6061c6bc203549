"""Qwen Code's hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.model.calls import NativeCall

from .client import Answer, Decision, HookClient, text_of, to_json


class QwenCode(HookClient):
    name, title, dialect, asks = "qwen_code", "Qwen Code", "qwen_code", True
    stages = {
        **HookClient.stages,
        **dict.fromkeys(
            ("PermissionDenied", "TodoCreated", "TodoCompleted", "MessageDisplay", "SessionDelete"), "other"
        ),
    }

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The id of the model's call is `tool_call_id`; `tool_use_id` is made up for the hook (0.24.4)."""
        return msgspec.structs.replace(super().call(payload), id=text_of(payload, "tool_call_id") or "")

    def answer_after(self, event: str, decision: Decision) -> Answer:
        """Of an answer after a tool, Qwen Code 0.24.4 gives the model `additionalContext` alone."""
        said = {"hookEventName": event, "additionalContext": decision.reason}
        return Answer(to_json({"hookSpecificOutput": said}))


CLIENT = QwenCode()
