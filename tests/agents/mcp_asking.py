"""A server made with the official package: its tools ask the user and the model, and it has prompts and resources."""

from __future__ import annotations

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel, Field

server = MCPServer("asking")


class Booking(BaseModel):
    name: str = Field(description="Who it is for")
    people: int = Field(description="How many", ge=1, le=8)
    window: bool = Field(default=False, description="At the window")


@server.tool()
async def book(context: Context) -> str:
    """Books a table: asks for whom."""
    answer = await context.elicit("A table at eight.", Booking)
    return f"{answer.action}: {answer.data.model_dump() if answer.action == 'accept' else None}"


@server.tool()
async def pay(context: Context) -> str:
    """Sends the user to a page."""
    answer = await context.elicit_url("Please pay.", "https://pay.example/1", "payment-1")
    return answer.action


@server.tool()
async def think(context: Context) -> str:
    """Asks the user's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text="What is 6 × 7?"))
    reply = await context.session.create_message([asked], max_tokens=50, system_prompt="Answer with a number.")
    return f"{reply.model} said {reply.content.text}"


@server.prompt()
def review(path: str, depth: str = "1") -> str:
    """Reviews a file."""
    return f"Review {path} to depth {depth}."


@server.prompt()
def example() -> list[Message]:
    """Shows how."""
    return [UserMessage("One?"), AssistantMessage("Two."), UserMessage("Three?")]


@server.resource("notes://today", mime_type="text/plain")
def today() -> str:
    """Notes of today."""
    return "buy milk"


def served(server: MCPServer) -> None:
    """Over SSE alone, as servers were before streamable HTTP; the port is printed."""
    import socket

    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(server.sse_app(), log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    if "--sse" in sys.argv:
        served(server)
    else:
        server.run(transport="streamable-http" if "--http" in sys.argv else "stdio")
