"""Regular expressions from people, models and servers, matched in bounded time.

Python's `re` tries one way after another, and `(a+)+$` gives it more ways than anybody can wait for, while no other
thread runs. Rule: a pattern that this program did not write itself is matched through `Pattern` and never by `re`.
`Pattern` finds what `re` finds. It uses `re` itself where the number of ways to try is small, and otherwise an
automaton whose work is linear in the length of the text.

The automaton reads the text from its end. For every place it knows which nodes of the expression can be matched from
there on; a look-ahead is then one more such fact, and following the first alternative that can succeed gives exactly
the match that `re` would find by trying. Look-behind, backreferences, conditionals, atomic groups and possessive
repeats are beyond it: with these, a pattern is matched only where `re` has few ways to try.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _constants as codes, _parser  # type: ignore[attr-defined]
from typing import Any, Final

from dragoman.errors import PatternError

LONGEST: Final = 10_000
"""Characters a pattern may have."""
_WAYS: Final = 10_000_000
"""Ways that `re` may have to try; about 0.1 seconds."""
_FEW: Final = 100
"""Ways that are few enough for a text of any length, when their number does not depend on it."""
_WORK: Final = 10_000_000
"""Nodes that the automaton may look at for one text; about a second."""
_NODES: Final = 20_000
"""Nodes an automaton may have: `(a{100}){100}` has 10,000."""
_STATES: Final = 5_000
"""States of an automaton that are kept."""
_WIDE_RANGES: Final = 40
"""Ranges of more than 256 characters in a pattern: each costs `re` up to 25 ms when it compiles the pattern."""
_WIDE_RANGES_WITH_CASE: Final = 150
"""The same where case counts: each costs up to 6 ms. `\\p{L}` has 26."""
_ENDLESS: Final = float("inf")


class Pattern:
    """A regular expression in Python's syntax. `ignore_case` is `re.IGNORECASE`; `written` is what messages show."""

    __slots__ = ("_automaton", "_quick", "_re", "_tree", "pattern")

    def __init__(self, pattern: str, *, ignore_case: bool = False, written: str | None = None) -> None:
        self.pattern = pattern if written is None else written
        if len(self.pattern) > LONGEST:
            raise PatternError(self.pattern, f"has {len(self.pattern)} characters; a pattern has at most {LONGEST}")
        flags = re.IGNORECASE if ignore_case else 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # its author does not read our standard error
                self._tree: Any = _parser.parse(pattern, flags)
                wide, largest = _classes(self._tree)
                most = _WIDE_RANGES if ignore_case else _WIDE_RANGES_WITH_CASE
                if wide > most:
                    raise PatternError(self.pattern, f"has {wide} large ranges of characters; use at most {most}")
                self._re = re.compile(pattern, flags)
            self._quick = _quick_length(self._tree, 1 + largest // 8)
        except (re.error, OverflowError) as error:
            raise PatternError(self.pattern, f"is not a regular expression: {error}") from error
        except RecursionError:
            raise PatternError(self.pattern, "is nested too deeply") from None
        self._automaton: _Automaton | None = None

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r})"

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in a text. Raises `PatternError` when that cannot be found out in time."""
        if len(text) <= self._quick:
            return self._re.search(text) is not None
        return self._linear(text).matches(text)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the matches are, one after another; empty ones are left out."""
        if len(text) <= self._quick:
            return tuple(found.span() for found in self._re.finditer(text) if found.end() > found.start())
        return tuple(self._linear(text).spans(text))

    def _linear(self, text: str) -> _Automaton:
        if self._automaton is None:
            try:
                self._automaton = _Automaton(self._tree, self.pattern)
            except _Unsupported as error:
                problem = f"cannot be matched against {len(text)} characters in bounded time, because it uses {error}"
                raise PatternError(self.pattern, f"{problem}; use a pattern without it") from None
        return self._automaton


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The same `Pattern` for the same text: schemas of one server repeat theirs."""
    return Pattern(pattern)


# ── how many ways there are to try ───────────────────────────────────────────


def _classes(tree: Any) -> tuple[int, int]:
    """The number of large ranges, and the members of the class that has most."""
    wide = largest = 0
    waiting = [tree]
    while waiting:
        for code, value in waiting.pop():
            if code is codes.IN:
                wide += sum(one is codes.RANGE and held[1] - held[0] > 256 for one, held in value)
                largest = max(largest, len(value))
            waiting += _inside(code, value)
    return wide, largest


def _inside(code: Any, value: Any) -> list[Any]:
    """The expressions inside a part of one."""
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code is codes.GROUPREF_EXISTS:
        return [one for one in value[1:] if one is not None]
    return []


def _quick_length(tree: Any, weight: int) -> float:
    """The longest text that `re` searches with few ways to try; -1 where no text is short enough."""
    if _ways(tree, 10) == _ways(tree, 1000) <= _FEW:
        return _ENDLESS
    best, step = -1, 1 << 20
    while step:
        longer = best + step
        if (longer + 1) * _ways(tree, longer) * weight <= _WAYS:
            best = longer
        step >>= 1
    return best


def _ways(tree: Any, length: int) -> float:
    """In how many ways an expression may be tried at one place of a text, at most."""
    ways: float = 1
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            ways *= _ways_repeated(value, length)
        elif code is codes.BRANCH or code is codes.GROUPREF_EXISTS:
            ways *= sum(_ways(one, length) for one in _inside(code, value)) + (code is codes.GROUPREF_EXISTS)
        elif code is codes.GROUPREF:
            ways *= max(1, length)  # it is compared character by character
        else:
            for one in _inside(code, value):
                ways *= _ways(one, length)
        if ways > _WAYS:
            return _ENDLESS
    return ways


def _ways_repeated(value: tuple[int, Any, Any], length: int) -> float:
    least, most, inner = value
    inside = _ways(inner, length)
    # A repetition beyond the least number that matches nothing is the last.
    times = min(int(most), least + length + 1)
    choices = times - least + 1
    if inside == 1:
        return choices
    return _ENDLESS if inside > _WAYS or times > 64 else choices * inside**times


# ── the automaton ────────────────────────────────────────────────────────────


class _Unsupported(Exception):
    """What no automaton of this kind can match."""


_MATCH: Final = 0
_CHARACTER, _ANY_OF, _AT, _AHEAD, _NOT_AHEAD = range(5)
# What holds at a place of the text, as bits.
_FIRST, _LINE_FIRST, _LAST, _LINE_LAST, _END, _BOUNDARY, _INSIDE, _ASCII_BOUNDARY, _ASCII_INSIDE = (
    1 << number for number in range(9)
)
_NEIGHBOURS: Final = _LINE_FIRST | _LINE_LAST | _BOUNDARY | _INSIDE | _ASCII_BOUNDARY | _ASCII_INSIDE
_Ends = tuple[int, int]
"""Where an expression goes on: when nothing was consumed since the innermost repetition began, and when something was.
A repetition that consumed nothing is not followed by another, as in `re`: so no node leads back to itself."""


class _State(dict[Any, "_State"]):
    """The nodes that can be matched from one place on (`nodes`, as bits); character before it → state there."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes


