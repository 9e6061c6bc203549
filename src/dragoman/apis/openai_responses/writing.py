"""A history written as items: each part in the place it stands, provider state as it came.

Rules: a reasoning item goes back to the model that made it, before the item it led to; where it cannot, what it
led to goes without its id, because the provider looks the reasoning up by that id. An item of this API goes back as it
came, but for the ids of calls that had to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from dragoman.apis.base.api import hosted_of, read_arguments
from dragoman.apis.base.conversation_order import Remark, Turn
from dragoman.apis.base.encoded import not_shown
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.json_values import as_object, as_text
from dragoman.model.request import Definition, FreeformDefinition, ProviderDefinition

from .content import plain_text, read_output, write_content, write_media, write_output
from .fields import mine, without
from .items import OUTPUTS, SEPARATOR, compact
from .tools import FREEFORM_FIELD

_RESULT_OF: Mapping[str, str] = {
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""The type of a call's item → that of its result's."""


_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ItemWriter:
    """Writes turns one after another into `items`; `remarks` say what was left out or said otherwise.

    `definitions` are the tools on offer; `freeform`: the model takes freeform calls; `stored`: the provider keeps
    items under their ids; `unchecked`: it does not mind what follows a reasoning item.
    """

    def __init__(
        self,
        *,
        definitions: tuple[Definition, ...] = (),
        freeform: bool = True,
        stored: bool = True,
        unchecked: bool = False,
    ) -> None:
        self.items: list[dict[str, Any]] = []
        self.remarks: list[Remark] = []
        self._definitions = definitions
        self._freeform = freeform
        self._stored = stored
        self._unchecked = unchecked
        self._called: dict[str, dict[str, Any]] = {}
        self._envelope: dict[str, Any] | None = None
        self._content: list[dict[str, Any]] = []

    def turn(self, turn: Turn) -> None:
        """Writes one turn."""
        for part, free in self._with_reasoning(turn):
            self._part(turn, part, free=free)
        self._flush()

    def _note(self, turn: Turn, message: str) -> None:
        self.remarks.append(Remark(turn.where, message))

    def _part(self, turn: Turn, part: conv.AnyPart, *, free: bool) -> None:
        match part:
            case conv.OpaquePart():
                self._opaque(part.item)
            case conv.ThinkingPart():
                self._item(write_reasoning(part))
            case conv.CallPart() if _is_strange(part.call):
                self._note(turn, f"the call {part.call.name!r}, which another API's provider ran, was left out")
            case conv.CallPart():
                item = write_call(part, self._definitions)
                if item["type"] == "custom_tool_call" and not self._freeform:
                    item = _as_function_call(item)
                if "name" in item and part.call.item is None and not _LEGAL_NAME.fullmatch(part.call.name):
                    item["name"] = re.sub(r"[^a-zA-Z0-9_-]", "_", part.call.name)[:64] or "_"
                    self._note(
                        turn,
                        f"the call {part.call.name!r} is sent as {item['name']!r}: this API does not allow that name",
                    )
                if free and part.call.item is None:  # the program that called stays behind with its reasoning too
                    item = without(item, "id", "caller")
                self._called[part.call.id] = item
                self._item(item)
            case conv.ResultPart():
                self._result(turn, part)
            case _ if turn.role == "assistant":
                self._said(turn, part, free=free)
            case _:
                self._told(turn, part)

    def _item(self, item: dict[str, Any]) -> None:
        self._flush()
        self.items.append(item)

    # ── reasoning ──────────────────────────────────────────────────────────

    def _with_reasoning(self, turn: Turn) -> Iterator[tuple[conv.AnyPart, bool]]:
        """The parts that can go back, each with whether it must do without its id: its reasoning was left out."""
        free = False
        followers: list[conv.AnyPart | None] = []
        follower: conv.AnyPart | None = None
        for part in reversed(turn.parts):
            follower = follower if isinstance(part, conv.ThinkingPart) else part
            followers.append(follower)
        for part, following in zip(turn.parts, reversed(followers), strict=True):
            if not isinstance(part, conv.ThinkingPart):
                if not free or not self._bound(turn, part):
                    yield part, free
                continue
            why = self._why_not(turn, part, following)
            free = why is not None
            if why is None:
                yield part, False
            else:
                self._note(turn, f"a reasoning item was left out: {why}")

    def _why_not(self, turn: Turn, part: conv.ThinkingPart, following: conv.AnyPart | None) -> str | None:
        """Why a reasoning item cannot go back.

        Recorded with storage on: one with an id is refused unless the item it led to follows with its own id; one
        without an id is taken anywhere. Open models, which give their thoughts in plain words, look nothing up.
        """
        if not turn.same_model:
            return "another model made it"
        if as_object(mine(part.metadata).get("reasoning")).get("content"):
            return None
        if part.id is None:
            return None if part.text or part.encrypted is not None else "it says nothing"
        if self._stored:
            return None if self._unchecked or _has_id(following) else "what it led to does not follow it"
        return None if part.encrypted is not None else "it is neither stored by the provider nor encrypted"

    def _bound(self, turn: Turn, part: conv.AnyPart) -> bool:
        """Whether a part is the provider's own work and cannot go without the reasoning that led to it."""
        native = (
            part.call if isinstance(part, conv.CallPart) else part.result if isinstance(part, conv.ResultPart) else None
        )
        if native is None or native.executed_by is not ExecutedBy.PROVIDER:
            return False
        if isinstance(native, NativeCall):
            self._note(turn, f"the provider's own call {native.name!r} was left out with the reasoning that led to it")
        return True

    # ── messages ───────────────────────────────────────────────────────────

    def _said(self, turn: Turn, part: conv.AnyPart, *, free: bool) -> None:
        """What the model said: in its own message where that can go back, else in a plain one."""
        beside = mine(getattr(part, "metadata", {}))
        envelope = as_object(beside.get("message"))
        if envelope and not free:
            content = write_content(part, "output_text" if envelope.get("role") == "assistant" else "input_text")
            if content is not None:
                self._add(envelope, content, first=beside.get("index") == 0)
        elif isinstance(part, conv.TextPart | conv.RefusalPart):
            if isinstance(part, conv.RefusalPart):
                self._note(turn, "a refusal was sent as plain text")
            elif part.citations:
                self._note(turn, "citations were left out of a message that goes back as plain text")
            phase = {"phase": envelope["phase"]} if envelope.get("phase") is not None else {}
            self._item({"role": "assistant", "content": part.text, **phase})
        elif isinstance(part, conv.MediaPart):
            self._note(
                turn, f"a file of type {part.media.media_type} the model made cannot be sent back and was left out"
            )

    def _told(self, turn: Turn, part: conv.AnyPart) -> None:
        """What the model is told."""
        role = "user" if turn.role == "tool" else turn.role
        content = write_content(part, "input_text")
        if content is None and isinstance(part, conv.MediaPart):
            self._note(turn, f"a file of type {part.media.media_type} cannot be sent: a text says so")
            content = {"type": "input_text", "text": not_shown(part.media)}
        if content is not None:
            self._add({"role": role, **mine(turn.metadata)}, content)

    def _opaque(self, item: dict[str, Any]) -> None:
        content = item.get("content")
        if (
            item.get("type", "message") == "message"
            and "role" in item
            and isinstance(content, list)
            and len(content) == 1
        ):
            self._add(without(item, "content"), content[0])
        else:
            self._item(item)

    def _add(self, envelope: dict[str, Any], content: Any, *, first: bool = False) -> None:
        if first or self._envelope != envelope:
            self._flush()
            self._envelope = envelope
        self._content.append(content)

    def _flush(self) -> None:
        """Ends the message that is open."""
        envelope, content = self._envelope, self._content
        if envelope is None:
            return
        self._envelope, self._content = None, []
        said: Any = content
        if len(content) == 1 and "id" not in envelope and _is_plain(content[0]):
            said = content[0]["text"]
        self.items.append({**envelope, "content": said})

    # ── results ────────────────────────────────────────────────────────────

    def _result(self, turn: Turn, part: conv.ResultPart) -> None:
        result = part.result
        item = as_object(result.item)
        if result.executed_by is ExecutedBy.PROVIDER:
            if as_text(item.get("type")) in OUTPUTS:  # every other result stands in the item of its call
                self._item(item)
            return
        called = self._called.get(result.call_id, {})
        if as_text(item.get("type")) in OUTPUTS:
            key = "id" if item["type"] == "local_shell_call_output" and "call_id" not in item else "call_id"
            written = {**item, key: result.call_id}
        else:
            said = mine(part.metadata)
            given = said.get("type", "function_call_output")
            kind = _RESULT_OF.get(str(called["type"]), "function_call_output") if "type" in called else given
            written = self._written_result(turn, kind, part, called)
        limit = as_object(called.get("action")).get("max_output_length")
        if limit is not None and written["type"] == "shell_call_output":  # the cut asked for is told with what was cut
            written.setdefault("max_output_length", limit)
        if "caller" in called:
            written.setdefault("caller", called["caller"])
        self._item(written)

    def _written_result(self, turn: Turn, kind: str, part: conv.ResultPart, called: dict[str, Any]) -> dict[str, Any]:
        result, said = part.result, mine(part.metadata)
        if kind in ("function_call_output", "custom_tool_call_output"):
            written = {"type": kind, **as_object(said.get("item")), "call_id": result.call_id}
            if said.get("named"):
                named = {"name": result.name, "namespace": result.namespace}
                written.update({name: value for name, value in named.items() if value is not None})
            raw = said.get("output")
            written["output"] = (
                raw if raw is not None and read_output(raw) == result.content else self._output(turn, result)
            )
            return written
        text = plain_text(result.content)
        match kind:
            case "shell_call_output":
                return {"type": kind, "call_id": result.call_id, "output": _shell_output(result, text)}
            case "local_shell_call_output":
                return {"type": kind, "id": result.call_id, "output": text}
            case "apply_patch_call_output":
                status = "failed" if result.is_error else "completed"
                return {"type": kind, "call_id": result.call_id, "status": status, "output": text}
            case "computer_call_output":
                return {"type": kind, "call_id": result.call_id, "output": self._screenshot(turn, result)}
        tools = _as_list(text)
        return {"type": kind, "call_id": result.call_id, "execution": "client", "status": "completed", "tools": tools}

    def _output(self, turn: Turn, result: NativeResult) -> Any:
        output, lost = write_output(result.content)
        for media in lost:
            self._note(turn, f"a file of type {media.media_type} in the result of {result.call_id!r} cannot be sent")
        return output

    def _screenshot(self, turn: Turn, result: NativeResult) -> dict[str, Any]:
        # Of several acts in one call, the last picture is the screen as it is now.
        for piece in reversed(result.content) if isinstance(result.content, tuple) else ():
            picture = None if isinstance(piece, str) else write_media(piece)
            if picture is not None and picture["type"] == "input_image":
                return {"type": "computer_screenshot", **without(picture, "type", "detail")}
        self._note(turn, f"the result of {result.call_id!r} has no picture, and a computer's result is nothing else")
        return {"type": "computer_screenshot"}


