"""A conversation put in the order every provider accepts: calls paired with results, ids legal, foreign state left out.

Rules: every call we were to run has exactly one result, after its own turn and before the next; a call without one is
answered as unknown, a result without its call is left out; opaque state goes back only to the API that made it. Each
change is a `Remark`. What is already in order is left as it stands, grouping included.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2s
from typing import Any

import msgspec

from dragoman.model import conversation as conv
from dragoman.model.base import Value
from dragoman.model.calls import NO_RESULT as NO_RESULT, ExecutedBy, NativeCall, NativeResult


def conversation_key(conversation: conv.Conversation) -> str:
    """A name for a conversation that stays the same while it grows, also in another process: of how it begins."""
    first = next((at for at, item in enumerate(conversation, 1) if item.role == "user"), len(conversation))
    texts = [part.text for item in conversation[:first] for part in item.parts if isinstance(part, conv.TextPart)]
    return blake2s("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def made_id(*place: object) -> str:
    """An id for a call that has none of its own: the same for the same place, another for any other."""
    written = "\0".join(map(str, place))
    return f"call_{blake2s(written.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


class Remark(Value, frozen=True):
    """Something that was changed on the way out: where, and what."""

    where: str
    message: str


class Turn(msgspec.Struct):
    """One message in order. `own`: made by this API; `same_model`: by this very model, as far as is known."""

    role: conv.Role
    parts: list[conv.AnyPart]
    where: str
    own: bool = True
    same_model: bool = True
    metadata: conv.Metadata = {}
    item: conv.ConversationItem | None = None


class History:
    """A conversation, fixed; `remarks` say how.

    `stored`: the provider holds earlier turns, where calls may stand. `at_once`: nothing may be said between a call and
    its result.
    """

    def __init__(
        self,
        conversation: Sequence[conv.ConversationItem],
        *,
        api: str,
        model: str = "",
        id_pattern: str | None = None,
        id_length: int | None = None,
        stored: bool = False,
        at_once: bool = False,
    ) -> None:
        self._api, self._model = api, model
        self._stored, self._at_once = stored, at_once
        self._legal = re.compile(id_pattern) if id_pattern is not None else None
        self._longest = id_length
        self._remarks: list[Remark] = []
        self.turns: list[Turn] = [self._turn(index, item) for index, item in enumerate(conversation)]
        self._pair()
        self.turns = [turn for turn in self.turns if turn.parts or turn.item is not None]
        self.remarks: tuple[Remark, ...] = tuple(self._remarks)

    def _note(self, where: str, message: str) -> None:
        self._remarks.append(Remark(where, message))

    # ── turns ──────────────────────────────────────────────────────────────

    def _turn(self, index: int, item: conv.ConversationItem) -> Turn:
        where = f"conversation[{index}]"
        made_by = item.provenance
        own = made_by is None or made_by.api in (None, self._api)
        same = made_by is None or made_by.model is None or same_model(made_by.model, self._model)
        turn = Turn(item.role, list(item.parts), where, own, own and same, item.metadata, item)
        if not own:
            turn.parts = self._translated(turn)
            turn.metadata = {}
        elif any(type(part) is conv.OpaquePart and part.api != self._api for part in item.parts):
            turn.parts = [part for part in turn.parts if not self._left_out(turn, part)]
        if item.parts and not turn.parts:
            turn.item = None
        return turn

    def _left_out(self, turn: Turn, part: conv.AnyPart) -> bool:
        """Whether a part is an item of another API, which is told then."""
        if not isinstance(part, conv.OpaquePart) or part.api == self._api:
            return False
        self._note(turn.where, f"{part.item.get('type', 'an item')!r} of {part.api} cannot travel and was left out")
        return True

    def _translated(self, turn: Turn) -> list[conv.AnyPart]:
        """A turn from elsewhere: what was said and the calls we ran travel; what only its maker can read does not."""
        kept: list[conv.AnyPart] = []
        for part in turn.parts:
            if isinstance(part, conv.ThinkingPart):
                self._note(turn.where, "thinking of another provider's model was left out")
            elif self._left_out(turn, part):
                continue
            elif isinstance(part, conv.CallPart | conv.ResultPart) and _by_provider(part):
                name = part.call.name if isinstance(part, conv.CallPart) else part.result.name or part.result.call_id
                kind = "call" if isinstance(part, conv.CallPart) else "result"
                self._note(turn.where, f"the {kind} of {name!r}, run by another provider, was left out")
            elif isinstance(part, conv.CallPart):
                kept.append(conv.CallPart(msgspec.structs.replace(part.call, item=None)))
            elif isinstance(part, conv.ResultPart):
                kept.append(conv.ResultPart(msgspec.structs.replace(part.result, item=None)))
            elif isinstance(part, conv.TextPart | conv.MediaPart):
                kept.append(msgspec.structs.replace(part, metadata={}, signature=None))
            else:
                kept.append(msgspec.structs.replace(part, metadata={}) if getattr(part, "metadata", None) else part)
        return kept

    # ── calls and results ──────────────────────────────────────────────────

    def _in_order(self) -> bool:
        """Whether every turn's calls are answered in the very next turn, and nothing else is: then all stands right."""
        waiting: set[str] = set()
        taken: set[str] = set()
        for turn in self.turns:
            told: set[str] = set()
            asked: set[str] = set()
            for part in turn.parts:
                if isinstance(part, conv.ResultPart):
                    result = part.result
                    if _by_provider(part) or result.name is None or result.call_id not in waiting:
                        return False
                    waiting.discard(result.call_id)
                    told.add(result.call_id)
                elif isinstance(part, conv.CallPart):
                    call = part.call
                    if (
                        _by_provider(part)
                        or call.namespace is not None
                        or call.id in taken
                        or not self._is_legal(call.id)
                    ):
                        return False
                    taken.add(call.id)
                    asked.add(call.id)
            if waiting or (asked and told):
                return False
            waiting = asked
        return not waiting

    def _is_legal(self, id: str) -> bool:
        return (
            bool(id)
            and (self._longest is None or len(id) <= self._longest)
            and (self._legal is None or self._legal.fullmatch(id) is not None)
        )

    def _pair(self) -> None:
        if self._in_order():
            return
        calls = self._places(conv.CallPart)
        if not calls and not self._places(conv.ResultPart):
            return
        waiting = self._results()
        called: dict[str, list[int]] = {}
        for turn_index, part_index in calls:
            called.setdefault(self._call(turn_index, part_index).id, []).append(turn_index)
        said = [index for index, turn in enumerate(self.turns) if self._says(turn)]
        taken: set[str] = set()
        answers: dict[int, list[conv.ResultPart]] = {}
        for turn_index, part_index in calls:
            call = self._call(turn_index, part_index)
            found = _claim(waiting, call.id, turn_index, _next(called[call.id], turn_index))
            id = self._legal_id(call, turn_index, part_index, taken)
            taken.add(id)
            self._answer(turn_index, part_index, id, found, answers, _next(said, turn_index))
        if not self._stored:
            self._drop([place for places in waiting.values() for place in places])
        self._insert(answers)

    def _places(self, kind: type[conv.CallPart | conv.ResultPart]) -> list[tuple[int, int]]:
        """Where calls or results stand that are ours."""
        return [
            (turn_index, part_index)
            for turn_index, turn in enumerate(self.turns)
            for part_index, part in enumerate(turn.parts)
            if isinstance(part, kind) and not _by_provider(part)
        ]

    def _results(self) -> dict[str, list[tuple[int, int]]]:
        waiting: dict[str, list[tuple[int, int]]] = {}
        for turn_index, part_index in self._places(conv.ResultPart):
            part = self.turns[turn_index].parts[part_index]
            assert isinstance(part, conv.ResultPart)
            waiting.setdefault(part.result.call_id, []).append((turn_index, part_index))
        return waiting

    def _call(self, turn_index: int, part_index: int) -> NativeCall:
        part = self.turns[turn_index].parts[part_index]
        assert isinstance(part, conv.CallPart)
        return part.call

    def _legal_id(self, call: NativeCall, turn_index: int, part_index: int, taken: set[str]) -> str:
        id = call.id
        why = None
        if not id:
            why = "it had none"
        elif id in taken:
            why = "another call has the same"
        elif self._longest is not None and len(id) > self._longest:
            why = f"ids are at most {self._longest} characters"
        elif self._legal is not None and not self._legal.fullmatch(id):
            why = "its characters are not allowed"
        if why is None:
            return id
        place = f"{id}\0{turn_index}\0{part_index}" if not id or id in taken else id
        made = made_id(place)
        self._note(self.turns[turn_index].where, f"the call {id!r} was given the id {made!r}: {why}")
        return made

    def _answer(
        self,
        turn_index: int,
        part_index: int,
        id: str,
        found: tuple[int, int] | None,
        answers: dict[int, list[conv.ResultPart]],
        said_next: int | None,
    ) -> None:
        """Gives a call its id and its result the same; a result that stands elsewhere, or nowhere, is set after it."""
        turn = self.turns[turn_index]
        part = turn.parts[part_index]
        assert isinstance(part, conv.CallPart)
        if part.call.id != id:
            turn.parts[part_index] = msgspec.structs.replace(part, call=msgspec.structs.replace(part.call, id=id))
        if found is None:
            self._note(turn.where, f"the call {part.call.name!r} ({id}) had no result: it is answered as unknown")
            missing = NativeResult(id, NO_RESULT, is_error=True, name=part.call.name, namespace=part.call.namespace)
            answers.setdefault(turn_index, []).append(conv.ResultPart(missing))
            return
        told = self.turns[found[0]].parts[found[1]]
        assert isinstance(told, conv.ResultPart)
        changes: dict[str, Any] = {}
        if told.result.call_id != id:
            changes["call_id"] = id
        if told.result.name is None:
            changes["name"] = part.call.name
        if told.result.namespace is None and told.result.name in (None, part.call.name):
            changes["namespace"] = part.call.namespace
        if changes:
            told = msgspec.structs.replace(told, result=msgspec.structs.replace(told.result, **changes))
        if turn_index < found[0] and self._is_before(found[0], said_next):
            self.turns[found[0]].parts[found[1]] = told
        else:
            self._note(self.turns[found[0]].where, f"the result of {part.call.name!r} ({id}) was moved to its call")
            self._drop([found], silently=True)
            answers.setdefault(turn_index, []).append(told)

    def _says(self, turn: Turn) -> bool:
        """Whether a result may not stand after this turn when its call stands before it."""
        if turn.role == "assistant":
            return True
        return self._at_once and not (turn.parts and all(isinstance(part, conv.ResultPart) for part in turn.parts))

    def _is_before(self, result_index: int, said_next: int | None) -> bool:
        """Whether a result comes before what is said next; a message to the model may hold both."""
        if said_next is None or result_index < said_next:
            return True
        return result_index == said_next and self.turns[said_next].role != "assistant"

    def _drop(self, places: list[tuple[int, int]], *, silently: bool = False) -> None:
        for turn_index, part_index in sorted(places, reverse=True):
            turn = self.turns[turn_index]
            part = turn.parts[part_index]
            if not silently and isinstance(part, conv.ResultPart):
                self._note(turn.where, f"a result for {part.result.call_id!r}, which no call waits for, was left out")
            turn.parts[part_index] = _GONE

    def _insert(self, answers: dict[int, list[conv.ResultPart]]) -> None:
        for turn in self.turns:
            before = len(turn.parts)
            turn.parts = [part for part in turn.parts if part is not _GONE]
            if before and not turn.parts:
                turn.item = None
        turns: list[Turn] = []
        for turn_index, turn in enumerate(self.turns):
            turns.append(turn)
            answer = answers.get(turn_index)
            if answer is None:
                continue
            after = self.turns[turn_index + 1] if turn_index + 1 < len(self.turns) else None
            if after is not None and any(isinstance(part, conv.ResultPart) for part in after.parts):
                after.parts[:0] = answer
            else:
                turns.append(Turn("tool", list(answer), turn.where))
        self.turns = turns


