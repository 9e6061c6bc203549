"""Small logs of our own making in every format: what the laws of all formats are tried on."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from tests.logs.agent_samples import AGENT_SAMPLES, lines as lines
from tests.logs.shared_samples import SHARED_SAMPLES


def _claude(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s-1",
        "version": "2.1.300",
        "cwd": "/p",
        "gitBranch": "main",
        "timestamp": f"2026-01-01T00:00:{int(uuid[1:]):02d}.000Z",
        **more,
    }


def _block(
    uuid: str, parent: str, block: dict[str, Any], stop: str | None = None, message: str = "msg_1"
) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 3}
    said = {
        "id": message,
        "role": "assistant",
        "model": "claude-x",
        "content": [block],
        "stop_reason": stop,
        "usage": usage,
    }
    return _claude("assistant", uuid, parent, message=said, requestId="req_1")


def _told(
    uuid: str, parent: str, id: str, content: Any, *, is_error: bool = False, result: Any = None
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}
    return _claude("user", uuid, parent, message={"role": "user", "content": [block]}, toolUseResult=result)


CLAUDE = lines(
    {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1", "timestamp": "2026-01-01T00:00:00.000Z"},
    _claude("user", "u1", None, message={"role": "user", "content": "Fix it."}),
    _block("u2", "u1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
    _block("u3", "u2", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "false"}}),
    _told("u4", "u3", "t1", "Exit code 1", is_error=True, result="Error: Exit code 1"),
    _block("u5", "u3", {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/p/a"}}, "tool_use"),
    _told("u6", "u5", "t2", "1\ttext", result={"type": "text", "file": {"filePath": "/p/a", "content": "text"}}),
    _block("u7", "u6", {"type": "text", "text": "Done."}, "end_turn", "msg_2"),
    {"type": "a-new-kind", "sessionId": "s-1"},
)


def _codex(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": payload}


def _counts(total: int, last: int) -> dict[str, Any]:
    def usage(count: int) -> dict[str, int]:
        return {"input_tokens": count, "cached_input_tokens": count // 2, "output_tokens": 5, "total_tokens": count + 5}

    info = {"total_token_usage": {**usage(total), "output_tokens": total // 20}, "last_token_usage": usage(last)}
    return _codex("event_msg", {"type": "token_count", "info": info})


CODEX = lines(
    _codex("session_meta", {"id": "c-1", "cwd": "/p", "cli_version": "0.150.0", "git": {"branch": "main"}}),
    _codex("turn_context", {"model": "gpt-5.5", "cwd": "/p"}),
    _codex("event_msg", {"type": "user_message", "message": "Fix it."}),
    _codex(
        "response_item",
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
    ),
    _codex("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
    _codex(
        "response_item",
        {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "false"}', "call_id": "call_1"},
    ),
    _codex(
        "response_item",
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n",
        },
    ),
    _counts(100, 100),
    _counts(100, 100),
    _codex(
        "response_item",
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ),
    _counts(180, 80),
    {"timestamp": "2026-01-01T00:00:09.000Z", "type": "a_new_kind", "payload": {}},
)

DRAGOMAN = (
    b'{"format":"dragoman","version":1}\n'
    b'{"kind":"user_said","id":"1","session":"d-1","text":"Fix it."}\n'
    b'{"kind":"model_said","id":"2","session":"d-1","text":"Done."}\n'
)


def _gemini(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-01-01T00:00:02.000Z", "type": kind, "content": content, **more}


def _gemini_call(id: str, name: str, arguments: Any, response: dict[str, Any], **more: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": id, "name": name, "response": response}}]
    status = "error" if "error" in response else "success"
    at = "2026-01-01T00:00:03.000Z"
    return {"id": id, "name": name, "args": arguments, "result": result, "status": status, "timestamp": at, **more}


def _gemini_tokens(input: int) -> dict[str, int]:
    return {"input": input, "output": 5, "cached": 40, "thoughts": 3, "tool": 0, "total": input + 8}


GEMINI_HEADER = {"sessionId": "g-1", "projectHash": "ab", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"}
GEMINI_SHELL = _gemini_call(
    "run_1", "run_shell_command", {"command": "false"}, {"output": "Output: (empty)\nExit Code: 1"}
)
GEMINI_AGENT = _gemini_call(
    "agent_1",
    "invoke_agent",
    {"agent_name": "generalist", "prompt": "Look."},
    {"output": "Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\nSeen."},
    agentId="a-1",
    resultDisplay={"agentName": "generalist", "result": "Seen.", "terminateReason": "GOAL"},
)
_GEMINI_ASKED = _gemini(
    "m2",
    "gemini",
    "I look.",
    thoughts=[{"subject": "Plan", "description": "look first", "timestamp": "2026-01-01T00:00:02.000Z"}],
    tokens=_gemini_tokens(100),
    model="gemini-2.5-pro",
)
_GEMINI_CALLED = {**_GEMINI_ASKED, "toolCalls": [GEMINI_SHELL, GEMINI_AGENT]}

GEMINI = lines(
    GEMINI_HEADER,
    {"$set": {"messages": [_gemini("m0", "user", [{"text": "<session_context>here</session_context>"}])]}},
    _gemini("m1", "user", [{"text": "Fix it."}]),
    {"$set": {"lastUpdated": "2026-01-01T00:00:02.000Z"}},
    _GEMINI_ASKED,
    _GEMINI_CALLED,
    _gemini("m3", "user", GEMINI_SHELL["result"]),
    _gemini("m4", "gemini", "Done.", thoughts=[], tokens=_gemini_tokens(200), model="gemini-2.5-pro"),
    _gemini("m5", "user", [{"text": "Not so."}]),
    {"$rewindTo": "m5"},
    _gemini("m6", "info", "Request cancelled."),
    _gemini("m7", "a-new-kind", ""),
)
GEMINI_AGENTS_OWN = lines(
    {**GEMINI_HEADER, "sessionId": "a-1", "kind": "subagent", "directories": ["/p"]},
    _gemini("n1", "user", [{"text": "Look."}]),
    _gemini(
        "n2",
        "gemini",
        "",
        tokens=_gemini_tokens(60),
        model="gemini-2.5-pro",
        toolCalls=[_gemini_call("a-1#0-0", "complete_task", {"result": "Seen."}, {"output": "Output submitted."})],
    ),
    {"$set": {"summary": "Looked."}},
)
GEMINI_DOCUMENT = json.dumps(
    {
        **GEMINI_HEADER,
        "sessionId": "g-2",
        "messages": [_gemini("m1", "user", "Fix ät."), _GEMINI_CALLED, _gemini("m4", "gemini", "Done.")],
        "summary": "Fixed.",
    },
    indent=2,
    ensure_ascii=False,
).encode()


def _qwen(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "q-1",
        "timestamp": "2026-01-01T00:00:01.000Z",
        "type": kind,
        "cwd": "/p",
        "version": "0.24.4",
        "gitBranch": "main",
        **more,
    }


def _qwen_said(*parts: dict[str, Any], total: int) -> dict[str, Any]:
    counts = {"promptTokenCount": total - 10, "candidatesTokenCount": 10, "thoughtsTokenCount": 4}
    usage = {**counts, "totalTokenCount": total, "cachedContentTokenCount": 50}
    return {"model": "qwen3-coder", "message": {"role": "model", "parts": list(parts)}, "usageMetadata": usage}


def _qwen_response(uuid: str, total: int, **more: Any) -> dict[str, Any]:
    event = {
        "event.name": "qwen-code.api_response",
        "model": "qwen3-coder",
        "input_token_count": total - 10,
        "output_token_count": 10,
        "cached_content_token_count": 50,
        "thoughts_token_count": 4,
        "total_token_count": total,
        "prompt_id": "q-1########0",
        **more,
    }
    return _qwen("system", uuid, None, subtype="ui_telemetry", systemPayload={"uiEvent": event})


def _qwen_result(uuid: str, id: str, name: str, response: dict[str, Any], **beside: Any) -> dict[str, Any]:
    parts = [{"functionResponse": {"id": id, "name": name, "response": response}}]
    return _qwen(
        "tool_result", uuid, None, message={"role": "user", "parts": parts}, toolCallResult={"callId": id, **beside}
    )


def _qwen_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": id, "name": name, "args": arguments}}


_QWEN_RAN = (
    "Command: false\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)\n"
    "Process Group PGID: (none)"
)
_QWEN_ENDED = (
    "<task-notification>\n<task-id>Explore-call_00000002</task-id>\n<status>completed</status>\n"
    "<result>Seen.</result>\n</task-notification>"
)
QWEN = lines(
    _qwen("user", "u1", None, provenance="real_user", message={"role": "user", "parts": [{"text": "Fix it."}]}),
    _qwen_response("u2", 210),
    _qwen(
        "assistant",
        "u3",
        "u2",
        **_qwen_said(
            {"text": "hm", "thought": True},
            _qwen_call("call_00000001", "run_shell_command", {"command": "false"}),
            _qwen_call("call_00000002", "agent", {"description": "d", "prompt": "Look.", "subagent_type": "Explore"}),
            total=210,
        ),
    ),
    _qwen_result(
        "u4",
        "call_00000001",
        "run_shell_command",
        {"error": _QWEN_RAN},
        status="error",
        errorType="shell_execute_error",
    ),
    _qwen_result(
        "u5",
        "call_00000002",
        "agent",
        {"output": "Background agent launched successfully.\ntask_id: Explore-call_00000002 (internal)"},
        status="success",
    ),
    _qwen_response("u6", 77, subagent_id="Explore-call_00000002"),
    _qwen_response("u7", 99),
    _qwen_response("u8", 310),
    _qwen("assistant", "u9", "u8", **_qwen_said({"text": "Done."}, total=310)),
    _qwen(
        "user",
        "u10",
        "u9",
        subtype="notification",
        provenance="system",
        message={"role": "user", "parts": [{"text": _QWEN_ENDED}]},
    ),
    _qwen("system", "u11", "u9", subtype="rewind", systemPayload={"truncatedCount": 1}),
    _qwen(
        "system",
        "u12",
        "u11",
        subtype="slash_command",
        systemPayload={"phase": "invocation", "rawCommand": "/compress now"},
    ),
    _qwen("system", "u13", "u12", subtype="a_new_kind"),
)
_QWEN_AGENT = {"agentId": "Explore-call_00000002", "agentName": "Explore", "isSidechain": True}
QWEN_AGENTS_OWN = lines(
    _qwen("user", "v1", None, **_QWEN_AGENT, message={"role": "user", "parts": [{"text": "Look."}]}),
    _qwen("assistant", "v2", "v1", **_QWEN_AGENT, **_qwen_said({"text": "Seen."}, total=77)),
)
QWEN_DOCUMENT = json.dumps(
    {
        "sessionId": "q-0",
        "projectHash": "ab",
        "startTime": "2026-01-01T00:00:00.000Z",
        "messages": [
            _gemini("m1", "user", "Fix it."),
            _gemini("m2", "qwen", "Done.", thoughts=[], tokens=_gemini_tokens(20), model="qwen3-coder"),
        ],
    },
    indent=2,
).encode()


def copilot(kind: str, number: int, agent: str | None = None, **data: Any) -> dict[str, Any]:
    """A record of Copilot's."""
    return {
        "type": kind,
        "data": data,
        "id": f"r-{number}",
        "timestamp": f"2026-01-01T00:00:{number:02d}.500Z",
        "parentId": f"r-{number - 1}" if number else None,
        **({} if agent is None else {"agentId": agent}),
    }


