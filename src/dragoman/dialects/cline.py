"""Cline's vocabulary (3.0.65): batch tools (one call, several operations), one editor, and a team of agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import converted, json_text, read_json

from .base.default_words import FailuresInWords, as_called, tell, tell_all, text_of, understand, unnumbered, up_to_here
from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.patch_text import read_patch
from .base.spelling import EMPTY_IS_UNSAID, Content, Conversion, Spelling, Tells, means, native_only

# ── failures ─────────────────────────────────────────────────────────────────


class ClineFailures(FailuresInWords):
    """A call that was refused is one error; one that was tried tells it where the result would stand."""

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """In the shape of the tool's own results, so far as it got to run."""
        words = text_of(super().tell(call, failure)[0])
        queries = [_query(operation) for operation in call.operations]
        if failure.kind not in ("failed", "timed_out") or not queries or None in queries:
            return json_text({"error": words}), True
        entries = [_failed(str(query), words) for query in queries]
        return json_text(entries[0] if call.native.name == "editor" else entries), None

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """What is flagged, or is nothing but an error; what failed in a batch is told by its own entry."""
        text = text_of(native.content)
        told = _decoded(text)
        if isinstance(told, dict) and told.keys() == {"error"} and isinstance(told["error"], str):
            return out.Failure(self.kind(told["error"]), told["error"])
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


def _decoded(text: str) -> Any:
    """The JSON a text is, or `None` when it is none."""
    try:
        return read_json(text)
    except msgspec.DecodeError:
        return None


# ── entries of results ───────────────────────────────────────────────────────


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one operation, as a result tells it."""

    query: str
    result: str | list[dict[str, Any]]
    success: bool
    error: str | None = None


def _query(operation: op.Operation) -> str | None:
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


class Entered:
    """How results are told: one entry per operation, in the order they were asked for."""

    alone: ClassVar[bool] = False
    """Whether the tool does one thing at a time, so that its entry stands in no list."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return understand(operation, native)

    def wrong(self, outcome: out.Outcome) -> str | None:
        """What is said to have gone wrong with an operation that was done all the same."""
        return None

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        """The entries as JSON; what went wrong stands in them, so nothing is flagged."""
        entries = [self._entry(operation, outcome) for operation, outcome in zip(operations, outcomes, strict=True)]
        return json_text(entries[0] if self.alone else entries), None

    def _entry(self, operation: op.Operation, outcome: out.Outcome) -> Entry:
        query = _query(operation) or ""
        if isinstance(outcome, out.Failure):
            return _failed(query, outcome.message)
        wrong = self.wrong(outcome)
        return Entry(query, _pieces(self.from_outcome(operation, outcome)), wrong is None, wrong)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """What each entry tells; a result of another shape says the same of each operation."""
        entries = _entries(text_of(native.content))
        if entries is None or len(entries) != len(operations):
            return tuple(understand(operation, native) for operation in operations)
        return tuple(
            self._outcome(operation, entry, native) for operation, entry in zip(operations, entries, strict=True)
        )

    def _outcome(self, operation: op.Operation, entry: Entry, native: NativeResult) -> out.Outcome:
        if not entry.success and not (isinstance(operation, op.RunCommand) and _ended(entry)):
            message = entry.error or text_of(_content(entry.result))
            return out.Failure(FAILURES.kind(message), message)
        return self.to_outcome(operation, NativeResult(native.call_id, _content(entry.result)))


def _entries(text: str) -> list[Entry] | None:
    told = _decoded(text)
    try:
        return converted(told if isinstance(told, list) else [told], list[Entry])
    except msgspec.ValidationError:
        return None


# ── reading files ────────────────────────────────────────────────────────────

Line = int | None


class AskedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file, or some of its lines."""

    path: str
    start_line: Line = None
    end_line: Line = None


class ReadFiles(Entered, Spelling[op.ReadFile]):
    """Read one or several files, whole or from one line to another; an image comes back as it is."""

    native_name = "read_files"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    files: tuple[AskedFile, ...] = means("path", "The files, each with the first and last line wanted (from 1).")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.files:
            raise ValueError("files: name at least one")
        return tuple(op.ReadFile(file.path, file.start_line, file.end_line) for file in self.files)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFiles:
        return cls(files=(AskedFile(operation.path, operation.first_line, operation.last_line),))

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line", "truncated")}
    _MORE = "\n[more lines follow]"

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.ImageOutcome):
            return ("Successfully read image", outcome.image)
        if not isinstance(outcome, out.FileOutcome):
            return tell(operation, outcome)
        lines = up_to_here(operation, outcome).text.split("\n")
        width = len(str(outcome.first_line + len(lines) - 1))
        body = "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, outcome.first_line))
        return body + (self._MORE if outcome.truncated else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.ReadFile)
        if not isinstance(native.content, str):
            images = [piece for piece in native.content if isinstance(piece, out.Media)]
            return out.ImageOutcome(images[0]) if len(images) == 1 else understand(operation, native)
        body = native.content.removesuffix(self._MORE)
        lines = unnumbered(body, r" \| ?")
        if lines is None:
            return understand(operation, native)
        return out.FileOutcome(operation.path, lines[1], lines[0], truncated=body != native.content)


# ── changing files ───────────────────────────────────────────────────────────


class Editor(Entered, Spelling[op.WriteFile | op.EditFile | op.InsertText]):
    """Make a new file, replace a text that stands exactly once in a file, or insert lines before a line of it."""

    native_name = "editor"
    alone = True
    approximated = {
        "EditFile.edits": "a text is matched, not whole lines; anchors and an expected count cannot be said",
        "InsertText.text": "whole lines are inserted, so the end of the last one is not said",
    }
    unsaid = {
        "WriteFile.overwrite": "a file that is there is never replaced",
        "EditFile.purpose": "there is no parameter for it",
    }

    path: str = means("path", "Path of the file.")
    old_text: str | None = means("edits", "The exact text to replace; none to make a file.", default=None)
    new_text: str = means("text", "The new text, or the whole content of a new file.")
    insert_line: int | None = means("line", "Insert before this line, from 1.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        text = self.new_text
        if self.insert_line is not None:
            if self.insert_line < 1:
                raise ValueError(f"insert_line: lines count from 1, not {self.insert_line}")
            # A newline at the end is one more, empty line here.
            return (op.InsertText(self.path, self.insert_line - 1, text + "\n" * (text[-1:] in ("", "\n"))),)
        if self.old_text is None:
            return (op.WriteFile(self.path, text, overwrite=False),)
        return (op.EditFile(self.path, (op.Edit(self.old_text, text),)),)

    @classmethod
    def from_operation(
        cls, operation: op.WriteFile | op.EditFile | op.InsertText
    ) -> Editor | tuple[Editor, ...] | None:
        match operation:
            case op.WriteFile():
                return cls(path=operation.path, new_text=operation.content)
            case op.InsertText():
                if not operation.text or operation.line < 0:
                    return None
                text = operation.text.removesuffix("\n")
                return cls(path=operation.path, new_text=text, insert_line=operation.line + 1)
        edits = operation.edits
        if not edits or any(not edit.old or edit.everywhere or (edit.expected or 1) != 1 for edit in edits):
            return None  # a text that must be found elsewhere than in one place is never found so
        return tuple(cls(path=operation.path, old_text=edit.old, new_text=edit.new) for edit in edits)

    _EDITED = re.compile(
        r"Edited (?P<path>[^\n]*?)(?: \(\+(?P<added>\d+) -(?P<removed>\d+)\))?(?:\n```diff\n(?P<diff>.*)\n```)?",
        re.DOTALL,
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ChangesOutcome) or len(outcome.changes) != 1:
            return tell(operation, outcome)
        change = outcome.changes[0]
        if change.kind == "created" and isinstance(operation, op.WriteFile):
            return f"File created successfully at: {as_called(operation, change.path)}"
        if change.kind != "modified" or isinstance(operation, op.WriteFile):
            return tell(operation, outcome)
        if self.insert_line is not None:
            return f"Inserted content at line {self.insert_line} in {as_called(operation, change.path)}."
        counted = change.added is not None and change.removed is not None
        path = as_called(operation, change.path)
        return f"Edited {path}" + (f" (+{change.added} -{change.removed})" if counted else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("File created successfully at: "):
            return out.ChangesOutcome((out.Change(text.partition(": ")[2], "created"),))
        if inserted := re.fullmatch(r"Inserted content at line \d+ in (.*)\.", text, re.DOTALL):
            return out.ChangesOutcome((out.Change(inserted[1], "modified"),))
        edited = self._EDITED.fullmatch(text)
        if edited is None:
            return understand(operation, native)
        counts = [int(edited[name]) if edited[name] else None for name in ("added", "removed")]
        if edited["diff"] is not None:  # its lines are numbered, without context, so it is no unified difference
            lines = edited["diff"].split("\n")
            counts = [sum(line.startswith(sign) for line in lines) for sign in "+-"]
        return out.ChangesOutcome((out.Change(edited["path"], "modified", added=counts[0], removed=counts[1]),))


# ── commands ─────────────────────────────────────────────────────────────────

_STDERR = "\n[stderr]\n"
_STATE = re.compile(
    r"\[Command (?:exited with code (?P<code>-?\d+)|(?P<timed>timed out)[^\]\n]*|was ended by signal (?P<signal>\d+)"
    r"|is still running(?: as job (?P<job>[^\]\n]+))?|(?P<unknown>ended, nobody knows how))\]\n(?P<printed>.*)",
    re.DOTALL,
)


def _ended(entry: Entry) -> bool:
    return isinstance(entry.result, str) and _STATE.fullmatch(entry.result) is not None


class RunCommands(Entered, Spelling[op.RunCommand]):
    """Run one or several command lines in the working folder, each in a shell of its own."""

    native_name = "run_commands"
    unsaid = {
        "cwd": "it runs in the working folder",
        "timeout_ms": "the client has one time limit for all commands",
        "purpose": "there is no parameter for it",
        "background": "a command is left running with `&`",
        "wait_ms": "a command is always waited for",
        "job": "commands have no names",
        "shell": "it is always the user's shell",
        "login": "there is no parameter for it",
        "terminal": "there is never a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
    }

    commands: tuple[str, ...] = means("command", "The command lines.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.commands:
            raise ValueError("commands: name at least one")
        return tuple(op.RunCommand(command) for command in self.commands)

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> RunCommands:
        return cls(commands=(operation.command,))

    tells: ClassVar[Tells] = {out.CommandOutcome: ("exit_code", "signal", "running", "timed_out", "job")}

    def wrong(self, outcome: out.Outcome) -> str | None:
        """A command that did not end well."""
        if not isinstance(outcome, out.CommandOutcome) or outcome.running:
            return None
        return _state(outcome)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.CommandOutcome):
            return tell(operation, outcome)
        printed = outcome.output
        if printed is None:
            printed = (outcome.stdout or "") + (f"{_STDERR}{outcome.stderr}" if outcome.stderr else "")
        state = _state(outcome)
        return printed if state is None else f"[{state}]\n{printed}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        state = _STATE.fullmatch(text)
        stdout, mark, stderr = (state["printed"] if state else text).partition(_STDERR)
        printed: dict[str, Any] = {"stdout": stdout, "stderr": stderr} if mark else {"output": stdout}
        if state is None:
            return out.CommandOutcome(0, **printed)
        return out.CommandOutcome(
            int(state["code"]) if state["code"] else None,
            signal=int(state["signal"]) if state["signal"] else None,
            running=not any(state[name] for name in ("code", "timed", "signal", "unknown")),
            timed_out=bool(state["timed"]),
            job=state["job"],
            **printed,
        )


def _state(outcome: out.CommandOutcome) -> str | None:
    """How it stands with a command; nothing is said of one that ended well."""
    if outcome.timed_out:
        return "Command timed out"
    if outcome.running:
        return "Command is still running" + ("" if outcome.job is None else f" as job {outcome.job}")
    if outcome.signal is not None:
        return f"Command was ended by signal {outcome.signal}"
    if outcome.exit_code is None:
        return "Command ended, nobody knows how"
    return f"Command exited with code {outcome.exit_code}" if outcome.exit_code else None


# ── searching ────────────────────────────────────────────────────────────────


class SearchCodebase(Entered, Spelling[op.SearchText]):
    """Search all files of the project with one or several regular expressions."""

    native_name = "search_codebase"
    unsaid = {
        "path": "the whole project is searched",
        "include": "the whole project is searched",
        "exclude": "the whole project is searched",
        "file_type": "the whole project is searched",
        "mode": "the matching lines are always given",
        "case_sensitive": "there is no parameter for it",
        "literal": "the pattern is always an expression",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "before": "the client decides how much stands around a match",
        "after": "the client decides how much stands around a match",
        "line_numbers": "lines always have their numbers",
        "limit": "the client has one limit for all searches",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }

    queries: tuple[str, ...] = means("pattern", "The regular expressions.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.queries:
            raise ValueError("queries: name at least one")
        return tuple(op.SearchText(query) for query in self.queries)

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> SearchCodebase:
        return cls(queries=(operation.pattern,))

    tells: ClassVar[Tells] = {out.MatchesOutcome: ("matches", "mode", "truncated")}
    _FOUND = re.compile(r"Found (\d+) results? for pattern: ")
    _MORE = "\n\n[more results are not shown]"

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != "content":
            return tell(operation, outcome)
        if not outcome.matches:
            return f"No results found for pattern: {_query(operation)}"
        total = len(outcome.matches) if outcome.total is None else outcome.total
        told = [f"Found {total} results for pattern: {_query(operation)}", *map(_match_lines, outcome.matches)]
        return "\n\n".join(told) + (self._MORE if outcome.truncated else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No results found for pattern: "):
            return out.MatchesOutcome(())
        found, asked = self._FOUND.match(text), _query(operation) or ""
        if found is None or not text.startswith(asked, found.end()):
            return understand(operation, native)
        body = text[found.end() + len(asked) :]
        matches = _matches_in(body.removesuffix(self._MORE).split("\n"))
        return out.MatchesOutcome(matches, total=int(found[1]), truncated=body.endswith(self._MORE))


def _match_lines(match: out.Match) -> str:
    line = match.line or 1
    column = "" if match.column is None else f":{match.column}"
    matched = [] if match.text is None else match.text.split("\n")
    before = [f"  {line - len(match.before) + index}: {text}" for index, text in enumerate(match.before)]
    found = [f"> {line + index}: {text}" for index, text in enumerate(matched)]
    after = [f"  {line + max(1, len(matched)) + index}: {text}" for index, text in enumerate(match.after)]
    return "\n".join([f"{match.path}:{line}{column}", *before, *found, *after])


def _matches_in(lines: Sequence[str]) -> tuple[out.Match, ...]:
    """Matches with the lines around them.

    The client mixes up the lines around matches that are close together; only those whose numbers
    show that they stand next to a match are its own.
    """
    matches: list[out.Match] = []
    waiting: list[tuple[int, str]] = []
    for line in lines:
        around = re.fullmatch(r"([> ]) (\d+): ?(.*)", line, re.DOTALL)
        head = None if around else re.fullmatch(r"(.+?):(\d+)(?::(\d+))?", line, re.DOTALL)
        if head is not None:
            number = int(head[2])
            before = _run_up_to(number, waiting)
            column = int(head[3]) if head[3] else None
            matches.append(out.Match(head[1], number, before=before, column=column))
            waiting = []
        elif around is not None and matches:
            last, number, text = matches[-1], int(around[2]), around[3]
            if around[1] == ">":
                told = text if last.text is None else f"{last.text}\n{text}"
                matches[-1] = msgspec.structs.replace(
                    last, text=told, before=last.before or _run_up_to(number, waiting)
                )
                waiting = []
            elif number == _last_line(last) + len(last.after) + 1:
                matches[-1] = msgspec.structs.replace(last, after=(*last.after, text))
            else:
                waiting.append((number, text))
        elif around is not None:
            waiting.append((int(around[2]), around[3]))
    return tuple(matches)


def _last_line(match: out.Match) -> int:
    return (match.line or 1) + (match.text or "").count("\n")


def _run_up_to(number: int, lines: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """The lines that lead up to a line without a gap."""
    found: list[str] = []
    for index, text in reversed(lines):
        if index != number - len(found) - 1:
            break
        found.insert(0, text)
    return tuple(found)


# ── web ──────────────────────────────────────────────────────────────────────

WHOLE_PAGE = "Give the whole page."
"""A prompt is required; this one asks for nothing in particular."""


class AskedPage(msgspec.Struct, frozen=True):
    """One page to fetch."""

    url: str
    prompt: str


class FetchWebContent(Entered, Spelling[op.FetchPage]):
    """Fetch one or several pages, each with a prompt to answer from it."""

    native_name = "fetch_web_content"
    unhonoured = {"instructions": "Fetch one or several pages as readable text."}
    unsaid = {
        "format": "it is always text",
        "timeout_ms": "the client has one time limit for all pages",
        "offset": "a page is given from its start",
        "limit": "the client has one limit for all pages",
    }
    approximated = {"instructions": "something must be asked, and in more than one letter"}

    requests: tuple[AskedPage, ...] = means(
        "url",
        "The pages, each with what to find out or do with it.",
        unhonoured={"instructions": "The pages. What else stands beside a URL is not used."},
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.requests:
            raise ValueError("requests: name at least one")
        return tuple(
            op.FetchPage(asked.url, None if asked.prompt == WHOLE_PAGE else asked.prompt) for asked in self.requests
        )

    @classmethod
    def from_operation(cls, operation: op.FetchPage) -> FetchWebContent | None:
        prompt = WHOLE_PAGE if operation.instructions is None else operation.instructions
        return cls(requests=(AskedPage(operation.url, prompt),)) if len(prompt) > 1 else None

    _TOLD = re.compile(
        r"URL: (?P<url>[^\n]*)\n(?:Content-Type: (?P<type>[^\n]*)\n)?(?:Size: [^\n]*\n)?\n--- Content ---\n"
        r"(?P<text>.*)\n\n--- Analysis Request ---\nPrompt: .*",
        re.DOTALL,
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome) or len(outcome.pages) != 1 or outcome.answer is not None:
            return tell(operation, outcome)
        assert isinstance(operation, op.FetchPage)
        (page,) = outcome.pages
        kind = "" if page.media_type is None else f"Content-Type: {page.media_type}\n"
        asked = operation.instructions or WHOLE_PAGE
        return (
            f"URL: {page.final_url or page.url}\n{kind}\n--- Content ---\n{page.text or ''}"
            f"\n\n--- Analysis Request ---\nPrompt: {asked}"
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.FetchPage)
        found = self._TOLD.fullmatch(text_of(native.content))
        if found is None:
            return understand(operation, native)
        final = None if found["url"] == operation.url else found["url"]
        page = out.Page(operation.url, text=found["text"], media_type=found["type"], final_url=final)
        return out.PagesOutcome((page,))


# ── people ───────────────────────────────────────────────────────────────────


class AskQuestion(Spelling[op.AskUser]):
    """Ask the user one question with two to five answers to choose from."""

    native_name = "ask_question"
    approximated = {
        "questions": "a question has no header, id or default, takes one answer, and its options are bare texts"
    }

    question: str = means("questions", "The question.")
    options: tuple[str, ...] = means(None, "The answers.", schema={"minItems": 2, "maxItems": 5})

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.AskUser((op.Question(self.question, tuple(op.Option(option) for option in self.options)),)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskQuestion | None:
        if len(operation.questions) != 1 or not 2 <= len(operation.questions[0].options) <= 5:
            return None
        (question,) = operation.questions
        return cls(question=question.text, options=tuple(option.label for option in question.options))

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome) or len(outcome.answers) != 1:
            return tell(operation, outcome)
        answer = outcome.answers[0]
        return answer.text if answer.text is not None else ", ".join(answer.choices)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = understand(operation, native)
        if not isinstance(told, out.TextOutcome):
            return told
        chosen = told.text in self.options
        answer = out.Answer(self.question, (told.text,) if chosen else (), None if chosen else told.text)
        return out.AnswersOutcome((answer,))


# ── agents ───────────────────────────────────────────────────────────────────

_ENDS: dict[str, out.AgentStatus] = {
    "completed": "completed",
    "error": "failed",
    "aborted": "cancelled",
    "interrupted": "interrupted",
    "max_iterations": "limited",
    "running": "running",
}


class ToldAsJson:
    """How agents are told: as JSON, what one had to say in `text`."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.JsonOutcome):
            return json_text(outcome.value)
        if not isinstance(outcome, out.AgentsOutcome) or len(outcome.agents) != 1 or outcome.timed_out:
            return tell(operation, outcome)
        agent = outcome.agents[0]
        end = next((word for word, status in _ENDS.items() if status == agent.status), "unknown")
        named = {} if agent.id is None else {"agentId": agent.id}
        return json_text({**named, "text": agent.text, "finishReason": end})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = understand(operation, native)
        value = _decoded(told.text) if isinstance(told, out.TextOutcome) else None
        if not isinstance(value, dict):
            return told
        if "text" not in value or not isinstance(value["text"], str | None):
            return out.JsonOutcome(value)
        id, end = value.get("agentId"), value.get("finishReason")
        status = _ENDS.get(end, "unknown") if isinstance(end, str) else "unknown"
        return out.AgentsOutcome((out.AgentReport(id if isinstance(id, str) else None, status, value["text"]),))


