"""What `codex exec --json` prints: items as they begin, change and end, and the turns around them.

It has neither the prompt nor times, models or versions. Items are numbered anew by each run, so where a file holds
several their ids are told apart. Tokens are the whole thread's so far: what is told is the difference.
Before 0.44 it printed its settings, the prompt and its own events (`{"id", "msg"}`): they are read as the items they
became, and their tokens are each request's own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.logs.base.format import Storable
from dragoman.logs.base.listing import read_beside
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import NativeCall, NativeResult, conversation as conv, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text
from dragoman.registry import APIS

KINDS: Final = frozenset(
    {
        "thread.started",
        "turn.started",
        "turn.completed",
        "turn.failed",
        "item.started",
        "item.updated",
        "item.completed",
        "error",
    }
)
"""The kinds of records."""

_CALLS: Final = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "collab_tool_call": ("tool", "receiver_thread_ids", "prompt"),
}
"""Items that are calls, and what of them the call is made of; the rest is its result."""

_OF_SERVERS: Final = frozenset({"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"})
"""The client's own tools that it prints (0.166.0) as if the server they ask had them."""

_TELLING: Final = frozenset(
    {"agent_message", "agent_reasoning", "exec_command_begin", "session_configured", "task_started", "token_count"}
)
"""Kinds of events that no other client is known to write so."""

_ENDINGS: Final = {"completed": "completed", "errored": "failed", "interrupted": "cancelled", "shutdown": "cancelled"}
_MOST_BESIDE: Final = 500
"""Files of a folder that are looked at for earlier runs."""
_COUNTERS: Final = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


def is_early(record: dict[str, Any]) -> bool:
    """Whether a record is one of those before 0.44."""
    if "msg" in record:
        return "id" in record and isinstance(as_object(record["msg"]).get("type"), str)
    return (isinstance(record.get("prompt"), str) and len(record) == 1) or {"workdir", "sandbox"} <= record.keys()


def is_printed(record: dict[str, Any]) -> bool:
    """Whether a record is one of these, and of no other client."""
    kind = record.get("type")
    if kind is None and "msg" in record:
        return is_early(record) and record["msg"]["type"] in _TELLING
    if kind is None:
        return is_early(record) and "prompt" not in record
    if kind == "thread.started":
        return isinstance(record.get("thread_id"), str)
    return kind in ("item.started", "item.updated", "item.completed") and isinstance(record.get("item"), dict)


