"""Logs that are compressed are read in place, wherever a log is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from dragoman.errors import LogError
from dragoman.logs import FORMATS, Index, Originals, Query, read, recognise
from dragoman.logs.base import compressed
from dragoman.logs.base.format import Places
from dragoman.logs.history import all_logs, check_drift, find_logs
from dragoman.logs.history.looks import described
from dragoman.logs.history.search import Pattern, grep
from dragoman.logs.history.stats import statistics
from tests.logs.samples import CLAUDE, CODEX, SAMPLES

PACKED = {".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("format, data", [("claude_code", CLAUDE), ("codex", CODEX)])
def test_a_compressed_log_gives_the_events_of_the_plain_one(
    tmp_path: Path, ending: str, format: str, data: bytes
) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / f"a.jsonl{ending}"
    plain.write_bytes(data)
    packed.write_bytes(PACKED[ending](data))
    assert recognise(packed)[0].name == format
    events = list(read(plain))
    assert [one.path for one in find_logs(str(tmp_path))] == [plain]
    plain.unlink()
    assert list(read(packed)) == events
    with Originals() as originals:
        pieces = {one.source.offset: originals.of(one.source) for one in events if one.source is not None}
    assert all(isinstance(piece, bytes) and data[at:].startswith(piece) for at, piece in pieces.items())
    assert pieces


@pytest.mark.parametrize("ending", PACKED)
def test_a_compressed_document_is_read(tmp_path: Path, ending: str) -> None:
    name, data = next((name, data) for name, data in SAMPLES["continue"] if name.endswith(".json"))
    packed = tmp_path / (Path(name).name + ending)
    packed.write_bytes(PACKED[ending](data))
    assert recognise(packed)[0].name == "continue"
    assert len(list(read(packed))) > 3


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_logs_are_found_searched_indexed_and_checked(tmp_path: Path, ending: str) -> None:
    home = tmp_path / ".claude" / "projects" / "-p"
    home.mkdir(parents=True)
    packed = home / f"s-1.jsonl{ending}"
    packed.write_bytes(PACKED[ending](CLAUDE))
    found = list(all_logs(Places(tmp_path, {})))
    assert [(one.path, one.format) for one in found] == [(packed, "claude_code")]
    assert [one.path for one in find_logs(str(tmp_path))] == [packed]
    assert [type(match.event).__name__ for match in grep(found, Pattern("Fix it."))] == ["UserSaid"]
    with Index(tmp_path / "index.db") as index:
        index.update(found)
        first = index.update(found)
    assert (first.files, first.unchanged, first.failed) == (1, 1, 0)
    assert check_drift(found).files == 1


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("format", ["claude_code", "copilot", "gemini_cli"])
def test_a_log_and_its_compressed_copy_in_another_folder_count_once(tmp_path: Path, ending: str, format: str) -> None:
    name, data = SAMPLES[format][0]
    name = Path(name).name
    log, packed, other = tmp_path / "a" / name, tmp_path / "b" / (name + ending), tmp_path / "c" / (name + ending)
    for path, content in ((log, data), (packed, PACKED[ending](data)), (other, PACKED[ending](CODEX))):
        path.parent.mkdir()
        path.write_bytes(content)

    def counted(*paths: Path) -> object:
        query = Query(paths=[str(path) for path in paths])
        rows = [(row.session, row.calls, row.turns, row.tokens) for row in query.sessions()], statistics(query)
        query.close()
        return rows

    assert counted(log, packed) == counted(packed) == counted(log)
    assert counted(log, packed, other) == counted(log, other)


def test_a_compressed_file_of_which_nothing_can_be_unpacked_is_described_so(tmp_path: Path) -> None:
    whole, cut, bad = tmp_path / "whole.zst", tmp_path / "cut.zst", tmp_path / "bad.gz"
    whole.write_bytes(zstandard.compress(b"hello"))
    cut.write_bytes(zstandard.compress(CLAUDE)[:60])
    bad.write_bytes(b"\x1f\x8b\x08" + b"nonsense" * 20)
    assert [described(path).removeprefix("a file compressed with ") for path in (whole, cut, bad)] == [
        "zstd",
        "zstd, cut off before anything of it can be unpacked",
        "gzip, and damaged: it cannot be unpacked",
    ]


def test_what_was_cut_or_is_damaged_costs_no_other_log(tmp_path: Path) -> None:
    whole = gzip.compress(CLAUDE * 50)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bad.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"nonsense" * 20)
    (tmp_path / "good.jsonl").write_bytes(CLAUDE)
    assert {one.path.name for one in find_logs(str(tmp_path))} == {"cut.jsonl.gz", "good.jsonl"}
    assert list(read(tmp_path / "cut.jsonl.gz"))
    with pytest.raises(LogError, match="cannot unpack"):
        list(read(tmp_path / "bad.jsonl.zst", "claude_code"))


def test_a_file_that_holds_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "LARGEST", 1 << 20)
    path = tmp_path / "zeros.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20)))
    with pytest.raises(LogError, match="holds more than"):
        list(read(path, "claude_code"))
    assert FORMATS["claude_code"].name == "claude_code"
