"""What Anthropic offers beside conversations: counting tokens and message batches. It has no embeddings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.apis.base.api import Encoded
from dragoman.apis.base.endpoints import (
    Batch,
    BatchReplies,
    BatchStatus,
    Endpoints,
    HttpRequest,
    Steps,
    json_request,
    path_segment,
    read_int,
    read_lines,
    read_object,
    still_running,
    when,
)
from dragoman.errors import EngineError
from dragoman.model.conversation import Reply

from .families import NAME
from .replies import read_error, read_reply
from .settings import headers

_COUNTED = frozenset(
    {
        # anthropic 2.8.0, MessageCountTokensParams and its beta: any other field of a request is refused.
        *("cache_control", "context_management", "mcp_servers", "messages", "model", "output_config"),
        *("output_format", "speed", "system", "thinking", "tool_choice", "tools"),
    }
)
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PATH = "/v1/messages/batches"
_STATUSES: dict[str, BatchStatus] = {"ended": "ended", "canceling": "cancelling"}


class MessagesEndpoints(Endpoints):
    """`/v1/messages/count_tokens` and `/v1/messages/batches`."""

    api = NAME
    most_requests = 100_000

    def count_tokens(self, encoded: Encoded, model: str) -> Steps[int]:
        body = {name: value for name, value in encoded.body.items() if name in _COUNTED}
        answer = yield json_request(f"{encoded.path}/count_tokens", body, encoded.headers)
        return read_int(read_object(answer), "input_tokens")

    def submit_batch(self, requests: Mapping[str, Encoded], model: str) -> Steps[Batch]:
        wrong = [id for id in requests if not _ID.fullmatch(id)]
        self._check_batch(requests, [f"{id!r} is no id: use 1 to 64 letters, digits, - and _" for id in wrong])
        betas = [beta for one in requests.values() for beta in one.headers.get("anthropic-beta", "").split(",") if beta]
        sent = headers({}) | ({"anthropic-beta": ",".join(dict.fromkeys(betas))} if betas else {})
        rows = [{"custom_id": id, "params": msgspec.Raw(one.to_bytes())} for id, one in requests.items()]
        return _read_batch((yield json_request(_PATH, {"requests": rows}, sent, repeatable=False)))

    def batch(self, id: str) -> Steps[Batch]:
        return _read_batch((yield HttpRequest(f"{_PATH}/{path_segment(id)}", headers=headers({}), method="GET")))

    def cancel_batch(self, id: str) -> Steps[Batch]:
        return _read_batch((yield HttpRequest(f"{_PATH}/{path_segment(id)}/cancel", headers=headers({}))))

    def batch_replies(self, id: str) -> Steps[BatchReplies]:
        batch = yield from self.batch(id)
        if batch.status != "ended":
            raise still_running(batch)
        path = f"{_PATH}/{path_segment(id)}/results"
        return read_lines((yield HttpRequest(path, headers=headers({}), method="GET")), _read_line)


def _read_batch(body: bytes) -> Batch:
    said = read_object(body)
    status, id = said.get("processing_status"), said.get("id")
    if not isinstance(status, str) or not isinstance(id, str):
        raise EngineError(f"the answer is no batch: {said}", code="protocol")
    given = said.get("request_counts")
    counts = {name: count for name, count in given.items() if isinstance(count, int)} if isinstance(given, dict) else {}
    failed = [counts[name] for name in ("errored", "canceled", "expired") if name in counts]
    return Batch(
        id,
        _STATUSES.get(status, "running"),
        status,
        total=sum(counts.values()) if counts else None,
        succeeded=counts.get("succeeded"),
        failed=sum(failed) if failed else None,
        created=when(said.get("created_at")),
        ended=when(said.get("ended_at")),
        expires=when(said.get("expires_at")),
        raw=said,
    )


def _read_line(line: dict[str, Any]) -> tuple[Any, Reply | EngineError]:
    id, result = line["custom_id"], line["result"]
    kind = result["type"]
    if kind == "succeeded":
        try:
            return id, read_reply(result["message"])
        except EngineError as failure:
            return id, failure
    if kind == "errored":
        return id, read_error(None, {}, result["error"])
    words = {"canceled": "the batch was cancelled before this request was sent to the model"}
    words |= {"expired": "the batch expired before this request was sent to the model"}
    return id, EngineError(words.get(kind, f"the request ended as {kind!r}"), code=str(kind))
