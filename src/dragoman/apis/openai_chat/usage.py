"""Token counts in the many forms that speakers of Chat Completions give them.

Rule: `prompt_tokens` hold the cached ones and `completion_tokens` the reasoning, as OpenAI defines them, unless the
numbers themselves (a sum, a part greater than its whole) say that this speaker counts otherwise.
"""

from __future__ import annotations

from typing import Any

from dragoman.model.conversation import Usage
from dragoman.model.json_values import as_object

from .values import beside, count_or_none

_READ = (
    ("prompt_tokens_details", "cached_tokens"),  # OpenAI (gpt-4o, 2025)
    ("prompt_cache_hit_tokens",),  # DeepSeek (v4, 2026)
    ("cache_read_input_tokens",),  # Doubleword (Qwen3.5, 2026) and gateways
    ("cached_tokens",),  # Hugging Face (DeepSeek-R1), Together (Llama 3.3), Moonshot (kimi-k2.6)
    ("num_cached_tokens",),  # Mistral (medium, February 2026)
)
_WRITTEN = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",))
_REASONING = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))


def read_usage(usage: Any) -> Usage:
    """A usage object; what is no object says nothing."""
    if not isinstance(usage, dict):
        return Usage()
    rest = {key: dict(value) if isinstance(value, dict) else value for key, value in usage.items()}
    prompt, completion = _taken(rest, ("prompt_tokens",)), _taken(rest, ("completion_tokens",))
    read, written, reasoning = _first(rest, _READ), _first(rest, _WRITTEN), _first(rest, _REASONING)
    total = count_or_none(usage.get("total_tokens"))
    output = _output(prompt, completion, reasoning, total)
    spoken = count_or_none(as_object(usage.get("prompt_tokens_details")).get("audio_tokens"))
    if prompt is not None and spoken and total == prompt + spoken + (completion or 0):
        prompt += spoken  # voxtral-small counts the sound beside the prompt (rig, August 2026)
    fresh, written = _fresh(prompt, read, written, rest)
    requests = _requests(rest)
    counted = Usage(fresh, read, written, output, reasoning, requests=requests)
    if total is not None and total == counted.total:
        del rest["total_tokens"]
    return Usage(fresh, read, written, output, reasoning, requests=requests, metadata=beside(_without_empty(rest)))


def _output(prompt: int | None, completion: int | None, reasoning: int | None, total: int | None) -> int | None:
    if completion is None:
        return reasoning or None
    if reasoning and total is not None and total == (prompt or 0) + completion + reasoning:
        return completion + reasoning  # xAI's models count it beside (grok-4-fast, fantasy, February 2026)
    return completion


def _fresh(
    prompt: int | None, read: int | None, written: int | None, rest: dict[str, Any]
) -> tuple[int | None, int | None]:
    """The input that was neither read from nor written to a cache, and what was written."""
    cached = (read or 0) + (written or 0)
    if prompt is None or cached <= prompt:
        return (None if prompt is None else prompt - cached), written
    if read and written and max(read, written) <= prompt:
        # OpenRouter gives the same tokens as read and as written (gemini-2.5-flash, pydantic-ai, March 2026).
        rest["cache_write_tokens"] = written
        return prompt - read, None
    return prompt, written  # grok-4-1-fast on Azure counts the cached beside the prompt (ruby_llm, June 2026)


def _taken(rest: dict[str, Any], path: tuple[str, ...]) -> int | None:
    """The count at a path, taken out; what is no count stays."""
    holder = rest
    for key in path[:-1]:
        holder = as_object(holder.get(key))
    count = count_or_none(holder.get(path[-1]))
    if count is not None:
        del holder[path[-1]]
    return count


def _first(rest: dict[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    """The first count above 0, else the first: of several that should agree, 0 is the one that was not filled in."""
    found = [(path, count) for path in paths if path[0] in rest and (count := _peek(rest, path)) is not None]
    for path, count in found:
        if count:
            for other, same in found:
                if same == count or other == path:
                    _taken(rest, other)
            return count
    for path, _ in found:
        _taken(rest, path)
    return 0 if found else None


def _peek(rest: dict[str, Any], path: tuple[str, ...]) -> int | None:
    holder: Any = rest
    for key in path[:-1]:
        holder = as_object(holder.get(key))
    return count_or_none(holder.get(path[-1]))


def _requests(rest: dict[str, Any]) -> dict[str, int]:
    """Uses of the provider's own tools: `web_search_requests: 1` is one use of `web_search`."""
    details = as_object(rest.get("server_tool_use_details"))
    counts = {key: count for key in details if key.endswith("_requests") and (count := count_or_none(details[key]))}
    for key in counts:
        del details[key]
    return {key.removesuffix("_requests"): count for key, count in counts.items()}


def _without_empty(rest: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rest.items() if value != {} and value is not None}
