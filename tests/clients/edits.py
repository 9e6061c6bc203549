"""Random edits, done by a real client and by dragoman in the client's words: the files must be the same.

One run of a client does many of them: its scripted model reads 25 files in one turn and edits each in the next. It
runs in a sandbox of its own, as those of `cell.py` do.

    python -m tests.clients.edits              200 edits in every client
    python -m tests.clients.edits qwen_code 7  another seed, in one client
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ToolError
from dragoman.model import NativeCall, ReadFile
from dragoman.model.outcomes import ChangesOutcome, Failure
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.dialects.test_edit_rules import edit_call

from .asked import STARTED, answered, project_in
from .install import HOOKED, VERSIONS as RESUMED

VERSIONS = RESUMED | HOOKED
SEED = 20261116
EDITS = 200
TOGETHER = 25
"""Edits in one turn."""
LINES = (
    "def run(self):",
    "    return value",
    "    if ready:",
    "        go(1, 2)",
    "\tif tab:",
    "\t\tgo()",
    "x = 1",
    "x = 1  ",
    "x  =  1",
    'say("hi")',
    "say(“hi”)",
    "it's",
    "it’s",
    "a — b",
    "a - b",
    "wait...",
    "wait…",
    "path\\nname",
    "\\u00e9",
    "é",
    "e\u0301",
    "no\u00a0break",
    "Foo",
    "foo",
    "end;",
    "end",
    "",
    "",
    "}",
    "    }",
)


class Asked(NamedTuple):
    """A file, and an edit of it."""

    file: str
    old: str
    new: str
    everywhere: bool


def asked(seed: int, number: int) -> Asked:
    """A random edit: the old text is a part of the file, or nearly one, as models get it wrong."""
    chance = random.Random(seed * 1_000_000 + number)
    long = chance.random() < 0.15
    lines = [chance.choice(LINES) for _ in range(chance.randrange(20, 40) if long else chance.randrange(1, 9))]
    if long:
        lines = [f"{line} # {place}" if line and chance.random() < 0.6 else line for place, line in enumerate(lines)]
    end = chance.choices(("\n", "\r\n", "mixed"), (80, 12, 8))[0]
    file = "".join(line + (chance.choice(("\n", "\r\n")) if end == "mixed" else end) for line in lines)
    if chance.random() < 0.2:
        file = file.rstrip("\r\n")
    start = chance.randrange(len(lines))
    part = lines[start : start + chance.choices((1, 2, 3, 4), (40, 30, 20, 10))[0]]
    old = "\n".join(part)
    if chance.random() < 0.3:
        cut = sorted(chance.randrange(len(old) + 1) for _ in range(2))
        old = old[cut[0] : cut[1]]
    for _ in range(chance.choices((0, 1, 2), (35, 45, 20))[0]):
        old = chance.choice(WRONG)(old)
    if chance.random() < 0.15:
        old += "\n"
    new = (
        old.replace("1", "9").replace("o", "0")
        if chance.random() < 0.5
        else "\n".join(chance.choice(LINES) for _ in range(chance.randrange(4)))
    )
    if chance.random() < 0.1:
        new += "\n"
    return Asked(file, old, new, chance.random() < 0.15)


WRONG: Sequence[Callable[[str], str]] = (
    lambda text: text.replace("    ", "  "),
    lambda text: "\n".join(line.lstrip() for line in text.split("\n")),
    lambda text: "\n".join(f"  {line}" for line in text.split("\n")),
    lambda text: "\n".join(line.rstrip() for line in text.split("\n")),
    lambda text: "\n".join(f"{line} " for line in text.split("\n")),
    lambda text: text.replace("“", '"').replace("”", '"').replace("’", "'"),
    lambda text: text.replace('"', "“").replace("'", "’"),
    lambda text: text.replace("—", "-").replace("…", "...").replace("\u00a0", " "),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\\n"),
    lambda text: text.replace('"', '\\"'),
    lambda text: text.replace("é", "\\u00e9"),
    lambda text: text.swapcase(),
    lambda text: text.replace("(", "( ").replace(" = ", "="),
    lambda text: text.replace("\n", "\n\n"),
    lambda text: text.replace("\n\n", "\n"),
    lambda text: text.strip(),
    lambda text: f"\n{text}\n",
    lambda text: text.replace("value", "valeu").replace("ready", "redy"),
    lambda text: text[:-1],
    lambda text: f"{text};",
)


class Found(NamedTuple):
    """What a client made of the files, and what it told its model."""

    files: Sequence[str | None] = ()
    told: Sequence[str] = ()
    problem: str = ""


def tried(client: str, edits: Sequence[Asked], folder: Path) -> Found:
    """Edits in a real client; `folder` is where it may write. Each file is read in the turn before it is edited."""
    paths = [project_in(folder) / f"f{number}.txt" for number in range(len(edits))]
    words = DIALECTS[client].at(VERSIONS[client])
    turns: list[list[NativeCall]] = []
    for start in range(0, len(edits), TOGETHER):
        here = range(start, min(start + TOGETHER, len(edits)))
        turns.append([words.write_call(f"read_{number}", ReadFile(str(paths[number])))[0] for number in here])
        turns.append(
            [
                replace(
                    edit_call(client, str(paths[number]), edit.old, edit.new, everywhere=edit.everywhere),
                    id=f"edit_{number}",
                )
                for number, edit in zip(here, edits[start : start + TOGETHER], strict=True)
            ]
        )
    files = {path.name: edit.file.encode() for path, edit in zip(paths, edits, strict=True)}
    seen = answered(client, files, turns, folder)
    if seen.problem:
        return Found(problem=seen.problem)
    told = [seen.told.get(f"edit_{number}", "") for number in range(len(edits))]
    left = [seen.files.get(path.name) for path in paths]
    return Found([None if data is None else data.decode() for data in left], told)


class Compared(msgspec.Struct):
    """What came of random edits in one client and here."""

    texts: int = 0
    """Edits that both did, told in the same words, or that both refused, beginning with the same sentence."""
    told: int = 0
    """Edits that both did, or that both refused."""
    otherwise: list[str] = []
    """Those told in other words."""

    changed: int = 0
    """Edits that changed the file in the client."""
    other: list[str] = []
    """Edits that came out otherwise here."""
    refused: int = 0
    """Edits that are refused here alone, because the client damages the file."""


REMINDERS = re.compile(r"(?:\n\n<system-reminder>.*?</system-reminder>)+\Z", re.DOTALL)
_FUZZY = re.compile(r" Applied fuzzy match at line \d+(?:-\d+)?\.\Z")
"""What Gemini CLI adds where it was not exact, and we do not (docs/decisions/edit-rules.md)."""


class Told(NamedTuple):
    """A file after an edit here, `None` where it was refused, and what a model gets to read."""

    file: str | None
    told: str
    leaves: bool
    """Whether the file is as it was because the edit changes nothing in it."""


def edit_told(words: Dialect, path: Path, edit: Asked) -> Told:
    """An edit done here, as the client was asked for it."""
    name = str(path).lstrip("/")
    native = edit_call(words.name, str(path), edit.old, edit.new, everywhere=edit.everywhere)
    workspace = MemoryWorkspace({name: edit.file.encode()})
    workspace.read(name)
    call = words.read_call(native)
    assert call.failure is None, call.failure
    outcome: ChangesOutcome | Failure
    try:
        outcome = workspace.apply(call.operations, rules=words.edit_rules(native))
    except ToolError as error:
        outcome = Failure(error.kind, str(error), error.details)
    told = words.write_result(call, [outcome]).content
    assert isinstance(told, str)
    if isinstance(outcome, Failure):
        return Told(None, told, leaves=outcome.details.get("reason") == "no_change")
    after = workspace.read(name).decode()
    return Told(after, told, leaves=after == edit.file)


def said_alike(done: Told, there: str) -> bool:
    """The same words; a hint of ours, on lines of its own, may follow those of a refusal."""
    if done.file is not None:
        return done.told == _FUZZY.sub("", there)
    if not there:
        return False
    before, after = next(((a, b) for a, b in _AROUND if there.startswith(a) and there.endswith(b)), ("", ""))
    said = there.removeprefix(before).removesuffix(after)
    ours = done.told.removeprefix(before).removesuffix(after)
    return ours == said or ours.startswith(f"{said}{_HINT[before]}")


_AROUND = (("<tool_use_error>", "</tool_use_error>"), ("{", '","success":false}'))
_HINT = {"": "\n", "<tool_use_error>": "\n", "{": "\\n"}
"""What comes before a hint, in plain words and in JSON."""


REFUSING_MORE = frozenset({"copilot"})
"""Clients that damage the file in some edits, which are refused here (docs/decisions/edit-rules.md)."""


EMPTY_IN_OUR_WORDS = frozenset({"droid"})
"""Clients that find an empty text between all characters of a file, and say how often."""


def damaged(edit: Asked, there: str) -> bool:
    """Whether a client joined lines, lost or repeated one, left a CR within a line, or took a letter apart."""
    lines, new = edit.file.split("\n"), edit.new.split("\n")
    joined = any(
        line.endswith(other) and other.strip() and line not in lines and line not in new
        for line in there.split("\n")
        for other in lines
        if len(other) < len(line)
    )
    missing = _lines(edit.file) - _lines(edit.old) + _lines(edit.new) != _lines(there)
    ends = edit.old.count("\n") - edit.new.count("\n") < edit.file.count("\n") - there.count("\n")
    ends = ends or (edit.file.endswith("\n") and not there.endswith("\n"))
    returns = _RETURN.findall(there) != _RETURN.findall(edit.file)
    half = unicodedata.combining(edit.old.strip()[:1] or "a") > 0
    return joined or missing or ends or returns or half


def _lines(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


_RETURN = re.compile(r"\r(?!\n)")


def compared(client: str, seed: int, count: int, folder: Path) -> Compared:
    """Random edits by a real client and by dragoman."""
    edits = [asked(seed, number) for number in range(count)]
    found = tried(client, edits, folder)
    if found.problem:
        return Compared(other=[found.problem])
    words, seen = DIALECTS[client].at(VERSIONS[client]), Compared()
    project = project_in(folder)
    for number, (edit, file, told) in enumerate(zip(edits, found.files, found.told, strict=True)):
        done = edit_told(words, project / f"f{number}.txt", edit)
        ours = done.file
        seen.changed += file != edit.file
        if (edit.file if ours is None else ours) == file:
            if client in EMPTY_IN_OUR_WORDS and not edit.old and ours is None:
                continue  # docs/decisions/edit-rules.md
            if done.leaves and edit.old != edit.new:
                continue  # said to change nothing, whatever the client says (docs/decisions/edit-rules.md)
            seen.told += 1
            if said_alike(done, REMINDERS.sub("", told)):
                seen.texts += 1
            else:
                seen.otherwise.append(f"{number}: {edit}\n  there {told!r}\n  here  {done.told!r}")
            continue
        spread = client in EMPTY_IN_OUR_WORDS and not edit.old
        if ours is None and file is not None and (spread or (client in REFUSING_MORE and damaged(edit, file))):
            seen.refused += 1
        else:
            seen.other.append(f"{number}: {edit}\n  there {file!r}\n  here  {ours!r}\n  told  {told[:150]!r}")
    return seen


def summary(client: str, seed: int, count: int, seen: Compared) -> str:
    """What was found, in one line."""
    refused = f", {seen.refused} are refused here alone" if seen.refused else ""
    return (
        f"{client} {VERSIONS[client]}: {count} random edits (seed {seed}), {seen.changed} changed the file, "
        f"{len(seen.other)} came out otherwise{refused}; {seen.texts} of {seen.told} results in the same words"
    )


def main(wanted: Sequence[str]) -> int:
    seed = next((int(one) for one in wanted if one.isdigit()), SEED)
    other = 0
    chosen = [one for one in wanted if not one.isdigit()]
    for client in [one for one in STARTED if one in chosen or not chosen]:
        with tempfile.TemporaryDirectory(prefix="edits-", ignore_cleanup_errors=True) as folder:
            seen = compared(client, seed, EDITS, Path(folder, "run"))
        for one in seen.other:
            print(f"{client} {one}")
        other += len(seen.other)
        print(summary(client, seed, EDITS, seen))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