_GONE: Any = object()


def _by_provider(part: conv.CallPart | conv.ResultPart) -> bool:
    native = part.call if isinstance(part, conv.CallPart) else part.result
    return native.executed_by is ExecutedBy.PROVIDER


def _claim(
    waiting: dict[str, list[tuple[int, int]]], id: str, after: int, before: int | None
) -> tuple[int, int] | None:
    """The first result that waits for this call: one that stands before the same id is called again."""
    places = waiting.get(id, [])
    first = bisect_left(places, (after, 0))
    if first == len(places) or (before is not None and places[first][0] >= before):
        return None
    return places.pop(first)


def _next(places: list[int], after: int) -> int | None:
    """The first of these ascending places that comes after one."""
    index = bisect_right(places, after)
    return places[index] if index < len(places) else None


@lru_cache(maxsize=256)
def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model: with or without a date, a provider's prefix or a "latest".

    The order of the words does not count: what is asked for as claude-haiku-4.5 answers as claude-4.5-haiku.
    """
    return _plain_name(one) == _plain_name(other)


def _plain_name(model: str) -> list[str]:
    name = re.sub(r"[@:].*", "", model.rsplit("/", 1)[-1].lower()).removesuffix(".gguf")
    name = re.sub(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{4})$", "", name)
    return sorted(re.findall(r"[^\W_]+", name))
