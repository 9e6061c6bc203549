"""What a corpus is built from: every log of the sources, with what tells whether it was read before.

Rule: a log that is as it was is not opened. What a file without a log in it said of itself is remembered too.
"""

from __future__ import annotations

import os
import pickle
import socket
import stat
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, overload

import msgspec

from dragoman.errors import ConfigError, LogError
from dragoman.logs.base.compressed import ENDINGS, each_once
from dragoman.logs.base.reading import UnknownFormat, recognise
from dragoman.logs.history.discover import Found, files_below, read_endings
from dragoman.logs.history.indexed_file import companions_of, digest, name_of, path_of
from dragoman.registry import FORMATS

from .places import Folder, Listed, Place
from .streams import beside_names, read_with

NO_LOG: Final = ""
"""The format of a file that is no log, or that is read with another."""
UNKNOWN: Final = "?"
"""The format of a file that could not be opened: whoever reads it says why."""
LABELS: Final = ("user", "team", "machine")


class Labels(msgspec.Struct, frozen=True):
    """Whose logs they are: as was said, never guessed."""

    user: str | None = None
    team: str | None = None
    machine: str | None = None


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One log to be read."""

    address: str
    """What names it in the corpus: `s3://bucket/name`, or `machine:/path`."""
    root: str
    """The place it was found in; empty for a file of this machine."""
    name: str
    """Its name there, or its path."""
    version: str
    """What is another when it changed."""
    etag: str | None = None
    modified: int = 0
    size: int = 0
    format: str | None = None
    """`None` when it is not known before it is read."""
    whole: str | None = None
    """The file that is read for this one."""
    beside: tuple[Listed, ...] = ()
    labels: Labels = Labels()


class Part(Sequence[Input]):
    """The inputs that are read into one part, packed: a plan has a million of them, and only some are being read."""

    def __init__(self, inputs: list[Input]) -> None:
        # Not JSON: the name of a file may be no text.
        self._packed, self._count = zlib.compress(pickle.dumps(inputs), 1), len(inputs)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Input]:
        return iter(self._inputs())

    @overload
    def __getitem__(self, at: int) -> Input: ...
    @overload
    def __getitem__(self, at: slice) -> list[Input]: ...
    def __getitem__(self, at: int | slice) -> Input | list[Input]:
        return self._inputs()[at]

    def _inputs(self) -> list[Input]:
        inputs: list[Input] = pickle.loads(zlib.decompress(self._packed))
        return inputs


IsKnown = Callable[[str, str, Labels], bool]
"""Whether (address, version, labels) is in the corpus already."""


class Known(msgspec.Struct, frozen=True):
    """What the corpus says of a file of this machine: its format, and the file that is read for it."""

    format: str
    whole: str | None = None


def inputs_of(
    source: Place,
    labels: Labels,
    folders: tuple[str, ...],
    known: Mapping[str, Known],
    is_known: IsKnown,
    without: Place,
    problems: dict[str, str],
) -> Iterator[tuple[Input, bool]]:
    """Every input of a source, and whether it is in the corpus already. What lies in the corpus itself is left out.

    `folders` says which labels the folders below the source name, the uppermost first. What has a name that nobody here
    can say is put into `problems`.
    """
    if isinstance(source, Folder):
        yield from _of_folder(source, labels, folders, known, is_known, without)
    else:
        yield from _of_bucket(source, labels, folders, is_known, without, problems)


def labelled(name: str, labels: Labels, folders: tuple[str, ...]) -> Labels:
    """The labels of a log by the folders it lies in; what was said for all of them is the rest."""
    named = dict(zip(folders, name.split("/")[:-1], strict=False))
    return msgspec.structs.replace(labels, **{one: value for one, value in named.items() if one in LABELS})


def folders_named(text: str) -> tuple[str, ...]:
    """`team/user/-/machine` → the labels of folders; `-` is a folder that names nothing."""
    parts = tuple(text.strip("/").split("/"))
    for part in parts:
        if part not in (*LABELS, "-"):
            raise ConfigError(f"{part!r} is nothing that a folder can name: write {', '.join(LABELS)} or -")
    return parts


# ── object storage ───────────────────────────────────────────────────────────


def _of_bucket(
    source: Place,
    labels: Labels,
    folders: tuple[str, ...],
    is_known: IsKnown,
    without: Place,
    problems: dict[str, str],
) -> Iterator[tuple[Input, bool]]:
    listed = {one.name: one for one in source.listed(problems=problems)}
    own = f"{without.address}/"
    endings = read_endings()
    members = read_with(listed.keys())
    beside: dict[str, dict[str, Listed]] = {}
    for name, holder in members.items():
        beside.setdefault(holder, {})[name] = listed[name]
    for name in listed.keys() - members.keys():
        for other in beside_names(name):
            if other in listed and other != name:
                beside.setdefault(name, {})[other] = listed[other]
    taken = {other for some in beside.values() for other in some}
    for name, one in listed.items():
        address = f"{source.address}/{name}"
        is_read = name in beside or _plain(name).endswith(endings)
        if name in taken or not is_read or address.startswith(own):
            continue
        others = sorted(beside.get(name, {}).values(), key=lambda other: other.name)
        version = one.etag
        if others:
            version += f"-{digest(msgspec.json.encode([(other.name, other.etag) for other in others]))}"
        given = labelled(name, labels, folders)
        made = Input(
            address=address,
            root=source.address,
            name=name,
            version=version,
            etag=one.etag,
            modified=one.modified,
            size=one.size,
            beside=tuple(others),
            labels=given,
        )
        yield made, is_known(address, version, given)


def _plain(name: str) -> str:
    return next((name.removesuffix(one) for one in ENDINGS if name.endswith(one)), name)


# ── files of this machine ────────────────────────────────────────────────────


def _of_folder(
    source: Folder,
    labels: Labels,
    folders: tuple[str, ...],
    known: Mapping[str, Known],
    is_known: IsKnown,
    without: Place,
) -> Iterator[tuple[Input, bool]]:
    if not source.path.exists():
        raise LogError(f"there is no file or folder {source.path}")
    if source.path.is_file():
        base, paths = source.path.parent, [source.path]
    else:
        base, paths = source.path, each_once(sorted(files_below(source.path)))
    own = without.path if isinstance(without, Folder) else None
    # As texts, of which a million take less memory than paths do.
    found = [(str(path), None) for path in paths if own is None or not path.is_relative_to(own)]
    del paths

    def labels_of(path: Path) -> Labels:
        return labelled(path.relative_to(base).as_posix(), labels, folders) if path.is_relative_to(base) else labels

    yield from _of_files(found, labels_of, known, is_known)


def inputs_here(
    found: Iterable[Found], labels: Labels, known: Mapping[str, Known], is_known: IsKnown
) -> Iterator[tuple[Input, bool]]:
    """The same of logs whose format is known by where they lie."""
    yield from _of_files([(str(one.path), one.format) for one in found], lambda _: labels, known, is_known)


def _of_files(
    paths: Iterable[tuple[str, str | None]],
    labels_of: Callable[[Path], Labels],
    known: Mapping[str, Known],
    is_known: IsKnown,
) -> Iterator[tuple[Input, bool]]:
    waiting, seen = deque(paths), set[str]()
    while waiting:
        name, format = waiting.popleft()
        if name in seen:
            continue
        seen.add(name)
        path = Path(name)
        try:
            status = os.stat(path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        labels = labels_of(path)
        labels = msgspec.structs.replace(labels, machine=labels.machine or this_machine())
        address = f"{labels.machine}:{name_of(path)}"
        before = known.get(address)
        whole = before.whole if before is not None else None
        if format is None and before is not None:
            one = _input(path, status, address, before.format, whole, labels)
            if is_known(address, one.version, labels):
                yield one, True
                waiting += [(path_of(whole), None)] if whole is not None else []
                continue
        if format is None:
            format, whole = _recognised(path)
            if whole is not None:
                waiting.append((whole, format))
                format = NO_LOG
        one = _input(path, status, address, format, None if whole is None else name_of(whole), labels)
        yield one, is_known(address, one.version, labels)


def this_machine() -> str:
    """The name of this machine."""
    return socket.gethostname() or "localhost"


def _input(path: Path, status: os.stat_result, address: str, format: str, whole: str | None, labels: Labels) -> Input:
    facts = [str(status.st_size), str(status.st_mtime_ns)]
    if format != NO_LOG and format in FORMATS and FORMATS[format].may_have_companions(str(path)):
        facts.append(companions_of(FORMATS[format], path))
    return Input(
        address=address,
        root="",
        name=str(path),
        version="-".join(facts),
        modified=status.st_mtime_ns,
        size=status.st_size,
        format=format,
        whole=whole,
        labels=labels,
    )


def _recognised(path: Path) -> tuple[str, str | None]:
    """The format of a file, and the file that is read for it if that is another."""
    try:
        chosen, _ = recognise(path)
    except UnknownFormat:
        return NO_LOG, None
    except (LogError, OSError):
        return UNKNOWN, None
    whole = chosen.whole(path)
    return chosen.name, None if whole == path else str(whole)
