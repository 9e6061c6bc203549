"""A transcript as HTML: the pieces that an exported file and the local page are both made of.

Rules: every foreign text goes through `plain`, `rendered` or `coloured` and stands between tags, or in a quoted
attribute; it is never part of a tag. No script, no inline style: a policy that forbids both holds for every piece.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from dragoman.logs.history.tables import tag_of
from dragoman.model import outcomes as out
from dragoman.tools.workspace import marked_lines, media_kind

from .blocks import Block
from .rich_text import coloured, plain, rendered
from .transcript import Conversation, Part, Said, duration

_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LARGEST_PICTURE: Final = 8 << 20
"""Characters of base64 that a picture may have to be shown."""
_SIGNS: Final = {
    "read": "◦",
    "write": "✎",
    "execute": "❯",
    "search": "⌕",
    "fetch": "↧",
    "plan": "☰",
    "ask": "?",
    "agent": "⎇",
}


def anchor(event: str) -> str:
    """The name of an event in the address of a page: the same whenever its log is read."""
    return f"e{hash_of(event):012x}"


def hash_of(event: str) -> int:
    """The number that an anchor says."""
    return int.from_bytes(hashlib.blake2b(event.encode("utf-8", "surrogatepass"), digest_size=6).digest())


def turn_anchor(conversation: Conversation, number: int) -> str:
    """The name of a turn in the address of a page."""
    inside = "" if conversation.stream == "main" else f"{anchor(f'{conversation.id} {conversation.stream}')}-"
    return f"{inside}turn-{number + 1}"


Links = Callable[[Said], Iterator[tuple[str, str]]]
"""What a page links to for one thing that was said: a word and an address each."""


class Markup:
    """Writes conversations. Of an agent inside a call at most `most_of_agent` things are written.

    Of one text at most `longest` characters are written.
    """

    def __init__(
        self,
        *,
        links: Links | None = None,
        most_of_agent: int | None = None,
        agent_link: Callable[[Conversation], str] | None = None,
        longest: int | None = None,
    ) -> None:
        self._links, self._most_of_agent, self._agent_link = links, most_of_agent, agent_link
        self._longest = longest

    def conversation(self, conversation: Conversation, *, level: int = 1) -> Iterator[str]:
        """A whole conversation with its head."""
        yield f'<section class="conversation">\n<h{level}>{plain(conversation.title)}</h{level}>'
        yield from facts(conversation.facts)
        yield from self.parts(conversation, conversation.parts, level=level)
        yield "</section>"

    def parts(self, conversation: Conversation, parts: list[Part], *, level: int = 1) -> Iterator[str]:
        """Turns of a conversation; after the last one, agents that no call is known to have started."""
        for part in parts:
            if part.number is not None:
                name = turn_anchor(conversation, part.number)
                head = min(6, level + 1)
                yield f'<h{head} class="turn" id="{name}"><a href="#{name}">Turn {part.number + 1}</a></h{head}>'
            for said in part.said:
                yield from self.said(said, level=level)
        if parts[-1:] == conversation.parts[-1:]:
            for agent in conversation.agents:
                yield from self._agent(agent, level=level)

    def said(self, said: Said, *, level: int = 1) -> Iterator[str]:
        """One thing that was said or done."""
        name = anchor(said.event)
        if said.kind == "call":
            yield from self._call(said, name, level=level)
            return
        if said.kind == "usage":
            yield f'<p class="usage" id="{name}">{plain(said.title)}</p>'
            return
        head = f'<a class="who" href="#{name}">{plain(said.title)}</a>{self._links_of(said)}{_time(said)}'
        yield f'<article class="{said.kind}" id="{name}">\n<header>{head}</header>'
        for block in said.blocks:
            yield from self._block(block)
        yield "</article>"

    def _agent(self, agent: Conversation, *, level: int) -> Iterator[str]:
        below = min(6, level + 1)
        yield f'<div class="agent">\n<section class="conversation">\n<h{below}>{plain(agent.title)}</h{below}>'
        yield from facts(agent.facts)
        parts, left = _first(agent.parts, self._most_of_agent)
        yield from self.parts(agent, parts, level=below)
        if (left or agent.unread) and self._agent_link is not None:
            words = f"{left:,} more of this agent" if left else f"All {agent.unread:,} events of this agent"
            yield f'<p class="more"><a href="{plain(self._agent_link(agent))}">{words}</a></p>'
        yield "</section>\n</div>"

    def _call(self, said: Said, name: str, *, level: int) -> Iterator[str]:
        # What went wrong, what changed files and what has agents below it is what people look for: it stands open.
        shown = said.failed or said.agents or any(block.kind in ("diff", "image") for block in said.blocks)
        state = plain(said.result or "")
        took = "" if said.seconds is None else f'<span class="took">{duration(said.seconds)}</span>'
        means = ", ".join(dict.fromkeys(tag_of(one) for one in said.operations))
        kind = str(said.operations[0].kind) if said.operations else ""
        sign = f'<span class="sign" aria-hidden="true">{_SIGNS.get(kind, "·")}</span>'
        meaning = f'<span class="means">{plain(means)}</span>' if means else ""
        failed = "failed" if said.failed else "waiting" if said.result == "no result" else "done"
        yield f'<details class="call {failed}" id="{name}"{" open" if shown else ""}>'
        yield (
            f"<summary>{sign}<code>{plain(said.title)}</code>{meaning}{took}"
            f'<span class="state">{state}</span></summary>\n<div class="inside">'
        )
        links = self._links_of(said)
        if links or said.time:
            yield f'<p class="about">{links}{_time(said)}</p>'
        for block in said.blocks:
            yield from self._block(block)
        for agent in said.agents:
            yield from self._agent(agent, level=level)
        yield "</div>\n</details>"

    def _block(self, block: Block) -> Iterator[str]:
        left = 0 if self._longest is None or block.kind == "image" else len(block.text) - self._longest
        if left <= 0:
            yield from _block(block)
            return
        yield from _block(msgspec.structs.replace(block, text=block.text[: self._longest]))
        yield f'<p class="more">{left:,} more characters are in the original record.</p>'

    def _links_of(self, said: Said) -> str:
        if self._links is None:
            return ""
        found = "".join(f'<a href="{plain(address)}">{plain(word)}</a>' for word, address in self._links(said))
        return f'<span class="links">{found}</span>' if found else ""


def contents(
    conversation: Conversation,
    link: Callable[[str, int], str] = lambda name, _: f"#{name}",
    *,
    at: int = 0,
    most: int | None = None,
) -> Iterator[str]:
    """The turns as a list of links, each by what opened it. `link` is given a turn's anchor and its first entry.

    Of a long conversation only those around the entry `at` are listed, `most` of them.
    """
    turns = [turn for turn in conversation.turn_lines() if turn.number is not None]
    if most is not None:
        near = bisect_right(turns, at, key=lambda turn: turn.place) - 1
        first = max(0, min(near - most // 2, len(turns) - most))
        turns = turns[first : first + most]
    rows = []
    for turn in turns:
        number = turn.number or 0
        mark = f' <b class="failures" title="failed calls">{turn.failed}</b>' if turn.failed else ""
        address = plain(link(turn_anchor(conversation, number), turn.place))
        name = plain(turn.words or f"Turn {number + 1}")
        rows.append(f'<li value="{number + 1}"><a href="{address}">{name}</a>{mark}</li>')
    if rows:
        yield f'<nav class="contents" aria-label="Turns">\n<ol>\n{chr(10).join(rows)}\n</ol>\n</nav>'


def facts(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Names and values as a list."""
    yield '<dl class="facts">'
    for name, value in pairs:
        yield f"<div><dt>{plain(name)}</dt><dd>{plain(value)}</dd></div>"
    yield "</dl>"


