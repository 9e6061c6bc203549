"""Anthropic's tools that Anthropic runs: their calls, and their results as its blocks hold them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialects.base.default_words import tell_all, text_of, understand
from dragoman.dialects.base.spelling import ProviderExecuted, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import ExecutedBy, NativeResult
from dragoman.model.json_text import converted

from .commands import BY_COMMAND
from .editing import Editing, Editor

SETTING = "it is a setting of the request"
ALONE = "the page is named and nothing beside it"


def content_of(native: NativeResult) -> Any:
    """What stands in the content of a result's block."""
    return native.item.get("content") if isinstance(native.item, dict) else None


def _block(native: NativeResult, kind: Any) -> Any:
    """The content as a block of this kind, or `None` when it is none."""
    try:
        return converted(content_of(native), kind)
    except msgspec.ValidationError:
        return None


# ── the web ──────────────────────────────────────────────────────────────────


class _Hit(msgspec.Struct, tag="web_search_result"):
    url: str
    title: str | None = None
    page_age: str | None = None


class WebSearch(ProviderExecuted[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    unsaid = {
        "allowed_domains": SETTING,
        "blocked_domains": SETTING,
    }

    query: str = means("query", "What to search for.")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        hits = _block(native, list[_Hit])
        if hits is None:
            return understand(operation, native)
        return out.PagesOutcome(tuple(out.Page(hit.url, hit.title, age=hit.page_age) for hit in hits), query=self.query)


class _Source(msgspec.Struct):
    type: str
    media_type: str | None = None
    data: str | None = None


class _Document(msgspec.Struct):
    source: _Source
    title: str | None = None


class _Fetched(msgspec.Struct, tag="web_fetch_result"):
    url: str
    content: _Document


class WebFetch(ProviderExecuted[op.FetchPage]):
    """Fetch a web page."""

    native_name = "web_fetch"
    unsaid = {field: ALONE for field in op.FetchPage.__struct_fields__ if field != "url"}

    url: str = means("url", "URL of the page.")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        fetched = _block(native, _Fetched)
        if fetched is None:
            return understand(operation, native)
        source = fetched.content.source
        text = source.data if source.type == "text" else None  # the bytes of a document stay in its block
        page = out.Page(
            self.url,
            fetched.content.title,
            text,
            media_type=source.media_type,
            final_url=None if fetched.url == self.url else fetched.url,
        )
        return out.PagesOutcome((page,))


# ── code ─────────────────────────────────────────────────────────────────────


class _Ran(msgspec.Struct):
    type: str
    return_code: int
    stdout: str | None = None
    stderr: str | None = None


def _ran(native: NativeResult) -> out.Outcome:
    """What a program gave. Output that is encrypted for the model alone is not known here."""
    ran = _block(native, _Ran)
    if ran is None or not ran.type.endswith("code_execution_result"):
        return understand(op.RunCommand(""), native)
    return out.CommandOutcome(exit_code=ran.return_code, stdout=ran.stdout, stderr=ran.stderr)


class CodeExecution(ProviderExecuted[op.RunCode]):
    """Run a Python program in a container."""

    native_name = "code_execution"
    on_request = "a container is made for it"
    always = {"language": "python"}
    unsaid = {"reason": "there is no parameter for it"}

    code: str = means("code", "The program.")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return _ran(native)


class BashCodeExecution(ProviderExecuted[op.RunCommand]):
    """Run a command line in the container."""

    native_name = "bash_code_execution"
    on_request = "a container is made for it"
    unsaid = BY_COMMAND

    command: str = means("command", "The command line.")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return _ran(native)


class _Viewed(msgspec.Struct, tag="text_editor_code_execution_view_result"):
    file_type: str
    content: str
    start_line: int | None = None
    num_lines: int | None = None
    total_lines: int | None = None


class _Created(msgspec.Struct, tag="text_editor_code_execution_create_result"):
    is_file_update: bool = False


class _Replaced(msgspec.Struct, tag="text_editor_code_execution_str_replace_result"):
    lines: list[str] | None = None
    old_start: int | None = None
    old_lines: int | None = None
    new_start: int | None = None
    new_lines: int | None = None


class TextEditorCodeExecution(Editor[Editing]):
    """View, create and edit files of the container."""

    native_name = "text_editor_code_execution"
    on_request = "a container is made for it"
    executed_by = ExecutedBy.PROVIDER

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        match _block(native, _Viewed | _Created | _Replaced):
            case _Viewed() as viewed:
                return _viewed(self.path, viewed)
            case _Created(is_file_update=updated):
                return out.ChangesOutcome((out.Change(self.path, "modified" if updated else "created"),))
            case _Replaced() as replaced:
                return out.ChangesOutcome((_replaced(self.path, replaced),))
        return super().to_outcome(operation, native)


def _viewed(path: str, viewed: _Viewed) -> out.Outcome:
    if viewed.file_type == "pdf":
        return out.ContentOutcome((out.Media("application/pdf", data=viewed.content),))
    if viewed.file_type != "text":
        return out.ContentOutcome((out.Media(viewed.file_type, data=viewed.content),))
    first = viewed.start_line or 1
    shown = None if viewed.num_lines is None else first - 1 + viewed.num_lines
    cut = shown is not None and viewed.total_lines is not None and shown < viewed.total_lines
    return out.FileOutcome(path, viewed.content, first, viewed.total_lines, truncated=cut)


def _replaced(path: str, replaced: _Replaced) -> out.Change:
    """A change with its hunk, where the block has one."""
    if replaced.lines is None:
        return out.Change(path, "modified")
    places = (replaced.old_start, replaced.old_lines, replaced.new_start, replaced.new_lines)
    head = "@@ -{},{} +{},{} @@\n".format(*places) if None not in places else ""
    return out.Change(
        path,
        "modified",
        diff=head + "".join(f"{line}\n" for line in replaced.lines) if head else None,
        added=sum(line.startswith("+") for line in replaced.lines),
        removed=sum(line.startswith("-") for line in replaced.lines),
    )


# ── tools ────────────────────────────────────────────────────────────────────


class _Reference(msgspec.Struct):
    tool_name: str


class _References(msgspec.Struct, tag="tool_search_tool_search_result"):
    tool_references: list[_Reference]


class SearchingTools(Spelling[op.SearchTools]):
    """What the two searches have in common."""

    executed_by = ExecutedBy.PROVIDER
    on_request = "only where tools are held back"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = _block(native, _References)
        if found is None:
            return understand(operation, native)
        return out.ToolsOutcome(tuple(reference.tool_name for reference in found.tool_references))


class ToolSearchBm25(SearchingTools):
    """Search the tools that were held back by words."""

    native_name = "tool_search_tool_bm25"

    query: str = means("query", "The words.")
    limit: int | None = means("limit", "How many tools at the most.", default=None)


class ToolSearchRegex(SearchingTools):
    """Search the tools that were held back by a regular expression."""

    native_name = "tool_search_tool_regex"

    pattern: str = means("query", "The expression.")
    limit: int | None = means("limit", "How many tools at the most.", default=None)


# ── what has no spelling ─────────────────────────────────────────────────────


class _Advice(msgspec.Struct, tag="advisor_result"):
    text: str


class _SealedAdvice(msgspec.Struct, tag="advisor_redacted_result"):
    pass


class Unspelled:
    """Results of the advisor, of servers, and of the caller's functions."""

    tell = staticmethod(tell_all)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """A block of the advisor's by its kind, everything else by its words."""
        match _block(native, _Advice | _SealedAdvice):
            case _Advice(text=text):
                return out.TextOutcome(text)
            case _SealedAdvice():
                return out.DoneOutcome("the advice is encrypted: the model alone reads it")
        if isinstance(operation, op.CallMcpTool) and not native.content:
            return out.TextOutcome(_texts(content_of(native)))
        return understand(operation, native)


def _texts(content: Any) -> str:
    """The text of a server's answer, given as one or in pieces."""
    pieces = content if isinstance(content, list) else [content]
    texts = [piece.get("text") if isinstance(piece, dict) else piece for piece in pieces]
    return "\n".join(text for text in texts if isinstance(text, str))


def told_text(native: NativeResult) -> str:
    """The readable text of a result, wherever it stands."""
    return text_of(native.content) or _texts(content_of(native))
