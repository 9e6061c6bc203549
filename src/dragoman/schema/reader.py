"""JSON to one Python type: strictly in one decode where it fits, leniently and with a report where it does not."""

from __future__ import annotations

import enum
import re
import typing
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from dragoman.errors import DefinitionError, PatternError, ToolError

from .classes import class_info, has_fields
from .constraints import COLLECTIONS, bare, members, origin_of
from .custom_types import StandIn, decodes, read_custom
from .types import Walk, shown_type
from .values import head, json_problems, shown, to_json, written, written_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .checks import Check, Report
    from .classes import Field
    from .constraints import Schema
    from .values import Path, Problems

T = TypeVar("T")


class Coerced(NamedTuple):
    """One value that was converted because it did not have its type: where, by which rule, from what to what."""

    path: str
    rule: str
    before: Any
    after: Any


def schema_of(hint: Any) -> Schema:
    """The JSON Schema (2020-12) of any Python type that can be read from JSON."""
    return Reader.of_type(hint).schema


class Reader(Generic[T]):
    """Reads JSON into one type. Made once per type; `schema` is what it reads."""

    __slots__ = ("_check", "_decode", "_hints", "_leaves", "_type", "_unenforced", "name", "schema")

    def __init__(
        self,
        name: str,
        schema: Schema,
        kind: Any,
        *,
        hints: Mapping[str, Any] | None = None,
        leaves: Mapping[int, tuple[Schema, Any]] | None = None,
        check: Check | None = None,
        unenforced: bool = False,
    ) -> None:
        self.name, self.schema = name, schema
        self._type, self._hints, self._leaves = kind, hints or {}, leaves
        self._check, self._unenforced = check, unenforced
        self._decode: Callable[[bytes | str], T] = msgspec.json.Decoder(kind, dec_hook=read_custom).decode

    @classmethod
    def of_type(cls, hint: Any, name: str | None = None) -> Reader[Any]:
        """A reader of any Python type. Raises `DefinitionError` with every reason why there is none."""
        name = name or shown_type(hint).strip("`")
        walk = Walk()
        schema, inner = walk.schema(hint)
        if not walk.problems and (walk.must_call or not decodes(inner)):
            walk = Walk(calling=True)
            schema, inner = walk.schema(hint)
        schema = walk.finish(schema)
        problems = walk.problems or _undecodable(inner)
        if problems:
            raise DefinitionError(name, problems)
        return cls(name, schema, inner, leaves=walk.leaves, unenforced=walk.unenforced)

    @classmethod
    def of_fields(cls, name: str, fields: Sequence[Field]) -> Reader[Any]:
        """A reader of a closed object with these fields (a tool's arguments) into a struct that keeps their order."""
        walk = Walk()
        schema, found = walk.parameters(fields)
        if not walk.problems and (walk.must_call or not all(map(decodes, found))):
            walk = Walk(calling=True)
            schema, found = walk.parameters(fields)
        hints = {field.name: hint for field, hint in zip(fields, found, strict=True)}
        problems = walk.problems
        if not problems:
            rows = [
                (field.name, hints[field.name], *([] if field.required else [_struct_default(field.default)]))
                for field in fields
            ]
            try:
                kind = msgspec.defstruct(name, rows, kw_only=True, forbid_unknown_fields=True)
                return cls(name, schema, kind, hints=hints, leaves=walk.leaves, unenforced=walk.unenforced)
            except (TypeError, ValueError, NameError, RuntimeError) as error:
                problems = [f"parameter `{one}`: {text}" for one in hints for text in _undecodable(hints[one])]
                problems = problems or [str(error)]
        raise DefinitionError(name, problems)

    @classmethod
    def of_schema(cls, name: str, schema: Mapping[str, Any]) -> Reader[dict[str, Any]]:
        """A reader that checks plain JSON against a raw JSON Schema, which must describe an object."""
        from .compiler import Compiler

        problems = [f"parameters{path and '.'}{path} {message}" for path, message in json_problems(schema)]
        if problems:
            raise DefinitionError(name, problems)
        try:
            # A copy: what its author changes later was not checked.
            copy: Schema = to_json(schema)
        except TypeError as error:
            raise DefinitionError(name, [_TOO_DEEP]) from error
        if not isinstance(copy, dict):
            raise DefinitionError(name, [f'#: parameters are an object: say "type": "object", not {shown(copy)}'])
        compiler = Compiler(copy)
        try:
            check = compiler.compile(copy)
        except RecursionError:
            raise DefinitionError(name, [_TOO_DEEP]) from None
        if copy.get("type") != "object":
            compiler.problems.insert(0, '#/type: parameters are an object: say "type": "object"')
        if compiler.problems:
            raise DefinitionError(name, compiler.problems)
        return Reader(name, copy, dict[str, Any], check=check, unenforced=True)

    def renamed(self, name: str) -> Reader[T]:
        """The same reader under another name, for its messages."""
        reader = copy(self)
        reader.name = name
        return reader

    def read(self, arguments: bytes | str | Mapping[str, Any] | None) -> tuple[T, tuple[Coerced, ...]]:
        """The typed value, and what had to be coerced for it.

        Raises `ToolError` of the kind "invalid_arguments"; its details list every problem with its path.
        """
        if not self._unenforced:
            try:
                if isinstance(arguments, (bytes, str)):
                    return self._decode(arguments), ()
                if not json_problems(arguments):
                    return self._convert(arguments), ()
            except Exception:  # noqa: BLE001 - read again below, slowly, to say everything that is wrong
                pass
        return self._read_leniently(arguments)

    def problems(self, value: Any) -> Problems:
        """Every reason, as (path, message), why a plain JSON value cannot be read without conversion."""
        from .checks import Report

        if found := json_problems(value):
            return found
        report = Report(lenient=False)
        value = self._checked(to_json(value), report)
        found = [(written(path), message) for path, message in report.problems]
        return found or self._conversion_problems(value, known=set())

    def _convert(self, value: Any) -> T:
        converted: T = msgspec.convert(value, self._type, str_keys=True, dec_hook=read_custom)
        return converted

    def _checked(self, value: Any, report: Report) -> Any:
        from .checks import TooManyStepsError

        if self._check is None:
            from .compiler import Compiler

            # Made when first needed: what fits is decoded without it.
            self._check = Compiler(self.schema, self._leaves).compile(self.schema)
        try:
            return self._check(value, (), report)
        except RecursionError:
            report.problem((), "is nested too deeply")
            return value
        except PatternError as error:
            report.problem((), f"cannot be checked: {error}")
            return value
        except TooManyStepsError:
            report.problem((), _TOO_MANY_STEPS)
            return value

    def _read_leniently(self, arguments: Any) -> tuple[T, tuple[Coerced, ...]]:
        from .checks import Report, Written

        written_text = Written(arguments) if self._leaves and isinstance(arguments, (bytes, str)) else None
        report = Report(lenient=True, written=written_text)
        value, problems = self._plain(arguments, report)
        if problems:
            raise self._refusal(problems)
        value = self._checked(value, report)
        problems = [(written(path), message) for path, message in report.problems]
        if problems:
            known = {head(path) for path, _ in report.problems}
            if "" not in known:
                problems += self._conversion_problems(value, known=known)
            raise self._refusal(problems)
        try:
            converted = self._convert(value)
        except Exception as error:
            problems = self._conversion_problems(value, known=set()) or _problems_in(error, "")
            raise self._refusal(problems) from error
        return converted, tuple(Coerced(written(path), *rest) for path, *rest in report.coercions)

    def _plain(self, arguments: Any, report: Report) -> tuple[Any, Problems]:
        """Arguments as plain JSON. Models send nothing, or null, for "no arguments"."""
        if isinstance(arguments, (bytes, str)):
            given = bool(arguments.strip()) or self.schema.get("type") != "object"
            try:
                value = msgspec.json.decode(arguments) if given else None
            except RecursionError:
                return None, [("", "is nested too deeply")]
            except (msgspec.DecodeError, UnicodeError) as error:
                reason = _LONE_SURROGATE if _has_lone_escape(arguments) else error
                return None, [("", f"{_NOT_JSON}: {reason}")]
        elif problems := json_problems(arguments):
            return None, problems
        else:
            value = to_json(arguments)
        if value is None and self.schema.get("type") == "object":
            before = arguments.decode(errors="replace") if isinstance(arguments, bytes) else arguments
            value = report.coerced((), "empty_as_object", before, {})
        return value, []

    def _conversion_problems(self, value: Any, *, known: set[str]) -> Problems:
        """What only the types themselves can say, a validator of the user's, say, where nothing else is wrong."""
        if not self._hints:
            found = _refusals(value, self._type, ())
            return [problem for problem in found if not known or _first_name(problem[0]) not in {"", *known}]
        problems: Problems = []
        for name, hint in self._hints.items():
            if name in value and name not in known:
                problems += _refusals(value[name], hint, ((), name))
        return problems

    def _refusal(self, problems: Problems) -> ToolError:
        told = problems[:MOST_PROBLEMS]
        whole = "the text" if problems[0][1].startswith(_NOT_JSON) else "the JSON"
        listed = "; ".join(f"{path or whole} {message.removesuffix('.')}" for path, message in told)
        more = f"; and {len(problems) - len(told)} more problems" if len(problems) > len(told) else ""
        return ToolError(
            f"{self.name} cannot take these arguments: {listed}{more}",
            kind="invalid_arguments",
            details={"problems": [{"path": path, "message": message} for path, message in told]},
        )


