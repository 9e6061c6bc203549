"""What running an operation gave: typed, and complete enough to be worded as any vocabulary words its results.

Rules: a failure is a value the model reads, not an exception. A command that ran and
exited with 3 is a `CommandOutcome`, not a `Failure`. What was cut says so and how much.
"""

from __future__ import annotations

import datetime
from typing import Any, Literal

import msgspec

from .base import Tagged, Value
from .operations import PlanItem


class Outcome(Tagged, frozen=True, gc=False):
    """The root of all outcomes."""


class Problem(Value, frozen=True):
    """One thing wrong with the arguments of a call: where (`filters[2].op`) and what."""

    path: str
    message: str


FailureKind = Literal["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"]


class Failure(Outcome, frozen=True):
    """The operation was not done. `message` is written for the model; `details` for programs."""

    kind: FailureKind
    message: str
    details: dict[str, Any] = {}


class UnknownOutcome(Outcome, frozen=True):
    """It is unknown whether the operation was done: the process ended, or the log stops here."""

    reason: str


class TextOutcome(Outcome, frozen=True):
    """A text, and nothing more is known about it."""

    text: str


class JsonOutcome(Outcome, frozen=True):
    """A JSON value a function returned."""

    value: Any


class Media(Value, frozen=True):
    """An image or another file: its content in base64, or where it is. Bytes given as `data` are encoded.

    `dragoman.Image`, `Document` and `Audio` make one from a path, bytes or a URL, and check it.
    """

    media_type: str
    data: str | None = None
    url: str | None = None
    path: str | None = None
    file_id: str | None = None
    name: str | None = None
    width: int | None = None
    height: int | None = None
    size: int | None = None

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        shown = [f"{name}={value!r}" for name, value in values if value is not None and name != "data"]
        data = [] if self.data is None else [f"data=<{len(self.data):,} characters>"]
        return f"Media({', '.join([*shown, *data])})"

    def __post_init__(self) -> None:
        data: Any = self.data
        if data is None or isinstance(data, str):
            return
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"the data of media is bytes, or text in base64, not {type(data).__name__}")
        import base64

        content = bytes(data)
        msgspec.structs.force_setattr(self, "data", base64.b64encode(content).decode("ascii"))
        if self.size is None:
            msgspec.structs.force_setattr(self, "size", len(content))


class ContentOutcome(Outcome, frozen=True):
    """Texts, images and other media in the order they came; `structured` is the same as data, where given."""

    content: tuple[str | Media, ...]
    structured: Any = None


class FileOutcome(Outcome, frozen=True):
    """Lines of a file. `text` starts at line `first_line`; `total_lines` is `None` where it was not counted.

    `truncated` says that `text` ends before what was asked for; `resolved` is the file that was
    read instead when the path given was only nearly right.
    """

    path: str
    text: str
    first_line: int = 1
    total_lines: int | None = None
    total_bytes: int | None = None
    truncated: bool = False
    encoding: str | None = None
    resolved: str | None = None


class FilesOutcome(Outcome, frozen=True):
    """Several files read at once; `skipped` are those passed over, with the reason."""

    files: tuple[FileOutcome, ...]
    skipped: dict[str, str] = {}
    truncated: bool = False


class Cell(Value, frozen=True):
    """One cell of a notebook; `outputs` are its results as text or media."""

    source: str
    cell_type: str
    id: str | None = None
    language: str | None = None
    outputs: tuple[str | Media, ...] = ()


class NotebookOutcome(Outcome, frozen=True):
    """Cells of a notebook."""

    path: str
    cells: tuple[Cell, ...]


class ImageOutcome(Outcome, frozen=True):
    """A picture."""

    image: Media


class Entry(Value, frozen=True, gc=False):
    """One thing in a folder; `path` is relative to the folder listed."""

    path: str
    kind: Literal["file", "directory", "link", "other"] = "file"
    size: int | None = None
    modified: datetime.datetime | None = None


class DirectoryOutcome(Outcome, frozen=True):
    """The entries of a folder; `ignored` counts those left out by ignore rules."""

    path: str
    entries: tuple[Entry, ...]
    truncated: bool = False
    ignored: int | None = None


class PathsOutcome(Outcome, frozen=True):
    """Files that were found. `total` is how many there are in all, where that is known."""

    paths: tuple[str, ...]
    total: int | None = None
    truncated: bool = False


class Match(Value, frozen=True, gc=False):
    """One match: a line (or lines) and the lines around it; for counts, `count`; for files, the path alone."""

    path: str
    line: int | None = None
    text: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    column: int | None = None
    last_line: int | None = None
    count: int | None = None
    captures: dict[str, str] = {}


class MatchesOutcome(Outcome, frozen=True):
    """What a search found. `total` counts all matches, also those cut by a limit, where that is known.

    `skipped` counts files that were passed over because they could not be read or understood.
    """

    matches: tuple[Match, ...]
    mode: Literal["content", "files", "count"] = "content"
    total: int | None = None
    files: int | None = None
    truncated: bool = False
    skipped: int = 0


