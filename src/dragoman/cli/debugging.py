"""A run in the model's own words, for `--debug`: what it was offered, what it said, what it was told; no secrets."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman import engine
from dragoman.model import AnyEvent, FunctionDefinition, ModelAsked, ToolCalled, ToolReturned

from .terminal.console import as_json
from .vocabulary import shown


def offer(running: engine.Running) -> Iterator[str]:
    """What a model is offered, and what there is to know about it."""
    offered = running.offered
    yield f"offered in the words of {running.facade.dialect.name}, {len(offered)} tools:"
    for definition in offered:
        what = definition.parameters if isinstance(definition, FunctionDefinition) else definition
        yield f"  {definition.name} {as_json(what).decode()}"
    for note in (*running.facade.notes, *running.notes):
        yield f"  note on {note.tool}: {note.message}"


def model_words(event: AnyEvent) -> str | None:
    """An event in the model's own words, where it has any."""
    match event:
        case ModelAsked(step=step):
            return f"round {step}"
        case ToolCalled(call=call):
            return f"it said ({call.id}): {shown(call.native)}"
        case ToolReturned(result=result) if result.native is not None:
            content = result.native.content
            told = content if isinstance(content, str) else as_json(content).decode()
            return f"it was told ({result.call_id}): {told}"
    return None
