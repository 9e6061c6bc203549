"""Sessions as OpenTelemetry spans in OTLP's JSON: one trace each, a span per agent, reply and call.

Names are those of the GenAI conventions, the same a live run's spans have. Ids are made of the session's and the
events' ids: exporting twice gives the same spans. A log does not say when a question was asked: a reply's span begins
with what came before it. A time nobody wrote down is 0, which OTLP reads as not known.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any, BinaryIO, Final

from dragoman.logs.history.sessions import key_of, sessions_of
from dragoman.logs.history.tables import as_json, failure_of, text_of
from dragoman.model import AnyEvent, ModelFinished, Session, Step, ToolUse, UserSaid, genai

from .chosen import Chosen
from .lines import event_line, model_of

_INTERNAL: Final = 1
_CLIENT: Final = 3
_ERROR: Final = 2
_DOUBTFUL: Final = "dragoman.usage.doubtful"
"""Which counts the client likely logged too low, or that it logged as what they cannot be."""

Moment = datetime.datetime | None
Stream = tuple[str, str]


def write(chosen: Chosen, out: BinaryIO) -> None:
    records = list(chosen.records())
    raws = [(event, raw) for event, raw in records if raw is not None]
    spans: list[dict[str, Any]] = []
    finished: dict[tuple[Stream, int | None, int | None], ModelFinished] = {}
    for event, _ in records:
        if isinstance(event, ModelFinished):
            finished[key_of(event), event.turn, event.step] = event
    for session in sessions_of(event for event, _ in records):
        teller = _Spans(session, finished)
        spans += teller.of(session, None)
    if raws and spans:
        spans[0]["events"] = [_record(event, raw) for event, raw in raws]
    scope = {"name": "dragoman"}
    resource = {"attributes": _attributes({"service.name": "dragoman", "telemetry.sdk.name": "dragoman"})}
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}
    out.write(as_json(document).encode() + b"\n")


def _record(event: AnyEvent, raw: Any) -> dict[str, Any]:
    """An original record, as an event of the first span."""
    line = event_line(event, raw)
    told = {"dragoman.record": raw if isinstance(raw, str) else as_json(raw), "dragoman.event.id": line["id"]}
    return {"timeUnixNano": _nanoseconds(event.time), "name": line["kind"], "attributes": _attributes(told)}


class _Spans:
    """The spans of one trace: a session and all agents below it."""

    def __init__(self, root: Session, finished: dict[tuple[Stream, int | None, int | None], ModelFinished]) -> None:
        self._trace = _id(32, "trace", root.client or "", root.id)
        self._finished = finished

    def of(self, session: Session, parent: str | None) -> list[dict[str, Any]]:
        own = _id(16, "agent", session.id, session.stream)
        agent = None if session.stream == "main" else session.stream
        facts = {
            genai.OPERATION: genai.INVOKE_AGENT,
            genai.PROVIDER: genai.provider_name(session.models[0] if session.models else None),
            genai.AGENT_NAME: session.client,
            genai.AGENT_ID: agent,
            genai.CONVERSATION: session.id,
            genai.REQUEST_MODEL: session.models[0] if session.models else None,
            "gen_ai.agent.version": session.version,
            **genai.token_attributes(session.usage),
            _DOUBTFUL: list(session.usage.doubtful) or None,
        }
        name = f"{genai.INVOKE_AGENT} {session.client or ''}".strip()
        spans = [self._span(own, parent, name, _INTERNAL, session.started, session.ended, facts)]
        calls: dict[str, str] = {}
        before: Moment = session.started
        for turn in session.turns:
            said: list[AnyEvent] = [one for one in (turn.opened_by, *turn.other) if isinstance(one, UserSaid)]
            before = max(filter(None, (before, *(one.time for one in said))), default=None)
            for step in turn.steps:
                key = (session.id, session.stream), turn.index, step.index
                spans.append(self._chat(own, session, step, said, before, self._finished.get(key), turn.index))
                for use in step.tools:
                    span = self._call(own, session, use)
                    calls[use.called.call.id] = span["spanId"]
                    spans.append(span)
                before = max(filter(None, (before, *_times(step))), default=None)
                said = []
        for child in session.children:
            spans += self.of(child, calls.get(child.parent_call or "", own))
        return spans

    def _chat(
        self,
        parent: str,
        session: Session,
        step: Step,
        asked: Iterable[AnyEvent],
        before: Moment,
        finished: ModelFinished | None,
        turn: int,
    ) -> dict[str, Any]:
        model = model_of(step) or (session.models[0] if session.models else None)
        facts = {
            genai.OPERATION: genai.CHAT,
            genai.PROVIDER: genai.provider_name(model),
            genai.CONVERSATION: session.id,
            genai.REQUEST_MODEL: model,
            genai.RESPONSE_MODEL: model,
            genai.RESPONSE_ID: finished.provider_id if finished is not None else None,
            genai.FINISH_REASONS: [str(finished.finish)] if finished is not None else None,
            genai.INPUT_MESSAGES: _messages("user", [one.text for one in asked if isinstance(one, UserSaid)]),
            genai.OUTPUT_MESSAGES: _output(step, None if finished is None else str(finished.finish)),
            **genai.token_attributes(step.usage),
            _DOUBTFUL: list(step.usage.doubtful) or None,
        }
        own = _id(16, "chat", session.id, session.stream, str(turn), str(step.index))
        said = [one.time for one in (*step.thought, *step.said, *(use.called for use in step.tools)) if one.time]
        end = max(said, default=before)
        start = min(filter(None, (before, end)), default=None)
        return self._span(own, parent, f"{genai.CHAT} {model or ''}".strip(), _CLIENT, start, end, facts)

    def _call(self, parent: str, session: Session, use: ToolUse) -> dict[str, Any]:
        native, returned = use.called.call.native, use.returned
        arguments = native.arguments
        facts = {
            **genai.tool_attributes(native),
            genai.CONVERSATION: session.id,
            genai.CALL_ARGUMENTS: arguments if isinstance(arguments, str) else as_json(arguments),
        }
        failure, message = None, ""
        end = use.called.time
        if returned is not None:
            outcomes = returned.result.outcomes
            facts[genai.CALL_RESULT] = "\n".join(text_of(outcome) for outcome in outcomes)
            given = returned.result.native
            failures = [(word, text_of(one)) for one in outcomes if (word := failure_of(one, given)) is not None]
            failure, message = failures[0] if failures else (None, "")
            end = returned.time
        facts[genai.ERROR_TYPE] = failure
        own = _id(16, "call", session.id, session.stream, use.called.id)
        name = f"{genai.EXECUTE_TOOL} {native.name}"
        span = self._span(own, parent, name, _INTERNAL, use.called.time, end, facts)
        if failure is not None:
            span["status"] = {"code": _ERROR, "message": message}
        return span

    def _span(
        self,
        id: str,
        parent: str | None,
        name: str,
        kind: int,
        start: Moment,
        end: Moment,
        facts: dict[str, Any],
    ) -> dict[str, Any]:
        last = end if end is None or start is None else max(start, end)
        return {
            "traceId": self._trace,
            "spanId": id,
            **({} if parent is None else {"parentSpanId": parent}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(start),
            "endTimeUnixNano": _nanoseconds(last),
            "attributes": _attributes(facts),
        }


def _times(step: Step) -> Iterable[datetime.datetime]:
    events: list[AnyEvent] = [*step.said, *step.thought]
    for use in step.tools:
        events += [use.called, *([] if use.returned is None else [use.returned])]
    return (event.time for event in events if event.time is not None)


def _messages(role: str, texts: list[str]) -> str | None:
    """What was said, as the conventions write messages into one attribute."""
    told = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts if text]
    return as_json(told) if told else None


def _output(step: Step, finish: str | None) -> str | None:
    parts: list[dict[str, Any]] = [{"type": "reasoning", "content": one.text} for one in step.thought if one.text]
    parts += [{"type": "text", "content": one.text} for one in step.said if one.text]
    for use in step.tools:
        native = use.called.call.native
        parts.append({"type": "tool_call", "id": native.id, "name": native.name, "arguments": native.arguments})
    if not parts:
        return None
    return as_json([{"role": "assistant", "parts": parts, "finish_reason": finish or "unknown"}])


def _id(length: int, *words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _nanoseconds(time: Moment) -> str:
    """64-bit numbers are texts in OTLP's JSON."""
    if time is None:
        return "0"
    since = (time - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1) * 1000
    return str(since) if 0 <= since < 1 << 64 else "0"  # OTLP has no time before 1970, and none after 2554


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in facts.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if abs(value) < 1 << 63:
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)}
