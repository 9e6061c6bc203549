"""The plan, which is a list with boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out

_BOX = re.compile(r"\s*[-*+] \[([ xX])\] ?(.*)", re.DOTALL)


def _read_list(text: str) -> tuple[tuple[op.PlanItem, ...], str | None]:
    """The boxes of a Markdown list; what stands above them explains it, what stands below one describes it."""
    above: list[str] = []
    items: list[tuple[str, str, list[str]]] = []
    for line in text.split("\n"):
        box = _BOX.fullmatch(line)
        if box is not None:
            items.append((box[2], box[1], []))
        else:
            (items[-1][2] if items else above).append(line.strip())
    return tuple(
        op.PlanItem(said, "pending" if mark == " " else "completed", description="\n".join(below).strip() or None)
        for said, mark, below in items
    ), "\n".join(above).strip() or None


def _write_list(items: Sequence[op.PlanItem], explanation: str | None) -> str:
    lines = [] if not explanation else [*explanation.split("\n"), ""]
    for item in items:
        first, *rest = item.text.split("\n")
        lines.append(f"- [{'x' if item.status == 'completed' else ' '}] {first}")
        lines += [f"  {line}" for line in (*rest, *(item.description or "").split("\n")) if line]
    return "\n".join(lines)


_TOLD = "Task list status:\n"


class Checklist(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time, as Markdown checkboxes, ticked when done."""

    native_name = "Checklist"
    approximated = {
        "items": "an item is a text that is done or not",
        "explanation": "it stands above the list",
    }

    checklist: str = means("items", "The whole list in Markdown: `- [ ] to do`, `- [x] done`.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(*_read_list(self.checklist)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> Checklist:
        return cls(checklist=_write_list(operation.items, operation.explanation))

    results = one_of(
        by_hand(
            out.PlanOutcome,
            lambda outcome, _asked: _TOLD + _write_list(outcome.items, outcome.explanation),
            lambda text, _asked: (
                out.PlanOutcome(*_read_list(text.removeprefix(_TOLD))) if text.startswith(_TOLD) else None
            ),
            nearly={"items": "an item is a text that is done or not", "explanation": "it stands above the list"},
        )
    )
