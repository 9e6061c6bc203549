"""The types of provider tools' settings: what type checkers are told is what the rows of the dialects say."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import dragoman.tools
from dragoman.dialects import DIALECTS, Settings

ROOT = Path(__file__).parents[2]
VENDORS = ("anthropic", "google", "openai")


def declared() -> dict[str, str]:
    """Id → `vendor.Settings`, as the overloads of `ProviderTool` have it."""
    source = Path(dragoman.tools.__file__).with_name("provider_tool.py").read_text()
    found: dict[str, str] = {}
    for function in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]:
        hints = {argument.arg: argument.annotation for argument in function.args.args}
        id, settings = hints.get("id"), hints.get("settings")
        if isinstance(id, ast.Subscript) and settings is not None:
            names = id.slice.elts if isinstance(id.slice, ast.Tuple) else [id.slice]
            found |= {ast.literal_eval(name): ast.unparse(settings) for name in names}
    return found


def test_every_tool_with_settings_has_its_type_and_no_other() -> None:
    rows = [(vendor, row) for vendor in VENDORS for row in DIALECTS[vendor].provider_tools]
    typed = {row.id: f"{vendor}.{row.settings.__name__}" for vendor, row in rows if row.settings is not Settings}
    assert declared() == typed


def test_every_type_is_imported_from_the_module_of_its_vendor() -> None:
    from importlib import import_module

    for named in set(declared().values()):
        vendor, name = named.split(".")
        assert issubclass(getattr(import_module(f"dragoman.dialects.{vendor}"), name), Settings)


def test_the_type_checker_looks_at_wrong_settings_and_minds_marks_without_use() -> None:
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert "tests/typing" in mypy["files"]
    assert mypy["strict"] is True  # it includes warn_unused_ignores
    assert "type: ignore[call-overload]" in (ROOT / "tests/typing/provider_tools.py").read_text()
