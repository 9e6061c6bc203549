from __future__ import annotations

from .conftest import User


def listed(user: User) -> list[dict[str, object]]:
    """What was added by plugins: the built-in rows grow with the project."""
    return [entry for entry in user.types("plugins", "--json").json if entry["origin"] != "built-in"]


def test_plugins_lists_what_works_and_what_is_broken_with_the_reason(user: User) -> None:
    good = user.plugin("good.py", "TOOLS = {'good': 1}\nDIALECTS = {'words': 2}\n")
    bad = user.plugin("bad.py", "TOOLS = {'bad': 1}\nimport no_such_module\n")
    torn = user.plugin("torn.py", "TOOLS = {")
    assert listed(user) == [
        {
            "kind": "tools",
            "name": "bad",
            "origin": str(bad),
            "target": "bad.py:TOOLS",
            "loaded": False,
            "broken": "ModuleNotFoundError: No module named 'no_such_module'",
        },
        {
            "kind": "tools",
            "name": "good",
            "origin": str(good),
            "target": "good.py:TOOLS",
            "loaded": True,
            "broken": None,
        },
        {
            "kind": "dialects",
            "name": "words",
            "origin": str(good),
            "target": "good.py:DIALECTS",
            "loaded": True,
            "broken": None,
        },
        {
            "kind": "file",
            "name": "torn",
            "origin": str(torn),
            "target": "",
            "loaded": False,
            "broken": "SyntaxError: '{' was never closed (line 1)",
        },
    ]


def test_plugins_says_no_only_when_asked_to_check(user: User) -> None:
    user.plugin("good.py", "TOOLS = {'good': 1}\n")
    assert (user.types("plugins").code, user.types("plugins", "--check").code) == (0, 0)
    user.plugin("bad.py", "TOOLS = {'bad': 1}\nraise ValueError('no')\n")
    assert (user.types("plugins").code, user.types("plugins", "--check").code) == (0, 1)
    assert "broken: ValueError: no" in user.types("plugins").out


def test_what_a_plugin_prints_does_not_get_into_the_answer(user: User) -> None:
    user.plugin("loud.py", "print('hello')\nTOOLS = {'loud': 1}\n")
    answer = user.types("plugins", "--json")
    assert ([entry["name"] for entry in answer.json if entry["origin"] != "built-in"], answer.err) == (
        ["loud"],
        "hello\n",
    )


def test_plugins_of_an_untrusted_project_are_listed_and_not_run(user: User) -> None:
    marker = user.home / "ran"
    path = user.write(
        user.here / ".dragoman" / "plugins" / "sly.py", f"open({str(marker)!r}, 'w').close()\nTOOLS = {{'sly': 1}}\n"
    )
    advice = f"this project is not trusted. Read its files, then run: dragoman trust {user.here}"
    assert [(entry["kind"], entry["origin"], entry["broken"]) for entry in listed(user)] == [
        ("file", str(path), advice)
    ]
    assert not marker.exists()
    user.types("trust")
    assert [(entry["name"], entry["broken"]) for entry in listed(user)] == [("sly", None)]
    assert marker.exists()


def test_a_folder_can_be_named_for_one_call(user: User) -> None:
    user.write(user.here / "mine" / "a.py", "TOOLS = {'a': 1}\n")
    assert "a" in [entry["name"] for entry in user.types("--set", 'plugins.folders=["mine"]', "plugins", "--json").json]
    missing = user.types("--set", 'plugins.folders=["yours"]', "plugins", "--json").json
    assert [entry["broken"] for entry in missing if entry["kind"] == "file"] == ["there is no such file or folder"]


def test_an_untrusted_project_names_no_plugin_folder(user: User) -> None:
    user.write(user.here / "mine" / "a.py", "TOOLS = {'a': 1}\n")
    user.write(user.here / "dragoman.toml", "[plugins]\nfolders = ['mine']\n")
    assert listed(user) == []
    user.types("trust")
    assert listed(user) == []
