"""Sessions taken out of one client's log, to be continued elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .agents import SubAgent as SubAgent, sub_agents as sub_agents
    from .conversation import (
        FROM_CLIENT as FROM_CLIENT,
        SessionHistory as SessionHistory,
        history_of as history_of,
        one_session as one_session,
    )
    from .porting import (
        IN_SUMMARY as IN_SUMMARY,
        Ported as Ported,
        last_model as last_model,
        port as port,
        ported as ported,
        targets as targets,
    )
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "agents": ("SubAgent", "sub_agents"),
            "conversation": ("FROM_CLIENT", "SessionHistory", "history_of", "one_session"),
            "porting": ("IN_SUMMARY", "Ported", "last_model", "port", "ported", "targets"),
        },
    )
