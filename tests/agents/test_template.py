"""Templates: what is filled in, what stays, and that nothing is looked at twice."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from dragoman.agents import CustomTool
from dragoman.agents.checking import unmatched
from dragoman.agents.template import placeholders, prompt_of, render

NAMES = st.text(st.characters(exclude_characters="{}\n\r", exclude_categories=("Cs",)), min_size=1).filter(
    lambda name: name.strip() == name and name
)
BLANKS = st.text(st.sampled_from(" \t"), max_size=2)
# No brace, so that what stands beside a place cannot become part of one.
PLAIN = st.text(st.characters(exclude_characters="{}", exclude_categories=("Cs",)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=8,
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))


def written(value: object) -> object:
    """What a value must be in a prompt: itself when it is text, else what reads back from JSON."""
    return value if isinstance(value, str) else json.loads(json.dumps(value))


@given(st.lists(st.tuples(PLAIN, BLANKS, NAMES, BLANKS)), PLAIN, st.data())
def test_every_place_with_a_value_is_filled_and_every_other_stays(
    places: list[tuple[str, str, str, str]], end: str, data: st.DataObject
) -> None:
    names = list(dict.fromkeys(name for _, _, name, _ in places))
    given_names = data.draw(st.lists(st.sampled_from(names), unique=True) if names else st.just([]))
    values = {name: data.draw(JSON | TEXTS) for name in given_names}
    template = "".join(f"{before}{{{{{left}{name}{right}}}}}" for before, left, name, right in places) + end
    expected = ""
    for before, left, name, right in places:
        place = f"{{{{{left}{name}{right}}}}}"
        filled = values.get(name, place)
        expected += before + (filled if isinstance(filled, str) else render("{{x}}", {"x": filled}))
    assert render(template, values) == expected + end
    assert placeholders(template) == tuple(names)


@given(JSON)
def test_what_is_not_text_goes_in_as_json(value: object) -> None:
    text = render("{{x}}", {"x": value})
    assert (text if isinstance(value, str) else json.loads(text)) == written(value)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data())
def test_a_value_is_never_looked_into(names: list[str], data: st.DataObject) -> None:
    holding = st.lists(st.sampled_from(names), max_size=3).map(lambda held: "".join(f"{{{{{one}}}}}" for one in held))
    values = {name: data.draw(holding | TEXTS) for name in names}
    assert render("|".join(f"{{{{{name}}}}}" for name in names), values) == "|".join(values.values())


@given(TEXTS)
def test_a_template_without_values_is_left_as_it_is(template: str) -> None:
    assert render(template, {}) == template


@given(st.lists(NAMES, max_size=6), st.lists(NAMES, max_size=6, unique=True))
def test_a_check_reports_exactly_the_places_no_parameter_is_for(places: list[str], parameters: list[str]) -> None:
    prompt = "\n".join(f"{{{{ {name} }}}}" for name in places)
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in parameters}}
    tool = CustomTool(name="t", description="d", prompt=prompt, parameters=schema)
    left = render(prompt, dict.fromkeys(parameters, "filled"))
    assert unmatched(tool) == tuple(dict.fromkeys(name for name in places if name not in parameters))
    assert placeholders(left) == unmatched(tool)


@pytest.mark.parametrize(
    "template, expected",
    [
        ("{{a}}", "1"),
        ("{{ a }} {{\ta}}", "1 1"),
        ("{{{a}}}", "{1}"),
        ("{{a}}}}", "1}}"),
        ("{a} {{ }} {{}} {{a", "{a} {{ }} {{}} {{a"),
        ("{{#if a}}{{/if}}", "{{#if a}}{{/if}}"),
        ("{{a\n}}", "{{a\n}}"),
        ("{{A}} {{b}}", "{{A}} {{b}}"),
    ],
)
def test_only_double_braces_around_a_known_name_are_a_place(template: str, expected: str) -> None:
    assert render(template, {"a": 1}) == expected


def test_a_parameter_that_was_not_given_has_its_default() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "array", "default": [1]}, "c": {"type": "string"}}
    tool = CustomTool(
        name="t", description="d", prompt="{{a}} {{b}} {{c}}", parameters={"type": "object", "properties": properties}
    )
    assert prompt_of(tool, {"a": "x"}) == "x [1] {{c}}"
    assert prompt_of(tool, {"a": "x", "b": [], "c": None}) == "x [] null"
