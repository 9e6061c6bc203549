"""The fields of a log's records, as they stand in its files: which object has which names, with values of which kinds.

Rules: a log is walked as JSON, without the reader of its format, so that a field nobody reads is seen too. The place of
an object is the path to it, with what it calls itself (`assistant.message.content[tool_use]`); what a tool returned has
the tool in it (`user.toolUseResult@Bash`). A record whose message begins with a block is a place of its own as well
(`user+tool_result`; with its flags, as Claude Code logs less of what was `isSidechain`), and so is what a tool returned
with one status (`part.state@bash+completed`). A text that is JSON has a place with its tool in braces
(`content{Edit}`): whether it is the client's is learnt. What models, users and other programs put in (arguments, files,
results of MCP servers) is not looked into: names in it are not the client's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.errors import LogError
from dragoman.logs.base.compressed import open_log
from dragoman.logs.base.database import SQLITE, Copy, beginning
from dragoman.logs.base.format import UNDECODABLE, Gathered, decoded
from dragoman.model import Source

Fields = Mapping[str, str]
"""The names of an object with the kinds of their values, one letter each; `name[]` has those of the items of a list."""

KINDS: Final = {"s": "string", "i": "number", "b": "boolean", "o": "object", "a": "array", "n": "null"}

SAYS_KIND: Final = ("type", "subtype", "kind", "role", "event", "event.name", "say", "ask")
_SAYS_TOOL: Final = ("tool", "toolName", "tool_name")
_NAMES_TOOL_BESIDE: Final = {"args", "input", "arguments", "rawInput", "result", "response", "parameters"}
"""An object with a `name` and one of these is a call, or what came of one."""
_CALL_IDS: Final = ("id", "call_id", "callId", "callID", "toolCallId", "tool_call_id", "tool_use_id", "toolUseId")
OPAQUE: Final = {
    *("input", "args", "arguments", "parameters", "rawInput", "rawArguments", "parsedArgs", "function_args"),
    *("toolInput", "tool_input", "schema", "inputSchema", "input_schema", "parametersJsonSchema"),
    *("outputSchema", "output_schema", "model_input"),
    *("env", "environment", "headers"),
}
"""Fields whose objects hold what a model, a user or a server named."""
_OF_A_RESULT: Final = re.compile(
    r"result(Display|\[\])?$|output(\[\])?$|response$|^details$|telemetry$|^state$", re.IGNORECASE
)
"""Fields whose objects differ from tool to tool."""
_OF_OTHERS: Final = re.compile(
    r"delta|partial|signature|(?:original|updated|old|new|file)_?(?:content|file|text|string|source)", re.IGNORECASE
)
"""Fields whose texts are a model's, a provider's or a file's (Claude Code, 2.1.54 to 2.1.325, has whole
notebooks in `original_file`)."""
SERVER: Final = "@*"
"""In the place of what a tool gave that is not the client's: only what the client puts around it is looked into."""
_SERVERS_OWN: Final = OPAQUE | {
    *("content", "contents", "details", "metadata", "response"),
    *("structured", "structuredContent", "structured_content"),
}
"""Fields whose objects are the server's in what its tool gave."""
_NOTES_OF_SERVERS: Final = ("_meta", "meta")
"""Fields that a server adds or not, by the Model Context Protocol."""
_OF_A_SERVER: Final = re.compile(r"mcp", re.IGNORECASE)
"""Tools of a client whose texts are a server's (`read_mcp_resource` of Codex since 0.77.0)."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,47}")
_NAME: Final = re.compile(r"(?:event\.)?[A-Za-z_$][A-Za-z0-9_$-]{0,47}")
_DATA: Final = re.compile(r"\d{4}|[0-9a-f]{12}|-\d")
"""In a name: a number, a hash or the version of a model, so it is data and no field."""
_UNSURE: Final = re.compile(r"[^A-Za-z0-9_-]")
_DEEPEST: Final = 24
NO_JSON: Final = "~"
"""At the end of the place of a text that is no JSON, where other texts may be."""

IsOwnTool = Callable[[str], bool]
TextRecords = Callable[[bytes], Iterable[tuple[dict[str, Any], int, int]] | None]


class Walk:
    """Walks the records of one log. `is_own` says whether a tool is the client's own."""

    def __init__(self, is_own: IsOwnTool) -> None:
        self._is_own = is_own
        self._tools: dict[str, str] = {}
        """Call id → its tool: a result often has the id alone."""

    def objects(self, record: Any, root: str = "", unnamed: str = "record") -> Iterator[tuple[str, Fields]]:
        """Every object of a record with its place and its fields, the outermost first.

        `unnamed` is the place of a record that does not say of which kind it is.
        """
        if isinstance(record, dict):
            self._note_tools(record, 0)
            kind = kinds_of(record)
            place = root + (f"<{kind}>" if "." in kind else kind) or unnamed
            yield from self._object(record, place, self._tool_of(record, 3), _DEEPEST)
            if (block := _first_block(record)) is not None:
                flags = "".join(f"/{name}" for name in sorted(record) if name[:2] == "is" and record[name] is True)
                yield f"{place}+{block}{flags}", {name: "" for name in record if is_name(name)}
        elif isinstance(record, list):
            for one in record:
                yield from self.objects(one, root, unnamed)

    def _object(
        self, value: dict[str, Any], place: str, tool: str | None, deepest: int
    ) -> Iterator[tuple[str, Fields]]:
        fields: dict[str, str] = {}
        inner: list[tuple[str, Any]] = []
        texts: list[tuple[str, str]] = []
        # A map from names of files or models to objects: a key of it that could be the name of a field is none.
        is_map = any(isinstance(one, dict) and not is_name(name) for name, one in value.items())
        for name, one in value.items():
            if name in _NOTES_OF_SERVERS and SERVER in place:
                continue
            if not is_name(name) or (is_map and isinstance(one, dict)):
                name = "*"
            kind = _kind(one)
            fields[name] = "".join(sorted({*fields.get(name, ""), kind}))
            if kind == "a":
                kinds = {_kind(item) for item in one}
                fields[f"{name}[]"] = "".join(sorted(kinds))
                inner += [(f"{name}[]", item) for item in one if isinstance(item, dict)]
            elif kind == "o":
                inner.append((name, one))
            elif kind == "s" and (tool is not None or one[:1] == "{"):
                texts.append((name, one))
        yield place, fields
        status = value.get("status")
        if "@" in place and isinstance(status, str) and _WORD.fullmatch(status):
            yield f"{place}+{status}", {name: "" for name, kinds in fields.items() if kinds not in ("n", "")}
        if not deepest:
            return
        for name, text in texts:
            if name not in OPAQUE and _OF_OTHERS.search(name) is None:
                yield from self._text(text, f"{place}.{name}", self._tool_of(value, 0) or tool, deepest)
        for name, one in inner:
            if name.removesuffix("[]") in (OPAQUE if SERVER not in place else _SERVERS_OWN):
                continue
            its = self._tool_of(one, 0) or tool
            where = f"{place}.{name}"
            if its is not None and "@" not in place and _OF_A_RESULT.search(name):
                if self._is_own(its):
                    where = f"{where}@{_UNSURE.sub('_', its)}"
                elif name.endswith("[]") or name in _SERVERS_OWN:
                    continue  # a server's or a user's: its fields are not the client's
                else:
                    where += SERVER
            yield from self._object(one, where + _called_in(one), its, deepest - 1)

    def _text(self, text: str, where: str, tool: str | None, deepest: int) -> Iterator[tuple[str, Fields]]:
        """The objects of a text that is one in JSON. Of what a tool returned other texts are counted, too."""
        if tool is not None and (_OF_A_SERVER.search(tool) is not None or not self._is_own(tool)):
            return
        given = decoded(text.encode("utf-8", "replace")) if text[:1] == "{" else None
        if isinstance(given, dict):
            place = f"{where}{{{_UNSURE.sub('_', tool or _own_tool(given) or '')}}}"
            yield from self._object(given, place + _called_in(given), None, deepest - 1)
        elif tool is not None:
            yield f"{where}{{{_UNSURE.sub('_', tool)}}}{NO_JSON}", {}

    def _note_tools(self, value: Any, depth: int) -> None:
        if depth > 6:
            return
        if isinstance(value, dict):
            tool = _own_tool(value)
            if tool is not None:
                for name in _CALL_IDS:
                    if isinstance(id := value.get(name), str):
                        self._tools[id] = tool
            for one in value.values():
                if isinstance(one, dict | list):
                    self._note_tools(one, depth + 1)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict | list):
                    self._note_tools(one, depth + 1)

    def _tool_of(self, value: Any, depth: int) -> str | None:
        """The tool an object is about: it names it, or the id of a call."""
        if isinstance(value, list):
            tools = {tool for one in value[:3] if (tool := self._tool_of(one, depth)) is not None}
            return tools.pop() if len(tools) == 1 else None
        if not isinstance(value, dict):
            return None
        tool = _own_tool(value)
        if tool is not None:
            return tool
        for name in _CALL_IDS:
            if isinstance(id := value.get(name), str) and id in self._tools:
                return self._tools[id]
        if depth:
            for name in ("message", "content", "payload", "data", "part", "parts", "functionResponse"):
                if isinstance(value.get(name), dict | list) and (found := self._tool_of(value[name], depth - 1)):
                    return found
        return None


