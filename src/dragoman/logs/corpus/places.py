"""Where logs and corpora are: a folder of this machine, or object storage (S3, Google Cloud Storage, Azure).

Rules: writing an object is atomic, and `put_new` never overwrites one: if several writers try, it returns true for only
one of them. Keys and addresses of services come from the environment of the process alone (`AWS_ACCESS_KEY_ID`, …).
"""

from __future__ import annotations

import abc
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dragoman.errors import ConfigError, LogError, MissingExtra, StorageError, writing

SCHEMES: Final = ("s3", "gs", "az")
"""How the addresses of object storage begin."""
_PIECE: Final = 1 << 20
_OPTIONS: Final = {"timeout": "600s", "connect_timeout": "10s"}
_ALLOW_HTTP: Final = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")
_RETRIES: Final = {"max_retries": 4}


class Listed(msgspec.Struct, frozen=True):
    """One object below a place: its name there, and what tells whether it is as it was."""

    name: str
    size: int
    modified: int
    """Nanoseconds since 1970."""
    etag: str


class Place(abc.ABC):
    """A folder of objects. Names are relative to it, with `/` between their parts."""

    is_remote: bool

    def __init__(self, address: str) -> None:
        self.address = address

    @abc.abstractmethod
    def listed(self, below: str = "", problems: dict[str, str] | None = None) -> Iterator[Listed]:
        """The objects below a name, in the order of their names.

        Those whose names nobody here can say are put into `problems`, address → reason; without that, `LogError`.
        """

    @abc.abstractmethod
    def pieces(self, name: str, etag: str | None = None) -> Iterator[bytes]:
        """The bytes of an object as they come; `LogError` if it cannot be read, or is not the one with this `etag`."""

    @abc.abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such an object."""

    @abc.abstractmethod
    def put_new(self, name: str, data: bytes) -> bool:
        """Writes an object, unless there is one of that name: then nothing is changed, and it gives `False`."""

    def get(self, name: str) -> bytes:
        """The whole object."""
        return b"".join(self.pieces(name))


def place_of(address: str) -> Place:
    """The place of an address: a path, `file://…`, `s3://bucket/folder`, `gs://…`, `az://container/folder`."""
    scheme, found, rest = address.partition("://")
    if not found:
        return Folder(address)
    if scheme == "file":
        if not rest.startswith("/"):
            raise ConfigError(f"{address!r} names no folder: write file:///absolute/path, or the path alone")
        return Folder(rest)
    if scheme not in SCHEMES:
        known = ", ".join(f"{one}://" for one in (*SCHEMES, "file"))
        raise ConfigError(f"{address!r} is at no place that is known here: give a folder, or an address with {known}")
    if not rest.strip("/") or re.search(r"[\s\x00-\x1f]", address):
        raise ConfigError(f"{address!r} names no bucket: write {scheme}://bucket/folder")
    return Bucket(address.rstrip("/"))


_TEMPORARY: Final = ".new-"
"""How files begin that are not written to their end; a process that is killed leaves one."""


class Folder(Place):
    """A folder of this machine."""

    is_remote = False

    def __init__(self, path: str) -> None:
        if not path or "\0" in path:
            raise ConfigError(f"{path!r} is no folder: give its path")
        self.path = Path(os.path.abspath(os.path.expanduser(path)))
        super().__init__(str(self.path))

    def listed(self, below: str = "", problems: dict[str, str] | None = None) -> Iterator[Listed]:
        found = []
        for folder, _, names in os.walk(self.path / below):
            for name in names:
                path = Path(folder, name)
                if name.startswith(_TEMPORARY):
                    continue
                with suppress(OSError):
                    status = path.stat()
                    facts = f"{status.st_size}-{status.st_mtime_ns}"
                    found.append(
                        Listed(path.relative_to(self.path).as_posix(), status.st_size, status.st_mtime_ns, facts)
                    )
        return iter(sorted(found, key=lambda one: one.name))

    def pieces(self, name: str, etag: str | None = None) -> Iterator[bytes]:
        try:
            with open(self.path / name, "rb") as file:
                while data := file.read(_PIECE):
                    yield data
        except OSError as error:
            raise LogError(f"cannot read {self.path / name}: {error.strerror}") from error

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def put_new(self, name: str, data: bytes) -> bool:
        path = self.path / name
        with writing(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A name that is linked to a whole file is there at once or not at all, and a link replaces nothing.
            descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(temporary, path)
            except FileExistsError:
                return False
            finally:
                os.unlink(temporary)
        return True


class Bucket(Place):
    """Object storage, by obstore."""

    is_remote = True

    def __init__(self, address: str) -> None:
        super().__init__(address)
        try:
            import obstore
        except ImportError as error:
            raise MissingExtra("corpus", f"reading and writing {address}", "obstore") from error
        self._obstore: Any = obstore
        with self._told("open"):
            self._store: Any = obstore.store.from_url(
                address,
                client_options={**_OPTIONS, "allow_http": any(map(_is_set, _ALLOW_HTTP))},
                retry_config=_RETRIES,
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Bucket, (self.address,)

    def listed(self, below: str = "", problems: dict[str, str] | None = None) -> Iterator[Listed]:
        with self._told("list"):
            if problems is None:
                for some in self._obstore.list(self._store, prefix=below or None):
                    yield from map(_listed, some)
            else:
                yield from self._listed_in_part(below, None, problems)

    def _listed_in_part(self, below: str, after: str | None, problems: dict[str, str]) -> Iterator[Listed]:
        """What can be listed. obstore refuses a whole page of a list for one name in it that is no path to it."""
        last = after
        try:
            for some in self._obstore.list(self._store, prefix=below or None, offset=after):
                for one in map(_listed, some):
                    last = one.name
                    yield one
            return
        except self._obstore.exceptions.InvalidPathError as error:
            refused, reason = error, _first_line(str(error))
        try:
            found = self._obstore.list_with_delimiter(self._store, prefix=below or None)
        except self._obstore.exceptions.InvalidPathError:
            # One lies in this very folder: then its list can only be asked for from a name on.
            yield from self._listed_past(below, last, self._impossible(str(refused), below), reason, problems)
            return
        for one in map(_listed, found["objects"]):
            if last is None or one.name > last:
                yield one
        for folder in found["common_prefixes"]:
            if last is None or f"{folder}/\U0010ffff" > last:
                yield from self._listed_in_part(folder, last, problems)

    def _listed_past(
        self, below: str, last: str | None, name: _Impossible | None, reason: str, problems: dict[str, str]
    ) -> Iterator[Listed]:
        """What follows after a name that is no path, and what is in the folder that it lies in."""
        missing = "up to 1,000 names that come before it may be missing too"
        whole = f"{self.address}/{below}".rstrip("/")
        if name is None or (last is not None and name.past <= last):  # the service cannot begin after a name
            problems[whole] = f"cannot list all of it: {reason}; rename that"
            return
        begin = len(below) + 1 if below else 0
        child = name.folder[begin:].partition("/")[0]
        past = name.past
        if child:
            folder = name.folder[:begin] + child
            problems[f"{whole}/{child}"] = f"a name in it is no path ({reason}); {missing}"
            yield from self._listed_in_part(folder, last, problems)
            past = f"{folder}0"  # "0" is what follows "/"
        else:
            problems[f"{self.address}/{name.told}"] = f"{reason}; rename it: {missing}"
        yield from self._listed_in_part(below, past, problems)

    def _impossible(self, error: str, below: str) -> _Impossible | None:
        """The name that a list was refused for, which the error says with the folder of this place before it."""
        found = _REFUSED.match(error)
        key = "" if found is None else next(one for one in found.groups() if one is not None)
        above = self.address.split("://", 1)[1].split("/")[1:]
        name = key.lstrip("/").removeprefix("/".join([*above, ""]))
        return _impossible(name) if name.startswith(below) else None

    def pieces(self, name: str, etag: str | None = None) -> Iterator[bytes]:
        with self._told("read", name):
            options = {"if_match": f'"{etag}"'} if etag is not None else {}
            for piece in self._obstore.get(self._store, name, options=options).stream(min_chunk_size=_PIECE):
                yield bytes(piece)

    def has(self, name: str) -> bool:
        try:
            with self._told("look at", name):
                self._obstore.head(self._store, name)
        except _Gone:
            return False
        return True

    def put_new(self, name: str, data: bytes) -> bool:
        errors = self._obstore.exceptions
        with self._told("write", name, is_written=True):
            try:
                self._obstore.put(self._store, name, data, mode="create")
            except (errors.AlreadyExistsError, errors.PreconditionError):
                return False
        return True

    @contextmanager
    def _told(self, what: str, name: str = "", *, is_written: bool = False) -> Iterator[None]:
        """What the service says is wrong, as an error of ours."""
        errors = self._obstore.exceptions
        where = f"{self.address}/{name}" if name else self.address
        try:
            yield
        except errors.PreconditionError as error:
            raise LogError(f"{where} changed while it was read; build again") from error
        except (errors.NotFoundError, FileNotFoundError) as error:
            raise _Gone(f"cannot {what} {where}: it is not there") from error
        except errors.InvalidPathError as error:
            reason = _first_line(str(error))
            raise LogError(f"cannot {what} {where}: {reason}; rename it, or name a folder without it") from error
        except (errors.BaseError, OSError, ValueError) as error:
            reason = _first_line(str(error))
            if is_written:
                raise StorageError(where, reason, _ADVICE) from error
            raise LogError(f"cannot {what} {where}: {reason}; {_ADVICE}") from error


_REFUSED: Final = re.compile(
    r'[^\n]*?(?:Path "(.*)" contained empty path segment|Error parsing Path "(.*)": Encountered illegal)', re.DOTALL
)
"""How obstore 0.12 says which name is none to it."""


class _Impossible(NamedTuple):
    """A name that is no path: all of it, the folder of the part that is none, and what comes after such names."""

    told: str
    folder: str
    past: str


def _impossible(name: str) -> _Impossible | None:
    begin = 0
    for part in name.split("/"):
        end = begin + len(part)
        if part in ("", ".", ".."):
            return _Impossible(name, name[: max(begin - 1, 0)], name[:end] + ("0" if end < len(name) else " "))
        for at in range(begin, end):
            if name[at] < " ":
                return _Impossible(name, name[: max(begin - 1, 0)], f"{name[:at]} ")
            if name[at] == "\x7f":
                return _Impossible(name, name[: max(begin - 1, 0)], f"{name[:at]}\x80")
        begin = end + 1
    return None


def _listed(one: Any) -> Listed:
    modified = int(one["last_modified"].timestamp() * 1_000_000) * 1_000
    etag = (one["e_tag"] or f"{one['size']}-{modified}").strip('"')
    return Listed(one["path"], one["size"], modified, etag)


class _Gone(LogError):
    """An object that is not there."""


_ADVICE: Final = "the keys and the region are taken from the environment (AWS_…, GOOGLE_…, AZURE_…)"


def _is_set(name: str) -> bool:
    """Whether the environment says yes to something: options given to obstore replace those it takes from there."""
    return os.environ.get(name, "").lower() in ("1", "true")


def _first_line(text: str) -> str:
    """What an error says, without the details that follow and can be long."""
    line = next(iter(text.strip().splitlines()), "no reason was given")
    return line if len(line) <= 300 else f"{line[:300]}…"
