"""Ports one session of every client to every client, and lets the real clients resume them (`make clients`).

    python -m tests.clients                    to every client
    python -m tests.clients codex gemini_cli   only to these

Clients are installed from npm where they are not yet (`install`). What was seen is written into the table of
docs/howto/move-a-session.md. Exit code 1 when anything is wrong in any cell; then the table stays as it is.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dragoman.logs.port import targets
from tests.conformance.conftest import SHARED

from .cell import SOURCES, Seen, tried
from .install import VERSIONS, program

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "move-a-session.md"
HEAD = "| to | version | tried | sessions resumed | listed | calls sent |"


def main(wanted: Sequence[str]) -> int:
    clients = list(wanted or targets())
    for client in clients:
        print(f"{client} {VERSIONS[client]}: {program(client)}", flush=True)
    cells: dict[tuple[str, str], Seen] = {}
    with (
        tempfile.TemporaryDirectory(prefix="clients-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(2) as pool,
    ):
        running = {
            (to, source): pool.submit(tried, to, source, SHARED, Path(folder, f"{to}-{source}"))
            for to in clients
            for source in SOURCES
        }
        for (to, source), future in running.items():
            seen = cells[to, source] = future.result()
            print(f"{source} → {to}: {'; '.join(seen.problems) or f'{seen.calls} calls'}", flush=True)
    failed = sum(bool(seen.problems) for seen in cells.values())
    print(f"{len(cells) - failed} of {len(cells)} sessions were resumed with their whole history")
    if not failed:
        _note(cells, datetime.date.today())
    return 1 if failed else 0


def _note(cells: Mapping[tuple[str, str], Seen], day: datetime.date) -> None:
    """Writes the rows of these clients into the page; those of others stay."""
    lines = PAGE.read_text().splitlines()
    begin = lines.index(HEAD) + 2
    end = next(number for number in range(begin, len(lines)) if not lines[number])
    rows = {line.split("`")[1]: line for line in lines[begin:end]}
    for client in dict.fromkeys(to for to, _ in cells):
        mine = [seen for (to, _), seen in cells.items() if to == client]
        listed = "no command for it" if mine[0].listed is None else f"{sum(bool(seen.listed) for seen in mine)}"
        calls = sum(seen.calls for seen in mine)
        rows[client] = f"| `{client}` | {VERSIONS[client]} | {day} | {len(mine)} | {listed} | {calls} |"
    lines[begin:end] = [rows[client] for client in sorted(rows)]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
