"""Text of which only a part is known, and whether a glob of a rule can match it.

A pattern is an ordinary string in which three characters stand for what is not known. They are in Unicode's private
use area; a command line that contains one of them is not read at all.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

ANY: Final = "\uf8f0"
"""Any text: a variable that is not assigned in the line, the output of a command."""
STAR: Final = "\uf8f1"
"""What the shell's `*` matches: any text without `/`, and no leading dot."""
ONE: Final = "\uf8f2"
"""What the shell's `?` matches: one character that is not `/`, and no leading dot."""
MARKS: Final = (ANY, STAR, ONE)


def is_certain(pattern: str) -> bool:
    """Whether nothing in a pattern is unknown."""
    return not any(mark in pattern for mark in MARKS)


def is_computed(pattern: str) -> bool:
    """Whether some of the text comes from where it cannot be read: not from a glob, which matches names alone."""
    return ANY in pattern


@lru_cache(maxsize=256)
def _glob_tokens(glob: str) -> tuple[str | tuple[bool, str] | None, ...]:
    """A glob as `fnmatch` reads it: characters, `None` for any one, `""` for any text, or a class of characters."""
    tokens: list[str | tuple[bool, str] | None] = []
    place = 0
    while place < len(glob):
        character = glob[place]
        place += 1
        if character == "*":
            if not tokens or tokens[-1] != "":
                tokens.append("")
        elif character == "?":
            tokens.append(None)
        elif character == "[":
            end = place + (1 if glob[place : place + 1] == "!" else 0)
            end = glob.find("]", end + 1)
            if end < 0:
                tokens.append("[")
            else:
                tokens.append((True, glob[place - 1 : end + 1]))
                place = end + 1
        else:
            tokens.append(character)
    return tuple(tokens)


def can_match(pattern: str, glob: str) -> bool:
    """Whether some text that a pattern stands for is matched by a glob, in which `*` also matches `/`."""
    if is_certain(pattern):
        return fnmatchcase(pattern, glob)
    tokens = _glob_tokens(glob)

    def takes(token: object, character: str | None) -> bool:
        """Whether a token of the glob can match a character; `None` is any but `/`."""
        if isinstance(token, tuple):
            return character is None or fnmatchcase(character, token[1])
        return token is None or (character is None and token != "/") or token == character

    seen: set[tuple[int, int, bool]] = set()
    todo = [(0, 0, True)]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        at, place, fresh = state
        token = tokens[place] if place < len(tokens) else ()
        if at == len(pattern):
            if place == len(tokens) or (token == "" and place + 1 == len(tokens)):
                return True
            if token == "":
                todo.append((at, place + 1, fresh))
            continue
        character = pattern[at]
        hidden = fresh and (at == 0 or pattern[at - 1] == "/")  # a leading dot is not matched
        if token == "":
            todo.append((at, place + 1, fresh))
        if character == ANY:
            todo.append((at + 1, place, True))
            if token != () and token != "":
                todo.append((at, place + 1, fresh))
        elif character == STAR:
            todo.append((at + 1, place, True))
            if token == "":
                todo.append((at, place, False))
            elif token != () and takes(token, None) and not (hidden and token == "."):
                todo.append((at, place + 1, False))
        elif token == "":
            todo.append((at + 1, place, True))
        elif token != () and (
            takes(token, None) and not (hidden and token == ".") if character == ONE else takes(token, character)
        ):
            todo.append((at + 1, place + 1, True))
    return False
