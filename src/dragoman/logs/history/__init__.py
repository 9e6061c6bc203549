"""What is asked of many sessions: index, query, statistics, search and drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .analyse import Analysis as Analysis, ContextUse as ContextUse, said_of_spot as said_of_spot
    from .discover import (
        all_logs as all_logs,
        find_logs as find_logs,
        homes as homes,
        read_log as read_log,
    )
    from .drift import Drift as Drift, check_drift as check_drift
    from .filter import chosen_events as chosen_events, moment_asked as moment_asked
    from .index import Counts as Counts
    from .listing import Listing as Listing
    from .looks import described as described
    from .prints import without_prints as without_prints
    from .query import logs_named as logs_named
    from .rows import tables_page as tables_page
    from .search import Match as Match, Pattern as Pattern, grep as grep, grep_records as grep_records
    from .shapes import Shapes as Shapes, extract_shapes as extract_shapes
    from .sql import Asked as Asked
    from .stats import Calls as Calls, Group as Group, Tokens as Tokens
    from .tables import failure_of as failure_of
    from .toolset import history_toolset as history_toolset
    from .watch import Watch as Watch
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "analyse": ("Analysis", "ContextUse", "said_of_spot"),
            "discover": ("all_logs", "find_logs", "homes", "read_log"),
            "drift": ("Drift", "check_drift"),
            "filter": ("chosen_events", "moment_asked"),
            "index": ("Counts",),
            "listing": ("Listing",),
            "looks": ("described",),
            "prints": ("without_prints",),
            "query": ("logs_named",),
            "search": ("Match", "Pattern", "grep", "grep_records"),
            "shapes": ("Shapes", "extract_shapes"),
            "sql": ("Asked",),
            "stats": ("Calls", "Group", "Tokens"),
            "rows": ("tables_page",),
            "tables": ("failure_of",),
            "toolset": ("history_toolset",),
            "watch": ("Watch",),
        },
    )
