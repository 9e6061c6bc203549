"""Runs the real clients on scripted models of other makers, through `dragoman gateway` (`make clients`).

    python -m tests.clients.matrix             every pair
    python -m tests.clients.matrix codex pi    only these clients

What was done is written into the table of docs/howto/any-client-any-model.md. Exit code 1 when anything is wrong in any
cell; then the table stays as it is.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.conformance.conftest import SHARED

from .behind_gateway import PAIRS, STARTED, Seen, expected, tried
from .install import VERSIONS
from .table import change_rows, each_tried
from .task import MODELS, PARTS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "any-client-any-model.md"
HEAD = f"| client | on | tried | {' | '.join(PARTS)} |"


def main(wanted: Sequence[str]) -> int:
    pairs = [(client, api) for client, api in PAIRS if not wanted or client in wanted]
    cells: dict[tuple[str, str], Seen] = {}
    asked = {(client, api): partial(tried, client, api, SHARED) for client, api in pairs}
    for (client, api), seen in each_tried(asked):
        cells[client, api] = seen
        right = seen == expected(client)
        print(f"{client} on {MODELS[api].named}: {', '.join(seen.parts) if right else seen}", flush=True)
    failed = sum(seen != expected(client) for (client, _), seen in cells.items())
    print(f"{len(cells) - failed} of {len(cells)} clients did the whole task")
    if not failed:
        change_rows(PAGE, HEAD, partial(_rows, cells, datetime.date.today()))
    return 1 if failed else 0


def _rows(cells: Mapping[tuple[str, str], Seen], day: datetime.date, earlier: Sequence[str]) -> list[str]:
    """The rows of these pairs; those of others stay."""
    rows = {tuple(line.split("|")[1:3]): line for line in earlier}
    for (client, api), seen in cells.items():
        named, on = f" {client} {VERSIONS[client]} ", f" {MODELS[api].named} "
        done = ["yes" if part in seen.parts else f"no: {STARTED[client].lacks[part]}" for part in PARTS]
        stale = [key for key in rows if key[0].split()[0] == client and key[1] == on]
        for key in stale:
            del rows[key]
        rows[named, on] = f"|{named}|{on}| {day} | {' | '.join(done)} |"
    return [rows[key] for key in sorted(rows)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
