"""Small logs of our own making of the clients that were added last; `samples.py` has the others and the list."""

from __future__ import annotations

import json
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


AGENT_SAMPLES: dict[str, list[tuple[str, bytes]]] = {
    "kimi_code": [
        ("session_k-1/agents/main/wire.jsonl", KIMI),
        ("session_k-1/agents/agent-0/wire.jsonl", KIMI_AGENTS_OWN),
    ],
}
