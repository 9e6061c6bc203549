"""Which folder is the project, and whether the user trusts it.

Rule: trust is bound to the contents of the files it covers. A changed, added or removed file asks again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from dragoman.errors import ConfigError, writing

from .files.folders import OTHER_DATA_DIR, home_folder
from .files.private_file import write_private
from .layers import read_settings_file

PROJECT_FOLDER: Final = ".dragoman"
PROJECT_FILE: Final = "dragoman.toml"
SERVER_FILES: Final = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", "opencode.json")
"""Where other clients let a project name MCP servers, that is commands: covered by its trust as our own files are."""
LARGEST_FOLDER: Final = 16 * 1024 * 1024
MOST_FILES: Final = 2000


SKILL_FOLDERS: Final = (".agents/skills", ".claude/skills", ".gemini/skills", ".codex/skills", ".github/skills")
"""Where other clients keep the skills of a project; what they say is sent to a model, so trust covers it."""


class Trust(msgspec.Struct, frozen=True):
    """Whether the user trusts a folder, for the contents its files have now.

    `digests` are those of the files as trusted; `changed` says what is different since then.
    """

    state: Literal["trusted", "changed", "untrusted"]
    digests: dict[str, str] = {}
    changed: tuple[str, ...] = ()


class Project(msgspec.Struct, frozen=True):
    """The project around the current folder: its root, its settings file and whether it is trusted."""

    root: Path
    file: Path | None
    trust: Trust

    @property
    def plugins(self) -> Path:
        return self.root / PROJECT_FOLDER / "plugins"


def find_project(start: Path) -> Path | None:
    """The nearest folder from `start` upwards with a `.dragoman` folder or a `dragoman.toml`.

    Where there is none, the nearest with a file that names MCP servers. The search ends at the root of a repository.
    The home folder and the root of the file system are no projects, unless one starts there: a file left in them
    would speak for everything below.
    """
    start = Path(os.path.realpath(start))
    stops = {Path(os.path.realpath(home_folder())), Path(start.anchor)}
    named: Path | None = None  # only where nothing of ours is above: it must not hide a stricter policy
    for folder in (start, *start.parents):
        if folder in stops and folder != start:
            break
        if os.path.isdir(folder / PROJECT_FOLDER) or os.path.exists(folder / PROJECT_FILE):
            return folder
        if named is None and any(os.path.exists(folder / name) for name in SERVER_FILES):
            named = folder
        if os.path.exists(folder / ".git"):
            break
    return named


def project_file(root: Path) -> tuple[Path, bytes] | None:
    paths = (root / PROJECT_FILE, root / PROJECT_FOLDER / "config.toml")
    contents = ((path, read_settings_file(path)) for path in paths)
    found = [(path, content) for path, content in contents if content is not None]
    if len(found) > 1:
        raise ConfigError(f"{root}: both {PROJECT_FILE} and {PROJECT_FOLDER}/config.toml are there; keep one of them")
    return found[0] if found else None


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


def covered_files(root: Path) -> dict[str, str]:
    """Path within the project → digest, for everything that trusting the project covers."""
    digests: dict[str, str] = {}
    size = 0
    for path in _covered_paths(root):
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode):
            raise ConfigError(f"{path}: not an ordinary file, so its contents cannot be trusted; replace or remove it")
        size += facts.st_size
        if size > LARGEST_FOLDER or len(digests) >= MOST_FILES:
            raise ConfigError(f"{root / PROJECT_FOLDER}: too much in this folder to be trusted; keep data elsewhere")
        digests[path.relative_to(root).as_posix()] = digest(path.read_bytes())
    return digests


def _covered_paths(root: Path) -> Iterator[Path]:
    folder = root / PROJECT_FOLDER
    if folder.is_symlink():
        raise ConfigError(f"{folder}: is a link, so its contents cannot be trusted; replace it by a folder")
    if os.path.lexists(root / PROJECT_FILE):
        yield root / PROJECT_FILE
    yield from (root / name for name in SERVER_FILES if os.path.lexists(root / name))
    for name in SKILL_FOLDERS:
        # A link in such a folder leads out or is looked at where it leads: no skill is read through one.
        yield from (path for path in sorted((root / name).glob("*/SKILL.md")) if path.is_file())
    for parent, folders, files in os.walk(folder, onerror=_raise):
        folders.sort()
        # A link to a folder counts as a folder here and is not entered: it must not slip through unseen.
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        yield from (Path(parent) / name for name in sorted([*files, *links]))


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _trust_record(root: Path, data_dir: Path) -> Path:
    return data_dir / "trusted" / f"{digest(os.fsencode(root))}.json"


def _read_record(file: Path) -> tuple[Path, dict[str, str]]:
    """The folder a record speaks of, and the digests it was trusted with."""
    import json  # not msgspec: a path may hold bytes that are no text, which JSON carries as lone surrogates

    try:
        record = json.loads(file.read_bytes())
        return Path(record["path"]), dict(record["files"])
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(file) from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(
            f"{file}: cannot be read as a record of trust ({error}); remove it and trust again"
        ) from error


def _trusted_as(root: Path, data_dir: Path) -> dict[str, str] | None:
    try:
        return _read_record(_trust_record(root, data_dir))[1]
    except FileNotFoundError:
        return None


def trust_of(root: Path, data_dir: Path) -> Trust:
    digests = _trusted_as(root, data_dir)
    if digests is None:
        return Trust("untrusted")
    try:
        now = covered_files(root)
    except (ConfigError, OSError) as error:
        return Trust("changed", digests, (str(error),))
    changed = sorted(name for name in digests.keys() | now.keys() if digests.get(name) != now.get(name))
    return Trust("changed", digests, tuple(changed)) if changed else Trust("trusted", digests)


def trust(root: Path, data_dir: Path) -> Trust:
    """Trusts a folder with the contents its files have now."""
    import json

    root = Path(os.path.realpath(root))
    digests = covered_files(root)
    if not digests:
        raise ConfigError(
            f"{root}: nothing to trust here: no {PROJECT_FILE}, nothing in {PROJECT_FOLDER}/, no .mcp.json"
        )
    content = json.dumps({"path": str(root), "files": digests}).encode()
    write_private(_trust_record(root, data_dir), content, advice=OTHER_DATA_DIR)
    return Trust("trusted", digests)


def untrust(root: Path, data_dir: Path) -> bool:
    """Withdraws trust; returns whether the folder was trusted."""
    record = _trust_record(Path(os.path.realpath(root)), data_dir)
    with writing(record, OTHER_DATA_DIR):
        try:
            record.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def trusted_folders(data_dir: Path) -> list[Path]:
    """Every folder the user trusts, or has trusted with other contents."""
    folders = []
    for file in (data_dir / "trusted").glob("*.json"):
        with suppress(FileNotFoundError):  # another process has just taken it back
            folders.append(_read_record(file)[0])
    return sorted(folders)
