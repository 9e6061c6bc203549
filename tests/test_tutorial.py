"""The tutorial works as it stands: its programs are run one after the other, and print what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    programs = re.findall(r"(?<!-->\n)```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    whole = "".join(programs)
    shown = [line.removeprefix("# ") for line in whole.splitlines() if line.startswith("# ")]
    checked = f"{whole}\nassert '3' in str(result.conversation[2]), result.conversation\n"
    done = subprocess.run([sys.executable, "-c", checked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == shown
    assert len(shown) >= 10
