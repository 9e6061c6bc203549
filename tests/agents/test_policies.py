"""Policies in agent files: what is written, what holds, and that nothing ever becomes looser by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.agents import Agent, parse_agent, policy_for, sandbox_for
from dragoman.config import Sandbox
from dragoman.engine import Approval, ToolPolicy
from dragoman.engine.rules import verdict_on
from dragoman.errors import DefinitionError
from dragoman.model import Call, NativeCall, operations as op
from dragoman.tools import Tool


def policy_of(text: str) -> Any:
    return parse_agent(f"---\npolicy: {text}\n---\n", path="one.md").policy


@pytest.mark.parametrize(
    "text, rules",
    [
        ("{allow: [read]}", [{"verdict": "allow", "kind": "read"}]),
        ("{ask: run_command}", [{"verdict": "ask", "operation": "run_command"}]),
        ("{deny: ['*']}", [{"verdict": "deny"}]),
        ("{deny: ['path:secret/**', 'command:*sudo*']}", [
            {"verdict": "deny", "path": "secret/**"},
            {"verdict": "deny", "command": "*sudo*"},
        ]),
        ("{ask: ['tool:my_*', 'operation:edit_*', 'kind:f*']}", [
            {"verdict": "ask", "tool": "my_*"},
            {"verdict": "ask", "operation": "edit_*"},
            {"verdict": "ask", "kind": "f*"},
        ]),
        ("{allow: [vfs_read]}", [{"verdict": "allow", "operation": "read_file"}]),
        ("{allow: [github/list_issues]}", [{"verdict": "allow", "tool": "mcp__github__list_issues"}]),
        ("{allow: [{operation: run_command, command: 'git status*'}]}", [
            {"verdict": "allow", "operation": "run_command", "command": "git status*"},
        ]),
    ],
)  # fmt: skip
def test_a_rule_is_said_by_kind_operation_tool_path_or_command(text: str, rules: list[dict[str, str]]) -> None:
    assert policy_of(text) == {"approval": rules}
    ToolPolicy.read(policy_of(text))


def test_the_narrower_rule_comes_first_and_among_equals_the_stricter() -> None:
    assert policy_of(
        "{allow: [execute, 'command:git status*', read_file], ask: ['*', run_command, 'command:git *'], default: deny}"
    ) == {
        "default": "deny",
        "approval": [
            {"verdict": "ask", "command": "git *"},
            {"verdict": "allow", "command": "git status*"},
            {"verdict": "ask", "operation": "run_command"},
            {"verdict": "allow", "operation": "read_file"},
            {"verdict": "allow", "kind": "execute"},
            {"verdict": "ask"},
        ],
    }


def test_rules_written_out_come_before_those_written_short() -> None:
    assert policy_of("{allow: ['*'], approval: [{verdict: ask, kind: write}]}") == {
        "approval": [{"verdict": "ask", "kind": "write"}, {"verdict": "allow"}]
    }


def test_a_file_nobody_vouches_for_is_told_what_of_it_does_not_hold() -> None:
    agent = Agent(
        name="a",
        policy={
            "default": "allow",
            "max_iterations": 50,
            "max_parallel": 1,
            "timeout": 5,
            "approval": [{"verdict": "allow", "kind": "write"}, {"verdict": "deny", "path": "*.env"}],
        },
    )
    base = ToolPolicy(default="ask", approval=(Approval("allow", kind="read"),))
    held, refused = policy_for(agent, base, trusted=False)
    assert held == ToolPolicy(
        default="allow",
        approval=(
            Approval("allow", kind="write", source="the agent a"),
            Approval("deny", path="*.env", source="the agent a"),
        ),
        max_parallel=1,
        timeout=5.0,
        within=base,
    )
    assert refused == (
        "policy.max_iterations: 50 is looser than 20",
        "policy.default: 'allow' is looser than 'ask'",
        "policy.allow: kind=write does not loosen what your own rules say",
    )


@pytest.mark.parametrize(
    "rule,base,refused",
    [
        ({"kind": "read"}, {"default": "allow"}, 0),
        ({"kind": "read"}, {"default": "ask", "approval": [Approval("allow", kind="read")]}, 0),
        ({"operation": "read_file"}, {"default": "ask", "approval": [Approval("allow", kind="read")]}, 0),
        ({"kind": "read", "path": "a/*"}, {"default": "ask", "approval": [Approval("allow", kind="read")]}, 0),
        ({"kind": "read"}, {"default": "ask", "approval": [Approval("allow", kind="read", path="a/*")]}, 1),
        ({"kind": "write"}, {"default": "ask", "approval": [Approval("allow", kind="read")]}, 1),
        ({"kind": "read"}, {"default": "ask", "approval": [Approval("ask", kind="read")]}, 1),
        ({}, {"default": "ask", "approval": [Approval("allow", kind="read")]}, 1),
        ({"kind": "read"}, {"default": "allow", "within": ToolPolicy(default="ask")}, 1),
    ],
)
def test_a_rule_is_reported_as_not_holding_only_where_the_user_does_not_allow_that_anyway(
    rule: dict[str, str], base: dict[str, Any], refused: int
) -> None:
    agent = Agent(name="a", policy={"default": "deny", "approval": [{"verdict": "allow", **rule}]})
    policy = ToolPolicy(**{**base, "approval": tuple(base.get("approval", ()))})
    _, told = policy_for(agent, policy, trusted=False)
    assert len(told) == refused, told


def test_the_rules_of_a_file_the_user_vouches_for_hold_beside_theirs_and_its_default_in_place_of_theirs() -> None:
    agent = Agent(name="a", policy={"default": "allow", "approval": [{"verdict": "allow", "kind": "write"}]})
    base = ToolPolicy(default="ask", approval=(Approval("deny", path="*.env"),), max_cost=1.0)
    held, refused = policy_for(agent, base, trusted=True)
    assert (held, refused) == (
        ToolPolicy(
            default="allow",
            approval=(Approval("allow", kind="write", source="the agent a"), Approval("deny", path="*.env")),
            max_cost=1.0,
        ),
        (),
    )


# ── laws ─────────────────────────────────────────────────────────────────────

VERDICTS = st.sampled_from(["allow", "ask", "deny"])
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
PATTERNS = {
    "kind": ["read", "write", "execute", "*"],
    "operation": ["read_file", "write_file", "run_command", "*_file"],
    "tool": ["read_file", "run_*"],
    "path": ["*.env", "src/*", "a.py"],
    "command": ["git *", "git status", "*"],
}
RULES = st.builds(
    lambda verdict, conditions: {"verdict": verdict, **conditions},
    VERDICTS,
    st.fixed_dictionaries({}, optional={name: st.sampled_from(patterns) for name, patterns in PATTERNS.items()}),
)
NUMBERS = st.integers(1, 9)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "default": VERDICTS,
        "approval": st.lists(RULES, max_size=4),
        "enabled": st.booleans(),
        "allowed": st.none() | st.lists(st.sampled_from(["read_file", "write_file", "read_*", "*"]), max_size=3),
        "max_iterations": NUMBERS,
        "max_parallel": NUMBERS,
        "max_repairs": NUMBERS,
        "timeout": st.none() | NUMBERS,
        "max_tokens": st.none() | NUMBERS,
        "max_cost": st.none() | NUMBERS,
        "max_result": st.none() | NUMBERS,
        "results": st.dictionaries(st.sampled_from(["read_file", "run_command"]), NUMBERS, max_size=2),
        "retry": st.builds(lambda times: {"times": times}, NUMBERS),
    },
)
OPERATIONS = (
    op.ReadFile("a.py"),
    op.ReadFile("src/.env"),
    op.WriteFile("src/a.py", "x"),
    op.WriteFile(".env", "x"),
    op.RunCommand("git status"),
    op.RunCommand("git push"),
    op.RunCommand("rm -r ."),
)
TOOLS = {kind: Tool.from_operation(kind, lambda operation: None) for kind in (op.ReadFile, op.WriteFile, op.RunCommand)}


def verdicts(policy: ToolPolicy) -> list[int]:
    found = []
    for operation in OPERATIONS:
        call = Call("c", (operation,), {}, NativeCall("c", "x", {}))
        found.append(STRICTNESS[verdict_on(call, (TOOLS[type(operation)],), policy)[0]])
    return found


def no_more(after: float | None, before: float | None) -> bool:
    return before is None or (after is not None and after <= before)


@given(POLICIES, POLICIES)
def test_nothing_in_a_file_nobody_vouches_for_escalates(stated: dict[str, Any], own: dict[str, Any]) -> None:
    base = ToolPolicy.read(own)
    held, _ = policy_for(Agent(name="a", policy=stated), base, trusted=False)
    assert all(after >= before for after, before in zip(verdicts(held), verdicts(base), strict=True))
    for name in ("max_iterations", "max_parallel", "max_repairs", "timeout", "max_tokens", "max_cost", "max_result"):
        assert no_more(getattr(held, name), getattr(base, name)), name
    assert held.retry.times <= base.retry.times
    for tool in ("read_file", "write_file", "read_other", "run_command"):
        assert no_more(held.longest_result(tool), base.longest_result(tool))
        assert base.allows(tool) or not held.allows(tool)


@given(POLICIES, POLICIES)
def test_a_rule_of_the_user_that_denies_stays_whoever_vouches(stated: dict[str, Any], own: dict[str, Any]) -> None:
    base = ToolPolicy.read({**own, "default": "allow"})
    held, _ = policy_for(Agent(name="a", policy=stated), base, trusted=True)
    pairs = zip(verdicts(held), verdicts(base), strict=True)
    assert all(after == STRICTNESS["deny"] for after, before in pairs if before == STRICTNESS["deny"])


@given(POLICIES, POLICIES)
def test_the_stricter_of_both_holds(stated: dict[str, Any], own: dict[str, Any]) -> None:
    base, wanted = ToolPolicy.read(own), ToolPolicy.read(stated)
    held, _ = policy_for(Agent(name="a", policy=stated), base, trusted=False)
    assert verdicts(held) == [max(pair) for pair in zip(verdicts(base), verdicts(wanted), strict=True)]
    for tool in ("read_file", "write_file", "read_other", "run_command"):
        assert held.allows(tool) == (base.allows(tool) and wanted.allows(tool))


# ── the sandbox ──────────────────────────────────────────────────────────────


def test_a_file_states_a_sandbox_in_a_word_or_a_table() -> None:
    assert parse_agent("---\nname: a\nsandbox: require\n---\n").sandbox == {"mode": "require"}
    table = "{mode: bubblewrap, network: false, hidden: [.env], read_only: [docs], unsandboxed: deny}"
    assert parse_agent(f"---\nname: a\nsandbox: {table}\n---\n").sandbox == {
        "mode": "bubblewrap",
        "network": False,
        "hidden": (".env",),
        "read_only": ("docs",),
        "unsandboxed": "deny",
    }
    assert parse_agent("---\nname: a\n---\n").sandbox == {}


@pytest.mark.parametrize(
    "sandbox, problem",
    [
        ("full", "line 3: sandbox: Invalid enum value 'full'"),
        ("[a]", "line 3: sandbox: must be a table, not ['a']"),
        ("{mode: full}", "line 3: sandbox.mode: Invalid enum value 'full'"),
        ("{network: perhaps}", "line 3: sandbox.network: Expected bool, got str"),
        ("{hide: [x]}", 'line 3: sandbox.hide: there is no key "hide" in a sandbox; known: mode, network,'),
    ],
)
def test_a_wrong_sandbox_is_told_with_its_line(sandbox: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as failure:
        parse_agent(f"---\nname: a\nsandbox: {sandbox}\n---\n")
    (told,) = failure.value.problems
    assert told.startswith(problem)


def test_no_file_makes_a_sandbox_looser() -> None:
    base = Sandbox(mode="require", writable=("/data", "/cache"), hidden=("~/notes",), unsandboxed="ask")
    looser = Agent(
        name="a",
        sandbox={"mode": "auto", "writable": ("/",), "readable": ("~/.ssh",), "unsandboxed": "allow", "hidden": ()},
    )
    assert sandbox_for(looser, base) == (
        base,
        (
            "sandbox.mode: auto is not stricter than require, so only your own settings may set it",
            "sandbox.writable: [/] is not stricter than [/data, /cache], so only your own settings may set it",
            "sandbox.readable: [~/.ssh] is not stricter than [], so only your own settings may set it",
            "sandbox.unsandboxed: allow is not stricter than ask, so only your own settings may set it",
        ),
    )
    stricter = Agent(name="a", sandbox={"network": False, "writable": ("/data",), "hidden": (".env",)})
    assert sandbox_for(stricter, base) == (
        Sandbox(mode="require", network=False, writable=("/data",), hidden=("~/notes", ".env")),
        (),
    )
