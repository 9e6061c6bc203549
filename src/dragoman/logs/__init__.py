"""The recorded path: sessions of coding agents read back as the events a live run emits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.registry import FORMATS as FORMATS

if TYPE_CHECKING:
    from .analyse import (
        Analysis as Analysis,
        Chain as Chain,
        ContextUse as ContextUse,
        Finding as Finding,
        Spot as Spot,
        analyse_session as analyse_session,
        said_of_spot as said_of_spot,
    )
    from .discover import (
        Found as Found,
        all_logs as all_logs,
        find_logs as find_logs,
        homes as homes,
        read_log as read_log,
    )
    from .dragoman import Recorder as Recorder, read_events as read_events
    from .drift import (
        Drift as Drift,
        Report as Report,
        Shapes as Shapes,
        check_drift as check_drift,
        extract_shapes as extract_shapes,
    )
    from .export import (
        STRATEGIES as STRATEGIES,
        TARGETS as TARGETS,
        Chosen as Chosen,
        Strategy as Strategy,
        event_line as event_line,
        write_as as write_as,
        written as written,
    )
    from .filter import Filter as Filter, chosen_events as chosen_events, moment_asked as moment_asked
    from .format import (
        LinesReader as LinesReader,
        LogFormat as LogFormat,
        LogReader as LogReader,
        Places as Places,
        Sample as Sample,
    )
    from .index import Counts as Counts, FileRow as FileRow, Index as Index
    from .laws import check_format as check_format
    from .line_file import LineFile as LineFile
    from .masking import MaskedStream as MaskedStream, Masker as Masker
    from .normalise import Normaliser as Normaliser, Place as Place, moment as moment
    from .original import Cell as Cell, Original as Original, Originals as Originals
    from .pack import TEMPLATES as TEMPLATES, packed as packed
    from .projects import Project as Project, repository_of as repository_of
    from .query import Query as Query, logs_named as logs_named
    from .reading import confidences as confidences, read as read, recognise as recognise
    from .redact import SECRET_WORDS as SECRET_WORDS, Redactor as Redactor, texts_changed as texts_changed
    from .search import Match as Match, Pattern as Pattern, grep as grep, grep_records as grep_records
    from .sessions import key_of as key_of, numbered as numbered, sessions_of as sessions_of
    from .sql import Asked as Asked, Result as Result, SqlLimits as SqlLimits, distinct as distinct
    from .stats import (
        BY as BY,
        Calls as Calls,
        Group as Group,
        Stats as Stats,
        Tokens as Tokens,
        statistics as statistics,
    )
    from .tables import (
        LONGEST as LONGEST,
        TABLES as TABLES,
        CallRow as CallRow,
        OperationRow as OperationRow,
        OutcomeRow as OutcomeRow,
        SessionRow as SessionRow,
        StepRow as StepRow,
        TurnRow as TurnRow,
        UsageRow as UsageRow,
        columns_of as columns_of,
        failure_of as failure_of,
        tables_page as tables_page,
    )
    from .toolset import history_toolset as history_toolset
    from .watch import Watch as Watch

_HOME = {
    "analyse": ("Analysis", "Chain", "ContextUse", "Finding", "Spot", "analyse_session", "said_of_spot"),
    "discover": ("Found", "all_logs", "find_logs", "homes", "read_log"),
    "dragoman": ("Recorder", "read_events"),
    "line_file": ("LineFile",),
    "drift": ("Drift", "Report", "Shapes", "check_drift", "extract_shapes"),
    "export": ("Chosen", "STRATEGIES", "Strategy", "TARGETS", "event_line", "write_as", "written"),
    "filter": ("Filter", "chosen_events", "moment_asked"),
    "format": ("LinesReader", "LogFormat", "LogReader", "Places", "Sample"),
    "index": ("Counts", "FileRow", "Index"),
    "laws": ("check_format",),
    "masking": ("MaskedStream", "Masker"),
    "normalise": ("Normaliser", "Place", "moment"),
    "original": ("Cell", "Original", "Originals"),
    "pack": ("TEMPLATES", "packed"),
    "projects": ("Project", "repository_of"),
    "query": ("Query", "logs_named"),
    "reading": ("confidences", "read", "recognise"),
    "redact": ("SECRET_WORDS", "Redactor", "texts_changed"),
    "search": ("Match", "Pattern", "grep", "grep_records"),
    "sessions": ("key_of", "numbered", "sessions_of"),
    "sql": ("Asked", "Result", "SqlLimits", "distinct"),
    "stats": ("BY", "Calls", "Group", "Stats", "Tokens", "statistics"),
    "tables": (
        "CallRow",
        "LONGEST",
        "OperationRow",
        "OutcomeRow",
        "SessionRow",
        "StepRow",
        "TABLES",
        "TurnRow",
        "UsageRow",
        "columns_of",
        "failure_of",
        "tables_page",
    ),
    "toolset": ("history_toolset",),
    "watch": ("Watch",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_MODULE_OF, "FORMATS"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
