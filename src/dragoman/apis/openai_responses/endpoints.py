"""What the Responses API has beside conversations."""

from __future__ import annotations

from dragoman.apis.base.api import Encoded
from dragoman.apis.base.endpoints import Steps, json_request, read_int, read_object
from dragoman.apis.base.openai_endpoints import OpenAiEndpoints

from .fields import NAME

_COUNTED = frozenset(
    {
        # openai 3.49.0, InputTokenCountParams: any other field of a request is refused.
        *("conversation", "input", "instructions", "model", "parallel_tool_calls", "personality"),
        *("previous_response_id", "reasoning", "text", "tool_choice", "tools", "truncation"),
    }
)


class ResponsesEndpoints(OpenAiEndpoints):
    """`/responses/input_tokens`, embeddings and batches."""

    api = NAME
    url = "/v1/responses"

    def count_tokens(self, encoded: Encoded, model: str) -> Steps[int]:
        body = {name: value for name, value in encoded.body.items() if name in _COUNTED}
        answer = yield json_request(f"{encoded.path}/input_tokens", body, encoded.headers)
        return read_int(read_object(answer), "input_tokens")
