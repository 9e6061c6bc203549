"""Copilot CLI's vocabulary (1.0.102): files, shells, agents, and a plan that is kept as rows of a table."""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, PlanApproval, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from .agents import ListAgents, ReadAgent, Task, WriteAgent
from .commands import (
    Bash,
    ListBash,
    ListPowershell,
    Powershell,
    ReadBash,
    ReadPowershell,
    StopBash,
    StopPowershell,
    WriteBash,
)
from .editor import READ
from .files import ApplyPatch, Create, Edit, NumberedView, StrReplaceEditor, View
from .people import AskUser, Skill, StoreMemory
from .plans import Sql, UpdateTodo
from .results import FAILURES, CopilotUnspelled
from .search import Glob, Grep, Rg, ToolSearchTool
from .web import WebFetch, WebSearch

EXTENSIONS = "which extensions are loaded is the client's to decide"
BOARD = "what its agents leave for one another is the client's to keep"
HOSTED = "the agent that works on a pull request has it, and it is for those who review"

DIALECT = Dialect(
    "copilot",
    (
        Bash,
        ReadBash,
        StopBash,
        WriteBash,
        ListBash,
        Powershell,
        ReadPowershell,
        StopPowershell,
        ListPowershell,
        View,
        NumberedView,
        StrReplaceEditor,
        Create,
        Edit,
        ApplyPatch,
        Skill,
        Sql,
        ReadAgent,
        ListAgents,
        WriteAgent,
        Grep,
        Rg,
        Glob,
        Task,
        ToolSearchTool,
        UpdateTodo,
        WebFetch,
        AskUser,
        StoreMemory,
        WebSearch,
        *READ,
    ),
    default_family="claude-sonnet-4.5",
    steering=(
        Steer("fetch_copilot_cli_documentation", "it reads the client's own manual"),
        Steer(
            "sql",
            "only plain statements about the plan have a shared meaning; others query the session's own tables",
            ("description", "query", "database"),
            fallback=True,
        ),
        Steer(
            "session_store_sql", "it queries the client's record of past sessions", ("description", "query", "source")
        ),
        Steer(
            "write_agent",
            "a message to all agents of a kind is the client's to deliver",
            ("agent_id", "agent_ids", "scope", "message"),
            fallback=True,
        ),
        Steer("report_intent", "it is a headline for those who watch", ("intent",)),
        Steer("task_complete", "it ends the client's mode of working on alone", ("summary",)),
        Steer(
            "exit_plan_mode",
            "a mode of the client",
            ("summary", "actions", "recommendedAction"),
            approves=PlanApproval("summary"),
        ),
        Steer(
            "lsp",
            "what language servers know has no shared form",
            (*("operation", "file", "line", "character", "newName", "includeDeclaration", "query", "language"),),
        ),
        Steer("extensions_manage", EXTENSIONS, ("operation", "name", "description", "location")),
        Steer("extensions_reload", EXTENSIONS),
        Steer("manage_schedule", "when it works is the client's to decide", ("action", "interval", "prompt", "id")),
        Steer("context_board", BOARD, ("command", "src", "name", "description", "context")),
        Steer("read_inbox", BOARD, ("entry_id", "mark_as_read")),
        Steer("send_inbox", BOARD, ("summary", "content")),
        Steer("vote_memory", "which memories are kept is the client's to decide"),
        Steer("report_progress", HOSTED, ("commitMessage", "prDescription")),
        Steer("reply_to_comment", HOSTED, ("reply", "comment_id")),
        Steer("create_pull_request", HOSTED, ("title", "description", "draft")),
        Steer("code_review", HOSTED, ("prTitle", "prDescription")),
        Steer("codeql_checker", HOSTED),
        Steer("parallel_validation", HOSTED, ("prTitle", "prDescription", "trivialChangeDeclaration")),
        Steer("gh-advisory-database", HOSTED, ("dependencies",)),
        Steer("get_errors", "what the editor knows of its files is its own", ("filePaths", "ranges")),
    ),
    mcp=(McpNames("{server}-{tool}"), McpNames("{tool}")),
    failures=FAILURES,
    unspelled=CopilotUnspelled(),
    unspoken={
        op.TypeInto: "a shell takes no input while a command runs",
        op.FetchPage: "it is done with a shell command",
        op.UpdatePlan: "the plan is kept row by row",
        op.ResumeAgent: "an agent continues when it gets a message",
    },
)
