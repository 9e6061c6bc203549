"""A transcript in plain text, as a terminal or a mail shows it; control characters in what was said are written out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from .chosen import Chosen
from .transcript import Conversation, Said, conversations_of, duration, visible

_SIGNS: Final = {
    "user": "USER",
    "system": "SYSTEM",
    "model": "MODEL",
    "thought": "THOUGHT",
    "call": "CALL",
    "note": "--",
    "error": "ERROR",
    "usage": "--",
}


def write(chosen: Chosen, out: BinaryIO) -> None:
    for number, conversation in enumerate(conversations_of(chosen)):
        if number:
            out.write(b"\n")
        for line in _conversation(conversation):
            out.write(line.rstrip().encode("utf-8", "backslashreplace") + b"\n")


def _conversation(conversation: Conversation) -> Iterator[str]:
    yield from _lines(conversation.title)
    yield "=" * min(72, max(8, len(conversation.title)))
    for name, value in conversation.facts:
        yield f"{name}: {_line(value)}"
    for part in conversation.parts:
        yield ""
        if part.number is not None:
            yield f"-- turn {part.number + 1} {'-' * 60}"
        for said in part.said:
            yield from _said(said)
    for agent in conversation.agents:
        yield ""
        yield from (f"    {line}" for line in _conversation(agent))


def _said(said: Said) -> Iterator[str]:
    took = "" if said.seconds is None else f", {duration(said.seconds)}"
    state = f"  [{said.result}{took}]" if said.result else ""
    time = f"  ({said.time})" if said.time else ""
    title = _line(said.title) if said.kind in ("call", "note", "user", "usage") else ""
    yield ""
    yield f"{_SIGNS[said.kind]} {title}{state}{time}".replace("USER User", "USER")
    for block in said.blocks:
        if block.label is not None:
            yield f"  {_line(block.label)}:"
        indent = "  " if block.label is None else "  | "
        yield from (f"{indent}{line}" for line in _lines(block.text))
    for agent in said.agents:
        yield ""
        yield from (f"    {line}" for line in _conversation(agent))


def _lines(text: str) -> list[str]:
    return visible(text).split("\n")


def _line(text: str) -> str:
    return " ".join(visible(text).split())
