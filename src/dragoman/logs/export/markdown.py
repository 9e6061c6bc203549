"""A transcript in Markdown. Foreign text stands in fences longer than any in it, or escaped: it is never markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from .chosen import Chosen
from .transcript import Block, Conversation, Said, conversations_of, visible

# What is markup in the middle of a line; what is only at its beginning never stands there.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>&|~$!#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=[wW])\.|@")
_LANGUAGES: Final = {"command": "sh", "arguments": "json"}


def write(chosen: Chosen, out: BinaryIO) -> None:
    for number, conversation in enumerate(conversations_of(chosen)):
        if number:
            out.write(b"\n---\n\n")
        for line in _conversation(conversation, 1):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")


def escaped(text: str) -> str:
    """Text in a line of Markdown, none of it markup."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", " ".join(visible(text).split()))


def fenced(text: str, language: str = "") -> str:
    """Text as it stands, in a fence it cannot close."""
    text = visible(text)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _conversation(conversation: Conversation, level: int) -> Iterator[str]:
    yield f"{_heading(level)} {escaped(conversation.title)}"
    yield ""
    for name, value in conversation.facts:
        yield f"- {name}: {escaped(value)}"
    yield ""
    for part in conversation.parts:
        if part.number is not None:
            yield f"{_heading(level + 1)} Turn {part.number + 1}"
            yield ""
        for said in part.said:
            yield from _said(said, level + 2)
    for agent in conversation.agents:
        yield from _quoted(_conversation(agent, level + 1))


def _heading(level: int) -> str:
    return "#" * min(level, 6)


def _said(said: Said, level: int) -> Iterator[str]:
    state = f" — {escaped(said.result)}" if said.result else ""
    sign = {"call": "→ ", "error": "✗ "}.get(said.kind, "")
    time = f" · {escaped(said.time)}" if said.time else ""
    yield f"{_heading(level)} {sign}{escaped(said.title)}{state}{time}"
    yield ""
    quoted = said.kind == "thought"
    for block in said.blocks:
        lines = _block(block)
        yield from _quoted(lines) if quoted else lines
        yield ""
    for agent in said.agents:
        yield from _quoted(_conversation(agent, level + 1))
        yield ""


def _block(block: Block) -> Iterator[str]:
    label = "" if block.label is None else escaped(block.label)
    if block.kind == "words":
        # What people and models say is Markdown already, and anybody's: shown as it was written, not as it asks to be.
        yield fenced(block.text, "text")
        return
    if label:
        yield f"**{label}**"
        yield ""
    language = "diff" if block.kind == "diff" else _LANGUAGES.get(block.label or "", "text")
    yield fenced(block.text, language)


def _quoted(lines: Iterator[str]) -> Iterator[str]:
    for block in lines:
        yield from (f"> {line}".rstrip() for line in block.split("\n"))
