"""`make wheel`: builds the sdist, and from it the wheel, into dist/, checks both and tries the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from tempfile import TemporaryDirectory

import dragoman

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STEM = f"dragoman-{dragoman.__version__}"
MODULES = {
    path.relative_to(ROOT / "src").as_posix()
    for path in (ROOT / "src").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel, with the build backend that is installed here: nothing is fetched."""
    uv = (
        sys.executable,
        "-m",
        "uv",
        "build",
        "--quiet",
        "--no-config",
        "--no-build-isolation",
        "--python",
        sys.executable,
    )
    subprocess.run([*uv, "--out-dir", folder, ROOT], check=True)
    return folder / f"{STEM}.tar.gz", folder / f"{STEM}-py3-none-any.whl"


def check_sdist(path: Path) -> None:
    """It holds what the wheel is built from, and nothing else."""
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    beside = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}
    same(held, {f"src/{name}" for name in MODULES} | beside, path)


def check_wheel(path: Path) -> None:
    """It holds every module and nothing else, and its metadata is the project's."""
    info = f"{STEM}.dist-info"
    with zipfile.ZipFile(path) as archive:
        held = set(archive.namelist())
        metadata = message_from_string(archive.read(f"{info}/METADATA").decode())
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    files = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    same(held, MODULES | files, path)
    said = {
        "Name": PROJECT["name"],
        "Version": dragoman.__version__,
        "Requires-Python": PROJECT["requires-python"],
        "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown",
    }
    same({(key, metadata[key]) for key in said}, set(said.items()), path)
    same(set(metadata.get_all("Provides-Extra", ())), set(PROJECT["optional-dependencies"]), path)
    if metadata.get_payload() != (ROOT / "README.md").read_text():
        sys.exit(f"{path.name}: its description is not README.md")
    same({entry_points.strip()}, {f"[console_scripts]\ndragoman = {PROJECT['scripts']['dragoman']}"}, path)


def same(found: set[object] | set[str], wanted: set[object] | set[str], path: Path) -> None:
    if found != wanted:
        sys.exit(
            f"{path.name}: too much: {sorted(map(str, found - wanted))}; missing: {sorted(map(str, wanted - found))}"
        )


def try_wheel(wheel: Path, folder: Path) -> None:
    """The wheel alone in a new environment: the command works, and nothing it needs is left out."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    programs, home = folder / "env" / "bin", folder / "home"
    home.mkdir()
    (home / "a.py").write_text("print('helo')\n")

    def run(program: str, *words: str | Path) -> str:
        environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
        environ |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        command = [programs / program, *words]
        done = subprocess.run(command, cwd=home, env=environ, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", wheel)
    run("python", "-m", "pip", "check")
    same({run("dragoman", "--version").strip()}, {f"dragoman {dragoman.__version__}"}, wheel)
    run("dragoman", "tool", "edit_file", "path=a.py", 'edits=[{"old": "helo", "new": "hello"}]')
    run("dragoman", "tool", "search_text", "pattern=hello")
    run("dragoman", "say", "read_file", "path=a.py")
    run("dragoman", "tools")
    same({(home / "a.py").read_text()}, {"print('hello')\n"}, wheel)


def main() -> None:
    sdist, wheel = build(ROOT / "dist")
    check_sdist(sdist)
    check_wheel(wheel)
    with TemporaryDirectory() as folder:
        try_wheel(wheel, Path(folder))
    for path in (sdist, wheel):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
