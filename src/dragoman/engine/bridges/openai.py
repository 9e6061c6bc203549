"""OpenAI's SDK: `client.responses` and `client.chat.completions`, and whatever speaks like them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.model.conversation import AnyPart

from .wire import WireTools


class ResponsesTools(WireTools):
    """`input += response.output; input += tools.run_sync(response)`."""

    framework = "openai"
    api = "openai_responses"
    turns, whole = "input", "output"


class ChatTools(WireTools):
    """`messages += [response.choices[0].message, *tools.run_sync(response)]`."""

    framework = "openai-chat"
    api = "openai_chat"
    turns, whole = "messages", "choices"

    def parts_of(self, items: list[Any]) -> Iterable[AnyPart]:
        """Messages, or the `tool_calls` of one."""
        messages = [item for item in items if isinstance(item, dict) and "role" in item]
        return super().parts_of(messages or [{"role": "assistant", "tool_calls": items}])
