from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import User

WORK = "from dragoman import tool\n\n@tool\ndef work() -> str:\n    'Work.'\n    return 'done'\n\n"
WORDS = "from dragoman.dialects import Dialect\n\n"


def listed(user: User) -> list[dict[str, object]]:
    """What was added by plugins: the built-in rows grow with the project."""
    return [entry for entry in user.types("plugins", "--json").json if entry["origin"] != "built-in"]


def test_plugins_lists_what_works_and_what_is_broken_with_the_reason(user: User) -> None:
    good = user.plugin(
        "good.py", f"{WORK}{WORDS}TOOLS = {{'good': work}}\nDIALECTS = {{'words': Dialect('words', ())}}\n"
    )
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
    user.plugin("good.py", f"{WORK}TOOLS = {{'good': work}}\n")
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
        user.here / ".dragoman" / "plugins" / "sly.py",
        f"open({str(marker)!r}, 'w').close()\n{WORK}TOOLS = {{'sly': work}}\n",
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


@pytest.mark.parametrize(
    "source, reason",
    [
        (
            "TOOLS = {'a': print}",
            "what it names must be of type dragoman.tools.Tool or dragoman.tools.ProviderTool,"
            " and is of type builtin_function_or_method",
        ),
        ("DIALECTS = {'a': 1}", "what it names must be of type dragoman.dialects.Dialect, and is of type int"),
        (f"{WORDS}DIALECTS = {{'a': Dialect('b', ())}}", "what it names calls itself 'b': both names must be the same"),
        (
            "from dragoman.logs import LogFormat\nFORMATS = {'a': LogFormat}",
            "what it names must be of type dragoman.logs.LogFormat, and is the class LogFormat",
        ),
        ("APIS = {'a': 1}", "what it names must be of type dragoman.apis.Api, and is of type int"),
        ("PROVIDERS = {'a': 1}", "what it names must be of type dragoman.engine.models.Provider, and is of type int"),
        ("SEARCH_BACKENDS = {'a': 1}", "what it names must be of type collections.abc.Callable, and is of type int"),
    ],
)
def test_what_is_not_what_its_table_holds_is_broken_before_anybody_uses_it(
    user: User, source: str, reason: str
) -> None:
    user.plugin("a.py", source + "\n")
    assert [(entry["name"], entry["broken"]) for entry in listed(user)] == [("a", reason)]


def log(folder: Path) -> str:
    record = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s-1", "version": "2.1.300"}
    message = {"role": "user", "content": "hello"}
    path = folder / "s-1.jsonl"
    path.write_text(json.dumps({**record, "timestamp": "2026-01-01T00:00:00Z", "message": message}) + "\n")
    return str(path)


@pytest.mark.parametrize(
    "source",
    [
        "import no_such_module\nFORMATS = {'sick': 1}\n",
        "from dragoman.logs import LogFormat\n\nclass Sick(LogFormat):\n    name = dialect = 'sick'\n\n"
        "    def recognise(self, sample):\n        raise RuntimeError\n\n"
        "    def reader(self, path):\n        raise RuntimeError\n\nFORMATS = {'sick': Sick()}\n",
    ],
)
def test_a_log_format_that_is_broken_costs_the_logs_of_others_nothing(user: User, source: str) -> None:
    user.plugin("sick.py", source)
    read = user.types("events", log(user.here), "--kind", "user_said")
    assert (read.code, read.json["kind"], read.json["client"]) == (0, "user_said", "claude_code")
    assert "No logs were found here" in user.types("sources").err


def test_a_tool_of_a_plugin_is_called_by_name(user: User) -> None:
    source = (
        "from dragoman import tool\n\n@tool\ndef add(one: int, other: int = 1) -> int:\n"
        "    'Add.'\n    if one < 0:\n        raise ValueError('too small')\n    return one + other\n\n"
        "TOOLS = {'acme.add': add}\n"
    )
    user.plugin("sums.py", source)
    assert user.types("tool", "acme.add", "one=2", "--json").json == {"type": "json_outcome", "value": 3}
    failed = user.types("tool", "acme.add", "one=-1")
    assert (failed.code, "too small" in failed.err) == (7, True)
    unread = user.types("tool", "acme.add", "one=x")
    assert (unread.code, "one" in unread.err) == (2, True)
    assert 'Did you mean "acme.add"?' in user.types("tool", "acme.ad", "one=1").err
