"""Agent files: Markdown with YAML frontmatter, read into an `Agent`.

Rule: a file is read whole or not at all. Everything that is wrong with it is told at once, each with its line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.config.files import read_with_place
from dragoman.errors import DefinitionError, nearest
from dragoman.model import operations as op
from dragoman.registry import DIALECTS, TOOLS
from dragoman.schema import Reader, problems_against

from .agent import Agent, AgentLimits, CustomTool
from .clients import CLIENTS, OWN
from .frontmatter_text import LARGEST_FILE, Problems, Section, raise_all, read_page, shown
from .policies import read_policy
from .sandboxes import read_sandbox
from .tool_words import own_names, unknown_here

AGENT_FORMATS: Final = tuple(CLIENTS)
"""Whose files can be read."""


def read_agent(path: str | os.PathLike[str], *, format: str | None = None, known: Collection[str] = ()) -> Agent:
    """The agent of a file. `known` are names of tools that the caller brings, beside those registered."""
    return parse_agent(text_of(path), path=os.fspath(path), format=format, known=known)


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file, or a `DefinitionError` that says why there is none."""
    return text_with_place(path)[0]


def text_with_place(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """The same, and where the file that was read really is, whatever `path` leads to by now."""
    written = os.fspath(path)
    try:
        source, place = read_with_place(written, LARGEST_FILE)
    except OSError as error:
        raise DefinitionError(_subject(written), [f"it cannot be read: {error.strerror}"], written) from error
    except ValueError as error:
        problem = f"it cannot be read: {error}; an agent is an ordinary file of text"
        raise DefinitionError(_subject(written), [problem], written) from error
    try:
        return source.decode("utf-8"), place
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        problem = f"line {line}: it is not UTF-8 text; save it as UTF-8"
        raise DefinitionError(_subject(written), [problem], written) from error


def _subject(path: str) -> str:
    return f"agent file {Path(path).name!r}"


def parse_agent(text: str, *, path: str | None = None, format: str | None = None, known: Collection[str] = ()) -> Agent:
    """The agent a text describes, or a `DefinitionError`. `format` says whose file it is; else its path does."""
    format = format_of(path) if format is None else format
    if format not in AGENT_FORMATS:
        raise DefinitionError("agent file", [f'there is no format "{format}".{nearest(format, AGENT_FORMATS)}'], path)
    problems = Problems()
    agent: Agent | None = None
    try:
        agent = _reader(format)(text, problems, path, known)
    except RecursionError:
        problems.add_at(1, "it is nested too deeply")
    raise_all(problems.in_order(), path)
    assert agent is not None  # what could not be read was told
    return agent


Reads = Callable[[str, Problems, str | None, Collection[str]], Agent | None]


def _reader(format: str) -> Reads:
    if format == OWN:
        return _own
    read: Reads = import_module(f".foreign_{format}", __package__).read
    return read


def format_of(path: str | None) -> str:
    """Whose file it is, by the folder it is in, else by its suffix where only one client has it."""
    if path is None:
        return OWN
    parts = Path(os.path.abspath(path)).parts[:-1]
    others = [client for client in CLIENTS.values() if client.format != OWN]
    for client in others:
        if any(folder == parts[at : at + len(folder)] for folder in client.parts() for at in range(len(parts))):
            return client.format
    ours = CLIENTS[OWN].suffix
    return next((client.format for client in others if client.suffix != ours and path.endswith(client.suffix)), OWN)


# ── our own ──────────────────────────────────────────────────────────────────


def _own(text: str, problems: Problems, path: str | None, known: Collection[str]) -> Agent | None:
    page = read_page(text, problems)
    if page is None:
        return None
    section = Section(page.values, problems)
    name = name_in(section, path)
    description = section.text("description") or ""
    profile = section.text("profile")
    project_instructions = section.of("project_instructions", bool) is not False
    model, dialect = section.text("model"), _dialect(section)
    custom = (*_custom_tools(section, "tools"), *_custom_tools(section, "custom_tools"))
    _told_twice(custom, problems)
    _taken(custom, known, problems)
    known = (*known, *(tool.name for tool in custom))
    tools = _allowed(section, dialect, known)
    limits = limits_in(section) or AgentLimits()
    stated = section.table("policy")
    policy = {} if stated is None else read_policy(stated, dialect, known)
    sandbox = read_sandbox(section)
    servers = servers_in(section, "mcp_servers")
    section.close()
    if name is None:
        return None
    return Agent(
        name=name,
        description=description,
        instructions=page.body,
        project_instructions=project_instructions,
        profile=profile,
        model=model,
        dialect=dialect,
        tools=tools,
        policy=policy,
        sandbox=sandbox,
        limits=limits,
        custom_tools=custom,
        mcp_servers=servers,
        path=path,
    )


def name_in(section: Section, path: str | None) -> str | None:
    """The name a file states, or that of the file."""
    name = section.text("name")
    if name is not None or "name" in section.content:
        return name
    stem = "" if path is None else Path(path).stem
    if not stem.strip():
        section.problems.add_at(1, "it has no name; write `name: …`")
        return None
    return stem


def _dialect(section: Section) -> str | None:
    name = section.text("dialect")
    if name is not None and name not in DIALECTS:
        section.problem(f'there is no dialect "{name}".{nearest(name, DIALECTS)}', "dialect")
        return None
    try:
        return None if name is None else str(DIALECTS[name].name)
    except DefinitionError as error:  # of a plugin
        section.problem(f'the dialect "{name}" cannot be used: {"; ".join(error.problems)}', "dialect")
        return None


def _allowed(section: Section, dialect: str | None, known: Collection[str]) -> tuple[str, ...] | None:
    """What an agent may use. Tools written out in the list are its own, so a list of nothing else allows everything."""
    listed = section.take("tools")
    if listed is None:
        return None
    entries = listed.replace(",", " ").split() if isinstance(listed, str) else listed
    if not isinstance(entries, list):
        section.problem(f"must be a list of names and tools, not {shown(listed)}", "tools")
        return None
    names: dict[str, None] = {}
    everything = bool(entries) and all(isinstance(entry, dict) for entry in entries)
    for index, entry in enumerate(entries):
        at = ("tools", index) if isinstance(listed, list) else ("tools",)
        if isinstance(entry, dict):
            continue
        if not isinstance(entry, str):
            section.problem(f"must be the name of a tool, or a table that says one, not {shown(entry)}", *at)
            continue
        meant = own_names(entry, dialect, known)
        if meant is None:
            section.problem(unknown_here(entry, dialect, known), *at)
        elif not meant.names and not meant.everything:
            section.problem(f'"{entry}" steers its own client and has no meaning here', *at)
        else:
            everything = everything or meant.everything
            names |= dict.fromkeys(meant.names)
    return None if everything else tuple(names)


def limits_in(section: Section, key: str = "limits") -> AgentLimits | None:
    """The limits a table states, each looked at by itself."""
    table = section.table(key)
    if table is None:
        return None
    fields = AgentLimits.__struct_fields__
    stated: dict[str, Any] = {}
    for name in fields:
        if name not in table.content:
            continue
        value = table.take(name)
        try:
            stated[name] = getattr(msgspec.convert({name: value}, AgentLimits), name)
        except msgspec.ValidationError as error:
            table.problem(_plainly(error), name)
    for name in table.left():
        if name not in fields:
            table.problem(f'there is no limit "{name}"; known: {", ".join(fields)}.{nearest(name, fields)}', name)
    return AgentLimits(**stated)


def _plainly(error: Exception) -> str:
    return str(error).partition(" - at `$")[0].replace("`", "")


def servers_in(section: Section, key: str) -> dict[str, dict[str, Any]]:
    """MCP servers by their names."""
    table = section.table(key)
    if table is None:
        return {}
    return {name: server for name, server in table.content.items() if checked_server(table, name, server)}


def checked_server(table: Section, name: str, server: Any) -> bool:
    """Whether this says how a server is reached; what is wrong with it is noted."""
    from .mcp.settings import mcp_server_of

    problems: Collection[str] = ()
    if not isinstance(server, dict) or not ({"command", "url"} & server.keys()):
        problems = ['needs a "command" to start, or a "url" to reach']
    else:
        try:
            mcp_server_of(name, server)
        except DefinitionError as error:
            problems = error.problems
    for problem in problems:
        table.problem(problem, name)
    return not problems


# ── tools of its own ─────────────────────────────────────────────────────────


def _custom_tools(section: Section, key: str) -> tuple[CustomTool, ...]:
    """Tools that are written out: in a list of their own, or among the names in `tools`."""
    listed = section.take(key) if key == "tools" else section.of(key, list)
    found: list[CustomTool | None] = []
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict):
            found.append(_custom_tool(Section(entry, section.problems, (key, index))))
        elif key != "tools":
            section.problem(f"must be a table that says a tool, not {shown(entry)}", key, index)
    return tuple(tool for tool in found if tool is not None)


