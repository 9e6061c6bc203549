"""Files people write: settings, and dialects as data."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.config import known_settings, load
from dragoman.dialects.plugins import laws
from dragoman.dialects.plugins.from_data import from_source
from dragoman.errors import ConfigError, DefinitionError
from dragoman.model import NativeCall

from .drawing import Draw, whole
from .target import Target

# ── settings ─────────────────────────────────────────────────────────────────

SETTINGS = """# mine
model = "anthropic:claude-sonnet-4-5"
dialect = "claude_code"

[policy]
approval = "ask"
max_iterations = 7
timeout = 2.5
tools = { run_command = "deny", read_file = "allow" }

[providers.acme]
api = "openai_chat"
base_url = "https://acme.example/v1"
api_key_env = "ACME_KEY"
options = { seed = 1, nested = { a = [1, 2.5, "x", true, 2026-01-01] } }

[models."claude-*"]
options.temperature = 0.5

[plugins]
folders = ["plugins", "/abs"]

[search]
backend = "searxng"
url = "http://localhost:8888/search"

[mcp.servers.toy]
command = "toy"
args = ["--a"]
env = { A = "1" }
"""
TOML_WORDS = (
    *(
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        " = ",
        ".",
        ",",
        '"',
        "'",
        '"""',
        "'''",
        "#",
        "\\",
        "\\u0000",
        "\\ud800",
        "\n",
    ),
    *(
        "true",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        "inf",
        "nan",
        "0x1f",
        "1_000",
        "1e999",
        "9" * 5000,
        "-0",
        "\t",
        "\r\n",
    ),
    *(
        "[policy]\n",
        "[providers.x]\n",
        "[mcp.servers.x]\n",
        "[[policy.rules]]\n",
        "a.b.c = 1\n",
        "[" * 300,
        "a=" + "[" * 900,
    ),
)


@cache
def setting_words() -> tuple[str, ...]:
    return (*TOML_WORDS, *(key for key, _ in known_settings()))


def draw_settings(draw: Draw) -> tuple[str, bytes]:
    text = draw.damaged_text(SETTINGS, setting_words())
    data = text.encode("utf-8", "surrogatepass")
    return draw.choice(("user", "project")), draw.damaged_bytes(data) if draw.one_in(10) else data


@cache
def places() -> dict[str, Path]:
    """A folder of the user's settings, and one of a project's."""
    made = tempfile.TemporaryDirectory(prefix="dragoman-fuzz-")
    _KEPT.append(made)
    for name in ("user", "project"):
        Path(made.name, name).mkdir()
    return {
        "home": Path(made.name),
        "user": Path(made.name, "user", "config.toml"),
        "project": Path(made.name, "project", "dragoman.toml"),
    }


_KEPT: list[Any] = []


def check_settings(given: tuple[str, bytes]) -> None:
    kind, data = given
    file = places()[kind]
    file.write_bytes(data)
    environ = {
        "DRAGOMAN_CONFIG_DIR": str(places()["user"].parent),
        "DRAGOMAN_DATA_DIR": str(places()["home"] / "data"),
    }
    try:
        load(cwd=places()["project"].parent, environ=environ)
    except ConfigError as error:
        assert str(error), "it is refused without a reason"
    finally:
        file.unlink()


# ── dialects as data ─────────────────────────────────────────────────────────

ACME = (Path(__file__).parents[1] / "dialects" / "acme.toml").read_text(encoding="utf-8")
YAML = """name: acme
description: Tools.
mcp: ["mcp__{server}__{tool}"]
tools:
  - name: open_file
    description: Read a file.
    operation: read_file
    formerly: [cat_file]
    unsaid: {pages: it is read whole}
    parameters:
      file-name: {means: path, type: string, description: Path of the file.}
      from: {means: first_line, description: First line., schema: {minimum: 1}}
      count: {means: last_line, type: number, convert: line_count, description: How many.}
      cache: {native_only: it is the client's own affair}
steering:
  - {name: think, reason: it says nothing}
unspoken:
  fetch_page: there is no web
"""
# The beginning of it: to read all of it takes ten times as long.
SHORT_ACME = ACME[: ACME.index('[[tools]]\nname = "change_many"')]
DATA_WORDS = (
    *("means", "native_only", "convert", "items", "always", "unsaid", "approximated", "schema", "required", "default"),
    *(
        "operation",
        "formerly",
        "read_only",
        "on_request",
        "words",
        "line_count",
        "empty_is_unsaid",
        "seconds",
        "edits.old",
    ),
    *("path", "first_line", "todo_write", "run_command", "read_file", "edit_file", "search_text", "string", "integer"),
)


def draw_dialect(draw: Draw) -> tuple[str, bytes, Any]:
    is_toml = draw.one_in(2)
    words = (*DATA_WORDS, *TOML_WORDS) if is_toml else (*DATA_WORDS, "- ", ": ", "{", "}", "&a ", "*a", "!!x ", "? ")
    toml = ACME if draw.one_in(8) else SHORT_ACME
    text = draw.damaged_text(toml if is_toml else YAML, words)
    arguments = {key: draw.json(1) for key in draw.some(("path", "file-name", "from", "count", "command", "x"), 4)}
    return "acme.toml" if is_toml else "acme.yaml", whole(text).encode(), arguments


def check_dialect(given: tuple[str, bytes, Any]) -> None:
    name, data, arguments = given
    try:
        dialect = from_source(Path(name), data)
    except DefinitionError as error:
        assert error.problems, "it is refused without a reason"
        return
    dialect.definitions()
    for spelling in dialect.spellings:
        for problem in laws.argument_problems(dialect, spelling, arguments):
            raise AssertionError(problem)
    dialect.read_call(NativeCall("1", "run", arguments))


NAMED = [("acme.yaml", YAML.replace("cache:", f'"{name}":').encode(), {}) for name in ("a\\\\b", "a\\tb", "a\\0b", "")]
"""Names of parameters that no struct can have, and an empty one."""

TARGETS = [
    Target(
        "settings",
        draw_settings,
        check_settings,
        examples=[("user", SETTINGS.encode()), ("project", b"a = " + b"9" * 5000)],
    ),
    Target(
        "dialect_files",
        draw_dialect,
        check_dialect,
        examples=[("acme.toml", ACME.encode(), {"path": 1}), ("acme.yaml", b"name: a\n\0", {}), *NAMED],
    ),
]
