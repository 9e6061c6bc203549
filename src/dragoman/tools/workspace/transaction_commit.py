"""Doing the steps of a transaction on disk: all of them, or none.

Rules:
- A file gets its new content under a name of its own (`.dragoman-….tmp`, in the same directory) and then takes the old
  file's place in one step, with its mode, owner and extended attributes; so whoever looks, and whenever the process
  is killed, the file is the old or the new one.
- Several steps are first written down in a journal in the root. A failure undoes them; a process that was killed has
  them undone when the workspace is opened next. The journal names the very directory and file it was written in,
  so one that came with a checkout is nobody's and is left alone; so is one that speaks of any place outside the
  root, or of names other than its own.
- The maker of an unfinished file holds a lock on it (on the journal, for a transaction). What nobody holds was
  abandoned, and is removed by the first write in its directory.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import ExitStack, suppress
from hashlib import blake2b
from stat import S_ISLNK

import msgspec

from dragoman.errors import ToolError

from .open_directory import Folder, NotAFileError, fresh_token, telling
from .paths import HELD_LIMIT, components, is_reserved, join, stale
from .transaction_plan import Put, Remove, Rename, Step
from .tree import Loaded

_JOURNAL = re.compile(r"\.dragoman-([0-9a-f]{16})\.(journal|done)")
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """Equal for as long as nobody writes to the file or puts another in its place."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _Swap(msgspec.Struct, frozen=True):
    """A file that gets new content: from `new`, its old self kept as `old` where there was one."""

    path: str
    digest: str
    new: str
    old: str | None = None


class _Shift(msgspec.Struct, frozen=True):
    """A file that gets another name; `inode` is the file."""

    origin: str
    path: str
    inode: int


class _Drop(msgspec.Struct, frozen=True):
    """A file that goes away; until the end it is kept as `old`."""

    path: str
    old: str


