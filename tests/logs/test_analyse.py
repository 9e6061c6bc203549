"""What an analysis finds, and what it does not take for a loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import Query, analyse_session
from dragoman.logs.history import Analysis
from dragoman.logs.history.analyse import Spot
from tests.logs.samples import CODEX, lines


class Log:
    """A session of Claude Code, written call by call."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._calls = 0
        self._second = 0.0

    def _add(self, kind: str, message: dict[str, Any], after: float = 0.1, **more: Any) -> None:
        self._second += after
        minute, second = divmod(self._second, 60)
        record = {
            "type": kind,
            "uuid": f"u{len(self.records)}",
            "parentUuid": None,
            "isSidechain": False,
            "sessionId": "s-1",
            "version": "2.1.300",
            "cwd": "/p",
            "timestamp": f"2026-01-01T00:{int(minute):02d}:{second:06.3f}Z",
            "message": message,
            **more,
        }
        self.records.append(record)

    def says(self, text: str = "Do it.") -> Log:
        self._add("user", {"role": "user", "content": text})
        return self

    def calls(
        self,
        name: str,
        result: str | None = "ok",
        *,
        failed: bool = False,
        seconds: float = 0.1,
        tokens: int = 10,
        **input: Any,
    ) -> Log:
        self._calls += 1
        id = f"t{self._calls}"
        block = {"type": "tool_use", "id": id, "name": name, "input": input}
        usage = {"input_tokens": tokens, "output_tokens": 5}
        self._add(
            "assistant",
            {
                "id": f"m{self._calls}",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [block],
                "usage": usage,
            },
        )
        if result is not None:
            given = {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}
            self._add("user", {"role": "user", "content": [given]}, after=seconds)
        return self

    def edits(self, old: str, *, failed: bool = False, path: str = "/p/a") -> Log:
        result = "String to replace not found in file." if failed else "The file /p/a has been updated."
        return self.calls("Edit", result, failed=failed, file_path=path, old_string=old, new_string="new")

    def analysed(self, folder: Path) -> Analysis:
        path = folder / "s-1.jsonl"
        path.write_bytes(lines(*self.records))
        return analyse_session(Query(paths=[path]), "s-1")


def kinds(analysis: Analysis, lens: str) -> list[tuple[str, int]]:
    return [(one.kind, one.count) for one in analysis.findings if one.lens == lens]


# ── failures ─────────────────────────────────────────────────────────────────


def test_failures_are_told_by_tool_and_kind_with_their_places_and_what_to_do(tmp_path: Path) -> None:
    log = Log().says().calls("Bash", "Exit code 1\nno", failed=True, command="a")
    log.calls("Bash", "Exit code 1\nno", failed=True, command="b").edits("x", failed=True)
    found = log.analysed(tmp_path)
    assert (found.calls, found.failures) == (3, 3)
    assert found.failures_by_tool == {"Bash": 2, "Edit": 1}
    assert found.failures_by_kind == {"exit": 2, "failed": 1}
    first = found.findings[0]
    assert (first.tool, first.kind, first.count) == ("Bash", "exit", 2)
    assert first.spots == (
        Spot("s-1", "main", 0, 0, "t1", first.spots[0].event),
        Spot("s-1", "main", 0, 1, "t2", first.spots[1].event),
    )
    assert "2 times the same" in first.text
    assert "read its output" in first.advice


# ── loops ────────────────────────────────────────────────────────────────────


def test_the_same_call_that_gives_the_same_three_times_is_a_loop(tmp_path: Path) -> None:
    log = Log().says()
    for _ in range(3):
        log.calls("Read", "1\ttext", file_path="/p/a").calls("Bash", "x", command=f"echo {_}")
    found = log.analysed(tmp_path)
    assert kinds(found, "loops") == [("repeated_call", 3)]
    (loop,) = [one for one in found.findings if one.lens == "loops"]
    assert [spot.call_id for spot in loop.spots] == ["t1", "t3", "t5"]


@pytest.mark.parametrize(
    "between",
    [
        lambda log: log.edits(f"x{len(log.records)}"),
        lambda log: log.says("Read it again."),
    ],
    ids=["something was changed", "the user asked"],
)
def test_the_same_call_after_a_reason_to_make_it_again_is_no_loop(tmp_path: Path, between: Any) -> None:
    log = Log().says()
    for _ in range(4):
        between(log.calls("Bash", "1 failed", command="pytest"))
    assert kinds(log.analysed(tmp_path), "loops") == []


def test_many_calls_of_one_kind_and_polling_that_tells_something_new_are_no_loop(tmp_path: Path) -> None:
    log = Log().says()
    for number in range(12):
        log.calls("Read", "1\ttext", file_path=f"/p/{number}")
        log.calls("BashOutput", f"line {number}", bash_id="b1")
    assert kinds(log.analysed(tmp_path), "loops") == []


def test_the_same_failing_edit_is_a_loop_the_second_time(tmp_path: Path) -> None:
    found = Log().says().edits("x", failed=True).edits("x", failed=True).analysed(tmp_path)
    assert kinds(found, "loops") == [("failing_edit", 2)]
    assert "Read the file again" in next(one.advice for one in found.findings if one.lens == "loops")


