"""A command line taken apart as the shell would: programs with their words, and where their streams go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


# tree-sitter-bash 0.25.1 looks characters up in a table of 256 without looking at their size: `{` before U+31860 ends
# the process with a segmentation fault (its issue 337, open). So it is given each byte of the text as a character of
# its own, none above U+00FF. Two of them would be taken for spaces; control characters stand for those.
_STANDS_FOR = {0x85: 0x01, 0xA0: 0x02}
_RESTORED = {0x01: 0x85, 0x02: 0xA0}


def to_parse(command: str) -> bytes:
    return command.encode() if command.isascii() else command.encode().decode("latin-1").translate(_STANDS_FOR).encode()


def _restored(parsed: bytes) -> str:
    """The text of the command that `parsed` was made from."""
    text = parsed.decode()
    return text if text.isascii() else text.translate(_RESTORED).encode("latin-1").decode()


@cache
def parser() -> Parser:
    # Loaded when the first command line is looked at: reading calls does without.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


Word = str | None
"""A word as the program gets it; `None` when only running would tell."""

_PLAIN = re.compile(
    # An option is no file's name, so the shell leaves the marks of a pattern in it alone.
    r"(?:[^\\*?\[\]{}~$`\"'<>|&;()\s!]|(?<=.)[~!]|\\.)+|!|-(?:[^\\{}~$`\"'<>|&;()\s]|\\.)+",
    re.DOTALL,
)


def text_of(node: Node) -> str:
    return _restored(node.text or b"")


def _word(node: Node) -> Word:
    match node.type:
        case "command_name":
            return _word(node.children[0])
        case "word":
            text = text_of(node)
            return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if _PLAIN.fullmatch(text) else None
        case "number":
            return text_of(node)
        case "raw_string":
            return text_of(node)[1:-1]
        case "string":
            inner = [child for child in node.named_children if child.type != "string_content"]
            return None if inner else re.sub(r"\\([\"\\$`])", r"\1", text_of(node)[1:-1]).replace("\\\n", "")
        case "concatenation":
            words = [_word(child) for child in node.children]
            return None if None in words else "".join(word for word in words if word is not None)
    return None


class Redirect(NamedTuple):
    """Where a stream goes to or comes from."""

    operator: str
    target: Word
    descriptor: str


class Stage(NamedTuple):
    """One program of a pipeline."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether what it prints goes on to the next stage or to the reader."""
        return not any(
            one.operator in (">", ">>", "&>", "&>>", ">|") and one.descriptor in ("", "1") for one in self.redirects
        )

    @property
    def given(self) -> Word:
        """The text it is given in a heredoc; `None` when there is none, or its content is computed."""
        return next((one.target for one in self.redirects if one.operator == "<<"), None)


def stage_of(node: Node) -> Stage | None:
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        inner = None if body is None else stage_of(body)
        return inner and inner._replace(redirects=(*inner.redirects, *redirects_of(node)))
    if node.type != "command":
        return None
    parts = [child for child in node.named_children if child.type != "variable_assignment"]
    words = [_word(child) for child in parts if not child.type.endswith("_redirect")]
    return Stage(tuple(words), tuple(redirects_of(node)))


def redirects_of(node: Node) -> Iterator[Redirect]:
    for child in node.children:
        if child.type == "file_redirect":
            yield _file_redirect(child)
        elif child.type == "heredoc_redirect":
            yield Redirect("<<", _heredoc(child), "")
            yield from (_file_redirect(inner) for inner in child.children if inner.type == "file_redirect")
        elif child.type == "herestring_redirect":
            word = _word(child.named_children[0]) if child.named_children else None
            yield Redirect("<<", None if word is None else f"{word}\n", "")


def _file_redirect(node: Node) -> Redirect:
    descriptor, target = node.child_by_field_name("descriptor"), node.child_by_field_name("destination")
    operator = next(text_of(child) for child in node.children if not child.is_named)
    return Redirect(
        operator, None if target is None else _word(target), "" if descriptor is None else text_of(descriptor)
    )


def _heredoc(node: Node) -> Word:
    """The content of a heredoc, taken from the lines themselves: the parser's own node leaves some of it out."""
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None or node.children[0].type != "<<":
        return None
    root = node
    while root.parent is not None:
        root = root.parent
    line, *rest = (root.text or b"")[start.end_byte - root.start_byte :].split(b"\n")
    word = (start.text or b"").strip(b"'\"\\")
    if word not in rest or any(mark in line for mark in (b"'", b'"', b"\\")):
        return None  # a line that goes on elsewhere than where it seems to
    if any(child.start_point.row == start.start_point.row for child in node.children_by_field_name("argument")):
        return None  # more words for the program stand after it
    content = b"".join(one + b"\n" for one in rest[: rest.index(word)])
    if start.end_byte + len(line) + 1 + len(content) != end.start_byte:
        return None
    text = _restored(content)
    return text if text_of(start)[:1] in "'\"\\" or not re.search(r"[\\$`]", text) else None


_BEFORE = ("time", "nohup", "command", "sudo", "exec", "builtin")


def without_wrappers(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A command without the programs that only start another."""
    while len(words) > 1:
        first, second = words[0], words[1]
        if second is None or second.startswith("-"):
            return words
        if first in _BEFORE or (first == "timeout" and re.fullmatch(r"[\d.]+[smhd]?", second)):
            words = words[2:] if first == "timeout" else words[1:]
        elif first == "env" and re.fullmatch(r"\w+=.*", second, re.DOTALL):
            words = ("env", *words[2:])
        elif first == "env":
            words = words[1:]
        else:
            return words
    return words


def program_of(stage: Stage) -> str:
    words = stage.words
    if not words or words[0] is None:
        return ""
    name = words[0].rpartition("/")[2]
    return f"git {words[1]}" if name == "git" and len(words) > 1 else name
