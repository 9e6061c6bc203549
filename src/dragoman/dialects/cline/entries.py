"""How Cline's results are put together: a JSON entry for each operation of a call, failures among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from dragoman.dialects.base.cline_family import decoded
from dragoman.dialects.base.default_words import FailuresInWords, tell_all, text_of, understand
from dragoman.dialects.base.spelling import Content, Refusals, Spelling, Spoken
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import converted, json_text

# ── failures ─────────────────────────────────────────────────────────────────


_SERVER_FAILED = "Error:\n"
"""How the failure of a server's tool is introduced (2.14.0)."""


EDITOR_REFUSALS = Refusals(
    {
        "no_match": "Editor operation failed: No replacement performed: text not found in {path}.",
        "empty": "Editor operation failed: No replacement performed: text not found in {path}.",
        "many_matches": "Editor operation failed: No replacement performed: multiple occurrences of text found in "
        "{path}.",
        "exists": "Editor operation failed: Parameter `old_text` is required when editing an existing file without "
        "`insert_line`",
    }
)
"""Seen with 3.0.65 on loopback."""


class ClineFailures(FailuresInWords):
    """A call that was refused is one error; one that was tried tells it where the result would stand."""

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """In the shape of the tool's own results, so far as it got to run."""
        queries = [query_of(operation) for operation in call.operations]
        refused = EDITOR_REFUSALS.tell(call, failure) if call.native.name == "editor" else None
        if refused is not None:
            return json_text(_failed(str(queries[0]), refused[0])), None
        words = text_of(super().tell(call, failure)[0])
        if failure.kind not in ("failed", "timed_out") or not queries or None in queries:
            return json_text({"error": words}), True
        entries = [_failed(str(query), words) for query in queries]
        return json_text(entries[0] if call.native.name == "editor" else entries), None

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """What is flagged, or is nothing but an error; what failed in a batch is told by its own entry."""
        text = text_of(native.content)
        told = decoded(text)
        if isinstance(told, dict) and told.keys() == {"error"} and isinstance(told["error"], str):
            return out.Failure(self.kind(told["error"]), told["error"])
        if text.startswith(_SERVER_FAILED) and any(isinstance(one, op.CallMcpTool) for one in call.operations):
            return out.Failure("failed", text.removeprefix(_SERVER_FAILED))
        if not call.operations and (errors := _errors_alone(text)):
            # read_files takes a bare `path` that it does not offer (3.0.57, 3.0.64): the entries tell what became of it
            return out.Failure("failed", "\n".join(errors))
        return out.Failure(self.kind(text), text) if native.is_error else None


