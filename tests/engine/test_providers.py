"""Which server, which wire, which key and which words a model's name leads to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from dragoman.config import Kind, load
from dragoman.engine import HttpEngine, Orchestrator, ScriptedEngine, ToolPolicy
from dragoman.engine.models import PROVIDERS, dialect_of, engine_for, split_model
from dragoman.errors import ConfigError
from dragoman.registry import APIS, DIALECTS, TOOLS


@pytest.mark.parametrize("name", [name for name in PROVIDERS.built_in if not PROVIDERS[name].in_process])
def test_every_provider_has_an_api_that_is_listed_and_a_way_to_its_key(name: str) -> None:
    row = PROVIDERS[name]
    assert row.api in APIS
    assert row.key or not row.key_needed
    assert row.base_url.startswith("http") or row.address_needed
    environment = dict.fromkeys(row.key, "sk-1") | {row.base_url_env or "": row.base_url or "http://h/v1"}
    engine, model = engine_for(f"{name}:some-model", environment=environment)
    assert isinstance(engine, HttpEngine)
    assert (engine.name, engine.provider, model) == (row.api, name, "some-model")


@pytest.mark.parametrize(
    "model, dialect",
    [
        ("claude-sonnet-4-5", "claude_code"),
        ("anthropic/claude-opus-4.1", "claude_code"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude_code"),
        ("gpt-5.1-codex", "codex"),
        ("openai/gpt-oss-120b", "codex"),
        ("o4-mini", "codex"),
        ("models/gemini-3-pro", "gemini_cli"),
        ("qwen3-coder:30b", "qwen_code"),
        ("z-ai/glm-4.6", "zai"),
        ("llama-4", "plain"),
    ],
)
def test_a_model_hears_the_words_of_its_family_whoever_serves_it(model: str, dialect: str) -> None:
    assert dialect_of(model) == dialect
    assert dialect in DIALECTS


@pytest.mark.parametrize(
    "model", ["gpt-4.1", "gpt-5", "gpt-5.1-codex", "gpt-5.2", "gpt-5.6-luna", "o3", "openai/gpt-oss-20b"]
)
def test_every_gpt_model_edits_with_the_tool_it_was_taught(model: str) -> None:
    run = Orchestrator(ScriptedEngine([]), [TOOLS["edit_file"], TOOLS["run_command"]], model_name=model)
    offered = {definition.name for definition in run.prepare("go").request.definitions}
    assert "apply_patch" in offered
    assert not offered & {"exec", "edit_file"}


def test_names_of_models() -> None:
    assert split_model("openrouter:anthropic/claude-x") == ("openrouter", "anthropic/claude-x")
    assert split_model("ollama:qwen3:8b") == ("ollama", "qwen3:8b")
    for wrong in ("openai:", ":x", "anthropic/claude", "anthropic/claude:free"):
        with pytest.raises(ConfigError, match="provider:model"):
            split_model(wrong)
    with pytest.raises(ConfigError, match='Did you mean "openai"'):
        engine_for("opanai:gpt-5", environment={})


def test_a_missing_key_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        engine_for("gemini:gemini-3-pro", environment={})
    with pytest.raises(ConfigError, match="AZURE_OPENAI_BASE_URL"):
        engine_for("azure:gpt-5", environment={"AZURE_OPENAI_API_KEY": "k"})


def head(engine: Any) -> str:
    return str(engine.transport._head, "latin-1")


@pytest.mark.parametrize(
    "model, header",
    [
        ("openai:x", "authorization: Bearer k"),
        ("anthropic:x", "x-api-key: k"),
        ("gemini:x", "x-goog-api-key: k"),
    ],
)
def test_each_provider_gets_its_key_where_it_looks_for_it(model: str, header: str) -> None:
    engine, _ = engine_for(model, api_key="k", environment={})
    assert header in head(engine)
    assert "k" not in repr(engine.__dict__.get("transport").__class__)


def configured(tmp_path: Path, text: str, environment: Mapping[str, str] | None = None) -> Any:
    (tmp_path / "config.toml").write_text(text)
    return load(environ={"DRAGOMAN_CONFIG_DIR": str(tmp_path), **(environment or {})}, cwd=tmp_path)


def test_a_server_of_ones_own(tmp_path: Path) -> None:
    configuration = configured(
        tmp_path,
        '[providers.mine]\nbase_url = "http://gpu:9/v1"\napi = "anthropic_messages"\napi_key_env = "MINE"\n',
    )
    engine, model = engine_for("mine:big", configuration=configuration, environment={"MINE": "k1"})
    assert (engine.name, engine.transport.base_url, model) == ("anthropic_messages", "http://gpu:9/v1", "big")
    with pytest.raises(ConfigError, match="MINE is not set"):
        engine_for("mine:big", configuration=configuration, environment={})


def test_policy_sections_for_a_provider_and_a_model(tmp_path: Path) -> None:
    configuration = configured(
        tmp_path,
        '[policy]\napproval = "allow"\ntimeout = 9\nmax_retries = 1\ntools = {run_command = "ask"}\n'
        "[providers.openai.policy]\ntimeout = 8\nmax_parallel = 1\n"
        '[models."gpt-*".policy]\nmax_parallel = 7\n',
    )
    policy = ToolPolicy.from_settings(configuration.settings, "openai", "gpt-5")
    assert (policy.timeout, policy.max_parallel, policy.default) == (8, 7, "allow")
    assert (policy.on_error, policy.retry.times) == ("retry", 1)
    assert (policy.approval[0].verdict, policy.approval[0].tool) == ("ask", "run_command")
    other = ToolPolicy.from_settings(configuration.settings, "anthropic", "claude-x")
    assert (other.timeout, other.max_parallel) == (9, 3)


# ── models that nobody vouches for ───────────────────────────────────────────


# `[a-z]` without regard to case also holds the long s and the sign for kelvin.
WORDS = st.sampled_from(["a", "Z9", "_", "0", "qwen2", "gguf", "GGUF", "\u017f", "\u212a", "nul"])
BETWEEN = st.sampled_from([".", "@", "+", "-", "..", ".-", "+@.-", ":", "/"])


@given(WORDS, st.lists(st.tuples(BETWEEN, WORDS).map("".join), max_size=8).map("".join))
def test_a_plain_name_of_a_model_is_never_a_path(first: str, rest: str) -> None:
    from dragoman.engine.models.local import local_engine

    name = first + rest
    assume(not name.lower().endswith(".gguf"))
    assert Kind.MODEL.plain is not None
    assert Kind.MODEL.plain.match(name)
    engine, model = local_engine(name, cache=Path("/nonexistent"))
    assert (callable(engine._file), model) == (True, name)


@pytest.mark.parametrize(
    "model", ["local:./x.gguf", "local:/x", "local:x.gguf", "openai:../x", "local:qwen2.5-coder-1.5b"]
)
def test_a_model_that_opens_a_file_must_be_chosen_by_the_user(model: str) -> None:
    with pytest.raises(ConfigError, match=f"only you can choose it, with --model {model}"):
        engine_for(model, environment={"OPENAI_API_KEY": "sk-1"}, vouched=False)


def test_a_model_by_its_plain_name_may_be_chosen_by_anybody() -> None:
    engine, model = engine_for("openai:gpt-5", environment={"OPENAI_API_KEY": "sk-1"}, vouched=False)
    assert (engine.name, model) == ("openai_responses", "gpt-5")


# ── names without a provider ─────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name, provider",
    [
        ("gemini-2.0-flash-lite", "gemini"),
        ("gpt-5.1", "openai"),
        ("o4-mini", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("grok-4", "xai"),
        ("deepseek-reasoner", "deepseek"),
    ],
)
def test_a_bare_name_leads_to_the_company_that_alone_serves_the_model(name: str, provider: str) -> None:
    assert split_model(name) == (provider, name)
    engine, model = engine_for(name, api_key="k", configuration=None)
    assert (getattr(engine, "provider", None), model) == (provider, name)
    assert Orchestrator(name, configuration=load(flags={f"providers.{provider}.api_key": "k"})).model == name


@pytest.mark.parametrize("name", ["gpt-oss-120b", "qwen3", "llama-3.3-70b", "gemma3", "kimi-k2"])
def test_weights_that_anybody_serves_need_their_provider(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^'{name}' names no provider.*provider:model, for example ollama:{name}"):
        split_model(name)


@pytest.mark.parametrize(
    "wrong, hint",
    [
        ("gemni-2.5-pro", 'Did you mean "gemini:gemini-2.5-pro"'),
        ("cluade-sonnet-4-5", 'Did you mean "anthropic:claude-sonnet-4-5"'),
        ("anthropic/claude-sonnet-4-5", "for example anthropic:claude-sonnet-4-5"),
        ("openai", "for example openai:MODEL"),
        ("", "for example openai:gpt-5.1"),
    ],
)
def test_a_name_that_leads_nowhere_is_answered_with_how_to_write_it(wrong: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(hint)):
        split_model(wrong)
