"""Puts our line into the settings of clients, takes it out again, and looks whether it works.

Rule: what stands in a client's settings stays as it is, and taking the line out gives back the very bytes that were
there, unless somebody changed the file since; then only our entries are taken out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol

import msgspec

from dragoman.config.files import write_private
from dragoman.environment import child_environment
from dragoman.errors import ConfigError, DragomanError, writing

from .clients import client_named
from .json_edit import added, plain, read_json, removed, without_empty
from .plugin_code import WORDS, plugin_code

Scope = Literal["user", "project"]
_LONGEST: Final = 32 * 1024 * 1024
MARK: Final = " hook --client "
"""What every line of ours has in it."""


class Entry(msgspec.Struct, frozen=True):
    """An entry in a list of a client's settings file."""

    keys: tuple[str, ...]
    value: Any


class Target(msgspec.Struct, frozen=True):
    """A file that is changed: entries are added to it, or it is ours as a whole."""

    path: Path
    entries: tuple[Entry, ...] = ()
    content: str | None = None
    empty: str = ""
    """What a file holds that is made for the entries."""
    executable: bool = False
    client: str = ""


class Change(msgspec.Struct, frozen=True):
    """What a file becomes; `None` is a file that is not there."""

    target: Target
    before: str | None
    after: str | None


def program() -> list[str]:
    """The words that start dragoman, of the installation that runs now, by an absolute path.

    `-E`: with `PYTHONPATH=.` in the environment, a project's `msgspec.py` would be loaded into every decision.
    """
    return [sys.executable, "-E", "-P", "-m", "dragoman"]


def line_for(client: str, event: str) -> str:
    """The line that a client runs. Before a call, a shell denies it if dragoman cannot be started; at other events
    nothing depends on it."""
    words = shlex.join([*program(), "hook", "--client", client, "--event", event])
    if event in client_named(client).record_lines:
        return f"{words} || true"
    return f'{words} || {{ echo "dragoman did not run, so the call is denied" >&2; exit 2; }}'


def _home() -> Path:
    return Path(os.path.expanduser("~"))


def _events(client: str, *, outcomes: bool) -> tuple[str, ...]:
    speaks = client_named(client)
    return (*speaks.lines, *speaks.record_lines) if outcomes else speaks.lines


def _claude_like(
    client: str,
    path: Path,
    *,
    outcomes: bool,
    keys: tuple[str, ...] = ("hooks",),
    before: Mapping[str, Any] = MappingProxyType({}),
    matcher: Mapping[str, Any] = MappingProxyType({"matcher": "*"}),
    **options: Any,
) -> tuple[Target, ...]:
    """`before` are options for the events before a call."""
    entries = []
    for event in _events(client, outcomes=outcomes):
        more = before if event in client_named(client).lines else {}
        hook = {"type": "command", **options, **more, "command": line_for(client, event)}
        entries.append(Entry((*keys, event), {**matcher, "hooks": [hook]}))
    return (Target(path, tuple(entries)),)


def _claude_code(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or _home() / ".claude") if root is None else root / ".claude"
    closed = {"onFailure": "block"}
    return _claude_like("claude_code", folder / "settings.json", outcomes=outcomes, before=closed, timeout=30)


