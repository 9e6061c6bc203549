"""The official JSON Schema test suite, which travels in the source distribution of PyPI's jsonschema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import problems_against
from tests.conformance.conftest import AGREEMENT
from tests.conformance.packages import source_distribution

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
    return "localhost:1234" in text or '"$ref": "http://json-schema.org' in text or "/2020-12/schema" in text


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