class SpawnAgent(ToldAsJson, Spelling[op.SpawnAgent]):
    """Give a task to another agent, made for it, and wait for its answer."""

    native_name = "spawn_agent"
    approximated = {"system_prompt": "it is required, so an empty one says nothing"}
    unsaid = {
        "agent": "there is one kind of agent",
        "name": "the client names agents",
        "description": "there is no parameter for it",
        "model": "an agent runs on the same model",
        "effort": "an agent runs as this one does",
        "background": "an agent is waited for",
        "isolation": "an agent works where this one does",
        "cwd": "an agent works where this one does",
        "history": "an agent starts with its task alone",
        "tools": "an agent has the tools of this one",
        "max_turns": "there is no parameter for it",
        "continues": "only a teammate goes on",
        "command": "there is no such parameter",
    }

    systemPrompt: str = means("system_prompt", "Who the agent is.", convert=EMPTY_IS_UNSAID)  # noqa: N815 - native
    task: str = means("prompt", "The whole task.")


class TeamRunTask(ToldAsJson, Spelling[op.SpawnAgent]):
    """Give a task to a teammate, and wait for its answer or not."""

    native_name = "team_run_task"
    unsaid = {
        **{field: reason for field, reason in SpawnAgent.unsaid.items() if field not in ("background", "continues")},
        "system_prompt": "a teammate has its own",
    }

    agentId: str = means("continues", "The teammate.")  # noqa: N815 - the native name
    task: str = means("prompt", "The whole task.")
    taskId: str | None = native_only("a task may be tied to one of the team's list")  # noqa: N815 - the native name
    runMode: Literal["sync", "async"] | None = means(  # noqa: N815 - the native name
        "background",
        "Whether to wait for its answer.",
        default=None,
        convert=Conversion(
            to=lambda mode: None if mode is None else mode == "async",
            back=lambda background: None if background is None else ("async" if background else "sync"),
        ),
    )
    continueConversation: bool | None = native_only(  # noqa: N815 - the native name
        "a teammate may forget what it did before, which no operation says"
    )


