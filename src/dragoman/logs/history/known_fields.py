"""What is known of the fields in each client's logs, learnt from captured sessions, and how a log differs from it.

The knowledge of a client is one file in `known/`: names of fields and kinds of values, never a value. `make known`
writes these files again (`tests/logs/learner.py`). Rules: a name seen in any version is known; a name that was there
each time in a version must be there in that version; what was seen too rarely to say is not told.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.model import Source

from .record_fields import KINDS, SAYS_KIND, SERVER, Fields

FOLDER: Final = Path(__file__).parent / "known"
NO_VERSION: Final = "unknown"

FEW: Final = 3
"""Objects of one place from which `always` means something."""


class Field(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of a field: the kinds of its values, and when it is there."""

    kinds: str
    without: int | None = None
    """The largest number of objects of a session none of which had it; `None` for a rare field."""
    steady: bool = False
    """Whether it belongs to versions, not to what was done: in each session all objects had it or none, or at least in
    a version that was seen often all had it."""


class Place(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of the objects in one place."""

    fields: dict[str, Field]
    sets: list[tuple[list[int], list[str], bool]] = []
    """Which steady fields sessions lacked: the versions (their numbers), the fields, whether they were made by hand."""
    many: bool = False
    either: list[tuple[str, str]] = []
    """Two fields of which every object had one at least."""
    filled: bool = False
    """Whether every object had a field, though none is always there."""
    by_version: list[str] = []
    """Steady fields that some objects of a session lacked: of a log without a version they say nothing."""


class Reading(msgspec.Struct):
    """What the events of a client's logs are like."""

    records: list[str] = []
    """Kinds of records of which every one said more than a note."""
    tools: list[str] = []
    """Tools of which every result was read as more than a text."""
    telling: list[str] = []
    """Tools of which no result was empty."""
    tokens: float = 0.0
    """The smallest part of replies in a session that came with tokens."""
    empty: float = 1.0
    """The largest part of counted replies in a session that neither said nor called anything."""


class Form(msgspec.Struct):
    """What is known of one kind of file a client writes: its log, or what it prints."""

    versions: list[str] = []
    """Those that were captured."""
    others: list[str] = []
    """Those only seen in logs that somebody shortened or made: they stand for themselves alone."""
    places: dict[str, Place] = {}
    reading: Reading = msgspec.field(default_factory=Reading)


class Known(msgspec.Struct, omit_defaults=True):
    """What is known of one client: `log` is what it stores, `printed` what it prints, and `document` what it stores as
    one JSON value where others are lines."""

    forms: dict[str, Form] = {}
    read: list[str] = []
    """Of a format nobody captured, the names of fields that its reader reads: nothing is sure of the others."""


@lru_cache(maxsize=32)
def known_of(client: str) -> Known | None:
    """The knowledge of a client that is shipped; `None` if there is none."""
    try:
        return msgspec.json.decode((FOLDER / f"{client}.json").read_bytes(), type=Known)
    except FileNotFoundError:
        return None


def clients_known() -> list[str]:
    """The clients of which fields are known."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def version_number(version: str) -> list[int]:
    """A version as its numbers, by which versions are in order; those of more than 19 digits are equal.

    What is made before a release (`0.118.0-alpha.2`) is before it.
    """
    release, before, further = version.partition("-")
    numbers = _numbers(release)
    if not numbers:
        return _numbers(version)
    return [*numbers, -1, *_numbers(further)] if before else [*numbers, 0]


def _numbers(text: str) -> list[int]:
    return [int(digits) if len(digits) < 20 else 10**19 for digits in re.findall(r"\d+", text)]


def pooled(place: str) -> str:
    """The place of what any tool returned: `user.toolUseResult@Bash.file` → `user.toolUseResult@.file`."""
    before, at, after = place.partition("@")
    if not at:
        return place
    end = min((index for sign in ".<[+" if (index := after.find(sign)) >= 0), default=len(after))
    return f"{before}@{after[end:]}"


def places_of(place: str) -> tuple[str, ...]:
    """The place of an object, and the one of what any tool returned if it is of a result of the client's own tools."""
    of_any = place if SERVER in place else pooled(place)
    return (place,) if of_any == place else (place, of_any)


def text_around(place: str) -> str | None:
    """The place of the text in which an object stands: `message.content{Edit}.lines[]` → `message.content{Edit}`."""
    begin, end, _ = place.partition("}")
    return begin + end if end else None


# ── one log, counted ─────────────────────────────────────────────────────────


class Counted:
    """The fields of one log: how many objects there are in each place, and what they have."""

    def __init__(self, *, is_document: bool = False) -> None:
        self.is_document = is_document
        """Whether the log is one JSON value, and not a line for each record."""
        self.objects: Counter[str] = Counter()
        self.fields: dict[str, dict[str, tuple[set[str], int, Source]]] = defaultdict(dict)
        self.shapes: dict[str, Counter[frozenset[str]]] = defaultdict(Counter)
        """Place → sets of names that are not null, how often."""
        self.first: dict[str, Source] = {}
        self.nulls: Counter[tuple[str, str]] = Counter()
        """(place, field) → how often it is there and null."""

    def add(self, place: str, fields: Fields, source: Source) -> None:
        """Counts one object; what a tool returned among the results of its own, and among those of all of them."""
        for one in places_of(place):
            self._add(one, fields, source)

    def _add(self, place: str, fields: Fields, source: Source) -> None:
        self.objects[place] += 1
        self.first.setdefault(place, source)
        self.shapes[place][frozenset(name for name, kinds in fields.items() if kinds != "n")] += 1
        its = self.fields[place]
        for name, kinds in fields.items():
            known = its.get(name)
            if kinds == "n":
                self.nulls[place, name] += 1
            if known is None:
                its[name] = (set(kinds), 1, source)
            else:
                known[0].update(kinds)
                its[name] = (known[0], known[1] + 1, known[2])

    @property
    def names(self) -> set[str]:
        """Every name of a field, wherever it stands."""
        return {name for fields in self.fields.values() for name in fields if not name.endswith("[]")}


class Readings(msgspec.Struct):
    """What the reader made of one log."""

    records: dict[str, list[int]] = {}
    """Kind of record → how many there were, and how many of them were but a note."""
    tools: dict[str, list[int]] = {}
    """Tool → how many results it gave, and how many of them are but a text."""
    silent: dict[str, list[int]] = {}
    """Tool → how many results it gave, and how many of them are empty."""
    replies: int = 0
    counted: int = 0
    """Replies, and records with tokens."""
    empty: int = 0
    """Records with tokens in which nothing is said and nothing called."""


# ── comparing ────────────────────────────────────────────────────────────────

_ALWAYS: Final = "always there"
_SOMETIMES: Final = "there in other logs"
_SHORTENED: Final = 0.2
"""The part of the fields a client always writes without which a log was shortened."""

FieldKind = Literal["new_field", "missing_field", "changed_type", "new_record"]


class Difference(msgspec.Struct, frozen=True):
    """One way in which the fields of a log differ from what is known: what, in which place, which field, how often."""

    kind: FieldKind
    place: str
    field: str | None
    expected: str | None
    seen: str | None
    count: int
    source: Source


class Likeness:
    """How many fields of a log each kind of file has that its client writes.

    Gemini CLI wrote a document until 0.38 and lines since: one that lacks its messages is like the first of the lines.
    """

    def __init__(self, known: Known, *, is_document: bool = False) -> None:
        forms = known.forms
        if forms.keys() >= {"log", "document"}:
            other = "log" if is_document else "document"
            forms = {name: form for name, form in forms.items() if name != other}
        self._forms = list(forms.values())
        self._common = [0] * len(forms)
        self._seen: dict[str, set[str]] = defaultdict(set)

    def add(self, place: str, names: Iterable[str]) -> None:
        """Notes the fields of an object. Those of a text that is JSON say nothing."""
        if "{" in place:
            return
        new = set(names) - self._seen[place]
        if not new:
            return
        self._seen[place] |= new
        for number, form in enumerate(self._forms):
            if place in form.places:
                self._common[number] += len(new & form.places[place].fields.keys())

    @property
    def form(self) -> Form:
        """The kind of file that has most of them."""
        return self._forms[self._common.index(max(self._common))]

    @property
    def lead(self) -> int:
        """How many more than the next one it has."""
        *_, second, first = sorted([0, *self._common])
        return first - second


def form_of(known: Known, counted: Counted) -> Form:
    """The kind of file that a log is: the one that has most of its fields."""
    likeness = Likeness(known, is_document=counted.is_document)
    for place, fields in counted.fields.items():
        likeness.add(place, fields)
    return likeness.form


def looks_like(counted: Counted) -> tuple[str, float] | None:
    """The client whose logs have most of these fields, by name and by place, and the part of the names that it has.

    `None` below a half. A field that few clients have says more than one that many have.
    """
    names, fields = counted.names, set(_pairs(counted.fields))
    owners = {client: _fields_of(client) for client in clients_known()}
    shared = Counter(field for its in owners.values() for field in its if field in names or field in fields)

    def likeness(client: str) -> float:
        its = owners[client]
        return sum(1 + 1 / shared[name] for name in names & its) + sum(2 / shared[field] for field in fields & its)

    best = max(owners, key=likeness, default=None)
    if best is None or len(names) < FEW or len(names & owners[best]) < len(names) / 2:
        return None
    return best, len(names & owners[best]) / len(names)


@lru_cache(maxsize=32)
def _fields_of(client: str) -> set[str]:
    """The names of the fields of a client, and each with its place."""
    known = known_of(client) or Known()
    places = [form.places for form in known.forms.values()]
    pairs = {pair for one in places for pair in _pairs({place: its.fields for place, its in one.items()})}
    return pairs | {name for one in places for place in one.values() for name in place.fields}


def _pairs(fields: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for place, names in fields.items():
        yield from (f"{pooled(place)} {name}" for name in names)


def is_captured(form: Form, versions: Iterable[str]) -> bool:
    """Whether all these versions are known; a log that names none is taken for one of those that are."""
    return all(version in (*form.versions, *form.others) for version in versions if version != NO_VERSION)


def differences(
    form: Form, counted: Counted, versions: Iterable[str], read: Iterable[str] = (), *, fell: bool = False
) -> tuple[list[Difference], int]:
    """How a log that these versions wrote differs from what is known of them, and how many fields were left out of it.

    A log that lacks a good part of what its client always writes was shortened or made by hand, and says nothing about
    the client: of such a log the missing fields are counted and are no differences. Of a format nobody captured, fields
    that are not `read` may be of another type, or missing. Of a log that `fell` less could be read than of others: a
    field is missing there if every known log with as many objects has it.
    """
    found = [*_new(form, counted)]
    if names := set(read):
        return list(_of_what_is_read(form, counted, found, names)), 0
    new = {one.place for one in found if one.kind == "new_field"}
    expected = 0
    missing: list[Difference] = []
    for one in _missing(form, counted, list(versions), new, fell=fell):
        if isinstance(one, int):
            expected += one
        else:
            missing.append(one)
    if not is_captured(form, versions):
        told = {(one.place, one.field) for one in missing}
        missing += [one for one in _renamed_by_a_version(form, counted, found) if (one.place, one.field) not in told]
    always = [one for one in missing if one.expected == _ALWAYS]
    if len({one.field for one in always}) > FEW and len(always) > _SHORTENED * expected:
        return found, len(always)  # one field that is missing everywhere was taken away by the client, not by hand
    return found + missing, 0


def _of_what_is_read(form: Form, counted: Counted, found: Iterable[Difference], read: set[str]) -> Iterator[Difference]:
    """Of all differences those in fields that are read. A field that is read and seen for the first time takes the
    place of another: then nothing is missing there."""
    new: list[Difference] = []
    others: set[str] = set()
    for one in found:
        if one.kind == "new_field" and one.field in read:
            others.add(one.place)
        elif one.kind in ("new_field", "new_record"):
            new.append(one)
        elif one.field in read:
            yield one
    yield from new
    lost = [one for one in _missing(form, counted, [], set()) if isinstance(one, Difference) and one.field in read]
    told = {(one.place, one.field) for one in lost}
    renamed = [one for one in _perhaps_renamed(form, counted, new, read) if (one.place, one.field) not in told]
    yield from (one for one in (*lost, *renamed) if one.place not in others)


def _perhaps_renamed(form: Form, counted: Counted, new: Iterable[Difference], read: set[str]) -> Iterator[Difference]:
    """Fields that are read and are nowhere in a place where a field of the same type is new."""
    for one in new:
        place = form.places.get(pooled(one.place))
        here = counted.fields.get(one.place, {})
        if place is None or one.kind != "new_field":
            continue
        for name, field in place.fields.items():
            is_alike = any(KINDS[kind] in (one.seen or "") for kind in field.kinds if kind != "n")
            if name in read and name not in here and is_alike:
                yield Difference("missing_field", one.place, name, _SOMETIMES, None, one.count, one.source)


def _renamed_by_a_version(form: Form, counted: Counted, found: Iterable[Difference]) -> Iterator[Difference]:
    """Fields that are nowhere in a place where a new one of the same type has nearly their name (`exit`, `exitCode`).

    Rare fields are missing from many sessions, so only the new one beside it shows that a version nobody captured has
    another name for it.
    """
    for one in found:
        known = form.places.get(pooled(one.place))
        if known is None or one.kind != "new_field" or one.field is None:
            continue
        here = counted.fields[one.place]
        for name, field in known.fields.items():
            is_of_type = any(KINDS[kind] in (one.seen or "") for kind in field.kinds if kind != "n")
            if is_of_type and name not in here and _is_nearly(name, one.field):
                yield Difference("missing_field", one.place, name, _SOMETIMES, None, one.count, one.source)


_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NEARLY: Final = 0.87
"""`input_tokens` and `output_tokens` are less alike than this."""


def _is_nearly(name: str, other: str) -> bool:
    """Whether two names differ in their case or their marks, in a few letters, or in the words behind them."""
    one, two = ([part.lower() for part in _PARTS.findall(each)] for each in (name, other))
    shorter, longer = sorted((one, two), key=len)
    if one and longer[: len(shorter)] == shorter and len(longer) <= 2 * len(shorter):
        return True
    return SequenceMatcher(None, "".join(one), "".join(two)).ratio() >= _NEARLY


def _nearest(form: Form, versions: list[str]) -> set[int] | None:
    """The versions whose fields a log must have: its own, and those around one that is not known; `None`: any."""
    named = [version for version in versions if version != NO_VERSION]
    if not named:
        return None
    chosen: set[int] = set()
    for version in named:
        if version in (every := [*form.versions, *form.others]):
            chosen.add(every.index(version))
            continue
        numbers = list(enumerate(map(version_number, form.versions)))
        before = [at for at, number in numbers if number and number < version_number(version)]
        after = [at for at, number in numbers if number and number > version_number(version)]
        if not before:
            return set()  # older than all that is known: what it had, nobody saw
        chosen |= {*before[-1:], *after[:1]}
    return chosen


def _is_pooled(place: str) -> bool:
    return "@" in place and SERVER not in place and pooled(place) == place


def _new(form: Form, counted: Counted) -> Iterator[Difference]:
    unknown: list[str] = []
    for place, fields in counted.fields.items():
        if "+" in place or _is_pooled(place):
            continue  # its fields are those of the place before the sign, or of the tool
        known = form.places.get(pooled(place))
        if known is None and (text := text_around(place)) is not None and pooled(text) not in form.places:
            continue  # a file or an answer that is JSON, as far as anybody knows
        if known is None:
            outer = place
            while outer not in unknown and (shorter := _outer(outer)) is not None:
                outer = shorter
            if outer not in unknown:
                unknown.append(place)
                yield from _unknown_place(form, place, counted)
            continue
        if 2 * len(fields.keys() - known.fields.keys()) > len(fields) and (lost := list(_lost(form, place, counted))):
            yield from lost
            continue
        for name, (kinds, count, source) in fields.items():
            field = known.fields.get(name)
            if field is None:
                if name.removesuffix("[]") in known.fields and name.endswith("[]"):
                    continue  # the list itself is told
                if name.endswith("[]") and name.removesuffix("[]") not in known.fields:
                    continue
                if name != "*" and (SERVER not in place or _takes_a_place(kinds, known, fields)):
                    yield Difference("new_field", place, name, None, _kinds_named(kinds), count, source)
                continue
            strange = kinds - set(field.kinds) - {"n"}
            if strange and field.kinds not in ("", "n"):
                expected = " | ".join(KINDS[kind] for kind in field.kinds if kind != "n")
                yield Difference("changed_type", place, name, expected, _kinds_named(strange), count, source)
            elif kinds == {"n"} and count >= FEW and _is_never_null(field):
                expected = " | ".join(KINDS[kind] for kind in field.kinds)
                yield Difference("changed_type", place, name, expected, KINDS["n"], count, source)


def _is_never_null(field: Field) -> bool:
    """Whether a field occurs often and is never null. A steady field is reported as missing instead."""
    return field.without is not None and not field.steady and bool(field.kinds) and "n" not in field.kinds


def _takes_a_place(kinds: set[str], known: Place, here: Mapping[str, Any]) -> bool:
    """Whether a field is of the same type as one that is not here: what servers add besides is no change."""
    return any(kinds & set(field.kinds) - {"n"} for name, field in known.fields.items() if name not in here)


def _outer(place: str) -> str | None:
    """The place of the object around another."""
    depth = 0
    for index in range(len(place) - 1, -1, -1):
        depth += (place[index] == ">") - (place[index] == "<")
        if place[index] == "." and not depth:
            return place[:index]
    return None


def _unknown_place(form: Form, place: str, counted: Counted) -> Iterator[Difference]:
    """An object where none was known: of a new kind if others were, else the field that holds it is new and told."""
    lost = list(_lost(form, place, counted))
    if lost or not _of_other_kinds(form, place):
        yield from lost
        return
    kind = None if _outer(place) is None else place.rpartition("<")[2].removesuffix(">")
    yield Difference("new_record", place, kind, None, None, counted.objects[place], counted.first[place])


def _of_other_kinds(form: Form, place: str) -> list[str]:
    """The places of objects that stand where these do and call themselves something else."""
    bare = _bare(pooled(place))
    return [one for one in form.places if one != place and _bare(one) == bare and "+" not in one]


def _lost(form: Form, place: str, counted: Counted) -> Iterator[Difference]:
    """How objects that do not say of which kind they are differ from the kind that is most like them.

    Their kind field is missing or is not a string; other new fields are reported too.
    """
    here, objects, source = counted.fields[place], counted.objects[place], counted.first[place]
    said_here = _words_of(place)
    others = [one for one in _of_other_kinds(form, place) if said_here < _words_of(one)]
    if not others:
        return

    def shared(one: str) -> int:
        return len(form.places[one].fields.keys() & here.keys()) if one in form.places else 0

    nearest = max(others, key=shared)
    if shared(nearest) <= shared(pooled(place)):
        return
    known = form.places[nearest].fields
    said = [name for name in SAYS_KIND if name in known and "s" in known[name].kinds]
    gone = [name for name in said if (len(said) == 1 or known[name].steady) and "s" not in here.get(name, ("",))[0]]
    for name in gone:
        if name in here:
            seen = _kinds_named(here[name][0])
            yield Difference("changed_type", nearest, name, KINDS["s"], seen, objects, source)
        else:
            yield Difference("missing_field", nearest, name, _ALWAYS, None, objects, source)
    for new, (kinds, count, first) in here.items() if gone else ():
        if new not in known and not new.endswith("[]") and new != "*":
            yield Difference("new_field", nearest, new, None, _kinds_named(kinds), count, first)


def _kinds_named(kinds: Iterable[str]) -> str:
    return " | ".join(KINDS[kind] for kind in sorted(kinds))


def _words_of(place: str) -> set[str]:
    """What the objects in a place call themselves."""
    if _outer(place) is None:
        place = place[place.find(":") + 1 :].removeprefix("<").removesuffix(">")
        return set() if place == "record" else set(filter(None, place.split("/")))
    return set(place.rpartition("<")[2].removesuffix(">").split("/")) if place.endswith(">") else set()


def _bare(place: str) -> str:
    """A place without what the object calls itself; of a record, nothing but its table is left."""
    if _outer(place) is None:
        return place[: place.find(":") + 1]
    return place.rpartition("<")[0] if place.endswith(">") else place


def _missing(
    form: Form, counted: Counted, versions: list[str], new: set[str], *, fell: bool = False
) -> Iterator[Difference | int]:
    """What is missing, and for each place how many fields are expected there."""
    nearest = _nearest(form, versions)
    at_all: dict[str, set[str]] = {}
    """Place → the fields reported as missing there."""
    of_tools: dict[str, set[str]] = defaultdict(set)
    """Place of the results of all tools → the fields reported as missing from the results of one."""
    for place, objects in sorted(counted.objects.items(), key=lambda one: (_is_pooled(one[0]), one[0])):
        known = form.places.get(place)
        if known is None:
            continue
        fields, source = counted.fields[place], counted.first[place]
        told: set[str] = set()
        expected = _expected(known, fields, objects, nearest, is_captured=is_captured(form, versions))
        before = of_tools[place] if _is_pooled(place) else set()
        expected -= before
        yield len(expected)
        kinds = form.places[pooled(place)].fields if pooled(place) in form.places else known.fields
        for name in sorted(expected):
            count = fields[name][1] if name in fields else 0
            if name in kinds and "n" not in kinds[name].kinds:
                count -= counted.nulls[place, name]  # it was never null: what is, has gone
            if "+" in place and name in at_all.get(place.partition("+")[0], ()):
                told.add(name)
                continue  # told of all such records
            if count < objects if known.many else 2 * count <= objects:
                told.add(name)
                yield Difference("missing_field", place, name, _ALWAYS, None, objects - count, source)
        at_all[place] = told
        of_tools[pooled(place)] |= told
        told |= before
        for name, field in known.fields.items():
            if name in told or field.without is None or name.endswith("[]"):
                continue
            if name in fields and (not fell or counted.nulls[place, name] < fields[name][1] or "n" in field.kinds):
                continue
            if objects > 2 * field.without + 8 or ((fell or place in new) and objects > field.without):
                told.add(name)
                yield Difference("missing_field", place, name, _SOMETIMES, None, objects, source)
        for one, other in known.either:
            count = sum(
                count for names, count in counted.shapes[place].items() if one not in names and other not in names
            )
            if count and one not in told and other not in told:
                told |= {one, other}
                yield Difference("missing_field", place, f"{one} or {other}", "one of them", None, count, source)
        if known.filled and (empty := counted.shapes[place][frozenset()]):
            names = " or ".join(name for name in known.fields if not name.endswith("[]"))
            yield Difference("missing_field", place, names, "one of them", None, empty, source)


def _expected(
    known: Place, fields: Mapping[str, Any], objects: int, nearest: set[int] | None, *, is_captured: bool
) -> set[str]:
    """The steady fields that objects here must have: those of its versions, or of the most similar log."""
    steady = {name for name, field in known.fields.items() if field.steady}
    if nearest is not None:
        of_versions = _alike(
            [set(absent) for numbers, absent, _ in known.sets if not nearest.isdisjoint(numbers)], steady, set(fields)
        )
        seen = {number for numbers, _, _ in known.sets for number in numbers}
        if of_versions and (is_captured or nearest <= seen):
            return steady.difference(*of_versions)
        if not is_captured:
            return set()
    if not known.sets:
        return set()
    steady = steady.difference(known.by_version)
    here = {name for name in steady if name in fields and 2 * fields[name][1] > objects}

    def unlike(one: tuple[list[int], list[str], bool]) -> tuple[float, int]:
        _, absent, made = one
        missing, more = len(steady.difference(absent) - here), len(here.intersection(absent))
        return missing + 2 * more + 1.5 * made, missing

    return steady.difference(min(known.sets, key=unlike)[1])


def _alike(absences: list[set[str]], steady: set[str], here: set[str]) -> list[set[str]]:
    """Of sets of absent fields those of objects like these: documents of two kinds may stand in one place, and neither
    says which it is (Cline's messages of a session, and what it keeps about that session)."""
    alike = [absent for absent in absences if 2 * len((here & steady) - absent) >= len(steady - absent)]
    return alike or absences
