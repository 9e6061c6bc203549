"""A streamed response: events over SSE, or the elements of one JSON array, folded into the body they are parts of.

Rules: text goes on in the part before it unless either is signed, for a signature belongs to its own part. What is
counted or stated again replaces what was said before. `Finished` is given once, with the first reason; should more
follow (code that runs in between is seen to end "STOP"), the reply has the last.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.apis.base.api import StreamDecoder
from dragoman.model import conversation as conv, request as req
from dragoman.model.calls import ExecutedBy, NativeCall
from dragoman.model.json_values import as_list, as_name
from dragoman.model.request import ArgumentsChunk, TextChunk, ThinkingChunk

from .fields import NAME, camel, write_json
from .parts import Pairing, PartReader
from .paths import PathArguments
from .replies import finish_of, read_body, read_error, read_usage

_SPACE = b" \t\r\n\xef\xbb\xbf"


class ValueSplitter:
    """Fed the bytes of a JSON array of objects (or of objects one after another), it gives each object whole.

    What stands between two objects and is no part of an array is given too, in its place: it is no event, and whoever
    reads it as one says so. An object costs its length once, however it is cut: what was looked at is not looked at
    again.
    """

    # Without possessive quantifiers around groups, which Python matches wrongly before 3.11.5 (gh-106052). Both always
    # match, and what stands between two repetitions differs from what is repeated, so they take linear time.
    _TO_A_BRACE = re.compile(rb'[^"{}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"{}]*)*', re.DOTALL)
    _TO_A_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
    _BETWEEN = b" \t\r\n,[]\xef\xbb\xbf"

    def __init__(self) -> None:
        self._rest = bytearray()
        self._at = 0
        self._depth = 0
        self._in_text = False

    def feed(self, data: bytes) -> list[bytes]:
        """The objects that are complete with these bytes, and what stood before them."""
        rest = self._rest
        rest += data
        found: list[bytes] = []
        begun, depth, at = 0, self._depth, self._at
        while True:
            pattern = self._TO_A_QUOTE if self._in_text else self._TO_A_BRACE
            at = pattern.match(rest, at).end()  # type: ignore[union-attr]  # it matches nothing at the least
            if at == len(rest) or rest[at] == _BACKSLASH:  # what a last backslash escapes is still to come
                break
            one = rest[at]
            at += 1
            if one == _QUOTE:
                self._in_text = not self._in_text
            elif one == _OPEN:
                if depth == 0:
                    found += self._stray(rest[begun : at - 1])
                    begun = at - 1
                depth += 1
            elif depth:
                depth -= 1
                if depth == 0:
                    found.append(bytes(rest[begun:at]))
                    begun = at
        del rest[:begun]
        self._at, self._depth = at - begun, depth
        return found

    @property
    def held(self) -> int:
        """Bytes of an object that has begun and not ended."""
        return len(self._rest)

    def close(self) -> list[bytes]:
        """What came after the last whole object: an object that never ended, or something else."""
        stray = self._stray(self._rest)
        self._rest.clear()
        return stray

    def _stray(self, between: bytearray) -> list[bytes]:
        stripped = bytes(between.strip(self._BETWEEN))
        return [stripped] if stripped else []


_BACKSLASH, _QUOTE, _OPEN = b'\\"{'


class _Candidate:
    """One candidate as far as it has come."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.said: dict[str, Any] = {}
        self.content: dict[str, Any] = {}
        self.parts: list[Any] = []
        self.texts: list[str] | None = None
        """The pieces of the text that goes on, which is the last part."""
        self.thought = False
        self.call: tuple[dict[str, Any], PathArguments, NativeCall | None] | None = None
        """The call that goes on: its part, its arguments, and what was told of it."""
        self.listed: dict[int, tuple[list[Any], set[str]]] = {}
        """Each list that grew, by its id, and what it holds."""

    def settle(self) -> None:
        """Puts the pieces of the last text together."""
        if self.texts is not None:
            self.parts[-1]["text"] = "".join(self.texts)
            self.texts = None

    def body(self) -> dict[str, Any]:
        self.settle()
        if self.call is not None:
            self.call[0]["functionCall"]["args"] = self.call[1].settle()
        said = {"index": self.index, **self.said}
        if self.content:
            said["content"] = {**self.content, "parts": self.parts}
        return said


