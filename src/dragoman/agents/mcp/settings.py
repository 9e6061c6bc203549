"""Which MCP servers there are: those of the settings and those that a project's files name for other clients.

Rule: a command or a URL that a project's file names is used only when the user trusts that folder with just these
contents. Until then the server is listed with the reason, and refuses to be opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.config import SERVER_FILES, Configuration, Secret, digest, read_settings_file, shown
from dragoman.config.files import current_folder
from dragoman.config.settings import McpServer as Row
from dragoman.errors import ConfigError, DefinitionError, nearest

Transport = Literal["stdio", "http", "sse"]


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """How one MCP server is reached. `refused` says why it must not be used; `unmapped` are unknown keys."""

    name: str
    transport: Transport
    command: tuple[str, ...] = ()
    env: Mapping[str, Secret] = {}
    cwd: Path | None = None
    url: str | None = None
    or_sse: bool = False
    """Whether SSE is tried where streamable HTTP is refused, because it is not said which of them it speaks."""
    headers: Mapping[str, Secret] = {}
    login: Mapping[str, Secret] = {}
    """How this program logs in without a user (`MachineLogin`)."""
    timeout: float | None = None
    trust_hints: bool = False
    """Whether its hints (`readOnlyHint`, `idempotentHint`) are believed; only the user can say so."""
    origin: str | None = None
    refused: str | None = None
    unmapped: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Its command or URL in one line, without secrets: variables are not filled in."""
        from shlex import join

        return join(self.command) if self.transport == "stdio" else str(shown("url", self.url))


def mcp_server_at(target: str, *arguments: str, name: str = "server") -> McpServer:
    """The server at a URL, or the one a command starts."""
    if re.match(r"https?://", target):
        return McpServer(name=name, transport="http", url=target)
    return McpServer(name=name, transport="stdio", command=(target, *arguments))


# ── from the settings ────────────────────────────────────────────────────────


def configured_mcp_servers(configuration: Configuration) -> dict[str, McpServer]:
    """Every server by name. One of the settings hides one of the same name in a project's file."""
    found = project_servers(configuration)
    refused = _refused_servers(configuration)
    for name, row in configuration.settings.mcp.servers.items():
        if not row.enabled:
            found.pop(name, None)
            refused.pop(name, None)
            continue
        if name in refused and _incomplete(row):  # a project that is not trusted says how it is reached
            continue
        stated = [one.origin for key, one in configuration.values.items() if key.startswith(f"mcp.servers.{name}.")]
        server = _server(name, row, str(stated[0]) if stated else None)
        # The user trusts the server they set up: a project that gives the name another command has not earned that.
        own = not any(origin.layer == "project" for origin in stated)
        server = msgspec.structs.replace(server, trust_hints=row.trust_hints and own)
        found[name] = placed(server, _base(configuration, name), own_folder(configuration))
    return dict(sorted((refused | found).items()))


def own_folder(configuration: Configuration) -> Path:
    """The folder a server starts in when it names none: the project if it is trusted, else an empty one of ours.

    What starts servers (`python -m`, `npx`, `uv`) looks into the current folder first, which may be a stranger's.
    """
    project = configuration.project
    return project.root if project is not None and project.trust.state == "trusted" else configuration.data_dir / "mcp"


def _base(configuration: Configuration, name: str) -> Path | None:
    """What a relative command of the settings is relative to: the file that states it; a variable is no file."""
    stated = configuration.values.get(f"mcp.servers.{name}.command")
    layer = stated.origin.layer if stated is not None else "default"
    if layer == "project" and configuration.project is not None:
        return configuration.project.root
    return {"user": configuration.config_dir, "flag": current_folder()}.get(layer)


