"""Prompts of MCP servers: what a server has prepared for a person to say to a model.

Rule: a prompt is chosen by a person, never by a model, and what it says is what the server said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import ToolError, nearest
from dragoman.model import conversation as conv

from .content import piece_of

if TYPE_CHECKING:
    from mcp.types import GetPromptResult, Prompt


class PromptArgument(msgspec.Struct, frozen=True):
    """What a prompt wants to be given."""

    name: str
    description: str | None = None
    required: bool = False


class McpPrompt(msgspec.Struct, frozen=True):
    """A prompt of a server."""

    server: str
    name: str
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def usage(self) -> str:
        """Its name with its arguments: `files/review path=… [depth=…]`."""
        words = [f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in self.arguments]
        return " ".join((f"{self.server}/{self.name}", *words))

    def check(self, given: Mapping[str, str]) -> None:
        """Raises `ToolError` where an argument is missing, or is none of this prompt's."""
        known = [one.name for one in self.arguments]
        for name in given:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                message = f"the prompt {self.server}/{self.name} has no argument {name!r}; {has}.{nearest(name, known)}"
                raise ToolError(message, kind="invalid_arguments")
        missing = [one.name for one in self.arguments if one.required and one.name not in given]
        if missing:
            message = f"the prompt {self.server}/{self.name} needs {', '.join(missing)}: {self.usage}"
            raise ToolError(message, kind="invalid_arguments")


def prompt_of(server: str, one: Prompt) -> McpPrompt:
    """A prompt as a server lists it."""
    arguments = tuple(
        PromptArgument(arg.name, arg.description, required=bool(arg.required)) for arg in one.arguments or ()
    )
    return McpPrompt(server, one.name, one.description or one.title, arguments)


def messages_of(result: GetPromptResult) -> tuple[conv.Message, ...]:
    """What a prompt says: messages of the user and, as examples, of a model."""
    return tuple(
        (conv.user if message.role == "user" else conv.assistant)(piece_of(message.content))
        for message in result.messages
    )
