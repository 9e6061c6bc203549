"""Claude Code's sessions: `<session>.jsonl`, a tree of records, with sub-agents in files of their own or inline.

One model message is several lines, a block each, with the same `message.id` and the same usage on every one; so a
message's tokens and end are told once, when the next message begins or the file ends.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from dragoman.model import (
    AgentStarted,
    AnyEvent,
    ClientNoted,
    CommandInvoked,
    ContextCompacted,
    ErrorOccurred,
    FinishReason,
    Interrupted,
    Media,
    ModelFinished,
    ModelSaid,
    ModelThought,
    NativeCall,
    NativeResult,
    SessionStarted,
    Source,
    TokensUsed,
    UserSaid,
)
from dragoman.registry import APIS

from .format import UNDECODABLE, LinesReader, LogFormat, LogReader, Places, Sample, decoded, fitted
from .loose import mapping as _mapping, number as _number, text as _text
from .normalise import Normaliser, Place, moment

CLIENT = "claude_code"

_KNOWN_NOTES = frozenset(
    {
        "agent-name",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment",
        "cost-state",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "launched",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "relocated",
        "result",
        "started",
        "summary",
        "system",
        "tag",
        "tools-used",
        "worktree-state",
    }
)
"""Kinds of records that are the client's own book-keeping."""

_TOLD = frozenset({"user", "assistant", "system", "attachment"})
"""Kinds of records that belong to a session that has begun."""

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP_SEQUENCE,
    "max_tokens": FinishReason.LENGTH,
    "tool_use": FinishReason.CALLS,
    "pause_turn": FinishReason.PAUSED,
    "refusal": FinishReason.REFUSED,
    "model_context_window_exceeded": FinishReason.CONTEXT_EXCEEDED,
    "compaction": FinishReason.COMPACTED,
}
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"


class ClaudeCode(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        records = [record for record in sample.records if isinstance(record, dict)]
        told = [record for record in records if record.get("type") in ("user", "assistant") and "message" in record]
        if any("parts" in _mapping(record.get("message")) for record in told):
            return 0.0  # Qwen Code and others keep the same envelope around Gemini's parts
        strong = [record for record in told if "uuid" in record and "sessionId" in record and "isSidechain" in record]
        if strong:
            return 0.95
        if any("uuid" in record or "parentUuid" in record or "sessionId" in record for record in told):
            return 0.7
        own = [record for record in records if record.get("type") in _KNOWN_NOTES and "sessionId" in record]
        return 0.5 if own and len(own) == len(records) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("CLAUDE_CONFIG_DIR")
        if configured:
            yield Path(configured) / "projects"
        yield places.home / ".claude" / "projects"
        yield places.home / ".config" / "claude" / "projects"

    def files(self, home: Path) -> Iterator[Path]:
        yield from sorted(home.rglob("*.jsonl"))

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)

    def usage_reader(self, path: Path) -> LogReader:
        return _UsageReader(path)


_UNSET = msgspec.UNSET
_UNSAID = msgspec.Raw(b"null")


class _Noted(msgspec.Struct, gc=False):
    """What the client noted, as far as its name goes."""

    type: Any = None


class _Block(msgspec.Struct, gc=False, omit_defaults=True):
    """A part of a message, of any kind that is usual here; `whole` is one of another kind."""

    tool_use_id: str | None = None
    type: Literal["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"] | None = None
    content: Any = None
    is_error: bool | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    text: str | None = None
    thinking: str | None = None
    source: Any = None
    whole: dict[str, Any] | None = None


class _Message(msgspec.Struct, gc=False):
    """A message as the API has it."""

    model: str | None = None
    id: str | None = None
    content: str | list[_Block] | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = _UNSAID
    """As it is written: every line of a message has it, and it is read once."""


class _Record(msgspec.Struct, gc=False, rename="camel"):
    """What is read of a line; the rest of it is not even decoded. In the order the client writes it."""

    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: _Message | None = None
    request_id: str | None = None
    uuid: str | None = None
    timestamp: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = None
    tool_use_result: Any = msgspec.UNSET
    permission_decision: Any = msgspec.UNSET
    tool_denial_kind: Any = msgspec.UNSET
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    origin: Any = None
    is_api_error_message: bool | None = None
    api_error_status: Any = None
    error: Any = None
    subtype: Any = None
    compact_metadata: Any = None
    attachment: _Noted | None = None
    data: _Noted | None = None


