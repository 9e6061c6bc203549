"""How much a model can be given at once, as dated data: tokens of its context window.

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


@lru_cache(maxsize=256)
def window_of(model: str | None) -> int | None:
    """The context window of a model, or `None` when it is not known."""
    if model is None:
        return None
    found = [name for name in WINDOWS if is_called(model, name)]
    if not found:
        return None
    window = WINDOWS[max(found, key=len)]
    return _LONG if model.endswith("[1m]") and model.lower().find("claude") >= 0 else window
