"""Packages of other projects that a test needs, kept in a cache folder outside the checkout."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman-conformance"


def source_distribution(name: str, version: str) -> Path:
    """The unpacked source distribution of a package on PyPI."""
    with _made_once(f"{name}-{version}") as folder:
        if not folder.exists():
            made = folder.with_suffix(".part")
            shutil.rmtree(made, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
            subprocess.run([*command, f"{name}=={version}", "--dest", made], check=True, timeout=300)
            with tarfile.open(next(made.glob("*.tar.gz"))) as archive:
                archive.extractall(made, filter="data")
            made.rename(folder)
    return next(folder.glob("*/"))


def npm_package(name: str, version: str) -> Path:
    """The folder of a package from npm, installed with what it depends on."""
    with _made_once(f"{name.replace('/', '+')}-{version}") as folder:
        if not folder.exists():
            made = folder.with_suffix(".part")
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            # Not by `--prefix`: npm would then pass over the settings of this system, such as whom it trusts.
            (made / "package.json").write_text('{"private": true}')
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run([*command, f"{name}@{version}"], check=True, timeout=300, cwd=made)
            made.rename(folder)
    return folder / "node_modules" / name


@contextmanager
def _made_once(name: str) -> Iterator[Path]:
    """A folder of the cache, made by one of the processes that want it while the others wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield CACHE / name
