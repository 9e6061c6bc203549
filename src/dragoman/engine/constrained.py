"""Tools for models too small for tool calling: every answer is one JSON object, and decoding is held to its schema.

A small model makes one call well and loses its way over several, so it plans first and is then led through its plan.
To a task it answers `{"say": …}` or `{"plan": ["tool: what for", …]}`. Then each step is asked for by itself, and
only `{"call": tool, "arguments": {…}}` of that step's tool can be said; after the last, only the answer. When a step
failed, every tool and the answer are open until it is done after all; a model that then does again what it did may
only answer. It works with every server that takes a `json_schema` beside OpenAI's chat (llama.cpp).

Rule: what is offered is short. A small model fills in what it is shown, so a tool is shown with the parameters it
needs, and with its first one when it needs none; `optional=True` shows all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.apis import Encoded, Lowering, PartialJson, Remark
from dragoman.errors import DefinitionError
from dragoman.model import Media, NativeCall, NativeResult, conversation as conv, request as req

from .loop import NOT_DONE, is_by_client

if TYPE_CHECKING:
    from dragoman.model import ConversationItem

    from .engine import HttpEngine, Observer

Offered = req.FunctionDefinition | req.FreeformDefinition

HOW_TO_ANSWER = """\
Do the user's task with these tools:
{tools}

