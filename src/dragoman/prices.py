"""What tokens cost, as dated data: US dollars per million, from the day a price held.

Rule: unknown is `None`, never 0. A model that is not listed, a day before the first price, a count that was not
said, a kind of token without a price: each makes the cost unknown, because a wrong sum looks like a right one.

These are the makers' list prices for ordinary requests, as far as each row's `source` can vouch for them. Batch,
priority and regional rates, provider-run tools, audio, and storage of caches are not in them; Claude's cache writes
are those that live five minutes.
Rows of one's own go in the settings file as `[[prices]]`.

How a model's name finds its row: a provider before the name is taken off (`anthropic/…`, `openai:…`, `models/…`,
`us.anthropic.…-v1:0`), if it is one taken to charge the maker's price; then the name must be the row's, or the row's
followed by a release (`-20250929`, `-2025-08-07`, `@20250929`, `-001`, `-latest`, `[1m]`). So `gpt-5` never prices
`gpt-5.6`. A row that ends in `*` takes every name that begins so. The longest row wins, then one's own, then the
newest that holds on that day, then the one for the longest prompt. A model of a provider that runs it on a machine of
the user's (`local:…`, `ollama:…`) costs nothing, unless a row of one's own names the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, Protocol

from dragoman.config import Price

AS_OF: Final = date(2026, 10, 16)
"""How far the public lists reach that these rows were compared with. Later changes are not in them."""

MILLION: Final = Decimal(1_000_000)

FREE: Final = frozenset({"llamacpp", "lmstudio", "local", "local-free", "ollama"})
"""Providers that run a model on a machine of the user's: nobody charges for its tokens."""
_NOTHING: Final = Price(
    model="*",
    valid_from=date.min,
    input=Decimal(0),
    cached_read=Decimal(0),
    cached_write=Decimal(0),
    output=Decimal(0),
    source="run on a machine of the user's",
)


class Tokens(Protocol):
    """What is counted: `dragoman.model.Usage`, or anything with the same names. `None` is "not said".

    Input is what was neither read from a cache nor written to one; output includes reasoning.
    """

    @property
    def input_tokens(self) -> int | None: ...
    @property
    def cached_read_tokens(self) -> int | None: ...
    @property
    def cached_write_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...


def cost(model: str, usage: Tokens, on: date | None = None, *, own: Sequence[Price] = ()) -> Decimal | None:
    """What these tokens cost on that day (today, when none is named), or `None` when it is not known."""
    read, write = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    price = price_of(model, on, prompt_tokens=usage.input_tokens + read + write, own=own)
    return None if price is None else cost_at(price, usage)


def saved(model: str, usage: Tokens, on: date | None = None, *, own: Sequence[Price] = ()) -> Decimal | None:
    """How much less these tokens cost than without a prompt cache; below 0 where writing to it cost more than that."""
    read, write = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
    paid = cost(model, usage, on, own=own)
    if paid is None or usage.input_tokens is None:
        return None
    price = price_of(model, on, prompt_tokens=usage.input_tokens + read + write, own=own)
    assert price is not None  # the cost is known
    return (
        read * (price.input - (price.cached_read or 0)) + write * (price.input - (price.cached_write or 0))
    ) / MILLION


def cost_at(price: Price, usage: Tokens) -> Decimal | None:
    """What these tokens cost at a price that was found for them."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    read, write = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
    charged = (
        (usage.input_tokens, price.input),
        (read, price.cached_read),
        (write, price.cached_write),
        (usage.output_tokens, price.output),
        # How a provider charges the input its own tools made differs from tool to tool.
        (getattr(usage, "tool_tokens", None) or 0, None),
    )
    total = Decimal(0)
    for tokens, per_million in charged:
        if tokens and per_million is None:
            return None
        total += tokens * (per_million or 0)
    return total / MILLION


def price_of(model: str, on: date | None = None, *, prompt_tokens: int = 0, own: Sequence[Price] = ()) -> Price | None:
    """The row that holds for a model on a day and for a prompt of that length."""
    day = datetime.now(UTC).date() if on is None else on
    provider, _, name = model.partition(":")
    if provider in FREE:
        price = _row_of((name,), day, prompt_tokens, ((True, own),))
        return _NOTHING if price is None else price
    return _row_of(tuple(_names(model)), day, prompt_tokens, ((False, PRICES), (True, own)))


def _row_of(
    names: Sequence[str], day: date, prompt_tokens: int, tables: Sequence[tuple[bool, Sequence[Price]]]
) -> Price | None:
    """The best row of these tables; with each table goes whether it is the user's own."""
    ranked = [
        (len(row.model), mine, row.valid_from, row.over, row)
        for mine, rows in tables
        for row in rows
        if row.valid_from <= day and (row.over == 0 or prompt_tokens > row.over) and _fits(row.model.lower(), names)
    ]
    return max(ranked, key=lambda rank: rank[:4])[-1] if ranked else None


