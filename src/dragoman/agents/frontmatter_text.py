"""Markdown with YAML frontmatter as plain values that know the lines they stand on.

Rule: nothing in a file is run and nothing in it grows: no tags, no aliases, no key twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import DefinitionError, nearest

if TYPE_CHECKING:
    import yaml

Place = tuple[str | int, ...]
"""Keys and indexes that lead to a value: `("tools", 0, "name")`."""

LARGEST_FILE: Final = 1024 * 1024
MOST_TOKENS: Final = 5_000
"""Tokens of YAML in a frontmatter. PyYAML takes about 20 microseconds for each; the largest that people write have some
hundred, and 128 KiB of brackets have a hundred thousand."""
DEEPEST: Final = 100
"""Brackets that may be open at once."""
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
    values, lines, wrong = read_yaml(source)
    if wrong and lenient:
        again = read_yaml(_quoted(source))
        values, lines, wrong = (values, lines, wrong) if again[2] else again
    for line, message in wrong:
        problems.add_at(line, message)
    problems.lines.update(lines)
    return None if values is None else Page(values, lines, text[closing.end() :].strip())


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


# ── YAML ─────────────────────────────────────────────────────────────────────

Wrong = list[tuple[int, str]]

# What a bare word may mean; the rest is text. No dates and no `yes`: a name that looks like one stays what was written.
_PLAIN: Final = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    "float": (r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
}
_KNOWN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", *_PLAIN))


def read_yaml(source: str) -> tuple[dict[str, Any] | None, dict[Place, int], Wrong]:
    """The table a text holds, the lines of its places, and what is wrong with it; `None` if it is no table."""
    import yaml

    try:
        loader = _loader(source)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
        reading = _Reading()
        values = {} if root is None else reading.value(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = error.problem or str(error.context)
        hint = "; a text that holds `: ` needs quotation marks" if said.startswith("mapping values") else ""
        return None, {}, [(mark.line + 1 if mark else 1, f"not valid YAML: {said}{hint}")]
    except yaml.reader.ReaderError as error:
        line = source[: error.position].count("\n") + 1
        return None, {}, [(line, f"not valid YAML: the character U+{ord(source[error.position]):04X} is not allowed")]
    except RecursionError:
        return None, {}, [(1, "the frontmatter is nested too deeply")]
    if not isinstance(values, dict):
        return None, {}, [*reading.wrong, (reading.lines[()], "the frontmatter is no table of `key: value` lines")]
    return values, reading.lines, reading.wrong


def _loader(source: str) -> yaml.SafeLoader:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}
        fetched = 0

        def fetch_more_tokens(self) -> Any:
            self.fetched += 1
            if self.fetched > MOST_TOKENS:
                raise yaml.MarkedYAMLError(
                    problem=f"it has more than {MOST_TOKENS:,} parts (keys, values, brackets)",
                    problem_mark=self.get_mark(),
                )
            return super().fetch_more_tokens()

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - PyYAML's name
            # PyYAML looks at every open bracket again for each token: thousands of them take it seconds.
            if self.flow_level >= DEEPEST:
                raise RecursionError
            super().fetch_flow_collection_start(TokenClass)

    for name, (pattern, first) in _PLAIN.items():
        letters = ["" if letter == "\0" else letter for letter in first]
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{pattern})\Z"), letters)
    return Loader(source)


_HALF: Final = re.compile("[\ud800-\udfff]")

# In the place of what was not read, so that nobody complains about it a second time.
_UNREAD: Final = object()


class _Reading:
    """One walk over the nodes of a frontmatter."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.wrong: Wrong = []
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: Place, line: int | None = None) -> Any:
        """The plain value of a node; `line` is that of its key."""
        import yaml

        line = node.start_mark.line + 1 if line is None else line
        self.lines[place] = line
        if id(node) in self._seen:
            self.wrong.append((line, "aliases (`*name`) are not read; write it out"))
            return _UNREAD
        self._seen.add(id(node))
        if node.tag not in _KNOWN_TAGS:
            self.wrong.append((line, f"the tag {node.tag!r} is not read"))
            return _UNREAD
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            values = (self.value(inner, (*place, index)) for index, inner in enumerate(node.value))
            return [value for value in values if value is not _UNREAD]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        import yaml

        found: dict[str, Any] = {}
        for key, inner in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.wrong.append((line, "a key must be a word"))
                continue
            name = self._whole(key.value, line)
            if name in found:
                self.wrong.append((line, f'"{name}" is there twice'))
            value = self.value(inner, (*place, name), line)
            if value is not _UNREAD:
                found[name] = value
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        line, written = node.start_mark.line + 1, node.value
        try:
            match node.tag.rpartition(":")[2]:
                case "bool":
                    return written.lower() == "true"
                case "null":
                    return None
                case "int":
                    return int(written)
                case "float":
                    return float(written)
        except ValueError:  # `!!int "a"`, or more digits than Python reads
            self.wrong.append((line, f"{written!r:.60} is no number"))
        return self._whole(written, line)

    def _whole(self, written: str, line: int) -> str:
        """A text whose `\\ud83d\\ude00`, as JSON writes one letter, is that letter; half of one is no text."""
        if written.isascii() or not _HALF.search(written):
            return written
        joined = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if "\ufffd" in joined and "\ufffd" not in written:
            self.wrong.append((line, f"{written!r:.60} holds half of a letter"))
        return joined


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
