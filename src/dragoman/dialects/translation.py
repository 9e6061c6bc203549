"""Calls and results of one vocabulary in the words of another.

Continuing a session with another model, porting it to another client and standing between a client and a model are the
same work. A call is read in one vocabulary and written in the other, as one call or several. Its result is divided into
their results (`split`), or their results are combined into its own (`join`).

Rules:
- Nothing is lost silently: every `Translated` and every `Retold` lists what was lost, by call.
- A call is never written under a name that the target does not offer. What only its shell can do is written as a
  command of it (`base.shell_commands`), and a picture goes to the tool for pictures. Without words, it becomes text
  (`as_text`).
- A command that is running, or may be, is never reported as finished.
- Ids stay paired: a call that becomes one keeps its id, one that becomes several gets ids that begin with it.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cache
from pathlib import PureWindowsPath
from typing import Final, Literal, Protocol

import msgspec

from dragoman.errors import Unspeakable
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NO_RESULT, Call, ExecutedBy, NativeCall, NativeResult, Result
from dragoman.model.conversation import (
    AnyPart,
    CallPart,
    Conversation,
    ConversationItem,
    Message,
    Provenance,
    Reply,
    ResultPart,
    user,
)
from dragoman.model.effects import fields_of
from dragoman.model.json_text import json_text
from dragoman.model.request import Definition, FreeformDefinition, FunctionDefinition
from dragoman.schema import checker

from .base.availability import qualified
from .base.default_words import tell
from .base.dialect import Dialect, Loss
from .base.known_files import KnownFiles as KnownFiles
from .base.shell_commands import (
    IN_SHELL as IN_SHELL,
    in_shell,
    left_out,
    outcome_from as outcome_from,
    printed_for as printed_for,
)

_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_NEWEST: Final = 64
"""Calls that are copied with a walk through a conversation; what older ones became is shared."""
WHOLE: Final = "*"
"""The field of a loss that is the whole call."""


class Speaker(Protocol):
    """Whoever's words calls and results are in: a `Dialect`, or what one request offers (`engine.Offer`)."""

    def read_call(self, native: NativeCall) -> Call: ...

    def write_call(self, id: str, operation: op.Operation) -> tuple[NativeCall, ...]: ...

    def loss(self, operation: op.Operation) -> tuple[Loss, ...]: ...

    def read_result(self, call: Call, native: NativeResult) -> Result: ...

    def write_result(self, call: Call, outcomes: Sequence[out.Outcome]) -> NativeResult: ...


class Lost(msgspec.Struct, frozen=True):
    """Something of a call that did not survive: a field of an operation, `*` for all of it, `result` or `result.…` for
    what it gave."""

    call_id: str
    tool: str
    """The name in the source's words."""
    field: str
    reason: str


class Translated(msgspec.Struct, frozen=True):
    """A call, and the calls that say the same in the other vocabulary: none, where it cannot say it."""

    source: Call
    calls: tuple[Call, ...]
    """Each with the one operation that it says, or a part of it."""
    places: tuple[int, ...]
    """For each call, the place of its operation in the source."""
    lost: tuple[Lost, ...]
    commands: dict[str, op.Operation] = {}
    """What the calls of the target's shell do that no other tool of it says, by the id of the call."""


class Retold(msgspec.Struct, frozen=True):
    """Results in the other vocabulary's words, and what of them did not survive."""

    results: tuple[NativeResult, ...]
    lost: tuple[Lost, ...]


