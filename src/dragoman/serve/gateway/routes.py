"""Which model answers a request: by the name that the client asks for, or by what kind of request it is."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.model import Request

KINDS: Final = ("@small", "@thinking", "@long")
"""Kinds of requests that can have a model of their own: titles and summaries, those with thinking, long ones."""

_LONG: Final = 60_000
"""Tokens from which a request is a long one, by estimate."""


class Route(msgspec.Struct, frozen=True):
    """`pattern` is a glob of model names or a kind (`@small`); `models` are asked in order until one answers."""

    pattern: str
    models: tuple[str, ...]


def read_route(text: str) -> Route:
    """A route as it is written: `claude-haiku*=gemini:gemini-2.5-flash,openai:gpt-5-mini`."""
    pattern, equals, models = text.partition("=")
    named = tuple(one.strip() for one in models.split(",") if one.strip())
    if not equals or not pattern.strip() or not named:
        raise ConfigError(f"{text!r} is no route; write PATTERN=provider:model, for example @small=openai:gpt-5-mini")
    if pattern.startswith("@") and pattern not in KINDS:
        raise ConfigError(
            f"there is no kind of request {pattern!r}; known: {', '.join(KINDS)}.{nearest(pattern, KINDS)}"
        )
    return Route(pattern.strip(), named)


class Routes:
    """The routes of a gateway, the first that fits counts; `default` is for all other requests."""

    def __init__(self, default: tuple[str, ...], routes: tuple[Route, ...] = ()) -> None:
        self.default, self.routes = default, routes

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that may be asked."""
        return tuple(dict.fromkeys((*self.default, *(model for route in self.routes for model in route.models))))

    def models(self, request: Request, tokens: int) -> tuple[str, ...]:
        """The models for a request, in the order in which they are asked."""
        if request.model in self.names:
            return (request.model,)  # chosen from our own list
        kinds = _kinds(request, tokens)
        for route in self.routes:
            if route.pattern in kinds or fnmatchcase(request.model, route.pattern):
                return tuple(dict.fromkeys((*route.models, *self.default)))
        return self.default


def _kinds(request: Request, tokens: int) -> set[str]:
    kinds = set()
    if not request.definitions and tokens < 8_000:
        kinds.add("@small")
    if request.thinking is not None and request.thinking.level != "off":
        kinds.add("@thinking")
    if tokens >= _LONG:
        kinds.add("@long")
    return kinds
