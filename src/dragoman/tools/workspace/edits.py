"""Edits applied to a file's text, and the reasons why one could not be.

Rule: an edit does what the rules of its vocabulary say (`EditRules`), or fails and says why: what it looked for is not
there (and what is, nearby), is there too often (and where), or would change nothing. Without rules, text is looked for
as it is written; only runs of whole lines, the language of patches, may differ in white space and in the shape of
quotes and dashes, and then the closest reading wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice, pairwise
from typing import NoReturn

from dragoman.errors import ToolError
from dragoman.model.edit_rules import EXACT, EditRules
from dragoman.model.operations import Edit, ReplaceLines

from .diff import opcodes
from .edit_search import Place, occurrences, search
from .file_lines import LosesText, after_line_end
from .folding import TYPOGRAPHY, decoded_escapes, folded_text, strip, without_blanks_at_ends
from .line_marks import line_name, mark_of, read_line_name
from .patching import PASSES, patched, trimmed_anchors, whole_lines
from .text import Document, check_encoding, encoded, printable, without_second_mark

Fold = Callable[[str], str]
# Why a text was not found although it nearly is there: how lines must be folded for it to be found.
_DIFFERENCES: tuple[tuple[str, Fold], ...] = (
    ("in tabs, spaces or indentation", lambda line: " ".join(line.split())),
    ("in the shape of quotes, dashes or spaces", lambda line: " ".join(line.translate(TYPOGRAPHY).split())),
    ("in upper and lower case", lambda line: " ".join(line.casefold().split())),
)
_LOOKED_AT = 20_000
_FIRST_LINES = 5
"""The lines whose ends decide, where the rules ask for the first lines (Copilot CLI 1.0.102)."""
_LINE_NUMBER = re.compile(r"^[ \t]*\d+[\t→|:]", re.MULTILINE)


def edited(data: bytes, edits: Sequence[Edit], path: str, rules: EditRules = EXACT) -> tuple[bytes, int]:
    """The file after all edits, and how many places they changed."""
    if not edits:
        raise ToolError(f'no edits were given for "{path}"', kind="invalid_arguments")
    check_encoding(data, path, rules)
    if rules.patch != EXACT.patch and all(edit.whole_lines for edit in edits):
        return patched(data, edits, path, rules.patch)
    document = Document.of(
        data,
        path,
        rules.file_view,
        mark_is_text=rules.byte_order_mark == "text",
        for_sure=rules.encoding == "that_fits",
    )
    original = document.text
    total = 0
    line = 0
    against_original: list[Place] = []
    lone_end = "\n" if rules.file_view == "all_lf" else "\r"
    olds = [(edit.old or "").replace("\r\n", "\n").replace("\r", lone_end) for edit in edits]
    loose = rules.rewrites != "matches" and any(old not in original for old in olds)
    if loose:
        document.text = folded_text(original, rules.steps[-1].fold)
    for number, edit in enumerate(edits, 1):
        task = _Task(document, edit, path, number, len(edits), rules)
        if edit.whole_lines:
            with _last_line_ended(document):
                count, line = task.replace_lines(line)
        else:
            places, line = task.places(), 0
            count = len(places)
            if rules.batch == "against_original":
                against_original += places
            else:
                document.splice(places)
        total += count
    if against_original:
        if all(document.text[place.start : place.end] == place.new for place in against_original):
            task.changes_nothing()
        if loose and rules.rewrites == "lines":
            against_original = _whole_lines(document.text, original, against_original)
            document.text = original
        task.splice_apart(against_original)
    elif rules.identical == "refuse_if_unchanged" and document.text == original:
        task.changes_nothing()
    _finish(document, original, rules)
    after = document.encode()
    # Gemini CLI 0.61.0 looks at the texts alone, so an edit may leave the file as it is.
    if after == data and rules.identical not in ("accept", "refuse_if_found"):
        task.changes_nothing()
    return after, total


def _whole_lines(seen: str, text: str, places: Sequence[Place]) -> list[Place]:
    """Changes of a text as changes of the whole lines they are in, in another text that has as many lines."""
    groups: list[tuple[int, int, list[Place]]] = []
    for place in sorted(places):
        first, last = seen.count("\n", 0, place.start), seen.count("\n", 0, place.end)
        if groups and first <= groups[-1][1]:
            first, _, earlier = groups.pop()
            groups.append((first, last, [*earlier, place]))
        else:
            groups.append((first, last, [place]))
    ours, theirs = ([*accumulate((len(line) + 1 for line in one.split("\n")), initial=0)] for one in (seen, text))
    wider = []
    for first, last, inner in groups:
        position, pieces = ours[first], []
        for place in inner:
            pieces += [seen[position : place.start], place.new]
            position = place.end
        new = "".join([*pieces, seen[position : ours[last + 1] - 1]])
        wider.append(Place(theirs[first], theirs[last + 1] - 1, new))
    return wider


def _finish(document: Document, original: str, rules: EditRules) -> None:
    """The last line's end and the line ends of the whole file, where the rules are about them."""
    if rules.final_newline == "restored":
        had, has = original.endswith("\n"), document.text.endswith("\n")
        if had and not has:
            document.splice([(len(document.text), len(document.text), "\n")])
        elif has and not had:
            document.splice([(len(document.text) - 1, len(document.text), "")])
    document.text = without_second_mark(document.text, document.encoding, rules.byte_order_mark)
    document.unify(rules.line_ends)


