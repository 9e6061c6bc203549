"""The tools Anthropic's API defines itself, as dated rows: some it runs, some we run in its words.

Known from the documentation, the types of anthropic 2.8.0 and traffic recorded until August 2026. The types of the
tools' settings are imported from here.
"""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.web_action import UnofferedWebAction
from dragoman.model import operations as op
from dragoman.model.calls import ExecutedBy

from .agents import AGENT_TOOLS
from .commands import BROWSER, COMPUTER, Bash, Computer
from .editing import Memory, StrReplaceEditor, TextEditor
from .failures import AnthropicFailures
from .hosted import (
    BashCodeExecution,
    CodeExecution,
    TextEditorCodeExecution,
    ToolSearchBm25,
    ToolSearchRegex,
    Unspelled,
    WebFetch,
    WebSearch,
)
from .rows import (
    ROWS as ROWS,
    AdvisorSettings as AdvisorSettings,
    AgentToolsetSettings as AgentToolsetSettings,
    CacheControl as CacheControl,
    Citations as Citations,
    ClientSettings as ClientSettings,
    ComputerSettings as ComputerSettings,
    McpToolsetSettings as McpToolsetSettings,
    MemberSettings as MemberSettings,
    TextEditorSettings as TextEditorSettings,
    ToolsetSettings as ToolsetSettings,
    ToolSettings as ToolSettings,
    UserLocation as UserLocation,
    WebFetch20260309Settings as WebFetch20260309Settings,
    WebFetch20260318Settings as WebFetch20260318Settings,
    WebFetchSettings as WebFetchSettings,
    WebSearch20260318Settings as WebSearch20260318Settings,
    WebSearchSettings as WebSearchSettings,
    WebSettings as WebSettings,
    ZoomingComputerSettings as ZoomingComputerSettings,
)

DIALECT = Dialect(
    "anthropic",
    (
        Bash,
        TextEditor,
        StrReplaceEditor,
        Memory,
        Computer,
        *COMPUTER,
        *BROWSER,
        WebSearch,
        UnofferedWebAction,
        WebFetch,
        CodeExecution,
        BashCodeExecution,
        TextEditorCodeExecution,
        ToolSearchBm25,
        ToolSearchRegex,
        *AGENT_TOOLS,
    ),
    steering=(Steer("advisor", "another model reads along and is asked nothing", executed_by=ExecutedBy.PROVIDER),),
    provider_tools=ROWS,
    mcp_items={"mcp_tool_use": "server_name"},
    failures=AnthropicFailures(),
    unspelled=Unspelled(),
    default_family="claude-opus-5",
    unspoken={
        op.Executing: "the shell has one command at a time",
        op.UndoEdit: "only the editor of older models undoes an edit",
        op.TakeScreenshot: "only of a screen or browser that was given",
        op.Delegating: "a request has no other agents",
        op.ReadMcpResource: "only the tools of servers are used",
        op.ListMcpResources: "only the tools of servers are used",
        op.UseSkill: "skills are settings of the container",
    },
)
