"""Whole files written at random by a real client and by dragoman in the client's words: the files must be the same.

What stands there already has line ends, a byte order mark and an encoding, or is empty, or is not there; so has the
new text. The client runs in a sandbox of its own, as those of `cell.py` do.

    python -m tests.clients.writes            200 files in every client
    python -m tests.clients.writes pi 7       another seed, in one client
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Sequence
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

from .asked import answered, project_in
from .edits import LINES, REMINDERS, VERSIONS

SEED = 20261116
WRITES = 200
TOGETHER = 25
"""Files in one turn."""
TOOLS = {
    "claude_code": ("Write", "file_path", "content"),
    "gemini_cli": ("write_file", "file_path", "content"),
    "qwen_code": ("write_file", "file_path", "content"),
    "opencode": ("write", "filePath", "content"),
    "copilot": ("create", "path", "file_text"),
    "pi": ("write", "path", "content"),
    "continue": ("Write", "filepath", "content"),
    "cline": ("editor", "path", "new_text"),
    "droid": ("Create", "file_path", "content"),
}
"""Client → its tool for whole files, and the parameters with the path and the text."""
SUFFIXES = ("txt", "txt", "txt", "txt", "md", "json", "py", "html")
ENDS = ("\n", "\r\n", "\r", "mixed", "any")
FOUND_THERE = (
    *LINES,
    *("&lt;b&gt; &amp;", "```", "\\n", '\\"', "$& $1 $$", "  ", "\t", "\ufeff", "\u2028", "\x0c", "\x85", "\u3000"),
    *("\\\\u00e9", "\\ud83d\\ude00", "\\u000a", "\\u0041\\u0020", "a\\u00a0", "\U0001f600", "naïve"),
)


REFUSED_HERE = {
    "continue": ("is not UTF-8",),
    "qwen_code": ("which has no",),
    "droid": ("the text to replace is empty", "which has no"),
}
"""Client → refusals here of what it does, with the reasons on docs/decisions/edit-rules.md."""
RECORDED = re.compile(r" This file was automatically recorded as a workspace artifact .*", re.DOTALL)
"""What Qwen Code adds for pages, which it shows to its user."""


class Write(NamedTuple):
    """What stands there (`None`: nothing), and the text that is written in its place."""

    before: bytes | None
    content: str
    suffix: str
    by_edit: bool
    """Whether it is written by an edit that replaces nothing."""


def _text(chance: random.Random, ends: Sequence[int]) -> str:
    end = chance.choices(ENDS, ends)[0]
    several = {"mixed": ("\n", "\r\n"), "any": ("\n", "\r\n", "\r")}.get(end, (end,))
    lines = [chance.choice(FOUND_THERE) for _ in range(chance.randrange(1, 9))]
    text = "".join(line + chance.choice(several) for line in lines)
    return text.rstrip("\r\n") if chance.random() < 0.25 else text


def _is_utf_8(data: bytes) -> bool:
    return data.decode("utf-8", "replace").encode() == data


def written(seed: int, number: int) -> Write:
    """A random file and a random text."""
    chance = random.Random(seed * 1_000_000 + number)
    there = _text(chance, (30, 30, 12, 18, 10))
    content = _text(chance, (60, 14, 8, 10, 8))
    kind = chance.random()
    if kind < 0.05:
        content = ""
    elif kind < 0.1:
        content = there
    elif kind < 0.15:
        content = there.replace("\r\n", "\n").replace("\r", "\n")
    elif kind < 0.23:
        content = "\ufeff" * chance.choice((1, 1, 2)) + content
    kind = chance.random()
    suffix = chance.choice(SUFFIXES)
    before: bytes | None = there.encode()
    if kind < 0.12:
        before = None
    elif kind < 0.18:
        before = b""
    elif kind < 0.32:
        before = f"\ufeff{there}".encode()
    elif kind < 0.35:
        before = "\ufeff".encode() + chance.choice((b"", b"\r\n", b"\xef\xbb\xbfa\n"))
    elif kind < 0.4:
        before = f"\ufeff{there}".encode(chance.choice(("utf-16-le", "utf-16-be")))
    elif kind < 0.44:
        before = f"caf\u00e9 {there}".encode("latin-1", "replace")
    by_edit = chance.random() < 0.25
    if by_edit and chance.random() < 0.85:
        before = chance.choice(
            (None, None, None, b"", b"", b" \r\n", b"\n", b"\t", b"\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n")
        )
    return Write(before, content, suffix, by_edit)


def write_call(client: str, path: str, content: str) -> NativeCall:
    """A whole file, as this client is asked for it."""
    tool, where, what = TOOLS[client]
    more = {"old_text": None} if client == "cline" else {}
    return NativeCall("1", tool, {where: path, what: content, **more})


class Done(NamedTuple):
    """A file after a call here, and what a model gets to read."""

    file: bytes | None
    told: str
    refused: bool


def written_here(words: Dialect, native: NativeCall, path: Path, before: bytes | None) -> Done:
    """A whole file written here."""
    name = str(path).lstrip("/")
    workspace = MemoryWorkspace({} if before is None else {name: before})
    if before is not None:
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
    after = workspace.read(name) if name in workspace.paths() else None
    return Done(after, told, isinstance(outcome, Failure))


class Compared(msgspec.Struct):
    """What came of random whole files in one client and here."""

    changed: int = 0
    """Calls that changed the file in the client."""
    other: list[str] = []
    """Calls that came out otherwise here."""
    refused: int = 0
    """Calls that are refused here alone, because the client damages the file."""
    texts: int = 0
    """Calls that both did, told in the same words."""
    told: int = 0
    """Calls that both did, of a file in UTF-8: others are shown as if they were."""
    otherwise: list[str] = []
    """Those told in other words."""


def compared(client: str, seed: int, count: int, folder: Path) -> Compared:
    """Random whole files by a real client and by dragoman."""
    writes = [written(seed, number) for number in range(count)]
    words, seen, project = DIALECTS[client].at(VERSIONS[client]), Compared(), project_in(folder)
    paths = [project / f"f{number}.{one.suffix}" for number, one in enumerate(writes)]
    calls = [
        replace(
            edit_call(client, str(path), "", one.content)
            if one.by_edit
            else write_call(client, str(path), one.content),
            id=f"write_{number}",
        )
        for number, (path, one) in enumerate(zip(paths, writes, strict=True))
    ]
    turns: list[list[NativeCall]] = []
    for start in range(0, count, TOGETHER):
        here = range(start, min(start + TOGETHER, count))
        there = [number for number in here if writes[number].before is not None]
        turns.append([words.write_call(f"read_{number}", ReadFile(str(paths[number])))[0] for number in there])
        turns.append([calls[number] for number in here])
    files = {path.name: one.before for path, one in zip(paths, writes, strict=True) if one.before is not None}
    found = answered(client, files, turns, folder)
    if found.problem:
        return Compared(other=[found.problem])
    for one, native, path in zip(writes, calls, paths, strict=True):
        left, told = found.files.get(path.name), REMINDERS.sub("", found.told[native.id])
        done = written_here(words, native, path, one.before)
        seen.changed += left != one.before
        text = f"{native.id}: {one}\n  there {left!r}\n  here  {done.file!r}\n  told  {told!r}\n  here  {done.told!r}"
        if done.file == left:
            if not done.refused and (
                one.before is None or one.before.decode("utf-8", "replace").encode() == one.before
            ):
                seen.told += 1
                if done.told == RECORDED.sub("", told):
                    seen.texts += 1
                else:
                    seen.otherwise.append(text)
        elif done.refused and any(reason in done.told for reason in REFUSED_HERE.get(client, ())):
            seen.refused += 1
        else:
            seen.other.append(text)
    return seen


def summary(client: str, seed: int, count: int, seen: Compared) -> str:
    """What was found, in one line."""
    return (
        f"{client} {VERSIONS[client]}: {count} random whole files (seed {seed}), {seen.changed} changed the file, "
        f"{len(seen.other)} came out otherwise, {seen.refused} are refused here alone; "
        f"{seen.texts} of {seen.told} results in the same words"
    )


def main(wanted: Sequence[str]) -> int:
    seed = next((int(one) for one in wanted if one.isdigit()), SEED)
    chosen = [one for one in wanted if not one.isdigit()]
    other = 0
    for client in [one for one in TOOLS if one in chosen or not chosen]:
        with tempfile.TemporaryDirectory(prefix="writes-", ignore_cleanup_errors=True) as folder:
            seen = compared(client, seed, WRITES, Path(folder, "run"))
        for one in seen.other:
            print(f"{client} {one}")
        other += len(seen.other)
        print(summary(client, seed, WRITES, seen))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
