"""SQL that asks for more than there is, of time, rows and memory, or for what is not its own."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.hostile import Listener

from .processes import PATIENCE, below, is_alive, ran, started, until

QUERY = ("-m", "dragoman", "query")
ENDLESS = "SELECT count(*) FROM range(1000000000000)"
RECURSIVE = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"


def memory_of(process: int) -> int:
    """The most memory a process has held, in megabytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) >> 10
    return 0


def test_a_statement_reaches_no_file_no_server_and_no_setting(tmp_path: Path) -> None:
    """SQL reads and writes nothing but the tables of the history, loads no extension and changes no limit."""
    secret, home, listener = tmp_path / "secret.csv", tmp_path / "home", Listener()
    secret.write_text("MARKER\n")
    home.mkdir()
    statements = (
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
        f"SELECT 1; COPY (SELECT 1) TO '{home}/made.csv'",
        f"ATTACH '{home}/made.db' AS other",
        f"EXPORT DATABASE '{home}/made'",
        f"SELECT * FROM read_csv('{listener.url}/x')",
        "INSTALL httpfs",
        "SET memory_limit = '100GB'",
        "RESET enable_external_access",
    )
    try:
        for sql in statements:
            code, out, err = ran(*QUERY, sql, home=home)
            assert (code, "MARKER" in out + err) == (2, False), sql
            assert "not allowed" in err
    finally:
        listener.close()
    assert listener.connections == 0
    assert list(home.rglob("made*")) == []


@pytest.mark.parametrize("sql", [ENDLESS, RECURSIVE])
def test_a_query_that_never_ends_is_stopped_at_its_time(sql: str, tmp_path: Path) -> None:
    """A query ends when its time is over, with an error that names the limit."""
    code, out, err = ran(*QUERY, "--timeout", "1", sql, home=tmp_path)
    assert (code, out) == (6, "")
    assert "the limit on seconds of a query (1) was reached" in err


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 2000000000))",
        "WITH RECURSIVE t(s) AS (SELECT 'ab' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t",
    ],
)
def test_a_query_cannot_take_more_memory_than_it_may(sql: str, tmp_path: Path) -> None:
    """A query that needs more memory than it may is ended, with an error that names the limit."""
    code, out, err = ran(*QUERY, "--max-memory", "128", sql, home=tmp_path)
    assert (code, out) == (6, "")
    assert "the limit on megabytes of memory of a query (128) was reached" in err


def test_a_value_of_any_length_is_not_taken_into_our_own_process(tmp_path: Path) -> None:
    """One row has a limit on its size, so that no single value can fill the memory of the program that prints it."""
    code, out, err = ran(*QUERY, "--json", "SELECT repeat('x', 30000000)", home=tmp_path)
    assert (code, out) == (6, "")
    assert "the limit on megabytes in one row of a query (16) was reached" in err


def test_rows_are_printed_as_they_come_up_to_a_limit(tmp_path: Path) -> None:
    """A query gives at most so many rows; those printed by then remain, and the exit code says that there are more."""
    endless = "SELECT range FROM range(1000000000000)"
    code, out, err = ran(*QUERY, "--max-rows", "2500", endless, home=tmp_path)
    assert (code, out.split()) == (6, ["range", *map(str, range(2500))])
    assert "the limit on rows of a query (2500) was reached" in err


def test_a_reader_that_stops_reading_ends_the_query_and_memory_stays_flat(tmp_path: Path) -> None:
    """A result without end that is written to a slow reader is never gathered in memory."""
    words = (*QUERY, "--json", "--max-rows", "1000000000", "SELECT range, repeat('x', 1000) FROM range(1000000000000)")
    with started(*words, home=tmp_path) as process:
        assert process.stdout is not None
        for _ in range(5000):
            assert process.stdout.readline() != ""
        assert memory_of(process.pid) < 200
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE) == 141


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_ctrl_c_and_kill_leave_no_query_running(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Ctrl-C stops a query at once, and no query outlives the program, however that ends."""
    with started(*QUERY, ENDLESS, home=tmp_path, start_new_session=True) as process:
        answering = until(lambda: at_work(process), "the process that answers")
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
        until(lambda: not is_alive(answering), "the end of the process that answers")


def at_work(process: subprocess.Popen[str]) -> int | None:
    """The process that answers SQL, once it has used some time to do so."""
    for one in below(process.pid):
        try:
            used = int(Path(f"/proc/{one}/stat").read_bytes().rpartition(b")")[2].split()[11])
        except OSError:
            continue
        if used > 100:  # more than a second of processor time: it is past its start
            return one
    return None
