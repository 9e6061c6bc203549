"""Machines without a home, without a current folder, or without a place that can be written."""

from __future__ import annotations

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.cli.conftest import User, user
from tests.cli.test_faults import FAULTS, LINES, Fault, machine, typed

__all__ = ["machine", "user"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.__name__))
def test_every_command_works_without_or_says_in_one_line_what_is_wrong(
    fault: Fault, machine: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a home, a current folder or a place to write, a command works or says in one line what is wrong."""
    fault(machine, monkeypatch)
    for line in LINES:
        answer = typed(machine, line)
        errors = [one for one in answer.err.splitlines() if one.startswith("error:")]
        assert answer.code not in (ExitCode.FAULT, ExitCode.INTERRUPTED, ExitCode.PIPE), (line, answer)
        assert "Traceback" not in answer.err, (line, answer)
        assert len(errors) == (answer.code > ExitCode.NO), (line, answer)
