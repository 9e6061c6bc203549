"""Continue's sessions (1.5.11 … 1.5.47): `sessions/<session>.json`, a history of messages and the states of calls.

There are no times and no versions in it; the list of all sessions beside it says when each was begun. A server's tool
is called by its bare name, so only the shape of its result tells it from a tool nobody knows. A document is rewritten
as a whole, so events are told when all of it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs.base.format import LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.json_ranges import DocumentReader, pieces_of
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import CallMcpTool, FinishReason, Media, NativeCall, NativeResult, Unrecognised, Usage, events as ev
from dragoman.model.json_text import read_json
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

CLIENT = "continue"

_LISTED = "history"
_INDEX = "sessions.json"
"""A list of all sessions beside their files."""
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"sessionId"\s*:.*?"workspaceDirectory"\s*:.*?"history"\s*:\s*\[', re.DOTALL)
_READ_HERE = frozenset(
    {"message", "toolCallStates", "reasoning", "conversationSummary", "editorState", "isGatheringContext"}
)
"""Fields of a history's item that are told, or that say the message once more."""


class Continue(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    written_by = "continue_writer.ContinueWriter"

    def recognise(self, sample: Sample) -> float:
        document = sample.document
        if not isinstance(document, dict):
            is_cut = document is None and _CUT_DOCUMENT.match(sample.head) is not None
            return 0.6 if is_cut else 0.0
        if _is_printed(document):
            return 0.5  # three common words, and nothing else
        history = document.get(_LISTED)
        if not isinstance(document.get("sessionId"), str) or not isinstance(history, list):
            return 0.0
        if any(isinstance(as_object(item).get("message"), dict) and "contextItems" in item for item in history):
            return 0.95
        return 0.8 if "workspaceDirectory" in document else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("CONTINUE_GLOBAL_DIR")
        for root in ([Path(configured)] if configured else []) + [places.home / ".continue"]:
            yield root / "sessions"

    def files(self, home: Path) -> Iterator[Path]:
        yield from (path for path in files_in(home, "*.json") if path.name != _INDEX)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


class _Reader(DocumentReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._session: str | None = None
        self._index = 0
        self._unmade: set[str] = set()
        """Calls whose state tells no result."""

    # ── a document ─────────────────────────────────────────────────────────

    def close(self) -> list[ev.AnyEvent]:
        data = self._gathered.take()
        pieces = pieces_of(data, _LISTED)
        if pieces is None and _is_printed(printed := decoded(data)):
            return list(self._printed(printed, ev.Source(self.path, 0, len(data))))
        if pieces is None:
            reason = "a document without a history"
            return [self.normaliser.unreadable(ev.Source(self.path, 0, len(data)), reason)] if data.strip() else []
        return self.read_pieces(data, pieces)

    def _printed(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        """What `cn -p --format json` prints: the last words alone, of a session it does not name."""
        place = self._place("printed", source)
        yield self.normaliser.event(ev.SessionStarted, place)
        yield self.normaliser.event(ev.ModelSaid, place, text=value["response"])
        reason = {"success": "completed", "error": "failed"}.get(value["status"], "unknown")
        yield self.normaliser.event(ev.SessionEnded, place, reason=reason, message=as_text(value.get("note")))

    def document_ended(self, source: ev.Source) -> ev.AnyEvent:
        return self.normaliser.event(ev.ClientNoted, self._place("end", source), name="document/end")

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if source.offset == 0:
            yield self._header(value, source)
            return
        self._index += 1
        place = self._place(str(self._index), source)
        message = as_object(as_object(value).get("message"))
        if not message:
            yield self.normaliser.unknown(place, None)
            return
        yield from self._item(value, message, place)
        if not place.number:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{message.get('role')}/empty")

    def _place(self, key: str, source: ev.Source) -> Place:
        return Place(source=source, key=key, session=self._session)

    def _header(self, value: dict[str, Any], source: ev.Source) -> ev.AnyEvent:
        self._session = as_text(value.get("sessionId"))
        told = ("sessionId", "workspaceDirectory", "chatModelTitle")
        place = self._place("session", source)
        place.time = moment(_begun(Path(self.path).with_name(_INDEX), self._session))
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=_folder(value.get("workspaceDirectory")),
            model=as_text(value.get("chatModelTitle")),
            metadata={key: value[key] for key in value if key not in told},
        )

    # ── what was said ──────────────────────────────────────────────────────

    def _item(self, item: dict[str, Any], message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, event = message.get("role"), self.normaliser.event
        text, media = _said(message.get("content"))
        model = _model(item, message)
        thought = as_text(as_object(item.get("reasoning")).get("text"))
        if thought:
            yield event(ev.ModelThought, place, text=thought, model=model)
        if role == "user":
            if text or media:
                yield event(ev.UserSaid, place, text=text, media=media)
        elif role == "assistant":
            if text or media:
                yield event(ev.ModelSaid, place, text=text, model=model, media=media)
            yield from self._called(item, message, place)
        elif role == "thinking":
            yield event(ev.ModelThought, place, text=text, model=model, hidden=not text)
            yield from self._called(item, message, place)
        elif role == "system":
            yield event(ev.SystemSaid, place, text=text)
        elif role == "tool":
            yield from self._told_apart(message, text, media, place)
        else:
            yield self.normaliser.unknown(place, f"message/{role}")
        yield from self._tokens(message, model, place)
        if not isinstance(message.get("usage"), dict) and (message.get("toolCalls") or _states(item)):
            yield event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=model)
        yield from self._returned(item, place)
        yield from self._beside(item, place)

    def _told_apart(
        self, message: dict[str, Any], text: str, media: tuple[Media, ...], place: Place
    ) -> Iterator[ev.AnyEvent]:
        """A result in a message of its own, unless the state of its call has told it.

        1.5.11 tells so of a call that could not be made: its state stays "generated", and only these words tell why.
        """
        id = as_text(message.get("toolCallId")) or ""
        if id not in self.normaliser.returned_ids:
            failed = True if id in self._unmade else None
            yield self.normaliser.returned(place, NativeResult(id, (text, *media) if media else text, is_error=failed))

    def _tokens(self, message: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        usage = message.get("usage")
        if isinstance(usage, dict):
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=model, cost=_cost(usage))

    def _beside(self, item: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        summary = as_text(item.get("conversationSummary"))
        if summary:
            yield self.normaliser.event(ev.ContextCompacted, place, summary=summary)
        for key, value in item.items():
            if key not in _READ_HERE and value not in (None, [], {}, ""):
                yield self.normaliser.event(ev.ClientNoted, place, name=key, data={key: value})

    # ── calls and what they gave ───────────────────────────────────────────

    def _called(self, item: dict[str, Any], message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        states = _states(item)
        logged = [*as_objects(message.get("toolCalls")), *(as_object(state.get("toolCall")) for state in states)]
        given = {as_text(state.get("toolCallId")): state for state in states}
        for call in logged:
            function = as_object(call.get("function"))
            name, id = as_text(function.get("name")), as_text(call.get("id"))
            if name is None or id in self.normaliser.calls:
                continue
            native = NativeCall(id or f"{place.key}.{place.number}", name, _arguments(function.get("arguments")))
            yield self._of_a_server(self.normaliser.called(place, native), given.get(id, {}))

    def _of_a_server(self, called: ev.ToolCalled, state: dict[str, Any]) -> ev.ToolCalled:
        """An unknown tool whose result is a list of the Model Context Protocol's pieces is a server's."""
        (operation, *_) = called.call.operations or (None,)
        arguments = called.call.native.arguments
        if not isinstance(operation, Unrecognised) or not isinstance(arguments, dict) or state.get("status") != "done":
            return called
        if not _is_from_server(_said_by(state)[0]):
            return called
        call = msgspec.structs.replace(called.call, operations=(CallMcpTool(None, operation.name, arguments),))
        self.normaliser.meant(call)
        return msgspec.structs.replace(called, call=call)

    def _returned(self, item: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        for state in _states(item):
            id, status = as_text(state.get("toolCallId")) or "", state.get("status")
            if id in self.normaliser.returned_ids:
                continue
            text, is_told = _said_by(state)
            if status == "generated" and not is_told:
                self._unmade.add(id)
            if status in ("done", "errored", "canceled"):
                native = NativeResult(id, text, is_error=status != "done", name=_name(state), item=state)
                yield self.normaliser.returned(place, native)
            if status == "canceled" and not is_told:
                yield self.normaliser.event(ev.Interrupted, place, call_id=id)


# ── values ───────────────────────────────────────────────────────────────────


def _is_printed(document: Any) -> bool:
    """Whether a document is all that `cn -p --format json` prints (1.5.11 to 1.5.47)."""
    return (
        isinstance(document, dict)
        and {"response", "status"} <= document.keys() <= {"response", "status", "note"}
        and isinstance(document["response"], str)
        and isinstance(document["status"], str)
    )


def _begun(index: Path, session: str | None) -> int | str | None:
    """When a session was begun, as the list of all says: in milliseconds, in words."""
    try:
        listed = msgspec.json.decode(read_beside(index)) if session is not None and index.is_file() else ()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # a list that is being written
    found = next((one for one in as_objects(listed) if one.get("sessionId") == session), {})
    created = as_text(found.get("dateCreated")) or ""
    return int(created) if re.fullmatch(r"\d{1,15}", created) else created or None


def _model(item: dict[str, Any], message: dict[str, Any]) -> str | None:
    """The model of a reply: what was counted says it, or else what was asked of it."""
    counted = as_text(as_object(message.get("usage")).get("model"))
    asked = (as_objects(item.get("promptLogs")) or [{}])[-1]
    return (
        counted or as_text(as_object(asked.get("completionOptions")).get("model")) or as_text(asked.get("modelTitle"))
    )


def _states(item: dict[str, Any]) -> list[dict[str, Any]]:
    older = item.get("toolCallState")  # before 1.5.11, with at most one call a message
    return as_objects(item.get("toolCallStates")) or ([older] if isinstance(older, dict) else [])


def _name(state: dict[str, Any]) -> str | None:
    return as_text(as_object(as_object(state.get("toolCall")).get("function")).get("name"))


def _said_by(state: dict[str, Any]) -> tuple[str, bool]:
    """What a call gave, and whether it gave anything."""
    output = as_objects(state.get("output"))
    return "\n".join(as_text(piece.get("content")) or "" for piece in output), bool(output)


def _arguments(given: Any) -> dict[str, Any] | str:
    """The arguments a text holds, or the text itself."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        return {}
    try:
        read = read_json(given)
    except msgspec.DecodeError:
        return given
    return read if isinstance(read, dict) else given


def _is_from_server(text: str) -> bool:
    try:
        pieces = read_json(text)
    except msgspec.DecodeError:
        return False
    return (
        isinstance(pieces, list)
        and bool(pieces)
        and all(isinstance(as_object(piece).get("type"), str) for piece in pieces)
    )


def _usage(usage: dict[str, Any]) -> Usage:
    """Tokens of a reply. The prompt counts what the cache gave (OpenAI), or does not (Anthropic, whose words these are:
    `cache_read_tokens`)."""
    details = as_object(usage.get("prompt_tokens_details"))
    prompt = as_integer(usage.get("prompt_tokens"))
    read, wrote = as_integer(details.get("cache_read_tokens")), as_integer(details.get("cache_write_tokens"))
    if read is None and wrote is None:
        read = as_integer(details.get("cached_tokens"))
        prompt = None if prompt is None else max(0, prompt - (read or 0))
    return Usage(
        input_tokens=prompt,
        cached_read_tokens=read,
        cached_write_tokens=wrote,
        output_tokens=as_integer(usage.get("completion_tokens")),
        reasoning_tokens=as_integer(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def _cost(usage: dict[str, Any]) -> float | None:
    """The client's own estimate; 0 for a model whose price it does not know (1.5.43, 1.5.47)."""
    cents = as_positive(usage.get("cost_cents"))
    return None if cents is None else cents / 100


def _folder(given: Any) -> str | None:
    """The working folder; editors write it as a URI."""
    if not isinstance(given, str) or not given:
        return None
    if not given.startswith("file://"):
        return given
    from urllib.parse import unquote, urlsplit

    try:
        path = unquote(urlsplit(given).path)
    except ValueError:
        return given
    return path[1:] if re.match(r"/[A-Za-z]:", path) else path  # of a drive there is nothing above


def _said(content: Any) -> tuple[str, tuple[Media, ...]]:
    """The texts and the pictures of a message."""
    if isinstance(content, str):
        return content, ()
    parts = as_objects(content)
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and part["text"]]
    pictures = [as_text(as_object(part.get("imageUrl")).get("url")) for part in parts]
    return "\n".join(texts), tuple(_picture(url) for url in pictures if url is not None)


def _picture(url: str) -> Media:
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:"):
        return Media(head.removeprefix("data:"), data=data)
    return Media("application/octet-stream", url=url)


FORMAT = Continue()
