"""Rows of provider-defined tools: what holds for every one that is listed, and the machinery around them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman import ProviderTool
from dragoman.dialects import (
    DIALECTS,
    Dialect,
    ProviderExecuted,
    ProviderRow,
    Settings,
    Spelling,
    Steer,
    means,
    provider_dialect,
    provider_tool,
)
from dragoman.errors import DefinitionError, Unspeakable
from dragoman.model import (
    Call,
    CommandOutcome,
    ExecutedBy,
    Failure,
    NativeCall,
    NativeResult,
    Outcome,
    ProviderDefinition,
    operations as op,
)

CLIENT, PROVIDER = ExecutedBy.CLIENT, ExecutedBy.PROVIDER
ROWS = [(name, row) for name in DIALECTS.built_in for row in DIALECTS[name].provider_tools]


@pytest.mark.parametrize("name, row", ROWS, ids=[row.id for _, row in ROWS])
def test_a_row_is_found_by_its_id_and_its_settings_can_be_checked(name: str, row: ProviderRow) -> None:
    assert ProviderTool(row.id).id == row.id
    found = provider_dialect(row.id)
    assert found is not None
    assert (found.name, provider_tool(row.id)) == (name, row)
    assert row.unknown({"zz": 1}) == ("zz",)
    if any(field.required for field in msgspec.structs.fields(row.settings)):
        with pytest.raises(DefinitionError, match="is required"):
            row.define()
    else:
        assert row.define() == ProviderDefinition(row.id, row.wire_type, row.name, {})
    superseded = None if row.superseded_by is None else provider_tool(row.superseded_by)
    assert (superseded is None) == (row.superseded_by is None)


def test_there_are_rows_of_many_vendors() -> None:
    assert {row.vendor for _, row in ROWS} >= {"anthropic", "openai", "google", "azure", "groq", "xai"}


# ── a small provider of our own ──────────────────────────────────────────────


class Told(Spelling[op.RunCommand]):
    """Run a command."""

    native_name = "shell"
    unsaid = dict.fromkeys(op.RunCommand.__struct_fields__[1:], "a command alone")

    command: str = means("command", "The command line.")

    def from_outcomes(self, operations: tuple[op.Operation, ...], outcomes: tuple[Outcome, ...]) -> Any:
        (outcome,) = outcomes
        assert isinstance(outcome, CommandOutcome)
        return "text", False, {"type": "shell_output", "exit_code": outcome.exit_code}

    def meant_instead(self, operation: op.Operation, failure: Failure) -> op.Operation | None:
        return op.RunCommand("instead") if failure.message == "wrong" else None


class Search(ProviderExecuted[op.SearchWeb]):
    """Search the web."""

    native_name = "search"
    unsaid = dict.fromkeys(op.SearchWeb.__struct_fields__[1:], "a query alone")

    query: str = means("query", "What for.")


class Note(Spelling[op.DeleteFile]):
    """Delete a note."""

    native_name = "note"
    only_by_id = "notes alone"

    path: str = means("path", "Which.")


class Newer(Settings, frozen=True, kw_only=True):
    """Settings of the newer version."""

    depth: int | None = None


ACME = (
    ProviderRow(
        id="acme.shell_20260101",
        wire_type="shell_20260101",
        name="shell",
        spellings=(Told,),
        executed_by=CLIENT,
        settings=Newer,
        models=("big-*",),
    ),
    ProviderRow(
        id="acme.shell_20250101", wire_type="shell_20250101", name="shell", spellings=(Told,), executed_by=CLIENT
    ),
    ProviderRow(id="acme.search", wire_type="search", name="search", spellings=(Search,)),
    ProviderRow(id="acme.note", wire_type="note", name="note", spellings=(Note,), executed_by=CLIENT),
)
DIALECT = Dialect(
    "acme",
    (Told, Search, Note),
    provider_tools=ACME,
    mcp_items={"server_call": "server"},
    steering=(
        Steer("shell", "kept by the client", ("again",), "again", fallback=True, when={"again": True}),
        Steer("think", "it thinks", executed_by=PROVIDER),
    ),
    unspoken={op.DeleteFile: "only notes are deleted"},
)


class Own(Spelling[op.RunCommand]):
    """Run a command."""

    native_name = "search"
    unsaid = dict.fromkeys(op.RunCommand.__struct_fields__[1:], "a command alone")

    query: str = means("command", "The command line.")


def test_a_family_is_offered_the_newest_version_it_may_have() -> None:
    def shell(family: str | None) -> str:
        definitions = DIALECT.at(family=family).definitions([op.RunCommand])
        return next(one.id for one in definitions if isinstance(one, ProviderDefinition))

    assert shell(None) == shell("big-1") == "acme.shell_20260101"
    assert shell("small-1") == "acme.shell_20250101"


def test_a_tool_that_is_offered_by_id_alone_is_read_and_written_and_never_offered() -> None:
    assert [one.name for one in DIALECT.definitions()] == ["shell", "search"]
    assert DIALECT.definitions([op.DeleteFile], names=["note"]) == []
    assert not DIALECT.speaks(op.DeleteFile)
    native = NativeCall("1", "note", {"path": "a"})
    assert DIALECT.read_call(native).operations == (op.DeleteFile("a"),)
    assert DIALECT.write_call("1", op.DeleteFile("a")) == (native,)


def test_a_dialect_of_some_rows_has_their_tools_alone() -> None:
    narrow = DIALECT.of_rows(ACME[2:3])
    assert narrow.write_call("1", op.SearchWeb("tea"))[0].name == "search"
    with pytest.raises(Unspeakable):
        narrow.write_call("1", op.RunCommand("ls"))


def test_a_result_may_travel_in_an_item() -> None:
    call = DIALECT.read_call(NativeCall("1", "shell", {"command": "ls"}))
    told = DIALECT.write_result(call, (CommandOutcome(3),))
    item = {"type": "shell_output", "exit_code": 3}
    assert told == NativeResult("1", "text", is_error=False, name="shell", item=item)


def test_a_call_that_meant_something_else_is_reconsidered() -> None:
    call = DIALECT.read_call(NativeCall("1", "shell", {"command": "ls"}))
    other = Call("1", (op.RunCommand("instead"),), call.native)
    assert DIALECT.reconsidered(call, (Failure("failed", "wrong"),)) == other
    assert DIALECT.reconsidered(call, (Failure("failed", "so"),)) is None
    assert DIALECT.reconsidered(call, (CommandOutcome(0),)) is None


def test_some_calls_of_a_tool_steer_the_client_and_wrong_ones_do_not() -> None:
    assert DIALECT.read_call(NativeCall("1", "shell", {"again": True})).operations == (
        op.SteerClient("again", {"again": True}),
    )
    assert DIALECT.read_call(NativeCall("1", "shell", {"again": False})).failure is not None
    assert DIALECT.write_call("1", op.SteerClient("think")) == (NativeCall("1", "think", executed_by=PROVIDER),)


def test_what_the_provider_ran_is_read_beside_and_what_was_run_here_is_not() -> None:
    client = Dialect("client", (Own,), provider_dialect=DIALECT)
    assert client.read_call(NativeCall("1", "search", {"query": "ls"})).operations == (op.RunCommand("ls"),)
    hosted = NativeCall("1", "search", {"query": "tea"}, executed_by=PROVIDER)
    call = client.read_call(hosted)
    assert call.operations == (op.SearchWeb("tea"),)
    assert client.spelling_of(hosted) == Search(query="tea")
    item = {"type": "server_call", "server": "toy"}
    served = NativeCall("1", "search", {"query": "x"}, item=item)
    assert client.read_call(served).operations == (op.CallMcpTool("toy", "search", {"query": "x"}),)
    assert client.knowing(functions=["search"]).read_call(hosted).operations == (op.SearchWeb("tea"),)


def test_a_neighbour_by_name_is_looked_up_when_it_is_needed() -> None:
    client = Dialect("client", (Own,), provider_dialect="no such dialect")
    assert client.read_call(NativeCall("1", "search", {"query": "ls"})).operations == (op.RunCommand("ls"),)
    assert Dialect("client", (Own,), provider_dialect="anthropic").provider_dialect is DIALECTS["anthropic"]


def test_rows_that_cannot_be_are_refused() -> None:
    twice = (ACME[2], ACME[2])
    with pytest.raises(DefinitionError, match="two rows have the id"):
        Dialect("acme", (Search,), provider_tools=twice)
    with pytest.raises(DefinitionError, match="which is not listed"):
        Dialect("acme", (Told,), provider_tools=(ACME[2],))
    wrong = ProviderRow(id="acme.x", wire_type="x", spellings=(Search,), executed_by=CLIENT)
    with pytest.raises(DefinitionError, match="and no spelling of it is"):
        Dialect("acme", (Search,), provider_tools=(wrong,))


def test_ids_that_other_libraries_use_lead_to_the_same_rows() -> None:
    from dragoman.dialects.base.provider_tools import ALIASES

    for alias, id in ALIASES.items():
        row = provider_tool(alias)
        assert row is not None
        assert row.id == id
