"""What the README and the demo show really runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_without_a_network_the_demo_says_so_and_does_the_quick_part(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    servers = dict.fromkeys(("OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL"), nowhere)
    registry = {"PIP_INDEX_URL": nowhere, "PIP_RETRIES": "0", "PIP_NO_INDEX": "1"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HTTPS_PROXY": nowhere}
    words = [sys.executable, str(ROOT / "examples/demo.py")]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**environment, **servers, **registry}
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    assert "Qwen2.5-Coder-1.5B-Instruct Q4_K_M runs on this machine. It is 1.1 GB" in shown
    assert "No model can be asked on this machine, so this was the quick part: Qwen2.5-Coder" in shown
    assert "cannot be had: the model hub cannot be reached" in shown
    assert "The same session in the words of gemini_cli" in shown


def test_every_page_the_docs_link_to_is_there() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?\.md)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).is_file(), f"{page.name} links to {target}"
