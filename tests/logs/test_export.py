"""Exports: every target over every format's samples, and what each of them promises."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from dragoman.cli.terminal.console import foreign
from dragoman.errors import LogError
from dragoman.logs import Chosen, Query, numbered, read, write_as
from dragoman.logs.export import STRATEGIES, TARGETS, event_line
from dragoman.logs.export.transcript import visible
from dragoman.logs.history.rows import TABLES, columns_of
from dragoman.model import (
    AgentStarted,
    AnyEvent,
    Call,
    ClientNoted,
    CommandOutcome,
    EditFile,
    Media,
    ModelSaid,
    ModelThought,
    NativeCall,
    Result,
    RunCommand,
    SessionStarted,
    SpawnAgent,
    SystemSaid,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
)
from dragoman.model.operations import Edit
from tests.genai_conventions import missing_in_otlp
from tests.logs.samples import CLAUDE, SAMPLES

FILES = [name for name, target in TARGETS.items() if not target.is_folder]


def as_bytes(events: Callable[[], Iterable[AnyEvent]], target: str, strategy: Any = None) -> bytes:
    out = io.BytesIO()
    write_as(Chosen(events, strategy), target, out)
    return out.getvalue()


def of_sample(format: str, folder: Path) -> Callable[[], Iterator[AnyEvent]]:
    paths = []
    for name, data in SAMPLES[format]:
        path = folder / format / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return lambda: numbered(event for path in paths for event in read(path, format))


# ── every format, every target ───────────────────────────────────────────────


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.slow
def test_every_target_takes_every_format_with_every_strategy_and_gives_the_same_twice(
    tmp_path: Path, format: str
) -> None:
    events = of_sample(format, tmp_path)
    for target in FILES:
        for strategy in (None, *STRATEGIES):
            assert as_bytes(events, target, strategy) == as_bytes(events, target, strategy), (target, strategy)


@pytest.mark.parametrize("format", SAMPLES)
def test_jsonl_holds_the_lines_that_the_events_are(tmp_path: Path, format: str) -> None:
    events = of_sample(format, tmp_path)
    found = [json.loads(line) for line in as_bytes(events, "jsonl").splitlines()]
    assert found == [json.loads(msgspec.json.encode(event_line(event))) for event in events()]


@pytest.mark.parametrize("format", SAMPLES)
def test_our_own_format_reads_back_as_the_events_that_were_exported(tmp_path: Path, format: str) -> None:
    events = of_sample(format, tmp_path)
    path = tmp_path / "again.jsonl"
    path.write_bytes(as_bytes(events, "dragoman"))
    again = [msgspec.structs.replace(event, source=None) for event in read(path)]
    assert again == [msgspec.structs.replace(event, source=None) for event in events()]


POINTING = {"file", "source_offset", "source_length", "source_row"}


@pytest.mark.parametrize("format", ["claude_code", "gemini_cli", "opencode"])
@pytest.mark.slow
def test_the_tables_are_those_a_query_gives_but_for_where_they_point(tmp_path: Path, format: str) -> None:
    events = of_sample(format, tmp_path)
    write_as(Chosen(events), "parquet", tmp_path / "tables")
    query = Query(paths=[tmp_path / format])
    for name, kind in TABLES.items():
        path = tmp_path / "tables" / f"{name}.parquet"
        columns = [column for column in columns_of(kind) if column not in POINTING]
        stored = duckdb.sql(f"SELECT {', '.join(columns)} FROM read_parquet('{path}') ORDER BY ALL").fetchall()
        asked = query.sql(f"SELECT {', '.join(columns)} FROM {name} ORDER BY ALL").rows
        assert stored == asked, name
        files = duckdb.sql(f"SELECT DISTINCT file FROM read_parquet('{path}')").fetchall()
        assert files in ([], [("events.jsonl",)])


def test_a_row_points_at_its_event_in_the_file_beside_it(tmp_path: Path) -> None:
    events = of_sample("claude_code", tmp_path)
    folder = tmp_path / "tables"
    write_as(Chosen(events, "raw"), "parquet", folder)
    data = (folder / "events.jsonl").read_bytes()
    found = duckdb.sql(
        f"SELECT name, source_offset, source_length FROM read_parquet('{folder}/calls.parquet')"
    ).fetchall()
    for name, offset, length in found:
        assert json.loads(data[offset : offset + length])["call"]["native"]["name"] == name
    raws = duckdb.sql(f"SELECT raw FROM read_parquet('{folder}/records.parquet')").fetchall()
    assert {raw for (raw,) in raws} == {line.decode() + "\n" for line in CLAUDE.splitlines()}


def test_the_tables_need_a_folder() -> None:
    with pytest.raises(LogError, match="name a folder"):
        as_bytes(lambda: [UserSaid(id="1", text="x")], "parquet")


def test_a_target_that_does_not_exist_is_named_with_the_nearest_one() -> None:
    with pytest.raises(LogError, match="html"):
        as_bytes(list, "htm")


# ── strategies ───────────────────────────────────────────────────────────────

LONG = "x" * 1000
LIST = Call("c", (RunCommand("ls"),), NativeCall("c", "Bash", {"command": "ls"}))
TOLD: list[AnyEvent] = [
    SessionStarted(id="0", session="s"),
    SystemSaid(id="1", session="s", text="Be good."),
    UserSaid(id="2", session="s", text="Fix it."),
    UserSaid(id="3", session="s", text="<reminder>", by="client"),
    ModelThought(id="4", session="s", text="hm"),
    ModelSaid(id="5", session="s", text="I try."),
    ToolCalled(
        id="6",
        session="s",
        call=Call("c", (RunCommand("ls"),), NativeCall("c", "Bash", {"command": "ls"})),
        call_id="c",
    ),
    ToolReturned(id="7", session="s", result=Result("c", (CommandOutcome(exit_code=0, output=LONG),)), call_id="c"),
    ClientNoted(id="8", session="s", name="snapshot"),
    Unreadable(id="9", session="s", reason="no JSON"),
]


def kept(strategy: Any) -> list[str]:
    return [event.id for event in Chosen(lambda: TOLD, strategy).events()]


def test_strategies_choose_what_is_kept() -> None:
    assert kept(None) == kept("raw") == [event.id for event in TOLD]
    assert kept("clean") == ["0", "2", "4", "5", "6", "7"]
    assert kept("reasoning") == ["0", "2", "4", "5", "6", "7"]


def test_reasoning_cuts_what_tools_gave_and_says_how_much() -> None:
    (returned,) = [one for one in Chosen(lambda: TOLD, "reasoning").events() if isinstance(one, ToolReturned)]
    assert returned.result.outcomes == (CommandOutcome(exit_code=0, output="x" * 200 + "… (800 characters cut)"),)


def test_raw_gives_the_original_of_every_event(tmp_path: Path) -> None:
    events = of_sample("claude_code", tmp_path)
    lines = [json.loads(line) for line in as_bytes(events, "jsonl", "raw").splitlines()]
    assert [line["raw"].encode() for line in lines] == [
        CLAUDE[event.source.offset : event.source.offset + event.source.length] for event in events() if event.source
    ]
    for target in ("markdown", "html", "text", "atif", "otel"):
        assert "queue-operation" in as_bytes(events, target, "raw").decode(), target


# ── transcripts ──────────────────────────────────────────────────────────────


def told(text: str) -> list[AnyEvent]:
    """A session that says a text wherever a text can stand."""
    call = Call("c", (RunCommand(text),), NativeCall("c", text or "x", {"command": text}))
    edit = Call("e", (EditFile(text, (Edit("old", text),)),), NativeCall("e", "Edit", {}))
    return [
        SessionStarted(id="0", session=text or "s", cwd=text, client=text, version=text),
        UserSaid(id="1", session=text or "s", text=text),
        ModelThought(id="2", session=text or "s", text=text, model=text),
        ModelSaid(id="3", session=text or "s", text=text),
        ToolCalled(id="4", session=text or "s", call=call, call_id="c"),
        ToolReturned(id="5", session=text or "s", result=Result("c", (TextOutcome(text),)), call_id="c"),
        ToolCalled(id="6", session=text or "s", call=edit, call_id="e"),
    ]


HOSTILE = st.text(
    st.sampled_from("<>&\"'`~*_[]()!#|\\/\n\t -+=:;.@$x\x1b\x9b\u202e\u200b\x00\x07\r")
    | st.characters(codec="utf-8")
    | st.sampled_from("\ud800"),
    max_size=24,
) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</pre><img src=x onerror=alert(1)>",
        "```\n# not a heading\n```",
        "````\n[x](javascript:alert(1))",
        '" onmouseover="alert(1)',
        "\n\n---\n# heading\n<b>",
        "]]>--><style>",
        "\x1b]0;title\x07\x1b[2J",
        "![x](http://example.org/x.png)",
        "<https://example.org>",
        "a #",
    ]
)


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "section",
    "nav",
    "article",
    "header",
    "details",
    "summary",
    "div",
    "span",
    "p",
    "pre",
    "code",
    "i",
    "b",
    "a",
    "time",
    "dl",
    "dt",
    "dd",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "em",
    "strong",
    "s",
    "blockquote",
    "hr",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "figure",
    "img",
}
NAMES = {
    "class",
    "id",
    "href",
    "rel",
    "open",
    "tabindex",
    "title",
    "value",
    "start",
    "lang",
    "charset",
    "content",
    "http-equiv",
    "name",
    "alt",
    "src",
}


@given(HOSTILE)
def test_no_foreign_text_becomes_a_tag_or_an_attribute_of_html(text: str) -> None:
    page = Page()
    page.feed(as_bytes(lambda: told(text), "html", "clean").decode())
    assert page.tags <= TAGS
    assert {name for name, _ in page.attributes if not name.startswith("aria-")} <= NAMES
    for name, value in page.attributes:
        if name == "href":
            assert re.match(r"#|https?://|mailto:", value or "", re.IGNORECASE)
    assert visible(text).strip("\n") in page.text.replace("\r\n", "\n") or not text.strip()


def test_what_is_said_in_markdown_is_rendered() -> None:
    text = "# Plan\n\n- *one*\n- `two`\n\n```python\nx = 1\n```\n\n[a](https://example.org) [b](javascript:x) ![c](http://e.org/c)"
    page = as_bytes(lambda: [ModelSaid(id="1", session="s", text=text)], "html", "clean").decode()
    (prose,) = re.findall(r'<div class="prose">(.*?)</div>', page, re.DOTALL)
    assert prose == (
        "<h3>Plan</h3>\n<ul>\n<li><em>one</em></li>\n<li><code>two</code></li>\n</ul>\n"
        '<pre tabindex="0"><code>x = <i class="m">1</i></code></pre>\n'
        '<p><a href="https://example.org" rel="noreferrer noopener nofollow">a</a> [b](javascript:x)'
        ' <a href="http://e.org/c" rel="noreferrer noopener nofollow">c</a></p>\n'
    )


def test_a_page_loads_nothing_and_says_so() -> None:
    page = as_bytes(lambda: told("![x](http://example.org/x.png)"), "html", "clean").decode()
    assert "default-src 'none'" in page
    assert re.findall(r"\b(?:src|url)\s*[=(]", page) == []


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_a_picture_is_shown_only_if_its_bytes_are_one() -> None:
    media = (Media("image/png", PNG), Media("image/png", b"<svg onload='x'>"), Media("image/svg+xml", b"<svg/>"))
    page = as_bytes(lambda: [UserSaid(id="1", session="s", text="see", media=media)], "html", "clean").decode()
    assert re.findall(r'<img alt="([^"]*)" src="([^"]*)">', page) == [
        ("[image/png 40 characters of base64]", f"data:image/png;base64,{base64.b64encode(PNG).decode()}")
    ]
    assert page.count('class="words"') == 2


def test_a_page_has_contents_anchors_cost_and_durations() -> None:
    began = datetime(2026, 1, 5, 12, tzinfo=UTC)
    spent = TokensUsed(
        id="u", session="s", usage=Usage(1_000_000, None, None, 0), model="claude-opus-4-5", time=began, turn=0
    )
    gave = Result("c", (CommandOutcome(exit_code=1, output="no"),))
    events: list[AnyEvent] = [
        UserSaid(id="1", session="s", text="Fix it.", turn=0, time=began),
        ToolCalled(id="2", session="s", call=LIST, call_id="c", turn=0, time=began),
        ToolReturned(id="3", session="s", result=gave, call_id="c", turn=0, time=began + timedelta(seconds=75)),
        spent,
        UserSaid(id="4", session="s", text="Thanks.", turn=1, time=began + timedelta(minutes=2)),
    ]
    page = as_bytes(lambda: events, "html", "clean").decode()
    assert re.findall(r'<li value="\d+"><a href="#(.*?)">(.*?)</a>(.*?)</li>', page) == [
        ("turn-1", "Fix it.", ' <b class="failures" title="failed calls">1</b>'),
        ("turn-2", "Thanks.", ""),
    ]
    assert '<h2 class="turn" id="turn-1"><a href="#turn-1">Turn 1</a></h2>' in page
    assert '<span class="took">1 min 15 s</span>' in page
    assert "<dt>cost</dt><dd>$5.00</dd>" in page
    assert "1,000,000 tokens · $5.00 · claude-opus-4-5" in page


@pytest.mark.parametrize("target", ["html", "markdown", "text"])
@pytest.mark.parametrize("strategy", [None, "clean", "reasoning"])
def test_the_facts_of_an_export_are_those_of_all_events_of_the_log(target: str, strategy: str | None) -> None:
    began = datetime(2026, 1, 5, 12, tzinfo=UTC)
    usage = Usage(1_000_000, None, None, 1, doubtful=("output_tokens",))
    events: list[AnyEvent] = [
        ClientNoted(id="0", session="s", name="started", time=began - timedelta(seconds=5)),
        UserSaid(id="1", session="s", text="Fix it.", turn=0, time=began),
        TokensUsed(id="2", session="s", usage=usage, model="claude-opus-4-5", time=began, turn=0),
        Unreadable(id="3", session="s", reason="broken"),
        UnknownRecord(id="4", session="s", name="new", time=began + timedelta(seconds=15)),
    ]
    page = re.sub("<[^>]+>", " ", as_bytes(lambda: events, target, strategy).decode()).replace("\\", "")
    for fact, value in (
        ("started", "2026-01-05 11:59:55 UTC"),
        ("duration", "20 s"),
        *((("cost", "$5.00 (doubtful)"),) if strategy != "reasoning" else ()),  # which has no counts
        ("not understood", "1 unreadable, 1 unknown records"),
    ):
        assert re.search(rf"{fact}:? +{re.escape(value)}", page), (fact, page)


UNSAFE = {"html_block", "html_inline", "image"}


@given(HOSTILE)
def test_no_foreign_text_reaches_beyond_itself_in_markdown(text: str) -> None:
    written = as_bytes(lambda: told(text), "markdown", "clean").decode()
    environment: dict[str, Any] = {}
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    tokens = reader.parse(written, environment)
    everything = [one for token in tokens for one in (token, *(token.children or ()))]
    assert UNSAFE.isdisjoint(one.type for one in everything)
    assert environment.get("references", {}) == {}
    links = [one.attrGet("href") for one in everything if one.type == "link_open"]
    assert all(re.match(r"https?://|mailto:", str(link), re.IGNORECASE) for link in links)
    # The last call of the session stands where it would stand without any text.
    headings = [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open" and not one.level]
    assert headings[-1].startswith("→ Edit")


def test_what_is_said_is_markdown_in_markdown() -> None:
    text = "# Plan\n\n- *one*\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    written = as_bytes(lambda: [ModelSaid(id="1", session="s", text=text)], "markdown", "clean").decode()
    assert "### Model\n\n#### Plan\n\n- *one*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" in written
    for unsafe in ("a <b>bold</b> x", "![x](http://e.org/x)", "[x](file:///etc)", "```\nopen", "[x]: http://e.org"):
        written = as_bytes(lambda: [ModelSaid(id="1", session="s", text=unsafe)], "markdown", "clean").decode()  # noqa: B023
        assert f"text\n{unsafe}\n```" in written, unsafe


@given(HOSTILE)
def test_nothing_in_plain_text_steers_a_terminal(text: str) -> None:
    written = as_bytes(lambda: told(text), "text", "clean").decode()
    assert foreign(written) == written


@given(st.characters())
def test_what_steers_is_the_same_here_and_on_the_command_line(character: str) -> None:
    assert visible(character) == foreign(character)


def test_agents_stand_inside_the_call_that_started_them() -> None:
    spawn = Call("c", (SpawnAgent("Look."),), NativeCall("c", "Task", {"prompt": "Look."}))
    events: list[AnyEvent] = [
        UserSaid(id="1", session="s", text="Go."),
        ToolCalled(id="2", session="s", call=spawn, call_id="c"),
        AgentStarted(id="3", session="s", agent="a-1", call_id="c"),
        UserSaid(id="4", session="s", stream="a-1", text="Look.", by="agent"),
        ModelSaid(id="5", session="s", stream="a-1", text="Seen."),
        ToolReturned(id="6", session="s", result=Result("c", (TextOutcome("Seen it."),)), call_id="c"),
        ModelSaid(id="7", session="s", text="Done."),
    ]
    text = as_bytes(lambda: events, "text", "clean").decode()
    assert text.index("CALL Task") < text.index("    Look.") < text.index("      Seen.") < text.index("Done.")
    markdown = as_bytes(lambda: events, "markdown", "clean").decode()
    assert "> Seen." in markdown
    trajectory = json.loads(as_bytes(lambda: events, "atif", "clean"))
    (agent,) = trajectory["subagent_trajectories"]
    results = [one for step in trajectory["steps"] for one in step.get("observation", {}).get("results", ())]
    assert [one["subagent_trajectory_ref"] for one in results] == [
        [{"trajectory_id": agent["trajectory_id"], "session_id": "s"}]
    ]


def test_an_edit_is_shown_as_a_diff() -> None:
    call = Call("e", (EditFile("a.py", (Edit("one\ntwo", "one\nthree"),)),), NativeCall("e", "Edit", {}))
    events: list[AnyEvent] = [ToolCalled(id="1", session="s", call=call, call_id="e")]
    assert "```diff\n one\n-two\n+three\n```" in as_bytes(lambda: events, "markdown").decode()
    assert '<span class="removed">-two</span>' in as_bytes(lambda: events, "html").decode()


def test_a_line_of_a_diff_is_coloured_by_its_place_and_not_by_how_it_begins() -> None:
    call = Call("e", (EditFile("a.py", (Edit("-- old\nb", "++ new\nb"),)),), NativeCall("e", "Edit", {}))
    events: list[AnyEvent] = [ToolCalled(id="1", session="s", call=call, call_id="e")]
    page = as_bytes(lambda: events, "html").decode()
    assert '<span class="removed">--- old</span>' in page
    assert '<span class="added">+++ new</span>' in page


# ── trajectories and spans ───────────────────────────────────────────────────


def test_a_session_is_a_trajectory(tmp_path: Path) -> None:
    trajectory = json.loads(as_bytes(of_sample("claude_code", tmp_path), "atif", "clean"))
    assert trajectory["schema_version"] == "ATIF-v1.7"
    assert trajectory["agent"] == {"name": "claude_code", "version": "2.1.300", "model_name": "claude-x"}
    assert [(step["step_id"], step["source"], step["message"]) for step in trajectory["steps"]] == [
        (1, "user", "Fix it."),
        (2, "agent", ""),
        (3, "agent", "Done."),
    ]
    called = trajectory["steps"][1]
    assert called["reasoning_content"] == "hm"
    assert [(one["tool_call_id"], one["function_name"], one["arguments"]) for one in called["tool_calls"]] == [
        ("t1", "Bash", {"command": "false"}),
        ("t2", "Read", {"file_path": "/p/a"}),
    ]
    assert [one["source_call_id"] for one in called["observation"]["results"]] == ["t1", "t2"]
    assert called["metrics"] == {"prompt_tokens": 13, "completion_tokens": 7, "cached_tokens": 3}
    assert trajectory["final_metrics"] == {
        "total_prompt_tokens": 26,
        "total_completion_tokens": 14,
        "total_cached_tokens": 6,
        "total_steps": 3,
    }


def test_a_session_in_which_nothing_was_said_is_no_trajectory() -> None:
    with pytest.raises(LogError, match="at least one step"):
        as_bytes(lambda: [SessionStarted(id="1", session="s")], "atif")


def spans_of(document: bytes) -> list[dict[str, Any]]:
    (resource,) = json.loads(document)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found: list[dict[str, Any]] = scope["spans"]
    return found


def test_a_session_is_a_trace_of_its_agent_its_replies_and_its_calls(tmp_path: Path) -> None:
    spans = spans_of(as_bytes(of_sample("claude_code", tmp_path), "otel", "clean"))
    assert [span["name"] for span in spans] == [
        "invoke_agent claude_code",
        "chat claude-x",
        "execute_tool Bash",
        "execute_tool Read",
        "chat claude-x",
    ]
    for span in spans:
        assert missing_in_otlp(span) == []
    root, *others = spans
    assert {span["traceId"] for span in spans} == {root["traceId"]}
    assert {span["parentSpanId"] for span in others} == {root["spanId"]}
    facts = {one["key"]: one["value"] for one in spans[2]["attributes"]}
    assert facts["gen_ai.tool.name"] == {"stringValue": "Bash"}
    assert facts["gen_ai.tool.call.arguments"] == {"stringValue": '{"command":"false"}'}
    assert spans[2]["status"]["code"] == 2
    tokens = {one["key"]: one["value"] for one in spans[1]["attributes"]}
    assert (tokens["gen_ai.usage.input_tokens"], tokens["gen_ai.usage.output_tokens"]) == (
        {"intValue": "13"},
        {"intValue": "7"},
    )
