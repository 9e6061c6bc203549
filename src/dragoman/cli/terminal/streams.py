"""Standard output of a command, kept for its results while tools of others run in the process.

Rule: whatever a tool prints (`print`, `os.write`, a program it starts) goes to standard error. A reader of `--json` or
of an answer in a pipe gets nothing else in between.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_kept: TextIO | None = None


def stdout() -> TextIO:
    """Where results are written to. Use it instead of `sys.stdout`, which may be standard error for the moment."""
    return sys.stdout if _kept is None else _kept


@contextmanager
def naming_output(stream: TextIO) -> Iterator[None]:
    """An error of writing results says that it is about standard output: the system names no file when it writes."""
    try:
        yield
    except OSError as error:
        if stream is stdout():
            error.filename = "standard output"
        raise


@contextmanager
def prints_go_aside(*, own_process: bool) -> Iterator[None]:
    """While this lasts, everything but our own results goes to standard error.

    On a terminal nothing is changed: both are shown there, and readline works on the real standard output alone. Only
    in a process of our own is file descriptor 1 replaced as well: elsewhere it is the user's program that has it.
    """
    global _kept
    before = sys.stdout
    if before.isatty():
        yield
        return
    stream = _moved(before) if own_process else None
    _kept, sys.stdout = stream or before, sys.stderr
    try:
        yield
    finally:
        _kept, sys.stdout = None, before
        if stream is not None:
            try:
                stream.flush()
            finally:
                os.dup2(stream.fileno(), 1)
                with open(os.devnull, "wb") as nowhere:  # what could not be flushed is not tried again
                    os.dup2(nowhere.fileno(), stream.fileno())
                stream.close()


def _moved(stream: TextIO) -> TextIO | None:
    """The same stream over another descriptor, where it has descriptor 1, which becomes standard error."""
    if not isinstance(stream, io.TextIOWrapper):
        return None
    try:
        if stream.fileno() != 1:
            return None
        stream.flush()
        sys.stderr.flush()
        private = os.dup(1)  # not inherited by programs
        os.dup2(sys.stderr.fileno(), 1)
    except OSError:
        return None
    return open(
        private, "w", encoding=stream.encoding, errors=stream.errors, newline="", buffering=1 if stream.isatty() else -1
    )


def plugins_aside() -> contextlib.AbstractContextManager[object]:
    """What a plugin prints while it is imported, because a file names its tool, is not the answer."""
    return contextlib.redirect_stdout(sys.stderr)
