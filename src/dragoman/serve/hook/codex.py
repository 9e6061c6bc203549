"""Codex's hooks: Claude Code's form, read more strictly, with names that are not those of its own tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeCall

from .client import Answer, Decision, HookClient, Stage


class Codex(HookClient):
    name, title, dialect = "codex", "Codex", "codex"
    # Seen with Codex 0.166.0: `cwd` is the `workdir` of the command, and the hook's own folder that of the session.
    starts_hooks_in_project = True
    stages = {**HookClient.stages, "Interrupt": "other"}

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """Codex 0.166 calls every shell `Bash` and gives `{"command"}`; a patch is under `command` too."""
        native = super().call(payload)
        given = native.arguments
        command = given.get("command") if isinstance(given, dict) else None
        if native.name == "Bash" and isinstance(given, dict) and isinstance(command, str):
            others = {name: value for name, value in given.items() if name != "command"}
            return NativeCall(native.id, "exec_command", {"cmd": command, **others})
        if native.name == "apply_patch" and isinstance(command, str):
            return NativeCall(native.id, "apply_patch", command)
        return NativeCall(native.id, native.name.removeprefix("collaboration"), given)

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """Codex 0.166 takes `allow` alone for a failed hook, and runs the call; silence does the same without noise."""
        if decision.verdict == "allow" and stage == "before":
            return Answer()
        return super().answer(stage, event, decision)


CLIENT = Codex()
