"""pi's vocabulary (0.74): seven small tools, four of them always offered, in the words its models know."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.edit_rules import AS_GIVEN, EditRules, Step

from .base.conversions import INVERTED, LINE_COUNT, SECONDS, WHOLE, whole, whole_number
from .base.default_words import FailuresInWords, text_of, up_to_here
from .base.dialect import Dialect
from .base.edits import has_written
from .base.match_lines import MatchLine, lines_of, matches_in
from .base.reasons import usual
from .base.spelling import Refusals, Spelling, Tells, means, native_only
from .base.words import (
    ANY,
    CALLED,
    NOT_ZERO,
    PATH,
    Body,
    Part,
    Reads,
    Results,
    Template,
    body,
    by_hand,
    count_of,
    done,
    either,
    ended_badly,
    lines,
    maybe,
    one_of,
    one_stream,
    picture,
    single,
    skipped,
    way,
    words,
)

BY_NAME = "the client offers it only when it is started with it"

# ── reading files ────────────────────────────────────────────────────────────


class ShownText(msgspec.Struct, frozen=True):
    """The text of a file, and what the note below it says of the lines."""

    text: str
    first: int | None = None
    last: int | None = None
    total: int | None = None
    more: int | None = None
    next: int | None = None


def _shown(asked: op.Operation, outcome: out.FileOutcome) -> ShownText:
    outcome = up_to_here(asked, outcome)
    last, total = outcome.first_line + outcome.text.count("\n"), outcome.total_lines
    more = total - last if total is not None and total > last else None
    if outcome.truncated:
        return ShownText(outcome.text, outcome.first_line, last, None if more is None else total, next=last + 1)
    return ShownText(outcome.text, more=more, next=last + 1)


def _file(asked: op.ReadFile, shown: ShownText) -> out.FileOutcome:
    if shown.first is not None:
        return out.FileOutcome(asked.path, shown.text, shown.first, shown.total, truncated=True)
    total = None if shown.more is None or shown.next is None else shown.next - 1 + shown.more
    return out.FileOutcome(asked.path, shown.text, asked.first_line or 1, total)


def _read(*note: Part, **facts: Any) -> Template:
    return words(ShownText, "{text}", *note, text=body(), of=out.FileOutcome, to=_file, back=_shown, **facts)


class Read(Spelling[op.ReadFile]):
    """Read a text file, or `limit` lines of it from line `offset`. An image is shown."""

    native_name = "read"

    path: str = means("path", "Path of the file.")
    offset: float | None = means("first_line", "First line to read, from 1.", default=None, convert=WHOLE)
    limit: float | None = means("last_line", "Number of lines to read.", default=None, convert=whole(LINE_COUNT))

    results = one_of(
        picture("Read image file [{media_type}]"),
        _read(
            "\n\n[Showing lines {first}-{last} of {total}",
            maybe(" ({_limit})", written=False),
            ". Use offset={next} to continue.]",
            _limit=skipped("", "[^)]*"),
        ),
        _read("\n\n[Showing lines {first}-{last} of more than {last}. Use offset={next} to continue.]", total=None),
        _read("\n\n[{more} more lines in file. Use offset={next} to continue.]"),
        _read(first=None, more=None),
        # 0.30.2 ends its notes without a full stop.
        read_first=(
            _read("\n\n[Showing lines {first}-{last} of {total}. Use offset={next} to continue]"),
            _read("\n\n[{more} more lines in file. Use offset={next} to continue]"),
        ),
    )
    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line", "truncated")}


# ── changing files ───────────────────────────────────────────────────────────


WRITE_RULES = EditRules(whole_file=AS_GIVEN, encoding="utf_8")
"""Seen with 0.74.2 and 0.87.1 on loopback."""


class Write(Spelling[op.WriteFile]):
    """Write a whole file. An existing file is replaced; missing folders are created."""

    native_name = "write"
    edit_rules = WRITE_RULES

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")

    # "Successfully wrote …" (0.30.2 to 0.84.4) does not say whether the file existed: neither "created" nor "modified".
    results = one_of(
        done(
            lambda asked: f"Successfully wrote {_size(asked.content)} bytes to {asked.path}",
            begins="Successfully wrote ",
            of=out.ChangesOutcome,
            when=has_written,
        )
    )


def _size(text: str) -> int:
    """What JavaScript calls its length (0.74.2): the client says that these are bytes."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Replacement(msgspec.Struct, frozen=True):
    """One edit: the exact text and its replacement."""

    oldText: str  # noqa: N815 - the native name
    newText: str  # noqa: N815 - the native name


