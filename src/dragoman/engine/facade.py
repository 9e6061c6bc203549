"""What one request offers a model, with the way into other people's frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, overload

from dragoman.registry import TOOLS
from dragoman.tools import Context, Web

from .offer import Offer

if TYPE_CHECKING:
    from .bridges import Sdk
    from .bridges.bridge import Bridge, BridgeSettings
    from .bridges.wire import WireTools


class Facade(Offer):
    """What one request offers a model, and how its calls and results are converted: see `Offer`. Frameworks and SDKs
    use it through `tools_for`."""

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


def _searches(context: Context | None) -> bool:
    """Whether something searches the web there: no model of ours stands behind the tools of another framework."""
    web = None if context is None else context.provides.get(Web)
    return web is not None and web.can_search
