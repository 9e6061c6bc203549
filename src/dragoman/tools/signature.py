"""What a callable says about itself: its parameters, which of them the run fills in, and how it is to be called.

Rule: every problem of a signature is found in one go, and nothing is guessed: a parameter without a type is a problem.
"""

from __future__ import annotations

import functools
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR, iscoroutinefunction, signature, unwrap
from types import MethodType, UnionType
from typing import Any, NamedTuple

from msgspec import NODEFAULT
from msgspec.structs import astuple

from dragoman.errors import ToolError, nearest
from dragoman.schema import Defaults, Described, Field, Reader, describe, has_fields

from .context import Context, Inject

Invoke = typing.Callable[["Callable[..., Any]", Any, "Context | None"], Any]


class Slot(NamedTuple):
    """How one parameter is filled: from the arguments (`source` is `None`), with the context, or by type."""

    name: str
    source: Any = None
    default: Any = NODEFAULT
    named: bool = False


class Signature(NamedTuple):
    """A callable as a tool: what to call it, what it says of itself, and how."""

    name: str
    description: str
    fields: list[Field]
    invoke: Invoke
    is_async: bool
    receiver: str | None
    """"instance" or "class" for a method that has not been bound yet."""
    problems: list[str]
    where: str | None


def read_signature(target: Any) -> Signature:
    """Each parameter becomes a field, except those the run fills in."""
    opened = _open(target)
    problems = _callable_problems(target, opened)
    try:
        said = describe(_docstring(opened))
    except ValueError as error:
        said = Described("it cannot be read", {})
        problems.append(str(error))
    fields: list[Field] = []
    slots: list[Slot] = []
    parameters = _parameters(opened, problems)
    receiver = opened.receiver
    if receiver is None and parameters and parameters[0].name in _RECEIVERS and _is_bare(parameters[0]):
        receiver = _RECEIVERS[parameters[0].name]
    for parameter in parameters[receiver is not None :]:
        slot = _slot(parameter)
        slots.append(slot)
        if slot.source is None:
            text = said.parameters.get(parameter.name, "")
            required = parameter.default is NODEFAULT
            fields.append(Field(parameter.name, parameter.hint, parameter.default, text, required))
    problems += _stale_words(said, [parameter.name for parameter in parameters], opened)
    name, is_async = _name(opened), _is_async(opened)
    return Signature(name, said.text, fields, _invoke(slots), is_async, receiver, problems, _where(opened))


def read_value_signature(target: Any) -> Signature:
    """For a callable that takes the arguments whole, as its first parameter; the run fills in the others."""
    opened = _open(target)
    problems = _callable_problems(target, opened)
    parameters = _parameters(opened, problems, first_is_value=True)
    if not parameters or parameters[0].named:
        problems.append("`run` must take the arguments as its first parameter")
    slots = [_slot(parameter) for parameter in parameters[1:]]
    problems += [
        f"`run` takes `{slot.name}`, which nothing fills in: after the arguments only what the run gives"
        for slot in slots
        if slot.source is None and slot.default is NODEFAULT
    ]
    filled = [slot for slot in slots if slot.source is not None]

    def invoke(run: Callable[..., Any], value: Any, context: Context | None) -> Any:
        if not filled:
            return run(value)
        given = context or Context()
        return run(value, **{slot.name: _filled(slot, given) for slot in filled})

    return Signature(_name(opened), "", [], invoke, _is_async(opened), None, problems, _where(opened))


