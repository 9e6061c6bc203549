"""What keeps a client from calling the lines that are installed: settings that switch hooks off, a line that its user
has not confirmed."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.errors import ConfigError, DragomanError

from .installing import MARK, installed, is_whole, read_text, targets_of
from .json_edit import plain, read_json

_SWITCHES: Final = (
    ("claude_code", ".claude/settings.json", ("disableAllHooks",), True),
    ("claude_code", ".claude/settings.local.json", ("disableAllHooks",), True),
    ("codex", ".codex/config.toml", ("features", "hooks"), False),
    ("codex", ".codex/config.toml", ("features", "codex_hooks"), False),  # its older name
    ("gemini_cli", ".gemini/settings.json", ("hooksConfig", "enabled"), False),
    ("gemini_cli", ".gemini/settings.json", ("hooksConfig", "disabled"), "dragoman"),  # the name of our line
    ("qwen_code", ".qwen/settings.json", ("disableAllHooks",), True),
    ("copilot", ".copilot/settings.json", ("disableAllHooks",), True),
    ("copilot", ".github/copilot/settings.json", ("disableAllHooks",), True),
    ("copilot", ".github/copilot/settings.local.json", ("disableAllHooks",), True),
)
"""Settings that switch hooks off: client, file in a project or below the home folder, key, value, which may also be one
of a list."""


def obstacles(client: str, root: Path | None, folder: Path, home: Path) -> Iterator[str]:
    """Why a client, started in a folder, does not call the lines that are installed for the user or a project."""
    for place in (*_project_folders(folder), home):
        yield from (f"{file} switches hooks off" for file in switched_off(client, place))
    yield from _called_seldom(client, root)
    if client in _CONFIRMING:
        yield from _CONFIRMING[client](root)


def _called_seldom(client: str, root: Path | None) -> Iterator[str]:
    """The files whose line is not called for every tool, or not at all."""
    try:
        changed = [target for target in installed(client, root) if not is_whole(target)]
    except ConfigError:  # what cannot be read is told by itself
        return
    for target in changed:
        yield (
            f"{target.path} has the line, but not as installing writes it (in a comment, or with another event, "
            f"matcher or option); run: dragoman hook install {client}"
        )


def _project_folders(folder: Path) -> Iterator[Path]:
    """A folder, and those above it up to the one with the repository: a client started in it reads their settings."""
    above = [folder, *folder.parents]
    yield from above[: 1 + next((place for place, one in enumerate(above) if (one / ".git").exists()), 0)]


def switched_off(client: str, folder: Path) -> Iterator[Path]:
    """The files in a folder that switch the hooks of a client off, or that cannot be read."""
    found: dict[Path, None] = {}
    for name, file, keys, value in _SWITCHES:
        if name == client and (folder / file) not in found and _has(folder / file, keys, value):
            found[folder / file] = None
    yield from found


def _has(path: Path, keys: tuple[str, ...], value: object) -> bool:
    try:
        text = read_text(path)
        if text is None:
            return False
        found: Any = _toml(text) if path.suffix == ".toml" else plain(read_json(text)) if text.strip() else {}
    except DragomanError:
        return True
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found is value or (isinstance(found, list) and value in found)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(str(problem)) from problem


def _unconfirmed(root: Path | None) -> Iterator[str]:
    """The lines that Codex skips because its user has not confirmed them as they are now.

    Codex keeps a digest of each confirmed hook, also of those of a project, in the user's settings, under its file,
    event and place. Compared with `hooks/list` of Codex 0.166.0.
    """
    config = targets_of("codex", None)[0].path.with_name("config.toml")
    try:
        states = _below(_below(_toml(read_text(config) or ""), "hooks"), "state")
    except ConfigError:
        states = {}
    for target in targets_of("codex", root):
        try:
            events = _below(plain(read_json(read_text(target.path) or "{}")), "hooks")
        except DragomanError:
            continue
        for event, groups in events.items():
            for key, digest in codex_digests(event, groups):
                paths = (target.path, target.path.resolve())
                state = next((one for path in paths if (one := _below(states, f"{path}:{key}"))), {})
                if state.get("trusted_hash") != digest:
                    yield f"Codex skips its {event} line until you confirm it with /hooks"
                elif state.get("enabled") is False:
                    yield f"its {event} line is switched off in {config}"


def _below(value: Any, key: str) -> dict[str, Any]:
    """The object under a key, if there is one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def codex_digests(event: str, groups: Any) -> Iterator[tuple[str, str]]:
    """The place of each line of ours among the hooks of an event, and Codex's digest of it (0.166.0)."""
    name = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
    for place, group in enumerate(groups if isinstance(groups, list) else ()):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        for number, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            if isinstance(hook, dict) and MARK in str(hook.get("command")):
                said = {"async": False, "command": hook["command"], "timeout": hook.get("timeout"), "type": "command"}
                matcher = {"matcher": group["matcher"]} if isinstance(group.get("matcher"), str) else {}
                text = json.dumps(
                    {"event_name": name, "hooks": [said], **matcher},
                    sort_keys=True,
                    separators=(",", ":"),
                    ensure_ascii=False,
                )
                yield f"{name}:{place}:{number}", f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


_CONFIRMING: Final = {"codex": _unconfirmed}
"""Clients whose user has to confirm a line before it is called, and what finds those that are not confirmed."""
