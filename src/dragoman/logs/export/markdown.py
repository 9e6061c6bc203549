"""A transcript in Markdown.

What people and models said is Markdown already and stays so, its headings below ours. Rule: it can load nothing, run
nothing and reach no other part of the page. Text with HTML, pictures, links to anything but web pages, or definitions
that hold for the whole page stands in a fence, as all other foreign text does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, Final

from .blocks import Block
from .chosen import Chosen
from .rich_text import SAFE_LINK
from .transcript import Conversation, Said, conversations_of, duration, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

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
    if said.kind == "usage":
        yield f"*{escaped(said.title)}*"
        yield ""
        return
    took = "" if said.seconds is None else f", {duration(said.seconds)}"
    state = f" — {escaped(said.result)}{took}" if said.result else ""
    sign = {"call": "→ ", "error": "✗ "}.get(said.kind, "")
    time = f" · {escaped(said.time)}" if said.time else ""
    yield f"{_heading(level)} {sign}{escaped(said.title)}{state}{time}"
    yield ""
    quoted = said.kind == "thought"
    for block in said.blocks:
        lines = _block(block, level)
        yield from _quoted(lines) if quoted else lines
        yield ""
    for agent in said.agents:
        yield from _quoted(_conversation(agent, level + 1))
        yield ""


def _block(block: Block, level: int) -> Iterator[str]:
    label = "" if block.label is None else escaped(block.label)
    if block.kind in ("words", "image"):
        yield escaped(block.text)
        return
    if block.kind == "markdown":
        yield contained(block.text, level) or fenced(block.text, "text")
        return
    if label:
        yield f"**{label}**"
        yield ""
    language = "diff" if block.kind == "diff" else _LANGUAGES.get(block.label or "", "text")
    yield fenced(block.text, language)


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]  # another reader may follow any link
    return reader


_UNSAFE: Final = frozenset({"html_block", "html_inline", "image"})
_LONGEST: Final = 100_000


def contained(text: str, level: int) -> str | None:
    """Markdown as it was said, its headings below `level`; `None` where it would reach beyond itself."""
    text = visible(text).strip("\n")
    if len(text) > _LONGEST:
        return None
    environment: dict[str, object] = {}
    try:
        tokens = _reader().parse(text, environment)
    except RecursionError:
        return None
    lines = text.split("\n")
    if environment.get("references"):
        return None
    for token in tokens:
        for one in (token, *(token.children or ())):
            if one.type in _UNSAFE or (one.type == "link_open" and not SAFE_LINK.match(str(one.attrGet("href") or ""))):
                return None
        if token.type == "fence" and token.map is not None and not _is_closed(lines[token.map[1] - 1], token.markup):
            return None
        if token.type == "heading_open" and token.map is not None:
            line = lines[token.map[0]]
            if token.level or not line.lstrip(" ").startswith("#"):
                return None  # underlined, or inside a list or a quotation
            deeper = min(6, level + int(token.tag[1:]))
            lines[token.map[0]] = "#" * deeper + line.lstrip(" ").lstrip("#")
    return "\n".join(lines)


def _is_closed(last: str, fence: str) -> bool:
    return last.strip(" >\t").startswith(fence)


def _quoted(lines: Iterator[str]) -> Iterator[str]:
    for block in lines:
        yield from (f"> {line}".rstrip() for line in block.split("\n"))
