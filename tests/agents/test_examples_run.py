"""The agents under `examples` at work, on models that play a script: what each may do, and what it may not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dragoman.agents import Kernel, read_agent
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace
from tests.agents.playing import Cast, calls, says, shape, told

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with a change that is not committed yet."""
    (tmp_path / "notes.md").write_text("# Notes\n\nThe plan: ship on Friday.\n")
    (tmp_path / "my.env").write_text("TOKEN=x\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    for command in ("init -q -b main", "add -A", "-c user.name=A -c user.email=a@b.c commit -qm begun"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    (tmp_path / "notes.md").write_text("# Notes\n\nThe plan: ship on Monday.\n")
    return tmp_path


def _kernel(name: str, cast: Cast, project: Path) -> Kernel:
    tools = [TOOLS[tag] for tag in ("read_file", "edit_file", "write_file", "search_text", "find_files", "run_command")]
    agent = read_agent(EXAMPLES / f"{name}.md")
    return Kernel([agent], model="m", engines=cast, workspace=DiskWorkspace(project), tools=tools)


async def test_the_librarian_reads_and_may_do_nothing_else(project: Path) -> None:
    cast = Cast(
        m=[
            calls(("search_text", {"pattern": "plan"}), ("vfs_read", {"path": "my.env"})),
            says("On Monday (notes.md:3)."),
        ]
    )
    done = await _kernel("librarian", cast, project).run("librarian", "When do we ship?")
    assert (done.status, done.text) == ("completed", "On Monday (notes.md:3).")
    found, secret = told(done)
    assert "ship on Monday" in found
    assert "TOKEN" not in secret
    assert cast.offered("m")[0] <= {"vfs_read", "search_text", "find_files"}
    cast.finish()


async def test_the_reviewer_has_a_hunk_judged_and_is_told_again_when_the_judge_answers_wrongly(project: Path) -> None:
    hunk = "-The plan: ship on Friday.\n+The plan: ship on Monday."
    cast = Cast(
        m=[
            calls(("run_command", {"command": "git diff"})),
            calls(("judge_hunk", {"path": "notes.md", "hunk": hunk})),
            says("fine"),
            says('{"verdict": "question", "line": 3, "reason": "Who agreed?"}'),
            says("One question, notes.md:3: who agreed?"),
        ]
    )
    done = await _kernel("reviewer", cast, project).run("reviewer", "Review this.")
    assert done.text == "One question, notes.md:3: who agreed?"
    assert shape(done) == ("reviewer", "completed", [("reviewer/judge_hunk", "completed", [])])
    diff, verdict = told(done)
    assert "+The plan: ship on Monday." in diff
    assert '"verdict"' in verdict
    assert "not stated" in cast.asked("m")[2].conversation[-1].text
    cast.finish()


async def test_the_scribe_changes_its_own_file_and_no_other(project: Path) -> None:
    def edit(path: str, old: str, new: str) -> tuple[str, dict[str, object]]:
        return "edit_file", {"path": path, "edits": [{"old": old, "new": new}]}

    cast = Cast(
        m=[
            calls(("run_command", {"command": "git log --oneline"})),
            calls(edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- We ship on Mondays.\n")),
            calls(edit("notes.md", "Monday", "Tuesday"), ("run_command", {"command": "git push"})),
            says("Done."),
        ]
    )
    done = await _kernel("scribe", cast, project).run("scribe", "Write it down.")
    assert done.status == "completed"
    assert "We ship on Mondays." in (project / "CHANGELOG.md").read_text()
    assert "Monday" in (project / "notes.md").read_text()
    log, _, other, push = told(done)
    assert "begun" in log
    assert all("nobody is there to be asked" in refused for refused in (other, push))
    cast.finish()
