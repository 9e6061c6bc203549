"""What a run logs: one record for every step a person debugs, by the loggers of `logging`.

Rules: no record holds what was said, called with or returned, nor a key; it names the model, the tool, the call and how
it went. Records are INFO or DEBUG, so a program that set nothing up prints nothing; while neither is enabled, a run
makes no event for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from dragoman.model import Failure, UnknownOutcome, events as ev

RUN: Final = logging.getLogger("dragoman.engine.run")
MODEL: Final = logging.getLogger("dragoman.engine.model")
TOOLS: Final = logging.getLogger("dragoman.engine.tools")
HTTP: Final = logging.getLogger("dragoman.engine.http")


def log_listener() -> Callable[[ev.AnyEvent], None] | None:
    """What logs the events of a run; `None` if nothing would read it."""
    return log_event if any(one.isEnabledFor(logging.INFO) for one in (RUN, MODEL, TOOLS)) else None


def log_event(event: ev.AnyEvent) -> None:
    """Log one event of a run."""
    match event:
        case ev.SessionStarted():
            RUN.info("run %s began with %s in %s words", event.run, event.model, event.dialect)
        case ev.SessionEnded(reason="completed"):
            RUN.info("run %s ended: completed", event.run)
        case ev.SessionEnded():
            RUN.info("run %s ended: %s (%s)", event.run, event.reason, event.message)
        case ev.Interrupted():
            RUN.info("run %s was interrupted", event.run)
        case ev.ErrorOccurred():
            RUN.info("run %s: error, status %s, code %s", event.run, event.status, event.code)
        case ev.ModelAsked():
            MODEL.debug("run %s step %s: asked %s, %d tools", event.run, event.step, event.model, len(event.offered))
        case ev.ModelFinished():
            MODEL.debug("run %s step %s: the model finished: %s", event.run, event.step, event.finish)
        case ev.TokensUsed(usage=usage):
            MODEL.debug(
                "run %s step %s: %s tokens in, %s out", event.run, event.step, usage.input_tokens, usage.output_tokens
            )
        case ev.ToolCalled():
            _log_call(event)
        case ev.ToolReturned():
            _log_result(event)
        case _:
            pass


def _log_call(event: ev.ToolCalled) -> None:
    decision = event.decision
    level = logging.INFO if decision is not None and decision.verdict == "denied" else logging.DEBUG
    if TOOLS.isEnabledFor(level):
        operations = ", ".join(str(one.__struct_config__.tag) for one in event.call.operations)
        verdict = "called" if decision is None else decision.verdict
        by = "" if decision is None or decision.by is None else f" by {decision.by}"
        name = event.call.native.name
        TOOLS.log(level, "run %s call %s: %s (%s) %s%s", event.run, event.call_id, name, operations, verdict, by)


def _log_result(event: ev.ToolReturned) -> None:
    result = event.result
    failed = [one.kind for one in result.outcomes if isinstance(one, Failure)]
    unknown = any(isinstance(one, UnknownOutcome) for one in result.outcomes)
    level = logging.INFO if failed or unknown else logging.DEBUG
    if TOOLS.isEnabledFor(level):
        how = ", ".join(failed) or ("outcome unknown" if unknown else "done")
        took = "" if result.duration is None else f" after {result.duration:.3f} s"
        TOOLS.log(level, "run %s call %s: %s%s", event.run, event.call_id, how, took)
