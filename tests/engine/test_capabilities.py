"""Who does what a provider can do itself: its own tool, ours, or whichever there is."""

from __future__ import annotations

import pytest

from dragoman.engine import HttpEngine, Orchestrator, ToolPolicy
from dragoman.engine.models.who_runs import native_tool
from dragoman.engine.transport import Transport
from dragoman.errors import ConfigError
from dragoman.model import operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, ProviderTool, Toolset, Web, tool


def offered(
    api: str,
    provider: str,
    model: str,
    policy: ToolPolicy,
    *tools: object,
    extra: tuple[ProviderTool, ...] = (),
    web: Web | None = None,
) -> list[str]:
    engine = HttpEngine(api, Transport("http://127.0.0.1:1"), provider=provider)
    context = None if web is None else Context(provides={Web: web})
    run = Orchestrator(engine, Toolset(tools), policy, model_name=model, context=context)  # type: ignore[arg-type]
    return [
        getattr(definition, "id", None) or str(definition.name)
        for definition in run.prepare("go", provider_tools=extra).request.definitions
    ]


CLAUDE = ("anthropic_messages", "anthropic", "claude-sonnet-4-5")
OLLAMA = ("openai_chat", "ollama", "llama-4")
BACKEND = Web(search_backend="searxng", search_url="http://127.0.0.1:1/search")


def test_auto_takes_the_providers_tool_where_there_is_one_and_ours_elsewhere() -> None:
    auto = ToolPolicy(where={"search_web": "auto"})
    assert all(name.startswith("anthropic.web_search") for name in offered(*CLAUDE, auto, TOOLS["search_web"]))
    assert offered(*OLLAMA, auto, TOOLS["search_web"], web=BACKEND) == ["web_search"]
    assert offered(*OLLAMA, auto, web=BACKEND) == ["web_search"]


def test_local_is_ours_everywhere() -> None:
    local = ToolPolicy(where={"search_web": "local"})
    names = offered(*CLAUDE, local, ProviderTool("anthropic.web_search_20250305"), web=BACKEND)
    assert names == ["WebSearch"]


def test_native_is_the_providers_or_an_error_that_says_so() -> None:
    native = ToolPolicy(where={"search_web": "native"})
    assert len(offered(*CLAUDE, native, TOOLS["search_web"])) == 1
    with pytest.raises(ConfigError, match="no tool of its own that does search_web"):
        offered(*OLLAMA, native)
    with pytest.raises(ConfigError, match='Did you mean "search_web"'):
        offered(*CLAUDE, ToolPolicy(where={"search_wb": "auto"}))


@pytest.mark.parametrize(
    "api, provider, model",
    [
        CLAUDE,
        ("openai_responses", "openai", "gpt-5"),
        ("gemini_generate", "gemini", "gemini-2.5-pro"),
    ],
)
def test_the_three_providers_search_themselves(api: str, provider: str, model: str) -> None:
    row = native_tool(op.SearchWeb, api, provider, model)
    assert row is not None
    assert row.superseded_by is None


def test_tools_of_one_call_take_the_place_of_configured_ones_by_id() -> None:
    configured = ProviderTool("anthropic.web_search_20250305", {"max_uses": 1})
    engine = HttpEngine("anthropic_messages", Transport("http://127.0.0.1:1"), provider="anthropic")
    run = Orchestrator(engine, [configured], model_name="claude-sonnet-4-5")
    given = ProviderTool("anthropic.web_search_20250305", {"max_uses": 7})
    definitions = run.prepare("go", provider_tools=[given]).request.definitions
    assert [definition.settings for definition in definitions] == [{"max_uses": 7}]  # type: ignore[union-attr]


def test_a_users_tool_of_the_same_name_as_a_native_one_just_works() -> None:
    @tool
    def web_search(query: str) -> str:
        """Mine."""
        return query

    names = offered(*CLAUDE, ToolPolicy(), web_search, ProviderTool("anthropic.web_search_20250305"))
    assert len(set(names)) == 2
    assert "anthropic.web_search_20250305" in names


def test_openais_own_runner_of_code_is_sent_the_container_it_cannot_do_without() -> None:
    engine = HttpEngine("openai_responses", Transport("http://127.0.0.1:1"), provider="openai")
    run = Orchestrator(engine, [], ToolPolicy(where={"run_code": "native"}), model_name="gpt-5")
    encoded = run.prepare("go").encoded
    assert encoded is not None
    assert encoded.body["tools"] == [{"type": "code_interpreter", "container": {"type": "auto"}}]
    own = ProviderTool("openai.code_interpreter", {"container": "cntr_1"})
    run = Orchestrator(engine, [own], ToolPolicy(where={"run_code": "auto"}), model_name="gpt-5")
    encoded = run.prepare("go").encoded
    assert encoded is not None
    assert encoded.body["tools"] == [{"type": "code_interpreter", "container": "cntr_1"}]


def test_what_is_not_allowed_is_not_brought_in_by_where() -> None:
    policy = ToolPolicy(where={"search_web": "native"}, allowed=("look",))
    assert offered(*CLAUDE, policy) == []
