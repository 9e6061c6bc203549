"""OpenAI's Agents SDK: `Agent(…, tools=tools)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from dragoman.model import CallPart, Media

from .bridge import Bridge, installed, unshown


class OpenAIAgentsTools(Bridge):
    """A list of `agents.FunctionTool`. A failed call returns its error as text: this SDK has no flag for it."""

    framework = "openai-agents"

    def offered(self) -> Iterable[Any]:
        self._package = installed(self.framework, "agents", "openai-agents")
        return [
            self._package.FunctionTool(
                name=tool["name"],
                description=tool.get("description", ""),
                params_json_schema=tool["parameters"],
                on_invoke_tool=self._runs(tool["name"]),
                strict_json_schema=False,
            )
            for tool in self.functions
        ]

    def _runs(self, name: str) -> Callable[[Any, str], Awaitable[Any]]:
        async def run(context: Any, arguments: str) -> Any:
            result = await self.call(name, self._arguments(name, arguments), context.tool_call_id)
            if isinstance(result.content, str):
                return result.content
            return [self._piece(piece) for piece in result.content]

        return run

    def _arguments(self, name: str, text: str) -> dict[str, Any] | str:
        called = {"id": "call", "type": "function", "function": {"name": name, "arguments": text}}
        (part,) = self._codec.read_parts([{"role": "assistant", "tool_calls": [called]}])
        assert isinstance(part, CallPart)
        return part.call.arguments

    def _piece(self, piece: str | Media) -> Any:
        if isinstance(piece, str) or not (piece.data or piece.url):
            return self._package.ToolOutputText(text=piece if isinstance(piece, str) else unshown(piece))
        url = piece.url if piece.data is None else f"data:{piece.media_type};base64,{piece.data}"
        if piece.media_type.startswith("image/"):
            return self._package.ToolOutputImage(image_url=url)
        return self._package.ToolOutputFileContent(file_data=url, filename=piece.name)