def read_schema_signature(target: Any, schema: Mapping[str, Any], *, fill: bool) -> Signature:
    """For a callable whose arguments a raw JSON Schema describes. `fill`: the schema's defaults are filled in.

    It takes them one by one, if a parameter is named like a property; else as a whole, in its first parameter: a dict,
    or an object of the class that the parameter is annotated with. The run fills in the others.
    """
    properties = _properties(schema)
    opened = _open(target)
    ignored: list[str] = []
    stated = [one for one in _parameters(opened, ignored, first_is_value=True) if _source(one.hint) is None]
    if not any(one.name in properties for one in stated):
        whole = read_value_signature(target)
        kind = _class_of(stated[0], opened) if stated else None
        return whole._replace(invoke=_with_whole(whole.invoke, schema if fill else None, kind))
    problems = _callable_problems(target, opened)
    parameters = _parameters(opened, problems, typed=False)
    takes_rest = any(one.kind is one.VAR_KEYWORD for one in signature(opened.target).parameters.values())
    problems = [problem for problem in problems if not problem.startswith("`**")]
    slots = [_slot(parameter) for parameter in parameters]
    ours = {slot.name: slot for slot in slots if slot.source is None}
    defaults = Defaults(schema) if fill else None
    stated_required = schema.get("required")
    required = stated_required if isinstance(stated_required, list) else []
    for name in properties:
        if name not in ours and not takes_rest:
            problems.append(f"the schema has `{name}`, and `run` has no parameter of that name")
    for name, slot in ours.items():
        if name not in properties and slot.default is NODEFAULT:
            problems.append(f"`run` takes `{name}`, which the schema does not have and nothing fills in")
        elif name not in required and slot.default is NODEFAULT and not (defaults is not None and defaults.has(name)):
            how = "make it required, or give it a default in the schema"
            problems.append(f"`run` needs `{name}`, which a call may leave out: {how}")

    def invoke(run: Callable[..., Any], value: Any, context: Context | None) -> Any:
        value = value if defaults is None else defaults.fill(value)
        given = context or Context()
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for slot in slots:
            one = value.get(slot.name, slot.default) if slot.source is None else _filled(slot, given)
            if slot.named:
                named[slot.name] = one
            else:
                positional.append(one)
        rest = {name: one for name, one in value.items() if name not in ours}
        if rest and not takes_rest:
            listed = ", ".join(map(repr, rest))
            problems = [{"path": name, "message": "is no parameter"} for name in rest]
            raise ToolError(f"there is no parameter {listed}", kind="invalid_arguments", details={"problems": problems})
        return run(*positional, **named, **rest)

    return Signature(_name(opened), "", [], invoke, _is_async(opened), None, problems, _where(opened))


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _class_of(parameter: _Parameter, opened: _Opened) -> Any:
    """The class of objects that a parameter wants, when it says one."""
    if parameter.hint is NODEFAULT:
        return None
    hint = _resolved(parameter.name, parameter.hint, opened.written, [])
    return hint if has_fields(hint) or hasattr(hint, "model_validate") else None


def _with_whole(invoke: Invoke, schema: Mapping[str, Any] | None, kind: Any) -> Invoke:
    """What calls a function with all arguments at once: with the defaults of the schema, as an object of a class."""
    defaults = None if schema is None else Defaults(schema)
    reader = None if kind is None else Reader.of_type(kind)
    if defaults is None and reader is None:
        return invoke

    def call(run: Callable[..., Any], value: Any, context: Context | None) -> Any:
        value = value if defaults is None else defaults.fill(value)
        return invoke(run, value if reader is None else reader.read(value)[0], context)

    return call


# ── what a callable is ───────────────────────────────────────────────────────

_RECEIVERS = {"self": "instance", "cls": "class"}


class _Opened(NamedTuple):
    """A callable, the function that runs when it is called, and the one its author wrote (under decorators)."""

    target: Any
    function: Any
    written: Any
    receiver: str | None


def _open(target: Any) -> _Opened:
    receiver = "class" if isinstance(target, classmethod) else None
    called = target.__func__ if isinstance(target, (staticmethod, classmethod)) else target
    function = _without_partial(called)
    if isinstance(function, MethodType):
        function = function.__func__
    elif not hasattr(function, "__code__") and not isinstance(function, type):
        call = getattr(type(function), "__call__", None)  # noqa: B004 - its function is wanted, not whether it is there
        function = call if hasattr(call, "__code__") else function
    return _Opened(called, function, unwrap(function), receiver)


def _without_partial(target: Any) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target


def _callable_problems(target: Any, opened: _Opened) -> list[str]:
    if not callable(opened.target):
        return [f"`{type(target).__name__}` cannot be called"]
    if isinstance(target, type):
        return ["a class is not a tool; give a function, or an instance that can be called"]
    flags = getattr(getattr(opened.function, "__code__", None), "co_flags", 0)
    if flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        return ["it yields; a tool returns its result (tell what it is doing with `Context.progress`)"]
    return []


def _is_async(opened: _Opened) -> bool:
    return iscoroutinefunction(opened.target) or (
        opened.function is not opened.target and iscoroutinefunction(opened.function)
    )


def _name(opened: _Opened) -> str:
    target = _without_partial(opened.target)
    return str(getattr(target, "__name__", None) or type(target).__name__)


def _docstring(opened: _Opened) -> str | None:
    # A callable object says what it does in its __call__ or in its class.
    return getattr(opened.written, "__doc__", None) or getattr(_without_partial(opened.target), "__doc__", None)


