"""Sessions written for Qwen Code.

What it needs was found with 0.24.4: the file stands in the folder of its project under the session's id; every record
names the session, the record before it and the folder.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from dragoman.logs.base.writing import Destination, SessionWriter, lines, moments


class QwenWriter(SessionWriter):
    """The writer; see the module."""

    api = "gemini_generate"
    program = "qwen"
    version = "0.24.4"
    model = "qwen3-coder-plus"
    # 0.24.4 looks these up with `tool_search`. It offers again what a resumed history called; that is not relied on.
    withheld = frozenset(("monitor", "read_mcp_resource", "send_message", "task_stop", "web_fetch", "zoom_image"))

    def path(self, to: Destination) -> PurePosixPath:
        return PurePosixPath("projects", re.sub(r"[^A-Za-z0-9]", "-", to.folder), "chats", f"{to.id}.jsonl")

    def resume(self, to: Destination) -> str:
        return f"qwen --resume {to.id}"

    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        records: list[dict[str, Any]] = []
        times = moments(to.time)
        for message in messages:
            for type, provenance, parts in _kinds(message):
                records.append(
                    {
                        "uuid": str(uuid.uuid4()),
                        "parentUuid": records[-1]["uuid"] if records else None,
                        "sessionId": to.id,
                        "timestamp": next(times),
                        "type": type,
                        "provenance": provenance,
                        "cwd": to.folder,
                        "version": to.version,
                        **({"model": to.model} if type == "assistant" else {}),
                        "message": {"role": message["role"], "parts": parts},
                    }
                )
        return lines(records)


def _kinds(message: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """A message as the kinds of record that the client keeps: results stand by themselves, one in each."""
    if message["role"] == "model":
        return [("assistant", "assistant_output", message["parts"])]
    results = [part for part in message["parts"] if "functionResponse" in part]
    said = [part for part in message["parts"] if "functionResponse" not in part]
    kinds = [("tool_result", "tool_result", [result]) for result in results]
    return [*kinds, *([("user", "real_user", said)] if said else [])]