def placed(server: McpServer, base: Path | None, folder: Path) -> McpServer:
    """The server with the whole path of its program, and the folder it starts in: `folder`, when it names none."""
    if not server.command:
        return server
    program, *arguments = server.command
    if "/" in program and not os.path.isabs(program) and not program.startswith("$"):
        if base is None:
            raise ConfigError(f"mcp.servers.{server.name} ({server.origin}): give the whole path of {program}")
        program = os.path.normpath(base / program)
    refused = server.refused
    if server.cwd is None and refused is None and not folder.is_dir():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            refused = f"{folder} cannot be made ({error.strerror}): name a folder for it to start in, with cwd"
    return msgspec.structs.replace(
        server, command=(program, *arguments), cwd=folder / (server.cwd or ""), refused=refused
    )


def _refused_servers(configuration: Configuration) -> dict[str, McpServer]:
    """The servers that a project's settings name and that are not used, with the reason."""
    refused: dict[str, McpServer] = {}
    for refusal in configuration.refusals:
        parts = refusal.key.split(".")
        if parts[:2] == ["mcp", "servers"] and len(parts) > 3:
            why = f"{refusal.origin}: {refusal.reason}"
            one = McpServer(name=parts[2], transport="stdio", origin=str(refusal.origin), refused=why)
            refused.setdefault(parts[2], one)
    return refused


def mcp_server_of(
    name: str, table: Mapping[str, Any], *, origin: str | None = None, refused: str | None = None
) -> McpServer:
    """A server from a table with the keys of the settings (`command`, `args`, `env`, `url`, `headers`, …).

    `refused` says why it must not be opened, where nobody vouches for whoever wrote the table. Raises
    `DefinitionError` with every problem.
    """
    known = Row.__struct_fields__
    problems = [f"`{key}` is nothing a server has.{nearest(str(key), known)}" for key in table if key not in known]
    if "trust_hints" in table:
        problems.append("`trust_hints` can only be set in your own settings: [mcp.servers.NAME]")
    row: Row | None = None
    try:
        # A folder is relative to whoever starts it; a key that is unknown was said to be.
        said = {key: value for key, value in table.items() if key in known}
        row = msgspec.convert(said, Row, dec_hook=_read)
    except msgspec.ValidationError as error:
        problems.append(str(error))
    if row is not None:
        problems += _incomplete(row)
    if problems or row is None:
        raise DefinitionError(f"MCP server {name!r}", problems, origin)
    return msgspec.structs.replace(_server(name, row, origin), refused=refused)


def _server(name: str, row: Row, origin: str | None) -> McpServer:
    problems = _incomplete(row)
    if problems:
        raise ConfigError(f"mcp.servers.{name} ({origin}): {'; '.join(problems)}")
    return McpServer(
        name=name,
        transport="stdio" if row.command is not None else row.transport,
        command=() if row.command is None else (row.command, *row.args),
        env=row.env,
        cwd=row.cwd,
        url=row.url,
        headers=row.headers,
        login=row.login,
        timeout=row.timeout,
        origin=origin,
    )


def _incomplete(row: Row) -> list[str]:
    if (row.command is None) == (row.url is None):
        return ["give it a `command` to start, or a `url`, and not both"]
    if row.login and (row.url is None or row.transport != "http"):
        return ["`login` is for servers that are reached by streamable HTTP"]
    return []


def _read(kind: type, value: object) -> object:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {type(value).__name__}")
    return Secret(value) if kind is Secret else Path(os.path.expanduser(value))


# ── from the files of other clients ──────────────────────────────────────────

Reads = Callable[[Path, str, Any], "McpServer"]


