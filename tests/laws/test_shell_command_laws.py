"""Operations written as command lines: each is read as the operation it was written for, and does it in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from dragoman.dialects.base.shell_commands import in_shell, left_out, outcome_from, printed_for
from dragoman.dialects.base.shell_intent import intents
from dragoman.model import operations as op, outcomes as out
from tests.strategies import TEXT, values

OPERATIONS = (
    *(op.ReadFile, op.ListDirectory, op.FindFiles, op.SearchText),
    *(op.WriteFile, op.DeleteFile, op.MoveFile, op.EditFile),
)
NAMES = (
    st.sampled_from(["a.py", "src/a b.py", "it's", "-x", "~/x", "/abs/é.txt", ".", "a\nb", "$HOME", "(x)", "!x"]) | TEXT
)
GLOBS = st.sampled_from(
    ["**/*.py", "*.md", "src/**/*.{ts,tsx}", "/abs/*", "**", "a*/b", "**/x/*", "{a,b}/c", "src/a.py"]
)
COUNTS = st.none() | st.integers(-1, 3)
ASKED = st.one_of(
    st.builds(op.ReadFile, NAMES, COUNTS, COUNTS),
    st.builds(op.ListDirectory, NAMES, depth=COUNTS, limit=COUNTS),
    st.builds(op.FindFiles, GLOBS | NAMES, NAMES, st.none() | st.booleans(), limit=COUNTS),
    st.builds(
        op.SearchText,
        NAMES,
        NAMES,
        st.none() | GLOBS,
        st.none() | GLOBS,
        mode=st.sampled_from(["content", "files", "count"]),
        case_sensitive=st.none() | st.booleans(),
        literal=st.booleans(),
        multiline=st.booleans(),
        before=st.none() | st.integers(0, 3),
        respect_ignore=st.none() | st.booleans(),
    ),
    st.builds(op.WriteFile, NAMES, NAMES | st.sampled_from(["", "a\r\n", "%s\\n\r\\", "-\r", "'$x`"])),
    st.builds(op.DeleteFile, NAMES),
    st.builds(op.MoveFile, NAMES, NAMES),
    st.builds(
        op.EditFile,
        NAMES,
        st.lists(st.builds(op.Edit, NAMES, NAMES, st.booleans(), COUNTS), max_size=2).map(tuple),
    ),
    *(values(kind) for kind in OPERATIONS),
)


@given(ASKED)
@example(op.EditFile("a", (op.Edit("'\n\"\\", "{EOF}\nEOF\n$x`y`"),)))
@example(op.ListDirectory("(x)", depth=2))
@example(op.SearchText("0", limit_per_file=-1))
def test_a_command_is_read_as_the_operation_it_was_written_for(operation: op.Operation) -> None:
    said = in_shell(operation)
    if said is not None:
        assert intents(said.command) == (said.meant,)


@given(ASKED)
@example(op.EditFile("a", (op.Edit("x", "y", expected=-1),)))
def test_a_command_that_was_read_is_written_the_same_again(operation: op.Operation) -> None:
    said = in_shell(operation)
    if said is not None:
        assert in_shell(said.meant) == said
        assert left_out(said.meant, said) == ()


PATHS = st.sampled_from(["a.py", "src/b-c.py", "d e/f", "g"])
LINES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\x85"), max_size=8)


def matches(asked: op.SearchText) -> st.SearchStrategy[out.MatchesOutcome]:
    if asked.mode == "files":
        found = st.builds(out.Match, PATHS)
    elif asked.mode == "count":
        found = st.builds(lambda path, count: out.Match(path, count=count), PATHS, st.integers(1, 9))
    else:
        found = st.builds(out.Match, PATHS, st.integers(1, 99), LINES)
    return st.lists(found, max_size=3).map(lambda one: out.MatchesOutcome(tuple(one), asked.mode))


RESULTS: dict[op.Operation, st.SearchStrategy[out.Outcome]] = {
    op.ReadFile("a"): st.builds(out.FileOutcome, st.just("a"), TEXT),
    op.ReadFile("a", 3, 9): st.builds(out.FileOutcome, st.just("a"), TEXT, st.just(3)),
    op.ListDirectory("src"): st.lists(
        st.builds(out.Entry, st.sampled_from(["a", "b c", ".d"]), st.sampled_from(["file", "directory"])), max_size=3
    ).map(lambda entries: out.DirectoryOutcome("src", tuple(entries))),
    op.ListDirectory("src", depth=2): st.lists(
        st.builds(out.Entry, st.sampled_from(["a", "b/c", ".d"]), st.sampled_from(["file", "directory"])), max_size=3
    ).map(lambda entries: out.DirectoryOutcome("src", tuple(entries))),
    op.FindFiles("**/*.py"): st.lists(PATHS, max_size=3).map(lambda paths: out.PathsOutcome(tuple(paths))),
    op.SearchText("x"): matches(op.SearchText("x")),
    op.SearchText("x", mode="files"): matches(op.SearchText("x", mode="files")),
    op.SearchText("x", mode="count"): matches(op.SearchText("x", mode="count")),
    op.WriteFile("a", "x"): st.just(out.DoneOutcome()),
    op.DeleteFile("a"): st.just(out.ChangesOutcome((out.Change("a", "deleted"),))),
    op.MoveFile("a", "b"): st.just(out.ChangesOutcome((out.Change("a", "moved", "b"),))),
    op.EditFile("a", (op.Edit("x", "y"),)): st.just(out.ChangesOutcome((out.Change("a", "modified"),))),
}
OTHERWISE = st.sampled_from(
    [
        out.Failure("failed", "a: No such file"),
        out.Failure("denied", "The user said no."),
        out.UnknownOutcome("the log ends here"),
        out.CommandOutcome(running=True, output="so far"),
    ]
)


@pytest.mark.parametrize("operation", RESULTS, ids=repr)
@given(st.data())
def test_an_outcome_written_as_what_the_command_prints_is_read_as_the_same(
    operation: op.Operation, data: st.DataObject
) -> None:
    outcome = data.draw(RESULTS[operation] | OTHERWISE)
    assert outcome_from(operation, printed_for(operation, outcome)) == outcome


def test_matches_with_lines_around_them_are_read_as_the_same() -> None:
    found = out.MatchesOutcome(
        (out.Match("a.py", 3, "x = 1", ("one", "two"), ("four",)), out.Match("b-1.py", 9, "x:2-3", (), ("ten",)))
    )
    operation = op.SearchText("x", before=2, after=1)
    assert outcome_from(operation, printed_for(operation, found)) == found


DONE = out.CommandOutcome(exit_code=0, output="1\n2\n", truncated=5)


@pytest.mark.parametrize(
    "outcome", [DONE, out.CommandOutcome(running=True), out.CommandOutcome(signal=9, output="1\n")]
)
def test_a_command_that_did_not_end_or_was_cut_says_nothing_of_the_operation(outcome: out.CommandOutcome) -> None:
    assert outcome_from(op.ReadFile("a"), outcome) is outcome


def test_every_field_a_command_leaves_out_is_listed() -> None:
    asked = op.SearchText("x", limit=3, offset=1, respect_ignore=True)
    said = in_shell(asked)
    assert said is not None
    assert left_out(asked, said) == ("limit", "offset", "respect_ignore")


# ── in a real shell ──────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src" / "in ner").mkdir(parents=True)
    (tmp_path / "src" / "a b.py").write_bytes(b"one\r\ntwo\nit's $HOME\n")
    (tmp_path / "src" / "in ner" / "c.PY").write_text("two\n")
    (tmp_path / "-x").write_text("two\n")
    return tmp_path


def run(operation: op.Operation, folder: Path) -> out.Outcome:
    said = in_shell(operation)
    assert said is not None
    programs = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", said.command], cwd=folder, env=programs, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode()
    return outcome_from(said.meant, out.CommandOutcome(done.returncode, output=output))


REAL: list[tuple[op.Operation, out.Outcome]] = [
    (op.ReadFile("src/a b.py"), out.FileOutcome("src/a b.py", "one\r\ntwo\nit's $HOME\n")),
    (op.ReadFile("src/a b.py", 2, 2), out.FileOutcome("src/a b.py", "two\n", 2)),
    (op.ReadFile("src/a b.py", 2), out.FileOutcome("src/a b.py", "two\nit's $HOME\n", 2)),
    (op.ReadFile("-x"), out.FileOutcome("-x", "two\n")),
    (
        op.ListDirectory("src"),
        out.DirectoryOutcome("src", (out.Entry("a b.py"), out.Entry("in ner", "directory"))),
    ),
    (
        op.ListDirectory("src", depth=2),
        out.DirectoryOutcome("src", (out.Entry("a b.py"), out.Entry("in ner", "directory"), out.Entry("in ner/c.PY"))),
    ),
    (op.FindFiles("*"), out.PathsOutcome(("-x",))),
    (op.FindFiles("src/**/*.{py,md}"), out.PathsOutcome(("src/a b.py",))),
    (op.FindFiles("**/C.py", "src", case_sensitive=False), out.PathsOutcome(("src/in ner/c.PY",))),
    (op.DeleteFile("-x"), out.ChangesOutcome((out.Change("-x", "deleted"),))),
    (op.MoveFile("src/a b.py", "d"), out.ChangesOutcome((out.Change("src/a b.py", "moved", "d"),))),
    (op.SearchText("two", "src/in ner"), out.MatchesOutcome((out.Match("src/in ner/c.PY", 1, "two"),))),
    (
        op.SearchText("$HOME", "src/a b.py", literal=True),
        out.MatchesOutcome((out.Match("src/a b.py", 3, "it's $HOME"),)),
    ),
    (op.SearchText("nowhere"), out.MatchesOutcome(())),
    (
        op.SearchText("two", "src/in ner", mode="count"),
        out.MatchesOutcome((out.Match("src/in ner/c.PY", count=1),), "count"),
    ),
]


@pytest.mark.parametrize("operation, outcome", REAL, ids=lambda one: type(one).__name__)
def test_a_command_does_in_a_shell_what_it_was_written_for(
    folder: Path, operation: op.Operation, outcome: out.Outcome
) -> None:
    assert run(operation, folder) == outcome


def test_a_replacement_changes_the_text_and_nothing_else(folder: Path) -> None:
    edits = (op.Edit("it's $HOME", "EOF\n'''\\n{new}é"), op.Edit("o", "0", everywhere=True))
    assert run(op.EditFile("src/a b.py", edits), folder) == out.ChangesOutcome((out.Change("src/a b.py", "modified"),))
    assert (folder / "src" / "a b.py").read_bytes() == "0ne\r\ntw0\nEOF\n'''\\n{new}é\n".encode()


def test_a_replacement_in_a_file_that_is_not_there_says_so(folder: Path) -> None:
    failure = run(op.EditFile("none.py", (op.Edit("one", "1"),)), folder)
    assert failure == out.Failure("failed", "[Errno 2] No such file or directory: 'none.py'")


@pytest.mark.parametrize("text", ["", "x", "it's $HOME\n", "a\r\nb%s\\n\\", "é✓\n\n"])
@pytest.mark.parametrize("path", ["new.txt", "src/a b.py", "one/two/new.txt"])
def test_a_text_is_written_as_it_is(folder: Path, path: str, text: str) -> None:
    assert run(op.WriteFile(path, text), folder) == out.DoneOutcome()
    assert (folder / path).read_bytes() == text.encode()


@pytest.mark.parametrize(
    "edit", [op.Edit("three", "x"), op.Edit("t", "x"), op.Edit("t", "x", everywhere=True, expected=3)]
)
def test_a_replacement_that_does_not_fit_changes_nothing(folder: Path, edit: op.Edit) -> None:
    before = (folder / "src" / "a b.py").read_bytes()
    failure = run(op.EditFile("src/a b.py", (op.Edit("one", "1"), edit)), folder)
    assert isinstance(failure, out.Failure)
    found = 0 if edit.old == "three" else 2
    assert failure.message == f"the text to replace was found {found} times: {edit.old!r}"
    assert (folder / "src" / "a b.py").read_bytes() == before
