from __future__ import annotations

import pytest

from dragoman.model import genai
from tests.genai_conventions import NAMES, OPERATIONS, PROVIDERS

MODELS = [
    ("claude-opus-4-5", "anthropic"),
    ("us.anthropic.claude-sonnet-4-5-v1:0", "anthropic"),
    ("openai/gpt-5.2", "openai"),
    ("o3-mini", "openai"),
    ("azure:gpt-5", "azure.ai.openai"),
    ("models/gemini-3-pro", "gcp.gemini"),
    ("gemini:gemini-3-pro", "gcp.gemini"),
    ("xai:grok-4", "x_ai"),
    ("groq:llama-4", "groq"),
    ("devstral-2", "mistral_ai"),
    ("deepseek-v4", "deepseek"),
]


@pytest.mark.parametrize("model, provider", MODELS)
def test_the_provider_of_a_model_is_named_as_the_conventions_name_it(model: str, provider: str) -> None:
    assert (genai.provider_name(model), provider in PROVIDERS) == (provider, True)


def test_a_provider_that_is_named_counts_before_the_model_and_nothing_is_guessed() -> None:
    assert genai.provider_name("claude-x", "bedrock") == "aws.bedrock"
    assert genai.provider_name("claude-x", "mine") == "mine"
    assert (genai.provider_name("qwen3"), genai.provider_name(None)) == ("unknown", "unknown")


def test_every_attribute_is_one_of_the_conventions() -> None:
    names = {
        value for value in vars(genai).values() if isinstance(value, str) and value.startswith(("gen_ai.", "error."))
    }
    assert names <= NAMES
    assert {genai.CHAT, genai.EXECUTE_TOOL, genai.INVOKE_AGENT} <= OPERATIONS
