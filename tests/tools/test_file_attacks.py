"""Attempts to get out of a workspace, to hang it, or to exhaust it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman.model import operations as op
from dragoman.model.outcomes import Outcome
from dragoman.tools import files, notebook
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.examples import examples
from tests.tools.workspaces import failure, on_disk, run, told, tree

SECRET = "the secret outside"


@contextmanager
def surrounded(folder: Path, *, handles: bool = True) -> Iterator[tuple[DiskWorkspace, Path]]:
    """A workspace in the middle of files that must not change; they are compared when it ends."""
    root = folder / "middle/root"
    root.mkdir(parents=True)
    for path in ("secret", "middle/secret", "middle/beside/secret", "middle/root2/secret", "middle/folder/f"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(SECRET)

    def outside() -> dict[str, object]:
        return {path: facts for path, facts in tree(folder).items() if not path.startswith("middle/root/")}

    before = {path: facts for path, facts in outside().items() if path != "middle/root"}
    yield DiskWorkspace(root, handles=handles, durable=False), root
    assert {path: facts for path, facts in outside().items() if path != "middle/root"} == before


def every_operation(path: str) -> list[Callable[[DiskWorkspace], object]]:
    """Everything that can be done to a path."""
    calls: list[tuple[object, op.Operation]] = [
        (files.read_file, op.ReadFile(path)),
        (files.read_files, op.ReadFiles((path,))),
        (files.view_image, op.ViewImage(path)),
        (files.write_file, op.WriteFile(path, "attack")),
        (files.write_file, op.WriteFile(path, "attack", overwrite=False)),
        (files.edit_file, op.EditFile(path, (op.Edit("secret", "attack"),))),
        (files.insert_text, op.InsertText(path, 0, "attack")),
        (files.delete_file, op.DeleteFile(path)),
        (files.move_file, op.MoveFile(path, "stolen")),
        (files.move_file, op.MoveFile("bait", path)),
        (notebook.read_notebook, op.ReadNotebook(path)),
        (notebook.edit_notebook, op.EditNotebook(path, "x", mode="insert")),
    ]
    return [
        lambda workspace, tool=tool, operation=operation: run(tool, operation, workspace) for tool, operation in calls
    ]


UP = [
    "..",
    "%2e%2e",
    "%2e.",
    "..%2f",
    "..\\",
    "\\..\\",
    "．．",
    "‥",
    "․․",
    "..;",
    "..\u200b",
    "..\ufeff",
    "...",
    ". .",
    ".. ",
    "...",
]
PATHS = [
    *(f"{up}/secret" for up in UP),
    *(f"folder/{up}/{up}/secret" for up in UP),
    *(f"{up * 2}/{up}/secret" for up in UP),
    "/secret",
    "//secret",
    "/../secret",
    "./../secret",
    "folder//..//..//secret",
    "folder/./.././../secret",
    "..\0/secret",
    "../secret\0.txt",
    "C:\\secret",
    "C:/secret",
    "\\\\server\\share\\secret",
    "file:///etc/passwd",
    "~/.ssh/id_rsa",
    "~root/secret",
    "$HOME/secret",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../secret",
    "/dev/zero",
    "/dev/stdin",
    "../root2/secret",
    "../root/../secret",
    "x/" * 3000 + "secret",
    "x" * 5000,
    "../" * 1500 + "etc/passwd",
    "secret\n../secret",
    "\ud800/../../secret",
    "",
    " ",
    ".",
    "..",
    "/",
    "...",
    "secret.",
    "secret ",
    "-rf",
    "*",
]


@pytest.mark.parametrize("handles", [True, False])
@pytest.mark.slow
def test_no_spelling_of_a_path_leads_out(tmp_path: Path, handles: bool) -> None:
    with surrounded(tmp_path, handles=handles) as (workspace, _):
        workspace.write("bait", b"bait")
        workspace.write("folder/f", b"f")
        for path in [*PATHS, str(tmp_path / "secret"), f"{workspace.root}2/secret", f"{workspace.root}/../secret"]:
            for act in every_operation(path):
                outcome = told(lambda act=act: act(workspace))
                assert SECRET not in str(outcome), path
                assert isinstance(outcome, Outcome | tuple)


@pytest.mark.parametrize("handles", [True, False])
def test_no_link_leads_out(tmp_path: Path, handles: bool) -> None:
    with surrounded(tmp_path, handles=handles) as (workspace, root):
        targets = [
            "../secret",
            "../../secret",
            str(tmp_path / "secret"),
            "..",
            "/",
            "/etc",
            "/proc/self/root",
            "/dev/zero",
        ]
        for number, target in enumerate(targets):
            (root / f"link{number}").symlink_to(target)
        (root / "folder").mkdir()
        (root / "folder/up").symlink_to("../../..")
        (root / "chain").symlink_to("folder/up")
        paths = [
            f"link{number}{below}"
            for number in range(len(targets))
            for below in ("", "/secret", "/middle/secret", "/zero")
        ]
        for path in [*paths, "folder/up/secret", "chain/secret", "chain/middle/root/../secret"]:
            for act in every_operation(path):
                outcome = told(lambda act=act: act(workspace))
                # A link itself may be deleted or moved; then it is put back.
                assert SECRET not in str(outcome), path
                for number, target in enumerate(targets):
                    (root / f"link{number}").unlink(missing_ok=True)
                    (root / f"link{number}").symlink_to(target)


NAMES = st.sampled_from(["f", "folder", "..", ".", "", "link", "away", "secret", "loop", "pipe"]) | st.text(max_size=4)
FUZZED = st.lists(NAMES, max_size=5).map("/".join)


@pytest.mark.parametrize("handles", [True, False])
@examples(60)
@given(paths=st.lists(st.tuples(FUZZED, st.integers(0, 11)), min_size=1, max_size=6))
def test_whatever_paths_are_tried_nothing_outside_is_touched(
    tmp_path_factory: pytest.TempPathFactory, handles: bool, paths: list[tuple[str, int]]
) -> None:
    with surrounded(tmp_path_factory.mktemp("around"), handles=handles) as (workspace, root):
        workspace.write("folder/f", b"f")
        (root / "link").symlink_to("folder")
        (root / "away").symlink_to("../..")
        (root / "loop").symlink_to("loop")
        os.mkfifo(root / "pipe")
        for path, number in paths:
            assert SECRET not in str(told(lambda path=path, number=number: every_operation(path)[number](workspace)))


# ── hanging and exhausting ───────────────────────────────────────────────────


def test_a_sparse_file_of_ten_gigabytes_is_never_loaded(tmp_path: Path) -> None:
    with surrounded(tmp_path) as (workspace, root):
        with (root / "huge").open("wb") as file:
            file.truncate(10 * 2**30)
        for act, reason in (
            (lambda: run(files.read_file, op.ReadFile("huge"), workspace), "binary"),
            (lambda: run(files.view_image, op.ViewImage("huge"), workspace), "not_a_picture"),
            (lambda: run(files.edit_file, op.EditFile("huge", (op.Edit("a", "b"),)), workspace), "too_large"),
            (lambda: run(files.insert_text, op.InsertText("huge", 0, "x"), workspace), "too_large"),
            (lambda: run(notebook.edit_notebook, op.EditNotebook("huge", "x"), workspace), "too_large"),
        ):
            assert failure(act).details["reason"] == reason
        assert workspace.read("huge", limit=3) == b"\0\0\0"
        run(files.move_file, op.MoveFile("huge", "moved"), workspace)
        run(files.write_file, op.WriteFile("moved", "small"), workspace)
        assert workspace.read("moved") == b"small"
        with (root / "huge").open("wb") as file:
            file.truncate(10 * 2**30)
        run(files.delete_file, op.DeleteFile("huge"), workspace)
        assert [entry.path for entry in workspace.entries()] == ["moved"]


def test_very_deep_folders_and_loops_of_links_end(tmp_path: Path) -> None:
    with surrounded(tmp_path) as (workspace, root):
        deep = "/".join(["d"] * 300)
        workspace.write(f"{deep}/f", b"deep")
        assert workspace.read(f"{deep}/f") == b"deep"
        (root / "d/again").symlink_to("..")
        assert len([path for path in workspace.paths() if path.endswith("/f")]) == 1
        assert workspace.read(f"{'d/again/' * 30}{deep}/f") == b"deep"
        assert failure(lambda: workspace.read(f"{'d/again/' * 60}{deep}/f")).details["reason"] == "links"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    with surrounded(tmp_path) as (workspace, root):
        workspace.write("bait", b"bait")
        (root / "link").symlink_to("/etc")
        before = len(os.listdir("/proc/self/fd"))
        for path in ("a/b/c", "link/x", "../x", "bait", "bait/x", "\0", "x" * 300):
            for act in every_operation(path):
                told(lambda act=act: act(workspace))
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "text, old",
    [
        ("a" * 1_000_000, "a" * 1000 + "b"),
        ("ab" * 500_000, "ba" * 5000 + "c"),
        ("word " * 200_000, "word " * 5000 + "end"),
        (("x = value + value\n" * 50_000), "x = value - values\n" * 2000),
        ((" " * 1000 + "\n") * 3000, "\t" * 1000 + "\n\n x"),
    ],
)
@pytest.mark.parametrize("whole_lines", [False, True])
def test_explaining_why_a_text_is_not_found_stays_cheap(text: str, old: str, whole_lines: bool) -> None:
    workspace = MemoryWorkspace({"f": text})
    edit = op.EditFile("f", (op.Edit(old, "new", whole_lines=whole_lines),))
    assert failure(lambda: workspace.apply([edit])).details["reason"] == "no_match"


def test_a_patch_of_a_thousand_files_is_one_transaction() -> None:
    with on_disk() as workspace:
        operations = [op.WriteFile(f"folder{number % 40}/{number}", str(number)) for number in range(1000)]
        assert len(workspace.apply(operations).changes) == 1000
        error = failure(
            lambda: workspace.apply([*(op.DeleteFile(each.path) for each in operations), op.DeleteFile("x")])
        )
        assert error.details["operation"] == 1000
        assert len(list(workspace.paths())) == 1000


def test_a_tool_without_its_library_says_which_extra_brings_it() -> None:
    script = """
import sys
sys.modules["PIL"] = None
from dragoman.model import operations as op
from dragoman.tools import files
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.tools.test_files import png
from tests.tools.workspaces import failure, run
workspace = MemoryWorkspace({"p": png(4, 4)})
print(failure(lambda: run(files.view_image, op.ViewImage("p", region=(0, 0, 1, 1)), workspace)).message)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert "needs the extra 'images'" in done.stdout, done.stderr
