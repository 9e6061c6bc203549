"""Small logs of our own making of the clients that were added last; `samples.py` has the others and the list."""

from __future__ import annotations

import json
import sqlite3
from typing import Any


def lines(*records: Any) -> bytes:
    """Records as a file of JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


# ── Kimi Code ────────────────────────────────────────────────────────────────


def _kimi(kind: str, number: int, agent: str = "main", **more: Any) -> dict[str, Any]:
    return {"type": kind, "agentId": agent, **more, "time": 1_767_225_600_000 + number * 1000}


def _kimi_loop(number: int, kind: str, agent: str = "main", **more: Any) -> dict[str, Any]:
    return _kimi("context.append_loop_event", number, agent, event={"type": kind, "turnId": "0", "step": 1, **more})


def _kimi_said(number: int, text: str, origin: dict[str, Any], agent: str = "main") -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": origin}
    return _kimi("context.append_message", number, agent, message=message)


def _kimi_call(number: int, id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return _kimi_loop(number, "tool.call", uuid=f"u-{id}", toolCallId=id, name=name, args=arguments)


def _kimi_result(number: int, id: str, output: Any, **more: Any) -> dict[str, Any]:
    result = {"output": output, "durationMs": 12, **more}
    return _kimi_loop(number, "tool.result", parentUuid=f"u-{id}", toolCallId=id, result=result)


_KIMI_USED = {"inputOther": 10, "output": 7, "inputCacheRead": 3, "inputCacheCreation": 0}
_KIMI_BOUND = {"modelAlias": "k", "profileName": "agent", "environmentDisclosure": {"cwd": "/p"}}
KIMI = lines(
    {"type": "metadata", "protocol_version": "1.5", "created_at": 1_767_225_600_000},
    _kimi("profile.bind", 0, **_KIMI_BOUND),
    _kimi_said(1, "Fix it.", {"kind": "user"}),
    _kimi_said(2, "<system-reminder>now</system-reminder>", {"kind": "injection", "variant": "date_change"}),
    _kimi("llm.request", 3, model="kimi-k3", provider="openai"),
    _kimi_loop(3, "step.begin", uuid="s-1"),
    _kimi_loop(4, "content.part", part={"type": "think", "think": "hm"}),
    _kimi("usage.record", 4, model="k", usage=_KIMI_USED, usageScope="turn"),
    _kimi_call(5, "c-1", "Bash", {"command": "false"}),
    _kimi_call(5, "c-2", "Agent", {"description": "d", "prompt": "Look."}),
    _kimi_result(6, "c-1", "Process exited with code 1\nCommand failed with exit code: 1.", isError=True),
    {
        "type": "subagent.spawned",
        "subagentId": "agent-0",
        "subagentName": "explore",
        "parentToolCallId": "c-2",
        "time": 1_767_225_607_000,
    },
    {"type": "subagent.completed", "subagentId": "agent-0", "resultSummary": "Seen.", "time": 1_767_225_608_000},
    _kimi_result(9, "c-2", "agent_id: agent-0\nactual_subagent_type: coder\nstatus: completed\n\n[summary]\nSeen."),
    _kimi_loop(10, "step.end", uuid="s-1", finishReason="tool_use", usage=_KIMI_USED, messageId="r-1"),
    _kimi("turn.step.retrying", 11, errorName="APIStatusError", errorMessage="500 no", statusCode=500),
    _kimi_loop(12, "step.begin", uuid="s-2"),
    _kimi_loop(12, "content.part", part={"type": "text", "text": "Done."}),
    _kimi("usage.record", 12, model="k", usage=_KIMI_USED, usageScope="turn"),
    _kimi("turn.step.interrupted", 13, step=2, reason="aborted"),
    _kimi_loop(13, "step.end", uuid="s-2", finishReason="interrupted"),
    _kimi("turn.ended", 14, turnId=0, reason="failed", error={"code": "api", "message": "400 no"}),
    _kimi("a.new_kind", 15),
)
KIMI_AGENTS_OWN = lines(
    {"type": "metadata", "protocol_version": "1.5", "created_at": 1_767_225_607_000},
    _kimi("profile.bind", 7, "agent-0", **_KIMI_BOUND),
    _kimi_said(7, "Look.", {"kind": "system_trigger", "name": "subagent"}, "agent-0"),
    _kimi_loop(7, "content.part", "agent-0", part={"type": "text", "text": "Seen."}),
    _kimi_loop(8, "step.end", "agent-0", finishReason="end_turn", usage=_KIMI_USED),
)


# ── Factory droid ────────────────────────────────────────────────────────────


def _droid(number: int, role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(blocks), **more}
    at = f"2026-01-01T00:00:{number:02d}.000Z"
    return {"type": "message", "id": f"d-{number}", "parentId": f"d-{number - 1}", "timestamp": at, "message": message}


def _droid_call(id: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def _droid_result(id: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": text}


_PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"
DROID = lines(
    {"type": "session_start", "id": "dr-1", "title": "Fix it.", "version": 2, "cwd": "/p"},
    _droid(1, "user", {"type": "text", "text": "<system-reminder/>"}, visibility="llm_only"),
    _droid(2, "user", {"type": "text", "text": "Fix it."}, interactionMode="auto"),
    _droid(
        3,
        "assistant",
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        _droid_call("c-1", "Execute", {"summary": "Run a command", "command": "false"}),
        _droid_call("c-2", "ApplyPatch", {"input": _PATCH}),
        _droid_call("c-3", "toy___echo", {"text": "x"}),
        modelId="m-1",
    ),
    _droid(
        4,
        "user",
        _droid_result("c-1", "Error: Command failed (exit code: 1)\n\n\n\n[Process exited with code 1]", failed=True),
        _droid_result("c-2", '{"success":true,"files":[{"file_path":"/p/a.py","display_operation":"create"}]}'),
        _droid_result("c-3", "x"),
    ),
    _droid(5, "assistant", {"type": "text", "text": "Done."}, modelId="m-1"),
    _droid(6, "user", {"type": "text", "text": "400 no"}, visibility="user_only"),
    {"type": "agent_turn_outcome", "turnId": "t", "reason": "completed", "resultKind": "text"},
    {"type": "a_new_kind"},
)


# ── Goose ────────────────────────────────────────────────────────────────────


def database(script: str, rows: list[tuple[str, tuple[Any, ...]]]) -> bytes:
    """A database as bytes."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    for statement, values in rows:
        connection.execute(statement, values)
    connection.commit()
    return connection.serialize()


