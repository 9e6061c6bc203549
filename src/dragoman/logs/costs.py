"""What recorded tokens cost by the list prices of their day; each price is looked up once."""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Sequence

from dragoman.config import Price
from dragoman.prices import PRICES, cost_at, price_of

from .tables import UsageRow


class Costs:
    """Prices of this run: the listed ones and the user's own."""

    def __init__(self, own: Sequence[Price] = ()) -> None:
        self._own = own
        self._thresholds = sorted({price.over for price in (*PRICES, *own)})
        self._known: dict[tuple[str, datetime.date, int], Price | None] = {}

    def of(self, row: UsageRow) -> float | None:
        """US dollars, or `None` when it is not known: see `dragoman.prices`."""
        if row.model is None or row.time is None or row.input_tokens is None:
            return None
        prompt = row.input_tokens + (row.cached_read_tokens or 0) + (row.cached_write_tokens or 0)
        price = self._price(row.model, row.time.date(), prompt)
        cost = None if price is None else cost_at(price, row)
        return None if cost is None else float(cost)

    def _price(self, model: str, day: datetime.date, prompt: int) -> Price | None:
        # All prompts between two thresholds have the same price.
        key = (model, day, bisect.bisect_left(self._thresholds, prompt))
        if key not in self._known:
            self._known[key] = price_of(model, day, prompt_tokens=prompt, own=self._own)
        return self._known[key]
