"""Claude Code's sessions (1.0.27 … 2.1.325): `<session>.jsonl`, a tree of records; sub-agents in files or inline.

One model message is several lines, a block each, with the same `message.id` and the same usage on every one; so a
message's tokens and end are told once, when the next message or turn begins or the file ends.

What `--output-format stream-json` prints has the same records in other names, without what they follow. After 2.0 the
tokens on its lines are those of the moment a reply began, so it is the `result` that tells them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs.base.format import UNDECODABLE, LinesReader, LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.listing import read_beside
from dragoman.logs.base.normalise import Normaliser
from dragoman.model import AgentsOutcome, Media, NativeCall, NativeResult, conversation as conv, events as ev
from dragoman.model.json_values import as_integer, as_object, as_text
from dragoman.registry import APIS

from .parts.claude_records import (
    KEY,
    NAME,
    UNSET,
    Block,
    Message,
    Noted,
    PrintedRecord,
    Record,
    UsageRecord,
    content_of,
    decode_printed,
    decode_record,
    error_text,
    inside_tag,
    item_of,
    key_of,
    made_up_id,
    media_of,
    note_name,
    unusual_call,
    unusual_parts,
    unusual_record,
)
from .parts.claude_stream import NOTES as _PRINTED_NOTES, Printed, is_printed

CLIENT = "claude_code"

_KNOWN_NOTES = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "artifact-autoreact-ledger",
        "artifact-comment-monitor",
        "atis-latch",
        "attachment",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "continued-in",
        "cost-state",
        "custom-title",
        "dev-mods",
        "ended-by-model",
        "failed",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "history-suppression",
        "isolation-latch",
        "last-prompt",
        "launched",
        "memory-mode",
        "mode",
        "observer-ref",
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

_FORK = "fork-context-ref"
"""What the file of an agent begins with that has its parent's conversation before it (published sessions of 2026)."""
_TELLING = frozenset({_FORK, "queue-operation"})
"""Those that say something of what follows, or of what the model will be told, perhaps in fewer words."""
_MERE_NOTES = _KNOWN_NOTES - _TELLING

_AGENT = "agent-"
"""How the files of sub-agents begin (2.0.55 to 2.1.325)."""

_OWN_NAMES = frozenset({"sessionId", "leafUuid", "messageId"})
"""What such a record is tied to a conversation by."""

_JOURNAL = frozenset({"launched", "started", "result", "failed"})
"""What the run of a workflow (2.1.325) keeps beside its agents, in a file that names no session: which began, what they
gave."""

_TOLD = frozenset({"user", "assistant", "system", "attachment"})
"""Kinds of records that belong to a session that has begun."""

_FINISH = {
    "end_turn": conv.FinishReason.STOP,
    "stop_sequence": conv.FinishReason.STOP_SEQUENCE,
    "max_tokens": conv.FinishReason.LENGTH,
    "tool_use": conv.FinishReason.CALLS,
    "pause_turn": conv.FinishReason.PAUSED,
    "refusal": conv.FinishReason.REFUSED,
    "model_context_window_exceeded": conv.FinishReason.CONTEXT_EXCEEDED,
    "compaction": conv.FinishReason.COMPACTED,
}
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_SUMMARISED = "compact_boundary"
_COMPACTED = (_SUMMARISED, "microcompact_boundary")
_LOCAL_COMMAND = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
_OF_THE_CLIENT = ("<bash-stdout>", "<bash-stderr>", "<task-notification>")
"""How words begin that the client says in the user's name, where no flag of the record says so (1.0.56 to 2.1.325)."""
_NOTIFIED = re.compile(r"<task-notification>(.*?)</task-notification>", re.DOTALL)
_ENDED = {"completed": "completed", "failed": "failed", "killed": "cancelled", "stopped": "cancelled"}
"""How the log reports that an agent in the background has stopped (2.1.54 to 2.1.325)."""
_OF_AGENTS = ("<teammate-message", "<agent-message", "<cross-session-message")
"""How words begin that another agent says, a report or a message of its (the first: sessions of teams, 2.1.34)."""
_BY_OTHERS = {"human": "user", "channel": "user", "coordinator": "agent", "peer": "agent", "observer": "agent"}
"""Who is meant by `origin.kind` (2.1.123 to 2.1.325); any other is a part of the client."""
_CARRIED = frozenset(_BY_OTHERS) - {"human"}
"""Origins of words that the client (2.1.325) hands on and marks as its own: other sessions, a user's chat."""


