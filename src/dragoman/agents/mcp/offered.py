"""What a `ToolServer` offers beside tools: resources, templates of them, and prompts, with completion for both."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec

from dragoman.errors import ToolError
from dragoman.model import outcomes as out
from dragoman.tools.workspace import media_kind

if TYPE_CHECKING:
    from mcp import types

MOST_COMPLETIONS: Final = 100
"""Values of one completion; the protocol allows no more."""
_PLACE: Final = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")

Content = str | out.Media | out.Resource
Complete = Callable[[str, str], Awaitable[Iterable[str]]]
"""The values that an argument (its name, what of it is there) may have."""


class ServedResource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource, or, with `{name}` in its URI, a template of many (`{+name}` takes slashes too).

    `read` is called with the URI and the values of the template. `version` gives anything that differs once the
    content has changed; without it, clients get no notice of changes.
    """

    uri: str
    name: str
    read: Callable[..., Awaitable[str | bytes | out.Media]]
    description: str = ""
    media_type: str | None = None
    version: Callable[..., Any] | None = None
    complete: Complete | None = None

    @property
    def is_template(self) -> bool:
        """Whether its URI has placeholders for a client to fill in."""
        return _PLACE.search(self.uri) is not None

    def values(self, uri: str) -> dict[str, str] | None:
        """The values that make this URI of the template; `None` where none do."""
        pattern, last = "", 0
        for place in _PLACE.finditer(self.uri):
            pattern += re.escape(self.uri[last : place.start()]) + f"(?P<{place[2]}>{'.+' if place[1] else '[^/]+'})"
            last = place.end()
        found = re.fullmatch(pattern + re.escape(self.uri[last:]), uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


class ServedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that a client's user may choose. `arguments` are its names, with whether each is required."""

    name: str
    messages: Callable[[dict[str, str]], Awaitable[Sequence[Content]]]
    description: str = ""
    arguments: dict[str, bool] = {}
    complete: Complete | None = None


class Offered:
    """The resources and prompts of a server, as the handlers of the protocol."""

    def __init__(
        self,
        resources: Iterable[ServedResource],
        prompts: Iterable[ServedPrompt],
        listed: Callable[[], Awaitable[Iterable[ServedResource]]] | None,
    ) -> None:
        self.resources, self._listed = tuple(resources), listed
        self.prompts = {prompt.name: prompt for prompt in prompts}

    def resource_at(self, uri: str) -> tuple[ServedResource, dict[str, str]]:
        """The resource of a URI, with the values of its template. Raises the protocol's error for an unknown one."""
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS

        for one in self.resources:
            if (values := one.values(uri)) is not None:
                return one, values
        raise MCPError(INVALID_PARAMS, f"there is no resource {uri!r}", {"uri": uri})

    async def list_resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        from mcp.types import ListResourcesResult, Resource

        listed = () if self._listed is None else await self._listed()
        single = [*(one for one in self.resources if not one.is_template), *listed]
        rows = [
            Resource(uri=one.uri, name=one.name, description=one.description or None, mime_type=one.media_type)
            for one in single
        ]
        return ListResourcesResult(resources=rows)

    async def list_templates(self, _: Any, __: Any) -> types.ListResourceTemplatesResult:
        from mcp.types import ListResourceTemplatesResult, ResourceTemplate

        rows = [
            ResourceTemplate(
                uri_template=one.uri, name=one.name, description=one.description or None, mime_type=one.media_type
            )
            for one in self.resources
            if one.is_template
        ]
        return ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(self, _: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS, ReadResourceResult

        one, values = self.resource_at(params.uri)
        try:
            content = await one.read(params.uri, **values)
        except ToolError as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": params.uri}) from error
        return ReadResourceResult(contents=[_contents(params.uri, one.media_type, content)])

    async def list_prompts(self, _: Any, __: Any) -> types.ListPromptsResult:
        from mcp.types import ListPromptsResult, Prompt, PromptArgument

        rows = [
            Prompt(
                name=one.name,
                description=one.description or None,
                arguments=[PromptArgument(name=name, required=needed) for name, needed in one.arguments.items()],
            )
            for one in self.prompts.values()
        ]
        return ListPromptsResult(prompts=rows)

    async def get_prompt(self, _: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS, GetPromptResult, PromptMessage

        prompt = self.prompts.get(params.name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name!r}")
        given = params.arguments or {}
        if missing := [name for name, needed in prompt.arguments.items() if needed and name not in given]:
            raise MCPError(INVALID_PARAMS, f"the prompt {params.name} needs {', '.join(missing)}")
        messages = [PromptMessage(role="user", content=block(one)) for one in await prompt.messages(given)]
        return GetPromptResult(description=prompt.description or None, messages=messages)

    async def complete(self, _: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        from mcp.types import CompleteResult, Completion

        reference = params.ref
        complete: Complete | None = None
        if reference.type == "ref/prompt":
            prompt = self.prompts.get(reference.name)
            complete = None if prompt is None else prompt.complete
        else:
            complete = next((one.complete for one in self.resources if one.uri == reference.uri), None)
        values = [] if complete is None else list(await complete(params.argument.name, params.argument.value))
        kept = values[:MOST_COMPLETIONS]
        return CompleteResult(completion=Completion(values=kept, total=len(values), has_more=len(values) > len(kept)))


def block(content: Content) -> Any:
    """A piece of a prompt or of a result, as the protocol has it."""
    from .content import block_of, embedded

    return embedded(content) if isinstance(content, out.Resource) else block_of(content)


def _contents(uri: str, media_type: str | None, content: str | bytes | out.Media) -> Any:
    from base64 import b64encode

    from mcp.types import BlobResourceContents, TextResourceContents

    if isinstance(content, str):
        return TextResourceContents(uri=uri, mime_type=media_type or "text/plain", text=content)
    if isinstance(content, bytes):
        known = media_kind(content[:64])
        kind = media_type or (known.media_type if known else "application/octet-stream")
        return BlobResourceContents(uri=uri, mime_type=kind, blob=b64encode(content).decode())
    return BlobResourceContents(uri=uri, mime_type=content.media_type, blob=content.data or "")
