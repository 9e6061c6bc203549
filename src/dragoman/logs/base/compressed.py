"""Logs that were compressed with gzip or zstd, read in place: what is read, and what offsets count, is what they hold.

Rule: how a file is compressed is known by its first bytes, not by its name. It is unpacked into a temporary file, so
memory does not grow with it, and no more than `LARGEST` bytes of it: a small file can hold any amount of zeros.

A reader is given the name that the log has without it (`plain_name`), so events are the same before a client compresses
a log and after; where a file of that name is not there, `open_log` opens the compressed one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from dragoman.errors import LogError, MissingExtra

ENDINGS: Final = (".gz", ".zst")
"""What is put after the name of a file that is compressed."""
LARGEST: Final = 2 << 30
"""Bytes that a compressed log may hold."""
_GZIP: Final = b"\x1f\x8b\x08"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 1 << 20


def open_log(path: Path | str) -> IO[bytes]:
    """A log's bytes, to be read and sought in: those it holds, where it is compressed."""
    file = _opened(path)
    try:
        head = file.read(len(_ZSTD))
        file.seek(0)
        if not head.startswith((_GZIP, _ZSTD)):
            return file
        unpacked = _unpacked(str(path), _of_gzip(file) if head.startswith(_GZIP) else _of_zstd(file))
    except BaseException:
        file.close()
        raise
    file.close()
    return unpacked


def unpacked_pieces(name: str, file: IO[bytes], head: bytes) -> Iterator[bytes]:
    """What a stream holds that begins with `head`, unpacked where it is compressed; nothing is put on the disk."""
    if not head.startswith((_GZIP, _ZSTD)):
        while data := file.read(_PIECE):
            yield data
        return
    length = 0
    try:
        for piece in _of_gzip(file) if head.startswith(_GZIP) else _of_zstd(file):
            length += len(piece)
            if length > LARGEST:
                raise _too_large(name)
            yield piece
    except (zlib.error, EOFError, ValueError) as error:
        raise LogError(f"cannot unpack {name}: {error}") from error


def _too_large(name: str) -> LogError:
    return LogError(f"{name} holds more than {LARGEST >> 30} GiB; unpack it and read the parts you need")


def _opened(path: Path | str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        for ending in ENDINGS:
            try:
                return open(f"{path}{ending}", "rb")
            except FileNotFoundError:
                continue
        raise


def is_compressed(path: Path | str) -> bool:
    """Whether a file is compressed; one that cannot be opened is not."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_ZSTD)).startswith((_GZIP, _ZSTD))
    except OSError:
        return False


def plain_name(path: Path) -> Path:
    """The path without what compressing added to its name."""
    return path.with_suffix("") if path.suffix in ENDINGS else path


def each_once(paths: list[Path]) -> list[Path]:
    """These paths without the compressed ones beside which the same log is there as it was."""
    known = set(paths)
    return [path for path in paths if path.suffix not in ENDINGS or plain_name(path) not in known]


def _unpacked(path: str, pieces: Iterator[bytes]) -> IO[bytes]:
    from tempfile import TemporaryFile

    whole: IO[bytes] = TemporaryFile(prefix="dragoman-")  # noqa: SIM115 - the caller closes it
    length = 0
    try:
        for piece in pieces:
            length += len(piece)
            if length > LARGEST:
                raise _too_large(path)
            whole.write(piece)
    except (zlib.error, EOFError, ValueError) as error:
        whole.close()
        raise LogError(f"cannot unpack {path}: {error}") from error
    except BaseException:
        whole.close()
        raise
    whole.seek(0)
    return whole


def _of_gzip(file: IO[bytes]) -> Iterator[bytes]:
    """What gzip holds, of all its members; one that was cut is given as far as it goes."""
    inner = zlib.decompressobj(31)
    while data := file.read(_PIECE):
        while data:
            yield inner.decompress(data, _PIECE)
            data = inner.unconsumed_tail
            if inner.eof:
                data, inner = inner.unused_data.lstrip(b"\0"), zlib.decompressobj(31)
    yield inner.flush()


def _of_zstd(file: IO[bytes]) -> Iterator[bytes]:
    """The same of zstd."""
    zstandard: Any
    try:
        import zstandard
    except ImportError as error:
        needed = MissingExtra("zstd", "reading a log that is compressed with zstd", "zstandard")
        raise LogError(f"cannot unpack {file.name}: {needed}") from error  # as any log that cannot be read
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False) as inner:
            while data := inner.read(_PIECE):
                yield data
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
