"""The pages on patterns print what they show."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "howto"
PROGRAMS = [
    (page, number, program)
    for page in ("hand-offs", "guardrails")
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL))
]


@pytest.mark.parametrize("program", [one[2] for one in PROGRAMS], ids=[f"{one[0]}-{one[1]}" for one in PROGRAMS])
async def test_a_program_prints_what_its_page_shows(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = [line.removeprefix("# ") for line in program.splitlines() if line.startswith("# ")]
    assert shown
    await asyncio.to_thread(exec, program, {"__name__": "page"})
    assert capsys.readouterr().out.splitlines() == shown