class _Journal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a transaction will do, written before it does any of it."""

    root: tuple[int, int]
    inode: int
    shifts: tuple[_Shift, ...] = ()
    swaps: tuple[_Swap, ...] = ()
    drops: tuple[_Drop, ...] = ()
    folders: tuple[str, ...] = ()
    displaced: tuple[_Drop, ...] = ()
    """The files that go away before anything else is done, because some of `folders` take their names."""


class Committer:
    """Commits transactions below one root; `open_root` opens it, anew for each."""

    def __init__(self, open_root: Callable[[], Folder], *, durable: bool) -> None:
        self._open_root, self._durable = open_root, durable
        self._cleared: set[str] = set()

    def commit(self, steps: Sequence[Step]) -> None:
        if not steps:
            return
        moved_away = {step.origin for step in steps if isinstance(step, Rename)}
        with self._open_root() as root:
            for step in steps:
                # A place that is still to be freed is checked when it is.
                if not (isinstance(step, Put) and step.path in moved_away):
                    self._check(root, step)
            if len(steps) == 1:
                self._alone(root, steps[0])
            else:
                self._together(root, steps)

    def recover(self) -> None:
        """Undo what killed processes left half done."""
        with self._open_root() as root, suppress(PermissionError):
            for name in root.names():
                if is_reserved(name) and name.endswith((".journal", ".done")):
                    with suppress(FileNotFoundError, PermissionError, NotAFileError):
                        self._take_up(root, name)

    # -- one step

    def _alone(self, root: Folder, step: Step) -> None:
        made: list[str] = []
        try:
            with telling(step.path):
                if isinstance(step, Put):
                    self._put(root, step, made)
                elif isinstance(step, Rename):
                    with _enter_above(root, step.origin) as here, _enter_above(root, step.path, made) as there:
                        here.rename(_last(step.origin), there, _last(step.path))
                else:
                    with _enter_above(root, step.path) as folder:
                        folder.unlink(_last(step.path))
        except BaseException:
            _unmake(root, made)
            raise

    def _put(self, root: Folder, step: Put, made: list[str]) -> None:
        with _enter_above(root, step.path, made) as folder:
            self._clear(folder)
            while True:
                temporary = f".dragoman-{fresh_token()}.tmp"
                file = _new_file(folder, temporary, like=step.like)
                try:
                    # Between making it and locking it, somebody clearing up may take it for abandoned.
                    if not _lock(file.fileno()) or not os.fstat(file.fileno()).st_nlink:
                        continue
                    self._fill(root, file, step)
                    self._check(root, step)
                    if not _LOCKS:
                        file.close()
                    _take_place(folder, temporary, step.path, taken=step.base is not None)
                    return
                finally:
                    file.close()
                    _discard(folder, temporary)

    def _fill(self, root: Folder, file: io.FileIO, step: Put) -> None:
        """Write a new file's content, and make it like the file whose place it takes."""
        _write_all(file, step.data)
        if step.like is not None:
            _make_like(root, step.like, file.fileno())
        if self._durable:
            os.fsync(file.fileno())

    def _check(self, root: Folder, step: Step) -> None:
        """Fail unless everything the step stands on is as it was when the transaction was worked out."""
        if isinstance(step, Rename):
            _insist(root, step.origin, step.base)
            _insist(root, step.path, None)
        else:
            _insist(root, step.path, step.base)

    def _clear(self, folder: Folder) -> None:
        """Remove what killed processes left in a directory, the first time something is written there."""
        if folder.path in self._cleared:
            return
        self._cleared.add(folder.path)
        for name in folder.names():
            if is_reserved(name) and name.endswith(".tmp"):
                with suppress(FileNotFoundError, PermissionError, NotAFileError), _Claim(folder, name) as claimed:
                    if claimed:
                        folder.unlink(name)

    # -- several steps

    def _together(self, root: Folder, steps: Sequence[Step]) -> None:
        token = fresh_token()
        begun, done = f".dragoman-{token}.journal", f".dragoman-{token}.done"
        with ExitStack() as closing, telling("."):
            journal = _planned(root, steps, token)
            try:
                if _LOCKS:
                    journal = self._write_down(root, journal, begun, closing)
                self._carry_out(root, steps, journal)
                if _LOCKS:
                    root.rename(begun, root, done)
            except BaseException as error:
                _give_up(root, journal, begun, error)
                raise
            # It is done, whatever happens now; what cannot be removed is when the workspace is opened next.
            with suppress(OSError):
                _tidy(root, journal)
                _discard(root, done)

    def _write_down(self, root: Folder, journal: _Journal, name: str, closing: ExitStack) -> _Journal:
        """Write the journal; it stays open, and locked, until the transaction ends."""
        self._clear(root)
        temporary = name.replace(".journal", ".tmp")
        file = closing.enter_context(_new_file(root, temporary))
        closing.callback(_discard, root, temporary)
        if not _lock(file.fileno()):
            raise ToolError("the journal of the transaction was removed; try again")
        journal = msgspec.structs.replace(journal, inode=os.fstat(file.fileno()).st_ino)
        _write_all(file, msgspec.json.encode(journal))
        if self._durable:
            os.fsync(file.fileno())
        root.rename(temporary, root, name)
        return journal

    def _carry_out(self, root: Folder, steps: Sequence[Step], journal: _Journal) -> None:
        puts = [(step, swap) for step, swap in zip(_puts(steps), journal.swaps, strict=True)]
        for drop in journal.displaced:
            _set_aside(root, drop)
        aside = {drop.path: join([*components(drop.path)[:-1], drop.old]) for drop in journal.displaced}
        for path in journal.folders:
            with telling(path), _enter_above(root, path) as folder:
                folder.make(_last(path))
        for step, swap in puts:
            with (
                telling(step.path),
                _enter_above(root, step.path) as folder,
                _new_file(folder, swap.new, like=step.like) as file,
            ):
                self._fill(root, file, step._replace(like=aside.get(step.like or "", step.like)))
        for shift in journal.shifts:
            with (
                telling(shift.origin),
                _enter_above(root, shift.origin) as here,
                _enter_above(root, shift.path) as there,
            ):
                here.rename(_last(shift.origin), there, _last(shift.path))
        for step, swap in puts:
            with telling(step.path), _enter_above(root, step.path) as folder:
                self._check(root, step)
                if swap.old is not None:
                    _keep(folder, _last(swap.path), swap.old)
                _take_place(folder, swap.new, swap.path, taken=swap.old is not None)
        for drop in journal.drops:
            _set_aside(root, drop)

    def _take_up(self, root: Folder, name: str) -> None:
        """Finish what a killed process began: undo its transaction, or tidy up after it."""
        with _Claim(root, name) as claimed:
            if not claimed:
                return
            try:
                journal = msgspec.json.decode(_whole(root, name), type=_Journal)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return
            status = root.status(name)
            if status is None or (journal.root, journal.inode) != (root.identity(), status.st_ino):
                return
            if not _stays_inside(journal, name):
                return
            if name.endswith(".done"):
                _tidy(root, journal)
            else:
                _undo(root, journal)
            root.unlink(name)


