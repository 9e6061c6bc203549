"""The gateway: a server on loopback that answers clients in their API and asks models in theirs.

Rules:
- It listens on loopback alone, wants its token, and answers no request that a web page could make (Host and Origin).
- What a client sends as its own key is compared with the token and dropped. It is never passed on, kept or printed.
- What a model says is passed on as it comes. A stream that breaks off ends with an error in the client's API, never
  with a normal end; an error before the first byte has its own status.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from dragoman import prices
from dragoman.apis import APIS, Api, Asked, ServerSide, StreamWriter
from dragoman.bounded import remember
from dragoman.config import current
from dragoman.context_windows import answer_of, window_of
from dragoman.dialects import Dialect, provider_tool
from dragoman.engine import Retry
from dragoman.engine.models import dialect_of, engine_for, family_of, is_offered, native_tool
from dragoman.errors import DragomanError, EngineError, Unsupported
from dragoman.model import (
    AnyChunk,
    AnyPart,
    CallPart,
    Definition,
    FinishReason,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    RefusalPart,
    Reply,
    Request,
    TextChunk,
    TextPart,
    Thinking,
    ThinkingChunk,
    ThinkingPart,
    ToolChoice,
    Usage,
    operations as op,
    results_message,
)
from dragoman.serve.malformed import quiet

from .clients import Client, at, folder_of, recognised, runs_commands_together
from .conversations import Conversations, KnownReply
from .memory import Memory
from .reading import Reading
from .recording import About, Recording
from .requests import Prepared, Walk
from .routes import Routes
from .web import OwnWeb, sources
from .words import Group, Words

if TYPE_CHECKING:
    from aiohttp import web

    from dragoman.config import Price
    from dragoman.engine import Engine

GATEWAY: Final = logging.getLogger("dragoman.gateway")
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_LARGEST: Final = 64 * 1024 * 1024
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 2.0
"""Seconds before a model is asked again that was busy. Clients have patience of their own, and show that they wait; a
provider that wants a longer wait is not asked again: the client is told how long, or the next model is asked."""
_ASKED_AGAIN: Final = 8
"""How often a model is asked again within one request because the client cannot do what it called."""
_NO_ANSWERS: Final = (FinishReason.ERROR, FinishReason.MALFORMED_CALL, FinishReason.INTERRUPTED)
"""Ends that only some APIs have a word for: clients of the others would take what came before for the whole answer."""
_KEYS: Final = ("x-api-key", "x-goog-api-key", "api-key")


class Exchanged(msgspec.Struct, frozen=True):
    """One exchange, as `--watch` shows it."""

    client: str | None
    api: str
    asked: str
    """The model that the client asked for."""
    model: str | None
    """The model that answered; `None` when the gateway did (the next step of a call)."""
    status: int
    seconds: float
    usage: Usage = Usage()
    cost: Decimal | None = None
    translated: int = 0
    """Tools of the client that the model has in its own words."""
    passed: tuple[str, ...] = ()
    """Tools of the client that are offered as they are."""
    left_out: tuple[str, ...] = ()
    """Tools and settings of the client that the model is not asked with."""
    calls: tuple[str, ...] = ()
    error: str | None = None
    session: str | None = None
    """The session that it is recorded in."""


Watch = Callable[[Exchanged], None]
_Key = tuple[str, str | None, str]
"""A model, the folder of a client, and its tools."""


class _Sent(msgspec.Struct):
    """What is known of an exchange while it goes on."""

    api: str
    asked: str = ""
    client: str | None = None
    model: str | None = None
    session: str = ""
    words: Words | None = None
    left_out: tuple[str, ...] = ()
    usage: Usage = Usage()
    calls: tuple[str, ...] = ()
    error: str | None = None
    answer: _Answer | None = None


class Gateway:
    """One server. `words="client"` leaves the client's tools as they are and translates the API alone."""

    _runner: web.AppRunner | None

    def __init__(
        self,
        routes: Routes,
        token: str,
        *,
        words: Literal["model", "client"] = "model",
        folder: Path | None = None,
        max_cost: Decimal | None = None,
        own_prices: Sequence[Price] = (),
        web: OwnWeb | None = None,
        watch: Watch | None = None,
        warn: Callable[[str], None] = GATEWAY.warning,
    ) -> None:
        """`folder` is where replies and sessions are kept; without it, nothing is written to disk.

        Nobody is asked whose price is not known when there is a `max_cost`; `own_prices` are the user's.
        `web` does what the client's own provider would have done on the web, where the model's provider does not.
        """
        self.routes, self.token, self._words_of = routes, token, words
        self._conversations, self._memory, self._reading = Conversations(folder, warn), Memory(), Reading()
        self._recording = None if folder is None else Recording(folder / "sessions", warn)
        self._max_cost, self._own_prices, self._web, self._watch = max_cost, tuple(own_prices), web, watch
        self.cost = Decimal(0)
        self._uncounted: str | None = None
        """A model of which is not known what an answer cost."""
        self._engines: dict[str, tuple[Engine, str]] = {}
        self._known: dict[_Key, Words] = {}
        self._offered: dict[tuple[int, str | None], tuple[tuple[Definition, ...], tuple[Client, Dialect] | None, str]]
        self._offered = {}
        """The id of a toolset and what its client says of itself → this toolset, the client, and the name of both."""
        self._servers: dict[str, ServerSide] = {
            name: cast("Api", APIS[name]).server() for name in sorted(APIS.built_in)
        }
        self._runner = None
        self.port = 0

    # ── life ───────────────────────────────────────────────────────────────

    async def start(self, port: int = 0) -> None:
        """Listens on loopback; `port` 0 takes a free one."""
        from aiohttp import web

        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, logger=quiet(GATEWAY.name), handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK[0], port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    @property
    def url(self) -> str:
        """Where clients ask."""
        return f"http://{LOOPBACK[0]}:{self.port}"

    async def close(self) -> None:
        """Stops listening and closes the connections to providers."""
        if self._runner is not None:
            await self._runner.cleanup()
        for engine, _ in self._engines.values():
            close = getattr(engine, "close", None)
            if close is not None:
                await close()
        if self._web is not None:
            await self._web.close()

    # ── one request ────────────────────────────────────────────────────────

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        begun = time.monotonic()
        api, asked = self._asked(request)
        server = self._servers[api]
        sent = _Sent(api)
        status = 500
        try:
            refused = self._refused(request)
            if refused is not None:
                raise refused
            if asked is None:
                raise EngineError(f"there is nothing at {request.method} {request.path}", status=404)
            response = await self._answered(request, api, asked, sent)
            status = response.status
        except DragomanError as error:
            failure = _for_clients(error)
            sent.error = failure.message
            response = _error_response(server, failure)
            status = response.status
        except Exception as error:
            if sent.answer is not None and sent.answer.begun:
                raise  # the connection is closed, which no client takes for the end of an answer
            GATEWAY.exception("a defect of the gateway: please report it")
            sent.error = f"a defect of the gateway: {type(error).__name__}; its log has more"
            response = _error_response(server, EngineError(sent.error, status=500))
        finally:
            self._told(sent, status, time.monotonic() - begun)
        return response

    def _asked(self, request: web.Request) -> tuple[str, Asked | None]:
        """The API of a request by its path, and what is asked for."""
        for name in self._likely(request.headers, request.path):
            asked = self._servers[name].asked(request.method, request.path)
            if asked is not None:
                return name, asked
        return self._likely(request.headers, request.path)[0], None

    def _likely(self, headers: Mapping[str, str], path: str) -> list[str]:
        """The APIs, the one first that headers and path speak for: all have a list of models."""
        first = "openai_chat"
        if "anthropic-version" in headers or path.startswith("/v1/messages"):
            first = "anthropic_messages"
        elif "x-goog-api-key" in headers or path.startswith("/v1beta"):
            first = "gemini_generate"
        return [first, *(name for name in self._servers if name != first)]

    def _refused(self, request: web.Request) -> EngineError | None:
        """Why a request is not answered: it may be a web page's, or it has not the token."""
        host = request.headers.get("Host", "").rpartition(":")
        named = host[0] if host[1] and host[2].isdecimal() else request.headers.get("Host", "")
        if named.strip("[]") not in LOOPBACK:
            return EngineError("the gateway answers requests to 127.0.0.1 and localhost only", status=403)
        if "Origin" in request.headers:
            return EngineError("the gateway answers no requests of web pages", status=403)
        given = [request.headers.get(name, "") for name in _KEYS]
        given.append(request.headers.get("Authorization", "").removeprefix("Bearer "))
        given.append(request.query.get("key", ""))
        token = self.token.encode()
        if not any(hmac.compare_digest(one.strip().encode("utf-8", "replace"), token) for one in given):
            return EngineError("the key is not the token of this gateway", status=401)
        return None

    async def _answered(self, request: web.Request, api: str, asked: Asked, sent: _Sent) -> web.StreamResponse:
        from aiohttp import web

        server = self._servers[api]
        if asked.what == "models":
            windows = {name: window_of(name.partition(":")[2]) for name in self.routes.names}
            if asked.model is None:
                return web.json_response(server.models(windows), dumps=_dumps)
            # A request for a model of any other name is answered too, by whichever model its route says.
            return web.json_response(server.model(asked.model, windows.get(asked.model)), dumps=_dumps)
        try:
            data = await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise EngineError(f"the request has more than {_LARGEST >> 20} MB", status=413) from None
        read, tokens = self._reading.read(cast("Api", APIS[api]), data, asked.model)
        unread = [field for field in ("messages", "input", "contents", "tools") if field in read.provider_options]
        if unread:
            raise EngineError(f"{unread[0]} of the request cannot be read; send it as this API has it", status=400)
        if not read.conversation:
            raise EngineError("there is no message in the request", status=400)
        options = {name: value for name, value in read.provider_options.items() if name not in server.personal}
        read = msgspec.structs.replace(read, provider_options=options)
        sent.asked = read.model
        if asked.what == "count":
            counted = await self._counted(request, api, server.plain(read), len(data), tokens)
            return web.json_response(server.counted(counted), dumps=_dumps)
        if self._max_cost is not None and self._uncounted is not None:
            message = f"{self._uncounted} did not report what it used, so the limit of {self._max_cost} dollars cannot"
            raise EngineError(f"{message} be kept: start a new gateway", status=402)
        if self._max_cost is not None and self.cost >= self._max_cost:
            message = f"the limit of {self._max_cost} dollars is reached ({self.cost:.2f} spent): start a new gateway"
            raise EngineError(message, status=402)
        streams = read.stream if asked.stream is None else asked.stream
        sent.answer = answer = _Answer(request, server, read, streams=streams)
        read = server.plain(read)
        models = self.routes.models(read, tokens)
        step = self._next_step(models[0], request, api, read, len(data), sent)
        if step is not None:
            return await answer.end(step)
        failure: EngineError | None = None
        for model in models:
            try:
                return await self._asked_of(model, request, api, read, len(data), answer, sent)
            except DragomanError as error:  # one model may take the tools of a client that another cannot
                failure = _for_clients(error)
                if answer.begun:
                    sent.error = failure.message
                    return await answer.fail(failure)
        assert failure is not None
        raise failure

    async def _counted(self, request: web.Request, api: str, read: Request, size: int, estimate: int) -> int:
        """The tokens of a request as the model's own provider counts them, or the estimate where it does not."""
        engine, model = self._engine(self.routes.models(read, estimate)[0])
        count = getattr(engine, "count_tokens", None)
        if count is None:
            return estimate
        prepared, _, _ = self._prepared(request, api, read, size, engine, model)
        try:
            tokens: int = await count(prepared.request)
        except (Unsupported, EngineError) as error:
            GATEWAY.info("tokens are estimated: %s", error)
            return estimate
        return tokens

    def _prepared(
        self, request: web.Request, api: str, read: Request, size: int, engine: Engine, model: str
    ) -> tuple[Prepared, str, str | None]:
        """What a model is asked, the name of the conversation, and the vocabulary of the client."""
        key, words, dialects = self._words(read, engine, model, request.headers.get("User-Agent"))
        name, walk = self._memory.walked(
            key, read.conversation, size, lambda: Walk(words, self._conversations, dialects, engine.name)
        )
        server, same_api, asked = self._servers[api], engine.name == api, read
        if same_api and read.model != model:
            options = server.for_another(read.provider_options, thinks=engine.features(model).thinking)
            read = msgspec.structs.replace(read, provider_options=options)
        prepared = walk.prepared(read, model, same_api=same_api, references=server.references)
        fitted = _fitted(prepared.request, engine)
        done = msgspec.structs.replace(prepared, request=fitted, left_out=_left_out(asked, fitted))
        return done, name, dialects[0]

    def _next_step(
        self, next_model: str, request: web.Request, api: str, read: Request, size: int, sent: _Sent
    ) -> Reply | None:
        """The rest of a call that one model made, where the request would go to another: it was checked as a whole."""
        last = next((item for item in reversed(read.conversation) if item.role == "assistant"), None)
        kept = None if last is None else self._conversations.of(last)
        if kept is None or kept.model in (None, next_model) or kept.model not in self.routes.names:
            return None
        prepared, _, client = self._prepared(request, api, read, size, *self._engine(kept.model))
        if not prepared.calls:
            return None
        sent.client, sent.words = client, prepared.words
        sent.calls = tuple(call.name for call in prepared.calls)
        return _step(prepared.calls)

    async def _asked_of(
        self, named: str, request: web.Request, api: str, read: Request, size: int, answer: _Answer, sent: _Sent
    ) -> web.StreamResponse:
        engine, model = self._engine(named)
        if self._max_cost is not None and self._cost(named, Usage(input_tokens=1, output_tokens=1)) is None:
            message = f"there is a limit of {self._max_cost} dollars and what {named} costs is not known: "
            raise EngineError(f"{message}add its price to your settings ([[prices]])", status=402)
        prepared, name, sent.client = self._prepared(request, api, read, size, engine, model)
        sent.words, sent.left_out = prepared.words, prepared.left_out
        if prepared.calls:
            sent.calls = tuple(call.name for call in prepared.calls)
            return await answer.end(_step(prepared.calls))
        sent.model = named
        sent.session = name
        reply = await self._replied(engine, prepared, answer, sent)
        return await answer.end(reply)

    async def _replied(
        self,
        engine: Engine,
        prepared: Prepared,
        answer: _Answer,
        sent: _Sent,
    ) -> Reply:
        """The reply for the client. What it cannot do is answered here, and the model asked again."""
        asked, words, hidden = prepared.request, prepared.words, list[Message | Reply]()
        said: list[AnyPart] = []
        cited: list[AnyPart] = []
        usage = Usage()
        for _ in range(_ASKED_AGAIN):
            reply = await self._told_of(engine, asked, answer, sent)
            if reply.finish in _NO_ANSWERS:
                why = reply.finish_raw or reply.finish.value
                raise EngineError(f"the model ended without an answer: {why}", status=502, retryable=True)
            usage = usage + reply.usage if hidden else reply.usage
            said += [part for one in reply.parts if (part := answer.told(one)) is not None]
            cited += reply.parts
            base = self._conversations.new_base(sent.session)
            lowering = engine.lowering(asked)
            groups = words.groups(reply, base, lowering, prepared.seen)
            answers = await self._done_here(words, groups)
            if answers:
                groups = words.groups(reply, base, lowering, prepared.seen, answers)
            calls = words.next(groups, {})
            sent.calls = tuple(call.name for call in calls)
            if reply.finish is FinishReason.PAUSED and not groups:  # only its own provider can go on with it
                hidden.append(reply)
                asked = msgspec.structs.replace(asked, conversation=(*asked.conversation, reply))
                continue
            if groups and not calls:  # nothing of it can be done by the client
                results = words.results(groups, {})
                hidden += [reply, results_message(*results)]
                more = (*asked.conversation, *hidden[-2:])
                asked = msgspec.structs.replace(asked, conversation=more)
                continue
            if calls:
                kept = KnownReply(
                    base, (*hidden, reply), lowering, prepared.seen, answers, sent.model, words.vocabulary
                )
                self._conversations.add(kept)
            finish = FinishReason.CALLS if calls else reply.finish
            said += answer.added(sources(cited) if asked.response_schema is None else "")
            parts = (*said, *(CallPart(call) for call in calls))
            return Reply(parts, finish, usage=usage, metadata=reply.metadata)
        raise EngineError("the model keeps calling tools that the client does not have, or pausing", status=502)

    async def _told_of(self, engine: Engine, asked: Request, answer: _Answer, sent: _Sent) -> Reply:
        """The reply of a model, counted and recorded."""
        words = sent.words
        about = About(
            sent.client, None if words is None else words.reader, sent.model, None if words is None else words.folder
        )
        try:
            reply = await engine.ask(asked, answer.observe if answer.streams else None)
        except DragomanError as error:
            if self._recording is not None:
                self._recording.failed(sent.session, asked, error, about)
            raise
        sent.usage = sent.usage + reply.usage
        spent = self._cost(sent.model or "", reply.usage)
        self.cost += spent or 0
        self._uncounted = sent.model if spent is None else self._uncounted
        if self._recording is not None:
            cost = None if spent is None else float(spent)
            about = msgspec.structs.replace(about, lowering=engine.lowering(asked), cost=cost)
            self._recording.replied(sent.session, asked, reply, about)
        return reply

    def _cost(self, named: str, usage: Usage) -> Decimal | None:
        found = prices.cost(named, usage, own=self._own_prices)
        return prices.cost(named.partition(":")[2], usage, own=self._own_prices) if found is None else found

    async def _done_here(self, words: Words, groups: Sequence[Group]) -> dict[str, NativeResult]:
        """The results of what the gateway does itself, by the ids of the calls."""
        if self._web is None:
            return {}
        ours = [(group, group.here) for group in groups if group.here is not None]
        outcomes = await asyncio.gather(*(self._web.outcomes(call) for _, call in ours))
        return {call.id: words.answered(group, outcome) for (group, call), outcome in zip(ours, outcomes, strict=True)}

    def _engine(self, named: str) -> tuple[Engine, str]:
        if named not in self._engines:
            retry = Retry(times=current().settings.retries, base=_FIRST_WAIT, longest=_LONGEST_WAIT)
            self._engines[named] = cast("tuple[Engine, str]", engine_for(named, retry=retry))
        return self._engines[named]

    def _words(
        self, read: Request, engine: Engine, model: str, agent: str | None
    ) -> tuple[_Key, Words, tuple[str | None, str | None]]:
        """The words between a client and a model, what they are known by, and the names of the two vocabularies.

        They are made once for a set of tools, however many requests offer it.
        """
        folder, named = folder_of(read.conversation), (id(read.definitions), agent)
        offered = self._offered.get(named)
        if offered is None:  # a toolset that is offered again is the very same object (`Reading`), which is kept here
            found = recognised(read.definitions, agent)
            seen = msgspec.json.encode((found and repr(found[1]), read.definitions))
            value = blake2b(seen, digest_size=16).hexdigest()
            offered = (read.definitions, found, value)
            remember(self._offered, named, offered, 64)
        _, found, value = offered
        client, dialect = (None, None) if found is None else found
        target: Dialect | None = at(dialect_of(model), None, family_of(model))
        if self._words_of == "client" or dialect is None or (target is not None and dialect.name == target.name):
            target = None
        key = (model, folder, value)
        words = self._known.get(key)
        if words is None:
            hosted = _hosted(read.definitions, engine, model)
            words = Words(
                read.definitions,
                client=None if target is None else dialect,
                model=target,
                folder=folder,
                reads_first=client is not None and client.reads_first,
                reads_pictures=client is not None and client.reads_pictures,
                agent=None if client is None else client.agent,
                commands_together=target is not None and runs_commands_together(target.name),
                reader=dialect,
                hosted=hosted,
                here=_done_here(read.definitions, hosted, self._web),
            )
            remember(self._known, key, words, 64)
        return key, words, (None if dialect is None else dialect.name, None if target is None else target.name)

    def _told(self, sent: _Sent, status: int, seconds: float) -> None:
        if self._watch is None:
            return
        words = sent.words
        self._watch(
            Exchanged(
                sent.client,
                sent.api,
                sent.asked,
                sent.model,
                status,
                seconds,
                sent.usage,
                None if sent.model is None else self._cost(sent.model, sent.usage),
                0 if words is None else len(words.names),
                () if words is None else words.passed,
                (() if words is None else words.left_out) + sent.left_out,
                sent.calls,
                sent.error,
                sent.session or None,
            )
        )


