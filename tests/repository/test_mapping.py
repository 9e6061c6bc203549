"""docs/mapping.md is what `make mapping` writes: what the dialects say of themselves, nothing older."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_operations_and_vocabularies_is_up_to_date(tmp_path: Path) -> None:
    written = subprocess.run(
        [sys.executable, "-m", "dragoman", "tools", "--fidelity", "--markdown", "-"],
        cwd=tmp_path,
        env={**os.environ, "DRAGOMAN_CONFIG_DIR": str(tmp_path / "none")},
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8") == written, "run `make mapping`"
