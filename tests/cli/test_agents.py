from __future__ import annotations

import os

import pytest

from .conftest import Answer, User

GOOD = """---
name: {name}
description: Does {name}.
tools: [read_file]
---
Do {name}.
"""


def test_check_says_ok_or_everything_that_is_wrong(user: User) -> None:
    good = user.write(user.here / "agents" / "good.md", GOOD.format(name="good"))
    bad = user.write(user.here / "agents" / "bad.md", "---\nnam: x\ntools: [reed_file]\n---\nhi\n")
    assert user.types("agents", "check", str(good)) == Answer(0, f"{good}\n  ok\n")
    answer = user.types("agents", "check", str(user.here / "agents"))
    assert answer.code == 1
    assert answer.out.splitlines() == [
        str(bad),
        '  line 2: nam: there is no key "nam" here; known: name, description, profile, project_instructions, model, '
        'dialect, tools, custom_tools, limits, policy, sandbox, mcp_servers. Did you mean "name"?',
        '  line 3: tools[0]: there is no tool "reed_file". Did you mean "read_file"?',
        str(good),
        "  ok",
    ]
    assert answer.err == "1 of 2 files have no problem.\n"


def test_check_tells_of_places_no_parameter_is_for_and_minds_them_when_strict(user: User) -> None:
    tool = "{name: t, description: d, prompt: '{{gone}}'}"
    path = user.write(user.here / "one.md", f"---\ndescription: d\ntools:\n  - {tool}\n---\nhi\n")
    answer = user.types("agents", "check", str(path))
    assert (answer.code, answer.out) == (
        0,
        f"{path}\n  line 4: t: no parameter is called {{{{gone}}}}; it stays in the prompt\n  ok\n",
    )
    assert user.types("agents", "check", "--strict", str(path)).code == 1
    (facts,) = user.types("agents", "check", "--json", str(path)).json
    assert (facts["problems"], facts["remarks"]) == (
        [],
        ["line 4: t: no parameter is called {{gone}}; it stays in the prompt"],
    )


def test_check_reads_files_of_other_clients_wherever_they_lie(user: User) -> None:
    path = user.write(user.here / "one.md", "---\nname: a\ndescription: d\ntools: Read\n---\nhi\n")
    assert user.types("agents", "check", str(path)).code == 1
    assert user.types("agents", "check", "--format", "claude_code", str(path)).code == 0
    answer = user.types("agents", "check", "--format", "claude", str(path))
    assert (answer.code, 'Did you mean "claude_code"?' in answer.err) == (2, True)


@pytest.mark.parametrize("path", ["nothing.md", "empty"])
def test_check_of_nothing_is_a_mistake(user: User, path: str) -> None:
    (user.here / "empty").mkdir()
    assert user.types("agents", "check", str(user.here / path)).code == 2


@pytest.fixture(autouse=True)
def only_what_the_user_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_list_shows_the_agents_of_every_client_and_which_is_meant(user: User) -> None:
    user.write(user.here / ".dragoman" / "agents" / "one.md", GOOD.format(name="one"))
    user.write(user.here / "agents" / "one.md", GOOD.format(name="one"))
    user.write(user.here / "agents" / "README.md", "Agents of this project.\n")
    user.write(user.here / ".claude" / "agents" / "team" / "two.md", "---\nname: two\ndescription: Two.\n---\nhi\n")
    user.write(user.here / ".opencode" / "agent" / "three.md", "---\ndescription: Three.\n---\nhi\n")
    user.write(user.here / ".gemini" / "agents" / "four.md", "---\nname: Four\ndescription: Four.\n---\nhi\n")
    user.write(
        user.here / ".codex" / "config.toml", '[agents.five]\nconfig_file = "agents/5.toml"\ndescription = "Five."\n'
    )
    user.write(user.here / ".codex" / "agents" / "5.toml", 'developer_instructions = "hi"\n')
    user.write(user.config_dir / "agents" / "six.md", GOOD.format(name="six"))
    user.write(user.home / ".claude" / "agents" / "seven.md", "---\nname: seven\ndescription: Seven.\n---\nhi\n")
    rows = user.types("agents", "list", "--json").json
    assert [
        (row["name"], row["format"], row["origin"], row["trusted"], bool(row["problems"]), bool(row["hidden_by"]))
        for row in rows
    ] == [
        ("one", "dragoman", "project", False, False, False),
        ("one", "dragoman", "project", False, False, True),
        ("two", "claude_code", "project", False, False, False),
        ("three", "opencode", "project", False, False, False),
        ("four", "gemini_cli", "project", False, True, False),
        ("five", "codex", "project", False, False, False),
        ("six", "dragoman", "user", True, False, False),
        ("seven", "claude_code", "user", False, False, False),
    ]
    table = user.types("agents", "list")
    assert (table.code, "hidden by .dragoman/agents/one.md" in table.out, "broken: 1 problem" in table.out) == (
        1,
        True,
        True,
    )
    assert "warning: .gemini/agents/four.md: line 2: name: must be lower-case letters" in table.err


