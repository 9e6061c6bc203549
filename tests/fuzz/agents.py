"""Agent files: ours, and those of other clients."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dragoman.agents import Agent, parse_agent, remarks
from dragoman.errors import DefinitionError

from .drawing import Draw
from .target import Target

ROOT = Path(__file__).parents[2]
PATHS = (
    "agents/one.md",
    ".claude/agents/one.md",
    ".opencode/agent/one.md",
    ".gemini/agents/one.md",
    ".codex/agents/one.toml",
)
OWN = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "agents").glob("*.md"))]
FULL = """---
name: librarian
description: Looks things up.
model: anthropic:claude-sonnet-4-5
dialect: claude_code
tools: [read_file, "*_plan", vfs_write, Bash, github/*]
limits: {max_depth: 2, max_turns: 4, timeout: 60}
policy:
  default: ask
  deny: ["path:*.env"]
  max_parallel: 1
mcp_servers:
  github: {command: github-mcp, args: [--read-only]}
custom_tools:
  - name: summarise
    description: Say it shorter.
    parameters:
      text: {type: string, description: What to shorten.}
      style: {type: string, enum: [dry, warm], default: dry}
      topics: {type: array, items: {type: string}, required: false}
    result_schema: {type: array, items: {type: string}}
    prompt: "Shorten {{text}} ({{style}}) about {{topics}}"
---
Answer from the files.
"""
CLAUDE = """---
name: reviewer
description: Use it when: something changed. # not a comment for them
tools: Read, Grep, Bash(git diff:*, git log:*), mcp__github__*, mcp__linear, ExitPlanMode
disallowedTools: [Write, "mcp__github__delete_repo"]
model: claude-sonnet-4-5
permissionMode: acceptEdits
maxTurns: 7
mcpServers:
  - slack
  - github: {command: github-mcp}
---

Review it.
"""
OPENCODE = """---
description: Plans.
mode: subagent
model: anthropic/claude-sonnet-4-5
temperature: 0.1
tools: {write: false, edit: false, bash: true, "mcp_*": false}
permission:
  edit: ask
  bash: {"git *": allow, "*": deny}
steps: 5
---
Plan it.
"""
GEMINI = """---
name: finder
description: Finds.
kind: local
tools: [read_file, grep_search, "mcp_github_*"]
model: gemini-2.5-pro
max_turns: 10
timeout_mins: 5
---
Find it.
"""
CODEX = '''name = "reviewer"
description = "Reviews."
developer_instructions = """
Review it.
"""
model = "gpt-5.1-codex"
model_reasoning_effort = "high"
sandbox_mode = "read-only"
nickname_candidates = ["a", "b"]

[mcp_servers.github]
command = "github-mcp"
args = ["--read-only"]
'''
SAMPLES = {
    PATHS[0]: [FULL, *OWN],
    PATHS[1]: [CLAUDE],
    PATHS[2]: [OPENCODE],
    PATHS[3]: [GEMINI],
    PATHS[4]: [CODEX],
}
WORDS = (
    *(
        "---",
        "---\n",
        "\n---\n",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "|",
        ">",
        "|\n  ",
        "&a ",
        "*a",
        "<<: *a",
        "!!python/x ",
    ),
    *(
        "!!binary ",
        "!!set ",
        "!!timestamp ",
        "? ",
        "# ",
        "'",
        '"',
        "%YAML 1.1\n",
        "...",
        "\t",
        "~",
        "null",
        "yes",
        "0o7",
    ),
    *("2026-01-01", "1:30", ".inf", ".nan", "0x1f", "1_000", "name:", "tools:", "policy:", "limits:", "custom_tools:"),
    *("parameters:", "prompt:", "{{", "}}", "{{x}}", "mcp_servers:", "result_schema:", "\x85", "\u2028", "\ufeff"),
    *("[" * 300, "{a: " * 300, "- " * 300, "&a [*a, *a]", "[tools]", '"""', "'''", "a.b = 1", "9" * 5000),
)


def draw_agent(draw: Draw) -> tuple[str, str]:
    path = draw.choice(PATHS)
    samples = SAMPLES[path] if not draw.one_in(8) else SAMPLES[draw.choice(PATHS)]
    return path, draw.damaged_text(draw.choice(samples), WORDS)


def check_agent(given: tuple[str, str]) -> None:
    path, text = given
    try:
        agent = parse_agent(text, path=path)
    except DefinitionError as error:
        assert error.problems, "it is refused without a reason"
        assert str(error)
        return
    assert isinstance(agent, Agent)
    assert agent.name
    remarks(agent)
    msgspec.to_builtins(agent)


TARGETS = [
    Target("agents", draw_agent, check_agent, examples=[(path, text) for path in PATHS for text in SAMPLES[path]])
]
