"""Cline's tools for files, commands, searches and pages: one call, several operations; and its question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import up_to_here
from dragoman.dialects.base.match_lines import lines_of
from dragoman.dialects.base.questions import LABELS
from dragoman.dialects.base.reasons import usual
from dragoman.dialects.base.spelling import Conversion, Spelling, means
from dragoman.dialects.base.words import (
    ANY,
    CALLED,
    INT,
    NOT_ZERO,
    PATH,
    body,
    by_hand,
    either,
    maybe,
    numbered,
    one_of,
    picture,
    single,
    skipped,
    way,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import EditRules

from .entries import Entered
from .patch import EDITING

# ── reading files ────────────────────────────────────────────────────────────

Line = int | None


class AskedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file, or some of its lines."""

    path: str
    start_line: Line = None
    end_line: Line = None


class ReadFiles(Entered[op.ReadFile]):
    """Read one or several files, whole or a range of lines. An image is shown."""

    native_name = "read_files"

    files: tuple[AskedFile, ...] = means("path", "The files, each with an optional first and last line (from 1).")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.files:
            raise ValueError("files: name at least one")
        return tuple(op.ReadFile(file.path, file.start_line, file.end_line) for file in self.files)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFiles:
        return cls(files=(AskedFile(operation.path, operation.first_line, operation.last_line),))

    results = one_of(
        picture("Successfully read image"),
        words(
            out.FileOutcome,
            "{text}",
            maybe("\n[more lines follow]", truncated=False),
            path=CALLED,
            text=numbered(" | ", width=None, formerly=(" |",)),
            back=up_to_here,
        ),
    )


# ── changing files ───────────────────────────────────────────────────────────


_CREATED = words(out.Change, "File created successfully at: {path}", kind="created", path=PATH)
_INSERTED = words(
    out.Change,
    "Inserted content at line {_line} in {path}.",
    kind="modified",
    path=PATH,
    _line=skipped(lambda asked: str(asked.line + 1), "[0-9]++"),
)
_COUNTED = words(out.Change, "Edited {path} (+{added} -{removed})", kind="modified", path=PATH)
_EDITED = words(out.Change, "Edited {path}", kind="modified", path=PATH, added=ANY, removed=ANY)


def _counted(_asked: op.Operation, change: out.Change) -> out.Change:
    """The lines of the difference are numbered, without context, so it is no unified one: they are only counted."""
    added, removed = (sum(line.startswith(sign) for line in (change.diff or "").split("\n")) for sign in "+-")
    return msgspec.structs.replace(change, diff=None, added=added, removed=removed)


def _numbered(_asked: op.Operation, change: out.Change) -> out.Change | None:
    """The lines that changed as the client shows them (3.0.65): numbered, from the first to the last that differ."""
    if not change.diff or change.kind != "modified":
        return None
    sides = _changed_lines(change.diff)
    if sides is None:
        return None
    first, old, new = sides
    shown = [f"-{number}: {line}" for number, line in enumerate(old, first)]
    shown += [f"+{number}: {line}" for number, line in enumerate(new, first)]
    if len(shown) > _MOST_SHOWN:
        return None
    return msgspec.structs.replace(change, diff="\n".join(shown))


