"""What a type checker says of settings of provider tools. It is run by `make check`, which covers this folder.

Each wrong use is marked with the error it must give: a type checker that accepts one reports the mark as unused.
"""

from __future__ import annotations

from dragoman import ProviderTool
from dragoman.dialects import anthropic, google, openai


def right() -> list[ProviderTool]:
    return [
        ProviderTool("openai.web_search"),
        ProviderTool("openai.web_search", {"search_context_size": "low"}),
        ProviderTool("openai.web_search", openai.WebSearchSettings(search_context_size="low")),
        ProviderTool("azure.web_search", openai.WebSearchSettings(), label="a"),
        ProviderTool("anthropic.web_search_20250305", anthropic.WebSearchSettings(max_uses=3)),
        ProviderTool("google.google_search", google.GoogleSearchSettings()),
        ProviderTool("openai.dig_20991231", {"depth": 3}),
    ]


def wrong(store: openai.FileSearchSettings, elsewhere: anthropic.WebSearchSettings) -> None:
    ProviderTool("openai.web_search", store)  # type: ignore[misc]
    ProviderTool("openai.web_search", elsewhere)  # type: ignore[misc]
    ProviderTool("anthropic.computer_20250124", elsewhere)  # type: ignore[misc]
    ProviderTool("openai.web_search", "low")  # type: ignore[call-overload]
    openai.WebSearchSettings(search_context_size="tiny")  # type: ignore[arg-type]
    openai.WebSearchSettings(search_size="low")  # type: ignore[call-arg]
