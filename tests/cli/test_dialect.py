"""`dragoman dialect`, and dialects of one's own wherever a dialect is named."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.dialects.plugins import dialect_from_file
from dragoman.model import NativeCall, operations as op

from .conftest import User

DATA = """name = "acme"

[[tools]]
name = "rm"
description = "Delete a file."
operation = "delete_file"

[tools.parameters]
target = { means = "path", description = "The file." }
"""
IN_YAML = """name: acme
tools:
- name: rm
  description: Delete a file.
  operation: delete_file
  parameters: {target: {means: path, description: The file.}}
"""
PYTHON = '''
from dragoman.dialects import Dialect, Spelling, means
from dragoman.model import operations as op


class Remove(Spelling[op.DeleteFile]):
    """Delete a file."""

    native_name = "rm"

    target: str = means("path", "The file.")


DIALECT = Dialect("acme", (Remove,))
'''
SAID = 'acme\n  rm {"target":"a.py"}\n'


# --- by path, by folder ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, text", [("acme.toml", DATA), ("acme.yaml", IN_YAML), ("acme.yml", IN_YAML), ("a.py", PYTHON)]
)
def test_a_file_is_taken_wherever_a_dialect_is_named(
    user: User, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    path = user.write(user.here / name, text)
    assert user.types("say", "delete_file", "path=a.py", "--to", name).out == SAID
    assert user.types("say", "delete_file", "path=a.py", "--to", str(path)).out == SAID
    assert "rm" in user.types("tools", "--dialect", name).out
    call = io.TextIOWrapper(io.BytesIO(b'{"name": "rm", "arguments": {"target": "a.py"}}'))
    monkeypatch.setattr("sys.stdin", call)
    assert user.types("translate", "--from", name, "--to", "plain").out == 'vfs_delete {"path":"a.py"}\n'
    checked = user.types("dialect", "check", name)
    assert (checked.code, checked.out) == (0, "acme\n  1 tool, 1 operation spoken; every law holds.\n")


def test_data_in_the_plugins_folder_is_a_dialect_like_any_other(user: User) -> None:
    path = user.plugin("words.toml", DATA)
    assert user.types("say", "delete_file", "path=a.py", "--to", "acme").out == SAID
    (listed,) = [one for one in user.types("plugins", "--json").json if one["origin"] == str(path)]
    assert (listed["kind"], listed["name"], listed["loaded"], listed["broken"]) == ("dialects", "acme", True, None)


def test_data_that_is_broken_breaks_nothing_but_itself(user: User) -> None:
    wrong = user.plugin("wrong.toml", DATA.replace("delete_file", "delet_file"))
    torn = user.plugin("torn.yaml", "name: [")
    nameless = user.plugin("nameless.toml", "tools = []")
    broken = {one["origin"]: one["broken"] for one in user.types("plugins", "--json").json if one["broken"]}
    assert set(broken) == {str(wrong), str(torn), str(nameless)}
    assert 'line 6, tools[0].operation: there is no operation "delet_file"' in broken[str(wrong)]
    assert broken[str(torn)].startswith("line 1: not valid YAML")
    assert broken[str(nameless)] == 'it has no `name`: write name = "acme"'
    said = user.types("say", "delete_file", "path=a.py")
    assert (said.code, "codex" in said.out) == (0, True)
    assert "there is no operation" in said.err


def test_data_of_a_project_is_used_when_the_project_is_trusted_and_as_it_was_then(user: User) -> None:
    path = user.write(user.here / ".dragoman" / "plugins" / "acme.toml", DATA)
    refused = user.types("say", "delete_file", "path=a.py", "--to", "acme")
    assert (refused.code, refused.out) == (3, "")
    assert 'there is no dialect "acme"' in refused.err
    assert f"{path.parent}: these plugins are not loaded: they need trust" in refused.err
    assert user.types("trust").code == 0
    assert user.types("say", "delete_file", "path=a.py", "--to", "acme").out == SAID
    user.write(path, DATA.replace('"rm"', '"wipe"'))
    changed = user.types("say", "delete_file", "path=a.py", "--to", "acme")
    assert (changed.code, changed.out) == (3, "")


def test_two_dialects_of_one_name_are_not_told_apart_in_one_answer(user: User) -> None:
    user.write(user.here / "codex.toml", DATA.replace('"acme"', '"codex"'))
    answer = user.types("say", "delete_file", "path=a", "--to", "codex", "--to", "codex.toml")
    assert (answer.code, 'Two of these vocabularies are called "codex"' in answer.err) == (2, True)


def test_a_file_with_several_dialects_is_checked_whole_and_named_nowhere(user: User) -> None:
    user.write(user.here / "two.py", f'{PYTHON}\nDIALECTS = {{"a": DIALECT, "b": DIALECT}}\n')
    assert [one["name"] for one in user.types("dialect", "check", "two.py", "--json").json["dialects"]] == ["a", "b"]
    answer = user.types("say", "delete_file", "path=a", "--to", "two.py")
    assert (answer.code, "it holds several dialects (a, b)" in answer.err) == (3, True)


# --- check -------------------------------------------------------------------------------------------------------


def test_check_takes_a_listed_dialect_too(user: User) -> None:
    answer = user.types("dialect", "check", "zai")
    assert (answer.code, answer.out) == (0, "zai\n  7 tools, 7 operations spoken; every law holds.\n")


@pytest.mark.parametrize("name", ["nothing.toml", "codx"])
def test_check_needs_something_to_check(user: User, name: str) -> None:
    answer = user.types("dialect", "check", name)
    assert (answer.code, answer.out) == (2, "")
    assert "There is no file" in answer.err


def test_check_says_how_the_name_of_a_dialects_file_ends(user: User) -> None:
    user.write(user.here / "acme.json", "{}")
    answer = user.types("dialect", "check", "acme.json")
    assert (answer.code, answer.out) == (2, "")
    assert "its name ends in .py, .toml, .yaml or .yml" in answer.err


def test_check_finds_a_name_no_dialect_should_have(user: User) -> None:
    user.write(user.here / "a.toml", DATA.replace("acme", "../Acme <b>"))
    answer = user.types("dialect", "check", "a.toml", "--json")
    ((problem,),) = [one["problems"] for one in answer.json["dialects"]]
    assert (answer.code, problem["law"], problem["where"]) == (1, "names", "../Acme <b>")


def test_check_tells_every_problem_of_a_file_that_does_not_load(user: User) -> None:
    user.write(user.here / "a.toml", DATA.replace("means", "mean").replace("delete_file", "delet_file"))
    answer = user.types("dialect", "check", "a.toml")
    assert answer.code == 1
    assert answer.out == (
        "a.toml cannot be loaded: dialect file 'a.toml'\n"
        '  line 6, tools[0].operation: there is no operation "delet_file". Did you mean "delete_file"?\n'
    )
    assert len(user.types("dialect", "check", "a.toml", "--json").json["broken"]) == 1


@pytest.mark.parametrize(
    "source, problem",
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module' (line 1)"),
        ("def f(:", "SyntaxError: invalid syntax (a.py, line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3 (line 1)"),
        ("x = 1", 'it sets neither DIALECT nor DIALECTS: write DIALECT = Dialect("acme", (…))'),
        ("DIALECTS = {'a': 1}", "'a' in DIALECTS is no Dialect"),
    ],
)
def test_check_tells_why_a_python_file_does_not_load(user: User, source: str, problem: str) -> None:
    user.write(user.here / "a.py", source)
    answer = user.types("dialect", "check", "a.py", "--json")
    assert (answer.code, answer.json) == (1, {"file": "a.py", "broken": [problem], "dialects": []})


HEAD = """
from dragoman.dialects import Dialect, McpNames, Spelling, means
from dragoman.model import operations as op, outcomes as out

