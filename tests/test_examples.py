"""What the README and the demo show really runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _run(script: str, **environment: str) -> str:
    words = [sys.executable, str(ROOT / script)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    assert done.stderr == ""
    return done.stdout


def test_the_example_of_the_readme_is_the_one_that_is_run_here() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    example = (ROOT / "examples/first_tool.py").read_text()
    assert shown == [example.partition('"""\n\n')[2]]
    assert len(shown[0].strip().splitlines()) <= 20


def test_the_example_of_the_readme_runs() -> None:
    printed = _run("examples/first_tool.py").splitlines()
    assert printed[0].startswith("{'type': 'object', 'properties': {'customer'")
    assert printed[1] == "['newest order 1 of Ada', 'newest order 2 of Ada']"


def test_the_quick_demo_does_one_task_in_three_vocabularies_and_reads_the_session_back() -> None:
    shown = _run("examples/demo.py", DEMO="quick", COLUMNS="120")
    assert "recorded" in shown.splitlines()[0]
    for call in ('Edit {"file_path"', 'replace {"file_path"', "*** Update File: greet.py"):
        assert call in shown
    assert shown.count("greet.py      return f'Hello, {name}!'   (4 rounds)") == 3
    _, _, after = shown.partition("DEMO=quick")
    assert "$ dragoman show claude_code.jsonl\n" in after
    _, _, respoken = after.partition("The same session in the words of gemini_cli")
    assert [
        line.split()[:2] for line in respoken.splitlines() if line.startswith(("  Read ", "  Edit ", "  Bash "))
    ] == [
        ["Read", "read_file"],
        ["Edit", "replace"],
        ["Bash", "run_shell_command"],
    ]


def test_every_page_the_docs_link_to_is_there() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?\.md)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).is_file(), f"{page.name} links to {target}"
