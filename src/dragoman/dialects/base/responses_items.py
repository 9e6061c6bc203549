"""What OpenAI's Responses items say, where several vocabularies hold them: the API's own, and clients that log them.

Rule: an item that does not say something (a search without its query, a page without its address) is read
with that text empty; nothing is made up for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .default_words import understand
from .patch_text import script_in
from .spelling import ProviderExecuted, means, native_only

# ── the web ──────────────────────────────────────────────────────────────────


class WebAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing done on the web: a search, a page opened, a text looked for in a page."""

    type: str | None = None
    query: str | None = None
    queries: tuple[str, ...] | None = None
    url: str | None = None
    pattern: str | None = None
    num_results: int | None = None
    sources: tuple[Any, ...] | None = None


class WebSearch(ProviderExecuted[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """Search the web, open pages and find texts in them; the provider does it."""

    native_name = "web_search"
    formerly = ("web_search_preview",)
    unsaid = {
        "SearchWeb.allowed_domains": "domains are a setting of the tool",
        "SearchWeb.blocked_domains": "domains are a setting of the tool",
        "SearchWeb.limit": "the provider decides how much it looks at",
        "FetchPage.instructions": "a page is opened as it is",
        "FetchPage.format": "a page is opened as it is",
        "FetchPage.timeout_ms": "a page is opened as it is",
        "FetchPage.offset": "a page is opened as it is",
        "FetchPage.limit": "a page is opened as it is",
    }

    type: str | None = means(None, default=None)
    query: str | None = means(None, default=None)
    queries: tuple[str, ...] | None = means(None, default=None)
    url: str | None = means(None, default=None)
    pattern: str | None = means(None, default=None)
    num_results: int | None = means(None, default=None)
    sources: tuple[Any, ...] | None = native_only("what was found is the result")
    action: WebAction | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        said: WebSearch | WebAction = self.action or self  # the same names, one level further in
        match said.type or "search":
            case "search":
                queries = said.queries or (said.query or "",)
                return tuple(op.SearchWeb(query, limit=said.num_results) for query in queries)
            case "open_page":
                return (op.FetchPage(said.url or ""),)
            case "find_in_page" if said.url is not None and said.pattern is not None:
                return (op.FindInPage(said.url, said.pattern),)
        raise ValueError(f"{said.type!r} with these parameters is no action: search, open_page or find_in_page")

    @classmethod
    def from_operation(cls, operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> WebSearch:
        match operation:
            case op.SearchWeb(query):
                return cls(type="search", query=query)
            case op.FetchPage(url):
                return cls(type="open_page", url=url)
            case op.FindInPage(url, pattern):
                return cls(type="find_in_page", url=url, pattern=pattern)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not is_item(native.item, "web_search_call"):
            return understand(operation, native)
        unfinished = unfinished_item(native.item)
        if unfinished is not None:
            return unfinished
        match native.item.get("action"):
            case {"sources": list(sources)}:
                query = operation.query if isinstance(operation, op.SearchWeb) else None
                pages = tuple(_page(source) for source in sources if isinstance(source, dict))
                return out.PagesOutcome(pages, query=query)
        return understand(operation, native) if native.content else out.DoneOutcome()


def _page(source: dict[str, Any]) -> out.Page:
    """A source: a page by its address; the provider's own feeds (weather, sports) have a name alone."""
    return out.Page(str(source.get("url") or ""), _text(source.get("title") or source.get("name")))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# ── tools that were found ────────────────────────────────────────────────────


def tools_found(item: Any) -> out.ToolsOutcome | None:
    """The tools an item brings; those of a namespace by both names. `None` when it brings none."""
    match item:
        case {"tools": list(tools)} if all(isinstance(one, dict) for one in tools):
            return out.ToolsOutcome(tuple(name for one in tools for name in _tool_names(one)), tuple(tools))
    return None


def _tool_names(tool: Mapping[str, Any]) -> list[str]:
    inner = tool.get("tools")
    if tool.get("type") == "namespace" and isinstance(inner, list):
        return [f"{tool.get('name')}.{one.get('name')}" for one in inner if isinstance(one, dict)]
    return [str(tool.get("name", ""))]


# ── how an item stands ───────────────────────────────────────────────────────

UNFINISHED = ("in_progress", "searching", "interpreting", "generating", "incomplete")


def is_item(item: Any, *kinds: str) -> bool:
    """Whether this is an item of one of these types."""
    return isinstance(item, dict) and item.get("type") in kinds


def unfinished_item(item: Mapping[str, Any]) -> out.Outcome | None:
    """What an item says that was not completed; `None` when it was."""
    status = item.get("status")
    if status == "failed":
        return out.Failure("failed", _text(item.get("error")) or "the provider's tool failed")
    return out.UnknownOutcome(f"the item is {status}") if status in UNFINISHED else None


# ── programs with their arguments ────────────────────────────────────────────


def command_line(arguments: Sequence[str]) -> tuple[str, str | None, bool | None]:
    """A command line, its shell and whether it is a login shell; `bash -lc` is what is meant when nothing is said."""
    script = script_in(arguments)
    if script is None:  # a word alone is a command line that was not split
        return shlex.join(arguments) if len(arguments) > 1 else arguments[0], None, None
    return script, None if arguments[0] == "bash" else arguments[0], None if arguments[1] == "-lc" else False


def argument_list(operation: op.RunCommand) -> tuple[str, str, str] | None:
    """The arguments that say this command line, or `None` when its shell is no shell that is known."""
    arguments = (operation.shell or "bash", "-c" if operation.login is False else "-lc", operation.command)
    return arguments if script_in(arguments) is not None else None
