"""Exchanges two names with `renameat2`, over and over, until its input closes; then says how often.

`python swapper.py PAUSE ONE OTHER …` takes any number of pairs, and the longest pause in seconds between two rounds.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import sys

_EXCHANGE = 2
_HERE = -100


def main(longest: float, paths: list[str]) -> None:
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    pairs = [(os.fsencode(one), os.fsencode(other)) for one, other in zip(paths[::2], paths[1::2], strict=True)]
    count = 0
    while not select.select([0], [], [], random.uniform(0, longest))[0]:
        for _ in range(1 if longest else 200):
            for one, other in pairs:
                if exchange(_HERE, one, _HERE, other, _EXCHANGE):
                    sys.exit(os.strerror(ctypes.get_errno()))
            count += 1
    print(count)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
