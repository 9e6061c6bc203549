"""Who answers, as data: a provider's name → its wire API, address and key; a model's family → the words it knows.

Rule: which dialect a model hears follows from the model, not from who serves it: a Claude behind another company's
server still hears Claude's words. Adding a provider is one row here, or a section of the user's settings file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import UNSET

from dragoman.apis import APIS
from dragoman.errors import ConfigError, EngineError, nearest
from dragoman.registry import PROVIDERS as PROVIDERS, load_target

if TYPE_CHECKING:
    from dragoman.config import Chosen, Configuration
    from dragoman.engine.constrained import ConstrainedEngine
    from dragoman.engine.engine import Exchange, HttpEngine
    from dragoman.engine.policy import Retry
    from dragoman.engine.transport import Sizes, Times

    from .pace import Ledger, ProviderPace

MakesEngine = Callable[..., "tuple[ConstrainedEngine, str]"]
"""Gives, for a model's name, its engine and the name it goes by."""

Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "none"]


class Provider(msgspec.Struct, frozen=True):
    """One provider. `key` names environment variables, the first that is set counts; `key_needed` is false for
    servers on one's own machine."""

    api: str
    base_url: str
    key: tuple[str, ...] = ()
    auth: Auth = "bearer"
    headers: Mapping[str, str] = {}
    key_needed: bool = True
    base_url_env: str | None = None
    address_needed: str | None = None
    """What to set when there is no address that suits everybody."""
    engine: str | None = None
    """`module:function` that makes its engine, for one that is not asked over HTTP."""

    @property
    def in_process(self) -> bool:
        """Whether its models run in this process, from files that may have to be fetched."""
        return self.engine is not None


def _chat(base_url: str, *key: str, local: bool = False, **more: Any) -> Provider:
    return Provider("openai_chat", base_url, key, key_needed=not local, **more)


