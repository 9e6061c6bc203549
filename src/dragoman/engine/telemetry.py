"""OpenTelemetry spans of a run, in the words of the GenAI conventions: the run, each question, each call.

An extra: it is given a tracer and listens to events as any recorder does. What was said is in the spans only when asked
for, since it may be anybody's secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.model import (
    AnyEvent,
    ErrorOccurred,
    Failure,
    ModelAsked,
    ModelFinished,
    SessionEnded,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
)
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

    def __call__(self, event: AnyEvent) -> None:
        run = event.run or event.session or ""
        if isinstance(event, SessionStarted):
            facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": event.model}
            self._begin((run, ""), "invoke_agent", event, facts)
        elif isinstance(event, ModelAsked):
            facts = {"gen_ai.operation.name": "chat", "gen_ai.request.model": event.model}
            self._begin((run, "chat"), f"chat {event.model or ''}".strip(), event, facts, inside=(run, ""))
        elif isinstance(event, TokensUsed):
            self._tell((run, "chat"), _tokens(event))
        elif isinstance(event, ModelFinished):
            said = {"gen_ai.response.finish_reasons": (str(event.finish),), "gen_ai.response.model": event.model}
            self._tell((run, "chat"), {**said, "gen_ai.response.id": event.provider_id})
            self._end((run, "chat"), event)
        elif isinstance(event, ToolCalled):
            self._called(run, event)
        elif isinstance(event, ToolReturned):
            self._returned(run, event)
        elif isinstance(event, ErrorOccurred):
            self._fail((run, "chat"), event.code or str(event.status or "error"), event.message)
            self._end((run, "chat"), event)
        elif isinstance(event, SessionEnded):
            if event.reason == "failed":
                self._fail((run, ""), "failed", event.message or "")
            for key in [key for key in self._open if key[0] == run and key[1]]:
                self._end(key, event)
            self._end((run, ""), event)

    def _called(self, run: str, event: ToolCalled) -> None:
        native = event.call.native
        facts: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": native.name,
            "gen_ai.tool.call.id": native.id,
            "gen_ai.tool.type": "extension" if native.executed_by == "provider" else "function",
        }
        if self._content:
            facts["gen_ai.tool.call.arguments"] = str(native.arguments)
        self._begin((run, native.id), f"execute_tool {native.name}", event, facts, inside=(run, ""))

    def _returned(self, run: str, event: ToolReturned) -> None:
        key = (run, event.result.call_id)
        failure = next((one for one in event.result.outcomes if isinstance(one, Failure)), None)
        if failure is not None:
            self._fail(key, failure.kind, failure.message)
        if self._content and event.result.native is not None:
            self._tell(key, {"gen_ai.tool.call.result": str(event.result.native.content)})
        self._end(key, event)

    # ── spans ──────────────────────────────────────────────────────────────

    def _begin(
        self,
        key: tuple[str, str],
        name: str,
        event: AnyEvent,
        facts: dict[str, Any],
        inside: tuple[str, str] | None = None,
    ) -> None:
        parent = self._open.get(inside) if inside is not None else None
        context = None if parent is None else self._trace.set_span_in_context(parent)
        kind = self._trace.SpanKind.CLIENT if key[1] == "chat" else self._trace.SpanKind.INTERNAL
        span = self._tracer.start_span(name, context=context, kind=kind, start_time=_nanoseconds(event))
        self._open[key] = span
        self._tell(key, {**facts, "gen_ai.provider.name": self._provider, "gen_ai.conversation.id": event.session})

    def _tell(self, key: tuple[str, str], facts: dict[str, Any]) -> None:
        span = self._open.get(key)
        if span is not None:
            span.set_attributes({name: value for name, value in facts.items() if value is not None})

    def _fail(self, key: tuple[str, str], kind: str, message: str) -> None:
        span = self._open.get(key)
        if span is not None:
            span.set_attribute("error.type", kind)
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, message))

    def _end(self, key: tuple[str, str], event: AnyEvent) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span.end(_nanoseconds(event))


def _tokens(event: TokensUsed) -> dict[str, Any]:
    usage = event.usage
    read, written = usage.cached_read_tokens, usage.cached_write_tokens
    told = [count for count in (usage.input_tokens, read, written) if count is not None]
    return {
        "gen_ai.usage.input_tokens": sum(told) if told else None,  # the conventions count cached ones among them
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }


def _nanoseconds(event: AnyEvent) -> int | None:
    return None if event.time is None else int(event.time.timestamp() * 1_000_000_000)