class TeamShutdownTeammate(ToldAsJson, Spelling[op.StopAgent]):
    """Stop a teammate."""

    native_name = "team_shutdown_teammate"

    agentId: str = means("agent", "The teammate.")  # noqa: N815 - the native name
    reason: str | None = native_only("the team keeps a record of its own")


class TeamMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """One member of the team, as a result tells it."""

    agentId: str  # noqa: N815 - the native name
    role: str | None = None
    status: str | None = None
    description: str | None = None


class TeamStatus(ToldAsJson, Spelling[op.ListAgents]):
    """See who is in the team and how each is doing."""

    native_name = "team_status"
    unsaid = {"query": "the team is listed whole", "scope": "the team is listed whole"}

    _STATES: ClassVar[dict[str, out.AgentStatus]] = {
        **{status: status for status in get_args(out.AgentStatus)},
        "stopped": "cancelled",
    }

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or any(agent.id is None for agent in outcome.agents):
            return tell(operation, outcome)
        members = [TeamMember(agent.id or "", agent.agent, agent.status) for agent in outcome.agents]
        return json_text({"members": members})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = understand(operation, native)
        value = _decoded(told.text) if isinstance(told, out.TextOutcome) else None
        if not isinstance(value, dict) or "members" not in value:
            return told
        try:
            members = converted(value["members"], list[TeamMember])
        except msgspec.ValidationError:
            return out.JsonOutcome(value)
        return out.AgentsOutcome(
            tuple(
                out.AgentReport(one.agentId, self._STATES.get(one.status or "", "unknown"), agent=one.role)
                for one in members
            )
        )


class TeamAwaitRuns(ToldAsJson, Spelling[op.WaitForAgent]):
    """Wait for a run of a teammate, or for all that were started."""

    native_name = "team_await_runs"
    approximated = {"agents": "a run is named, not the agent; with none named, all are awaited"}
    unsaid = {
        "timeout_ms": "there is no parameter for it",
        "block": "it always waits",
        "since_turn": "a run is told whole",
    }

    runId: str | None = means("agents", "The run; all when it is left out.", default=None)  # noqa: N815 - native

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent(() if self.runId is None else (self.runId,)),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> TeamAwaitRuns | None:
        if len(operation.agents) > 1:
            return None
        return cls(runId=operation.agents[0] if operation.agents else None)


NO_SUBJECT = "(no subject)"
"""A subject is required; this one says that there is none."""


class TeamSendMessage(ToldAsJson, Spelling[op.MessageAgent]):
    """Send a message to a teammate."""

    native_name = "team_send_message"
    unsaid = {
        "interrupt": "a teammate reads its messages when it can",
        "starts_turn": "a teammate reads its messages when it can",
        "notify_when_idle": "there is no parameter for it",
    }

    toAgentId: str = means("to", "The teammate.")  # noqa: N815 - the native name
    subject: str = means(
        "summary",
        "What it is about.",
        convert=Conversion(
            to=lambda subject: None if subject == NO_SUBJECT else subject,
            back=lambda summary: NO_SUBJECT if summary is None else _said(summary),
        ),
    )
    body: str = means("message", "The message.")
    taskId: str | None = native_only("a message may be tied to a task of the team's list")  # noqa: N815 - native


def _said(summary: str) -> str:
    if not summary or summary == NO_SUBJECT:
        raise ValueError("a subject that is empty, or says that there is none, cannot be said")
    return summary


# ── plans ────────────────────────────────────────────────────────────────────


class KeptTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of the team's list, as a result tells it."""

    title: str
    status: op.PlanStatus
    id: str | None = None
    description: str | None = None
    assignee: str | None = None
    dependsOn: tuple[str, ...] = ()  # noqa: N815 - the native name


_ACTIONS: dict[str, op.PlanStatus] = {"claim": "in_progress", "complete": "completed", "block": "blocked"}


class TeamTask(Spelling[op.AddPlanItem | op.ChangePlanItem | op.ReadPlan]):
    """Keep the team's list of tasks: add one, list them, or take on, finish or block one."""

    native_name = "team_task"
    approximated = {"AddPlanItem.item": "a new task has a title, a description, an owner and what it depends on"}
    unsaid = {
        "ReadPlan.id": "the list is read whole",
        **{
            f"ChangePlanItem.{field}": "only how it stands with a task can be changed"
            for field in ("text", "description", "doing", "owner", "add_blocks", "add_blocked_by", "metadata")
        },
    }

    action: Literal["create", "list", "claim", "complete", "block"] = means("status", "What to do.")
    title: str | None = means("text", "Title of a new task.", default=None)
    description: str | None = means("item", "What a new task is about.", default=None)
    dependsOn: tuple[str, ...] = means(None, "Tasks a new one waits for.", default=())  # noqa: N815 - the native name
    assignee: str | None = means(None, "Who a new task is for.", default=None)
    status: str | None = native_only("the list is asked for whole")
    taskId: str | None = means("id", "The task to take on, finish or block.", default=None)  # noqa: N815 - native
    summary: str | None = native_only("what came of a task is the team's to know")
    reason: str | None = native_only("why a task is blocked is the team's to know")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.action == "create":
            if self.title is None:
                raise ValueError("title: a new task needs one")
            return (
                op.AddPlanItem(
                    op.PlanItem(
                        self.title, description=self.description, owner=self.assignee, blocked_by=self.dependsOn
                    )
                ),
            )
        if self.action == "list":
            return (op.ReadPlan(),)
        if self.taskId is None:
            raise ValueError(f"taskId: name the task to {self.action}")
        return (op.ChangePlanItem(self.taskId, status=_ACTIONS[self.action]),)

    @classmethod
    def from_operation(cls, operation: op.AddPlanItem | op.ChangePlanItem | op.ReadPlan) -> TeamTask | None:
        match operation:
            case op.ReadPlan():
                return cls(action="list")
            case op.AddPlanItem(item=item):
                return cls(
                    action="create",
                    title=item.text,
                    description=item.description,
                    dependsOn=item.blocked_by,
                    assignee=item.owner,
                )
        action = next((word for word, status in _ACTIONS.items() if status == operation.status), None)
        if action is None or operation.deleted:
            return None
        return cls(action=action, taskId=operation.id)  # type: ignore[arg-type]

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.JsonOutcome):
            return json_text(outcome.value)
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        tasks = [
            KeptTask(item.text, item.status, item.id, item.description, item.owner, item.blocked_by)
            for item in outcome.items
        ]
        return json_text({"action": self.action, "tasks": tasks})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = understand(operation, native)
        value = _decoded(told.text) if isinstance(told, out.TextOutcome) else None
        if not isinstance(value, dict):
            return told
        try:
            tasks = converted(value.get("tasks"), list[KeptTask])
        except msgspec.ValidationError:
            return out.JsonOutcome(value)
        return out.PlanOutcome(
            tuple(
                op.PlanItem(
                    one.title,
                    one.status,
                    one.id,
                    one.description,
                    owner=one.assignee,
                    blocked_by=one.dependsOn,
                )
                for one in tasks
            )
        )


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
        value = _decoded(text_of(native.content))
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


# ── tools of the editor's extension ──────────────────────────────────────────

BEFORE = "a tool of the extension for editors, in words of its own or of a fork's; it is read in its tasks"

PROGRESS = "the client's own list of what there is to do, beside the call"

_REFUSED: tuple[tuple[re.Pattern[str], out.FailureKind], ...] = (
    (
        re.compile(r"The user denied|Access to .* is blocked by the \.\w+ignore file|Command execution blocked by"),
        "denied",
    ),
    (
        re.compile(r"Tool \[[^\]]*\] was not executed|Skipping tool |Command was cancelled by the user"),
        "cancelled",
    ),
    (
        re.compile(r"Missing value for required parameter|Failed to (?:write|edit) [^\n]* parameter was empty"),
        "invalid_arguments",
    ),
    (re.compile(r"The tool execution failed with the following error:"), "failed"),
)
_REFUSED_AS: dict[str, out.FailureKind] = {"denied": "denied", "error": "failed"}
_RAN = re.compile(
    r"Command (?:executed|failed)(?:[^\n]*?[Ee]xit code:? (?P<code>-?\d+))?[^\n]*(?:\n(?:Output:\n)?(?P<printed>.*))?",
    re.DOTALL,
)
_RUNS = re.compile(
    r"(?:Command is still running|(?P<late>Command timed out after|The command was terminated after exceeding)).*?"
    r"(?:Here's the output so far:\n(?P<printed>.*))?",
    re.DOTALL,
)
_SAVED = re.compile(r"The (?:content was|updated content, [^\n]*? has been) successfully saved to [^\n]*?\.(?=\s|$)")
_WRITTEN = re.compile(r"<operation>(created|modified)</operation>")
_NOT_LISTED = re.compile(r"\n\n\(File list truncated\.[^\n]*\)\Z")
_SHOWN_LINES = re.compile(r"\n\n\((?:Showing lines \d+-\d+ of|File has) (?P<total>\d+) (?:lines )?total\.[^\n]*\)\Z")
_ONE_OF_FILES = r"<file><path>{path}</path>\n?(?P<told>.*?)</file>(?=\n<file>|\n</files>|\Z)"
_CONTENT = re.compile(r'<content lines="(?P<first>\d+)-\d+">\n(?P<lines>.*?)\n?</content>(?=\n|\Z)', re.DOTALL)
_OF_ALL = re.compile(r"<notice>Showing only \d+ of (?P<total>\d+) total lines")
_WRONG = re.compile(r"<error>(?P<failed>.*)</error>|<status>(?P<denied>Denied by user[^<]*)</status>", re.DOTALL)
_HEADED = re.compile(r"File: [^\n]*\n(?:Error: (?P<failed>.*)|(?:Lines \d+-\d+:\n)?(?P<lines>.*))", re.DOTALL)
_NO_FILE = ("<file", "[[NOTE]", "(tool did not return anything)")
"""How the text of a read begins that is not the file as it stands."""
_BLOCK = re.compile(
    r"^(?:<{7}|-{7}) SEARCH>?\n(?::\w+: ?\d+\n)*(?:-{7}\n)?"
    r"(?P<old>.*?)^={7}\n(?P<new>.*?)^(?:>{7}|\+{7}) REPLACE",
    re.DOTALL | re.MULTILINE,
)
_ITEM = re.compile(r"(?:-\s*)?\[\s*(?P<mark>[ xX~-])\s*\]\s+(?P<text>.+)")
_ITEM_STATUS: dict[str, op.PlanStatus] = {" ": "pending", "-": "in_progress", "~": "in_progress"}
_FILE = re.compile(r"<file>(?P<file>.*?)</file>", re.DOTALL)
_PATH = re.compile(r"<path>(.*?)</path>", re.DOTALL)
_RANGE = re.compile(r"<line_range>\s*(\d+)-(\d+)\s*</line_range>")


