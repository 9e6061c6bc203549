"""Laws of results that are declared: what a template writes it reads again, whatever the text is.

They run over every template of every dialect that is listed, with text made of the template's own words.
"""

from __future__ import annotations

import typing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.default_words import unnumbered
from dragoman.dialects.base.template import Template
from dragoman.dialects.base.template_parts import Body, Hole, OptionalPart, SeveralWays, fields_of
from dragoman.dialects.base.words import Results
from dragoman.dialects.plugins.samples import plain_values
from dragoman.model import operations as op
from tests.examples import examples
from tests.strategies import values


def _declared() -> list[tuple[str, Results, type[op.Operation]]]:
    found: dict[int, tuple[str, Results, type[op.Operation]]] = {}
    for name in DIALECTS.built_in:
        for spelling in DIALECTS[name].spellings:
            if isinstance(spelling.results, Results):
                label = f"{name} {spelling.native_name}"
                found.setdefault(id(spelling.results), (label, spelling.results, spelling.operation_types[0]))
    return list(found.values())


DECLARED = _declared()
TEMPLATES = [
    pytest.param(results, template, operation, id=f"{label} {number}")
    for label, results, operation in DECLARED
    for number, template in enumerate(results.templates())
    if template.to is None and template.back is None
]


def _texts(template: Template) -> list[str]:
    """The words of a template, to write texts that imitate it."""
    found: list[str] = []

    def collect(nodes: typing.Iterable[Any]) -> None:
        for node in nodes:
            if isinstance(node, str):
                found.append(node)
            elif isinstance(node, OptionalPart):
                collect(node.nodes)
            elif isinstance(node, SeveralWays):
                for one in node.ways:
                    collect(one.nodes)

    collect(template.nodes)
    return [*found, "\n", "\r\n", "\u2028", "\x0c", "\x85", "a", "1", " ", "-", ""]


def _of_field(template: Template, name: str, texts: list[str]) -> st.SearchStrategy[Any]:
    hint = template.hints[name]
    if hint is str or hint == str | None:
        return st.lists(st.sampled_from(texts), max_size=4).map("".join)
    return values(hint)


@st.composite
def said_by(draw: st.DrawFn, template: Template, operation: op.Operation) -> Any:
    """A struct of which only what this template says is set: one way of each choice, any optional part."""
    texts = _texts(template)
    fields: dict[str, Any] = {}

    def fill(nodes: typing.Iterable[Any]) -> None:
        for node in nodes:
            if isinstance(node, Hole):
                for name in fields_of(node):
                    if name in template.hints:
                        fields[name] = draw(_of_field(template, name, texts))
            elif isinstance(node, OptionalPart) and node.written:
                there = draw(st.booleans())
                if there:
                    fill(node.nodes)
                    fields.update({name: not value for name, value in node.absent.items() if isinstance(value, bool)})
                else:
                    fields.update(node.absent)
            elif isinstance(node, SeveralWays):
                one = draw(st.sampled_from(node.ways))
                fill(one.nodes)
                fields.update(_constants(one.facts, operation))

    fill(template.nodes)
    fields.update(_constants(template.facts, operation))
    return template.struct(**fields)


def _constants(facts: typing.Mapping[str, Any], operation: op.Operation) -> dict[str, Any]:
    found = {}
    for name, fact in facts.items():
        if name.startswith("when_") or type(fact).__name__ == "_Any":
            continue
        if type(fact).__name__ == "_Called":
            if getattr(operation, name) is not None:
                found[name] = getattr(operation, name)
        else:
            found[name] = fact.value if type(fact).__name__ == "Reads" else fact
    return found


def _imitates(template: Template, item: Any) -> bool:
    """Whether the text ends like an optional part, which nobody can tell from one; or is the word for nothing."""
    pivot = template.pivot
    if pivot is None:
        return False
    value = getattr(item, pivot.field, None)
    text = pivot.kind.write(value, op.Unrecognised("")) if isinstance(pivot.kind, Body) else value
    return isinstance(text, str) and any(part in text for part in template.imitable)


