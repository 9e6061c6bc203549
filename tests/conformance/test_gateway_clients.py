"""Real clients work on models of other makers: what they are asked to do in foreign words, they do in their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.behind_gateway import DONE, MODELS, Seen, tried


@pytest.mark.parametrize(
    "client, api",
    [
        ("claude_code", "gemini_generate"),
        ("claude_code", "openai_responses"),
        ("codex", "anthropic_messages"),
        ("gemini_cli", "openai_responses"),
    ],
)
def test_a_real_client_does_the_task_of_a_model_of_another_maker(client: str, api: str, tmp_path: Path) -> None:
    assert tried(client, api, tmp_path / "cell") == Seen(DONE, asked=len(MODELS[api][2]) + 1)
