"""Every tool that was captured from a real client can be held by our model, whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from dragoman.model import Definition, FreeformDefinition, FunctionDefinition, ProviderDefinition

CLIENTS = ("claude-code", "cline", "codex", "continue", "copilot", "gemini-cli", "opencode", "pi", "qwen-code")


def captured_tools(shared: Path, client: str) -> Iterator[tuple[dict[str, Any], str]]:
    capture = msgspec.json.decode((shared / "vocab" / f"{client}.json").read_bytes())
    for tool_set in capture["tool_sets"]:
        for captured in tool_set["tools"]:
            yield captured, tool_set["wire"]


def definition_of(captured: dict[str, Any]) -> Definition:
    named = {"name": captured["name"], "description": "", "namespace": captured.get("namespace")}
    if captured["kind"] == "custom-freeform":
        form = captured["format"]
        return FreeformDefinition(**named, syntax=form["syntax"], grammar=form["definition"])
    if captured["kind"] == "native":
        wire_type, settings = native_parts(captured["native"])
        return ProviderDefinition(id=wire_type, wire_type=wire_type, name=captured["name"], settings=settings)
    return FunctionDefinition(
        **named,
        parameters=captured["schema"],
        strict=captured.get("strict"),
        deferred=captured.get("defer_loading", False),
    )


def native_parts(native: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A provider's own tool as type and settings: `{"type": …, …}`, or Gemini's single key `{"googleSearch": {}}`."""
    if "type" in native:
        settings = dict(native)
        return settings.pop("type"), settings
    ((wire_type, settings),) = native.items()
    return wire_type, settings


def test_every_captured_vocabulary_is_checked(shared: Path) -> None:
    assert sorted(path.stem for path in (shared / "vocab").glob("*.json")) == sorted(CLIENTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_captured_tool_is_a_definition_that_survives_json(shared: Path, client: str) -> None:
    definitions = [definition_of(captured) for captured, _ in captured_tools(shared, client)]
    assert definitions
    assert msgspec.json.decode(msgspec.json.encode(definitions), type=list[Definition]) == definitions


@pytest.mark.parametrize("client", CLIENTS)
def test_every_captured_schema_is_json_schema_except_geminis_own(shared: Path, client: str) -> None:
    for captured, wire in captured_tools(shared, client):
        if "schema" in captured and wire != "gemini-generateContent":
            Draft202012Validator.check_schema(captured["schema"])
