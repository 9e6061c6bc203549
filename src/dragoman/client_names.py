"""What clients and vocabularies are called by the people who use them.

Rule: names of ours (`gemini_cli`) are what is typed and stored; these are only ever shown.
"""

from __future__ import annotations

from typing import Final

NAMES: Final = {
    "aider": "aider",
    "amp": "Amp",
    "anthropic": "Anthropic API",
    "atif": "ATIF",
    "claude_code": "Claude Code",
    "cline": "Cline",
    "codex": "Codex",
    "continue": "Continue",
    "copilot": "Copilot CLI",
    "cursor": "Cursor",
    "dragoman": "dragoman",
    "droid": "droid",
    "gemini_cli": "Gemini CLI",
    "google": "Gemini API",
    "goose": "Goose",
    "inspect_ai": "Inspect AI",
    "kilo": "Kilo Code",
    "kimi_code": "Kimi Code",
    "mini_swe_agent": "mini-SWE-agent",
    "mistral_vibe": "Mistral Vibe",
    "openai": "OpenAI API",
    "opencode": "opencode",
    "openhands": "OpenHands",
    "pi": "pi",
    "plain": "dragoman's own",
    "qwen_code": "Qwen Code",
    "roo_code": "Roo Code",
    "swe_agent": "SWE-agent",
    "vscode_chat": "VS Code Chat",
    "zai": "Z.ai API",
}
"""The name of a log format or of a dialect → what people call it."""
_HOOK: Final = " hook"


def client_name(name: str) -> str:
    """What people call a client; the name itself, in words, for one of a plugin."""
    if name.endswith(_HOOK):  # the decisions that `dragoman hook` recorded
        return f"{client_name(name.removesuffix(_HOOK))} (hook)"
    return NAMES.get(name) or name.replace("_", " ")