_GOOSE_TABLES = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, working_dir TEXT, created_at TIMESTAMP,
  updated_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cost REAL,
  model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
  created_timestamp INTEGER, metadata_json TEXT);
"""


def _goose_session(id: str, kind: str, used: int | None) -> tuple[str, tuple[Any, ...]]:
    row = (
        id,
        "fix",
        kind,
        "/p",
        "2026-01-01 00:00:00",
        "2026-01-01 00:00:09",
        used,
        used,
        0.01,
        '{"model_name": "m-1"}',
    )
    return "INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?)", row


def _goose(number: int, session: str, role: str, *blocks: Any, visible: bool = True) -> tuple[str, tuple[Any, ...]]:
    shown = json.dumps({"userVisible": visible, "agentVisible": True})
    row = (number, f"msg-{number}", session, role, json.dumps(blocks), 1_767_225_600 + number, shown)
    return "INSERT INTO messages VALUES (?,?,?,?,?,?,?)", row


def _goose_call(id: str, name: str, arguments: dict[str, Any], extension: str) -> dict[str, Any]:
    call = {"status": "success", "value": {"name": name, "arguments": arguments}}
    return {"type": "toolRequest", "id": id, "toolCall": call, "_meta": {"goose_extension": extension}}


def _goose_result(id: str, text: str, **beside: Any) -> dict[str, Any]:
    value = {"content": [{"type": "text", "text": text}], **beside}
    return {"type": "toolResponse", "id": id, "toolResult": {"status": "success", "value": value}}


_GOOSE_FAILED = {"stdout": "", "stderr": "", "exit_code": 1}
_GOOSE_UNKNOWN = {"type": "toolResponse", "id": "c-3", "toolResult": {"status": "error", "error": "-32602: no"}}
GOOSE = database(
    _GOOSE_TABLES,
    [
        ("INSERT INTO schema_version VALUES (?,?)", (13, "2026-01-01")),
        _goose_session("20260101_1", "user", 100),
        _goose_session("20260101_2", "sub_agent", 30),
        _goose(1, "20260101_1", "user", {"type": "text", "text": "Fix it."}),
        _goose(2, "20260101_1", "user", {"type": "text", "text": "<note/>"}, visible=False),
        _goose(3, "20260101_1", "assistant", {"type": "thinking", "thinking": "hm", "signature": ""}),
        _goose(4, "20260101_1", "assistant", _goose_call("c-1", "shell", {"command": "false"}, "developer")),
        _goose(
            5,
            "20260101_1",
            "user",
            _goose_result(
                "c-1", "(no output)\n\nCommand exited with code 1", structuredContent=_GOOSE_FAILED, isError=True
            ),
        ),
        _goose(6, "20260101_1", "assistant", _goose_call("c-2", "delegate", {"instructions": "Look."}, "summon")),
        _goose(7, "20260101_2", "user", {"type": "text", "text": "Look."}),
        _goose(8, "20260101_2", "assistant", {"type": "text", "text": "Seen."}),
        _goose(9, "20260101_1", "user", _goose_result("c-2", "Seen.", _meta={"subagent_session_id": "20260101_2"})),
        _goose(10, "20260101_1", "assistant", _goose_call("c-3", "toy__echo", {"text": "x"}, "toy")),
        _goose(11, "20260101_1", "user", _GOOSE_UNKNOWN),
        _goose(12, "20260101_1", "assistant", {"type": "text", "text": "Done."}, {"type": "a_new_kind"}),
        ("INSERT INTO messages VALUES (13,'m','20260101_1','user','[broken',1767225700,NULL)", ()),
    ],
)


# ── Kilo ─────────────────────────────────────────────────────────────────────

_KILO_TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, agent TEXT,
  model TEXT, revert TEXT, time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
CREATE TABLE kilo_board (id TEXT);
"""


