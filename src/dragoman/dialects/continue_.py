"""Continue's vocabulary (1.5.47): a dozen tools of one or two parameters, in the words its models know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import converted, json_text, read_json

from .base.default_words import FailuresInWords, tell, tell_all, text_of, understand
from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.spelling import SECONDS, Content, ResultWords, Spelling, Tells, means, native_only
from .base.words import CALLED, PATH, Template, body, lines, maybe, one_of, picture, single, skipped, words

NOT_OFFERED = "models call it, and no version that was captured offers it"


# ── reading files ────────────────────────────────────────────────────────────


_PART_OF_FILE = words(
    out.FileOutcome,
    "Content of {asked.path} (from line {first_line}",
    maybe(", cut", truncated=False),
    "):\n{text}",
    path=CALLED,
    text=body(),
)


class Read(Spelling[op.ReadFile]):
    """Read a whole file, text or image; of one that is too large, read parts with a shell command."""

    native_name = "Read"
    unsaid = {
        "first_line": "a file is read whole",
        "last_line": "a file is read whole",
        "pages": "a file is read whole",
    }

    filepath: str = means("path", "Path of the file.")

    results = one_of(
        picture("Image file: {asked.path} ({media_type})"),
        words(
            out.FileOutcome, "Content of {asked.path}:\n{text}", path=CALLED, text=body(), first_line=1, truncated=False
        ),
        _PART_OF_FILE,
        read_first=(_PART_OF_FILE,),
    )


class List(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder."""

    native_name = "List"
    unsaid = {
        "ignore": "nothing is left out",
        "depth": "only one level is listed",
        "limit": "the folder is listed whole",
        "respect_ignore": "nothing is left out",
        "prefix": "a folder is listed, whatever its files are called",
    }

    dirpath: str = means("path", "Path of the folder.")

    results = one_of(
        words(
            out.DirectoryOutcome,
            "Files in {asked.path}:",
            "{entries}",
            maybe("\n[more entries are not shown]", truncated=False),
            path=CALLED,
            entries=lines(words(out.Entry, "{path} ({kind}", maybe(", {size} bytes"), ")"), leading=True),
        ),
        # The client ends the line of an empty folder (1.5.47).
        formerly=(words(out.DirectoryOutcome, "Files in {asked.path}:\n", path=CALLED, entries=()),),
    )


# ── changing files ───────────────────────────────────────────────────────────


def _counted(_operation: op.Operation, outcome: Any) -> out.Outcome:
    """A change with its lines counted, where the difference shows them."""
    (change,) = outcome.changes
    if change.diff is None:
        return out.ChangesOutcome((change,))
    shown = change.diff.split("\n")
    body = shown[next((index for index, line in enumerate(shown) if line.startswith("@@")), len(shown)) :]
    added, removed = (sum(line.startswith(mark) for line in body) for mark in "+-")
    return out.ChangesOutcome((msgspec.structs.replace(change, added=added, removed=removed),))


def _edits(operation: Any) -> str:
    count = len(operation.edits)
    return f"{count} edit{'s' * (count != 1)}"


def _with_difference(sentence: str) -> tuple[Template, Template]:
    """A changed file with the difference, and without one."""
    kinds: dict[str, Any] = {"_edits": skipped(_edits, "[0-9]++ edits?")} if "{_edits}" in sentence else {}
    return (
        words(out.Change, f"{sentence}\nDiff:\n", "{diff}", kind="modified", path=PATH, diff=body(), **kinds),
        words(out.Change, sentence, kind="modified", path=PATH, diff=None, **kinds),
    )


class ChangingFiles:
    """How a changed file is told: what was done to which file, and the difference where there was one before."""

    results: ClassVar[ResultWords | None] = one_of(
        single(
            out.ChangesOutcome,
            words(out.Change, "Successfully created file: {path}", kind="created", path=PATH),
            *_with_difference("Successfully wrote to file: {path}"),
            asked=op.WriteFile,
        ),
        single(out.ChangesOutcome, *_with_difference("Successfully edited {path} with {_edits}"), asked=op.EditFile),
        then=_counted,
    )