If you know the answer without a tool, or may not use one, say it: {{"say": "<answer>"}}
Else answer with a plan: {{"plan": ["<tool>: <what for>", ...]}}
It lists every step of the task in its order: one for each file to read or to write, and for each command to run.
What a file holds is not known before it was read, nor what a command prints before it ran.{example}
Then you are asked for each step, and answer with its call: {{"call": "<tool>", "arguments": {{...}}}}"""

STEP = "The task: {task}\nNow do step {number} of {count}, going by the results so far: {what}"
"""Told before each step of the plan."""
LAST = "The task: {task}\nEvery step is done. Now say the answer, from the results."
AGAIN = "The task: {task}\nThat was done before. Now say the answer, from the results."
NEXT = "The task: {task}\nCall what comes next or, when all is done, say the answer."
FAILED = "The task: {task}\nThat failed. Call what leads on, or say what is wrong."

OURS = "constrained"
"""Where a thought keeps the plan it is."""
_REMEMBERED = 500
"""Characters of a task it is reminded of."""
_STEPS, _WORDS = 6, 80
"""How long a plan may be, and the words for one of its steps."""
_FIRST_WORDS = re.compile(r"\n|\. |; |, or ")
_PLACEHOLDER = re.compile(r"['\"]?<[^<>]+>['\"]?")
_TEXT: dict[str, Any] = {"type": "string"}
_UNREAD = ("pattern", "format", "default", "description", "examples", "title")
"""Words of a schema that do not help decoding, or that llama.cpp (October 2026) cannot read; arguments are checked all
the same."""


class ConstrainedEngine:
    """Asks through another engine. One call a reply; a text streams, a call's arguments come at once.

    Without `held` the model gets the same instructions, and decoding is free: it may write anything. A reply that is no
    JSON object of the form asked for, alone or in a code fence, is text, and a call of a tool that does not exist or
    with arguments that do not fit fails, as with any other model. That is for measuring what holding it does.
    """

    name = "constrained"
    reads_pages = False
    """A whole page is more than a small model can take in."""
    guarded = True
    """A model this small calls things done that are not: runs are held to their task unless told otherwise."""

    def __init__(
        self,
        inner: HttpEngine,
        *,
        optional: bool = False,
        max_output_tokens: int = 1024,
        temperature: float = 0.0,
        held: bool = True,
    ) -> None:
        self.inner, self.optional, self.held = inner, optional, held
        self.max_output_tokens, self.temperature = max_output_tokens, temperature

    @property
    def provider(self) -> str:
        return self.inner.provider

    def limits(self, model: str) -> req.Limits:
        return req.Limits()

    def features(self, model: str) -> req.Features:
        return req.Features(
            choices=("auto", "none", "required", "one", "subset"),
            freeform_tools=True,
            namespaces=True,
            streaming=True,
            response_schema=self.held,
        )

    def lowering(self, request: req.Request) -> Lowering:
        return Lowering()

    def prepare(self, request: req.Request) -> Encoded:
        encoded = self.inner.prepare(self.constrained(request))
        left_out = [
            Remark(f"tools.{name_of(one)}", f"not shown to the model: {', '.join(hidden)}")
            for one in _functions(request)
            if (hidden := self._hidden(one))
        ]
        return msgspec.structs.replace(encoded, report=(*encoded.report, *left_out))

    async def ask(self, request: req.Request, observe: Observer | None = None) -> conv.Reply:
        """The model's reply, its call read from the JSON it was held to."""
        offered = self.offered(request)
        if not offered:
            return await self.inner.ask(self.constrained(request), observe)
        reply = await self._asked(request, offered, observe)
        plan = next((part for part in reply.parts if _is_plan(part)), None)
        if plan is None or reply.calls:
            return reply
        planned = msgspec.structs.replace(request, conversation=(*request.conversation, reply))
        first = await self._asked(planned, offered, observe)
        return msgspec.structs.replace(first, parts=(plan, *first.parts), usage=reply.usage + first.usage)

    async def _asked(self, request: req.Request, offered: Sequence[Offered], observe: Observer | None) -> conv.Reply:
        reading = _Reading(offered, observe, held=self.held)
        return reading.reply(await self.inner.ask(self.constrained(request), None if observe is None else reading.take))

    async def close(self) -> None:
        """Closes the engine it asks through."""
        await self.inner.close()

    # ── the request ────────────────────────────────────────────────────────

    def constrained(self, request: req.Request) -> req.Request:
        """The same request without tools: they stand in the instructions, the schema and the conversation."""
        hosted = [one.id for one in request.definitions if isinstance(one, req.ProviderDefinition)]
        if hosted:
            problems = [f"{id} is run by its provider, and there is none here: leave it out" for id in hosted]
            raise DefinitionError(f"the request to {request.model}", problems)
        offered = self.offered(request)
        options = dict(request.provider_options)
        schema = self.schema(offered, request) if offered else request.response_schema
        if schema is not None and self.held:
            options["json_schema"] = schema
        conversation = tuple(_plain(request.conversation))
        return msgspec.structs.replace(
            request,
            conversation=(conv.system(self._instructions(conversation, offered)), *_without_system(conversation))
            if offered
            else conversation,
            definitions=(),
            choice=msgspec.structs.replace(request.choice, mode="auto", names=(), required=False),
            parallel=None,
            response_schema=None,
            temperature=self.temperature if request.temperature is None else request.temperature,
            max_output_tokens=request.max_output_tokens or self.max_output_tokens,
            provider_options=options,
        )

    def schema(self, offered: Sequence[Offered], request: req.Request) -> dict[str, Any]:
        """What a reply may be: at first a text or a plan, then what the plan says comes next."""
        turn = _Turn(request.conversation)
        text = [] if _must_call(request) else [_branch({"say": request.response_schema or _TEXT})]
        if turn.begins and turn.reminded:
            # It would say again that all is done, or plan again what did not do it: only a call leads on.
            return {"oneOf": [self._call(one) for one in offered]}
        if turn.begins and text:
            return {"oneOf": [*text, _plan_of([name_of(one) for one in offered])]}
        step = turn.step()
        if step is not None:
            planned = [self._call(one) for one in offered if name_of(one) == tool_of(step)]
            if planned:
                return {"oneOf": planned}
        if text and (turn.finished or turn.circles):
            return {"oneOf": text}
        useless = () if _must_call(request) else turn.repeated()
        return {"oneOf": [*text, *(self._call(one) for one in offered if name_of(one) not in useless)]}

    @staticmethod
    def offered(request: req.Request) -> list[Offered]:
        """The tools the model may call, as far as the choice leaves them."""
        choice = request.choice
        if choice.mode == "none":
            return []
        offered = _functions(request)
        return [one for one in offered if {one.name, name_of(one)} & set(choice.names)] if choice.names else offered

    def _call(self, definition: Offered) -> dict[str, Any]:
        return _branch({"call": {"const": name_of(definition)}, "arguments": self._arguments(definition)})

    def _arguments(self, definition: Offered) -> dict[str, Any]:
        if isinstance(definition, req.FreeformDefinition):
            return _TEXT
        hidden = self._hidden(definition)
        schema = definition.parameters
        properties = {name: one for name, one in schema.get("properties", {}).items() if name not in hidden}
        needed: dict[str, Any] = _decodable(
            {**schema, "type": "object", "properties": properties}, optional=self.optional
        )
        return needed

    def _hidden(self, definition: Offered) -> tuple[str, ...]:
        """Parameters the model is not shown."""
        if self.optional or isinstance(definition, req.FreeformDefinition):
            return ()
        names = tuple(definition.parameters.get("properties", {}))
        needed = set(definition.parameters.get("required", ())) or set(names[:1])
        return tuple(name for name in names if name not in needed)

    def _instructions(self, conversation: Sequence[ConversationItem], offered: Sequence[Offered]) -> str:
        own = [
            item.text
            for item in conversation
            if isinstance(item, conv.Message) and item.role in ("system", "developer")
        ]
        # What differs from run to run comes last: what stands before it need not be read again.
        return "\n\n".join([self.about_tools(offered), *own])

    def about_tools(self, offered: Sequence[Offered]) -> str:
        """What the model is told of its tools, and how to use them: the beginning of every prompt."""
        tools = "\n".join(self._line(definition) for definition in offered)
        return HOW_TO_ANSWER.format(tools=tools, example=self._examples(offered))

    def _examples(self, offered: Sequence[Offered]) -> str:
        """Plans for one task with two steps and one that needs a command, where there are tools for them.

        Without the second, a small model reads and writes files to rename or delete one, and loses its way.
        """
        paths, commands = (
            next((name_of(one) for one in offered if self._takes_alone(one, word)), None)
            for word in ("path", "command")
        )
        lines = ""
        if commands is not None:
            lines += f"\nTo rename a.log: {_json({'plan': [f'{commands}: mv a.log b.log']})}"
        if paths is not None:
            plan = [f"{paths}: {file}" for file in ("a.log", "b.log")]
            lines += f"\nFor a task about what is in a.log and b.log: {_json({'plan': plan})}"
        return lines

    def _takes_alone(self, definition: Offered, word: str) -> bool:
        """Whether a tool is shown with one parameter, which has this word in its name."""
        names = [*self._arguments(definition).get("properties", {})]
        return len(names) == 1 and word in names[0]

    def _line(self, definition: Offered) -> str:
        """A tool in one line: its name, its parameters, and the first words about it."""
        about = _FIRST_WORDS.split(definition.description.strip(), maxsplit=1)[0].rstrip(".")
        arguments = self._arguments(definition)
        parameters = [f"{name}{_shape(one)}" for name, one in arguments.get("properties", {}).items()]
        return f"- {name_of(definition)}({', '.join(parameters) or 'text'}): {about}"