def _struct_default(default: Any) -> Any:
    """A default the way Python has it: the object itself, also when it can change."""
    if isinstance(default, (str, int, float, bytes, type(None), enum.Enum)):
        return default
    return msgspec.field(default_factory=lambda: default)


def _undecodable(hint: Any) -> list[str]:
    """Why msgspec cannot decode a type."""
    try:
        msgspec.json.Decoder(hint, dec_hook=read_custom)
    except NameError as error:
        return [f"the type `{error.name}` cannot be resolved"]
    except (TypeError, ValueError, RuntimeError) as error:
        return [str(error)]
    return []


def _refusals(value: Any, hint: Any, path: Path) -> Problems:
    """Why a type refuses a value: of a value with parts, why each of those that are refused is.

    A decoder stops at the first. What is converted again is each part of a refused whole, once for every level.
    """
    try:
        msgspec.convert(value, hint, str_keys=True, dec_hook=read_custom)
    except Exception as error:  # noqa: BLE001 - whatever the user's type raises is why it was refused
        inside = [problem for key, part, kind in _parts(value, hint) for problem in _refusals(part, kind, (path, key))]
        return inside or _problems_in(error, written(path))
    return []


def _parts(value: Any, hint: Any) -> list[tuple[Any, Any, Any]]:
    """(key, value, type) of each part of a value, where its type says which types they have."""
    kinds = [bare(kind) for kind in members(hint) if bare(kind) not in (None, type(None))]
    if len(kinds) != 1:
        return []
    kind, arguments = kinds[0], typing.get_args(kinds[0])
    collection = COLLECTIONS.get(origin_of(kind))
    if collection is dict and isinstance(value, dict) and len(arguments) == 2:
        return [(key, item, arguments[1]) for key, item in value.items()]
    if collection is not None and isinstance(value, list) and arguments:
        fixed = collection is tuple and arguments[-1] is not ...
        types = arguments if fixed else arguments[:1] * len(value)
        return [(index, item, each) for index, (item, each) in enumerate(zip(value, types, strict=False))]
    if isinstance(kind, type) and issubclass(kind, StandIn):
        return [(name, value[name], each) for name, each in kind.parts if isinstance(value, dict) and name in value]
    if isinstance(value, dict) and has_fields(kind):
        return [(field.name, value[field.name], field.hint) for field in class_info(kind).fields if field.name in value]
    return []


