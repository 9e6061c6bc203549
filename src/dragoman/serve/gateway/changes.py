"""Changes of files that a model asks for in one call, checked on the client's files before the first of them is made.

Rules:
- The files are read through the client's own tools, in parts where they are too long for one call.
- A change that does not fit, of a file or a part that is not there, is answered before anything was changed.
- What the model's tool finds by rules that the client's does not have (`@@` above the place, other spaces, a last line
  without an end) is made in texts that the client's tool finds exactly once.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

import msgspec

from dragoman.dialects import Dialect
from dragoman.dialects.translation import Translated, Translation, outcome_from, printed_for
from dragoman.errors import ToolError
from dragoman.model import (
    Call,
    Failure,
    FileOutcome,
    NativeCall,
    NativeResult,
    operations as op,
    outcomes as out,
)
from dragoman.model.edit_rules import EXACT, EditRules
from dragoman.tools.workspace import edited

_HIDDEN: Final = "_read"
"""What the id of a read has that the model did not ask for."""
_AGAIN: Final = "_again"
"""What the id of a change has that is made a second time, after its file was read."""
_PAGE: Final = 500
"""Lines that are read at once of a file that is too long to be read whole."""
_PAGES: Final = 40
_CUT_IN_SILENCE: Final = 2000
"""Lines after which some clients end without a word (Claude Code 1.0)."""
_OTHER_SPAN: Final = 5000
"""Lines that are asked for of a file that the client has shown before: for the same span it says only that."""
_TOO_LONG: Final = re.compile(r"too (?:large|long|big)|exceeds|offset", re.IGNORECASE)
_NO_LINES: Final = re.compile(r"shorter|offset|beyond|past the end|out of range|only has|exceeds", re.IGNORECASE)
"""How clients say that there are no lines after the last."""
_PAIRS: Final = 200_000
"""Equal lines of two texts that are compared; with more of them, all between the first change and the last is one.
A file of 2,000 equal lines would take 0.3 s."""
_NOT_THERE: Final = re.compile(
    r"not (?:be )?(?:found|exist)|no such|cannot find|n't exist|director|ENOENT|EISDIR", re.IGNORECASE
)


class Wanted(msgspec.Struct, frozen=True):
    """What is read before a call is made: whole files, and of others whether they are there."""

    whole: tuple[str, ...] = ()
    there: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """What is to be done of a call."""

    waiting: NativeCall | None
    """What the client makes next; `None` when all is done."""
    translated: Translated
    """The calls whose results are that of the call."""
    unfit: Failure | None = None
    """Why nothing of it is made."""
    stopped: bool = False
    """Whether the user stopped it: no other call is made then."""


class Changes:
    """Between the words of a client and those of a model; the files that it has shown are kept for a conversation."""

    def __init__(self, client: Dialect, to_client: Translation, *, reads_first: bool) -> None:
        self._client, self._to_client, self._reads_first = client, to_client, reads_first
        self._shown: dict[str, str] = {}
        """The last text of each file that was read here."""
        self._ends_shown: bool | None = None
        """Whether what the client reads of a file tells if its last line has an end; `None` before that is asked."""

    def fork(self) -> Changes:
        """A copy for one conversation."""
        new = Changes(self._client, self._to_client, reads_first=self._reads_first)
        new._shown, new._ends_shown = {**self._shown}, self._ends_shown
        return new

    def wanted(self, translated: Translated, seen: frozenset[str]) -> Wanted:
        """What must be read first: where a call is done in several steps, and where the client wants it."""
        several = len(translated.calls) > 1
        whole: list[str] = []
        there: list[str] = []
        made: set[str] = set()
        """What an earlier step of the call makes."""
        for call in translated.calls:
            for meant in (translated.commands.get(call.id, one) for one in call.operations):
                match meant:
                    case op.EditFile(path) | op.WriteFile(path) if path not in made:
                        unread = self._reads_first and path not in seen
                        if unread or (several and isinstance(meant, op.EditFile)):
                            whole.append(path)
                    case op.DeleteFile(path) | op.MoveFile(path) if several and path not in made:
                        there.append(path)
                if isinstance(meant, op.WriteFile | op.MoveFile):
                    made.add(meant.to if isinstance(meant, op.MoveFile) else meant.path)
        return Wanted(tuple(dict.fromkeys(whole)), tuple(path for path in dict.fromkeys(there) if path not in whole))

    def plan(
        self,
        translated: Translated,
        wanted: Wanted,
        rules: EditRules | None,
        id: str,
        results: Mapping[str, NativeResult],
    ) -> Plan:
        """What is to be done next of a call, after what has been done; `id` is that of the call."""
        exact = self._exact(translated, wanted, rules, id, results)
        if exact.waiting is not None or exact.unfit is not None:
            return exact
        for call in exact.translated.calls:
            if call.id not in results:
                return msgspec.structs.replace(exact, waiting=call.native)
            failure = self.failure(exact.translated, call, results[call.id])
            if failure is not None:
                if failure.kind == "cancelled":
                    return msgspec.structs.replace(exact, stopped=True)
                again = self._again(exact.translated, wanted, failure)
                return exact if again is None else self._second(exact.translated, again, rules, id, results)
        return exact

    def _again(self, translated: Translated, wanted: Wanted, failure: Failure) -> Wanted | None:
        """What is read before a single change that failed is made again; `None` where it is left at that.

        It may fail because the client's tool finds less than the model's, or because a command has changed the file
        since the client read it, which is a rule of the client's alone.
        """
        if len(translated.calls) != 1 or wanted != Wanted() or failure.kind != "failed" or translated.commands:
            return None
        (meant,) = translated.calls[0].operations
        if isinstance(meant, op.EditFile) or (isinstance(meant, op.WriteFile) and self._reads_first):
            return Wanted((meant.path,))
        return None

    def _second(
        self,
        translated: Translated,
        wanted: Wanted,
        rules: EditRules | None,
        id: str,
        results: Mapping[str, NativeResult],
    ) -> Plan:
        (first,) = translated.calls
        own = f"{id}{_AGAIN}"
        call = Call(own, first.operations, msgspec.structs.replace(first.native, id=own))
        exact = self._exact(msgspec.structs.replace(translated, calls=(call,)), wanted, rules, own, results)
        for one in exact.translated.calls if exact.waiting is None and exact.unfit is None else ():
            if one.id not in results:
                return msgspec.structs.replace(exact, waiting=one.native)
            if self.failure(exact.translated, one, results[one.id]) is not None:
                break
        return exact

    def failure(self, translated: Translated, call: Call, result: NativeResult) -> Failure | None:
        """Why a step went wrong, so that those after it are not made."""
        outcomes = self._client.read_result(call, result).outcomes
        if call.id in translated.commands:
            outcomes = tuple(outcome_from(translated.commands[call.id], one) for one in outcomes)
        return next((one for one in outcomes if isinstance(one, Failure)), None)

    # ── reading ────────────────────────────────────────────────────────────

    def _exact(
        self,
        translated: Translated,
        wanted: Wanted,
        rules: EditRules | None,
        id: str,
        results: Mapping[str, NativeResult],
    ) -> Plan:
        """The calls as the client's tools find every place, checked on what was read."""
        files: dict[str, str] = {}
        for number, path in enumerate((*wanted.whole, *wanted.there), 1):
            glimpse = path in wanted.there
            waiting, outcome = self._read(path, f"{id}{_HIDDEN}{number}", results, glimpse=glimpse)
            if waiting is not None:
                return Plan(waiting, translated)
            if isinstance(outcome, str):
                files[path] = f"{outcome}\n" if outcome and not self._shows_ends() else outcome
            elif outcome is not None and (
                _NOT_THERE.search(outcome.message) if glimpse else not _only_written(translated, path)
            ):
                return Plan(None, translated, outcome)
        try:
            return Plan(None, self._exactly(translated, files, rules, id))
        except ToolError as error:
            return Plan(None, translated, Failure("failed", str(error)))

    def _read(
        self, path: str, id: str, results: Mapping[str, NativeResult], *, glimpse: bool
    ) -> tuple[NativeCall | None, str | Failure | None]:
        """The next read of a file that is to be made, or its text: `None` where that cannot be known."""
        if glimpse:
            waiting, outcome = self._span(path, id, (1, 1), results)
            return waiting, outcome if isinstance(outcome, Failure) else None
        waiting, outcome = self._span(path, id, None, results)
        size, lines = _PAGE, list[str]()
        if isinstance(outcome, Failure) and not _TOO_LONG.search(outcome.message):
            return None, outcome
        if isinstance(outcome, FileOutcome):
            if _is_shown(outcome):
                if path in self._shown:
                    return None, self._shown[path]
                size = _OTHER_SPAN
            elif outcome.first_line != 1:
                return None, None
            elif not outcome.truncated and outcome.text.count("\n") + 1 != _CUT_IN_SILENCE:
                self._shown[path] = outcome.text
                return None, outcome.text
            else:
                lines = outcome.text.removesuffix("\n").split("\n")
                size = len(lines)  # as many as the client shows at once
        elif waiting is not None or not isinstance(outcome, Failure):
            return waiting, None
        for page in range(1, _PAGES + 1):
            first = len(lines) + 1
            # Not "_1": with an id that is that of another call and "_1", Claude Code 2.1.325 loses the result.
            waiting, outcome = self._span(path, f"{id}p{page}", (first, first + size - 1), results)
            if waiting is not None:
                return waiting, None
            more: list[str] = []
            if isinstance(outcome, FileOutcome) and outcome.first_line == first and not _is_shown(outcome):
                more = outcome.text.split("\n")
            elif not lines or not isinstance(outcome, Failure) or not _NO_LINES.search(outcome.message):
                break
            ends_with_line = len(more) == size + 1 and not more[-1]
            lines += more[:-1] if ends_with_line else more
            if len(more) < size and not (isinstance(outcome, FileOutcome) and outcome.truncated):
                self._shown[path] = "\n".join(lines)
                return None, self._shown[path]
        return None, None

    def _span(
        self, path: str, id: str, span: tuple[int, int] | None, results: Mapping[str, NativeResult]
    ) -> tuple[NativeCall | None, out.Outcome | None]:
        """What a read of some lines gave, or the call that makes it."""
        operation = op.ReadFile(path) if span is None else op.ReadFile(path, first_line=span[0], last_line=span[1])
        read = self._to_client.say(Call(id, (operation,), NativeCall(id, "read", {})))
        if len(read.calls) != 1:
            return None, None
        (call,) = read.calls
        if call.id not in results:
            return call.native, None
        outcome = self._client.read_result(call, results[call.id]).outcomes[0]
        return None, outcome_from(read.commands[call.id], outcome) if call.id in read.commands else outcome

    def _shows_ends(self) -> bool:
        """Whether a file whose last line has an end looks other than one without. In opencode 1.18.33 both are the same
        line, and the note that the file ends there."""
        if self._ends_shown is None:
            read = self._to_client.say(Call("c", (op.ReadFile("a"),), NativeCall("c", "read", {})))
            shown = [self._seen_again(read, FileOutcome("a", text, 1, 1)) for text in ("a", "a\n")]
            self._ends_shown = shown[0] != shown[1]
        return self._ends_shown

    def _seen_again(self, read: Translated, outcome: FileOutcome) -> object:
        """What is understood of a file that the client shows."""
        if len(read.calls) != 1:
            return None
        (call,) = read.calls
        done = read.commands.get(call.id)
        told = self._client.write_result(call, (outcome if done is None else printed_for(done, outcome),))
        (seen,) = self._client.read_result(call, told).outcomes
        seen = seen if done is None else outcome_from(done, seen)
        return seen.text if isinstance(seen, FileOutcome) else seen

    # ── in exact words ─────────────────────────────────────────────────────

    def _exactly(self, translated: Translated, files: dict[str, str], rules: EditRules | None, id: str) -> Translated:
        """The calls with every edit in texts that are found once; `ToolError` for one that does not fit its file."""
        calls: list[Call] = []
        places: list[int] = []
        commands: dict[str, op.Operation] = {}
        by_place = dict.fromkeys(translated.places)
        for place in by_place:
            own = [call for call, of in zip(translated.calls, translated.places, strict=True) if of == place]
            meant = translated.commands.get(own[0].id, own[0].operations[0])
            said: Sequence[Call] = own
            done = {call.id: translated.commands[call.id] for call in own if call.id in translated.commands}
            if isinstance(meant, op.EditFile) and meant.path in files:
                before = files[meant.path]
                after = files[meant.path] = _after(before, meant, rules)
                if not self._shows_ends():  # the last line keeps the end that it has, or has not
                    before, after = before.removesuffix("\n"), after.removesuffix("\n")
                if not _finds(before, meant, after):
                    own_id = id if len(by_place) == 1 else f"{id}_{place + 1}"
                    edits = tuple(exact_edits(before, after))
                    changed = self._changing(meant, edits, files[meant.path], own_id)
                    said, done = changed.calls, changed.commands
            elif isinstance(meant, op.WriteFile):
                files[meant.path] = meant.content
            elif isinstance(meant, op.MoveFile):
                said = [self._into_its_folder(own[0], meant), *own[1:]] if own[0].id in done else own
                if meant.path in files:
                    files[meant.to] = files.pop(meant.path)
            calls += said
            places += [place] * len(said)
            commands.update(done)
        new = msgspec.structs.replace(translated, calls=tuple(calls), places=tuple(places), commands=commands)
        return translated if new == translated else new

    def _changing(self, meant: op.EditFile, edits: tuple[op.Edit, ...], after: str, id: str) -> Translated:
        """The calls that make one text of another; the file was read, so it may be written anew."""
        operation = msgspec.structs.replace(meant, edits=edits) if edits else op.WriteFile(meant.path, after)
        said = self._to_client.say(Call(id, (operation,), NativeCall(id, "edit", {})))
        if not said.calls:
            raise ToolError(f'"{meant.path}" cannot be changed so by the tools here: {said.lost[0].reason}')
        return said

    def _into_its_folder(self, call: Call, meant: op.MoveFile) -> Call:
        """A command that moves a file, with the folder made that it is moved to: patches make theirs."""
        (command,) = call.operations
        folder = posixpath.dirname(meant.to)
        if not isinstance(command, op.RunCommand) or folder in ("", posixpath.dirname(meant.path)):
            return call
        words = ["--", folder] if folder.startswith("-") else [folder]
        operation = op.RunCommand(f"mkdir -p {shlex.join(words)} && {command.command}")
        made = self._to_client.say(Call(call.id, (operation,), NativeCall(call.id, "run", {})))
        return made.calls[0] if len(made.calls) == 1 else call


