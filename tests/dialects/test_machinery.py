"""What a declaration must say, and what comes from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect, Loss, McpNames, Spelling, Steer, means, native_only
from dragoman.errors import DefinitionError, Unspeakable
from dragoman.model import (
    Call,
    Coercion,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    operations as op,
    outcomes as out,
)
from dragoman.model.edit_rules import EditRules


class Open(Spelling[op.ReadFile]):
    """Open a file."""

    native_name, formerly = "open", ("show",)
    unsaid = {"pages": "a file has no pages"}

    file: str = means("path", "The file.")
    start: int | None = means("first_line", "Where to start.", default=None)
    stop: int | None = means("last_line", "Where to stop.", default=None, since="2.0")
    hurry: bool | None = native_only("how fast is nobody's business")


def hidden_field() -> None:
    class Bad(Spelling[op.ReadFile]):
        """Read."""

        native_name = "bad"
        path: str


def meaningless_parameter() -> None:
    class Bad(Spelling[op.DeleteFile]):
        """Delete."""

        native_name = "bad"
        path: str
        force: bool = False


def reason_left_out() -> None:
    class Bad(Spelling[op.DeleteFile]):
        """Delete."""

        native_name = "bad"
        path: str
        force: bool = native_only("", default=False)


def one_direction_only() -> None:
    class Bad(Spelling[op.DeleteFile]):
        """Delete."""

        native_name = "bad"
        file: str

        def to_operations(self) -> tuple[op.Operation, ...]:
            return (op.DeleteFile(self.file),)


def required_and_unsaid() -> None:
    class Bad(Spelling[op.DeleteFile]):
        """Delete."""

        native_name = "bad"
        unsaid = {"path": "who cares"}


def said_and_unsaid() -> None:
    class Bad(Spelling[op.ReadFile]):
        """Read."""

        native_name = "bad"
        unsaid = {"first_line": "it is read whole", "last_line": "it is read whole"}
        path: str
        first_line: int | None = None


def loss_of_nothing() -> None:
    class Bad(Spelling[op.DeleteFile]):
        """Delete."""

        native_name = "bad"
        unsaid = {"colour": "there is none"}
        path: str


def no_description() -> None:
    class Bad(Spelling[op.DeleteFile]):
        native_name = "bad"
        path: str


def no_operation() -> None:
    class Bad(Spelling):  # type: ignore[type-arg]
        """Delete."""

        native_name = "bad"
        path: str


def several_without_methods() -> None:
    class Bad(Spelling[op.DeleteFile | op.ReadFile]):
        """Delete or read."""

        native_name = "bad"
        path: str


@pytest.mark.parametrize(
    "declare, problem",
    [
        (hidden_field, "the operation's 'first_line' is neither said nor `unsaid`"),
        (meaningless_parameter, "'force' means 'force', which the operation does not have"),
        (reason_left_out, "'force' is `native_only` without a reason"),
        (one_direction_only, "`from_operation` must be too"),
        (required_and_unsaid, "'path' is required, so it cannot be unsaid"),
        (said_and_unsaid, "'first_line' is said and `unsaid`"),
        (loss_of_nothing, "'colour' is declared lost or approximated, but no such field exists"),
        (no_description, "it has no docstring"),
        (no_operation, "it names no operation"),
        (several_without_methods, "it speaks several operations"),
    ],
)
def test_a_declaration_that_hides_something_cannot_be_imported(declare: Callable[[], None], problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        declare()
    assert any(problem in one for one in refused.value.problems)
    assert refused.value.where is not None


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as refused:
        hidden_field()
    assert refused.value.problems == (
        "the operation's 'first_line' is neither said nor `unsaid`",
        "the operation's 'last_line' is neither said nor `unsaid`",
    )


def test_a_field_that_is_seldom_said_has_a_usual_reason() -> None:
    class Shown(Spelling[op.ReadFile]):
        """Read a file."""

        native_name = "show"
        unsaid = {"first_line": "it is read whole", "last_line": "it is read whole"}

        path: str

    assert Shown.unsaid == {
        "pages": "there is no parameter for the pages of a document",
        "first_line": "it is read whole",
        "last_line": "it is read whole",
    }


def test_a_tool_that_is_only_read_need_not_say_what_it_cannot() -> None:
    class Seen(Spelling[op.RunCommand]):
        """Run a command."""

        native_name = "ran"
        read_only = "an old form"

        line: str = means("command")

    assert Seen(line="ls").to_operations() == (op.RunCommand("ls"),)


def test_a_call_is_read_and_what_has_no_meaning_is_kept_apart() -> None:
    dialect = Dialect("acme", (Open,))
    native = NativeCall("1", "show", {"file": "a", "start": "3", "hurry": True, "mood": "good"})
    assert dialect.read_call(native) == Call(
        "1",
        (op.ReadFile("a", first_line=3),),
        native,
        {"hurry": True, "mood": "good"},
        (Coercion("start", "number_from_text", "3", 3),),
    )


def test_arguments_that_cannot_be_read_are_a_failure_with_every_problem() -> None:
    call = Dialect("acme", (Open,)).read_call(NativeCall("1", "open", {"start": "soon"}))
    assert call.operations == ()
    assert call.failure is not None
    assert {problem["path"] for problem in call.failure.details["problems"]} == {"file", "start"}


def test_what_is_written_leaves_out_what_is_not_said_and_the_loss_is_told() -> None:
    dialect = Dialect("acme", (Open,))
    meaning = op.ReadFile("a", pages="1-2")
    assert dialect.write_call("1", meaning) == (NativeCall("1", "open", {"file": "a"}),)
    assert dialect.loss(meaning) == (Loss("pages", "a file has no pages"),)
    assert dialect.loss(op.ReadFile("a")) == ()


def test_only_what_means_something_is_offered_in_the_version_asked_for() -> None:
    def offered(dialect: Dialect) -> Any:
        (definition,) = dialect.definitions()
        assert isinstance(definition, FunctionDefinition)
        return definition.parameters

    dialect = Dialect("acme", (Open,))
    assert offered(dialect) == {
        "type": "object",
        "properties": {
            "file": {"type": "string", "description": "The file."},
            "start": {"type": "integer", "description": "Where to start."},
            "stop": {"type": "integer", "description": "Where to stop."},
        },
        "additionalProperties": False,
        "required": ["file"],
    }
    assert list(offered(dialect.at("1.9.3"))["properties"]) == ["file", "start"]
    assert "stop" in offered(dialect.at("2.0.1"))["properties"]


class OpenEarlier(Spelling[op.ReadFile]):
    """Open a file."""

    native_name = "open"
    until = "1.4"
    unsaid = {"pages": "none", "first_line": "none", "last_line": "none"}

    name: str = means("path", "The file.")


class OpenNow(Spelling[op.ReadFile]):
    """Open a file."""

    native_name = "open"
    since = "1.5"
    families = ("acme-2*",)
    unsaid = {"pages": "none", "first_line": "none", "last_line": "none"}

    path: str = means("path", "The file.")


def test_an_older_shape_of_a_name_is_read_and_offered_to_its_own_version_only() -> None:
    dialect = Dialect("acme", (OpenNow, OpenEarlier), default_family="acme-2")
    for arguments in ({"name": "a"}, {"path": "a"}):
        assert dialect.read_call(NativeCall("1", "open", arguments)).operations == (op.ReadFile("a"),)
    assert dialect.write_call("1", op.ReadFile("a"))[0].arguments == {"path": "a"}
    assert dialect.at("1.4.9").write_call("1", op.ReadFile("a"))[0].arguments == {"name": "a"}
    assert dialect.at(family="acme-1").definitions() == []
    assert len(dialect.at(family="acme-2.5").definitions()) == 1


def test_one_name_twice_at_the_same_time_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'open' is said twice"):
        Dialect("acme", (Open, OpenNow))


def test_but_puts_another_spelling_in_place_of_the_one_of_that_name() -> None:
    dialect = Dialect("acme", (Open,), unspoken={op.DeleteFile: "never"}).but(OpenNow)
    assert dialect.spellings == (OpenNow,)
    assert dialect.but(without=("open",)).spellings == ()


def test_what_is_not_spoken_is_refused_with_the_stated_reason() -> None:
    dialect = Dialect("acme", (Open,), unspoken={op.DeleteFile: "nothing is ever deleted"})
    with pytest.raises(Unspeakable, match="acme cannot say delete_file: nothing is ever deleted"):
        dialect.write_call("1", op.DeleteFile("a"))
    with pytest.raises(Unspeakable, match="acme cannot say insert_text: text is inserted by replacing the text around"):
        dialect.write_call("1", op.InsertText("a", 1, "b"))
    with pytest.raises(DefinitionError, match="ReadFile is unspoken and spoken by Open"):
        Dialect("acme", (Open,), unspoken={op.ReadFile: "no"})


def test_a_reason_for_a_group_of_operations_holds_for_each_that_has_none_of_its_own() -> None:
    dialect = Dialect("acme", (), unspoken={op.Writing: "it only reads", op.MoveFile: "a path never changes"})
    assert dialect.reason_unspoken(op.WriteFile) == dialect.reason_unspoken(op.DeleteFile) == "it only reads"
    assert dialect.reason_unspoken(op.MoveFile) == "a path never changes"
    assert dialect.reason_unspoken(op.ReadFiles) == op.ReadFiles.unspoken


def test_a_client_is_steered_by_its_own_tools() -> None:
    dialect = Dialect("acme", (), steering=(Steer("plan_mode", "a mode of the client", ("on",), formerly=("pm",)),))
    native = NativeCall("1", "pm", {"on": True, "loud": 1})
    call = dialect.read_call(native)
    assert call.operations == (op.SteerClient("plan_mode", {"on": True, "loud": 1}),)
    assert call.unmapped == {"loud": 1}
    assert dialect.write_call("1", op.SteerClient("plan_mode", {})) == (NativeCall("1", "plan_mode", {}),)


def test_functions_of_the_run_are_known_and_everything_else_is_kept_as_it_was() -> None:
    dialect = Dialect("acme", (Open,)).knowing(functions={"greet"})
    assert dialect.read_call(NativeCall("1", "greet", {"a": 1})).operations == (op.CallFunction("greet", {"a": 1}),)
    assert dialect.read_call(NativeCall("1", "grete", {"a": 1})).operations == (op.Unrecognised("grete", {"a": 1}),)


@pytest.mark.parametrize(
    "names, native, servers",
    [
        (McpNames("mcp__{server}__{tool}"), (None, "mcp__toy__add_up"), ()),
        (McpNames("{tool}", "mcp__{server}"), ("mcp__toy", "add_up"), ()),
        (McpNames("mcp_{server}_{tool}"), (None, "mcp_toy_add_up"), ()),
        (McpNames("{server}_{tool}"), (None, "toy_add_up"), ("toy",)),
        (McpNames("{server}-{tool}"), (None, "toy-add_up"), ("toy",)),
        (McpNames("{server}__{tool}"), (None, "toy__add_up"), ("toy",)),
    ],
)
def test_tools_of_mcp_servers_are_read_and_written_in_every_form(
    names: McpNames, native: tuple[str | None, str], servers: tuple[str, ...]
) -> None:
    dialect = Dialect("acme", (), mcp=(names,)).knowing(servers=servers)
    meaning = op.CallMcpTool("toy", "add_up", {"a": 1})
    call = NativeCall("1", native[1], {"a": 1}, namespace=native[0])
    assert dialect.read_call(call).operations == (meaning,)
    assert dialect.write_call("1", meaning) == (call,)


def test_a_bare_name_is_a_servers_tool_only_where_the_run_says_so() -> None:
    dialect = Dialect("acme", (Open,), mcp=(McpNames("{server}_{tool}"),))
    native = NativeCall("1", "toy_add", {})
    assert dialect.read_call(native).operations == (op.Unrecognised("toy_add", {}),)
    assert dialect.knowing(servers=("toy",)).read_call(native).operations == (op.CallMcpTool("toy", "add"),)


def test_a_bare_name_is_told_by_the_list_of_a_servers_tools() -> None:
    dialect = Dialect("acme", (Open,), mcp=(McpNames("{tool}"),))
    native = NativeCall("1", "echo", {"text": "a"})
    meaning = op.CallMcpTool("toy", "echo", {"text": "a"})
    assert dialect.read_call(native).operations == (op.Unrecognised("echo", {"text": "a"}),)
    assert dialect.knowing(servers={"toy": ("echo",)}).read_call(native).operations == (meaning,)
    assert dialect.write_call("1", meaning) == (native,)


def test_a_server_whose_name_has_the_mark_in_it_is_told_by_the_list_of_servers() -> None:
    dialect = Dialect("acme", (), mcp=(McpNames("mcp__{server}__{tool}"),))
    native = NativeCall("1", "mcp__my__toy__add", {})
    assert dialect.read_call(native).operations == (op.CallMcpTool("my", "toy__add"),)
    assert dialect.knowing(servers=("my__toy",)).read_call(native).operations == (op.CallMcpTool("my__toy", "add"),)


@pytest.mark.parametrize(
    "names",
    [
        McpNames("mcp__{server}__{tool}"),
        McpNames("{tool}", "mcp__{server}"),
        McpNames("{server}_{tool}"),
    ],
)
def test_a_server_keeps_its_name_where_it_cannot_stand_in_the_name_of_a_tool(names: McpNames) -> None:
    meaning = op.CallMcpTool("my toy", "add", {})
    dialect = Dialect("acme", (), mcp=(names,)).knowing(servers=("my toy",))
    (call,) = dialect.write_call("1", meaning)
    assert "my_toy" in f"{call.namespace}{call.name}"
    assert dialect.read_call(call).operations == (meaning,)


def test_what_a_run_has_is_known_at_every_version_and_in_no_other_run() -> None:
    dialect = Dialect("acme", (Open,), mcp=(McpNames("{server}_{tool}"),), captured=("1.0", "2.0"))
    native, greeting = NativeCall("1", "toy_add", {}), NativeCall("2", "greet", {})
    assert dialect.read_call(native).operations == (op.Unrecognised("toy_add", {}),)  # read before the run is known
    for knowing in (
        dialect.knowing(servers=("toy",)).knowing(functions=("greet",)).at("1.0"),
        dialect.at("1.0").knowing(servers=("toy",), functions=("greet",)),
        dialect.knowing(servers=("toy",), functions=("greet",)).at("2.0").at("1.0"),
    ):
        assert knowing.version == "1.0"
        assert knowing.read_call(native).operations == (op.CallMcpTool("toy", "add"),)
        assert knowing.read_call(greeting).operations == (op.CallFunction("greet", {}),)
    for elsewhere in (dialect, dialect.at("1.0"), dialect.knowing(servers=("other",)).at("1.0")):
        assert elsewhere.read_call(native).operations == (op.Unrecognised("toy_add", {}),)
        assert elsewhere.read_call(greeting).operations == (op.Unrecognised("greet", {}),)


def test_tools_that_are_not_offered_stay_unsaid_at_every_version() -> None:
    dialect = Dialect("acme", (Open,), captured=("1.0", "2.0"))
    assert dialect.write_call("1", op.ReadFile("a"))[0].name == "open"
    for narrowed in (
        dialect.only(()).at("2.0"),
        dialect.at("2.0").only(()),
        dialect.only(()).knowing(functions=("f",)),
    ):
        with pytest.raises(Unspeakable, match="no tool that is offered says it"):
            narrowed.write_call("1", op.ReadFile("a"))
    assert dialect.at("2.0").write_call("1", op.ReadFile("a"))[0].name == "open"


def test_a_version_between_two_captured_ones_is_offered_what_the_earlier_was() -> None:
    dialect = Dialect("acme", (OpenNow, OpenEarlier), default_family="acme-2", captured=("1.0", "1.4", "1.5"))
    assert dialect.at("1.4.9").write_call("1", op.ReadFile("a"))[0].arguments == {"name": "a"}
    assert dialect.at("1.2").write_call("1", op.ReadFile("a"))[0].arguments == {"name": "a"}
    assert dialect.at("0.5").write_call("1", op.ReadFile("a"))[0].arguments == {"name": "a"}
    assert dialect.at("7.0").write_call("1", op.ReadFile("a"))[0].arguments == {"path": "a"}


def test_what_nobody_knows_is_written_as_it_was() -> None:
    dialect = Dialect("acme", (Open,))
    assert dialect.write_call("1", op.Unrecognised("zz", {"a": 1})) == (NativeCall("1", "zz", {"a": 1}),)
    assert dialect.loss(op.Unrecognised("zz", {"a": 1})) == ()


def test_a_server_whose_name_does_not_survive_is_told_as_a_loss() -> None:
    dialect = Dialect("acme", (), mcp=(McpNames("mcp_{server}_{tool}"),))
    assert dialect.loss(op.CallMcpTool("a", "b")) == ()
    assert {lost.field for lost in dialect.loss(op.CallMcpTool("a_b", "c"))} == {"server", "tool"}
    assert dialect.write_call("1", op.CallMcpTool("a.b", "c"))[0].name == "mcp_a_b_c"
    assert dialect.read_call(NativeCall("1", "mcp__a__b", {})).operations == (op.Unrecognised("mcp__a__b", {}),)


def test_background_tasks_of_kimi_are_read_with_their_state() -> None:
    """As Kimi Code prints them; nothing else in the samples lists any."""
    dialect = DIALECTS["kimi_code"]
    call = dialect.read_call(NativeCall("1", "TaskList", {}))
    text = "active_background_tasks: 2\ntask_id: a\ncommand: sleep 9\nstatus: running\n---\ntask_id: b\nstatus: done"
    (outcome,) = dialect.read_result(call, NativeResult("1", text)).outcomes
    assert outcome == out.JobsOutcome((out.Job("a", "sleep 9", True), out.Job("b", None, False)))


def test_a_command_of_cursor_has_its_folder_and_its_purpose_under_either_name() -> None:
    dialect = DIALECTS["cursor"]
    for folder in ("working_directory", "cwd"):
        for purpose in ("description", "explanation"):
            given = {"command": "ls", folder: "/p", purpose: "look"}
            name = next(one.native_name for one in dialect.spellings if op.RunCommand in one.operation_types)
            assert dialect.read_call(NativeCall("1", name, given)).operations == (
                op.RunCommand("ls", "/p", purpose="look"),
            )


@pytest.mark.parametrize("said", [{"is_background": True}, {"isBackground": True}, {"block_until_ms": 0}])
def test_a_command_of_cursor_is_in_the_background_under_every_name(said: dict[str, Any]) -> None:
    dialect = DIALECTS["cursor"]
    name = next(one.native_name for one in dialect.spellings if op.RunCommand in one.operation_types)
    (operation,) = dialect.read_call(NativeCall("1", name, {"command": "ls", **said})).operations
    assert operation == op.RunCommand("ls", background=True)


def test_a_command_of_an_editor_that_lacks_a_parameter_names_it() -> None:
    missing = {"create": "file_text", "str_replace": "old_str", "insert": "insert_line"}
    for dialect, tool in (
        ("openhands", "file_editor"),
        ("swe_agent", "str_replace_editor"),
        ("inspect_ai", "text_editor"),
        ("anthropic", "str_replace_based_edit_tool"),
    ):
        for command, parameter in missing.items():
            arguments = {"command": command, "path": "/a", "security_risk": "LOW"}
            if dialect != "openhands":
                del arguments["security_risk"]
            call = DIALECTS[dialect].read_call(NativeCall("1", tool, arguments))
            assert call.failure is not None
            assert f"{parameter}: it must be given" in call.failure.message


def test_the_usual_rules_for_edits_ask_for_nothing_special() -> None:
    rules = EditRules()
    assert (rules.read_first, rules.commands_read, rules.notebooks, rules.placeholders) == (False, False, True, ())
