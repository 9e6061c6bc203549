"""Ports one session of every client to every client, and lets the real clients resume them (`make clients`).

    python -m tests.clients                    to every client
    python -m tests.clients codex gemini_cli   only to these

Clients are installed from npm where they are not yet (`install`). What was seen is written into the table of
docs/howto/move-a-session.md. Exit code 1 when anything is wrong in any cell; then the table stays as it is.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from dragoman.logs.port import targets
from tests.conformance.conftest import SHARED

from .cell import SOURCES, Seen, tried
from .install import VERSIONS, program
from .table import change_rows, each_tried

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "move-a-session.md"
HEAD = "| to | version | tried | sessions resumed | listed | calls sent |"


def main(wanted: Sequence[str]) -> int:
    clients = list(wanted or targets())
    for client in clients:
        print(f"{client} {VERSIONS[client]}: {program(client)}", flush=True)
    cells: dict[tuple[str, str], Seen] = {}
    asked = {(to, source): partial(tried, to, source, SHARED) for to in clients for source in SOURCES}
    for (to, source), seen in each_tried(asked):
        cells[to, source] = seen
        print(f"{source} → {to}: {'; '.join(seen.problems) or f'{seen.calls} calls'}", flush=True)
    failed = sum(bool(seen.problems) for seen in cells.values())
    print(f"{len(cells) - failed} of {len(cells)} sessions were resumed with their whole history")
    if not failed:
        change_rows(PAGE, HEAD, partial(_rows, cells, datetime.date.today()))
    return 1 if failed else 0


def _rows(cells: Mapping[tuple[str, str], Seen], day: datetime.date, earlier: Sequence[str]) -> list[str]:
    """The rows of these clients; those of others stay."""
    rows = {line.split("`")[1]: line for line in earlier}
    for client in dict.fromkeys(to for to, _ in cells):
        mine = [seen for (to, _), seen in cells.items() if to == client]
        listed = "no command for it" if mine[0].listed is None else f"{sum(bool(seen.listed) for seen in mine)}"
        calls = sum(seen.calls for seen in mine)
        rows[client] = f"| `{client}` | {VERSIONS[client]} | {day} | {len(mine)} | {listed} | {calls} |"
    return [rows[client] for client in sorted(rows)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
