"""A bubblewrap for machines that have none: it runs a command as it is, and passes the trial as the real one does."""

from __future__ import annotations

from pathlib import Path

_PROGRAM = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
case "$6" in */outside) exec "$1" "$2" "$3" "$4" "$5" /nonexistent;; esac
exec "$@"
"""


def pretended_bubblewrap(folder: Path) -> Path:
    """A program `bwrap` in a folder, for tests of what is done around a sandbox, not of the sandbox."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bwrap"
    program.write_text(_PROGRAM)
    program.chmod(0o755)
    return program
