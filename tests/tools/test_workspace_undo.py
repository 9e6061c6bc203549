"""Changes that are undone, in every kind of workspace."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.model import operations as op
from dragoman.model.outcomes import Change, ChangesOutcome
from dragoman.registry import TOOLS
from dragoman.tools.workspace import workspace as limits
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.workspace import Workspace
from tests.examples import examples
from tests.tools.workspaces import KINDS, failure, files, in_memory, on_disk, run, told

every_kind = pytest.mark.parametrize("kind", KINDS)

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "one\n", "two\r\n", "one\ntwo\n"])
CHANGES = st.one_of(
    st.builds(op.WriteFile, NAMES, TEXTS),
    st.builds(op.InsertText, NAMES, st.just(0), st.just("new\n")),
    st.builds(op.DeleteFile, NAMES),
)


def undone(workspace: Workspace, path: str) -> ChangesOutcome:
    outcome = run(TOOLS["undo_edit"], op.UndoEdit(path), workspace)
    assert isinstance(outcome, ChangesOutcome)
    return outcome


@examples(40)
@given(st.lists(st.lists(CHANGES, min_size=1, max_size=3), min_size=1, max_size=6))
@pytest.mark.parametrize("make", [on_disk, in_memory])
def test_undoing_everything_backwards_leads_back_through_every_state(
    make: object, transactions: list[list[op.Operation]]
) -> None:
    with make() as workspace:  # type: ignore[operator]
        workspace.write("a", b"\xef\xbb\xbfstart\r\n")
        states = [files(workspace)]
        for transaction in transactions:
            told(lambda transaction=transaction: workspace.apply(transaction))  # type: ignore[misc]
            states.append(files(workspace))
        for after, before in zip(reversed(states), reversed(states[:-1]), strict=False):
            assert files(workspace) == after
            for path in sorted(after.items() ^ before.items()):
                if files(workspace).get(path[0]) != before.get(path[0]):
                    workspace.undo(path[0])
            assert files(workspace) == before


@every_kind
def test_an_edit_a_creation_and_a_deletion_are_undone(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.apply([op.WriteFile("new/a", "one\n")])
        workspace.apply([op.EditFile("new/a", (op.Edit("one", "two"),))])
        workspace.apply([op.DeleteFile("new/a")])
        assert [change.kind for change in undone(workspace, "new/a").changes] == ["created"]
        assert files(workspace) == {"new/a": b"two\n"}
        (change,) = undone(workspace, "new/a").changes
        assert (change.kind, change.path, change.added, change.removed) == ("modified", "new/a", 1, 1)
        assert [change.kind for change in undone(workspace, "new/a").changes] == ["deleted"]
        error = failure(lambda: undone(workspace, "new/a"))
        assert (error.kind, error.details) == ("failed", {"reason": "nothing_to_undo", "path": "new/a"})
        assert error.message == 'no change of "new/a" is remembered that could be undone'


@every_kind
def test_what_is_undone_is_not_done_again_by_undoing_once_more(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"1")
        workspace.write("a", b"2")
        workspace.write("a", b"3")
        undone(workspace, "a")
        workspace.write("a", b"4")
        undone(workspace, "a")
        assert files(workspace) == {"a": b"2"}
        undone(workspace, "a")
        assert files(workspace) == {"a": b"1"}


@every_kind
def test_the_changes_of_a_file_go_along_when_it_is_moved(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"a1")
        workspace.write("b", b"b1")
        workspace.write("a", b"a2")
        workspace.apply([op.MoveFile("a", "c")])
        undone(workspace, "c")
        assert files(workspace) == {"b": b"b1", "c": b"a1"}
        assert failure(lambda: undone(workspace, "a")).details["reason"] == "nothing_to_undo"


@every_kind
def test_what_changed_nothing_or_failed_is_nothing_to_undo(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"1")
        workspace.write("a", b"1")
        workspace.apply([op.WriteFile("a", "2")], preview=True)
        failure(lambda: workspace.apply([op.WriteFile("a", "2"), op.DeleteFile("missing")]))
        undone(workspace, "a")
        assert files(workspace) == {}


def test_what_somebody_else_changed_is_left_alone() -> None:
    with on_disk() as workspace:
        workspace.write("a", b"1")
        workspace.write("a", b"2")
        (workspace.root / "a").write_bytes(b"theirs")
        error = failure(lambda: undone(workspace, "a"))
        assert error.details == {"reason": "stale", "path": "a"}
        assert files(workspace) == {"a": b"theirs"}
        (workspace.root / "a").unlink()
        assert failure(lambda: undone(workspace, "a")).details["reason"] == "stale"
        (workspace.root / "a").write_bytes(b"2")
        undone(workspace, "a")
        assert files(workspace) == {"a": b"1"}


def test_undoing_keeps_mode_and_stays_inside() -> None:
    with on_disk() as workspace:
        workspace.write("a", b"1")
        (workspace.root / "a").chmod(0o750)
        workspace.write("a", b"2")
        undone(workspace, "a")
        assert (workspace.root / "a").stat().st_mode & 0o777 == 0o750
        assert failure(lambda: undone(workspace, "../a")).kind == "denied"


@every_kind
def test_what_is_remembered_is_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNDO_LIMIT", 3000)
    monkeypatch.setattr(limits, "UNDO_DEPTH", 3)
    with KINDS[kind]() as workspace:
        for number in range(6):
            workspace.write("a", b"%d" % number)
        assert [undone(workspace, "a").changes[0].kind for _ in range(3)] == ["modified"] * 3
        assert failure(lambda: undone(workspace, "a")).details["reason"] == "nothing_to_undo"
        workspace.write("big", b"x" * 4000)
        workspace.write("big", b"small")
        assert failure(lambda: undone(workspace, "big")).details["reason"] == "nothing_to_undo"
        for number in range(40):
            workspace.write(f"file{number}", b"")
        assert failure(lambda: undone(workspace, "file0")).details["reason"] == "nothing_to_undo"
        change = Change("file39", "deleted", diff="", added=0, removed=0)
        assert undone(workspace, "file39") == ChangesOutcome((change,))


def test_another_workspace_on_the_same_folder_remembers_nothing_of_this_one() -> None:
    with on_disk() as workspace:
        workspace.write("a", b"1")
        other = DiskWorkspace(workspace.root, durable=False)
        assert failure(lambda: other.undo("a")).details["reason"] == "nothing_to_undo"
