"""Tool schemas of recorded requests: what a provider took is offered as it was, what it refused is fixed or told."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import transform_schema
from openai.lib._pydantic import _ensure_strict_json_schema

from dragoman.apis.lowering import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    GEMINI_JSON,
    GEMINI_SCHEMA,
    OPENAI,
    OPENAI_STRICT,
    Rules,
    lower,
    lower_tools,
    restore,
)
from dragoman.dialects import DIALECTS
from dragoman.model.request import FunctionDefinition, Limits

OWNERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "gemini-generate": "google",
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own making, where it is compiled the first time
    from google.genai import types

Tool = tuple[str, Any, Rules]
"""The recording, the schema, and the rules it was sent under."""


@pytest.fixture(scope="session")
def recorded(shared: Path) -> tuple[list[Tool], list[Tool]]:
    """Tools of native requests, each schema once: those that were taken, and those that were refused."""
    taken: dict[tuple[str, str], Tool] = {}
    refused: dict[tuple[str, str], Tool] = {}
    for line in (shared / "cassettes" / "index.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["has_request"] and not any(
            tag.startswith("compat:") or tag == "synthetic_suspect" for tag in row["tags"]
        ):
            request = json.loads((shared / "cassettes" / row["file"]).read_text())["request"]
            into = taken if row["status"] < 400 else refused
            for schema, rules in tools(row["provider_api"], request):
                into.setdefault((rules.name, json.dumps(schema)), (row["id"], schema, rules))
    return list(taken.values()), list(refused.values())


def tools(api: str, request: Any) -> Iterator[tuple[Any, Rules]]:
    offered = (request.get("tools") or []) if isinstance(request, dict) else []
    # Gemini takes one tool for a list of one.
    for tool in [offered] if isinstance(offered, dict) else offered:
        if api == "openai-chat" and isinstance(tool.get("function"), dict) and "parameters" in tool["function"]:
            yield tool["function"]["parameters"], OPENAI_STRICT if tool["function"].get("strict") else OPENAI
        elif api == "openai-responses" and tool.get("type") == "function" and tool.get("parameters") is not None:
            yield tool["parameters"], OPENAI_STRICT if tool.get("strict") else OPENAI
        elif api == "anthropic-messages" and "input_schema" in tool:
            yield tool["input_schema"], ANTHROPIC_STRICT if tool.get("strict") else ANTHROPIC
        for function in tool.get("functionDeclarations") or tool.get("function_declarations") or ():
            for key, rules in (
                ("parameters", GEMINI_SCHEMA),
                ("parametersJsonSchema", GEMINI_JSON),
                ("parameters_json_schema", GEMINI_JSON),
            ):
                if function.get(key) is not None:
                    yield function[key], rules


def test_what_was_taken_is_offered_without_problems(recorded: tuple[list[Tool], list[Tool]]) -> None:
    taken, _ = recorded
    problems = {name: lowered.problems for name, schema, rules in taken if (lowered := lower(schema, rules)).problems}
    assert problems == {}
    assert len(taken) > 500


CHANGED = {
    "gemini-generate-32e45678fde3": "a `format` that Gemini's page does not list, though this model took it",
    "openai-responses-105437e99a63": "an enum beside alternatives that leaves no room for one of them",
}


def test_what_was_taken_is_offered_as_it_was(recorded: tuple[list[Tool], list[Tool]]) -> None:
    taken, _ = recorded
    changed = {}
    for name, schema, rules in taken:
        offered = lower(schema, rules).schema
        expected = in_upper_case(schema) if rules is GEMINI_SCHEMA else schema
        if offered != expected:
            changed[name] = (rules.name, expected, offered)
    assert {name: found for name, found in changed.items() if name not in CHANGED} == {}
    assert changed.keys() == CHANGED.keys()


def test_what_was_refused_for_its_schema_is_fixed_or_a_problem(recorded: tuple[list[Tool], list[Tool]]) -> None:
    """The recordings whose error is about the schema, and what would be sent instead."""
    _, refused = recorded
    lowered = {name: lower(schema, rules) for name, schema, rules in refused}
    told = {
        "anthropic-messages-2b69909b5eb7",  # definitions that lead only to each other
        "anthropic-messages-9af4aaae271e",  # a root that is a string
        "anthropic-messages-af3f96e95709",  # a definition that holds itself
        "anthropic-messages-c303dc071ac7",  # a root that is a string
    }
    assert {name for name, one in lowered.items() if one.problems} == told
    for name in lowered.keys() - told:
        assert lowered[name].schema["type"] == "object"
    assert lowered["openai-responses-150e668a11c2"].schema["required"] == ["location", "unit"]
    assert restore(lowered["openai-responses-150e668a11c2"], {"location": "Rome", "unit": None}) == {"location": "Rome"}


def test_the_counts_anthropic_refused_are_refused_before(recorded: tuple[list[Tool], list[Tool]]) -> None:
    limits = Limits(strict_tool_count=20, strict_optional_parameters=24, strict_unions=16)
    schemas = {name: schema for name, schema, _ in recorded[1]}
    for name in ("anthropic-messages-5996edee1947", "anthropic-messages-f13fef700a45"):
        (asked,), _ = lower_tools(
            [FunctionDefinition("t", "", schemas[name], strict=True)], ANTHROPIC, ANTHROPIC_STRICT, limits
        )
        assert len(asked.problems) == 1
        (left_open,), _ = lower_tools([FunctionDefinition("t", "", schemas[name])], ANTHROPIC, ANTHROPIC_STRICT, limits)
        assert (left_open.strict, left_open.problems) == (False, ())


# ── the SDKs' own rules ──────────────────────────────────────────────────────


def every_schema_of_the_dialects() -> Iterator[tuple[str, Any]]:
    for dialect in (DIALECTS[name] for name in DIALECTS.built_in):
        for definition in dialect.definitions():
            if isinstance(definition, FunctionDefinition):
                yield f"{dialect.name}.{definition.name}", definition.parameters


def test_strict_schemas_of_the_dialects_are_strict_to_openais_sdk() -> None:
    checked = 0
    for name, schema in every_schema_of_the_dialects():
        lowered = lower(schema, OPENAI_STRICT)
        if lowered.lossless:
            theirs = _ensure_strict_json_schema(
                copy.deepcopy(lowered.schema), path=(), root=copy.deepcopy(lowered.schema)
            )
            assert without_null_defaults(lowered.schema) == theirs, name
            checked += 1
    assert checked > 20


def test_strict_schemas_of_the_dialects_are_kept_by_anthropics_sdk() -> None:
    checked = 0
    for name, schema in every_schema_of_the_dialects():
        lowered = lower(schema, ANTHROPIC_STRICT)
        if lowered.lossless:
            theirs = transform_schema(copy.deepcopy(lowered.schema))
            assert without_types_of_values(lowered.schema) == theirs, name
            checked += 1
    assert checked > 20


def test_schemas_of_the_dialects_are_read_by_googles_sdk() -> None:
    checked = 0
    for name, schema in every_schema_of_the_dialects():
        legacy = lower(schema, GEMINI_SCHEMA)
        assert legacy.problems == (), name
        types.Schema.model_validate(legacy.schema)
        types.FunctionDeclaration(name="t", parameters_json_schema=lower(schema, GEMINI_JSON).schema)
        checked += 1
    assert checked > 50


def without_null_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_null_defaults(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_null_defaults(value) for key, value in schema.items() if not (key == "default" and value is None)
    }


def without_types_of_values(schema: Any) -> Any:
    """Anthropic's SDK leaves the type out where values are listed."""
    if isinstance(schema, list):
        return [without_types_of_values(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    listed = {"enum", "const"} & schema.keys()
    return {key: without_types_of_values(value) for key, value in schema.items() if not (key == "type" and listed)}


def in_upper_case(schema: Any) -> Any:
    """Gemini's `Schema` as its page has it; the service takes lower case, too."""
    if isinstance(schema, list):
        return [in_upper_case(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.upper() if key == "type" and isinstance(value, str) else in_upper_case(value)
        for key, value in schema.items()
    }
