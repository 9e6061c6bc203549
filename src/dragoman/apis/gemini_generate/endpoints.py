"""What Gemini offers beside conversations: counting tokens, embeddings and batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.apis.base.api import Encoded
from dragoman.apis.base.endpoints import (
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
    read_int,
    read_object,
    read_vector,
    still_running,
    when,
)
from dragoman.errors import DefinitionError, EngineError
from dragoman.model.conversation import Reply, Usage

from .fields import NAME
from .replies import read_body, read_error
from .requests import model_path

_TASKS: dict[Purpose, str] = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
}
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")


class GenerateEndpoints(Endpoints):
    """`:countTokens`, `:batchEmbedContents` and `:batchGenerateContent`, as AI Studio has them (google-genai
    3.1).

    Vertex has other addresses and other bodies for embeddings and batches: a model named with a project's path raises
    `Unsupported` for both.
    """

    api = NAME
    most_texts = 100

    def count_tokens(self, encoded: Encoded, model: str) -> Steps[int]:
        path = model_path(model)
        if _is_vertex(model):  # it takes the fields themselves, and knows no settings of the answer
            fields = ("contents", "systemInstruction", "tools", "generationConfig")
            body = {name: encoded.body[name] for name in fields if name in encoded.body}
        else:  # with the contents alone, neither instructions nor tools would be counted
            body = {"generateContentRequest": {"model": path, **encoded.body}}
        return read_int(read_object((yield json_request(f"{path}:countTokens", body, encoded.headers))), "totalTokens")

    # ── embeddings ─────────────────────────────────────────────────────────

    def _embed_request(
        self, model: str, texts: Sequence[str], dimensions: int | None, purpose: Purpose | None
    ) -> HttpRequest:
        self._check_place(model, "embeddings")
        path = model_path(model)
        settings: dict[str, Any] = {"model": path}
        if dimensions is not None:
            settings["outputDimensionality"] = dimensions
        if purpose is not None:
            settings["taskType"] = _TASKS[purpose]
        rows = [{**settings, "content": {"parts": [{"text": text}]}} for text in texts]
        return json_request(f"{path}:batchEmbedContents", {"requests": rows})

    def _read_embeddings(self, body: dict[str, Any]) -> tuple[list[Vector], Usage]:
        rows = body.get("embeddings")
        rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        used = body.get("usageMetadata")
        tokens = used.get("promptTokenCount") if isinstance(used, dict) else None
        usage = Usage(input_tokens=tokens, output_tokens=0) if isinstance(tokens, int) else Usage()
        return [read_vector(row.get("values")) for row in rows], usage

    # ── batches ────────────────────────────────────────────────────────────

    def submit_batch(self, requests: Mapping[str, Encoded], model: str) -> Steps[Batch]:
        self._check_place(model, "batches")
        self._check_batch(requests)
        rows = [{"request": msgspec.Raw(one.to_bytes()), "metadata": {"key": id}} for id, one in requests.items()]
        batch = {"displayName": "dragoman", "inputConfig": {"requests": {"requests": rows}}}
        path = f"{model_path(model)}:batchGenerateContent"
        return _read_batch((yield json_request(path, {"batch": batch}, repeatable=False)))

    def batch(self, id: str) -> Steps[Batch]:
        return _read_batch((yield HttpRequest(_batch_path(id), method="GET")))

    def cancel_batch(self, id: str) -> Steps[Batch]:
        yield HttpRequest(f"{_batch_path(id)}:cancel")  # the answer is empty
        return (yield from self.batch(id))

    def batch_replies(self, id: str) -> Steps[BatchReplies]:
        batch = yield from self.batch(id)
        if batch.status != "ended":
            raise still_running(batch)
        # google-genai 3.1.0 reads `metadata.output`; the description of the REST API has `response`.
        metadata = batch.raw.get("metadata")
        places = (batch.raw.get("response"), metadata.get("output") if isinstance(metadata, dict) else None)
        output = next((place for place in places if isinstance(place, dict)), {})
        if "responsesFile" in output:
            raise self._unsupported(
                "results in files", f"this batch was not submitted here; download {output['responsesFile']}"
            )
        rows = output.get("inlinedResponses")
        rows = rows.get("inlinedResponses") if isinstance(rows, dict) else rows
        if not isinstance(rows, list):
            reason = "; ".join(batch.problems) or batch.status_raw
            raise EngineError(f"the batch {id} has no results: {reason}", code="batch_failed")
        return _read_rows(rows)

    def _check_place(self, model: str, feature: str) -> None:
        if _is_vertex(model):
            raise self._unsupported(f"{feature} on Vertex", "name the model without a project, for AI Studio")


def _is_vertex(model: str) -> bool:
    return model.startswith(("projects/", "publishers/"))


def _batch_path(id: str) -> str:
    folder, _, name = id.rpartition("/")
    if folder not in ("", "batches"):
        raise DefinitionError("the batch", [f"{id!r} is no id of a batch; it looks like batches/abc123"])
    return f"/batches/{path_segment(name)}"


def _read_batch(body: bytes) -> Batch:
    said = read_object(body)
    metadata, id = said.get("metadata"), said.get("name")
    state = metadata.get("state") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(state, str) or not isinstance(id, str):
        raise EngineError(f"the answer is no batch: {said}", code="protocol")
    stats = metadata.get("batchStats")
    stats = stats if isinstance(stats, dict) else {}
    error = said.get("error")
    status: BatchStatus = "ended" if state.endswith(_ENDED) else "running"
    return Batch(
        id,
        status,
        state,
        total=_count(stats.get("requestCount")),
        succeeded=_count(stats.get("successfulRequestCount")),
        failed=_count(stats.get("failedRequestCount")),
        created=when(metadata.get("createTime")),
        ended=when(metadata.get("endTime")),
        problems=(str(error.get("message")),) if isinstance(error, dict) else (),
        raw=said,
    )


def _count(value: Any) -> int | None:
    """A count, which JSON holds as text."""
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else None


def _read_rows(rows: list[Any]) -> BatchReplies:
    items: dict[str, Reply | EngineError] = {}
    unreadable: list[str] = []
    for row in rows:
        try:
            id = row["metadata"]["key"]
            if not isinstance(id, str) or id in items:
                raise TypeError
            items[id] = _read_row(row)
        except (KeyError, TypeError):
            unreadable.append(msgspec.json.encode(row).decode())
    return BatchReplies(items, tuple(unreadable))


def _read_row(row: dict[str, Any]) -> Reply | EngineError:
    error = row.get("error")
    if error is not None:
        status = error.get("code") if isinstance(error, dict) else None
        return read_error(status if isinstance(status, int) and status >= 400 else None, {}, {"error": error})
    try:
        return read_body(row["response"])
    except EngineError as failure:
        return failure
