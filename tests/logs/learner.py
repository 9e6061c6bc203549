"""Learns from logs of a client which fields they have: `make known` writes it, `schema check` compares with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final, Literal

from dragoman.logs.history.known_fields import (
    FEW,
    Counted,
    Field,
    Form,
    Known,
    Place,
    Reading,
    Readings,
    pooled,
    text_around,
    version_number,
)
from dragoman.logs.history.record_fields import NO_JSON, SERVER
from dragoman.model import Source

_MANY: Final = 30
"""Objects all of which have a field from which one without it is a difference."""
_OFTEN: Final = 0.1
"""The part of objects that have a field from which its absence in a long log is worth a look."""

Evidence = Literal["captured", "found", "made"]
"""Where a log is from: captured from a client that was run, found as a client left it somewhere, or made by hand."""


class _Learnt:
    def __init__(self) -> None:
        self.kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.kinds_made: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """The same of logs made by hand: what they have of a field that a client writes says nothing of it."""
        self.logs: list[tuple[str, Counted, Evidence]] = []
        """Each log with its version."""
        self.readings: list[Readings] = []


class Learner:
    """Learns from logs of one client.

    What must be in a log is learnt from those that were captured. One that was found may be shortened, and stands for
    its own version alone; one made by hand shows names.
    """

    def __init__(self) -> None:
        self._forms: dict[str, _Learnt] = defaultdict(_Learnt)

    def learn(self, form: str, version: str, counted: Counted, readings: Readings, evidence: Evidence) -> None:
        """Adds one log."""
        learnt = self._forms[form]
        learnt.logs.append((version, counted, evidence))
        learnt.readings.append(readings)
        kept = learnt.kinds_made if evidence == "made" else learnt.kinds
        for place, fields in counted.fields.items():
            for name, (kinds, _, _) in fields.items():
                kept[place][name] |= kinds
                kept[pooled(place)][name] |= kinds

    def known(self, read: Iterable[str] = ()) -> Known:
        """What was learnt; `read` are the names that the reader of a format nobody captured reads."""
        names = set(read)
        return Known({name: _compiled(learnt, names) for name, learnt in sorted(self._forms.items())}, sorted(names))


class _OfVersion:
    """How many objects of one place the captured sessions of one version have, and how many of them have each field."""

    def __init__(self) -> None:
        self.objects = 0
        self.having: Counter[str] = Counter()

    def add(self, objects: int, fields: Mapping[str, tuple[set[str], int, Source]]) -> None:
        """Adds one session."""
        self.objects += objects
        self.having.update({name: count for name, (_, count, _) in fields.items()})

    def is_sure(self, name: str) -> bool:
        """Whether so many objects have a field, without exception, that one without it is a difference."""
        return self.objects >= _MANY and self.having[name] == self.objects


def _compiled(learnt: _Learnt, read: set[str]) -> Form:
    captured = {version for version, _, evidence in learnt.logs if evidence != "made"}
    versions = sorted(captured, key=lambda version: (version_number(version), version))
    others = sorted({version for version, _, evidence in learnt.logs if evidence == "made"} - captured)
    numbers = {version: number for number, version in enumerate([*versions, *others])}
    for made, fields in learnt.kinds_made.items():
        for field, kinds in fields.items():
            learnt.kinds[made].setdefault(field, kinds)
    of_client = {None, *_texts_of_clients(learnt.logs)}
    # Of a format nobody captured there are few sessions, but what is in a text is the client's if it is read.
    of_client |= {text_around(place) for place, fields in learnt.kinds.items() if not read.isdisjoint(fields)}
    for place in list(learnt.kinds):
        if text_around(place) not in of_client or place.endswith(NO_JSON):
            del learnt.kinds[place]
    tools = _tools_that_return(learnt.kinds)
    places = {
        place: _place(place, names, learnt.logs, numbers, tools.get(place))
        for place, names in sorted(learnt.kinds.items())
    }
    for name in [name for name in places if pooled(name) != name]:
        # Of one tool's results only what is always there is worth keeping: names and kinds are known of all tools.
        # What surrounds a server's is not always the same: no session shows what Codex logs of a server that is gone.
        place = places[name]
        place.fields = {field: Field("", None, steady=True) for field, it in place.fields.items() if it.steady}
        if not place.fields or SERVER in name:
            del places[name]
    return Form(versions, others, places, _reading(learnt.readings))


def _tools_that_return(kinds: Mapping[str, Mapping[str, set[str]]]) -> dict[str, Counter[str]]:
    """Place of what any tool returned → each field, and in the results of how many tools it was seen; of `` all."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for place, names in kinds.items():
        if SERVER not in place and (of_any := pooled(place)) != place:
            found[of_any].update(("", *names))
    return found


