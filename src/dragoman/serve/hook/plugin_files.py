"""Clients whose hooks are code in their own process (opencode, pi): a small file of ours asks this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dragoman.model.calls import NativeCall, NativeResult

from .client import WITH_CALL, Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


class PluginFile(HookClient):
    """The payload (`plugin`, `event`, `tool`, `arguments`, `cwd`, `session`, `call`, `result`, `failed`) and the answer
    (`deny` or `pass`) are ours."""

    stages = {"tool": "before", "returned": "after", "prompt": "prompt"}
    lines = ("tool",)
    record_lines: ClassVar[tuple[str, ...]] = ("returned",)

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """The call that the plugin file was asked about."""
        if payload.get("plugin") != self.name:
            raise UnknownPayload("it is not what our plugin file sends")
        named = text_of(payload, "event") or event or "tool"
        stage = self.stage(named, event, calls="tool" in payload)
        calls = (self.call(payload),) if stage in WITH_CALL else ()
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=calls,
            returned=self.returned(payload) if stage == "after" else None,
            text=text_of(payload, "prompt"),
            cwd=text_of(payload, "cwd"),
            session=text_of(payload, "session"),
        )

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The call, with the client's id where it has one."""
        name, given = payload.get("tool"), payload.get("arguments")
        if not isinstance(name, str) or not isinstance(given, dict):
            raise UnknownPayload("it is not what our plugin file sends")
        return NativeCall(text_of(payload, "call") or "", name, given)

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """The text that the model reads."""
        given = payload.get("result")
        failed = True if payload.get("failed") is True else None
        return NativeResult("", given, failed) if isinstance(given, str) else None

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """The plugin file denies what it does not get a clear yes for."""
        return Answer(to_json({"deny": decision.reason} if decision.verdict == "deny" else {"pass": True}))


class OpenCode(PluginFile):
    name, title, dialect = "opencode", "opencode", "opencode"


class Pi(PluginFile):
    name, title, dialect = "pi", "pi", "pi"
    record_lines = ("returned", "prompt")


OPENCODE = OpenCode()
PI = Pi()