class _Answer:
    """The answer to one client: streamed as it comes, or whole."""

    def __init__(self, request: web.Request, server: ServerSide, read: Request, *, streams: bool) -> None:
        self._request, self._server, self._read, self.streams = request, server, read, streams
        self._writer: StreamWriter = server.stream(
            model=read.model, definitions=read.definitions, options=read.provider_options
        )
        self._response: web.StreamResponse | None = None
        self._buffer = bytearray()
        self._flushing: asyncio.Task[None] | None = None
        self._thinks = False
        """Whether what was passed on last is a thought."""
        self.begun = False

    def told(self, part: AnyPart) -> AnyPart | None:
        """What the client is told of what a model said; calls are given in its own words."""
        match part:
            case TextPart():
                return TextPart(part.text) if part.text else None
            case ThinkingPart():
                return self._thought(part.text) if part.text else None
            case RefusalPart():
                return RefusalPart(part.text)
            case MediaPart():
                return MediaPart(part.media)
        return None

    def _thought(self, text: str) -> ThinkingPart:
        return ThinkingPart(text, signature=self._server.thought_signature)

    def observe(self, chunk: AnyChunk) -> bool | None:
        """Passes on what a model says, as it comes. True: the client has seen it, so it must not be asked for anew."""
        match chunk:
            case TextChunk(text) if text:
                self._begin()
                self._send(self._end_thought() + self._writer.text(text))
            case ThinkingChunk(text) if text:
                self._begin()
                self._thinks = True
                self._send(self._writer.thinking(text))
        return self.begun

    def added(self, text: str) -> list[AnyPart]:
        """Sends the client a text after the model's answer, and returns it as parts of the reply."""
        if text and self.begun:
            self.observe(TextChunk(text))
        return [TextPart(text)] if text else []

    def _end_thought(self) -> bytes:
        thought, self._thinks = self._thinks, False
        return self._writer.part(self._thought("")) if thought else b""

    def _begin(self) -> None:
        """What comes first is written first: the events of some APIs are numbered."""
        if not self.begun:
            self.begun = True
            self._buffer += self._writer.start()

    def _send(self, data: bytes) -> None:
        self._buffer += data
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        from aiohttp import web

        if self._response is None:
            headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
            self._response = web.StreamResponse(headers=headers)
            await self._response.prepare(self._request)
        while self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            await self._response.write(data)

    async def _closed(self) -> web.StreamResponse:
        if self._flushing is not None:
            await self._flushing
        await self._flush()
        assert self._response is not None
        await self._response.write_eof()
        return self._response

    async def end(self, reply: Reply) -> web.StreamResponse:
        """The rest of a reply: all of it where nothing was streamed, else its calls and its end."""
        from aiohttp import web

        if not self.streams:
            body = self._server.reply(reply, model=self._read.model, definitions=self._read.definitions)
            return web.json_response(body, dumps=_dumps)
        begun = self.begun
        self._begin()
        data = bytearray(self._end_thought())
        for part in reply.parts:
            if not begun or not isinstance(part, TextPart | ThinkingPart):
                data += self._writer.part(part)
        data += self._writer.end(reply)
        self._send(bytes(data))
        return await self._closed()

    async def fail(self, error: EngineError) -> web.StreamResponse:
        """The end of a stream that broke off."""
        self._begin()
        self._send(self._writer.fail(error))
        return await self._closed()


