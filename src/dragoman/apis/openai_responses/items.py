"""Items of this protocol read as parts: what was said, thought and called, and what calls gave.

Rules: calls are known by `call_id`, never by the item's own `id`, where an item has both. An item of a tool the
provider defines is kept whole in the call (and in its result): it goes back as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from dragoman.apis.base.api import read_arguments
from dragoman.apis.base.conversation_order import made_id
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.conversation import AnyPart, CallPart, OpaquePart, ResultPart, ThinkingPart
from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_name, as_object, as_text
from dragoman.model.outcomes import Media

from .content import located, read_content, read_media, read_output, texts_of
from .fields import NAME, own, without

SEPARATOR = "\n\n"
"""Stands between the pieces of one thought."""

_ARGUMENTS_IN: Mapping[str, str] = {
    "web_search_call": "action",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
}
"""The item's own object that says what is to be done."""

_ARGUMENTS_OF: Mapping[str, tuple[str, ...]] = {
    "code_interpreter_call": ("code", "container_id"),
    "file_search_call": ("queries",),
    "image_generation_call": (),
    "program": ("code",),
    "computer_call": ("actions",),
}
"""The item's fields that say what is to be done."""

_MCP = ("mcp_call", "mcp_approval_request")
_RUN_BY_US = ("local_shell_call", "apply_patch_call", "computer_call")
OUTPUTS: Mapping[str, str] = {
    "shell_call_output": "shell",
    "local_shell_call_output": "local_shell",
    "apply_patch_call_output": "apply_patch",
    "computer_call_output": "computer",
    "tool_search_output": "tool_search",
    "program_output": "program",
}
"""Items that say what a provider-defined tool gave → the tool's name."""

_CALLED: Mapping[str, str] = {"function_call": "arguments", "custom_tool_call": "input"}
_ANSWERED: Mapping[str, str] = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
}