def _stays_inside(journal: _Journal, name: str) -> bool:
    """Whether a journal speaks only of places below the root, and of names that are its own.

    Whoever may write in the root can forge one, so nothing in it is believed.
    """
    own = _JOURNAL.fullmatch(name)
    if own is None:
        return False
    made = re.compile(rf"\.dragoman-{own[1]}-[0-9]+\.(new|old)")
    names = [name for swap in journal.swaps for name in (swap.new, swap.old) if name is not None]
    drops = (*journal.drops, *journal.displaced)
    names += [drop.old for drop in drops]
    paths = [*journal.folders, *(swap.path for swap in journal.swaps), *(drop.path for drop in drops)]
    paths += [path for shift in journal.shifts for path in (shift.origin, shift.path)]
    return all(made.fullmatch(name) for name in names) and all(_is_plain(path) for path in paths)


def _is_plain(path: str) -> bool:
    """Whether a path is spelled as resolved paths are: relative, nothing left out, and never upwards."""
    try:
        names = components(path)
    except ToolError:
        return False
    return bool(names) and ".." not in names and path == join(names)


def _puts(steps: Iterable[Step]) -> list[Put]:
    return [step for step in steps if isinstance(step, Put)]


def _planned(root: Folder, steps: Iterable[Step], token: str) -> _Journal:
    shifts: list[_Shift] = []
    swaps: list[_Swap] = []
    drops: list[_Drop] = []
    displaced: list[_Drop] = []
    folders: dict[str, None] = {}
    for number, step in enumerate(steps):
        new, old = (f".dragoman-{token}-{number}.{end}" for end in ("new", "old"))
        if isinstance(step, Put):
            swaps.append(_Swap(step.path, _digest(step.data), new, old if step.base else None))
        elif isinstance(step, Rename):
            status = _status(root, step.origin)
            shifts.append(_Shift(step.origin, step.path, status.st_ino if status else 0))
        else:
            (displaced if step.makes_room else drops).append(_Drop(step.path, old))
        if not isinstance(step, Remove):
            folders |= dict.fromkeys(_missing_above(root, step.path, {drop.path for drop in displaced}))
    return _Journal(
        root.identity(), 0, tuple(shifts), tuple(swaps), tuple(drops), tuple(folders), displaced=tuple(displaced)
    )


def _set_aside(root: Folder, drop: _Drop) -> None:
    with telling(drop.path), _enter_above(root, drop.path) as folder:
        folder.rename(_last(drop.path), folder, drop.old)


