"""What a running tool may know of the run that called it: little, and by type what its author asked for."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeVar

from dragoman.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dragoman.model import AgentReport
    from dragoman.model.edit_rules import EditRules
    from dragoman.model.operations import SpawnAgent

    from .workspace.workspace import Workspace

T = TypeVar("T")

_EVENT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_LARGEST_EVENT = 1_000_000
"""Characters of an event's data."""


class Inject:
    """Marks a parameter as filled by the run and hidden from the model: `Annotated[Database, Inject]`."""


Injected = Annotated[T, Inject]
"""`Injected[Database]` is `Annotated[Database, Inject]`."""


class Cancellation:
    """Tells a tool that its call was cancelled; a tool that takes long should check it."""

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the call was asked to stop."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why the call was asked to stop; `None` if it was not."""
        return self._reason

    def cancel(self, reason: str = "the run was cancelled") -> None:
        """Ask the call to stop. The first reason given stays."""
        if self._reason is None:
            self._reason = reason

    def raise_if_cancelled(self) -> None:
        """Raises `ToolError` if the call was asked to stop."""
        if self._reason is not None:
            raise ToolError(self._reason, kind="cancelled")


class _UserWaits:
    """How long a call has waited for a person; waits that overlap count once."""

    __slots__ = ("_before", "_since", "_under_way")

    def __init__(self) -> None:
        self._before, self._since, self._under_way = 0.0, 0.0, 0

    @property
    def seconds(self) -> float:
        return self._before + (time.monotonic() - self._since if self._under_way else 0.0)

    @contextmanager
    def one(self) -> Iterator[None]:
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way += 1
        try:
            yield
        finally:
            now = self.seconds
            self._under_way -= 1
            if not self._under_way:
                self._before = now


class LimitsLeft(NamedTuple):
    """How much an agent may still use, including the limits of the agents above it. `None`: no limit."""

    depth: int
    """Levels of agents below it."""
    fanout: int
    """Agents it may still start itself."""
    agents: int
    """Agents that it and all below it may still start."""
    turns: int
    """Rounds of asking the model."""
    tokens: int | None
    cost: float | None
    """US dollars; also `None` when what was used has no known price."""
    seconds: float | None


class AgentInfo(NamedTuple):
    """The agent that made a call."""

    name: str
    id: str
    parent: str | None
    """The id of the agent that started it; `None` for the first one."""
    depth: int
    """Agents above it."""
    left: LimitsLeft


class AgentHost(Protocol):
    """What runs agents, as seen by the tools of one of them."""

    def info(self) -> AgentInfo: ...

    async def spawn(self, wanted: SpawnAgent, call_id: str | None, *, background: bool) -> AgentReport: ...


