"""The recorded path: sessions of coding agents read back as the events a live run emits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door
from dragoman.registry import FORMATS as FORMATS

if TYPE_CHECKING:
    from .base.format import (
        LinesReader as LinesReader,
        LogFormat as LogFormat,
        LogReader as LogReader,
        Places as Places,
        Sample as Sample,
    )
    from .base.normalise import Normaliser as Normaliser, Place as Place, moment as moment
    from .base.raw_bytes import Originals as Originals
    from .base.reading import read as read, recognise as recognise
    from .export import Chosen as Chosen, write_as as write_as
    from .formats.dragoman import Recorder as Recorder, read_events as read_events
    from .handover import packed as packed
    from .history.analyse import analyse_session as analyse_session
    from .history.discover import Found as Found
    from .history.filter import Filter as Filter
    from .history.index import Index as Index
    from .history.query import Query as Query
    from .history.rows import SessionRow as SessionRow
    from .history.sessions import key_of as key_of, numbered as numbered, sessions_of as sessions_of
    from .history.sql import SqlLimits as SqlLimits
    from .history.stats import statistics as statistics
    from .laws import check_format as check_format
    from .redaction.redact import Redactor as Redactor
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "base.format": ("LinesReader", "LogFormat", "LogReader", "Places", "Sample"),
            "base.normalise": ("Normaliser", "Place", "moment"),
            "base.raw_bytes": ("Originals",),
            "base.reading": ("read", "recognise"),
            "export": ("Chosen", "write_as"),
            "formats.dragoman": ("Recorder", "read_events"),
            "handover": ("packed",),
            "history.analyse": ("analyse_session",),
            "history.discover": ("Found",),
            "history.filter": ("Filter",),
            "history.index": ("Index",),
            "history.query": ("Query",),
            "history.sessions": ("key_of", "numbered", "sessions_of"),
            "history.sql": ("SqlLimits",),
            "history.stats": ("statistics",),
            "history.rows": ("SessionRow",),
            "laws": ("check_format",),
            "redaction.redact": ("Redactor",),
        },
    )
    __all__ += ["FORMATS"]
