"""What a docstring says about a function or a class and about each of its parameters."""

from __future__ import annotations

import re
from importlib import import_module
from typing import NamedTuple

# Looked for before docstring-parser is loaded: most docstrings are one sentence, and its own guess tries every style.
# Each has a text it cannot do without, which is quicker to look for than its pattern.
_STYLES = (
    (
        "rest",
        "\n",
        re.compile(r"^[ \t]*:(?:param|parameter|arg|argument|key|keyword|returns?|raises?|type|rtype)\b", re.MULTILINE),
    ),
    (
        "numpydoc",
        "---",
        re.compile(
            r"^[ \t]*(?:Other )?(?:Parameters|Attributes|Returns|Raises|Examples)[ \t]*\n[ \t]*-{3,}", re.MULTILINE
        ),
    ),
    (
        "google",
        ":\n",
        re.compile(
            r"^[ \t]*(?:Arg(?:ument)?s|Param(?:eter)?s|Keyword Args|Attributes|Returns|Raises|Yields|Examples?):\s*$",
            re.MULTILINE,
        ),
    ),
)


class Described(NamedTuple):
    """The text before the sections of a docstring, and one text per parameter."""

    text: str
    parameters: dict[str, str]


def describe(docstring: str | None) -> Described:
    """Read a Google, NumPy or Sphinx docstring; one without sections is all text.

    Raises `ValueError` when its sections cannot be read.
    """
    if not docstring:
        return Described("", {})
    style = _style(docstring)
    if style is None:
        from inspect import cleandoc

        return Described(cleandoc(docstring), {})
    try:
        parsed = import_module(f"docstring_parser.{style}").parse(docstring)
    except RuntimeError as error:  # docstring_parser.ParseError
        raise ValueError(f"the docstring cannot be read: {error}") from error
    return Described(
        (parsed.description or "").strip(),
        {
            name.strip().lstrip("*"): " ".join(entry.description.split())
            for entry in parsed.params
            if entry.description
            for name in entry.arg_name.split(",")
        },
    )


def _style(docstring: str) -> str | None:
    for style, sign, pattern in _STYLES:
        if sign in docstring and pattern.search(docstring):
            return style
    return None
