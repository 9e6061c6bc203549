"""A server on this machine that plays scripted turns in every wire API, and breaks in every way a network can.

It speaks HTTP over real sockets. What it says is written by hand from the providers' protocols, so that it does not
share a line with the codecs it tries.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

PATHS = {
    "openai_chat": "/chat/completions",
    "openai_responses": "/responses",
    "anthropic_messages": "/v1/messages",
    "gemini_generate": "/models/",
}


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, str, dict[str, Any] | str], ...] = ()
    """(id, name, arguments); a text is the input of a tool without a schema, which the Responses API alone has.
    There a name may begin with a namespace and a dot."""
    usage: tuple[int, int] = (10, 5)
    finish: str | None = None
    """The provider's own word for why it stopped, when it is not the usual one."""
    pieces: int = 3
    """Into how many pieces texts and arguments are cut when they are streamed."""


@dataclass(frozen=True)
class Raw:
    """An answer as bytes, for everything that goes wrong."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    stop_after: int | None = None
    """Close the connection after so many bytes of the body."""
    reset: bool = False
    """Close it the hard way."""
    stall_after: int | None = None
    """Say nothing more after so many bytes, until the client gives up."""
    drip: float | None = None
    """Seconds between single bytes."""
    no_answer: bool = False


Answer = Turn | Raw | Callable[[dict[str, Any]], "Turn | Raw"]


@dataclass
class Heard:
    """One request as it came."""

    api: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def streaming(self) -> bool:
        return bool(self.body.get("stream")) or "streamGenerateContent" in self.path


class Loopback:
    """The server; `requests` is what it was asked."""

    def __init__(self, script: Sequence[Answer]) -> None:
        self.script = list(script)
        self.requests: list[Heard] = []
        self.connections = 0
        self.open = 0
        self.nobody = asyncio.Event()
        """Set while no connection is open."""
        self.url = ""
        self._busy: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.nobody.clear()
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            while (heard := await self._heard(reader)) is not None:
                if not await self._answer(heard, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            if not self.open:
                self.nobody.set()
            self._busy.discard(task)
            writer.close()

    async def _heard(self, reader: asyncio.StreamReader) -> Heard | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = first.split(" ")[1]
        api = next((api for api, mark in PATHS.items() if mark in path), "openai_chat")
        form = headers.get("content-type", "").startswith("multipart/")
        heard = Heard(api, path, headers, {"form": body.decode()} if form else json.loads(body or b"{}"))
        self.requests.append(heard)
        return heard

    async def _answer(self, heard: Heard, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Gives the next answer of the script; False when the connection is not to be used again."""
        number = len(self.requests) - 1
        if number >= len(self.script):
            answer: Answer = Raw(599, b'{"error": {"message": "the script is over"}}')
        else:
            answer = self.script[number]
        if callable(answer):
            answer = answer(heard.body)
        if isinstance(answer, Turn):
            answer = played(heard.api, answer, stream=heard.streaming)
        return await self._send(answer, reader, writer)

    async def _send(self, raw: Raw, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if raw.no_answer:
            await reader.read()
            return False
        broken = raw.stop_after is not None or raw.stall_after is not None
        streaming = raw.content_type == "text/event-stream"
        head = [f"HTTP/1.1 {raw.status} X", f"content-type: {raw.content_type}"]
        head += [f"{name}: {value}" for name, value in raw.headers.items()]
        head.append("transfer-encoding: chunked" if streaming else f"content-length: {len(raw.body)}")
        writer.write("\r\n".join([*head, "", ""]).encode())
        end = min(one for one in (raw.stop_after, raw.stall_after, len(raw.body)) if one is not None)
        for piece in _pieces(raw.body[:end], 1 if raw.drip is not None else 97):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if streaming else piece)
            if raw.drip is not None:
                await writer.drain()
                await asyncio.sleep(raw.drip)
        if streaming and not broken:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if raw.stall_after is not None:
            await reader.read()
        if raw.reset:
            transport = writer.transport
            transport.abort()
        return not broken and not raw.reset

    async def stop(self) -> None:
        for task in list(self._busy):
            task.cancel()
        if self._busy:
            await asyncio.wait(list(self._busy))


