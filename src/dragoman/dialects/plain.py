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
from dragoman.schema import describe

from .base.availability import AnySpelling
from .base.default_words import tell, understand, unnumbered, without_cut_note
from .base.dialect import Dialect
from .base.mcp_names import McpNames
from .base.sentences import AFTER_NEWLINE, NO_NEWLINE, cut_note, lines_in, outcome_in
from .base.spelling import REQUIRED, Content, Parameter, Spelling, SpellingMeta, Tells, means
from .base.web_action import UnofferedWebAction
from .base.words import in_json, one_of


class InSentences:
    """Results in plain words: sentences, or the file or page itself."""

    __slots__ = ()

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """The outcome as a person would want to read it."""
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The outcome these sentences tell of, or the text that they are."""
        outcome = understand(operation, native)
        if isinstance(outcome, out.TextOutcome) and isinstance(native.content, str):
            return outcome_in(operation, native.content) or outcome
        return outcome


class VfsRead(Spelling[op.ReadFile]):
    """Read a file of the workspace, or a range of its lines."""

    native_name = "vfs_read"
    formerly = ("read_file",)

    path: str = means("path", "Path of the file.")
    first_line: int | None = means("first_line", "First line to read, from 1.", default=None)
    last_line: int | None = means("last_line", "Last line to read, inclusive.", default=None)
    pages: str | None = means("pages", "Pages of a document, for example `1-5`.", default=None)

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line", "truncated", "resolved")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """The lines that are there, numbered; first, which file it is where that is not the one named."""
        if not isinstance(outcome, out.FileOutcome):
            return tell(operation, outcome)
        instead = "" if outcome.resolved is None else f"[there is no such file; this is {outcome.resolved}]\n"
        return instead + lines_in(outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same, read back."""
        text = native.content
        if not isinstance(text, str) or not isinstance(operation, op.ReadFile):
            return understand(operation, native)
        instead = _INSTEAD.match(text)
        outcome = _lines_of(operation, text[instead.end() :] if instead else text)
        if outcome is None:
            return outcome_in(operation, text) or understand(op.Unrecognised(""), native)
        return msgspec.structs.replace(outcome, resolved=instead[1]) if instead else outcome


_INSTEAD = re.compile(r"\A\[there is no such file; this is (.+)\]\n")
_NO_LINES = re.compile(r"\[no lines(?: from line (\d{1,18}) on)?\]")


def _lines_of(operation: op.ReadFile, text: str) -> out.FileOutcome | None:
    body, cut, total = without_cut_note(text, "lines")
    none = _NO_LINES.fullmatch(body)
    if none is not None:
        return out.FileOutcome(operation.path, "", int(none[1] or 1), total, truncated=cut)
    unfinished = body.endswith(NO_NEWLINE) or (cut and not body.endswith(AFTER_NEWLINE))
    lines = unnumbered(body.removesuffix(NO_NEWLINE).removesuffix(AFTER_NEWLINE))
    if lines is None:
        return None
    return out.FileOutcome(operation.path, lines[1] + ("" if unfinished else "\n"), lines[0], total, truncated=cut)


class VfsWrite(InSentences, Spelling[op.WriteFile]):
    """Write a file of the workspace."""

    native_name = "vfs_write"
    formerly = ("write_file",)

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")
    overwrite: bool = means("overwrite", "Whether an existing file may be replaced.", default=True)


