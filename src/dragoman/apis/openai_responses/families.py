"""What the models of this API take and can do, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from dragoman.model.request import Features, Limits, Thinking

LIMITS = Limits(
    tools=128,  # "Invalid 'tools': array too long. Expected an array with maximum length 128"
    name_length=64,  # FunctionDefinition of openai 3.49.0
    name_pattern=r"[a-zA-Z0-9_-]+",
    call_id_length=64,  # the API's message for a longer one (codex#14355)
    schema_depth=10,  # this and the next two: OpenAI's guide on structured outputs
    schema_properties=5000,
    enum_values=1000,
    stop_sequences=0,  # the request has no such field
)

FEATURES = Features(
    choices=("auto", "none", "required", "one", "subset"),
    freeform_tools=True,
    namespaces=True,
    strict_tools=True,
    deferred_tools=True,
    streaming=True,
    thinking=True,
    images_in_results=True,
    response_schema=True,
)

_ALL = ("none", "minimal", "low", "medium", "high")
# Freeform tools are recorded on gpt-5 and later alone (langchain, lingua, 2025 and 2026): older models are offered
# functions, which they surely take.
_OLD = {"thinking": False, "freeform_tools": False, "deferred_tools": False}
_O_SERIES = {
    "efforts": ("low", "medium", "high"),
    "freeform_tools": False,
    "deferred_tools": False,
    # The API's message: temperature "does not support 0.3 with this model. Only the default (1) value is supported."
    "sampling": False,
}

FAMILIES: Sequence[tuple[str, Mapping[str, Any]]] = (
    # Recorded with OpenAI's own models (gpt-5-nano to gpt-5.6); other servers may refuse a field they do not know.
    *((f"{name}*", {"cache_key": True}) for name in ("gpt-", "chatgpt-", "o[1-9]", "codex-", "computer-use-")),
    ("*gpt-3.5*", _OLD),
    ("*gpt-4*", _OLD),
    ("chatgpt-4o*", _OLD),
    # The API's message: "'response_format' of type 'json_schema' is not supported with this model"; it came with
    # gpt-4o-2024-08-06 (guide on structured outputs).
    *(
        (name, {"response_schema": False})
        for name in ("*gpt-3*", "*gpt-4", "*gpt-4-*", "*gpt-4o-2024-05-13", "chatgpt-4o*", "o1-mini*", "o1-preview*")
    ),
    # The API's message: "'minimal' is not supported with the 'o4-mini' model. … 'low', 'medium', and 'high'".
    ("o[134]*", _O_SERIES),
    ("*/o[134]*", _O_SERIES),
    # gpt-5 takes "minimal" (mirascope, January 2026); tool search is recorded on 5.3-codex and from 5.4 on.
    ("*gpt-5*", {"efforts": ("minimal", "low", "medium", "high"), "deferred_tools": False, "sampling": False}),
    # the API's message: gpt-5.1 refuses "minimal" and names these (openai-agents-python#2089)
    ("*gpt-5.[1-9]*", {"efforts": ("none", "low", "medium", "high")}),
    ("*gpt-5.[4-9]*", {"deferred_tools": True}),
    ("*gpt-5.3-codex*", {"deferred_tools": True}),
    # the API's messages: gpt-5-codex refuses "minimal", gpt-5.1-codex "none" (cherry-studio#10430, codex#6647)
    ("*gpt-5*codex*", {"efforts": ("low", "medium", "high")}),
    ("*gpt-5-pro*", {"efforts": ("high",)}),  # opencode#3474
    ("*gpt-5*chat*", {"efforts": ("medium",), "sampling": True}),  # the API's message for 5.2 (chatwise-releases#1257)
    ("*grok*", {"unchecked_reasoning": True}),  # reasoning items with ids before calls without (4.3, rig, August 2026)
)
"""(glob, changes). `efforts` are the words for how much a model may think, least first; not listed: all are tried.
`unchecked_reasoning`: nobody minds what follows a reasoning item."""

_LEVEL = {"off": "none", "low": "low", "medium": "medium", "high": "high"}
_TOKENS = ((2_048, "low"), (8_192, "medium"))


def unchecked_reasoning(model: str) -> bool:
    """Whether reasoning goes back whatever follows it."""
    return any(row.get("unchecked_reasoning") and fnmatchcase(model, pattern) for pattern, row in FAMILIES)


def efforts(model: str) -> tuple[str, ...]:
    """The efforts a model knows."""
    found = [row["efforts"] for pattern, row in FAMILIES if "efforts" in row and fnmatchcase(model, pattern)]
    return found[-1] if found else _ALL


def effort(thinking: Thinking, model: str) -> tuple[str, str | None]:
    """The word for how much a model may think, and what to say when it is not exactly what was asked."""
    known = efforts(model)
    if thinking.tokens is not None:
        wanted = next((word for most, word in _TOKENS if thinking.tokens <= most), "high")
        said = wanted if wanted in known else known[-1]
        return said, f"a number of tokens for thinking is said as the effort {said!r}"
    assert thinking.level is not None
    wanted = _LEVEL[thinking.level]
    if wanted in known:
        return wanted, None
    said = known[0] if wanted in ("none", "low") else known[-1]
    return said, f"this model does not know the effort {wanted!r}: {said!r} is the nearest"