def _kilo_part(number: int, message: str, **data: Any) -> tuple[str, tuple[Any, ...]]:
    return "INSERT INTO part VALUES (?,?,?,?)", (f"prt_{number}", message, "ses_k", json.dumps(data))


_KILO_LISTED = {
    "status": "completed",
    "input": {"command": "ls"},
    "output": "a.py",
    "time": {"start": 1_767_225_601_000, "end": 1_767_225_602_000},
    "metadata": {"exit": 0},
}
_KILO_RAN = {
    "status": "completed",
    "input": {"action": "start", "command": "sleep 9"},
    "output": "id: bgp_1\nstatus: running\ncommand: sleep 9",
    "time": {"start": 1_767_225_601_000, "end": 1_767_225_602_000},
}
KILO = database(
    _KILO_TABLES,
    [
        (
            "INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?)",
            ("ses_k", None, "/p", "Fix", "7.7.7", "code", None, None, 1_767_225_600_000),
        ),
        (
            "INSERT INTO message VALUES (?,?,?)",
            ("msg_1", "ses_k", '{"role": "user", "time": {"created": 1767225600000}}'),
        ),
        (
            "INSERT INTO message VALUES (?,?,?)",
            ("msg_2", "ses_k", '{"role": "assistant", "time": {"created": 1767225601000}}'),
        ),
        _kilo_part(1, "msg_1", type="text", text="Fix it."),
        _kilo_part(2, "msg_2", type="tool", tool="bash", callID="c-0", state=_KILO_LISTED),
        _kilo_part(3, "msg_2", type="tool", tool="background_process", callID="c-1", state=_KILO_RAN),
        _kilo_part(4, "msg_2", type="text", text="Done."),
    ],
)