class Translation:
    """From the words of `read_as` to those of `say_as`.

    `offered` are the tools that may be called there, by name or as they were defined: nothing else is said, and no
    parameter that a definition does not have. Without it, `say_as` decides by itself. `folder` is the folder of the
    session; with it, `paths` makes the paths of operations absolute, or relative where they are inside. Without
    `losses` only calls that cannot be said are listed as lost: to find the rest takes as long as to translate.
    """

    def __init__(
        self,
        read_as: Speaker,
        say_as: Speaker,
        *,
        offered: Collection[str] | Sequence[Definition] | None = None,
        folder: str | None = None,
        paths: Literal["absolute", "relative"] | None = None,
        losses: bool = True,
    ) -> None:
        self._definitions: dict[str, Definition | None] | None = None
        if offered is not None:
            self._definitions = dict(_named(one) for one in offered)
            say_as = say_as.only(self._definitions) if isinstance(say_as, Dialect) else say_as
        self._checkers: dict[str, Callable[[object], list[str]]] = {}
        """Name of an offered tool → what finds arguments that do not fit its schema."""
        self._read_as, self._say_as, self._losses = read_as, say_as, losses
        self._lines_alone: bool | None = None
        self._folder, self._paths = None if folder is None else folder.rstrip("/") or "/", paths

    # ── calls ──────────────────────────────────────────────────────────────

    def keeps(self, native: NativeCall) -> bool:
        """Whether a call is in the target's words already, of a tool that is offered there, with fitting arguments."""
        if self._definitions is None or not isinstance(self._read_as, Dialect) or not isinstance(self._say_as, Dialect):
            return False
        name = qualified(native.namespace, native.name)
        same = self._read_as.name == self._say_as.name and name in self._definitions
        return same and not self._misfits(name, native.arguments)

    def call(self, native: NativeCall, files: KnownFiles | None = None) -> Translated:
        """A native call in the other words; `files` are those that its session has read."""
        return self.say(self._read_as.read_call(native), files)

    def say(self, call: Call, files: KnownFiles | None = None) -> Translated:
        """A call that was read already in the other words. Without `files` it depends on nothing but the call."""
        reason = _unreadable(call)
        if reason is not None:
            return self._unsaid(call, reason)
        lost = [self._loss(call, name, "it has no meaning outside its vocabulary") for name in call.unmapped]
        calls: list[Call] = []
        places: list[int] = []
        commands: dict[str, op.Operation] = {}
        try:
            for place, operation in enumerate(call.operations):
                id = call.id if len(call.operations) == 1 else f"{call.id}_{place + 1}"
                spoken = self._spoken(call, id, self._placed(operation), files)
                calls += spoken.calls
                places += [place] * len(spoken.calls)
                lost += spoken.lost
                commands.update(spoken.commands)
        except Unspeakable as error:
            return self._unsaid(call, error.reason)
        return Translated(call, tuple(calls), tuple(places), tuple(lost), commands)

    def _spoken(self, source: Call, id: str, operation: op.Operation, files: KnownFiles | None) -> Translated:
        """One operation in the target's words: its tool for it, its tool for pictures or for files, or a command."""
        exact: Translated | None = None
        if isinstance(operation, op.EditFile):
            exact = self._exact_edit(source, id, operation, files)
        elif isinstance(operation, op.WriteFile) and not operation.content.endswith("\n"):
            exact = self._exact_text(source, id, operation)
        if files is not None:
            files.begin(operation)
        if exact is not None:
            return exact
        try:
            return self._written(source, id, operation)
        except Unspeakable:
            otherwise = self._otherwise(source, id, operation)
            if otherwise is None:
                raise
            return otherwise

    def _otherwise(self, source: Call, id: str, operation: op.Operation) -> Translated | None:
        """An operation for which the target has no tool: by the one for pictures or for files, or as a command."""
        if isinstance(operation, op.ReadFile) and operation.path.lower().endswith(_PICTURES):
            with suppress(Unspeakable):
                return self._written(source, id, op.ViewImage(operation.path))
        if isinstance(operation, op.ViewImage) and operation.region is None:
            with suppress(Unspeakable):
                spoken = self._written(source, id, op.ReadFile(operation.path))
                detail = [self._loss(source, "detail", "the tool for files has none")] if operation.detail else []
                return msgspec.structs.replace(spoken, lost=(*spoken.lost, *detail))
        return self._command(source, id, operation)

    def _command(self, source: Call, id: str, operation: op.Operation) -> Translated | None:
        """An operation as a command of the target's shell, where that is one of a POSIX system."""
        command = None if self._folder is not None and _has_drive(self._folder) else in_shell(operation)
        if command is None:
            return None
        try:
            spoken = self._written(source, id, op.RunCommand(command.command))
        except Unspeakable:
            return None
        dropped = [
            self._loss(source, one, "the command that replaces it cannot express this")
            for one in left_out(operation, command)
        ]
        return msgspec.structs.replace(spoken, lost=(*spoken.lost, *dropped), commands={id: command.meant})

    def _exact_edit(self, source: Call, id: str, operation: op.EditFile, files: KnownFiles | None) -> Translated | None:
        """A change of parts of lines, where the target's tool has words for whole lines alone.

        The lines are known if the session has read the file, and nothing can have changed it since; otherwise a
        command says it exactly.
        """
        try:
            of_parts = any(
                edit.old and not edit.whole_lines and not edit.old.endswith("\n") for edit in operation.edits
            )
            if not (of_parts and self._says_lines_alone()) and self._keeps_edits(operation):
                return None
            whole = None if files is None else files.in_whole_lines(operation)
            if whole is not None and self._keeps_edits(whole):
                return self._written(source, id, whole)
        except Unspeakable:
            return None
        return self._command(source, id, operation)

    def _exact_text(self, source: Call, id: str, operation: op.WriteFile) -> Translated | None:
        """A file whose last line has no end, where the target's tool would give it one (a patch does)."""
        try:
            changed = any(one.field == "content" for one in self._say_as.loss(operation))
        except Unspeakable:
            return None
        return self._command(source, id, operation) if changed else None

    def _keeps_edits(self, operation: op.EditFile) -> bool:
        return all(one.field != "edits" for one in self._say_as.loss(operation))

    def _says_lines_alone(self) -> bool:
        """Whether the target's tool for changes has no words for parts of lines: what a patch of each would lose need
        not be looked for then."""
        if self._lines_alone is None:
            self._lines_alone = not self._keeps_edits(op.EditFile("a", (op.Edit("a", "b"),)))
        return self._lines_alone

    def _written(self, source: Call, id: str, operation: op.Operation) -> Translated:
        lost: list[Lost] = []
        calls: list[Call] = []
        natives = self._say_as.write_call(id, operation)
        shell = operation.shell if isinstance(operation, op.RunCommand) else None
        if shell and _is_of_windows(shell) and any(one.field == "shell" for one in self._say_as.loss(operation)):
            raise Unspeakable("this request", natives[0].name, f"its shell is not {shell}")
        for number, native in enumerate(natives, 1):
            fitting, dropped = self._fitting(native, source.native)
            lost += [self._loss(source, name, "the offered tool has no such parameter") for name in dropped]
            own = id if len(natives) == 1 else f"{id}_{number}"
            calls.append(
                Call(own, (operation,), fitting if fitting.id == own else msgspec.structs.replace(fitting, id=own))
            )
        if self._losses:
            lost += [self._loss(source, one.field, one.reason) for one in self._say_as.loss(operation)]
        return Translated(source, tuple(calls), (), tuple(lost))

    def _unsaid(self, call: Call, reason: str) -> Translated:
        return Translated(call, (), (), (self._loss(call, WHOLE, reason),))

    def _loss(self, call: Call, field: str, reason: str) -> Lost:
        return Lost(call.id, call.native.name, field, reason)

    def _fitting(self, native: NativeCall, source: NativeCall) -> tuple[NativeCall, list[str]]:
        """A call as its tool is offered, and the parameters left out for that; `Unspeakable` when it is not offered."""
        if self._definitions is None:
            return native, []
        name = qualified(native.namespace, native.name)
        if name not in self._definitions:
            raise Unspeakable("this request", name, "no such tool is offered")
        if native.executed_by is not source.executed_by:  # a provider takes no call of its own tool that it did not run
            raise Unspeakable("this request", name, f"the {native.executed_by} would have to have run it")
        definition, arguments = self._definitions[name], native.arguments
        if not isinstance(definition, FunctionDefinition) or not isinstance(arguments, dict):
            return native, []
        properties = definition.parameters.get("properties", {})
        dropped = [one for one in arguments if one not in properties] if properties else []
        missing = [one for one in definition.parameters.get("required", ()) if one not in arguments]
        if missing:
            raise Unspeakable("this request", name, f"the offered tool requires {', '.join(missing)}")
        fitted = {one: _among(value, properties.get(one)) for one, value in arguments.items() if one not in dropped}
        if misfits := self._misfits(name, fitted):
            raise Unspeakable("this request", name, f"the offered tool does not take this: {misfits[0]}")
        return native if fitted == arguments else msgspec.structs.replace(native, arguments=fitted), dropped

    def _misfits(self, name: str, arguments: object) -> list[str]:
        """Why arguments do not fit the schema of an offered tool."""
        definition = None if self._definitions is None else self._definitions[name]
        if isinstance(definition, FreeformDefinition):
            return [] if isinstance(arguments, str) else ["it takes text"]
        if not isinstance(definition, FunctionDefinition):
            return []
        check = self._checkers.get(name)
        if check is None:
            check = self._checkers[name] = checker(definition.parameters)
        return check(arguments)

    # ── results ────────────────────────────────────────────────────────────

    def split(self, translated: Translated, native: NativeResult, files: KnownFiles | None = None) -> Retold:
        """The source's result as the results of the calls that it became, one each; `files` gets to know it."""
        if native.content == NO_RESULT:  # no tool has words for it, and a command would get an exit code
            unknown = (msgspec.structs.replace(native, call_id=call.id) for call in translated.calls)
            return Retold(tuple(unknown), ())
        outcomes = self._read_as.read_result(translated.source, native).outcomes
        self._see(translated.source, outcomes, files)
        results: list[NativeResult] = []
        lost: list[Lost] = []
        for call, place in zip(translated.calls, translated.places, strict=True):
            outcome = outcomes[place] if place < len(outcomes) else outcomes[-1]
            done = translated.commands.get(call.id)
            if done is not None:
                before, outcome = outcome, printed_for(done, outcome)
                unsaid = _differences(before, outcome_from(done, outcome)) if self._losses else []
                lost += [self._loss(translated.source, field, reason) for field, reason in unsaid]
            result, fields = _told(self._say_as, call, (outcome,), losses=self._losses)
            results.append(result)
            lost += [self._loss(translated.source, field, reason) for field, reason in fields]
        return Retold(tuple(results), tuple(lost))

    def join(self, translated: Translated, results: Sequence[NativeResult], files: KnownFiles | None = None) -> Retold:
        """The results of the calls that the source became as its own, in one.

        They are found by their ids. A call without one was not made, because one before it failed: its operation is
        told as cancelled.
        """
        by_id = {result.call_id: result for result in results}
        parts: dict[int, list[out.Outcome]] = {}
        for call, place in zip(translated.calls, translated.places, strict=True):
            result = by_id.get(call.id)
            understood = (_NOT_MADE,) if result is None else self._say_as.read_result(call, result).outcomes
            done = translated.commands.get(call.id)
            if done is not None:
                understood = tuple(outcome_from(done, one) for one in understood)
            parts.setdefault(place, []).extend(understood)
        source = translated.source
        outcomes = tuple(
            self._named_as_asked(operation, _joined(parts.get(place, [_NOT_MADE])))
            for place, operation in enumerate(source.operations)
        )
        self._see(source, outcomes, files)
        if translated.commands:
            outcomes = tuple(map(_within_span, source.operations, outcomes))
        told, fields = _told(self._read_as, source, outcomes, losses=self._losses)
        return Retold((told,), tuple(self._loss(source, field, reason) for field, reason in fields))

    def _see(self, call: Call, outcomes: Sequence[out.Outcome], files: KnownFiles | None) -> None:
        """Files get to know what a call gave."""
        if files is not None:
            for operation, outcome in zip(call.operations, outcomes, strict=False):
                files.end(self._placed(operation), outcome)

    # ── paths ──────────────────────────────────────────────────────────────

    def _placed(self, operation: op.Operation) -> op.Operation:
        """An operation with its paths as the target wants them."""
        if self._folder is None or self._paths is None:
            return operation
        changes: dict[str, str] = {}
        for name in (*fields_of(operation).path, *(("cwd",) if hasattr(operation, "cwd") else ())):
            path = getattr(operation, name)
            if isinstance(path, str) and (placed := self._path(path)) != path:
                changes[name] = placed
        return msgspec.structs.replace(operation, **changes) if changes else operation

    def _named_as_asked(self, operation: op.Operation, outcome: out.Outcome) -> out.Outcome:
        """What was changed, under the paths that the source named where the target was given others."""
        placed = self._placed(operation)
        if placed is operation or not isinstance(outcome, out.ChangesOutcome):
            return outcome
        names = {getattr(placed, name): getattr(operation, name) for name in fields_of(operation).path}
        changes = (
            msgspec.structs.replace(
                one,
                path=names.get(one.path, one.path),
                moved_to=None if one.moved_to is None else names.get(one.moved_to, one.moved_to),
            )
            for one in outcome.changes
        )
        return msgspec.structs.replace(outcome, changes=tuple(changes))

    def _path(self, path: str) -> str:
        assert self._folder is not None
        separator = "\\" if _has_drive(self._folder) else "/"
        below = self._folder if self._folder.endswith(separator) else f"{self._folder}{separator}"
        if self._paths == "relative":
            return "." if path == self._folder else path.removeprefix(below) or "."
        if path.startswith(("/", "~", "\\\\")) or _has_drive(path):
            return path
        return self._folder if path in (".", "./") else below + path.removeprefix("./").removeprefix(f".{separator}")


