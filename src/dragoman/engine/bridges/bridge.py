"""What every bridge is: a list of tools to hand to a framework, and what runs them.

Rules: a tool bears the dialect's name, schema and description; its calls are read by the facade and run by the
executor, under the policy, as in a run of ours; what it gives is said in the dialect's words. What belongs to the
framework stays there: which tools must be called, how many rounds there are, what they may cost.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, TypeVar, Unpack

import msgspec

from dragoman.apis import APIS, Api
from dragoman.engine.executor import Executor, Hooks, Waiting, opened_context
from dragoman.engine.offer import Note, Offer
from dragoman.engine.policy import ToolPolicy
from dragoman.errors import ConfigError, DefinitionError, ToolError
from dragoman.model import Call, Failure, Media, NativeCall, NativeResult, Request, Result, user
from dragoman.model.request import Definition, FunctionDefinition, ProviderDefinition
from dragoman.registry import need
from dragoman.tools import Tool

from .background_loop import BackgroundLoop

if TYPE_CHECKING:
    from dragoman.engine.approval import Approver
    from dragoman.tools import Context, Workspace

T = TypeVar("T")


class BridgeSettings(TypedDict, total=False):
    """What a bridge may be given: the same as a run of ours.

    `model` is for a provider's SDK, where what is offered depends on what the model can take.
    """

    workspace: Workspace | None
    policy: ToolPolicy | None
    context: Context | None
    approver: Approver | None
    hooks: Hooks | None
    model: str | None


class Bridge(list[Any]):
    """The tools of a facade as one framework takes them, in a list.

    Commands left running and the like last until it is closed: use it with `async with` (or `with`), or `close` it.
    """

    framework: ClassVar[str]
    api: ClassVar[str] = "openai_chat"
    """The codec that writes definitions. Frameworks take functions as Chat Completions has them."""
    for_model: ClassVar[bool] = False
    """Whether what is offered depends on what the model takes; a framework sees to that itself."""

    def __init__(self, facade: Offer, **settings: Unpack[BridgeSettings]) -> None:
        self.facade = copy(facade)  # the wire's part of it is each bridge's own
        self.policy = settings.get("policy") or ToolPolicy()
        self.model = (self.for_model and (settings.get("model") or facade.dialect.family)) or "any"
        self._settings = settings
        self._id = uuid.uuid4().hex
        self._codec: Api = APIS[self.api]
        self._definitions = self.definitions()
        self._encoded = self._codec.encode(self._request())
        self.facade.lowering = self._encoded.lowering
        self._one_at_a_time = any(isinstance(tool, Tool) and tool.sequential for tool in self.facade.toolset)
        self._open: dict[asyncio.AbstractEventLoop, asyncio.Future[_Opened]] = {}
        self._background: BackgroundLoop | None = None
        self._starting = threading.Lock()
        super().__init__(self.offered())

    # ── what a bridge writes ───────────────────────────────────────────────

    def offered(self) -> Iterable[Any]:
        """The framework's tools."""
        raise NotImplementedError

    def definitions(self) -> tuple[Definition, ...]:
        """What is offered, as the codec is given it: functions alone, whose schemas frameworks rewrite themselves."""
        theirs = [one.id for one in self.facade.definitions if isinstance(one, ProviderDefinition)]
        if theirs:
            advice = f"{self.framework} has its own way to offer a provider's tools: leave it out here"
            raise DefinitionError(f"what is offered to {self.framework}", [f"{id}: {advice}" for id in theirs])
        return tuple(
            msgspec.structs.replace(one, strict=False) if isinstance(one, FunctionDefinition) else one
            for one in self.facade.definitions
        )

    # ── for bridges ────────────────────────────────────────────────────────

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the caller should know about how the tools are offered."""
        return (*self.facade.notes, *(Note(remark.where, remark.message) for remark in self._encoded.report))

    @property
    def functions(self) -> list[dict[str, Any]]:
        """Each tool's name, description and parameters."""
        return [tool["function"] for tool in self._encoded.body.get("tools", ())]

    async def call(self, name: str, arguments: dict[str, Any] | str, id: str | None = None) -> NativeResult:
        """Runs one call of the model's."""
        (result,) = await self.answer([NativeCall(id or uuid.uuid4().hex, name, arguments)])
        return result

    async def answer(self, calls: Sequence[NativeCall]) -> tuple[NativeResult, ...]:
        """Runs calls of one turn; their results, in the dialect's words."""
        opened = await self._opened()
        read = [self.facade.read_call(native) for native in calls]
        try:
            async with opened.alone if self._one_at_a_time else nullcontext():
                results = await opened.executor.run(read)
        except Waiting as waiting:
            names = ", ".join(call.native.name for call in waiting.calls)
            message = f"{self.framework} cannot wait for an approval ({names}): let the approver say yes or no"
            raise ConfigError(message) from waiting
        aborted, opened.executor.aborted = opened.executor.aborted, None
        if aborted is not None:
            failure = next(one for one in aborted.outcomes if isinstance(one, Failure))
            raise ToolError(failure.message, kind=failure.kind, details=failure.details)
        return tuple(result.native for result in results if result.native is not None)

    def in_background(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives, for callers without an event loop of their own."""
        with self._starting:  # frameworks without an event loop run calls of one turn in several threads
            background = self._background = self._background or BackgroundLoop()
        return background.run(work)

    def _request(self, *turns: Any) -> Request:
        return Request(self.model, (user("?"), *turns), self._definitions)

    def _written(self, call: Call, result: Result) -> Result:
        told = self.facade.write_result(call, result.outcomes)
        return msgspec.structs.replace(result, native=told)

    # ── while it is open ───────────────────────────────────────────────────

    async def _opened(self) -> _Opened:
        """What runs calls in this event loop: a loop that is gone has taken its own along."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open = {one: opened for one, opened in self._open.items() if not one.is_closed()}
            self._open[loop] = asyncio.ensure_future(self._opening())
        return await asyncio.shield(self._open[loop])

    async def _opening(self) -> _Opened:
        given, toolset = self._settings, self.facade.toolset
        stack = AsyncExitStack()
        context = await opened_context(
            stack, toolset, workspace=given.get("workspace"), context=given.get("context"), run=self._id
        )
        executor = Executor(
            toolset,
            self.policy,
            context,
            hooks=given.get("hooks") or Hooks(),
            approver=given.get("approver"),
            write=self._written,
            reconsider=self.facade.reconsidered,
            edit_rules=self.facade.edit_rules,
        )
        return _Opened(executor, stack)

    async def close(self) -> None:
        """Ends what calls have left running."""
        opened = self._open.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await (await opened).stack.aclose()
        if self._background is not None and not self._background.is_here():
            await asyncio.to_thread(self.close_sync)

    def close_sync(self) -> None:
        """`close` for callers without an event loop."""
        background = self._background
        if background is not None:
            background.run(self.close())
            background.stop()
            self._background = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()


class _Opened:
    """What runs calls in one event loop."""

    def __init__(self, executor: Executor, stack: AsyncExitStack) -> None:
        self.executor, self.stack = executor, stack
        self.alone = asyncio.Lock()


def installed(framework: str, module: str, package: str) -> Any:
    """A module of a framework, or the error that says how it is installed."""
    return need(framework, f"giving tools to {framework}", module, package=package)


def unshown(media: Media) -> str:
    """Words for what has neither bytes nor an address that a model could follow."""
    return f"({media.media_type} that is not shown here: {media.name or media.path or media.file_id})"


def text_of(result: NativeResult) -> str:
    """The words of a result, without its pictures."""
    if isinstance(result.content, str):
        return result.content
    return "\n".join(piece for piece in result.content if isinstance(piece, str))
