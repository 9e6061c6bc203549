"""A vocabulary: its spellings, what it does not speak, and the one way in and out of it.

`read_call` and `read_result` are called for live replies and for logs alike: there is no second
reader. Rule: reading never raises and never guesses; what cannot be read is a `Call` with a
`failure`, what is not known is `Unrecognised`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

import msgspec

from dragoman.bounded import remember
from dragoman.errors import DefinitionError, ToolError, Unspeakable
from dragoman.model import operations as op
from dragoman.model.calls import Call, ExecutedBy, NativeCall, NativeResult, Result
from dragoman.model.edit_rules import EditRules
from dragoman.model.outcomes import Failure, Outcome
from dragoman.model.request import Definition
from dragoman.registry import DIALECTS

from .availability import (
    AnySpelling,
    define,
    for_family,
    ignored_fields,
    last_before,
    overlap,
    qualified,
    read_at,
    run_by,
)
from .default_words import PLAIN_FAILURES, tell_all, understand
from .doubt import DOUBTED, doubted
from .fidelity import Fidelity, field_rows, result_rows
from .mcp_names import McpNames, Servers
from .provider_rows import ProviderRow, row_problems
from .reading import (
    CallReading,
    Plain,
    ResultReader,
    UnspelledReader,
    as_mapping,
    convert_leniently,
    is_plain,
    read_as,
    read_best,
    read_plainly,
    unread,
)
from .spelling import Content, NativeContent, Spelling, structs_in
from .steering import PlanApproval as PlanApproval, Steer as Steer, approval_told as approval_told
from .versions import version_number, within
from .writing import native_call, nearest, tag_of

_HERE, _THERE = ExecutedBy.CLIENT, ExecutedBy.PROVIDER  # for what runs for every call: reaching a member is slow
_convert = msgspec.convert


_REMEMBERED = 1000
"""Names of servers' tools that a vocabulary remembers: a log may hold any number."""
_Said = tuple[tuple[Spelling[Any], ...], tuple[op.Operation, ...]]
"""The calls that say an operation, and what they mean."""
_MOST_VARIANTS = 16


class Failures(Protocol):
    """How a vocabulary words what went wrong, whichever tool it was."""

    def tell(self, call: Call, failure: Failure) -> NativeContent:
        """The failure in the vocabulary's words, and the error flag that goes with it."""
        ...

    def understand(self, call: Call, native: NativeResult) -> Failure | None:
        """The failure a result tells of, or `None` when it tells of none."""
        ...


class Unspelled(Protocol):
    """How a vocabulary words the results of calls that are no spelling's: of MCP servers, functions, the client."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[Outcome]) -> Content:
        """The outcomes in the vocabulary's words."""
        ...

    def understand(self, operation: op.Operation, native: NativeResult) -> Outcome:
        """What a result in these words says."""
        ...


class Loss(msgspec.Struct, frozen=True):
    """A field of an operation that does not survive being said, and why."""

    field: str
    reason: str


