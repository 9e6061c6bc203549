"""Whole requests of this protocol: written, and read from a recorded body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from dragoman.apis.base.api import Encoded, Tools
from dragoman.apis.base.conversation_order import History, Remark, Turn, conversation_key
from dragoman.apis.base.lowered import Lowering
from dragoman.apis.base.message_reader import MessageReader
from dragoman.apis.base.options import with_options
from dragoman.apis.lowering import OPENAI_STRICT, lower
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.json_values import as_object, as_text
from dragoman.model.request import Features, Request, Thinking

from .content import read_content
from .families import effort, unchecked_reasoning
from .fields import NAME, mine, without
from .items import ItemReader
from .tools import read_choice, read_tools, write_choice
from .writing import ItemWriter

_ROLES: tuple[conv.Role, ...] = ("system", "developer", "user")
_TOLD = ("additional_tools", "mcp_approval_response", "configuration_update")
"""Items without a role that are told to the model, not by it."""


def read_request(body: dict[str, Any], model: str | None, read: MessageReader | None = None) -> Request:
    """A recorded request; what has no typed place, or not with this value, is an option. `read` has its items."""
    if not isinstance(body, dict):
        raise EngineError(f"a JSON value of type {type(body).__name__} is no request of the Responses API")
    options = dict(body)
    fields: dict[str, Any] = {
        "model": model or as_text(body.get("model")) or "",
        "conversation": _conversation(options, read),
    }
    if isinstance(options.get("model"), str):
        del options["model"]
    definitions = read_tools(options.get("tools"))
    if definitions is not None:
        del options["tools"]
        fields["definitions"] = definitions
    choice = read_choice(options.get("tool_choice"), definitions or ())
    if choice is not None:
        del options["tool_choice"]
        fields["choice"] = choice
    for name, field, kinds in _PLAIN:
        value = options.get(name)
        if isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool)):
            fields[field] = options.pop(name)
    _take_thinking(options, fields)
    _take_schema(options, fields)
    return Request(**fields, provider_options=options)


_PLAIN: Sequence[tuple[str, str, Any]] = (
    ("parallel_tool_calls", "parallel", bool),
    ("max_output_tokens", "max_output_tokens", int),
    ("temperature", "temperature", int | float),
    ("top_p", "top_p", int | float),
    ("stream", "stream", bool),
)


def _take_thinking(options: dict[str, Any], fields: dict[str, Any]) -> None:
    reasoning = options.get("reasoning")
    word = as_object(reasoning).get("effort")
    levels = {"none": "off", "low": "low", "medium": "medium", "high": "high"}
    if not isinstance(word, str) or word not in levels:
        return
    thinking = Thinking(level=levels[word])  # type: ignore[arg-type]
    if effort(thinking, fields["model"]) != (word, None):
        return
    fields["thinking"] = thinking
    options["reasoning"] = without(as_object(reasoning), "effort")
    if not options["reasoning"]:
        del options["reasoning"]


def _take_schema(options: dict[str, Any], fields: dict[str, Any]) -> None:
    form = as_object(as_object(options.get("text")).get("format"))
    if form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
        fields["response_schema"] = form["schema"]
        rest = without(form, "schema", "type")
        rest.setdefault("strict", None)  # what was not said is not decided for it
        options["text"] = {**options["text"], "format": rest}


# ── the conversation ─────────────────────────────────────────────────────────


def _conversation(options: dict[str, Any], read: MessageReader | None) -> tuple[conv.ConversationItem, ...]:
    conversation: list[conv.Message] = []
    if isinstance(options.get("instructions"), str):
        conversation.append(conv.Message("system", (conv.TextPart(options.pop("instructions")),)))
    given = options.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if read is None and isinstance(given, list):
        read = Reader()
        if all(map(read.take, given)):
            del options["input"]
        else:
            read = None
    return (*conversation, *(() if read is None else read.ended()))


class Reader(MessageReader):
    """Items as messages: what the model said, thought and called without a break is one of them."""

    def __init__(self) -> None:
        super().__init__()
        self._items, self._index = ItemReader((), reply=False), 0
        self._together: list[conv.AnyPart] = []
        self._role: conv.Role = "assistant"

    def take(self, item: Any) -> bool:
        if not isinstance(item, dict):
            return False
        index, self._index = self._index, self._index + 1
        told = _told(item)
        if told is not None:
            self._end()
            self.messages.append(told)
            return True
        parts = self._items.read(index, item)
        of: conv.Role = "tool" if all(_is_ours(part) for part in parts) else "assistant"
        if of != self._role:
            self._end()
            self._role = of
        self._together += parts
        return True

    def ended(self) -> list[conv.Message]:
        self._end()
        return self.messages

    def _end(self) -> None:
        if self._together:
            provenance = conv.Provenance(api=NAME) if self._role == "assistant" else None
            self.messages.append(conv.Message(self._role, tuple(self._together), provenance))
            self._together = []

    def fork(self) -> Self:
        new = super().fork()
        new._items, new._together = self._items.fork(), [*self._together]
        return new


def _is_ours(part: conv.AnyPart) -> bool:
    return isinstance(part, conv.ResultPart) and part.result.executed_by is ExecutedBy.CLIENT


def _told(item: dict[str, Any]) -> conv.Message | None:
    """A message to the model; `None` for everything of its own and for results."""
    kind = item.get("type")
    if kind in _TOLD:
        said = item.get("role")
        return conv.Message(said if said in _ROLES else "user", (conv.OpaquePart(NAME, item),))
    role = item.get("role")
    if role not in _ROLES or kind not in ("message", None):
        return None
    envelope, content = without(item, "content"), item.get("content")
    if isinstance(content, str):
        return conv.Message(role, (conv.TextPart(content),), metadata={NAME: envelope})
    if not isinstance(content, list) or not content:
        return conv.Message(role, (conv.OpaquePart(NAME, item),))
    parts = ((piece, read_content(piece, {})) for piece in content)
    read = tuple(
        conv.OpaquePart(NAME, {**envelope, "content": [piece]}) if part is None else part for piece, part in parts
    )
    return conv.Message(role, read, metadata={NAME: envelope})


def write_request(request: Request, history: History, tools: Tools | None, features: Features) -> Encoded:
    """A request as it goes out."""
    report: list[Remark] = []
    body: dict[str, Any] = {"model": request.model} if request.model else {}  # a stored prompt has its own
    turns = history.turns
    if turns and _is_instructions(turns[0]):
        (part,) = turns[0].parts
        assert isinstance(part, conv.TextPart)
        body["instructions"] = part.text
        turns = turns[1:]
    writer = ItemWriter(
        definitions=request.definitions,
        freeform=features.freeform_tools,
        stored=request.provider_options.get("store") is not False,
        unchecked=unchecked_reasoning(request.model),
    )
    for turn in turns:
        writer.turn(turn)
    report += writer.remarks
    if writer.items or "prompt" not in request.provider_options:
        body["input"] = writer.items
    if tools is not None:
        body["tools"] = tools.wire
    choice = write_choice(request.choice, request.definitions)
    if choice is not None:
        body["tool_choice"] = choice
    _write_settings(request, features, body, report)
    return Encoded(
        with_options(body, request.provider_options, report),
        path="/responses",
        lowering=tools.lowering if tools is not None else Lowering(),
        report=tuple(report),
        tools=tools,
    )


def _write_settings(request: Request, features: Features, body: dict[str, Any], report: list[Remark]) -> None:
    said = {
        "parallel_tool_calls": request.parallel,
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stream": True if request.stream else None,
    }
    body.update({name: value for name, value in said.items() if value is not None})
    if request.cache and features.cache_key:
        body["prompt_cache_key"] = conversation_key(request.conversation)
    if request.thinking is not None and features.thinking:
        word, remark = effort(request.thinking, request.model)
        body["reasoning"] = {"effort": word}
        if remark is not None:
            report.append(Remark("thinking", remark))
    if request.response_schema is not None:
        body["text"] = {"format": _answer_format(request)}
    if request.seed is not None:
        report.append(Remark("seed", "this API takes no seed: it was left out"))


def _is_instructions(turn: Turn) -> bool:
    """Whether a turn is a system text of ours; one that was read from among the items goes back there."""
    text = len(turn.parts) == 1 and isinstance(turn.parts[0], conv.TextPart) and not mine(turn.parts[0].metadata)
    return turn.role == "system" and text and NAME not in turn.metadata


def _answer_format(request: Request) -> dict[str, Any]:
    """The form of the answer: strict where the schema needs no change for it, since nothing undoes one in an answer."""
    schema = request.response_schema or {}
    asked = request.provider_options.get("text")
    asked = asked.get("format") if isinstance(asked, dict) else None
    form = {"type": "json_schema", "name": "answer", "schema": schema}
    if isinstance(asked, dict) and "strict" in asked:
        return form
    lowered = lower(schema, OPENAI_STRICT)
    return {**form, "strict": lowered.lossless and lowered.schema == schema}