class InWords:
    """How results are told: in words alone, failures too; newer ones as a JSON object with its `status`."""

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        return tuple(self.to_outcome(operation, native) for operation in operations)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        refused = _refused(text)
        if refused is not None:
            return refused
        if isinstance(native.content, tuple):
            return out.ContentOutcome(native.content)
        match operation:
            case op.RunCommand():
                return _ran(text)
            case op.EditFile() | op.WriteFile():
                return _changed(operation, text)
            case op.ListDirectory() | op.FindFiles():
                return _listed(operation, text)
        return out.TextOutcome(text)


def _refused(text: str) -> out.Failure | None:
    told = _decoded(text) if text.startswith('{"status"') else None
    if isinstance(told, dict) and told.get("status") in _REFUSED_AS:
        why = next((told[key] for key in ("error", "feedback", "message") if isinstance(told.get(key), str)), text)
        return out.Failure(_REFUSED_AS[told["status"]], why)
    kind = next((kind for pattern, kind in _REFUSED if pattern.match(text)), None)
    return None if kind is None else out.Failure(kind, text)


def _ran(text: str) -> out.CommandOutcome:
    ran, runs = _RAN.fullmatch(text), _RUNS.fullmatch(text)
    if ran is not None:
        return out.CommandOutcome(exit_code=_line(ran["code"]), output=ran["printed"] or "")
    if runs is not None:
        return out.CommandOutcome(output=runs["printed"] or "", running=not runs["late"], timed_out=bool(runs["late"]))
    return out.CommandOutcome(output=text)


def _changed(operation: op.EditFile | op.WriteFile, text: str) -> out.Outcome:
    told = _decoded(text) if text.startswith("{") else None
    written, saved = _WRITTEN.search(text), _SAVED.search(text)
    kind = told.get("operation") if isinstance(told, dict) else written[1] if written is not None else None
    if kind in ("created", "modified"):
        return out.ChangesOutcome((out.Change(operation.path, "created" if kind == "created" else "modified"),))
    if saved is None:
        return out.TextOutcome(text)
    if isinstance(operation, op.EditFile):
        return out.ChangesOutcome((out.Change(operation.path, "modified"),))
    return out.DoneOutcome(saved[0])  # it may have been there before or not


