"""The checks a JSON Schema is compiled to: each looks at a value, reports every problem, and coerces where it may.

Rule: what fits is left as it is. Only what has the wrong type is coerced, by these rules and no other:
`number_from_text`, `boolean_from_text`, `json_from_text`, `list_from_value`, `integer_from_number`
(3.0 for 3), `null_as_omitted`, and by the reader `empty_as_object`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import NODEFAULT

from dragoman.errors import nearest

from .custom_types import read_custom
from .values import Path, among, shown, written

if TYPE_CHECKING:
    from dragoman.patterns import Pattern

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_KIND_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_NUMBER_TEXT = re.compile(r"\s*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*")

Schema = dict[str, Any]
Coercion = tuple[str, Any, Any]
"""Rule, value before, value after."""


MOST_STEPS = 100_000
"""Steps that checking one value may take; about a tenth of a second."""


class TooManyStepsError(Exception):
    """Checking a value takes more steps than it may."""


class _MismatchError(Exception):
    """Ends a trial at its first problem."""


class Written:
    """The JSON text of arguments, for the digits that a float does not keep."""

    __slots__ = ("_opened", "_text")

    def __init__(self, text: bytes | str) -> None:
        self._text = text
        self._opened: dict[bytes | str, Any] = {}

    def number(self, path: Path, value: float) -> str | float:
        """The number at this path digit for digit; the value itself if it does not stand there."""
        node: Any = self._text
        for key in _keys(path):
            node = self._open(node)
            if (isinstance(node, dict) and key in node) or (isinstance(node, list) and key in range(len(node))):
                node = node[key]
        return str(node) if isinstance(node, Decimal) and float(node) == value else value

    def _open(self, node: Any) -> Any:
        if not isinstance(node, (bytes, str)):
            return node
        if node not in self._opened:
            try:
                self._opened[node] = msgspec.json.Decoder(float_hook=Decimal).decode(node)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                self._opened[node] = None
        return self._opened[node]


def _keys(path: Path) -> list[Any]:
    keys = []
    while path:
        path, key = path
        keys.append(key)
    return keys[::-1]


class Report:
    """What a check found. A trial stops at the first problem; only a lenient check coerces."""

    __slots__ = ("coercions", "lenient", "lone", "problems", "resources", "steps", "trial", "written")

    def __init__(
        self, *, lenient: bool, trial: bool = False, written: Written | None = None, outer: Report | None = None
    ) -> None:
        self.lenient, self.trial, self.written = lenient, trial, written
        self.steps: list[int] = [0] if outer is None else outer.steps
        """References followed and alternatives tried so far: one count for a report and all its trials."""
        self.resources: list[str] = [] if outer is None else outer.resources
        """The schema resources entered so far, the outermost first; a dynamic reference is resolved by them."""
        self.lone: Path | None = None if outer is None else outer.lone
        """Where the value stands that was put into a list, if one was: lists of lists could take it into ever more."""
        self.problems: list[tuple[Path, str]] = []
        self.coercions: list[tuple[Path, str, Any, Any]] = []

    def step(self) -> None:
        """Counts a step: a small schema can stand for any number of them, when each part names the next one twice."""
        self.steps[0] += 1
        if self.steps[0] > MOST_STEPS:
            raise TooManyStepsError

    @contextmanager
    def inside(self, resource: str) -> Iterator[None]:
        """Checks are made in another resource of the schema meanwhile."""
        self.resources.append(resource)
        try:
            yield
        finally:
            self.resources.pop()

    def problem(self, path: Path, message: str) -> None:
        if self.trial:
            raise _MismatchError
        self.problems.append((path, message))

    def coerced(self, path: Path, rule: str, before: Any, after: Any) -> Any:
        self.coercions.append((path, rule, before, after))
        return after

    def reason(self, check: Check, value: Any, path: Path) -> str:
        """The first thing that keeps a value from fitting, and where that is, if not at the value itself."""
        self.step()
        inner = Report(lenient=self.lenient, outer=self)
        check(value, path, inner)
        where, message = inner.problems[0] if inner.problems else (path, "does not fit")
        return message if where == path else f"{written(where)} {message}"

    def tried(
        self, check: Check, value: Any, path: Path, *, lenient: bool, lone: Path | None = None
    ) -> tuple[Any] | None:
        """The value as `check` leaves it (in a tuple, for it may be null), or nothing if it does not fit."""
        self.step()
        trial = Report(lenient=lenient, trial=True, written=self.written, outer=self)
        trial.lone = lone or self.lone
        try:
            result = check(value, path, trial)
        except _MismatchError:
            return None
        self.coercions.extend(trial.coercions)
        return (result,)


def referred(check: Check, value: Any, path: Path, report: Report) -> Any:
    """What a reference stands for."""
    report.step()
    return check(value, path, report)


def entered(check: Check, resource: str) -> Check:
    """A check made in another resource of the schema."""

    def within(value: Any, path: Path, report: Report) -> Any:
        with report.inside(resource):
            return check(value, path, report)

    return within


Check = Callable[[Any, Path, Report], Any]


def fits(check: Check, value: Any, report: Report) -> bool:
    """Whether a value fits as it stands; the steps that takes count for the report."""
    return report.tried(check, value, (), lenient=False) is not None


def anything(value: Any, path: Path, report: Report) -> Any:
    return value


def nothing(value: Any, path: Path, report: Report) -> Any:
    report.problem(path, "nothing may be given here")
    return value


def in_turn(steps: list[Check]) -> Check:
    if len(steps) == 1:
        return steps[0]

    def check(value: Any, path: Path, report: Report) -> Any:
        known, result = len(report.problems), value
        for step in steps:
            result = step(result, path, report)
        if (
            result is not value
            and len(report.problems) == known
            and not all(fits(step, result, report) for step in steps)
        ):
            # A later step has coerced what an earlier one had let pass.
            report.problem(path, f"does not fit, not even as {shown(result)}")
        return result

    return check


# ── types ────────────────────────────────────────────────────────────────────


def is_of(value: Any, kinds: tuple[str, ...]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, KINDS[kind]) for kind in kinds)


_IN_A_LIST: Final = "list_from_value"


def kind_check(kinds: tuple[str, ...], steps: list[Check]) -> Check:
    """The type comes first: what does not have it is coerced, or refused without looking further."""
    expected = " or ".join(_KIND_WORDS[kind] for kind in kinds)
    rest = in_turn(steps)

    def check(value: Any, path: Path, report: Report) -> Any:
        if is_of(value, kinds):
            return rest(value, path, report)
        if isinstance(value, float) and value.is_integer() and "integer" in kinds:
            # 3.0 is an integer to JSON Schema though not to Python: read as one also where nothing is lenient.
            return rest(report.coerced(path, "integer_from_number", value, int(value)), path, report)
        readings = _readings(value, kinds) if report.lenient else []
        for rule, before, after in readings:
            outermost = len(report.coercions)
            lone = (path, 0) if rule == _IN_A_LIST else None
            if lone is not None and path == report.lone:
                continue
            if (read := report.tried(rest, after, path, lenient=True, lone=lone)) is not None:
                report.coercions.insert(outermost, (path, rule, before, after))
                return read[0]
        if readings and readings[0][0] != _IN_A_LIST:
            return rest(readings[0][2], path, report)
        report.problem(path, f"must be {expected}, not {shown(value)}")
        return value

    return check


def _readings(value: Any, kinds: tuple[str, ...]) -> list[Coercion]:
    """What a value of the wrong type may have been meant as, the likeliest first."""
    readings = []
    if isinstance(value, str) and (inside := _inside_text(value, kinds)) is not None:
        readings.append(inside)
    if "array" in kinds and value is not None and not (readings and isinstance(readings[0][2], list)):
        readings.append((_IN_A_LIST, value, [value]))
    return readings


def _inside_text(text: str, kinds: tuple[str, ...]) -> Coercion | None:
    number: int | float | None = None
    if "number" in kinds:
        number = _number_inside(text)
    elif "integer" in kinds:
        number = _integer_inside(text)
    if number is not None:
        return "number_from_text", text, number
    if "boolean" in kinds and text.strip().lower() in ("true", "false"):
        return "boolean_from_text", text, text.strip().lower() == "true"
    if "array" in kinds or "object" in kinds:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if isinstance(value, (list, dict)) and is_of(value, kinds):
            return "json_from_text", text, value
    return None


def _integer_inside(text: str) -> int | None:
    """Exactly the whole number that was written, never one that a float has rounded."""
    if not _NUMBER_TEXT.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:  # written with a fraction or an exponent, or too long
        pass
    exact = Decimal(text.strip())
    if not -1 < exact.adjusted() <= sys.float_info.max_10_exp:
        return 0 if exact == 0 else None
    return int(exact) if exact == int(exact) else None


def _number_inside(text: str) -> int | float | None:
    if not _NUMBER_TEXT.fullmatch(text):
        return None
    try:
        number: int | float = msgspec.json.decode(text)
    except msgspec.DecodeError:  # beyond what a number can hold
        return None
    return number


def leaf_check(hint: Any) -> Check:
    """A Python type that alone knows which texts are its values: a date, a path."""

    def check(value: Any, path: Path, report: Report) -> Any:
        try:
            msgspec.convert(value, hint, dec_hook=read_custom)
        except msgspec.ValidationError as error:
            report.problem(path, f"{error}, not {shown(value)}")
        # Of these types only a decimal takes a number with a fraction.
        if type(value) is float and report.written is not None:
            return report.written.number(path, value)
        return value

    return check


# ── values ───────────────────────────────────────────────────────────────────


def values_check(values: list[Any]) -> Check:
    listed = ", ".join(map(shown, values))
    expected = f"one of {listed}" if len(values) > 1 else listed or "nothing"

    def check(value: Any, path: Path, report: Report) -> Any:
        if among(value, values):
            return value
        if report.lenient and isinstance(value, str):
            read = _inside_text(value, ("number", "boolean"))
            if read is not None and among(read[2], values):
                return report.coerced(path, *read)
        close = nearest(value, [known for known in values if isinstance(known, str)]) if isinstance(value, str) else ""
        report.problem(path, f"must be {expected}, not {shown(value)}" + (f".{close}" if close else ""))
        return value

    return check


def size_check(size: int, least: int | None, most: int | None, what: str, path: Path, report: Report) -> None:
    if least is not None and size < least:
        report.problem(path, f"must have at least {least} {what}, not {size}")
    if most is not None and size > most:
        report.problem(path, f"must have at most {most} {what}, not {size}")


def text_check(least: int | None, most: int | None, pattern: Pattern | None) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        if isinstance(value, str):
            size_check(len(value), least, most, "characters", path, report)
            if pattern is not None and not pattern.search(value):
                report.problem(path, f"must match {shown(pattern.pattern)}, not {shown(value)}")
        return value

    return check


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    try:
        quotient = value / factor
    except OverflowError:
        quotient = math.inf
    if math.isfinite(quotient):
        return quotient == int(quotient)
    if not math.isfinite(value):
        return False
    (above, below), (times, parts) = value.as_integer_ratio(), factor.as_integer_ratio()
    return above * parts % (below * times) == 0  # the quotient is too large for a float


_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least", lambda value, bound: value >= bound),
    "exclusiveMinimum": ("more than", lambda value, bound: value > bound),
    "maximum": ("at most", lambda value, bound: value <= bound),
    "exclusiveMaximum": ("less than", lambda value, bound: value < bound),
    "multipleOf": ("a multiple of", _is_multiple),
}
BOUNDS = tuple(_BOUNDS)


def number_check(bounds: dict[str, float]) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            for keyword, bound in bounds.items():
                words, holds = _BOUNDS[keyword]
                if not holds(value, bound):
                    report.problem(path, f"must be {words} {bound}, not {shown(value)}")
        return value

    return check


def list_check(first: list[Check], rest: Check, least: int | None, most: int | None, *, unique: bool) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        if not isinstance(value, list):
            return value
        size_check(len(value), least, most, "items", path, report)
        result = value
        for index, item in enumerate(value):
            read = (first[index] if index < len(first) else rest)(item, (path, index), report)
            if read is not item:
                result = list(value) if result is value else result
                result[index] = read
        if unique and any(among(item, result[:index]) for index, item in enumerate(result)):
            report.problem(path, "must not hold the same item twice")
        return result

    return check


def contains_check(wanted: Check, least: int, most: int | None) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        if isinstance(value, list):
            found = sum(fits(wanted, item, report) for item in value)
            if found < least:
                report.problem(
                    path, f"must have at least {least} items of the kind that `contains` asks for, not {found}"
                )
            if most is not None and found > most:
                report.problem(
                    path, f"must have at most {most} items of the kind that `contains` asks for, not {found}"
                )
        return value

    return check


Parts = Callable[[Any, Report], set[Any]]
"""The names or places in a value that the rest of its schema has looked at."""


def unevaluated_check(kind: type, seen: Parts, rest: Check) -> Check:
    """What nothing else in a schema has looked at, in an object or in a list."""

    def check(value: Any, path: Path, report: Report) -> Any:
        if not isinstance(value, kind):
            return value
        known = seen(value, report)
        result: Any = value
        for key, item in value.items() if isinstance(value, dict) else enumerate(result):
            if key in known:
                continue
            if rest is nothing and isinstance(value, dict):
                report.problem((path, key), f"is not known here.{nearest(str(key), sorted(known))}")
            elif (read := rest(item, (path, key), report)) is not item:
                result = copy(value) if result is value else result
                result[key] = read
        return result

    return check


def dependent_check(name: str, check: Check) -> Check:
    """What holds for an object that has a property."""
    return lambda value, path, report: (
        check(value, path, report) if isinstance(value, dict) and name in value else value
    )


class ObjectCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a schema says about the properties of an object."""

    properties: dict[str, Any]
    defaults: Schema
    patterns: list[Any]
    additional: Any
    closed: bool
    names: Any
    required: tuple[str, ...]
    dependent: dict[str, tuple[str, ...]]
    least: int | None
    most: int | None

    def __call__(self, value: Any, path: Path, report: Report) -> Any:
        if not isinstance(value, dict):
            return value
        result = value
        for key, item in value.items():
            read = self._read(key, item, path, report)
            if read is not item:
                result = dict(value) if result is value else result
                result[key] = read
                if read is NODEFAULT:
                    del result[key]
        for name in self.required:
            if name not in result:
                report.problem((path, name), "is required")
        for name, others in self.dependent.items():
            for other in others:
                if name in result and other not in result:
                    report.problem((path, other), f"is required beside {shown(name)}")
        size_check(len(result), self.least, self.most, "properties", path, report)
        return result

    def _read(self, key: str, item: Any, path: Path, report: Report) -> Any:
        """The value of one property, or `NODEFAULT` for a null that stands for "not given"."""
        place = (path, key)
        if self.names is not None:
            self.names(key, place, report)
        own = self.properties.get(key)
        if (
            item is None
            and own is not None
            and report.lenient
            and key not in self.required
            and not fits(own, None, report)
        ):
            report.coerced(place, "null_as_omitted", None, self.defaults.get(key))
            return NODEFAULT
        checks = [own] if own is not None else []
        checks += [check for pattern, check in self.patterns if pattern.search(key)]
        if not checks and self.closed:
            report.problem(place, f"is not known here.{nearest(key, self.properties)}")
        elif not checks and self.additional is not None:
            checks = [self.additional]
        for check in checks:
            item = check(item, place, report)
        return item


