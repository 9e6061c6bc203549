"""Laws of searching: every kind of workspace finds what a plain reading of the rules finds, and nothing breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

import msgspec
from hypothesis import assume, example, given, strategies as st

from dragoman.errors import ToolError
from dragoman.model.operations import FindFiles, ListDirectory, RewriteCode, SearchCode, SearchText
from dragoman.model.outcomes import Match, Outcome
from dragoman.tools.code import rewrite_code, search_code
from dragoman.tools.search import find_files, list_directory, search_text
from dragoman.tools.workspace import globs
from dragoman.tools.workspace.memory import MemoryWorkspace
from dragoman.tools.workspace.workspace import Workspace
from tests.examples import examples
from tests.strategies import values
from tests.tools.workspaces import files, in_memory, on_disk, run

# ── trees ────────────────────────────────────────────────────────────────────

# Few names, so that patterns meet them.
NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", ".h", "B", "a+", "[a]"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
LINES = st.sampled_from(["", "foo", "bar foo", "foofoo", "Foo", "bar", "  é foo"])
CONTENTS = st.lists(LINES, max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda e: e.join(lines))
)

GLOB_NAMES = st.sampled_from(
    [
        "a",
        "b",
        "*",
        "**",
        "*.py",
        "a*",
        "?",
        "[ab]",
        "[!a]",
        "{a,b}",
        "{a,*.py}",
        ".*",
        "*b*",
        "a.p?",
        r"\[a]",
        "B",
        "a+",
    ]
)
GLOBS = st.lists(GLOB_NAMES, min_size=1, max_size=3).map("/".join)
RULES = st.builds(
    lambda negated, anchored, glob, folders: "!" * negated + "/" * anchored + glob + "/" * folders,
    st.integers(0, 3).map(lambda number: number == 0),
    st.booleans(),
    GLOBS,
    st.integers(0, 3).map(lambda number: number == 0),
)
IGNORE_FILES = st.dictionaries(
    st.tuples(st.lists(NAMES, max_size=2), st.sampled_from([".gitignore", ".ignore", ".rgignore"])).map(
        lambda place: "/".join([*place[0], place[1]])
    ),
    st.lists(RULES, min_size=1, max_size=3).map("\n".join),
    max_size=3,
)


def possible(tree: dict[str, str]) -> dict[str, str]:
    """A tree in which no file stands where another needs a folder."""
    kept: dict[str, str] = {}
    for path, content in tree.items():
        if not any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in kept):
            kept[path] = content
    return kept


TREES = st.builds(
    lambda ignores, contents: possible(contents | ignores), IGNORE_FILES, st.dictionaries(PATHS, CONTENTS, max_size=12)
)
FOLDERS = st.just(".") | NAMES | st.lists(NAMES, min_size=2, max_size=2).map("/".join)


def both(tree: dict[str, str], tool: Any, operation: Any) -> Any:
    """What a tool gives for this tree on disk, which must be what it gives in memory."""
    with on_disk() as disk, in_memory() as memory:
        for workspace in (disk, memory):
            for path, content in tree.items():
                workspace.write(path, content.encode())
        told = [outcome(tool, operation, workspace) for workspace in (disk, memory)]
    assert told[0] == told[1]
    return told[0]


def outcome(tool: Any, operation: Any, workspace: Workspace) -> Any:
    try:
        return run(tool, operation, workspace)
    except ToolError as error:
        return error.kind, error.message


# ── a plain reading of the rules ─────────────────────────────────────────────


def name_matches(pattern: str, name: str) -> bool:
    """A glob without "/" and braces, character by character."""
    if not pattern:
        return not name
    head, rest = pattern[0], pattern[1:]
    if head == "*":
        return any(name_matches(rest, name[count:]) for count in range(len(name) + 1))
    if not name:
        return False
    if head == "[":
        body, _, rest = rest.partition("]")
        return (name[0] in body.lstrip("!")) != body.startswith("!") and name_matches(rest, name[1:])
    if head == "\\":
        head, rest = rest[0], rest[1:]
        return head == name[0] and name_matches(rest, name[1:])
    return (head == "?" or head == name[0]) and name_matches(rest, name[1:])


def names_match(patterns: list[str], names: list[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        if len(patterns) == 1:
            return bool(names)
        return any(names_match(patterns[1:], names[count:]) for count in range(len(names) + 1))
    return bool(names) and name_matches(patterns[0], names[0]) and names_match(patterns[1:], names[1:])


@cache
def glob_matches(pattern: str, path: str) -> bool:
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces:
        return any(
            glob_matches(pattern[: braces.start()] + choice + pattern[braces.end() :], path)
            for choice in braces[1].split(",")
        )
    return names_match(pattern.split("/"), path.split("/"))


def rule_matches(rule: str, path: str, *, is_folder: bool) -> bool:
    """A line of an ignore file, without "!", for a path below the folder of that file."""
    body = rule.removesuffix("/")
    if rule.endswith("/") and not is_folder:
        return False
    return glob_matches(body.removeprefix("/") if "/" in body else f"**/{body}", path)


def left_out(tree: dict[str, str], path: str, *, is_folder: bool) -> bool:
    """Whether the ignore files of a tree leave a path out, whatever they say of the folders above it."""
    names = path.split("/")
    folders = ["/".join(names[:count]) for count in range(len(names))]
    for kind in (".rgignore", ".ignore", ".gitignore"):
        for folder in reversed(folders):
            text = tree.get(f"{folder}/{kind}" if folder else kind, "")
            below = path[len(folder) + 1 :] if folder else path
            for rule in reversed(text.split("\n")):
                if rule and rule_matches(rule.removeprefix("!"), below, is_folder=is_folder):
                    return not rule.startswith("!")
    return False


def below(tree: dict[str, str], where: str, *, obeying: bool) -> Iterator[str]:
    """The files below a folder, as paths from the root, in order."""
    for path in sorted(tree, key=lambda path: path.split("/")):
        if where != "." and not path.startswith(f"{where}/"):
            continue
        names = path.split("/")
        first = 1 if where == "." else where.count("/") + 2
        parents = ["/".join(names[:count]) for count in range(first, len(names))]
        kept = not any(left_out(tree, parent, is_folder=True) for parent in parents)
        if not obeying or (kept and not left_out(tree, path, is_folder=False)):
            yield path


def from_folder(path: str, where: str) -> str:
    return path if where == "." else path[len(where) + 1 :]


def is_folder(tree: dict[str, str], path: str) -> bool:
    return path == "." or any(known.startswith(f"{path}/") for known in tree)


# ── laws ─────────────────────────────────────────────────────────────────────

bounded = examples(60)


@examples(400)
@given(pattern=GLOBS, path=PATHS)
def test_a_glob_matches_what_it_says(pattern: str, path: str) -> None:
    assert bool(globs.compiled(pattern).full.match(path)) == glob_matches(pattern, path)


@bounded
@given(tree=TREES, where=FOLDERS, pattern=GLOBS, obeying=st.sampled_from([None, True, False]))
def test_files_are_found_as_the_rules_say(tree: dict[str, str], where: str, pattern: str, obeying: bool | None) -> None:
    told = both(tree, find_files, FindFiles("**/" + pattern, where, respect_ignore=obeying))
    if not is_folder(tree, where):
        assert told[0] == "failed"
        return
    expected = tuple(
        path
        for path in below(tree, where, obeying=obeying is not False)
        if glob_matches("**/" + pattern, from_folder(path, where))
    )
    assert (told.paths, told.total, told.truncated) == (expected, len(expected), False)


@bounded
@given(
    tree=TREES,
    where=FOLDERS,
    obeying=st.booleans(),
    depth=st.integers(1, 4),
    ignore=st.lists(GLOB_NAMES, max_size=2),
)
def test_folders_are_listed_as_the_rules_say(
    tree: dict[str, str], where: str, obeying: bool, depth: int, ignore: list[str]
) -> None:
    operation = ListDirectory(where, tuple(ignore), depth, respect_ignore=obeying)
    with in_memory() as workspace:
        for path, content in tree.items():
            workspace.write(path, content.encode())
        told = outcome(list_directory, operation, workspace)
    if not is_folder(tree, where):
        assert told[0] == "failed"
        return

    def listed(folder: str, level: int) -> Iterator[str]:
        start = "" if folder == "." else f"{folder}/"
        for name in sorted({path[len(start) :].split("/")[0] for path in tree if path.startswith(start)}):
            path = f"{start}{name}"
            folds = is_folder(tree, path)
            shown = from_folder(path, where)
            if any(rule_matches(glob, shown, is_folder=folds) for glob in ignore):
                continue
            if obeying and left_out(tree, path, is_folder=folds):
                continue
            yield shown
            if folds and level < depth:
                yield from listed(path, level + 1)

    assert [entry.path for entry in told.entries] == list(listed(where, 1))


ANY_WAY: dict[str, Any] = {
    "mode": "content",
    "include": None,
    "exclude": None,
    "case_sensitive": None,
    "only_matching": False,
    "multiline": True,
    "limit": None,
    "offset": None,
}


@bounded
@example(tree={"a": "foo\r\n"}, where=".", pattern="foo$", **ANY_WAY)
@example(tree={"a": "foo\r\n"}, where=".", pattern="foo$", **ANY_WAY | {"mode": "count"})
@example(tree={"a": "foo\r\n"}, where=".", pattern="foo$", **ANY_WAY | {"only_matching": True})
@example(tree={"a": "foo\r\n\r\nfoo"}, where=".", pattern="^$", **ANY_WAY)
@example(tree={"a": "foo\r\n\r\nfoo"}, where=".", pattern="", **ANY_WAY)
@given(
    tree=TREES,
    where=FOLDERS,
    pattern=st.sampled_from(["foo", "^foo", "foo$", "o+", "bar|Foo", "", "^$", "é"]),
    mode=st.sampled_from(["content", "files", "count"]),
    include=st.none() | GLOBS,
    exclude=st.none() | GLOBS,
    case_sensitive=st.sampled_from([None, True, False]),
    only_matching=st.booleans(),
    multiline=st.booleans(),
    limit=st.none() | st.integers(0, 4),
    offset=st.none() | st.integers(0, 4),
)
def test_text_is_found_as_the_rules_say(tree: dict[str, str], where: str, pattern: str, **fields: Any) -> None:
    # Where nothing begins and where it ends is a matter of taste.
    assume(not fields["only_matching"] or not re.search(pattern, ""))
    told = both(tree, search_text, SearchText(pattern, where, **fields))
    if where not in tree and not is_folder(tree, where):
        assert told[0] == "failed"
        return
    include, exclude = fields["include"], fields["exclude"]

    def wanted(path: str) -> bool:
        names = from_folder(path, where).split("/")
        parents = ["/".join(names[:count]) for count in range(1, len(names))]
        out = exclude is not None and (
            any(rule_matches(exclude, parent, is_folder=True) for parent in parents)
            or rule_matches(exclude, "/".join(names), is_folder=False)
        )
        return not out and (include is None or rule_matches(include, "/".join(names), is_folder=False))

    searched = [where] if where in tree else [path for path in below(tree, where, obeying=True) if wanted(path)]
    expression = re.compile(pattern, re.IGNORECASE if fields["case_sensitive"] is False else 0)
    everything = [match for path in searched for match in plain_matches(path, tree[path], expression, **fields)]
    groups = [list(group) for _, group in groupby(everything, key=lambda match: match.path)]
    expected = {
        "content": everything,
        "files": [Match(group[0].path) for group in groups],
        "count": [Match(group[0].path, count=len(group)) for group in groups],
    }[fields["mode"]]
    start = fields["offset"] or 0
    stop = None if fields["limit"] is None else start + fields["limit"]
    if fields["mode"] == "content" or not fields["only_matching"]:
        assert list(told.matches) == expected[start:stop]
        assert told.truncated == (start + len(told.matches) < len(expected))
        assert told.total == (None if fields["mode"] == "files" else len(everything))
    assert told.files == len(groups)


def plain_matches(path: str, content: str, expression: re.Pattern[str], **fields: Any) -> Iterator[Match]:
    lines = content.split("\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines, 1):
        text = line.removesuffix("\r")
        if fields["only_matching"] and fields["mode"] == "content":
            yield from (Match(path, number, match[0]) for match in expression.finditer(text))
        elif expression.search(text):
            yield Match(path, number, text)


SPANS = [
    "foo$",
    "^foo$",
    "foo.bar",
    r"foo\s+bar",
    r"foo\nbar",
    r"foo\r?\nbar",
    "foo$.",
    r"o$\s+^",
    "foo[^x]",
    ".+",
    "o$|b",
]


@bounded
@example(tree={"a": "foo\r\n"}, pattern=r"foo[^\n]", only_matching=False)
@example(tree={"a": "foo\r\n"}, pattern=r"foo[^\n]|x$", only_matching=False)
@given(
    tree=st.dictionaries(NAMES, CONTENTS, max_size=2),
    # The second half is for PCRE2.
    pattern=st.sampled_from([*SPANS, *(f"(?<!q)(?:{span})" for span in SPANS)]),
    only_matching=st.booleans(),
)
def test_a_match_that_may_span_lines_is_found_whatever_ends_them(
    tree: dict[str, str], pattern: str, only_matching: bool
) -> None:
    operation = SearchText(pattern, multiline=True, only_matching=only_matching, respect_ignore=False)
    told = both(tree, search_text, operation)
    # Python's "$" is right before "\n" alone.
    expression = re.compile(pattern.replace("$", r"(?:(?=\r\n)|(?<!\r)$)"), re.MULTILINE | re.DOTALL)
    expected = [match for path in sorted(tree) for match in runs(path, tree[path], expression, only_matching)]
    assert list(told.matches) == expected
    for mode in ("files", "count"):
        again = both(tree, search_text, msgspec.structs.replace(operation, mode=mode))
        assert again.files == told.files


def runs(path: str, content: str, expression: re.Pattern[str], only_matching: bool) -> Iterator[Match]:
    """The lines of each match, as one where matches share a line."""
    lines = content.split("\n")
    found: list[tuple[int, int, str]] = []
    for match in expression.finditer(content):
        first = content.count("\n", 0, match.start())
        last = content.count("\n", 0, max(match.end() - 1, match.start()))
        if first == len(lines) - 1 and lines[-1] == "":
            continue  # after the last line
        if not only_matching and found and first <= found[-1][1]:
            first = found.pop()[0]
        found.append((first, last, match[0]))
    for first, last, text in found:
        shown = text if only_matching else "\n".join(lines[first : last + 1])
        shown = shown.replace("\r\n", "\n").removesuffix("\n").removesuffix("\r")
        yield Match(path, first + 1, shown, last_line=last + 1 if last > first else None)


@bounded
@given(tree=TREES, before=st.integers(0, 3), after=st.integers(0, 3), multiline=st.booleans())
def test_matches_with_their_context_tell_each_line_once_and_in_its_place(
    tree: dict[str, str], before: int, after: int, multiline: bool
) -> None:
    told = both(
        tree, search_text, SearchText("foo", before=before, after=after, multiline=multiline, respect_ignore=False)
    )
    for path, group in groupby(told.matches, key=lambda match: match.path):
        lines = [line.removesuffix("\r") for line in tree[path].split("\n")]
        seen: list[int] = []
        for match in group:
            assert match.line is not None
            first = match.line - len(match.before)
            run_of_lines = [*match.before, match.text, *match.after]
            assert run_of_lines == lines[first - 1 : first - 1 + len(run_of_lines)]
            seen += range(first, first + len(run_of_lines))
        assert seen == sorted(set(seen))
        matching = [number for number, line in enumerate(lines, 1) if "foo" in line]
        reach = {line for number in matching for line in range(number - before, number + after + 1)}
        last = len(lines) - (lines[-1] == "")
        assert set(seen) == {line for line in reach if 1 <= line <= last}


@bounded
@given(tree=TREES)
def test_a_whole_listing_that_obeys_holds_the_files_that_are_found(tree: dict[str, str]) -> None:
    workspace = MemoryWorkspace(tree)
    entries = run(list_directory, ListDirectory(depth=9, respect_ignore=True), workspace).entries
    assert (
        tuple(entry.path for entry in entries if entry.kind == "file")
        == run(find_files, FindFiles("**"), workspace).paths
    )


# ── rewriting ────────────────────────────────────────────────────────────────

CALLS = st.recursive(
    st.sampled_from(["a", "1", "'old()'", "b.c"]),
    lambda inner: st.builds(
        lambda name, arguments: f"{name}({', '.join(arguments)})",
        st.sampled_from(["old", "other"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)
PROGRAMS = st.lists(CALLS, min_size=1, max_size=4).map(lambda calls: "".join(f"x = {call}\n" for call in calls))


@examples(100)
@given(program=PROGRAMS)
def test_renaming_a_function_renames_every_call_and_nothing_else(program: str) -> None:
    workspace = MemoryWorkspace({"a.py": program})
    run(rewrite_code, RewriteCode("old($$$X)", "renewed($$$X)", "python", "a.py"), workspace)
    expected = re.sub(r"\bold\((?!\)')", "renewed(", program)
    assert files(workspace)["a.py"].decode() == expected
    found = run(search_code, SearchCode("renewed($$$X)", "python", "a.py"), workspace)
    assert found.total == expected.count("renewed(")


# ── nothing breaks it ────────────────────────────────────────────────────────

TOOLS = {
    SearchText: search_text,
    FindFiles: find_files,
    ListDirectory: list_directory,
    SearchCode: search_code,
    RewriteCode: rewrite_code,
}
ODD = st.text(st.sampled_from('ab.*?[]{}!/\\,$()#\n\0é\ud800 -~"'), max_size=8)
ARGUMENTS = st.one_of([values(operation) for operation in TOOLS]) | st.one_of(
    st.builds(SearchText, ODD, FOLDERS, ODD, ODD, multiline=st.booleans(), literal=st.booleans()),
    st.builds(FindFiles, ODD, FOLDERS | ODD, st.booleans()),
    st.builds(ListDirectory, FOLDERS | ODD, st.lists(ODD, max_size=2).map(tuple), st.integers(0, 3)),
    st.builds(
        SearchCode, ODD, st.sampled_from(["python", "ts", "go", "bash", "html", "nope"]), FOLDERS, st.none() | ODD
    ),
    st.builds(RewriteCode, ODD, ODD, st.sampled_from(["python", "rust", "css"]), FOLDERS, preview=st.booleans()),
)
PLAIN_TREE = {"a": "foo\n", "b/a.py": "foo(a, b)\n", "b/x.ts": "f(1)\n", "c/[a]": "x", "c/.gitignore": "*.py"}


@examples(250)
@given(operation=ARGUMENTS)
def test_any_arguments_give_an_outcome_or_a_stated_failure(operation: Any) -> None:
    told = outcome(TOOLS[type(operation)], operation, MemoryWorkspace(PLAIN_TREE))
    assert isinstance(told, Outcome) or (told[0] in ("denied", "failed", "invalid_arguments") and told[1].strip())
