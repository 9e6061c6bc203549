"""Codex's sessions (0.20 … 0.166): `rollout-….jsonl`, the wire's items in an envelope, and events of the client.

The client tells many things twice: as an item of the wire and as an event. The item counts; the event says what the
item does not (exit codes, what changed), and is given to the dialect beside the result. Tokens are cumulative counters,
so what is told is the difference to what was told before. Before 0.34 items came bare, without an envelope; the first
client, in TypeScript, kept them in one document (`rollout-….json`). What `codex exec --json` prints: `codex_stream`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.json_ranges import DocumentReader, pieces_of
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import Media, NativeCall, NativeResult, conversation as conv, events as ev
from dragoman.model.json_text import read_json
from dragoman.model.json_values import as_integer, as_number, as_object, as_objects, as_text
from dragoman.registry import APIS

from .parts.codex_stream import KINDS as _PRINTED, Printed, is_early, is_printed, usage_of

CLIENT = "codex"
_ENVELOPE = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_BARE = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_NOTES = frozenset({"world_state", "inter_agent_communication_metadata", "security_risk_score"})
_BY_CLIENT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<subagent_notification>",
    "<skills_instructions>",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<skill>",
    "<user_action>",
    "<user_shell_command>",
    "<hook_prompt",
    "<goal_context>",
    "<codex_internal_context",
    "<recommended_plugins>",
    "<external_",
    "# AGENTS.md instructions",
    "Warning: Your account was flagged for ",
    "Warning: apply_patch was requested via ",
    "Warning: The maximum number of unified exec processes",
    "[omitted]",
)
"""How texts begin that the client says in the user's name (0.44 to 0.166)."""
_NOTED_ITEMS = frozenset(
    {"ghost_snapshot", "additional_tools", "compaction", "compaction_summary", "context_compaction"}
)
_ROLES = frozenset({"user", "assistant", "developer", "system"})
_DESCRIBING = ("originator", "source", "model_provider", "agent_nickname", "agent_role", "agent_path")
"""What a session's first record says of where it comes from, in a word each."""
_OWN_COMMAND = re.compile(
    r"<user_shell_command>\s*<command>\n(?P<command>.*?)\n</command>\s*<result>\n"
    r"Exit code: (?P<code>-?\d{1,10})\n(?:Duration: .*?\n)?Output:\n(?P<output>.*)\n</result>",
    re.DOTALL,
)
_REQUEST = "## My request for Codex:"
_LISTED = "items"
_OPENING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:session|items)"\s*:')
_CUT_DOCUMENT = re.compile(rb'\s*\{\s*"session"\s*:\s*\{[^{}]*"id"[^{}]*\}\s*,\s*"items"\s*:\s*\[')


