"""What `gemini -o stream-json` prints: words in pieces, calls, results as a person sees them, tokens at the end.

What a result shows is not what the model was given ("Found 4 matching file(s)"), so it stays text. Thoughts and the
calls of sub-agents are not printed. The tokens are those of the run alone, not of the session (0.38 to 0.61).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.logs.base.format import LinesReader
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_text

_TYPES = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


def is_printed(records: tuple[Any, ...]) -> bool:
    """Whether these records are those of such a stream: the first is `init`."""
    first = as_object(records[0]) if records else {}
    return first.get("type") == "init" and isinstance(first.get("session_id"), str) and "timestamp" in first


class StreamReader(LinesReader):
    """Reads one run."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem))
        self._session: str | None = None
        self._model: str | None = None
        self._said: tuple[Place, list[str]] | None = None
        """Words of the model that came in pieces."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        kind = as_object(value).get("type")
        if not isinstance(value, dict) or kind not in _TYPES:
            yield from self._spoken()
            yield self.normaliser.unknown(self._place({}, source), as_text(kind))
            return
        place = self._place(value, source)
        is_piece = kind == "message" and value.get("role") == "assistant" and value.get("delta") is True
        if is_piece:
            self._said = self._said or (place, [])
            self._said[1].append(as_text(value.get("content")) or "")
            yield self.normaliser.event(ev.ClientNoted, place, name="message/delta")
            return
        yield from self._spoken()
        yield from _TELLERS[str(kind)](self, value, place)

    def end(self) -> Iterator[ev.AnyEvent]:
        yield from self._spoken()

    def _place(self, value: Mapping[str, Any], source: ev.Source) -> Place:
        time = moment(value.get("timestamp"))
        return Place(source=source, key=f"@{source.offset}", session=self._session, time=time)

    def _spoken(self) -> Iterator[ev.AnyEvent]:
        if self._said is not None:
            place, pieces = self._said
            self._said = None
            yield self.normaliser.event(ev.ModelSaid, place, text="".join(pieces), model=self._model)

    def _begun(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        self._session = place.session = as_text(value.get("session_id"))
        self._model = as_text(value.get("model"))
        yield self.normaliser.event(ev.SessionStarted, place, model=self._model)

    def _message(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        text = as_text(value.get("content")) or ""
        if value.get("role") == "user":
            yield self.normaliser.event(ev.UserSaid, place, text=text)
        else:
            yield self.normaliser.event(ev.ModelSaid, place, text=text, model=self._model)

    def _called(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        name = as_text(value.get("tool_name")) or ""
        id = as_text(value.get("tool_id")) or place.key
        yield self.normaliser.called(place, NativeCall(id, name, dict(as_object(value.get("parameters")))))

    def _returned(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        error = as_object(value.get("error"))
        text = as_text(error.get("message")) or as_text(value.get("output")) or ""
        native = NativeResult(
            as_text(value.get("tool_id")) or "", text, is_error=value.get("status") != "success", item=dict(value)
        )
        yield self.normaliser.displayed(place, native)

    def _failed(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        message = as_text(value.get("message")) or "an error without words"
        yield self.normaliser.event(ev.ErrorOccurred, place, message=message, code=as_text(value.get("severity")))

    def _ended(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        stats = as_object(value.get("stats"))
        models = as_object(stats.get("models"))
        for model, told in models.items() or ((self._model, stats),):
            used = _usage(as_object(told))
            if used.total:
                yield self.normaliser.event(ev.TokensUsed, place, usage=used, model=model)
        yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.UNKNOWN)
        reason = {"success": "completed", "error": "failed"}.get(str(value.get("status")), "unknown")
        message = as_text(as_object(value.get("error")).get("message"))
        yield self.normaliser.event(ev.SessionEnded, place, reason=reason, message=message)


def _usage(told: Mapping[str, Any]) -> Usage:
    """The tokens of a run: `input_tokens` counts what the cache gave, and thoughts are in the total alone."""
    given, cached, output, total = (
        as_integer(told.get(key)) for key in ("input_tokens", "cached", "output_tokens", "total_tokens")
    )
    thought = None if total is None or given is None or output is None else max(0, total - given - output)
    return Usage(
        input_tokens=None if given is None else max(0, given - (cached or 0)),
        cached_read_tokens=cached,
        output_tokens=None if output is None else output + (thought or 0),
        reasoning_tokens=thought,
    )


_TELLERS = {
    "init": StreamReader._begun,
    "message": StreamReader._message,
    "tool_use": StreamReader._called,
    "tool_result": StreamReader._returned,
    "error": StreamReader._failed,
    "result": StreamReader._ended,
}
