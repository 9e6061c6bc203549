"""The clients that a gateway stands before: how each is recognised, what rules it has, and how it is pointed here.

Rule: a client is recognised by the tools it offers, and its version by what it says of itself. What is set for a client
that is started here is set for that process alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import Conversation, Definition, FunctionDefinition, TextPart


class Client(msgspec.Struct, frozen=True):
    """One client: its vocabulary, its program, and how it is told where to ask."""

    dialect: str
    program: str
    environment: Callable[[str, str, str], dict[str, str]] = lambda url, token, model: {}
    """(URL of the gateway, its token, a model's name) → variables of the process; its `files` are in `{folder}`."""
    arguments: Callable[[str, str, str], list[str]] = lambda url, token, model: []
    """The same → words that come before the user's own."""
    files: Mapping[str, str] = {}
    """Files that it is given in a folder that lasts as long as the process: name → text, without any secret.
    `{url}` and `{model}` stand for the gateway's URL and the model's name."""
    reads_first: bool = False
    """Whether it refuses to change a file that it has not read."""
    reads_pictures: bool = True
    """Whether its tool for reading files gives the model a picture as one."""
    agent: str | None = None
    """Its general kind of sub-agent, where its tool must be told one."""
    commands_together: bool = False
    """Whether it runs the commands of one reply at the same time, so that a model that knows it counts on that."""


def _claude(url: str, token: str, model: str) -> dict[str, str]:
    # Without ENABLE_TOOL_SEARCH=false it hides MCP tools (2.1.325) behind a search whose result only Anthropic's API
    # can carry.
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_AUTH_TOKEN": token,
        "ENABLE_TOOL_SEARCH": "false",
    }