@asynccontextmanager
async def loopback(*script: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    """A server that gives these answers, one after the other."""
    served = Loopback(script)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    served.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield served
    finally:
        await served.stop()
        server.close()
        await server.wait_closed()


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


# ── the protocols ────────────────────────────────────────────────────────────


def played(api: str, turn: Turn, *, stream: bool) -> Raw:
    """A turn in a protocol's own form."""
    if not stream:
        return Raw(body=json.dumps(_WHOLE[api](turn)).encode(), headers={"x-request-id": "req_1"})
    events = _STREAMED[api](turn)
    named = api in ("anthropic_messages", "openai_responses")
    lines = [
        (f"event: {event['type']}\n" if named and isinstance(event, dict) else "")
        + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
        for event in events
    ]
    return Raw(body="".join(lines).encode(), content_type="text/event-stream", headers={"x-request-id": "req_1"})


def _chat(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, name, arguments in turn.calls
        ]
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    return {
        **_CHAT_HEAD,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _chat_usage(turn),
    }


_CHAT_HEAD = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "played"}


def _chat_usage(turn: Turn) -> dict[str, int]:
    return {"prompt_tokens": turn.usage[0], "completion_tokens": turn.usage[1], "total_tokens": sum(turn.usage)}


def _chat_stream(turn: Turn) -> list[Any]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in _cut(turn.thinking, turn.pieces)]
    deltas += [{"content": piece} for piece in _cut(turn.text, turn.pieces)]
    for index, (id, name, arguments) in enumerate(turn.calls):
        first = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        for piece in _cut(json.dumps(arguments), turn.pieces):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    head = {**_CHAT_HEAD, "object": "chat.completion.chunk"}
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    return [
        *({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas),
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**head, "choices": [], "usage": _chat_usage(turn)},
        "[DONE]",
    ]


def _response(turn: Turn) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if turn.thinking:
        summary = [{"type": "summary_text", "text": turn.thinking}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "secret"})
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    for id, name, arguments in turn.calls:
        namespace, _, own = name.rpartition(".")
        said = {"call_id": id, "name": own, "status": "completed", **({"namespace": namespace} if namespace else {})}
        if isinstance(arguments, str):
            output.append({"type": "custom_tool_call", "id": f"ctc_{id}", **said, "input": arguments})
        else:
            output.append({"type": "function_call", "id": f"fc_{id}", **said, "arguments": json.dumps(arguments)})
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "played",
        "status": "incomplete" if turn.finish else "completed",
        "incomplete_details": {"reason": turn.finish} if turn.finish else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": turn.usage[0],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": turn.usage[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(turn.usage),
        },
    }


