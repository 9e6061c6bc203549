"""Finding a rare string in 1 GB of recorded sessions: the command as a whole, beside ripgrep over the same files.

What ripgrep gives is lines; what we give is the events they hold, typed, with their place in the session.
"""

from __future__ import annotations

import os
import subprocess
import sys

from bench.benches import Bench, Target
from bench.corpus import corpus
from bench.environments import LAB
from bench.stopwatch import per_process

SILENT = "import os, sys; os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
FOUND = SILENT + "from dragoman.cli import main; sys.exit(main(sys.argv[1:]))"


def rare() -> str:
    """A string that stands in one file alone: the id of a call in the middle of them all."""
    from dragoman.logs import read
    from dragoman.model import ToolCalled

    files = corpus().files
    for event in read(files[len(files) // 2]):
        if isinstance(event, ToolCalled) and event.source is not None:
            said = event.call.native.id
            break
    else:
        raise SystemExit("the corpus holds no call")
    return said


def measure(column: str) -> list[float]:
    from dragoman.tools.processes import ripgrep_path

    home, wanted = corpus().home, rare()
    cache = str(LAB / "grep-cache")
    os.environ |= {"HOME": str(home), "DRAGOMAN_CACHE_DIR": cache, "DRAGOMAN_DATA_DIR": cache}
    os.environ.pop("CLAUDE_CONFIG_DIR", None)
    commands = {
        "ours": [sys.executable, "-I", "-c", FOUND, "lab", "grep", "--raw=bytes", wanted],
        "ours, beside what was read": [sys.executable, "-I", "-c", FOUND, "lab", "grep", "--raw", wanted],
        "ripgrep": [ripgrep_path(), "--no-config", "--hidden", "--count", "-F", wanted, str(home / ".claude")],
    }
    subprocess.run(commands[column], check=True, stdout=subprocess.DEVNULL)  # it is found, and the pages are read
    return per_process(commands[column])


BENCH = Bench(
    question="find a rare string in 1 GB of logs",
    environments={"ours": "base", "ours, beside what was read": "base", "ripgrep": "base"},
    floor="ripgrep",
    targets=(Target("ours", "ripgrep", 2),),
    measure=measure,
)