def _changed_lines(diff: str) -> tuple[int, list[str], list[str]] | None:
    """The number of the first line that a unified difference changes, and the lines from it to the last that it
    changes, before and after; `None` where lines between them are left out."""
    _, _, head, *lines = diff.removesuffix("\n").split("\n")
    at = re.match(r"@@ -(\d+)", head)
    sides: dict[str, str] = {"-": "", "+": ""}
    last = ""
    for line in lines:
        mark = line[:1]
        if mark == "@":
            return None
        if mark == "\\":  # the line before has no end
            for side in sides if last == " " else last:
                sides[side] = sides[side].removesuffix("\n")
            continue
        for side in sides if mark == " " else mark:
            sides[side] += f"{line[1:]}\n"
        last = mark
    old, new = sides["-"].split("\n"), sides["+"].split("\n")
    same = next(
        (n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    old, new = old[same:], new[same:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return max(1, int(at[1]) if at else 1) + same, old, new


_MOST_SHOWN = 200
"""Of more lines the client shows only some (3.0.65)."""
_SAME = words(out.Change, "Edited {path}\n```diff\n```", kind="unchanged", path=PATH, added=ANY, removed=ANY)
_COMPARED = words(
    out.Change,
    "Edited {path}",
    maybe(" (+{_added} -{_removed})", written=False),
    "\n```diff\n{diff}\n```",
    kind="modified",
    path=PATH,
    diff=body(),
    to=_counted,
    back=_numbered,
    _added=INT,
    _removed=INT,
)


EDIT_RULES = EditRules(
    identical="accept",
    missing="create",
    file_view="kept",
    byte_order_mark="text",
    texts_view="as_file",
    encoding="utf_8",
)
"""Seen with 3.0.65 on loopback."""


class Editor(Entered[op.WriteFile | op.EditFile | op.InsertText]):
    """Create a file, replace a text that occurs exactly once in a file, or insert lines before a given line."""

    native_name = "editor"
    families = EDITING
    edit_rules = EDIT_RULES
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
    old_text: str | None = means("edits", "The exact text to replace; omit it to create a file.", default=None)
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

    results = one_of(
        single(out.ChangesOutcome, _CREATED, asked=op.WriteFile),
        single(out.ChangesOutcome, _INSERTED, asked=op.InsertText),
        # An edit of a file that is not there makes it.
        single(out.ChangesOutcome, _CREATED, _SAME, _COMPARED, _COUNTED, _EDITED, asked=op.EditFile),
        # The client reports what it did, whatever was asked for: "File created" (3.0.57, 3.0.64, 3.0.65).
        read_first=(single(out.ChangesOutcome, _CREATED, _INSERTED, _SAME, _COMPARED, _COUNTED, _EDITED),),
    )


# ── commands ─────────────────────────────────────────────────────────────────

_STDERR = "\n[stderr]\n"
_STATE = either(
    way("timed out{_more}", timed_out=True, running=ANY),
    way("is still running", maybe(" as job {job}"), running=True),
    way("was ended by signal {signal}"),
    way("ended, nobody knows how", exit_code=None),
    way("exited with code {exit_code}"),
)
_KINDS: dict[str, Any] = {"exit_code": NOT_ZERO, "job": without("]"), "_more": skipped("", "[^\\]\\n]*")}
_STATED = words(out.CommandOutcome, "Command ", _STATE, **_KINDS)
_ENDED = words(out.CommandOutcome, "[Command ", _STATE, "]\n{output}", output=body(), **_KINDS)


def _one_text(_asked: op.Operation, outcome: out.CommandOutcome) -> out.CommandOutcome:
    if outcome.output is not None:
        return outcome
    printed = (outcome.stdout or "") + (f"{_STDERR}{outcome.stderr}" if outcome.stderr else "")
    return msgspec.structs.replace(outcome, output=printed)


def _streams(_asked: op.Operation, outcome: out.CommandOutcome) -> out.CommandOutcome:
    stdout, mark, stderr = (outcome.output or "").partition(_STDERR)
    return msgspec.structs.replace(outcome, output=None, stdout=stdout, stderr=stderr) if mark else outcome


class RunCommands(Entered[op.RunCommand]):
    """Run one or several command lines in the working folder, each in a shell of its own."""

    native_name = "run_commands"
    unsaid = {
        **usual(op.RunCommand, "cwd timeout_ms purpose background wait_ms job terminal output_limit unsandboxed"),
        "shell": "it is always the user's shell",
        "login": "there is no parameter for it",
    }

    commands: tuple[str, ...] = means("command", "The command lines.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.commands:
            raise ValueError("commands: name at least one")
        return tuple(op.RunCommand(command) for command in self.commands)

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> RunCommands:
        return cls(commands=(operation.command,))

    results = one_of(
        _ENDED,
        words(out.CommandOutcome, "{output}", exit_code=0, output=body()),
        back=_one_text,
        then=_streams,
    )

    def wrong(self, operation: op.Operation, outcome: out.Outcome) -> str | None:
        """A command that did not end well."""
        if not isinstance(outcome, out.CommandOutcome) or outcome.running:
            return None
        return _STATED.write(outcome, operation)

    def ran(self, operation: op.Operation, text: str) -> bool:
        """A command that did not end well ran all the same."""
        return _ENDED.read(text, operation) is not None


# ── searching ────────────────────────────────────────────────────────────────


_FOUND = re.compile(r"Found (\d+) results? for pattern: ")
_MORE = "\n\n[more results are not shown]"


def _shown(outcome: out.MatchesOutcome, asked: op.SearchText) -> str | None:
    if outcome.mode != "content":
        return None
    if not outcome.matches:
        return f"No results found for pattern: {asked.pattern}"
    total = len(outcome.matches) if outcome.total is None else outcome.total
    pieces = [f"Found {total} results for pattern: {asked.pattern}", *map(_match_lines, outcome.matches)]
    return "\n\n".join(pieces) + (_MORE if outcome.truncated else "")


def _found_in(text: str, asked: op.SearchText) -> out.MatchesOutcome | None:
    if text.startswith("No results found for pattern: "):
        return out.MatchesOutcome(())
    found = _FOUND.match(text)
    if found is None or not text.startswith(asked.pattern, found.end()):
        return None
    body = text[found.end() + len(asked.pattern) :]
    matches = _matches_in(body.removesuffix(_MORE).split("\n"))
    return out.MatchesOutcome(matches, total=int(found[1]), truncated=body.endswith(_MORE))


class SearchCodebase(Entered[op.SearchText]):
    """Search all files of the project with one or several regular expressions."""

    native_name = "search_codebase"
    unsaid = {
        **usual(op.SearchText, "mode multiline only_matching line_numbers offset limit_per_file respect_ignore"),
        "path": "the whole project is searched",
        "include": "the whole project is searched",
        "exclude": "the whole project is searched",
        "file_type": "the whole project is searched",
        "case_sensitive": "there is no parameter for it",
        "before": "the client decides how much stands around a match",
        "after": "the client decides how much stands around a match",
    }

    queries: tuple[str, ...] = means("pattern", "The regular expressions.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.queries:
            raise ValueError("queries: name at least one")
        return tuple(op.SearchText(query) for query in self.queries)

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> SearchCodebase:
        return cls(queries=(operation.pattern,))

    results = one_of(by_hand(out.MatchesOutcome, _shown, _found_in, says=("matches", "mode", "truncated")))


def _match_lines(match: out.Match) -> str:
    column = "" if match.column is None else f":{match.column}"
    shown = [line for line in lines_of(match, 1) if match.text is not None or not line.matched]
    lines = [f"{'>' if line.matched else ' '} {line.number}: {line.text}" for line in shown]
    return "\n".join([f"{match.path}:{match.line or 1}{column}", *lines])


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


def _fetched(asked: op.FetchPage, page: out.Page) -> out.Page:
    final = None if page.url == asked.url else page.url
    return msgspec.structs.replace(page, url=asked.url, final_url=final)


class FetchWebContent(Entered[op.FetchPage]):
    """Fetch one or several pages, each with a prompt to answer from it."""

    native_name = "fetch_web_content"
    unhonoured = {"instructions": "Fetch one or several pages as readable text."}
    unsaid = {"format": "it is always text"}
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

    results = one_of(
        single(
            out.PagesOutcome,
            words(
                out.Page,
                "URL: {url}\n",
                maybe("Content-Type: {media_type}\n"),
                maybe("Size: {_size}\n", written=False),
                "\n--- Content ---\n{text}\n\n--- Analysis Request ---\nPrompt: {_prompt}",
                text=body(or_nothing=True),
                _size=skipped(""),
                _prompt=skipped(lambda asked: asked.instructions or WHOLE_PAGE, "(?s:.*)"),
                back=lambda _asked, page: msgspec.structs.replace(page, url=page.final_url or page.url),
                to=_fetched,
            ),
            answer=None,
        )
    )


# ── people ───────────────────────────────────────────────────────────────────


def _answered(asked: op.AskUser, said: out.TextOutcome) -> out.AnswersOutcome:
    (question,) = asked.questions
    chosen = any(option.label == said.text for option in question.options)
    return out.AnswersOutcome(
        (out.Answer(question.text, (said.text,) if chosen else (), None if chosen else said.text),)
    )


def _said(_asked: op.Operation, outcome: out.AnswersOutcome) -> out.TextOutcome | None:
    if len(outcome.answers) != 1:
        return None
    (answer,) = outcome.answers
    return out.TextOutcome(answer.text if answer.text is not None else ", ".join(answer.choices))


def _two_to_five(options: tuple[op.Option, ...]) -> tuple[str, ...]:
    if not 2 <= len(options) <= 5:
        raise ValueError("from two to five answers can be given")
    labels: tuple[str, ...] = LABELS.back(options)
    return labels


class AskQuestion(Spelling[op.AskUser]):
    """Ask the user one question with two to five answers to choose from."""

    native_name = "ask_question"
    approximated = {
        "questions": "a question has no header, id or default, takes one answer, and its options are bare texts"
    }

    question: str = means("questions.text", "The question.")
    options: tuple[str, ...] = means(
        "questions.options",
        "Answers to choose from.",
        convert=Conversion(LABELS.to, _two_to_five),
        schema={"minItems": 2, "maxItems": 5},
    )

    results = one_of(
        words(out.TextOutcome, "{text}", text=body(), of=out.AnswersOutcome, to=_answered, back=_said),
        default_first=True,
    )