def _told_twice(tools: Collection[CustomTool], problems: Problems) -> None:
    seen: dict[str, int | None] = {}
    for tool in tools:
        if tool.name in seen:
            problems.add_at(tool.line or 1, f'the tool "{tool.name}" is already there, on line {seen[tool.name]}')
        seen.setdefault(tool.name, tool.line)


def _taken(tools: Collection[CustomTool], known: Collection[str], problems: Problems) -> None:
    """A name stands for one tool: with two of them no run would begin."""
    for tool in tools:
        if tool.name in op.OPERATIONS or tool.name in known or tool.name in TOOLS:
            problems.add_at(tool.line or 1, f'there is a tool "{tool.name}" already; give yours a name of its own')


def _custom_tool(section: Section) -> CustomTool | None:
    name, description, prompt = (_needed(section, key) for key in ("name", "description", "prompt"))
    model, limits = section.text("model"), limits_in(section)
    repairs = section.of("repairs", int)
    if repairs is not None and repairs < 0:
        section.problem(f"must be 0 or more, not {repairs}", "repairs")
    parameters = _parameters(section)
    result = section.of("result_schema", dict)
    if result is not None:
        _check_result_schema(section, result)
    section.close()
    if name is None or description is None or prompt is None:
        return None
    _check_tool(section, name, description, parameters)
    return CustomTool(
        name=name,
        description=description,
        prompt=prompt,
        parameters=parameters.schema,
        model=model,
        result_schema=result,
        limits=limits,
        repairs=2 if repairs is None else repairs,
        line=section.problems.line_of(section.place),
    )


