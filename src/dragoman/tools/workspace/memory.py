"""A workspace that lives in memory: a virtual file system that knows every version of a file and who wrote it.

Rule: it keeps the same promises as a folder on disk, and nothing of it is ever written to one, except
for the temporary copy of `directory`.
"""

from __future__ import annotations

import datetime
import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dragoman.errors import ToolError
from dragoman.model.outcomes import Entry

from .diff import difference
from .open_directory import telling
from .paths import HELD_LIMIT, components, join, outside, wrong_kind
from .text import encoded
from .transaction_plan import Put, Remove, Rename, Step
from .tree import Loaded, Opened, missing
from .workspace import Workspace


class Version(msgspec.Struct, frozen=True):
    """One state a path had. `number` counts from 1, also over a deletion; `diff` leads here from the one before."""

    number: int
    author: str | None
    time: datetime.datetime
    size: int
    diff: str | None = None
    added: int | None = None
    removed: int | None = None
    deleted: bool = False


class _File(msgspec.Struct, eq=False):
    """A file, and the versions of it that are kept, oldest first."""

    data: bytes
    versions: deque[tuple[Version, bytes]]


class MemoryWorkspace(Workspace):
    """Files in memory. The newest `keep` versions of each are kept, those of a deleted file too.

    An absolute path starts at its root. Safe to use from several threads.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        name: str = "memory",
        author: str | None = None,
        keep: int = 20,
        forgiving: bool = True,
    ) -> None:
        super().__init__(name, forgiving=forgiving)
        self._keep = max(keep, 1)
        self._files: dict[str, _File] = {}
        self._past: dict[str, deque[tuple[Version, bytes]]] = {}
        self._folders: dict[str, set[str]] = {".": set()}
        for path, content in (files or {}).items():
            self.write(path, encoded(content) if isinstance(content, str) else content, author=author)

    def resolve(self, path: str, *, follow: bool = True) -> str:
        names: list[str] = []
        for name in components(path):
            if name != "..":
                names.append(name)
            elif names:
                names.pop()
            else:
                raise outside(path)
        return join(names)

    def find(self, path: str) -> Opened | None:
        target = self.resolve(path)
        with self._writing:
            if target in self._folders:
                raise wrong_kind(path, "directory")
            file = self._files.get(target)
        return None if file is None else Opened(target, io.BytesIO(file.data), len(file.data))

    def entry(self, path: str) -> Entry | None:
        target = self.resolve(path)
        with self._writing:
            return Entry(target, "directory") if target in self._folders else self._entry(target, target)

    def _entry(self, path: str, shown: str) -> Entry | None:
        file = self._files.get(path)
        return Entry(shown, "file", len(file.data), file.versions[-1][0].time) if file else None

    def _listed(self, path: str, below: str = "") -> list[Entry] | None:
        folder = self.resolve(path)
        with self._writing:
            if folder not in self._folders:
                return None
            held = {name: name if folder == "." else f"{folder}/{name}" for name in sorted(self._folders[folder])}
            return [
                Entry(below + name, "file", len(self._files[path].data))
                if path in self._files
                else Entry(below + name, "directory")
                for name, path in held.items()
            ]

    @contextmanager
    def directory(self) -> Iterator[Path]:
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="dragoman-") as folder:
            with self._writing:
                files = {path: file.data for path, file in self._files.items()}
                folders = sorted(self._folders)
            with telling(self.name):
                for path in folders:
                    Path(folder, path).mkdir(exist_ok=True)
                for path, data in files.items():
                    Path(folder, path).write_bytes(data)
            yield Path(folder)

    def history(self, path: str) -> tuple[Version, ...]:
        """The versions kept of a file, newest first; the last of a deleted file says so."""
        return tuple(version for version, _ in reversed(self._versions(path)))

    def at_version(self, path: str, number: int) -> bytes:
        """The content of one version of a file."""
        known = {version.number: data for version, data in self._versions(path) if not version.deleted}
        if number not in known:
            kept = ", ".join(map(str, known)) or "none"
            raise ToolError(
                f'version {number} of "{path}" is not kept; kept are: {kept}',
                details={"reason": "not_found", "path": path},
            )
        return known[number]

    def _versions(self, path: str) -> deque[tuple[Version, bytes]]:
        target = self.resolve(path)
        with self._writing:
            versions = self._files[target].versions if target in self._files else self._past.get(target)
            if versions is None:
                raise missing(self, path)
            return versions.copy()

    def _load(self, path: str) -> Loaded | None:
        with self._writing:
            if path in self._folders:
                raise wrong_kind(path, "directory")
            file = self._files.get(path)
            if file is None:
                return None
            held = file.data if len(file.data) <= HELD_LIMIT else None
            return Loaded(held, file.versions[-1][0].number, len(file.data))

    def _commit(self, steps: Sequence[Step], author: str | None) -> None:
        now = datetime.datetime.now(datetime.UTC)
        for step in steps:
            match step:
                case Put(path, data):
                    self._record(path, data, author, now)
                case Rename(origin, path):
                    data = self._files[origin].data
                    self._forget(origin, author, now)
                    self._record(path, data, author, now)
                case Remove(path):
                    self._forget(path, author, now)

    def _record(self, path: str, data: bytes, author: str | None, now: datetime.datetime) -> None:
        file = self._files.get(path)
        before = file.data if file else None
        versions = file.versions if file else self._past.pop(path, deque(maxlen=self._keep))
        number = versions[-1][0].number + 1 if versions else 1
        version = Version(number, author, now, len(data), **difference(path, before, data))
        versions.append((version, data))
        self._files[path] = _File(data, versions)
        names = components(path)
        for count, name in enumerate(names):
            self._folders.setdefault(join(names[:count]), set()).add(name)

    def _forget(self, path: str, author: str | None, now: datetime.datetime) -> None:
        file = self._files.pop(path)
        told = difference(path, file.data, None)
        version = Version(file.versions[-1][0].number + 1, author, now, 0, **told, deleted=True)
        file.versions.append((version, b""))
        self._past[path] = file.versions
        *above, name = components(path)
        self._folders[join(above)].remove(name)