class _Automaton:
    """An expression as nodes, each a bit. A node for a character leads to the node whose number is one less."""

    def __init__(self, tree: Any, pattern: str) -> None:
        self._pattern = pattern
        self._kinds: list[int] = [_ANY_OF]
        self._next: list[tuple[int, ...]] = [()]
        self._condition: list[int] = [0]
        self._accepting: dict[tuple[str, int], int] = {}
        """A class of characters, as an expression with its flags → the nodes for it."""
        start, _ = self._sequence(tree, tree.state.flags, (_MATCH, _MATCH))
        self._start = 1 << start
        self._steps = self._ordered()
        self._classes = [(re.compile(*one), nodes) for one, nodes in self._accepting.items()]
        self._conditions = 0
        for condition in self._condition:
            self._conditions |= condition
        self._masks: dict[str, int] = {}
        self._states: dict[int, _State] = {}

    # ── building ───────────────────────────────────────────────────────────

    def _node(self, kind: int, next: tuple[int, ...] = (), condition: int = 0) -> int:
        if len(self._kinds) >= _NODES:
            raise PatternError(self._pattern, "repeats too much to be matched in bounded time; use smaller counts")
        self._kinds.append(kind)
        self._next.append(next)
        self._condition.append(condition)
        return len(self._kinds) - 1

    def _both(self, make: Any, ends: _Ends) -> _Ends:
        """The same node for both ends where these are the same."""
        first = make(ends[0])
        return first, first if ends[0] == ends[1] else make(ends[1])

    def _sequence(self, tree: Any, flags: int, ends: _Ends) -> _Ends:
        for code, value in reversed(list(tree)):
            ends = self._part(code, value, flags, ends)
        return ends

    def _part(self, code: Any, value: Any, flags: int, ends: _Ends) -> _Ends:
        if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
            node = self._character(_class_text(code, value), flags, ends[1])
            return node, node
        if code is codes.SUBPATTERN:
            _, added, removed, inner = value
            return self._sequence(inner, (flags | added) & ~removed, ends)
        if code is codes.BRANCH:
            each = [self._sequence(one, flags, ends) for one in value[1]]
            first = self._node(_ANY_OF, tuple(one[0] for one in each))
            if ends[0] == ends[1]:
                return first, first
            return first, self._node(_ANY_OF, tuple(one[1] for one in each))
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return self._repeated(value, flags, ends, lazy=code is codes.MIN_REPEAT)
        if code is codes.AT:
            condition = _condition_of(value, flags)
            return self._both(lambda end: self._node(_AT, (end,), condition), ends)
        if code in (codes.ASSERT, codes.ASSERT_NOT) and value[0] > 0:
            looked, _ = self._sequence(value[1], flags, (_MATCH, _MATCH))
            kind = _AHEAD if code is codes.ASSERT else _NOT_AHEAD
            return self._both(lambda end: self._node(kind, (looked, end)), ends)
        if code is codes.FAILURE:
            return self._both(lambda _: self._node(_ANY_OF), ends)
        raise _Unsupported(_UNSUPPORTED.get(str(code), str(code).lower()))

    def _character(self, text: str, flags: int, end: int) -> int:
        if end != len(self._kinds) - 1:
            self._node(_ANY_OF, (end,))
        node = self._node(_CHARACTER)
        wanted = (text, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))
        self._accepting[wanted] = self._accepting.get(wanted, 0) | 1 << node
        return node

    def _repeated(self, value: tuple[int, Any, Any], flags: int, ends: _Ends, *, lazy: bool) -> _Ends:
        least, most, inner = value

        def optional(ends: _Ends, again: int) -> _Ends:
            """Once more, and on at `again`, or not."""

            def either(end: int) -> int:
                body, _ = self._sequence(inner, flags, (end, again))
                return self._node(_ANY_OF, (end, body) if lazy else (body, end))

            return self._both(either, ends)

        if most is codes.MAXREPEAT:
            head = self._node(_ANY_OF)
            body, _ = self._sequence(inner, flags, (ends[1], head))
            self._next[head] = (ends[1], body) if lazy else (body, ends[1])
            ends = (head, head) if ends[0] == ends[1] else (optional((ends[0], ends[0]), head)[0], head)
        else:
            out = ends
            for _ in range(int(most) - least):
                ends = optional(out, ends[1])
        for _ in range(least):
            ends = self._sequence(inner, flags, ends)
        return ends

    def _ordered(self) -> list[tuple[int, int, int, int]]:
        """What to look at for each place: (bit, kind, nodes it leads to, what must hold), every node after those."""
        steps: list[tuple[int, int, int, int]] = []
        done = [False] * len(self._kinds)
        for first in range(len(self._kinds)):
            waiting = [(first, False)]
            while waiting:
                node, ready = waiting.pop()
                if done[node]:
                    continue
                if not ready and self._next[node]:
                    waiting.append((node, True))
                    waiting += [(other, False) for other in self._next[node] if not done[other]]
                    continue
                done[node] = True
                kind, next = self._kinds[node], self._next[node]
                if kind == _AT:
                    steps.append((1 << node, kind, 1 << next[0], self._condition[node]))
                elif kind in (_AHEAD, _NOT_AHEAD):
                    steps.append((1 << node, kind, 1 << next[1], 1 << next[0]))
                elif kind == _ANY_OF and next:
                    steps.append((1 << node, kind, sum(1 << one for one in set(next)), 0))
        return steps

    # ── matching ───────────────────────────────────────────────────────────

    def matches(self, text: str) -> bool:
        return any(state.nodes & self._start for state in self._backwards(text))

    def spans(self, text: str) -> Iterable[tuple[int, int]]:
        places = [state.nodes for state in self._backwards(text)]
        places.reverse()
        begin, start = 0, self._start
        while begin < len(text):
            if not places[begin] & start:
                begin += 1
                continue
            end = self._followed(begin, places)
            if end > begin:
                yield begin, end
            begin = max(end, begin + 1)

    def _followed(self, place: int, places: Sequence[int]) -> int:
        """Where the match ends that begins here: at each choice, the first way that can succeed is the one."""
        node = self._start.bit_length() - 1
        while node != _MATCH:
            kind = self._kinds[node]
            if kind == _CHARACTER:
                place += 1
                node -= 1
            elif kind == _ANY_OF:
                here = places[place]
                node = next(one for one in self._next[node] if here >> one & 1)
            else:
                node = self._next[node][-1]
        return place

    def _backwards(self, text: str) -> Iterable[_State]:
        """The state of every place in a text, the last first."""
        state, work = self._state(1 << _MATCH, self._holding(text, len(text)))
        yield state
        looks_around = self._conditions & _NEIGHBOURS
        at_edges = bool(self._conditions)
        edges = (0, len(text) - 1)
        for place in range(len(text) - 1, -1, -1):
            key: Any = text[place]
            if looks_around or (at_edges and place in edges):
                holding = self._holding(text, place)
                key = (key, holding)
            else:
                holding = 0
            following = state.get(key)
            if following is None:
                following, more = self._before(state, text[place], holding)
                state[key] = following
                work += more
                if work > _WORK:
                    raise PatternError(self._pattern, "takes too long to match on this text; use a simpler pattern")
            state = following
            yield state

    def _before(self, state: _State, character: str, holding: int) -> tuple[_State, int]:
        """The state one place earlier, before this character, and how much work it was to find."""
        mask = self._masks.get(character)
        if mask is None:
            mask = 0
            for accepts, nodes in self._classes:
                if accepts.fullmatch(character):
                    mask |= nodes
            if len(self._masks) >= _STATES:
                self._masks = {}
            self._masks[character] = mask
        return self._state(state.nodes << 1 & mask, holding)

    def _state(self, nodes: int, holding: int) -> tuple[_State, int]:
        nodes |= 1 << _MATCH
        for bit, kind, next, needed in self._steps:
            if kind == _ANY_OF:
                if nodes & next:
                    nodes |= bit
            elif nodes & next and (
                needed & holding == needed if kind == _AT else bool(nodes & needed) is (kind == _AHEAD)
            ):
                nodes |= bit
        known = self._states.get(nodes)
        if known is None:
            known = _State(nodes)
            if len(self._states) >= _STATES:
                self._states = {}  # what is reached again is made again
            self._states[nodes] = known
        return known, 10 + len(self._steps) + 4 * len(self._classes)

    def _holding(self, text: str, place: int) -> int:
        """What holds at a place of a text."""
        before = text[place - 1] if place else ""
        after = text[place : place + 1]
        holding = 0
        if not place:
            holding |= _FIRST | _LINE_FIRST
        elif before == "\n":
            holding |= _LINE_FIRST
        if not after:
            holding |= _LAST | _LINE_LAST | _END
        elif after == "\n":
            holding |= _LINE_LAST | (_LAST if place == len(text) - 1 else 0)
        if self._conditions & (_BOUNDARY | _INSIDE) and text:
            holding |= _INSIDE if bool(_WORD.match(before)) == bool(_WORD.match(after)) else _BOUNDARY
        if self._conditions & (_ASCII_BOUNDARY | _ASCII_INSIDE) and text:
            same = bool(_ASCII_WORD.match(before)) == bool(_ASCII_WORD.match(after))
            holding |= _ASCII_INSIDE if same else _ASCII_BOUNDARY
        return holding