def test_edits_of_one_file_that_fail_one_after_the_other_are_told(tmp_path: Path) -> None:
    found = Log().says().edits("x", failed=True).edits("y", failed=True).edits("z", failed=True).analysed(tmp_path)
    assert kinds(found, "loops") == [("failing_edits", 3)]
    fixed = Log().says().edits("x", failed=True).edits("y", failed=True).edits("z").edits("w", failed=True)
    assert kinds(fixed.analysed(tmp_path), "loops") == []


def test_a_cycle_of_two_calls_is_told_once_and_not_as_two_repetitions(tmp_path: Path) -> None:
    log = Log().says()
    for _ in range(3):
        log.calls("Bash", "on", command="switch on").calls("Bash", "off", command="switch off")
    found = log.analysed(tmp_path)
    assert kinds(found, "loops") == [("cycle", 3)]
    (loop,) = [one for one in found.findings if one.lens == "loops"]
    assert "switch on → Bash switch off" in loop.text
    assert len(loop.spots) == 6


def test_edit_and_test_with_other_words_each_time_is_no_cycle(tmp_path: Path) -> None:
    log = Log().says()
    for number in range(4):
        log.edits(f"x{number}").calls("Bash", f"{number} failed", command="pytest")
    assert kinds(log.analysed(tmp_path), "loops") == []


# ── slow calls ───────────────────────────────────────────────────────────────


def test_only_a_call_above_ten_seconds_and_slower_than_nine_in_ten_is_slow(tmp_path: Path) -> None:
    log = Log().says()
    for number in range(10):
        log.calls("Bash", "x", seconds=11, command=f"make {number}")
    log.calls("Bash", "x", seconds=30, command="make all").calls("Bash", "x", seconds=9, command="make less")
    slow = [one for one in log.analysed(tmp_path).findings if one.lens == "bottlenecks"]
    assert [(one.kind, one.seconds, one.spots[0].call_id) for one in slow][-1] == ("slow_call", 30.0, "t11")
    assert all(one.seconds is not None and one.seconds > 10 for one in slow)
    quick = Log().says().calls("Bash", "x", seconds=9, command="a").analysed(tmp_path)
    assert kinds(quick, "bottlenecks") == []


def test_a_wait_for_a_person_is_told_apart_from_a_slow_call(tmp_path: Path) -> None:
    options = [{"label": "a", "description": "A"}, {"label": "b", "description": "B"}]
    asked = [{"question": "Which?", "header": "h", "options": options, "multiSelect": False}]
    found = Log().says().calls("AskUserQuestion", "that", seconds=50, questions=asked).analysed(tmp_path)
    assert kinds(found, "bottlenecks") == [("waited_for_user", 1)]
    (waited,) = [one for one in found.findings if one.kind == "waited_for_user"]
    assert waited.advice is not None
    assert "rule" not in waited.advice
    log = Log().says()
    for seconds in (50, 20, 5):
        log.calls("AskUserQuestion", "that", seconds=seconds, questions=asked)
    (both,) = [one for one in log.analysed(tmp_path).findings if one.kind == "waited_for_user"]
    assert (both.count, both.seconds, len(both.spots)) == (2, 70.0, 2)


# ── chains, and the context window ───────────────────────────────────────────


def test_chains_are_the_longest_sequences_that_come_up_again(tmp_path: Path) -> None:
    log = Log().says()
    for number in range(3):
        log.calls("Grep", f"{number}", pattern=f"{number}").calls("Read", f"{number}", file_path=f"/p/{number}")
        log.edits(f"x{number}")
    chains = log.analysed(tmp_path).chains
    assert (chains[0].tools, chains[0].count, chains[0].first.call_id) == (("Grep", "Read", "Edit"), 3, "t1")
    assert ("Grep", "Read") not in [one.tools for one in chains]


def test_the_context_is_what_the_last_exchange_was_given_against_the_models_window(tmp_path: Path) -> None:
    log = Log().says().calls("Bash", "x", tokens=190_000, command="a").calls("Bash", "y", tokens=170_000, command="b")
    found = log.analysed(tmp_path)
    (use,) = found.context
    assert (use.last, use.peak, use.window, use.told_by, use.share) == (170_000, 190_000, 200_000, "table", 0.85)
    assert kinds(found, "context") == [("nearly_full", 1)]


def test_a_window_the_log_tells_of_goes_first_and_an_unknown_one_stays_unknown(tmp_path: Path) -> None:
    path = tmp_path / "rollout-c-1.jsonl"
    path.write_bytes(CODEX)
    (unknown,) = analyse_session(Query(paths=[path]), "c-1").context
    assert (unknown.window, unknown.told_by, unknown.share) == (None, None, None)
    records = [json.loads(line) for line in CODEX.splitlines()]
    for record in records:
        if record["payload"].get("type") == "token_count":
            record["payload"]["info"]["model_context_window"] = 258_400
    path.write_bytes(lines(*records))
    (told,) = analyse_session(Query(paths=[path]), "c-1").context
    assert (told.window, told.told_by) == (258_400, "log")


def test_calls_without_results_and_sessions_without_calls_find_nothing(tmp_path: Path) -> None:
    assert Log().says().calls("Bash", None, command="a").analysed(tmp_path).findings == ()
    assert Log().says().analysed(tmp_path).findings == ()
