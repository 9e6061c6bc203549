"""What Google's own tools say."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says

URL = "https://example.com/a"


def test_search_the_web() -> None:
    says(op.SearchWeb("tea"), google=("GOOGLE_SEARCH_WEB", {"queries": ["tea"]}))
    reads(op.SearchWeb("a"), op.SearchWeb("b"), google=("GOOGLE_SEARCH_WEB", {"queries": ["a", "b"]}))
    reads(op.SearchWeb("otter"), google=("GOOGLE_SEARCH_IMAGE", {"queries": ["otter"]}))
    reads(op.SearchWeb(""), google=("GOOGLE_SEARCH_WEB", {}))


def test_read_pages() -> None:
    says(op.FetchPage(URL), google=("URL_CONTEXT", {"urls": [URL]}))
    reads(op.FetchPage(URL), op.FetchPage("https://b.example"), google=(
        "URL_CONTEXT", {"urls": [URL, "https://b.example"]}
    ))  # fmt: skip


def test_search_documents() -> None:
    says(op.SearchDocuments("tea"), google=("FILE_SEARCH", {"queries": ["tea"]}))
    reads(op.SearchDocuments(""), google=("FILE_SEARCH", {}))


def test_run_a_program() -> None:
    says(op.RunCode("print(1)", "python"), google=("code_execution", {"language": "PYTHON", "code": "print(1)"}))


def test_act_on_a_screen() -> None:
    says(op.UseComputer("open_web_browser"), google=("open_web_browser", {}))
    says(op.UseComputer("click_at", {"x": 500, "y": 20}), google=("click_at", {"x": 500, "y": 20}))
    says(
        op.UseComputer("type_text_at", {"x": 1, "y": 2, "text": "tea", "press_enter": False}),
        google=("type_text_at", {"x": 1, "y": 2, "text": "tea", "press_enter": False}),
    )


def test_what_has_no_shared_meaning() -> None:
    reads(op.SteerClient("GOOGLE_MAPS", {"queries": ["tea"]}), google=("GOOGLE_MAPS", {"queries": ["tea"]}))
    reads(op.SteerClient("MEDIA_PROCESSING"), google=("MEDIA_PROCESSING", {}))
