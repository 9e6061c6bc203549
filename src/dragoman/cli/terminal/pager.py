"""A long text looked at page by page on the terminal: with the program in $PAGER, else with a few keys of our own."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from dragoman.environment import USUAL, child_environment

if TYPE_CHECKING:
    from .keyboard import Keyboard

_FOR_PAGERS: Final = ("BAT_*", "COLUMNS", "DELTA_*", "LESS*", "LESSKEY", "LESSKEYIN", "LINES", "LV", "MORE", "NO_COLOR")


async def viewed(rows: Sequence[str], styled: Sequence[str], keyboard: Keyboard, say: Callable[[str], None]) -> None:
    """Shows rows of text, all of them if the user wants. `rows` are plain, for a program; `styled` are for us."""
    command = shlex.split(os.environ.get("PAGER", ""))
    if command and await _by_program(command, rows, say):
        return
    await _by_keys(styled, keyboard, say)


async def _by_program(command: list[str], rows: Sequence[str], say: Callable[[str], None]) -> bool:
    """Whether a program could be started that shows the text. It has the terminal until it ends."""
    try:
        # What it writes goes to the terminal, also where our own output is in a pipe. It reads keys from there itself.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=sys.stderr, env=child_environment(*USUAL, *_FOR_PAGERS)
        )
    except OSError as error:
        say(f"$PAGER cannot be started ({command[0]}: {error.strerror}), so the text is shown here:")
        return False
    try:
        await process.communicate(("\n".join(rows) + "\n").encode("utf-8", "backslashreplace"))
    except asyncio.CancelledError:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        raise
    return True


async def _by_keys(rows: Sequence[str], keyboard: Keyboard, say: Callable[[str], None]) -> None:
    height = max(5, _height() - 1)
    for start in range(0, len(rows), height):
        for row in rows[start : start + height]:
            say(row)
        end = start + height
        if end < len(rows):
            keyboard.forget()
            sys.stderr.write(f"-- {end:,} of {len(rows):,} rows; Enter: more, q: back to the question -- ")
            sys.stderr.flush()
            said = await keyboard.line()
            if said is None or said.strip().lower() in ("q", "quit"):
                return


def _height() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines or 24
    except OSError:
        return 24
