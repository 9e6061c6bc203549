"""Hooks of coding agents: one policy on operations, answered in each client's own form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .answering import answer_here as answer_here, handle as handle, own_rules as own_rules
    from .client import (
        Answer as Answer,
        Asked as Asked,
        Decision as Decision,
        Handled as Handled,
        HookClient as HookClient,
    )
    from .clients import CLIENTS as CLIENTS, client_named as client_named, client_of as client_of
    from .deciding import Rules as Rules, decide as decide, rules_of as rules_of
    from .explaining import explained as explained
    from .installing import (
        ADVICE as ADVICE,
        Change as Change,
        apply as apply,
        changes_to_install as changes_to_install,
        changes_to_uninstall as changes_to_uninstall,
        installed as installed,
        lines_in as lines_in,
        targets_of as targets_of,
        tried as tried,
    )
    from .learning import RISKS as RISKS, as_toml as as_toml, learned as learned
    from .recording import record as record
    from .serving import Serving as Serving
    from .skipped_lines import obstacles as obstacles
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "answering": ("answer_here", "handle", "own_rules"),
            "client": ("Answer", "Asked", "Decision", "Handled", "HookClient"),
            "clients": ("CLIENTS", "client_named", "client_of"),
            "installing": (
                "ADVICE",
                "Change",
                "apply",
                "changes_to_install",
                "installed",
                "lines_in",
                "targets_of",
                "tried",
                "changes_to_uninstall",
            ),
            "explaining": ("explained",),
            "deciding": ("Rules", "decide", "rules_of"),
            "skipped_lines": ("obstacles",),
            "recording": ("record",),
            "serving": ("Serving",),
            "learning": ("RISKS", "as_toml", "learned"),
        },
    )
