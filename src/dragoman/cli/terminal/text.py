"""Text on the command line: what is not UTF-8 is refused before a command gets it.

No API, database or settings file can hold such text. The name of a file may be any bytes, so a value that names one is
taken as it is.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

import click

_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")
"""How Python holds a byte of an argument that is not UTF-8."""


class _Text(click.types.StringParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        if not is_utf8(text) and not os.path.lexists(text):
            shown = _ESCAPED_BYTE.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)
            self.fail(f"not UTF-8 text: {shown}", param, ctx)
        return text


_TEXT: Final = _Text()


def takes_only_text(command: click.Command) -> click.Command:
    """The command, whose parameters and those of the commands below it take no text that is not UTF-8."""
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = _TEXT
    for below in getattr(command, "commands", {}).values():
        takes_only_text(below)
    return command


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