def _only_written(translated: Translated, path: str) -> bool:
    """Whether a file is written as a whole: then it need not be there."""
    return not any(
        isinstance(meant, op.EditFile) and meant.path == path
        for call in translated.calls
        for meant in (translated.commands.get(call.id, call.operations[0]),)
    )


def _is_shown(outcome: FileOutcome) -> bool:
    """Whether a client only says that it has shown a file before. Qwen Code 0.24 and Claude Code do: "[File a.py
    unchanged since last read in this session — the full content was provided earlier …"."""
    return len(outcome.text) < 1000 and "nchanged since last read" in outcome.text


def _after(before: str, meant: op.EditFile, rules: EditRules | None) -> str:
    data = before.encode("utf-8", "surrogatepass")
    return edited(data, meant.edits, meant.path, rules or EXACT)[0].decode("utf-8", "surrogatepass")


def _finds(before: str, meant: op.EditFile, after: str) -> bool:
    """Whether a tool that looks for exact texts makes the same of a file, whichever text it looks for later ones in."""
    text, places = before, list[tuple[int, int]]()
    for edit in meant.edits:
        if not edit.old:
            return False
        if not edit.everywhere and not edit.expected:
            if not _occurs_once(before, edit.old) or not _occurs_once(text, edit.old):
                return False
            places.append((before.index(edit.old), before.index(edit.old) + len(edit.old)))
        text = text.replace(edit.old, edit.new)
    places.sort()
    return text == after and all(end <= start for (_, end), (start, _) in pairwise(places))


