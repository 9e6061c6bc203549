"""PDF documents as text, page by page, read in a process of their own (`pdf_process.py`); needs the extra `pdf`."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from dragoman.errors import ToolError

_PROGRAM: Final = Path(__file__).with_name("pdf_process.py")
SECONDS: Final = 25
"""Processor time one reading may take; about 200 pages of text."""
_MEMORY: Final = 1 << 30
_RANGE: Final = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")


class PdfText(NamedTuple):
    """The pages of a document as one text, each under a line with its number."""

    text: str
    total_pages: int
    cut: bool


@functools.cache
def can_read_pdf() -> bool:
    """Whether the extra is installed that reads PDF documents."""
    from importlib.util import find_spec

    return find_spec("pypdf") is not None


def page_ranges(pages: str) -> list[list[int]]:
    """`3`, `1-5` or `1,3-4` as ranges of page numbers."""
    ranges: list[list[int]] = []
    for part in pages.split(","):
        found = _RANGE.fullmatch(part.strip())
        first = int(found[1]) if found is not None else 0
        last = int(found[2] or first) if found is not None else 0
        if not 1 <= first <= last:
            raise ToolError(
                f'"{pages}" names no pages; write a page or a range of them, such as "3" or "1-5"',
                kind="invalid_arguments",
            )
        ranges.append([first, last])
    return ranges


def read_pdf(name: str, data: bytes, pages: str | None, *, characters: int, seconds: int = SECONDS) -> PdfText:
    """The text of a document, or of some of its pages, up to so many characters. `name` is what errors call it."""
    from importlib.util import find_spec

    from dragoman.environment import child_environment
    from dragoman.installation import install_command, packages_of

    wanted = None if pages is None else page_ranges(pages)
    spec = find_spec("pypdf")
    if spec is None or spec.origin is None:
        raise ToolError(
            f'"{name}" is a PDF document, and no reader for PDF is installed ({install_command(*packages_of("pdf"))}); '
            "convert it to text with a command",
            details={"reason": "no_reader", "name": name},
        )
    order = {
        "packages": str(Path(spec.origin).parents[1]),
        "pages": wanted,
        "characters": characters,
        "memory": _MEMORY,
        "seconds": seconds,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(order).encode() + b"\n" + data,
            capture_output=True,
            env=child_environment(),
            timeout=2 * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unreadable(name, "it takes too long to read; ask for fewer pages") from None
    if done.returncode != 0 or not done.stdout:
        raise _unreadable(name, "reading it took too much time or memory; ask for fewer pages")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise _unreadable(name, answer["error"])
    return _joined(name, answer, pages)


def _joined(name: str, answer: dict[str, object], pages: str | None) -> PdfText:
    total, read = int(str(answer["total"])), answer["pages"]
    assert isinstance(read, list)
    if pages is not None and not read:
        raise ToolError(
            f'"{name}" has {total} {"page" if total == 1 else "pages"}, so there are no pages {pages}',
            kind="invalid_arguments",
            details={"reason": "no_page", "name": name, "total_pages": total},
        )
    if not any(text.strip() for _, text in read):
        raise _unreadable(name, f"its {total} pages hold no text, only pictures")
    text = "\n\n".join(f"[Page {number} of {total}]\n{text.strip()}" for number, text in read)
    return PdfText(f"{text}\n", total, bool(answer["cut"]))


def _unreadable(name: str, why: str) -> ToolError:
    return ToolError(
        f'"{name}" is a PDF document that cannot be read: {why}', details={"reason": "unreadable", "name": name}
    )
