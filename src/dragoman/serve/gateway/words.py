"""A client's tools in the words of a model, and the model's calls in the words of the client.

Rules:
- What the model's vocabulary can say of what the client offers is offered in its words and in no others. The rest of
  the client's tools are offered as they are, and listed in `passed`.
- A call of the model that becomes several of the client's is given to it one at a time, after the files it changes
  were read through the client's own tools and every change was tried on them. So a patch that does not fit changes
  nothing. The results are answered as the one result of the call.
- The calls of one reply are made in its order: many clients run what they are given together at the same time. What
  only reads is given together, and so are sub-agents; a change or a command waits for what comes before it.
- Nothing is run here, and no file of the client is opened here. Calls of the `here` tools are run by the gateway, if
  that was asked for (`web`).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dragoman.apis import Lowering, found_tools
from dragoman.dialects import Dialect, provider_tool
from dragoman.dialects.translation import IN_SHELL, KnownFiles, Translated, Translation
from dragoman.errors import Unspeakable
from dragoman.model import (
    Call,
    Definition,
    ExecutedBy,
    Failure,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    Reply,
    operations as op,
    outcomes as out,
)

from .changes import Changes, Plan, Wanted
from .jobs import speaker
from .web import spoken

_WORD: Final = re.compile(r"[\w-]+")
_OTHERWISE: Final = "Some tools have other names here than in the instructions above:"
_KINDS: Final = re.compile(r"^Available agent types[^\n]*:\n(?:[-*] [^\n]*(?:\n|$))+", re.MULTILINE)
"""Where opencode 1.18 and Qwen Code 0.24 list the kinds of sub-agents, in the description of their tool. Claude Code
2.1.325 and Gemini CLI 0.61 list them in the conversation, which the model gets anyway."""
_STOPPED: Final = Failure("cancelled", "The user interrupted this call before all of it was done.")


class Group(msgspec.Struct, frozen=True):
    """One call of the model, and what the client is given for it."""

    native: NativeCall
    """The model's call, in its tools' own terms."""
    calls: tuple[NativeCall, ...]
    """In the client's words."""
    translated: Translated | None = None
    """`None` for a tool of the client that is passed through."""
    id: str = ""
    """With which the ids of its calls begin."""
    wanted: Wanted = Wanted()
    """What is read before it is made."""
    answer: NativeResult | None = None
    """What the model is told at once: the client cannot do this, or it was done by the gateway."""
    here: Call | None = None
    """What the gateway does itself."""