# ── alternatives ─────────────────────────────────────────────────────────────


def any_of(checks: list[Check], schemas: list[Schema]) -> Check:
    """Any one of several: first as it stands, then leniently; if none fits, the problems of the one that was meant."""

    def check(value: Any, path: Path, report: Report) -> Any:
        for lenient in (False, True) if report.lenient else (False,):
            if (
                lenient
                and isinstance(value, str)
                and value.strip() == "null"
                and any(fits(each, None, report) for each in checks)
            ):
                return report.coerced(path, "json_from_text", value, None)
            for branch in checks:
                if (found := report.tried(branch, value, path, lenient=lenient)) is not None:
                    return found[0]
        likely = _meant(value, schemas)
        if len(likely) == 1:
            return checks[likely[0]](value, path, report)
        if likely and not report.trial and not any(_tags(schemas[index]) for index in likely):
            reasons = dict.fromkeys(report.reason(checks[index], value, path) for index in likely)
            report.problem(path, f"fits none of the alternatives: {', or '.join(reasons)}")
            return value
        expected = " or ".join(dict.fromkeys(filter(None, map(_expectation, schemas))))
        report.problem(path, f"must be {expected or 'one of the alternatives'}, not {shown(value)}")
        return value

    return check


def one_of(checks: list[Check], schemas: list[Schema]) -> Check:
    alternatives = any_of(checks, schemas)

    def check(value: Any, path: Path, report: Report) -> Any:
        if sum(fits(branch, value, report) for branch in checks) > 1:
            report.problem(path, "must fit exactly one of the alternatives, and fits several")
            return value
        return alternatives(value, path, report)

    return check


