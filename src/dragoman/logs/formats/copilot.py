"""Copilot CLI's sessions (0.0.390 … 1.0.102): `session-state/<session>/events.jsonl`, and the same events as printed.

A call stands in the message that made it and again where it starts to run; it is told once. Sub-agents speak in the
same file, marked by their id. What a request used is written before the message it is for; it is told after it.
Sessions of 2025 are documents: see `copilot_document`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dragoman.logs.base.format import EitherReader, LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_text

from .parts.copilot_document import SessionReader, arguments_of, recognise as recognise_document

CLIENT = "copilot"

_FAMILIES = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "permission.", "model.call_")
"""How the kinds of records begin that no other client writes in this envelope."""

_KNOWN_NOTES = frozenset(
    {
        "agent.interrupted",
        "assistant.idle",
        "assistant.intent",
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning_delta",
        "assistant.server_tool_progress",
        "assistant.streaming_delta",
        "assistant.tool_call_delta",
        "assistant.turn_retry",
        "assistant.turn_start",
        "auto_mode_switch.completed",
        "auto_mode_switch.requested",
        "capabilities.changed",
        "command.completed",
        "command.queued",
        "commands.changed",
        "elicitation.completed",
        "elicitation.requested",
        "exit_plan_mode.completed",
        "exit_plan_mode.requested",
        "external_tool.completed",
        "external_tool.requested",
        "factory.run_settled",
        "factory.run_started",
        "factory.run_updated",
        "hook.end",
        "hook.progress",
        "hook.start",
        "mcp.headers_refresh_completed",
        "mcp.headers_refresh_required",
        "mcp.oauth_completed",
        "mcp.oauth_required",
        "mcp.prompts.list_changed",
        "mcp.resources.list_changed",
        "mcp.tools.list_changed",
        "mcp_app.tool_call_complete",
        "model.call_final_result",
        "model.call_finished",
        "model.call_start",
        "pending_messages.modified",
        "permission.completed",
        "permission.requested",
        "prompt_cache_break",
        "result",
        "sampling.completed",
        "sampling.requested",
        "sandbox.decision",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.background_tasks_changed",
        "session.binary_asset",
        "session.canvas.closed",
        "session.canvas.opened",
        "session.canvas.recorded",
        "session.canvas.registry_changed",
        "session.canvas.removed",
        "session.canvas.unavailable",
        "session.compaction_start",
        "session.context_changed",
        "session.custom_agents_updated",
        "session.custom_notification",
        "session.extensions.attachments_pushed",
        "session.extensions_loaded",
        "session.handoff",
        "session.idle",
        "session.info",
        "session.managed_settings_enforced",
        "session.managed_settings_resolved",
        "session.mcp_server_status_changed",
        "session.mcp_server_tools_loaded",
        "session.mcp_servers_loaded",
        "session.mode_changed",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.schedule_cancelled",
        "session.schedule_created",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.skills_loaded",
        "session.task_complete",
        "session.title_changed",
        "session.todos_changed",
        "session.tools_updated",
        "session.usage_checkpoint",
        "session.usage_info",
        "session.warning",
        "session.workspace_file_changed",
        "session_limits_exhausted.completed",
        "session_limits_exhausted.requested",
        "skill.invoked",
        "subagent.configured",
        "subagent.deselected",
        "subagent.selected",
        "tool.shell_output",
        "tool.user_requested",
        "tool_search.activated",
        "ui.ephemeral_query",
        "user_input.completed",
        "user_input.requested",
    }
)
"""Kinds of records that are the client's own book-keeping."""

