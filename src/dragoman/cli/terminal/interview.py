"""What a model asks its user, on the terminal: the questions with their options, and the answers as they are typed.

Rule: text of the model stands behind a mark of ours on every row and has every control character written out, as in
the question before a call; no answer is made up.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from dragoman.model import Call, operations as op

from .question import Line, Section, Shown
from .visible import one_line, visible

HELP: Final = "/no declines to answer, /later stops here so that you can answer later, /view shows all of the question."


SERVER_HELP: Final = "/no declines to answer, /later leaves the question without an answer, /view shows all of it."


def who_asks(call: Call) -> str | None:
    """The MCP server whose question it is; `None` where the model asks."""
    asking = call.operations[0] if call.operations else None
    return (asking.server or "?") if isinstance(asking, op.CallMcpTool) else None


def shown_asked(question: op.Question, number: int, of: int, server: str | None = None) -> Shown:
    """One question of a model or a server, with its options."""
    written_out: Counter[str] = Counter()
    who = "the model" if server is None else f"the MCP server {one_line(server, written_out)}"
    place = f" (question {number} of {of})" if of > 1 else ""
    header = f": {one_line(question.header, written_out)}" if question.header else ""
    lines = [Line("| ", visible(row, written_out)) for row in question.text.split("\n")]
    for index, option in enumerate(question.options, 1):
        said = f" - {one_line(option.description, written_out)}" if option.description else ""
        lines.append(Line("", f"{index}. {one_line(option.label, written_out)}{said}", "strong"))
        if option.preview:
            lines += [Line("| ", visible(row, written_out)) for row in option.preview.split("\n")]
    notes = []
    if written_out:
        listed = ", ".join(f"{said} ({count:,} times)" if count > 1 else said for said, count in written_out.items())
        notes.append(Line("", f"Characters that cannot be seen are written out: {listed}", "warning"))
    return Shown((Section(f"{who} asks you{place}{header}", tuple(lines)),), tuple(notes))


def prompt_for(question: op.Question) -> str:
    """The words before the cursor."""
    if not question.options:
        what = "Your answer"
    elif question.multiple:
        what = "Your choice (numbers with commas, or your own words)"
    else:
        what = "Your choice (a number, or your own words)"
    default = f" [{one_line(question.default)[:40]}]" if question.default else ""
    return f"{what}{default} > "
