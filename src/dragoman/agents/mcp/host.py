"""What MCP servers may ask of the program that uses them: its user, its model, its folders, and a login.

Rule: only what is given here is offered. A request for anything else gets the answer that it is not supported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import DefinitionError, ToolError

from .caller import Answered

if TYPE_CHECKING:
    from .login import Login


class Question(msgspec.Struct, frozen=True):
    """What a server asks the user: a form (`schema`, an object of plain values), or to visit `url`."""

    server: str
    message: str
    schema: dict[str, Any] | None = None
    url: str | None = None


class SampleRequest(msgspec.Struct, frozen=True):
    """What a server asks a model: the texts of the conversation with their roles."""

    server: str
    messages: tuple[tuple[str, str], ...]
    max_tokens: int
    system_prompt: str | None = None


class Sample(msgspec.Struct, frozen=True):
    """What the model answered, and which it was."""

    text: str
    model: str


class McpHost(msgspec.Struct, frozen=True, kw_only=True):
    """What servers may ask for; what is `None` or empty is not offered.

    `elicit` asks the user; what it leaves out of an accepted form gets the form's defaults. `sample` asks a model:
    whoever gives it decides, or lets the user decide, which requests are answered, and raises `ToolError` for others.
    `roots` are the folders that servers may know about. `login` logs in to servers that require it, over HTTP.
    """

    elicit: Callable[[Question], Awaitable[Answered]] | None = None
    sample: Callable[[SampleRequest], Awaitable[Sample]] | None = None
    roots: tuple[Path, ...] = ()
    login: Login | None = None

    @property
    def answers(self) -> bool:
        """Whether servers may ask the user, a model, or for folders."""
        return self.elicit is not None or self.sample is not None or bool(self.roots)

    def callbacks(
        self, server: str, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> dict[str, Any]:
        """The same as the MCP package wants it, for one server. `waiting` is entered while somebody is asked."""

        async def elicited(_: Any, params: Any) -> Any:
            with waiting():
                return await self._elicited(server, params)

        async def sampled(_: Any, params: Any) -> Any:
            with waiting():
                return await self._sampled(server, params)

        made: dict[str, Any] = {}
        if self.elicit is not None:
            made["elicitation_callback"] = elicited
        if self.sample is not None:
            made["sampling_callback"] = sampled
        if self.roots:
            made["list_roots_callback"] = self._listed
        return made

    async def _elicited(self, server: str, params: Any) -> Any:
        from mcp.types import INVALID_REQUEST, ElicitResult, ErrorData

        assert self.elicit is not None  # it is offered only then
        schema, url = getattr(params, "requested_schema", None), getattr(params, "url", None)
        try:
            answer = await self.elicit(Question(server, params.message, schema, url))
            if answer.action != "accept" or schema is None:
                return ElicitResult(action=answer.action)
            content = {**_defaults(schema), **answer.content}
            problems = _problems(schema, content)
        except (ToolError, DefinitionError) as error:  # the latter: the form itself is wrong
            return ErrorData(code=INVALID_REQUEST, message=str(error))
        if problems:
            return ErrorData(code=INVALID_REQUEST, message=f"the user's answer does not fit: {'; '.join(problems)}")
        return ElicitResult(action="accept", content=content)

    async def _sampled(self, server: str, params: Any) -> Any:
        from mcp.types import INVALID_REQUEST, CreateMessageResult, ErrorData, TextContent

        assert self.sample is not None  # it is offered only then
        messages: list[tuple[str, str]] = []
        for message in params.messages:
            for block in message.content if isinstance(message.content, list) else [message.content]:
                if block.type != "text":
                    return ErrorData(code=INVALID_REQUEST, message=f"only text can be sampled here, not {block.type}")
                messages.append((message.role, block.text))
        try:
            wanted = SampleRequest(server, tuple(messages), params.max_tokens, params.system_prompt)
            sample = await self.sample(wanted)
        except ToolError as error:
            return ErrorData(code=INVALID_REQUEST, message=str(error))
        return CreateMessageResult(role="assistant", content=TextContent(text=sample.text), model=sample.model)

    async def _listed(self, _: Any) -> Any:
        from mcp.types import ListRootsResult, Root

        return ListRootsResult(
            roots=[Root.model_validate({"uri": root.absolute().as_uri(), "name": root.name}) for root in self.roots]
        )


def _defaults(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    rows = properties.items() if isinstance(properties, dict) else ()
    return {name: one["default"] for name, one in rows if isinstance(one, dict) and "default" in one}


def _problems(schema: dict[str, Any], content: dict[str, Any]) -> list[str]:
    from dragoman.schema import problems_against

    return problems_against(schema, content)
