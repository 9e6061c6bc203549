"""The live path: what a model is offered, the calls it makes, running them, and the results it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .approval import (
        LATER as LATER,
        Answer as Answer,
        Approvals as Approvals,
        Approver as Approver,
        Question as Question,
    )
    from .engine import (
        Engine as Engine,
        Exchange as Exchange,
        HttpEngine as HttpEngine,
        ReplayEngine as ReplayEngine,
        ScriptedEngine as ScriptedEngine,
    )
    from .executor import Executor as Executor, Hooks as Hooks
    from .facade import Facade as Facade
    from .loop import after_calls as after_calls
    from .named_tools import TOOL_KINDS as TOOL_KINDS, tools_named as tools_named
    from .orchestrator import Orchestrator as Orchestrator, Prepared as Prepared
    from .policy import Approval as Approval, Retry as Retry, ToolPolicy as ToolPolicy
    from .rules import verdict_on as verdict_on
    from .run_result import RunResult as RunResult
    from .running import Running as Running
    from .scope import Scope as Scope, scopes_of as scopes_of
    from .telemetry import Telemetry as Telemetry
    from .typed_output import FinalOutput as FinalOutput, PartialOutput as PartialOutput
    from .web_search import web_for as web_for
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "approval": ("LATER", "Answer", "Approvals", "Approver", "Question"),
            "engine": ("Engine", "Exchange", "HttpEngine", "ReplayEngine", "ScriptedEngine"),
            "executor": ("Executor", "Hooks"),
            "facade": ("Facade",),
            "loop": ("after_calls",),
            "named_tools": ("TOOL_KINDS", "tools_named"),
            "orchestrator": ("Orchestrator", "Prepared"),
            "policy": ("Approval", "Retry", "ToolPolicy"),
            "rules": ("verdict_on",),
            "run_result": ("RunResult",),
            "running": ("Running",),
            "scope": ("Scope", "scopes_of"),
            "telemetry": ("Telemetry",),
            "typed_output": ("FinalOutput", "PartialOutput"),
            "web_search": ("web_for",),
        },
    )
