"""The files of this machine that an effect of a command line is about, as rules on paths see them.

Rule: for a rule that forbids, a path is meant by every name it has: as it is written and with links resolved. What
cannot be listed stays a pattern, and a rule that might match it cannot tell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from .shell_reach import ANY, ONE, STAR, Effect, can_match, is_certain, is_computed

_MOST_FILES = 10_000
"""Files below one folder that are looked at; for more of them a rule cannot tell."""
_MOST_SEEN = 100_000
"""Files below one folder that are passed over."""


class Names:
    """The names of one path: as written from the root of the machine, and with links resolved."""

    __slots__ = ("real", "written")

    def __init__(self, written: str, real: str) -> None:
        self.written, self.real = written, real

    def below(self, name: str) -> Names:
        return Names(f"{self.written.rstrip('/')}/{name}", f"{self.real.rstrip('/')}/{name}")


def names_of(path: str) -> Names:
    """The names of a path that begins at the root of the machine, and of which a part may not be known."""
    if is_certain(path):
        return Names(os.path.normpath(path), os.path.realpath(path))
    first = min(place for place, character in enumerate(path) if not is_certain(character))
    folder, _, known = path[:first].rpartition("/")
    rest = known + path[first:]
    if ".." in rest.split("/"):
        return Names(ANY, ANY)
    if not path.startswith("/"):  # it begins with what is not known, and may begin anywhere
        return Names(path, path)
    return Names(os.path.normpath(folder or "/") + "/" + rest, os.path.realpath(folder or "/").rstrip("/") + "/" + rest)


@lru_cache(maxsize=16)
def _listed(folder: str, *, hidden: bool = True, files: bool = True) -> tuple[str, ...] | None:
    """Everything below a folder, or the folders alone, by their path from there; `None` when it is too much. Links are
    not followed."""
    found: list[str] = []
    todo, seen = [""], 0
    while todo:
        inside = todo.pop()
        try:
            with os.scandir(os.path.join(folder, inside)) as entries:
                for entry in entries:
                    seen += 1
                    if not hidden and entry.name.startswith("."):
                        continue
                    name = f"{inside}/{entry.name}" if inside else entry.name
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if files or is_folder:
                        found.append(name)
                    if is_folder:
                        todo.append(name)
        except OSError:
            continue
        if len(found) > _MOST_FILES or seen > _MOST_SEEN:
            return None
    return tuple(found)


def _matched(pattern: str) -> list[str] | None:
    """The paths that a glob of the shell has here, and itself: a glob that matches nothing is taken as it is written.

    `None` when there are too many.
    """
    found = [""]
    for segment in pattern.strip("/").split("/"):
        if is_certain(segment):
            found = [f"{folder}/{segment}" for folder in found]
            continue
        glob, dots = _as_glob(segment), segment.startswith(".")
        there: list[str] = []
        for folder in found:
            try:
                names = os.listdir(folder or "/")
            except OSError:
                continue
            # Older shells match `.` and `..` too.
            there += [
                f"{folder}/{name}"
                for name in (*names, ".", "..")
                if (dots or not name.startswith(".")) and fnmatchcase(name, glob)
            ]
        found = there
        if len(found) > _MOST_FILES:
            return None
    if pattern.endswith("/"):
        found = [path for path in found if os.path.isdir(path)]
    return [*found, pattern.replace(STAR, "*").replace(ONE, "?")]


def _as_glob(segment: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", segment).replace(STAR, "*").replace(ONE, "?")


def _single(effect: Effect) -> list[Effect]:
    """An effect for each path that its globs match now, where they can be looked up."""
    looked_up = effect.source or effect.target
    if is_certain(looked_up) or is_computed(looked_up) or not looked_up.startswith("/"):
        return [effect]
    matched = _matched(looked_up)
    if matched is None:
        return [effect]
    if effect.source is None:
        return [effect._replace(target=path) for path in matched]
    folder, _, last = effect.target.rpartition("/")
    return [
        effect._replace(
            source=path, target=effect.target if is_certain(last) else f"{folder}/{path.rpartition('/')[2]}"
        )
        for path in matched
    ]


def files_of(effect: Effect, root: str) -> Iterator[Names]:
    """Every path that an effect is about, of a line that runs in the folder `root`."""
    for one in _single(effect):
        yield from _files_of(one)
        if not is_certain(one.target):
            yield from _through_links(names_of(one.target).real, root)


@lru_cache(maxsize=16)
def _links_below(folder: str) -> tuple[str, ...] | None:
    """The links below a folder; `None` where it has too much in it to look for them."""
    found: list[str] = []
    todo, seen = [folder], 0
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_symlink():
                        found.append(entry.path)
                    elif entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except OSError:
            continue
        if len(found) > _MOST_FILES or seen > _MOST_SEEN:
            return None
    return tuple(found)


def _through_links(pattern: str, root: str) -> Iterator[Names]:
    """Where a name leads of which only a part is known, if it is that of a link: `"${x}nnocent"`, and `innocent` is a
    link to `.env`."""
    first = min(place for place, character in enumerate(pattern) if not is_certain(character))
    last = max(place for place, character in enumerate(pattern) if not is_certain(character))
    end = pattern[last + 1 :].rpartition("/")[2]
    links = _links_below(pattern[:first].rpartition("/")[0] or (root if first == 0 else "/"))
    if links is None:
        yield Names(pattern, ANY)
        return
    for link in links:
        as_glob = _as_glob(link)
        if can_match(pattern, as_glob):
            yield Names(link, os.path.realpath(link))
        if os.path.isdir(link) and can_match(pattern, f"{as_glob}/*"):
            yield Names(f"{link}/{ANY}{end}", f"{os.path.realpath(link)}/{ANY}{end}")


def _files_of(effect: Effect) -> Iterator[Names]:
    names = names_of(effect.target)
    yield names
    if not effect.tree:
        return
    source = names_of(effect.source or effect.target)
    if not is_certain(source.real):
        yield names.below(ANY)
        return
    if not os.path.isdir(source.real):
        return
    # The names in a folder are told with it, as `ls` does: below a folder that is listed, the folders are meant.
    everything = effect.hidden or _unhides(source.real)
    listed = _listed(source.real, hidden=everything, files=effect.verb != "list")
    if listed is None:
        yield names.below(ANY)
        return
    for name in listed:
        if effect.only and not any(fnmatchcase(name.rpartition("/")[2], glob) for glob in effect.only):
            continue
        below = names.below(name)
        path = os.path.join(source.real, name)
        if effect.source is not None or effect.follows is False or not os.path.islink(path):
            yield below
            continue
        yield Names(below.written, os.path.realpath(path))
        if effect.follows and os.path.isdir(path):
            yield Names(f"{below.written}/{ANY}", f"{os.path.realpath(path)}/{ANY}")


_LONGEST_IGNORE: Final = 1_000_000
_IGNORES: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")


@lru_cache(maxsize=16)
def _unhides(folder: str) -> bool:
    """Whether a file that names what is not to be searched has exceptions, of which a hidden file may be one."""
    places = [folder]
    while places[-1] != os.path.dirname(places[-1]):
        places.append(os.path.dirname(places[-1]))
    listed = _listed(folder)
    if listed is None:
        return True
    inside = [name for name in listed if name.rpartition("/")[2] in _IGNORES or name.endswith(_IGNORES[-1])]
    found = [os.path.join(folder, name) for name in inside]
    found += [os.path.join(place, name) for place in places for name in _IGNORES]
    for path in dict.fromkeys(found):
        try:
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    text = file.read(_LONGEST_IGNORE + 1)
                    if len(text) > _LONGEST_IGNORE or any(line.lstrip().startswith(b"!") for line in text.splitlines()):
                        return True
        except OSError:
            return True
    return False


def copies_links(effect: Effect) -> bool:
    """Whether links are copied or moved: what a later command names through the copy is not where its name says."""
    if effect.source is None:
        return False
    for one in _single(effect):
        source = names_of(one.source or "")
        if not is_certain(source.real) or os.path.islink(source.written):
            return True
        listed = _listed(source.real) if os.path.isdir(source.real) else ()
        if listed is None or any(os.path.islink(os.path.join(source.real, name)) for name in listed):
            return True
    return False


def forget_listings() -> None:
    """Before each decision: files may have come since the last one."""
    _listed.cache_clear()
    _links_below.cache_clear()
    _unhides.cache_clear()


def fits_path(names: Names, glob: str, root: str) -> bool:
    """Whether a glob of a rule can match a path, by any of its names: from the root of the machine, or from `root`."""
    return any(can_match(one, glob) for name in {names.written, names.real} for one in (name, _from(name, root)) if one)


def _from(name: str, root: str) -> str:
    inside = f"{root.rstrip('/')}/"
    return name[len(inside) :] if name.startswith(inside) else "." if name == root else ""


def is_outside(real: str, root: str) -> bool | None:
    """Whether a path is outside a folder; `None` when it cannot be known."""
    inside = f"{root.rstrip('/')}/"
    if is_certain(real):
        return real != root and not real.startswith(inside)
    if is_computed(real):
        return None
    return not real.startswith(inside)
