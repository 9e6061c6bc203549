"""Results that were taken out of the conversation again, and those that come from outside."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from dragoman.dialects.base.default_words import tell_all, understand
from dragoman.dialects.base.spelling import Content
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import read_json

_MASKED = re.compile(
    r"<tool_output_masked>\n(?P<left>.*?)\s*(?:Output too large\. Full output available at: |Full string saved to: )"
    r"(?P<saved>[^\n]*?)\]?\n</tool_output_masked>",
    re.DOTALL,
)
"""What is left of an old result when the conversation grows long: its beginning and its end, and where it was saved (a
checkpoint in the client's own repository, August 2026). A command's is left as it was told, without lines in its
middle; any other's as the JSON it was sent in."""
_MASKED_FIRST = re.compile(r'\{\s*"(?:output|error)": "(?P<line>(?:[^"\\\n]|\\[^n\n])*)')


def first_line_left(text: str) -> str:
    """The first line of what is left of a result, or the text itself where nothing was taken out."""
    masked = _MASKED.fullmatch(text)
    first = None if masked is None else _MASKED_FIRST.match(masked["left"])
    if first is None:
        return text
    try:
        return read_json(f'"{first["line"]}"', type=str)
    except msgspec.DecodeError:
        return text


def _untrusted(text: str) -> str:
    return f"<untrusted_context>\n{text}\n</untrusted_context>"


def _trusted(text: str) -> str:
    return text.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")


class FromOutside:
    """Results of MCP servers are wrapped in a tag that marks them as content from outside."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """The outcomes in our own words; a text of a server's in its tag."""
        told = tell_all(operations, outcomes)
        outside = any(isinstance(operation, op.CallMcpTool) for operation in operations)
        return _untrusted(told) if outside and isinstance(told, str) else told

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same without the tag."""
        content = native.content
        plain = _trusted(content) if isinstance(content, str) else tuple(map(_trusted_piece, content))
        return understand(operation, msgspec.structs.replace(native, content=plain))


_OUTSIDE = re.compile(r"\A(\[Tool [^\n]*\]\n)?<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)


def _trusted_piece(piece: str | out.Media) -> str | out.Media:
    return _OUTSIDE.sub(r"\1\2", piece) if isinstance(piece, str) else piece
