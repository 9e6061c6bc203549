"""How much a model can be given at once and can answer, as dated data: tokens of its context window and of an answer.

Rule: unknown is `None`, never a guess. A window a log itself tells of goes before these rows. Names find their rows as
those of prices do (`dragoman.prices`); `[1m]` after a name is Claude's window of a million.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Final

from dragoman.prices import is_called

AS_OF: Final = date(2026, 8, 5)
"""How far what these rows were compared with reaches: common knowledge and some of the makers' pages."""

_LONG: Final = 1_000_000

WINDOWS: Final[dict[str, int]] = {
    **dict.fromkeys(("claude-3-opus", "claude-3-haiku", "claude-3-5-sonnet", "claude-3-5-haiku"), 200_000),
    **dict.fromkeys(("claude-3-7-sonnet", "claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5"), 200_000),
    **dict.fromkeys(("claude-opus-4", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5"), 200_000),
    "claude-haiku-4-5": 200_000,
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini"), 128_000),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), 1_047_576),
    **dict.fromkeys(("o1", "o3", "o3-mini", "o4-mini"), 200_000),
    **dict.fromkeys(("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-codex", "gpt-5-pro"), 400_000),
    **dict.fromkeys(("gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-mini", "gpt-5.2"), 400_000),
    **dict.fromkeys(("gemini-2.0-flash", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"), 1_048_576),
    **dict.fromkeys(("gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-3.1-pro-preview"), 1_048_576),
}
"""Model → tokens."""

ANSWERS: Final[dict[str, int]] = {
    # The API refuses more: "… is too large: 32000. This model supports at most 16384 completion tokens"; its own pages.
    **dict.fromkeys(("gpt-3.5-turbo", "gpt-4-turbo"), 4096),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-5-chat-latest"), 16_384),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), 32_768),
    **dict.fromkeys(("o1", "o3", "o3-mini", "o4-mini"), 100_000),
    **dict.fromkeys(("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-codex", "gpt-5.1", "gpt-5.2"), 128_000),
    # `outputTokenLimit` in Google's own list of models (2026)
    "gemini-2.0-flash": 8192,
    **dict.fromkeys(("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"), 65_536),
    **dict.fromkeys(("gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-3.1-pro-preview"), 65_536),
}
"""Model → tokens of its longest answer; Claude's are with what else is known of its families."""


@lru_cache(maxsize=256)
def window_of(model: str | None) -> int | None:
    """The context window of a model, or `None` when it is not known."""
    window = None if model is None else _row_of(model, WINDOWS)
    if model is None or window is None:
        return None
    return _LONG if model.endswith("[1m]") and model.lower().find("claude") >= 0 else window


@lru_cache(maxsize=256)
def answer_of(model: str) -> int | None:
    """How many tokens a model answers at the most, or `None` when it is not known."""
    return _row_of(model, ANSWERS)


def _row_of(model: str, rows: dict[str, int]) -> int | None:
    found = [name for name in rows if is_called(model, name)]
    return rows[max(found, key=len)] if found else None
