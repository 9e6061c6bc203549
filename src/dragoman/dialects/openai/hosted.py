"""What the provider runs itself: documents, programs, pictures, tools looked for. A screen is ours to act on."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import tell_all, understand
from dragoman.dialects.base.responses_items import is_item, tools_found, unfinished_item
from dragoman.dialects.base.spelling import NativeContent, ProviderExecuted, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import converted, json_text, read_json

_LIMIT = "how much is looked at is a setting of the tool"


class ItemResults:
    """Results that stand in an item of the provider's, which says the same of every operation of its call."""

    result_items: tuple[str, ...] = ()
    """Types of the items that hold a result."""

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not is_item(native.item, *self.result_items):
            return understand(operation, native)
        unfinished = unfinished_item(native.item)
        if unfinished is not None:
            return unfinished
        outcome = self.in_item(native.item)
        if outcome is not None:
            return outcome
        return understand(operation, native) if native.content else out.DoneOutcome()

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        """The outcome an item holds, or `None` when it was not asked to hold one."""
        raise NotImplementedError


# ── documents ────────────────────────────────────────────────────────────────


class _FoundText(msgspec.Struct):
    """One piece of a document that was found."""

    file_id: str | None = None
    filename: str | None = None
    text: str | None = None


class FileSearch(ItemResults, ProviderExecuted[op.SearchDocuments]):
    """Search the documents of vector stores."""

    native_name = "file_search"
    only_by_id = "it needs the stores to search"
    unsaid = {"limit": _LIMIT}
    result_items = ("file_search_call",)

    queries: tuple[str, ...] = means(None, "What to look for.", default=())

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(op.SearchDocuments(query) for query in self.queries or ("",))

    @classmethod
    def from_operation(cls, operation: op.SearchDocuments) -> FileSearch:
        return cls(queries=(operation.query,))

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        try:
            found = converted(item.get("results"), list[_FoundText] | None)
        except msgspec.ValidationError:
            return out.JsonOutcome(item.get("results"))
        if found is None:
            return None
        return out.ResourcesOutcome(
            tuple(out.Resource(one.file_id or "", one.filename, text=one.text) for one in found)
        )


# ── programs ─────────────────────────────────────────────────────────────────


class CodeInterpreter(ItemResults, ProviderExecuted[op.RunCode]):
    """Run Python in a container of the provider's."""

    native_name = "code_interpreter"
    only_by_id = "it needs a container"
    always = {"language": "python"}
    result_items = ("code_interpreter_call",)

    code: str = means("code", "The program.", default="")
    container_id: str | None = native_only("where it ran")

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        match item.get("outputs"):
            case [{"type": "logs", "logs": str(logs)}]:
                return out.TextOutcome(logs)
            case [_, *_] as outputs:
                return out.ContentOutcome(tuple(_output(one) for one in outputs), outputs)
        return None


def _output(output: Any) -> str | out.Media:
    match output:
        case {"type": "logs", "logs": str(logs)}:
            return logs
        case {"type": "image", "url": str(url)}:
            return media_at(url)
    return json_text(output)


class Program(ItemResults, ProviderExecuted[op.RunCode]):
    """Run JavaScript that calls the other tools; each call it makes comes as a call of its own."""

    native_name = "program"
    only_by_id = "programs call the tools of the request, which must allow it"
    always = {"language": "javascript"}
    result_items = ("program_output",)

    code: str = means("code", "The program.", default="")
    fingerprint: str | None = native_only("the provider's mark, which travels back in the item")

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        result = item.get("result")
        if not isinstance(result, str):
            return None
        try:
            return out.JsonOutcome(read_json(result))
        except msgspec.DecodeError:
            return out.TextOutcome(result)


# ── pictures ─────────────────────────────────────────────────────────────────

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^,;]*)*;base64,(.*)", re.DOTALL)
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}
"""How the base64 of known kinds of pictures begins."""
_SIZE = re.compile(r"(\d+)x(\d+)")


def media_at(url: str) -> out.Media:
    """A picture by its address, or by what stands in it."""
    inline = _DATA_URL.fullmatch(url)
    return out.Media(inline[1], inline[2]) if inline else out.Media("image/*", url=url)


