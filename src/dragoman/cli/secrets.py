"""Keys and passwords that are known here, and texts, events and exchanges without them.

Rule: what is written down or shown of a run never holds a value of the settings or the environment that is secret, in
none of the forms that `dragoman.logs.redaction.Masker` knows, and neither does what comes in pieces.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dragoman import model
from dragoman.errors import ConfigError
from dragoman.logs import redaction

if TYPE_CHECKING:
    from dragoman.config import Configuration

Kept = TypeVar("Kept", bound=msgspec.Struct)


def secrets_of(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every text that is a secret here: those of the settings, and what the environment calls by such a name."""
    found = {
        value
        for name, value in environment.items()
        # Where a key is kept is no secret, and would be masked in every path.
        if any(word in name.upper() for word in redaction.SECRET_WORDS)
        and not (os.path.isabs(value) and os.path.exists(value))
    }
    found |= set(_secret_settings(configuration.settings))
    found |= set(_stored(configuration))
    return tuple(sorted({one.strip() for one in found if one.strip()}, key=lambda one: (-len(one), one)))


def _stored(configuration: Configuration) -> Iterator[str]:
    """Keys that `dragoman keys set` stored."""
    from dragoman.config.files import stored_key, stored_keys

    try:
        for name in stored_keys(configuration.config_dir):
            key = stored_key(configuration.config_dir, name) or ""
            yield key
            if name.startswith("mcp:"):
                from dragoman.agents.mcp import secrets_in

                yield from secrets_in(key)
    except ConfigError:
        return  # whoever needs the key is told of it


def _secret_settings(value: Any) -> Iterator[str]:
    from dragoman.config import Secret

    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _secret_settings(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _secret_settings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _secret_settings(one)


class Secrets:
    """What may be shown and written down of one run."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._masker = redaction.Masker(secrets)
        self._outputs: dict[str, _Output] = {}
        """What each running command writes, by its call."""
        self._said: tuple[model.TextChunk | model.ThinkingChunk | model.RefusalChunk, redaction.MaskedStream] | None = (
            None
        )

    def text(self, text: str) -> str:
        """A text without secrets."""
        return self._masker.text(text)

    def value(self, value: Kept) -> Kept:
        """The same thing with no secret in any of its texts; the thing itself where there was none."""
        return redaction.texts_changed(value, self._masker.text)

    def events(self, event: model.AnyEvent) -> Iterator[model.AnyEvent]:
        """The next event of the run, as it may be shown.

        What a command writes comes as it writes it, and a secret may be in two pieces of that: a piece that may end
        in the middle of one is told with the next, or when the command has ended.
        """
        from dragoman.model import operations as op

        match event:
            case model.ToolCalled(call=call) if any(isinstance(one, op.RunCommand) for one in call.operations):
                self._outputs[call.id] = _Output(self._masker.stream())
            case model.ToolProgressed(call_id=call_id) if call_id in self._outputs:
                yield from self._outputs[call_id].next(event)
                return
            case model.ToolReturned(result=result) if result.call_id in self._outputs:
                yield from self._outputs.pop(result.call_id).rest()
            case model.SessionEnded(stream="main"):
                for output in self._outputs.values():
                    yield from output.rest()
                self._outputs.clear()
        yield self.value(event)

    def chunks(self, chunk: model.AnyChunk) -> Iterator[model.AnyChunk]:
        """The next piece of a reply, as it may be shown; the end of a text may come with the next piece."""
        if isinstance(chunk, model.Restarted):
            self._said = None  # what was said so far counts no longer
        elif self._said is not None and type(self._said[0]) is not type(chunk):
            yield from self.rest()
        if isinstance(chunk, model.TextChunk | model.ThinkingChunk | model.RefusalChunk):
            stream = self._masker.stream() if self._said is None else self._said[1]
            self._said = chunk, stream
            text = stream.add(chunk.text)
            if text:
                yield msgspec.structs.replace(chunk, text=text)
        else:
            yield chunk

    def rest(self) -> Iterator[model.AnyChunk]:
        """The end of a text of which nothing more will come."""
        if self._said is not None:
            chunk, stream = self._said
            self._said = None
            text = stream.end()
            if text:
                yield msgspec.structs.replace(chunk, text=text)


class _Output:
    """What a command writes while it runs."""

    def __init__(self, stream: redaction.MaskedStream) -> None:
        self._stream = stream
        self._last: model.ToolProgressed | None = None

    def next(self, event: model.ToolProgressed) -> Iterator[model.ToolProgressed]:
        self._last = event
        text = self._stream.add(event.message)
        if text:
            yield msgspec.structs.replace(event, message=text)

    def rest(self) -> Iterator[model.ToolProgressed]:
        text = self._stream.end()
        if text and self._last is not None:
            yield msgspec.structs.replace(self._last, id=f"{self._last.id}-rest", message=text)
