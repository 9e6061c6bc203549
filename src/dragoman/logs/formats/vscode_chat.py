"""Sessions of VS Code's chat with Copilot: `chatSessions/<session>.json`, or `.jsonl`, which tells how it changed.

From public source and a session of November 2025. A request has what the user asked and what was shown; what the model
said and called, and what came back, is in `result.metadata` (`toolCallRounds`, `toolCallResults`). A request without
these was not answered by the agent: then the words that were shown are read, and a call that is only shown is noted. In
lines, the first is the whole session, and each other sets, adds or removes a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from dragoman.logs.base.format import LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.json_ranges import MessagesReader
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.logs.formats.parts.chat_messages import arguments_of
from dragoman.model import FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_integer, as_list, as_object, as_objects, as_text

CLIENT: Final = "vscode_chat"
_LISTED: Final = "requests"
_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_SERVERS: Final = (".vscode-server", ".vscode-server-insiders", ".vscode-remote")
_WHOLE, _SET, _ADD, _REMOVE = range(4)
_IN_LINES: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"kind"\s*:\s*0\b')
_PIECE: Final = 2
"""The type of a node of a rendered result that is text; the others hold nodes."""
_DEEPEST: Final = 200


class VscodeChat(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = "copilot"
    captured = False
    lacks = "replies have no times of their own, and most versions count no tokens"

    def recognise(self, sample: Sample) -> float:
        session = sample.document
        if isinstance(session, dict) and session.get("kind") == _WHOLE:
            session = session.get("v")
        if not isinstance(session, dict):
            first = sample.records[0] if sample.records else None
            session = first.get("v") if isinstance(first, dict) and first.get("kind") == _WHOLE else None
        if not isinstance(session, dict) or not isinstance(session.get(_LISTED), list):
            return 0.0
        own = {"sessionId", "requesterUsername", "responderUsername", "creationDate", "initialLocation"}
        return 0.95 if len(own & session.keys()) >= 2 else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        settings = {
            "darwin": places.home / "Library" / "Application Support",
            "win32": Path(places.environment.get("APPDATA") or places.home / "AppData" / "Roaming"),
        }.get(places.system, Path(places.environment.get("XDG_CONFIG_HOME") or places.home / ".config"))
        users = [settings / editor / "User" for editor in _EDITORS]
        users += [places.home / server / "data" / "User" for server in _SERVERS]
        for user in users:
            yield user / "workspaceStorage"
            yield user / "globalStorage"

    def files(self, home: Path) -> Iterator[Path]:
        folders = ("*/chatSessions", "emptyWindowChatSessions")
        yield from files_in(home, *(f"{one}/*{end}" for one in folders for end in (".json", ".jsonl")))

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser("copilot", CLIENT, path.stem))


class _Reader(MessagesReader):
    listed = _LISTED

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._state: Any = None
        """The session as the lines so far have made it."""
        self._lines: dict[int, ev.Source] = {}
        """Request → the line that changed it last."""

    def document(self, data: bytes, begin: int = 0) -> list[ev.AnyEvent]:
        if not _IN_LINES.match(data):
            return super().document(data, begin)
        events: list[ev.AnyEvent] = []
        for line in data.splitlines(keepends=True):
            source = ev.Source(self.path, begin, len(line))
            begin += len(line)
            self._read(line.removesuffix(b"\n"), source, events)
        requests = as_list(as_object(self._state).get(_LISTED))
        for number, request in enumerate(requests):
            place = self.place(self._lines[number])
            place.key = f"request.{number}"
            events += self._request(as_object(request), place)
        return events

    # ── how a session changed ──────────────────────────────────────────────

    def _change(self, change: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        if change["kind"] == _WHOLE:
            self._state, self._lines = as_object(change.get("v")), {}
            yield self._started({key: self._state[key] for key in self._state if key != _LISTED}, source)
        elif _changed(self._state, change):
            yield self.normaliser.event(ev.ClientNoted, self.place(source), name="change")
        else:
            yield self.normaliser.unreadable(source, "a change of a part that is not there")
            return
        keys = as_list(change.get("k"))
        touched = keys[1] if len(keys) > 1 and keys[0] == _LISTED else None
        for number, _ in enumerate(as_list(self._state.get(_LISTED))):
            if number not in self._lines or number == touched:
                self._lines[number] = source

    # ── a session ──────────────────────────────────────────────────────────

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a request is a JSON object")
        elif isinstance(value.get("kind"), int):
            yield from self._change(value, source)
        elif "requestId" in value or "message" in value:
            yield from self._request(value, self.place(source))
        else:
            yield self._started(value, source)

    def _started(self, value: dict[str, Any], source: ev.Source) -> ev.AnyEvent:
        self.session = as_text(value.get("sessionId")) or Path(self.path).stem
        kept = ("sessionId", "creationDate", "requesterAvatarIconUri", "responderAvatarIconUri", "inputState")
        metadata = {key: value[key] for key in value if key not in kept}
        place = self.place(source, value.get("creationDate"))
        return self.normaliser.event(ev.SessionStarted, place, cwd=_folder_beside(Path(self.path)), metadata=metadata)

    def _request(self, request: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        event, result = self.normaliser.event, as_object(request.get("result"))
        place.time = self.place(place.source, request.get("timestamp")).time
        asked = request.get("message")
        text = asked if isinstance(asked, str) else as_text(as_object(asked).get("text")) or ""
        yield event(ev.UserSaid, place, text=text)
        place.time = None  # when the model answered is not said
        model = as_text(request.get("modelId"))
        metadata = as_object(result.get("metadata"))
        rounds = as_objects(metadata.get("toolCallRounds"))
        results = as_object(metadata.get("toolCallResults"))
        for one in rounds:
            yield from self._round(one, results, model, place)
        yield from self._shown(as_objects(request.get("response")), model, place, is_told=bool(rounds))
        yield from self._tokens(as_object(result.get("usage")) or metadata, model, place)
        error = as_object(result.get("errorDetails"))
        if error:
            yield event(ev.ErrorOccurred, place, message=as_text(error.get("message")) or "")
        if request.get("isCanceled") is True:
            yield event(ev.Interrupted, place)

    def _round(
        self, told: dict[str, Any], results: dict[str, Any], model: str | None, place: Place
    ) -> Iterator[ev.AnyEvent]:
        thought = as_object(told.get("thinking")).get("text")
        words = "\n".join(map(str, thought)) if isinstance(thought, list) else as_text(thought)
        if words:
            yield self.normaliser.event(ev.ModelThought, place, text=words, model=model)
        text = as_text(told.get("response"))
        if text:
            yield self.normaliser.event(ev.ModelSaid, place, text=text, model=model)
        made = enumerate(as_objects(told.get("toolCalls")))
        calls = [(as_text(call.get("id")) or f"{place.key}.{place.number}.{number}", call) for number, call in made]
        for id, call in calls:
            native = NativeCall(id, as_text(call.get("name")) or "", arguments_of(call.get("arguments")))
            yield self.normaliser.called(place, native)
        yield self.normaliser.event(
            ev.ModelFinished, place, finish=FinishReason.CALLS if calls else FinishReason.STOP, model=model
        )
        for id, _ in calls:
            if id in results:
                yield self.normaliser.returned(place, NativeResult(id, _rendered(results[id])))

    def _shown(
        self, parts: list[dict[str, Any]], model: str | None, place: Place, *, is_told: bool
    ) -> Iterator[ev.AnyEvent]:
        """What the user saw: the same work, where the rounds tell it."""
        words = [part["value"] for part in parts if "kind" not in part and isinstance(part.get("value"), str)]
        if not is_told and words:
            yield self.normaliser.event(ev.ModelSaid, place, text="".join(words), model=model)
        for part in parts:
            if part.get("kind") == "toolInvocationSerialized" and not is_told:
                data = {key: part[key] for key in ("toolId", "toolCallId", "isComplete") if key in part}
                yield self.normaliser.event(ev.ClientNoted, place, name="toolInvocationSerialized", data=data)

    def _tokens(self, counted: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        given = as_integer(counted.get("promptTokens"))
        made = as_integer(counted.get("completionTokens", counted.get("outputTokens")))
        if given is not None or made is not None:
            usage = Usage(input_tokens=given, output_tokens=made)
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)


# ── values ───────────────────────────────────────────────────────────────────


def _changed(session: Any, change: dict[str, Any]) -> bool:
    """Applies a change; `False` where what it changes is not there."""
    keys, kind = as_list(change.get("k")), change.get("kind")
    at = session
    for key in keys[:-1]:
        at = _member(at, key)
    if not keys or at is None:
        return False
    last, value = keys[-1], change.get("v")
    if kind == _ADD:
        held = _member(at, last)
        if held is None and isinstance(at, dict):
            held = at[last] = []
        if not isinstance(held, list):
            return False
        if isinstance(change.get("i"), int):
            del held[change["i"] :]
        held.extend(as_list(value))
        return True
    if kind not in (_SET, _REMOVE):
        return False
    if isinstance(at, dict) and isinstance(last, str):
        if kind == _SET:
            at[last] = value
        else:
            at.pop(last, None)
        return True
    if isinstance(at, list) and isinstance(last, int) and 0 <= last <= len(at):
        at[last : last + 1] = [value] if kind == _SET else []
        return True
    return False


def _member(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return None


def _rendered(result: Any) -> str:
    """The text of a result, which is kept as pieces, or as the tree that rendered it."""
    texts = []
    for part in as_objects(as_object(result).get("content")):
        value = part.get("value")
        node = as_object(value).get("node")
        texts.append(_joined(node) if node else value if isinstance(value, str) else json_text(value))
    return "\n".join(texts)


def _joined(node: Any) -> str:
    text = ""
    for is_line, piece in _texts(node):
        text += f"\n{piece}" if is_line and text and not text.endswith("\n") else piece
    return text


def _texts(node: Any, depth: int = 0) -> Iterator[tuple[bool, str]]:
    """The pieces of a text, and whether each begins a line."""
    node = as_object(node)
    if node.get("type") == _PIECE:
        yield node.get("lineBreakBefore") is True, as_text(node.get("text")) or ""
    elif depth < _DEEPEST:
        for inner in as_list(node.get("children")):
            yield from _texts(inner, depth + 1)


def _folder_beside(path: Path) -> str | None:
    """The folder of the workspace, which a file beside the sessions names."""
    try:
        kept = as_object(decoded(read_beside(path.parent.parent / "workspace.json")))
    except OSError:
        return None
    uri = as_text(kept.get("folder"))
    return unquote(urlparse(uri).path) if uri is not None else None


FORMAT = VscodeChat()
