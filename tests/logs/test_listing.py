"""Folders of logs that change while they are listed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.logs.base.format import Places
from dragoman.logs.base.listing import files_below, files_in
from dragoman.logs.history.discover import all_logs
from dragoman.registry import FORMATS

from .samples import CLAUDE


def test_files_are_listed_by_pattern_hidden_ones_too_and_links_to_folders_are_not_entered(tmp_path: Path) -> None:
    for name in ("b/events.jsonl", "a/events.jsonl", ".hidden/events.jsonl", "a/deep/other.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    named = [str(path.relative_to(tmp_path)) for path in files_in(tmp_path, "[ab]/events.jsonl", ".h*/*.jsonl")]
    assert named == [".hidden/events.jsonl", "a/events.jsonl", "b/events.jsonl"]
    below = [str(path.relative_to(tmp_path)) for path in files_below(tmp_path, "*.jsonl")]
    assert below == [".hidden/events.jsonl", "a/deep/other.jsonl", "a/events.jsonl", "b/events.jsonl"]
    assert files_in(tmp_path / "nowhere", "*") == files_below(tmp_path / "nowhere", "*") == []


@pytest.mark.parametrize("format", list(FORMATS))
def test_a_folder_that_vanishes_while_homes_are_walked_costs_only_its_own_files(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every folder is gone once it was seen and before it is entered: the worst moment there is."""
    places = Places(tmp_path, {}, "linux")
    for home in FORMATS[format].homes(places):
        for folder in ("one", "two"):
            (home / folder / "chats" / "deep").mkdir(parents=True, exist_ok=True)
    real = os.scandir

    def vanishing(path: object = ".") -> object:
        if "two" in str(path) or "deep" in str(path):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", vanishing)
    assert [found.path for found in all_logs(places) if found.format == format] == []


def test_the_files_of_other_folders_are_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    projects = tmp_path / ".claude" / "projects"
    for name in ("one", "two", "three"):
        (projects / name).mkdir(parents=True)
        (projects / name / "s-1.jsonl").write_bytes(CLAUDE)
    real = os.scandir

    def vanishing(path: object = ".") -> object:
        if str(path).endswith("two"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", vanishing)
    found = [one.path.parent.name for one in all_logs(Places(tmp_path, {}, "linux"))]
    assert found == ["one", "three"]
