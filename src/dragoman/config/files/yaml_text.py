"""YAML text as plain values that know the lines they stand on.

Rule: nothing in a text is run and nothing in it grows: no tags, no aliases, no key twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from .toml_text import TextPlace

if TYPE_CHECKING:
    import yaml

DEEPEST: Final = 100
"""Brackets that may be open at once."""

YamlProblems = list[tuple[int, str]]
"""What is wrong with a text, each with its line."""

# What a bare word may mean; the rest is text. No dates and no `yes`: a name that looks like one stays what was written.
_PLAIN: Final = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    "float": (r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
}
_KNOWN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", *_PLAIN))


def read_yaml(source: str, most_tokens: int | None = None) -> tuple[Any, dict[TextPlace, int], YamlProblems]:
    """The value of a text, the lines of its places, and what is wrong with it, by line; no text has no value."""
    import yaml

    try:
        loader = _loader(source, most_tokens)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
        reading = _Reading()
        value = None if root is None else reading.value(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = error.problem or str(error.context)
        hint = "; a text that holds `: ` needs quotation marks" if said.startswith("mapping values") else ""
        return None, {}, [(mark.line + 1 if mark else 1, f"not valid YAML: {said}{hint}")]
    except yaml.reader.ReaderError as error:
        line = source[: error.position].count("\n") + 1
        return None, {}, [(line, f"not valid YAML: the character U+{ord(source[error.position]):04X} is not allowed")]
    except RecursionError:
        return None, {}, [(1, "it is nested too deeply")]
    return value, reading.lines, reading.wrong


def _loader(source: str, most_tokens: int | None) -> yaml.SafeLoader:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}
        fetched = 0

        def fetch_more_tokens(self) -> Any:
            self.fetched += 1
            if most_tokens is not None and self.fetched > most_tokens:
                raise yaml.MarkedYAMLError(
                    problem=f"it has more than {most_tokens:,} parts (keys, values, brackets)",
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
    """One walk over the nodes of a text."""

    def __init__(self) -> None:
        self.lines: dict[TextPlace, int] = {}
        self.wrong: YamlProblems = []
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: TextPlace, line: int | None = None) -> Any:
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

    def _mapping(self, node: yaml.MappingNode, place: TextPlace) -> dict[str, Any]:
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
