"""A policy within another: of two verdicts the stricter, of two sets of tools what both allow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from dragoman import config
from dragoman.engine import Approval, Executor, Orchestrator, ScriptedEngine, ToolPolicy, verdict_on
from dragoman.model import Call, Failure, NativeCall, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, Toolset

STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
VERDICTS = st.sampled_from(["allow", "ask", "deny"])
RULES = st.builds(
    Approval,
    verdict=VERDICTS,
    kind=st.sampled_from([None, "read", "write", "*"]),
    operation=st.sampled_from([None, "read_file", "write_*"]),
    path=st.sampled_from([None, "a*", "*.txt", "b/*"]),
)
POLICIES = st.builds(ToolPolicy, approval=st.lists(RULES, max_size=3).map(tuple), default=VERDICTS)


def call_of(operation: op.Operation) -> tuple[Call, Any]:
    tag = str(operation.__struct_config__.tag)
    return Call("1", (operation,), NativeCall("1", tag, {})), (TOOLS[tag],)


@given(st.lists(POLICIES, min_size=1, max_size=3), st.sampled_from(["a.txt", "b/c", "b/a.txt"]), st.booleans())
def test_of_all_verdicts_the_strictest_holds(policies: list[ToolPolicy], path: str, writing: bool) -> None:
    import msgspec

    call, tools = call_of(op.WriteFile(path, "x") if writing else op.ReadFile(path))
    bound: ToolPolicy | None = None
    for policy in policies:
        bound = msgspec.structs.replace(policy, within=bound)
    assert bound is not None
    each = [verdict_on(call, tools, policy)[0] for policy in policies]
    assert verdict_on(call, tools, bound)[0] == max(each, key=lambda one: STRICTNESS[one])


@given(
    st.one_of(st.none(), st.lists(st.sampled_from(["read_*", "write_file", "*"])).map(tuple)),
    st.one_of(st.none(), st.lists(st.sampled_from(["read_*", "write_file", "*"])).map(tuple)),
    st.booleans(),
    st.sampled_from(["read_file", "write_file", "run_command"]),
)
def test_a_tool_is_allowed_where_both_allow_it(
    own: tuple[str, ...] | None, outer: tuple[str, ...] | None, enabled: bool, name: str
) -> None:
    around = ToolPolicy(allowed=outer, enabled=enabled)
    assert ToolPolicy(allowed=own, within=around).allows(name) == (
        ToolPolicy(allowed=own).allows(name) and around.allows(name)
    )


async def test_what_the_outer_policy_forbids_is_denied_at_dispatch_and_its_rule_is_told() -> None:
    outer = ToolPolicy(approval=(Approval("deny", path="secret*"),))
    policy = ToolPolicy(approval=(Approval("allow", operation="read_file"),), within=outer)
    context = Context(workspace=MemoryWorkspace({"secret.txt": "x"}))
    call, tools = call_of(op.ReadFile("secret.txt"))
    (result,) = await Executor(Toolset(tools), policy, context).run([call])
    (failure,) = result.outcomes
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.details["rule"]) == ("denied", "rule 1 (path=secret*)")


async def test_files_the_outer_policy_keeps_are_not_found_either() -> None:
    outer = ToolPolicy(approval=(Approval("deny", path="secret*"),))
    context = Context(workspace=MemoryWorkspace({"secret.txt": "tea", "open.txt": "tea"}))
    call, tools = call_of(op.SearchText("tea"))
    (result,) = await Executor(Toolset(tools), ToolPolicy(within=outer), context).run([call])
    assert [match.path for match in result.outcomes[0].matches] == ["open.txt"]  # type: ignore[attr-defined]


def test_what_the_outer_policy_does_not_allow_is_not_offered() -> None:
    policy = ToolPolicy(allowed=("read_file", "write_file"), within=ToolPolicy(allowed=("read_file",)))
    tools = [TOOLS["read_file"], TOOLS["write_file"]]
    prepared = Orchestrator(ScriptedEngine([]), tools, policy, model_name="m").prepare("go")
    assert [one.name for one in prepared.request.definitions] == ["vfs_read"]


# ── rules of a project that nobody trusts ────────────────────────────────────

_rules = st.lists(
    st.fixed_dictionaries(
        {"verdict": VERDICTS},
        optional={
            "kind": st.sampled_from(["execute", "write", "*"]),
            "operation": st.sampled_from(["run_command", "write_file"]),
            "command": st.sampled_from(["ls*", "git *", "*"]),
            "path": st.sampled_from(["*.env", "a*"]),
        },
    ),
    max_size=3,
)
_OPERATIONS = (op.RunCommand("ls -l"), op.RunCommand("git status"), op.WriteFile("a.env", "x"), op.ReadFile("b"))


@given(
    default=VERDICTS,
    of_provider=st.none() | VERDICTS,
    user=_rules,
    project=_rules,
    tool=st.dictionaries(st.sampled_from(["run_command", "write_file"]), VERDICTS),
)
@example(default="deny", of_provider=None, user=[], project=[{"verdict": "ask"}], tool={})
@example(default="ask", of_provider="deny", user=[], project=[], tool={"run_command": "ask"})
def test_rules_of_an_untrusted_project_never_loosen_a_verdict(
    default: str,
    of_provider: str | None,
    user: list[dict[str, str]],
    project: list[dict[str, str]],
    tool: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("law")
    flags: dict[str, object] = {"policy.approval": default, "policy.rules": user}
    if of_provider is not None:
        flags["providers.acme.policy"] = {"default": of_provider}

    def strictness() -> list[int]:
        found = config.load(cwd=folder, environ={"DRAGOMAN_CONFIG_DIR": str(folder / "config")}, flags=flags)
        policy = ToolPolicy.from_settings(found.settings, "acme", "model")
        return [STRICTNESS[verdict_on(*call_of(operation), policy)[0]] for operation in _OPERATIONS]

    alone = strictness()
    rows = ["[[policy.rules]]\n" + "".join(f"{key} = {value!r}\n" for key, value in rule.items()) for rule in project]
    tools = "".join(["[policy.tools]\n", *(f"{name} = {verdict!r}\n" for name, verdict in tool.items())])
    (folder / "dragoman.toml").write_text("".join([tools, *rows]))
    assert all(after >= before for before, after in zip(alone, strictness(), strict=True))
