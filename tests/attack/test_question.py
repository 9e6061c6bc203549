"""A model that hides what it does: the question shows it, and rules and approvals cover nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.engine.loopback import Turn

from .machine import DONE, Machine

PLAIN = ("--dialect", "plain")
"""The words in which a model can say every way to run a command."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def settings(machine: Machine, text: str) -> None:
    folder = machine.home / ".config" / "dragoman"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def runs(**arguments: Any) -> Turn:
    return Turn("I run it.", calls=(("c1", "run_command", arguments),))


def at_terminal(
    machine: Machine, script: list[Turn], scene: Callable[[Terminal], None], *words: str, columns: int = 80
) -> str:
    """What is on the terminal in the end, when a scene was played at a run of this script."""
    with (
        machine.provider([*script, DONE]),
        Terminal(("run", *words, "go"), machine.here, machine.environ, columns=columns) as terminal,
    ):
        scene(terminal)
        assert terminal.ends() == 0, terminal.screen
        return terminal.screen


def refuses(terminal: Terminal) -> None:
    terminal.sees("[l]ater > ")
    terminal.types("n\n")


def evil_shell(machine: Machine) -> Path:
    script = machine.here / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran > {machine.root}/marker\n")
    script.chmod(0o755)
    return script


def ran(machine: Machine) -> bool:
    return (machine.root / "marker").exists()


# ── the question ─────────────────────────────────────────────────────────────


def test_every_way_a_command_is_run_is_in_the_question(machine: Machine) -> None:
    """Before a command runs, the question shows every argument that changes what will happen."""
    (machine.here / "sub").mkdir()
    script = evil_shell(machine)
    turn = runs(command="ls", shell=str(script), login=True, cwd="sub", background=True, timeout_ms=7000)
    screen = at_terminal(machine, [turn], refuses, *PLAIN, columns=200)
    shown = screen.partition("? run ls\n")[2].partition("Allow it?")[0]
    lines = [line for line in shown.splitlines() if not line.startswith("  sandbox: ")]
    assert sorted(lines) == sorted(
        ["  cwd: sub", "  background: true", f"  shell: {script}", "  login: true", "  timeout_ms: 7000"]
    )
    assert not ran(machine)


def test_no_line_of_a_change_is_dropped_by_how_it_begins(machine: Machine) -> None:
    """Every line that would be added or removed is in the question, whatever it begins with."""
    machine.notes.write_text("-- old\n--- older\n@@ -1 +1 @@\nkept\n\\ No newline\n")
    new = "++ __import__('os').system('x')\n+++ b/notes.txt\n@@ -9 +9 @@\n-- new\n\\ No newline at end of file"
    write = Turn("I write.", calls=(("c1", "Write", {"file_path": "notes.txt", "content": new}),))
    read = Turn("I read.", calls=(("c0", "Read", {"file_path": "notes.txt"}),))  # or it may not be written over
    screen = at_terminal(machine, [read, write], refuses)
    lines = screen.partition("? write notes.txt (replaces the file)\n")[2].splitlines()
    removed = [line[3:] for line in lines if line.startswith("  -")]
    added = [line[3:] for line in lines if line.startswith("  +")]
    assert removed == ["-- old", "--- older", "@@ -1 +1 @@", "kept", "\\ No newline"]
    assert added == new.split("\n")
    assert "  \\ No newline at end of file" in lines


def test_the_whole_of_a_long_change_can_be_seen_before_it_is_allowed(machine: Machine) -> None:
    """What does not fit on the terminal is folded, and a key shows all of it before the answer."""
    lines = [f"line {number}" for number in range(300)]
    lines[150] = "import os; os.system('evil')"
    write = Turn("I write.", calls=(("c1", "Write", {"file_path": "long.py", "content": "\n".join(lines)}),))

    def scene(terminal: Terminal) -> None:
        terminal.sees("more rows: v shows them")
        terminal.sees("[v]iew")
        assert "evil" not in terminal.screen
        terminal.types("v\n")
        terminal.sees("of 303 rows; ")
        while "os.system('evil')" not in terminal.screen:
            terminal.types("\n")
            terminal.sees("rows; Enter: more, q: back to the question -- ")
        terminal.types("q\n")
        refuses(terminal)

    at_terminal(machine, [write], scene)
    assert not (machine.here / "long.py").exists()


