"""Random edits, done by a real client and by dragoman in the client's words: the files must be the same.

One run of a client does many of them: its scripted model reads 25 files in one turn and edits each in the next. It
runs in a sandbox of its own, as those of `cell.py` do.

    python -m tests.clients.edits              200 edits in every client
    python -m tests.clients.edits qwen_code 7  another seed, in one client
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from dragoman.apis import APIS
from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ToolError
from dragoman.model import ReadFile
from dragoman.model.outcomes import ChangesOutcome, Failure
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.dialects.test_edit_rules import edit_call
from tests.engine.loopback import Turn

from .cell import results, text_of
from .driven import CLIENTS
from .install import VERSIONS
from .sandbox import programs_of, run_inside
from .server import MARK, Script, served

ROOT = Path(__file__).parents[2]
SEED = 20261116
EDITS = 200
TOGETHER = 25
"""Edits in one turn."""
_SECONDS = 240
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
STARTED: dict[str, Callable[[str], Sequence[str]]] = {
    # Client → options that do a prompt without asking.
    "claude_code": lambda prompt: ("-p", prompt, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"),
    "gemini_cli": lambda prompt: ("-p", prompt, "-m", "gemini-2.5-pro", "--yolo", "--skip-trust"),
    "qwen_code": lambda prompt: ("-p", prompt, "-m", "qwen3-coder-plus", "--auth-type", "openai", "--yolo"),
    "opencode": lambda prompt: ("run", "-m", "anthropic/claude-sonnet-4-5", prompt),
    "copilot": lambda prompt: ("-p", prompt, "--no-auto-update", "--allow-all"),
    "pi": lambda prompt: ("-p", "--provider", "here", "--model", "claude-sonnet-4-5", "--offline", prompt),
    "continue": lambda prompt: ("-p", prompt, "--auto"),
}


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


class Found(msgspec.Struct):
    """What a client made of the files, and what it told its model."""

    files: list[str | None] = []
    told: list[str] = []
    problem: str = ""


def tried(client: str, edits: Sequence[Asked], folder: Path) -> Found:
    """Runs a client in its sandbox; `folder` is where it may write."""
    folder.mkdir(parents=True)
    (folder / "edits.json").write_bytes(msgspec.json.encode(edits))
    words = ("inside", client, folder, *programs_of(client))
    found = run_inside("tests.clients.edits", *words, folder=folder, seconds=_SECONDS * 2, type=Found)
    return found if isinstance(found, Found) else Found(problem=found)


def _run(client: str, folder: Path, found: Path, node: Path | None) -> Found:
    """The inner side."""
    home, project = folder / "home", folder / "home" / "project"
    project.mkdir(parents=True)
    (folder / "tmp").mkdir()
    edits = msgspec.json.decode((folder / "edits.json").read_bytes(), type=list[Asked])
    paths = [project / f"f{number}.txt" for number in range(len(edits))]
    for path, edit in zip(paths, edits, strict=True):
        path.write_bytes(edit.file.encode())
    words = DIALECTS[client].at(VERSIONS[client])
    turns: list[Turn] = []
    for start in range(0, len(edits), TOGETHER):
        here = range(start, min(start + TOGETHER, len(edits)))
        reads = [words.write_call(f"read_{number}", ReadFile(str(paths[number])))[0] for number in here]
        turns.append(Turn(calls=tuple((native.id, native.name, native.arguments) for native in reads)))
        natives = [
            (f"edit_{number}", edit_call(client, str(paths[number]), edit.old, edit.new, everywhere=edit.everywhere))
            for number, edit in zip(here, edits[start : start + TOGETHER], strict=True)
        ]
        turns.append(Turn(calls=tuple((id, native.name, native.arguments) for id, native in natives)))
    script = Script([*turns, Turn("Done.")])
    with served(script) as port:
        setup = CLIENTS[client].setup(port)
        for name, content in setup.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content if isinstance(content, str) else json.dumps(content))
        path = os.environ["PATH"] if node is None else f"{node.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {"HOME": str(home), "PATH": path, "TMPDIR": str(folder / "tmp"), "SHELL": "/bin/bash"}
        argv = [str(found), *STARTED[client](f"Do it. {MARK}")]
        done = subprocess.run(
            argv,
            cwd=project,
            env={**environment, "TERM": "xterm", "LANG": "C.UTF-8", **setup.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    if len(script.taken) <= len(turns):
        said = done.stdout.decode("utf-8", "replace")
        return Found(problem=f"asked {len(script.taken)} times for {len(turns) + 1} turns:\n{said[-2_000:]}")
    request = APIS[script.api].read_request(script.taken[len(turns)], model="a-model")
    told = [text_of(result) for result in results(request.conversation)]
    return Found(
        [path.read_bytes().decode() for path in paths],
        # A turn that reads the files comes before each turn that edits them.
        [
            text
            for start in range(0, 2 * len(edits), 2 * TOGETHER)
            for text in _second_half(told[start:][: 2 * TOGETHER])
        ],
    )


def _second_half(told: Sequence[str]) -> Sequence[str]:
    return told[len(told) // 2 :]


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
    """Edits that are refused here alone, where the rules say that more is refused than in the client."""


_REMINDERS = re.compile(r"(?:\n\n<system-reminder>.*?</system-reminder>)+\Z", re.DOTALL)
_FUZZY = re.compile(r" Applied fuzzy match at line \d+(?:-\d+)?\.\Z")
"""What Gemini CLI adds where it was not exact, and we do not (docs/decisions/edit-rules.md)."""


class Told(NamedTuple):
    """A file after an edit here, `None` where it was refused, and what a model gets to read."""

    file: str | None
    told: str


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
    return Told(None if isinstance(outcome, Failure) else workspace.read(name).decode(), told)


def said_alike(done: Told, there: str) -> bool:
    """The same words; of a refusal the client's own sentence, which advice of either may follow."""
    if done.file is not None:
        return done.told == _FUZZY.sub("", there)
    sentence = re.sub(r"</tool_use_error>\Z", "", done.told.partition("\n")[0])
    return there.startswith(sentence)


REFUSING_MORE = frozenset({"copilot"})
"""Clients that join, lose or repeat lines in some edits, which are refused here (docs/decisions/edit-rules.md)."""


def compared(client: str, seed: int, count: int, folder: Path) -> Compared:
    """Random edits by a real client and by dragoman."""
    edits = [asked(seed, number) for number in range(count)]
    found = tried(client, edits, folder)
    if found.problem:
        return Compared(other=[found.problem])
    words, seen = DIALECTS[client].at(VERSIONS[client]), Compared()
    project = folder / "home" / "project"
    for number, (edit, file, told) in enumerate(zip(edits, found.files, found.told, strict=True)):
        done = edit_told(words, project / f"f{number}.txt", edit)
        ours = done.file
        seen.changed += file != edit.file
        if (edit.file if ours is None else ours) == file:
            if ours is None or file != edit.file:
                seen.told += 1
                if said_alike(done, _REMINDERS.sub("", told)):
                    seen.texts += 1
                else:
                    seen.otherwise.append(f"{number}: {edit}\n  there {told!r}\n  here  {done.told!r}")
            continue
        if ours is None and client in REFUSING_MORE:
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
    if sys.argv[1:2] == ["inside"]:
        client, place, found, node = sys.argv[2:]
        outcome = _run(client, Path(place), Path(found), Path(node) if node else None)
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
    else:
        sys.exit(main(sys.argv[1:]))