def _where(opened: _Opened) -> str | None:
    code = getattr(opened.written, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None


def _stale_words(said: Described, known: list[str], opened: _Opened) -> list[str]:
    """Parameters the docstring describes and the function does not have. What a partial has fixed it does have."""
    stale = [name for name in said.parameters if name not in known]
    written = getattr(getattr(opened.written, "__code__", None), "co_varnames", ())
    return [
        f"the docstring describes `{name}`, which is no parameter.{nearest(name, known)}"
        for name in stale
        if name not in written
    ]


# ── parameters ───────────────────────────────────────────────────────────────


class _Parameter(NamedTuple):
    name: str
    hint: Any
    default: Any
    named: bool


def _is_bare(parameter: _Parameter) -> bool:
    return parameter.hint is NODEFAULT and parameter.default is NODEFAULT


def _parameters(
    opened: _Opened, problems: list[str], *, first_is_value: bool = False, typed: bool = True
) -> list[_Parameter]:
    try:
        given = list(signature(opened.target).parameters.values())
        annotations = getattr(opened.written, "__annotations__", {})
    except (TypeError, ValueError) as error:
        problems.append(f"its parameters cannot be read: {error}")
        return []
    except NameError as error:  # from Python 3.14 on, annotations are evaluated when they are looked at
        problems.append(f"the type `{error.name}` cannot be resolved")
        return []
    # What a partial has fixed is its author's choice, and no longer the model's.
    fixed = opened.target.keywords if isinstance(opened.target, functools.partial) else ()
    parameters: list[_Parameter] = []
    for parameter in given:
        name = parameter.name
        if name in fixed:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            if not first_is_value:
                stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
                problems.append(f"`{stars}{name}` takes what no schema can name; list its parameters one by one")
            continue
        default = NODEFAULT if parameter.default is parameter.empty else parameter.default
        if type(default).__module__ == "pydantic.fields":
            problems.append(f"parameter `{name}`: a pydantic Field is no default; write Annotated[..., Field(...)]")
        if name.startswith("__"):
            problems.append(f"parameter `{name}`: a name with two leading underscores is Python's own")
        hint = annotations.get(name, NODEFAULT)
        whole = first_is_value and not parameters
        if hint is not NODEFAULT and not whole:
            hint = _resolved(name, hint, opened.written, problems)
        elif not typed:
            hint = Any
        elif not whole and not (not parameters and name in _RECEIVERS and default is NODEFAULT):
            problems.append(f"parameter `{name}` has no type")
            hint = Any
        parameters.append(_Parameter(name, hint, default, parameter.kind is parameter.KEYWORD_ONLY))
    return parameters


def _resolved(name: str, hint: Any, written: Any, problems: list[str]) -> Any:
    if not _holds_text(hint):
        return hint

    def holder() -> None: ...

    holder.__annotations__ = {name: hint}
    names = getattr(written, "__globals__", {})
    try:
        return typing.get_type_hints(holder, names, include_extras=True)[name]
    except NameError:
        pass
    try:
        return typing.get_type_hints(holder, names, _locals_outside(), include_extras=True)[name]
    except NameError as error:
        problems.append(f"parameter `{name}`: the type `{error.name}` cannot be resolved")
    except Exception as error:  # noqa: BLE001 - an annotation is any expression, and may raise anything
        problems.append(f"parameter `{name}`: its type cannot be resolved: {error}")
    return Any


def _holds_text(hint: Any) -> bool:
    """Whether a type is still text, or has such a part."""
    if isinstance(hint, (str, typing.ForwardRef)):
        return True
    if isinstance(hint, type) or getattr(hint, "__origin__", None) is typing.Literal:
        return False
    return any(map(_holds_text, getattr(hint, "__args__", ())))


def _locals_outside() -> dict[str, Any]:
    """The local names of whoever is defining the tool: types may be defined inside a function too."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__ or "."):
        frame = frame.f_back
    return frame.f_locals


# ── calling ──────────────────────────────────────────────────────────────────


def _slot(parameter: _Parameter) -> Slot:
    return Slot(parameter.name, _source(parameter.hint), parameter.default, parameter.named)


def _source(hint: Any) -> Any:
    """The type by which the run fills a parameter in, if it does."""
    if isinstance(hint, type):
        return Context if issubclass(hint, Context) else None
    metadata = getattr(hint, "__metadata__", ())
    base = hint.__origin__ if metadata else hint
    union = type(base) is UnionType or getattr(base, "__origin__", None) is typing.Union
    kinds = [kind for kind in (base.__args__ if union else (base,)) if kind is not type(None)]
    if any(fact is Inject or isinstance(fact, Inject) for fact in metadata):
        return kinds[0] if len(kinds) == 1 else base
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Context):
            return Context
    return None


def _filled(slot: Slot, context: Context) -> Any:
    if slot.source is Context:
        return context
    if slot.default is not NODEFAULT and slot.source not in context.provides:
        return slot.default
    return context.get(slot.source)


def _spread(run: Callable[..., Any], arguments: Any, context: Context | None) -> Any:
    return run(*astuple(arguments))


def _invoke(slots: list[Slot]) -> Invoke:
    if not any(slot.named or slot.source is not None for slot in slots):
        return _spread

    def invoke(run: Callable[..., Any], arguments: Any, context: Context | None) -> Any:
        given = context or Context()
        values: Iterator[Any] = iter(astuple(arguments))
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for slot in slots:
            value = next(values) if slot.source is None else _filled(slot, given)
            if slot.named:
                named[slot.name] = value
            else:
                positional.append(value)
        return run(*positional, **named)

    return invoke
