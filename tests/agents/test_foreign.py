"""Agent files of other clients: their words become ours, and what has no meaning here is kept."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.agents import Agent, AgentLimits, parse_agent, remarks
from dragoman.agents.tool_words import words_of
from dragoman.errors import DefinitionError


def read(path: str, text: str) -> Agent:
    return parse_agent(textwrap.dedent(text).lstrip(), path=path)


def problems_of(path: str, text: str) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as raised:
        read(path, text)
    return raised.value.problems


# ── Claude Code ──────────────────────────────────────────────────────────────

CLAUDE = ".claude/agents/reviewer.md"


@pytest.mark.parametrize(
    "stated, given, unmapped",
    [("true", False, {}), ("false", True, {}), ("maybe", True, {"omitClaudeMd": "maybe"})],
)
def test_an_agent_of_claude_code_may_leave_out_the_projects_instructions(
    stated: str, given: bool, unmapped: dict[str, str]
) -> None:
    agent = read(CLAUDE, f"---\nname: a\ndescription: d\nomitClaudeMd: {stated}\n---\nx\n")
    assert (agent.project_instructions, agent.unmapped) == (given, unmapped)


def test_an_agent_of_claude_code() -> None:
    text = """
        ---
        name: reviewer
        description: Use it when: something changed. # not a comment for them
        tools: Read, Grep, Bash(git diff:*, git log:*), mcp__github__*, mcp__linear, ExitPlanMode
        disallowedTools: [Write, "mcp__github__delete_repo"]
        model: claude-sonnet-4-5
        permissionMode: acceptEdits
        maxTurns: 7
        color: red
        skills: review
        mcpServers:
          - slack
          - github: {command: github-mcp}
        ---

        Review it.
    """
    agent = read(CLAUDE, text)
    assert agent == Agent(
        name="reviewer",
        description="Use it when: something changed. # not a comment for them",
        instructions="Review it.",
        model="anthropic:claude-sonnet-4-5",
        tools=("read_file", "search_text", "run_command", "github/*", "linear/*"),
        policy={
            "default": "ask",
            "approval": [
                {"verdict": "ask", "operation": "run_command"},
                {"verdict": "deny", "operation": "write_file"},
                {"verdict": "deny", "tool": "mcp__github__delete_repo"},
                {"verdict": "allow", "kind": "write"},
            ],
        },
        limits=AgentLimits(max_turns=7),
        mcp_servers={"github": {"command": "github-mcp"}},
        path=CLAUDE,
        format="claude_code",
        unmapped={
            "tools": ["Bash(git diff:*, git log:*)", "ExitPlanMode"],
            "mcpServers": ["slack"],
            "color": "red",
            "skills": "review",
        },
    )
    assert remarks(agent) == (
        "tools: Bash(git diff:*, git log:*) has no meaning here, or not all of it",
        "tools: ExitPlanMode has no meaning here, or not all of it",
        "mcpServers: slack has no meaning here",
        "color: has no meaning here",
        "skills: has no meaning here",
    )


@pytest.mark.parametrize(
    "said, tools",
    [
        ("", None),
        ("tools:", ()),
        ("tools: '*'", None),
        ("tools: *", None),
        ("tools: Read Edit", ("read_file", "edit_file")),
        ("tools: [Read, 'Glob, Grep']", ("read_file", "find_files", "search_text")),
        ("tools: Task", ("spawn_agent",)),
    ],
)
def test_tools_are_taken_apart_as_claude_code_does(said: str, tools: tuple[str, ...] | None) -> None:
    assert read(CLAUDE, f"---\nname: a\ndescription: d\n{said}\n---\n").tools == tools


@pytest.mark.parametrize(
    "mode, policy",
    [
        ("default", {"default": "ask"}),
        (
            "plan",
            {"approval": [{"verdict": "deny", "kind": "write"}, {"verdict": "deny", "kind": "execute"}]},
        ),
        (
            "dontAsk",
            {
                "default": "deny",
                "approval": [{"verdict": "allow", "kind": kind} for kind in ("read", "search", "plan")],
            },
        ),
        ("bypassPermissions", {"default": "allow"}),
        ("auto", {"default": "ask"}),
    ],
)
def test_the_permission_mode_is_a_policy(mode: str, policy: dict[str, Any]) -> None:
    agent = read(CLAUDE, f"---\nname: a\ndescription: d\npermissionMode: {mode}\n---\n")
    assert agent.policy == policy
    assert dict(agent.unmapped) == ({"permissionMode": "auto"} if mode == "auto" else {})


def test_a_model_that_only_its_client_knows_is_kept() -> None:
    agent = read(CLAUDE, "---\nname: a\ndescription: d\nmodel: sonnet\n---\nx\n")
    assert (agent.model, agent.unmapped) == (None, {"model": "sonnet"})
    assert remarks(agent) == (
        'model: which one "sonnet" is, is not known here; name it as provider:model with --model',
    )
    assert read(CLAUDE, "---\nname: a\ndescription: d\nmodel: inherit\n---\nx\n").unmapped == {}


@pytest.mark.parametrize("model", ["opus[1m]", "Sonnet"])
def test_an_alias_is_one_in_every_form(model: str) -> None:
    agent = read(CLAUDE, f"---\nname: a\ndescription: d\nmodel: {model}\n---\nx\n")
    assert (agent.model, agent.unmapped) == (None, {"model": model})


@pytest.mark.parametrize(
    "text",
    [
        "Use it when: it rains # or snows",
        "[Beta] Use it: now",
        "*Important* to use",
        "!important to use",
        "@reviewer looks",
        "`lint` and more",
        "%done of it",
        "'tis the season: now",
    ],
)
def test_a_text_that_is_no_yaml_is_read_as_claude_code_does(text: str) -> None:
    agent = read(CLAUDE, f"---\nname: a\ndescription: {text}\nmodel:\tinherit\ncolor: >\n  red: or\n  so\n---\nx\n")
    assert (agent.description, agent.model, agent.unmapped) == (text, None, {"color": "red: or so\n"})


def test_servers_of_claude_code_have_our_keys() -> None:
    agent = read(
        CLAUDE,
        """
        ---
        name: a
        description: d
        mcpServers:
          - slack
          - git: {type: stdio, command: git-mcp, args: [x], env: {A: b}, alwaysLoad: true}
          - far: {type: http, url: "http://127.0.0.1/mcp", headers: {A: b}}
            old: {type: sse, url: "http://127.0.0.1/sse"}
        ---
        x
        """,
    )
    assert agent.mcp_servers == {
        "git": {"command": "git-mcp", "args": ["x"], "env": {"A": "b"}},
        "far": {"url": "http://127.0.0.1/mcp", "headers": {"A": "b"}},
        "old": {"url": "http://127.0.0.1/sse", "transport": "sse"},
    }
    assert agent.unmapped == {"mcpServers": ["slack", "git.alwaysLoad"]}
    assert remarks(agent) == (
        "mcpServers: slack has no meaning here",
        "mcpServers: git.alwaysLoad has no meaning here",
    )
    wrong = "---\nname: a\ndescription: d\nmcpServers:\n  - git: {args: [x]}\n---\nx\n"
    assert problems_of(CLAUDE, wrong) == ('line 5: mcpServers[0].git: needs a "command" to start, or a "url" to reach',)


def test_what_claude_code_would_pass_over_is_a_problem() -> None:
    assert problems_of(CLAUDE, "---\ntools: Reed, Grep\nmaxTurns: 0\nmcpServers: 3\n---\n") == (
        'line 1: it has no "name", which every such file has',
        'line 1: it has no "description", which every such file has',
        'line 2: tools: there is no tool "Reed". Did you mean "Read"?',
        "line 3: maxTurns: must be 1 or more, not 0",
        "line 4: mcpServers: must be a list of servers, not 3",
    )
    assert problems_of(CLAUDE, "# Notes\n") == ("line 1: it has no frontmatter, so Claude Code takes it for no agent",)


def test_a_key_that_its_own_client_does_not_know_is_likely_a_mistake() -> None:
    agent = read(CLAUDE, "---\nname: a\ndescription: d\npermision_mode: plan\ncolor: red\n---\nx\n")
    assert remarks(agent) == (
        'permision_mode: claude_code has no such key, and neither have we. Did you mean "permissionMode"?',
        "color: has no meaning here",
    )


# ── opencode ─────────────────────────────────────────────────────────────────

OPENCODE = ".opencode/agents/team/reviewer.md"


def test_an_agent_of_opencode() -> None:
    agent = read(
        OPENCODE,
        """
        ---
        description: Reviews.
        mode: subagent
        model: google/gemini-3-pro
        temperature: 0.1
        steps: 5
        tools: {write: false, github_*: false}
        permission:
          bash: {"*": ask, "git diff": allow, "git push *": deny}
          webfetch: deny
          external_directory: deny
        ---
        Review it.
        """,
    )
    assert agent == Agent(
        name="team/reviewer",
        description="Reviews.",
        instructions="Review it.",
        model="gemini:gemini-3-pro",
        policy={
            "approval": [
                {"verdict": "deny", "operation": "edit_file"},
                {"verdict": "deny", "operation": "write_file"},
                {"verdict": "deny", "operation": "delete_file"},
                {"verdict": "deny", "operation": "move_file"},
                {"verdict": "deny", "operation": "run_command", "command": "git push *"},
                {"verdict": "deny", "operation": "run_command", "command": "git push"},
                {"verdict": "allow", "operation": "run_command", "command": "git diff"},
                {"verdict": "ask", "operation": "run_command"},
                {"verdict": "deny", "operation": "fetch_page"},
                {"verdict": "deny", "tool": "mcp__github__*"},
            ]
        },
        limits=AgentLimits(max_turns=5),
        path=OPENCODE,
        format="opencode",
        unmapped={"permission": ["external_directory: deny"], "mode": "subagent", "temperature": 0.1},
    )


def test_opencode_denies_all_but_what_it_names() -> None:
    agent = read(
        OPENCODE,
        """
        ---
        permission: {"*": deny, read: allow, grep: ask, bash: {"*": deny, "git *": allow}, docs_*: allow}
        ---
        x
        """,
    )
    assert (agent.tools, agent.policy, agent.unmapped) == (
        ("search_text", "list_mcp_resources", "read_file", "list_directory", "read_mcp_resource", "docs/*"),
        {
            "approval": [
                {"verdict": "ask", "operation": "search_text"},
                {"verdict": "allow", "operation": "list_mcp_resources"},
                {"verdict": "allow", "operation": "read_file"},
                {"verdict": "allow", "operation": "list_directory"},
                {"verdict": "allow", "operation": "read_mcp_resource"},
            ]
        },
        {"permission": ["bash: git *: allow"]},
    )


def test_one_word_decides_for_all_of_opencode() -> None:
    assert read(OPENCODE, "---\npermission: deny\n---\nx\n").tools == ()
    asked = read(OPENCODE, "---\npermission: ask\n---\nx\n").policy["approval"]
    assert {rule["verdict"] for rule in asked} == {"ask"}
    named = {tag for tags in words_of("opencode").values() for tag in tags}
    assert {rule["operation"] for rule in asked} == named


def test_what_opencode_would_not_take_is_a_problem() -> None:
    text = """
        ---
        tools: {reed: true, bash: maybe}
        permission: {edit: never, bash: {"git *": 3}, webfetch: [ask]}
        steps: none
        ---
    """
    assert problems_of(OPENCODE, text) == (
        "line 2: tools.bash: must be true or false, not 'maybe'",
        'line 2: tools.reed: there is no tool "reed". Did you mean "read"?',
        "line 3: permission.edit: must be allow, ask or deny, not 'never'",
        "line 3: permission.bash.git *: must be allow, ask or deny, not 3",
        "line 3: permission.webfetch: must be allow, ask, deny or a table of them, not ['ask']",
        "line 4: steps: must be a whole number, not 'none'",
    )
    lists = "---\ntools: [bash]\npermission: [bash]\n---\n"
    assert problems_of(OPENCODE, lists) == (
        "line 2: tools: must be a table of names with true or false, not ['bash']",
        "line 3: permission: must be allow, ask, deny or a table of them, not ['bash']",
    )


# ── Gemini CLI ───────────────────────────────────────────────────────────────

GEMINI = ".gemini/agents/auditor.md"


def test_an_agent_of_gemini_cli() -> None:
    assert read(
        GEMINI,
        """
        ---
        kind: local
        name: auditor
        description: Audits.
        tools: [read_file, search_file_content, mcp_gh_*, "mcp_*", enter_plan_mode]
        mcp_servers: {gh: {command: gh-mcp}}
        model: gemini-3-pro
        temperature: 0.2
        max_turns: 10
        timeout_mins: 5
        ---
        Audit it.
        """,
    ) == Agent(
        name="auditor",
        description="Audits.",
        instructions="Audit it.",
        model="gemini:gemini-3-pro",
        tools=("read_file", "search_text", "gh/*", "*/*"),
        limits=AgentLimits(max_turns=10, timeout=300.0),
        mcp_servers={"gh": {"command": "gh-mcp"}},
        path=GEMINI,
        format="gemini_cli",
        unmapped={"tools": ["enter_plan_mode"], "temperature": 0.2},
    )


def test_servers_of_gemini_cli_have_our_keys() -> None:
    agent = read(
        GEMINI,
        """
        ---
        name: a
        description: d
        mcp_servers:
          near: {command: near-mcp, cwd: /x, timeout: 5000, trust: true, exclude_tools: [push]}
          far: {http_url: "http://127.0.0.1/mcp", headers: {A: b}}
          old: {url: "http://127.0.0.1/sse"}
          new: {url: "http://127.0.0.1/mcp", type: http}
          wire: {tcp: "127.0.0.1:80"}
        ---
        x
        """,
    )
    assert agent.mcp_servers == {
        "near": {"command": "near-mcp", "cwd": "/x", "timeout": 5.0},
        "far": {"url": "http://127.0.0.1/mcp", "headers": {"A": "b"}},
        "old": {"url": "http://127.0.0.1/sse", "transport": "sse"},
        "new": {"url": "http://127.0.0.1/mcp"},
    }
    assert agent.policy == {"approval": [{"verdict": "deny", "tool": "mcp__near__push"}]}
    assert agent.unmapped == {"mcp_servers": ["near.trust", "wire.tcp"]}


def test_what_gemini_cli_would_not_take_is_a_problem() -> None:
    assert problems_of(
        GEMINI, "---\nname: An Auditor\ntool: [read_file]\ntools: [read_fil]\ntimeout_mins: 0\n---\n"
    ) == (
        'line 1: it has no "description", which every such file has',
        "line 2: name: must be lower-case letters, digits, `-` and `_`, not 'An Auditor'",
        'line 3: tool: there is no key "tool" here; known: kind, name, description, tools, max_turns, timeout_mins, '
        'model, mcp_servers, display_name, temperature. Did you mean "tools"?',
        'line 4: tools[0]: there is no tool "read_fil". Did you mean "read_file"?',
        "line 5: timeout_mins: must be 1 or more, not 0",
    )
    assert problems_of(GEMINI, "---\nkind: remote\nname: a\nagent_card_url: https://a.example\n---\n") == (
        "line 2: kind: an agent on another machine (A2A) is not run from here",
    )


# ── Codex ────────────────────────────────────────────────────────────────────

CODEX = ".codex/agents/explorer.toml"


def test_a_role_of_codex() -> None:
    assert read(
        CODEX,
        '''
        name = "explorer"
        description = "Explores."
        model = "gpt-5.2"
        model_reasoning_effort = "high"
        sandbox_mode = "read-only"
        approval_policy = "never"
        web_search = "disabled"
        nickname_candidates = ["Ada"]
        developer_instructions = """
        Look.
        """

        [mcp_servers.docs]
        url = "https://docs.example/mcp"
        ''',
    ) == Agent(
        name="explorer",
        description="Explores.",
        instructions="Look.",
        model="openai:gpt-5.2",
        policy={
            "approval": [
                {"verdict": "deny", "kind": "write"},
                {"verdict": "ask", "kind": "execute"},
                {"verdict": "deny", "operation": "search_web"},
            ]
        },
        sandbox={"read_only": (".",), "network": False},
        mcp_servers={"docs": {"url": "https://docs.example/mcp"}},
        path=CODEX,
        format="codex",
        unmapped={"approval_policy": "never", "model_reasoning_effort": "high", "nickname_candidates": ["Ada"]},
    )


def test_servers_of_codex_have_our_keys() -> None:
    agent = read(
        CODEX,
        """
        name = "a"
        description = "d"
        developer_instructions = "i"
        [mcp_servers.near]
        command = "near-mcp"
        env_vars = ["HOME"]
        tool_timeout_sec = 60
        startup_timeout_sec = 10
        enabled_tools = ["look"]
        disabled_tools = ["push"]
        [mcp_servers.far]
        url = "http://127.0.0.1/mcp"
        bearer_token_env_var = "TOKEN"
        http_headers = { A = "b" }
        env_http_headers = { C = "D" }
        [mcp_servers.off]
        command = "off-mcp"
        enabled = false
        """,
    )
    assert agent.mcp_servers == {
        "near": {"command": "near-mcp", "env": {"HOME": "${HOME:-}"}, "timeout": 60},
        "far": {
            "url": "http://127.0.0.1/mcp",
            "headers": {"A": "b", "C": "${D:-}", "Authorization": "Bearer ${TOKEN}"},
        },
    }
    assert agent.policy == {
        "approval": [{"verdict": "deny", "tool": "mcp__near__push"}, {"verdict": "ask", "tool": "mcp__near__*"}]
    }
    assert agent.unmapped == {"mcp_servers": ["near.startup_timeout_sec", "near.enabled_tools"]}


def test_a_model_of_a_provider_nobody_knows_is_kept() -> None:
    text = 'name = "a"\ndescription = "d"\ndeveloper_instructions = "i"\nmodel = "m"\nmodel_provider = "acme"\n'
    agent = read(CODEX, text)
    assert (agent.model, agent.unmapped) == (None, {"model": "m", "model_provider": "acme"})


def test_what_codex_would_not_take_is_a_problem() -> None:
    text = 'model = 3\nname = ""\nsandbox_mode = "none"\n[mcp_servers.docs]\nport = 1\n'
    assert problems_of(CODEX, text) == (
        'line 1: it has no "name", which every such file has',
        'line 1: it has no "description", which every such file has',
        'line 1: it has no "developer_instructions", which every such file has',
        "line 1: model: must be text, not 3",
        'line 3: sandbox_mode: there is no sandbox mode "none"; known: read-only, workspace-write, danger-full-access',
        'line 4: mcp_servers.docs: needs a "command" to start, or a "url" to reach',
    )
    (told,) = problems_of(CODEX, 'name = "a"\nname = "b"\n')
    assert told.startswith("line 2: not valid TOML: ")


# ── laws ─────────────────────────────────────────────────────────────────────

LISTS: dict[str, Callable[[list[str]], str]] = {
    "claude_code": lambda names: f"tools: {', '.join(names)}",
    "opencode": lambda names: f"permission: {{'*': deny, {', '.join(f'{name}: allow' for name in names)}}}",
    "gemini_cli": lambda names: f"tools: [{', '.join(names)}]",
}
# One permission of opencode for several of its tools.
TOGETHER = {
    "edit": ("edit", "write", "apply_patch", "multiedit"),
    "read": ("read", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"),
}


@given(st.sampled_from(sorted(LISTS)), st.data())
def test_the_tools_an_agent_lists_are_the_operations_of_its_dialect(format: str, data: st.DataObject) -> None:
    words = words_of(format)
    together = TOGETHER if format == "opencode" else {}
    governed = {one for name, others in together.items() for one in others if one != name}
    names = data.draw(st.lists(st.sampled_from(sorted(words.keys() - governed)), min_size=1, max_size=5, unique=True))
    agent = parse_agent(f"---\nname: a\ndescription: d\n{LISTS[format](names)}\n---\nx", path="one.md", format=format)
    meant = {tag for name in names for word in together.get(name, (name,)) for tag in words[word]}
    assert set(agent.tools or ()) == meant


@given(
    st.sampled_from(sorted(LISTS)),
    st.dictionaries(
        st.from_regex(r"x_[a-z]{1,8}", fullmatch=True), st.integers() | st.text("abc", min_size=1), max_size=4
    ),
)
def test_no_key_is_dropped_in_silence(format: str, beside: dict[str, Any]) -> None:
    rows = "".join(f"{key}: {value!r}\n" for key, value in beside.items())
    text = f"---\nname: a\ndescription: d\n{rows}---\nx"
    if format == "gemini_cli" and beside:  # it takes no key it does not know
        with pytest.raises(DefinitionError) as raised:
            parse_agent(text, path="one.md", format=format)
        assert len(raised.value.problems) == len(beside)
    else:
        assert parse_agent(text, path="one.md", format=format).unmapped == beside
