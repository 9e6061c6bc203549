"""A language model inside this process: llama.cpp (the extra `local`), one GGUF file, tools by constrained decoding.

llama.cpp answers on a port of this machine's own loopback, under a key made for this process alone, so asking it is
asking any other server: streamed, cancelled and bounded by the same transport.

Reading is what takes a small machine long, so nothing is read twice: a conversation stays in the model's memory, and
the instructions about the tools, which are the same from run to run, are kept on the disk once they were read.

Rule: the machine stays usable. Threads are as many as there are idle cores, never more than there are cores.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.engine.constrained import ConstrainedEngine
from dragoman.engine.engine import HttpEngine
from dragoman.engine.policy import Retry
from dragoman.engine.transport import Response, Sink, Times, Transport
from dragoman.errors import EngineError, MissingExtra
from dragoman.model import Limits

from .model_files import cache_folder, fetched

if TYPE_CHECKING:
    from dragoman.engine.engine import Exchange, Observer
    from dragoman.model import Reply, Request

    from .model_files import Progress

CONTEXT: Final = 8192
"""Tokens a conversation may have: of the default model about 230 MB beside its weights."""
LOADING: Final = "loading the model"
READING: Final = "reading the prompt"
"""What `progress` is told of beside fetching: of reading, the tokens; of loading, no numbers."""
_KEPT: Final = 8
"""Instructions kept on the disk: of the default model some 10 MB each."""
_PIECE: Final = 128
"""Tokens read at once. Between two pieces it tells how far it is, and hears that nobody waits any longer."""


class LocalEngine(ConstrainedEngine):
    """Answers from a model file. It is loaded with the first question, and given back by `close`.

    `model_file` is a path, or a function that fetches the file and returns its path; it is called in a thread.
    `prompts` is a folder for instructions that were read; without it they are read anew in each process. `progress`
    may be set to whoever wants to know how far fetching the file, loading it and reading a prompt are.
    """

    name = "local"

    def __init__(
        self,
        model_file: Path | Callable[[Progress | None], Path],
        *,
        threads: int | None = None,
        context: int = CONTEXT,
        optional: bool = False,
        max_output_tokens: int = 1024,
        prompts: Path | None = None,
        record: Callable[[Exchange], None] | None = None,
        held: bool = True,
    ) -> None:
        # The address and key are not known before the model is loaded; the engine that knows them is made then.
        unloaded = HttpEngine("openai_chat", Transport("http://127.0.0.1"), provider="local", record=record)
        super().__init__(unloaded, optional=optional, max_output_tokens=max_output_tokens, held=held)
        self._file, self._context, self._record = model_file, context, record
        self._prompts = prompts
        self.progress: Progress | None = None
        self._known = ""
        """The instructions it has in mind."""
        self.conversations = 1
        """How many conversations it has at the same time; set it before the first question. Each has a context of its
        own. Read together, they take about half the processor time. Instructions are kept on the disk only for one."""
        self.threads = threads or idle_cores()
        self._server: Any = None
        self._loading = asyncio.Lock()

    async def ask(self, request: Request, observe: Observer | None = None) -> Reply:
        async with self._loading:
            if self._server is None:
                await self._load()
            if self._prompts is not None and self.conversations == 1:
                await self._instructed(request, self._prompts)
        return await super().ask(request, observe)

    def limits(self, model: str) -> Limits:
        """The context window that the model was loaded with."""
        return Limits(window=self._context)

    def constrained(self, request: Request) -> Request:
        asked = super().constrained(request)
        more = {"cache_prompt": True, "return_progress": True} if self.progress is not None else {"cache_prompt": True}
        return msgspec.structs.replace(asked, provider_options={**more, **asked.provider_options})

    async def _load(self) -> None:
        path = self._file if isinstance(self._file, Path) else await asyncio.to_thread(self._file, self.progress)
        if self.progress is not None:
            self.progress(LOADING, 0, 0)
        import secrets

        key = secrets.token_urlsafe(24)
        prompts = self._prompts
        if prompts is not None:
            with suppress(OSError):  # where nothing can be kept, it is read anew each time
                prompts.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._server = await asyncio.to_thread(
            _started,
            path,
            key,
            threads=self.threads,
            context=self._context,
            prompts=prompts,
            conversations=self.conversations,
        )
        self._path = path
        # Silence is no fault here: on a slow machine a long prompt takes minutes before the first word.
        times = Times(read=1800.0, content=None, total=None)
        settings: Any = {"headers": {"authorization": f"Bearer {key}"}, "times": times}
        self._control = Transport(self._server.listening_address, **settings)
        self.inner = HttpEngine(
            "openai_chat",
            _Telling(f"{self._server.listening_address}/v1", lambda: self.progress, **settings),
            provider="local",
            retry=Retry(times=0),
            record=self._record,
        )

    # ── instructions ───────────────────────────────────────────────────────

    async def _instructed(self, request: Request, folder: Path) -> None:
        """Has the instructions about the tools in mind: from the disk, else read now and put there."""
        offered = self.offered(request)
        told = self.about_tools(offered) if offered else ""
        if not told or told == self._known:
            return
        begins = await self._beginning(told)
        if begins is not None:
            await self._recalled(begins, folder / f"{_digest(self._path, begins)}.kv")
        self._known = told

    async def _recalled(self, begins: str, kept: Path) -> None:
        if _used(kept) and await self._controlled("/slots/0?action=restore", filename=kept.name):
            return
        await self._read(begins)
        if await self._controlled("/slots/0?action=save", filename=kept.name):
            _tidied(kept.parent)

    async def _beginning(self, told: str) -> str | None:
        """The beginning of every prompt with these instructions, as the model's template writes it."""
        messages = [{"role": "system", "content": told}, {"role": "user", "content": "?"}]
        written = await self._controlled("/apply-template", messages=messages)
        text = str(written["prompt"]) if written else ""
        end = text.find(told)
        return text[: end + len(told)] if end >= 0 else None

    async def _read(self, text: str) -> None:
        body = {"prompt": text, "n_predict": 0, "cache_prompt": True, "stream": True, "return_progress": True}
        await self._control.exchange("/completion", msgspec.json.encode(body), sink=_telling(self.progress, _unread))

    async def _controlled(self, path: str, **body: Any) -> Mapping[str, Any] | None:
        """What the server says, or nothing when it cannot do that: it is only ever about doing less."""
        response = await self._control.exchange(path, msgspec.json.encode(body))
        return msgspec.json.decode(response.body, type=dict[str, Any]) if response.status == 200 else None

    async def close(self) -> None:
        """Ends the server and gives the memory back."""
        await super().close()
        server, self._server = self._server, None
        if server is not None:
            await self._control.close()
            # The last reference goes in the thread: ending waits for the token that is being made.
            await asyncio.to_thread(_ended, [server])