class _PlainCall(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    partial_args: tuple[dict[str, Any]]
    will_continue: bool


class _PlainPart(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    text: str = ""
    thought: bool = False
    function_call: _PlainCall | msgspec.UnsetType = msgspec.UNSET


class _PlainContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    parts: tuple[_PlainPart]
    role: str


class _PlainCandidate(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: _PlainContent
    index: int = 0


class _Plain(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """An event that says nothing but the next piece of a text or of an argument."""

    candidates: tuple[_PlainCandidate]
    model_version: str | None = None
    response_id: str | None = None
    usage_metadata: msgspec.Raw = msgspec.Raw()


def _is_whole_count(counted: bytes) -> bool:
    """Whether counts, not read yet, stand for all that came before: then only the last are ever read."""
    return b'"totalTokenCount"' in counted and b"\\" not in counted and counted.isascii()


_read_plain = msgspec.json.Decoder(_Plain).decode


class GeminiStream(StreamDecoder):
    """Decodes one `streamGenerateContent` response, with `alt=sse` or without."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._values: ValueSplitter | None = None
        self._looked = False
        self._body: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._told: tuple[dict[str, Any], conv.Usage] | None = None
        """The counts that were read last, and what they say."""
        self._counted = b""
        """The last counts, not read yet: every event has some, and only the last are asked for."""
        self._candidates: dict[int, _Candidate] = {}
        self._seed: str | None = None
        self._reader: PartReader | None = None
        """Reads the parts of the first candidate as they come, so that ids hold from the first."""
        self._cited: set[bytes] = set()
        self._sourced = 0
        """How often sources were told of, since the reply ended."""
        self._cite_at = 1
        self._uncited = False
        self._finished = False
        self._calls = False
        self._by_path: dict[str, PathArguments] = {}
        self._plain_readers[None] = _read_plain

    # ── bytes ──────────────────────────────────────────────────────────────

    def feed(self, data: bytes) -> list[req.AnyChunk]:
        if not self._looked:
            data = data.lstrip(_SPACE)
            if not data:
                return []
            self._looked = True
            self._values = ValueSplitter() if data[:1] in (b"[", b"{") else None
        if self._values is None:
            return super().feed(data)
        chunks: list[req.AnyChunk] = []
        objects = self._values.feed(data)
        self.events += len(objects)
        self._take([(None, event) for event in objects], chunks)
        if self.longest_event is not None and self._values.held > self.longest_event:
            self._too_long()
        return chunks

    def close(self) -> conv.Reply:
        if self._values is not None:
            self._take([(None, stray) for stray in self._values.close()], [])
        return super().close()

    def arguments(self, call_id: str) -> Any:
        """What is known of a call's arguments so far. The view is alive: copy what you want to keep."""
        streamed = self._by_path.get(call_id)
        return super().arguments(call_id) if streamed is None else streamed.settle()

    # ── events ─────────────────────────────────────────────────────────────

    def _plain_event(self, said: _Plain, chunks: list[req.AnyChunk]) -> bool:
        body, live, candidate = self._body, self._candidates.get(0), said.candidates[0]
        if live is None or self._finished or self.error is not None or candidate.index:
            return False
        if said.model_version != body.get("modelVersion") or said.response_id != body.get("responseId"):
            return False
        counted = bytes(said.usage_metadata)
        if counted != self._counted and counted and not _is_whole_count(counted):
            return False
        content = candidate.content
        if content.role != live.content.get("role") or not self._plain_part(live, content.parts[0], chunks):
            return False
        self._counted = counted or self._counted
        return True

    def _plain_part(self, live: _Candidate, part: _PlainPart, chunks: list[req.AnyChunk]) -> bool:
        text, call = part.text, part.function_call
        if call is msgspec.UNSET:
            if not text or live.texts is None or live.thought is not part.thought:
                return False
            live.texts.append(text)
            chunks.append(ThinkingChunk(text) if part.thought else TextChunk(text))
            return True
        if text or part.thought or live.texts is not None or live.call is None or not call.will_continue:
            return False
        _, arguments, told = live.call
        if told is None:
            return False
        added = arguments.assign(call.partial_args[0])
        if added is not None:
            self.pieces[told.id].append(added[1])
            chunks.append(ArgumentsChunk(told.id, added[1], added[0]))
        return True

    def _count(self, usage: dict[str, Any]) -> None:
        """Takes counts. A total stands for all, which may also fall; without one there is more to come."""
        self._usage = usage if "totalTokenCount" in usage else {**self._usage, **usage}

    def _read_usage(self) -> conv.Usage:
        if self._told is None or self._told[0] is not self._usage:
            self._told = (self._usage, read_usage(self._usage))
        return self._told[1]

    def _settle_counts(self) -> None:
        if self._counted:
            counted, self._counted = self._counted, b""
            try:
                usage = msgspec.json.decode(counted)
            except (msgspec.DecodeError, RecursionError):
                usage = None
            if isinstance(usage, dict):
                self._count(usage)
            else:
                self.unread.append(counted.decode())

    def _event(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        if "error" in data:
            self.error = read_error(None, {}, data)
            return
        self._body.update(data)
        usage = data.get("usageMetadata") or data.get("usage_metadata")
        self._settle_counts()
        if isinstance(usage, dict):
            self._count(usage)
        candidates = data.get("candidates")
        if isinstance(candidates, list):
            for place, candidate in enumerate(candidates):
                self._candidate(candidate, place, chunks)
        elif candidates is not None:
            self.unread.append(write_json({"candidates": candidates}))
        if not self._candidates and not self._finished:
            self._blocked(chunks)
        if self._finished and usage:
            chunks.append(req.UsageArrived(self._read_usage()))

    def _no_object(self, name: str | None, data: Any, chunks: list[req.AnyChunk]) -> None:
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            super()._no_object(name, data, chunks)
            return
        for one in data:  # several events in one
            if self.error is None:
                self._event(name, one, chunks)

    def _blocked(self, chunks: list[req.AnyChunk]) -> None:
        """The prompt itself may be refused: then there is no candidate, ever."""
        if camel(camel(self._body).get("promptFeedback")).get("blockReason"):
            self._finished = True
            chunks.append(req.Finished(conv.FinishReason.FILTERED))

    def _candidate(self, said: Any, place: int, chunks: list[req.AnyChunk]) -> None:
        if not isinstance(said, dict):
            self.unread.append(write_json(said))
            return
        index = said.get("index", place)
        if index.__class__ is not int:
            index = place
        candidate = self._candidates.get(index)
        if candidate is None:
            candidate = self._candidates[index] = _Candidate(index)
        live = chunks if index == 0 else None
        content = said.get("content")
        if isinstance(content, dict):
            candidate.content.update(content)
            parts = content.get("parts")
            if isinstance(parts, list):
                self._parts(candidate, parts, live)
            elif parts is not None:
                self.unread.append(write_json({"parts": parts}))
        elif content is not None:
            self.unread.append(write_json({"content": content}))
        if len(said) > ("content" in said) + ("index" in said):
            self._beside(candidate, camel(said), live)

    def _beside(self, candidate: _Candidate, said: dict[str, Any], chunks: list[req.AnyChunk] | None) -> None:
        """What a candidate says beside its content."""
        for key, value in said.items():
            if key == "finishReason":
                if value is not None:
                    candidate.said[key] = value
            elif key not in ("index", "content"):
                candidate.said[key] = _joined(candidate.said.get(key), value, key, candidate.listed)
        if chunks is None:
            return
        if said.get("finishReason") is not None:
            self._finish(candidate, said["finishReason"], chunks)
        elif self._finished:
            self._cite(candidate, chunks)

    def _parts(self, candidate: _Candidate, parts: list[Any], chunks: list[req.AnyChunk] | None) -> None:
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else None
            if text.__class__ is not str:
                self._part(candidate, part, chunks)
            elif len(part) == 1:
                self._words(candidate, text, chunks, thought=False)
            elif len(part) == 2 and part.get("thought").__class__ is bool:
                self._words(candidate, text, chunks, thought=part["thought"])
            else:
                self._part(candidate, part, chunks)

    def _words(self, candidate: _Candidate, text: str, chunks: list[req.AnyChunk] | None, *, thought: bool) -> None:
        if not text:
            return
        texts = candidate.texts
        if texts is not None and candidate.thought is thought:
            texts.append(text)
        else:
            candidate.settle()
            candidate.texts, candidate.thought = [text], thought
            candidate.parts.append({"text": "", "thought": True} if thought else {"text": ""})
        if chunks is not None:
            chunks.append(ThinkingChunk(text) if thought else TextChunk(text))

    def _part(self, candidate: _Candidate, part: Any, chunks: list[req.AnyChunk] | None) -> None:
        """A part that stands by itself: signed text, a call, a result, media, or one we do not know."""
        candidate.settle()
        said = camel(part)
        call = said.get("functionCall")
        if isinstance(call, dict) and self._goes_on(candidate, said, camel(call), chunks):
            return
        candidate.parts.append(part)
        if chunks is None:
            return
        text = said.get("text")
        if isinstance(text, str) and text and not isinstance(call, dict):
            chunks.append(ThinkingChunk(text) if said.get("thought") is True else TextChunk(text))
        for read in self._read(part):
            self._tell(read, chunks)

    def _read(self, part: Any) -> list[conv.AnyPart]:
        """A part of the first candidate, read as the whole body's will be."""
        if self._reader is None:
            self._seed = as_name(camel(self._body).get("responseId")) or ""
            self._reader = PartReader(Pairing(self._seed, 0))
        before = len(self._reader.parts)
        self._reader.read(part)
        return self._reader.parts[before:]

    def _tell(self, part: conv.AnyPart, chunks: list[req.AnyChunk]) -> None:
        if isinstance(part, conv.CallPart):
            call = part.call
            self._calls = self._calls or call.executed_by is ExecutedBy.CLIENT
            text = call.arguments if isinstance(call.arguments, str) else write_json(call.arguments)
            self.pieces[call.id] = [text]
            chunks.append(req.CallStarted(call.id, call.name, executed_by=call.executed_by))
            chunks.append(ArgumentsChunk(call.id, text))
            chunks.append(req.CallFinished(call))
        elif isinstance(part, conv.ResultPart):
            chunks.append(req.ResultArrived(part.result))
        elif isinstance(part, conv.MediaPart):
            chunks.append(req.MediaArrived(part.media))

    # ── calls whose arguments come value by value ──────────────────────────

    def _goes_on(
        self, candidate: _Candidate, said: dict[str, Any], call: dict[str, Any], chunks: list[req.AnyChunk] | None
    ) -> bool:
        """Whether the part begins, continues or ends a call whose arguments are streamed."""
        begins = as_name(call.get("name")) is not None
        if candidate.call is not None and begins:
            self._end_call(candidate, chunks)
        if begins:
            if "partialArgs" not in call and call.get("willContinue") is not True:
                return False
            if not isinstance(call.get("args"), dict | None):
                return False
            arguments = PathArguments()
            arguments.value.update(call.get("args") or {})
            whole = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue")}
            part = {**said, "functionCall": {**whole, "args": arguments.value}}
            candidate.parts.append(part)
            told = None if chunks is None else self._begin_call(part, arguments, chunks)
            candidate.call = (part, arguments, told)
        elif candidate.call is None:
            return False
        self._assign(candidate, call, chunks)
        return True

    def _begin_call(self, part: dict[str, Any], arguments: PathArguments, chunks: list[req.AnyChunk]) -> NativeCall:
        read = self._read(part)[0]
        assert isinstance(read, conv.CallPart)
        self._calls = True
        self._by_path[read.call.id] = arguments
        self.pieces[read.call.id] = []
        chunks.append(req.CallStarted(read.call.id, read.call.name))
        return read.call

    def _assign(self, candidate: _Candidate, call: dict[str, Any], chunks: list[req.AnyChunk] | None) -> None:
        assert candidate.call is not None
        _, arguments, told = candidate.call
        for assignment in as_list(call.get("partialArgs")):
            added = arguments.assign(assignment)
            if added is not None and chunks is not None and told is not None:
                self.pieces[told.id].append(added[1])
                chunks.append(ArgumentsChunk(told.id, added[1], path=added[0]))
        if call.get("willContinue") is not True:
            self._end_call(candidate, chunks)

    def _end_call(self, candidate: _Candidate, chunks: list[req.AnyChunk] | None) -> None:
        assert candidate.call is not None
        part, arguments, told = candidate.call
        part["functionCall"]["args"] = arguments.settle()
        if arguments.unplaced:
            part["functionCall"]["partialArgs"] = arguments.unplaced
        candidate.call = None
        if chunks is not None and told is not None:
            chunks.append(req.CallFinished(replace(told, arguments=arguments.value)))

    # ── the end ────────────────────────────────────────────────────────────

    def _finish(self, candidate: _Candidate, reason: Any, chunks: list[req.AnyChunk]) -> None:
        if candidate.call is not None:
            self._end_call(candidate, chunks)
        self._cite(candidate, chunks)
        if self._finished:
            return
        self._finished = True
        finish = finish_of(reason, ())
        chunks.append(
            req.Finished(conv.FinishReason.CALLS if finish is conv.FinishReason.STOP and self._calls else finish)
        )

    def _cite(self, candidate: _Candidate, chunks: list[req.AnyChunk]) -> None:
        """Reports each source once, as soon as the text that it supports has arrived.

        Finding them costs a look at the whole reply. So with more and more events that have some, it is done ever more
        rarely, and once more at the end.
        """
        if not any(key.endswith("Metadata") for key in candidate.said):
            return
        self._sourced += 1
        self._uncited = self._sourced < self._cite_at
        if not self._uncited:
            self._cite_at = self._sourced * 2 if self._sourced > _OFTEN else 0
            self._cite_all(chunks)

    def _cite_all(self, chunks: list[req.AnyChunk]) -> None:
        for citation in self._whole().citations:
            written = msgspec.json.encode(citation)
            if written not in self._cited:
                self._cited.add(written)
                chunks.append(req.CitationArrived(citation))

    def end(self) -> list[req.AnyChunk]:
        chunks = super().end()
        if self._uncited and self.error is None:
            self._uncited = False
            self._cite_all(chunks)
        return chunks

    def _whole(self) -> conv.Reply:
        body = {key: value for key, value in self._body.items() if key not in ("usageMetadata", "usage_metadata")}
        self._settle_counts()
        counted = self._read_usage() if self._usage else None
        if counted is not None:
            body["usageMetadata"] = self._usage
        body["candidates"] = [self._candidates[index].body() for index in sorted(self._candidates)]
        return read_body(body, seed=self._seed, counted=counted)

    def _reply(self) -> conv.Reply:
        reply = self._whole()
        if reply.finish_raw is None and reply.finish is conv.FinishReason.UNKNOWN:
            reply = replace(reply, finish=conv.FinishReason.INTERRUPTED)
        if self.unread:
            metadata = {**reply.metadata.get(NAME, {}), "unread": list(self.unread)}
            reply = replace(reply, metadata={**reply.metadata, NAME: metadata})
        return reply


_OFTEN = 16
"""So many events with sources are looked at one by one."""
_GROWING = frozenset({"citations", "citationSources", "urlMetadata", "groundingSupports", "webSearchQueries"})


def _joined(before: Any, now: Any, key: str, as_list: dict[int, tuple[list[Any], set[str]]]) -> Any:
    """What a candidate says of itself, said again: lists of sources grow, everything else is as last said.

    `as_list` has what each growing list holds, by the id of the list, so that adding to one costs what is added.
    """
    if not key.endswith("Metadata") or not isinstance(before, dict) or not isinstance(now, dict):
        return now
    joined = dict(before)
    now = camel(now)
    shift = 0
    chunks, more = before.get("groundingChunks"), now.get("groundingChunks")
    if isinstance(chunks, list) and isinstance(more, list):
        again = len(more) >= len(chunks) and more[: len(chunks)] == chunks
        shift = 0 if again else len(chunks)
        if again:
            joined["groundingChunks"] = more
        else:
            chunks += more
    for name, value in now.items():
        held = joined.get(name)
        if name == "groundingChunks" and isinstance(held, list):
            continue
        if name in _GROWING and isinstance(held, list) and isinstance(value, list):
            _grow(held, [_shifted(one, shift) for one in value] if name == "groundingSupports" else value, as_list)
        else:
            joined[name] = value
    return joined


def _grow(held: list[Any], added: list[Any], as_list: dict[int, tuple[list[Any], set[str]]]) -> None:
    """Adds to a list what it does not hold."""
    known = as_list.get(id(held))
    if known is None:
        known = as_list[id(held)] = (held, {write_json(one) for one in held})
    for one in added:
        written = write_json(one)
        if written not in known[1]:
            known[1].add(written)
            held.append(one)


def _shifted(support: Any, shift: int) -> Any:
    """A support whose sources stand further back in the list that was joined."""
    said = camel(support)
    if not shift or not isinstance(said.get("groundingChunkIndices"), list):
        return support
    indices = [index + shift if isinstance(index, int) else index for index in said["groundingChunkIndices"]]
    return {**said, "groundingChunkIndices": indices}
