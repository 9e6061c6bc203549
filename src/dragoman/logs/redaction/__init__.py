"""Secrets kept out of what is shown, written or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .masking import MaskedStream as MaskedStream, Masker as Masker
    from .redact import SECRET_WORDS as SECRET_WORDS, texts_changed as texts_changed
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "masking": ("MaskedStream", "Masker"),
            "redact": ("SECRET_WORDS", "texts_changed"),
        },
    )
