from __future__ import annotations

import pytest

from dragoman.model import genai
from tests.genai_conventions import NAMES, OPERATIONS, PROVIDERS, missing

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


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
TOKENS = "gen_ai.usage.input_tokens"


@pytest.mark.parametrize(
    "attributes, kind, failed, problem",
    [
        (CHAT, "client", False, None),
        (CHAT | {TOKENS: 3, "gen_ai.conversation.id": "s"}, "client", False, None),
        ({"gen_ai.operation.name": "chat"}, "client", False, "gen_ai.provider.name is required"),
        (CHAT | {"gen_ai.provider.name": ""}, "client", False, "gen_ai.provider.name is required"),
        ({"gen_ai.operation.name": "execute_tool"}, "internal", False, "gen_ai.tool.name is required"),
        (CHAT, "internal", False, "no internal span of 'chat' is in the conventions"),
        ({"gen_ai.operation.name": "ask"}, "client", False, "no client span of 'ask' is in the conventions"),
        (CHAT, "client", True, "error.type is required"),
        (CHAT | {"error.type": "denied"}, "client", False, "error.type, though it did not fail"),
        (CHAT | {TOKENS: "3"}, "client", False, f"{TOKENS} is not of type int: '3'"),
        (CHAT | {"gen_ai.tool.name": "x"}, "client", False, "gen_ai.tool.name is not an attribute of"),
        (CHAT | {"gen_ai.system": "x"}, "client", False, "gen_ai.system is not an attribute of"),
    ],
)
def test_what_the_conventions_ask_of_a_span_is_known(
    attributes: dict[str, object], kind: str, failed: bool, problem: str | None
) -> None:
    found = missing(attributes, kind, failed=failed)
    assert (len(found), problem is None or found[0].startswith(problem)) == (problem is not None, True)


def test_what_is_required_on_a_condition_is_required_where_it_holds() -> None:
    assert missing(CHAT, "client", available=["gen_ai.request.seed"]) == ["gen_ai.request.seed is required"]