Way = Literal["native", "shell", "text"]
"""How a call is said: by a tool of the target, by a command of its shell, or as text."""


class Respoken(msgspec.Struct, frozen=True):
    """A conversation in other words."""

    conversation: Conversation
    lost: tuple[Lost, ...]
    ways: dict[Way, int]
    """How many calls were said in which way."""


def respoken(conversation: Conversation, dialect: str, translation: Callable[[str], Translation | None]) -> Respoken:
    """The conversation in the words of `dialect`; `translation` gives, by a dialect's name, how to get there from it.

    Turns without a stated dialect, and those for which there is no translation, stay. A call that the target cannot say
    is told as text, with its result, in the user's next turn.
    """
    respeaking = Respeaking(dialect, cache(translation))
    respeaking.expect(conversation)
    items = tuple(new for item in conversation for new in respeaking.items(item))
    return Respoken(items, tuple(respeaking.lost), dict(respeaking.ways))


class Respeaking:
    """Puts a conversation into other words item by item; `respoken` does a whole one."""

    def __init__(self, dialect: str, translation: Callable[[str], Translation | None]) -> None:
        self._dialect, self._translation = dialect, translation
        self._answered: set[str] = set()
        self.awaits = False
        """Whether a call was left as it is because it has no result yet: with one, it would be told as text."""
        self.lost: list[Lost] = []
        self.ways: Counter[Way] = Counter()
        self._files = KnownFiles()
        self._became: ChainMap[str, tuple[Translation, Translated] | NativeCall | None] = ChainMap({}, {})
        """Old id → what the call became, and by whom; the call itself, where it is told as text with its result; `None`
        where it stayed. Copies share all but the first of the two dictionaries."""

    def expect(self, items: Sequence[ConversationItem]) -> None:
        """These are all items to come; the results in them answer calls."""
        parts = (part for item in items for part in item.parts)
        self._answered = {part.result.call_id for part in parts if isinstance(part, ResultPart)}

    def fork(self) -> Respeaking:
        """A copy, which expects nothing yet: both go on from here independently."""
        new = copy(self)
        newest, older = self._became.maps
        if len(newest) > _NEWEST:
            newest, older = {}, {**older, **newest}
            self._became = ChainMap(newest, older)
        new._became = ChainMap({**newest}, older)
        new._answered, new._files, new.ways = set(), self._files.fork(), Counter(self.ways)
        new.lost = [*self.lost]
        return new

    def items(self, item: ConversationItem) -> Iterator[ConversationItem]:
        """The next item in the new words, or nothing if its content goes into a later item."""
        made_by = item.provenance
        spoken = made_by.dialect if made_by is not None else None
        words = None if spoken is None else self._translation(spoken)
        if item.role == "assistant" and made_by is not None and words is not None:
            yield from self._reply(item, made_by, words)
        elif isinstance(item, Message) and any(isinstance(part, ResultPart) for part in item.parts):
            yield from self._results(item)
        else:
            yield item

    def _reply(self, item: ConversationItem, made_by: Provenance, words: Translation) -> Iterator[ConversationItem]:
        parts: list[AnyPart] = []
        for part in item.parts:
            if isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT:
                parts += self._call(part, words)
            else:
                parts.append(part)
        provenance = msgspec.structs.replace(made_by, dialect=self._dialect)
        new = msgspec.structs.replace(item, parts=tuple(parts), provenance=provenance)
        if len(parts) < len(item.parts) and (new if isinstance(new, Reply) else Reply(new.parts)).is_empty:
            return  # nothing was said beside what is told as text: APIs refuse a turn without content
        yield new

    def _call(self, part: CallPart, words: Translation) -> list[CallPart]:
        """The calls that say the same in the new words; none where they cannot."""
        id = part.call.id
        if words.keeps(part.call):
            self.ways["native"] += 1
            return [part]
        translated = words.call(part.call, self._files)
        self._became[id] = None
        if translated.calls:
            self._became[id] = (words, translated)
            self.lost += translated.lost
            self.ways["shell" if translated.commands else "native"] += 1
            return [CallPart(call.native) for call in translated.calls]
        if id not in self._answered:
            self.awaits = True
            return [part]  # it is still to be answered, under its own id
        self._became[id] = part.call
        self.lost += translated.lost
        self.ways["text"] += 1
        return []

    def _results(self, item: Message) -> Iterator[Message]:
        parts: list[AnyPart] = []
        texts: list[str | out.Media] = []
        for part in item.parts:
            became = self._became.get(part.result.call_id) if isinstance(part, ResultPart) else None
            if not isinstance(part, ResultPart) or became is None:
                parts.append(part)
            elif isinstance(became, NativeCall):
                texts.append(as_text(became, part.result))
                texts += [piece for piece in part.result.content if isinstance(piece, out.Media)]
            else:
                words, translated = became
                retold = words.split(translated, part.result, self._files)
                parts += [ResultPart(result) for result in retold.results]
                self.lost += retold.lost
        if parts:
            yield msgspec.structs.replace(item, parts=tuple(parts))
        if texts:
            yield user(*texts)


