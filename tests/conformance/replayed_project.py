"""The project that the scripted sessions worked in, put together again from what their logs tell of it.

It is not stored anywhere: whole files come from reads of them, the rest from searches. One session printed the id of
the first commit, which names every byte: what is made here is that commit, or nothing is replayed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec

from dragoman.logs import read
from dragoman.model import ToolCalled, ToolReturned, operations as op, outcomes as out
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import TRACES, log_files

FOLDER = "/home/user/project"
_DATES = {"GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z"}
_PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Dev"), ("EMAIL", "dev@example.com"))
}


def make_project(folder: Path) -> None:
    """The project as every session found it, with its history."""
    for path, data in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    environ = {**os.environ, **_DATES, **_PERSON, "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "init")):
        subprocess.run(("git", *words), cwd=folder, env=environ, check=True)
    made = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=folder, env=environ, check=True, capture_output=True, text=True
    ).stdout
    assert made.startswith(_first_commit()), "the project is not the one the sessions worked in"


@cache
def files() -> dict[str, bytes]:
    told = _told()
    texts = {path: _original(seen) for path, seen in told.files.items()}
    texts["README.md"] = "# {}\n\n{} {}-{} {}.\n".format(*told.words)
    last = max(told.lines)
    texts["tests/test_inventory.py"] = "".join(f"{told.lines.get(number, '')}\n" for number in range(1, last + 1))
    texts[".gitignore"] = "build/\n*.log\n"
    texts["build/out.log"] = "total ignored\n"
    texts["data/long.txt"] = "".join(f"row {row} of the long file\n" for row in range(1, told.rows + 1))
    return {path: text.encode() for path, text in texts.items()} | {"img/logo.png": _picture()}


def _original(seen: Counter[str]) -> str:
    """What most reads gave; some leave out the last newline."""
    whole = {text: count for text, count in seen.items() if text.endswith("\n")} or seen
    return max(whole, key=lambda text: whole[text])


class _Told(msgspec.Struct):
    """What the logs tell of the project: whole files, the words of one, lines of another, and how long a third is."""

    files: dict[str, Counter[str]] = {}
    words: list[str] = []
    lines: dict[int, str] = {}
    rows: int = 0
    commit: str = ""

    def take(self, asked: op.Operation, outcome: out.Outcome) -> None:
        match asked, outcome:
            case op.ReadFile(), out.FileOutcome() if asked.path.endswith("long.txt"):
                total = outcome.total_lines or self.rows  # some count an empty line after the last newline
                self.rows = min(self.rows or total, total)
            case op.ReadFile(first_line=None, last_line=None), out.FileOutcome(truncated=False):
                path = asked.path.removeprefix(f"{FOLDER}/")
                if path in _WHOLE:
                    self.files.setdefault(path, Counter())[outcome.text] += 1
            case op.SearchText(pattern="\\w+"), out.MatchesOutcome():
                self.words = [match.text or "" for match in outcome.matches]
            case op.SearchText(), out.MatchesOutcome():
                for match in outcome.matches:
                    if match.line is not None and match.path.endswith("test_inventory.py"):
                        first = match.line - len(match.before)
                        self.lines |= dict(enumerate((*match.before, match.text or "", *match.after), first))
            case op.RunCommand(), out.CommandOutcome() if "git log" in asked.command:
                self.commit = (outcome.stdout or outcome.output or "").split()[-2]
            case _:
                pass


_WHOLE = {"src/inventory.py", "src/util.py", "config.json", "docs/notes.md", "nb/report.ipynb"}


@cache
def _told() -> _Told:
    told = _Told()
    for client in ("claude-code", "opencode"):
        format = client.replace("-", "_")
        for session in sorted((TRACES / client).iterdir()):
            for file in log_files(session / "home", format):
                calls: dict[str, tuple[op.Operation, ...]] = {}
                for event in read(file, format):
                    if isinstance(event, ToolCalled):
                        calls[event.call.id] = event.call.operations
                    elif isinstance(event, ToolReturned):
                        for asked, outcome in zip(
                            calls.get(event.result.call_id, ()), event.result.outcomes, strict=False
                        ):
                            told.take(asked, outcome)
    for file in log_files(TRACES / "cline" / "tour" / "home", "cline"):
        for event in read(file, "cline"):  # it alone shows lines further from a match
            if isinstance(event, ToolReturned) and event.result.native is not None:
                found = re.search(r"\b1: (import unittest[^\\\n]*)", str(event.result.native.content))
                if found is not None:
                    told.lines[1] = found[1]
    assert told.commit, "no session tells the id of the first commit"
    return told


def _first_commit() -> str:
    return _told().commit


def _picture() -> bytes:
    """The picture the sessions' own runner draws."""
    place = importlib.util.spec_from_file_location("runner", SHARED / "clients" / "runner.py")
    assert place is not None
    assert place.loader is not None
    runner = importlib.util.module_from_spec(place)
    place.loader.exec_module(runner)
    data: bytes = runner.png()
    return data
