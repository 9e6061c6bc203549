"""Where logs lie: the usual places of every client, the ones the user named, and any file or folder given."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from dragoman.errors import LogError
from dragoman.logs.archive import Names, copies_folder, gone_logs, is_anything_kept
from dragoman.logs.base.compressed import ENDINGS, each_once
from dragoman.logs.base.database import beginning
from dragoman.logs.base.format import LogFormat, Places
from dragoman.logs.base.reading import UnknownFormat, read, recognise
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .sessions import key_of


class Found:
    """One log file: the format it is in, and where it was found. Two are equal if all but the status is.

    `sessions` are, of a file that holds several, the ids of those that are meant; `None` is all of it. `status` is what
    the system said of the file when it was found. There may be very many, so the path is made when it is asked for.
    """

    __slots__ = ("_path", "format", "home", "name", "sessions", "status")

    def __init__(
        self,
        path: Path | str,
        format: str,
        home: Path | None = None,
        sessions: frozenset[str] | None = None,
        status: os.stat_result | None = None,
    ) -> None:
        self.name = os.fspath(path)
        self._path = path if isinstance(path, Path) else None
        self.format, self.home, self.sessions, self.status = format, home, sessions, status

    @property
    def path(self) -> Path:
        """The file."""
        if self._path is None:
            self._path = Path(self.name)
        return self._path

    def seen(self, status: os.stat_result) -> Found:
        """The same, of which the system said this."""
        return self if status is self.status else Found(self.name, self.format, self.home, self.sessions, status)

    def _key(self) -> tuple[object, ...]:
        return self.name, self.format, self.home, self.sessions

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Found) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Found({self.name!r}, {self.format!r}, {self.home!r}, {self.sessions!r})"


def read_log(found: Found) -> Iterator[AnyEvent]:
    """The events of a log, in the order of its records: of the sessions that are meant."""
    events = read(found.path, found.format)
    if found.sessions is None:
        return events
    return (event for event in events if key_of(event)[0] in found.sessions)


def homes(places: Places | None = None, named: Mapping[str, Path] | None = None) -> Iterator[tuple[str, Path]]:
    """Each format's folders that exist, those the user named first."""
    places = places or Places.here()
    chosen: LogFormat
    for name, chosen in FORMATS.working():
        given = (named or {}).get(name)
        seen: set[Path] = set()
        for home in [*([given] if given is not None else []), *chosen.homes(places)]:
            if home.parts[:1] == ("~",):  # as clients read a variable that no shell has
                home = places.home.joinpath(*home.parts[1:])
            if _is_folder(home) and (place := home.resolve()) not in seen:  # a link would count all of it twice
                seen.add(place)
                yield name, home


def _is_folder(path: Path) -> bool:
    """Whether it is one we may look at: what is forbidden is not there for us, and costs the others nothing."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _status_of(path: Path | str) -> os.stat_result | None:
    """What the system says of a file. Why it cannot be opened at all, is the reader's to say."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _place_of(path: Path | str, status: os.stat_result | None) -> object | None:
    """What stands for a file under all its names; `None` for a pipe or the like, which a reader would wait for."""
    if status is None:
        return str(path)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else str(path)


def all_logs(
    places: Places | None = None, named: Mapping[str, Path] | None = None, folders: Iterable[Path] = ()
) -> Iterator[Found]:
    """Every log file of every client on this machine: in the usual places, then in further folders, of any client.

    Last come copies of logs that were kept (`dragoman.logs.archive`) and whose originals are gone; a caller who names
    other `places` gets none of them.
    """
    if places is not None or not is_anything_kept():  # nothing is held of each log then
        yield from _logs_there(places, named, folders)
        return
    there = Names()
    for found in _logs_there(places, named, folders):
        there.add(found.name)
        yield found
    for copy, log in gone_logs(there):
        if log.format in FORMATS:
            yield Found(copy, log.format, copies_folder())


def _logs_there(places: Places | None, named: Mapping[str, Path] | None, folders: Iterable[Path]) -> Iterator[Found]:
    from dragoman.logs.seen import Seen  # where files are named, nothing is walked

    seen = Seen()
    for name, home in homes(places, named):
        for path, status in _files_of(FORMATS[name], home):
            place = _place_of(path, status)
            if place is not None and seen.add(place):
                yield Found(path, name, home, None, status)
    for folder in folders:
        for found in _below(folder) if _is_folder(folder) else ():
            place = _place_of(found.path, _status_of(found.path))
            if place is not None and seen.add(place):
                yield Found(found.path, found.format, folder, found.sessions)


class Walk:
    """The same, found anew each time it is gone through: where there are very many, no list of them is made."""

    def __init__(self, places: Places | None, named: Mapping[str, Path] | None, folders: Iterable[Path]) -> None:
        self._given = places, named, tuple(folders)

    def __iter__(self) -> Iterator[Found]:
        return all_logs(*self._given)


class Noting:
    """Logs as they are found; the newest of those that were written to `since` are kept, `most` of them at most."""

    def __init__(self, found: Iterable[Found], most: int, since: float) -> None:
        self._found, self._most, self._since = found, most, since
        self.noted: list[Found] = []
        """Each with its status."""

    def __iter__(self) -> Iterator[Found]:
        self.noted = []
        for found in self._found:
            status = _status_of(found.name) if found.status is None else found.status
            if status is not None and status.st_mtime >= self._since:
                self.noted.append(found.seen(status))
                if len(self.noted) > 2 * self._most:
                    self.noted = newest(self.noted, self._most)
            yield found
        self.noted = newest(self.noted, self._most)


