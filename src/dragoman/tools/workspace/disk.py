"""A workspace that is a folder of this machine, and nothing beyond it.

Rules:
- A path is walked name by name from an open root. A link is followed only while it stays inside, and each of its
  names is checked in turn; so swapping a link in at any moment leads nowhere. (A directory that somebody moves out of
  the root while it is open is still that directory. Without directory handles, on Windows, a swap between the check
  and the use is not caught.)
- Devices, pipes and sockets are never opened. A hard link is a file like any other: it can be read although another
  name of it may be outside; writing gives the name a new file, and the other names keep the old one.
- Writes are atomic, and a transaction is whole: see `commit.py`.
- A name that is not UTF-8 is listed with U+FFFD in it and cannot be reached.
"""

from __future__ import annotations

import datetime
import errno
import io
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import itemgetter
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

from dragoman.errors import ConfigError, ToolError
from dragoman.model.outcomes import Entry

from .open_directory import HANDLES, Folder, kind_of, telling
from .paths import HELD_LIMIT, components, is_reserved, join, outside, wrong_kind
from .text import printable
from .transaction_commit import Committer, stamp
from .transaction_plan import Step
from .tree import Loaded, Opened
from .workspace import Workspace

_MOST_LINKS = 40


class _Place(NamedTuple):
    """Where a path leads: the deepest directory that exists, its names, and the names below it."""

    folder: Folder
    above: list[str]
    below: list[str]

    @property
    def path(self) -> str:
        return join([*self.above, *self.below])


