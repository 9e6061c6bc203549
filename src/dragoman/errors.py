"""Every error dragoman raises, sorted by who must act.

DragomanError
├─ DefinitionError     the developer: at import or load, all problems at once
├─ Unspeakable         the caller: this dialect cannot say this operation
├─ Unsupported         the caller: this API does not offer what was asked of it
├─ EngineError         the operator: provider or network
├─ LimitReached        the caller: iterations, depth, fan-out, budget, time
├─ LogError            the operator: a log cannot be opened or recognised
│  └─ QueryRefused     the caller: SQL over the logs is wrong, or reaches for what it may not
├─ ConfigError         the user: a settings file or value is wrong
├─ StorageError        the user: a file cannot be written: full disk, read-only, no permission
├─ MediaError          the caller: a picture, document or sound cannot be read or is of another kind
├─ MissingExtra        the user: an optional part is not installed
└─ ToolError           a tool's own code: raise it to fail with a stated kind
   └─ PatternError     the caller: a regular expression is wrong, or matching it would take too long

What the *model* must act on is never raised past a tool: it is the value
`dragoman.model.Failure`. One bad log line is the event `Unreadable`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class DragomanError(Exception):
    """Base class of every exception that this library raises on purpose."""


class DefinitionError(DragomanError):
    """A definition (tool, spelling, agent file, plugin) is wrong.

    Raised once with every problem found.
    `where` is "file:line" when it is known.
    """

    def __init__(
        self, subject: str, problems: Iterable[str], where: str | None = None, *, verdict: str = "is not well defined"
    ) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        self.where = where
        head = f"{subject} {verdict}" + (f" ({where})" if where else "")
        super().__init__("\n".join([f"{head}:", *(f"  - {problem}" for problem in self.problems)]))


class Unspeakable(DragomanError):
    """A dialect has no words for an operation; the reason is the dialect's own."""

    def __init__(self, dialect: str, operation: str, reason: str) -> None:
        self.dialect, self.operation, self.reason = dialect, operation, reason
        super().__init__(f"{dialect} cannot say {operation}: {reason}")


class Unsupported(DragomanError):
    """An API does not offer a feature: embeddings, batches, token counting. Nothing was sent."""

    def __init__(self, api: str, feature: str, advice: str = "") -> None:
        self.api, self.feature, self.advice = api, feature, advice
        super().__init__(f"{api} does not offer {feature}" + (f": {advice}" if advice else ""))


class EngineError(DragomanError):
    """A provider or the network failed. Never carries a key or a request body.

    `partial` is the part of the `Reply` received before a stream was interrupted, `conversation` the conversation of
    the run so far.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        partial: Any = None,
    ) -> None:
        self.message, self.partial = message, partial
        self.conversation: Any = None
        self.provider, self.status, self.code = provider, status, code
        self.request_id, self.retryable, self.retry_after = request_id, retryable, retry_after
        facts = [str(fact) for fact in (provider, status, code, request_id) if fact is not None]
        super().__init__(f"{message} [{', '.join(facts)}]" if facts else message)

    def saying(self, message: str, *, provider: str | None = None) -> EngineError:
        """The same error in other words."""
        return EngineError(
            message,
            provider=provider or self.provider,
            status=self.status,
            code=self.code,
            request_id=self.request_id,
            retryable=self.retryable,
            retry_after=self.retry_after,
            partial=self.partial,
        )


class LimitReached(DragomanError):
    """A stated limit stopped the run; `limit` names it, `value` is what it was set to.

    `reason` says what was still missing, if known.
    """

    def __init__(self, limit: str, value: float, advice: str = "", *, reason: str | None = None) -> None:
        self.limit, self.value, self.reason = limit, value, reason
        rest = "".join(f"; {one}" for one in (reason, advice) if one)
        super().__init__(f"the limit on {limit} ({value:g}) was reached{rest}")


class LogError(DragomanError):
    """A log file cannot be opened, or no format recognises it."""


class QueryRefused(LogError):
    """A question to the logs is itself wrong, or reaches for what it may not; no log is to blame."""


class ConfigError(DragomanError):
    """A settings file or value is wrong; the message says which, where and what to do."""


class StorageError(DragomanError):
    """A file of dragoman's own (a record, settings, the index) cannot be written.

    `path` is the file or folder and `reason` what the system says, for example "No space left on device".
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, advice: str = "") -> None:
        self.path, self.reason, self.advice = str(path), reason, advice
        super().__init__(f"cannot write {self.path}: {reason}" + (f"; {advice}" if advice else ""))


@contextmanager
def writing(path: str | os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Turns what the system says while `path` is written into a `StorageError` with advice."""
    try:
        yield
    except FileExistsError as error:  # of making the folder it is in
        raise StorageError(path, f"{error.filename} is not a folder", advice) from error
    except OSError as error:
        raise StorageError(path, error.strerror or str(error), advice) from error


class MediaError(DragomanError):
    """A picture, document or sound cannot be given to a model: it cannot be read, is too large or of another kind."""


class MissingExtra(DragomanError):
    """An optional part of dragoman was used and is not installed.

    The message ends with the command that installs it. `package` is what to install where it belongs to none of our
    extras: a framework that tools are given to.
    """

    def __init__(self, extra: str, purpose: str, missing: str, *, package: str | None = None) -> None:
        from .installation import install_command, packages_of

        self.extra, self.missing = extra, missing
        needed = f"the extra '{extra}'" if package is None else extra
        command = install_command(*((package,) if package else packages_of(extra)))
        super().__init__(f"{purpose} needs {needed} ({missing} is not installed): {command}")


class ToolError(DragomanError):
    """Raised inside a tool to fail with a stated `kind` and `details`.

    Any other exception becomes kind "failed"; the executor turns both into a
    `Failure` value in one place. `kind` is one of `dragoman.model.FailureKind`.
    """

    def __init__(self, message: str, *, kind: str = "failed", details: Mapping[str, Any] | None = None) -> None:
        self.message, self.kind, self.details = message, kind, dict(details or {})
        super().__init__(message)


class PatternError(ToolError):
    """A text is not a regular expression, or matching it would take too long; the message names the pattern."""

    def __init__(self, pattern: str, problem: str) -> None:
        from json import dumps

        self.pattern = pattern
        named = dumps(pattern if len(pattern) <= 100 else f"{pattern[:100]}…", ensure_ascii=False)
        super().__init__(f"{named} {problem}", kind="invalid_arguments", details={"pattern": pattern[:1000]})


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean "x"?' for the closest known name, or nothing: every unknown-name message ends with it."""
    from difflib import get_close_matches  # only when something already went wrong

    lowered = {known_name.lower(): known_name for known_name in known}
    close = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f' Did you mean "{lowered[close[0]]}"?' if close else ""
