"""Goose's hooks. 1.34.0 runs a call whatever a hook says; 1.52.0 takes a denial, and its sub-agents call no hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .client import Answer, Asked, Decision, HookClient, Stage, server_in, text_of, to_json


class Goose(HookClient):
    name, title, dialect = "goose", "Goose", "goose"
    stages = {
        **HookClient.stages,
        "BeforeReadFile": "before",
        "BeforeShellExecution": "before",
        "AfterFileEdit": "after",
        "AfterShellExecution": "after",
    }

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """The event is under `event` and the folder under `working_dir` (1.34.0)."""
        named = {**payload, "hook_event_name": payload.get("event") or event}
        return msgspec.structs.replace(super().read(named, event), cwd=text_of(payload, "working_dir", "cwd"))

    def server(self, payload: Mapping[str, Any]) -> str | None:
        """The extension that a tool is of (1.52.0); those of `developer`, its own, have bare names."""
        found = server_in(payload.get("tool_name"))
        return found if found != "developer" else None

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """Only a denial can be said."""
        if decision.verdict == "deny" and stage == "before":
            return Answer(to_json({"decision": "block", "reason": decision.reason}))
        return Answer()


CLIENT = Goose()
