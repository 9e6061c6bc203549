"""The archive: what it gives back is what it was given, each piece is stored once, and damage is noticed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies

from dragoman.errors import LogError
from dragoman.logs.archive import Archive, KeptLog
from tests.examples import examples

# Longer than a piece now and then, and alike often enough for pieces to be shared.
contents = strategies.builds(
    lambda pattern, times, end: pattern * times + end,
    strategies.binary(min_size=1, max_size=50),
    strategies.sampled_from([0, 1, 20, 9_000, 30_000]),
    strategies.binary(max_size=20),
)


def kept_bytes(archive: Archive, log: KeptLog) -> list[bytes]:
    return [b"".join(archive.content(file)) for file in log.files]


@examples(60)
@given(strategies.lists(contents, min_size=1, max_size=5))
def test_every_log_is_given_back_as_it_was_and_equal_ones_are_stored_once(logs: list[bytes]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with Archive(folder / "kept.sqlite") as archive:
            for number, content in enumerate(logs):
                path = folder / f"{number}.jsonl"
                path.write_bytes(content)
                assert archive.keep(path, "claude_code", sessions=[str(number)])
                assert not archive.keep(path, "claude_code", sessions=[str(number)])
            found = {Path(log.path).stem: kept_bytes(archive, log) for log in archive.logs()}
            assert found == {str(number): [content] for number, content in enumerate(logs)}
            stored = archive.totals().stored
            for number, content in enumerate(logs):
                again = folder / f"again-{number}.jsonl"
                again.write_bytes(content)
                archive.keep(again, "claude_code", sessions=[f"again-{number}"])
            assert archive.totals().stored == stored
            assert archive.verify() == []


def test_a_log_that_grew_replaces_what_was_kept_and_shares_its_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, more = bytes(range(256)) * 2_048, b"more\n"
    with Archive(tmp_path / "kept.sqlite") as archive:
        path.write_bytes(first)
        archive.keep(path, "claude_code", sessions=["s"])
        before = archive.totals().stored
        path.write_bytes(first + more)
        archive.keep(path, "claude_code", sessions=["s"])
        (log,) = archive.logs()
        assert kept_bytes(archive, log) == [first + more]
        assert archive.totals().stored - before < 100


def test_what_a_client_takes_out_of_a_log_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Archive(tmp_path / "kept.sqlite") as archive:
        path.write_bytes(b"two sessions")
        archive.keep(path, "opencode", sessions=["one", "two"])
        path.write_bytes(b"another session, and longer")
        archive.keep(path, "opencode", sessions=["one", "three"])
        path.write_bytes(b"short")
        archive.keep(path, "opencode", sessions=["one", "three"])
        earlier, cut, newest = archive.logs()
        assert [log.is_newest for log in (earlier, cut, newest)] == [False, False, True]
        assert [kept_bytes(archive, log) for log in (earlier, cut)] == [
            [b"two sessions"],
            [b"another session, and longer"],
        ]
        assert archive.with_session("two") == [earlier]


def test_files_that_are_read_together_are_kept_together(tmp_path: Path) -> None:
    path, beside, absent = tmp_path / "a.db", tmp_path / "a.db-wal", tmp_path / "none"
    path.write_bytes(b"database")
    beside.write_bytes(b"its log")
    with Archive(tmp_path / "kept.sqlite") as archive:
        archive.keep(path, "goose", sessions=["s"], beside=[beside, absent])
        (log,) = archive.logs()
        assert kept_bytes(archive, log) == [b"database", b"its log"]
        beside.write_bytes(b"its longer log")
        assert archive.keep(path, "goose", sessions=["s"], beside=[beside, absent])


def test_what_is_forgotten_is_in_no_byte_of_the_file(tmp_path: Path) -> None:
    secret, shared = b"a very secret thing " * 3, b"what both logs hold" * 20_000
    with Archive(tmp_path / "kept.sqlite") as archive:
        for name, content in (("a", shared + secret), ("b", shared)):
            (tmp_path / name).write_bytes(content)
            archive.keep(tmp_path / name, "claude_code", sessions=[name])
        (log,) = archive.with_session("a")
        rows = archive._database.execute(
            "SELECT data FROM pieces JOIN parts ON parts.piece = pieces.id WHERE file = ? ORDER BY place",
            (log.files[0].id,),
        ).fetchall()
        archive.forget(log.sessions, [log.version])
        assert archive.forgotten() == {"a"}
        (left,) = archive.logs()
        assert kept_bytes(archive, left) == [shared]
        with pytest.raises(LogError, match="no session that begins with 'a' was kept"):
            archive.with_session("a")
    assert rows[-1][0] not in (tmp_path / "kept.sqlite").read_bytes()


def test_damage_is_noticed_by_verify_and_when_a_log_is_given_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"what was said" * 1_000)
    with Archive(tmp_path / "kept.sqlite") as archive:
        archive.keep(tmp_path / "a", "claude_code", sessions=["a"])
        (log,) = archive.logs()
    import zlib

    for data in (b"nonsense", zlib.compress(b"other words" * 1_000)):
        with sqlite3.connect(tmp_path / "kept.sqlite") as database:
            database.execute("UPDATE pieces SET data = ?", (data,))
        database.close()
        with Archive(tmp_path / "kept.sqlite") as archive:
            assert len(archive.verify()) == 1
            with pytest.raises(LogError, match="is damaged"):
                archive.write(log.files[0], tmp_path / "given back")
        assert not (tmp_path / "given back").exists()
        assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")] == []


def test_only_the_owner_can_read_the_archive_and_what_is_written_from_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"private")
    (tmp_path / "a").chmod(0o644)
    with Archive(tmp_path / "data" / "kept.sqlite") as archive:
        archive.keep(tmp_path / "a", "claude_code", sessions=["a"])
        (log,) = archive.logs()
        archive.write(log.files[0], tmp_path / "back" / "a")
    modes = {
        path.name: path.stat().st_mode & 0o777 for path in (archive.path, tmp_path / "back" / "a", tmp_path / "data")
    }
    assert modes == {"kept.sqlite": 0o600, "a": 0o600, "data": 0o700}
    assert (tmp_path / "back" / "a").stat().st_mtime_ns == (tmp_path / "a").stat().st_mtime_ns