def as_text(call: NativeCall, result: NativeResult | None) -> str:
    """A call that the target cannot say, with its result, as text: the one form in which that is told.

    It belongs into what is told to a model, not into what it said itself: a model repeats the form of its own turns.
    Pictures and the like are only named in it: give them beside it.
    """
    arguments = call.arguments if isinstance(call.arguments, str) else json_text(call.arguments)
    called = f"[An earlier call that the tools here cannot make: {call.name}]\n{arguments}"
    if result is None:
        return f"{called}\n[No result of it was recorded, so whether it took effect is not known.]"
    pieces = (result.content,) if isinstance(result.content, str) else result.content
    texts = [piece if isinstance(piece, str) else f"({piece.media_type})" for piece in pieces]
    failed = " It failed." if result.is_error else ""
    return "\n".join((called, f"[Its result:{failed}]", *texts))


def still_runs(outcome: out.Outcome) -> bool:
    """Whether what an operation began has not ended, or is not known to have."""
    match outcome:
        case out.CommandOutcome():
            return outcome.running
        case out.AgentsOutcome():
            return any(one.status in ("running", "unknown") for one in outcome.agents)
        case out.UnknownOutcome():
            return True
    return False


def _has_ended(outcome: out.Outcome) -> bool:
    if isinstance(outcome, out.CommandOutcome | out.AgentsOutcome):
        return not still_runs(outcome)
    return isinstance(outcome, out.Failure | out.ChangesOutcome | out.DoneOutcome)