def not_(unwanted: Check) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        if fits(unwanted, value, report):
            report.problem(path, f"must not be {shown(value)}")
        return value

    return check


def condition(tested: Check, then: Check, otherwise: Check) -> Check:
    def check(value: Any, path: Path, report: Report) -> Any:
        return (then if fits(tested, value, report) else otherwise)(value, path, report)

    return check


def _meant(value: Any, schemas: list[Schema]) -> list[int]:
    """The branches of a union a value may be meant for: those of its type and, if it bears the tag of one, that."""
    likely = [index for index, schema in enumerate(schemas) if schema.get("type") != "null"]
    if len(likely) > 1:
        likely = [index for index in likely if is_of(value, _kinds(schemas[index]))]
        tagged = [index for index in likely if isinstance(value, dict) and _bears_tag(value, schemas[index])]
        likely = tagged or likely
    return likely


def _kinds(schema: Schema) -> tuple[str, ...]:
    stated = schema.get("type")
    kinds = stated if isinstance(stated, list) else [stated]
    return tuple(kind for kind in kinds if isinstance(kind, str) and kind in KINDS)


def _tags(schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: child["const"] for name, child in properties.items() if isinstance(child, dict) and "const" in child}


def _bears_tag(value: Schema, schema: Schema) -> bool:
    return any(name in value and among(value[name], [tag]) for name, tag in _tags(schema).items())


def _expectation(schema: Schema) -> str:
    if isinstance(schema.get("enum"), list):
        return " or ".join(map(shown, schema["enum"]))
    words = " or ".join(_KIND_WORDS[kind] for kind in _kinds(schema))
    tags = " and ".join(f"{name} {shown(tag)}" for name, tag in _tags(schema).items())
    return f"{words} with {tags}" if tags else words
