"""One exchange with a model: a request in, a reply out, and chunks to whoever watches.

Rule: this is the only layer that tries again. It does so for what may succeed later, and never once the observer has
said (by returning True) that something began because of a chunk it saw.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from dragoman.apis import APIS, Api, Encoded, Lowering, merged, page_title
from dragoman.errors import EngineError
from dragoman.model import ExecutedBy, conversation as conv, events as ev, request as req
from dragoman.model.json_text import DEEPEST, is_too_deep

from .connection import Bounds, Response, is_html, one_line
from .logged import HTTP
from .policy import Retry
from .transport import Transport

if TYPE_CHECKING:
    from dragoman.apis import HttpRequest, Steps
    from dragoman.model import AnyEvent

Found = TypeVar("Found")

Observer = Callable[[req.AnyChunk], "bool | None"]
"""Sees the chunks of a reply. Returning True says that something was begun: the request must not be made again."""


class Engine(Protocol):
    """Answers requests."""

    name: str

    async def ask(self, request: req.Request, observe: Observer | None = None) -> conv.Reply:
        """The model's reply. With an observer it is streamed."""
        ...

    def prepare(self, request: req.Request) -> Encoded | None:
        """The exact request that would be sent, or `None` if none is."""
        ...

    def lowering(self, request: req.Request) -> Lowering:
        """Converts arguments back from the schemas that were sent to those of the tools."""
        ...

    def limits(self, model: str) -> req.Limits:
        """The limits of a model."""
        ...

    def features(self, model: str) -> req.Features:
        """What a model can do."""
        ...