class Words:
    """Between a client's vocabulary and a model's. `client` or `model` `None`: everything is passed through."""

    def __init__(
        self,
        offered: Sequence[Definition],
        *,
        client: Dialect | None,
        model: Dialect | None,
        folder: str | None = None,
        reads_first: bool = False,
        reads_pictures: bool = True,
        agent: str | None = None,
        commands_together: bool = False,
        reader: Dialect | None = None,
        hosted: Mapping[str, ProviderDefinition] = {},
        here: frozenset[type[op.Operation]] = frozenset(),
    ) -> None:
        """`hosted` are tools of the model's provider by the ids of those of the client's provider.

        `commands_together`: the model knows that the commands of one reply run at the same time.
        `here` is what the gateway does itself of what the client's provider would have done.
        """
        self._client, self._model, self._reads_first = client, model, reads_first
        self.vocabulary = "" if client is None or model is None else repr(model)
        """The words in which the model is spoken to; empty for those of the client."""
        self._reads_pictures, self._agent = reads_pictures, agent
        self._ordered = {op.Kind.WRITE} if commands_together else {op.Kind.WRITE, op.Kind.EXECUTE}
        self.folder = folder
        self._explained: dict[str, str | None] = {}
        self.names: dict[str, str] = {}
        """A tool of the client → the tool of the model's vocabulary that stands for it."""
        theirs = [one for one in offered if isinstance(one, ProviderDefinition)]
        own = [one for one in offered if not isinstance(one, ProviderDefinition)]
        said = spoken(here, model, [str(one.name) for one in own])
        self._here = {str(definition.name): (definition, dialect) for definition, dialect in said}
        own_web = [definition for definition, _ in said]
        left_out = [one for one in theirs if one.id not in hosted and not (said and _is_done(one, here))]
        self.left_out = tuple(one.name or one.wire_type for one in left_out)
        """Tools that the client's provider would run, and neither the model's nor the gateway."""
        self._passed_names = {_full_name(one): joined(one.namespace, one.name) for one in own}
        """Tools of the client → the names under which they are passed through."""
        self._files = KnownFiles()
        if client is None or model is None:
            self.definitions: tuple[Definition, ...] = (
                *(_called(one, str(one.name)) for one in (*own, *own_web)),
                *hosted.values(),
            )
            self.passed = tuple(map(_full_name, own))
            self.reader = reader
            """The vocabulary in which the model's calls are read for the record."""
            self._to_client: Translation | None = None
            self._to_model: Translation | None = None
            return
        new = [_with_kinds(one, own, client, model) for one in self._offered(client, model, [*map(_full_name, own)])]
        taken = {str(one.name) for one in new}
        passed = [one for one in own if _full_name(one) not in self.names]
        self.passed = tuple(map(_full_name, passed))
        # A model that knows a name calls the tool as it learnt it: another tool of that name gets a new one.
        known = taken | {one.name for one in model.steering} | {*self._here}
        self._passed: dict[tuple[str | None, str], str] = {}
        """The namespace and the name under which a tool of the client is offered → its own name."""
        for one in passed:
            name = str(one.name)
            new_name = f"client_{name}" if name in known or model.meanings(name) else name
            self._passed[_namespace(one), new_name] = name
            self._passed_names[_full_name(one)] = joined(_namespace(one), new_name)
        renamed = [_called(one, new_name) for one, (_, new_name) in zip(passed, self._passed, strict=True)]
        self.reader = model.knowing(functions=tuple(name for _, name in self._passed))
        # As the clients themselves offer them: a strict schema would ask for every parameter.
        self.definitions = (
            *(_called(one, str(one.name)) for one in (*new, *own_web)),
            *renamed,
            *hosted.values(),
        )
        self._nulls = {str(one.name): _nullable(one) for one in own}
        relaxed = [_relaxed(one, self._nulls[str(one.name)]) for one in own]
        speaks = self._speaker = speaker(model.only({*map(_full_name, new)}))
        says = client.only({*map(_full_name, own)})
        self._to_client = Translation(
            speaks, says, offered=relaxed, folder=folder, paths="absolute" if folder else None, losses=False
        )
        self._to_model = Translation(client, speaks, offered=new, losses=False)
        self._changes = Changes(client, self._to_client, reads_first=reads_first)

    def fork(self) -> Words:
        """A copy for one conversation, or for a branch of it: translating remembers which files were read in it."""
        new = copy.copy(self)
        new._files = self._files.fork()
        if self._to_client is not None:
            new._changes = self._changes.fork()
        return new

    def _offered(self, client: Dialect, model: Dialect, names: Sequence[str]) -> list[Definition]:
        """The tools of the model's vocabulary for what the client's tools can do."""
        meant = {name: client.meanings(name) for name in names}
        meant_by_tools = {operation for operations in meant.values() for operation in operations}
        can = set(meant_by_tools)
        if op.RunCommand in can:
            can |= IN_SHELL
        if op.ReadFile in meant_by_tools and self._reads_pictures and not model.chosen({op.ReadFile}):
            can.add(op.ViewImage)  # a model that reads files by commands, as GPT does, sees pictures by a tool for them
        chosen, unsaid = [], set(can)
        found = model.chosen(can, executed_by=ExecutedBy.CLIENT)
        usual = {meant for one in found if not model.on_request(one) for meant in one.operation_types}
        # A tool on request that does what a usual one does takes its place: the `exec` of Codex (0.166.0) runs programs
        # that call the other tools, and no model is offered both.
        found = [one for one in found if not model.on_request(one) or usual.isdisjoint(one.operation_types)]
        # First the tools that are made for what the client can do, then those that can do it among other things.
        for spelling in sorted(found, key=lambda one: one.operation_types[0] not in can):
            if spelling.operation_types[0] in can or unsaid.intersection(spelling.operation_types):
                chosen.append(spelling)
                unsaid.difference_update(spelling.operation_types)
                if op.RunCommand in spelling.operation_types:
                    unsaid -= IN_SHELL
        said = {operation: spelling for spelling in reversed(chosen) for operation in spelling.operation_types}
        if op.ReadFile in said:
            said.setdefault(op.ViewImage, said[op.ReadFile])  # such tools show pictures too
        shell = said.get(op.RunCommand)
        if shell is not None:  # what a command can do needs no other tool
            said = {**dict.fromkeys(IN_SHELL, shell), **said}
        for name, operations in meant.items():
            if any(operation in said for operation in operations):
                own = [said[one] for one in sorted(operations, key=lambda one: one.__name__) if one in said]
                self.names[name] = next((one for one in own if one is not shell), own[0]).native_name
        wanted = {spelling.native_name for spelling in chosen}
        return [one for one in model.definitions(can, executed_by=ExecutedBy.CLIENT) if one.name in wanted]

    def offered_name(self, name: str) -> str:
        """The name under which the model is offered a tool of the client, or what stands for it."""
        return self.names.get(name) or self._passed_names.get(name, name)

    def glossary(self, text: str) -> str | None:
        """A sentence that names the model's tools for those of the client's that a text speaks of."""
        if text in self._explained:
            return self._explained[text]
        words = set(_WORD.findall(text))
        named = [f"`{theirs}` is `{ours}`" for theirs, ours in self.names.items() if theirs != ours and theirs in words]
        self._explained.clear()  # the instructions of a conversation stay the same
        self._explained[text] = f"{_OTHERWISE} {', '.join(named)}." if named else None
        return self._explained[text]

    # ── from the model to the client ───────────────────────────────────────

    def groups(
        self,
        reply: Reply,
        base: str,
        lowering: Lowering,
        seen: frozenset[str],
        answers: Mapping[str, NativeResult] = {},
    ) -> tuple[Group, ...]:
        """What a client is given for the calls of a reply; `seen` are the files that it has read or written.

        `answers` are the results of calls that the gateway has made itself, by the ids that they have here.
        """
        ours = [call for call in reply.calls if call.executed_by is ExecutedBy.CLIENT]
        return tuple(
            self._group(lowering.call(call), f"{base}_{place}", seen, answers) for place, call in enumerate(ours)
        )

    def answered(self, group: Group, outcomes: Sequence[out.Outcome]) -> NativeResult:
        """What the model is told of a call that the gateway has made itself."""
        assert group.here is not None
        _, dialect = self._here[group.native.name]
        return _answering(dialect.write_result(group.here, outcomes), group.native)

    def _group(self, native: NativeCall, id: str, seen: frozenset[str], answers: Mapping[str, NativeResult]) -> Group:
        call = msgspec.structs.replace(native, id=id)
        if id in answers or (native.name in self._here and native.namespace is None):
            dialect = self._here[native.name][1] if native.name in self._here else None
            return Group(native, (), answer=answers.get(id), here=None if dialect is None else dialect.read_call(call))
        if self._to_client is None or self._model is None:
            return Group(native, (call,))
        theirs = self._passed.get((native.namespace, native.name))
        if theirs is not None:
            return Group(native, (msgspec.structs.replace(call, name=theirs),))
        read = self._for_agents(self._speaker.read_call(call))
        translated = self._to_client.say(read, self._files)
        if not translated.calls:
            reason = "; ".join(one.reason for one in translated.lost)
            failure = read.failure or Failure("failed", f"The tool {native.name} cannot do this here: {reason}")
            told = self._speaker.write_result(read, (failure,) * max(1, len(read.operations)))
            return Group(native, (), answer=_answering(told, native))
        calls = tuple(self._filled(one.native) for one in translated.calls)
        translated = msgspec.structs.replace(
            translated,
            calls=tuple(
                msgspec.structs.replace(one, native=filled) for one, filled in zip(translated.calls, calls, strict=True)
            ),
        )
        return Group(native, calls, translated, id=id, wanted=self._changes.wanted(translated, seen))

    def _for_agents(self, call: Call) -> Call:
        """A call with what a client's tool for sub-agents must be told and the model did not say.

        That is its general kind of agent, and a title: the name of the task, or the beginning of the prompt. Qwen Code
        0.24 refuses an empty title; spawn_agent of Codex has none.
        """
        if not any(isinstance(one, op.SpawnAgent) for one in call.operations):
            return call
        meant = tuple(
            msgspec.structs.replace(
                one,
                agent=one.agent or self._agent,
                description=one.description or one.name or " ".join(one.prompt.split())[:60],
            )
            if isinstance(one, op.SpawnAgent)
            else one
            for one in call.operations
        )
        return msgspec.structs.replace(call, operations=meant)

    def _filled(self, native: NativeCall) -> NativeCall:
        """A call with null for what its tool requires and that was not said: strict schemas have it so."""
        nulls = self._nulls.get(native.name)
        if not nulls or not isinstance(native.arguments, dict):
            return native
        return msgspec.structs.replace(native, arguments={**dict.fromkeys(nulls), **native.arguments})

    # ── step by step ───────────────────────────────────────────────────────

    def next(self, groups: Sequence[Group], results: Mapping[str, NativeResult]) -> tuple[NativeCall, ...]:
        """The calls that the client is to make now; none when all are done."""
        for batch in self._batches(groups):
            if _at_once(batch):
                calls = [call for group in batch for call in group.calls]
                waiting = [call for call in calls if call.id not in results]
                if waiting:  # all at once; they come back together
                    return tuple(waiting) if len(waiting) == len(calls) else ()
            for group in batch:
                plan = None if group.translated is None else self._plan(group, group.translated, results)
                if self._is_stopped(group, plan, results):
                    return ()
                own = next((call for call in group.calls if call.id not in results), None)
                following = own if plan is None else plan.waiting
                if following is not None:
                    return (self._filled(following),)
        return ()

    def _batches(self, groups: Sequence[Group]) -> list[list[Group]]:
        """The calls of a reply in its order, those together that the client may be given together."""
        if self._to_client is None:
            return [[*groups]]
        batches: list[list[Group]] = []
        together = False
        """Whether the next one may come with the one before it."""
        for group in groups:
            alone = not _at_once([group]) or self._waits(group)
            if alone or not together:
                batches.append([])
            batches[-1].append(group)
            together = not alone
        return batches

    def _waits(self, group: Group) -> bool:
        """Whether what comes before a call must be done before it, and what comes after it later."""
        meant = () if group.translated is None else group.translated.source.operations
        return any(one.kind in self._ordered for one in meant)

    def _is_stopped(self, group: Group, plan: Plan | None, results: Mapping[str, NativeResult]) -> bool:
        """Whether the user stopped it: no other call is made then."""
        if plan is not None or self._client is None or not group.calls:
            return plan is not None and plan.stopped
        (call,) = group.calls
        if call.id not in results:
            return False
        outcomes = self._client.read_result(self._client.read_call(call), results[call.id]).outcomes
        return any(isinstance(one, Failure) and one.kind == "cancelled" for one in outcomes)

    def _plan(self, group: Group, translated: Translated, results: Mapping[str, NativeResult]) -> Plan:
        rules = None if self._model is None else self._model.edit_rules(group.native)
        return self._changes.plan(translated, group.wanted, rules, group.id, results)

    def results(self, groups: Sequence[Group], results: Mapping[str, NativeResult]) -> tuple[NativeResult, ...]:
        """What the model is told of its calls, in its own words."""
        told: list[NativeResult] = []
        ends = False
        """Whether the client stopped in the middle: what comes later was never given to it."""
        for batch in self._batches(groups):
            stopped = False
            for group in batch:
                if group.answer is not None:
                    told.append(group.answer)
                    continue
                if ends:
                    told.append(self._never_made(group))
                    continue
                plan = None if group.translated is None else self._plan(group, group.translated, results)
                missing = plan.waiting is not None if plan else group.calls[0].id not in results
                stopped = stopped or missing or self._is_stopped(group, plan, results)
                result = results.get(group.calls[0].id) if plan is None else self._told_of(plan, results)
                if result is not None:
                    told.append(_answering(result, group.native))
            ends = ends or stopped
        return tuple(told)

    def _never_made(self, group: Group) -> NativeResult:
        if group.translated is None:
            return _answering(NativeResult("", _STOPPED.message, is_error=True), group.native)
        source = group.translated.source
        told = self._speaker.write_result(source, (_STOPPED,) * max(1, len(source.operations)))
        return _answering(told, group.native)

    def _told_of(self, plan: Plan, results: Mapping[str, NativeResult]) -> NativeResult | None:
        """The result of a call that was translated; `None` where nothing of it was made."""
        assert self._to_client is not None
        source = plan.translated.source
        count = max(1, len(source.operations))
        if plan.unfit is not None:
            return self._speaker.write_result(source, (plan.unfit,) * count)
        made = [call for call in plan.translated.calls if call.id in results]
        if not made:
            return None  # whoever writes the request says that there is no result
        failed = [call for call in made if self._changes.failure(plan.translated, call, results[call.id]) is not None]
        if plan.waiting is None:
            (joined,) = self._to_client.join(plan.translated, [*results.values()], self._files).results
        else:
            joined = self._speaker.write_result(source, (_STOPPED,) * count)
        changed = [path for call in made if call not in failed for path in _changed_by(plan.translated, call)]
        if (failed or plan.waiting is not None) and changed and isinstance(joined.content, str):
            paths = ", ".join(dict.fromkeys(changed))
            content = f"{joined.content}\nBefore that these files were changed, and remain so: {paths}"
            joined = msgspec.structs.replace(joined, content=content)
        return joined

    def searched(self, result: NativeResult) -> NativeResult:
        """A result that is a list of deferred tools as text, with the names under which the model is offered them."""
        found = [*found_tools(result)]
        if not found:
            return result
        names = [self.offered_name(_full_name(one)) for one in found]
        told = f"These tools can be called now: {', '.join(dict.fromkeys(names))}."
        return msgspec.structs.replace(result, content=told, item=None)

    # ── history that did not go through here ───────────────────────────────

    @property
    def to_model(self) -> Translation | None:
        """From the client's words to the model's."""
        return self._to_model

    def paths(self, native: NativeCall) -> frozenset[str]:
        """The files that a call of the client reads or writes, where it matters that it has read them."""
        if self._client is None or not self._reads_first:
            return frozenset()
        meant = self._client.read_call(native).operations
        return frozenset(one.path for one in meant if isinstance(one, op.ReadFile | op.WriteFile | op.EditFile))