_WORD: Final = re.compile(r"\w")
_ASCII_WORD: Final = re.compile(r"\w", re.ASCII)
_UNSUPPORTED: Final = {
    "ASSERT": "a look-behind",
    "ASSERT_NOT": "a look-behind",
    "GROUPREF": "a backreference",
    "GROUPREF_EXISTS": "a condition on a group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}


def _condition_of(code: Any, flags: int) -> int:
    """What must hold at a place for an anchor to match there."""
    lines, ascii_only = flags & re.MULTILINE, flags & re.ASCII
    conditions = {
        codes.AT_BEGINNING: _LINE_FIRST if lines else _FIRST,
        codes.AT_BEGINNING_STRING: _FIRST,
        codes.AT_END: _LINE_LAST if lines else _LAST,
        codes.AT_END_STRING: _END,
        codes.AT_BOUNDARY: _ASCII_BOUNDARY if ascii_only else _BOUNDARY,
        codes.AT_NON_BOUNDARY: _ASCII_INSIDE if ascii_only else _INSIDE,
    }
    return conditions[code]


def _class_text(code: Any, value: Any) -> str:
    """One part that matches one character, as an expression of its own: `re` itself then says what it matches."""
    if code is codes.ANY:
        return "."
    if code in (codes.LITERAL, codes.NOT_LITERAL):
        return f"[{'^' if code is codes.NOT_LITERAL else ''}{_code_point(value)}]"
    negated = "^" if value[0][0] is codes.NEGATE else ""
    members = value[1:] if negated else value
    return f"[{negated}{''.join(_member(*one) for one in members)}]"


def _member(code: Any, value: Any) -> str:
    if code is codes.LITERAL:
        return _code_point(value)
    if code is codes.RANGE:
        return f"{_code_point(value[0])}-{_code_point(value[1])}"
    return {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }[value]


def _code_point(value: int) -> str:
    return f"\\U{value:08x}"
