"""Results declared once: text with `{field}` holes, from which a result is written and read.

    results = one_of(
        words(out.CommandOutcome, "{output}", "\\n<exit code ", "{exit_code}", ">", output=body()),
        formerly=(words(out.CommandOutcome, "{output}", "\\nExit: {exit_code}", output=body()),),
    )

A template is a head, one text of any form (the *pivot*), and a tail. Reading matches the head from the start and peels
the parts of the tail from the end, each at its last occurrence; what is left is the pivot. So reading takes linear time
and never backtracks. A text that matches no template stays text. Writing uses the first template whose constants and
fields fit the outcome; where none fits, the default wording of `default_words.py` is used.

Beside templates there are `done` (a fixed sentence), `in_json` (a record as JSON), `single` (an outcome of one item),
`by_hand` (two functions, where no template will do), `picture`, `refusal` and `stays_text`. What a log has beside the
text of a result is added by `recorded`.

The rules are checked when a template is made, and a broken one raises `DefinitionError`:

- every name is a field of the outcome, and every field is said, constant, taken from the call or `unsaid`;
- at most one field goes over several lines, and it is in no optional part;
- no two fields stand side by side, and no part after the pivot and no optional part begins with a field;
- an optional part says one field: of two, one might be there alone, and would be lost;
- no template or way hides a later one;
- what one way implies, the others deny: a flag is never lost because another field of its way was missing.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.errors import DefinitionError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Content, NativeResult
from dragoman.model.json_text import json_text, read_json

from .default_words import Tells, text_of, understand
from .reasons import LOST, NEARLY
from .template import Template as Template, where_declared, words as words
from .template_parts import (
    ANY as ANY,
    ASKED as ASKED,
    CALLED as CALLED,
    INT as INT,
    LINE as LINE,
    NOT_ZERO as NOT_ZERO,
    PATH as PATH,
    Body as Body,
    Kind as Kind,
    Part as Part,
    Reads as Reads,
    body as body,
    choice as choice,
    count_of as count_of,
    either as either,
    lines as lines,
    maybe as maybe,
    numbered as numbered,
    or_none as or_none,
    skipped as skipped,
    way as way,
    without as without,
)

# ── all wordings of a tool's result ──────────────────────────────────────────


class Picture(msgspec.Struct, frozen=True):
    """A picture with a sentence before it; see `picture`."""

    text: str | None
    pictures: Callable[[NativeResult], tuple[out.Media, ...]]


def _pictures(native: NativeResult) -> tuple[out.Media, ...]:
    if isinstance(native.content, str):
        return ()
    return tuple(piece for piece in native.content if isinstance(piece, out.Media))


def picture(text: str | None = None, pictures: Callable[[NativeResult], tuple[out.Media, ...]] = _pictures) -> Picture:
    """How a picture is given: after this text (with `{media_type}` and `{asked.path}`), or alone.

    `pictures` finds those of a result where the client does not keep them in its content.
    """
    return Picture(text, pictures)


class Begins(msgspec.Struct, frozen=True):
    """A text that is known by its beginning, and is no result; see `stays_text` and `refusal`."""

    lead: str
    made: Callable[[str], out.Outcome]
    asked: tuple[type[op.Operation], ...] = ()

    def read(self, text: str, _asked: op.Operation) -> out.Outcome | None:
        """What the whole text is, where it begins so."""
        return self.made(text) if text.startswith(self.lead) else None


def stays_text(lead: str) -> Begins:
    """A text that begins so is kept as text, where a later template would take it for something else."""
    return Begins(lead, out.TextOutcome)


def refusal(lead: str, kind: out.FailureKind = "failed") -> Begins:
    """A text that begins so is a failure of this kind, with the text as its message. Read, never written."""
    return Begins(lead, lambda text: out.Failure(kind, text))


class Done(msgspec.Struct, frozen=True):
    """A sentence that says no more than that it was done; see `done`."""

    sentence: str | Callable[[Any], str]
    begins: str
    ends: str
    keeps_note: bool
    outcome: type[msgspec.Struct] = out.DoneOutcome
    when: Callable[[Any], bool] | None = None
    asked: tuple[type[op.Operation], ...] = ()

    def write(self, outcome: Any, asked: op.Operation) -> str | None:
        """The note, where it is such a sentence, or the sentence."""
        if self.when is not None and not self.when(outcome):
            return None
        note = getattr(outcome, "note", None) if self.keeps_note else None
        if note:
            return str(note) if note.startswith(self.begins) and note.endswith(self.ends) else None
        if not isinstance(self.sentence, str):
            return self.sentence(asked)
        return re.sub(r"\{asked\.(\w+)\}", lambda field: str(getattr(asked, field[1])), self.sentence)

    def saying(self, _templates: Mapping[Template, Template]) -> Done:
        return self

    def read(self, text: str, _asked: op.Operation) -> out.Outcome | None:
        """That it was done, with the whole text as the note."""
        return out.DoneOutcome(text) if text.startswith(self.begins) and text.endswith(self.ends) else None


def done(
    sentence: str | Callable[[Any], str],
    begins: str | None = None,
    ends: str = "",
    *,
    of: type[out.Outcome] = out.DoneOutcome,
    keeps_note: bool = True,
    when: Callable[[Any], bool] | None = None,
    asked: type[op.Operation] | None = None,
) -> Done:
    """A sentence with `{asked.x}` in it. A text that begins (and ends) so is read as a note that it was done.

    A function of the operation may give the sentence. `when`: only an outcome of which this is true is written so.
    """
    if begins is None:
        begins = sentence.partition("{")[0] if isinstance(sentence, str) else ""
    return Done(sentence, begins, ends, keeps_note, of, when, () if asked is None else (asked,))


class ByHand(msgspec.Struct, frozen=True):
    """An outcome written and read by two functions; see `by_hand` and `in_json`."""

    outcome: type[msgspec.Struct]
    write: Callable[[Any, Any], Content | None]
    read: Callable[[str, Any], Any]
    says: tuple[str, ...]
    nearly: Mapping[str, str]
    asked: tuple[type[op.Operation], ...]

    def saying(self, _templates: Mapping[Template, Template]) -> ByHand:
        return self


def by_hand(
    outcome: type[out.Outcome],
    write: Callable[[Any, Any], Content | None],
    read: Callable[[str, Any], Any] = lambda _text, _asked: None,
    *,
    says: tuple[str, ...] = (),
    nearly: Mapping[str, str] = {},
    asked: tuple[type[op.Operation], ...] = (),
) -> ByHand:
    """An outcome that no template says: `write` gets it and the operation, `read` a text and the operation.

    Either may give `None` for what is not said so; without `read` it is read by `from_native` alone. `says` are the
    fields of the outcome that survive, `nearly` those of which a part is lost, with the reason where it is not the
    usual one.
    """
    usual = {
        field: NEARLY.get(f"{outcome.__name__}.{field}") for field in outcome.__struct_fields__ if field not in says
    }
    reasons = {field: reason for field, reason in usual.items() if reason is not None}
    return ByHand(outcome, write, read, says, {**reasons, **nearly}, asked)


def in_json(
    outcome: type[out.Outcome],
    record: Any,
    *,
    to: Callable[[Any, Any], Any],
    back: Callable[[Any, Any], Any],
    says: tuple[str, ...] = (),
    nearly: Mapping[str, str] = {},
    indent: int = 0,
) -> ByHand:
    """An outcome as the JSON of a record: `to` and `back` are functions between the two, each given the operation."""

    def write(told: Any, asked: op.Operation) -> str | None:
        said = back(asked, told)
        text = None if said is None else json_text(said)
        return msgspec.json.format(text, indent=indent) if indent and text is not None else text

    def read(text: str, asked: op.Operation) -> Any:
        try:
            return to(asked, read_json(text, type=record))
        except msgspec.DecodeError:
            return None

    return by_hand(outcome, write, read, says=says, nearly=nearly)


Current = typing.Union["Template", "Single", "Done", "ByHand"]
Wording = typing.Union[Current, "Begins"]


class Results:
    """The wordings of a tool's results: `write` gives the content of an outcome, `read` the outcome of a result.

    The first that fits is written; they are read in order, then `formerly`.

    `formerly`: older wordings, read and never written; `read_first`: wordings that are never written and must be tried
    before the current ones. `around`: a wrapper, always written, dropped where it is there. `back` changes an outcome
    before it is written, `then` one that was read; both get the operation first. `default_first`: an outcome in the
    JSON of the default wording is known as one before anything else, for a tool whose own words may be any text.
    `text` gives the text of a result, where the client adds words to it. `from_native` gets the operation and the
    result, and gives the outcome where it is known without the text: from a log's record, or from the error flag.
    `recorded` adds to an outcome that was read what the log has beside the text: it gets the operation, the outcome
    and the result. `is_error` says of an outcome whether its result is flagged as an error.
    """

    def __init__(
        self,
        *current: Current | Picture,
        read_first: Sequence[Wording] = (),
        formerly: Sequence[Wording] = (),
        around: tuple[str, str] | None = None,
        back: Callable[[Any, Any], Any] | None = None,
        then: Callable[[Any, Any], Any] | None = None,
        unsaid: Mapping[str, str] = {},
        default_first: bool = False,
        text: Callable[[NativeResult], str] | None = None,
        from_native: Callable[[Any, NativeResult], out.Outcome | None] | None = None,
        recorded: Callable[[Any, Any, NativeResult], out.Outcome] | None = None,
        is_error: Callable[[out.Outcome], bool | None] = lambda _outcome: None,
    ) -> None:
        self._default_first = default_first
        self._text, self._recorded, self._from_native = text, recorded, from_native
        self.is_error = is_error
        self._said_by: dict[Template, Template] = {}
        self.current = tuple(one for one in current if not isinstance(one, Picture))
        self.picture = next((one for one in current if isinstance(one, Picture)), None)
        self.read_only = (*read_first, *formerly)
        self._around, self._back, self._then = around, back, then
        self._unsaid = dict(unsaid)
        in_content = self.picture is None or self.picture.pictures is _pictures
        self._is_plain = in_content and not default_first and around is None and then is None and text is None
        self._check()
        self.current = tuple([one.saying(self._said_by) for one in self.current])
        self._in_order: tuple[Wording, ...] = (*read_first, *self.current, *formerly)
        self._writers: dict[tuple[type, type], list[Callable[[Any, Any], Content | None]]] = {}
        self._readers: dict[type, list[Callable[[str, Any], Any]]] = {}

    @property
    def outcomes(self) -> tuple[type[msgspec.Struct], ...]:
        """The outcomes that have words here."""
        return tuple(dict.fromkeys(one.outcome for one in self.current))

    @property
    def tells(self) -> Tells:
        """Which fields of which outcomes these words carry unchanged."""
        plain = [one for one in self.current if isinstance(one, Template)]
        kinds = typing.cast("set[type[out.Outcome]]", {one.outcome for one in plain})
        carried = {kind: _carried([one for one in plain if one.outcome is kind]) for kind in kinds}
        for one in self.current:
            if isinstance(one, ByHand) and one.says:
                carried[typing.cast("type[out.Outcome]", one.outcome)] = one.says
        return carried

    def templates(self) -> Iterator[Template]:
        """Every template that is written, those of items with those of outcomes."""
        for one in self.current:
            if isinstance(one, Template):
                yield one
            elif isinstance(one, Single):
                yield from one.templates

    def losses(self) -> list[tuple[str, str, bool, str]]:
        """What is lost: the outcome (or the item in it), its field, whether it is said nearly, and why."""
        found = []
        for group in self._groups():
            said = {name for one in group for name in one.written_fields()}
            nearly: dict[str, str] = {}
            for one in group:
                nearly |= one.nearly()
            for field in group[0].struct.__struct_fields__:
                if field in nearly:
                    found.append((group[0].struct.__name__, field, True, nearly[field]))
                elif field not in said:
                    found.append((group[0].struct.__name__, field, False, self.reason(group, field) or ""))
        for hand in [one for one in self.current if isinstance(one, ByHand)]:
            name = hand.outcome.__name__
            found += [(name, field, True, reason) for field, reason in hand.nearly.items()]
            found += [(name, field, False, reason) for field, reason in self._lost_by_hand(hand)]
        return found

    def _lost_by_hand(self, one: ByHand) -> list[tuple[str, str]]:
        name = one.outcome.__name__
        fields = [field for field in one.outcome.__struct_fields__ if field not in (*one.says, *one.nearly)]
        return [(field, self._unsaid.get(field) or LOST.get(f"{name}.{field}", "")) for field in fields]

    def _groups(self) -> list[list[Template]]:
        """The templates of each outcome; those of an item form a group of their own. Records are not looked into."""
        plain = [one for one in self.current if isinstance(one, Template)]
        in_records = {one.outcome for one in plain if one.to is not None}
        kinds = dict.fromkeys(one.outcome for one in plain if one.outcome not in in_records)
        items: dict[type[msgspec.Struct], list[Template]] = {}
        for single in [one for one in self.current if isinstance(one, Single)]:
            items.setdefault(single.templates[0].struct, []).extend(single.templates)
        return [*([one for one in plain if one.outcome is kind] for kind in kinds), *items.values()]

    def write(self, operation: op.Operation, outcome: out.Outcome) -> Content | None:
        """The outcome in these words, or `None` where none of them can say it."""
        if isinstance(outcome, out.ImageOutcome):
            return self._pictured(operation, outcome)
        key = type(outcome), type(operation)
        writers = self._writers.get(key)
        if writers is None:
            writers = [
                one.write for one in self.current if one.outcome is key[0] and (not one.asked or key[1] in one.asked)
            ]
            self._writers[key] = writers
        if not writers:
            return None
        outcome = self.as_said(operation, outcome)
        for write in writers:
            text = write(outcome, operation)
            if text is not None:
                return text if self._around is None else f"{self._around[0]}{text}{self._around[1]}"
        return None

    def as_said(self, operation: op.Operation, outcome: Any) -> Any:
        """The outcome with its fields as these words say them: two streams as one output."""
        return outcome if self._back is None else self._back(operation, outcome)

    def _pictured(self, operation: op.Operation, outcome: out.ImageOutcome) -> Content | None:
        if self.picture is None:
            return None
        if self.picture.text is None:
            return (outcome.image,)
        text = self.picture.text.replace("{media_type}", outcome.image.media_type)
        return text.replace("{asked.path}", str(getattr(operation, "path", ""))), outcome.image

    def read(self, operation: op.Operation, native: NativeResult) -> out.Outcome | None:
        """What a result says, or `None` where it is in none of these words."""
        content = native.content
        found = None if self._from_native is None else self._from_native(operation, native)
        if found is not None:
            return found
        if self._is_plain and type(content) is str:  # nearly every result is, so this is written out
            for read in self._readers.get(type(operation)) or self._readers_for(type(operation)):
                found = read(content, operation)
                if found is not None:
                    break
        else:
            found = self._read_content(operation, native)
        if found is None or self._recorded is None or native.item is None:
            return found
        return self._recorded(operation, found, native)

    def _read_content(self, operation: op.Operation, native: NativeResult) -> out.Outcome | None:
        content = native.content
        if self.picture is not None:
            pictures = self.picture.pictures(native)
            if len(pictures) == 1:
                return out.ImageOutcome(pictures[0])
        if type(content) is not str and any(isinstance(piece, out.Media) for piece in content):
            return None  # a text with something beside it that no template says
        text = text_of(content) if self._text is None else self._text(native)
        if self._default_first and text.startswith('{"type":'):
            told = understand(operation, native)
            if not isinstance(told, out.TextOutcome):
                return told
        return self.read_text(text, operation)

    def read_text(self, text: str, operation: op.Operation) -> out.Outcome | None:
        """What a text says."""
        if self._around is not None:
            before, after = self._around
            if text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after):
                text = text[len(before) : len(text) - len(after)]
        for read in self._readers.get(type(operation)) or self._readers_for(type(operation)):
            found: out.Outcome | None = read(text, operation)
            if found is not None:
                return found if self._then is None else self._then(operation, found)
        return None

    def _readers_for(self, operation: type) -> list[Callable[[str, Any], Any]]:
        readers = [one.read for one in self._in_order if not one.asked or operation in one.asked]
        self._readers[operation] = readers
        return readers

    def _check(self) -> None:
        problems: list[str] = []
        kinds = dict.fromkeys(one.outcome for one in self.current if isinstance(one, Template))
        groups = [[one for one in self.current if isinstance(one, Template) and one.outcome is kind] for kind in kinds]
        groups += [list(one.templates) for one in self.current if isinstance(one, Single)]
        for group in groups:
            implied = {name for one in group for name in one.implied()}
            self._said_by |= {one: one.denying(implied) for one in group}
            problems += self._lost(group)
        for hand in [one for one in self.current if isinstance(one, ByHand)]:
            lost = [field for field, reason in self._lost_by_hand(hand) if not reason]
            problems += [f"{hand.outcome.__name__}.{field} is neither said nor `unsaid`" for field in lost]
        plain = [one for one in self.current if isinstance(one, Template)]
        for index, one in enumerate(plain):
            for other in plain[index + 1 :]:
                meet = not one.asked or not other.asked or set(one.asked) & set(other.asked)
                if meet and one.takes_all and other.lead.startswith(one.lead):
                    problems.append(f"{one!r} hides a later one, {other!r}")
        if problems:
            raise DefinitionError("results of a tool", problems, where_declared())

    def _lost(self, group: Sequence[Template]) -> list[str]:
        """Fields of which nothing is said and no reason is given."""
        first = group[0]
        if first.to is not None:
            return []  # the functions of a record say what it holds
        said = {name for one in group for name in (*one.written_fields(), *one.nearly())}
        return [
            f"{first.struct.__name__}.{field} is neither said, constant, taken from the call nor `unsaid`"
            for field in first.struct.__struct_fields__
            if field not in said and self.reason(group, field) is None
        ]

    def reason(self, group: Sequence[Template], field: str) -> str | None:
        """Why a field is not said."""
        given = next((one.unsaid[field] for one in group if field in one.unsaid), None)
        struct = group[0].struct.__name__
        return (
            given or self._unsaid.get(f"{struct}.{field}") or self._unsaid.get(field) or LOST.get(f"{struct}.{field}")
        )


class Single:
    """An outcome that holds exactly one item, in the words of the item; see `single`."""

    def __init__(
        self, outcome: type[out.Outcome], templates: Sequence[Template], facts: Mapping[str, Any], *, asked: Any
    ) -> None:
        self.outcome: type[msgspec.Struct] = outcome
        self.asked: tuple[type[op.Operation], ...] = asked if isinstance(asked, tuple) else (asked,)
        self.templates = tuple([one.only_for(self.asked) for one in templates])
        self.facts = dict(facts)
        self._field = outcome.__struct_fields__[0]
        unknown = [
            f"{name!r} is no field of {outcome.__name__}" for name in facts if name not in outcome.__struct_fields__
        ]
        if unknown:
            raise DefinitionError(f"result of {outcome.__name__}", unknown, where_declared())

    def saying(self, templates: Mapping[Template, Template]) -> Single:
        """The same with these templates in the place of its own."""
        outcome = typing.cast("type[out.Outcome]", self.outcome)
        return Single(outcome, [templates[one] for one in self.templates], self.facts, asked=self.asked)

    def write(self, outcome: Any, asked: op.Operation) -> str | None:
        """The text of its only item."""
        items = getattr(outcome, self._field)
        if len(items) != 1 or any(getattr(outcome, name) != fact for name, fact in self.facts.items()):
            return None
        return next((text for one in self.templates if (text := one.write(items[0], asked)) is not None), None)

    def read(self, text: str, asked: op.Operation) -> out.Outcome | None:
        """The outcome with the item that a text says."""
        for one in self.templates:
            item = one.read(text, asked)
            if item is not None:
                return typing.cast(out.Outcome, self.outcome((item,), **self.facts))
        return None


def _carried(templates: Sequence[Template]) -> tuple[str, ...]:
    """The fields that some of these say, and none with a loss; of records, nothing is known."""
    if any(one.to is not None for one in templates):
        return ()
    pivots = [one.pivot for one in templates if one.pivot is not None]
    lossy = {hole.field for hole in pivots if isinstance(hole.kind, Body) and hole.kind.loss}
    lossy |= {name for one in templates for name, fact in one.facts.items() if isinstance(fact, Reads)}
    said = {name for one in templates for name in one.written_fields()}
    return tuple(name for name in templates[0].struct.__struct_fields__ if name in said - lossy)


def single(
    outcome: type[out.Outcome],
    *templates: Template,
    asked: type[op.Operation] | tuple[type[op.Operation], ...] = (),
    **facts: Any,
) -> Single:
    """An outcome of one item (`ChangesOutcome` of one `Change`), said by the templates of the item."""
    return Single(outcome, templates, facts, asked=asked)


one_of = Results
"""All wordings of a tool's results."""


def inside(results: Results) -> Body:
    """A text that is itself a result in these words: of saved or masked output. Read, never written."""
    return Body(lambda text, asked: results.read_text(text.strip("\n"), asked), lambda _value, _asked: None, whole=True)


def one_stream(_asked: op.Operation, outcome: Any) -> Any:
    """A command's two streams as one text, for tools that print one."""
    if not isinstance(outcome, out.CommandOutcome) or outcome.output is not None:
        return outcome
    printed = (outcome.stdout or "") + (outcome.stderr or "")
    return msgspec.structs.replace(outcome, output=printed, stdout=None, stderr=None)


def ended_badly(outcome: out.Outcome) -> bool | None:
    """Whether a command ended and did not succeed, for clients that flag that as an error; `None` of no command."""
    if not isinstance(outcome, out.CommandOutcome):
        return None
    return (outcome.timed_out or bool(outcome.signal or outcome.exit_code)) and not outcome.running


def page_text(outcome: out.PagesOutcome) -> str:
    """What pages say as one text: the answer that was made of them, or their own words."""
    texts = [page.text or page.snippet or "" for page in outcome.pages]
    return "\n\n".join(texts) if outcome.answer is None else outcome.answer
