"""Learning rules: what ran would have been allowed, what was denied would not, and nothing is written unasked."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from dragoman import logs
from dragoman.cli import main
from dragoman.engine import Approval, ToolPolicy
from dragoman.logs import Recorder
from dragoman.model import Call, NativeCall, Result, events as ev, operations as op, outcomes as out
from dragoman.serve.hook import as_toml, learned

RAN = (
    *("git fetch origin", "git diff --stat b.py && ls", "python -m pytest -q", "python -m pytest tests/a.py"),
    *("rm x.o", "rm x.o", "ls -la", "npm test", "make a | tee b"),
)
DENIED = ("npm publish", "npm test")


def recording(path: Path, folder: Path) -> Path:
    with Recorder(path) as record:
        record(ev.SessionStarted(id="e", session="s", client="dragoman", cwd=str(folder)))
        done: list[tuple[op.Operation, out.Outcome]] = []
        done += [(op.RunCommand(line), out.CommandOutcome(0)) for line in RAN]
        done += [(op.RunCommand(line), out.Failure("denied", "no")) for line in DENIED]
        done.append((op.FetchPage("https://docs.python.org/3/"), out.TextOutcome("x")))
        for number, (operation, outcome) in enumerate(done):
            call = Call(str(number), (operation,), NativeCall(str(number), "tool"))
            record(ev.ToolCalled(id=f"c{number}", session="s", call_id=str(number), call=call))
            record(ev.ToolReturned(id=f"r{number}", session="s", result=Result(str(number), (outcome,))))
    return path


def test_rules_are_as_few_and_as_narrow_as_what_ran_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    log = recording(tmp_path / "a.jsonl", tmp_path)
    policy = ToolPolicy(default="allow", unknown_commands="ask", approval=(Approval("ask", kind="fetch"),))
    with contextlib.closing(logs.Query(logs.Index.in_memory(), paths=[str(log)])) as query:
        found = learned(query, logs.Filter(), policy)
    assert [(one.risk, one.rule.command, one.calls) for one in found.proposals] == [
        ("middle", "python -m pytest *", 2),
        ("middle", "git fetch origin", 1),
        ("middle", "make a", 1),
    ], "npm test was denied too, and rm is allowed where no rule is about it"
    # A rule of yours that asks comes first, so another that allows would be of no use.
    assert (found.calls, found.allowed, found.more) == (12, 6, 4)
    assert found.left == (("fetch_page https://docs.python.org/3/", 1),)
    assert as_toml(found.proposals[1].rule) == '[[policy.rules]]\nverdict = "allow"\ncommand = "git fetch origin"\n'


def test_no_rule_is_wider_than_the_project_or_lets_another_program_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen: reading and searching the project, one file elsewhere, and lines of programs that start others or
    read what they name."""
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    lines = ["cat src/a.py", "cat src/b.py", "timeout 5 make a", "timeout 9 make b", "npx tsc", "npx eslint", "seq 1 3"]
    lines += ["npm exec a", "npm exec b", "seq 4 9", "git -C x log", "tar tf a", "tar tf b"]
    project = tmp_path / "project"
    done: list[op.Operation] = [
        *map(op.RunCommand, lines),
        *(op.SearchText("x"), op.SearchText("y", path="src"), op.ReadFile("src/a.py"), op.ReadFile("~/.ssh/config")),
        *(op.ReadFile("/etc/hosts"), op.SearchText("x", path="/etc"), op.ReadMcpResource("file:///a", server="notes")),
    ]
    log = tmp_path / "a.jsonl"
    with Recorder(log) as record:
        record(ev.SessionStarted(id="e", session="s", client="dragoman", cwd=str(project)))
        for number, operation in enumerate(done):
            call = Call(str(number), (operation,), NativeCall(str(number), "tool"))
            record(ev.ToolCalled(id=f"c{number}", session="s", call_id=str(number), call=call))
            result = Result(str(number), (out.TextOutcome("x"),))
            record(ev.ToolReturned(id=f"r{number}", session="s", result=result))
    policy = ToolPolicy(default="ask", unknown_commands="ask")
    with contextlib.closing(logs.Query(logs.Index.in_memory(), paths=[str(log)])) as query:
        found = [(one.risk, one.rule) for one in learned(query, logs.Filter(), policy).proposals]
    commands = {rule.command for _, rule in found if rule.command is not None}
    assert commands == {"seq *", "cat src/a.py", "cat src/b.py"}
    assert {(risk, as_toml(rule)) for risk, rule in found if rule.command is None} == {
        ("low", as_toml(Approval("allow", operation="search_text", outside=False))),
        ("low", as_toml(Approval("allow", kind="read", path=f"{project}/src/*"))),
        ("high", as_toml(Approval("allow", kind="read", path="/etc/hosts"))),
        ("high", as_toml(Approval("allow", kind="search", path="/etc"))),
        ("high", as_toml(Approval("allow", operation="read_mcp_resource", server="notes"))),
    }


def test_rules_are_written_only_with_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"DRAGOMAN_{name}_DIR", str(tmp_path / name))
    settings = tmp_path / "CONFIG" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('# mine\n[[policy.rules]]\nverdict = "deny"\npath = "*.env"')
    log = str(recording(tmp_path / "a.jsonl", tmp_path))
    before = settings.read_text()
    assert (main(["policy", "learn", log]), settings.read_text()) == (0, before)
    assert main(["policy", "learn", log, "--yes"]) == 0
    assert settings.read_text().startswith(before)
    assert settings.read_text().count("[[policy.rules]]") == 4
    assert main(["policy", "learn", log]) == 1, "nothing is left to learn"
    settings.write_text('policy.rules = [{verdict = "deny", path = "*.env"}]\n')
    assert main(["policy", "learn", log, "--yes"]) != 0
    assert settings.read_text() == 'policy.rules = [{verdict = "deny", path = "*.env"}]\n'
