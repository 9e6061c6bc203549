"""A Markdown agent that uses everything agents have, and models that play its part and those of its helpers."""

from __future__ import annotations

from typing import Any

from dragoman.agents import Activation
from dragoman.model import Reply, Request, TextPart
from tests.engine.loopback import Turn

from .playing import calls, says

FILE = """\
---
name: editor
description: Edits notes with the help of others.
model: openai-chat:played
dialect: plain
tools:
  - read_file
  - write_file
  - list_directory
  - spawn_agent
  - name: summarise
    description: Sums a text up in a few points.
    prompt: "Sum up: {{text}}"
    parameters:
      text: { type: string, description: The text. }
    result_schema:
      type: object
      properties:
        bullets: { type: array, items: { type: string } }
      required: [bullets]
  - name: title
    description: Finds a title.
    prompt: "Find a title in the tone {{tone}} for {{text}}"
    parameters:
      text: { type: string, description: The text. }
      tone: { type: string, description: The tone., default: dry, required: false }
limits: { max_fanout: 3, max_concurrency: 1 }
---
You edit notes.
"""
TASK = "Make a note about tea."

SCRIPT: dict[str, list[str | tuple[str, dict[str, Any]]]] = {
    TASK: [
        ("vfs_write", {"path": "tea.md", "content": "Tea is a drink.\n"}),
        ("summarise", {"text": "Tea is a drink."}),
        ("title", {"text": "Tea is a drink."}),
        ("spawn_agent", {"name": "taster.md", "prompt": "Taste it.", "system_prompt": "You taste."}),
        "I wait for the taster.",
        "So it is bitter.",
        ("spawn_agent", {"agent": "taster", "prompt": "Taste it again."}),
        ("vfs_read", {"path": "tea.md"}),
        "The note is made.",
    ],
    "Sum up: Tea is a drink.": ["- a drink", '{"bullets": ["a drink"]}'],
    "Find a title in the tone dry for Tea is a drink.": ["Tea"],
    "Taste it.": [("signal_parent", {"message": "it is bitter"}), "Tasted."],
}
TREE = (
    "editor",
    "completed",
    [("editor/summarise", "completed", []), ("editor/title", "completed", []), ("taster", "completed", [])],
)


def _step(words: list[str], answers: int) -> str | tuple[str, dict[str, Any]]:
    """What is said next by whoever was told these words first."""
    (who,) = [who for who in SCRIPT if words[0].split("\n")[0] == who]
    return SCRIPT[who][answers]


def scripted(request: Request) -> Reply:
    users = [
        part.text
        for item in request.conversation
        if item.role == "user"
        for part in item.parts
        if isinstance(part, TextPart)
    ]
    step = _step(users, sum(item.role == "assistant" for item in request.conversation))
    return says(step) if isinstance(step, str) else calls(step)


def over_the_wire(body: dict[str, Any]) -> Turn:
    """The same, for the loopback server in the words of OpenAI Chat."""
    users = [_text(item["content"]) for item in body["messages"] if item["role"] == "user"]
    answers = sum(item["role"] == "assistant" for item in body["messages"])
    step = _step(users, answers)
    return Turn(step) if isinstance(step, str) else Turn(calls=((f"c{answers}", *step),))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(piece["text"] for piece in content)


def check(ended: Activation, results: list[str], offered: list[set[str]]) -> None:
    """What must have happened, whoever played."""
    assert ended.text == "The note is made."
    assert results[1] == '{"bullets":["a drink"]}'
    assert results[2] == "Tea"
    assert "this agent may start 3 others, and has (max_fanout)" in results[4]
    assert "1\tTea is a drink." in results[5]
    starting = {"spawn_agent", "summarise", "title"}
    assert starting <= offered[0]
    assert not starting & offered[-1]
    assert ended.rounds == 9
