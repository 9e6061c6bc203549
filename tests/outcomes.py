"""Outcomes for tests that go over every kind."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.model import Media, Outcome

_VALUES = {"kind": "failed", "message": "It failed.", "reason": "It was stopped.", "image": Media("image/png", data="")}


def smallest(kind: type[Outcome]) -> Outcome:
    """An outcome of this kind with no more than it must have."""
    needed: dict[str, Any] = {
        one.name: () if str(one.type).startswith("tuple") or "..." in str(one.type) else _VALUES.get(one.name, "a")
        for one in msgspec.structs.fields(kind)
        if one.required
    }
    return kind(**needed)
