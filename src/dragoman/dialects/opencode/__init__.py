"""opencode's vocabulary (1.1.11 … 1.18.33): one class per native tool, in the words its models know."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import FailuresInWords, text_of
from dragoman.dialects.base.dialect import Dialect, PlanApproval, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.dialects.base.spelling import Spelling
from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult

from . import agents, files, outside, shell

# ── failures ─────────────────────────────────────────────────────────────────


class Invalid(Spelling[op.Unrecognised]):
    """A call the client could not make sense of, kept in place of it: the tool that was called, and what was wrong."""

    native_name = "invalid"
    read_only = "the client writes it, never a model"

    tool: str
    error: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        kind = "unknown_tool" if "unavailable tool" in self.error else "invalid_arguments"
        raise ToolError(self.error, kind=kind, details={"tool": self.tool})


class OpencodeFailures(FailuresInWords):
    """Failures by their words; what became of a call that could not be read is no error to the log."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that an interrupted command and an unreadable call look like successes."""
        text = text_of(native.content)
        if call.native.name == Invalid.native_name and call.failure is not None:
            return out.Failure(call.failure.kind, text, call.failure.details)
        if text.endswith("_metadata>") and "aborted the command" in text.rpartition("_metadata>\n")[2]:
            return out.Failure("cancelled", text)
        return super().understand(call, native)

    def kind(self, message: str) -> out.FailureKind:
        """As for all; up to 1.2 the kind of the exception stands before its words, and says nothing."""
        return super().kind(re.sub(r"\AError: ", "", message))


FAILURES = OpencodeFailures(
    (
        (r".*Model tried to call unavailable tool", "unknown_tool"),
        (
            r"The (?:user|\S+ tool) .*invalid arguments|The arguments provided to the tool are invalid",
            "invalid_arguments",
        ),
        (r"The user (?:rejected permission|has specified a rule|dismissed this question)", "denied"),
        (r"Tool execution aborted", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Model tried to call unavailable tool '{tool}'. {message}",
        "invalid_arguments": "The {tool} tool was called with invalid arguments: {message}",
        "denied": "The user rejected permission to use this specific tool call. {message}",
        "cancelled": "Tool execution aborted. {message}",
        "timed_out": "The tool timed out: {message}",
    },
)

DIALECT = Dialect(
    "opencode",
    (
        files.ApplyPatch,
        shell.Bash,
        files.Edit,
        files.EditForAll,
        files.MultiEdit,
        shell.Glob,
        shell.Grep,
        outside.ListMcpResourceTemplates,
        outside.ListMcpResources,
        files.Read,
        files.ReadFromZero,
        files.List,
        outside.ReadMcpResource,
        outside.UseSkill,
        agents.Task,
        agents.TodoWrite,
        agents.TodoRead,
        outside.WebFetch,
        outside.WebSearch,
        files.Write,
        files.WriteForAll,
        outside.AskUser,
        Invalid,
    ),
    steering=(
        Steer("plan_enter", "a mode of the client"),
        Steer("plan_exit", "a mode of the client", approves=PlanApproval()),
    ),
    mcp=(McpNames("{server}_{tool}"),),
    failures=FAILURES,
    default_family="claude-sonnet-4-5",
    captured=("1.1.11", "1.1.53", "1.18.4", "1.18.33"),
    unspoken={
        op.SearchTools: "all tools are offered up front",
        op.MessageAgent: "an agent that ended is given another task",
        op.WaitForAgent: "an agent's answer is always waited for",
        op.ResumeAgent: "an agent that ended is given another task",
    },
)
