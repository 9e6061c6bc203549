"""A run in the model's own words, for `--debug`: what it was offered, what it said, what it was told; no secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dragoman.model import AnyEvent, FunctionDefinition, ModelAsked, ToolCalled, ToolReturned

from .console import as_json
from .vocabulary import shown

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.engine import Facade

_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8
MASK: Final = "********"


def secrets_of(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every text that is a secret here: keys of the settings, and what the environment calls by such a name."""
    found = {value for name, value in environment.items() if _NAMES.search(name)}
    found |= {section.api_key.reveal() for section in configuration.settings.providers.values() if section.api_key}
    return tuple(sorted((one.strip() for one in found if len(one.strip()) >= _SHORTEST), key=len, reverse=True))


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """Text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def offer(facade: Facade) -> Iterator[str]:
    """What a model is offered."""
    yield f"offered in the words of {facade.dialect.name}, {len(facade.definitions)} tools:"
    for definition in facade.definitions:
        what = definition.parameters if isinstance(definition, FunctionDefinition) else definition
        yield f"  {definition.name} {as_json(what).decode()}"
    for note in facade.notes:
        yield f"  note on {note.tool}: {note.message}"


def heard(event: AnyEvent) -> str | None:
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
