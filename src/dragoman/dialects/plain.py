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
from dragoman.schema import describe

from .base.availability import AnySpelling
from .base.default_words import tell, understand, unnumbered, without_cut_note
from .base.dialect import Dialect
from .base.mcp_names import McpNames
from .base.sentences import AFTER_NEWLINE, NO_NEWLINE, cut_note, lines_in, outcome_in
from .base.spelling import REQUIRED, Content, Parameter, Spelling, SpellingMeta, Tells, means
from .base.web_action import WebActionHeard


class InSentences:
    """How results are told in plain words: in sentences, or as the file or the page itself."""

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
    approximated = {"path": "a prefix begins at the workspace unless a folder is given"}

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
        prefix, folder = operation.prefix, operation.path
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
    """Fetch a page of the web as readable text."""

    native_name = "web_fetch"
    formerly = ("fetch_page",)

    url: str = means("url", "The page's address.")
    maxLength: int | None = means("limit", "Maximum number of characters. Default: 50000.", default=None)  # noqa: N815
    instructions: str | None = means(
        "instructions",
        "What to find out or do with the page: the answer is returned instead of the page.",
        default=None,
    )
    format: Literal["markdown", "text", "html"] | None = means("format", "The form of the text.", default=None)
    timeout_ms: int | None = means("timeout_ms", "Timeout in milliseconds.", default=None)
    offset: int | None = means("offset", "Number of characters to skip first.", default=None)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web; titles, addresses and snippets come back."""

    native_name = "web_search"
    formerly = ("search_web",)

    query: str = means("query", "What to search for.")
    maxResults: int | None = means("limit", "Maximum number of results. Default: 5.", default=None)  # noqa: N815
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
    text, described = describe(operation.__doc__ or "")
    declared: dict[str, Any] = {}
    for field in msgspec.structs.fields(operation):
        default = REQUIRED if field.required else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        words = described.get(field.name) or _WORDS[field.name]
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
    op.WatchCommand: {"url": "Run a command in the background and be told of each line it writes."}
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
    (*_NAMED, WebActionHeard, *(spelled(one) for one in op.OPERATIONS.values() if one not in _APART)),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    unspoken={op.SteerClient: "another client's own affairs"},
)