def _texts_of_clients(logs: Iterable[tuple[str, Counted, Evidence]]) -> set[str]:
    """The places of texts that are JSON because a client writes them so: more than half of the texts that a tool gave
    there, in one version at least; of texts of no tool, each."""
    seen: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for version, counted, evidence in logs:
        for place, objects in counted.objects.items() if evidence == "captured" else ():
            text = text_around(place)
            rest = "" if text is None else place.removeprefix(text)
            if text is None or "." in rest:
                continue
            for one in {text, pooled(text)}:
                seen[one][version][rest == NO_JSON] += objects
    for text, versions in seen.items():
        outer, _, field = text.partition("{")[0].rpartition(".")
        for version, counted, evidence in logs if text.endswith("{}") else ():
            for place, fields in counted.fields.items() if evidence == "captured" else ():
                if field in fields and outer in (place, pooled(place)):
                    versions[version][1] += fields[field][1]
    known = set()
    for text, versions in seen.items():
        if text.endswith("{}"):
            of_client = sum(json for json, every in versions.values() if json == every)
            of_client *= all(json == every for json, every in versions.values())
        else:
            of_client = sum(json for json, others in versions.values() if json > others)
        if of_client >= FEW:
            known.add(text)
    return known


def _place(
    place: str,
    names: Mapping[str, set[str]],
    logs: list[tuple[str, Counted, Evidence]],
    versions: Mapping[str, int],
    tools: Counter[str] | None,
) -> Place:
    objects = 0
    having: Counter[str] = Counter()
    without: Counter[str] = Counter()
    mixed: set[str] = set()
    sets: dict[tuple[frozenset[str], bool], set[int]] = defaultdict(set)
    shapes: Counter[frozenset[str]] = Counter()
    of_version: dict[int, _OfVersion] = defaultdict(_OfVersion)
    for version, counted, evidence in logs:
        number = counted.objects[place]
        if not number:
            continue
        fields = counted.fields[place]
        shapes.update(counted.shapes[place])
        for name in names.keys() - fields.keys():
            without[name] = max(without[name], number)
        if evidence != "made":
            mixed |= {name for name, (_, count, _) in fields.items() if count < number}
        if evidence == "captured":
            objects += number
            having.update({name: count for name, (_, count, _) in fields.items()})
            of_version[versions[version]].add(number, fields)
    # A field that some objects of a session lack may still be in all those of a version that was seen often.
    sure = {number: {name for name in its.having if its.is_sure(name)} for number, its in of_version.items()}
    steady = {
        name
        for name in names
        if having[name] and not name.endswith("[]") and name != "*"
        if name not in mixed or any(name in its for its in sure.values())
    }
    if objects < FEW or (tools is not None and tools[""] < FEW):
        steady = set()
    for version, counted, evidence in logs:
        if counted.objects[place]:
            unsure = mixed - sure.get(versions[version], set())
            absent = frozenset(steady - (counted.fields[place].keys() - unsure))
            sets[absent, evidence == "made"].add(versions[version])

    def is_of_most(name: str) -> bool:
        """Whether a field is no matter of a few tools (an exit code), which a session does without."""
        return tools is None or (tools[name] >= FEW and 2 * tools[name] > tools[""])

    known = {
        name: Field(
            "".join(sorted(kinds)),
            without[name] if objects >= 2 * FEW and having[name] >= _OFTEN * objects and is_of_most(name) else None,
            name in steady,
        )
        for name, kinds in sorted(names.items())
    }
    lacking = (
        sorted((sorted(numbers), sorted(absent), made) for (absent, made), numbers in sets.items()) if steady else []
    )
    filled = not steady and objects >= FEW and frozenset() not in shapes
    either = _either(shapes, {name for name in names.keys() - steady if tools is None or tools[name] >= FEW})
    return Place(known, lacking, objects >= _MANY, either, filled, sorted(steady & mixed))


def _either(shapes: Mapping[frozenset[str], int], optional: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of fields that are not always there, of which there is always one."""
    if sum(shapes.values()) < 4 * FEW:
        return []

    def alone(one: str, other: str) -> int:
        return sum(count for names, count in shapes.items() if one in names and other not in names)

    return [
        (one, other)
        for one, other in combinations(sorted(name for name in optional if not name.endswith("[]")), 2)
        if all(one in names or other in names for names in shapes)
        if min(alone(one, other), alone(other, one)) >= FEW
    ]


def _reading(all_readings: list[Readings]) -> Reading:
    records: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    tools: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    silent: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    tokens, empty = [], []
    for one in all_readings:
        for sums, counts in ((records, one.records), (tools, one.tools), (silent, one.silent)):
            for name, (count, lesser) in counts.items():
                sums[name][0] += count
                sums[name][1] += lesser
        if one.replies >= FEW:
            tokens.append(min(1.0, one.counted / one.replies))
        if one.counted >= FEW:
            empty.append(one.empty / one.counted)
    return Reading(
        sorted(name for name, (count, notes) in records.items() if count >= FEW and not notes),
        sorted(name for name, (count, texts) in tools.items() if count >= FEW and not texts),
        sorted(name for name, (_, empty_ones) in silent.items() if not empty_ones),
        round(min(tokens, default=0.0), 3),
        round(max(empty, default=1.0), 3),
    )
