"""Sessions of real clients whose every call was scripted: what the model asked for, and the logs the client left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs import FORMATS, numbered, read
from dragoman.model import AnyEvent, CallFunction, ToolCalled, Unrecognised
from tests.conformance.conftest import SHARED

TRACES = SHARED / "traces"
ROOTS = ("traces", "traces-2")
"""The folders of scripted sessions; the second has versions that were captured later."""
CLIENTS = {
    # client → its format
    "claude-code": "claude_code",
    "cline": "cline",
    "codex": "codex",
    "continue": "continue",
    "copilot": "copilot",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "pi": "pi",
    "qwen-code": "qwen_code",
}


LATER_CLIENTS = {
    # the same of clients that were captured later, in `traces-2` alone
    "aider": "aider",
    "droid": "droid",
    "goose": "goose",
    "kilo": "kilo",
    "kimi-code": "kimi_code",
    "mistral-vibe": "mistral_vibe",
    "openhands": "openhands",
}


class Scripted(msgspec.Struct):
    """One session: the client's folder, its name, what was answered in it and the log files."""

    client: str
    name: str
    calls: list[tuple[str, str, Any]]
    """(thread, tool, arguments)"""
    files: list[Path]
    folder: Path
    answers: list[dict[str, Any]]
    """What the server answered, in order."""

    def events(self, format: str) -> list[AnyEvent]:
        return list(numbered(event for file in self.files for event in read(file, format)))


def sessions(client: str, format: str, roots: tuple[str, ...] = ("traces",)) -> Iterator[Scripted]:
    """Every scripted session of a client, in every version that was run."""
    folders = [
        folder
        for root in roots
        for folder in sorted((SHARED / root).iterdir())
        if folder.name.partition("@")[0] == client
    ]
    assert folders, f"no sessions of {client} under {SHARED}"
    for folder in folders:
        for session in sorted(path for path in folder.iterdir() if (path / "script.json").is_file()):
            answers = json.loads((session / "script.json").read_text())["answers"]
            calls = [
                (answer.get("thread", "main"), call["name"], arguments_of(call))
                for answer in answers
                for call in answer.get("calls", ())
                if "name" in call
            ]
            files = list(log_files(session / "home", format))
            yield Scripted(folder.name, session.name, calls, files, session, answers)


def arguments_of(call: dict[str, Any]) -> Any:
    """The arguments of a scripted call: a mapping, or a text that is free-form or broken JSON."""
    return next((call[key] for key in ("args", "input", "rawargs") if key in call), None)


def log_files(home: Path, format: str) -> Iterator[Path]:
    """The files of one format below a home folder, found by content."""
    from dragoman.errors import LogError
    from dragoman.logs import recognise

    seen: set[Path] = set()
    for root, _, names in sorted(os.walk(home)):
        for name in sorted(names):
            path = Path(root) / name
            if name.endswith(FORMATS[format].endings) and path.stat().st_size:
                try:
                    chosen, _ = recognise(path)
                except LogError:
                    continue
                whole = chosen.whole(path)
                if chosen is FORMATS[format] and whole not in seen:
                    seen.add(whole)
                    yield whole


Same = Callable[[str, Any, str, Any], bool]
"""Whether a scripted call (name, arguments) is a logged one (name, arguments)."""


def missing_calls(session: Scripted, events: list[AnyEvent], same: Same) -> list[str]:
    """Scripted calls that the events do not tell of, each logged call standing for one."""
    logged = [event.call.native for event in events if isinstance(event, ToolCalled)]
    missing = []
    for thread, name, arguments in session.calls:
        found = next((call for call in logged if same(name, arguments, call.name, call.arguments)), None)
        if found is None:
            missing.append(f"{session.client}/{session.name} {thread}: {name} {json.dumps(arguments)[:120]}")
        else:
            logged.remove(found)
    return missing


def untyped(events: list[AnyEvent]) -> list[str]:
    """Names of calls without a meaning: unknown tools, and functions nobody declared."""
    return [
        event.call.native.name
        for event in events
        if isinstance(event, ToolCalled)
        if any(isinstance(operation, Unrecognised | CallFunction) for operation in event.call.operations)
    ]


def contains(wanted: Any, logged: Any) -> bool:
    """Whether logged arguments say what was asked for; a client may add defaults and fix types."""
    if isinstance(wanted, dict) and isinstance(logged, dict):
        return all(key in logged and contains(value, logged[key]) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(logged, list):
        return len(wanted) == len(logged) and all(contains(*pair) for pair in zip(wanted, logged, strict=True))
    return wanted == logged or str(wanted).lower() == str(logged).lower()
