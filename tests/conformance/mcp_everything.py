"""The server that the official MCP conformance suite asks for: its tools, resources and prompts, defined as ours."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

from dragoman.agents import ToolServer
from dragoman.agents.mcp import McpCaller, Served, ServedPrompt, ServedResource
from dragoman.model import outcomes as out
from dragoman.tools import Context, Tool, Toolset, tool

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="  # one red pixel
)
WAV = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
).decode()


@tool
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> out.ImageOutcome:
    """Returns a picture."""
    return out.ImageOutcome(out.Media("image/png", data=PNG))


@tool
def test_audio_content() -> out.ContentOutcome:
    """Returns a sound."""
    return out.ContentOutcome((out.Media("audio/wav", data=WAV),))


@tool
def test_embedded_resource() -> out.ResourcesOutcome:
    """Returns a resource."""
    text = "This is an embedded resource content."
    return out.ResourcesOutcome((out.Resource("test://embedded-resource", media_type="text/plain", text=text),))


@tool
def test_multiple_content_types() -> out.ContentOutcome:
    """Returns a text, a picture and a resource."""
    data = base64.b64encode(b'{"test":"data","value":123}').decode()
    resource = out.Media("application/json", data=data, url="test://mixed-content-resource")
    return out.ContentOutcome(("Multiple content types test:", out.Media("image/png", data=PNG), resource))


@tool
async def test_tool_with_logging(context: Context) -> str:
    """Logs three messages."""
    caller = context.get(McpCaller)
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await caller.log(message)
        await asyncio.sleep(0.05)
    return "Logged."


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(context: Context) -> str:
    """Reports how far it is."""
    for fraction in (0.0, 0.5, 1.0):
        context.progress(fraction=fraction)
        await asyncio.sleep(0.05)
    return "Done."


@tool
async def test_sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    return f"LLM response: {await context.get(McpCaller).sample(prompt, max_tokens=100)}"


async def asked(context: Context, message: str, properties: dict[str, Any], *required: str) -> str:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = await context.get(McpCaller).elicit(message, schema)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@tool
async def test_elicitation(message: str, context: Context) -> str:
    """Asks the client's user."""
    words = {"username": "User's response", "email": "User's email address"}
    properties = {name: {"type": "string", "description": text} for name, text in words.items()}
    return await asked(context, message, properties, *words)


@tool
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Asks with a default for everything."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await asked(context, "Fill it in", properties)


@tool
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Asks for a choice in every form."""
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    names = ["Option One", "Option Two", "Option Three"]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await asked(context, "Choose", properties)


@tool
async def test_reconnection(context: Context) -> str:
    """Ends the stream of its answer before it answers."""
    await context.get(McpCaller).close_stream()
    await asyncio.sleep(0.1)
    return "Reconnection test completed successfully"


JSON_SCHEMA = Tool(
    "json_schema_2020_12_tool",
    "Tool with JSON Schema 2020-12 features",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    },
    lambda arguments: str(arguments),
)

TOOLS = [
    *(test_simple_text, test_image_content, test_audio_content, test_embedded_resource, test_multiple_content_types),
    *(test_tool_with_logging, test_error_handling, test_tool_with_progress, test_sampling, test_elicitation),
    *(test_elicitation_sep1034_defaults, test_elicitation_sep1330_enums, test_reconnection, JSON_SCHEMA),
]


async def static_text(uri: str) -> str:
    return "This is the content of the static text resource."


async def static_binary(uri: str) -> bytes:
    return base64.b64decode(PNG)


async def templated(uri: str, id: str) -> str:
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


RESOURCES = [
    ServedResource(
        uri="test://static-text", name="text", description="A text", media_type="text/plain", read=static_text
    ),
    ServedResource(
        uri="test://static-binary", name="pixel", description="A pixel", media_type="image/png", read=static_binary
    ),
    ServedResource(
        uri="test://watched-resource", name="watched", description="A text", media_type="text/plain", read=static_text
    ),
    ServedResource(
        uri="test://template/{id}/data",
        name="data",
        description="Data by id",
        media_type="application/json",
        read=templated,
    ),
]


async def simple(_: dict[str, str]) -> list[Any]:
    return ["This is a simple prompt for testing."]


async def with_arguments(given: dict[str, str]) -> list[Any]:
    return [f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"]


async def with_resource(given: dict[str, str]) -> list[Any]:
    text = "Embedded resource content for testing."
    resource = out.Resource(given["resourceUri"], media_type="text/plain", text=text)
    return [resource, "Please process the embedded resource above."]


async def with_image(_: dict[str, str]) -> list[Any]:
    return [out.Media("image/png", data=PNG), "Please analyze the image above."]


async def words(_: str, value: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


PROMPTS = [
    ServedPrompt(name="test_simple_prompt", description="Simple", messages=simple),
    ServedPrompt(
        name="test_prompt_with_arguments",
        description="With arguments",
        arguments={"arg1": True, "arg2": True},
        messages=with_arguments,
        complete=words,
    ),
    ServedPrompt(
        name="test_prompt_with_embedded_resource",
        description="With a resource",
        arguments={"resourceUri": True},
        messages=with_resource,
    ),
    ServedPrompt(name="test_prompt_with_image", description="With a picture", messages=with_image),
]


async def main() -> None:
    def ready(served: Served) -> None:
        sys.stdout.write(served.url + "\n")
        sys.stdout.flush()

    from dragoman.engine import ToolPolicy

    server = ToolServer(Toolset(TOOLS), policy=ToolPolicy(default="allow"), resources=RESOURCES, prompts=PROMPTS)
    await server.serve_http(token=False, ready=ready)


if __name__ == "__main__":
    asyncio.run(main())
