"""Which version of a client is installed, as the client itself says it.

Rule: only a program that PATH names with its whole path is run, in the root folder, so that nothing in the current one
takes part, and for a few seconds at the most.
"""

from __future__ import annotations

import os
import re
import signal

from dragoman.environment import USUAL, child_environment

_SECONDS = 10
"""Most clients answer within one second; those that load much JavaScript take two."""
_VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")


def installed_version(program: str, seconds: float = _SECONDS) -> str | None:
    """What `program --version` prints; `None` when there is no such program or it says nothing of the kind."""
    import subprocess
    import tempfile

    from dragoman.tools.processes import find_program

    found = find_program(program)
    if found is None:
        return None
    # Files, not pipes: what the program may leave behind would hold a pipe open.
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as noted:
        try:
            process = subprocess.Popen(
                [found, "--version"],
                cwd=os.path.abspath(os.sep),
                env=child_environment(*USUAL),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=noted,
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for output in (said, noted):  # pi tells its version where others tell problems
            output.seek(0)
            version = _VERSION.search(output.read(10_000).decode("utf-8", "replace"))
            if version is not None:
                return version[0]
    return None
