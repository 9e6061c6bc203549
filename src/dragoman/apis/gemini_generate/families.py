"""What Gemini models take and can do, by family, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from dragoman.model.request import Features, Limits

# Names: the API's own message on a bad function name, and FunctionDeclaration in google-genai 3.1.
LIMITS: Final = Limits(
    tools=512,
    name_length=128,
    name_pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*",
    parameter_name_length=64,
    parameter_name_pattern=r"[A-Za-z_][A-Za-z0-9_]*",
    stop_sequences=5,
)

FEATURES: Final = Features(
    choices=("auto", "none", "required", "one", "subset"),
    strict_tools=True,
    streaming=True,
    thinking=True,
    mixed_tools=True,
    images_in_results=True,
    response_schema=True,
)

_BEFORE_3: Final[Mapping[str, Any]] = {"mixed_tools": False, "images_in_results": False}

FAMILIES: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    # Tokens of thinking: the API's message, "The thinking budget 31999 is invalid. … between 0 and 24576."
    # "Built-in tools and function calling cannot be combined": lifted with Gemini 3, as were media in results.
    ("*gemini-1*", {**_BEFORE_3, "thinking": False, "strict_tools": False}),
    ("*gemini-2*", _BEFORE_3),
    ("*gemini-2.0*", {"thinking": False}),
    ("*gemini-2.5*", {"thinking": True, "thinking_tokens": 24_576}),
    ("*gemini-2.5-pro*", {"thinking_tokens": 32_768}),
    ("*-pro*", {"thinking_off": False}),
    ("*gemma*", {**_BEFORE_3, "thinking": False, "strict_tools": False}),
)

_GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")

BUDGETS: Final[Mapping[str, int]] = {"low": 1024, "medium": 8192, "high": 24576}
"""Thinking levels in tokens, for the models that count: the middle and the top of what 2.5 Flash takes."""

DUMMY_SIGNATURE: Final = "skip_thought_signature_validator"
"""What Gemini's page on thought signatures says to send for a call that this model did not make."""


@lru_cache(maxsize=256)
def generation(model: str) -> float | None:
    """2.5 for `gemini-2.5-pro`; `None` for an alias such as `gemini-flash-latest`, which names the newest."""
    found = _GENERATION.search(model)
    return float(f"{found[1]}.{found[2] or 0}") if found else None


def demands_signatures(model: str) -> bool:
    """Whether a call in the history without its signature is refused (Gemini 3 and later)."""
    number = generation(model)
    return number is not None and number >= 3


def thinks_by_level(model: str) -> bool:
    """Whether thinking is set by a level (Gemini 3 and later) rather than by a number of tokens."""
    number = generation(model)
    return number is None or number >= 3


def takes_tools_with_a_schema(model: str) -> bool:
    """Whether an answer may be held to a schema while tools are offered: refused before Gemini 3."""
    number = generation(model)
    return number is None or number >= 3


def takes_json_schema(model: str) -> bool:
    """Whether `parametersJsonSchema` is known; before Gemini 2 only the `Schema` subset is."""
    number = generation(model)
    return number is None or number >= 2


def is_vertex(model: str) -> bool:
    """Whether a model is named by its path, as Vertex does (google-genai 3.1)."""
    return "publishers/" in model or model.startswith("projects/")


def same_line(made_by: str | None, asked: str) -> bool:
    """Whether two names may be of one model: an alias may be of any, and a version is of its line."""
    if made_by is None or generation(made_by) is None or generation(asked) is None:
        return True
    return _line(made_by) == _line(asked)


@lru_cache(maxsize=256)
def _line(model: str) -> str:
    name = model.rsplit("/", 1)[-1].lower()
    return re.sub(r"(-preview)?(-\d{2}-\d{2,4}|-\d{3})?(@.*|:.*)?$", "", name)
