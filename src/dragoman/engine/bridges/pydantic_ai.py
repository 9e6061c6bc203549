"""pydantic-ai: `Agent(…, tools=tools)`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from dragoman.model import Media

from .bridge import Bridge, installed, text_of, unshown


class PydanticAITools(Bridge):
    """A list of `pydantic_ai.Tool`. A failed call goes the way pydantic-ai tells failures: `ToolFailed`."""

    framework = "pydantic-ai"

    def offered(self) -> Iterable[Any]:
        self._package = installed(self.framework, "pydantic_ai", "pydantic-ai-slim")
        make = self._package.Tool.from_schema
        return [
            make(self._runs(tool["name"]), tool["name"], tool.get("description"), tool["parameters"], takes_ctx=True)
            for tool in self.functions
        ]

    def _runs(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def run(context: Any, /, **arguments: Any) -> Any:
            result = await self.call(name, arguments, context.tool_call_id)
            if result.is_error:
                raise self._package.exceptions.ToolFailed(text_of(result))
            if isinstance(result.content, str):
                return result.content
            return [piece if isinstance(piece, str) else self._media(piece) for piece in result.content]

        return run

    def _media(self, media: Media) -> Any:
        if media.data is not None:
            return self._package.BinaryContent(b64decode(media.data), media_type=media.media_type)
        return unshown(media) if media.url is None else self._package.ImageUrl(media.url)
