"""What Claude models take, by family: numbers and abilities as data, each with where it is known from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from dragoman.model.base import Value
from dragoman.model.request import Features, Limits

NAME = "anthropic_messages"


class Family(Value, frozen=True):
    """What a family takes that no other API has a word for."""

    max_output_tokens: int = 8192
    """Sent where a request states no limit: the API demands one. The most the family can write, also in `Limits`."""
    thinks: Literal["no", "budget", "both", "adaptive", "always"] = "budget"
    """By a number of tokens, by effort ("adaptive"), by either, or by effort without a way to switch it off."""
    sampling: bool = True
    """Whether temperature and top_p may be anything but their defaults; also in `Features`."""
    one_sampling: bool = False
    """Whether temperature and top_p exclude each other."""
    prefill: bool = True
    """Whether the conversation may end with words put into the model's mouth."""
    system_turns: bool = False
    """Whether a system message may stand inside the conversation."""
    strict: bool = False
    """Whether tools may be strict; `Limits` has their number under the name `Features` has this by."""


# Name rules: the API's own messages for refused names; its page on tools says 64 where anthropic 2.8.0 is silent.
# Strict limits: refusals by claude-sonnet-4-6 ("too many optional parameters (25) … limit: 24", "limit: 16 parameters
# with unions"; recorded by rig), and 20 strict tools by the page on structured outputs.
LIMITS = Limits(
    name_length=64,
    name_pattern=r"[a-zA-Z0-9_-]+",
    parameter_name_length=64,
    parameter_name_pattern=r"[a-zA-Z0-9_.-]{1,64}",
    strict_tool_count=20,
    strict_optional_parameters=24,
    strict_unions=16,
    call_id_pattern=r"[a-zA-Z0-9_-]+",
    temperature=1,
    least_thinking_tokens=1024,  # the API's own lower bound
)

FEATURES = Features(
    choices=("auto", "none", "required", "one"),
    deferred_tools=True,
    streaming=True,
    thinking=True,
    forced_choice_with_thinking=False,
    sampling_with_thinking=False,
    images_in_results=True,
    tool_examples=True,
)

_NO_THINKING: dict[str, Any] = {"thinks": "no", "thinking": False, "deferred_tools": False, "tool_examples": False}
_STRICT: dict[str, Any] = {"strict": True, "response_schema": True}
# Recorded: Opus 4.6 accepted a forced choice with adaptive thinking; Sonnet 5 refused a prefill; the documentation
# of 4.6 withdraws prefill for it and what came after.
_ADAPTIVE: dict[str, Any] = {
    **_STRICT,
    "thinks": "both",
    "forced_choice_with_thinking": True,
    "one_sampling": True,
    "prefill": False,
}
# Migration guides of Opus 4.7 and later: budgets and sampling parameters are refused, effort stays.
_EFFORT_ONLY: dict[str, Any] = {
    **_ADAPTIVE,
    "thinks": "adaptive",
    "sampling": False,
    "max_output_tokens": 128_000,
    "least_thinking_tokens": None,
}
_FIFTH: dict[str, Any] = {**_EFFORT_ONLY, "system_turns": True}
# Documentation of Fable 5 and Opus 5.5: "disabled" is refused; of Opus 5.5 and Fable 5.1: so is a forced choice.
_ALWAYS: dict[str, Any] = {**_FIFTH, "thinks": "always", "thinking_off": False}

FAMILIES: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("*claude-[2iv]*", {**_NO_THINKING, "max_output_tokens": 4096}),
    ("*claude-3*", {**_NO_THINKING, "max_output_tokens": 4096}),
    ("*claude-3[-.]5*", {"max_output_tokens": 8192}),
    ("*claude-3[-.]7*", {"thinks": "budget", "thinking": True, "max_output_tokens": 64_000}),
    ("*claude-opus-4*", {"max_output_tokens": 32_000}),
    ("*claude-sonnet-4*", {"max_output_tokens": 64_000}),
    ("*claude-haiku-4*", {"max_output_tokens": 64_000}),
    ("*claude-opus-4[-.]1*", {**_STRICT, "one_sampling": True}),
    ("*claude-*-4[-.]5*", {**_STRICT, "one_sampling": True, "max_output_tokens": 64_000}),
    ("*claude-*-4[-.]6*", {**_ADAPTIVE, "max_output_tokens": 64_000}),
    ("*claude-opus-4[-.]6*", {"max_output_tokens": 128_000}),
    ("*claude-opus-4[-.][789]*", _EFFORT_ONLY),
    ("*claude-opus-4[-.][89]*", {"system_turns": True}),  # thirteen requests to Opus 4.8 (pydantic-ai, rig)
    ("*claude-sonnet-[5-9]*", _FIFTH),
    ("*claude-opus-[5-9]*", _FIFTH),
    ("*claude-haiku-[5-9]*", _FIFTH),
    ("*claude-fable-*", _ALWAYS),
    ("*claude-mythos-*", _ALWAYS),
    ("*claude-opus-5[-.]5*", {**_ALWAYS, "choices": ("auto", "none")}),
    ("*claude-fable-5[-.]1*", {**_ALWAYS, "choices": ("auto", "none")}),
)

BUDGETS: Mapping[str, int] = {"low": 1024, "medium": 4096, "high": 16_384}
LEAST_BUDGET = LIMITS.least_thinking_tokens or 0

# What still needs a header, by what the body holds. The versions are those of anthropic 2.8.0 and the recordings.
TOOL_BETAS: Sequence[tuple[str, str]] = (
    ("*_20241022", "computer-use-2024-10-22"),
    ("computer_20250124", "computer-use-2025-01-24"),
    ("computer_20251124", "computer-use-2025-11-24"),
    ("advisor_20260301", "advisor-tool-2026-03-01"),
    ("mcp_toolset", "mcp-client-2025-11-20"),
)
OPTION_BETAS: Mapping[str, str] = {
    "context_management": "context-management-2025-06-27",
    "output_format": "structured-outputs-2025-11-13",
    "thread": "message-threads-2026-08-12",
    "fallbacks": "server-side-fallback-2026-07-01",
}
COMPACT_BETA = "compact-2026-01-12"
FILES_BETA = "files-api-2025-04-14"
MCP_BETA = "mcp-client-2025-04-04"
SKILLS_BETA = "skills-2025-10-02"
TASK_BUDGET_BETA = "task-budgets-2026-03-13"
TOOL_CHANGES_BETA = "mid-conversation-tool-changes-2026-07-01"


def same_claude(one: str, other: str) -> bool:
    """Whether two names are of one model: with a cloud's prefix and version or without, by date or by alias."""
    return _plain(one) == _plain(other)


def _plain(model: str) -> str:
    name = model.lower().replace("%3a", ":").replace(".", "-")
    name = name[max(name.rfind("claude-"), 0) :]
    name = re.sub(r"(@.*|-v\d+[-:]\d+|:.*)$", "", name)
    return re.sub(r"(-latest|-\d{8}|-0)$", "", name)  # "claude-sonnet-4-0" is the alias of "claude-sonnet-4-20250514"


def beta_of(wire_type: str) -> str | None:
    """The header a provider's tool needs."""
    return next((beta for pattern, beta in TOOL_BETAS if fnmatchcase(wire_type, pattern)), None)