def name_of(definition: Offered) -> str:
    """The name a model calls a tool by."""
    return definition.name if definition.namespace is None else f"{definition.namespace}.{definition.name}"


def _functions(request: req.Request) -> list[Offered]:
    return [one for one in request.definitions if not isinstance(one, req.ProviderDefinition)]


def _must_call(request: req.Request) -> bool:
    return request.choice.mode in ("required", "one") or request.choice.required


def _plan_of(tools: Sequence[str]) -> dict[str, Any]:
    names = "|".join(re.escape(name).replace("\\-", "-") for name in tools)
    step = {"type": "string", "pattern": f'^({names}): [^"\\\\\\n]{{1,{_WORDS}}}$'}
    return _branch({"plan": {"type": "array", "items": step, "minItems": 1, "maxItems": _STEPS}})


def _branch(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _decodable(schema: Any, *, optional: bool) -> Any:
    """A schema that llama.cpp can hold decoding to; below the parameters, too, with what is needed alone."""
    if isinstance(schema, list):
        return [_decodable(one, optional=optional) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for word, value in (schema if optional else _needed(schema)).items():
        if word in ("properties", "$defs", "definitions") and isinstance(value, dict):
            result[word] = {name: _decodable(one, optional=optional) for name, one in value.items()}
        elif word in ("enum", "const", "required"):
            result[word] = value
        elif word == "items" and value is False:
            # llama.cpp (xllamacpp 2026.4) refuses what is no object; `prefixItems` and `maxItems` say the same.
            continue
        elif word not in _UNREAD:
            result[word] = _decodable(value, optional=optional)
    return result


def _needed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object without what may be left out; of one that needs nothing, all of it."""
    if not schema.get("required") or not isinstance(schema.get("properties"), dict):
        return schema
    needed = {name: one for name, one in schema["properties"].items() if name in schema["required"]}
    return {**schema, "properties": needed}


def _shape(schema: Mapping[str, Any]) -> str:
    """What is shown of a parameter behind its name: its choices, or the names in the objects of a list."""
    if "enum" in schema:
        return "=" + "|".join(str(value) for value in schema["enum"])
    items = schema.get("items")
    names = items.get("properties") if isinstance(items, dict) else None
    return f"=[{{{', '.join(names)}}}]" if names else ""


def _json(value: Any) -> str:
    # With spaces: that is how JSON mostly looks where models learned it.
    return json.dumps(value, ensure_ascii=False)


def _tidied(plan: list[str]) -> list[str]:
    """A plan without what it says again (a step twice in a row, or all of it), and without placeholders.

    Asked to do `read_file: <path_to_file>`, a small model makes a call with `<path_to_file>` for the path; asked for
    `read_file`, it takes the path from the results.
    """
    plan = [_PLACEHOLDER.sub("", step).rstrip(": ,") for step in plan]
    plan = [step for place, step in enumerate(plan) if place == 0 or step != plan[place - 1]]
    lengths = (length for length in range(1, len(plan)) if plan == plan[:length] * (len(plan) // length))
    return plan[: next(lengths, len(plan))]


def _is_plan(part: conv.AnyPart) -> bool:
    return isinstance(part, conv.ThinkingPart) and OURS in part.metadata


class _Turn:
    """What happened since the user last spoke."""

    def __init__(self, conversation: Sequence[ConversationItem]) -> None:
        self._begin("")
        for item in conversation:
            for part in item.parts:
                self._take(part, item)

    def _begin(self, task: str, *, reminded: bool = False) -> None:
        self.task, self.planned, self.reminded = task, list[str](), reminded
        self.calls: dict[str, NativeCall] = {}
        self.results: list[NativeResult] = []

    def _take(self, part: conv.AnyPart, item: ConversationItem) -> None:
        if isinstance(part, conv.ThinkingPart) and _is_plan(part):
            self.planned = part.metadata[OURS]["plan"]
        elif isinstance(part, conv.CallPart):
            self.calls[part.call.id] = part.call
        elif isinstance(part, conv.ResultPart):
            self.results.append(part.result)
        elif item.role == "user" and isinstance(item, conv.Message):
            reminded = is_by_client(item) and item.text.startswith(NOT_DONE)
            if reminded or not is_by_client(item):
                self._begin(item.text[:_REMEMBERED], reminded=reminded)

    @property
    def begins(self) -> bool:
        return not self.results and not self.planned

    @property
    def failed(self) -> bool:
        """Whether the last call did."""
        return bool(self.results) and bool(self.results[-1].is_error)

    def _followed(self) -> tuple[int, bool]:
        """How many steps of the plan are done, each by a call of its tool, and whether the next has failed so far."""
        done, refuted = 0, False
        for result in self.results:
            call = self.calls.get(result.call_id)
            if call is None or done == len(self.planned) or called(call) != tool_of(self.planned[done]):
                continue
            refuted = bool(result.is_error)
            done += not refuted
        return done, refuted

    def step(self) -> str | None:
        """What the plan says comes next; nothing when it is done, and when what it says, or the last call, failed."""
        done, refuted = self._followed()
        return self.planned[done] if done < len(self.planned) and not refuted and not self.failed else None

    @property
    def finished(self) -> bool:
        """Whether there was a plan and all of it is done."""
        return bool(self.planned) and self._followed()[0] == len(self.planned) and not self.failed

    @property
    def circles(self) -> bool:
        """Whether, off its plan, it did again what it had done already."""
        pairs = [(self.calls.get(result.call_id), result) for result in self.results]
        if not self.planned or not pairs or self.step() is not None:
            return False
        last = pairs[-1][0]
        before = [call for call, result in pairs[:-1] if call is not None and not result.is_error]
        return last is not None and any(
            (called(last), last.arguments) == (called(one), one.arguments) for one in before
        )

    def repeated(self) -> set[str]:
        """Names of tools that were asked the same again and gave the same again."""
        seen, twice = list[Any](), set[str]()
        for result in self.results:
            call = self.calls.get(result.call_id)
            if call is not None:
                one = (called(call), call.arguments, result.content)
                if one in seen:
                    twice.add(called(call))
                seen.append(one)
        return twice

    def reminder(self) -> str:
        """Told after a result: a small model forgets what it was asked."""
        step = self.step()
        if step is not None:
            number, count = self._followed()[0] + 1, len(self.planned)
            return STEP.format(number=number, count=count, what=step, task=self.task)
        if self.circles and not self.finished:
            return AGAIN.format(task=self.task)
        return (LAST if self.finished else FAILED if self.failed else NEXT).format(task=self.task)


def tool_of(step: str) -> str:
    """The tool that a step of a plan names."""
    return step.partition(":")[0]


def called(call: NativeCall) -> str:
    return call.name if call.namespace is None else f"{call.namespace}.{call.name}"


# ── the conversation ─────────────────────────────────────────────────────────


def _without_system(conversation: Sequence[ConversationItem]) -> Iterator[ConversationItem]:
    return (item for item in conversation if item.role not in ("system", "developer"))


def _plain(conversation: Sequence[ConversationItem]) -> Iterator[ConversationItem]:
    """The conversation with calls and results in words; everything else as it was."""
    names: dict[str, str] = {}
    for place, item in enumerate(conversation):
        parts = item.parts
        if item.role == "assistant":
            calls = [part.call for part in parts if isinstance(part, conv.CallPart)]
            names |= {call.id: called(call) for call in calls}
            plan = next((part for part in parts if _is_plan(part)), None)
            if isinstance(plan, conv.ThinkingPart):
                yield conv.assistant(_json(plan.metadata[OURS]))
                yield conv.user(_Turn([*conversation[:place], conv.assistant(plan)]).reminder())
            lines = [line for part in parts if (line := _said(part)) is not None]
            if lines or plan is None:
                yield conv.assistant("\n".join(lines))
        elif any(isinstance(part, conv.ResultPart) for part in parts):
            results = [_told(part.result, names) for part in parts if isinstance(part, conv.ResultPart)]
            rest = tuple(part for part in parts if not isinstance(part, conv.ResultPart))
            reminder = _Turn(conversation[: place + 1]).reminder()
            yield conv.user("\n\n".join([*results, *filter(None, [reminder])]), *rest)
        elif isinstance(item, conv.Message):
            turn = _Turn(conversation[: place + 1])
            # Words in the middle of a task, such as the instructions of a folder, are not the last that it reads.
            yield conv.user(f"{item.text}\n\n{turn.reminder()}") if is_by_client(item) and not turn.begins else item


def _said(part: conv.AnyPart) -> str | None:
    if isinstance(part, conv.CallPart):
        return _json({"call": called(part.call), "arguments": part.call.arguments})
    return _json({"say": part.text}) if isinstance(part, conv.TextPart) and part.text else None


def _told(result: NativeResult, names: Mapping[str, str]) -> str:
    content = result.content
    pieces = (content,) if isinstance(content, str) else content
    text = "\n".join(f"[{piece.media_type}]" if isinstance(piece, Media) else piece for piece in pieces)
    name = result.name or names.get(result.call_id, "the tool")
    failed = " (it failed)" if result.is_error else ""
    return f"Result of {name}{failed}:\n{text}"


_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)(?:\n```\s*)?", re.DOTALL)


def _unfenced(text: str) -> str:
    """A text without the code fence around all of it."""
    match = _FENCE.fullmatch(text)
    return text if match is None else match[1]


def _in_form(value: Any) -> dict[str, Any] | None:
    """What a model wrote, if it is an answer, a plan or a call as it was asked for, whole or cut off."""
    match value:
        case {"plan": [*steps]}:
            fits = all(isinstance(step, str) for step in steps)
        case {"call": str(), "arguments": dict() | str()} | {"say": _}:
            fits = True
        case _:
            fits = False
    return dict(value) if fits else None


# ── the reply ────────────────────────────────────────────────────────────────


class _Reading:
    """Reads the JSON of one reply, and tells the observer of it as it comes."""

    def __init__(self, offered: Sequence[Offered], observe: Observer | None, *, held: bool) -> None:
        self._offered = {name_of(one): one for one in offered}
        self._observe, self._held = observe, held
        self._begin()

    def _begin(self) -> None:
        import uuid

        self._view, self._text, self._told = PartialJson(), "", 0
        self._id = f"call_{uuid.uuid4().hex[:24]}"
        self._started = False

    def take(self, chunk: req.AnyChunk) -> bool | None:
        """Passes a chunk on, in its own terms. True when something began because of it."""
        assert self._observe is not None
        if isinstance(chunk, req.TextChunk):
            self._text += chunk.text
            self._view.feed(chunk.text)
            began = [self._observe(one) for one in self._news()]
            return any(began) or None
        if isinstance(chunk, req.Restarted):
            self._begin()
        if isinstance(chunk, req.Finished):
            return None  # told when the reply was read: a call changes the reason
        return self._observe(chunk)

    def _news(self) -> Iterator[req.AnyChunk]:
        value = self._view.value
        if not isinstance(value, dict):
            return
        text = value.get("say")
        if isinstance(text, str) and len(text) > self._told:
            yield req.TextChunk(text[self._told :])
            self._told = len(text)
        if "arguments" in value and not self._started:
            self._started = True
            name, namespace = self._called(value["call"])
            yield req.CallStarted(self._id, name, namespace)

    def reply(self, reply: conv.Reply) -> conv.Reply:
        """The reply in our terms. What was cut off stays a call with unfinished arguments, or an unfinished text."""
        view = PartialJson()
        view.feed(_unfenced(reply.text))
        value = _in_form(view.value)
        if value is None:  # of a model that is held, the beginning of an answer that was cut off
            value = {} if self._held else {"say": reply.text}
        others: tuple[conv.AnyPart, ...] = tuple(part for part in reply.parts if not isinstance(part, conv.TextPart))
        if value.get("plan") and view.complete:
            return self._planned(reply, _tidied(value["plan"]))
        finish, part = reply.finish, self._said(value.get("say", ""))
        if "call" in value and "arguments" in value:
            part = conv.CallPart(self._call(value, reply.text, whole=view.complete))
            finish = conv.FinishReason.CALLS if finish is conv.FinishReason.STOP else finish
        result = msgspec.structs.replace(reply, parts=(*others, part), finish=finish)
        if self._observe is not None:
            for chunk in self._rest(part, result):
                self._observe(chunk)
        return result

    def _planned(self, reply: conv.Reply, plan: list[str]) -> conv.Reply:
        text = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
        if self._observe is not None:
            self._observe(req.ThinkingChunk(f"{text}\n"))
        return msgspec.structs.replace(reply, parts=(conv.ThinkingPart(text, metadata={OURS: {"plan": plan}}),))

    @staticmethod
    def _said(value: Any) -> conv.AnyPart:
        return conv.TextPart(value if isinstance(value, str) else msgspec.json.encode(value).decode())

    def _call(self, value: dict[str, Any], text: str, *, whole: bool) -> NativeCall:
        name, namespace = self._called(value["call"])
        arguments = value["arguments"] if whole else text.partition('"arguments"')[2].lstrip(" \t\n\r:")
        return NativeCall(self._id, name, arguments, namespace)

    def _called(self, name: str) -> tuple[str, str | None]:
        """A tool by the name the model calls it; one that is not offered, as the model named it."""
        definition = self._offered.get(name)
        return (name, None) if definition is None else (definition.name, definition.namespace)

    def _rest(self, part: conv.AnyPart, reply: conv.Reply) -> Iterator[req.AnyChunk]:
        if isinstance(part, conv.CallPart):
            call = part.call
            if not self._started:
                yield req.CallStarted(call.id, call.name, call.namespace)
            arguments = call.arguments
            yield req.ArgumentsChunk(
                call.id, arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            )
            yield req.CallFinished(call)
        elif isinstance(part, conv.TextPart) and len(part.text) > self._told:
            yield req.TextChunk(part.text[self._told :])
        yield req.Finished(reply.finish)
