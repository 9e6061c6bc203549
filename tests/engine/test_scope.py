"""How far an "always" goes: never further than its words say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.engine import Question, scopes_of
from dragoman.engine.definitions import definition_of
from dragoman.model import Call, NativeCall, operations as op
from dragoman.model.effects import fields_of
from dragoman.registry import TOOLS
from dragoman.tools import Tool, tool
from tests.examples import examples
from tests.strategies import values

ANY = Tool("any_tool", "Does it.", {"type": "object"}, lambda arguments: None)


def question(*operations: op.Operation, tools: tuple[Tool, ...] = (), **facts: Any) -> Question:
    tools = tools or tuple(TOOLS.get(str(one.__struct_config__.tag), ANY) for one in operations)
    call = Call("c1", operations, NativeCall("c1", "x", {}))
    definitions = tuple(definition_of(one) for one in tools)
    return Question(call, tuple(one.name for one in tools), "digest", definitions=definitions, **facts)


def covers(given: op.Operation, later: op.Operation) -> bool:
    return scopes_of(question(given)) >= scopes_of(question(later))


@pytest.mark.parametrize(
    "operation, says",
    [
        (op.RunCommand("ls"), "run_command, any command"),
        (op.RunCommand("ls", shell="zsh", cwd="sub"), "run_command, any command, same cwd and shell"),
        (op.WriteFile("a", "x"), "write_file, any path and content"),
        (op.DeleteFile("a"), "delete_file, any path"),
        (op.FetchPage("https://docs.python.org/3/"), "fetch_page, any instructions and url on docs.python.org"),
        (op.TypeInto("job1", "y\n"), "type_into, any text, same job"),
        (op.CallFunction("any_tool", {"a": 1}), "any_tool, any arguments"),
    ],
)
def test_an_always_says_in_words_what_it_allows(operation: op.Operation, says: str) -> None:
    (scope,) = scopes_of(question(operation))
    assert scope.says == says


@pytest.mark.parametrize(
    "change",
    [
        {"shell": "./evil.sh"},
        {"login": True},
        {"cwd": "sub"},
        {"background": True},
        {"terminal": True},
        {"job": "one"},
        {"unsandboxed": True},
    ],
)
def test_an_always_for_a_plain_command_is_for_no_other_way_to_run_one(change: dict[str, Any]) -> None:
    plain = op.RunCommand("ls")
    assert covers(plain, op.RunCommand("make", timeout_ms=5000, purpose="builds it"))
    assert not covers(plain, op.RunCommand("ls", **change))
    assert not covers(op.RunCommand("ls", **change), plain)


def test_an_always_for_a_page_is_for_pages_of_that_host() -> None:
    page = op.FetchPage("https://docs.python.org/3/")
    assert covers(page, op.FetchPage("HTTPS://Docs.Python.Org./2/other.html"))
    for other in (
        "https://evil.example/",
        "https://docs.python.org@evil.example/",
        "https://docs.python.org.evil.example",
    ):
        assert not covers(page, op.FetchPage(other)), other


@pytest.mark.parametrize("fact", [{"rule": "rule 1 (path=*.env)"}, {"agent": "other"}])
def test_an_always_is_for_the_rule_and_the_agent_it_was_asked_for(fact: dict[str, Any]) -> None:
    one = op.WriteFile("a", "x")
    assert not scopes_of(question(one)) >= scopes_of(question(one, **fact))


def test_an_always_is_for_the_definition_it_was_given_for() -> None:
    @tool
    def send(to: str) -> str:
        """Sends."""
        return to

    @tool(name="send")
    def other(to: str) -> str:
        """Sends, and copies to all."""
        return to

    call = op.CallFunction("send", {"to": "Ann"})
    assert scopes_of(question(call, tools=(send,))) != scopes_of(question(call, tools=(other,)))


def test_a_call_of_several_operations_needs_an_always_for_each() -> None:
    edit, delete = op.EditFile("a", (op.Edit("x", "y"),)), op.DeleteFile("b")
    assert not scopes_of(question(edit)) >= scopes_of(question(edit, delete))
    assert scopes_of(question(edit, delete)) >= scopes_of(question(delete))


@pytest.mark.parametrize("tag", sorted(op.OPERATIONS))
@examples(10)
@given(data=st.data())
@pytest.mark.slow
def test_whatever_is_no_subject_limit_or_comment_must_be_the_same(tag: str, data: st.DataObject) -> None:
    kind = op.OPERATIONS[tag]
    one, other = data.draw(values(kind)), data.draw(values(kind))
    fields = fields_of(one)
    same = {name: getattr(one, name) for name in (*fields.setting, *fields.url)}
    assert covers(one, msgspec.structs.replace(other, **same))
    differs = [name for name in fields.setting if not _same(getattr(other, name), same[name])]
    if differs and all(getattr(other, name) == same[name] for name in fields.url):
        assert not covers(one, other)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other
