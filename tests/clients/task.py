"""The task of the matrix: what a model says, in the words of its own vocabulary, and what must come of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.agents.mcp_peer import PNG

PARTS = ("read", "search", "edit", "patch", "command", "image", "sub-agent", "MCP", "web page")
"""In the order of the table. The patch changes four files: in one call, or in four calls of one turn."""

FILES = {
    "src/a.py": b"x = 1\n",
    "src/b.py": b"y = 1\n",
    "src/c.py": b"c = 1\n",
    "old.txt": b"old\n",
    "dot.png": base64.b64decode(PNG),
}
DONE = {
    "src/a.py": b"x = 2\n",
    "src/b.py": b"y = 2\n",
    "src/c.py": b"c = 2  # \xc3\xa9\xe2\x9c\x93\n",
    "new.py": b"z = 1\n",
    "dot.png": FILES["dot.png"],
}
# Qwen Code 0.24.4 loses what a command prints that ends at once on a busy machine.
FAILS = "cat src/a.py src/b.py new.py; echo naïve; sleep 0.3; exit 3"
HELPER = "[[the scripted helper]]"
"""In the prompt of the sub-agent."""
ANSWER = "The helper counted 4711 beans."
WORD = "heliotrope"

BAD = (
    "*** Begin Patch\n*** Add File: never.py\n+z = 1\n*** Update File: src/b.py\n@@\n-y = 1\n+y = 7\n"
    "*** Update File: src/c.py\n@@\n-not there\n+z\n*** Delete File: old.txt\n*** End Patch\n"
)
GOOD = (
    "*** Begin Patch\n*** Add File: new.py\n+z = 1\n*** Update File: src/b.py\n@@\n-y = 1\n+y = 2\n"
    "*** Update File: src/c.py\n@@\n-c = 1\n+c = 2  # é✓\n*** Delete File: old.txt\n*** End Patch\n"
)
FIRST = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"


@dataclass(frozen=True)
class Step:
    """One turn of the model."""

    part: str
    calls: Sequence[tuple[str, dict[str, Any] | str]]
    """Names and arguments. A name that begins with `*` is that of any tool that ends so: an MCP tool's prefix is the
    client's."""
    holds: Sequence[str] = ()
    """What the results of the calls must hold, in their order."""
    otherwise: tuple[str, dict[str, Any]] | None = None
    """The call that is made where the first is not offered."""
    fails: bool = False
    """Whether the call must be answered with a failure."""


@dataclass(frozen=True)
class Model:
    """A scripted model: its name, its address and its vocabulary."""

    named: str
    environment: dict[str, str]
    """Variables with its address (below the port) and its key (empty)."""
    vocabulary: str
    """The client whose words it knows."""
    dialect: str
    steps: Sequence[Step]
    agent: tuple[str, dict[str, Any]] | None = None
    """How it starts a sub-agent, in its own words; `{agent}` is a kind that the client has."""
    page: tuple[str, dict[str, Any]] | None = None
    """How it fetches a page; `{url}` is its address."""
    wait: tuple[str, dict[str, Any]] = ("", {})
    """What it does until a sub-agent that works in the background has answered."""


def _edit(name: str, path: str, old: str, new: str, **more: str) -> tuple[str, dict[str, Any]]:
    return name, {"file_path": path, **more, "old_string": old, "new_string": new}


_AGENT = {"description": "Count beans", "prompt": f"Count the beans. {HELPER}", "subagent_type": "{agent}"}
_PROMPT = "Which word does it have?"
_URL = "{url}"

