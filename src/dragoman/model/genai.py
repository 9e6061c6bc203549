"""What OpenTelemetry's GenAI conventions call things: attributes of runs, questions and calls, live and recorded."""

from __future__ import annotations

from typing import Any, Final

from .calls import NativeCall
from .conversation import Usage

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

UNKNOWN: Final = "unknown"
"""The provider where neither a name nor the model tells: the conventions require the attribute, and allow any word."""
_PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai_chat": "openai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Our names of providers that the conventions call otherwise."""
_MAKERS: Final = (
    (("claude",), "anthropic"),
    (("gpt-", "chatgpt", "codex", "o1", "o3", "o4"), "openai"),
    (("gemini",), "gcp.gemini"),
    (("grok",), "x_ai"),
    (("deepseek",), "deepseek"),
    (("mistral", "codestral", "devstral", "magistral", "ministral", "pixtral"), "mistral_ai"),
    (("command",), "cohere"),
    (("sonar",), "perplexity"),
)
"""Who serves a model of such a name, where nobody says it."""


def provider_name(model: str | None, provider: str | None = None) -> str:
    """Who serves a model, as the conventions call it, to the best of our knowledge."""
    before, colon, _ = (model or "").partition(":")
    if provider or (colon and before.isidentifier()):
        named = provider or before
        return _PROVIDERS.get(named, named)
    name = (model or "").rpartition("/")[2].rpartition(".anthropic.")[2].removeprefix("anthropic.").lower()
    return next((maker for starts, maker in _MAKERS if name.startswith(starts)), UNKNOWN)


def tool_attributes(native: NativeCall) -> dict[str, Any]:
    """What the span of a call says."""
    return {
        OPERATION: EXECUTE_TOOL,
        "gen_ai.tool.name": native.name,
        "gen_ai.tool.call.id": native.id,
        "gen_ai.tool.type": "extension" if native.executed_by == "provider" else "function",
    }


def token_attributes(usage: Usage) -> dict[str, Any]:
    """What the span of a question says about tokens; `None` for what was not said."""
    read, written = usage.cached_read_tokens, usage.cached_write_tokens
    told = [count for count in (usage.input_tokens, read, written) if count is not None]
    return {
        "gen_ai.usage.input_tokens": sum(told) if told else None,  # the conventions count cached ones among them
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }
