"""Laws of the facade: names are legal, unique, stable and reversible whatever the tools are called."""

from __future__ import annotations

import gc
import re
import weakref

from hypothesis import given, strategies as st

from dragoman import Orchestrator, Tool, Toolset, tool
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade, ScriptedEngine
from dragoman.model import Limits, NativeCall, operations as op
from dragoman.registry import TOOLS
from dragoman.tools.running import honoured_in

LETTERS = "abcXYZ019_-"
NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,128}", fullmatch=True)
LIMITS = st.builds(
    Limits, name_length=st.sampled_from([16, 40, 64, None]), name_pattern=st.sampled_from([None, r"[a-z][a-z0-9_]*"])
)
RESERVED = [op.ReadFile, op.SearchWeb, op.RunCommand]


def _function(name: str) -> Tool:
    return Tool(name, "does something", {"type": "object"}, lambda _: None)


@given(
    names=st.lists(NAMES | st.sampled_from(["web_search", "vfs_read", "Web_Search"]), unique=True, max_size=6),
    limits=LIMITS,
)
def test_offered_names_are_legal_unique_and_turned_back(names: list[str], limits: Limits) -> None:
    standard = [Tool.from_operation(operation, lambda said: None) for operation in RESERVED]
    toolset = Toolset([*standard, *(_function(name) for name in names if name not in {tool.name for tool in standard})])
    facade = Facade(DIALECTS["plain"], toolset, limits)
    functions = [tool.name for tool in toolset if isinstance(tool, Tool) and tool.operation is None]
    offered = [definition.name for definition in facade.definitions]
    assert len({(name or "").casefold() for name in offered}) == len(offered)
    for name in functions:
        shown = facade.names.offer(name)
        assert len(shown) <= (limits.name_length or 64)
        assert re.fullmatch(limits.name_pattern or r"[A-Za-z_][A-Za-z0-9_-]*", shown)
        assert facade.read_call(NativeCall("1", shown, {})).operations == (op.CallFunction(name, {}),)


@given(names=st.lists(NAMES, unique=True, min_size=2, max_size=6), limits=LIMITS, data=st.data())
def test_names_do_not_depend_on_the_order_of_tools(names: list[str], limits: Limits, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(names))
    one = Facade(DIALECTS["plain"], Toolset([_function(name) for name in names]), limits).names
    other = Facade(DIALECTS["plain"], Toolset([_function(name) for name in shuffled]), limits).names
    assert one.offered == other.offered


@given(
    toolsets=st.lists(
        st.lists(NAMES | st.sampled_from(["web_search", "Read"]), unique=True, min_size=1, max_size=4),
        min_size=1,
        max_size=3,
    ),
    dialect=st.sampled_from(["plain", "claude_code"]),
)
def test_every_orchestrator_offers_what_a_new_facade_does(toolsets: list[list[str]], dialect: str) -> None:
    functions = {name: _function(name) for names in toolsets for name in names}
    for names in [*toolsets, *toolsets]:
        tools = [TOOLS["read_file"], *(functions[name] for name in names if name != "read_file")]
        orchestrator = Orchestrator(ScriptedEngine([]), tools, model_name="some-model", dialect=dialect)
        facade = orchestrator.facade_of()
        honoured = dict(honoured_in(None)) | {op.FetchPage: ("instructions",)}
        new = Facade(orchestrator.dialect, Toolset(tools), facade.limits, honoured=honoured, model="some-model")
        assert (facade.definitions, facade.names, facade.notes) == (new.definitions, new.names, new.notes)
        assert facade.toolset.list() == tuple(tools)


class Counted:
    """Holds what belongs to one request."""

    def __init__(self, number: int) -> None:
        self.number = number

    @tool
    def count(self) -> int:
        """Count them."""
        return self.number


def test_what_an_orchestrator_offers_again_runs_its_own_tools_and_keeps_no_others() -> None:
    offered, kept = [], []
    for number in range(3):
        counted = Counted(number)
        facade = Orchestrator(ScriptedEngine([]), [counted.count], model_name="m").facade_of()
        assert facade.toolset.get("count").call_sync({}) == number  # type: ignore[union-attr]
        offered.append(facade.definitions)
        kept.append(weakref.ref(counted))
    del counted, facade
    gc.collect()
    assert offered[0] is offered[1] is offered[2]
    assert [one() for one in kept] == [None, None, None]
