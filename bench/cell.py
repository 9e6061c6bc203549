"""One column of one bench, in this process: `python -m bench.cell define msgspec` prints its costs as JSON."""

from __future__ import annotations

import json
import os
import sys

from bench.benches import load


def main(bench: str, column: str) -> None:
    costs = load(bench)[bench].measure(column)
    # The real standard output, whatever a peer did to sys.stdout; and no waiting for its threads at exit.
    os.write(1, b"\n" + json.dumps(list(costs)).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":  # processes that a column starts (Dask's) import this file again
    main(*sys.argv[1:])