class Write(ChangingFiles, Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced, folders that are missing are made."""

    native_name = "Write"
    unsaid = {"overwrite": "an existing file is always replaced"}

    filepath: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


class OneEdit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One piece of text and what takes its place."""

    old_string: str
    new_string: str
    replace_all: bool | None = None


class MultiEdit(ChangingFiles, Spelling[op.EditFile]):
    """Replace one or several pieces of text in a file, one after the other: all of them or none."""

    native_name = "MultiEdit"
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    unsaid = {"purpose": "there is no parameter for it"}

    file_path: str = means("path", "Path of the file.")
    edits: tuple[OneEdit, ...] = means("edits", "The exact texts and what takes their place, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = (op.Edit(one.old_string, one.new_string, everywhere=one.replace_all or False) for one in self.edits)
        return (op.EditFile(self.file_path, tuple(edits)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> MultiEdit | None:
        edits = operation.edits
        if not edits or any(not edit.old or ((edit.expected or 1) != 1 and not edit.everywhere) for edit in edits):
            return None  # a text that must be found so often, or nowhere, is never found so
        said = (OneEdit(edit.old or "", edit.new, edit.everywhere or None) for edit in edits)
        return cls(file_path=operation.path, edits=tuple(said))


class Edit(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file."""

    native_name = "Edit"
    read_only = NOT_OFFERED

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        edit = op.Edit(self.old_string, self.new_string, everywhere=self.replace_all or False)
        return (op.EditFile(self.file_path, (edit,)),)


# ── commands ─────────────────────────────────────────────────────────────────

_STDERR = "\nStderr: "
_ENDED = re.compile(
    r"(?:Error executing tool Bash: )?Error \((?:exit code (?P<code>-?\d+|null)|ended by signal (?P<signal>\d+))\): "
    r"(?P<printed>.*)",
    re.DOTALL,
)
_TIMED_OUT = re.compile(r"(.*)\n\n\[Command timed out(?: after [\d.]+ seconds of no output)?\]", re.DOTALL)
_MOVED = re.compile(
    r"Command moved to background\.(?: Job ID: (?P<job>[^\n]*))?\nOutput so far:\n(?P<printed>.*)\n"
    r"Use CheckBackgroundJob[^\n]*",
    re.DOTALL,
)


def _printed(outcome: out.CommandOutcome) -> str:
    if outcome.output is not None:
        return outcome.output
    return (outcome.stdout or "") + (f"{_STDERR}{outcome.stderr}" if outcome.stderr else "")


def _streams(printed: str) -> dict[str, Any]:
    """What was printed: the streams apart where something was written to the second, else as one."""
    stdout, mark, stderr = printed.partition(_STDERR)
    return {"stdout": stdout, "stderr": stderr} if mark else {"output": printed}


class Bash(Spelling[op.RunCommand]):
    """Run a command line in a login shell in the working folder; it may be silent for `timeout` seconds."""

    native_name = "Bash"
    approximated = {"timeout_ms": "the time counts from the last output, not from the start"}
    unsaid = {
        "cwd": "it runs in the working folder",
        "purpose": "there is no parameter for it",
        "background": "only the user moves a command to the background",
        "wait_ms": "a command is waited for until the user moves it to the background",
        "job": "the client names the jobs",
        "shell": "it is always the user's shell",
        "login": "it is always a login shell",
        "terminal": "there is never a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
    }

    command: str = means("command", "The command line.")
    timeout: float | None = means(
        "timeout_ms", "Seconds it may be silent (180, at most 600).", default=None, convert=SECONDS
    )

    tells: ClassVar[Tells] = {out.CommandOutcome: ("signal", "running", "timed_out", "job")}

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        """A command that did not end well is an error, though it ran."""
        (outcome,) = outcomes
        if not isinstance(outcome, out.CommandOutcome):
            return tell(operations[0], outcome), None
        printed = _printed(outcome)
        if outcome.timed_out:
            silent = "" if self.timeout is None else f" after {self.timeout:g} seconds of no output"
            return f"{printed}\n\n[Command timed out{silent}]", None
        if outcome.running:
            job = "" if outcome.job is None else f" Job ID: {outcome.job}"
            use = "CheckBackgroundJob" + ("" if outcome.job is None else f'("{outcome.job}")')
            told = f"Command moved to background.{job}\nOutput so far:\n{printed}\nUse {use} to check status."
            return told, None
        if outcome.signal is None and not outcome.exit_code:
            return printed, None
        end = f"ended by signal {outcome.signal}" if outcome.signal is not None else f"exit code {outcome.exit_code}"
        body = outcome.stderr or "" if not outcome.output and not outcome.stdout else printed
        return f"Error executing tool Bash: Error ({end}): {body}", True

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if ended := _ENDED.fullmatch(text):
            # The client shows what was written to the second stream alone; nothing is known of the first.
            streams = _streams(ended["printed"]) if _STDERR in ended["printed"] else {"stderr": ended["printed"]}
            code = int(ended["code"]) if ended["code"] not in (None, "null") else None
            return out.CommandOutcome(code, signal=int(ended["signal"]) if ended["signal"] else None, **streams)
        if timed := _TIMED_OUT.fullmatch(text):
            return out.CommandOutcome(timed_out=True, **_streams(timed[1]))
        if moved := _MOVED.fullmatch(text):
            return out.CommandOutcome(running=True, job=moved["job"], **_streams(moved["printed"]))
        # A command that failed without a word on the second stream is told as one that did not fail.
        return out.CommandOutcome(0 if _STDERR in text else None, **_streams(text))


class KeptJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """A background job, as a result tells it."""

    job_id: str
    status: str
    command: str | None = None
    output: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    duration_seconds: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    error: str | None = None


class NoJob(msgspec.Struct, frozen=True):
    """That there is no such job, as a result tells it."""

    error: str
    available_jobs: list[dict[str, Any]]


class CheckBackgroundJob(Spelling[op.ReadOutput]):
    """Look at a background job: whether it runs, how it ended, and all it has written."""

    native_name = "CheckBackgroundJob"
    unsaid = {
        "wait_ms": "it never waits",
        "lines": "all output is given",
        "pattern": "all output is given",
        "block": "it never waits",
        "output_limit": "all output is given",
    }

    job_id: str = means("job", "Id of the job.")

    tells: ClassVar[Tells] = {out.CommandOutcome: ("exit_code", "signal", "running", "timed_out")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.CommandOutcome):
            return tell(operation, outcome)
        ended = "failed" if outcome.exit_code or outcome.signal is not None or outcome.timed_out else "completed"
        kept = KeptJob(
            self.job_id,
            "running" if outcome.running else ended,
            output=_printed(outcome),
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            timed_out=outcome.timed_out,
        )
        return msgspec.json.format(json_text(kept).encode(), indent=2).decode()

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            kept = read_json(text_of(native.content), type=dict[str, Any])
            if "available_jobs" in kept:
                missing = converted(kept, NoJob)
                return out.Failure("failed", missing.error, {"available_jobs": missing.available_jobs})
            job = converted(kept, KeptJob)
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.CommandOutcome(
            job.exit_code,
            output=job.output,
            signal=job.signal,
            running=job.status in ("pending", "running"),
            timed_out=job.timed_out,
            job=job.job_id,
            duration_ms=None if job.duration_seconds is None else job.duration_seconds * 1000,
        )


# ── searching ────────────────────────────────────────────────────────────────

_NO_MATCHES = re.compile(
    r"(?:Error executing (?:tool Search|search|ripgrep): )*No matches found for pattern .*", re.DOTALL
)


class Search(Spelling[op.SearchText]):
    """Search file contents with a regular expression; ignored files are passed over."""

    native_name = "Search"
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "file_type": "files are chosen by glob",
        "mode": "the matching lines are always given",
        "case_sensitive": "it is said in the expression",
        "literal": "the pattern is always an expression",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "before": "only the matching lines are given",
        "after": "only the matching lines are given",
        "line_numbers": "lines always have their numbers",
        "limit": "the client has one limit for all searches",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder or file to search in.", default=".")
    file_pattern: str | None = means("include", "Only files that match this glob.", default=None)

    tells: ClassVar[Tells] = {out.MatchesOutcome: ("matches", "mode", "truncated")}
    _TOLD = re.compile(r'Search results for pattern ".*?"(?: in files matching ".*?")?:\n\n(.*)', re.DOTALL)
    _CUT = re.compile(r"(.*)\n\n\[Results truncated: [^\n]*?(?: of (\d+) matches)?\]", re.DOTALL)

    def _wanted(self) -> str:
        files = "" if self.file_pattern is None else f' in files matching "{self.file_pattern}"'
        return f'"{self.pattern}"{files}'

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != "content":
            return tell(operation, outcome)
        if not outcome.matches:
            return f"No matches found for pattern {self._wanted()}."
        lines = [
            f"{match.path}:{(match.line or 1) + index}:{text}"
            for match in outcome.matches
            for index, text in enumerate((match.text or "").split("\n"))
        ]
        told = f"Search results for pattern {self._wanted()}:\n\n" + "\n".join(lines)
        counted = "" if outcome.total is None else f" of {outcome.total} matches"
        return f"{told}\n\n[Results truncated: showing {len(lines)}{counted}]" if outcome.truncated else f"{told}\n"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if _NO_MATCHES.fullmatch(text):
            return out.MatchesOutcome(())
        found = self._TOLD.fullmatch(text)
        if found is None:
            return understand(operation, native)
        cut = self._CUT.fullmatch(found[1])
        body = cut[1] if cut else found[1].removesuffix("\n")
        lines = [re.fullmatch(r"(.+?):(\d+):(.*)", line, re.DOTALL) for line in body.split("\n")]
        if not all(lines):
            return out.TextOutcome(text)
        matches = tuple(out.Match(line[1], int(line[2]), line[3]) for line in lines if line is not None)
        return out.MatchesOutcome(matches, total=int(cut[2]) if cut and cut[2] else None, truncated=cut is not None)


# ── web ──────────────────────────────────────────────────────────────────────


class Fetch(Spelling[op.FetchPage]):
    """Fetch a page; it comes back as Markdown."""

    native_name = "Fetch"
    unsaid = {
        "instructions": "a page is given as it is",
        "format": "it is always Markdown",
        "timeout_ms": "there is no parameter for it",
        "offset": "a page is given from its start",
        "limit": "the client has one limit for all pages",
    }

    url: str = means("url", "Address of the page.")

    results = one_of(
        single(out.PagesOutcome, words(out.Page, "{text}", url=CALLED, text=body(or_nothing=True)), answer=None),
        default_first=True,
    )


# ── plans ────────────────────────────────────────────────────────────────────

_BOX = re.compile(r"\s*[-*+] \[([ xX])\] ?(.*)", re.DOTALL)


def _read_list(text: str) -> tuple[tuple[op.PlanItem, ...], str | None]:
    """The boxes of a Markdown list; what stands above them explains it, what stands below one describes it."""
    above: list[str] = []
    items: list[tuple[str, str, list[str]]] = []
    for line in text.split("\n"):
        box = _BOX.fullmatch(line)
        if box is not None:
            items.append((box[2], box[1], []))
        else:
            (items[-1][2] if items else above).append(line.strip())
    return tuple(
        op.PlanItem(said, "pending" if mark == " " else "completed", description="\n".join(below).strip() or None)
        for said, mark, below in items
    ), "\n".join(above).strip() or None


def _write_list(items: Sequence[op.PlanItem], explanation: str | None) -> str:
    lines = [] if not explanation else [*explanation.split("\n"), ""]
    for item in items:
        first, *rest = item.text.split("\n")
        lines.append(f"- [{'x' if item.status == 'completed' else ' '}] {first}")
        lines += [f"  {line}" for line in (*rest, *(item.description or "").split("\n")) if line]
    return "\n".join(lines)


class Checklist(Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, as Markdown boxes, ticked when done."""

    native_name = "Checklist"
    approximated = {
        "items": "an item is a text that is done or not",
        "explanation": "it stands above the list",
    }

    checklist: str = means("items", "The whole list in Markdown: `- [ ] to do`, `- [x] done`.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(*_read_list(self.checklist)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> Checklist:
        return cls(checklist=_write_list(operation.items, operation.explanation))

    _TOLD = "Task list status:\n"

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        return self._TOLD + _write_list(outcome.items, outcome.explanation)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if not text.startswith(self._TOLD):
            return understand(operation, native)
        return out.PlanOutcome(*_read_list(text.removeprefix(self._TOLD)))


# ── people and skills ────────────────────────────────────────────────────────


class AskQuestion(Spelling[op.AskUser]):
    """Ask the user one question, with answers to choose from or (none given) an open one."""

    native_name = "AskQuestion"
    approximated = {"questions": "a question has no header and no id, takes one answer, and its options are bare texts"}

    question: str = means("questions", "The question.")
    options: tuple[str, ...] = means(None, "Answers to choose from; none for an open question.")
    defaultAnswer: str | None = means(None, "The answer when the user gives none.", default=None)  # noqa: N815 - native

    def to_operations(self) -> tuple[op.Operation, ...]:
        options = tuple(op.Option(option) for option in self.options)
        return (op.AskUser((op.Question(self.question, options, default=self.defaultAnswer),)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskQuestion | None:
        if len(operation.questions) != 1:
            return None
        (question,) = operation.questions
        options = tuple(option.label for option in question.options)
        return cls(question=question.text, options=options, defaultAnswer=question.default)

    _TOLD = re.compile(
        r'User (?:selected option \d+|(?P<own>provided custom answer|answered)): "(?P<said>.*)"', re.DOTALL
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome) or len(outcome.answers) != 1:
            return tell(operation, outcome)
        answer = outcome.answers[0]
        said = answer.text if answer.text is not None else ", ".join(answer.choices)
        if said in self.options:
            return f'User selected option {self.options.index(said) + 1}: "{said}"'
        return f'User {"provided custom answer" if self.options else "answered"}: "{said}"'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = self._TOLD.fullmatch(text)
        if found is not None:
            answer = out.Answer(self.question, () if found["own"] else (found["said"],), found["own"] and found["said"])
            return out.AnswersOutcome((answer,))
        if text == "The user declined to answer your question.":
            return out.Failure("denied", text)
        return understand(operation, native)


class Skills(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skills"
    unsaid = {"arguments": "a skill takes none"}

    skill_name: str = means("name", "Name of the skill.")


# ── tools of the extension for editors ───────────────────────────────────────

IN_EDITORS = "a tool of the extension for editors, which keeps its sessions in the same place"

_CUT_SHORT = "Truncation warning"
_ENDED_AS = re.compile(
    r"Command (?P<done>completed)|Command failed with exit code (?P<code>\d+)|Command (?P<late>timed out)"
)


def _pieces(native: NativeResult) -> list[dict[str, Any]]:
    """The pieces of a result as the log keeps them, each with its name; as one where they are not there."""
    kept = native.item.get("output") if isinstance(native.item, dict) else None
    pieces = [piece for piece in kept if isinstance(piece, dict)] if isinstance(kept, list) else []
    return pieces or [{"content": text_of(native.content)}]


def _told(native: NativeResult) -> tuple[str, bool]:
    """What a result says, and whether a warning stands beside it that this is not all."""
    pieces = _pieces(native)
    texts = [str(piece.get("content") or "") for piece in pieces if piece.get("name") != _CUT_SHORT]
    return "\n".join(texts), len(texts) < len(pieces)


class InEditors:
    """How the extension tells results: bare texts, and beside a text what it is of or how it ended."""

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text, cut = _told(native)
        match operation:
            case op.ReadFile():
                return out.FileOutcome(operation.path, text, operation.first_line or 1, truncated=cut)
            case op.RunCommand():
                return _ended(_pieces(native)[0], text)
            case op.ListDirectory():
                names = [] if text.startswith("No files/folders found in ") else text.split("\n")
                entries = [
                    out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file") for name in names
                ]
                return out.DirectoryOutcome(operation.path, tuple(entries), truncated=cut)
            case op.FindFiles():
                none = text.startswith(("No files/folders found in ", "The glob search returned no results"))
                return out.PathsOutcome(() if none else tuple(text.split("\n")), truncated=cut)
            case op.SearchText() if text.startswith("The search returned no results"):
                return out.MatchesOutcome(())
            case op.WriteFile() if text.startswith("File created"):
                return out.ChangesOutcome((out.Change(operation.path, "created"),))
            case op.EditFile() if text.startswith("Successfully edited"):
                return out.ChangesOutcome((out.Change(operation.path, "modified"),))
            case op.FetchPage():
                return out.PagesOutcome((out.Page(operation.url, text=text, truncated=cut),))
        return understand(operation, native)


def _ended(piece: dict[str, Any], text: str) -> out.CommandOutcome:
    status = str(piece.get("status") or "")
    ended = _ENDED_AS.match(status)
    if ended is None:
        return out.CommandOutcome(output=text, running="running in the background" in status)
    if ended["late"]:
        return out.CommandOutcome(output=text, timed_out=True)
    return out.CommandOutcome(0 if ended["done"] else int(ended["code"]), output=text)


class ReadInEditor(InEditors, Spelling[op.ReadFile]):
    """Read a whole file."""

    native_name, read_only = "read_file", IN_EDITORS
    formerly = ("builtin_read_file",)

    filepath: str = means("path")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.filepath),)


class ReadRangeInEditor(InEditors, Spelling[op.ReadFile]):
    """Read lines of a file."""

    native_name, read_only = "read_file_range", IN_EDITORS
    formerly = ("builtin_read_file_range",)

    filepath: str = means("path")
    startLine: int = means("first_line")  # noqa: N815 - the native name
    endLine: int = means("last_line")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.filepath, self.startLine, self.endLine),)


class CreateInEditor(InEditors, Spelling[op.WriteFile]):
    """Write a new file; one that is there is left as it is."""

    native_name, read_only = "create_new_file", IN_EDITORS
    formerly = ("builtin_create_new_file",)

    filepath: str = means("path")
    contents: str = means("content")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(self.filepath, self.contents, overwrite=False),)


class OneReplacement(msgspec.Struct, frozen=True):
    """One of several edits."""

    old_string: str
    new_string: str
    replace_all: bool | None = None


class ReplaceInEditor(InEditors, Spelling[op.EditFile]):
    """Replace a piece of text in a file."""

    native_name, read_only = "single_find_and_replace", IN_EDITORS
    formerly = ("builtin_single_find_and_replace",)

    filepath: str = means("path")
    old_string: str = means("edits")
    new_string: str = means(None)
    replace_all: bool | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _edited(self.filepath, (OneReplacement(self.old_string, self.new_string, self.replace_all),))


class EditInEditor(InEditors, Spelling[op.EditFile]):
    """Replace several pieces of text in a file, one after the other."""

    native_name, read_only = "multi_edit", IN_EDITORS
    formerly = ("builtin_multi_edit",)

    edits: tuple[OneReplacement, ...]
    filepath: str = means("path")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _edited(self.filepath, self.edits)


def _edited(path: str, edits: Sequence[OneReplacement]) -> tuple[op.Operation, ...]:
    if not edits or not all(edit.old_string for edit in edits):
        raise ValueError("old_string: say what is to be replaced")
    return (
        op.EditFile(
            path, tuple(op.Edit(one.old_string, one.new_string, everywhere=one.replace_all or False) for one in edits)
        ),
    )


class RunInEditor(InEditors, Spelling[op.RunCommand]):
    """Run a command line."""

    native_name, read_only = "run_terminal_command", IN_EDITORS
    formerly = ("builtin_run_terminal_command",)

    command: str
    waitForCompletion: bool | None = means("background", default=None)  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCommand(self.command, background=self.waitForCompletion is False),)


class SearchInEditor(InEditors, Spelling[op.SearchText]):
    """Search the project with a regular expression."""

    native_name, read_only = "grep_search", IN_EDITORS
    formerly = ("builtin_grep_search",)

    query: str = means("pattern")
    splitByFile: bool | None = native_only("how results are laid out")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchText(self.query),)


class FindInEditor(InEditors, Spelling[op.FindFiles]):
    """Find files by a glob pattern."""

    native_name, read_only = "file_glob_search", IN_EDITORS
    formerly = ("builtin_file_glob_search",)

    pattern: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FindFiles(self.pattern),)


class ListInEditor(InEditors, Spelling[op.ListDirectory | op.FindFiles]):
    """List a folder, or all that is below it."""

    native_name, read_only = "ls", IN_EDITORS
    formerly = ("builtin_ls",)

    dirPath: str | None = means("path", default=None)  # noqa: N815 - the native name
    recursive: bool | None = means("pattern", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = self.dirPath or "."
        return (op.FindFiles("**/*", path) if self.recursive else op.ListDirectory(path),)


class SearchCodeInEditor(InEditors, Spelling[op.SearchDocuments]):
    """Search the project's index by meaning."""

    native_name, read_only = "codebase", IN_EDITORS
    formerly = ("builtin_codebase", "codebase_tool")

    query: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchDocuments(self.query),)


class SearchWebInEditor(InEditors, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name, read_only = "search_web", IN_EDITORS
    formerly = ("builtin_search_web",)

    query: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query),)


