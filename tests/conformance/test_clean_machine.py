"""What a newcomer meets: the documented commands on a machine where nothing is prepared, and a base install."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

import dragoman
from dragoman.config import load
from dragoman.installation import packages_of
from tests.cli.conftest import in_terminal
from tests.wheel import build, check_sdist, check_wheel, try_wheel

ROOT = Path(__file__).parents[2]
INSTALL = {"pipx": ("pipx", "install"), "uv": ("uv", "tool", "install")}
ADD = {"pipx": "pipx inject dragoman ", "uv": "uv tool install "}
ENVIRONMENTS = {"pipx": ".local/share/pipx/venvs/dragoman/bin", "uv": ".local/share/uv/tools/dragoman/bin"}


def run(*command: str | Path, home: Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with nothing in its environment but PATH, a new HOME and what is given."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "UV_SYSTEM_CERTS": "true", **environment},
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
def wheel(scratch: Path) -> Path:
    """The built wheel, checked."""
    sdist, wheel = build(scratch / "dist")
    check_sdist(sdist)
    check_wheel(wheel)
    return wheel


@pytest.fixture(scope="module")
def base_install(scratch: Path, wheel: Path, home: Path) -> Path:
    """The bin folder of an environment that holds dragoman without extras and what it brings, nothing else."""
    folder = scratch / "base"
    folder.mkdir()
    try_wheel(wheel, folder)
    return folder / "env" / "bin"


class Installer(NamedTuple):
    """A program that installs commands, each into an environment of its own."""

    program: Path
    home: Path

    def __call__(self, *words: str | Path, cwd: Path | None = None) -> str:
        done = run(*words, home=self.home, cwd=cwd or self.home, PATH=self.path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def path(self) -> str:
        return f"{self.program.parent}:{self.home / '.local' / 'bin'}:{os.environ['PATH']}"


@pytest.fixture(scope="module", params=["pipx", "uv"])
def installer(scratch: Path, request: pytest.FixtureRequest) -> Installer:
    """pipx or uv, in an environment of its own, and a home where nothing was installed."""
    tools, home = scratch / "tools" / request.param, scratch / "homes" / request.param
    home.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    pip = (tools / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, request.param], check=True)
    return Installer(tools / "bin" / request.param, home)


def test_the_demo_is_the_first_command_that_works(checkout: Path, home: Path) -> None:
    assert not (checkout / ".venv").exists()
    demo = run("make", "demo", home=home, cwd=checkout, DEMO="quick")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "setting up .venv" in demo.stdout


def test_a_second_command_finds_everything_prepared(checkout: Path, home: Path) -> None:
    demo = run("make", "demo", home=home, cwd=checkout, DEMO="quick")
    assert (demo.returncode, "setting up" in demo.stdout) == (0, False), demo.stdout + demo.stderr


def test_in_a_terminal_the_demo_does_its_task_with_the_real_weights_and_reads_it_back(
    checkout: Path, home: Path
) -> None:
    """The weights are fetched into the cache of whoever runs this, once for all checkouts."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "UV_SYSTEM_CERTS": "true", "TERM": "xterm"}
    cache = {"DRAGOMAN_CACHE_DIR": str(load().cache_dir)}
    demo = in_terminal(["make", "demo"], checkout, {**environ, **cache}, 80)
    assert demo.code == 0, demo.out
    _, _, live = demo.out.partition("── The same task, live")
    assert "Checked by this program: greet.py was changed, and its test passes." in live, demo.out
    _, _, respoken = live.partition("── The same session in the words of claude_code")
    assert ("Edit" in respoken, "Bash" in respoken) == (True, True), demo.out


def test_the_command_installs_from_the_wheel_and_names_commands_that_add_its_extras(
    installer: Installer, wheel: Path
) -> None:
    installer(*INSTALL[installer.program.name], wheel)
    assert installer("dragoman", "--version") == f"dragoman {dragoman.__version__}\n"
    for extra, module in (("pdf", "pypdf"), ("query", "duckdb")):  # the second keeps the first
        command = missing(
            installer.home / ENVIRONMENTS[installer.program.name] / "python", extra, module, installer.home
        )
        assert command.startswith(ADD[installer.program.name])
        installer("sh", "-c", command)
    installer("dragoman", "query", "SELECT 1")
    python = installer.home / ENVIRONMENTS[installer.program.name] / "python"
    installer(python, "-c", "import duckdb, pypdf")


def test_the_install_line_of_the_readme_works_as_it_stands(installer: Installer, checkout: Path) -> None:
    (line,) = [line for line in (checkout / "README.md").read_text().splitlines() if line.startswith("pipx install")]
    with_pipx, _, with_uv = line.partition("# or: ")
    command = {"pipx": with_pipx, "uv": with_uv}[installer.program.name].strip()
    assert command.startswith(" ".join(INSTALL[installer.program.name]))
    again = {"pipx": "pipx uninstall dragoman", "uv": "uv tool uninstall dragoman"}[installer.program.name]
    installer("sh", "-c", f"{again}; {command}", cwd=checkout)
    assert installer("dragoman", "--version") == f"dragoman {dragoman.__version__}\n"
    installer(installer.home / ENVIRONMENTS[installer.program.name] / "python", "-c", "import duckdb, mcp, xllamacpp")


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
    packages = shlex.join(packages_of(extra))
    command = missing(base_install / "python", extra, module, home)
    assert command == f"{base_install / 'python'} -m pip install {packages}"


def missing(python: Path, extra: str, module: str, home: Path) -> str:
    """The command that the error about a missing extra names."""
    program = f"""
from dragoman.errors import MissingExtra
from dragoman.registry import need
try:
    need({extra!r}, "this check", {module!r})
except MissingExtra as missing:
    print(missing.extra, missing, sep="\\n")
"""
    said = run(python, "-I", "-c", program, home=home, cwd=home)
    name, _, message = said.stdout.strip().partition("\n")
    sentence, _, command = message.partition(": ")
    package = module.partition(".")[0]
    assert (name, sentence) == (extra, f"this check needs the extra '{extra}' ({package} is not installed)"), said
    return command
