"""Dialects written as data: the same classes as in Python, all problems at once, and nothing in a file ever run."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from dragoman.dialects import Dialect
from dragoman.dialects.plugins import dialect_from_file
from dragoman.dialects.plugins.from_data import from_content, from_source
from dragoman.dialects.plugins.laws import Problem, check
from dragoman.errors import DefinitionError, Unspeakable
from dragoman.model import Call, NativeCall, NativeResult, operations as op, outcomes as out
from dragoman.registry import Plugins, Registry
from tests.examples import examples
from tests.strategies import JSON

ACME = Path(__file__).with_name("acme.toml")
CONTENT = tomllib.loads(ACME.read_text())
DIALECT = dialect_from_file(ACME)


def said(operation: op.Operation) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in DIALECT.write_call("1", operation)]


def read(name: str, **arguments: Any) -> Call:
    return DIALECT.read_call(NativeCall("1", name, arguments))


def problems(text: str, suffix: str = ".toml") -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        from_source(Path(f"acme{suffix}"), text.encode())
    assert caught.value.where == f"acme{suffix}"
    return caught.value.problems


# --- what it says ------------------------------------------------------------------------------------------------


def test_names_that_are_no_identifiers_and_lines_by_their_number() -> None:
    assert said(op.ReadFile("a", 5, 9)) == [("open_file", {"file-name": "a", "from": 5, "count": 5})]
    call = read("cat_file", **{"file-name": "a", "count": 5.0, "cache": True})
    assert (call.operations, call.unmapped) == ((op.ReadFile("a", None, 5),), {"cache": True})


def test_a_count_that_a_number_cannot_say_exactly_is_not_said() -> None:
    with pytest.raises(Unspeakable):
        said(op.ReadFile("a", -1, 2**53 - 1))
    assert said(op.ReadFile("a", 1, 2**53)) == [("open_file", {"file-name": "a", "from": 1, "count": 2**53})]


def test_a_field_said_in_parts_takes_a_call_for_each_value() -> None:
    edits = (op.Edit("x", "y"), op.Edit("z", "", everywhere=True))
    assert said(op.EditFile("a", edits)) == [
        ("change_file", {"path": "a", "old": "x", "new": "y"}),
        ("change_file", {"path": "a", "old": "z", "new": "", "all": True}),
    ]
    assert read("change_file", path="a", old="x", new="y").operations == (op.EditFile("a", (op.Edit("x", "y"),)),)


def test_a_list_of_objects_with_names_of_its_own() -> None:
    call = read("change_many", path="a", why="tidy", changes=[{"oldText": "x", "newText": "y", "tag": 1}])
    assert call.operations == (op.EditFile("a", (op.Edit("x", "y"),), "tidy"),)
    assert call.unmapped == {"changes[0].tag": 1}
    assert said(op.EditFile("a", (op.Edit("x", "y"), op.Edit("z", "w")), "tidy")) == [
        (
            "change_many",
            {
                "path": "a",
                "why": "tidy",
                "changes": [{"oldText": "x", "newText": "y"}, {"oldText": "z", "newText": "w"}],
            },
        )
    ]


def test_units_words_and_counts_are_converted() -> None:
    assert said(op.RunCommand("ls", timeout_ms=1500)) == [("run", {"command": "ls", "timeout": 1.5})]
    assert said(op.SearchText("x", mode="count", case_sensitive=False, limit=3)) == [
        ("grep", {"pattern": "x", "output": "numbers", "-i": True, "max": 3})
    ]
    assert said(op.ReadOutput("7", wait_ms=2000)) == [("wait", {"id": 7, "seconds": 2})]
    assert said(op.InsertText("a", 1, "x")) == [("insert", {"path": "a", "after": 0, "text": "x"})]
    assert read("todo", todos=[{"content": "think", "state": "doing"}]).operations == (
        op.UpdatePlan((op.PlanItem("think", "in_progress"),)),
    )


def test_the_loss_is_what_the_file_states() -> None:
    (loss,) = DIALECT.loss(op.ReadFile("a", pages="1-2"))
    assert (loss.field, loss.reason) == ("pages", "a document is read whole")
    assert DIALECT.unspoken == {op.DeleteFile: "it is done with a shell command"}
    assert read("plan_mode", on=True).operations == (op.SteerClient("plan_mode", {"on": True}),)


def test_yaml_says_the_same_as_toml() -> None:
    source = yaml.safe_dump(CONTENT, sort_keys=False, allow_unicode=True)
    for suffix in (".yaml", ".yml"):
        same = from_source(Path(f"acme{suffix}"), source.encode())
        assert same.definitions() == DIALECT.definitions()
        assert same.fidelity() == DIALECT.fidelity()


def test_yaml_takes_words_for_words() -> None:
    source = "name: acme\ntools:\n- {name: no, description: yes, operation: read_plan, unsaid: {id: on}}\n"
    (spelling,) = from_source(Path("a.yaml"), source.encode()).spellings
    assert (spelling.native_name, spelling.__doc__, dict(spelling.unsaid)) == ("no", "yes", {"id": "on"})


# --- what is wrong with it ---------------------------------------------------------------------------------------

WRONG = """
name = "acme"
colour = "red"

