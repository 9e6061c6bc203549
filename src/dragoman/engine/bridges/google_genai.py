"""Google's SDK: `client.models.generate_content`, whose settings are one `config`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.model.conversation import AnyPart

from .wire import WireTools


class GoogleTools(WireTools):
    """`contents += [response.candidates[0].content, *tools.run_sync(response)]`."""

    framework = "google-genai"
    api = "gemini_generate"
    turns, whole = "contents", "candidates"

    def parts_of(self, items: list[Any]) -> Iterable[AnyPart]:
        """Parts, contents that hold parts, or the bare `function_calls` of a response."""
        return super().parts_of([part for item in items for part in _parts(item)])


def _parts(item: Any) -> list[Any]:
    if isinstance(item, dict) and "parts" in item:
        return list(item["parts"] or ())
    return [{"functionCall": item}] if isinstance(item, dict) and "name" in item else [item]