_decode = msgspec.json.Decoder(_Record).decode
_decode_any = msgspec.json.Decoder().decode
_REMEMBERED = 32
"""Calls kept after their result: a session that is gone on with tells a call again before its result."""


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem, remembers=_REMEMBERED))
        self.decode = _decode
        self._begun: set[str] = set()
        folder = path.absolute().parent
        self._run = folder.name if folder.parent.name == "workflows" else None
        """The run of a workflow whose script spawned the agent of this file; the call that began it tells its name."""
        self._open: str | None = None
        self._message: tuple[Place, str | None, str | None, bytes] | None = None
        """The model message whose lines are being read: its id; its last line's place, model, end and usage as written.

        All of it is plain: a reader may be stored in the middle of a message.
        """
        self._counted: set[str] = set()
        self._sidechains: dict[str, str] = {}
        """Record → the inline sub-agent it belongs to, by the first record of its chain."""
        self._usage = APIS["anthropic_messages"].read_usage
        self._called, self._returned = self.normaliser.called, self.normaliser.returned
        self._model_said = self.normaliser.maker(ModelSaid, "text", "model")
        self._model_thought = self.normaliser.maker(ModelThought, "text", "model", "hidden")
        self._model_finished = self.normaliser.maker(ModelFinished, "finish", "model")
        self._user_said = self.normaliser.maker(UserSaid, "text", "media", "by")
        self._client_noted = self.normaliser.maker(ClientNoted, "name")
        self._tokens_used = self.normaliser.maker(TokensUsed, "usage", "model")

    def record(self, value: Any, source: Source) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        self.add_record(value, source, events)
        return events

    def add_record(self, value: Any, source: Source, events: list[AnyEvent]) -> None:
        if type(value) is not _Record:
            if not isinstance(value, dict):
                events.append(self.normaliser.unreadable(source, "a record is a JSON object"))
                return
            value = _unusual(value)
        kind, message = value.type, value.message
        place = self._place(value, source)
        if kind == "assistant" and message is not None:
            # A result may stand between two lines of one message, so only another message ends it.
            if message.id != self._open:
                self._end_message(events)
            if value.session_id not in self._begun:
                self._begin(value, place, events)
            self._assistant(value, message, place, events)
            return
        if value.session_id not in self._begun:
            self._begin(value, place, events)
        if kind == "user" and message is not None:
            self._user(value, message.content, place, events)
        elif kind == "system":
            events.append(self._system(value, place))
        elif kind in _KNOWN_NOTES:
            events.append(self._client_noted(place, _note_name(value)))
        else:
            events.append(self.normaliser.unknown(place, kind))

    def _begin(self, value: _Record, place: Place, events: list[AnyEvent]) -> None:
        """The beginning of a session, told by the first record that belongs to it."""
        session = value.session_id
        if session is not None and value.type in _TOLD:
            self._begun.add(session)
            branch = value.git_branch or None
            events.append(
                self.normaliser.event(SessionStarted, place, cwd=value.cwd, branch=branch, parent_call=self._run)
            )

    def end(self) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        self._end_message(events)
        return events

    # ── where a record stands ──────────────────────────────────────────────

    def _place(self, value: _Record, source: Source) -> Place:
        return Place(
            source,
            f"{value.uuid or ''}@{source.offset}",
            value.session_id,
            "main" if value.agent_id is None and value.is_sidechain is not True else self._stream(value),
            value.version,
            value.timestamp,
            value.parent_uuid or value.logical_parent_uuid,
            value.request_id,
        )

    def _stream(self, value: _Record) -> str:
        if value.agent_id:
            return value.agent_id
        if value.is_sidechain is not True:
            return "main"
        uuid, parent = value.uuid, value.parent_uuid
        root = str(uuid) if parent is None else self._sidechains.get(parent, str(uuid))
        if uuid is not None:
            self._sidechains[uuid] = root
        return f"sidechain-{root}"

    # ── the model ──────────────────────────────────────────────────────────

    def _assistant(self, value: _Record, message: _Message, place: Place, events: list[AnyEvent]) -> None:
        if value.is_api_error_message is True:
            events.append(self._api_error(value, message, place))
            return
        model = message.model
        if message.id is not None and model != "<synthetic>":
            self._open = message.id
            self._message = (place, model, message.stop_reason, bytes(message.usage))
        content = message.content
        if type(content) is not list:
            said = self._model_said(place, content, model) if content else self._client_noted(place, "assistant/empty")
            events.append(said)
            return
        for block in content:
            kind = block.type
            if kind == "tool_use" and block.name is not None:
                arguments = block.input
                if type(arguments) is not dict or not block.id:
                    events.append(self._called(place, _unusual_call(block, block.name, place)))
                else:
                    events.append(self._called(place, NativeCall(block.id, block.name, arguments)))
            elif kind == "text":
                events.append(self._model_said(place, block.text or "", model))
            elif kind == "thinking":
                events.append(self._model_thought(place, block.thinking or "", model, not block.thinking))
            elif kind == "redacted_thinking":
                events.append(self._model_thought(place, "", model, hidden=True))
            else:
                events += self._hosted(block.whole or msgspec.to_builtins(block), place)

    def _api_error(self, value: _Record, message: _Message, place: Place) -> AnyEvent:
        content = message.content
        text = " ".join(block.text or "" for block in content) if isinstance(content, list) else ""
        status = value.api_error_status
        return self.normaliser.event(
            ErrorOccurred,
            place,
            message=text or str(value.error or "an error of the API"),
            status=status if isinstance(status, int) else None,
            code=_text(value.error),
        )

    def _hosted(self, block: dict[str, Any], place: Place) -> Iterator[AnyEvent]:
        """Blocks that only the API's own reader knows: calls the provider ran, and what it gave."""
        from dragoman.model import CallPart, ResultPart

        for part in APIS["anthropic_messages"].read_parts([block]):
            if isinstance(part, CallPart):
                yield self.normaliser.called(place, part.call)
            elif isinstance(part, ResultPart):
                yield self.normaliser.returned(place, part.result)
            else:
                yield self.normaliser.event(ClientNoted, place, name=f"block:{block.get('type')}")

    def _end_message(self, events: list[AnyEvent]) -> None:
        """The tokens and the end of a message, once all its lines were read."""
        if self._open is None or self._message is None:
            return
        id, (place, model, stop_reason, usage) = self._open, self._message
        self._open = self._message = None
        if id in self._counted:  # a session that was gone on with may hold what was said before once more
            return
        self._counted.add(id)
        place.key, place.number = id, 0  # where its last line stood, whose own events are all told
        try:
            used = _decode_any(usage)
        except UNDECODABLE:
            used = decoded(usage)
        if type(used) is dict:
            events.append(self._tokens_used(place, self._usage(used), model))
        if stop_reason is not None:
            finish = _FINISH.get(stop_reason) or FinishReason.UNKNOWN
            events.append(self._model_finished(place, finish, model))

    # ── the user, and what tools gave ──────────────────────────────────────

    def _user(self, value: _Record, content: str | list[_Block] | None, place: Place, events: list[AnyEvent]) -> None:
        if content is None or isinstance(content, str):
            said = self._said(value, content, (), place) if content else self._client_noted(place, "user/empty")
            events.append(said)
            return
        texts: list[str] = []
        media: list[Media] = []
        for block in content:
            kind = block.type
            if kind == "tool_result":
                self._result(value, block, place, events)
            elif kind == "text" and block.text:
                texts.append(block.text)
            elif kind in ("image", "document"):
                read = _media(block.source)
                if read is not None:
                    media.append(read)
        if texts or media:
            text = "\n".join(texts)
            if text or media:
                events.append(self._said(value, text, tuple(media), place))

    def _said(self, value: _Record, text: str, media: tuple[Media, ...], place: Place) -> AnyEvent:
        if text.startswith(_INTERRUPTED):
            return self.normaliser.event(Interrupted, place, text=text)
        command = _COMMAND.search(text) if "<command-name>" in text else None
        if command is not None:
            said = _COMMAND_ARGUMENTS.search(text)
            return self.normaliser.event(
                CommandInvoked, place, name=command[1], arguments=(said[1].strip() or None) if said else None
            )
        if text.startswith(("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")):
            return self.normaliser.event(ClientNoted, place, name="local-command", data={"text": text})
        origin = _mapping(value.origin).get("kind")
        by = "client" if value.is_meta is True or value.is_compact_summary is True or origin else "user"
        if place.stream != "main":
            by = "agent" if value.parent_uuid is None else by
        return self._user_said(place, text, media, by)

    def _result(self, value: _Record, block: _Block, place: Place, events: list[AnyEvent]) -> None:
        id, content, given = block.tool_use_id or "", block.content, value.tool_use_result
        if type(content) is not str:
            content = _content(content)
        events.append(self._returned(place, NativeResult(id, content, block.is_error, item=_beside(value, given))))
        if type(given) is dict and ("agentId" in given or "runId" in given):
            self._spawned(given, id, place, events)

    def _spawned(self, given: dict[str, Any], id: str, place: Place, events: list[AnyEvent]) -> None:
        """The agent, or the run of a workflow, that a result says to have begun."""
        if given.get("taskType") == "local_workflow" and isinstance(given.get("runId"), str):
            name = _text(given.get("workflowName"))
            events.append(self.normaliser.event(AgentStarted, place, agent=given["runId"], call_id=id, name=name))
            return
        agent = given.get("agentId")
        call = self.normaliser.calls.get(id) if isinstance(agent, str) else None
        if call is not None and call.native.name in ("Task", "Agent"):
            prompt = _text(given.get("prompt"))
            events.append(self.normaliser.event(AgentStarted, place, agent=agent, call_id=id, prompt=prompt))

    def _system(self, value: _Record, place: Place) -> AnyEvent:
        kind = value.subtype
        if kind in ("compact_boundary", "microcompact_boundary"):
            facts = _mapping(value.compact_metadata)
            trigger = facts.get("trigger")
            return self.normaliser.event(
                ContextCompacted,
                place,
                trigger=trigger if trigger in ("manual", "auto") else None,
                tokens_before=_number(facts.get("preTokens")),
                tokens_after=_number(facts.get("postTokens")),
            )
        if kind == "api_error":
            error = _mapping(value.error)
            status = _number(error.get("status"))
            message = _text(error.get("message")) or _text(error.get("formatted")) or "an error of the API"
            return self.normaliser.event(ErrorOccurred, place, message=message, status=status, retried=True)
        return self.normaliser.event(ClientNoted, place, name=_note_name(value))