def project_servers(configuration: Configuration) -> dict[str, McpServer]:
    """The servers that the project's files name, each refused unless the project is trusted as it is."""
    project = configuration.project
    found: dict[str, McpServer] = {}
    for name in SERVER_FILES if project is not None else ():
        assert project is not None
        path = project.root / name
        try:
            content = read_settings_file(path)
        except ConfigError as error:
            found.setdefault(name, McpServer(name=name, transport="stdio", origin=str(path), refused=str(error)))
            continue
        if content is None:
            continue
        refused = None
        if project.trust.state != "trusted" or project.trust.digests.get(name) != digest(content):
            changed = " as it is now" if project.trust.state != "untrusted" else ""
            refused = f"this project is not trusted{changed}. Read {path}, then run: dragoman trust {project.root}"
        for server in _understood(path, name, content):
            server = placed(server, project.root, project.root)
            found.setdefault(server.name, msgspec.structs.replace(server, refused=server.refused or refused))
    return found


def _understood(path: Path, name: str, content: bytes) -> Iterator[McpServer]:
    """The servers of a file. What cannot be understood is refused, and costs no other server anything."""
    try:
        rows = _rows(path, content)
    except ConfigError as error:
        yield McpServer(name=name, transport="stdio", origin=str(path), refused=str(error))
        return
    for called, row, read in rows:
        try:
            yield read(path, called, row)
        except ConfigError as error:
            yield McpServer(name=called, transport="stdio", origin=str(path), refused=str(error))


def mcp_servers_in(path: Path, content: bytes | None = None) -> list[McpServer]:
    """The servers a file names: Claude Code's `.mcp.json`, Cursor's and VS Code's `mcp.json`, the settings of Gemini
    CLI, or opencode's `opencode.json`. It says nothing about trust: whoever names the file answers for it."""
    content = path.read_bytes() if content is None else content
    return [read(path, name, row) for name, row, read in _rows(path, content)]


def _rows(path: Path, content: bytes) -> list[tuple[str, Any, Reads]]:
    """Every server a file names and does not switch off, and who reads it."""
    document = _document(path, content)
    for key, read in _SHAPES.items():
        rows = document.get(key)
        # In Gemini CLI's settings (0.61.0) `mcp` says which servers are allowed, not what they are.
        if isinstance(rows, dict) and (key, path.parent.name) != ("mcp", ".gemini"):
            return [(str(name), row, read) for name, row in rows.items() if _used(row)]
    return []


def _used(row: Any) -> bool:
    return not isinstance(row, dict) or (row.get("enabled") is not False and row.get("disabled") is not True)


# A string, or what is no JSON: a comment, and a comma after the last of something. What has no end goes to the end of
# the file, so that it is looked for once.
_STRING: Final = rb'"(?:[^"\\]|\\.)*(?:"|\Z)'
_BESIDE_JSON: Final = re.compile(_STRING + rb"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + rb"|,(?=\s*[}\]])", re.DOTALL)