def _has_id(part: conv.AnyPart | None) -> bool:
    """Whether the item a part stands in has an id of its own."""
    if isinstance(part, conv.CallPart) and part.call.item is None:
        return "id" in as_object(mine(part.metadata).get("item"))
    if isinstance(part, conv.TextPart | conv.RefusalPart | conv.MediaPart):
        return "id" in as_object(mine(part.metadata).get("message"))
    return part is not None


def _is_plain(content: Any) -> bool:
    """Whether a message's only content says no more than its text."""
    if not isinstance(content, dict) or content.get("type") not in ("input_text", "output_text"):
        return False
    plain = content.keys() <= {"type", "text", "annotations"} and not content.get("annotations")
    return plain and isinstance(content.get("text"), str)


def write_call(part: conv.CallPart, definitions: tuple[Definition, ...] = ()) -> dict[str, Any]:
    """A call's item."""
    call = part.call
    if call.item is not None and "type" in call.item:
        named = call.item.get("call_id")
        if call.executed_by is ExecutedBy.CLIENT and named != call.id and (named or "id" not in call.item):
            return {**call.item, "call_id": call.id}
        return call.item
    if any(is_own_search(one) and call.name == (one.name or one.wire_type) for one in hosted_of(definitions)):
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return {"type": "tool_search_call", "call_id": call.id, "execution": "client", "arguments": arguments}
    said = mine(part.metadata)
    kind = said.get("type") or ("custom_tool_call" if _is_freeform(call, definitions) else "function_call")
    field = "input" if kind == "custom_tool_call" else "arguments"
    item = {"type": kind, **as_object(said.get("item")), "call_id": call.id, "name": call.name}
    item[field] = _arguments_text(call, said)
    if call.namespace is not None:
        item["namespace"] = call.namespace
    return item