class Context:
    """The run as a tool sees it. A parameter of this type is filled in and hidden from the model.

    `run`, `turn`, `step` and `call_id` identify the call, as in its events. `agent` is the agent that made the call,
    `spawn` starts another one below it, and `emit` adds an event to the record.
    """

    __slots__ = (
        "_user_waits", "_workspace", "call_id", "cancellation", "edit_rules", "host", "note", "provides", "report",
        "run", "step", "turn",
    )  # fmt: skip

    def __init__(
        self,
        *,
        workspace: Workspace | None = None,
        run: str | None = None,
        turn: int | None = None,
        step: int | None = None,
        call_id: str | None = None,
        cancellation: Cancellation | None = None,
        report: Callable[[str, float | None], None] | None = None,
        provides: Mapping[Any, Any] | None = None,
        host: AgentHost | None = None,
        note: Callable[[str, dict[str, Any]], None] | None = None,
        edit_rules: EditRules | None = None,
    ) -> None:
        self._workspace = workspace
        self.run, self.turn, self.step, self.call_id = run, turn, step, call_id
        self.cancellation = cancellation or Cancellation()
        self.report = report
        self.provides: Mapping[Any, Any] = provides or {}
        self.host, self.note = host, note
        self.edit_rules = edit_rules
        """How the vocabulary of the call finds the places of edits; `None`: exactly as they are written."""
        self._user_waits: _UserWaits | None = None

    def __repr__(self) -> str:
        place = {"workspace": self._workspace, "run": self.run, "call_id": self.call_id}
        return f"Context({', '.join(f'{name}={value!r}' for name, value in place.items() if value is not None)})"

    @property
    def workspace(self) -> Workspace:
        """The files this run may touch; a run without any fails the call."""
        if self._workspace is None:
            raise ToolError("this run has no workspace; give it one when starting the run")
        return self._workspace

    @property
    def has_workspace(self) -> bool:
        """Whether this run has files it may touch."""
        return self._workspace is not None

    def progress(self, message: str = "", *, fraction: float | None = None) -> None:
        """Report progress: a message, a fraction between 0 and 1, or both. Does nothing if nobody listens."""
        if fraction is not None and not 0 <= fraction <= 1:
            raise ValueError(f"progress is a fraction from 0 to 1, not {fraction}")
        if self.report is not None:
            self.report(message, fraction)

    @contextmanager
    def waiting_for_user(self) -> Iterator[None]:
        """The time that this block takes does not count towards the call's time limit: a person is being asked."""
        waits = self._user_waits = self._user_waits or _UserWaits()
        with waits.one():
            yield

    @property
    def user_seconds(self) -> float:
        """How long the call has waited for a person so far."""
        return 0.0 if self._user_waits is None else self._user_waits.seconds

    @property
    def agent(self) -> AgentInfo | None:
        """The agent that made the call, in its current state; `None` if the run does not belong to an agent."""
        return None if self.host is None else self.host.info()

    async def spawn(
        self,
        prompt: str,
        *,
        agent: str | None = None,
        instructions: str | None = None,
        model: str | None = None,
        tools: Sequence[str] | None = None,
        max_turns: int | None = None,
        background: bool = False,
    ) -> AgentReport:
        """Starts an agent below the one that made the call, and waits for its end unless it is to work in `background`.

        `agent` is the name of an existing one; `instructions` make a new one; without both it is like the one that
        made the call. It counts against the limits on depth, fan-out, agents, tokens and cost as an agent that the
        model starts: where one of them is reached, the call fails. A tool that waits for an agent needs a `timeout`
        long enough for it; when the call is stopped, so is the agent.
        """
        if self.host is None:
            raise ToolError("this run cannot start agents: only a tool that an agent calls can (run it in a Kernel)")
        from dragoman.model.operations import SpawnAgent

        wanted = SpawnAgent(
            prompt,
            agent,
            system_prompt=instructions,
            model=model,
            tools=None if tools is None else tuple(tools),
            max_turns=max_turns,
        )
        return await self.host.spawn(wanted, self.call_id, background=background)

    def emit(self, name: str, data: Mapping[str, Any] | None = None) -> None:
        """Adds an event of the tool's own to the record and to the stream of events.

        It is a `ClientNoted` called `tool.NAME`, with the id of the call; `data` is JSON.
        """
        if not _EVENT_NAME.fullmatch(name):
            raise ValueError(f"an event's name has letters, digits, '_', '-' and '.', at most 100 in all; not {name!r}")
        from dragoman.schema import to_json

        plain = to_json(dict(data or {}), most=_LARGEST_EVENT)
        if self.note is not None:
            self.note(f"tool.{name}", plain)

    def get(self, kind: type[T]) -> T:
        """What this run provides under exactly this type; a run without it fails the call."""
        if kind in self.provides:
            provided: T = self.provides[kind]
            return provided
        known = ", ".join(sorted(_name(each) for each in self.provides)) or "nothing"
        raise ToolError(f"this run provides no {_name(kind)} (it provides {known}); give it when starting the run")


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
