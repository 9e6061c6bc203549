"""The files of code that opencode and pi run as their hooks: as little as it takes to ask this program.

Rule: what is not a clear yes is a denial. A plugin that fails to start is skipped by opencode 1.18, so nothing in
here can fail before the first call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

_ASKING: Final = """// Written by `dragoman hook install %(client)s`.
import { spawnSync } from "node:child_process"

function ask(event, about) {
  const [program, ...words] = %(words)s
  const input = JSON.stringify({ plugin: "%(client)s", event, ...about })
  const ran = spawnSync(program, words, { input, encoding: "utf8", timeout: 15000 })
  try {
    const answer = JSON.parse(ran.stdout)
    if (typeof answer.deny === "string") return answer.deny || "Denied by dragoman."
    if (ran.status === 0 && answer.pass === true) return null
  } catch {}
  return event === "tool" ? "dragoman did not run, so the call is denied" : null
}
"""
WORDS: Final = re.compile(r"^  const \[program, \.\.\.words\] = (\[.*\])$", re.MULTILINE)
"""The line of a file that has the words of the program."""

_BEFORE: Final = {
    "opencode": """
export const Dragoman = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const about = { tool: input.tool, arguments: output.args ?? {}, cwd: directory }
    const denied = ask("tool", { ...about, session: input.sessionID, call: input.callID })
    if (denied !== null) throw new Error(denied)
  },
%(after)s})
""",
    "pi": """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const about = { tool: event.toolName, arguments: event.input ?? {}, cwd: ctx?.cwd ?? process.cwd() }
    const denied = ask("tool", { ...about, call: event.toolCallId })
    return denied === null ? undefined : { block: true, reason: denied }
  })
%(after)s}
""",
}
_AFTER: Final = {
    "opencode": """  "tool.execute.after": async (input, output) => {
    const about = { tool: input.tool, arguments: input.args ?? {}, cwd: directory, result: output.output }
    const denied = ask("returned", { ...about, session: input.sessionID, call: input.callID })
    if (denied !== null) output.output = denied
  },
""",
    "pi": """  pi.on("tool_result", async (event, ctx) => {
    const about = { tool: event.toolName, arguments: event.input ?? {}, cwd: ctx?.cwd ?? process.cwd() }
    const result = (event.content ?? []).map((one) => one.text ?? "").join("")
    const denied = ask("returned", { ...about, call: event.toolCallId, result, failed: event.isError })
    return denied === null ? undefined : { content: [{ type: "text", text: denied }] }
  })
  pi.on("input", async (event, ctx) => {
    ask("prompt", { prompt: event.text, cwd: ctx?.cwd ?? process.cwd() })
  })
""",
}


def plugin_code(client: str, program: Sequence[str], *, outcomes: bool) -> str:
    """The file of a client; with `outcomes` it also says what calls gave."""
    words = [*program, "hook", "--client", client]
    asking = _ASKING % {"client": client, "words": msgspec.json.encode(words).decode()}
    return asking + _BEFORE[client] % {"after": _AFTER[client] if outcomes else ""}
