"""Goose's sessions (1.34.0): the SQLite database `sessions.db`, one row per session and one per message.

Tokens and cost are sums of a session: no message has its own, so each session has one `TokensUsed`, at its end. Times
are whole seconds. Parallel calls are split into one message per call. An agent is a session of its own; the result of
the call that started it names it. API errors and retries, and what was running when the user interrupted, are not in
the log, nor is the program's version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dragoman.logs.base.database import SQLITE, glanced, log_beside
from dragoman.logs.base.database_reader import DatabaseReader
from dragoman.logs.base.format import LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

if TYPE_CHECKING:
    import sqlite3

CLIENT: Final = "goose"
_TABLES: Final = {"schema_version", "sessions", "messages"}
_OWN_EXTENSIONS: Final = frozenset(
    {
        "analyze",
        "apps",
        "chatrecall",
        "code_execution",
        "developer",
        "extensionmanager",
        "skills",
        "summon",
        "todo",
        "tom",
    }
)
"""Extensions that are part of the client (1.34.0): their tools are its vocabulary, not an MCP server's."""


class Goose(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        if not sample.head.startswith(SQLITE):
            return 0.0
        tables = {name for (name,) in glanced(sample.path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables >= _TABLES:
            return 0.0
        columns = {row[1] for row in glanced(sample.path, "PRAGMA table_info(messages)")}
        return 0.95 if {"content_json", "created_timestamp", "session_id"} <= columns else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("GOOSE_PATH_ROOT")
        if configured:
            yield Path(configured) / "data" / "sessions"
        data = places.environment.get("XDG_DATA_HOME")
        if data:
            yield Path(data) / "goose" / "sessions"
        yield places.home / ".local" / "share" / "goose" / "sessions"
        if places.system == "darwin":
            yield places.home / "Library" / "Application Support" / "Block" / "goose" / "data" / "sessions"
        if places.system == "win32" and places.environment.get("APPDATA"):
            yield Path(places.environment["APPDATA"]) / "Block" / "goose" / "data" / "sessions"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "sessions.db")

    def companions(self, path: Path) -> Iterator[Path]:
        yield log_beside(path)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser(CLIENT, CLIENT, path.stem))


class _Reader(DatabaseReader):
    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._servers: dict[str, set[str]] = {}

    def events(self, database: sqlite3.Connection) -> Iterator[ev.AnyEvent]:
        messages: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows(database, "messages", "id"):
            messages.setdefault(str(row.get("session_id")), []).append(row)
        rows = {str(row.get("id")): row for row in self.rows(database, "sessions")}
        parents = _parents(messages)
        for id in [*rows, *(id for id in messages if id not in rows)]:
            self.normaliser.forget_all()
            yield from self._session(id, rows.get(id, {}), messages.get(id, []), parents)
        for row in self.rows(database, "schema_version"):
            place = Place(self.row("schema_version", row.get("version")), f"schema_version:{row.get('version')}")
            place.session = next(iter(rows), None)
            yield self.normaliser.event(ev.ClientNoted, place, name="schema_version", data=row)

    def _session(
        self, id: str, row: dict[str, Any], messages: list[dict[str, Any]], parents: Mapping[str, tuple[str, str]]
    ) -> Iterator[ev.AnyEvent]:
        settings = as_object(_value(row.get("model_config_json")))
        model = as_text(settings.get("model_name"))
        parent, call = parents.get(id, (None, None))
        place = Place(self.row("sessions", id), "session", id, time=moment(row.get("created_at")))
        if row:
            told = ("id", "working_dir", "model_config_json", "extension_data", "recipe_json", "created_at")
            yield self.normaliser.event(
                ev.SessionStarted,
                place,
                cwd=as_text(row.get("working_dir")),
                model=model,
                dialect=CLIENT,
                parent_session=parent,
                parent_call=call,
                metadata={key: row[key] for key in row if key not in told and row[key] is not None},
            )
        by = "agent" if row.get("session_type") == "sub_agent" else "user"
        for message in messages:
            yield from self._message(message, id, model, by)
        used = _usage(row)
        if used is not None:
            place = Place(place.source, "tokens", id, time=moment(row.get("updated_at")))
            spent = as_positive(row.get("accumulated_cost"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=used, model=model, cost=spent)

    def _message(self, row: dict[str, Any], session: str, model: str | None, by: str) -> Iterator[ev.AnyEvent]:
        source = self.row("messages", row.get("id"))
        place = Place(source, f"m{row.get('id')}", session, time=moment(row.get("created_timestamp")))
        place.provider_id = as_text(row.get("message_id"))
        content = _value(row.get("content_json"))
        if not isinstance(content, list):
            yield self.normaliser.event(ev.Unreadable, place, reason="the content of a message is a JSON list")
            return
        if as_object(_value(row.get("metadata_json"))).get("userVisible") is False:
            by = "client"
        for block in as_objects(content):
            yield from self._block(block, place, as_text(row.get("role")), model, by)
        if place.number == 0:
            yield self.normaliser.event(ev.ClientNoted, place, name="message/empty", data={"role": row.get("role")})

    def _block(
        self, block: dict[str, Any], place: Place, role: str | None, model: str | None, by: str
    ) -> Iterator[ev.AnyEvent]:
        kind, event = as_text(block.get("type")), self.normaliser.event
        text, media = as_text(block.get("text")) or "", _media(block)
        if kind in ("text", "image") and role == "user":
            yield event(ev.UserSaid, place, text=text, media=() if media is None else (media,), by=by)
        elif kind in ("text", "image"):
            yield event(ev.ModelSaid, place, text=text, media=() if media is None else (media,), model=model)
        elif kind in ("thinking", "reasoning"):
            text = as_text(block.get("thinking")) or text
            yield event(ev.ModelThought, place, text=text, model=model, hidden=not text)
        elif kind == "redactedThinking":
            yield event(ev.ModelThought, place, text="", model=model, hidden=True)
        elif kind in ("toolRequest", "frontendToolRequest"):
            yield self._called(block, place)
        elif kind in ("toolResponse", "frontendToolResponse"):
            yield from self._returned(block, place)
        else:
            yield event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _called(self, block: dict[str, Any], place: Place) -> ev.AnyEvent:
        call = as_object(block.get("toolCall"))
        value = as_object(call.get("value"))
        name, arguments = as_text(value.get("name")), value.get("arguments")
        if name is None:  # a call that could not be read, with the reason in place of it
            return self.normaliser.event(ev.ClientNoted, place, name="toolRequest/unread", data=block)
        server = as_text(as_object(block.get("_meta")).get("goose_extension"))
        if server is not None and server not in _OWN_EXTENSIONS and name.startswith(f"{server}__"):
            tools = self._servers.setdefault(server, set())
            if name not in tools:
                tools.add(name)
                known = {one: {tool.removeprefix(f"{one}__") for tool in names} for one, names in self._servers.items()}
                self.normaliser.knowing(servers=known)
        given = arguments if isinstance(arguments, dict | str) else {}
        return self.normaliser.called(place, NativeCall(as_text(block.get("id")) or place.key, name, given))

    def _returned(self, block: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        result = as_object(block.get("toolResult"))
        value, id = as_object(result.get("value")), as_text(block.get("id")) or ""
        if result.get("status") == "error":
            native = NativeResult(id, as_text(result.get("error")) or "", is_error=True, item=result)
        else:
            flag = value.get("isError")
            item = {key: value[key] for key in value if key != "content"}
            native = NativeResult(id, _content(value.get("content")), is_error=flag is True, item=item)
        yield self.normaliser.returned(place, native)
        agent = as_text(as_object(value.get("_meta")).get("subagent_session_id"))
        if agent is not None:
            yield self.normaliser.event(ev.AgentStarted, place, agent=agent, agent_session=agent, call_id=id)


# ── values ───────────────────────────────────────────────────────────────────


def _parents(messages: Mapping[str, list[dict[str, Any]]]) -> dict[str, tuple[str, str]]:
    """Agent → the session and the call that started it."""
    found: dict[str, tuple[str, str]] = {}
    for session, rows in messages.items():
        for row in rows:
            if "subagent_session_id" not in str(row.get("content_json")):
                continue
            for block in as_objects(_value(row.get("content_json"))):
                value = as_object(as_object(block.get("toolResult")).get("value"))
                agent, call = as_object(value.get("_meta")).get("subagent_session_id"), block.get("id")
                if isinstance(agent, str) and isinstance(call, str) and agent != session:
                    found.setdefault(agent, (session, call))
    return found


def _value(text: Any) -> Any:
    return decoded(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None


def _usage(row: Mapping[str, Any]) -> Usage | None:
    read, written = (as_integer(row.get(f"accumulated_{kind}_tokens")) for kind in ("input", "output"))
    return None if read is None and written is None else Usage(input_tokens=read, output_tokens=written)


def _content(blocks: Any) -> str | tuple[str | Media, ...]:
    pieces: list[str | Media] = []
    for block in as_objects(blocks):
        media = _media(block)
        if media is not None:
            pieces.append(media)
        elif isinstance(block.get("text"), str):
            pieces.append(block["text"])
        else:
            resource = as_object(block.get("resource"))
            pieces.append(as_text(resource.get("text")) or str(resource or block))
    return pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else tuple(pieces)


def _media(block: Mapping[str, Any]) -> Media | None:
    data, kind = as_text(block.get("data")), as_text(block.get("mimeType"))
    return None if data is None or kind is None else Media(kind, data=data)


FORMAT = Goose()