MOST_PROBLEMS = 50
"""Problems of arguments that are told."""
_TOO_DEEP = "parameters are nested too deeply"
_TOO_MANY_STEPS = "cannot be checked: the schema has too many alternatives for it"
_NOT_JSON = "is not valid JSON"
_LONE_SURROGATE = "it holds half a surrogate pair, which is no text"


def _has_lone_escape(text: bytes | str) -> bool:
    """Whether half a surrogate pair is all that is wrong: to the decoder a text that ends too early."""
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return any("surrogate" in message for _, message in json_problems(value))


_WHERE = re.compile(r" - at `(?:key` in `)?\$?\.?(?P<path>[^`]*)`$")


def _problems_in(error: Exception, field: str) -> Problems:
    """What a conversion raised; pydantic says several at once."""
    text = str(error)
    found = _WHERE.search(text)
    path = _joined(field, found["path"] if found else "")
    if type(cause := error.__cause__).__module__.startswith("pydantic"):
        listed: list[dict[str, Any]] = cause.errors()  # type: ignore[union-attr]
        told = [(item["loc"], item["msg"].removeprefix("Value error, ")) for item in listed]
        return [(_joined(path, written_parts(loc)), message) for loc, message in told]
    if not isinstance(error, msgspec.ValidationError):
        return [(path, f"was refused by its type: {type(error).__name__}: {text}")]
    return [(path, text[: found.start()] if found else text)]


def _first_name(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _joined(first: str, second: str) -> str:
    return f"{first}.{second}" if first and second and not second.startswith("[") else first + second


def checker(schema: Mapping[str, Any]) -> Callable[[Any], list[str]]:
    """Finds every way in which a plain JSON value does not fit a JSON Schema, each with its path."""
    from .checks import Report, TooManyStepsError
    from .compiler import Compiler

    copy: Schema = to_json(schema)
    compiler = Compiler(copy)
    compiled: Check | None = None

    def problems(value: Any) -> list[str]:
        nonlocal compiled
        report = Report(lenient=False)
        try:
            compiled = compiled or compiler.compile(copy)
            if compiler.problems:
                return [f"the value cannot be checked: {problem}" for problem in compiler.problems]
            compiled(value, (), report)
        except RecursionError:
            report.problem((), "is nested too deeply")
        except PatternError as error:
            report.problem((), f"cannot be checked: {error}")
        except TooManyStepsError:
            report.problem((), _TOO_MANY_STEPS)
        return [f"{written(path) or 'the value'} {message}" for path, message in report.problems]

    return problems


def problems_against(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Every way in which a plain JSON value does not fit a JSON Schema, each with its path."""
    return checker(schema)(value)
