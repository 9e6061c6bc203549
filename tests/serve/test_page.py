"""The local page: who may open it, what it sends, and that its figures are those of the commands."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from dragoman.logs import Filter, Index, Places, Query, SessionRow, statistics
from dragoman.logs.corpus import CorpusQuery, Labels, built, place_of, planned
from dragoman.logs.export import anchor
from dragoman.model import (
    AnyEvent,
    Call,
    CommandOutcome,
    Failure,
    NativeCall,
    Outcome,
    Result,
    RunCommand,
    TextOutcome,
    ToolCalled,
    ToolReturned,
)
from dragoman.serve.page import Library, Page, long_session
from dragoman.serve.page.frame import session_address
from dragoman.serve.page.growing import UNNAMED, Growing
from dragoman.serve.page.library import LONG
from dragoman.serve.page.timeline import bars_of
from tests.logs.samples import CLAUDE, CODEX, SAMPLES

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCREENS = ("/", "/search", "/usage", "/compare", "/sql")
TABS = ("said", "changes", "timeline", "raw", "words")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for format in ("claude_code", "codex", "gemini_cli"):
        for name, data in SAMPLES[format]:
            path = tmp_path / "logs" / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return tmp_path / "logs"


class Reader:
    """A browser that has opened the page."""

    def __init__(self, page: Page, session: aiohttp.ClientSession) -> None:
        self.page, self.session = page, session

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self.session.get(self.page.url + path, headers=headers) as answer:
            return answer.status, await answer.text()

    async def json(self, path: str) -> Any:
        _, text = await self.get(path, Accept="application/json")
        return json.loads(text)


@asynccontextmanager
async def opened(folder: Path, asked: Query | None = None) -> AsyncIterator[Reader]:
    query = Query(paths=[folder]) if asked is None else asked
    page = Page(Library(query))
    await page.start()
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.get(page.opening()) as answer:
                assert answer.status == 200
            yield Reader(page, session)
    finally:
        await page.close()
        query.close()


async def test_the_address_opens_the_page_once_and_gives_a_strict_cookie(folder: Path) -> None:
    query = Query(paths=[folder])
    page = Page(Library(query))
    await page.start()
    address = page.opening("/usage?by=tool")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        async with session.get(page.url + "/") as answer:
            assert answer.status == 401
            assert "session" not in (await answer.text()).lower()
        async with session.get(page.url + "/?token=wrong", allow_redirects=False) as answer:
            assert answer.status == 401
        async with session.get(address, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/usage?by=tool")
            cookie = answer.headers["Set-Cookie"]
            assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        async with session.get(address, allow_redirects=False) as answer:
            assert answer.status == 401
        async with session.get(page.url + "/", headers={"Cookie": cookie.split(";")[0]}) as answer:
            assert answer.status == 200
        async with session.get(page.url + "/", headers={"Cookie": "dragoman_page=x"}) as answer:
            assert answer.status == 401
    await page.close()
    query.close()


async def test_requests_of_other_pages_and_requests_that_could_write_are_refused(folder: Path) -> None:
    async with opened(folder) as reader:
        for path in (*SCREENS, "/live", "/assets/page.js"):
            for headers in (
                {"Host": "evil.example"},
                {"Host": f"evil.example:{reader.page.port}"},
                {"Host": "127.0.0.1:1"},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"},
            ):
                assert (await reader.get(path, **headers))[0] == 403, (path, headers)
            for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                async with reader.session.request(method, reader.page.url + path) as answer:
                    assert answer.status == 403, (path, method)
        assert (await reader.get("/", Origin=reader.page.url))[0] == 200


async def test_the_page_listens_on_loopback_alone(folder: Path) -> None:
    async with opened(folder) as reader:
        assert reader.page._runner is not None
        assert [address[0] for address in reader.page._runner.addresses] == ["127.0.0.1"]


async def test_every_answer_has_a_strict_policy_and_nothing_inline(folder: Path) -> None:
    async with opened(folder) as reader:
        id = (await reader.json("/"))["sessions"][0]["session"]
        paths = [*SCREENS, *(f"/session/{id}?tab={tab}" for tab in TABS), "/nothing", "/session/none"]
        for path in (*paths, "/assets/page.css", "/assets/page.js", "/assets/transcript.css"):
            async with reader.session.get(reader.page.url + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                text = await answer.text()
            rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
            assert rules["default-src"] == "'none'"
            assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
            assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
            if path in paths:
                assert re.findall(r"<script(?! src=\"/assets/)|<style|\sstyle=|\son\w+=|javascript:", text) == [], path


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\'"</title></textarea>{{7*7}}\u202e'


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


NAMES = ("uuid", "parentUuid", "tool_use_id", "call_id", "id", "name", "sessionId", "requestId")
"""Fields that hold the names of things: with other names, less of a log is understood."""


def hostile(value: Any, kept: tuple[str, ...] = ("type", "role", "timestamp", *NAMES)) -> Any:
    """The same record with hostile text in every field that may hold any."""
    if isinstance(value, dict):
        return {key: one if key in kept else hostile(one, kept) for key, one in value.items()}
    if isinstance(value, list):
        return [hostile(one, kept) for one in value]
    return f"{value} {HOSTILE}" if isinstance(value, str) else value


@pytest.mark.parametrize("kept", [("type", "role", "timestamp", *NAMES), ("type", "role", "timestamp")])
@pytest.mark.parametrize("sample", [CLAUDE, CODEX])
@pytest.mark.slow
async def test_hostile_text_in_every_field_of_a_log_stays_text(
    tmp_path: Path, sample: bytes, kept: tuple[str, ...]
) -> None:
    lines = [json.dumps(hostile(json.loads(line), kept)) for line in sample.splitlines()]
    log = tmp_path / "logs" / "a.jsonl"
    log.parent.mkdir()
    log.write_text("\n".join(lines) + "\n")
    async with opened(log.parent) as reader:
        id = quote((await reader.json("/"))["sessions"][0]["session"], safe="")
        asked = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
        paths = [f"/session/{id}?tab={tab}" for tab in TABS]
        paths += ["/", f"/?q={asked}", f"/?project={asked}", f"/?since={asked}", f"/?client={asked}", "/search?q=alert"]
        paths += [f"/search?q=x&tool={asked}", f"/sql?sql={asked}", f"/usage?by={asked}", "/usage?by=project"]
        paths += [f"/compare?a={id}&b={id}", f"/compare?a={asked}&b=x", f"/session/{asked}", f"/{asked}"]
        paths += ["/sql?sql=SELECT+*+FROM+sessions", f"/session/{id}?event={asked}&from={asked}&prose={asked}"]
        for path in paths:
            _, text = await reader.get(path)
            tags = Tags()
            tags.feed(text)
            assert [one for one in tags.found if one[0] == "script"] == [
                ("script", {"src": "/assets/page.js", "defer": None})
            ], path
            assert [one for tag, one in tags.found if any(name.startswith("on") for name in one)] == [], path
            assert [one for tag, one in tags.found if tag == "img"] == [], path
            assert "\u202e" not in text, path


async def test_figures_on_the_page_are_those_of_the_commands_and_of_sql(folder: Path) -> None:
    with_query = Query(paths=[folder])
    async with opened(folder) as reader:
        for by in ("day", "week", "month", "block", "model", "client", "tool", "project", "operation"):
            shown = await reader.json(f"/usage?by={by}")
            counted = statistics(with_query, by=(by,))  # type: ignore[arg-type]
            assert {one["group"][by]: one["sessions"] for one in shown["groups"]} == {
                one.group[by]: one.sessions for one in counted.groups
            }
            assert shown["total"]["calls"]["calls"] == counted.total.calls.calls if counted.total.calls else 0
        listed = await reader.json("/")
        asked = "SELECT s.session, s.calls, s.tokens FROM sessions s WHERE s.parent_session IS NULL"
        rows = {row[0]: (row[1], row[2]) for row in with_query.sql(asked).rows}
        assert {one["session"]: (one["calls"], one["tokens"]) for one in listed["sessions"]} == rows
        (total,) = with_query.sql("SELECT sum(cost) FROM usage WHERE NOT repeated").rows[0]
        assert sum(one["cost"] or 0 for one in listed["sessions"]) == pytest.approx(total)
        assert (await reader.json("/sql?sql=SELECT+count(*)+FROM+calls"))["rows"] == [
            list(with_query.sql("SELECT count(*) FROM calls").rows[0])
        ]
        for one in listed["sessions"]:
            shown = await reader.json(f"/session/{one['session']}")
            assert shown["session"]["cost"] == one["cost"]
            (said,) = [row for row in with_query.sessions() if row.session == one["session"]]
            if not said.agents:
                assert sum(entry["kind"] == "call" for entry in shown["entries"]) == said.calls
    with_query.close()


async def test_counts_that_were_logged_too_early_are_marked_on_every_screen(tmp_path: Path) -> None:
    about = {"sessionId": "s-1", "version": "2.1.54", "cwd": "/p", "timestamp": "2026-05-01T10:00:00Z"}
    message = {
        "id": "m1",
        "role": "assistant",
        "stop_reason": None,  # Claude Code 2.1.54 writes a reply before it is complete, and its output is 1
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 4000, "output_tokens": 1},
        "content": [{"type": "text", "text": "Because."}],
    }
    records = [
        {**about, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "Why?"}},
        {**about, "type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": message},
    ]
    path = tmp_path / "logs" / "s-1.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    marks = {
        "/": ["4,001? tokens", "$0.0120?"],
        "/usage": ["4,001?", "$0.0120?", "1?"],
        "/compare?a=s-1&b=s-1": ["4,001?", "$0.0120?"],
        "/session/s-1": ["4,001 (doubtful)", "$0.0120 (doubtful)"],
    }
    async with opened(tmp_path / "logs") as reader:
        for place, wanted in marks.items():
            _, text = await reader.get(place)
            assert [mark for mark in wanted if mark not in text] == [], place


async def test_a_corpus_is_shown_as_logs_are(folder: Path, tmp_path: Path) -> None:
    to = place_of(str(tmp_path / "corpus"))
    built(planned(to, [place_of(str(folder))], labels=Labels(machine="here")))
    async with opened(folder) as here, opened(folder, CorpusQuery(to, tmp_path / "cache")) as reader:
        listed, logged = await reader.json("/"), await here.json("/")
        facts = ("session", "calls", "tokens", "title")
        assert [[one[name] for name in facts] for one in listed["sessions"]] == [
            [one[name] for name in facts] for one in logged["sessions"]
        ]
        for path in ("/", "/usage", "/compare", "/sql?sql=SELECT+count(*)+FROM+calls"):
            assert (await reader.get(path))[0] == 200, path
        for one in listed["sessions"]:
            shown = await reader.json(f"/session/{one['session']}")
            expected = await here.json(f"/session/{one['session']}")
            kinds = [
                [entry["kind"] for entry in each["entries"] if entry["kind"] == "call"] for each in (shown, expected)
            ]
            assert kinds[0] == kinds[1]
            for tab in TABS:
                status, _ = await reader.get(f"/session/{one['session']}?tab={tab}")
                assert status == 200, tab
        status, text = await reader.get("/search?q=tea")
        assert "A corpus has no full text to search." in text
        assert status == 200


async def test_a_session_compared_with_itself_has_its_own_calls_and_no_others(tmp_path: Path) -> None:
    head = {"timestamp": "2026-01-01T00:00:00Z"}
    for id, parent in (("parent", None), ("child", "parent")):
        source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}} if parent else "cli"
        about = {"id": id, "cwd": "/p", "cli_version": "0.166.0", "source": source, "parent_thread_id": parent}
        call = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": f"c-{id}"}
        records = [
            {**head, "type": "session_meta", "payload": about},
            {**head, "type": "response_item", "payload": call},
        ]
        log = tmp_path / "logs" / f"rollout-2026-01-01T00-00-00-{id}.jsonl"
        log.parent.mkdir(exist_ok=True)
        log.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    async with opened(tmp_path / "logs") as reader:
        (row,) = (await reader.json("/"))["sessions"]
        assert (row["session"], row["agents"], row["calls"]) == ("parent", 1, 1)
        rows = (await reader.json("/compare?a=parent&b=parent"))["rows"]
        assert [(one["kind"], one["a"]["operation"]) for one in rows] == [("same", "run_command")]


async def test_filters_choose_as_those_of_the_command(folder: Path) -> None:
    query = Query(paths=[folder])
    async with opened(folder) as reader:
        everything = await reader.json("/")
        assert everything["clients"] == {
            client: sum(row.client == client for row in query.sessions()) for client in everything["clients"]
        }
        for client, count in everything["clients"].items():
            chosen = await reader.json(f"/?client={client}")
            assert (chosen["total"], {one["client"] for one in chosen["sessions"]}) == (count, {client})
        assert (await reader.json("/?until=2000-01-01"))["total"] == 0
        assert (await reader.get("/?since=soon"))[0] == 400
        title = everything["sessions"][0]["title"]
        assert (await reader.json(f"/?q={title.split()[0]}"))["total"] >= 1
    query.close()


async def test_words_are_found_where_they_were_said(folder: Path) -> None:
    async with opened(folder) as reader:
        entries = [
            (one["session"], entry)
            for one in (await reader.json("/"))["sessions"]
            for entry in (await reader.json(f"/session/{one['session']}"))["entries"]
        ]
        session, entry = next((id, one) for id, one in entries if one["kind"] == "user" and one.get("text"))
        words = " ".join(re.findall(r"\w+", entry["text"][0])[:3])
        hits = (await reader.json(f"/search?q={words}"))["hits"]
        assert (session, entry["anchor"]) in {(hit["session"], hit["anchor"]) for hit in hits}
        for page in ("1", "0", "x", "9999999"):
            assert (await reader.json(f"/search?q={words}&page={page}"))["hits"] == hits
        _, text = await reader.get(f"/search?q={words}")
        assert '<nav class="pages"' not in text  # all of them are on it
        status, text = await reader.get(f"/session/{session}?event={entry['anchor']}")
        assert status == 200
        assert f'id="{entry["anchor"]}"' in text
        failed = (await reader.json("/search?failed=1"))["hits"]
        assert all(hit["failed"] for hit in failed)
        for odd in ("%22", "*", "AND", "(", "NEAR(a%20b)", "text:x", "%00", "'"):
            assert (await reader.get(f"/search?q={odd}"))[0] == 200


async def test_a_statement_that_is_refused_or_takes_too_much_says_so(folder: Path) -> None:
    async with opened(folder) as reader:
        for sql in (
            "SELECT nothing",
            "SELECT * FROM read_csv('/etc/passwd')",
            "COPY calls TO '/tmp/x'",
            "SELECT * FROM range(5000)",
        ):
            status, text = await reader.get(f"/sql?sql={sql}")
            assert (status, 'role="alert"' in text) == (400, True), sql


def long_log(turns: int) -> Iterator[str]:
    head = {"sessionId": "long", "version": "2.1.0", "cwd": "/p", "timestamp": "2026-01-05T12:00:00Z"}
    for turn in range(turns):
        said = {"role": "user", "content": f"question {turn}"}
        yield json.dumps({**head, "type": "user", "uuid": f"u{turn}", "message": said})
        answer = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": f"answer {turn}"}]}
        yield json.dumps({**head, "type": "assistant", "uuid": f"a{turn}", "message": {**answer, "id": f"m{turn}"}})


async def test_a_long_session_is_shown_in_windows_that_leave_nothing_out(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "long.jsonl"
    log.parent.mkdir()
    log.write_text("\n".join(long_log(400)) + "\n")
    async with opened(log.parent) as reader:
        first = await reader.json("/session/long")
        texts: list[str] = []
        for begin in range(0, first["total"], len(first["entries"])):
            window = await reader.json(f"/session/long?from={begin}")
            assert window["from"] == begin
            texts += [text for entry in window["entries"] for text in entry["text"]]
        assert texts == [f"{kind} {turn}" for turn in range(400) for kind in ("question", "answer")]
        _, text = await reader.get("/session/long?from=end")
        assert "answer 399" in text
        assert "answer 5<" not in text


def append(folder: Path, record: dict[str, Any]) -> None:
    with next(folder.glob("claude_code/**/*.jsonl")).open("a") as file:
        file.write(json.dumps(record) + "\n")


async def test_of_a_very_long_session_the_beginning_is_shown_before_the_rest_is_read(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "long.jsonl"
    log.parent.mkdir()
    log.write_text("\n".join(long_log(3_100)) + "\n")
    async with opened(log.parent) as reader:
        first = await reader.json("/session/long")
        assert (first["total"], len(first["entries"])) == (None, 150)
        whole = await reader.json("/session/long?from=150")
        assert (whole["from"], whole["total"], len(whole["entries"])) == (150, 6_200, 150)
        again = await reader.json("/session/long")
        assert (again["total"], again["entries"]) == (6_200, first["entries"])
        _, text = await reader.get("/session/long")
        assert text.count("<li value=") <= 200


class Counted(Query):
    """A query that counts the events that are read from logs."""

    read = 0

    def own_events_of(self, row: SessionRow) -> Iterator[AnyEvent]:
        for event in super().own_events_of(row):
            self.read += 1
            yield event


def with_calls(lines: Iterator[str], *places: int) -> Iterator[str]:
    """The lines of a long log, with a file written after some of them."""
    for place, line in enumerate(lines):
        yield line
        if place in places:
            head = {"sessionId": "long", "version": "2.1.0", "timestamp": "2026-01-05T12:00:00Z"}
            given = {"file_path": f"/p/{place}.txt", "content": f"text {place}\n"}
            call = {"type": "tool_use", "id": f"c{place}", "name": "Write", "input": given}
            message = {"role": "assistant", "model": "m", "id": f"w{place}", "content": [call]}
            yield json.dumps({**head, "type": "assistant", "uuid": f"c{place}", "message": message})
            done = {"type": "tool_result", "tool_use_id": f"c{place}", "content": "File created successfully"}
            stamp = {"timestamp": "2026-01-05T12:00:02Z"}
            message = {"role": "user", "content": [done]}
            yield json.dumps({**head, **stamp, "type": "user", "uuid": f"r{place}", "message": message})


@pytest.mark.slow
async def test_every_view_of_a_very_long_session_begins_at_once_and_leaves_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_session, "_SOON", 600.0)  # nothing is read before it is asked for
    log = tmp_path / "logs" / "long.jsonl"
    log.parent.mkdir()
    lines = list(with_calls(long_log(3_100), 5, 6_190))
    log.write_text("\n".join(lines) + "\n")
    query = Counted(paths=[log.parent])
    async with opened(log.parent, query) as reader:
        few = {"raw": 200, "words": LONG, "changes": LONG, "timeline": LONG}
        for tab, most in few.items():
            query.read = 0
            screen = await reader.json(f"/session/long?tab={tab}")
            assert 0 < query.read <= most, tab
            assert screen.get("is_part", True), tab
        paths = [one["path"] for one in (await reader.json("/session/long?tab=changes"))["files"]]
        assert paths == ["/p/5.txt"]
        whole = await reader.json("/session/long?tab=changes&all=1")
        assert ([one["path"] for one in whole["files"]], whole["is_part"]) == (["/p/5.txt", "/p/6190.txt"], False)
        assert len((await reader.json("/session/long?tab=timeline&all=1"))["bars"]) == 2
        for begin in (0, 60, 6_120, 6_180):
            window = await reader.json(f"/session/long?tab=raw&from={begin}")
            assert (window["from"], window["total"]) == (begin, len(lines))
            assert [one["raw"] for one in window["records"]] == [f"{one}\n" for one in lines[begin : begin + 60]]
        assert await reader.json("/session/long?tab=raw&from=end") == window
        called = (event for one in window["records"] for event in one["events"] if event["kind"] == "tool_called")
        (event,) = called
        found = await reader.json(f"/session/long?tab=words&event={anchor(event['id'])}")
        assert found["call"]["id"] == event["id"]
        assert await reader.json(f"/session/long?tab=raw&event={anchor(event['id'])}") == window
    query.close()


def agent_logs(folder: Path, *, said: int, by_agent: int) -> Path:
    """A session of Claude Code whose agent has a file of its own, which is read before that of the session."""
    own = folder / "-p" / "long-1.jsonl"
    below = folder / "-p" / "long-1" / "subagents"
    below.mkdir(parents=True)
    head = {"sessionId": "long-1", "version": "2.1.200", "cwd": "/p"}

    def line(place: float, record: dict[str, Any]) -> str:
        stamp = (BEGIN + timedelta(seconds=place)).isoformat().replace("+00:00", "Z")
        return json.dumps({**head, "timestamp": stamp, **record}) + "\n"

    def answer(id: str, content: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "id": id, "model": "claude-sonnet-4-5", "content": [content]}
        return {"type": "assistant", "uuid": id, "message": message}

    spawn = {
        "type": "tool_use",
        "id": "spawn",
        "name": "Task",
        "input": {"description": "Count", "prompt": "Count all"},
    }
    result = {"type": "tool_result", "tool_use_id": "spawn", "content": [{"type": "text", "text": "42"}]}
    lines = [
        line(0, {"type": "user", "uuid": "u", "message": {"role": "user", "content": "The question"}}),
        line(1, answer("a", spawn)),
        line(
            900,
            {
                "type": "user",
                "uuid": "r",
                "message": {"role": "user", "content": [result]},
                "toolUseResult": {"status": "completed", "agentId": "a1b2c3d", "content": []},
            },
        ),
        *(line(901 + at, answer(f"m{at}", {"type": "text", "text": f"answer {at}"})) for at in range(said)),
    ]
    own.write_text("".join(lines))
    mark = {"agentId": "a1b2c3d", "isSidechain": True}
    call = {"type": "tool_use", "id": "look", "name": "Bash", "input": {"command": "ls"}}
    asked = {"type": "user", "uuid": "g", "message": {"role": "user", "content": "Count all"}}
    words = [line(2, {**asked, **mark}), line(3, {**answer("gl", call), **mark})]
    words += [
        line(4 + at / 1000, {**answer(f"g{at}", {"type": "text", "text": f"agent {at}"}), **mark})
        for at in range(by_agent)
    ]
    (below / "agent-a1b2c3d.jsonl").write_text("".join(words))
    (below / "agent-a1b2c3d.meta.json").write_text(json.dumps({"agentType": "general", "toolUseId": "spawn"}))
    return folder


@pytest.mark.parametrize("by_agent", [700, 5_000])
async def test_a_long_session_begins_with_its_own_words_and_has_its_agents_in_their_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_agent: int
) -> None:
    monkeypatch.setattr(long_session, "_SOON", 600.0)  # nothing is read before it is asked for
    async with opened(agent_logs(tmp_path / "logs", said=LONG + 500, by_agent=by_agent)) as reader:
        first = await reader.json("/session/long-1")
        _, page = await reader.get("/session/long-1")
        assert first["total"] is None
        begins = {tab: await reader.json(f"/session/long-1?tab={tab}") for tab in ("raw", "words", "timeline")}
        whole = await reader.json("/session/long-1?from=0&all=1")
        _, again = await reader.get("/session/long-1?from=0&all=1")
        assert whole["total"] > LONG
        for screen, text in ((first, page), (whole, again)):
            entries = screen["entries"]
            assert [(one["kind"], one["text"][:1]) for one in entries[:1]] == [("user", ["The question"])]
            assert [one["agents"] for one in entries if one.get("agents")] == [["a1b2c3d"]]
            assert ("agent 5<" in text) == (by_agent < 4_000)
            # Of an agent that is too long to stand in its call there is a link.
            more = "All 5,003 events of this agent" if by_agent == 5_000 else "more of this agent"
            assert re.search(rf'<a href="/session/long-1\?agent=a1b2c3d">[^<]*{more}', text)
        for entry in (*first["entries"], *whole["entries"]):
            entry.pop("text", None)
        assert first["entries"] == whole["entries"]
        assert begins["words"]["call"]["call"]["name"] == "Task"
        assert begins["raw"]["records"][0]["raw"].count("The question") == 1
        raw = await reader.json("/session/long-1?tab=raw")
        assert [one["raw"] for one in raw["records"]] == [one["raw"] for one in begins["raw"]["records"]]
        last = await reader.json("/session/long-1?tab=raw&from=end")
        assert last["records"][-1]["source"]["file"].endswith("agent-a1b2c3d.jsonl")
        event = last["records"][-1]["events"][-1]["id"]
        assert await reader.json(f"/session/long-1?tab=raw&event={anchor(event)}") == last


async def test_raw_and_other_words_of_a_session_begin_with_its_own(tmp_path: Path) -> None:
    async with opened(agent_logs(tmp_path / "logs", said=3, by_agent=3)) as reader:
        raw = await reader.json("/session/long-1?tab=raw")
        files = [one["source"]["file"].rpartition("/")[2] for one in raw["records"]]
        assert list(dict.fromkeys(files)) == ["long-1.jsonl", "agent-a1b2c3d.jsonl"]
        assert (await reader.json("/session/long-1?tab=words"))["call"]["call"]["name"] == "Task"


async def test_every_value_of_a_facet_can_be_chosen(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(30):
        head = {
            "sessionId": f"s-{number}",
            "cwd": f"/work/{number % 7}/shop-{number}",
            "timestamp": "2026-01-05T12:00:00Z",
        }
        said = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hello"}}
        (logs / f"s-{number}.jsonl").write_text(json.dumps({**head, **said}) + "\n")
    async with opened(logs) as reader:
        _, text = await reader.get("/")
        for number in range(30):
            assert quote(f"/work/{number % 7}/shop-{number}", safe="") in text
        assert "18 more" in text
        assert '<details class="rest">' in text
        _, text = await reader.get("/?project=/work/1/shop-29")
        assert "1 session" in text


async def test_a_mistake_in_sql_is_shown_with_its_place(folder: Path) -> None:
    async with opened(folder) as reader:
        status, text = await reader.get("/sql?sql=" + quote("SELECT session, nothing FROM sessions"))
        assert status == 400
        place = re.search(r'class="warning exact" role="alert">(.*?)</p>', text, re.DOTALL)
        assert place is not None
        line, mark = place[1].splitlines()[-2:]
        assert mark.index("^") == line.index("nothing")


async def test_what_has_no_time_is_no_bar_before_all_others(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, stamp in enumerate(({"timestamp": "2026-01-05T12:00:00Z"}, {"timestamp": "2026-01-06T12:00:00Z"}, {})):
        usage = {"input_tokens": 100 * 10**number, "output_tokens": 1}
        message = {"role": "assistant", "id": f"m{number}", "model": "claude-sonnet-4-5", "content": [], "usage": usage}
        record = {"sessionId": f"s-{number}", "type": "assistant", "uuid": "a", "message": message, **stamp}
        (logs / f"s-{number}.jsonl").write_text(json.dumps(record) + "\n")
    async with opened(logs) as reader:
        for by in ("day", "week", "month", "block"):
            _, text = await reader.get(f"/usage?by={by}")
            assert "not known: 10,001" not in text, by
            assert "not known to" not in text, by
            assert "10,001" in text, by  # in the table


def test_a_bar_of_a_timeline_says_what_its_call_was_about() -> None:
    call = Call(id="c", operations=(RunCommand("make test"),), native=NativeCall("c", "Bash", {}))
    (bar,) = bars_of(
        [
            ToolCalled(id="1", call=call, time=BEGIN),
            ToolReturned(id="2", result=Result(call_id="c", outcomes=()), time=BEGIN + timedelta(seconds=3)),
        ]
    )[0]
    assert (bar.name, bar.about) == ("Bash", "make test")


async def test_what_is_written_to_a_log_is_told_to_who_listens(folder: Path) -> None:
    async with opened(folder) as reader:
        session = json.loads(CLAUDE.splitlines()[-1]).get("sessionId") or "s-1"
        more = {"type": "user", "uuid": "later", "sessionId": session, "timestamp": "2027-01-01T00:00:00Z"}
        async with reader.session.get(reader.page.url + "/live") as stream:
            assert stream.content_type == "text/event-stream"
            assert (await stream.content.readline()).startswith(b"retry")
            append(folder, {**more, "message": {"role": "user", "content": "one more thing"}})
            async for line in stream.content:
                if line.startswith(b"data:"):
                    assert session in json.loads(line.removeprefix(b"data:"))
                    break
        entries = (await reader.json(f"/session/{session}?from=end"))["entries"]
        assert entries[-1]["text"] == ["one more thing"]


def grown(growing: Growing, *, at_all: bool = False) -> set[str]:
    if at_all:
        growing._next = 0.0
    return growing.look()


def test_sessions_that_grow_come_and_go_are_known_without_reading_all_logs_again(tmp_path: Path) -> None:
    log = tmp_path / "home" / ".claude" / "projects" / "p" / "s-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(CLAUDE)
    query = Query(Index(tmp_path / "index.sqlite"), places=Places(tmp_path / "home"))
    library = Library(query)
    library.prepare()
    growing = Growing(library)
    assert grown(growing, at_all=True) == set()
    record = {"type": "user", "uuid": "later", "sessionId": "s-1", "timestamp": "2027-01-01T00:00:00Z"}
    (before,) = library.listing(Filter(), "", limit=9, offset=0).rows
    with log.open("a") as file:
        file.write(json.dumps({**record, "message": {"role": "user", "content": "one more thing"}}) + "\n")
    assert grown(growing) == {"s-1"}
    (after,) = library.listing(Filter(), "", limit=9, offset=0).rows
    assert after.events > before.events
    assert after.ended == datetime(2027, 1, 1, tzinfo=UTC)
    assert grown(growing) == set()
    other = {**record, "sessionId": "s-2", "message": {"role": "user", "content": "another"}}
    (log.parent / "s-2.jsonl").write_text(json.dumps(other) + "\n")
    assert UNNAMED in grown(growing, at_all=True)
    assert [row.session for row in library.listing(Filter(), "", limit=9, offset=0).rows] == ["s-2", "s-1"]
    log.unlink()
    assert grown(growing, at_all=True) == {UNNAMED}
    assert [row.session for row in library.listing(Filter(), "", limit=9, offset=0).rows] == ["s-2"]
    growing.close()
    query.close()


@pytest.mark.parametrize("is_stored", [True, False])
def test_of_very_many_logs_that_were_written_lately_few_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    monkeypatch.setattr("dragoman.serve.page.growing.FOLLOWED", 5)
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)

    def write(number: int) -> None:
        record = {"type": "user", "uuid": f"u{number}", "timestamp": "2027-01-01T00:00:00Z", "sessionId": f"s-{number}"}
        with (folder / f"s-{number}.jsonl").open("a") as file:
            file.write(json.dumps({**record, "message": {"role": "user", "content": "one thing"}}) + "\n")

    for number in range(40):
        write(number)
        os.utime(folder / f"s-{number}.jsonl", (time.time() - 600 + number,) * 2)
    index = Index(tmp_path / "index.sqlite") if is_stored else Index.in_memory()
    query = Query(index, places=Places(tmp_path / "home"))
    library = Library(query)
    library.prepare()
    growing = Growing(library)
    assert grown(growing, at_all=True) == set()
    watch = growing._watch
    assert watch is not None
    assert (len(watch), watch.readers) == (5, 0)
    write(39)  # the one that was written to last is among them
    assert grown(growing) == {"s-39"}
    assert (len(watch), watch.readers) == (5, 1)
    write(3)  # none of them: a look at all logs finds it, and it is followed from then on
    assert grown(growing) == set()
    assert grown(growing, at_all=True) >= {"s-3"}
    write(3)
    assert grown(growing) == {"s-3"}
    assert (len(watch), watch.readers) == (5, 2)
    for number in range(100, 140):  # a backup is restored meanwhile
        write(number)
    assert UNNAMED in grown(growing, at_all=True)
    assert library.listing(Filter(), "", limit=9, offset=0).total == 80
    assert (len(watch), watch.readers) == (5, 5)
    assert len(growing._followed) == 5
    growing.close()
    query.close()


def test_a_bar_says_whether_a_call_failed() -> None:
    outcomes: list[tuple[Outcome, str]] = [
        (CommandOutcome(0), "tool"),
        (CommandOutcome(None), "tool"),
        (CommandOutcome(1), "failed"),
        (Failure("failed", "no"), "failed"),
        (TextOutcome("x"), "tool"),
    ]
    native = NativeCall("c", "Bash", {})
    for outcome, kind in outcomes:
        events = [
            ToolCalled(id="1", client="x", time=BEGIN, call=Call("c", (RunCommand("x"),), native)),
            ToolReturned(id="2", client="x", time=BEGIN + timedelta(seconds=2), result=Result("c", (outcome,))),
        ]
        (bar,), _ = bars_of(events)
        assert (bar.kind, bar.name, bar.began, bar.ended) == (kind, "Bash", 0.0, 2.0)


def hostile_line(id: str, number: int, content: Any) -> str:
    head = {"sessionId": id, "version": "2.1.0", "cwd": "/p", "timestamp": "2026-01-05T12:00:00Z"}
    message = {"role": "user", "content": content}
    return json.dumps({**head, "type": "user", "uuid": f"u{number}", "message": message}) + "\n"


@pytest.mark.parametrize(
    "id", ["../../etc/passwd", "a/b?c#d&e=f", '"><script>alert(1)</script>', "%2e%2e%2f", "line\nbreak", " ", "x" * 900]
)
async def test_a_session_opens_whatever_its_id_holds(id: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(hostile_line(id, 1, "said once"))
    async with opened(tmp_path / "logs") as reader:
        for tab in TABS:
            status, text = await reader.get(session_address(id, tab=tab))
            assert (status, "<script>alert" in text) == (200, False), tab


async def test_a_log_that_is_something_else_by_now_harms_nobody(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "s.jsonl"
    log.parent.mkdir()
    whole = "".join(hostile_line("s", number, f"text {number}") for number in range(LONG + 200))
    paths = ["/session/s", "/session/s?from=150", *(f"/session/s?tab={tab}&all=1" for tab in TABS)]
    log.write_text(whole)
    async with opened(log.parent) as reader:
        for path in paths:
            assert (await reader.get(path))[0] == 200, path

        def pipe() -> None:
            log.unlink()
            os.mkfifo(log)

        def folder() -> None:
            log.unlink()
            log.mkdir()

        changes: list[tuple[Callable[[], object], set[int]]] = [
            (lambda: log.write_text(whole[:2_000]), {200}),
            (lambda: log.write_bytes(bytes(range(256)) * 3_000), {200, 404}),
            (pipe, {404}),
            (folder, {404}),
            (log.rmdir, {404}),
        ]
        for change, expected in changes:
            change()
            for path in paths:
                assert (await reader.get(path))[0] in expected, path


async def test_a_very_long_text_is_cut_on_the_page_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(hostile_line("s", 1, "long " * 100_000))
    async with opened(tmp_path / "logs") as reader:
        _, text = await reader.get("/session/s")
        assert "more characters are in the original record" in text
        assert len(text) < 300_000


async def test_a_link_to_what_an_agent_did_leads_there(folder: Path) -> None:
    seen = 0
    async with opened(folder) as reader:
        for row in (await reader.json("/"))["sessions"]:
            if not row["agents"]:
                continue
            path = session_address(row["session"])
            bars = (await reader.json(f"{path}?tab=timeline"))["bars"]
            raw = (await reader.json(f"{path}?tab=raw"))["records"]
            said = {one["id"]: one for record in raw for one in record["events"] if one["kind"] == "model_said"}
            for event in {bar["event"] for bar in bars if bar["stream"] != "main"} | said.keys():
                screen = await reader.json(f"{path}?event={anchor(event)}")
                assert event in {one["event"] for one in screen["entries"]}, event
                seen += event not in {one["event"] for one in (await reader.json(path))["entries"]}
    assert seen
