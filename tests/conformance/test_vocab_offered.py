"""Every client's dialect against its captured definitions: known, and offered as each version and family had it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS
from tests.conformance import vocabulary as vocab

CLIENTS = {
    # client → its dialect
    "claude-code": "claude_code",
    "cline": "cline",
    "codex": "codex",
    "continue": "continue",
    "copilot": "copilot",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "pi": "pi",
    "qwen-code": "qwen_code",
}
SCHEMAS_OF_THE_RUN = ("gemini-cli", "qwen-code")
"""Clients some of whose schemas depend on the run: their own files say which, and compare the rest."""


@pytest.mark.parametrize("client", CLIENTS)
def test_every_tool_of_every_version_is_known_with_all_its_parameters(client: str, shared: Path) -> None:
    dialect, capture = DIALECTS[CLIENTS[client]], vocab.all_captured(shared, client)
    assert vocab.not_known(dialect, capture) == set()
    assert vocab.read_as_unknown(dialect, capture) == set()


@pytest.mark.parametrize("client", CLIENTS)
def test_each_version_and_family_is_offered_what_it_had(client: str, shared: Path) -> None:
    dialect, capture = DIALECTS[CLIENTS[client]], vocab.capture_of(shared, client)
    wrong = [
        problem
        for version in capture.versions
        for family in capture.families(version)
        for problem in vocab.offered_wrongly(dialect, capture, version, family)
    ]
    assert wrong == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_newest_version_is_offered_when_none_is_named(client: str, shared: Path) -> None:
    dialect = DIALECTS[CLIENTS[client]]
    newest = vocab.capture_of(shared, client).versions[-1]
    assert dialect.definitions() == dialect.at(newest).definitions()


@pytest.mark.parametrize("client", [client for client in CLIENTS if client not in SCHEMAS_OF_THE_RUN])
def test_offered_schemas_agree_with_the_captured_ones_but_for_what_is_declared(client: str, shared: Path) -> None:
    dialect, capture = DIALECTS[CLIENTS[client]], vocab.capture_of(shared, client)
    different = {version: vocab.schema_differences(dialect, capture, version) for version in capture.versions}
    assert different == {version: {} for version in capture.versions}
