"""A transcript as one HTML file that needs nothing else: no script, and no address is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from .chosen import Chosen
from .markup import Markup, contents
from .rich_text import plain
from .transcript import Conversation, conversations_of

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def style() -> str:
    """The style of every page with a transcript."""
    return Path(__file__).with_name("transcript.css").read_text("utf-8")


def write(chosen: Chosen, out: BinaryIO) -> None:
    for piece in document(conversations_of(chosen)):
        out.write(piece.encode("utf-8", "backslashreplace") + b"\n")


def document(conversations: list[Conversation], *, back: str | None = None) -> Iterator[str]:
    """A whole page. `back` is the address of the page that lists this one."""
    title = conversations[0].title if conversations else "Nothing was recorded"
    return framed(title, _body(conversations, back))


def _body(conversations: list[Conversation], back: str | None) -> Iterator[str]:
    if back is not None:
        yield f'<p class="back"><a href="{plain(back)}">All sessions</a></p>'
    markup = Markup()
    for conversation in conversations:
        if sum(part.number is not None for part in conversation.parts) > 1:
            yield from contents(conversation)
        yield from markup.conversation(conversation)


def framed(title: str, body: Iterable[str]) -> Iterator[str]:
    """A page that needs nothing else, around what it shows."""
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta name="referrer" content="no-referrer">\n<title>{plain(title)}</title>\n<style>\n{style()}\n</style>'
    yield '</head>\n<body>\n<main class="document">'
    yield from body
    yield "</main>\n</body>\n</html>"
