"""Qwen Code's sessions (0.1.3 … 0.24.4): `<session>.jsonl`, records in Claude Code's envelope around Gemini's parts.

Its first versions kept Gemini CLI's document. Sub-agents have files of their own; before they had, only the client's
telemetry in the main file tells what they called. A request's tokens stand with the answer and in the telemetry, a
request without an answer (a summary, a page that was read) in the telemetry alone: each is told once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.logs.base.format import EitherReader, LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import DoneOutcome, Failure, NativeCall, NativeResult, Result, Usage, events as ev, operations as op
from dragoman.model.json_values import as_integer, as_number, as_object, as_text

from .parts.gemini_chat import ChatReader, call_of, media_of, parts_of, result_of, text_and_media, usage_of
from .parts.qwen_stream import StreamReader, is_printed

CLIENT = "qwen_code"

_TYPES: Final = frozenset({"user", "assistant", "tool_result", "system"})
_NOTES: Final = frozenset(
    {
        "agent_bootstrap",
        "agent_launch_prompt",
        "agent_retry",
        "at_command",
        "attribution_snapshot",
        "branch_checkpoint",
        "custom_title",
        "file_history_snapshot",
        "goal_runtime",
        "goal_state",
        "realtime_message",
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_source",
        "turn_result",
        "ui_telemetry",
        "user_text_elements",
    }
)
"""Kinds of system records that are the client's own book-keeping."""
_BY_USER: Final = (None, "mid_turn_user_message", "realtime_message")
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"sessionId"\s*:.*?"messages"\s*:\s*\[.*?"type"\s*:\s*"qwen"', re.DOTALL)
_NOTIFICATION = re.compile(r"<task-notification>(.*?)</task-notification>", re.DOTALL)
_TASK = re.compile(r"^task_id: (\S+)", re.MULTILINE)
_STATUS: Final = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_COMPRESSED: Final = 1
_WINDOW: Final = 4096
"""How much of a file tells which way it is kept, however its bytes come."""


class QwenCode(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    answers_unknown = False  # 0.23.3 and 0.24.4 have cancelled calls in what they print, and nothing in the log
    written_by = "qwen_writer.QwenWriter"

    def recognise(self, sample: Sample) -> float:
        if isinstance(sample.document, dict) and "messages" in sample.document:
            return _document(sample)
        if sample.document is None and _CUT_DOCUMENT.match(sample.head):
            return 0.6
        if is_printed(sample.records):
            return 0.95
        records = [
            record for record in sample.records if isinstance(record, dict) and str(record.get("type")) in _TYPES
        ]
        told = [record for record in records if "sessionId" in record and _has_parts(record)]
        if told:
            return 0.95 if any("uuid" in record for record in told) else 0.8
        own = [record for record in records if "systemPayload" in record and "uuid" in record]
        return 0.8 if own else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        for variable in ("QWEN_RUNTIME_DIR", "QWEN_HOME"):
            configured = places.environment.get(variable)
            if configured:
                yield Path(configured)
        yield places.home / ".qwen"

    below = "*.json*"

    def keeps(self, path: str) -> bool:
        place = path.replace(os.sep, "/")
        kept = "/chats/" in place or ("/subagents/" in place and place.endswith(".jsonl"))
        return kept and place.endswith((".json", ".jsonl"))

    def reader(self, path: Path) -> LogReader:
        return _Either(path)


def _has_parts(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def _document(sample: Sample) -> float:
    document = sample.document
    messages = document["messages"]
    if not isinstance(document.get("sessionId"), str) or not isinstance(messages, list):
        return 0.0
    types = {str(one.get("type")) for one in messages if isinstance(one, dict)}
    if "qwen" in types:
        return 0.95
    # A document without an answer says nothing of its client: only where it lies does.
    return 0.85 if types <= {"user"} and "projectHash" in document and ".qwen" in sample.path.parts else 0.0


class _Either(EitherReader):
    """Reads lines, or the document of the first versions (0.1.3)."""

    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        start = begin[:_WINDOW].lstrip()
        if b"\n" not in start and len(begin) < _WINDOW and not is_whole:
            return None
        first, line_ended, _ = start.partition(b"\n")
        is_open = bool(line_ended) and first.rstrip().endswith((b"{", b","))
        is_document = is_open or (b'"projectHash"' in first and b'"uuid"' not in first)
        if b'"session_id"' in first and b'"sessionId"' not in first:
            return _Stream(self._path)
        return ChatReader(self._path, CLIENT) if is_document else _Reader(self._path)


class _Stream(StreamReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, CLIENT)


class _Spawn(msgspec.Struct):
    """A call that spawns an agent and has no result yet."""

    kind: str | None
    prompt: str | None


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._stem = path.stem
        self._begun: set[tuple[str | None, str]] = set()
        self._keys = {self._stem}
        self._several: dict[str, int] = {}
        """Record → how many events it has, where they are more than one."""
        self._request: tuple[Place, Mapping[str, Any]] | None = None
        """A request of the main conversation that may yet get its answer."""
        self._owed: tuple[Place, Usage, str | None] | None = None
        """What an agent's reply used: in its own file that stands before the calls of the reply."""
        self._durations: dict[str, float] = {}
        self._spawns: dict[str, _Spawn] = {}
        self._unclear: dict[str, tuple[ev.ToolCalled, Place]] = {}
        """Calls of unknown tools, until the client's telemetry tells more."""
        self._queue: list[dict[str, Any] | str] = []
        """What waits for such calls, which stand in it by their ids: events keep their order.

        They wait as plain values: of an event that was stored meanwhile, what is a default would no longer be that very
        value, and would be written out.
        """
        self._servers: dict[str, set[str]] = {}
        self._agents: dict[str, str | None] = {}
        """Agent → the call that spawned it."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        for event in self._events(value, source):
            if self._queue:
                self._queue.append(msgspec.to_builtins(event))
                yield from self._ready()
            else:
                yield event
        yield from self._ready()

    def _ready(self) -> Iterator[ev.AnyEvent]:
        """What has waited long enough."""
        while self._queue and not isinstance(self._queue[0], str):
            event: ev.AnyEvent = msgspec.convert(self._queue.pop(0), ev.AnyEvent)
            yield event

    def _events(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        place = self._place(value, source)
        if place.session is not None and (place.session, place.stream) not in self._begun:
            self._begun.add((place.session, place.stream))
            yield self._started(value, place)
        before, kind = place.number, value.get("type")
        if kind == "user" or (kind == "assistant" and "usageMetadata" in value):
            yield from self._settled()
        if kind in ("assistant", "user") and self._unclear:
            self._clear(*self._unclear)
        if kind == "assistant":
            yield from self._assistant(value, place)
        elif kind == "user":
            yield from self._user(value, place)
        elif kind == "tool_result":
            yield from self._results(value, place)
        elif kind == "system":
            yield from self._system(value, place)
        else:
            yield self.normaliser.unknown(place, as_text(kind))
        if place.number == before and (self._owed is None or self._owed[0].key != place.key):
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{kind}")
        if place.number > 1:
            self._several[place.key] = place.number

    def end(self) -> Iterator[ev.AnyEvent]:
        self._clear(*self._unclear)
        yield from self._ready()
        yield from self._settled()
        yield from self._unanswered()

    # ── where a record stands ──────────────────────────────────────────────

    def _place(self, value: Mapping[str, Any], source: ev.Source) -> Place:
        key = as_text(value.get("uuid")) or self._stem
        if key in self._keys:
            key = f"{key}@{source.offset}"
        self._keys.add(key)
        return Place(
            source=source,
            key=key,
            session=as_text(value.get("sessionId")),
            stream=as_text(value.get("agentId")) or "main",
            version=as_text(value.get("version")),
            time=moment(value.get("timestamp")),
            parent=as_text(value.get("parentUuid")),
        )

    def _started(self, value: Mapping[str, Any], place: Place) -> ev.AnyEvent:
        is_agent = place.stream != "main"
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(value.get("cwd")),
            branch=as_text(value.get("gitBranch")) or None,
            model=as_text(value.get("model")),
            dialect=CLIENT,
            parent_session=place.session if is_agent else None,
            parent_call=_call_in(place.stream, as_text(value.get("agentName"))) if is_agent else None,
            forked_from=as_text(as_object(value.get("forkedFrom")).get("sessionId")),
        )

    # ── the model ──────────────────────────────────────────────────────────

    def _assistant(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        model = as_text(value.get("model"))
        for part in parts_of(as_object(value.get("message")).get("parts")):
            call, text = part.get("functionCall"), part.get("text")
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                yield from self._called(call, place)
            elif part.get("thought") is True:
                yield self.normaliser.event(
                    ev.ModelThought, place, text=as_text(text) or "", model=model, hidden=not text
                )
            elif isinstance(text, str):
                if text:
                    yield self.normaliser.event(ev.ModelSaid, place, text=text, model=model)
            else:
                media = tuple(media_of([part]))
                if media:
                    yield self.normaliser.event(ev.ModelSaid, place, text="", media=media, model=model)
                else:
                    yield self.normaliser.event(ev.ClientNoted, place, name="part", data=dict(part))
        tokens = value.get("usageMetadata")
        if isinstance(tokens, dict):
            yield from self._answered(tokens, model, place, is_copy="forkedFrom" in value)

    def _called(self, call: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        id = as_text(call.get("id")) or f"{place.key}.{place.number}"
        if id in self.normaliser.calls:
            # A provider may reuse ids (no session shows it); a record that is written again has a mark in its key.
            if id not in self.normaliser.returned_ids or "@" in place.key:
                return
            self.normaliser.returned_ids.remove(id)
        again = msgspec.structs.replace(place)
        event = self.normaliser.called(place, call_of(call, id))
        spawns = [one for one in event.call.operations if isinstance(one, op.SpawnAgent)]
        if spawns:
            self._spawns[id] = _Spawn(spawns[0].agent, spawns[0].prompt)
        if any(isinstance(one, op.Unrecognised) for one in event.call.operations):
            self._unclear[id] = (event, again)
            self._queue.append(id)
        else:
            yield event

    def _clear(self, *ids: str) -> None:
        """Calls that waited for the telemetry to say whose tool it is, as far as they are known now."""
        for id in ids:
            waited = self._unclear.pop(id, None)
            if waited is not None:
                event, place = waited
                called = self.normaliser.called(place, event.call.native)
                self._queue[self._queue.index(id)] = msgspec.to_builtins(called)

    def _learn(self, name: str | None, server: str | None) -> None:
        """First versions called the tools of MCP servers by their bare names; the telemetry names the server."""
        if name is None or server is None or not self._unclear:
            return
        ids = [id for id, (event, _) in self._unclear.items() if event.call.native.name == name]
        if ids:
            self._servers.setdefault(server, set()).add(name)
            self.normaliser.knowing(servers=self._servers)
            self._clear(*ids)

    # ── tokens ─────────────────────────────────────────────────────────────

    def _answered(
        self, tokens: Mapping[str, Any], model: str | None, place: Place, *, is_copy: bool
    ) -> Iterator[ev.AnyEvent]:
        if is_copy:
            # A branch copies the records of the session it came from; the tokens were used there.
            yield self.normaliser.event(ev.ClientNoted, place, name="usageMetadata/copied", data=dict(tokens))
            return
        usage = _usage(tokens)
        if self._request is not None and place.stream == "main":
            if _telemetry_usage(self._request[1]).total == usage.total:
                self._request = None
            else:
                yield from self._unanswered()
        if place.stream == "main":
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)
        else:
            self._owed = (msgspec.structs.replace(place), usage, model)

    def _settled(self) -> Iterator[ev.AnyEvent]:
        """What the reply used that an agent has given."""
        if self._owed is not None:
            place, usage, model = self._owed
            self._owed = None
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)
            if place.number > 1:
                self._several[place.key] = place.number

    def _unanswered(self) -> Iterator[ev.AnyEvent]:
        """A request whose answer is in no record of its own."""
        if self._request is not None:
            place, event = self._request
            self._request = None
            yield self._spent(place, event)

    def _spent(self, place: Place, event: Mapping[str, Any]) -> ev.AnyEvent:
        return self.normaliser.event(
            ev.TokensUsed, place, usage=_telemetry_usage(event), model=as_text(event.get("model"))
        )

    # ── the user ───────────────────────────────────────────────────────────

    def _user(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        content = as_object(value.get("message")).get("parts")
        text, media = text_and_media(content)
        subtype = value.get("subtype")
        if subtype == "notification":
            yield from self._notified(text, place)
        if not text and not media:
            yield from self._responses(value, place)
            return
        by = "user" if value.get("provenance") in (None, "real_user") and subtype in _BY_USER else "client"
        if place.stream != "main":
            by = "agent" if value.get("parentUuid") is None or value.get("externalInputKind") == "message" else "client"
        yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)

    def _notified(self, text: str, place: Place) -> Iterator[ev.AnyEvent]:
        for told in _NOTIFICATION.findall(text):
            agent = _inside("task-id", told)
            if agent in self._agents:
                status = _STATUS.get(_inside("status", told) or "", "unknown")
                yield self._ended(agent, status, _inside("result", told), place)

    # ── what tools gave ────────────────────────────────────────────────────

    def _results(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield from self._responses(value, place)
        if place.number == 0:
            yield self.normaliser.event(ev.ClientNoted, place, name="tool_result")

    def _responses(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        beside = value.get("toolCallResult")
        parts = parts_of(as_object(value.get("message")).get("parts"))
        responses = [part for part in parts if isinstance(part.get("functionResponse"), dict)]
        others = [part for part in parts if part not in responses] if len(responses) == 1 else []
        for part in responses:
            own = beside if isinstance(beside, dict) else None
            id = as_text(part["functionResponse"].get("id")) or as_text(as_object(own).get("callId"))
            if id is None or id in self.normaliser.returned_ids:
                continue
            yield from self._returned(result_of(id, [part, *others], own), as_object(own), place)

    def _returned(self, native: NativeResult, beside: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        self._clear(native.call_id)
        took = as_number(beside.get("durationMs"))
        duration = self._durations.pop(native.call_id, None) if took is None else took / 1000
        returned = self.normaliser.returned(place, native, duration=duration)
        yield returned
        text = native.content if isinstance(native.content, str) else ""
        denied = any(isinstance(one, Failure) and one.kind == "denied" for one in returned.result.outcomes)
        if beside.get("status") == "cancelled" and not denied:
            yield self.normaliser.event(ev.Interrupted, place, text=text or None, call_id=native.call_id)
        spawn = self._spawns.pop(native.call_id, None)
        if spawn is not None:
            yield from self._spawned(native, spawn, as_object(beside.get("resultDisplay")), text, place)

    def _spawned(
        self, native: NativeResult, spawn: _Spawn, shown: Mapping[str, Any], text: str, place: Place
    ) -> Iterator[ev.AnyEvent]:
        agent = next((agent for agent, call in self._agents.items() if call == native.call_id), None)
        in_background = _TASK.search(text)
        if agent is None and not native.is_error:
            if in_background is not None:
                agent = in_background[1]
            elif shown.get("subagentSessionReady") is True and isinstance(shown.get("subagentName"), str):
                agent = f"{shown['subagentName']}-{native.call_id}"
            if agent is not None:
                yield self._agent(agent, native.call_id, spawn, place)
        if agent is not None and in_background is None:
            status = _STATUS.get(str(shown.get("status")), "unknown")
            yield self._ended(agent, status, as_text(shown.get("result")), place)

    # ── agents ─────────────────────────────────────────────────────────────

    def _agent(self, agent: str, call_id: str | None, spawn: _Spawn | None, place: Place) -> ev.AnyEvent:
        self._agents[agent] = call_id
        name = spawn.kind if spawn is not None else None
        return self.normaliser.event(
            ev.AgentStarted,
            place,
            agent=agent,
            call_id=call_id,
            name=name or agent.rpartition("-")[0] or None,
            prompt=spawn.prompt if spawn is not None else None,
        )

    def _ended(self, agent: str, status: str, text: str | None, place: Place) -> ev.AnyEvent:
        return self.normaliser.event(
            ev.AgentEnded, place, agent=agent, call_id=self._agents.get(agent), status=status, text=text
        )

    def _seen(self, agent: str, place: Place) -> Iterator[ev.AnyEvent]:
        """An agent the telemetry names: spawned by the call whose id ends its name, or by the one call that waits."""
        if agent in self._agents:
            return
        named = [id for id in self._spawns if agent.endswith(f"-{id}")]
        waiting = [id for id, spawn in self._spawns.items() if spawn.kind and agent.startswith(f"{spawn.kind}-")]
        free = named or [id for id in waiting if id not in self._agents.values()]
        call_id = free[0] if len(free) == 1 else None
        yield self._agent(agent, call_id, self._spawns.get(call_id or ""), place)

    def _filed_as(self, agent: str) -> str:
        """The name of an agent in this log: 0.21.2 names one that runs in the background otherwise in its telemetry."""
        kind = agent.rpartition("-")[0]
        if agent in self._agents or any(spawn.kind == kind for spawn in self._spawns.values()):
            return agent
        filed = [one for one in self._agents if one.startswith(f"{kind}-") and self._has_own_file(one)]
        return filed[-1] if kind and filed else agent

    def _has_own_file(self, agent: str) -> bool:
        call_id = self._agents.get(agent)
        return call_id is not None and agent.endswith(f"-{call_id}")

    # ── the client ─────────────────────────────────────────────────────────

    def _system(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        subtype, payload = value.get("subtype"), as_object(value.get("systemPayload"))
        if subtype == "ui_telemetry":
            yield from self._telemetry(as_object(payload.get("uiEvent")), place)
        elif subtype == "chat_compression" and as_object(payload.get("info")).get("compressionStatus") == _COMPRESSED:
            yield from self._compacted(payload, place)
        elif subtype == "slash_command" and payload.get("phase") == "invocation":
            name, _, arguments = str(payload.get("rawCommand") or "").partition(" ")
            yield self.normaliser.event(ev.CommandInvoked, place, name=name, arguments=arguments.strip() or None)
        elif subtype == "rewind":
            yield self.normaliser.event(ev.HistoryRewound, place, to=self._event_of(place.parent, place))
        elif subtype == "session_model":
            yield self.normaliser.event(
                ev.ModelChanged, place, model=as_text(payload.get("modelId")), settings=dict(payload)
            )
        elif subtype == "parent_session":
            parent = as_text(payload.get("parentSessionId"))
            yield self.normaliser.event(ev.SessionStarted, place, dialect=CLIENT, parent_session=parent)
        elif subtype in _NOTES or subtype in ("chat_compression", "slash_command"):
            yield self.normaliser.event(ev.ClientNoted, place, name=f"system/{subtype}", data=_small(payload))
        else:
            yield self.normaliser.unknown(place, f"system/{subtype}" if isinstance(subtype, str) else "system")

    def _event_of(self, record: str | None, place: Place) -> str | None:
        """The last event of an earlier record."""
        if record is None:
            return None
        return f"{place.session or self._stem}:{record}:{self._several.get(record, 1)}"

    def _compacted(self, payload: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        info = as_object(payload.get("info"))
        history = parts_of(payload.get("compressedHistory"))
        summary = text_and_media(history[0].get("parts"))[0] if history else None
        reason = info.get("triggerReason")
        yield self.normaliser.event(
            ev.ContextCompacted,
            place,
            summary=summary or None,
            trigger="manual" if reason == "manual" else "auto" if isinstance(reason, str) else None,
            tokens_before=as_integer(info.get("originalTokenCount")),
            tokens_after=as_integer(info.get("newTokenCount")),
        )

    def _telemetry(self, event: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        name = as_text(event.get("event.name")) or ""
        agent = _agent_in(event)
        agent = agent if agent is None else self._filed_as(agent)
        if agent is not None:
            yield from self._seen(agent, place)
            place.stream = agent if not self._has_own_file(agent) else place.stream
        if name.endswith(".api_response"):
            yield from self._responded(event, agent, place)
        elif name.endswith(".tool_call"):
            yield from self._tool_told(event, agent, place)
        elif name.endswith(".api_error"):
            message = event.get("error_message") or event.get("error") or "an error of the API"
            yield self.normaliser.event(
                ev.ErrorOccurred,
                place,
                message=str(message),
                status=as_integer(event.get("status_code")),
                code=as_text(event.get("error_type")),
            )
        else:
            yield self._noted(name, event, place, _small(event))

    def _responded(self, event: Mapping[str, Any], agent: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        place.provider_id = as_text(event.get("response_id"))
        if agent is None:
            yield from self._unanswered()
            yield self._noted("api_response", event, place)
            self._request = (msgspec.structs.replace(place), event)
        elif self._has_own_file(agent):
            yield self._noted("api_response", event, place)
        else:
            yield self._spent(place, event)

    def _tool_told(self, event: Mapping[str, Any], agent: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        id, name = as_text(event.get("call_id")), as_text(event.get("function_name"))
        took = as_number(event.get("duration_ms"))
        self._learn(name, as_text(event.get("mcp_server_name")))
        if agent is None or self._has_own_file(agent) or name is None or id in self.normaliser.calls:
            if agent is None and id is not None and took is not None:
                self._durations[id] = took / 1000
            yield self._noted("tool_call", event, place)
            return
        # An agent without a file of its own (0.1.3 to 0.15.10): the log has no other record of its call.
        arguments = event.get("function_args")
        native = NativeCall(id or place.key, name, arguments if isinstance(arguments, dict) else {})
        yield self.normaliser.called(place, native)
        beside = {"status": event.get("status"), "errorType": event.get("error_type")}
        duration, error = None if took is None else took / 1000, event.get("error")
        if isinstance(error, str):
            result = NativeResult(native.id, error, is_error=True, name=name, item=beside)
            yield self.normaliser.returned(place, result, duration=duration)
        elif event.get("success") is True:
            # The call succeeded, and that is all the log says of it: what it gave is not there.
            result = NativeResult(native.id, is_error=False, name=name, item=beside)
            told = Result(native.id, (DoneOutcome(),), duration=duration, native=result)
            self.normaliser.returned_ids.add(native.id)
            yield self.normaliser.event(ev.ToolReturned, place, result=told, call_id=native.id)

    def _noted(
        self, name: str, event: Mapping[str, Any], place: Place, data: dict[str, Any] | None = None
    ) -> ev.AnyEvent:
        call_id = as_text(event.get("call_id"))
        return self.normaliser.event(
            ev.ClientNoted, place, name=f"ui_telemetry/{name}", data=data or {}, call_id=call_id
        )


def _small(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The plain facts of a note; the rest is in its bytes."""
    return {key: value for key, value in fields.items() if value is None or isinstance(value, int | float | str)}


def _inside(tag: str, text: str) -> str | None:
    _, opened, rest = text.partition(f"<{tag}>")
    inside, closed, _ = rest.partition(f"</{tag}>")
    return inside if opened and closed else None


def _agent_in(event: Mapping[str, Any]) -> str | None:
    """The agent that made a request or a call: named, or in the middle of `<session>#<agent>#<round>`."""
    named = event.get("subagent_id")
    if isinstance(named, str) and named:
        return named
    pieces = str(event.get("prompt_id") or "").split("#")
    return pieces[1] if len(pieces) == 3 and pieces[1] else None


def _call_in(agent: str, name: str | None) -> str | None:
    """The call whose id ends an agent's id; a short end is a random one."""
    end = agent.removeprefix(f"{name}-") if name else ""
    return end if end != agent and len(end) > 8 else None


def _usage(tokens: Mapping[str, Any]) -> Usage:
    return usage_of(
        as_integer(tokens.get("promptTokenCount")),
        as_integer(tokens.get("candidatesTokenCount")),
        as_integer(tokens.get("cachedContentTokenCount")),
        as_integer(tokens.get("thoughtsTokenCount")),
        as_integer(tokens.get("toolUsePromptTokenCount")),
        as_integer(tokens.get("totalTokenCount")),
    )


def _telemetry_usage(event: Mapping[str, Any]) -> Usage:
    return usage_of(
        as_integer(event.get("input_token_count")),
        as_integer(event.get("output_token_count")),
        as_integer(event.get("cached_content_token_count")),
        as_integer(event.get("thoughts_token_count")),
        as_integer(event.get("tool_token_count")),
        as_integer(event.get("total_token_count")),
    )


FORMAT = QwenCode()