openai = Provider("openai_responses", "https://api.openai.com/v1", ("OPENAI_API_KEY",), base_url_env="OPENAI_BASE_URL")
openai_chat = _chat("https://api.openai.com/v1", "OPENAI_API_KEY", base_url_env="OPENAI_BASE_URL")
anthropic = Provider(
    "anthropic_messages",
    "https://api.anthropic.com",
    ("ANTHROPIC_API_KEY",),
    "x-api-key",
    base_url_env="ANTHROPIC_BASE_URL",
)
gemini = Provider(
    "gemini_generate",
    "https://generativelanguage.googleapis.com/v1beta",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "x-goog-api-key",
    base_url_env="GOOGLE_GEMINI_BASE_URL",
)
azure = Provider(
    "openai_responses",
    "",
    ("AZURE_OPENAI_API_KEY",),
    "api-key",
    base_url_env="AZURE_OPENAI_BASE_URL",
    address_needed="https://<resource>.openai.azure.com/openai/v1",
)
openrouter = _chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
groq = _chat("https://api.groq.com/openai/v1", "GROQ_API_KEY")
deepseek = _chat("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY")
mistral = _chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY")
xai = _chat("https://api.x.ai/v1", "XAI_API_KEY")
together = _chat("https://api.together.xyz/v1", "TOGETHER_API_KEY")
fireworks = _chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY")
cerebras = _chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")
perplexity = _chat("https://api.perplexity.ai", "PERPLEXITY_API_KEY")
moonshot = _chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY")
zai = _chat("https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "ZHIPUAI_API_KEY")
alibaba = _chat("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY")
huggingface = _chat("https://router.huggingface.co/v1", "HF_TOKEN")
nvidia = _chat("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY")
ollama = _chat("http://localhost:11434/v1", "OLLAMA_API_KEY", local=True, base_url_env="OLLAMA_BASE_URL")
llamacpp = _chat("http://localhost:8080/v1", "LLAMA_API_KEY", local=True, base_url_env="LLAMACPP_BASE_URL")
vllm = _chat("http://localhost:8000/v1", "VLLM_API_KEY", local=True, base_url_env="VLLM_BASE_URL")
lmstudio = _chat("http://localhost:1234/v1", local=True, base_url_env="LMSTUDIO_BASE_URL")

local = Provider("openai_chat", "", auth="none", key_needed=False, engine="dragoman.engine.models.local:local_engine")
"""A model in this process: there is no address."""
local_free = msgspec.structs.replace(local, engine="dragoman.engine.models.local:free_engine")
"""The same with free decoding, to measure what holding it to a schema does."""

KEYED: Final = (
    # In this order, the first whose key is set answers, with the model beside it.
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5.2"),
    ("gemini", "gemini-2.5-pro"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("groq", "openai/gpt-oss-120b"),
    ("deepseek", "deepseek-chat"),
    ("mistral", "mistral-large-latest"),
    ("xai", "grok-4"),
)


# ── models ───────────────────────────────────────────────────────────────────

FAMILIES: tuple[tuple[str, str, str | None], ...] = (
    # (a model's name without what its provider puts before it, its dialect, the family it is offered the tools of
    # when not its own). The first row that fits counts. Codex 0.166.0 gives `apply_patch` only to models its catalogue
    # lists, though older ones were taught it too; the newest write programs that call tools, which are not run here.
    ("claude*", "claude_code", None),
    ("gpt-5.[2-5]*", "codex", None),
    ("gpt*", "codex", "gpt-5.5"),
    ("o[1-9]*", "codex", "gpt-5.5"),
    ("codex*", "codex", "gpt-5.5"),
    ("chatgpt*", "codex", "gpt-5.5"),
    ("gemini*", "gemini_cli", None),
    ("qwen*", "qwen_code", None),
    ("glm*", "zai", None),
    ("*", "plain", None),
)


MAKERS: Final = (
    # (a model's name, the provider that is asked when none is named). Only names that one company alone serves under
    # its own API; weights that anybody may serve (gpt-oss, qwen, llama, …) need their provider written.
    ("gpt-oss*", None),
    ("claude*", "anthropic"),
    ("gpt-*", "openai"),
    ("o[1-9]*", "openai"),
    ("chatgpt-*", "openai"),
    ("codex-*", "openai"),
    ("gemini-*", "gemini"),
    ("grok-*", "xai"),
    ("deepseek-chat", "deepseek"),
    ("deepseek-reasoner", "deepseek"),
    ("sonar*", "perplexity"),
)


def plain_name(model: str) -> str:
    """A model's name without what its provider puts before it: `anthropic/claude-x` is `claude-x`."""
    name = model.rsplit("/", 1)[-1].lower()
    for prefix in ("us.anthropic.", "eu.anthropic.", "apac.anthropic.", "anthropic.", "models/"):
        name = name.removeprefix(prefix)
    return name


def dialect_of(model: str) -> str:
    """The vocabulary a model was trained on, as far as is known."""
    name = plain_name(model)
    return next(dialect for pattern, dialect, _ in FAMILIES if fnmatchcase(name, pattern))


def family_of(model: str) -> str:
    """The family of models whose tools a model is offered."""
    name = plain_name(model)
    return next(family or name for pattern, _, family in FAMILIES if fnmatchcase(name, pattern))


def split_model(text: str) -> tuple[str, str]:
    """A model's provider and its name: `provider:model` in its two parts, a bare name by its family."""
    provider, colon, model = text.partition(":")
    if colon and provider and model and "/" not in provider:
        return provider, model
    maker = _maker(text)
    if maker is not None:
        return maker, text
    raise ConfigError(f"{_not_a_model(text)} Write provider:model, for example {_written_form(text)}.")


def _maker(name: str) -> str | None:
    """The provider of a model that is named without one."""
    if ":" in name or "/" in name:
        return None
    return next((maker for pattern, maker in MAKERS if fnmatchcase(name.lower(), pattern)), None)


def _not_a_model(text: str) -> str:
    if ":" in text or "/" in text or not text:
        return f"{text!r} does not name a provider and a model."
    return f"{text!r} names no provider, and none is known for a model of that name.{_nearest_model(text)}"


def _nearest_model(text: str) -> str:
    from dragoman.prices import PRICES

    known = {
        row.model: f"{maker}:{row.model}" for row in PRICES if (maker := _maker(row.model)) and "*" not in row.model
    }
    close = nearest(text, known)
    return next((close.replace(f'"{name}"', f'"{whole}"') for name, whole in known.items() if f'"{name}"' in close), "")


def _written_form(text: str) -> str:
    """How a name that is no model might be meant, as an example."""
    before, slash, name = text.partition("/")
    if slash and name and before in PROVIDERS:  # as other libraries write it
        return f"{before}:{name}"
    if text and ":" not in text and "/" not in text and text not in PROVIDERS:
        return f"ollama:{text}"
    return f"{text}:MODEL" if text in PROVIDERS else "openai:gpt-5.1"


def check_unvouched_model(text: str) -> None:
    """`ConfigError` for a model that only the user or the developer may choose, because it opens or fetches a file.

    For names that come from a project's files, from a stranger's agent file or from a model.
    """
    from dragoman.config import Kind

    provider, _, _ = text.partition(":")
    if not Kind.MODEL.is_plain(text):
        raise ConfigError(f"{text!r} is more than the name of a model: only you can choose it, with --model {text}")
    if provider in PROVIDERS and PROVIDERS[provider].in_process:
        raise ConfigError(f"{text!r} would run in this process: only you can choose it, with --model {text}")


def engine_for(
    model: str,
    *,
    configuration: Chosen = UNSET,
    base_url: str | None = None,
    api_key: str | None = None,
    api: str | None = None,
    times: Times | None = None,
    sizes: Sizes | None = None,
    retry: Retry | None = None,
    record: Callable[[Exchange], None] | None = None,
    notice: Callable[[EngineError, float], None] | None = None,
    ledger: Ledger | None = None,
    environment: Mapping[str, str] = os.environ,
    vouched: bool = True,
) -> tuple[HttpEngine | ConstrainedEngine, str]:
    """The engine for `provider:model`, and the model's own name. What is given here comes before what is configured.

    The settings are those of this process (`dragoman.config.current()`), as the command line reads them.
    `configuration` names others; with `None` no settings are read, only the provider's own environment variables.
    `vouched=False` is for a name that neither the user nor the developer chose: see `check_unvouched_model`.
    Requests are counted in `ledger` where the settings limit how many a minute may have; else in this process.
    """
    from dragoman.config import chosen as settled
    from dragoman.engine.engine import HttpEngine
    from dragoman.engine.policy import Retry as Tries
    from dragoman.engine.transport import Bounds, Transport, bounds_of

    configuration = settled(configuration)
    model = real_name(model, configuration)
    if not vouched:
        check_unvouched_model(model)
    name, model = split_model(model)
    row = _provider(name, configuration)
    if row.engine is not None:
        make: MakesEngine = load_target(row.engine)
        return make(model, cache=None if configuration is None else configuration.cache_dir, record=record)
    section = configuration.settings.providers.get(name) if configuration is not None else None
    said_url = (section.base_url if section is not None else None) or environment.get(row.base_url_env or "")
    url = base_url or said_url or row.base_url
    if not url:
        settings = f"base_url in [providers.{name}] of your settings, or set {row.base_url_env}"
        raise ConfigError(
            f"{name} has no address that suits everybody: give {settings}; it looks like {row.address_needed}"
        )
    key = api_key or key_of(name, row, section, environment, configuration)
    headers = {**row.headers, **_authorization(row.auth, key)}
    chosen = api or (section.api if section is not None and section.api else None) or row.api
    if chosen not in APIS:
        raise ConfigError(f"{name}: there is no wire API {chosen!r}.{nearest(chosen, APIS)}")
    bounds = bounds_of(section.limits) if section is not None else Bounds()
    return (
        HttpEngine(
            chosen,
            Transport(
                url,
                headers=headers,
                times=times or bounds.times,
                sizes=sizes or bounds.sizes,
                section=f"providers.{name}.limits",
            ),
            provider=name,
            retry=retry or (Tries() if configuration is None else Tries(times=configuration.settings.retries)),
            options=section.options if section is not None else None,
            record=record,
            notice=notice,
            pace=_pace(name, section, ledger),
        ),
        model,
    )


def _pace(name: str, section: Any, ledger: Ledger | None) -> ProviderPace | None:
    """What keeps requests within the limits of the settings; `None` where there are none."""
    if section is None or (section.requests_per_minute is None and section.tokens_per_minute is None):
        return None
    from .pace import ProviderPace, Rates

    return ProviderPace(name, Rates(section.requests_per_minute, section.tokens_per_minute), ledger)


def _provider(name: str, configuration: Configuration | None) -> Provider:
    if name in PROVIDERS:
        row: Provider = PROVIDERS[name]
        return row
    section = configuration.settings.providers.get(name) if configuration is not None else None
    if section is not None and section.base_url:
        env = (section.api_key_env,) if section.api_key_env else ()
        return Provider(section.api or "openai_chat", section.base_url, env, key_needed=bool(env))
    raise ConfigError(_no_provider(name, configuration))


def check_provider(name: str, configuration: Configuration | None) -> None:
    """`ConfigError` when there is no such provider."""
    _provider(name, configuration)


def _no_provider(name: str, configuration: Configuration | None) -> str:
    """Why there is no such provider, and what to do; nothing that is written in the settings is asked for."""
    refused = [] if configuration is None else configuration.refusals
    refusal = next((one for one in refused if one.key == f"providers.{name}.base_url"), None)
    if refusal is not None and configuration is not None:
        return (
            f"the provider {name!r} of {refusal.origin.source} is ignored: {refusal.reason}; {configuration.untrusted}"
        )
    section = None if configuration is None else configuration.settings.providers.get(name)
    if section is not None:
        return f"the provider {name!r} has no address: add base_url to [providers.{name}] of your settings"
    own = () if configuration is None else configuration.settings.providers
    known = dict.fromkeys((*PROVIDERS, *own))
    how = (
        "No settings were read (configuration=None); leave it out, or pass dragoman.config.load()."
        if configuration is None
        else f"For a server of your own, write [providers.{name}] with base_url and api in {configuration.user_file}."
    )
    return f'there is no provider "{name}".{nearest(name, known)} There are {", ".join(known)}. {how}'


def real_name(model: str, configuration: Configuration | None) -> str:
    """The model that an alias of the settings stands for; any other name as it is."""
    return model if configuration is None else configuration.settings.aliases.get(model, model)


def key_of(
    name: str,
    row: Provider,
    section: Any,
    environment: Mapping[str, str],
    configuration: Configuration | None = None,
) -> str | None:
    """The key: from the settings, the environment, or what `dragoman keys set` stored. It goes into a header only."""
    if section is not None:
        if section.api_key_env:
            named = environment.get(section.api_key_env)
            if named:
                return named.strip()
            raise ConfigError(f"{name}: {section.api_key_env} is not set, though the settings name it for the key")
        if section.api_key is not None:
            return str(section.api_key.reveal()).strip()
    for variable in row.key:
        if environment.get(variable):
            return environment[variable].strip()
    if configuration is not None:
        from dragoman.config.files import stored_key

        stored = stored_key(configuration.config_dir, name)
        if stored is not None:
            return stored
    if row.key_needed:
        wanted = " or ".join(row.key)
        raise ConfigError(
            f"no key for {name}: set {wanted}, run `dragoman keys set {name}`, or set api_key_env in "
            f"[providers.{name}] of your settings"
        )
    return None


def _authorization(auth: Auth, key: str | None) -> dict[str, str]:
    if key is None or auth == "none":
        return {}
    return {"authorization": f"Bearer {key}"} if auth == "bearer" else {auth: key}
