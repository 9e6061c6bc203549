"""OpenTelemetry spans of a run, in the words of the GenAI conventions: the run, each question, each call.

An extra: it is given a tracer and listens to events as any recorder does. What was said is in the spans only when asked
for, since it may be anybody's secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.model import Failure, events as ev, genai
from dragoman.registry import need

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


class Telemetry:
    """Listens to the events of runs and makes spans of them."""

    def __init__(self, tracer: Tracer | None = None, *, content: bool = False, provider: str | None = None) -> None:
        self._trace: Any = need("otel", "OpenTelemetry spans", "opentelemetry.trace")
        self._tracer = tracer or self._trace.get_tracer("dragoman")
        self._content, self._provider = content, provider
        self._open: dict[tuple[str, str], Span] = {}

    def __call__(self, event: ev.AnyEvent) -> None:
        run = event.run or event.session or ""
        facts: dict[str, Any]
        if isinstance(event, ev.SessionStarted):
            agent = None if event.stream == "main" else event.stream
            facts = {genai.OPERATION: genai.INVOKE_AGENT, genai.REQUEST_MODEL: event.model, genai.AGENT_ID: agent}
            self._begin((run, ""), genai.INVOKE_AGENT, event, facts)
        elif isinstance(event, ev.ModelAsked):
            facts = {
                genai.OPERATION: genai.CHAT,
                genai.REQUEST_MODEL: event.model,
                "gen_ai.request.stream": event.streamed or None,
                "gen_ai.request.seed": event.seed,
                "gen_ai.output.type": "json" if event.json else None,
            }
            self._begin((run, "chat"), f"{genai.CHAT} {event.model or ''}".strip(), event, facts, inside=(run, ""))
        elif isinstance(event, ev.TokensUsed):
            self._tell((run, "chat"), genai.token_attributes(event.usage))
        elif isinstance(event, ev.ModelFinished):
            said = {genai.FINISH_REASONS: (str(event.finish),), genai.RESPONSE_MODEL: event.model}
            self._tell((run, "chat"), {**said, genai.RESPONSE_ID: event.provider_id})
            self._end((run, "chat"), event)
        elif isinstance(event, ev.ToolCalled):
            self._called(run, event)
        elif isinstance(event, ev.ToolReturned):
            self._returned(run, event)
        elif isinstance(event, ev.ErrorOccurred):
            self._fail((run, "chat"), event.code or str(event.status or "error"), event.message)
            self._end((run, "chat"), event)
        elif isinstance(event, ev.SessionEnded):
            if event.reason == "failed":
                self._fail((run, ""), "failed", event.message or "")
            for key in [key for key in self._open if key[0] == run and key[1]]:
                self._end(key, event)
            self._end((run, ""), event)

    def _called(self, run: str, event: ev.ToolCalled) -> None:
        native = event.call.native
        facts = genai.tool_attributes(native)
        if self._content:
            facts[genai.CALL_ARGUMENTS] = str(native.arguments)
        self._begin((run, native.id), f"{genai.EXECUTE_TOOL} {native.name}", event, facts, inside=(run, ""))

    def _returned(self, run: str, event: ev.ToolReturned) -> None:
        key = (run, event.result.call_id)
        failure = next((one for one in event.result.outcomes if isinstance(one, Failure)), None)
        if failure is not None:
            self._fail(key, failure.kind, failure.message)
        if self._content and event.result.native is not None:
            self._tell(key, {genai.CALL_RESULT: str(event.result.native.content)})
        self._end(key, event)

    # ── spans ──────────────────────────────────────────────────────────────

    def _begin(
        self,
        key: tuple[str, str],
        name: str,
        event: ev.AnyEvent,
        facts: dict[str, Any],
        inside: tuple[str, str] | None = None,
    ) -> None:
        parent = self._open.get(inside) if inside is not None else None
        context = None if parent is None else self._trace.set_span_in_context(parent)
        kind = self._trace.SpanKind.CLIENT if key[1] == "chat" else self._trace.SpanKind.INTERNAL
        span = self._tracer.start_span(name, context=context, kind=kind, start_time=_nanoseconds(event))
        self._open[key] = span
        if facts[genai.OPERATION] != genai.EXECUTE_TOOL:
            facts[genai.PROVIDER] = genai.provider_name(facts.get(genai.REQUEST_MODEL), self._provider)
        self._tell(key, {**facts, genai.CONVERSATION: event.session})

    def _tell(self, key: tuple[str, str], facts: dict[str, Any]) -> None:
        span = self._open.get(key)
        if span is not None:
            span.set_attributes({name: value for name, value in facts.items() if value is not None})

    def _fail(self, key: tuple[str, str], kind: str, message: str) -> None:
        span = self._open.get(key)
        if span is not None:
            span.set_attribute(genai.ERROR_TYPE, kind)
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, message))

    def _end(self, key: tuple[str, str], event: ev.AnyEvent) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span.end(_nanoseconds(event))


def _nanoseconds(event: ev.AnyEvent) -> int | None:
    return None if event.time is None else int(event.time.timestamp() * 1_000_000_000)