[[tools]]
name = "open_file"
operation = "reed_file"
description = "Read a file."

[[tools]]
name = "run"
description = "Run a command."
operation = "run_command"
unsaid = { cwd = "", purpos = "no parameter" }

[tools.parameters]
command = { mean = "command" }
timeout = { means = "timeout_ms", type = "number", convert = "second" }
login = { means = "logn" }
when = { means = "job", type = "boolean" }

[tools.parameters.both]
means = "shell"
native_only = "it has none"
"""


def test_every_problem_is_told_at_once_with_its_line_and_the_nearest_name() -> None:
    fields = ", ".join(op.RunCommand.__struct_fields__)
    keys = "means, native_only, description, since, until, type, convert, values, items, required, default, schema"
    assert problems(WRONG) == (
        'line 7, tools[0].operation: there is no operation "reed_file". Did you mean "read_file"?',
        "line 14, tools[1].unsaid.cwd: is empty",
        'line 14, tools[1].unsaid.purpos: run_command has no "purpos"; it has: ' + fields + '. Did you mean "purpose"?',
        f'line 17, tools[1].parameters.command.mean: there is no key "mean" here; known: {keys}. Did you mean "means"?',
        'line 18, tools[1].parameters.timeout.convert: there is no conversion "second"; known: seconds, whole_seconds, '
        'number_as_text, empty_is_unsaid, from_zero, not, line_count. Did you mean "seconds"?',
        f'line 19, tools[1].parameters.login.means: run_command has no "logn"; it has: {fields}. Did you mean "login"?',
        'line 20, tools[1].parameters.when.type: is "boolean", but what it means takes string',
        "line 22, tools[1].parameters.both: says what it means and why it means nothing: keep one of `means` and "
        "`native_only`",
        'line 3, colour: there is no key "colour" here; known: name, description, tools, steering, unspoken, mcp, '
        "default_family, captured, provider_dialect.",
    )


def test_the_checks_of_python_classes_hold_for_data() -> None:
    text = """
name = "acme"
[[tools]]
name = "move"
description = "Move a file."
operation = "move_file"
[tools.parameters]
path = { description = "From." }
also = { means = "path", description = "From, too." }
"""
    assert problems(text) == (
        "line 3, tools[0]: the operation's 'to' is neither said nor `unsaid`",
        "line 3, tools[0]: two parameters mean 'path', so a method must say which",
    )


def test_what_is_said_in_parts_is_held_to_the_same_checks() -> None:
    text = """
name = "acme"
[[tools]]
name = "edit"
description = "Edit a file."
operation = "edit_file"
[tools.parameters]
old = { means = "edits.old", description = "Old." }
new = { means = "edits.new", description = "New." }
"""
    assert problems(text) == ("line 3, tools[0]: the operation's 'path' is neither said nor `unsaid`",)


def test_what_a_tool_implies_is_not_said_as_well() -> None:
    text = """