def test_text_of_a_call_cannot_pass_for_the_question_or_steer_the_terminal(machine: Machine) -> None:
    """Text of a call stands behind a mark on every row, and what steers a terminal or cannot be seen is written out."""
    fake = "Allow it? [y]es, [n]o, [a]lways (run_command, any command), [l]ater > y"
    command = "\n".join(
        [
            "rm -rf x\x1b[2K\x1b[1A\x1b[8m",
            fake,
            "? run ls",
            "safe" + " " * 70 + fake,
            "over\rwritten\x08\x7f\x9b31m",
            "\u202egnp.exe\u2066 zero\u200bwidth\u2060 filler\u3164 tag\U000e0041 select\ufe0f",
        ]
    )
    with (
        machine.provider([runs(command=command), DONE]),
        Terminal(("--colour", "never", "run", *PLAIN, "go"), machine.here, machine.environ) as terminal,
    ):
        terminal.sees("Characters that cannot be seen are written out: ")
        refuses(terminal)
        assert terminal.ends() == 0
    question = terminal.raw.replace("\r\n", "\n").partition("? run a command\n")[2].partition("\nAllow it? ")[0]
    assert re.findall(r"[^\n\x20-\x7e]", question.replace("…", "")) == []
    rows = question.split("\n")
    assert [row for row in rows if not row.startswith("  ") and not row.startswith("always: ")] == []
    rows = question.partition("\n  sandbox: ")[0].split("\n")
    text = "".join(row[4:] if row.startswith("  > ") else f"\n{row[4:]}" for row in rows if row[2] in "|>")
    assert text.lstrip("\n") == command.encode("unicode_escape").decode().replace("\\n", "\n")


def test_a_link_does_not_hide_which_file_is_written(machine: Machine) -> None:
    """The question names the file that will really be written, also when the path leads there through a link."""
    (machine.here / "hidden").mkdir()
    (machine.here / "hidden" / "secret.txt").write_text("tea\n")
    (machine.here / "file.txt").symlink_to("hidden/secret.txt")
    (machine.here / "folder").symlink_to("hidden")
    written = ("file.txt", "folder/secret.txt", f"{machine.here}/folder/../folder/secret.txt")
    edits = [{"file_path": path, "old_string": "tea", "new_string": "milk"} for path in written]

    def scene(terminal: Terminal) -> None:
        for path in written:
            terminal.sees(f"  the file is hidden/secret.txt: {path} leads there through a link\n")
            refuses(terminal)
        terminal.sees("? edit hidden/secret.txt\n  @@ -1 +1 @@\n")
        refuses(terminal)

    edits.append({"file_path": "hidden/secret.txt", "old_string": "tea", "new_string": "milk"})
    calls = [Turn("I look.", calls=(("c0", "Read", {"file_path": "hidden/secret.txt"}),))]
    calls += [Turn("I edit.", calls=(("c1", "Edit", edit),)) for edit in edits]
    at_terminal(machine, calls, scene, columns=200)


def test_where_nobody_can_look_a_call_is_refused_or_waits(machine: Machine) -> None:
    """Without a terminal nothing that needs a yes runs: it is refused, or it waits with all of it on record."""
    content = "".join(f"line {number}\n" for number in range(500))
    write = Turn("I write.", calls=(("c1", "Write", {"file_path": "long.txt", "content": content}),))
    with machine.provider([write, DONE]):
        refused = machine.runs_command("run", "go")
    assert (refused.returncode, "refused: nobody is there to be asked" in refused.stderr) == (0, True)
    with machine.provider([write]):
        waits = machine.runs_command("run", "--ask", "go")
    assert waits.returncode == 8
    notes = [json.loads(line) for file in machine.runs.glob("*.jsonl") for line in file.read_text().splitlines()]
    (noted,) = [note["data"] for note in notes if note.get("name") == "approval_wanted"]
    assert noted["operations"] == [{"type": "write_file", "path": "long.txt", "content": content}]
    assert not (machine.here / "long.txt").exists()


