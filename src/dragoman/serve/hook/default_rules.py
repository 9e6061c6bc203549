"""Files that switch hooks off, or change what a known program runs: no call may write them, whatever rules say.

Seen to switch off the user's own hooks from a project's folder: Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0
and Qwen Code 0.24.4. The others are where these clients keep their hooks.
"""

from __future__ import annotations

from typing import Final

PROTECTED: Final = (
    "*.claude/settings*.json",
    "*.claude/hooks/*",
    "*.codex/config.toml",
    "*.codex/hooks*",
    "*.codex/requirements.toml",
    "*.gemini/settings.json",
    "*.qwen/settings.json",
    "*.copilot/settings*.json",
    "*.copilot/hooks/*",
    "*.github/hooks/*",
    "*.github/copilot/settings*.json",
    "*.factory/settings*.json",
    "*.factory/hooks*",
    "*.cline/hooks/*",
    "*.clinerules/hooks/*",
    "*Cline/Hooks/*",
    "*.cursor/hooks*",
    "*.agents/plugins/*",
    "*.opencode/plugin*",
    "*opencode/plugin*",
    "*opencode.json*",
    "*.pi/extensions/*",
    "*.pi/agent/extensions/*",
    "*dragoman/config.toml",
    "*dragoman/decisions/*",
    "*dragoman-hook/*",
    # What git runs by itself: with these an allowed `git status` does anything.
    "*.git/config",
    "*.git/config.worktree",
    "*.git/hooks/*",
    "*.gitconfig",
    "*/git/config",
    # A folder with these is a repository of its own to git, with a configuration that is read when it runs in there.
    "*/.git",
    "*/HEAD",
)
"""Globs of a rule: `*` also matches `/`."""
SOURCE: Final = "the protection of hooks"
