"""Lines that are added to a file: whole or not at all, and none after one that could not be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import StorageError
from dragoman.logs.base import LineFile

# A limit on the size of files is a full disk that can be had at any byte.
PROGRAM = """
import resource, signal, sys
from dragoman.errors import StorageError
from dragoman.logs.base import LineFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = LineFile(sys.argv[1], first=b"first\\n", advice="make room")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for number in range(3):
    try:
        file.add(b"line %d\\n" % number)
    except StorageError as error:
        print(error.reason, error.advice, sep="; ")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    file.add(b"later\\n")
except StorageError as error:
    print("still:", error.reason)
"""


@pytest.mark.parametrize("room", [6, 7, 12, 13, 14, 19, 26])
def test_a_line_that_does_not_fit_leaves_no_half_of_it_and_is_the_last(tmp_path: Path, room: int) -> None:
    path = tmp_path / "lines"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(room)], capture_output=True, text=True, check=True
    )
    fitting = (room - len(b"first\n")) // len(b"line 0\n")
    assert path.read_bytes() == b"first\n" + b"".join(b"line %d\n" % number for number in range(fitting))
    assert done.stdout.splitlines() == ["File too large; make room"] * (3 - fitting) + ["still: File too large"]


def test_half_a_line_that_a_killed_process_left_costs_the_next_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"first\nhal")
    file = LineFile(path, first=b"first\n")
    file.add(b"next\n")
    file.close()
    assert path.read_bytes() == b"first\nhal\nnext\n"


def test_a_file_that_cannot_be_made_is_said_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError) as raised:
        LineFile(tmp_path / "file" / "lines", advice="name another")
    assert str(raised.value) == (f"cannot write {tmp_path}/file/lines: {tmp_path}/file is not a folder; name another")
