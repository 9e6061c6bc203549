"""Kimi Code's sessions (2.1.0): `sessions/<folder>/session_<id>/agents/<agent>/wire.jsonl`, one file per agent.

The conversation is in `context.append_message` (what the model was told) and `context.append_loop_event` (what it said
and called, and the results). `agent.message.appended` repeats both in the form of the wire and is only noted. A reply's
tokens stand in `usage.record` and again at the end of its step: they are counted at the end, or from the record if the
step was interrupted. The folder names the session: no record does. The program's version is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text

CLIENT: Final = "kimi_code"

_NOTES: Final = frozenset(
    {
        "agent.message.appended",
        "agent.turn.ended",
        "agent.turn.started",
        "cron.add",
        "cron.delete",
        "file_history.checkpoint",
        "file_history.tracked",
        "goal.clear",
        "goal.create",
        "goal.update",
        "llm.tools_snapshot",
        "mcp.tools_discovered",
        "metadata",
        "permission.set_mode",
        "plan_mode.enter",
        "plan_mode.exit",
        "plugin.session_start",
        "prompt.aborted",
        "prompt.completed",
        "runtime.set_binding",
        "subagent.started",
        "swarm_mode.enter",
        "swarm_mode.exit",
        "task.started",
        "task.terminated",
        "task.waitDelivered",
        "token_counting.measured",
        "token_counting.turn_recorded",
        "tools.update_store",
        "turn.cancel",
        "turn.prompt",
    }
)
"""Kinds of records that are the client's own book-keeping, or repeat what others say."""
_OWN: Final = frozenset(
    {"context.append_loop_event", "context.append_message", "agent.message.appended", "turn.prompt"}
)
_FINISH: Final = {
    "end_turn": FinishReason.STOP,
    "stop": FinishReason.STOP,
    "tool_use": FinishReason.CALLS,
    "max_tokens": FinishReason.LENGTH,
    "error": FinishReason.ERROR,
    "interrupted": FinishReason.INTERRUPTED,
}