def diff_html(text: str) -> str:
    """A unified diff, each line marked as added, removed or the same."""
    return "".join(
        f'<span class="{_CLASSES.get(mark, "same")}">{plain(line)}</span>' for mark, line in marked_lines(text)
    )


_CLASSES: Final = {"+": "added", "-": "removed", "@": "place", "names": "names"}


def _first(parts: list[Part], most: int | None) -> tuple[list[Part], int]:
    """The first things of a conversation, and how many are left out."""
    if most is None:
        return parts, 0
    kept: list[Part] = []
    left = most
    for part in parts:
        if left <= 0:
            break
        kept.append(Part(part.number, part.said[:left]))
        left -= len(part.said)
    return kept, sum(len(part.said) for part in parts) - sum(len(part.said) for part in kept)


def _time(said: Said) -> str:
    return f"<time>{plain(said.time)}</time>" if said.time else ""


def _block(block: Block) -> Iterator[str]:
    if block.kind == "raw":
        yield f"<details><summary>{plain(block.label or '')}</summary>{_pre(plain(block.text))}</details>"
        return
    if block.kind == "markdown":
        yield f'<div class="prose">{rendered(block.text)}</div>'
        return
    if block.kind == "image" and block.media is not None and (picture := picture_of(block.media)) is not None:
        yield f'<figure><img alt="{plain(block.text)}" src="{picture}"></figure>'
        return
    if block.kind in ("words", "image"):
        yield f'<div class="words">{plain(block.text)}</div>'
        return
    if block.label is not None:
        yield f'<div class="label">{plain(block.label)}</div>'
    if block.kind == "diff":
        yield _pre(diff_html(block.text), "diff")
        return
    language = {"command": "bash", "arguments": "json"}.get(block.label or "", "")
    yield _pre(coloured(block.text, language=language, path=block.path or ""))


def _pre(html: str, name: str = "") -> str:
    # It may scroll, so a keyboard must reach it.
    return f'<pre{f" class={chr(34)}{name}{chr(34)}" if name else ""} tabindex="0">{html}</pre>'


def picture_of(media: out.Media) -> str | None:
    """A picture as an address of its own; `None` for what is none by its bytes, whatever it claims to be."""
    if media.data is None or len(media.data) > _LARGEST_PICTURE:
        return None
    try:
        data = base64.b64decode(media.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = media_kind(data[:64])
    if kind is None or kind.media_type not in _PICTURES:
        return None
    return f"data:{kind.media_type};base64,{base64.b64encode(data).decode('ascii')}"
