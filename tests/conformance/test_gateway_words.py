"""What real clients were seen to offer, in the words of every model: nothing passes through that the model can say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.dialects import Dialect
from dragoman.engine.models import dialect_of, family_of
from dragoman.model import Definition, ExecutedBy, FreeformDefinition, FunctionDefinition, operations as op
from dragoman.serve.gateway import CLIENTS, Words
from dragoman.serve.gateway.clients import at
from tests.conformance import vocabulary as vocab

from .test_vocab_offered import CLIENTS as DIALECT_OF

MODELS = ("claude-sonnet-4-5", "gemini-2.5-pro", "gemini-3-pro-preview", "glm-4.6", "gpt-4o", "gpt-5.5", "qwen3-coder")
EXCEPTIONS = {
    # Tool of a client, vocabulary of a model → why it passes through although the model has a tool for it.
    ("Workflow", "codex"): "Codex's tool for programs calls the other tools, and is offered instead of them",
}
BY_DIALECT = {client.dialect: client for client in CLIENTS.values()}


def said_by(model: Dialect) -> set[type[op.Operation]]:
    """Every operation that a model can be offered a tool for."""
    own = [one for one in model.spellings if model.offers(one) and one.read_only is None and one.only_by_id is None]
    return {meant for one in own if one.executed_by is ExecutedBy.CLIENT for meant in one.operation_types}


def offered(tool_set: vocab.ToolSet) -> Iterator[Definition]:
    for tool in tool_set.tools:
        if tool.kind == "function":
            yield FunctionDefinition(str(tool.name), "", tool.schema or {"type": "object"}, namespace=tool.namespace)
        elif tool.kind != "native":
            yield FreeformDefinition(str(tool.name), "", namespace=tool.namespace)


@pytest.mark.parametrize("client", DIALECT_OF)
def test_no_tool_passes_through_whose_operation_the_model_can_say(client: str, shared: Path) -> None:
    found = BY_DIALECT[DIALECT_OF[client]]
    passed, translated = [], 0
    for tool_set in vocab.capture_of(shared, client).tool_sets:
        own = at(found.dialect, tool_set.version)
        for name in MODELS:
            model = at(dialect_of(name), None, family_of(name))
            if model.name == own.name:
                continue
            words = Words(
                tuple(offered(tool_set)),
                client=own,
                model=model,
                reads_first=found.reads_first,
                reads_pictures=found.reads_pictures,
                agent=found.agent,
            )
            translated += len(words.names)
            said = said_by(model)
            found_passed = [one for one in words.passed if own.meanings(one) & said]
            passed += [(tool_set.version, one, name) for one in found_passed if (one, model.name) not in EXCEPTIONS]
    assert (passed, translated > 0) == ([], True)