def _step(calls: tuple[NativeCall, ...]) -> Reply:
    """The next step of a call that the model made: nobody is asked, so no tokens are used."""
    return Reply(tuple(CallPart(call) for call in calls), FinishReason.CALLS, usage=Usage(0, None, None, 0))


def _hosted(offered: Sequence[Definition], engine: Engine, model: str) -> dict[str, ProviderDefinition]:
    """The tools of the model's own provider, by the ids of the client's tools.

    Those that the client offers of this very provider are its own, with their settings; for another provider's that
    search the web or read pages there may be one that does the same.
    """
    theirs = [(one, row) for one in offered if isinstance(one, ProviderDefinition) and (row := provider_tool(one.id))]
    if len(theirs) < len(offered) and not engine.features(model).mixed_tools:
        return {}
    provider = getattr(engine, "provider", "")
    found: dict[str, ProviderDefinition] = {}
    for definition, row in theirs:
        if is_offered(row, engine.name, provider, model):
            found[row.id] = definition
            continue
        # A search that opens pages too, as OpenAI's since `web_search_preview` (SDK 3.49.0), is a search first.
        wanted = (operation for operation in (op.SearchWeb, op.FetchPage) if operation in row.operations)
        own = next((own for one in wanted if (own := native_tool(one, engine.name, provider, model))), None)
        if own is not None:
            found[row.id] = own.define()
    return found


