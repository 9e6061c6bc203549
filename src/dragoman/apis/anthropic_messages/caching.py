"""Marks for the prompt cache: the provider keeps what a request says up to each of them, tools and system included.

The marks stand at the end of the system prompt and of the last two user messages. The next request repeats the last of
them as the one before its last, so it always finds what this one wrote, however many blocks were added since (the API
looks back 20 blocks from a mark, and no further). Marks are no part of what is compared.
"""

from __future__ import annotations

from typing import Any, Final

Block = dict[str, Any]

MARK: Final = {"cache_control": {"type": "ephemeral"}}
_TURNS: Final = 2
_MARKED: Final = frozenset({"text", "image", "document", "search_result", "tool_result"})
"""Blocks that take a mark. Anthropic, "Prompt caching": thinking cannot be marked, and neither can empty text."""


def mark(system: list[Block], messages: list[Block]) -> None:
    """Marks what to keep, unless the caller has marked something already: the API takes four marks at the most."""
    if any("cache_control" in block for block in (*system, *_blocks(messages))):
        return
    if system:
        system[-1] = {**system[-1], **MARK}
    users = [message for message in messages if message["role"] == "user"]
    for message in users[-_TURNS:]:
        content = message["content"]
        at = next((at for at in reversed(range(len(content))) if content[at].get("type") in _MARKED), None)
        if at is not None:
            content[at] = {**content[at], **MARK}


def _blocks(messages: list[Block]) -> list[Block]:
    blocks = [block for message in messages for block in message["content"]]
    inner = [block for outer in blocks if isinstance(outer.get("content"), list) for block in outer["content"]]
    return [block for block in (*blocks, *inner) if isinstance(block, dict)]
