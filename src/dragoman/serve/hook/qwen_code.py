"""Qwen Code's hooks."""

from __future__ import annotations

from .client import HookClient


class QwenCode(HookClient):
    name, title, dialect, asks = "qwen_code", "Qwen Code", "qwen_code", True
    shells = {"run_shell_command": "command"}


CLIENT = QwenCode()
