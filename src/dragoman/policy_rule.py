"""One rule on tool calls, as settings files, agent files and programs write it.

It is here, below both, so that the engine takes it without loading any settings.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Verdict = Literal["deny", "ask", "allow"]


class PolicyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, repr_omit_defaults=True):
    """One rule: the verdict on the calls that fit all of its conditions. A condition on text is a glob.

    A rule that denies or asks fits when anything in a call does: one of its paths, one command of its line, one file or
    address that its line may reach. A rule that allows fits when everything does. It never covers a call that leaves
    the sandbox unless it says `unsandboxed`. See
    `engine/rules.py` for the order in which rules decide.
    """

    verdict: Verdict
    kind: str | None = None
    """read, write, execute, search, fetch, plan, ask, agent or other."""
    operation: str | None = None
    """`run_command`, `edit_file`, …, whatever a model calls it."""
    tool: str | None = None
    path: str | None = None
    """A file the call names, as its path in the workspace or on the machine, links resolved."""
    outside: bool | None = None
    """Whether a file of the call is outside the folder that the model works in."""
    command: str | None = None
    domain: str | None = None
    """The host of an address the call names."""
    server: str | None = None
    """An MCP server."""
    agent: str | None = None
    """The agent that makes the call."""
    shell: str | None = None
    cwd: str | None = None
    login: bool | None = None
    background: bool | None = None
    terminal: bool | None = None
    unsandboxed: bool | None = None
    arguments: dict[str, str | bool | int | float] = {}
    """Any other field of an operation, or argument of a function or a server's tool, by its name."""
    source: str | None = None
    """Whose rule it is: the rules of one source are tried in order, and of several sources the strictest counts. No
    settings file can say it."""
