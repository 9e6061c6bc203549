"""Comments on what a client does name the version that does it."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "dragoman"
OURS = {"__init__.py", "base", "plain.py", "plugins", "translation.py"}
"""What is in the folder of the dialects and speaks of no single client."""
_ON_A_CLIENT = re.compile(r"\b(?:the client|clients|(?:some|newer|older) versions)\b", re.IGNORECASE)
_VERSION = re.compile(r"\d+\.\d+")


def modules() -> Iterator[Path]:
    for entry in sorted((SOURCE / "dialects").iterdir()):
        if entry.name not in OURS:
            yield from [entry] if entry.suffix == ".py" else sorted(entry.rglob("*.py"))
    yield from sorted((SOURCE / "logs" / "formats").rglob("*.py"))


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Comments with the line they begin in; those on lines of their own in a row are one."""
    with path.open("rb") as file:
        found = [token for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    joined: list[tuple[int, int, str]] = []
    for token in found:
        line, text = token.start[0], token.string.removeprefix("#").strip()
        is_alone = token.line.lstrip().startswith("#")
        if is_alone and joined and joined[-1][1] == line - 1:
            joined[-1] = joined[-1][0], line, f"{joined[-1][2]} {text}"
        else:
            joined.append((line, line, text))
    yield from ((first, text) for first, _, text in joined if not text.startswith("──"))


def test_a_comment_on_a_client_names_a_version() -> None:
    assert [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in modules()
        for line, text in comments(path)
        if _ON_A_CLIENT.search(text) and not _VERSION.search(text)
    ] == []