class Pace(Protocol):
    """Keeps requests within the rates of a provider."""

    async def turn(self, body: bytes, notice: Callable[[EngineError, float], None] | None) -> str:
        """Waits until this request may be sent, and gives the id it is counted under; `notice` is told of a wait."""
        ...

    async def used(self, id: str, tokens: int | None) -> None:
        """Writes down what a request used; where the provider does not say, the estimate stays."""
        ...


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One exchange on the wire, as it is recorded: never a key.

    For an interrupted one, `error` and `code` say why, and `response` is what had arrived (`status` 0: nothing).
    """

    api: str
    provider: str
    model: str
    path: str
    request: dict[str, Any]
    status: int
    response_headers: dict[str, str]
    response: str
    streaming: bool = False
    time: datetime.datetime | None = None
    error: str | None = None
    code: str | None = None


class HttpEngine:
    """Asks a provider over HTTP, in one wire API."""

    def __init__(
        self,
        api: Api | str,
        transport: Transport,
        *,
        provider: str = "",
        retry: Retry = Retry(times=2),  # noqa: B008 - frozen
        options: Mapping[str, Any] | None = None,
        record: Callable[[Exchange], None] | None = None,
        notice: Callable[[EngineError, float], None] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.api: Api = APIS[api] if isinstance(api, str) else api
        self.name = self.api.name
        self.transport, self.provider, self.retry = transport, provider, retry
        self.options = dict(options or {})
        """Sent with every request, in the provider's own terms; those of the request come over them."""
        self._record, self._notice, self._pace = record, notice, pace

    def __repr__(self) -> str:
        return f"HttpEngine({self.name!r}, provider={self.provider!r})"

    def limits(self, model: str) -> req.Limits:
        """What a model takes at most, as its API says."""
        return self.api.limits(model)

    def features(self, model: str) -> req.Features:
        """What a model can do, as its API says."""
        return self.api.features(model)

    def lowering(self, request: req.Request) -> Lowering:
        """What undoes, on arguments, what the API does to schemas."""
        return self.api.lowering(request)

    def prepare(self, request: req.Request) -> Encoded:
        """The exact request that would be sent, the options of this engine included."""
        return self._written(request, self.api.encode)

    def _written(self, request: req.Request, encode: Callable[[req.Request], Encoded]) -> Encoded:
        if self.options:
            options = merged(self.options, request.provider_options)
            request = msgspec.structs.replace(request, provider_options=options)
        return encode(request)

    async def ask(self, request: req.Request, observe: Observer | None = None) -> conv.Reply:
        """The reply; `EngineError` if there is none after all retries."""
        if observe is not None and not request.stream:
            request = msgspec.structs.replace(request, stream=True)
        # One who records exchanges gets the body, and may change it.
        encoded = self._written(request, self.api.encode_to_send if self._record is None else self.api.encode)
        body = encoded.to_bytes()
        watch: _Watch | None = None

        async def attempt(failed: EngineError | None) -> conv.Reply:
            nonlocal watch
            if failed is not None and watch is not None and watch.seen:
                watch.observe(req.Restarted(failed.message))
            watch = None if observe is None else _Watch(observe)
            if self._pace is None:
                return await self._asked(request, encoded, body, watch)
            turn = await self._pace.turn(body, self._notice)
            reply = await self._asked(request, encoded, body, watch)
            await self._pace.used(turn, reply.usage.total)
            return reply

        return await self._persist(request.model, attempt, lambda _: watch is None or not watch.began)

    async def _persist(
        self,
        subject: str,
        once: Callable[[EngineError | None], Awaitable[Found]],
        may_repeat: Callable[[EngineError], bool],
    ) -> Found:
        """What an attempt gives; it is made again after an error that may pass, if it may be repeated.

        Each attempt gets the error of the one before.
        """
        attempt = 0
        failed: EngineError | None = None
        while True:
            try:
                return await once(failed)
            except EngineError as error:
                error.provider = error.provider or self.provider or None
                if not error.retryable or attempt >= self.retry.times or not may_repeat(error):
                    HTTP.info("%s: %s; not tried again", subject, _kind_of(error))
                    raise
                patience = self.retry.longest * (self.retry.times - attempt)
                if error.retry_after is not None and error.retry_after > patience:
                    raise _too_long_a_wait(error, patience) from None
                attempt += 1
                wait = self.retry.wait(attempt, error.retry_after, _chance())
                HTTP.info(
                    "%s: %s; trying again in %.1f s (%d of %d)",
                    subject,
                    _kind_of(error),
                    wait,
                    attempt,
                    self.retry.times,
                )
                if self._notice is not None:
                    self._notice(error, wait)
                await asyncio.sleep(wait)
                failed = error

    # ── beside conversations ───────────────────────────────────────────────

    async def count_tokens(self, request: req.Request) -> int:
        """The input tokens of a request as the provider counts them; `Unsupported` where it does not count."""
        return await self.follow(self.api.endpoints().count_tokens(self.prepare(request), request.model))

    async def follow(self, steps: Steps[Found]) -> Found:
        """Makes the requests of an operation of the API's `endpoints()` and gives its result."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(await self._posted(wanted))
        except StopIteration as end:
            found: Found = end.value
            return found
        finally:
            steps.close()

    async def _posted(self, wanted: HttpRequest) -> bytes:
        async def attempt(_: EngineError | None) -> bytes:
            failure: EngineError | None = None
            try:
                response = await self.transport.exchange(
                    wanted.path, wanted.body, headers=wanted.headers, method=wanted.method
                )
                self._check(response)
            except EngineError as error:
                failure = self._told(error)
            if failure is not None:
                raise failure  # as in `_asked`
            return response.body

        return await self._persist(wanted.path, attempt, lambda error: wanted.repeatable or _never_arrived(error))

    async def _asked(self, request: req.Request, encoded: Encoded, body: bytes, watch: _Watch | None) -> conv.Reply:
        taker = (
            _Taker(self.api, watch, self.transport.bounds, keep=self._record is not None) if request.stream else None
        )
        failure: EngineError | None = None
        try:
            HTTP.debug("%s %s: %d bytes sent", self.provider or self.name, encoded.path, len(body))
            response = await self._exchanged(request, encoded, body, taker)
            HTTP.debug("%s %s answered %s", self.provider or self.name, encoded.path, response.status)
            reply = self._read(response, taker)
        except EngineError as error:
            if taker is not None and error.partial is None:
                error.partial = taker.partial()
            failure = self._told(error)
        if failure is not None:
            raise failure  # here, so that it does not carry the one it was made from: that may show a key
        said = reply.provenance.model
        made_by = msgspec.structs.replace(
            reply.provenance,
            provider=self.provider or None,
            model=request.model or said,
            served=said if said != request.model else None,
        )
        return msgspec.structs.replace(reply, provenance=made_by, request_id=_request_id(response.headers))

    def _read(self, response: Response, taker: _Taker | None) -> conv.Reply:
        """The reply a response holds; `EngineError` when it holds none."""
        self._check(response)
        return require_answer(self._decoded(response.body) if taker is None else taker.reply(self._decoded))

    def _check(self, response: Response) -> None:
        """Raises what a response says went wrong."""
        if 300 <= response.status < 400:
            raise _redirected(response)
        if not 200 <= response.status < 300:
            raise self.api.error(response.status, response.headers, response.body)
        if is_html(response.headers):
            raise not_an_api(response.body, response.status)

    def _decoded(self, body: bytes) -> conv.Reply:
        return self.api.decode(read_json(body, self.transport.bounds))

    def _told(self, error: EngineError) -> EngineError:
        """The error with the engine's own facts, and without secrets."""
        message = self.transport.redact(error.message)
        if error.partial is not None:
            said = msgspec.json.encode(error.partial).decode()
            shown = self.transport.redact(said)
            error.partial = error.partial if shown == said else msgspec.json.decode(shown, type=conv.Reply)
        if message == error.message:
            error.provider = self.provider or error.provider
            return error
        return error.saying(message, provider=self.provider)

    async def _exchanged(self, request: req.Request, encoded: Encoded, body: bytes, taker: _Taker | None) -> Response:
        """One exchange, recorded however it ends."""
        sink = None if taker is None else taker.take
        if self._record is None:
            return await self.transport.exchange(encoded.path, body, headers=encoded.headers, sink=sink)
        arrived = [Response(0, {})]
        try:
            response = await self.transport.exchange(
                encoded.path, body, headers=encoded.headers, sink=sink, broken=arrived.append
            )
        except BaseException as error:
            self._recorded(request, encoded, arrived[-1], taker, error)
            raise
        self._recorded(request, encoded, response, taker)
        return response

    def _recorded(
        self,
        request: req.Request,
        encoded: Encoded,
        response: Response,
        taker: _Taker | None,
        error: BaseException | None = None,
    ) -> None:
        assert self._record is not None
        text = (b"" if taker is None else taker.raw) + response.body
        headers = response.headers.items()
        kept = {name: self.transport.redact(value) for name, value in headers if name != "set-cookie"}
        self._record(
            Exchange(
                self.api.name,
                self.provider,
                request.model,
                encoded.path,
                encoded.body,
                response.status,
                kept,
                self.transport.redact(text.decode("utf-8", "replace")),
                taker is not None,
                datetime.datetime.now(datetime.UTC),
                None if error is None else self.transport.redact(_words_of(error)),
                error.code if isinstance(error, EngineError) else None,
            )
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self.transport.close()


def _never_arrived(error: EngineError) -> bool:
    """Whether a failed request had no effect: the provider was not reached, or refused it."""
    return error.status in (429, 529) or error.code in ("connect", "connect_timeout", "dns", "tls")


def _words_of(error: BaseException) -> str:
    return error.message if isinstance(error, EngineError) else f"{type(error).__name__}: {error}".removesuffix(": ")


def read_json(body: bytes, bounds: Bounds = Bounds()) -> Any:  # noqa: B008 - frozen
    """The JSON of a whole body."""
    if len(body) > _COUNTED_FROM:
        _count_values(body, 0, bounds)
    try:
        value = msgspec.json.decode(body)
        if is_too_deep(value, body):
            raise RecursionError(f"it is nested more than {DEEPEST} levels deep")
        return value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if beginning(body)[:1] == b"<":
            raise not_an_api(body) from error
        if not body.strip():
            raise EngineError("the server sent an empty answer", code="protocol", retryable=True) from error
        message = f"the answer is not JSON ({error}); it begins {one_line(body[:1000])!r}"
        raise EngineError(message, code="protocol", retryable=True) from error


_COUNTED_FROM = 1024 * 1024
"""Bytes of JSON that may be decoded without looking at what they will take: at 3 bytes for an empty object of 64, a
megabyte takes some twenty."""


def _count_values(data: bytes, before: int, bounds: Bounds) -> int:
    """How many objects and arrays these bytes add; an error when there are too many. Braces in texts count as well."""
    values = before + data.count(b"{") + data.count(b"[")
    most = bounds.sizes.values
    if values > most:
        message = f"the answer has more than {most:,} JSON objects and arrays"
        raise bounds.reached("values", message, code="body_too_large")
    return values


def _kind_of(error: EngineError) -> str:
    """What went wrong, without the provider's own words: they may repeat what was sent."""
    if error.code == "interrupted":
        return "the stream was cut"
    return f"status {error.status}, code {error.code}"


def require_answer(reply: conv.Reply) -> conv.Reply:
    """The reply, if it is one: not when it broke off, nor when the response held no answer or none that can be read."""
    if reply.finish is conv.FinishReason.INTERRUPTED:
        message = "the stream ended before the reply did" if reply.parts else "the response ended without an answer"
        raise EngineError(message, code="interrupted", retryable=True, partial=reply)
    if not reply.parts and reply.finish is conv.FinishReason.UNKNOWN and reply.finish_raw is None:
        raise EngineError("the response holds no answer", code="protocol", retryable=True, partial=reply)
    if reply.finish in (conv.FinishReason.STOP, conv.FinishReason.UNKNOWN) and (unread := _only_unread(reply)):
        message = f"nothing in the answer can be read; it holds {one_line(msgspec.json.encode(unread))!r}"
        raise EngineError(message, code="protocol", partial=reply)
    return reply


def _only_unread(reply: conv.Reply) -> list[Any]:
    """What is in a reply that says nothing we understand; empty where something is said, or nothing at all.

    Without this a text that came as a number would be an empty answer and a success.
    """
    if not all(isinstance(part, conv.OpaquePart) for part in reply.parts):
        return []
    opaque = [part.item for part in reply.parts if isinstance(part, conv.OpaquePart)]
    kept = reply.metadata.get(reply.provenance.api or "", {})
    return [*opaque, *kept.get("unread", ())]


def beginning(body: bytes) -> bytes:
    """A body from its first character: pages of IIS and of some proxies open with a byte order mark."""
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()


def not_an_api(body: bytes, status: int | None = None) -> EngineError:
    """The error for a web page where JSON or a stream of events was expected."""
    page = page_title(body.decode("utf-8", "replace"))
    message = f"the server sent a web page{page}, not an answer of an API; is the base URL right?"
    return EngineError(message, status=status, code="html")


def _too_long_a_wait(error: EngineError, patience: float) -> EngineError:
    message = (
        f"{error.message} (it asks for a wait of {error.retry_after:.15g} s; the longest wait here is {patience:g} s)"
    )
    return error.saying(message)


def _redirected(response: Response) -> EngineError:
    to = one_line(response.headers.get("location", "").encode("latin-1", "replace"))
    where = f" to {to!r}" if to else ""
    message = f"the server redirects{where}, and redirects are not followed; set the base URL to where the API is"
    return EngineError(message, status=response.status, code="redirect")


class _Watch:
    """An observer, and whether it saw or began anything."""

    __slots__ = ("began", "observe", "seen")

    def __init__(self, observe: Observer) -> None:
        self.observe, self.seen, self.began = observe, False, False


class _Taker:
    """Takes a streamed answer as it arrives. A server may answer with one whole body all the same."""

    __slots__ = ("_begins", "_bounds", "_decoder", "_keep", "_raw", "_size", "_values", "_watch", "_whole")

    def __init__(self, api: Api, watch: _Watch | None, bounds: Bounds, *, keep: bool) -> None:
        self._watch, self._bounds, self._keep = watch, bounds, keep
        self._decoder = api.stream()
        self._decoder.longest_event = bounds.sizes.event
        self._raw = bytearray()
        self._begins = b""
        self._size = self._values = 0
        self._whole: bool | None = None

    def take(self, data: bytes) -> bool:
        """Decodes what came; whether there was any content in it. Raises what the stream says went wrong."""
        self._size += len(data)
        if self._size > _COUNTED_FROM:
            self._values = _count_values(data, self._values, self._bounds)
        if self._whole is None:
            self._look(data)
        if self._keep or self._whole:
            self._raw += data
        if self._whole:
            return True
        chunks = self._decoder.feed(data)
        watch = self._watch
        if watch is not None and chunks:
            watch.seen = True
            observe = watch.observe
            for chunk in chunks:
                if observe(chunk):
                    watch.began = True
        error = self._decoder.error
        if error is not None:
            if error.code == "event_too_large":
                self._decoder.error = self._bounds.reached("event", error.message, code="event_too_large")
            self._decoder.close()  # raises it, with what had come
        return bool(chunks)

    def _look(self, data: bytes) -> None:
        """Whether this is one whole body, told by how it begins."""
        start = beginning(data)
        if not start:
            return
        self._begins = start[:1000]
        if start[:1] == b"<":
            raise not_an_api(self._begins)
        self._whole = start[:1] == b"{"

    def _tell(self, chunk: req.AnyChunk) -> None:
        watch = self._watch
        if watch is not None:
            watch.seen = True
            watch.began = bool(watch.observe(chunk)) or watch.began

    @property
    def raw(self) -> bytes:
        return bytes(self._raw)

    def partial(self) -> conv.Reply | None:
        """The reply as far as it had come."""
        if self._whole:
            return None
        try:
            return self._decoder.close()
        except EngineError as error:
            return error.partial if isinstance(error.partial, conv.Reply) else None

    def reply(self, whole: Callable[[bytes], conv.Reply]) -> conv.Reply:
        if not self._whole:
            for chunk in self._decoder.end():
                self._tell(chunk)
            reply = self._decoder.close()
            if reply.finish is conv.FinishReason.INTERRUPTED and not self._decoder.events:
                raise _no_stream(self._begins)
            return reply
        reply = whole(self.raw)
        for chunk in chunks_of(reply):
            self._tell(chunk)
        return reply


def _no_stream(begins: bytes) -> EngineError:
    if not begins:
        return EngineError("the server sent an empty answer", code="protocol", retryable=True)
    message = f"the answer is neither JSON nor a stream of events; it begins {one_line(begins)!r}"
    return EngineError(message, code="protocol")


_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "cf-ray")


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def _chance() -> float:
    import random

    return random.random()


