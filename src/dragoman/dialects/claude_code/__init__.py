"""Claude Code's vocabulary (1.0.59 … 2.1.325): one class per native tool, in the words its models know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialects.base.dialect import Dialect, PlanApproval, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.dialects.base.web_action import UnofferedWebAction
from dragoman.model import operations as op

from . import agents, commands, extensions, files, people, plans, search, web
from .failures import ClaudeFailures
from .results import UnspelledResults

PLAN_MODE = "a mode of the client"
WORKTREE = "where the client works"
SCHEDULE = "the client's own clock"
TEAM = "teams are an experiment of the client"
DELIVERED = "how the user is reached is the client's to know"
HOSTED = "it is kept by the provider, for its own pages"
WELCOME = "how the client introduces itself"


def unparsed(arguments: Mapping[str, Any]) -> str | None:
    """The text of arguments that were no JSON, which the client logs in an object (2.1.325)."""
    wrapped = arguments.get("__unparsedToolInput")
    if wrapped is None:
        return None
    raw = wrapped.get("raw") if isinstance(wrapped, dict) else wrapped
    return raw if isinstance(raw, str) else str(wrapped)


DIALECT = Dialect(
    "claude_code",
    (
        agents.Agent,
        agents.AgentInTeam,
        agents.Task,
        agents.TaskOfType,
        commands.TaskOutput,
        commands.Bash,
        commands.PowerShell,
        commands.BashOutput,
        commands.TaskStop,
        commands.KillShell,
        commands.KillBash,
        search.Glob,
        search.Grep,
        files.LS,
        files.Read,
        files.Edit,
        files.MultiEdit,
        files.Write,
        files.NotebookRead,
        files.NotebookEdit,
        web.WebFetch,
        web.WebSearch,
        UnofferedWebAction,
        plans.TodoWrite,
        plans.TodoWriteMixed,
        plans.TaskCreate,
        plans.TaskUpdate,
        plans.TaskList,
        plans.TaskGet,
        plans.TodoRead,
        agents.SendMessage,
        agents.SendTeamMessage,
        agents.SendTeamSignal,
        agents.SubagentHandback,
        agents.ListAgents,
        people.AskUserQuestion,
        extensions.Skill,
        extensions.SkillByCommand,
        extensions.SlashCommand,
        extensions.ToolSearch,
        commands.Monitor,
        commands.Workflow,
        extensions.ListMcpResourcesTool,
        extensions.ReadMcpResourceTool,
        extensions.ReadMcpResourceDirTool,
    ),
    steering=(
        Steer("EnterPlanMode", PLAN_MODE, since="2.0.76"),
        Steer(
            "ExitPlanMode",
            PLAN_MODE,
            ("plan", "planFilePath", "allowedPrompts"),
            formerly=("exit_plan_mode",),
            approves=PlanApproval("plan"),
        ),
        Steer("EnterWorktree", WORKTREE, ("name", "path"), since="2.1.54"),
        Steer("ExitWorktree", WORKTREE, ("action", "discard_changes"), since="2.1.123"),
        Steer("CronCreate", SCHEDULE, ("cron", "prompt", "recurring", "durable"), since="2.1.123"),
        Steer("CronDelete", SCHEDULE, ("id",), since="2.1.123"),
        Steer("CronList", SCHEDULE, since="2.1.123"),
        Steer("ScheduleWakeup", SCHEDULE, ("delaySeconds", "reason", "prompt", "stop", "noop"), since="2.1.123"),
        Steer("ReportFindings", "a list in the client's display", ("level", "findings"), since="2.1.197"),
        Steer("StructuredOutput", "the answer, in whatever shape the one who asked wants it"),
        Steer("DeferredToolPlaceholder", "stands for tools that were held back", since="2.1.325"),
        Steer(
            "LSP",
            "what language servers know has no shared form",
            ("operation", "filePath", "line", "character"),
            since="2.0.76",
            until="2.0.76",
        ),
        Steer(
            "Workflow",
            "a script kept under a name or in a file is the client's to find",
            ("name", "scriptPath", "args", "description", "title", "resumeFromRunId"),
            since="2.1.197",
            fallback=True,
        ),
        Steer("TeamCreate", TEAM, ("team_name", "description", "agent_type")),
        Steer("TeamDelete", TEAM),
        # In the client's own list of its tools, and in sessions (2.1.34); no captured request has offered them.
        Steer(
            "SendMessage",
            "an answer to the team's own question has nobody it goes to",
            ("type", "request_id", "approve", "content"),
            fallback=True,
            when={"type": "shutdown_response"},
        ),
        Steer("SendUserMessage", DELIVERED, ("message", "attachments", "status"), formerly=("Brief",)),
        Steer("SendUserFile", DELIVERED, ("files", "caption", "status", "display")),
        Steer("PushNotification", DELIVERED, ("message", "status")),
        Steer("ReadNotifications", DELIVERED),
        Steer("RemoteTrigger", SCHEDULE, ("action", "trigger_id", "session_id", "cursor", "body")),
        Steer("ProposeGoal", "what the client holds a run to", ("condition", "ask_user")),
        Steer("propose_skills", "skills the client may keep", ("proposals",)),
        Steer(
            "Artifact",
            HOSTED,
            (
                *("action", "file_path", "file_paths", "files", "url", "title", "description", "label", "favicon"),
                *("icon", "prompt", "force", "pin", "scope", "limit", "page_token", "out_dir", "asset_id", "after"),
                *("capabilities", "contract"),
            ),
        ),
        Steer("Projects", HOSTED, ("method", "path", "content", "local_path", "present_to_user", "query", "n")),
        Steer("ClaudeDesign", HOSTED, ("operation", "arguments")),
        Steer(
            "SendFeedback",
            "a report to those who make the client",
            ("type", "title", "details", "area", "failure_mode", "task_category"),
        ),
        Steer("ShareOnboardingGuide", WELCOME, ("mode", "short_code")),
        Steer("ShowOnboardingRolePicker", WELCOME),
        Steer("OfferChromeSetup", WELCOME, ("reason",)),
        Steer("WaitForMcpServers", "which servers are ready is the client's to know"),
        Steer("EndConversation", "the client closes the session"),
    ),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    failures=ClaudeFailures(),
    unspelled=UnspelledResults(),
    unparsed=unparsed,
    provider_dialect="anthropic",
    captured=("1.0.59", "1.0.88", "2.0.76", "2.1.54", "2.1.123", "2.1.197", "2.1.252", "2.1.325"),
    unspoken={
        op.ReadNotebook: "a notebook is read with Read",
        op.ReadOutput: "the output of a background task is a file that is read",
        op.WaitForAgent: "an agent reports by itself when it is done",
        op.StopAgent: "an agent is stopped like a task",
        op.ResumeAgent: "an agent continues when it gets a message",
        op.SignalParent: "an agent says it in its answer",
    },
)
