"""Projects: the worktrees of one repository are one, whether they are still there or not."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path

import pytest

from dragoman.logs import Filter, Index, Query
from dragoman.logs.history.projects import repository_of
from tests.logs.samples import CLAUDE


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one worktree beside it, one inside it, and a folder within."""
    root = tmp_path / "work" / "lamp"
    (root / "source").mkdir(parents=True)
    git(root, "init")
    git(root, "commit", "--allow-empty", "-m", "begin")
    git(root, "worktree", "add", str(tmp_path / "work" / "lamp-fix"))
    git(root, "worktree", "add", str(root / ".claude" / "worktrees" / "quick"))
    return root


def folders(root: Path) -> list[Path]:
    return [root, root / "source", root.parent / "lamp-fix", root / ".claude" / "worktrees" / "quick"]


def logs(tmp_path: Path, *places: Path) -> Path:
    """A session in each of these folders."""
    home = tmp_path / "logs"
    home.mkdir(exist_ok=True)
    for number, place in enumerate(places):
        text = CLAUDE.replace(b'"s-1"', b'"s-%d"' % number).replace(b'"/p"', b'"%b"' % str(place).encode())
        (home / f"s-{number}.jsonl").write_bytes(text)
    return home


def test_every_worktree_and_every_folder_within_is_of_the_repository(repository: Path) -> None:
    assert {repository_of(str(folder)) for folder in folders(repository)} == {str(repository)}


def test_a_folder_in_no_repository_is_its_own(tmp_path: Path) -> None:
    assert repository_of(str(tmp_path / "alone")) == str(tmp_path / "alone")


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init")
    git(part, "commit", "--allow-empty", "-m", "begin")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", str(part), "inner")
    assert repository_of(str(repository / "inner")) == str(repository / "inner")


def test_a_bare_repository_has_its_worktrees_together(tmp_path: Path, repository: Path) -> None:
    bare = tmp_path / "lamp.git"
    git(tmp_path, "clone", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", str(tmp_path / "one"), "main")
    assert repository_of(str(tmp_path / "one")) == str(bare)


def test_a_worktree_that_was_deleted_is_still_of_its_repository(repository: Path, tmp_path: Path) -> None:
    home = logs(tmp_path, *folders(repository))
    for folder in folders(repository)[2:]:
        shutil.rmtree(folder)
    project, *others = Query(paths=[home]).projects()
    assert others == []
    assert (project.repository, project.name, project.sessions, project.clients) == (
        str(repository),
        "lamp",
        4,
        {"claude_code": 4},
    )
    assert project.folders == sorted(str(folder) for folder in folders(repository))
    assert project.last == datetime.datetime(2026, 1, 1, 0, 0, 7, tzinfo=datetime.UTC)


def test_what_was_known_of_a_folder_is_kept_when_it_and_its_repository_forget_one_another(
    repository: Path, tmp_path: Path
) -> None:
    beside = folders(repository)[2]
    home = logs(tmp_path, repository, beside)
    with Index(tmp_path / "history.sqlite") as index:
        assert len(Query(index, paths=[home]).projects()) == 1
        git(repository, "worktree", "remove", str(beside))
        assert len(Query(index, paths=[home]).projects()) == 1
    # Nothing but the name is left to an index that never saw it.
    assert len(Query(paths=[home]).projects()) == 2


def test_sessions_are_asked_for_by_any_folder_of_their_project_or_its_name(repository: Path, tmp_path: Path) -> None:
    home = logs(tmp_path, *folders(repository), tmp_path / "elsewhere")
    query = Query(paths=[home])
    for project in (*folders(repository), "lamp"):
        found = query.sessions(Filter(project=str(project)))
        assert sorted(row.session for row in found) == ["s-0", "s-1", "s-2", "s-3"], project
    assert [row.session for row in query.sessions(Filter(project="lamp-fix"))] == ["s-2"]
    assert [row.session for row in query.sessions(Filter(project="elsewhere"))] == ["s-4"]
    assert query.sessions(Filter(project="nowhere")) == []


@pytest.mark.parametrize(
    "said, common",
    [
        (b"gitdir: %b", b"\xff\xfe/.git"),
        (b"gitdir: %b", b"a\0b"),
        (b"gitdir: %b", None),
        (b"gitdir: \xff\xfe/worktrees/x", b""),
        (b"gitdir: a\0b", b""),
        (b"\0" * 1_000_000, b""),
    ],
    ids=["no UTF-8 in commondir", "NUL in commondir", "an endless commondir", "no UTF-8", "NUL", "too long"],
)
def test_a_folder_that_is_no_worktree_costs_no_session(tmp_path: Path, said: bytes, common: bytes | None) -> None:
    folder, inner = tmp_path / "folder", tmp_path / "inner"
    folder.mkdir()
    inner.mkdir()
    (folder / ".git").write_bytes(said.replace(b"%b", bytes(inner)))
    with (inner / "commondir").open("wb") as file:
        file.truncate(1 << 40) if common is None else file.write(common)
    home = logs(tmp_path, folder, tmp_path)
    with Index(tmp_path / "index.db") as index:
        rows = Query(index, paths=[home]).sessions()
    assert sorted(row.cwd or "" for row in rows) == sorted([str(folder), str(tmp_path)])
    assert all(row.repository for row in rows)


@pytest.mark.parametrize(
    "folder",
    [
        "/" + "x" * 5_000,
        "/tmp/" + "a/" * 3_000,
        "/a\\u0000b",
        "/dev/null/x",
        "~",
        "C:\\\\work",
        ".",
        "a/.claude/worktrees/b",
    ],
)
def test_a_folder_that_cannot_be_is_a_project_all_the_same(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(repository)  # no relative path leads here
    home = logs(tmp_path, tmp_path)
    (home / "odd.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"odd"').replace(b'"/p"', b'"%b"' % folder.encode()))
    projects = Query(paths=[home]).projects()
    assert sorted(project.exists for project in projects) == [False, True]
