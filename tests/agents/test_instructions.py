"""Instruction files of a project: which are read, in which order, and what they may import."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman import config
from dragoman.agents import Instructions, NestedInstructions, find_instructions
from dragoman.agents.instructions import LARGEST_FILE
from dragoman.model import Call, NativeCall, operations as op, user
from dragoman.tools import DiskWorkspace


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("HOME", "DRAGOMAN_CONFIG_DIR", "DRAGOMAN_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    (tmp_path / "work" / ".git").mkdir(parents=True)
    return tmp_path / "work"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(folder: Path, **flags: object) -> Instructions:
    given = {f"instructions.{name}": value for name, value in flags.items()}
    return find_instructions(config.load(project_at=folder, flags=given), folder)


def read(instructions: Instructions, root: Path) -> list[tuple[str, str]]:
    return [(os.path.relpath(one.path, root), one.text) for one in instructions.files]


def test_files_from_the_root_down_to_the_folder_are_read_the_nearest_last(work: Path) -> None:
    write(work.parent / "AGENTS.md", "not of this repository")
    write(work / "AGENTS.md", "root")
    write(work / "a" / "CLAUDE.md", "a")
    write(work / "a" / "b" / "GEMINI.md", "b")
    write(work.parent / "dragoman_config_dir" / "AGENTS.md", "mine")
    instructions = found(work / "a" / "b")
    assert read(instructions, work) == [
        ("../dragoman_config_dir/AGENTS.md", "mine"),
        ("AGENTS.md", "root"),
        ("a/CLAUDE.md", "a"),
        ("a/b/GEMINI.md", "b"),
    ]
    assert instructions.of_project
    positions = [instructions.text.index(text) for text in ("\n\nmine", "\n\nroot", "\n\na", "\n\nb")]
    assert positions == sorted(positions)


def test_of_several_files_in_a_folder_the_first_name_of_the_setting_counts(work: Path) -> None:
    for name in ("GEMINI.md", "CLAUDE.md", "AGENTS.md", "NOTES.md"):
        write(work / name, name)
    assert read(found(work), work) == [("AGENTS.md", "AGENTS.md")]
    assert read(found(work, files=["NOTES.md", "AGENTS.md"]), work) == [("NOTES.md", "NOTES.md")]
    assert found(work, files=[]) == Instructions()
    assert found(work, files=["../secret"]).problems == (
        "instructions.files: '../secret' is not the name of a file; paths are not allowed",
    )


def test_without_a_repository_only_the_folder_itself_is_read(work: Path) -> None:
    (work / ".git").rmdir()
    write(work / "AGENTS.md", "above")
    write(work / "a" / "AGENTS.md", "here")
    assert read(found(work / "a"), work) == [("a/AGENTS.md", "here")]


NESTED = ("docs/AGENTS.md", "lib/CLAUDE.md", "src/api/AGENTS.md")


def test_files_in_folders_below_are_named_for_when_they_are_needed(work: Path) -> None:
    write(work / "src" / "api" / "AGENTS.md", "nested")
    write(work / "node_modules" / "x" / "AGENTS.md", "skipped")
    write(work / "lib" / "CLAUDE.md", "the second name")
    (work / "lib" / "AGENTS.md").symlink_to("/etc/hostname")
    (work / "docs").mkdir()
    (work / "docs" / "AGENTS.md").symlink_to(work / "lib" / "CLAUDE.md")
    instructions = found(work)
    assert (instructions.files, instructions.nested) == ((), NESTED)
    assert "- src/api/AGENTS.md" in instructions.text
    assert "nested" not in instructions.text


def nested(work: Path, told: list[tuple[list[str], list[str]]], **options: Any) -> NestedInstructions:
    def tell(files: Sequence[Path], problems: Sequence[str]) -> None:
        told.append(([os.path.relpath(path, work) for path in files], list(problems)))

    return NestedInstructions(config.load(project_at=work), DiskWorkspace(work), work, tell, **options)


def reads(path: str) -> Call:
    return Call("c", (op.ReadFile(path),), NativeCall("c", "Read"))


def test_the_instructions_of_a_folder_below_come_with_the_first_file_of_it_that_is_used(work: Path) -> None:
    for folder in ("", "src", "src/api", "src/api/.cache", "src/api/vendor/x"):
        write(work / folder / "AGENTS.md", f"in {folder}")
    told: list[tuple[list[str], list[str]]] = []
    remind = nested(work, told)
    asked = user("Hello.")
    assert remind([reads("README.md"), reads("../other/a.py")], (asked,)) is None
    both = remind([reads("src/api/a.py"), reads(str(work / "src" / "b.py"))], (asked,))
    assert both is not None
    assert both.index("\n\nin src") < both.index("\n\nin src/api")
    assert told == [(["src/AGENTS.md", "src/api/AGENTS.md"], [])]
    # What the conversation holds is not given again; what a summary removed is.
    assert remind([reads("src/api/a.py")], (asked, user(both))) is None
    assert remind([reads("src/api/.cache/a.py"), reads("src/api/vendor/x/y.py")], (asked, user(both))) is None
    assert remind([reads("src/api/a.py")], (asked,)) == both


@pytest.mark.parametrize(
    "operation",
    [
        op.WriteFile("src/a.py", ""),
        op.MoveFile("a.py", "src/a.py"),
        op.ListDirectory("src"),
        op.SearchText("x", path="src"),
        op.EditFile("src/new/deep/a.py", ()),
    ],
)
def test_each_way_to_use_a_folder_counts(work: Path, operation: op.Operation) -> None:
    write(work / "src" / "AGENTS.md", "nested")
    call = Call("c", (operation,), NativeCall("c", "x"))
    assert "nested" in (nested(work, [])([call], ()) or "")


def test_what_is_too_long_or_forbidden_is_reported_once(work: Path) -> None:
    write(work / "src" / "AGENTS.md", "x" * 100)
    write(work / "dragoman.toml", "[[policy.rules]]\nverdict = 'deny'\nkind = 'read'\npath = 'docs/*'\n")
    write(work / "docs" / "AGENTS.md", "y")
    told: list[tuple[list[str], list[str]]] = []
    remind = nested(work, told, longest=50)
    for _ in range(2):
        assert remind([reads("src/a"), reads("docs/a")], ()) is None
    ((given, problems),) = told
    assert given == []
    assert "docs/AGENTS.md is left out of the instructions: rule 1" in problems[0]
    assert "src/AGENTS.md: left out, since they are longer than 50 characters" in problems[1]


def test_imports_are_followed_in_text_and_not_in_code(work: Path) -> None:
    code = "`@docs/no.md`\n```\n@docs/no.md\n```\n~~~\n@docs/no.md\n~~~\n"
    write(work / "AGENTS.md", f"See @docs/style.md, mail me@x.example or @nobody.\n{code}")
    write(work / "docs" / "style.md", "@more.md")
    write(work / "docs" / "more.md", "more, and @style.md again")
    write(work / "docs" / "no.md", "no")
    instructions = found(work)
    assert [name for name, _ in read(instructions, work)] == ["AGENTS.md", "docs/style.md", "docs/more.md"]
    assert "docs/more.md (imported by style.md)" in instructions.text
    assert instructions.problems == ()


def test_imports_are_followed_five_deep(work: Path) -> None:
    write(work / "AGENTS.md", "@1.md")
    for number in range(1, 8):
        write(work / f"{number}.md", f"@{number + 1}.md")
    instructions = found(work)
    assert [name for name, _ in read(instructions, work)] == ["AGENTS.md", *(f"{number}.md" for number in range(1, 6))]
    assert instructions.problems == (
        f"{work / '6.md'} (imported by {work / '5.md'}) is left out of the instructions: imports are followed 5 deep",
    )


@pytest.mark.parametrize("way", ["@../outside.md", "@{outside}", "@~/outside.md", "@link.md", "@folder/outside.md"])
def test_an_import_does_not_leave_the_project_unless_the_user_allows_the_folder(work: Path, way: str) -> None:
    outside = work.parent
    (outside / "home").symlink_to(outside)  # so that ~ leads to the same file
    write(outside / "outside.md", "secret")
    (work / "link.md").symlink_to(outside / "outside.md")
    (work / "folder").symlink_to(outside)
    write(work / "AGENTS.md", way.format(outside=outside / "outside.md"))
    instructions = found(work)
    assert [name for name, _ in read(instructions, work)] == ["AGENTS.md"]
    assert [problem.rpartition(": ")[2] for problem in instructions.problems] == [
        "outside the project; the setting instructions.imports can allow its folder"
    ]
    assert [text for _, text in read(found(work, imports=[str(outside)]), work)][1:] == ["secret"]


def test_the_users_own_file_imports_from_anywhere(work: Path) -> None:
    own = write(work.parent / "dragoman_config_dir" / "AGENTS.md", f"@{work.parent / 'mine.md'}")
    write(work.parent / "mine.md", "mine")
    instructions = found(work)
    assert [one.path for one in instructions.files] == [own, work.parent / "mine.md"]
    assert not instructions.of_project


def test_a_file_that_cannot_be_taken_is_told_and_the_next_name_counts(work: Path) -> None:
    write(work.parent / "outside.md", "secret")
    (work / "AGENTS.md").symlink_to(work.parent / "outside.md")
    os.mkfifo(work / "CLAUDE.md")
    write(work / "GEMINI.md", "this")
    instructions = found(work)
    assert read(instructions, work) == [("GEMINI.md", "this")]
    assert [problem.rpartition(": ")[2].partition(";")[0] for problem in instructions.problems] == [
        "outside the project",
        "not a regular file",
    ]
    write(work / "GEMINI.md", "x" * (LARGEST_FILE + 1))
    assert found(work).files == ()
    assert "larger than 64 KiB" in found(work).problems[-1]
    for number in range(3):
        write(work / f"{number}.md", "x" * (LARGEST_FILE - 10))
    write(work / "GEMINI.md", "@0.md @1.md @2.md")
    assert [name for name, _ in read(found(work), work)] == ["GEMINI.md", "0.md", "1.md"]
    assert "longer than 128 KiB" in found(work).problems[-1]


def test_an_untrusted_project_chooses_neither_the_files_nor_what_they_import(work: Path) -> None:
    write(work / "dragoman.toml", "[instructions]\nfiles = ['SECRET']\nimports = ['/']\n")
    write(work / "SECRET", "secret")
    write(work / "AGENTS.md", "@../outside.md")
    write(work.parent / "outside.md", "secret")
    assert read(found(work), work) == [("AGENTS.md", "@../outside.md")]
