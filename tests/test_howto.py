"""What the page on adding a dialect shows works as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "howto" / "add-a-dialect.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def changed(diff: str, root: Path) -> list[str]:
    """Applies a diff to the files below a folder; each hunk must fit exactly one place. Gives the files it touched."""
    touched = []
    for part in re.split(r"^(?=--- )", diff, flags=re.MULTILINE)[1:]:
        old, new, *lines = part.splitlines()
        path = root / new.removeprefix("+++ b/")
        before = "" if old == "--- /dev/null" else path.read_text()
        for hunk in re.split(r"^@@.*@@.*\n", "\n".join(lines) + "\n", flags=re.MULTILINE)[1:]:
            rows = hunk.splitlines()
            was = "".join(f"{row[1:]}\n" for row in rows if row[:1] != "+")
            now = "".join(f"{row[1:]}\n" for row in rows if row[:1] != "-")
            assert before.count(was) == 1 or not before, f"{path.name}: this hunk fits nowhere, or in several places"
            before = before.replace(was, now) if was else now
        path.write_text(before)
        touched.append(path.relative_to(root).as_posix())
    return touched


def run(*words: str, source: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(source), "DRAGOMAN_CONFIG_DIR": str(cwd / "none")}
    return subprocess.run(
        [sys.executable, "-m", "dragoman", *words], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source with the diff of the page applied."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    assert changed(block("diff"), root) == ["src/dragoman/dialects/acme.py", "src/dragoman/registry.py"]
    return root


def test_adding_a_dialect_is_one_file_and_one_line() -> None:
    *_, registry = block("diff").split("--- a/")
    assert [line for line in registry.splitlines()[2:] if line[:1] in "+-"] == [
        '+        "acme": "dragoman.dialects.acme:DIALECT",'
    ]


def test_the_dialect_of_the_diff_is_listed_and_holds_the_laws_of_listed_ones(checkout: Path) -> None:
    done = run("dialect", "check", "acme", "--json", source=checkout / "src", cwd=checkout)
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = msgspec.json.decode(done.stdout)["dialects"]
    assert (found["spoken"], found["problems"]) == (["read_file", "find_in_page"], [])


def test_the_dialect_of_the_diff_is_spoken(checkout: Path) -> None:
    words = ("say", "find_in_page", "url=https://a.example", "pattern=word", "--to", "acme")
    done = run(*words, source=checkout / "src", cwd=checkout)
    assert done.stdout == 'acme\n  find_text {"target":"https://a.example#word"}\n'


def test_the_dialect_in_data_holds_the_laws_and_is_spoken(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(block("toml"))
    done = run("dialect", "check", "acme.toml", source=ROOT / "src", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "acme\n  2 tools, 2 operations spoken; every law holds.\n")
    words = ("say", "read_file", "path=a.py", "first_line=5", "last_line=9", "--to", "./acme.toml")
    said = run(*words, source=ROOT / "src", cwd=tmp_path)
    assert said.stdout == 'acme\n  open_file {"name":"a.py","offset":5,"limit":5}\n'


def test_every_key_the_page_names_is_one_a_file_may_have() -> None:
    from dragoman.dialects.plugins.from_data import CONVERSIONS

    row = next(line for line in PAGE.splitlines() if line.startswith("| `convert` |"))
    assert set(re.findall(r"`(\w+)`", row)) - {"convert"} == set(CONVERSIONS)


def test_the_tool_from_a_json_schema_runs_as_the_page_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "howto" / "add-a-tool.md").read_text()
    (program,) = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "schema = {" in text]
    exec(program, {})
    assert capsys.readouterr().out == "Rome: 21 celsius\n"