FAILURES = ClineFailures(
    (
        (r"(?s:.*)(?:AI_NoSuchToolError|unavailable tool)", "unknown_tool"),
        (r"(?s:.*)AI_InvalidToolInputError|Invalid input", "invalid_arguments"),
        (r"Tool call .* was denied", "denied"),
        (r"Tool call .* was cancelled", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool call {tool} was rejected before execution: AI_NoSuchToolError: {message}",
        "invalid_arguments": "Tool call {tool} was rejected before execution: AI_InvalidToolInputError: {message}",
        "denied": "Tool call {tool} was denied: {message}",
        "cancelled": "Tool call {tool} was cancelled: {message}",
        "timed_out": "It timed out: {message}",
    },
)


# ── entries of results ───────────────────────────────────────────────────────


class _Answer(msgspec.Struct, frozen=True):
    query: str
    result: str | list[dict[str, Any]]


class Entry(_Answer, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one operation, as a result tells it."""

    error: str | None = None
    success: bool


def query_of(operation: op.Operation) -> str | None:
    """How an entry names its operation."""
    match operation:
        case op.ReadFile(path=path, first_line=None, last_line=None):
            return path
        case op.ReadFile(path=path, first_line=first, last_line=last):
            return f"{path}:{first or 1}-{'' if last is None else last}"
        case op.RunCommand(command=command):
            return command
        case op.SearchText(pattern=pattern):
            return pattern
        case op.FetchPage(url=url):
            return url
        case op.InsertText(path=path):
            return f"insert:{path}"
        case op.WriteFile(path=path) | op.EditFile(path=path):
            return f"edit:{path}"
    return None


def _errors_alone(text: str) -> list[str]:
    """The errors of a batch of which every entry failed."""
    entries = entries_of(text) or []
    failed = [entry.error for entry in entries if not entry.success and entry.error]
    return failed if len(failed) == len(entries) else []


def _failed(query: str, words: str) -> Entry:
    return Entry(query, "", success=False, error=words)


def _pieces(content: Content) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": piece}
        if isinstance(piece, str)
        else {"type": "image", "data": piece.data, "mediaType": piece.media_type}
        for piece in content
    ]


def _content(pieces: str | list[dict[str, Any]]) -> Content:
    return pieces if isinstance(pieces, str) else tuple(_piece(piece) for piece in pieces)


def _piece(piece: dict[str, Any]) -> str | out.Media:
    media_type = piece.get("mediaType") or piece.get("mimeType")
    if piece.get("type") == "text" and isinstance(piece.get("text"), str):
        return str(piece["text"])
    if isinstance(media_type, str) and isinstance(piece.get("data"), str):
        return out.Media(media_type, str(piece["data"]))
    return json_text(piece)


class Entered(Spelling[Spoken]):
    """How results are told: one entry per operation, in the order they were asked for."""

    alone: ClassVar[bool] = False
    """Whether the tool does one thing at a time, so that its entry stands in no list."""

    def wrong(self, operation: op.Operation, outcome: out.Outcome) -> str | None:
        """The error that an entry reports although its operation was done."""
        return None

    def ran(self, operation: op.Operation, text: str) -> bool:
        """Whether an entry that says that it failed is a result all the same."""
        return False

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        """The entries as JSON; what went wrong stands in them, so nothing is flagged."""
        entries = [self._entry(operation, outcome) for operation, outcome in zip(operations, outcomes, strict=True)]
        return json_text(entries[0] if self.alone else entries), None

    def _entry(self, operation: op.Operation, outcome: out.Outcome) -> Entry:
        query = query_of(operation) or ""
        if isinstance(outcome, out.Failure):
            return _failed(query, outcome.message)
        wrong = self.wrong(operation, outcome)
        return Entry(query, _pieces(self.from_outcome(operation, outcome)), success=wrong is None, error=wrong)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """What each entry tells; a result of another shape says the same of each operation."""
        entries = entries_of(text_of(native.content))
        if entries is None or len(entries) != len(operations):
            return tuple(understand(operation, native) for operation in operations)
        return tuple(
            self._outcome(operation, entry, native) for operation, entry in zip(operations, entries, strict=True)
        )

    def _outcome(self, operation: op.Operation, entry: Entry, native: NativeResult) -> out.Outcome:
        content = _content(entry.result)
        if not entry.success and not self.ran(operation, text_of(content)):
            message = entry.error or text_of(content)
            return out.Failure(FAILURES.kind(message), message)
        return self.to_outcome(operation, NativeResult(native.call_id, content))


def entries_of(text: str) -> list[Entry] | None:
    """The entries that a result is; `None` when it is something else."""
    told = decoded(text)
    try:
        return converted(told if isinstance(told, list) else [told], list[Entry])
    except msgspec.ValidationError:
        return None


# ── results of servers ───────────────────────────────────────────────────────


class ServerResult(msgspec.Struct, frozen=True):
    """What a server gave, as a result tells it."""

    content: list[dict[str, Any]]
    isError: bool = False  # noqa: N815 - the native name
    structuredContent: Any = None  # noqa: N815 - the native name


class ClineUnspelled:
    """Results of servers and of the client's own tools: the JSON they are."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """The pieces a server gave, or the value."""
        if len(outcomes) == 1 and isinstance(outcomes[0], out.JsonOutcome):
            return json_text(outcomes[0].value)
        told = tell_all(operations, outcomes)
        if not any(isinstance(one, op.CallMcpTool) for one in operations):
            return told
        pieces = _pieces((told,) if isinstance(told, str) else told)
        return json_text({"content": pieces})

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """What a server gave, or the value."""
        value = decoded(text_of(native.content))
        if isinstance(operation, op.SteerClient) and isinstance(value, dict) and "type" not in value:
            return out.JsonOutcome(value)
        try:
            given = converted(value, ServerResult)
        except msgspec.ValidationError:
            return understand(operation, native)
        content = tuple(_piece(piece) for piece in given.content)
        if given.isError:
            return out.Failure("failed", text_of(content))
        if len(content) == 1 and isinstance(content[0], str) and given.structuredContent is None:
            return understand(operation, NativeResult(native.call_id, content[0]))
        return out.ContentOutcome(content, given.structuredContent)