class Silent:
    def tell(self, call, failure):
        return failure.message, None

    def understand(self, call, native):
        return None

class Broken(Spelling[op.ReadFile]):
    "Read a file."
    native_name = "open"
    unsaid = {"first_line": "none", "last_line": "none", "pages": "none"}
    path: str = means("path", "The file.")
"""
READS = "    def to_operations(self): return (op.ReadFile(%s),)\n"
WRITES = "    @classmethod\n    def from_operation(cls, operation): return %s\n"
BROKEN = {
    "names": '    native_name = "no name"\n',
    "descriptions": '    unsaid = {"first_line": "a", "last_line": "b"}\n    pages: str | None = None\n',
    "schema": '    path: str = means("path", "The file.", schema={"minLength": "one"})\n',
    "read(write)": READS % "self.path + 'x'" + WRITES % "cls(path=operation.path)",
    "silence": READS % "self.path" + WRITES % "None",
    "arguments": "    def to_operations(self): return ()\n" + WRITES % "cls(path=operation.path)",
    "results": "    def to_outcome(self, operation, native): return out.TextOutcome(native.content + '.')\n",
    "to do": '    unsaid = {"first_line": "none", "last_line": "none", "pages": "TODO: why"}\n',
}


@pytest.mark.parametrize("law", BROKEN)
def test_check_finds_what_breaks_a_law(user: User, law: str) -> None:
    user.write(user.here / "a.py", f'{HEAD}{BROKEN[law]}\nDIALECT = Dialect("broken", (Broken,))\n')
    answer = user.types("dialect", "check", "a.py", "--json")
    assert answer.code == 1
    (checked,) = answer.json["dialects"]
    found = [problem for problem in checked["problems"] if problem["law"] == law]
    assert found
    assert all(problem["where"] and problem["what"] and problem["fix"] for problem in found)
    shown = user.types("dialect", "check", "a.py")
    assert (shown.code, f"[{law}]" in shown.out) == (1, True)


@pytest.mark.parametrize(
    "law, options", [("failures", "failures=Silent()"), ("unknown tools", 'mcp=[McpNames("mcp{server}{tool}"[3:])]')]
)
def test_check_finds_what_breaks_a_law_of_whole_dialects(user: User, law: str, options: str) -> None:
    source = f'{HEAD}\nDIALECT = Dialect("broken", (Broken,), {options})\n'
    if law == "unknown tools":
        source += 'DIALECT = Dialect("broken", (Broken,)).knowing(functions=["zz no such tool"])\n'
    user.write(user.here / "a.py", source)
    (checked,) = user.types("dialect", "check", "a.py", "--json").json["dialects"]
    assert {problem["law"] for problem in checked["problems"]} == {law}


def test_check_shows_what_a_method_raises_and_where(user: User) -> None:
    methods = READS % "{}[self.path]" + WRITES % "cls(path=operation.path)"
    user.write(user.here / "a.py", f'{HEAD}{methods}DIALECT = Dialect("broken", (Broken,))\n')
    answer = user.types("dialect", "check", "a.py")
    assert answer.code == 1
    assert "KeyError: 'src/a.py'" in answer.out
    assert "a.py:17)" in answer.out


def test_what_a_file_prints_is_not_the_answer(user: User) -> None:
    user.write(user.here / "a.py", f"print('hello')\n{PYTHON}")
    answer = user.types("dialect", "check", "a.py", "--json")
    assert (answer.code, answer.json["broken"], answer.err) == (0, [], "hello\n")


# --- new ---------------------------------------------------------------------------------------------------------

READ = {
    "type": "object",
    "properties": {
        "filePath": {"type": "string", "description": "The file."},
        "offset": {"type": "integer", "description": "The first line."},
        "limit": {"type": "integer", "description": "How many."},
    },
    "required": ["filePath"],
}
ZAP = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
SHAPES: dict[str, Any] = {
    "openai_chat": [
        {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": READ}},
        {"type": "function", "function": {"name": "zap", "description": "Zap.", "parameters": ZAP}},
    ],
    "openai_responses": {
        "model": "a",
        "input": [],
        "tools": [
            {"type": "function", "name": "read", "description": "Read.", "parameters": READ, "strict": False},
            {"type": "function", "name": "zap", "description": "Zap.", "parameters": ZAP},
        ],
    },
    "anthropic": {
        "tools": [
            {"name": "read", "description": "Read.", "input_schema": READ},
            {"name": "zap", "description": "Zap.", "input_schema": ZAP},
        ]
    },
    "gemini": {
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Read.", "parametersJsonSchema": READ},
                    {
                        "name": "zap",
                        "description": "Zap.",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"how": {"type": "STRING"}},
                            "required": ["how"],
                        },
                    },
                ]
            }
        ]
    },
    "by_version": {
        "client": "acme",
        "tool_sets": [
            {
                "version": "1.10",
                "tools": [
                    {"name": "read", "kind": "function", "description": "Read.", "schema": READ},
                    {"name": "zap", "kind": "function", "description": "Zap.", "schema": ZAP},
                ],
            },
            {"version": "1.9", "tools": [{"name": "gone", "kind": "function", "schema": {}}]},
        ],
    },
}
WRITTEN = """\
# Drafted from captured tools: `dragoman dialect check` says what is left to do.
# What is marked as a guess is what another vocabulary means by such a name: look at each.
name = "acme"
# Operations it has no tool for, each with the reason:
# [unspoken]
# search_web = "…"

