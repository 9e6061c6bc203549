"""What is known of the models behind Chat Completions, as data: their limits, features and ways to say things.

Rule: every row that fits a model's name applies, later ones over earlier. Besides the fields of `Limits` and
`Features` a row may set the keys of `Ways`, which say how this protocol words something for a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

import msgspec

from dragoman.model.request import Features, Limits


class Ways(msgspec.Struct, frozen=True):
    """How one request setting is worded for a model."""

    thinking_form: Literal["effort", "reasoning", "type", "enable"] | None = "effort"
    """`reasoning_effort`, OpenRouter's `reasoning`, `thinking: {type}`, `enable_thinking`; `None`: it never thinks."""
    effort_off: str | None = "none"
    """The effort that switches thinking off; `None`: it cannot be switched off."""
    output_key: str = "max_tokens"
    seed_key: str = "seed"
    include_usage: bool = True
    """Whether a stream must be asked for its usage."""
    developer: bool = False
    """Whether the role "developer" is known."""
    video: bool = True
    sounds: tuple[str, ...] | None = None
    """The sound formats it takes; `None`: not stated."""


LIMITS = Limits(
    tools=128,  # "Invalid 'tools': array too long. Expected an array with maximum length 128"
    name_length=64,
    name_pattern=r"[a-zA-Z0-9_-]+",
    stop_sequences=4,  # API reference: "Up to 4 sequences"
)

FEATURES = Features(
    choices=("auto", "none", "required", "one"),
    streaming=True,
    thinking=True,
    response_schema=True,
)

_OPENAI: Mapping[str, Any] = {
    "choices": ("auto", "none", "required", "one", "subset"),  # `allowed_tools`: in openai 3.49.0
    "strict_tools": True,
    "cache_key": True,  # `prompt_cache_key`: OpenAI (gpt-5-nano, gpt-5.6-sol, 2026); others may refuse it
    "call_id_length": 40,  # "Invalid 'messages[1].tool_calls[0].id': string too long. Expected … maximum length 40"
    "developer": True,
    "video": False,  # content parts of openai 3.49.0: text, image_url, input_audio (wav, mp3), file
    "sounds": ("wav", "mp3"),
}
_SILENT: Mapping[str, Any] = {"thinking": False, "thinking_form": None}

FAMILIES: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("gpt-*", {**_OPENAI, **_SILENT}),
    ("chatgpt-*", {**_OPENAI, **_SILENT}),
    # The API's message: "'response_format' of type 'json_schema' is not supported with this model"; it came with
    # gpt-4o-2024-08-06 (guide on structured outputs), and chatgpt-4o-latest and models of sound lack it.
    *(
        (name, {"response_schema": False})
        for name in (
            "gpt-3*",
            "gpt-4",
            "gpt-4-*",
            "gpt-4o-2024-05-13",
            "gpt-4o*-audio-*",
            "gpt-audio*",
            "chatgpt-4o*",
            "o1-mini*",
            "o1-preview*",
        )
    ),
    # The API's message: temperature "does not support 0.3 with this model. Only the default (1) value is supported."
    ("o[1-9]*", {**_OPENAI, "effort_off": None, "output_key": "max_completion_tokens", "sampling": False}),
    ("o1-mini*", {"developer": False}),  # "'messages[0].role' does not support 'developer' with this model"
    (
        "gpt-5*",
        {
            "thinking": True,
            "thinking_form": "effort",
            "effort_off": "minimal",
            "output_key": "max_completion_tokens",
            "freeform_tools": True,
            "sampling": False,
        },
    ),
    ("gpt-5.[1-9]*", {"effort_off": "none"}),  # recorded for gpt-5.2
    ("gpt-5-chat*", {**_SILENT, "sampling": True}),
    ("*/*", {"thinking_form": "reasoning"}),  # a provider's prefix: OpenRouter and Vercel's gateway (2025-07 on)
    ("openai/*", {"thinking_form": "effort", "strict_tools": True, "developer": True}),
    ("openai/gpt-5*", {"effort_off": "minimal"}),
    ("openai/gpt-oss*", {"effort_off": None, "strict_tools": False, "developer": False}),
    ("[qQ]wen/*", {"thinking_form": "effort"}),  # Groq (qwen3-32b) and Doubleword (Qwen3.5-9B), June 2026
    ("@cf/*", {"thinking_form": "effort"}),
    ("workers-ai/*", {"thinking_form": "effort"}),
    ("qwen3*", {"thinking_form": "enable"}),  # GPUStack and Ollama (ruby_llm, June 2026); Alibaba's own name
    ("deepseek-*", {"thinking_form": "type"}),
    # The API's message for deepseek-chat and deepseek-v4-pro: "This response_format type is unavailable now"
    # (llm-exe#662). The reference of Groq lists the models that take a schema; its llamas are not among them.
    *(
        (name, {"response_schema": False})
        for name in ("deepseek-chat", "deepseek-reasoner", "deepseek-v[34]*", "llama-*-instant", "llama-*-versatile")
    ),
    ("glm-*", {"thinking_form": "type"}),
    ("grok-*", {"effort_off": None}),
    *(
        # Mistral: `random_seed`, and usage unasked (recorded by dd-trace-py and chatlas, 2025-12 to 2026-07).
        (f"{name}*", {"seed_key": "random_seed", "include_usage": False})
        for name in (
            "mistral-",
            "ministral-",
            "magistral-",
            "codestral-",
            "devstral-",
            "pixtral-",
            "voxtral-",
            "open-m",
        )
    ),
    ("sonar*", {"include_usage": False}),
)


@lru_cache(maxsize=256)
def ways(model: str) -> Ways:
    """How things are said to a model."""
    said: dict[str, Any] = {}
    for pattern, row in FAMILIES:
        if fnmatchcase(model, pattern):
            said.update({key: value for key, value in row.items() if key in Ways.__struct_fields__})
    return Ways(**said)