def newest(found: Iterable[Found], most: int) -> list[Found]:
    """Those of these logs that were written to last; of as new ones the first. All have their status."""
    return heapq.nlargest(most, found, key=lambda one: one.status.st_mtime_ns if one.status is not None else 0)


def _files_of(format: LogFormat, home: Path) -> Iterator[tuple[Path | str, os.stat_result | None]]:
    try:
        yield from format.entries(home)
    except OSError as error:  # a plugin's: ours pass over what goes away
        raise LogError(f"cannot list the logs of {format.name} in {home}: {error.strerror or error}") from error


def find_logs(
    wanted: str,
    places: Places | None = None,
    named: Mapping[str, Path] | None = None,
    format: str | None = None,
    folders: Iterable[Path] = (),
    passed: list[Path] | None = None,
) -> list[Found]:
    """The files a path, a folder or the beginning of a session's id means; `LogError` when there is none.

    With `format` a path is a file of that format, whatever it holds. With `passed`, files in no known format are added
    to it and are no error.
    """
    path = Path(wanted)
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise LogError(f"cannot open {wanted!r}: {getattr(error, 'strerror', None) or error}") from error
    if is_folder:
        found = list(_below(path, passed))
        if found or passed:
            return found
        raise LogError(f"no file under {path} is in a format that is known here")
    if is_there:
        try:
            return [Found(path, (FORMATS[format] if format is not None else recognise(path)[0]).name)]
        except UnknownFormat:
            if passed is None:
                raise
            passed.append(path)
            return []
    if path.is_symlink():
        raise LogError(f"{wanted!r} is a link to {os.fspath(path.readlink())!r}, which does not exist")
    if not wanted or "/" in wanted:
        raise LogError(f"there is no file {wanted!r}")
    known = list(all_logs(places, named, folders))
    found = [one for one in known if _names(one.path, wanted)]
    if not found:
        raise no_session(wanted, f"{len(known)} log files" if known else "")
    return found


def no_session(wanted: str, among: str, near: str = "") -> LogError:
    """The error for an id that is not found among the sessions there are; `among` is empty when there are none."""
    if not among:
        return LogError(f"no session {wanted!r}: none was found; `dragoman sources` shows where they are looked for")
    return LogError(f"no session begins with {wanted!r} among {among}; `dragoman sessions` lists them{near}")


def _below(folder: Path, passed: list[Path] | None = None) -> Iterator[Found]:
    """The logs below a folder, each once; what may be one by its name and is in no known format goes to `passed`.

    So do folders that may not be looked into, and pipes, sockets and devices: a reader would wait for them.
    """
    seen: set[str] = set()
    closed: list[Path] = []
    for path in each_once(sorted(files_below(folder, closed=closed))):
        try:
            status = os.stat(path)
        except OSError:
            if passed is not None and path.is_symlink():
                passed.append(path)  # a link that leads nowhere
            continue
        if not stat.S_ISREG(status.st_mode):
            if passed is not None and not stat.S_ISDIR(status.st_mode):
                passed.append(path)
            continue
        known = _recognised(path, status.st_size, status.st_mtime_ns)
        if known is None:
            if passed is not None and (path.suffix not in _PAGES or _is_of_a_session(path)):
                passed.append(path)
        elif (place := os.path.realpath(known.path)) not in seen:
            seen.add(place)
            yield known
    if passed is not None:
        pages = (path for path in files_below(folder, _PAGES) if not _plain(path.name).endswith(read_endings()))
        passed += sorted(path for path in pages if os.path.isfile(path) and _is_of_a_session(path))
        passed += closed


SESSION_PAGES: Final = {
    b"<!-- Generated by SpecStory": "a page of SpecStory: known, not read",
    b"# aider chat started": "a history of aider by another name: read when it is given itself",
}
"""How pages of text begin that hold a session, and what to say of one that is passed over."""
_PAGES: Final = (".md", ".txt")
"""How names of files end that hold text, and now and then a session."""


def read_endings() -> tuple[str, ...]:
    """How names of files end that some format reads."""
    return tuple(sorted({ending for _, format in FORMATS.working() for ending in format.endings}))


def _is_of_a_session(page: Path) -> bool:
    """Whether a page is worth naming: most are documents."""
    return any(begin in beginning(page, 200) for begin in SESSION_PAGES)


def files_below(folder: Path, endings: tuple[str, ...] = (), closed: list[Path] | None = None) -> Iterator[Path]:
    """What may be a log, by how its name ends (as those of any format do); folders that are links are not entered.

    Folders that may not be looked into are added to `closed`.
    """
    endings = endings or read_endings()

    def note(error: OSError) -> None:
        if closed is not None and isinstance(error, PermissionError):
            closed.append(Path(os.fsdecode(error.filename)))

    for place, _, names in os.walk(folder, onerror=note):
        for name in names:
            if _plain(name).endswith(endings):
                yield Path(place, name)


def _plain(name: str) -> str:
    return next((name.removesuffix(one) for one in ENDINGS if name.endswith(one)), name)


@lru_cache(maxsize=1 << 16)
def _recognised(path: Path, size: int, modified: int) -> Found | None:
    """What a file is taken for; one that is followed is looked into again only when it changed."""
    try:
        chosen, _ = recognise(path)
    except (LogError, OSError):
        return None
    return Found(chosen.whole(path), chosen.name)


def _names(path: Path, wanted: str) -> bool:
    """Whether a file's name, or a folder's around it, holds the id: clients put it in one of them."""
    return any(wanted in part for part in (path.stem, path.parent.name, path.parent.parent.name))