def copilot_usage(given: int, finish: str) -> dict[str, Any]:
    """What a request used, as Copilot writes it: the cache is part of the input."""
    used = {"inputTokens": given, "outputTokens": 5, "cacheReadTokens": given // 2, "cacheWriteTokens": 1}
    return {"usage": {"model": "m-1", **used, "finishReason": finish, "apiCallId": "a-1"}}


_SPAWN = {"description": "Look", "prompt": "Look around.", "agent_type": "explore", "name": "look"}
COPILOT = lines(
    copilot("session.start", 0, sessionId="p-1", copilotVersion="1.0.102", context={"cwd": "/p", "branch": "main"}),
    copilot("user.message", 1, content="Fix it.", transformedContent="<now/>Fix it."),
    copilot("system.message", 2, role="system", content="Be brief."),
    copilot("assistant.turn_start", 3, turnId="0"),
    copilot("session.usage_record", 4, **copilot_usage(101, "tool_calls")),
    copilot(
        "assistant.message",
        5,
        model="m-1",
        content="",
        reasoningText="hm",
        toolRequests=[
            {
                "toolCallId": "c-1",
                "name": "bash",
                "type": "function",
                "arguments": {"command": "false", "description": "x"},
            },
            {"toolCallId": "c-2", "name": "task", "type": "function", "arguments": _SPAWN},
        ],
    ),
    copilot("tool.execution_start", 6, toolCallId="c-1", toolName="bash", arguments={"command": "false"}),
    copilot("tool.execution_start", 7, toolCallId="c-2", toolName="task", arguments=_SPAWN),
    copilot("subagent.started", 8, "agent-1", toolCallId="c-2", agentName="explore"),
    copilot("user.message", 9, "agent-1", content="Look around.", source="agent-p-1"),
    copilot("session.usage_record", 10, "agent-1", **copilot_usage(31, "stop")),
    copilot("assistant.message", 11, "agent-1", model="m-1", content="Nothing.", parentToolCallId="c-2"),
    copilot("tool.execution_complete", 12, toolCallId="c-2", success=True, result={"content": "Nothing."}),
    copilot("subagent.completed", 13, "agent-1", toolCallId="c-2", agentName="explore"),
    copilot(
        "tool.execution_complete",
        14,
        toolCallId="c-1",
        success=True,
        result={"content": "<shellId: 0 completed with exit code 1>"},
    ),
    copilot("assistant.turn_end", 15, turnId="0"),
    copilot("session.usage_record", 16, **copilot_usage(201, "stop")),
    copilot("assistant.message", 17, model="m-1", content="Done.", toolRequests=[]),
    copilot("session.shutdown", 18, shutdownType="routine", modelMetrics={"m-1": {"usage": {"inputTokens": 333}}}),
    copilot("session.a_new_kind", 19),
)


_BASH = '{"command": "false", "description": "Fail"}'
COPILOT_DOCUMENT = json.dumps(
    {
        "sessionId": "p-0",
        "startTime": "2025-10-01T00:00:00.000Z",
        "chatMessages": [
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "str_replace_editor", "arguments": '{"command": "view", "path": "/p/a"}'},
                    },
                    {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": _BASH}},
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "<exited with exit code 1>"},
            {"role": "tool", "tool_call_id": "c1", "content": "text"},
            {"role": "assistant", "content": "Done."},
        ],
        "timeline": [{"type": "user", "text": "Fix it.", "timestamp": "2025-10-01T00:00:00.000Z"}],
    },
    indent=2,
).encode()


