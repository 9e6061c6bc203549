"""The process that reads a PDF: a file of a stranger is parsed apart from everything else, and can be ended.

Rule: a program of its own that imports the standard library and pypdf alone. It has no more memory and processor time
than its order says. pypdf is Python, so a document cannot do more than take long or grow: both end here.

Reads from standard input one line of JSON, the order, and then the document. Writes one JSON object: `total` pages and
the `pages` that were asked for, as pairs of number and text, or an `error`.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from typing import Any


def main() -> int:
    """Carries out the order."""
    order = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    _limit(order["memory"], order["seconds"])
    sys.path.append(order["packages"])
    logging.disable(logging.CRITICAL)  # remarks about the document's faults: what can be read is read all the same
    try:
        answer = _read(data, order["pages"], order["characters"])
    except MemoryError:
        answer = {"error": "it needs more memory than a document may take"}
    except RecursionError:
        answer = {"error": "it is nested too deeply"}
    except Exception as error:  # noqa: BLE001 - pypdf raises whatever a broken document leads to
        answer = {"error": f"it is damaged ({type(error).__name__}: {error})"[:300]}
    sys.stdout.buffer.write(json.dumps(answer).encode())
    return 0


def _read(data: bytes, wanted: list[list[int]] | None, characters: int) -> dict[str, Any]:
    """The text of pages, of each range in order, until there are so many characters."""
    import pypdf

    document = pypdf.PdfReader(io.BytesIO(data))
    if document.is_encrypted and not document.decrypt(""):
        return {"error": "it is locked with a password"}
    total = len(document.pages)
    pages: list[tuple[int, str]] = []
    room = characters
    for first, last in wanted if wanted is not None else [[1, total]]:
        for number in range(first, min(last, total) + 1):
            if room <= 0:
                return {"total": total, "pages": pages, "cut": True}
            text = document.pages[number - 1].extract_text()
            pages.append((number, text[:room]))
            room -= len(text)
    return {"total": total, "pages": pages, "cut": room < 0}


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the clock of whoever started it is all there is
        return
    for name, value in (("RLIMIT_DATA", memory), ("RLIMIT_CPU", seconds), ("RLIMIT_CORE", 0)):
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, most))


if __name__ == "__main__":
    sys.exit(main())
