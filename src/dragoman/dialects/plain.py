"""Our own words, for models that were trained on no vocabulary: short names, flat parameters, every field said.

A few tools have names of their own (`vfs_read`, `web_fetch`, …); every other operation is called by its
tag and takes its own fields.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal, get_type_hints

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json

from .dialect import Dialect
from .mcp_names import McpNames
from .offering import AnySpelling
from .spelling import REQUIRED, Content, Parameter, Spelling, SpellingMeta, Tells, means
from .wording import tell, understand


class VfsRead(Spelling[op.ReadFile]):
    """Read a file of the workspace, or a range of its lines."""

    native_name = "vfs_read"
    formerly = ("read_file",)

    path: str = means("path", "Path of the file.")
    first_line: int | None = means("first_line", "First line to read, from 1.", default=None)
    last_line: int | None = means("last_line", "Last line to read, inclusive.", default=None)
    pages: str | None = means("pages", "Pages of a document, for example `1-5`.", default=None)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """Numbered lines; a file that was read instead of the one named is said first."""
        told = tell(operation, outcome)
        if isinstance(outcome, out.FileOutcome) and outcome.resolved is not None and isinstance(told, str):
            return f"[there is no such file; this is {outcome.resolved}]\n{told}"
        return told

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same."""
        found = _INSTEAD.match(native.content) if isinstance(native.content, str) else None
        if found is None:
            return understand(operation, native)
        outcome = understand(operation, msgspec.structs.replace(native, content=native.content[found.end() :]))
        if not isinstance(outcome, out.FileOutcome):
            return understand(operation, native)
        return msgspec.structs.replace(outcome, resolved=found[1])


_INSTEAD = re.compile(r"\A\[there is no such file; this is (.+)\]\n")


class VfsWrite(Spelling[op.WriteFile]):
    """Write a file of the workspace."""

    native_name = "vfs_write"
    formerly = ("write_file",)

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")
    overwrite: bool = means("overwrite", "Whether an existing file may be replaced.", default=True)