def test_list_of_nothing_says_where_to_put_one(user: User) -> None:
    answer = user.types("agents", "list")
    assert (answer.code, answer.out) == (1, "")
    assert "agents/" in answer.err


def test_show_tells_what_is_understood_and_what_does_not_hold(user: User) -> None:
    text = GOOD.format(name="one").replace("---\nDo", "policy: {allow: [write], deny: ['path:*.env']}\n---\nDo")
    user.write(user.here / "agents" / "one.md", text)
    answer = user.types("agents", "show", "one")
    assert answer.code == 0
    assert "  tools        read_file\n" in answer.out
    assert "  deny         path *.env\n" in answer.out
    assert "policy.allow: kind=write does not loosen what your own rules say" in answer.err


def test_a_limit_that_is_looser_than_the_usual_one_holds_only_where_the_user_vouches(user: User) -> None:
    limits = "limits: { max_turns: 40, max_tokens: null, max_depth: 1 }"
    text = GOOD.format(name="one").replace("---\nDo", f"{limits}\n---\nDo")
    path = user.write(user.here / "agents" / "one.md", text)
    user.write(user.config_dir / "agents" / "two.md", text.replace("one", "two"))
    assert user.types("agents", "show", str(path), "--json").json["refused"] == [
        "limits.max_turns: 40 is looser than 15",
        "limits.max_tokens: None is looser than 500000",
    ]
    assert user.types("agents", "show", "two", "--json").json["refused"] == []


def test_only_a_trusted_file_with_these_very_contents_may_loosen(user: User) -> None:
    text = GOOD.format(name="one").replace("---\nDo", "policy: {allow: [write]}\n---\nDo")
    path = user.write(user.here / ".dragoman" / "agents" / "one.md", text)
    beside = user.write(user.here / "agents" / "two.md", text.replace("one", "two"))

    def refused(name: str) -> int:
        return len(user.types("agents", "show", name, "--json").json["refused"])

    assert refused("one") == 1
    assert user.types("trust", str(user.here)).code == 0
    assert (refused("one"), refused("two"), refused(str(beside))) == (0, 1, 1)
    user.write(path, text.replace("write", "execute"))
    assert refused("one") == 1


def test_show_of_a_name_that_is_not_there_suggests_one(user: User) -> None:
    user.write(user.here / "agents" / "reviewer.md", GOOD.format(name="reviewer"))
    answer = user.types("agents", "show", "reviwer")
    assert (answer.code, answer.err) == (3, 'error: there is no agent "reviwer". Did you mean "reviewer"?\n')


def test_keys_of_a_server_are_not_shown(user: User) -> None:
    servers = "mcp_servers: {a: {command: run, env: {TOKEN: abc}}}\n---\nDo"
    user.write(user.here / "agents" / "one.md", GOOD.format(name="one").replace("---\nDo", servers))
    answer = user.types("agents", "show", "one", "--json")
    assert answer.json["agent"]["mcp_servers"] == {"a": {"command": "run", "env": {"TOKEN": "********"}}}
    assert "abc" not in answer.out


def test_a_link_out_of_the_project_is_not_followed(user: User) -> None:
    secret = user.write(user.home / "secret.md", "the key\n")
    (user.here / "agents").mkdir()
    (user.here / "agents" / "one.md").symlink_to(secret)
    user.write(user.here / ".codex" / "config.toml", '[agents.two]\nconfig_file = "../../two.toml"\n')
    user.write(user.home / "two.toml", 'developer_instructions = "the key"\n')
    answer = user.types("agents", "list", "--json")
    assert [(row["agent"], row["problems"]) for row in answer.json] == [
        (None, [f"it leads out of {user.here}, so it is not read"]),
        (None, [f"it leads out of {user.here}, so it is not read"]),
    ]
    assert "the key" not in answer.out


