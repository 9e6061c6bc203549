"""Sessions as a folder of pages: a list of all of them, and the page of each, with links between them.

The pages are those of the target `html`; none loads anything. Files are for the user alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dragoman.config.files import written_whole
from dragoman.errors import writing

from .chosen import Chosen
from .html import document, framed
from .markup import anchor
from .rich_text import plain
from .transcript import Conversation, conversations_of


def write_site(sessions: Iterable[Chosen], folder: Path, progress: Callable[[int], None] | None = None) -> list[Path]:
    """Writes a page for each session and `index.html`, the list of them; returns the files."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    files: list[Path] = []
    for chosen in sessions:
        found = conversations_of(chosen)
        if found:
            path = folder / f"{anchor(f'{found[0].id} {found[0].stream}')}.html"
            _write(path, document(found, back="index.html"))
            files.append(path)
            rows.append(_row(found[0], path.name))
        if progress is not None:
            progress(1)
    head = f"{len(rows):,} session{'s' if len(rows) != 1 else ''}"
    _write(folder / "index.html", framed(head, [f"<h1>{head}</h1>", '<ul class="index">', *rows, "</ul>"]))
    return [folder / "index.html", *files]


def _row(conversation: Conversation, name: str) -> str:
    shown = ("client", "model", "folder", "started", "duration", "tokens", "cost", "not understood")
    said = ((fact, _of_tokens(value) if fact == "tokens" else value) for fact, value in conversation.facts)
    facts = "".join(f"<span>{plain(value)}</span>" for fact, value in said if fact in shown)
    return f'<li><a href="{name}">{plain(conversation.title)}</a><p class="usage">{facts}</p></li>'


def _of_tokens(count: str) -> str:
    number, _, more = count.partition(" ")
    return f"{number} tokens {more}".rstrip()


def _write(path: Path, pieces: Iterable[str]) -> None:
    with written_whole(path) as file:
        for piece in pieces:
            file.write(piece.encode("utf-8", "backslashreplace") + b"\n")
