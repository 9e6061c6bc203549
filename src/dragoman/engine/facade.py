"""What one request offers a model, with the way into other people's frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Unpack, overload

from dragoman.apis import Lowering
from dragoman.bounded import remember
from dragoman.dialects import Dialect
from dragoman.model import Limits, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, Toolset, Web

from .offer import Offer

if TYPE_CHECKING:
    from .bridges import Sdk
    from .bridges.bridge import Bridge, BridgeSettings
    from .bridges.wire import WireTools


class Facade(Offer):
    """What one request offers a model, and how its calls and results are converted: see `Offer`. Frameworks and SDKs
    use it through `tools_for`."""

    def __repr__(self) -> str:
        return f"Facade({self.dialect.name!r}, {self.toolset!r})"

    @overload
    def tools_for(self, framework: Sdk, **settings: Unpack[BridgeSettings]) -> WireTools: ...

    @overload
    def tools_for(self, framework: str, **settings: Unpack[BridgeSettings]) -> Bridge: ...

    def tools_for(self, framework: str, **settings: Unpack[BridgeSettings]) -> Bridge:
        """The tools as a framework takes them (`BRIDGES` names those there are), run here under the policy.

        `MissingExtra` when the framework is not installed.
        """
        from .bridges import BRIDGES

        facade, policy = self, settings.get("policy")
        allowed = [tool for tool in self.toolset if policy is None or policy.allows(tool.name)]
        offered = [tool for tool in allowed if tool is not TOOLS["search_web"] or _searches(settings.get("context"))]
        if len(offered) < len(self.toolset):  # nothing is offered that would be denied, or would fail, each time
            toolset = self.toolset.only(*(tool.name for tool in offered))
            facade = Facade(
                self.dialect, toolset, self.limits, plain=self._plain, honoured=self._honoured, model=self._model
            )
        if len(offered) < len(allowed):
            facade._note("search_web", "it is not offered: give a context whose Web has a search backend")
        bridge: Bridge = BRIDGES[framework](facade, **settings)
        return bridge


_REMEMBERED = 32
_offered_as = attrgetter("offered_as")
_facades: dict[Any, tuple[Any, Facade]] = {}
"""What an offer depends on → that, which keeps the ids in it their own, and a facade without its tools."""


def facade_like_before(
    dialect: Dialect,
    toolset: Toolset,
    limits: Limits,
    *,
    honoured: Mapping[type[op.Operation], tuple[str, ...]],
    beside: tuple[str, ...],
    model: str | None,
) -> Facade:
    """A `Facade`; what it offers is worked out once for all that differ only in what their functions run.

    A program may make an `Orchestrator` for each request, with tools that hold what belongs to the request: the tools
    themselves are not remembered.
    """
    kept = (dialect, *map(_offered_as, toolset.list()))
    key = (limits, tuple(honoured.items()), beside, model, *map(id, kept))
    found = _facades.get(key)
    if found is None:
        facade = Facade(dialect, toolset, limits, honoured=honoured, beside=beside, model=model)
        remember(_facades, key, (kept, _of_tools(facade, Toolset())), _REMEMBERED)
        return facade
    return _of_tools(found[1], toolset)


def _of_tools(facade: Facade, toolset: Toolset) -> Facade:
    made = copy(facade)
    made.toolset, made.lowering = toolset, Lowering()
    made.__dict__.pop("_can_read", None)
    return made


def _searches(context: Context | None) -> bool:
    """Whether something searches the web there: no model of ours stands behind the tools of another framework."""
    web = None if context is None else context.provides.get(Web)
    return web is not None and web.can_search
