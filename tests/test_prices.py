from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from dragoman.config import Price
from dragoman.model import Usage
from dragoman.prices import PRICES, Tokens, cost, price_of, saved

counts = st.integers(min_value=0, max_value=50_000)
DAY = date(2026, 1, 1)


def used(fresh: int = 0, output: int = 0, read: int = 0, write: int = 0) -> Tokens:
    return Usage(input_tokens=fresh, output_tokens=output, cached_read_tokens=read, cached_write_tokens=write)


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = used(fresh=1_000_000 // 10, output=1_000_000 // 10, read=10_000, write=10_000)
    assert cost("claude-sonnet-4-5", usage, DAY) == Decimal("0.3") + Decimal("1.5") + Decimal("0.003") + Decimal(
        "0.0375"
    )


def test_reasoning_is_part_of_the_output_and_not_charged_again() -> None:
    with_reasoning = Usage(input_tokens=10, output_tokens=100, reasoning_tokens=90)
    assert cost("gpt-5", with_reasoning, DAY) == cost("gpt-5", used(10, 100), DAY)


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5[1m]",
        "claude-sonnet-4-5-20250929[1m]",
        "anthropic/claude-sonnet-4.5",
        "anthropic:claude-sonnet-4-5",
        "openrouter:anthropic/claude-sonnet-4.5",
        "openrouter/anthropic/claude-sonnet-4.5",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock:global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "publishers/anthropic/models/claude-sonnet-4-5@20250929",
        "projects/mine/locations/global/publishers/anthropic/models/claude-sonnet-4-5",
        "Claude-Sonnet-4-5",
    ],
)
def test_one_model_is_found_under_every_name_it_goes_by(model: str) -> None:
    found = price_of(model, DAY)
    assert found is not None
    assert found.model == "claude-sonnet-4-5"


@pytest.mark.parametrize(
    "model, row",
    [
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("openai:gpt-5-codex", "gpt-5-codex"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("models/gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-opus-4-0", "claude-opus-4-0"),
        ("claude-opus-4-20250514", "claude-opus-4"),
    ],
)
def test_the_longest_row_that_fits_the_name_wins(model: str, row: str) -> None:
    found = price_of(model, DAY)
    assert found is not None
    assert found.model == row


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5.6",
        "gpt-5.6-sol",
        "gpt-5-turbo",
        "gpt-50",
        "gpt-4o-audio-preview",
        "o1-mini",
        "o3-pro",
        "claude-sonnet-4-9",
        "claude-opus-4-50",
        "gemini-2.5-flash-preview-05-20",
        "anthropic/claude-sonnet-4.5:free",
        "groq:gpt-5",
        "some-reseller/gpt-5",
        "llama3:8b",
        "",
        "/",
        ":",
    ],
)
def test_an_unknown_model_has_no_price_and_certainly_not_that_of_another(model: str) -> None:
    assert cost(model, used(1, 1), DAY) is None


def test_a_price_holds_from_its_day_on() -> None:
    million = used(fresh=100_000)
    assert [cost("o3", million, day) for day in (date(2025, 4, 15), date(2025, 6, 9), date(2025, 6, 10))] == [
        None,
        Decimal("1"),
        Decimal("0.2"),
    ]


def test_a_long_prompt_has_the_price_of_its_tier_and_cached_tokens_make_it_long() -> None:
    assert cost("gemini-2.5-pro", used(fresh=200_000, output=1_000), DAY) == Decimal("0.25") + Decimal("0.01")
    assert cost("gemini-2.5-pro", used(fresh=200_001, output=0), DAY) == Decimal("0.5000025")
    long_by_cache = used(fresh=1_000, read=200_000, output=1_000)
    assert cost("gemini-2.5-pro", long_by_cache, DAY) == Decimal("0.0025") + Decimal("0.05") + Decimal("0.015")


def test_what_was_not_said_makes_the_cost_unknown() -> None:
    assert cost("gpt-5", Usage(output_tokens=1), DAY) is None
    assert cost("gpt-5", Usage(input_tokens=1), DAY) is None
    assert cost("gpt-5", Usage(input_tokens=0, output_tokens=0), DAY) == 0


def test_a_kind_of_token_without_a_price_makes_the_cost_unknown() -> None:
    assert cost("gpt-5-pro", used(1, 1, read=1), DAY) is None
    assert cost("gpt-5", used(1, 1, write=1), DAY) is None
    assert cost("gemini-2.5-pro", Usage(input_tokens=1, output_tokens=1, tool_tokens=5), DAY) is None


