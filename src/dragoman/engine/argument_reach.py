"""What a tool may reach of which only the arguments are known: one of an MCP server, or one that nobody knows.

Rule: every text may be a path, what has `://` in it is an address, and what has the name of a command line is one. What
the tool does with a path nobody knows, so a rule about reading or writing it cannot tell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .shell_reach import ANY, Effect, Reach, host_in, plain_name, reach_of

_COMMANDS: Final = frozenset(
    (
        "shell",
        "bash",
        "sh",
        "script",
        "code",
        "exec",
        "executable",
        "program",
        "binary",
        "argv",
        "run",
        "terminal_input",
    )
)
"""Names of arguments that hold a command line, or its words in a list; and those that have one of `_COMMAND_WORDS` in
them: `shellCommand`, `command_line`, `cmd_to_run`."""
_COMMAND_WORDS: Final = frozenset(("command", "cmd", "commandline", "cmdline"))
_SEVERAL: Final = frozenset(("commands", "cmds", "scripts"))
"""Names of arguments, or words in them, that hold a list of command lines."""
_WORDS: Final = frozenset(("args", "argv", "arguments"))
"""Names of arguments that hold the words behind those of a command."""
_HOSTS: Final = frozenset(("server", "origin", "remote"))
"""Names of arguments that hold an address, also without `://`, and those that have one of `_HOST_WORDS` in them:
`base_url`, `webhookUri`."""
_HOST_WORDS: Final = frozenset(
    ("url", "uri", "urls", "uris", "host", "hosts", "hostname", "domain", "domains", "endpoint", "webhook", "website")
)
_MAY_BE_HOSTS: Final = frozenset(("link", "links", "href", "site", "address"))
"""Names of arguments that hold an address where they hold the name of a host, with or without a path."""
_LIKE_A_HOST: Final = re.compile(r"(?://)?(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::[0-9]+)?(?:[/?#]\S*)?")
_REMOTE: Final = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+):\S+")
"""A place on another machine as `git` and `scp` write it: `git@example.com:a/b`."""
_LONGEST_NAME: Final = 4096
_MOST_TEXTS: Final = 2000
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) (?!/dev/null)(?:[ab]/)?)"
    r"(.+?)\s*(?:\t.*)?$",
    re.MULTILINE,
)
"""Lines of a patch that name a file."""
_DELETED: Final = re.compile(
    r"^(?:\*\*\* Delete File: (.+?)\s*$|--- (?:a/)?(.+?)\s*(?:\t.*)?\n\+\+\+ /dev/null)", re.MULTILINE
)
"""Lines of a patch that name a file which is deleted."""


def place_of_resource(uri: str) -> str:
    """The file or the address that a resource of a server may be; its scheme may be the server's own (`notes://a.md`)."""
    scheme, _, rest = uri.partition("://")
    return uri if not rest or scheme.lower() in ("file", "http", "https", "ws", "wss", "ftp") else rest


def command_lines_in(value: Any) -> Iterator[str]:
    """The command lines in the arguments of a call."""
    for inside in _mappings_in(value):
        for name, given in inside.items():
            key = plain_name(name)
            parts = key.split("_")
            several = not _SEVERAL.isdisjoint(parts)
            if several and isinstance(given, list):
                yield from (one for one in given if isinstance(one, str))
            elif several or key in _COMMANDS or not _COMMAND_WORDS.isdisjoint(parts):
                words = _words(given)
                if isinstance(given, str):
                    behind = [one for other in inside if plain_name(other) in _WORDS for one in _words(inside[other])]
                    yield " ".join([given, *map(shlex.quote, behind)])
                elif words:
                    yield shlex.join(words)


def addresses_in(value: Any) -> Iterator[str]:
    """The addresses in the arguments of a call; a file's address is a path."""
    for text in texts_in(value):
        if "://" in text and not text.lower().startswith("file:"):
            yield text
        elif remote := _REMOTE.fullmatch(text):
            yield f"ssh://{remote[1]}"
    for inside in _mappings_in(value):
        for name, given in inside.items():
            key = plain_name(name)
            certain = key in _HOSTS or not _HOST_WORDS.isdisjoint(key.split("_"))
            if certain or key in _MAY_BE_HOSTS:
                for one in _words(given):
                    if one and "://" not in one and (certain or _LIKE_A_HOST.fullmatch(one)):
                        yield f"http://{one.removeprefix('//')}"


def paths_in(value: Any) -> Iterator[str]:
    """Every text in the arguments of a call that may be the name of a file."""
    for text in texts_in(value):
        if len(text) >= _LONGEST_NAME or "\n" in text:
            yield from _PATCHED.findall(text)
            continue
        yield text
        if text.lower().startswith("file:"):
            from urllib.parse import unquote

            yield "/" + unquote(text[len("file:") :]).removeprefix("//localhost").lstrip("/")


def texts_in(value: Any) -> Iterator[str]:
    """Every text in the arguments of a call, without those that no program takes for a name."""
    todo, left = [value], _MOST_TEXTS
    while todo and left:
        one = todo.pop()
        if isinstance(one, str):
            if one and "\0" not in one:
                left -= 1
                yield one
        elif isinstance(one, dict):
            todo += one.values()
            todo += [name for name in one if "." in name or "/" in name]  # `{"files": {"src/a.py": …}}`
        elif isinstance(one, list | tuple):
            todo += one
    if todo:
        yield ANY  # what is left may be any name


def reach_of_arguments(arguments: Mapping[str, Any], cwd: str, home: str | None) -> Reach:
    """What a tool may reach that is called with these arguments in the folder `cwd`."""
    effects: dict[Effect, None] = {}
    commands: list[str] = []
    unknown: list[str] = []
    for path in paths_in(arguments):
        known = path if not path.startswith("~") or home is None else re.sub("^~(?=/|$)", home, path)
        effects[Effect("mention", known if known.startswith(("/", ANY)) else f"{cwd.rstrip('/')}/{known}")] = None
    for text in texts_in(arguments):
        for deleted in _DELETED.findall(text):
            effects[Effect("delete", f"{cwd.rstrip('/')}/{deleted[0] or deleted[1]}")] = None
    for address in addresses_in(arguments):
        effects[Effect("fetch", host_in(address).lower())] = None
    for line in command_lines_in(arguments):
        found = reach_of(line, cwd, home)
        effects |= dict.fromkeys(found.effects)
        commands += found.commands
        unknown += found.unknown
    return Reach(tuple(effects), tuple(commands), tuple(unknown))


def _mappings_in(value: Any) -> Iterator[dict[str, Any]]:
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            yield one
            todo += one.values()
        elif isinstance(one, list | tuple):
            todo += one


def _words(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else [given]
    return [one for one in listed if isinstance(one, str)]