def is_own_search(definition: Definition) -> TypeGuard[ProviderDefinition]:
    """Whether a tool is the search for deferred tools that the client does itself."""
    if not isinstance(definition, ProviderDefinition) or definition.wire_type != "tool_search":
        return False
    return definition.settings.get("execution") == "client"


def _is_strange(call: NativeCall) -> bool:
    """Whether a provider ran a call that is no item of this API."""
    return call.executed_by is ExecutedBy.PROVIDER and "type" not in (call.item or {})


def _as_function_call(item: dict[str, Any]) -> dict[str, Any]:
    """A freeform call as one of the function its tool is offered as."""
    arguments = compact({FREEFORM_FIELD: item["input"]})
    return {**without(item, "id", "input"), "type": "function_call", "arguments": arguments}


def _is_freeform(call: NativeCall, definitions: Sequence[Definition]) -> bool:
    """Whether a call's text is what its tool takes, and not JSON that was never finished."""
    return isinstance(call.arguments, str) and any(
        isinstance(one, FreeformDefinition) and one.name == call.name for one in definitions
    )


def _arguments_text(call: NativeCall, said: dict[str, Any]) -> str:
    """The arguments as they came, as long as they still say the same."""
    raw = said.get("arguments")
    if isinstance(raw, str) and read_arguments(raw) == call.arguments:
        return raw
    return call.arguments if isinstance(call.arguments, str) else compact(call.arguments)


