"""Qwen Code's vocabulary (0.1.3 … 0.24.4): one class per native tool, in the words its models know.

Tools that are not offered up front are called through `tool_call`, which is opened: what it carries is what is meant.
"""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, PlanApproval, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from . import agents, commands, computer, extensions, files, people, plans, search, web
from .failures import FAILURES

SCHEDULE = "the client's own schedule"
WORK = "the client's own worktrees"

DIALECT = Dialect(
    "qwen_code",
    (
        agents.Agent,
        agents.Task,
        files.Edit,
        files.EditCounted,
        search.Glob,
        search.GlobFiltered,
        search.GrepSearch,
        search.GrepSearchIncluding,
        agents.ListAgents,
        files.ListDirectory,
        files.NotebookEdit,
        files.ReadFile,
        files.ReadManyFiles,
        commands.RunShellCommand,
        extensions.UseSkill,
        search.ToolSearch,
        files.WriteFile,
        commands.Monitor,
        extensions.ReadMcpResource,
        agents.SendMessage,
        agents.SendMessageToTask,
        commands.TaskStop,
        web.WebFetch,
        web.WebSearch,
        files.ZoomImage,
        plans.TodoWrite,
        agents.TaskCreate,
        agents.TaskUpdate,
        agents.TaskList,
        agents.CreateSubSession,
        people.ImageGen,
        people.AskUserQuestion,
        people.SaveMemory,
    ),
    steering=(
        Steer(
            "tool_call",
            "it carries calls of tools that are not offered up front",
            ("name", "arguments"),
            since="0.24",
            carries=("name", "arguments"),
        ),
        Steer("get_goal", "a goal the client keeps", ("view",), since="0.21"),
        Steer(
            "update_goal", "a goal the client keeps", ("status", "reason", "blockerKind", "evidenceRefs"), since="0.21"
        ),
        *computer.STEERED,
        Steer("cron_create", SCHEDULE, ("cron", "prompt", "recurring", "durable", "sessionMode"), since="0.24"),
        Steer("cron_delete", SCHEDULE, ("id",), since="0.24"),
        Steer("cron_list", SCHEDULE, since="0.24"),
        Steer("loop_wakeup", SCHEDULE, ("delaySeconds", "prompt", "reason"), since="0.24"),
        Steer("enter_worktree", WORK, ("name",), since="0.24"),
        Steer("exit_worktree", WORK, ("name", "action", "discard_changes"), since="0.24"),
        Steer("exit_plan_mode", "a mode of the client", ("plan",), until="0.12", approves=PlanApproval("plan")),
        Steer(
            "record_artifact",
            "a product in the client's display",
            (
                "title",
                "kind",
                "storage",
                "description",
                "workspacePath",
                "managedId",
                "url",
                "mimeType",
                "sizeBytes",
                "metadata",
            ),
            since="0.24",
        ),
        Steer("report_findings", "a report in the client's display", ("level", "findings"), since="0.24"),
        # In the client's own list of its tools (0.24.4); no captured request has offered them.
        Steer("enter_plan_mode", "a mode of the client", ("userRequested",)),
        Steer("structured_output", "the answer, in whatever shape the one who asked wants it"),
        Steer("team_create", "teams are an experiment of the client", ("team_name", "description")),
        Steer("team_delete", "teams are an experiment of the client"),
        Steer("team_plan_approval", "teams are an experiment of the client", ("request_id", "action", "message")),
        Steer(
            "workflow",
            "a script of the client's own kind",
            ("script", "scriptPath", "args", "resumeFromRunId", "run_in_background"),
        ),
        Steer("artifact", "a page in the client's display", ("file_path", "title")),
        Steer("display_image", "a picture in the client's display", ("file_path",)),
        Steer(
            "lsp",
            "what language servers know has no shared form",
            (
                *("operation", "filePath", "line", "character", "endLine", "endCharacter", "includeDeclaration"),
                *("query", "callHierarchyItem", "serverName", "limit", "diagnostics", "codeActionKinds"),
            ),
        ),
    ),
    mcp=(McpNames("mcp__{server}__{tool}"), McpNames("{tool}")),
    failures=FAILURES,
    captured=("0.1.3", "0.7.1", "0.12.0", "0.15.10", "0.24.4"),
    unspoken={
        op.ReadNotebook: "a notebook is read with read_file",
        op.ReadOutput: "the output of a background command is a file",
        op.SearchWeb: "the client offers it only where a search engine is set up",
        op.WaitForAgent: "an agent reports by itself when it is done",
        op.StopAgent: "an agent is stopped like a background command",
        op.ResumeAgent: "an agent continues when it gets a message",
    },
)
