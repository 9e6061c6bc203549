"""Run benches and print their ratios: `python -m bench [--repetitions 5] [--keep FILE [--minutes 15]] [name …]`.

Every repetition visits all cells of all benches in a new order, each in a new process; a ratio
therefore compares cells that met the same weather. Absolute times are never printed. With `--keep`
each cell is written down as soon as it is measured and is not measured again, so a long run may be
stopped and gone on with; `--minutes` begins no cell after that time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.benches import NAMES, Bench, Target, load
from bench.environments import OURS, PACKAGES, ROOT, prepare, versions_in

Costs = dict[str, list[float]]
"""Column → the best cost of each of its processes."""


class Cell(NamedTuple):
    """What one process measured."""

    bench: str
    column: str
    costs: list[float]
    cores: float
    """How many of them it used."""
    others: float
    """How many of them everything else on the machine used meanwhile."""


class Kept:
    """Cells that were measured, in a file if one is named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.cells: list[Cell] = []
        if path is not None and path.exists():
            self.cells = [Cell(**json.loads(line)) for line in path.read_text().splitlines()]

    def add(self, cell: Cell) -> None:
        self.cells.append(cell)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(cell._asdict()) + "\n")

    def of(self, bench: str, column: str) -> list[Cell]:
        return [cell for cell in self.cells if (cell.bench, cell.column) == (bench, column)]


def run_cell(python: Path, bench: str, column: str) -> Cell:
    done = subprocess.run(
        [python, "-m", "bench.cell", bench, column],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"bench {bench}, column {column} failed:\n{done.stderr[-3000:]}")
    return Cell(bench, column, **json.loads(done.stdout.splitlines()[-1]))


def run_all(benches: dict[str, Bench], repetitions: int, kept: Kept, until: float) -> None:
    cells = [(name, column) for name, bench in benches.items() for column in bench.environments]
    pythons = {
        environment: prepare(environment)
        for environment in sorted(
            {bench.environments[column] for bench in benches.values() for column in bench.environments}
        )
    }
    shuffle = random.Random(1).shuffle
    for repetition in range(repetitions):
        shuffle(cells)
        for number, (name, column) in enumerate(cells):
            if len(kept.of(name, column)) > repetition or time.monotonic() > until:
                continue
            show_progress(f"repetition {repetition + 1} of {repetitions}, cell {number + 1} of {len(cells)}")
            python = pythons[benches[name].environments[column]]
            kept.add(run_cell(python, name, column))
    show_progress("")


def show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def costs_of(name: str, bench: Bench, kept: Kept) -> Costs:
    return {column: [min(cell.costs) for cell in kept.of(name, column)] for column in bench.environments}


def net(bench: Bench, costs: Costs) -> Costs:
    if bench.net_of is None:
        return costs
    start = min(costs[bench.net_of])
    return {column: [cost - start for cost in each] for column, each in costs.items() if column != bench.net_of}


def table(bench: Bench, costs: Costs) -> list[str]:
    floor = costs[bench.floor]
    lines = [f"{bench.question}  (× {bench.floor})", f"  {'':24}{'best':>9}{'median':>9}"]
    for column, each in sorted(costs.items(), key=lambda item: min(item[1])):
        lines.append(f"  {column:24}{min(each) / min(floor):9.2f}{median(each) / median(floor):9.2f}")
    return lines


def weather(name: str, bench: Bench, kept: Kept) -> list[str]:
    """Of each column's best process, how many cores it used and how many all others used meanwhile."""
    best = [min(kept.of(name, column), key=lambda cell: min(cell.costs)) for column in bench.environments]
    return [f"  {one.column}: {one.cores:.2f} cores, others {one.others:.2f} meanwhile" for one in best]


def verdict(target: Target, costs: Costs) -> tuple[bool, str]:
    ratio = min(costs[target.column]) / min(costs[target.floor])
    met = ratio <= target.most
    said = (
        f"  {'met   ' if met else 'MISSED'}  {target.column} is {ratio:.3g} × {target.floor}; at most {target.most:.3g}"
    )
    return met, said


def named_versions(benches: dict[str, Bench]) -> str:
    environments = {environment for bench in benches.values() for environment in bench.environments.values()}
    found: dict[str, str] = {}
    for name in sorted(environments):
        versions = versions_in(name)
        for asked in PACKAGES[name]:
            for package in ("dragoman", "msgspec", "httptools") if asked == OURS else (asked.partition("[")[0],):
                found[package] = versions[package]
    return ", ".join([f"Python {sys.version.split()[0]}", *(f"{name} {version}" for name, version in found.items())])


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"which benches: {', '.join(NAMES)}")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write cells there, and measure only those missing")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell after so many")
    asked = parser.parse_args()

    benches = {full: bench for name in asked.names for full, bench in load(name).items()}
    all_met = True
    kept = Kept(asked.keep)
    run_all(benches, asked.repetitions, kept, time.monotonic() + 60 * asked.minutes)
    print(f"CPU time, {asked.repetitions} processes a cell, interleaved. {named_versions(benches)}\n")
    for name, bench in benches.items():
        measured = costs_of(name, bench, kept)
        if (fewest := min(map(len, measured.values()))) < asked.repetitions:
            print(f"{name}: {fewest} of {asked.repetitions} repetitions were measured; run it again with --keep")
            all_met = False
        if not fewest:
            continue
        costs = net(bench, measured)
        print("\n".join(table(bench, costs)))
        if bench.reads_clock:
            print("\n".join(weather(name, bench, kept)))
        for target in bench.targets:
            met, said = verdict(target, costs)
            all_met = all_met and met
            print(said)
        print()
    return 0 if all_met else 1


sys.exit(main())