def is_name(name: str) -> bool:
    """Whether this may be the name of a field; names of files, ids and dates are data."""
    return _NAME.fullmatch(name) is not None and _DATA.search(name) is None


def _own_tool(value: Mapping[str, Any]) -> str | None:
    for name in _SAYS_TOOL:
        if isinstance(said := value.get(name), str):
            return said
    if isinstance(said := value.get("name"), str) and not _NAMES_TOOL_BESIDE.isdisjoint(value):
        return said
    function = value.get("function")
    if isinstance(function, dict) and isinstance(said := function.get("name"), str) and "arguments" in function:
        return said
    return None


def kinds_of(value: Mapping[str, Any]) -> str:
    """What an object calls itself; nothing where it does not."""
    words = [value[name] for name in SAYS_KIND if isinstance(value.get(name), str)]
    return "/".join(dict.fromkeys(word for word in words if _WORD.fullmatch(word) and not _DATA.search(word)))


def _first_block(record: Mapping[str, Any]) -> str | None:
    """What the message in a record begins with: fields beside it (`toolUseResult`) depend on that."""
    message = record.get("message")
    parts = (message.get("content") or message.get("parts")) if isinstance(message, dict) else None
    if not isinstance(parts, list) or not parts or not isinstance(parts[0], dict):
        return None
    return kinds_of(parts[0]) or next((name for name in parts[0] if is_name(name)), None)