ChangeKind = Literal["created", "modified", "deleted", "moved", "unchanged"]


class Excerpt(Value, frozen=True, gc=False):
    """Whole lines of a file, joined by line feeds; `first_line` counts from 1."""

    first_line: int
    text: str


class Change(Value, frozen=True, gc=False):
    """What happened to one file. `diff` is unified, with three lines of context.

    `shown` are lines of the file after it, where the vocabulary shows some with the result, and `total_lines` how many
    lines that file has (an end of the last line begins another one). `current`: the result says that the file need not
    be read again. `replaced`: the file was moved over another.
    """

    path: str
    kind: ChangeKind
    moved_to: str | None = None
    diff: str | None = None
    added: int | None = None
    removed: int | None = None
    replacements: int | None = None
    shown: tuple[Excerpt, ...] = ()
    total_lines: int | None = None
    current: bool = False
    replaced: bool = False


class ChangesOutcome(Outcome, frozen=True):
    """Files that were changed; with `preview` they would have been. `skipped` counts files that were passed over."""

    changes: tuple[Change, ...]
    preview: bool = False
    skipped: int = 0


class CommandOutcome(Outcome, frozen=True):
    """What a command did.

    `output` is both streams in one, where they were not kept apart (then `stdout` and `stderr` are
    `None`). No `exit_code`: still running, ended by `signal`, or not known. `truncated` counts the
    characters cut out of the middle.
    """

    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    output: str | None = None
    signal: int | None = None
    running: bool = False
    timed_out: bool = False
    job: str | None = None
    truncated: int = 0
    duration_ms: int | None = None
    output_path: str | None = None
    sandbox: str | None = None


class Job(Value, frozen=True):
    """A background command and its status."""

    job: str
    command: str | None = None
    running: bool | None = None
    exit_code: int | None = None


class JobsOutcome(Outcome, frozen=True):
    """The background commands."""

    jobs: tuple[Job, ...]


class Page(Value, frozen=True):
    """A page or a search hit.

    A `snippet` is text of the page, or a passage of an answer that cites it; `age` is the search engine's word for it.
    """

    url: str
    title: str | None = None
    text: str | None = None
    snippet: str | None = None
    status: int | None = None
    media_type: str | None = None
    final_url: str | None = None
    age: str | None = None
    total_chars: int | None = None
    truncated: bool = False


class PagesOutcome(Outcome, frozen=True):
    """Pages fetched or found; `answer` is what a model made of them, where one was asked to."""

    pages: tuple[Page, ...]
    answer: str | None = None
    query: str | None = None


class PlanOutcome(Outcome, frozen=True):
    """The current plan."""

    items: tuple[PlanItem, ...]
    explanation: str | None = None


AgentStatus = Literal["running", "completed", "failed", "cancelled", "interrupted", "limited", "unknown"]


class AgentReport(Value, frozen=True):
    """One agent and what it had to say."""

    id: str | None = None
    status: AgentStatus = "unknown"
    text: str | None = None
    name: str | None = None
    agent: str | None = None
    description: str | None = None


class AgentsOutcome(Outcome, frozen=True):
    """What became of other agents; `timed_out` says that waiting ended before they did."""

    agents: tuple[AgentReport, ...]
    timed_out: bool = False


class Answer(Value, frozen=True):
    """What the user chose or wrote in answer to a question."""

    question: str
    choices: tuple[str, ...] = ()
    text: str | None = None


class AnswersOutcome(Outcome, frozen=True):
    """The user's answers."""

    answers: tuple[Answer, ...]


class Resource(Value, frozen=True):
    """A resource a server offers or gave."""

    uri: str
    name: str | None = None
    description: str | None = None
    media_type: str | None = None
    server: str | None = None
    text: str | None = None
    data: str | None = None


class ResourcesOutcome(Outcome, frozen=True):
    """Resources listed or read."""

    resources: tuple[Resource, ...]
    cursor: str | None = None


class ToolsOutcome(Outcome, frozen=True):
    """Tools that were found and may now be called."""

    names: tuple[str, ...]
    definitions: tuple[dict[str, Any], ...] = ()


class DoneOutcome(Outcome, frozen=True):
    """It was done, and there is nothing to say beyond that."""

    note: str | None = None


AnyOutcome = (
    Failure
    | UnknownOutcome
    | TextOutcome
    | JsonOutcome
    | ContentOutcome
    | FileOutcome
    | FilesOutcome
    | NotebookOutcome
    | ImageOutcome
    | DirectoryOutcome
    | PathsOutcome
    | MatchesOutcome
    | ChangesOutcome
    | CommandOutcome
    | JobsOutcome
    | PagesOutcome
    | PlanOutcome
    | AgentsOutcome
    | AnswersOutcome
    | ResourcesOutcome
    | ToolsOutcome
    | DoneOutcome
)

OUTCOMES: dict[str, type[Outcome]] = {outcome.__struct_config__.tag: outcome for outcome in AnyOutcome.__args__}
"""Every outcome by its tag."""
