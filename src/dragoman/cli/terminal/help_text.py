"""Help that fits the terminal: examples are broken as shell lines, rows of two columns below their second.

Rule: a paragraph that click leaves as it is written (`\\b`) is never wider than the help, and an example that was
broken is still the same command when it is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import click

_ROW: Final = re.compile(r"(\S.*?\s{2,})(\S.*)")
_WORD: Final = re.compile(r"""(?:[|>&]+\s+)?(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+""")
"""A word of a shell line; a pipe or a redirection stays with what follows it."""
_INDENT: Final = "    "
_SENTENCE: Final = re.compile(r".*?[.](?=\s|\Z)")


class HelpFormatter(click.HelpFormatter):
    """Writes paragraphs that are not to be wrapped so that they fit."""

    def write_text(self, text: str) -> None:
        width = max(self.width - self.current_indent, 11)
        super().write_text("\n\n".join(fitted(paragraph, width) for paragraph in text.split("\n\n")))


class HelpContext(click.Context):
    """The context of our commands."""

    formatter_class = HelpFormatter


def with_help(command: click.Command) -> click.Command:
    """The command, whose help and that of the commands below it fit the terminal."""
    command.context_class = HelpContext
    for parameter in command.params:
        if parameter.metavar is None and isinstance(
            parameter.type, (click.types.IntParamType, click.types.FloatParamType)
        ):
            parameter.metavar = "N"
    below: dict[str, Any] = getattr(command, "commands", {})
    for one in below.values():
        with_help(one)
        # click would cut it after some 45 characters; a list of commands has room for whole sentences.
        one.short_help = one.short_help or _first_sentence(one.help or "")
    return command


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = _SENTENCE.match(paragraph)
    return sentence[0] if sentence is not None else paragraph


def fitted(paragraph: str, width: int) -> str:
    """A paragraph of help; lines of one that click would not wrap are broken here."""
    first, *lines = paragraph.split("\n")
    if first.strip() != "\b":
        return paragraph
    return "\n".join([first, *(part for line in lines for part in _broken(line, width))])


def _broken(line: str, width: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
        return
    row = _ROW.fullmatch(line)
    if row is not None:
        from textwrap import wrap

        first, *more = wrap(row[2], max(width - len(row[1]), 20), break_on_hyphens=False)
        yield row[1] + first
        yield from (" " * len(row[1]) + text for text in more)
        return
    begun = ""
    for word in _WORD.findall(line):
        if begun.strip() and len(f"{begun} {word} \\") > width:
            yield f"{begun} \\"
            begun = _INDENT + word
        else:
            begun = f"{begun} {word}" if begun else word
    yield begun
