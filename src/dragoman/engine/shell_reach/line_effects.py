"""What is noted of a line while it is followed: its effects, where it is, and what its variables hold."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import product
from posixpath import normpath
from typing import Final, Literal, NamedTuple

from .text_patterns import ANY, can_match, is_certain, is_computed

Verb = Literal["read", "list", "write", "move", "delete", "fetch", "mention"]


class Effect(NamedTuple):
    """One thing that a line may do, to a path (as seen from the root of the machine) or an address."""

    verb: Verb
    """`mention`: an argument of a program that is not known, which may be a path, an address or neither."""
    target: str
    tree: bool = False
    """Whether everything below the path is meant too."""
    source: str | None = None
    """The path whose content is put there: what is below it will be below the target."""
    only: tuple[str, ...] = ()
    """Globs, one of which the name of each file below the path has that is meant."""
    hidden: bool = True
    """Whether files below the path are meant whose name, or that of a folder on the way, begins with a dot."""
    follows: bool | None = None
    """Whether links below the path are followed: no, also to folders, or `None`: perhaps."""


class Reach(NamedTuple):
    """What a line may reach, and whether that is all."""

    effects: tuple[Effect, ...]
    commands: tuple[str, ...]
    """Every simple command, its words joined with spaces."""
    unknown: tuple[str, ...]
    """Why the line may do more than `effects` say; empty when it may not."""


ANY_WORDS: Final = ANY + ANY
"""A field that stands for any number of any words."""
UNKNOWN: Final = frozenset((ANY,))
MOST: Final = 12
"""Values of one variable, and meanings of one command, that are followed one by one."""
_MOST_COPIED: Final = 200
_STREAMS: Final = frozenset(
    f"/dev/{name}" for name in ("null", "stdin", "stdout", "stderr", "tty", "zero", "random", "urandom", "full")
)
"""Files that hold nothing."""
_OPEN_FILE: Final = re.compile(r"/dev/fd/\d+")
_IGNORES: Final = ("*/.gitignore", "*/.ignore", "*/.rgignore", "*/exclude")
"""Files that say what `rg` does not search."""
_OF_A_PROCESS: Final = re.compile("/+(?:proc/(?:self|thread-self|[0-9\uf8f0-\uf8f2])|dev/(?:fd|std[a-z]+)/)")
"""Paths that lead to wherever a process is, or to what it has open."""


_OF_THE_SHELL: Final = frozenset(
    ("_", "OLDPWD", "REPLY", "RANDOM", "SECONDS", "LINENO", "PPID", "UID", "EUID", "SHLVL")
)
"""Variables that the shell itself sets at times of its own."""
_NUMBERS: Final = frozenset(("BASHPID", "EUID", "HISTCMD", "MAILCHECK", "OPTIND", "PPID", "RANDOM", "SRANDOM", "UID"))
"""Variables of bash that hold numbers: a text that is assigned to one is computed, commands in it too (bash 5.2)."""


IN_BRACKETS: Final = re.compile(r"\[[^\]]*(?:\$\(|`)")
"""A command in the brackets of `a[$(…)]`, which runs where a shell computes with that text."""


class State:
    """Where a line is and what its variables hold, as far as it was followed."""

    def __init__(self, variables: Mapping[str, frozenset[str]], folders: frozenset[str]) -> None:
        self.variables, self.folders = dict(variables), folders
        self.functions: set[str] = set()
        """Functions that are there for sure: another name of a command is a program."""

    def copy(self) -> State:
        made = State(self.variables, self.folders)
        made.functions = set(self.functions)
        return made

    def value(self, name: str) -> frozenset[str]:
        if name == "PWD" and name not in self.variables:
            return self.folders
        return UNKNOWN if name in _OF_THE_SHELL else self.variables.get(name, UNKNOWN)

    def assign(self, name: str, values: frozenset[str]) -> None:
        self.variables[name] = values if len(values) <= MOST else UNKNOWN

    def join(self, other: State) -> None:
        """Makes this what holds when either may be the case."""
        for name in {*self.variables, *other.variables}:
            self.assign(name, self.value(name) | other.value(name))
        self.go(self.folders | other.folders)
        self.functions &= other.functions

    def go(self, folders: frozenset[str]) -> None:
        self.folders = folders if len(folders) <= MOST else UNKNOWN

    def widened(self, other: State) -> bool:
        """Forgets what another state has otherwise; whether there was anything."""
        changed = [name for name in other.variables if self.variables.get(name) not in (other.value(name), UNKNOWN)]
        for name in changed:
            self.variables[name] = UNKNOWN
        moved = other.folders != self.folders and self.folders != UNKNOWN
        if moved:
            self.folders = UNKNOWN
        self.functions &= other.functions
        return bool(changed) or moved


class Notes(ABC):
    """What a line may reach, as far as it was followed."""

    def __init__(self) -> None:
        self.effects: dict[Effect, None] = {}
        self.commands: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.moves = 0
        """How often the line may go to another folder."""
        self.piped: list[str] | None = None
        """The names that the command which is started next is given by the one before it, where they are known."""
        self.commands_in_text = False
        """Whether a text of the line is a command where a shell computes with it: `x=$(echo 'a[$(ls)]')`."""

    def cannot_tell(self, why: str) -> None:
        self.unknown[why] = None

    def assign(self, name: str, values: frozenset[str], state: State) -> None:
        """Notes that a variable is set, in whatever way."""
        if steers(name):
            self.cannot_tell(f"it sets {name}, which can change what programs do")
        if name in _NUMBERS and not all(value.isdigit() for value in values):
            self.cannot_tell(f"what it assigns to {name} is computed")
        if any(IN_BRACKETS.search(value) for value in values):
            self.cannot_tell(f"what it assigns to {name} is run where a shell computes with it")
        state.assign(name, values)

    def touch(
        self,
        verb: Verb,
        name: str,
        state: State,
        *,
        tree: bool = False,
        only: tuple[str, ...] = (),
        hidden: bool = True,
        follows: bool | None = None,
        itself: bool = False,
    ) -> None:
        """Notes that a path is reached, as it is seen from each folder the line may be in. `itself`: the file, and not
        only what it holds."""
        if not name:
            return
        if not itself and verb not in ("move", "delete") and (name in _STREAMS or _OPEN_FILE.fullmatch(name)):
            return
        if name.startswith(("/dev/tcp/", "/dev/udp/")):
            self.fetch(name.split("/")[3])
            return
        for path in self._paths(name, state):
            self.effects[Effect(verb, path, tree, only=only, hidden=hidden, follows=follows)] = None

    def copy(self, source: str, target: str, state: State) -> None:
        """Notes that what is at one path, a file or a folder, is put at another."""
        for path, origin in product(self._paths(target, state), self._paths(source, state)):
            self.effects[Effect("write", path, tree=True, source=origin)] = None

    def _paths(self, name: str, state: State) -> list[str]:
        """A path as it is seen from each folder the line may be in."""
        if name.startswith(("/", ANY)):
            paths = [ANY if name == ANY_WORDS else name]
        else:
            paths = [f"{folder.rstrip('/')}/{name}" for folder in state.folders]
        if any(_OF_A_PROCESS.match(normpath(path)) for path in paths):
            self.cannot_tell("a path leads to wherever a process is")
        return paths

    def follow_copies(self) -> None:
        """Notes what is written below a folder in this very line, where that folder is copied or moved to."""
        copies = [one for one in self.effects if one.source is not None]
        if any(_is_below(one.target, one.source or "") for one in copies):
            self.cannot_tell("it copies a folder into itself")
            return
        for _ in range(3 if copies else 0):
            found: dict[Effect, None] = {}
            if len(copies) * len(self.effects) > _MOST_COPIED * 50:
                self.cannot_tell("it copies too much of what it makes")
                return
            for copy, made in product(copies, [one for one in self.effects if one.verb in ("write", "mention")]):
                source, target = copy.source or "", made.target
                if not is_certain(source) or not is_certain(target):
                    if _may_be_in(target, source):
                        found[Effect("write", f"{copy.target.rstrip('/')}/{ANY}")] = None
                elif _is_below(target, source):
                    below = normpath(target)[len(normpath(source).rstrip("/")) :]
                    found[Effect("write", copy.target.rstrip("/") + below, made.tree, made.source)] = None
            if len(found) > _MOST_COPIED:
                self.cannot_tell("it copies too much of what it makes")
                return
            if found.keys() <= self.effects.keys():
                return
            self.effects |= found
            copies = [one for one in self.effects if one.source is not None]

    def unhide(self) -> None:
        """A file that says what is not to be searched may have exceptions (`!.env`): where this very line may write
        one, a search reaches hidden files."""
        writes = [one.target for one in self.effects if one.verb in ("write", "mention")]
        if any(can_match(target, glob) for target in writes for glob in _IGNORES):
            self.effects = {one._replace(hidden=True): None for one in self.effects}

    def fetch(self, host: str) -> None:
        self.effects[Effect("fetch", host.lower())] = None

    def mention(self, words: Iterable[str], state: State) -> None:
        """Notes the arguments of a program that is not known: each may be a path or an address."""
        for word in words:
            pieces = {word, *word.split("="), *word.split(":"), *word.split(",")}
            pieces |= {piece.lstrip("-@") for piece in pieces} | ({word[2:]} if word.startswith("-") else set())
            for piece in pieces:
                if piece and len(piece) < 4096 and "\n" not in piece:
                    self.touch("mention", piece, state)
            if "://" in word:
                self.fetch(host_in(word))

    @abstractmethod
    def script(self, text: str, state: State) -> None:
        """Follows a command line that is part of another, or the line itself."""


_STEERING: Final = (
    *("PATH", "IFS", "ENV", "CDPATH", "FPATH", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "PAGER", "EDITOR", "VISUAL"),
    *("path", "cdpath"),  # of zsh: tied to PATH and CDPATH
    *("HOME", "TMPDIR", "SHELL", "POSIXLY_CORRECT", "MAGIC", "NLSPATH", "HOSTALIASES", "LOCALDOMAIN", "NETRC"),
)
_STEERING_STARTS: Final = (
    "LD_",
    "DYLD_",
    "BASH",
    "GLOB",
    "GIT_",
    "LESS",
    "RIPGREP_",
    "CURL_",
    "SSH_",
    "WGET",
    "LC_",
    "TAR_",
    "GCONV",
    "LOCPATH",
    "OPENSSL",
    "SSL",
    "MALLOC",
    "GLIBC",
    "TERMINFO",
    "TZ",
    "XDG_",
    "RES",
    "PYTHON",
    "NODE_OPT",
    "JQ_",
)
_STEERING_ENDS: Final = ("_OPTIONS", "OPTS", "PROXY", "_proxy", "_COLORS")


def _is_below(path: str, folder: str) -> bool:
    return normpath(path).startswith(f"{normpath(folder).rstrip('/')}/")


def _may_be_in(path: str, copied: str) -> bool:
    """Whether a path may be one of those that are copied, or below one."""
    if is_computed(path) or is_computed(copied):
        return True
    mine, theirs = normpath(path).split("/"), normpath(copied).split("/")
    return len(mine) >= len(theirs) and all(map(_may_be_one, mine, theirs))


def _may_be_one(name: str, other: str) -> bool:
    """Whether two names without folders, of which both may be globs of the shell, may be the same."""
    if is_certain(name):
        name, other = other, name
    return not is_certain(other) or can_match(name, re.sub(r"([*?[])", r"[\1]", other))


def steers(name: str) -> bool:
    """Whether a variable can change which files a known program uses, or which programs it runs."""
    return name in _STEERING or (
        (name.startswith(_STEERING_STARTS) and name != "LC_ALL") or name.endswith(_STEERING_ENDS)
    )


_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER: Final = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)(?:\.(?:0[xX][0-9A-Fa-f]*|[0-9]+)){0,3}")
_IPV4: Final = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
"""An address as it is usually written; `2130706433` and `0x7f.1` are others for the same host."""


def host_in(url: str) -> str:
    """The host of an address that may be known in part only."""
    rest = url.partition("://")[2] or url
    if "\\" in rest:  # the end of the host to some programs, a part of the user's name to others
        return ANY
    if "://" not in url and re.match("[A-Za-z][A-Za-z0-9+.-]*:/", url):  # curl takes any number of slashes
        return ANY
    for end in "/?#":
        rest = rest.partition(end)[0]
    host = rest.rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0][1:]
    host = host.partition(":")[0].removesuffix(".")
    # A part that nobody knows may hold the end of the host, and some hosts have other spellings.
    if not is_certain(rest) or not _HOST.fullmatch(host) or (_NUMBER.fullmatch(host) and not _IPV4.fullmatch(host)):
        return ANY
    return host