def test_anything_with_the_right_names_can_be_counted() -> None:
    usage = SimpleNamespace(input_tokens=100, cached_read_tokens=None, cached_write_tokens=None, output_tokens=0)
    assert cost("gpt-5", usage, DAY) == Decimal("0.000125")


def test_ones_own_rows_add_models_and_win_over_equal_ones() -> None:
    own = (
        Price(model="acme-*", input=Decimal(1), output=Decimal(2)),
        Price(model="acme-large", input=Decimal(3), output=Decimal(4)),
        Price(model="gpt-5", input=Decimal(7), output=Decimal(8)),
        Price(model="groq:llama", input=Decimal(9), output=Decimal(9)),
    )
    million = used(1_000_000, 0)
    models = ("acme-small", "acme-large", "gpt-5", "gpt-5-mini", "groq:llama", "llama")
    assert [cost(model, million, DAY, own=own) for model in models] == [1, 3, 7, Decimal("0.25"), 9, None]


@pytest.mark.parametrize("model", ["local:qwen2.5-coder-1.5b", "ollama:gpt-5", "llamacpp:x", "lmstudio:a/b"])
def test_a_model_on_a_machine_of_the_users_costs_nothing_unless_they_say_so(model: str) -> None:
    assert cost(model, used(1_000_000, 1_000_000, 5, 5), DAY) == 0
    own = Price(model=model.partition(":")[2], input=Decimal(2), output=Decimal(4))
    assert cost(model, used(1_000_000, 1_000_000), DAY, own=[own]) == 6


def test_without_a_day_it_is_today() -> None:
    assert cost("gpt-5", used(1_000_000), None) == Decimal("1.25")


@pytest.mark.parametrize("row", PRICES, ids=lambda row: f"{row.model} {row.valid_from} {row.over}")
def test_every_row_is_reached_by_its_own_name_on_its_own_day(row: Price) -> None:
    assert price_of(row.model, row.valid_from, prompt_tokens=row.over + 1) == row


def test_no_two_rows_say_the_same_thing() -> None:
    keys = [(row.model, row.valid_from, row.over) for row in PRICES]
    assert len(set(keys)) == len(keys)


def test_every_row_says_where_it_is_from_and_costs_something() -> None:
    wrong = [
        row
        for row in PRICES
        if not row.source or row.input <= 0 or row.output < row.input * ("embedding" not in row.model)
    ]
    assert wrong == []


@given(counts, counts, counts, counts, counts, counts)
def test_costs_add_up(fresh: int, output: int, read: int, more_fresh: int, more_output: int, more_read: int) -> None:
    first, second = used(fresh, output, read), used(more_fresh, more_output, more_read)
    both = used(fresh + more_fresh, output + more_output, read + more_read)
    costs = [cost("claude-haiku-4-5", usage, DAY) for usage in (first, second, both)]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[0] + costs[1] == costs[2]


@given(st.text(max_size=40), st.integers(min_value=0, max_value=4000))
def test_any_name_on_any_day_has_a_price_or_none(name: str, days: int) -> None:
    found = price_of(name, date(2024, 1, 1) + timedelta(days=days))
    assert found is None or found in PRICES


@given(st.sampled_from(PRICES), st.text(alphabet="abcxyz0123456789.", min_size=1, max_size=6))
def test_a_name_that_goes_on_is_another_model(row: Price, rest: str) -> None:
    name = row.model + rest
    listed = {known.model for known in PRICES}
    assert price_of(name, DAY) is None or {name, name.replace(".", "-")} & listed


def test_a_cache_saves_what_reading_from_it_costs_less_and_writing_to_it_costs_more() -> None:
    own = [
        Price(model="m", input=Decimal(10), output=Decimal(50), cached_read=Decimal(1), cached_write=Decimal(12)),
    ]
    read = Usage(input_tokens=5, cached_read_tokens=1_000_000, output_tokens=7)
    written = Usage(input_tokens=5, cached_write_tokens=500_000, output_tokens=7)
    assert saved("m", read, date(2026, 2, 1), own=own) == Decimal(9)
    assert saved("m", written, date(2026, 2, 1), own=own) == Decimal(-1)
    assert saved("m", Usage(input_tokens=5, output_tokens=7), date(2026, 2, 1), own=own) == 0
    assert saved("unknown", read, date(2026, 2, 1)) is None