# ── OpenHands ────────────────────────────────────────────────────────────────


def _openhands(kind: str, number: int, source: str, **more: Any) -> bytes:
    at = f"2026-01-01T00:00:{number:02d}.000001"
    return json.dumps({"kind": kind, "id": f"e-{number}", "timestamp": at, "source": source, **more}).encode()


_OPENHANDS_USED = {"model": "m-1", "prompt_tokens": 100, "completion_tokens": 7, "cache_read_tokens": 40}
OPENHANDS = json.dumps(
    {
        "id": "o-1",
        "agent": {"llm": {"model": "m-1"}},
        "workspace": {"working_dir": "/p"},
        "execution_status": "finished",
        "stats": {
            "usage_to_metrics": {
                "agent": {"token_usages": [{**_OPENHANDS_USED, "response_id": "r-1"}], "costs": [{"cost": 0.01}]},
                "condenser": {"token_usages": []},
            }
        },
    },
    indent=1,
).encode()
OPENHANDS_CALL = _openhands(
    "ActionEvent",
    2,
    "agent",
    tool_name="terminal",
    tool_call_id="c-1",
    tool_call={"id": "c-1", "name": "terminal", "arguments": '{"command": "false", "security_risk": "LOW"}'},
    thought=[{"type": "text", "text": "I look."}],
    reasoning_content="hm",
    llm_response_id="r-1",
)
OPENHANDS_RESULT = _openhands(
    "ObservationEvent",
    3,
    "environment",
    tool_name="terminal",
    tool_call_id="c-1",
    observation={"kind": "TerminalObservation", "content": [{"type": "text", "text": ""}], "exit_code": 1},
)


