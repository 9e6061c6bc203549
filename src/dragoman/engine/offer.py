"""A dialect bound to one toolset and one API's limits for one request: what is offered, and the way back.

Rules: the names of a request can always be turned back; a name that had to change is made from what
it was, never from its place, so it is the same in every turn and under any order; names go to the
provider's tools first, then to the vocabulary's, then to the caller's. What is offered for a tool of
ours is run here: a provider's own tool is offered only when it was asked for. One that a provider
defines and we run stands for the tools of ours that run it: they are not offered a second time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2s
from typing import TYPE_CHECKING

import msgspec

from dragoman.apis import Lowering
from dragoman.bounded import remember
from dragoman.dialects import DIALECTS, Dialect, Loss, ProviderRow, Steer, approval_told, provider_dialect
from dragoman.errors import DefinitionError, Unspeakable, nearest
from dragoman.model import operations as op
from dragoman.model.calls import Call, ExecutedBy, NativeCall, NativeResult, Result
from dragoman.model.outcomes import Failure
from dragoman.model.request import (
    Definition,
    FreeformDefinition,
    FunctionDefinition,
    Limits,
    ProviderDefinition,
    ToolChoice,
)
from dragoman.registry import TOOLS
from dragoman.tools import ProviderTool, Tool
from dragoman.tools.running import NOT_HONOURED, honoured_in

if TYPE_CHECKING:
    from dragoman.model import Outcome
    from dragoman.model.edit_rules import EditRules
    from dragoman.tools import Toolset

CLIENT = ExecutedBy.CLIENT
_DIGEST_LENGTH = 8
# Where an API's own rule is not known, what all of them take: OpenAI (3.49.0 of its SDK) and Anthropic (page on tools)
# allow 64 letters, digits, `_` and `-`; Gemini (google-genai 3.1) wants a letter or `_` first.
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_LONGEST_NAME = 64
_MOST_PARTS = 64
"""Choices of tools that an offer remembers."""


class Note(msgspec.Struct, frozen=True):
    """Something the caller should know about how a tool is offered."""

    tool: str
    message: str


class Names(msgspec.Struct, frozen=True):
    """Names of the caller's functions as the model knows them, and back."""

    offered: dict[str, str]
    """Ours → offered; only those that had to change."""
    ours: dict[str, str]
    """Offered → ours, for every function."""

    def offer(self, name: str) -> str:
        """The name under which the model knows a function."""
        return self.offered.get(name, name)

    def back(self, name: str) -> str | None:
        """The function a model means by a name, or `None` when it is none of the caller's."""
        return self.ours.get(name)


