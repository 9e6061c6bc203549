"""Droid's hooks."""

from __future__ import annotations

from .client import HookClient


class Droid(HookClient):
    """Under `--skip-permissions-unsafe` droid 0.215 runs a call that a hook wants asked about, so it gets a denial."""

    name, title, dialect = "droid", "droid", "droid"


CLIENT = Droid()