class ClaudeCode(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    written_by = "claude_writer.ClaudeWriter"

    def recognise(self, sample: Sample) -> float:
        records = [record for record in sample.records if isinstance(record, dict)]
        told = [record for record in records if record.get("type") in ("user", "assistant") and "message" in record]
        if any("parts" in as_object(record.get("message")) for record in told):
            return 0.0  # Qwen Code (0.5.2 to 0.24.4) keeps the same envelope around Gemini's parts
        if any("qwen_code_version" in record for record in records):
            return 0.0  # Qwen Code (0.5.2 to 0.24.4) prints the same records, with other tools
        strong = [record for record in told if "uuid" in record and "sessionId" in record and "isSidechain" in record]
        if strong:
            return 0.95
        if any("uuid" in record or "parentUuid" in record or "sessionId" in record for record in told):
            return 0.7
        if any("parent_tool_use_id" in record and "session_id" in record for record in told):
            return 0.7
        own = [record for record in records if record.get("type") in _KNOWN_NOTES and _OWN_NAMES & record.keys()]
        if own and len(own) == len(records):
            return 0.5
        kept = [record for record in records if record.get("type") in _JOURNAL]
        is_journal = any("agentId" in record and "key" in record for record in kept) and len(kept) == len(records)
        return 0.5 if is_journal else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("CLAUDE_CONFIG_DIR")
        if configured:
            yield Path(configured) / "projects"
        yield places.home / ".claude" / "projects"
        yield places.home / ".config" / "claude" / "projects"

    below = "*.jsonl"

    def companions(self, path: Path) -> Iterator[Path]:
        """What the client keeps of an agent beside what the agent said: which call spawned it, of which kind it is."""
        if path.name.startswith(_AGENT):
            yield path.with_suffix(".meta.json")

    def may_have_companions(self, name: str) -> bool:
        return f"/{_AGENT}" in name or f"\\{_AGENT}" in name or name.startswith(_AGENT)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)

    def usage_reader(self, path: Path) -> LogReader:
        return _Reader(path) if _takes_all(path) else _UsageReader(path)


_HEAD = 4096
"""How much of a file is looked at to tell what it is."""
_REMEMBERED = 16
"""Calls kept after their result: a session that is continued repeats a call before its result (1.0.27)."""


class _About(msgspec.Struct):
    """What is known of a file before its first line."""

    agent: dict[str, Any]
    """What the client keeps beside it of the agent it is of."""
    run: str | None
    """The run of a workflow whose script spawned the agent of this file; the call that began it tells its name."""
    session: str | None
    """The session that records are of which do not say it."""
    kept: str
    """What tells records without a name from those of other files of the session."""