class FetchInEditor(InEditors, Spelling[op.FetchPage]):
    """Fetch a page."""

    native_name, read_only = "fetch_url_content", IN_EDITORS
    formerly = ("builtin_fetch_url_content",)

    url: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url),)


class SkillInEditor(InEditors, Spelling[op.UseSkill]):
    """Load a skill."""

    native_name, read_only = "read_skill", IN_EDITORS

    skillName: str = means("name")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UseSkill(self.skillName),)


# ── results of servers, and failures ─────────────────────────────────────────


class ContinueUnspelled:
    """Results of servers: the list of content pieces as JSON. Whether it failed is not told."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """Texts as pieces; media beside them."""
        told = tell_all(operations, outcomes)
        if not isinstance(told, str) or not any(isinstance(one, op.CallMcpTool) for one in operations):
            return told
        return json_text([{"type": "text", "text": told}])

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The pieces of the list."""
        if not isinstance(operation, op.CallMcpTool) or not isinstance(native.content, str):
            return understand(operation, native)
        try:
            pieces = read_json(native.content, type=list[dict[str, Any]])
            content = tuple(_piece(piece) for piece in pieces)
        except (msgspec.DecodeError, KeyError):
            return understand(operation, native)
        if len(content) == 1 and isinstance(content[0], str):
            return understand(operation, NativeResult(native.call_id, content[0]))
        return out.ContentOutcome(content)


