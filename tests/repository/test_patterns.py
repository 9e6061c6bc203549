"""Python's `re` is given patterns of our own alone: those of others go through `dragoman.patterns`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

OURS = {
    "agents/foreign_codex.py": (1, "constants, joined"),
    "agents/mcp_settings.py": (2, "constants, joined"),
    "agents/page.py": (1, "the YAML resolver's own patterns, from a constant table"),
    "apis/api.py": (1, "the name pattern of an API, a constant of its limits"),
    "apis/history.py": (1, "the id pattern of an API, a constant of its limits"),
    "apis/lowering/walk.py": (1, "the name pattern of an API, a constant of its rules"),
    "apis/partial.py": (4, "constants, joined"),
    "cli/console.py": (2, "a class of characters from constants"),
    "config/layers.py": (1, "the names of our own types"),
    "dialects/anthropic/editing.py": (1, "a constant folder"),
    "dialects/claude_code/commands.py": (1, "our own tag names"),
    "dialects/claude_code/failures.py": (1, "a constant table"),
    "dialects/claude_code/people.py": (1, "a question, escaped, between constants"),
    "dialects/claude_code/search.py": (1, "paths, escaped, between constants"),
    "dialects/cline.py": (1, "a path, escaped, in a constant"),
    "dialects/codex/results.py": (1, "a constant table"),
    "dialects/data_file.py": (1, "the YAML resolver's own patterns, from a constant table"),
    "dialects/mcp_names.py": (2, "a template, escaped but for its places"),
    "dialects/wording.py": (4, "constants and words of the dialect's own source"),
    "engine/facade.py": (2, "the name pattern of an API, a constant of its limits"),
    "engine/replaying.py": (1, "a folder, escaped, between constants"),
    "logs/cline_task.py": (1, "our own tag names"),
    "logs/opencode.py": (1, "our own table names"),
    "logs/redact.py": (11, "constants, and secrets and names, escaped"),
    "logs/search.py": (1, "a text, escaped"),
    "patterns.py": (2, "the place where patterns of others are compiled"),
    "tools/code.py": (1, "one of two constants"),
    "tools/commit.py": (1, "a part of a file name that is digits"),
    "tools/globs.py": (1, "globs, which are turned into expressions without backtracking"),
    "tools/web.py": (1, "words, escaped, joined by a constant"),
}
"""File → how many patterns in it are not constants, and why each of them is ours all the same."""

_MATCHING = ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer", "template")


def _called_with_patterns(path: Path) -> Iterator[int]:
    """The lines on which `re` is given something else than a constant."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=[pattern, *_]) if name in _MATCHING:
                if not isinstance(pattern, ast.Constant):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=[]) if name in _MATCHING:
                yield node.lineno
            case ast.ImportFrom(module="re", names=names) if any(one.name in _MATCHING for one in names):
                yield node.lineno
            case ast.Import(names=names) if any(one.name == "re" and one.asname for one in names):
                yield node.lineno


def test_every_pattern_that_re_gets_is_a_constant_or_stated_to_be_ours() -> None:
    found = Counter(
        path.relative_to(SOURCE / "dragoman").as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        for _ in _called_with_patterns(path)
    )
    assert found == {file: number for file, (number, _) in OURS.items()}


def test_a_pattern_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(
        "import re\nre.search(given, 'a')\nre.compile('a')\nfrom re import compile\nre.sub(f'{a}', '', b)\n"
    )
    assert sorted(_called_with_patterns(source)) == [2, 4, 5]
