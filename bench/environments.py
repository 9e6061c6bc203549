"""The environments the columns run in: one folder each under .lab/ (or `DRAGOMAN_BENCH_LAB`), made on
first use, peers by name from the index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAB = Path(os.environ.get("DRAGOMAN_BENCH_LAB", ROOT / ".lab"))

OURS = str(ROOT)

# "base" is what a user gets who installs dragoman without extras; the floors run in it too.
PACKAGES = {
    "base": (OURS,),
    "query": (OURS, "duckdb"),
    "corpus": (OURS, "duckdb", "obstore", "distributed"),
    "postgres": (OURS, "psycopg[binary]"),
    "uvloop": (OURS, "uvloop"),
    "jiter": (OURS, "jiter"),
    "orjson": ("orjson",),
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "google_genai": ("google-genai",),
    "pydantic": ("pydantic",),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
    "openai_agents": ("openai-agents",),
    "litellm": ("litellm", "mcp"),  # without mcp it fails at the first completion with tools
    "litellm_proxy": ("litellm[proxy]",),
    "searchers": ("ignore-python", "pathspec", "powerwalk", "python-ripgrep", "rignore", "scandir-rs", "wcmatch"),
}


def python_of(name: str) -> Path:
    return LAB / name / "bin" / "python"


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], check=True, cwd=ROOT)


def prepare(name: str) -> Path:
    """The environment's Python; our own package is installed anew each time, for it may have changed."""
    python = python_of(name)
    if not python.exists():
        print(f"setting up .lab/{name} (once) …", file=sys.stderr)
        uv("venv", "--python", sys.executable, str(LAB / name))
        uv("pip", "install", "--python", str(python), "--compile-bytecode", *PACKAGES[name])
    elif OURS in PACKAGES[name]:
        again = ("--reinstall-package", "dragoman", "--refresh-package", "dragoman")
        uv("pip", "install", "--python", str(python), "--compile-bytecode", *again, *PACKAGES[name])
    return python


def versions_in(name: str) -> dict[str, str]:
    """Distribution → version: what was measured, for whoever reads the ratios later."""
    listing = "from importlib.metadata import distributions as all\nfor d in all(): print(d.name.lower(), d.version)"
    done = subprocess.run([python_of(name), "-c", listing], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())
