"""Python's `re` is given patterns of our own alone: those of others go through `dragoman.patterns`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

OURS = {
    "config/files/yaml_text.py": (1, "the YAML resolver's own patterns, from a constant table"),
    "apis/base/api.py": (1, "the name pattern of an API, a constant of its limits"),
    "apis/base/conversation_order.py": (1, "the id pattern of an API, a constant of its limits"),
    "apis/lowering/walk.py": (1, "the name pattern of an API, a constant of its rules"),
    "config/layers.py": (1, "the names of our own types"),
    "dialects/base/refusals.py": (1, "a constant of a spelling's refusals"),
    "dialects/claude_code/commands.py": (1, "our own tag names"),
    "dialects/claude_code/failures.py": (1, "a constant table"),
    "dialects/claude_code/people.py": (1, "a question, escaped, between constants"),
    "dialects/claude_code/search.py": (1, "paths, escaped, between constants"),
    "dialects/base/cline_family.py": (1, "a path, escaped, in a constant"),
    "dialects/codex/results.py": (2, "a constant table"),
    "dialects/base/shell_commands.py": (1, "the text of a program of ours, with its two values left open"),
    "dialects/base/mcp_names.py": (2, "a template, escaped but for its places"),
    "dialects/base/template_code.py": (1, "the words of a template, escaped, between patterns of ours"),
    "dialects/base/default_words.py": (4, "constants and words of the dialect's own source"),
    "engine/offer.py": (2, "the name pattern of an API, a constant of its limits"),
    "engine/shell_reach/programs.py": (1, "constants, one for each mark around a substitution of sed"),
    "engine/history/replaying.py": (1, "a folder, escaped, between constants"),
    "logs/base/listing.py": (1, "how a log format names its files, a constant of it"),
    "logs/base/openings.py": (1, "constants, with one mark for a text of JSON"),
    "logs/corpus/streams.py": (1, "how a log format names the files of a session, a constant of it"),
    "logs/formats/parts/cline_task.py": (1, "our own tag names"),
    "logs/redaction/masking.py": (4, "constants, and secrets, escaped"),
    "logs/formats/parts/opencode_log.py": (1, "our own table names"),
    "logs/redaction/redact.py": (9, "constants, and secrets and names, escaped"),
    "logs/history/search.py": (1, "a text, escaped"),
    "patterns.py": (2, "the place where patterns of others are compiled"),
    "tools/workspace/transaction_commit.py": (1, "a part of a file name that is digits"),
    "agents/mcp/offered.py": (1, "URI templates of the author of a server"),
    "tools/workspace/edit_search.py": (
        2,
        "words of a text with white space between: they share no character, so nothing is tried twice",
    ),
    "tools/workspace/globs.py": (1, "globs, which are turned into expressions without backtracking"),
    "tools/web/web.py": (1, "words, escaped, joined by a constant"),
    "engine/named_programs.py": (4, "the options in the tables of that module"),
}
"""File → how many patterns in it are not constants, and why each of them is ours all the same."""

_MATCHING = ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer", "template")


# Parsing every module takes seconds: one whose patterns are all single texts without places gives no others.
_TEXT = r"""[rb]*(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_NEEDS_A_LOOK = re.compile(
    rf"\bre\s*\.\s*(?:{'|'.join(_MATCHING)})\s*\(\s*(?!{_TEXT}\s*[,)])"
    r"|^\s*(?:from\s+re\s+import|import\b.*\bre\s+as)\b",
    re.MULTILINE,
)


def _called_with_patterns(path: Path) -> Iterator[int]:
    """The lines on which `re` is given something else than a constant."""
    text = path.read_text()
    if not _NEEDS_A_LOOK.search(text):
        return
    tree = ast.parse(text)
    constants = _constants(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=[pattern, *_]) if name in _MATCHING:
                if not _is_constant(pattern, constants):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=[]) if name in _MATCHING:
                yield node.lineno
            case ast.ImportFrom(module="re", names=names) if any(one.name in _MATCHING for one in names):
                yield node.lineno
            case ast.Import(names=names) if any(one.name == "re" and one.asname for one in names):
                yield node.lineno


def _constants(tree: ast.Module) -> set[str]:
    """The names in capitals that a module gives a constant text: no function is to give them another."""
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(target=ast.Name(name), value=value):
                if name.isupper() and value is not None and _is_constant(value, found):
                    found.add(name)
    return found


def _is_constant(node: ast.expr, constants: set[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(name):
            return name in constants
        case ast.JoinedStr(values=parts):
            return all(_is_constant(part, constants) for part in parts)
        case ast.FormattedValue(value=value) | ast.UnaryOp(operand=value):
            return _is_constant(value, constants)
        case ast.BinOp(left=left, right=right):
            return _is_constant(left, constants) and _is_constant(right, constants)
        case ast.IfExp(body=body, orelse=other):
            return _is_constant(body, constants) and _is_constant(other, constants)
    return False


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
