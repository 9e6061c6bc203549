"""Codex's vocabulary (0.20 … 0.166): one class per native tool, in the words its models know.

Three kinds of models are offered three sets of tools. Those of the catalogue (`gpt-5.5`) patch files
with a freeform tool; those it does not know do so through the shell; those of *code mode* have one
tool, `exec`, whose JavaScript programs call all others.
"""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from . import agents, commands, files, outside, people, programs
from .extensions import READ as EXTENSIONS, STEERED
from .families import CLASSIC, CODE_MODE, COLLABORATING, FIRST_CATALOGUE, MINI, variant
from .printed import READ as PRINTED
from .results import FAILURES, ServerResults

GOALS = "how long a session goes on is the client's to decide"

DIALECT = Dialect(
    "codex",
    (
        commands.ExecCommand,
        commands.WriteStdin,
        commands.ShellCommand,
        variant(
            commands.Shell,
            since="0.77.0",
            until="0.77.0",
            families=(f"!{MINI}", *(f"!{family}" for family in FIRST_CATALOGUE)),
        ),
        commands.Shell,
        commands.LocalShell,
        outside.ListMcpResources,
        outside.ListMcpResourceTemplates,
        outside.ReadMcpResource,
        people.UpdatePlan,
        people.RequestUserInput,
        files.ApplyPatch,
        files.FirstApplyPatch,
        variant(files.FirstApplyPatch, until="0.118.0", families=("gpt-5-codex*", "gpt-5.1-codex*")),
        files.ViewImage,
        files.PlainViewImage,
        *agents.MULTI_AGENT,
        *(
            variant(one, namespace=None, since="0.118.0", until="0.118.0", families=CLASSIC)
            for one in agents.MULTI_AGENT
        ),
        agents.SendInputById,
        agents.CloseAgentById,
        programs.Exec,
        variant(programs.Exec, namespace=None, families=("gpt-5.5*",), on_request="offered by the feature code_mode"),
        programs.Wait,
        variant(programs.Wait, namespace=None, families=("gpt-5.5*",), on_request="offered by the feature code_mode"),
        agents.WaitByIds,
        variant(people.RequestUserInput, namespace="functions", since="0.166.0", families=CODE_MODE),
        people.RequestUserInputAsync,
        *(variant(one, families=COLLABORATING) for one in agents.COLLABORATION),
        *(
            variant(one, families=("gpt-5.5*",), on_request="offered by the feature multi_agent_v2")
            for one in agents.COLLABORATION
        ),
        outside.ToolSearch,
        outside.WebSearch,
        files.ReadFile,
        files.ListDir,
        files.GrepFiles,
        commands.ContainerExec,
        *EXTENSIONS,
        *PRINTED,
    ),
    captured=("0.20.0", "0.44.0", "0.77.0", "0.101.0", "0.118.0", "0.133.0", "0.151.0", "0.166.0"),
    unspoken={
        op.Reading: "files are read through the shell",
        op.Searching: "files are searched through the shell",
        op.SearchDocuments: "there is no document store",
        op.InsertText: "a patch finds a place by the lines around it, not by its number",
        op.EditNotebook: "a notebook is patched as text",
        op.ListCommands: "no tool lists the sessions",
        op.WatchCommand: "a session is read when it is asked for",
        op.UpdatePlan: "no longer offered after 0.151",
        op.ResumeAgent: "agents of the catalogue's models stay open",
        op.SignalParent: "an agent answers with its last message",
        op.SaveMemory: "the client keeps memories itself",
        op.RecallMemory: "the client keeps memories itself",
    },
    steering=(
        Steer("get_goal", GOALS, since="0.133.0"),
        Steer("create_goal", GOALS, ("objective", "token_budget"), since="0.133.0"),
        Steer("update_goal", GOALS, ("status",), since="0.133.0"),
        Steer("curr_time", "the client's clock", namespace="clock", since="0.166.0"),
        Steer("sleep", "the client's clock", ("duration_ms",), namespace="clock", since="0.166.0"),
        Steer(
            "send_message_to_user_async",
            "how the user is told is the client's to decide",
            ("message",),
            since="0.166.0",
        ),
        Steer(
            "request_permissions",
            "what is allowed is the client's to decide",
            ("permissions", "reason", "environment_id"),
            since="0.166.0",
        ),
        *STEERED,
    ),
    mcp=(
        McpNames("{tool}", "mcp__{server}"),
        McpNames("mcp__{server}__{tool}"),
        McpNames("{server}__{tool}", marked=True),
    ),
    failures=FAILURES,
    unspelled=ServerResults(),
    default_family="gpt-5.5",
    provider_dialect="openai",
)
