"""The live path: what a model is offered, what it asks for, what is done, what it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .approval import (
        LATER as LATER,
        Answer as Answer,
        Approvals as Approvals,
        Approver as Approver,
        Question as Question,
        digest_of as digest_of,
    )
    from .bridges import BRIDGES as BRIDGES
    from .configured import (
        configured_dialect as configured_dialect,
        configured_options as configured_options,
        configured_sandbox as configured_sandbox,
        set_sandbox as set_sandbox,
        settings_for as settings_for,
    )
    from .constrained import ConstrainedEngine as ConstrainedEngine
    from .definitions import (
        DefinitionChange as DefinitionChange,
        definition_changes as definition_changes,
        definition_digest as definition_digest,
        definition_of as definition_of,
    )
    from .engine import (
        Engine as Engine,
        Exchange as Exchange,
        HttpEngine as HttpEngine,
        Observer as Observer,
        ReplayEngine as ReplayEngine,
        ScriptedEngine as ScriptedEngine,
        chunks_of as chunks_of,
    )
    from .executor import Executor as Executor, Hooks as Hooks, Metrics as Metrics
    from .facade import Facade as Facade, Names as Names, Note as Note
    from .from_client_log import Told as Told, history_of as history_of
    from .from_recording import conversation_of as conversation_of
    from .grounded_search import GroundedSearch as GroundedSearch, provider_search as provider_search
    from .local import LocalEngine as LocalEngine
    from .loop import (
        Ask as Ask,
        Run as Run,
        after_calls as after_calls,
        tool_loop as tool_loop,
        unanswered as unanswered,
    )
    from .model_choice import (
        Found as Found,
        can_run_here as can_run_here,
        default_model as default_model,
        models_of as models_of,
    )
    from .model_files import MODEL_FILES as MODEL_FILES, ModelFile as ModelFile, cached as cached, fetched as fetched
    from .named_tools import TOOL_KINDS as TOOL_KINDS, tools_named as tools_named
    from .orchestrator import Orchestrator as Orchestrator, Prepared as Prepared
    from .policy import Approval as Approval, Retry as Retry, ToolPolicy as ToolPolicy
    from .providers import (
        PROVIDERS as PROVIDERS,
        Provider as Provider,
        check_provider as check_provider,
        check_unvouched_model as check_unvouched_model,
        dialect_of as dialect_of,
        engine_for as engine_for,
        split_model as split_model,
    )
    from .replaying import REPLAYED as REPLAYED, Difference as Difference, Replayed as Replayed, replay as replay
    from .respeak import respoken as respoken
    from .rules import DEFAULT_RULE as DEFAULT_RULE, verdict_on as verdict_on
    from .running import Running as Running, RunResult as RunResult
    from .scope import Scope as Scope, scopes_of as scopes_of
    from .telemetry import Telemetry as Telemetry
    from .transport import Sizes as Sizes, Times as Times, Transport as Transport
    from .web_search import ProviderSearch as ProviderSearch, web_for as web_for
    from .who_runs import native_tool as native_tool, vendor_of as vendor_of

_HOME = {
    "approval": ("LATER", "Answer", "Approvals", "Approver", "Question", "digest_of"),
    "model_choice": ("Found", "can_run_here", "default_model", "models_of"),
    "bridges": ("BRIDGES",),
    "who_runs": ("native_tool", "vendor_of"),
    "configured": ("configured_dialect", "configured_options", "configured_sandbox", "set_sandbox", "settings_for"),
    "constrained": ("ConstrainedEngine",),
    "definitions": ("DefinitionChange", "definition_changes", "definition_digest", "definition_of"),
    "engine": ("Engine", "Exchange", "HttpEngine", "Observer", "ReplayEngine", "ScriptedEngine", "chunks_of"),
    "executor": ("Executor", "Hooks", "Metrics"),
    "facade": ("Facade", "Names", "Note"),
    "grounded_search": ("GroundedSearch", "provider_search"),
    "from_client_log": ("Told", "history_of"),
    "local": ("LocalEngine",),
    "loop": ("Ask", "Run", "after_calls", "tool_loop", "unanswered"),
    "model_files": ("MODEL_FILES", "ModelFile", "cached", "fetched"),
    "named_tools": ("TOOL_KINDS", "tools_named"),
    "orchestrator": ("Orchestrator", "Prepared"),
    "policy": ("Approval", "Retry", "ToolPolicy"),
    "providers": (
        "PROVIDERS",
        "Provider",
        "check_provider",
        "check_unvouched_model",
        "dialect_of",
        "engine_for",
        "split_model",
    ),
    "from_recording": ("conversation_of",),
    "replaying": ("REPLAYED", "Difference", "Replayed", "replay"),
    "respeak": ("respoken",),
    "rules": ("DEFAULT_RULE", "verdict_on"),
    "running": ("RunResult", "Running"),
    "scope": ("Scope", "scopes_of"),
    "telemetry": ("Telemetry",),
    "transport": ("Sizes", "Times", "Transport"),
    "web_search": ("ProviderSearch", "web_for"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
