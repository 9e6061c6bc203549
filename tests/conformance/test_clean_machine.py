"""What a newcomer meets: the documented commands on a machine where nothing is prepared, and a base install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, home: Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with nothing in its environment but PATH, a new HOME and what is given."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards: two whole environments are too much to keep for a look at a failure."""
    with TemporaryDirectory(prefix="dragoman-conformance-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def home(scratch: Path) -> Path:
    folder = scratch / "home"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def checkout(scratch: Path) -> Path:
    """The files a clone of this tree would hold: everything git knows or would take, and no environment."""
    copy = scratch / "checkout"
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():  # a file may be deleted and not yet committed
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def base_install(scratch: Path, checkout: Path, home: Path) -> Path:
    """The bin folder of an environment that holds dragoman without extras and what it brings, nothing else."""
    folder = scratch / "base"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    installed = run(*pip, checkout, home=home, cwd=home)
    assert installed.returncode == 0, installed.stderr
    return folder / "bin"


def test_the_demo_is_the_first_command_that_works(checkout: Path, home: Path) -> None:
    assert not (checkout / ".venv").exists()
    demo = run("make", "demo", home=home, cwd=checkout, DEMO="quick")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "setting up .venv" in demo.stdout


def test_a_second_command_finds_everything_prepared(checkout: Path, home: Path) -> None:
    demo = run("make", "demo", home=home, cwd=checkout, DEMO="quick")
    assert (demo.returncode, "setting up" in demo.stdout) == (0, False), demo.stdout + demo.stderr


def test_a_base_install_has_the_command(base_install: Path, home: Path) -> None:
    said = run(base_install / "dragoman", "--version", home=home, cwd=home)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("dragoman "), said.stdout


@pytest.mark.parametrize(
    "extra,module",
    [
        ("local", "xllamacpp"),
        ("browser", "playwright"),
        ("images", "PIL"),
        ("mcp", "mcp"),
        ("otel", "opentelemetry.sdk"),
    ],
)
def test_a_base_install_names_the_extra_that_is_missing(
    base_install: Path, home: Path, extra: str, module: str
) -> None:
    program = f"""
from dragoman.errors import MissingExtra
from dragoman.registry import need
try:
    need({extra!r}, "this check", {module!r})
except MissingExtra as missing:
    print(missing.extra, missing, sep="\\n")
"""
    said = run(base_install / "python", "-I", "-c", program, home=home, cwd=home)
    assert said.stdout.splitlines() == [
        extra,
        f"this check needs the extra '{extra}' ({module.partition('.')[0]} is not installed):"
        f" pip install 'dragoman[{extra}]'",
    ], said.stdout + said.stderr
