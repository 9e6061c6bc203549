"""Small logs of our own making in formats that are known from public source, or that programs exchange."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from typing import Any

from tests.logs.agent_samples import lines


def _document(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


AMP = _document(
    {
        "v": 3,
        "id": "T-0001",
        "created": 1_767_225_600_000,
        "title": "A title",
        "env": {"initial": {"trees": [{"uri": "file:///p"}], "platform": {"clientVersion": "0.0.1"}}},
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Fix it."}],
                "meta": {"sentAt": 1_767_225_601_000},
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a-1", "name": "Bash", "input": {"cmd": "false", "cwd": "/p"}},
                    {
                        "type": "tool_use",
                        "id": "a-2",
                        "name": "edit_file",
                        "input": {"path": "/p/a", "old_str": "x", "new_str": "y"},
                    },
                ],
                "usage": {"model": "m-1", "inputTokens": 10, "outputTokens": 7, "cacheReadInputTokens": 3},
                "state": {"type": "complete", "stopReason": "tool_use"},
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "toolUseID": "a-1",
                        "run": {"status": "done", "result": {"output": "no", "exitCode": 1}},
                    },
                    {
                        "type": "tool_result",
                        "toolUseID": "a-2",
                        "run": {"status": "error", "error": {"message": "Could not find the text."}},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "Done."}],
                "usage": {"model": "m-1", "inputTokens": 20, "outputTokens": 2},
            },
        ],
    }
)

ATIF = _document(
    {
        "schema_version": "ATIF-v1.7",
        "session_id": "at-1",
        "agent": {"name": "claude-code", "version": "2.1.300", "model_name": "m-1"},
        "steps": [
            {"step_id": 1, "timestamp": "2026-01-01T00:00:00Z", "source": "system", "message": "Be brief."},
            {"step_id": 2, "timestamp": "2026-01-01T00:00:01Z", "source": "user", "message": "Fix it."},
            {
                "step_id": 3,
                "timestamp": "2026-01-01T00:00:02Z",
                "source": "agent",
                "model_name": "m-1",
                "message": "I look.",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"tool_call_id": "c-1", "function_name": "Bash", "arguments": {"command": "false"}},
                    {
                        "tool_call_id": "c-2",
                        "function_name": "Task",
                        "arguments": {"prompt": "Look.", "description": "d", "subagent_type": "g"},
                    },
                ],
                "observation": {
                    "results": [
                        {"source_call_id": "c-1", "content": "Exit code 1"},
                        {
                            "source_call_id": "c-2",
                            "content": "seen",
                            "subagent_trajectory_ref": [{"trajectory_id": "at-1/x", "session_id": "at-2"}],
                        },
                    ]
                },
                "metrics": {"prompt_tokens": 13, "completion_tokens": 7, "cached_tokens": 3, "cost_usd": 0.5},
            },
            {"step_id": 4, "source": "agent", "message": "Done.", "is_copied_context": True},
        ],
        "final_metrics": {"total_prompt_tokens": 13, "total_completion_tokens": 7},
        "subagent_trajectories": [
            {
                "schema_version": "ATIF-v1.7",
                "session_id": "at-2",
                "trajectory_id": "at-1/x",
                "agent": {"name": "somebody-new", "version": "1"},
                "steps": [
                    {"step_id": 1, "source": "user", "message": "Look."},
                    {
                        "step_id": 2,
                        "source": "agent",
                        "message": "",
                        "tool_calls": [{"tool_call_id": "d-1", "function_name": "peek", "arguments": {"at": "a"}}],
                        "observation": {"results": [{"content": "a thing"}]},
                    },
                ],
                "final_metrics": {"total_prompt_tokens": 5, "total_completion_tokens": 1},
            }
        ],
    }
)

CURSOR = lines(
    {
        "role": "user",
        "message": {
            "content": [
                {
                    "type": "text",
                    "text": "<timestamp>Sunday, Aug 2, 2026, 3:51 AM (UTC-7)</timestamp>\n"
                    "<user_query>\nFix it.\n</user_query>",
                }
            ]
        },
    },
    {
        "role": "assistant",
        "message": {
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t-1", "name": "Shell", "input": {"command": "false"}},
                {"type": "tool_use", "name": "Read", "input": {"path": "/p/a", "offset": 5, "limit": 3}},
            ]
        },
    },
    {"type": "turn_ended", "status": "success"},
)


CURSOR_TEXT = b"""user:
<user_query>
Make a page.
</user_query>

