"""Run benches and print their ratios: `python -m bench [--repetitions 5] [name …]`.

Every repetition visits all cells of all benches in a new order, each in a new process; a ratio
therefore compares cells that met the same weather. Absolute times are never printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from bench.benches import NAMES, Bench, Target, load
from bench.environments import OURS, PACKAGES, ROOT, prepare, versions_in

Costs = dict[str, list[float]]
"""Column → the best cost of each of its processes."""


def run_cell(python: Path, bench: str, column: str) -> float:
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
    costs: list[float] = json.loads(done.stdout.splitlines()[-1])
    return min(costs)


def run_all(benches: dict[str, Bench], repetitions: int) -> dict[str, Costs]:
    cells = [(name, column) for name, bench in benches.items() for column in bench.environments]
    pythons = {
        environment: prepare(environment)
        for environment in sorted(
            {bench.environments[column] for bench in benches.values() for column in bench.environments}
        )
    }
    costs: dict[str, Costs] = {name: defaultdict(list) for name in benches}
    shuffle = random.Random(1).shuffle
    for repetition in range(repetitions):
        shuffle(cells)
        for number, (name, column) in enumerate(cells):
            show_progress(f"repetition {repetition + 1} of {repetitions}, cell {number + 1} of {len(cells)}")
            python = pythons[benches[name].environments[column]]
            costs[name][column].append(run_cell(python, name, column))
    show_progress("")
    return costs


def show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


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
    asked = parser.parse_args()

    benches = {full: bench for name in asked.names for full, bench in load(name).items()}
    all_met = True
    results = run_all(benches, asked.repetitions)
    print(f"CPU time, {asked.repetitions} processes a cell, interleaved. {named_versions(benches)}\n")
    for name, bench in benches.items():
        costs = net(bench, results[name])
        print("\n".join(table(bench, costs)))
        for target in bench.targets:
            met, said = verdict(target, costs)
            all_met = all_met and met
            print(said)
        print()
    return 0 if all_met else 1


sys.exit(main())