@pytest.mark.parametrize("results, template, asked", TEMPLATES)
@examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.slow
def test_what_a_template_writes_it_reads_again(
    results: Results, template: Template, asked: type[op.Operation], data: st.DataObject
) -> None:
    operation = plain_values(template.asked[0] if template.asked else asked)[0]
    item = data.draw(said_by(template, operation))
    text = template.write(item, operation)
    if text is None or _imitates(template, item):
        return
    pivot = template.pivot
    lossy = pivot.field if pivot is not None and isinstance(pivot.kind, Body) and pivot.kind.loss else None
    again = template.read(text, operation)
    assert again is not None, text
    for name in template.written_fields():
        if name != lossy:
            assert getattr(again, name) == getattr(item, name), (name, text)
    assert template.write(again, operation) == text


@pytest.mark.parametrize("results, template, asked", TEMPLATES)
@examples(20)
@given(data=st.data())
@pytest.mark.slow
def test_any_text_is_read_as_an_outcome_that_is_written_so_or_stays_text(
    results: Results, template: Template, asked: type[op.Operation], data: st.DataObject
) -> None:
    operation = plain_values(template.asked[0] if template.asked else asked)[0]
    text = data.draw(st.lists(st.sampled_from(_texts(template)), max_size=8).map("".join))
    first = results.read_text(text, operation)
    written = None if first is None else results.write(operation, first)
    if isinstance(written, str):
        assert results.read_text(written, operation) is not None


@pytest.mark.parametrize("results, asked", [pytest.param(one, asked, id=label) for label, one, asked in DECLARED])
def test_a_long_text_that_almost_matches_is_read_in_no_time(results: Results, asked: type[op.Operation]) -> None:
    operation = plain_values(asked)[0]
    for template in results.templates():
        for piece in _texts(template):
            results.read_text(template.lead + piece * (50_000 // max(1, len(piece))), operation)


@examples(100)
@given(
    st.integers(0, 3000),
    st.lists(st.text("12 \t→|x\r\v٣", max_size=6), min_size=1, max_size=12),
    st.sampled_from(["", " ", "     "]),
    st.data(),
)
def test_numbered_lines_are_told_apart_from_all_others(
    first: int, lines: list[str], padding: str, data: st.DataObject
) -> None:
    numbers = [*range(first, first + len(lines))]
    text = "\n".join(f"{padding}{number}\t{line}" for number, line in zip(numbers, lines, strict=True))
    assert unnumbered(text) == (first, "\n".join(lines))
    if len(lines) > 1:
        numbers[data.draw(st.integers(0, len(lines) - 1))] += data.draw(st.sampled_from([-1, 1, 10]))
        other = "\n".join(f"{padding}{number}\t{line}" for number, line in zip(numbers, lines, strict=True))
        assert unnumbered(other) is None
    assert unnumbered(f"{text}\nno number") is None


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n"), max_size=6) | st.just("| : 7: "), min_size=1),
    first=st.integers(1, 2_600),
    mark=st.sampled_from([": ", "| "]),
    digits=st.sampled_from([1, 5]),
    data=st.data(),
)
def test_numbered_lines_are_read_the_same_whichever_way(
    lines: list[str], first: int, mark: str, digits: int, data: st.DataObject
) -> None:
    """With the marks named, which spares a pattern, and by the pattern alone."""
    numbers = [f"{number:0{digits}}{mark}" for number in range(first, first + len(lines))]
    if data.draw(st.booleans()):
        other = data.draw(st.sampled_from(["", " 1: ", f"{first}: ", f"{first}", "| ", "000: "]))
        numbers[data.draw(st.integers(0, len(lines) - 1))] = other
    text = "\n".join(map(str.__add__, numbers, lines))
    assert unnumbered(text, r"(?::\ |\|\ )", (": ", "| ")) == unnumbered(text, r"(?::\ |\|\ )", ())
