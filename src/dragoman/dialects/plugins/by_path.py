"""Dialects by the path of the file they are written in: Python, TOML or YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dragoman.config import DATA_SUFFIXES
from dragoman.dialects.base.dialect import Dialect
from dragoman.errors import DefinitionError
from dragoman.registry import DIALECTS, run_file

from .from_data import from_file


def dialects_in(path: Path) -> dict[str, Dialect]:
    """Every dialect of a file by its name. A Python file is run: it sets `DIALECT`, or `DIALECTS` as plugins do."""
    if path.suffix in DATA_SUFFIXES:
        dialect = from_file(path)
        return {dialect.name: dialect}
    if path.suffix != ".py":
        known = ", ".join((".py", *DATA_SUFFIXES))
        raise DefinitionError(f"dialect file {path.name!r}", [f"its name must end in one of {known}"], str(path))
    return _in_python(path)


def is_dialect_file(name: str) -> bool:
    """Whether what is given for a dialect is a file: the end of its name says so."""
    return name.endswith((".py", *DATA_SUFFIXES))


def dialect_named(name: str, *, files: bool) -> Dialect:
    """The dialect of this name or, with `files`, of this file: Python, TOML or YAML.

    A Python file is run, so `files` is only for names that the user gave: an argument, a flag or the user's settings.
    """
    listed: Dialect = dialect_from_file(Path(name)) if files and is_dialect_file(name) else DIALECTS[name]
    return listed


def dialect_from_file(path: Path) -> Dialect:
    """The one dialect of a file."""
    found = dialects_in(path)
    if len(found) != 1:
        problem = f"it holds several dialects ({', '.join(found)}); one is needed here"
        raise DefinitionError(f"dialect file {path.name!r}", [problem], str(path))
    return next(iter(found.values()))


def _in_python(path: Path) -> dict[str, Dialect]:
    subject = f"dialect file {path.name!r}"
    try:
        source = path.read_bytes()
    except OSError as error:
        raise DefinitionError(subject, [f"cannot be read ({error.strerror})"], str(path)) from error
    try:
        module = run_file(path, source)
    except DefinitionError:
        raise
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}{_line_in(path, error)}"
        raise DefinitionError(subject, [problem], str(path)) from error
    listed, single = getattr(module, "DIALECTS", None), getattr(module, "DIALECT", None)
    found = dict(listed) if isinstance(listed, Mapping) else {}
    if not found and isinstance(single, Dialect):
        found = {single.name: single}
    strange = [name for name, dialect in found.items() if not isinstance(dialect, Dialect)]
    if strange or not found:
        wrong = [f"{name!r} in DIALECTS is no Dialect" for name in strange]
        problems = wrong or ['it sets neither DIALECT nor DIALECTS: write DIALECT = Dialect("acme", (…))']
        raise DefinitionError(subject, problems, str(path))
    return found


def _line_in(path: Path, error: BaseException) -> str:
    """The last line of the file itself that led to the error."""
    import traceback

    if isinstance(error, SyntaxError) and error.lineno is not None:
        return ""  # its message has the line
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    return f" (line {lines[-1]})" if lines else ""