def _told(
    speaker: Speaker, call: Call, outcomes: tuple[out.Outcome, ...], *, losses: bool
) -> tuple[NativeResult, list[tuple[str, str]]]:
    """Outcomes in a speaker's words, and what of them its own reader does not find there."""
    result = speaker.write_result(call, outcomes)
    if not losses and not any(map(still_runs, outcomes)):
        return result, []
    read_back = speaker.read_result(call, result).outcomes
    lost: list[tuple[str, str]] = []
    operations = call.operations or (op.Unrecognised(call.native.name),)
    for place, outcome in enumerate(outcomes):
        understood = read_back[place] if place < len(read_back) else read_back[-1]
        if still_runs(outcome) and _has_ended(understood):
            # These words would say that it ended.
            words = [tell(operations[min(one, len(operations) - 1)], outcomes[one]) for one in range(len(outcomes))]
            content = words[0] if len(words) == 1 else "\n".join(str(one) for one in words)
            result = msgspec.structs.replace(result, content=content, is_error=None)
            return result, [("result", "its tool has no words for what still runs; plain ones are used")]
        lost += _differences(outcome, understood) if losses else []
    return result, lost


def _differences(outcome: out.Outcome, understood: out.Outcome) -> list[tuple[str, str]]:
    if outcome == understood:
        return []
    if type(outcome) is not type(understood):
        tag = str(understood.__struct_config__.tag)
        return [("result", f"it is understood as {tag.replace('_', ' ')}")]
    return [
        (f"result.{field}", "the result of the new tool does not contain it")
        for field in outcome.__struct_fields__
        if getattr(outcome, field) != getattr(understood, field)
    ]


