"""One session of opencode as events: its messages, their parts, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import ExecutedBy, FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_positive, as_text

_UNEXPECTED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
_NOTED_PARTS = frozenset({"agent", "file", "patch", "snapshot", "step-start"})


_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool-calls": FinishReason.CALLS,
    "content-filter": FinishReason.FILTERED,
    "error": FinishReason.ERROR,
}


class Record(msgspec.Struct):
    """A session, a message or a part: what it says, where it stands, and its name where it has no id."""

    value: dict[str, Any]
    source: ev.Source
    name: str

    @property
    def id(self) -> str:
        id = self.value.get("id")
        return id if isinstance(id, str) and id else self.name


class Session:
    """Tells of one session, record by record. `learn` is given the name of every tool that ran."""

    def __init__(
        self, normaliser: Normaliser, learn: Callable[[str], None], session: Record | str | None, root: str | None
    ) -> None:
        self._normaliser, self._learn = normaliser, learn
        self._record = session if isinstance(session, Record) else None
        self._value: dict[str, Any] = self._record.value if self._record is not None else {}
        id = session.id if isinstance(session, Record) else session
        root = root or as_text(self._value.get("parentID"))
        self._home, self._stream = (id, "main") if root is None else (root, str(id))
        self._version = as_text(self._value.get("version"))
        self._revert = as_object(self._value.get("revert"))
        self._trigger: str | None = None
        self._last: str | None = None
        self._kept: tuple[str | None] | None = None
        """The last event that still counts, once what was gone back to has been reached."""
        self._reverted = (self._revert.get("messageID"), self._revert.get("partID"))
        self._noted = normaliser.maker(ev.ClientNoted, "name")
        self._noted_with = normaliser.maker(ev.ClientNoted, "name", "data")
        self._model_said = normaliser.maker(ev.ModelSaid, "text", "model")
        self._model_thought = normaliser.maker(ev.ModelThought, "text", "model", "hidden")
        self._model_finished = normaliser.maker(ev.ModelFinished, "finish", "model")
        self._tokens_used = normaliser.maker(ev.TokensUsed, "usage", "model", "cost")

    def begun(self) -> Iterator[ev.AnyEvent]:
        if self._record is None:
            return
        model = as_object(self._value.get("model"))
        place = self._place(self._record, as_object(self._value.get("time")).get("created"))
        yield self._normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(self._value.get("directory")),
            model=as_text(model.get("id")) or as_text(model.get("modelID")),
            parent_session=as_text(self._value.get("parentID")),
            metadata={key: self._value[key] for key in ("title", "agent") if isinstance(self._value.get(key), str)},
        )

    def ended(self) -> Iterator[ev.AnyEvent]:
        if self._revert and self._record is not None:
            place = self._place(self._record, None)
            place.key += "/revert"
            yield self._normaliser.event(ev.HistoryRewound, place, to=self._kept[0] if self._kept else None)

    def message(self, message: Record | None, parts: list[Record]) -> list[ev.AnyEvent]:
        """A message and its parts; parts whose message is lost are told as far as they tell themselves."""
        events: list[ev.AnyEvent] = []
        if message is None and not parts:
            return events
        parts = sorted(parts, key=_id_of)
        try:
            self._message(message, message.value if message is not None else {}, parts, events)
        except _UNEXPECTED as error:
            events.append(self._unread(message or parts[0], error))
        if events:
            self._last = events[-1].id
        return events

    def printed(self, line: Record) -> list[ev.AnyEvent]:
        """A line of a run: a part of the model's, or an error; what the user said is not printed."""
        events: list[ev.AnyEvent] = []
        part, error, time = line.value.get("part"), line.value.get("error"), line.value.get("timestamp")
        if isinstance(part, dict):
            info = {"role": "assistant", "time": {"created": time}}
            try:
                self._part(Record(part, line.source, line.name), info, (), events)
            except _UNEXPECTED as unread:
                events.append(self._unread(line, unread))
        elif isinstance(error, dict):
            events.append(self._error(error, self._place(line, time), retried=False))
        else:
            events.append(self._normaliser.unknown(self._place(line, time), as_text(line.value.get("type"))))
        return events

    def _message(
        self, message: Record | None, info: dict[str, Any], parts: list[Record], events: list[ev.AnyEvent]
    ) -> None:
        if message is not None:
            self._reached(message.id, None, events)
            said = {key: info[key] for key in ("agent", "mode") if isinstance(info.get(key), str)}
            events.append(self._noted_with(self._place(message, created(info)), f"message/{info.get('role')}", said))
        media = tuple([read for part in parts if (read := _media(part.value)) is not None])
        for part in parts:
            if self._revert:
                self._reached(as_text(part.value.get("messageID")), part.id, events)
            begin = len(events)
            try:
                self._part(part, info, media, events)
            except _UNEXPECTED as error:
                events.append(self._unread(part, error))
            if media and any(isinstance(one, ev.UserSaid) and one.by != "client" for one in events[begin:]):
                media = ()
        if message is not None and info.get("role") == "assistant":
            self._replied(message, info, parts, events)

    def _unread(self, record: Record, error: Exception) -> ev.AnyEvent:
        """A record of a known kind in an unknown shape is kept, and the others are read."""
        place = self._place(record, None)
        place.key += "/unread"
        return self._normaliser.event(ev.Unreadable, place, reason=f"{type(error).__name__}: {error}")

    def _place(self, record: Record, time: Any) -> Place:
        value = record.value
        parent = value.get("messageID") or value.get("parentID")
        if not isinstance(parent, str):
            parent = None
        return Place(record.source, record.id, self._home, self._stream, self._version, moment(time), parent)

    def _reached(self, message: str | None, part: str | None, events: list[ev.AnyEvent]) -> None:
        """Whether this is what the user went back to: it and what follows counts no more."""
        if self._kept is None and message is not None and self._reverted == (message, part):
            self._kept = (events[-1].id if events else self._last,)

    # ── parts ──────────────────────────────────────────────────────────────

    def _part(self, part: Record, info: dict[str, Any], media: tuple[Media, ...], events: list[ev.AnyEvent]) -> None:
        value = part.value
        kind, times = value.get("type"), as_object(value.get("time"))
        place = self._place(part, times.get("start") or times.get("created") or created(info))
        model = as_text(info.get("modelID"))
        if kind == "tool" and isinstance(value.get("tool"), str):
            self._tool(value, place, events)
        elif kind == "step-finish":
            self._step(value, model, place, events)
        else:
            events.append(self._told(kind, value, info, media, model, place))

    def _told(
        self,
        kind: Any,
        value: dict[str, Any],
        info: dict[str, Any],
        media: tuple[Media, ...],
        model: str | None,
        place: Place,
    ) -> ev.AnyEvent:
        """A part that is one event."""
        if kind == "text":
            return self._text(value, info, media, place)
        if kind == "reasoning":
            text = as_text(value.get("text")) or ""
            return self._model_thought(place, text, model, not text)
        if kind == "compaction":
            self._trigger = "auto" if value.get("auto") is True else "manual"
            return self._noted_with(place, "part/compaction", {"trigger": self._trigger})
        if kind == "retry":
            return self._error(as_object(value.get("error")), place, retried=True)
        if kind == "subtask":
            return self._subtask(value, place)
        if isinstance(kind, str) and kind in _NOTED_PARTS:
            return self._noted(place, f"part/{kind}")
        return self._normaliser.unknown(place, f"part/{kind}" if isinstance(kind, str) else None)

    def _text(self, value: dict[str, Any], info: dict[str, Any], media: tuple[Media, ...], place: Place) -> ev.AnyEvent:
        text, role = as_text(value.get("text")) or "", info.get("role")
        if role == "assistant" and info.get("summary") is True:
            trigger, self._trigger = self._trigger, None
            return self._normaliser.event(ev.ContextCompacted, place, summary=text, trigger=trigger)
        if role == "assistant":
            return self._model_said(place, text, as_text(info.get("modelID")))
        if role != "user":
            return self._noted_with(place, "part/text", {"text": text})
        if value.get("synthetic") is True:
            return self._normaliser.event(ev.UserSaid, place, text=text, by="client")
        by = "user" if self._stream == "main" else "agent"
        return self._normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)

    def _subtask(self, value: dict[str, Any], place: Place) -> ev.AnyEvent:
        """Work that a command of the user's gives to an agent."""
        prompt, command = as_text(value.get("prompt")) or "", as_text(value.get("command"))
        if command is None:
            return self._normaliser.event(ev.UserSaid, place, text=prompt)
        return self._normaliser.event(ev.CommandInvoked, place, name=f"/{command}", arguments=prompt)

    def _tool(self, value: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        name, state = value["tool"], as_object(value.get("state"))
        id = as_text(value.get("callID")) or place.key
        if id in self._normaliser.calls:  # a provider may reuse ids (no session shows it)
            id = f"{id}/{place.key}"
        if "unavailable tool" not in str(state.get("error")):  # Kilo 7.7.7 keeps its name; opencode says `invalid`
            self._learn(name)
        given, times, metadata = state.get("input"), as_object(state.get("time")), as_object(state.get("metadata"))
        if not given and isinstance(state.get("raw"), str) and state["raw"]:
            given = state["raw"]
        hosted = as_object(value.get("metadata")).get("providerExecuted") is True
        native = NativeCall(
            id,
            name,
            given if isinstance(given, dict | str) else {} if given is None else str(given),
            executed_by=ExecutedBy.PROVIDER if hosted else ExecutedBy.CLIENT,
        )
        start = moment(times.get("start"))
        place.time = start or place.time
        events.append(self._normaliser.called(place, native))
        agent = as_text(metadata.get("sessionId")) or as_text(metadata.get("sessionID"))
        if agent is not None and name == "task":
            events.append(self._agent_started(agent, id, as_object(given), place))
        status = state.get("status")
        if status not in ("completed", "error"):
            return  # it is still running, or was when its process ended
        end = moment(times.get("end"))
        place.time = end or place.time
        took = (end - start).total_seconds() if start is not None and end is not None else None
        events.append(self._normaliser.returned(place, _result(id, value, state), duration=took))
        if agent is not None and name == "task":
            ending = "completed" if status == "completed" else "failed"
            events.append(self._normaliser.event(ev.AgentEnded, place, agent=agent, status=ending, call_id=id))

    def _agent_started(self, agent: str, id: str, given: dict[str, Any], place: Place) -> ev.AnyEvent:
        return self._normaliser.event(
            ev.AgentStarted,
            place,
            agent=agent,
            agent_session=agent,
            name=as_text(given.get("subagent_type")),
            prompt=as_text(given.get("prompt")),
            call_id=id,
        )

    # ── how a reply ended ──────────────────────────────────────────────────

    def _step(self, value: dict[str, Any], model: str | None, place: Place, events: list[ev.AnyEvent]) -> None:
        tokens = value.get("tokens")
        if isinstance(tokens, dict):
            events.append(self._tokens(_usage(tokens), value.get("cost"), model, place))
        finish = _FINISH.get(str(value.get("reason")), FinishReason.UNKNOWN)
        events.append(self._model_finished(place, finish, model))

    def _tokens(self, usage: Usage, cost: Any, model: str | None, place: Place) -> ev.AnyEvent:
        return self._tokens_used(place, usage, model, as_positive(cost))  # 1.18.16 logs an unknown price as 0

    def _replied(self, message: Record, info: dict[str, Any], parts: list[Record], events: list[ev.AnyEvent]) -> None:
        """What the message itself knows of its end: what went wrong, and its tokens where no step counted them."""
        tokens, error = info.get("tokens"), info.get("error")
        counted = any(part.value.get("type") == "step-finish" for part in parts)
        usage = _usage(tokens) if isinstance(tokens, dict) and not counted else None
        if (usage is None or not usage.total) and not isinstance(error, dict):
            return
        place = self._place(message, as_object(info.get("time")).get("completed") or created(info))
        place.number = 1
        if usage is not None and usage.total:
            events.append(self._tokens(usage, info.get("cost"), as_text(info.get("modelID")), place))
        if isinstance(error, dict):
            events.append(self._error(error, place, retried=False))

    def _error(self, error: dict[str, Any], place: Place, *, retried: bool) -> ev.AnyEvent:
        name, data = as_text(error.get("name")), as_object(error.get("data"))
        message = as_text(data.get("message")) or name or "an error without words"
        if name == "MessageAbortedError":
            return self._normaliser.event(ev.Interrupted, place, text=message)
        status = data.get("statusCode")
        return self._normaliser.event(
            ev.ErrorOccurred,
            place,
            message=message,
            status=as_integer(status),
            code=name,
            retried=retried,
        )


def _result(id: str, part: dict[str, Any], state: dict[str, Any]) -> NativeResult:
    failed = state.get("status") == "error"
    text = as_text(state.get("error" if failed else "output")) or ""
    attached = state.get("attachments")
    listed = [one for one in attached if isinstance(one, dict)] if isinstance(attached, list) else []
    media = tuple(read for one in listed if (read := _media(one)) is not None)
    return NativeResult(id, (text, *media) if media else text, is_error=failed, item=part)


def _media(part: Mapping[str, Any]) -> Media | None:
    """A file beside the words: its bytes, or where it is."""
    url = part.get("url")
    if part.get("type") != "file" or not isinstance(url, str):
        return None
    kind, name = as_text(part.get("mime")) or "application/octet-stream", as_text(part.get("filename"))
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:"):
        return Media(kind, data=data, name=name)
    return Media(kind, url=url, name=name)


def _usage(tokens: Mapping[str, Any]) -> Usage:
    """Tokens as they are counted here. The total tells whether thoughts are part of the answer or beside it; where
    there is none they are part of it, unless they are more."""
    cache = as_object(tokens.get("cache"))
    given, answer, thoughts, total = (as_integer(tokens.get(key)) for key in ("input", "output", "reasoning", "total"))
    read, written = as_integer(cache.get("read")), as_integer(cache.get("write"))
    rest = (given or 0) + (answer or 0) + (read or 0) + (written or 0)
    beside = (thoughts or 0) > (answer or 0) if total is None else total != rest
    return Usage(
        input_tokens=given,
        cached_read_tokens=read,
        cached_write_tokens=written,
        output_tokens=(answer or 0) + (thoughts or 0) if beside else answer,
        reasoning_tokens=thoughts,
    )


def _id_of(record: Record) -> str:
    return record.id


def created(value: Mapping[str, Any]) -> float:
    created = as_object(value.get("time")).get("created")
    return created if isinstance(created, int | float) and not isinstance(created, bool) else 0