class Printed(Storable):
    """What was printed so far, as far as what follows is told by it."""

    def __init__(self) -> None:
        self._runs = 0
        self._counted: dict[str | None, dict[str, int]] = {}
        """Thread → what it had used when a turn ended."""
        self._plans: dict[str, Any] = {}
        """List of things to do → as it was told last."""
        self._agents: set[str] = set()
        self._error: str | None = None

    def events_of(self, value: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        """The events of one record; its place names the thread."""
        kind, item = str(value.get("type")), as_object(value.get("item"))
        if kind == "thread.started":
            self._runs += 1
            yield normaliser.event(ev.SessionStarted, place, resumed=self._runs > 1)
        elif kind == "turn.started":
            self._error = None
            yield normaliser.event(ev.ClientNoted, place, name=kind)
        elif kind == "turn.completed":
            yield from self._tokens(as_object(value.get("usage")), place, normaliser)
            yield normaliser.event(ev.ModelFinished, place, finish=conv.FinishReason.STOP)
        elif kind == "turn.failed":
            yield from self._failed(as_text(as_object(value.get("error")).get("message")), place, normaliser)
            yield normaliser.event(ev.ModelFinished, place, finish=conv.FinishReason.ERROR)
        elif kind == "error":
            yield from self._failed(as_text(value.get("message")), place, normaliser)
        else:
            yield from self._item(kind, item, place, normaliser)
        if not place.number:
            yield normaliser.event(ev.ClientNoted, place, name=f"{kind}/{item.get('type')}")

    def told_early(self, value: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        """The events of one record of those before 0.44."""
        event, message = normaliser.event, as_object(value.get("msg"))
        kind = as_text(message.get("type"))
        if kind is None and isinstance(value.get("prompt"), str):
            yield event(ev.UserSaid, place, text=value["prompt"])
        elif kind is None:
            told = {key: value[key] for key in value if key not in ("workdir", "model")}
            cwd, model = as_text(value.get("workdir")), as_text(value.get("model"))
            yield event(ev.SessionStarted, place, cwd=cwd, model=model, metadata=told)
        elif kind == "agent_message":
            yield event(ev.ModelSaid, place, text=as_text(message.get("message")) or "")
        elif kind == "agent_reasoning":
            yield event(ev.ModelThought, place, text=as_text(message.get("text")) or "")
        elif kind == "token_count":
            yield from self._counted_early(message, place, normaliser)
        elif kind == "task_complete":
            yield event(ev.ModelFinished, place, finish=conv.FinishReason.STOP)
        elif kind == "turn_aborted":
            yield event(ev.Interrupted, place, text=as_text(message.get("reason")))
        elif kind in ("error", "stream_error"):
            words = as_text(message.get("message")) or kind
            yield event(ev.ErrorOccurred, place, message=words, retried=kind == "stream_error")
        elif kind == "plan_update":
            plan = {key: message[key] for key in ("plan", "explanation") if message.get(key) is not None}
            yield normaliser.called(place, NativeCall(f"plan{place.key}", "update_plan", plan))
            yield normaliser.returned(place, NativeResult(f"plan{place.key}", "Plan updated"))
        else:
            item = _early_item(kind, message)
            if item is not None:
                yield from self._item(
                    "item.completed" if kind.endswith("_end") else "item.started", item, place, normaliser
                )
        if not place.number:
            yield event(ev.ClientNoted, place, name=f"msg/{kind}", call_id=as_text(message.get("call_id")))

    def _counted_early(self, message: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        if isinstance(message.get("info"), dict):
            yield from self._tokens(as_object(message["info"].get("total_token_usage")), place, normaliser)
        elif "input_tokens" in message:
            used = {key: as_integer(message.get(key)) or 0 for key in _COUNTERS}
            yield normaliser.event(ev.TokensUsed, place, usage=usage_of(used, message))

    def _failed(self, message: str | None, place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        """An error, which a turn that failed by it tells once more."""
        message = message or "an error without words"
        if message != self._error:
            self._error = message
            yield normaliser.event(ev.ErrorOccurred, place, message=message, retried=message.startswith("Reconnecting"))

    # ── items ──────────────────────────────────────────────────────────────

    def _item(self, kind: str, item: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        what, is_done = item.get("type"), kind == "item.completed"
        if what == "agent_message":
            if is_done:
                yield normaliser.event(ev.ModelSaid, place, text=as_text(item.get("text")) or "")
        elif what == "reasoning":
            if is_done:
                yield normaliser.event(ev.ModelThought, place, text=as_text(item.get("text")) or "")
        elif what == "error":  # a warning of the client, which continues (0.151, 0.166)
            data = {"message": as_text(item.get("message"))}
            yield normaliser.event(ev.ClientNoted, place, name="item/error", data=data)
        elif what == "todo_list":
            yield from self._plan(item, place, normaliser)
        elif what == "web_search":
            if is_done:  # up to 0.101 the query is only in the record of the end
                yield from self._search(item, place, normaliser)
        elif what == "mcp_tool_call" or what in _CALLS:
            yield from self._call(item, place, normaliser, is_done=is_done)
        else:
            yield normaliser.unknown(place, f"{kind}/{what}")

    def _id(self, item: dict[str, Any], place: Place) -> str:
        id = as_text(item.get("id")) or f"item{place.key}"
        return id if self._runs < 2 else f"{id}/{self._runs}"

    def _call(
        self, item: dict[str, Any], place: Place, normaliser: Normaliser, *, is_done: bool
    ) -> Iterator[ev.AnyEvent]:
        id = self._id(item, place)
        if id not in normaliser.calls:  # changed files and searches up to 0.101 have no record of their start
            yield normaliser.called(place, _native_call(id, item))
        if is_done:
            yield normaliser.returned(place, _native_result(id, item))
            yield from self._agents_in(id, item, place, normaliser)

    def _plan(self, item: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        """A plan each time it has changed: the client prints it once more when a turn ends (0.44 to 0.151)."""
        id, items = self._id(item, place), item.get("items")
        if self._plans.get(id) == items:
            return
        call_id = f"{id}{place.key}" if id in self._plans else id
        self._plans[id] = items
        yield normaliser.called(place, NativeCall(call_id, "todo_list", {"items": items}))
        yield normaliser.returned(place, NativeResult(call_id, "", item=item))

    def _search(self, item: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        action = as_object(item.get("action"))
        if action.get("type") not in ("search", "open_page", "find_in_page"):
            action = {"type": "search", "query": as_text(item.get("query")) or ""}
        asked = {"type": "web_search_call", "id": self._id(item, place), "status": "completed", "action": action}
        for part in APIS["openai_responses"].read_parts([asked]):
            if isinstance(part, conv.CallPart):
                yield normaliser.called(place, part.call)

    def _agents_in(
        self, call_id: str, item: dict[str, Any], place: Place, normaliser: Normaliser
    ) -> Iterator[ev.AnyEvent]:
        """Agents that began with this call, and those it tells have ended."""
        if item.get("type") != "collab_tool_call":
            return
        for agent, state in as_object(item.get("agents_states")).items():
            if item.get("tool") == "spawn_agent" and agent not in self._agents:
                self._agents.add(agent)
                prompt = as_text(item.get("prompt"))
                yield normaliser.event(
                    ev.AgentStarted, place, agent=agent, agent_session=agent, prompt=prompt, call_id=call_id
                )
            status = _ENDINGS.get(str(as_object(state).get("status")))
            if item.get("tool") == "wait" and status is not None:
                text = as_text(as_object(state).get("message"))
                yield normaliser.event(ev.AgentEnded, place, agent=agent, status=status, text=text, call_id=call_id)

    # ── tokens ─────────────────────────────────────────────────────────────

    def _tokens(self, usage: dict[str, Any], place: Place, normaliser: Normaliser) -> Iterator[ev.AnyEvent]:
        now = {key: as_integer(usage.get(key)) or 0 for key in _COUNTERS}
        before = self._counted.get(place.session) or _earlier(Path(place.source.file), place.session, now)
        used = {key: now[key] - before[key] for key in _COUNTERS}
        if any(count < 0 for count in used.values()):  # 0.166 counts all runs of a thread; this was one alone
            used = now
        self._counted[place.session] = now
        if not any(used.values()):
            return
        yield normaliser.event(ev.TokensUsed, place, usage=usage_of(used, usage))


def _earlier(file: Path, thread: str | None, now: dict[str, int]) -> dict[str, int]:
    """What earlier runs of a thread had used: `codex exec resume` counts on from them (0.166).

    Their streams are files of their own, so they are looked for beside this one.
    """
    found = dict.fromkeys(_COUNTERS, 0)
    if thread is None or not file.is_file():
        return found
    mark = msgspec.json.encode(thread)
    for path in sorted(file.parent.glob(f"*{file.suffix}"))[:_MOST_BESIDE]:
        try:
            if path.samefile(file) or mark not in _head(path):
                continue
            told = [line for line in read_beside(path).splitlines() if b'"turn.completed"' in line]
            usage = as_object(as_object(msgspec.json.decode(told[-1])).get("usage")) if told else {}
        except (OSError, msgspec.DecodeError):
            continue  # a file that is gone or is being written is none to count from
        then = {key: as_integer(usage.get(key)) or 0 for key in _COUNTERS}
        is_before = all(then[key] <= now[key] for key in _COUNTERS) and then != now
        if is_before and sum(then.values()) > sum(found.values()):
            found = then
    return found


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def usage_of(used: Mapping[str, int], told: Mapping[str, Any]) -> conv.Usage:
    """The tokens that the log reports. Up to 0.142 Codex does not report tokens written to the cache."""

    def count(name: str) -> int | None:
        return used[name] if name in told else None

    cached, written = used["cached_input_tokens"], used["cache_write_input_tokens"]
    return conv.Usage(
        input_tokens=used["input_tokens"] - cached - written if "input_tokens" in told else None,
        cached_read_tokens=count("cached_input_tokens"),
        cached_write_tokens=count("cache_write_input_tokens"),
        output_tokens=count("output_tokens"),
        reasoning_tokens=count("reasoning_output_tokens"),
    )


# ── calls ────────────────────────────────────────────────────────────────────


def _early_item(kind: str, message: dict[str, Any]) -> dict[str, Any] | None:
    """The item that an event before 0.44 became, if it became one."""
    item: dict[str, Any] = {"id": message.get("call_id")}
    match kind, message:
        case ("exec_command_begin", {"command": list(words)}) if all(isinstance(word, str) for word in words):
            return {**item, "type": "command_execution", "command": shlex.join(words)}
        case ("exec_command_end", _):
            output = as_text(message.get("aggregated_output"))
            if output is None:
                output = (as_text(message.get("stdout")) or "") + (as_text(message.get("stderr")) or "")
            code = message.get("exit_code")
            return {**item, "type": "command_execution", "aggregated_output": output, "exit_code": code}
        case ("patch_apply_begin", {"changes": dict(changes)}):
            rows = [{"path": path, "kind": _kind_of(change)} for path, change in changes.items()]
            return {**item, "type": "file_change", "changes": rows}
        case ("patch_apply_end", _):
            return {**item, "type": "file_change", "status": "completed" if message.get("success") else "failed"}
        case ("mcp_tool_call_begin" | "mcp_tool_call_end", {"invocation": dict(asked)}):
            answer = as_object(message.get("result"))
            given, problem = as_object(answer.get("Ok")), as_text(answer.get("Err"))
            is_bad = problem is not None or given.get("isError") is True
            told = {**given, "structured_content": given.get("structuredContent")} if given else None
            error = None if problem is None else {"message": problem}
            status = "failed" if is_bad else "completed"
            return {**item, "type": "mcp_tool_call", **asked, "result": told, "error": error, "status": status}
        case ("web_search_end", {"query": str(query)}):
            return {**item, "type": "web_search", "query": query}
    return None


def _kind_of(change: Any) -> Any:
    """What was done to a file: told by a word, by the name of the only member, or by its `type`."""
    told = as_object(change)
    return told.get("type") or next(iter(told), change)


def _native_call(id: str, item: dict[str, Any]) -> NativeCall:
    kind = item["type"]
    if kind in _CALLS:
        return NativeCall(id, kind, {key: item[key] for key in _CALLS[kind] if item.get(key) is not None})
    arguments, tool = item.get("arguments"), as_text(item.get("tool")) or ""
    if tool in _OF_SERVERS:
        return NativeCall(id, tool, as_object(arguments))
    return NativeCall(id, tool, as_object(arguments), namespace=f"mcp__{as_text(item.get('server')) or ''}")


def _native_result(id: str, item: dict[str, Any]) -> NativeResult:
    if item["type"] == "mcp_tool_call":
        return _server_result(id, item)
    # An output may begin as a failure is worded, so it is the text only where no exit code (0.44 on) tells how it went.
    output = "" if isinstance(item.get("exit_code"), int) else as_text(item.get("aggregated_output")) or ""
    return NativeResult(id, output, item=item)


def _server_result(id: str, item: dict[str, Any]) -> NativeResult:
    """A server's answer, as the client keeps it in a rollout."""
    problem = as_text(as_object(item.get("error")).get("message"))
    given = as_object(item.get("result"))
    content = [{"type": "text", "text": problem}] if problem is not None else given.get("content")
    answer = {
        "content": content if isinstance(content, list) else [],
        "structuredContent": given.get("structured_content"),
        "isError": item.get("status") == "failed",
    }
    text = "\n".join(block["text"] for block in as_objects(content) if isinstance(block.get("text"), str))
    is_plain = item.get("tool") in _OF_SERVERS or problem is not None
    return NativeResult(id, text if is_plain else "", item={"type": "McpToolCall", "result": answer})
