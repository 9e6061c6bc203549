"""One meaning with all its spellings side by side."""

from __future__ import annotations

from typing import Any

from dragoman.dialects import DIALECTS, joined
from dragoman.model import NativeCall
from dragoman.model.operations import Operation

Said = tuple[str, dict[str, Any] | str]


def says(*operations: Operation, **spellings: Said | list[Said]) -> None:
    """Each dialect writes these operations so, and reads it back as the same.

    A list is several calls. A name with a dot carries its namespace: `multi_agent_v1.spawn_agent`.
    """
    for name, said in spellings.items():
        dialect = DIALECTS[name]
        expected = said if isinstance(said, list) else [said]
        written = [call for operation in operations for call in dialect.write_call("1", operation)]
        assert [(_qualified(call), call.arguments) for call in written] == expected, name
        assert reads_as(name, *expected) == operations, name


def reads(*operations: Operation, **spellings: Said | list[Said]) -> None:
    """Each dialect reads this (an older name, another shape) as these operations; it writes something newer."""
    for name, said in spellings.items():
        assert reads_as(name, *(said if isinstance(said, list) else [said])) == operations, name


def reads_as(dialect: str, *calls: Said) -> tuple[Operation, ...]:
    """What these calls mean in a dialect."""
    read: list[Operation] = []
    for name, arguments in calls:
        namespace, _, tool = name.rpartition(".")
        call = DIALECTS[dialect].read_call(NativeCall("1", tool, arguments, namespace=namespace or None))
        assert call.failure is None, call.failure
        read += call.operations
    return joined(read)


def _qualified(call: NativeCall) -> str:
    return f"{call.namespace}.{call.name}" if call.namespace else call.name
