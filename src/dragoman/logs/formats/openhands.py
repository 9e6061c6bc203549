"""OpenHands CLI's conversations (1.16.0): a folder with `base_state.json` and one JSON file per event.

The number in an event's file name is its place; a run prints the same events, one in a line. Each call is an event of
its own; calls of one reply share an id, and what was said and thought stands on the first. Tokens are in
`base_state.json`, by the id of the reply. Agents have folders below `subagents`: nothing names the call that started
one, so they are joined by the words of their task. Times have no zone and are read as UTC. The program's version is not
in the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample, WholeFileReader, decoded
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

CLIENT: Final = "openhands"
STATE: Final = "base_state.json"
_KINDS: Final = frozenset(
    {
        "ActionEvent",
        "AgentErrorEvent",
        "Condensation",
        "CondensationRequest",
        "ConversationErrorEvent",
        "ConversationStateUpdateEvent",
        "MessageEvent",
        "ObservationEvent",
        "PauseEvent",
        "SystemPromptEvent",
        "UserRejectObservation",
    }
)
_EVENT: Final = re.compile(r"event-\d+-[\w-]+")


class OpenHands(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        document = sample.document
        if document is None:
            return 0.9 if any(_is_event(record) for record in sample.records[:5]) else 0.0
        if not isinstance(document, dict):
            return 0.0
        if {"agent", "stats", "execution_status"} <= document.keys():
            return 0.95
        return 0.9 if _is_event(document) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        yield places.home / ".openhands" / "conversations"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, f"*/{STATE}", f"*/subagents/*/{STATE}")

    def whole(self, path: Path) -> Path:
        state = path.parent.parent / STATE
        return state if path.parent.name == "events" and _EVENT.fullmatch(path.stem) and state.is_file() else path

    members = ((rf"(.*)/events/{_EVENT.pattern}\.json", rf"\1/{STATE}"),)

    def related(self, path: Path) -> Iterator[Path]:
        """Whether it has agents with folders of their own."""
        if path.name == STATE:
            yield path.parent / "subagents" / "*" / STATE

    def companions(self, path: Path) -> Iterator[Path]:
        if path.name == STATE:
            yield from _events_of(path)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _is_event(record: Any) -> bool:
    return isinstance(record, dict) and record.get("kind") in _KINDS and {"id", "timestamp", "source"} <= record.keys()


def _events_of(state: Path) -> list[Path]:
    return files_in(state.parent / "events", "event-*.json")


class _Reader(WholeFileReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.normaliser = Normaliser(CLIENT, CLIENT, path.stem)
        above = path.absolute().parent
        above = above.parent if above.name == "events" else above
        is_alone = path.name != STATE and path.suffix == ".jsonl"
        is_agent = above.parent.name == "subagents"
        self._session = path.stem if is_alone else above.parent.parent.name if is_agent else above.name
        self._stream = above.name if is_agent else "main"
        self._model: str | None = None
        self._used: dict[str, dict[str, Any]] = {}
        """Reply → its tokens, until they are told."""
        self._costs: dict[str, float] = {}
        self._served: set[str] = set()
        """Tools of MCP servers: a call that could not be read does not say that it is of one."""
        self._reply: tuple[str, Place] | None = None
        """The reply whose calls are being told."""

    def whole(self, data: bytes) -> Iterator[ev.AnyEvent]:
        if not data.strip():
            return
        data = data.removeprefix(b"\xef\xbb\xbf")
        value = decoded(data)
        source = ev.Source(str(self._path), 0, len(data))
        if not isinstance(value, dict) and b"\n" in data.strip():
            yield from self._printed(data)
        elif not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "it is no JSON object")
        elif "kind" in value:
            yield from self.event(value, source)
        else:
            yield from self._conversation(value, source)

    def _printed(self, data: bytes) -> Iterator[ev.AnyEvent]:
        """What a run prints: events, one in a line."""
        lines = _Lines(self._path, self.normaliser, self.event)
        yield from lines.feed(data)
        yield from lines.close()
        yield from self._ended_reply()

    def _conversation(self, state: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        self._model = as_text(as_object(as_object(state.get("agent")).get("llm")).get("model"))
        # What agents used stands here too, under `task:…`; where they have folders, it is counted there.
        has_agents = (self._path.parent / "subagents").is_dir()
        for name, metrics in as_object(as_object(state.get("stats")).get("usage_to_metrics")).items():
            if has_agents and name.startswith("task:"):
                continue
            used = [one for one in as_objects(as_object(metrics).get("token_usages")) if one.get("response_id")]
            costs = as_objects(as_object(metrics).get("costs"))
            for number, one in enumerate(used):
                self._used[str(one["response_id"])] = one
                cost = as_positive(costs[number].get("cost")) if len(costs) == len(used) else None
                if cost is not None:
                    self._costs[str(one["response_id"])] = cost
        place = Place(source, "state", self._session, self._stream)
        cwd = as_text(as_object(state.get("workspace")).get("working_dir"))
        known = ("execution_status", "max_iterations")
        yield self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=cwd,
            model=self._model,
            dialect=CLIENT,
            parent_session=None if self._stream == "main" else self._session,
            metadata={key: state[key] for key in known if key in state},
        )
        for path in _events_of(self._path):
            try:
                data = read_beside(path)
            except OSError as error:
                yield self._unread(path, 0, str(error))
                continue
            event = decoded(data)
            if isinstance(event, dict):
                yield from self.event(event, ev.Source(str(path), 0, len(data)))
            else:
                yield self._unread(path, len(data), "it is no JSON object")
        yield from self._ended_reply()
        for reply in list(self._used):  # of requests that left no event: a summary, a reply that was thrown away
            yield from self._tokens(reply, Place(source, f"tokens/{reply}", self._session, self._stream))

    def _unread(self, path: Path, length: int, reason: str) -> ev.AnyEvent:
        place = Place(ev.Source(str(path), 0, length), path.stem, self._session, self._stream)
        return self.normaliser.event(ev.Unreadable, place, reason=reason)

    # ── events ─────────────────────────────────────────────────────────────

    def event(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        kind, reply = as_text(value.get("kind")), as_text(value.get("llm_response_id"))
        place = Place(
            source,
            f"{as_text(value.get('id')) or Path(source.file).stem}@{source.offset}",
            self._session,
            self._stream,
            time=moment(value.get("timestamp")),
            provider_id=reply,
        )
        if self._reply is not None and kind in ("ActionEvent", "MessageEvent") and reply != self._reply[0]:
            yield from self._ended_reply()
        try:
            yield from self._told(kind, value, place)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            yield self.normaliser.event(ev.Unreadable, place, reason=f"{type(error).__name__}: {error}")
        if place.number == 0:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"{kind}/empty")
        if reply is not None:
            self._reply = reply, Place(source, f"{place.key}/tokens", self._session, self._stream, time=place.time)
            if kind == "MessageEvent":
                yield from self._ended_reply()
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            yield from self._ended_reply()

    def _ended_reply(self) -> Iterator[ev.AnyEvent]:
        """The tokens of a reply, once all its calls were told."""
        if self._reply is not None:
            reply, place = self._reply
            self._reply = None
            yield from self._tokens(reply, place)

    def _tokens(self, reply: str, place: Place) -> Iterator[ev.AnyEvent]:
        used = self._used.pop(reply, None)
        if used is not None:
            cost = self._costs.get(reply)
            model = as_text(used.get("model")) or self._model
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(used), model=model, cost=cost)

    def _told(self, kind: str | None, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        event = self.normaliser.event
        if kind == "MessageEvent":
            yield from self._message(value, place)
        elif kind == "ActionEvent":
            yield from self._action(value, place)
        elif kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
            yield self._result(value, place)
        elif kind == "SystemPromptEvent":
            yield event(ev.SystemSaid, place, text=_text([as_object(value.get("system_prompt"))]))
        elif kind == "ConversationErrorEvent":
            message = as_text(value.get("detail")) or as_text(value.get("code")) or "the conversation ended in an error"
            yield event(ev.ErrorOccurred, place, message=message, code=as_text(value.get("code")))
        elif kind == "Condensation":
            yield event(ev.ContextCompacted, place, summary=as_text(value.get("summary")), trigger="auto")
        elif kind == "PauseEvent":
            yield event(ev.Interrupted, place)
        elif kind in _KINDS:
            yield event(ev.ClientNoted, place, name=kind, data={"source": value.get("source")})
        else:
            yield self.normaliser.unknown(place, kind)

    def _message(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        message = as_object(value.get("llm_message"))
        pieces = _pieces(message.get("content"))
        text = "\n".join(piece for piece in pieces if isinstance(piece, str))
        media = tuple(piece for piece in pieces if isinstance(piece, Media))
        if message.get("role") == "assistant":
            yield from self._thought(message, place)
            yield self.normaliser.event(ev.ModelSaid, place, text=text, media=media, model=self._model)
        else:
            by = "agent" if value.get("sender") else "user" if value.get("source") == "user" else "client"
            yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)

    def _thought(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        text = as_text(value.get("reasoning_content"))
        blocks = [as_text(block.get("thinking")) or "" for block in as_objects(value.get("thinking_blocks"))]
        if text is None and blocks:
            text = "\n".join(blocks)
        if text is not None:
            yield self.normaliser.event(ev.ModelThought, place, text=text, model=self._model, hidden=not text)

    def _action(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield from self._thought(value, place)
        words = _text(value.get("thought"))
        if words:
            yield self.normaliser.event(ev.ModelSaid, place, text=words, model=self._model)
        call, action = as_object(value.get("tool_call")), as_object(value.get("action"))
        said = call.get("arguments")
        given = decoded(said.encode("utf-8", "surrogatepass")) if isinstance(said, str) else said
        arguments = given if isinstance(given, dict) else said if isinstance(said, str) else {}
        name = as_text(value.get("tool_name")) or as_text(call.get("name")) or ""
        if action.get("kind") == "MCPToolAction":
            self._served.add(name)
        item = {"type": "MCPToolAction"} if name in self._served else None
        id = as_text(value.get("tool_call_id")) or place.key
        yield self.normaliser.called(place, NativeCall(id, name, arguments, item=item))

    def _result(self, value: dict[str, Any], place: Place) -> ev.AnyEvent:
        observation = as_object(value.get("observation"))
        error = as_text(value.get("error")) or as_text(value.get("rejection_reason"))
        pieces = _pieces(observation.get("content"))
        content = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces
        native = NativeResult(
            as_text(value.get("tool_call_id")) or "",
            content if error is None else error,
            is_error=error is not None or observation.get("is_error") is True,
            name=as_text(value.get("tool_name")),
            item={key: observation[key] for key in observation if key != "content"} or {"kind": value.get("kind")},
        )
        return self.normaliser.returned(place, native)


class _Lines(LinesReader):
    def __init__(
        self, path: Path, normaliser: Normaliser, told: Callable[[dict[str, Any], ev.Source], Iterator[ev.AnyEvent]]
    ) -> None:
        super().__init__(path, normaliser)
        self._told = told

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if isinstance(value, dict):
            yield from self._told(value, source)
        else:
            yield self.normaliser.unreadable(source, "a record is a JSON object")


# ── values ───────────────────────────────────────────────────────────────────


def _usage(used: dict[str, Any]) -> Usage:
    """The client counts what was cached as part of the prompt."""
    names = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")
    given, read, written, output, thought = (as_integer(used.get(name)) for name in names)
    fresh = None if given is None else given - (read or 0) - (written or 0)
    if fresh is not None and fresh < 0:
        fresh = given
    return Usage(
        input_tokens=fresh,
        cached_read_tokens=read,
        cached_write_tokens=written,
        output_tokens=output,
        reasoning_tokens=thought,
    )


def _text(blocks: Any) -> str:
    return "\n".join(block["text"] for block in as_objects(blocks) if isinstance(block.get("text"), str))


def _pieces(blocks: Any) -> tuple[str | Media, ...]:
    pieces: list[str | Media] = []
    for block in as_objects(blocks):
        if isinstance(block.get("text"), str):
            pieces.append(block["text"])
        for url in block.get("image_urls") or ():
            head, comma, data = str(url).partition(";base64,")
            is_data = bool(comma) and head.startswith("data:")
            pieces.append(Media(head.removeprefix("data:"), data=data) if is_data else Media("image/*", url=str(url)))
    return tuple(pieces)


FORMAT = OpenHands()
