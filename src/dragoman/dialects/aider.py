"""aider's edits (0.86.2): no tools, but blocks in the text of an answer, read as two kinds of calls.

aider offers its models nothing to call. The two tools here are what its blocks say, for logs that hold them.
"""

from __future__ import annotations

from dragoman.model import operations as op, outcomes as out

from .base.default_words import FailuresInWords
from .base.dialect import Dialect
from .base.spelling import Spelling, means
from .base.words import done, one_of

APPLIED = one_of(
    done(
        "Applied edit to {asked.path}",
        of=out.ChangesOutcome,
        when=lambda outcome: len(outcome.changes) == 1 and outcome.changes[0].kind in ("created", "modified"),
    )
)


class SearchReplace(Spelling[op.EditFile | op.WriteFile]):
    """Replace lines of a file. With an empty `search`, create a new file."""

    native_name = "search_replace"
    results = APPLIED
    approximated = {"edits": "one run of whole lines is replaced, where it occurs first"}
    unsaid = {"purpose": "the answer around it says it", "overwrite": "lines are put at the end of a file that exists"}

    path: str = means("path", "Path of the file.")
    search: str = means(None, "The lines to replace.")
    replace: str = means(None, "The lines to put in their place.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.search.strip():
            return (op.WriteFile(self.path, self.replace),)
        return (op.EditFile(self.path, (op.Edit(self.search, self.replace),)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile | op.WriteFile) -> object:
        if isinstance(operation, op.WriteFile):
            return cls(path=operation.path, search="", replace=operation.content)
        edits = operation.edits
        if not edits or any(
            not (edit.old or "").strip() or edit.everywhere or (edit.expected or 1) != 1 for edit in edits
        ):
            return None
        return tuple(cls(path=operation.path, search=edit.old or "", replace=edit.new) for edit in edits)


class WholeFile(Spelling[op.WriteFile]):
    """Write a whole file."""

    native_name = "whole_file"
    results = APPLIED

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


FAILURES = FailuresInWords(
    ((r"(?s:.*)\btimed out\b", "timed_out"),),
    {"timed_out": "The edit timed out: {message}"},
)

_NO_TOOLS = "the client offers its models no tools"

DIALECT = Dialect(
    "aider",
    (SearchReplace, WholeFile),
    failures=FAILURES,
    captured=("0.86.2",),
    unspoken={
        **dict.fromkeys(
            (op.Reading, op.Searching, op.Executing, op.Fetching, op.Planning, op.Delegating, op.CallMcpTool), _NO_TOOLS
        ),
        op.SteerClient: _NO_TOOLS,
    },
)
