"""One event as machines read it: a JSON object with the same keys for every kind of event."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialects import with_intents
from dragoman.logs.base.raw_bytes import Cell, Original
from dragoman.model import AnyEvent, Step, ToolCalled


def event_line(event: AnyEvent, raw: Any = None) -> dict[str, Any]:
    """The object; what an event does not say is left out. `raw` is its original, as `written` has it."""
    if isinstance(event, ToolCalled):
        event = msgspec.structs.replace(event, call=with_intents(event.call))
    facts: dict[str, Any] = msgspec.to_builtins(event)
    line: dict[str, Any] = {}
    for key in ("id", "session", "client", "version", "time", "stream", "turn", "step", "kind"):
        if key in facts:
            line[key] = facts.pop(key)
    line.setdefault("stream", "main")
    call = facts.pop("call", None)
    if call is not None:
        native = call["native"]
        line["call"] = {"id": call["id"], "name": native["name"], "arguments": native.get("arguments", {})}
        line["operations"] = call["operations"]
        line["executed_by"] = native.get("executed_by", "client")
        beside = {key: call[key] for key in ("unmapped", "failure", "intents", "coercions") if call.get(key)}
        line["call"] |= beside
    result = facts.pop("result", None)
    if result is not None:
        native = result.get("native") or {}
        line["outcomes"] = result["outcomes"]
        line["executed_by"] = native.get("executed_by", "client")
        if native.get("is_error") is not None:
            line["is_error"] = native["is_error"]
        if "duration" in result:
            line["duration"] = result["duration"]
    source = facts.pop("source", None)
    line |= facts
    if source is not None:
        line["source"] = source
    if raw is not None:
        line["raw"] = raw
    return line


def model_of(step: Step) -> str | None:
    """The model whose reply a step is, where the log says so."""
    said: list[str | None] = [*(one.model for one in step.said), *(one.model for one in step.thought)]
    return next((model for model in said if model is not None), None)


def written(original: Original | None) -> Any:
    """An original as JSON can hold it: text where it is that, else base64; a row by its columns."""
    if isinstance(original, dict):
        return {"row": {column: _written_cell(cell) for column, cell in original.items()}}
    return _written_cell(original)


def _written_cell(cell: Cell) -> Any:
    if not isinstance(cell, bytes):
        return cell
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"base64": b64encode(cell).decode()}
