"""Ports one session of every client to every client, and lets the real clients resume them (`make clients`).

    python -m tests.clients                    everything; writes the table of docs/howto/move-a-session.md
    python -m tests.clients codex gemini_cli   only to these clients; writes nothing

Clients are installed from npm where they are not yet (`install`). Exit code 1 when anything is wrong in any cell.
"""

from __future__ import annotations

import datetime
import re
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
_BETWEEN = re.compile(r"(?<=<!-- make clients -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


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
    if not wanted and not failed:
        PAGE.write_text(_BETWEEN.sub(lambda _: table(cells, datetime.date.today()), PAGE.read_text()))
    return 1 if failed else 0


def table(cells: Mapping[tuple[str, str], Seen], day: datetime.date) -> str:
    rows = [f"On {day:%Y-%m-%d}:", "", "| to | version | resumed | listed | calls sent |", "|---|---|---|---|---|"]
    for client in dict.fromkeys(to for to, _ in cells):
        mine = [seen for (to, _), seen in cells.items() if to == client]
        listed = sum(bool(seen.listed) for seen in mine)
        said = f"{listed} of {len(mine)}" if mine[0].listed is not None else "no command for it"
        resumed = f"{sum(not seen.problems for seen in mine)} of {len(mine)}"
        calls = sum(seen.calls for seen in mine)
        rows.append(f"| `{client}` | {VERSIONS[client]} | {resumed} | {said} | {calls} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
