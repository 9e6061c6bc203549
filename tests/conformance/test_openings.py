"""What the beginning of a real log alone says of its format is what all formats say that are asked about it."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman.errors import LogError
from dragoman.logs.base.format import sample_of
from dragoman.logs.base.openings import OPENINGS, SIZE, format_by_opening
from dragoman.logs.base.reading import recognise_sample
from tests.conformance.conftest import SHARED


@pytest.mark.parametrize("folder", ["traces", "traces-2", "traces-wild"])
def test_an_opening_says_what_the_formats_say(folder: str) -> None:
    known: Counter[str] = Counter()
    for path in sorted((SHARED / folder).rglob("*")):
        opened = format_by_opening(path) if path.is_file() else None
        if opened is None:
            continue
        try:
            format, confidence = recognise_sample(sample_of(path))
        except LogError:
            pytest.fail(f"{path} begins as a log of {opened[0]}, and no format knows it")
        assert opened == (format.name, confidence), path
        assert [name for name, _, opening in OPENINGS if opening.match(path.read_bytes()[:SIZE])] == [opened[0]], path
        known[opened[0]] += 1
    assert known.keys() >= {"claude_code", "codex", "gemini_cli", "qwen_code"}
