"""Real sessions in every form, judged by those who know the forms; nothing lost on the way that was promised."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.cli.terminal.console import foreign
from dragoman.errors import LogError
from dragoman.logs import Chosen, Found, Query, Redactor, numbered, read, recognise, sessions_of, write_as
from dragoman.logs.export import STRATEGIES, TARGETS
from dragoman.logs.history.rows import TABLES, columns_of
from dragoman.model import AnyEvent, Session, ToolCalled
from tests.conformance.conftest import SHARED
from tests.conformance.judges import SPANS, TABLES as STORED_TABLES, TRAJECTORIES, judged

TRACES, WILD = SHARED / "traces", SHARED / "traces-wild"
Events = Callable[[], Iterator[AnyEvent]]


def log_files(home: Path) -> Iterator[Found]:
    seen: set[Path] = set()
    for root, _, names in sorted(os.walk(home)):
        for name in sorted(names):
            path = Path(root) / name
            if path.suffix not in (".jsonl", ".json", ".db") or not path.stat().st_size:
                continue
            try:
                chosen, _ = recognise(path)
            except LogError:
                continue
            whole = chosen.whole(path)
            if whole not in seen:
                seen.add(whole)
                yield Found(whole, chosen.name)


def sessions() -> Iterator[tuple[str, list[Found]]]:
    """Every session that was recorded with a real client: its name and its log files."""
    for client in sorted(path for path in TRACES.iterdir() if path.is_dir()):
        for session in sorted(path for path in client.iterdir() if (path / "script.json").is_file()):
            yield f"{client.name}-{session.name}", list(log_files(session / "home"))


def events_of(files: list[Found]) -> Events:
    return lambda: numbered(event for one in files for event in read(one.path, one.format))


SESSIONS = list(sessions())
NAMES = [name for name, _ in SESSIONS]


def exported(events: Events, target: str, strategy: Any = "clean", redactor: Redactor | None = None) -> bytes:
    out = io.BytesIO()
    write_as(Chosen(events, strategy, redactor), target, out)
    return out.getvalue()


def all_written(target: str, folder: Path) -> list[Path]:
    """Every session in a form, the strategies in turn."""
    paths = []
    for (name, files), strategy in zip(SESSIONS, cycle(STRATEGIES), strict=False):
        path = folder / f"{name}.{target}"
        path.write_bytes(exported(events_of(files), target, strategy))
        paths.append(path)
    return paths


def test_there_are_sessions_of_every_client() -> None:
    assert len(SESSIONS) >= 100
    assert {one.format for _, files in SESSIONS for one in files} >= {
        *("claude_code", "cline", "codex", "continue", "copilot", "gemini_cli", "opencode", "pi", "qwen_code")
    }


# ── judged by others ─────────────────────────────────────────────────────────


def test_harbors_own_validator_finds_every_trajectory_valid(tmp_path: Path) -> None:
    paths = all_written("atif", tmp_path)
    broken = json.loads(paths[0].read_bytes().splitlines()[0])
    broken["steps"][0]["step_id"] = 7
    wrong = tmp_path / "wrong"
    wrong.write_text(json.dumps(broken) + "\n")
    found = judged(TRAJECTORIES, [*paths, wrong])
    assert list(found) == [f"{wrong}:0"], found


def test_opentelemetrys_own_parser_takes_every_trace(tmp_path: Path) -> None:
    paths = all_written("otel", tmp_path)
    broken = json.loads(paths[0].read_bytes())
    broken["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["kindly"] = 1
    wrong = tmp_path / "wrong"
    wrong.write_text(json.dumps(broken))
    found = judged(SPANS, [*paths, wrong])
    assert list(found) == [str(wrong)], found


def test_another_reader_reads_the_tables(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {}
    chosen = {files[0].format: (name, files) for name, files in SESSIONS if files}
    for name, files in chosen.values():
        folder = tmp_path / name
        write_as(Chosen(events_of(files)), "parquet", folder)
        query = Query(paths=[one.path for one in files])
        wanted[str(folder)] = {
            table: [list(columns_of(kind)), query.sql(f"SELECT count(*) FROM {table}").rows[0][0]]
            for table, kind in sorted(TABLES.items())
        }
    assert judged(STORED_TABLES, list(map(Path, wanted))) == wanted


# ── numbers, another way ─────────────────────────────────────────────────────


def whole(session: Session) -> Iterator[Session]:
    yield session
    for child in session.children:
        yield from whole(child)


def trajectories_in(trajectory: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield trajectory
    for one in trajectory.get("subagent_trajectories", ()):
        yield from trajectories_in(one)


@pytest.mark.parametrize("name, files", SESSIONS, ids=NAMES)
def test_calls_and_tokens_are_the_same_in_every_form(name: str, files: list[Found]) -> None:
    events = list(events_of(files)())
    calls = sum(isinstance(event, ToolCalled) for event in events)
    trees = [one for session in sessions_of(events) for one in whole(session)]
    output = sum(one.usage.output_tokens or 0 for one in trees)
    documents = [json.loads(line) for line in exported(lambda: iter(events), "atif").splitlines()]
    told = [one for document in documents for one in trajectories_in(document)]
    assert sum(len(step.get("tool_calls", ())) for one in told for step in one["steps"]) == calls
    assert sum(one["final_metrics"].get("total_completion_tokens", 0) for one in told) == output
    spans = json.loads(exported(lambda: iter(events), "otel"))["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert sum(span["name"].startswith("execute_tool ") for span in spans) == calls
    lines = exported(lambda: iter(events), "jsonl", None).splitlines()
    assert len(lines) == len(events)
    assert exported(lambda: iter(events), "html").decode().count('<details class="call ') == calls


@pytest.mark.parametrize("name, files", SESSIONS, ids=NAMES)
def test_our_own_format_reads_back_whole(tmp_path: Path, name: str, files: list[Found]) -> None:
    path = tmp_path / "again.jsonl"
    path.write_bytes(exported(events_of(files), "dragoman", None))
    again = (msgspec.structs.replace(event, source=None) for event in read(path))
    before = (msgspec.structs.replace(event, source=None) for event in events_of(files)())
    assert list(again) == list(before)


# ── safe, and without what is nobody's business ──────────────────────────────


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.pictures: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name == "href"}
        self.pictures |= {value or "" for name, value in attrs if name == "src"}


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "nav", "h1", "h2", "h3", "h4", "h5", "h6"),
    *(
        "dl",
        "dt",
        "dd",
        "article",
        "header",
        "b",
        "i",
        "strong",
        "em",
        "s",
        "time",
        "div",
        "details",
        "summary",
        "code",
    ),
    *("pre", "span", "p", "a", "ul", "ol", "li", "blockquote", "hr", "br", "figure", "img"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "open", "id", "href", "rel", "tabindex", "value"),
    *("start", "alt", "src", "title", "aria-hidden", "aria-label", "datetime"),
}


@pytest.mark.parametrize("name, files", SESSIONS, ids=NAMES)
def test_no_home_folder_survives_and_nothing_steers_who_reads(name: str, files: list[Found]) -> None:
    events = list(events_of(files)())
    # Every target is made of these and of nothing else.
    for event, raw in Chosen(lambda: iter(events), "raw", Redactor()).records():
        assert "/home/user" not in f"{event!r} {raw!r}".replace("\\", "")
    page = Tags()
    page.feed(exported(lambda: iter(events), "html", "raw").decode())
    assert page.seen <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert [one for one in page.addresses if not re.match(r"#[\w-]+\Z|https?://|mailto:", one)] == []
    assert [one for one in page.pictures if not re.match(r"data:image/(png|jpeg|gif|webp);base64,", one)] == []
    text = exported(lambda: iter(events), "text", "raw").decode()
    assert foreign(text) == text


def test_every_log_from_the_wild_can_be_written_in_every_form() -> None:
    without_steps = []
    files = list(log_files(WILD))
    for one in files:
        events = list(events_of([one])())
        for target in (name for name, each in TARGETS.items() if not each.is_folder):
            try:
                assert exported(lambda events=events: iter(events), target, "raw"), one.path  # type: ignore[misc]
            except LogError:
                without_steps.append((target, one.path))
    assert len(files) >= 200
    # Files in which nobody says anything: damaged ones, and a client's own notes.
    assert {target for target, _ in without_steps} <= {"atif"}
    assert len(without_steps) < 20, without_steps


def test_logs_from_the_wild_are_redacted_and_said_to_be_so() -> None:
    counts: Counter[str] = Counter()
    for one in log_files(WILD):
        if one.path.stat().st_size < 200_000:
            redactor = Redactor()
            written = exported(events_of([one]), "jsonl", "raw", redactor).decode()
            counts += redactor.counts
            assert not re.search(r"(?<![A-Za-z0-9._-])/(?:home|Users)/[a-z]", written), one.path
    assert counts["home"] > 100
