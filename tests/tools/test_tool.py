"""Tools: defined from anything that can be called, read, run, and refused when they are wrong."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from dragoman.errors import DefinitionError, ToolError
from dragoman.model import Coercion, FunctionDefinition, Kind, ReadFile, ToolExample
from dragoman.tools import Cancellation, Context, Inject, Injected, ProviderTool, Tool, tool
from dragoman.tools.definition import Bound

HERE = Path(__file__).name


class Filter(msgspec.Struct):
    """A condition on one field."""

    field: str
    relation: Literal["eq", "lt"] = "eq"


class Database:
    rows = ("one", "two")


@tool
async def search(query: str, filters: list[Filter] | None = None, limit: int = 10) -> str:
    """Search the orders.

    Newest first.

    Args:
        query: What to look for.
        filters: Conditions on rows.
        limit: How many rows at most.
    """
    return f"{query} {len(filters or [])} {limit}"


@tool
def add(one: int, two: int = 1) -> int:
    """Add two numbers."""
    return one + two


# ── defining ─────────────────────────────────────────────────────────────────


def test_a_function_becomes_a_tool_with_its_name_its_words_and_its_schema() -> None:
    assert search.definition == FunctionDefinition(
        "search",
        "Search the orders.\n\nNewest first.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "filters": {
                    "anyOf": [
                        {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "description": "A condition on one field.",
                                "properties": {
                                    "field": {"type": "string"},
                                    "relation": {"type": "string", "enum": ["eq", "lt"], "default": "eq"},
                                },
                                "required": ["field"],
                            },
                        },
                        {"type": "null"},
                    ],
                    "description": "Conditions on rows.",
                    "default": None,
                },
                "limit": {"type": "integer", "description": "How many rows at most.", "default": 10},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    )


def test_a_tool_without_options_has_these_traits() -> None:
    assert add.snapshot() == {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": add.parameters,
        "examples": [],
        "tags": [],
        "version": None,
        "timeout": None,
        "approval": "policy",
        "sequential": False,
        "repeatable": False,
        "kind": None,
    }


def test_options_are_kept() -> None:
    @tool(
        name="sum",
        description="Sum up.",
        examples=[ToolExample({"one": 1}, 2, "The second is 1.")],
        tags=["math", "math", "fast"],
        version="2",
        timeout=1.5,
        approval=True,
        sequential=True,
        repeatable=True,
        kind="read",
    )
    def plus(one: int, two: int = 1) -> int:
        return one + two

    assert plus.snapshot() == {
        "name": "sum",
        "description": "Sum up.",
        "parameters": add.parameters,
        "examples": [{"input": {"one": 1}, "output": 2, "description": "The second is 1."}],
        "tags": ["math", "fast"],
        "version": "2",
        "timeout": 1.5,
        "approval": "always",
        "sequential": True,
        "repeatable": True,
        "kind": "read",
    }
    assert plus.kind is Kind.READ
    assert plus.definition.examples == plus.examples


def test_approval_may_be_said_in_words_or_as_yes_and_no() -> None:
    def made(approval: Any) -> str:
        return Tool.from_function(add.run, approval=approval).approval

    assert [made(each) for each in (True, False, "always", "never", "policy")] == [
        "always",
        "never",
        "always",
        "never",
        "policy",
    ]


def test_a_tool_does_not_change() -> None:
    with pytest.raises(AttributeError, match="a tool does not change"):
        add.timeout = 3  # type: ignore[misc]


def test_the_decorated_function_can_still_be_called_as_itself() -> None:
    assert add(1, two=5) == 6
    assert asyncio.run(search("a", limit=2)) == "a 0 2"
    assert inspect.signature(add) == inspect.signature(add.run)
    assert (add.__name__, add.__wrapped__) == ("add", add.run)


# ── what can be a tool ───────────────────────────────────────────────────────


class Shop:
    """A shop."""

    def __init__(self, name: str = "corner") -> None:
        self.name = name

    def plain(self, item: str) -> str:
        """Sell an item."""
        return f"{self.name} sells {item}"

    @tool
    def sell(self, item: str) -> str:
        """Sell an item."""
        return f"{self.name} sells {item}"

    @tool
    @staticmethod
    def greet(name: str) -> str:
        """Say hello."""
        return f"hello {name}"

    @tool
    @classmethod
    def describe(cls, detail: int = 1) -> str:
        """Describe all shops."""
        return f"{cls.__name__} {detail}"

    async def __call__(self, item: str) -> str:
        """Order an item."""
        return f"{self.name} orders {item}"


def test_a_bound_method_is_a_tool() -> None:
    sell = tool(Shop("mall").plain)
    assert (sell.name, sell.call_sync({"item": "tea"})) == ("plain", "mall sells tea")


def test_a_tool_in_a_class_is_bound_as_a_method_is() -> None:
    shop = Shop("mall")
    assert list(shop.sell.parameters["properties"]) == ["item"]
    assert shop.sell.call_sync('{"item":"tea"}') == shop.sell("tea") == Shop.sell(shop, "tea") == "mall sells tea"
    assert shop.greet.call_sync('{"name":"Ada"}') == Shop.greet("Ada") == "hello Ada"
    assert Shop.describe.call_sync("{}") == shop.describe.call_sync("{}") == "Shop 1"


def test_a_method_that_was_not_taken_from_an_instance_cannot_be_run() -> None:
    with pytest.raises(ToolError, match="sell is a method: take it from an instance"):
        Shop.sell.call_sync('{"item":"tea"}')


def test_an_object_that_can_be_called_is_a_tool() -> None:
    order = tool(Shop("mall"), name="order")
    assert (order.description, order.is_async) == ("Order an item.", True)
    assert asyncio.run(order.call('{"item":"tea"}')) == "mall orders tea"


def test_what_a_partial_has_fixed_is_not_offered() -> None:
    def find(where: str, what: str, most: int = 3, *, deep: bool = False) -> tuple[str, str, int, bool]:
        """Find something."""
        return (where, what, most, deep)

    here = tool(functools.partial(find, "here", deep=True))
    assert (here.name, list(here.parameters["properties"])) == ("find", ["what", "most"])
    assert here.call_sync('{"what":"a"}') == ("here", "a", 3, True)


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        return f"logged {function(*arguments, **named)}"

    return wrapper


def test_a_function_under_other_decorators_speaks_for_itself() -> None:
    @tool
    @logged
    def find(what: Filter) -> str:
        """Find.

        Args:
            what: The thing.
        """
        return what.field

    assert find.parameters["properties"]["what"]["description"] == "The thing."
    assert find.call_sync('{"what":{"field":"a"}}') == "logged a"


def test_a_docstring_may_describe_what_a_partial_has_fixed() -> None:
    def find(where: str, what: str, deep: bool = False) -> str:
        """Find.

        Args:
            where: Where to look.
            what: What to find.
            deep: How hard to look.
        """
        return where + what

    assert tool(functools.partial(find, "here ", deep=True)).call_sync('{"what":"a"}') == "here a"


def test_parameters_may_be_positional_only_or_keyword_only() -> None:
    @tool
    def mixed(first: int, /, second: int = 2, *, third: int, fourth: int = 4) -> list[int]:
        """Mix."""
        return [first, second, third, fourth]

    assert mixed.parameters["required"] == ["first", "third"]
    assert mixed.call_sync('{"third":3,"first":1}') == [1, 2, 3, 4]


def test_a_default_is_the_object_python_has() -> None:
    seen: list[int] = []

    @tool
    def remember(number: int, into: list[int] = seen) -> int:
        """Remember a number."""
        into.append(number)
        return len(into)

    assert [remember.call_sync({"number": each}) for each in (1, 2)] == [1, 2]
    assert seen == [1, 2]


def test_types_may_be_local_or_written_as_text() -> None:
    class Local(msgspec.Struct):
        size: int

    @tool
    def measure(what: list[Local], where: "Filter | None" = None) -> int:  # noqa: UP037 - what is tested
        """Measure."""
        return what[0].size

    assert measure.call_sync('{"what":[{"size":3}]}') == 3


def test_a_pydantic_model_is_a_parameter_like_any_other() -> None:
    @tool
    def ship(to: Address, copies: list[Address] | None = None) -> str:
        """Ship."""
        return f"{to.town} {copies}"

    assert ship.parameters == {
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/Address"},
            "copies": {
                "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Address"}}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["to"],
        "additionalProperties": False,
        "$defs": {
            "Address": {
                "type": "object",
                "properties": {"town": {"type": "string"}, "number": {"type": "integer", "minimum": 1}},
                "required": ["town", "number"],
            }
        },
    }
    assert ship.call_sync('{"to":{"town":"Bari","number":"2"}}') == "Bari None"


class Address(pydantic.BaseModel):
    town: str
    number: int = pydantic.Field(ge=1)


# ── what is wrong with a definition ──────────────────────────────────────────


def problems(define: Any) -> tuple[str, list[str], str | None]:
    with pytest.raises(DefinitionError) as refusal:
        define()
    return refusal.value.subject, list(refusal.value.problems), refusal.value.where


def test_every_problem_of_a_function_is_told_at_once_with_file_and_line() -> None:
    def Bad(untyped, thing: complex, lost: "Nowhere", *rest: int, **more: int) -> None:  # type: ignore # noqa
        """

        Args:
            thnig: A typo.
        """

    subject, found, where = problems(
        lambda: Tool.from_function(
            Bad, name="bad name", timeout=0, approval="maybe", kind="raed", tags=[""], version=""
        )  # type: ignore[arg-type]
    )
    assert subject == "tool 'bad name'"
    assert found[0] == ("'bad name' is not a tool's name: a name is 1 to 128 letters, digits, `_`, `-` and `.`")
    assert found[1:6] == [
        "parameter `untyped` has no type",
        "parameter `lost`: the type `Nowhere` cannot be resolved",
        "`*rest` takes what no schema can name; list its parameters one by one",
        "`**more` takes what no schema can name; list its parameters one by one",
        'the docstring describes `thnig`, which is no parameter. Did you mean "thing"?',
    ]
    assert found[6:-1] == [
        "it has no description; write a docstring, or give `description`",
        "the timeout is 0; it must be more than 0 seconds, or None",
        "the approval is 'maybe'; it must be never, always or policy",
        "the tags are ('',); each must be a text",
        "the version is ''; it must be a text, or None",
        "the kind is 'raed'; it must be one of read, write, execute, search, fetch, plan, ask, agent, other."
        ' Did you mean "read"?',
    ]
    assert found[-1].startswith("parameter `thing`: `complex` cannot be read from JSON")
    assert where is not None
    file, _, line = where.rpartition(":")
    assert Path(file).name == HERE
    assert "def Bad(" in Path(file).read_text().splitlines()[int(line) - 1]


def yields() -> Any:
    """Yield."""
    yield 1


async def yields_later() -> Any:
    """Yield."""
    yield 1


def dunder(__secret: int) -> None:
    """Hide."""


def pydantic_default(size: int = pydantic.Field(3)) -> None:
    """Default."""


def fine(one: int) -> None:
    """Do nothing."""


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (lambda one: one, {"description": "x"}, "'<lambda>' is not a tool's name"),
    (fine, {"name": "a" * 129}, "is not a tool's name"),
    (fine, {"name": "a/b"}, "'a/b' is not a tool's name"),
    (fine, {"name": ""}, "'' is not a tool's name"),
    (fine, {"description": " "}, "it has no description"),
    (fine, {"timeout": float("inf")}, "the timeout is inf"),
    (fine, {"timeout": True}, "the timeout is True"),
    (fine, {"timeout": "x"}, "the timeout is 'x'"),
    (fine, {"tags": 5}, "the tags are 5"),
    (fine, {"tags": [[]]}, "the tags are ([],)"),
    (fine, {"examples": 5}, "the examples are 5"),
    (fine, {"sequential": "no"}, "`sequential` is 'no'; it must be True or False"),
    (fine, {"repeatable": "no"}, "`repeatable` is 'no'; it must be True or False"),
    (fine, {"timout": 1}, '`timout` is nothing a tool has. Did you mean "timeout"?'),
    (fine, {"examples": [ToolExample({"one": "1"})]}, 'example 1: one must be an integer, not "1"'),
    (fine, {"examples": [ToolExample({"one": 1}), ToolExample({})]}, "example 2: one is required"),
    (fine, {"examples": [ToolExample({"one": 1}, object())]}, "example 1: its output: the result: `object`"),
    (fine, {"examples": [{"one": 1}]}, "example 1: it is no ToolExample"),
    (fine, {"name": 3}, "3 is not a tool's name"),
    (fine, {"description": 3}, "it has no description"),
    (add, {}, "it is a tool already"),
    (yields, {}, "it yields; a tool returns its result"),
    (yields_later, {}, "it yields; a tool returns its result"),
    (Shop, {}, "a class is not a tool"),
    (3, {}, "`int` cannot be called"),
    (len, {}, "parameter `obj` has no type"),
    (dunder, {}, "parameter `__secret`: a name with two leading underscores is Python's own"),
    (pydantic_default, {}, "parameter `size`: a pydantic Field is no default"),
]


@pytest.mark.parametrize("function, options, problem", WRONG, ids=[problem for _, _, problem in WRONG])
def test_a_bad_definition_is_refused(function: Any, options: dict[str, Any], problem: str) -> None:
    _, found, _ = problems(lambda: Tool.from_function(function, **options))
    assert any(problem in each for each in found)


def test_a_docstring_may_describe_what_the_run_fills_in() -> None:
    @tool
    def watch(path: str, context: Context) -> None:
        """Watch.

        Args:
            path: What to watch.
            context: The run.
        """

    assert list(watch.parameters["properties"]) == ["path"]


# ── running ──────────────────────────────────────────────────────────────────


async def test_a_call_reads_json_and_runs_the_function() -> None:
    for arguments in ('{"query":"a","limit":2}', b'{"query":"a","limit":2}', {"query": "a", "limit": 2}):
        assert await search.call(arguments) == "a 0 2"
    assert await add.call('{"one":1}') == 2


def test_a_call_can_be_made_without_an_event_loop() -> None:
    assert add.call_sync('{"one":1}') == 2
    assert search.call_sync('{"query":"a"}') == "a 0 10"


async def test_an_async_tool_is_not_run_to_its_end_inside_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="search is async and an event loop is running here"):
        search.call_sync('{"query":"a"}')


WHO: ContextVar[str] = ContextVar("WHO")


async def test_a_plain_function_runs_in_a_thread_and_keeps_the_context_variables() -> None:
    @tool
    def who() -> tuple[str, bool]:
        """Say who is asking."""
        return WHO.get(), threading.current_thread() is threading.main_thread()

    WHO.set("Ada")
    assert await who.call("") == ("Ada", False)


async def test_what_a_plain_function_returns_is_awaited_if_it_can_be() -> None:
    @tool
    def later(one: int) -> Any:
        """Return something to wait for."""
        return search(str(one))

    assert await later.call('{"one":1}') == "1 0 10"
    assert await asyncio.to_thread(later.call_sync, '{"one":1}') == "1 0 10"


def test_arguments_are_read_before_anything_runs() -> None:
    bound = add.read('{"one":"1"}')
    assert isinstance(bound, Bound)
    assert bound.coercions == (Coercion("one", "number_from_text", "1", 1),)
    assert bound.call_sync() == 2
    assert asyncio.run(bound.call()) == 2
    assert add.read({"one": 1}).coercions == ()


async def test_arguments_that_do_not_fit_are_refused_before_the_function_sees_them() -> None:
    with pytest.raises(ToolError) as refusal:
        await search.call('{"filters":[{"field":"a","relation":"gt"}],"limti":1}')
    assert refusal.value.kind == "invalid_arguments"
    assert refusal.value.details == {
        "problems": [
            {"path": "filters[0].relation", "message": 'must be one of "eq", "lt", not "gt"'},
            {"path": "limti", "message": 'is not known here. Did you mean "limit"?'},
            {"path": "query", "message": "is required"},
        ]
    }


async def test_what_a_tool_raises_goes_through() -> None:
    @tool
    def fail() -> None:
        """Fail."""
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        await fail.call("{}")


# ── context and what it provides ─────────────────────────────────────────────


@tool
async def report(context: Context, rows: int, database: Injected[Database], *, depth: int = 1) -> dict[str, Any]:
    """Report."""
    context.cancellation.raise_if_cancelled()
    context.progress("half", fraction=0.5)
    return {
        "ids": (context.run, context.turn, context.step, context.call_id),
        "rows": database.rows[:rows],
        "depth": depth,
    }


def test_what_the_run_fills_in_is_hidden_from_the_model() -> None:
    assert report.parameters == {
        "type": "object",
        "properties": {"rows": {"type": "integer"}, "depth": {"type": "integer", "default": 1}},
        "required": ["rows"],
        "additionalProperties": False,
    }


async def test_the_run_fills_in_its_context_and_what_was_asked_for_by_type() -> None:
    told: list[tuple[str, float | None]] = []
    context = Context(
        run="r",
        turn=1,
        step=2,
        call_id="c",
        provides={Database: Database()},
        report=lambda message, fraction: told.append((message, fraction)),
    )
    assert await report.call('{"rows":1,"depth":3}', context) == {"ids": ("r", 1, 2, "c"), "rows": ("one",), "depth": 3}
    assert told == [("half", 0.5)]


async def test_a_run_that_does_not_provide_what_was_asked_for_fails_the_call() -> None:
    with pytest.raises(ToolError, match=r"this run provides no Database \(it provides int\)") as refusal:
        await report.call('{"rows":1}', Context(provides={int: 3}))
    assert refusal.value.kind == "failed"
    with pytest.raises(ToolError, match=r"it provides nothing"):
        await report.call('{"rows":1}')


def test_what_may_be_missing_has_a_default() -> None:
    @tool
    def count(database: Annotated[Database | None, Inject] = None, context: Context | None = None) -> tuple[bool, bool]:
        """Count."""
        return database is None, context is None

    given = Context(provides={Database: Database()})
    assert count.parameters["properties"] == {}
    assert count.call_sync("{}", given) == (False, False)
    assert count.call_sync("{}") == (True, False)


async def test_a_cancelled_call_says_so() -> None:
    cancellation = Cancellation()
    context = Context(cancellation=cancellation, provides={Database: Database()})
    assert (cancellation.cancelled, cancellation.reason) == (False, None)
    cancellation.cancel("the user left")
    cancellation.cancel("another reason")
    with pytest.raises(ToolError) as refusal:
        await report.call('{"rows":1}', context)
    assert (refusal.value.kind, refusal.value.message) == ("cancelled", "the user left")
    assert (cancellation.cancelled, cancellation.reason) == (True, "the user left")


def test_progress_is_a_fraction_and_may_be_told_to_nobody() -> None:
    Context().progress("fine", fraction=1)
    with pytest.raises(ValueError, match="a fraction from 0 to 1, not 50"):
        Context().progress(fraction=50)


# ── raw schemas and operations ───────────────────────────────────────────────

PARAMETERS = {"type": "object", "properties": {"file-name": {"type": "string"}, "size": {"type": "integer"}}}


async def test_a_tool_from_a_raw_schema_gets_its_arguments_as_one_dict() -> None:
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    made = Tool("stat", "Look at a file.", PARAMETERS, run, tags=["files"])
    also = Tool.from_schema(PARAMETERS, run, name="stat", description="Look at a file.", tags=["files"])
    assert made.snapshot() == also.snapshot()
    assert made.parameters == PARAMETERS
    assert await made.call('{"file-name":"a","size":"3","more":true}') == {"file-name": "a", "size": 3, "more": True}


def test_a_tool_from_a_raw_schema_may_ask_for_the_run() -> None:
    def run(arguments: dict[str, Any], database: Injected[Database], *, context: Context) -> tuple[int, str | None]:
        return len(database.rows), context.run

    made = Tool("probe", "Probe.", {"type": "object"}, run)
    assert made.call_sync(None, Context(run="r", provides={Database: Database()})) == (2, "r")


def test_a_raw_schema_and_its_function_are_checked_together() -> None:
    def run(*, arguments: dict[str, Any], other: int) -> None: ...

    _, found, where = problems(lambda: Tool("a b", "", {"type": "objct"}, run, examples=[ToolExample({"a": 1})]))
    assert [each[:28] for each in found] == [
        "'a b' is not a tool's name: ",
        "`run` must take the argument",
        "`run` takes `other`, which n",
        "it has no description; write",
        "#/type: parameters are an ob",
        '#/type: "objct" is not a JSO',
    ]
    assert where is not None
    assert HERE in where


def test_a_tool_from_an_operation_has_its_fields_and_gets_the_operation() -> None:
    def read(operation: ReadFile, context: Context) -> tuple[ReadFile, str | None]:
        return operation, context.run

    made = Tool.from_operation(ReadFile, read, name="vfs_read", description="Read a file.", repeatable=True)
    assert (made.kind, made.repeatable) == (Kind.READ, True)
    assert list(made.parameters["properties"]) == list(ReadFile.__struct_fields__)
    assert made.parameters["required"] == ["path"]
    assert made.parameters["additionalProperties"] is False
    assert made.call_sync('{"path":"a","first_line":"2"}', Context(run="r")) == (ReadFile("a", first_line=2), "r")
    words = Tool.from_operation(ReadFile, read, name="vfs_read").description
    assert words == inspect.cleandoc(ReadFile.__doc__ or "")


def test_a_renamed_tool_speaks_under_its_new_name() -> None:
    plus = add.renamed("plus")
    assert (plus.name, add.name, plus.call_sync('{"one":1}')) == ("plus", "add", 2)
    with pytest.raises(ToolError, match="plus cannot take these arguments"):
        plus.call_sync("[]")
    assert problems(lambda: add.renamed("no way"))[0] == "tool 'no way'"


# ── tools a provider runs ────────────────────────────────────────────────────


def test_a_provider_tool_has_nothing_to_run() -> None:
    search = ProviderTool("anthropic.web_search_20250305", {"max_uses": 3})
    assert not hasattr(search, "run")
    assert not callable(search)
    assert (search.vendor, search.settings) == ("anthropic", {"max_uses": 3})
    assert search.snapshot() == {"id": "anthropic.web_search_20250305", "settings": {"max_uses": 3}}


def test_provider_tools_are_equal_by_what_they_hold() -> None:
    one = ProviderTool("openai.web_search", {"a": 1, "b": [2]})
    same = ProviderTool("openai.web_search", {"b": [2], "a": 1})
    other = ProviderTool("openai.web_search", {"a": 1})
    assert one == same
    assert {one, same, other} == {one, other}
    assert one != "openai.web_search"
    assert repr(other) == "ProviderTool('openai.web_search', {'a': 1})"


def test_a_provider_tool_does_not_change() -> None:
    settings = {"domains": ["a"]}
    search = ProviderTool("openai.web_search", settings)
    settings["domains"].append("b")
    search.settings["domains"].append("c")
    assert search.settings == {"domains": ["a"]}
    with pytest.raises(AttributeError, match="a provider tool does not change"):
        search.id = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "id",
    [
        "web_search",
        "Anthropic.web_search",
        "a.b.c",
        "a.",
        ".b",
        "a.b_20251301",
        "a.b_20250100",
        "a.b_20250132",
        "a b.c",
    ],
)
def test_a_provider_tools_id_names_vendor_and_tool(id: str) -> None:
    with pytest.raises(DefinitionError, match=r"write vendor.name or vendor.name_YYYYMMDD"):
        ProviderTool(id)


def test_a_provider_tools_settings_are_json() -> None:
    with pytest.raises(DefinitionError, match=r"settings.when is of the type `object`, which is not JSON"):
        ProviderTool("a.b", {"when": object()})