class Dialect:
    """A vocabulary. Immutable: `at`, `but` and `knowing` give another one."""

    def __init__(
        self,
        name: str,
        spellings: Sequence[AnySpelling],
        *,
        unspoken: Mapping[type[op.Operation], str] | None = None,
        steering: Sequence[Steer] = (),
        mcp: Sequence[McpNames] = (),
        mcp_items: Mapping[str, str] | None = None,
        provider_tools: Sequence[ProviderRow] = (),
        failures: Failures | None = None,
        unspelled: Unspelled | None = None,
        unparsed: Callable[[Mapping[str, Any]], str | None] | None = None,
        default_family: str | None = None,
        captured: Sequence[str] = (),
        provider_dialect: Dialect | str | None = None,
        version: str | None = None,
        family: str | None = None,
        servers: Servers | None = None,
        functions: Collection[str] = (),
        only: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self.spellings = tuple(dict.fromkeys(one for newest in spellings for one in (newest, *newest.earlier)))
        self.unspoken = dict(unspoken or {})
        """Why it has no tool for an operation, or a group of them, where the reason is not the operation's own."""
        self.steering = tuple(steering)
        self.mcp = tuple(mcp)
        self.mcp_items = dict(mcp_items or {})
        """Types of items that call an MCP server's tool by its bare name, each with its key for the server, if any."""
        self.provider_tools = tuple(provider_tools)
        """The tools a provider defines, the newest version of each first."""
        self.default_family = default_family
        self._provider_dialect = provider_dialect
        self.captured = tuple(sorted(captured, key=version_number))
        """The versions whose tools are known; one in between is offered what the last of them before it was."""
        self.version, self.family = version, family
        self._at = last_before(self.captured, version)
        self.servers, self.functions = dict(servers or {}), frozenset(functions)
        self._only = only
        if failures is None:
            failures = PLAIN_FAILURES
        self.failures: Failures = failures
        self.unspelled = unspelled
        self.unparsed = unparsed
        """Finds the text of arguments that were no JSON, where a client wraps it up as if they were."""
        self._by_name: dict[str, tuple[AnySpelling, ...]] = {}
        self._sayers: dict[type[op.Operation], tuple[tuple[AnySpelling, ...], ...]] = {}
        self._plain: dict[str, Plain] = {}
        self._by_operation: dict[type[op.Operation], tuple[AnySpelling, ...]] = {}
        self._hosted_by_name: dict[str, tuple[AnySpelling, ...]] = {}
        self._steer_by_name: dict[str, Steer] = {}
        self._served: dict[str, tuple[str | None, str]] = {}
        """Names that were found to be of an MCP server's tools, with the server and the tool."""
        self._unspelled_reader = UnspelledReader(understand if unspelled is None else unspelled.understand)
        self._variants: dict[tuple[str | None, str | None], Dialect] = {}
        """The same at other versions and families."""
        self._of_any_run: Dialect = self
        """The same without what only one run has."""
        self._index()

    def __repr__(self) -> str:
        narrowed = " ".join(filter(None, (self.version, self.family)))
        return f"<Dialect {self.name}{f' at {narrowed}' if narrowed else ''}>"

    @property
    def provider_dialect(self) -> Dialect | None:
        """The vocabulary of the provider's own tools, which reads what the provider ran."""
        if not isinstance(self._provider_dialect, str):
            return self._provider_dialect
        # Looked up when it is first needed: no dialect knows another.
        dialect: Dialect = DIALECTS[self._provider_dialect]
        self._provider_dialect = dialect
        return dialect

    # ── made from one another ──────────────────────────────────────────────

    def at(self, version: str | None = None, family: str | None = None) -> Dialect:
        """What this version, or this family of models, is offered. Reading stays as wide as ever."""
        wanted = (version or self.version, family or self.family)
        known = self._variants.get(wanted)
        if known is None:
            known = (
                self._derived(version=wanted[0], family=wanted[1])
                if self._of_any_run is self
                else self._of_any_run.at(*wanted)._in_run(self.servers, self.functions, self._only)
            )
            remember(self._variants, wanted, known, _MOST_VARIANTS)
        return known

    def but(self, *spellings: AnySpelling, without: Collection[str] = ()) -> Dialect:
        """The same with these spellings in place of those of the same name, and `without` some names."""
        replaced = {spelling.native_name for spelling in spellings} | set(without)
        kept = [spelling for spelling in self.spellings if spelling.native_name not in replaced]
        spoken = {operation for spelling in spellings for operation in spelling.operation_types}
        unspoken = {operation: reason for operation, reason in self.unspoken.items() if operation not in spoken}
        return self._derived(spellings=(*kept, *spellings), unspoken=unspoken)

    def named(self, name: str, *, captured: Sequence[str], steering: Sequence[Steer] = ()) -> Dialect:
        """The same as the vocabulary of another client, which was made from this one and has versions of its own."""
        return self._derived(name=name, captured=captured, steering=(*self.steering, *steering))

    def knowing(self, *, servers: Servers | Collection[str] = (), functions: Collection[str] = ()) -> Dialect:
        """The same in a run that has these MCP servers (with their tools, where known) and these functions."""
        more = servers if isinstance(servers, Mapping) else dict.fromkeys(servers, ())
        return self._in_run({**self.servers, **more}, frozenset({*self.functions, *functions}), self._only)

    def only(self, names: Collection[str]) -> Dialect:
        """The same, saying nothing but calls of these tools, whatever its version offers. Reading stays as wide."""
        return self._in_run(self.servers, self.functions, frozenset(names))

    def of_rows(self, rows: Sequence[ProviderRow]) -> Dialect:
        """The same with the tools of these rows alone."""
        spellings = [one for one in self.spellings if any(one in row.spellings for row in rows)]
        spoken = {operation for spelling in spellings for operation in spelling.operation_types}
        unspoken = {operation: reason for operation, reason in self.unspoken.items() if operation not in spoken}
        named = {spelling.native_name for spelling in spellings}
        steering = [one for one in self.steering if one.executed_by is ExecutedBy.PROVIDER or one.name in named]
        return self._derived(spellings=spellings, unspoken=unspoken, steering=steering, provider_tools=rows)

    def _in_run(self, servers: Servers, functions: frozenset[str], only: frozenset[str] | None) -> Dialect:
        """The same with what one run has. Its tables are those of this one: to make them takes longer than to read a
        short log, and many logs name servers."""
        new = copy(self)
        new.servers, new.functions, new._only = dict(servers), functions, only
        new._sayers, new._served, new._variants = {}, {}, {}
        return new

    def _derived(self, **changes: Any) -> Dialect:
        same = {
            "name": self.name,
            "spellings": self.spellings,
            "unspoken": self.unspoken,
            "steering": self.steering,
            "mcp": self.mcp,
            "mcp_items": self.mcp_items,
            "provider_tools": self.provider_tools,
            "failures": self.failures,
            "unspelled": self.unspelled,
            "unparsed": self.unparsed,
            "default_family": self.default_family,
            "captured": self.captured,
            "provider_dialect": self._provider_dialect,
            "version": self.version,
            "family": self.family,
            "servers": self.servers,
            "functions": self.functions,
            "only": self._only,
        }
        return Dialect(**{**same, **changes})

    # ── offering ───────────────────────────────────────────────────────────

    def offers(self, spelling: AnySpelling) -> bool:
        """Whether this version and model family is offered the tool."""
        if not within(spelling.since, spelling.until, self._at):
            return False
        return for_family(spelling.families, self.family or self.default_family)

    def on_request(self, spelling: AnySpelling) -> bool:
        """Whether this version offers the tool only when it is asked for."""
        return spelling.on_request is not None and within(spelling.on_request_since, None, self._at)

    def speaks(self, operation: type[op.Operation], *, executed_by: ExecutedBy | None = None) -> bool:
        """Whether an offered tool can say this operation; with `executed_by`, one that is run there."""
        offered = [one for one in self._by_operation.get(operation, ()) if self.offers(one) and one.read_only is None]
        return any(one.only_by_id is None and run_by(one, executed_by) for one in offered)

    def word_for(self, operation: type[op.Operation]) -> AnySpelling | None:
        """The first tool that is offered here for an operation, to be run here."""
        words = [one for one in self._by_operation.get(operation, ()) if self.offers(one) and one.read_only is None]
        return next((one for one in words if one.executed_by is ExecutedBy.CLIENT), None)

    def definitions(
        self,
        operation_types: Iterable[type[op.Operation]] | None = None,
        *,
        names: Collection[str] = (),
        executed_by: ExecutedBy | None = None,
        ignoring: Mapping[type[op.Operation], Collection[str]] | None = None,
    ) -> list[Definition]:
        """The tools offered for these operations (all of them when not given), in the order of the vocabulary.

        A tool that is offered on request only is given when `names` has it, or when nothing else says
        an operation that was asked for. `ignoring` are fields that whoever runs the operation does not
        honour: what means only them is not offered.
        """
        wanted = None if operation_types is None else set(operation_types)
        defined: list[Definition] = []
        for spelling in self.chosen(wanted, names, executed_by=executed_by):
            row = self._row_of(spelling)
            ignored = ignored_fields(spelling, ignoring or {})
            definition = define(spelling, self._at, ignored) if row is None else row.define()
            if row is None or definition not in defined:  # several tools come with one row
                defined.append(definition)
        return defined

    def required_unhonoured(
        self,
        operation_types: Collection[type[op.Operation]],
        ignoring: Mapping[type[op.Operation], Collection[str]],
    ) -> list[tuple[str, str, str]]:
        """Parameters that are offered because a tool requires them, although they mean an ignored field: the tool, the
        parameter, the field."""
        chosen = self.chosen({*operation_types}, executed_by=ExecutedBy.CLIENT) if operation_types else []
        return [
            (spelling.native_name, name, parameter.means)
            for spelling in chosen
            for name, parameter in spelling.parameters.items()
            if parameter.is_required and parameter.means in ignored_fields(spelling, ignoring)
        ]

    def provider_tool(self, id: str) -> ProviderRow | None:
        """The provider's tool of this id, or `None` when it is not in the catalogue."""
        return next((row for row in self.provider_tools if row.id == id), None)

    @property
    def plan_approvals(self) -> tuple[Steer, ...]:
        """Tools by which a model of this version has its plan approved."""
        approving = (one for one in self.steering if one.approves is not None)
        return tuple(one for one in approving if within(one.since, one.until, self._at))

    def _row_of(self, spelling: AnySpelling) -> ProviderRow | None:
        """The newest version of a provider's tool that this family of models has."""
        rows = [row for row in self.provider_tools if spelling in row.spellings]
        family = self.family or self.default_family
        return next((row for row in rows if for_family(row.models, family)), rows[0] if rows else None)

    def chosen(
        self,
        wanted: set[type[op.Operation]] | None,
        names: Collection[str] = (),
        *,
        executed_by: ExecutedBy | None = None,
    ) -> list[AnySpelling]:
        """The spellings `definitions` are made of."""
        offered = [one for one in self.spellings if self.offers(one) and one.read_only is None]
        offered = [one for one in offered if one.only_by_id is None and run_by(one, executed_by)]
        asked = [spelling for spelling in offered if wanted is None or wanted.intersection(spelling.operation_types)]
        usual = [spelling for spelling in asked if spelling.native_name in names or not self.on_request(spelling)]
        if wanted is None:
            return usual
        said = {operation for spelling in usual for operation in spelling.operation_types}
        for spelling in asked:
            if spelling not in usual and wanted.intersection(spelling.operation_types) - said:
                usual.append(spelling)
                said.update(spelling.operation_types)
        return [spelling for spelling in asked if spelling in usual]

    # ── calls ──────────────────────────────────────────────────────────────

    def read_call(self, native: NativeCall) -> Call:
        """What a native call means."""
        return self.read_with_reader(native)[0]

    def read_with_reader(self, native: NativeCall) -> CallReading:
        """What a native call means, and the spelling it fits as it is: its result is read by that one.

        Whoever reads both keeps it, and `read_result` need not find it again.
        """
        if is_plain(native):
            plain = self._plain.get(native.name) or self._made_plain(native.name)
            reading = read_plainly(plain, native) if plain else self._read_served(native)
            return reading or self._read_freely(native)
        return self._read_freely(native)[0], None

    def _made_plain(self, name: str) -> Plain:
        """The spellings of a name with what reading a call plainly takes of each, found out once."""
        plain = tuple([(one, one.meaningful, structs_in(one)) for one in self._by_name.get(name, ())])
        if plain:
            self._plain[name] = plain
        return plain

    def _read_served(self, native: NativeCall) -> CallReading | None:
        """A call of a server's tool that was called before: whose it is need not be found out again."""
        named, arguments = self._served.get(native.name), native.arguments
        if named is None or type(arguments) is not dict:
            return None
        if self.unparsed is not None and self.unparsed(arguments) is not None:
            return None
        return Call(native.id, (op.CallMcpTool(*named, arguments),), native), self._unspelled_reader

    def _read_freely(self, native: NativeCall) -> CallReading:
        """A call that is not plainly one of this vocabulary's words."""
        if native.item is not None or native.executed_by is not _HERE:
            hosted = self._read_hosted(native)
            if hosted is not None:
                return hosted, None
        name = native.name if native.namespace is None else f"{native.namespace}.{native.name}"
        spellings = self._by_name.get(name) or self._spellings(native)
        reading, failed = None, False
        if spellings is not None:
            reading = read_as(spellings[0], native) if len(spellings) == 1 else read_best(spellings, native)
            failed = reading[0].failure is not None
            if not failed and not reading[0].unmapped:
                return reading
        # What a client wraps a text in is no parameter of any tool, so a call that was read whole has none.
        if self.unparsed is not None and isinstance(native.arguments, dict):
            text = self.unparsed(native.arguments)
            if text is not None:
                return unread(native, f"the arguments are no JSON: {text}"), None
        steer = self._steer_by_name.get(name)
        if reading is None or (failed and steer is not None and steer.fits(native)):
            return self._read_otherwise(name, native), None
        return reading

    def _read_hosted(self, native: NativeCall) -> Call | None:
        """A call that is no tool's of this vocabulary whatever it is called: a server's, or one the provider ran."""
        server = self._server_of(native)
        if server is None and not self._calls_some_server(native):
            provider = self._provider_of(native)
            return None if provider is None else provider.read_call(native)
        if not isinstance(native.arguments, dict):
            return unread(native, f"expected a JSON object, got {native.arguments!r:.80}")
        return Call(native.id, (op.CallMcpTool(server, native.name, native.arguments),), native)

    def _calls_some_server(self, native: NativeCall) -> bool:
        """Whether an item says that it calls an MCP server, and not which."""
        return native.item is not None and self.mcp_items.get(str(native.item.get("type"))) == ""

    def _server_of(self, native: NativeCall) -> str | None:
        """The MCP server an item says it calls."""
        if native.item is None or native.item.get("type") not in self.mcp_items:
            return None
        server = native.item.get(self.mcp_items[native.item["type"]])
        return server if isinstance(server, str) else None

    def _provider_of(self, native: NativeCall) -> Dialect | None:
        """The provider's vocabulary, when it has the word: on its own calls, and first on what a provider ran."""
        if self._provider_dialect is None:
            return None
        name = native.name if native.namespace is None else f"{native.namespace}.{native.name}"
        own = name in self._by_name or name in self._steer_by_name or native.name in self.functions
        if own and native.item is None and native.executed_by is _HERE:
            return None
        provider = self.provider_dialect
        assert provider is not None
        if provider._server_of(native) is not None:
            return provider
        if own and native.executed_by is _HERE:
            return None
        # What is run here is this client's own, by whatever name; only its item can say that it is the neighbour's.
        theirs = provider.knows(name) if native.item is not None else provider.hosts(native)
        return provider if theirs else None

    def _read_otherwise(self, name: str, native: NativeCall) -> Call:
        arguments = native.arguments
        if native.name in self.functions and isinstance(arguments, dict):
            return Call(native.id, (op.CallFunction(native.name, arguments),), native)
        steer = self._steer_by_name.get(name)
        if steer is not None and steer.carries is not None:
            return self._read_opened(steer, native)
        if steer is not None and isinstance(arguments, dict):
            unknown = {key: value for key, value in arguments.items() if key not in steer.parameters}
            return Call(native.id, (op.SteerClient(steer.action or steer.name, arguments),), native, unknown)
        provider = self._provider_of(native)
        if provider is not None:
            return provider.read_call(native)
        for names in self.mcp:
            found = names.read(native.name, native.namespace, self.servers)
            if found is not None and isinstance(arguments, dict):
                if is_plain(native):
                    self._remember_served(native.name, found)
                return Call(native.id, (op.CallMcpTool(found[0], found[1], arguments),), native)
        if native.namespace is not None and native.name in self._by_name:
            return read_best(self._by_name[native.name], native)[0]
        return Call(native.id, (op.Unrecognised(name, arguments),), native)

    def _remember_served(self, name: str, found: tuple[str | None, str]) -> None:
        if len(self._served) < _REMEMBERED:
            self._served[name] = found

    def _read_opened(self, steer: Steer, native: NativeCall) -> Call:
        inner = steer.carried(native)
        if inner is None:
            return unread(native, f"expected a tool's name and its arguments in {' and '.join(steer.carries or ())}")
        call = self.read_call(inner)
        assert isinstance(native.arguments, dict)  # only a mapping carries a call
        beside = {key: value for key, value in native.arguments.items() if key not in (steer.carries or ())}
        return msgspec.structs.replace(call, native=native, unmapped={**call.unmapped, **beside})

    def knows(self, name: str) -> bool:
        """Whether a native name is this vocabulary's own, or stands beside it."""
        return (
            name in self._by_name
            or name in self._steer_by_name
            or (self.provider_dialect is not None and self.provider_dialect.knows(name))
        )

    def meanings(self, name: str) -> frozenset[type[op.Operation]]:
        """The operations that a tool of this name, run by the client, can say."""
        spellings = [one for one in self._by_name.get(name, ()) if one.executed_by is _HERE and one.read_only is None]
        return frozenset(meant for spelling in spellings for meant in spelling.operation_types)

    def hosts(self, native: NativeCall) -> bool:
        """Whether a call is of a tool that the provider of this vocabulary runs."""
        spellings = self._spellings(native)
        if spellings is None:
            return qualified(native.namespace, native.name) in self._steer_by_name
        return any(spelling.executed_by is _THERE for spelling in spellings)

    def _plain_spellings(self, native: NativeCall) -> tuple[AnySpelling, ...] | None:
        """The spellings of a call that is run here under a name of this vocabulary, as nearly every one is."""
        return self._by_name.get(native.name) if is_plain(native) else None

    def _spellings(self, native: NativeCall) -> tuple[AnySpelling, ...] | None:
        """The spellings of a name. A call that a provider ran needs no namespace: only the provider has such tools."""
        spellings = self._by_name.get(qualified(native.namespace, native.name))
        if spellings is None and native.executed_by is _THERE:
            return self._hosted_by_name.get(native.name)
        return spellings

    def recognises(self, native: NativeCall) -> bool:
        """Whether a call is one of this vocabulary's own tools, or of a server its items name."""
        if self._spellings(native) is not None or native.name in self._by_name or self._server_of(native) is not None:
            return True
        steer = self._steer_by_name.get(qualified(native.namespace, native.name))
        return steer is not None and steer.executed_by is native.executed_by

    def spelling_of(self, native: NativeCall) -> Spelling[Any] | None:
        """The native call as an instance of its spelling, or `None` when it has none or does not fit."""
        plain, arguments = self._plain_spellings(native), native.arguments
        if plain is not None and type(arguments) is dict:
            try:
                return _convert(arguments, plain[0])
            except (msgspec.ValidationError, UnicodeEncodeError):
                pass  # another spelling fits, or this one with some liberty
        name = native.name if native.namespace is None else f"{native.namespace}.{native.name}"
        spellings = self._by_name.get(name, ())
        if not spellings or native.item is not None or native.executed_by is not _HERE:
            provider = self._provider_of(native)
            if provider is not None:
                return provider.spelling_of(native)
            if self._server_of(native) is not None:
                return None
            spellings = self._spellings(native) or self._by_name.get(native.name, ())
            steer = None if spellings else self._steer_by_name.get(name)
            inner = None if steer is None else steer.carried(native)
            if inner is not None:
                return self.spelling_of(inner)
        for spelling in spellings:
            given = as_mapping(spelling, arguments)
            if given is not None:
                try:
                    return convert_leniently(spelling, given, native.name)
                except ToolError:
                    continue
        return None

    def write_call(self, id: str, operation: op.Operation) -> tuple[NativeCall, ...]:
        """The operation said in this vocabulary, in as many calls as it takes.

        Of several tools that can say it, the first that says this value without loss does. A tool that the provider
        runs says only what no other can, and so does, where no version is named, one that is no longer offered.
        """
        said = self._say(operation)
        if said is None:
            return (self._write_otherwise(id, operation),)
        return tuple(
            native_call(id if index == 0 else f"{id}_{index + 1}", spelling) for index, spelling in enumerate(said[0])
        )

    def loss(self, operation: op.Operation) -> tuple[Loss, ...]:
        """What of this value would not survive `write_call`, with the reasons."""
        said = self._say(operation)
        if said is None:
            meant = self.read_call(self._write_otherwise("", operation)).operations
            spellings: tuple[Spelling[Any], ...] = ()
            if isinstance(operation, op.CallFunction | op.Unrecognised):
                return ()  # written as it is; whose it is, the run knows
        else:
            spellings, meant = said
        reasons = {**type(spellings[0]).approximated, **type(spellings[0]).unsaid} if spellings else {}
        if len(meant) == 1 and type(meant[0]) is type(operation):
            return tuple(
                Loss(field, _reason(reasons, operation, field))
                for field in operation.__struct_fields__
                if getattr(meant[0], field) != getattr(operation, field)
            )
        return () if meant == (operation,) else (Loss("*", "it is said as another operation"),)

    def _say(self, operation: op.Operation) -> _Said | None:
        groups = self._sayers.get(type(operation))
        if groups is None:
            groups = self._sayers[type(operation)] = self._found_sayers(operation)
        for spellings in groups:
            said = nearest(spellings, operation)
            if said is not None:
                return said
        if groups:
            raise Unspeakable(self.name, tag_of(operation), "its tools for this cannot say this value")
        return None

    def _found_sayers(self, operation: op.Operation) -> tuple[tuple[AnySpelling, ...], ...]:
        """The spellings that may say an operation, those first that are preferred; none where no tool is for it."""
        spellings = [one for one in self._by_operation.get(type(operation), ()) if one.read_only is None]
        if self._only is not None and spellings:
            spellings = [one for one in spellings if qualified(one.namespace, one.native_name) in self._only]
            if not spellings:
                raise Unspeakable(self.name, tag_of(operation), "no tool that is offered says it")
        offered = [one for one in spellings if self.offers(one)]
        # What is run here is not said to have been run by the provider, though its tool might say it more exactly.
        here = tuple(one for one in offered if one.executed_by is ExecutedBy.CLIENT)
        there = tuple(one for one in offered if one not in here)
        older = () if self.version and self._only is None else tuple(one for one in spellings if one not in offered)
        if spellings and not (offered or older):
            raise Unspeakable(self.name, tag_of(operation), f"no tool of {self.version} says it")
        return tuple(group for group in (here, there, older) if group)

    def _write_otherwise(self, id: str, operation: op.Operation) -> NativeCall:
        native = self._written_otherwise(id, operation)
        if self._only is not None and qualified(native.namespace, native.name) not in self._only:
            raise Unspeakable(self.name, tag_of(operation), f"no tool {native.name!r} is offered")
        return native

    def _written_otherwise(self, id: str, operation: op.Operation) -> NativeCall:
        if isinstance(operation, op.CallMcpTool):
            for names in self.mcp:
                written = names.write(operation.server, operation.tool)
                if written is not None:
                    return NativeCall(id, written[1], operation.arguments, namespace=written[0])
            if operation.server is not None:
                for kind, key in [(kind, key) for kind, key in self.mcp_items.items() if key]:
                    item = {"type": kind, key: operation.server}
                    return NativeCall(id, operation.tool, operation.arguments, None, ExecutedBy.PROVIDER, item)
        if isinstance(operation, op.CallFunction | op.Unrecognised):
            return NativeCall(id, operation.name, operation.arguments)
        if isinstance(operation, op.SteerClient):
            for steer in self.steering:
                if operation.action == (steer.action or steer.name):
                    return NativeCall(id, steer.name, operation.arguments, steer.namespace, steer.executed_by)
        raise Unspeakable(self.name, tag_of(operation), self.reason_unspoken(type(operation)))

    # ── results ────────────────────────────────────────────────────────────

    def read_result(self, call: Call, native: NativeResult, reader: ResultReader | None = None) -> Result:
        """What a native result says: one outcome per operation of its call. `reader` is that of `read_with_reader`."""
        try:
            result = self._read_result(call, native, reader)
            for outcome in result.outcomes:
                if type(outcome) in DOUBTED and (instead := doubted(outcome, native, call.operations)) is not outcome:
                    return Result(native.call_id, (instead,) * len(result.outcomes), native=native)
            return result
        except (ValueError, OverflowError) as error:
            # A number of more than 4,300 digits, or one that is infinite as a float, is none that a tool prints.
            if isinstance(error, ValueError) and "integer string conversion" not in str(error):
                raise
            text = understand(op.Unrecognised(call.native.name, call.native.arguments), native)
            return Result(native.call_id, (text,) * max(1, len(call.operations)), native=native)

    def _read_result(self, call: Call, native: NativeResult, reader: ResultReader | None) -> Result:
        if reader is not None:
            failure = self.failures.understand(call, native)
            if failure is None:
                return Result(native.call_id, reader.to_outcomes(call.operations, native), native=native)
            return Result(native.call_id, (failure,) * len(call.operations), native=native)
        asked = call.native
        provider = self._provider_of(asked) if self._plain_spellings(asked) is None else None
        if provider is not None:
            return provider.read_result(call, native)
        failure = self.failures.understand(call, native)
        if failure is not None:
            return Result(native.call_id, (failure,) * max(1, len(call.operations)), native=native)
        reader = self._spelling_for(call) or self._unspelled_reader
        operations = call.operations or (op.Unrecognised(call.native.name, call.native.arguments),)
        return Result(native.call_id, reader.to_outcomes(operations, native), native=native)

    def write_result(self, call: Call, outcomes: Sequence[Outcome]) -> NativeResult:
        """The outcomes of a call in this vocabulary's words."""
        provider = self._provider_of(call.native)
        if provider is not None:
            return provider.write_result(call, outcomes)
        told: NativeContent
        spelling = self._spelling_for(call)
        failure = next((outcome for outcome in outcomes if isinstance(outcome, Failure)), None)
        if failure is not None and len(outcomes) == 1:
            refusals = None if spelling is None else spelling.refusals
            told = (refusals and refusals.tell(call, failure)) or self.failures.tell(call, failure)
        elif spelling is not None:
            told = spelling.from_outcomes(call.operations, tuple(outcomes))
        else:
            teller = tell_all if self.unspelled is None else self.unspelled.tell
            told = teller(call.operations, tuple(outcomes)), None
        asked = call.native
        item = told[2] if len(told) == 3 else None
        return NativeResult(asked.id, told[0], told[1], asked.name, asked.namespace, asked.executed_by, item)

    def _spelling_for(self, call: Call) -> Spelling[Any] | None:
        """A call that could not be read is told in no tool's words, nor is a function of the run, whatever its name."""
        if call.failure is not None:
            return None
        for operation in call.operations:
            if isinstance(operation, op.CallFunction):
                return None
        return self.spelling_of(call.native)

    def reconsidered(self, call: Call, outcomes: Sequence[Outcome]) -> Call | None:
        """What a call means after all, when its only operation failed because the world is not as it had to guess.

        A tool that looks at files and folders alike does not say which; whoever runs a call asks here
        and, given another, runs that one instead.
        """
        if len(call.operations) != 1 or len(outcomes) != 1 or not isinstance(outcomes[0], Failure):
            return None
        spelling = self._spelling_for(call)
        instead = None if spelling is None else spelling.meant_instead(call.operations[0], outcomes[0])
        return None if instead is None else msgspec.structs.replace(call, operations=(instead,))

    def edit_rules(self, native: NativeCall) -> EditRules | None:
        """How this version of the client finds the places of a call's edits; `None`: exactly as they are written."""
        spelling = self.spelling_of(native)
        if spelling is None:
            return None
        for until, rules in spelling.edit_rules_until.items():
            if self.version is not None and version_number(self.version) <= version_number(until):
                return rules
        return spelling.edit_rules

    # ── what is lost ───────────────────────────────────────────────────────

    def fidelity(self) -> list[Fidelity]:
        """Per operation, tool and field: how well this vocabulary says it."""
        rows: list[Fidelity] = []
        for tag, operation in op.OPERATIONS.items():
            spellings = [one for one in self._by_operation.get(operation, ()) if self.offers(one) and not one.read_only]
            if not spellings:
                rows.extend(self._unspoken_rows(tag, operation))
            for spelling in spellings:
                rows.extend(field_rows(tag, operation, spelling))
                rows.extend(result_rows(tag, spelling))
        return rows

    def _unspoken_rows(self, tag: str, operation: type[op.Operation]) -> list[Fidelity]:
        if operation in (op.CallFunction, op.Unrecognised):
            return [Fidelity(tag, None, None, None, "exact", "written as it is")]
        if operation is op.CallMcpTool and (self.mcp or self.mcp_items):
            native = self.mcp[0].template if self.mcp else next(iter(self.mcp_items))
            return [Fidelity(tag, native, None, None, "exact")]
        if operation is op.SteerClient and self.steering:
            return [Fidelity(tag, steer.name, None, None, "exact", steer.reason) for steer in self.steering]
        return [Fidelity(tag, None, None, None, "unspoken", self.reason_unspoken(operation))]

    def reason_unspoken(self, operation: type[op.Operation]) -> str:
        """Why this vocabulary cannot say an operation: its own reason, that of the group, or the operation's."""
        spellings = self._by_operation.get(operation, ())
        if operation not in self.unspoken and any(self.offers(one) and one.read_only is None for one in spellings):
            return "no native tool that is run here says it"
        own = (self.unspoken.get(one) for one in operation.__mro__)
        return next((reason for reason in own if reason is not None), operation.unspoken)

    # ── tables ─────────────────────────────────────────────────────────────

    def _offered_now(self, spelling: AnySpelling) -> bool:
        usual = spelling.only_by_id is None and for_family(spelling.families, self.default_family)
        return usual and spelling.read_only is None and spelling.until is None

    def _index(self) -> None:
        by_name: dict[str, list[AnySpelling]] = {}
        by_operation: dict[type[op.Operation], list[AnySpelling]] = {}
        for spelling in self.spellings:
            for name in (spelling.native_name, *spelling.formerly):
                by_name.setdefault(qualified(spelling.namespace, name), []).append(spelling)
            for operation in spelling.operation_types:
                by_operation.setdefault(operation, []).append(spelling)
        problems = [
            f"{name!r} is said twice at the same time by {one.__name__} and {other.__name__}"
            for name, spellings in by_name.items()
            for index, one in enumerate(spellings)
            for other in spellings[index + 1 :]
            if one.native_name == other.native_name and overlap(one, other) and not (one.read_only or other.read_only)
        ]
        problems += row_problems(self.provider_tools, self.spellings)
        problems += [
            f"{operation.__name__} is unspoken and spoken by {by_operation[operation][0].__name__}"
            for operation in self.unspoken
            if any(self._offered_now(spelling) for spelling in by_operation.get(operation, ()))
        ]
        for steer in self.steering:
            for name in (steer.name, *steer.formerly):
                key = qualified(steer.namespace, name)
                if key in by_name and not steer.fallback:
                    problems.append(f"{key!r} is a spelling and steers the client")
                self._steer_by_name[key] = steer
        if problems:
            raise DefinitionError(f"dialect {self.name!r}", problems)
        if self.version is not None:  # a shape that two versions mean differently is read as this one means it
            by_name = {name: read_at(spellings, self.version, self._at) for name, spellings in by_name.items()}
        self._by_name = {name: tuple(spellings) for name, spellings in by_name.items()}
        hosted = [one for one in self.spellings if one.executed_by is ExecutedBy.PROVIDER and one.namespace is not None]
        self._hosted_by_name = {name: (one,) for one in hosted for name in (one.native_name, *one.formerly)}
        self._by_operation = {operation: tuple(spellings) for operation, spellings in by_operation.items()}


def _reason(reasons: Mapping[str, str], operation: op.Operation, field: str) -> str:
    return reasons.get(field) or reasons.get(f"{type(operation).__name__}.{field}") or "this value cannot be said"