def opencode_tool(id: str, tool: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
    """A tool's part of opencode's: the call and its result."""
    state = {
        "status": "completed",
        "input": given,
        "time": {"start": 1_767_225_600_000, "end": 1_767_225_601_500},
    } | state
    return {"id": id, "type": "tool", "tool": tool, "callID": f"call-{id}", "state": state}


_OPENCODE_TOKENS = {"total": 120, "input": 10, "output": 7, "reasoning": 3, "cache": {"read": 95, "write": 5}}


def opencode_messages(session: str, child: str | None = None) -> list[dict[str, Any]]:
    """The messages of a session of opencode's, each with its parts."""
    agent = {} if child is None else {"sessionId": child}
    asked = {"description": "Look", "prompt": "Look around.", "subagent_type": "explore"}
    told = f'<task id="{child}" state="completed">\n<task_result>\nNothing.\n</task_result>\n</task>'
    tools = [
        opencode_tool("prt_3", "bash", {"command": "false"}, output="", metadata={"exit": 1}),
        opencode_tool("prt_4", "bash", {"command": "sleep 9"}, status="running", time={"start": 1_767_225_600_000}),
    ]
    if child is not None:
        tools.append(opencode_tool("prt_5", "task", asked, output=told, metadata=agent))
    first = 1_767_225_600_000
    user = {"id": f"msg_{session}1", "role": "user", "time": {"created": first}}
    model = {
        "id": f"msg_{session}2",
        "role": "assistant",
        "time": {"created": first + 1},
        "modelID": "m-1",
        "mode": "build",
    }
    parts: list[dict[str, Any]] = [
        {"id": "prt_1", "type": "step-start"},
        {"id": "prt_2", "type": "reasoning", "text": "hm", "time": {"start": first + 1}},
        *tools,
        {"id": "prt_6", "type": "step-finish", "reason": "tool-calls", "tokens": _OPENCODE_TOKENS, "cost": 0.25},
        {"id": "prt_7", "type": "text", "text": "Done."},
        {"id": "prt_8", "type": "a-new-kind"},
    ]
    words = {"id": "prt_0", "type": "text", "text": "Look around." if session == "child" else "Fix it."}
    told_parts = [(user, [words]), (model, parts)]
    for info, held in told_parts:
        info["sessionID"] = f"ses_{session}"
        for part in held:
            part |= {"id": f"{part['id']}_{session}", "messageID": info["id"], "sessionID": f"ses_{session}"}
            if "callID" in part:
                part["callID"] += session
    return [{"info": info, "parts": held} for info, held in told_parts]


def opencode_info(session: str, parent: str | None = None) -> dict[str, Any]:
    """A session of opencode's."""
    above = {} if parent is None else {"parentID": parent}
    times = {"created": 1_767_225_600_000 + len(session), "updated": 1_767_225_601_000}
    named = {"id": f"ses_{session}", "projectID": "p", "directory": "/p", "title": "Fix", "version": "1.18.33"}
    return {**named, **above, "time": times}


def fill_opencode(database: sqlite3.Connection, *sessions: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    """Writes sessions into a database such as opencode's."""
    database.executescript(
        "CREATE TABLE project (id TEXT);"
        "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT,"
        " revert TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
    )
    for info, messages in sessions:
        row = [info.get(key) for key in ("id", "parentID", "directory", "title", "version")]
        revert = json.dumps(info["revert"]) if "revert" in info else None
        database.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?)", [*row, revert, info["time"]["created"]])
        for message in messages:
            told = message["info"]
            held = {key: value for key, value in told.items() if key not in ("id", "sessionID")}
            row = [told["id"], info["id"], told["time"]["created"], json.dumps(held)]
            database.execute("INSERT INTO message VALUES (?,?,?,?)", row)
            for part in message["parts"]:
                held = {key: value for key, value in part.items() if key not in ("id", "messageID", "sessionID")}
                row = [part["id"], told["id"], info["id"], told["time"]["created"], json.dumps(held)]
                database.execute("INSERT INTO part VALUES (?,?,?,?,?)", row)
    database.commit()


def _opencode_database() -> bytes:
    database = sqlite3.connect(":memory:")
    fill_opencode(
        database,
        (opencode_info("main"), opencode_messages("main", "ses_child")),
        (opencode_info("child", "ses_main"), opencode_messages("child")),
    )
    try:
        return database.serialize()
    finally:
        database.close()


OPENCODE = _opencode_database()
OPENCODE_EXPORT = json.dumps(
    {"info": opencode_info("alone"), "messages": opencode_messages("alone")}, indent=2
).encode()


def _pi(id: str, parent: str | None, kind: str = "message", **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **more}


def pi_reply(id: str, parent: str, *content: dict[str, Any], stop: str = "stop", **more: Any) -> dict[str, Any]:
    """A reply of the model as pi keeps it."""
    cost = {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}
    usage = {"input": 10, "output": 7, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 22, "cost": cost}
    said = {"role": "assistant", "content": list(content), "model": "m-1", "usage": usage, "stopReason": stop, **more}
    return _pi(id, parent, message=said)


def pi_result(id: str, parent: str, call: str, name: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    """A result as pi keeps it."""
    told = {"role": "toolResult", "toolCallId": call, "toolName": name, "content": [{"type": "text", "text": text}]}
    return _pi(id, parent, message={**told, "isError": failed})


PI_HEADER = {"type": "session", "version": 3, "id": "i-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
PI = lines(
    PI_HEADER,
    _pi("00000001", None, "model_change", provider="acme", modelId="m-1"),
    _pi("00000002", "00000001", "thinking_level_change", thinkingLevel="high"),
    _pi("00000003", "00000002", message={"role": "user", "content": [{"type": "text", "text": "Fix it."}]}),
    pi_reply(
        "00000004",
        "00000003",
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "text", "text": "I try."},
        {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "false"}},
        {"type": "toolCall", "id": "t2", "name": "read", "arguments": {"path": "a"}},
        stop="toolUse",
    ),
    pi_result("00000005", "00000004", "t2", "read", "text"),
    pi_result("00000006", "00000005", "t1", "bash", "(no output)\n\nCommand exited with code 1", failed=True),
    pi_reply("00000007", "00000006", {"type": "text", "text": "Done."}),
    _pi("00000008", "00000003", message={"role": "user", "content": "Another way."}),
    pi_reply("00000009", "00000008", stop="aborted", errorMessage="Request was aborted."),
    _pi("0000000a", "00000009", "compaction", summary="We tried.", firstKeptEntryId="00000008", tokensBefore=900),
    _pi("0000000b", "0000000a", "a_new_kind"),
)


def _cline_messages(*messages: dict[str, Any], **more: Any) -> bytes:
    known = {"version": 1, "updated_at": "2026-01-01T00:00:09.000Z", "agent": "lead", "sessionId": "l-1"}
    origin = {"source": "cli", "mode": "user", "sessionId": "l-1", "version": "3.0.65"}
    document = {**known, "origin": origin, **more, "messages": list(messages)}
    return json.dumps({**document, "system_prompt": "You fix."}, indent=1).encode()


def cline_reply(id: str, *content: dict[str, Any]) -> dict[str, Any]:
    """A reply of the model as Cline keeps it."""
    metrics = {"inputTokens": 15, "outputTokens": 7, "cacheReadTokens": 3, "cacheWriteTokens": 2}
    model = {"id": "m-1", "provider": "acme"}
    return {"id": id, "role": "assistant", "content": list(content), "ts": 1767225601000, "modelInfo": model} | {
        "metrics": metrics
    }


def cline_told(id: str, *content: dict[str, Any]) -> dict[str, Any]:
    """What the user said, or what tools gave, as Cline keeps it."""
    return {"id": id, "role": "user", "content": list(content), "ts": 1767225600000}


def cline_call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A call as Cline keeps it."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def cline_result(id: str, name: str, content: Any) -> dict[str, Any]:
    """A result as Cline keeps it."""
    return {"type": "tool_result", "tool_use_id": id, "name": name, "content": content}


CLINE = _cline_messages(
    cline_told("n1", {"type": "text", "text": '<user_input mode="act">Fix it.</user_input>'}),
    cline_reply(
        "n2",
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I try."},
        cline_call("t1", "run_commands", commands=["true", "false"]),
    ),
    cline_told(
        "n3",
        cline_result(
            "t1",
            "run_commands",
            [
                {"query": "true", "result": "", "success": True},
                {
                    "query": "false",
                    "result": "[Command exited with code 1]\n",
                    "error": "Command exited with code 1",
                    "success": False,
                },
            ],
        ),
    ),
    cline_reply("n4", cline_call("t2", "spawn_agent", systemPrompt="You count.", task="Count them.")),
    cline_told("n5", cline_result("t2", "spawn_agent", '{"text":"two","iterations":1,"finishReason":"completed"}')),
    cline_reply("n6", cline_call("t3", "toy__echo", text="hi"), cline_call("t4", "no__such", x=1)),
    cline_told("n7", cline_result("t3", "toy__echo", '{"content":[{"type":"text","text":"hi"}]}')),
    cline_told(
        "n8",
        cline_result(
            "t4", "no__such", '{"error":"Tool call no__such was rejected before execution: AI_NoSuchToolError: none"}'
        ),
    ),
    cline_reply("n9", {"type": "text", "text": "Done."}),
)
CLINE_AGENTS_OWN = _cline_messages(
    cline_told("o1", {"type": "text", "text": "Count them."}),
    cline_reply("o2", {"type": "text", "text": "two"}),
    agent="subagent",
    sessionId="l-1__agent_1",
    origin={"mode": "subagent", "parentThreadId": "l-1", "subagent": "agent_1", "version": "3.0.65"},
)
CLINE_SESSION = json.dumps(
    {
        "version": 1,
        "session_id": "l-1",
        "started_at": "2026-01-01T00:00:00.000Z",
        "ended_at": "2026-01-01T00:00:09.000Z",
        "exit_code": 0,
        "status": "completed",
        "model": "m-1",
        "cwd": "/p",
        "workspace_root": "/p",
        "enable_tools": True,
        "metadata": {"sessionHistoryOrigin": {"version": "3.0.65"}, "git": {"branch": "main"}},
        "messages_path": "/h/l-1.messages.json",
    }
).encode()


CLINE_TASK = json.dumps(
    [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<task>\nFix it.\n</task>"},
                {"type": "text", "text": "<environment_details>\n# Open Tabs\na\n</environment_details>"},
            ],
            "ts": 1767225600000,
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "text",
                    "text": "<thinking>hm</thinking>\nI read it.\n\n<read_file>\n<path>a</path>\n</read_file>",
                }
            ],
            "ts": 1767225601000,
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[read_file for 'a'] Result:"},
                {"type": "text", "text": "1 | text"},
                {"type": "text", "text": "<environment_details>\n</environment_details>"},
            ],
            "ts": 1767225602000,
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Now natively."},
                {"type": "tool_use", "id": "t2", "name": "execute_command", "input": {"command": "false"}},
            ],
            "ts": 1767225603000,
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "The user denied this operation."}],
            "ts": 1767225604000,
        },
        {
            "role": "assistant",
            "content": "<attempt_completion>\n<result>\nDone.\n</result>\n</attempt_completion>",
            "ts": 1767225605000,
        },
    ],
    indent=1,
).encode()
CLINE_TASK_SHOWN = json.dumps(
    [
        {"ts": 1767225600000, "type": "say", "say": "text", "text": "Fix it."},
        {
            "ts": 1767225600001,
            "type": "say",
            "say": "api_req_started",
            "text": '{"request":"x","tokensIn":10,"tokensOut":7,"cacheReads":3,"cost":0.5}',
        },
        {"ts": 1767225601000, "type": "ask", "ask": "tool", "text": '{"tool":"readFile","path":"a"}', "partial": False},
        {"ts": 1767225602000, "type": "say", "say": "error", "text": "It broke."},
        {
            "ts": 1767225603000,
            "type": "say",
            "say": "api_req_started",
            "text": '{"request":"x","tokensIn":20,"tokensOut":1,"cancelReason":"user_cancelled"}',
        },
    ]
).encode()