class KimiCode(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        records = [record for record in sample.records if isinstance(record, dict)]
        kinds = {as_text(record.get("type")) for record in records}
        if any(record.get("type") == "metadata" and "protocol_version" in record for record in records[:1]):
            return 0.95 if sample.path.name == "wire.jsonl" or kinds & _OWN else 0.6
        return 0.9 if any(_is_own(record) for record in records) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("KIMI_CODE_HOME")
        for root in ([Path(configured)] if configured else []) + [places.home / ".kimi-code"]:
            yield root / "sessions"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "*/*/agents/*/wire.jsonl")

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _is_own(record: Mapping[str, Any]) -> bool:
    """Whether a record is of the conversation, as no other client writes it."""
    if not isinstance(record.get("agentId"), str) or not isinstance(record.get("time"), int):
        return False
    event = as_object(record.get("event"))
    return record.get("type") == "context.append_loop_event" and isinstance(event.get("turnId"), str)


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        parts = path.absolute().parts
        in_place = len(parts) >= 4 and parts[-3] == "agents"
        self._session = parts[-4] if in_place else path.stem
        self._stream = parts[-2] if in_place else "main"
        self._begun = False
        self._model: str | None = None
        self._used: dict[str, Any] | None = None
        """The tokens of the step that is under way."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        event = as_object(value.get("event"))
        place = Place(
            source=source,
            key=f"@{source.offset}",
            session=self._session,
            stream=as_text(value.get("agentId")) or self._stream,
            time=moment(value.get("time") or value.get("created_at")),
            provider_id=as_text(event.get("messageId")),
        )
        yield from self._told(value, place)
        if place.number == 0:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"{value.get('type')}/empty")

    def _told(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind, event = as_text(value.get("type")), self.normaliser.event
        if kind == "context.append_loop_event":
            yield from self._step(as_object(value.get("event")), place)
        elif kind == "context.append_message":
            yield from self._message(as_object(value.get("message")), place)
        elif kind == "profile.bind":
            yield self._bound(value, place)
        elif kind == "llm.request":
            self._model = as_text(value.get("model")) or self._model
            yield event(ev.ModelAsked, place, model=as_text(value.get("model")))
        elif kind == "usage.record":
            yield from self._recorded(value, place)
        elif kind == "subagent.spawned":
            yield event(
                ev.AgentStarted,
                place,
                agent=as_text(value.get("subagentId")) or "",
                name=as_text(value.get("subagentName")),
                call_id=as_text(value.get("parentToolCallId")),
            )
        elif kind == "subagent.completed":
            agent, text = as_text(value.get("subagentId")) or "", as_text(value.get("resultSummary"))
            yield event(ev.AgentEnded, place, agent=agent, status="completed", text=text)
        elif kind == "subagent.failed":
            yield event(ev.AgentEnded, place, agent=as_text(value.get("subagentId")) or "", status="failed")
        elif kind == "turn.step.retrying":
            yield self._failed(
                value.get("errorMessage"), value.get("errorName"), value.get("statusCode"), place, retried=True
            )
        elif kind == "turn.step.interrupted" and value.get("reason") == "aborted":
            yield event(ev.Interrupted, place, text=as_text(value.get("message")))
        elif kind == "turn.step.interrupted":
            yield event(ev.ClientNoted, place, name=kind, data=_beside(value))  # the end of the turn has the error
        elif kind == "turn.ended":
            yield from self._ended(value, place)
        elif kind in _NOTES:
            yield event(ev.ClientNoted, place, name=kind, data=_beside(value))
        else:
            yield self.normaliser.unknown(place, kind)

    def _bound(self, value: dict[str, Any], place: Place) -> ev.AnyEvent:
        model = as_text(value.get("modelAlias"))
        if self._begun:
            settings = {"thinkingEffort": value["thinkingEffort"]} if "thinkingEffort" in value else {}
            return self.normaliser.event(ev.ModelChanged, place, model=model, settings=settings)
        self._begun = True
        cwd = as_text(as_object(value.get("environmentDisclosure")).get("cwd"))
        told = ("type", "agentId", "time", "modelAlias", "environmentDisclosure", "systemPrompt")
        metadata = {key: value[key] for key in value if key not in told}
        return self.normaliser.event(ev.SessionStarted, place, cwd=cwd, model=model, dialect=CLIENT, metadata=metadata)

    # ── what the model was told ────────────────────────────────────────────

    def _message(self, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, origin = as_text(message.get("role")), as_object(message.get("origin"))
        text, media = _pieces(message.get("content"))
        if role == "user":
            by = _BY.get(as_text(origin.get("name")) or as_text(origin.get("kind")) or "user", "client")
            yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)
        elif role == "system":
            yield self.normaliser.event(ev.SystemSaid, place, text=text)
        elif role == "assistant":
            yield self.normaliser.event(ev.ModelSaid, place, text=text, media=media, model=self._model)
        else:
            yield self.normaliser.unknown(place, f"message/{role}")

    # ── what the model did ─────────────────────────────────────────────────

    def _step(self, step: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind, event = as_text(step.get("type")), self.normaliser.event
        if kind == "step.begin":
            self._used = None
            yield event(ev.ClientNoted, place, name=kind, data={"step": step.get("step")})
        elif kind == "content.part":
            yield self._part(as_object(step.get("part")), place)
        elif kind == "tool.call" and isinstance(step.get("name"), str):
            yield self.normaliser.called(place, _call(step, place))
        elif kind == "tool.result":
            yield self._result(step, place)
        elif kind == "step.end":
            yield from self._finished(step, place)
        else:
            yield self.normaliser.unknown(place, f"loop/{kind}")

    def _part(self, part: dict[str, Any], place: Place) -> ev.AnyEvent:
        if part.get("type") == "think":
            text = as_text(part.get("think")) or ""
            return self.normaliser.event(ev.ModelThought, place, text=text, model=self._model, hidden=not text)
        text, media = _pieces([part])
        if part.get("type") != "text" and not media:
            return self.normaliser.event(ev.ClientNoted, place, name=f"part/{part.get('type')}", data=part)
        return self.normaliser.event(ev.ModelSaid, place, text=text, media=media, model=self._model)

    def _result(self, step: dict[str, Any], place: Place) -> ev.AnyEvent:
        result = as_object(step.get("result"))
        output, flag, took = result.get("output"), result.get("isError"), as_integer(result.get("durationMs"))
        content: str | tuple[str | Media, ...] = output if isinstance(output, str) else _content(output)
        native = NativeResult(
            as_text(step.get("toolCallId")) or "",
            content,
            is_error=flag if isinstance(flag, bool) else False if result else None,
            item={key: result[key] for key in result if key != "output"},
        )
        return self.normaliser.returned(place, native, None if took is None else took / 1000)

    def _finished(self, step: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        used = step.get("usage") if isinstance(step.get("usage"), dict) else self._used
        self._used = None
        if isinstance(used, dict):
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(used), model=self._model)
        reason = as_text(step.get("finishReason"))
        if reason is not None:
            finish = _FINISH.get(reason, FinishReason.UNKNOWN)
            yield self.normaliser.event(ev.ModelFinished, place, finish=finish, model=self._model)

    def _recorded(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        usage = value.get("usage")
        if not isinstance(usage, dict):
            return
        if value.get("usageScope") == "turn":
            self._used = usage
            yield self.normaliser.event(ev.ClientNoted, place, name="usage.record", data=_beside(value))
        else:  # of a request that is no step of the conversation
            model = as_text(value.get("model"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=model)

    def _ended(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        error = value.get("error")
        if isinstance(error, dict):
            status = as_object(error.get("details")).get("statusCode")
            yield self._failed(error.get("message"), error.get("code"), status, place, retried=False)
        yield self.normaliser.event(ev.ClientNoted, place, name="turn.ended", data=_beside(value))

    def _failed(self, message: Any, code: Any, status: Any, place: Place, *, retried: bool) -> ev.AnyEvent:
        return self.normaliser.event(
            ev.ErrorOccurred,
            place,
            message=as_text(message) or "the request failed",
            status=as_integer(status),
            code=as_text(code),
            retried=retried,
        )


# ── values ───────────────────────────────────────────────────────────────────

_BY: Final = {"user": "user", "subagent": "agent"}
"""Whose words a message holds, by its origin; all others are the client's own."""


