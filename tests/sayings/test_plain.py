"""What our own words say: every operation by its tag and its own fields, a few by names of their own."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.dialects import DIALECTS, WebAction
from dragoman.model import NativeCall, operations as op
from tests.plain_values import plain_values
from tests.sayings import reads, reads_as, says

NAMED = {
    op.ReadFile: "vfs_read",
    op.WriteFile: "vfs_write",
    op.ListDirectory: "vfs_list",
    op.DeleteFile: "vfs_delete",
    op.FetchPage: "web_fetch",
    op.SearchWeb: "web_search",
}
APART = {op.CallFunction, op.CallMcpTool, op.SteerClient, op.Unrecognised}


@pytest.mark.parametrize("tag", [tag for tag, one in op.OPERATIONS.items() if one not in {*NAMED, *APART}])
def test_an_operation_is_called_by_its_tag_with_its_own_fields(tag: str) -> None:
    for operation in plain_values(op.OPERATIONS[tag]):
        fields = msgspec.json.decode(msgspec.json.encode(operation))
        del fields["type"]
        says(operation, plain=(tag, fields))


def test_files_of_the_workspace() -> None:
    says(op.ReadFile("a.py", 5, 9), plain=("vfs_read", {"path": "a.py", "first_line": 5, "last_line": 9}))
    says(op.WriteFile("a.py", "x"), plain=("vfs_write", {"path": "a.py", "content": "x"}))
    says(op.ListDirectory(prefix="src"), plain=("vfs_list", {"prefix": "src"}))
    says(op.ListDirectory(prefix=""), plain=("vfs_list", {}))
    says(op.ListDirectory("src", depth=2), plain=("vfs_list", {"folder": "src", "depth": 2}))
    says(op.ListDirectory("src", prefix="a"), plain=("vfs_list", {"folder": "src", "prefix": "a"}))
    says(op.DeleteFile("a.py"), plain=("vfs_delete", {"path": "a.py"}))


def test_the_web() -> None:
    says(op.FetchPage("https://a.b", limit=100), plain=("web_fetch", {"url": "https://a.b", "maxLength": 100}))
    says(op.SearchWeb("tea", limit=3), plain=("web_search", {"query": "tea", "maxResults": 3}))


def test_tools_of_servers_and_of_the_user_keep_their_names() -> None:
    says(op.CallMcpTool("toy", "add", {"a": 1}), plain=("mcp__toy__add", {"a": 1}))
    dialect = DIALECTS["plain"].knowing(functions=("greet",))
    assert dialect.write_call("1", op.CallFunction("greet", {"a": 1})) == (NativeCall("1", "greet", {"a": 1}),)


@pytest.mark.parametrize("dialect", ["plain", "claude_code", "anthropic"])
@pytest.mark.parametrize(
    "arguments, meaning",
    [
        ({"action": {"type": "search", "query": "tea"}}, op.SearchWeb("tea")),
        ({"action": {"type": "open_page", "url": "https://a.b"}}, op.FetchPage("https://a.b")),
        (
            {"action": {"type": "find_in_page", "url": "https://a.b", "pattern": "tea"}},
            op.FindInPage("https://a.b", "tea"),
        ),
        ({"action_type": "search", "query": "tea"}, op.SearchWeb("tea")),
        ({"action": "open_page", "url": "https://a.b"}, op.FetchPage("https://a.b")),
        ({"action_type": "find_in_page", "url": "https://a.b", "pattern": "tea"}, op.FindInPage("https://a.b", "tea")),
        ({"query": "tea"}, op.SearchWeb("tea")),
    ],
)
def test_one_tool_for_the_whole_web_is_understood_nested_and_flat(
    dialect: str, arguments: dict[str, object], meaning: op.Operation
) -> None:
    assert reads_as(dialect, ("web_search", arguments)) == (meaning,)


@pytest.mark.parametrize("dialect", ["plain", "claude_code", "anthropic"])
def test_one_tool_for_the_whole_web_is_not_offered_where_the_client_has_none(dialect: str) -> None:
    offered = DIALECTS[dialect].definitions({op.SearchWeb, op.FetchPage, op.FindInPage})
    schemas = [getattr(definition, "parameters", {}) for definition in offered]
    assert not any("action" in schema.get("properties", {}) for schema in schemas)


def test_one_tool_for_the_whole_web_is_offered_as_a_variant() -> None:
    dialect = DIALECTS["plain"].but(WebAction, without=("web_fetch", "find_in_page"))
    offered = dialect.definitions({op.SearchWeb, op.FetchPage, op.FindInPage})
    assert [definition.name for definition in offered] == ["web_search"]
    call = NativeCall("1", "web_search", {"action": {"type": "open_page", "url": "https://a.b"}})
    assert dialect.write_call("1", op.FetchPage("https://a.b")) == (call,)


@pytest.mark.parametrize("dialect", ["plain", "claude_code", "anthropic"])
def test_an_action_without_what_it_needs_is_a_failure(dialect: str) -> None:
    call = DIALECTS[dialect].read_call(NativeCall("1", "web_search", {"action": {"type": "open_page"}}))
    assert call.failure is not None
    assert "`url`" in call.failure.message


def test_operations_are_also_understood_by_their_tags() -> None:
    reads(op.ReadFile("a.py"), plain=("read_file", {"path": "a.py"}))
    reads(op.SearchWeb("tea"), plain=("search_web", {"query": "tea"}))
