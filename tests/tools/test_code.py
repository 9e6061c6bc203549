"""Searching and rewriting code by its syntax tree."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dragoman.model.operations import RewriteCode, SearchCode
from dragoman.model.outcomes import ChangesOutcome, Match, MatchesOutcome
from dragoman.tools import code
from dragoman.tools.code import LANGUAGES, rewrite_code, search_code
from dragoman.tools.context import Cancellation, Context
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from dragoman.tools.workspace.workspace import Workspace
from tests.tools.workspaces import KINDS, failure, files, on_disk, run

every_kind = pytest.mark.parametrize("kind", KINDS)


def searched(workspace: Workspace, pattern: str, language: str = "python", **fields: Any) -> MatchesOutcome:
    outcome: MatchesOutcome = run(search_code, SearchCode(pattern, language, **fields), workspace)
    return outcome


def rewrote(
    workspace: Workspace, pattern: str, rewrite: str, language: str = "python", **fields: Any
) -> ChangesOutcome:
    outcome: ChangesOutcome = run(rewrite_code, RewriteCode(pattern, rewrite, language, **fields), workspace)
    return outcome


def after(source: str, pattern: str, rewrite: str, language: str = "python") -> str:
    """A file after it was rewritten."""
    path = f"x.{LANGUAGES[language][0]}"
    workspace = MemoryWorkspace({path: source})
    rewrote(workspace, pattern, rewrite, language)
    return files(workspace)[path].decode()


# ── searching ────────────────────────────────────────────────────────────────


@every_kind
def test_places_are_found_with_what_the_names_stand_for(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("b.py", b"x = 1\nprint('\xc3\xa9', x,\n      2)\n")
        workspace.write("a/c.py", b"if x:\n    print(print())\n")
        workspace.write("a/d.js", b"print(1)\n")
        assert searched(workspace, "print($$$ARGS)") == MatchesOutcome(
            (
                Match("a/c.py", 2, "print(print())", column=5, captures={"ARGS": "print()"}),
                Match("a/c.py", 2, "print()", column=11, captures={"ARGS": ""}),
                Match(
                    "b.py", 2, "print('é', x,\n      2)", column=1, last_line=3, captures={"ARGS": "'é', x,\n      2"}
                ),
            ),
            total=3,
            files=2,
        )
        assert searched(workspace, "print($ONE)").matches == (
            Match("a/c.py", 2, "print(print())", column=5, captures={"ONE": "print()"}),
        )


def test_a_name_used_twice_stands_for_the_same_text_and_an_underscore_for_anything() -> None:
    workspace = MemoryWorkspace({"a.py": "a + a\na + b\nf(x)(1) + f(x)(1)\n"})
    assert [match.line for match in searched(workspace, "$A + $A").matches] == [1, 3]
    assert [match.line for match in searched(workspace, "$_X + $_X").matches] == [1, 2, 3]
    assert searched(workspace, "$A + $A").matches[0].captures == {"A": "a"}


def test_a_limit_stops_the_search() -> None:
    workspace = MemoryWorkspace({"a.py": "f(1)\nf(2)\n", "b.py": "f(3)\n"})
    everything = searched(workspace, "f($X)")
    assert (everything.total, everything.files, everything.truncated) == (3, 2, False)
    for limit in range(4):
        part = searched(workspace, "f($X)", limit=limit)
        assert part.matches == everything.matches[:limit]
        assert part.truncated == (limit < 3)
        assert part.total == (None if limit < 3 else 3)


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({}, ["a.py", "lib/b.pyi", "lib/deep/c.py"]),
        ({"path": "lib"}, ["lib/b.pyi", "lib/deep/c.py"]),
        ({"include": "*.pyi"}, ["lib/b.pyi"]),
        ({"include": "lib/*"}, ["lib/b.pyi"]),
        ({"include": "deep/*", "path": "lib"}, ["lib/deep/c.py"]),
        ({"include": "!lib"}, ["a.py"]),
        ({"path": "notes.txt"}, ["notes.txt"]),
        ({"path": "ignored/d.py"}, ["ignored/d.py"]),
    ],
)
def test_the_language_and_the_filters_choose_the_files(fields: dict[str, Any], expected: list[str]) -> None:
    paths = ["a.py", "lib/b.pyi", "lib/deep/c.py", "lib/e.js", "notes.txt", "ignored/d.py", ".git/hook.py"]
    workspace = MemoryWorkspace({".gitignore": "ignored\n", **dict.fromkeys(paths, "call(1)\n")})
    assert [match.path for match in searched(workspace, "call($X)", **fields).matches] == expected


def test_what_is_no_text_or_too_large_is_counted_and_the_rest_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "LARGEST", 1000)
    workspace = MemoryWorkspace(
        {
            "big.py": "call(1)\n" * 1000,
            "binary.py": b"call(1)\0",
            "broken.py": "def (((\ncall(1)\n",
            "latin.py": "call('caf\u00e9')\n".encode("latin-1"),
            "stray.py": "call('\u00e9\u00e9')\n".encode() + b"# \xff\n",
            "wide.py": "call('\u00e9')\n".encode("utf-16"),
        }
    )
    outcome = searched(workspace, "call($X)")
    assert [(match.path, match.text) for match in outcome.matches] == [
        ("broken.py", "call(1)"),
        ("latin.py", "call('café')"),
        ("stray.py", "call('éé')"),
        ("wide.py", "call('é')"),
    ]
    # What cannot hold the word "call" is not looked at, and a binary file cannot.
    assert outcome.skipped == 1
    assert searched(workspace, "$A($B)").skipped == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_grammar(language: str) -> None:
    ending = LANGUAGES[language][0]
    source = {"json": "[1]", "css": "a { color: red }", "html": "<p>x</p>", "php": "<?php f(1);"}
    workspace = MemoryWorkspace({f"x.{ending}": source.get(language, "x") + "\n"})
    assert searched(workspace, "$ANY", language).matches != ()


@pytest.mark.parametrize(
    "name, path",
    [("ts", "a.ts"), ("Python3", "a.py"), (".rs", "a.rs"), ("c++", "a.cpp"), ("golang", "a.go"), ("JS", "a.js")],
)
def test_a_language_may_be_called_by_its_other_names(name: str, path: str) -> None:
    assert searched(MemoryWorkspace({path: "f(1)\n"}), "$X", name).files == 1


def test_typescript_with_markup_in_it_is_typescript_too() -> None:
    workspace = MemoryWorkspace({"a.ts": "const a = <any>f(1);\n", "b.tsx": "const b = <p>{f(2)}</p>;\n"})
    assert [match.text for match in searched(workspace, "f($X)", "typescript").matches] == ["f(1)", "f(2)"]


@pytest.mark.parametrize(
    "fields, kind, said",
    [
        ({"pattern": "f(1)", "language": "pyton"}, "invalid_arguments", 'Did you mean "python"?'),
        ({"pattern": "f(1)", "language": "cobol"}, "invalid_arguments", "bash, c, cpp"),
        ({"pattern": ""}, "invalid_arguments", "empty"),
        ({"pattern": "$A $B"}, "invalid_arguments", "single expression"),
        ({"pattern": "$$$A"}, "invalid_arguments", "multi meta variable"),
        ({"pattern": "f($A"}, "invalid_arguments", "syntax error"),
        ({"pattern": "f(\0)"}, "invalid_arguments", "NUL"),
        ({"pattern": "(" * 5000}, "invalid_arguments", "4,000"),
        ({"pattern": "\ud800"}, "invalid_arguments", "surrogate"),
        ({"pattern": "f(1)", "limit": -1}, "invalid_arguments", "at least 0"),
        ({"pattern": "f(1)", "include": ""}, "invalid_arguments", "leave it out"),
        ({"pattern": "f(1)", "include": "[a"}, "invalid_arguments", "never closed"),
        ({"pattern": "f(1)", "path": "b.py"}, "failed", "does not exist"),
        ({"pattern": "f(1)", "path": "../a"}, "denied", "leads out"),
    ],
)
def test_what_cannot_be_searched_says_why(fields: dict[str, Any], kind: str, said: str) -> None:
    error = failure(lambda: searched(MemoryWorkspace({"a.py": "f(2)\n"}), **fields))
    assert error.kind == kind
    assert said in error.message


def test_a_pattern_that_is_right_and_matches_nothing_gives_nothing() -> None:
    workspace = MemoryWorkspace({"a.py": "f(2)\n", "a.java": "class A {}\n"})
    assert searched(workspace, "g($X)") == MatchesOutcome((), total=0, files=0)
    assert searched(workspace, "if $X: $$$BODY") == MatchesOutcome((), total=0, files=0)


def test_code_nested_ever_so_deeply_is_searched_and_not_fatal() -> None:
    deep = "(\n" * 20_000 + "1" + "\n)" * 20_000
    workspace = MemoryWorkspace({"a.py": f"x = {deep} + {deep}\n"})
    (match,) = searched(workspace, "$A + $A").matches
    assert len(match.captures["A"]) < len(deep)
    assert "more characters" in match.captures["A"]
    assert "nested" in failure(lambda: rewrote(workspace, "($A)", "[$A]")).message


def test_cancelling_and_running_out_of_time_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = MemoryWorkspace({"a.py": "f(1)\n"})
    cancellation = Cancellation()
    cancellation.cancel()
    context = Context(workspace=workspace, cancellation=cancellation)
    assert failure(lambda: search_code(SearchCode("f($X)", "python", "a.py"), context)).kind == "cancelled"
    monkeypatch.setattr(code, "TIMEOUT", 0.0)
    assert failure(lambda: searched(workspace, "f($X)")).kind == "timed_out"


# ── rewriting ────────────────────────────────────────────────────────────────


@every_kind
def test_every_place_is_rewritten_in_one_transaction(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a.py", b"old(1)\nold(2, 3)\n")
        workspace.write("lib/b.py", b"x = old()\n")
        workspace.write("lib/c.py", b"other()\n")
        outcome = rewrote(workspace, "old($$$ARGS)", "new($$$ARGS)")
        assert [(change.path, change.kind, change.replacements) for change in outcome.changes] == [
            ("a.py", "modified", 2),
            ("lib/b.py", "modified", 1),
        ]
        assert "-x = old()\n+x = new()\n" in (outcome.changes[1].diff or "")
        assert (outcome.preview, outcome.skipped) == (False, 0)
        assert files(workspace) == {
            "a.py": b"new(1)\nnew(2, 3)\n",
            "lib/b.py": b"x = new()\n",
            "lib/c.py": b"other()\n",
        }


@every_kind
def test_a_preview_tells_the_same_and_changes_nothing(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a.py", b"old(1)\n")
        before = files(workspace)
        preview = rewrote(workspace, "old($X)", "new($X)", preview=True)
        assert files(workspace) == before
        done = rewrote(workspace, "old($X)", "new($X)")
        assert (preview.changes, preview.preview) == (done.changes, True)


def test_nothing_to_rewrite_changes_nothing() -> None:
    workspace = MemoryWorkspace({"a.py": "f(1)\n"})
    assert rewrote(workspace, "g($X)", "h($X)") == ChangesOutcome(())
    assert rewrote(workspace, "f($X)", "f($X)") == ChangesOutcome(())


@pytest.mark.parametrize(
    "source, pattern, rewrite, expected",
    [
        ("f(f(f(1)))\n", "f($X)", "g($X)", "g(g(g(1)))\n"),
        ("f(1, f(2), h(f(3)))\n", "f($$$X)", "g($$$X)", "g(1, g(2), h(g(3)))\n"),
        ("f(1,\n  2)\n", "f($$$X)", "g($$$X)", "g(1,\n  2)\n"),
        ("f(a)\n", "f($X)", "f(f($X))", "f(f(a))\n"),
        ("f(a, b)\n", "f($X, $Y)", "f($Y, $X)", "f(b, a)\n"),
        ("f(1); f(2)\n", "f($X)", "$X", "1; 2\n"),
        ("a + b + c\n", "$A + $B", "add($A, $B)", "add(add(a, b), c)\n"),
        ("f()\n", "f($$$X)", "g(1, $$$X)", "g(1)\n"),
        ("f()\n", "f($$$X)", "g($$$X, 1)", "g(1)\n"),
        ("f()\n", "f($$$X)", "g(1, $$$X, 2)", "g(1, 2)\n"),
        ("f()\n", "f($$$X)", "g($$$X)", "g()\n"),
        ("f(1)\n", "f($X)", "f($X, '$x', '$5', '$')", "f(1, '$x', '$5', '$')\n"),
        ("x = '😀'; f('é')\n", "f($X)", "g($X)", "x = '😀'; g('é')\n"),
        ("f(1)\r\nf(2)\r\n", "f($X)", "g(\n    $X)", "g(\r\n    1)\r\ng(\r\n    2)\r\n"),
        ("f(1)", "f($X)", "", ""),
    ],
)
def test_names_become_what_they_stand_for(source: str, pattern: str, rewrite: str, expected: str) -> None:
    assert after(source, pattern, rewrite) == expected


def test_lines_are_indented_as_the_rewrite_and_the_place_ask() -> None:
    source = dedent('''\
        def f():
            if ready:
                first()
                if more:
                    second("""
        text""")

                third()
            return 1
        ''')
    expected = dedent('''\
        def f():
            with lock:
                # checked

                while ready:
                    first()
                    with lock:
                        # checked

                        while more:
                            second("""
        text""")

                    third()
            return 1
        ''')
    rewrite = "with lock:\n    # checked\n\n    while $C:\n        $$$BODY"
    assert after(source, "if $C: $$$BODY", rewrite) == expected


def test_a_block_moved_outwards_loses_its_indentation() -> None:
    source = "class A:\n    def f(self):\n        if x:\n            a()\n            b()\n"
    assert after(source, "if x: $$$BODY", "$$$BODY") == "class A:\n    def f(self):\n        a()\n        b()\n"


def test_encodings_are_kept_and_what_cannot_be_kept_is_passed_over() -> None:
    contents = {
        "latin.py": "f('caf\u00e9')\n".encode("latin-1"),
        "marked.py": b"\xef\xbb\xbff(1)\n",
        "dos.py": b"x\r\nf(1)\r\n",
        "stray.py": "f('\u00e9\u00e9')\n".encode() + b"# \xff\n",
        "wide.py": "f('\u00e9')\n".encode("utf-16"),
    }
    with on_disk() as workspace:
        for path, data in contents.items():
            workspace.write(path, data)
        outcome = rewrote(workspace, "f($X)", "g($X)")
        assert outcome.skipped == 1
        assert files(workspace) == {
            "latin.py": "g('caf\u00e9')\n".encode("latin-1"),
            "marked.py": b"\xef\xbb\xbfg(1)\n",
            "dos.py": b"x\r\ng(1)\r\n",
            "stray.py": contents["stray.py"],
            "wide.py": "g('\u00e9')\n".encode("utf-16"),
        }


def test_one_file_that_cannot_be_written_leaves_all_as_they_were() -> None:
    contents = {"a.py": b"f(1)\n", "b.py": "f('caf\u00e9')\n".encode("latin-1")}
    workspace = MemoryWorkspace(contents)
    error = failure(lambda: rewrote(workspace, "f($X)", "g($X, '\u2603')"))
    assert error.details["reason"] == "encoding"
    assert files(workspace) == contents


def test_where_line_ends_are_mixed_those_away_from_the_changes_stay() -> None:
    workspace = MemoryWorkspace({"a.py": b"x\r\nf(1)\ny\nf(2)\nz\r\n"})
    rewrote(workspace, "f($X)", "g($X)")
    assert files(workspace) == {"a.py": b"x\r\ng(1)\ny\ng(2)\nz\r\n"}


@pytest.mark.parametrize(
    "rewrite, said",
    [("g($Y)", "does not name (it names: $X)"), ("$$$XX", 'Did you mean "X"?'), ("\ud800", "surrogate")],
)
def test_a_rewrite_that_makes_no_sense_says_why(rewrite: str, said: str) -> None:
    workspace = MemoryWorkspace({"a.py": "f(1)\n"})
    error = failure(lambda: rewrote(workspace, "f($X)", rewrite))
    assert error.kind == "invalid_arguments"
    assert said in error.message
    assert files(workspace) == {"a.py": b"f(1)\n"}


def test_nothing_outside_is_read_or_rewritten(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("f(1)\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.py").symlink_to(outside / "secret.py")
    (root / "folder").symlink_to(outside)
    os.mkfifo(root / "pipe.py")
    workspace = DiskWorkspace(root)
    assert searched(workspace, "f($X)") == MatchesOutcome((), total=0, files=0)
    assert rewrote(workspace, "f($X)", "g($X)") == ChangesOutcome(())
    for path in ("file.py", "folder", "../outside"):
        assert failure(lambda: searched(workspace, "f($X)", path=path)).kind == "denied"  # noqa: B023
        assert failure(lambda: rewrote(workspace, "f($X)", "g($X)", path=path)).kind == "denied"  # noqa: B023
    assert (outside / "secret.py").read_text() == "f(1)\n"
