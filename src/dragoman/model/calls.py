"""A tool call as it was said (`NativeCall`), what it means (`Call`), and the same two for its result.

Rule: the native side is never altered. What a call was turned into stands beside what it was.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from .base import Value
from .outcomes import Failure, Media

if TYPE_CHECKING:  # to a type checker any operation will do; a reader of JSON has to know them all
    from .operations import Operation as AnyOperation
    from .outcomes import Outcome as AnyOutcome
else:
    from .operations import AnyOperation
    from .outcomes import AnyOutcome

Content = str | tuple[str | Media, ...]
"""What a result holds: text, or text and media in order."""


class ExecutedBy(enum.StrEnum):
    """Who runs a call: we, or the provider on its own machines."""

    CLIENT = "client"
    PROVIDER = "provider"


class NativeCall(Value, frozen=True, gc=False):
    """Exactly what a provider sent or a log holds.

    `arguments` is a mapping, or the text itself when the call is freeform or its JSON cannot be
    parsed. `item` is the provider's whole item where it must travel back untouched.
    """

    id: str
    name: str
    arguments: dict[str, Any] | str = {}
    namespace: str | None = None
    executed_by: ExecutedBy = ExecutedBy.CLIENT
    item: dict[str, Any] | None = None


NO_RESULT: Final = "No result of this call was recorded; whether it took effect is not known."
"""What stands in the place of a result that nobody has."""


class NativeResult(Value, frozen=True, gc=False):
    """Exactly what is sent back for a call, or what a log holds as its result.

    `is_error` is the flag where the wire or the log has one. `item` holds what the log or the
    provider says beside the content.
    """

    call_id: str
    content: Content = ""
    is_error: bool | None = None
    name: str | None = None
    namespace: str | None = None
    executed_by: ExecutedBy = ExecutedBy.CLIENT
    item: Any = None


class Coercion(Value, frozen=True):
    """One argument that was not of its type and was read all the same: where, by which rule, from what to what."""

    path: str
    rule: str
    before: Any
    after: Any


class Call(Value, frozen=True, gc=False):
    """A native call with its meaning.

    One call may mean several operations (a patch, a batch). `unmapped` are native parameters
    without a meaning. When the arguments cannot be read, `operations` is empty and `failure` says why.
    """

    id: str
    operations: tuple[AnyOperation, ...]
    native: NativeCall
    unmapped: dict[str, Any] = {}
    coercions: tuple[Coercion, ...] = ()
    failure: Failure | None = None
    intents: tuple[AnyOperation, ...] = ()
    """What a command line was seen to do (read, search, list, write), beside the `RunCommand` it is."""


class Result(Value, frozen=True, gc=False):
    """What a call gave: one outcome per operation, how long it took in seconds and how often it was tried again."""

    call_id: str
    outcomes: tuple[AnyOutcome, ...]
    duration: float | None = None
    retries: int = 0
    native: NativeResult | None = None