def _listed(operation: op.ListDirectory | op.FindFiles, text: str) -> out.Outcome:
    body, cut = _NOT_LISTED.subn("", text)
    names = [] if body == "No files found." else body.split("\n")
    if isinstance(operation, op.FindFiles):
        return out.PathsOutcome(tuple(names), truncated=bool(cut))
    entries = [out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file") for name in names]
    return out.DirectoryOutcome(operation.path, tuple(entries), truncated=bool(cut))


class ReadFileBefore(InWords, Spelling[op.ReadFile]):
    """Read a file, or several with ranges of their lines."""

    native_name, read_only = "read_file", BEFORE

    path: str | None = None
    start_line: int | str | None = means("first_line", default=None)
    end_line: int | str | None = means("last_line", default=None)
    offset: int | None = means(None, default=None)
    limit: int | None = means(None, default=None)
    mode: str | None = native_only("lines are read as they stand, or the block around one")
    indentation: dict[str, Any] | None = native_only("the block around a line is the client's to find")
    args: str | None = means(None, default=None)
    files: list[dict[str, Any]] | None = means(None, default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.path is not None:
            return (op.ReadFile(self.path, *self._range()),)
        told = [read for one in self.files or () if isinstance(one.get("path"), str) for read in _ranges(one)]
        for one in _FILE.finditer(self.args or ""):
            path, ranges = _PATH.search(one["file"]), _RANGE.findall(one["file"])
            if path is None:
                raise ValueError("args: a file has no path")
            read = op.ReadFile(path[1].strip())
            told += [op.ReadFile(read.path, int(first), int(last)) for first, last in ranges] or [read]
        if not told:
            raise ValueError("path: name a file")
        return tuple(told)

    def _range(self) -> tuple[int | None, int | None]:
        first, last = _line(self.start_line), _line(self.end_line)
        if self.mode == "indentation" or (self.offset is None and self.limit is None):
            return first, last
        return self.offset, None if self.limit is None else (self.offset or 1) + self.limit - 1

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = super().to_outcome(operation, native)
        if not isinstance(told, out.TextOutcome) or not isinstance(operation, op.ReadFile):
            return told
        if "<file><path>" in told.text:
            return _one_of_files(operation, told.text) or told
        headed, counted = _HEADED.fullmatch(told.text), _SHOWN_LINES.search(told.text)
        if headed is not None and headed["failed"] is not None:
            return out.Failure("failed", headed["failed"])
        if self.path is None or told.text.startswith(_NO_FILE):
            return told
        body = headed["lines"] if headed is not None else told.text[: counted.start()] if counted else told.text
        lines = unnumbered(body, r" ?\| ?")
        if lines is None and (headed is not None or self._range() != (None, None)):
            return told  # which of its lines these are is not said
        first, text = lines or (1, body)
        return out.FileOutcome(self.path, text, first, None if counted is None else int(counted["total"]))


def _one_of_files(operation: op.ReadFile, text: str) -> out.Outcome | None:
    """What is told of this file among several, each in tags of its own with numbered lines."""
    found = re.search(_ONE_OF_FILES.format(path=re.escape(operation.path)), text, re.DOTALL)
    if found is None:
        return None
    wrong, counted = _WRONG.fullmatch(found["told"].strip()), _OF_ALL.search(found["told"])
    if wrong is not None:
        return out.Failure("failed" if wrong["failed"] else "denied", wrong["failed"] or wrong["denied"])
    pieces = list(_CONTENT.finditer(found["told"]))
    piece = next((one for one in pieces if int(one["first"]) == operation.first_line), pieces[0] if pieces else None)
    lines = None if piece is None else unnumbered(piece["lines"], r" \| ?")
    if lines is None:
        return None
    total = None if counted is None else int(counted["total"])
    return out.FileOutcome(operation.path, lines[1], lines[0], total, truncated=counted is not None)


def _ranges(file: dict[str, Any]) -> list[op.ReadFile]:
    """What is read of a file that is one of several: all of it, or pieces, each as a pair or as words."""
    given = file.get("line_ranges")
    found = [re.findall(r"\d+", str(one)) for one in given] if isinstance(given, list) else []
    path = str(file["path"])
    return [op.ReadFile(path, int(one[0]), int(one[1])) for one in found if len(one) == 2] or [op.ReadFile(path)]


class WriteToFile(InWords, Spelling[op.WriteFile]):
    """Write a whole file."""

    native_name, read_only = "write_to_file", BEFORE

    content: str
    path: str | None = None
    absolutePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    line_count: int | str | None = native_only("the content says it")
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(_named(self.path, self.absolutePath), self.content),)


class ReplaceInFile(InWords, Spelling[op.EditFile]):
    """Replace whole lines of a file, block by block."""

    native_name, read_only = "replace_in_file", BEFORE
    formerly = ("apply_diff",)

    path: str | None = None
    absolutePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    diff: str = means("edits")
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = tuple(op.Edit(one["old"], one["new"], whole_lines=True) for one in _BLOCK.finditer(self.diff))
        if not edits or not all(edit.old for edit in edits):
            raise ValueError("diff: each block needs lines to look for, after `SEARCH`, and `=======` and `REPLACE`")
        return (op.EditFile(_named(self.path, self.absolutePath), edits),)


class EditByText(InWords, Spelling[op.EditFile | op.WriteFile]):
    """Replace a piece of text in a file; in place of nothing, it is all of a new one."""

    native_name, read_only = "edit_file", BEFORE
    formerly = ("edit", "search_replace")

    file_path: str = means("path")
    old_string: str = means(None)
    new_string: str = means(None)
    replace_all: bool | None = means(None, default=None)
    expected_replacements: int | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            return (op.WriteFile(self.file_path, self.new_string),)
        expected = None if self.expected_replacements in (None, 1) else self.expected_replacements
        everywhere = self.replace_all or expected is not None
        edit = op.Edit(self.old_string, self.new_string, everywhere=everywhere, expected=expected)
        return (op.EditFile(self.file_path, (edit,)),)


class ApplyPatch(InWords, Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """Change files with a patch."""

    native_name, read_only = "apply_patch", BEFORE

    input: str | None = means(None, default=None)
    patch: str | None = means(None, default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        given = self.input or self.patch or ""
        found = re.search(r"^\*\*\* Begin Patch\n.*^\*\*\* End Patch$", given, re.DOTALL | re.MULTILINE)
        return read_patch(given if found is None else found[0])


class InsertContent(InWords, Spelling[op.InsertText]):
    """Insert lines before a line of a file."""

    native_name, read_only = "insert_content", BEFORE

    path: str
    line: int | str
    content: str = means("text")

    def to_operations(self) -> tuple[op.Operation, ...]:
        line = _line(self.line)
        if not line:
            raise ValueError("line: lines count from 1; 0 stands for the end, wherever that is")
        return (op.InsertText(self.path, line - 1, self.content),)


class ExecuteCommand(InWords, Spelling[op.RunCommand]):
    """Run a command line."""

    native_name, read_only = "execute_command", BEFORE

    command: str
    cwd: str | None = None
    requires_approval: bool | str | None = native_only("it is the client's to ask")
    timeout: float | str | None = native_only("it is in words where it is there at all")
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCommand(self.command, cwd=self.cwd),)


class SearchFiles(InWords, Spelling[op.SearchText]):
    """Search the files below a folder with a regular expression."""

    native_name, read_only = "search_files", BEFORE

    path: str = "."
    regex: str = means("pattern")
    file_pattern: str | None = means("include", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchText(self.regex, path=self.path, include=self.file_pattern or None),)


class ListFiles(InWords, Spelling[op.ListDirectory | op.FindFiles]):
    """List a folder, or all the files below it."""

    native_name, read_only = "list_files", BEFORE

    path: str = "."
    recursive: bool | str | None = means("pattern", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        everything = self.recursive is True or str(self.recursive).strip().lower() == "true"
        return (op.FindFiles("**/*", self.path) if everything else op.ListDirectory(self.path),)


class CodebaseSearch(InWords, Spelling[op.SearchDocuments]):
    """Search the project's index by meaning."""

    native_name, read_only = "codebase_search", BEFORE

    query: str
    path: str | None = native_only("it narrows the index to a folder")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchDocuments(self.query),)


class AskFollowupQuestion(InWords, Spelling[op.AskUser]):
    """Ask the user a question."""

    native_name, read_only = "ask_followup_question", BEFORE

    question: str = means("questions")
    options: str | list[str] | None = means(None, default=None)
    follow_up: str | list[Any] | None = means(None, default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        options: Any = self.options
        if isinstance(options, str) and options.startswith("["):
            options = _decoded(options)
        told = [one for one in options if isinstance(one, str)] if isinstance(options, list) else []
        if isinstance(self.follow_up, str):
            told += re.findall(r"<suggest[^>]*>(.*?)</suggest>", self.follow_up)
        told += [
            one["text"] for one in self.follow_up or () if isinstance(one, dict) and isinstance(one.get("text"), str)
        ]
        return (op.AskUser((op.Question(self.question, tuple(op.Option(one) for one in told)),)),)


class UseMcpTool(InWords, Spelling[op.CallMcpTool]):
    """Call a tool of a server."""

    native_name, read_only = "use_mcp_tool", BEFORE

    server_name: str = means("server")
    tool_name: str = means("tool")
    arguments: str | dict[str, Any] | None = means("arguments", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        given = _decoded(self.arguments) if isinstance(self.arguments, str) and self.arguments else self.arguments
        if given is not None and not isinstance(given, dict):
            raise ValueError("arguments: they are no JSON object")
        return (op.CallMcpTool(self.server_name, self.tool_name, given or {}),)


class AccessMcpResource(InWords, Spelling[op.ReadMcpResource]):
    """Read a resource of a server."""

    native_name, read_only = "access_mcp_resource", BEFORE

    server_name: str = means("server")
    uri: str = means("uri")
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadMcpResource(self.uri, self.server_name),)


class UpdateTodoList(InWords, Spelling[op.UpdatePlan]):
    """Say what there is to do, as a list with boxes to tick."""

    native_name, read_only = "update_todo_list", BEFORE

    todos: str = means("items")

    def to_operations(self) -> tuple[op.Operation, ...]:
        found = [one for line in self.todos.split("\n") if (one := _ITEM.fullmatch(line.strip())) is not None]
        return (
            op.UpdatePlan(tuple(op.PlanItem(one["text"], _ITEM_STATUS.get(one["mark"], "completed")) for one in found)),
        )


class WebFetch(InWords, Spelling[op.FetchPage]):
    """Fetch a page, and say what is wanted from it."""

    native_name, read_only = "web_fetch", BEFORE

    url: str
    prompt: str | None = means("instructions", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url, self.prompt),)


class WebSearch(InWords, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name, read_only = "web_search", BEFORE

    query: str
    allowed_domains: str | list[str] | None = means("allowed_domains", default=None)
    blocked_domains: str | list[str] | None = means("blocked_domains", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query, _domains(self.allowed_domains), _domains(self.blocked_domains)),)


def _domains(given: str | list[str] | None) -> tuple[str, ...]:
    """A list, which may be written as JSON."""
    read = _decoded(given) if isinstance(given, str) else given
    return tuple(str(one) for one in read) if isinstance(read, list) else ()


class UseSubagents(InWords, Spelling[op.SpawnAgent]):
    """Give a task each to several agents."""

    native_name, read_only = "use_subagents", BEFORE

    prompt_1: str = means("prompt")
    prompt_2: str | None = means(None, default=None)
    prompt_3: str | None = means(None, default=None)
    prompt_4: str | None = means(None, default=None)
    prompt_5: str | None = means(None, default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        prompts = (self.prompt_1, self.prompt_2, self.prompt_3, self.prompt_4, self.prompt_5)
        if not any(prompts):
            raise ValueError("prompt_1: say what is to be done")
        return tuple(op.SpawnAgent(prompt) for prompt in prompts if prompt)


class UseSkillBefore(InWords, Spelling[op.UseSkill]):
    """Load a skill."""

    native_name, read_only = "use_skill", BEFORE
    formerly = ("skill",)

    skill_name: str | None = means("name", default=None)
    skill: str | None = means(None, default=None)
    args: str | None = means("arguments", default=None)
    task_progress: str | None = native_only(PROGRESS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        name = self.skill_name or self.skill
        if not name:
            raise ValueError("skill_name: name a skill")
        return (op.UseSkill(name, self.args),)


class ReadCommandOutput(InWords, Spelling[op.ReadOutput]):
    """Read what a command printed that was too long to be told."""

    native_name, read_only = "read_command_output", BEFORE

    artifact_id: str = means("job")
    search: str | None = means("pattern", default=None)
    offset: int | None = native_only("the client keeps the output in a file, counted in bytes")
    limit: int | None = native_only("the client keeps the output in a file, counted in bytes")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadOutput(self.artifact_id, pattern=self.search),)


class GenerateImage(InWords, Spelling[op.GenerateImage]):
    """Make an image, or change one, and save it."""

    native_name, read_only = "generate_image", BEFORE

    prompt: str
    path: str | None = native_only("where it is saved")
    image: str | None = native_only("the image that is changed")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.GenerateImage(self.prompt),)


def _named(path: str | None, absolute: str | None) -> str:
    """A file's path, which models that are trained so say as an absolute one."""
    name = path or absolute
    if not name:
        raise ValueError("path: name a file")
    return name


def _line(number: int | str | None) -> int | None:
    return int(number) if number not in (None, "") else None


# ── the vocabulary ───────────────────────────────────────────────────────────

OUTCOMES = "a team's joint report is the client's own"


DIALECT = Dialect(
    "cline",
    (
        ReadFiles,
        SearchCodebase,
        RunCommands,
        FetchWebContent,
        Editor,
        AskQuestion,
        SpawnAgent,
        TeamShutdownTeammate,
        TeamStatus,
        TeamTask,
        TeamRunTask,
        TeamAwaitRuns,
        TeamSendMessage,
        ReadFileBefore,
        WriteToFile,
        ReplaceInFile,
        EditByText,
        ApplyPatch,
        InsertContent,
        ExecuteCommand,
        ReadCommandOutput,
        SearchFiles,
        ListFiles,
        CodebaseSearch,
        AskFollowupQuestion,
        UseMcpTool,
        AccessMcpResource,
        UpdateTodoList,
        WebFetch,
        WebSearch,
        UseSubagents,
        UseSkillBefore,
        GenerateImage,
    ),
    steering=(
        Steer(
            "attempt_completion",
            "it says that the task is done, and waits for the user",
            ("result", "command", "task_progress"),
        ),
        Steer(
            "browser_action",
            "the browser is the client's own",
            ("action", "url", "coordinate", "text", "size", "path", "task_progress"),
        ),
        Steer("list_code_definition_names", "it is an outline the client makes", ("path", "task_progress")),
        Steer("new_task", "it goes on in a task of its own", ("context", "mode", "message", "todos", "task_progress")),
        Steer("switch_mode", "modes are the client's own", ("mode_slug", "reason")),
        Steer("fetch_instructions", "instructions are the client's own", ("task",)),
        Steer(
            "plan_mode_respond",
            "modes are the client's own",
            ("response", "needs_more_exploration", "options", "task_progress"),
        ),
        Steer("act_mode_respond", "modes are the client's own", ("response", "task_progress")),
        Steer("load_mcp_documentation", "instructions are the client's own"),
        Steer("condense", "it shortens the conversation", ("context",)),
        Steer("summarize_task", "it shortens the conversation", ("context",)),
        Steer("search_and_replace", "it may mean an expression in a part of a file", ("path", "search", "replace")),
        Steer("generate_explanation", "notes beside a change, in the editor", ("title", "from_ref", "to_ref")),
        Steer("new_rule", "rules are the client's own", ("path", "content")),
        Steer(
            "report_bug",
            "it fills in a report on the client",
            ("title", "what_happened", "steps_to_reproduce", "api_request_output", "additional_context"),
        ),
        Steer("run_slash_command", "commands are the client's own", ("command", "args")),
        Steer("team_spawn_teammate", "it makes a teammate that has nothing to do yet", ("agentId", "rolePrompt")),
        Steer("team_cancel_run", "it ends one run; the teammate stays", ("runId", "reason")),
        Steer("team_list_runs", "runs are the client's own", ("status", "agentId", "includeCompleted")),
        Steer("team_broadcast", "it is a message to nobody in particular", ("subject", "body", "taskId")),
        Steer("team_read_mailbox", "a mailbox is the client's own", ("unreadOnly",)),
        Steer(
            "team_mission_log",
            "it is a report for those who watch the team",
            ("kind", "summary", "taskId", "evidence", "nextAction"),
        ),
        Steer("team_cleanup", "it ends the team as a whole"),
        Steer("team_create_outcome", OUTCOMES, ("title", "requiredSections")),
        Steer("team_attach_outcome_fragment", OUTCOMES, ("outcomeId", "section", "sourceRunId", "content")),
        Steer("team_review_outcome_fragment", OUTCOMES, ("fragmentId", "approved")),
        Steer("team_finalize_outcome", OUTCOMES, ("outcomeId",)),
        Steer("team_list_outcomes", OUTCOMES),
    ),
    mcp=(McpNames("{server}__{tool}"), McpNames("mcp--{server}--{tool}")),
    failures=FAILURES,
    unspelled=ClineUnspelled(),
    unspoken={
        op.UpdatePlan: "the team's list is kept task by task",
        op.SignalParent: "a teammate writes to the mailbox of the lead",
    },
)
