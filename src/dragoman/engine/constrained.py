"""Tools for models too small for tool calling: every reply is one JSON object, and decoding is held to its schema.

The schema has one branch for text, `{"say": …}`, and one for each tool, `{"call": name, "arguments": {…}}`. After each
result the model is reminded of its task: without that it goes round in circles. Earlier calls and their results stand
in the conversation in the same form. It works with every server that takes a `json_schema` beside OpenAI's chat
(llama.cpp).

Rule: what is offered is short. A small model fills in what it is shown, so a tool is shown with the parameters it
needs, and with its first one when it needs none; `optional=True` shows all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.apis import Encoded, Lowering, PartialJson, Remark
from dragoman.errors import DefinitionError
from dragoman.model import (
    AnyChunk,
    AnyPart,
    ArgumentsChunk,
    CallFinished,
    CallPart,
    CallStarted,
    Features,
    Finished,
    FinishReason,
    FreeformDefinition,
    FunctionDefinition,
    Limits,
    Media,
    Message,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    Reply,
    Request,
    Restarted,
    ResultPart,
    TextChunk,
    TextPart,
    ThinkingPart,
    assistant,
    system,
    user,
)

if TYPE_CHECKING:
    from dragoman.model import ConversationItem

    from .engine import HttpEngine, Observer

Offered = FunctionDefinition | FreeformDefinition

HOW_TO_ANSWER = """\
Answer with one JSON object and nothing else, one of these:
{tools}
- {{"say": "<text>"}}: Answer the user. This ends the task.

After a call you are told its result. Make the calls the task needs, one at a time, in its order, and no others.
You do not know what is in a file before you have read it, nor what a command prints before you have run it.
As soon as the task is done, or a result holds the answer, say it. When no tool is needed, say the answer at once."""

NEXT = 'The task was: {task}\nIf every part of it is done, answer with {{"say": ...}}. Else make the next call.'
"""Told after each result: a small model forgets what it was asked."""

_REMEMBERED = 500
"""Characters of a task it is reminded of."""
_TEXT: dict[str, Any] = {"type": "string"}
_UNREAD = ("pattern", "format", "default", "description", "examples", "title")
"""Words of a schema that do not help decoding, or that llama.cpp cannot read; arguments are checked all the same."""


class ConstrainedEngine:
    """Asks through another engine. One call a reply; a text streams, a call's arguments come at once."""

    name = "constrained"

    def __init__(
        self, inner: HttpEngine, *, optional: bool = False, max_output_tokens: int = 1024, temperature: float = 0.0
    ) -> None:
        self.inner, self.optional = inner, optional
        self.max_output_tokens, self.temperature = max_output_tokens, temperature

    @property
    def provider(self) -> str:
        return self.inner.provider

    def limits(self, model: str) -> Limits:
        return Limits()

    def features(self, model: str) -> Features:
        return Features(
            choices=("auto", "none", "required", "one", "subset"),
            freeform_tools=True,
            namespaces=True,
            streaming=True,
            response_schema=True,
        )

    def lowering(self, request: Request) -> Lowering:
        return Lowering()

    def prepare(self, request: Request) -> Encoded:
        encoded = self.inner.prepare(self.constrained(request))
        left_out = [
            Remark(f"tools.{name_of(one)}", f"not shown to the model: {', '.join(hidden)}")
            for one in _functions(request)
            if (hidden := self._hidden(one))
        ]
        return msgspec.structs.replace(encoded, report=(*encoded.report, *left_out))

    async def ask(self, request: Request, observe: Observer | None = None) -> Reply:
        """The model's reply, its call read from the JSON it was held to."""
        offered = _callable(request)
        if not offered:
            return await self.inner.ask(self.constrained(request), observe)
        reading = _Reading(offered, observe)
        reply = await self.inner.ask(self.constrained(request), None if observe is None else reading.take)
        return reading.reply(reply)

    async def close(self) -> None:
        """Closes the engine it asks through."""
        await self.inner.close()

    # ── the request ────────────────────────────────────────────────────────

    def constrained(self, request: Request) -> Request:
        """The same request without tools: they stand in the instructions, the schema and the conversation."""
        hosted = [one.id for one in request.definitions if isinstance(one, ProviderDefinition)]
        if hosted:
            problems = [f"{id} is run by its provider, and there is none here: leave it out" for id in hosted]
            raise DefinitionError(f"the request to {request.model}", problems)
        offered = _callable(request)
        options = dict(request.provider_options)
        schema = self.schema(offered, request) if offered else request.response_schema
        if schema is not None:
            options["json_schema"] = schema
        said = tuple(_plain(request.conversation))
        return msgspec.structs.replace(
            request,
            conversation=(system(self._instructions(said, offered)), *_without_system(said)) if offered else said,
            definitions=(),
            choice=msgspec.structs.replace(request.choice, mode="auto", names=(), required=False),
            parallel=None,
            response_schema=None,
            temperature=self.temperature if request.temperature is None else request.temperature,
            max_output_tokens=request.max_output_tokens or self.max_output_tokens,
            provider_options=options,
        )

    def schema(self, offered: Sequence[Offered], request: Request) -> dict[str, Any]:
        """What a reply may be: a text, unless a call is wanted, or a call of one of the tools.

        A tool that was called again with the same arguments and gave the same again is not offered any longer.
        """
        if _must_call(request):
            return {"oneOf": [self._call(definition) for definition in offered]}
        useless = _Turn(request.conversation).repeated()
        calls = [self._call(one) for one in offered if one.name not in useless]
        return {"oneOf": [_branch({"say": request.response_schema or _TEXT}), *calls]}

    def _call(self, definition: Offered) -> dict[str, Any]:
        return _branch({"call": {"const": name_of(definition)}, "arguments": self._arguments(definition)})

    def _arguments(self, definition: Offered) -> dict[str, Any]:
        if isinstance(definition, FreeformDefinition):
            return _TEXT
        hidden = self._hidden(definition)
        schema = definition.parameters
        shown = {name: one for name, one in schema.get("properties", {}).items() if name not in hidden}
        needed: dict[str, Any] = _decodable({**schema, "type": "object", "properties": shown})
        return needed

    def _hidden(self, definition: Offered) -> tuple[str, ...]:
        """Parameters the model is not shown."""
        if self.optional or isinstance(definition, FreeformDefinition):
            return ()
        names = tuple(definition.parameters.get("properties", {}))
        needed = set(definition.parameters.get("required", ())) or set(names[:1])
        return tuple(name for name in names if name not in needed)

    def _instructions(self, said: Sequence[ConversationItem], offered: Sequence[Offered]) -> str:
        own = [item.text for item in said if isinstance(item, Message) and item.role in ("system", "developer")]
        tools = "\n".join(self._line(definition) for definition in offered)
        return "\n\n".join([*own, HOW_TO_ANSWER.format(tools=tools)])

    def _line(self, definition: Offered) -> str:
        """A tool in one line: its call, and the first sentence about it."""
        about = definition.description.split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
        arguments = self._arguments(definition)
        shown = {name: _kind(one) for name, one in arguments.get("properties", {}).items()}
        example = "<text>" if isinstance(definition, FreeformDefinition) else shown
        return f"- {_json({'call': name_of(definition), 'arguments': example})}: {about}."