OPENHANDS_PRINTED = b"".join(
    (
        _openhands(
            "MessageEvent", 1, "user", llm_message={"role": "user", "content": [{"type": "text", "text": "Fix it."}]}
        ),
        b"\n",
        OPENHANDS_CALL,
        b"\n",
        OPENHANDS_RESULT,
        b"\n",
        _openhands(
            "MessageEvent",
            4,
            "agent",
            llm_message={"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ),
        b"\n",
        _openhands("ANewEvent", 5, "agent"),
        b"\n",
    )
)


# ── Mistral Vibe ─────────────────────────────────────────────────────────────

VIBE = json.dumps(
    {
        "generation": "0000000000000002",
        "session_id": "v-1",
        "snapshot_sequence": 2,
        "store_format": "mistral.vibe.unified-session-store/v1",
    }
).encode()


def _vibe(role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": list(blocks), **more}, "source": "history", "turn_index": 0}


def _vibe_call(id: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    arguments = {"type": "json", "raw": json.dumps(given), "value": given}
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


_VIBE_RAN = '{"command":"false","returncode":1,"stderr":"","stdout":"","timed_out":false,"was_truncated":false}'
VIBE_CHUNK = json.dumps(
    [
        _vibe("user", {"type": "text", "text": "Fix it."}),
        _vibe(
            "assistant",
            {"type": "reasoning", "content": [{"type": "text", "text": "hm"}]},
            _vibe_call("c-1", "bash", {"command": "false"}),
        ),
        _vibe("tool", {"type": "text", "text": _VIBE_RAN}, tool_call_id="c-1", name="bash", outcome="success"),
        _vibe("assistant", {"type": "text", "text": "Done."}),
    ]
).encode()


def vibe_files() -> dict[str, bytes]:
    """A session's other files, by their names in its folder."""
    code = "async function main() { return await tools.mcp_toy.echo({ text: 'x' }); }"
    arguments = {"type": "json", "raw": json.dumps({"code": code}), "value": {"code": code}}
    said = [{"type": "tool_call", "id": "c-1", "name": "run_typescript", "arguments": arguments}]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        {"role": "assistant", "content": said},
        {"role": "tool", "tool_call_id": "c-1", "name": "run_typescript", "outcome": "success", "content": []},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]
    inner = "typescript:1:c-1:0:tool:0"
    call = {"arguments": {"text": "x"}, "group_name": "mcp_toy", "tool_name": "echo"}
    usage = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 7}
    journal = [
        {"type": "command_reserved", "payload": {}},
        {"type": "action_result", "payload": {"result": {"result": {"usage": usage}}}},
        {"type": "action_intent", "payload": {"action_id": "a-1", "request": {"call": call, "call_id": inner}}},
        {
            "type": "action_result",
            "payload": {
                "result": {"call_id": inner, "result": {"type": "success", "content": [{"type": "text", "text": "x"}]}}
            },
        },
        {"type": "action_result", "payload": {"result": {"result": {"usage": usage}}}},
    ]
    chained = [
        {**row, "sequence": number, "record_sha256": "0", "previous_record_sha256": "0"}
        for number, row in enumerate(journal, 1)
    ]
    rows = [{"message": message, "source": "history", "turn_index": 0} for message in messages]
    manifest = {"checkpoint": {"chunks": ["ab"]}, "recovery_journal_segment": {}, "session_id": "v-1"}
    state = {"snapshot": {"session": {"createdAt": 1_767_225_600_000, "parentSessionId": None}}}
    return {
        "generations/0000000000000002/manifest.json": json.dumps(manifest).encode(),
        "generations/0000000000000002/projection-state.json": json.dumps(state).encode(),
        "chunks/ab.json": json.dumps(rows).encode(),
        "journal/0000000000000001.jsonl": lines(*chained),
        "meta.json": json.dumps({"environment": {"working_directory": "/p"}, "config": {"model_name": "m-1"}}).encode(),
    }


# ── aider ────────────────────────────────────────────────────────────────────

# aider ends its own lines and the user's with two spaces (0.86.2).
AIDER = b"""
# aider chat started at 2026-01-01 00:00:00

> Aider v0.86.2~
> Main model: m-1 with diff edit format~

#### Fix it.~

I change one line.

src/a.py
```
<<<<<<< SEARCH
x = 1
=======
x = 2
>>>>>>> REPLACE
```

> Tokens: 2.5k sent, 90 received. Cost: $0.0072 message, $0.0072 session.~
> # 1 SEARCH/REPLACE block failed to match!

## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in src/a.py
The SEARCH section must exactly match an existing block of lines~

# aider chat started at 2026-01-01 00:01:00

> Aider v0.86.2~
> Main model: m-1 with whole edit format~

#### Write it.~

src/b.py
```
y = 1
```

> Tokens: 730 sent, 55 received.~
> Applied edit to src/b.py~
""".replace(b"~", b"  ")


AGENT_SAMPLES: dict[str, list[tuple[str, bytes]]] = {
    "aider": [(".aider.chat.history.md", AIDER)],
    "droid": [("-p/dr-1.jsonl", DROID)],
    "goose": [("sessions.db", GOOSE)],
    "kilo": [("kilo.db", KILO)],
    "openhands": [("o-1.jsonl", OPENHANDS_PRINTED)],
    "mistral_vibe": [("chunks/v-1.json", VIBE_CHUNK)],
    "kimi_code": [
        ("session_k-1/agents/main/wire.jsonl", KIMI),
        ("session_k-1/agents/agent-0/wire.jsonl", KIMI_AGENTS_OWN),
    ],
}