def _blocks(asked: op.EditFile, change: out.Change) -> out.Change:
    count = len(asked.edits) if change.replacements is None else change.replacements
    return msgspec.structs.replace(change, replacements=count)


_ADDED, _REMOVED = re.compile(r"^\+ *\d", re.MULTILINE), re.compile(r"^- *\d", re.MULTILINE)


def _counted(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """Lines added and removed, by the numbered difference the log keeps beside the result (0.30.2 to 0.84.4)."""
    details = native.item.get("details") if isinstance(native.item, dict) else None
    difference = details.get("diff") if isinstance(details, dict) else None
    if not isinstance(difference, str) or not isinstance(outcome, out.ChangesOutcome):
        return outcome
    added, removed = len(_ADDED.findall(difference)), len(_REMOVED.findall(difference))
    return out.ChangesOutcome((msgspec.structs.replace(outcome.changes[0], added=added, removed=removed),))


_CHANGED = skipped("", "[0-9]++")
EDITS = one_of(
    single(
        out.ChangesOutcome,
        words(
            out.Change,
            "Successfully replaced {replacements} block(s) in {path}.",
            kind="modified",
            path=PATH,
            back=_blocks,
        ),
    ),
    formerly=(
        # 0.30.2 counted characters, and 0.52.12 counted nothing.
        single(
            out.ChangesOutcome,
            words(
                out.Change,
                "Successfully replaced text in {path}.",
                maybe(" Changed {_old} characters to {_new} characters.", written=False),
                kind="modified",
                _old=_CHANGED,
                _new=_CHANGED,
            ),
        ),
    ),
    recorded=_counted,
)


EDIT_RULES = EditRules(
    steps=(
        Step(fold=(), counted="folded"),
        Step(fold=("nfkc", "right_trim", "typography"), counted="folded"),
    ),
    batch="against_original",
    identical="refuse_if_unchanged",
    file_view="all_lf",
    line_ends="first",
    encoding="utf_8",
    rewrites="lines",
)
"""Seen with 0.87.1 on loopback."""
FIRST_EDIT_RULES = replace(EDIT_RULES, rewrites="file")
"""Seen with 0.74.2 on loopback."""


REFUSALS = Refusals(
    {
        "no_match": "Could not find the exact text in {path}. The old text must match exactly including all whitespace "
        "and newlines.",
        "many_matches": "Found {count} occurrences of the text in {path}. The text must be unique. Please provide more "
        "context to make it unique.",
        "no_change": "No changes made to {path}. The replacement produced identical content. This might indicate an "
        "issue with special characters or the text not existing as expected.",
        "empty": "oldText must not be empty in {path}.",
    }
)


class Edit(Spelling[op.EditFile]):
    """Replace one or several pieces of text in a file. Each must occur exactly once, and none may overlap another."""

    native_name = "edit"
    results = EDITS
    edit_rules, edit_rules_until = EDIT_RULES, {"0.74.2": FIRST_EDIT_RULES}
    refusals = REFUSALS
    approximated = {"edits": "a text is matched, not whole lines, and in the file as it was before the first edit"}

    path: str = means("path", "Path of the file.")
    edits: tuple[Replacement, ...] = means("edits", "The edits: each replaces an exact text with a new one.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.EditFile(self.path, tuple(op.Edit(edit.oldText, edit.newText) for edit in self.edits)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> Edit | None:
        edits = operation.edits
        if not edits or any(not edit.old or edit.everywhere or (edit.expected or 1) != 1 for edit in edits):
            return None  # a text that must be found elsewhere than in one place is never found so
        return cls(path=operation.path, edits=tuple(Replacement(edit.old or "", edit.new) for edit in edits))


class EditOnce(Spelling[op.EditFile]):
    """Replace a piece of text in a file, said flat."""

    native_name = "edit"
    results = EDITS
    read_only = "an older form that is still understood"

    path: str
    oldText: str = means("edits.old")  # noqa: N815 - the native name
    newText: str = means("edits.new")  # noqa: N815 - the native name


# ── commands ─────────────────────────────────────────────────────────────────

_NOTHING = "(no output)"
_SAVED = "\n\n[Showing {_which}. Full output: {output_path}]"
_STATE = either(
    way("timed out{_after}", timed_out=True, running=ANY),
    way("is still running", maybe(" as job {job}"), running=True),
    way("was ended by signal {signal}"),
    way("exited with code {exit_code}"),
)


def _after(asked: op.RunCommand) -> str:
    return "" if asked.timeout_ms is None else f" after {asked.timeout_ms / 1000:g} seconds"


def _ended(*before: Part, **facts: Any) -> Template:
    kinds = {"exit_code": NOT_ZERO, "_after": skipped(_after, r"(?: after [0-9.]+ seconds)?"), **facts}
    return words(out.CommandOutcome, *before, "Command ", _STATE, **kinds)


_WHICH = skipped("the end")
ENDED = (
    _ended("{output}", _SAVED, "\n\n", output=body(), _which=_WHICH),
    _ended("{output}", "\n\n", output=body(_NOTHING), output_path=None),
)
# The client prints no empty line where a command printed nothing (a session of November 2025 in the tests of pi-mono).
ENDED_SILENT = _ended(output="")


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash in the working folder. Returns standard output and standard error together."""

    native_name = "bash"

    command: str = means("command", "The command line.")
    timeout: float | None = means("timeout_ms", "Timeout in seconds.", default=None, convert=SECONDS)

    results = one_of(
        *ENDED,
        words(out.CommandOutcome, "{output}", _SAVED, exit_code=Reads(0), output=body(), _which=_WHICH),
        words(out.CommandOutcome, "{output}", exit_code=Reads(0), output=body(_NOTHING), output_path=None),
        read_first=(*ENDED, ENDED_SILENT),
        back=one_stream,
        is_error=ended_badly,
    )
    tells: ClassVar[Tells] = {out.CommandOutcome: ("exit_code", "signal", "running", "timed_out", "job")}


class Powershell(Bash):
    """Run a command line with PowerShell."""

    native_name = "powershell"
    read_only = "it is offered on Windows alone"
    always = {"shell": "powershell"}
    unsaid = {name: reason for name, reason in Bash.unsaid.items() if name != "shell"}


class Codemode(Spelling[op.RunCode]):
    """Run a program in JavaScript that calls the other tools."""

    native_name = "codemode"
    read_only = "a tool of later versions than the one captured"

    code: str
    timeout: float | None = native_only("how long a program may take is no part of it")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.code, "javascript"),)

    results = one_of(formerly=(words(out.CommandOutcome, "{output}", output=body("(no return value)")),))


# ── searching ────────────────────────────────────────────────────────────────


_LIMIT = skipped("", r"[^\n]*limit[^\n]*(?=\]\Z)")


def _listed(outcome: type[out.Outcome], field: str, unit: str, items: Body, **facts: Any) -> Results:
    """One thing a line, with a note where there are more (0.74.2): those of the public source of March 2026 say which
    limit, and how to see more."""
    listed = f"{{{field}}}"
    facts[field] = items
    cut = maybe(f"\n\n[{{_count}} {unit} limit reached]", truncated=False)
    return one_of(
        words(outcome, listed, cut, _count=count_of(field), **facts),
        read_first=(words(outcome, f"{listed}\n\n[{{_note}}]", truncated=True, _note=_LIMIT, **facts),),
    )


_MATCHED = re.compile(r"(.+?)(?::(\d+):|-(\d+)-)(?: (.*))?")
_NO_MATCHES = "No matches found"


_LIMITED = re.compile(r"(.*)\n\n\[[^\n]*limit[^\n]*\]", re.DOTALL)


def _matches_written(outcome: out.MatchesOutcome, _asked: op.Operation) -> str | None:
    if outcome.mode != "content":
        return None
    shown = [
        f"{line.path}{mark}{line.number}{mark} {line.text}"
        for match in outcome.matches
        for line in lines_of(match, 1)
        for mark in (":" if line.matched else "-")
    ]
    if not shown:
        return _NO_MATCHES
    return "\n".join(shown) + (f"\n\n[{len(outcome.matches)} matches limit reached]" if outcome.truncated else "")


def _matches_read(text: str, asked: op.SearchText) -> out.MatchesOutcome | None:
    cut = _LIMITED.fullmatch(text)
    body = cut[1] if cut else text
    if body == _NO_MATCHES:
        return out.MatchesOutcome(())
    found = [_MATCHED.fullmatch(line) for line in body.split("\n")]
    shown = [MatchLine(one[1], int(one[2] or one[3]), bool(one[2]), one[4] or "") for one in found if one is not None]
    matches = matches_in(shown, asked.before) if None not in found else None
    return None if matches is None else out.MatchesOutcome(matches, truncated=cut is not None)


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression. Ignored files are skipped."""

    native_name = "grep"
    on_request = BY_NAME
    approximated = {
        "before": "one number counts the lines before and after a match",
        "after": "one number counts the lines before and after a match",
    }
    unsaid = usual(
        op.SearchText,
        "exclude file_type mode multiline only_matching line_numbers offset limit_per_file respect_ignore",
    )

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder or file to search in.", default=".")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    ignoreCase: bool | None = means("case_sensitive", "Case-insensitive search.", default=None)  # noqa: N815 - native
    literal: bool = means("literal", "Treat the pattern as plain text, not as a regular expression.", default=False)
    context: float | None = means("before", "Lines to show before and after each match.", default=None)
    limit: float | None = means("limit", "Maximum number of matches.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        around = whole_number(self.context)
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.glob,
                case_sensitive=INVERTED.to(self.ignoreCase),
                literal=self.literal,
                before=around,
                after=around,
                limit=whole_number(self.limit),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        around = [count for count in (operation.before, operation.after) if count is not None]
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            glob=operation.include,
            ignoreCase=INVERTED.back(operation.case_sensitive),
            literal=operation.literal,
            context=max(around, default=None),
            limit=operation.limit,
        )

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            nearly={"truncated": "a note about any limit is read as that"},
        )
    )


