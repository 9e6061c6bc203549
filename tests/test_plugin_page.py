"""What the page on plugins shows works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from dragoman.registry import TABLES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "howto" / "write-a-plugin.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_page_names_every_table() -> None:
    named = re.findall(r"^\| `dragoman\.(\w+)` \|", PAGE, re.MULTILINE)
    assert named == [table.kind for table in (TABLES[name] for name in _ORDER)]
    assert sorted(_ORDER) == sorted(TABLES)


_ORDER = ("TOOLS", "DIALECTS", "FORMATS", "APIS", "PROVIDERS", "SEARCH_BACKENDS")


def test_the_entry_points_are_those_of_the_example() -> None:
    example = tomllib.loads((ROOT / "examples" / "plugin" / "pyproject.toml").read_text())
    assert tomllib.loads(block("toml"))["project"]["entry-points"] == example["project"]["entry-points"]


def test_the_file_is_a_plugin_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "loud.py").write_text(block("python"))
    words = (sys.executable, "-m", "dragoman", "tool", "shout", "text=hello")
    environ = {**os.environ, "DRAGOMAN_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "HELLO\n", "")
