"""Trajectories in the Agent Trajectory Interchange Format, up to 1.7: a document of steps, or one on each line.

They tell of any agent. Its calls are read in its own vocabulary where that is known here by the agent's name; of
another agent they are kept as they are. What our own export keeps in the format's `extra`s (operations, outcomes,
streams, what else was said) is read from there. Steps that were copied from another trajectory are that one's: they
are told as the client's words, or noted, and their tokens are not counted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.logs.base.format import LogFormat, LogReader, Sample, decoded
from dragoman.logs.base.json_ranges import MessagesReader, pieces_of
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import (
    FinishReason,
    Media,
    NativeCall,
    NativeResult,
    Outcome,
    Usage,
    events as ev,
    operations as op,
    outcomes as out,
)
from dragoman.model.json_values import as_integer, as_list, as_number, as_object, as_objects, as_text
from dragoman.registry import DIALECTS, FORMATS

if TYPE_CHECKING:
    from dragoman.dialects import Dialect

CLIENT: Final = "atif"
_STEPS: Final = "steps"
_AGENTS: Final = "subagent_trajectories"
_ENDED_WELL: Final = re.compile(r"(?i)(?:code|status)\W{1,4}0\b")
_CUT: Final = re.compile(rb'\s*\{\s*"schema_version"\s*:\s*"ATIF-v')


class Atif(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = "plain"
    foreign_words = True
    captured = False
    lacks = (
        "results of calls have no error flag but the agent's own words, and an export may leave out times and tokens"
    )

    def recognise(self, sample: Sample) -> float:
        first = sample.document if isinstance(sample.document, dict) else next(iter(sample.records), None)
        if not isinstance(first, dict):
            return 0.9 if _CUT.match(sample.head) else 0.0
        version = as_text(first.get("schema_version")) or ""
        return 0.95 if version.startswith("ATIF") and isinstance(first.get(_STEPS), list) else 0.0

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


@cache
def _nobodys() -> Dialect:
    """The vocabulary of an unknown agent: it has no tools."""
    from dragoman.dialects import Dialect

    return Dialect("unknown", ())


@cache
def _spoken_by(agent: str) -> Dialect:
    """The vocabulary of an agent, found by its name as exporters write it: `claude-code`, `gemini-cli`."""
    name = re.sub(r"[^a-z0-9]+", "_", agent.lower())
    for one in (name, name.removesuffix("_cli")):
        if one in FORMATS and not FORMATS[one].foreign_words:
            name = FORMATS[one].dialect
            break
        if one in DIALECTS:
            name = one
            break
    dialect: Dialect = DIALECTS[name] if name in DIALECTS else _nobodys()
    return dialect


class _Reader(MessagesReader):
    listed = _STEPS

    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(_nobodys(), CLIENT, path.stem))
        self._stem = path.stem
        self._stream = "main"
        self._model: str | None = None
        self._agent: dict[str, Any] = {}
        self._spawned: dict[str, str | None] = {}
        """Trajectory → the call whose result names it."""
        self._was_counted = False

    def close(self) -> list[ev.AnyEvent]:
        data = self._gathered.take()
        if not data.strip():
            return []
        lines = [line for line in data.splitlines(keepends=True) if line.strip()]
        if len(lines) > 1 and all(_is_trajectory(line) for line in lines):
            events, begin = [], 0
            for line in data.splitlines(keepends=True):
                events += self.document(line, begin) if line.strip() else []
                begin += len(line)
            return events
        return self.document(data)

    def document(self, data: bytes, begin: int = 0) -> list[ev.AnyEvent]:
        """A trajectory and those of its agents, which stand in it."""
        events = super().document(data, begin)
        below = pieces_of(data, _AGENTS)
        if below is None:
            return events
        above = (self.session, self._stream, self._spawned)
        for start, end in below.elements:
            events += self.document(data[start:end], begin + start)
            self.session, self._stream, self._spawned = above
        return events

    def place(self, source: ev.Source, time: Any = None) -> Place:
        return Place(
            source=source,
            key=f"@{source.offset}",
            session=self.session,
            stream=self._stream,
            version=self.version,
            time=moment(time),
        )

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a step is a JSON object")
        elif "schema_version" in value and "step_id" not in value:
            yield from self._begin(value, source)
        else:
            yield from self._step(value, self.place(source, value.get("timestamp")))

    def end(self) -> Iterator[ev.AnyEvent]:
        """The totals, where no step has tokens of its own."""
        metrics = as_object(self._agent.get("final_metrics"))
        if self._was_counted or not any(as_integer(value) for value in metrics.values()):
            return
        place = self.place(ev.Source(self.path, self._begins, self._head))
        place.key = f"@{self._begins}.metrics"
        usage = _usage({key.removeprefix("total_"): value for key, value in metrics.items()})
        yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=self._model, cost=_cost(metrics))

    # ── what a trajectory is of ────────────────────────────────────────────

    def _begin(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        agent, extra = as_object(value.get("agent")), as_object(value.get("extra"))
        self._begins, self._head = source.offset, source.length
        self._agent, self._was_counted = value, False
        name, self.version = as_text(agent.get("name")) or "", as_text(agent.get("version"))
        self.version = None if self.version == "unknown" else self.version
        self._model = as_text(agent.get("model_name"))
        before, stream = self.session, as_text(extra.get("stream")) or "main"
        known = as_text(value.get("trajectory_id")) or as_text(value.get("session_id")) or self._stem
        self.session = as_text(value.get("session_id")) or self._stem
        is_below = before is not None and known in self._spawned
        if is_below and self.session == before and stream == "main":
            self.session = known
        above = before if is_below else as_text(as_object(agent.get("extra")).get("parent_session_id"))
        call = self._spawned.get(known) if is_below else None
        self._stream, self._spawned = stream, {}
        self.normaliser = Normaliser(_spoken_by(name), CLIENT, self._stem)
        yield self.normaliser.event(
            ev.SessionStarted,
            self.place(source),
            cwd=as_text(extra.get("cwd")),
            model=self._model,
            dialect=self.normaliser.at(None).name,
            parent_session=above,
            parent_call=call,
            metadata={key: value[key] for key in value if key not in (_AGENTS, "session_id", "final_metrics")},
        )

    # ── steps ──────────────────────────────────────────────────────────────

    def _step(self, step: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        who, event = step.get("source"), self.normaliser.event
        text, media = _content(step.get("message"))
        extra = as_object(step.get("extra"))
        copied = step.get("is_copied_context") is True
        if who == "agent" and copied:
            yield event(ev.ClientNoted, place, name="step/copied", data={"step_id": step.get("step_id")})
        elif who == "agent":
            yield from self._reply(step, text, media, place)
        elif who == "user":
            yield from self._asked(text, media, extra, place, copied=copied)
        elif who == "system":
            yield from self._system(text, extra, place)
        else:
            yield self.normaliser.unknown(place, f"step/{who}")
        if not copied:
            yield from self._observed(step, place)
        if not place.number:
            yield event(ev.ClientNoted, place, name=f"step/{who}/empty")

    def _asked(
        self, text: str, media: tuple[Media, ...], extra: dict[str, Any], place: Place, *, copied: bool
    ) -> Iterator[ev.AnyEvent]:
        command = as_text(extra.get("command"))
        if command is not None and text.startswith(command):
            arguments = text.removeprefix(command).strip() or None
            yield self.normaliser.event(ev.CommandInvoked, place, name=command, arguments=arguments)
            return
        by = extra.get("by") if extra.get("by") in ("client", "agent") else "user"
        yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by="client" if copied else by)

    def _system(self, text: str, extra: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        event = self.normaliser.event
        if "context_compacted" in extra:
            trigger = extra["context_compacted"]
            known = trigger if trigger in ("manual", "auto") else None
            yield event(ev.ContextCompacted, place, summary=text or None, trigger=known)
        elif extra.get("interrupted") is True:
            yield event(ev.Interrupted, place, text=text or None)
        elif "error" in extra:
            code = extra["error"]
            status = as_integer(code)
            named = None if status is not None or code == "error" else as_text(code)
            yield event(ev.ErrorOccurred, place, message=text, status=status, code=named)
        else:
            yield event(ev.SystemSaid, place, text=text)

    def _reply(self, step: dict[str, Any], text: str, media: tuple[Media, ...], place: Place) -> Iterator[ev.AnyEvent]:
        event, model = self.normaliser.event, as_text(step.get("model_name")) or self._model
        thought = as_text(step.get("reasoning_content"))
        if thought:
            yield event(ev.ModelThought, place, text=thought, model=model)
        if text or media:
            yield event(ev.ModelSaid, place, text=text, model=model, media=media)
        calls = as_objects(step.get("tool_calls"))
        for call in calls:
            yield self._called(call, place)
        metrics = as_object(step.get("metrics"))
        usage = _usage(metrics)
        if usage.total is not None:
            self._was_counted = True
            yield event(ev.TokensUsed, place, usage=usage, model=model, cost=_cost(metrics))
        elif calls:
            yield event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=model)

    def _called(self, call: dict[str, Any], place: Place) -> ev.AnyEvent:
        extra, given = as_object(call.get("extra")), call.get("arguments")
        arguments: Any = given if isinstance(given, dict | str) else {}
        if extra.get("freeform") is True and isinstance(arguments, dict):
            arguments = as_text(arguments.get("input")) or ""
        id = as_text(call.get("tool_call_id")) or f"{place.key}.{place.number}"
        called = self.normaliser.called(place, NativeCall(id, as_text(call.get("function_name")) or "", arguments))
        meant = _typed(extra.get("operations"), op.AnyOperation)
        if meant is None:
            return called
        known = msgspec.structs.replace(called.call, operations=meant, failure=None)
        self.normaliser.meant(known)
        return msgspec.structs.replace(called, call=known)

    def _observed(self, step: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        results = as_objects(as_object(step.get("observation")).get("results"))
        calls = [as_text(call.get("tool_call_id")) for call in as_objects(step.get("tool_calls"))]
        for result in results:
            id = as_text(result.get("source_call_id"))
            if id is None and len(calls) == len(results) == 1:
                id = calls[0]  # what was observed after the only call of a step
            for reference in as_objects(result.get("subagent_trajectory_ref")):
                for key in ("trajectory_id", "session_id"):
                    if isinstance(reference.get(key), str):
                        self._spawned.setdefault(reference[key], id)
            if "content" not in result:
                continue
            text, media = _content(result.get("content"))
            if id is None:
                yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by="client")
                continue
            extra = as_object(result.get("extra"))
            seconds = as_number(extra.get("duration_sec"))
            native = NativeResult(id, (text, *media) if media else text)
            returned = self.normaliser.returned(place, native, seconds)
            told = _typed(extra.get("outcomes"), out.AnyOutcome)
            outcomes = tuple(_doubted(one, text) for one in returned.result.outcomes) if told is None else told
            known = msgspec.structs.replace(returned.result, outcomes=outcomes)
            yield msgspec.structs.replace(returned, result=known)


# ── values ───────────────────────────────────────────────────────────────────


def _is_trajectory(line: bytes) -> bool:
    value = decoded(line)
    return isinstance(value, dict) and isinstance(value.get(_STEPS), list)


def _doubted(outcome: Outcome, text: str) -> Outcome:
    """A result has no error flag here, by which some agents alone tell that a command ended well."""
    if isinstance(outcome, out.CommandOutcome) and outcome.exit_code == 0 and not _ENDED_WELL.search(text):
        return msgspec.structs.replace(outcome, exit_code=None)
    return outcome


def _typed(value: Any, kind: Any) -> tuple[Any, ...] | None:
    """Our own values as our export wrote them; anything else is left out."""
    if not isinstance(value, list) or not value:
        return None
    try:
        return msgspec.convert(tuple(value), tuple[kind, ...])
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return None


def _content(content: Any) -> tuple[str, tuple[Media, ...]]:
    """The words and the pictures of a message."""
    if isinstance(content, str):
        return content, ()
    texts, media = [], []
    for part in as_objects(content):
        source = as_object(part.get("source"))
        kind, path = as_text(source.get("media_type")), as_text(source.get("path"))
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind is not None:
            is_address = path is not None and "://" in path
            media.append(Media(kind, url=path if is_address else None, path=None if is_address else path))
    return "\n".join(texts), tuple(media)


def _usage(metrics: dict[str, Any]) -> Usage:
    """The prompt counts what was read from the cache and, where that is said, what was written to it."""
    extra = as_object(metrics.get("extra"))
    prompt, cached = as_integer(metrics.get("prompt_tokens")), as_integer(metrics.get("cached_tokens"))
    written = as_integer(extra.get("cache_creation_input_tokens"))
    fresh = None if prompt is None else prompt - (cached or 0) - (written or 0)
    return Usage(
        input_tokens=prompt if fresh is None or fresh < 0 else fresh,
        cached_read_tokens=cached,
        cached_write_tokens=written,
        output_tokens=as_integer(metrics.get("completion_tokens")),
        reasoning_tokens=as_integer(extra.get("reasoning_tokens")),
        doubtful=tuple([one for one in as_list(extra.get("doubtful")) if one in Usage.__struct_fields__]),
    )


def _cost(metrics: dict[str, Any]) -> float | None:
    return as_number(metrics.get("cost_usd", metrics.get("total_cost_usd")))


FORMAT = Atif()
