"""What we can do: tools defined once and run here, and the sets they come in."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import Answers as Answers, answer_to as answer_to
    from .attachments import (
        Audio as Audio,
        Document as Document,
        Image as Image,
        attachment as attachment,
    )
    from .computer import (
        PageScreen as PageScreen,
        Screen as Screen,
        browser_screen as browser_screen,
        computer_tool as computer_tool,
    )
    from .context import (
        AgentHost as AgentHost,
        AgentInfo as AgentInfo,
        Cancellation as Cancellation,
        Context as Context,
        Inject as Inject,
        Injected as Injected,
        LimitsLeft as LimitsLeft,
    )
    from .later import search_tools_in as search_tools_in
    from .memories import Memories as Memories, Memory as Memory
    from .operation_runner import (
        NOT_HONOURED as NOT_HONOURED,
        as_outcome as as_outcome,
        enclosure_in as enclosure_in,
        honoured_in as honoured_in,
        outcome_of as outcome_of,
        perform as perform,
        run_operation as run_operation,
        standard_context as standard_context,
    )
    from .plan import Plan as Plan
    from .planned import (
        ShownChange as ShownChange,
        planned_changes as planned_changes,
        shown_change as shown_change,
    )
    from .processes.programs import find_program as find_program
    from .processes.ripgrep import ripgrep_path as ripgrep_path
    from .processes.supervisor import end_all as end_all, new_brand as new_brand
    from .processes.threads import abandon as abandon, in_thread as in_thread
    from .provider_tool import ProviderTool as ProviderTool
    from .run_code import runnable as runnable
    from .sandbox.enclosure import Enclosure as Enclosure
    from .shell import Shell as Shell
    from .tool import Approval as Approval, Bound as Bound, Tool as Tool, tool as tool
    from .toolset import AnyTool as AnyTool, Toolset as Toolset
    from .web.address_policy import REDIRECTS as REDIRECTS, host_of as host_of
    from .web.search import SearchBackend as SearchBackend
    from .web.web import PageReader as PageReader, Web as Web
    from .workspace.diff import Hunk as Hunk, marked_lines as marked_lines
    from .workspace.disk import DiskWorkspace as DiskWorkspace
    from .workspace.media import media_kind as media_kind
    from .workspace.memory import MemoryWorkspace as MemoryWorkspace
    from .workspace.transaction_plan import FileChange as FileChange
    from .workspace.workspace import Workspace as Workspace

_HOME = {
    "AgentHost": "context",
    "AgentInfo": "context",
    "Answers": "asking",
    "AnyTool": "toolset",
    "Approval": "tool",
    "Audio": "attachments",
    "Bound": "tool",
    "Cancellation": "context",
    "Context": "context",
    "DiskWorkspace": "workspace.disk",
    "Document": "attachments",
    "FileChange": "workspace.transaction_plan",
    "Hunk": "workspace.diff",
    "Image": "attachments",
    "Enclosure": "sandbox.enclosure",
    "Inject": "context",
    "Injected": "context",
    "LimitsLeft": "context",
    "Memories": "memories",
    "Memory": "memories",
    "MemoryWorkspace": "workspace.memory",
    "PageReader": "web.web",
    "Plan": "plan",
    "REDIRECTS": "web.address_policy",
    "ProviderTool": "provider_tool",
    "PageScreen": "computer",
    "Screen": "computer",
    "ShownChange": "planned",
    "SearchBackend": "web.search",
    "Shell": "shell",
    "Tool": "tool",
    "Toolset": "toolset",
    "Web": "web.web",
    "Workspace": "workspace.workspace",
    "answer_to": "asking",
    "as_outcome": "operation_runner",
    "attachment": "attachments",
    "browser_screen": "computer",
    "computer_tool": "computer",
    "enclosure_in": "operation_runner",
    "honoured_in": "operation_runner",
    "outcome_of": "operation_runner",
    "perform": "operation_runner",
    "planned_changes": "planned",
    "run_operation": "operation_runner",
    "shown_change": "planned",
    "find_program": "processes.programs",
    "host_of": "web.address_policy",
    "abandon": "processes.threads",
    "end_all": "processes.supervisor",
    "new_brand": "processes.supervisor",
    "marked_lines": "workspace.diff",
    "in_thread": "processes.threads",
    "media_kind": "workspace.media",
    "standard_context": "operation_runner",
    "NOT_HONOURED": "operation_runner",
    "ripgrep_path": "processes.ripgrep",
    "runnable": "run_code",
    "search_tools_in": "later",
    "tool": "tool",
}

__all__ = sorted(_HOME)


class _Door(ModuleType):
    """Here `tool` is the decorator, though a file is called so too: importing that file would put it in its place."""

    @property
    def tool(self) -> Any:
        return __getattr__("tool")

    @tool.setter
    def tool(self, value: Any) -> None:
        pass


sys.modules[__name__].__class__ = _Door


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME[name]}", __name__), name)
