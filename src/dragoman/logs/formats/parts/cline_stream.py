"""What `cline --json` prints (3.0): events of agents, with hook events around them that say whose they are.

The results are the ones the model is given. `run_result` counts the whole run once more, and is not added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.logs.base.format import LinesReader
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import NativeCall, NativeResult, Usage, events as ev
from dragoman.model.calls import Content
from dragoman.model.json_values import as_integer, as_object, as_text

_TYPES = frozenset({"hook_event", "agent_event", "run_result"})


def is_printed(records: tuple[Any, ...]) -> bool:
    """Whether these records are those of such a stream."""
    told = [as_object(record) for record in records]
    return bool(told) and all(one.get("type") in _TYPES and "ts" in one for one in told)


class StreamReader(LinesReader):
    """Reads one run. `content` reads what a result holds, as the client's log has it."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem))
        self._session: str | None = None
        self._stream = "main"
        self._streams: dict[str, str] = {}
        """Agent → its stream."""
        self._spawns: list[str] = []
        """Calls that spawn an agent and have no result yet."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        kind = as_object(value).get("type")
        if not isinstance(value, dict) or kind not in _TYPES:
            yield self.normaliser.unknown(self._place({}, source), as_text(kind))
            return
        if kind == "hook_event":
            yield from self._hooked(value, source)
        elif kind == "agent_event":
            yield from self._told(as_object(value.get("event")), self._place(value, source))
        else:
            place = self._place(value, source)
            reason = {"completed": "completed", "error": "failed"}.get(str(value.get("finishReason")), "unknown")
            yield self.normaliser.event(ev.SessionEnded, place, reason=reason)

    def _place(self, value: Mapping[str, Any], source: ev.Source) -> Place:
        time = moment(value.get("ts"))
        return Place(source=source, key=f"@{source.offset}", session=self._session, stream=self._stream, time=time)

    def _hooked(self, value: Mapping[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        agent, parent = as_text(value.get("agentId")) or "", as_text(value.get("parentAgentId"))
        what = as_text(value.get("hookEventName"))
        if what == "agent_start" and agent not in self._streams:
            if parent is None:
                self._session = self._session or as_text(value.get("taskId"))
                self._streams[agent] = "main"
                yield self.normaliser.event(ev.SessionStarted, self._place(value, source))
            else:
                self._stream = self._streams.get(parent, "main")
                place = self._place(value, source)
                call = self._spawns[-1] if self._spawns else None
                self._streams[agent] = agent
                yield self.normaliser.event(ev.AgentStarted, place, agent=agent, call_id=call)
        elif what == "agent_end" and self._streams.get(agent, "main") != "main":
            self._stream = self._streams.get(parent or "", "main")
            yield self.normaliser.event(ev.AgentEnded, self._place(value, source), agent=agent)
            return
        else:
            yield self.normaliser.event(ev.ClientNoted, self._place(value, source), name=f"hook_event/{what}")
        self._stream = self._streams.get(agent, "main")

    def _told(self, event: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        what, content = event.get("type"), event.get("contentType")
        if what == "content_end" and content == "text":
            yield self.normaliser.event(ev.ModelSaid, place, text=as_text(event.get("text")) or "")
        elif what == "content_end" and content == "reasoning":
            text = as_text(event.get("reasoning")) or ""
            yield self.normaliser.event(ev.ModelThought, place, text=text, hidden=not text)
        elif what == "content_start" and content == "tool":
            id, name = as_text(event.get("toolCallId")) or place.key, as_text(event.get("toolName")) or ""
            given = event.get("input")
            if name == "spawn_agent":
                self._spawns.append(id)
            arguments = given if isinstance(given, dict | str) else {}
            yield self.normaliser.called(place, NativeCall(id, name, arguments))
        elif what == "content_end" and content == "tool":
            yield self._returned(event, place)
        elif what == "usage":
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(event))
        else:
            name = f"{what}/{content}" if isinstance(content, str) else str(what)
            yield self.normaliser.event(ev.ClientNoted, place, name=name)

    def _returned(self, event: Mapping[str, Any], place: Place) -> ev.AnyEvent:
        id, error = as_text(event.get("toolCallId")) or "", as_text(event.get("error"))
        if id in self._spawns:
            self._spawns.remove(id)
        output = event.get("output")
        given: Content = error if error is not None and output is None else self.content(output)
        native = NativeResult(id, given, is_error=True if error is not None else None, name=as_text(event["toolName"]))
        took = as_integer(event.get("durationMs"))
        return self.normaliser.returned(place, native, duration=None if took is None else took / 1000)

    def content(self, output: Any) -> Content:
        """What a result holds."""
        raise NotImplementedError


def _usage(told: Mapping[str, Any]) -> Usage:
    """Tokens of a reply: the input counts what the cache gave and took."""
    given, read, wrote = (as_integer(told.get(key)) for key in ("inputTokens", "cacheReadTokens", "cacheWriteTokens"))
    return Usage(
        input_tokens=None if given is None else max(0, given - (read or 0) - (wrote or 0)),
        cached_read_tokens=read,
        cached_write_tokens=wrote,
        output_tokens=as_integer(told.get("outputTokens")),
    )
