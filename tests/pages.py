"""Programs shown in the documentation, taken from their pages and run against the loopback server."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from tests.engine.loopback import Loopback

ROOT = Path(__file__).parents[1]


def programs(page: str) -> dict[str, list[str]]:
    """Heading → the Python programs below it."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^#+ ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if blocks:
            found[heading] = blocks
    return found


async def printed(*words: str, server: Loopback, cwd: Path, python: str = sys.executable) -> str:
    """What Python prints, in an environment whose providers are all the loopback server; it must end well."""
    keys = {f"{provider}_API_KEY": "k" for provider in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI")}
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "PYTHONPATH": str(ROOT / "src"),
        "DRAGOMAN_CONFIG_DIR": str(cwd / "no-settings"),
        **dict.fromkeys(("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), server.url),
        **keys,
        # Nothing is told to anybody about these runs, and nothing is fetched for them.
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    }
    process = await asyncio.create_subprocess_exec(
        python, *words, cwd=cwd, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, errors.decode()[-4000:]
    return out.decode()
