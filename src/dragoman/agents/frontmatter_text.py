"""Markdown with YAML frontmatter as plain values that know the lines they stand on.

Rule: nothing in a file is run and nothing in it grows: no tags, no aliases, no key twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from dragoman.config.files import TextPlace as Place, YamlProblems, read_yaml
from dragoman.errors import DefinitionError, nearest

LARGEST_FILE: Final = 1024 * 1024
MOST_TOKENS: Final = 5_000
"""Tokens of YAML in a frontmatter. PyYAML takes about 20 microseconds for each; the largest that people write have some
hundred, and 128 KiB of brackets have a hundred thousand."""
LARGEST_FRONTMATTER: Final = 128 * 1024
"""Characters. Files of a project are read unasked, and YAML takes its time."""


class Page(msgspec.Struct, frozen=True):
    """What a file says: the values of its frontmatter, the line of each place in them, and the text below."""

    values: dict[str, Any]
    lines: Mapping[Place, int]
    body: str
    has_frontmatter: bool = True


class Problems:
    """What is wrong with one file, gathered until all of it is known."""

    def __init__(self, lines: Mapping[Place, int] | None = None) -> None:
        self.lines = dict(lines or {})
        self._found: list[tuple[int, str]] = []

    def line_of(self, place: Place) -> int:
        """The line of a place, or of what it stands in; at last that of the whole."""
        within = (place[:length] for length in range(len(place), 0, -1))
        return next((self.lines[part] for part in within if part in self.lines), 1)

    def add(self, message: str, place: Place = ()) -> None:
        written = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        self.add_at(self.line_of(place), f"{written}: {message}" if written else message)

    def add_at(self, line: int, message: str) -> None:
        self._found.append((line, f"line {line}: {message}"))

    def __bool__(self) -> bool:
        return bool(self._found)

    def in_order(self) -> tuple[str, ...]:
        """Every problem once, from the top of the file to its end."""
        return tuple(dict.fromkeys(said for _, said in sorted(self._found, key=lambda found: found[0])))


def raise_all(problems: Iterable[str], path: str | None) -> None:
    """A `DefinitionError` with everything that is wrong, if anything is."""
    found = tuple(problems)
    if found:
        name = "agent file" if path is None else f"agent file {path.replace(chr(92), '/').rpartition('/')[2]!r}"
        raise DefinitionError(name, found, path)


# ── Markdown ─────────────────────────────────────────────────────────────────

_FENCE: Final = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


def read_page(text: str, problems: Problems, *, lenient: bool = False) -> Page | None:
    """The page, or `None` when its frontmatter cannot be read at all.

    `lenient` also reads `key: some: text` and `key: *`, no YAML but met in files of clients that read it so.
    """
    text = text.removeprefix("\ufeff")
    opening = _FENCE.match(text)
    if opening is None:
        begun = text.lstrip()
        if begun.startswith("---"):  # taken for instructions, its rules would be gone without a word
            before = text[: len(text) - len(begun)].count("\n")
            problems.add_at(before + 1, "the frontmatter must begin on line 1, with a line of its own: `---`")
            return None
        return Page({}, {}, text.strip(), has_frontmatter=False)
    closing = _FENCE.search(text, opening.end() + 1)
    if closing is None:
        problems.add_at(1, "the frontmatter that begins here has no end; close it with a line `---`")
        return None
    # The fence stays as an empty line, so that lines are counted as the file counts them.
    source = text[opening.end() : closing.start()]
    if len(source) > LARGEST_FRONTMATTER:
        problems.add_at(1, f"the frontmatter is longer than {LARGEST_FRONTMATTER} characters; put the text below it")
        return None
    values, lines, wrong = _table(source)
    if wrong and lenient:
        again = _table(_quoted(source))
        values, lines, wrong = (values, lines, wrong) if again[2] else again
    for line, message in wrong:
        problems.add_at(line, message)
    problems.lines.update(lines)
    return None if values is None else Page(values, lines, text[closing.end() :].strip())


def line_of_key(text: str, key: str) -> int:
    """The line on which the frontmatter of a page has a key; 1 where it has none."""
    problems = Problems()
    read_page(text, problems)
    return problems.line_of((key,))


def _table(source: str) -> tuple[dict[str, Any] | None, dict[Place, int], YamlProblems]:
    """The table that a frontmatter holds; `None` if it is no table."""
    value, lines, wrong = read_yaml(source, MOST_TOKENS)
    if value is None and not wrong:
        return {}, lines, wrong
    if not isinstance(value, dict):
        is_other = [(lines[()], "the frontmatter is no table of `key: value` lines")] if lines else []
        return None, {}, [*wrong, *is_other]
    return value, lines, wrong


_LOOSE: Final = re.compile(r"^([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*\r?$", re.MULTILINE)
# A block of text, a comment, or what was written as a quotation, a list or a table from its first letter to its last.
_AS_IT_IS: Final = re.compile(r"""[|>][-+0-9]*(?:\s+\#.*)?|\#.*|".*"|'.*'|\[.*\]|\{.*\}""")
_UNSAYABLE: Final = re.compile(r"""[\[{}\]*&!|>%@`,"']|.*(?:: | \#|:$)""")


def _quoted(source: str) -> str:
    """Top-level texts that YAML would take for something else in quotation marks."""

    def quoted(found: re.Match[str]) -> str:
        key, said = found[1], found[2]
        plain = _AS_IT_IS.fullmatch(said) or not _UNSAYABLE.match(said)
        return f"{key}: {said}" if plain else f"{key}: '{_doubled(said)}'"

    return _LOOSE.sub(quoted, source)


def _doubled(text: str) -> str:
    return text.replace("'", "''")


# ── taking a table apart ─────────────────────────────────────────────────────

_KINDS: Final[Mapping[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "a table",
}


class Section:
    """One table of a file, taken apart key by key; what is wrong is noted, and so is what nobody asked for."""

    def __init__(self, content: dict[str, Any], problems: Problems, place: Place = ()) -> None:
        self.content, self.problems, self.place = content, problems, place
        self._asked: dict[str, None] = {}

    def problem(self, message: str, *at: str | int) -> None:
        self.problems.add(message, (*self.place, *at))

    def take(self, key: str) -> Any:
        """Whatever stands there, or `None`."""
        self._asked[key] = None
        return self.content.get(key)

    def text(self, key: str) -> str | None:
        """A text that says something, or `None`."""
        value: str | None = self.of(key, str)
        if value is not None and not value.strip():
            self.problem("is empty", key)
            return None
        return value

    def of(self, key: str, kind: type) -> Any:
        """A value of this kind, or `None`."""
        value = self.take(key)
        if value is None:
            if key in self.content:
                self.problem(f"is empty; it must be {_KINDS[kind]}", key)
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.problem(f"must be {_KINDS[kind]}, not {shown(value)}", key)
            return None
        return value

    def table(self, key: str) -> Section | None:
        value = self.of(key, dict)
        return None if value is None else Section(value, self.problems, (*self.place, key))

    def left(self) -> dict[str, Any]:
        """What nobody asked for."""
        return {key: value for key, value in self.content.items() if key not in self._asked}

    def close(self) -> None:
        """Everything was asked for: what is left is not known here."""
        for key in self.left():
            known = ", ".join(self._asked)
            self.problem(f'there is no key "{key}" here; known: {known}.{nearest(key, self._asked)}', key)


def shown(value: Any) -> str:
    """A value as a message quotes it."""
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:59]}…"