def name_of(definition: Offered) -> str:
    """The name a model calls a tool by."""
    return definition.name if definition.namespace is None else f"{definition.namespace}.{definition.name}"


def _functions(request: Request) -> list[Offered]:
    return [one for one in request.definitions if not isinstance(one, ProviderDefinition)]


def _callable(request: Request) -> list[Offered]:
    """The tools the model may call, as far as the choice leaves them."""
    choice = request.choice
    if choice.mode == "none":
        return []
    offered = _functions(request)
    return [one for one in offered if {one.name, name_of(one)} & set(choice.names)] if choice.names else offered


def _must_call(request: Request) -> bool:
    return request.choice.mode in ("required", "one") or request.choice.required


def _branch(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _decodable(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_decodable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for word, value in schema.items():
        if word in ("properties", "$defs", "definitions") and isinstance(value, dict):
            kept[word] = {name: _decodable(one) for name, one in value.items()}
        elif word in ("enum", "const", "required"):
            kept[word] = value
        elif word not in _UNREAD:
            kept[word] = _decodable(value)
    return kept


def _kind(schema: Mapping[str, Any]) -> Any:
    """A parameter as an example shows it: what it may be, in few words."""
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"])
    return f"<{schema.get('type', 'value')}>"


def _json(value: Any) -> str:
    # With spaces: that is how JSON mostly looks where models learned it.
    import json

    return json.dumps(value, ensure_ascii=False)


class _Turn:
    """What happened since the user last spoke."""

    def __init__(self, conversation: Sequence[ConversationItem]) -> None:
        self.task = ""
        self.calls: dict[str, NativeCall] = {}
        self.results: list[NativeResult] = []
        for item in conversation:
            for part in item.parts:
                self._take(part, item)

    def _take(self, part: AnyPart, item: ConversationItem) -> None:
        if isinstance(part, CallPart):
            self.calls[part.call.id] = part.call
        elif isinstance(part, ResultPart):
            self.results.append(part.result)
        elif item.role == "user" and isinstance(item, Message):
            self.task, self.calls, self.results = item.text[:_REMEMBERED], {}, []

    def repeated(self) -> set[str]:
        """Names of tools that were asked the same again and gave the same again."""
        seen, twice = list[Any](), set[str]()
        for result in self.results:
            call = self.calls.get(result.call_id)
            if call is not None:
                one = (call.name, call.arguments, result.content)
                if one in seen:
                    twice.add(call.name)
                seen.append(one)
        return twice

    def reminder(self) -> str:
        return NEXT.format(task=self.task) if self.task else ""


# ── the conversation ─────────────────────────────────────────────────────────


def _without_system(said: Sequence[ConversationItem]) -> Iterator[ConversationItem]:
    return (item for item in said if item.role not in ("system", "developer"))


def _plain(conversation: Sequence[ConversationItem]) -> Iterator[ConversationItem]:
    """The conversation with calls and results in words; everything else as it was."""
    names: dict[str, str] = {}
    for place, item in enumerate(conversation):
        parts = item.parts
        if item.role == "assistant":
            calls = [part.call for part in parts if isinstance(part, CallPart)]
            names |= {call.id: call.name for call in calls}
            kept = [line for part in parts if (line := _said(part)) is not None]
            yield assistant("\n".join(kept))
        elif any(isinstance(part, ResultPart) for part in parts):
            results = [_told(part.result, names) for part in parts if isinstance(part, ResultPart)]
            rest = tuple(part for part in parts if not isinstance(part, ResultPart))
            reminder = _Turn(conversation[: place + 1]).reminder()
            yield user("\n\n".join([*results, *filter(None, [reminder])]), *rest)
        elif isinstance(item, Message):
            yield item


def _said(part: AnyPart) -> str | None:
    if isinstance(part, CallPart):
        return _json({"call": part.call.name, "arguments": part.call.arguments})
    if isinstance(part, ThinkingPart):
        return None
    return _json({"say": part.text}) if isinstance(part, TextPart) and part.text else None


def _told(result: NativeResult, names: Mapping[str, str]) -> str:
    content = result.content
    pieces = (content,) if isinstance(content, str) else content
    text = "\n".join(f"[{piece.media_type}]" if isinstance(piece, Media) else piece for piece in pieces)
    name = result.name or names.get(result.call_id, "the tool")
    failed = " (it failed)" if result.is_error else ""
    return f"Result of {name}{failed}:\n{text}"


# ── the reply ────────────────────────────────────────────────────────────────


class _Reading:
    """Reads the JSON of one reply, and tells the observer of it as it comes."""

    def __init__(self, offered: Sequence[Offered], observe: Observer | None) -> None:
        self._offered = {name_of(one): one for one in offered}
        self._observe = observe
        self._begin()

    def _begin(self) -> None:
        import uuid

        self._view, self._text, self._told = PartialJson(), "", 0
        self._id = f"call_{uuid.uuid4().hex[:24]}"
        self._started = False

    def take(self, chunk: AnyChunk) -> bool | None:
        """Passes a chunk on, in its own terms. True when something began because of it."""
        assert self._observe is not None
        if isinstance(chunk, TextChunk):
            self._text += chunk.text
            self._view.feed(chunk.text)
            began = [self._observe(one) for one in self._news()]
            return any(began) or None
        if isinstance(chunk, Restarted):
            self._begin()
        if isinstance(chunk, Finished):
            return None  # told when the reply was read: a call changes the reason
        return self._observe(chunk)

    def _news(self) -> Iterator[AnyChunk]:
        value = self._view.value
        if not isinstance(value, dict):
            return
        said = value.get("say")
        if isinstance(said, str) and len(said) > self._told:
            yield TextChunk(said[self._told :])
            self._told = len(said)
        if "arguments" in value and not self._started:
            self._started = True
            definition = self._offered[value["call"]]
            yield CallStarted(self._id, definition.name, definition.namespace)

    def reply(self, reply: Reply) -> Reply:
        """The reply in our terms. What was cut off stays a call with unfinished arguments, or an unfinished text."""
        view = PartialJson()
        view.feed(reply.text)
        value = view.value if isinstance(view.value, dict) else {}
        kept = tuple(part for part in reply.parts if not isinstance(part, TextPart))
        finish, part = reply.finish, self._said(value.get("say", ""))
        if "call" in value and "arguments" in value:
            part = CallPart(self._call(value, reply.text, whole=view.complete))
            finish = FinishReason.CALLS if finish is FinishReason.STOP else finish
        result = msgspec.structs.replace(reply, parts=(*kept, part), finish=finish)
        if self._observe is not None:
            for chunk in self._rest(part, result):
                self._observe(chunk)
        return result

    @staticmethod
    def _said(value: Any) -> AnyPart:
        return TextPart(value if isinstance(value, str) else msgspec.json.encode(value).decode())

    def _call(self, value: dict[str, Any], text: str, *, whole: bool) -> NativeCall:
        definition = self._offered[value["call"]]
        arguments = value["arguments"] if whole else text.partition('"arguments"')[2].lstrip(" \t\n\r:")
        return NativeCall(self._id, definition.name, arguments, definition.namespace)

    def _rest(self, part: AnyPart, reply: Reply) -> Iterator[AnyChunk]:
        if isinstance(part, CallPart):
            call = part.call
            if not self._started:
                yield CallStarted(call.id, call.name, call.namespace)
            said = call.arguments
            yield ArgumentsChunk(call.id, said if isinstance(said, str) else msgspec.json.encode(said).decode())
            yield CallFinished(call)
        elif isinstance(part, TextPart) and len(part.text) > self._told:
            yield TextChunk(part.text[self._told :])
        yield Finished(reply.finish)