def _piece(piece: dict[str, Any]) -> str | out.Media:
    if piece["type"] == "text":
        return str(piece["text"])
    if piece["type"] in ("image", "audio"):
        return out.Media(str(piece["mimeType"]), str(piece["data"]))
    return json_text(piece)


class ContinueFailures(FailuresInWords):
    """Failures by their words, for the wire has no flag; a command that ended badly is none."""

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """As for all, so introduced that it is known for a failure without the flag."""
        told = text_of(super().tell(call, failure)[0])
        known = _introduced(call, told)
        return (told if known else f"{_introduction(call)}{told}"), True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result that the log flags, or that is introduced as a failure."""
        text = text_of(native.content)
        if not native.is_error and (native.is_error is False or not _introduced(call, text)):
            return None
        for operation in call.operations:
            if isinstance(operation, op.RunCommand) and _ENDED.fullmatch(text):
                return None
            if isinstance(operation, op.SearchText) and _NO_MATCHES.fullmatch(text):
                return None
        kind = self.kind(text.removeprefix(_introduction(call)))
        stopped = isinstance(native.item, dict) and native.item.get("status") == "canceled"
        return out.Failure("cancelled" if stopped and kind == "failed" else kind, text)

    def kind(self, message: str) -> out.FailureKind:
        """As for all; the introduction says nothing of the kind."""
        return super().kind(re.sub(r"\AError executing tool [^\n:]*: ", "", message))


def _introduction(call: Call) -> str:
    return f"Error executing tool {call.native.name}: "


def _introduced(call: Call, text: str) -> bool:
    return text.startswith((_introduction(call), f"Tool {call.native.name} not found"))


FAILURES = ContinueFailures(
    (
        (r"Tool .* not found", "unknown_tool"),
        (r"Required (?:argument|parameter)|Invalid arguments|Failed to parse arguments", "invalid_arguments"),
        (r"Permission denied by|The user declined", "denied"),
        (r"Cancell?ed by", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool {tool} not found. {message}",
        "invalid_arguments": "Invalid arguments: {message}",
        "denied": "Permission denied by user: {message}",
        "cancelled": "Cancelled by user: {message}",
        "timed_out": "It timed out: {message}",
    },
)

NO_TOOL = "there is no native tool for it"
SHELL = "it is done with a shell command"
ALONE = "the client has no other agents"

DIALECT = Dialect(
    "continue",
    (
        *(Read, Write, List, Bash, Fetch, Checklist, CheckBackgroundJob, AskQuestion, Search, MultiEdit, Edit, Skills),
        *(ReadInEditor, ReadRangeInEditor, CreateInEditor, ReplaceInEditor, EditInEditor, RunInEditor),
        *(SearchInEditor, FindInEditor, ListInEditor, SearchCodeInEditor, SearchWebInEditor, FetchInEditor),
        SkillInEditor,
    ),
    steering=(
        Steer("Exit", "it ends the client itself with a status"),
        Steer(
            "edit_existing_file",
            "what is to become of a file is only sketched; a model of the client's works it in",
            ("filepath", "changes", "new_contents"),
            formerly=("builtin_edit_existing_file",),
        ),
        Steer(
            "read_currently_open_file",
            "which file is open, the editor knows",
            formerly=("builtin_read_currently_open_file",),
        ),
        Steer("view_diff", "what has changed, the editor knows", formerly=("builtin_view_diff",)),
        Steer("view_repo_map", "it is an outline the client makes", formerly=("builtin_view_repo_map",)),
        Steer(
            "view_subdirectory",
            "it is an outline the client makes",
            ("directory_path",),
            formerly=("builtin_view_subdirectory",),
        ),
        Steer("request_rule", "rules are the client's own", ("name",), formerly=("builtin_request_rule",)),
        Steer(
            "create_rule_block",
            "rules are the client's own",
            ("name", "rule", "description", "globs", "regex", "alwaysApply"),
            formerly=("builtin_create_rule_block",),
        ),
    ),
    mcp=(McpNames("{tool}"),),
    failures=FAILURES,
    unspelled=ContinueUnspelled(),
    unspoken={
        op.ReadFiles: "files are read one by one",
        op.ReadNotebook: "a notebook is read as the text it is",
        op.ViewImage: "an image is read with Read",
        op.InsertText: "text is inserted by replacing what stands around it",
        op.DeleteFile: SHELL,
        op.MoveFile: SHELL,
        op.UndoEdit: "no native tool undoes a change",
        op.EditNotebook: "a notebook is edited as the text it is",
        op.FindFiles: SHELL,
        op.TypeInto: NO_TOOL,
        op.StopCommand: NO_TOOL,
        op.ListCommands: NO_TOOL,
        op.WatchCommand: NO_TOOL,
        op.SearchCode: NO_TOOL,
        op.RewriteCode: NO_TOOL,
        op.SearchTools: NO_TOOL,
        op.SearchDocuments: NO_TOOL,
        op.SearchWeb: NO_TOOL,
        op.FindInPage: NO_TOOL,
        op.TakeScreenshot: NO_TOOL,
        op.AddPlanItem: "the list is always written whole",
        op.ChangePlanItem: "the list is always written whole",
        op.ReadPlan: "the list is told when it is written",
        op.SpawnAgent: ALONE,
        op.MessageAgent: ALONE,
        op.WaitForAgent: ALONE,
        op.StopAgent: ALONE,
        op.ResumeAgent: ALONE,
        op.ListAgents: ALONE,
        op.SignalParent: ALONE,
        op.ReturnToParent: ALONE,
        op.SaveMemory: "memories are files",
        op.RecallMemory: "memories are files",
        op.ReadMcpResource: NO_TOOL,
        op.ListMcpResources: NO_TOOL,
        op.RunCode: SHELL,
        op.GenerateImage: NO_TOOL,
        op.UseComputer: NO_TOOL,
    },
)
