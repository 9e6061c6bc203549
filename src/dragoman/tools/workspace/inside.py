"""Which of the paths a search reported are really in the folder that was searched.

ripgrep opens what it searches by path. A folder that is swapped for a link at the right moment leads it out of the
workspace, and once the folder is back in its place nothing shows that. So what ripgrep reports is checked.

Rule: a path is sure when every folder on its way is a folder, not a link, and has not changed since before the search
began, so that its names meant the same all the time. The change time tells that: every new, renamed or removed name
sets it, and no program can set it back. It is believed on file systems that take it from the clock of this machine. A
path that is not sure counts only as far as it can be opened name by name, without following links.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Final, NamedTuple

from .open_directory import Folder

_COARSE_CLOCK: Final = 5
"""CLOCK_REALTIME_COARSE: where Linux takes the times of files from."""
_SLACK: Final = 5_000_000
"""Nanoseconds by which the clock may be set during a search without anybody noticing."""
_SECOND: Final = 1_000_000_000
_LOCAL: Final = frozenset(
    {b"bcachefs", b"btrfs", b"ext2", b"ext3", b"ext4", b"f2fs", b"overlay", b"ramfs", b"tmpfs", b"xfs", b"zfs"}
)
"""File systems whose times come from the clock of this machine; those of a server or a host may not."""


class Inside:
    """A folder about to be searched, to be made before the search begins."""

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._began = time.clock_gettime_ns(_COARSE_CLOCK) if _is_local(root) else None
        self._drift = _drift()

    def unsure(self, paths: Collection[bytes]) -> set[bytes]:
        """Those of the paths that are not sure; they may begin with "./"."""
        if self._root.handle is None:
            return set()  # without handles nothing could be opened more safely either
        folders = {path.rpartition(b"/")[0] for path in paths}
        changed = folders - self._quiet(folders)
        return {path for path in paths if path.rpartition(b"/")[0] in changed} if changed else set()

    def _quiet(self, folders: Iterable[bytes]) -> set[bytes]:
        """Those of the folders that have not changed since the search began, nor has any on their way."""
        if self._began is None or abs(_drift() - self._drift) > _SLACK:
            return set()
        found: set[bytes] = set()
        with _Way(self._root, self._began - _SLACK) as way:
            for names, folder in sorted((_names(folder), folder) for folder in folders):
                step = way.go(names)
                if step is not None and step.quiet:
                    found.add(folder)
        return found

    def files(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that are regular files."""
        with _Way(self._root) as way:
            return {b"/".join(names) for names in sorted(map(_names, paths)) if way.is_file(names)}

    @contextmanager
    def opened(self, paths: Iterable[bytes]) -> Iterator[dict[bytes, int]]:
        """Those of the paths that are regular files, each opened for reading."""
        held: dict[bytes, int] = {}
        try:
            with _Way(self._root) as way:
                for names in sorted(map(_names, paths)):
                    descriptor = way.open_file(names)
                    if descriptor is not None:
                        held[b"/".join(names)] = descriptor
            yield held
        finally:
            for descriptor in held.values():
                os.close(descriptor)


class _Step(NamedTuple):
    """An open folder on the way, and whether neither it nor any above it has changed since the time asked for."""

    name: bytes
    folder: Folder
    quiet: bool


class _Way:
    """The way from a root to one path after the other, in order: folders they share are opened once."""

    def __init__(self, root: Folder, since: int = 0) -> None:
        status = root.own_status()
        self._device, self._since = status.st_dev, since
        self._steps = [_Step(b"", root, self._unchanged(status))]

    def __enter__(self) -> _Way:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._back_to(1)

    def _back_to(self, count: int) -> None:
        while len(self._steps) > count:
            self._steps.pop().folder.close()

    def _unchanged(self, status: os.stat_result) -> bool:
        changed = status.st_ctime_ns
        if changed % _SECOND == 0:  # a file system that counts in seconds, or in two of them
            changed += 2 * _SECOND
        return changed < self._since and status.st_dev == self._device

    def go(self, names: Sequence[bytes]) -> _Step | None:
        """Go to a folder; `None` when there is no such folder, or a link on the way."""
        steps = self._steps
        shared = 1
        while shared < len(steps) and shared <= len(names) and steps[shared].name == names[shared - 1]:
            shared += 1
        self._back_to(shared)
        for name in names[shared - 1 :]:
            above = steps[-1]
            try:
                folder = None if name in (b"", b".", b"..") else above.folder.child(os.fsdecode(name))
            except OSError:
                folder = None
            if folder is None:
                return None
            steps.append(_Step(name, folder, above.quiet and self._unchanged(folder.own_status())))
        return steps[-1]

    def is_file(self, names: Sequence[bytes]) -> bool:
        step = self.go(names[:-1])
        status = None if step is None else step.folder.status(os.fsdecode(names[-1]))
        return status is not None and stat.S_ISREG(status.st_mode)

    def open_file(self, names: Sequence[bytes]) -> int | None:
        step = self.go(names[:-1])
        try:
            return None if step is None else step.folder.open_file(os.fsdecode(names[-1]))
        except OSError:
            return None


def _names(path: bytes) -> list[bytes]:
    return [] if path in (b"", b".") else path.removeprefix(b"./").split(b"/")


def _drift() -> int:
    """How far the clock is from one that nobody can set."""
    return time.time_ns() - time.monotonic_ns()


def _is_local(folder: Folder) -> bool:
    """Whether a folder is on a file system of this machine, as far as the system tells."""
    if folder.handle is None:
        return False
    try:
        with open(f"/proc/self/fdinfo/{folder.handle}", "rb") as file:
            facts = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
        with open("/proc/self/mountinfo", "rb") as file:
            mounts = file.read().splitlines()
    except OSError:
        return False
    wanted = facts.get(b"mnt_id", b"").strip()
    for mount in mounts:
        number, _, rest = mount.partition(b" ")
        if number == wanted:
            return rest.partition(b" - ")[2].split(b" ", 1)[0] in _LOCAL
    return False