def _call(step: dict[str, Any], place: Place) -> NativeCall:
    arguments = step.get("args")
    return NativeCall(
        as_text(step.get("toolCallId")) or place.key,
        step["name"],
        arguments if isinstance(arguments, dict | str) else {} if arguments is None else str(arguments),
    )


def _beside(value: dict[str, Any]) -> dict[str, Any]:
    """What a record holds beside its envelope, but for what repeats others at length."""
    return {key: value[key] for key in value if key not in ("type", "agentId", "time", "message", "tools")}


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_integer(usage.get("inputOther")),
        cached_read_tokens=as_integer(usage.get("inputCacheRead")),
        cached_write_tokens=as_integer(usage.get("inputCacheCreation")),
        output_tokens=as_integer(usage.get("output")),
    )


def _content(blocks: Any) -> tuple[str | Media, ...]:
    """Texts and pictures of a result, in their order."""
    pieces: list[str | Media] = []
    for block in as_objects(blocks):
        media = _media(block)
        if media is not None:
            pieces.append(media)
        elif isinstance(block.get("text"), str):
            pieces.append(block["text"])
    return tuple(pieces)


def _pieces(content: Any) -> tuple[str, tuple[Media, ...]]:
    """The text of a message, and its pictures."""
    if isinstance(content, str):
        return content, ()
    pieces = _content(content)
    text = "\n".join(piece for piece in pieces if isinstance(piece, str))
    return text, tuple(piece for piece in pieces if isinstance(piece, Media))


def _media(block: dict[str, Any]) -> Media | None:
    if block.get("type") not in ("image_url", "video_url", "audio_url"):
        return None
    holder = next((block[key] for key in ("imageUrl", "videoUrl", "audioUrl", "image_url") if key in block), None)
    url = as_text(as_object(holder).get("url"))
    if url is None:
        return None
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return Media(head.removeprefix("data:"), data=data)
    return Media("image/*" if block["type"] == "image_url" else "application/octet-stream", url=url)


FORMAT = KimiCode()
