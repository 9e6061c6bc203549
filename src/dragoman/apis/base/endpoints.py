"""What a wire API offers beside conversations: counting tokens, embeddings and batches. No I/O, as in `Api`.

Rule: every operation is a generator. It yields the HTTP requests to make, gets the body of each response back, and
returns its result. What an API does not have raises `Unsupported` before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from dragoman.errors import DefinitionError, EngineError, Unsupported
from dragoman.model.conversation import Reply, Usage
from dragoman.model.token_estimate import content_tokens

from .encoded import Encoded

Found = TypeVar("Found")

Vector = tuple[float, ...]
"""An embedding."""

Purpose = Literal["query", "document", "similarity", "classification", "clustering"]
"""What an embedding is for. Models that make no difference between purposes ignore it."""


class HttpRequest(msgspec.Struct, frozen=True):
    """A request to be made. `path` follows the provider's base URL. One that is not `repeatable` creates something:
    it must not be sent again if the provider may have received it."""

    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {}
    method: str = "POST"
    repeatable: bool = True


Steps = Generator[HttpRequest, bytes, Found]
"""Yields requests, gets the bodies of their responses, and returns what was found."""


class Embedded(msgspec.Struct, frozen=True):
    """Vectors in the order of the texts, and the tokens they took."""

    vectors: tuple[Vector, ...]
    usage: Usage


BatchStatus = Literal["running", "cancelling", "ended"]


class Batch(msgspec.Struct, frozen=True):
    """A batch at a provider, as of now.

    `status_raw` is the provider's own word and `raw` all that it says. Counts that the provider does not state are
    `None`. `problems` says why a batch was refused as a whole.
    """

    id: str
    status: BatchStatus
    status_raw: str
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    created: datetime | None = None
    ended: datetime | None = None
    expires: datetime | None = None
    problems: tuple[str, ...] = ()
    raw: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        counts = f"total={self.total}, succeeded={self.succeeded}, failed={self.failed}"
        return f"Batch({self.id!r}, {self.status!r}, {counts})"


class BatchReplies(msgspec.Struct, frozen=True):
    """The results of a batch: for each id the reply, or the error of that item alone.

    `unreadable` are lines of the provider's that could not be read, as they came.
    """

    items: Mapping[str, Reply | EngineError]
    unreadable: tuple[str, ...] = ()


class Endpoints:
    """The endpoints of one API. Those that are not written here for an API raise `Unsupported`."""

    api: str
    most_texts: ClassVar[int] = 1
    """Texts that one request for embeddings may have."""
    most_tokens: ClassVar[int | None] = None
    """Tokens that all texts of one request may have together."""
    most_requests: ClassVar[int | None] = None
    """Requests that one batch may have."""

    def count_tokens(self, encoded: Encoded, model: str) -> Steps[int]:
        """The number of input tokens of a request, as the provider counts them."""
        raise self._unsupported("token counting", "estimate_tokens() of an Orchestrator estimates them")

    def embed(
        self, model: str, texts: Sequence[str], *, dimensions: int | None = None, purpose: Purpose | None = None
    ) -> Steps[Embedded]:
        """The vectors of texts, by as many requests as the provider's limits make necessary."""
        vectors: list[Vector] = []
        usage = Usage()
        for group in self._groups(texts):
            body = yield self._embed_request(model, group, dimensions, purpose)
            found, used = self._read_embeddings(read_object(body))
            if len(found) != len(group):
                message = f"{len(found)} embeddings came for {len(group)} texts"
                raise EngineError(message, code="protocol")
            vectors += found
            usage += used
        return Embedded(tuple(vectors), usage)

    def submit_batch(self, requests: Mapping[str, Encoded], model: str) -> Steps[Batch]:
        """Submits requests, each under an id of the caller's."""
        raise self._unsupported("batches")

    def batch(self, id: str) -> Steps[Batch]:
        """How a batch stands."""
        raise self._unsupported("batches")

    def cancel_batch(self, id: str) -> Steps[Batch]:
        """Cancels a batch. Requests that were answered before keep their results."""
        raise self._unsupported("batches")

    def batch_replies(self, id: str) -> Steps[BatchReplies]:
        """The results of a batch that has ended; `EngineError` while it runs."""
        raise self._unsupported("batches")

    # ── what an API with embeddings writes ─────────────────────────────────

    def _embed_request(
        self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose | None
    ) -> HttpRequest:
        raise self._unsupported("embeddings", "use a model of a provider that has them, for example openai or gemini")

    def _read_embeddings(self, body: dict[str, Any]) -> tuple[list[Vector], Usage]:
        raise NotImplementedError

    def _groups(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """The texts in groups that fit the limits of a request. A text that is too long by itself is sent alone, so
        that the provider says so."""
        group: list[str] = []
        tokens = 0
        for text in texts:
            size = content_tokens(text)  # more than there are, so that a group is never larger than a provider takes
            full = self.most_tokens is not None and tokens + size > self.most_tokens
            if group and (full or len(group) >= self.most_texts):
                yield group
                group, tokens = [], 0
            group.append(text)
            tokens += size
        if group:
            yield group

    # ── what all share ─────────────────────────────────────────────────────

    def _unsupported(self, feature: str, advice: str = "") -> Unsupported:
        return Unsupported(self.api, feature, advice)

    def _check_batch(self, requests: Mapping[str, Encoded], problems: Iterable[str] = ()) -> None:
        found = list(problems)
        if not requests:
            found.append("it has no request")
        if self.most_requests is not None and len(requests) > self.most_requests:
            found.append(f"it has {len(requests):,} requests; {self.api} takes {self.most_requests:,} in one batch")
        if found:
            raise DefinitionError("the batch", found, verdict="cannot be sent")


def no_endpoints(api: str) -> Endpoints:
    """Those of an API that has none beside conversations."""
    found = Endpoints()
    found.api = api
    return found


def json_request(
    path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None, *, repeatable: bool = True
) -> HttpRequest:
    """A POST of a JSON object."""
    return HttpRequest(path, msgspec.json.encode(body), headers or {}, repeatable=repeatable)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a response is; `EngineError` for anything else."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown = body[:200].decode("utf-8", "backslashreplace")
        raise EngineError(f"the answer is not JSON ({error}); it begins {shown!r}", code="protocol") from error
    if not isinstance(value, dict):
        raise EngineError(f"the answer is no JSON object: {str(value)[:200]}", code="protocol")
    return value


def read_int(body: Mapping[str, Any], name: str) -> int:
    """A number that a response must have."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EngineError(f"the answer has no number {name!r}: {str(dict(body))[:200]}", code="protocol")
    return value


def read_vector(value: Any) -> Vector:
    """A vector, as a list of numbers."""
    try:
        return msgspec.convert(value, Vector)
    except msgspec.ValidationError as error:
        raise EngineError(f"an embedding is no list of numbers: {error}", code="protocol") from error


def read_lines(text: bytes, read: Callable[[dict[str, Any]], tuple[Any, Reply | EngineError]]) -> BatchReplies:
    """The results in a JSON Lines file. `read` gives the id and the result of one of them."""
    items: dict[str, Reply | EngineError] = {}
    unreadable: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            id, result = read(msgspec.json.decode(line, type=dict[str, Any]))
            if not isinstance(id, str) or id in items:
                raise TypeError("a result needs an id of its own")
            items[id] = result
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            unreadable.append(line.decode("utf-8", "backslashreplace"))
    return BatchReplies(items, tuple(unreadable))


def still_running(batch: Batch) -> EngineError:
    """The error for results that are asked for too early."""
    done = "" if batch.total is None else f", {(batch.succeeded or 0) + (batch.failed or 0)} of {batch.total} done"
    message = f"the batch {batch.id} has not ended ({batch.status_raw}{done}): wait for it, then ask for its results"
    return EngineError(message, code="batch_running", retryable=True)


def when(value: Any) -> datetime | None:
    """A time as a response states it: seconds since 1970, or text."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):  # a number that is no second of any year
        return None


def path_segment(id: str) -> str:
    """An id as one segment of a path, so that it can name nothing else."""
    from urllib.parse import quote

    if id in ("", ".", ".."):
        raise DefinitionError("the batch", [f"{id!r} is no id of a batch"])
    return quote(id, safe="")
