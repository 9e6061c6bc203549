"""What is not honoured is not promised: no description offered to a model names it, in any vocabulary and version."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import operations as op
from dragoman.model.calls import ExecutedBy
from dragoman.model.request import Definition, FunctionDefinition
from dragoman.tools.running import NOT_HONOURED

WORDS = {
    (op.ReadFile, "pages"): r"\bpages\b|\bPDF\b|\bdocument",
    (op.ViewImage, "detail"): r"\bdetail|\bresolution",
    (op.FetchPage, "instructions"): r"\binstruct|\bprompt|\bquestion|\bwanted from\b|\banswer|\bto find out\b",
    (op.WatchCommand, "url"): r"\burl\b|\bsocket|\baddress",
    (op.RunCommand, "unsandboxed"): r"sandbox|\bescalat",
}
"""Words that name a field to a model."""


def test_every_field_that_is_not_honoured_has_its_words() -> None:
    assert set(WORDS) == {(operation, field) for operation, fields in NOT_HONOURED.items() for field in fields}


def versions() -> Iterator[Dialect]:
    for name in DIALECTS.built_in:
        dialect: Dialect = DIALECTS[name]
        yield dialect
        yield from (dialect.at(version) for version in dialect.captured)


def texts(definition: Definition) -> str:
    """Everything a model reads of a tool but the names of required parameters."""
    if not isinstance(definition, FunctionDefinition):
        return getattr(definition, "description", "") or ""
    schema = definition.parameters
    names = [name for name in schema["properties"] if name not in schema.get("required", ())]
    inner = [_descriptions(one) for one in schema["properties"].values()]
    return " \n ".join((definition.description, *names, *inner))


def _descriptions(schema: object) -> str:
    return " ".join(re.findall(r'"description": "((?:[^"\\]|\\.)*)"', json.dumps(schema)))


@pytest.mark.parametrize("operation, field", WORDS)
def test_no_description_names_what_is_not_honoured(operation: type[op.Operation], field: str) -> None:
    words = re.compile(WORDS[operation, field], re.IGNORECASE)
    named = {
        (dialect.name, definition.name, found[0])
        for dialect in versions()
        if dialect.speaks(operation, executed_by=ExecutedBy.CLIENT)
        for definition in dialect.definitions({operation}, executed_by=ExecutedBy.CLIENT, ignoring=NOT_HONOURED)
        if (found := words.search(texts(definition))) is not None
    }
    assert named == set()


@pytest.mark.parametrize("operation, field", WORDS)
def test_the_same_words_are_there_where_it_is_honoured(operation: type[op.Operation], field: str) -> None:
    """Else the words above would prove nothing."""
    words = re.compile(WORDS[operation, field], re.IGNORECASE)
    assert any(
        words.search(texts(definition))
        for dialect in versions()
        if dialect.speaks(operation, executed_by=ExecutedBy.CLIENT)
        for definition in dialect.definitions({operation}, executed_by=ExecutedBy.CLIENT)
    )
