"""Which version of a client is installed, as the client itself says it.

Rule: nothing that lies in the current project is run, whatever PATH says: tools like direnv put folders of a project
there with their whole path. The program runs in the root folder, and for a few seconds at the most.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from pathlib import Path

from dragoman.config.files import home_folder
from dragoman.environment import USUAL, child_environment

_SECONDS = 10
"""Most clients answer within one second; those that load much JavaScript take two."""
_VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")


def installed_version(program: str, seconds: float = _SECONDS) -> str | None:
    """What `program --version` prints; `None` when there is no such program or it says nothing of the kind."""
    import subprocess

    from dragoman.tools.processes import find_program

    project = _project()
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = find_program(program, os.pathsep.join(one for one in entries if not _is_in(one, project)))
    if found is None or _is_in(found, project):  # a link to a program of the project is none of the user's either
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


def _project() -> str | None:
    """The repository around the current folder, else that folder; `None` if the user's own programs are in it."""
    here = os.path.realpath(os.curdir)
    above = [here]
    while above[-1] != os.path.dirname(above[-1]):
        above.append(os.path.dirname(above[-1]))
    root = next((folder for folder in above if os.path.exists(os.path.join(folder, ".git"))), here)
    return None if _is_in(str(home_folder()), root) else root


def _is_in(path: str, folder: str | None) -> bool:
    return folder is not None and Path(os.path.realpath(path)).is_relative_to(folder)