def chunks_of(reply: conv.Reply) -> Iterator[req.AnyChunk]:
    """A whole reply as the chunks it might have come in."""
    for part in reply.parts:
        yield from _chunks_of(part)
    yield req.UsageArrived(reply.usage)
    yield req.Finished(reply.finish)


def _chunks_of(part: conv.AnyPart) -> Iterator[req.AnyChunk]:
    if isinstance(part, conv.TextPart):
        yield req.TextChunk(part.text)
        yield from (req.CitationArrived(citation) for citation in part.citations)
    elif isinstance(part, conv.ThinkingPart):
        if part.text:
            yield req.ThinkingChunk(part.text)
    elif isinstance(part, conv.RefusalPart):
        yield req.RefusalChunk(part.text)
    elif isinstance(part, conv.MediaPart):
        yield req.MediaArrived(part.media)
    elif isinstance(part, conv.CallPart):
        call = part.call
        yield req.CallStarted(call.id, call.name, call.namespace, call.executed_by)
        said = call.arguments
        yield req.ArgumentsChunk(call.id, said if isinstance(said, str) else msgspec.json.encode(said).decode())
        yield req.CallFinished(call)
    elif isinstance(part, conv.ResultPart):
        yield req.ResultArrived(part.result)


# ── engines without a network ────────────────────────────────────────────────