def _give_up(root: Folder, journal: _Journal, name: str, error: BaseException) -> None:
    try:
        _undo(root, journal)
        _discard(root, name)
    except (OSError, ToolError) as trouble:
        raise ToolError(
            f"the transaction failed ({error}) and could not be undone ({trouble}); "
            "it will be undone when the workspace is opened next",
            details={"reason": "half_done"},
        ) from error


def _undo(root: Folder, journal: _Journal) -> None:
    """Put everything back that a transaction has done so far. May be repeated, and may start anywhere."""
    for drop in reversed(journal.drops):
        with suppress(FileNotFoundError, NotADirectoryError), _enter_above(root, drop.path) as folder:
            if folder.status(_last(drop.path)) is None:
                folder.rename(drop.old, folder, _last(drop.path))
            _discard(folder, drop.old)
    for swap in reversed(journal.swaps):
        with suppress(FileNotFoundError, NotADirectoryError), _enter_above(root, swap.path) as folder:
            _put_back(folder, swap)
    for shift in reversed(journal.shifts):
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            _enter_above(root, shift.origin) as here,
            _enter_above(root, shift.path) as there,
        ):
            moved = there.status(_last(shift.path))
            if moved and moved.st_ino == shift.inode and here.status(_last(shift.origin)) is None:
                there.rename(_last(shift.path), here, _last(shift.origin))
    _unmake(root, journal.folders)
    for drop in reversed(journal.displaced):
        with suppress(FileNotFoundError, NotADirectoryError), _enter_above(root, drop.path) as folder:
            # A folder that somebody filled meanwhile stays, and so does the file under its other name.
            if folder.status(_last(drop.path)) is None:
                folder.rename(drop.old, folder, _last(drop.path))


def _put_back(folder: Folder, swap: _Swap) -> None:
    name = _last(swap.path)
    now = folder.status(name)
    old = folder.status(swap.old) if swap.old else None
    if old and swap.old:
        same = now is not None and now.st_ino == old.st_ino
        # Not the file this transaction wrote: somebody went on working with it, and keeps what they have.
        if not same and (now is None or _holds(folder, name, swap.digest)):
            folder.rename(swap.old, folder, name)
        _discard(folder, swap.old)
    elif now and not swap.old and _holds(folder, name, swap.digest):
        folder.unlink(name)
    _discard(folder, swap.new)


def _tidy(root: Folder, journal: _Journal) -> None:
    """Remove what a finished transaction kept for undoing it."""
    kept: list[tuple[str, tuple[str | None, ...]]] = [(swap.path, (swap.old, swap.new)) for swap in journal.swaps]
    kept += [(drop.path, (drop.old, None)) for drop in (*journal.drops, *journal.displaced)]
    for path, names in kept:
        with suppress(FileNotFoundError, NotADirectoryError), _enter_above(root, path) as folder:
            for name in names:
                if name is not None:
                    _discard(folder, name)


