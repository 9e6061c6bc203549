"""What the sandbox has to do with a call: what a model is offered, and who says whether a command may leave."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.config import Sandbox
from dragoman.dialects import DIALECTS
from dragoman.engine import Answer, Approval, Executor, Facade, Orchestrator, Question, ToolPolicy
from dragoman.engine.models import engine_for
from dragoman.model import Call, CommandOutcome, Failure, NativeCall, Outcome, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, Shell, Toolset, standard_context
from tests.tools.sandboxes import pretended_bubblewrap

LEAVING = {op.RunCommand: ("unsandboxed",)}
COMMANDS = [TOOLS[name] for name in ("run_command", "read_output", "type_into", "stop_command", "watch_command")]
FILES = [TOOLS[name] for name in ("read_file", "write_file", "move_file", "delete_file")]


@pytest.fixture
def sandboxed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a sandbox is found."""
    program = pretended_bubblewrap(tmp_path_factory.mktemp("bin"))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def versions() -> Iterator[tuple[str, str | None]]:
    for name, dialect in DIALECTS.items():
        yield name, None
        yield from ((name, version) for version in dialect.captured)


SAYS_IT = {
    "claude_code",
    "codex",
    *("plain", "google", "aider", "amp", "cursor", "roo_code"),
    "swe_agent",
    "inspect_ai",
}
"""Vocabularies that can leave the sandbox; those that have no words for commands use the plain ones."""


@pytest.mark.parametrize("name, version", list(versions()))
def test_leaving_the_sandbox_is_offered_only_where_that_is_honoured(name: str, version: str | None) -> None:
    dialect = DIALECTS[name].at(version)
    usual, honoured = (Facade(dialect, Toolset(COMMANDS), honoured=fields).definitions for fields in ({}, LEAVING))
    offered = json.dumps(msgspec.to_builtins(usual)).lower()
    assert [word for word in ("sandbox", "escalat") if word in offered] == []
    # What is offered beyond that is one parameter of the tool for commands, in those words that have it.
    more = [(one, other) for one, other in zip(usual, honoured, strict=True) if one != other]
    for one, other in more:
        before, after = (each.parameters["properties"] for each in (one, other))
        (added,) = after.keys() - before.keys()
        assert "sandbox" in f"{added} {after[added]['description']}".lower()
    assert bool(more) is (name in SAYS_IT and _has_it(name, version))


def _has_it(name: str, version: str | None) -> bool:
    if version is None or name not in {"claude_code", "codex"}:
        return True
    least = (2, 0, 76) if name == "claude_code" else (0, 44, 0)
    return tuple(int(part) for part in version.split(".")) >= least


