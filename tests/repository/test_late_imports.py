"""An import stands inside a function only where that saves a measurable cost.

What a module loads is worked out from the source: its own imports at the top, theirs, and the packages they are in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

SOURCE = Path(__file__).parents[2] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}

COSTLY: Final[dict[str, float]] = {
    "aiohttp": 301,
    "ast": 8.9,
    "ast_grep_py": 20,
    "asyncio": 65,
    "base64": 12,
    "click": 50,
    "concurrent.futures": 22,
    "ctypes": 3.0,
    "dataclasses": 26,
    "datetime": 2.2,
    "difflib": 11,
    "duckdb": 179,
    "email.message": 37,
    "email.utils": 28,
    "getpass": 5.9,
    "glob": 9.1,
    "hashlib": 3.5,
    "html": 10,
    "httptools": 17,
    "importlib.metadata": 54,
    "importlib.util": 5.2,
    "inspect": 30,
    "ipaddress": 5.9,
    "json": 16,
    "logging": 23,
    "markdown_it": 60,
    "mcp": 1089,
    "mimetypes": 12,
    "msgspec": 60,
    "pathlib": 18,
    "platformdirs": 31,
    "playwright": 148,
    "prompt_toolkit": 164,
    "psycopg": 167,
    "pygments": 20,
    "pypdf": 145,
    "random": 3.4,
    "rich": 58,
    "secrets": 17,
    "selectors": 3.4,
    "shlex": 9.1,
    "shutil": 10,
    "signal": 6.0,
    "socket": 14,
    "sqlite3": 6.4,
    "ssl": 21,
    "subprocess": 15,
    "tempfile": 15,
    "textwrap": 10,
    "threading": 4.6,
    "tomlkit": 39,
    "tomllib": 20,
    "traceback": 11,
    "tree_sitter": 14,
    "tree_sitter_bash": 31,
    "tree_sitter_javascript": 31,
    "turbohtml": 66,
    "urllib.parse": 14,
    "urllib.request": 49,
    "uuid": 12,
    "uvicorn": 143,
    "uvloop": 82,
    "xllamacpp": 68,
    "yaml": 29,
    "yarl": 40,
    "zipfile": 22,
}
"""Milliseconds of CPU that importing a module took in a bare interpreter on two shared cores; the least of three."""

NOT_EVERYWHERE: Final = frozenset({"ctypes.wintypes", "fcntl", "msvcrt", "pwd", "resource", "termios"})
"""Modules that some systems do not have."""


class Imports(NamedTuple):
    """What is kept of a module; the trees of all of them would take hundreds of megabytes."""

    at_the_top: tuple[ast.stmt, ...]
    late: tuple[ast.stmt, ...]
    homes: dict[str, str]
    """Names at a door that are loaded when they are asked for, and the modules they come from."""


@cache
def imports_of(module: str) -> Imports:
    tree = ast.parse(MODULES[module].read_text())
    at_the_top, late = (tuple(imports_in(tree, late=late)) for late in (False, True))
    return Imports(at_the_top, late, homes(module, tree))


def with_parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def homes(package: str, tree: ast.Module) -> dict[str, str]:
    nodes = ast.walk(tree) if MODULES[package].name == "__init__.py" else ()
    calls = [one for one in nodes if isinstance(one, ast.Call) and getattr(one.func, "id", None) == "door"]
    tables: list[dict[str, tuple[str, ...]]] = [ast.literal_eval(one.args[1]) for one in calls]
    return {name: f"{package}.{home}" for table in tables for home, names in table.items() for name in names}


def loaded_by(statement: ast.stmt, module: str) -> set[str]:
    """The modules that an import statement loads."""
    if isinstance(statement, ast.Import):
        return set[str]().union(*(with_parents(alias.name) for alias in statement.names))
    assert isinstance(statement, ast.ImportFrom)
    origin = statement.module or ""
    if statement.level:
        package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
        above = package.rsplit(".", statement.level - 1)[0]
        origin = f"{above}.{origin}".rstrip(".")
    found = with_parents(origin)
    for alias in statement.names:
        inner = f"{origin}.{alias.name}"
        if inner in MODULES:
            found.add(inner)
        elif origin in MODULES and alias.name in imports_of(origin).homes:
            found |= with_parents(imports_of(origin).homes[alias.name])
        elif origin == "dragoman.model":
            found.add(f"dragoman.model, for {alias.name}")  # which of its files is known to it alone
    return found


def imports_in(node: ast.AST, *, late: bool, inside: bool = False) -> Iterator[ast.stmt]:
    """The imports that run when a module is loaded, or those that run `late`, when a function is called."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Import | ast.ImportFrom):
            if inside == late:
                yield one
        elif isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test):
            for other in one.orelse:
                yield from imports_in(other, late=late, inside=inside)
        elif late and isinstance(one, ast.Try):
            continue  # it may be missing
        elif not isinstance(one, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        else:
            yield from imports_in(
                one, late=late, inside=inside or isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            )


@cache
def loads(module: str) -> frozenset[str]:
    """What the imports at the top of a module load."""
    return frozenset().union(*(loaded_by(statement, module) for statement in imports_of(module).at_the_top))


@cache
def loaded_with(module: str) -> frozenset[str]:
    """Everything that is loaded when a module is."""
    seen, left = set[str](), [*with_parents(module)]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left += loads(one) if one in MODULES else ()
    return frozenset(seen)


def late_imports() -> Iterator[tuple[str, ast.stmt, set[str]]]:
    """Each import inside a function, with what it loads that its module has not loaded."""
    for module in sorted(MODULES):
        for statement in imports_of(module).late:
            yield module, statement, loaded_by(statement, module) - loaded_with(module)


def place(module: str, statement: ast.stmt) -> str:
    return f"{MODULES[module].relative_to(SOURCE)}:{statement.lineno}: {ast.unparse(statement)}"


def test_an_import_inside_a_function_loads_something_that_its_module_did_not() -> None:
    # `from . import DIALECT` in a part of a vocabulary names what is made of that very part.
    needless = [
        place(*one) for *one, new in late_imports() if not new and ast.unparse(one[1]) != "from . import DIALECT"
    ]
    assert needless == []


def test_a_module_of_others_is_imported_inside_a_function_only_where_it_is_costly() -> None:
    cheap: dict[str, Any] = {
        place(module, statement): sorted(new)
        for module, statement, new in late_imports()
        if not any(name.startswith("dragoman") for name in new)
        and not any(name in COSTLY or name.partition(".")[0] in COSTLY or name in NOT_EVERYWHERE for name in new)
        and new
    }
    assert cheap == {}
