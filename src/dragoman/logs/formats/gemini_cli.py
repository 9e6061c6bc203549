"""Gemini CLI's sessions (0.19.4 … 0.61): `chats/session-*.json`, one document, or `.jsonl`, lines that add up to one.

The list of all prompts (`logs.json`) is read where it is named, and so is what the user saved of a session (`/chat
save`, `/chat share`) where the format is named too: they are not looked for, for they say again what a session says. A
sub-agent's conversation stands in a folder named by its parent's session. The client's version is nowhere in it.
What the client prints (`-o stream-json`) is read too: see `gemini_stream`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.logs.base.format import EitherReader, LogFormat, LogReader, Places, Sample

from .parts.gemini_chat import ChatReader
from .parts.gemini_stream import StreamReader, is_printed

CLIENT = "gemini_cli"

_TYPES = frozenset({"user", "gemini", "model", "info", "warning", "error"})
_PRINTED = re.compile(rb'\s*\{\s*"type"\s*:\s*"init"')
_ENOUGH = 64
"""Bytes that tell which of the two a file is."""
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"sessionId"\s*:.*?"projectHash"\s*:.*?"messages"\s*:\s*\[', re.DOTALL)


class GeminiCli(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    written_by = "gemini_writer.GeminiWriter"

    def recognise(self, sample: Sample) -> float:
        if isinstance(sample.document, dict) and "messages" in sample.document:
            return _document(sample.document)
        if isinstance(sample.document, list):
            return 0.8 if _lists_prompts(sample.document) else 0.0
        if is_printed(sample.records):
            return 0.9
        records = [record for record in sample.records if isinstance(record, dict)]
        if any(_is_header(record) for record in records):
            return 0.95
        if any(isinstance(record.get("$set"), dict) or "$rewindTo" in record for record in records):
            return 0.8
        if any(_is_message(record) and record["type"] == "gemini" for record in records):
            return 0.7
        is_cut = sample.document is None and _CUT_DOCUMENT.match(sample.head) is not None
        return 0.6 if is_cut and b'"qwen"' not in sample.head else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("GEMINI_CLI_HOME")
        for root in ([Path(configured)] if configured else []) + [places.home]:
            yield root / ".gemini" / "tmp"

    below = "*.json*"

    def keeps(self, path: str) -> bool:
        return path.endswith((".json", ".jsonl")) and "/chats/" in path.replace(os.sep, "/")

    def reader(self, path: Path) -> LogReader:
        return _Either(path)


class _Either(EitherReader):
    """Reads a conversation, or what was printed: that begins with `init`."""

    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        if len(begin) < _ENOUGH and not is_whole:
            return None
        return _Stream(self._path) if _PRINTED.match(begin) else _Chat(self._path)


class _Chat(ChatReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, CLIENT)


class _Stream(StreamReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, CLIENT)


def _document(document: dict[str, Any]) -> float:
    messages = document["messages"]
    if not isinstance(document.get("sessionId"), str) or not isinstance(messages, list):
        return 0.0
    types = {str(one.get("type")) if isinstance(one, dict) else None for one in messages}
    if not types <= _TYPES:
        return 0.3 if "gemini" in types else 0.0
    if "gemini" in types:
        return 0.95
    return 0.8 if "projectHash" in document else 0.5 if types and "startTime" in document else 0.0


def _lists_prompts(listed: list[Any]) -> bool:
    names = {"sessionId", "messageId", "type", "message", "timestamp"}
    return bool(listed) and all(isinstance(one, dict) and names <= one.keys() for one in listed)


def _is_header(record: dict[str, Any]) -> bool:
    return (
        isinstance(record.get("sessionId"), str)
        and "startTime" in record
        and ("projectHash" in record or "kind" in record)
        and "type" not in record
    )


def _is_message(record: dict[str, Any]) -> bool:
    return {"id", "timestamp", "type", "content"} <= record.keys()


FORMAT = GeminiCli()
