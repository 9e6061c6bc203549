"""Passing over files loses no match: over every recorded session, pieces of whatever its events say."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from dragoman.logs import Found, Originals, read
from dragoman.logs.history import Pattern, find_logs, grep
from dragoman.logs.history.search import _tells_by_its_bytes, candidates, spelled_out, words_of
from tests.conformance.conftest import SHARED


def _files(folder: Path) -> list[Found]:
    return [found for found in find_logs(str(folder)) if found.path.stat().st_size < 3_000_000]


@pytest.mark.parametrize("place", ["traces", "traces-2", "traces-wild"])
def test_what_is_looked_for_in_a_file_stands_in_it(place: str) -> None:
    chance = random.Random(7)
    pieces = 0
    for found in _files(SHARED / place):
        data = found.path.read_bytes()
        with Originals() as originals:
            for event in read(found.path, found.format):
                text = words_of(event, originals)
                if not text:
                    continue
                start = chance.randrange(len(text))
                sure = Pattern(text[start : start + chance.randint(2, 60)]).sure
                if len(sure) > 1 and _tells_by_its_bytes(found, sure):
                    held = sure.encode() in data or any(re.search(one.encode(), data) for one in spelled_out(sure))
                    assert held, (found.path, event.id, sure)
                    pieces += 1
    assert pieces > 1_000


def test_the_searches_people_begin_with_find_what_they_are_for() -> None:
    files = _files(SHARED / "traces" / "codex")
    assert files
    for wanted, raw in (('"name":"apply_patch"', True), ("Update File:", False), ("Add File:", False)):
        pattern = Pattern(wanted)
        found = [(match.event.source, match.event.id) for match in grep(files, pattern, raw=raw)]
        every = Pattern(wanted)
        every.sure = ""  # nothing is passed over
        assert found == [(match.event.source, match.event.id) for match in grep(files, every, raw=raw)]
        assert found
        assert len(list(candidates(files, pattern))) < len(files)