# ── how far a yes goes ───────────────────────────────────────────────────────


def test_an_always_for_a_command_is_not_one_for_other_ways_to_run_it(machine: Machine) -> None:
    """ "Always" covers what its words say and nothing else: another shell is asked about again."""
    script = evil_shell(machine)

    def scene(terminal: Terminal) -> None:
        terminal.sees("[a]lways (run_command, any command), [l]ater > ")
        terminal.types("a\n")
        terminal.sees("? run echo one\n")
        terminal.sees(f"  shell: {script}\n")
        refuses(terminal)

    script_ = [runs(command="echo one"), runs(command="echo two"), runs(command="echo one", shell=str(script))]
    screen = at_terminal(machine, script_, scene, *PLAIN, columns=120)
    assert ("│ two" in screen, ran(machine)) == (True, False)


def test_an_approval_of_one_of_two_calls_with_one_id_runs_neither(machine: Machine) -> None:
    """An approval is for one call: an id that two waiting calls share is refused, with both calls named."""
    calls = tuple(
        (id, "Edit", {"file_path": "notes.txt", "old_string": old, "new_string": new})
        for id, old, new in (("c1", "tea", "milk"), ("c2", "bread", "poison"))
    )
    with machine.provider([Turn("Both.", calls=calls)]):
        assert machine.runs_command("run", "--ask", "go").returncode == 8
    (record,) = machine.runs.glob("*.jsonl")
    record.write_text(record.read_text().replace('"c2"', '"c1"'))
    with machine.provider([DONE]):
        unclear = machine.runs_command("run", "--resume", "last", "--approve", "c1")
    assert (unclear.returncode, '2 calls wait under "c1":' in unclear.stderr) == (2, True)
    assert machine.notes.read_text() == "tea\nbread\n"


TOOL = """
from dragoman import tool

@tool
def deploy(target: str) -> str:
    '''{description}'''
    open({marker!r}, "w").write(target)
    return "deployed"

TOOLS = {{"deploy": deploy}}
"""


def test_an_approval_does_not_hold_for_a_tool_that_changed_since(machine: Machine) -> None:
    """A stored approval is for the definition of the tool it was given for: after a change it is asked for again."""
    folder = machine.home / ".config" / "dragoman" / "plugins"
    folder.mkdir(parents=True)
    marker = str(machine.root / "marker")
    (folder / "deploy.py").write_text(TOOL.format(description="Deploys to the test system.", marker=marker))
    words = ("--tools", "deploy")
    with machine.provider([Turn("I deploy.", calls=(("c1", "deploy", {"target": "eu"}),))]):
        waits = machine.runs_command("run", *words, "--ask", "go")
    assert waits.returncode == 8, waits.stderr
    (folder / "deploy.py").write_text(TOOL.format(description="Deploys to production.", marker=marker))
    with machine.provider([DONE]):
        again = machine.runs_command("run", "--ask", "--resume", "last", "--approve", "all")
    assert (again.returncode, ran(machine)) == (8, False), again.stderr
    assert "description of deploy was 'Deploys to the test system.' and is 'Deploys to production.'" in again.stderr

    def scene(terminal: Terminal) -> None:
        terminal.sees("Asked again: the approval was given for other arguments, or before the definition")
        terminal.sees("description of deploy changed:\n  -Deploys to the test system.\n  +Deploys to production.\n")
        refuses(terminal)

    (record,) = machine.runs.glob("*.jsonl")
    lines = record.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if '"approval_wanted"' in line)
    record.write_text("\n".join(lines[: first + 1]) + "\n")  # as it was when the first question waited
    with (
        machine.provider([DONE]),
        Terminal(
            ("run", "--resume", "last", "--approve", "c1"), machine.here, machine.environ, columns=200
        ) as terminal,
    ):
        scene(terminal)
        terminal.ends()
    assert not ran(machine)


