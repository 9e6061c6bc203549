"""Which logs are copies of others: by name, size and end, never because there is nothing to compare."""

from __future__ import annotations

from dragoman.logs.history.indexed_file import FileRow
from dragoman.logs.history.whole_sessions import is_copy


def row(path: str = "/a/s.jsonl", size: int = 9, **facts: str) -> FileRow:
    return FileRow(**{"path": path, "format": "codex", "size": size, "tail": "t", **facts})


def test_a_log_is_a_copy_of_one_with_the_same_name_size_and_end() -> None:
    seen: set[tuple[object, ...]] = set()
    answers = [
        is_copy(one, seen)
        for one in (
            *(row(), row("/b/s.jsonl"), row("/b/other.jsonl"), row(size=8), row(tail="u")),
            *(row(format="claude_code"), row(beside="more"), row("/c/s.jsonl")),
        )
    ]
    assert answers == [False, True, False, False, False, False, False, True]


def test_what_is_not_known_or_empty_is_a_copy_of_nothing() -> None:
    seen: set[tuple[object, ...]] = set()
    assert [is_copy(one, seen) for one in (None, None, row(size=0), row(size=0))] == [False] * 4
