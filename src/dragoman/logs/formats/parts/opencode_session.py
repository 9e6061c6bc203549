"""One session of opencode as events: its messages, their parts, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import ExecutedBy, FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_positive, as_text

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

    def message(self, message: Record | None, parts: list[Record]) -> Iterator[ev.AnyEvent]:
        """A message and its parts; parts whose message is lost are told as far as they tell themselves."""
        info = message.value if message is not None else {}
        parts = sorted(parts, key=lambda part: part.id)
        events = self._message(message, info, parts)
        for event in self._safely(events, message or parts[0]) if message or parts else ():
            self._last = event.id
            yield event

    def printed(self, line: Record) -> Iterator[ev.AnyEvent]:
        """A line of a run: a part of the model's, or an error; what the user said is not printed."""
        part, error, time = line.value.get("part"), line.value.get("error"), line.value.get("timestamp")
        if isinstance(part, dict):
            info = {"role": "assistant", "time": {"created": time}}
            yield from self._safely(self._part(Record(part, line.source, line.name), info, ()), line)
        elif isinstance(error, dict):
            yield self._error(error, self._place(line, time), retried=False)
        else:
            yield self._normaliser.unknown(self._place(line, time), as_text(line.value.get("type")))

    def _message(self, message: Record | None, info: dict[str, Any], parts: list[Record]) -> Iterator[ev.AnyEvent]:
        if message is not None:
            self._reached(message.id, None)
            yield self._normaliser.event(
                ev.ClientNoted,
                self._place(message, created(info)),
                name=f"message/{info.get('role')}",
                data={key: info[key] for key in ("agent", "mode") if isinstance(info.get(key), str)},
            )
        media = tuple(read for part in parts if (read := _media(part.value)) is not None)
        for part in parts:
            self._reached(as_text(part.value.get("messageID")), part.id)
            for event in self._safely(self._part(part, info, media), part):
                if isinstance(event, ev.UserSaid) and event.by != "client":
                    media = ()
                yield event
        if message is not None and info.get("role") == "assistant":
            yield from self._replied(message, info, parts)

    def _safely(self, events: Iterator[ev.AnyEvent], record: Record) -> Iterator[ev.AnyEvent]:
        """The same; a record of a known kind in an unknown shape is kept, and the others are read."""
        try:
            yield from events
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            place = self._place(record, None)
            place.key += "/unread"
            yield self._normaliser.event(ev.Unreadable, place, reason=f"{type(error).__name__}: {error}")

    def _place(self, record: Record, time: Any) -> Place:
        parent = record.value.get("messageID") or record.value.get("parentID")
        return Place(
            source=record.source,
            key=record.id,
            session=self._home,
            stream=self._stream,
            version=self._version,
            time=moment(time),
            parent=parent if isinstance(parent, str) else None,
        )

    def _reached(self, message: str | None, part: str | None) -> None:
        """Whether this is what the user went back to: it and what follows counts no more."""
        at = (self._revert.get("messageID"), self._revert.get("partID"))
        if self._kept is None and message is not None and at == (message, part):
            self._kept = (self._last,)

    # ── parts ──────────────────────────────────────────────────────────────

    def _part(self, part: Record, info: dict[str, Any], media: tuple[Media, ...]) -> Iterator[ev.AnyEvent]:
        value = part.value
        kind, times = value.get("type"), as_object(value.get("time"))
        place = self._place(part, times.get("start") or times.get("created") or created(info))
        model = as_text(info.get("modelID"))
        if kind == "text":
            yield self._text(value, info, media, place)
        elif kind == "reasoning":
            text = as_text(value.get("text")) or ""
            yield self._normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=not text)
        elif kind == "tool" and isinstance(value.get("tool"), str):
            yield from self._tool(value, place)
        elif kind == "step-finish":
            yield from self._step(value, model, place)
        elif kind == "compaction":
            self._trigger = "auto" if value.get("auto") is True else "manual"
            yield self._normaliser.event(ev.ClientNoted, place, name="part/compaction", data={"trigger": self._trigger})
        elif kind == "retry":
            yield self._error(as_object(value.get("error")), place, retried=True)
        elif kind == "subtask":
            yield self._subtask(value, place)
        elif isinstance(kind, str) and kind in _NOTED_PARTS:
            yield self._normaliser.event(ev.ClientNoted, place, name=f"part/{kind}")
        else:
            yield self._normaliser.unknown(place, f"part/{kind}" if isinstance(kind, str) else None)

    def _text(self, value: dict[str, Any], info: dict[str, Any], media: tuple[Media, ...], place: Place) -> ev.AnyEvent:
        text, role = as_text(value.get("text")) or "", info.get("role")
        if role == "assistant" and info.get("summary") is True:
            trigger, self._trigger = self._trigger, None
            return self._normaliser.event(ev.ContextCompacted, place, summary=text, trigger=trigger)
        if role == "assistant":
            return self._normaliser.event(ev.ModelSaid, place, text=text, model=as_text(info.get("modelID")))
        if role != "user":
            return self._normaliser.event(ev.ClientNoted, place, name="part/text", data={"text": text})
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

    def _tool(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
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
        place.time = moment(times.get("start")) or place.time
        yield self._normaliser.called(place, native)
        agent = as_text(metadata.get("sessionId")) or as_text(metadata.get("sessionID"))
        if agent is not None and name == "task":
            yield self._agent_started(agent, id, as_object(given), place)
        status = state.get("status")
        if status not in ("completed", "error"):
            return  # it is still running, or was when its process ended
        start, end = moment(times.get("start")), moment(times.get("end"))
        place.time = end or place.time
        took = (end - start).total_seconds() if start is not None and end is not None else None
        yield self._normaliser.returned(place, _result(id, value, state), duration=took)
        if agent is not None and name == "task":
            ending = "completed" if status == "completed" else "failed"
            yield self._normaliser.event(ev.AgentEnded, place, agent=agent, status=ending, call_id=id)

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

    def _step(self, value: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        tokens = value.get("tokens")
        if isinstance(tokens, dict):
            yield self._tokens(tokens, value.get("cost"), model, place)
        finish = _FINISH.get(str(value.get("reason")), FinishReason.UNKNOWN)
        yield self._normaliser.event(ev.ModelFinished, place, finish=finish, model=model)

    def _tokens(self, tokens: dict[str, Any], cost: Any, model: str | None, place: Place) -> ev.AnyEvent:
        known = as_positive(cost)  # 1.18.16 logs an unknown price as 0
        return self._normaliser.event(ev.TokensUsed, place, usage=_usage(tokens), model=model, cost=known)

    def _replied(self, message: Record, info: dict[str, Any], parts: list[Record]) -> Iterator[ev.AnyEvent]:
        """What the message itself knows of its end: what went wrong, and its tokens where no step counted them."""
        place = self._place(message, as_object(info.get("time")).get("completed") or created(info))
        place.number = 1
        tokens = info.get("tokens")
        counted = any(part.value.get("type") == "step-finish" for part in parts)
        if isinstance(tokens, dict) and not counted and _usage(tokens).total:
            yield self._tokens(tokens, info.get("cost"), as_text(info.get("modelID")), place)
        error = info.get("error")
        if isinstance(error, dict):
            yield self._error(error, place, retried=False)

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


def created(value: Mapping[str, Any]) -> float:
    created = as_object(value.get("time")).get("created")
    return created if isinstance(created, int | float) and not isinstance(created, bool) else 0