def _joined(outcomes: Sequence[out.Outcome]) -> out.Outcome:
    """The one outcome of an operation that was done in parts: the first failure, else all changes, else the last."""
    if len(outcomes) == 1:
        return outcomes[0]
    for outcome in outcomes:
        if isinstance(outcome, out.Failure):
            return outcome
    changes = [outcome for outcome in outcomes if isinstance(outcome, out.ChangesOutcome)]
    if len(changes) == len(outcomes):
        by_path: dict[str, out.Change] = {}
        for change in (change for outcome in changes for change in outcome.changes):
            before = by_path.get(change.path)
            by_path[change.path] = change if before is None else _one_change(before, change)
        return out.ChangesOutcome(tuple(by_path.values()), any(one.preview for one in changes))
    return outcomes[-1]


def _one_change(before: out.Change, after: out.Change) -> out.Change:
    """Two changes of one file as one: what was counted is added up; a diff of parts is none of the whole."""
    counts = {
        name: None if None in (one := (getattr(before, name), getattr(after, name))) else sum(one)
        for name in ("added", "removed", "replacements")
    }
    kind = before.kind if before.kind == "created" and after.kind == "modified" else after.kind
    return msgspec.structs.replace(after, kind=kind, diff=None, **counts)


_NOT_MADE: Final = out.Failure("cancelled", "It was not done, because another part of the same call failed.")


