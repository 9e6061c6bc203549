"""The list of benches, and what a bench is: add a file with a `BENCH` (or several, `BENCHES`), and its name here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

NAMES = (
    *("define", "dispatch", "cold", "read_call", "search_text", "find_files", "list_directory", "files", "commands"),
    *("decode", "partial", "encode", "long_runs", "loop", "cache", "sessions", "history", "grep", "logs"),
    *("real_logs", "stats", "stores", "company", "view"),
    "gateway",
)


@dataclass(frozen=True)
class Target:
    """`column` costs at most `most` times what `floor` costs."""

    column: str
    floor: str
    most: float


@dataclass(frozen=True)
class Bench:
    """One question asked of several columns, each in a process of its own.

    `measure` is called inside the column's environment and gives the costs of one process,
    each divided by the calibration (`bench.stopwatch` does both).
    """

    question: str
    environments: Mapping[str, str]
    """Column → the name of the environment it runs in (`bench.environments`)."""
    floor: str
    """The column all others are shown against."""
    targets: Sequence[Target]
    measure: Callable[[str], Sequence[float]]
    net_of: str | None = None
    """A column whose cost is taken off all others: what one pays before anything begins."""
    reads_clock: bool = False
    """Whether costs are seconds on the clock: then it is told how busy the machine was."""


def load(name: str) -> dict[str, Bench]:
    """The benches of one file by their full names: `define`, or `decode:openai_chat` and its siblings."""
    from importlib import import_module

    name, _, part = name.partition(":")
    if name not in NAMES:
        raise SystemExit(f"no bench is called {name!r}; there are: {', '.join(NAMES)}")
    module = import_module(f"bench.{name}")
    if hasattr(module, "BENCH"):
        return {name: module.BENCH}
    benches: dict[str, Bench] = {f"{name}:{each}": bench for each, bench in module.BENCHES.items()}
    if not part:
        return benches
    if f"{name}:{part}" not in benches:
        raise SystemExit(f"no bench is called {name}:{part}; there are: {', '.join(benches)}")
    return {f"{name}:{part}": benches[f"{name}:{part}"]}
