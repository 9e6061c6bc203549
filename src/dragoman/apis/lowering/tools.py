"""The tools of one request, lowered together: what counts over all of them, and who is strict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.apis.base.lowered import Lowered, Lowering, Rewrite, qualified
from dragoman.model.base import Value
from dragoman.model.request import Definition, FunctionDefinition, Limits

from .root import lower
from .rules import Rules


class LoweredTool(Value, frozen=True):
    """One definition as an API is given it. `schema` is `None` where the API wants none."""

    definition: Definition
    schema: dict[str, Any] | None = None
    strict: bool = False
    rewrites: tuple[Rewrite, ...] = ()
    problems: tuple[str, ...] = ()
    description: str = ""


def lower_tools(
    definitions: Sequence[Definition], loose: Rules, strict: Rules | None, limits: Limits
) -> tuple[list[LoweredTool], Lowering]:
    """Every definition in its place, and the way back for the arguments of calls.

    A function that leaves it open is strict when at most it is narrowed by that and the counted limits have room:
    those that ask for it come first, then the others in order.
    """
    loose = bounded(loose, limits)
    strict = None if strict is None else bounded(strict, limits)
    budget = _Budget(limits)
    chosen: dict[int, Lowered] = {}
    problems: dict[int, tuple[str, ...]] = {}
    functions = [(place, one) for place, one in enumerate(definitions) if isinstance(one, FunctionDefinition)]
    for place, function in functions:
        if function.strict is True:
            chosen[place], problems[place] = _asked_for(function, loose, strict, budget)
    for place, function in functions:
        if function.strict is None and strict is not None:
            tried = lower(function.parameters, strict)
            if tried.sound and not budget.take(tried.schema):
                chosen[place] = tried
    tools: list[LoweredTool] = []
    lowered: dict[str, Lowered] = {}
    for place, definition in enumerate(definitions):
        if not isinstance(definition, FunctionDefinition):
            tools.append(LoweredTool(definition, description=getattr(definition, "description", "")))
            continue
        one = chosen[place] if place in chosen else lower(definition.parameters, loose)
        rules = strict if place in chosen and strict is not None else loose
        is_strict = rules is strict
        schema = None if rules.omit_empty and not one.schema.get("properties") else one.schema
        found = problems.get(place, one.problems)
        tools.append(LoweredTool(definition, schema, is_strict, one.rewrites, found, definition.description))
        lowered[qualified(definition.namespace, definition.name)] = one
    return tools, Lowering(lowered)


def bounded(rules: Rules, limits: Limits) -> Rules:
    """Rules with the numbers a model's limits state."""
    stated = {
        "parameter_name_pattern": limits.parameter_name_pattern,
        "parameter_name_length": limits.parameter_name_length,
        "depth": limits.schema_depth,
        "properties": limits.schema_properties,
        "enum_values": limits.enum_values,
    }
    return msgspec.structs.replace(rules, **{name: value for name, value in stated.items() if value is not None})


def _asked_for(
    function: FunctionDefinition, loose: Rules, strict: Rules | None, budget: _Budget
) -> tuple[Lowered, tuple[str, ...]]:
    if strict is None:
        one = lower(function.parameters, loose)
        return one, (*one.problems, f"{loose.name} has no strict tools; leave `strict` out")
    one = lower(function.parameters, strict)
    return one, one.problems or budget.take(one.schema)


class _Budget:
    """What is counted over all strict tools of a request."""

    def __init__(self, limits: Limits) -> None:
        self._most = {
            "strict tools": limits.strict_tool_count,
            "optional parameters in strict tools": limits.strict_optional_parameters,
            "parameters with several types in strict tools": limits.strict_unions,
        }
        self._taken = dict.fromkeys(self._most, 0)

    def take(self, schema: dict[str, Any]) -> tuple[str, ...]:
        """Counts a tool in, or says which limits have no room for it."""
        optional, unions = _counted(schema)
        wanted = dict(zip(self._most, (1, optional, unions), strict=True))
        full = [
            f"#: at most {most} {what} fit one request, and with this tool there are {self._taken[what] + wanted[what]}"
            for what, most in self._most.items()
            if most is not None and wanted[what] and self._taken[what] + wanted[what] > most
        ]
        if not full:
            self._taken = {what: taken + wanted[what] for what, taken in self._taken.items()}
        return tuple(full)


def _counted(schema: dict[str, Any]) -> tuple[int, int]:
    """Optional parameters and unions. What is reached through a reference does not count (as measured by others)."""
    optional = unions = 0
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            properties = node.get("properties", {})
            optional += len(properties.keys() - set(node.get("required", ())))
            unions += "anyOf" in node or isinstance(node.get("type"), list)
            waiting += [*properties.values(), node.get("items"), *node.get("anyOf", ()), *node.get("allOf", ())]
    return optional, unions