def _with_kinds(definition: Definition, own: Sequence[Definition], client: Dialect, model: Dialect) -> Definition:
    """A tool of the model that starts sub-agents of a kind, with the kinds that the client has."""
    if not isinstance(definition, FunctionDefinition) or _kind_schema(definition, model) is None:
        return definition
    kinds = [kinds for one in own if isinstance(one, FunctionDefinition) and (kinds := _kinds(one, client))]
    return msgspec.structs.replace(definition, description="\n\n".join((definition.description, *kinds)))


def _kinds(definition: FunctionDefinition, client: Dialect) -> str | None:
    """What a client's tool for sub-agents says of the kinds that there are: a list, or the values of its parameter."""
    schema = _kind_schema(definition, client)
    if schema is None:
        return None
    found = _KINDS.search(definition.description)
    if found is not None:
        return found[0].rstrip()
    values = schema.get("enum", ())
    return f"Available agent types: {', '.join(map(str, values))}." if values else None


def _kind_schema(definition: FunctionDefinition, dialect: Dialect) -> dict[str, Any] | None:
    """The schema of the parameter that says what kind of sub-agent is started; `None` for any other tool."""
    if op.SpawnAgent not in dialect.meanings(_full_name(definition)):
        return None
    try:
        calls = dialect.write_call("", op.SpawnAgent("", agent="kind", name="", description=""))
    except Unspeakable:
        return None
    for call in calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        for name, value in arguments.items():
            if value == "kind" and (schema := definition.parameters.get("properties", {}).get(name)) is not None:
                return dict(schema)
    return None


