"""What every operation knows about itself, and the groups operations belong to.

Rule: a fact about an operation is a class variable of it. Tables of operations are made from the classes.
"""

from __future__ import annotations

import enum
from typing import ClassVar

import msgspec

from .base import Tagged

WITH_SHELL = "it is done with a shell command"
"""Why many vocabularies have no tool for something."""


class Kind(enum.StrEnum):
    """What an operation does to the world: approvals, policies and statistics group by it."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    SEARCH = "search"
    FETCH = "fetch"
    PLAN = "plan"
    ASK = "ask"
    AGENT = "agent"
    OTHER = "other"


class Effects(msgspec.Struct, frozen=True):
    """The fields of one operation by what they do.

    `subject` is what it is about: shown always; an "always" holds whatever it is. `setting` changes how it is done:
    shown when it is not the default; an "always" holds for the same value only. `limit` bounds how long it takes or
    how much it gives back: shown when it is not the default, open under an "always". `comment` has no effect: shown as
    the model's own words, matched by no rule.

    `path`, `url` and `command` say which of them name files to be read or changed, addresses and command lines.
    """

    subject: tuple[str, ...] = ()
    setting: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    comment: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    url: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, subject: str = "", *, limit: str = "", comment: str = "", path: str = "", url: str = "", command: str = ""
    ) -> Effects:
        """The groups, each as names with spaces between them. All other fields are settings."""
        groups = {"limit": limit, "comment": comment, "path": path, "url": url, "command": command}
        return cls(tuple(subject.split()), **{name: tuple(text.split()) for name, text in groups.items()})


class Operation(Tagged, frozen=True, gc=False):
    """The root of all operations. The docstring of an operation describes it to models and to people."""

    kind: ClassVar[Kind] = Kind.OTHER
    """What it does to the world. By default approvals ask for every kind that changes or reaches something."""
    acp_kind: ClassVar[str] = "other"
    """The Agent Client Protocol's word for the kind."""
    effects: ClassVar[Effects] = Effects()
    """What each field does to the effect: what a question shows and rules match."""
    in_short: ClassVar[str] = ""
    """The operation on one line, for people: `move {path} to {to}`."""
    tool_module: ClassVar[str] = ""
    """The module below `dragoman` that defines its standard tool, under the operation's tag; "" if there is none."""
    unspoken: ClassVar[str] = "there is no native tool for it"
    """Why a vocabulary has no tool for it, where the vocabulary gives no other reason."""


class Reading(Operation, frozen=True):
    """Operations that look at files and change nothing."""

    kind = Kind.READ
    acp_kind = "read"


class Writing(Operation, frozen=True):
    """Operations that change files."""

    kind = Kind.WRITE
    acp_kind = "edit"


class Executing(Operation, frozen=True):
    """Operations that run programs or act on running ones."""

    kind = Kind.EXECUTE
    acp_kind = "execute"


class Searching(Operation, frozen=True):
    """Operations that look for something and change nothing."""

    kind = Kind.SEARCH
    acp_kind = "search"


class Fetching(Operation, frozen=True):
    """Operations that reach out to the network."""

    kind = Kind.FETCH
    acp_kind = "fetch"


class Planning(Operation, frozen=True):
    """Operations on the model's own list of things to do."""

    kind = Kind.PLAN
    acp_kind = "think"
    tool_module = "tools.plan"


class Delegating(Operation, frozen=True):
    """Operations on other agents."""

    kind = Kind.AGENT