def test_what_is_no_ordinary_file_is_not_waited_for(user: User) -> None:
    (user.here / "agents").mkdir()
    os.mkfifo(user.here / "agents" / "one.md")
    (row,) = user.types("agents", "list", "--json").json
    assert row["problems"] == ["it cannot be read: not a regular file; an agent is an ordinary file of text"]


def agent_with(lines: str) -> str:
    return f"---\nname: odd\ndescription: Odd.\n{lines}\n---\nDo it.\n"


TOOL = "custom_tools:\n  - name: look\n    description: Look.\n    prompt: Look.\n    "
DEFECTS: dict[str, tuple[str | bytes, str]] = {
    "parameters that are text": (
        agent_with(f"{TOOL}parameters: x"),
        "line 8: custom_tools[0].parameters: must be a table",
    ),
    "parameters that are a number": (
        agent_with(f"{TOOL}parameters: 5"),
        "line 8: custom_tools[0].parameters: must be a",
    ),
    "no parameters at all": (agent_with(f"{TOOL}parameters:"), "line 8: custom_tools[0].parameters: is empty"),
    "an empty name": ("---\ndescription: x\nname: ''\n---\n", "line 3: name: is empty"),
    "a name that is a list": ("---\nname: [a]\n---\n", "line 2: name: must be text, not ['a']"),
    "tools that are a table": (agent_with("tools: {a: b}"), "line 4: tools: must be a list of names and tools"),
    "a key twice": (agent_with("model: a\nmodel: b"), 'line 5: "model" is there twice'),
    "a key that is no text": (agent_with("? [a]\n: b"), "line 4: a key must be a word"),
    "a key that is not known": (agent_with("modle: a"), 'line 4: modle: there is no key "modle" here'),
    "an alias": (agent_with("x: &a {y: *a}"), "line 4: aliases (`*name`) are not read"),
    "a tag that runs something": (
        agent_with("x: !!python/object/apply:os.system [touch marker]"),
        "line 4: the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not read",
    ),
    "no valid YAML": (agent_with("tools: ["), "line 5: not valid YAML:"),
    "a control character": (agent_with("x: a\x07b"), "line 4: not valid YAML: the character U+0007 is not allowed"),
    "nested too deeply": (agent_with(f"x: {'[' * 5000}"), "line 1: it is nested too deeply"),
    "a frontmatter without end": ("---\nname: odd\n", "line 1: the frontmatter that begins here has no end"),
    "no table": ("---\n- a\n---\n", "line 2: the frontmatter is no table"),
    "no UTF-8": (b"---\nname: odd\ndescription: \xff\n---\n", "line 3: it is not UTF-8 text; save it as UTF-8"),
    "binary": (b"\x7fELF\x02\x01\x01\x00\x00\xff" * 9, "line 1: it is not UTF-8 text; save it as UTF-8"),
    "too large": (b"x" * (1024 * 1024 + 1), "it cannot be read: larger than 1024 KiB; an agent is an ordinary file"),
    "too long a frontmatter": (agent_with(f"x: {'y' * 140_000}"), "line 1: the frontmatter is longer than 131072"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_told_with_its_file_and_line_and_the_others_are_listed(user: User, defect: str) -> None:
    content, problem = DEFECTS[defect]
    odd = user.write(user.here / "agents" / "odd.md", "")
    odd.write_bytes(content if isinstance(content, bytes) else content.encode())
    user.write(user.here / "agents" / "good.md", GOOD.format(name="good"))
    rows = {row["name"]: row["problems"] for row in user.types("agents", "list", "--json").json}
    assert (rows["good"], rows["odd"][0][: len(problem)]) == ([], problem)
    listed = user.types("agents", "list")
    assert (listed.code, f"warning: agents/odd.md: {problem}" in listed.err) == (1, True)
    checked = user.types("agents", "check", "agents")
    assert (checked.code, f"{odd.relative_to(user.here)}\n  {problem}" in checked.out) == (1, True)
    named = user.types("run", "--agent", "odd", "hi")
    assert (named.code, f"({odd})" in named.err, f"- {problem}" in named.err) == (3, True, True)


def test_what_is_no_file_at_all_costs_no_other_agent(user: User) -> None:
    folder = user.write(user.here / "agents" / "good.md", GOOD.format(name="good")).parent
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "device.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    answer = user.types("agents", "list", "--json")
    assert (answer.code, {row["name"]: row["problems"] for row in answer.json}) == (
        1,
        {
            "good": [],
            "device": [f"it leads out of {user.here}, so it is not read"],
            "gone": ["it cannot be read: No such file or directory"],
            "loop": ["it cannot be read: Too many levels of symbolic links"],
            "pipe": ["it cannot be read: not a regular file; an agent is an ordinary file of text"],
        },
    )


def test_a_folder_with_too_many_files_says_so(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.agents import folders

    monkeypatch.setattr(folders, "MOST_FILES", 2)
    for name in ("a", "b", "c"):
        user.write(user.here / "agents" / f"{name}.md", GOOD.format(name=name))
    answer = user.types("agents", "list", "--json")
    assert [(row["name"], row["problems"]) for row in answer.json] == [
        ("a", []),
        ("b", []),
        ("agents", ["only 2 of its files are read; remove some"]),
    ]


def test_a_defect_of_ours_costs_no_other_agent(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.agents import folders

    def broken(text: str, **more: object) -> object:
        if "odd" in text:
            raise AttributeError("no such thing")
        return real(text, **more)  # type: ignore[arg-type]

    real = folders.parse_agent
    monkeypatch.setattr(folders, "parse_agent", broken)
    for name in ("good", "odd"):
        user.write(user.here / "agents" / f"{name}.md", GOOD.format(name=name))
    answer = user.types("agents", "list", "--json")
    problem = "dragoman cannot read it, which is a defect of dragoman: AttributeError: no such thing"
    assert (answer.code, [(row["name"], row["problems"]) for row in answer.json]) == (
        1,
        [("good", []), ("odd", [problem])],
    )


# ── what can never run ───────────────────────────────────────────────────────

RESEARCH = """---
name: research-agent
description: Looks things up.
tools:
  - name: summarize
    description: Summarize a document
    model: {model}
    parameters:
      text: {{type: string, description: The text}}
    prompt: "Summarize: {{{{text}}}}"
---
You look things up.
"""


@pytest.mark.parametrize("model", ["gemini-2.0-flash-lite", "claude-sonnet-4-5", "openai:gpt-5.1", "lab:m"])
def test_a_tool_whose_model_can_be_asked_has_no_problem(user: User, model: str) -> None:
    user.settings('providers = {lab = {base_url = "http://127.0.0.1:9"}}')
    path = user.write(user.here / "agent.md", RESEARCH.format(model=model))
    answer = user.types("agents", "check", str(path))
    assert (answer.code, answer.out) == (0, f"{path}\n  ok\n")


@pytest.mark.parametrize(
    "model, problem",
    [
        ("gemni-2.0-flash", "names no provider"),
        ("lab:m", 'there is no provider "lab"'),
        ("local:qwen2.5-coder-1.5b", "only you can choose it"),
    ],
)
def test_a_tool_that_can_never_run_is_a_problem(user: User, model: str, problem: str) -> None:
    path = user.write(user.here / "agent.md", RESEARCH.format(model=model))
    answer = user.types("agents", "check", str(path))
    assert answer.code == 1
    assert "line 5: summarize can never run: model: " in answer.out
    assert problem in answer.out
    assert "ok" not in answer.out.splitlines()


def test_a_custom_tool_under_limits_that_let_no_agent_start_is_a_problem(user: User) -> None:
    text = RESEARCH.format(model="gpt-5.1").replace("---\nYou", "limits: {max_depth: 0}\n---\nYou")
    path = user.write(user.here / "agent.md", text)
    answer = user.types("agents", "check", "--json", str(path))
    assert answer.code == 1
    assert answer.json[0]["problems"] == [
        "line 5: summarize can never run: it runs as a sub-agent, and max_depth is 0, so none can be started"
    ]
