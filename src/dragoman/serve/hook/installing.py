"""Puts our line into the settings of clients, takes it out again, and looks whether it works.

Rule: what stands in a client's settings stays as it is, and taking the line out gives back the very bytes that were
there, unless somebody changed the file since; then only our entries are taken out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.config.files import write_private
from dragoman.environment import child_environment
from dragoman.errors import ConfigError, DragomanError, writing

from .json_edit import added, plain, read_json, removed

Scope = Literal["user", "project"]
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


class Change(msgspec.Struct, frozen=True):
    """What a file becomes; `None` is a file that is not there."""

    target: Target
    before: str | None
    after: str | None


def program() -> list[str]:
    """The words that start dragoman, by its absolute path: of the installation that runs now."""
    beside = Path(sys.executable).with_name("dragoman")
    return [str(beside)] if beside.is_file() else [sys.executable, "-P", "-m", "dragoman"]


def line_for(client: str, event: str) -> str:
    """The line that a client runs. A shell denies the call if dragoman cannot be started."""
    words = shlex.join([*program(), "hook", "--client", client, "--event", event])
    return f'{words} || {{ echo "dragoman did not run, so the call is denied" >&2; exit 2; }}'


def _home() -> Path:
    return Path(os.path.expanduser("~"))


def _claude_like(client: str, path: Path, keys: tuple[str, ...], event: str, **options: Any) -> tuple[Target, ...]:
    matcher = options.pop("matcher", {"matcher": "*"})
    hook = {"type": "command", **options, "command": line_for(client, event)}
    return (Target(path, (Entry((*keys, event), {**matcher, "hooks": [hook]}),)),)


def _claude_code(root: Path | None) -> tuple[Target, ...]:
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or _home() / ".claude") if root is None else root / ".claude"
    options = {"timeout": 30, "onFailure": "block"}
    return _claude_like("claude_code", folder / "settings.json", ("hooks",), "PreToolUse", **options)


def _codex(root: Path | None) -> tuple[Target, ...]:
    folder = Path(os.environ.get("CODEX_HOME") or _home() / ".codex") if root is None else root / ".codex"
    return _claude_like("codex", folder / "hooks.json", ("hooks",), "PreToolUse", timeout=30, matcher={})


def _gemini_cli(root: Path | None) -> tuple[Target, ...]:
    path = (root or _home()) / ".gemini" / "settings.json"
    return _claude_like("gemini_cli", path, ("hooks",), "BeforeTool", name="dragoman", timeout=30_000)


def _qwen_code(root: Path | None) -> tuple[Target, ...]:
    return _claude_like(
        "qwen_code", (root or _home()) / ".qwen" / "settings.json", ("hooks",), "PreToolUse", timeout=30_000
    )


def _droid(root: Path | None) -> tuple[Target, ...]:
    return _claude_like("droid", (root or _home()) / ".factory" / "hooks.json", (), "PreToolUse", timeout=30)


def _copilot(root: Path | None) -> tuple[Target, ...]:
    folder = _home() / ".copilot" / "hooks" if root is None else root / ".github" / "hooks"
    hook = {"type": "command", "bash": line_for("copilot", "preToolUse"), "timeoutSec": 30}
    return (_whole(folder / "dragoman.json", {"version": 1, "hooks": {"preToolUse": [hook]}}),)


def _cursor(root: Path | None) -> tuple[Target, ...]:
    events = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
    entries = tuple(
        Entry(("hooks", event), {"command": line_for("cursor", event), "timeout": 30, "failClosed": True})
        for event in events
    )
    return (Target((root or _home()) / ".cursor" / "hooks.json", entries, empty='{\n  "version": 1\n}\n'),)


def _cline(root: Path | None) -> tuple[Target, ...]:
    words = shlex.join([*program(), "hook", "--client", "cline", "--event", "PreToolUse"])
    denied = '{"cancel": true, "errorMessage": "dragoman did not run, so the call is denied"}'
    content = f"#!/bin/sh\n# Written by `dragoman hook install cline`.\n{words} || echo {shlex.quote(denied)}\n"
    return (Target((root or _home()) / ".cline" / "hooks" / "PreToolUse", content=content, executable=True),)


def _goose(root: Path | None) -> tuple[Target, ...]:
    folder = (root or _home()) / ".agents" / "plugins" / "dragoman"
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": line_for("goose", "PreToolUse")}]}]}
    about = {"name": "dragoman", "version": "1.0.0", "description": "Asks dragoman before each tool call."}
    return (_whole(folder / "plugin.json", about), _whole(folder / "hooks" / "hooks.json", {"hooks": hooks}))


_PLUGIN: Final = """// Written by `dragoman hook install %(client)s`.
import { spawnSync } from "node:child_process"