def _codex(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    folder = Path(os.environ.get("CODEX_HOME") or _home() / ".codex") if root is None else root / ".codex"
    return _claude_like("codex", folder / "hooks.json", outcomes=outcomes, matcher={}, timeout=30)


def _gemini_cli(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    path = (root or _home()) / ".gemini" / "settings.json"
    return _claude_like("gemini_cli", path, outcomes=outcomes, name="dragoman", timeout=30_000)


def _qwen_code(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    path = (root or _home()) / ".qwen" / "settings.json"
    return _claude_like("qwen_code", path, outcomes=outcomes, timeout=30_000)


def _droid(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    path = (root or _home()) / ".factory" / "hooks.json"
    return _claude_like("droid", path, outcomes=outcomes, keys=(), timeout=30)


def _copilot(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    folder = _home() / ".copilot" / "hooks" if root is None else root / ".github" / "hooks"
    hooks = {
        event: [{"type": "command", "bash": line_for("copilot", event), "timeoutSec": 30}]
        for event in _events("copilot", outcomes=outcomes)
    }
    return (_whole(folder / "dragoman.json", {"version": 1, "hooks": hooks}),)


def _cursor(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    entries = []
    for event in _events("cursor", outcomes=outcomes):
        closed = {"failClosed": True} if event in client_named("cursor").lines else {}
        entries.append(Entry(("hooks", event), {"command": line_for("cursor", event), "timeout": 30, **closed}))
    return (Target((root or _home()) / ".cursor" / "hooks.json", tuple(entries), empty='{\n  "version": 1\n}\n'),)


def _cline(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    targets = []
    for event in _events("cline", outcomes=outcomes):
        words = shlex.join([*program(), "hook", "--client", "cline", "--event", event])
        denied = '{"cancel": true, "errorMessage": "dragoman did not run, so the call is denied"}'
        instead = f"echo {shlex.quote(denied)}" if event in client_named("cline").lines else "echo '{}'"
        content = f"#!/bin/sh\n# Written by `dragoman hook install cline`.\n{words} || {instead}\n"
        path = (root or _home()) / ".cline" / "hooks" / event
        targets.append(Target(path, content=content, executable=True, client="cline"))
    return tuple(targets)


def _goose(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    folder = (root or _home()) / ".agents" / "plugins" / "dragoman"
    hooks = {
        event: [{"hooks": [{"type": "command", "command": line_for("goose", event)}]}]
        for event in _events("goose", outcomes=outcomes)
    }
    about = {"name": "dragoman", "version": "1.0.0", "description": "Asks dragoman before each tool call."}
    return (_whole(folder / "plugin.json", about), _whole(folder / "hooks" / "hooks.json", {"hooks": hooks}))


def _opencode(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or _home() / ".config")
    folder = config / "opencode" if root is None else root / ".opencode"
    return (Target(folder / "plugins" / "dragoman.js", content=plugin_code("opencode", program(), outcomes=outcomes)),)


def _pi(root: Path | None, *, outcomes: bool) -> tuple[Target, ...]:
    folder = _home() / ".pi" / "agent" if root is None else root / ".pi"
    return (Target(folder / "extensions" / "dragoman.ts", content=plugin_code("pi", program(), outcomes=outcomes)),)


def _whole(path: Path, value: Any) -> Target:
    return Target(path, content=msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


class _Targets(Protocol):
    def __call__(self, root: Path | None, *, outcomes: bool) -> tuple[Target, ...]: ...


_TARGETS: Final[Mapping[str, _Targets]] = {
    "claude_code": _claude_code,
    "codex": _codex,
    "gemini_cli": _gemini_cli,
    "qwen_code": _qwen_code,
    "copilot": _copilot,
    "droid": _droid,
    "opencode": _opencode,
    "pi": _pi,
    "cline": _cline,
    "cursor": _cursor,
    "goose": _goose,
}


def targets_of(client: str, root: Path | None, *, outcomes: bool = False) -> tuple[Target, ...]:
    """The files of the user, or of the project in a folder; with `outcomes` also for the events that are recorded."""
    return _TARGETS[client](root, outcomes=outcomes)


ADVICE: Final = {
    "codex": "Codex skips a hook that you have not confirmed, without a word: start it, type /hooks, and trust this "
    "line. Every change of the line needs that again.",
    "goose": "Goose 1.34.0 runs a call whatever its hooks say. Newer versions take a denial, but the calls of their "
    "sub-agents are not asked about (1.52.0).",
    "cline": "In Cline a denial ends the whole run.",
    "gemini_cli": "Where a rule asks, Gemini CLI is given a denial: without a dialog it would wait for ever.",
}


# ── changing files ───────────────────────────────────────────────────────────


def read_text(path: Path) -> str | None:
    """The text of a settings file; `None` where there is none, `ConfigError` for what is no file of text."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise ConfigError(f"{path} is no file")
        with path.open("rb") as file:
            found = file.read(_LONGEST + 1)
        if len(found) > _LONGEST:
            raise ConfigError(f"{path} is longer than {_LONGEST} bytes")
        return found.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def is_installed(target: Target) -> bool:
    """Whether our line is in a file, perhaps where the client does not call it for every tool."""
    text = read_text(target.path)
    return text is not None and _has_line(target, text)


def is_whole(target: Target) -> bool:
    """Whether a file has our lines as installing writes them: a comment is no line, and one whose matcher, event or
    options were changed may not be called for a tool, or does not deny when it fails."""
    text = read_text(target.path)
    if text is None or target.content is not None:
        return text is not None and text == target.content
    try:
        return _lists(target, text)
    except ConfigError:
        return False


def installed(client: str, root: Path | None) -> tuple[Target, ...]:
    """The files that have our lines: for all events if they are whole, otherwise those before a call; none if a file
    has none."""
    found: tuple[Target, ...] = ()
    for outcomes in (True, False):
        targets = targets_of(client, root, outcomes=outcomes)
        if all(map(is_whole, targets)):
            return targets
        if all(map(is_installed, targets)):
            found = targets
    return found


def changes_to_install(client: str, root: Path | None, *, outcomes: bool = False) -> Iterator[Change]:
    """What installing changes."""
    for target in targets_of(client, root, outcomes=outcomes):
        before = read_text(target.path)
        if target.content is not None:
            if before is not None and not _is_ours(before):
                raise ConfigError(f"{target.path} exists and is not ours; move it away first")
            after = target.content
        else:
            after = before or target.empty
            try:
                if _lists(target, after):
                    continue
                after = _without_line(target, after) or target.empty
                for entry in target.entries:
                    after = added(after, entry.keys, entry.value)
            except ConfigError as problem:
                raise ConfigError(f"{target.path}: {problem}") from problem
        if after != before or (target.executable and not os.access(target.path, os.X_OK)):
            yield Change(target, before, after)
    wanted = {target.path for target in targets_of(client, root, outcomes=outcomes)}
    for target in targets_of(client, root, outcomes=True):
        # A file of ours for an event that is no longer wanted.
        if target.path not in wanted and (now := read_text(target.path)) is not None and now == target.content:
            yield Change(target, now, None)


def _is_ours(text: str) -> bool:
    """Whether a whole file was written by installing."""
    return "dragoman hook install" in text or MARK in text or '"dragoman"' in text


def changes_to_uninstall(client: str, root: Path | None, kept: Path) -> Iterator[Change]:
    """What taking our line out changes. `kept` is the folder in which installing kept what was there."""
    for target in targets_of(client, root, outcomes=True):
        now = read_text(target.path)
        if now is None or not _has_line(target, now):
            continue
        record = _record(kept, target.path)
        is_as_left = record is not None and record.after == _digest(now)
        after = record.before if record is not None and is_as_left else _without_line(target, now)
        if record is not None and not is_as_left and after is not None:
            after = _without_made(target, after, record.before)
        if after != now:
            yield Change(target, now, after)


class _Record(msgspec.Struct, frozen=True):
    """What a file held before our line was put in, and the digest of what it held then."""

    before: str | None
    after: str
    folders: tuple[str, ...] = ()
    """The folders that were made for it, the inner ones first."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _record_file(kept: Path, path: Path) -> Path:
    return kept / f"{_digest(str(path))[:24]}.json"


def _record(kept: Path, path: Path) -> _Record | None:
    try:
        return msgspec.json.decode(_record_file(kept, path).read_bytes(), type=_Record)
    except (OSError, msgspec.MsgspecError):
        return None


def apply(change: Change, kept: Path, *, undo: bool = False) -> None:
    """Makes a change, and keeps what was there, so that it can be undone; `ConfigError` where the file is another by
    now: a client may write its settings while its user is asked."""
    path = change.target.path
    if read_text(path) != change.before:
        raise ConfigError(f"{path} was changed in the meantime and is left as it is; run the command again")
    earlier = _record(kept, path)
    made: list[str] = []
    with writing(path):
        # A link (settings kept elsewhere) stays one.
        real = Path(os.path.realpath(path))
        if change.after is None:
            real.unlink(missing_ok=True)
        else:
            mode = real.stat().st_mode & 0o777 if real.exists() else 0o644
            ours = _made_folders(kept)
            made = [str(folder) for folder in real.parents if not folder.exists() or str(folder) in ours]
            real.parent.mkdir(parents=True, exist_ok=True)
            write_private(real, change.after.encode())
            real.chmod(mode | 0o111 if change.target.executable else mode)
    if undo:
        for folder in earlier.folders if earlier is not None and change.after is None else ():
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
        _record_file(kept, path).unlink(missing_ok=True)
        return
    if earlier is not None and change.before is not None and _has_line(change.target, change.before):
        first, made = earlier.before, list(earlier.folders)
    else:
        first = _without_line(change.target, change.before)
    record = _Record(first, _digest(change.after or ""), tuple(made))
    write_private(_record_file(kept, path), msgspec.json.encode(record))


def _made_folders(kept: Path) -> set[str]:
    """The folders that were made for files of ours."""
    found: set[str] = set()
    for file in kept.glob("*.json"):
        with suppress(OSError, msgspec.MsgspecError):
            found.update(msgspec.json.decode(file.read_bytes(), type=_Record).folders)
    return found


def _has_line(target: Target, text: str) -> bool:
    return MARK in text if target.content is None else _is_ours(text)


def _without_line(target: Target, text: str | None) -> str | None:
    """What a file holds without our lines: those of an installation that nobody knows of any more are not kept."""
    if text is None or not _has_line(target, text):
        return text
    if target.content is not None:
        return None
    around = target.entries[0].keys[:-1]
    for event in _members(text, around):
        text = removed(text, (*around, event), MARK)
    return text


def _without_made(target: Target, text: str, before: str | None) -> str:
    """What a changed file holds without the empty lists and objects that were made for our lines."""
    made = [entry.keys[:end] for entry in target.entries for end in range(len(entry.keys), 0, -1)]
    had: Any = plain(read_json(before)) if before and before.strip("\ufeff \t\r\n") else {}
    for keys in sorted(dict.fromkeys(made), key=len, reverse=True):
        there = had
        for key in keys:
            there = there.get(key) if isinstance(there, dict) else None
        if there is None:
            text = without_empty(text, keys)
    return text


def _lists(target: Target, text: str) -> bool:
    """Whether a settings file has our lines as they are to be, each once, and no other of ours."""
    if MARK not in text:
        return False
    found: Any = plain(read_json(text))
    wanted = [line for entry in target.entries for line in _lines(entry.value)]
    for entry in target.entries:
        there = found
        for key in entry.keys:
            there = there.get(key) if isinstance(there, dict) else None
        if not isinstance(there, list) or entry.value not in there:
            return False
    return sorted(_lines(found)) == sorted(wanted)


def _members(text: str, keys: tuple[str, ...]) -> list[str]:
    """The names in an object of a settings file."""
    found: Any = plain(read_json(text))
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return list(found) if isinstance(found, dict) else []


# ── looking whether it works ─────────────────────────────────────────────────


def lines_in(target: Target) -> tuple[list[str], list[str]]:
    """The lines in a file that this installation writes, as a shell runs them, and others that look like one of ours.

    Only the first are safe to run: a project can hold any text.
    """
    if target.content is not None and target.path.suffix != ".json" and not is_whole(target):
        return [], []
    if target.executable:
        return [f"{shlex.quote(str(target.path))} # --client {target.client} --event {target.path.name}"], []
    if target.content is not None and target.path.suffix != ".json":
        words = WORDS.search(target.content)  # code in the client's process, which starts this
        return [shlex.join(msgspec.json.decode(words[1]))] if words else [], []
    expected = set(
        _lines(msgspec.json.decode(target.content) if target.content else [one.value for one in target.entries])
    )
    try:
        found = _lines(plain(read_json(read_text(target.path) or "{}")))
    except DragomanError:
        return [], []
    return [line for line in found if line in expected], [line for line in found if line not in expected]


_NAMED: Final = re.compile(r" --client (\w+) --event (\w+)")


def _lines(value: Any) -> list[str]:
    """Every text with our mark in a value."""
    lines: list[str] = []
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str) and MARK in one:
            lines.append(one)
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, list):
            todo += one
    return lines


def tried(line: str, cwd: Path) -> str | None:
    """Runs a line with a payload that nobody knows, which must be denied before a call; gives what is wrong, or
    `None`."""
    try:
        ran = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=cwd,
            env=child_environment("DRAGOMAN_CONFIG_DIR", "DRAGOMAN_DATA_DIR"),
            input=b"{}",
            capture_output=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it cannot be run: {error}"
    if ran.returncode == 0 and any(word in ran.stdout for word in (b"deny", b"cancel", b"block")):
        return None
    named = _NAMED.search(line)
    if named and named[2] in client_named(named[1]).record_lines and b"this payload is not known" in ran.stderr:
        return None
    said = ran.stdout.decode(errors="replace")[:200]
    return f"it did not deny a payload that nobody knows: exit code {ran.returncode}, {said!r}"
