"""What both of OpenAI's APIs offer in the same way beside conversations: embeddings, and batches by way of files."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from dragoman.errors import EngineError
from dragoman.model.conversation import Reply, Usage

from .api import Api, Encoded
from .endpoints import (
    Batch,
    BatchReplies,
    BatchStatus,
    Endpoints,
    HttpRequest,
    Purpose,
    Steps,
    Vector,
    json_request,
    path_segment,
    read_lines,
    read_object,
    read_vector,
    still_running,
    when,
)

_STATUSES: dict[str, BatchStatus] = {
    "completed": "ended",
    "failed": "ended",
    "expired": "ended",
    "cancelled": "ended",
    "cancelling": "cancelling",
}
"""Every other status is that of a batch at work: `validating`, `in_progress`, `finalizing`."""


class OpenAiEndpoints(Endpoints):
    """`/embeddings`, `/files` and `/batches`. `url` is the path of the API's conversations in a batch."""

    url: ClassVar[str]
    most_texts = 2048
    most_tokens = 300_000
    most_requests = 50_000

    def __init__(self, api: Api) -> None:
        self._codec = api

    # ── embeddings ─────────────────────────────────────────────────────────

    def _embed_request(
        self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose | None
    ) -> HttpRequest:
        body: dict[str, Any] = {"model": model, "input": list(texts), "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        return json_request("/embeddings", body)

    def _read_embeddings(self, body: dict[str, Any]) -> tuple[list[Vector], Usage]:
        rows = body.get("data")
        rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        if all(isinstance(row.get("index"), int) for row in rows):
            rows.sort(key=lambda row: row["index"])
        used = body.get("usage")
        tokens = used.get("prompt_tokens") if isinstance(used, dict) else None
        usage = Usage(input_tokens=tokens, output_tokens=0) if isinstance(tokens, int) else Usage()
        return [read_vector(row.get("embedding")) for row in rows], usage

    # ── batches ────────────────────────────────────────────────────────────

    def submit_batch(self, requests: Mapping[str, Encoded], model: str) -> Steps[Batch]:
        self._check_batch(requests)
        lines = [
            b'{"custom_id":%s,"method":"POST","url":%s,"body":%s}\n'
            % (msgspec.json.encode(id), msgspec.json.encode(self.url), encoded.to_bytes())
            for id, encoded in requests.items()
        ]
        file = read_object((yield _upload(b"".join(lines))))
        if not isinstance(file.get("id"), str):
            raise EngineError(f"the uploaded file got no id: {file}", code="protocol")
        wanted = {"input_file_id": file["id"], "endpoint": self.url, "completion_window": "24h"}
        return _read_batch((yield json_request("/batches", wanted, repeatable=False)))

    def batch(self, id: str) -> Steps[Batch]:
        return _read_batch((yield HttpRequest(f"/batches/{path_segment(id)}", method="GET")))

    def cancel_batch(self, id: str) -> Steps[Batch]:
        return _read_batch((yield HttpRequest(f"/batches/{path_segment(id)}/cancel")))

    def batch_replies(self, id: str) -> Steps[BatchReplies]:
        batch = yield from self.batch(id)
        if batch.status != "ended":
            raise still_running(batch)
        files = [batch.raw.get(name) for name in ("output_file_id", "error_file_id")]
        texts: list[bytes] = []
        for file in files:  # what failed is in a file of its own
            if isinstance(file, str):
                texts.append((yield HttpRequest(f"/files/{path_segment(file)}/content", method="GET")))
        if not texts and batch.problems:
            message = f"the batch {id} was refused: {'; '.join(batch.problems)}"
            raise EngineError(message, code="batch_failed")
        return read_lines(b"\n".join(texts), self._read_line)

    def _read_line(self, line: dict[str, Any]) -> tuple[Any, Reply | EngineError]:
        id, response, error = line["custom_id"], line.get("response"), line.get("error")
        if isinstance(error, dict):
            code = error.get("code")
            message = str(error.get("message") or code or "the request failed")
            return id, EngineError(message, code=code if isinstance(code, str) else None)
        status, body = response["status_code"], response["body"]  # type: ignore[index]
        if not 200 <= status < 300:
            return id, self._codec.error(status, {}, body)
        try:
            return id, msgspec.structs.replace(
                self._codec.decode(body),
                request_id=response.get("request_id"),  # type: ignore[union-attr]
            )
        except EngineError as failure:
            return id, failure


def _upload(lines: bytes) -> HttpRequest:
    """The file of a batch as a form. The boundary is random, so that no line of ours can hold it."""
    boundary = uuid.uuid4().hex
    form = (
        f'--{boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
        "content-type: application/jsonl\r\n\r\n"
    ).encode()
    body = b"%s%s\r\n--%s--\r\n" % (form, lines, boundary.encode())
    return HttpRequest("/files", body, {"content-type": f"multipart/form-data; boundary={boundary}"})


def _read_batch(body: bytes) -> Batch:
    said = read_object(body)
    status, id = said.get("status"), said.get("id")
    if not isinstance(status, str) or not isinstance(id, str):
        raise EngineError(f"the answer is no batch: {said}", code="protocol")
    counts = said.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    errors = said.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    ended = [said.get(f"{word}_at") for word in ("completed", "failed", "expired", "cancelled")]
    return Batch(
        id,
        _STATUSES.get(status, "running"),
        status,
        total=counts.get("total"),
        succeeded=counts.get("completed"),
        failed=counts.get("failed"),
        created=when(said.get("created_at")),
        ended=next((when(time) for time in ended if time is not None), None),
        expires=when(said.get("expires_at")),
        problems=tuple(_problem(row) for row in rows) if isinstance(rows, list) else (),
        raw=said,
    )


def _problem(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)
    line = f"line {row['line']}: " if row.get("line") is not None else ""
    return f"{line}{row.get('message') or row.get('code')}"