function ask(tool, args, cwd, session) {
  const [program, ...words] = %(words)s
  const input = JSON.stringify({ plugin: "%(client)s", tool, arguments: args ?? {}, cwd, session })
  const ran = spawnSync(program, words, { input, encoding: "utf8", timeout: 15000 })
  try {
    const answer = JSON.parse(ran.stdout)
    if (typeof answer.deny === "string") return answer.deny || "Denied by dragoman."
    if (ran.status === 0 && answer.pass === true) return null
  } catch {}
  return "dragoman did not run, so the call is denied"
}
"""
_OPENCODE: Final = """
export const Dragoman = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const denied = ask(input.tool, output.args, directory, input.sessionID)
    if (denied !== null) throw new Error(denied)
  },
})
"""
_PI: Final = """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const denied = ask(event.toolName, event.input, ctx?.cwd ?? process.cwd(), undefined)
    return denied === null ? undefined : { block: true, reason: denied }
  })
}
"""


_WORDS: Final = re.compile(r"^  const \[program, \.\.\.words\] = (\[.*\])$", re.MULTILINE)


def _plugin(client: str, rest: str) -> str:
    words = [*program(), "hook", "--client", client, "--event", "tool"]
    return _PLUGIN % {"client": client, "words": msgspec.json.encode(words).decode()} + rest


def _opencode(root: Path | None) -> tuple[Target, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or _home() / ".config")
    folder = config / "opencode" if root is None else root / ".opencode"
    return (Target(folder / "plugins" / "dragoman.js", content=_plugin("opencode", _OPENCODE)),)


def _pi(root: Path | None) -> tuple[Target, ...]:
    folder = _home() / ".pi" / "agent" if root is None else root / ".pi"
    return (Target(folder / "extensions" / "dragoman.ts", content=_plugin("pi", _PI)),)


def _whole(path: Path, value: Any) -> Target:
    return Target(path, content=msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


TARGETS: Final[Mapping[str, Callable[[Path | None], tuple[Target, ...]]]] = {
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
"""Client → the files of the user, or of the project in a folder."""

ADVICE: Final = {
    "codex": "Codex skips a hook that you have not confirmed, without a word: start it, type /hooks, and trust this "
    "line. Every change of the line needs that again.",
    "goose": "Goose 1.34.0 runs a call whatever its hooks say; newer versions take a denial.",
    "cline": "In Cline a denial ends the whole run.",
    "gemini_cli": "Where a rule asks, Gemini CLI is given a denial: without a dialog it would wait for ever.",
}


# ── changing files ───────────────────────────────────────────────────────────


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def is_installed(target: Target) -> bool:
    """Whether our line is in a file."""
    text = _read(target.path)
    return text is not None and (text == target.content if target.content is not None else MARK in text)


def changes_to_install(client: str, root: Path | None) -> Iterator[Change]:
    """What installing changes."""
    for target in TARGETS[client](root):
        before = _read(target.path)
        if target.content is not None:
            if (
                before is not None
                and "dragoman hook install" not in before
                and MARK not in before
                and '"dragoman"' not in before
            ):
                raise ConfigError(f"{target.path} exists and is not ours; move it away first")
            after = target.content
        else:
            after = before or target.empty
            try:
                for entry in target.entries:
                    after = added(removed(after, entry.keys, MARK) if after.strip() else after, entry.keys, entry.value)
            except ConfigError as problem:
                raise ConfigError(f"{target.path}: {problem}") from problem
        if after != before:
            yield Change(target, before, after)


def changes_to_uninstall(client: str, root: Path | None, kept: Path) -> Iterator[Change]:
    """What taking our line out changes. `kept` is the folder in which installing kept what was there."""
    for target in TARGETS[client](root):
        now = _read(target.path)
        if now is None or (MARK not in now and target.content is None):
            continue
        record = _record(kept, target.path)
        if record is not None and record.after == _digest(now):
            after = record.before
        elif target.content is not None:
            after = None
        else:
            after = now
            for entry in target.entries:
                after = removed(after, entry.keys, MARK)
        yield Change(target, now, after)


class _Record(msgspec.Struct, frozen=True):
    """What a file held before our line was put in, and the digest of what it held then."""

    before: str | None
    after: str


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
    """Makes a change, and keeps what was there, so that it can be undone."""
    path = change.target.path
    with writing(path):
        if change.after is None:
            path.unlink(missing_ok=True)
        else:
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            path.parent.mkdir(parents=True, exist_ok=True)
            # A link (settings kept elsewhere) stays one.
            real = Path(os.path.realpath(path))
            write_private(real, change.after.encode())
            real.chmod(mode | 0o111 if change.target.executable else mode)
    if undo:
        _record_file(kept, path).unlink(missing_ok=True)
        return
    earlier = _record(kept, path)
    first = earlier.before if earlier is not None and change.before and MARK in change.before else change.before
    record = _Record(first, _digest(change.after or ""))
    write_private(_record_file(kept, path), msgspec.json.encode(record))


# ── looking whether it works ─────────────────────────────────────────────────


def lines_in(target: Target) -> tuple[list[str], list[str]]:
    """The lines in a file that this installation writes, as a shell runs them, and others that look like one of ours.

    Only the first are safe to run: a project can hold any text.
    """
    if target.executable:
        return [shlex.quote(str(target.path))], []
    if target.content is not None and target.path.suffix != ".json":
        words = _WORDS.search(target.content)  # code in the client's process, which starts this
        return [shlex.join(msgspec.json.decode(words[1]))] if words else [], []
    expected = set(
        _lines(msgspec.json.decode(target.content) if target.content else [one.value for one in target.entries])
    )
    try:
        found = _lines(plain(read_json(_read(target.path) or "{}")))
    except DragomanError:
        return [], []
    return [line for line in found if line in expected], [line for line in found if line not in expected]


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
    """Runs a line with a payload that must be denied; gives what is wrong, or `None`."""
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
    said = ran.stdout.decode(errors="replace")[:200]
    return f"it did not deny a payload that nobody knows: exit code {ran.returncode}, {said!r}"


SWITCHES: Final = (
    ("claude_code", ".claude/settings.json", ("disableAllHooks",), True),
    ("claude_code", ".claude/settings.local.json", ("disableAllHooks",), True),
    ("codex", ".codex/config.toml", ("features", "hooks"), False),
    ("gemini_cli", ".gemini/settings.json", ("hooksConfig", "enabled"), False),
    ("qwen_code", ".qwen/settings.json", ("disableAllHooks",), True),
    ("copilot", ".github/copilot/settings.json", ("disableAllHooks",), True),
)
"""Settings that switch hooks off: client, file in a project or below the home folder, key, value."""


def switched_off(client: str, folder: Path) -> Iterator[Path]:
    """The files in a folder that switch the hooks of a client off, or that cannot be read."""
    import tomllib

    for name, file, keys, value in SWITCHES:
        if name != client or (text := _or_none(folder / file)) is None:
            continue
        try:
            found: Any = tomllib.loads(text) if file.endswith(".toml") else plain(read_json(text))
        except (DragomanError, tomllib.TOMLDecodeError):
            yield folder / file
            continue
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is value:
            yield folder / file


def _or_none(path: Path) -> str | None:
    try:
        return _read(path)
    except ConfigError:
        return None
