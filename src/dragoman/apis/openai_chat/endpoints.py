"""What Chat Completions has beside conversations."""

from __future__ import annotations

from dragoman.apis.base.openai_endpoints import OpenAiEndpoints

from .values import NAME


class ChatEndpoints(OpenAiEndpoints):
    """Embeddings and batches; nothing counts tokens."""

    api = NAME
    url = "/v1/chat/completions"