def _discard(folder: Folder, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.unlink(name)


def _keep(folder: Folder, name: str, old: str) -> None:
    """Give a file a second name to be found under if the transaction is undone."""
    try:
        folder.link(name, old)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without hard links the place is empty for a moment; the journal knows.
        folder.rename(name, folder, old)


def _take_place(folder: Folder, temporary: str, path: str, *, taken: bool) -> None:
    """Let a finished file take its name: over the old file, or where nothing may stand."""
    if not taken:
        try:
            folder.link(temporary, _last(path))
        except FileExistsError:
            raise stale(path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            folder.unlink(temporary)
            return
    folder.rename(temporary, folder, _last(path))


def _make_like(root: Folder, path: str, descriptor: int) -> None:
    """Give an open file the owner, the extended attributes and the mode of another, as far as the system lets us."""
    try:
        with _enter_above(root, path) as folder:
            model = folder.open_file(_last(path))
    except (FileNotFoundError, NotAFileError):
        return
    try:
        status = os.fstat(model)
        if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
            with suppress(PermissionError):
                os.fchown(descriptor, status.st_uid, status.st_gid)
        if sys.platform == "linux":
            with suppress(OSError):
                for attribute in set(os.listxattr(model)) - {"security.capability"}:
                    with suppress(OSError):
                        os.setxattr(descriptor, attribute, os.getxattr(model, attribute))
        if hasattr(os, "fchmod"):
            # New content inherits no right to run as somebody else (nor, above, the capabilities).
            os.fchmod(descriptor, status.st_mode & 0o777)
    finally:
        os.close(model)


# ── where things are ─────────────────────────────────────────────────────────


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _enter_above(root: Folder, path: str, made: list[str] | None = None) -> Folder:
    """The directory a resolved path is in; with `made`, made where missing and noted there. Links are not followed."""
    names = components(path)[:-1]
    folder = root.same()
    try:
        for count, name in enumerate(names, 1):
            if made is not None and folder.status(name) is None:
                with suppress(FileExistsError):
                    folder.make(name)
                    made.append(join(names[:count]))
            deeper = folder.child(name)
            folder.close()
            folder = deeper
    except BaseException:
        folder.close()
        raise
    return folder


def _missing_above(root: Folder, path: str, displaced: Set[str]) -> list[str]:
    """The folders above a path that are not there, or are files that will be displaced; the uppermost first."""
    names = components(path)[:-1]
    missing: list[str] = []
    while names and (join(names) in displaced or _status(root, join(names)) is None):
        missing.insert(0, join(names))
        names.pop()
    return missing


def _status(root: Folder, path: str) -> os.stat_result | None:
    try:
        with _enter_above(root, path) as folder:
            return folder.status(_last(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _insist(root: Folder, path: str, base: Loaded | None) -> None:
    """Fail unless `path` is as it was, and may be written to."""
    with telling(path):
        status = _status(root, path)
    if (status and stamp(status)) != (base and base.stamp):
        raise stale(path)
    if status is None:
        return
    with telling(path), _enter_above(root, path) as folder:
        if not S_ISLNK(status.st_mode) and not (status.st_mode & 0o222 and folder.may_write(_last(path))):
            raise ToolError(
                f'"{path}" is read-only (mode {status.st_mode & 0o7777:04o}) and is left as it is',
                kind="denied",
                details={"reason": "read_only", "path": path},
            )


def _unmake(root: Folder, folders: Sequence[str]) -> None:
    """Remove directories that were made for nothing; one that holds something by now stays."""
    for path in reversed(folders):
        with suppress(OSError), _enter_above(root, path) as above:
            above.unmake(_last(path))


def _new_file(folder: Folder, name: str, *, like: str | None = None) -> io.FileIO:
    """A file of our own; one that will be like another is nobody else's to read until it is."""
    return io.FileIO(folder.create(name, 0o600 if like else 0o666), "r+b")


def _write_all(file: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _whole(folder: Folder, name: str) -> bytes:
    with io.FileIO(folder.open_file(name), "rb") as file:
        return file.read(HELD_LIMIT)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _holds(folder: Folder, name: str, digest: str) -> bool:
    try:
        return _digest(_whole(folder, name)) == digest
    except NotAFileError:
        return False


# ── who is at work ───────────────────────────────────────────────────────────


class _Claim:
    """A file opened and, if its maker is gone, locked: then it is ours."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name

    def __enter__(self) -> bool:
        self._descriptor = self._folder.open_file(self._name)
        return _lock(self._descriptor, unless=False)

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)


if sys.platform == "win32":
    # Windows renames no open file, so nothing there can be held while it takes its place.
    _LOCKS = False

    def _lock(descriptor: int, *, unless: bool = True) -> bool:
        return unless

else:
    import fcntl

    _LOCKS = True

    def _lock(descriptor: int, *, unless: bool = True) -> bool:
        """Take the lock of an open file; it is given back when the process ends, however it ends.

        `unless` is the answer where there are no locks: what is ours is ours, and nothing else can be claimed.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return unless
        return True
