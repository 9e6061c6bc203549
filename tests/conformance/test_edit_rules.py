"""Edits and patches held to the real programs: the cases seen in eight clients, and random patches with real Codex."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import ToolError
from dragoman.model import outcomes as out
from dragoman.model.calls import NativeCall
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.clients import edits, patches as random_patches, writes
from tests.clients.install import EARLIER, VERSIONS, program
from tests.clients.patches import files_of, patch_for, whole
from tests.conformance.conftest import AGREEMENT, declared
from tests.dialects.test_edit_rules import edited

# ── the cases that were run in the clients ───────────────────────────────────

CLIENTS = {
    "claude": "claude_code",
    "copilot": "copilot",
    "gemini": "gemini_cli",
    "qwen": "qwen_code",
    "opencode": "opencode",
    "pi": "pi",
    "cline": "cline",
    "continue": "continue",
}
OF_ITS_OWN = {
    "34": "whether the file was read is a test of its own",
    "36": "notebooks are a test of their own",
}
ACCEPTED = {("24same", "cline")}
"""The client says that it edited the file, which is as before; the page calls that refused."""


class Case(NamedTuple):
    """One row of the page: an edit, and what became of the file in each client (`None`: refused)."""

    name: str
    file: str | None
    old: str
    new: str
    everywhere: bool
    expected: Mapping[str, str | None]


def _text(cell: str) -> str | None:
    if cell in ("(empty)", "(no file)"):
        return "" if cell == "(empty)" else None
    quoted = re.fullmatch(r"`(.*)`", cell)
    assert quoted is not None, cell
    return quoted[1].encode("latin-1", "backslashreplace").decode("unicode_escape")


def _cases(shared: Path) -> Iterator[Case]:
    page = (shared / "reference" / "edit-ladders.md").read_text()
    rows = page[page.index("## 12.") : page.index("## 13.")].split("\n")
    for row in rows:
        if not re.match(r"\| \d\d", row) or row[2:4] in OF_ITS_OWN:
            continue
        name, file, change, outcome = (cell.strip() for cell in row.strip().strip("|").split(" | "))
        asked = re.fullmatch(r"(.*?) → (.*?)(?: \((all|never read)\))?", change)
        assert asked is not None, row
        expected: dict[str, str | None] = {}
        for part in re.split(r"; (?=`|refused)", outcome):
            result, _, clients = part.rpartition(": ")
            for client in clients.split(", "):
                expected[client] = None if result == "refused" else _text(result)
        yield Case(name, _text(file), _text(asked[1]) or "", _text(asked[2]) or "", asked[3] == "all", expected)


def test_every_edit_that_was_run_in_a_client_does_the_same_here(
    shared: Path, record_property: Callable[[str, object], None]
) -> None:
    counts: Counter[str] = Counter()
    other: dict[tuple[str, str], Any] = {}
    for case in _cases(shared):
        for client, expected in case.expected.items():
            dialect = DIALECTS[CLIENTS[client]]
            found = edited(dialect, case.file, case.old, case.new, everywhere=case.everywhere)
            counts[client] += 1
            if found != expected and (case.name, client) not in ACCEPTED:
                other[case.name, client] = (expected, found)
    total = sum(counts.values())
    record_property(AGREEMENT, f"chosen edits: {total - len(other)} of {total} end as in {len(counts)} real clients")
    assert other == {}
    assert min(counts.values()) >= 46
    assert len(counts) == len(CLIENTS)


# ── random edits, in the real clients ────────────────────────────────────────


@pytest.mark.parametrize("client", edits.STARTED)
def test_random_edits_leave_the_files_and_the_words_of_the_real_client(
    client: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seen = edits.compared(client, edits.SEED, edits.EDITS, tmp_path / "run")
    record_property(AGREEMENT, edits.summary(client, edits.SEED, edits.EDITS, seen))
    assert seen.other == []
    assert seen.otherwise == []
    assert seen.changed > edits.EDITS * 0.3
    assert seen.told > edits.EDITS * 0.9


@pytest.mark.parametrize("client", writes.TOOLS)
def test_random_whole_files_are_those_of_the_real_client_and_told_in_its_words(
    client: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seen = writes.compared(client, writes.SEED, writes.WRITES, tmp_path / "run")
    record_property(AGREEMENT, writes.summary(client, writes.SEED, writes.WRITES, seen))
    assert seen.other == []
    assert seen.otherwise == []
    # Copilot and Cline write no file over another.
    assert seen.changed > writes.WRITES * (0.05 if client in ("copilot", "cline") else 0.6)


REFUSED_HERE = {
    client: re.findall(r"`([^`]+)`", reason.partition("Refused as:")[2])
    for client, reason in declared("edit-rules").items()
}
"""Client → words of the refusals here of patches that it applies, from the page that gives the reasons."""


@pytest.mark.parametrize("client", ["opencode", "cline", "copilot", "droid"])
def test_random_patches_leave_the_files_and_the_words_of_the_real_client(
    client: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seen = random_patches.compared(client, random_patches.SEED, random_patches.PATCHES, tmp_path / "run")
    record_property(AGREEMENT, random_patches.summary(client, random_patches.SEED, random_patches.PATCHES, seen))
    assert seen.other == []
    assert seen.otherwise == []
    reasons = REFUSED_HERE.get(client, [])
    assert [one for one in seen.refused if not any(reason in one for reason in reasons)] == []
    assert seen.told > random_patches.PATCHES * 0.4


# ── random patches, with the real program ────────────────────────────────────

SEED = 20261116
PATCHES = 10_000
TOGETHER = 20
"""Files in one patch, where all of them are expected to be changed."""


class Done(NamedTuple):
    """The files after a patch, and what was said of it."""

    files: Mapping[str, bytes]
    told: str


def _here(patch: str, files: Mapping[str, str], version: str) -> Done | None:
    dialect = DIALECTS["codex"].at(version)
    native = NativeCall("1", "apply_patch", patch)
    call = dialect.read_call(native)
    if call.failure is not None:
        return None
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})
    try:
        changes = workspace.apply(call.operations, rules=dialect.edit_rules(native)).changes
    except ToolError:
        return None
    told = dialect.write_result(call, [out.ChangesOutcome((change,)) for change in changes]).content
    assert isinstance(told, str)
    return Done({name: workspace.read(name) for name in workspace.paths()}, told.partition("Output:\n")[2])


def _there(apply_patch: Path, patch: str, files: Mapping[str, str]) -> Done | None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, text in files.items():
            (folder / name).write_bytes(text.encode())
        done = subprocess.run([apply_patch, patch], cwd=folder, capture_output=True, timeout=60, check=False)
        if done.returncode:
            return None
        return Done({path.name: path.read_bytes() for path in folder.iterdir()}, done.stdout.decode())


@pytest.mark.parametrize(
    "client, version, count",
    [("codex", VERSIONS["codex"], PATCHES), ("codex_in_lf", EARLIER["codex_in_lf"], 1_500)],
)
def test_random_patches_do_what_they_do_with_the_real_codex(
    client: str, version: str, count: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    apply_patch = tmp_path / "apply_patch"  # real Codex is `apply_patch` when it is called so
    apply_patch.symlink_to(program(client))
    names = [f"f{number}" for number in range(count)]
    patches = {name: patch_for(random.Random(SEED * 1_000_000 + int(name[1:])), name) for name in names}
    ours = {name: _here(whole([patch.section]), files_of(name, patch), version) for name, patch in patches.items()}
    accepted = [name for name, done in ours.items() if done is not None]
    groups = [accepted[start : start + TOGETHER] for start in range(0, len(accepted), TOGETHER)]
    groups += [[name] for name, done in ours.items() if done is None]

    def compare(names: Sequence[str]) -> list[tuple[str, Done | None]]:
        """Those of a group that come out otherwise."""
        files = {file: text for name in names for file, text in files_of(name, patches[name]).items()}
        there = _there(apply_patch, whole([patches[name].section for name in names]), files)
        if len(names) == 1:
            return [] if there == ours[names[0]] else [(names[0], there)]
        expected = {file: data for name in names if (done := ours[name]) for file, data in done.files.items()}
        if there is not None and there.files == expected and sorted(there.told.split("\n")) == _lines(names):
            return []
        return [other for name in names for other in compare([name])]

    def _lines(names: Sequence[str]) -> list[str]:
        said = [line for name in names if (done := ours[name]) for line in done.told.split("\n")[1:-1]]
        return sorted(["Success. Updated the following files:", *said, ""])

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        other = [found for group in threads.map(compare, groups) for found in group]
    record_property(
        AGREEMENT,
        f"Codex {version}: {len(patches):,} random patches (seed {SEED}), {len(accepted):,} applied, "
        f"{len(other)} with another end",
    )
    assert [(patches[name], ours[name], there) for name, there in other[:3]] == []
    assert count * 0.4 < len(accepted) < count * 0.9


def test_npm_is_there_to_install_codex() -> None:
    assert shutil.which("npm"), "npm is missing: `.ci/install-packages npm` installs it"
