"""Tools: something a model may call that runs here (`Tool`). What its provider runs is a `ProviderTool`.

Rules: a tool is wrong when it is defined or not at all, with every problem at once; its arguments are read by its own
types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, Unpack, get_args, overload

import msgspec
from msgspec.structs import astuple

from dragoman import model
from dragoman.errors import DefinitionError, ToolError, nearest
from dragoman.schema import Reader, class_info, json_problems, to_json

from .context import Context
from .signature import Invoke, Signature, read_schema_signature, read_signature, read_value_signature

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    CallT = ParamSpec("CallT", default=...)
    """What the function of a tool takes, for type checkers."""
    ValueT = TypeVar("ValueT", default=Any)
else:
    from typing import ParamSpec, TypeVar

    CallT, ValueT = ParamSpec("CallT"), TypeVar("ValueT")  # defaults are known to type checkers

Approval = Literal["never", "always", "policy"]
"""Who says whether a call may run: nobody, a person each time, or the run's policy."""

# What MCP allows. Where an API refuses a name (for a dot, its length, a digit first), requests to it use another.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_NAME_RULE = "a name is 1 to 128 letters, digits, `_`, `-` and `.`"


class Traits(TypedDict, total=False):
    """What a definition may say about a tool beside its schema."""

    examples: Sequence[model.ToolExample]
    """Good calls; their inputs must fit the schema."""
    tags: Iterable[str]
    version: str | None
    timeout: float | None
    """Seconds a call may take."""
    approval: bool | Approval
    sequential: bool
    """Never run beside another call."""
    repeatable: bool
    """Calling it twice does no harm, so it may be tried again."""
    kind: model.Kind | str | None
    """What it does to the world; what policies group by."""
    mcp: tuple[str, str] | None
    """The MCP server it is a tool of, and its name there: then a call of it means `CallMcpTool`."""
    hints: Mapping[str, Any] | None
    """What whoever offers it says about it beside that, as plain JSON. Nothing is decided by it, but a change of it is
    a change of the definition."""


