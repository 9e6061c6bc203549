"""Checks against the world outside: shared facts, real programs, a clean machine. Whatever is missing fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = (ROOT / os.environ.get("DRAGOMAN_SHARED", "../shared")).resolve()

if not SHARED.is_dir():
    raise pytest.UsageError(
        f"the shared facts are not at {SHARED}: put them there, or name their folder with DRAGOMAN_SHARED=…"
    )


@pytest.fixture(scope="session")
def shared() -> Path:
    return SHARED