class ItemReader:
    """Reads items one after another: it knows which ids are taken and which searches wait for what they found."""

    def __init__(self, items: Sequence[Any], *, reply: bool, ids: Mapping[int, str] | None = None) -> None:
        self._given = ids or {}
        self._taken: set[str] = set()
        self._searches: list[str] = []
        self._run_there: set[str] = set()
        self._is_reply = reply
        if reply:  # in a reply an output can only be the provider's own
            outputs = (item for item in items if isinstance(item, dict) and item.get("type") == "shell_call_output")
            self._run_there = {id for item in outputs if (id := as_name(item.get("call_id"))) is not None}

    def fork(self) -> ItemReader:
        """A copy: both go on from here independently."""
        new = copy(self)
        new._taken, new._searches = {*self._taken}, [*self._searches]
        return new

    def read(self, index: int, item: dict[str, Any]) -> list[AnyPart]:
        """The parts an item is; one that is not known is kept whole."""
        kind = item.get("type")
        if kind == "message" or (kind is None and "role" in item):
            if self._is_reply and item.get("role") not in (None, "assistant"):
                return [OpaquePart(NAME, item)]  # a compaction gives back what the user said, which is no reply
            return self._message(item)
        if kind == "reasoning":
            return [read_reasoning(item)]
        if not isinstance(kind, str):
            return [OpaquePart(NAME, item)]
        if kind in _CALLED:
            return [self._client_call(index, kind, item)]
        if kind in _ANSWERED:
            return [self._client_result(kind, item)]
        if kind in OUTPUTS:
            return [self._output(kind, item)]
        if kind in _MCP or kind in _ARGUMENTS_IN or kind in _ARGUMENTS_OF or _is_call(kind, item):
            return self._provider_call(index, kind, item)
        return [OpaquePart(NAME, item)]

    # ── messages ───────────────────────────────────────────────────────────

    def _message(self, item: dict[str, Any]) -> list[AnyPart]:
        envelope = without(item, "content")
        content = item.get("content")
        if isinstance(content, str):
            content = [{"type": "output_text" if item.get("role") == "assistant" else "input_text", "text": content}]
        if not isinstance(content, list) or not content:
            return [OpaquePart(NAME, item)]
        parts: list[AnyPart] = []
        for index, piece in enumerate(content):
            part = read_content(piece, {"message": envelope, "index": index})
            parts.append(OpaquePart(NAME, {**envelope, "content": [piece]}) if part is None else part)
        return parts

    # ── calls ──────────────────────────────────────────────────────────────

    def _id(self, index: int, *candidates: Any) -> str:
        """The first free id: the call's own, the one a stream told of, the item's; else one made from the place."""
        first, *others = candidates
        for id in (first, self._given.get(index), *others):
            if isinstance(id, str) and id and id not in self._taken:
                self._taken.add(id)
                return id
        made = synthetic_id(index)
        self._taken.add(made)
        return made

    def _client_call(self, index: int, kind: str, item: dict[str, Any]) -> CallPart:
        field = _CALLED[kind]
        text = item.get(field)
        call = _native_call(kind, item, self._id(index, item.get("call_id")))
        rest = without(item, "type", "call_id", "name", field, "namespace")
        said: dict[str, Any] = {"item": rest} if rest else {}
        if kind != "function_call":
            said["type"] = kind
        arguments = call.arguments
        if text != (arguments if isinstance(arguments, str) else compact(arguments)) and field in item:
            said["arguments"] = text
        for name in ("call_id", "name", "namespace"):
            if name in item and not isinstance(item[name], str):
                said.setdefault("item", {})[name] = item[name]
        return CallPart(call, metadata=own(said))

    def _provider_call(self, index: int, kind: str, item: dict[str, Any]) -> list[AnyPart]:
        mcp = kind in _MCP
        id = self._id(index, item.get("call_id"), item.get("id"))
        call = NativeCall(
            id=id,
            name=as_text(item.get("name")) or "" if mcp else kind.removesuffix("_call"),
            arguments=_provider_arguments(kind, item),
            namespace=as_text(item.get("server_label")) if mcp else None,
            executed_by=self._runner(kind, item),
            item=item,
        )
        if kind == "tool_search_call" and call.executed_by is ExecutedBy.PROVIDER:
            self._searches.append(id)
        parts: list[AnyPart] = [CallPart(call)]
        found = _inner_result(kind, item)
        if found is not None:
            content, is_error = found
            result = NativeResult(
                id, content, is_error, call.name, call.namespace, executed_by=ExecutedBy.PROVIDER, item=item
            )
            parts.append(ResultPart(result))
        return parts

    def _runner(self, kind: str, item: dict[str, Any]) -> ExecutedBy:
        if kind == "shell_call":
            where = as_text(as_object(item.get("environment")).get("type")) or ""
            there = where.startswith("container") or as_name(item.get("call_id")) in self._run_there
        elif kind == "tool_search_call":
            there = item.get("execution") != "client"
        else:
            there = kind not in _RUN_BY_US
        return ExecutedBy.PROVIDER if there else ExecutedBy.CLIENT

    # ── results ────────────────────────────────────────────────────────────

    def _client_result(self, kind: str, item: dict[str, Any]) -> AnyPart:
        result = _native_result(item)
        if result is None:
            return OpaquePart(NAME, item)
        said: dict[str, Any] = {}
        rest = without(item, "type", "call_id", "output", "name", "namespace")
        if rest:
            said["item"] = rest
        if kind != "function_call_output":
            said["type"] = kind
        if isinstance(item.get("output"), list):  # details of its pieces have no typed place
            said["output"] = item["output"]
        if result.name is not None or result.namespace is not None:
            said["named"] = True
        return ResultPart(result, metadata=own(said))

    def _output(self, kind: str, item: dict[str, Any]) -> AnyPart:
        there = kind == "program_output" or (kind == "tool_search_output" and item.get("execution") != "client")
        call_id = as_name(item.get("call_id"))
        if kind == "local_shell_call_output":
            call_id = call_id or as_name(item.get("id"))
        elif kind == "shell_call_output" and call_id in self._run_there:
            there = True
        elif kind == "tool_search_output" and there:
            earlier = self._searches.pop(0) if self._searches else None
            call_id = call_id or earlier
        content, is_error = _outer_result(kind, item)
        return ResultPart(
            NativeResult(
                call_id or as_name(item.get("id")) or "",
                content,
                is_error,
                OUTPUTS[kind],
                executed_by=ExecutedBy.PROVIDER if there else ExecutedBy.CLIENT,
                item=item,
            )
        )


def _native_call(kind: str, item: dict[str, Any], id: str) -> NativeCall:
    """The call that an item of ours is."""
    text = item.get(_CALLED[kind])
    arguments: dict[str, Any] | str
    if kind == "custom_tool_call":
        arguments = text if isinstance(text, str) else ""
    else:
        arguments = read_arguments(text) if text is None or isinstance(text, str) else as_object(text)
    return NativeCall(id, as_text(item.get("name")) or "", arguments, as_text(item.get("namespace")))


def _native_result(item: dict[str, Any]) -> NativeResult | None:
    """The result that an item of ours is; `None` when it says none, or not of which call."""
    call_id, content = as_text(item.get("call_id")), read_output(item.get("output"))
    if call_id is None or content is None:
        return None
    return NativeResult(call_id, content, None, as_text(item.get("name")), as_text(item.get("namespace")))


def read_logged(item: dict[str, Any]) -> NativeCall | NativeResult | None:
    """The client's own call or its result that an item is, without what only writing the item again needs.

    `None` for all else, which `read_items` reads: the two are the same to whoever does not write.
    """
    kind = item.get("type")
    if not isinstance(kind, str):
        return None
    if kind in _CALLED:
        id = item.get("call_id")
        return _native_call(kind, item, id if isinstance(id, str) and id else synthetic_id(0))
    return _native_result(item) if kind in _ANSWERED else None


def read_items(items: Sequence[Any], *, reply: bool, ids: Mapping[int, str] | None = None) -> tuple[AnyPart, ...]:
    """The parts of all items that are objects."""
    reader = ItemReader(items, reply=reply, ids=ids)
    return tuple(
        part for index, item in enumerate(items) if isinstance(item, dict) for part in reader.read(index, item)
    )


