"""Mistral Vibe's sessions (3.0.2): a folder per session with checkpoints, chunks they share, and a journal.

The conversation is in the chunks of the checkpoint that `CURRENT` names. The journal has what code called
(`typescript:…` ids) and the tokens of each reply, but segments that a checkpoint covers are dropped: then the tokens of
the session are its own sum, or the journal's where that is larger (the sum of 3.0.2 leaves replies out), and calls of
code are missing. Times stand in the projection alone. Agents are sessions of their own, which name their parent. The
sums that protect the files are not checked. The program's version is not in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LogFormat, LogReader, Places, Sample, WholeFileReader, decoded
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text

CLIENT: Final = "mistral_vibe"
STORE: Final = "mistral.vibe.unified-session-store/"
_NESTED: Final = re.compile(r"typescript:\d+:(.+):\d+:tool:\d+")
_NOTIFICATION: Final = "Runtime notification:"


class MistralVibe(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        document = sample.document
        if isinstance(document, list):
            return 0.9 if document and all(_is_row(row) for row in document[:5]) else 0.0
        if isinstance(document, dict):
            if str(document.get("store_format")).startswith(STORE):
                return 0.95
            manifest = {"checkpoint", "recovery_journal_segment", "session_id"} <= document.keys()
            return (
                0.9 if manifest or "projection_state_version" in document or "checkpoint_version" in document else 0.0
            )
        first = sample.records[0] if sample.records else None
        chained = {"record_sha256", "previous_record_sha256", "sequence", "payload"}
        return 0.9 if isinstance(first, dict) and chained <= first.keys() else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("VIBE_HOME")
        for root in ([Path(configured)] if configured else []) + [places.home / ".vibe"]:
            yield root / "logs" / "session" / "unified"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "*/CURRENT")

    def whole(self, path: Path) -> Path:
        """Every file of a session is read with the one that names its current checkpoint."""
        above = (parent / "CURRENT" for parent in list(path.absolute().parents)[:3])
        return next((current for current in above if current.is_file()), path)

    members = (
        (r"(.*)/(?:generations/[^/]+|chunks|journal)/[^/]+\.jsonl?", r"\1/CURRENT"),
        (r"(.*)/meta\.json", r"\1/CURRENT"),
    )

    def related(self, path: Path) -> Iterator[Path]:
        """What the session said that spawned this one."""
        generation = _read(path).get("generation")
        if path.name != "CURRENT" or not isinstance(generation, str):
            return
        projection = _read(path.parent / "generations" / Path(generation).name / "projection-state.json")
        above = as_text(as_object(as_object(projection.get("snapshot")).get("session")).get("parentSessionId"))
        if above is not None:
            folder = path.parent.parent / Path(above).name
            yield from (folder / name for name in ("CURRENT", "generations/*/manifest.json", "chunks/*.json"))

    def companions(self, path: Path) -> Iterator[Path]:
        if path.name == "CURRENT":
            read = (f"generations/*/{name}.json" for name in ("manifest", "checkpoint", "projection-state"))
            yield from files_in(path.parent, *read, "journal/*.jsonl", "meta.json")
            generation = Path(as_text(_read(path).get("generation")) or "none").name
            manifest = _read(path.parent / "generations" / generation / "manifest.json")
            for part in ("checkpoint", "projection_state"):  # of the second the times are
                yield from (path.parent / "chunks" / f"{Path(name).name}.json" for name in _chunks(manifest, part))

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and {"message", "source", "turn_index"} <= row.keys()


class _Reader(WholeFileReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.normaliser = Normaliser(CLIENT, CLIENT, path.stem)
        self._session = path.absolute().parent.name
        self._source = ev.Source(str(path), 0, 0)
        self._model: str | None = None
        self._times: dict[str, Any] = {}
        self._nested: dict[str, list[dict[str, Any]]] = {}
        """Call of code → the calls it made."""
        self._results: dict[str, dict[str, Any]] = {}
        """Action → its result."""
        self._actions: dict[str, str] = {}
        """Call → its entry in the projection."""
        self._usages: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self._from_start = False

    def whole(self, data: bytes) -> Iterator[ev.AnyEvent]:
        if not data.strip():
            return
        self._source = ev.Source(str(self._path), 0, len(data))
        current = decoded(data)
        if isinstance(current, list) and any(_is_row(row) for row in current):  # a chunk without its session
            self._session = self._path.stem
            for number, row in enumerate(current, 1):
                yield from self._message(as_object(row), Place(self._source, f"m{number}", self._session), [])
            return
        if not isinstance(current, dict) or not isinstance(current.get("generation"), str):
            yield self.normaliser.unreadable(self._source, "it does not name the generation of a session")
            return
        self._session = as_text(current.get("session_id")) or self._session
        folder = self._path.absolute().parent
        generation = folder / "generations" / Path(current["generation"]).name
        manifest = _read(generation / "manifest.json")
        projection = _read(generation / "projection-state.json")
        self._read_journal(folder)
        self._read_times(folder, manifest)
        yield self._started(folder, as_object(as_object(projection.get("snapshot")).get("session")))
        number = 0
        replies: list[Place] = []
        for name in _chunks(manifest, "checkpoint"):
            path = folder / "chunks" / f"{Path(name).name}.json"
            messages, source = _list(path)
            if source is None:
                place = Place(ev.Source(str(path), 0, 0), f"chunk/{name}", self._session)
                yield self.normaliser.event(ev.Unreadable, place, reason="the chunk is missing or is no JSON list")
                continue
            for message in messages:
                number += 1
                yield from self._message(as_object(message), Place(source, f"m{number}", self._session), replies)
        yield from self._tokens(replies, as_object(as_object(projection.get("snapshot")).get("session")))
        for index, error in enumerate(self._errors):
            place = Place(self._source, f"error{index}", self._session)
            message = as_text(error.get("message")) or as_text(error.get("code")) or "a request failed"
            status = as_integer(as_object(error.get("details")).get("httpStatus")) or as_integer(
                error.get("httpStatus")
            )
            yield self.normaliser.event(
                ev.ErrorOccurred, place, message=message, code=as_text(error.get("code")), status=status
            )

    # ── what stands around the conversation ────────────────────────────────

    def _read_journal(self, folder: Path) -> None:
        for number, path in enumerate(files_in(folder / "journal", "*.jsonl")):
            try:
                rows = read_beside(path).splitlines()
            except OSError:
                continue
            for row in rows:
                record = as_object(decoded(row))
                payload = as_object(record.get("payload"))
                self._from_start = self._from_start or (number == 0 and record.get("sequence") == 1)
                if record.get("type") == "action_intent":
                    request = as_object(payload.get("request"))
                    self._actions[str(request.get("call_id"))] = f"effect-{payload.get('action_id')}"
                    found = _NESTED.fullmatch(as_text(request.get("call_id")) or "")
                    if found is not None:
                        self._nested.setdefault(found[1], []).append(request)
                elif record.get("type") == "action_result":
                    self._resulted(payload)

    def _resulted(self, payload: dict[str, Any]) -> None:
        outer = as_object(payload.get("result"))
        inner = as_object(outer.get("result"))
        if isinstance(inner.get("usage"), dict):
            self._usages.append(inner["usage"])
        if isinstance(outer.get("call_id"), str):
            self._results[outer["call_id"]] = inner
        error = as_object(outer.get("error")) or as_object(inner.get("error"))
        if error and outer.get("type") in ("completion_failed", "llm_failed", "model_stream_failed"):
            self._errors.append(error)

    def _read_times(self, folder: Path, manifest: dict[str, Any]) -> None:
        for name in _chunks(manifest, "projection_state"):
            for entry in as_objects(_list(folder / "chunks" / f"{Path(name).name}.json")[0]):
                key = (
                    entry.get("id")
                    if entry.get("type") == "effect"
                    else f"{entry.get('role')}:{_text(entry.get('content'))}"
                )
                self._times.setdefault(str(key), entry.get("createdAt"))

    def _time_of(self, *keys: str) -> Any:
        for key in keys:
            if key in self._times:
                return self._times[key]
            found = next((time for name, time in self._times.items() if name.endswith(key)), None)
            if found is not None and len(key) > 8:
                return found
        return None

    def _started(self, folder: Path, session: dict[str, Any]) -> ev.AnyEvent:
        meta = _read(folder / "meta.json")
        self._model = as_text(as_object(meta.get("config")).get("model_name"))
        place = Place(self._source, "session", self._session, time=moment(session.get("createdAt")))
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(as_object(meta.get("environment")).get("working_directory")),
            branch=as_text(meta.get("git_branch")),
            model=self._model,
            dialect=CLIENT,
            parent_session=as_text(session.get("parentSessionId")),
            parent_call=self._parent_call(folder, as_text(session.get("parentSessionId"))),
            metadata={key: meta[key] for key in ("title", "git_commit") if meta.get(key) is not None},
        )

    def _parent_call(self, folder: Path, parent: str | None) -> str | None:
        """The call of the parent whose code holds this agent's task: no record names it."""
        if parent is None:
            return None
        task = next(
            (_text(message.get("content")) for message in _messages(folder) if message.get("role") == "user"), ""
        )
        for message in _messages(folder.parent / Path(parent).name):
            for block in as_objects(message.get("content")):
                said = as_object(as_object(block.get("arguments")).get("value"))
                code = as_text(said.get("code")) or ""
                if task and "agents." in code and task in code:
                    return as_text(block.get("id"))
        return None

    # ── the conversation ───────────────────────────────────────────────────

    def _message(self, row: dict[str, Any], place: Place, replies: list[Place]) -> Iterator[ev.AnyEvent]:
        message, event = as_object(row.get("message")), self.normaliser.event
        role, blocks = as_text(message.get("role")), as_objects(message.get("content"))
        text = _text(blocks)
        place.time = moment(self._time_of(f"{role}:{text}"))
        if role == "user":
            by = "client" if row.get("source") == "injection" or text.startswith(_NOTIFICATION) else "user"
            by = "agent" if by == "user" and self._session.startswith("child-") else by
            yield event(ev.UserSaid, place, text=text, media=tuple(_media(blocks)), by=by)
        elif role == "assistant":
            for block in blocks:
                yield from self._block(block, place)
            replies.append(Place(place.source, f"{place.key}/tokens", self._session, time=place.time))
        elif role == "tool":
            yield self._returned(message, place)
        elif role == "system":
            yield event(ev.SystemSaid, place, text=text)
        else:
            yield self.normaliser.unknown(place, f"message/{role}")
        if place.number == 0:
            yield event(ev.ClientNoted, place, name=f"message/{role}/empty")

    def _block(self, block: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind = block.get("type")
        if kind == "text":
            yield self.normaliser.event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=self._model)
        elif kind == "reasoning":
            text = _text(block.get("content"))
            yield self.normaliser.event(ev.ModelThought, place, text=text, model=self._model, hidden=not text)
        elif kind == "tool_call" and isinstance(block.get("name"), str):
            id, given = as_text(block.get("id")) or place.key, as_object(block.get("arguments"))
            value, raw = given.get("value"), as_text(given.get("raw"))
            arguments = value if isinstance(value, dict) else raw if raw is not None else {}
            place.time = place.time or moment(self._time_of(self._actions.get(id, id)))
            yield self.normaliser.called(place, NativeCall(id, block["name"], arguments))
            yield from self._called_by_code(id, place)
        else:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _called_by_code(self, outer: str, place: Place) -> Iterator[ev.AnyEvent]:
        """The calls that a program made, each with its result, as far as the journal still has them."""
        for request in self._nested.get(outer, ()):
            call, id = as_object(request.get("call")), str(request["call_id"])
            group, tool = as_text(call.get("group_name")), as_text(call.get("tool_name"))
            name = as_text(call.get("name")) or f"{group}.{tool}"
            arguments = as_object(call.get("arguments"))
            yield self.normaliser.called(place, NativeCall(id, name, arguments), by="program")
            result = self._results.get(id)
            if result is not None:
                yield self.normaliser.returned(place, _nested_result(id, result))

    def _returned(self, message: dict[str, Any], place: Place) -> ev.AnyEvent:
        pieces = [block["text"] for block in as_objects(message.get("content")) if isinstance(block.get("text"), str)]
        media = list(_media(as_objects(message.get("content"))))
        content: str | tuple[str | Media, ...] = (*pieces, *media)
        if len(pieces) == 1 and not media:
            content = pieces[0]
        id = as_text(message.get("tool_call_id")) or ""
        place.time = place.time or moment(self._time_of(self._actions.get(id, id)))
        native = NativeResult(
            id, content, is_error=message.get("outcome") == "failure", name=as_text(message.get("name"))
        )
        return self.normaliser.returned(place, native)

    def _tokens(self, replies: list[Place], session: dict[str, Any]) -> Iterator[ev.AnyEvent]:
        if self._from_start and len(self._usages) == len(replies):
            for place, usage in zip(replies, self._usages, strict=True):
                yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=self._model)
            return
        known = session.get("tokenUsage")
        total = Usage() if not isinstance(known, dict) else _usage(known)
        journal = Usage()
        for usage in self._usages:
            journal = journal + _usage(usage)
        most = max(total, journal, key=lambda usage: usage.total or 0)
        if most.total:
            place = Place(self._source, "tokens", self._session, time=moment(session.get("updatedAt")))
            yield self.normaliser.event(ev.TokensUsed, place, usage=most, model=self._model)


