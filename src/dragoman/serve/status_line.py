"""One line of tokens and cost for the status line of a coding agent.

Rules: a client asks for it several times a minute, so the line is made of figures that were counted before, in a file
of the cache folder, and this module imports next to nothing. Figures older than they should be are counted anew by a
process that nobody waits for. What a client says on standard input is text: nothing in it steers a terminal.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Any, Final

FILE: Final = "usage-line.json"
_LOCK: Final = "usage-line.lock"
_EVERY: Final = 15.0
"""Seconds that figures are good for, and longer where counting takes long."""
_SOON: Final = 3.0
"""The same for a session that they do not have yet."""
_SHARE: Final = 20
"""Counting may take this part of the time: one in twenty."""
_OLDEST: Final = 600.0
"""Seconds after which figures are not shown any more: they are counted first."""
_STUCK: Final = 300.0
"""Seconds after which a process that counts is taken to have died."""
_LONGEST: Final = 1 << 20
_PATIENCE: Final = 2.0
"""Seconds to wait for what a client says on standard input."""


def line_here() -> int | None:
    """Prints the line from the figures that are known; `None` where they must be counted first."""
    folder = _cache_folder()
    figures = None if folder is None else _read(folder)
    now = time.time()
    if folder is None or figures is None or not 0 <= now - figures["made"] < _OLDEST:
        return None
    if figures["day"] != time.strftime("%Y-%m-%d", time.gmtime(now)):
        return None
    asked = asked_on_input()
    is_new = asked.get("session_id") not in (None, *figures["sessions"])
    if now - figures["made"] > max(_SOON if is_new else _EVERY, _SHARE * figures["took"]):
        _count_later(folder, now)
    sys.stdout.buffer.write(line_of(figures, asked, now).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _cache_folder() -> str | None:
    """Where the figures are, as `dragoman.config` would say; `None` where only that can tell."""
    named, home = os.environ.get("DRAGOMAN_CACHE_DIR"), os.environ.get("HOME")
    if named:
        return os.path.expanduser(named)
    if not sys.platform.startswith("linux") or not home:
        return None
    settings = (
        os.environ.get("DRAGOMAN_CONFIG_DIR") or f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/dragoman"
    )
    try:
        with open(f"{settings}/config.toml", "rb") as file:
            if b"cache_dir" in file.read():
                return None
    except OSError:
        pass  # there are no settings, or none that say where
    return f"{os.environ.get('XDG_CACHE_HOME') or f'{home}/.cache'}/dragoman"


def _read(folder: str) -> dict[str, Any] | None:
    try:
        with open(f"{folder}/{FILE}", "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return None
    is_ours = isinstance(found, dict) and found.get("layout") == LAYOUT
    return found if is_ours else None


LAYOUT: Final = 1
"""Counts up when the file of figures changes."""


def asked_on_input() -> dict[str, Any]:
    """What a client says on standard input: Claude Code gives the session, the model and more as JSON."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}

    said = b""
    until = time.monotonic() + _PATIENCE
    try:
        file = sys.stdin.fileno()
        while len(said) < _LONGEST and select.select([file], [], [], max(0, until - time.monotonic()))[0]:
            if not (piece := os.read(file, _LONGEST - len(said))):
                break
            said += piece
        found = json.loads(said or b"{}")
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def line_of(figures: dict[str, Any], asked: dict[str, Any], now: float) -> str:
    """The line: model and session where the client named them, today, and the block of five hours."""
    parts = []
    model = asked.get("model")
    name = model.get("display_name") or model.get("id") if isinstance(model, dict) else None
    if isinstance(name, str) and name:
        parts.append("".join(letter for letter in name[:60] if letter.isprintable()))
    session = figures["sessions"].get(asked.get("session_id")) if isinstance(asked.get("session_id"), str) else None
    if session is not None:
        parts.append(f"{_spent(session)} session")
    parts.append(f"{_spent(figures['today'])} today")
    block = figures["block"]
    if block is not None and (left := block["ends"] - now) > 0:
        hours, minutes = divmod(int(left) // 60, 60)
        parts.append(f"{_spent(block)} block, {f'{hours}h{minutes:02}m' if hours else f'{minutes}m'} left")
    return " · ".join(parts)


def _spent(figures: dict[str, Any]) -> str:
    """Dollars; `+` where some of it has no known price; tokens where none has."""
    if figures["cost"] is not None:
        return f"${figures['cost']:,.2f}{'+' if figures['unpriced'] else ''}"
    return f"{figures['tokens'] or 0:,} tokens"


def _count_later(folder: str, now: float) -> None:
    """Starts a process that counts, unless there is one."""
    lock = f"{folder}/{_LOCK}"
    try:
        if now - os.stat(lock).st_mtime < _STUCK:
            return
        os.unlink(lock)
    except OSError:
        pass  # there is none
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        command = [sys.executable, "-P", "-m", "dragoman", "usage", "line", "--count"]
        os.posix_spawn(sys.executable, command, os.environ, file_actions=null, setsid=True)
    except OSError:
        return  # the next one tries again


def counted(folder: os.PathLike[str]) -> None:
    """Takes away what keeps others from counting."""
    try:
        os.unlink(os.path.join(folder, _LOCK))
    except OSError:
        return  # nobody asked for it