def local_engine(
    model: str,
    *,
    cache: Path | None = None,
    record: Callable[[Exchange], None] | None = None,
    held: bool = True,
) -> tuple[LocalEngine, str]:
    """The engine for `local:model`: a name we know, or the path of a GGUF file; and the name the model goes by."""
    cache = cache or cache_folder()
    more: Any = {"prompts": cache / "prompts", "record": record, "held": held}
    # The same line is drawn by `Kind.MODEL`: what is a plain name there must never be a path here.
    if model.endswith(".gguf") or model.startswith(("/", ".", "~")) or os.path.isabs(model):
        path = Path(os.path.expanduser(model))
        return LocalEngine(path, **more), path.stem
    return LocalEngine(lambda progress: fetched(model, cache=cache, progress=progress), **more), model


def free_engine(model: str, **more: Any) -> tuple[LocalEngine, str]:
    """The engine for `local-free:model`: the same model, whose decoding is not held to a schema."""
    return local_engine(model, held=False, **more)


class _Telling(Transport):
    """Tells of the progress a server reports beside its answer."""

    def __init__(self, base_url: str, progress: Callable[[], Progress | None], **settings: Any) -> None:
        super().__init__(base_url, **settings)
        self._progress = progress

    async def exchange(self, path: str, body: bytes, *, sink: Sink | None = None, **more: Any) -> Response:
        sink = None if sink is None else _telling(self._progress(), sink)
        return await super().exchange(path, body, sink=sink, **more)


_READ: Final = re.compile(rb'"prompt_progress":(\{[^{}]*\})')


class _Read(msgspec.Struct):
    total: int
    processed: int


def _telling(progress: Progress | None, sink: Sink) -> Sink:
    """A sink that looks for progress in what passes it. A report cut in two is passed over: the next one comes."""
    if progress is None:
        return sink

    def look(data: bytes) -> bool | None:
        for found in _READ.finditer(data):
            read = msgspec.json.decode(found[1], type=_Read)
            progress(READING, read.processed, read.total)
        return sink(data)

    return look


def _unread(data: bytes) -> None:
    pass


def _digest(path: Path, text: str) -> str:
    """Names what a model has in mind after a text: another file, or another llama.cpp, has something else."""
    from importlib.metadata import version

    facts = path.stat()
    one = f"{path.resolve()} {facts.st_size} {facts.st_mtime_ns} {version('xllamacpp')}\n{text}"
    return hashlib.sha256(one.encode()).hexdigest()[:32]


def _used(kept: Path) -> bool:
    """Whether it is there; what was not used for the longest time is the oldest."""
    if not kept.exists():
        return False
    kept.touch()
    return True


def _tidied(folder: Path) -> None:
    newest = sorted(folder.glob("*.kv"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[_KEPT:]:
        path.unlink(missing_ok=True)


def _ended(last: list[Any]) -> None:
    last.clear()


def _started(path: Path, key: str, *, threads: int, context: int, prompts: Path | None, conversations: int) -> Any:
    """A llama.cpp server that has loaded the file."""
    try:
        with _patient_threads():
            import xllamacpp
    except ImportError as error:
        raise MissingExtra("local", "a model in this process", "xllamacpp") from error

    if not path.is_file():
        raise EngineError(f"there is no model file at {path}: give the path of a GGUF file", provider="local")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {path.stem}
    parameters.n_ctx, parameters.n_parallel = context * conversations, conversations
    parameters.n_batch = parameters.n_ubatch = _PIECE
    if prompts is not None:
        parameters.slot_save_path = f"{prompts}{os.sep}"
    parameters.cache_ram_mib = 0  # a conversation stays in its slot
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
def _patient_threads() -> Iterator[None]:
    """llama.cpp's threads wait for each other in a loop that eats a core; told so as it is loaded, they sleep."""
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "passive"
    try:
        yield
    finally:
        del os.environ[name]


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