def _note_name(value: _Record) -> str:
    noted = value.attachment or value.data
    subtype = value.subtype or (noted and noted.type)
    return f"{value.type}/{subtype}" if isinstance(subtype, str) else str(value.type)


def _unusual_call(block: _Block, name: str, place: Place) -> NativeCall:
    """A call without an id, or whose arguments are no object."""
    arguments = block.input
    if not isinstance(arguments, dict | str):
        arguments = {} if arguments is None else str(arguments)
    return NativeCall(block.id or f"{place.key}.{place.number}", name, arguments)


def _beside(value: _Record, given: Any) -> dict[str, Any] | None:
    """What a line says of a result beside its content, under the names it has there."""
    decision, denial = value.permission_decision, value.tool_denial_kind
    if decision is _UNSET and denial is _UNSET:
        return None if given is _UNSET else {"toolUseResult": given}
    said = {"toolUseResult": given, "permissionDecision": decision, "toolDenialKind": denial}
    return {name: one for name, one in said.items() if one is not _UNSET}


def _unusual(value: dict[str, Any]) -> _Record:
    """A record that is not quite in its shape, or has parts of other kinds than usual."""
    record = fitted(value, _Record)
    record.timestamp = moment(value.get("timestamp"))
    if record.message is not None:
        record.message.content = _unusual_parts(value["message"].get("content"))
        record.message.usage = msgspec.Raw(json.dumps(value["message"].get("usage")))  # it may hold half a surrogate
    return record


