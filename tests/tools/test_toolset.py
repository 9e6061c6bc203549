"""Sets of tools: order, unique names, views that share nothing, and threads."""

from __future__ import annotations

import json
import threading
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import DefinitionError, ToolError
from dragoman.tools import ProviderTool, Tool, Toolset, tool

SEARCH = ProviderTool("anthropic.web_search_20250305", {"max_uses": 3})


def named(name: str, answer: str = "") -> Tool:
    def run(arguments: dict[str, Any]) -> str:
        return answer or name

    return Tool(name, f"Say {name}.", {"type": "object"}, run)


READ, WRITE, LIST = named("read"), named("write"), named("list")


def names(toolset: Toolset) -> list[str]:
    return list(toolset.names)


@pytest.fixture
def tools() -> Toolset:
    return Toolset([READ, WRITE, SEARCH, LIST])


def test_a_toolset_keeps_the_order_in_which_tools_were_added(tools: Toolset) -> None:
    assert names(tools) == ["read", "write", "anthropic.web_search_20250305", "list"]
    assert tools.list() == tuple(tools) == (READ, WRITE, SEARCH, LIST)
    assert (len(tools), "read" in tools, "raed" in tools) == (4, True, False)
    assert repr(tools.only("read")) == "Toolset(read)"


def test_a_plain_function_given_to_a_toolset_becomes_a_tool() -> None:
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    made = Toolset([shout]).get("shout")
    assert isinstance(made, Tool)
    assert made.call_sync({"text": "a"}) == "A"


def test_tools_are_registered_and_taken_out(tools: Toolset) -> None:
    more = named("more")
    tools.register(more)
    assert tools.list()[-1] is more
    assert tools.unregister("read") is READ
    assert names(tools) == ["write", "anthropic.web_search_20250305", "list", "more"]


def test_a_tool_is_got_by_name_and_an_unknown_name_is_something_to_tell_the_model(tools: Toolset) -> None:
    assert tools.get("read") is READ
    assert tools.get("anthropic.web_search_20250305") is SEARCH
    with pytest.raises(ToolError) as refusal:
        tools.get("raed")
    assert (refusal.value.kind, refusal.value.message) == (
        "unknown_tool",
        "there is no tool 'raed'. Did you mean \"read\"?",
    )


@pytest.mark.parametrize("name", [5, None, []], ids=str)
def test_what_is_no_name_is_an_unknown_tool(tools: Toolset, name: Any) -> None:
    with pytest.raises(ToolError) as refusal:
        tools.get(name)
    assert (refusal.value.kind, refusal.value.message) == ("unknown_tool", f"there is no tool {name!r}.")


def test_a_name_given_twice_is_refused_and_nothing_is_added(tools: Toolset) -> None:
    with pytest.raises(DefinitionError) as refusal:
        tools.register(named("new"), named("read"), named("list"), named("new"))
    assert refusal.value.problems == (
        "there are two tools called 'read'; rename one, or merge with a rule",
        "there are two tools called 'list'; rename one, or merge with a rule",
        "there are two tools called 'new'; rename one, or merge with a rule",
    )
    assert tools.list() == (READ, WRITE, SEARCH, LIST)


def test_views_hold_some_of_the_tools_in_the_same_order(tools: Toolset) -> None:
    assert names(tools.only("list", "read")) == ["read", "list"]
    assert names(tools.without("write", "anthropic.web_search_20250305")) == ["read", "list"]
    assert names(tools.only()) == []
    assert tools.without().list() == tools.list()


@pytest.mark.parametrize("view", [Toolset.only, Toolset.without, Toolset.unregister])
def test_a_view_of_unknown_names_is_refused(tools: Toolset, view: Any) -> None:
    with pytest.raises(DefinitionError) as refusal:
        view(tools, "wirte")
    assert refusal.value.problems == ("there is no tool 'wirte'. Did you mean \"write\"?",)


def test_a_clone_goes_its_own_way(tools: Toolset) -> None:
    clone = tools.clone()
    clone.unregister("read")
    tools.register(named("more"))
    assert names(clone) == ["write", "anthropic.web_search_20250305", "list"]
    assert names(tools) == ["read", "write", "anthropic.web_search_20250305", "list", "more"]


