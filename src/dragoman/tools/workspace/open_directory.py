"""One open directory, and what can be done with the names in it.

Rule: where the system has directory handles (Linux, macOS) a name is looked up in the directory
that was opened, and links are never followed; so a link put in the place of a directory on the way
leads nowhere. Without handles (Windows) every name is checked just before it is used.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal

from dragoman.errors import ToolError

from .paths import shown, wrong_kind

HANDLES = {os.open, os.stat, os.mkdir, os.rename, os.link, os.unlink, os.rmdir, os.readlink} <= os.supports_dir_fd
"""Whether this system looks names up in an open directory."""

_SAFELY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# A directory that may be entered but not listed can be opened with O_PATH alone.
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _SAFELY
# Opening a pipe must not wait for somebody to write, nor a terminal become ours.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _SAFELY
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFELY


class Folder:
    """An open directory; `path` is where it was found, for systems without handles and for messages."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path, self._handle = path, handle

    @classmethod
    def at(cls, path: str, *, handles: bool = HANDLES) -> Folder:
        """The directory at a path of this machine."""
        if handles:
            return cls(path, os.open(path, _DIRECTORY))
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(path, None)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _name(self, name: str) -> str:
        return name if self._handle is not None else os.path.join(self.path, name)

    @property
    def handle(self) -> int | None:
        """The descriptor of the open directory, where the system has handles."""
        return self._handle

    def own_status(self) -> os.stat_result:
        """The status of the directory itself."""
        return os.stat(self.path) if self._handle is None else os.fstat(self._handle)

    def identity(self) -> tuple[int, int]:
        """What tells this directory from any other."""
        status = self.own_status()
        return status.st_dev, status.st_ino

    def same(self) -> Folder:
        """The same directory, opened once more."""
        return Folder(self.path, None if self._handle is None else os.dup(self._handle))

    def child(self, name: str) -> Folder:
        """The directory `name`; fails when it is a link."""
        path = os.path.join(self.path, name)
        if self._handle is None:
            return Folder.at(path, handles=False)
        return Folder(path, os.open(name, _DIRECTORY, dir_fd=self._handle))

    def status(self, name: str) -> os.stat_result | None:
        """What stands at `name`, links not followed; `None` when nothing does."""
        try:
            return os.stat(self._name(name), dir_fd=self._handle, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def link_target(self, name: str) -> str:
        return os.readlink(self._name(name), dir_fd=self._handle)

    def open_file(self, name: str) -> int:
        """A regular file opened for reading; anything else fails and is not opened where that can be helped."""
        # Looked at before (opening a device can do things) and after (it may have been swapped).
        before = os.stat(self._name(name), dir_fd=self._handle, follow_symlinks=False)
        _insist_on_file(before, name)
        descriptor = os.open(self._name(name), _FILE, dir_fd=self._handle)
        try:
            _insist_on_file(os.fstat(descriptor), name)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def create(self, name: str, mode: int = 0o666) -> int:
        """A new file opened for writing; fails when the name is taken."""
        return os.open(self._name(name), _NEW, mode, dir_fd=self._handle)

    def names(self) -> list[str]:
        """Every name in the directory."""
        with self._open_to_list() as listed:
            return os.listdir(listed)

    def statuses(self) -> list[tuple[str, os.stat_result]]:
        """Every name with what stands there; names that go away meanwhile are passed over."""
        found: list[tuple[str, os.stat_result]] = []
        with self._open_to_list() as listed, os.scandir(listed) as entries:
            for entry in entries:
                try:
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
        return found

    @contextmanager
    def _open_to_list(self) -> Iterator[int | str]:
        if self._handle is None:
            yield self.path
            return
        listed = os.open(".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _SAFELY, dir_fd=self._handle)
        try:
            yield listed
        finally:
            os.close(listed)

    def rename(self, name: str, other: Folder, new_name: str) -> None:
        """Give a file another name; what stood there is replaced, in one step."""
        os.replace(self._name(name), other._name(new_name), src_dir_fd=self._handle, dst_dir_fd=other._handle)

    def link(self, name: str, new_name: str) -> None:
        """Give a file a second name; fails when that is taken."""
        names = self._name(name), self._name(new_name)
        if self._handle is None:
            os.link(*names)
        else:
            os.link(*names, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self._handle)

    def make(self, name: str) -> None:
        os.mkdir(self._name(name), dir_fd=self._handle)

    def unmake(self, name: str) -> None:
        """Remove an empty directory."""
        os.rmdir(self._name(name), dir_fd=self._handle)

    def may_write(self, name: str) -> bool:
        """Whether this process may write to a file, as far as the system tells."""
        return os.access(self._name(name), os.W_OK, dir_fd=self._handle)


class NotAFileError(OSError):
    """Something other than a regular file was about to be opened."""

    def __init__(self, name: str, mode: int) -> None:
        super().__init__(errno.EINVAL, "not a regular file", name)
        self.kind = kind_of(mode)


def _insist_on_file(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFileError(name, status.st_mode)


def kind_of(mode: int) -> Literal["file", "directory", "link", "other"]:
    """The word of `Entry.kind` for a file mode."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def fresh_token() -> str:
    """Part of a name nobody can foresee."""
    return secrets.token_hex(8)


# What went wrong, by the system's word for it: the kind of failure, and how to say it.
_TROUBLES = {
    errno.EACCES: ("denied", "this process has no permission for it"),
    errno.EPERM: ("denied", "this process has no permission for it"),
    errno.EROFS: ("denied", "the file system is read-only"),
    errno.ENOENT: ("failed", "it went away while it was being used; look again"),
    errno.ENOTDIR: ("failed", "a directory on the way was replaced while it was being used; look again"),
    errno.ELOOP: ("failed", "a symbolic link took its place while it was being used; look again"),
    errno.EISDIR: ("failed", "it is a directory; a file is needed here"),
    errno.ENOSPC: ("failed", "the disk is full"),
    errno.EDQUOT: ("failed", "the disk quota is used up"),
    errno.EFBIG: ("failed", "it would be larger than the system allows a file to be"),
    errno.EXDEV: ("failed", "the two places are on different file systems; write the new file and delete the old one"),
    errno.ENAMETOOLONG: ("invalid_arguments", "the path is too long for this file system"),
}


class telling:  # noqa: N801 - used as a statement, like contextlib.suppress
    """Turn what the system says about `path` into a failure a model can act on.

    A class, because a generator would take six Python calls for every path instead of three.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, NotAFileError):
            raise wrong_kind(self._path, error.kind) from None
        if isinstance(error, OSError):
            reason, trouble = _TROUBLES.get(error.errno or 0, ("failed", error.strerror or str(error)))
            details = {"reason": "system", "errno": errno.errorcode.get(error.errno or 0), "path": self._path}
            raise ToolError(f"{shown(self._path)}: {trouble}", kind=reason, details=details) from error
