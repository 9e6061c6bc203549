"""Whether a task was done: by the files, by the calls that were made, by a command, by the answer, or by a judge."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.patterns import Pattern
from dragoman.tools import DiskWorkspace, Shell, perform, standard_context

from .tasks import Task

if TYPE_CHECKING:
    from dragoman.config import Sandbox

Judge = Callable[[str, str, str], Awaitable[str]]
"""Given a task's prompt, a rubric and an answer: what is wrong with the answer; empty when nothing is."""

PATHS = frozenset(("path", "to", "destination", "source", "cwd"))


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a workspace, apart from what Python compiles by itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    }


async def problems_of(
    task: Task,
    folder: Path,
    before: Mapping[str, bytes],
    operations: Sequence[op.Operation],
    answer: str,
    *,
    sandbox: Sandbox | None = None,
    seconds: float = 60.0,
    judge: Judge | None = None,
) -> list[str]:
    """What keeps a task from being done; empty when it is."""
    expect, after = task.expect, files_of(folder)
    found = [
        f"{path} " + ("does not exist" if path not in after else "does not hold what it should")
        for path, content in expect.files.items()
        if after.get(path) != content.encode()
    ]
    found += [f"{path} exists" for path in expect.absent if (folder / path).exists()]
    if expect.unchanged:
        others = {*before, *after} - {*expect.files, *expect.absent}
        found += [f"{path} was changed" for path in sorted(others) if before.get(path) != after.get(path)]
    if expect.calls or expect.only_calls:
        found += _wrong_calls(expect.calls, operations, folder, only=expect.only_calls)
    if expect.answer and not Pattern(expect.answer, ignore_case=True).search(answer):
        found.append(f"the answer does not match {expect.answer!r}")
    if expect.command:
        found += await _failed(expect.command, folder, seconds, sandbox)
    if expect.rubric and not found:
        if judge is None:
            found.append("no model was named to judge the answer")
        elif wrong := await judge(task.prompt, expect.rubric, answer):
            found.append(f"the judge says: {wrong}")
    return found


def _wrong_calls(
    wanted: Sequence[Mapping[str, Any]], operations: Sequence[op.Operation], folder: Path, *, only: bool
) -> list[str]:
    made = [plain(operation, folder) for operation in operations]
    rest = iter([{**_defaults(operation), **one} for operation, one in zip(operations, made, strict=True)])
    missing = [pattern for pattern in wanted if not any(_fits(pattern, one) for one in rest)]
    found = [f"no call means {_shown(pattern)}" for pattern in missing[:1]]
    if found:
        found[0] += f"; made: {', '.join(map(_shown, made)) or 'none'}"
    elif only and len(made) != len(wanted):
        found.append(f"{len(made)} operations were asked for, not {len(wanted)}: {', '.join(map(_shown, made))}")
    return found


def plain(operation: op.Operation, folder: Path) -> dict[str, Any]:
    """An operation as JSON, its paths relative to the workspace."""
    value: dict[str, Any] = msgspec.to_builtins(operation)
    return {key: _relative(one, folder) if key in PATHS and isinstance(one, str) else one for key, one in value.items()}


def _defaults(operation: op.Operation) -> dict[str, Any]:
    """Fields with their values, also those that JSON leaves out because they are the defaults."""
    return {name: msgspec.to_builtins(getattr(operation, name)) for name in operation.__struct_fields__}


def _relative(path: str, folder: Path) -> str:
    root = folder.as_posix()
    if path == root or path.startswith(f"{root}/"):
        path = os.path.relpath(path, root)
    return posixpath.normpath(path)


def _fits(pattern: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    if set(pattern) == {"one_of"}:
        return any(_fits(one, made) for one in pattern["one_of"])
    return all(_equal(value, made.get(key)) for key, value in pattern.items())


def _equal(wanted: Any, made: Any) -> bool:
    if isinstance(wanted, dict):
        if set(wanted) == {"one_of"}:
            return any(_equal(one, made) for one in wanted["one_of"])
        return (
            isinstance(made, dict) and set(wanted) == set(made) and all(_equal(wanted[key], made[key]) for key in made)
        )
    if isinstance(wanted, list):
        return (
            isinstance(made, list)
            and len(made) == len(wanted)
            and all(_equal(one, other) for one, other in zip(wanted, made, strict=True))
        )
    return bool(wanted == made) and isinstance(wanted, bool) == isinstance(made, bool)


def _shown(value: Mapping[str, Any]) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"


async def _failed(command: str, folder: Path, seconds: float, sandbox: Sandbox | None) -> list[str]:
    """What a command says against it, run as the model's commands are."""
    shell = None if sandbox is None else Shell(sandbox=sandbox)
    async with standard_context(DiskWorkspace(folder), shell=shell) as context:
        outcome = await perform(op.RunCommand(command, timeout_ms=int(seconds * 1000)), context)
    if isinstance(outcome, out.CommandOutcome) and outcome.exit_code == 0:
        return []
    if isinstance(outcome, out.CommandOutcome):
        said = (outcome.output or outcome.stderr or outcome.stdout or "").strip().splitlines()
        return [f"`{command}` exits with {outcome.exit_code}" + (f": {said[-1][:200]}" if said else "")]
    return [f"`{command}` did not run: {getattr(outcome, 'message', type(outcome).__name__)}"]