name = "acme"
[[tools]]
name = "rm"
description = "Delete a file."
operation = "delete_file"
always = { path = "a" }
[tools.parameters]
path = { description = "The file." }
"""
    assert problems(text) == ("line 7, tools[0].always.path: is implied and said by a parameter: keep one",)


def test_what_stands_inside_takes_no_key_that_would_be_forgotten() -> None:
    content = tomllib.loads(ACME.read_text())
    content["tools"][2]["parameters"]["changes"]["items"]["oldText"]["schema"] = {"minLength": 1}
    with pytest.raises(DefinitionError, match="`schema` is said of the whole parameter, not of what stands inside it"):
        from_content(content)


def test_two_tools_of_one_name_are_refused_as_in_python() -> None:
    tool = '[[tools]]\nname = "plan"\ndescription = "Read."\noperation = "read_plan"\nunsaid = { id = "none" }\n'
    assert problems(f'name = "acme"\n{tool}{tool}') == ("'plan' is said twice at the same time by Plan and Plan",)


@pytest.mark.parametrize(
    "declared, problem",
    [
        ("default = 3", "default: does not fit its type: Expected `str`, got `int`"),
        ("required = false", "required: 'path' must be said: make the parameter required, or give it a default"),
        ('required = true, default = "a"', "default: is required, so it has no default"),
        ('required = "yes"', "required: must be true or false, not 'yes'"),
        ('type = "integer"', 'type: is "integer", but what it means takes string; `convert` may be: number_as_text'),
        ('convert = "not"', "convert: \"not\" does not give what 'path' holds"),
        ('convert = "line_count"', 'convert: counts lines to the "last_line" of read_file and nothing else'),
        ("items = { a = {} }", "items: what it means has no fields inside"),
        ('values = { a = "x", b = "x" }', "values: two native words mean the same, so writing one would be a guess"),
    ],
)
def test_a_parameter_that_does_not_fit_says_why(declared: str, problem: str) -> None:
    text = (
        'name = "acme"\n[[tools]]\nname = "rm"\ndescription = "Delete."\noperation = "delete_file"\n'
        f"[tools.parameters]\npath = {{ {declared} }}\n"
    )
    assert f"line 7, tools[0].parameters.path.{problem}" in problems(text)


def test_inner_problems_have_their_own_lines_in_yaml() -> None:
    text = """name: acme
tools:
- name: todo
  description: Things to do.
  operation: update_plan
  unsaid: {explanation: none}
  parameters:
    todos:
      means: items
      items:
        what: {means: texd}
        state:
          means: status
          values: {done: finished}