def _done_here(
    offered: Sequence[Definition], hosted: Mapping[str, ProviderDefinition], web: OwnWeb | None
) -> frozenset[type[op.Operation]]:
    """What the client's provider would do on the web, the model's does not, and the gateway can."""
    if web is None:
        return frozenset()
    theirs = [one.id for one in offered if isinstance(one, ProviderDefinition) and one.id not in hosted]
    rows = [row for id in theirs if (row := provider_tool(id))]
    return frozenset(operation for row in rows for operation in row.operations) & web.operations


def _fitted(request: Request, engine: Engine) -> Request:
    """A request without what the model would refuse: the client chose its settings for another one.

    Where a model cannot be told which tools it may call, it is offered no others.
    """
    features, limits, choice = engine.features(request.model), engine.limits(request.model), request.choice
    changes: dict[str, Any] = {}
    if choice.mode not in features.choices:
        if choice.names:
            changes["definitions"] = tuple(one for one in request.definitions if one.name in choice.names)
        forced = choice.mode == "one" or choice.required
        choice = ToolChoice("required") if forced and "required" in features.choices else ToolChoice()
        changes["choice"] = choice
    forced = choice.mode in ("required", "one") or choice.required
    alone = request.thinking is not None and forced and not features.forced_choice_with_thinking
    if request.thinking is not None and (alone or not features.thinking):
        changes["thinking"] = None
    elif request.thinking is not None and request.thinking.level == "off" and not features.thinking_off:
        changes["thinking"] = Thinking("low")  # as little as there is
    if limits.stop_sequences is not None and len(request.stop) > limits.stop_sequences:
        changes["stop"] = request.stop[: limits.stop_sequences]
    thinking = changes.get("thinking", request.thinking)
    thinks = thinking is not None and thinking.level != "off"
    if not features.sampling or (thinks and not features.sampling_with_thinking):
        changes |= {"temperature": None, "top_p": None}
    elif request.temperature is not None and limits.temperature is not None:
        changes["temperature"] = min(request.temperature, limits.temperature)
    most = request.max_output_tokens
    longest = limits.max_output_tokens or answer_of(request.model)
    if most is not None and longest is not None:
        most = changes["max_output_tokens"] = min(most, longest)
    if thinks and most is not None and most <= (limits.least_thinking_tokens or 0):
        changes["thinking"] = None  # there is no room for it
    elif thinking is not None and thinking.tokens is not None:
        if limits.thinking_tokens is not None and thinking.tokens > limits.thinking_tokens:
            changes["thinking"] = Thinking(tokens=limits.thinking_tokens)
        elif most is not None and thinking.tokens >= most:
            changes["thinking"] = Thinking("high")  # as much as there is room for
    return msgspec.structs.replace(request, **changes) if changes else request


