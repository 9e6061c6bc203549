"""Tools for people who call a provider's SDK themselves: definitions as its requests have them, results as its turns.

Nothing of an SDK is imported: its requests take plain JSON, and its replies are read as the JSON they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, ClassVar

import msgspec

from dragoman.apis import Encoded
from dragoman.model import CallPart, ExecutedBy, Message, Provenance, ResultPart
from dragoman.model.conversation import AnyPart
from dragoman.model.request import Definition

from .bridge import Bridge


class WireTools(Bridge):
    """Tools as `tools=` of a request takes them; `run` answers what a reply calls."""

    for_model = True
    turns: ClassVar[str]
    """The key of a request under which its turns stand."""
    whole: ClassVar[str]
    """The key that a whole reply has, and no part of one."""

    def offered(self) -> Iterable[Any]:
        return list(self._encoded.body.get("tools", ()))

    def definitions(self) -> tuple[Definition, ...]:
        return self.facade.definitions

    @property
    def request_settings(self) -> dict[str, Any]:
        """What a request needs beside `tools=`: settings, for tools that ask for them."""
        bare = self._bare().body
        return {key: value for key, value in self._encoded.body.items() if key not in bare and key != "tools"}

    @property
    def headers(self) -> dict[str, str]:
        """Headers a request needs: the betas of tools that are one."""
        bare = self._bare().headers
        return {name: value for name, value in self._encoded.headers.items() if bare.get(name) != value}

    def _bare(self) -> Encoded:
        return self._codec.encode(msgspec.structs.replace(self._request(), definitions=()))

    async def run(self, reply: Any) -> list[dict[str, Any]]:
        """Runs what a reply calls, and gives the turns that answer it; none when it calls nothing of ours.

        `reply` is the SDK's object or its JSON: a whole reply, or the items of it that hold the calls.
        """
        parts = self._calls(reply)
        if not parts:
            return []
        results = await self.answer([part.call for part in parts])
        said = Message("assistant", parts, Provenance(api=self.api, model=self.model))
        told = Message("tool", tuple(ResultPart(result) for result in results))
        turns = self._codec.encode(self._request(said, told)).body[self.turns]
        return list(reversed(list(takewhile(_answers, reversed(turns)))))

    def run_sync(self, reply: Any) -> list[dict[str, Any]]:
        """`run` for code without an event loop."""
        return self.in_background(self.run(reply))

    def _calls(self, reply: Any) -> tuple[CallPart, ...]:
        """The calls of a reply that are to be run here."""
        said = plain(reply)
        if isinstance(said, dict) and self.whole in said:
            parts: Iterable[AnyPart] = self._codec.decode(said).parts
        else:
            parts = self.parts_of(said if isinstance(said, list) else [said])
        calls = [part for part in parts if isinstance(part, CallPart)]
        return tuple(part for part in calls if part.call.executed_by is ExecutedBy.CLIENT)

    def parts_of(self, items: list[Any]) -> Iterable[AnyPart]:
        """Items of a reply, read."""
        return self._codec.read_parts(items)


def _answers(turn: dict[str, Any]) -> bool:
    """Whether a turn is told to the model, not said by it."""
    return turn.get("role") in ("user", "tool", "function") or str(turn.get("type", "")).endswith("_output")


def plain(value: Any) -> Any:
    """An SDK's object as the JSON it stands for."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", by_alias=True, exclude_none=True)
