"""Our tools in other people's frameworks: `BRIDGES` names them, each is loaded when it is asked for.

A bridge is one file and one line here. No framework is a dependency: the one that is used must be there already.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from dragoman.registry import Registry

Sdk = Literal["openai", "openai-chat", "anthropic", "google-genai"]
"""Those that leave the loop to their user: the tools run what a reply calls when they are told to."""

BRIDGES: Final[Registry[Any]] = Registry(
    "bridges",
    {
        "pydantic-ai": "dragoman.engine.bridges.pydantic_ai:PydanticAITools",
        "openai-agents": "dragoman.engine.bridges.openai_agents:OpenAIAgentsTools",
        "langchain": "dragoman.engine.bridges.langchain:LangChainTools",
        "openai": "dragoman.engine.bridges.openai:ResponsesTools",
        "openai-chat": "dragoman.engine.bridges.openai:ChatTools",
        "anthropic": "dragoman.engine.bridges.anthropic:AnthropicTools",
        "google-genai": "dragoman.engine.bridges.google_genai:GoogleTools",
    },
)