def _within_span(asked: op.Operation, outcome: out.Outcome) -> out.Outcome:
    """Lines of a file as tools for files show them: `sed` prints the end of the last one, after which a tool that
    numbers lines would show one more, and an empty one."""
    if not isinstance(asked, op.ReadFile) or asked.last_line is None or not isinstance(outcome, out.FileOutcome):
        return outcome
    whole = outcome.text.endswith("\n") and outcome.text.count("\n") == asked.last_line - outcome.first_line + 1
    return msgspec.structs.replace(outcome, text=outcome.text[:-1]) if whole else outcome


def _unreadable(call: Call) -> str | None:
    """Why a call has no meaning that could be said."""
    if call.failure is not None:
        return call.failure.message
    if not call.operations:
        return "it means nothing"
    unknown = [one.name for one in call.operations if isinstance(one, op.Unrecognised)]
    return f"its vocabulary has no tool {unknown[0]!r}" if unknown else None


def _named(offered: str | Definition) -> tuple[str, Definition | None]:
    if isinstance(offered, str):
        return offered, None
    return qualified(getattr(offered, "namespace", None), str(offered.name)), offered


def _among(value: object, schema: object) -> object:
    """A text as one of the choices that a parameter has, where they differ in case alone (`Explore`, `explore`)."""
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if not isinstance(value, str) or not choices or value in choices:
        return value
    return next((one for one in choices if isinstance(one, str) and one.casefold() == value.casefold()), value)


def _is_of_windows(shell: str) -> bool:
    """Whether the command lines of a shell mean nothing, or something else, to the shells of other systems."""
    return PureWindowsPath(shell).stem.lower() in ("powershell", "pwsh", "cmd")


def _has_drive(path: str) -> bool:
    """Whether a path begins with a drive, as on Windows."""
    return len(path) > 1 and path[1] == ":" and path[0].isalpha()