def exact_edits(before: str, after: str) -> Iterator[op.Edit]:
    """Edits of whole lines that make one text of another, in order.

    What each looks for occurs once: in the first text, and in the text as it is by then. For some clients look for all
    edits of a call in the text before the first (pi 0.74.2), and others in what the one before has made.
    """
    old, new = _lines(before), _lines(after)
    parts = _blocks(old, new) if old else []
    place = 0
    while place < len(parts):  # what an earlier part looks for does not depend on the later ones
        start, end, to, until = parts[place]
        found = "".join(old[start:end])
        if found and _occurs_once(before, found) and _occurs_once("".join([*new[:to], *old[start:]]), found):
            place += 1
            continue
        above = start - (parts[place - 1][1] if place else 0)
        below = (parts[place + 1][0] if place + 1 < len(parts) else len(old)) - end
        more = 1 + (end - start) // 4
        if above or below:
            above, below = min(above, more), min(below, more)
            parts[place] = (start - above, end + below, to - above, until + below)
        else:  # joined with the next; in the end it is all of the text, which occurs once
            place = min(place, len(parts) - 2)
            (start, _, to, _), (_, end, _, until) = parts[place : place + 2]
            parts[place : place + 2] = [(start, end, to, until)]
    for start, end, to, until in parts:
        yield op.Edit("".join(old[start:end]), "".join(new[to:until]))


def _occurs_once(text: str, part: str) -> bool:
    """Whether there is one place of it; places that overlap are two."""
    first = text.find(part)
    return first >= 0 and text.find(part, first + 1) < 0


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _blocks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Where two texts differ: from and up to which line of each."""
    shared = min(len(old), len(new))
    head = next((at for at in range(shared) if old[at] != new[at]), shared)
    tail = next((at for at in range(shared - head) if old[-1 - at] != new[-1 - at]), shared - head)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = Counter(new)
    if sum(counts[line] for line in old) > _PAIRS:
        return [(head, head + len(old), head, head + len(new))]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    found = (one for one in matcher.get_opcodes() if one[0] != "equal")
    return [(head + start, head + end, head + to, head + until) for _, start, end, to, until in found]