# ── files and values ─────────────────────────────────────────────────────────


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        return as_object(decoded(read_beside(path)))
    except OSError:
        return {}


def _list(path: Path) -> tuple[list[Any], ev.Source | None]:
    try:
        data = read_beside(path)
    except OSError:
        return [], None
    value = decoded(data)
    return (value, ev.Source(str(path), 0, len(data))) if isinstance(value, list) else ([], None)


def _chunks(manifest: dict[str, Any], part: str) -> list[str]:
    chunks = as_object(manifest.get(part)).get("chunks")
    return [chunk for chunk in chunks if isinstance(chunk, str)] if isinstance(chunks, list) else []


def _messages(folder: Path) -> Iterator[dict[str, Any]]:
    """The messages of a session's current checkpoint."""
    generation = as_text(_read(folder / "CURRENT").get("generation"))
    if generation is not None:
        manifest = _read(folder / "generations" / Path(generation).name / "manifest.json")
        for name in _chunks(manifest, "checkpoint"):
            for row in as_objects(_list(folder / "chunks" / f"{Path(name).name}.json")[0]):
                yield as_object(row.get("message"))


def _nested_result(id: str, result: dict[str, Any]) -> NativeResult:
    failed, kept = result.get("type") == "failure", result.get("structured_content")
    text = _text(result.get("content"))
    if failed:
        text = as_text(as_object(result.get("error")).get("message")) or text
    elif not text and kept is not None:
        text = json_text(kept)
    return NativeResult(id, text, is_error=failed, item={"structured_content": kept})


def _usage(usage: dict[str, Any]) -> Usage:
    """The client counts what was cached as part of the input."""
    names = (
        ("input_tokens", "inputTokens"),
        ("cached_input_tokens", "cachedInputTokens"),
        ("output_tokens", "outputTokens"),
    )
    given, cached, output = (
        next((number for name in pair if (number := as_integer(usage.get(name))) is not None), None) for pair in names
    )
    fresh = None if given is None else max(0, given - (cached or 0))
    return Usage(input_tokens=fresh, cached_read_tokens=cached, output_tokens=output)


def _text(blocks: Any) -> str:
    return "\n".join(block["text"] for block in as_objects(blocks) if isinstance(block.get("text"), str))


def _media(blocks: list[dict[str, Any]]) -> Iterator[Media]:
    for block in blocks:
        data, kind = as_text(block.get("data")), as_text(block.get("mimeType"))
        if data is not None and kind is not None:
            yield Media(kind, data=data)


FORMAT = MistralVibe()