class Find(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern; ignored files are left out."""

    native_name = "find"
    on_request = BY_NAME

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    limit: float | None = means("limit", "Maximum number of files.", default=None, convert=WHOLE)

    results = _listed(out.PathsOutcome, "paths", "results", lines(empty="No files found matching pattern"))


class Ls(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder, hidden ones too."""

    native_name = "ls"
    on_request = BY_NAME

    path: str = means("path", "The folder to list.", default=".")
    limit: float | None = means("limit", "Maximum number of entries.", default=None, convert=WHOLE)

    results = _listed(
        out.DirectoryOutcome,
        "entries",
        "entries",
        lines(
            words(out.Entry, "{path}/", kind="directory"),
            words(out.Entry, "{path}", kind=Reads("file")),
            empty="(empty directory)",
        ),
        path=CALLED,
    )


# ── failures ─────────────────────────────────────────────────────────────────


class PiFailures(FailuresInWords):
    """Failures by their words; a command that ended badly is flagged as an error and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that a command tells its own end."""
        text = text_of(native.content)
        ran = [operation for operation in call.operations if isinstance(operation, op.RunCommand)]
        if ran and any(one.read(text, ran[0]) is not None for one in (*ENDED, ENDED_SILENT)):
            return None
        return super().understand(call, native)


FAILURES = PiFailures(
    (
        (r"Tool .* not found", "unknown_tool"),
        (r'Validation failed for tool "', "invalid_arguments"),
        (r"Tool execution was blocked", "denied"),
        (r"(?s:.*)(?:Command|Operation) aborted$|Script aborted: ", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool {tool} not found. {message}",
        "invalid_arguments": 'Validation failed for tool "{tool}":\n  - {message}',
        "denied": "Tool execution was blocked: {message}",
        "cancelled": "{message}\n\nOperation aborted",
        "timed_out": "The tool timed out: {message}",
    },
)


DIALECT = Dialect(
    "pi",
    (Read, Bash, Powershell, Edit, EditOnce, Write, Grep, Find, Ls, Codemode),
    failures=FAILURES,
    unspoken={
        op.FetchPage: "it is done with a shell command",
        op.Planning: "plans are kept in files",
        op.Delegating: "the client has no other agents",
        op.CallMcpTool: "the client has no MCP servers",
        op.ReadMcpResource: "the client has no MCP servers",
        op.ListMcpResources: "the client has no MCP servers",
        op.SteerClient: "the client has no tools of its own kind",
    },
)
