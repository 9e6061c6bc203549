"""Sets of tools: ordered, every name once.

Rules: the same steps give the same order, always, so that a provider's cache of the prompt holds; reading never
waits, because a change replaces the whole table; sets made from a set share nothing that changes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from dragoman.errors import DefinitionError, ToolError, nearest

from .definition import Tool
from .provider_tool import ProviderTool

AnyTool = Tool | ProviderTool
_TOOL = (Tool, ProviderTool)


class Toolset:
    """Tools in the order they were added, a provider's under its id. A plain function given here becomes a tool."""

    __slots__ = ("_listed", "_lock", "_tools")

    def __init__(self, tools: Iterable[AnyTool | Callable[..., Any]] = ()) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, AnyTool] = {}
        self._listed: tuple[dict[str, AnyTool], tuple[AnyTool, ...]] = ({}, ())
        """A table and what is in it, in order: made again when the table was replaced."""
        given: Any = tools
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise DefinitionError("the toolset", [f"tools are given as a list, not as {type(given).__name__}"])
        self.register(*given)

    @classmethod
    def from_object(cls, target: object) -> Toolset:
        """The public methods of an object that have a docstring, in the order of their definition."""
        tools: list[AnyTool] = []
        problems: list[str] = []
        for name in _public_methods(target):
            method = getattr(target, name)
            if isinstance(method, Tool):
                tools.append(method)
                continue
            try:
                tools.append(Tool.from_function(method))
            except DefinitionError as error:
                problems += [f"{name} ({error.where}): {problem}" for problem in error.problems]
        if problems:
            raise DefinitionError(f"the toolset of {type(target).__name__}", problems)
        return cls(tools)

    # ── changing it ──────────────────────────────────────────────────────────

    def register(self, *tools: AnyTool | Callable[..., Any]) -> None:
        """Append tools: all of them, or none if there is a problem with any."""
        problems: list[str] = []
        made: list[AnyTool] = []
        for each in tools:
            if isinstance(each, _TOOL):
                made.append(each)
                continue
            given: Any = each
            if isinstance(given, str):
                problems.append(f"{given!r} is a name: give the tool itself, as TOOLS[{given!r}] for a ready-made one")
                continue
            try:
                made.append(Tool.from_function(each))
            except DefinitionError as error:
                where = "" if error.where is None else f" ({error.where})"
                problems += [f"{error.subject}{where}: {problem}" for problem in error.problems]
        added = {one.name: one for one in made}
        with self._lock:
            table = {**self._tools, **added}
            if len(table) < len(self._tools) + len(made):
                count = Counter([*self._tools, *(one.name for one in made)])
                twice = [name for name, times in count.items() if times > 1]
                problems += [f"there are two tools called {name!r}; rename one, or merge with a rule" for name in twice]
            if problems:
                raise DefinitionError("the toolset", problems)
            self._tools = table

    def unregister(self, name: str) -> AnyTool:
        """Remove a tool."""
        with self._lock:
            self._known([name], self._tools)
            table = dict(self._tools)
            taken = table.pop(name)
            self._tools = table
        return taken

    # ── reading it ───────────────────────────────────────────────────────────

    def get(self, name: object) -> AnyTool:
        """The tool with this name. Raises `ToolError` of kind "unknown_tool" if there is none."""
        # Models put anything here, and the unhashable would be no lookup at all.
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ToolError(f"there is no tool {name!r}.{nearest(str(name), self._tools)}", kind="unknown_tool")
        return tool

    def list(self) -> tuple[AnyTool, ...]:
        """Every tool, in order; the same tuple until the set changes."""
        table, listed = self._tools, self._listed
        if listed[0] is not table:
            listed = self._listed = (table, tuple(table.values()))
        return listed[1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(self._tools)

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self._tools)})"

    # ── other sets made from it ──────────────────────────────────────────────

    def clone(self) -> Toolset:
        """A copy: changes to one of the two do not affect the other."""
        return _of(self._tools)

    def merge(self, other: Toolset, *, on_duplicate: Literal["error", "keep", "replace"] = "error") -> Toolset:
        """These tools, then those of the other set. `on_duplicate` decides about names in both."""
        if on_duplicate not in ("error", "keep", "replace"):
            raise ValueError(f"on_duplicate is {on_duplicate!r}; it must be error, keep or replace")
        ours, theirs = self._tools, other._tools
        twice = [name for name in theirs if name in ours and ours[name] != theirs[name]]
        if twice and on_duplicate == "error":
            raise DefinitionError("the merged toolset", [f"both sets have a tool called {name!r}" for name in twice])
        return _of({**ours, **theirs} if on_duplicate == "replace" else {**ours, **theirs, **ours})

    def only(self, *names: str) -> Toolset:
        """The tools named, in the order of this set."""
        tools = self._tools
        self._known(names, tools)
        return _of({name: tool for name, tool in tools.items() if name in names})

    def without(self, *names: str) -> Toolset:
        """All tools but those named."""
        tools = self._tools
        self._known(names, tools)
        return _of({name: tool for name, tool in tools.items() if name not in names})

    def renamed(self, names: Mapping[str, str]) -> Toolset:
        """The same tools in the same order, some under other names (old: new)."""
        tools = self._tools
        self._known(names, tools)
        fixed = [name for name in names if isinstance(tools[name], ProviderTool)]
        if fixed:
            raise DefinitionError("the toolset", [f"{name!r} is named by its provider" for name in fixed])
        return self._renamed(lambda name: names.get(name, name), tools)

    def prefixed(self, prefix: str) -> Toolset:
        """The same tools with the prefix before each name; a provider's tool keeps its name."""
        return self._renamed(lambda name: prefix + name, self._tools)

    @staticmethod
    def _renamed(rename: Callable[[str], str], tools: Mapping[str, AnyTool]) -> Toolset:
        made: dict[str, AnyTool] = {}
        problems: list[str] = []
        for name, tool in tools.items():
            try:
                renamed = tool if isinstance(tool, ProviderTool) or rename(name) == name else tool.renamed(rename(name))
            except DefinitionError as error:
                problems += error.problems
                continue
            if name_of(renamed) in made:
                problems.append(f"two tools would be called {name_of(renamed)!r}")
            made[name_of(renamed)] = renamed
        if problems:
            raise DefinitionError("the toolset", problems)
        return _of(made)

    @staticmethod
    def _known(names: Iterable[str], tools: Mapping[str, AnyTool]) -> None:
        problems = [f"there is no tool {name!r}.{nearest(name, tools)}" for name in names if name not in tools]
        if problems:
            raise DefinitionError("the toolset", problems)

    # ── as data ──────────────────────────────────────────────────────────────

    def snapshot(self) -> dict[str, Any]:
        """Every tool as plain JSON, in order, without the functions."""
        tools = self.list()
        return {
            "tools": [tool.snapshot() for tool in tools if isinstance(tool, Tool)],
            "provider_tools": [tool.snapshot() for tool in tools if isinstance(tool, ProviderTool)],
            "order": [name_of(tool) for tool in tools],
        }

    @property
    def digest(self) -> str:
        """A name for exactly these tools in this order: equal digests, equal snapshots."""
        from hashlib import sha256

        return sha256(msgspec.json.encode(self.snapshot(), order="sorted")).hexdigest()


def name_of(tool: AnyTool) -> str:
    """The name a set knows a tool by. A provider's id has a dot, which no tool's name has: they never meet."""
    return tool.name


def _of(tools: Mapping[str, AnyTool]) -> Toolset:
    made = Toolset()
    made._tools = dict(tools)
    return made


def _public_methods(target: object) -> Iterator[str]:
    """Names of the documented public methods of an object, a base class's first; properties are not looked into."""
    seen: dict[str, Any] = {}
    for cls in reversed(type(target).__mro__[:-1]):
        seen.update(vars(cls))
    for name, value in seen.items():
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        documented = callable(function) and not isinstance(function, type) and bool(getattr(function, "__doc__", None))
        if not name.startswith("_") and (isinstance(value, Tool) or documented):
            yield name
