"""Logs of Inspect: `<time>_<task>_<id>.eval`, an archive, or the same as one JSON document; each sample is a session.

From public source and logs of 0.3.41 to 0.3.95. Messages of a sample are read for what was said and called, its events
for tokens and their times. A long text stands among the attachments. What is no standard tool was written for the
evaluation: it is a function of that run.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import Gathered, LogFormat, LogReader, Sample, decoded
from dragoman.logs.base.json_ranges import MessagesReader, pieces_of
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.logs.formats.parts.chat_messages import pictures_of, text_of
from dragoman.model import FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text
from dragoman.registry import DIALECTS

CLIENT: Final = "inspect_ai"
_ZIP: Final = b"PK\x03\x04"
_HEADERS: Final = ("header.json", "_journal/start.json")
_SAMPLES: Final = "samples/"
_ATTACHED: Final = "attachment://"
_BAD: Final = (
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError),
    *(ValueError, KeyError, OSError, OverflowError),
)
"""What a damaged archive, or one that is compressed in another way, may raise."""


class InspectAi(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    endings = (".eval", ".json")
    captured = False
    lacks = "messages have no times, and agents within a sample are not sessions of their own"

    def recognise(self, sample: Sample) -> float:
        if sample.head.startswith(_ZIP):
            return 0.95 if any(name in _HEADERS for name in _names(sample.path)) else 0.0
        log = sample.document
        if not isinstance(log, dict) or not {"version", "eval", "status"} <= log.keys():
            return 0.0
        return 0.95 if isinstance(as_object(log.get("eval")).get("task"), str) else 0.0

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser(CLIENT, CLIENT, path.stem))


def _names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except _BAD:
        return []


class _Reader(MessagesReader):
    listed = "samples"

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._run: dict[str, Any] = {}
        self._stem = path.stem

    # ── the file ───────────────────────────────────────────────────────────

    def document(self, data: bytes, begin: int = 0) -> list[ev.AnyEvent]:
        if data.startswith(_ZIP):
            return list(self._archive(data))
        log = None if pieces_of(data, self.listed) else decoded(data)
        if isinstance(log, dict) and "eval" in log:
            return list(self._begin(log, ev.Source(self.path, begin, len(data))))
        return super().document(data, begin)

    def _archive(self, data: bytes) -> Iterator[ev.AnyEvent]:
        whole = ev.Source(self.path, 0, len(data))
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except _BAD as error:
            yield self.normaliser.unreadable(whole, f"the archive cannot be read: {error}")
            return
        with archive:
            members = archive.infolist()
            header = next((one for name in _HEADERS for one in members if one.filename == name), None)
            for member in [*([header] if header else []), *(one for one in members if one is not header)]:
                begin = min(max(member.header_offset, 0), len(data))
                source = ev.Source(self.path, begin, min(max(member.compress_size, 0), len(data) - begin))
                if member is not header and not member.filename.startswith(_SAMPLES):
                    yield self.normaliser.event(ev.ClientNoted, self._at(source, member.filename), name="member")
                    continue
                try:
                    if member.file_size > Gathered.largest:
                        raise ValueError(f"it has more than {Gathered.largest >> 20} MiB")
                    with archive.open(member) as file:
                        value = decoded(file.read(Gathered.largest))
                except _BAD as error:
                    yield self.normaliser.unreadable(source, f"{member.filename} cannot be read: {error}")
                    continue
                if member is header:
                    yield from self._begin(as_object(value), source)
                else:
                    yield from self.record(value, source)

    def _at(self, source: ev.Source, key: str) -> Place:
        place = self.place(source)
        place.key = key
        return place

    # ── samples ────────────────────────────────────────────────────────────

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a sample is a JSON object")
        elif "eval" in value:
            yield from self._begin(value, source)
        elif "messages" in value:
            yield from self._sample(value, source)
        else:
            yield self.normaliser.unknown(self.place(source), "sample")

    def _begin(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        """What the log is of: the evaluation itself says and calls nothing."""
        self._run = as_object(value.get("eval"))
        self.version = as_text(as_object(self._run.get("packages")).get("inspect_ai"))
        self.session = None
        data = {key: value[key] for key in value if key != "samples"}
        yield self.normaliser.event(ev.ClientNoted, self._at(source, "eval"), name="eval", data=data)

    def _sample(self, sample: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        run = as_text(self._run.get("eval_id")) or as_text(self._run.get("run_id")) or self._stem
        self.session = f"{run}/{sample.get('id')}/{sample.get('epoch', 1)}"
        self.normaliser.forget_all()
        model = as_text(self._run.get("model"))
        begun = as_text(sample.get("started_at")) or as_text(self._run.get("created"))
        place = self.place(source)
        place.time = moment(begun)
        kept = ("id", "epoch", "target", "scores", "metadata", "error", "limit", "uuid")
        metadata = {"task": self._run.get("task"), **{key: sample[key] for key in kept if key in sample}}
        yield self.normaliser.event(ev.SessionStarted, place, model=model, metadata=metadata)
        place.time = None
        messages = as_objects(sample.get("messages"))
        self._learn(messages)
        replies = [one for one in messages if one.get("role") == "assistant"]
        counted = [one for one in as_objects(sample.get("events")) if one.get("event") == "model"]
        used = _matched(replies, counted)
        attached = as_object(sample.get("attachments"))
        for message in messages:
            yield from self._message(message, attached, place)
            if message.get("role") == "assistant":
                yield from self._used(used.pop(id(message), None), message, place)
        for event in used.values():
            yield from self._used(event, {}, place)
        if not counted:
            for name, usage in as_object(sample.get("model_usage")).items():
                yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(as_object(usage)), model=name)
        error = as_object(sample.get("error"))
        if error:
            yield self.normaliser.event(ev.ErrorOccurred, place, message=as_text(error.get("message")) or "")

    def _learn(self, messages: list[dict[str, Any]]) -> None:
        """Tools of the evaluation's own are functions of this run."""
        dialect = DIALECTS[CLIENT]
        named = {as_text(call.get("function")) for one in messages for call in as_objects(one.get("tool_calls"))}
        own = {name for name in named if name is not None and not dialect.knows(name)}
        if own:
            self.normaliser.knowing(functions=own)

    def _message(self, message: dict[str, Any], attached: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, event = message.get("role"), self.normaliser.event
        content = _with(attached, message.get("content"))
        text, media = text_of(content), pictures_of(content)
        if role == "system":
            yield event(ev.SystemSaid, place, text=text)
        elif role == "user":
            by = "client" if message.get("source") not in (None, "input") else "user"
            yield event(ev.UserSaid, place, text=text, media=media, by=by)
        elif role == "assistant":
            model = as_text(message.get("model"))
            for part in as_objects(content):
                if part.get("type") == "reasoning":
                    thought = as_text(part.get("reasoning")) or ""
                    hidden = part.get("redacted") is True or not thought
                    shown = "" if part.get("redacted") is True else thought
                    yield event(ev.ModelThought, place, text=shown, model=model, hidden=hidden)
            if text or media:
                yield event(ev.ModelSaid, place, text=text, model=model, media=media)
            for call in as_objects(message.get("tool_calls")):
                given = call.get("arguments")
                arguments = given if isinstance(given, dict | str) else {}
                id = as_text(call.get("id")) or f"{place.key}.{place.number}"
                yield self.normaliser.called(place, NativeCall(id, as_text(call.get("function")) or "", arguments))
        elif role == "tool":
            error = as_object(message.get("error"))
            told = as_text(error.get("message")) or text
            native = NativeResult(
                as_text(message.get("tool_call_id")) or "",
                told if error else (text, *media) if media else text,
                is_error=bool(error),
                name=as_text(message.get("function")),
            )
            yield self.normaliser.returned(place, native)
        else:
            yield self.normaliser.unknown(place, f"message/{role}")

    def _used(self, event: dict[str, Any] | None, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        output = as_object((event or {}).get("output"))
        usage = as_object(output.get("usage"))
        if usage:
            assert event is not None
            place.time = moment(event.get("timestamp"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=as_text(output.get("model")))
            place.time = None
        elif message.get("tool_calls"):
            yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)


# ── values ───────────────────────────────────────────────────────────────────


def _matched(replies: list[dict[str, Any]], counted: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The request that gave each reply, by the message's id or, where none has one, by their order."""
    found: dict[int, dict[str, Any]] = {}
    ids = {one["id"]: id(one) for one in replies if isinstance(one.get("id"), str)}
    for number, event in enumerate(counted):
        choices = as_objects(as_object(event.get("output")).get("choices"))
        made = as_text(as_object(choices[0].get("message")).get("id")) if choices else None
        key = ids.get(made) if made is not None else None
        if key is None and not ids and len(counted) == len(replies):
            key = id(replies[number])
        found[key if key is not None and key not in found else -number - 1] = event
    return found


def _with(attached: dict[str, Any], content: Any) -> Any:
    """A content whose long texts stand elsewhere, with these texts."""
    if isinstance(content, str) and content.startswith(_ATTACHED):
        return as_text(attached.get(content.removeprefix(_ATTACHED))) or content
    if isinstance(content, list):
        return [
            {key: _with(attached, one) for key, one in part.items()} if isinstance(part, dict) else part
            for part in content
        ]
    return content


def _usage(usage: dict[str, Any]) -> Usage:
    """Providers count what was cached within the input or beside it: the total says which."""
    given, made = as_integer(usage.get("input_tokens")), as_integer(usage.get("output_tokens"))
    read = as_integer(usage.get("input_tokens_cache_read"))
    written = as_integer(usage.get("input_tokens_cache_write"))
    total = as_integer(usage.get("total_tokens"))
    if given is not None and total is not None and (read or written) and given + (made or 0) == total:
        given = max(0, given - (read or 0) - (written or 0))
    return Usage(
        input_tokens=given,
        cached_read_tokens=read,
        cached_write_tokens=written,
        output_tokens=made,
        reasoning_tokens=as_integer(usage.get("reasoning_tokens")),
    )


FORMAT = InspectAi()
