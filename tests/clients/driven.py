"""How each client is pointed at a server of this machine, lists its sessions, and resumes one with a prompt.

Everything is said by settings and options that the clients document; none of them needs a terminal but Cline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

ROOM = {"context": 200_000, "output": 8_192}


@dataclass(frozen=True)
class Setup:
    """What a client needs to reach the server: variables, files below its home, and commands to be run first."""

    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    first: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Driven:
    """One client: its settings for a port, and the options that list and resume sessions."""

    setup: Callable[..., Setup]
    """(port, model to ask) → settings; without a model the one that the client is resumed with."""
    resume: Callable[[str, str], Sequence[str]]
    """(session, prompt) → options."""
    listing: Sequence[str] | None = None
    """Options that print the sessions; `None` when the client shows them on a terminal alone."""
    imported: Callable[[str], Sequence[str]] | None = None
    """File → options that import it."""
    lists_what_it_saved: bool = False
    """Whether it lists only sessions that it has saved itself: a ported one from the first time that it was resumed."""
    says: Sequence[str] = ()
    """Lines that its listing reads from its input."""
    terminal: bool = False
    """Whether it resumes on a terminal alone, where the prompt is typed."""


def _claude(port: int, _model: str | None = None) -> Setup:
    return Setup(
        {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "none",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
    )


def _codex(port: int, _model: str | None = None) -> Setup:
    config = f"""\
model = "gpt-5.5"
model_provider = "here"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.here]
name = "here"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "NO_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
    return Setup({"NO_KEY": "none"}, {".codex/config.toml": config})


_CODEX_LISTING = (
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "check", "version": "1"}}},
    {"method": "initialized"},
    {"id": 2, "method": "thread/list", "params": {}},
)


def _gemini(port: int, _model: str | None = None) -> Setup:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    }
    variables = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return Setup(variables, {".gemini/settings.json": settings})


def _qwen(port: int, _model: str | None = None) -> Setup:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    }
    variables = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_MODEL": "qwen3-coder-plus",
    }
    return Setup(variables, {".qwen/settings.json": settings})


def _opencode(port: int, model: str = "claude-sonnet-4-5") -> Setup:
    about = {"name": model, "tool_call": True, "limit": ROOM}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "small_model": f"anthropic/{model}",
        "provider": {
            "anthropic": {
                "npm": "@ai-sdk/anthropic",
                "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
                "models": {model: about},
            }
        },
        "permission": {"*": "allow"},
    }
    switched_off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in switched_off}
    return Setup({**variables, "ANTHROPIC_API_KEY": "none"}, {".config/opencode/opencode.json": config})


def _copilot(port: int, model: str = "claude-sonnet-4.5") -> Setup:
    of_openai = model.startswith("gpt")
    return Setup(
        {
            "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}{'/v1' * of_openai}",
            "COPILOT_PROVIDER_TYPE": "openai" if of_openai else "anthropic",
            "COPILOT_PROVIDER_WIRE_API": "responses" if of_openai else "completions",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_OFFLINE": "true",
            "COPILOT_MODEL": model,
            "COPILOT_AUTO_UPDATE": "false",
        }
    )


def _pi(port: int, _model: str | None = None) -> Setup:
    model = {
        "id": "claude-sonnet-4-5",
        "name": "claude-sonnet-4-5",
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": ROOM["context"],
        "maxTokens": ROOM["output"],
        "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}",
        "api": "anthropic-messages",
        "apiKey": "none",
        "models": [model],
    }
    variables = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
    return Setup(variables, {".pi/agent/models.json": {"providers": {"here": provider}}})


def _continue(port: int, _model: str | None = None) -> Setup:
    model = {
        "name": "here",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "apiKey": "none",
        "apiBase": f"http://127.0.0.1:{port}/v1",
        "roles": ["chat", "edit", "apply"],
        "capabilities": ["tool_use"],
    }
    config = {"name": "here", "version": "0.0.1", "schema": "v1", "models": [model]}  # JSON is YAML
    return Setup({"CONTINUE_TELEMETRY_ENABLED": "0"}, {".continue/config.yaml": config})


def _cline(port: int, model: str = "claude-sonnet-4-5") -> Setup:
    reached = ("-k", "none", "-m", model, "-b", f"http://127.0.0.1:{port}/v1")
    return Setup(
        {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"},
        first=[("auth", "-p", "openai-compatible", *reached)],
    )


def droid(port: int, model: str = "claude-sonnet-4-5") -> Setup:
    of_openai = model.startswith("gpt")
    about = {
        "model": model,
        "displayName": "here",
        "baseUrl": f"http://127.0.0.1:{port}{'/v1' * of_openai}",
        "apiKey": "none",
        "provider": "openai" if of_openai else "anthropic",
    }
    settings = {"customModels": [about], "enableTelemetry": False, "cloudSessionSync": False}
    return Setup({"FACTORY_API_KEY": "fk-none"}, {".factory/settings.json": settings})


CLIENTS = {
    "claude_code": Driven(
        _claude,
        lambda session, prompt: (
            *("-p", prompt, "--resume", session, "--model", "claude-sonnet-4-5"),
            "--dangerously-skip-permissions",
        ),
    ),
    "codex": Driven(
        _codex,
        lambda session, prompt: ("exec", "resume", "--skip-git-repo-check", session, prompt),
        ("app-server",),
        says=[json.dumps(one) for one in _CODEX_LISTING],
    ),
    "gemini_cli": Driven(
        _gemini,
        lambda session, prompt: (
            *("-p", prompt, "--resume", session, "-m", "gemini-2.5-pro"),
            *("--yolo", "--skip-trust"),
        ),
        ("--list-sessions",),
    ),
    "opencode": Driven(
        _opencode,
        lambda session, prompt: ("run", "-m", "anthropic/claude-sonnet-4-5", "-s", session, prompt),
        ("session", "list"),
        imported=lambda file: ("import", file),
    ),
    "qwen_code": Driven(
        _qwen,
        lambda session, prompt: (
            *("-p", prompt, "--resume", session, "-m", "qwen3-coder-plus"),
            *("--auth-type", "openai", "--yolo"),
        ),
        ("sessions", "list", "--json"),
    ),
    "copilot": Driven(
        _copilot,
        lambda session, prompt: ("-p", prompt, f"--resume={session}", "--no-auto-update", "--allow-all"),
    ),
    "pi": Driven(
        _pi,
        lambda session, prompt: (
            *("-p", "--provider", "here", "--model", "claude-sonnet-4-5", "--offline"),
            *("--session", session, prompt),
        ),
    ),
    "continue": Driven(
        _continue,
        lambda _, prompt: ("-p", prompt, "--auto", "--resume"),
        ("ls", "--json"),
        lists_what_it_saved=True,
    ),
    "cline": Driven(
        _cline,
        lambda session, _: ("--auto-approve", "true", "--id", session),
        ("history", "--json"),
        terminal=True,
    ),
}

SETUPS: dict[str, Callable[..., Setup]] = {**{name: client.setup for name, client in CLIENTS.items()}, "droid": droid}
"""Also of clients that resume no session here: droid needs its maker's server for that."""
