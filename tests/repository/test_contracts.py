"""The import contracts of pyproject.toml allow what the rooms need, and each catches what it forbids."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

# One forbidden import for every arrow, by the contract that must report it: importer and imported.
VIOLATIONS = {
    "rooms": [
        ("model.operations", "errors"),
        ("model.calls", "tools"),
        ("errors", "config"),
        ("config", "registry"),
        ("schema", "registry"),
        ("tools", "dialects"),
        ("dialects", "apis"),
        ("apis", "engine"),
        ("engine", "logs"),
        ("logs", "agents"),
        ("agents", "cli"),
    ],
    "ground": [("registry", "model"), ("config", "model.operations")],
    "schema": [("schema", "config")],
    "door": [("tools", "")],
    "door-of-tools": [("engine", "tools.inner"), ("engine", "tools.workspace.inner")],
    "door-of-dialects": [("logs", "dialects.one")],
    "door-of-apis": [("cli", "apis.one")],
    "door-of-engine": [("cli", "engine.inner"), ("cli", "engine.models.inner")],
    "door-of-logs": [("cli", "logs.one"), ("cli", "logs.history.one")],
    "door-of-agents": [("cli", "agents.inner")],
    "dialects": [("dialects.one", "dialects.other")],
    "apis": [("apis.one", "apis.other")],
    "logs": [("logs.formats.one", "logs.history.sessions"), ("logs.base.normalise", "logs.formats.one")],
    "formats": [("logs.formats.one", "logs.formats.other")],
    "commands": [("cli.terminal.console", "cli.commands.one")],
    "cycles": [("schema.one", "schema.other"), ("schema.other", "schema.one")],
    "outsiders": [("schema", "^pydantic"), ("engine", "^openai")],
}

ALLOWED = [
    ("schema", "errors"),
    ("registry", "errors"),
    ("registry", "config"),
    ("prices", "model"),
    ("tools", "model.operations"),
    ("engine", "tools"),
    ("engine", "dialects"),
    ("engine", "apis"),
    ("logs", "dialects"),
    ("logs", "apis"),
    ("agents", "engine"),
    ("agents", "logs"),
    ("cli", ""),
    ("engine", "tools.workspace"),
    ("cli", "engine.models"),
    ("cli", "logs.history"),
    ("cli", "dialects.plugins"),
    ("dialects.one", "dialects.base.spelling"),
    ("dialects.one", "dialects.base.dialect"),
    ("dialects.one", "dialects.base.patch_text"),
    ("apis.one", "apis.base.api"),
    ("apis.one", "apis.lowering"),
    ("logs.formats.one", "logs.base.format"),
    ("logs.formats.one", "logs.formats.parts.shared"),
    ("logs.history.sessions", "logs.base.normalise"),
    ("cli.commands.one", "cli.terminal.console"),
]


def module(name: str) -> str:
    """`tools.tool` → `dragoman.tools.tool`; the empty name is the public door; `^` marks an outsider."""
    return name[1:] if name.startswith("^") else f"dragoman.{name}".rstrip(".")


def add_import(package: Path, importer: str, imported: str) -> None:
    for name in (importer, imported):
        if "." in name and not (package / name.replace(".", "/")).is_dir():
            # An import of a file that is not there yet is no import to the linter.
            (package / f"{name.replace('.', '/')}.py").touch()
    path = package / importer.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    with path.open("a", encoding="utf-8") as file:
        # Inside a function: what is loaded late is known all the same.
        file.write(f"\ndef later():\n    import {module(imported)}\n")


def lint(folder: Path, *imports: tuple[str, str]) -> tuple[int, str]:
    package = folder / "dragoman"
    shutil.copytree(ROOT / "src" / "dragoman", package, ignore=shutil.ignore_patterns("__pycache__"))
    for importer, imported in imports:
        add_import(package, importer, imported)
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache"]
    done = subprocess.run(
        [*command, "--config", str(ROOT / "pyproject.toml")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_contract_reports_every_import_it_forbids(tmp_path: Path) -> None:
    forbidden = [pair for pairs in VIOLATIONS.values() for pair in pairs]
    status, said = lint(tmp_path, *forbidden)
    assert status == 1, said

    broken = {contract["id"] for contract in CONTRACTS if f"{contract['name']} BROKEN" in said}
    assert broken == set(VIOLATIONS) == {contract["id"] for contract in CONTRACTS}, said
    # A cycle is reported by its folder and one of its imports.
    assert "No cycles are allowed in dragoman.schema." in said, said
    one_by_one = [pair for pair in forbidden if pair not in VIOLATIONS["cycles"]]
    unreported = [pair for pair in one_by_one if f"{module(pair[0])} -> {module(pair[1])} (" not in said]
    assert unreported == [], said


def test_what_the_rooms_need_keeps_every_contract(tmp_path: Path) -> None:
    status, said = lint(tmp_path, *ALLOWED)
    assert status == 0, said


def test_a_module_beside_the_rooms_must_be_given_its_place(tmp_path: Path) -> None:
    status, said = lint(tmp_path, ("stray", "errors"))
    assert (status, "stray" in said) == (1, True), said
