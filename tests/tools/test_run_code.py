"""Programs are run as commands are: in the workspace, to their end, in the same sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model import CommandOutcome, Failure, NativeCall, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Shell, Toolset, perform, standard_context


async def _ran(tmp_path: Path, operation: op.RunCode, **options: object) -> object:
    shell = Shell(**options)  # type: ignore[arg-type]
    async with standard_context(DiskWorkspace(tmp_path), shell=shell) as context:
        return await perform(operation, context)


async def test_python_runs_in_the_workspace_and_its_exit_code_comes_back(tmp_path: Path) -> None:
    code = "import os, sys\nprint(os.getcwd(), \"it's\", '$HOME')\nprint('no', file=sys.stderr)\nsys.exit(3)"
    outcome = await _ran(tmp_path, op.RunCode(code, "Python3"))
    assert isinstance(outcome, CommandOutcome)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, f"{tmp_path} it's $HOME\n", "no\n")


async def test_a_program_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    outcome = await _ran(tmp_path, op.RunCode("import time; time.sleep(1000)", "python"), default_timeout_ms=500)
    assert isinstance(outcome, CommandOutcome)
    assert outcome.timed_out


@pytest.mark.parametrize(
    "operation, words",
    [(op.RunCode("1", "pythn"), 'Did you mean "python"?'), (op.RunCode("#" * 100_001, "python"), "write it to a file")],
)
async def test_what_cannot_be_run_says_why(tmp_path: Path, operation: op.RunCode, words: str) -> None:
    outcome = await _ran(tmp_path, operation)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, words in outcome.message) == ("invalid_arguments", True)


@pytest.mark.parametrize("dialect", ["claude_code", "codex", "plain", "gemini_cli"])
def test_it_is_offered_in_plain_words_where_the_clients_tool_is_another(dialect: str) -> None:
    facade = Facade(DIALECTS[dialect], Toolset([TOOLS["run_code"]]))
    assert [one.name for one in facade.definitions] == ["run_code"]
    call = facade.read_call(NativeCall("1", "run_code", {"code": "print(1)", "language": "python"}))
    assert call.operations == (op.RunCode("print(1)", "python"),)
    assert bool(facade.notes) == (dialect != "plain")
