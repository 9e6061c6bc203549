"""What the process that answers SQL may use: it cannot raise its own limits again."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource
from dragoman.logs.history.sql_process import _limit
before = resource.getrlimit(resource.RLIMIT_CPU)
_limit(10**8, 2.0)
for name in ("RLIMIT_CPU", "RLIMIT_CORE", "RLIMIT_DATA"):
    soft, hard = resource.getrlimit(getattr(resource, name))
    print(name, soft != resource.RLIM_INFINITY, soft == hard, hard == before[1])
"""


def test_memory_is_limited_for_good_and_time_by_a_signal() -> None:
    """A process over its time gets a signal first, so its hard limit stays; memory cannot be asked for again."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "RLIMIT_CPU True False True",
        "RLIMIT_CORE True True False",
        "RLIMIT_DATA True True False",
    ]
