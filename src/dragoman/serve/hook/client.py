"""What the hooks of clients have in common: a payload is read as tool calls, a decision is written in their form.

Most clients took over the form of Claude Code, so that form is the base, and a client says what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.model.calls import NativeCall

Stage = Literal["before", "permission", "after", "prompt", "stop", "other"]
Verdict = Literal["deny", "ask", "allow", "pass"]


class UnknownPayload(Exception):
    """The payload is not one of this client's, or not one of any client's."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook was called for."""

    client: str
    event: str
    """The event in the client's own word."""
    stage: Stage
    calls: tuple[NativeCall, ...] = ()
    server: str | None = None
    """The MCP server, where the payload names it."""
    cwd: str | None = None
    agent: str | None = None
    session: str | None = None
    dialect: str | None = None
    """The vocabulary of the calls, where it is not the client's usual one."""


class Decision(msgspec.Struct, frozen=True):
    """What is to be done with the calls of a payload; `pass` leaves it to the client's own rules."""

    verdict: Verdict
    reason: str = ""
    rule: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What the hook prints, and its exit code."""

    out: str = ""
    code: int = 0


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def text_of(payload: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is text."""
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), None)


class HookClient:
    """A client whose hooks are as Claude Code's."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    dialect: ClassVar[str] = ""
    asks: ClassVar[bool] = False
    """Whether `ask` leads to a question, or to a denial where nobody can be asked. In some clients it lets the call
    run, or waits for ever: those get a denial instead."""
    shells: ClassVar[Mapping[str, str]] = {"Bash": "command"}
    """Tools that run a command line, and the argument that has it. Such a call is read without the vocabulary, whose
    loading would take half the time of a decision."""
    stages: ClassVar[Mapping[str, Stage]] = {
        "PreToolUse": "before",
        "PermissionRequest": "permission",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        "UserPromptSubmit": "prompt",
        "Stop": "stop",
        "SubagentStop": "stop",
    }

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """What a payload asks about. `event` is what the installed line says it is for."""
        named = text_of(payload, "hook_event_name") or event
        if named is None:
            raise UnknownPayload("it names no event")
        stage = self.stage(named, event, calls="tool_input" in payload)
        calls = (self.call(payload),) if stage in ("before", "permission") else ()
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=calls,
            server=self.server(payload),
            cwd=text_of(payload, "cwd"),
            agent=text_of(payload, "agent_type", "agent_id"),
            session=text_of(payload, "session_id"),
        )

    def stage(self, named: str, event: str | None, *, calls: bool) -> Stage:
        """What an event is about. One that is not known decides about the call, if the payload or the line has one."""
        known = self.stages.get(named)
        if known is not None:
            return known
        return "before" if calls or self.stages.get(event or "") in ("before", "permission") else "other"

    def call(self, payload: Mapping[str, Any]) -> NativeCall:
        """The tool call of a payload, as the client's vocabulary has it."""
        name, given = payload.get("tool_name"), payload.get("tool_input")
        if not isinstance(name, str) or not isinstance(given, dict | str):
            raise UnknownPayload("it has no tool_name, or no tool_input")
        return NativeCall(text_of(payload, "tool_use_id") or "", name, given)

    def server(self, payload: Mapping[str, Any]) -> str | None:
        """The MCP server of a payload, where it is named beside the tool."""
        server = payload.get("mcp_server")
        return text_of(server, "name") if isinstance(server, dict) else None

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """A decision in the client's form. A denial is always given with a reason and the exit code 0."""
        verdict = decision.verdict
        if verdict == "pass" or stage not in ("before", "permission"):
            return Answer()
        if stage == "permission":
            if verdict == "ask":
                return Answer()
            choice = {"behavior": verdict} | ({"message": decision.reason} if verdict == "deny" else {})
            return Answer(to_json({"hookSpecificOutput": {"hookEventName": event, "decision": choice}}))
        said = {
            "hookEventName": event,
            "permissionDecision": verdict,
            "permissionDecisionReason": decision.reason,
        }
        return Answer(to_json({"hookSpecificOutput": said}))
