"""What we can do: tools defined once and run here, and the sets they come in."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import Answers as Answers, answer_to as answer_to
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
    from .diff import Hunk as Hunk, marked_lines as marked_lines
    from .disk import DiskWorkspace as DiskWorkspace
    from .draft import FileChange as FileChange
    from .enclosure import Enclosure as Enclosure
    from .later import search_tools_in as search_tools_in
    from .media import media_kind as media_kind
    from .memories import Memories as Memories, Memory as Memory
    from .memory import MemoryWorkspace as MemoryWorkspace
    from .performing import (
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
    from .programs import find_program as find_program
    from .provider_tool import ProviderTool as ProviderTool
    from .reach import REDIRECTS as REDIRECTS, host_of as host_of
    from .ripgrep import ripgrep_path as ripgrep_path
    from .run_code import runnable as runnable
    from .search_backends import SearchBackend as SearchBackend
    from .shell import Shell as Shell
    from .supervisor import end_all as end_all, new_brand as new_brand
    from .threads import abandon as abandon, in_thread as in_thread
    from .tool import Approval as Approval, Bound as Bound, Tool as Tool, tool as tool
    from .toolset import AnyTool as AnyTool, Toolset as Toolset
    from .web import PageReader as PageReader, Web as Web
    from .workspace import Workspace as Workspace

_HOME = {
    "AgentHost": "context",
    "AgentInfo": "context",
    "Answers": "asking",
    "AnyTool": "toolset",
    "Approval": "tool",
    "Bound": "tool",
    "Cancellation": "context",
    "Context": "context",
    "DiskWorkspace": "disk",
    "FileChange": "draft",
    "Hunk": "diff",
    "Enclosure": "enclosure",
    "Inject": "context",
    "Injected": "context",
    "LimitsLeft": "context",
    "Memories": "memories",
    "Memory": "memories",
    "MemoryWorkspace": "memory",
    "PageReader": "web",
    "Plan": "plan",
    "REDIRECTS": "reach",
    "ProviderTool": "provider_tool",
    "PageScreen": "computer",
    "Screen": "computer",
    "ShownChange": "planned",
    "SearchBackend": "search_backends",
    "Shell": "shell",
    "Tool": "tool",
    "Toolset": "toolset",
    "Web": "web",
    "Workspace": "workspace",
    "answer_to": "asking",
    "as_outcome": "performing",
    "browser_screen": "computer",
    "computer_tool": "computer",
    "enclosure_in": "performing",
    "honoured_in": "performing",
    "outcome_of": "performing",
    "perform": "performing",
    "planned_changes": "planned",
    "run_operation": "performing",
    "shown_change": "planned",
    "find_program": "programs",
    "host_of": "reach",
    "abandon": "threads",
    "end_all": "supervisor",
    "new_brand": "supervisor",
    "marked_lines": "diff",
    "in_thread": "threads",
    "media_kind": "media",
    "standard_context": "performing",
    "NOT_HONOURED": "performing",
    "ripgrep_path": "ripgrep",
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