def inserted(data: bytes, line: int, text: str, path: str) -> bytes:
    """The file with `text` as new lines after line `line`."""
    document = Document.of(data, path)
    count = len(_Lines(document.text).lines)
    if not 0 <= line <= count:
        raise ToolError(
            f'there is no line {line} in "{path}", which has {count} lines; use 0 to {count}',
            kind="invalid_arguments",
            details={"reason": "no_line", "path": path, "total_lines": count},
        )
    encoded(text)
    new = whole_lines(text)
    if not new:
        raise ToolError('there is nothing to insert; "\\n" inserts an empty line', kind="invalid_arguments")
    with _last_line_ended(document):
        document.splice([_Lines(document.text).span(line, line, new)])
    return document.encode()


def with_lines_replaced(data: bytes, operation: ReplaceLines) -> bytes:
    """The file with other lines in the place of those that are named by their numbers and marks."""
    document = Document.of(data, operation.path)
    lines = _Lines(document.text).lines
    first = _named_line(lines, operation.first, operation.path)
    last = first if operation.last is None else _named_line(lines, operation.last, operation.path)
    if last < first:
        raise ToolError(
            f"line {operation.last} comes before line {operation.first}; give the first line first",
            kind="invalid_arguments",
            details={"reason": "no_line", "path": operation.path},
        )
    encoded(operation.text)
    with _last_line_ended(document):
        document.splice([_Lines(document.text).span(first - 1, last, whole_lines(operation.text))])
    return document.encode()


def _named_line(lines: Sequence[str], name: str, path: str) -> int:
    """The number of a line, whose mark must still be the one that was given."""
    named = read_line_name(name)
    if named is None:
        raise ToolError(
            f'"{name}" names no line; give its number and its mark as the file shows them, for example 12:3fa',
            kind="invalid_arguments",
            details={"reason": "no_line", "path": path},
        )
    number, mark = named
    if 1 <= number <= len(lines) and mark_of(lines[number - 1]) == mark:
        return number
    elsewhere = [line_name(place, line) for place, line in enumerate(lines, 1) if mark_of(line) == mark][:3]
    hint = f"; the mark {mark} is now at {', '.join(elsewhere)}" if elsewhere else ""
    raise ToolError(
        f'line {name} of "{path}" is not as it was{hint}: read the file again ("{path}" is unchanged)',
        details={"reason": "no_match", "path": path},
    )


