"""What recorded tokens cost by the list prices of their day; each price is looked up once."""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Sequence
from typing import Final

import msgspec

from dragoman.config import Price
from dragoman.prices import PRICES, cost_at, price_of
from dragoman.registry import FORMATS

from .rows import UsageRow

THRESHOLDS: Final = sorted({price.over for price in PRICES})
"""The lengths of prompts beyond which a listed price may be another."""


NO_MODEL: Final = "the model is not logged"
NO_TIME: Final = "the time is not logged"
NO_TOKENS: Final = "the tokens are not logged"
NO_INPUT: Final = "the input is not logged for each reply"
NO_OUTPUT: Final = "the output is not logged"
SEVERAL: Final = "logged as the sum of several, and long prompts have another price"
NO_PRICE: Final = "no price is known for the model, or for a kind of its tokens"


class Costs:
    """Prices of this run: the listed ones and the user's own."""

    def __init__(self, own: Sequence[Price] = ()) -> None:
        self._own = own
        self.thresholds = sorted({*THRESHOLDS, *(price.over for price in own)})
        """The lengths of prompts beyond which a price may be another."""
        self._days = sorted({price.valid_from for price in (*PRICES, *own)})
        self._known: dict[tuple[str, int, int], Price | None] = {}
        self._whole: dict[int, tuple[int, int, int, int]] = {}
        """Price, by its id (it is kept as long as this is) → what `_in_whole_numbers` says."""

    def of(self, row: UsageRow) -> float | None:
        """US dollars, or `None` when it is not known: see `dragoman.prices`."""
        if row.logged_cost == 0 and row.client is not None and _is_free(row.client):
            return 0.0
        if row.model is None or row.time is None or row.input_tokens is None:
            return None
        if row.earlier_output is not None:
            return self._of_several(row)
        read, write = row.cached_read_tokens or 0, row.cached_write_tokens or 0
        price = self._price(row.model, row.time.date(), row.input_tokens + read + write)
        if price is None:
            return None
        whole = self._whole.get(id(price))
        if whole is None or row.tool_tokens or row.output_tokens is None:
            cost = cost_at(price, row)
            return None if cost is None else float(cost)
        # The same sum in whole numbers, which is several times as quick and as exact.
        return (row.input_tokens * whole[0] + read * whole[1] + write * whole[2] + row.output_tokens * whole[3]) / _UNIT

    def why_unknown(self, row: UsageRow) -> str:
        """Why `of` gives nothing."""
        if row.model is None:
            return NO_MODEL
        if row.time is None:
            return NO_TIME
        if row.input_tokens is None:
            return NO_TOKENS if row.tokens is None else NO_INPUT
        if row.output_tokens is None:
            return NO_OUTPUT
        if row.earlier_output is not None and len(set(self._of_prompts(row))) > 1:
            return SEVERAL
        return NO_PRICE

    def _of_several(self, row: UsageRow) -> float | None:
        """What a sum of several exchanges costs, if it costs as much however long their prompts were."""
        least, most = self._of_prompts(row)
        if most is None or most != least or row.output_tokens is None or row.earlier_output is None:
            return None
        cost = cost_at(most, msgspec.structs.replace(row, output_tokens=row.output_tokens + row.earlier_output))
        return None if cost is None else float(cost)

    def _of_prompts(self, row: UsageRow) -> tuple[Price | None, Price | None]:
        """The prices of the shortest and of the longest prompt there may be in a sum."""
        assert row.model is not None
        assert row.time is not None
        most = (row.input_tokens or 0) + (row.cached_read_tokens or 0) + (row.cached_write_tokens or 0)
        day = row.time.date()
        return self._price(row.model, day, 0), self._price(row.model, day, most)

    def of_sum(self, model: str, day: datetime.date, prompt: int, summed: UsageRow) -> float | None:
        """The same for the tokens of several exchanges of a model and a day, whose prompts have the same price."""
        price = self._price(model, day, prompt)
        cost = None if price is None else cost_at(price, summed)
        return None if cost is None else float(cost)

    def _price(self, model: str, day: datetime.date, prompt: int) -> Price | None:
        # All prompts between two thresholds have the same price, and all days between two changes of one.
        key = (model, bisect.bisect_right(self._days, day), bisect.bisect_left(self.thresholds, prompt))
        if key not in self._known:
            price = self._known[key] = price_of(model, day, prompt_tokens=prompt, own=self._own)
            whole = None if price is None else _in_whole_numbers(price)
            if price is not None and whole is not None:
                self._whole[id(price)] = whole
        return self._known[key]


def _is_free(client: str) -> bool:
    """Whether a cost of 0 that this client logged means that nothing was paid."""
    return client in FORMATS and FORMATS[client].knows_free


_UNIT: Final = 10**12
"""A millionth of a millionth: what a token costs in whole numbers of it."""


def _in_whole_numbers(price: Price) -> tuple[int, int, int, int] | None:
    """What a token of each kind costs, in millionths of a millionth of a dollar; `None` where that is not exact."""
    said = (price.input, price.cached_read, price.cached_write, price.output)
    whole = [None if one is None else one * 10**6 for one in said]
    if any(one is None or one != int(one) for one in whole):
        return None
    first, second, third, fourth = (int(one or 0) for one in whole)
    return first, second, third, fourth