def continue_state(id: str, name: str, arguments: str, status: str, *output: str) -> dict[str, Any]:
    """A call and what became of it, as Continue keeps it."""
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    told = [{"content": text, "name": "Tool Result", "description": "Tool execution result"} for text in output]
    return {"toolCallId": id, "toolCall": call, "status": status, "output": told}


def continue_reply(text: str, *states: dict[str, Any]) -> dict[str, Any]:
    """A reply of the model as Continue keeps it."""
    cache = {"cache_write_tokens": 2, "cache_read_tokens": 3, "cached_tokens": 3}
    usage = {"completion_tokens": 7, "prompt_tokens": 10, "total_tokens": 17, "prompt_tokens_details": cache}
    message = {"role": "assistant", "content": text, "usage": {**usage, "model": "m-1", "cost_cents": 0}}
    if not states:
        return {"message": message, "contextItems": []}
    calls = [state["toolCall"] for state in states]
    return {"message": {**message, "toolCalls": calls}, "contextItems": [], "toolCallStates": list(states)}


def continue_document(*history: dict[str, Any]) -> bytes:
    """A session as Continue keeps it."""
    known = {"sessionId": "k-1", "title": "Mending", "workspaceDirectory": "/p", "history": list(history)}
    return json.dumps(
        {**known, "usage": {"totalCost": 0, "promptTokens": 20, "completionTokens": 14}}, indent=1
    ).encode()


