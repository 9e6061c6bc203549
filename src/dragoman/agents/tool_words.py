"""What the name of a tool in an agent file stands for: operations, a tool of ours, a tool of an MCP server.

Rule: a name is known or it is a problem. Nobody guesses what an agent was meant to be allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

import msgspec

from dragoman.dialects import ProviderRow, provider_tool
from dragoman.errors import DefinitionError, DragomanError, nearest
from dragoman.model import ExecutedBy, operations as op
from dragoman.registry import DIALECTS, TOOLS
from dragoman.tools import ProviderTool

from .clients import CLIENTS, OWN

OWN_KINDS = tuple(str(kind) for kind in op.Kind if kind is not op.Kind.OTHER)


class Meant(msgspec.Struct, frozen=True):
    """What one name stands for; neither the one nor the other: a tool of that client's own, without meaning here."""

    names: tuple[str, ...] = ()
    """Operations, tools, or `server/tool` globs."""
    everything: bool = False


def words_of(dialect: str) -> dict[str, tuple[str, ...]]:
    """Every native name of a vocabulary with the operations it stands for; none: it steers the client alone."""
    said: dict[str, dict[str, None]] = {}
    heard: dict[str, dict[str, None]] = {}
    vocabulary = DIALECTS[dialect]
    for spelling in vocabulary.spellings:
        # What a provider runs, or what is only ever read, may do more under a name than the tool it was written for.
        table = heard if spelling.read_only or spelling.executed_by is not ExecutedBy.CLIENT else said
        tags = {str(one.__struct_config__.tag): None for one in spelling.operation_types}
        tags.pop("unrecognised", None)
        for name in (spelling.native_name, *spelling.formerly):
            table.setdefault(name, {}).update(tags)
    for steer in vocabulary.steering:
        for name in (steer.name, *steer.formerly):
            heard.setdefault(name, {})
    return {name: tuple(tags) for name, tags in (heard | said).items()}


def meant_by(dialect: str, name: str) -> Meant | None:
    """What a name of another client's vocabulary stands for, or `None` when it has no such name."""
    if name == "*":
        return Meant(everything=True)
    words = words_of(dialect)
    if name in words:
        return Meant(words[name])
    server = _of_server(dialect, name)
    if server is not None:
        return Meant((server,))
    fitting = [tag for word, tags in words.items() if fnmatchcase(word, name) for tag in tags]
    return Meant(tuple(dict.fromkeys(fitting))) if fitting else None


def _of_server(dialect: str, name: str) -> str | None:
    """`mcp__github__*` as `github/*`; a server's name alone means all of its tools."""
    for names in DIALECTS[dialect].mcp:
        mark = names.template.partition("{server}")[0]
        if names.namespace is None and mark.startswith("mcp"):
            found = names.read(name, None, {})
            if found is not None:
                return f"{found[0]}/{found[1]}"
            if name == f"{mark}*":
                return "*/*"
            if mark.endswith("__") and name.startswith(mark) and len(name) > len(mark):
                return f"{name.removeprefix(mark)}/*"
    return None


def conditions(names: Collection[str]) -> Iterator[dict[str, str]]:
    """The condition of a rule about each of these, as the engine's rules are written."""
    for name in names:
        server, slash, tool = name.partition("/")
        if name in op.OPERATIONS:
            yield {"operation": name}
        elif not slash:
            yield {"tool": name}
        else:
            yield from ({"tool": glob} for glob in dict.fromkeys(_named_here(server, tool)))


def _named_here(server: str, tool: str) -> Iterator[str]:
    """Globs of the names that tools of a server go by: plain ones, and those that had to be shortened."""
    from .mcp.servers import mcp_tool_name

    yield f"mcp__{server}__{tool}"
    if not _is_glob(server) and not _is_glob(tool):
        yield mcp_tool_name(server, tool)
    elif not _is_glob(server):
        shortened = mcp_tool_name(server, "!")  # no name of a tool, so it is written the other way
        yield f"mcp__{shortened.split('__')[1]}__{tool}"


def _is_glob(text: str) -> bool:
    return any(mark in text for mark in "*?[")


def own_names(name: str, dialect: str | None, known: Collection[str]) -> Meant | None:
    """What a name in a file of ours stands for.

    Operations, kinds, tools, `server/tool`, the id of a provider's own tool, or words of its dialect.
    """
    if name == "*":
        return Meant(everything=True)
    if name in op.OPERATIONS or name in known:
        return Meant((name,))
    if name in TOOLS:
        called = _called(name)
        return None if called is None else Meant((called,))
    if name in OWN_KINDS:
        return Meant(tuple(tag for tag, operation in op.OPERATIONS.items() if str(operation.kind) == name))
    row = provider_tool(name)
    if row is not None:
        return Meant((row.id,)) if _needs(row) is None else None
    server, slash, tool = name.partition("/")
    if slash:
        return Meant((name,)) if server and tool and "/" not in tool else None
    fitting = [one for one in (*op.OPERATIONS, *known) if fnmatchcase(one, name)]
    fitting += [called for one in TOOLS if fnmatchcase(one, name) and (called := _called(one)) is not None]
    if fitting:
        return Meant(tuple(dict.fromkeys(fitting)))
    for vocabulary in filter(None, ("plain", dialect)):
        meant = meant_by(vocabulary, name)
        if meant is not None:
            return meant
    return None


def _needs(row: ProviderRow) -> str | None:
    """What a provider's tool cannot be asked for without; `None` when its id is enough."""
    try:
        row.define({})
    except DefinitionError as error:
        return "; ".join(error.problems)
    return None


def _called(name: str) -> str | None:
    """What a registered tool calls itself: a plugin may list `shout` as `acme.shout`. `None`: it cannot be loaded."""
    if name in TOOLS.built_in:
        return name
    try:
        tool = TOOLS[name]
    except DragomanError:  # `unknown_tool` says why
        return None
    return str(tool.id if isinstance(tool, ProviderTool) else tool.name)


def unknown_tool(name: str, known: Collection[str]) -> str:
    """What is said about a name that stands for nothing in a vocabulary."""
    return f'there is no tool "{name}".{nearest(name, known)}'


def unknown_here(name: str, dialect: str | None, known: Collection[str]) -> str:
    """What is said about a name in a file of ours that stands for nothing."""
    broken = next((entry.broken for entry in TOOLS.entries() if entry.name == name and entry.broken), None)
    if broken:
        return f'the tool "{name}" cannot be used: {broken}'
    row = provider_tool(name)
    needs = None if row is None else _needs(row)
    if needs is not None:
        return f'the provider\'s tool "{name}" needs settings ({needs}), and a file cannot give any: give it in Python'
    hint = _said_by_others(name) or nearest(name, tuple(own_candidates(dialect, known)))
    return f'there is no tool "{name}".{hint}'


def _said_by_others(name: str) -> str:
    """What a name is in the words of another client: files are copied from one folder to another."""
    for dialect in (format for format in CLIENTS if format != OWN):
        meant = words_of(dialect).get(name)
        if meant:
            return f" {dialect} says so; here it is {', '.join(meant)}."
    return ""


def own_candidates(dialect: str | None, known: Collection[str]) -> Iterator[str]:
    """Names a mistyped one may have been meant for."""
    yield from (*known, *op.OPERATIONS, *TOOLS, *words_of("plain"), *OWN_KINDS)
    if dialect is not None:
        yield from words_of(dialect)
