"""LangChain and LangGraph: `create_agent(model, tools)`, `model.bind_tools(tools)`, `ToolNode(tools)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.model import Media, NativeResult

from .bridge import Bridge, installed, text_of, unshown


class LangChainTools(Bridge):
    """A list of `StructuredTool`, for `invoke` and `ainvoke`. A failed call has the status of an error."""

    framework = "langchain"

    def offered(self) -> Iterable[Any]:
        self._package = installed(self.framework, "langchain_core.tools", "langchain-core")
        return [self._tool(tool["name"], tool.get("description", ""), tool["parameters"]) for tool in self.functions]

    def _tool(self, name: str, description: str, parameters: dict[str, Any]) -> Any:
        async def run(**arguments: Any) -> Any:
            return self._told(await self.call(name, arguments))

        def run_sync(**arguments: Any) -> Any:
            return self._told(self.in_background(self.call(name, arguments)))

        return self._package.StructuredTool(
            name=name,
            description=description,
            args_schema=parameters,
            func=run_sync,
            coroutine=run,
            handle_tool_error=True,
        )

    def _told(self, result: NativeResult) -> Any:
        if result.is_error:
            raise self._package.ToolException(text_of(result))
        if isinstance(result.content, str):
            return result.content
        return [_block(piece) for piece in result.content]


def _block(piece: str | Media) -> dict[str, Any]:
    if isinstance(piece, str) or not (piece.data or piece.url):
        return {"type": "text", "text": piece if isinstance(piece, str) else unshown(piece)}
    kind = piece.media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    where = {"url": piece.url} if piece.data is None else {"base64": piece.data}
    return {"type": kind, **where, "mime_type": piece.media_type}
