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
        '  line 2: nam: there is no key "nam" here; known: name, description, model, dialect, tools, custom_tools, '
        'limits, policy, mcp_servers. Did you mean "name"?',
        '  line 3: tools[0]: there is no tool "reed_file". Did you mean "read_file"?',
        str(good),
        "  ok",
    ]
    assert answer.err == "1 of 2 files are well defined.\n"


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
    table = user.types("agents", "list").out
    assert "hidden by .dragoman/agents/one.md" in table
    assert "broken: line 2: name: must be lower-case letters" in table


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
    assert row["problems"] == ["it is no ordinary file"]
