"""Counts of tokens that a client writes in another way, or that cannot be: the same in every format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import read
from dragoman.logs.history import check_drift, find_logs
from dragoman.model import TokensUsed, Usage
from tests.logs.samples import SAMPLES
from tests.logs.test_drift import Change, mutated

_COUNT = re.compile(r"token|input|output|prompt|completion|cache|total|candidates|thoughts|reasoning", re.IGNORECASE)


def counted_as(convert: Any) -> Change:
    """Changes whole numbers under the names of counts."""
    return lambda value: (
        {name: convert(one) if type(one) is int and _COUNT.search(name) else one for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def usages(path: Path, data: bytes, format: str) -> list[Usage]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return [event.usage for event in read(path, format) if isinstance(event, TokensUsed)]


TEXTS = {"aider", "inspect_ai"}
"""Formats with samples that are no JSON: words, or a zip file."""


@pytest.mark.parametrize("format", sorted(SAMPLES.keys() - TEXTS))
def test_a_count_is_the_same_number_with_a_point(format: str, tmp_path: Path) -> None:
    for number, (name, data) in enumerate(SAMPLES[format]):
        if data.lstrip()[:1] not in (b"{", b"["):
            continue
        before = usages(tmp_path / f"{number}a" / name, mutated(data, lambda value: value), format)
        after = usages(tmp_path / f"{number}b" / name, mutated(data, counted_as(float)), format)
        assert after == before


@pytest.mark.parametrize("format", sorted(SAMPLES.keys() - TEXTS))
def test_no_count_is_below_zero(format: str, tmp_path: Path) -> None:
    for number, (name, data) in enumerate(SAMPLES[format]):
        if data.lstrip()[:1] not in (b"{", b"["):
            continue
        for usage in usages(tmp_path / str(number) / name, mutated(data, counted_as(lambda count: -count - 1)), format):
            counts = {one: getattr(usage, one) for one in usage.__struct_fields__ if one.endswith("_tokens")}
            assert all(count is None or count >= 0 for count in counts.values()), counts


def test_counts_that_cannot_be_are_doubtful_and_told(tmp_path: Path) -> None:
    name, data = SAMPLES["pi"][0]
    path = tmp_path / name
    used = usages(path, mutated(data, counted_as(lambda count: -count - 1)), "pi")
    assert used
    assert all(one.input_tokens is None and "input_tokens" in one.doubtful for one in used)
    told = [one.what for one in check_drift(find_logs(str(path))).drifts if one.kind == "without_tokens"]
    assert told == [f"replies: {len(used)} of {len(used)} times counts are no number, or below 0"]


def test_a_log_without_counts_has_none_that_are_wrong(tmp_path: Path) -> None:
    name, data = SAMPLES["claude_code"][0]
    path = tmp_path / name

    def without_counts(value: Any) -> Any:
        return {**value, "usage": {}} if isinstance(value, dict) and "usage" in value else value

    used = usages(path, mutated(data, without_counts), "claude_code")
    assert used
    assert all(one == Usage() for one in used)
    told = [one.what for one in check_drift(find_logs(str(path))).drifts if one.kind == "without_tokens"]
    assert all("counts are no number" not in what for what in told)