_FINISH = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.CALLS,
    "tool_use": FinishReason.CALLS,
    "content_filter": FinishReason.FILTERED,
    "refusal": FinishReason.REFUSED,
}
_DOCUMENT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:sessionId|startTime|chatMessages|timeline)"')
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"sessionId"\s*:.{0,400}?"chatMessages"\s*:\s*\[', re.DOTALL)
_ENOUGH = 256
"""Bytes that tell which of the two a file is."""
_OWN_SERVER = "github-mcp-server"
"""The server that the client brings along (1.0.102)."""
_DESCRIBING = ("producer", "reasoningEffort", "contextTier")
"""What a session's first record says of how it was begun, in a word each."""
_COUNTERS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


class Copilot(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    written_by_field = ("producer", "copilot", "session-task")
    written_by = "copilot_writer.CopilotWriter"

    def recognise(self, sample: Sample) -> float:
        if sample.document is not None and recognise_document(sample.document):
            return recognise_document(sample.document)
        if sample.document is None and _CUT_DOCUMENT.match(sample.head):
            return 0.6
        records = [record for record in sample.records if isinstance(record, dict) and _is_enveloped(record)]
        if any(_is_first(record) for record in sample.records):
            return 0.95
        return 0.9 if records else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("COPILOT_HOME")
        for root in ([Path(configured)] if configured else []) + [places.home / ".copilot"]:
            yield root / "session-state"
            yield root / "history-session-state"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "*/events.jsonl", "*.jsonl", "session_*.json")

    def reader(self, path: Path) -> LogReader:
        return _Either(path)


class _Either(EitherReader):
    """Reads lines, or a document: no line begins as one does."""

    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        if len(begin) < _ENOUGH and not is_whole:
            return None
        is_document = _DOCUMENT.match(begin) is not None
        return SessionReader(self._path, CLIENT) if is_document else _Reader(self._path)


def _is_enveloped(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return (
        isinstance(kind, str)
        and kind.startswith(_FAMILIES)
        and isinstance(record.get("data"), dict)
        and "timestamp" in record
        and "parentId" in record
    )


def _is_first(record: Any) -> bool:
    """Whether a record is what a session begins with, and no other client's."""
    return as_object(record).get("type") == "session.start" and "copilotVersion" in as_object(
        as_object(record).get("data")
    )


class _Record(msgspec.Struct, gc=False):
    """What is read of a line, in the order the client writes it."""

    type: Any = None
    data: dict[str, Any] = {}
    id: Any = None
    timestamp: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = None
    parent: Any = msgspec.field(default=None, name="parentId")
    agent: Any = msgspec.field(default=None, name="agentId")


def _record_of(value: dict[str, Any]) -> _Record:
    """A record that was read as any JSON."""
    return _Record(
        *(value.get("type"), as_object(value.get("data")), value.get("id"), moment(value.get("timestamp"))),
        *(value.get("parentId"), value.get("agentId")),
    )


_decode_record = msgspec.json.Decoder(_Record).decode


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self.decode = _decode_record
        # Each session has a folder of its own; only its first record and what is printed last name the session.
        self._session = path.absolute().parent.name if path.name == "events.jsonl" else None
        self._version: str | None = None
        self._agents: dict[str, str] = {}
        """Call → the agent it spawned."""
        self._streams: dict[str, str] = {}
        """Call → the stream it was made in."""
        self._begun: dict[str, float] = {}
        """Call → when it began to run."""
        self._thoughts: dict[str, str] = {}
        """Stream → what its last message was thought before."""
        self._replied: dict[str, FinishReason] = {}
        """Stream → how the reply ended that no count has closed yet."""
        self._used: dict[str, tuple[Place, dict[str, Any]]] = {}
        """Stream → what was used for the message that comes next."""
        self._servers: dict[str, set[str]] = {}
        self._models: dict[str, str] = {}
        """Stream → the model it was last known to have; messages up to 1.0.42 do not say it."""
        self._tally = _Tally()
        self._before: dict[str, str | None] = {}
        """Message of the user's → the event before it, which is what is gone back to."""
        self._last: str | None = None
        self._make_noted = self.normaliser.maker(ev.ClientNoted, "name", "data", "call_id")

    def add_record(self, value: Any, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        if type(value) is _Record:
            record = value
        elif isinstance(value, dict):
            record = _record_of(value)
        else:
            events.append(self.normaliser.unreadable(source, "a record is a JSON object"))
            return
        kind, data = record.type, record.data
        place = self._place(record, data, source)
        if "parentToolCallId" in data:
            self._tell(self._agent_found(as_text(data["parentToolCallId"]), place), events)
        if isinstance(kind, str):
            if kind in _KNOWN_NOTES:  # as most are
                noted = self._noted(kind, data, place)
                self._last = noted.id
                events.append(noted)
                return
            tell = _TELLERS.get(kind)
            if tell is not None:
                self._tell(tell(self, data, place), events)
                return
        self._tell((self.normaliser.unknown(place, kind if isinstance(kind, str) else None),), events)

    def _tell(self, told: Iterable[ev.AnyEvent], events: list[ev.AnyEvent]) -> None:
        for event in told:
            self._last = event.id
            events.append(event)

    def end(self) -> Iterator[ev.AnyEvent]:
        for stream in list(self._used):
            yield from self._counted(stream)

    def _place(self, record: _Record, data: dict[str, Any], source: ev.Source) -> Place:
        id, parent, agent = record.id, record.parent, record.agent
        if not agent or not isinstance(agent, str):
            agent = self._agents.get(str(data["parentToolCallId"])) if "parentToolCallId" in data else None
        return Place(
            source,
            f"{id}@{source.offset}" if isinstance(id, str) else f"@{source.offset}",
            self._session,
            agent or "main",
            self._version,
            record.timestamp,
            parent if isinstance(parent, str) else None,
            as_text(data["apiCallId"]) if "apiCallId" in data else None,
        )

    def _noted(self, kind: str, data: dict[str, Any], place: Place) -> ev.AnyEvent:
        kept = _NOTED.get(kind)
        facts = {key: data[key] for key in kept if key in data} if kept else {}
        return self._make_noted(place, kind, facts, as_text(data["toolCallId"]) if "toolCallId" in data else None)

    # ── the session ────────────────────────────────────────────────────────

    def _started(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        self._session = place.session = as_text(data.get("sessionId")) or self._session
        self._version = place.version = as_text(data.get("copilotVersion")) or self._version
        yield self._opened(data, place, resumed=False)

    def _resumed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self._opened(data, place, resumed=True)

    def _learn_model(self, model: Any, stream: str) -> None:
        if isinstance(model, str):
            self._models[stream] = model

    def _opened(self, data: dict[str, Any], place: Place, *, resumed: bool) -> ev.AnyEvent:
        context = as_object(data.get("context"))
        self._learn_model(data.get("selectedModel"), place.stream)
        metadata = {key: data[key] for key in _DESCRIBING if isinstance(data.get(key), str)}
        self.normaliser.doubts = FORMAT.another_program(metadata) is not None
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(context.get("cwd")),
            project=as_text(context.get("gitRoot")),
            branch=as_text(context.get("branch")),
            model=as_text(data.get("selectedModel")),
            parent_session=as_text(data.get("detachedFromSpawningParentSessionId")),
            resumed=resumed,
            metadata=metadata,
        )

    def _model_changed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        self._learn_model(data.get("newModel"), place.stream)
        effort = data.get("reasoningEffort")
        settings = {} if effort is None else {"reasoningEffort": effort}
        yield self.normaliser.event(ev.ModelChanged, place, model=as_text(data.get("newModel")), settings=settings)

    def _shut_down(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        """The session's own totals: what they count beyond what its messages did is told here."""
        metrics = as_object(data.get("modelMetrics")) or as_object(
            as_object(data.get("accountingSnapshot")).get("modelMetrics")
        )
        totals = {model: as_object(as_object(counted).get("usage")) for model, counted in metrics.items()}
        for model, left, earlier in self._tally.left(totals):
            yield self.normaliser.event(ev.TokensUsed, place, usage=left, model=model, earlier_output=earlier)
        reason = {"routine": "completed", "error": "failed"}.get(str(data.get("shutdownType")), "unknown")
        yield self.normaliser.event(ev.SessionEnded, place, reason=reason)

    def _compacted(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        if data.get("success") is False:
            message = as_text(as_object(data.get("error")).get("message")) or as_text(data.get("error"))
            yield self.normaliser.event(
                ev.ErrorOccurred, place, message=message or "the conversation was not compacted"
            )
            return
        yield self.normaliser.event(
            ev.ContextCompacted,
            place,
            summary=as_text(data.get("summaryContent")),
            tokens_before=as_integer(data.get("preCompactionTokens")),
            tokens_after=as_integer(data.get("postCompactionTokens")),
        )
        used = as_object(data.get("compactionTokensUsed"))
        if used and not self._tally.has_records:  # 1.0.102 has a record for each request, this too
            model = as_text(used.get("model"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=self._tally.add(model, used), model=model)

    def _cleared(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(
            ev.ContextCompacted, place, summary=as_text(data.get("initialMessage")), trigger="manual"
        )

    def _truncated(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(
            ev.ContextCompacted,
            place,
            trigger="auto",
            tokens_before=as_integer(data.get("preTruncationTokensInMessages")),
            tokens_after=as_integer(data.get("postTruncationTokensInMessages")),
        )

    def _rewound(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(ev.HistoryRewound, place, to=self._before.get(str(data.get("upToEventId"))))

    def _failed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(
            ev.ErrorOccurred,
            place,
            message=as_text(data.get("message")) or as_text(data.get("errorMessage")) or "an error without words",
            status=as_integer(data.get("statusCode")),
            code=as_text(data.get("errorType")) or as_text(data.get("failureKind")),
        )

    def _aborted(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(ev.Interrupted, place, text=as_text(data.get("reason")))

    def _command(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        words = (as_text(data.get("command")) or as_text(data.get("commandName")) or "").split(maxsplit=1)
        arguments = as_text(data.get("args")) or (words[1] if len(words) > 1 else None)
        yield self.normaliser.event(ev.CommandInvoked, place, name=words[0] if words else "", arguments=arguments)

    # ── what is said ───────────────────────────────────────────────────────

    def _user(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        self._before[place.key.partition("@")[0]] = self._last
        origin = as_text(data.get("source")) or ""
        text = as_text(data.get("content")) or ""
        by = "agent" if origin.startswith("agent-") else "client" if origin not in ("", "user") else "user"
        if data.get("isAutopilotContinuation") is True:
            by = "client"
        if not text:  # a reminder of the client's to the model, which the user does not see (1.0.74)
            text, by = as_text(data.get("transformedContent")) or "", "client"
        yield self.normaliser.event(ev.UserSaid, place, text=text, media=_attached(data.get("attachments")), by=by)

    def _system(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(ev.SystemSaid, place, text=as_text(data.get("content")) or "")

    def _notified(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self.normaliser.event(ev.UserSaid, place, text=as_text(data.get("content")) or "", by="client")

    def _message(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        said = as_text(data.get("model"))
        model = said or self._models.get(place.stream)
        thought = as_text(data.get("reasoningText"))
        if thought or data.get("reasoningOpaque"):
            self._thoughts[place.stream] = thought or ""
            yield self.normaliser.event(ev.ModelThought, place, text=thought or "", model=model, hidden=not thought)
        text = as_text(data.get("content"))
        if text:
            yield self.normaliser.event(ev.ModelSaid, place, text=text, model=model)
        requests = data.get("toolRequests")
        requests = [one for one in requests if isinstance(one, dict)] if isinstance(requests, list) else []
        for request in requests:
            yield from self._requested(request, said, place)
        if place.number == 0:  # it is empty, or its calls were told before
            yield self._noted("assistant.message", data, place)
        self._replied[place.stream] = FinishReason.CALLS if requests else FinishReason.UNKNOWN
        count = as_integer(data.get("outputTokens"))
        if place.stream in self._used:
            yield from self._counted(place.stream)
        elif count is not None and not self._tally.has_records:
            usage = self._tally.add(model, {"outputTokens": count}, is_all=False)
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)

    def _reasoned(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        """A thought by itself, which the message it led to holds too."""
        text = as_text(data.get("content")) or ""
        if self._thoughts.get(place.stream) == text:
            yield self._noted("assistant.reasoning", data, place)
        else:
            yield self.normaliser.event(ev.ModelThought, place, text=text, hidden=not text)

    def _turn_ended(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield from self._counted(place.stream)
        finish = self._replied.pop(place.stream, None)
        if finish is None:
            yield self._noted("assistant.turn_end", data, place)
        else:
            yield self.normaliser.event(ev.ModelFinished, place, finish=finish)

    # ── calls ──────────────────────────────────────────────────────────────

    def _requested(self, request: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        if not isinstance(request.get("name"), str):
            yield self.normaliser.unknown(place, "toolRequest")
            return
        # When an agent is idle, the client itself calls `read_agent` in the model's name (1.0.102).
        by = "client" if model is None and "type" not in request else "model"
        id = as_text(request.get("toolCallId"))
        if id is not None and id in self.normaliser.returned_ids:  # a provider may reuse ids (no session shows it)
            self.normaliser.returned_ids.remove(id)
            yield from self._call(request["name"], request, by, place, is_anew=True)
            return
        yield from self._call(request["name"], request, by, place)

    def _call(
        self, name: str, told: dict[str, Any], by: str, place: Place, *, is_anew: bool = False
    ) -> Iterator[ev.AnyEvent]:
        id = as_text(told.get("toolCallId")) or f"{place.key}.{place.number}"
        if id in self.normaliser.calls and not is_anew:
            return
        self._streams[id] = place.stream
        self._learn(name, told)
        yield self.normaliser.called(place, NativeCall(id, name, arguments_of(told.get("arguments"))), by=by)

    def _learn(self, name: str, told: dict[str, Any]) -> None:
        """The server a tool is of: it stands beside its name, or, in 0.0.390, only in it."""
        server, tool = as_text(told.get("mcpServerName")), as_text(told.get("mcpToolName"))
        if server is None and (self._version or "").startswith("0."):
            server = _server_in(name)
        if server and tool is None:  # 1.0.20 says the server alone, 1.0.42 and later the tool too
            tool = name.removeprefix(f"{server}-")
        if server and tool and tool not in self._servers.get(server, ()):
            self._servers.setdefault(server, set()).add(tool)
            self.normaliser.knowing(servers=self._servers)

    def _running(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        id, name = as_text(data.get("toolCallId")), as_text(data.get("toolName"))
        if id is not None and place.time is not None:
            self._begun[id] = place.time.timestamp()
        if name is not None and id not in self.normaliser.calls:
            yield from self._call(name, data, "model", place)
        else:
            yield self._noted("tool.execution_start", data, place)

    def _progressed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        message = as_text(data.get("partialOutput")) or as_text(data.get("progressMessage")) or ""
        yield self.normaliser.event(ev.ToolProgressed, place, message=message, call_id=as_text(data.get("toolCallId")))

    def _ran(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        id = as_text(data.get("toolCallId")) or ""
        if id in self.normaliser.returned_ids:
            yield self._noted("tool.execution_complete", data, place)
            return
        self._learn_model(data.get("model"), place.stream)
        success, result, error = data.get("success"), data.get("result"), as_object(data.get("error"))
        content = as_text(error.get("message")) if error else as_text(as_object(result).get("content"))
        flag = not success if isinstance(success, bool) else None
        begun = self._begun.pop(id, None)
        took = None if begun is None or place.time is None else max(0.0, round(place.time.timestamp() - begun, 3))
        native = NativeResult(
            id, content or as_text(result) or "", is_error=flag, name=as_text(data.get("toolName")), item=data
        )
        yield self.normaliser.returned(place, native, duration=took)

    # ── sub-agents ─────────────────────────────────────────────────────────

    def _agent_found(self, id: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        """The start of an agent that no record tells (0.0.390): its records name the call that spawned it."""
        if id is None or id in self._agents or id not in self.normaliser.calls:
            return
        here, stream = msgspec.structs.replace(place, key=f"{place.key}.agent"), place.stream
        yield from self._agent_started({"toolCallId": id}, here)
        place.stream = self._agents[id] if stream == "main" else stream

    def _agent_started(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        id = as_text(data.get("toolCallId"))
        agent = place.stream if place.stream != "main" else id or place.key
        if id is not None:
            self._agents[id] = agent
        place.stream = self._streams.get(id or "", "main")
        call = self.normaliser.calls.get(id or "")
        arguments = call.native.arguments if call is not None else None
        yield self.normaliser.event(
            ev.AgentStarted,
            place,
            agent=agent,
            name=as_text(data.get("agentName")),
            prompt=as_text(as_object(arguments).get("prompt")),
            call_id=id,
        )

    def _agent_completed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self._agent_ended(data, place, "completed")

    def _agent_failed(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield self._agent_ended(data, place, "failed")

    def _agent_ended(self, data: dict[str, Any], place: Place, status: str) -> ev.AnyEvent:
        id = as_text(data.get("toolCallId"))
        agent = self._agents.get(id or "", place.stream)
        place.stream = self._streams.get(id or "", "main")
        return self.normaliser.event(
            ev.AgentEnded, place, agent=agent, status=status, text=as_text(data.get("error")), call_id=id
        )

    # ── tokens ─────────────────────────────────────────────────────────────

    def _usage_recorded(self, data: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        yield from self._counted(place.stream)
        self._tally.has_records = True
        self._used[place.stream] = (place, as_object(data.get("usage")) or data)

    def _counted(self, stream: str) -> Iterator[ev.AnyEvent]:
        """What the reply used that has just been told, and how it ended."""
        place, used = self._used.pop(stream, (None, {}))
        if place is None:
            return
        model = as_text(used.get("model"))
        place.provider_id = as_text(used.get("apiCallId"))
        yield self.normaliser.event(ev.TokensUsed, place, usage=self._tally.add(model, used), model=model)
        reason = as_text(used.get("finishReason"))
        if reason is not None:
            self._replied.pop(stream, None)
            finish = _FINISH.get(reason, FinishReason.UNKNOWN)
            yield self.normaliser.event(ev.ModelFinished, place, finish=finish, model=model)


class _Tally:
    """What was counted so far, by model: the client's totals count all of it once more.

    Up to 1.0.67 the totals are of the run that ended, later of the session: a continued session has both.
    """

    def __init__(self) -> None:
        self.has_records = False
        self._counts: dict[str | None, dict[str, int]] = {}
        self._of_run: dict[str | None, dict[str, int]] = {}
        """The same of the run alone that goes on."""
        self._outputs: dict[str | None, int] = {}
        """The output of those replies of it of which nothing else is logged: up to 1.0.92 only totals say what they
        were given."""
        self._totals: dict[str | None, dict[str, int]] = {}
        """The totals when a run ended last."""

    def add(self, model: str | None, used: dict[str, Any], *, is_all: bool = True) -> Usage:
        """Counts these tokens."""
        if not is_all:
            self._outputs[model] = self._outputs.get(model, 0) + (as_integer(used.get("outputTokens")) or 0)
        said = [(key, count) for key in _COUNTERS if (count := as_integer(used.get(key)))]
        for counted in (self._counts, self._of_run):
            counts = counted.setdefault(model, dict.fromkeys(_COUNTERS, 0))
            for key, count in said:
                counts[key] += count
        return _usage(used)

    def left(self, totals: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Usage, int]]:
        """What the totals of a run that ended have beyond what was counted, by model; it is then counted too.

        With it goes the output of replies that was counted alone: what they were given is in here.
        """
        now: dict[str | None, dict[str, int]] = {
            model: {key: count for key in _COUNTERS if (count := as_integer(told.get(key))) is not None}
            for model, told in totals.items()
        }
        counted = self._of_run if self._are_of_run(now) else self._counts
        unnamed = dict(counted.get(None, {}))  # messages up to 1.0.42 do not say whose they are
        alone = self._outputs.get(None, 0)
        for model in totals:
            counts = counted.get(model, {})
            earlier = self._outputs.get(model, 0)
            left = {key: count - counts.get(key, 0) for key, count in now[model].items()}
            for key, count in left.items():
                taken = max(0, min(count, unnamed.get(key, 0)))
                left[key] -= taken
                unnamed[key] = unnamed.get(key, 0) - taken
                if key == "outputTokens":  # some may be of a run before, whose totals had them
                    earlier, alone = earlier + min(taken, alone), alone - min(taken, alone)
            if any(count > 0 for count in left.values()):
                yield model, self.add(model, {key: max(0, count) for key, count in left.items()}), earlier
        self._totals, self._of_run, self._outputs = now, {}, {}

    def _are_of_run(self, now: dict[str | None, dict[str, int]]) -> bool:
        """Whether these totals cannot be the session's: they would have to hold what was told before and since."""
        if any(
            now.get(model, {}).get(key, 0) < count
            for model, told in self._totals.items()
            for key, count in told.items()
        ):
            return True
        said = sum(counts.get("outputTokens", 0) for counts in (*self._totals.values(), *self._of_run.values()))
        return sum(counts.get("outputTokens", 0) for counts in now.values()) < said


def _usage(used: dict[str, Any]) -> Usage:
    """Tokens as they are counted here: the client counts those of the cache as input too (1.0.92, 1.0.102)."""
    given, read, written = (as_integer(used.get(key)) for key in ("inputTokens", "cacheReadTokens", "cacheWriteTokens"))
    return Usage(
        input_tokens=None if given is None else max(0, given - (read or 0) - (written or 0)),
        cached_read_tokens=read,
        cached_write_tokens=written,
        output_tokens=as_integer(used.get("outputTokens")),
        reasoning_tokens=as_integer(used.get("reasoningTokens")),
    )


_TELLERS = {
    "abort": _Reader._aborted,
    "assistant.message": _Reader._message,
    "assistant.reasoning": _Reader._reasoned,
    "assistant.turn_end": _Reader._turn_ended,
    "assistant.usage": _Reader._usage_recorded,
    "command.execute": _Reader._command,
    "model.call_failure": _Reader._failed,
    "session.compaction_complete": _Reader._compacted,
    "session.context_cleared": _Reader._cleared,
    "session.error": _Reader._failed,
    "session.model_change": _Reader._model_changed,
    "session.resume": _Reader._resumed,
    "session.shutdown": _Reader._shut_down,
    "session.snapshot_rewind": _Reader._rewound,
    "session.start": _Reader._started,
    "session.truncation": _Reader._truncated,
    "session.usage_record": _Reader._usage_recorded,
    "subagent.completed": _Reader._agent_completed,
    "subagent.failed": _Reader._agent_failed,
    "subagent.started": _Reader._agent_started,
    "system.message": _Reader._system,
    "system.notification": _Reader._notified,
    "tool.execution_complete": _Reader._ran,
    "tool.execution_partial_result": _Reader._progressed,
    "tool.execution_progress": _Reader._progressed,
    "tool.execution_start": _Reader._running,
    "user.message": _Reader._user,
}
"""Kind of record → what tells of it."""

_NOTED = {
    "agent.interrupted": ("activity", "cancelPhase", "toolNames"),
    "assistant.turn_retry": ("reason", "model"),
    "permission.completed": ("result", "decisionSource"),
    "session.info": ("message", "infoType"),
    "session.mode_changed": ("previousMode", "newMode"),
    "session.task_complete": ("summary",),
    "session.title_changed": ("title",),
    "session.usage_checkpoint": ("totalNanoAiu", "totalPremiumRequests"),
    "session.warning": ("message", "warningType"),
}
"""What is kept of a note; the rest is in its bytes."""


def _server_in(name: str) -> str | None:
    """The server in the name of a tool, `toy` in `toy-echo` (0.0.390).

    A name with more than one hyphen may be split in several ways, so only that of the client's own server is read.
    """
    if name.startswith(f"{_OWN_SERVER}-"):
        return _OWN_SERVER
    server, _, tool = name.partition("-")
    return server if server and tool and "-" not in tool else None


def _attached(attachments: Any) -> tuple[Media, ...]:
    """Files and folders that were named beside the words."""
    listed = attachments if isinstance(attachments, list) else []
    return tuple(
        Media(
            as_text(one.get("mimeType")) or "application/octet-stream",
            data=as_text(one.get("data")),
            path=as_text(one.get("path")),
            name=as_text(one.get("displayName")) or as_text(one.get("name")),
        )
        for one in listed
        if isinstance(one, dict)
    )


FORMAT = Copilot()
