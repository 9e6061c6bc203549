"""What is evaluated: a file of tasks, the models and vocabularies they are tried with, and what counts as done.

A suite is a TOML file. Tasks stand in it, or in files of JSON lines that it names, one task a line.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.config.files import read_ordinary_file
from dragoman.errors import DefinitionError, PatternError, nearest
from dragoman.model import OPERATIONS
from dragoman.patterns import Pattern


class Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function the model may call. Nothing runs: the model gets `returns` as its result."""

    name: str
    description: str
    parameters: dict[str, Any]
    returns: str = "Done."


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What counts as done. Everything that is given must hold."""

    files: dict[str, str] = {}
    """Path → exactly what the file holds at the end."""
    absent: tuple[str, ...] = ()
    """Paths that do not exist at the end."""
    unchanged: bool = False
    """Whether every other file must be as it was, and no file may be added."""
    calls: tuple[dict[str, Any], ...] = ()
    """Operations that were asked for, in this order. The fields that are given must be equal; `{"one_of": [...]}`
    allows several values of a field, or several operations."""
    only_calls: bool = False
    """Whether no other operation may be asked for, and none may be refused."""
    command: str = ""
    """A command line that must exit with 0 in the workspace, after the run."""
    answer: str = ""
    """A regular expression that must match somewhere in the answer, whatever the case."""
    rubric: str = ""
    """What a second model judges the answer by."""


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task: what is there, what is asked, and what counts as done."""

    name: str
    prompt: str
    expect: Expected
    files: dict[str, str] = {}
    functions: tuple[Function, ...] = ()
    tools: tuple[str, ...] | None = None
    max_turns: int | None = None

    @property
    def digest(self) -> str:
        """Changes with the task: what was measured with another form of it is measured again."""
        return hashlib.blake2s(msgspec.json.encode(self), digest_size=6).hexdigest()


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tasks, and what they are tried with."""

    name: str
    tasks: tuple[Task, ...] = ()
    tasks_from: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    vocabularies: tuple[str, ...] = ("own",)
    seeds: tuple[int, ...] = (0,)
    tools: tuple[str, ...] = ("read_file", "write_file", "edit_file", "list_directory", "find_files", "search_text")
    system: str = "You work in the current folder; paths are relative to it."
    max_turns: int = 8
    timeout: float = 60.0
    """Seconds that a command of a task may take."""
    temperature: float | None = None
    tool_choice: Literal["auto", "required"] = "auto"
    """Whether a model may answer without a call."""
    optional: bool = False
    """Whether a model in this process (`local`) is shown the parameters that may be left out, as every other one is."""


def load_suite(path: str | os.PathLike[str]) -> Suite:
    """The suite of a file, with the tasks of the files it names. Raises `DefinitionError` with every problem."""
    file = Path(path)
    try:
        suite = msgspec.convert(tomllib.loads(_text_of(file).decode("utf-8")), Suite)
    except OSError as error:
        raise DefinitionError(f"evaluation {str(file)!r}", [f"it cannot be read: {error}"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, msgspec.ValidationError) as error:
        raise DefinitionError(f"evaluation {str(file)!r}", [str(error)]) from error
    tasks, problems = list(suite.tasks), list[str]()
    for name in suite.tasks_from:
        tasks += _tasks_in(file.parent / name, problems)
    names = [task.name for task in tasks]
    problems += [f"two tasks are called {name!r}" for name in sorted({name for name in names if names.count(name) > 1})]
    problems += [f"task {task.name!r}: nothing is expected" for task in tasks if task.expect == Expected()]
    problems += [f"task {task.name!r}: {why}" for task in tasks for why in _problems(task)]
    if not tasks and not problems:
        problems.append("it has no tasks")
    if problems:
        raise DefinitionError(f"evaluation {str(file)!r}", problems)
    return msgspec.structs.replace(suite, tasks=tuple(tasks), tasks_from=())


def _text_of(file: Path) -> bytes:
    """`OSError` says why it cannot be read: also of a pipe, which would be waited for, and of a file without an end."""
    try:
        return read_ordinary_file(file, _LARGEST)
    except ValueError as error:
        raise OSError(str(error)) from error
    except OSError as error:
        raise OSError(error.strerror) from error


_LARGEST: Final = 64 << 20


def _tasks_in(path: Path, problems: list[str]) -> list[Task]:
    try:
        lines = _text_of(path).splitlines()
    except OSError as error:
        problems.append(f"{path}: it cannot be read: {error}")
        return []
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=Task))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.append(f"{path}, line {number}: {error}")
    return found


def _problems(task: Task) -> list[str]:
    wrong = [] if task.prompt.strip() else ["the prompt is empty"]
    return [*wrong, *_outside(task), *_no_pattern(task), *(why for one in task.expect.calls for why in _no_call(one))]


def _outside(task: Task) -> list[str]:
    """Files of a task that would not be in its workspace."""
    paths = [*task.files, *task.expect.files, *task.expect.absent]
    return [f"{path!r} is not a path within the workspace" for path in paths if not _is_inside(path)]


def _no_pattern(task: Task) -> list[str]:
    try:
        Pattern(task.expect.answer)
    except PatternError as error:
        return [f"answer: {error}"]
    return []


def _no_call(wanted: Any) -> list[str]:
    """Why no operation can ever be what is wanted: the task would never be done."""
    if not isinstance(wanted, dict):
        return [f"calls: an operation is a table, not {wanted!r}"]
    if set(wanted) == {"one_of"}:
        choices = wanted["one_of"]
        if not isinstance(choices, list) or not choices:
            return ["calls: one_of is a list of operations"]
        return [why for one in choices for why in _no_call(one)]
    tag = wanted.get("type")
    if tag is None:
        return ["calls: an operation needs a type, such as read_file"]
    tags = tag["one_of"] if isinstance(tag, dict) and isinstance(tag.get("one_of"), list) else [tag]
    problems = []
    known: set[str] = {"type"}
    for one in tags:
        if (operation := OPERATIONS.get(one) if isinstance(one, str) else None) is not None:
            known.update(operation.__struct_fields__)
        else:
            problems.append(f"calls: there is no operation {one!r}.{nearest(str(one), OPERATIONS)}")
    if problems:
        return problems
    return [f"calls: {tag} has no field {key!r}.{nearest(key, known)}" for key in wanted if key not in known]


def _is_inside(path: str) -> bool:
    return bool(path) and not os.path.isabs(path) and os.path.normpath(path).split(os.sep)[0] not in ("..", ".")