GEMINI = (
    Step("read", [("read_file", {"file_path": "src/a.py"})], ["x = 1"]),
    Step("search", [("grep_search", {"pattern": "y ="})], ["src/b.py"]),
    Step("edit", [_edit("replace", "src/a.py", "x = 1", "x = 2", instruction="Count up.")]),
    Step(
        "patch",
        [
            _edit("replace", "src/b.py", "y = 1", "y = 2", instruction="Count up."),
            _edit("replace", "src/c.py", "1", "2  # é✓", instruction="Count up."),
            ("write_file", {"file_path": "new.py", "content": "z = 1\n"}),
            ("run_shell_command", {"command": "rm old.txt"}),
        ],
    ),
    Step("command", [("run_shell_command", {"command": FAILS})], ["Exit Code: 3"]),
    Step("image", [("read_file", {"file_path": "dot.png"})]),
)
CODEX = (
    Step("read", [("exec_command", {"cmd": "cat src/a.py; sleep 0.3"})], ["x = 1"]),
    Step("search", [("exec_command", {"cmd": "grep -rn 'y =' src; sleep 0.3"})], ["src/b.py"]),
    Step("edit", [("apply_patch", FIRST)]),
    Step("patch", [("apply_patch", BAD)], ["not there"], fails=True),
    Step("patch", [("apply_patch", GOOD)]),
    Step("command", [("exec_command", {"cmd": FAILS})], ["exited with code 3"]),
    Step("image", [("view_image", {"path": "dot.png"})]),
)
CLAUDE = (
    Step("read", [("Read", {"file_path": "src/a.py"})], ["x = 1"]),
    Step("search", [("Bash", {"command": "grep -rn 'y =' src; sleep 0.3"})], ["src/b.py"]),
    Step("edit", [_edit("Edit", "src/a.py", "x = 1", "x = 2")]),
    Step(
        "patch",
        [
            _edit("Edit", "src/b.py", "y = 1", "y = 2"),
            _edit("Edit", "src/c.py", "1", "2  # é✓"),
            ("Write", {"file_path": "new.py", "content": "z = 1\n"}),
            ("Bash", {"command": "rm old.txt"}),
        ],
    ),
    Step("command", [("Bash", {"command": FAILS})], ["Exit code 3"]),
    Step("image", [("Read", {"file_path": "dot.png"})]),
)
QWEN = (
    Step("read", [("read_file", {"file_path": "src/a.py"})], ["x = 1"]),
    Step("search", [("grep_search", {"pattern": "y ="})], ["src/b.py"]),
    Step("edit", [_edit("edit", "src/a.py", "x = 1", "x = 2")]),
    Step(
        "patch",
        [
            _edit("edit", "src/b.py", "y = 1", "y = 2"),
            _edit("edit", "src/c.py", "1", "2  # é✓"),
            ("write_file", {"file_path": "new.py", "content": "z = 1\n"}),
            ("run_shell_command", {"command": "rm old.txt"}),
        ],
    ),
    Step("command", [("run_shell_command", {"command": FAILS})], ["Exit Code: 3"]),
    Step("image", [("read_file", {"file_path": "dot.png"})]),
)
MODELS = {
    "gemini_generate": Model(
        "gemini:gemini-3-pro-preview",
        {"GOOGLE_GEMINI_BASE_URL": "/v1beta", "GEMINI_API_KEY": ""},
        "gemini-cli",
        "gemini_cli",
        GEMINI,
        ("invoke_agent", {"agent_name": "{agent}", "prompt": _AGENT["prompt"]}),
        ("web_fetch", {"prompt": f"{_PROMPT} {_URL}"}),
        ("run_shell_command", {"command": "sleep 0.5; : waiting for {number}"}),
    ),
    "openai_responses": Model(
        "openai:gpt-5.5",
        {"OPENAI_BASE_URL": "/v1", "OPENAI_API_KEY": ""},
        "codex",
        "codex",
        CODEX,
        ("collaboration.spawn_agent", {"task_name": "beans", "message": _AGENT["prompt"]}),
        wait=("exec_command", {"cmd": "sleep 0.5; : waiting for {number}"}),
    ),
    "anthropic_messages": Model(
        "anthropic:claude-sonnet-4-5",
        {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""},
        "claude-code",
        "claude_code",
        CLAUDE,
        ("Agent", _AGENT),
        ("WebFetch", {"url": _URL, "prompt": _PROMPT}),
        ("Bash", {"command": "sleep 0.5; : waiting for {number}"}),
    ),
    "openai_chat": Model(
        "openai-chat:qwen3-coder-plus",
        {"OPENAI_BASE_URL": "/v1", "OPENAI_API_KEY": ""},
        "qwen-code",
        "qwen_code",
        QWEN,
        ("agent", _AGENT),
        ("web_fetch", {"url": _URL, "prompt": _PROMPT}),
        ("run_shell_command", {"command": "sleep 0.5; : waiting for {number}"}),
    ),
}
"""By the API in which a model is asked."""
