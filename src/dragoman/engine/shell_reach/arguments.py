"""How the words of a program are told apart: options, operands, and programs of which every operand is a file."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from .line_effects import Notes, State, Verb
from .text_patterns import MARKS, is_certain


class Handler(Protocol):
    def __call__(self, walk: Notes, words: list[str], state: State, given: str | None, /) -> None:
        """Notes what a program reaches."""


def words(names: str) -> tuple[str, ...]:
    return tuple(names.split())


def may_be_option(word: str) -> bool:
    return word.startswith(("-", *MARKS))


def nothing(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """For programs whose arguments are no files."""


def unknown(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    walk.cannot_tell(f"{' '.join(words[:2])!r} is not known")
    walk.mention(words[1:], state)


class Names(NamedTuple):
    """A program whose words are files, each reached in the same way."""

    verbs: tuple[Verb, ...]
    trees: tuple[str, ...] = ()
    """Options with which everything below a folder is reached; "*": always."""
    refused: tuple[str, ...] = ()
    """Options that make it do something else."""
    follows: bool | None = None
    """Whether links below a folder are followed; `None`: perhaps."""
    here: bool = False
    """Whether it works on the current folder when no file is named."""
    lists: tuple[str, ...] = ()
    """How words begin that name a file with further words."""
    known: str | None = None
    """The options it may have, if not every option is harmless: letters, then long names, with spaces between them."""

    itself: bool = False
    """Whether it changes the file itself, also where that holds nothing: the mode of `/dev/null`."""
    valued: str = ""
    """Letters of options whose value is no file, in the same word or in the next."""

    def __call__(self, walk: Notes, words: list[str], state: State, given: str | None) -> None:
        rest, operands = _until_dashes(words[1:])
        rest = _without_values(rest, self.valued) if self.valued else rest
        for word in rest:
            if any(word.startswith(one) or (re.match("-[^-]$", one) and _may_be(word, one)) for one in self.lists):
                unknown(walk, words, state, given)
            if not may_be_option(word):
                continue
            if (self.refused or self.known is not None) and not word.startswith("-"):
                walk.cannot_tell(f"an argument of {words[0]!r} is computed and may be an option")
            elif any(_may_be(word, option) for option in self.refused):
                unknown(walk, words, state, given)
            elif self.known is not None and not has_only(word, self.known):
                walk.cannot_tell(f"the option {word!r} of {words[0]!r} is not known")
        tree = "*" in self.trees or any(_has(word, option) for word in rest for option in self.trees)
        letters = self.known is not None  # what follows a letter is another letter
        names = [name for word in rest for name in ([] if letters and re.match("-[^-]", word) else names_in(word))]
        names += operands
        for name in names or (["."] if self.here else []):
            for verb in self.verbs:
                walk.touch(verb, name, state, tree=tree, follows=self.follows, itself=self.itself)


def _until_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and those behind it, which are no options."""
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def _without_values(words: list[str], letters: str) -> list[str]:
    """The words without options that have a value, and without their values."""
    found, rest = list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if len(word) < 2 or word[0] != "-" or word[1] not in letters:
            found.append(word)
        elif len(word) == 2:
            del rest[:1]
    return found


def _has(word: str, option: str) -> bool:
    if option.startswith("--"):
        return word.startswith(option)
    return option[1] in word[1:] if re.match(r"-[^-]", word) else not is_certain(word[:1])


def _may_be(word: str, option: str) -> bool:
    """Whether a word has an option: a letter among others, or a long name, which may be cut short."""
    if not option.startswith("--"):
        return option[1] in word[1:] if re.match(r"-[^-]", word) else False
    name = word.partition("=")[0]
    return len(name) > 2 and (name.startswith(option) or option.startswith(name))


def has_only(word: str, known: str) -> bool:
    letters, *long = known.split(" ")
    if word in ("-", "--"):
        return True
    if word.startswith("--"):
        return word[2:].partition("=")[0] in long
    return all(letter in letters for letter in word[1:])


def names_in(word: str) -> list[str]:
    """The files that a word may name: itself, or the value that an option has in the same word, behind any letter."""
    if word in ("-", "--"):
        return []
    if not word.startswith("-"):
        return [word]
    if word.startswith("--"):
        _name, mark, value = word.partition("=")
        return [value] if mark and value else []
    last = next((place for place, letter in enumerate(word[1:], 1) if not letter.isalnum()), len(word) - 1)
    found = [word[place:] for place in range(2, min(last, 12) + 1)]
    return [name for name in found if not name.isdigit()]


class Options(NamedTuple):
    """Which options of a program have a value, and which have none; of all others nobody knows."""

    valued: str
    """Letters, then long names, with spaces between them."""
    flags: str

    def operands(self, words: list[str]) -> tuple[list[str], list[tuple[str, str]], bool]:
        """The operands, the options with their values, and whether all options are known; if not, it is a guess."""
        rest, found, given, known = list(words), list[str](), list[tuple[str, str]](), True
        while rest:
            word = rest.pop(0)
            if word == "--":
                return [*found, *rest], given, known
            if word.startswith(MARKS):
                known = False
            elif not word.startswith("-") or word == "-":
                found.append(word)
            elif word.startswith("--"):
                name, mark, value = word[2:].partition("=")
                if not mark and name in self.valued.split(" ")[1:]:
                    value = rest.pop(0) if rest else ""
                known = known and name in (*self.valued.split(" ")[1:], *self.flags.split(" ")[1:])
                given.append((name, value))
            else:
                letters = word[1:]
                while letters:
                    letter, letters = letters[0], letters[1:]
                    if letter in self.valued.split(" ")[0]:
                        given.append((letter, letters or (rest.pop(0) if rest else "")))
                        break
                    given.append((letter, ""))
                    known = known and letter in self.flags.split(" ")[0]
        return found, given, known
