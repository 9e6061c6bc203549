"""Whatever stands in whichever field of a log of whichever client: on every screen and in every page it is text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from dragoman.errors import LogError
from dragoman.logs import Chosen, Query
from dragoman.logs.export import anchor, write_as, write_site
from dragoman.model import ToolCalled
from dragoman.serve.page import Library
from dragoman.serve.page.frame import document
from dragoman.serve.page.server import Page
from tests.logs.samples import SAMPLES
from tests.serve.hostile import HOSTILE, Harmless, hostile_logs


def _addresses(query: Query) -> Iterator[tuple[str, dict[str, str]]]:
    """Every screen of all that is there, and of what was asked for in hostile words."""
    yield "/", {}
    yield "/", {"q": HOSTILE[:60]}
    yield "/", {"project": HOSTILE, "model": HOSTILE}
    yield "/search", {"q": "alert"}
    yield "/search", {"q": HOSTILE, "tool": HOSTILE, "path": HOSTILE, "op": HOSTILE}
    for by in ("project", "model", "client", "tool", "operation", "day"):
        yield "/usage", {"by": by}
    yield "/sql", {"sql": HOSTILE}
    rows = query.sessions(with_agents=True)
    for row in rows:
        path = f"/session/{row.session}"
        for tab in ("said", "changes", "timeline", "raw", "words"):
            yield path, {"tab": tab}
        yield path, {"tab": "changes", "steps": "1"}
        yield path, {"agent": row.stream, "event": HOSTILE, "from": HOSTILE, "prose": HOSTILE}
    if rows:
        yield "/compare", {"a": rows[0].session, "b": rows[-1].session}
        calls = [event for event in query.events_of(rows[0].session) if isinstance(event, ToolCalled)]
        for event in calls[:6]:
            yield f"/session/{rows[0].session}", {"tab": "words", "event": anchor(event.id)}


def _wrong(query: Query, folder: Path) -> Iterator[tuple[str, list[str]]]:
    page = Page(Library(query))
    for path, parameters in _addresses(query):
        screen = page._screen(path, parameters)
        assert screen.status in (200, 400, 404), path
        yield f"{path} {parameters}", Harmless(document(screen), ("/assets/page.js",)).wrong
    chosen = []
    for row in query.sessions():
        events = list(query.events_of(row.session))
        chosen.append(Chosen(lambda events=events: events, "clean"))  # type: ignore[misc]
        out = io.BytesIO()
        write_as(Chosen(lambda events=events: events, "full"), "html", out)  # type: ignore[misc]
        yield f"html of {quote(row.session)}", Harmless(out.getvalue().decode()).wrong
    for file in write_site(chosen, folder):
        yield f"site {file.name}", Harmless(file.read_text("utf-8")).wrong


@pytest.mark.slow
@pytest.mark.parametrize("format", sorted(SAMPLES))
def test_hostile_text_in_every_field_of_every_format_is_text_on_every_page(format: str, tmp_path: Path) -> None:
    seen = 0
    for number, folder in enumerate(hostile_logs(format, tmp_path)):
        query = Query(paths=[folder])
        try:
            seen += len(query.sessions())
        except LogError:  # no longer in any format: nothing of it is shown
            continue
        found = {place: wrong for place, wrong in _wrong(query, tmp_path / f"site-{number}") if wrong}
        query.close()
        assert found == {}, folder.name
    assert seen >= 3  # hostile in all, huge, and with other keys


def test_what_could_do_something_on_a_page_is_noticed() -> None:
    for text in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<img src=http://evil.example/p.png>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='java\tscript:alert(1)'>x</a>",
        "<a href='data:text/html,x'>x</a>",
        "<iframe src=/x></iframe>",
        "<form action=//evil.example></form>",
        "<p style='background:url(//evil.example)'>",
        "\u202e",
    ):
        assert Harmless(text, ("/assets/page.js",)).wrong, text
    for text in ('<script src="/assets/page.js" defer></script>', '<a href="/x">x</a>', "<p>&lt;script&gt;</p>"):
        assert Harmless(text, ("/assets/page.js",)).wrong == [], text
