"""The pages on adding things are followed in a copy of the source: their diffs fit, and what they add works."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.repository.test_evidence import EVIDENCE
from tests.repository.test_module_size import MOST_LINES

ROOT = Path(__file__).parent.parent
REGISTRY = "src/dragoman/registry.py"


def page(name: str) -> str:
    return (ROOT / "docs" / "howto" / f"{name}.md").read_text()


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page(name), re.DOTALL)


def changed(diff: str, root: Path) -> dict[str, list[str]]:
    """Applies a diff to the files below a folder; each hunk must fit exactly one place.

    Gives the files it touched, each with the lines it changed in a file that was there before.
    """
    touched = {}
    for part in re.split(r"^(?=--- )", diff, flags=re.MULTILINE)[1:]:
        old, new, *lines = part.splitlines()
        path = root / new.removeprefix("+++ b/")
        is_new = old == "--- /dev/null"
        assert path.exists() != is_new, path
        before = "" if is_new else path.read_text()
        for hunk in re.split(r"^@@.*@@.*\n", "\n".join(lines) + "\n", flags=re.MULTILINE)[1:]:
            rows = hunk.splitlines()
            was = "".join(f"{row[1:]}\n" for row in rows if row[:1] != "+")
            now = "".join(f"{row[1:]}\n" for row in rows if row[:1] != "-")
            assert before.count(was) == 1 or not before, f"{path.name}: this hunk fits nowhere, or in several places"
            before = before.replace(was, now) if was else now
        path.write_text(before)
        touched[path.relative_to(root).as_posix()] = [] if is_new else [row for row in lines if row[:1] in "+-"]
    return touched


@pytest.mark.parametrize("name", ["add-a-dialect", "add-a-log-format"])
def test_a_client_is_added_with_its_version(name: str) -> None:
    """As `test_evidence` asks of every vocabulary and log format."""
    added = blocks(name, "diff")[0]
    docstring = re.search(r'^\+"""(.*)"""$', added, re.MULTILINE)
    assert docstring is not None
    assert EVIDENCE.search(docstring[1])


class Checkout(NamedTuple):
    """A copy of the source with all diffs applied, and what each of them touched."""

    root: Path
    touched: dict[str, list[dict[str, list[str]]]]

    def run(self, *words: str, cwd: Path | None = None, module: str = "dragoman") -> subprocess.CompletedProcess[str]:
        return run(*words, source=self.root / "src", cwd=cwd or self.root, module=module)


def run(
    *words: str, source: Path, cwd: Path, module: str = "dragoman", **more: str
) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(source), "DRAGOMAN_CONFIG_DIR": str(cwd / "none"), **more}
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


PAGES = ("add-a-dialect", "add-a-log-format", "add-a-provider", "add-a-command", "add-an-operation")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    root = tmp_path_factory.mktemp("checkout")
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", root)
    return Checkout(root, {name: [changed(diff, root) for diff in blocks(name, "diff")] for name in PAGES})


@pytest.mark.parametrize(
    "name, file, line",
    [
        ("add-a-dialect", "src/dragoman/dialects/acme.py", '        "acme": "dragoman.dialects.acme:DIALECT",'),
        (
            "add-a-log-format",
            "src/dragoman/logs/formats/acme.py",
            '        "acme": "dragoman.logs.formats.acme:FORMAT",',
        ),
    ],
)
def test_a_dialect_or_a_log_format_is_one_file_and_one_line(
    checkout: Checkout, name: str, file: str, line: str
) -> None:
    assert checkout.touched[name] == [{file: [], REGISTRY: [f"+{line}"]}]


# ── a dialect ────────────────────────────────────────────────────────────────


def test_the_dialect_of_the_diff_is_listed_and_holds_the_laws_of_listed_ones(checkout: Checkout) -> None:
    done = checkout.run("dialect", "check", "acme", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = msgspec.json.decode(done.stdout)["dialects"]
    assert (found["spoken"], found["problems"]) == (["read_file", "compute_checksum", "find_in_page"], [])


def test_the_dialect_of_the_diff_is_spoken(checkout: Checkout) -> None:
    done = checkout.run("say", "find_in_page", "url=https://a.example", "pattern=word", "--to", "acme")
    assert done.stdout == 'acme\n  find_text {"target":"https://a.example#word"}\n'


def test_the_dialect_in_data_holds_the_laws_and_is_spoken(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(blocks("add-a-dialect", "toml")[0])
    done = run("dialect", "check", "acme.toml", source=ROOT / "src", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "acme\n  2 tools, 2 operations spoken; every law holds.\n")
    words = ("say", "read_file", "path=a.py", "first_line=5", "last_line=9", "--to", "./acme.toml")
    said = run(*words, source=ROOT / "src", cwd=tmp_path)
    assert said.stdout == 'acme\n  open_file {"name":"a.py","offset":5,"limit":5}\n'


def test_every_key_the_page_names_is_one_a_file_may_have() -> None:
    from dragoman.dialects.plugins.from_data import CONVERSIONS

    row = next(line for line in page("add-a-dialect").splitlines() if line.startswith("| `convert` |"))
    assert set(re.findall(r"`(\w+)`", row)) - {"convert"} == set(CONVERSIONS)


# ── a log format ─────────────────────────────────────────────────────────────


def events_of(checkout: Checkout, log: Path) -> list[dict[str, Any]]:
    done = checkout.run("events", str(log), cwd=log.parent)
    assert (done.returncode, done.stderr) == (0, "")
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def test_the_log_of_the_page_is_recognised_and_nothing_of_it_is_lost(checkout: Checkout, tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_text(blocks("add-a-log-format", "json")[0])
    events = events_of(checkout, log)
    assert [event["kind"] for event in events] == [
        "session_started",
        "user_said",
        "tool_called",
        "tool_returned",
        "tokens_used",
        "unknown_record",
    ]
    (operation,) = events[2]["operations"]
    assert operation == {"type": "read_file", "path": "door.py", "first_line": 5, "last_line": 9}


def test_the_format_of_the_page_holds_the_laws(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_text(blocks("add-a-log-format", "json")[0])
    (tmp_path / "laws.py").write_text(
        "from pathlib import Path\n"
        "from dragoman.logs import check_format\n"
        "from dragoman.registry import FORMATS\n"
        "print(check_format(FORMATS['acme'], Path('session.jsonl')))\n"
    )
    done = checkout.run(cwd=tmp_path, module="laws")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_laws_run_over_an_invented_client_as_soon_as_it_has_its_two_lines(checkout: Checkout) -> None:
    """Two files and two lines are all the code; its log stands beside them, as a log is no code."""
    touched = [checkout.touched[name] for name in ("add-a-dialect", "add-a-log-format")]
    files = [file for (one,) in touched for file in one if file != REGISTRY]
    lines = [line for (one,) in touched for line in one[REGISTRY]]
    assert (len(files), len(lines)) == (2, 2)
    log = blocks("add-a-log-format", "json")[0]
    (checkout.root / "with_its_log.py").write_text(
        f"from tests.logs.samples import SAMPLES\n\nSAMPLES['acme'] = [('session.jsonl', {log.encode()!r})]\n"
    )
    laws = ("tests/laws/test_dialect_laws.py", "tests/laws/test_log_laws.py")
    words = ("-q", "-p", "no:cacheprovider", "-p", "with_its_log", "-k", "acme and not acme.toml", *laws)
    done = checkout.run(*words, module="pytest")
    ran = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert (done.returncode, ran is not None) == (0, True), done.stdout[-2000:]
    assert ran is not None
    assert int(ran[1]) >= 20


# ── a provider ───────────────────────────────────────────────────────────────


def test_a_provider_is_a_row_and_a_line(checkout: Checkout) -> None:
    (touched,) = checkout.touched["add-a-provider"]
    assert {file: len(lines) for file, lines in touched.items()} == {
        "src/dragoman/engine/models/providers.py": 1,
        REGISTRY: 1,
    }


@pytest.mark.parametrize("place", ["settings", "repository"])
@pytest.mark.slow
def test_the_provider_of_the_page_is_asked_at_its_address(checkout: Checkout, tmp_path: Path, place: str) -> None:
    source = checkout.root / "src" if place == "repository" else ROOT / "src"
    if place == "settings":
        (tmp_path / "config.toml").write_text(blocks("add-a-provider", "toml")[0])
    words = ("run", "--model", "acme:acme-large", "--dry-run", "hello")
    more = {"DRAGOMAN_CONFIG_DIR": str(tmp_path), "DRAGOMAN_DATA_DIR": str(tmp_path / "data"), "ACME_API_KEY": "k"}
    done = run(*words, source=source, cwd=tmp_path, **more)
    assert done.returncode == 0, done.stderr
    assert "POST https://api.acme.example/v1/chat/completions" in done.stderr


# ── a command ────────────────────────────────────────────────────────────────


def test_a_command_is_one_file_and_one_line(checkout: Checkout) -> None:
    assert checkout.touched["add-a-command"] == [
        {
            "src/dragoman/cli/commands/operations.py": [],
            "src/dragoman/cli/__init__.py": ['+        "operations": "List what tool calls can mean.",'],
        }
    ]


def test_the_command_of_the_page_is_listed_and_answers(checkout: Checkout) -> None:
    assert "List what tool calls can mean." in checkout.run("--help").stdout
    done = checkout.run("operations", "--kind", "ask", "--json")
    assert (done.returncode, msgspec.json.decode(done.stdout)) == (0, {"ask_user": "ask"})
    assert checkout.run("operations", "--kind", "nap").returncode == 1


# ── an operation ─────────────────────────────────────────────────────────────


def test_an_operation_with_its_tool_is_two_files_and_the_dialects_that_say_it(checkout: Checkout) -> None:
    operation, spoken = checkout.touched["add-an-operation"]
    assert [*operation] == ["src/dragoman/model/file_operations.py", "src/dragoman/tools/checksums.py"]
    assert [*spoken] == ["src/dragoman/dialects/acme.py"]


def test_no_module_grows_too_long_by_what_the_pages_add(checkout: Checkout) -> None:
    lengths = {path: path.read_text().count("\n") for path in (checkout.root / "src").rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


@pytest.mark.slow
def test_the_operation_of_the_page_holds_the_laws(checkout: Checkout) -> None:
    files = (
        *("tests/model/test_effects.py", "tests/tools/test_performing.py", "tests/laws/test_model_laws.py"),
        *("tests/laws/test_plain_laws.py", "tests/laws/test_question_laws.py", "tests/engine/test_scope.py"),
    )
    words = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "compute_checksum", *files)
    done = checkout.run(*words, module="pytest")
    passed = re.search(r"(\d+) passed, \d+ deselected", done.stdout)
    assert done.returncode == 0, done.stdout
    assert passed is not None
    assert int(passed[1]) >= len(files)


def test_the_operation_of_the_page_is_done_by_its_tool(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    done = checkout.run("tool", "compute_checksum", "path=a.txt", "algorithm=md5", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, hashlib.md5(b"one\n").hexdigest())


def test_the_operation_of_the_page_is_read_from_a_log(checkout: Checkout, tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_text(
        '{"acme": 1, "session": "s-1"}\n{"who": "model", "call": "checksum", "id": "1", "with": {"name": "door.py"}}\n'
    )
    called = events_of(checkout, log)[1]
    assert called["operations"] == [{"type": "compute_checksum", "path": "door.py"}]


# ── a tool ───────────────────────────────────────────────────────────────────


def test_the_tool_from_a_json_schema_runs_as_the_page_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [text for text in blocks("add-a-tool", "python") if "schema = {" in text]
    exec(program, {})
    assert capsys.readouterr().out == "Rome: 21 celsius\n"