class VfsList(Spelling[op.ListDirectory]):
    """List the files of the workspace below a folder."""

    native_name = "vfs_list"
    formerly = ("list_directory",)

    prefix: str = means("path", "The folder to list.", default=".")
    ignore: tuple[str, ...] = means("ignore", "Glob patterns of what to leave out.", default=())
    depth: int | None = means("depth", "How many levels to go down.", default=None)
    limit: int | None = means("limit", "At most so many entries.", default=None)
    respect_ignore: bool | None = means("respect_ignore", "Whether ignored files are left out.", default=None)

    tells: ClassVar[Tells] = {out.DirectoryOutcome: ("entries", "truncated")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """A JSON array of what is there; an object around it where that is not all."""
        if not isinstance(outcome, out.DirectoryOutcome):
            return tell(operation, outcome)
        listed: Any = outcome.entries
        return json_text({"entries": listed, "truncated": True} if outcome.truncated else listed)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same."""
        try:
            listed = read_json(str(native.content), type=tuple[out.Entry, ...] | _Cut)
        except msgspec.DecodeError:
            return understand(operation, native)
        path = operation.path if isinstance(operation, op.ListDirectory) else "."
        if isinstance(listed, _Cut):
            return out.DirectoryOutcome(path, listed.entries, truncated=listed.truncated)
        return out.DirectoryOutcome(path, listed)


class _Cut(msgspec.Struct, forbid_unknown_fields=True):
    entries: tuple[out.Entry, ...]
    truncated: bool


class VfsDelete(Spelling[op.DeleteFile]):
    """Delete a file of the workspace."""

    native_name = "vfs_delete"
    formerly = ("delete_file",)

    path: str = means("path", "Path of the file.")


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a page of the web as readable text."""

    native_name = "web_fetch"
    formerly = ("fetch_page",)

    url: str = means("url", "The page's address.")
    maxLength: int | None = means("limit", "At most so many characters; 50000 if not given.", default=None)  # noqa: N815
    instructions: str | None = means("instructions", "What is wanted from the page.", default=None)
    format: Literal["markdown", "text", "html"] | None = means("format", "The form of the text.", default=None)
    timeout_ms: int | None = means("timeout_ms", "Milliseconds it may take.", default=None)
    offset: int | None = means("offset", "Characters to pass over first.", default=None)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web; titles, addresses and snippets come back."""

    native_name = "web_search"
    formerly = ("search_web",)

    query: str = means("query", "What to search for.")
    maxResults: int | None = means("limit", "At most so many results; 5 if not given.", default=None)  # noqa: N815
    allowed_domains: tuple[str, ...] = means("allowed_domains", "Only results from these domains.", default=())
    blocked_domains: tuple[str, ...] = means("blocked_domains", "No results from these domains.", default=())

    tells: ClassVar[Tells] = {out.PagesOutcome: ()}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """A JSON array of titles, addresses and snippets; beside an answer, where a model wrote one from them."""
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        hits = tuple(_Hit(page.title, page.url, page.snippet) for page in outcome.pages)
        return json_text(hits if outcome.answer is None else _Answered(outcome.answer, hits))

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same."""
        try:
            read = read_json(str(native.content), type=tuple[_Hit, ...] | _Answered)
        except msgspec.DecodeError:
            return understand(operation, native)
        answer, hits = (read.answer, read.results) if isinstance(read, _Answered) else (None, read)
        pages = tuple(out.Page(hit.url, hit.title, snippet=hit.snippet) for hit in hits)
        return out.PagesOutcome(pages, answer, operation.query if isinstance(operation, op.SearchWeb) else None)


class _Hit(msgspec.Struct, forbid_unknown_fields=True):
    title: str | None
    url: str
    snippet: str | None


class _Answered(msgspec.Struct, forbid_unknown_fields=True):
    answer: str
    results: tuple[_Hit, ...]


# ── one tool for the whole web ───────────────────────────────────────────────


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to do: search, open a page, or find a text in one."""

    type: Literal["search", "open_page", "find_in_page"]
    query: str | None = None
    url: str | None = None
    pattern: str | None = None


def _meant(action: Action) -> op.Operation:
    match action:
        case Action(type="search", query=str(query)):
            return op.SearchWeb(query)
        case Action(type="open_page", url=str(url)):
            return op.FetchPage(url)
        case Action(type="find_in_page", url=str(url), pattern=str(pattern)):
            return op.FindInPage(url, pattern)
    wanted = {"search": "`query`", "open_page": "`url`", "find_in_page": "`url` and `pattern`"}
    raise ValueError(f"the action {action.type!r} needs {wanted[action.type]}")


def _action(operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> Action:
    match operation:
        case op.SearchWeb():
            return Action("search", query=operation.query)
        case op.FetchPage():
            return Action("open_page", url=operation.url)
        case _:
            return Action("find_in_page", url=operation.url, pattern=operation.pattern)


class WebAction(Spelling[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """Use the web: search it, open a page, or find a text in a page."""

    native_name = "web_search"
    unsaid = {
        "SearchWeb.allowed_domains": "an action has no domains",
        "SearchWeb.blocked_domains": "an action has no domains",
        "SearchWeb.limit": "an action has no number of results",
        "FetchPage.instructions": "the page itself is wanted",
        "FetchPage.format": "a page has one form",
        "FetchPage.timeout_ms": "an action has no time limit",
        "FetchPage.offset": "a page is taken from its start",
        "FetchPage.limit": "a page is given whole",
    }

    action: Action = means(None, "What to do, and with what.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (_meant(self.action),)

    @classmethod
    def from_operation(cls, operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> WebAction:
        return cls(action=_action(operation))


class WebActionHeard(Spelling[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """The same, heard from a model that says it though it was not offered: nested, or flat with `action_type`."""

    native_name = "web_search"
    read_only = "it is offered as the variant `.but(WebAction)`"
    unsaid = WebAction.unsaid

    action: Action | Literal["search", "open_page", "find_in_page"] | None = None
    action_type: Literal["search", "open_page", "find_in_page"] | None = None
    query: str | None = None
    url: str | None = None
    pattern: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        if isinstance(self.action, Action):
            return (_meant(self.action),)
        kind = self.action_type or self.action
        if kind is None:
            raise ValueError("there is neither a query nor an action")
        return (_meant(Action(kind, self.query, self.url, self.pattern)),)


# ── everything else, by its own fields ───────────────────────────────────────

_WORDS = {
    "action": "What to do.",
    "add_blocked_by": "Ids of items this one now waits for.",
    "add_blocks": "Ids of items that now wait for this one.",
    "after": "Lines to show after each match.",
    "agent": "The agent.",
    "agents": "Ids of the agents; any of them if none is named.",
    "arguments": "Its arguments.",
    "background": "Whether to leave it running in the background.",
    "before": "Lines to show before each match.",
    "block": "Whether to wait until it ends.",
    "case_sensitive": "Whether case matters.",
    "cell_id": "Id of the cell.",
    "cell_type": "The cell's type.",
    "code": "The program.",
    "command": "The command line.",
    "continues": "Id of an earlier agent to go on with.",
    "cursor": "Where the last list ended.",
    "cwd": "The folder to work in.",
    "deleted": "Remove the item.",
    "description": "In a few words, what it is about.",
    "detail": "How closely to look.",
    "doing": "How to say it while it is being done.",
    "edits": "The changes, one after the other: `old` becomes `new`.",
    "effort": "How hard to think.",
    "exclude": "Glob of files to leave out.",
    "explanation": "Why the plan changed.",
    "file_type": "Only files of this type, for example `py`.",
    "format": "The format wanted.",
    "full_page": "The whole page, not only what fits the window.",
    "height": "Height of the window in pixels.",
    "history": "How much of this conversation to hand on: all, none or a number of turns.",
    "id": "The id.",
    "idle_timeout_ms": "Milliseconds without a line after which to stop.",
    "include": "Only files that match this glob.",
    "interrupt": "Whether to stop what it is doing.",
    "isolation": "How to keep its work apart.",
    "item": "The item.",
    "items": "The whole list, in order.",
    "job": "The job, or the standing shell.",
    "key": "A name to remember it by.",
    "language": "The programming language.",
    "limit": "At most so many.",
    "limit_per_file": "At most so many matches per file.",
    "line": "Insert after this line; 0 is before the first.",
    "line_numbers": "Whether to show line numbers.",
    "lines": "How many of the last lines.",
    "literal": "Take the pattern as plain text.",
    "login": "Whether it is a login shell.",
    "max_turns": "At most so many turns.",
    "message": "The message.",
    "metadata": "Anything else to keep with it.",
    "mode": "What is wanted.",
    "model": "The model to use.",
    "multiline": "Whether a match may span lines.",
    "name": "The name.",
    "notify_when_idle": "Whether to be told when it is idle.",
    "offset": "How many results to pass over.",
    "only_matching": "Show only the text that matched.",
    "output_limit": "At most so many characters of output.",
    "owner": "Who does it.",
    "path": "The path.",
    "pattern": "The pattern.",
    "patterns": "Paths or glob patterns.",
    "preview": "Show what would change, and change nothing.",
    "prompt": "The whole task or description.",
    "purpose": "What it is for, in a sentence.",
    "query": "What to look for.",
    "questions": "The questions.",
    "reason": "Why it is run as a program.",
    "region": "Left, top, right and bottom of the part to look at, in pixels.",
    "respect_ignore": "Whether ignored files are left out.",
    "result": "The result.",
    "rewrite": "What to put in place of each match; it may use the pattern's names.",
    "save_to": "A file to save the picture in.",
    "scope": "Which agents to list.",
    "server": "The server.",
    "shell": "The shell to run it with.",
    "since_turn": "Only what was said after this turn.",
    "size": "The size wanted.",
    "source": "The new source of the cell.",
    "starts_turn": "Whether it is to act on the message at once.",
    "status": "How it stands.",
    "stores": "Document stores to search; all if none is named.",
    "summary": "The message in a few words.",
    "system_prompt": "The agent's instructions.",
    "templates": "List templates instead.",
    "terminal": "Whether it needs a terminal.",
    "text": "The text.",
    "timeout_ms": "Milliseconds it may take.",
    "to": "Where it goes.",
    "tool": "The tool.",
    "tools": "Names of the tools it may use.",
    "unsandboxed": "Ask the user to run it outside the sandbox, after it failed because of the sandbox.",
    "uri": "The resource's URI.",
    "url": "The address.",
    "wait_ms": "Milliseconds to wait for output.",
    "width": "Width of the window in pixels.",
}


def spelled(operation: type[op.Operation]) -> AnySpelling:
    """An operation called by its tag, with its own fields."""
    hints = get_type_hints(operation)
    declared: dict[str, Any] = {}
    for field in msgspec.structs.fields(operation):
        default = REQUIRED if field.required else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        declared[field.name] = Parameter(field.name, None, _WORDS[field.name], default)
    namespace = {
        "__module__": __name__,
        "__qualname__": operation.__name__,
        "__doc__": operation.__doc__,
        "__annotations__": {name: hints[name] for name in declared},
        "__orig_bases__": (Spelling[operation],),  # type: ignore[valid-type]
        "native_name": operation.__struct_config__.tag,
        **declared,
    }
    made: AnySpelling = SpellingMeta(operation.__name__, (Spelling,), namespace)
    return made


_NAMED = (VfsRead, VfsWrite, VfsList, VfsDelete, WebFetch, WebSearch)
_APART = {
    # Written by their own names, not as tools of ours.
    op.CallFunction,
    op.CallMcpTool,
    op.SteerClient,
    op.Unrecognised,
    *(operation for spelling in _NAMED for operation in spelling.operation_types),
}

DIALECT = Dialect(
    "plain",
    (*_NAMED, WebActionHeard, *(spelled(one) for one in op.OPERATIONS.values() if one not in _APART)),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    unspoken={op.SteerClient: "another client's own affairs"},
)