class Desk:
    """An approver that keeps its questions."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed, self.questions = allowed, list[Question]()

    def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer(self.allowed, by="desk", reason=None if self.allowed else "no")


async def outcome(
    folder: Path, sandbox: Sandbox, policy: ToolPolicy, desk: Desk | None, operation: op.Operation
) -> Outcome:
    async with standard_context(DiskWorkspace(folder), shell=Shell(sandbox=sandbox)) as context:
        executor = Executor(Toolset([*COMMANDS, *FILES]), policy, context, approver=desk)
        call = Call("c", (operation,), NativeCall("c", "run", {}))
        return (await executor.run([call]))[0].outcomes[0]


ALLOWING = (ToolPolicy(), ToolPolicy(default="ask", approval=(Approval("allow", command="*", unsandboxed=True),)))
OUT = op.RunCommand("true", unsandboxed=True)


@pytest.mark.parametrize("policy", ALLOWING)
async def test_a_command_leaves_the_sandbox_only_with_a_yes_of_its_own(
    tmp_path: Path, sandboxed: None, policy: ToolPolicy
) -> None:
    desk = Desk(allowed=True)
    given = await outcome(tmp_path, Sandbox(), policy, desk, OUT)
    assert isinstance(given, CommandOutcome)
    assert given.sandbox == "none: it was asked to run outside"
    (question,) = desk.questions
    assert (question.unsandboxed, question.rule, question.sandbox) == (
        True,
        "it is to run outside the sandbox (sandbox.unsandboxed)",
        "NONE (it asks to run outside: it could read and change everything that you can)",
    )
    for refusing in (Desk(allowed=False), None):
        refused = await outcome(tmp_path, Sandbox(), policy, refusing, OUT)
        assert isinstance(refused, Failure)
        assert refused.kind == "denied"


@pytest.mark.parametrize("policy", ALLOWING)
async def test_the_settings_say_whether_a_command_may_leave(
    tmp_path: Path, sandboxed: None, policy: ToolPolicy
) -> None:
    desk = Desk(allowed=True)
    denied = await outcome(tmp_path, Sandbox(unsandboxed="deny"), policy, desk, OUT)
    assert isinstance(denied, Failure)
    assert "it is to run outside the sandbox (sandbox.unsandboxed)" in denied.message
    allowed = await outcome(tmp_path, Sandbox(unsandboxed="allow"), policy, desk, OUT)
    assert isinstance(allowed, CommandOutcome)
    assert desk.questions == []


async def test_a_rule_that_denies_is_stronger_than_a_yes(tmp_path: Path, sandboxed: None) -> None:
    desk = Desk(allowed=True)
    policy = ToolPolicy(approval=(Approval("deny", kind="execute"),))
    assert isinstance(await outcome(tmp_path, Sandbox(), policy, desk, OUT), Failure)
    assert desk.questions == []


async def test_where_there_is_no_sandbox_there_is_none_to_leave(tmp_path: Path) -> None:
    desk = Desk(allowed=True)
    given = await outcome(tmp_path, Sandbox(mode="off", unsandboxed="deny"), ToolPolicy(), desk, OUT)
    assert (isinstance(given, CommandOutcome), desk.questions) == (True, [])
    await outcome(tmp_path, Sandbox(mode="off"), ToolPolicy(default="ask"), desk, OUT)
    (question,) = desk.questions
    assert (question.unsandboxed, question.sandbox) == (False, "none (sandbox.mode is off)")


async def test_a_question_says_what_a_command_will_run_in(tmp_path: Path, sandboxed: None) -> None:
    desk = Desk(allowed=True)
    for operation in (op.RunCommand("true"), op.WatchCommand("true"), op.ReadOutput("1")):
        await outcome(tmp_path, Sandbox(), ToolPolicy(default="ask"), desk, operation)
    what = "writes only in the workspace and a temporary folder, network on, secrets in the home folder hidden"
    confined = f"bubblewrap ({what})"
    assert [question.sandbox for question in desk.questions] == [confined, confined, None]


STEERING = (
    op.WriteFile(".git/hooks/pre-commit", "evil"),
    op.WriteFile("deep/down/.git/config", "evil"),
    op.WriteFile("link/pre-commit", "evil"),
    op.WriteFile(".GIT/config", "evil"),
    op.MoveFile("evil", ".git/commondir"),
    op.MoveFile(".git", "elsewhere"),
    op.DeleteFile(".git/config"),
    op.WriteFile("dragoman.toml", "evil"),
    op.WriteFile(".dragoman/plugins/evil.py", "evil"),
    op.WriteFile(".mcp.json", "evil"),
)


@pytest.mark.parametrize("operation", STEERING, ids=str)
async def test_a_change_of_what_runs_outside_the_sandbox_leaves_it_too(
    tmp_path: Path, sandboxed: None, operation: op.Operation
) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "link").symlink_to(".git/hooks")
    (tmp_path / "evil").write_text("evil")
    before = files_in(tmp_path)
    for policy in ALLOWING:
        refused = await outcome(tmp_path, Sandbox(unsandboxed="deny"), policy, None, operation)
        assert isinstance(refused, Failure)
        assert "it changes what runs outside the sandbox: " in refused.message
        desk = Desk(allowed=False)
        await outcome(tmp_path, Sandbox(), policy, desk, operation)
        assert [(one.unsandboxed, one.sandbox) for one in desk.questions] == [(True, None)]
    assert files_in(tmp_path) == before
    desk = Desk(allowed=False)
    await outcome(tmp_path, Sandbox(mode="off"), ToolPolicy(default="ask"), desk, operation)
    assert [one.unsandboxed for one in desk.questions] == [False], "without a sandbox it is a change as any other"


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_other_changes_and_reading_are_as_they_were(tmp_path: Path, sandboxed: None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for operation in (op.WriteFile(".github/x.yml", "x"), op.WriteFile(".gitignore", "x"), op.ReadFile(".git/HEAD")):
        given = await outcome(tmp_path, Sandbox(unsandboxed="deny"), ToolPolicy(), None, operation)
        assert not isinstance(given, Failure)


def orchestrator_for(context: Context | None) -> Orchestrator:
    engine, model = engine_for("anthropic:claude-sonnet-4-5", api_key="none")
    return Orchestrator(engine, COMMANDS, model_name=model, context=context)


def offered(orchestrator: Orchestrator) -> dict[str, Any]:
    definitions: Any = orchestrator.facade_of().definitions
    found: dict[str, Any] = next(one.parameters["properties"] for one in definitions if one.name == "Bash")
    return found


@pytest.mark.parametrize(
    "mode, unsandboxed, there",
    [
        ("auto", "ask", True),
        ("auto", "allow", True),
        ("auto", "deny", False),
        ("off", "ask", False),
    ],
)
async def test_a_model_is_offered_to_leave_a_sandbox_that_is_there(
    tmp_path: Path, sandboxed: None, mode: Any, unsandboxed: Any, there: bool
) -> None:
    shell = Shell(sandbox=Sandbox(mode=mode, unsandboxed=unsandboxed))
    async with standard_context(DiskWorkspace(tmp_path), shell=shell) as context:
        orchestrator = orchestrator_for(context)
        assert ("dangerouslyDisableSandbox" in offered(orchestrator)) is there


def test_without_a_shell_of_its_own_nothing_is_said_of_a_sandbox(tmp_path: Path) -> None:
    for context in (None, Context()):
        orchestrator = orchestrator_for(context)
        assert "dangerouslyDisableSandbox" not in offered(orchestrator)
