"""The tables: what their rows say of small logs, and that a log read in pieces gives the rows of the whole."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.logs import FORMATS, Found, Index, Query, SessionRow, read, sessions_of
from dragoman.logs.history import tables_page
from dragoman.logs.history.rows import LONGEST, TABLES, CallRow, OperationRow, OutcomeRow, UsageRow, columns_of
from dragoman.model import Session
from tests.examples import examples
from tests.logs.samples import CLAUDE, SAMPLES, _block, _claude, _told, lines

ALL = sorted(FORMATS.built_in)
some = examples(12)


def written(format: str, folder: Path) -> list[tuple[Path, bytes]]:
    found = []
    for name, data in SAMPLES[format]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        found.append((path, data))
    return found


def tables(index: Index) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of an index, in an order that does not depend on how they came in."""
    return {name: sorted(index.rows(name), key=repr) for name in TABLES}


def of_one_file(format: str, path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with Index.in_memory() as index:
        index.update([Found(path, format)])
        return tables(index)


# ── what the rows say ────────────────────────────────────────────────────────


def test_a_call_has_its_native_side_its_meaning_and_what_it_gave(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(CLAUDE)
    query = Query(paths=[path])
    call = next(query.rows(CallRow))
    assert (call.name, call.arguments, call.operation, call.status, call.failure) == (
        "Bash",
        '{"command":"false"}',
        "run_command",
        "failed",
        "exit",
    )
    assert (call.turn, call.step, call.call, call.call_id, call.model) == (0, 0, 0, "t1", "claude-x")
    assert CLAUDE[call.source_offset or 0 :][: call.source_length].startswith(b'{"type": "assistant"')
    operation = next(query.rows(OperationRow))
    assert (operation.type, operation.kind, operation.about, operation.data) == (
        "run_command",
        "execute",
        "false",
        '{"type":"run_command","command":"false"}',
    )
    outcome = next(query.rows(OutcomeRow))
    assert (outcome.type, outcome.failed, outcome.exit_code, outcome.call) == ("command_outcome", True, 1, 0)


def test_long_texts_are_cut_with_their_length_and_json_stays_json(tmp_path: Path) -> None:
    said, content = "ä" * (LONGEST + 7), "line\n" * 5_000
    records = [msgspec.json.decode(line) for line in CLAUDE.splitlines()]
    records[1]["message"]["content"] = said
    records[3]["message"]["content"][0] |= {"name": "Write", "input": {"file_path": "/p/a", "content": content}}
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(lines(*records))
    query = Query(paths=[path])
    turn = query.table("turns").dicts()[0]
    assert (turn["text"], turn["text_length"]) == (said[:LONGEST], len(said))
    call = next(query.rows(CallRow))
    given = msgspec.json.decode(call.arguments or "")
    assert given == {"file_path": "/p/a", "content": content[:199] + "…"}
    assert call.arguments_length == len(msgspec.json.encode({"file_path": "/p/a", "content": content}))


def test_half_surrogates_and_numbers_that_fit_no_column_cost_no_row(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    text = CLAUDE.replace(b"Fix it.", b"Fix \\ud83d it.").replace(
        b'"output_tokens": 7', b'"output_tokens": %d' % 10**30
    )
    path.write_bytes(text)
    row = Query(paths=[path]).sessions()[0]
    assert (row.title, row.calls) == ("Fix ? it.", 2)


def test_an_exchange_that_two_sessions_tell_of_is_repeated_in_the_second(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    (tmp_path / "s-2.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"s-2"'))
    rows = list(Query(paths=[tmp_path]).rows(UsageRow))
    assert [(row.session, row.repeated) for row in rows] == [
        ("s-1", False),
        ("s-1", False),
        ("s-2", True),
        ("s-2", True),
    ]


def test_the_page_of_the_tables_is_what_the_structs_say() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tables.md").read_text()
    assert page == tables_page()
    assert all(f"| `{column}` |" in page for kind in TABLES.values() for column in columns_of(kind))


# ── rows and sessions say the same ───────────────────────────────────────────


def facts(session: Session) -> list[tuple[Any, ...]]:
    """What a session and its sub-agents are, as far as a row says it."""
    steps = [step for turn in session.turns for step in turn.steps]
    usage = session.usage
    mine = (
        *(session.id, session.stream, session.client, session.version, session.cwd, session.project, session.title),
        *(list(session.models), session.started, session.ended, session.parent_session, session.parent_call),
        *(len(session.children), len(session.turns), len(steps), sum(len(step.tools) for step in steps)),
        *(session.unreadable, session.unknown, usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens),
        *(usage.output_tokens, usage.reasoning_tokens, usage.tool_tokens, usage.total),
    )
    return [mine, *(fact for child in session.children for fact in facts(child))]


def row_facts(row: SessionRow) -> tuple[Any, ...]:
    return (
        *(row.session, row.stream, row.client, row.version, row.cwd, row.project, row.title),
        *(row.models, row.started, row.ended, row.parent_session, row.parent_call),
        *(row.agents, row.turns, row.steps, row.calls),
        *(row.unreadable, row.unknown, row.input_tokens, row.cached_read_tokens, row.cached_write_tokens),
        *(row.output_tokens, row.reasoning_tokens, row.tool_tokens, row.tokens),
    )


@pytest.mark.parametrize("format", ALL)
def test_rows_say_what_sessions_say(format: str, tmp_path: Path) -> None:
    files = [path for path, _ in written(format, tmp_path)]
    query = Query(paths=[tmp_path])
    found = query.files()
    assert {one.path for one in found} <= set(files)
    whole = sessions_of(event for one in found for event in read(one.path, one.format))
    expected = [fact for session in whole for fact in facts(session)]
    rows = [row_facts(row) for row in query.sessions(with_agents=True)]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


# ── reading on ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("format", ALL)
def test_a_log_that_grows_line_by_line_gives_the_rows_of_the_whole(format: str, tmp_path: Path) -> None:
    for path, data in written(format, tmp_path):
        expected = of_one_file(format, path)
        with Index.in_memory() as index:
            ends = [*itertools.accumulate(len(line) for line in data.splitlines(keepends=True))]
            for end in ends if len(ends) < 60 else ends[-3:]:
                with path.open("r+b") as file:
                    file.write(data[:end])
                    file.truncate()
                index.update([Found(path, format)])
            assert tables(index) == expected


@pytest.mark.parametrize("format", ALL)
@some
@given(cuts=st.lists(st.integers(0, 10**6), min_size=1, max_size=5))
@pytest.mark.slow
def test_a_log_that_grows_by_any_bytes_gives_the_rows_of_the_whole(
    format: str, cuts: list[int], tmp_path: Path
) -> None:
    for path, data in written(format, tmp_path):
        expected = of_one_file(format, path)
        with Index.in_memory() as index:
            for end in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
                with path.open("r+b") as file:
                    file.write(data[:end])
                    file.truncate()
                index.update([Found(path, format)])
            assert tables(index) == expected


def test_a_call_without_words_is_of_the_model_whose_reply_it_is(tmp_path: Path) -> None:
    def called(uuid: str, parent: str, number: int, model: str) -> list[Any]:
        block = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "true"}}
        record = _block(uuid, parent, block, "tool_use", f"msg_{number}") | {"requestId": f"req_{number}"}
        record["message"]["model"] = model
        return [record, _told(f"u{int(uuid[1:]) + 1}", uuid, f"t{number}", "", result="")]

    start = _claude("user", "u1", None, message={"role": "user", "content": "Go."})
    records = [start, *called("u2", "u1", 1, "claude-x"), *called("u4", "u3", 2, "claude-y")]
    records += called("u6", "u5", 3, "claude-y")
    expected = ["claude-x", "claude-y", "claude-y"]
    path = tmp_path / "s-1.jsonl"
    index = Index(tmp_path / "index.sqlite")
    path.touch()
    for record in records:
        with path.open("ab") as file:
            file.write(lines(record))
        index.update([Found(path, "claude_code")])
    place = CallRow.__struct_fields__.index("model")
    assert [row[place] for row in sorted(index.rows("calls"), key=lambda row: row[5])] == expected
    assert [row.model for row in Query(paths=[path]).rows(CallRow)] == expected


def test_a_result_dated_before_its_call_says_nothing_of_how_long_it_took(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(CLAUDE.replace(b"2026-01-01T00:00:04", b"2026-01-01T00:00:02"))
    assert [(row.name, row.status, row.elapsed) for row in Query(paths=[path]).rows(CallRow)] == [
        ("Bash", "failed", None),
        ("Read", "done", 1.0),
    ]
