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
