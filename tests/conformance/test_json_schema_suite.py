"""The official JSON Schema test suite, which travels in the source distribution of PyPI's jsonschema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from dragoman.apis.lowering import ANTHROPIC, GEMINI_SCHEMA, OPENAI, Lowered, Rules, lower, restore
from dragoman.schema import problems_against
from tests.conformance.conftest import AGREEMENT
from tests.conformance.packages import source_distribution
from tests.laws.test_lowering_laws import APIS, plain

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.fixture(scope="session")
def suite() -> Path:
    return source_distribution("jsonschema", version("jsonschema")) / "json" / "tests"


def groups(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each schema of a draft with the values it is tried on."""
    for file in sorted(folder.glob("*.json")):
        for group in json.loads(file.read_text()):
            yield f"{file.stem}: {group['description']}", group


def leads_out(group: dict[str, Any]) -> bool:
    """Whether a schema is about documents that are not in it; those of the suite are all on these two hosts."""
    text = json.dumps(group["schema"])
    return "localhost:1234" in text or any(
        f'"$ref": "{scheme}://json-schema.org' in text for scheme in ("http", "https")
    )


@pytest.mark.parametrize("draft, least", [("draft2020-12", 1204), ("draft7", 886)])
def test_values_are_judged_as_the_suite_says(
    suite: Path, draft: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    agrees, total, refused, wrong = 0, 0, 0, []
    for name, group in groups(suite / draft):
        schema = group["schema"]
        if draft == "draft7" and isinstance(schema, dict):
            schema = {"$schema": DRAFT_7, **schema}
        for case in group["tests"]:
            total += 1
            problems = problems_against(schema, case["data"])
            if any("cannot be checked" in problem for problem in problems):
                # A definition error that says why: nothing is fetched.
                assert leads_out(group), (name, problems)
                assert all("is outside this schema" in one or "$schema" in one for one in problems), problems
                refused += 1
            elif case["valid"] == (problems == []):
                agrees += 1
            else:
                wrong.append((name, case["description"], problems))
    refusals = f"{refused} refused when defined, for the schema leads out of itself"
    record_property(AGREEMENT, f"JSON Schema {draft}: {agrees} of {total} agree, {refusals}")
    assert wrong == []
    assert agrees >= least


OPTIONAL = (
    *("anchor", "bignum", "dependencies-compatibility", "dynamicRef", "ecmascript-regex", "float-overflow", "id"),
    *("no-schema", "non-bmp-regex", "refOfUnknownKeyword", "unknownKeyword"),
)
"""Optional files of the suite that are held to: not those of `format` and `content…`, which refuse nothing here, nor
`cross-draft`, which leads out of its schemas."""


@pytest.mark.parametrize("draft, least", [("draft2020-12", 153), ("draft7", 106)])
def test_optional_behaviour_is_as_the_suite_says(
    suite: Path, draft: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    agrees, wrong = 0, []
    for name, group in groups(suite / draft / "optional"):
        schema = group["schema"]
        if draft == "draft7" and isinstance(schema, dict):
            schema = {"$schema": DRAFT_7, **schema}
        for case in group["tests"] if name.partition(":")[0] in OPTIONAL else ():
            problems = problems_against(schema, case["data"])
            agrees += case["valid"] == (problems == [])
            wrong += [(name, case["description"], problems)] if case["valid"] != (problems == []) else []
    record_property(AGREEMENT, f"JSON Schema {draft}, optional: {agrees} of {agrees + len(wrong)} agree")
    assert wrong == []
    assert agrees >= least


def as_parameters(group: dict[str, Any]) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """A schema of the suite as that of arguments, and as that of one of them; and how its values are given then."""
    schema = group["schema"]
    if isinstance(schema, dict):
        yield schema, lambda value: value
    if '"$id"' not in json.dumps(schema):
        parameters = {"value": below(schema, "#/properties/value")}
        closed = {"properties": parameters, "required": ["value"], "additionalProperties": False}
        yield {"type": "object", **closed}, lambda value: {"value": value}


def below(schema: Any, place: str) -> Any:
    """A schema that stands at another place in its document."""
    if isinstance(schema, list):
        return [below(one, place) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: place + value[1:]
        if key in ("$ref", "$dynamicRef") and isinstance(value, str) and (value == "#" or value.startswith("#/"))
        else below(value, place)
        for key, value in schema.items()
    }


@pytest.mark.parametrize("draft, least", [("draft2020-12", 4000), ("draft7", 3700)])
def test_what_is_called_lossless_takes_what_the_original_takes(
    suite: Path, draft: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    claims, wrong = 0, []
    for name, group in groups(suite / draft):
        for schema, given in () if leads_out(group) else as_parameters(group):
            if draft == "draft7":
                schema = {"$schema": DRAFT_7, **schema}
            for rules in APIS:
                lowered = lower(schema, rules)
                if lowered.sound:
                    for case in group["tests"]:
                        if isinstance(arguments := given(case["data"]), dict):
                            claims += 1
                            wrong += [(rules.name, name, why) for why in differences(schema, lowered, rules, arguments)]
    agrees = claims - len(wrong)
    record_property(AGREEMENT, f"JSON Schema {draft}, lowered without loss or narrowed: {agrees} of {claims} agree")
    assert wrong == []
    assert claims > least


def validator_of(schema: Any) -> type[Draft7Validator] | type[Draft202012Validator]:
    """By the draft that the schema names."""
    return Draft7Validator if schema.get("$schema") == DRAFT_7 else Draft202012Validator


def differences(schema: Any, lowered: Lowered, rules: Rules, arguments: dict[str, Any]) -> Iterator[str]:
    # OpenAI and Anthropic get the schema as it is; the other forms have OpenAPI's words in them.
    as_it_is = rules in (OPENAI, ANTHROPIC)
    offered = lowered.schema if as_it_is else plain(lowered.schema, closed=rules is GEMINI_SCHEMA)
    original = validator_of(schema)(schema)
    takes = validator_of(offered)(offered).is_valid(arguments)
    if takes and not original.is_valid(restore(lowered, arguments)):
        yield f"takes {arguments}, which the original refuses"
    if not takes and lowered.lossless and lowered.undo is None and original.is_valid(arguments):
        yield f"refuses {arguments}, which the original takes"
