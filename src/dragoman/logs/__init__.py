"""The recorded path: sessions of coding agents read back as the events a live run emits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.registry import FORMATS as FORMATS

if TYPE_CHECKING:
    from .base.format import (
        LinesReader as LinesReader,
        LogFormat as LogFormat,
        LogReader as LogReader,
        Places as Places,
        Sample as Sample,
    )
    from .base.line_file import LineFile as LineFile
    from .base.normalise import Normaliser as Normaliser, Place as Place, moment as moment
    from .base.raw_bytes import Cell as Cell, Original as Original, Originals as Originals
    from .base.reading import confidences as confidences, read as read, recognise as recognise
    from .export import (
        STRATEGIES as STRATEGIES,
        TARGETS as TARGETS,
        Chosen as Chosen,
        Strategy as Strategy,
        event_line as event_line,
        write_as as write_as,
        written as written,
    )
    from .formats.dragoman import Recorder as Recorder, read_events as read_events
    from .handover import TEMPLATES as TEMPLATES, packed as packed
    from .history.analyse import (
        Analysis as Analysis,
        Chain as Chain,
        ContextUse as ContextUse,
        Finding as Finding,
        Spot as Spot,
        analyse_session as analyse_session,
        said_of_spot as said_of_spot,
    )
    from .history.discover import (
        Found as Found,
        all_logs as all_logs,
        find_logs as find_logs,
        homes as homes,
        read_log as read_log,
    )
    from .history.drift import (
        Drift as Drift,
        Report as Report,
        Shapes as Shapes,
        check_drift as check_drift,
        extract_shapes as extract_shapes,
    )
    from .history.filter import Filter as Filter, chosen_events as chosen_events, moment_asked as moment_asked
    from .history.index import Counts as Counts, FileRow as FileRow, Index as Index
    from .history.projects import Project as Project, repository_of as repository_of
    from .history.query import Query as Query, logs_named as logs_named
    from .history.search import Match as Match, Pattern as Pattern, grep as grep, grep_records as grep_records
    from .history.sessions import key_of as key_of, numbered as numbered, sessions_of as sessions_of
    from .history.sql import Asked as Asked, Result as Result, SqlLimits as SqlLimits, distinct as distinct
    from .history.stats import (
        BY as BY,
        Calls as Calls,
        Group as Group,
        Stats as Stats,
        Tokens as Tokens,
        statistics as statistics,
    )
    from .history.tables import (
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
    from .history.toolset import history_toolset as history_toolset
    from .history.watch import Watch as Watch
    from .laws import check_format as check_format
    from .masking import MaskedStream as MaskedStream, Masker as Masker
    from .redact import SECRET_WORDS as SECRET_WORDS, Redactor as Redactor, texts_changed as texts_changed

_HOME = {
    "history.analyse": ("Analysis", "Chain", "ContextUse", "Finding", "Spot", "analyse_session", "said_of_spot"),
    "history.discover": ("Found", "all_logs", "find_logs", "homes", "read_log"),
    "formats.dragoman": ("Recorder", "read_events"),
    "base.line_file": ("LineFile",),
    "history.drift": ("Drift", "Report", "Shapes", "check_drift", "extract_shapes"),
    "export": ("Chosen", "STRATEGIES", "Strategy", "TARGETS", "event_line", "write_as", "written"),
    "history.filter": ("Filter", "chosen_events", "moment_asked"),
    "base.format": ("LinesReader", "LogFormat", "LogReader", "Places", "Sample"),
    "history.index": ("Counts", "FileRow", "Index"),
    "laws": ("check_format",),
    "masking": ("MaskedStream", "Masker"),
    "base.normalise": ("Normaliser", "Place", "moment"),
    "base.raw_bytes": ("Cell", "Original", "Originals"),
    "handover": ("TEMPLATES", "packed"),
    "history.projects": ("Project", "repository_of"),
    "history.query": ("Query", "logs_named"),
    "base.reading": ("confidences", "read", "recognise"),
    "redact": ("SECRET_WORDS", "Redactor", "texts_changed"),
    "history.search": ("Match", "Pattern", "grep", "grep_records"),
    "history.sessions": ("key_of", "numbered", "sessions_of"),
    "history.sql": ("Asked", "Result", "SqlLimits", "distinct"),
    "history.stats": ("BY", "Calls", "Group", "Stats", "Tokens", "statistics"),
    "history.tables": (
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
    "history.toolset": ("history_toolset",),
    "history.watch": ("Watch",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_MODULE_OF, "FORMATS"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
