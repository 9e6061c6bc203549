"""The two struct shapes every type of the model is made of.

Rule: stored data is never dropped in silence, so a field we do not know is an
error (`forbid_unknown_fields`), and every member of a stored union has a tag.
"""

from __future__ import annotations

import re

import msgspec


def snake(name: str) -> str:
    """`ReadFile` → `read_file`: the tag of a struct is its name in the words a command line uses."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Value(msgspec.Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True, forbid_unknown_fields=True):
    """Plain immutable data without a tag: a part of something else."""


class Tagged(Value, frozen=True, tag_field="type", tag=snake):
    """Immutable data that is a member of a union: its JSON names its type."""
