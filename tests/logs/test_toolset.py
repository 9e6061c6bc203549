"""History as tools: small answers with coordinates, cursors that go on whatever is added, failures that say why."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ToolError
from dragoman.logs import Query
from dragoman.logs.history import history_toolset, toolset
from dragoman.tools import Tool, Toolset
from tests.logs.samples import CLAUDE, CODEX, SAMPLES


def write(folder: Path, id: str, day: int) -> None:
    data = CLAUDE.replace(b'"s-1"', f'"{id}"'.encode()).replace(b"2026-01-01", f"2026-01-{day:02d}".encode())
    (folder / f"{id}.jsonl").write_bytes(data)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number in range(1, 8):
        write(tmp_path, f"s-{number}", number + 1)
    (tmp_path / "rollout-c-1.jsonl").write_bytes(CODEX)
    for name, data in SAMPLES["gemini_cli"][:2]:
        path = tmp_path / "gemini" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


@pytest.fixture
def tools(home: Path, monkeypatch: pytest.MonkeyPatch) -> Toolset:
    monkeypatch.setattr(toolset, "FRESH", 0.0)
    return history_toolset(Query(paths=[home]))


def run(tools: Toolset, name: str, **arguments: Any) -> Any:
    tool = tools.get(name)
    assert isinstance(tool, Tool)
    return tool.call_sync(arguments)


def pages(tools: Toolset, name: str, of: str, **arguments: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        answer = run(tools, name, **arguments, cursor=cursor)
        found += answer[of]
        cursor = answer["cursor"]
        if cursor is None:
            return found


def test_the_tools_change_nothing_and_are_described(tools: Toolset) -> None:
    assert tools.names == (
        *("list_sessions", "get_session", "get_project_info", "search_events"),
        *("list_turns", "get_turns", "analyse_session"),
    )
    for tool in tools:
        assert isinstance(tool, Tool)
        assert tool.kind in ("read", "search")
        assert len(tool.description) > 60
        for name, schema in tool.parameters["properties"].items():
            assert schema.get("description"), (tool.name, name)


def test_sessions_are_listed_newest_first_page_by_page(tools: Toolset) -> None:
    whole = [one["session"] for one in run(tools, "list_sessions", limit=50)["sessions"]]
    assert whole[:7] == [f"s-{number}" for number in range(7, 0, -1)]
    assert [one["session"] for one in pages(tools, "list_sessions", "sessions", limit=2)] == whole
    only = run(tools, "list_sessions", client="codex", limit=50)["sessions"]
    assert [one["session"] for one in only] == ["c-1"]


def test_a_cursor_goes_on_where_it_was_when_sessions_are_added(tools: Toolset, home: Path) -> None:
    first = run(tools, "list_sessions", limit=3)
    assert [one["session"] for one in first["sessions"]] == ["s-7", "s-6", "s-5"]
    write(home, "s-newer", 20)
    second = run(tools, "list_sessions", limit=2, cursor=first["cursor"])
    assert [one["session"] for one in second["sessions"]] == ["s-4", "s-3"]
    assert run(tools, "list_sessions", limit=1)["sessions"][0]["session"] == "s-newer"


def test_a_search_gives_coordinates_and_goes_on_when_sessions_are_added(tools: Toolset, home: Path) -> None:
    whole = run(tools, "search_events", text="false", client="claude_code", limit=50)["matches"]
    assert [(one["session"], one["turn"], one["step"], one["kind"], one.get("call_id")) for one in whole] == [
        (f"s-{number}", 0, 0, "tool_called", "t1") for number in range(7, 0, -1)
    ]
    first = run(tools, "search_events", text="false", client="claude_code", limit=3)
    write(home, "s-newer", 20)
    second = run(tools, "search_events", text="false", client="claude_code", limit=50, cursor=first["cursor"])
    assert first["matches"] + second["matches"] == whole
    everything = run(tools, "search_events", text=".", regex=True, limit=50)
    assert len(everything["matches"]) == 50
    found = pages(tools, "search_events", "matches", text="e", limit=7)
    assert len(found) == len({one["event"] for one in found})


def test_turns_are_listed_and_read_with_what_was_cut_marked(tools: Toolset) -> None:
    listed = run(tools, "list_turns", session="s-1")
    assert [(one["turn"], one["text"], one["calls"], one["failures"]) for one in listed["turns"]] == [
        (0, "Fix it.", 2, 1)
    ]
    (turn,) = run(tools, "get_turns", session="s-1", turns=[0], max_steps=1, max_chars=100)["turns"]
    assert (turn["text"], turn["steps_in_all"], turn["steps_left"]) == ("Fix it.", 2, 1)
    (step,) = turn["steps"]
    assert [(one["tool"], one["operations"], one["status"]) for one in step["calls"]] == [
        ("Bash", ["run_command"], "failed"),
        ("Read", ["read_file"], "done"),
    ]
    (rest,) = run(tools, "get_turns", session="s-1", turns=[0], first_step=1)["turns"]
    assert [one.get("said") for one in rest["steps"]] == ["Done."]


def test_long_texts_are_cut_with_how_much_is_missing(tools: Toolset, home: Path) -> None:
    (home / "s-long.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"s-long"').replace(b"Fix it.", b"x" * 5_000))
    (turn,) = run(tools, "get_turns", session="s-long", turns=[0], max_chars=100)["turns"]
    assert turn["text"] == "x" * 100 + "[… 4900 more characters]"
    (listed,) = run(tools, "list_turns", session="s-long")["turns"]
    assert listed["text"] == "x" * 300 + "[… 4700 more]"


def test_a_session_its_project_and_what_went_wrong_are_told(tools: Toolset) -> None:
    facts = run(tools, "get_session", session="g-1")
    assert (facts["session"], [one["stream"] for one in facts["sub_agents"]]) == ("g-1", ["a-1"])
    (project,) = run(tools, "get_project_info", project="/p")["projects"]
    assert (project["repository"], project["sessions"]) == ("/p", 8)
    found = run(tools, "analyse_session", session="s-1")
    assert [(one["lens"], one["kind"]) for one in found["findings"]] == [("failures", "exit")]
    assert found["findings"][0]["spots"][0]["call_id"] == "t1"


@pytest.mark.parametrize(
    "name, arguments, kind, said",
    [
        ("list_sessions", {"cursor": "nonsense!"}, "invalid_arguments", "is no cursor of list_sessions"),
        ("list_sessions", {"cursor": "WzFd"}, "invalid_arguments", "is no cursor of list_sessions"),
        ("search_events", {"text": "x", "cursor": "WzFd"}, "invalid_arguments", "is no cursor of search_events"),
        ("search_events", {"text": "(", "regex": True}, "invalid_arguments", "is not a regular expression"),
        ("list_sessions", {"since": "yesterdayish"}, "invalid_arguments", "yesterdayish"),
        ("get_session", {"session": "zz"}, "failed", "no session begins with 'zz'"),
        ("get_turns", {"session": "s-1", "turns": [7]}, "invalid_arguments", "there is no turn 7"),
        ("list_turns", {"session": "s-"}, "failed", "give more of the id"),
    ],
)
def test_what_is_wrong_is_a_failure_of_a_kind_that_says_so(
    tools: Toolset, name: str, arguments: dict[str, Any], kind: str, said: str
) -> None:
    with pytest.raises(ToolError, match=said.replace("(", r"\(")) as raised:
        run(tools, name, **arguments)
    assert raised.value.kind == kind


def test_a_cursor_of_another_question_is_refused(tools: Toolset) -> None:
    cursor = run(tools, "list_sessions", limit=1)["cursor"]
    with pytest.raises(ToolError, match="is of another question"):
        run(tools, "list_sessions", client="codex", cursor=cursor)


def test_tools_may_be_called_from_any_thread(tools: Toolset) -> None:
    found: list[Any] = []
    run(tools, "list_sessions")
    threads = [
        threading.Thread(target=lambda: found.append(run(tools, "list_sessions", limit=50)["sessions"]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)


def test_an_expression_with_endless_ways_to_try_is_searched_for_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE.replace(b"Fix it.", b"a" * 5000 + b"!"))
    tools = history_toolset(Query(paths=[tmp_path]))
    assert run(tools, "search_events", text="(aa+)+$", regex=True)["matches"] == []
    assert len(run(tools, "search_events", text="(aa+)+!", regex=True)["matches"]) == 1


def test_an_expression_that_cannot_be_matched_in_bounded_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE.replace(b"Fix it.", b"a" * 5000 + b"!"))
    tools = history_toolset(Query(paths=[tmp_path]))
    with pytest.raises(ToolError, match="a backreference"):
        run(tools, "search_events", text=r"(a+)+\1$", regex=True)


def test_a_count_that_was_logged_too_early_is_said_to_be(tmp_path: Path) -> None:
    usage = {"input_tokens": 4000, "output_tokens": 1}
    reply = {"id": "m1", "role": "assistant", "stop_reason": None, "model": "m", "usage": usage, "content": "Hi."}
    about = {"sessionId": "s-1", "version": "2.1.54", "timestamp": "2026-05-01T10:00:00Z"}
    records = [
        {**about, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "Why?"}},
        {**about, "type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": reply},
    ]
    (tmp_path / "s-1.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    tools = history_toolset(Query(paths=[tmp_path]))
    (session,) = run(tools, "list_sessions")["sessions"]
    (turn,) = run(tools, "list_turns", session="s-1")["turns"]
    (whole,) = run(tools, "get_turns", session="s-1", turns=[0])["turns"]
    assert [(one["tokens"], one["doubtful"]) for one in (session, turn)] == [(4001, 1)] * 2
    assert [step["doubtful"] for step in whole["steps"]] == [["output_tokens"]]
