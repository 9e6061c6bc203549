"""What is asked of a model, in terms no provider owns, and what an API can take.

Rule: numbers that bound a provider are data (`Limits`, `Features`), never code.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from .base import Tagged, Value
from .calls import ExecutedBy, NativeCall, NativeResult
from .conversation import Citation, Conversation, FinishReason, Metadata, Usage
from .outcomes import Media


class ToolExample(Value, frozen=True):
    """A good call of a tool: what goes in, what comes out, and why it is a good one."""

    input: dict[str, Any]
    output: Any = None
    description: str | None = None


class FunctionDefinition(Tagged, frozen=True):
    """A tool with a JSON Schema for its arguments.

    `strict=None` leaves it to the API: strict where nothing is lost by it. A `deferred` tool is
    found by search before it can be called.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    namespace: str | None = None
    strict: bool | None = None
    examples: tuple[ToolExample, ...] = ()
    output_schema: dict[str, Any] | None = None
    deferred: bool = False
    metadata: Metadata = {}


class FreeformDefinition(Tagged, frozen=True):
    """A tool whose input is plain text, bounded by a grammar where there is one."""

    name: str
    description: str
    syntax: Literal["lark", "regex"] | None = None
    grammar: str | None = None
    namespace: str | None = None
    deferred: bool = False
    metadata: Metadata = {}


class ProviderDefinition(Tagged, frozen=True):
    """A tool the provider defines, named by its stable dated id; `settings` go out as they are.

    `name` is the name the model will call it by, where the API lets one be given or fixes one.
    """

    id: str
    wire_type: str
    name: str | None = None
    settings: dict[str, Any] = {}


Definition = FunctionDefinition | FreeformDefinition | ProviderDefinition


ChoiceMode = Literal["auto", "none", "required", "one", "subset"]


class ToolChoice(Value, frozen=True):
    """Which tools the model may or must call. `one` and `subset` name tools as the caller knows them."""

    mode: ChoiceMode = "auto"
    names: tuple[str, ...] = ()
    required: bool = False
    """For a subset: whether the model must call one of them."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(ChoiceMode):
            raise ValueError(f"a choice is one of {', '.join(get_args(ChoiceMode))}, not {self.mode!r}")
        given: Any = self.names
        if isinstance(given, str):
            raise ValueError(f"the names of a choice are a tuple: ({given!r},)")
        if self.mode == "one" and len(self.names) != 1:
            raise ValueError(f"a choice of one tool names exactly one, not {len(self.names)}")
        if self.mode == "subset" and not self.names:
            raise ValueError("a choice among a subset of tools names at least one")
        if self.names and self.mode not in ("one", "subset"):
            raise ValueError(f'the choice "{self.mode}" takes no tool names')
        if self.required and self.mode != "subset":
            raise ValueError('only the choice "subset" takes `required`; otherwise use the choice "required"')


ThinkingLevel = Literal["off", "low", "medium", "high"]


class Thinking(Value, frozen=True):
    """How much the model may think: a level, or a number of tokens."""

    level: ThinkingLevel | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if (self.level is None) == (self.tokens is None):
            raise ValueError("thinking is either a level or a number of tokens")
        if self.level is not None and self.level not in get_args(ThinkingLevel):
            raise ValueError(
                f"the level of thinking is one of {', '.join(get_args(ThinkingLevel))}, not {self.level!r}"
            )
        if self.tokens is not None and self.tokens <= 0:
            raise ValueError('thinking takes a positive number of tokens; to switch it off say level="off"')


class Request(Value, frozen=True):
    """One exchange with a model. `provider_options` are sent through untouched.

    `cache` asks the provider to keep what this request says, since a later one will begin with the same: where the API
    wants to be told so, the request marks what to keep or names the conversation.
    """

    model: str
    conversation: Conversation
    definitions: tuple[Definition, ...] = ()
    choice: ToolChoice = ToolChoice()
    parallel: bool | None = None
    thinking: Thinking | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    response_schema: dict[str, Any] | None = None
    stream: bool = False
    cache: bool = False
    provider_options: dict[str, Any] = {}


# ── what arrives while a model answers ───────────────────────────────────────


class Chunk(Tagged, frozen=True):
    """The root of all chunks."""


class TextChunk(Chunk, frozen=True):
    """More text."""

    text: str


class ThinkingChunk(Chunk, frozen=True):
    """More thinking."""

    text: str


class RefusalChunk(Chunk, frozen=True):
    """More of the words in which a model refuses."""

    text: str


class CallStarted(Chunk, frozen=True):
    """A call began; its id and name hold from here on."""

    call_id: str
    name: str
    namespace: str | None = None
    executed_by: ExecutedBy = ExecutedBy.CLIENT


class ArgumentsChunk(Chunk, frozen=True):
    """More of a call's arguments: of their JSON text, or, with `path`, of the one value at that path."""

    call_id: str
    text: str
    path: str | None = None


class CallFinished(Chunk, frozen=True):
    """A call is complete."""

    call: NativeCall


class ResultArrived(Chunk, frozen=True):
    """The provider ran a call itself; this is what it gave."""

    result: NativeResult


class MediaArrived(Chunk, frozen=True):
    """An image, a sound or a file the model made."""

    media: Media


class CitationArrived(Chunk, frozen=True):
    """A source of something said."""

    citation: Citation


class UsageArrived(Chunk, frozen=True):
    """Tokens counted so far."""

    usage: Usage


class Restarted(Chunk, frozen=True):
    """The answer is asked for anew: what came of it before no longer counts."""

    reason: str


class Finished(Chunk, frozen=True):
    """The model stopped."""

    finish: FinishReason


AnyChunk = (
    TextChunk
    | ThinkingChunk
    | RefusalChunk
    | CallStarted
    | ArgumentsChunk
    | CallFinished
    | ResultArrived
    | MediaArrived
    | CitationArrived
    | UsageArrived
    | Restarted
    | Finished
)


# ── what an API can take ─────────────────────────────────────────────────────


class Limits(Value, frozen=True):
    """What an API takes at the most; `None` is "no limit known". Patterns match a whole name."""

    tools: int | None = None
    name_length: int | None = None
    name_pattern: str | None = None
    parameter_name_length: int | None = None
    parameter_name_pattern: str | None = None
    schema_depth: int | None = None
    schema_properties: int | None = None
    enum_values: int | None = None
    strict_tool_count: int | None = None
    strict_optional_parameters: int | None = None
    strict_unions: int | None = None
    call_id_pattern: str | None = None
    call_id_length: int | None = None
    stop_sequences: int | None = None
    window: int | None = None
    """Tokens of a request and its answer together."""
    max_output_tokens: int | None = None
    """Tokens of an answer."""
    thinking_tokens: int | None = None
    least_thinking_tokens: int | None = None
    temperature: float | None = None


class Features(Value, frozen=True):
    """What an API and a model family can do."""

    choices: tuple[ChoiceMode, ...] = ("auto",)
    freeform_tools: bool = False
    namespaces: bool = False
    strict_tools: bool = False
    deferred_tools: bool = False
    streaming: bool = False
    thinking: bool = False
    thinking_off: bool = True
    """Whether thinking can be switched off."""
    forced_choice_with_thinking: bool = True
    sampling: bool = True
    """Whether a temperature and a `top_p` may be chosen."""
    sampling_with_thinking: bool = True
    mixed_tools: bool = True
    images_in_results: bool = False
    response_schema: bool = False
    tool_examples: bool = False
    cache_key: bool = False
    """Whether a request may name its conversation, so that its prompt cache is found."""
