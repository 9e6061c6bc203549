from __future__ import annotations

from typing import Any

import pytest

from .conftest import Answer, User

SENSITIVE = "model = 'm'\n[search]\nurl = 'http://127.0.0.1'\n"


def test_config_show_says_where_each_value_came_from(user: User) -> None:
    file = user.settings("model = 'mine'\n[providers.x]\napi_key = 'sk-hidden'\n")
    answer = user.types("--set", "policy.timeout=5", "config", "show")
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in answer.out.splitlines()}
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1] == "sandbox here: none (sandbox.mode is off)"
    assert [
        lines[key] for key in ("model", "policy.timeout", "policy.approval", "cache_dir", "providers.x.api_key")
    ] == [
        ['"mine"', f"user {file}:1"],
        ["5.0", "flag policy.timeout"],
        ['"ask"', "default"],
        [f'"{user.environ["DRAGOMAN_CACHE_DIR"]}"', "environment DRAGOMAN_CACHE_DIR"],
        ['"********"', f"user {file}:3"],
    ]
    assert "sk-hidden" not in answer.out


def test_config_show_as_json_is_whole(user: User) -> None:
    user.settings("[providers.x]\napi_key = 'sk-hidden'\n")
    file = user.write(user.here / "dragoman.toml", SENSITIVE)
    answer = user.types("config", "show", "--json")
    document = answer.json
    assert "sk-hidden" not in answer.out
    origin = {"layer": "project", "source": str(file), "line": 1, "profile": None}
    assert document["settings"]["model"] == {"value": "m", "from": origin}
    assert document["settings"]["providers.x.api_key"]["value"] == "********"
    assert document["project"] == {"root": str(user.here), "file": str(file), "trust": "untrusted"}
    assert document["ignored"] == [
        {
            "key": "search.url",
            "origin": {**origin, "line": 3},
            "reason": "needs trust",
            "trust_helps": True,
        }
    ]
    assert [f"warning: {warning}" for warning in document["warnings"]] == answer.err.splitlines()


def test_config_show_can_be_asked_for_one_table_or_one_setting(user: User) -> None:
    assert list(user.types("config", "show", "search", "--json").json["settings"]) == ["search.backend", "search.url"]
    assert list(user.types("config", "show", "search.url", "--json").json["settings"]) == ["search.url"]
    assert user.types("config", "show", "providers", "--json").json["settings"] == {}
    wrong = user.types("config", "show", "serch.url")
    assert (wrong.code, 'Did you mean "search.url"?' in wrong.err) == (2, True)


def test_config_path_says_where_everything_is(user: User) -> None:
    user.write(user.here / ".dragoman" / "config.toml", "")
    assert user.types("config", "path", "--json").json == {
        "user": str(user.config_dir / "config.toml"),
        "project": str(user.here / ".dragoman" / "config.toml"),
        "config": str(user.config_dir),
        "plugins": str(user.config_dir / "plugins"),
        "data": user.environ["DRAGOMAN_DATA_DIR"],
        "cache": user.environ["DRAGOMAN_CACHE_DIR"],
    }
    assert user.types("config", "path", "user") == Answer(0, f"{user.config_dir / 'config.toml'}\n")
    assert "not there yet" in user.types("config", "path").out


def test_config_path_has_no_project_where_there_is_none(user: User) -> None:
    assert user.types("config", "path", "project") == Answer(1, "", "There is no project here.\n")
    assert user.types("config", "path", "project", "--json") == Answer(1, '{"project":null}\n')


def test_a_project_is_warned_of_trusted_used_changed_and_untrusted(user: User) -> None:
    file = user.write(user.here / "dragoman.toml", SENSITIVE)
    advice = f"warning: this project is not trusted. Read its files, then run: dragoman trust {user.here}\n"
    url = ("config", "show", "search.url")
    before = user.types(*url)
    assert before.err == f"warning: {file}: search.url (line 3) is ignored: needs trust\n{advice}"
    assert user.types("trust") == Answer(
        0, f'Trusted: {user.here}\n  dragoman.toml\nNow in force:\n  search.url = "http://127.0.0.1"\n'
    )
    trusted = user.types(*url)
    assert ("http://127.0.0.1" in trusted.out, trusted.err) == (True, "")
    file.write_text(SENSITIVE + "# changed\n")
    assert "any more: changed since (dragoman.toml)" in user.types(*url).err
    assert user.types("trust", str(user.here), "--json").json == {
        "root": str(user.here),
        "files": ["dragoman.toml"],
        "settings": {"search.url": "http://127.0.0.1"},
    }
    assert user.types("trust", "--list") == Answer(0, f"{user.here}\n")
    assert user.types("trust", "--list", "--json").json == [str(user.here)]
    assert user.types("untrust") == Answer(0, f"No longer trusted: {user.here}\n")
    assert user.types("untrust") == Answer(1, "", f"It was not trusted: {user.here}\n")
    assert user.types(*url).err == before.err


