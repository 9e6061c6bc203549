"""Random patches, done by a real client and by dragoman in the client's words: the files must be the same.

python -m tests.clients.patches            200 patches in every client that has a tool for them
python -m tests.clients.patches cline 7    another seed, in one client
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ToolError
from dragoman.model import NativeCall, outcomes as out
from dragoman.tools.workspace.memory import MemoryWorkspace

from .asked import PATCHING_MODEL, answered, project_in
from .install import HOOKED, VERSIONS as RESUMED

VERSIONS = RESUMED | HOOKED
SEED = 20261116
PATCHES = 200
TOGETHER = 25
"""Patches in one turn."""
PARAMETERS = {"opencode": "patchText", "cline": "input", "copilot": None, "droid": None}
"""Client → the parameter that takes the patch; `None`: it is the whole input."""
NAMES = {"droid": "ApplyPatch"}
"""What the tool is called; `apply_patch` where nothing else is said."""
MODELS = {"copilot": "gpt-5.4"}
"""The model that a client must be asked for to offer patches; Copilot 1.0.102 offers none with gpt-5."""
LINES = (
    "a",
    "b",
    "c",
    "a ",
    " a",
    "  b",
    "",
    "x — y",
    "x - y",
    "“q”",
    '"q"',
    "\u00a0a",
    "same",
    "def f():",
    "    go",
    "z;",
)


class Patch(NamedTuple):
    """A file, a section of a patch that is about it, and the file that is there already where it is moved to."""

    text: str
    section: tuple[str, ...]
    taken: str | None


def patch_for(chance: random.Random, name: str) -> Patch:
    lines = [chance.choice(LINES) for _ in range(chance.randrange(8))]
    end = chance.choices(("\n", "\r\n", "\r", ""), (70, 12, 6, 12))[0]
    text = "".join(line + (end or chance.choice(("\n", "\r\n", "\r"))) for line in lines)
    if chance.random() < 0.25:
        text = text.rstrip("\r\n")
    if chance.random() < 0.03:
        text = f"\ufeff{text}"
    kind = chance.random()
    if kind < 0.02:
        return Patch(text, (f"*** Add File: {name}", *(f"+{chance.choice(LINES)}" for _ in range(2))), None)
    if kind < 0.03:
        return Patch(text, (f"*** Delete File: {name}",), None)
    section = [f"*** Update File: {name}"]
    moved = chance.random() < 0.05
    if moved:
        section.append(f"*** Move to: {name}.moved")
    for number in range(chance.choices((1, 2, 3), (70, 22, 8))[0]):
        section += _hunk(chance, lines, first=number == 0)
    return Patch(text, tuple(section), "taken\n" if moved and chance.random() < 0.5 else None)


def _hunk(chance: random.Random, lines: Sequence[str], *, first: bool) -> list[str]:
    hunk: list[str] = []
    if not first or chance.random() < 0.75:
        near = chance.choice(lines) if lines and chance.random() < 0.85 else chance.choice(LINES)
        hunk.append("@@" if chance.random() < 0.75 else f"@@ {near}")
    if chance.random() < 0.02:
        hunk.append("@@")
    start = chance.randrange(len(lines)) if lines else 0
    shown = lines[start : start + chance.randrange(4)] if chance.random() < 0.93 else [chance.choice(LINES)]
    for line in shown:
        written = line.strip() if chance.random() < 0.08 else f"{line} " if chance.random() < 0.04 else line
        kind = chance.random()
        if kind < 0.45:
            hunk.append(f" {written}" if written or chance.random() < 0.7 else "")
        else:
            hunk.append(f"-{written}")
            if kind > 0.7:
                hunk.append(f"+{chance.choice(LINES)}")
        if chance.random() < 0.15:
            hunk.append(f"+{chance.choice(LINES)}")
    if chance.random() < 0.4 or not shown:
        hunk.append(f"+{chance.choice(LINES)}")
    if chance.random() < 0.1:
        hunk.append("*** End of File")
    return hunk


def whole(sections: Sequence[Sequence[str]]) -> str:
    return "\n".join(["*** Begin Patch", *(line for section in sections for line in section), "*** End Patch"])


def patch_call(client: str, id: str, patch: str) -> NativeCall:
    """A patch, as this client is asked for it."""
    parameter = PARAMETERS[client]
    return NativeCall(id, NAMES.get(client, "apply_patch"), patch if parameter is None else {parameter: patch})


def files_of(name: str, patch: Patch) -> dict[str, str]:
    """The files that are there before."""
    return {name: patch.text} | ({f"{name}.moved": patch.taken} if patch.taken is not None else {})


class Here(NamedTuple):
    """The files after a patch here, `None` where it was refused, and what a model gets to read."""

    files: Mapping[str, str] | None
    told: str


def patched_here(words: Dialect, native: NativeCall, files: Mapping[str, str]) -> Here:
    """A patch done here."""
    call = words.read_call(native)
    if call.failure is not None:
        return Here(None, call.failure.message)
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})
    try:
        changes = workspace.apply(call.operations, rules=words.edit_rules(native)).changes
    except ToolError as error:
        return Here(None, str(error))
    told = words.write_result(call, [out.ChangesOutcome((change,)) for change in changes]).content
    assert isinstance(told, str)
    return Here({name: workspace.read(name).decode() for name in workspace.paths()}, told)


_FUZZ = re.compile(r"\\nNote: Patch applied with fuzz factor \d+")
"""What Cline adds where lines were not exact, and we do not (docs/decisions/edit-rules.md)."""


class Compared(msgspec.Struct):
    """What came of random patches in one client and here."""

    changed: int = 0
    """Patches that changed a file in the client."""
    refused: list[str] = []
    """Patches that are refused here alone."""
    other: list[str] = []
    """Patches that both did, with another end, or that are refused there alone."""
    texts: int = 0
    """Patches that both did, told in the same words."""
    told: int = 0
    """Patches that both did."""
    otherwise: list[str] = []
    """Those told in other words."""


def compared(client: str, seed: int, count: int, folder: Path) -> Compared:
    """Random patches by a real client and by dragoman."""
    patches = {
        f"f{number}": patch_for(random.Random(seed * 1_000_000 + number), f"f{number}") for number in range(count)
    }
    if client == "cline":  # an empty line where no line was found before makes 3.0.65 read it for ever
        patches = {name: patch for name, patch in patches.items() if "" not in patch.section}
    model = MODELS.get(client, PATCHING_MODEL)
    natives = [patch_call(client, name, whole([patch.section])) for name, patch in patches.items()]
    turns = [natives[start : start + TOGETHER] for start in range(0, len(natives), TOGETHER)]
    files = {file: text.encode() for name, patch in patches.items() for file, text in files_of(name, patch).items()}
    found = answered(client, files, turns, folder, model=model)
    if found.problem:
        return Compared(other=[found.problem])
    words, seen = DIALECTS[client].at(VERSIONS[client], model), Compared()
    below = f"{project_in(folder)}/".lstrip("/")  # opencode names files as seen from "/" outside of a repository
    for native in natives:
        patch = patches[native.id]
        before = files_of(native.id, patch)
        there = {name: data.decode() for name, data in found.files.items() if name.partition(".")[0] == native.id}
        done = patched_here(words, native, before)
        seen.changed += there != before
        text = f"{native.id}: {patch}\n  there {there!r}\n  here  {done!r}\n  told  {found.told[native.id][:300]!r}"
        if (before if done.files is None else done.files) != there:
            (seen.refused if done.files is None else seen.other).append(text)
        elif done.files is not None:
            seen.told += 1
            told = found.told[native.id].replace(f" /{below}", " ").replace(below, "")
            if done.told == _FUZZ.sub("", told):
                seen.texts += 1
            else:
                seen.otherwise.append(text)
    return seen


def summary(client: str, seed: int, count: int, seen: Compared) -> str:
    """What was found, in one line."""
    return (
        f"{client} {VERSIONS[client]}: {count} random patches (seed {seed}), {seen.changed} changed a file, "
        f"{len(seen.other)} came out otherwise, {len(seen.refused)} are refused here alone; "
        f"{seen.texts} of {seen.told} results in the same words"
    )


def main(wanted: Sequence[str]) -> int:
    seed = next((int(one) for one in wanted if one.isdigit()), SEED)
    chosen = [one for one in wanted if not one.isdigit()]
    other = 0
    for client in [one for one in PARAMETERS if one in chosen or not chosen]:
        with tempfile.TemporaryDirectory(prefix="patches-", ignore_cleanup_errors=True) as folder:
            seen = compared(client, seed, PATCHES, Path(folder, "run"))
        for one in seen.other:
            print(f"{client} {one}")
        other += len(seen.other)
        print(summary(client, seed, PATCHES, seen))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
