"""How logs begin whose format their first records tell: most files are recognised by this alone.

Rule: an opening says no more than the format itself would of such records (`LogFormat.recognise`). All others are left
to the formats, which take a file's beginning apart, and of which each has to be loaded to be asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SIZE: Final = 8192
"""Bytes of a file that are looked at."""
_TEXT: Final = rb'"[^"\\\n]*"'


def _opening(pattern: bytes) -> re.Pattern[bytes]:
    """In a pattern, `~` is a JSON text. A quote within a text of JSON is escaped, so what stands between two quotes
    without it, as `"type":"user"`, is no part of anybody's words."""
    return re.compile(pattern.replace(b"~", _TEXT))


OPENINGS: Final[Sequence[tuple[str, float, re.Pattern[bytes]]]] = (
    ("dragoman", 1.0, _opening(rb'\{"format":"dragoman"')),
    (
        "claude_code",
        0.95,
        _opening(
            rb'(?:\{"(?:type|parentUuid)":[^\n]*\n){0,20}?'  # snapshots, hooks and the like, which come first in many
            rb'\{"parentUuid":(?:null|~),(?:"logicalParentUuid":(?:null|~),)?"isSidechain":(?:true|false),'
            rb'(?=[^\n]*"uuid":~)(?=[^\n]*"sessionId":~)[^\n]*?"type":"user","message":\{"role":~,"content":'
        ),
    ),
    ("codex", 0.95, _opening(rb'\{"timestamp":~,(?:"ordinal":\d+,)?"type":"session_meta","payload":\{')),
    ("codex", 0.9, _opening(rb'\{"type":"thread\.started","thread_id":~\}\n')),
    ("copilot", 0.95, _opening(rb'\{"type":"session\.start","data":\{(?:"\w+":(?:~|\d+),)*"copilotVersion":')),
    ("gemini_cli", 0.95, _opening(rb'\{"sessionId":~,"projectHash":~,"startTime":~(?:,"\w+":~)*\}\n')),
    (
        "qwen_code",
        0.95,
        _opening(
            rb'\{"uuid":~,"parentUuid":null,"sessionId":~,"timestamp":~,"type":"user",(?:"\w+":~,)*'
            rb'"message":\{"role":~,"parts":\['
        ),
    ),
)
"""A format, how sure it is of a file that begins so, and the beginning."""


def format_by_opening(path: Path | str) -> tuple[str, float] | None:
    """The format of a file that begins as only this one does; `None` where its formats have to be asked."""
    head = _head(path)
    for name, confidence, opening in OPENINGS if head.startswith(b'{"') else ():
        if opening.match(head):
            return name, confidence
    return None


def _head(path: Path | str) -> bytes:
    """The first bytes of a file; nothing of what cannot be opened, and of a pipe, which would be gone then."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return b""
    try:
        return os.pread(file, SIZE, 0) if hasattr(os, "pread") else os.read(file, SIZE)
    except OSError:  # a folder, or a pipe, in which there are no places
        return b""
    finally:
        os.close(file)
