"""Hooks of coding agents: one policy on operations, answered in each client's own form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .answering import Handled as Handled, answer_here as answer_here, handle as handle, own_rules as own_rules
    from .client import Answer as Answer, Asked as Asked, Decision as Decision, HookClient as HookClient
    from .clients import CLIENTS as CLIENTS, client_named as client_named, client_of as client_of
    from .deciding import Rules as Rules, decide as decide, rules_of as rules_of
    from .explaining import Explained as Explained, explained as explained
    from .installing import (
        ADVICE as ADVICE,
        TARGETS as TARGETS,
        Change as Change,
        apply as apply,
        changes_to_install as changes_to_install,
        changes_to_uninstall as changes_to_uninstall,
        is_installed as is_installed,
        lines_in as lines_in,
        switched_off as switched_off,
        tried as tried,
    )
    from .learning import RISKS as RISKS, as_toml as as_toml, learned as learned
    from .recording import record as record
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "answering": ("Handled", "answer_here", "handle", "own_rules"),
            "client": ("Answer", "Asked", "Decision", "HookClient"),
            "clients": ("CLIENTS", "client_named", "client_of"),
            "installing": (
                "ADVICE",
                "TARGETS",
                "Change",
                "apply",
                "changes_to_install",
                "is_installed",
                "lines_in",
                "switched_off",
                "tried",
                "changes_to_uninstall",
            ),
            "explaining": ("Explained", "explained"),
            "deciding": ("Rules", "decide", "rules_of"),
            "recording": ("record",),
            "learning": ("RISKS", "as_toml", "learned"),
        },
    )
