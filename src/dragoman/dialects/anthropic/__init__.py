"""The tools Anthropic's API defines itself, as dated rows: some it runs, some we run in its words.

The types of the tools' settings are imported from here.
"""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.web_action import WebActionHeard
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

SHELL = "it is done with a shell command"
ALONE = "a request has no other agents"
NO_JOBS = "the shell has one command at a time"
NO_TOOL = "the API defines no tool for it"

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
        WebActionHeard,
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
        op.ReadFiles: "files are viewed one by one",
        op.ReadNotebook: "a notebook is viewed as the text of its file",
        op.ViewImage: "an image is viewed as a file",
        op.DeleteFile: SHELL,
        op.MoveFile: SHELL,
        op.UndoEdit: "only the editor of older models undoes an edit",
        op.EditNotebook: "a notebook is edited as the text of its file",
        op.FindFiles: SHELL,
        op.ReadOutput: NO_JOBS,
        op.TypeInto: NO_JOBS,
        op.ListCommands: NO_JOBS,
        op.WatchCommand: NO_JOBS,
        op.SearchText: SHELL,
        op.SearchCode: NO_TOOL,
        op.RewriteCode: NO_TOOL,
        op.SearchDocuments: NO_TOOL,
        op.FindInPage: NO_TOOL,
        op.TakeScreenshot: "only of a screen or browser that was given",
        op.UpdatePlan: NO_TOOL,
        op.AddPlanItem: NO_TOOL,
        op.ChangePlanItem: NO_TOOL,
        op.ReadPlan: NO_TOOL,
        op.SpawnAgent: ALONE,
        op.MessageAgent: ALONE,
        op.WaitForAgent: ALONE,
        op.StopAgent: ALONE,
        op.ResumeAgent: ALONE,
        op.ListAgents: ALONE,
        op.SignalParent: ALONE,
        op.ReturnToParent: ALONE,
        op.AskUser: "the model asks in its answer",
        op.SaveMemory: "memories are files",
        op.RecallMemory: "memories are files",
        op.ReadMcpResource: "servers are asked for tools alone",
        op.ListMcpResources: "servers are asked for tools alone",
        op.UseSkill: "skills are settings of the container",
        op.GenerateImage: NO_TOOL,
        op.UseComputer: "only of a screen or browser that was given",
    },
)
