"""What only a workspace on disk has: links, modes, other processes, and what they leave behind."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import ConfigError
from dragoman.model import operations as op
from dragoman.model.outcomes import Change, Entry
from dragoman.tools.workspace.disk import DiskWorkspace
from tests.tools.workspaces import failure, files, tree

edit = op.EditFile("f", (op.Edit("old", "new"),))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> DiskWorkspace:
    return DiskWorkspace(root)


# ── paths ────────────────────────────────────────────────────────────────────


def test_the_root_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(ConfigError, match="must be a folder"):
            DiskWorkspace(path)


def test_absolute_paths_inside_the_root_are_taken_however_the_root_is_spelled(tmp_path: Path, root: Path) -> None:
    (tmp_path / "other").symlink_to(root)
    workspace = DiskWorkspace(tmp_path / "other")
    assert workspace.resolve(f"{root}/a/b") == "a/b"
    assert workspace.resolve(f"{tmp_path}/other/a/b") == "a/b"
    assert workspace.resolve(str(root)) == "."
    assert failure(lambda: workspace.resolve(f"{root}er/a")).kind == "denied"
    assert failure(lambda: workspace.resolve("/etc/passwd")).kind == "denied"


def test_a_root_that_was_replaced_is_not_used(root: Path, workspace: DiskWorkspace) -> None:
    root.rename(root.with_name("elsewhere"))
    root.mkdir()
    assert failure(lambda: workspace.write("f", b"")).kind == "denied"
    assert list(root.iterdir()) == []


# ── links ────────────────────────────────────────────────────────────────────


def test_links_are_followed_inside_the_root(root: Path, workspace: DiskWorkspace) -> None:
    (root / "real/deep").mkdir(parents=True)
    (root / "near").symlink_to("real")
    (root / "absolute").symlink_to(root / "real")
    (root / "real/up").symlink_to("../real/deep/../deep")
    for path in ("near/up/f", "absolute/deep/f", "real/up/f", "real/../near/deep/f"):
        assert workspace.resolve(path) == "real/deep/f"
    workspace.write("near/up/f", b"through links")
    assert (root / "real/deep/f").read_bytes() == b"through links"
    assert workspace.read("absolute/up/f") == b"through links"
    assert (root / "near").is_symlink()


def test_links_out_of_the_root_are_denied(tmp_path: Path, root: Path, workspace: DiskWorkspace) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    for name, target in {
        "folder": str(outside),
        "relative": "../outside",
        "file": str(outside / "secret"),
        "new": str(outside / "new"),
        "proc": "/proc/self/root",
        "two": "folder",
    }.items():
        (root / name).symlink_to(target)
    before = tree(tmp_path)
    for path in ("folder/secret", "relative/secret", "file", "new", "proc/etc/passwd", "two/secret"):
        for act in (
            lambda path=path: workspace.read(path),
            lambda path=path: workspace.entry(path),
            lambda path=path: workspace.entries(path),
            lambda path=path: workspace.write(path, b"x"),
            lambda path=path: workspace.apply([op.MoveFile("file", f"{path}/x")]),
        ):
            assert failure(act).kind == "denied"
    assert tree(tmp_path) == before


def test_a_link_is_written_through_but_deleted_and_moved_itself(root: Path, workspace: DiskWorkspace) -> None:
    (root / "target").write_text("old")
    (root / "f").symlink_to("target")
    assert workspace.apply([edit]).changes[0].path == "target"
    assert (root / "target").read_text() == "new"
    workspace.apply([op.MoveFile("f", "g")])
    assert os.readlink(root / "g") == "target"
    assert workspace.apply([op.DeleteFile("g")]).changes == (Change("g", "deleted"),)
    assert files(workspace) == {"target": b"new"}


def test_links_out_of_the_root_can_be_deleted(tmp_path: Path, root: Path, workspace: DiskWorkspace) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    workspace.apply([op.DeleteFile("link")])
    assert tree(tmp_path).keys() == {"root", "secret"}


def test_a_link_to_nothing_leads_to_a_new_file(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").symlink_to("folder/target")
    assert workspace.entry("f") is None
    workspace.write("f", b"made")
    assert (root / "folder/target").read_bytes() == b"made"


def test_a_deleted_link_leads_nowhere_in_the_same_transaction(root: Path, workspace: DiskWorkspace) -> None:
    (root / "target").write_text("old")
    (root / "f").symlink_to("target")
    workspace.apply([op.DeleteFile("f"), op.WriteFile("f", "own")])
    assert files(workspace) == {"f": b"own", "target": b"old"}
    assert not (root / "f").is_symlink()


def test_links_in_circles_fail(root: Path, workspace: DiskWorkspace) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self/self")
    (root / "here").symlink_to(".")
    for path in ("a", "b/c", "self"):
        assert failure(lambda path=path: workspace.read(path)).details["reason"] == "links"
    assert workspace.resolve("here/here/here/f") == "f"


def test_names_that_are_no_text_are_passed_over(root: Path, workspace: DiskWorkspace) -> None:
    (root / os.fsdecode(b"caf\xe9")).mkdir()
    (root / os.fsdecode(b"caf\xe9") / "f").touch()
    (root / "shut").mkdir(mode=0)
    (root / "file").touch()
    assert [path for path in workspace.paths() if not path.startswith("shut")] == ["file"]
    assert workspace.suggest("fil") == ("file",)
    assert failure(lambda: workspace.read("caf\ufffd/f")).details["reason"] == "not_found"


def test_a_listing_tells_links_and_other_things_apart(root: Path, workspace: DiskWorkspace) -> None:
    (root / "folder").mkdir()
    (root / "file").write_bytes(b"12345")
    (root / "link").symlink_to("/nowhere")
    os.mkfifo(root / "pipe")
    (root / ".dragoman-0123456789abcdef.tmp").touch()
    (root / os.fsdecode(b"caf\xe9")).touch()
    listed = workspace.entries()
    assert [(entry.path, entry.kind, entry.size) for entry in listed] == [
        ("caf\ufffd", "file", 0),
        ("file", "file", 5),
        ("folder", "directory", None),
        ("link", "link", None),
        ("pipe", "other", None),
    ]
    assert isinstance(msgspec.json.encode(listed), bytes)
    assert workspace.entry("folder") == Entry("folder", "directory")


# ── what is no file ──────────────────────────────────────────────────────────


def test_pipes_and_sockets_are_not_opened(root: Path, workspace: DiskWorkspace) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        for path in ("pipe", "socket"):
            for act in (
                lambda path=path: workspace.read(path),
                lambda path=path: workspace.write(path, b""),
                lambda path=path: workspace.apply([op.EditFile(path, (op.Edit("a", "b"),))]),
                lambda path=path: workspace.apply([op.DeleteFile(path)]),
            ):
                error = failure(act)
                assert (error.kind, error.details["reason"]) == ("failed", "not_a_file")


# ── modes ────────────────────────────────────────────────────────────────────


def test_a_new_file_gets_the_mode_the_system_gives(root: Path, workspace: DiskWorkspace) -> None:
    old = os.umask(0o027)
    try:
        workspace.write("f", b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("several", [False, True])
def test_mode_owner_and_attributes_are_kept(root: Path, workspace: DiskWorkspace, several: bool) -> None:
    (root / "f").write_text("old")
    if os.geteuid() == 0:
        # Only root can give files away; for others the owner is the same before and after anyhow.
        os.chown(root / "f", 1234, 5678)
    (root / "f").chmod(0o751)
    with suppress(OSError):
        # Not every file system has them; where it has, they are kept.
        os.setxattr(root / "f", "user.note", b"kept")
    before = facts(root / "f")
    workspace.apply([edit, op.WriteFile("g", "")] if several else [edit])
    assert (facts(root / "f"), (root / "f").read_text()) == (before, "new")


@pytest.mark.parametrize("several", [False, True])
def test_new_content_does_not_run_as_somebody_else(root: Path, workspace: DiskWorkspace, several: bool) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(0o6751)
    workspace.apply([edit, op.WriteFile("g", "")] if several else [edit])
    assert (stat.S_IMODE((root / "f").stat().st_mode), (root / "f").read_text()) == (0o751, "new")


def facts(path: Path) -> list[object]:
    status = path.stat()
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, attributes]


def test_an_edited_file_that_moves_keeps_its_mode(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(0o755)
    workspace.apply([edit, op.MoveFile("f", "g")])
    assert (stat.S_IMODE((root / "g").stat().st_mode), files(workspace)) == (0o755, {"g": b"new"})


@pytest.mark.parametrize(
    "operation", [edit, op.WriteFile("f", "x"), op.DeleteFile("f"), op.MoveFile("f", "g")], ids=str
)
def test_a_read_only_file_is_left_alone(root: Path, workspace: DiskWorkspace, operation: op.Operation) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(0o444)
    error = failure(lambda: workspace.apply([operation]))
    assert (error.kind, error.message) == ("denied", '"f" is read-only (mode 0444) and is left as it is')
    assert tree(root).keys() == {"f"}


def test_other_names_of_a_file_keep_the_old_content(tmp_path: Path, root: Path, workspace: DiskWorkspace) -> None:
    (tmp_path / "outside").write_text("old")
    os.link(tmp_path / "outside", root / "f")
    workspace.apply([edit])
    assert ((tmp_path / "outside").read_text(), (root / "f").read_text()) == ("old", "new")


# ── somebody else ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "operation",
    [
        edit,
        op.WriteFile("f", "mine"),
        op.DeleteFile("f"),
        op.MoveFile("f", "g"),
        op.InsertText("f", 0, "x"),
        op.WriteFile("f", "theirs old"),
    ],
    ids=str,
)
def test_a_file_changed_since_it_was_read_is_stale(
    root: Path, workspace: DiskWorkspace, operation: op.Operation
) -> None:
    (root / "f").write_text("old")
    workspace.read("f")
    (root / "f").write_text("theirs old")
    error = failure(lambda: workspace.apply([operation]))
    assert (error.kind, error.details) == ("failed", {"reason": "stale", "path": "f"})
    assert "Read it again" in error.message
    assert (root / "f").read_text() == "theirs old"
    workspace.read("f")
    workspace.apply([operation])


def test_a_file_written_again_with_the_same_content_is_not_stale(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    workspace.read("f")
    (root / "g").write_text("old")
    (root / "g").replace(root / "f")
    workspace.apply([edit])
    assert (root / "f").read_text() == "new"


def test_a_file_that_was_read_and_then_deleted_is_stale_once(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    workspace.read("f")
    (root / "f").unlink()
    error = failure(lambda: workspace.apply([op.WriteFile("f", "mine")]))
    assert (error.kind, error.details) == ("failed", {"reason": "stale", "path": "f"})
    assert "deleted by something else" in error.message
    assert tree(root) == {}
    workspace.apply([op.WriteFile("f", "mine")])
    assert files(workspace) == {"f": b"mine"}


def test_a_change_of_our_own_is_known(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    workspace.read("f")
    workspace.apply([edit])
    workspace.apply([op.EditFile("f", (op.Edit("new", "newer"),))])
    workspace.apply([op.MoveFile("f", "g")])
    (root / "f").write_text("another file")
    workspace.apply([op.WriteFile("f", "x")])
    assert files(workspace) == {"f": b"x", "g": b"newer"}


def test_what_was_never_read_is_not_stale(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    workspace.open("f").close()
    workspace.read("f", limit=1)
    (root / "f").write_text("their old")
    workspace.apply([edit])
    assert (root / "f").read_text() == "their new"


def test_a_moved_file_is_still_known(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    workspace.read("f")
    workspace.apply([op.MoveFile("f", "g")])
    (root / "g").write_text("theirs")
    assert failure(lambda: workspace.apply([op.WriteFile("g", "mine")])).details["reason"] == "stale"


# ── transactions ─────────────────────────────────────────────────────────────


def test_moving_does_not_read_the_file(root: Path, workspace: DiskWorkspace) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(10 * 2**30)
    workspace.apply([op.MoveFile("huge", "folder/huge"), op.WriteFile("note", "moved")])
    assert (root / "folder/huge").stat().st_size == 10 * 2**30


def test_a_journal_that_came_with_the_files_is_left_alone(root: Path) -> None:
    (root / "victim").write_text("mine")
    planted = {
        "root": [1, 2],
        "inode": 3,
        "drops": [{"path": "victim", "old": ".dragoman-0123456789abcdef-0.old"}],
        "swaps": [{"path": "victim", "digest": "", "new": "victim"}],
    }
    (root / ".dragoman-0123456789abcdef.journal").write_bytes(msgspec.json.encode(planted))
    (root / ".dragoman-1123456789abcdef.done").write_text("{")
    (root / ".dragoman-2123456789abcdef.journal").symlink_to("/etc/passwd")
    (root / ".dragoman-3123456789abcdef.journal").mkdir()
    before = tree(root)
    DiskWorkspace(root)
    assert tree(root) == before


OWN = ".dragoman-0123456789abcdef"
DIGEST = blake2b(b"secret", digest_size=16).hexdigest()
FORGED: dict[str, dict[str, Any]] = {
    f"{kind} {field} {value}": {kind: [{**step, field: value}]}
    for kind, step in {
        "drops": {"path": "gone", "old": f"{OWN}-0.old"},
        "displaced": {"path": "gone", "old": f"{OWN}-0.old"},
        "swaps": {"path": "f", "digest": DIGEST, "new": f"{OWN}-0.new", "old": f"{OWN}-0.old"},
        "shifts": {"origin": "gone", "path": "f", "inode": 0},
    }.items()
    for field in step
    if field not in ("digest", "inode")
    for value in (
        *("../victim/x", "folder/../../victim/x", "/victim/x", "./f", "folder//f", "", "..", "folder/.."),
        *(("f", ".dragoman-1123456789abcdef-0.old") if field in ("old", "new") else ()),
    )
}
FORGED |= {f"folders {path}": {"folders": [path]} for path in ("../victim/empty", "folder/../../victim/empty", "..")}
FORGED["swaps that make a file"] = {"swaps": [{"path": "../victim/x", "digest": DIGEST, "new": f"{OWN}-0.new"}]}


@pytest.mark.parametrize("end", ["journal", "done"])
@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_forged_journal_does_nothing(tmp_path: Path, root: Path, forged: dict[str, Any], end: str) -> None:
    for path in ("root/f", "root/folder/f", "victim/x", "victim/y", f"root/{OWN}-0.old", f"root/{OWN}-0.new"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("secret")
    (tmp_path / "victim/empty").mkdir()
    journal = root / f"{OWN}.{end}"
    journal.touch()
    place = [root.stat().st_dev, root.stat().st_ino]
    journal.write_bytes(msgspec.json.encode({"root": place, "inode": journal.stat().st_ino, **forged}))
    before = tree(tmp_path)
    DiskWorkspace(root)
    assert tree(tmp_path) == before


def test_what_a_deleted_link_led_to_is_not_written_through_it(root: Path, workspace: DiskWorkspace) -> None:
    (root / "folder").mkdir()
    (root / "link").symlink_to("folder")
    workspace.apply([op.DeleteFile("link"), op.WriteFile("link/b", "1"), op.WriteFile(f"{root}/link/c", "2")])
    assert files(workspace) == {"link/b": b"1", "link/c": b"2"}


def test_a_file_whose_name_becomes_a_folder_keeps_its_mode(root: Path, workspace: DiskWorkspace) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(0o755)
    workspace.apply([op.MoveFile("f", "g"), op.MoveFile("g", "f/g")])
    assert (stat.S_IMODE((root / "f/g").stat().st_mode), files(workspace)) == (0o755, {"f/g": b"old"})
    assert tree(root).keys() == {"f", "f/g"}
