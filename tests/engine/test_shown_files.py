"""A command that shows a file counts as reading it, where the client takes it so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry
from dragoman.engine.transport import Transport
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace
from tests.engine.loopback import Turn, loopback


@pytest.mark.parametrize(
    "command, counts",
    [
        ("cat a.txt", True),
        ("head -n 5 a.txt", True),
        ("sed -n 1,5p a.txt", True),
        ("grep two a.txt", True),
        ("tail a.txt", True),
        ("cat a.txt | head", False),
        ("cat a.txt a.txt && echo x", False),
        ("cat a.txt > copy.txt", False),
        ("cat a.txt b.txt", False),
        ("cat b.txt", False),
    ],
)
async def test_a_command_that_shows_one_file_counts_as_reading_it(command: str, counts: bool, tmp_path: Path) -> None:
    """Each row as in Claude Code 2.1.325 on loopback."""
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("one\ntwo\n")
    edit = {"file_path": str(tmp_path / "a.txt"), "old_string": "two", "new_string": "2"}
    turns = (Turn(calls=(("c1", "Bash", {"command": command}),)), Turn(calls=(("c2", "Edit", edit),)), Turn("Done."))
    async with loopback(*turns) as server:
        engine = HttpEngine("anthropic_messages", Transport(server.url), provider="played", retry=Retry(times=0))
        orchestrator = Orchestrator(
            engine,
            [TOOLS["run_command"], TOOLS["edit_file"], TOOLS["read_file"]],
            model_name="claude-sonnet-4-5",
            dialect="claude_code",
            workspace=DiskWorkspace(tmp_path, durable=False),
        )
        await orchestrator.run("Do it.")
        await orchestrator.close()
    assert (tmp_path / "a.txt").read_text() == ("one\n2\n" if counts else "one\ntwo\n")
