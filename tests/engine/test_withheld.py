"""A rule on paths holds for what a call over a whole folder would reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import Approval, Executor, ToolPolicy
from dragoman.model import Call, Failure, NativeCall, Operation, Outcome, operations as op, outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, Toolset

FILES = {"a.py": "token = 1\n", "deep/b.py": "token = 2\n", "deep/.env": "token = 3\n", "secret/c.py": "token = 4\n"}
KEPT = ToolPolicy(approval=(Approval("deny", path="*.env"), Approval("ask", path="secret/*")))


@pytest.fixture
def workspace(tmp_path: Path) -> DiskWorkspace:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return DiskWorkspace(tmp_path)


async def done(operation: Operation, workspace: DiskWorkspace, policy: ToolPolicy = KEPT) -> Outcome:
    tag = str(operation.__struct_config__.tag)
    executor = Executor(Toolset([TOOLS[tag]]), policy, Context(workspace=workspace))
    (result,) = await executor.run([Call("c1", (operation,), NativeCall("c1", tag, {}))])
    return result.outcomes[0]


async def test_a_search_shows_no_line_of_a_file_that_is_withheld(workspace: DiskWorkspace) -> None:
    found = await done(op.SearchText("token", respect_ignore=False), workspace)
    assert isinstance(found, out.MatchesOutcome)
    assert {match.path for match in found.matches} == {"a.py", "deep/b.py"}
    assert (found.total, found.skipped) == (None, 2)
    named = await done(op.SearchText("token", "deep/.env"), workspace)
    assert isinstance(named, Failure)
    assert named.kind == "denied"


@pytest.mark.parametrize("mode", ["files", "count"])
async def test_nor_does_one_that_asks_for_files_or_counts(workspace: DiskWorkspace, mode: Any) -> None:
    found = await done(op.SearchText("token", mode=mode), workspace)
    assert isinstance(found, out.MatchesOutcome)
    assert {match.path for match in found.matches} == {"a.py", "deep/b.py"}
    assert found.files is None


async def test_files_that_are_found_listed_or_read_together_are_not_those(workspace: DiskWorkspace) -> None:
    found = await done(op.FindFiles("**/*"), workspace)
    assert isinstance(found, out.PathsOutcome)
    assert (sorted(found.paths), found.total) == (["a.py", "deep/b.py"], None)
    listed = await done(op.ListDirectory("deep", respect_ignore=False), workspace)
    assert isinstance(listed, out.DirectoryOutcome)
    assert [entry.path for entry in listed.entries] == ["b.py"]
    read = await done(op.ReadFiles(("**/*.py", "deep/.env")), workspace)
    assert isinstance(read, out.FilesOutcome)
    assert sorted(file.path for file in read.files) == ["a.py", "deep/b.py"]
    assert read.skipped["secret/c.py"] == "rule 2 (path=secret/*)"


async def test_a_rule_that_comes_first_and_allows_is_not_overtaken_by_one_that_asks(workspace: DiskWorkspace) -> None:
    rules = (Approval("allow", path="secret/c.py"), Approval("ask", path="secret/*"))
    found = await done(op.SearchText("token", "secret"), workspace, ToolPolicy(approval=rules))
    assert isinstance(found, out.MatchesOutcome)
    assert [match.path for match in found.matches] == ["secret/c.py"]


async def test_a_rule_on_another_operation_withholds_nothing_here(workspace: DiskWorkspace) -> None:
    rules = (Approval("deny", operation="write_file", path="*"),)
    found = await done(op.FindFiles("**/*.py"), workspace, ToolPolicy(approval=rules))
    assert isinstance(found, out.PathsOutcome)
    assert sorted(found.paths) == ["a.py", "deep/b.py", "secret/c.py"]


async def test_a_file_read_in_the_place_of_the_one_named_is_held_to_the_rules(workspace: DiskWorkspace) -> None:
    forgiving = DiskWorkspace(workspace.root, forgiving=True)
    policy = ToolPolicy(approval=(Approval("deny", path="secret/*"),))
    read = await done(op.ReadFile("elsewhere/c.py"), forgiving, policy)
    assert isinstance(read, Failure)
    assert (read.kind, read.details["paths"]) == ("denied", ["secret/c.py"])


async def test_a_rewrite_that_would_reach_a_withheld_file_changes_nothing(workspace: DiskWorkspace) -> None:
    rewrite = op.RewriteCode("token = $A", "token = 0", "python")
    denied = await done(rewrite, workspace)
    assert isinstance(denied, Failure)
    assert (denied.kind, denied.details["paths"]) == ("denied", ["secret/c.py"])
    assert {name: (workspace.root / name).read_text() for name in FILES} == FILES
    changed = await done(op.RewriteCode("token = $A", "token = 0", "python", "deep"), workspace)
    assert isinstance(changed, out.ChangesOutcome)
    assert [change.path for change in changed.changes] == ["deep/b.py"]


async def test_a_policy_that_holds_as_well_withholds_too(workspace: DiskWorkspace) -> None:
    found = await done(op.FindFiles("**/*.py"), workspace, ToolPolicy(within=KEPT))
    assert isinstance(found, out.PathsOutcome)
    assert sorted(found.paths) == ["a.py", "deep/b.py"]