def synthetic_id(index: int) -> str:
    """An id for a call that has none, from its place among the items."""
    return made_id(index)


def compact(value: Any) -> str:
    """JSON as this API writes arguments, without spaces; nothing for what is nested too deep to be written."""
    return json_text(value, too_deep="")


def _is_call(kind: str, item: dict[str, Any]) -> bool:
    """Whether an item of an unlisted type is a call another vendor ran (`x_search_call`)."""
    return kind.endswith("_call") and isinstance(item.get("arguments"), str | dict)


def _provider_arguments(kind: str, item: dict[str, Any]) -> dict[str, Any] | str:
    said = item.get(_ARGUMENTS_IN.get(kind, ""))
    if isinstance(said, dict):
        return said
    fields = {name: item[name] for name in _ARGUMENTS_OF.get(kind, ()) if name in item}
    text = item.get("arguments")
    if fields or text is None:
        return fields
    return read_arguments(text) if isinstance(text, str) else as_object(text)


# ── reasoning ────────────────────────────────────────────────────────────────


def read_reasoning(item: dict[str, Any]) -> ThinkingPart:
    """A thought: its summary and its own words, where they are given, joined; where each piece ends is remembered."""
    texts: list[str] = []
    said: dict[str, Any] = {}
    rest = without(item, "type")
    for field in ("summary", "content"):
        pieces = item.get(field)
        if isinstance(pieces, list):
            del rest[field]
            said[field] = [_piece(piece, texts) for piece in pieces]
    encrypted, id = as_text(item.get("encrypted_content")), as_text(item.get("id"))
    if encrypted is not None:
        del rest["encrypted_content"]
    if id is not None:
        del rest["id"]
    if rest:
        said["item"] = rest
    return ThinkingPart(SEPARATOR.join(texts), encrypted=encrypted, id=id, metadata=own({"reasoning": said}))


def _piece(piece: Any, texts: list[str]) -> list[Any]:
    """[its length, what else it says]; a piece without text is kept whole, without a length."""
    if not isinstance(piece, dict) or not isinstance(piece.get("text"), str):
        return [None, piece]
    texts.append(piece["text"])
    return [len(piece["text"]), without(piece, "text")]


# ── what calls gave ──────────────────────────────────────────────────────────

Content = str | tuple[str | Media, ...]


def _inner_result(kind: str, item: dict[str, Any]) -> tuple[Content, bool | None] | None:
    """What a call the provider ran says of its result in the same item; `None` when it says nothing."""
    match kind:
        case "mcp_call":
            return _mcp_result(item)
        case "code_interpreter_call" if isinstance(item.get("outputs"), list):
            return _flat(_interpreted(one) for one in item["outputs"]), None
        case "file_search_call" if isinstance(item.get("results"), list):
            return _flat(texts_of(item["results"], "text")), None
        case "image_generation_call" if as_name(item.get("result")) is not None:
            return (_image(item["result"], item),), None
        case "web_search_call" if isinstance(as_object(item.get("action")).get("sources"), list):
            return "\n".join(texts_of(item["action"]["sources"], "url", "name")), None
    return None


def _mcp_result(item: dict[str, Any]) -> tuple[Content, bool | None] | None:
    error, output = item.get("error"), item.get("output")
    if error is not None:
        details = as_object(error)
        words = as_text(error) or as_text(details.get("message")) or "\n".join(texts_of(details.get("content"), "text"))
        return as_name(output) or words or compact(error), True
    if output is None:
        return None
    return output if isinstance(output, str) else compact(output), None


def _flat(pieces: Iterable[str | Media]) -> Content:
    """One text as itself, several pieces as they are."""
    content = tuple(pieces)
    if not content:
        return ""
    return content[0] if len(content) == 1 and isinstance(content[0], str) else content


def _interpreted(output: Any) -> str | Media:
    said = as_object(output)
    image = located(as_name(said.get("url")), None, "image/*") if said.get("type") == "image" else None
    logs = as_text(said.get("logs"))
    return image if image is not None else compact(output) if logs is None else logs


def _image(result: str, item: dict[str, Any]) -> Media:
    kind = f"image/{as_name(item.get('output_format')) or 'png'}"
    return Media(kind, url=result) if result.startswith(("http://", "https://")) else Media(kind, data=result)


def image_chunk(event: dict[str, Any]) -> Media | None:
    """A picture that is still being made."""
    data = as_name(event.get("partial_image_b64"))
    return None if data is None else _image(data, event)


def _outer_result(kind: str, item: dict[str, Any]) -> tuple[Content, bool | None]:
    """What an output item says."""
    failed = True if item.get("status") == "failed" else None
    match kind:
        case "program_output":
            return _as_content(item.get("result")), failed
        case "tool_search_output":
            return compact(item.get("tools", [])), failed
        case "apply_patch_call_output":
            return _as_content(item.get("output")), failed
        case "computer_call_output":
            picture = read_media(as_object(item.get("output")))
            return (compact(item.get("output")) if picture is None else (picture,)), failed
    return _as_content(item.get("output")), failed


def _as_content(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)
