"""`python -m dragoman` and the command `dragoman`: a process that runs one command and ends with its exit code.

Rules: Ctrl-C shows no traceback, from the first line here to the last; a thread that never ends, of a tool or a plugin,
does not keep the process from ending.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first on the path, and most of dragoman is imported when it is used: a
    # project's `yaml.py` would be taken for the package. A folder `dragoman` was looked for before this line: where the
    # current folder is not yours, use `dragoman` or `python -P -m dragoman`.
    del sys.path[0]

import os
import signal
import time

TYPE_CHECKING = False  # importing it from `typing` would cost a hook as much as asking a server does
if TYPE_CHECKING:
    from typing import NoReturn

_GRACE = 5.0
"""Seconds that Python has to end by itself, waiting for threads that others began."""


def entry() -> NoReturn:
    """Runs the command that this process was started for, and ends the process."""
    # Until the command listens to it, Ctrl-C ends the process as it does any other: without a word.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _at_once()
    if code is None:
        from dragoman.cli import main

        code = main()
    _end(code)
    sys.exit(code)


def _at_once() -> int | None:
    """What is asked so often that loading the command line would be most of the work; `None` for all else."""
    if sys.argv[1:2] == ["hook"]:
        return _hook()
    if sys.argv[1:] == ["usage", "line"]:
        from dragoman.serve.status_line import line_here

        return line_here()
    return None


def _hook() -> int | None:
    """Answers a hook call without the command line, which takes longer to load than the decision takes.

    `None`: it is not the line that `dragoman hook install` writes, so the command line reads it.
    """
    words = sys.argv[2:]
    options = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or not options.keys() <= {"--client", "--event"} or len(options) * 2 != len(words):
        return None
    client, event = options.get("--client"), options.get("--event")
    from dragoman.hook_socket import answer_from_server

    code, payload = answer_from_server(client, event)
    if code is not None:
        return code
    from dragoman.serve.hook import CLIENTS, answer_here

    return None if client is not None and client not in CLIENTS else answer_here(client, event, payload)


def _end(code: int) -> None:
    # A KeyboardInterrupt that passed through an `exec` of text (a dataclass or named tuple being defined, say) makes
    # CPython 3.11 kill a process of `python -m` with SIGINT at its end, although it was caught; the next `exec` of text
    # clears that (`run_eval_code_obj` in pythonrun.c).
    exec("")

    def end_at_once(*_: object) -> NoReturn:
        os._exit(code)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end_at_once)
    if "threading" not in sys.modules:
        return
    import threading

    def end_later() -> None:
        time.sleep(_GRACE)
        os._exit(code)

    others = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    if others:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        threading.Thread(target=end_later, daemon=True).start()


if __name__ == "__main__":
    entry()
