"""What both of OpenAI's APIs answer in the same way: errors and the list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.errors import EngineError

from .api import is_too_long
from .serving import STATUSES, ServerSide, status_of

_CODES = {401: "invalid_api_key", 403: "permission_denied", 404: "model_not_found", 429: "rate_limit_exceeded"}


class OpenAiServer(ServerSide):
    """Errors and models in the shape that clients of both APIs expect."""

    def error(self, error: EngineError) -> tuple[int, dict[str, Any]]:
        status = STATUSES.get(status_of(error), status_of(error))
        code = "context_length_exceeded" if is_too_long(error) else _CODES.get(status)
        if status == 429 and not error.retryable:
            code = "insufficient_quota"
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return status, {"error": {"message": error.message, "type": kind, "param": None, "code": code}}

    def model(self, name: str, window: int | None) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": 1735689600, "owned_by": "dragoman"}

    def models(self, windows: Mapping[str, int | None]) -> dict[str, Any]:
        return {"object": "list", "data": [self.model(name, window) for name, window in windows.items()]}
