"""Payloads of hooks: whatever they hold, there is an answer, and never an accidental permission."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.engine import Approval, ToolPolicy
from dragoman.serve.hook import CLIENTS, Rules, handle
from tests.serve.hook_payloads import EVENTS, payload_of

from .drawing import Draw
from .target import Target

COMMANDS = (
    "ls",
    "cat .env",
    "rm -rf x | tee y",
    "echo $(cat a)",
    "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch",
)
NOTHING = Rules(ToolPolicy(default="deny", approval=(Approval("deny"),)))


def draw_payload(draw: Draw) -> tuple[str, str | None, str | None]:
    client = draw.choice(list(CLIENTS))
    payload: Any = payload_of(client, Path("/project"), draw.choice(COMMANDS))
    if draw.one_in(2):
        payload = draw.damaged_json([json.dumps(payload).encode()])
    text = json.dumps(payload)
    if draw.one_in(4):
        text = draw.damaged_text(text, ('"', "{", "}", ",", "null", "tool_name", "hook_event_name"))
    named = draw.choice((client, client, None, draw.choice(list(CLIENTS))))
    return text, named, EVENTS[named] if named is not None and not draw.one_in(4) else None


def check_payload(given: tuple[str, str | None, str | None]) -> None:
    text, client, event = given
    handled = handle(text.encode("utf-8", "replace"), client, event, lambda: NOTHING)
    asked = handled.asked
    if handled.decision.verdict == "deny":
        assert handled.answer.code == 2 or json.loads(handled.answer.out), "a denial that no client understands"
        return
    assert asked is not None, "a payload that nobody knows passed"
    assert asked.stage in ("after", "prompt", "stop", "other"), "a call passed that is denied"
    assert not asked.calls, "a call passed that is denied"


TARGETS = [Target("hooks", draw_payload, check_payload)]