class ImageGeneration(ItemResults, ProviderExecuted[op.GenerateImage]):
    """Make a picture, or change one."""

    native_name = "image_generation"
    result_items = ("image_generation_call",)

    prompt: str | None = means("prompt", "What is to be seen.", default=None)
    revised_prompt: str | None = means(None, "The same as the model that paints was told it.", default=None)
    size: str | None = means("size", "Width and height in pixels.", default=None)
    output_format: str | None = means("format", "Kind of picture.", default=None)
    action: str | None = native_only("whether a picture is new or changed shows in the conversation")
    background: str | None = native_only("how it is painted is a setting of the tool")
    quality: str | None = native_only("how it is painted is a setting of the tool")

    def to_operations(self) -> tuple[op.Operation, ...]:
        prompt = self.prompt if self.prompt is not None else self.revised_prompt
        return (op.GenerateImage(prompt, self.size, self.output_format),)

    @classmethod
    def from_operation(cls, operation: op.GenerateImage) -> ImageGeneration:
        return cls(prompt=operation.prompt, size=operation.size, output_format=operation.format)

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        data, kind, size = item.get("result"), item.get("output_format"), _SIZE.fullmatch(str(item.get("size")))
        if not isinstance(data, str):
            return None
        known = f"image/{kind}" if isinstance(kind, str) else _kind_of(data)
        width, height = (int(size[1]), int(size[2])) if size else (None, None)
        return out.ImageOutcome(out.Media(known, data, width=width, height=height))


def _kind_of(data: str) -> str:
    return next((kind for start, kind in _SIGNATURES.items() if data.startswith(start)), "image/*")


# ── tools ────────────────────────────────────────────────────────────────────


class ToolSearch(ItemResults, ProviderExecuted[op.SearchTools]):
    """Look for tools that can be called but are not offered up front."""

    native_name = "tool_search"
    only_by_id = "it needs tools that are not offered up front"
    result_items = ("tool_search_output",)

    query: str | None = means(None, "What to look for.", default=None)
    limit: int | None = means("limit", "How many tools to give at most.", default=None)
    queries: tuple[str, ...] = means(None, "What to look for, several things at once.", default=())
    paths: tuple[str, ...] = means(None, "Names of tools.", default=())
    goal: str | None = means(None, "What the tools are wanted for.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        alone = [text for text in (self.query, self.goal) if text is not None]
        wanted = (*alone, *self.queries, *self.paths) or ("",)
        return tuple(op.SearchTools(text, self.limit) for text in wanted)

    @classmethod
    def from_operation(cls, operation: op.SearchTools) -> ToolSearch:
        return cls(query=operation.query, limit=operation.limit)

    def in_item(self, item: dict[str, Any]) -> out.Outcome | None:
        return tools_found(item)

    def from_outcomes(self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]) -> NativeContent:
        """Tools that we looked for ourselves go back as definitions, what one search found after the other."""
        found: list[dict[str, Any]] = []
        for outcome in outcomes:
            if not isinstance(outcome, out.ToolsOutcome) or (outcome.names and not outcome.definitions):
                return tell_all(operations, outcomes), None  # a name alone is no tool that can be offered
            found += outcome.definitions
        item = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": found}
        return json_text(found), None, item


# ── the screen ───────────────────────────────────────────────────────────────


class Computer(Spelling[op.UseComputer]):
    """Act on a screen and look at it."""

    native_name = "computer"
    formerly = ("computer_use_preview",)
    only_by_id = "nothing here acts on a screen"

    actions: tuple[dict[str, Any], ...] | None = means(None, "What to do, one thing after the other.", default=None)
    type: str | None = means(None, "What to do.", default=None)
    x: int | None = means(None, "Where, from the left.", default=None)
    y: int | None = means(None, "Where, from the top.", default=None)
    button: str | None = means(None, "Which button of the mouse.", default=None)
    keys: tuple[str, ...] | None = means(None, "Which keys.", default=None)
    text: str | None = means(None, "What to type.", default=None)
    path: tuple[dict[str, Any], ...] | None = means(None, "Along which points to drag.", default=None)
    scroll_x: int | None = means(None, "How far to scroll to the right.", default=None)
    scroll_y: int | None = means(None, "How far to scroll down.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        alone = self.native_arguments()
        actions = alone.pop("actions", [])
        if alone:
            actions = [alone, *actions]
        if not actions or not all(isinstance(action.get("type"), str) for action in actions):
            raise ValueError("an action needs its type; give at least one")
        return tuple(
            op.UseComputer(action["type"], {key: value for key, value in action.items() if key != "type"})
            for action in actions
        )

    @classmethod
    def from_operation(cls, operation: op.UseComputer) -> Computer | None:
        if "type" in operation.arguments:
            return None
        return cls(actions=({"type": operation.action, **operation.arguments},))

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        match native.item:
            case {"type": "computer_call_output", "output": {"image_url": str(url)}}:
                return out.ImageOutcome(media_at(url))
            case {"type": "computer_call_output", "output": {"file_id": str(file_id)}}:
                return out.ImageOutcome(out.Media("image/*", file_id=file_id))
        return understand(operation, native)
