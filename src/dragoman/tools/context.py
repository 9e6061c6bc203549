"""What a running tool may know of the run that called it: little, and by type what its author asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from dragoman.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .workspace import Workspace

T = TypeVar("T")


class Inject:
    """Marks a parameter as filled by the run and hidden from the model: `Annotated[Database, Inject]`."""


Injected = Annotated[T, Inject]
"""`Injected[Database]` is `Annotated[Database, Inject]`."""


class Cancellation:
    """Whether a call is still wanted. Set by whoever runs it; a tool that takes long looks at it."""

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    @property
    def cancelled(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        return self._reason

    def cancel(self, reason: str = "the run was cancelled") -> None:
        """Ask the call to stop. The first reason given stays."""
        if self._reason is None:
            self._reason = reason

    def raise_if_cancelled(self) -> None:
        if self._reason is not None:
            raise ToolError(self._reason, kind="cancelled")


class Context:
    """The run as a tool sees it. A parameter of this type is filled in and hidden from the model.

    `run`, `turn`, `step` and `call_id` say where the call stands; they are what its events bear.
    """

    __slots__ = ("_workspace", "call_id", "cancellation", "provides", "report", "run", "step", "turn")

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
    ) -> None:
        self._workspace = workspace
        self.run, self.turn, self.step, self.call_id = run, turn, step, call_id
        self.cancellation = cancellation or Cancellation()
        self.report = report
        self.provides: Mapping[Any, Any] = provides or {}

    @property
    def workspace(self) -> Workspace:
        """The files this run may touch; a run without any fails the call."""
        if self._workspace is None:
            raise ToolError("this run has no workspace; give it one when starting the run")
        return self._workspace

    def progress(self, message: str = "", *, fraction: float | None = None) -> None:
        """Tell how far the call is, in words, as a fraction of 1, or both. Told to nobody, it does nothing."""
        if fraction is not None and not 0 <= fraction <= 1:
            raise ValueError(f"progress is a fraction from 0 to 1, not {fraction}")
        if self.report is not None:
            self.report(message, fraction)

    def get(self, kind: type[T]) -> T:
        """What this run provides under exactly this type; a run without it fails the call."""
        if kind in self.provides:
            provided: T = self.provides[kind]
            return provided
        known = ", ".join(sorted(_name(each) for each in self.provides)) or "nothing"
        raise ToolError(f"this run provides no {_name(kind)} (it provides {known}); give it when starting the run")


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