def is_called(model: str, row: str) -> bool:
    """Whether a model's name, as it was given, is one that a row of this name is for."""
    return _fits(row.lower(), tuple(_names(model)))


# Those taken to charge what the maker charges (not checked one by one), by their names in model strings.
_CARRIERS: Final = frozenset(
    {
        *("anthropic", "bedrock", "vertex", "vertexai", "vertex_ai"),
        *("openai", "openai_chat", "openai_responses", "azure"),
        *("google", "gemini", "models", "publishers"),
        "openrouter",
    }
)
_LOCATION: Final = re.compile(r"^projects/[^/]+/locations/[^/]+/")
_BEDROCK: Final = re.compile(r"^(?:[a-z-]+\.)?anthropic\.(.+?)(?:-v\d+(?::\d+)?)?$")
_RELEASE: Final = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)|-00\d)?(?:\[1m\])?")


def _names(model: str) -> Iterator[str]:
    """The name as it was given, and the maker's own name for it when a known carrier stands before it."""
    name = model.strip().lower()
    yield name
    carrier, colon, rest = name.partition(":")
    if colon and carrier in _CARRIERS:
        name = rest
    *carriers, name = _LOCATION.sub("", name).split("/")
    if not _CARRIERS.issuperset(carriers):
        return
    name = _BEDROCK.sub(r"\1", name)
    # Claude's own names have dashes; routers write the version with a dot.
    yield name.replace(".", "-") if name.startswith("claude") else name


def _fits(row: str, names: Sequence[str]) -> bool:
    if row.endswith("*"):
        return any(name.startswith(row[:-1]) for name in names)
    return any(name.startswith(row) and _RELEASE.fullmatch(name, len(row)) for name in names)


def _rows(source: str, *rows: tuple[str, ...]) -> Iterator[Price]:
    """Rows of (models, from, input, cached read, cached write, output, longer than); "-" is not known."""
    for models, valid_from, *amounts, over in rows:
        fresh, read, write, output = (None if amount == "-" else Decimal(amount) for amount in amounts)
        assert fresh is not None
        assert output is not None
        for model in models.split():
            yield Price(
                model=model,
                valid_from=date.fromisoformat(valid_from),
                input=fresh,
                cached_read=read,
                cached_write=write,
                output=output,
                over=int(over),
                source=source,
            )