def _needed(section: Section, key: str) -> str | None:
    if key not in section.content:
        section.take(key)
        section.problem(f'the tool has no "{key}"')
        return None
    return section.text(key)


# What a parameter may say: the words of JSON Schema that are met in tools.
_SCHEMA_WORDS: Final = (
    *("type", "description", "required", "enum", "default", "items", "properties", "const", "examples", "title"),
    *("format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "prefixItems", "minProperties", "maxProperties"),
    *("additionalProperties", "patternProperties", "propertyNames", "anyOf", "oneOf", "allOf", "not", "nullable"),
    *("$ref", "$defs", "deprecated"),
)


class _Parameters(msgspec.Struct, frozen=True):
    """The parameters of a custom tool. `by_name`: the file states them name by name, so a place has no `properties`."""

    schema: dict[str, Any]
    by_name: bool = True


def _parameters(section: Section) -> _Parameters:
    """JSON Schema of the arguments: written as such, or name by name, each needed unless it says otherwise."""
    stated = section.table("parameters")
    if stated is None:
        return _Parameters({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    if stated.content.get("type") == "object" and isinstance(stated.content.get("properties"), dict):
        return _Parameters(dict(stated.content), by_name=False)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, said in stated.content.items():
        if not isinstance(said, dict):
            stated.problem(f"must be a table with a type and a description, not {shown(said)}", name)
            continue
        for word in said:
            if word not in _SCHEMA_WORDS:
                stated.problem(f'there is no key "{word}" in a parameter.{nearest(word, _SCHEMA_WORDS)}', name, word)
        needed = said.get("required", "default" not in said)
        # A list is JSON Schema's own: it names what an object within must have.
        of_its_own = isinstance(needed, list)
        if not of_its_own and not isinstance(needed, bool):
            stated.problem(f"must be true or false, not {shown(needed)}", name, "required")
        properties[name] = {word: value for word, value in said.items() if word != "required" or of_its_own}
        if needed is True or of_its_own:
            required.append(name)
    return _Parameters(
        {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    )


def _check_tool(section: Section, name: str, description: str, parameters: _Parameters) -> None:
    """A tool is held to what every tool is held to, by making one of it."""
    from dragoman.tools import Tool

    try:
        Tool(name, description, parameters.schema, lambda arguments: None)
    except DefinitionError as error:
        _point_out(section, "parameters", error.problems, by_name=parameters.by_name)
        return
    _check_defaults(section, parameters)


def _check_defaults(section: Section, parameters: _Parameters) -> None:
    """A default goes into the prompt as an argument would. `null` says that there is none."""
    schema = parameters.schema
    within = () if parameters.by_name else ("properties",)
    for name, said in schema.get("properties", {}).items():
        default = said.get("default") if isinstance(said, dict) else None
        if default is not None:
            whole = {**said, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}
            for problem in problems_against(whole, default):
                section.problem(f"the default does not fit: {problem}", "parameters", *within, name, "default")


def _check_result_schema(section: Section, schema: dict[str, Any]) -> None:
    # An answer may be anything, the arguments of a tool only an object: so it is looked at inside of one.
    whole = {"type": "object", "properties": {"answer": schema}}
    if "$defs" in schema:
        whole["$defs"] = schema["$defs"]
    try:
        Reader.of_schema("result_schema", whole)
    except DefinitionError as error:
        problems = [text.replace("#/properties/answer", "#", 1) for text in error.problems]
        _point_out(section, "result_schema", problems)


def _point_out(section: Section, key: str, problems: Collection[str], *, by_name: bool = False) -> None:
    """Problems of a schema at their lines: `#/properties/a/type: …` stands where that type is written."""
    for problem in problems:
        pointer, _, message = problem.partition(": ")
        if not pointer.startswith("#"):
            section.problem(problem, *(("name",) if "is not a tool's name" in problem else ()))
            continue
        steps = [step for step in pointer.removeprefix("#").split("/") if step]
        if by_name:
            steps = steps[1:]
        section.problem(message, key, *(int(step) if step.isdigit() else step for step in steps))
