"""What a server of ours logs of requests: not those that are no HTTP, which any program can send to an open port."""

from __future__ import annotations

import logging


def quiet(name: str) -> logging.Logger:
    """A logger for a server of aiohttp, which would write a traceback for every malformed request."""
    logger = logging.getLogger(f"{name}.http")
    logger.addFilter(_is_our_fault)
    return logger


def _is_our_fault(record: logging.LogRecord) -> bool:
    from aiohttp.http_exceptions import HttpProcessingError

    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)
