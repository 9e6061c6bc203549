"""Where logs lie: the usual places of every client, the ones the user named, and any file or folder given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from dragoman.errors import LogError
from dragoman.registry import FORMATS

from .format import LogFormat, Places
from .reading import recognise


class Found(msgspec.Struct, frozen=True):
    """One log file: the format it is in, and where it was found."""

    path: Path
    format: str
    home: Path | None = None


def homes(places: Places | None = None, named: Mapping[str, Path] | None = None) -> Iterator[tuple[str, Path]]:
    """Each format's folders that exist, those the user named first."""
    places = places or Places.here()
    for name in FORMATS:
        chosen: LogFormat = FORMATS[name]
        given = (named or {}).get(name)
        seen: set[Path] = set()
        for home in [*([given] if given is not None else []), *chosen.homes(places)]:
            if home not in seen and home.is_dir():
                seen.add(home)
                yield name, home


def all_logs(places: Places | None = None, named: Mapping[str, Path] | None = None) -> Iterator[Found]:
    """Every log file of every client on this machine."""
    seen: set[Path] = set()
    for name, home in homes(places, named):
        for path in FORMATS[name].files(home):
            if path not in seen:
                seen.add(path)
                yield Found(path, name, home)


def find_logs(wanted: str, places: Places | None = None, named: Mapping[str, Path] | None = None) -> list[Found]:
    """The files a path, a folder or the beginning of a session's id means; `LogError` when there is none."""
    path = Path(wanted)
    if path.is_dir():
        found = list(_below(path))
        if found:
            return found
        raise LogError(f"no file under {path} is in a format that is known here")
    if path.exists():
        chosen, _ = recognise(path)
        return [Found(path, chosen.name)]
    if not wanted or "/" in wanted:
        raise LogError(f"there is no file {wanted!r}")
    known = list(all_logs(places, named))
    found = [one for one in known if _names(one.path, wanted)]
    if not found:
        raise LogError(
            f"no session begins with {wanted!r} among {len(known)} log files; `dragoman sessions` lists them"
        )
    return found


def _below(folder: Path) -> Iterator[Found]:
    seen: set[Path] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".jsonl", ".json", ".db"):
            try:
                chosen, _ = recognise(path)
            except LogError:
                continue
            whole = chosen.whole(path)
            if whole not in seen:
                seen.add(whole)
                yield Found(whole, chosen.name)


def _names(path: Path, wanted: str) -> bool:
    """Whether a file's name, or a folder's around it, holds the id: clients put it in one of them."""
    return any(wanted in part for part in (path.stem, path.parent.name, path.parent.parent.name))
