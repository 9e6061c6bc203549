"""What a look at all processes tells of those that end while it is taken."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman.tools.processes import supervisor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="brands are read from /proc")


def test_a_process_that_ends_between_two_looks_at_it_may_have_started_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is read, it starts a copy of itself and ends, and its limits are gone: then one looks again."""
    child = subprocess.Popen(["sleep", "60"])
    read = supervisor._contents

    def ended_meanwhile(path: str) -> bytes:
        if path.endswith("/limits"):
            child.kill()
            child.wait()
        return read(path)

    monkeypatch.setattr(supervisor, "_contents", ended_meanwhile)
    try:
        assert supervisor._members([child.pid], set(), (1, 1)) == ({}, True)
    finally:
        child.kill()
        child.wait()


def test_a_process_of_others_that_lives_on_is_none_of_them() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert supervisor._members([child.pid], set(), (1, 1)) == ({}, False)
        finally:
            child.kill()