def write_reasoning(part: conv.ThinkingPart) -> dict[str, Any]:
    """A reasoning item; its pieces are cut as they came, as long as the text has its length."""
    said = as_object(mine(part.metadata).get("reasoning"))
    item: dict[str, Any] = {"type": "reasoning", **as_object(said.get("item"))}
    if not said:
        item["summary"] = []  # a field that must be there
    if part.id is not None:
        item["id"] = part.id
    if part.encrypted is not None:
        item["encrypted_content"] = part.encrypted
    fields = {name: said[name] for name in ("summary", "content") if isinstance(said.get(name), list)}
    lengths = [length for pieces in fields.values() for length, _ in pieces if length is not None]
    if sum(lengths) + len(SEPARATOR) * max(0, len(lengths) - 1) != len(part.text):
        item["summary"] = [{"type": "summary_text", "text": part.text}] if part.text else []
        return item
    place = 0
    for name, pieces in fields.items():
        item[name] = []
        for length, rest in pieces:
            if length is None:
                item[name].append(rest)
                continue
            item[name].append({**rest, "text": part.text[place : place + length]})
            place += length + len(SEPARATOR)
    return item


def _shell_output(result: NativeResult, text: str) -> list[Any]:
    """What commands gave: the list the API wants, where the result is that; else its text as one command's."""
    given = _as_list(text)
    if given and all(isinstance(one, dict) for one in given):
        return given
    outcome = {"type": "exit", "exit_code": 1 if result.is_error else 0}
    return [{"stdout": text, "stderr": "", "outcome": outcome}]


def _as_list(text: str) -> list[Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return []
    return value if isinstance(value, list) else []