[[tools]]
name = "read"
description = "Read."
operation = "read_file"  # guess: as Read of claude_code

[tools.unsaid]
pages = "there is no parameter for it"  # guess

[tools.parameters]
filePath = { means = "path", type = "string", description = "The file." }  # guess
offset = { means = "first_line", type = "integer", description = "The first line." }  # guess
limit = { means = "last_line", convert = "line_count", type = "integer", description = "How many." }  # guess

[[tools]]
name = "zap"
description = "Zap."
operation = "TODO"  # an operation of `dragoman tools --fidelity`, or move it to steering

[tools.parameters]
how = { means = "TODO", type = "string", description = "TODO: describe it" }
"""


def captured(user: User, value: Any) -> Path:
    return user.write(user.here / "captured.json", msgspec.json.encode(value).decode())


@pytest.mark.parametrize("shape", SHAPES)
def test_new_writes_what_is_known_and_leaves_the_rest_to_do(user: User, shape: str) -> None:
    captured(user, SHAPES[shape])
    answer = user.types("dialect", "new", "acme", "--from", "captured.json", "--to", "acme.toml")
    assert (answer.code, answer.out) == (0, "")
    assert (user.here / "acme.toml").read_text() == WRITTEN
    checked = user.types("dialect", "check", "acme.toml", "--json")
    (found,) = checked.json["dialects"]
    assert (checked.code, found["spoken"]) == (1, ["read_file"])
    assert [(problem["law"], problem["where"]) for problem in found["problems"]] == [("to do", "zap")]


def test_new_in_python_passes_the_check_but_for_what_is_left_to_do(user: User) -> None:
    captured(user, SHAPES["anthropic"])
    assert user.types("dialect", "new", "acme", "--from", "captured.json", "--to", "acme.py").code == 0
    (found,) = user.types("dialect", "check", "acme.py", "--json").json["dialects"]
    assert (found["spoken"], [problem["law"] for problem in found["problems"]]) == (["read_file"], ["to do"])
    said = user.types("say", "read_file", "path=a", "first_line=5", "last_line=9", "--to", "acme.py").out
    assert said == 'acme\n  read {"filePath":"a","offset":5,"limit":5}\n'


@pytest.mark.parametrize("language", ["--toml", "--python"])
@pytest.mark.slow
def test_new_from_the_tools_of_our_own_dialects_leaves_no_broken_law(user: User, language: str) -> None:
    suffix = ".py" if language == "--python" else ".toml"
    for name in ("gemini_cli", "pi"):
        offered = user.types("tools", "--dialect", name, "--json").json[name]
        captured(user, [one for one in offered if "parameters" in one])
        target = f"mine_{name}{suffix}"
        new = user.types("dialect", "new", f"mine.{name}", "--from", "captured.json", "--to", target, language)
        assert new.code == 0, new.err
        checked = user.types("dialect", "check", target, "--json").json
        assert checked["broken"] == []
        assert {problem["law"] for one in checked["dialects"] for problem in one["problems"]} <= {"to do"}


def test_a_guess_means_what_the_tool_it_is_guessed_from_means(user: User) -> None:
    offered = user.types("tools", "--dialect", "claude_code", "--json").json["claude_code"]
    captured(user, [one for one in offered if "parameters" in one])
    user.types("dialect", "new", "mine", "--from", "captured.json", "--to", "mine.toml")
    mine, known = dialect_from_file(user.here / "mine.toml"), DIALECTS["claude_code"]
    calls = [
        ("Read", {"file_path": "a", "offset": 3, "limit": 4}),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True}),
        ("WebSearch", {"query": "x", "allowed_domains": ["a.example"]}),
        ("Bash", {"command": "ls", "timeout": 5000, "run_in_background": True, "description": "list"}),
    ]
    for name, arguments in calls:
        native = NativeCall("1", name, arguments)
        assert mine.read_call(native).operations == known.read_call(native).operations
        assert not isinstance(mine.read_call(native).operations[0], op.SteerClient)


def test_new_prints_when_no_file_is_named_and_says_what_it_left_out(user: User) -> None:
    captured(user, [*SHAPES["anthropic"]["tools"], {"type": "web_search_20250305", "name": "web_search"}])
    answer = user.types("dialect", "new", "acme", "--from", "captured.json")
    assert (answer.code, answer.out) == (0, WRITTEN)
    assert answer.err == "warning: left out, the provider's own: web_search\n"


def test_new_knows_tools_that_only_steer_a_client(user: User) -> None:
    captured(
        user, [{"name": "EnterPlanMode", "input_schema": {"type": "object", "properties": {}}}, *SHAPES["openai_chat"]]
    )
    written = user.types("dialect", "new", "acme", "--from", "captured.json").out
    assert '[[steering]]\nname = "EnterPlanMode"\nreason = "' in written
    assert "# guess: as EnterPlanMode of claude_code" in written


def test_new_keeps_namespaces_and_names_that_python_has_taken(user: User) -> None:
    tools = [
        {"type": "namespace", "name": "acme", "tools": [{"name": "zap", "parameters": {}}, {"name": "none"}]},
        {"name": "read", "input_schema": {**READ, "properties": {**READ["properties"], "class": {"type": "string"}}}},
        {"name": "None", "input_schema": READ},
    ]
    captured(user, tools)
    for target in ("mine.toml", "mine.py"):
        assert user.types("dialect", "new", "mine", "--from", "captured.json", "--to", target).code == 0
        dialect = dialect_from_file(user.here / target)
        assert {(one.namespace, one.name) for one in dialect.steering} >= {("acme", "zap"), ("acme", "none")}
        native = NativeCall("1", "zap", {}, namespace="acme")
        assert dialect.read_call(native).operations == (op.SteerClient("zap", {}),)
        assert dialect.read_call(NativeCall("1", "read", {"filePath": "a", "class": "b"})).unmapped == {"class": "b"}


def test_new_writes_over_nothing(user: User) -> None:
    captured(user, SHAPES["anthropic"])
    user.write(user.here / "acme.toml", "mine")
    answer = user.types("dialect", "new", "acme", "--from", "captured.json", "--to", "acme.toml")
    assert (answer.code, (user.here / "acme.toml").read_text()) == (2, "mine")
    assert "is not written over" in answer.err


@pytest.mark.parametrize(
    "words, text, complaint",
    [
        (("Acme!",), "[]", '"Acme!" is no name for a dialect'),
        (("acme", "--to", "acme.yaml"), "[]", "ends in .toml or .py"),
        (("acme", "--to", "acme.py", "--toml"), "[]", "the end of its name says python"),
        (("acme",), "{", "captured.json is not JSON"),
        (("acme",), "[]", "there is no tool in it"),
        (("acme",), "[1]", "tool 1 is no object: 1"),
        (("acme",), '{"a": 1}', "there is no tool in it"),
        (("acme",), '{"tool_sets": [1, {"tools": 3}]}', "there is no tool in it"),
        (("acme",), "[" * 5000 + "]" * 5000, "captured.json is nested too deeply"),
        (("acme",), '[{"name": "a", "parameters": ' + '{"a": ' * 700 + "1" + "}" * 701 + "]", "is nested too deeply"),
    ],
)
def test_new_explains_what_it_cannot_use(user: User, words: tuple[str, ...], text: str, complaint: str) -> None:
    user.write(user.here / "captured.json", text)
    answer = user.types("dialect", "new", *words, "--from", "captured.json")
    assert answer.code in (2, 3)
    assert answer.out == ""
    assert complaint in answer.err


def test_foreign_text_in_what_was_captured_stays_text(user: User) -> None:
    evil = "a\"\"\"\n''' \\ \x1b[31m \x7f \u2028 {x} [[tools]]"
    schema = {"type": "object", "properties": {evil: {"type": "string", "description": evil}}, "required": [evil]}
    captured(user, [{"name": evil, "description": evil, "input_schema": schema}, *SHAPES["openai_chat"]])
    for target in ("evil.toml", "evil.py"):
        assert user.types("dialect", "new", "acme", "--from", "captured.json", "--to", target).code == 0
        checked = user.types("dialect", "check", target, "--json").json
        assert (checked["broken"], len(checked["dialects"])) == ([], 1)


# --- pages -------------------------------------------------------------------------------------------------------


def test_the_page_of_fidelity_stands_by_itself_and_takes_foreign_text_for_text(user: User) -> None:
    evil = "<script>alert(1)</script>"
    user.write(user.here / "evil.toml", DATA.replace('"rm"', f'"{evil}"') + f'\n[unspoken]\nmove_file = "{evil}|`*"\n')
    words = ("tools", "--fidelity", "--dialect", "evil.toml", "--dialect", "zai")
    assert user.types(*words, "--html", "page.html", "--markdown", "page.md").code == 0
    page, text = (user.here / "page.html").read_text(), (user.here / "page.md").read_text()
    assert "<script" not in page
    assert "not spoken (&lt;script&gt;alert(1)&lt;/script&gt;\\|`\\*)" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not [word for word in ("http://", "https://", "src=", "url(", "@import", "<link") if word in page]
    assert "default-src 'none'" in page
    assert user.types(*words, "--markdown", "-").out == text


def test_pages_are_pages_of_fidelity(user: User) -> None:
    answer = user.types("tools", "--html", "page.html")
    assert (answer.code, (user.here / "page.html").exists()) == (2, False)
