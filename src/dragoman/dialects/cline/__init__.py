"""Cline's vocabulary (3.0.65): batch tools (one call, several operations), one editor, and a team of agents."""

from __future__ import annotations

from dragoman.dialects.base import cline_family as extension
from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from . import batch, patch, team
from .entries import FAILURES, ClineUnspelled

OUTCOMES = "a team's joint report is the client's own"

DIALECT = Dialect(
    "cline",
    (
        batch.ReadFiles,
        batch.SearchCodebase,
        batch.RunCommands,
        batch.FetchWebContent,
        batch.Editor,
        patch.ApplyPatch,
        batch.AskQuestion,
        team.SpawnAgent,
        team.TeamShutdownTeammate,
        team.TeamStatus,
        team.TeamTask,
        team.TeamRunTask,
        team.TeamAwaitRuns,
        team.TeamSendMessage,
        extension.ReadFileBefore,
        extension.WriteToFile,
        extension.ReplaceInFile,
        extension.EditByText,
        extension.ApplyPatch,
        extension.InsertContent,
        extension.ExecuteCommand,
        extension.ReadCommandOutput,
        extension.SearchFiles,
        extension.ListFiles,
        extension.CodebaseSearch,
        extension.AskFollowupQuestion,
        extension.UseMcpTool,
        extension.AccessMcpResource,
        extension.UpdateTodoList,
        extension.WebFetch,
        extension.WebSearch,
        extension.UseSubagents,
        extension.UseSkillBefore,
        extension.GenerateImage,
    ),
    steering=(
        Steer(
            "attempt_completion",
            "it says that the task is done, and waits for the user",
            ("result", "command", "task_progress"),
        ),
        Steer(
            "browser_action",
            "the browser is the client's own",
            ("action", "url", "coordinate", "text", "size", "path", "task_progress"),
        ),
        Steer("list_code_definition_names", "it is an outline the client makes", ("path", "task_progress")),
        Steer("new_task", "it goes on in a task of its own", ("context", "mode", "message", "todos", "task_progress")),
        Steer("switch_mode", "modes are the client's own", ("mode_slug", "reason")),
        Steer("fetch_instructions", "instructions are the client's own", ("task",)),
        Steer(
            "plan_mode_respond",
            "modes are the client's own",
            ("response", "needs_more_exploration", "options", "task_progress"),
        ),
        Steer("act_mode_respond", "modes are the client's own", ("response", "task_progress")),
        Steer("load_mcp_documentation", "instructions are the client's own"),
        Steer("condense", "it shortens the conversation", ("context",)),
        Steer("summarize_task", "it shortens the conversation", ("context",)),
        Steer("search_and_replace", "it may mean an expression in a part of a file", ("path", "search", "replace")),
        Steer("generate_explanation", "notes beside a change, in the editor", ("title", "from_ref", "to_ref")),
        Steer("new_rule", "rules are the client's own", ("path", "content")),
        Steer(
            "report_bug",
            "it fills in a report on the client",
            ("title", "what_happened", "steps_to_reproduce", "api_request_output", "additional_context"),
        ),
        Steer("run_slash_command", "commands are the client's own", ("command", "args")),
        Steer("team_spawn_teammate", "it makes a teammate that has nothing to do yet", ("agentId", "rolePrompt")),
        Steer("team_cancel_run", "it ends one run; the teammate stays", ("runId", "reason")),
        Steer("team_list_runs", "runs are the client's own", ("status", "agentId", "includeCompleted")),
        Steer("team_broadcast", "it is a message to nobody in particular", ("subject", "body", "taskId")),
        Steer("team_read_mailbox", "a mailbox is the client's own", ("unreadOnly",)),
        Steer(
            "team_mission_log",
            "it is a report for those who watch the team",
            ("kind", "summary", "taskId", "evidence", "nextAction"),
        ),
        Steer("team_cleanup", "it ends the team as a whole"),
        Steer("team_create_outcome", OUTCOMES, ("title", "requiredSections")),
        Steer("team_attach_outcome_fragment", OUTCOMES, ("outcomeId", "section", "sourceRunId", "content")),
        Steer("team_review_outcome_fragment", OUTCOMES, ("fragmentId", "approved")),
        Steer("team_finalize_outcome", OUTCOMES, ("outcomeId",)),
        Steer("team_list_outcomes", OUTCOMES),
    ),
    mcp=(McpNames("{server}__{tool}"), McpNames("mcp--{server}--{tool}")),
    default_family="claude-sonnet-4-5",
    failures=FAILURES,
    unspelled=ClineUnspelled(),
    unspoken={
        op.UpdatePlan: "the team's list is kept task by task",
        op.SignalParent: "a teammate writes to the mailbox of the lead",
    },
)