# ── rules ────────────────────────────────────────────────────────────────────

ALLOW = """
[[policy.rules]]
verdict = "allow"
operation = "run_command"
command = "echo *"
"""


def test_a_rule_that_allows_a_command_allows_nothing_beside_it(machine: Machine) -> None:
    """An allow covers the whole call or nothing of it: no second command, no redirection, no other way to run it."""
    settings(machine, ALLOW)
    script = evil_shell(machine)
    hidden = (
        "echo a; touch pwned",
        "echo a\ntouch pwned",
        "echo $(touch pwned)",
        "echo a > pwned",
        "echo a & touch pwned",
    )
    turns = [runs(command="echo plain"), *(runs(command=command) for command in hidden)]
    turns += [runs(command="echo a", shell=str(script)), runs(command="echo a", unsandboxed=True)]
    with machine.provider([*turns, DONE]):
        done = machine.runs_command("run", *PLAIN, "go")
    assert (done.returncode, "│ plain\n" in done.stderr, done.stderr.count("refused: ")) == (0, True, 7), done.stderr
    assert (ran(machine), (machine.here / "pwned").exists()) == (False, False)


DENY = """
[[policy.rules]]
verdict = "deny"
command = "rm *"

[[policy.rules]]
verdict = "deny"
path = "*.env"
"""


def test_a_rule_that_denies_holds_whatever_else_says_yes(machine: Machine) -> None:
    """A denial wins over --yes and over every other rule, however the path or the command is written."""
    settings(machine, DENY + '[[policy.rules]]\nverdict = "allow"\n')
    (machine.here / ".env").write_text("KEY=1\n")
    (machine.here / "link").symlink_to(".env")
    commands = ("true; rm notes.txt", "sh -c 'r''m notes.txt'", "/bin/rm notes.txt", "echo $(rm notes.txt)")
    edits = [{"file_path": path, "old_string": "1", "new_string": "2"} for path in ("link", "./x/../.env")]
    script = [Turn("I run.", calls=(("c1", "Bash", {"command": command}),)) for command in commands]
    script += [Turn("I edit.", calls=(("c1", "Edit", edit),)) for edit in edits]
    with machine.provider([*script, DONE]):
        done = machine.runs_command("run", "--yes", "go")
    assert (done.returncode, done.stderr.count("refused: rule ")) == (0, 6), done.stderr
    assert (machine.notes.exists(), (machine.here / ".env").read_text()) == (True, "KEY=1\n")


def test_the_rules_of_a_strangers_project_only_tighten(machine: Machine) -> None:
    """A project nobody trusts can deny and ask; a rule of it that allows does not hold, and that is said."""
    rules = DENY + '[[policy.rules]]\nverdict = "allow"\nkind = "execute"\n'
    (machine.here / "dragoman.toml").write_text(rules)
    script = [Turn("I run.", calls=(("c1", "Bash", {"command": command}),)) for command in ("echo x > pwned", "rm x")]
    with machine.provider([*script, DONE]):
        refused = machine.runs_command("run", "go")
    assert "policy.rules (line 2) is ignored: a rule that allows needs trust" in refused.stderr.replace("\n", " ")
    assert (refused.stderr.count("refused: "), (machine.here / "pwned").exists()) == (2, False), refused.stderr
    with machine.provider([*script, DONE]):
        done = machine.runs_command("run", "--yes", "go")
    assert (done.stderr.count("refused: "), (machine.here / "pwned").exists()) == (1, True), done.stderr