class _Reader(LinesReader):
    """Reads a log line by line. What few files need is held apart: Python is quicker where an object has few names."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem, remembers=_REMEMBERED, key=KEY))
        self.decode = decode_record
        self._begun: set[str] = set()
        self._told: str | None = None
        """The session of them that is being told."""
        self._file = _about(path)
        self._is_fork = False
        """Whether what follows is told of the parent: the message whose call spawned this agent."""
        self._printed = Printed()
        self._early: list[Record] = []
        """Notes before the first record that names the session: a file that was renamed does not name it either."""
        self._started_by: dict[str, str] = {}
        """Agent → the call that started it, as its result says."""
        self._endings: set[str] = set()
        """What was said of agents that stopped: the client says it where it happens and where the model is told."""
        self._open: str | None = None
        self._last: Record | UsageRecord | None = None
        """The model message whose lines are being read: its id, and its last line but for what that says."""
        self._others: dict[str, tuple[str, Record | UsageRecord]] = {}
        """The same of other agents in this file, by their streams: lines of messages of several may alternate."""
        self._counted: set[str] = set()
        self._prompts: dict[tuple[str | None, str | None], tuple[str | None, str, int]] = {}
        """Session and what a prompt follows → its record, its event, and how many messages of the model came before."""
        self._compaction: Record | None = None
        """Where the conversation was cut and what is said of that: its summary is the next thing that is said."""
        self._is_linked = True
        """Whether records say what they follow; in some files, not written by the client itself, none does."""
        self._sidechains: dict[str, str] = {}
        """Record → the inline sub-agent it belongs to, by the first record of its chain."""
        self._usage = APIS["anthropic_messages"].read_usage_json
        self._called, self._returned = self.normaliser.called, self.normaliser.returned
        self._model_said = self.normaliser.maker(ev.ModelSaid, "text", "model")
        self._model_thought = self.normaliser.maker(ev.ModelThought, "text", "model", "hidden")
        self._model_finished = self.normaliser.maker(ev.ModelFinished, "finish", "model", key=NAME)
        self._user_said = self.normaliser.maker(ev.UserSaid, "text", "media", "by")
        self._client_noted = self.normaliser.maker(ev.ClientNoted, "name")
        self._tokens_used = self.normaliser.maker(ev.TokensUsed, "usage", "model", key=NAME)

    def add_record(self, value: Any, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        if type(value) is Record:
            self._tell(value, source, events)
        elif type(value) is PrintedRecord:
            self._add_printed(value, as_text(value.parent_tool_use_id), source, events)
        elif isinstance(value, dict):
            self._add_unusual(value, source, events)
        else:
            events.append(self.normaliser.unreadable(source, "a record is a JSON object"))

    def _tell(self, value: Record, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        kind, message = value.type, value.message
        self._place(value, source)
        if self._early and value.session is not None:
            self._tell_early(value.session, events)
        if kind == "assistant" and message is not None:
            # A result may come between two lines of one message (2.1.36 to 2.1.325), so only another message ends it.
            if message.id != self._open:
                self._turn_to(message.id, value.stream, events)
            if value.session != self._told:
                if self._is_fork:
                    events.append(self._client_noted(value, "fork/assistant"))
                    return
                self._begin(value, events)
            self._assistant(value, message, events)
            return
        if value.session != self._told:
            self._begin(value, events)
        if value.session is None and self._told is None and kind not in ("user", "system", _FORK):
            self._early.append(value)
        elif kind == "user" and message is not None:
            content = message.content
            if type(content) is list and len(content) == 1 and content[0].type == "tool_result":  # as nearly all are
                self._result(value, content[0], events)
            else:
                self._user(value, content, events)
        elif kind == "system":
            self._system(value, events)
        elif kind in _MERE_NOTES:
            noted = value.attachment
            if noted is not None and noted.type == "queued_command" and noted.prompt:
                self._queued(value, noted, events)
            else:
                events.append(self._client_noted(value, note_name(value)))
        else:
            self._other(value, kind, events)

    def _other(self, value: Record, kind: str | None, events: list[ev.AnyEvent]) -> None:
        if kind not in _TELLING and kind not in _PRINTED_NOTES:
            events.append(self.normaliser.unknown(value, kind))
            return
        events.append(self._client_noted(value, note_name(value)))
        if kind == _FORK:
            self._is_fork = True
        elif self._started_by:
            self._notified(value, value.content, events)

    def _add_unusual(self, said: dict[str, Any], source: ev.Source, events: list[ev.AnyEvent]) -> None:
        value = unusual_record(said)
        if not is_printed(said):
            self.decode = decode_record
            self._tell(value, source, events)
            return
        self.decode = decode_printed
        self._add_printed(value, as_text(said.get("parent_tool_use_id")), source, events)
        if value.type == "result":
            self._turn_to(None, value.stream, events)
            value.uuid, value.number = value.uuid or key_of(value), 0  # its name does not hang on what else is told
            events += [self._tokens_used(value, usage, model) for model, usage in self._printed.spent(said)]

    def _add_printed(self, value: Record, call: str | None, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        """A record that was printed, and the call whose agent it is of."""
        printed, message = self._printed, value.message
        printed.session = value.session
        if message is not None and message.stop_reason is not None and message.model != "<synthetic>":
            printed.is_counted = True
        if call is not None:  # the records of an agent name its call; up to 2.1.252 they do not name the agent
            known = len(printed.spawned_by)
            value.agent_id = printed.spawned_by.setdefault(call, value.agent_id or call)
            if known < len(printed.spawned_by) and value.agent_id in printed.spawned_by:
                # Known by its call alone, which nothing else says to have spawned it.
                above = msgspec.structs.replace(value, source=source)
                events.append(
                    self.normaliser.event(ev.AgentStarted, above, agent=value.agent_id, call_id=value.agent_id)
                )
                value.number = above.number
        self._tell(value, source, events)

    def _tell_early(self, session: str | None, events: list[ev.AnyEvent]) -> None:
        early, self._early = self._early, []
        for value in early:
            value.session = session
            if value.type in _MERE_NOTES or value.type in _TELLING or value.type in _PRINTED_NOTES:
                events.append(self._client_noted(value, note_name(value)))
            else:
                events.append(self.normaliser.unknown(value, value.type))

    def _begin(self, value: Record, events: list[ev.AnyEvent]) -> None:
        """The beginning of a session, told by the first record that belongs to it."""
        # Notes on files name a message and no session (2.0.55 to 2.1.325): they are of the one that is being told.
        value.session = session = value.session or self._printed.session or self._told
        if session in self._begun:
            self._told = session
        elif session is not None and value.type in _TOLD:
            self._begun.add(session)
            self._told = session
            if self._is_fork:
                self._fork(value, events)
            branch = value.git_branch or None
            forked = as_text(as_object(value.forked_from).get("sessionId")) or as_text(value.forked_from)
            call = as_text(self._file.agent.get("toolUseId"))
            events.append(
                self.normaliser.event(
                    ev.SessionStarted,
                    value,
                    cwd=value.cwd,
                    branch=branch,
                    parent_session=None if call is None else session,
                    parent_call=call or self._file.run,
                    forked_from=forked,
                    metadata=self._file.agent,
                )
            )

    def _fork(self, value: Record, events: list[ev.AnyEvent]) -> None:
        """The first words of an agent that was forked: beside them stands what its parent was told of the call."""
        self._is_fork = False
        message = value.message
        if value.type == "user" and message is not None:
            value.origin = {"kind": "coordinator"}
            if isinstance(message.content, list):
                own = [block for block in message.content if block.type != "tool_result"]
                events += [self._client_noted(value, "fork/tool_result") for _ in message.content[len(own) :]]
                message.content = own

    def end(self) -> list[ev.AnyEvent]:
        events: list[ev.AnyEvent] = []
        self._tell_early(None, events)
        self._end_message(events)
        while self._others:
            self._open, self._last = self._others.pop(next(iter(self._others)))
            self._end_message(events)
        self._tell_compaction(None, events)
        return events

    # ── where a record stands ──────────────────────────────────────────────

    def _place(self, value: Record | UsageRecord, source: ev.Source) -> None:
        value.source = source
        if value.agent_id is not None or value.is_sidechain is True:
            value.stream = self._stream(value)
        if value.parent is None:
            value.parent = value.logical_parent_uuid
        if value.uuid is None:
            value.uuid = self._file.kept
            value.session = value.session or self._file.session

    def _stream(self, value: Record | UsageRecord) -> str:
        if value.agent_id:
            return value.agent_id
        if value.is_sidechain is not True:
            return "main"
        uuid, parent = value.uuid, value.parent
        root = str(uuid) if parent is None else self._sidechains.get(parent, str(uuid))
        if uuid is not None:
            self._sidechains[uuid] = root
        return f"sidechain-{root}"

    # ── the model ──────────────────────────────────────────────────────────

    def _assistant(self, value: Record, message: Message, events: list[ev.AnyEvent]) -> None:
        if value.is_api_error_message is True:
            events.append(self._api_error(value, message))
            return
        model, content = message.model, message.content
        if model != "<synthetic>":
            message.content = None
            self._open, self._last = message.id or made_up_id(value), value
        else:
            model = None  # written by the client: an API error, an interruption (2.1.17, 2.1.36, 2.1.325)
        if type(content) is not list or not content:
            said = self._model_said(value, content, model) if content else self._client_noted(value, "assistant/empty")
            events.append(said)
            return
        for block in content:
            kind = block.type
            if kind == "tool_use" and block.name is not None:
                arguments = block.input
                if type(arguments) is not dict or not block.id:
                    events.append(self._called(value, unusual_call(block, block.name, value)))
                else:
                    events.append(self._called(value, NativeCall(block.id, block.name, arguments)))
            elif kind == "text":
                events.append(self._model_said(value, block.text or "", model))
            elif kind == "thinking":
                events.append(self._model_thought(value, block.thinking or "", model, not block.thinking))
            elif kind == "redacted_thinking":
                events.append(self._model_thought(value, "", model, hidden=True))
            else:
                events += self._hosted(block.whole or msgspec.to_builtins(block), value)

    def _api_error(self, value: Record, message: Message) -> ev.AnyEvent:
        content = message.content
        text = " ".join(block.text or "" for block in content) if isinstance(content, list) else content
        status = value.api_error_status
        return self.normaliser.event(
            ev.ErrorOccurred,
            value,
            message=text or str(value.error or "an error of the API"),
            status=as_integer(status),
            code=as_text(value.error),
        )

    def _hosted(self, block: dict[str, Any], value: Record) -> Iterator[ev.AnyEvent]:
        """Blocks that only the API's own reader knows: calls the provider ran, and what it gave."""
        for part in APIS["anthropic_messages"].read_parts([block]):
            if isinstance(part, conv.CallPart):
                yield self.normaliser.called(value, part.call)
            elif isinstance(part, conv.ResultPart):
                yield self.normaliser.returned(value, part.result)
            else:
                yield self.normaliser.event(ev.ClientNoted, value, name=f"block:{block.get('type')}")

    def _turn_to(self, id: str | None, stream: str, events: list[ev.AnyEvent]) -> None:
        """Another message begins, which ends the one before it of the same agent; or one of another agent goes on."""
        last = self._last
        if last is None or last.stream != stream:
            if self._open is not None and last is not None and last.message is not None:
                last.message.usage = last.message.usage.copy()  # of its own: it may wait for long
                self._others[last.stream] = self._open, last
            self._open, self._last = self._others.pop(stream, (None, None))
        if id != self._open:
            self._end_message(events)
        if self._compaction is not None:
            self._tell_compaction(None, events)

    def _end_message(self, events: list[ev.AnyEvent]) -> None:
        """The tokens and the end of a message, once all its lines were read."""
        id, last = self._open, self._last
        if id is None or last is None or (message := last.message) is None:
            return
        self._open = self._last = None
        if id in self._counted:  # a continued session may repeat the messages before it (1.0.27)
            return
        self._counted.add(id)
        last.uuid, last.number = id, 0  # where its last line stood, whose own events are all told
        try:
            used = self._usage(message.usage)
        except UNDECODABLE:
            said = decoded(bytes(message.usage))
            used = APIS["anthropic_messages"].read_usage(said) if type(said) is dict else None
        if used is not None:
            is_early = message.stop_reason is None and self._printed.session is None
            if is_early and used.output_tokens is not None:
                # The count of the output comes with the reason to stop. Without it, the client logged what the provider
                # said when the reply began: 2.1.54 logs 1 for every reply, 2.1.12 to 2.1.50 for most of them.
                used = msgspec.structs.replace(used, doubtful=("output_tokens",))
            events.append(self._tokens_used(last, used, message.model))
        if message.stop_reason is not None:
            finish = _FINISH.get(message.stop_reason) or conv.FinishReason.UNKNOWN
            events.append(self._model_finished(last, finish, message.model))

    # ── the user, and what tools gave ──────────────────────────────────────

    def _user(self, value: Record, content: str | list[Block] | None, events: list[ev.AnyEvent]) -> None:
        if content is None or isinstance(content, str):
            if content:
                self._said(value, content, (), events)
            else:
                events.append(self._client_noted(value, "user/empty"))
            return
        texts: list[str] = []
        media: list[Media] = []
        if len(content) > 1 and sum(block.type == "tool_result" for block in content) > 1:
            value.tool_use_result = UNSET  # of several results (no session shows it): it does not say whose it is
        for block in content:
            kind = block.type
            if kind == "tool_result":
                self._result(value, block, events)
            elif kind == "text" and block.text:
                texts.append(block.text)
            elif kind in ("image", "document") and (read := media_of(block.source)) is not None:
                media.append(read)
            elif kind != "text":
                events.append(self._client_noted(value, f"block:{kind or as_object(block.whole).get('type')}"))
        if texts or media:
            # An editor adds what is open as a part of its own: <ide_opened_file> (2.0.74, 2.1.25 to 2.1.39).
            command = next((text for text in texts if text.startswith("<command-")), None)
            self._said(value, command or "\n".join(texts), tuple(media), events)
        elif not value.number:
            events.append(self._client_noted(value, "user/empty"))

    def _queued(self, value: Record, noted: Noted, events: list[ev.AnyEvent]) -> None:
        """What was said while the model was at work, which it is told along with the next result."""
        is_prompt = noted.commandMode in (None, "prompt", "bash")
        value.origin = noted.origin or (None if is_prompt else {"kind": noted.commandMode})
        self._user(value, unusual_parts(noted.prompt), events)

    def _said(self, value: Record, text: str, media: tuple[Media, ...], events: list[ev.AnyEvent]) -> None:
        if value.is_compact_summary is True and self._compaction is not None:
            self._tell_compaction(text, events)
            events.append(self._client_noted(value, "user/compact_summary"))
            return
        if text.startswith(_INTERRUPTED):
            events.append(self.normaliser.event(ev.Interrupted, value, text=text))
            return
        # Text may quote a command, as summaries do (1.0.98 to 2.1.37); only one that begins so is a command.
        command = _COMMAND.search(text) if text.lstrip().startswith("<command-") else None
        if command is not None:
            self._turn_to(None, value.stream, events)
            said = _COMMAND_ARGUMENTS.search(text)
            arguments = (said[1].strip() or None) if said else None
            events.append(self.normaliser.event(ev.CommandInvoked, value, name=command[1], arguments=arguments))
            return
        if text.startswith(_LOCAL_COMMAND):
            events.append(self.normaliser.event(ev.ClientNoted, value, name="local-command", data={"text": text}))
            return
        by = self._speaker(value, text)
        if by == "user":
            self._rewind(value, events)
        if by != "client":
            self._turn_to(None, value.stream, events)  # to the reply before belong its tokens, not to the next turn
        events.append(self._user_said(value, text, media, by))
        if by == "client" and self._started_by:
            self._notified(value, text, events)
        if by == "user":
            followed = value.session, value.parent
            self._prompts[followed] = value.uuid, events[-1].id, self._messages()

    def _notified(self, value: Record, text: Any, events: list[ev.AnyEvent]) -> None:
        """What the client says of agents that went on beside: of each that stopped how it ended, and its answer."""
        for told in _NOTIFIED.findall(text) if isinstance(text, str) else ():
            agent = inside_tag("task-id", told) or ""
            call = self._started_by.get(agent)
            if call is not None and told not in self._endings:
                self._endings.add(told)
                status, said = _ENDED.get(inside_tag("status", told) or "", "unknown"), inside_tag("result", told)
                ended = self.normaliser.event(ev.AgentEnded, value, agent=agent, call_id=call, status=status, text=said)
                events.append(ended)

    def _speaker(self, value: Record, text: str) -> str:
        if value.stream != "main" and value.parent is None:
            return "agent"
        origin = as_text(as_object(value.origin).get("kind"))
        is_own = value.is_meta is True and origin not in _CARRIED
        if is_own or value.is_compact_summary is True or text.startswith(_OF_THE_CLIENT):
            return "client"
        if text.startswith(_OF_AGENTS):
            return "agent"
        return _BY_OTHERS.get(origin, "client") if origin else "user"

    def _messages(self) -> int:
        """How many messages of the model there were so far."""
        return len(self._counted) + (self._open is not None)

    def _rewind(self, value: Record, events: list[ev.AnyEvent]) -> None:
        """A prompt that follows what another one followed, which was answered, takes that one's place."""
        uuid, event, before = self._prompts.get((value.session, value.parent), (value.uuid, "", 0))
        if value.stream != "main" or uuid == value.uuid or before == self._messages():
            return
        if value.parent is None and (self._last is None or self._last.parent is None):
            self._is_linked = False
        if self._is_linked:
            events.append(self.normaliser.event(ev.HistoryRewound, value, to=event))

    def _result(self, value: Record, block: Block, events: list[ev.AnyEvent]) -> None:
        id, content, given = block.tool_use_id or "", block.content, value.tool_use_result
        if type(content) is not str:
            content = content_of(content)
        is_all = given is not UNSET and value.permission_decision is UNSET and value.tool_denial_kind is UNSET
        item = {"toolUseResult": given} if is_all else item_of(value, given)
        events.append(self._returned(value, NativeResult(id, content, block.is_error, item=item)))
        if type(given) is dict:
            if "agentId" in given or "runId" in given:
                self._spawned(value, given, id, events)
        elif value.stream != "main":
            self._spawned_below(value, id, events)

    def _spawned(self, value: Record, given: dict[str, Any], id: str, events: list[ev.AnyEvent]) -> None:
        """The agent, or the run of a workflow, that a result says to have begun."""
        if given.get("taskType") == "local_workflow" and isinstance(given.get("runId"), str):
            name = as_text(given.get("workflowName"))
            events.append(self.normaliser.event(ev.AgentStarted, value, agent=given["runId"], call_id=id, name=name))
            return
        agent = given.get("agentId")
        call = self.normaliser.calls.get(id) if isinstance(agent, str) else None
        if call is not None and call.native.name in ("Task", "Agent", "Skill"):
            prompt = as_text(given.get("prompt"))
            self._started_by[str(agent)] = id
            events.append(self.normaliser.event(ev.AgentStarted, value, agent=agent, call_id=id, prompt=prompt))
            if given.get("status") == "completed":  # `async_launched` (2.1.2 to 2.1.325) has only begun
                events.append(self.normaliser.event(ev.AgentEnded, value, agent=agent, call_id=id, status="completed"))

    def _spawned_below(self, value: Record, id: str, events: list[ev.AnyEvent]) -> None:
        """The agent that another one began: files of sub-agents name it in the words of the result alone."""
        returned, call = events[-1], self.normaliser.calls.get(id)
        if not isinstance(returned, ev.ToolReturned) or call is None or call.native.name not in ("Task", "Agent"):
            return
        for outcome in returned.result.outcomes:
            for report in outcome.agents if isinstance(outcome, AgentsOutcome) else ():
                if report.id is not None:
                    events.append(self.normaliser.event(ev.AgentStarted, value, agent=report.id, call_id=id))

    def _system(self, value: Record, events: list[ev.AnyEvent]) -> None:
        words = value.content if value.subtype == "local_command" else None
        if isinstance(words, str) and words.startswith(("<command-", *_LOCAL_COMMAND)):
            self._said(value, words, (), events)
            return
        if value.subtype in _COMPACTED:
            self._turn_to(None, value.stream, events)
            self._compaction = value
            if value.subtype != _SUMMARISED:
                self._tell_compaction(None, events)
            return
        events.append(self._noted(value))

    def _tell_compaction(self, summary: str | None, events: list[ev.AnyEvent]) -> None:
        if self._compaction is None:
            return
        value, self._compaction = self._compaction, None
        facts = as_object(value.compact_metadata)
        trigger = facts.get("trigger")
        events.append(
            self.normaliser.event(
                ev.ContextCompacted,
                value,
                summary=summary,
                trigger=trigger if trigger in ("manual", "auto") else None,
                tokens_before=as_integer(facts.get("preTokens")),
                tokens_after=as_integer(facts.get("postTokens")),
            )
        )

    def _noted(self, value: Record) -> ev.AnyEvent:
        kind = value.subtype
        if kind == "api_error":
            error = as_object(value.error)
            status = as_integer(error.get("status"))
            message = error_text(value.error) or "an error of the API"
            return self.normaliser.event(ev.ErrorOccurred, value, message=message, status=status, retried=True)
        return self.normaliser.event(ev.ClientNoted, value, name=note_name(value))


