"""How dragoman was installed here, and the command that adds packages to that installation.

Rule: a command that an error names works as it stands. dragoman need not be on a package index for that: the packages
of an extra are named themselves, as the metadata of this installation lists them.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, Final

_NAME: Final = "dragoman"
_LOCAL: Final = ("path", "directory", "editable")
"""Keys of a requirement in uv's receipt that hold a path of this machine."""


def install_command(*packages: str) -> str:
    """The command that adds packages to the environment this process runs in: pipx's, a uv tool's or any other."""
    folder = Path(sys.prefix)
    if (folder / "pipx_metadata.json").is_file():
        words = ["pipx", "inject", folder.name, *packages]
    else:
        words = _uv_tool(folder / "uv-receipt.toml", packages) or [*_pip(), *packages]
    return shlex.join(words)


def packages_of(extra: str) -> tuple[str, ...]:
    """The packages that an extra of dragoman consists of, with their version bounds."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(_NAME) or ()
    except PackageNotFoundError:  # run from its source
        lines = ()
    parts = [line.replace('"', "'").partition(";") for line in lines]
    found = [package.strip() for package, _, marker in parts if f"extra == '{extra}'" in marker]
    return tuple(found) or (f"{_NAME}[{extra}]",)


def _pip() -> list[str]:
    """`pip install` for this environment, by the shortest name that means it."""
    import shutil
    from importlib.util import find_spec

    if find_spec("pip") is None:  # environments that uv made have none
        return ["uv", "pip", "install", "--python", sys.executable]
    found = shutil.which("pip")
    beside = found is not None and Path(found).parent == Path(sys.executable).parent
    return ["pip", "install"] if beside else [sys.executable, "-m", "pip", "install"]


def _uv_tool(receipt: Path, packages: tuple[str, ...]) -> list[str]:
    """The words that install this uv tool as it is, and the packages; nothing where that cannot be done.

    `uv tool install` removes what an earlier one installed and it is not given again.
    """
    import tomllib

    if not receipt.is_file():
        return []
    try:
        tool: dict[str, Any] = tomllib.loads(receipt.read_text())["tool"]
        itself, *others = tool["requirements"]
    except (OSError, ValueError, LookupError):
        return []  # uv 0.9 to 0.11 write it as read here; of another form nothing is known
    if any(not Path(itself[key]).exists() for key in _LOCAL if key in itself):
        return []  # it was installed from a wheel or checkout that is gone
    python = ["--python", tool["python"]] if "python" in tool else []
    editable = ["--editable"] if "editable" in itself else []
    added = [word for package in (*map(_requirement, others), *packages) for word in ("--with", package)]
    return ["uv", "tool", "install", *python, *editable, _requirement(itself), *added]


def _requirement(row: dict[str, Any]) -> str:
    """A requirement of uv's receipt, as it is written on a command line."""
    extras = f"[{','.join(row['extras'])}]" if row.get("extras") else ""
    where = next((row[key] for key in (*_LOCAL, "url") if key in row), None)
    if where is not None:
        return f"{where}{extras}"
    if "git" in row:
        return f"{row['name']}{extras} @ git+{row['git']}"
    return f"{row['name']}{extras}{row.get('specifier', '')}"