class _Lines:
    """A text as its lines, without their ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self._starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def span(self, first: int, last: int, new: Sequence[str]) -> tuple[int, int, str]:
        """Putting `new` in place of the lines `first` to `last` (from 0, exclusive), as a change of the text."""
        return self._starts[first], self._starts[last], "".join(f"{line}\n" for line in new)


@contextmanager
def _last_line_ended(document: Document) -> Iterator[None]:
    """Work on whole lines in a file whose last line has no end: it has one meanwhile, and lacks it again afterwards."""
    open_end = document.text != "" and not document.text.endswith("\n")
    if open_end:
        document.splice([(len(document.text), len(document.text), "\n")])
    yield
    if open_end and document.text:
        document.splice([(len(document.text) - 1, len(document.text), "")])


class _Task:
    """One edit of one file."""

    def __init__(
        self, document: Document, edit: Edit, path: str, number: int, count: int, rules: EditRules = EXACT
    ) -> None:
        self.document, self.edit, self.path, self.number, self.rules = document, edit, path, number, rules
        self.where = f"edit {number} of {count}: " if count > 1 else ""
        encoded(edit.new)
        self.old = None if edit.old is None else self._as_seen(edit.old)
        self.new = self._as_seen(edit.new, is_new=True)
        if rules.trim_new:
            self.new = without_blanks_at_ends(self.new, path)
        same = edit.old is not None and self._as_seen(edit.old, is_new=True) == self.new
        # Lines that a patch only shows, to say where it is, may be the same.
        if same and not edit.whole_lines and rules.identical == "refuse" and not (rules.empty_first and not self.old):
            self.changes_nothing()
        blank = not strip(self.old) if rules.empty_old == "insert_first" and self.old else self.old == ""
        if blank and not edit.whole_lines and self._takes_empty():
            return
        if self.old == "":
            self.fail(
                "the text to replace is empty; give the text that stands there, or write the whole file",
                "empty",
                kind="invalid_arguments",
            )

    def _takes_empty(self) -> bool:
        """Whether a text may be put in the place of nothing."""
        if self.rules.empty_old in ("fill_blank", "fill_empty"):
            text = self.document.text
            return not (strip(text) if self.rules.empty_old == "fill_blank" else text)
        return self.rules.empty_old == "insert_first"

    def _as_seen(self, text: str, *, is_new: bool = False) -> str:
        """A text of the call with the line ends that the rules see in it."""
        view = self.rules.texts_view
        if self.rules.decode_escapes:
            text = decoded_escapes(text)
        # Copilot CLI 1.0.102 leaves the line ends of a text that fills an empty file.
        as_given = view == "kept" or (view == "new_as_first" and not (is_new and self.document.text))
        if as_given and not self.edit.whole_lines:
            return text
        text = text.replace("\r\n", "\n")
        if view == "lf" and self.rules.file_view == "all_lf":
            return text.replace("\r", "\n")
        if view == "new_as_first":
            ends = [end[0] for end in islice(re.finditer(r"\r?\n", self.document.text), _FIRST_LINES)]
            crlf = 2 * ends.count("\r\n") > len(ends)
        else:
            crlf = view == "as_file" and "\r\n" in self.document.text
        return text.replace("\n", "\r\n") if crlf else text

    # -- text anywhere

    def places(self) -> list[Place]:
        """What is replaced, and by what."""
        text, old, new, rules, edit = self.document.text, self.old, self.new, self.rules, self.edit
        if old is None:
            self.fail("the text to replace is missing", "empty", kind="invalid_arguments")
        self._check_placeholders(old, new)
        if not strip(old) and rules.empty_old == "insert_first":
            return [Place(0, 0, new)]
        if old == "":
            return [Place(0, len(text), new)]  # a file without text is filled
        try:
            found = search(text, old, new, rules, everywhere=edit.everywhere or edit.expected is not None)
        except LosesText:
            self.fail(
                "the text to replace is only found if blank lines, line ends or parts of lines are overlooked, and the "
                "new text has no clear place then: read the file and give the text as it is there",
                "no_match",
            )
        if found is None:
            self._not_found(old)
        places = list(found.places)
        if found.too_large:
            self.fail("the text to replace was found as a much larger part of the file", "too_large_a_match")
        starts = [place.start for place in places]
        if edit.expected is not None and len(places) != edit.expected:
            self._found_at(list(_line_numbers(text, starts)), f"not {edit.expected} times as expected", "wrong_count")
        if found.too_many:
            problem = "and it must be unique: add lines around it, or replace it everywhere"
            last = _line_numbers(text, [max(place.start, place.end - 1) for place in places])
            self._found_at(
                list(_line_numbers(text, starts)), problem, "many_matches", last=list(last), count=found.times
            )
        if old == new and rules.identical == "refuse_if_found":
            self.changes_nothing()
        if not new and not old.endswith("\n"):
            places = self._with_line_ends(places)
        return places

    def _with_line_ends(self, places: list[Place]) -> list[Place]:
        """What is deleted: texts, with the ends of their lines where the rules say so."""
        text, rule = self.document.text, self.rules.delete_line_end
        if rule == "after":
            found = f"{text[places[0].start : places[0].end]}\n"
            return [Place(at, at + len(found), "") for at in occurrences(text, found)] or places
        if rule == "whole_lines":
            return [
                place._replace(end=after_line_end(text, place.end))
                if not place.new and (place.start == 0 or text[place.start - 1] == "\n")
                else place
                for place in places
            ]
        return places

    def splice_apart(self, places: list[Place]) -> None:
        """Puts in texts that were all looked for in the file as it was."""
        places.sort()
        for one, other in pairwise(places):
            if other.start < one.end:
                self.fail("two of the edits change the same text; make them one", "overlap")
        self.document.splice(places)

    def _check_placeholders(self, old: str, new: str) -> None:
        if not self.rules.placeholders:
            return
        known = _placeholders(old, self.rules.placeholders)
        for found in _placeholders(new, self.rules.placeholders):
            if found not in known:
                self.fail(
                    f'the new text has "{found}" in place of code; give the whole text',
                    "placeholder",
                    kind="invalid_arguments",
                )

    # -- whole lines

    def replace_lines(self, line: int) -> tuple[int, int]:
        """Replace runs of lines from line `line` (from 0) on; how many, and where the next edit goes on."""
        text = _Lines(self.document.text)
        lines = text.lines
        anchors = trimmed_anchors(self.edit)
        for anchor in anchors:
            found = next(_runs(lines, [anchor], line), None)
            if found is None:
                self._no_lines(lines, [anchor], line, "the line it is looked for after")
            line = found[0] + 1
        new = whole_lines(self.new)
        if self.old is None:
            at = line if anchors else len(lines)
            self.document.splice([text.span(at, at, new)])
            return 1, at + len(new)
        old = whole_lines(self.old)
        starts = self._starts(lines, old, line)
        if not starts and old[-1] == "" and len(old) > 1:
            # A patch may show the end of the last line as an empty line.
            old, new = old[:-1], new[:-1] if new and new[-1] == "" else new
            starts = self._starts(lines, old, line)
        if not starts:
            self._no_lines(lines, old, line, "the lines to replace")
        expected = self.edit.expected
        if expected is not None and len(starts) != expected:
            self._found_at([start + 1 for start in starts], f"not {expected} times as expected", "wrong_count")
        if not self.edit.everywhere and expected is None:
            starts = starts[:1]
        return len(starts), self._replace_runs(text, starts, old, new)

    def _starts(self, lines: Sequence[str], old: Sequence[str], line: int) -> list[int]:
        if self.edit.at_end:
            last = len(lines) - len(old)
            return [last] if last >= line and any(True for _ in _runs(lines, old, last)) else []
        return next(_runs(lines, old, line), [])

    def _replace_runs(self, text: _Lines, starts: Sequence[int], old: Sequence[str], new: Sequence[str]) -> int:
        spans = []
        for start in starts:
            end = start + len(old)
            spans.append(text.span(start, end, _with_own_lines(text.lines[start:end], old, new)))
        self.document.splice(spans)
        return starts[-1] + len(new) + (len(starts) - 1) * (len(new) - len(old))

    # -- saying why not

    def fail(self, message: str, reason: str, *, kind: str = "failed", **details: object) -> NoReturn:
        if self.number > 1:
            details["index"] = self.number - 1
        raise ToolError(
            f'{self.where}{message} ("{self.path}" is unchanged)',
            kind=kind,
            details={"reason": reason, "path": self.path, **details},
        )

    def changes_nothing(self) -> NoReturn:
        self.fail("the old and the new text are the same, so nothing would change", "no_change")

    def _found_at(
        self,
        numbers: Sequence[int],
        problem: str,
        reason: str,
        *,
        last: Sequence[int] | None = None,
        count: int | None = None,
    ) -> NoReturn:
        told = ", ".join(map(str, numbers[:20])) + (", …" if len(numbers) > 20 else "")
        lines = sorted(set(numbers[:20]))
        where = f"once (line {told})" if len(numbers) == 1 else f"{len(numbers)} times (lines {told})"
        self.fail(
            f"the text to replace is found {where}, {problem}",
            reason,
            count=len(numbers) if count is None else count,
            lines=list(numbers[:100]),
            last_lines=list((numbers if last is None else last)[:100]),
            hint=f"Found in {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}.",
        )

    def _not_found(self, old: str) -> NoReturn:
        lines = self.document.text.split("\n")
        hint = f"{self._why_text(old)}{_near(lines, old)}"
        details: dict[str, object] = {"hint": hint.removeprefix("; ").rstrip()}
        if self.rules.decode_escapes and self.old != self.edit.old:
            details["sought"] = self.old
        self.fail(f"the text to replace is not found{hint}", "no_match", kind="failed", **details)

    def _why_text(self, old: str) -> str:
        text = self.document.text
        if old.strip() and (place := text.find(old.strip())) >= 0:
            return f"; line {next(_line_numbers(text, [place]))} has it without the white space around it"
        numbered = _LINE_NUMBER.sub("", old)
        if numbered != old and numbered.strip() and numbered in text:
            return "; it is there without the line numbers: give the text alone"
        unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")
        if unescaped != old and unescaped in text:
            return "; it is there with real line breaks, tabs or quotes in place of the backslash sequences"
        if "\ufffd" in old:
            return "; it holds U+FFFD, which stands for bytes that are no text and cannot be looked for: leave them out"
        return self._why_lines(text.split("\n"), old.split("\n"))

    def _why_lines(self, lines: Sequence[str], old: Sequence[str]) -> str:
        """What must be overlooked for the lines to be found."""
        for difference, fold in _DIFFERENCES:
            folded = "\n".join(fold(line) for line in lines[:_LOOKED_AT])
            wanted = "\n".join(fold(line) for line in old)
            place = folded.find(wanted) if wanted.strip() else -1
            if place >= 0:
                return f"; line {folded.count(chr(10), 0, place) + 1} differs from it only {difference}"
        return ""

    def _no_lines(self, lines: list[str], old: list[str], line: int, what: str) -> NoReturn:
        shown = printable("\n".join(old[:5]) + ("\n…" if len(old) > 5 else ""))
        hint = self._why_lines(lines, old)
        if line and (earlier := next(_runs(lines, old, 0), None)):
            hint = f"; line {earlier[0] + 1} has it, but this edit is looked for from line {line + 1} on"
        elif self.edit.at_end and next(_runs(lines, old, 0), None):
            hint = "; they are there, but not at the end of the file"
        self.fail(f"{what} cannot be found{hint}:\n{shown}\n{_near(lines, shown)}".rstrip(), "no_match")


def _placeholders(text: str, words: Sequence[str]) -> list[str]:
    """Lines that stand for left out code: only these words and an ellipsis, in a comment or in brackets."""
    found = []
    for line in text.split("\n"):
        bare = line.strip()
        bare = bare[2:].strip() if bare.startswith("//") else bare
        if bare.startswith("(") and bare.endswith(")"):
            bare = bare[1:-1].strip()
        said, dots, rest = bare.partition("...")
        if dots and not rest.strip(". ") and " ".join(said.split()).lower() in words:
            found.append(" ".join(bare.split()).lower())
    return found


def _line_numbers(text: str, places: Sequence[int]) -> Iterator[int]:
    line, position = 1, 0
    for place in places:
        line += text.count("\n", position, place)
        position = place
        yield line


def _runs(lines: Sequence[str], old: Sequence[str], line: int) -> Iterator[list[int]]:
    """Where a run of lines stands, from line `line` on: one list for each way of reading that finds it."""
    for fold in PASSES:
        wanted = [fold(text) for text in old]
        folded = [fold(text) for text in lines[line:]] if fold is not str else list(lines[line:])
        starts = _starts_of(folded, wanted)
        if starts:
            yield [start + line for start in starts]


def _starts_of(lines: list[str], wanted: list[str]) -> list[int]:
    starts: list[int] = []
    at = 0
    while True:
        try:
            at = lines.index(wanted[0], at)
        except ValueError:
            return starts
        if lines[at : at + len(wanted)] == wanted:
            starts.append(at)
            at += len(wanted)
        else:
            at += 1


def _with_own_lines(own: Sequence[str], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """`new`, with the file's own spelling of every line that it keeps from `old`."""
    kept = list(new)
    position = new_position = 0
    for first, last, new_first, new_last in (*opcodes(old, new), (len(old), len(old), len(new), len(new))):
        kept[new_position:new_first] = own[position:first]
        position, new_position = last, new_last
    return kept


def _near(lines: Sequence[str], old: str) -> str:
    """The lines of a file that look most like the first telling line of a text, as the end of a message."""
    from difflib import SequenceMatcher  # only when something already went wrong

    wanted = max((line.strip()[:200] for line in old.split("\n")), key=lambda line: len(set(line)))
    if len(wanted) < 3:
        return ""
    words = set(re.findall(r"\w{3,}", wanted.lower()))
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)
    scored: list[tuple[float, int]] = []
    compared = 0
    for number, line in enumerate(lines[:_LOOKED_AT], 1):
        candidate = line.strip()[:200]
        # A line that shares no word with it is not what was meant, and comparing is slow.
        if not candidate or (words and not any(word in candidate.lower() for word in words)):
            continue
        compared += 1
        if compared > 2000:
            break
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() > 0.5 and matcher.quick_ratio() > 0.5 and (ratio := matcher.ratio()) > 0.5:
            scored.append((-ratio, number))
    if not scored:
        return "; no line looks like it: read the file again"
    best = sorted(scored)[:3]
    shown = "\n".join(
        f"  {number}: {printable(lines[number - 1][:200])}" for _, number in sorted(best, key=lambda pair: pair[1])
    )
    return f"; the lines most like it are:\n{shown}\n"
