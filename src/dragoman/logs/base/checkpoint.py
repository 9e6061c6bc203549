"""A reader stopped in the middle of a file, as bytes: so that a file that grew is read on and not anew.

Rule: nothing is made from such bytes but plain values, our own data, and the reader of that very file. Whatever cannot
be stored or made again gives `None`, which costs reading the file from its beginning and nothing else.
"""

from __future__ import annotations

import enum
import io
import pickle
import sys
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.registry import FORMATS

from .format import LogReader, Storable
from .normalise import Normaliser

_PLAIN: Final = {
    "builtins": {"set", "frozenset", "bytearray"},
    "collections": {"OrderedDict", "deque", "defaultdict", "Counter"},
    "copyreg": {"_reconstructor"},
    "datetime": {"datetime", "date", "time", "timedelta", "timezone"},
    "msgspec": {"Raw"},
    "msgspec._core": {"rebuild", "UNSET"},
    "msgspec._utils": {"rebuild"},
    "pathlib": {"Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"},
}
_ROOMS: Final = ("dragoman.logs.", "dragoman.model.", "dragoman.apis.", "dragoman.dialects.")


class _Kept(msgspec.Struct):
    """The data of a reader or of its normaliser: all it holds but code, which a new one brings along."""

    kind: str
    data: dict[str, Any]


def stored(reader: LogReader, beside: Storable) -> bytes | None:
    """A reader and what goes with it, as bytes; `None` where something in it cannot be stored."""
    target = io.BytesIO()
    try:
        _Pickler(target, protocol=5).dump((_kept(reader), beside))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return None
    return zlib.compress(target.getvalue(), 1)


def restored(format: str, path: Path, data: bytes | None) -> tuple[LogReader, Any] | None:
    """What was stored; `None` where it is not what we store."""
    if data is None:
        return None
    try:
        reader: LogReader = FORMATS[format].reader(path)
        kept, beside = _Unpickler(io.BytesIO(zlib.decompress(data)), type(reader)).load()
        _fill(reader, kept, path)
    except (zlib.error, pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return reader, beside


def _kept(value: LogReader | Normaliser) -> _Kept:
    data = {}
    for name, held in vars(value).items():
        if name in value.not_stored:
            continue
        if isinstance(held, LogReader | Normaliser):
            data[name] = _kept(held)
        elif not _is_code(held):
            data[name] = held
    return _Kept(type(value).__qualname__, data)


def _is_code(value: Any) -> bool:
    if isinstance(value, dict) and value:
        return all(callable(one) for one in value.values())
    return callable(value) and not isinstance(value, Dialect)


def _fill(target: LogReader | Normaliser, kept: _Kept, path: Path) -> None:
    if type(target).__qualname__ != kept.kind:
        raise ValueError(f"it was stored by a {kept.kind}")
    for name, value in kept.data.items():
        if isinstance(value, _Kept):
            _fill(_part(target, name, value, path), value, path)
        else:
            setattr(target, name, value)


def _part(whole: LogReader | Normaliser, name: str, kept: _Kept, path: Path) -> LogReader | Normaliser:
    """The part that is to be filled; a reader that is chosen by what it reads is of the same module as its chooser."""
    found: LogReader | Normaliser | None = getattr(whole, name)
    if found is None:
        kind = getattr(sys.modules[type(whole).__module__], kept.kind)
        if not issubclass(kind, LogReader):
            raise ValueError(f"{kept.kind} is no reader")
        found = kind(path)
        setattr(whole, name, found)
    return found


class _Pickler(pickle.Pickler):
    """Vocabularies are the same in every process: they are named and not stored."""

    def reducer_override(self, value: Any) -> Any:
        """A member of an enumeration by its value; Python 3.11 stores some by a call of `getattr`, which is refused."""
        return (type(value), (value.value,)) if isinstance(value, enum.Enum) else NotImplemented

    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, Dialect):
            return None
        known: Dialect = DIALECTS[value.name]
        if known.spellings != value.spellings:
            raise pickle.PicklingError(f"{value!r} is not the one that is listed")
        servers = {name: tuple(tools) for name, tools in value.servers.items()}
        return value.name, value.version, value.family, servers, tuple(sorted(value.functions))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, reader: type[LogReader]) -> None:
        super().__init__(file)
        self._modules = {kind.__module__ for kind in reader.__mro__} - {"builtins", "abc"}

    def persistent_load(self, pid: Any) -> Dialect:
        name, version, family, servers, functions = pid
        dialect: Dialect = DIALECTS[name]
        if servers or functions:
            dialect = dialect.knowing(servers=servers, functions=functions)
        return dialect.at(version, family) if version or family else dialect

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if "." not in name and (module in self._modules or module.startswith(_ROOMS)):
            found = super().find_class(module, name)
            if isinstance(found, type) and self._holds_data(found, module):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that is stored with a reader")

    def _holds_data(self, kind: type, module: str) -> bool:
        """Whether making one does nothing: our structs, and what a format keeps for its own reader's use."""
        return issubclass(kind, msgspec.Struct | enum.Enum | Storable) or (
            module in self._modules and kind.__name__.startswith("_")
        )
