"""What a shell is offered when it completes a word of ours.

Rule: only plain words are offered. Names come from files of any project; a shell inserts them into the line as they
are, where `$(…)` would run, and prints them, where control characters would steer the terminal.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from .console import Console

# What any of bash, zsh and fish takes for more than a letter, wherever in a word it is.
_SPECIAL: Final = frozenset(" \"'`$\\|&;<>()[]{}*?!~#^")


def answer(console: Console, command: click.Command, instruction: str) -> int:
    """Prints what the shell asks for: `bash_source` is its script, `bash_complete` the words that fit."""
    shell, _, wanted = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None or wanted not in ("source", "complete"):
        return 1
    completion = kind(command, {"obj": console}, "dragoman", "_DRAGOMAN_COMPLETE")
    if wanted == "source":
        click.echo(completion.source())
        return 0
    items: list[CompletionItem] = []
    # What is wrong with a project's files is said by the command itself: here it would be written into the user's line.
    with contextlib.suppress(DragomanError, OSError), contextlib.redirect_stdout(io.StringIO()):
        items = list(_fitting(completion))
    click.echo("\n".join(completion.format_completion(item) for item in items))
    return 0


def _fitting(completion: ShellComplete) -> Iterable[CompletionItem]:
    arguments, incomplete = completion.get_completion_args()
    for item in completion.get_completions(arguments, incomplete):
        if item.type != "plain":
            yield item
        elif is_plain_word(item.value) and (item.value[:1] != "-" or incomplete[:1] == "-"):
            item.help = item.help if item.help is not None and item.help.isprintable() else None
            yield item


def is_plain_word(text: str) -> bool:
    """Whether a shell takes this text for itself, on a command line and on the screen."""
    return text.isprintable() and _SPECIAL.isdisjoint(text)
