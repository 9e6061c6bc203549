"""Payloads of hooks: whatever they hold, there is an answer, and never an accidental permission."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from dragoman.engine import Approval, ToolPolicy
from dragoman.serve.hook import CLIENTS, Rules, client_named, handle, record
from tests.serve.hook_payloads import AFTER, EVENTS, after_payload, payload_of, spoken_payloads

from .drawing import Draw
from .target import Target

COMMANDS = (
    "ls",
    "cat .env",
    "rm -rf x | tee y",
    "echo $(cat a)",
    "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch",
)
IN_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"command": "cat .env", "args": ["-n", "x"]},
    {"commands": ["ls", "rm x"], "cwd": "/"},
    {"jobs": [{"shellCommand": ["sh", "-c", "ls"]}, {"url": "https://example.com/a", "host": "b.example"}]},
    {"path": "file:///a/%2Eenv", "patch": "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
)
NOTHING = Rules(ToolPolicy(default="deny", approval=(Approval("deny"),)))


def draw_payload(draw: Draw) -> tuple[str, str | None, str | None]:
    client = draw.choice(list(CLIENTS))
    folder, line = Path("/project"), draw.choice(COMMANDS)
    spoken = list(spoken_payloads(client, folder).items())
    event, payload = draw.choice(
        [
            (EVENTS[client], payload_of(client, folder, line)),
            (EVENTS[client], payload_of(client, folder, line)),
            (AFTER[client], after_payload(client, folder, line, "x")),
            *spoken[:1],
            *spoken[1:],
        ]
    )
    if "tool_input" in payload and draw.one_in(3):
        payload = {**payload, "tool_name": "mcp__notes__do", "tool_input": draw.choice(IN_ARGUMENTS)}
    damaged: Any = draw.damaged_json([json.dumps(payload).encode()]) if draw.one_in(2) else payload
    text = json.dumps(damaged)
    if draw.one_in(4):
        text = draw.damaged_text(text, ('"', "{", "}", ",", "null", "tool_name", "hook_event_name"))
    named = draw.choice((client, client, None, draw.choice(list(CLIENTS))))
    if draw.one_in(4):
        return text, named, None
    return text, named, event if named == client else EVENTS[named] if named is not None else None


def check_payload(given: tuple[str, str | None, str | None]) -> None:
    text, client, event = given
    handled = handle(text.encode("utf-8", "replace"), client, event, lambda: NOTHING)
    asked = handled.asked
    record(handled, _FOLDER)
    if handled.decision.verdict == "deny":
        after = asked is not None and asked.stage == "after"
        assert after or handled.answer.code == 2 or json.loads(handled.answer.out), "a denial that nobody understands"
        return
    if asked is None:
        assert client is not None, "a payload that nobody knows passed"
        stage = client_named(client).stages.get(event or "", "before")
        assert stage in ("after", "prompt", "stop", "other"), "a payload that nobody knows passed before a call"
        assert handled.note, "a payload that nobody knows passed without a word"
        return
    assert asked.stage in ("after", "prompt", "stop", "other"), "a call passed that is denied"
    assert handled.answer.out in ("", "{}", '{"pass":true}'), "something was said where nothing is decided"


_FOLDER = Path(tempfile.mkdtemp(prefix="dragoman-fuzz-hooks-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
TARGETS = [Target("hooks", draw_payload, check_payload)]
