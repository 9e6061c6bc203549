"""A dialect bound to one toolset and one API's limits for one request: what is offered, and the way back.

Rules: the names of a request can always be turned back; a name that had to change is made from what
it was, never from its place, so it is the same in every turn and under any order; names go to the
provider's tools first, then to the vocabulary's, then to the caller's. What is offered for a tool of
ours is run here: a provider's own tool is offered only when it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import DefinitionError, Unspeakable, nearest
from dragoman.model import operations as op
from dragoman.model.calls import Call, ExecutedBy, NativeCall, NativeResult, Result
from dragoman.model.outcomes import Failure
from dragoman.model.request import Definition, FunctionDefinition, Limits, ProviderDefinition, ToolChoice
from dragoman.registry import TOOLS
from dragoman.tools import NOT_HONOURED, ProviderTool, Tool

if TYPE_CHECKING:
    from dragoman.model import Outcome
    from dragoman.tools import Toolset

CLIENT = ExecutedBy.CLIENT
_DIGEST_LENGTH = 8


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


class Facade:
    """What one request offers a model, and how its calls and results travel.

    An operation that the dialect has no words for is offered in those of `plain`, and noted; `strict`
    raises `Unspeakable` instead.
    """

    def __init__(
        self,
        dialect: Dialect,
        toolset: Toolset,
        limits: Limits | None = None,
        *,
        strict: bool = False,
        plain: Dialect | None = None,
        undo: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self.toolset = toolset
        self.limits = limits or Limits()
        self.notes: tuple[Note, ...] = ()
        self._undo = undo
        run_here = [tool for tool in toolset if isinstance(tool, Tool)]
        functions = [tool for tool in run_here if tool.operation is None]
        operations = [tool for tool in run_here if tool.operation is not None]
        hosted = [tool for tool in toolset if isinstance(tool, ProviderTool)]
        self.dialect = dialect
        self._plain = plain
        self._in_plain: frozenset[type[op.Operation]] = self._unspoken(operations, strict=strict)
        provider = [_hosted(tool) for tool in hosted]
        reserved = {definition.name.casefold() for definition in provider if definition.name}
        spoken, worded = self._spoken(operations)
        self._plain_names = frozenset(definition.name for definition in worded if definition.name)
        self._aliases: dict[str, str] = {}
        said = [self._apart(definition, reserved) for definition in (*spoken, *worded)]
        taken = [definition.name for definition in (*provider, *said) if definition.name]
        self.names = self._named([tool.name for tool in functions], taken)
        offered = [self._function(tool) for tool in functions]
        self.definitions: tuple[Definition, ...] = (*said, *offered, *provider)
        self._check()
        self.dialect = self.dialect.knowing(functions=self.names.ours)

    # ── what is offered ────────────────────────────────────────────────────

    def _unspoken(self, operations: Sequence[Tool], *, strict: bool) -> frozenset[type[op.Operation]]:
        """The operations the dialect has no tool of ours for: those need the words of `plain`."""
        silent = [tool for tool in operations if not self.dialect.speaks(_operation_of(tool), executed_by=CLIENT)]
        for tool in silent:
            reason = self.dialect.unspoken.get(_operation_of(tool), "no native tool that is run here says it")
            if strict:
                raise Unspeakable(self.dialect.name, tool.name, reason)
            self._plain = self._plain or DIALECTS["plain"]
            if not self._plain.speaks(_operation_of(tool), executed_by=CLIENT):
                raise Unspeakable(f"{self.dialect.name} and {self._plain.name}", tool.name, reason)
            words = f"{self.dialect.name} has no words for it ({reason}); it is offered in those of {self._plain.name}"
            self._note(tool.name, words)
        return frozenset(_operation_of(tool) for tool in silent)

    def _spoken(self, operations: Sequence[Tool]) -> tuple[list[Definition], list[Definition]]:
        """What is offered in the dialect's words, and in those of `plain`."""
        wanted = {_operation_of(tool) for tool in operations}
        ignoring = {
            _operation_of(tool): NOT_HONOURED.get(_operation_of(tool), ())
            for tool in operations
            if tool.name in TOOLS.built_in and TOOLS[tool.name] is tool
        }
        spoken = wanted - self._in_plain
        said = self.dialect.definitions(spoken, executed_by=CLIENT, ignoring=ignoring) if spoken else []
        worded: list[Definition] = []
        if self._plain is not None and self._in_plain:
            worded = self._plain.definitions(self._in_plain, executed_by=CLIENT, ignoring=ignoring)
        # One name cannot mean two things in one request: a native tool keeps it, the plain one is told apart.
        return said, [self._apart(one, {each.name.casefold() for each in said if each.name}) for one in worded]

    def _apart(self, definition: Definition, taken: set[str]) -> Definition:
        """A definition under another name when somebody who comes first has its own."""
        name = definition.name
        if name is None or name.casefold() not in taken:
            return definition
        renamed = self._renamed(name)
        self._aliases[renamed] = name
        self._note(name, f"it is offered as {renamed!r}: another tool of this request has that name")
        return msgspec.structs.replace(definition, name=renamed)

    def _function(self, tool: Tool) -> FunctionDefinition:
        definition = tool.definition
        name = self.names.offer(tool.name)
        return definition if name == tool.name else msgspec.structs.replace(definition, name=name)

    def _named(self, functions: Sequence[str], taken: Iterable[str]) -> Names:
        """Every function keeps its name, unless the API refuses it or somebody else has it."""
        reserved = {name.casefold() for name in taken}
        seen: dict[str, list[str]] = {}
        for name in functions:
            seen.setdefault(name.casefold(), []).append(name)
        offered: dict[str, str] = {}
        for name in functions:
            why = self._objection(name, reserved, seen)
            if why is not None:
                offered[name] = self._renamed(name)
                self._note(name, f"it is offered as {offered[name]!r}: {why}")
        ours = {offered.get(name, name): name for name in functions}
        return Names(offered, ours)

    def _objection(self, name: str, reserved: set[str], seen: dict[str, list[str]]) -> str | None:
        if name.casefold() in reserved:
            return "the vocabulary or the provider has a tool of that name"
        if len(seen[name.casefold()]) > 1:
            return "another tool's name differs only in case"
        if self.limits.name_length is not None and len(name) > self.limits.name_length:
            return f"names are at most {self.limits.name_length} characters"
        if self.limits.name_pattern is not None and not re.fullmatch(self.limits.name_pattern, name):
            return "the name has characters that are not allowed"
        return None

    def _renamed(self, name: str) -> str:
        """A legal name that ends in a digest of the whole old one, so that no two become one."""
        longest = min(self.limits.name_length or 64, 64)
        if longest < _DIGEST_LENGTH + 2:
            raise DefinitionError(f"tool {name!r}", [f"names of {longest} characters are too short to be told apart"])
        digest = blake2s(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_LENGTH // 2).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "tool"
        if readable[0].isdigit():
            readable = f"t_{readable}"
        for start in (readable, readable.lower(), "tool"):
            renamed = f"{start[: longest - _DIGEST_LENGTH - 1]}_{digest}"
            if self.limits.name_pattern is None or re.fullmatch(self.limits.name_pattern, renamed):
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
        """What a model's call means: names turned back, then the reading of whoever's words they are."""
        ours = self.names.back(native.name) if native.namespace is None else None
        if ours is not None:
            return self._function_call(ours, native)
        call = self._speaker(native.name).read_call(self._native(native))
        if call.operations and isinstance(call.operations[0], op.Unrecognised):
            return self._unknown(native)
        return call if call.native is native else msgspec.structs.replace(call, native=native)

    def _native(self, native: NativeCall) -> NativeCall:
        name = self._aliases.get(native.name)
        return native if name is None else msgspec.structs.replace(native, name=name)

    def _speaker(self, name: str) -> Dialect:
        """Whose words a name of this request is."""
        return self._plain if self._plain is not None and name in self._plain_names else self.dialect

    def _function_call(self, name: str, native: NativeCall) -> Call:
        arguments = native.arguments
        if not isinstance(arguments, dict):
            message = f"{name}: expected a JSON object, got {arguments!r:.80}"
            details = {"tool": name, "problems": [{"path": "", "message": message}]}
            return Call(native.id, (), native, failure=Failure("invalid_arguments", message, details))
        if self._undo is not None:
            arguments = self._undo(native.name, arguments)
        return Call(native.id, (op.CallFunction(name, arguments),), native)

    def _unknown(self, native: NativeCall) -> Call:
        offered = [definition.name for definition in self.definitions if definition.name]
        message = f'There is no tool "{native.name}".{nearest(native.name, offered)}'
        failure = Failure("unknown_tool", message, {"tool": native.name, "offered": offered})
        return Call(native.id, (), native, failure=failure)

    def write_call(self, id: str, operation: op.Operation) -> tuple[NativeCall, ...]:
        """An operation of the history in the words of this request."""
        if isinstance(operation, op.CallFunction):
            return (NativeCall(id, self.names.offer(operation.name), operation.arguments),)
        plain = self._plain or DIALECTS["plain"]
        if type(operation) in self._in_plain:
            calls = plain.write_call(id, operation)
        else:
            try:
                calls = self.dialect.write_call(id, operation)
            except Unspeakable:
                calls = plain.write_call(id, operation)
        offered = {name: alias for alias, name in self._aliases.items()}
        return tuple(msgspec.structs.replace(call, name=offered.get(call.name, call.name)) for call in calls)

    def write_result(self, call: Call, outcomes: Sequence[Outcome]) -> NativeResult:
        """The outcomes of a call in the words the model called in."""
        known = msgspec.structs.replace(call, native=self._native(call.native))
        told = self._speaker(call.native.name).write_result(known, outcomes)
        return msgspec.structs.replace(told, name=call.native.name)

    def read_result(self, call: Call, native: NativeResult) -> Result:
        """What a result in this request's words says."""
        known = msgspec.structs.replace(call, native=self._native(call.native))
        return self._speaker(call.native.name).read_result(known, native)

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

    def _choosable(self, name: str, offered: set[str]) -> list[str]:
        if name in self.names.ours.values():
            return [self.names.offer(name)]
        if name in offered:
            return [name]
        operation = op.OPERATIONS.get(name)
        if operation is not None:
            words = self._plain if self._plain is not None and operation in self._in_plain else self.dialect
            shown = {native: alias for alias, native in self._aliases.items()}
            said = [str(one.name) for one in words.definitions({operation}, executed_by=CLIENT)]
            found = [shown.get(one, one) for one in said if shown.get(one, one) in offered]
            if found:
                return found
        for definition in self.definitions:
            if isinstance(definition, ProviderDefinition) and definition.id == name and definition.name:
                return [definition.name]
        known = [*self.names.ours.values(), *sorted(offered)]
        raise DefinitionError("tool choice", [f"no tool {name!r} is offered.{nearest(name, known)}"])


def _operation_of(tool: Tool) -> type[op.Operation]:
    assert tool.operation is not None  # it was chosen by that
    return tool.operation


def _hosted(tool: ProviderTool) -> ProviderDefinition:
    """A provider's tool by its id. Its wire type is what follows the vendor's name; its name what precedes the date."""
    wire_type = tool.id.partition(".")[2]
    return ProviderDefinition(tool.id, wire_type, re.sub(r"_\d{8}$", "", wire_type), tool.settings)
