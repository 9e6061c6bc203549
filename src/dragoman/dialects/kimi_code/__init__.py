"""Kimi Code's vocabulary (2.1.0): one class per native tool, in the words its models know.

The log's texts are those of the tools themselves; what the client adds for the model (the wall time, tags around an
error) is not in it.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.conversions import EMPTY_IS_UNSAID, LINE_COUNT, WHOLE_SECONDS, Conversion
from dragoman.dialects.base.default_words import FailuresInWords, text_of, unnumbered
from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.match_lines import MatchLine, as_ripgrep, by_mode, matches_in, read_by_mode
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.sentences import numbered as number_lines
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import (
    CALLED,
    PATH,
    by_hand,
    done,
    ended_badly,
    lines,
    one_of,
    one_stream,
    picture,
    single,
    skipped,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult

from . import agents, commands, files


class KimiFailures(FailuresInWords):
    """Failures by their words; a command that ended badly is flagged as an error and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that a command tells its own end."""
        ran = any(isinstance(operation, op.RunCommand) for operation in call.operations)
        if ran and commands.FAILED.fullmatch(text_of(native.content)) is not None:
            return None
        return super().understand(call, native)


FAILURES = KimiFailures(
    (
        (r'Tool ".*" not found', "unknown_tool"),
        (r'Invalid args for tool "', "invalid_arguments"),
        (r"(?:Permission denied|The user (?:rejected|denied))|.* is disabled while .* permission mode", "denied"),
        (r"(?s:.*)(?:\A|\n)Session closed$", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": 'Tool "{tool}" not found. {message}',
        "invalid_arguments": 'Invalid args for tool "{tool}": {message}',
        "denied": "Permission denied: {message}",
        "cancelled": "{message}\nSession closed",
        "timed_out": "The tool timed out: {message}",
    },
)

_GOAL = "the goal of a session is the client's own"
_SCHEDULE = "schedules are the client's own"

DIALECT = Dialect(
    "kimi_code",
    (
        agents.Agent,
        agents.AgentSwarm,
        agents.AskUserQuestion,
        commands.Bash,
        files.Edit,
        agents.FetchURL,
        files.Glob,
        files.Grep,
        files.Read,
        files.ReadEnd,
        files.ReadMediaFile,
        agents.Skill,
        commands.TaskList,
        commands.TaskOutput,
        commands.TaskStop,
        agents.TodoList,
        agents.WaitFor,
        files.Write,
        files.Append,
    ),
    steering=(
        Steer("CreateGoal", _GOAL, ("objective", "completionCriterion", "replace")),
        Steer("GetGoal", _GOAL),
        Steer("SetGoalBudget", _GOAL, ("value", "unit")),
        Steer("UpdateGoal", _GOAL, ("status",)),
        Steer("CronCreate", _SCHEDULE, ("cron", "prompt", "recurring")),
        Steer("CronDelete", _SCHEDULE, ("id",)),
        Steer("CronList", _SCHEDULE),
        Steer("EnterPlanMode", "a mode of the client"),
        Steer("ExitPlanMode", "a mode of the client", ("options",)),
    ),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    failures=FAILURES,
    captured=("2.1.0",),
    default_family="kimi-k3",
    unspoken={
        op.SearchTools: "all tools are offered up front",
        op.SearchWeb: "the client has no tool to search the web",
        op.MessageAgent: "an agent that ended is given another task",
        op.ResumeAgent: "an agent that ended is given another task",
        op.StopAgent: "an agent in the background is stopped as a task",
        op.ListAgents: "agents are listed with the background tasks",
    },
)
