"""opencode's tools for finding files and text, and its shell."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.match_lines import in_groups, lines_of
from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, WHOLE, Spelling, means, was
from dragoman.dialects.base.words import (
    ANY,
    NOT_ZERO,
    Reads,
    Template,
    body,
    by_hand,
    either,
    lines,
    maybe,
    one_of,
    one_stream,
    skipped,
    way,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .files import metadata, number

# ── searching ────────────────────────────────────────────────────────────────

_NONE_FOUND = "No files found"
_CUT = re.compile(r"(.*)\n\n\((?:Results are truncated|[^\n]*more results)[^\n]*\)", re.DOTALL)
_MORE = "(Results are truncated: give a narrower path or pattern.)"


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")

    results = one_of(
        words(
            out.PathsOutcome,
            "{paths}",
            maybe("\n\n(Results are truncated{_how})", truncated=False),
            paths=lines(empty=_NONE_FOUND),
            _how=skipped(": give a narrower path or pattern.", r"[^\n]*(?=\)\Z)"),
        )
    )


_HEADING, _LINE = re.compile(r"(.*):"), re.compile(r"  Line (\d+)(:) (.*)")


def _matches_written(outcome: out.MatchesOutcome, _asked: op.Operation) -> str | None:
    if outcome.mode != "content":
        return None
    if not outcome.matches:
        return _NONE_FOUND
    blocks: dict[str, list[str]] = {}
    for match in outcome.matches:
        shown = [f"  Line {line.number}: {line.text}" for line in lines_of(match, 1) if line.matched]
        blocks.setdefault(match.path, []).extend(shown)
    count = outcome.total if outcome.total is not None else sum(map(len, blocks.values()))
    told = "\n\n".join("\n".join([f"{path}:", *shown]) for path, shown in blocks.items())
    return f"Found {count} matches\n{told}" + (f"\n\n{_MORE}" if outcome.truncated else "")


def _matches_read(text: str, _asked: op.Operation) -> out.MatchesOutcome | None:
    head = re.match(r"Found (\d+) match(?:es)?([^\n]*)\n", text)
    if text == _NONE_FOUND:
        return out.MatchesOutcome(())
    if head is None:
        return None
    cut = _CUT.fullmatch(text, head.end())
    matches, _ = in_groups((cut[1] if cut else text[head.end() :]).split("\n"), _HEADING, _LINE)
    return out.MatchesOutcome(matches or (), total=int(head[1]), truncated=bool(cut or head[2]))


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep"
    unsaid = {"case_sensitive": "the pattern itself says so"}

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder to search in.", default=".")
    include: str | None = means("include", "Only files that match this glob.", default=None)

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            nearly={"matches": "lines around a match and columns are not given"},
        )
    )


# ── commands ─────────────────────────────────────────────────────────────────

_NOTHING = "(no output)"
_SAVED = "...output truncated...\n\nFull output saved to: {output_path}\n\n"
_NOTE = either(
    way("shell tool terminated command after exceeding timeout{_more}", timed_out=True, running=ANY),
    way("the command is still running", maybe(" as job {job}"), running=True),
    way("the command was ended by signal {signal}"),
    way("the command exited with code {exit_code}"),
)
_IN_TAG = ("\n\n<shell_metadata>\n", _NOTE, "\n</shell_metadata>")
_OTHER_NOTE = skipped("", "(?s:.*)")


def _printed(text: str, *note: Any, **facts: Any) -> tuple[Template, Template]:
    """Output, all of it or (of long output) the end with the name of the file that has it all; then the note."""
    saved = words(out.CommandOutcome, f"{_SAVED}{text}", *note, **{"output": body(), **facts})
    return saved, words(out.CommandOutcome, text, *note, **{"output": body(_NOTHING), "output_path": None, **facts})


def _old_note(tag: str, note: str, **facts: Any) -> tuple[Template, ...]:
    note = f"\n\n<{tag}>\n{note}\n</{tag}>"
    return _printed("{output}", note, _more=_OTHER_NOTE, **facts)


def _exit_code(_operation: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The client leaves the exit code out of its words (1.1.11 to 1.18.33): it is in the log; we say it if not 0."""
    if not isinstance(outcome, out.CommandOutcome) or outcome.exit_code is not None:
        return outcome
    return msgspec.structs.replace(outcome, exit_code=number(metadata(native).get("exit")))


_NOTED = _printed("{output}", *_IN_TAG, exit_code=NOT_ZERO, _more=_OTHER_NOTE)
COMMANDS = one_of(
    *_NOTED,
    *_printed("{output}", exit_code=Reads(None)),
    read_first=(
        *_NOTED,
        *_old_note("shell_metadata", "{_more}"),
        # 1.1.11 (which writes "commmand") and 1.1.53.
        *_old_note("bash_metadata", "bash tool terminated {_more}", timed_out=True),
        *_old_note("bash_metadata", "{_more}"),
        # Of a command that printed nothing, with the end of its output cut off (1.18.3, in a session of bestcodes.dev).
        words(out.CommandOutcome, f"{_SAVED}{_NOTHING}", output=""),
    ),
    back=one_stream,
    recorded=_exit_code,
)


class Bash(Spelling[op.RunCommand]):
    """Run a command line in a shell. Returns standard output and standard error together."""

    native_name = "bash"
    results = COMMANDS
    unsaid = {"shell": "it is the user's shell"}
    approximated = {"purpose": "a description is required, so an empty one says nothing"}

    command: str = means("command", "The command line.")
    description: str = means(
        "purpose", "What the command does, in a few words.", convert=EMPTY_IS_UNSAID, until="1.1.53"
    )
    timeout: int | None = means(
        "timeout_ms",
        "Timeout in milliseconds.",
        default=None,
        since="1.18.4",
        was=was("1.1.53", type=float | None, convert=WHOLE),
    )
    workdir: str | None = means("cwd", "The folder to run the command in.", default=None)
