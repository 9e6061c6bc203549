"""Files that a command writes for the user: they appear when they are complete, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import StorageError


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file for the user alone that takes its place at the end of the block: a failure leaves what was there.

    What the system says while it is written becomes a `StorageError` that names `path`; of a full disk it names none.
    """
    from tempfile import NamedTemporaryFile

    try:
        # In the name all of a long one would be too long.
        file = NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:40]}.", delete=False)  # noqa: SIM115 - renamed
    except OSError as error:
        raise StorageError(path, error.strerror or str(error)) from error
    try:
        with file:
            yield file  # type: ignore[misc]
        os.replace(file.name, path)
    except BaseException as error:
        os.unlink(file.name)
        if isinstance(error, OSError) and error.filename in (None, file.name):
            raise StorageError(path, error.strerror or str(error)) from error
        raise
