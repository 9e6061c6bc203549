"""Sessions as trajectories in the Agent Trajectory Interchange Format, version 1.7; agents inside who ran them.

One session is one JSON document; several are one per line. What the format has no field for stands in its `extra`s:
the operations a call means, the client's folder, tokens beyond its three counts, with `raw` the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import msgspec

from dragoman.errors import LogError
from dragoman.logs.history.sessions import sessions_of
from dragoman.logs.history.tables import as_json, failure_of, text_of
from dragoman.model import Media, Usage, events as ev

from .chosen import Chosen
from .lines import event_line, model_of

VERSION: Final = "ATIF-v1.7"
_PICTURES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def write(chosen: Chosen, out: BinaryIO) -> None:
    records = list(chosen.records())
    found = [_trajectory(session) for session in sessions_of(event for event, _ in records)]
    trajectories = [one for one in found if one is not None]
    if not trajectories:
        raise LogError("nothing was said or done in it: a trajectory has at least one step")
    lines = [event_line(event, raw) for event, raw in records if raw is not None]
    if lines:
        trajectories[0]["extra"]["records"] = lines
    for trajectory in trajectories:
        out.write(as_json(trajectory).encode() + b"\n")


def _trajectory(session: ev.Session) -> dict[str, Any] | None:
    agents = {child.stream if child.stream != "main" else child.id: child for child in session.children}
    below = {name: told for name, child in agents.items() if (told := _trajectory(child)) is not None}
    spawned: dict[str | None, list[dict[str, Any]]] = {}
    for name, told in below.items():
        reference = {"trajectory_id": told["trajectory_id"], "session_id": told["session_id"]}
        spawned.setdefault(agents[name].parent_call, []).append(reference)
    steps = [step for turn in session.turns for step in _steps(turn, spawned)]
    if not steps:
        return None
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    agent = {"name": session.client or "unknown", "version": session.version or "unknown"}
    return _said(
        {
            "schema_version": VERSION,
            "session_id": session.id,
            "trajectory_id": session.id if session.stream == "main" else f"{session.id}/{session.stream}",
            "agent": _said({**agent, "model_name": session.models[0] if session.models else None}),
            "steps": steps,
            "final_metrics": _totals(session, len(steps)),
            "extra": _said({"cwd": session.cwd, "title": session.title, "stream": session.stream}),
            "subagent_trajectories": list(below.values()) or None,
        }
    )


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


# ── steps ────────────────────────────────────────────────────────────────────


def _steps(turn: ev.Turn, spawned: dict[str | None, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    if turn.opened_by is not None:
        yield from _spoken(turn.opened_by)
    for event in turn.other:
        yield from _spoken(event)
    for step in turn.steps:
        told = _agent_step(step, spawned)
        if told is not None:
            yield told
        for event in step.other:
            yield from _spoken(event)


def _spoken(event: ev.AnyEvent) -> Iterator[dict[str, Any]]:
    """What others than the agent said."""
    match event:
        case ev.UserSaid():
            by = None if event.by == "user" else {"by": event.by}
            yield _step(event, "user", _content(event.text, event.media), by)
        case ev.SystemSaid():
            yield _step(event, "system", event.text)
        case ev.CommandInvoked():
            yield _step(event, "user", f"{event.name} {event.arguments or ''}".rstrip(), {"command": event.name})
        case ev.ContextCompacted():
            yield _step(event, "system", event.summary or "", {"context_compacted": event.trigger or "unknown"})
        case ev.Interrupted():
            yield _step(event, "system", event.text or "", {"interrupted": True})
        case ev.ErrorOccurred():
            yield _step(event, "system", event.message, {"error": event.code or event.status or "error"})


def _step(event: ev.AnyEvent, source: str, message: Any, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    return _said({"step_id": 0, "timestamp": _time(event), "source": source, "message": message, "extra": extra})


def _agent_step(step: ev.Step, spawned: dict[str | None, list[dict[str, Any]]]) -> dict[str, Any] | None:
    events: list[ev.AnyEvent] = [*step.thought, *step.said, *(use.called for use in step.tools)]
    metrics = _metrics(step.usage)
    if not events and metrics is None:
        return None
    times = [event.time for event in events if event.time is not None]
    media = [one for said in step.said for one in said.media]
    results = [_result(use, spawned) for use in step.tools]
    told = [result for result in results if result is not None]
    return _said(
        {
            "step_id": 0,
            "timestamp": min(times).isoformat() if times else None,
            "source": "agent",
            "model_name": model_of(step),
            "message": _content("\n".join(one.text for one in step.said), media),
            "reasoning_content": "\n".join(one.text for one in step.thought if one.text) or None,
            "tool_calls": [_call(use) for use in step.tools] or None,
            "observation": {"results": told} if told else None,
            "metrics": metrics,
        }
    )


def _call(use: ev.ToolUse) -> dict[str, Any]:
    call = use.called.call
    arguments = call.native.arguments
    meaning = {"operations": _plain(call.operations), "freeform": True if isinstance(arguments, str) else None}
    return {
        "tool_call_id": call.id,
        "function_name": call.native.name,
        "arguments": {"input": arguments} if isinstance(arguments, str) else arguments,
        "extra": _said(meaning),
    }


def _result(use: ev.ToolUse, spawned: dict[str | None, list[dict[str, Any]]]) -> dict[str, Any] | None:
    id = use.called.call.id
    references = spawned.get(id)
    if use.returned is None:
        return None if references is None else {"source_call_id": id, "subagent_trajectory_ref": references}
    result = use.returned.result
    failures = [word for outcome in result.outcomes if (word := failure_of(outcome, result.native)) is not None]
    native = result.native
    content = _content("", native.content) if native is not None and not isinstance(native.content, str) else None
    if content is None:
        text = native.content if native is not None and isinstance(native.content, str) and native.content else None
        content = text if text is not None else "\n".join(text_of(outcome) for outcome in result.outcomes)
    extra = {"outcomes": _plain(result.outcomes), "failure": failures[0] if failures else None}
    return _said(
        {
            "source_call_id": id,
            "content": content,
            "subagent_trajectory_ref": references,
            "extra": _said({**extra, "duration_sec": result.duration}),
        }
    )


def _content(text: str, pieces: Any = ()) -> Any:
    """A text, or parts where there are pictures the format has room for: with an address, not in the log itself."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append({"type": "text", "text": piece})
        elif piece.media_type in _PICTURES and piece.url is not None and "://" in piece.url:
            parts.append({"type": "image", "source": {"media_type": piece.media_type, "path": piece.url}})
        else:
            parts.append({"type": "text", "text": _described(piece)})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _described(media: Media) -> str:
    where = media.name or media.path or media.url or ""
    return f"[{media.media_type} {where}]".replace(" ]", "]")


