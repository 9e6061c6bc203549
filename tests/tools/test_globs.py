"""Globs and ignore files: what patterns match, held against a matcher that tries everything."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.tools.workspace.globs import alternatives, anywhere, compiled, covering, decides, escaped, rules, split


def matches(pattern: str, path: str, *, case_sensitive: bool = True) -> bool:
    return compiled(pattern, case_sensitive=case_sensitive).full.match(path) is not None


@pytest.mark.parametrize(
    "pattern, path, expected",
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("*.py", ".hidden.py", True),
        ("*", "a\nb", True),
        ("?", "\n", True),
        ("?", "/", False),
        ("a?b", "a/b", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("**", "x/y", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "ab", False),
        ("a/", "a/b", True),
        ("./a", "a", True),
        ("[ab]c", "bc", True),
        ("[!ab]c", "bc", False),
        ("[^ab]c", "cc", True),
        ("[]a]", "]", True),
        ("[]a]", "a", True),
        ("[!]a]", "]", False),
        ("[!]a]", "b", True),
        ("[^]]", "]", False),
        ("[^]]", "a", True),
        ("[a-c]", "b", True),
        ("[a-c]", "d", False),
        ("[a-]", "-", True),
        (r"[\]]", "]", True),
        (r"[a\]b]", "b", True),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("{a,b}.{py,pyi}", "b.pyi", True),
        ("{a,b}.{py,pyi}", "c.py", False),
        ("{a,{b,c}}", "c", True),
        ("x[{,}]y", "x,y", True),
        (r"\{a,b\}", "{a,b}", True),
        ("a.b", "aXb", False),
        ("*a*b*", "xaxbx", True),
        ("*a*b*", "xbxax", False),
    ],
)
def test_what_a_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_case_counts_unless_it_is_said_not_to() -> None:
    assert not matches("A*.PY", "a.py")
    assert matches("A*.PY", "a.py", case_sensitive=False)


@pytest.mark.parametrize(
    "pattern, problem",
    [
        ("", "an empty glob"),
        ("a\0b", "NUL"),
        ("[a", 'a "[" is never closed'),
        ("[]", 'a "[" is never closed'),
        ("[!]", 'a "[" is never closed'),
        ("[\\]", 'a "[" is never closed'),
        ("a[/]b", 'a "[" is never closed'),
        ("{a,b", 'a "{" is never closed'),
        ("[b-a]", "runs backwards"),
        ("a/../b", '".."'),
        ("{a,b}" * 11, "more than 1024"),
        ("a" * 5000, "longer than 4096"),
    ],
)
def test_what_is_no_glob_is_refused_with_the_reason(pattern: str, problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        compiled(pattern)
    assert (problem in caught.value.message, caught.value.kind) == (True, "invalid_arguments")


def test_what_is_known_of_the_last_name() -> None:
    assert compiled("**/{a,b}.py")[1:] == (("a.py", "b.py"), True)
    assert compiled("src/*.py")[1:] == (("*.py",), False)
    assert compiled("{**/*.py,src/x}")[1:] == (("*.py", "x"), False)
    assert compiled("*.py")[1:] == (("*.py",), False)


def test_how_patterns_are_taken_apart_and_widened() -> None:
    assert split("src/app/*.py") == ("src/app/", "*.py")
    assert split("src/app/main.py") == ("src/app/", "main.py")
    assert split("*.py") == ("", "*.py")
    assert [anywhere(one) for one in ("a", "a/", "/a", "a/b")] == ["**/a", "**/a/", "a", "a/b"]
    assert [covering("build").full.match(one) is not None for one in ("build", "x/build/y", "builds")] == [
        True,
        True,
        False,
    ]
    assert alternatives("{a,b}{c,d}") == ["ac", "ad", "bc", "bd"]
    assert alternatives("{a,a}") == ["a"]


@given(st.text(min_size=1, max_size=12).filter(lambda text: not {"/", "\0"} & {*text}))
def test_an_escaped_name_matches_itself_alone(name: str) -> None:
    if name not in (".", ".."):
        assert matches(escaped(name), name)
        assert not matches(escaped(name), f"{name}x")


# ── against a matcher that tries everything ──────────────────────────────────


def slow(names: list[str], path: list[str]) -> bool:
    if not names:
        return not path
    if names[0] == "**":
        if len(names) == 1:
            return bool(path)
        return any(slow(names[1:], path[skipped:]) for skipped in range(len(path) + 1))
    return bool(path) and slow_name(names[0], path[0]) and slow(names[1:], path[1:])


def slow_name(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return any(slow_name(glob[1:], name[skipped:]) for skipped in range(len(name) + 1))
    return bool(name) and glob[0] in ("?", name[0]) and slow_name(glob[1:], name[1:])


GLOB_NAMES = st.just("**") | st.text("ab*?", min_size=1, max_size=4).filter(lambda name: "**" not in name)
PATHS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5)


@given(st.lists(GLOB_NAMES, min_size=1, max_size=5), PATHS)
def test_the_expression_matches_what_trying_everything_matches(names: list[str], path: list[str]) -> None:
    # Two `**` in a row are one.
    once = [name for place, name in enumerate(names) if place == 0 or (name, names[place - 1]) != ("**", "**")]
    assert matches("/".join(names), "/".join(path)) is slow(once, path)


@given(st.lists(GLOB_NAMES, min_size=1, max_size=5), PATHS)
def test_the_last_name_is_never_wrong_about_the_path(names: list[str], path: list[str]) -> None:
    glob = compiled("/".join(names))
    by_last_name = any(last == "**" or slow_name(last, path[-1]) for last in glob.names)
    found = glob.full.match("/".join(path)) is not None
    assert by_last_name or not found
    assert not glob.by_name or by_last_name == found


# ── ignore files ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, path, is_folder, expected",
    [
        ("*.log", "x/a.log", False, True),
        ("*.log\n!keep.log", "keep.log", False, False),
        ("!keep.log\n*.log", "keep.log", False, True),
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("/top", "x/top", False, None),
        ("/top", "top", False, True),
        ("# words\n\n", "# words", False, None),
        ("a  ", "a", False, True),
        ("a\\ ", "a ", False, True),
        ("[a", "[a", False, None),
        ("other", "a", False, None),
    ],
)
def test_what_an_ignore_file_leaves_out(text: str, path: str, is_folder: bool, expected: bool | None) -> None:
    assert decides(rules(text), path, is_folder=is_folder) is expected


def test_rules_hold_below_the_folder_their_file_is_in() -> None:
    (one,) = rules("*.log", "we[ird")
    assert decides([one], "we[ird/x/a.log", is_folder=False) is True
    assert decides([one], "a.log", is_folder=False) is None