"""
    fields = ", ".join(op.PlanItem.__struct_fields__)
    assert problems(text, ".yaml") == (
        f'line 11, tools[0].parameters.todos.items.what.means: PlanItem has no "texd"; it has: {fields}. '
        'Did you mean "text"?',
        'line 14, tools[0].parameters.todos.items.state.values.done: "finished" is none of pending, in_progress, '
        "completed, cancelled, blocked.",
        "line 10, tools[0].parameters.todos.items: nothing in it means 'text', which must be said",
    )


@pytest.mark.parametrize(
    "text, suffix, problem",
    [
        ("name = ", ".toml", "it is not valid TOML: Invalid value (at end of document)"),
        ("a: [", ".yaml", "line 1: not valid YAML: expected the node content, but found '<stream end>'"),
        ("- a", ".yaml", "it holds no table of keys"),
        ("name: a\nname: b", ".yaml", 'line 2: "name" is there twice'),
        ("a: &x 1\nb: *x", ".yaml", "line 2: aliases (`*name`) are not read; write it out"),
        ("a: !!python/object/apply:os.system [ls]", ".yaml", "line 1: the tag 'tag:yaml.org,2002:python/object/apply"),
        ("a: !!int b", ".yaml", "line 1: 'b' is no number"),
        (f"a: {'9' * 5000}", ".yaml", "is no number"),
        ("name: !secret a", ".yaml", "line 1: the tag '!secret' is not read"),
        ("? [a]\n: b", ".yaml", "line 1: a key must be a word"),
        ("a: " + "[" * 5000, ".yaml", "it is nested too deeply"),
        ("a: " + "[" * 101, ".yaml", "it is nested too deeply"),
        ("a: " + "[" * 100, ".yaml", "line 1: not valid YAML: expected the node content"),
        (f"a = {'9' * 5000}", ".toml", "it is not valid TOML: Exceeds the limit"),
        ("a = " + "[" * 5000, ".toml", "it is nested too deeply"),
        ("a." * 100_000 + "a = 1", ".toml", "it is not valid TOML: more than 100 dots in keys or numbers (at line 1"),
    ],
)
def test_what_is_no_plain_data_is_refused_with_the_line(text: str, suffix: str, problem: str) -> None:
    assert problem in problems(text, suffix)[0]


def test_a_file_that_is_no_text_is_refused_with_the_line() -> None:
    with pytest.raises(DefinitionError, match="line 2: it is not UTF-8 text"):
        from_source(Path("a.toml"), b'name = "a"\n\xff')


def test_nothing_in_a_file_becomes_code(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    evil = f"x=open({str(marker)!r},'w')"
    tool = {
        "name": evil,
        "description": evil,
        "operation": "read_file",
        "unsaid": {"first_line": "a", "last_line": "b", "pages": "c"},
        "parameters": {evil: {"means": "path", "description": evil}},
    }
    dialect = from_content({"name": evil, "tools": [tool]})
    dialect.read_call(NativeCall("1", evil, {evil: "a"}))
    assert dialect.write_call("1", op.ReadFile("a"))[0].arguments == {evil: "a"}
    for key, value in (("always", {evil: 1}), ("unsaid", {evil: "a"}), ("parameters", {"a": {"means": evil}})):
        with pytest.raises(DefinitionError):
            from_content({"name": "a", "tools": [{**tool, key: value}]})
    assert not marker.exists()


def test_what_is_left_to_do_loads_and_is_told() -> None:
    tool = {
        "name": "open",
        "description": "Read a file.",
        "operation": "read_file",
        "unsaid": {"first_line": "none", "last_line": "none", "pages": "TODO: why?"},
        "parameters": {"path": {"description": "TODO: describe it"}, "mode": {"means": "TODO", "type": "string"}},
    }
    dialect = from_content({"name": "acme", "tools": [tool, {"name": "zap", "description": "?", "operation": "TODO"}]})
    assert [(problem.law, problem.where) for problem in check(dialect)] == [
        ("to do", "zap"),
        ("to do", "open.mode"),
        ("to do", "open.pages"),
        ("to do", "open.path"),
    ]
    assert dialect.read_call(NativeCall("1", "zap", {})).operations == (op.SteerClient("zap", {}),)


# --- whatever is written -----------------------------------------------------------------------------------------

_PLACES = st.sampled_from(
    [
        (),
        ("tools",),
        ("tools", 0),
        ("tools", 0, "parameters"),
        ("tools", 0, "parameters", "count"),
        ("tools", 2, "parameters", "changes"),
        ("tools", 2, "parameters", "changes", "items"),
        ("tools", 3, "unsaid"),
        ("tools", 4, "parameters", "output", "values"),
        ("steering", 0),
        ("unspoken",),
    ]
)
_KEYS = st.sampled_from(
    [
        *("name", "description", "operation", "formerly", "unsaid", "approximated", "always", "parameters", "families"),
        *("means", "type", "convert", "values", "items", "required", "default", "schema", "native_only", "since"),
        *("reason", "tools", "steering", "unspoken", "mcp", "provider_dialect", "read_file", "path", "status", "TODO"),
    ]
)


@examples(60)
@given(place=_PLACES, key=_KEYS, value=JSON | _KEYS | st.dictionaries(_KEYS, JSON | _KEYS, max_size=3))
def test_any_values_give_a_dialect_or_a_definition_error(place: tuple[Any, ...], key: str, value: Any) -> None:
    content = tomllib.loads(ACME.read_text())
    target: Any = content
    for part in place:
        target = target[part]
    if isinstance(target, list):
        target.append(value)
    else:
        target[key] = value
    try:
        dialect: Dialect | DefinitionError = from_content(content)
    except DefinitionError as error:
        dialect = error
    found = dialect.problems if isinstance(dialect, DefinitionError) else check(dialect)
    assert all(isinstance(problem, str | Problem) for problem in found)
    assert found or isinstance(dialect, Dialect)


# --- from a package ----------------------------------------------------------------------------------------------


def test_a_package_brings_its_data_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_vocabulary.toml").write_text(ACME.read_text())
    (tmp_path / "acme_vocabulary.py").write_text(
        "from pathlib import Path\n"
        "from dragoman.dialects.plugins import dialect_from_file\n"
        "DIALECT = dialect_from_file(Path(__file__).with_suffix('.toml'))\n"
    )
    information = tmp_path / "acme_vocabulary-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-words\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[dragoman.dialects]\nacme = acme_vocabulary:DIALECT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table: Registry[Dialect] = Registry("dialects", plugins=Plugins(lambda: ()))
    assert table["acme"].definitions() == DIALECT.definitions()
    assert [entry.origin for entry in table.entries() if entry.name == "acme"] == ["package acme-words 1.0"]
    monkeypatch.delitem(sys.modules, "acme_vocabulary")


@pytest.mark.parametrize(
    "template, problem",
    [
        ("mcp__{server}", 'must hold "{tool}" once, for example "mcp__{server}__{tool}"'),
        ("mcp_{tool}s{tool}", 'must hold "{tool}" once, for example "mcp__{server}__{tool}"'),
        ("{server}_{tool}_{server}", 'must not hold "{server}" twice'),
        ("mcp_{tool}", 'begins with "mcp" and needs "{server}", for example "mcp__{server}__{tool}"'),
    ],
)
def test_a_name_of_mcp_tools_that_could_not_be_read_back_is_refused(template: str, problem: str) -> None:
    assert f"line 2, mcp[0]: {problem}" in problems(f'name = "acme"\nmcp = ["{template}"]')


# --- results -----------------------------------------------------------------------------------------------------


def test_results_are_written_and_read_in_the_words_of_the_file() -> None:
    call = read("open_file", **{"file-name": "a"})
    for outcome, text in [
        (out.FileOutcome("a", "x\ny", 3), "== a from line 3\nx\ny"),
        (out.FileOutcome("a", "", 1, truncated=True), "== a from line 1 (cut)\n"),
    ]:
        assert DIALECT.write_result(call, (outcome,)).content == text
        assert DIALECT.read_result(call, NativeResult("1", text)).outcomes == (outcome,)


def test_an_older_wording_is_read_and_any_other_text_stays_text() -> None:
    call = read("open_file", **{"file-name": "a"})
    assert DIALECT.read_result(call, NativeResult("1", "a:\nx")).outcomes == (out.FileOutcome("a", "x"),)
    assert DIALECT.read_result(call, NativeResult("1", "no such file")).outcomes == (out.TextOutcome("no such file"),)


RESULT = """name = "acme"
[[tools]]
name = "open_file"
description = "Read a file."
operation = "read_file"
unsaid = {{ pages = "whole", first_line = "whole", last_line = "whole" }}
[tools.parameters]
path = {{ description = "Path of the file." }}
[[tools.results]]
{result}
"""


@pytest.mark.parametrize(
    "result, problem",
    [
        ('outcome = "file"\ntext = "{text}"', 'there is no outcome "file"'),
        ('outcome = "file_outcome"\ntext = "{txt}"', "{txt} is no field of FileOutcome"),
        ('outcome = "file_outcome"\ntext = "{asked.__class__}{text}"', 'the call has no "__class__"'),
        ('outcome = "file_outcome"\ntext = "{text}"\nlines = "to"', 'the outcome has no "to"'),
        ('outcome = "file_outcome"\ntext = "{text}"\ncalled = ["pth"]', 'the call has no "pth"'),
        ('outcome = "file_outcome"\ntext = "{text}"\nwhere = { back = 1 }', 'the outcome has no "back"'),
        ('outcome = "file_outcome"\ntext = "{text}"\nwhere = { truncated = 1 }', "does not fit the outcome"),
        ('outcome = "file_outcome"\ntext = [1]', "is no text"),
        ('outcome = "file_outcome"\ntext = [{ maybe = "a", absent = { x = 1 } }]', "'x' is no field of FileOutcome"),
        ('outcome = "file_outcome"\ntext = "{text}"\nlines = "text"', "FileOutcome.path is neither said"),
    ],
)
def test_what_is_wrong_with_a_result_is_said(result: str, problem: str) -> None:
    assert problem in "\n".join(problems(RESULT.format(result=result)))