@pytest.mark.parametrize("rule, kept", [("keep", "ours"), ("replace", "theirs")])
def test_sets_are_merged_by_a_stated_rule(rule: Literal["keep", "replace"], kept: str) -> None:
    ours, theirs = Toolset([named("a", "ours"), READ]), Toolset([named("b"), named("a", "theirs"), READ])
    merged = ours.merge(theirs, on_duplicate=rule)
    assert names(merged) == ["a", "read", "b"]
    chosen = merged.get("a")
    assert isinstance(chosen, Tool)
    assert chosen.call_sync("{}") == kept


def test_merging_two_tools_of_one_name_without_a_rule_is_refused() -> None:
    with pytest.raises(DefinitionError) as refusal:
        Toolset([named("a"), READ]).merge(Toolset([named("a"), READ]))
    assert refusal.value.problems == ("both sets have a tool called 'a'",)
    with pytest.raises(ValueError, match="it must be error, keep or replace"):
        Toolset().merge(Toolset(), on_duplicate="guess")  # type: ignore[arg-type]


def test_tools_are_renamed_in_place(tools: Toolset) -> None:
    renamed = tools.renamed({"read": "view", "list": "read"})
    assert names(renamed) == ["view", "write", "anthropic.web_search_20250305", "read"]
    swapped = tools.only("read", "write").renamed({"read": "write", "write": "read"})
    assert names(swapped) == ["write", "read"]


def test_a_prefix_is_put_before_every_name_that_is_ours(tools: Toolset) -> None:
    assert names(tools.prefixed("fs_")) == ["fs_read", "fs_write", "anthropic.web_search_20250305", "fs_list"]


def test_renaming_that_does_not_work_is_refused_with_every_problem(tools: Toolset) -> None:
    def refusal(change: Any) -> tuple[str, ...]:
        with pytest.raises(DefinitionError) as refused:
            change()
        return refused.value.problems

    assert refusal(lambda: tools.renamed({"read": "write"})) == ("two tools would be called 'write'",)
    assert refusal(lambda: tools.renamed({"raed": "a"})) == ("there is no tool 'raed'. Did you mean \"read\"?",)
    assert refusal(lambda: tools.renamed({SEARCH.id: "a"})) == (f"{SEARCH.id!r} is named by its provider",)
    assert len(refusal(lambda: tools.prefixed("x" * 124))) == 1
    assert len(refusal(lambda: tools.prefixed("a b "))) == 3


# ── an object's methods ──────────────────────────────────────────────────────


class Base:
    def first(self, text: str) -> str:
        """Do this first."""
        return text

    def second(self) -> str:
        """Do this second."""
        return "base"


class Account(Base):
    limit = 3

    @property
    def trap(self) -> str:
        """A property is not a tool."""
        raise AssertionError("a property was looked into")

    def second(self) -> str:
        """Do this second, otherwise."""
        return "account"

    @tool(name="pay", approval=True)
    def send_money(self, amount: int) -> int:
        """Send money."""
        return amount

    @staticmethod
    def convert(amount: int) -> int:
        """Convert an amount."""
        return amount * 2

    @classmethod
    def kind(cls) -> str:
        """Say what it is."""
        return cls.__name__

    def undocumented(self, anything): ...  # type: ignore[no-untyped-def]

    def _private(self) -> None:
        """Not for models."""


def test_the_documented_public_methods_of_an_object_are_a_toolset() -> None:
    tools = Toolset.from_object(Account())
    assert names(tools) == ["first", "second", "pay", "convert", "kind"]
    calls = {"first": {"text": "a"}, "second": {}, "pay": {"amount": 1}, "convert": {"amount": 2}, "kind": {}}
    answers = {name: tools.get(name).call_sync(arguments) for name, arguments in calls.items()}  # type: ignore[union-attr]
    assert answers == {"first": "a", "second": "account", "pay": 1, "convert": 4, "kind": "Account"}
    assert tools.get("second").description == "Do this second, otherwise."  # type: ignore[union-attr]


