"""Background jobs under numbers, for models whose tools take nothing else.

Codex's `write_stdin` has a `session_id` that is a number; other clients name their jobs (`bash_1`, `b7f3a1c`). The
number of a job follows from its name, so the same history gives the same request, also after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec

from dragoman.dialects import Dialect, Loss
from dragoman.dialects.translation import Speaker
from dragoman.errors import Unspeakable
from dragoman.model import Call, NativeCall, NativeResult, Result, operations as op, outcomes as out

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def speaker(dialect: Dialect) -> Speaker:
    """The dialect itself, or the dialect with numbers for jobs where it can say no other names."""
    return NumberedJobs(dialect) if _says(dialect, "1") and not _says(dialect, "job") else dialect


def _says(dialect: Dialect, job: str) -> bool:
    try:
        dialect.write_call("", op.StopCommand(job))
    except Unspeakable:
        return False
    return True


class NumberedJobs:
    """A dialect in which every job is a number."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._names: dict[str, str] = {}
        """Number → the name that the client gave."""

    def read_call(self, native: NativeCall) -> Call:
        call = self._dialect.read_call(native)
        return msgspec.structs.replace(call, operations=tuple(map(self._named, call.operations)))

    def write_call(self, id: str, operation: op.Operation) -> tuple[NativeCall, ...]:
        return self._dialect.write_call(id, self._numbered(operation))

    def loss(self, operation: op.Operation) -> tuple[Loss, ...]:
        return self._dialect.loss(self._numbered(operation))

    def read_result(self, call: Call, native: NativeResult) -> Result:
        result = self._dialect.read_result(call, native)
        return msgspec.structs.replace(result, outcomes=tuple(map(self._named, result.outcomes)))

    def write_result(self, call: Call, outcomes: Sequence[out.Outcome]) -> NativeResult:
        return self._dialect.write_result(call, tuple(map(self._numbered, outcomes)))

    def _named(self, value: _Struct) -> _Struct:
        job = getattr(value, "job", None)
        return msgspec.structs.replace(value, job=self._names[job]) if job in self._names else value

    def _numbered(self, value: _Struct) -> _Struct:
        job = getattr(value, "job", None)
        return value if job is None or job.isdecimal() else msgspec.structs.replace(value, job=self._number(job))

    def _number(self, name: str) -> str:
        number = str(int.from_bytes(blake2b(name.encode(), digest_size=4).digest()))
        self._names[number] = name
        return number