def _unusual_parts(content: Any) -> str | list[_Block] | None:
    if isinstance(content, str):
        return content
    parts: list[_Block] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            parts.append(_Block(type="text", text=part))
        elif isinstance(part, dict):
            parts.append(fitted({**part, "whole": part}, _Block))
    return parts


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, dict):
        return [content]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _media(source: Any) -> Media | None:
    source = _mapping(source)
    media_type = _text(source.get("media_type")) or "application/octet-stream"
    data, url = _text(source.get("data")), _text(source.get("url"))
    return None if data is None and url is None else Media(media_type, data=data, url=url)


def _content(content: Any) -> str | tuple[str | Media, ...]:
    """What a result says: its text, or texts and pictures in their order."""
    if isinstance(content, str):
        return content
    pieces: list[str | Media] = []
    for block in _blocks(content):
        kind = block.get("type")
        media = _media(block.get("source")) if kind in ("image", "document") else None
        if media is not None:
            pieces.append(media)
        elif kind == "tool_reference":
            pieces.append(_text(block.get("tool_name")) or "")
        elif isinstance(block.get("text"), str):
            pieces.append(block["text"])
    if isinstance(content, list):
        pieces += [item for item in content if isinstance(item, str)]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)


# ── tokens alone ─────────────────────────────────────────────────────────────


class _UsageMessage(msgspec.Struct, gc=False):
    """A message without what it says."""

    model: str | None = None
    id: str | None = None
    usage: msgspec.Raw = _UNSAID


class _UsageRecord(msgspec.Struct, gc=False, rename="camel"):
    """What a record says of where it stands, and its message's tokens."""

    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    session_id: str | None = None
    version: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: _UsageMessage | None = None
    request_id: str | None = None
    uuid: str | None = None
    timestamp: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = None
    is_api_error_message: bool | None = None


_decode_usage = msgspec.json.Decoder(_UsageRecord).decode


class _UsageReader(_Reader):
    """Reads no more than tokens: what anybody says is not even decoded."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.decode = _decode_usage

    def add_record(self, value: Any, source: Source, events: list[AnyEvent]) -> None:
        if type(value) is not _UsageRecord:
            if not isinstance(value, dict):
                return
            value = _unusual(value)
        message = value.message
        if value.type != "assistant" or message is None:
            if value.is_sidechain:
                self._stream(value)  # which sub-agent an inline record is of is known from the chain of all of them
            return
        place = self._place(value, source)
        if message.id != self._open:
            self._end_message(events)
        is_told = value.is_api_error_message is not True and message.id is not None
        if is_told and message.model != "<synthetic>":
            self._open, self._message = message.id, (place, message.model, None, bytes(message.usage))


FORMAT = ClaudeCode()
