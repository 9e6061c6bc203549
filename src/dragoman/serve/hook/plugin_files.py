"""Clients whose hooks are code in their own process (opencode, pi): a small file of ours asks this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeCall

from .client import Answer, Asked, Decision, HookClient, Stage, UnknownPayload, text_of, to_json


class PluginFile(HookClient):
    """The payload (`plugin`, `tool`, `arguments`, `cwd`, `session`) and the answer (`deny` or `pass`) are ours."""

    shells = {"bash": "command"}

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """The call that the plugin file was asked about."""
        name, given = payload.get("tool"), payload.get("arguments")
        if payload.get("plugin") != self.name or not isinstance(name, str) or not isinstance(given, dict):
            raise UnknownPayload("it is not what our plugin file sends")
        return Asked(
            client=self.name,
            event=event or "tool",
            stage="before",
            calls=(NativeCall("", name, given),),
            cwd=text_of(payload, "cwd"),
            session=text_of(payload, "session"),
        )

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """The plugin file denies what it does not get a clear yes for."""
        return Answer(to_json({"deny": decision.reason} if decision.verdict == "deny" else {"pass": True}))


class OpenCode(PluginFile):
    name, title, dialect = "opencode", "opencode", "opencode"


class Pi(PluginFile):
    name, title, dialect = "pi", "pi", "pi"


OPENCODE = OpenCode()
PI = Pi()
