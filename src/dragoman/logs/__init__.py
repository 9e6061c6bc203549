"""The recorded path: sessions of coding agents read back as the events a live run emits."""

from __future__ import annotations

from dragoman.registry import FORMATS as FORMATS

from .discover import Found as Found, all_logs as all_logs, find_logs as find_logs, homes as homes
from .dragoman import Recorder as Recorder, read_events as read_events
from .format import LogFormat as LogFormat, Places as Places, Sample as Sample
from .reading import read as read, recognise as recognise
from .sessions import numbered as numbered, sessions_of as sessions_of
