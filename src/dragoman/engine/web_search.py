"""Who searches the web for a model: its provider, in its own reply or in a request of its own, or a search backend.

Rule: a search that nobody can do is not offered, and a search that somebody must be asked about is a call of ours: what
a provider does within its own reply cannot be asked about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.model import Call, NativeCall, PagesOutcome, operations as op
from dragoman.registry import PROVIDERS, SEARCH_BACKENDS, TOOLS
from dragoman.tools import Tool, Toolset, Web
from dragoman.tools.web import SearchBackend

from .grounded_search import GroundedSearch, provider_search
from .models.providers import KEYED, engine_for
from .models.who_runs import does, native_tool
from .page_reader import ModelReader

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.policy_rule import Verdict
    from dragoman.tools import Workspace

    from .engine import Engine
    from .policy import ToolPolicy, Where

SEARCH: Final = "search_web"


class Searching(msgspec.Struct, frozen=True):
    """Who searches the web in a run: `place` is for `resolved`, `nobody` says why no search can be offered."""

    place: Where | None = None
    nobody: str | None = None


def who_searches(
    toolset: Toolset,
    policy: ToolPolicy,
    engine: Engine,
    model: str,
    web: Callable[[], Web | None],
    workspace: Workspace | None,
) -> Searching:
    """Who searches the web for this model.

    Without a word in the policy's `where`, the standard tool is `auto`, and a search tool of the caller's own is left
    alone. `auto` is the provider's own search where the model has one, else the search backend.
    """
    stated = policy.where.get(SEARCH)
    if not policy.allows(SEARCH) or (stated is None and not _is_offered(toolset)):
        return Searching()
    if stated == "native":
        denied = _verdict(policy, workspace) == "deny"
        return Searching("local", nobody="a rule denies searching the web") if denied else Searching("native")
    if own_search(policy, engine, model) is not None:
        if stated is None and any(does(tool, op.SearchWeb) for tool in toolset):
            return Searching()  # the caller named a provider's tool: it stays, and so does ours
        mixed = engine.features(model).mixed_tools or not _others(toolset)
        return Searching("native" if mixed and _verdict(_of_any_query(policy), workspace) == "allow" else "local")
    reaching = None if _has_own(toolset) else web()
    if _has_own(toolset) or (reaching is not None and reaching.can_search):
        return Searching("local")
    return Searching("local", nobody=_nobody(getattr(engine, "provider", "") or engine.name, stated, reaching))


def own_search(policy: ToolPolicy, engine: Engine, model: str) -> SearchBackend | None:
    """The search of the model's own provider, for a tool of ours to use; `None` where there is none or it is not to."""
    return None if policy.where.get(SEARCH) == "local" else provider_search(engine, model)


def _is_offered(toolset: Toolset) -> bool:
    return TOOLS[SEARCH] in toolset.list()


def _has_own(toolset: Toolset) -> bool:
    """Whether the caller brought a search tool: it needs no backend of ours."""
    searches = [tool for tool in toolset if isinstance(tool, Tool) and tool.operation is op.SearchWeb]
    return any(tool is not TOOLS[SEARCH] for tool in searches)


def _others(toolset: Toolset) -> bool:
    return any(isinstance(tool, Tool) and tool.operation is not op.SearchWeb for tool in toolset)


def _verdict(policy: ToolPolicy, workspace: Workspace | None) -> Verdict:
    from .rules import verdict_on

    call = Call("", (op.SearchWeb(""),), NativeCall("", SEARCH, {}))
    return verdict_on(call, (TOOLS[SEARCH],), policy, workspace)[0]


def _of_any_query(policy: ToolPolicy) -> ToolPolicy:
    """The policy with each rule that asks or denies made to fit any query: a provider's search cannot be held to it."""
    rules = tuple(
        msgspec.structs.replace(rule, arguments={}) if rule.verdict != "allow" else rule for rule in policy.approval
    )
    within = None if policy.within is None else _of_any_query(policy.within)
    return msgspec.structs.replace(policy, approval=rules, within=within)


def _nobody(provider: str, stated: Where | None, web: Web | None) -> str:
    if web is not None and web.why_no_search is not None:
        return web.why_no_search
    why = "policy.where is local" if stated == "local" else f"{provider} has no web search that this model can use"
    return (
        f"{why}, and search.backend is not set: set it to {' or '.join(SEARCH_BACKENDS)} (with search.url), or to a "
        f"provider that searches ({', '.join(searching_providers())})"
    )


def searching_providers() -> list[str]:
    """Providers that have a web search of their own and a model to ask when none is named."""
    return [name for name, model in KEYED if _search_row(name, PROVIDERS[name].api, model)]


def _search_row(provider: str, api: str, model: str) -> bool:
    return native_tool(op.SearchWeb, api, provider, model) is not None


class ProviderSearch:
    """A `SearchBackend` that is another provider's own search: `search.backend = "gemini"`, or with its model."""

    timeout: Final = GroundedSearch.timeout

    def __init__(self, engine: Any, model: str, search: GroundedSearch) -> None:
        self.engine, self.model, self._search = engine, model, search

    @classmethod
    def of(
        cls, backend: str, configuration: Configuration | None = None, environment: Mapping[str, str] = os.environ
    ) -> ProviderSearch:
        """The search of `provider` or `provider:model`; `ConfigError` when it has none, or there is no key for it."""
        provider, _, model = backend.partition(":")
        model = model or dict(KEYED).get(provider, "")
        if not model:
            raise ConfigError(f"search.backend: name a model of {provider}, as {provider}:model")
        if provider in PROVIDERS and PROVIDERS[provider].in_process:
            raise ConfigError(f"search.backend: {provider} has no web search")
        engine, name = engine_for(f"{provider}:{model}", configuration=configuration, environment=environment)
        search = provider_search(engine, name)
        if search is None:
            known = ", ".join(searching_providers())
            message = f"{provider} has no web search that {name} can use; these have one: {known}"
            raise ConfigError(f"search.backend: {message}")
        return cls(engine, name, search)

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> PagesOutcome:
        return await self._search.search(
            query, allowed_domains=allowed_domains, blocked_domains=blocked_domains, limit=limit
        )

    async def close(self) -> None:
        await self.engine.close()


def web_for(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> Web:
    """A `Web` as the settings have it: `search.backend` is a backend's name, a provider, or `provider:model`."""
    search, reader = configuration.settings.search, _reader(configuration, environment)
    backend = search.backend
    if backend is None or backend in SEARCH_BACKENDS:
        return Web(search_backend=backend, search_url=search.url, reader=reader)
    known = (*PROVIDERS, *configuration.settings.providers)
    if backend.partition(":")[0] not in known:
        raise ConfigError(
            f"search.backend: there is no search backend and no provider {backend!r}."
            f"{nearest(backend, (*SEARCH_BACKENDS, *known))} Backends are {', '.join(SEARCH_BACKENDS)}; providers that "
            f"search are {', '.join(searching_providers())}."
        )
    try:
        return Web(search=ProviderSearch.of(backend, configuration, environment), reader=reader)
    except ConfigError as error:
        return Web(why_no_search=str(error), reader=reader)


def _reader(configuration: Configuration, environment: Mapping[str, str]) -> ModelReader | None:
    """What reads pages by the settings; made when it is first needed, since it may lack a key that nobody needs."""
    model = configuration.settings.web.reader_model
    if model is None:
        return None
    vouched = configuration.is_vouched("web.reader_model")
    return ModelReader(
        lambda: engine_for(model, configuration=configuration, environment=environment, vouched=vouched), owned=True
    )
