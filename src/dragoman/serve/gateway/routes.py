"""Which model answers a request: by the name that the client asks for, or by what kind of request it is."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.model import Request, TextPart

KINDS: Final = ("@small", "@summary", "@thinking", "@long")
"""Kinds of requests that can have a model of their own: short ones without tools (titles), those for a summary of the
conversation, those with thinking, and long ones."""

LONG: Final = 60_000
"""Tokens from which a request is a long one, by estimate, unless it is set otherwise."""

_SUMMARY: Final = (
    # What clients end a conversation with when they have it summarised.
    "your task is to create a detailed summary of",  # Claude Code 2.1.325
    "context checkpoint compaction",  # Codex 0.166.0
    "<state_snapshot>",  # Gemini CLI 0.61.0 and Qwen Code 0.24.4
)


class Route(msgspec.Struct, frozen=True):
    """`pattern` is a glob of model names or a kind (`@small`); `models` are asked in order until one answers."""

    pattern: str
    models: tuple[str, ...]


def read_models(text: str) -> tuple[str, ...]:
    """Models as they are written: `gemini:gemini-2.5-flash,openai:gpt-5-mini`."""
    return tuple(one.strip() for one in text.split(",") if one.strip())


def read_route(text: str) -> Route:
    """A route as it is written: `claude-haiku*=gemini:gemini-2.5-flash,openai:gpt-5-mini`."""
    pattern, equals, models = text.partition("=")
    named = read_models(models)
    if not equals or not pattern.strip() or not named:
        raise ConfigError(f"{text!r} is no route; write PATTERN=provider:model, for example @small=openai:gpt-5-mini")
    if pattern.startswith("@") and pattern not in KINDS:
        raise ConfigError(
            f"there is no kind of request {pattern!r}; known: {', '.join(KINDS)}.{nearest(pattern, KINDS)}"
        )
    return Route(pattern.strip(), named)


class Routes:
    """The routes of a gateway, the first that fits counts; `default` is for all other requests."""

    def __init__(self, default: tuple[str, ...], routes: tuple[Route, ...] = (), *, long: int = LONG) -> None:
        self.default, self.routes, self.long = default, routes, long

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that may be asked."""
        return tuple(dict.fromkeys((*self.default, *(model for route in self.routes for model in route.models))))

    def models(self, request: Request, tokens: int) -> tuple[str, ...]:
        """The models for a request, in the order in which they are asked."""
        if request.model in self.names:
            return (request.model,)  # chosen from our own list
        kinds = self._kinds(request, tokens)
        for route in self.routes:
            if route.pattern in kinds or fnmatchcase(request.model, route.pattern):
                return tuple(dict.fromkeys((*route.models, *self.default)))
        return self.default

    def _kinds(self, request: Request, tokens: int) -> set[str]:
        kinds = set()
        if not request.definitions and tokens < 8_000:
            kinds.add("@small")
        if _asks_for_summary(request):
            kinds.add("@summary")
        if request.thinking is not None and request.thinking.level != "off":
            kinds.add("@thinking")
        if tokens >= self.long:
            kinds.add("@long")
        return kinds


def _asks_for_summary(request: Request) -> bool:
    """Whether the instructions, or what the user said last, are those with which a client shortens a conversation."""
    leading = [item for item in request.conversation[:1] if item.role in ("system", "developer")]
    last = [item for item in request.conversation[-1:] if item.role == "user"]
    texts = [part.text.lower() for item in (*leading, *last) for part in item.parts if isinstance(part, TextPart)]
    return any(words in text for words in _SUMMARY for text in texts)
