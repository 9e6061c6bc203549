"""Claude Code's sessions: `<session>.jsonl`, a tree of records, with sub-agents in files of their own or inline.

One model message is several lines, a block each, with the same `message.id` and the same usage on every one; so a
message's tokens and end are told once, when the next message begins or the file ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.apis import APIS
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

from .format import LinesReader, LogFormat, LogReader, Places, Sample
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


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._begun: set[str] = set()
        self._message: tuple[str, Place, dict[str, Any]] | None = None
        """The model message whose lines are being read: its id, the place of its last line, that line's message."""
        self._counted: set[str] = set()
        self._sidechains: dict[str, str] = {}
        """Record → the inline sub-agent it belongs to, by the first record of its chain."""
        self._usage = APIS["anthropic_messages"].read_usage

    def record(self, value: Any, source: Source) -> Iterator[AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        kind = value.get("type")
        place = self._place(value, source)
        message = value.get("message")
        # A result may stand between two lines of one message, so only another message ends it.
        if kind == "assistant" and isinstance(message, dict) and message.get("id") != self._open:
            yield from self._message_ended()
        told = kind in ("user", "assistant", "system", "attachment")
        if place.session is not None and told and place.session not in self._begun:
            self._begun.add(place.session)
            yield self._started(value, place)
        if kind == "assistant" and isinstance(message, dict):
            yield from self._assistant(value, message, place)
        elif kind == "user" and isinstance(message, dict):
            yield from self._user(value, message, place)
        elif kind == "system":
            yield self._system(value, place)
        elif isinstance(kind, str) and kind in _KNOWN_NOTES:
            yield self.normaliser.event(ClientNoted, place, name=_note_name(kind, value))
        else:
            yield self.normaliser.unknown(place, kind if isinstance(kind, str) else None)

    def end(self) -> Iterator[AnyEvent]:
        yield from self._message_ended()

    # ── where a record stands ──────────────────────────────────────────────

    def _place(self, value: dict[str, Any], source: Source) -> Place:
        uuid = value.get("uuid")
        parent = value.get("parentUuid") or value.get("logicalParentUuid")
        return Place(
            source=source,
            key=f"{uuid}@{source.offset}" if isinstance(uuid, str) else f"@{source.offset}",
            session=_text(value.get("sessionId")),
            stream=self._stream(value),
            version=_text(value.get("version")),
            time=moment(value.get("timestamp")),
            parent=parent if isinstance(parent, str) else None,
            provider_id=_text(value.get("requestId")),
        )

    def _stream(self, value: dict[str, Any]) -> str:
        agent = value.get("agentId")
        if isinstance(agent, str) and agent:
            return agent
        if value.get("isSidechain") is not True:
            return "main"
        uuid, parent = value.get("uuid"), value.get("parentUuid")
        root = self._sidechains.get(parent, str(uuid)) if isinstance(parent, str) else str(uuid)
        if isinstance(uuid, str):
            self._sidechains[uuid] = root
        return f"sidechain-{root}"

    def _started(self, value: dict[str, Any], place: Place) -> AnyEvent:
        return self.normaliser.event(
            SessionStarted, place, cwd=_text(value.get("cwd")), branch=_text(value.get("gitBranch")) or None
        )

    # ── the model ──────────────────────────────────────────────────────────

    @property
    def _open(self) -> str | None:
        return None if self._message is None else self._message[0]

    def _assistant(self, value: dict[str, Any], message: dict[str, Any], place: Place) -> Iterator[AnyEvent]:
        model = _text(message.get("model"))
        if value.get("isApiErrorMessage") is True:
            text = " ".join(_text(block.get("text")) or "" for block in _blocks(message.get("content")))
            status = value.get("apiErrorStatus")
            yield self.normaliser.event(
                ErrorOccurred,
                place,
                message=text or str(value.get("error") or "an error of the API"),
                status=status if isinstance(status, int) else None,
                code=_text(value.get("error")),
            )
            return
        id = _text(message.get("id"))
        if id is not None and model != "<synthetic>":
            self._message = (id, place, message)
        for block in _blocks(message.get("content")):
            yield from self._block(block, place, model)

    def _block(self, block: dict[str, Any], place: Place, model: str | None) -> Iterator[AnyEvent]:
        kind = block.get("type")
        if kind == "text":
            yield self.normaliser.event(ModelSaid, place, text=_text(block.get("text")) or "", model=model)
        elif kind == "thinking":
            text = _text(block.get("thinking")) or ""
            yield self.normaliser.event(ModelThought, place, text=text, model=model, hidden=not text)
        elif kind == "redacted_thinking":
            yield self.normaliser.event(ModelThought, place, text="", model=model, hidden=True)
        elif kind == "tool_use" and isinstance(block.get("name"), str):
            arguments = block.get("input")
            native = NativeCall(
                _text(block.get("id")) or f"{place.key}.{place.number}",
                block["name"],
                arguments if isinstance(arguments, dict | str) else {} if arguments is None else str(arguments),
            )
            yield self.normaliser.called(place, native)
        else:
            yield from self._hosted(block, place)

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

    def _message_ended(self) -> Iterator[AnyEvent]:
        """The tokens and the end of a message, once all its lines were read."""
        if self._message is None:
            return
        id, place, message = self._message
        self._message = None
        if id in self._counted:  # a session that was gone on with may hold what was said before once more
            return
        self._counted.add(id)
        at = Place(
            source=place.source,
            key=id,
            session=place.session,
            stream=place.stream,
            version=place.version,
            time=place.time,
            parent=place.parent,
            provider_id=place.provider_id,
        )
        model = _text(message.get("model"))
        usage = message.get("usage")
        if isinstance(usage, dict):
            yield self.normaliser.event(TokensUsed, at, usage=self._usage(usage), model=model)
        reason = message.get("stop_reason")
        if isinstance(reason, str):
            finish = _FINISH.get(reason, FinishReason.UNKNOWN)
            yield self.normaliser.event(ModelFinished, at, finish=finish, model=model)

    # ── the user, and what tools gave ──────────────────────────────────────

    def _user(self, value: dict[str, Any], message: dict[str, Any], place: Place) -> Iterator[AnyEvent]:
        content = message.get("content")
        texts: list[str] = [content] if isinstance(content, str) else []
        media: list[Media] = []
        for block in _blocks(content):
            kind = block.get("type")
            if kind == "tool_result":
                yield from self._result(value, block, place)
            elif kind == "text":
                texts.append(_text(block.get("text")) or "")
            elif kind in ("image", "document"):
                read = _media(block)
                if read is not None:
                    media.append(read)
        if isinstance(content, list):
            texts += [item for item in content if isinstance(item, str)]
        text = "\n".join(text for text in texts if text)
        if text or media:
            yield self._said(value, text, tuple(media), place)

    def _said(self, value: dict[str, Any], text: str, media: tuple[Media, ...], place: Place) -> AnyEvent:
        if text.startswith(_INTERRUPTED):
            return self.normaliser.event(Interrupted, place, text=text)
        command = _COMMAND.search(text)
        if command is not None:
            said = _COMMAND_ARGUMENTS.search(text)
            return self.normaliser.event(
                CommandInvoked, place, name=command[1], arguments=(said[1].strip() or None) if said else None
            )
        if text.startswith(("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")):
            return self.normaliser.event(ClientNoted, place, name="local-command", data={"text": text})
        origin = _mapping(value.get("origin")).get("kind")
        by = "client" if value.get("isMeta") is True or value.get("isCompactSummary") is True or origin else "user"
        if place.stream != "main":
            by = "agent" if value.get("parentUuid") is None else by
        return self.normaliser.event(UserSaid, place, text=text, media=media, by=by)

    def _result(self, value: dict[str, Any], block: dict[str, Any], place: Place) -> Iterator[AnyEvent]:
        id = _text(block.get("tool_use_id")) or ""
        beside = {key: value[key] for key in ("toolUseResult", "permissionDecision", "toolDenialKind") if key in value}
        flag = block.get("is_error")
        native = NativeResult(
            id, _content(block.get("content")), is_error=flag if isinstance(flag, bool) else None, item=beside or None
        )
        yield self.normaliser.returned(place, native)
        given = _mapping(value.get("toolUseResult"))
        agent = given.get("agentId")
        call = self.normaliser.calls.get(id)
        if isinstance(agent, str) and call is not None and call.native.name in ("Task", "Agent"):
            prompt = given.get("prompt")
            yield self.normaliser.event(
                AgentStarted, place, agent=agent, call_id=id, prompt=prompt if isinstance(prompt, str) else None
            )

    def _system(self, value: dict[str, Any], place: Place) -> AnyEvent:
        kind = value.get("subtype")
        if kind in ("compact_boundary", "microcompact_boundary"):
            facts = _mapping(value.get("compactMetadata"))
            trigger = facts.get("trigger")
            return self.normaliser.event(
                ContextCompacted,
                place,
                trigger=trigger if trigger in ("manual", "auto") else None,
                tokens_before=_number(facts.get("preTokens")),
                tokens_after=_number(facts.get("postTokens")),
            )
        if kind == "api_error":
            error = _mapping(value.get("error"))
            status = _number(error.get("status"))
            message = _text(error.get("message")) or _text(error.get("formatted")) or "an error of the API"
            return self.normaliser.event(ErrorOccurred, place, message=message, status=status, retried=True)
        return self.normaliser.event(ClientNoted, place, name=_note_name("system", value))


def _note_name(kind: str, value: dict[str, Any]) -> str:
    subtype = (
        value.get("subtype") or _mapping(value.get("attachment")).get("type") or _mapping(value.get("data")).get("type")
    )
    return f"{kind}/{subtype}" if isinstance(subtype, str) else kind


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, dict):
        return [content]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _media(block: dict[str, Any]) -> Media | None:
    source = _mapping(block.get("source"))
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
        media = _media(block) if kind in ("image", "document") else None
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


FORMAT = ClaudeCode()
