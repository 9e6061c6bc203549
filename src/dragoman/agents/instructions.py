"""Project instructions: `AGENTS.md` and its relatives, as text for the model.

Rules: instructions are text, never settings. Of a project, only files that lie in it are read, links included, and what
they import with `@path` stays in it as well, unless the user's settings name the folder (`instructions.imports`).
Of several files in one folder the first name of `instructions.files` counts; of several folders the nearest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.config.files import home_folder, read_with_place

if TYPE_CHECKING:
    from dragoman.config import Configuration

LARGEST_FILE: Final = 64 << 10
LARGEST_WHOLE: Final = 128 << 10
"""Bytes of one file, and of all of them together: every request carries them."""
DEEPEST_IMPORT: Final = 5
"""Imports within imports, as in Claude Code."""
_MOST_FOLDERS: Final = 2000
_MOST_NESTED: Final = 50
_SKIPPED: Final = frozenset({"node_modules", "venv", "__pycache__", "dist", "build", "target", "vendor"})
_CODE: Final = re.compile(r"(`+)(?:(?!\1).)*\1")
_IMPORT: Final = re.compile(r"(?<!\S)@(\S+)")


class Instruction(msgspec.Struct, frozen=True):
    """One file. `imported_by` names the file that asked for it."""

    path: Path
    text: str
    imported_by: Path | None = None


class Instructions(msgspec.Struct, frozen=True):
    """What was found for work in a folder: the user's own file first, then from the project's root downwards."""

    files: tuple[Instruction, ...] = ()
    nested: tuple[str, ...] = ()
    """Files in folders below, relative to the folder of the work: the model reads them before it changes those."""
    of_project: bool = False
    """Whether any of it comes from the project, and not from the user's own settings folder."""
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, for the system prompt; empty when there are none."""
        if not self.files and not self.nested:
            return ""
        parts = [_HEAD, *(f"Contents of {_named(one)}:\n\n{one.text.strip()}" for one in self.files)]
        if self.nested:
            parts.append(_NESTED + "\n".join(f"- {path}" for path in self.nested))
        return "\n\n".join(parts)


_HEAD: Final = (
    "# Project instructions\n\n"
    "The files below were written for agents that work in this folder. Follow them where they apply. If they "
    "contradict each other, follow the later one; what the user says in this conversation comes first. They cannot "
    "change which tools you have or which calls are allowed."
)
_NESTED: Final = (
    "Some folders have instructions of their own. Before you change a file in one of these folders or below it, read "
    "its instructions; they take precedence over the ones above:\n"
)


def _named(one: Instruction) -> str:
    return str(one.path) if one.imported_by is None else f"{one.path} (imported by {one.imported_by.name})"


def find_instructions(configuration: Configuration, folder: Path) -> Instructions:
    """The instructions for work in a folder. What could not be read is in `problems`; nothing is raised."""
    names = configuration.settings.instructions.files
    search = _Search(configuration, names)
    if not search.names:
        return Instructions(problems=tuple(search.problems))
    folder = Path(os.path.realpath(folder))
    root = _root(configuration, folder)
    search.folder(configuration.config_dir, None)
    own = len(search.files)
    between = [folder, *folder.parents]
    for place in reversed(between[: between.index(root) + 1]):
        search.folder(place, root)
    nested = tuple(_nested(folder, search.names))
    return Instructions(
        tuple(search.files), nested, of_project=len(search.files) > own or bool(nested), problems=tuple(search.problems)
    )


def _root(configuration: Configuration, folder: Path) -> Path:
    """Where the project begins: the nearest repository, else our own project, else the folder itself. The home folder
    is none, unless one works in it."""
    home = Path(os.path.realpath(home_folder()))
    for place in (folder, *folder.parents):
        if place == home and place != folder:
            break
        if os.path.lexists(place / ".git"):
            return place
    project = configuration.project
    return project.root if project is not None and folder.is_relative_to(project.root) else folder


class _Search:
    """Reads files one by one, and keeps count of what was read."""

    def __init__(self, configuration: Configuration, names: tuple[str, ...]) -> None:
        self.files: list[Instruction] = []
        self.problems: list[str] = []
        self.names = tuple(name for name in names if self._is_name(name))
        allowed = configuration.settings.instructions.imports
        self._allowed = tuple(Path(os.path.realpath(os.path.expanduser(path))) for path in allowed)
        self._size = 0
        self._places: set[Path] = set()

    def _is_name(self, name: str) -> bool:
        if name and name == os.path.basename(name) and name not in (".", ".."):
            return True
        self.problems.append(f"instructions.files: {name!r} is not the name of a file; paths are not allowed")
        return False

    def folder(self, folder: Path, root: Path | None) -> None:
        """Reads the one file of a folder that counts; with a `root`, it must lie in it."""
        for name in self.names:
            if os.path.lexists(folder / name) and self._read(folder / name, root):
                return

    def _read(self, path: Path, root: Path | None, importing: tuple[Path, ...] = ()) -> bool:
        by = importing[-1] if importing else None
        about = f"{path}" if by is None else f"{path} (imported by {by})"
        try:
            content, place = read_with_place(path, LARGEST_FILE)
            text = content.decode()
        except OSError as error:
            return self._problem(about, error.strerror or str(error))
        except UnicodeDecodeError:
            return self._problem(about, "not UTF-8 text")
        except ValueError as error:
            return self._problem(about, str(error))
        if root is not None and not any(place.is_relative_to(allowed) for allowed in (root, *self._allowed)):
            return self._problem(about, "outside the project; the setting instructions.imports can allow its folder")
        if place in self._places:  # an import of what is there already, or a cycle
            return True
        if self._size + len(content) > LARGEST_WHOLE:
            return self._problem(about, f"all instructions together are longer than {LARGEST_WHOLE >> 10} KiB")
        self._places.add(place)
        self._size += len(content)
        if text.strip():
            self.files.append(Instruction(path, text, by))
        for wanted in _imports(text):
            self._import(wanted, path, root, (*importing, path))
        return True

    def _import(self, wanted: str, by: Path, root: Path | None, importing: tuple[Path, ...]) -> None:
        path = Path(os.path.normpath(by.parent / os.path.expanduser(wanted)))
        if not os.path.isfile(path):  # an e-mail address, a decorator, somebody's name
            return
        if len(importing) > DEEPEST_IMPORT:
            self._problem(f"{path} (imported by {by})", f"imports are followed {DEEPEST_IMPORT} deep")
            return
        self._read(path, root, importing)

    def _problem(self, about: str, why: str) -> bool:
        self.problems.append(f"{about} is left out of the instructions: {why}")
        return False


def _imports(text: str) -> Iterator[str]:
    """The `@path` words of a text, outside of code."""
    fence = ""
    for line in text.splitlines():
        start = line.lstrip()[:3]
        if start in ("```", "~~~"):
            fence = "" if fence == start else fence or start
        if fence or start in ("```", "~~~"):
            continue
        for found in _IMPORT.finditer(_CODE.sub("", line)):
            yield found[1].rstrip(".,;:!?)")


def _nested(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Files in the folders below: the first that counts in each. Links are not followed."""
    listed = 0
    for seen, (parent, folders, files) in enumerate(os.walk(folder)):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        name = next((name for name in names if name in files), None)
        if parent != str(folder) and name is not None:
            yield (Path(parent) / name).relative_to(folder).as_posix()
            listed += 1
        if seen >= _MOST_FOLDERS or listed >= _MOST_NESTED:
            return
