"""Gemini CLI's vocabulary (0.1.15 … 0.61): one class per native tool, in the words its models know."""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, PlanApproval, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from . import agents, commands, extensions, files, people, plans, search, web
from .failures import GeminiFailures
from .results import FromOutside

DIALECT = Dialect(
    "gemini_cli",
    (
        files.ReadFile,
        files.ReadManyFiles,
        files.ReadManyIncluded,
        files.ListDirectory,
        search.Glob,
        search.GrepSearch,
        search.SearchFileContent,
        files.WriteFile,
        files.Replace,
        files.ReplaceCounted,
        commands.RunShellCommand,
        commands.ReadBackgroundOutput,
        commands.ListBackgroundProcesses,
        web.GoogleWebSearch,
        web.WebFetch,
        plans.WriteTodos,
        plans.WriteTodosAtFirst,
        agents.InvokeAgent,
        agents.DelegateToAgent,
        agents.CodebaseInvestigator,
        agents.CodebaseInvestigatorAtFirst,
        agents.Generalist,
        agents.CliHelp,
        agents.CompleteTask,
        people.SaveMemory,
        extensions.ListMcpResources,
        extensions.ReadMcpResource,
        extensions.ActivateSkill,
        people.AskUser,
    ),
    steering=(
        Steer("enter_plan_mode", "a mode of the client", ("reason",), since="0.53"),
        Steer(
            "exit_plan_mode",
            "a mode of the client",
            ("plan_filename",),
            since="0.61",
            approves=PlanApproval("plan_filename", is_file=True),
        ),
        Steer(
            "update_topic",
            "a heading in the client's display",
            ("title", "summary", "strategic_intent", "wait_for_previous"),
            since="0.53",
        ),
        Steer("get_internal_docs", "the client's own manual", ("path",), since="0.61"),
    ),
    mcp=(McpNames("mcp_{server}_{tool}"), McpNames("{server}__{tool}"), McpNames("{tool}")),
    failures=GeminiFailures(),
    unspelled=FromOutside(),
    default_family="gemini-2.5-pro",
    provider_dialect="google",
    captured=("0.1.15", "0.19.4", "0.24.0", "0.34.0", "0.53.0", "0.61.0"),
    unspoken={
        op.WaitForAgent: "an agent's answer is always waited for",
    },
)
