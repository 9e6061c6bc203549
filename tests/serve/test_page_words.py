"""The search of the page: it answers while logs are still read, and says so."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import LogError
from dragoman.logs import Filter, Found, Index, Places, Query
from dragoman.logs.full_text import FullText, Wanted
from dragoman.serve.page import Library, words
from dragoman.serve.page.search_screen import search_screen
from dragoman.serve.page.words import Words
from tests.logs.samples import SAMPLES
from tests.logs.test_prints import PRINTED


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    for project in ("one", "two"):
        folder = tmp_path / "home" / ".claude" / "projects" / project
        folder.mkdir(parents=True)
        head = {"sessionId": f"s-{project}", "cwd": f"/work/{project}", "timestamp": "2026-01-05T12:00:00Z"}
        said = {"role": "user", "content": f"a question about {project} apples"}
        lines = [{**head, "type": "user", "uuid": f"u{project}", "message": said}]
        (folder / f"s-{project}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return tmp_path / "home"


def asked(home: Path) -> Query:
    return Query(Index(), places=Places(home))


def words_of(query: Query, may_go_on: threading.Event) -> Words:
    """The full text of a history that is not read before it may be."""

    def files() -> tuple[list[Found], int]:
        may_go_on.wait(60)
        return query.files(), 2

    return Words(files, in_memory=False)


def test_a_search_does_not_wait_for_all_logs_and_finds_more_when_they_were_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_PATIENCE", 0.01)
    query, may_go_on = asked(home), threading.Event()
    searching = words_of(query, may_go_on)
    apples = Wanted(words="apples")
    early = searching.search(apples, limit=10, offset=0)
    assert (early.total, early.unread) == (0, None)
    may_go_on.set()
    monkeypatch.setattr(words, "_PATIENCE", 60.0)
    late = searching.search(apples, limit=10, offset=0)
    assert (late.total, late.unread, late.problem) == (2, 0, None)
    searching.close()
    query.close()


def test_what_keeps_logs_from_being_read_is_said(home: Path) -> None:
    def fails() -> tuple[list[Found], int]:
        raise LogError("the folder is on fire")

    searching = Words(fails, in_memory=False)
    found = searching.search(Wanted(words="apples"), limit=10, offset=0)
    assert (found.total, found.problem) == (0, "the folder is on fire")
    searching.close()


def test_a_search_that_missed_logs_says_so_as_json_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(asked(home))
    assert search_screen(library, {"q": "apples"}).data["problem"] is None

    def fails(self: FullText, *_: object) -> int:
        raise LogError("the folder is on fire")

    monkeypatch.setattr(FullText, "update", fails)
    library.changed()
    screen = search_screen(library, {"q": "apples"})
    assert (screen.data["problem"], screen.data["total"]) == ("the folder is on fire", 2)
    assert "the folder is on fire" in "".join(screen.body)
    library.close()
    library.query.close()


def test_a_page_that_ends_does_not_read_the_rest(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_PATIENCE", 0.01)
    query, may_go_on = asked(home), threading.Event()
    searching = words_of(query, may_go_on)
    searching.search(Wanted(words="apples"), limit=10, offset=0)
    searching._is_closed = True
    may_go_on.set()
    searching.close()
    text = FullText()
    assert [text.search(Wanted(words=word))[1] for word in ("one", "two")] == [1, 0]
    text.close()
    query.close()


def test_a_project_and_what_is_said_while_the_page_is_open_are_found(home: Path) -> None:
    library = Library(asked(home))
    assert search_screen(library, {"q": "apples"}).data["total"] == 2
    (hit,) = search_screen(library, {"q": "apples", "project": "two"}).data["hits"]
    assert hit["session"] == "s-two"
    assert library.session_ids(Filter(project="one")) == {"s-one"}
    log = next(home.rglob("s-one.jsonl"))
    log.write_text(log.read_text() + log.read_text().replace("uone", "uthree").replace("question", "quince"))
    library.changed()
    screen = search_screen(library, {"q": "quince"})
    assert (screen.data["total"], screen.data["unread"]) == (1, 0)
    assert "being read" not in "".join(screen.body)
    library.close()
    library.query.close()


def test_a_copy_of_a_log_is_neither_searched_nor_counted(home: Path) -> None:
    there = home / ".claude/projects/one/s-one.jsonl"
    copy = home / ".claude/projects/two/s-one.jsonl"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(there.read_bytes())
    query = asked(home)
    everything = list(query.files())
    query.settled()
    logs, about = query.without_copies()
    assert len(list(logs)) == about == len(everything) - 1
    query.close()


def test_a_call_that_failed_without_a_word_is_found_among_those_that_failed(home: Path) -> None:
    head = {"sessionId": "s-one", "cwd": "/work/one", "timestamp": "2026-01-05T12:00:01Z"}
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "false"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "", "is_error": True}
    lines = [
        {**head, "type": "assistant", "uuid": "a1", "message": {"role": "assistant", "id": "m1", "content": [call]}},
        {**head, "type": "user", "uuid": "u1", "message": {"role": "user", "content": [result]}},
    ]
    with (home / ".claude/projects/one/s-one.jsonl").open("a") as log:
        log.writelines(json.dumps(one) + "\n" for one in lines)
    query = asked(home)
    searching = Words(query.without_copies, in_memory=True)
    found = searching.search(Wanted(failed=True), limit=10, offset=0)
    assert [(hit.kind, hit.tool) for hit in found.hits] == [("result", "Bash")]
    searching.close()
    query.close()


def test_a_result_is_found_and_shown_as_people_see_it_and_a_print_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    logs = tmp_path / "logs"
    logs.mkdir()
    head = {"sessionId": "s-1", "version": "2.1.300", "cwd": "/p", "timestamp": "2026-01-05T12:00:00Z"}
    call = {"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*.py"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "src/apples.py\nsrc/pears.py"}
    stored = [
        {"type": "assistant", "uuid": "u1", "message": {"id": "m1", "role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [result]}},
    ]
    (logs / "s-1.jsonl").write_text("".join(json.dumps({**head, **one}) + "\n" for one in stored))
    (logs / "printed.jsonl").write_bytes(PRINTED.replace(b"Exit code 1", b"no apples"))
    query = Query(Index(tmp_path / "index.sqlite"), folders=[logs], places=Places(tmp_path / "home"))
    library = Library(query)
    found = library.search(Wanted(words="apples"), limit=10, offset=0)
    while found.unread != 0:
        found = library.search(Wanted(words="apples"), limit=10, offset=0)
    assert [(hit.tool, hit.snippet) for hit in found.hits] == [
        ("Glob", "src/\ue000apples\ue001.py\nsrc/pears.py"),
    ]
    library.close()
    query.close()


def test_what_a_client_wrote_to_the_log_of_its_database_alone_is_read_for_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    (name, data), *_ = SAMPLES["opencode"]
    path = tmp_path / name
    path.write_bytes(data)
    with closing(sqlite3.connect(path)) as client, closing(FullText()) as text:
        client.execute("PRAGMA journal_mode = WAL")
        found = [Found(path, "opencode")]
        before = path.stat()
        assert [text.update(found), text.update(found)] == [1, 0]
        said = '{"type": "text", "text": "a quince"}'
        client.execute("UPDATE part SET data = ? WHERE rowid = (SELECT min(rowid) FROM part)", (said,))
        client.commit()
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        assert [text.update(found), text.update(found)] == [1, 0]
        assert text.search(Wanted(words="quince"))[1] == 1
