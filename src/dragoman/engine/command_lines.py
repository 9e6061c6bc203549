"""Command lines as rules see them: the simple commands in a line, and whether they are all there is to it.

Rules: reading takes time linear in the line, and errs to the strict side. A line is `plain` only when it consists of
simple commands and nothing else the shell would act on: no substitution, grouping, keyword, assignment, background
job, comment or escape, and no redirection but those that reach nothing (`2>&1`, `> /dev/null`). What a rule that
forbids is matched against is the opposite: everything in the line that looks like a command, also inside of what is
not understood.

This is no shell. A line can still run something that is nowhere in it (a variable, a script, an alias): rules on
commands are for people and models that cooperate, and a sandbox for the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache
from posixpath import basename
from typing import Final, NamedTuple

_KEYWORDS: Final = frozenset(
    "if then elif else fi for while until do done case esac in select function coproc { } ! [[ ]] time".split()  # noqa: SIM905
)
_SHELLS: Final = frozenset("sh bash dash zsh ksh ash fish busybox".split())  # noqa: SIM905
_WRAPPERS: Final = frozenset(
    "sudo doas su env nohup nice ionice time timeout stdbuf setsid command builtin exec eval xargs chroot unshare "  # noqa: SIM905
    "nsenter strace ltrace watch parallel fakeroot flock script ssh find fd".split()
)
"""Programs that run another one, named somewhere behind them."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DEEPEST: Final = 4


class Candidate(NamedTuple):
    """A text that may be a command. `anywhere`: a command may begin at any word of it."""

    text: str
    anywhere: bool = False


class CommandLine(NamedTuple):
    """A line: the simple commands it is made of, as they are written; whether that is all of it; and all candidates."""

    commands: tuple[str, ...]
    plain: bool
    candidates: tuple[Candidate, ...]


@lru_cache(maxsize=64)
def read_command_line(line: str) -> CommandLine:
    """A line as rules see it."""
    commands, plain = _split(line)
    candidates = dict.fromkeys([Candidate(line), Candidate(line.strip())])
    for command in dict.fromkeys(commands):
        candidates.update(dict.fromkeys(_candidates(command, 0)))
    if not plain:
        # Inside of quotes and substitutions too: where it is not clear what runs, everything is looked at.
        for piece in dict.fromkeys(_BREAKS.split(line)):
            candidates.update(dict.fromkeys(_candidates(piece, 0)))
    return CommandLine(tuple(commands), plain, tuple(one for one in candidates if one.text))


_BREAKS: Final = re.compile(r"[;&|<>(){}`\n\r]+|\$(?=[({'\"])")
_SEPARATORS: Final = ("&&", "||", ";", "|", "\n")
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \t_-+=.,:/@%^~*?[]'\"")


_IDLE: Final = re.compile(r"(?:[0-9]?>&[0-9]|[0-9]?>>? ?/dev/null|0?< ?/dev/null)(?=[\s;|&]|\Z)")
"""Redirections that reach nothing: of one descriptor to another, and to the file that holds nothing."""


def _split(line: str) -> tuple[list[str], bool]:
    """The simple commands of a line, and whether there is nothing else in it."""
    commands: list[str] = []
    pieces: list[str] = []
    plain = True
    start = place = 0
    while place < len(line):
        character = line[place]
        if character in "'\"":
            end = line.find(character, place + 1)
            inside = line[place + 1 : end]
            if end < 0 or (character == '"' and any(one in inside.replace("$?", "") for one in "$`\\!")):
                plain = False
            if end < 0:
                break
            place = end + 1
            continue
        idle = _IDLE.match(line, place) if place == start or line[place - 1].isspace() else None
        if idle is not None:
            pieces.append(line[start:place])
            place = start = idle.end()
            continue
        separator = next((one for one in _SEPARATORS if line.startswith(one, place)), None)
        if separator is not None:
            if separator == "|" and line.startswith("|&", place):
                plain = False
            commands.append("".join([*pieces, line[start:place]]).strip())
            pieces = []
            place += len(separator)
            start = place
            continue
        if line.startswith("$?", place):  # a number
            place += 2
            continue
        if character not in _PLAIN and not (character.isalnum() and character.isprintable()):
            plain = False
        place += 1
    commands.append("".join([*pieces, line[start:]]).strip())
    # An empty command is a mistake, or the end of the line.
    whole = [command for command in commands if command]
    if any(not command for command in commands[:-1]):
        plain = False
    heads = [words_of(command)[0] for command in whole]
    # An assignment before a command can make it another one: PATH, LD_PRELOAD, GIT_SSH_COMMAND.
    acts = any(head in _KEYWORDS or _ASSIGNMENT.match(head) for head in heads)
    return whole, plain and bool(whole) and not acts


def words_of(command: str) -> list[str]:
    """The words of a command without their quotes and escapes; at least one."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    place = 0
    while place < len(command):
        character = command[place]
        if quote:
            if character == quote:
                quote = ""
            elif word is not None:
                word.append(character)
        elif character in "'\"":
            quote = character
            word = [] if word is None else word
        elif character == "\\":
            place += 1
            word = [] if word is None else word
            if place < len(command) and command[place] != "\n":
                word.append(command[place])
        elif character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = [] if word is None else word
            word.append(character)
        place += 1
    if word is not None:
        words.append("".join(word))
    return words or [""]


def _candidates(command: str, depth: int) -> list[Candidate]:
    """What a rule that forbids is matched against: the command in every spelling, and what it makes others run."""
    words = words_of(command.strip())
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return []
    wraps = basename(words[0]) in _WRAPPERS
    found = [Candidate(command.strip(), wraps), Candidate(" ".join(words), wraps)]
    found.append(Candidate(" ".join([basename(words[0]), *words[1:]]), wraps))
    if wraps:
        found.append(Candidate(" ".join(map(basename, words)), anywhere=True))
    shells = [place for place, word in enumerate(words) if basename(word) in _SHELLS or word == "eval"]
    if shells and depth < _DEEPEST:
        # `sh -c '…'`: an argument is a command line of its own.
        for argument in words[shells[0] + 1 :]:
            if any(character.isspace() or character in ";&|$`" for character in argument):
                for inner in _BREAKS.split(argument):
                    found += _candidates(inner, depth + 1)
    return found
