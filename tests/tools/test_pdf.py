"""PDF documents as text: from the workspace, by pages, and from the web."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence

import pytest

from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.errors import ToolError
from dragoman.installation import install_command, packages_of
from dragoman.model import Failure, FileOutcome, FunctionDefinition, Outcome, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, Toolset, Web, perform
from dragoman.tools.web.pdf import can_read_pdf, page_ranges
from tests.engine.loopback import Raw, loopback


def pdf(*texts: str, streams: Sequence[bytes] | None = None) -> bytes:
    """A document with one page for each text, written by hand."""
    bodies = streams or [f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode() for text in texts]
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(bodies)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(bodies)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for place, body in enumerate(bodies):
        content = 5 + 2 * place
        page = f"<< /Type /Page /Parent 2 0 R /Contents {content} 0 R /MediaBox [0 0 612 792] "
        objects.append(f"{page}/Resources << /Font << /F1 3 0 R >> >> >>".encode())
        packed = zlib.compress(body)
        objects.append(f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream")
    made = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content_of in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n".encode() + content_of + b"\nendobj\n"
    start = len(made)
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    made += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(made)


THREE = pdf("Green tea", "Black tea", "White tea")


async def read(data: bytes, **fields: object) -> Outcome:
    workspace = MemoryWorkspace({"a.pdf": data})
    return await perform(op.ReadFile("a.pdf", **fields), Context(workspace=workspace))  # type: ignore[arg-type]


async def test_a_document_is_read_as_the_text_of_its_pages() -> None:
    text = "[Page 1 of 3]\nGreen tea\n\n[Page 2 of 3]\nBlack tea\n\n[Page 3 of 3]\nWhite tea\n"
    assert await read(THREE) == FileOutcome("a.pdf", text, total_lines=8, total_bytes=len(THREE))
    lines = FileOutcome("a.pdf", "Black tea\n", first_line=5, total_lines=8, total_bytes=len(THREE))
    assert await read(THREE, first_line=5, last_line=5) == lines


@pytest.mark.parametrize(
    "pages, text",
    [
        ("2", "[Page 2 of 3]\nBlack tea\n"),
        ("2-9", "[Page 2 of 3]\nBlack tea\n\n[Page 3 of 3]\nWhite tea\n"),
        ("3, 1", "[Page 3 of 3]\nWhite tea\n\n[Page 1 of 3]\nGreen tea\n"),
    ],
)
async def test_pages_that_are_asked_for_are_given(pages: str, text: str) -> None:
    outcome = await read(THREE, pages=pages)
    assert isinstance(outcome, FileOutcome)
    assert outcome.text == text


@pytest.mark.parametrize(
    "data, pages, kind, message",
    [
        (THREE, "4", "invalid_arguments", '"a.pdf" has 3 pages, so there are no pages 4'),
        (THREE, "0", "invalid_arguments", '"0" names no pages; write a page or a range of them, such as "3" or "1-5"'),
        (THREE, "5-2", "invalid_arguments", '"5-2" names no pages'),
        (pdf(""), None, "failed", '"a.pdf" is a PDF document that cannot be read: its 1 pages hold no text'),
        (b"%PDF-1.4\nnothing else", None, "failed", '"a.pdf" is a PDF document that cannot be read: it is damaged'),
        (b"no document", "1", "invalid_arguments", '"a.pdf" has no pages: leave out `pages`, or ask for lines'),
    ],
)
async def test_what_cannot_be_read_says_why(data: bytes, pages: str | None, kind: str, message: str) -> None:
    outcome = await read(data, pages=pages)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.message[: len(message)]) == (kind, message)


async def test_a_document_that_unpacks_to_too_much_is_a_failure_and_harms_nobody() -> None:
    bomb = pdf(streams=[b"BT /F1 12 Tf (a) Tj ET " + b" " * 120_000_000])
    assert len(bomb) < 200_000
    outcome = await read(bomb)
    assert isinstance(outcome, Failure)
    assert outcome.message.startswith('"a.pdf" is a PDF document that cannot be read: ')


def test_page_ranges_are_read() -> None:
    assert page_ranges("3") == [[3, 3]]
    assert page_ranges(" 1 - 5,7") == [[1, 5], [7, 7]]
    with pytest.raises(ToolError, match="names no pages"):
        page_ranges("1-")


async def test_a_document_of_the_web_is_text() -> None:
    served = Raw(body=THREE, content_type="application/pdf")
    async with loopback(served, served) as site, Web(allow_private=True) as web:
        (page,) = (await web.fetch(op.FetchPage(site.url))).pages
        found = await web.find(op.FindInPage(site.url, "black TEA"))
    assert page.text == "[Page 1 of 3]\nGreen tea\n\n[Page 2 of 3]\nBlack tea\n\n[Page 3 of 3]\nWhite tea\n"
    assert page.media_type == "application/pdf"
    assert [match.text for match in found.matches] == ["Black tea"]


def test_pages_are_offered_where_they_are_honoured() -> None:
    (definition,) = Facade(DIALECTS["claude_code"], Toolset([TOOLS["read_file"]])).definitions
    assert isinstance(definition, FunctionDefinition)
    assert "pages" in definition.parameters["properties"]
    assert definition.description.endswith("pages of a PDF.")


@pytest.fixture
def no_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "pypdf", None)
    can_read_pdf.cache_clear()
    yield
    can_read_pdf.cache_clear()


@pytest.mark.usefixtures("no_reader")
async def test_without_the_extra_nothing_is_promised_and_the_error_says_what_to_install() -> None:
    (definition,) = Facade(DIALECTS["claude_code"], Toolset([TOOLS["read_file"]])).definitions
    assert isinstance(definition, FunctionDefinition)
    assert "pages" not in definition.parameters["properties"]
    assert "PDF" not in definition.description
    outcome = await read(THREE)
    assert isinstance(outcome, Failure)
    assert outcome.message.startswith(
        f'"a.pdf" is a PDF document, and no reader for PDF is installed ({install_command(*packages_of("pdf"))})'
    )
    served = Raw(body=THREE, content_type="application/pdf")
    async with loopback(served) as site, Web(allow_private=True) as web:
        with pytest.raises(ToolError, match="is no page of text but application/pdf"):
            await web.fetch(op.FetchPage(site.url))