def test_trust_is_found_from_inside_the_project(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write(user.here / "dragoman.toml", SENSITIVE)
    (user.here / "inside").mkdir()
    monkeypatch.chdir(user.here / "inside")
    assert user.types("trust").out.splitlines()[0] == f"Trusted: {user.here}"
    assert user.types("untrust").out == f"No longer trusted: {user.here}\n"


def test_there_must_be_something_to_trust(user: User) -> None:
    assert user.types("trust") == Answer(
        3, "", f"error: {user.here}: there is no project here: no dragoman.toml and no .dragoman folder\n"
    )


def test_a_project_that_is_gone_or_broken_can_still_be_untrusted(user: User) -> None:
    file = user.write(user.here / "dragoman.toml", SENSITIVE)
    user.types("trust")
    file.write_text("= broken")
    assert user.types("config", "show").code == 3
    assert user.types("untrust").code == 0
    file.write_text(SENSITIVE)
    user.types("trust")
    file.unlink()
    assert user.types("untrust").code == 0


def test_trust_can_be_taken_back_from_elsewhere(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write(user.here / "dragoman.toml", SENSITIVE)
    monkeypatch.chdir(user.home)
    assert user.types("trust", "here").code == 0
    (user.here / "dragoman.toml").unlink()
    assert user.types("untrust", "here").code == 0


PROFILES = """
model = "gpt-5.1"

[profiles.review]
model = "claude-sonnet-4-5"
system = "Review, and change nothing."
tools = ["read"]
policy = {max_iterations = 3}
"""


def test_config_show_says_what_a_profile_states(user: User) -> None:
    file = user.settings(PROFILES)
    shown = user.types("config", "show", "--profile", "review", "--json").json["settings"]
    assert shown["model"] == {
        "value": "claude-sonnet-4-5",
        "from": {"layer": "user", "source": str(file), "line": 5, "profile": "review"},
    }
    table = user.types("config", "show", "model", "-p", "review").out
    assert table.splitlines()[-1].split(maxsplit=2) == [
        "model",
        '"claude-sonnet-4-5"',
        f"profile review, user {file}:5",
    ]
    wrong = user.types("config", "show", "--profile", "revue")
    assert (wrong.code, wrong.out) == (3, "")
    assert 'there is no profile "revue"' in wrong.err


def offered(request: dict[str, Any]) -> list[str]:
    return [one["name"] for one in request["body"].get("tools", [])]


@pytest.mark.parametrize("way", ["--profile", "variable", "settings"])
def test_a_run_uses_a_profile(user: User, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    user.settings(f'profile = "review"\n{PROFILES}' if way == "settings" else PROFILES)
    if way == "variable":
        monkeypatch.setenv("DRAGOMAN_PROFILE", "review")
    chosen = ("--profile", "review") if way == "--profile" else ()
    request = user.types("run", *chosen, "--dry-run", "--json", "hi").json
    assert request["url"] == "https://api.anthropic.com/v1/messages"
    said = [block["text"] for block in request["body"]["system"]]
    assert (request["body"]["model"], said) == ("claude-sonnet-4-5", ["Review, and change nothing."])
    assert "Read" in offered(request)
    assert "Bash" not in offered(request)


def test_what_is_said_on_the_command_line_comes_before_a_profile(user: User) -> None:
    user.settings(PROFILES)
    words = ("--model", "o4-mini", "--system", "Do it.", "--tools", "run_command")
    request = user.types("run", "-p", "review", *words, "--dry-run", "--json", "hi").json
    assert (request["body"]["model"], request["body"]["instructions"]) == ("o4-mini", "Do it.")
    assert "exec_command" in offered(request) or "shell" in offered(request) or "run_command" in offered(request)


def test_a_profile_that_names_no_tool_there_is_says_so(user: User) -> None:
    user.settings('profiles.bad = {model = "gpt-5.1", tools = ["reed"]}')
    answer = user.types("run", "-p", "bad", "--dry-run", "hi")
    assert (answer.code, answer.out) == (3, "")
    assert 'there is no tool "reed". Did you mean "read"?' in answer.err


def test_options_of_a_model_may_be_keyed_by_the_providers_that_serve_it(user: User) -> None:
    user.settings(
        """
        [providers.lab]
        base_url = "http://127.0.0.1:9"
        [models."qwen*".options]
        lab = {top_k = 3}
        ollama = {keep_alive = 5}
        """
    )
    sent = [
        user.types("run", "-m", f"{one}:qwen3", "--dry-run", "--json", "hi").json["body"] for one in ("lab", "ollama")
    ]
    assert [(body.get("top_k"), body.get("keep_alive"), "lab" in body) for body in sent] == [
        (3, None, False),
        (None, 5, False),
    ]
