"""Conversations as Gemini CLI keeps them, and programs made from it: one JSON document, or lines that add up to one.

A line that carries the id of an earlier message replaces it, `$set` changes the conversation's own fields or the whole
list of its messages, `$rewindTo` cuts the list. Events are facts that happened, so a message tells only what it did
not tell before: its words, calls, results and tokens once each, however often they are written.

A conversation that the user saved is the bare list of what was sent (`role`, `parts`), by itself or as `history`. A
list of prompts of all conversations stands beside them; it tells what was asked in those that were not kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.logs.base.format import LinesReader
from dragoman.logs.base.json_ranges import DocumentReader, Pieces, pieces_of
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_text

_MODEL_TYPES: Final = ("gemini", "model", "qwen")
_SERVER_MARK: Final = " MCP Server)"
_SNAPSHOT: Final = "<state_snapshot>"
_CLIENTS_WORDS: Final = ("<session_context>", _SNAPSHOT, "This is the Gemini CLI. We are setting up the context")
_TASK: Final = re.compile(
    r"Your task is\b[^\n]*:\n<(?P<tag>question|objective|task)>\n(?P<words>.*?)\n</(?P=tag)>.*", re.DOTALL
)
"""What the client's own agents are told: the words of the call that spawned one; up to 0.37 nothing else names it."""
_SAVED: Final = "history"
_FOLDER: Final = re.compile(rb"I'm currently working in the directory: (/[^\\\"]+)")
_MARK: Final = b"\xef\xbb\xbf"
_LIST: Final = b'{"history":'
_DONE: Final = ("success", "error", "cancelled", "completed")
_ENDINGS: Final = {"GOAL": "completed", "TIMEOUT": "limited", "MAX_TURNS": "limited", "ABORTED": "cancelled"}


class _Told(msgspec.Struct):
    """What a message told so far: how many events, and its words and tokens as digests."""

    number: int = 0
    said: bytes | None = None
    thoughts: int = 0
    tokens: bytes | None = None


class _Reply(msgspec.Struct):
    """A message of the model's that may be written again with its calls: what it used is told after them."""

    id: str
    model: str | None
    used: tuple[Place, Usage] | None = None
    called: Place | None = None
    """Where its last calls stand."""


