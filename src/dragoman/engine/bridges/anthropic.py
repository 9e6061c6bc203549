"""Anthropic's SDK: `client.messages`."""

from __future__ import annotations

from .wire import WireTools


class AnthropicTools(WireTools):
    """`messages += [{"role": "assistant", "content": message.content}, *tools.run_sync(message)]`."""

    framework = "anthropic"
    api = "anthropic_messages"
    turns, whole = "messages", "stop_reason"
