"""Other people's frameworks, each in an environment of its own under .lab/: made on first use, kept while it fits."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
import sys
import tempfile
from pathlib import Path

from bench.environments import LAB, ROOT, uv
from tests.engine.loopback import Loopback
from tests.pages import printed

PACKAGES = {
    "pydantic_ai": ("pydantic-ai-slim[openai,anthropic,google]>=2.66",),
    "openai_agents": ("openai-agents>=0.24",),
    "langchain": ("langchain>=1.4", "langchain-openai>=1.7", "langchain-anthropic>=1.7"),
    "litellm": ("litellm>=1.80", "mcp"),  # it imports mcp when tools are given, and does not ask for it
}


def python_of(name: str) -> Path:
    """The Python of an environment that has these packages and what dragoman needs, but not dragoman itself."""
    home = LAB / "frameworks" / name
    needs = (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("\n]")[0]
    packages = (*PACKAGES[name], "pypdf")  # the extra that changes what our tools promise
    wanted = "\n".join([*packages, needs])
    stamp = home / "made-from"
    home.parent.mkdir(parents=True, exist_ok=True)
    # Two processes of tests may want it at once: the second must not remove what the first one uses.
    with home.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            with tempfile.TemporaryDirectory(dir=home.parent) as beside:
                made = Path(beside) / name
                uv("venv", "--python", sys.executable, str(made))
                python = str(made / "bin" / "python")
                uv("pip", "install", "--python", python, "--requirements", str(ROOT / "pyproject.toml"), *packages)
                (made / "made-from").write_text(wanted)
                shutil.rmtree(home, ignore_errors=True)
                made.rename(home)  # whole or not at all
    return home / "bin" / "python"


async def run(name: str, *words: str, server: Loopback, cwd: Path) -> str:
    """What a program prints, run in the environment of a framework."""
    python = await asyncio.to_thread(python_of, name)
    return await printed(*words, server=server, cwd=cwd, python=str(python))