_SETTINGS: Final = ("temperature", "top_p", "thinking", "max_output_tokens")


def _left_out(asked: Request, told: Request) -> tuple[str, ...]:
    """The settings of a request that the model is not asked with. Numbers that were too high are lowered instead."""
    gone = [name for name in _SETTINGS if getattr(asked, name) is not None and getattr(told, name) is None]
    if asked.temperature == 1 and "temperature" in gone:
        gone.remove("temperature")  # every API's default
    if asked.stop != told.stop:
        gone.append("stop")
    if asked.choice.mode != told.choice.mode and told.definitions:
        gone.append("choice")
    return (*gone, *(name for name in asked.provider_options if name not in told.provider_options))


def _for_clients(error: DragomanError) -> EngineError:
    """An error as one that an API can carry. One that is not a provider's is about the request."""
    return error if isinstance(error, EngineError) else EngineError(str(error), status=400)


def _error_response(server: ServerSide, error: EngineError) -> web.Response:
    from aiohttp import web

    status, body = server.error(error)
    # The header has whole seconds; and the SDKs of Anthropic (2.10.0) and OpenAI (3.51.0) ask again by the status
    # unless they are told.
    headers = {} if error.retry_after is None else {"retry-after": str(math.ceil(error.retry_after))}
    if status == 429 and not error.retryable:
        headers["x-should-retry"] = "false"
    return web.json_response(body, status=status, headers=headers, dumps=_dumps)


def _dumps(value: Any) -> str:
    return msgspec.json.encode(value).decode()