def _response_stream(turn: Turn) -> list[Any]:
    whole = _response(turn)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": index}
        events.append({"type": "response.output_item.added", "output_index": index, "item": _begun(item)})
        if item["type"] == "reasoning":
            here = {**at, "summary_index": 0}
            part: dict[str, Any] = {"type": "summary_text", "text": ""}
            events.append({"type": "response.reasoning_summary_part.added", **here, "part": part})
            for piece in _cut(turn.thinking, turn.pieces):
                events.append({"type": "response.reasoning_summary_text.delta", **here, "delta": piece})
            events.append({"type": "response.reasoning_summary_text.done", **here, "text": turn.thinking})
        elif item["type"] == "message":
            here = {**at, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            events.append({"type": "response.content_part.added", **here, "part": part})
            for piece in _cut(turn.text, turn.pieces):
                events.append({"type": "response.output_text.delta", **here, "delta": piece, "logprobs": []})
            events.append({"type": "response.output_text.done", **here, "text": turn.text, "logprobs": []})
            events.append({"type": "response.content_part.done", **here, "part": item["content"][0]})
        elif item["type"] == "custom_tool_call":
            for piece in _cut(item["input"], turn.pieces):
                events.append({"type": "response.custom_tool_call_input.delta", **at, "delta": piece})
            events.append({"type": "response.custom_tool_call_input.done", **at, "input": item["input"]})
        else:
            for piece in _cut(item["arguments"], turn.pieces):
                events.append({"type": "response.function_call_arguments.delta", **at, "delta": piece})
            done = {"arguments": item["arguments"], "name": item["name"]}
            events.append({"type": "response.function_call_arguments.done", **at, **done})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    last = "response.incomplete" if turn.finish else "response.completed"
    events.append({"type": last, "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    emptied = {"content": [], "arguments": "", "input": "", "summary": []}
    return {**item, "status": "in_progress", **{key: value for key, value in emptied.items() if key in item}}


def _message(turn: Turn) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if turn.thinking:
        content.append({"type": "thinking", "thinking": turn.thinking, "signature": "signed"})
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    content += [{"type": "tool_use", "id": id, "name": name, "input": said} for id, name, said in turn.calls]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "played",
        "content": content,
        "stop_reason": turn.finish or ("tool_use" if turn.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": turn.usage[0], "output_tokens": turn.usage[1]},
    }


def _message_stream(turn: Turn) -> list[Any]:
    whole = _message(turn)
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        deltas: list[dict[str, Any]] = []
        if block["type"] == "thinking":
            begun: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(turn.thinking, turn.pieces)]
            deltas.append({"type": "signature_delta", "signature": "signed"})
        elif block["type"] == "text":
            begun = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _cut(turn.text, turn.pieces)]
        else:
            begun = {**block, "input": {}}
            pieces = ["", *_cut(json.dumps(block["input"]), turn.pieces)] if block["input"] else [""]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": turn.usage[1]}})
    return [*events, {"type": "message_stop"}]


def _generated(turn: Turn) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if turn.thinking:
        parts.append({"text": turn.thinking, "thought": True})
    if turn.text:
        parts.append({"text": turn.text})
    parts += [
        {"functionCall": {"name": name, "args": said}, "thoughtSignature": "c2lnbmVk"} for _, name, said in turn.calls
    ]
    return _candidate(parts, turn)


def _candidate(parts: list[dict[str, Any]], turn: Turn, *, last: bool = True) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    body: dict[str, Any] = {"candidates": [candidate], "modelVersion": "played", "responseId": "r1"}
    if last:
        candidate["finishReason"] = turn.finish or "STOP"
        body["usageMetadata"] = {
            "promptTokenCount": turn.usage[0],
            "candidatesTokenCount": turn.usage[1],
            "totalTokenCount": sum(turn.usage),
        }
    return body


def _generated_stream(turn: Turn) -> list[Any]:
    chunks = [[{"text": piece, "thought": True}] for piece in _cut(turn.thinking, turn.pieces)]
    chunks += [[{"text": piece}] for piece in _cut(turn.text, turn.pieces)]
    whole = _generated(turn)
    calls = [part for part in whole["candidates"][0]["content"]["parts"] if "functionCall" in part]
    events = [_candidate(chunk, turn, last=False) for chunk in chunks]
    return [*events, _candidate(calls or [{"text": ""}], turn)]


_WHOLE: dict[str, Callable[[Turn], dict[str, Any]]] = {
    "openai_chat": _chat,
    "openai_responses": _response,
    "anthropic_messages": _message,
    "gemini_generate": _generated,
}
_STREAMED: dict[str, Callable[[Turn], list[Any]]] = {
    "openai_chat": _chat_stream,
    "openai_responses": _response_stream,
    "anthropic_messages": _message_stream,
    "gemini_generate": _generated_stream,
}