class DiskWorkspace(Workspace):
    """The files below `root`.

    `durable` has the system put a file's content on the disk before the file takes its name, so that a power
    cut leaves the old or the new content too; killing the process does that in any case. Opening a workspace
    undoes a transaction that a killed process left half done.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        name: str | None = None,
        durable: bool = True,
        forgiving: bool = False,
        handles: bool = HANDLES,
    ) -> None:
        spelled = os.path.abspath(os.fspath(root))
        self.root = Path(os.path.realpath(spelled))
        if not self.root.is_dir():
            raise ConfigError(f"the root of a workspace must be a folder, and {spelled} is none")
        super().__init__(name or str(self.root), forgiving=forgiving)
        self._handles = handles
        self._roots = [_parts(spelled), _parts(str(self.root))]
        with Folder.at(str(self.root), handles=handles) as folder:
            self._identity = folder.identity()
        self._committer = Committer(self._open_root, durable=durable)
        with telling("."):
            self._committer.recover()

    def resolve(self, path: str, *, follow: bool = True) -> str:
        with telling(path), self._walk(path, follow=follow) as place:
            return place.path

    def find(self, path: str) -> Opened | None:
        with telling(path), self._walk(path) as place:
            if not place.below:
                raise wrong_kind(path, "directory")
            if len(place.below) > 1:
                return None
            try:
                descriptor = place.folder.open_file(place.below[0])
            except FileNotFoundError:
                return None
            file = io.BufferedReader(io.FileIO(descriptor, "rb"))
            status = os.fstat(descriptor)
            return Opened(place.path, file, status.st_size, stamp(status))

    def entry(self, path: str) -> Entry | None:
        with telling(path), self._walk(path) as place:
            if not place.below:
                return Entry(place.path, "directory")
            status = place.folder.status(place.below[0]) if len(place.below) == 1 else None
            return _entry(place.path, status) if status else None

    def _listed(self, path: str, below: str = "") -> list[Entry] | None:
        with telling(path), self._walk(path) as place:
            if place.below:
                return None
            found = place.folder.statuses()
        found.sort(key=itemgetter(0))
        # Written out, and without times: listings run to tens of thousands of entries, and a call or a date for each
        # costs more than asking the system for it.
        entries: list[Entry] = []
        for name, status in found:
            if name[0] == "." and is_reserved(name):
                continue
            shown = below + (name if name.isascii() else printable(name))
            mode = status.st_mode
            entries.append(Entry(shown, "file", status.st_size) if S_ISREG(mode) else Entry(shown, kind_of(mode)))
        return entries

    def directory(self) -> AbstractContextManager[Path]:
        return nullcontext(self.root)

    @contextmanager
    def open_directory(self) -> Iterator[Folder]:
        with telling("."):
            folder = self._open_root()
        with folder:
            yield folder

    def _load(self, path: str) -> Loaded | None:
        with telling(path), self._walk(path, follow=False) as place:
            if not place.below:
                raise wrong_kind(path, "directory")
            status = place.folder.status(place.below[0]) if len(place.below) == 1 else None
            if status is None:
                return None
            if S_ISLNK(status.st_mode):
                return Loaded(None, stamp(status), 0)
            with io.FileIO(place.folder.open_file(place.below[0]), "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read(HELD_LIMIT + 1) if status.st_size <= HELD_LIMIT else None
                # A file can grow while it is read, and some say 0 and hold more.
                held = data if data is not None and len(data) <= HELD_LIMIT else None
                return Loaded(held, stamp(status), status.st_size)

    def _commit(self, steps: Sequence[Step], author: str | None) -> None:
        self._committer.commit(steps)

    # -- walking

    def _open_root(self) -> Folder:
        folder = Folder.at(str(self.root), handles=self._handles)
        if folder.identity() != self._identity:
            folder.close()
            raise outside(".", "another folder stands where the root of the workspace was")
        return folder

    def _names(self, path: str) -> list[str]:
        """The names of a path from the root on; an absolute path must name the root first."""
        if os.sep == "\\":
            path = path.replace("\\", "/")
        names = components(path)
        absolute = path.startswith("/") or (os.sep == "\\" and names[:1] and names[0].endswith(":"))
        if absolute:
            for root in self._roots:
                if names[: len(root)] == root:
                    names = names[len(root) :]
                    break
            else:
                raise outside(path)
        if os.sep == "\\" and any(_means_more_on_windows(name) for name in names):
            raise outside(path, "a name in it is not that of a plain file")
        return names

    @contextmanager
    def _walk(self, path: str, *, follow: bool = True) -> Iterator[_Place]:
        names = deque(self._names(path))
        walk = _Walk(self._open_root())
        try:
            yield self._descend(path, names, walk, follow=follow)
        finally:
            walk.close()

    def _descend(self, path: str, ahead: deque[str], walk: _Walk, *, follow: bool) -> _Place:
        below: list[str] = []  # below what is no directory, or not there, names are only spelled out
        links = 0
        while ahead:
            name = ahead.popleft()
            if name == "..":
                if below:
                    below.pop()
                elif not walk.up():
                    raise outside(path)
            elif below or (not ahead and not follow and not walk.is_directory(name)):
                below.append(name)
            elif not walk.down(name):
                target = walk.link_target(name)
                if target is None:
                    below.append(name)
                    continue
                links += 1
                if links > _MOST_LINKS:
                    raise ToolError(
                        f'"{path}" goes through too many symbolic links', details={"reason": "links", "path": path}
                    )
                if os.path.isabs(target):
                    walk.restart()
                try:
                    ahead.extendleft(reversed(self._names(target)))
                except ToolError:
                    raise outside(path, "a symbolic link in it leads out of the workspace") from None
        return _Place(walk.folder, walk.names, below)


class _Walk:
    """A way from the root down, one open directory at a time beside the root itself."""

    def __init__(self, root: Folder) -> None:
        self._root = root
        self.folder = root
        self.names: list[str] = []

    def close(self) -> None:
        self.restart()
        self._root.close()

    def restart(self) -> None:
        """Back to the root."""
        if self.folder is not self._root:
            self.folder.close()
        self.folder, self.names = self._root, []

    def down(self, name: str) -> bool:
        """Enter a directory; `False` when there is none of that name, or a link."""
        try:
            deeper = self.folder.child(name)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False
            raise
        if self.folder is not self._root:
            self.folder.close()
        self.folder = deeper
        self.names.append(name)
        return True

    def up(self) -> bool:
        """Back to the directory above, entered anew; `False` at the root."""
        if not self.names:
            return False
        above = self.names[:-1]
        self.restart()
        # Somebody may have taken it away or put a link there meanwhile: then this is no way any more.
        if not all(self.down(name) for name in above):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return True

    def is_directory(self, name: str) -> bool:
        status = self.folder.status(name)
        return status is not None and S_ISDIR(status.st_mode)

    def link_target(self, name: str) -> str | None:
        """Where a link leads; `None` when it is no link."""
        status = self.folder.status(name)
        return self.folder.link_target(name) if status and S_ISLNK(status.st_mode) else None


def _parts(path: str) -> list[str]:
    return [name for name in path.replace("\\", "/" if os.sep == "\\" else "\\").split("/") if name]


def _means_more_on_windows(name: str) -> bool:
    """Streams, devices, and endings that Windows drops without a word."""
    stem = name.split(".")[0].rstrip().upper()
    devices = {
        "CON",
        "PRN",
        "AUX",
        "NUL",
        "CONIN$",
        "CONOUT$",
        *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10)),
    }
    return name != ".." and (":" in name or name[-1] in ". " or stem in devices)


def _entry(path: str, status: os.stat_result) -> Entry:
    kind = kind_of(status.st_mode)
    try:
        modified = datetime.datetime.fromtimestamp(status.st_mtime, datetime.UTC)
    except (ValueError, OverflowError, OSError):  # a file may be dated to a year that no calendar has
        modified = None
    return Entry(path, kind, status.st_size if kind == "file" else None, modified)