def _document(path: Path, content: bytes) -> dict[str, Any]:
    """A file as JSON with comments, which Gemini CLI (0.61.0), opencode (1.18.33) and VS Code take."""
    without = _BESIDE_JSON.sub(lambda found: found[0] if found[0].startswith(b'"') else b" ", content)
    without = _LAST_COMMA.sub(lambda found: found[0] if found[0].startswith(b'"') else b"", without)
    try:
        document = msgspec.json.decode(without.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected an object")
    return document


_HTTP: Final = ("http", "streamable-http", "streamableHttp", "streamable_http")
_SPOKEN: Final = (
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "httpUrl",
    "headers",
    "timeout",
    "enabled",
    "disabled",
)


def _common(path: Path, name: str, row: Any) -> McpServer:
    """`mcpServers` of Claude Code, Cursor and Gemini CLI, `servers` of VS Code: the same but for a few keys."""
    row = _table(path, name, row)
    url = row.get("httpUrl") or row.get("url")
    said = str(row.get("type") or ("" if "httpUrl" not in row else "http"))
    gemini = path.parent.name == ".gemini"
    if said not in ("", "stdio", "sse", *_HTTP):
        raise ConfigError(f"{path}: the server {name!r} has the type {said!r}; known are stdio, http and sse")
    # Milliseconds in the file of the one client that has it.
    timeout = row["timeout"] / 1000 if isinstance(row.get("timeout"), (int, float)) else None
    table = {
        "command": row.get("command"),
        "args": row.get("args", ()),
        "env": row.get("env") or {},
        "cwd": row.get("cwd"),
        "url": url if row.get("command") is None else None,
        "headers": row.get("headers") or {},
        "transport": "sse" if said == "sse" else "http",
        "timeout": timeout,
    }
    unknown = [key for key in row if key not in _SPOKEN]
    server = _foreign(path, name, table, unknown, _dollar if gemini else _as_it_is)
    # By a bare `url` Gemini CLI 0.19.4 means SSE; 0.24.0 to 0.61.0 try streamable HTTP, and then SSE.
    return msgspec.structs.replace(server, or_sse=gemini and not said and server.transport == "http")


def _opencode(path: Path, name: str, row: Any) -> McpServer:
    """`mcp` of opencode (1.18.33): a command is a list, `type` is local or remote."""
    row = _table(path, name, row)
    given = row.get("command") or [None]
    command = given if isinstance(given, list) else [given]
    timeout = row["timeout"] / 1000 if isinstance(row.get("timeout"), (int, float)) else None
    table = {
        "command": command[0],
        "args": command[1:],
        "env": row.get("environment") or {},
        "url": row.get("url"),
        "headers": row.get("headers") or {},
        "timeout": timeout,
    }
    spoken = ("type", "command", "environment", "url", "headers", "timeout", "enabled")
    server = _foreign(path, name, table, [key for key in row if key not in spoken], _braces)
    # opencode 1.18.33 tries streamable HTTP, and then SSE.
    return msgspec.structs.replace(server, or_sse=server.transport == "http")


def _table(path: Path, name: str, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ConfigError(f"{path}: the server {name!r} is no object")
    return row


_SHAPES: Final[dict[str, Reads]] = {
    "mcpServers": _common,
    "servers": _common,
    "mcp": _opencode,
}


def _foreign(
    path: Path, name: str, table: dict[str, Any], unmapped: list[str], spell: Callable[[str], str]
) -> McpServer:
    said = _spelled({key: value for key, value in table.items() if value is not None}, spell)
    try:
        server = mcp_server_of(name, said, origin=str(path))
    except DefinitionError as error:
        raise ConfigError(str(error)) from error
    return msgspec.structs.replace(server, unmapped=tuple(unmapped))


def _spelled(value: Any, spell: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return spell(value)
    if isinstance(value, dict):
        return {key: _spelled(inner, spell) for key, inner in value.items()}
    return [_spelled(inner, spell) for inner in value] if isinstance(value, (list, tuple)) else value


def _as_it_is(text: str) -> str:
    return text


def _dollar(text: str) -> str:
    """Gemini CLI's `$NAME` (0.61.0)."""
    return re.sub(r"\$([A-Za-z_][A-Za-z0-9_]*)", r"${\1}", text)


def _braces(text: str) -> str:
    """opencode's `{env:NAME}` (1.18.33)."""
    return re.sub(r"\{env:([^}]+)\}", r"${\1}", text)


# ── variables ────────────────────────────────────────────────────────────────

_VARIABLE: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}")


def filled(text: str, environ: Mapping[str, str] | None = None) -> str:
    """A text with `${NAME}` and `${NAME:-otherwise}` replaced. One that is not set, and has no other, is an error."""
    known = {**os.environ, "PWD": os.getcwd()} if environ is None else environ  # a shell's own may be out of date
    missing = [found["name"] for found in _VARIABLE.finditer(text) if _value(found, known) is None]
    if missing:
        raise ConfigError(f"the environment variable {missing[0]} is not set, and an MCP server needs it")
    return _VARIABLE.sub(lambda found: _value(found, known) or "", text)


def _value(found: re.Match[str], known: Mapping[str, str]) -> str | None:
    value = known.get(found["name"])
    return found["otherwise"] if not value and found["otherwise"] is not None else value