def _plain(values: Any) -> Any:
    return msgspec.to_builtins(values)


def _time(event: ev.AnyEvent) -> str | None:
    return None if event.time is None else event.time.isoformat()


# ── tokens ───────────────────────────────────────────────────────────────────


def _prompt(usage: Usage) -> int | None:
    """All that was read, cached or not: that is how the format counts."""
    said = (usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens, usage.tool_tokens)
    known = [count for count in said if count is not None]
    return sum(known) if known else None


def _metrics(usage: Usage) -> dict[str, Any] | None:
    if usage.total is None:
        return None
    extra = {
        "reasoning_tokens": usage.reasoning_tokens,
        "cache_creation_input_tokens": usage.cached_write_tokens,
        "doubtful": list(usage.doubtful) or None,
    }
    return _said(
        {
            "prompt_tokens": _prompt(usage),
            "completion_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_read_tokens,
            "extra": _said(extra) or None,
        }
    )


def _totals(session: ev.Session, steps: int) -> dict[str, Any]:
    return _said(
        {
            "total_prompt_tokens": _prompt(session.usage),
            "total_completion_tokens": session.usage.output_tokens,
            "total_cached_tokens": session.usage.cached_read_tokens,
            "total_steps": steps,
            "extra": {"doubtful": list(session.usage.doubtful)} if session.usage.doubtful else None,
        }
    )
