"""How results are written and read where a vocabulary has no wording of its own.

Rule: an outcome is written as a person would want to read it, never as the JSON of our own types. Files,
listings, matches and commands are written and read here; `sentences` has the wording of the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, Content, NativeResult
from dragoman.model.json_text import json_text, read_json

from .match_lines import in_groups, lines_of
from .sentences import cut_note, numbered, sentences

Tells = Mapping[type[out.Outcome], tuple[str, ...]]
TELLS: Tells = {
    out.TextOutcome: ("text",),
    out.FileOutcome: ("text", "first_line", "truncated"),
    out.DirectoryOutcome: ("truncated",),
    out.PathsOutcome: ("paths", "truncated"),
    out.MatchesOutcome: ("mode", "truncated"),
    out.CommandOutcome: ("exit_code", "signal", "running", "timed_out", "job"),
    out.ContentOutcome: ("content",),
    out.ImageOutcome: ("image",),
}
"""Fields the words below carry; of outcomes not named here, all."""


@cache
def _outcomes() -> msgspec.json.Decoder[Any]:
    """Made when first needed: a reader of every outcome there is takes long to make."""
    return msgspec.json.Decoder(out.AnyOutcome)


def tell(operation: op.Operation, outcome: out.Outcome) -> Content:
    """An outcome in words."""
    match outcome:
        case out.TextOutcome(text=text):
            return text
        case out.FileOutcome():
            return _tell_lines(operation, outcome) + (
                cut_note(outcome.total_lines, "lines") if outcome.truncated else ""
            )
        case out.CommandOutcome():
            return _tell_command(outcome)
        case out.PathsOutcome():
            listed = "\n".join(outcome.paths) if outcome.paths else "[no files found]"
            return listed + (cut_note(outcome.total, "files") if outcome.truncated else "")
        case out.DirectoryOutcome():
            return _tell_directory(outcome)
        case out.MatchesOutcome():
            return _tell_matches(outcome)
        case out.ContentOutcome():
            return outcome.content
        case out.ImageOutcome(image=image):
            return (image,)
        case out.JsonOutcome(value=value):
            return json_text(value)
        case out.DoneOutcome(note=note):
            return note or "Done."
        case out.Failure():
            return PLAIN_FAILURES.words(outcome)
    told = sentences(outcome)
    return json_text(outcome) if told is None else told  # only an outcome that somebody else defined has none


def understand(operation: op.Operation, native: NativeResult, *, has_words: bool = False) -> out.Outcome:
    """The outcome told by words like those above; any other text is what it is.

    `has_words`: the tool has words of its own, so a text that is not in them is no list of names.
    """
    text = native.content
    if not isinstance(text, str):
        return _understand_content(text)
    if text.startswith('{"type":'):  # how our own older recordings tell what has sentences now
        try:
            told: out.Outcome = _outcomes().decode(text)
            return told
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    if type(operation) not in _WORDED:
        return out.TextOutcome(text)
    match operation:
        case op.CallFunction() if text[:1] in ("{", "["):
            return _understand_json(text)
        case op.ReadFile():
            return _understand_file(operation, text)
        case op.RunCommand() | op.ReadOutput() | op.TypeInto() | op.StopCommand() | op.WatchCommand():
            return _understand_command(text)
        case op.FindFiles() if not has_words:
            body, cut, total = without_cut_note(text, "files")
            return out.PathsOutcome(() if body == "[no files found]" else tuple(body.split("\n")), total, cut)
        case op.ListDirectory() if not has_words:
            return _understand_directory(operation, text)
        case op.SearchText(mode="files") if has_words:
            return out.TextOutcome(text)
        case op.SearchText() | op.SearchCode():
            return _understand_matches(operation, text)
    return out.TextOutcome(text)


_WORDED = frozenset(
    {
        op.CallFunction,
        op.ReadFile,
        op.RunCommand,
        op.ReadOutput,
        op.TypeInto,
        op.StopCommand,
        op.WatchCommand,
        op.FindFiles,
        op.ListDirectory,
        op.SearchText,
        op.SearchCode,
    }
)
"""Operations whose outcomes have words of their own; of the others a text is all there is."""


def _understand_json(text: str) -> out.Outcome:
    try:
        return out.JsonOutcome(read_json(text))
    except msgspec.DecodeError:
        return out.TextOutcome(text)


def tell_all(operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
    """Several outcomes of one call, each under the number of its operation."""
    if len(outcomes) == 1:
        return tell(operations[0] if operations else op.Unrecognised(""), outcomes[0])
    pieces: list[str | out.Media] = []
    for number, outcome in enumerate(outcomes, 1):
        operation = operations[number - 1] if number <= len(operations) else op.Unrecognised("")
        told = tell(operation, outcome)
        pieces.append(f"[{number} of {len(outcomes)}: {operation.__struct_config__.tag}]")
        pieces.extend((told,) if isinstance(told, str) else told)
    return "\n".join(pieces) if all(isinstance(piece, str) for piece in pieces) else tuple(pieces)  # type: ignore[arg-type]


# ── files ────────────────────────────────────────────────────────────────────


def up_to_here(operation: op.Operation, outcome: out.FileOutcome) -> out.FileOutcome:
    """The lines asked for without the newline of the last one, where the file goes on: no empty line follows there."""
    asked = _asked(operation, outcome.first_line)
    if asked is None or asked != outcome.text.count("\n") or not outcome.text.endswith("\n"):
        return outcome
    total = outcome.total_lines
    goes_on = outcome.truncated or (total is not None and total >= outcome.first_line + asked)
    return msgspec.structs.replace(outcome, text=outcome.text[:-1]) if goes_on else outcome


def as_called(operation: op.Operation, path: str) -> str:
    """The path of what was done in the words of the call, where those name the same: the workspace tells its own."""
    said = getattr(operation, "path", None)
    if isinstance(said, str) and said.startswith("/") and (path == "." or said.rstrip("/").endswith(f"/{path}")):
        return said.rstrip("/") or "/"
    return path


_NO_NEWLINE = "\n[no newline at the end]"


def _tell_lines(operation: op.Operation, outcome: out.FileOutcome) -> str:
    """Numbered lines; the newline of the last one asked for begins no line of its own, for another stands there."""
    shown = len(outcome.text.split("\n"))
    asked = _asked(operation, outcome.first_line)
    if shown - 1 == asked and outcome.text.endswith("\n"):
        return numbered(msgspec.structs.replace(outcome, text=outcome.text[:-1]))
    return numbered(outcome) + (_NO_NEWLINE if shown == asked else "")


def _asked(operation: op.Operation, first: int) -> int | None:
    """How many lines were asked for, where it was said which is the last."""
    last = operation.last_line if isinstance(operation, op.ReadFile) else None
    return None if last is None else last - first + 1


def unnumbered(text: str, mark: str = r"\t", plain: Sequence[str] | None = None) -> tuple[int, str] | None:
    """The first line's number and the text of numbered lines, or `None` when they are not. `mark` is a pattern.

    `plain` are the marks that it stands for, where it stands for few and none of them begins as another does.
    """
    if plain is None:
        plain = ("\t",) if mark in (r"\t", "\t") else ()
    for one in plain:
        found = _numbered_plainly(text, one)
        if found is not None:
            return found
    number = re.compile(rf"^ *([0-9]++){mark}", re.MULTILINE)
    if number.match(text) is None:
        return None
    _, *pieces = number.split(text)
    numbers = [int(one) for one in pieces[::2]]
    first = numbers[0]
    # They stand at the beginnings of lines alone: as many numbers as lines are one for each.
    if len(numbers) != text.count("\n") + 1 or numbers != [*range(first, first + len(numbers))]:
        return None
    return first, "".join(pieces[1::2])


def _numbered_plainly(text: str, mark: str) -> tuple[int, str] | None:
    """The same for what clients print most: no more than `_PLAIN` lines, with one mark and no spaces. In half the
    time."""
    given, marked, _ = text[:12].partition(mark)
    if not (marked and given.isdecimal() and given.isascii()):
        return None
    first = int(given)
    lines = text.split("\n")
    if not 0 < first <= _PLAIN - len(lines):
        return None
    begin = _numbers(mark, len(given) if given[0] == "0" else 0)[first : first + len(lines)]
    bare = "\n".join(map(str.removeprefix, lines, begin))
    # Each line has lost its number or nothing: all have lost theirs if that is what the text has become shorter by.
    return (first, bare) if len(text) - len(bare) == sum(map(len, begin)) else None


_PLAIN = 2_500


@cache
def _numbers(mark: str, digits: int) -> list[str]:
    """Numbers with their mark, of at least so many digits (opencode 1.0 writes `00001| `)."""
    return [f"{number:0{digits}}{mark}" for number in range(_PLAIN)]


def _understand_file(operation: op.ReadFile, text: str) -> out.Outcome:
    body, cut, total = without_cut_note(text, "lines")
    lines = unnumbered(body.removesuffix(_NO_NEWLINE))
    if lines is None:
        return out.TextOutcome(text)
    first, content = lines
    if len(content.split("\n")) == _asked(operation, first) and not body.endswith(_NO_NEWLINE):
        content += "\n"
    return out.FileOutcome(operation.path, content, first, total, truncated=cut)


def without_cut_note(text: str, unit: str) -> tuple[str, bool, int | None]:
    found = re.fullmatch(rf"(.*)\n\[cut here; (?:(\d+) {unit} in all|more {unit} follow)\]", text, re.DOTALL)
    return (found[1], True, int(found[2]) if found[2] else None) if found else (text, False, None)


def _tell_directory(outcome: out.DirectoryOutcome) -> str:
    marks = {"directory": "/", "link": "@", "other": "?", "file": ""}
    lines = [
        f"{entry.path}{marks[entry.kind]}" + (f" ({entry.size} bytes)" if entry.size is not None else "")
        for entry in outcome.entries
    ]
    body = "\n".join(lines) if lines else "[empty]"
    return body + (cut_note(None, "entries") if outcome.truncated else "")


def _understand_directory(operation: op.ListDirectory, text: str) -> out.DirectoryOutcome:
    body, cut, _ = without_cut_note(text, "entries")
    kinds = {"/": "directory", "@": "link", "?": "other"}
    entries = []
    for line in [] if body == "[empty]" else body.split("\n"):
        found = re.fullmatch(r"(.*?)([/@?]?)(?: \((\d+) bytes\))?", line, re.DOTALL)
        assert found is not None  # the pattern matches any line
        size = int(found[3]) if found[3] else None
        entries.append(out.Entry(found[1], kinds.get(found[2], "file"), size))  # type: ignore[arg-type]
    return out.DirectoryOutcome(operation.path, tuple(entries), cut)


# ── matches ──────────────────────────────────────────────────────────────────


def _tell_matches(outcome: out.MatchesOutcome) -> str:
    if not outcome.matches:
        return "[no matches]"
    if outcome.mode == "files":
        lines = [match.path for match in outcome.matches]
    elif outcome.mode == "count":
        lines = [f"{match.path}: {match.count}" for match in outcome.matches]
    else:
        lines = _matching_lines(outcome.matches)
    return "\n".join(lines) + (cut_note(outcome.total, "matches") if outcome.truncated else "")


def _matching_lines(matches: Sequence[out.Match]) -> list[str]:
    lines: list[str] = []
    path: str | None = None
    for match in matches:
        if match.path != path:
            path = match.path
            lines.append(f"== {path}")
        elif match.before or match.after:
            lines.append("--")
        lines += [f"{line.number}{':' if line.matched else '-'} {line.text}" for line in lines_of(match, 0)]
    return lines


_HEADING = re.compile("== (.*)", re.DOTALL)
_LINE = re.compile(r"(\d+)([:-]) (.*)", re.DOTALL)


def _understand_matches(operation: op.SearchText | op.SearchCode, text: str) -> out.Outcome:
    mode = operation.mode if isinstance(operation, op.SearchText) else "content"
    if text == "[no matches]":
        return out.MatchesOutcome((), mode)
    body, cut, total = without_cut_note(text, "matches")
    lines = body.split("\n")
    if mode == "files":
        return out.MatchesOutcome(tuple(out.Match(line) for line in lines), mode, total, truncated=cut)
    if mode == "count":
        counts = [line.rpartition(": ") for line in lines]
        if not all(count.isdigit() for _, _, count in counts):
            return out.TextOutcome(text)
        counted = tuple(out.Match(path, count=int(count)) for path, _, count in counts)
        return out.MatchesOutcome(counted, mode, total, truncated=cut)
    matches, strange = in_groups(lines, _HEADING, _LINE)
    if matches is None or strange:
        return out.TextOutcome(text)
    return out.MatchesOutcome(matches, mode, total, truncated=cut)


# ── commands ─────────────────────────────────────────────────────────────────

_STDERR = "[stderr]"


def _tell_command(outcome: out.CommandOutcome) -> str:
    pieces = []
    if outcome.output is not None:
        pieces.append(_ended(outcome.output))
    if outcome.stdout:
        pieces.append(_ended(outcome.stdout))
    if outcome.stderr:
        pieces.append(f"{_STDERR}\n{_ended(outcome.stderr)}")
    return "".join(pieces) + "\n".join(_states(outcome))


def _states(outcome: out.CommandOutcome) -> list[str]:
    """How it stands with a command, always said, so that no output can be taken for it."""
    states = []
    if outcome.timed_out:
        states.append("[timed out]")
    if outcome.running:
        states.append(f"[running as job {outcome.job}]" if outcome.job else "[running]")
    elif outcome.job:
        states.append(f"[job {outcome.job}]")
    if outcome.exit_code is not None:
        states.append(f"[exit code {outcome.exit_code}]")
    if outcome.signal is not None:
        states.append(f"[ended by signal {outcome.signal}]")
    return states or ["[exit code not known]"]


_STATE = re.compile(
    r"\[(?:(?P<timed>timed out)|running as job (?P<running>.+)|(?P<alive>running)|job (?P<job>.+)"
    r"|exit code (?P<code>-?\d+)|ended by signal (?P<signal>-?\d+)|(?P<unknown>exit code not known))\]"
)


def _understand_command(text: str) -> out.Outcome:
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    known = False
    while lines and (found := _STATE.fullmatch(lines[-1])) is not None:
        known = True
        lines.pop()
        if found["timed"]:
            facts["timed_out"] = True
        if found["running"] or found["alive"]:
            facts["running"] = True
        if found["running"] or found["job"]:
            facts["job"] = found["running"] or found["job"]
        if found["code"]:
            facts["exit_code"] = int(found["code"])
        if found["signal"]:
            facts["signal"] = int(found["signal"])
    if not known:
        return out.TextOutcome(text)
    printed = "".join(f"{line}\n" for line in lines)
    stdout, mark, stderr = printed.rpartition(f"{_STDERR}\n")
    if mark and (not stdout or stdout.endswith("\n")):
        return out.CommandOutcome(stdout=stdout, stderr=stderr, **facts)
    return out.CommandOutcome(output=printed, **facts)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


# ── media and failures ───────────────────────────────────────────────────────


def _understand_content(content: tuple[str | out.Media, ...]) -> out.Outcome:
    if len(content) == 1:
        only = content[0]
        return out.TextOutcome(only) if isinstance(only, str) else out.ImageOutcome(only)
    return out.ContentOutcome(content)


class PlainFailures:
    """Failures in our own words: `Error (timed_out): …`."""

    def words(self, failure: out.Failure) -> str:
        """The text alone."""
        return f"Error ({failure.kind}): {failure.message}"

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The text, flagged as an error."""
        return self.words(failure), True

    def in_words(self, text: str) -> out.Failure | None:
        """The failure these words tell of, or `None` when they tell of none."""
        found = re.match(rf"Error \(({'|'.join(get_args(out.FailureKind))})\): ", text)
        return None if found is None else out.Failure(found[1], text[found.end() :])  # type: ignore[arg-type]

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A failure by its words, or by the flag."""
        text = text_of(native.content)
        return self.in_words(text) or (out.Failure("failed", text) if native.is_error else None)


PLAIN_FAILURES = PlainFailures()


class FailuresInWords:
    """Failures of a vocabulary that flags them as errors and tells their kinds by words alone.

    `understood` are patterns a message of a kind begins with, the first that fits counts; `told` is
    how a message is introduced whose own words do not show its kind (`{tool}` and `{message}` stand for both).
    """

    def __init__(self, understood: Sequence[tuple[str, out.FailureKind]], told: Mapping[out.FailureKind, str]) -> None:
        self._understood = [(re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in understood]
        self._told = told

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The message, so worded that its kind is understood again."""
        if self.kind(failure.message) == failure.kind:
            return failure.message, True
        words = self._told.get(failure.kind, "{message}")
        return words.replace("{tool}", call.native.name).replace("{message}", failure.message), True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result that is flagged as an error, its kind by its words."""
        text = text_of(native.content)
        return out.Failure(self.kind(text), text) if native.is_error else None

    def kind(self, message: str) -> out.FailureKind:
        """What kind of failure these words tell of."""
        return next((kind for pattern, kind in self._understood if pattern.match(message)), "failed")


def text_of(content: Content) -> str:
    """The text of a result, media left out."""
    return content if isinstance(content, str) else "\n".join(piece for piece in content if isinstance(piece, str))