class Tool(Generic[CallT, ValueT]):
    """A tool that runs here, defined once.

    `Tool(name, description, parameters, run)` takes a raw JSON Schema. `run` gets the arguments one by one, if it has
    parameters named like the schema's properties; otherwise its first parameter gets all of them, as a dict or as an
    object of the dataclass, struct or pydantic model it is annotated with. Arguments that a call leaves out get the
    `default` of the schema. `@tool` makes a tool from a function, `Tool.from_operation` from an operation's type.
    """

    __slots__ = (
        "__weakref__",
        "_invoke",
        "_receiver",
        "approval",
        "description",
        "examples",
        "hints",
        "ignored",
        "is_async",
        "kind",
        "listed",
        "mcp",
        "name",
        "offered_as",
        "only_plain",
        "operation",
        "parameters",
        "reader",
        "repeatable",
        "run",
        "sequential",
        "tags",
        "timeout",
        "version",
    )

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON Schema of the arguments: what `reader` reads. Not to be changed."""
    run: Callable[..., Any]
    reader: Reader[Any]
    is_async: bool
    examples: tuple[model.ToolExample, ...]
    tags: tuple[str, ...]
    version: str | None
    timeout: float | None
    approval: Approval
    sequential: bool
    repeatable: bool
    kind: model.Kind | None
    mcp: tuple[str, str] | None
    hints: dict[str, Any] | None
    operation: type[model.Operation] | None
    """The operation it does, when it was made from one: then a dialect may have its own words for it."""
    ignored: tuple[str, ...]
    listed: tuple[model.Operation, str, str] | None
    only_plain: str | None
    """How it is offered in a dialect's words: see `from_operation`."""
    offered_as: object
    """The same object for tools that are offered alike: a function, and its copies that are bound to instances."""
    _invoke: Invoke
    _receiver: str | None

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        run: Callable[..., Any],
        **traits: Unpack[Traits],
    ) -> None:
        try:
            schema = to_json(parameters)  # a copy: what its author changes later is not what was offered
        except TypeError:
            schema = None  # the reader says what is wrong with it
        # A server fills in the defaults of its own tools.
        signature = read_schema_signature(
            run, schema if isinstance(schema, dict) else {}, fill=traits.get("mcp") is None
        )
        self._define(name, description, run, signature, lambda: Reader.of_schema(name, parameters), traits)

    @classmethod
    def from_schema(
        cls,
        parameters: Mapping[str, Any],
        run: Callable[..., Any],
        *,
        name: str,
        description: str,
        **traits: Unpack[Traits],
    ) -> Tool:
        """A tool whose arguments are described by a raw JSON Schema, as `Tool(…)` makes it."""
        return cls(name, description, parameters, run, **traits)

    @classmethod
    def from_function(
        cls, function: Any, *, name: str | None = None, description: str | None = None, **traits: Unpack[Traits]
    ) -> Tool:
        """A tool from any callable: the schema comes from its type hints, the descriptions from its docstring."""
        if isinstance(function, Tool):
            raise DefinitionError(f"tool {function.name!r}", ["it is a tool already; `renamed` gives it another name"])
        signature = read_signature(function)
        run = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        name = signature.name if name is None else name
        made = cls.__new__(cls)
        made._define(
            name,
            signature.description if description is None else description,
            run,
            signature,
            lambda: Reader.of_fields(name, signature.fields),
            traits,
        )
        return made

    @classmethod
    def from_operation(
        cls,
        operation: type[model.Operation],
        run: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        ignored: tuple[str, ...] = (),
        listed: tuple[model.Operation, str, str] | None = None,
        only_plain: str | None = None,
        **traits: Unpack[Traits],
    ) -> Tool:
        """A tool that does one operation: its parameters are the operation's fields, and `run` gets the operation.

        Its name is the operation's tag unless `name` is given. `ignored` are fields that it does not support: no
        vocabulary offers parameters for them. `listed` adds a text about the values of a field to the description:
        a sample of the operation, the field, and the text. `only_plain` is the reason why it is offered in plain words
        where the vocabulary's own tool for the operation is another.
        """
        name = str(operation.__struct_config__.tag) if name is None else name
        signature = read_value_signature(run)
        call = signature.invoke

        def invoke(run: Callable[..., Any], arguments: Any, context: Context | None) -> Any:
            return call(run, operation(*astuple(arguments)), context)

        made = cls.__new__(cls)
        made._define(
            name,
            class_info(operation).text if description is None else description,
            run,
            signature._replace(invoke=invoke),
            lambda: Reader.of_fields(name, class_info(operation).fields),
            {"kind": operation.kind, **traits},
            operation,
            {"ignored": ignored, "listed": listed, "only_plain": only_plain},
        )
        return made

    def _define(
        self,
        name: str,
        description: Any,
        run: Any,
        signature: Signature,
        make_reader: Callable[[], Reader[Any]],
        traits: Traits,
        operation: type[model.Operation] | None = None,
        offered: Mapping[str, Any] = {},
    ) -> None:
        problems = [*name_problems(name), *signature.problems]
        if not isinstance(description, str) or not description.strip():
            problems.append("it has no description; write a docstring, or give `description`")
        facts: dict[str, Any] = _read_traits(traits, problems)
        reader: Reader[Any] | None = None
        try:
            reader = make_reader()
        except DefinitionError as error:
            problems += error.problems
        if reader is not None:
            problems += _example_problems(facts["examples"], reader)
        if problems or reader is None:
            raise DefinitionError(f"tool {name!r}", dict.fromkeys(problems), signature.where)
        facts |= {"name": name, "description": description, "run": run, "reader": reader, "parameters": reader.schema}
        facts |= {
            "operation": operation,
            "is_async": signature.is_async,
            "_invoke": signature.invoke,
            "_receiver": signature.receiver,
            "offered_as": object(),
        }
        facts |= {"ignored": (), "listed": None, "only_plain": None, **offered}
        for fact, value in facts.items():
            object.__setattr__(self, fact, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a tool does not change; make another one to give it another `{name}`")

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    # ── as the function it was made from ─────────────────────────────────────

    def __call__(self, *arguments: CallT.args, **named: CallT.kwargs) -> ValueT:
        """Call the function itself, as Python does."""
        value: ValueT = self.run(*arguments, **named)
        return value

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.run

    @property
    def __name__(self) -> str:
        return self.name

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """A tool defined in a class is bound as a method is."""
        receiver = instance if self._receiver == "instance" else owner
        if self._receiver is None or receiver is None:
            return self
        offered_as = self.offered_as if self.operation is None else object()  # a standard tool is known by being itself
        return self._but(run=MethodType(self.run, receiver), _receiver=None, offered_as=offered_as)

    # ── as a model calls it ──────────────────────────────────────────────────

    def read(self, arguments: bytes | str | Mapping[str, Any] | None) -> Bound:
        """Read a model's arguments into a call that can be made.

        Raises `ToolError` of the kind "invalid_arguments"; its details list every problem with its path.
        """
        value, coerced = self.reader.read(arguments)
        if not coerced:
            return Bound(self, value)

        return Bound(self, value, tuple(model.Coercion(*each) for each in coerced))

    async def call(self, arguments: bytes | str | Mapping[str, Any] | None, context: Context | None = None) -> Any:
        """Read arguments, run the tool and return its value. A plain function runs in a thread."""
        value, _ = self.reader.read(arguments)
        if self.is_async:
            return await self._started(value, context)
        return await self._in_thread(value, context)

    def call_sync(self, arguments: bytes | str | Mapping[str, Any] | None, context: Context | None = None) -> Any:
        """`call` for code without an event loop: a plain function runs here, an async one in a loop of its own."""
        return self.read(arguments).call_sync(context)

    def _started(self, value: Any, context: Context | None) -> Any:
        if self._receiver is not None:
            raise ToolError(f"{self.name} is a method: take it from an instance of its class, not from the class")
        return self._invoke(self.run, value, context)

    async def _in_thread(self, value: Any, context: Context | None) -> Any:
        from .processes.threads import in_thread

        result = await in_thread(self._started, value, context)
        return await result if hasattr(result, "__await__") else result

    # ── as data ──────────────────────────────────────────────────────────────

    @property
    def definition(self) -> model.FunctionDefinition:
        """What a model is offered."""
        return model.FunctionDefinition(self.name, self.description, self.parameters, examples=self.examples)

    def renamed(self, name: str) -> Tool:
        """The same tool under another name."""
        if problems := name_problems(name):
            raise DefinitionError(f"tool {name!r}", problems)
        return self._but(name=name, reader=self.reader.renamed(name), offered_as=object())

    def snapshot(self) -> dict[str, Any]:
        """A complete description as plain JSON, without the function itself."""
        names = ("name", "description", "parameters", "examples", "tags", "version", "timeout", "approval")
        facts = {name: getattr(self, name) for name in (*names, "sequential", "repeatable", "kind")}
        facts |= {name: value for name in ("mcp", "hints") if (value := getattr(self, name)) is not None}
        plain: dict[str, Any] = to_json(facts)
        return plain

    def _but(self, **changes: Any) -> Tool:
        made = object.__new__(type(self))
        for name in self.__slots__[1:]:
            object.__setattr__(made, name, changes.get(name, getattr(self, name)))
        return made


class Bound(msgspec.Struct, frozen=True):
    """A tool with arguments that fit it: a call ready to be made. `coercions` say where they had to be made to fit."""

    tool: Tool
    arguments: Any
    coercions: tuple[model.Coercion, ...] = ()

    async def call(self, context: Context | None = None) -> Any:
        """Make the call; a plain function runs in a thread, so that it does not hold up the event loop."""
        if self.tool.is_async:
            return await self.tool._started(self.arguments, context)
        return await self.tool._in_thread(self.arguments, context)

    def call_sync(self, context: Context | None = None) -> Any:
        """Make the call here and now."""
        if not self.tool.is_async:
            result = self.tool._started(self.arguments, context)
            if not hasattr(result, "__await__"):
                return result
            return _run_alone(_awaited(result), self.tool.name)
        return _run_alone(self.call(context), self.tool.name)


async def _awaited(result: Any) -> Any:
    return await result


def _run_alone(coroutine: Any, name: str) -> Any:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise RuntimeError(f"{name} is async and an event loop is running here: await its `call` instead")


# ── @tool ────────────────────────────────────────────────────────────────────


@overload
def tool(function: Callable[CallT, ValueT], /) -> Tool[CallT, ValueT]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, **traits: Unpack[Traits]
) -> Callable[[Callable[CallT, ValueT]], Tool[CallT, ValueT]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **traits: Unpack[Traits],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a function; with options, `@tool(timeout=5)`. The tool can still be called like the function."""
    if function is not None:
        return Tool.from_function(function, name=name, description=description, **traits)
    return lambda decorated: Tool.from_function(decorated, name=name, description=description, **traits)


# ── what a definition must be ────────────────────────────────────────────────


def name_problems(name: Any) -> list[str]:
    fits = isinstance(name, str) and _NAME.fullmatch(name)
    return [] if fits else [f"{name!r} is not a tool's name: {_NAME_RULE}"]


def _read_traits(traits: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Traits with their defaults. Types do not hold at run time, so each is looked at."""
    if not traits:
        return dict(_NO_TRAITS)
    timeout = traits.get("timeout")
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < float("inf")):
        problems.append(f"the timeout is {timeout!r}; it must be more than 0 seconds, or None")
    approval = traits.get("approval", "policy")
    if isinstance(approval, bool):
        approval = "always" if approval else "never"
    elif approval not in get_args(Approval):
        problems.append(f"the approval is {approval!r}; it must be never, always or policy")
    given = traits.get("tags", ())
    tags = tuple([given] if isinstance(given, str) else _listed("tags", given, problems))
    if all(isinstance(tag, str) and tag for tag in tags):
        tags = tuple(dict.fromkeys(tags))
    else:
        problems.append(f"the tags are {tags!r}; each must be a text")
    version = traits.get("version")
    if version is not None and not (isinstance(version, str) and version):
        problems.append(f"the version is {version!r}; it must be a text, or None")
    mcp = traits.get("mcp")
    if mcp is not None and not (isinstance(mcp, tuple) and [type(part) for part in mcp] == [str, str]):
        problems.append(f"`mcp` is {mcp!r}; it must be the names of a server and of its tool, or None")
    hints = traits.get("hints")
    if hints is not None and (not isinstance(hints, Mapping) or json_problems(dict(hints))):
        problems.append("`hints` must be an object of plain JSON values, or None")
        hints = None
    for name in ("sequential", "repeatable"):
        if not isinstance(traits.get(name, False), bool):
            problems.append(f"`{name}` is {traits[name]!r}; it must be True or False")
    for unknown in traits.keys() - Traits.__annotations__.keys():
        problems.append(f"`{unknown}` is nothing a tool has.{nearest(unknown, Traits.__annotations__)}")
    return {
        "examples": _listed("examples", traits.get("examples", ()), problems),
        "tags": tags,
        "version": version,
        "timeout": timeout,
        "approval": approval,
        "sequential": traits.get("sequential", False),
        "repeatable": traits.get("repeatable", False),
        "kind": _read_kind(traits.get("kind"), problems),
        "mcp": mcp,
        "hints": None if hints is None else to_json(dict(hints)),
    }


def _listed(name: str, given: Any, problems: list[str]) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        problems.append(f"the {name} are {given!r}; give a list of them")
        return ()


def _read_kind(kind: model.Kind | str | None, problems: list[str]) -> model.Kind | None:
    if kind is None:
        return None

    try:
        return model.Kind(kind)
    except ValueError:
        known = [each.value for each in model.Kind]
        problems.append(f"the kind is {kind!r}; it must be one of {', '.join(known)}.{nearest(str(kind), known)}")
        return None


_NO_TRAITS = _read_traits({"version": None}, [])


def _example_problems(examples: tuple[model.ToolExample, ...], reader: Reader[Any]) -> list[str]:
    problems: list[str] = []
    for number, example in enumerate(examples, 1):
        place = f"example {number}"
        if not hasattr(example, "input"):
            problems.append(f"{place}: it is no ToolExample")
            continue
        problems += [f"{place}: {path or 'its input'} {message}" for path, message in reader.problems(example.input)]
        try:
            to_json(example.output)
        except TypeError as error:
            problems.append(f"{place}: its output: {error}")
    return problems