class ChatReader(DocumentReader):
    """Reads one conversation, whichever way it is kept."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem))
        self._stem = path.stem
        folder = self._beside = path.absolute().parent
        self._folder = folder.name if folder.parent.name == "chats" else None
        chats = folder if self._folder is None else folder.parent
        self._root = _project_root(chats) if chats.name == "chats" else None
        self._is_document: bool | None = None
        self._is_of_many = False
        self._named_folder: str | None = None
        self._session: str | None = None
        self._stream = "main"
        self._told: dict[str, _Told] = {}
        self._current: dict[str, None] = {}
        """The ids of the messages that count now, in their order."""
        self._servers: dict[str, set[str]] = {}
        self._prompted = False
        self._reply: _Reply | None = None
        self._model_said = self.normaliser.maker(ev.ModelSaid, "text", "media", "model")
        self._model_thought = self.normaliser.maker(ev.ModelThought, "text", "model", "hidden")
        self._model_finished = self.normaliser.maker(ev.ModelFinished, "finish", "model")
        self._tokens_used = self.normaliser.maker(ev.TokensUsed, "usage", "model")
        self._noted = self.normaliser.maker(ev.ClientNoted, "name")
        self._noted_with = self.normaliser.maker(ev.ClientNoted, "name", "data")

    # ── a document, or lines ───────────────────────────────────────────────

    def feed(self, data: bytes) -> list[ev.AnyEvent]:
        if self._is_document is False:
            return LinesReader.feed(self, data)
        self._gathered.append(data)
        if self._is_document or b"\n" not in data:
            return []
        start = self._gathered.peek()
        if _opens_list(start):
            self._is_document = True
            return []
        first = start.lstrip().split(b"\n", 1)
        if len(first) == 1:
            return []
        self._is_document = _opens_document(first[0])
        return [] if self._is_document else LinesReader.feed(self, self._gathered.take())

    def close(self) -> list[ev.AnyEvent]:
        data = self._gathered.take()
        if _opens_list(data):
            return self._list(data)
        if self._is_document is None:
            self._is_document = _opens_document(data)
        if not self._is_document:
            return self.read_lines(data)
        pieces = pieces_of(data, "messages") or self._saved(data)
        if pieces is None and _goes_on_in_lines(data):
            return self.read_lines(data)
        if pieces is None:
            return [self.normaliser.unreadable(ev.Source(self.path, 0, len(data)), "a document without messages")]
        return self.read_pieces(data, pieces)

    def _saved(self, data: bytes) -> Pieces | None:
        """The pieces of a conversation that was saved; its first message names the folder (the checkpoint
        in the client's own repository, August 2026)."""
        pieces = pieces_of(data, _SAVED)
        start, end = pieces.elements[0] if pieces is not None and pieces.elements else (0, 0)
        folder = _FOLDER.search(data[start:end])
        self._named_folder = None if folder is None else folder[1].decode("utf-8", "replace")
        return pieces

    def _list(self, data: bytes) -> list[ev.AnyEvent]:
        """A bare list, read as if it were a member of an object. The object is not closed: that might close an element
        which breaks off."""
        wrapped = _LIST + data.removeprefix(_MARK)
        moved = len(data) - len(wrapped)
        pieces = self._saved(wrapped)
        if pieces is None:
            return [self.normaliser.unreadable(ev.Source(self.path, 0, len(data)), "a list without messages")]
        pieces.elements = [(start + moved, end + moved) for start, end in pieces.elements]
        pieces.bad = [(start + moved, end + moved, reason) for start, end, reason in pieces.bad]
        pieces.head, pieces.tail, pieces.end = (at + moved for at in (pieces.head, pieces.tail, pieces.end))
        self._is_of_many = any(b'"messageId"' in data[start:end] for start, end in pieces.elements[:1])
        return self.read_pieces(data, pieces)

    def document_ended(self, source: ev.Source) -> ev.AnyEvent:
        return self.normaliser.event(ev.ClientNoted, self._place_at(source), name="document/end")

    def end(self) -> list[ev.AnyEvent]:
        events: list[ev.AnyEvent] = []
        self._replied(events)
        return events

    # ── records ────────────────────────────────────────────────────────────

    def add_record(self, value: Any, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        if not isinstance(value, dict):
            events.append(self.normaliser.unreadable(source, "a record is a JSON object"))
        elif isinstance(value.get("$rewindTo"), str):
            self._replied(events)
            events.append(self._rewound(value["$rewindTo"], self._place_at(source)))
        elif isinstance(value.get("$set"), dict):
            self._set(value["$set"], source, events)
        elif isinstance(value.get("message"), str) and "messageId" in value:
            events.append(self._prompt(value, source))
        elif isinstance(value.get("parts"), list) and value.get("role") in ("user", "model"):
            self._message({"type": value["role"], "content": value["parts"]}, source, events)
        elif source.offset == 0 and not value.keys() - {"authType"}:
            events.append(self._opened(value, source))
        elif "type" in value:
            self._message(value, source, events)
        elif "sessionId" in value:
            self._replied(events)
            events.append(self._header(value, source))
        else:
            events.append(self.normaliser.unknown(self._place_at(source), None))

    def _place_at(self, source: ev.Source, time: Any = None) -> Place:
        key = f"{self._stem}@{source.offset}"
        return Place(source, key, self._session, self._stream, None, moment(time))

    def _header(self, value: Mapping[str, Any], source: ev.Source) -> ev.AnyEvent:
        own, resumed = as_text(value.get("sessionId")), self._session is not None
        parent = None
        if value.get("kind") == "subagent" and own is not None:
            self._stream, parent = own if own != self._folder else self._stem, self._folder
        self._session = parent or own
        directories = value.get("directories")
        first = as_text(directories[0]) if isinstance(directories, list) and directories else None
        return self.normaliser.event(
            ev.SessionStarted,
            self._place_at(source, value.get("startTime")),
            cwd=first or self._root,
            dialect=self.normaliser.client,
            parent_session=parent,
            resumed=resumed,
            metadata={key: item for key, item in value.items() if key not in ("sessionId", "startTime")},
        )

    def _opened(self, value: dict[str, Any], source: ev.Source) -> ev.AnyEvent:
        """The beginning of a list: of a conversation, named by its file, or of prompts of many."""
        if self._is_of_many:
            return self.normaliser.event(ev.ClientNoted, self._place_at(source), name="document/begin")
        self._session = self._stem
        cwd = self._root or self._named_folder
        return self.normaliser.event(ev.SessionStarted, self._place_at(source), cwd=cwd, metadata=value)

    def _prompt(self, value: Mapping[str, Any], source: ev.Source) -> ev.AnyEvent:
        """What was asked in one of many conversations, unless that is kept itself and tells it."""
        session = as_text(value.get("sessionId")) or ""
        place = self._place_at(source, value.get("timestamp"))
        place.session = session or None
        kept = session and files_in(self._beside / "chats", f"*{re.sub(r'[^0-9a-zA-Z-]', '?', session[:8])}*")
        if kept or value.get("type") != "user":
            return self.normaliser.event(ev.ClientNoted, place, name=f"log/{value.get('type')}")
        return self.normaliser.event(ev.UserSaid, place, text=value["message"])

    def _set(self, fields: Mapping[str, Any], source: ev.Source, events: list[ev.AnyEvent]) -> None:
        place = self._place_at(source, fields.get("lastUpdated"))
        messages = fields.get("messages")
        rest = {key: item for key, item in fields.items() if key != "messages"}
        if isinstance(fields.get("sessionId"), str):
            self._replied(events)
            self._session = place.session = self._session or fields["sessionId"]
            started = self.normaliser.event(ev.SessionStarted, place, dialect=self.normaliser.client, resumed=True)
            events.append(started)
        else:
            events.append(self._noted_with(place, "$set", rest))
        if isinstance(messages, list):
            self._replaced([one for one in messages if isinstance(one, dict)], source, place, events)

    # ── the list of messages ───────────────────────────────────────────────

    def _replaced(
        self, messages: list[dict[str, Any]], source: ev.Source, place: Place, events: list[ev.AnyEvent]
    ) -> None:
        """Another list takes the place of the messages so far: the same and more, a shorter one, or a summary."""
        self._replied(events)
        ids = [one["id"] for one in messages if isinstance(one.get("id"), str)]
        kept = set(ids)
        gone = next((index for index, id in enumerate(self._current) if id not in kept), None)
        new = [one for one in messages if one.get("id") not in self._told]
        copied = gone is not None and bool(new)
        if gone is not None and copied:
            # After a compaction 0.61 writes a summary, then the rest of the conversation again under new ids.
            texts = [text_and_media(one.get("content"))[0] for one in new]
            summary = next((text for text in texts if text.startswith(_SNAPSHOT)), None)
            events.append(self.normaliser.event(ev.ContextCompacted, place, summary=summary))
        elif gone is not None:
            events.append(self.normaliser.event(ev.HistoryRewound, place, to=self._last_before(gone)))
        for index, one in enumerate(messages):
            self._message(one, source, events, index=index, copied=copied)
        self._current = dict.fromkeys(ids)

    def _rewound(self, id: str, place: Place) -> ev.AnyEvent:
        """The list is cut before this message; one that is not in it cuts all, as the source of 0.61.0 has it."""
        ids = list(self._current)
        cut = ids.index(id) if id in self._current else 0
        to = self._last_before(cut)
        self._current = dict.fromkeys(ids[:cut])
        return self.normaliser.event(ev.HistoryRewound, place, to=to)

    def _last_before(self, index: int) -> str | None:
        """The id of the last event of the message before this one."""
        if not index:
            return None
        id = list(self._current)[index - 1]
        return f"{self._session or self._stem}:{id}:{self._told[id].number}"

    def _message(
        self,
        value: dict[str, Any],
        source: ev.Source,
        events: list[ev.AnyEvent],
        *,
        index: int | None = None,
        copied: bool = False,
    ) -> None:
        """A message of its own, or the one at `index` of a list."""
        listed = index is not None
        id = value.get("id")
        if not isinstance(id, str) or not id:
            id = f"{self._stem}@{source.offset}{f'.{index}' if listed else ''}"
        if self._reply is not None and self._reply.id != id:
            self._replied(events)
        told = self._told.get(id)
        known = told is not None
        if told is None:
            told = self._told[id] = _Told()
        if not listed:
            self._current[id] = None
        number = told.number
        time = moment(value.get("timestamp"))
        place = Place(source, id, self._session, self._stream, None, time, None, None, number)
        # In a rewritten list (`$set`, 0.47 to 0.56) a message it already had may be shortened: that is not said again.
        silent = copied or (listed and known)
        kind = value.get("type")
        if kind in _MODEL_TYPES:
            self._by_model(value, told, place, events, silent=silent)
        elif kind == "user":
            self._by_user(value, told, place, events, silent=silent)
        elif kind in ("info", "warning", "error"):
            if not known:
                events.append(self._by_client(kind, value, place))
        elif not known:
            events.append(self.normaliser.unknown(place, kind if isinstance(kind, str) else None))
        if place.number == number and not listed and not self._owes(source):
            events.append(self._noted(place, f"message/{kind}"))
        told.number = place.number

    # ── the user and the client ────────────────────────────────────────────

    def _by_user(
        self, value: dict[str, Any], told: _Told, place: Place, events: list[ev.AnyEvent], *, silent: bool
    ) -> None:
        content = value.get("content")
        parts = parts_of(content)
        self._responses(parts, place, events)
        text, media = text_and_media(content)
        if media and any("functionResponse" in part for part in parts):
            media = ()  # what a tool gave, which its result tells
        if (not text and not media) or silent or told.said == (digest := _digest(text)):
            return
        told.said = digest
        shown = text_and_media(value.get("displayContent"))[0]
        if shown:
            # First what the user typed, then what was inserted for the files it names (sessions of April 2026).
            events.append(self.normaliser.event(ev.UserSaid, place, text=shown, by="user"))
            text = "\n".join(piece for piece in _texts(content)[1:] if piece)
            if not text and not media:
                return
        by = "client" if shown or text.lstrip().startswith(_CLIENTS_WORDS) else "user"
        if self._stream == "main" and (task := _TASK.fullmatch(text)) is not None:
            # Up to 0.24.0 the task of an agent stands among the user's words, and is all that is kept of the agent:
            # a stream of its own, which its words tie to the call that spawned it.
            stream, place.stream = place.stream, f"agent-{place.key}"
            events.append(self.normaliser.event(ev.UserSaid, place, text=task["words"], media=media, by="agent"))
            place.stream = stream
            return
        if self._stream != "main" and by == "user":
            by = "client" if self._prompted else "agent"
            given = None if self._prompted else _TASK.fullmatch(text)
            text = text if given is None else given["words"]
            self._prompted = True
        events.append(self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by))

    def _responses(self, parts: list[dict[str, Any]], place: Place, events: list[ev.AnyEvent]) -> None:
        """Results as they were sent to the model; those a call's own record told are not told again."""
        for part in parts:
            response = part.get("functionResponse")
            id = response.get("id") if isinstance(response, dict) else None
            if isinstance(id, str) and id not in self.normaliser.returned_ids:
                events.append(self.normaliser.returned(place, result_of(id, [part], None)))

    def _by_client(self, kind: str, value: dict[str, Any], place: Place) -> ev.AnyEvent:
        text = text_and_media(value.get("content"))[0]
        if kind == "error":
            return self.normaliser.event(ev.ErrorOccurred, place, message=text or "an error without words")
        if text == "Request cancelled.":
            return self.normaliser.event(ev.Interrupted, place, text=text)
        return self.normaliser.event(ev.ClientNoted, place, name=kind, data={"text": text})

    # ── the model ──────────────────────────────────────────────────────────

    def _by_model(
        self, value: dict[str, Any], told: _Told, place: Place, events: list[ev.AnyEvent], *, silent: bool
    ) -> None:
        model, content = as_text(value.get("model")), value.get("content")
        if not silent:
            self._thought(value.get("thoughts"), content, told, place, model, events)
            text, media = text_and_media(content)
            if (text or media) and told.said != (digest := _digest(text)):
                told.said = digest
                events.append(self._model_said(place, text, media, model))
        tokens = value.get("tokens")
        if isinstance(tokens, dict):
            counted = _digest(str(tokens))
            if told.tokens is None:
                told.tokens = counted
                self._replies(place, model).used = (_same(place), _usage(tokens))
            elif counted != told.tokens:
                events.append(self._noted_with(place, "tokens/changed", tokens))
        calls = value.get("toolCalls")
        for record in calls if isinstance(calls, list) else ():
            if isinstance(record, dict):
                self._call(record, place, model, events)
        for part in parts_of(content):
            call = part.get("functionCall")
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                id = as_text(call.get("id"))
                if not (id in self.normaliser.calls or (id is None and (calls or silent))):
                    self._replies(place, model).called = _same(place)
                    events.append(self.normaliser.called(place, call_of(call, id or f"{place.key}.{place.number}")))

    def _replies(self, place: Place, model: str | None) -> _Reply:
        """The reply that is being told."""
        if self._reply is None:
            self._reply = _Reply(place.key, model)
        return self._reply

    def _owes(self, source: ev.Source) -> bool:
        """Whether what a record used is yet to be told."""
        return self._reply is not None and self._reply.used is not None and self._reply.used[0].source == source

    def _replied(self, events: list[ev.AnyEvent]) -> None:
        """The end of the reply that was told last."""
        reply = self._reply
        if reply is None:
            return
        self._reply = None
        told = self._told[reply.id]
        if reply.used is not None:
            place, usage = reply.used
            place.number = told.number
            events.append(self._tokens_used(place, usage, reply.model))
            told.number = place.number
        if reply.called is not None:
            place = reply.called
            place.number = told.number
            events.append(self._model_finished(place, FinishReason.CALLS, reply.model))
            told.number = place.number

    def _thought(
        self, thoughts: Any, content: Any, told: _Told, place: Place, model: str | None, events: list[ev.AnyEvent]
    ) -> None:
        texts = [_thought_text(one) for one in thoughts] if isinstance(thoughts, list) else []
        if not texts:
            if isinstance(content, str):
                return
            texts = [one["text"] for one in parts_of(content) if one.get("thought") is True and _is_text(one)]
        for text in texts[told.thoughts :]:
            events.append(self._model_thought(place, text, model, not text))
        if len(texts) > told.thoughts:
            told.thoughts = len(texts)

    def _call(self, record: dict[str, Any], place: Place, model: str | None, events: list[ev.AnyEvent]) -> None:
        name = record.get("name")
        if not isinstance(name, str):
            events.append(self.normaliser.unknown(place, "toolCall"))
            return
        normaliser = self.normaliser
        id = record.get("id")
        if not isinstance(id, str) or not id:
            id = f"{place.key}.{place.number}"
        agent = record.get("agentId")
        if id not in normaliser.calls:
            self._learn(record)
            self._replies(place, model).called = _same(place)
            events.append(normaliser.called(place, call_of(record, id)))
            if isinstance(agent, str):
                events.append(self._agent_started(record, id, place, agent))
        result = record.get("result")
        if id in normaliser.returned_ids or (result is None and record.get("status") not in _DONE):
            return
        at = _same(place)
        at.time = moment(record.get("timestamp")) or place.time
        events.append(normaliser.returned(at, result_of(id, result, record)))
        place.number = at.number
        if isinstance(agent, str):
            events.append(self._agent_ended(record, id, place, agent))

    def _learn(self, record: Mapping[str, Any]) -> None:
        """A tool of an MCP server is shown with the server's name, which its own name may not hold."""
        shown = as_text(record.get("displayName")) or ""
        tool, _, server = shown.removesuffix(_SERVER_MARK).partition(" (")
        if shown.endswith(_SERVER_MARK) and server and tool not in self._servers.get(server, ()):
            self._servers.setdefault(server, set()).add(tool)
            self.normaliser.knowing(servers=self._servers)

    def _agent_started(self, record: Mapping[str, Any], id: str, place: Place, agent: str) -> ev.AnyEvent:
        arguments, shown = as_object(record.get("args")), as_object(record.get("resultDisplay"))
        name = arguments.get("agent_name") or shown.get("agentName")
        prompt = arguments.get("prompt")
        return self.normaliser.event(
            ev.AgentStarted,
            place,
            agent=agent,
            call_id=id,
            name=as_text(name),
            prompt=as_text(prompt),
            agent_session=agent,
        )

    def _agent_ended(self, record: Mapping[str, Any], id: str, place: Place, agent: str) -> ev.AnyEvent:
        shown = as_object(record.get("resultDisplay"))
        reason = as_text(shown.get("terminateReason")) or ""
        status = "failed" if reason.startswith("ERROR") else _ENDINGS.get(reason, "unknown")
        text = as_text(shown.get("result"))
        return self.normaliser.event(ev.AgentEnded, place, agent=agent, call_id=id, status=status, text=text)


def _same(place: Place) -> Place:
    """The same place, to be told of later."""
    return Place(place.source, place.key, place.session, place.stream, None, place.time, None, None, place.number)


def _project_root(chats: Path) -> str | None:
    """The folder the conversations in `chats` are about: a file beside it holds nothing else, and one beside what the
    client keeps of the project's files."""
    project = chats.parent
    for folder in (project, project.parents[1] / "history" / project.name) if len(project.parents) > 1 else ():
        kept = folder / ".project_root"
        try:
            root = read_beside(kept)[:4096] if kept.is_file() else b""
        except OSError:
            continue
        if root.strip():
            return root.decode("utf-8", "replace").strip()
    return None


def _digest(text: str) -> bytes:
    """What stands for a text. It is the same in every process: a reader may be stored by one and go on in another."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _opens_list(data: bytes) -> bool:
    return data.removeprefix(_MARK).lstrip().startswith(b"[")


def _opens_document(line: bytes) -> bool:
    """Whether a file that begins with this line is one document: the line leaves something open, or holds it all.

    A quoted word inside a text has its quotes escaped, so `"messages"` is a member's name.
    """
    line = line.strip()
    if line.endswith((b"{", b"[", b",")) or line.startswith(b'{"history"'):
        return True
    return b'"messages"' in line and not line.startswith(b'{"$set"')


def _goes_on_in_lines(data: bytes) -> bool:
    """Whether what follows the first line are records, so that the first is a damaged one."""
    lines = [line.strip() for line in data.lstrip().split(b"\n", 3)[1:3]]
    return any(line.startswith(b"{") and line.endswith(b"}") for line in lines) or b"\n" not in data.strip()


# ── what parts say ───────────────────────────────────────────────────────────


def parts_of(content: Any) -> list[dict[str, Any]]:
    """The parts of a content that are objects."""
    if isinstance(content, dict):
        return [content]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    pieces = content if isinstance(content, list) else parts_of(content)
    texts = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(piece, dict) and _is_text(piece) and piece.get("thought") is not True:
            texts.append(piece["text"])
    return texts


def text_and_media(content: Any) -> tuple[str, tuple[Media, ...]]:
    """What a content says aloud: its texts, and its pictures and other files."""
    if isinstance(content, str):
        return content, ()
    if not content:
        return "", ()
    return "\n".join(text for text in _texts(content) if text), tuple(media_of(parts_of(content)))


def media_of(parts: Iterable[Mapping[str, Any]]) -> Iterator[Media]:
    """The pictures and other files of parts."""
    for part in parts:
        if "inlineData" not in part and "fileData" not in part:
            continue
        inline, file = as_object(part.get("inlineData")), as_object(part.get("fileData"))
        kind = as_text(inline.get("mimeType") or file.get("mimeType")) or "application/octet-stream"
        data, url = as_text(inline.get("data")), as_text(file.get("fileUri"))
        if data is not None or url is not None:
            yield Media(kind, data=data, url=url)


def call_of(record: Mapping[str, Any], id: str) -> NativeCall:
    """A call as it is kept, with `args` that are an object, a text, or nothing."""
    arguments = record.get("args")
    if arguments is None:
        arguments = {}
    elif not isinstance(arguments, dict | str):
        arguments = msgspec.json.encode(arguments).decode()
    return NativeCall(id, record["name"], arguments)


def result_of(id: str, result: Any, record: Mapping[str, Any] | None) -> NativeResult:
    """A result out of the parts that were sent to the model; `record` is what is kept beside them."""
    texts: list[str] = [result] if isinstance(result, str) else []
    media: list[Media] = []
    name, failed = None, False
    for part in parts_of(result):
        response = part.get("functionResponse")
        if isinstance(response, dict):
            name = as_text(response.get("name")) or name
            text, wrong = _response_text(response.get("response"))
            texts.append(text)
            failed = failed or wrong
            media += media_of(parts_of(response.get("parts")))
        elif _is_text(part):
            texts.append(part["text"])
    media += media_of(parts_of(result))
    status = as_object(record).get("status")
    text = "\n".join(texts)
    content: str | tuple[str | Media, ...] = text
    if media:
        content = (text, *media) if text else tuple(media)
    is_error = True if failed or status == "error" else False if status else None
    return NativeResult(id, content, is_error=is_error, name=name, item=record)


def _response_text(response: Any) -> tuple[str, bool]:
    """What a function's response says, and whether it stands under `error`."""
    if not isinstance(response, dict):
        return (response if isinstance(response, str) else ""), False
    for key in ("error", "output"):
        if key in response and response[key] is not None:
            value = response[key]
            return (value if isinstance(value, str) else msgspec.json.encode(value).decode()), key == "error"
    return (msgspec.json.encode(response).decode() if response else ""), False


def _thought_text(thought: Any) -> str:
    subject, description = (as_text(as_object(thought).get(key)) for key in ("subject", "description"))
    return f"**{subject}** {description or ''}".strip() if subject else description or ""


# ── tokens ───────────────────────────────────────────────────────────────────


def _usage(tokens: Mapping[str, Any]) -> Usage:
    return usage_of(
        *(as_integer(tokens.get(key)) for key in ("input", "output", "cached", "thoughts", "tool", "total")),
    )


def usage_of(
    prompt: int | None,
    answer: int | None,
    cached: int | None,
    thoughts: int | None,
    tool: int | None,
    total: int | None,
) -> Usage:
    """Tokens as they are counted here: the cached are part of the prompt; the total tells whether thoughts are
    part of the answer (models behind OpenAI's protocol) or beside it (Google's)."""
    spent = answer
    if thoughts is not None and total != (prompt or 0) + (answer or 0) + (tool or 0):
        spent = (answer or 0) + thoughts
    return Usage(
        input_tokens=None if prompt is None else max(0, prompt - (cached or 0)),
        cached_read_tokens=cached,
        output_tokens=spent,
        reasoning_tokens=thoughts,
        tool_tokens=tool,
    )
