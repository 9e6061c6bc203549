"""What Claude Code puts around a result: reminders in the text, a structured record beside it, a file for what is long.

Rule: all of it stays in the native result; what is read from it here is only told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from dragoman.dialects.base.default_words import tell_all, text_of, understand
from dragoman.dialects.base.spelling import Content
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


def plain_text(native: NativeResult) -> str:
    """The text of a result without the reminders that the client appended to it (1.0.35 to 2.1.123)."""
    content = native.content
    if type(content) is str and content and content[-1] != ">" and not content[-1].isspace():
        return content  # as nearly all are
    return unreminded(text_of(content))


def without_reminders(native: NativeResult) -> NativeResult:
    """A result without the reminders that the client appended: to its text, or as a block after its last one."""
    content = native.content
    if isinstance(content, str):
        text = unreminded(content)
        return native if text is content else msgspec.structs.replace(native, content=text)
    blocks = list(content)
    while blocks and isinstance(blocks[-1], str) and (text := unreminded(blocks[-1])) != blocks[-1]:
        if text:
            blocks[-1] = text
            break
        blocks.pop()
    return native if tuple(blocks) == content else msgspec.structs.replace(native, content=tuple(blocks))


class UnspelledResults:
    """Results of MCP servers and functions: plain, but for the reminders of the client."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        return tell_all(operations, outcomes)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return understand(operation, without_reminders(native))


def unreminded(text: str) -> str:
    """A text without the reminders at its end; one that stands within a line is no reminder."""
    while True:
        end = text.rstrip()
        start = end.rfind(_OPEN) if end.endswith(_CLOSE) else -1
        if start < 0 or (start > 0 and end[start - 1] != "\n"):
            return text
        # An empty line sets a reminder apart (1.0.35 to 2.1.123); what is before it keeps its own last newline.
        text = end[:start].removesuffix("\n").removesuffix("\n")


def record(native: NativeResult) -> Any:
    """The `toolUseResult` of a log line: the item itself, or what stands under that name in it."""
    item = native.item
    return item.get("toolUseResult", item) if isinstance(item, dict) else item


def fields(native: NativeResult) -> dict[str, Any]:
    """The structured record, empty where there is none (files of sub-agents) or it is a message."""
    item = native.item
    if not isinstance(item, dict):
        return {}
    found = item.get("toolUseResult", item)
    return found if isinstance(found, dict) else {}


def text_in(values: Any, name: str) -> str | None:
    """A text by its name in a record, if it is one."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, str) else None


def number_in(values: Any, name: str) -> int | None:
    """A whole number by its name in a record, if it is one."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if type(value) is int else None


def list_in(values: Any, name: str) -> list[Any] | None:
    """A list by its name in a record, if it is one."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, list) else None


def whole(number: float | None, name: str) -> int | None:
    """A native number where only whole ones have a meaning."""
    if number is None or isinstance(number, int):
        return number
    if number != int(number):
        raise ValueError(f"{name} is {number}; it must be a whole number")
    return int(number)


class SavedOutput(NamedTuple):
    """A result too long to be given: its beginning, the file that has the whole, and how many characters are left."""

    text: str
    path: str
    left: int


_KEPT = re.compile(
    r"<persisted-output>\nOutput too large \((?P<size>[\d.]+)(?P<unit>B|KB|MB)\)\."
    r" Full output saved to: (?P<path>[^\n]+)\n\nPreview [^\n]*:\n(?P<text>.*?)(?:\n\.\.\.)?\n</persisted-output>",
    re.DOTALL,
)
_UNITS = {"B": 1, "KB": 1024, "MB": 1024 * 1024}


def saved_output(text: str) -> SavedOutput | None:
    """The parts of such a result; the size is told in round kilobytes."""
    found = _KEPT.fullmatch(text) if text.startswith("<persisted-output>") else None
    if found is None:
        return None
    size = round(float(found["size"]) * _UNITS[found["unit"]])
    return SavedOutput(found["text"], found["path"], max(1, size - len(found["text"])))


def keep(text: str, path: str, left: int) -> str:
    """The inverse of `saved_output`."""
    size = f"{(len(text) + left) / 1024:.1f}KB"
    return (
        f"<persisted-output>\nOutput too large ({size}). Full output saved to: {path}\n\n"
        f"Preview (first {len(text)} characters):\n{text}\n...\n</persisted-output>"
    )
