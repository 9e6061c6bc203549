"""What the hooks of clients have in common: a payload is read as tool calls, a decision is written in their form.

Most clients took over the form of Claude Code, so that form is the base, and a client says what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

import msgspec

from dragoman.model.calls import NativeCall, NativeResult

Stage = Literal["before", "permission", "after", "prompt", "stop", "other"]
Verdict = Literal["deny", "ask", "allow", "pass"]
WITH_CALL: Final = ("before", "permission", "after")
"""The stages that are about a call."""


class UnknownPayload(Exception):
    """The payload is not one of this client's, or not one of any client's."""


class Here(msgspec.Struct, frozen=True):
    """Where the process was started that a client calls: its folder, and what its environment says of the project."""

    cwd: str
    projects: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook was called for."""

    client: str
    event: str
    """The event in the client's own word."""
    stage: Stage
    calls: tuple[NativeCall, ...] = ()
    """The call that is about to run, or that has run."""
    returned: NativeResult | None = None
    """What the call gave, after it; the id of the call is with the call."""
    text: str | None = None
    """The prompt, or at the stop what the model said last."""
    server: str | None = None
    """The MCP server, where the payload names it."""
    cwd: str | None = None
    projects: tuple[str, ...] = ()
    """The folder of the work, where the environment of the hook says it."""
    root: str | None = None
    """The folder of the work, where it is known for certain; the rules' `outside` and paths begin there."""
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


class Handled(msgspec.Struct, frozen=True):
    """What a hook call came to."""

    answer: Answer
    decision: Decision
    asked: Asked | None = None
    note: str | None = None
    """What is printed on standard error."""
    is_late: bool = False
    """Whether the decision took too long."""
    unread: bytes = b""
    """The payload, where it or its event is not known."""


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def server_in(name: object) -> str | None:
    """The server of a tool that is named `server__tool`, in clients none of whose own tools has such a name."""
    server, mark, tool = name.partition("__") if isinstance(name, str) else ("", "", "")
    return server if mark and server and tool else None


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
    starts_hooks_in_project: ClassVar[bool] = False
    """Whether hooks are started in the folder of the work, while their payload has that of the call."""
    finds_by_end: ClassVar[bool] = False
    """Whether an edit of a file that is not there is made in the one whose path ends so."""
    stages: ClassVar[Mapping[str, Stage]] = {
        "PreToolUse": "before",
        "PermissionRequest": "permission",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        "UserPromptSubmit": "prompt",
        "Stop": "stop",
        "SubagentStop": "stop",
        "SessionStart": "other",
        "SessionEnd": "other",
        "SubagentStart": "other",
        "Notification": "other",
        "PreCompact": "other",
        "PostCompact": "other",
    }
    """Every event that is known, and what it is about. At `prompt`, `stop` and `other` nothing is decided."""
    lines: ClassVar[tuple[str, ...]] = ("PreToolUse",)
    """The events that are asked about before a tool runs, in the settings that `install` writes."""
    record_lines: ClassVar[tuple[str, ...]] = ("PostToolUse", "UserPromptSubmit", "Stop")
    """The events that are only recorded, and are installed with `--outcomes`."""

    def read(self, payload: Mapping[str, Any], event: str | None) -> Asked:
        """What a payload asks about. `event` is what the installed line says it is for."""
        named = text_of(payload, "hook_event_name") or event
        if named is None:
            raise UnknownPayload("it names no event")
        stage = self.stage(named, event, calls="tool_input" in payload)
        calls = (self.call(payload),) if stage in WITH_CALL else ()
        return Asked(
            client=self.name,
            event=named,
            stage=stage,
            calls=calls,
            returned=self.returned(payload) if stage == "after" else None,
            text=self.text(payload, stage),
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

    def returned(self, payload: Mapping[str, Any]) -> NativeResult | None:
        """What a call gave; `None` where the payload does not say. What is no text is kept beside it."""
        given, error = payload.get("tool_response"), text_of(payload, "error")
        if given is None and error is None:
            return None
        content = given if isinstance(given, str) else error or ""
        return NativeResult("", content, True if error else None, item=given if isinstance(given, dict) else None)

    def text(self, payload: Mapping[str, Any], stage: Stage) -> str | None:
        """What was said: the prompt, or at the stop what the model said last."""
        names = {"prompt": ("prompt",), "stop": ("last_assistant_message", "prompt_response")}.get(stage)
        return text_of(payload, *names) if names else None

    def server(self, payload: Mapping[str, Any]) -> str | None:
        """The MCP server of a payload, where it is named beside the tool."""
        server = payload.get("mcp_server")
        return text_of(server, "name") if isinstance(server, dict) else None

    def answer(self, stage: Stage, event: str, decision: Decision) -> Answer:
        """A decision in the client's form. A denial is always given with a reason and the exit code 0.

        At the prompt and at the stop nothing is said: what is refused there would be asked again without end.
        """
        verdict = decision.verdict
        if verdict == "pass" or stage not in WITH_CALL:
            return Answer()
        if stage == "after":
            return self.answer_after(event, decision)
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

    def answer_after(self, event: str, decision: Decision) -> Answer:
        """The reason for the model why it must not use the result of a call that ran; nothing else can be said."""
        return Answer(to_json({"decision": "block", "reason": decision.reason}))
