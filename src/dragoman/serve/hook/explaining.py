"""What would be decided about a command line, and what the line may reach."""

from __future__ import annotations

import os

import msgspec

from dragoman.engine.shell_reach import reach_of
from dragoman.model import operations as op
from dragoman.model.calls import NativeCall

from .answering import here, own_rules
from .client import Asked, Decision
from .clients import client_named
from .deciding import decide_on
from .recording import shown


class Explained(msgspec.Struct, frozen=True):
    """A decision on a command line. In a target `…` is what cannot be known."""

    decision: Decision
    effects: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


def explained(line: str, client: str, cwd: str) -> Explained:
    """What is decided about a line that a client would run in a folder."""
    speaks = client_named(client)
    projects = here().projects
    asked = Asked(client=client, event="", stage="before", calls=(NativeCall("", "", {}),), cwd=cwd, projects=projects)
    decision = decide_on((op.RunCommand(line),), asked.calls[0], asked, speaks, own_rules().policy)
    reach = reach_of(line, cwd, os.path.expanduser("~"))
    effects = dict.fromkeys((one.verb, shown(one.target) + ("/…" if one.tree else "")) for one in reach.effects)
    return Explained(decision, tuple(effects), reach.unknown)
