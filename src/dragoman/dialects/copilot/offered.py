"""Which models are offered which tools, and why some are offered none."""

from __future__ import annotations

PATCHING = ("gpt-5*",)
"""Models that are given `apply_patch` and `rg` (1.0.20 to 1.0.102); others have `create`, `edit` and `grep`."""
EDITING = ("!gpt-5*",)
NOT_OFFERED = "models call it, and it was not offered where the client was captured"