PRICES: Final[tuple[Price, ...]] = (
    *_rows(
        "Anthropic: excerpts of its pages of prices and models, third-party lists, common knowledge",
        ("claude-3-opus", "2024-03-04", "15", "1.50", "18.75", "75", "0"),
        ("claude-3-haiku", "2024-03-07", "0.25", "0.03", "0.30", "1.25", "0"),
        ("claude-3-5-sonnet", "2024-06-20", "3", "0.30", "3.75", "15", "0"),
        # It came out dearer; this is the price since the cut at the end of 2024.
        ("claude-3-5-haiku", "2025-01-01", "0.80", "0.08", "1", "4", "0"),
        ("claude-3-7-sonnet", "2025-02-24", "3", "0.30", "3.75", "15", "0"),
        ("claude-sonnet-4 claude-sonnet-4-0", "2025-05-22", "3", "0.30", "3.75", "15", "0"),
        ("claude-sonnet-4 claude-sonnet-4-0", "2025-08-12", "6", "0.60", "7.50", "22.50", "200000"),
        ("claude-opus-4 claude-opus-4-0", "2025-05-22", "15", "1.50", "18.75", "75", "0"),
        ("claude-opus-4-1", "2025-08-05", "15", "1.50", "18.75", "75", "0"),
        ("claude-sonnet-4-5", "2025-09-29", "3", "0.30", "3.75", "15", "0"),
        ("claude-sonnet-4-5", "2025-09-29", "6", "0.60", "7.50", "22.50", "200000"),
        ("claude-haiku-4-5", "2025-10-15", "1", "0.10", "1.25", "5", "0"),
        ("claude-opus-4-5", "2025-11-24", "5", "0.50", "6.25", "25", "0"),
        # Until March 2026 prompts over 200,000 tokens cost more; the day that ended is not known to us.
        ("claude-opus-4-6", "2026-02-05", "5", "0.50", "6.25", "25", "0"),
        ("claude-sonnet-4-6", "2026-02-17", "3", "0.30", "3.75", "15", "0"),
        ("claude-opus-4-7", "2026-04-16", "5", "0.50", "6.25", "25", "0"),
        ("claude-opus-4-8", "2026-05-28", "5", "0.50", "6.25", "25", "0"),
        ("claude-fable-5", "2026-06-09", "10", "1", "12.50", "50", "0"),
        ("claude-sonnet-5", "2026-06-30", "2", "0.20", "2.50", "10", "0"),
        ("claude-opus-5", "2026-07-24", "5", "0.50", "6.25", "25", "0"),
        ("claude-fable-5-1", "2026-09-01", "10", "0.25", "12.50", "50", "0"),
        ("claude-opus-5-5", "2026-09-22", "4", "0.20", "5", "20", "0"),
        ("claude-sonnet-5-5", "2026-09-28", "2", "0.20", "2.50", "10", "0"),
        ("claude-sonnet-5-5", "2026-10-07", "2", "0.10", "2.50", "10", "0"),
        ("claude-haiku-5-5", "2026-10-07", "0.10", "0.01", "0.125", "0.50", "0"),
        ("claude-haiku-5-5", "2026-10-07", "0.50", "0.05", "0.625", "2.50", "100000"),
    ),
    *_rows(
        "OpenAI: third-party lists that quote its page (GitHub's for Copilot among them), and common knowledge",
        ("gpt-4o gpt-4o-2024-05-13", "2024-05-13", "5", "-", "-", "15", "0"),
        ("gpt-4o-mini", "2024-07-18", "0.15", "0.075", "-", "0.60", "0"),
        ("gpt-4o-2024-08-06", "2024-08-06", "2.50", "1.25", "-", "10", "0"),
        ("gpt-4o", "2024-10-02", "2.50", "1.25", "-", "10", "0"),
        ("o1", "2024-12-17", "15", "7.50", "-", "60", "0"),
        ("o3-mini", "2025-01-31", "1.10", "0.55", "-", "4.40", "0"),
        ("gpt-4.1", "2025-04-14", "2", "0.50", "-", "8", "0"),
        ("gpt-4.1-mini", "2025-04-14", "0.40", "0.10", "-", "1.60", "0"),
        ("gpt-4.1-nano", "2025-04-14", "0.10", "0.025", "-", "0.40", "0"),
        ("o4-mini", "2025-04-16", "1.10", "0.275", "-", "4.40", "0"),
        ("o3", "2025-04-16", "10", "2.50", "-", "40", "0"),
        ("o3", "2025-06-10", "2", "0.50", "-", "8", "0"),
        ("gpt-5", "2025-08-07", "1.25", "0.125", "-", "10", "0"),
        ("gpt-5-mini", "2025-08-07", "0.25", "0.025", "-", "2", "0"),
        ("gpt-5-nano", "2025-08-07", "0.05", "0.005", "-", "0.40", "0"),
        ("gpt-5-codex", "2025-09-23", "1.25", "0.125", "-", "10", "0"),
        ("gpt-5-pro", "2025-10-06", "15", "-", "-", "120", "0"),
        ("gpt-5.1 gpt-5.1-codex", "2025-11-13", "1.25", "0.125", "-", "10", "0"),
        ("gpt-5.1-codex-mini", "2025-11-13", "0.25", "0.025", "-", "2", "0"),
        ("gpt-5.2 gpt-5.2-codex", "2025-12-11", "1.75", "0.175", "-", "14", "0"),
        ("gpt-5.3-codex", "2026-02-05", "1.75", "0.175", "-", "14", "0"),
        ("gpt-5.4", "2026-03-05", "2.50", "0.25", "-", "15", "0"),
        ("gpt-5.4", "2026-03-05", "5", "0.50", "-", "22.50", "272000"),
        ("gpt-5.4-mini", "2026-03-05", "0.75", "0.075", "-", "4.50", "0"),
        ("gpt-5.4-nano", "2026-03-05", "0.20", "0.02", "-", "1.25", "0"),
        ("gpt-5.5", "2026-04-23", "5", "0.50", "-", "30", "0"),
        ("gpt-5.5", "2026-04-23", "10", "1", "-", "45", "272000"),
        ("gpt-5.6 gpt-5.6-sol", "2026-07-09", "5", "0.50", "6.25", "30", "0"),
        ("gpt-5.6 gpt-5.6-sol", "2026-07-09", "10", "1", "12.50", "45", "272000"),
        # Reduced until 21 November 2026 at least.
        ("gpt-5.6 gpt-5.6-sol", "2026-08-24", "4", "0.40", "-", "20", "0"),
        ("gpt-5.6 gpt-5.6-sol", "2026-08-24", "8", "0.80", "-", "30", "272000"),
        ("gpt-5.6-terra", "2026-07-09", "2.50", "0.25", "-", "15", "0"),
        ("gpt-5.6-terra", "2026-07-09", "5", "0.50", "-", "22.50", "272000"),
        ("gpt-5.6-terra", "2026-07-30", "2", "0.20", "2.50", "12", "0"),
        ("gpt-5.6-terra", "2026-07-30", "4", "0.40", "5", "18", "272000"),
        ("gpt-5.6-luna", "2026-07-09", "1", "0.10", "-", "6", "0"),
        ("gpt-5.6-luna", "2026-07-09", "2", "0.20", "-", "9", "272000"),
        ("gpt-5.6-luna", "2026-07-30", "0.20", "0.02", "0.25", "1.20", "0"),
        ("gpt-5.6-luna", "2026-07-30", "0.40", "0.04", "0.50", "1.80", "272000"),
        # What a longer prompt costs is not known to us.
        ("gpt-6-astra", "2026-09-03", "10", "1", "-", "50", "0"),
        ("gpt-6-sol", "2026-09-22", "2", "0.20", "2.50", "10", "0"),
        ("gpt-6-sol", "2026-09-22", "4", "0.40", "5", "15", "272000"),
        ("gpt-6-luna", "2026-09-22", "0.10", "0.01", "0.125", "0.50", "0"),
        ("gpt-6-luna", "2026-09-22", "0.20", "0.02", "0.25", "0.75", "272000"),
        ("gpt-6.1-sol", "2026-09-29", "2", "0.10", "2.50", "10", "0"),
        ("gpt-6.1-sol", "2026-09-29", "4", "0.20", "5", "15", "272000"),
    ),
    *_rows(
        "OpenAI, embeddings: lists that quote its model pages (tokenprice.fyi, aicost.tools), read on 17 November 2026",
        ("text-embedding-ada-002", "2023-06-13", "0.10", "-", "-", "0", "0"),
        ("text-embedding-3-small", "2024-01-25", "0.02", "-", "-", "0", "0"),
        ("text-embedding-3-large", "2024-01-25", "0.13", "-", "-", "0", "0"),
    ),
    *_rows(
        "Google, embeddings: its announcement as quoted in simonw/llm-gemini#102, and OpenRouter's list",
        ("gemini-embedding-001", "2025-07-14", "0.15", "-", "-", "0", "0"),
    ),
    *_rows(
        "Google, text: third-party lists that quote its page, and common knowledge",
        ("gemini-2.0-flash", "2025-02-05", "0.10", "0.025", "-", "0.40", "0"),
        # The price of cached tokens was cut in 2025, on a day we do not know.
        ("gemini-2.5-pro", "2025-06-17", "1.25", "-", "-", "10", "0"),
        ("gemini-2.5-pro", "2025-06-17", "2.50", "-", "-", "15", "200000"),
        ("gemini-2.5-pro", "2025-11-24", "1.25", "0.125", "-", "10", "0"),
        ("gemini-2.5-pro", "2025-11-24", "2.50", "0.25", "-", "15", "200000"),
        ("gemini-2.5-flash", "2025-06-17", "0.30", "-", "-", "2.50", "0"),
        ("gemini-2.5-flash", "2025-11-24", "0.30", "0.03", "-", "2.50", "0"),
        ("gemini-2.5-flash-lite", "2025-07-22", "0.10", "-", "-", "0.40", "0"),
        ("gemini-2.5-flash-lite", "2025-11-24", "0.10", "0.01", "-", "0.40", "0"),
        ("gemini-3-pro-preview", "2025-11-18", "2", "-", "-", "12", "0"),
        ("gemini-3-pro-preview", "2025-11-18", "4", "-", "-", "18", "200000"),
        ("gemini-3-flash-preview", "2025-12-17", "0.50", "0.05", "-", "3", "0"),
        ("gemini-3.1-pro-preview", "2026-02-19", "2", "0.20", "-", "12", "0"),
        ("gemini-3.1-pro-preview", "2026-02-19", "4", "0.40", "-", "18", "200000"),
        # The days these two came out are not known to us; the second is announced as reduced until the end of 2026.
        ("gemini-3.5-flash", "2026-05-01", "1.50", "0.15", "-", "9", "0"),
        ("gemini-3.8-flash", "2026-09-01", "0.75", "0.075", "-", "3.75", "0"),
    ),
)
