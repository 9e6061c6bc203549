"""The file tools, over every kind of workspace: what they give, and what they say when they cannot."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.tools import files
from dragoman.tools.context import Context
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.examples import examples
from tests.tools.workspaces import KINDS, failure, run, told

every_kind = pytest.mark.parametrize("kind", KINDS)
TEN = "".join(f"line {number}\n" for number in range(1, 11))


def png(width: int, height: int) -> bytes:
    """A picture whose rows differ in colour."""
    rows = b"".join(b"\0" + bytes([row % 256, 0, 0]) * width for row in range(height))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def read(data: bytes | str, **asked: int) -> out.FileOutcome:
    outcome = run(files.read_file, op.ReadFile("f", **asked), MemoryWorkspace({"f": data}))
    assert isinstance(outcome, out.FileOutcome)
    return outcome


# ── reading ──────────────────────────────────────────────────────────────────


LARGE = b"x" * 97 + b"\n"
LARGE_TEXTS = {
    "no end": LARGE * 45_000 + b"x",
    "returns": b"x" * 97 + b"\r\n" + LARGE * 45_000,
    "letters": b"x" + ("é" * 48 + "\n").encode() * 45_000,
    "mark": b"\xef\xbb\xbf" + LARGE * 45_000,
    "cut": LARGE * 45_000 + "é".encode()[:1],
    "windows": LARGE * 45_000 + b"caf\xe9\n",
    "zero": LARGE * 45_000 + b"\0\n",
}
"""Files that are large enough to be read in blocks."""


@pytest.mark.parametrize("text", LARGE_TEXTS)
@pytest.mark.slow
def test_a_large_file_is_read_as_one_that_is_held(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_bytes(LARGE_TEXTS[text])
    disk, memory = DiskWorkspace(tmp_path), MemoryWorkspace({"f": LARGE_TEXTS[text]})
    for asked in ({}, {"first_line": 44_999, "last_line": 45_002}, {"first_line": 10**7}):
        operation = op.ReadFile("f", **asked)
        held, *others = (told(lambda: run(files.read_file, operation, each)) for each in (memory, disk, disk))  # noqa: B023
        assert others == [held, held]


def test_a_large_file_that_somebody_changed_since_some_of_it_was_read_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(LARGE_TEXTS["no end"])
    workspace = DiskWorkspace(tmp_path, durable=False)
    run(files.read_file, op.ReadFile("f", last_line=2), workspace)
    mine = op.EditFile("f", (op.Edit("xx\n", "y\n", everywhere=True),))
    run(files.edit_file, mine, workspace)
    run(files.read_file, op.ReadFile("f", last_line=2), workspace)
    path.write_bytes(LARGE_TEXTS["no end"] + b"\nmore\n")
    assert failure(lambda: run(files.edit_file, mine, workspace)).details["reason"] == "stale"
    assert run(files.read_file, op.ReadFile("f", last_line=2), workspace).total_lines == 45_002
    run(files.edit_file, mine, workspace)


@every_kind
@pytest.mark.parametrize(
    "asked, outcome",
    [
        ({}, out.FileOutcome("f", TEN, 1, 10, 71, encoding="utf-8")),
        ({"first_line": 9}, out.FileOutcome("f", "line 9\nline 10\n", 9, 10, 71, encoding="utf-8")),
        ({"last_line": 2}, out.FileOutcome("f", "line 1\nline 2\n", 1, 10, 71, encoding="utf-8")),
        ({"first_line": 3, "last_line": 3}, out.FileOutcome("f", "line 3\n", 3, 10, 71, encoding="utf-8")),
        ({"first_line": 10, "last_line": 99}, out.FileOutcome("f", "line 10\n", 10, 10, 71, encoding="utf-8")),
    ],
)
def test_lines_are_read(kind: str, asked: dict[str, int], outcome: out.FileOutcome) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("f", TEN.encode())
        assert run(files.read_file, op.ReadFile("f", **asked), workspace) == outcome


@pytest.mark.parametrize(
    "data, text, total, encoding",
    [
        (b"", "", 0, "utf-8"),
        (b"\n", "\n", 1, "utf-8"),
        (b"a", "a", 1, "utf-8"),
        (b"a\n\n", "a\n\n", 2, "utf-8"),
        (b"a\r\nb\rc\r\n", "a\nb\rc\n", 2, "utf-8"),
        (b"a\x0cb\xe2\x80\xa8c\n", "a\x0cb\u2028c\n", 1, "utf-8"),
        (b"\xef\xbb\xbfa\n", "a\n", 1, "utf-8-sig"),
        (b"\xff\xfea\0\n\0\x0a\x0a", "a\n\u0a0a", 2, "utf-16-le"),
        (b"caf\xe9", "café", 1, "cp1252"),
        ("é é ".encode() + b"\xff", "é é \ufffd", 1, "utf-8"),
    ],
)
def test_text_is_read_whatever_its_encoding(data: bytes, text: str, total: int, encoding: str) -> None:
    assert read(data) == out.FileOutcome("f", text, 1, total, len(data), encoding=encoding)


@given(
    data=st.lists(st.sampled_from(["a", "", "bb", "é"])).map("\n".join),
    first=st.none() | st.integers(1, 9),
    count=st.none() | st.integers(0, 5),
)
def test_a_range_is_the_lines_it_names(data: str, first: int | None, count: int | None) -> None:
    lines = data.splitlines(keepends=True)
    last = None if count is None else (first or 1) + count
    asked = {name: value for name, value in (("first_line", first), ("last_line", last)) if value is not None}
    if (first or 1) > max(len(lines), 1):
        error = failure(lambda: read(data, **asked))
        assert (error.kind, error.details["total_lines"]) == ("invalid_arguments", len(lines))
    else:
        outcome = read(data, **asked)
        assert outcome.text == "".join(lines[(first or 1) - 1 : last])
        assert (outcome.total_lines, outcome.truncated) == (len(lines), False)


def test_a_line_beyond_the_end_is_told_how_many_there_are() -> None:
    assert failure(lambda: read(TEN, first_line=11)).message == '"f" has 10 lines, so there is no line 11'


@pytest.mark.parametrize(
    "asked", [{"first_line": 0}, {"first_line": -5}, {"last_line": 0}, {"first_line": 5, "last_line": 4}]
)
def test_a_range_that_is_none_is_refused(asked: dict[str, int]) -> None:
    assert failure(lambda: read(TEN, **asked)).kind == "invalid_arguments"


@pytest.mark.parametrize("data", [b"a\nb\n", b"\xff\xfea\0\n\0"])
def test_numbers_no_file_has_lines_for_are_taken_as_what_they_are(data: bytes) -> None:
    assert read(data, last_line=2**80) == read(data)
    assert failure(lambda: read(data, first_line=2**80)).message.endswith(f"so there is no line {2**80}")
    assert failure(lambda: read(data, first_line=2**80, last_line=2**90)).kind == "invalid_arguments"


def test_no_more_lines_are_given_than_a_model_can_use_unless_asked_for() -> None:
    long = "".join(f"{number}\n" for number in range(1, 3001))
    outcome = read(long)
    assert outcome.text.split("\n") == [str(number) for number in range(1, 2001)]
    assert (outcome.truncated, outcome.total_lines) == (True, 3000)
    outcome = read(long, first_line=1, last_line=3000)
    assert (outcome.text, outcome.truncated) == (long, False)
    outcome = read("x" * 99 + "\n" + ("y" * 99 + "\n") * 5000, first_line=2)
    assert (len(outcome.text) <= files.TEXT_LIMIT + 100, outcome.truncated, outcome.total_lines) == (True, True, 5001)


def test_a_long_line_is_cut_and_marked_unless_it_is_asked_for_alone() -> None:
    data = f"short\n{'x' * 5000}\nend\n"
    cut = f"short\n{'x' * 2000}… [3,000 more characters; read this line alone to see more]\nend\n"
    assert read(data) == out.FileOutcome("f", cut, 1, 3, len(data), truncated=True, encoding="utf-8")
    assert read(data, first_line=2, last_line=2).text == f"{'x' * 5000}\n"
    alone = read("y" * 300_000, first_line=1, last_line=1)
    assert alone.text == "y" * files.TEXT_LIMIT + "… [37,856 more characters]"


@every_kind
@pytest.mark.parametrize(
    "path, kind_of_failure, message",
    [
        ("data/table.db", "failed", '"data/table.db" is a binary file (SQLite database, 20 bytes), not text'),
        ("data/noise", "failed", '"data/noise" is a binary file (of unknown type, 3 bytes), not text'),
        ("paper.pdf", "failed", '"paper.pdf" is a PDF document that cannot be read: it is damaged'),
        ("data", "failed", '"data" is a directory; a file is needed here'),
        ("data/tabel.db", "failed", '"data/tabel.db" does not exist. Did you mean "data/table.db"?'),
        ("../data", "denied", '"../data" is denied: it leads out of the workspace; use a path inside the workspace'),
    ],
)
def test_what_cannot_be_read_is_told_why(kind: str, path: str, kind_of_failure: str, message: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("data/table.db", b"SQLite format 3\0\0\0\0\0")
        workspace.write("data/noise", b"\0\1\2")
        workspace.write("paper.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        error = failure(lambda: run(files.read_file, op.ReadFile(path), workspace))
        assert (error.kind, error.message[: len(message)]) == (kind_of_failure, message)


def test_pages_are_for_documents() -> None:
    workspace = MemoryWorkspace({"f": "text"})
    assert "has no pages" in failure(lambda: run(files.read_file, op.ReadFile("f", pages="1-2"), workspace)).message


def test_a_notebook_and_an_svg_are_read_as_the_text_they_are() -> None:
    workspace = MemoryWorkspace({"n.ipynb": '{"cells": []}', "i.svg": "<svg/>"})
    assert run(files.read_file, op.ReadFile("n.ipynb"), workspace).text == '{"cells": []}'
    assert run(files.read_file, op.ReadFile("i.svg"), workspace).text == "<svg/>"


def test_memory_reads_the_one_file_of_that_name_and_says_so() -> None:
    workspace = MemoryWorkspace({"docs/plan.md": "the plan", "a/twice": "1", "b/twice": "2"})
    outcome = run(files.read_file, op.ReadFile("plan.md"), workspace)
    assert outcome == out.FileOutcome("plan.md", "the plan", 1, 1, 8, encoding="utf-8", resolved="docs/plan.md")
    assert failure(lambda: run(files.read_file, op.ReadFile("twice"), workspace)).message == (
        '"twice" does not exist. Did you mean "a/twice" or "b/twice"?'
    )
    strict = MemoryWorkspace({"docs/plan.md": ""}, forgiving=False)
    assert failure(lambda: run(files.read_file, op.ReadFile("plan.md"), strict)).details["suggestions"] == [
        "docs/plan.md"
    ]


def test_disk_reads_the_one_file_of_that_name_only_when_told_to(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/plan.md").write_text("the plan")
    error = failure(lambda: run(files.read_file, op.ReadFile("plan.md"), DiskWorkspace(tmp_path)))
    assert error.details["suggestions"] == ["docs/plan.md"]
    outcome = run(files.read_file, op.ReadFile("plan.md"), DiskWorkspace(tmp_path, forgiving=True))
    assert outcome.resolved == "docs/plan.md"


def test_a_run_without_a_workspace_says_so() -> None:
    with pytest.raises(ToolError, match="has no workspace"):
        files.read_file.run(op.ReadFile("f"), Context())


def test_a_file_too_large_to_hold_is_read_in_part(tmp_path: Path) -> None:
    workspace = DiskWorkspace(tmp_path)
    line = f"{'some words of a long log ' * 40}\n"
    with (tmp_path / "huge").open("wb") as file:
        file.write(line.encode() * 70_000)
    size = (tmp_path / "huge").stat().st_size
    first = run(files.read_file, op.ReadFile("huge", last_line=2), workspace)
    assert first == out.FileOutcome("huge", line * 2, 1, None, size, encoding="utf-8")
    far = run(files.read_file, op.ReadFile("huge", first_line=69_999), workspace)
    assert (far.text, far.truncated) == (line * 2, False)
    error = failure(lambda: run(files.read_file, op.ReadFile("huge", first_line=70_001), workspace))
    assert error.message == '"huge" has fewer lines, so there is no line 70001'


def test_a_line_without_an_end_is_not_followed_for_ever(tmp_path: Path) -> None:
    workspace = DiskWorkspace(tmp_path)
    with (tmp_path / "sparse").open("wb") as file:
        file.write(b"text\n" * 300_000)
        file.truncate(10 * 2**30)
    outcome = run(files.read_file, op.ReadFile("sparse", first_line=299_999), workspace)
    assert outcome.text.startswith("text\ntext\n\0\0")
    assert (outcome.truncated, outcome.total_lines) == (True, None)
    error = failure(lambda: run(files.read_file, op.ReadFile("sparse", first_line=300_002), workspace))
    assert error.details["reason"] == "too_large"


def test_a_file_read_whole_is_known_to_have_been_seen(tmp_path: Path) -> None:
    workspace = DiskWorkspace(tmp_path)
    (tmp_path / "f").write_text("old")
    run(files.read_file, op.ReadFile("f", first_line=1, last_line=1), workspace)
    (tmp_path / "f").write_text("old, and theirs")
    edit = op.EditFile("f", (op.Edit("old", "new"),))
    assert failure(lambda: run(files.edit_file, edit, workspace)).details["reason"] == "stale"


# ── several files ────────────────────────────────────────────────────────────


@every_kind
def test_every_file_that_matches_is_read(kind: str) -> None:
    with KINDS[kind]() as workspace:
        for path, data in {
            "a.txt": b"A",
            "src/b.txt": b"B",
            "src/old/c.txt": b"C",
            "src/picture.txt": png(1, 1),
            "src/noise.txt": b"\0",
            "ignored.txt": b"no",
            ".gitignore": b"ignored.txt\n",
            "other.md": b"# other",
        }.items():
            workspace.write(path, data)
        outcome = run(files.read_files, op.ReadFiles(("**/*.txt", "*.md", "a.txt"), exclude=("old",)), workspace)
        assert [(file.path, file.text) for file in outcome.files] == [
            ("a.txt", "A"),
            ("src/b.txt", "B"),
            ("other.md", "# other"),
        ]
        assert outcome.skipped == {
            "src/noise.txt": '"src/noise.txt" is a binary file (of unknown type, 1 bytes), not text',
            "src/picture.txt": "a picture: look at it on its own",
        }
        assert not outcome.truncated
        everything = run(files.read_files, op.ReadFiles(("ignored.*",), respect_ignore=False), workspace)
        assert [file.path for file in everything.files] == ["ignored.txt"]
        assert run(files.read_files, op.ReadFiles(("*.none",)), workspace) == out.FilesOutcome(())


def test_more_files_than_a_model_can_use_are_named_and_not_read() -> None:
    workspace = MemoryWorkspace({f"{number:03}.txt": "x" for number in range(250)})
    outcome = run(files.read_files, op.ReadFiles(("*.txt",)), workspace)
    assert (len(outcome.files), len(outcome.skipped), outcome.truncated) == (200, 50, True)
    workspace = MemoryWorkspace({f"{number}.txt": ("x" * 1000 + "\n") * 250 for number in range(8)})
    outcome = run(files.read_files, op.ReadFiles(("*.txt",)), workspace)
    assert (len(outcome.files), outcome.skipped, outcome.truncated) == (
        5,
        dict.fromkeys(["5.txt", "6.txt", "7.txt"], "left out: the limit of one read was reached"),
        True,
    )


# ── pictures ─────────────────────────────────────────────────────────────────


@every_kind
@pytest.mark.parametrize("operation", [op.ViewImage("pictures/one"), op.ReadFile("pictures/one")], ids=str)
def test_a_picture_is_shown_with_its_size(kind: str, operation: op.Operation) -> None:
    data = png(3, 5)
    tool = files.view_image if isinstance(operation, op.ViewImage) else files.read_file
    with KINDS[kind]() as workspace:
        workspace.write("pictures/one", data)
        assert run(tool, operation, workspace) == out.ImageOutcome(
            out.Media(
                "image/png",
                data=base64.b64encode(data).decode(),
                path="pictures/one",
                name="one",
                width=3,
                height=5,
                size=len(data),
            )
        )


def test_a_region_is_cut_out_of_a_picture() -> None:
    workspace = MemoryWorkspace({"p": png(10, 20)})
    image = run(files.view_image, op.ViewImage("p", region=(2, 5, 8, 7)), workspace).image
    assert (image.media_type, image.width, image.height) == ("image/png", 6, 2)
    from PIL import Image

    with Image.open(__import__("io").BytesIO(base64.b64decode(image.data))) as cut:
        assert [cut.getpixel((0, row)) for row in range(2)] == [(5, 0, 0), (6, 0, 0)]


@pytest.mark.parametrize("region", [(0, 0, 11, 1), (-1, 0, 1, 1), (5, 5, 5, 6), (3, 3, 1, 1), (0, 0, 1, 21)])
def test_a_region_outside_the_picture_is_refused(region: tuple[int, int, int, int]) -> None:
    workspace = MemoryWorkspace({"p": png(10, 20)})
    error = failure(lambda: run(files.view_image, op.ViewImage("p", region=region), workspace))
    assert error.kind == "invalid_arguments"
    assert error.message.endswith("which has 10 × 20 pixels")


@pytest.mark.parametrize(
    "data, what",
    [
        (b"text", "text"),
        (b"%PDF-1.4", "PDF document"),
        (b"\0\1", "of unknown type"),
        (b"<svg/>", "text"),
        (b"", "text"),
    ],
)
def test_what_is_no_picture_is_told_what_it_is(data: bytes, what: str) -> None:
    error = failure(lambda: run(files.view_image, op.ViewImage("f"), MemoryWorkspace({"f": data})))
    assert f"not a picture that can be shown ({what})" in error.message


def test_a_broken_picture_cannot_be_cut() -> None:
    workspace = MemoryWorkspace({"p": png(10, 20)[:40]})
    error = failure(lambda: run(files.view_image, op.ViewImage("p", region=(0, 0, 1, 1)), workspace))
    assert "cannot be decoded" in error.message


def test_a_picture_that_is_too_large_is_refused() -> None:
    workspace = MemoryWorkspace({"p": png(1, 1) + bytes(files.IMAGE_LIMIT)})
    assert failure(lambda: run(files.view_image, op.ViewImage("p"), workspace)).details["reason"] == "too_large"


# ── changing ─────────────────────────────────────────────────────────────────


@every_kind
def test_each_tool_changes_files_and_tells_what_it_changed(kind: str) -> None:
    with KINDS[kind]() as workspace:
        assert run(files.write_file, op.WriteFile("d/f", "one\ntwo\n"), workspace) == out.ChangesOutcome(
            (
                out.Change(
                    "d/f", "created", diff="--- /dev/null\n+++ b/d/f\n@@ -0,0 +1,2 @@\n+one\n+two\n", added=2, removed=0
                ),
            )
        )
        assert run(files.edit_file, op.EditFile("d/f", (op.Edit("two", "2"),)), workspace) == out.ChangesOutcome(
            (
                out.Change(
                    "d/f",
                    "modified",
                    diff="--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
                    added=1,
                    removed=1,
                    replacements=1,
                ),
            )
        )
        assert run(files.insert_text, op.InsertText("d/f", 0, "zero"), workspace) == out.ChangesOutcome(
            (
                out.Change(
                    "d/f",
                    "modified",
                    diff="--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,3 @@\n+zero\n one\n 2\n",
                    added=1,
                    removed=0,
                ),
            )
        )
        assert run(files.move_file, op.MoveFile("d/f", "g"), workspace) == out.ChangesOutcome(
            (out.Change("d/f", "moved", moved_to="g"),)
        )
        assert run(files.delete_file, op.DeleteFile("g"), workspace) == out.ChangesOutcome(
            (
                out.Change(
                    "g",
                    "deleted",
                    diff="--- a/g\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-zero\n-one\n-2\n",
                    added=0,
                    removed=3,
                ),
            )
        )


# ── whatever a model sends ───────────────────────────────────────────────────

PATHS = st.text(max_size=8) | st.sampled_from(["f", "d/f", "..", "/", "d", "n.ipynb", "p", "./f", "d/../f", "f/x"])
TEXT = st.text(max_size=8)
NUMBER = st.none() | st.integers(-3, 5) | st.integers()
CALLS = st.one_of(
    st.tuples(st.just(files.read_file), st.builds(op.ReadFile, PATHS, NUMBER, NUMBER, st.none() | TEXT)),
    st.tuples(st.just(files.write_file), st.builds(op.WriteFile, PATHS, TEXT, st.booleans())),
    st.tuples(st.just(files.insert_text), st.builds(op.InsertText, PATHS, st.integers(), TEXT)),
    st.tuples(st.just(files.delete_file), st.builds(op.DeleteFile, PATHS)),
    st.tuples(st.just(files.move_file), st.builds(op.MoveFile, PATHS, PATHS)),
    st.tuples(
        st.just(files.view_image), st.builds(op.ViewImage, PATHS, region=st.none() | st.tuples(*[st.integers()] * 4))
    ),
    st.tuples(
        st.just(files.edit_file),
        st.builds(
            op.EditFile,
            PATHS,
            st.lists(st.builds(op.Edit, st.none() | TEXT, TEXT, whole_lines=st.booleans())).map(tuple),
        ),
    ),
)


@every_kind
@examples(80)
@given(calls=st.lists(CALLS, max_size=5))
def test_whatever_is_asked_gives_an_outcome_or_a_failure(kind: str, calls: list[tuple[object, op.Operation]]) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("f", b"one\ntwo")
        workspace.write("d/f", b"caf\xe9\r\n")
        workspace.write("p", png(4, 4))
        for tool, operation in calls:
            outcome = told(lambda tool=tool, operation=operation: run(tool, operation, workspace))
            assert isinstance(outcome, out.Outcome | tuple)
        if isinstance(workspace, DiskWorkspace):
            assert not [
                name for _, _, names in os.walk(workspace.root) for name in names if name.startswith(".dragoman-")
            ]
