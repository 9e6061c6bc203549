"""The words in which a client refuses an edit: data of its spelling, chosen by the reason of the failure.

Rule: the result opens with the client's own sentence, which a model knows how to act on; what the file has nearby
follows it as a hint of ours. The failure itself keeps our message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from dragoman.model import operations as op
from dragoman.model.calls import Call
from dragoman.model.json_text import json_text
from dragoman.model.outcomes import Failure

_HOLE = re.compile(r"\{(path|old|first|count|lines|index|note)\}")


class Refusals(NamedTuple):
    """Why an edit is refused, in the words of a client: reason → sentence. `{path}` and `{old}` are those of the call,
    `{first}` is the first line of the old text as JSON, `{count}` is how often it was found, `{lines}` in which lines,
    `{index}` which of several edits it is (from 0)."""

    words: Mapping[str, str]
    around: tuple[str, str] = ("", "")
    """What stands before and after every one of them."""
    note: tuple[str, str] = ("", "")
    """A pattern, and what `{note}` says where the old text has it."""

    def tell(self, call: Call, failure: Failure) -> tuple[str, bool] | None:
        """The result for this failure; `None` where the client has no sentence of its own for it."""
        details = failure.details
        sentence = self.words.get(str(details.get("reason")))
        asked = call.operations[0] if call.operations else None
        if sentence is None or not isinstance(asked, op.EditFile | op.WriteFile):
            return None
        edits = asked.edits if isinstance(asked, op.EditFile) else ()
        index = details.get("index", 0)
        old = (edits[index].old or "") if isinstance(index, int) and index < len(edits) else ""
        first, last = details.get("lines"), details.get("last_lines")
        lines = zip(first, last, strict=True) if isinstance(first, list) and isinstance(last, list) else ()
        pattern, note = self.note
        values = {
            "path": asked.path,
            "old": str(details.get("sought", old)),
            "first": json_text(old.partition("\n")[0].removesuffix("\r")),
            "count": str(details.get("count", 0)),
            "lines": ", ".join(str(one) if one == other else f"{one}-{other}" for one, other in lines),
            "index": str(index),
            "note": note if pattern and re.search(pattern, old) else "",
        }
        hint = "" if "{lines}" in sentence else str(details.get("hint", ""))
        said = [_HOLE.sub(lambda hole: values[hole[1]], sentence), hint]
        before, after = self.around
        return before + "\n".join(filter(None, said)) + after, True
