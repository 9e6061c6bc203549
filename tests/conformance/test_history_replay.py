"""What the scripted sessions did, done again by our own tools: each difference has its reason here, or is a defect.

The sessions' project is put together again from their logs (`replayed_project`). A difference without a reason fails,
and so does a reason that no difference has any more.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest

from dragoman.engine.history import Replayed, replay
from dragoman.engine.history.replaying import Difference
from dragoman.logs import FORMATS, read
from dragoman.model import Failure
from dragoman.registry import DIALECTS
from dragoman.tools import DiskWorkspace
from tests.conformance.conftest import AGREEMENT, declared
from tests.conformance.replayed_project import FOLDER, make_project
from tests.conformance.scripted_sessions import TRACES, log_files

CLIENTS = sorted({path.name.partition("@")[0] for path in TRACES.iterdir() if path.is_dir()})
AT_ONCE = 8


# ── words that come out otherwise each time, or everywhere ───────────────────


class Mask(msgspec.Struct, frozen=True):
    """What is left out of both texts before they are compared, and why."""

    clients: str
    pattern: str
    reason: str
    instead: str = ""

    def covers(self, text: str) -> str:
        return re.sub(self.pattern, self.instead, text, flags=re.DOTALL)


CHANCE = "chance"
PROSE = "prose"
SNIPPET = "snippet"
PATHS = "paths"
NEWEST = "newest"

MASKS = (
    Mask("*", rf"{FOLDER}/(?=[\w.])|(?<![\w/])\./", PATHS),
    Mask("*", f"{FOLDER}/?", PATHS, "."),
    Mask("codex", r"Chunk ID: \w+\n|Wall time:? [\d.]+ seconds\n|session ID \d+|Command: [^\n]*\n", CHANCE),
    Mask("codex", r"Original token count: \d+\n", "token-estimate"),
    Mask("codex", r'"duration_seconds":[\d.]+(,"signal":\d+)?|after \d+ milliseconds', CHANCE),
    Mask("gemini-cli", r"\nProcess Group PGID: \d+", CHANCE),
    Mask("gemini-cli", r"</?untrusted_context>\n?", NEWEST),
    Mask("gemini-cli", r" Here is the updated code:\n.*", SNIPPET),
    Mask("gemini-cli,qwen-code", r", sorted by modification time \(newest first\)| \(filter: [^)]*\)", PROSE),
    Mask("gemini-cli,qwen-code", r"(?<= of )260[01](?= total lines)", "last-empty-line"),
    Mask("gemini-cli", r"Action: [^\n]*\n", PROSE),
    Mask("qwen-code", r"\n(Background PIDs|Process Group PGID): [^\n]*", CHANCE),
    Mask("qwen-code", r"(?<=cell)( \S+)?\.(\n\nUpdated source:.*)?$", SNIPPET, "."),
    Mask("copilot", r"<(shellId: \d+|command) completed", CHANCE),
    Mask("claude-code", r"(?<=updated\.) Here's the result of.*|(?<=updated) successfully", SNIPPET),
    Mask("claude-code", r"\n*<system-reminder>.*", PROSE),
    Mask("claude-code", r"(?:^|(?<=\n)) *(\d+)[→\t]", NEWEST, r"\1 "),
    Mask("claude-code", r"ID: \w+\b\.?( Output is being written to: .*)?", CHANCE),
    Mask("claude-code", r" of '[^']*' were successfully replaced with '[^']*'\.| were successfully replaced\.", PROSE),
    Mask("opencode", r"\n*<shell_metadata>.*?</shell_metadata>", "how-it-ended"),
)


def _masked(client: str, theirs: str, ours: str) -> tuple[str, str, list[Mask]]:
    used = []
    for mask in MASKS:
        if any(fnmatchcase(client, one) for one in mask.clients.split(",")):
            covered = mask.covers(theirs), mask.covers(ours)
            if covered != (theirs, ours):
                used.append(mask)
            theirs, ours = covered
    return theirs, ours, used


def _lines(text: str) -> list[str]:
    """Its lines in no order: clients sort files by their time or not at all, and two streams come as they come."""
    return sorted(line.strip() for line in re.split(r"\n|(?<=Output:) ", text) if line.strip() not in ("", "--"))


# ── differences that stay, and why ───────────────────────────────────────────


class Reason(msgspec.Struct, frozen=True):
    """Why calls of a tool come out otherwise: `theirs` and `ours` are patterns of what was told."""

    clients: str
    tools: str
    what: str
    theirs: str
    ours: str
    reason: str
    by_chance: bool = False
    """Whether it happens only on some machines, or now and then."""


DECLARED = declared("replay")
"""Why results differ: the page that gives the reasons, by name. Each is used, and there is no other."""
OUR_WORDS = "our-words"
NOT_SAID = "not-said"
STRICT = "strict"
TRACE_CUT = "trace-cut"
KEPT = "kept"
BACKGROUND = "background"
THEIR_FILES = "their-files"
NO_GIT = "no-git"
NOTEBOOK = "notebook"
PROGRAM = "program"
MACHINE = "machine"
HIDDEN = "hidden"
BOTH_LIMITS = "both-limits"
EMPTY = "empty"
QUIRK = "quirk"

REASONS = (
    # what happened
    Reason("*", "?rep,grep_search,Search,search_codebase", "failure", "^failed$", "^invalid_arguments$", NOT_SAID),
    Reason("qwen-code", "glob,grep_search", "failure", "invalid_arguments", "failed", NOT_SAID),
    Reason("codex", "exec_command", "failure", "failed", "denied", "outside"),
    Reason("claude-code,gemini-cli", "Read,read_file", "lines", "characters cut", "^row 1 ", TRACE_CUT),
    Reason("opencode", "read", "outcome", "text_outcome", "file_outcome", TRACE_CUT),
    Reason("pi,qwen-code", "read,read_file", "lines", "row 1 ", "row 1 ", "fewer-lines"),
    Reason("qwen-code", "read_file", "outcome", "text_outcome", "file_outcome", NOTEBOOK),
    Reason("claude-code", "Read", "outcome", "Use the NotebookRead", "notebook_outcome", "notebook-tool"),
    Reason("qwen-code", "read_file", "outcome", "text_outcome", "image_outcome", "no-pictures"),
    Reason("claude-code", "Grep", "outcome", "text_outcome", "matches", "unnumbered-lines"),
    Reason("claude-code", "Grep", "matches", "11, 0", "10, 0", "counted-lines"),
    Reason("gemini-cli", "grep_search", "matches", "'inventory.py'", "'src/inventory.py'", PATHS),
    Reason("cline", "search_codebase", "matches", "docs/notes.md", "test_inventory.py', 8", "one-match"),
    Reason("claude-code", "Bash", "running", "True", "False", BACKGROUND),
    Reason("claude-code", "Bash", "timed out", "False", "True", BACKGROUND),
    Reason("claude-code", "Bash", "exit code,output", "^0$|tick", "1|No such file", THEIR_FILES),
    Reason("qwen-code", "run_shell_command", "output", "tick", "No such file", THEIR_FILES),
    Reason("claude-code", "Bash", "output", "checkpoint", "checkpoint", "commit-time"),
    Reason("claude-code", "Bash", "output", "boom', 'boom", "boom", QUIRK),
    Reason("codex,continue", "shell,Bash", "output", r"^\['boom'\]$", "partial", QUIRK),
    Reason("qwen-code", "run_shell_command", "output", r"^\[\]$|partial {9}", "resumed|out|partial", QUIRK),
    Reason("claude-code", "Bash", "text", "^boom", "^Exit code 3", "no-exit-code"),
    Reason("claude-code", "Bash", "outcome", "unexpected parameter", "command", STRICT),
    Reason("gemini-cli,qwen-code", "*", "outcome", "must have required property", "_outcome$", STRICT),
    Reason("gemini-cli", "replace", "outcome", "Expected 1 occurrence", "changes", STRICT),
    Reason("qwen-code", "read_file", "outcome", "must be absolute", "file_outcome", "relative-path"),
    Reason("qwen-code", "read_file", "outcome", "done_outcome", "file_outcome", EMPTY),
    Reason("qwen-code", "run_shell_command", "outcome", "Blocked: standalone sleep", "command", "waits"),
    Reason("claude-code", "LS", "entries", "data/long.txt", "data", "tree"),
    Reason("continue,copilot,pi", "List,view,ls", "entries", "'.git'", "'.gitignore'", NO_GIT),
    Reason("codex", "exec", "running,output", "True|k=5", "False|late", PROGRAM),
    Reason("codex", "view_image", "outcome", "done", "image", "no-picture-in-log"),
    Reason("codex", "apply_patch", "changes", "created", "unchanged", "same-text"),
    Reason(
        "codex",
        "exec_command",
        "exit code,output",
        "^1$|Read-only",
        r"^0$|^\[\]$",
        "sandbox",
    ),
    Reason("codex", "exec_command", "output", "README.md", "blocked.txt", "sandbox"),
    Reason("copilot", "view", "outcome", "too large to read", "file_outcome", "beginning"),
    Reason("copilot", "edit", "outcome", "changes", "are the same", "no-change"),
    Reason("copilot", "bash", "running", "False", "True", "waited-longer"),
    Reason("gemini-cli", "run_shell_command", "output", r"^\[\]$", "tick", HIDDEN, by_chance=True),
    Reason("gemini-cli,qwen-code", "run_shell_command", "output", "bash: line", "bash: line", MACHINE),
    Reason("gemini-cli", "run_shell_command", "outcome", "command", "timed_out", BOTH_LIMITS),
    Reason("opencode", "edit", "outcome", "done", "changes", NOT_SAID),
    Reason("pi", "write", "outcome", "done", "changes", NOT_SAID),
    Reason("opencode", "grep", "outcome", "matches", "does not exist", "missing-path"),
    Reason("opencode", "bash", "output", "Ran 1 test", "Ran 1 test", CHANCE, by_chance=True),
    Reason("pi", "find", "outcome", "fd is not available", "paths", MACHINE),
    Reason("codex", "exec_command", "output", "tick 1", r"tick 1|^\[\]$", CHANCE, by_chance=True),
    Reason("*", "Bash,bash,run_shell_command", "output", r"^\['1'\]$", r"^\[\]$", CHANCE, by_chance=True),
    Reason("claude-code", "Bash", "output", r"^\[\]$", r"^\['1'\]$", BACKGROUND, by_chance=True),
    # in which words
    Reason("codex", "exec", "text", "Script completed", "Script completed", PROGRAM),
    Reason("codex", "apply_patch,shell", "text", '^{"output":"Success', "^Exit code: 0.Output:.Success", NEWEST),
    Reason("codex", "exec_command", "text", "Output:.Exit code: 0", "Exit code: 0.Output:.Success", NEWEST),
    Reason("codex", "shell", "text", "failed in sandbox None", "command timed out", NEWEST),
    Reason("codex", "shell", "text", r'"boom\\npartial', r'"partial\\nboom', "streams"),
    Reason("claude-code,gemini-cli,qwen-code,copilot", "*", "text", "(?i)output (was )?too large", "1\n2\n3\n", KEPT),
    Reason("codex", "exec_command", "text", "truncated output", "Characters cut", KEPT),
    Reason("opencode,pi", "bash", "text", "18002\n18003", "1\n2\n3\n", KEPT),
    Reason("claude-code", "NotebookEdit", "text", r"Inserted cell \w+ with", "Inserted cell with", CHANCE),
    Reason("claude-code", "MultiEdit", "text", "Applied 2 edits", "has been updated", NEWEST),
    Reason("cline", "read_files", "text", r"'-'\)\"|\\n2 \| ", r"\| \"", "last-newline"),
    Reason("gemini-cli", "list_directory", "text", r"39 bytes\)$", r"\(1 ignored\)$", "never-listed"),
    Reason("gemini-cli", "list_directory", "text", "gitignore\nconfig.json\n", "13 bytes", NEWEST),
    Reason("gemini-cli", "run_shell_command", "text", "^Command: ", "^<untrusted_context>", NEWEST),
    Reason(
        "gemini-cli", "search_file_content,grep_search", "text", "in the workspace directory", 'in path "."', NEWEST
    ),
    Reason("qwen-code", "list_directory", "text", "Directory listing for", "Listed 10 item", NEWEST),
    Reason("qwen-code", "run_shell_command", "text", "Signal: 0", r"Signal: \(none\)", NEWEST),
    Reason("qwen-code", "run_shell_command", "text", "timed out after 1500ms", "timed out before", PROSE),
    Reason("qwen-code", "run_shell_command", "text", "started.\nid: bg_", "started.\nid: ", CHANCE),
    Reason("opencode", "read", "text", "^<file>\n00001", "^<path>", NEWEST),
    Reason("opencode", "edit,write", "text", "^$", "successfully", NEWEST),
    Reason("pi", "read", "text", "2497 more lines", "2496 more lines", "last-empty-line"),
)


# ── the sessions ─────────────────────────────────────────────────────────────


class Count(msgspec.Struct):
    """How the calls of a client came out."""

    ran: int = 0
    same_outcome: int = 0
    same_text: int = 0
    passed_over: Counter[str] = msgspec.field(default_factory=Counter)


@pytest.mark.parametrize("client", CLIENTS)
async def test_every_difference_has_its_reason_and_every_reason_a_difference(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    room = asyncio.Semaphore(AT_ONCE)
    count = Count()
    unexplained: list[str] = []
    used: Counter[str] = Counter()

    async def one(folder: Path) -> None:
        async with room:
            await _replayed(client, folder, tmp_path / folder.parent.name / folder.name, count, unexplained, used)

    versions = [path for path in sorted(TRACES.iterdir()) if path.name.partition("@")[0] == client]
    sessions = [path for version in versions for path in sorted(version.iterdir()) if (path / "script.json").is_file()]
    await asyncio.gather(*map(one, sessions))
    record_property(
        AGREEMENT,
        f"replay of {client}: {count.ran} calls run, {count.same_outcome} with the same outcome, "
        f"{count.same_text} with the same text, {len(unexplained)} differences that are not declared",
    )
    print("  passed over:", dict(count.passed_over))
    assert count.ran
    assert not unexplained, f"{len(unexplained)} differences without a reason:\n" + "\n".join(sorted(unexplained))
    assert _needless(client, used) == []


def test_every_difference_is_declared_and_every_declaration_is_used() -> None:
    assert {OUR_WORDS, *(row.reason for row in (*MASKS, *REASONS))} == DECLARED.keys()


async def _replayed(
    client: str, session: Path, place: Path, count: Count, unexplained: list[str], used: Counter[str]
) -> None:
    format = client.replace("-", "_")
    events = [event for file in log_files(session / "home", format) for event in read(file, format)]
    make_project(place / "project")
    dialect = DIALECTS[FORMATS[format].dialect]
    again = replay(events, dialect, DiskWorkspace(place / "project"), folder=FOLDER, seconds=15)
    async with aclosing(again):
        async for done in again:
            if done.skipped is not None:
                count.passed_over[done.skipped] += 1
                continue
            count.ran += 1
            count.same_outcome += not done.outcome_differs
            count.same_text += not done.text_differs
            for line in _unexplained(client, done, used):
                unexplained.append(f"{session.parent.name}/{session.name} {line}")


def _unexplained(client: str, done: Replayed, used: Counter[str]) -> list[str]:
    tool = done.call.native.name
    follows = False
    left = []
    for one in done.differences:
        if one.what == "text":
            if not follows and not _text_explained(client, done, str(one.theirs), str(one.ours), used):
                left.append(_shown(done, one))
            continue
        reason = _reason(client, tool, one.what, str(one.theirs), str(one.ours))
        if reason is None:
            left.append(_shown(done, one))
        else:
            used[repr(reason)] += 1
            follows = True
    return left


def _shown(done: Replayed, one: Difference) -> str:
    asked = f"{done.call.native.name} {done.call.native.arguments!s:.90}"
    return f"{asked} {one.what}\n   T {one.theirs!r:.300}\n   O {one.ours!r:.300}"


def _reason(client: str, tool: str, what: str, theirs: str, ours: str) -> Reason | None:
    def among(name: str, listed: str) -> bool:
        return any(fnmatchcase(name, one) for one in listed.split(","))

    return next(
        (
            row
            for row in REASONS
            if among(client, row.clients) and among(tool, row.tools) and among(what, row.what)
            if re.search(row.theirs, theirs, re.DOTALL) and re.search(row.ours, ours, re.DOTALL)
        ),
        None,
    )


def _text_explained(client: str, done: Replayed, theirs: str, ours: str, used: Counter[str]) -> bool:
    assert done.theirs is not None
    assert done.ours is not None
    if all(isinstance(one, Failure) for one in (*done.theirs.outcomes, *done.ours.outcomes)):
        used[OUR_WORDS] += 1
        return True
    one, other, masks = _masked(client, theirs, ours)
    if _lines(one) == _lines(other) or _cut_by_the_log(one, other):
        used.update(map(repr, masks))
        return True
    reason = _reason(client, done.call.native.name, "text", theirs, ours)
    if reason is not None:
        used[repr(reason)] += 1
    return reason is not None


def _cut_by_the_log(theirs: str, ours: str) -> bool:
    """Whether a text of which the stored log has only both ends begins as ours does."""
    begin, mark, _ = theirs.partition("[… ")
    return bool(mark) and ours.startswith(begin.rpartition("\n")[0])


def _needless(client: str, used: Counter[str]) -> list[str]:
    """Reasons that name this client and that none of its differences has."""
    rows: list[Mask | Reason] = [*MASKS, *(row for row in REASONS if not row.by_chance)]
    return [repr(row) for row in rows if client in row.clients.split(",") and repr(row) not in used]
