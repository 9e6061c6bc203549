"""Project instructions: `AGENTS.md` and its relatives, as text for the model.

Rules: instructions are text, never settings. Of a project, only files that lie in it are read, links included, and what
they import with `@path` stays in it as well, unless the user's settings name the folder (`instructions.imports`).
Of several files in one folder the first name of `instructions.files` counts; of several folders the nearest. A file
that a rule forbids to read is not given to the model this way either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.config.files import home_folder, read_with_place
from dragoman.engine import ToolPolicy, verdict_on
from dragoman.errors import ToolError
from dragoman.model import Call, Conversation, NativeCall, TextPart, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.tools import Workspace

LARGEST_FILE: Final = 64 << 10
LARGEST_WHOLE: Final = 128 << 10
"""Bytes of one file, and of all of them together: every request carries them."""
DEEPEST_IMPORT: Final = 5
"""Imports within imports, as in Claude Code (its page on memory in November 2026)."""
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
    """Files in folders below, relative to the folder of the work: `NestedInstructions` gives them when they apply."""
    of_project: bool = False
    """Whether any of it comes from the project, and not from the user's own settings folder."""
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All instructions as one text for the system prompt; empty if there are none."""
        if not self.files and not self.nested:
            return ""
        parts = [_HEAD, *map(_shown, self.files)]
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
    "Some folders have instructions of their own. You get them when you first read or change a file in such a folder "
    "or below it; read them yourself before you change files there with a command. They take precedence over the ones "
    "above:\n"
)
_NOW_HERE: Final = (
    "# Project instructions for folders you now work in\n\n"
    "The files below were written for agents that work in these folders. Follow them for files there and below; they "
    "take precedence over instructions of folders above. What the user says in this conversation comes first. They "
    "cannot change which tools you have or which calls are allowed."
)


def _title(one: Instruction) -> str:
    by = "" if one.imported_by is None else f" (imported by {one.imported_by.name})"
    return f"Contents of {one.path}{by}:"


def _shown(one: Instruction) -> str:
    return f"{_title(one)}\n\n{one.text.strip()}"


def find_instructions(configuration: Configuration, folder: Path) -> Instructions:
    """The instructions for work in a folder. Files that could not be read are in `problems`; nothing is raised."""
    names = configuration.settings.instructions.files
    folder = Path(os.path.realpath(folder))
    search = _Search(configuration, names, folder)
    if not search.names:
        return Instructions(problems=tuple(search.problems))
    root = _root(configuration, folder)
    search.folder(configuration.config_dir, None)
    own = len(search.files)
    between = [folder, *folder.parents]
    for place in reversed(between[: between.index(root) + 1]):
        search.folder(place, root)
    nested = tuple(_nested(folder, search.names, (root, *search.allowed)))
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

    def __init__(self, configuration: Configuration, names: tuple[str, ...], folder: Path) -> None:
        # Only rules count: a default that asks or denies is about what the model does by itself.
        self._policy = msgspec.structs.replace(ToolPolicy.configured(configuration), default="allow")
        self._workspace = DiskWorkspace(folder)
        self.files: list[Instruction] = []
        self.problems: list[str] = []
        self.names = tuple(name for name in names if self._is_name(name))
        allowed = configuration.settings.instructions.imports
        self.allowed = tuple(Path(os.path.realpath(os.path.expanduser(path))) for path in allowed)
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
        if root is not None and not any(place.is_relative_to(allowed) for allowed in (root, *self.allowed)):
            return self._problem(about, "outside the project; the setting instructions.imports can allow its folder")
        rule = self._rule_against(place)
        if rule is not None:
            return self._problem(about, f"{rule} does not allow to read it")
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

    def _rule_against(self, place: Path) -> str | None:
        """The rule that forbids to read a file."""
        call = Call("", (op.ReadFile(str(place)),), NativeCall("", "read_file"))
        verdict, rule = verdict_on(call, (TOOLS["read_file"],), self._policy, self._workspace)
        return (rule or "the policy") if verdict == "deny" else None

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


def _nested(folder: Path, names: tuple[str, ...], allowed: tuple[Path, ...]) -> Iterator[str]:
    """Files in the folders below: the first that counts in each. Linked folders are not entered, and a link that leads
    out of the project is no file of it."""
    listed = 0
    for seen, (parent, folders, files) in enumerate(os.walk(folder)):
        folders[:] = sorted(name for name in folders if not _is_skipped(name))
        name = next((name for name in names if name in files and _is_inside(os.path.join(parent, name), allowed)), None)
        if parent != str(folder) and name is not None:
            yield (Path(parent) / name).relative_to(folder).as_posix()
            listed += 1
        if seen >= _MOST_FOLDERS or listed >= _MOST_NESTED:
            return


def _is_inside(path: str, allowed: tuple[Path, ...]) -> bool:
    place = Path(os.path.realpath(path)) if os.path.islink(path) else None
    return place is None or any(place.is_relative_to(folder) for folder in allowed)


def _is_skipped(name: str) -> bool:
    """Whether a folder holds what others wrote or what was generated: its instructions are not for this project."""
    return name.startswith(".") or name in _SKIPPED


# ── folders below ────────────────────────────────────────────────────────────


class NestedInstructions:
    """Gives a model the instructions of a folder once a call of it read or changed a file there: `Hooks.remind`.

    What the conversation holds already is not given again, so a run that is resumed does not repeat it, and one whose
    conversation was summarised gets it anew. `told` hears of the files that are given, and of problems; files that
    together have more than `longest` characters are such a problem.
    """

    def __init__(
        self,
        configuration: Configuration,
        workspace: Workspace,
        folder: Path,
        told: Callable[[Sequence[Path], Sequence[str]], None],
        longest: int = LARGEST_WHOLE,
    ) -> None:
        self._configuration, self._workspace, self._told = configuration, workspace, told
        self._longest = longest
        self._folder = Path(os.path.realpath(folder))
        self._known: set[str] = set()
        """Problems that were told."""

    def __call__(self, calls: Sequence[Call], conversation: Conversation) -> str | None:
        folders = dict.fromkeys(folder for call in calls for path in _paths(call) for folder in self._above(path))
        if not folders:
            return None
        search = _Search(self._configuration, self._configuration.settings.instructions.files, self._folder)
        root = _root(self._configuration, self._folder)
        for folder in sorted(folders):
            search.folder(self._folder / folder, root)
        said = _text_of(conversation)
        new = [one for one in search.files if _title(one) not in said]
        found = list(search.problems)
        if sum(len(one.text) for one in new) > self._longest:
            names = ", ".join(str(one.path) for one in new)
            found.append(f"{names}: left out, since they are longer than {self._longest:,} characters")
            new = []
        problems = [problem for problem in found if problem not in self._known]
        self._known.update(problems)
        if new or problems:
            self._told([one.path for one in new], problems)
        return "\n\n".join((_NOW_HERE, *map(_shown, new))) if new else None

    def _above(self, path: str) -> Iterator[str]:
        """The folders between that of the work and a file, the folder of the work not among them."""
        try:
            inside = Path(self._workspace.resolve(path))
        except (ToolError, OSError, ValueError):  # outside the workspace
            return
        for folder in (inside, *inside.parents):
            if folder.parts and not any(map(_is_skipped, folder.parts)) and (self._folder / folder).is_dir():
                yield folder.as_posix()


def _paths(call: Call) -> Iterator[str]:
    """The files and folders that a call names."""
    for operation in call.operations:
        for name in operation.effects.path:
            value = getattr(operation, name)
            yield from (value,) if isinstance(value, str) else value or ()


def _text_of(conversation: Conversation) -> str:
    """What the system and the user said."""
    items = (item for item in conversation if item.role in ("system", "developer", "user"))
    return "\n".join(part.text for item in items for part in item.parts if isinstance(part, TextPart))
