"""Figures from attempts: how many tasks were done, and what a vocabulary changes on the same tasks, with intervals.

Rule: vocabularies are compared pair by pair, on the tasks and seeds that both were tried with. Attempts that ended in
an error of the provider say nothing about the model and count for neither.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .evaluation import Attempt

RESAMPLES = 2000
Z = 1.959964
"""Of a normal distribution, what 95 % lie within."""


class Rate(msgspec.Struct, frozen=True):
    """How often one model did its tasks in one vocabulary. `low` and `high` are a 95 % interval (Wilson)."""

    model: str
    vocabulary: str
    attempts: int
    done: int
    rate: float
    low: float
    high: float
    errors: int
    """Attempts that ended in an error of the provider; they are not among `attempts`."""
    misread: int
    """Calls with a wrong name, or with arguments that do not fit or that the tool refused."""
    calls: int
    tokens: int | None
    cost: float | None
    seconds: float


class Difference(msgspec.Struct, frozen=True):
    """What a vocabulary changes against another: the difference of the rates on the same tasks and seeds.

    `low` and `high` are a 95 % interval (bootstrap over tasks); `p` is that of an exact sign test over the tasks on
    which the two differ.
    """

    model: str
    vocabulary: str
    against: str
    pairs: int
    difference: float
    low: float
    high: float
    better: int
    worse: int
    p: float


def rates(attempts: Iterable[Attempt]) -> list[Rate]:
    """One row for each model and vocabulary, in the order they were tried."""
    groups: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        groups[attempt.model, attempt.vocabulary].append(attempt)
    found = []
    for (model, vocabulary), group in groups.items():
        judged = [one for one in group if one.done is not None]
        done = sum(bool(one.done) for one in judged)
        low, high = wilson(done, len(judged))
        tokens = [one.tokens for one in judged]
        costs = [one.cost for one in judged]
        found.append(
            Rate(
                model,
                vocabulary,
                len(judged),
                done,
                done / len(judged) if judged else math.nan,
                low,
                high,
                len(group) - len(judged),
                sum(one.misread for one in judged),
                sum(one.calls for one in judged),
                None if None in tokens else sum(one for one in tokens if one is not None),
                None if None in costs else sum(one for one in costs if one is not None),
                sum(one.seconds for one in judged),
            )
        )
    return found


def wilson(done: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a rate."""
    if of == 0:
        return math.nan, math.nan
    rate, square = done / of, Z * Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    width = Z * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - width), min(1.0, middle + width)


def differences(attempts: Sequence[Attempt], against: str | None = None) -> list[Difference]:
    """Each vocabulary against one of them, the first that was tried unless another is named."""
    done: dict[tuple[str, str], dict[tuple[str, int], bool]] = defaultdict(dict)
    for attempt in attempts:
        if attempt.done is not None:
            done[attempt.model, attempt.vocabulary][attempt.task, attempt.seed] = attempt.done
    found = []
    for model in dict.fromkeys(model for model, _ in done):
        vocabularies = [vocabulary for one, vocabulary in done if one == model]
        base = against if against is not None else vocabularies[0]
        for vocabulary in vocabularies:
            if vocabulary != base and base in vocabularies:
                found.append(_paired(model, vocabulary, base, done[model, vocabulary], done[model, base]))
    return found


def _paired(
    model: str, vocabulary: str, base: str, one: dict[tuple[str, int], bool], other: dict[tuple[str, int], bool]
) -> Difference:
    by_task: dict[str, list[int]] = defaultdict(list)
    for key in one.keys() & other.keys():
        by_task[key[0]].append(one[key] - other[key])
    means = [sum(values) / len(values) for _, values in sorted(by_task.items())]
    pairs = sum(map(len, by_task.values()))
    better, worse = sum(mean > 0 for mean in means), sum(mean < 0 for mean in means)
    low, high = bootstrap(means)
    difference = sum(means) / len(means) if means else math.nan
    return Difference(model, vocabulary, base, pairs, difference, low, high, better, worse, sign_test(better, worse))


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval of a mean, by drawing the values again; the same values give the same interval."""
    if not values:
        return math.nan, math.nan
    draw = random.Random(0)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def sign_test(better: int, worse: int) -> float:
    """How likely a split at least this uneven is if both are equally likely, two-sided."""
    of = better + worse
    tail: float = sum(math.comb(of, number) for number in range(min(better, worse) + 1)) / 2**of
    return min(1.0, 2 * tail)
