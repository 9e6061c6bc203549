"""Tools that a provider defines, as rows of data: one row is one dated version of one tool.

Who defines a tool and who runs it are two things: the provider defines all of these, `executed_by` says
who runs them. Rule: settings are checked and sent as they were given; what a row does not know of them
is reported, never dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from dragoman.errors import DefinitionError, nearest
from dragoman.model.calls import ExecutedBy
from dragoman.model.operations import Operation
from dragoman.model.provider_settings import Ids as Ids, Settings as Settings, SettingsOf as SettingsOf
from dragoman.model.request import Definition, ProviderDefinition
from dragoman.schema import Reader

from .availability import for_family
from .spelling import Spelling, left_over, structs_in


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True):
    """One dated version of one tool that a provider defines.

    `spellings` read and write its calls; several rows may share one. `models` are family globs that have
    it (`None`: not gated). `deferred`: its result may come in a later reply than its call. `reserves` are
    names beside its own that no other tool of the request may take. `beta` is the header value it needs.
    `hosted_with` are the settings with which the provider runs what is otherwise run here.
    """

    id: str
    wire_type: str
    name: str | None = None
    spellings: tuple[type[Spelling[Any]], ...] = ()
    executed_by: ExecutedBy = ExecutedBy.PROVIDER
    settings: type[Settings] = Settings
    version: str | None = None
    models: tuple[str, ...] | None = None
    deferred: bool = False
    reserves: tuple[str, ...] = ()
    beta: str | None = None
    apis: tuple[str, ...] = ()
    superseded_by: str | None = None
    note: str | None = None
    hosted_with: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def vendor(self) -> str:
        """The vendor, which is the first part of the id: `openai`."""
        return self.id.partition(".")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it takes in a request."""
        return self.reserves if self.name is None else (self.name, *self.reserves)

    @property
    def operations(self) -> frozenset[type[Operation]]:
        """What its calls can mean."""
        return frozenset(operation for spelling in self.spellings for operation in spelling.operation_types)

    def offered_to(self, family: str) -> bool:
        """Whether a family of models is known to have it."""
        return for_family(self.models, family)

    def run_by(self, settings: Mapping[str, Any]) -> ExecutedBy:
        """Who runs it when it is asked for with these settings."""
        hosted = any(_at(settings, path.split(".")) in values for path, values in self.hosted_with)
        return ExecutedBy.PROVIDER if hosted else self.executed_by

    def offer(self, settings: Mapping[str, Any]) -> Definition:
        """What stands for it among the tools of a request: itself, unless it is the caller's own in all but name."""
        return self.settings.offered(self.define(settings))

    def define(self, settings: Mapping[str, Any] | None = None) -> ProviderDefinition:
        """What is sent for it. Raises `DefinitionError` with everything that is wrong with the settings."""
        given = dict(settings or {})
        fields = self.settings.__struct_encode_fields__
        known = {key: value for key, value in _as_written(self.settings, given).items() if key in fields}
        problems = [
            f"settings{path and '.'}{path} {message}{_close(path, self.unknown(given), message)}"
            for path, message in _reader(self.settings, self.id).problems(known)
        ]
        if problems:
            raise DefinitionError(f"provider tool {self.id!r}", problems)
        return ProviderDefinition(self.id, self.wire_type, self.name, given)

    def unknown(self, settings: dict[str, Any]) -> tuple[str, ...]:
        """Where the settings hold what this row does not know: `max_use`, `user_location.town`."""
        return tuple(path.lstrip(".") for path, _ in left_over(self.settings, _as_written(self.settings, settings), ""))

    def nearest(self, unknown: str) -> str:
        """The setting that may have been meant."""
        return "" if "." in unknown else nearest(unknown, self.settings.__struct_encode_fields__)


def _close(path: str, unknown: tuple[str, ...], message: str) -> str:
    """A setting that is missing may be there under a name nearly its own."""
    near = nearest(path, unknown) if "required" in message else ""
    return near.replace(" Did you mean", "; is it given as")


def _at(settings: Any, path: list[str]) -> Any:
    """The value at a path of keys, or `None`."""
    for key in path:
        settings = settings.get(key) if isinstance(settings, Mapping) else None
    return settings


def _as_written(struct: type[msgspec.Struct], given: Any) -> Any:
    """Settings under the names of the wire: `topK` may be given as `top_k`, which protocol buffers read too."""
    if isinstance(given, list):
        return [_as_written(struct, one) for one in given]
    if not isinstance(given, dict):
        return given
    declared = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    names = {field: wire for field, wire in declared if "_" in field}
    inside = dict(structs_in(struct))
    named = {names.get(key, key): value for key, value in given.items()}
    return {key: _as_written(inside[key], value) if key in inside else value for key, value in named.items()}


@cache
def _reader(settings: type[Settings], id: str) -> Reader[Any]:
    return Reader.of_type(settings, id)


def row_problems(rows: Sequence[ProviderRow], spellings: Collection[type[Any]]) -> list[str]:
    """What is wrong with the rows of a vocabulary that has these spellings."""
    ids = [row.id for row in rows]
    problems = [f"two rows have the id {id!r}" for id in sorted({id for id in ids if ids.count(id) > 1})]
    for row in rows:
        unlisted = [one.__name__ for one in row.spellings if one not in spellings]
        problems += [f"{row.id!r} is spelled by {name}, which is not listed" for name in unlisted]
        if row.spellings and all(one.executed_by is not row.executed_by for one in row.spellings):
            problems.append(f"{row.id!r} is run by the {row.executed_by}, and no spelling of it is")
    return problems