class VfsList(Spelling[op.ListDirectory]):
    """List the files of the workspace whose path begins with a prefix, or what one folder holds."""

    native_name = "vfs_list"
    formerly = ("list_directory",)
    approximated = {
        "path": "a prefix begins at the workspace unless a folder is given",
        "prefix": "an empty prefix in a folder is written as that folder",
    }

    prefix: str = means(
        "prefix", "What the paths begin with, for example `src/` or `notes/2024`. Default: all files.", default=""
    )
    folder: str | None = means("path", "List this folder instead, without its subfolders.", default=None)
    ignore: tuple[str, ...] = means("ignore", "Glob patterns of what to leave out.", default=())
    depth: int | None = means("depth", "How many levels to go down.", default=None)
    limit: int | None = means("limit", "Maximum number of entries.", default=None)
    respect_ignore: bool | None = means("respect_ignore", "Leave out what ignore files list.", default=None)

    tells: ClassVar[Tells] = {out.DirectoryOutcome: ("truncated",)}

    def to_operations(self) -> tuple[op.Operation, ...]:
        """A prefix; in a folder, if one is given; without one, the folder itself."""
        prefix = None if self.folder is not None and not self.prefix else self.prefix
        folder = "." if self.folder is None else self.folder
        return (op.ListDirectory(folder, self.ignore, self.depth, self.limit, self.respect_ignore, prefix),)

    @classmethod
    def from_operation(cls, operation: op.ListDirectory) -> VfsList | None:
        """The same, written; an empty prefix in a folder is that folder as a prefix."""
        prefix, folder = operation.prefix, operation.path or "."
        if prefix == "" and folder != ".":
            prefix, folder = f"{folder.rstrip('/')}/", "."
        return cls(
            prefix=prefix or "",
            folder=None if prefix is not None and folder == "." else folder,
            ignore=operation.ignore,
            depth=operation.depth,
            limit=operation.limit,
            respect_ignore=operation.respect_ignore,
        )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        """One path per line, from the workspace on; folders with a slash at the end."""
        if not isinstance(outcome, out.DirectoryOutcome):
            return tell(operation, outcome)
        start = _start(operation)
        paths = [f"{start}{entry.path}{_MARKS[entry.kind]}" for entry in outcome.entries]
        listed = "\n".join(paths) or _NOTHING_LISTED
        return listed + (cut_note(None, "files") if outcome.truncated else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same, read back: paths from the folder that was listed."""
        text = native.content
        if not isinstance(text, str) or not isinstance(operation, op.ListDirectory):
            return understand(operation, native)
        body, cut, _ = without_cut_note(text, "files")
        start = _start(operation)
        lines = [] if body == _NOTHING_LISTED else body.split("\n")
        if not all(line.startswith(start) and line != start for line in lines):
            return outcome_in(operation, text) or understand(op.Unrecognised(""), native)
        return out.DirectoryOutcome(operation.path, tuple(_entry(line.removeprefix(start)) for line in lines), cut)


_MARKS = {"directory": "/", "link": "@", "other": "?", "file": ""}
_KINDS: dict[str, Any] = {mark: kind for kind, mark in _MARKS.items() if mark}
_NOTHING_LISTED = "[no files found]"


def _start(operation: op.Operation) -> str:
    """What the paths of a listing begin with: the folder listed, as the call names it."""
    folder = operation.path.rstrip("/") if isinstance(operation, op.ListDirectory) else "."
    return "" if folder in (".", "") else f"{folder}/"


def _entry(path: str) -> out.Entry:
    kind = _KINDS.get(path[-1:])
    return out.Entry(path) if kind is None else out.Entry(path[:-1], kind)


class VfsDelete(InSentences, Spelling[op.DeleteFile]):
    """Delete a file of the workspace."""

    native_name = "vfs_delete"
    formerly = ("delete_file",)

    path: str = means("path", "Path of the file.")


class WebFetch(InSentences, Spelling[op.FetchPage]):
    """Fetch a web page as readable text."""

    native_name = "web_fetch"
    formerly = ("fetch_page",)

    url: str = means("url", "URL of the page.")
    maxLength: int | None = means("limit", "Maximum number of characters. Default: 50000.", default=None)  # noqa: N815
    instructions: str | None = means(
        "instructions",
        "What to find out or do with the page: the answer is returned instead of the page.",
        default=None,
    )
    format: Literal["text", "markdown", "html"] | None = means("format", "Format of the text.", default=None)
    timeout_ms: int | None = means("timeout_ms", "Timeout in milliseconds.", default=None)
    offset: int | None = means("offset", "Number of characters to skip first.", default=None)


class _Hit(msgspec.Struct, forbid_unknown_fields=True):
    title: str | None
    url: str
    snippet: str | None


class _Answered(msgspec.Struct, forbid_unknown_fields=True):
    answer: str
    results: tuple[_Hit, ...]


def _hits(_asked: op.Operation, outcome: out.PagesOutcome) -> tuple[_Hit, ...] | _Answered:
    """Titles, addresses and snippets; beside an answer, where a model wrote one from them."""
    hits = tuple(_Hit(page.title, page.url, page.snippet) for page in outcome.pages)
    return hits if outcome.answer is None else _Answered(outcome.answer, hits)


def _found_pages(asked: op.SearchWeb, found: tuple[_Hit, ...] | _Answered) -> out.PagesOutcome:
    answer, hits = (found.answer, found.results) if isinstance(found, _Answered) else (None, found)
    pages = tuple(out.Page(hit.url, hit.title, snippet=hit.snippet) for hit in hits)
    return out.PagesOutcome(pages, answer, asked.query)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web. Returns titles, URLs and snippets."""

    native_name = "web_search"
    formerly = ("search_web",)

    query: str = means("query", "What to search for.")
    maxResults: int | None = means("limit", "Maximum number of results. Default: 5.", default=None)  # noqa: N815
    allowed_domains: tuple[str, ...] = means("allowed_domains", "Only results from these domains.", default=())
    blocked_domains: tuple[str, ...] = means("blocked_domains", "No results from these domains.", default=())

    results = one_of(
        in_json(
            out.PagesOutcome,
            tuple[_Hit, ...] | _Answered,
            to=_found_pages,
            back=_hits,
            says=("answer",),
            nearly={"pages": "only titles, addresses and snippets are given"},
        )
    )


# ── everything else, by its own fields ───────────────────────────────────────

_WORDS = {
    "action": "The action to perform.",
    "add_blocked_by": "Ids of items that must be completed before this one.",
    "add_blocks": "Ids of items that cannot start before this one is completed.",
    "after": "Number of lines to show after each match.",
    "agent": "Name or id of the agent.",
    "agents": "Ids of the agents to wait for; any agent if omitted.",
    "arguments": "Arguments, as the tool or skill takes them.",
    "background": "Leave the command running in the background.",
    "before": "Number of lines to show before each match.",
    "block": "Wait until it ends.",
    "case_sensitive": "Whether upper and lower case differ.",
    "cell_id": "Id of the cell.",
    "cell_type": "Type of the cell: code or markdown.",
    "code": "Source of the program.",
    "command": "The command line.",
    "continues": "Id of an earlier agent to continue.",
    "cursor": "Cursor from the previous page of results.",
    "cwd": "Folder to run in.",
    "deleted": "Remove the item.",
    "description": "Short description, in a few words.",
    "detail": "Level of detail of the image.",
    "doing": "Text to show while the item is in progress, for example `Running the tests`.",
    "edits": "Edits to apply in order; each replaces `old` with `new`.",
    "effort": "Reasoning effort of the model.",
    "exclude": "Glob of files to leave out.",
    "explanation": "Why the plan changed.",
    "file_type": "Only files of this type, for example `py`.",
    "first": "First line to replace: its number, a colon and its mark, for example `12:3fa`.",
    "format": "Format of the result.",
    "full_page": "Capture the whole page instead of the visible part.",
    "height": "Height of the window in pixels.",
    "history": "How much of this conversation to pass on: all, none or a number of turns.",
    "id": "Id of the item.",
    "idle_timeout_ms": "Stop after this many milliseconds without a line.",
    "include": "Only files that match this glob.",
    "interrupt": "Stop what the agent is doing.",
    "isolation": "How to isolate the work of the agent, for example `worktree`.",
    "item": "Item to add.",
    "items": "All items of the plan, in order.",
    "job": "Id of the background job, or name of the standing shell.",
    "key": "Name to save it under.",
    "language": "The programming language.",
    "limit": "Maximum number of results.",
    "limit_per_file": "Maximum number of matches per file.",
    "last": "Last line to replace, named like the first one. Default: the first line alone.",
    "line": "Line after which to insert; 0 inserts before the first line.",
    "line_numbers": "Show line numbers.",
    "lines": "Number of lines to return, from the end.",
    "literal": "Search for the text itself, not for a regular expression.",
    "login": "Run it in a login shell.",
    "max_turns": "Maximum number of turns.",
    "message": "Text of the message.",
    "metadata": "Further data to keep with the item.",
    "model": "Model to use.",
    "multiline": "Let matches span lines.",
    "notify_when_idle": "Be notified when the agent is idle.",
    "offset": "Number of results to skip.",
    "only_matching": "Show only the matching text of each line.",
    "output_limit": "Maximum number of characters of output.",
    "owner": "Who works on the item.",
    "path": "Path of the file or folder.",
    "pattern": "Pattern to search for.",
    "patterns": "Paths or glob patterns of the files.",
    "preview": "Show what would change, without changing it.",
    "prompt": "Complete description of the task.",
    "purpose": "What it is for, in one sentence.",
    "query": "Text to search for.",
    "questions": "Questions to ask.",
    "region": "Rectangle to view: left, top, right and bottom, in pixels.",
    "respect_ignore": "Leave out files that are ignored, for example by .gitignore.",
    "result": "Result of the task.",
    "rewrite": "Replacement for each match; it may use the names of the pattern.",
    "save_to": "Path of a file to save the screenshot in.",
    "scope": "Which agents to list.",
    "server": "Name of the MCP server.",
    "shell": "Shell to run it with, for example `bash`.",
    "since_turn": "Return only messages after this turn.",
    "size": "Size of the image, for example `1024x1024`.",
    "source": "New source of the cell.",
    "starts_turn": "Make the agent act on the message at once.",
    "status": "Status of the item: pending, in_progress, completed, cancelled or blocked.",
    "stores": "Document stores to search; all if omitted.",
    "summary": "Summary of the message, in a few words.",
    "system_prompt": "Instructions for the agent.",
    "templates": "List resource templates instead of resources.",
    "terminal": "Run it in a terminal.",
    "timeout_ms": "Timeout in milliseconds.",
    "tool": "Name of the tool.",
    "tools": "Names of the tools the agent may use.",
    "unsandboxed": "Ask the user to run it outside the sandbox, after it failed because of the sandbox.",
    "uri": "URI of the resource.",
    "wait_ms": "Milliseconds to wait for output.",
    "width": "Width of the window in pixels.",
}

_FILE, _SEARCHED = "Path of the file.", "File or folder to search. Default: the whole workspace."
_SYNTAX = "Code to match; `$NAME` stands for one node and `$$$NAME` for several, for example `print($ARG)`."
_OWN_WORDS = {
    "change_plan_item.text": "New text of the item.",
    "edit_file.path": _FILE,
    "edit_notebook.mode": "What to do with the cell: replace, insert or delete it.",
    "edit_notebook.path": "Path of the notebook.",
    "find_files.path": "Folder to search. Default: the whole workspace.",
    "find_files.pattern": "Glob pattern, for example `**/*.py`.",
    "find_in_page.pattern": "Text to find.",
    "find_in_page.url": "URL of the page.",
    "insert_text.path": _FILE,
    "insert_text.text": "Lines to insert.",
    "message_agent.to": "Name or id of the agent that gets the message.",
    "move_file.path": "Path of the file to move.",
    "move_file.to": "New path of the file.",
    "read_notebook.path": "Path of the notebook.",
    "read_output.pattern": "Return only lines that match this regular expression.",
    "replace_lines.path": _FILE,
    "replace_lines.text": "New lines. Empty: the lines are deleted.",
    "rewrite_code.path": _SEARCHED,
    "rewrite_code.pattern": _SYNTAX,
    "run_code.reason": "What the program is for, in one sentence.",
    "save_memory.text": "Text to remember.",
    "search_code.path": _SEARCHED,
    "search_code.pattern": _SYNTAX,
    "search_text.mode": "Result: matching lines (content), files with a match (files) or matches per file (count).",
    "search_text.path": _SEARCHED,
    "search_text.pattern": r"Regular expression, for example `def \w+`; with `literal`, the text itself.",
    "search_tools.query": "What the tool should be able to do.",
    "spawn_agent.name": "Name for the agent.",
    "take_screenshot.url": "URL of the page.",
    "type_into.text": r"Text to type. End a line with `\n`.",
    "undo_edit.path": _FILE,
    "use_skill.name": "Name of the skill.",
    "view_image.path": "Path of the image.",
    "watch_command.url": "URL of a socket to follow.",
    "watch_command.limit": "Stop after this many lines.",
}
"""Words for a parameter of one tool, where those for its name would be vague."""


def spelled(operation: type[op.Operation]) -> AnySpelling:
    """An operation called by its tag, with its own fields."""
    hints = get_type_hints(operation)
    text, described = describe(operation.__doc__ or "")
    declared: dict[str, Any] = {}
    for field in msgspec.structs.fields(operation):
        default = REQUIRED if field.required else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        own = _OWN_WORDS.get(f"{operation.__struct_config__.tag}.{field.name}")
        words = described.get(field.name) or own or _WORDS[field.name]
        declared[field.name] = Parameter(field.name, None, words, default)
    namespace = {
        "__module__": __name__,
        "__qualname__": operation.__name__,
        "__doc__": text,
        "__annotations__": {name: hints[name] for name in declared},
        "__orig_bases__": (InSentences, Spelling[operation]),  # type: ignore[valid-type]
        "native_name": operation.__struct_config__.tag,
        "unhonoured": _UNHONOURED.get(operation, {}),
        **declared,
    }
    made: AnySpelling = SpellingMeta(operation.__name__, (InSentences, Spelling), namespace)
    return made


_UNHONOURED: dict[type[op.Operation], dict[str, str]] = {
    op.WatchCommand: {"url": "Run a command in the background and be notified of each line it writes."}
}
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
    (*_NAMED, UnofferedWebAction, *(spelled(one) for one in op.OPERATIONS.values() if one not in _APART)),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    unspoken={op.SteerClient: "another client's own affairs"},
)
