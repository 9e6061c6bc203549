"""Every Python example of the pages passes `mypy --strict` and pyright: what an editor shows a reader is no error."""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[str]:
    """The Python programs of a page, without those it shows as code of others, under a heading "Before"."""
    found, heading, inside = list[str](), "", False
    for line in page.read_text().splitlines(keepends=True):
        if inside:
            inside = not line.startswith("```")
            if inside and heading != "Before":
                found[-1] += line
        elif line.startswith("#"):
            heading = line.strip("# \n")
        elif line.startswith("```python"):
            inside = True
            found += [] if heading == "Before" else [""]
    return found


def bound(program: str) -> set[str]:
    """The names that a program defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(program).body:
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(part.name)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names.add(part.id)
            elif isinstance(part, ast.Import | ast.ImportFrom):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
            elif isinstance(part, ast.arg):
                names.add(part.arg)
    return names


def used(program: str) -> set[str]:
    tree = ast.walk(ast.parse(program))
    return {part.id for part in tree if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


def module_of(page: Path) -> str:
    return re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module for each program; what it uses from an earlier one of its page is imported from there."""
    folder = tmp_path_factory.mktemp("examples")
    for page in PAGES:
        programs = blocks(page)
        for number, program in enumerate(programs):
            lines = []
            for name in sorted(used(program) - bound(program) - set(dir(builtins))):
                before = [one for one in range(number) if name in bound(programs[one])]
                if before:
                    lines.append(f"from {module_of(page)}_{before[-1]} import {name}\n")
            future = re.match(r"from __future__.*\n", program)
            head = future[0] if future else ""
            (folder / f"{module_of(page)}_{number}.py").write_text(head + "".join(lines) + program[len(head) :])
    assert len(list(folder.iterdir())) > 50
    return folder


def test_mypy_finds_nothing_in_any_example(folder: Path) -> None:
    options = ("--strict", "--config-file=", "--ignore-missing-imports", "--implicit-reexport", "--no-error-summary")
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", ROOT / ".mypy_cache" / "examples", "."]
    environ = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_pyright_finds_nothing_in_any_example(folder: Path) -> None:
    settings = {
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "reportMissingImports": "none",
        "reportMissingModuleSource": "none",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    program = Path(sys.executable).with_name("basedpyright")
    command = [program, "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    errors = [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert errors == []
    assert found["summary"]["filesAnalyzed"] > 50