def _is_done(tool: ProviderDefinition, here: frozenset[type[op.Operation]]) -> bool:
    row = provider_tool(tool.id)
    return row is not None and bool(row.operations & here)


def joined(namespace: str | None, name: str) -> str:
    """A tool's name for a model whose API has no namespaces."""
    return name if namespace is None else f"{namespace}__{name}"


def _namespace(definition: Definition) -> str | None:
    return None if isinstance(definition, ProviderDefinition) else definition.namespace


def _full_name(definition: Definition) -> str:
    """A name with its namespace, as dialects have it."""
    namespace = _namespace(definition)
    return f"{namespace}.{definition.name}" if namespace else str(definition.name)


def _nullable(definition: Definition) -> tuple[str, ...]:
    """The parameters that a tool requires although they may be null."""
    if not isinstance(definition, FunctionDefinition):
        return ()
    properties = definition.parameters.get("properties", {})
    required = definition.parameters.get("required", ())
    return tuple(name for name in required if "null" in _types(properties.get(name)))


def _types(schema: Any) -> list[Any]:
    if not isinstance(schema, dict):
        return []
    stated = schema.get("type")
    types = stated if isinstance(stated, list) else [stated]
    return [*types, *(one for choice in schema.get("anyOf", ()) for one in _types(choice))]


