"""Real clients work on models of other makers: what they are asked to do in foreign words, they do in their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients import faults
from tests.clients.behind_gateway import expected, tried
from tests.clients.matrix import HEAD, PAGE
from tests.clients.strict import Vocabulary

from .conftest import SHARED


@pytest.mark.parametrize(
    "client, api",
    [
        ("claude_code", "gemini_generate"),
        ("claude_code", "openai_responses"),
        ("codex", "anthropic_messages"),
        ("gemini_cli", "anthropic_messages"),
    ],
)
def test_a_real_client_does_the_task_of_a_model_of_another_maker(client: str, api: str, tmp_path: Path) -> None:
    assert tried(client, api, SHARED, tmp_path / "cell") == expected(client)


@pytest.mark.parametrize("client, fault", [("claude_code", "passing"), ("codex", "cut"), ("gemini_cli", "cut")])
def test_a_real_client_never_takes_half_an_answer_for_the_whole(client: str, fault: str, tmp_path: Path) -> None:
    seen = faults.tried(client, fault, tmp_path / "run")
    assert faults.is_right(client, fault, seen), seen


def test_two_real_clients_at_one_gateway_do_not_disturb_each_other(tmp_path: Path) -> None:
    assert faults.tried_together(tmp_path / "runs") == faults.EXPECTED_TOGETHER


def test_the_table_of_the_page_is_one_that_the_matrix_can_write() -> None:
    assert HEAD in PAGE.read_text().splitlines()


ASKED: dict[str, Any] = {
    # API → a request of a model that knows `Read{file_path}` or `exec_command{cmd}`, with the words of another.
    "anthropic_messages": {
        "tools": [
            {"name": "Read", "input_schema": {"properties": {"file_path": {}, "path": {}}}},
            {"name": "read_file", "input_schema": {}},
            {"type": "googleSearch", "name": "x"},
        ],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "name": "Read", "input": {"absolute_path": "a"}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "replace", "input": {}}]},
        ],
    },
    "openai_responses": {
        "tools": [
            {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}, "path": {}}}},
            {"type": "function", "name": "read_file", "parameters": {}},
            {"type": "googleSearch"},
        ],
        "input": [
            {"type": "function_call", "name": "exec_command", "arguments": '{"absolute_path": "a"}'},
            {"type": "custom_tool_call", "name": "replace", "input": ""},
        ],
    },
}


@pytest.mark.parametrize(
    "api, client, name", [("anthropic_messages", "claude-code", "Read"), ("openai_responses", "codex", "exec_command")]
)
def test_the_scripted_model_refuses_every_foreign_name_and_parameter(api: str, client: str, name: str) -> None:
    assert [*Vocabulary(client, SHARED).refusals(api, ASKED[api])] == [
        f"{name} has no parameter path",
        "no tool of this model: read_file",
        "no tool of this provider: googleSearch",
        f"{name} has no parameter absolute_path",
        "a call of replace, which is not offered",
    ]