CONTINUE = continue_document(
    {"message": {"role": "user", "content": "Fix it."}, "contextItems": [], "editorState": "Fix it."},
    continue_reply(
        "I try.",
        continue_state(
            "t1", "Bash", '{"command": "false"}', "errored", "Error executing tool Bash: Error (exit code 1): "
        ),
        continue_state("t2", "echo", '{"text": "hi"}', "done", '[{"type":"text","text":"hi"}]'),
        continue_state("t3", "no_such", '{"x": 1}', "errored", "Tool no_such not found"),
        continue_state("t4", "Read", '{"filepath": "a"}', "canceled"),
    ),
    continue_reply("Done."),
)

SAMPLES: dict[str, list[tuple[str, bytes]]] = {
    # Format → (the file's name, its bytes)
    "claude_code": [("s-1.jsonl", CLAUDE)],
    "cline": [
        ("l-1/l-1.messages.json", CLINE),
        ("l-1/agent_1.messages.json", CLINE_AGENTS_OWN),
        ("l-1/l-1.json", CLINE_SESSION),
        ("tasks/1767225600000/api_conversation_history.json", CLINE_TASK),
        ("tasks/1767225700000/ui_messages.json", CLINE_TASK_SHOWN),
    ],
    "codex": [("rollout-c-1.jsonl", CODEX)],
    "continue": [("sessions/k-1.json", CONTINUE)],
    "copilot": [("p-1/events.jsonl", COPILOT), ("history-session-state/session_p-0_1.json", COPILOT_DOCUMENT)],
    "dragoman": [("d-1.jsonl", DRAGOMAN)],
    "gemini_cli": [
        ("chats/session-g-1.jsonl", GEMINI),
        ("chats/g-1/a-1.jsonl", GEMINI_AGENTS_OWN),
        ("chats/session-g-2.json", GEMINI_DOCUMENT),
    ],
    "opencode": [("opencode.db", OPENCODE), ("ses_alone.json", OPENCODE_EXPORT)],
    "pi": [("2026-01-01T00-00-00-000Z_i-1.jsonl", PI)],
    "qwen_code": [
        ("chats/q-1.jsonl", QWEN),
        ("subagents/q-1/agent-Explore-call_00000002.jsonl", QWEN_AGENTS_OWN),
        ("chats/session-q-0.json", QWEN_DOCUMENT),
    ],
    **AGENT_SAMPLES,
    **SHARED_SAMPLES,
}