def _about(path: Path) -> _About:
    folder = path.absolute().parent
    run = folder.name if folder.parent.name == "workflows" else None
    beside = folder if run is None else folder.parent.parent
    session = beside.parent.name if beside.name == "subagents" else None
    kept = "" if session is None else folder.name if path.name == "journal.jsonl" else path.stem
    return _About(_agent_of(path), run, session, kept)


def _agent_of(path: Path) -> dict[str, Any]:
    """What is kept of an agent beside its log; nothing where that is missing, or is no object."""
    for beside in FORMAT.companions(path):
        try:
            return as_object(decoded(read_beside(beside))) if beside.is_file() else {}
        except OSError:
            return {}
    return {}


def _takes_all(path: Path) -> bool:
    """Whether it takes all that a file says to know its tokens: what was printed, or an agent that was forked."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return b'"sessionId"' not in head or _FORK.encode() in head  # every log has that name near its beginning


# ── tokens alone ─────────────────────────────────────────────────────────────


_decode_usage = msgspec.json.Decoder(UsageRecord).decode


class _UsageReader(_Reader):
    """Reads no more than tokens: what anybody says is not even decoded."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.decode = _decode_usage

    def add_record(self, value: Any, source: ev.Source, events: list[ev.AnyEvent]) -> None:
        if type(value) is not UsageRecord:
            if not isinstance(value, dict):
                return
            value = unusual_record(value)
        session, message = value.session, value.message
        if session is None:
            value.session = self._told
        elif session != self._told and (session in self._begun or value.type in _TOLD):
            self._begun.add(session)
            self._told = session
        if value.type != "assistant" or message is None:
            if value.is_sidechain:
                self._stream(value)  # which sub-agent an inline record is of is known from the chain of all of them
            return
        self._place(value, source)
        if message.id != self._open:
            self._turn_to(message.id, value.stream, events)
        if value.is_api_error_message is not True and message.model != "<synthetic>":
            self._open, self._last = message.id or made_up_id(value), value


FORMAT = ClaudeCode()