def _codex(url: str, token: str, model: str) -> list[str]:
    provider = "model_providers.dragoman"
    settings = {
        "model_provider": '"dragoman"',
        f"{provider}.name": '"dragoman"',
        f"{provider}.base_url": f'"{url}/v1"',
        f"{provider}.env_key": '"DRAGOMAN_GATEWAY_TOKEN"',
        f"{provider}.wire_api": '"responses"',
    }
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _openai(url: str, token: str, model: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": token, "OPENAI_MODEL": model}


def _opencode(url: str, token: str, model: str) -> dict[str, str]:
    npm = {"npm": "@ai-sdk/openai-compatible", "name": "dragoman", "options": {"baseURL": f"{url}/v1", "apiKey": token}}
    # Without these, opencode 1.18 leaves pictures out of what it sends.
    pictures = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    known = {"name": model, "tool_call": True, **pictures}
    settings = {"model": f"dragoman/{model}", "provider": {"dragoman": {**npm, "models": {model: known}}}}
    return {"OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode()}


def _copilot(url: str, token: str, model: str) -> dict[str, str]:
    # Copilot CLI 1.0.102 chooses its tools by a model that it knows, and sends the other name.
    return {
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": token,
        "COPILOT_MODEL": "claude-sonnet-4.5",
        "COPILOT_PROVIDER_WIRE_MODEL": model,
    }


_PI_EXTENSION: Final = """\
export default function (pi) {
  const model = process.env.DRAGOMAN_GATEWAY_MODEL;
  pi.registerProvider("dragoman", {
    baseUrl: process.env.DRAGOMAN_GATEWAY_URL,
    apiKey: "DRAGOMAN_GATEWAY_TOKEN",
    api: "anthropic-messages",
    models: [{
      id: model, name: model, reasoning: true, input: ["text", "image"], contextWindow: 200000, maxTokens: 32000,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    }],
  });
}
"""
"""An extension of pi 0.74: its settings have no other way to name a provider for one process. The key is a variable."""


def _pi(url: str, token: str, model: str) -> dict[str, str]:
    return {
        "DRAGOMAN_GATEWAY_URL": url,
        "DRAGOMAN_GATEWAY_TOKEN": token,
        "DRAGOMAN_GATEWAY_MODEL": model.rpartition(":")[2],
    }


def _pi_words(url: str, token: str, model: str) -> list[str]:
    return ["-e", "{folder}/dragoman.ts", "--provider", "dragoman", "--model", model.rpartition(":")[2]]


_CONTINUE_CONFIG: Final = """\
name: dragoman
version: 0.0.1
schema: v1
models:
  - name: "{model}"
    provider: anthropic
    model: "{model}"
    apiBase: "{url}/v1"
    apiKey: "${{ secrets.DRAGOMAN_GATEWAY_TOKEN }}"
    roles: [chat]
    capabilities: [tool_use, image_input]
"""
"""A configuration of Continue CLI 1.5, which finds its secrets in variables of the process."""

_CLINE_PROVIDERS: Final = """\
{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {},
  "providers": {
    "openai-compatible": {
      "settings": {"provider": "openai-compatible", "model": "{model}", "baseUrl": "{url}/v1"},
      "updatedAt": "1970-01-01T00:00:00.000Z",
      "tokenSource": "manual"
    }
  }
}
"""
"""The providers of Cline CLI 3.0.65, as its `auth` command writes them; the key is a variable of the process."""


def _cline(url: str, token: str, model: str) -> dict[str, str]:
    # Otherwise its daemon answers, which outlives the process and has the settings it was started with.
    return {
        "OPENAI_API_KEY": token,
        "CLINE_PROVIDER_SETTINGS_PATH": "{folder}/providers.json",
        "CLINE_SESSION_BACKEND_MODE": "local",
    }


CLIENTS: Final[Mapping[str, Client]] = {
    "claude": Client("claude_code", "claude", _claude, reads_first=True),
    "codex": Client(
        "codex",
        "codex",
        lambda url, token, model: {"DRAGOMAN_GATEWAY_TOKEN": token},
        _codex,
        commands_together=True,
    ),
    "gemini": Client(
        "gemini_cli",
        "gemini",
        lambda url, token, model: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": token},
        agent="generalist",
    ),
    "opencode": Client("opencode", "opencode", _opencode, reads_first=True, agent="general"),
    "qwen": Client("qwen_code", "qwen", _openai, lambda url, token, model: ["--auth-type", "openai"], reads_first=True),
    "copilot": Client("copilot", "copilot", _copilot, agent="general-purpose"),
    "pi": Client("pi", "pi", _pi, _pi_words, {"dragoman.ts": _PI_EXTENSION}),
    "continue": Client(
        "continue",
        "cn",
        lambda url, token, model: {"DRAGOMAN_GATEWAY_TOKEN": token},
        lambda url, token, model: ["--config", "{folder}/config.yaml"],
        {"config.yaml": _CONTINUE_CONFIG},
        reads_first=True,
        reads_pictures=False,
    ),
    "cline": Client(
        "cline",
        "cline",
        _cline,
        lambda url, token, model: ["-P", "openai-compatible", "-m", model],
        {"providers.json": _CLINE_PROVIDERS},
    ),
}
"""By the name of the command."""


def runs_commands_together(dialect: str) -> bool:
    """Whether the client of a vocabulary runs the commands of one reply at the same time."""
    return any(client.commands_together for client in CLIENTS.values() if client.dialect == dialect)


_VERSION: Final = re.compile(r"/v?(\d+\.\d+\.\d+)")


def recognised(definitions: Sequence[Definition], agent: str | None) -> tuple[Client, Dialect] | None:
    """The client that offers these tools, with its vocabulary at its version; `None` when it is none that is known.

    `agent` is what it says of itself (`claude-cli/2.1.325 (external, cli)`).
    """
    return _recognised(tuple((str(one.name), _parameters(one)) for one in definitions if one.name), agent)


def _parameters(definition: Definition) -> frozenset[str]:
    return (
        frozenset(definition.parameters.get("properties", ()))
        if isinstance(definition, FunctionDefinition)
        else frozenset()
    )


@lru_cache(maxsize=64)
def _recognised(tools: tuple[tuple[str, frozenset[str]], ...], agent: str | None) -> tuple[Client, Dialect] | None:
    best: tuple[float, Client] | None = None
    for client in CLIENTS.values():
        dialect: Dialect = DIALECTS[client.dialect]
        known = [(name, given) for name, given in tools if dialect.meanings(name)]
        # Several clients have a `read` and a `bash`; their parameters tell them apart.
        own = _own(client.dialect)
        alike = sum(len(given & own[name]) / max(1, len(given | own[name])) for name, given in known if name in own)
        if len(known) >= 2 and (best is None or len(known) + alike > best[0]):
            best = (len(known) + alike, client)
    if best is None:
        return None
    said = _VERSION.search(agent or "")
    return best[1], at(best[1].dialect, None if said is None else said[1])


@lru_cache(maxsize=64)
def _own(dialect: str) -> dict[str, frozenset[str]]:
    """The tools of a vocabulary with their parameters."""
    return {str(one.name): _parameters(one) for one in DIALECTS[dialect].definitions()}


@lru_cache(maxsize=64)  # narrowing a vocabulary takes longer than all else that is done for a request
def at(dialect: str, version: str | None = None, family: str | None = None) -> Dialect:
    """A vocabulary at a version of its client, or for a family of models. Other programs' versions are passed over."""
    found: Dialect = DIALECTS[dialect]
    known = version is not None and found.captured and found.captured[-1].split(".")[0] == version.split(".")[0]
    return found.at(version if known else None, family) if known or family is not None else found


_FOLDER: Final = re.compile(
    r"(?:<cwd>|(?:[Pp]rimary |[Cc]urrent )?[Ww]orking [Dd]irectory:|working in the directory:?) *[`\"']?(/[^\n<`\"']*)"
)


_BEFORE: Final = ("<cwd>", "orking directory", "orking Directory", "working in the directory")


def folder_of(conversation: Conversation) -> str | None:
    """The folder in which a client works, as it tells the model; `None` where it does not."""
    for item in conversation[:6]:
        for part in item.parts:
            if not isinstance(part, TextPart):
                continue
            # Finding a word is a hundred times as fast as the pattern, and most texts have none of them.
            places = [place for word in _BEFORE if (place := part.text.find(word)) >= 0]
            found = _FOLDER.search(part.text, max(0, min(places) - 20)) if places else None
            if found is not None:
                return found[1].strip()
    return None