class Codex(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    written_by_field = ("originator", "codex")
    # What `codex exec` before 0.44 printed has other words for these; a plan it prints has no name.
    own_words = ("command_execution", "file_change", "mcp_tool_call", "web_search", "update_plan", "kind", "updated")
    written_by = "codex_writer.CodexWriter"

    def recognise(self, sample: Sample) -> float:
        if _is_document(sample.document) or (sample.document is None and _CUT_DOCUMENT.match(sample.head)):
            return 0.9
        records = [record for record in sample.records if isinstance(record, dict)]
        if not records:
            return 0.0
        wrapped = [one for one in records if one.get("type") in _ENVELOPE and isinstance(one.get("payload"), dict)]
        if wrapped:
            return 0.95
        if any(is_printed(record) for record in records):
            return 0.9
        first = records[0]
        if {"id", "timestamp", "instructions"} <= first.keys() and "type" not in first:
            return 0.9
        return 0.6 if any(one.get("record_type") == "state" for one in records) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("CODEX_HOME")
        for root in ([Path(configured)] if configured else []) + [places.home / ".codex"]:
            yield root / "sessions"
            yield root / "archived_sessions"

    below = "rollout-*.json*"

    def keeps(self, path: str) -> bool:
        return path.endswith((".json", ".jsonl"))

    def reader(self, path: Path) -> LogReader:
        return _Reader(path) if path.suffix == ".jsonl" else _AnyReader(path)


def _is_document(value: Any) -> bool:
    """Whether a JSON value is a session as the first client kept it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get(_LISTED), list)
        and {"id", "timestamp"} <= as_object(value.get("session")).keys()
    )


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._session: str | None = None
        self._version: str | None = None
        self._model: str | None = None
        self._effort: str | None = None
        self._counted: dict[str, int] | None = None
        self._events: dict[str, dict[str, Any]] = {}
        """Call id → the client's own record of what it did."""
        self._inside: list[dict[str, Any]] | None = None
        """Records of calls made inside a program that has not ended."""
        self._said: set[str] = set()
        self._unmatched: list[tuple[Place, str, str]] = []
        """Texts told by events alone so far: where, who, what."""
        self._is_agent = False
        self._agents: dict[str, str | None] = {}
        """Threads that were spawned → the call that did."""
        self._is_aborted = self._has_spoken = self._has_called = self._has_viewed = False
        self._owed: tuple[Place, conv.Usage] | None = None
        """What a reply used, told before the reply."""
        self._turns: list[str | None] = []
        """The event before each thing the user said that still counts."""
        self._last: str | None = None
        self._printed = Printed()
        self._read_parts = APIS["openai_responses"].read_parts
        self._read_logged = APIS["openai_responses"].read_logged
        self._noted = self.normaliser.maker(ev.ClientNoted, "name")
        self._noted_with = self.normaliser.maker(ev.ClientNoted, "name", "data")
        self._model_said = self.normaliser.maker(ev.ModelSaid, "text", "model")
        self._model_thought = self.normaliser.maker(ev.ModelThought, "text", "model", "hidden")
        self._tokens_used = self.normaliser.maker(ev.TokensUsed, "usage", "model")

    def add_record(self, value: Any, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        if not isinstance(value, dict):
            events.append(self.normaliser.unreadable(source, "a record is a JSON object"))
            return
        before = len(events)
        try:
            self._tell(value, source, events)
        finally:
            if len(events) > before:
                self._last = events[-1].id

    def _tell(self, value: dict[str, Any], source: ev.Source, events: list[ev.AnyEvent]) -> None:
        kind, payload = value.get("type"), value.get("payload")
        place = self._place(value, source)
        if not isinstance(payload, dict):
            self._bare(value, place, events)
        elif kind == "session_meta":
            events.append(self._meta(payload, place))
        elif kind == "response_item":
            self._item(payload, place, events)
        elif kind == "event_msg":
            self._event(payload, place, events)
        elif kind == "compacted":
            events.append(
                self.normaliser.event(ev.ContextCompacted, place, summary=as_text(payload.get("message")) or None)
            )
        elif kind == "token_usage_record":
            place.provider_id = as_text(payload.get("response_id"))
            self._tokens(payload.get("thread_token_usage"), payload.get("usage"), place, kind, events)
        elif kind == "turn_context":
            self._context(payload, place, events)
        elif kind == "inter_agent_communication":
            self._settled(events)
            events.append(
                self.normaliser.event(ev.UserSaid, place, text=as_text(payload.get("content")) or "", by="agent")
            )
        elif isinstance(kind, str) and kind in _NOTES:
            events.append(self._noted(place, kind))
        else:
            events.append(self.normaliser.unknown(place, kind if isinstance(kind, str) else None))

    def end(self) -> list[ev.AnyEvent]:
        events: list[ev.AnyEvent] = []
        self._settled(events)
        for place, who, text in self._unmatched:
            if text not in self._said:
                if who == "user":
                    events.append(self.normaliser.event(ev.UserSaid, place, text=text))
                else:
                    events.append(self._model_said(place, text, self._model))
        self._unmatched.clear()
        return events

    def _place(self, value: dict[str, Any], source: ev.Source) -> Place:
        return Place(
            source=source,
            key=f"@{source.offset}",
            session=self._session,
            version=self._version,
            time=moment(value.get("timestamp")),
        )

    # ── the session ────────────────────────────────────────────────────────

    def _bare(self, value: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        """A record without an envelope: as they were before 0.34, of a document, or as they are printed."""
        kind = value.get("type")
        if kind in _PRINTED:
            if kind == "thread.started":
                self._session = place.session = as_text(value.get("thread_id"))
            events += self._printed.events_of(value, place, self.normaliser)
            return
        if kind is None and isinstance(value.get("role"), str):
            self._chat(value, place, events)
            return
        if kind is None and is_early(value):
            events += self._printed.told_early(value, place, self.normaliser)
            return
        if kind is None and isinstance(value.get("session"), dict):
            value = value["session"]
            place.time = moment(value.get("timestamp"))
        if kind is None and "instructions" in value and isinstance(value.get("id"), str):
            events.append(self._meta(value, place))
        elif value.get("record_type") == "state":
            events.append(self._noted(place, "state"))
            if self._has_called:  # before 0.34 only these records show where a reply ended (0.20)
                self._has_called = False
                events.append(self.normaliser.event(ev.ModelFinished, place, finish=conv.FinishReason.CALLS))
        elif kind in _BARE or isinstance(kind, str):
            self._item(value, place, events)
        else:
            events.append(self.normaliser.unknown(place, None))

    def _meta(self, payload: dict[str, Any], place: Place) -> ev.AnyEvent:
        id = as_text(payload.get("id"))
        if self._session is not None:  # copied from the session that this one was forked from (0.119)
            return self.normaliser.event(ev.ClientNoted, place, name="session_meta", data={"id": id})
        self._session = place.session = id
        self._version = place.version = as_text(payload.get("cli_version"))
        source = payload.get("source")
        spawned = as_object(as_object(as_object(source).get("subagent")).get("thread_spawn"))
        parent = as_text(payload.get("parent_thread_id")) or as_text(spawned.get("parent_thread_id"))
        self._is_agent = parent is not None
        functions = {name for one in as_objects(payload.get("dynamic_tools")) for name in _declared(one)}
        if functions:
            self.normaliser.knowing(functions=functions)
        metadata = {key: payload[key] for key in _DESCRIBING if isinstance(payload.get(key), str)}
        self.normaliser.doubts = FORMAT.another_program(metadata) is not None
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(payload.get("cwd")),
            branch=as_text(as_object(payload.get("git")).get("branch")),
            parent_session=parent,
            forked_from=as_text(payload.get("forked_from_id")),
            metadata=metadata,
        )

    def _context(self, payload: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        self._settled(events)
        model, effort = as_text(payload.get("model")) or self._model, as_text(payload.get("effort"))
        if (model, effort) != (self._model, self._effort):
            self._model, self._effort = model, effort
            settings = {} if effort is None else {"effort": effort}
            events.append(self.normaliser.event(ev.ModelChanged, place, model=model, settings=settings))
        else:
            events.append(self._noted(place, "turn_context"))

    # ── items of the wire ──────────────────────────────────────────────────

    def _item(self, item: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        kind = item.get("type")
        place.provider_id = as_text(item.get("id"))
        if kind in ("message", None):  # the Responses API takes a message without its type, too
            if item.get("role") in _ROLES:
                self._message(item, place, events)
            else:  # nobody knows who said it
                events.append(self.normaliser.unknown(place, f"response_item/{kind or 'message'}/{item.get('role')}"))
        elif kind in _NOTED_ITEMS:
            events.append(self._noted(place, f"response_item/{kind}"))
        elif kind == "agent_message":
            text = _joined(item.get("content"))
            self._settled(events)
            events.append(self.normaliser.event(ev.UserSaid, place, text=text, by="agent"))
        else:
            native = self._read_logged(item)
            if native is not None:
                self._native(native, kind, place, events)
                return
            before = len(events)
            for part in self._read_parts([item]):
                self._part(part, item, place, events)
            if len(events) == before:
                events.append(self.normaliser.unknown(place, f"response_item/{kind}"))

    def _native(self, native: NativeCall | NativeResult, kind: Any, place: Place, events: list[ev.AnyEvent]) -> None:
        if isinstance(native, NativeResult):
            self._result(native, place, events)
            return
        self._has_spoken = self._has_called = True
        if kind == "custom_tool_call" and native.name == "exec":
            self._inside = []
        self._has_viewed = self._has_viewed or native.name == "view_image"
        events.append(self.normaliser.called(place, _numbered(native, place)))

    def _part(self, part: Any, item: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        if not isinstance(part, conv.ResultPart):
            self._has_spoken = True
        if isinstance(part, conv.ThinkingPart):
            events.append(self._model_thought(place, part.text, self._model, not part.text))
        elif isinstance(part, conv.TextPart):
            events.append(self._model_said(place, part.text, self._model))
        elif isinstance(part, conv.CallPart):
            self._native(part.call, item.get("type"), place, events)
        elif isinstance(part, conv.ResultPart):
            self._native(part.result, item.get("type"), place, events)

    def _result(self, native: NativeResult, place: Place, events: list[ev.AnyEvent]) -> None:
        call = self.normaliser.calls.get(native.call_id)
        beside: Any = self._events.pop(native.call_id, None)
        if call is not None and call.native.name == "exec" and self._inside is not None:
            beside, self._inside = self._inside or None, None
        if beside is not None:
            native = msgspec.structs.replace(native, item=beside)
        events.append(self.normaliser.returned(place, native, duration=_took(as_object(beside))))
        if call is not None and call.native.name == "spawn_agent":
            self._spawned(native, place, events)

    def _spawned(self, native: NativeResult, place: Place, events: list[ev.AnyEvent]) -> None:
        try:
            told = read_json(native.content) if isinstance(native.content, str) else None
        except msgspec.DecodeError:
            return
        agent = as_object(told).get("agent_id")
        if isinstance(agent, str):
            self._agent(agent, as_text(as_object(told).get("nickname")), native.call_id, place, events)

    def _agent(
        self, agent: str, name: str | None, call_id: str | None, place: Place, events: list[ev.AnyEvent]
    ) -> None:
        """A thread that began, unless that was told."""
        if agent not in self._agents:
            self._agents[agent] = call_id
            events.append(
                self.normaliser.event(
                    ev.AgentStarted, place, agent=agent, agent_session=agent, name=name, call_id=call_id
                )
            )

    def _agent_ended(self, agent: str, status: str, text: str | None, place: Place) -> ev.AnyEvent:
        call_id = self._agents.get(agent)
        return self.normaliser.event(ev.AgentEnded, place, agent=agent, status=status, text=text, call_id=call_id)

    def _message(self, item: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        role, text = item.get("role"), _joined(item.get("content"))
        self._said.add(text)
        if role != "assistant":
            self._settled(events)
        if role == "assistant":
            self._by_model(item, text, place, events)
        elif role in ("developer", "system"):
            events.append(self.normaliser.event(ev.SystemSaid, place, text=text))
        elif text.startswith("<turn_aborted>"):
            self._aborted(place, text, "message/turn_aborted", events)
        elif (own := _OWN_COMMAND.match(text)) is not None:
            self._own_command(own, place, events)
        else:
            media = _pictures(item.get("content"))
            if text or media:
                self._asked(text, media, place, events)
            for agent, status, words in _notices(text):
                events.append(self._agent_ended(agent, status, words, place))
        if not place.number:
            events.append(self._noted(place, f"message/{role}/empty"))

    def _by_model(self, item: dict[str, Any], text: str, place: Place, events: list[ev.AnyEvent]) -> None:
        self._has_spoken = True
        if text:
            events.append(self._model_said(place, text, self._model))
        for block in as_objects(item.get("content")):
            if isinstance(block.get("refusal"), str):
                words = block["refusal"]
                events.append(self.normaliser.event(ev.ModelSaid, place, text=words, model=self._model, refused=True))

    def _asked(self, text: str, media: tuple[Media, ...], place: Place, events: list[ev.AnyEvent]) -> None:
        """A message of the user's; an editor puts what is open in it before the words, under a heading of its own."""
        before, heading, request = text.partition(_REQUEST)
        # Made first: who goes back goes to the event before both.
        said = self._by_user(request.strip(), media, place) if heading else self._by_user(text, media, place)
        if heading and before.strip():
            events.append(self.normaliser.event(ev.UserSaid, place, text=before.strip(), by="client"))
        events.append(said)

    def _by_user(self, text: str, media: tuple[Media, ...], place: Place) -> ev.AnyEvent:
        # The client showed the model a picture it had asked to view, up to 0.117.
        is_shown = self._has_viewed and bool(media) and not text
        by = "client" if is_shown or text.startswith(_BY_CLIENT) else "agent" if self._is_agent else "user"
        if by != "client":
            self._turns.append(self._last)
            self._is_aborted = self._has_viewed = False
        return self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)

    def _own_command(self, found: re.Match[str], place: Place, events: list[ev.AnyEvent]) -> None:
        """A command of the user's (`!ls`), not the model's, which is shown what it gave."""
        events.append(self.normaliser.event(ev.CommandInvoked, place, name="!", arguments=found["command"]))
        data = {"exit_code": int(found["code"]), "output": found["output"]}
        events.append(self._noted_with(place, "message/user_shell_command", data))

    def _aborted(self, place: Place, text: str | None, name: str, events: list[ev.AnyEvent]) -> None:
        """An interrupt is an event, and in 0.166.0 a message as well: it is told once."""
        if self._is_aborted:
            events.append(self._noted(place, name))
        else:
            self._is_aborted = True
            events.append(self.normaliser.event(ev.Interrupted, place, text=text))

    def _chat(self, value: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        """A message as another protocol has them, which the first client could speak too."""
        if value["role"] == "tool":
            id = as_text(value.get("tool_call_id")) or f"call{place.key}"
            self._result(NativeResult(id, _joined(value.get("content"))), place, events)
        elif value["role"] == "assistant":
            for part in APIS["openai_chat"].read_parts([value]):
                self._part(part, value, place, events)
        else:
            self._message(value, place, events)
        if not place.number:
            events.append(self._noted(place, f"message/{value['role']}/empty"))

    # ── events of the client ───────────────────────────────────────────────

    def _event(self, payload: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        kind = payload.get("type")
        if kind == "token_count":
            info = as_object(payload.get("info"))
            self._tokens(info.get("total_token_usage"), info.get("last_token_usage"), place, kind, events)
        elif kind in ("user_message", "agent_message"):
            text = as_text(payload.get("message")) or ""
            events.append(self._noted_with(place, f"event_msg/{kind}", {"text": text}))
            if text and text not in self._said:
                self._unmatched.append((place, "user" if kind == "user_message" else "model", text))
        elif kind in ("error", "stream_error"):
            message = as_text(payload.get("message")) or str(kind)
            events.append(
                self.normaliser.event(ev.ErrorOccurred, place, message=message, retried=kind == "stream_error")
            )
        elif kind == "task_complete" and isinstance(payload.get("error"), dict):
            message = as_text(payload["error"].get("message")) or "the task failed"
            events.append(self.normaliser.event(ev.ErrorOccurred, place, message=message))
        elif kind == "item_completed":
            self._completed(as_object(payload.get("item")), place, events)
        elif kind == "turn_aborted" and payload.get("reason") in (None, "interrupted", "replaced"):
            self._settled(events)
            self._aborted(place, as_text(payload.get("reason")), "event_msg/turn_aborted", events)
        elif kind == "thread_rolled_back":
            self._settled(events)
            events.append(self._rolled_back(payload.get("num_turns"), place))
        elif kind == "collab_agent_spawn_end" and isinstance(payload.get("new_thread_id"), str):
            name = as_text(payload.get("new_agent_nickname"))
            events.append(self._noted(place, f"event_msg/{kind}"))
            self._agent(payload["new_thread_id"], name, as_text(payload.get("call_id")), place, events)
        else:
            call_id = as_text(payload.get("call_id"))
            if call_id is not None and isinstance(kind, str) and kind.endswith("_end"):
                self._events[call_id] = payload
            data = {"title": payload["thread_name"]} if isinstance(payload.get("thread_name"), str) else {}
            events.append(self._noted_with(place, f"event_msg/{kind}", data))

    def _rolled_back(self, number: Any, place: Place) -> ev.AnyEvent:
        """So many of the last things the user said, and what followed them, count no more."""
        count = max(as_integer(number) or 0, 0)
        gone = self._turns[-count:] if count else []
        del self._turns[len(self._turns) - len(gone) :]
        return self.normaliser.event(ev.HistoryRewound, place, to=gone[0] if gone else self._last)

    def _completed(self, item: dict[str, Any], place: Place, events: list[ev.AnyEvent]) -> None:
        kind, id = item.get("type"), as_text(item.get("id"))
        if kind in ("CommandExecution", "FileChange", "McpToolCall", "ImageView") and id is not None:
            if self._inside is not None and id not in self.normaliser.calls:
                self._inside.append(item)
            else:
                self._events[id] = item
        agent = as_text(item.get("agent_thread_id"))
        if kind == "SubAgentActivity" and agent is not None and agent not in self._agents and id is not None:
            if item.get("kind") == "started":
                self._agent(agent, as_text(item.get("agent_path")), id, place, events)
                return
        elif kind == "SubAgentActivity" and agent is not None and item.get("kind") in _ENDINGS:
            events.append(self._agent_ended(agent, _ENDINGS[item["kind"]], None, place))
            return
        events.append(self._noted(place, f"event_msg/item_completed/{kind}"))

    # ── tokens ─────────────────────────────────────────────────────────────

    def _tokens(self, total: Any, last: Any, place: Place, name: str, events: list[ev.AnyEvent]) -> None:
        """What was used since the last count; a counter told again says nothing new."""
        now, latest = _counts(total), _counts(last)
        if now is None or latest is None:
            events.append(self._noted(place, name))
            return
        before = self._counted
        if before is None:  # a fork starts with the other's count (no session shows it)
            before = {key: now[key] - latest[key] for key in now}
        used = {key: now[key] - before[key] for key in now}
        self._counted = now
        if any(count < 0 for count in used.values()):  # a reset counter (no session shows it)
            used = latest
        if not any(used.values()):
            events.append(self._noted(place, name))
            return
        usage = usage_of(used, total)
        self._settled(events)
        if self._has_spoken:
            self._has_spoken = False
            events.append(self._tokens_used(place, usage, self._model))
        else:
            self._owed = (place, usage)

    def _settled(self, events: list[ev.AnyEvent]) -> None:
        """What a reply used that has been told since."""
        if self._owed is not None:
            (place, usage), self._owed = self._owed, None
            self._has_spoken = False
            used = self._tokens_used(place, usage, self._model)
            self._last = used.id
            events.append(used)


class _AnyReader(_Reader, DocumentReader):
    """Reads a document, or lines in a file that is not named as one of lines."""

    def close(self) -> list[ev.AnyEvent]:
        data = self._gathered.take()
        pieces = pieces_of(data, _LISTED) if _OPENING.match(data) else None
        return self.read_lines(data) if pieces is None else self.read_pieces(data, pieces)

    def document_ended(self, source: ev.Source) -> ev.AnyEvent:
        place = Place(source=source, key=f"@{source.offset}", session=self._session)
        return self.normaliser.event(ev.ClientNoted, place, name="document/end")


_ENDINGS = {"completed": "completed", "interrupted": "cancelled", "failed": "failed", "errored": "failed"}
_STATUSES = {**_ENDINGS, "shutdown": "cancelled"}
_NOTICE = re.compile(r"<subagent_notification>\s*(\{.*?\})\s*</subagent_notification>", re.DOTALL)


def _notices(text: str) -> Iterator[tuple[str, str, str | None]]:
    """What the client tells of agents that ended: who, how, with which words."""
    for told in _NOTICE.findall(text):
        try:
            notice = as_object(read_json(told))
        except msgspec.DecodeError:
            continue
        agent, status = as_text(notice.get("agent_id")) or as_text(notice.get("agent_path")), notice.get("status")
        if agent is not None and isinstance(status, str):
            yield agent, _STATUSES.get(status, "unknown"), None
        elif agent is not None:
            for name, words in as_object(status).items():
                yield agent, _STATUSES.get(name, "unknown"), as_text(words)


def _declared(tool: dict[str, Any]) -> Iterator[str]:
    """The functions a program that hosts the client declared: one, or those of a namespace."""
    if isinstance(tool.get("tools"), list):
        for one in as_objects(tool["tools"]):
            yield from _declared(one)
    elif isinstance(tool.get("name"), str):
        yield tool["name"]


def _took(record: dict[str, Any]) -> float | None:
    """Seconds the client says a call took."""
    took = as_object(record.get("duration"))
    seconds, nanos = as_number(took.get("secs")), as_number(took.get("nanos"))
    return None if seconds is None or nanos is None else seconds + nanos / 1e9


_COUNTERS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


def _counts(usage: Any) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = {key: count for key in _COUNTERS if (count := as_integer(usage.get(key, 0))) is not None}
    return counts if len(counts) == len(_COUNTERS) else None


def _numbered(call: NativeCall, place: Place) -> NativeCall:
    """A call that came without an id gets its record's place for one."""
    return call if call.id else msgspec.structs.replace(call, id=f"call{place.key}")


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)


def _pictures(content: Any) -> tuple[Media, ...]:
    blocks = content if isinstance(content, list) else []
    urls = [
        block.get("image_url") for block in blocks if isinstance(block, dict) and block.get("type") == "input_image"
    ]
    return tuple(Media("image/*", url=url) for url in urls if isinstance(url, str))


FORMAT = Codex()