class Offer:
    """What one request offers a model, and how its calls and results travel.

    An operation that the dialect has no words for is offered in those of `plain`, and noted; `strict`
    raises `Unspeakable` instead. `honoured` are fields that are offered although the standard tools do not always
    honour them. `beside` are names of tools that the request offers in the provider's own terms: ours give way to them.
    `model` is the name of the model, for notes on what it is not known to have.
    """

    def __init__(
        self,
        dialect: Dialect,
        toolset: Toolset,
        limits: Limits | None = None,
        *,
        strict: bool = False,
        plain: Dialect | None = None,
        lowering: Lowering = Lowering(),  # noqa: B008 - frozen
        honoured: Mapping[type[op.Operation], Collection[str]] = {},
        beside: Collection[str] = (),
        model: str | None = None,
    ) -> None:
        self.toolset = toolset
        self._model = model
        self._honoured = honoured
        self.limits = limits or Limits()
        self.notes: tuple[Note, ...] = ()
        self.lowering = lowering
        """What the wire did to the tools' schemas and names: undone on every call that comes back."""
        run_here = [tool for tool in toolset if isinstance(tool, Tool)]
        functions = [tool for tool in run_here if tool.operation is None]
        operations = [tool for tool in run_here if tool.operation is not None]
        hosted = [tool for tool in toolset if isinstance(tool, ProviderTool)]
        self.dialect = dialect
        self._served = {tool.name: tool.mcp for tool in functions if tool.mcp is not None}
        self._plain = plain
        provider = [self._provider_definition(tool) for tool in hosted]
        asked = [(row, tool) for tool in hosted if (row := _row(tool)) is not None]
        rows = [row for row, _ in asked]
        here = [row for row, tool in asked if row.run_by(tool.settings) is CLIENT]
        self._texts = self._taking_text(provider, functions)
        self._check_rows(rows, here, operations, beside)
        self._run_here = tuple(here)
        self._hosted = _speakers(rows)
        self._in_hosted = _run_here(here)
        operations = [tool for tool in operations if _operation_of(tool) not in self._in_hosted]
        self._in_plain: frozenset[type[op.Operation]] = self._unspoken(operations, strict=strict)
        reserved = {definition.name.casefold() for definition in provider if definition.name}
        reserved |= {name.casefold() for row in rows for name in row.names}
        reserved |= {name.casefold() for name in beside}
        self._aliases: dict[str, str] = {}
        self._shown: dict[tuple[str, str], str] = {}
        spoken, worded = self._spoken(operations, reserved)
        self._plain_names = frozenset(definition.name for definition in worded if definition.name)
        definitions = [*spoken, *worded, *self._plan_approvals(operations, [*spoken, *worded], reserved)]
        reserved_names = [*reserved, *(definition.name for definition in definitions if definition.name)]
        apart = [tool for tool in functions if tool.name not in self._texts]
        self.names = self._named([tool.name for tool in apart], reserved_names)
        self.names.ours.update({name: name for name in self._texts})
        offered = [self._function(tool) for tool in apart]
        self.definitions: tuple[Definition, ...] = (*definitions, *offered, *provider)
        self._parts: dict[tuple[str, ...], tuple[Definition, ...]] = {}
        self._check()
        self.dialect = self.dialect.knowing(functions=self.names.ours)

    # ── the provider's tools ───────────────────────────────────────────────

    def _provider_definition(self, tool: ProviderTool) -> Definition:
        """What is sent for a provider's tool; one outside the catalogue is sent as it was given, and noted."""
        row = _row(tool)
        if row is None:
            self._note(tool.name, f"it is sent as it is: no row of the catalogue has this id.{_nearest_row(tool)}")
            return _uncatalogued(tool)
        settings_type = tool.settings_type
        if settings_type is not None and not issubclass(settings_type, row.settings):
            expected = row.settings.__name__
            raise DefinitionError(f"provider tool {tool.id!r}", [f"it takes {expected}, not {settings_type.__name__}"])
        for unknown in row.unknown(tool.settings):
            self._note(tool.name, f"its setting {unknown!r} is not known and sent as it is.{row.nearest(unknown)}")
        model = self._model or self.dialect.family
        if model is not None and not row.offered_to(model):
            self._note(tool.name, f"{model} is not known to have it")
        return row.offer(tool.settings)

    def _check_rows(
        self,
        rows: Sequence[ProviderRow],
        here: Sequence[ProviderRow],
        operations: Sequence[Tool],
        beside: Collection[str],
    ) -> None:
        """Two versions of one tool may stand side by side, unless a model would call both by one name."""
        problems: list[str] = []
        owners: dict[str, str] = dict.fromkeys(beside, "a tool in the options")
        for row in rows:
            for name in row.names:
                other = owners.setdefault(name, row.id)
                if other != row.id:
                    problems.append(f"{other} and {row.id} are both called {name!r}: offer one of them")
        if problems:
            raise DefinitionError("what is offered", problems)
        runs = {_operation_of(tool) for tool in operations}
        for row in here:
            if row.spellings and not runs.intersection(row.operations):
                self._note(row.id, "it is run here, and no tool of this set runs any of its calls: all are denied")

    def _taking_text(self, definitions: Sequence[Definition], functions: Sequence[Tool]) -> dict[str, str]:
        """Tools whose input is text, each with the parameter that takes it in the function of that name."""
        runs = {tool.name: _only_parameter(tool) for tool in functions}
        freeform = [definition.name for definition in definitions if isinstance(definition, FreeformDefinition)]
        for name in freeform:
            if runs.get(name) is None:
                self._note(name, "it is run here, and no function of that name takes one parameter, its text")
        return {name: runs.get(name) or "input" for name in freeform}

    # ── what is offered ────────────────────────────────────────────────────

    def _unspoken(self, operations: Sequence[Tool], *, strict: bool) -> frozenset[type[op.Operation]]:
        """The operations the dialect has no tool of ours for: those need the words of `plain`."""
        silent = [
            tool
            for tool in operations
            if _is_another(tool, self.dialect) or not self.dialect.speaks(_operation_of(tool), executed_by=CLIENT)
        ]
        for tool in silent:
            reason = tool.only_plain or self.dialect.reason_unspoken(_operation_of(tool))
            if strict:
                raise Unspeakable(self.dialect.name, tool.name, reason)
            self._plain = self._plain or DIALECTS["plain"]
            if not self._plain.speaks(_operation_of(tool), executed_by=CLIENT):
                raise Unspeakable(f"{self.dialect.name} and {self._plain.name}", tool.name, reason)
            words = f"{self.dialect.name} has no words for it ({reason}); it is offered in those of {self._plain.name}"
            self._note(tool.name, words)
        return frozenset(_operation_of(tool) for tool in silent)

    def _spoken(self, operations: Sequence[Tool], reserved: set[str]) -> tuple[list[Definition], list[Definition]]:
        """What is offered in the dialect's words, and in those of `plain`, each under a name that is still free."""
        operation_types = {_operation_of(tool) for tool in operations}
        ignoring = {_operation_of(tool): self._ignored(tool) for tool in operations}
        spoken = operation_types - self._in_plain
        self._note_unhonoured(spoken, ignoring)
        definitions = self.dialect.definitions(spoken, executed_by=CLIENT, ignoring=ignoring) if spoken else []
        telling = [tool.listed for tool in operations if tool.listed is not None]
        definitions = [self._apart(_telling(one, self.dialect, telling), reserved, self.dialect) for one in definitions]
        if self._plain is None or not self._in_plain:
            return definitions, []
        worded = self._plain.definitions(self._in_plain, executed_by=CLIENT, ignoring=ignoring)
        # One name cannot mean two things in one request: a native tool keeps it, the plain one is told apart.
        reserved_too = reserved | {each.name.casefold() for each in definitions if each.name}
        return definitions, [
            self._apart(_telling(one, self._plain, telling), reserved_too, self._plain) for one in worded
        ]

    def _note_unhonoured(
        self,
        operations: Collection[type[op.Operation]],
        ignoring: Mapping[type[op.Operation], Collection[str]],
    ) -> None:
        """Notes parameters that the vocabulary requires although what they mean is not honoured."""
        for tool, parameter, field in self.dialect.required_unhonoured(operations, ignoring):
            why = ": no model reads the page, and the page itself is returned" if field == "instructions" else ""
            self._note(tool, f"its parameter {parameter!r} is required, but not used here{why}")

    def _plan_approvals(
        self, operations: Sequence[Tool], definitions: Sequence[Definition], reserved: set[str]
    ) -> list[Definition]:
        """The vocabulary's tools to have a plan approved: questions to the user, offered where it can be asked."""
        self._plans: dict[str, Steer] = {}
        if not any(_operation_of(tool) is op.AskUser for tool in operations):
            return []
        names = reserved | {one.name.casefold() for one in definitions if one.name}
        offered: list[Definition] = []
        for steer in self.dialect.plan_approvals:
            definition = self._apart(steer.definition, names, self.dialect)
            self._plans[str(definition.name)] = steer
            offered.append(definition)
        return offered

    def _ignored(self, tool: Tool) -> Collection[str]:
        """Fields of an operation that its tool does not honour."""
        if tool.name not in TOOLS.built_in or TOOLS[tool.name] is not tool:
            return tool.ignored
        operation = _operation_of(tool)
        anywhere = honoured_in(None).get(operation, ())
        return {*NOT_HONOURED.get(operation, ())} - {*self._honoured.get(operation, ()), *anywhere}

    def _apart(self, definition: Definition, names: set[str], speaker: Dialect) -> Definition:
        """A definition under another name if its own is taken."""
        name = definition.name
        if name is None or name.casefold() not in names:
            return definition
        renamed = self._renamed(name, f"{speaker.name}.{name}")  # a function may have to give way to the same name
        self._aliases[renamed] = name
        self._shown[speaker.name, name] = renamed
        self._note(name, f"it is offered as {renamed!r}: another tool of this request has that name")
        return msgspec.structs.replace(definition, name=renamed)

    def _function(self, tool: Tool) -> FunctionDefinition:
        definition = tool.definition
        name = self.names.offer(tool.name)
        return definition if name == tool.name else msgspec.structs.replace(definition, name=name)

    def _named(self, functions: Sequence[str], names: Iterable[str]) -> Names:
        """Every function keeps its name, unless the API refuses it or it is taken."""
        reserved = {name.casefold() for name in names}
        spellings: dict[str, list[str]] = {}
        for name in functions:
            spellings.setdefault(name.casefold(), []).append(name)
        offered: dict[str, str] = {}
        for name in functions:
            why = self._objection(name, reserved, spellings)
            if why is not None:
                offered[name] = self._renamed(name)
                self._note(name, f"it is offered as {offered[name]!r}: {why}")
        ours = {offered.get(name, name): name for name in functions}
        return Names(offered, ours)

    def _objection(self, name: str, reserved: set[str], spellings: dict[str, list[str]]) -> str | None:
        if name.casefold() in reserved:
            return "the vocabulary, the provider or the options have a tool of that name"
        if len(spellings[name.casefold()]) > 1:
            return "another tool's name differs only in case"
        longest = self.limits.name_length or _LONGEST_NAME
        if len(name) > longest:
            return f"names are at most {longest} characters"
        if not re.fullmatch(self.limits.name_pattern or _NAME, name):
            return "the name has characters that are not allowed"
        return None

    def _renamed(self, name: str, whole: str | None = None) -> str:
        """A legal name that ends in a digest of the whole old one, so that no two become one."""
        longest = min(self.limits.name_length or _LONGEST_NAME, _LONGEST_NAME)
        if longest < _DIGEST_LENGTH + 2:
            raise DefinitionError(f"tool {name!r}", [f"names of {longest} characters are too short to be told apart"])
        digest = blake2s((whole or name).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_LENGTH // 2).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "tool"
        if readable[0].isdigit():
            readable = f"t_{readable}"
        for start in (readable, readable.lower(), "tool"):
            renamed = f"{start[: longest - _DIGEST_LENGTH - 1]}_{digest}"
            if re.fullmatch(self.limits.name_pattern or _NAME, renamed):
                return renamed
        raise DefinitionError(
            f"tool {name!r}", [f"no name made from it fits this API's pattern {self.limits.name_pattern!r}"]
        )

    def _check(self) -> None:
        names = [definition.name for definition in self.definitions if definition.name]
        problems = [f"two tools are offered as {name!r}" for name in sorted({n for n in names if names.count(n) > 1})]
        if self.limits.tools is not None and len(self.definitions) > self.limits.tools:
            problems.append(f"{len(self.definitions)} tools are offered; this API takes {self.limits.tools}")
        if problems:
            raise DefinitionError("what is offered", problems)

    def _note(self, tool: str, message: str) -> None:
        self.notes += (Note(tool, message),)

    # ── the way back ───────────────────────────────────────────────────────

    def read_call(self, native: NativeCall) -> Call:
        """What a model's call means: lowering undone, names turned back, then read in its own vocabulary."""
        unlowered = self.lowering.call(native)
        if unlowered is not native:
            return msgspec.structs.replace(self._read_call(unlowered), native=native)
        return self._read_call(native)

    def _read_call(self, native: NativeCall) -> Call:
        own = native.namespace is None and native.executed_by is CLIENT
        ours = self.names.back(native.name) if own else None
        if ours is not None:
            return self._function_call(ours, native)
        if own and native.name in self._plans:
            return self._plans[native.name].asked(native)
        call = self._speaker(native).read_call(self._under_own_name(native))
        if call.operations and isinstance(call.operations[0], op.Unrecognised):
            return self._unknown(native)
        return call if call.native is native else msgspec.structs.replace(call, native=native)

    def _native(self, native: NativeCall) -> NativeCall:
        """A call in the dialect's own terms."""
        return self._under_own_name(self.lowering.call(native))

    def _under_own_name(self, native: NativeCall) -> NativeCall:
        name = self._aliases.get(native.name)
        return native if name is None else msgspec.structs.replace(native, name=name)

    def _speaker(self, native: NativeCall) -> Dialect:
        """Whose words a call of this request is in."""
        for dialect in self._hosted:
            if dialect.recognises(native):
                return dialect
        return self._plain if self._plain is not None and native.name in self._plain_names else self.dialect

    def _function_call(self, name: str, native: NativeCall) -> Call:
        arguments = native.arguments
        if isinstance(arguments, str) and name in self._texts:
            arguments = {self._texts[name]: arguments}
        if not isinstance(arguments, dict):
            message = f"{name}: expected a JSON object, got {arguments!r:.80}"
            details = {"tool": name, "problems": [{"path": "", "message": message}]}
            return Call(native.id, (), native, failure=Failure("invalid_arguments", message, details))
        served = self._served.get(name)
        operation = op.CallFunction(name, arguments) if served is None else op.CallMcpTool(*served, arguments)
        return Call(native.id, (operation,), native)

    def _unknown(self, native: NativeCall) -> Call:
        offered = [definition.name for definition in self.definitions if definition.name]
        message = f'There is no tool "{native.name}".{nearest(native.name, offered)}'
        failure = Failure("unknown_tool", message, {"tool": native.name, "offered": offered})
        return Call(native.id, (), native, failure=failure)

    def write_call(self, id: str, operation: op.Operation) -> tuple[NativeCall, ...]:
        """An operation of the history in the words of this request."""
        if isinstance(operation, op.CallMcpTool):
            ours = self._tool_served(operation)
            if ours is not None:
                return (NativeCall(id, self.names.offer(ours), operation.arguments),)
        if isinstance(operation, op.CallFunction):
            text = operation.arguments.get(self._texts.get(operation.name, ""))
            arguments = text if isinstance(text, str) else operation.arguments
            return (NativeCall(id, self.names.offer(operation.name), arguments),)
        speaker, calls = self._said(id, operation)
        return tuple(msgspec.structs.replace(call, name=self._name_of(call.name, speaker)) for call in calls)

    def loss(self, operation: op.Operation) -> tuple[Loss, ...]:
        """What of this value would not survive `write_call`, with the reasons."""
        if isinstance(operation, op.CallFunction):
            return ()
        if isinstance(operation, op.CallMcpTool) and self._tool_served(operation) is not None:
            return ()
        return self._said("", operation)[0].loss(operation)

    def _tool_served(self, operation: op.CallMcpTool) -> str | None:
        """The tool of ours that is a server's; a vocabulary may not have said which server, so one must be enough."""
        target = (operation.server, operation.tool)
        names = [name for name, (server, tool) in self._served.items() if target in ((server, tool), (None, tool))]
        return names[0] if len(names) == 1 else None

    def _name_of(self, name: str, speaker: Dialect) -> str:
        """The name under which a vocabulary's tool is offered."""
        return name if speaker in self._hosted else self._shown.get((speaker.name, name), name)

    def _said(self, id: str, operation: op.Operation) -> tuple[Dialect, tuple[NativeCall, ...]]:
        """In the words of whoever offers it here first; what nobody here offers, in those of `plain`.

        It was done by whoever led the conversation, so a tool that the provider runs does not say it: a provider takes
        no such call that it did not run itself.
        """
        plain: Dialect = self._plain or DIALECTS["plain"]
        speakers: list[Dialect] = [*self._hosted] if type(operation) in self._in_hosted else []
        if type(operation) not in self._in_plain:
            speakers.append(self.dialect)
        for dialect in speakers:
            with suppress(Unspeakable):
                calls = dialect.write_call(id, operation)
                if all(call.executed_by is CLIENT for call in calls):
                    return dialect, calls
        return plain, plain.write_call(id, operation)

    def reconsidered(self, call: Call, outcomes: Sequence[Outcome]) -> Call | None:
        """The call to run instead, when running this one showed that it means something else."""
        named_call = msgspec.structs.replace(call, native=self._native(call.native))
        other = self._speaker(call.native).reconsidered(named_call, outcomes)
        return None if other is None else msgspec.structs.replace(other, native=call.native)

    def edit_rules(self, call: Call) -> EditRules | None:
        """How the vocabulary that a call was made in finds the places of edits; `None`: exactly as they are written."""
        if not any(isinstance(operation, op.Writing | op.RunCommand | op.ReadFile) for operation in call.operations):
            return None
        rules = self._speaker(call.native).edit_rules(self._native(call.native))
        if rules is not None and rules.read_first and not self._can_read:
            return msgspec.structs.replace(rules, read_first=False)
        return rules

    @cached_property
    def _can_read(self) -> bool:
        """Whether a model is offered a way to read a file."""
        return any(isinstance(tool, Tool) and tool.operation is op.ReadFile for tool in self.toolset)

    def write_result(self, call: Call, outcomes: Sequence[Outcome]) -> NativeResult:
        """The outcomes of a call in the words the model called in."""
        own = len(call.operations) == 1 and type(call.operations[0]) is op.CallFunction
        native = call.native if own else self._native(call.native)  # a function's result is told in nobody's words
        named_call = call if native is call.native else msgspec.structs.replace(call, native=native)
        if call.native.name in self._plans and call.operations:
            named_call, outcomes = self.dialect.read_call(native), [approval_told(outcome) for outcome in outcomes]
        result = self._speaker(call.native).write_result(named_call, outcomes)
        return result if result.name == call.native.name else msgspec.structs.replace(result, name=call.native.name)

    def read_result(self, call: Call, native: NativeResult) -> Result:
        """What a result in this request's words says."""
        named_call = msgspec.structs.replace(call, native=self._native(call.native))
        return self._speaker(call.native).read_result(named_call, native)

    # ── choosing ───────────────────────────────────────────────────────────

    def choice(self, choice: ToolChoice) -> ToolChoice:
        """A choice that names tools as the caller knows them, with the names the model knows."""
        if not choice.names:
            return choice
        offered = {definition.name for definition in self.definitions if definition.name}
        names: list[str] = []
        for name in choice.names:
            names += self._choosable(name, offered)
        mode = "subset" if choice.mode == "one" and len(set(names)) > 1 else choice.mode
        return ToolChoice(mode, tuple(dict.fromkeys(names)), choice.required or (mode != choice.mode))

    def offered(self, names: tuple[str, ...]) -> tuple[Definition, ...]:
        """The definitions of these tools alone, named as the model knows them: the same tuple for the same names."""
        part = self._parts.get(names)
        if part is None:
            part = tuple(one for one in self.definitions if one.name in names)
            remember(self._parts, names, part, _MOST_PARTS)
        return part

    def _choosable(self, name: str, offered: set[str]) -> list[str]:
        if name in self.names.ours.values():
            return [self.names.offer(name)]
        operation = op.OPERATIONS.get(name)
        if operation in self._in_hosted:
            rows = [row for row in self._run_here if operation in row.operations]
            return [row.name for row in rows if row.name in offered]
        if operation is not None:
            words = self._plain if self._plain is not None and operation in self._in_plain else self.dialect
            native_names = [str(one.name) for one in words.definitions({operation}, executed_by=CLIENT)]
            choices = [offered_name for one in native_names if (offered_name := self._name_of(one, words)) in offered]
            if operation is op.AskUser:
                choices += self._plans
            if choices:
                return choices
        if name in offered:
            return [name]
        for definition in self.definitions:
            if isinstance(definition, ProviderDefinition) and definition.id == name and definition.name:
                return [definition.name]
        every_name = [*self.names.ours.values(), *sorted(offered)]
        raise DefinitionError("tool choice", [f"no tool {name!r} is offered.{nearest(name, every_name)}"])


def _telling(definition: Definition, speaker: Dialect, telling: Sequence[tuple[op.Operation, str, str]]) -> Definition:
    """A definition with what a tool has `listed` of the values of a field, where these words have that field."""
    for sample, field, text in telling:
        if not text or not isinstance(definition, FunctionDefinition):
            continue
        try:
            arguments = [one.arguments for one in speaker.write_call("", sample) if one.name == definition.name]
        except Unspeakable:
            continue
        there = definition.parameters.get("properties", {})
        pairs = [pair for one in arguments if not isinstance(one, str) for pair in one.items()]
        if any(key in there and value == getattr(sample, field) for key, value in pairs):
            return msgspec.structs.replace(definition, description=f"{definition.description}\n\n{text}")
    return definition


def _is_another(tool: Tool, dialect: Dialect) -> bool:
    """Whether the dialect's own tool for this operation is something else than this one, which says so of itself."""
    operation = _operation_of(tool)
    if tool.only_plain is None:
        return False
    return dialect.word_for(operation) is not DIALECTS["plain"].word_for(operation)


def _operation_of(tool: Tool) -> type[op.Operation]:
    assert tool.operation is not None  # it was chosen by that
    return tool.operation


def _row(tool: ProviderTool) -> ProviderRow | None:
    dialect = provider_dialect(tool.id)
    return None if dialect is None else dialect.provider_tool(tool.id)


def _nearest_row(tool: ProviderTool) -> str:
    dialect = provider_dialect(tool.id)
    return "" if dialect is None else nearest(tool.id, [row.id for row in dialect.provider_tools])


def _only_parameter(tool: Tool) -> str | None:
    properties = tool.definition.parameters.get("properties")
    return next(iter(properties)) if isinstance(properties, dict) and len(properties) == 1 else None


def _uncatalogued(tool: ProviderTool) -> ProviderDefinition:
    """Its wire type is what follows the vendor's name; its name what precedes the date."""
    wire_type = tool.id.partition(".")[2]
    return ProviderDefinition(tool.id, wire_type, re.sub(r"_\d{8}$", "", wire_type), tool.settings)


def _speakers(rows: Sequence[ProviderRow]) -> tuple[Dialect, ...]:
    """The vocabularies of the providers' tools that were asked for, with these tools alone."""
    by_dialect: dict[str, list[ProviderRow]] = {}
    for row in rows:
        dialect = provider_dialect(row.id)
        assert dialect is not None  # the row came from it
        by_dialect.setdefault(dialect.name, []).append(row)
    return tuple(DIALECTS[name].of_rows(tuple(dict.fromkeys(group))) for name, group in by_dialect.items())


def _run_here(rows: Sequence[ProviderRow]) -> frozenset[type[op.Operation]]:
    """The operations that a provider's tools say and we run, so that nothing else has to say them."""
    spellings = [one for row in rows for one in row.spellings if one.executed_by is CLIENT and one.partial is None]
    return frozenset(operation for spelling in spellings for operation in spelling.operation_types)
