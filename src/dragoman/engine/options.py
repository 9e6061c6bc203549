"""Options of a request, for one provider or for several: which of them are for the provider that is asked.

Rule: options are flat, or keyed by provider, never both: a key that is a provider's name stands for that provider.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from dragoman.apis import Encoded, RawTool, merged, raw_tools
from dragoman.errors import ConfigError

from .models.providers import PROVIDERS
from .models.who_runs import VENDORS
from .offer import Note

FIELDS: Final = frozenset(
    # Fields of a request that are objects, on any of the APIs. A provider of one's own that is called so cannot be told
    # from the field.
    (
        *("audio", "cache_control", "container", "context_management", "conversation", "function_call"),
        *(
            "generationConfig",
            "labels",
            "logit_bias",
            "metadata",
            "moderation",
            "output_config",
            "prediction",
            "prompt",
        ),
        *("provider", "reasoning", "response_format", "stream_options", "systemInstruction", "text", "thinking"),
        *("toolConfig", "tool_choice", "web_search_options"),
    )
)


def options_of(
    options: Mapping[str, Any], provider: str, own: Collection[str] = ()
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The options that are sent to a provider, and what should be known about the others.

    `own` are providers that the settings define. A provider is named as in `provider:model`, or as in the ids of its
    tools (`google` for `gemini`).
    """
    named = [key for key in options if key in PROVIDERS or key in own or key in VENDORS.values()]
    if not named:
        return dict(options), ()
    unclear = [key for key in named if key not in PROVIDERS and key in FIELDS]
    if unclear:
        raise ConfigError(
            f"options: {unclear[0]!r} is a provider in your settings, and a field of a request as well: "
            f"give the provider another name, or write {{{provider or 'PROVIDER'!r}: {{{unclear[0]!r}: …}}}}"
        )
    flat = [key for key in options if key not in named]
    if flat:
        raise ConfigError(
            f"options are either keyed by provider or not: {named[0]!r} is a provider, {flat[0]!r} is none; "
            f"write {{{named[0]!r}: {{{flat[0]!r}: …}}}}"
        )
    for key in named:
        if not isinstance(options[key], Mapping):
            raise ConfigError(f"options: under the provider {key!r} there must be a dict, not {options[key]!r}")
    vendor = VENDORS.get(provider, provider)
    if provider not in options and vendor not in options:
        return {}, (
            Note("options", f"none is sent: they are for {', '.join(named)}, and {provider or 'none'} is asked"),
        )
    return merged(options.get(vendor, {}) if vendor != provider else {}, options.get(provider, {})), ()


def notes_on_tools(tools: Collection[RawTool]) -> tuple[Note, ...]:
    """What should be known of tools that are offered in the provider's own terms."""
    message = "it is offered as it is; a call of it gets an error, since no tool here runs it"
    return tuple(Note(name, message) for tool in tools if tool.is_function for name in tool.names)


def offered_by(*options: Mapping[str, Any]) -> tuple[RawTool, ...]:
    """The tools that options offer beside those of the toolset."""
    return tuple(tool for each in options for tool in raw_tools(each))


def notes_on_options(encoded: Encoded) -> tuple[Note, ...]:
    """What of ours the options of a request replace."""
    return tuple(Note(one.where, one.message) for one in encoded.report if one.where.startswith("options."))