class Broken:
    def one(self, thing: complex) -> None:
        """One."""

    def two(self, untyped) -> None:  # type: ignore[no-untyped-def]
        """Two."""


def test_the_problems_of_all_methods_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as refusal:
        Toolset.from_object(Broken())
    assert refusal.value.subject == "the toolset of Broken"
    one, two = refusal.value.problems
    assert one.startswith("one (")
    assert "test_toolset.py:" in one
    assert "parameter `thing`: `complex` cannot be read from JSON" in one
    assert two.endswith("parameter `untyped` has no type")


def test_the_problems_of_all_functions_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as refusal:
        Toolset([Broken().one, Broken().two])
    assert [problem.split(" (")[0] for problem in refusal.value.problems] == ["tool 'one'", "tool 'two'"]


# ── as data ──────────────────────────────────────────────────────────────────


def test_a_snapshot_is_json_and_holds_nothing_that_runs(tools: Toolset) -> None:
    snapshot = tools.snapshot()
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot == {
        "tools": [READ.snapshot(), WRITE.snapshot(), LIST.snapshot()],
        "provider_tools": [SEARCH.snapshot()],
        "order": ["read", "write", "anthropic.web_search_20250305", "list"],
    }


def test_a_digest_names_exactly_these_tools_in_this_order(tools: Toolset) -> None:
    same = Toolset([named("read"), named("write"), ProviderTool(SEARCH.id, {"max_uses": 3}), named("list")])
    assert same.digest == tools.digest == tools.clone().digest
    others = [
        tools.only("read", "write"),
        Toolset([WRITE, READ, SEARCH, LIST]),
        Toolset([READ, WRITE, ProviderTool(SEARCH.id), LIST]),
        tools.renamed({"read": "view"}),
    ]
    assert len({tools.digest, *(other.digest for other in others)}) == 5


# ── laws ─────────────────────────────────────────────────────────────────────

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(NAMES, NAMES)
def test_merging_keeps_every_name_once_and_in_order(ours: list[str], theirs: list[str]) -> None:
    merged = Toolset(map(named, ours)).merge(Toolset(map(named, theirs)), on_duplicate="keep")
    assert names(merged) == list(dict.fromkeys(ours + theirs))


@given(NAMES, st.data())
def test_only_and_without_part_a_toolset_in_two(all_names: list[str], data: st.DataObject) -> None:
    tools = Toolset(map(named, all_names))
    some = data.draw(st.lists(st.sampled_from(all_names), unique=True)) if all_names else []
    before = tools.list()
    inside, outside = tools.only(*some), tools.without(*some)
    assert set(inside.list()) | set(outside.list()) == set(before)
    assert not set(inside.names) & set(outside.names)
    assert [name for name in all_names if name in inside] == names(inside)
    assert tools.list() == before


@given(NAMES)
def test_a_prefix_and_back_is_the_same_set(all_names: list[str]) -> None:
    tools = Toolset(map(named, all_names))
    back = tools.prefixed("x_").renamed({f"x_{name}": name for name in all_names})
    assert back.digest == tools.digest


# ── threads ──────────────────────────────────────────────────────────────────


def test_many_threads_may_change_and_read_one_set() -> None:
    tools = Toolset([READ])
    start = threading.Barrier(9)
    torn: list[Any] = []

    def write(number: int) -> None:
        start.wait()
        for index in range(50):
            tools.register(named(f"t{number}_{index}"))
            if index % 2:
                tools.unregister(f"t{number}_{index}")

    def read() -> None:
        start.wait()
        for _ in range(200):
            seen = tools.list()
            if seen[0] is not READ or len({tool.name for tool in seen if isinstance(tool, Tool)}) != len(seen):
                torn.append(seen)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    threads += [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    assert sorted(names(tools)) == sorted(
        ["read", *(f"t{number}_{index}" for number in range(6) for index in range(0, 50, 2))]
    )
    for number in range(6):
        own = [name for name in tools.names if name.startswith(f"t{number}_")]
        assert own == [f"t{number}_{index}" for index in range(0, 50, 2)]