Step = conv.Reply | str | EngineError | Callable[[req.Request], "conv.Reply | str"]


class ScriptedEngine:
    """Answers from a script, step by step. A request beyond the last step, and an unused step, are errors.

    A step is a reply, a text, an error to raise, or a function of the request. As a context manager it checks at the
    end that every step was used.
    """

    name = "scripted"

    def __init__(
        self, steps: Iterable[Step], *, limits: req.Limits | None = None, features: req.Features | None = None
    ) -> None:
        if isinstance(steps, str):
            raise TypeError(f"a script is a list of steps: [{steps!r}]")
        self._steps = list(steps)
        for number, step in enumerate(self._steps, 1):
            if not (isinstance(step, str | conv.Reply | EngineError) or callable(step)):
                raise TypeError(f"step {number} must be a Reply, a text, an EngineError or a function, not {step!r}")
        self.requests: list[req.Request] = []
        """What was asked, in order."""
        self._limits = limits or req.Limits()
        self._features = features or req.Features(
            choices=("auto", "none", "required", "one", "subset"), streaming=True, thinking=True
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._steps)} steps, {len(self.requests)} of them used)"

    async def ask(self, request: req.Request, observe: Observer | None = None) -> conv.Reply:
        """The next step of the script; an `AssertionError` when there is none left."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._steps):
            raise AssertionError(f"the script has {len(self._steps)} steps, and this is question {number + 1}")
        step = self._steps[number]
        if isinstance(step, EngineError):
            raise step
        answer = step(request) if callable(step) else step
        reply = conv.Reply((conv.TextPart(answer),), conv.FinishReason.STOP) if isinstance(answer, str) else answer
        if observe is not None:
            for chunk in chunks_of(reply):
                observe(chunk)
        return reply

    def prepare(self, request: req.Request) -> Encoded | None:
        """`None`: nothing is sent."""
        return None

    def lowering(self, request: req.Request) -> Lowering:
        """Nothing is done to schemas here, so nothing has to be undone."""
        return Lowering()

    def limits(self, model: str) -> req.Limits:
        """The limits it was made with."""
        return self._limits

    def features(self, model: str) -> req.Features:
        """The features it was made with."""
        return self._features

    def finish(self) -> None:
        """Raises when a step was not used."""
        left = len(self._steps) - len(self.requests)
        if left > 0:
            raise AssertionError(f"{left} of {len(self._steps)} steps of the script were never asked for")

    def __enter__(self) -> ScriptedEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()


class ReplayEngine(ScriptedEngine):
    """Answers with the replies of an earlier run, taken from its events (of any log) or its wire traffic."""

    name = "replay"
    reads_pages = False
    """A record holds the answers of the conversation alone."""

    def __init__(self, events: Iterable[AnyEvent]) -> None:
        super().__init__(replies_of(events))

    @classmethod
    def from_wire(cls, exchanges: Iterable[Exchange]) -> ReplayEngine:
        """Answers from recorded traffic, errors included."""
        engine = cls(())
        engine._steps = [_answer(exchange) for exchange in exchanges]
        return engine


def _answer(exchange: Exchange) -> Step:
    api: Api = APIS[exchange.api]
    if exchange.error is not None:
        return EngineError(exchange.error, code=exchange.code, retryable=True)
    body = exchange.response.encode("utf-8", "surrogatepass")
    if not 200 <= exchange.status < 300:
        return api.error(exchange.status, exchange.response_headers, body)
    try:
        if exchange.streaming and not body.lstrip().startswith(b"{"):
            decoder = api.stream()
            decoder.feed(body)
            reply = decoder.close()
        else:
            reply = api.decode(read_json(body))
        return require_answer(reply)
    except EngineError as error:
        return error


def _whole(events: list[AnyEvent]) -> list[Step]:
    """The replies a record keeps whole; not those it tells of an earlier run, which nobody asked for in this one."""
    asks = any(isinstance(event, ev.ModelAsked) for event in events)
    asked = False
    found: list[Step] = []
    for event in events:
        if isinstance(event, ev.ModelAsked):
            asked = True
        elif isinstance(event, ev.ModelFinished) and event.reply is not None:
            if asked or not asks:
                found.append(event.reply)
            asked = False
    return found


def replies_of(events: Iterable[AnyEvent]) -> list[Step]:
    """The replies a run consisted of. Where a log keeps them whole they are taken as they are."""
    events = list(events)
    whole = _whole(events)
    if whole:
        return whole
    replies: list[Step] = []
    parts: list[conv.AnyPart] = []
    usage = conv.Usage()

    def end(finish: conv.FinishReason | None = None) -> None:
        nonlocal parts, usage
        if parts:
            ours = any(isinstance(part, conv.CallPart) and part.call.executed_by is ExecutedBy.CLIENT for part in parts)
            said = finish or (conv.FinishReason.CALLS if ours else conv.FinishReason.STOP)
            replies.append(conv.Reply(tuple(parts), said, usage=usage))
        parts, usage = [], conv.Usage()

    step: tuple[int | None, int | None] | None = None
    for event in events:
        if isinstance(event, ev.ModelFinished):
            end(event.finish)
            continue
        if isinstance(event, ev.ModelSaid | ev.ModelThought | ev.ToolCalled):
            here = (event.turn, event.step)
            if parts and step is not None and here != step:
                end()
            step = here
        if isinstance(event, ev.ModelSaid):
            parts.append(conv.RefusalPart(event.text) if event.refused else conv.TextPart(event.text))
        elif isinstance(event, ev.ModelThought):
            parts.append(conv.ThinkingPart(event.text))
        elif isinstance(event, ev.ToolCalled) and event.by == "model":
            parts.append(conv.CallPart(event.call.native))
        elif isinstance(event, ev.TokensUsed):
            usage = usage + event.usage
    end()
    return replies