def _relaxed(definition: Definition, nulls: tuple[str, ...]) -> Definition:
    if not nulls or not isinstance(definition, FunctionDefinition):
        return definition
    required = [name for name in definition.parameters["required"] if name not in nulls]
    return msgspec.structs.replace(definition, parameters={**definition.parameters, "required": required})


def _at_once(groups: Sequence[Group]) -> bool:
    """Whether the client can be given these calls together: none of them has steps of its own."""
    return all(group.wanted == Wanted() and len(group.calls) <= 1 for group in groups)


def _changed_by(translated: Translated, call: Call) -> list[str]:
    """The files that a step changed."""
    meant = translated.commands.get(call.id, call.operations[0])
    return [meant.path] if isinstance(meant, op.EditFile | op.WriteFile | op.DeleteFile | op.MoveFile) else []


def _answering(result: NativeResult, call: NativeCall) -> NativeResult:
    """A result under the id and the name of the call that it answers."""
    return msgspec.structs.replace(result, call_id=call.id, name=call.name, namespace=call.namespace)


def _called(definition: Definition, name: str) -> Definition:
    """A tool of the client as it is passed through: held strictly where the client wants it and the model can."""
    if isinstance(definition, FunctionDefinition):
        return msgspec.structs.replace(definition, name=name, strict=None if definition.strict is True else False)
    return msgspec.structs.replace(definition, name=name)