assistant:
Let me look.
[Tool call] ReadFile
  path: /p/README.md
  offset: 443
  limit: 60
[Tool call] Shell
  command: cat <<E | wc
user:
E
  description: Count

[Tool result] ReadFile

[Tool result] Shell

assistant:
[Thinking] Now I know:

1. one
2. two

So I write it.
I write the page.
[Tool call] Write
  path: /p/a.yaml
  contents: on:
  push: x
  path: y

end

[Tool call] Task
  subagent_type: explore
  prompt: Look at:
- all
  note: no parameter
  model: fast

[Tool result] Write

[Tool result] Task

assistant:
Done.
"""


def _cursor_database() -> bytes:
    composer = {
        "_v": 10,
        "composerId": "cu-1",
        "name": "A title",
        "createdAt": 1_767_225_600_000,
        "modelConfig": {"modelName": "m-1"},
        "fullConversationHeadersOnly": [{"bubbleId": "b-1", "type": 1}, {"bubbleId": "b-2", "type": 2}],
    }
    tool = {
        "name": "run_terminal_command_v2",
        "toolCallId": "t-1",
        "rawArgs": json.dumps({"command": "false"}),
        "result": json.dumps({"output": "no", "exitCode": 1}),
        "status": "completed",
    }
    served = {
        "name": "mcp_toy_echo",
        "toolCallId": "t-2",
        "params": json.dumps({"tools": [{"name": "echo", "parameters": '{"text": "hi"}', "serverName": "toy"}]}),
        "status": "loading",
    }
    bubbles = {
        "b-1": {"type": 1, "text": "Fix it.", "createdAt": "2026-01-01T00:00:00.000Z"},
        "b-2": {
            "type": 2,
            "text": "I look.",
            "thinking": {"text": "hm"},
            "toolFormerData": tool,
            "tokenCount": {"inputTokens": 10, "outputTokens": 7},
        },
        "b-3": {"type": 2, "text": "", "toolFormerData": served, "tokenCount": {"inputTokens": 0, "outputTokens": 0}},
    }
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    rows = [("composerData:cu-1", composer), *((f"bubbleId:cu-1:{id}", one) for id, one in bubbles.items())]
    database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", [(key, json.dumps(one)) for key, one in rows])
    database.commit()
    return database.serialize()


CURSOR_DATABASE = _cursor_database()

_INSPECT_RUN = {
    "version": 2,
    "status": "success",
    "eval": {
        "eval_id": "ev-1",
        "created": "2026-01-01T00:00:00+00:00",
        "task": "a_task",
        "model": "m-1",
        "packages": {"inspect_ai": "0.3.200"},
    },
    "plan": {"name": "plan", "steps": []},
}
_INSPECT_SAMPLE = {
    "id": 1,
    "epoch": 1,
    "input": "Fix it.",
    "target": "yes",
    "messages": [
        {"id": "m1", "role": "system", "content": "Be brief."},
        {"id": "m2", "role": "user", "content": "attachment://abc", "source": "input"},
        {
            "id": "m3",
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look."}],
            "tool_calls": [
                {"id": "i-1", "function": "bash", "arguments": {"command": "false"}, "type": "function"},
                {"id": "i-2", "function": "weigh", "arguments": {"what": "a stone"}, "type": "function"},
            ],
            "model": "m-1",
        },
        {"id": "m4", "role": "tool", "content": "no", "tool_call_id": "i-1", "function": "bash"},
        {
            "id": "m5",
            "role": "tool",
            "content": "",
            "tool_call_id": "i-2",
            "function": "weigh",
            "error": {"type": "timeout", "message": "It took too long."},
        },
        {"id": "m6", "role": "assistant", "content": "Done.", "model": "m-1"},
    ],
    "events": [
        {
            "event": "model",
            "timestamp": f"2026-01-01T00:00:0{number}+00:00",
            "output": {
                "model": "m-1",
                "choices": [{"message": {"id": id}}],
                "usage": {"input_tokens": 10, "output_tokens": 7, "total_tokens": 17, "input_tokens_cache_read": 3},
            },
        }
        for number, id in ((1, "m3"), (2, "m6"))
    ],
    "attachments": {"abc": "Fix it, please."},
    "scores": {"match": {"value": "C"}},
}
INSPECT = _document({**_INSPECT_RUN, "samples": [_INSPECT_SAMPLE], "stats": {}})


def _archive() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in (
            ("_journal/start.json", _INSPECT_RUN),
            ("samples/1_epoch_1.json", _INSPECT_SAMPLE),
            ("header.json", _INSPECT_RUN),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), json.dumps(value))
    return written.getvalue()


INSPECT_ARCHIVE = _archive()

SWE_AGENT = _document(
    {
        "environment": "main",
        "trajectory": [
            {
                "action": "ls",
                "observation": "a.py\n",
                "response": "I look.\n\n```\nls\n```",
                "thought": "I look.",
                "execution_time": 0.5,
            },
            {"action": "str_replace_editor view /p/a.py", "observation": "x = 1", "response": "", "thought": "I read."},
            {"action": "", "observation": "Your output could not be parsed.", "response": "Hm.", "thought": ""},
        ],
        "history": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "A demonstration.", "is_demo": True},
            {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
            {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls"},
            {"role": "user", "content": "a.py"},
            {
                "role": "assistant",
                "content": "I read.",
                "thought": "I read.",
                "action": "str_replace_editor view /p/a.py",
                "tool_calls": [
                    {
                        "id": "s-1",
                        "type": "function",
                        "function": {
                            "name": "str_replace_editor",
                            "arguments": '{"command": "view", "path": "/p/a.py"}',
                        },
                    }
                ],
            },
        ],
        "info": {
            "exit_status": "submitted",
            "submission": "diff",
            "model_stats": {"tokens_sent": 20, "tokens_received": 9, "instance_cost": 0.5},
        },
        "replay_config": {"agent": {"model": {"name": "m-1"}}},
    }
)

MINI_SWE_AGENT = _document(
    {
        "info": {
            "mini_version": "2.2.7",
            "exit_status": "Submitted",
            "submission": "",
            "config": {"model": {"model_name": "m-1"}, "environment": {"cwd": "/p"}},
        },
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "one-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "n-1", "function": {"name": "bash", "arguments": '{"command": "false"}'}}],
                "extra": {
                    "timestamp": 1_767_225_601.5,
                    "cost": 0.5,
                    "response": {
                        "model": "m-1",
                        "usage": {
                            "prompt_tokens": 13,
                            "completion_tokens": 7,
                            "prompt_tokens_details": {"cached_tokens": 3},
                        },
                    },
                },
            },
            {
                "role": "tool",
                "tool_call_id": "n-1",
                "content": "<returncode>1</returncode>\n<output>\nno\n</output>",
                "extra": {"raw_output": "no", "returncode": 1, "timestamp": 1_767_225_602.5},
            },
            {"role": "assistant", "content": "THOUGHT: again\n\n```bash\nls\n```"},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
            {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
        ],
    }
)

_VSCODE_REQUEST = {
    "requestId": "request_1",
    "message": {"text": "Fix it.", "parts": []},
    "timestamp": 1_767_225_601_000,
    "modelId": "m-1",
    "response": [
        {"value": "I look."},
        {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "toolCallId": "v-1", "isComplete": True},
    ],
    "result": {
        "metadata": {
            "toolCallRounds": [
                {
                    "response": "I look.",
                    "thinking": {"text": "hm"},
                    "toolCalls": [{"id": "v-1", "name": "read_file", "arguments": '{"filePath": "/p/a"}'}],
                },
                {"response": "Done.", "toolCalls": []},
            ],
            "toolCallResults": {
                "v-1": {
                    "content": [
                        {
                            "value": {
                                "node": {
                                    "type": 1,
                                    "children": [
                                        {"type": 2, "text": "```py"},
                                        {"type": 2, "text": "x = 1\n", "lineBreakBefore": True},
                                    ],
                                }
                            }
                        }
                    ]
                }
            },
        },
        "usage": {"promptTokens": 10, "completionTokens": 7},
    },
    "isCanceled": False,
}
_VSCODE = {
    "version": 3,
    "requesterUsername": "u",
    "responderUsername": "GitHub Copilot",
    "initialLocation": "panel",
    "sessionId": "vs-1",
    "creationDate": 1_767_225_600_000,
}
VSCODE = _document({**_VSCODE, "requests": [_VSCODE_REQUEST]})
VSCODE_LINES = lines(
    {"kind": 0, "v": {**_VSCODE, "requests": []}},
    {"kind": 2, "k": ["requests"], "v": [{**_VSCODE_REQUEST, "response": [], "result": {}}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "I "}, {"value": "look"}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "read."}], "i": 1},
    {"kind": 1, "k": ["requests", 0, "modelId"], "v": "m-2"},
    {"kind": 3, "k": ["customTitle"]},
)

_SURROUNDINGS = (
    "<environment_details>\n# Current Workspace Directory (/p) Files\na.py\n\n# Current Mode\n<slug>code</slug>\n"
    "<name>Code</name>\n</environment_details>"
)


def _roo_call(id: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def _roo_result(id: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text}


ROO_SAID = _document(
    [
        {
            "role": "user",
            "content": [{"type": "text", "text": "<task>\nFix it.\n</task>"}, {"type": "text", "text": _SURROUNDINGS}],
            "ts": 1_767_225_601_000,
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                _roo_call("r-1", "apply_diff", {"path": "a.py", "operations": [{"search": "x", "replace": "y"}]}),
                _roo_call("r-2", "execute_command", {"command": "false", "cwd": "/p"}),
            ],
            "ts": 1_767_225_602_000,
        },
        {
            "role": "user",
            "content": [
                _roo_result("r-1", '{"path": "a.py", "operation": "modified", "notice": "Go on."}'),
                _roo_result("r-2", "Command failed with exit code 3.\nOutput:\nno"),
                {"type": "text", "text": _SURROUNDINGS},
            ],
            "ts": 1_767_225_603_000,
        },
        {
            "role": "assistant",
            "content": [
                _roo_call("r-3", "new_task", {"mode": "debug", "message": "Look why.", "todos": None}),
                _roo_call("r-4", "switch_mode", {"mode_slug": "ask", "reason": "to tell"}),
            ],
            "ts": 1_767_225_604_000,
        },
        {
            "role": "user",
            "content": [_roo_result("r-3", "It was the wrong name."), _roo_result("r-4", "Switched.")],
            "ts": 1_767_225_605_000,
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "ts": 1_767_225_606_000},
    ]
)

ROO_SHOWN = _document(
    [
        {"ts": 1_767_225_600_900, "type": "say", "say": "text", "text": "Fix it.", "images": []},
        {
            "ts": 1_767_225_601_000,
            "type": "say",
            "say": "api_req_started",
            "text": json.dumps(
                {
                    "request": _SURROUNDINGS,
                    "apiProtocol": "anthropic",
                    "tokensIn": 10,
                    "tokensOut": 7,
                    "cacheReads": 3,
                    "cost": 0.5,
                }
            ),
        },
    ]
)

SHARED_SAMPLES: dict[str, list[tuple[str, bytes]]] = {
    "amp": [("T-0001.json", AMP)],
    "roo_code": [
        ("tasks/roo-1/api_conversation_history.json", ROO_SAID),
        ("tasks/roo-2/ui_messages.json", ROO_SHOWN),
    ],
    "atif": [("trajectory.json", ATIF)],
    "cursor": [
        ("p/agent-transcripts/cu-2.jsonl", CURSOR),
        ("state.vscdb", CURSOR_DATABASE),
        ("p/agent-transcripts/cu-3.txt", CURSOR_TEXT),
    ],
    "inspect_ai": [("one.json", INSPECT), ("two.eval", INSPECT_ARCHIVE)],
    "mini_swe_agent": [("one-1.traj.json", MINI_SWE_AGENT)],
    "swe_agent": [("one.traj", SWE_AGENT)],
    "vscode_chat": [("vs-1.json", VSCODE), ("vs-2.jsonl", VSCODE_LINES)],
}