def _called_in(value: Mapping[str, Any]) -> str:
    called = kinds_of(value)
    return f"<{called}>" if called else ""


def _kind(value: Any) -> str:
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "b"
    if isinstance(value, str):
        return "s"
    if isinstance(value, int | float):
        return "i"
    return "o" if isinstance(value, dict) else "a"


def records_of(path: Path, text_records: TextRecords | None = None) -> Iterator[tuple[str, Any, Source]]:
    """The JSON values of a file: of its lines, of the document it is, or of the rows of the database it is.

    Each comes with what it stands in (a table) and where; what is no JSON is passed over, as its reader tells of it.
    Of a plain text its format gives the records.
    """
    if beginning(path, len(SQLITE)) == SQLITE:
        yield from _rows(path)
        return
    try:
        if path.stat().st_size > Gathered.largest:
            return
        with open_log(path) as file:
            data = file.read(Gathered.largest + 1)
        if len(data) > Gathered.largest:
            return
    except (OSError, LogError):
        return
    marks = text_records(data) if text_records is not None else None
    if marks is None:
        yield from records_in(path, data)
        return
    for record, offset, length in marks:
        yield "", record, Source(str(path), offset, length)


def records_in(path: Path, data: bytes) -> Iterator[tuple[str, Any, Source]]:
    """The same of bytes that are those of a file, or its first ones."""
    try:
        yield "", msgspec.json.decode(data), Source(str(path), 0, len(data))
        return
    except UNDECODABLE:
        pass
    offset = 0
    for line in data.split(b"\n"):
        if line.strip() and (value := decoded(line)) is not None:
            yield "", value, Source(str(path), offset, len(line) + 1)
        offset += len(line) + 1


def _rows(path: Path) -> Iterator[tuple[str, Any, Source]]:
    import sqlite3

    copy = Copy(path)
    try:
        copy.write(path.read_bytes())
        with closing(copy.opened()) as database:
            names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in names:
                quoted = bytes(table).decode() if isinstance(table, bytes) else str(table)
                cursor = database.execute('SELECT * FROM "{}"'.format(quoted.replace('"', '""')))
                columns = [column[0] for column in cursor.description]
                for number, row in enumerate(cursor):
                    cells = dict(zip(columns, map(_cell, row), strict=True))
                    yield f"{quoted}:", cells, Source(str(path), 0, 0, f"{quoted}:{cells.get('id', number)}")
    except (sqlite3.Error, OSError):
        return
    finally:
        copy.close()


def _cell(cell: Any) -> Any:
    if not isinstance(cell, bytes | str):
        return cell
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text
