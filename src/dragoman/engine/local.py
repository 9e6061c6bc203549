"""A language model inside this process: llama.cpp (the extra `local`), one GGUF file, tools by constrained decoding.

llama.cpp answers on a port of this machine's own loopback, under a key made for this process alone, so asking it is
asking any other server: streamed, cancelled and bounded by the same transport.

Rule: the machine stays usable. Threads are as many as there are idle cores, never more than there are cores.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import EngineError, MissingExtra

from .constrained import ConstrainedEngine
from .engine import HttpEngine
from .model_files import fetched
from .policy import Retry
from .transport import Times, Transport

if TYPE_CHECKING:
    from dragoman.model import Reply, Request

    from .engine import Exchange, Observer

CONTEXT = 8192
"""Tokens a conversation may have: of the default model about 230 MB beside its weights."""


class LocalEngine(ConstrainedEngine):
    """Answers from a model file. It is loaded with the first question, and given back by `close`.

    `model_file` is a path, or a function that fetches the file and returns its path; it is called in a thread.
    """

    name = "local"

    def __init__(
        self,
        model_file: Path | Callable[[], Path],
        *,
        threads: int | None = None,
        context: int = CONTEXT,
        optional: bool = False,
        max_output_tokens: int = 1024,
        record: Callable[[Exchange], None] | None = None,
    ) -> None:
        # The address and key are not known before the model is loaded; the engine that knows them is made then.
        unloaded = HttpEngine("openai_chat", Transport("http://127.0.0.1"), provider="local", record=record)
        super().__init__(unloaded, optional=optional, max_output_tokens=max_output_tokens)
        self._file, self._context, self._record = model_file, context, record
        self.threads = threads or idle_cores()
        self._server: Any = None
        self._loading = asyncio.Lock()

    async def ask(self, request: Request, observe: Observer | None = None) -> Reply:
        async with self._loading:
            if self._server is None:
                await self._load()
        return await super().ask(request, observe)

    async def _load(self) -> None:
        path = self._file if isinstance(self._file, Path) else await asyncio.to_thread(self._file)
        import secrets

        key = secrets.token_urlsafe(24)
        self._server = await asyncio.to_thread(_started, path, key, threads=self.threads, context=self._context)
        # Silence is no fault here: on a slow machine a long prompt takes minutes before the first word.
        self.inner = HttpEngine(
            "openai_chat",
            Transport(
                f"{self._server.listening_address}/v1",
                headers={"authorization": f"Bearer {key}"},
                times=Times(read=1800.0),
            ),
            provider="local",
            retry=Retry(times=0),
            record=self._record,
        )

    async def close(self) -> None:
        """Ends the server and gives the memory back."""
        await super().close()
        server, self._server = self._server, None
        if server is not None:
            # The last reference goes in the thread: ending waits for the token that is being made.
            await asyncio.to_thread(_ended, [server])


def local_engine(
    model: str, *, cache: Path | None = None, record: Callable[[Exchange], None] | None = None
) -> tuple[LocalEngine, str]:
    """The engine for `local:model`: a name we know, or the path of a GGUF file; and the name the model goes by."""
    if model.endswith(".gguf") or "/" in model or os.sep in model:
        path = Path(model).expanduser()
        return LocalEngine(path, record=record), path.stem
    return LocalEngine(partial(fetched, model, cache=cache), record=record), model


def _ended(last: list[Any]) -> None:
    last.clear()


def _started(path: Path, key: str, *, threads: int, context: int) -> Any:
    """A llama.cpp server that has loaded the file."""
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("local", "a model in this process", "xllamacpp") from error

    if not path.is_file():
        raise EngineError(f"there is no model file at {path}: give the path of a GGUF file", provider="local")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {path.stem}
    parameters.n_ctx, parameters.n_parallel = context, 1
    parameters.n_batch = parameters.n_ubatch = 256  # between two batches it hears that nobody waits any longer
    parameters.cache_ram_mib = 0  # the one conversation there is stays in the slot itself
    parameters.warmup = False
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [key]
    parameters.ui, parameters.verbosity = False, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    try:
        with _signals_kept():
            return xllamacpp.Server(parameters)
    except RuntimeError as error:
        message = f"llama.cpp cannot load {path}: it is no GGUF file it knows, or there is too little memory"
        raise EngineError(message, provider="local", code="not_loaded") from error


@contextmanager
def _signals_kept() -> Iterator[None]:
    """llama.cpp takes Ctrl-C and the signal to end for itself as it loads; they are given back to whoever had them."""
    import signal

    if os.name != "posix":
        yield
        return
    import ctypes

    library = ctypes.CDLL(None)
    taken = [signal.SIGINT, signal.SIGTERM]
    kept = [ctypes.create_string_buffer(512) for _ in taken]  # larger than a `struct sigaction` anywhere
    for number, action in zip(taken, kept, strict=True):
        library.sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in zip(taken, kept, strict=True):
            library.sigaction(int(number), action, None)


def idle_cores() -> int:
    """How many threads make sense now: llama.cpp's threads wait for each other, so one on a busy core slows all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = max(1, math.floor(min(cores, _quota())))
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    # Half of the cores at least: what loads the machine now may be over in a moment, and the model is asked for long.
    return max(1, (cores + 1) // 2, min(cores, cores - round(busy)))


def _quota() -> float:
    """The cores a container may use."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return math.inf
    return math.inf if limit == "max" else int(limit) / int(period)
